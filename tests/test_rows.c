/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_rows.c: rows that are read from a journal are those of a sorted result, any part of any column of them, and the
 * file that is made of them has the same bytes; a large file, which is made in a file, has them, too.
 */
#include <dirent.h>

#include "result_fixture.h"

#include "core/result/h5.h"
#include "core/result/rows.h"

enum { BODIES = 2 };

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Rows of any systems, some of which get many and some none, to the result and in records of several lengths to the
 * journal. */
static void put_snapshots(const fixture *at, shoal_result *result, shoal_journal *journal, long n, uint64_t *random)
{
    double state[BODIES * SHOAL_STATE];
    for (long left = n; left > 0;) {
        const long first = result->n_snapshots, wanted = 1 + (long)(next_random(random) % 200),
                   more = wanted < left ? wanted : left;
        for (long i = 0; i < more; i++) {
            const double time = (double)result->n_snapshots;
            int64_t system = (int64_t)(next_random(random) % (uint64_t)result->n_systems);
            system = system % 5 == 3 ? 0 : system;
            for (int k = 0; k < BODIES * SHOAL_STATE; k++)
                state[k] = awkward(k + result->n_snapshots);
            assert_int_equal(shoal_result_append(at->context, result, 1, &system, &time, state), SHOAL_OK);
        }
        assert_int_equal(shoal_journal_snapshots(journal, result, first), SHOAL_OK);
        left -= more;
    }
}

static shoal_result *make(const fixture *at, long n_systems, long n_snapshots, shoal_journal **journal)
{
    uint64_t random = 5;
    shoal_result *result = fixture_before(at->context, n_systems, BODIES);
    char path[160];
    shoal_store_journal_path(at->path, path, sizeof path);
    for (long s = 0; s < n_systems; s++) {
        fixture_end(result, s);
        result->outcome[s] = s % 3 ? SHOAL_SURVIVED : SHOAL_EJECTED;
    }
    assert_int_equal(shoal_journal_create(at->context, path, result, journal), SHOAL_OK);
    put_snapshots(at, result, *journal, n_snapshots / 2, &random);
    for (int i = 0; i < 3; i++) {
        const long first_event = result->n_events, first_row = result->logs[1].n_rows;
        fixture_events(at->context, result, 5 * n_systems / 2);
        assert_int_equal(shoal_journal_events(*journal, result, first_event), SHOAL_OK);
        fixture_logged(at->context, result, 1, 2 * n_systems);
        assert_int_equal(shoal_journal_logged(*journal, result, 1, first_row), SHOAL_OK);
    }
    put_snapshots(at, result, *journal, n_snapshots - n_snapshots / 2, &random);
    result->complete = true;
    return result;
}

/* As a run did it that had all rows in memory. */
static void sort_all(const fixture *at, shoal_result *result, bool at_end)
{
    for (int64_t s = 0; at_end && s < result->n_systems; s++)
        if (result->outcome[s] == SHOAL_SURVIVED)
            assert_int_equal(shoal_result_append(at->context, result, 1, &s, &result->t_final[s],
                                                 result->final + s * BODIES * SHOAL_STATE),
                             SHOAL_OK);
    assert_int_equal(shoal_result_sort_events(at->context, result), SHOAL_OK);
    assert_int_equal(shoal_result_sort_logs(at->context, result), SHOAL_OK);
    assert_int_equal(shoal_result_sort_snapshots(at->context, result), SHOAL_OK);
}

/* Parts of a column: all of it, single rows, and pieces of a length that divides nothing. */
static void assert_column(shoal_rows *rows, int column, long n, size_t row, const void *expected)
{
    char *bytes = malloc((size_t)n * row + 1);
    const long lengths[] = {n, 61, 1};
    for (int k = 0; k < SHOAL_COUNT(lengths); k++)
        for (long first = 0; first < n; first += lengths[k] == 1 ? 211 : lengths[k]) {
            const long more = n - first < lengths[k] ? n - first : lengths[k];
            memset(bytes, 0x77, (size_t)n * row + 1);
            assert_int_equal(shoal_rows_fill(rows, column, first, more, bytes), SHOAL_OK);
            assert_memory_equal(bytes, (const char *)expected + (size_t)first * row, (size_t)more * row);
            assert_int_equal(bytes[(size_t)more * row], 0x77);
        }
    free(bytes);
}

static void assert_rows(const fixture *at, const shoal_result *result, shoal_rows *rows)
{
    long n;
    for (int table = SHOAL_ROWS_SNAPSHOTS; table <= SHOAL_ROWS_EVENTS; table++) {
        const int when = table == SHOAL_ROWS_EVENTS ? SHOAL_FIELD_EVENT : SHOAL_FIELD_SNAPSHOT;
        assert_int_equal(shoal_rows_select(rows, table, &n), SHOAL_OK);
        assert_int_equal(n, table == SHOAL_ROWS_EVENTS ? result->n_events : result->n_snapshots);
        for (int f = 0, column = 0; f < shoal_result_n_fields; f++) {
            const shoal_field *field = &shoal_result_fields[f];
            if (field->when & when)
                assert_column(rows, column++, n, shoal_field_item_size(field) * shoal_field_row_items(field, result),
                              shoal_field_data(result, field));
        }
    }
    for (int l = 0; l < result->n_logs; l++) {
        assert_true(shoal_rows_has_log(rows, l));
        assert_int_equal(shoal_rows_select(rows, SHOAL_ROWS_LOGS + l, &n), SHOAL_OK);
        assert_int_equal(n, result->logs[l].n_rows);
        for (int c = 0; c < result->logs[l].n_columns; c++)
            assert_column(rows, c, n, sizeof(double), result->logs[l].columns[c].value);
    }
    assert_false(shoal_rows_has_log(rows, result->n_logs));
    assert_int_equal(shoal_rows_fill(rows, 0, 0, n + 1, NULL), SHOAL_E_INTERNAL);
    assert_message(at, "rows");
}

static void any_part_of_any_column(void **state)
{
    const fixture *at = *state;
    static const long systems[] = {1, 7, 50}, snapshots[] = {0, 1, 900};
    for (int i = 0; i < 2 * SHOAL_COUNT(systems) * SHOAL_COUNT(snapshots); i++) {
        const bool at_end = i % 2;
        shoal_journal *journal = NULL;
        shoal_rows *rows = NULL;
        char path[160];
        shoal_result *result = make(at, systems[i / 2 % 3], snapshots[i / 6], &journal);
        assert_int_equal(shoal_rows_open(at->context, journal, result, at_end, &rows), SHOAL_OK);
        sort_all(at, result, at_end);
        assert_rows(at, result, rows);
        shoal_rows_close(&rows);
        assert_null(rows);
        shoal_journal_close(&journal);
        shoal_result_destroy(&result);
        shoal_store_journal_path(at->path, path, sizeof path);
        unlink(path);
    }
}

/* The file made of rows in the journal, and the one made of rows in memory. The last result has more snapshots than
 * are had at a time. */
static void files_have_the_same_bytes(void **state)
{
    const fixture *at = *state;
    static const long snapshots[] = {0, 3000, 400000};
    for (int i = 0; i < SHOAL_COUNT(snapshots); i++) {
        shoal_journal *journal = NULL;
        shoal_rows *rows = NULL;
        size_t size, size_streamed;
        char path[160];
        shoal_result *result = make(at, 40, snapshots[i], &journal);
        assert_int_equal(shoal_rows_open(at->context, journal, result, true, &rows), SHOAL_OK);
        sort_all(at, result, true);
        assert_int_equal(shoal_store_write(at->context, at->path, result), SHOAL_OK);
        unsigned char *bytes = slurp(at->path, &size);
        result->n_snapshots = result->n_events = result->logs[1].n_rows = 0;
        assert_int_equal(shoal_store_write_last(at->context, at->path, rows, &result), SHOAL_OK);
        assert_null(result);
        unsigned char *streamed = slurp(at->path, &size_streamed);
        assert_int_equal(size_streamed, size);
        assert_memory_equal(streamed, bytes, size);
        free(streamed);
        free(bytes);
        shoal_rows_close(&rows);
        shoal_journal_close(&journal);
        shoal_store_journal_path(at->path, path, sizeof path);
        unlink(path);
    }
}

/* What has happened to a journal since is noticed. */
static void a_damaged_journal_is_no_file(void **state)
{
    const fixture *at = *state;
    shoal_journal *journal = NULL;
    shoal_rows *rows = NULL;
    char path[160];
    shoal_result *result = make(at, 20, 5000, &journal);
    shoal_store_journal_path(at->path, path, sizeof path);
    assert_int_equal(shoal_rows_open(at->context, journal, result, false, &rows), SHOAL_OK);
    assert_int_equal(truncate(path, 3000), 0);
    assert_int_equal(shoal_store_write_last(at->context, at->path, rows, &result), SHOAL_E_FILE);
    assert_message(at, path);
    assert_int_equal(access(at->path, F_OK), -1);
    shoal_rows_close(&rows);
    result = fixture_before(at->context, 20, BODIES);
    assert_int_equal(shoal_rows_open(at->context, journal, result, false, &rows), SHOAL_E_FILE);
    assert_message(at, "damaged");
    assert_null(rows);
    shoal_journal_close(&journal);
    shoal_result_destroy(&result);
}

/* ---- large files ------------------------------------------------------------------------------------------------- */

enum { NUMBERS = 5 << 20 }; /* 40 MiB */

static shoal_status write_large(const fixture *at, const uint64_t *noise, bool spills)
{
    shoal_h5 h5;
    shoal_status status = shoal_h5_create(at->context, at->path, H5F_LIBVER_V110, 1 << 22, &h5);
    assert_int_equal(status, SHOAL_OK);
    if (spills)
        shoal_h5_spill(&h5);
    for (int k = 0; k < 2 && !status; k++)
        status = shoal_h5_write(&h5, k ? "/b" : "/a", H5T_NATIVE_INT64, shoal_h5_rows(NUMBERS), noise, "", "noise");
    return shoal_h5_save(&h5, status);
}

static int n_files(const char *folder)
{
    int n = 0;
    DIR *at = opendir(folder);
    assert_non_null(at);
    for (struct dirent *entry; (entry = readdir(at));)
        n += entry->d_name[0] != '.';
    closedir(at);
    return n;
}

/* A file that is made in a file is the same, and a disk that is full before its end leaves nothing. */
static void large_files_are_made_on_the_disk(void **state)
{
    const fixture *at = *state;
    uint64_t random = 3, *noise = malloc(NUMBERS * sizeof *noise);
    size_t size, size_spilled;
    for (long i = 0; i < NUMBERS; i++)
        noise[i] = next_random(&random) << 33 ^ next_random(&random) << 11 ^ next_random(&random);
    assert_int_equal(write_large(at, noise, false), SHOAL_OK);
    unsigned char *bytes = slurp(at->path, &size);
    unlink(at->path);
    assert_int_equal(write_large(at, noise, true), SHOAL_OK);
    unsigned char *spilled = slurp(at->path, &size_spilled);
    assert_int_equal(size, size_spilled);
    assert_memory_equal(bytes, spilled, size);
    assert_int_equal(n_files(at->folder), 1);
    unlink(at->path);
    const rlim_t limits[] = {1 << 20, 70 << 20};
    for (int i = 0; i < SHOAL_COUNT(limits); i++) {
        limit_files(limits[i]);
        const shoal_status status = write_large(at, noise, true);
        limit_files(RLIM_INFINITY);
        assert_int_equal(status, SHOAL_E_FILE);
        assert_message(at, "File too large");
        assert_int_equal(n_files(at->folder), 0);
    }
    free(spilled);
    free(bytes);
    free(noise);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(any_part_of_any_column),
        TEST(files_have_the_same_bytes),
        TEST(a_damaged_journal_is_no_file),
        TEST(large_files_are_made_on_the_disk),
    };
    return cmocka_run_group_tests_name("rows", tests, NULL, NULL);
}
