/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * command_big.c: what `run`, `query` and `plot` print of one big system.
 */
#define _GNU_SOURCE
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "core/study/study.h"
#include "core/command/command.h"

void print_big_study(const shoal_study *study)
{
    const shoal_big_study *big = study->big;
    const double time = study->units.time;
    const char *space = big->has_units ? " " : "";

    if (big->file) {
        printf("one big system from %s\n", big->file);
    } else {
        printf("one big system: %s, %ld bodies, seed %lld\n", shoal_big_model_name(big->model.kind), big->model.n,
               (long long)big->model.seed);
    }
    printf("%s, ", big->propagator->name);
    if (big->steps.eta > 0) {
        printf("eta = %g, ", big->steps.eta);
    } else {
        printf("dt = %.6g%s%s, ", big->steps.dt / time, space, study->units.time_name);
    }
    printf("t = %.6g .. %.6g%s%s, softening %g%s%s\n", study->t_start / time, study->options.t_end / time, space,
           study->units.time_name, big->steps.eps / study->units.length, space, study->units.length_name);
}

void draw_big_progress(const shoal_progress *progress)
{
    char line[256], left[32] = "?";
    const double rate = progress->seconds > 0 ? progress->system_steps / progress->seconds : 0;

    if (rate > 0) {
        put_duration(left, sizeof left, progress->system_steps_left / rate);
    }
    snprintf(line, sizeof line, "%5.1f %%  %s left  %.3g interactions/s  %.6g steps", 100 * progress->fraction, left,
             progress->seconds > 0 ? progress->interactions / progress->seconds : 0, progress->system_steps);
    draw_line(line);
}

int print_big_summary(shoal_study *study, const shoal_progress *progress, double seconds)
{
    shoal_big_record record;
    const shoal_status status = shoal_big_record_read(study->context, study->output, &record);

    if (status != SHOAL_OK) {
        return failed(study->context, status);
    }
    const double *last = record.rows[record.n_rows - 1];
    double most = 0;
    for (long i = 0; i < record.n_rows; ++i) {
        most = fmax(most, fabs(record.rows[i][SHOAL_BIG_COLUMN_dE]));
    }
    printf("dE/E           %.3g at the end, at most %.3g\n", last[SHOAL_BIG_COLUMN_dE], most);
    printf("2 K / |W|      %.4g\n", -2 * last[SHOAL_BIG_COLUMN_K] / last[SHOAL_BIG_COLUMN_W]);
    printf("half-mass r    %.4g%s%s\n", last[SHOAL_BIG_COLUMN_r50], record.has_units ? " " : "",
           record.units.length_name);
    printf("wall time      %.1f s, %.6g steps, %.3g interactions/s\n", seconds, progress->system_steps,
           progress->seconds > 0 ? progress->interactions / progress->seconds : 0);
    printf("result         %s\n", study->output);
    shoal_big_record_release(&record);
    return flush_output();
}

int query_big(shoal_context *context, const char *file)
{
    shoal_big_record record;
    const shoal_status status = shoal_big_record_read(context, file, &record);

    if (status != SHOAL_OK) {
        return failed_input(context, status);
    }
    shoal_big_record_print(&record, stdout);
    shoal_big_record_release(&record);
    return EXIT_OK;
}
