/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pictures: what is where in the preview of a map, the numbers in the scripts of the other kinds, the pictures'
 * formats, and every way to refuse.
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

#include "core/report/plot.h"
#include "core/report/report.h"
#include "core/study/study.h"

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
    const shoal_axis e = {"saturn.e", N_E, false}, a = {"saturn.a", N_A, false};
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
    char *text = preview(&(shoal_plot_options){.terminal = true}, lines, 64, &n_lines);
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
    char *text = preview(&(shoal_plot_options){.terminal = true}, lines, 64, &n_lines);
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
            double *const arrays[] = {result->t_stop, result->columns[1].value, result->columns[2].value};
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
    static const int widths[] = {0, 60, 80, 120, 200};

    (void)state;
    for (int k = 0; k < SHOAL_COUNT(widths); ++k) {
        const size_t width = widths[k] ? (size_t)widths[k] : 80;
        char *text = preview(&(shoal_plot_options){.terminal = true, .width = widths[k]}, lines, 64, &n_lines);
        for (int i = 0; i < n_lines; ++i) {
            assert_true(strlen(lines[i]) <= width);
        }
        free(text);
        /* in colour: what is printed beside the escapes, the half block being one character */
        const shoal_plot_options coloured = {.terminal = true, .colour = true, .width = widths[k]};
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
    static const char *const words[] = {"sun, jupiter, saturn: 1200 systems over 10000 yr",
                                        "saturn.a [AU]",
                                        "saturn.e",
                                        "log10 |mean_motion_drift|: -8",
                                        "-1",
                                        "e encounter",
                                        "7 ",
                                        "11",
                                        "0.5"};

    (void)state;
    char *text = preview(&(shoal_plot_options){.terminal = true}, lines, 64, &n_lines);
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

/* What a map of 3 x 2 cells of four systems is drawn with: the same values in both rows. */
static void draw_cells(const double values[3][4], unsigned char pixels[18])
{
    shoal_result *cells;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(shoal_result_create(context, 24, 2, 3, &cells), SHOAL_OK);
    strcpy(cells->columns[0].name, "b.e");
    strcpy(cells->columns[1].name, "b.a");
    strcpy(cells->columns[2].name, "sample");
    cells->n_swept = cells->n_axes = 3;
    cells->axes[0] = (shoal_axis){"b.e", 2, false};
    cells->axes[1] = (shoal_axis){"b.a", 3, false};
    cells->axes[2] = (shoal_axis){"sample", 4, false};
    for (long s = 0; s < 24; ++s) {
        cells->t_initial[s] = 0;
        cells->t_stop[s] = values[s / 4 % 3][s % 4];
        cells->outcome[s] = cells->t_stop[s] > 0 ? SHOAL_EJECTED : SHOAL_INVALID;
        cells->columns[0].value[s] = (double)(s / 12);
        cells->columns[1].value[s] = (double)(s / 4 % 3);
        cells->columns[2].value[s] = (double)(s % 4);
    }
    const shoal_plot_options options = {.picture = "map.png", .script = true, .linear = true, .column = "t_stop"};
    assert_int_equal(shoal_plot_map(context, cells, &options, out), SHOAL_OK);
    assert_int_equal(fclose(out), 0);
    assert_true(size > 18);
    memcpy(pixels, text + size - 18, 18);
    free(text);
    shoal_result_destroy(&cells);
}

/* Of an even number of systems in a cell the median lies between the middle two; and those that are invalid have no
 * value, not even 0. */
static void cells_of_several_systems_are_medians(void **state)
{
    (void)state;
    const double given[3][4] = {{1000, 100, 5000, 3000}, {200, 0, 600, 900}, {100, 5000, 100, 5000}};
    const double medians[3][4] = {{2000, 2000, 2000, 2000}, {600, 600, 600, 600}, {100, 5000, 100, 5000}};
    unsigned char pixels[2][18];
    draw_cells(given, pixels[0]);
    draw_cells(medians, pixels[1]);
    assert_memory_equal(pixels[0], pixels[1], 18);
    assert_memory_not_equal(pixels[0], pixels[0] + 3, 3);
}

static void the_end_time_is_a_value_not_an_outcome(void **state)
{
    char *lines[64], *rows[64];
    int n_lines;

    (void)state;
    char *text = preview(&(shoal_plot_options){.terminal = true, .column = "t_stop"}, lines, 64, &n_lines);
    map_rows(lines, n_lines, rows);
    assert_int_equal(rows[1][2], '@');
    assert_int_equal(rows[1][36], '.');
    free(text);
}

/* A cell of one system that ended and four that run on: those live longer than anybody knows. */
static void systems_that_run_on_live_long(void **state)
{
    const long n_systems = result->n_systems;
    char *lines[64], *rows[64];
    int n_lines;

    (void)state;
    for (long s = 0; s < n_systems; ++s) {
        const bool runs = s % 5 != 0;
        result->outcome[s] = runs ? SHOAL_RUNNING : SHOAL_ENCOUNTER;
        result->t_stop[s] = runs ? NAN : 10 + (double)(s % 7);
    }
    result->axes[0] = (shoal_axis){"saturn.e", N_E, false};
    result->axes[1] = (shoal_axis){"saturn.a", N_A / 5, false};
    result->axes[2] = (shoal_axis){"jupiter.m", 5, false};
    result->n_axes = 3;
    char *text = preview(&(shoal_plot_options){.terminal = true, .column = "lifetime"}, lines, 64, &n_lines);
    const int n = map_rows(lines, n_lines, rows);
    for (int i = 0; i < n; ++i) {
        assert_int_equal(rows[i][10], 's');
    }
    bool named = false;
    for (int i = 0; i < n_lines; ++i) {
        named = named || strstr(lines[i], "survived");
    }
    assert_true(named);
    free(text);
    result->n_axes = 2;
    fill(false);
}

/* Cells of values that are not evenly spaced stand side by side, in their order, and are labelled; those of even
 * ones are where they are. */
static void values_stand_where_they_are_said_to(void **state)
{
    static const struct {
        double values[3];
        const char *tics;
    } cases[] = {{{1, 2, 4}, "set xtics ('1' 0, '2' 1, '4' 2)"},
                 {{7, 5, 6}, "set xtics ('7' 0, '5' 1, '6' 2)"},
                 {{1, 2, 3}, NULL}};
    (void)state;
    for (int k = 0; k < SHOAL_COUNT(cases); ++k) {
        shoal_result *small = NULL;
        char *text = NULL;
        size_t size = 0;
        assert_int_equal(shoal_result_create(context, 6, 2, 2, &small), SHOAL_OK);
        strcpy(small->columns[0].name, "b.e");
        strcpy(small->columns[1].name, "b.P");
        small->n_swept = small->n_axes = 2;
        small->axes[0] = (shoal_axis){"b.e", 2, false};
        small->axes[1] = (shoal_axis){"b.P", 3, false};
        for (long s = 0; s < 6; ++s) {
            small->outcome[s] = s == 5 ? SHOAL_SURVIVED : SHOAL_EJECTED;
            small->t_initial[s] = 1000;
            small->t_stop[s] = s == 5 ? 2000 : 1001 + 9 * (double)(s % 3);
            small->columns[0].value[s] = (double)(s / 3);
            small->columns[1].value[s] = cases[k].values[s % 3];
        }
        FILE *out = open_memstream(&text, &size);
        assert_non_null(out);
        assert_int_equal(
            shoal_plot_map(context, small, &(shoal_plot_options){.picture = "map.png", .script = true}, out), SHOAL_OK);
        assert_int_equal(fclose(out), 0);
        assert_true((strstr(text, "set xtics (") != NULL) == (cases[k].tics != NULL));
        assert_true(!cases[k].tics || strstr(text, cases[k].tics));
        assert_non_null(strstr(text, cases[k].tics ? "set xrange [-0.5:2.5]" : "set xrange [0.5:3.5]"));
        assert_non_null(strstr(text, "lifetime"));
        /* log10 of 1 and 19, not of 1001; a survivor's is no lifetime */
        assert_non_null(strstr(text, "set cbrange [0:1.278"));
        assert_non_null(strstr(text, "title 'survived'"));
        assert_null(strstr(text, "title 'ejected'"));
        free(text);
        shoal_result_destroy(&small);
    }
}

/* A cell of several systems has the colour of their median, and the colours span the medians. */
static void colours_span_what_is_drawn(void **state)
{
    shoal_result *small = NULL;
    char *text = NULL;
    size_t size = 0;
    (void)state;
    assert_int_equal(shoal_result_create(context, 12, 2, 4, &small), SHOAL_OK);
    static const char *const names[] = {"b.e", "b.P", "sample", "megno"};
    small->n_swept = small->n_axes = 3;
    for (int c = 0; c < 4; ++c) {
        strcpy(small->columns[c].name, names[c]);
        if (c < 3) {
            small->axes[c] = (shoal_axis){.count = c < 2 ? 2 : 3};
            strcpy(small->axes[c].column, names[c]);
        }
    }
    for (long s = 0; s < 12; ++s) {
        small->outcome[s] = SHOAL_SURVIVED;
        small->columns[0].value[s] = (double)(s / 6);
        small->columns[1].value[s] = (double)(s / 3 % 2);
        small->columns[2].value[s] = (double)(s % 3);
        small->columns[3].value[s] = s % 3 == 1 ? 11 + (double)(s / 3) : s % 3 == 0 ? 5 : 20;
    }
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    const shoal_plot_options options = {.picture = "map.png", .script = true, .column = "megno"};
    assert_int_equal(shoal_plot_map(context, small, &options, out), SHOAL_OK);
    assert_int_equal(fclose(out), 0);
    if (!strstr(text, "set cbrange [1.0413926") || !strstr(text, ":1.1461280")) { /* log10 of 11 and 14 */
        fail_msg("%s", strstr(text, "set cbrange"));
    }
    free(text);
    shoal_result_destroy(&small);
}

static void what_cannot_be_drawn_is_refused(void **state)
{
    shoal_plot_options options = {.terminal = true, .column = "mean_motion_drifft"};
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
    char *text = preview(&(shoal_plot_options){.terminal = true}, lines, 64, &n_lines);
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
    static const unsigned char signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
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
    if (shoal_plot_map(context, result, &(shoal_plot_options){.picture = name}, NULL) != SHOAL_OK) {
        fail_msg("%s", shoal_context_message(context));
    }
    check_png(name);
    unlink(name);
    /* logarithmic axes have their own code */
    for (long system = 0; system < result->n_systems; ++system) {
        result->columns[1].value[system] = pow(10, -3 + 5.0 * (double)(system % N_A) / (N_A - 1));
    }
    result->axes[1].logarithmic = true;
    if (shoal_plot_map(context, result, &(shoal_plot_options){.picture = name}, NULL) != SHOAL_OK) {
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
    const shoal_status missing = shoal_plot_map(context, result, &(shoal_plot_options){.picture = name}, NULL);
    assert_int_equal(missing, SHOAL_E_UNSUPPORTED);
    assert_non_null(strstr(shoal_context_message(context), "gnuplot"));

    FILE *file = fopen(program, "w");
    assert_non_null(file);
    fputs("#!/bin/sh\necho 'cannot open fonts' >&2\nexit 1\n", file);
    fclose(file);
    assert_int_equal(chmod(program, 0700), 0);
    const shoal_status failing = shoal_plot_map(context, result, &(shoal_plot_options){.picture = name}, NULL);
    setenv("PATH", path, 1);
    assert_int_equal(failing, SHOAL_E_UNSUPPORTED);
    assert_non_null(strstr(shoal_context_message(context), "cannot open fonts"));
    assert_int_not_equal(access(name, F_OK), 0);
    unlink(program);
    rmdir(folder);
    free(path);
}

/* ---- the other kinds ------------------------------------------------------------------------------------------- */

#define A     5.2
#define E     0.05
#define INC   0.1
#define DRIFT 1e-6 /* of a from one snapshot to the next */

/* A star, a planet with a of A (1 + k DRIFT), and a body without mass, as a row of states. */
static void write_state(double *state, int k)
{
    const double velocity = result->units.length / result->units.time;
    const shoal_orbit orbit[3] = {{0}, {.a = A * (1 + k * DRIFT), .e = E, .inc = INC, .f = 1 + k}, {.a = 9.5, .f = 2}};
    shoal_body body[3] = {{.m = 1}, {.m = 1e-3}, {.m = 0}};

    assert_int_equal(shoal_bodies_from_orbits(context, SHOAL_JACOBI, 3, orbit, body), SHOAL_OK);
    for (int b = 0; b < 3; ++b) {
        const double row[SHOAL_STATE] = {body[b].m,
                                         body[b].x,
                                         body[b].y,
                                         body[b].z,
                                         body[b].vx / velocity,
                                         body[b].vy / velocity,
                                         body[b].vz / velocity};
        memcpy(state + (size_t)b * SHOAL_STATE, row, sizeof row);
    }
}

/* Units, initial and final states of all systems, three snapshots of systems 0 and 1. */
static int setup_states(void **state)
{
    double row[3 * SHOAL_STATE];

    if (setup(state) != 0 || shoal_units_init(context, "AU", "Msun", "yr", NAN, &result->units) != SHOAL_OK) {
        return -1;
    }
    for (long s = 0; s < result->n_systems; ++s) {
        write_state(result->initial + (size_t)s * 3 * SHOAL_STATE, 0);
        write_state(result->final + (size_t)s * 3 * SHOAL_STATE, 3);
    }
    for (int k = 0; k < 3; ++k) {
        for (int64_t s = 0; s < 2; ++s) {
            const double time = 100.0 * k;
            write_state(row, k);
            if (shoal_result_append(context, result, 1, &s, &time, row) != SHOAL_OK) {
                return -1;
            }
        }
    }
    return 0;
}

/* The script of a kind, malloc'd. */
static char *script_of(const char *kind, int64_t system)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    if (shoal_plot(context, result, &(shoal_plot_options){.kind = kind, .system = system, .script = true}, out) !=
        SHOAL_OK) {
        fail_msg("%s: %s", kind, shoal_context_message(context));
    }
    assert_int_equal(fclose(out), 0);
    return text;
}

/* The numbers of a data block of a script, n_columns each row; returns how many rows. */
static int block_of(const char *script, const char *name, int n_columns, double *numbers, int limit)
{
    char head[64];
    int n = 0;

    snprintf(head, sizeof head, "$%s << EOD\n", name);
    const char *at = strstr(script, head);
    if (!at) {
        fail_msg("there is no $%s", name);
    }
    at += strlen(head);
    while (strncmp(at, "EOD", 3) != 0) {
        char *end;
        assert_true(n < limit);
        numbers[n++] = strtod(at, &end);
        assert_ptr_not_equal(at, end);
        at = end + strspn(end, " \n");
    }
    assert_int_equal(n % n_columns, 0);
    return n / n_columns;
}

static void survival_counts_the_ends(void **state)
{
    double at[64];

    (void)state;
    char *script = script_of("survival", -1);
    /* 300 of 1200 systems have an encounter, 15 at each of 30, 31, ... 49 yr; then the end */
    const int n = block_of(script, "encounter", 2, at, SHOAL_COUNT(at));
    assert_int_equal(n, 22);
    assert_float_equal(at[1], 0, 0);
    for (int i = 0; i < 20; ++i) {
        assert_float_equal(at[2 * (i + 1)], 30 + i, 0);
        assert_float_equal(at[2 * (i + 1) + 1], 15.0 * (i + 1) / 1200, 1e-12);
    }
    assert_float_equal(at[42], 1e4, 0);
    assert_float_equal(at[43], 0.25, 1e-12);
    assert_int_equal(block_of(script, "survived", 2, at, SHOAL_COUNT(at)), 22);
    assert_float_equal(at[1], 1, 0);
    assert_float_equal(at[43], 0.75, 1e-12);
    assert_non_null(strstr(script, "set logscale x")); /* 30 to 1e4 */
    assert_non_null(strstr(script, "'time since the start [yr]'"));
    free(script);
}

static void survival_counts_who_ended_at_once(void **state)
{
    const long n_systems = result->n_systems;
    double at[16];

    (void)state;
    result->n_systems = 6;
    for (int s = 0; s < 6; ++s) {
        result->t_stop[s] = s ? 1e4 : 0;
        result->outcome[s] = s ? SHOAL_SURVIVED : SHOAL_COLLIDED;
    }
    char *script = script_of("survival", -1);
    assert_int_equal(block_of(script, "survived", 2, at, SHOAL_COUNT(at)), 3);
    assert_float_equal(at[3], 5.0 / 6, 1e-15);
    free(script);
    script = script_of("ends", -1);
    assert_int_equal(block_of(script, "collided", 6, at, SHOAL_COUNT(at)), 1);
    assert_float_equal(at[5], 1, 0);
    free(script);
    result->n_systems = n_systems;
}

/* Five systems: ends at 1 and 3, one no longer followed after 2, one alive at 4, one that never started. By hand: S
 * falls to 3/4, then (two are followed at 3) to 3/8. */
static void survival_counts_systems_while_they_are_followed(void **state)
{
    static const double stop[] = {1, NAN, 3, 4, 0};
    static const int outcome[] = {SHOAL_EJECTED, SHOAL_RUNNING, SHOAL_COLLIDED, SHOAL_SURVIVED, SHOAL_INVALID};
    const long n_systems = result->n_systems;
    double at[16];

    (void)state;
    result->n_systems = 5;
    memcpy(result->t_stop, stop, sizeof stop);
    memcpy(result->outcome, outcome, sizeof outcome);
    result->n_snapshots = 0;
    result->t_final[1] = NAN; /* nobody knows how far it is */
    const shoal_plot_options options = {.kind = "survival", .system = -1, .script = true};
    assert_int_equal(shoal_plot(context, result, &options, stdout), SHOAL_E_INPUT);
    assert_non_null(strstr(shoal_context_message(context), "1 systems run on"));
    result->t_final[1] = 2;
    char *script = script_of("survival", -1);
    result->n_systems = n_systems;
    assert_int_equal(block_of(script, "survived", 2, at, SHOAL_COUNT(at)), 4);
    assert_float_equal(at[3], 0.75, 1e-15);
    assert_float_equal(at[5], 0.375, 1e-15);
    assert_float_equal(at[7], 0.375, 1e-15);
    block_of(script, "ejected", 2, at, SHOAL_COUNT(at));
    assert_float_equal(at[3], 0.25, 1e-15);
    const int n = block_of(script, "collided", 2, at, SHOAL_COUNT(at));
    assert_float_equal(at[2 * n - 1], 0.375, 1e-15);
    assert_null(strstr(script, "set logscale x"));
    free(script);
}

/*
 * Seven bodies of four systems, one of which began with one body about the first: one is removed at 1, one merges at 2;
 * an encounter takes none; a system ends at 3, when its body 1 is ejected, and its body 2 is followed until then; the
 * others are there at 4. By hand: S falls by 1/7, by 1/6, and by 1/5 of it.
 */
static void bodies_count_until_they_are_gone(void **state)
{
    static const double stop[] = {4, 4, 3, 4}, left[] = {1, 6. / 7, 5. / 7, 4. / 7, 4. / 7};
    static const int outcome[] = {SHOAL_SURVIVED, SHOAL_SURVIVED, SHOAL_EJECTED, SHOAL_SURVIVED},
                     body[] = {-1, -1, 1, -1};
    static const shoal_event events[] = {
        {.system = 0, .time = 1, .what = SHOAL_EJECTED, .body_a = 2, .body_b = -1},
        {.system = 1, .time = 1, .what = SHOAL_ENCOUNTER, .body_a = 1, .body_b = 2},
        {.system = 1, .time = 2, .what = SHOAL_COLLIDED, .body_a = 1, .body_b = 2},
        {.system = 2, .time = 3, .what = SHOAL_EJECTED, .body_a = 1, .body_b = -1, .ended = 1},
    };
    const long n_systems = result->n_systems;
    double at[16];

    (void)state;
    result->n_systems = 4;
    result->n_live[3] = 2;
    memcpy(result->t_stop, stop, sizeof stop);
    memcpy(result->outcome, outcome, sizeof outcome);
    memcpy(result->body_a, body, sizeof body);
    for (int e = 0; e < SHOAL_COUNT(events); ++e) {
        assert_int_equal(shoal_result_append_event(context, result, &events[e]), SHOAL_OK);
    }
    char *script = script_of("bodies", -1);
    result->n_systems = n_systems;
    result->n_live[3] = 3;
    result->n_events = 0;
    assert_int_equal(block_of(script, "survived", 2, at, SHOAL_COUNT(at)), SHOAL_COUNT(left));
    for (int i = 1; i < SHOAL_COUNT(left); ++i) {
        assert_float_equal(at[2 * i], i, 0);
        assert_float_equal(at[2 * i + 1], left[i], 1e-15);
    }
    int n = block_of(script, "ejected", 2, at, SHOAL_COUNT(at));
    assert_float_equal(at[2 * n - 1], 2. / 7, 1e-15);
    n = block_of(script, "collided", 2, at, SHOAL_COUNT(at));
    assert_float_equal(at[2 * n - 1], 1. / 7, 1e-15);
    assert_null(strstr(script, "$encounter"));
    free(script);
}

static void elements_and_orbits_are_those_of_the_states(void **state)
{
    double at[2000];

    (void)state;
    result->id[1] = 77;
    char *script = script_of("elements", 77);
    assert_int_equal(block_of(script, "b1", 4, at, SHOAL_COUNT(at)), 3);
    for (int k = 0; k < 3; ++k) {
        assert_float_equal(at[4 * k], 100.0 * k, 0);
        assert_float_equal(at[4 * k + 1], A * (1 + k * DRIFT), 1e-12);
        assert_float_equal(at[4 * k + 2], E, 1e-12);
        assert_float_equal(at[4 * k + 3], INC * 180 / M_PI, 1e-10);
    }
    free(script);
    /* the planet at f = 1 from its pericentre on the x axis, then the ellipse from apocentre to apocentre */
    script = script_of("orbits", 77);
    const int n = block_of(script, "initial1", 2, at, SHOAL_COUNT(at));
    const double r = A * (1 - E * E) / (1 + E * cos(1));
    assert_float_equal(at[0], r * cos(1), 1e-11);
    assert_float_equal(at[1], r * sin(1) * cos(INC), 1e-11);
    assert_float_equal(at[2], -A * (1 + E), 1e-11);
    assert_float_equal(at[2 * n - 2], -A * (1 + E), 1e-11);
    free(script);
}

/* Orbits on edge, as of transits, are seen from their pole; one snapshot is points. */
static void orbits_on_edge_are_seen_from_their_pole(void **state)
{
    double at[2000];

    (void)state;
    for (int b = 0; b < 3; ++b) { /* a quarter turn about the line of nodes */
        double *body = result->initial + (3 + b) * SHOAL_STATE;
        for (int q = 1; q < SHOAL_STATE; q += 3) {
            const double y = body[q + 1];
            body[q + 1] = -body[q + 2];
            body[q + 2] = y;
        }
    }
    char *script = script_of("orbits", 1);
    block_of(script, "initial1", 2, at, SHOAL_COUNT(at));
    const double r = A * (1 - E * E) / (1 + E * cos(1));
    assert_float_equal(at[0], r * cos(1), 1e-11);
    assert_float_equal(at[1], r * sin(1), 2e-3 * r); /* the other orbit's pole is near */
    assert_non_null(strstr(script, "along the node"));
    free(script);
    for (long i = 0, n = 0; i < result->n_snapshots; ++i) {
        if (result->snapshot_system[i] == 1 && n++ > 0) {
            result->snapshot_system[i] = 3;
        }
    }
    script = script_of("elements", 1);
    assert_non_null(strstr(script, "with points"));
    free(script);
}

/* Twice the speed of a body: more than it takes to escape. */
static void hasten(double *state, int body)
{
    for (int k = 4; k < SHOAL_STATE; ++k) {
        state[body * SHOAL_STATE + k] *= 2;
    }
}

/* A body that is unbound at one of the times is not passed over: its e and inc are drawn, and the legend says it. */
static void the_unbound_are_drawn_or_named(void **state)
{
    const size_t size = 3 * SHOAL_STATE;
    double at[64];

    (void)state;
    hasten(result->snapshot + 5 * size, 1);
    char *script = script_of("elements", 1);
    assert_int_equal(block_of(script, "b1", 4, at, SHOAL_COUNT(at)), 3);
    assert_float_equal(at[5], A * (1 + DRIFT), 1e-12);
    assert_true(isnan(at[9]) && at[10] > 1);
    assert_float_equal(at[11], INC * 180 / M_PI, 1e-10);
    assert_int_equal(block_of(script, "b2", 4, at, SHOAL_COUNT(at)), 3);
    const char *note = strstr(script, " (unbound)'");
    assert_non_null(note);
    assert_null(strstr(note + 1, " (unbound)'"));
    free(script);
    script = script_of("elements", 0);
    assert_null(strstr(script, "unbound"));
    free(script);
    hasten(result->final + size, 2);
    script = script_of("orbits", 1);
    assert_int_equal(block_of(script, "final2", 2, at, SHOAL_COUNT(at)), 0);
    assert_non_null(strstr(script, " (unbound)'"));
    free(script);
}

/* Nobody is bound: still a picture. */
static void elements_without_an_ellipse_are_a_picture(void **state)
{
    char name[512];

    (void)state;
    if (shoal_plot_missing()) {
        print_message("%s\n", shoal_plot_missing());
        skip();
    }
    for (long i = 0; i < result->n_snapshots * 2; ++i) {
        hasten(result->snapshot + i / 2 * 3 * SHOAL_STATE, 1 + (int)(i % 2));
    }
    scratch_name(name, sizeof name, "kind.png");
    const shoal_plot_options options = {.kind = "elements", .system = 1, .picture = name};
    if (shoal_plot(context, result, &options, NULL) != SHOAL_OK) {
        fail_msg("%s", shoal_context_message(context));
    }
    assert_int_equal(unlink(name), 0);
}

/* E = -m M / 2a. The jump of a body that is still there is not counted yet; test_cli.sh has one that is gone. */
static void the_error_of_the_energy_leaves_out_jumps(void **state)
{
    const shoal_event event = {
        .system = 1, .time = 150, .what = SHOAL_COLLIDED, .body_a = 1, .body_b = 2, .energy_jump = 0.5};
    double at[64];

    (void)state;
    for (int with_jump = 0; with_jump < 2; ++with_jump) {
        assert_int_equal(with_jump ? shoal_result_append_event(context, result, &event) : SHOAL_OK, SHOAL_OK);
        char *script = script_of("energy", 1);
        /* not at the start, where it is zero */
        assert_int_equal(block_of(script, "systems", 2, at, SHOAL_COUNT(at)), 2);
        assert_float_equal(at[0], 100, 0);
        assert_float_equal(at[1], DRIFT / (1 + DRIFT), 1e-14);
        assert_float_equal(at[3], 2 * DRIFT / (1 + 2 * DRIFT), 1e-14);
        free(script);
    }
    char *script = script_of("energy", -1);
    assert_int_equal(block_of(script, "median", 2, at, SHOAL_COUNT(at)), 2);
    assert_float_equal(at[3], 2 * DRIFT / (1 + 2 * DRIFT), 1e-14);
    free(script);
}

/* Bodies without mass have no energy: nothing is drawn, not the least error that there is. Of dates a round one is left
 * out. */
static void an_energy_of_zero_has_no_error(void **state)
{
    const shoal_plot_options options = {.kind = "energy", .system = 1, .script = true};

    (void)state;
    for (long i = 0; i < result->n_snapshots; ++i) {
        result->snapshot_time[i] += 2450000;
    }
    for (long s = 0; s < result->n_systems; ++s) {
        result->t_initial[s] = 2450000;
    }
    char *script = script_of("energy", 1);
    assert_non_null(strstr(script, "'time - 2450100 [yr]'"));
    assert_non_null(strstr(script, "(($1-2450100)/1)"));
    free(script);
    for (int b = 1; b < 3; ++b) {
        for (long i = 0; i < result->n_snapshots; ++i) {
            result->snapshot[(i * 3 + b) * SHOAL_STATE] = 0;
        }
        result->initial[(3 + b) * SHOAL_STATE] = 0;
    }
    assert_int_equal(shoal_plot(context, result, &options, stdout), SHOAL_E_INPUT);
    assert_non_null(strstr(shoal_context_message(context), "the energy starts at 0"));
}

/* Transits of body 1 that come early and late in turns, 10 time units apart. */
static double transit_at(int i)
{
    return 10 * i + (i == 0 || i == 3 ? 0.25 : -0.25);
}

static void add_transit(long system, double time, int body)
{
    shoal_log *log = shoal_result_log(result, "transits");
    if (!log) {
        assert_int_equal(shoal_result_add_log(context, result, "transits", 3, &log), SHOAL_OK);
        strcpy(log->columns[2].name, "body");
    }
    assert_int_equal(shoal_log_reserve(context, log, log->n_rows + 1), SHOAL_OK);
    log->columns[0].value[log->n_rows] = (double)system;
    log->columns[1].value[log->n_rows] = time;
    log->columns[2].value[log->n_rows++] = body;
}

static void add_transits(long system)
{
    for (int i = 0; i < 4; ++i) {
        add_transit(system, transit_at(i), 1);
    }
}

/* Of each ninth system three more runs. Chaos, the step and the propagator decide one each. */
static void add_certify(void)
{
    static const char *const names[] = {"system",         "time",          "outcome",       "n_final",
                                        "outcome_shadow", "outcome_half",  "outcome_other", "n_final_shadow",
                                        "n_final_half",   "n_final_other", "t_stop_shadow", "t_stop_half",
                                        "t_stop_other"};
    shoal_log *log;
    assert_int_equal(shoal_result_add_log(context, result, SHOAL_CERTIFY_LOG, SHOAL_COUNT(names), &log), SHOAL_OK);
    assert_int_equal(shoal_log_reserve(context, log, result->n_systems), SHOAL_OK);
    for (int c = 0; c < log->n_columns; ++c) {
        strcpy(log->columns[c].name, names[c]);
        for (long s = 0, i = 0; s < result->n_systems; s += 9, ++i) {
            log->columns[c].value[i] = c == 0                       ? (double)s
                                       : c == 1 || c > 9            ? result->t_stop[s]
                                       : c > 3 && c < 7 && i == c   ? SHOAL_EJECTED
                                       : c == 2 || (c > 3 && c < 7) ? result->outcome[s]
                                                                    : 3;
            log->n_rows = i + 1;
        }
    }
}

static void certified_systems_are_told_apart(void **state)
{
    double at[2000];

    (void)state;
    add_certify();
    char *script = script_of("certify", -1);
    const shoal_log *log = shoal_result_log(result, SHOAL_CERTIFY_LOG);
    for (int d = 1; d < SHOAL_DECIDERS; ++d) { /* of rows 4, 5, 6 */
        char name[32];
        const long s = (long)shoal_log_values(log, "system")[3 + d];
        snprintf(name, sizeof name, "decider%d", d);
        assert_int_equal(block_of(script, name, 2, at, SHOAL_COUNT(at)), 2); /* the first one is for the key */
        assert_float_equal(at[3], result->columns[0].value[s], 1e-8);
        assert_float_equal(at[2], result->columns[1].value[s], 1e-8);
    }
    assert_int_equal(block_of(script, "decider0", 2, at, SHOAL_COUNT(at)), log->n_rows - 3 + 1);
    free(script);
}

/* O - C in minutes; of other systems' transits nothing is seen, and of two no line is made. */
static void transits_are_compared_with_a_line(void **state)
{
    double at[64];

    (void)state;
    add_transits(1);
    for (int i = 0; i < 4; ++i) {
        add_transit(i < 2 ? 1 : 2, 10 * i, 2);
        add_transit(1, 7 * i, 0); /* of another star */
    }
    char *script = script_of("transits", 1);
    assert_int_equal(block_of(script, "b0", 2, at, SHOAL_COUNT(at)), 4);
    assert_int_equal(block_of(script, "b1", 2, at, SHOAL_COUNT(at)), 4);
    assert_null(strstr(script, "$b2"));
    const double minutes = result->units.time * 525960 / (2 * M_PI) * 365.2568983263281 / 365.25;
    for (int i = 0; i < 4; ++i) {
        assert_float_equal(at[2 * i], transit_at(i), 0);
        assert_float_equal(at[2 * i + 1], (transit_at(i) - 10 * i) * minutes, 1e-6 * minutes);
    }
    free(script);
}

static void ends_are_stacked_and_pairs_are_complete(void **state)
{
    double at[3000], total = 0;

    (void)state;
    for (long s = 0; s < result->n_systems; s += 2) {
        result->outcome[s] = result->outcome[s] == SHOAL_ENCOUNTER ? SHOAL_EJECTED : result->outcome[s];
    }
    char *script = script_of("ends", -1);
    const int n = block_of(script, "encounter", 6, at, SHOAL_COUNT(at));
    for (int i = 0; i < n; ++i) {
        assert_true(at[6 * i + 4] > 0 && at[6 * i + 2] < at[6 * i + 3]); /* upon the ejected */
        total += at[6 * i + 5] - at[6 * i + 4];
    }
    assert_float_equal(total, 150, 0);
    free(script);
    script = script_of("pairs", -1);
    assert_int_equal(block_of(script, "survived", 2, at, SHOAL_COUNT(at)), 900);
    assert_int_equal(block_of(script, "ejected", 2, at, SHOAL_COUNT(at)), 150);
    free(script);
}

static void every_kind_is_a_png_and_a_pdf(void **state)
{
    char name[512], head[5];

    (void)state;
    if (shoal_plot_missing()) {
        print_message("%s\n", shoal_plot_missing());
        skip();
    }
    add_transits(0);
    add_certify();
    for (const shoal_plot_kind *kind = shoal_plot_kinds; kind->name; ++kind) {
        for (int pdf = 0; pdf < 2; ++pdf) {
            scratch_name(name, sizeof name, pdf ? "kind.pdf" : "kind.png");
            const shoal_plot_options options = {.kind = kind->name, .system = -1, .picture = name};
            if (shoal_plot(context, result, &options, NULL) != SHOAL_OK) {
                fail_msg("%s: %s", kind->name, shoal_context_message(context));
            }
            FILE *file = fopen(name, "rb");
            assert_non_null(file);
            assert_int_equal(fread(head, 1, sizeof head, file), sizeof head);
            assert_memory_equal(head, pdf ? "%PDF-" : "\x89PNG\r", sizeof head);
            fseek(file, 0, SEEK_END);
            assert_true(ftell(file) > 3000);
            fclose(file);
            unlink(name);
        }
    }
}

static void refused(const char *kind, int64_t system, shoal_status status, const char *word)
{
    const shoal_plot_options options = {.kind = kind, .system = system, .script = true};
    FILE *out = fopen("/dev/null", "w");

    assert_non_null(out);
    assert_int_equal(shoal_plot(context, result, &options, out), status);
    if (!strstr(shoal_context_message(context), word)) {
        fail_msg("'%s' is not in: %s", word, shoal_context_message(context));
    }
    fclose(out);
}

/* The script of the pairs of some columns, malloc'd; NULL if they are refused: a word of why. */
static char *pairs_of(const char *columns, const char *word)
{
    const shoal_plot_options options = {.kind = "pairs", .system = -1, .script = true, .column = columns};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    const shoal_status status = shoal_plot(context, result, &options, out);
    fclose(out);
    assert_int_equal(status, word ? SHOAL_E_USAGE : SHOAL_OK);
    if (word) {
        if (!strstr(shoal_context_message(context), word)) {
            fail_msg("'%s' is not in: %s", word, shoal_context_message(context));
        }
        free(text);
        text = NULL;
    }
    return text;
}

static void pairs_leave_out_no_column(void **state)
{
    static shoal_column many[17];
    static double values[17][2000];
    const shoal_column *few = result->columns;
    const int n_swept = result->n_swept, n_columns = result->n_columns;
    double at[4000];

    (void)state;
    assert_true(result->n_systems <= 2000);
    for (int c = 0; c < 17; ++c) {
        snprintf(many[c].name, sizeof many[c].name, c == 16 ? "b, the second.a" : "p%d.e", c);
        many[c].value = values[c];
        for (long s = 0; s < result->n_systems; ++s) {
            values[c][s] = c + 1e-4 * (double)s;
        }
    }
    result->columns = many;
    result->n_swept = result->n_columns = 17;
    (void)pairs_of(NULL, "--column NAME,NAME,...: two to 6 of the 17");
    (void)pairs_of("p1.e", "two to 6 columns");
    (void)pairs_of("p1.e,p2.e,p3.e,p4.e,p5.e,p6.e,p7.e", "two to 6 columns");
    (void)pairs_of("p1.e,nonsense", "no column 'nonsense'");
    (void)pairs_of("p1.e,", "no column ''");
    char *script = pairs_of("p15.e,b, the second.a,p1.e", NULL);
    assert_int_equal(block_of(script, "survived", 3, at, SHOAL_COUNT(at)), 900);
    assert_true(floor(at[0]) == 15 && floor(at[1]) == 16 && floor(at[2]) == 1);
    assert_non_null(strstr(script, "'b, the second.a'"));
    free(script);
    result->columns = (shoal_column *)few;
    result->n_swept = n_swept;
    result->n_columns = n_columns;
}

static void an_option_that_a_kind_does_not_use_is_refused(void **state)
{
    static const shoal_plot_options given[] = {
        {.system = 0},
        {.system = -1, .column = "nonsense"},
        {.system = -1, .linear = true},
        {.system = -1, .logarithmic = true},
        {.system = -1, .framed = true},
    };
    static const unsigned use[] = {SHOAL_PLOT_SYSTEM, SHOAL_PLOT_COLUMN, SHOAL_PLOT_SCALE, SHOAL_PLOT_SCALE,
                                   SHOAL_PLOT_FRAME};
    int n_refused = 0;

    (void)state;
    for (const shoal_plot_kind *kind = shoal_plot_kinds; kind->name; ++kind) {
        for (int i = 0; i < SHOAL_COUNT(given); ++i) {
            shoal_plot_options options = given[i];
            options.kind = kind->name;
            options.script = true;
            if (!(kind->uses & use[i]) || use[i] == SHOAL_PLOT_COLUMN) { /* the latter: a column that is not there */
                assert_int_equal(shoal_plot(context, result, &options, NULL), SHOAL_E_USAGE);
                assert_non_null(strstr(shoal_context_message(context),
                                       kind->uses & use[i] ? "no column 'nonsense'" : "does not use it"));
                ++n_refused;
            }
        }
    }
    assert_true(n_refused > 30);
    const shoal_plot_options both = {.kind = "map", .system = -1, .linear = true, .logarithmic = true};
    assert_int_equal(shoal_plot(context, result, &both, NULL), SHOAL_E_USAGE);
}

static void a_kind_without_its_data_is_refused(void **state)
{
    (void)state;
    refused("survivall", -1, SHOAL_E_USAGE, "did you mean: survival");
    refused("elements", 5000, SHOAL_E_USAGE, "no system 5000");
    refused("elements", 2, SHOAL_E_INPUT, "output.interval");
    refused("transits", 2, SHOAL_E_INPUT, "logged three");
    refused("certify", -1, SHOAL_E_INPUT, "run.certify");
    refused("energy", 2, SHOAL_E_INPUT, "output.interval");
    result->n_swept = 1;
    refused("pairs", -1, SHOAL_E_INPUT, "two swept");
    for (int i = 0; i < 3 * SHOAL_STATE; ++i) {
        result->initial[i] = result->final[i] = NAN;
    }
    refused("orbits", -1, SHOAL_E_INPUT, "no bound orbits");
    for (long s = 0; s < result->n_systems; ++s) {
        result->outcome[s] = SHOAL_SURVIVED;
    }
    refused("ends", -1, SHOAL_E_INPUT, "lived on");
    for (long s = 0; s < result->n_systems; ++s) {
        result->t_stop[s] = NAN;
    }
    refused("survival", -1, SHOAL_E_INPUT, "no system of this result has run");
}

#define MAP_TEST(name)    cmocka_unit_test_setup_teardown(name, setup, teardown)
#define STATES_TEST(name) cmocka_unit_test_setup_teardown(name, setup_states, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        MAP_TEST(the_pattern_is_where_it_is),
        MAP_TEST(a_is_horizontal_whatever_the_order_of_the_sweep),
        MAP_TEST(the_last_axis_is_horizontal_if_neither_is_a_size),
        MAP_TEST(a_falling_sweep_grows_to_the_right_all_the_same),
        MAP_TEST(the_preview_fits_the_width),
        MAP_TEST(axes_and_legend_are_named),
        MAP_TEST(systems_that_run_on_live_long),
        MAP_TEST(the_end_time_is_a_value_not_an_outcome),
        MAP_TEST(cells_of_several_systems_are_medians),
        MAP_TEST(values_stand_where_they_are_said_to),
        MAP_TEST(colours_span_what_is_drawn),
        MAP_TEST(what_cannot_be_drawn_is_refused),
        MAP_TEST(a_result_without_any_value_is_drawn),
        MAP_TEST(the_picture_is_a_png),
        MAP_TEST(a_failing_gnuplot_says_why),
        STATES_TEST(survival_counts_the_ends),
        STATES_TEST(survival_counts_who_ended_at_once),
        STATES_TEST(survival_counts_systems_while_they_are_followed),
        STATES_TEST(bodies_count_until_they_are_gone),
        STATES_TEST(elements_and_orbits_are_those_of_the_states),
        STATES_TEST(orbits_on_edge_are_seen_from_their_pole),
        STATES_TEST(the_unbound_are_drawn_or_named),
        STATES_TEST(elements_without_an_ellipse_are_a_picture),
        STATES_TEST(transits_are_compared_with_a_line),
        STATES_TEST(certified_systems_are_told_apart),
        STATES_TEST(an_energy_of_zero_has_no_error),
        STATES_TEST(the_error_of_the_energy_leaves_out_jumps),
        STATES_TEST(ends_are_stacked_and_pairs_are_complete),
        STATES_TEST(pairs_leave_out_no_column),
        STATES_TEST(an_option_that_a_kind_does_not_use_is_refused),
        STATES_TEST(every_kind_is_a_png_and_a_pdf),
        STATES_TEST(a_kind_without_its_data_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
