/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * posterior.c: the file of a fit: HDF5, and netCDF-4 at the same time, in the layout of ArviZ's InferenceData:
 *
 *     /                      attributes: format, version, config (the text of the study)
 *     /posterior/PARAMETER   [chain][draw], attributes unit, r_hat, ess_bulk, ess_tail; /posterior/chain,
 *                            /posterior/draw
 *     /posterior             attributes: parameters, their names; step_error, by how many sigma half the step moves it
 *     /sample_stats/lp       [chain][draw] ln prior + ln L; lnl: ln L; accepted: whether the walker moved
 *     /observed_data/time    [datum] of the data; value, error; set: which of `data` of the config
 *     /observed_data         attribute: folder of the config
 *
 * A chain is a walker. netCDF-4 takes its dimensions from HDF5's dimension scales: what the specification of these
 * (HDF5 Dimension Scale Specification) asks for is written here as the attributes that they are.
 */
#define _GNU_SOURCE 1
#include <stdlib.h>

#include "core/fit/fit.h"
#include "core/result/h5.h"

enum { CHAIN, DRAW, DATUM, DIMENSIONS, TWO = 2 };
static const char *const dimension_names[DIMENSIONS] = {"chain", "draw", "datum"};
/* Of /observed_data, in the order of shoal_observed. */
static const char *const observed_names[SHOAL_OBSERVED] = {"time", "value", "error", "set"};

typedef struct writer {
    shoal_h5 h5;
    const shoal_draws *draws;
    long n, n_data; /* draws that count, data */
    double *x;      /* [n_walkers][n] */
    char path[2 * SHOAL_COLUMN_SIZE];
} writer;

static shoal_status h5_failed(const writer *w, const char *what)
{
    return shoal_fail(w->h5.context, SHOAL_E_FILE, "%s: cannot write %s", w->h5.path, what);
}

static shoal_status put_array(const writer *w, const char *object, const char *name, hid_t type, hsize_t n,
                              const void *values)
{
    const shoal_status status = type < 0 ? h5_failed(w, name)
                                         : shoal_h5_put(&w->h5, object, name, type, (int)n, values);
    if (type >= 0)
        H5Tclose(type);
    return status;
}

/* Coordinates 0, 1, 2, ... of a group: its dimension scales, those from `first` to `last`. */
static shoal_status write_scales(writer *w, const char *group, int first, int last)
{
    shoal_status status = shoal_h5_group(&w->h5, group);
    for (int d = first; d <= last && !status; d++) {
        const long n = d == CHAIN ? w->draws->n_walkers : d == DRAW ? w->n : w->n_data;
        int64_t *numbers = malloc((size_t)(n + 1) * sizeof *numbers);
        if (!numbers)
            return shoal_fail(w->h5.context, SHOAL_E_MEMORY, "out of memory");
        for (long i = 0; i < n; i++)
            numbers[i] = i;
        snprintf(w->path, sizeof w->path, "%s/%s", group, dimension_names[d]);
        status = shoal_h5_write(&w->h5, w->path, H5T_NATIVE_INT64, shoal_h5_rows(n), numbers, NULL, NULL);
        free(numbers);
        if (!status)
            status = shoal_h5_put_text(&w->h5, w->path, "CLASS", "DIMENSION_SCALE");
        if (!status)
            status = shoal_h5_put_text(&w->h5, w->path, "NAME", dimension_names[d]);
        if (!status)
            status = shoal_h5_put(&w->h5, w->path, "_Netcdf4Dimid", H5T_NATIVE_INT, 0, &d);
    }
    return status;
}

/* Say of the dataset at w->path, in a group, that its dimensions are these. */
static shoal_status put_dimensions(writer *w, const char *group, int first, int last)
{
    char path[2 * SHOAL_COLUMN_SIZE];
    hobj_ref_t scale[TWO];
    hvl_t list[TWO];
    for (int d = first; d <= last; d++) {
        snprintf(path, sizeof path, "%s/%s", group, dimension_names[d]);
        if (H5Rcreate(&scale[d - first], w->h5.file, path, H5R_OBJECT, H5I_INVALID_HID) < 0)
            return h5_failed(w, path);
        list[d - first] = (hvl_t){1, &scale[d - first]};
    }
    return put_array(w, w->path, "DIMENSION_LIST", H5Tvlen_create(H5T_STD_REF_OBJ), (hsize_t)last - (hsize_t)first + 1,
                     list);
}

/* A dataset [chain][draw] of a group. */
static shoal_status write_variable(writer *w, const char *group, const char *name, const char *unit, const char *doc)
{
    snprintf(w->path, sizeof w->path, "%s/%s", group, name);
    const shoal_status status = shoal_h5_write(&w->h5, w->path, H5T_NATIVE_DOUBLE,
                                               shoal_h5_table(w->draws->n_walkers, w->n), w->x, unit, doc);
    return status ? status : put_dimensions(w, group, CHAIN, DRAW);
}

static shoal_status write_parameter(writer *w, int i, const char *name, const char *unit)
{
    const shoal_diagnosis *of = &w->draws->diagnosis[i];
    shoal_draws_column(w->draws, i, w->x);
    shoal_status status = write_variable(w, "/posterior", name, unit, NULL);
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"r_hat", of->rhat}, {"ess_bulk", of->ess_bulk}, {"ess_tail", of->ess_tail}};
    for (int a = 0; a < SHOAL_COUNT(numbers) && !status; a++)
        status = shoal_h5_put(&w->h5, w->path, numbers[a].name, H5T_NATIVE_DOUBLE, 0, &numbers[a].value);
    return status;
}

static shoal_status write_posterior(writer *w, const char *const *names, const char *const *units)
{
    char *all = NULL; /* names in their order, a line each */
    size_t size;
    shoal_status status = write_scales(w, "/posterior", CHAIN, DRAW);
    for (int i = 0; i < w->draws->k && !status; i++)
        status = write_parameter(w, i, names[i], units[i]);
    FILE *out = open_memstream(&all, &size);
    for (int i = 0; out && i < w->draws->k; i++)
        fprintf(out, "%s%s", i ? "\n" : "", names[i]);
    if (!status && (!out || fclose(out) != 0))
        status = shoal_fail(w->h5.context, SHOAL_E_MEMORY, "out of memory");
    if (!status)
        status = shoal_h5_put_text(&w->h5, "/posterior", "parameters", all);
    if (!status)
        status = shoal_h5_put_text(&w->h5, "/posterior", "inference_library", "shoal");
    if (!status && !isnan(w->draws->step_error))
        status = shoal_h5_put(&w->h5, "/posterior", "step_error", H5T_NATIVE_DOUBLE, 0, &w->draws->step_error);
    free(all);
    return status;
}

static shoal_status write_stats(writer *w)
{
    static const struct {
        int number;
        const char *name, *doc;
    } stats[] = {{SHOAL_DRAW_LP, "lp", "ln of the posterior density: ln prior + ln L"},
                 {SHOAL_DRAW_LNL, "lnl", "ln L"},
                 {SHOAL_DRAW_ACCEPTED, "accepted", "1: the walker's last step before this draw was taken"}};
    shoal_status status = write_scales(w, "/sample_stats", CHAIN, DRAW);
    for (int i = 0; i < SHOAL_COUNT(stats) && !status; i++) {
        shoal_draws_column(w->draws, w->draws->k + stats[i].number, w->x);
        status = write_variable(w, "/sample_stats", stats[i].name, NULL, stats[i].doc);
    }
    return status;
}

static shoal_status write_observed(writer *w, const shoal_observed *observed)
{
    shoal_status status = write_scales(w, "/observed_data", DATUM, DATUM);
    for (int i = 0; i < SHOAL_OBSERVED && !status; i++) {
        snprintf(w->path, sizeof w->path, "/observed_data/%s", observed_names[i]);
        status = shoal_h5_write(&w->h5, w->path, H5T_NATIVE_DOUBLE, shoal_h5_rows(observed->n),
                                observed->numbers + i * observed->n, i == 0 ? observed->time_unit : NULL, NULL);
        if (!status)
            status = put_dimensions(w, "/observed_data", DATUM, DATUM);
    }
    return status || !observed->folder ? status
                                       : shoal_h5_put_text(&w->h5, "/observed_data", "folder", observed->folder);
}

shoal_status shoal_posterior_write(shoal_context *context, const char *path, const shoal_draws *draws,
                                   const char *const *names, const char *const *units, const char *config_text,
                                   const shoal_observed *observed)
{
    writer w = {.draws = draws, .n = draws->n - shoal_draws_first(draws), .n_data = observed ? observed->n : 0};
    const size_t size = (size_t)(draws->n_walkers * w.n) * sizeof *w.x;
    w.x = malloc(size + 1);
    if (!w.x)
        return shoal_fail(context, SHOAL_E_MEMORY, "out of memory for %ld draws", draws->n);
    shoal_status status = shoal_h5_create(context, path, H5F_LIBVER_V110, size * (size_t)(draws->k + 3) + (1 << 16),
                                          &w.h5);
    if (!status) {
        const struct {
            const char *name, *text;
        } texts[] = {{"format", "shoal posterior"}, {"version", shoal_version()}, {"config", config_text}};
        for (int i = 0; i < SHOAL_COUNT(texts) && !status; i++)
            status = shoal_h5_put_text(&w.h5, "/", texts[i].name, texts[i].text);
        if (!status)
            status = write_posterior(&w, names, units);
        if (!status)
            status = write_stats(&w);
        if (!status && observed)
            status = write_observed(&w, observed);
        status = shoal_h5_save(&w.h5, status);
    }
    free(w.x);
    return status;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

shoal_fit_file shoal_fit_file_of(const char *path)
{
    shoal_h5 h5;
    char format[32] = "";
    if (!shoal_posterior_is(path) || shoal_h5_open(NULL, path, &h5))
        return SHOAL_FIT_FILE_NONE;
    const bool found = shoal_h5_has_attribute(&h5, "/", "format") &&
                       !shoal_h5_get_word(&h5, "/", "format", format, sizeof format);
    shoal_h5_close(&h5);
    return !found                                     ? SHOAL_FIT_FILE_NONE
           : strcmp(format, "shoal posterior") == 0   ? SHOAL_FIT_FILE_POSTERIOR
           : strcmp(format, "shoal calibration") == 0 ? SHOAL_FIT_FILE_RANKS
                                                      : SHOAL_FIT_FILE_NONE;
}

static shoal_status read_parameter(const shoal_h5 *h5, shoal_posterior *p, int i, shoal_h5_extent *extent)
{
    char path[2 * SHOAL_COLUMN_SIZE];
    snprintf(path, sizeof path, i < p->k ? "/posterior/%s" : "/sample_stats/%s", p->name[i]);
    shoal_status status = SHOAL_OK;
    if (i == 0) {
        if ((status = shoal_h5_sizes(h5, path, 2, extent)))
            return status;
        p->n_chains = (long)extent->of[0];
        p->n_draws = (long)extent->of[1];
        p->values = malloc(((size_t)p->k + 1) * (size_t)(p->n_chains * p->n_draws) * sizeof *p->values + 1);
        if (!p->values)
            return shoal_fail(h5->context, SHOAL_E_MEMORY, "out of memory for %ld draws", p->n_chains * p->n_draws);
    }
    if (shoal_h5_has_attribute(h5, path, "unit"))
        status = shoal_h5_get_word(h5, path, "unit", p->unit[i], sizeof p->unit[i]);
    return status ? status
                  : shoal_h5_read_exactly(h5, path, H5T_NATIVE_DOUBLE, *extent,
                                          p->values + (size_t)i * (size_t)(p->n_chains * p->n_draws));
}

static shoal_status read_observed(const shoal_h5 *h5, shoal_observed *observed)
{
    char path[2 * SHOAL_COLUMN_SIZE];
    shoal_status status = shoal_h5_size(h5, "/observed_data/time", &observed->n);
    if (!status)
        status = shoal_h5_get_word(h5, "/observed_data/time", "unit", observed->time_unit, sizeof observed->time_unit);
    if (status)
        return status;
    observed->numbers = malloc((size_t)(SHOAL_OBSERVED * observed->n + 1) * sizeof *observed->numbers);
    if (!observed->numbers)
        return shoal_fail(h5->context, SHOAL_E_MEMORY, "out of memory for %ld data", observed->n);
    for (int i = 0; i < SHOAL_OBSERVED && !status; i++) {
        snprintf(path, sizeof path, "/observed_data/%s", observed_names[i]);
        status = shoal_h5_read_exactly(h5, path, H5T_NATIVE_DOUBLE, shoal_h5_rows(observed->n),
                                       observed->numbers + i * observed->n);
    }
    if (!status && shoal_h5_has_attribute(h5, "/observed_data", "folder"))
        status = shoal_h5_get_text(h5, "/observed_data", "folder", &observed->folder);
    return status;
}

static shoal_status read_posterior(const shoal_h5 *h5, shoal_posterior *p)
{
    char *all = NULL, *rest;
    shoal_h5_extent extent = {0};
    shoal_status status = shoal_h5_get_text(h5, "/", "config", &p->config_text);
    if (!status)
        status = shoal_h5_get_text(h5, "/posterior", "parameters", &all);
    if (status)
        return status;
    for (const char *at = all; at; at = strchr(at + 1, '\n'))
        p->k++;
    p->name = calloc((size_t)p->k + 1, sizeof *p->name);
    p->unit = calloc((size_t)p->k + 1, sizeof *p->unit);
    if (!p->name || !p->unit)
        status = shoal_fail(h5->context, SHOAL_E_MEMORY, "out of memory");
    rest = all;
    for (int i = 0; i <= p->k && !status; i++) {
        /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): there are k of them */
        p->name[i] = strdup(i < p->k ? strsep(&rest, "\n") : "lp");
        status = p->name[i] ? read_parameter(h5, p, i, &extent) : shoal_fail(h5->context, SHOAL_E_MEMORY, "no memory");
    }
    free(all);
    return status || !shoal_h5_has(h5, "/observed_data") ? status : read_observed(h5, &p->observed);
}

shoal_status shoal_posterior_read(shoal_context *context, const char *path, shoal_posterior **posterior)
{
    shoal_h5 h5;
    *posterior = NULL;
    shoal_posterior *made = calloc(1, sizeof *made);
    if (!made)
        return shoal_fail(context, SHOAL_E_MEMORY, "out of memory");
    made->context = context;
    made->path = path;
    shoal_status status = shoal_h5_open(context, path, &h5);
    if (!status) {
        status = read_posterior(&h5, made);
        shoal_h5_close(&h5);
    }
    if (status)
        shoal_posterior_destroy(&made);
    *posterior = made;
    return status;
}

void shoal_posterior_destroy(shoal_posterior **posterior)
{
    if (!*posterior)
        return;
    for (int i = 0; (*posterior)->name && i <= (*posterior)->k; i++)
        free((*posterior)->name[i]);
    free((*posterior)->name);
    free((*posterior)->unit);
    free((*posterior)->values);
    free((*posterior)->config_text);
    free((*posterior)->observed.numbers);
    free((*posterior)->observed.folder);
    free(*posterior);
    *posterior = NULL;
}
