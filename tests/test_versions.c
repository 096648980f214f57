/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_versions.c: results and journals outlive a version of the program (tests/data/format_2.*, made by shoal 0.1.0 of
 * format 2), and neither the locale nor the HDF5 settings of the calling program matter or are changed.
 */
#include "result_fixture.h"

#include <hdf5.h>
#include <locale.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/formats/table.h"
#include "core/report/report.h"
#include "core/result/h5.h"
#include "core/study/study.h"

static const char *data_file(const char *name)
{
    static char path[600];
    const char *root = getenv("SHOAL_ROOT");
    snprintf(path, sizeof path, "%s/tests/data/%s", root ? root : ".", name);
    if (access(path, R_OK) != 0)
        snprintf(path, sizeof path, "%s/data/%s", root ? root : ".", name); /* of a bundle */
    return path;
}

static void copy(const char *from, const char *to)
{
    char command[1400];
    snprintf(command, sizeof command, "cp '%s' '%s'", from, to);
    assert_int_equal(system(command), 0);
}

static double column(const shoal_result *result, const char *name, long row)
{
    const int c = shoal_result_column(result, name);
    assert_true(c >= 0);
    return result->columns[c].value[row];
}

static void results_of_format_2(void **state)
{
    const fixture *at = *state;
    shoal_result *read = NULL;
    assert_int_equal(shoal_store_read(at->context, data_file("format_2.h5"), &read), SHOAL_OK);
    assert_true(read->complete);
    assert_int_equal(read->n_systems, 3);
    assert_int_equal(read->n_bodies, 3);
    assert_string_equal(read->body_name[2], "c");
    assert_string_equal(read->units.time_name, "yr");
    assert_true(read->n_swept == 1 && read->n_axes == 1 && read->axes[0].count == 3);
    assert_int_equal(read->outcome[2], SHOAL_SURVIVED);
    assert_true(read->t_stop[1] == 30 && read->n_steps[0] == 1821);
    assert_true(column(read, "c.e", 1) == 0.2 && column(read, "min_separation", 2) == 0.0195025212746331);
    assert_true(isnan(column(read, "transit_first_c", 2)));
    assert_int_equal(read->n_snapshots, 12);
    assert_true(read->snapshot_time[11] == 30);
    assert_true(read->n_events == 6 && read->event[5] == SHOAL_COLLIDED); /* its other events were transits */
    const shoal_log *log = shoal_result_log(read, "transits");
    assert_true(log->n_rows == 99 && log->columns[1].value[0] == 0.243417151836738);
    assert_true(shoal_log_values(log, "body")[0] == 1 && shoal_log_values(log, "star")[0] == 0);
    shoal_result_destroy(&read);
}

static void journals_of_format_2(void **state)
{
    const fixture *at = *state;
    shoal_result *read = NULL;
    void *checkpoint = NULL;
    size_t size = 0;
    const char *path = data_file("format_2.journal");
    assert_int_equal(shoal_journal_read(at->context, path, &read, NULL, NULL), SHOAL_OK);
    assert_false(read->complete);
    assert_true(read->n_systems == 3 && read->n_bodies == 3 && read->outcome[0] == SHOAL_RUNNING);
    assert_string_equal(read->body_name[1], "b");
    assert_true(read->units.G > 39 && read->units.G < 40);
    assert_true(read->t_initial[0] == 0 && column(read, "c.e", 2) == 0.4 && isnan(column(read, "ttv_rms_b", 0)));
    const shoal_log *log = shoal_result_log(read, "transits");
    assert_true(read->n_events == 6 && read->event_time[5] == 13.491236853532229);
    assert_true(log->n_rows == 73 && log->columns[1].value[72] == 19.1751594077202);
    shoal_result_destroy(&read);
    assert_int_equal(shoal_journal_read(at->context, path, &read, &checkpoint, &size), SHOAL_OK);
    free(checkpoint);
    shoal_result_destroy(&read);
    copy(path, at->path);
    shoal_journal *journal = NULL;
    assert_int_equal(shoal_journal_open(at->context, at->path, &journal), SHOAL_E_INPUT);
    assert_non_null(strstr(shoal_context_message(at->context), "journal format 2, of an older shoal"));
    assert_non_null(strstr(shoal_context_message(at->context), "the run cannot go on"));
}

static void set_version(const char *path, int version)
{
    const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t attribute = H5Aopen(file, "format_version", H5P_DEFAULT);
    assert_true(H5Awrite(attribute, H5T_NATIVE_INT, &version) >= 0);
    H5Aclose(attribute);
    H5Fclose(file);
}

static void newer_files_are_refused_by_name(void **state)
{
    const fixture *at = *state;
    shoal_result *read = NULL;
    copy(data_file("format_2.h5"), at->path);
    set_version(at->path, 7);
    assert_int_equal(shoal_store_read(at->context, at->path, &read), SHOAL_E_INPUT);
    assert_non_null(strstr(shoal_context_message(at->context), "result format 7, written by shoal 0.1.0"));
}

static void what_an_older_file_has_not_got_is_empty(void **state)
{
    const fixture *at = *state;
    shoal_result *read = NULL;
    static const char *const gone[] = {"/systems/dE_final", "/systems/body_a", "/final/state", "/events/m_a"};
    copy(data_file("format_2.h5"), at->path);
    const hid_t file = H5Fopen(at->path, H5F_ACC_RDWR, H5P_DEFAULT);
    for (int i = 0; i < SHOAL_COUNT(gone); i++)
        assert_true(H5Ldelete(file, gone[i], H5P_DEFAULT) >= 0);
    H5Fclose(file);
    set_version(at->path, 3);
    assert_int_equal(shoal_store_read(at->context, at->path, &read), SHOAL_E_INPUT); /* of today's format: damage */
    set_version(at->path, 2);
    assert_int_equal(shoal_store_read(at->context, at->path, &read), SHOAL_OK);
    assert_true(isnan(read->dE_final[0]) && read->body_a[2] == -1 && isnan(read->final[5]) &&
                isnan(read->event_m_a[3]));
    assert_true(read->n_steps[0] == 1821 && read->event_b[0] == 2);
    shoal_result_destroy(&read);
}

/* What is damaged is not taken for what an older version did not write. */
static void damage_of_an_older_file_is_not_emptiness(void **state)
{
    const fixture *at = *state;
    static const size_t places[] = {1031, 1042, 10460}; /* in the heads of a group and of a dataset */
    for (int i = 0; i < SHOAL_COUNT(places); i++) {
        shoal_result *read = NULL;
        size_t size;
        unsigned char *bytes = slurp(data_file("format_2.h5"), &size);
        bytes[places[i]] ^= 0x41;
        spill(at->path, bytes, size);
        free(bytes);
        const pid_t child = fork();
        if (child == 0) { /* libhdf5 keeps what it opened of a damaged file until its process ends */
            const shoal_status status = shoal_store_read(at->context, at->path, &read);
            const bool told = strstr(shoal_context_message(at->context), at->path) != NULL;
            _exit(status == SHOAL_E_INPUT && told && !read ? 0 : 1);
        }
        int ended = -1;
        assert_int_equal(waitpid(child, &ended, 0), child);
        assert_int_equal(ended, 0);
    }
}

static herr_t own_printer(hid_t stack, void *user)
{
    (void)stack;
    ++*(int *)user;
    return 0;
}

static void hdf5_prints_as_the_caller_wants(void **state)
{
    const fixture *at = *state;
    int printed = 0;
    H5E_auto2_t before, function;
    void *before_data, *data;
    shoal_result *read = NULL;
    shoal_h5 h5;
    H5Eget_auto2(H5E_DEFAULT, &before, &before_data);
    H5Eset_auto2(H5E_DEFAULT, own_printer, &printed);
    FILE *file = fopen(at->path, "wb");
    fputs("\x89HDF\r\n\x1a\n and no more", file);
    fclose(file);
    assert_int_equal(shoal_store_read(at->context, at->path, &read), SHOAL_E_INPUT);
    assert_int_equal(shoal_h5_open(at->context, at->path, &h5), SHOAL_E_INPUT);
    assert_false(shoal_gadget_is(at->path));
    assert_false(shoal_big_record_is(at->path));
    assert_false(shoal_big_record_is(data_file("format_2.h5")));
    assert_int_equal(shoal_h5_create(at->context, at->path, H5F_LIBVER_EARLIEST, 1 << 20, &h5), SHOAL_OK);
    assert_int_not_equal(shoal_h5_group(&h5, "/no/such/parent"), SHOAL_OK);
    shoal_h5_close(&h5);
    assert_int_equal(printed, 0);
    H5Eget_auto2(H5E_DEFAULT, &function, &data);
    assert_true(function == own_printer && data == &printed);
    H5Eset_auto2(H5E_DEFAULT, before, before_data);
}

/* Foreign files may hold anything: what has more dimensions than we count is refused, not read over the end. */
static void datasets_of_four_dimensions_are_refused(void **state)
{
    const fixture *at = *state;
    const hsize_t sizes[4] = {2, 2, 2, 2};
    double value[16] = {0.0};
    long n;
    shoal_h5 h5;
    const hid_t file = H5Fcreate(at->path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t space = H5Screate_simple(4, sizes, NULL);
    const hid_t set = H5Dcreate2(file, "/four", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, value) >= 0);
    H5Dclose(set);
    H5Sclose(space);
    H5Fclose(file);
    assert_int_equal(shoal_h5_open(at->context, at->path, &h5), SHOAL_OK);
    assert_int_equal(shoal_h5_size(&h5, "/four", &n), SHOAL_E_INPUT);
    assert_int_equal(shoal_h5_read(&h5, "/four", H5T_NATIVE_DOUBLE, 1, value), SHOAL_E_INPUT);
    shoal_h5_close(&h5);
}

static int decimal_commas; /* seen by the callback */

static int look_at_the_locale(const shoal_progress *progress, void *user)
{
    char text[16];
    (void)progress, (void)user;
    snprintf(text, sizeof text, "%.1f", 0.5);
    decimal_commas += strcmp(text, "0,5") == 0;
    return 0;
}

/* Run a study, and again the study that its result holds; the tables of both, malloc'd. */
static char *run_and_rerun(const fixture *at, int n_callbacks)
{
    static const char *const overrides[] = {"run.t_end=3.5", "run.engine=cpu"};
    shoal_study *study = NULL;
    shoal_result *read = NULL;
    char *text = NULL, output[200];
    size_t size;
    snprintf(output, sizeof output, "output.file=%s", at->path);
    FILE *out = open_memstream(&text, &size);
    for (int again = 0; again < 2; again++) {
        const char *words[] = {overrides[0], overrides[1], output};
        char *config = again ? strdup(read->config_text) : NULL;
        shoal_result_destroy(&read);
        const shoal_status status = shoal_study_open(at->context, data_file("format_2.cfg"), config, again ? 1 : 3,
                                                     again ? &words[2] : words, NULL, &study);
        if (status)
            fail_msg("%s\n%s", shoal_context_message(at->context), config ? config : "");
        decimal_commas = 0;
        assert_int_equal(shoal_study_run(study, 1, look_at_the_locale, NULL), SHOAL_OK);
        assert_true(n_callbacks ? decimal_commas > 0 : decimal_commas == 0);
        shoal_study_destroy(&study);
        free(config);
        assert_int_equal(shoal_store_read(at->context, at->path, &read), SHOAL_OK);
        fputs(read->config_text, out);
        fputs(read->plan_line, out);
        void *numbers = shoal_numbers_begin(); /* as the program has it */
        const shoal_selection all = {.last = LONG_MAX};
        assert_int_equal(shoal_query_systems(at->context, read, &all, out), SHOAL_OK);
        assert_int_equal(shoal_query_events(at->context, read, &all, NULL, out), SHOAL_OK);
        shoal_numbers_end(numbers);
    }
    shoal_result_destroy(&read);
    fclose(out);
    return text;
}

static void locales_do_not_matter(void **state)
{
    const fixture *at = *state;
    char command[300], folder[100];
    snprintf(folder, sizeof folder, "%s/locales", at->folder);
    snprintf(command, sizeof command, "mkdir %s && localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", folder,
             folder);
    if (system(command) != 0) {
        print_message("localedef cannot make de_DE.UTF-8 here (Debian: locales)\n");
        skip();
    }
    char *expected = run_and_rerun(at, 0);
    setenv("LOCPATH", folder, 1);
    assert_non_null(setlocale(LC_ALL, "de_DE.UTF-8"));
    assert_string_equal(localeconv()->decimal_point, ",");
    char *text = run_and_rerun(at, 1);
    assert_string_equal(localeconv()->decimal_point, ",");
    assert_string_equal(setlocale(LC_ALL, NULL), "de_DE.UTF-8");
    assert_string_equal(text, expected);
    setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
    free(text);
    free(expected);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(results_of_format_2),
        TEST(journals_of_format_2),
        TEST(newer_files_are_refused_by_name),
        TEST(what_an_older_file_has_not_got_is_empty),
        TEST(damage_of_an_older_file_is_not_emptiness),
        TEST(hdf5_prints_as_the_caller_wants),
        TEST(datasets_of_four_dimensions_are_refused),
        TEST(locales_do_not_matter),
    };
    return cmocka_run_group_tests_name("versions", tests, NULL, NULL);
}
