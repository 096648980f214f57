/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * plugs.h: the propagators, forces and monitors of this build and of a context, plugins among them; and what is
 * composed of them into one set of kernels.
 */
#ifndef SHOAL_PLUGS_H
#define SHOAL_PLUGS_H

#include "core/base/base.h"
#include "core/kernel/compiled.h"
#include "core/kernel/kernel.h"
#include "core/plug/plug.h"

/* ---- plugs.c: the propagators, forces and monitors that there are ------------------------------------------------ */

enum { SHOAL_MAX_PROPAGATORS = 62, SHOAL_MAX_FORCE_KINDS = 31, SHOAL_MAX_PLUGINS = 16 };

typedef struct shoal_plugin shoal_plugin;

/* What a context knows: those of this build, in the order of the lists, then those of its plugins. NULL-terminated;
 * the index of a monitor or a force is its bit in shoal_kernel_args. */
struct shoal_plugs {
    const shoal_propagator *propagators[SHOAL_MAX_PROPAGATORS + 1];
    const shoal_monitor *monitors[SHOAL_MAX_MONITORS + 1];
    const shoal_force *forces[SHOAL_MAX_FORCE_KINDS + 1];
    shoal_plugin *plugins[SHOAL_MAX_PLUGINS + 1];
    struct shoal_text *text; /* that they add to shoal_texts; {0, 0} after the last */
};

extern const shoal_force shoal_newton; /* always there */

/* The length of a NULL-terminated list. */
static inline int shoal_count(const void *const *list)
{
    int n = 0;
    while (list[n])
        n++;
    return n;
}

/* Those of a context, of this build alone for NULL. */
const shoal_plugs *shoal_plugs_of(const shoal_context *context);

/* Native slots of a system of n bodies. */
static inline size_t shoal_native_slots(const shoal_propagator *propagator, int n)
{
    return (size_t)(propagator->n_slots * n + propagator->n_own);
}

/* By name or alias; NULL if there is none. */
const shoal_propagator *shoal_propagator_find(const shoal_context *context, const char *name);
/* Parameter number `which` = 0, 1, ... that an alias sets, and its value; -1 if the name sets no more. */
int shoal_propagator_preset(const shoal_propagator *propagator, const char *name, int which, double *value);
/* The index, -1 if there is none. */
int shoal_monitor_find(const shoal_context *context, const char *name);
int shoal_force_find(const shoal_context *context, const char *name);
/* All names of a list for messages: fills up to limit, returns how many. */
int shoal_propagator_names(const shoal_context *context, const char **names, int limit);
int shoal_monitor_names(const shoal_context *context, const char **names, int limit);

#define SHOAL_MAX_SLOTS 144 /* of a monitor, and of each of its parts */

/* Of a monitor with these parameters: its parts; for how many parts of a system it has slots; how many columns of a
 * result its column `column` is. */
shoal_monitor_parts shoal_monitor_parts_of(const shoal_monitor *monitor, const double *parameters);
int shoal_monitor_n_parts(const shoal_monitor *monitor, const double *parameters, int n_bodies);
int shoal_monitor_n_of(const shoal_monitor *monitor, const double *parameters, int column, int n_bodies);

/* A column of a monitor of systems of n_bodies, of one of its parts. */
typedef struct shoal_monitor_place {
    const shoal_monitor *monitor;
    const double *parameters;
    int column, part, n_bodies;
} shoal_monitor_place;
/* Its name: the column's own, and of one of each part the names of the part's bodies, or (NULL) their indices. */
void shoal_monitor_column_name(const shoal_monitor_place *of, char (*body_name)[SHOAL_NAME_SIZE],
                               char name[SHOAL_COLUMN_SIZE]);
int shoal_force_names(const shoal_context *context, const char **names, int limit);

bool shoal_is_identifier(const char *name);
/* The first of n settings of that name, NULL if it is not given. */
const shoal_setting *shoal_setting_find(const shoal_setting *settings, int n, const char *name);
/* Index of a word in "a|b|c", -1 if it is not there. */
int shoal_choice_index(const char *choices, const char *word);

/* ---- a choice of kernels ----------------------------------------------------------------------------------------- */

/* How a GPU's kernels use it: 0 = as by default. */
typedef struct shoal_tuning {
    int block;         /* threads of a block, a multiple of 32; a large team's block is its own */
    int max_registers; /* of a thread */
    int bodies;        /* of a thread of the model `body`, at most: 2, 4 or 5 */
} shoal_tuning;

/* What is composed into one set of kernels. */
typedef struct shoal_kernel_choice {
    const shoal_propagator *propagator;
    int n_bodies;
    int variational;      /* 1: as many tangent vectors are moved with them */
    int monitors;         /* bits */
    int forces;           /* bits */
    bool plugins;         /* a plugin's text is needed */
    const double *chosen; /* [propagator->n_parameters] the propagator's parameters, NULL = their defaults */
    int form;             /* SHOAL_FORM_* */
    int n_massive;
    int compensated;
    int threads;         /* CPU */
    int lanes;           /* CPU, 0 = the machine's */
    bool conjunctions;   /* GPU: walkers are seen at conjunctions, too */
    int model;           /* GPU: SHOAL_MODEL_* */
    size_t shared_most;  /* GPU: bytes of shared memory that a block may have; 0 = those of compute capability 9.0 */
    shoal_tuning tuning; /* GPU */
    bool unit_star;      /* GPU: body 0 of every system has mass 1, and keeps it */
    bool alone;          /* GPU: it hands no system to the host, whose arrays stay as they are */
} shoal_kernel_choice;

static inline int shoal_choice_moved(const shoal_kernel_choice *choice)
{
    return choice->n_bodies << choice->variational;
}

/* ---- plugin.c: plugs of the user's, compiled and loaded at run time ---------------------------------------------- */

/* Whether a descriptor (one of the three, the others are NULL) may join the plugs; why = [SHOAL_MESSAGE_SIZE]: what
 * was expected if not. */
typedef bool shoal_plug_check(const shoal_plugs *plugs, const shoal_propagator *propagator, const shoal_force *force,
                              const shoal_monitor *monitor, char *why);
/* Load a plugin whose descriptor passes the check: shoal_plugin_load. */
shoal_status shoal_plugin_add(shoal_context *context, const char *path, shoal_plug_check *check);
/* Bits of the monitors and forces that are plugins' (kind 'm', 'f'); whether a propagator is one. */
int shoal_plugin_bits(const shoal_context *context, char kind);
bool shoal_plugin_is(const shoal_context *context, const shoal_propagator *propagator);
/* Text i for a compiler of kernels, in the order shoal_texts, then the plugins' own: {0, 0} after the last. */
shoal_text shoal_plugin_text(const shoal_context *context, int i);
void shoal_plugins_release(shoal_context *context);
/* A comment line a plugin, with a hash of its text: a run must not go on with another plugin of the same name. */
void shoal_plugins_describe(const shoal_context *context, FILE *out);
/* CPU kernels with the plugins in them; they stay as long as the context. */
shoal_status shoal_plugin_kernels(shoal_context *context, const shoal_kernel_choice *choice, const char *arch,
                                  int lanes, const shoal_cpu_kernels **kernels);

#endif
