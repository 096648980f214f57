/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * systems.c: the ensemble of a config: its bodies, with a grid over some of their numbers (`sweep`), random values or
 * draws from a file at each point of the grid (`sample`), or plain copies.
 *
 * System s is point s / n_copies of the grid and copy s % n_copies at it; the first axis of the grid is the slowest. A
 * shard makes only some of them, with the ids that they have in the whole. What is not varied keeps the value that is
 * written, in the terms in which it is written: if l is given, l is held, not M; if msini is, the mass follows inc; if
 * period_ratio is, the period follows that of the other body.
 */
#define _GNU_SOURCE 1
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/config.h"
#include "core/formats/table.h"
#include "core/study/study.h"

/* A number of a body that differs from system to system, in the user's units: an axis of the grid or a random value. */
typedef struct variation {
    int body, key; /* of data (set >= 0): key is SHOAL_SET_* */
    int set;
    bool *moves;   /* [n_bodies]: body, and those that get the same value */
    double factor; /* to inner units */
    bool random;
    const struct variation *leader; /* it follows this one: ratio times that, and add */
    double ratio, add;
    /* axis */
    double from, to;
    long count;
    bool logarithmic;
    const config_setting_t *values; /* NULL: count values from..to */
    /* random */
    shoal_sample sample;
    int index;
    bool drawn, prior; /* from the file of draws, in this column of those that are taken; it has a distribution */
    int column;
} variation;

typedef struct builder {
    const shoal_config *config;
    shoal_study *study;
    const config_setting_t *list; /* system.bodies */
    int n_bodies;
    shoal_body_input *inputs; /* [n_bodies] */
    shoal_orbit *orbits;      /* [n_bodies] */
    shoal_body *bodies;       /* [n_bodies] */
    shoal_frame frame;
    bool cartesian;
    shoal_eases eases;
    variation *variations;
    bool *moves;                      /* of all of them */
    int n_variations, n_axes, n_tied; /* the axes first, those that are tied last */
    long n_copies, n_systems;
    double *draws;                 /* [n_draws][n_drawn] of the file, copy by copy */
    shoal_drawn_unit *drawn_units; /* [n_drawn] of a posterior, else NULL */
    long n_draws;
    int n_drawn;
    char *draws_path; /* NULL: there is no such file */
    bool posterior;   /* it has all parameters; their distributions are the priors */
    bool likelihood;  /* there are data */
} builder;

static shoal_status out_of_memory(const builder *b)
{
    return shoal_fail(b->config->context, SHOAL_E_MEMORY, "%s: out of memory", b->config->path);
}

static int list_length(const config_setting_t *list)
{
    return list ? config_setting_length(list) : 0;
}

/* ---- what is written --------------------------------------------------------------------------------------------- */

static shoal_status read_bodies(builder *b)
{
    const shoal_config *config = b->config;
    shoal_status status;
    b->n_bodies = config_setting_length(b->list);
    if (b->n_bodies < 2)
        return shoal_config_fail(config, b->list, NULL, NULL, "at least 2 bodies; found %d", b->n_bodies);
    if (b->n_bodies > SHOAL_MAX_BODIES)
        return shoal_config_fail(config, b->list, NULL, NULL, "at most %d bodies; found %d (see the group model)",
                                 SHOAL_MAX_BODIES, b->n_bodies);
    b->inputs = calloc((size_t)b->n_bodies, sizeof *b->inputs);
    b->orbits = calloc((size_t)b->n_bodies, sizeof *b->orbits);
    b->bodies = calloc((size_t)b->n_bodies, sizeof *b->bodies);
    b->study->body_name = calloc((size_t)b->n_bodies, sizeof *b->study->body_name);
    if (!b->inputs || !b->orbits || !b->bodies || !b->study->body_name)
        return out_of_memory(b);

    for (int i = 0; i < b->n_bodies; i++) {
        const config_setting_t *group = config_setting_get_elem(b->list, (unsigned)i);
        const char *name = shoal_config_string(group, "name", NULL);
        if (!name)
            return shoal_config_fail(config, group, "name", NULL, "the body's name: it must be given");
        const config_setting_t *place = config_setting_get_member(group, "name");
        if (strlen(name) >= SHOAL_NAME_SIZE)
            return shoal_config_fail(config, place, NULL, NULL, "a name of at most %d characters", SHOAL_NAME_SIZE - 1);
        if (!shoal_is_name(name))
            return shoal_config_fail(config, place, NULL, NULL, "a name without quotes");
        if (!shoal_is_utf8(name))
            return shoal_config_fail(config, place, NULL, NULL, "a name in UTF-8");
        for (int k = 0; k < i; k++)
            if (strcmp(b->study->body_name[k], name) == 0)
                return shoal_config_fail(config, place, NULL, NULL, "a name that no other body has");
        strcpy(b->study->body_name[i], name); /* its length was checked */
        for (int key = 0; key < SHOAL_BODY_KEYS; key++) {
            const shoal_parameter *row = &shoal_body_key(key)->row;
            b->inputs[i].source[key] = config_setting_get_member(group, row->name);
            b->inputs[i].value[key] = shoal_config_row(config, group, row);
        }
        b->inputs[i].relative_to = i > 0 ? i - 1 : 0;
        b->inputs[i].mass_unit = shoal_config_factor(config, "mass");
        const config_setting_t *other = config_setting_get_member(group, "relative_to");
        if (other && (status = shoal_config_body(config, other, b->study->body_name, i, &b->inputs[i].relative_to)))
            return status;
    }
    return SHOAL_OK;
}

/* The group of `data`, or of `processes` behind the last data, by its number; NULL: there are fewer. */
static const config_setting_t *group_of_set(const shoal_config *config, int set)
{
    const config_setting_t *data = shoal_config_lookup(config, "data"),
                           *processes = shoal_config_lookup(config, "processes");
    const int n = list_length(data);
    if (set < n)
        return config_setting_get_elem(data, (unsigned)set);
    return set < n + list_length(processes) ? config_setting_get_elem(processes, (unsigned)(set - n)) : NULL;
}

/* A number of data or of a process that is a parameter of the likelihood. */
static shoal_status read_data_target(const builder *b, const config_setting_t *group, const config_setting_t *data,
                                     variation *v)
{
#define X(name) #name,
    static const char *const known[] = {SHOAL_SET_NUMBER_LIST(X) SHOAL_PROCESS_NUMBER_LIST(X)};
#undef X
    const config_setting_t *place = config_setting_get_member(group, "parameter");
    const char *word = config_setting_get_string(place), *name = config_setting_get_string(data);
    static const char *const useless[] = {"body", "also"};
    for (int i = 0; i < SHOAL_COUNT(useless); i++)
        if (config_setting_get_member(group, useless[i]))
            return shoal_config_fail(b->config, config_setting_get_member(group, useless[i]), NULL, NULL,
                                     "either body or data");
    const config_setting_t *set;
    for (v->set = 0; (set = group_of_set(b->config, v->set)); v->set++)
        if (strcmp(shoal_config_string(set, "name", ""), name) == 0)
            break;
    if (!set)
        return shoal_config_fail(b->config, data, NULL, NULL, "the name of one of `data` or `processes`");
    const bool process = v->set >= list_length(shoal_config_lookup(b->config, "data"));
    const int first = process ? SHOAL_SET_NUMBERS : 0, end = process ? SHOAL_ALL_NUMBERS : SHOAL_SET_NUMBERS;
    for (v->key = end - 1; v->key >= first && strcmp(known[v->key], word) != 0;)
        v->key--;
    if (v->key < first)
        return shoal_config_fail(b->config, place, NULL, shoal_nearest(word, known + first, end - first),
                                 process ? "a number of a process: sigma, period, decay, width, quality, "
                                           "quality_difference, mix or sine"
                                         : "a number of data: offset, jitter, trend, curvature, parallax, ra, dec, "
                                           "pm_ra or pm_dec");
    for (const variation *other = b->variations; other < v; other++)
        if (other->set == v->set && other->key == v->key)
            return shoal_config_fail(b->config, place, NULL, NULL, "a parameter that is varied only once");
    const config_setting_t *written = config_setting_get_member(set, word);
    if (written)
        return shoal_config_fail(b->config, written, NULL, NULL, "no value of its own: it is a parameter");
    v->moves = b->moves + (v - b->variations) * b->n_bodies;
    v->factor = 1;
    return SHOAL_OK;
}

/* The row of what a variation varies. */
static const shoal_parameter *row_of(const variation *v)
{
#define X(name) #name,
    static const char *const names[] = {SHOAL_SET_NUMBER_LIST(X) SHOAL_PROCESS_NUMBER_LIST(X)};
#undef X
    const char *section = v->key < SHOAL_SET_NUMBERS ? "data" : "processes";
    /* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): read_data_target found the key */
    return v->set < 0 ? &shoal_body_key(v->key)->row : &shoal_key_find(section, names[v->key])->row;
}

/* "b.P", "hires.jitter" */
static void name_variation(const builder *b, const variation *v, char *name, size_t size)
{
    snprintf(name, size, "%s.%s",
             v->set < 0 ? b->study->body_name[v->body]
                        : shoal_config_string(group_of_set(b->config, v->set), "name", ""),
             row_of(v)->name);
}

/* Which number of which body a group of sweep or sample.parameters varies. */
static shoal_status read_target(builder *b, const config_setting_t *group, variation *v)
{
    const config_setting_t *place = config_setting_get_member(group, "parameter"),
                           *also = config_setting_get_member(group, "also");
    const char *word = config_setting_get_string(place), *known[SHOAL_BODY_KEYS];
    const config_setting_t *data = v->random ? config_setting_get_member(group, "data") : NULL;
    v->key = v->set = -1;
    if (data)
        return read_data_target(b, group, data, v);
    if (!config_setting_get_member(group, "body"))
        return shoal_config_fail(b->config, group, "body", NULL, "a body, or data");
    for (int key = 0; key < SHOAL_BODY_KEYS; key++) {
        known[key] = shoal_body_key(key)->row.name;
        if (strcmp(known[key], word) == 0)
            v->key = key;
    }
    if (v->key < 0)
        return shoal_config_fail(b->config, place, NULL, shoal_nearest(word, known, SHOAL_BODY_KEYS),
                                 "a number of a body (`shoal explain system.bodies`)");
    v->moves = b->moves + (v - b->variations) * b->n_bodies;
    for (int i = list_length(also); i >= 0; i--) { /* v->body comes last */
        const config_setting_t *name = config_setting_get_member(group, "body");
        if (i > 0)
            name = config_setting_get_elem(also, (unsigned)i - 1);
        shoal_status status = shoal_config_body(b->config, name, b->study->body_name, b->n_bodies, &v->body);
        if (status)
            return status;
        for (const variation *other = b->variations; other <= v; other++)
            if (other->set < 0 && other->moves[v->body] && other->key == v->key)
                return shoal_config_fail(b->config, i ? name : place, NULL, NULL,
                                         "a parameter that is varied only once");
        const config_setting_t *written = b->inputs[v->body].source[v->key];
        const void *override = written ? config_setting_get_hook(written) : NULL;
        /* its own override, not one of all bodies */
        if (override && override != config_setting_get_hook(config_setting_parent(written)))
            return shoal_config_fail(b->config, written, NULL, NULL, "no value of its own: %s gives one to each system",
                                     v->random ? "sample" : "sweep");
        v->moves[v->body] = true;
        b->inputs[v->body].source[v->key] = place;
    }
    v->factor = shoal_config_factor(b->config, shoal_body_key(v->key)->row.dimension);
    return SHOAL_OK;
}

static shoal_status read_axis(builder *b, const config_setting_t *group, variation *v)
{
    const shoal_config *config = b->config;
    const shoal_parameter *row = &shoal_body_key(v->key)->row;
    static const char *const range[] = {"from", "to", "count", "scale"};
    shoal_status status = SHOAL_OK;

    v->values = config_setting_get_member(group, "values");
    for (int i = 0; i < SHOAL_COUNT(range); i++) {
        const config_setting_t *setting = config_setting_get_member(group, range[i]);
        if (v->values && setting)
            return shoal_config_fail(config, setting, NULL, NULL, "either values or from, to, count, scale");
        if (!v->values && !setting && i < 3)
            return shoal_config_fail(config, group, range[i], NULL, "from, to and count, or values");
    }
    if (v->values) {
        v->count = config_setting_length(v->values);
        if (v->count < 1)
            return shoal_config_fail(config, v->values, NULL, NULL, "at least one value");
        for (long i = 0; i < v->count && !status; i++)
            status = shoal_config_bounds(config, config_setting_get_elem(v->values, (unsigned)i),
                                         shoal_config_item(v->values, i), row);
        return status;
    }
    v->from = shoal_config_number(config, group, "sweep", "from");
    v->to = shoal_config_number(config, group, "sweep", "to");
    v->count = (long)shoal_config_number(config, group, "sweep", "count");
    v->logarithmic = shoal_config_number(config, group, "sweep", "scale") == 1;
    if (v->count == 1 && v->from != v->to)
        return shoal_config_fail(config, config_setting_get_member(group, "to"), NULL, NULL,
                                 "the number that from is, with a count of 1");
    for (int i = 0; i < 2 && !status; i++) {
        const config_setting_t *setting = config_setting_get_member(group, range[i]);
        const double value = i ? v->to : v->from;
        status = v->logarithmic && !(value > 0)
                     ? shoal_config_fail(config, setting, NULL, NULL, "a number > 0 with scale \"log\"")
                     : shoal_config_bounds(config, setting, value, row);
    }
    return status;
}

/* Whether a random value comes from the file of draws. */
static shoal_status read_source(const builder *b, const config_setting_t *group, const config_setting_t *file,
                                variation *v)
{
    const config_setting_t *distribution = config_setting_get_member(group, "distribution"),
                           *column = config_setting_get_member(group, "column");
    v->prior = distribution;
    v->drawn = !distribution || b->posterior;
    if (column && ((distribution && !b->posterior) || !file))
        return shoal_config_fail(b->config, column, NULL, NULL,
                                 distribution ? "either a column or a distribution" : "no column without sample.file");
    if (!distribution && !file)
        return shoal_config_fail(b->config, group, "distribution", NULL, "a distribution, or a column of sample.file");
#define X(name) #name,
    static const char *const of_distributions[] = {SHOAL_DISTRIBUTION_KEY_LIST(X)};
#undef X
    for (int i = 0; i < SHOAL_COUNT(of_distributions) && !v->prior; i++) {
        const config_setting_t *useless = config_setting_get_member(group, of_distributions[i]);
        if (useless)
            return shoal_config_fail(b->config, useless, NULL, NULL, "no '%s' without a distribution",
                                     of_distributions[i]);
    }
    return v->prior ? shoal_sample_init(b->config, group, row_of(v), &v->sample) : SHOAL_OK;
}

/* The parameter that another number follows. */
static shoal_status read_tie(builder *b, const config_setting_t *group, variation *v)
{
    const shoal_parameter *row = row_of(v);
    const config_setting_t *to = config_setting_get_member(group, "to");
    const char *word = config_setting_get_string(to);
    const int n = b->n_variations - b->n_tied;
    char names[n + 1][2 * SHOAL_NAME_SIZE];
    const char *known[n + 1];
    variation *leader = NULL;
    shoal_status status = SHOAL_OK;
    for (int i = 0; i < n; i++) {
        name_variation(b, &b->variations[i], names[i], sizeof names[i]);
        known[i] = names[i];
        if (strcmp(names[i], word) == 0)
            v->leader = leader = &b->variations[i];
    }
    if (!leader)
        return shoal_config_fail(b->config, to, NULL, shoal_nearest(word, known, n),
                                 "the name of a parameter of sample or sweep, for instance \"b.e\"");
    v->ratio = shoal_config_number(b->config, group, "sample.tied", "ratio");
    v->add = shoal_config_number(b->config, group, "sample.tied", "add");
    const bool is_angle = strcmp(row->dimension, "angle") == 0,
               both_are = strcmp(row_of(leader)->dimension, row->dimension) == 0;
    /* an angle goes round only if what follows it comes back with it */
    if (!is_angle || isfinite(row->least) || v->ratio != rint(v->ratio))
        leader->sample.period = 0;
    if (!both_are) /* else the ratio has no unit */
        status = shoal_config_angle(b->config, config_setting_get_member(group, "ratio"), v->ratio, row->dimension);
    return status ? status
                  : shoal_config_angle(b->config, config_setting_get_member(group, "add"), v->add, row->dimension);
}

/* The covariance of parameters that have one. */
static shoal_status read_covariance(builder *b, const config_setting_t *sample)
{
    shoal_correlated *among = &b->study->correlated;
    const config_setting_t *given = config_setting_get_member(sample, "covariance"),
                           *file = config_setting_get_member(sample, "covariance_file");
    char name[b->n_variations + 1][2 * SHOAL_NAME_SIZE];
    const char *names[b->n_variations + 1];
    bool bare[b->n_variations + 1];
    int n = 0;
    among->index = calloc((size_t)b->n_variations + 1, sizeof *among->index);
    among->mean = calloc((size_t)b->n_variations + 1, sizeof *among->mean);
    if (!among->index || !among->mean)
        return out_of_memory(b);
    for (variation *v = b->variations; v < b->variations + b->n_variations; v++) {
        if (!v->random || (v->drawn && !v->prior) || v->leader ||
            v->sample.distribution != SHOAL_DISTRIBUTION_correlated_normal)
            continue;
        v->sample.among = among;
        v->sample.rank = n;
        among->index[n] = v->index;
        among->mean[n] = v->sample.parameter[SHOAL_SAMPLE_mean];
        name_variation(b, v, name[n], sizeof name[n]);
        names[n] = name[n];
        bare[n] = shoal_config_is_bare(b->config, row_of(v)->dimension);
        n++;
    }
    among->n = n;
    const config_setting_t *place = given ? given : file;
    if (!place && n == 0)
        return SHOAL_OK;
    if (!place || n == 0 || (given && file))
        return shoal_config_fail(b->config, place ? place : sample, place ? NULL : "covariance", NULL,
                                 n == 0 ? "a parameter with distribution \"correlated_normal\""
                                 : place
                                     ? "either covariance or covariance_file"
                                     : "a covariance, or a covariance_file, for distribution \"correlated_normal\"");
    long rows = n;
    shoal_status status = SHOAL_OK;
    if (file) {
        char *path = shoal_config_path(b->config, config_setting_get_string(file));
        status = path ? shoal_csv_columns(b->config->context, path, n, names, NULL, &among->root, &rows)
                      : out_of_memory(b);
        free(path);
    } else if (!(among->root = calloc((size_t)n * (size_t)n, sizeof *among->root)))
        return out_of_memory(b);
    if (status)
        return status;
    if (rows != n || (given && config_setting_length(given) != n * n))
        return shoal_config_fail(b->config, place, NULL, NULL, "%d x %d numbers", n, n);
    for (long i = 0; given && i < n * n; i++)
        among->root[i] = shoal_config_item(given, i);
    for (int i = 0; i < n; i++)
        if (bare[i] && shoal_angle_is_strange(sqrt(among->root[i * (n + 1)])))
            return shoal_config_fail(b->config, given ? config_setting_get_elem(given, (unsigned)(i * (n + 1))) : file,
                                     NULL, NULL, "for %s the square of " SHOAL_STRANGE_ANGLE, names[i]);
    return shoal_sample_root(n, among->root)
               ? SHOAL_OK
               : shoal_config_fail(b->config, place, NULL, NULL, "a symmetric matrix that is positive definite");
}

/* The draws of a posterior in the study's units, angles within their priors. */
static shoal_status convert_draws(builder *b, const config_setting_t *file, const char *const names[])
{
    const shoal_parameter *rows[b->n_drawn];
    if (!(b->drawn_units = calloc((size_t)b->n_drawn, sizeof *b->drawn_units)))
        return out_of_memory(b);
    for (int i = 0; i < b->n_variations; i++)
        if (b->variations[i].drawn)
            rows[b->variations[i].column] = row_of(&b->variations[i]);
    const shoal_status status = shoal_posterior_units(b->config, file, b->draws_path, b->n_drawn, names, rows,
                                                      b->drawn_units);
    for (long i = 0; i < b->n_draws * b->n_drawn && !status; i++)
        b->draws[i] = b->draws[i] * b->drawn_units[i % b->n_drawn].factor + b->drawn_units[i % b->n_drawn].more;
    for (const variation *v = b->variations; v < b->variations + b->n_variations && !status; v++)
        for (long i = 0; v->drawn && v->prior && i < b->n_draws; i++)
            b->draws[i * b->n_drawn + v->column] = shoal_sample_wrap(&v->sample, b->draws[i * b->n_drawn + v->column]);
    return status;
}

/* The columns of sample.file that parameters take. */
static shoal_status read_draws(builder *b, const config_setting_t *file, const config_setting_t *random,
                               const config_setting_t *count)
{
    char name[b->n_variations + 1][2 * SHOAL_NAME_SIZE];
    const char *names[b->n_variations + 1];
    bool bare[b->n_variations + 1];
    for (int i = b->n_axes; i < b->n_variations; i++) { /* none that is tied is drawn */
        variation *v = &b->variations[i];
        if (!v->drawn)
            continue;
        name_variation(b, v, name[b->n_drawn], sizeof name[0]);
        names[b->n_drawn] = shoal_config_string(config_setting_get_elem(random, (unsigned)v->index), "column",
                                                name[b->n_drawn]);
        bare[b->n_drawn] = shoal_config_is_bare(b->config, row_of(v)->dimension);
        v->column = b->n_drawn++;
    }
    if (b->n_drawn == 0)
        return shoal_config_fail(b->config, file, NULL, NULL,
                                 "a parameter without a distribution, that takes a column");
    shoal_context *context = b->config->context;
    shoal_status status = b->posterior ? shoal_posterior_columns(context, b->draws_path, b->n_drawn, names,
                                                                 count ? b->n_copies : 0, &b->draws, &b->n_draws)
                                       : shoal_csv_columns(context, b->draws_path, b->n_drawn, names, bare, &b->draws,
                                                           &b->n_draws);
    if (!status && b->posterior)
        status = convert_draws(b, file, names);
    if (!status && !count)
        b->n_copies = b->n_draws;
    if (!b->posterior) {
        b->study->n_rows_drawn = b->n_copies;
        b->study->n_rows = b->n_draws;
    }
    if (!status && b->n_copies > b->n_draws)
        status = shoal_config_fail(b->config, count, NULL, NULL, "at most %ld, the rows of the file", b->n_draws);
    return status;
}

static shoal_status read_variations(builder *b)
{
    const shoal_config *config = b->config;
    const config_setting_t *sweep = shoal_config_lookup(config, "sweep"),
                           *sample = shoal_config_lookup(config, "sample");
    const config_setting_t *random = sample ? config_setting_get_member(sample, "parameters") : NULL;
    const config_setting_t *copies = shoal_config_lookup(config, "system.count");
    shoal_status status = SHOAL_OK;

    if (random && config_setting_length(random) == 0)
        return shoal_config_fail(config, random, NULL, NULL, "at least one random parameter");
    const config_setting_t *count = sample ? config_setting_get_member(sample, "count") : NULL;
    if (count && copies)
        return shoal_config_fail(config, count, NULL, NULL, "either system.count or sample.count");
    b->n_copies = (long)(count ? shoal_config_number(config, sample, "sample", "count")
                               : shoal_config_number(config, shoal_config_lookup(config, "system"), "system", "count"));
    b->study->seed = (int64_t)shoal_config_number(config, sample, "sample", "seed");
    b->n_axes = list_length(sweep);
    const config_setting_t *tied = sample ? config_setting_get_member(sample, "tied") : NULL;
    if (sample && !random && list_length(tied) == 0)
        return shoal_config_fail(config, sample, "parameters", NULL, "what is random: it must be given");
    b->n_tied = list_length(tied);
    b->n_variations = b->n_axes + list_length(random) + b->n_tied;
    b->variations = calloc((size_t)b->n_variations + 1, sizeof *b->variations);
    b->moves = calloc((size_t)(b->n_variations * b->n_bodies) + 1, sizeof *b->moves);
    if (!b->variations || !b->moves)
        return out_of_memory(b);
    const config_setting_t *file = sample ? config_setting_get_member(sample, "file") : NULL;
    if (file && !(b->draws_path = shoal_config_path(config, config_setting_get_string(file))))
        return out_of_memory(b);
    b->posterior = file && shoal_posterior_is(b->draws_path);
    double n_systems = 1;
    for (int i = 0; i < b->n_variations && !status; i++) {
        variation *v = &b->variations[i];
        v->random = i >= b->n_axes;
        v->index = i - b->n_axes;
        const int tie = i - (b->n_variations - b->n_tied);
        const config_setting_t *group = tie >= 0    ? config_setting_get_elem(tied, (unsigned)tie)
                                        : v->random ? config_setting_get_elem(random, (unsigned)v->index)
                                                    : config_setting_get_elem(sweep, (unsigned)i);
        if ((status = read_target(b, group, v)) || (status = tie >= 0    ? read_tie(b, group, v)
                                                             : v->random ? read_source(b, group, file, v)
                                                                         : read_axis(b, group, v)))
            return status;
        n_systems *= v->random ? 1 : (double)v->count;
    }
    if (sample && (status = read_covariance(b, sample)))
        return status;
    if (file && (status = read_draws(b, file, random, count ? count : copies)))
        return status;
    n_systems *= (double)b->n_copies;
    if (b->n_axes + (b->n_copies > 1) > SHOAL_MAX_AXES)
        return shoal_config_fail(config, sweep, NULL, NULL, "at most %d axes", SHOAL_MAX_AXES - (b->n_copies > 1));
    if (!isnan(b->study->system))
        b->study->first = (long)b->study->system;
    return shoal_study_share(config, b->study, count ? count : copies ? copies : sweep, n_systems, &b->n_systems);
}

/* ---- what it means ----------------------------------------------------------------------------------------------- */

static double value_of(const variation *v, long i)
{
    if (v->values)
        return shoal_config_item(v->values, i);
    if (i == 0 || v->count == 1)
        return v->from;
    if (i == v->count - 1)
        return v->to;
    const double last = (double)(v->count - 1);
    return v->logarithmic ? v->from * pow(v->to / v->from, (double)i / last)
                          : v->from + (v->to - v->from) * (double)i / last; /* round numbers stay round */
}

/* G times the mass that body i's orbit refers to. */
static double mu_of(const builder *b, int i)
{
    double mu = 0;
    for (int k = 0; k < b->n_bodies; k++)
        if (b->frame == SHOAL_BARYCENTRIC || (b->frame == SHOAL_JACOBI ? k <= i : k == 0 || k == i))
            mu += b->bodies[k].m;
    return shoal_eased_mass(&b->eases, i, b->bodies[i].m, b->bodies[0].m, mu);
}

/* What is known of body i, those before it made. */
static shoal_body_place place_of(const builder *b, int i)
{
    const int other = b->inputs[i].relative_to;
    shoal_body_place place = {.t = b->study->t_start,
                              .star_mass = b->bodies[0].m,
                              .star_radius = b->bodies[0].r,
                              .other_mass = b->bodies[other].m,
                              .other = &b->orbits[other]};
    for (int k = 0; k < i; k++)
        place.within += b->frame == SHOAL_JACOBI || k == 0 ? b->bodies[k].m : 0;
    return place;
}

static void set_mass(builder *b, int i)
{
    const shoal_body_place place = place_of(b, i);
    b->bodies[i].m = shoal_body_mass(&b->inputs[i], &place);
    b->bodies[i].r = shoal_body_radius(&b->inputs[i], b->bodies[i].m);
}

/* The masses that are known before the orbits. */
static void set_masses(builder *b)
{
    for (int i = 0; i < b->n_bodies; i++) {
        b->bodies[i] = (shoal_body){0};
        if (!shoal_body_mass_follows(&b->inputs[i]))
            set_mass(b, i);
    }
}

#define ROUNDED 1e-6 /* of an angle in some digits */

/* Why an inclination that is drawn or swept is none, or NULL. A likelihood takes any: samplers pass its bounds more
 * easily if it is reflected there. */
static const char *wrong_inclination(const builder *b, int i)
{
    const shoal_parameter *row = &shoal_body_key(SHOAL_BODY_inc)->row;
    const double inc = b->inputs[i].value[SHOAL_BODY_inc];
    return b->likelihood                         ? NULL
           : !(inc >= row->least)                ? "inc < 0"
           : !(inc <= row->most * (1 + ROUNDED)) ? "inc > 180 degrees"
                                                 : NULL;
}

/* Cartesian bodies of the inputs as they are now; E_INPUT if there are none (reason: a phrase). */
static shoal_status make_bodies(builder *b, const char **reason)
{
    set_masses(b);
    for (int i = 0; i < b->n_bodies; i++) {
        const double *v = b->inputs[i].value;
        if (b->cartesian) {
            b->bodies[i].x = v[SHOAL_BODY_x];
            b->bodies[i].y = v[SHOAL_BODY_y];
            b->bodies[i].z = v[SHOAL_BODY_z];
            b->bodies[i].vx = v[SHOAL_BODY_vx];
            b->bodies[i].vy = v[SHOAL_BODY_vy];
            b->bodies[i].vz = v[SHOAL_BODY_vz];
        } else if (i > 0) {
            const shoal_body_place place = place_of(b, i);
            if (shoal_body_mass_follows(&b->inputs[i]))
                set_mass(b, i);
            if ((*reason = wrong_inclination(b, i)) ||
                !shoal_body_orbit(&b->inputs[i], &place, b->bodies[i].m, mu_of(b, i), &b->orbits[i], reason))
                return SHOAL_E_INPUT;
        }
    }
    *reason = shoal_context_message(b->config->context);
    return b->cartesian ? SHOAL_OK
                        : shoal_bodies_from_eased_orbits(b->config->context, b->frame, b->n_bodies, b->orbits,
                                                         &b->eases, b->bodies);
}

/* A time of a pericentre or a transit that is centuries from the start of the run is a date, and that start is not. */
static void find_far_times(builder *b)
{
    static const int keys[] = {SHOAL_BODY_T, SHOAL_BODY_T0, SHOAL_BODY_epoch};
    const double far = 200 * 2 * M_PI; /* years */
    for (int i = 1; i < b->n_bodies; i++)
        for (int k = 0; k < SHOAL_COUNT(keys); k++) {
            const double time = b->inputs[i].value[keys[k]];
            if (b->inputs[i].source[keys[k]] && fabs(time - b->study->t_start) > far) {
                b->study->far_body = i;
                b->study->far_time = time;
            }
        }
}

/* What no variation touches must be possible: an orbit that is not would make every system invalid. */
static shoal_status check_constants(builder *b)
{
    const shoal_config *config = b->config;
    double mass = 0;
    bool varied_mass = false;
    for (const variation *v = b->variations; v < b->variations + b->n_variations; v++)
        for (int i = 0; i < b->n_bodies; i++)
            if (v->moves[i]) {
                b->inputs[i].varied = true;
                varied_mass |= v->key == SHOAL_BODY_m || !b->inputs[i].source[SHOAL_BODY_m];
            }
    set_masses(b);
    for (int i = 0; i < b->n_bodies; i++) {
        shoal_body_input *input = &b->inputs[i];
        const config_setting_t *spacing = input->source[SHOAL_BODY_hill_spacing];
        input->varied |= shoal_body_is_tied(input) &&
                         (b->inputs[input->relative_to].varied || (spacing && varied_mass));
        mass += b->bodies[i].m;
        /* of K and b nothing is known without the other bodies */
        input->varied |= input->source[SHOAL_BODY_K] || input->source[SHOAL_BODY_b];
        input->varied |= input->source[SHOAL_BODY_mass_ratio] && b->inputs[0].varied;
        if (input->varied)
            continue;
        if (!isfinite(b->bodies[i].m))
            return shoal_config_fail(config, shoal_body_mass_source(input), NULL, NULL,
                                     input->source[SHOAL_BODY_msini] ? "an inclination other than 0 with msini"
                                                                     : "a finite mass");
        if (i == 0 || b->cartesian)
            continue;
        const config_setting_t *place = input->source[SHOAL_BODY_e]   ? input->source[SHOAL_BODY_e]
                                        : spacing                     ? spacing
                                        : input->source[SHOAL_BODY_a] ? input->source[SHOAL_BODY_a]
                                                                      : config_setting_get_elem(b->list, (unsigned)i);
        const char *reason;
        double state[6];
        const shoal_body_place at = place_of(b, i);
        if (!shoal_body_orbit(input, &at, b->bodies[i].m, 1, &b->orbits[i], &reason))
            return shoal_config_fail(config, place, NULL, NULL, "elements of a possible orbit, not %s", reason);
        if (shoal_orbit_to_state(config->context, 1, &b->orbits[i], state)) {
            char message[SHOAL_MESSAGE_SIZE];
            snprintf(message, sizeof message, "%s", shoal_context_message(config->context));
            return shoal_config_fail(config, place, NULL, NULL, "elements of a possible orbit: %.700s", message);
        }
    }
    if (!varied_mass && !(mass > 0))
        return shoal_config_fail(config, b->list, NULL, NULL, "masses whose sum is > 0");
    return SHOAL_OK;
}

static shoal_status create_columns(builder *b)
{
    shoal_study *study = b->study;
    const bool copy_axis = b->n_axes > 0 && b->n_copies > 1;
    study->swept = calloc((size_t)b->n_variations + 1, sizeof *study->swept);
    if (!study->swept)
        return out_of_memory(b);
    for (int i = 0; i < b->n_variations + copy_axis; i++) {
        shoal_column *column = &study->swept[i];
        study->n_swept = i + 1;
        column->value = malloc((size_t)b->n_systems * sizeof *column->value);
        if (!column->value)
            return out_of_memory(b);
        if (i == b->n_variations) { /* so that an index into the axes is a system, one to one */
            snprintf(column->name, sizeof column->name, "sample");
            snprintf(column->doc, sizeof column->doc, "which of the samples at its point of the grid");
        } else {
            const shoal_parameter *row = row_of(&b->variations[i]);
            name_variation(b, &b->variations[i], column->name, sizeof column->name);
            snprintf(column->doc, sizeof column->doc, "%s", row->doc);
            shoal_config_unit(b->config, row->dimension, column->unit);
            if (b->drawn_units && b->variations[i].drawn && !*row->dimension) /* numbers of data stay in the fit's */
                strcpy(column->unit, b->drawn_units[b->variations[i].column].name);
        }
        if (i >= b->n_axes && i < b->n_variations)
            continue;
        const bool copies = i == b->n_variations;
        shoal_axis *axis = &study->axes[study->n_axes++];
        *axis = (shoal_axis){.count = copies ? b->n_copies : b->variations[i].count,
                             .logarithmic = !copies && b->variations[i].logarithmic};
        memcpy(axis->column, column->name, sizeof axis->column);
    }
    if (!isnan(study->system))
        study->n_axes = 0; /* one system is no grid */
    return SHOAL_OK;
}

/* Set the inputs and the columns to system s, which has this id. */
static void apply_variations(builder *b, long s, long id)
{
    long point = id / b->n_copies;
    const int n = b->n_variations - b->n_tied;
    for (int k = 0; k < b->n_variations; k++) { /* the last axis is the fastest; what is tied follows */
        const int i = k < n ? n - 1 - k : k;
        const variation *v = &b->variations[i];
        double value;
        if (v->leader)
            value = v->ratio * b->study->swept[v->leader - b->variations].value[s] + v->add;
        else if (v->random && v->drawn)
            value = b->draws[id % b->n_copies * b->n_drawn + v->column];
        else if (v->random)
            value = shoal_sample_draw(&v->sample, b->study->seed, id, v->index);
        else {
            value = value_of(v, point % v->count);
            point /= v->count;
        }
        b->study->swept[i].value[s] = value; /* NOLINT(clang-analyzer-core.NullDereference): create_columns made it */
        for (int body = 0; body < b->n_bodies; body++)
            if (v->moves[body])
                b->inputs[body].value[v->key] = value * v->factor;
    }
    if (b->study->n_swept > b->n_variations)
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): create_columns made it */
        b->study->swept[b->n_variations].value[s] = (double)(id % b->n_copies);
}

/* The bodies of a system, as they are now, for who wants them. */
static shoal_status give_system(const builder *b, long id)
{
    shoal_status status = shoal_table_add_system(b->study->given, id, b->study->t_start);
    for (int i = 0; i < b->n_bodies && !status; i++)
        status = shoal_table_add_body(b->study->given, b->study->body_name[i], &b->bodies[i]);
    return status;
}

/* Systems from which threads share in making them, in parts that depend on the number of systems alone. */
#define WORTH_THREADS 1024

typedef struct systems_part {
    shoal_status status; /* anything but impossible systems */
    shoal_findings findings;
} systems_part;

typedef struct systems_loop {
    const builder *b;
    long part; /* systems of each part */
    systems_part parts[SHOAL_MOST_PARTS];
} systems_loop;

/* Make system s. An impossible one stays `invalid`, as the ensemble was made: it is a result of the sweep, not an
 * error. */
static shoal_status make_system(builder *b, shoal_ensemble *ensemble, long s, shoal_findings *findings)
{
    const shoal_system record = {.id = b->study->first + s * b->study->stride, .t_start = b->study->t_start};
    const char *reason;
    apply_variations(b, s, record.id);
    shoal_status status = make_bodies(b, &reason);
    if (!status)
        status = shoal_ensemble_set_bodies(ensemble, s, b->n_bodies, b->bodies);
    if (status == SHOAL_E_MEMORY) /* no property of the system */
        return status;
    if (status)
        shoal_findings_invalid(findings, 1, record.id, reason);
    shoal_ensemble_set_system(ensemble, s, &record);
    return !status && b->study->given ? give_system(b, record.id) : SHOAL_OK;
}

static void make_part(void *user, long first, long last)
{
    systems_loop *loop = user;
    systems_part *part = &loop->parts[first / loop->part];
    const size_t n = (size_t)loop->b->n_bodies;
    /* what differs from system to system, and messages, are the part's own */
    shoal_context context = {0};
    shoal_config config = *loop->b->config;
    shoal_ensemble ensemble = *loop->b->study->ensemble;
    builder b = *loop->b;
    config.context = ensemble.context = &context;
    b.config = &config;
    b.inputs = malloc(n * sizeof *b.inputs);
    b.orbits = calloc(n, sizeof *b.orbits);
    b.bodies = calloc(n, sizeof *b.bodies);
    if (!b.inputs || !b.orbits || !b.bodies) {
        part->status = SHOAL_E_MEMORY;
    } else {
        void *numbers = shoal_numbers_begin();
        memcpy(b.inputs, loop->b->inputs, n * sizeof *b.inputs);
        for (long s = first; s < last && !part->status; s++)
            part->status = make_system(&b, &ensemble, s, &part->findings);
        shoal_numbers_end(numbers);
    }
    free(b.inputs);
    free(b.orbits);
    free(b.bodies);
}

/* Make all of them once; found: those that are invalid. */
static shoal_status make_all(builder *b, shoal_findings *found)
{
    shoal_study *study = b->study;
    const long n = b->n_systems;
    const int n_threads = study->given ? 1 /* they are given in their order */
                                       : shoal_threads_or_default(study->options.threads);
    systems_loop loop = {.b = b, .part = shoal_part(n, WORTH_THREADS)};
    shoal_status status = SHOAL_OK;
    *found = (shoal_findings){0};
    shoal_share(b->config->context, n_threads, n, loop.part, make_part, &loop);
    study->ensemble->given = true;
    study->ensemble->changes++;
    for (long first = 0; first < n && !status; first += loop.part) {
        const systems_part *part = &loop.parts[first / loop.part];
        const shoal_findings *of = &part->findings;
        status = part->status;
        shoal_findings_invalid(found, of->n_invalid, of->first_invalid, of->why_invalid);
    }
    return status == SHOAL_E_MEMORY ? out_of_memory(b) : status;
}

static shoal_status make_systems(builder *b)
{
    enum { MOST_DRAWS = 1000 };
    shoal_study *study = b->study;
    const long n = b->n_systems;
    shoal_findings found;
    shoal_status status = make_all(b, &found);
    const shoal_findings first = found;
    /* a likelihood begins with any system that is possible, and the first draws of a prior may be none */
    const bool any = b->likelihood && !b->draws && shoal_study_is_whole(study);
    while (!status && any && found.n_invalid == n && study->first + n < MOST_DRAWS) {
        study->first += n;
        snprintf(study->stands_in, sizeof study->stands_in, "%s", first.why_invalid);
        status = make_all(b, &found);
    }
    if (status)
        return status;
    if (found.n_invalid == n)
        found = first;
    shoal_findings_invalid(&study->findings, found.n_invalid, found.first_invalid, found.why_invalid);
    if (found.n_invalid == n && (b->n_variations == 0 || shoal_study_is_whole(study))) {
        const config_setting_t *varies = shoal_config_lookup(b->config, b->n_axes ? "sweep" : "sample");
        return shoal_config_fail(b->config, varies ? varies : b->list, NULL, NULL, "possible initial conditions%s: %s",
                                 b->n_variations ? " of one system at least; the first one" : "",
                                 study->findings.why_invalid);
    }
    return SHOAL_OK;
}

/* What the likelihood of the study varies, and what it holds. */
static shoal_status keep_walkers(builder *b)
{
    shoal_study_walkers *walkers = &b->study->walkers;
    const config_setting_t *sweep = shoal_config_lookup(b->config, "sweep");
    static const char *const useless[] = {"processes", "likelihood"};
    for (int i = 0; i < SHOAL_COUNT(useless); i++)
        if (shoal_config_lookup(b->config, useless[i]) && !shoal_config_lookup(b->config, "data"))
            return shoal_config_fail(b->config, shoal_config_lookup(b->config, useless[i]), NULL, NULL,
                                     "no %s without data", useless[i]);
    if (!shoal_config_lookup(b->config, "data") || (sweep && b->posterior))
        return SHOAL_OK;
    if (sweep)
        return shoal_config_fail(b->config, sweep, NULL, NULL, "no sweep with data: a likelihood has no grid");
    if (b->cartesian)
        return shoal_config_fail(b->config, b->list, NULL, NULL, "elements, not x, y, z, vx, vy, vz, with data");
    walkers->bodies = calloc((size_t)b->n_bodies, sizeof *walkers->bodies);
    walkers->parameters = calloc((size_t)b->n_variations + 1, sizeof *walkers->parameters);
    walkers->ties = calloc((size_t)b->n_tied + 1, sizeof *walkers->ties);
    if (!walkers->bodies || !walkers->parameters || !walkers->ties)
        return out_of_memory(b);
    walkers->n_bodies = b->n_bodies;
    walkers->n_parameters = b->n_variations - b->n_tied;
    walkers->frame = b->frame;
    for (int i = 0; i < b->n_bodies; i++) {
        shoal_walker_body *body = &walkers->bodies[i];
        body->relative_to = b->inputs[i].relative_to;
        body->mass_unit = b->inputs[i].mass_unit;
        for (int key = 0; key < SHOAL_BODY_KEYS; key++) {
            body->given |= b->inputs[i].source[key] ? 1ull << key : 0;
            body->number[key] = (shoal_walker_number){-1, 1, b->inputs[i].value[key]};
        }
    }
    for (int p = 0; p < walkers->n_parameters; p++) {
        const variation *v = &b->variations[p];
        shoal_study_parameter *parameter = &walkers->parameters[p];
        *parameter = (shoal_study_parameter){
            .factor = v->factor, .set = v->set, .number = v->key, .drawn = !v->prior, .prior = v->sample};
        name_variation(b, v, parameter->name, sizeof parameter->name);
        for (int i = 0; i < b->n_bodies; i++)
            if (v->moves[i])
                walkers->bodies[i].number[v->key] = (shoal_walker_number){p, v->factor, 0};
    }
    for (const variation *v = b->variations + walkers->n_parameters; v < b->variations + b->n_variations; v++) {
        const int to = (int)(v->leader - b->variations);
        if (v->set >= 0)
            walkers->ties[walkers->n_ties++] = (shoal_study_tie){v->set, v->key, to, v->ratio, v->add};
        else
            walkers->bodies[v->body].number[v->key] = (shoal_walker_number){to, v->ratio * v->factor,
                                                                            v->add * v->factor};
    }
    return SHOAL_OK;
}

shoal_status shoal_systems_build(const shoal_config *config, shoal_study *study)
{
    builder b = {.config = config,
                 .study = study,
                 .list = shoal_config_lookup(config, "system.bodies"),
                 .likelihood = shoal_config_lookup(config, "data")};
    const config_setting_t *system = shoal_config_lookup(config, "system");
    const config_setting_t *elements = config_setting_get_member(system, "elements");
    shoal_status status;

    if ((status = read_bodies(&b)) || (status = read_variations(&b)))
        goto fail;
    shoal_config_eases(config->context, shoal_config_lookup(config, "forces"), study->body_name, b.n_bodies, &b.eases);
    const int frame = (int)shoal_config_number(config, system, "system", "elements");
    b.cartesian = elements ? frame > SHOAL_BARYCENTRIC : true;
    b.frame = b.cartesian ? SHOAL_JACOBI : (shoal_frame)frame;
    for (int i = 0; i < b.n_bodies && !elements; i++) /* nothing said: as the bodies are */
        b.cartesian = b.cartesian && shoal_body_is_cartesian(&b.inputs[i]);
    for (int i = 0; i < b.n_bodies; i++)
        if ((status = shoal_body_check(config, config_setting_get_elem(b.list, (unsigned)i), &b.inputs[i], b.inputs,
                                       b.cartesian, b.frame)))
            goto fail;
    find_far_times(&b);
    if ((status = check_constants(&b)))
        goto fail;
    shoal_plan_expect(&study->options, b.n_systems);
    if ((status = shoal_ensemble_create_by(config->context, shoal_threads_or_default(study->options.threads),
                                           b.n_systems, b.n_bodies, &study->ensemble)) ||
        (status = create_columns(&b)) || (status = keep_walkers(&b)) || (status = make_systems(&b)))
        goto fail;
fail:
    free(b.inputs);
    free(b.orbits);
    free(b.bodies);
    free(b.variations);
    free(b.moves);
    free(b.draws);
    free(b.drawn_units);
    free(b.draws_path);
    return status;
}
