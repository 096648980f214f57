/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * config.h: a config file: keys.c (the table of keys), config.c (a file, checked against it), plug_check.c (whether a
 * plug's descriptor is sound). What a config means is read in core/study/.
 */
#ifndef SHOAL_CONFIG_H
#define SHOAL_CONFIG_H

#include <libconfig.h>
#include <math.h>
#include <string.h>

#include "core/walker/body_keys.h"
#include "core/plug/plugs.h"

/* ---- keys.c: every key that a config file may hold --------------------------------------------------------------- */

typedef enum shoal_key_kind {
    SHOAL_KEY_VALUE,   /* a scalar; row.type says which */
    SHOAL_KEY_TEXT,    /* a string */
    SHOAL_KEY_NUMBERS, /* an array or a list of numbers */
    SHOAL_KEY_TEXTS,   /* an array or a list of strings */
    SHOAL_KEY_DEVICES, /* "auto", "all", a number of GPUs, or an array of their numbers */
    SHOAL_KEY_GROUP,   /* { ... }: its keys are the rows of section "section.name" */
    SHOAL_KEY_LIST     /* ( { ... }, ... ): likewise */
} shoal_key_kind;

/* One key. Bounds and default are in inner units and radians. A positive least value below
 * SHOAL_TINY stands for "greater than 0", bounds beyond 1 / SHOAL_TINY for none. */
typedef struct shoal_key {
    const char *section; /* "" = top level, "run", "system.bodies", ... */
    shoal_key_kind kind;
    const char *otherwise; /* what holds without the key, if not row.initial; NULL and NaN: it must be given */
    shoal_parameter row;
    bool of_machine; /* no result depends on it: a killed run may continue with another value */
} shoal_key;

#define SHOAL_TINY 1e-200

extern const shoal_key shoal_keys[];
extern const int shoal_n_keys;

/* The row of a key, NULL if there is none. */
const shoal_key *shoal_key_find(const char *section, const char *name);

/* The row of one of them. */
const shoal_key *shoal_body_key(int key);

/* What data are of: in the order of the choices. */
#define SHOAL_DATA_KIND_CHOICES                                                                                  \
    "velocity|transit_time|occultation_time|impact_parameter|transit_duration|ingress_duration|egress_duration|" \
    "separation|position_angle|delta_ra|delta_dec|along_scan|proper_motion"
enum {
    SHOAL_DATA_VELOCITY,
    SHOAL_DATA_TRANSIT_TIME,
    SHOAL_DATA_OCCULTATION_TIME,
    SHOAL_DATA_IMPACT_PARAMETER,
    SHOAL_DATA_TRANSIT_DURATION,
    SHOAL_DATA_INGRESS_DURATION,
    SHOAL_DATA_EGRESS_DURATION,
    SHOAL_DATA_SEPARATION,
    SHOAL_DATA_POSITION_ANGLE,
    SHOAL_DATA_DELTA_RA,
    SHOAL_DATA_DELTA_DEC,
    SHOAL_DATA_ALONG_SCAN,
    SHOAL_DATA_PROPER_MOTION,
    SHOAL_DATA_KINDS
};

/* Covariances of Gaussian processes: in the order of the choices. */
#define SHOAL_KERNEL_CHOICES "quasi_periodic|sho|rotation|exponential|complex|periodic|matern32"
enum { SHOAL_KERNELS = 7 };

/* X(name, keys it needs (with ?: may have), doc) */
#define SHOAL_DISTRIBUTION_LIST(X)                                                                                    \
    X(uniform, "from,to", "equal density between from and to")                                                        \
    X(log_uniform, "from,to", "equal density of the logarithm between from and to")                                   \
    X(normal, "mean,sigma", "Gaussian")                                                                               \
    X(truncated_normal, "mean,sigma,from?,to?", "Gaussian above from, below to, or between both")                     \
    X(asymmetric_normal, "mode,plus,minus,from?,to?",                                                                 \
      "two halves of Gaussians that meet at the mode, of widths plus above and minus below it; within from..to")      \
    X(correlated_normal, "mean",                                                                                      \
      "Gaussian in common with all other such parameters: sample.covariance or sample.covariance_file")               \
    X(log_normal, "mean,sigma,from?,to?", "the natural logarithm is Gaussian with this mean and sigma")               \
    X(rayleigh, "sigma,to?", "Rayleigh, below to; its mean is sigma sqrt(pi/2)")                                      \
    X(exponential, "mean,from?,to?", "exponential; mean: of all above 0, also where there are bounds")                \
    X(isotropic, "from?,to?", "an inclination of random orientations, all or in a cone: equal density of its cosine") \
    X(beta, "alpha?,beta?,from?,to?",                                                                                 \
      "Beta distribution on 0..1; the default is Kipping's of eccentricities (doi:10.1093/mnrasl/slt075)")            \
    X(power_law, "from,to,exponent", "density as the value to the power of exponent, between from and to")

enum {
#define X(name, needs, doc) SHOAL_DISTRIBUTION_##name,
    SHOAL_DISTRIBUTION_LIST(X)
#undef X
        SHOAL_DISTRIBUTIONS
};

/* Parameters of a distribution: those of section sample.parameters, in the user's units. */
#define SHOAL_DISTRIBUTION_KEY_LIST(X) \
    X(from) X(to) X(mean) X(sigma) X(mode) X(plus) X(minus) X(exponent) X(alpha) X(beta)

enum {
#define X(name) SHOAL_SAMPLE_##name,
    SHOAL_DISTRIBUTION_KEY_LIST(X)
#undef X
        SHOAL_SAMPLE_KEYS
};

/* ---- config.c: a config file that has passed the table ----------------------------------------------------------- */

typedef struct shoal_config {
    shoal_context *context;
    const char *path; /* borrowed */
    bool big;         /* of one big system: its top level is the section "big" of the table */
    config_t tree;    /* a setting's hook: the override that made it, or NULL */
    char **overrides; /* [n_overrides] */
    int n_overrides;
    shoal_units units;
    double angle;           /* one of the user's units of angle in radians */
    const char *angle_name; /* "rad" or "deg" */
    bool names_angle;       /* the file says which */
} shoal_config;

/* Read a file (or text that stands for it, if not NULL), apply the overrides ("path.to.key=value"), check every key,
 * type and bound against the table. The path is borrowed until close. On failure there is nothing to close.
 * Called between shoal_numbers_begin and _end, since libconfig reads numbers as the locale has them. */
shoal_status shoal_config_open(shoal_context *context, const char *path, const char *text, int n_overrides,
                               const char *const *overrides, shoal_config *config);
void shoal_config_close(shoal_config *config);
/* libconfig reads a text, or for NULL the file at path; false: its error is in the tree. The locale stays. */
bool shoal_config_parse(config_t *tree, const char *path, const char *text);
/* The config that a result holds; an empty tree where it has none (NULL). To be released by config_destroy. */
void shoal_config_recall(config_t *tree, const char *text);
/* What the config of a run says of its forces, and of the units of their numbers, as a config of these groups alone;
 * malloc'd, NULL: it has no forces. names [size]: "gr, radiation". */
char *shoal_config_of_forces(const char *text, char *names, size_t size);
/* The path of a file that a config names, which may be relative to the config's folder; malloc'd, NULL when memory
 * is out. */
char *shoal_config_path(const shoal_config *config, const char *name);

/* The whole config as text, malloc'd, NULL when memory is out; reading it again gives the same numbers to the last
 * bit. Comments at its end tell plugins and files that it names from others of their names. */
char *shoal_config_text(const shoal_config *config);
/* Whether two such texts are of the same results: they may differ in how they are computed (run.threads and the
 * like). */
bool shoal_config_same(const char *first, const char *second);
/* The first other key in which two such texts differ, with both values: "run.t_end = 10 and 20"; "" if there is
 * none. text: [size] */
void shoal_config_difference(const char *first, const char *second, char *text, size_t size);

/*
 * Refuse a value: store "FILE:LINE: KEY = VALUE: expected WHAT (did you mean 'NEAREST'?)", return SHOAL_E_INPUT.
 *   setting  in  the offending setting
 *   member   in  NULL, or the name of the key that is missing in the group `setting`
 *   nearest  in  NULL or the known word nearest to the value
 *   format   in  printf format of WHAT
 */
shoal_status shoal_config_fail(const shoal_config *config, const config_setting_t *setting, const char *member,
                               const char *nearest, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* A setting by its path from the top, NULL if absent. */
config_setting_t *shoal_config_lookup(const shoal_config *config, const char *path);

/* Factor of a dimension from the user's units (and angles) to inner units, and the unit's name: returns unit, "" if
 * none. */
double shoal_config_factor(const shoal_config *config, const char *dimension);
const char *shoal_config_unit(const shoal_config *config, const char *dimension, char unit[SHOAL_UNIT_SIZE]);

/* The value of a checked number in inner units: a member of a group (NULL is allowed), or the row's default. A choice
 * gives its index, a boolean 0 or 1; a body is not resolved (see shoal_config_body). */
double shoal_config_row(const shoal_config *config, const config_setting_t *group, const shoal_parameter *row);
/* The same by the table's section and name. */
double shoal_config_number(const shoal_config *config, const config_setting_t *group, const char *section,
                           const char *name);
/* Item i of a list of numbers, as written. */
double shoal_config_item(const config_setting_t *list, long i);
/* The index of the body that a setting names or numbers. */
shoal_status shoal_config_body(const shoal_config *config, const config_setting_t *setting,
                               char (*names)[SHOAL_NAME_SIZE], int n_bodies, int *body);
/* A string member of a group (NULL is allowed), or `otherwise`. Valid until close. */
const char *shoal_config_string(const config_setting_t *group, const char *name, const char *otherwise);
/* Whether a number of this dimension is an angle in a unit that the file does not name. */
static inline bool shoal_config_is_bare(const shoal_config *config, const char *dimension)
{
    return strcmp(dimension, "angle") == 0 && !config->names_angle;
}
/* Refuse SHOAL_STRANGE_ANGLE. */
shoal_status shoal_config_angle(const shoal_config *config, const config_setting_t *setting, double value,
                                const char *dimension);
/* Refuse the value (user's units) of a setting if it is out of a row's bounds. */
shoal_status shoal_config_bounds(const shoal_config *config, const config_setting_t *setting, double value,
                                 const shoal_parameter *row);
/* What a key wants, in words: "a number from 0 to 1 in AU". */
void shoal_config_wants(const shoal_config *config, shoal_key_kind kind, const shoal_parameter *row,
                        char words[SHOAL_MESSAGE_SIZE]);

/* What the forces of a config's list (NULL is allowed) take of body 0's attraction (shoal_force.eases). Those of
 * plugins that are not there, and bodies that are not, are left out. */
void shoal_config_eases(const shoal_context *context, const config_setting_t *forces, char (*names)[SHOAL_NAME_SIZE],
                        int n_bodies, shoal_eases *eases);

/* ---- plug_check.c ------------------------------------------------------------------------------------------------ */

shoal_plug_check shoal_plug_is_sound;

#endif
