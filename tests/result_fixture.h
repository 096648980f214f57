/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * result_fixture.h: for the tests of the journal, the store and the queries: a result full of awkward values, a
 * comparison bit for bit, a folder of one's own.
 */
#ifndef RESULT_FIXTURE_H
#define RESULT_FIXTURE_H

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/result/result.h"

enum { FIXTURE_COLUMNS = 3, FIXTURE_SWEPT = 2 };

typedef struct fixture {
    shoal_context *context;
    char folder[64];
    char path[128];
} fixture;

static inline int fixture_setup(void **state)
{
    fixture *made = calloc(1, sizeof *made);
    if (!made || shoal_context_create(&made->context))
        return -1;
    snprintf(made->folder, sizeof made->folder, "/tmp/shoal-test-XXXXXX");
    if (!mkdtemp(made->folder))
        return -1;
    snprintf(made->path, sizeof made->path, "%s/run.h5", made->folder);
    *state = made;
    return 0;
}

/* A test leaves nothing but PATH and PATH.journal: rmdir fails if there is more. */
static inline int fixture_teardown(void **state)
{
    fixture *old = *state;
    char journal[160];
    shoal_store_journal_path(old->path, journal, sizeof journal);
    unlink(old->path);
    unlink(journal);
    int left = rmdir(old->folder);
    shoal_context_destroy(&old->context);
    free(old);
    return left;
}

/* Doubles that a careless printer or reader would change. */
static inline double awkward(long i)
{
    static const double value[] = {0.1, -0.0, DBL_MIN / 3, DBL_MAX, -INFINITY, 1.0 / 3, 0.0, -2.5e-17};
    return i % 9 == 8 ? sin((double)i) : value[i % 9];
}

/* The id of a row: none that is also a row's number. */
static inline int64_t fixture_id(long s)
{
    return INT64_C(1) << 40 | (s * 3 + 1);
}

/* What is known before the first step. */
static shoal_result *fixture_before(shoal_context *context, long n_systems, int n_bodies)
{
    static const char *const names[] = {"star", "b", "c, \"the odd\"", "d"};
    shoal_result *result = NULL;
    assert_int_equal(shoal_result_create(context, n_systems, n_bodies, FIXTURE_COLUMNS, &result), SHOAL_OK);
    result->config_text = strdup("bodies = ( { name = \"star\"; } );\nrun : { };\n");
    result->plan_line = strdup("mvs on cpu, 8 lanes");
    strcpy(result->version, "0.1.0");
    strcpy(result->epoch, "BJD_TDB 2454833");
    result->units = (shoal_units){"AU", "Mearth", "day", 1.0, 3.003e-6, 1 / 58.1324, 8.88769e-10};
    result->seed = INT64_MIN + 5;
    for (int b = 0; b < n_bodies; b++)
        strcpy(result->body_name[b], names[b % SHOAL_COUNT(names)]);
    result->n_swept = FIXTURE_SWEPT;
    result->n_axes = 2;
    strcpy(result->axes[0].column, "b.a");
    strcpy(result->axes[1].column, "c.e");
    result->axes[0].count = n_systems;
    result->axes[1].count = 1;
    result->axes[1].logarithmic = true;
    static const char *const columns[FIXTURE_COLUMNS] = {"b.a", "c.e", "min_separation"};
    for (int c = 0; c < FIXTURE_COLUMNS; c++) {
        strcpy(result->columns[c].name, columns[c]);
        strcpy(result->columns[c].unit, c == 1 ? "" : "AU");
        snprintf(result->columns[c].doc, sizeof result->columns[c].doc, "the column %s", columns[c]);
        for (long s = 0; c < FIXTURE_SWEPT && s < n_systems; s++)
            result->columns[c].value[s] = awkward(7 * s + c);
    }
    static const char *const logs[] = {"transits", "others"};
    for (int l = 0; l < SHOAL_COUNT(logs); l++) {
        shoal_log *log;
        assert_int_equal(shoal_result_add_log(context, result, logs[l], 2 + 2 * l, &log), SHOAL_OK);
        for (int c = 2; c < log->n_columns; c++)
            strcpy(log->columns[c].name, c == 2 ? "body" : "far");
        for (int c = 2; c < log->n_columns; c++)
            strcpy(log->columns[c].unit, c == 2 ? SHOAL_UNIT_BODY : "AU");
    }
    for (long s = 0; s < n_systems; s++) {
        result->id[s] = fixture_id(s);
        result->n_live[s] = result->n_final[s] = s % 3 == 1 ? n_bodies - 1 : n_bodies;
        result->t_initial[s] = -1.0 / 3;
        for (long i = 0; i < n_bodies * SHOAL_STATE; i++)
            result->initial[s * n_bodies * SHOAL_STATE + i] = awkward(s + i);
    }
    return result;
}

/* A system ends. */
static void fixture_end(shoal_result *result, long s)
{
    const long row = result->n_bodies * SHOAL_STATE;
    result->outcome[s] = 1 + (int)(s % (SHOAL_OUTCOMES - 1));
    result->body_a[s] = s % 2 ? -1 : 0;
    result->body_b[s] = s % 2 ? -1 : result->n_bodies - 1;
    result->t_stop[s] = s % 2 ? NAN : awkward(s);
    result->dE_final[s] = awkward(s + 3);
    result->n_steps[s] = 1e15 + (double)s;
    result->n_final[s] = result->n_bodies - 1;
    result->t_final[s] = 1e9 / 3 + (double)s;
    result->columns[FIXTURE_SWEPT].value[s] = awkward(s + 5);
    for (long i = 0; i < row; i++)
        result->final[s * row + i] = awkward(2 * s + i);
}

/* n snapshot rows more, at the time given. */
static void fixture_snapshots(shoal_context *context, shoal_result *result, long n, double time)
{
    const long row = result->n_bodies * SHOAL_STATE;
    double *state = malloc((size_t)(n * row) * sizeof *state), *times = malloc((size_t)n * sizeof *times);
    int64_t *system = malloc((size_t)n * sizeof *system);
    for (long i = 0; i < n; i++) {
        system[i] = i % result->n_systems;
        times[i] = time;
        for (long k = 0; k < row; k++)
            state[i * row + k] = awkward(i + k + (long)time);
    }
    assert_int_equal(shoal_result_append(context, result, n, system, times, state), SHOAL_OK);
    free(state);
    free(times);
    free(system);
}

/* n event rows more. */
static void fixture_events(shoal_context *context, shoal_result *result, long n)
{
    for (long i = 0; i < n; i++) {
        const shoal_event event = {.system = (3 * i + 1) % result->n_systems,
                                   .time = awkward(i),
                                   .what = (enum shoal_outcome)(2 + i % 4),
                                   .body_a = (int)(i % result->n_bodies),
                                   .body_b = -1 + (int)i % 2,
                                   .ended = i % 2,
                                   .m_a = awkward(i + 1),
                                   .m_b = NAN,
                                   .distance = awkward(i + 2),
                                   .speed = awkward(i + 3),
                                   .energy_jump = awkward(i + 4)};
        assert_int_equal(shoal_result_append_event(context, result, &event), SHOAL_OK);
    }
}

/* n rows more of a log. */
static void fixture_logged(shoal_context *context, shoal_result *result, int l, long n)
{
    shoal_log *log = &result->logs[l];
    assert_int_equal(shoal_log_reserve(context, log, log->n_rows + n), SHOAL_OK);
    for (long i = 0; i < n; i++, log->n_rows++)
        for (int c = 0; c < log->n_columns; c++)
            log->columns[c].value[log->n_rows] = c == 0   ? (double)((3 * i + 1) % result->n_systems)
                                                 : c == 2 ? (double)(i % (result->n_bodies + 1) - 1)
                                                          : awkward(log->n_rows + c);
}

/* A whole result. */
static inline shoal_result *fixture_result(shoal_context *context, long n_systems, int n_bodies)
{
    shoal_result *result = fixture_before(context, n_systems, n_bodies);
    for (long s = 0; s < n_systems - 1; s++) /* the last one still runs */
        fixture_end(result, s);
    fixture_snapshots(context, result, n_systems, 10.0);
    fixture_snapshots(context, result, n_systems, 20.0);
    fixture_events(context, result, 2 * n_systems);
    fixture_logged(context, result, 1, 3 * n_systems);
    result->complete = true;
    return result;
}

static bool same_text(const char *a, const char *b)
{
    return !strcmp(a ? a : "", b ? b : "");
}

/* NULL if two results are the same bit for bit, else the name of what differs. */
static const char *fixture_difference(const shoal_result *a, const shoal_result *b)
{
    if (a->n_systems != b->n_systems || a->n_bodies != b->n_bodies || a->n_columns != b->n_columns ||
        a->n_swept != b->n_swept || a->n_axes != b->n_axes || a->n_snapshots != b->n_snapshots ||
        a->n_events != b->n_events || a->n_logs != b->n_logs || a->complete != b->complete)
        return "a count";
    if (!same_text(a->config_text, b->config_text) || !same_text(a->plan_line, b->plan_line) ||
        !same_text(a->version, b->version) || !same_text(a->epoch, b->epoch))
        return "a text";
    if (a->seed != b->seed || memcmp(&a->units.length, &b->units.length, 4 * sizeof(double)) ||
        !same_text(a->units.length_name, b->units.length_name) || !same_text(a->units.mass_name, b->units.mass_name) ||
        !same_text(a->units.time_name, b->units.time_name))
        return "seed or units";
    for (int i = 0; i < a->n_axes; i++)
        if (!same_text(a->axes[i].column, b->axes[i].column) || a->axes[i].count != b->axes[i].count ||
            a->axes[i].logarithmic != b->axes[i].logarithmic)
            return "an axis";
    for (int i = 0; i < a->n_bodies; i++)
        if (!same_text(a->body_name[i], b->body_name[i]))
            return "a name";
    for (int c = 0; c < a->n_columns; c++)
        if (!same_text(a->columns[c].name, b->columns[c].name) || !same_text(a->columns[c].unit, b->columns[c].unit) ||
            !same_text(a->columns[c].doc, b->columns[c].doc) ||
            memcmp(a->columns[c].value, b->columns[c].value, (size_t)a->n_systems * sizeof(double)))
            return a->columns[c].name;
    for (int l = 0; l < a->n_logs; l++) {
        const shoal_log *one = &a->logs[l], *other = &b->logs[l];
        if (!same_text(one->path, other->path) || one->n_columns != other->n_columns || one->n_rows != other->n_rows)
            return one->path;
        for (int c = 0; c < one->n_columns; c++)
            if (!same_text(one->columns[c].name, other->columns[c].name) ||
                !same_text(one->columns[c].unit, other->columns[c].unit) ||
                !same_text(one->columns[c].doc, other->columns[c].doc) ||
                (one->n_rows &&
                 memcmp(one->columns[c].value, other->columns[c].value, (size_t)one->n_rows * sizeof(double))))
                return one->columns[c].name;
    }
    for (int f = 0; f < shoal_result_n_fields; f++) {
        const shoal_field *field = &shoal_result_fields[f];
        size_t rows = (size_t)shoal_field_rows(field, a);
        size_t size = rows * shoal_field_row_items(field, a) * shoal_field_item_size(field);
        if (size && memcmp(shoal_field_data(a, field), shoal_field_data(b, field), size))
            return field->path;
    }
    return NULL;
}

static inline void assert_same(const shoal_result *a, const shoal_result *b)
{
    const char *difference = fixture_difference(a, b);
    if (difference)
        fail_msg("the results differ in %s", difference);
}

/* The last message is one line that names what is to blame. */
static inline void assert_message(const fixture *at, const char *word)
{
    const char *message = shoal_context_message(at->context);
    if (!strstr(message, word) || strpbrk(message, "\r\n"))
        fail_msg("expected one line with '%s': %s", word, message);
}

static inline unsigned char *slurp(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = malloc(*size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

/* A new file: some file systems wait for the disk when an old one is cut to nothing and written again. */
static inline void spill(const char *path, const void *bytes, size_t size)
{
    unlink(path);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* A result file that a test is to change, without the block that has its checksum: as older versions wrote it. */
static inline void unsign(const char *path)
{
    size_t size;
    unsigned char *bytes = slurp(path, &size);
    if (memcmp(bytes, "\x89Shoal\r\n", 8) == 0)
        spill(path, bytes + 512, size - 512);
    free(bytes);
}

/* From now on no file grows beyond size: a full disk. Holds for root too. RLIM_INFINITY ends it. */
static inline void limit_files(rlim_t size)
{
    struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = size < limit.rlim_max ? size : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

#endif
