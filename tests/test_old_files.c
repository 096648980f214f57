/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_old_files.c: files that outlive a version, and a program's own settings: the result and the journal of format 2
 * in tests/data are read with all they hold; a newer format is refused by name; and with a locale that writes decimal
 * commas a study, its result, what is read back and its CSV are the same, the locale and HDF5's error printing being
 * left alone.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <locale.h>

#include "result_fixture.h"
#include "core/report/report.h"
#include "core/result/h5.h"
#include "core/study/study.h"

#include <hdf5.h>

static int count(const shoal_result *result, const char *outcome)
{
    int n = 0;
    for (long i = 0; i < result->n_events; i++)
        n += strcmp(shoal_outcome_name(result->event[i]), outcome) == 0;
    return n;
}

static void result_of_format_2(void **state)
{
    const fixture *at = *state;
    shoal_result *read = NULL;
    assert_int_equal(shoal_store_read(at->context, "tests/data/format_2.h5", &read), SHOAL_OK);
    assert_true(read->complete);
    assert_string_equal(read->version, "0.1.0");
    assert_string_equal(read->body_name[2], "c");
    assert_int_equal(read->n_systems, 3);
    assert_int_equal(read->n_snapshots, 12);
    assert_int_equal(count(read, "collided"), 3);
    assert_int_equal(count(read, "encounter"), 3);
    assert_int_equal(count(read, "transit"), 99);
    assert_int_equal(read->n_swept, 1);
    assert_true(read->columns[0].value[2] == 0.4);
    assert_true(read->columns[shoal_result_column(read, "min_separation")].value[0] == 0.019892730951559405);
    assert_true(read->event_time[0] == 0.243417151836738);
    assert_true(read->event_distance[0] == 0.0017447069705327318);
    assert_true(read->dE_final[1] == -3.2335487931697326e-06);
    assert_int_equal(read->n_steps[2], 2093);
    shoal_result_destroy(&read);
}

static void journal_of_format_2(void **state)
{
    const fixture *at = *state;
    shoal_result *whole = NULL, *read = NULL;
    assert_int_equal(shoal_store_read(at->context, "tests/data/format_2.h5", &whole), SHOAL_OK);
    assert_int_equal(shoal_journal_read(at->context, "tests/data/format_2.journal", &read, NULL, NULL), SHOAL_OK);
    assert_false(read->complete);
    assert_null(shoal_result_difference(whole, 0, read, 0)); /* it had ended */
    assert_int_equal(read->outcome[1], SHOAL_RUNNING);
    assert_true(count(read, "collided") > 0 && count(read, "transit") > 60);
    assert_memory_equal(read->snapshot, whole->snapshot, 3 * 3 * SHOAL_STATE * sizeof(double));
    shoal_result_destroy(&read);
    shoal_result_destroy(&whole);
}

static void newer_format(void **state)
{
    const fixture *at = *state;
    shoal_result *result = fixture_result(at->context, 3, 3), *read = NULL;
    const int version = 77;
    char expected[64];
    strcpy(result->version, "9.8.7");
    assert_int_equal(shoal_store_write(at->context, at->path, result), SHOAL_OK);
    const hid_t file = H5Fopen(at->path, H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t attribute = H5Aopen(file, "format_version", H5P_DEFAULT);
    assert_true(H5Awrite(attribute, H5T_NATIVE_INT, &version) >= 0);
    H5Aclose(attribute);
    H5Fclose(file);
    assert_int_equal(shoal_store_read(at->context, at->path, &read), SHOAL_E_INPUT);
    snprintf(expected, sizeof expected, "result format %d; this program reads up to ", version);
    assert_message(at, expected);
    assert_message(at, "(written by shoal 9.8.7)");
    shoal_result_destroy(&result);
}

/* A locale of decimal commas, of this thread; made in the folder if there is none. NULL: it cannot be. */
static bool set_commas(const char *folder)
{
    char command[256];
    if (setlocale(LC_ALL, "de_DE.UTF-8"))
        return true;
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >%s/log 2>&1", folder, folder);
    setenv("LOCPATH", folder, 1);
    return system(command) >= 0 && setlocale(LC_ALL, "de_DE.UTF-8");
}

static herr_t printer(hid_t stack, void *user)
{
    (void)stack;
    (void)user;
    return 0;
}

/* The study's result and its systems table. */
static shoal_result *run(const fixture *at, shoal_context *context, char **table)
{
    char output[160];
    const char *overrides[] = {output, "run.t_end=2.5", "run.engine=cpu"};
    const shoal_selection all = {0, LONG_MAX, NULL};
    shoal_study *study = NULL;
    shoal_result *result = NULL;
    size_t size;
    snprintf(output, sizeof output, "output.file=\"%s\"", at->path);
    if (shoal_study_load(context, "tests/data/format_2.cfg", SHOAL_COUNT(overrides), overrides, &study) ||
        shoal_study_run(study, 1, NULL, NULL) || shoal_store_read(context, at->path, &result))
        fail_msg("%s", shoal_context_message(context));
    shoal_study_destroy(&study);
    FILE *out = open_memstream(table, &size);
    assert_int_equal(shoal_query_systems(context, result, &all, out), SHOAL_OK);
    fclose(out);
    return result;
}

static void decimal_commas(void **state)
{
    const fixture *at = *state;
    char folder[] = "/tmp/shoal-locale-XXXXXX", command[64], number[32], *plain, *table;
    shoal_result *expected = run(at, at->context, &plain);
    H5E_auto2_t function;
    void *data;
    assert_non_null(mkdtemp(folder));
    const bool set = set_commas(folder);
    if (set) {
        H5E_auto2_t old_function;
        void *old_data;
        H5Eget_auto2(H5E_DEFAULT, &old_function, &old_data);
        H5Eset_auto2(H5E_DEFAULT, printer, &folder);
        const locale_t thread = uselocale((locale_t)0);
        snprintf(number, sizeof number, "%g", 5.2);
        assert_string_equal(number, "5,2");
        shoal_result *result = run(at, at->context, &table);
        assert_string_equal(table, plain);
        assert_string_equal(result->config_text, expected->config_text);
        assert_non_null(strstr(result->config_text, "0.02")); /* the study can be read again */
        shoal_study *again = NULL;
        spill(at->path, result->config_text, strlen(result->config_text));
        assert_int_equal(shoal_study_load(at->context, at->path, 0, NULL, &again), SHOAL_OK);
        shoal_study_destroy(&again);
        assert_int_not_equal(shoal_study_load(at->context, "tests/data/format_2.cfg", 1,
                                              (const char *const[]){"run.t_end=\"x\""}, &again),
                             SHOAL_OK);
        shoal_result_destroy(&result);
        free(table);
        H5Eget_auto2(H5E_DEFAULT, &function, &data);
        assert_true(function == printer && data == &folder);
        assert_true(uselocale((locale_t)0) == thread);
        snprintf(number, sizeof number, "%g", 5.2);
        assert_string_equal(number, "5,2");
        H5Eset_auto2(H5E_DEFAULT, old_function, old_data);
        setlocale(LC_ALL, "C");
    }
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
    shoal_result_destroy(&expected);
    free(plain);
    if (!set) {
        print_message("no locale de_DE.UTF-8, and localedef cannot make it\n");
        skip();
    }
}

/* What the program has HDF5 print errors with stays, whether a file can be read or not. */
static void printing_of_errors(void **state)
{
    const fixture *at = *state;
    const char *const paths[] = {"tests/data/format_2.h5", "tests/data/format_2.cfg", "tests/data/none"};
    H5E_auto2_t old_function, function;
    void *old_data, *data;
    shoal_h5 h5;
    H5Eget_auto2(H5E_DEFAULT, &old_function, &old_data);
    H5Eset_auto2(H5E_DEFAULT, printer, &h5);
    for (int i = 0; i < SHOAL_COUNT(paths) + 1; i++) {
        const shoal_status status = i < SHOAL_COUNT(paths) ? shoal_h5_open(at->context, paths[i], &h5)
                                                           : shoal_h5_create(at->context, at->path, &h5);
        assert_int_equal(status == SHOAL_OK, i == 0 || i == SHOAL_COUNT(paths));
        if (i == SHOAL_COUNT(paths))
            assert_int_equal(shoal_h5_save(&h5, SHOAL_OK), SHOAL_OK);
        else
            shoal_h5_close(&h5);
        H5Eget_auto2(H5E_DEFAULT, &function, &data);
        assert_true(function == printer && data == &h5);
    }
    H5Eset_auto2(H5E_DEFAULT, old_function, old_data);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {TEST(result_of_format_2), TEST(journal_of_format_2), TEST(newer_format),
                                       TEST(decimal_commas), TEST(printing_of_errors)};
    return cmocka_run_group_tests_name("old_files", tests, NULL, NULL);
}
