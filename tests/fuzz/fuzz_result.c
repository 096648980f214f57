/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * fuzz_result.c: any HDF5 file as a result: a good one, changed. What can be read is queried and drawn, and is the same
 * as itself.
 */
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/report/plot.h"
#include "core/report/report.h"
#include "tests/fuzz/fuzz.h"

/* A result with a row or more of everything, read from the file that it is written to. */
static void *base_file(size_t *size)
{
    shoal_result *result = fuzz_result();
    const double state[3 * SHOAL_STATE] = {1, [SHOAL_STATE] = 1e-3, 1, 0, 0, 0, 1};
    const int64_t system = 2;
    const double time = 0.5;
    const shoal_event event = {.system = 3, .time = 0.25, .what = SHOAL_ENCOUNTER, .body_a = 1, .body_b = 2};
    shoal_log *log;
    char path[] = "/tmp/shoal-fuzz-XXXXXX";
    const int placed = mkstemp(path);
    if (placed < 0 || shoal_result_append(fuzz_context(), result, 1, &system, &time, state) ||
        shoal_result_append_event(fuzz_context(), result, &event) ||
        shoal_result_add_log(fuzz_context(), result, "transits", 3, &log) || shoal_log_reserve(fuzz_context(), log, 2))
        abort();
    strcpy(log->columns[2].name, "body");
    strcpy(log->columns[2].unit, SHOAL_UNIT_BODY);
    for (int i = 0; i < 2; i++)
        log->columns[0].value[i] = log->columns[1].value[i] = log->columns[2].value[i] = i + 1;
    log->n_rows = 2;
    result->n_swept = result->n_axes = 1;
    strcpy(result->axes[0].column, "b.a");
    result->axes[0].count = 5;
    for (long i = 0; i < 5 * 3 * SHOAL_STATE; i++)
        result->initial[i] = i % SHOAL_STATE ? (double)(i % 11) : 1 / (1 + (double)i);
    if (shoal_store_write(fuzz_context(), path, result))
        abort();
    void *bytes = fuzz_read(path, size);
    close(placed);
    unlink(path);
    return bytes;
}

static void ask(shoal_context *context, const shoal_result *result)
{
    static const shoal_selection all = {.first = LONG_MIN, .last = LONG_MAX, .where = "b.a >= 0 && outcome != ejected"};
    static const shoal_verify_options exactly = {.absolute = true};
    bool same = false;
    for (int which = 0; which < 8; which++) {
        const shoal_query query = {.which = (shoal_query_state)(which % 4),
                                   .from = 0.5,
                                   .to = 0.5,
                                   .orbits = which > 3,
                                   .frame = SHOAL_JACOBI};
        shoal_query_states(context, result, &all, &query, fuzz_sink());
    }
    shoal_query_systems(context, result, &all, fuzz_sink());
    shoal_query_events(context, result, &all, "encounter", fuzz_sink());
    for (int l = 0; l < result->n_logs; l++)
        shoal_query_log(context, result, &all, shoal_log_name(&result->logs[l]), fuzz_sink());
    for (const shoal_plot_kind *kind = shoal_plot_kinds; kind->name; kind++) {
        const shoal_plot_options options = {.kind = kind->name, .system = -1, .script = true};
        shoal_plot(context, result, &options, fuzz_sink());
    }
    if (!shoal_verify(context, result, result, &exactly, fuzz_sink(), &same) && !same)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void *base;
    static size_t base_size;
    shoal_result *result = NULL;
    if (!base)
        base = base_file(&base_size);
    if (!shoal_report_read(fuzz_context(), fuzz_hdf5(data, size, base, base_size), &result))
        ask(fuzz_context(), result);
    shoal_result_destroy(&result);
    return 0;
}
