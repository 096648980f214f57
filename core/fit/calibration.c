/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * calibration.c: what `shoal calibrate` leaves, and whether ranks are uniform. The file is HDF5:
 *
 *     /            attributes: format, version, config (the text of the study), of (what the ranks depend on),
 *                  parameters (names, a line each; the last one is lp: ln prior + ln L), draws (of each posterior)
 *     /truth       [set][parameter] what the data were made of
 *     /rank        [set][parameter] how many of the draws are below
 *     /r_hat, /ess_bulk, /ess_tail  [set][parameter]
 *     /steps       [set] of its fit
 *     /precise     [set] 1: all R-hat and effective sample sizes are as they were asked for
 *
 * Ranks are counted in bins of as many ranks each. Of uniform ones the sum of (count - expected)^2 / expected is a
 * chi^2 of one degree of freedom fewer than bins.
 */
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

#include "core/fit/fit.h"
#include "core/result/h5.h"

static const char *const number_names[SHOAL_RANK_NUMBERS] = {
    [SHOAL_RANK_TRUTH] = "truth",   [SHOAL_RANK_RANK] = "rank",     [SHOAL_RANK_RHAT] = "r_hat",
    [SHOAL_RANK_BULK] = "ess_bulk", [SHOAL_RANK_TAIL] = "ess_tail",
};
static const char *const set_names[SHOAL_RANK_FIRST] = {[SHOAL_RANK_STEPS] = "steps", [SHOAL_RANK_PRECISE] = "precise"};

shoal_status shoal_ranks_create(shoal_context *context, int k, long n_sets, shoal_ranks *ranks)
{
    *ranks = (shoal_ranks){
        .k = k, .n_sets = n_sets, .n_row = SHOAL_RANK_FIRST + (size_t)k * (size_t)SHOAL_RANK_NUMBERS};
    ranks->rows = malloc((size_t)n_sets * ranks->n_row * sizeof *ranks->rows);
    ranks->names = calloc((size_t)k, sizeof *ranks->names);
    if (!ranks->rows || !ranks->names)
        return shoal_fail(context, SHOAL_E_MEMORY, "out of memory for %ld sets", n_sets);
    for (size_t i = 0; i < (size_t)n_sets * ranks->n_row; i++)
        ranks->rows[i] = NAN;
    return SHOAL_OK;
}

void shoal_ranks_release(shoal_ranks *ranks)
{
    for (int i = 0; ranks->names && i < ranks->k; i++)
        free(ranks->names[i]);
    free(ranks->names);
    free(ranks->rows);
    free(ranks->text);
    free(ranks->config_text);
    *ranks = (shoal_ranks){0};
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* Numbers of the file: dataset d has `columns` of them for each set, from `at` on in steps of `step` of a row. */
typedef struct dataset {
    char path[32];
    long columns;
    size_t at, step;
} dataset;

enum { DATASETS = (int)SHOAL_RANK_NUMBERS + (int)SHOAL_RANK_FIRST };

static dataset dataset_of(const shoal_ranks *ranks, int d)
{
    const bool of_set = d >= SHOAL_RANK_NUMBERS;
    const int number = of_set ? d - SHOAL_RANK_NUMBERS : d;
    dataset made = {.columns = of_set ? 1 : ranks->k,
                    .at = (size_t)number + (of_set ? 0 : (size_t)SHOAL_RANK_FIRST),
                    .step = SHOAL_RANK_NUMBERS};
    snprintf(made.path, sizeof made.path, "/%s", of_set ? set_names[number] : number_names[number]);
    return made;
}

static shoal_status write_parts(shoal_h5 *h5, const shoal_ranks *ranks, double *x)
{
    char *names = NULL;
    size_t size;
    FILE *out = open_memstream(&names, &size);
    for (int i = 0; out && i < ranks->k; i++)
        fprintf(out, "%s%s", i ? "\n" : "", ranks->names[i]);
    shoal_status status = out && fclose(out) == 0 ? SHOAL_OK : shoal_fail(h5->context, SHOAL_E_MEMORY, "out of memory");
    const struct {
        const char *name, *text;
    } texts[] = {{"format", "shoal calibration"},
                 {"version", shoal_version()},
                 {"config", ranks->config_text},
                 {"of", ranks->text},
                 {"parameters", names}};
    for (int i = 0; i < SHOAL_COUNT(texts) && !status; i++)
        status = shoal_h5_put_text(h5, "/", texts[i].name, texts[i].text);
    free(names);
    if (!status)
        status = shoal_h5_put_integers(h5, "/", "draws", 1, &(int64_t){ranks->n_draws});
    for (int d = 0; d < DATASETS && !status; d++) {
        const dataset of = dataset_of(ranks, d);
        for (long i = 0; i < ranks->n_sets * of.columns; i++)
            x[i] = ranks->rows[(size_t)(i / of.columns) * ranks->n_row + of.at + (size_t)(i % of.columns) * of.step];
        status = shoal_h5_write(h5, of.path, H5T_NATIVE_DOUBLE, shoal_h5_table(ranks->n_sets, of.columns), x, NULL,
                                NULL);
    }
    return status;
}

shoal_status shoal_ranks_write(shoal_context *context, const char *path, const shoal_ranks *ranks)
{
    shoal_h5 h5;
    double *x = malloc((size_t)ranks->n_sets * (size_t)ranks->k * sizeof *x);
    if (!x)
        return shoal_fail(context, SHOAL_E_MEMORY, "out of memory for %ld sets", ranks->n_sets);
    shoal_status status = shoal_h5_create(context, path, H5F_LIBVER_V110, 1 << 16, &h5);
    if (!status) {
        status = write_parts(&h5, ranks, x);
        status = shoal_h5_save(&h5, status);
    }
    free(x);
    return status;
}

static shoal_status read_parts(const shoal_h5 *h5, shoal_ranks *ranks)
{
    char *names = NULL, *text = NULL, *config_text = NULL;
    shoal_h5_extent extent;
    int64_t n_draws = 0;
    shoal_status status = shoal_h5_sizes(h5, "/rank", 2, &extent);
    if (!status)
        status = shoal_h5_get_text(h5, "/", "of", &text);
    if (!status)
        status = shoal_h5_get_text(h5, "/", "config", &config_text);
    if (!status)
        status = shoal_h5_get_text(h5, "/", "parameters", &names);
    if (!status)
        status = shoal_ranks_create(h5->context, (int)extent.of[1], (long)extent.of[0], ranks);
    ranks->text = text;
    ranks->config_text = config_text;
    if (!status)
        status = shoal_h5_get(h5, "/", "draws", H5T_NATIVE_INT64, &n_draws);
    ranks->n_draws = (long)n_draws;
    char *rest = names;
    for (int i = 0; i < ranks->k && !status; i++) {
        const char *name = strsep(&rest, "\n");
        if (!name || !(ranks->names[i] = strdup(name)))
            status = shoal_fail(h5->context, SHOAL_E_FILE, "%s: expected %d names of parameters", h5->path, ranks->k);
    }
    free(names);
    double *x = status ? NULL : malloc((size_t)ranks->n_sets * (size_t)ranks->k * sizeof *x + 1);
    for (int d = 0; d < DATASETS && !status; d++) {
        const dataset of = dataset_of(ranks, d);
        status = x ? shoal_h5_read_exactly(h5, of.path, H5T_NATIVE_DOUBLE, shoal_h5_table(ranks->n_sets, of.columns), x)
                   : shoal_fail(h5->context, SHOAL_E_MEMORY, "out of memory for %ld sets", ranks->n_sets);
        for (long i = 0; i < ranks->n_sets * of.columns && !status; i++)
            ranks->rows[(size_t)(i / of.columns) * ranks->n_row + of.at + (size_t)(i % of.columns) * of.step] = x[i];
    }
    free(x);
    for (long i = 0; i < ranks->n_sets * ranks->k && !status; i++) {
        const double rank = shoal_rank_number(ranks, i / ranks->k, (int)(i % ranks->k), SHOAL_RANK_RANK);
        if (!(rank >= 0 && rank <= (double)ranks->n_draws))
            status = shoal_fail(h5->context, SHOAL_E_FILE, "%s: /rank: %g: expected 0 to %ld", h5->path, rank,
                                ranks->n_draws);
    }
    return status;
}

shoal_status shoal_ranks_read(shoal_context *context, const char *path, shoal_ranks *ranks)
{
    shoal_h5 h5;
    *ranks = (shoal_ranks){0};
    if (shoal_fit_file_of(path) != SHOAL_FIT_FILE_RANKS)
        return shoal_fail(context, SHOAL_E_INPUT, "%s: expected a file of shoal calibrate", path);
    shoal_status status = shoal_h5_open(context, path, &h5);
    if (status)
        return status;
    status = read_parts(&h5, ranks);
    shoal_h5_close(&h5);
    if (status)
        shoal_ranks_release(ranks);
    return status;
}

void shoal_ranks_print(const shoal_ranks *ranks, FILE *out)
{
    fputs("set,parameter,truth,rank,r_hat,ess_bulk,ess_tail,steps,precise\n", out);
    for (long set = 0; set < ranks->n_sets; set++)
        for (int i = 0; i < ranks->k; i++) {
            const double *row = ranks->rows + (size_t)set * ranks->n_row;
#define NUMBER(name) shoal_rank_number(ranks, set, i, SHOAL_RANK_##name)
            fprintf(out, "%ld,%s,%.17g,%.0f,%.6f,%.1f,%.1f,%.0f,%.0f\n", set, ranks->names[i], NUMBER(TRUTH),
                    NUMBER(RANK), NUMBER(RHAT), NUMBER(BULK), NUMBER(TAIL), row[SHOAL_RANK_STEPS],
                    row[SHOAL_RANK_PRECISE]);
#undef NUMBER
        }
}

/* ---- uniformity -------------------------------------------------------------------------------------------------- */

/* The most bins, up to 20, that divide n ranks alike and expect 5 of them each; 2 or more if the ranks can be. */
static int bins_of(long n_ranks, long n_sets)
{
    enum { MOST = 20, LEAST = 5 };
    int n = 1;
    for (int bins = 2; bins <= MOST; bins++)
        if (n_ranks % bins == 0 && (n == 1 || n_sets >= (long)LEAST * bins))
            n = bins;
    return n;
}

void shoal_ranks_count(const shoal_ranks *ranks, int i, int n_bins, long count[])
{
    memset(count, 0, (size_t)n_bins * sizeof *count);
    for (long set = 0; set < ranks->n_sets; set++) {
        const long rank = (long)shoal_rank_number(ranks, set, i, SHOAL_RANK_RANK);
        count[rank * n_bins / (ranks->n_draws + 1)]++;
    }
}

double shoal_ranks_uniformity(const shoal_ranks *ranks, shoal_uniformity of[])
{
    const double n_sets = (double)ranks->n_sets, n_ranks = (double)ranks->n_draws + 1;
    const int n_bins = bins_of(ranks->n_draws + 1, ranks->n_sets);
    double least = 1;
    for (int i = 0; i < ranks->k; i++) {
        long count[n_bins];
        shoal_ranks_count(ranks, i, n_bins, count);
        of[i] = (shoal_uniformity){.n_bins = n_bins};
        for (long set = 0; set < ranks->n_sets; set++) {
            const double rank = shoal_rank_number(ranks, set, i, SHOAL_RANK_RANK), x = (rank + 0.5) / n_ranks;
            of[i].mean += x / n_sets;
            of[i].spread += 12 * (x - 0.5) * (x - 0.5) / n_sets;
        }
        const double expected = n_sets / n_bins;
        for (int b = 0; b < n_bins; b++)
            of[i].chi2 += ((double)count[b] - expected) * ((double)count[b] - expected) / expected;
        of[i].p = n_bins > 1 ? gsl_cdf_chisq_Q(of[i].chi2, n_bins - 1) : 1;
        least = fmin(least, of[i].p);
    }
    return fmin(1, ranks->k * least);
}
