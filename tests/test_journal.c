/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_journal.c: whatever happens to a journal (cut at any byte, any byte flipped, disk full), a reader gets exactly
 * the records before the damage, and a run that goes on, or a thread in the background, leaves the same bytes.
 */
#define _GNU_SOURCE 1 /* memmem */
#include "result_fixture.h"

enum { SYSTEMS = 4, BODIES = 3, MAX_STAGES = 16 };

/* What a short run writes, one record a line. */
static const struct step {
    char what; /* b = begun, s = systems, n = snapshots, e = events, l = logged, c = checkpoint */
    int first, count;
} story[] = {{'b', 0, 2}, {'s', 0, 1}, {'n', 0, 2}, {'e', 0, 3}, {'c', 0, 5}, {'b', 2, 2}, {'n', 0, 3},
             {'s', 2, 1}, {'c', 0, 0}, {'e', 0, 2}, {'s', 1, 1}, {'n', 0, 1}, {'l', 1, 3}, {'s', 3, 1}};
#define STEPS SHOAL_COUNT(story)

static const char checkpoint_bytes[] = "state";

/* Before any system has begun. */
static shoal_result *unbegun(const fixture *at)
{
    shoal_result *result = fixture_before(at->context, SYSTEMS, BODIES);
    shoal_result_blank(result, 0, SYSTEMS);
    return result;
}

static long n_begun(int n_steps)
{
    long n = 0;
    for (int k = 0; k < n_steps; k++)
        n += story[k].what == 'b' ? story[k].count : 0;
    return n;
}

static void begin(const fixture *at, shoal_result *result, const struct step *step)
{
    shoal_result *whole = fixture_before(at->context, SYSTEMS, BODIES);
    const size_t state = (size_t)BODIES * SHOAL_STATE, from = (size_t)step->first * state;
    memcpy(result->initial + from, whole->initial + from, (size_t)step->count * state * sizeof *result->initial);
    shoal_result_destroy(&whole);
}

/* One step of the story in the result, and in the journal if there is one. */
static shoal_status tell(const fixture *at, const struct step *step, shoal_result *result, shoal_journal *journal)
{
    int list[SYSTEMS];
    long first = result->n_snapshots, first_event = result->n_events;
    switch (step->what) {
    case 'b':
        begin(at, result, step);
        return journal ? shoal_journal_begun(journal, result, step->first, step->count) : SHOAL_OK;
    case 's':
        for (int i = 0; i < step->count; i++)
            fixture_end(result, list[i] = step->first + i);
        return journal ? shoal_journal_systems(journal, result, list, step->count) : SHOAL_OK;
    case 'n':
        fixture_snapshots(at->context, result, step->count, (double)first);
        return journal ? shoal_journal_snapshots(journal, result, first) : SHOAL_OK;
    case 'e':
        fixture_events(at->context, result, step->count);
        return journal ? shoal_journal_events(journal, result, first_event) : SHOAL_OK;
    case 'l':
        first = result->logs[step->first].n_rows;
        fixture_logged(at->context, result, step->first, step->count);
        return journal ? shoal_journal_logged(journal, result, step->first, first) : SHOAL_OK;
    default: return journal ? shoal_journal_checkpoint(journal, checkpoint_bytes, (size_t)step->count) : SHOAL_OK;
    }
}

/* The whole story in a file; length[k]: after k steps. */
static unsigned char *write_story(const fixture *at, size_t length[STEPS + 1], shoal_result *stage[STEPS + 1])
{
    shoal_journal *journal = NULL;
    struct stat about;
    for (int k = 0; k <= STEPS; k++) {
        stage[k] = unbegun(at);
        for (int i = 0; i < k; i++)
            tell(at, &story[i], stage[k], NULL);
    }
    shoal_result *result = unbegun(at);
    assert_int_equal(shoal_journal_create(at->context, at->path, result, &journal), SHOAL_OK);
    for (int k = 0; k <= STEPS; k++) {
        assert_int_equal(stat(at->path, &about), 0);
        length[k] = (size_t)about.st_size;
        if (k < STEPS)
            assert_int_equal(tell(at, &story[k], result, journal), SHOAL_OK);
    }
    assert_int_equal(shoal_journal_commit(journal), SHOAL_OK);
    shoal_journal_close(&journal);
    assert_null(journal);
    shoal_result_destroy(&result);
    return slurp(at->path, &(size_t){0});
}

/* The last stage in the first n bytes, -1 = not even the header; and the last one that is a checkpoint (0: the header).
 */
static int stage_of(const size_t length[STEPS + 1], size_t n)
{
    int k = -1;
    while (k < STEPS && length[k + 1] <= n)
        k++;
    return k;
}

static int restart_of(int k)
{
    while (k > 0 && story[k - 1].what != 'c')
        k--;
    return k;
}

/* The file holds exactly the records up to stage k. */
static void assert_stage(const fixture *at, shoal_result *const *stage, int k)
{
    shoal_result *read = NULL;
    void *state = NULL;
    size_t size = 1;
    shoal_status status = shoal_journal_read(at->context, at->path, &read, NULL, NULL);
    if (k < 0) {
        assert_int_equal(status, SHOAL_E_INPUT);
        assert_message(at, at->path);
        assert_null(read);
        assert_int_equal(shoal_journal_read(at->context, at->path, &read, &state, &size), SHOAL_E_INPUT);
        assert_null(state);
        return;
    }
    assert_int_equal(status, SHOAL_OK);
    assert_same(read, stage[k]);
    shoal_result_destroy(&read);
    assert_int_equal(shoal_journal_read(at->context, at->path, &read, &state, &size), SHOAL_OK);
    int restart = restart_of(k);
    shoal_result_blank(read, n_begun(restart), SYSTEMS - n_begun(restart));
    assert_same(read, stage[restart]);
    assert_int_equal(size, restart ? story[restart - 1].count : 0);
    assert_int_equal(restart != 0, state != NULL);
    if (state)
        assert_memory_equal(state, checkpoint_bytes, size);
    free(state);
    shoal_result_destroy(&read);
}

static void free_stages(shoal_result *stage[STEPS + 1])
{
    for (int k = 0; k <= STEPS; k++)
        shoal_result_destroy(&stage[k]);
}

static void cut_anywhere(void **state)
{
    const fixture *at = *state;
    size_t length[STEPS + 1];
    shoal_result *stage[STEPS + 1];
    unsigned char *bytes = write_story(at, length, stage);
    for (size_t n = 0; n <= length[STEPS]; n++) {
        spill(at->path, bytes, n);
        assert_stage(at, stage, stage_of(length, n));
    }
    free(bytes);
    free_stages(stage);
}

static void flip_anywhere(void **state)
{
    const fixture *at = *state;
    size_t length[STEPS + 1];
    shoal_result *stage[STEPS + 1];
    unsigned char *bytes = write_story(at, length, stage);
    for (size_t n = 0; n < length[STEPS]; n++) {
        unsigned char flip = (unsigned char)(1u << (n % 8));
        bytes[n] ^= flip;
        spill(at->path, bytes, length[STEPS]);
        assert_stage(at, stage, stage_of(length, n));
        bytes[n] ^= flip;
    }
    free(bytes);
    free_stages(stage);
}

static void restart_anywhere(void **state)
{
    const fixture *at = *state;
    size_t length[STEPS + 1], size;
    shoal_result *stage[STEPS + 1];
    unsigned char *bytes = write_story(at, length, stage);
    for (size_t n = length[0]; n <= length[STEPS]; n += 13) {
        shoal_journal *journal = NULL;
        shoal_result *read = NULL;
        void *checkpoint = NULL;
        spill(at->path, bytes, n);
        assert_int_equal(shoal_journal_read(at->context, at->path, &read, &checkpoint, &size), SHOAL_OK);
        assert_int_equal(shoal_journal_open(at->context, at->path, &journal), SHOAL_OK);
        free(slurp(at->path, &size));
        assert_int_equal(size, length[restart_of(stage_of(length, n))]);
        for (int k = restart_of(stage_of(length, n)); k < STEPS; k++)
            assert_int_equal(tell(at, &story[k], read, journal), SHOAL_OK);
        shoal_journal_close(&journal);
        assert_same(read, stage[STEPS]);
        unsigned char *again = slurp(at->path, &size);
        assert_int_equal(size, length[STEPS]);
        assert_memory_equal(again, bytes, size);
        free(again);
        free(checkpoint);
        shoal_result_destroy(&read);
    }
    free(bytes);
    free_stages(stage);
}

/* CRC-32C bit by bit, as RFC 3720 (appendix B.4) has it. */
static uint32_t crc_slowly(uint32_t crc, const unsigned char *bytes, size_t n)
{
    crc = ~crc;
    for (size_t i = 0; i < n; i++)
        for (int bit = 0; bit < 8; bit++) {
            uint32_t odd = (crc ^ (uint32_t)(bytes[i] >> bit)) & 1;
            crc = (crc >> 1) ^ (odd ? 0x82f63b78u : 0);
        }
    return ~crc;
}

static void put_checksum(unsigned char *record)
{
    uint64_t size = 0;
    for (int k = 0; k < 8; k++)
        size |= (uint64_t)record[8 + k] << (8 * k);
    uint32_t crc = crc_slowly(crc_slowly(0, record, 16), record + 20, size);
    for (int k = 0; k < 4; k++)
        record[16 + k] = (unsigned char)(crc >> (8 * k));
}

/* The checksums are CRC-32C; and a record that makes no sense in spite of its checksum is an error, not a crash. */
static void sense(void **state)
{
    const fixture *at = *state;
    size_t length[STEPS + 1];
    shoal_result *stage[STEPS + 1], *read = NULL;
    unsigned char *bytes = write_story(at, length, stage);
    unsigned char *copy = malloc(length[STEPS]);
    assert_int_equal(crc_slowly(0, (const unsigned char *)"123456789", 9), 0xe3069283u);
    memcpy(copy, bytes, length[STEPS]);
    for (int k = 0; k < STEPS; k++)
        put_checksum(copy + length[k]);
    assert_memory_equal(copy, bytes, length[STEPS]);
    static const struct {
        int step, byte;
    } damage[] = {{0, 4},  {0, 20}, {0, 27}, {0, 28}, {0, 35}, {1, 4},  {1, 20},    {1, 27},
                  {1, 28}, {1, 35}, {1, 37}, {2, 20}, {2, 27}, {2, 30}, {1, 36 + 3}};
    for (int d = 0; d < SHOAL_COUNT(damage); d++) {
        memcpy(copy, bytes, length[STEPS]);
        copy[length[damage[d].step] + (size_t)damage[d].byte] ^= 0x58;
        put_checksum(copy + length[damage[d].step]);
        spill(at->path, copy, length[STEPS]);
        assert_int_equal(shoal_journal_read(at->context, at->path, &read, NULL, NULL), SHOAL_E_INPUT);
        assert_message(at, at->path);
        assert_null(read);
    }
    /* a field that the journal does not know is empty */
    static const char time[] = "/snapshots/time";
    memcpy(copy, bytes, length[STEPS]);
    unsigned char *name = memmem(copy, length[0], time, sizeof time - 1);
    assert_non_null(name);
    name[1] ^= 1;
    put_checksum(copy);
    spill(at->path, copy, length[STEPS]);
    assert_int_equal(shoal_journal_read(at->context, at->path, &read, NULL, NULL), SHOAL_OK);
    assert_true(read->n_snapshots > 0);
    for (long i = 0; i < read->n_snapshots; i++)
        assert_true(isnan(read->snapshot_time[i]));
    shoal_result_destroy(&read);
    /* the header: damaged anywhere, but with a good checksum, it may mean something else; it must not crash */
    for (size_t n = 20; n < length[0]; n++) {
        void *checkpoint = NULL;
        size_t size;
        memcpy(copy, bytes, length[STEPS]);
        copy[n] ^= 0x85;
        put_checksum(copy);
        spill(at->path, copy, length[STEPS]);
        if (shoal_journal_read(at->context, at->path, &read, &checkpoint, &size) == SHOAL_OK)
            assert_non_null(read);
        free(checkpoint);
        shoal_result_destroy(&read);
    }
    free(copy);
    free(bytes);
    free_stages(stage);
}

static void full_disk(void **state)
{
    const fixture *at = *state;
    shoal_result *result = unbegun(at), *read = NULL;
    shoal_result *before = unbegun(at);
    shoal_journal *journal = NULL;
    struct stat about;

    limit_files(100);
    assert_int_equal(shoal_journal_create(at->context, at->path, result, &journal), SHOAL_E_FILE);
    limit_files(RLIM_INFINITY);
    assert_message(at, at->path);
    assert_message(at, "File too large");
    assert_int_equal(access(at->path, F_OK), -1);

    assert_int_equal(shoal_journal_create(at->context, at->path, result, &journal), SHOAL_OK);
    assert_int_equal(tell(at, &story[0], result, journal), SHOAL_OK);
    tell(at, &story[0], before, NULL);
    assert_int_equal(stat(at->path, &about), 0);
    for (int room = 0; room < 60; room += 7) {
        limit_files((rlim_t)(about.st_size + room));
        shoal_status status = shoal_journal_systems(journal, result, (int[]){1}, 1);
        limit_files(RLIM_INFINITY);
        assert_int_equal(status, SHOAL_E_FILE);
        assert_message(at, at->path);
        assert_message(at, "File too large");
        assert_int_equal(shoal_journal_read(at->context, at->path, &read, NULL, NULL), SHOAL_OK);
        assert_same(read, before);
        shoal_result_destroy(&read);
    }
    /* room again: it goes on */
    assert_int_equal(tell(at, &story[1], result, journal), SHOAL_OK);
    assert_int_equal(shoal_journal_commit(journal), SHOAL_OK);
    assert_int_equal(shoal_journal_read(at->context, at->path, &read, NULL, NULL), SHOAL_OK);
    assert_same(read, result);
    shoal_result_destroy(&read);
    shoal_result_destroy(&before);
    shoal_result_destroy(&result);
    shoal_journal_close(&journal);
}

/* A thread writes the same bytes; what it could not write is said later, and what is there stays good. */
static void in_the_background(void **state)
{
    const fixture *at = *state;
    size_t length[STEPS + 1], size;
    shoal_result *stage[STEPS + 1], *read = NULL;
    shoal_journal *journal = NULL;
    struct stat about;
    unsigned char *bytes = write_story(at, length, stage);
    unlink(at->path);
    shoal_result *result = unbegun(at);
    assert_int_equal(shoal_journal_create(at->context, at->path, result, &journal), SHOAL_OK);
    assert_int_equal(shoal_journal_background(journal), SHOAL_OK);
    for (int k = 0; k < STEPS; k++) {
        assert_int_equal(tell(at, &story[k], result, journal), SHOAL_OK);
        assert_int_equal(shoal_journal_commit(journal), SHOAL_OK);
    }
    assert_int_equal(shoal_journal_finish(journal), SHOAL_OK);
    unsigned char *written = slurp(at->path, &size);
    assert_int_equal(size, length[STEPS]);
    assert_memory_equal(written, bytes, size);

    assert_int_equal(stat(at->path, &about), 0);
    limit_files((rlim_t)about.st_size + 10);
    shoal_status status = shoal_journal_systems(journal, result, (int[]){1}, 1);
    assert_true(status == SHOAL_OK || status == SHOAL_E_FILE);
    assert_int_equal(shoal_journal_finish(journal), SHOAL_E_FILE);
    limit_files(RLIM_INFINITY);
    assert_message(at, at->path);
    assert_message(at, "File too large");
    assert_int_equal(shoal_journal_systems(journal, result, (int[]){1}, 1), SHOAL_E_FILE); /* it stays failed: no gap */
    assert_int_equal(shoal_journal_commit(journal), SHOAL_E_FILE);
    shoal_journal_close(&journal); /* waits for the thread */
    assert_int_equal(shoal_journal_read(at->context, at->path, &read, NULL, NULL), SHOAL_OK);
    assert_same(read, stage[STEPS]);
    shoal_result_destroy(&read);
    shoal_result_destroy(&result);
    free(written);
    free(bytes);
    free_stages(stage);
}

static void refusals(void **state)
{
    fixture *at = *state;
    shoal_result *result = fixture_before(at->context, SYSTEMS, BODIES), *read = NULL;
    shoal_result *other = fixture_before(at->context, SYSTEMS, BODIES + 1);
    shoal_journal *journal = NULL, *second = NULL;
    char nowhere[160];
    size_t size;

    snprintf(nowhere, sizeof nowhere, "%s/no/such/folder", at->folder);
    assert_int_equal(shoal_journal_create(at->context, nowhere, result, &journal), SHOAL_E_FILE);
    assert_message(at, nowhere);
    assert_null(journal);
    assert_int_equal(shoal_journal_open(at->context, nowhere, &journal), SHOAL_E_FILE);
    assert_message(at, nowhere);
    assert_int_equal(shoal_journal_read(at->context, nowhere, &read, NULL, NULL), SHOAL_E_FILE);
    assert_message(at, nowhere);
    assert_int_equal(shoal_journal_read(at->context, at->folder, &read, NULL, NULL), SHOAL_E_INPUT);
    assert_message(at, at->folder);
    assert_int_equal(shoal_journal_open(at->context, "/dev/full", &journal), SHOAL_E_INPUT);
    assert_message(at, "/dev/full");
    assert_int_equal(shoal_journal_create(at->context, "/dev/full", result, &journal), SHOAL_E_USAGE);
    assert_message(at, "/dev/full");

    spill(at->path, "something else", 14);
    assert_int_equal(shoal_journal_open(at->context, at->path, &journal), SHOAL_E_INPUT);
    assert_message(at, "not a journal");
    assert_int_equal(shoal_journal_create(at->context, at->path, result, &journal), SHOAL_E_USAGE);
    assert_message(at, at->path);
    free(slurp(at->path, &size));
    assert_int_equal(size, 14);
    unlink(at->path);

    assert_int_equal(shoal_journal_create(at->context, at->path, result, &journal), SHOAL_OK);
    assert_int_equal(shoal_journal_open(at->context, at->path, &second), SHOAL_E_USAGE);
    assert_message(at, "another run");
    assert_int_equal(shoal_journal_systems(journal, other, (int[]){0}, 1), SHOAL_E_USAGE);
    assert_int_equal(shoal_journal_systems(journal, result, (int[]){SYSTEMS}, 1), SHOAL_E_USAGE);
    assert_int_equal(shoal_journal_snapshots(journal, result, -1), SHOAL_E_USAGE);
    assert_int_equal(shoal_journal_begun(journal, result, 1, SYSTEMS), SHOAL_E_USAGE);
    assert_int_equal(shoal_journal_begun(journal, result, 0, SYSTEMS), SHOAL_OK);
    assert_int_equal(shoal_journal_systems(journal, result, NULL, 0), SHOAL_OK);
    assert_int_equal(shoal_journal_snapshots(journal, result, 0), SHOAL_OK);
    assert_int_equal(shoal_journal_read(at->context, at->path, &read, NULL, NULL), SHOAL_OK);
    assert_same(read, result);
    shoal_journal_close(&journal);
    shoal_journal_close(&journal);
    shoal_result_destroy(&read);
    shoal_result_destroy(&other);
    shoal_result_destroy(&result);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(cut_anywhere), TEST(flip_anywhere),     TEST(restart_anywhere), TEST(sense),
        TEST(full_disk),    TEST(in_the_background), TEST(refusals),
    };
    return cmocka_run_group_tests_name("journal", tests, NULL, NULL);
}
