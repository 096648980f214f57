/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The map of a grid: what is where in the preview, the picture's format, and every way to refuse.
 *
 * The result is made up: 40 x 30 systems over saturn.e (slow axis) and saturn.a (fast axis), the value 10^-8
 * everywhere, with a block of chaos (10^-1) at small a and large e, encounters at large a and large e, one corner
 * without a value.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

#define N_E 30
#define N_A 40

static shoal_context *context;
static shoal_result *result;

static void fill(bool a_first)
{
    for (int ie = 0; ie < N_E; ++ie) {
        for (int ia = 0; ia < N_A; ++ia) {
            const long system = a_first ? (long)ia * N_E + ie : (long)ie * N_A + ia;
            const bool right = ia >= N_A / 2, up = ie >= N_E / 2;
            result->id[system] = system;
            result->outcome[system] = right && up ? SHOAL_ENCOUNTER : SHOAL_SURVIVED;
            result->n_live[system] = 3;
            result->t_initial[system] = 0;
            result->t_stop[system] = result->t_final[system] = right && up ? 10.0 + ia : 1e4;
            result->columns[0].value[system] = 0.5 * ie / (N_E - 1);
            result->columns[1].value[system] = 7 + 4.0 * ia / (N_A - 1);
            result->columns[2].value[system] = right && !up && ie < 5 && ia > 34 ? NAN : up ? 1e-1 : 1e-8;
        }
    }
    const shoal_axis e = { "saturn.e", N_E, false }, a = { "saturn.a", N_A, false };
    result->axes[0] = a_first ? a : e;
    result->axes[1] = a_first ? e : a;
}

static int setup(void **state)
{
    (void)state;
    if (shoal_context_create(&context) != SHOAL_OK ||
        shoal_result_create(context, (long)N_E * N_A, 3, 3, &result) != SHOAL_OK) {
        return -1;
    }
    strcpy(result->body_name[0], "sun");
    strcpy(result->body_name[1], "jupiter");
    strcpy(result->body_name[2], "saturn");
    strcpy(result->units.time_name, "yr");
    strcpy(result->columns[0].name, "saturn.e");
    strcpy(result->columns[1].name, "saturn.a");
    strcpy(result->columns[1].unit, "AU");
    strcpy(result->columns[2].name, "mean_motion_drift");
    result->config_text = strdup("system = { bodies = ( { name = \"sun\"; m = 1.0; },"
                                 " { name = \"saturn\"; a = 9.537; e = 0.054; } ); };");
    result->n_swept = 2;
    result->n_axes = 2;
    result->complete = true;
    fill(false);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    shoal_result_destroy(&result);
    shoal_context_destroy(&context);
    return 0;
}

/* The preview, malloc'd, and its lines. */
static char *preview(const shoal_plot_options *options, char *lines[], int limit, int *n_lines)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    assert_int_equal(shoal_plot_map(context, result, options, out), SHOAL_OK);
    assert_int_equal(fclose(out), 0);
    *n_lines = 0;
    for (char *line = strtok(text, "\n"); line && *n_lines < limit; line = strtok(NULL, "\n")) {
        lines[(*n_lines)++] = line;
    }
    return text;
}

/* The characters of the map: rows from the top, those between the bar and the end of the line. */
static int map_rows(char *lines[], int n_lines, char *rows[])
{
    int n = 0;

    for (int i = 0; i < n_lines; ++i) {
        char *bar = strchr(lines[i], '|');
        if (bar && bar - lines[i] == 9) {
            rows[n++] = bar + 1;
        }
    }
    return n;
}

static void check_pattern(void)
{
    char *lines[64], *rows[64];
    int n_lines;
    char *text = preview(&(shoal_plot_options){ .terminal = true }, lines, 64, &n_lines);
    const int n = map_rows(lines, n_lines, rows);

    assert_int_equal(n, 24);
    for (int i = 0; i < n; ++i) {
        assert_int_equal(strlen(rows[i]), 70);
    }
    assert_int_equal(rows[1][2], '@');      /* small a, large e: chaos */
    assert_int_equal(rows[1][67], 'e');     /* large a, large e: encounters */
    assert_int_equal(rows[n - 2][2], '.');  /* small a, small e: quiet */
    assert_int_equal(rows[n - 2][67], ' '); /* large a, small e: no value */
    assert_int_equal(rows[n - 2][45], '.');
    /* the edges are where they should be, to a cell */
    assert_int_equal(rows[0][34], '@');
    assert_int_equal(rows[0][35], 'e');
    assert_int_equal(rows[11][0], '@');
    assert_int_equal(rows[12][0], '.');
    free(text);
}

static void the_pattern_is_where_it_is(void **state)
{
    (void)state;
    check_pattern();
}

static void a_is_horizontal_whatever_the_order_of_the_sweep(void **state)
{
    (void)state;
    fill(true);
    check_pattern();
}

static void the_last_axis_is_horizontal_if_neither_is_a_size(void **state)
{
    char *lines[64];
    int n_lines;

    (void)state;
    strcpy(result->columns[1].name, "saturn.b");
    strcpy(result->axes[1].column, "saturn.b");
    check_pattern();
    char *text = preview(&(shoal_plot_options){ .terminal = true }, lines, 64, &n_lines);
    assert_string_equal(lines[1], "saturn.e");
    free(text);
    strcpy(result->columns[1].name, "saturn.a");
}

static void a_falling_sweep_grows_to_the_right_all_the_same(void **state)
{
    (void)state;
    for (long system = 0; system < result->n_systems; ++system) { /* mirror the grid in a */
        const long mirror = system / N_A * N_A + N_A - 1 - system % N_A;
        if (mirror > system) {
            double *const arrays[] = { result->t_stop, result->columns[1].value, result->columns[2].value };
            for (int k = 0; k < SHOAL_COUNT(arrays); ++k) {
                const double swap = arrays[k][system];
                arrays[k][system] = arrays[k][mirror];
                arrays[k][mirror] = swap;
            }
            const int swap = result->outcome[system];
            result->outcome[system] = result->outcome[mirror];
            result->outcome[mirror] = swap;
        }
    }
    check_pattern();
}

static void the_preview_fits_the_width(void **state)
{
    char *lines[64];
    int n_lines;
    static const int widths[] = { 0, 60, 80, 120, 200 };

    (void)state;
    for (int k = 0; k < SHOAL_COUNT(widths); ++k) {
        const size_t width = widths[k] ? (size_t)widths[k] : 80;
        char *text = preview(&(shoal_plot_options){ .terminal = true, .width = widths[k] }, lines, 64, &n_lines);
        for (int i = 0; i < n_lines; ++i) {
            assert_true(strlen(lines[i]) <= width);
        }
        free(text);
        /* in colour: what is printed beside the escapes, the half block being one character */
        const shoal_plot_options coloured = { .terminal = true, .colour = true, .width = widths[k] };
        text = preview(&coloured, lines, 64, &n_lines);
        for (int i = 0; i < n_lines; ++i) {
            size_t shown = 0;
            for (const char *c = lines[i]; *c; ++c) {
                if (*c == '\033') {
                    c += strcspn(c, "m");
                } else if (((unsigned char)*c & 0xc0) != 0x80) {
                    ++shown;
                }
            }
            assert_true(shown <= width);
        }
        free(text);
    }
}

static void axes_and_legend_are_named(void **state)
{
    char *lines[64];
    int n_lines;
    static const char *const words[] = { "sun, jupiter, saturn: 1200 systems over 10000 yr", "saturn.a [AU]",
                                         "saturn.e", "log10 |mean_motion_drift|: -8", "-1", "e encounter", "7 ", "11", "0.5" };

    (void)state;
    char *text = preview(&(shoal_plot_options){ .terminal = true }, lines, 64, &n_lines);
    for (int w = 0; w < SHOAL_COUNT(words); ++w) {
        bool found = false;
        for (int i = 0; i < n_lines; ++i) {
            found = found || strstr(lines[i], words[w]);
        }
        if (!found) {
            fail_msg("'%s' is not in the preview", words[w]);
        }
    }
    free(text);
}

static void the_end_time_is_a_value_not_an_outcome(void **state)
{
    char *lines[64], *rows[64];
    int n_lines;

    (void)state;
    char *text = preview(&(shoal_plot_options){ .terminal = true, .column = "t_stop" }, lines, 64, &n_lines);
    map_rows(lines, n_lines, rows);
    assert_int_equal(rows[1][2], '@');
    assert_int_equal(rows[1][36], '.');
    free(text);
}

static void what_cannot_be_drawn_is_refused(void **state)
{
    shoal_plot_options options = { .terminal = true, .column = "mean_motion_drifft" };
    FILE *out = fopen("/dev/null", "w");

    (void)state;
    assert_non_null(out);
    assert_int_equal(shoal_plot_map(context, result, &options, out), SHOAL_E_USAGE);
    assert_non_null(strstr(shoal_context_message(context), "mean_motion_drifft"));
    assert_non_null(strstr(shoal_context_message(context), ": mean_motion_drift"));
    options.column = NULL;
    result->n_axes = 1;
    assert_int_equal(shoal_plot_map(context, result, &options, out), SHOAL_E_USAGE);
    assert_non_null(strstr(shoal_context_message(context), "two swept parameters"));
    result->n_axes = 0;
    assert_int_equal(shoal_plot_map(context, result, &options, out), SHOAL_E_USAGE);
    result->n_axes = 2;
    result->axes[0].count--;
    assert_int_equal(shoal_plot_map(context, result, &options, out), SHOAL_E_INPUT);
    result->axes[0].count++;
    fclose(out);
}

static void a_result_without_any_value_is_drawn(void **state)
{
    char *lines[64], *rows[64];
    int n_lines;

    (void)state;
    for (long system = 0; system < result->n_systems; ++system) {
        result->columns[2].value[system] = NAN;
        result->outcome[system] = SHOAL_RUNNING;
    }
    char *text = preview(&(shoal_plot_options){ .terminal = true }, lines, 64, &n_lines);
    assert_int_equal(map_rows(lines, n_lines, rows), 24);
    assert_int_equal(strspn(rows[12], " "), 70);
    free(text);
}

static void scratch_name(char *name, size_t size, const char *file)
{
    const char *folder = getenv("TMPDIR");

    snprintf(name, size, "%s/%s", folder ? folder : "/tmp", file);
}

static long number_at(const unsigned char *bytes)
{
    return (long)bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

static void check_png(const char *name)
{
    static const unsigned char signature[8] = { 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n' };
    unsigned char head[24];
    FILE *file = fopen(name, "rb");

    assert_non_null(file);
    assert_int_equal(fread(head, 1, sizeof head, file), sizeof head);
    assert_memory_equal(head, signature, sizeof signature);
    assert_int_equal(number_at(head + 16), 1600);
    assert_int_equal(number_at(head + 20), 1200);
    fseek(file, 0, SEEK_END);
    assert_true(ftell(file) > 10000);
    fclose(file);
}

static void the_picture_is_a_png(void **state)
{
    char name[512];

    (void)state;
    if (shoal_plot_missing()) {
        print_message("%s\n", shoal_plot_missing());
        skip();
    }
    scratch_name(name, sizeof name, "it's a \"map\".png");
    if (shoal_plot_map(context, result, &(shoal_plot_options){ .picture = name }, NULL) != SHOAL_OK) {
        fail_msg("%s", shoal_context_message(context));
    }
    check_png(name);
    unlink(name);
    /* logarithmic axes have their own code */
    for (long system = 0; system < result->n_systems; ++system) {
        result->columns[1].value[system] = pow(10, -3 + 5.0 * (double)(system % N_A) / (N_A - 1));
    }
    result->axes[1].logarithmic = true;
    if (shoal_plot_map(context, result, &(shoal_plot_options){ .picture = name }, NULL) != SHOAL_OK) {
        fail_msg("%s", shoal_context_message(context));
    }
    check_png(name);
    unlink(name);
}

static void a_failing_gnuplot_says_why(void **state)
{
    char folder[512], program[600], name[512];
    char *path = strdup(getenv("PATH"));

    (void)state;
    scratch_name(folder, sizeof folder, "shoal-plot-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(program, sizeof program, "%s/gnuplot", folder);
    scratch_name(name, sizeof name, "none.png");
    unlink(name);
    setenv("PATH", folder, 1);
    assert_non_null(shoal_plot_missing());
    const shoal_status missing = shoal_plot_map(context, result, &(shoal_plot_options){ .picture = name }, NULL);
    assert_int_equal(missing, SHOAL_E_UNSUPPORTED);
    assert_non_null(strstr(shoal_context_message(context), "gnuplot"));

    FILE *file = fopen(program, "w");
    assert_non_null(file);
    fputs("#!/bin/sh\necho 'cannot open fonts' >&2\nexit 1\n", file);
    fclose(file);
    assert_int_equal(chmod(program, 0700), 0);
    const shoal_status failing = shoal_plot_map(context, result, &(shoal_plot_options){ .picture = name }, NULL);
    setenv("PATH", path, 1);
    assert_int_equal(failing, SHOAL_E_UNSUPPORTED);
    assert_non_null(strstr(shoal_context_message(context), "cannot open fonts"));
    assert_int_not_equal(access(name, F_OK), 0);
    unlink(program);
    rmdir(folder);
    free(path);
}

#define MAP_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        MAP_TEST(the_pattern_is_where_it_is),
        MAP_TEST(a_is_horizontal_whatever_the_order_of_the_sweep),
        MAP_TEST(the_last_axis_is_horizontal_if_neither_is_a_size),
        MAP_TEST(a_falling_sweep_grows_to_the_right_all_the_same),
        MAP_TEST(the_preview_fits_the_width),
        MAP_TEST(axes_and_legend_are_named),
        MAP_TEST(the_end_time_is_a_value_not_an_outcome),
        MAP_TEST(what_cannot_be_drawn_is_refused),
        MAP_TEST(a_result_without_any_value_is_drawn),
        MAP_TEST(the_picture_is_a_png),
        MAP_TEST(a_failing_gnuplot_says_why),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
