/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_shards.c: a study in shards that many processes share: names of shards and how many, what of a machine each
 * process has; how far they have come: what a journal says at a glance, what a folder holds, the time left.
 */
#include "core/report/report.h"
#include "core/study/study.h"
#include "result_fixture.h"

static void the_name_of_a_shard_tells_the_whole(void **state)
{
    (void)state;
    static const struct {
        const char *name, *whole;
        long shard, n;
    } rows[] = {
        {"run.2-of-8.h5", "run.h5", 2, 8},
        {"a.b/c.2-of-8", "a.b/c", 2, 8},
        {"a.1-of-4/c.h5", "a.1-of-4/c.h5", 1, 1},
        {"x.1-of-2.12-of-64.h5", "x.1-of-2.h5", 12, 64},
        {"run.h5", "run.h5", 1, 1},
        {"run.9-of-8.h5", "run.9-of-8.h5", 1, 1},
        {"run.0-of-8.h5", "run.0-of-8.h5", 1, 1},
        {"run.1-of-8x.h5", "run.1-of-8x.h5", 1, 1},
        {"run.1-of-1.h5", "run.1-of-1.h5", 1, 1},
    };
    for (int i = 0; i < SHOAL_COUNT(rows); i++) {
        long shard, n;
        char *whole = shoal_whole_name(rows[i].name, &shard, &n);
        assert_string_equal(whole, rows[i].whole);
        assert_int_equal(shard, rows[i].shard);
        assert_int_equal(n, rows[i].n);
        free(whole);
    }
}

static void shards_are_small_and_not_too_small(void **state)
{
    (void)state;
    static const struct {
        long n_systems;
        int n_ranks, n_threads;
        bool gpu;
        long size, expected;
    } rows[] = {
        {100000, 4, 2, false, 0, 128}, /* 32 a rank */
        {20000, 4, 2, false, 0, 36},   /* of 256 systems a thread or more */
        {5000, 4, 2, false, 0, 16},    /* 4 a rank */
        {500, 4, 2, false, 0, 4},      /* of 32 systems a thread or more */
        {100, 4, 2, false, 0, 4},      /* one a rank */
        {3, 4, 2, false, 0, 3},        {1, 4, 2, false, 0, 1},       {1000, 4, 2, false, 100, 10},
        {1001, 4, 2, false, 100, 11},  {1000, 4, 2, false, 5000, 1}, {1000000, 4, 16, true, 0, 60},
        {100000, 8, 16, true, 0, 8},
    };
    for (int i = 0; i < SHOAL_COUNT(rows); i++)
        assert_int_equal(
            shoal_shards_number(rows[i].n_systems, rows[i].n_ranks, rows[i].n_threads, rows[i].gpu, rows[i].size),
            rows[i].expected);
}

static void processes_part_a_machine(void **state)
{
    (void)state;
    for (int n = 1; n < 20; n++)
        for (int of = 1; of <= n; of++) {
            int sum = 0;
            for (int k = 0; k < of; k++)
                sum += shoal_part_of_cores(n, k, of);
            assert_int_equal(sum, n);
        }
    assert_int_equal(shoal_part_of_cores(2, 5, 8), 1);
    static const struct {
        const char *visible;
        int n, process, n_processes;
        const char *part;
    } rows[] = {
        {NULL, 4, 0, 4, "0"},
        {NULL, 4, 3, 4, "3"},
        {NULL, 4, 1, 2, "2,3"},
        {NULL, 2, 5, 8, "1"},
        {NULL, 3, 1, 2, "1,2"},
        {"6,7", 8, 1, 2, "7"},
        {"GPU-a,GPU-b", 8, 0, 2, "GPU-a"},
        {"0,1,2", 8, 0, 1, "0,1,2"},
        {"2", 8, 1, 2, NULL},
        {"", 8, 1, 2, NULL},
        {NULL, 1, 1, 2, NULL},
        {NULL, 0, 1, 2, NULL},
    };
    for (int i = 0; i < SHOAL_COUNT(rows); i++) {
        char part[32];
        const bool parted = shoal_part_of_devices(rows[i].visible, rows[i].n, rows[i].process, rows[i].n_processes,
                                                  part, sizeof part);
        assert_int_equal(parted, rows[i].part != NULL);
        if (parted)
            assert_string_equal(part, rows[i].part);
    }
}

static void shards_are_added_up(void **state)
{
    (void)state;
    shoal_piece pieces[] = {
        {.whole = "a.h5", .shard = 1, .n_shards = 5, .state = SHOAL_PIECE_DONE, .fraction = 1},
        {.whole = "a.h5", .shard = 2, .n_shards = 5, .state = SHOAL_PIECE_RUNNING, .fraction = 0.5, .rate = 0.01},
        {.whole = "a.h5", .shard = 3, .n_shards = 5, .state = SHOAL_PIECE_RUNNING},
        {.whole = "a.h5", .shard = 4, .n_shards = 5, .state = SHOAL_PIECE_FAILED, .fraction = 0.25},
        {.whole = "a.h5", .shard = 5, .n_shards = 5, .state = SHOAL_PIECE_WAITING},
        {.whole = "b.h5", .shard = 1, .n_shards = 1, .state = SHOAL_PIECE_RUNNING, .fraction = 0.75, .rate = 0.05},
    };
    shoal_pieces_sum sum;
    shoal_pieces_add(pieces, SHOAL_COUNT(pieces), &sum);
    assert_int_equal(sum.n, 5);
    assert_int_equal(sum.n_by_state[SHOAL_PIECE_RUNNING], 2);
    assert_int_equal(sum.n_by_state[SHOAL_PIECE_FAILED], 1);
    assert_int_equal(sum.n_by_state[SHOAL_PIECE_WAITING], 1);
    assert_true(fabs(sum.fraction - 0.35) < 1e-12);
    /* 3.25 shards by two processes, of which one is known to make a hundredth a second */
    assert_true(fabs(sum.seconds_left - 162.5) < 1e-9);

    pieces[2].fraction = 0.1;
    pieces[2].rate = 0.001; /* it alone takes longer than all others by both */
    shoal_pieces_add(pieces, SHOAL_COUNT(pieces), &sum);
    assert_true(fabs(sum.seconds_left - 900) < 1e-9);

    shoal_pieces_add(&pieces[5], 1, &sum);
    assert_int_equal(sum.n, 1);
    assert_true(fabs(sum.seconds_left - 5) < 1e-12);
    pieces[5].rate = 0;
    shoal_pieces_add(&pieces[5], 1, &sum);
    assert_true(isnan(sum.seconds_left));
}

static void a_journal_tells_its_pace(void **state)
{
    fixture *at = *state;
    char path[160];
    shoal_journal *journal;
    shoal_journal_pace pace;
    shoal_result *result = fixture_result(at->context, 4, 3), *back = NULL;
    shoal_store_journal_path(at->path, path, sizeof path);
    assert_int_equal(shoal_journal_glance(at->context, path, &pace), SHOAL_E_FILE);
    assert_int_equal(shoal_journal_create(at->context, path, result, &journal), SHOAL_OK);
    assert_int_equal(shoal_journal_glance(at->context, path, &pace), SHOAL_OK);
    assert_true(pace.fraction == 0 && pace.seconds == 0);
    for (int i = 1; i <= 2; i++) {
        const shoal_journal_pace now = {.fraction = 0.25 * i, .began = 0.125, .seconds = 3.0 * i};
        assert_int_equal(shoal_journal_progress(journal, &now), SHOAL_OK);
        assert_int_equal(shoal_journal_checkpoint(journal, "state", 5), SHOAL_OK);
    }
    shoal_journal_close(&journal);
    assert_int_equal(shoal_journal_glance(at->context, path, &pace), SHOAL_OK);
    assert_true(pace.fraction == 0.5 && pace.began == 0.125 && pace.seconds == 6 && pace.kept == 0.5);
    assert_int_equal(shoal_journal_read(at->context, path, &back, NULL, NULL), SHOAL_OK);
    shoal_result_destroy(&back);

    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(truncate(path, about.st_size - 5 - 20 - 1), 0); /* into the last progress */
    assert_int_equal(shoal_journal_glance(at->context, path, &pace), SHOAL_OK);
    assert_true(pace.fraction == 0.25 && pace.kept == 0.25);
    FILE *other = fopen(path, "w");
    fputs("no journal, but long enough for a head", other);
    fclose(other);
    assert_int_equal(shoal_journal_glance(at->context, path, &pace), SHOAL_E_INPUT);
    shoal_result_destroy(&result);
}

/* A file of the folder, by the end of its name. */
static void name_file(char *path, size_t size, const fixture *at, const char *name)
{
    snprintf(path, size, "%s/%s", at->folder, name);
}

static void a_folder_has_shards_in_all_states(void **state)
{
    fixture *at = *state;
    char path[6][160];
    static const char *const names[] = {
        "run.2-of-5.h5", "run.4-of-5.h5.journal",  "run.5-of-5.h5.journal", "run.5-of-5.h5.lock",
        "note.h5",       "run.3-of-5.h5.tmp.123.0"};
    for (int i = 0; i < SHOAL_COUNT(names); i++)
        name_file(path[i], sizeof path[i], at, names[i]);
    shoal_result *result = fixture_result(at->context, 4, 3);
    result->complete = true;
    assert_int_equal(shoal_store_write(at->context, path[0], result), SHOAL_OK);
    assert_int_equal(shoal_store_write(at->context, path[5], result), SHOAL_OK); /* a killed process left it */
    for (int i = 1; i <= 2; i++) {
        shoal_journal *journal;
        const shoal_journal_pace first = {.fraction = 0.375, .began = 0.25, .seconds = 5};
        const shoal_journal_pace last = {.fraction = 0.5, .began = 0.25, .seconds = 10};
        assert_int_equal(shoal_journal_create(at->context, path[i], result, &journal), SHOAL_OK);
        assert_int_equal(shoal_journal_progress(journal, &first), SHOAL_OK);
        assert_int_equal(shoal_journal_checkpoint(journal, "state", 5), SHOAL_OK);
        assert_int_equal(shoal_journal_progress(journal, &last), SHOAL_OK);
        shoal_journal_close(&journal);
    }
    const int lock = shoal_lock_take(path[3]);
    assert_true(lock >= 0);
    FILE *other = fopen(path[4], "w");
    fputs("not a result", other);
    fclose(other);

    static const shoal_piece_state expected[] = {SHOAL_PIECE_WAITING, SHOAL_PIECE_DONE, SHOAL_PIECE_WAITING,
                                                 SHOAL_PIECE_FAILED, SHOAL_PIECE_RUNNING};
    shoal_piece *pieces;
    long n;
    assert_int_equal(shoal_pieces_find(at->context, at->folder, &pieces, &n), SHOAL_OK);
    assert_int_equal(n, 5);
    for (long k = 0; k < n; k++) {
        char whole[160], output[160], name[32];
        snprintf(name, sizeof name, "run.%ld-of-5.h5", k + 1);
        name_file(output, sizeof output, at, name);
        name_file(whole, sizeof whole, at, "run.h5");
        assert_string_equal(pieces[k].whole, whole);
        assert_string_equal(pieces[k].output, output);
        assert_int_equal(pieces[k].shard, k + 1);
        assert_int_equal(pieces[k].state, expected[k]);
    }
    assert_true(pieces[4].rate == 0.025 && pieces[4].fraction == 0.5);
    assert_true(pieces[3].rate == 0 && pieces[3].fraction == 0.375);
    shoal_pieces_destroy(&pieces, n);
    shoal_lock_release(lock, path[3]);
    for (int i = 0; i < SHOAL_COUNT(names); i++)
        unlink(path[i]);
    shoal_result_destroy(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_name_of_a_shard_tells_the_whole),
        cmocka_unit_test(shards_are_small_and_not_too_small),
        cmocka_unit_test(processes_part_a_machine),
        cmocka_unit_test(shards_are_added_up),
        cmocka_unit_test_setup_teardown(a_journal_tells_its_pace, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_folder_has_shards_in_all_states, fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
