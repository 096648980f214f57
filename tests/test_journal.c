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

/* ---- records that are packed ------------------------------------------------------------------------------------- */

enum { MANY = 3000 };

static off_t size_of(const char *path)
{
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    return about.st_size;
}

/* Records of a row a system or more. Returns what is in them. */
static shoal_result *write_many(const fixture *at, shoal_journal **journal, bool background)
{
    shoal_result *result = fixture_before(at->context, MANY, BODIES);
    int *list = malloc(MANY * sizeof *list);
    assert_int_equal(shoal_journal_create(at->context, at->path, result, journal), SHOAL_OK);
    if (background)
        assert_int_equal(shoal_journal_background(*journal), SHOAL_OK);
    for (int s = 0; s < MANY; s++)
        fixture_end(result, list[s] = s);
    fixture_snapshots(at->context, result, 2 * MANY, 1.0);
    fixture_events(at->context, result, MANY);
    fixture_logged(at->context, result, 1, MANY);
    result->kept.width = 20;
    assert_int_equal(shoal_kept_reserve(at->context, &result->kept, MANY), SHOAL_OK);
    for (long s = 0; s < MANY; s++) {
        result->kept.system[s] = s;
        for (long i = 0; i < 20; i++)
            result->kept.row[s * 20 + i] = awkward(s * i);
    }
    result->kept.n = MANY;
    assert_int_equal(shoal_journal_begun(*journal, result, 0, MANY), SHOAL_OK);
    assert_int_equal(shoal_journal_systems(*journal, result, list, MANY), SHOAL_OK);
    assert_int_equal(shoal_journal_snapshots(*journal, result, 0), SHOAL_OK);
    assert_int_equal(shoal_journal_events(*journal, result, 0), SHOAL_OK);
    assert_int_equal(shoal_journal_logged(*journal, result, 1, 0), SHOAL_OK);
    assert_int_equal(shoal_journal_kept(*journal, result, 0), SHOAL_OK);
    assert_int_equal(shoal_journal_checkpoint(*journal, result->final, MANY * sizeof(double)), SHOAL_OK);
    assert_int_equal(shoal_journal_commit(*journal), SHOAL_OK);
    assert_int_equal(shoal_journal_finish(*journal), SHOAL_OK);
    free(list);
    return result;
}

static void assert_many(const fixture *at, const shoal_result *result, const char *path)
{
    shoal_result *read = NULL;
    void *checkpoint;
    size_t size;
    assert_int_equal(shoal_journal_read(at->context, path, &read, &checkpoint, &size), SHOAL_OK);
    assert_same(read, result);
    assert_true(read->kept.n == MANY && read->kept.width == 20);
    assert_memory_equal(read->kept.row, result->kept.row, MANY * 20 * sizeof(double));
    assert_int_equal(size, MANY * sizeof(double));
    assert_memory_equal(checkpoint, result->final, size);
    free(checkpoint);
    shoal_result_destroy(&read);
}

/* Long records come back bit for bit, in less than half of their bytes; what is cut or changed in them is noticed. */
static void long_records_are_packed(void **state)
{
    const fixture *at = *state;
    const size_t row = BODIES * SHOAL_STATE * sizeof(double);
    shoal_journal *journal = NULL;
    shoal_result *result = write_many(at, &journal, false), *read = NULL;
    size_t size;
    assert_many(at, result, at->path);
    shoal_journal_close(&journal);
    unsigned char *bytes = slurp(at->path, &size);
    assert_true(size < MANY * (4 * row + 20 * sizeof(double)) / 2);
    for (size_t n = size - 1; n > size / 8; n -= size / 97) {
        unsigned char flip = (unsigned char)(1u << (n % 8));
        spill(at->path, bytes, n);
        assert_int_equal(shoal_journal_read(at->context, at->path, &read, NULL, NULL), SHOAL_OK);
        const long n_cut = read->n_snapshots;
        shoal_result_destroy(&read);
        bytes[n] ^= flip;
        spill(at->path, bytes, size);
        assert_int_equal(shoal_journal_read(at->context, at->path, &read, NULL, NULL), SHOAL_OK);
        assert_int_equal(read->n_snapshots, n_cut);
        shoal_result_destroy(&read);
        bytes[n] ^= flip;
    }
    /* the thread in the background packs the same */
    unlink(at->path);
    shoal_result_destroy(&result);
    result = write_many(at, &journal, true);
    shoal_journal_close(&journal);
    size_t again_size;
    unsigned char *again = slurp(at->path, &again_size);
    assert_int_equal(again_size, size);
    assert_memory_equal(again, bytes, size);
    free(again);
    free(bytes);
    shoal_result_destroy(&result);
}

/* A packed record that makes no sense, its checksum right, is an error. */
static void packed_records_must_make_sense(void **state)
{
    const fixture *at = *state;
    shoal_journal *journal = NULL;
    shoal_result *result = write_many(at, &journal, false), *read = NULL;
    size_t size, begun = 0;
    shoal_journal_close(&journal);
    unsigned char *bytes = slurp(at->path, &size);
    for (int k = 0; k < 8; k++)
        begun |= (size_t)bytes[8 + k] << (8 * k);
    begun += 20;
    assert_true(bytes[begun + 4] == 9 && bytes[begun + 5] == 1); /* begun, packed */
    for (size_t k = 0; k < 60; k++) {
        bytes[begun + 20 + k] ^= 0x55;
        put_checksum(bytes + begun);
        spill(at->path, bytes, size);
        const shoal_status status = shoal_journal_read(at->context, at->path, &read, NULL, NULL);
        assert_true(status == SHOAL_OK || status == SHOAL_E_INPUT); /* a value may have changed */
        assert_true(k > 7 || status == SHOAL_E_INPUT);
        shoal_result_destroy(&read);
        bytes[begun + 20 + k] ^= 0x55;
    }
    free(bytes);
    shoal_result_destroy(&result);
}

/* Checkpoints that later ones make useless are noticed, and left out in a copy, which has all else. */
static void copies_without_old_checkpoints(void **state)
{
    const fixture *at = *state;
    shoal_journal *journal = NULL, *copy = NULL;
    shoal_result *result = write_many(at, &journal, false), *read = NULL;
    char path[160];
    void *checkpoint;
    size_t size;
    const off_t small = size_of(at->path);
    assert_false(shoal_journal_is_stale(journal));
    for (int i = 0; i < 20; i++)
        assert_int_equal(shoal_journal_checkpoint(journal, result->final, MANY * 40), SHOAL_OK);
    assert_true(shoal_journal_is_stale(journal));
    assert_true(size_of(at->path) > small + small / 4);
    shoal_journal_close(&journal);
    assert_int_equal(shoal_journal_open(at->context, at->path, &journal), SHOAL_OK);
    assert_true(shoal_journal_is_stale(journal)); /* who goes on knows it, too */
    shoal_store_journal_path(at->path, path, sizeof path);
    assert_int_equal(shoal_journal_copy(journal, path, &copy), SHOAL_OK);
    assert_false(shoal_journal_is_stale(copy));
    assert_true(size_of(path) < small);
    assert_int_equal(shoal_journal_read(at->context, path, &read, NULL, NULL), SHOAL_OK);
    assert_same(read, result);
    shoal_result_destroy(&read);
    assert_int_equal(shoal_journal_read(at->context, path, &read, &checkpoint, &size), SHOAL_OK);
    assert_null(checkpoint);
    shoal_result_destroy(&read);
    assert_int_equal(shoal_journal_checkpoint(copy, result->final, MANY * sizeof(double)), SHOAL_OK);
    assert_many(at, result, path);
    shoal_journal *second = NULL;
    assert_int_equal(shoal_journal_copy(journal, path, &second), SHOAL_E_USAGE);
    assert_message(at, "there is a journal already");
    shoal_journal_close(&copy);
    unlink(path);
    /* a byte that the disk has lost since: no copy, and no file */
    FILE *file = fopen(at->path, "r+");
    assert_true(file && fseek(file, small / 2, SEEK_SET) == 0);
    const int byte = fgetc(file);
    assert_int_equal(fseek(file, small / 2, SEEK_SET), 0);
    fputc(byte ^ 1, file);
    fclose(file);
    assert_int_equal(shoal_journal_copy(journal, path, &copy), SHOAL_E_FILE);
    assert_message(at, "damaged");
    assert_int_equal(access(path, F_OK), -1);
    shoal_journal_close(&journal);
    shoal_result_destroy(&result);
}

/* The version is readable without unpacking anything. */
static void newer_journals_are_refused(void **state)
{
    const fixture *at = *state;
    shoal_result *result = unbegun(at), *read = NULL;
    shoal_journal *journal = NULL;
    size_t size;
    assert_int_equal(shoal_journal_create(at->context, at->path, result, &journal), SHOAL_OK);
    shoal_journal_close(&journal);
    unsigned char *bytes = slurp(at->path, &size);
    assert_int_equal(bytes[4], 1);
    bytes[20]++;
    memset(bytes + 28, 0xee, size - 28);
    put_checksum(bytes);
    spill(at->path, bytes, size);
    assert_int_equal(shoal_journal_read(at->context, at->path, &read, NULL, NULL), SHOAL_E_INPUT);
    assert_message(at, "of a newer shoal");
    assert_int_equal(shoal_journal_open(at->context, at->path, &journal), SHOAL_E_INPUT);
    assert_message(at, "of a newer shoal");
    free(bytes);
    shoal_result_destroy(&result);
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
        TEST(cut_anywhere),
        TEST(flip_anywhere),
        TEST(restart_anywhere),
        TEST(sense),
        TEST(long_records_are_packed),
        TEST(packed_records_must_make_sense),
        TEST(copies_without_old_checkpoints),
        TEST(newer_journals_are_refused),
        TEST(full_disk),
        TEST(in_the_background),
        TEST(refusals),
    };
    return cmocka_run_group_tests_name("journal", tests, NULL, NULL);
}
