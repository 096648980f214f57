/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_store.c: the HDF5 file gives back every bit, goes whole or not at all, and damage to it is a one-line error; the
 * CSV printers' numbers read back to the same bits.
 */
#include "result_fixture.h"
#include "core/report/report.h"
#include "core/result/h5.h"

#include <hdf5.h>
#include <limits.h>
#include <omp.h>
#include <sys/wait.h>

static void write_and_compare(const fixture *at, const shoal_result *result)
{
    shoal_result *read = NULL;
    if (shoal_store_write(at->context, at->path, result))
        fail_msg("%s", shoal_context_message(at->context));
    if (shoal_store_read(at->context, at->path, &read))
        fail_msg("%s", shoal_context_message(at->context));
    assert_same(read, result);
    shoal_result_destroy(&read);
}

static void round_trip(void **state)
{
    const fixture *at = *state;
    shoal_result *result = fixture_result(at->context, 5, 4);
    write_and_compare(at, result);
    result->complete = false;
    write_and_compare(at, result); /* replaces the file */
    shoal_result_destroy(&result);

    result = fixture_result(at->context, 3000, 3); /* many chunks, deflated */
    write_and_compare(at, result);
    struct stat about;
    assert_int_equal(stat(at->path, &about), 0);
    assert_in_range(about.st_size, 1, 4 * 3000 * 3 * SHOAL_STATE * 8 * 3 / 4);
    shoal_result_destroy(&result);

    assert_int_equal(shoal_result_create(at->context, 1, 2, 0, &result), SHOAL_OK); /* nothing in it */
    write_and_compare(at, result);
    result->config_text = malloc(300001); /* more than the 64 KiB that HDF5's attributes were once limited to */
    memset(result->config_text, 'x', 300000);
    result->config_text[300000] = '\0';
    write_and_compare(at, result);
    shoal_result_destroy(&result);
}

/* Chunks that deflate makes smaller and chunks that it does not, the last one not full: as they were, whatever the
 * number of threads. */
static void many_threads(void **state)
{
    const fixture *at = *state;
    shoal_result *result = fixture_result(at->context, 8000, 3);
    uint64_t noise = 1;
    for (long i = 0; i < 8000 * 3 * SHOAL_STATE; i++) { /* bits that nobody foresees, in all places */
        noise = noise * 6364136223846793005u + 1442695040888963407u;
        const uint64_t word = noise ^ noise >> 29 ^ noise << 31;
        memcpy(&result->snapshot[i], &word, sizeof word);
    }
    struct stat about[2];
    setenv("OMP_NUM_THREADS", "1", 1); /* shoal_default_threads asks OpenMP then */
    for (int i = 0; i < 2; i++) {
        omp_set_num_threads(1 + 2 * i);
        write_and_compare(at, result);
        assert_int_equal(stat(at->path, &about[i]), 0);
    }
    unsetenv("OMP_NUM_THREADS");
    assert_int_equal(about[0].st_size, about[1].st_size);
    shoal_result_destroy(&result);
}

/* What other programs look for is where the file says it is. */
static void describes_itself(void **state)
{
    const fixture *at = *state;
    shoal_result *result = fixture_result(at->context, 5, 3);
    char name[32] = "", unit[32] = "";
    int outcome[5];
    assert_int_equal(shoal_store_write(at->context, at->path, result), SHOAL_OK);
    hid_t file = H5Fopen(at->path, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t data = H5Dopen2(file, "/systems/outcome", H5P_DEFAULT), type = H5Dget_type(data);
    assert_int_equal(H5Tget_class(type), H5T_ENUM);
    assert_true(H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, outcome) >= 0);
    assert_true(H5Tenum_nameof(type, &outcome[2], name, sizeof name) >= 0);
    assert_string_equal(name, shoal_outcome_name(result->outcome[2]));
    H5Tclose(type);
    H5Dclose(data);
    data = H5Dopen2(file, "/systems/t_stop", H5P_DEFAULT);
    hid_t attribute = H5Aopen(data, "unit", H5P_DEFAULT);
    type = H5Aget_type(attribute);
    assert_in_range(H5Tget_size(type), 1, sizeof unit);
    assert_true(H5Aread(attribute, type, unit) >= 0);
    assert_string_equal(unit, "day");
    H5Tclose(type);
    H5Aclose(attribute);
    H5Dclose(data);
    H5Fclose(file);
    shoal_result_destroy(&result);
}

static void systems_alone(void **state)
{
    const fixture *at = *state;
    shoal_result *result = fixture_result(at->context, 6, 3), *read = NULL;
    shoal_log *log;
    assert_int_equal(shoal_result_add_log(at->context, result, SHOAL_CERTIFY_LOG, 2, &log), SHOAL_OK);
    fixture_logged(at->context, result, 2, 4);
    assert_int_equal(shoal_store_write(at->context, at->path, result), SHOAL_OK);
    assert_int_equal(shoal_store_read_systems(at->context, at->path, &read), SHOAL_OK);
    assert_true(read->n_snapshots == 0 && read->n_events == 0 && read->n_logs == 3);
    assert_true(read->logs[1].n_rows == 0 && read->logs[2].n_rows == 4);
    result->n_snapshots = result->n_events = result->logs[1].n_rows = 0;
    const size_t states = 6 * 3 * SHOAL_STATE * sizeof(double);
    memset(result->initial, 0, states);
    memset(result->final, 0, states);
    assert_same(read, result);
    shoal_result_destroy(&read);
    shoal_result_destroy(&result);
}

static void journal_instead(void **state)
{
    const fixture *at = *state;
    shoal_result *result = fixture_before(at->context, 4, 3), *read = NULL;
    shoal_journal *journal = NULL;
    char path[160];
    assert_int_equal(shoal_store_read(at->context, at->path, &read), SHOAL_E_FILE);
    assert_message(at, at->path);
    shoal_store_journal_path(at->path, path, sizeof path);
    assert_int_equal(shoal_journal_create(at->context, path, result, &journal), SHOAL_OK);
    assert_int_equal(shoal_journal_begun(journal, result, 0, 4), SHOAL_OK);
    fixture_end(result, 1);
    assert_int_equal(shoal_journal_checkpoint(journal, "x", 1), SHOAL_OK);
    assert_int_equal(shoal_journal_systems(journal, result, (int[]){1}, 1), SHOAL_OK);
    assert_int_equal(shoal_store_read(at->context, at->path, &read), SHOAL_OK);
    assert_same(read, result);
    assert_false(read->complete);
    shoal_result_destroy(&read);
    shoal_journal_close(&journal);
    shoal_result_destroy(&result);
}

/* A damaged file is refused with a message, or the damage is where nothing is kept. */
static bool refused_or_same(const fixture *at, const shoal_result *result)
{
    shoal_result *read = NULL;
    if (shoal_store_read(at->context, at->path, &read))
        return !read && strstr(shoal_context_message(at->context), at->path) &&
               !strpbrk(shoal_context_message(at->context), "\r\n");
    bool same = !fixture_difference(read, result);
    shoal_result_destroy(&read);
    return same;
}

/* Every few bytes one is flipped. In a process of its own, which ends without HDF5's tidying up: HDF5 loses track of
 * some of the damaged files that it refuses (1.10.8), and says so at exit. */
static void flip_bytes(const fixture *at, const shoal_result *result, unsigned char *bytes, size_t size)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    for (size_t n = 0; child == 0 && n < size; n += n < 64 ? 1 : 11) {
        unsigned char flip = (unsigned char)(1u << (n % 8));
        bytes[n] ^= flip;
        spill(at->path, bytes, size);
        if (!refused_or_same(at, result))
            _exit(1);
        bytes[n] ^= flip;
    }
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void damage(void **state)
{
    const fixture *at = *state;
    shoal_result *result = fixture_result(at->context, 5, 3), *read = NULL;
    size_t size;
    assert_int_equal(shoal_store_write(at->context, at->path, result), SHOAL_OK);
    unsigned char *bytes = slurp(at->path, &size);
    for (size_t n = 0; n < size; n += n < 64 ? 1 : 97) {
        spill(at->path, bytes, n);
        assert_int_equal(shoal_store_read(at->context, at->path, &read), SHOAL_E_INPUT);
        assert_message(at, at->path);
        assert_null(read);
    }
    flip_bytes(at, result, bytes, size);
    free(bytes);
    shoal_result_destroy(&result);
}

static void not_a_result(void **state)
{
    const fixture *at = *state;
    shoal_result *read = NULL;
    spill(at->path, "system,body,name\n", 17);
    assert_int_equal(shoal_store_read(at->context, at->path, &read), SHOAL_E_INPUT);
    assert_message(at, "not an HDF5 file");
    H5Fclose(H5Fcreate(at->path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    assert_int_equal(shoal_store_read(at->context, at->path, &read), SHOAL_E_INPUT);
    assert_message(at, "not a shoal result");
    assert_int_equal(shoal_store_read(at->context, at->folder, &read), SHOAL_E_FILE);
    assert_message(at, at->folder);
}

/* Put another dataset in the place of one, or none (rank 0). */
static void replace(const char *path, const char *name, int rank, const hsize_t *size, hid_t type, const void *data)
{
    unsign(path);
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(H5Ldelete(file, name, H5P_DEFAULT) >= 0);
    if (rank) {
        hid_t space = H5Screate_simple(rank, size, NULL);
        hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        assert_true(set >= 0);
        if (data)
            assert_true(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
        H5Dclose(set);
        H5Sclose(space);
    }
    H5Fclose(file);
}

static void wrong_datasets(void **state)
{
    const fixture *at = *state;
    shoal_result *result = fixture_result(at->context, 5, 3), *read = NULL;
    static const char *const names[] = {"/systems/min_separation", "/columns/name", "/axes/column", "/axes/count",
                                        "/axes/logarithmic",       "/bodies/name"};
    const hsize_t size[4] = {4, 3, 7, 2};
    for (int i = 0; i < shoal_result_n_fields + SHOAL_COUNT(names); i++) {
        const char *name = i < shoal_result_n_fields ? shoal_result_fields[i].path : names[i - shoal_result_n_fields];
        for (int rank = 0; rank <= 4; rank++) { /* missing, then of a wrong shape or type */
            assert_int_equal(shoal_store_write(at->context, at->path, result), SHOAL_OK);
            replace(at->path, name, rank, size, H5T_NATIVE_FLOAT, NULL);
            assert_int_equal(shoal_store_read(at->context, at->path, &read), SHOAL_E_INPUT);
            assert_message(at, at->path);
            if (!rank)
                assert_message(at, name);
            assert_null(read);
        }
    }
    const int outcome[] = {0, 1, 2, 3, 4}, body[] = {0, 1, 3, 0, 0}, live[] = {3, 3, 3, 3, 4};
    const struct {
        const char *name;
        const int *value;
        const char *message;
    } wrong[] = {{"/systems/outcome", outcome, "type"},
                 {"/systems/body_b", body, "no body"},
                 {"/systems/n_live", live, "4 live"}};
    for (int i = 0; i < SHOAL_COUNT(wrong); i++) {
        assert_int_equal(shoal_store_write(at->context, at->path, result), SHOAL_OK);
        replace(at->path, wrong[i].name, 1, (hsize_t[]){5}, H5T_NATIVE_INT, wrong[i].value);
        assert_int_equal(shoal_store_read(at->context, at->path, &read), SHOAL_E_INPUT);
        assert_message(at, wrong[i].message);
    }
    const signed char narrow[5] = {0};
    const hid_t of_bytes = H5Tenum_create(H5T_NATIVE_SCHAR);
    assert_true(H5Tenum_insert(of_bytes, "running", narrow) >= 0);
    assert_int_equal(shoal_store_write(at->context, at->path, result), SHOAL_OK);
    replace(at->path, "/systems/outcome", 1, (hsize_t[]){5}, of_bytes, narrow);
    assert_int_equal(shoal_store_read(at->context, at->path, &read), SHOAL_E_INPUT);
    assert_message(at, "type");
    H5Tclose(of_bytes);
    const int64_t system[] = {0, 1, 2, 3, 4, 0, 1, 2, 3, 5};
    assert_int_equal(shoal_store_write(at->context, at->path, result), SHOAL_OK);
    replace(at->path, "/snapshots/system", 1, (hsize_t[]){10}, H5T_NATIVE_INT64, system);
    assert_int_equal(shoal_store_read(at->context, at->path, &read), SHOAL_E_INPUT);
    assert_message(at, "snapshot 9");
    const int nobody[] = {0, 0, 0, 0, 0, 0, 0, 0, 3, 0};
    assert_int_equal(shoal_store_write(at->context, at->path, result), SHOAL_OK);
    replace(at->path, "/events/body_a", 1, (hsize_t[]){10}, H5T_NATIVE_INT, nobody);
    assert_int_equal(shoal_store_read(at->context, at->path, &read), SHOAL_E_INPUT);
    assert_message(at, "event 8");
    shoal_result_destroy(&result);
}

static void count_printed(void *user)
{
    ++*(int *)user;
}

static herr_t printer(hid_t stack, void *user)
{
    (void)stack;
    count_printed(user);
    return 0;
}

static void failed_writes(void **state)
{
    const fixture *at = *state;
    shoal_result *result = fixture_result(at->context, 400, 3), *small = fixture_result(at->context, 2, 3),
                 *read = NULL;
    char path[160];
    int printed = 0;
    H5E_auto2_t old_function, function;
    void *old_data, *data;
    H5Eget_auto2(H5E_DEFAULT, &old_function, &old_data);
    H5Eset_auto2(H5E_DEFAULT, printer, &printed);

    snprintf(path, sizeof path, "%s/no/such.h5", at->folder);
    assert_int_equal(shoal_store_write(at->context, path, result), SHOAL_E_FILE);
    assert_message(at, path);
    assert_int_equal(shoal_store_write(at->context, "/dev/full", result), SHOAL_E_FILE);
    assert_message(at, "/dev/full");
    assert_int_equal(access("/dev/full", W_OK), 0);
    assert_int_equal(shoal_store_write(at->context, at->folder, result), SHOAL_E_FILE);
    assert_message(at, at->folder);

    /* a full disk: the file of before stays, nothing else does (see the teardown), and the library is well afterwards
     */
    assert_int_equal(shoal_store_write(at->context, at->path, small), SHOAL_OK);
    for (int room = 0; room < 60; room += 9) {
        limit_files((rlim_t)room * 1024);
        shoal_status status = shoal_store_write(at->context, at->path, result);
        limit_files(RLIM_INFINITY);
        assert_int_equal(status, SHOAL_E_FILE);
        assert_message(at, at->path);
        assert_message(at, "File too large");
        assert_int_equal(shoal_store_read(at->context, at->path, &read), SHOAL_OK);
        assert_same(read, small);
        shoal_result_destroy(&read);
    }
    write_and_compare(at, result);

    /* a name that HDF5 would take for a path, as that of a comet, and one that is taken */
    strcpy(result->columns[2].name, "/a_C/2020 F3/");
    write_and_compare(at, result);
    strcpy(result->columns[2].name, "outcome");
    assert_int_equal(shoal_store_write(at->context, at->path, result), SHOAL_E_INPUT);
    assert_message(at, "outcome");

    H5Eget_auto2(H5E_DEFAULT, &function, &data);
    assert_true(function == printer && data == &printed);
    assert_int_equal(printed, 0);
    H5Eset_auto2(H5E_DEFAULT, old_function, old_data);
    shoal_result_destroy(&small);
    shoal_result_destroy(&result);
}

/* ---- queries --------------------------------------------------------------------------------------------------- */

/* The next field of a CSV text, unquoted, into field; returns what comes after its comma or newline. */
static const char *next_field(const char *text, char field[256])
{
    bool quoted = *text == '"';
    size_t n = 0;
    for (text += quoted; *text; text++) {
        if (quoted && *text == '"' && *++text != '"')
            quoted = false;
        if (!quoted && (*text == ',' || *text == '\n'))
            break;
        field[n++] = *text;
    }
    field[n] = '\0';
    return *text ? text + 1 : text;
}

static const char *expect_text(const char *text, const char *expected)
{
    char field[256];
    text = next_field(text, field);
    assert_string_equal(field, expected);
    return text;
}

static const char *expect_integer(const char *text, long long expected)
{
    char number[32];
    snprintf(number, sizeof number, "%lld", expected);
    return expect_text(text, number);
}

static const char *expect_number(const char *text, double expected)
{
    char field[256];
    text = next_field(text, field);
    double value = *field ? strtod(field, NULL) : NAN;
    if (isnan(expected))
        assert_string_equal(field, "");
    else
        assert_memory_equal(&value, &expected, sizeof value);
    return text;
}

static const char *expect_states(const char *text, const shoal_result *result, long s, double time,
                                 const double *states)
{
    for (int b = 0; b < result->n_live[s]; b++) {
        text = expect_integer(text, result->id[s]);
        text = expect_integer(text, b);
        text = expect_text(text, result->body_name[b]);
        text = expect_number(text, time);
        for (int q = 0; q < SHOAL_STATE; q++)
            text = expect_number(text, states[b * SHOAL_STATE + q]);
    }
    return text;
}

static shoal_status print_query(const fixture *at, const shoal_result *result, int which, double time,
                                const shoal_selection *of, FILE *out)
{
    const shoal_query query = {.which = (shoal_query_state)which, .from = time};
    return which == -2 ? shoal_query_events(at->context, result, of, NULL, out)
           : which < 0 ? shoal_query_systems(at->context, result, of, out)
                       : shoal_query_states(at->context, result, of, &query, out);
}

/* A query of the rows first..last, which it knows by their ids, into memory. */
static char *ask(const fixture *at, const shoal_result *result, int which, double time, long first, long last,
                 shoal_status expected)
{
    char *text = NULL;
    size_t size = 0;
    first = first < 0 ? first : fixture_id(first);
    last = fixture_id(last);
    FILE *out = open_memstream(&text, &size);
    shoal_status status = print_query(at, result, which, time, &(shoal_selection){first, last, NULL}, out);
    fclose(out);
    assert_int_equal(status, expected);
    if (status) /* refused: nothing printed */
        assert_int_equal(size, 0);
    return text;
}

static const char states_heading[] = "system,body,name,time,m,x,y,z,vx,vy,vz\n";

static void query_states(void **state)
{
    const fixture *at = *state;
    shoal_result *result = fixture_result(at->context, 5, 3);
    const int row = 3 * SHOAL_STATE;
    for (int which = SHOAL_QUERY_INITIAL; which <= SHOAL_QUERY_TIME; which++) {
        char *text = ask(at, result, which, 20.0 * (1 + 5e-10), 1, 4, SHOAL_OK);
        const char *left = text + strlen(states_heading);
        assert_memory_equal(text, states_heading, strlen(states_heading));
        for (long s = 1; s <= 4; s++)
            left = which == SHOAL_QUERY_INITIAL
                       ? expect_states(left, result, s, result->t_initial[s], result->initial + s * row)
                   : which == SHOAL_QUERY_FINAL
                       ? expect_states(left, result, s, result->t_final[s], result->final + s * row)
                       : expect_states(left, result, s, 20.0, result->snapshot + (5 + s) * row);
        assert_string_equal(left, "");
        free(text);
    }
    shoal_result_destroy(&result);
}

/* Body 0 is not there: its row is empty, whatever is in memory before the orbits (the address sanitizer sees it). */
static void query_orbits_without_a_star(void **state)
{
    const fixture *at = *state;
    shoal_result *result = fixture_result(at->context, 5, 3);
    const shoal_query query = {.which = SHOAL_QUERY_FINAL, .orbits = true, .frame = SHOAL_JACOBI};
    const shoal_selection all = {fixture_id(0), fixture_id(4), NULL};
    char *text = NULL;
    size_t size = 0;
    for (long s = 0; s < 5; s++)
        for (int q = 0; q < SHOAL_STATE; q++)
            result->final[s * 3 * SHOAL_STATE + q] = NAN;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(shoal_query_states(at->context, result, &all, &query, out), SHOAL_OK);
    fclose(out);
    int n_empty = 0;
    for (const char *line = strchr(text, '\n') + 1; *line; line += strcspn(line, "\n") + 1) {
        const char *const body = strchr(line, ',') + 1, *const end = line + strcspn(line, "\n");
        n_empty += body[0] == '0' && memcmp(end - 9, ",,,,,,,,,", 9) == 0;
    }
    assert_int_equal(n_empty, 5);
    free(text);
    shoal_result_destroy(&result);
}

/* What was changed after it was written is refused before libhdf5 sees it, and says so; without its block a file is
 * read as those of older versions are, and the same result is the same bytes. */
static void checksum(void **state)
{
    const fixture *at = *state;
    shoal_result *result = fixture_result(at->context, 5, 3), *read = NULL;
    size_t size, size_again;
    assert_int_equal(shoal_store_write(at->context, at->path, result), SHOAL_OK);
    unsigned char *bytes = slurp(at->path, &size);
    sleep(1);
    assert_int_equal(shoal_store_write(at->context, at->path, result), SHOAL_OK);
    unsigned char *again = slurp(at->path, &size_again);
    assert_int_equal(size, size_again);
    assert_memory_equal(bytes, again, size);
    free(again);
    for (size_t n = 0; n < size; n = n < 19 ? n + 1 : n < 512 ? 512 : n + 997) {
        bytes[n] ^= 0x10;
        spill(at->path, bytes, size);
        bytes[n] ^= 0x10;
        assert_int_equal(shoal_store_read(at->context, at->path, &read), SHOAL_E_INPUT);
        assert_message(at, n < 16 || (n >= 512 && n < 520) ? at->path : "checksum");
    }
    spill(at->path, bytes, size);
    unsign(at->path);
    assert_int_equal(shoal_store_read(at->context, at->path, &read), SHOAL_OK);
    assert_same(result, read);
    shoal_result_destroy(&read);
    free(bytes);
    shoal_result_destroy(&result);
}

/* A result gives way to another one, also if it is damaged or of an older version; no other file does, even of HDF5. */
static void spares_what_is_not_ours(void **state)
{
    const fixture *at = *state;
    shoal_result *result = fixture_result(at->context, 5, 3);
    const char *const formats[] = {NULL, "somebody's"};
    size_t size;
    assert_int_equal(shoal_store_spare(at->context, at->path), SHOAL_OK);
    assert_int_equal(shoal_store_write(at->context, at->path, result), SHOAL_OK);
    assert_int_equal(shoal_store_spare(at->context, at->path), SHOAL_OK);
    unsigned char *bytes = slurp(at->path, &size);
    spill(at->path, bytes, size / 2);
    assert_int_equal(shoal_store_spare(at->context, at->path), SHOAL_OK);
    spill(at->path, bytes, size);
    unsign(at->path);
    assert_int_equal(shoal_store_spare(at->context, at->path), SHOAL_OK);
    spill(at->path, bytes, 4);
    assert_int_equal(shoal_store_spare(at->context, at->path), SHOAL_E_INPUT);
    for (int i = 0; i < SHOAL_COUNT(formats); i++) {
        shoal_h5 h5;
        assert_int_equal(shoal_h5_create(at->context, at->path, H5F_LIBVER_EARLIEST, 4096, &h5), SHOAL_OK);
        const shoal_status status = formats[i] ? shoal_h5_put_text(&h5, "/", "format", formats[i]) : SHOAL_OK;
        assert_int_equal(shoal_h5_save(&h5, status), SHOAL_OK);
        assert_true(shoal_store_is(at->path));
        assert_int_equal(shoal_store_spare(at->context, at->path), SHOAL_E_INPUT);
        assert_message(at, "is there and no result file: it is not replaced");
    }
    free(bytes);
    shoal_result_destroy(&result);
}

static void query_times(void **state)
{
    const fixture *at = *state;
    shoal_result *result = fixture_result(at->context, 5, 3);
    const int row = 3 * SHOAL_STATE;
    free(ask(at, result, SHOAL_QUERY_TIME, 20.0 * (1 + 5e-9), 0, 4, SHOAL_E_INPUT));
    assert_message(at, "the nearest is at 20");
    free(ask(at, result, SHOAL_QUERY_TIME, 14.0, 0, 4, SHOAL_E_INPUT));
    assert_message(at, "the nearest are at 10 and 20");
    assert_message(at, "day");
    free(ask(at, result, SHOAL_QUERY_TIME, 0.0, 0, 4, SHOAL_E_INPUT));

    /* two within the tolerance: the nearer one; a system without one is left out */
    fixture_snapshots(at->context, result, 2, 20.0 * (1 + 4e-10));
    char *text = ask(at, result, SHOAL_QUERY_TIME, 20.0 * (1 + 5e-10), 0, 0, SHOAL_OK);
    expect_states(text + strlen(states_heading), result, 0, 20.0 * (1 + 4e-10), result->snapshot + 10 * row);
    free(text);
    fixture_snapshots(at->context, result, 2, 30.0);
    text = ask(at, result, SHOAL_QUERY_TIME, 30.0, 1, 4, SHOAL_OK);
    assert_string_equal(expect_states(text + strlen(states_heading), result, 1, 30.0, result->snapshot + 13 * row), "");
    free(text);
    free(ask(at, result, SHOAL_QUERY_TIME, 30.0, 2, 4, SHOAL_E_INPUT));
    fixture_snapshots(at->context, result, 1, 0.0);
    free(ask(at, result, SHOAL_QUERY_TIME, 0.0, 0, 4, SHOAL_OK));
    result->n_snapshots = 0;
    free(ask(at, result, SHOAL_QUERY_TIME, 30.0, 0, 4, SHOAL_E_INPUT));
    assert_message(at, "have none");
    shoal_result_destroy(&result);
}

static void query_systems(void **state)
{
    const fixture *at = *state;
    shoal_result *result = fixture_result(at->context, 5, 3);
    const char heading[] = "system,outcome,t_stop,body_a,body_b,dE_final,steps,n_final,b.a,c.e,min_separation\n";
    char *text = ask(at, result, -1, 0, 0, 4, SHOAL_OK);
    const char *left = text + strlen(heading);
    assert_memory_equal(text, heading, strlen(heading));
    for (long s = 0; s < 5; s++) {
        left = expect_integer(left, result->id[s]);
        left = expect_text(left, shoal_outcome_name(result->outcome[s]));
        left = expect_number(left, result->t_stop[s]);
        left = expect_text(left, result->body_a[s] < 0 ? "" : result->body_name[result->body_a[s]]);
        left = expect_text(left, result->body_b[s] < 0 ? "" : result->body_name[result->body_b[s]]);
        left = expect_number(left, result->dE_final[s]);
        left = expect_number(left, result->n_steps[s]);
        left = expect_integer(left, result->n_final[s]);
        for (int c = 0; c < FIXTURE_COLUMNS; c++)
            left = expect_number(left, result->columns[c].value[s]);
    }
    assert_string_equal(left, "");
    free(text);
    shoal_result_destroy(&result);
}

/* In order of the systems, those of one as they came. */
static void query_events(void **state)
{
    const fixture *at = *state;
    shoal_result *result = fixture_result(at->context, 5, 3);
    const char heading[] = "system,time,event,body_a,body_b,m_a,m_b,distance,speed,dE,ended\n";
    assert_int_equal(shoal_result_sort_events(at->context, result), SHOAL_OK);
    char *text = ask(at, result, -2, 0, 1, 4, SHOAL_OK);
    const char *left = text + strlen(heading);
    assert_memory_equal(text, heading, strlen(heading));
    for (long s = 1; s < 5; s++)
        for (long i = 0; i < 10; i++) { /* as fixture_events made them */
            if ((3 * i + 1) % 5 != s)
                continue;
            left = expect_integer(left, result->id[s]);
            left = expect_number(left, awkward(i));
            left = expect_text(left, shoal_outcome_name(2 + (int)i % 4));
            left = expect_text(left, result->body_name[i % 3]);
            left = expect_text(left, i % 2 ? result->body_name[0] : "");
            left = expect_number(left, awkward(i + 1));
            left = expect_number(left, NAN);
            for (long k = 2; k <= 4; k++)
                left = expect_number(left, awkward(i + k));
            left = expect_integer(left, i % 2);
        }
    assert_string_equal(left, "");
    free(text);
    shoal_result_destroy(&result);
}

/* In order of the systems, those of one as they came; a system's id, a body's name. */
static void query_logs(void **state)
{
    const fixture *at = *state;
    const shoal_selection some = {fixture_id(1), fixture_id(4), NULL};
    shoal_result *result = fixture_result(at->context, 5, 3);
    char *text = NULL;
    size_t size = 0;
    assert_int_equal(shoal_result_sort_logs(at->context, result), SHOAL_OK);
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(shoal_query_log(at->context, result, &some, "others", out), SHOAL_OK);
    fclose(out);
    const char heading[] = "system,time,body,far\n", *left = text + strlen(heading);
    assert_memory_equal(text, heading, strlen(heading));
    for (long s = 1; s < 5; s++)
        for (long i = 0; i < 15; i++) { /* as fixture_logged made them */
            if ((3 * i + 1) % 5 != s)
                continue;
            left = expect_integer(left, result->id[s]);
            left = expect_number(left, awkward(i + 1));
            left = expect_text(left, i % 4 ? result->body_name[i % 4 - 1] : "");
            left = expect_number(left, awkward(i + 3));
        }
    assert_string_equal(left, "");
    free(text);
    assert_int_equal(shoal_query_log(at->context, result, &some, "megno", stdout), SHOAL_E_USAGE);
    assert_message(at, "expected a monitor that logged, of which the file has transits, others");
    shoal_result_destroy(&result);
}

static void query_refusals(void **state)
{
    const fixture *at = *state;
    shoal_result *result = fixture_result(at->context, 5, 3);
    for (int which = -2; which <= SHOAL_QUERY_TIME; which++) {
        free(ask(at, result, which, 10, 0, 5, SHOAL_E_USAGE));
        assert_message(at, "1099511627777..1099511627789");
        free(ask(at, result, which, 10, -1, 3, SHOAL_E_USAGE));
        free(ask(at, result, which, 10, 3, 2, SHOAL_E_USAGE));
        FILE *full = fopen("/dev/full", "w");
        assert_int_equal(print_query(at, result, which, 10, &(shoal_selection){.last = LONG_MAX}, full), SHOAL_E_FILE);
        assert_message(at, "No space left");
        fclose(full);
    }
    shoal_result_destroy(&result);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(round_trip),       TEST(many_threads),
        TEST(describes_itself), TEST(journal_instead),
        TEST(systems_alone),    TEST(damage),
        TEST(not_a_result),     TEST(wrong_datasets),
        TEST(failed_writes),    TEST(query_states),
        TEST(query_times),      TEST(query_systems),
        TEST(query_events),     TEST(query_logs),
        TEST(query_refusals),   TEST(query_orbits_without_a_star),
        TEST(checksum),         TEST(spares_what_is_not_ours),
    };
    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
