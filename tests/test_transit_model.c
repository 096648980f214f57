/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_transit_model.c: transits as data of a likelihood. Of a circular orbit their times, impact parameters and
 * durations are closed forms; of planets that disturb each other they are those that the monitor `transits` logs, for
 * every propagator; they do not depend on the epoch, or on other walkers; their numbers are those of the ephemeris; a
 * transit that is not there has the term that is asked for; wrong data are refused.
 */
#define _GNU_SOURCE 1
#include <math.h>
#include <unistd.h>

#include "models.h"

enum { MOST_TEXT = 8192, MOST_DATA = 64 };
#define PI 3.14159265358979323846

static char folder[] = "/tmp/shoal-transits-XXXXXX";

/* A file of transits: number, value, error. */
static void write_rows(const char *path, const char *heading, int n, const int *number, const double *value)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fprintf(out, "%s\n", heading);
    for (int i = 0; i < n; i++)
        fprintf(out, "%d,%.17g,0.001\n", number[i], value[i]);
    fclose(out);
}

/* planets, data: groups; run: further keys of run; integrator: its group. */
static void text_of(const char *planets, const char *data, const char *run, const char *integrator,
                    char text[MOST_TEXT])
{
    snprintf(text, MOST_TEXT,
             "units = { length = \"AU\"; mass = \"Msun\"; time = \"d\"; };\nangles = \"degrees\";\n"
             "system = { elements = \"astrocentric\"; bodies = ( { name = \"star\"; m = 1.0; r = 0.004; }, %s ); };\n"
             "integrator = { %s };\nrun = { t_end = 500.0; threads = 1; %s };\n"
             "sample = { count = 1; parameters = ( { body = \"b\"; parameter = \"Omega\"; distribution = \"uniform\";"
             " from = 0.0; to = 360.0; } ); };\ndata = ( %s );\n",
             planets, integrator, run, data);
}

/* Another parameter than Omega, whose value in the config goes. */
static void vary(char text[MOST_TEXT], const char *key, const char *value)
{
    char *at = strstr(text, "Omega\""), *written = strstr(text, value);
    assert_true(at && written && strlen(key) <= strlen("Omega"));
    memset(at, ' ', strlen("Omega\";"));
    memcpy(at, key, strlen(key));
    memcpy(at + strlen(key), "\";", 2);
    memset(written, ' ', strlen(value));
    at = strstr(text, "to = 360.0");
    memcpy(at, "to = 0.900", strlen("to = 0.900"));
}

#define CPU "engine = \"cpu\";"
#define DATA(name, kind, file, more) \
    "{ name = \"" name "\"; kind = \"" kind "\"; file = \"" file "\"; body = \"b\"; " more " }"

/* ---- closed forms ------------------------------------------------------------------------------------------------ */

enum { CIRCLES = 5, KINDS = 7 };
static const int number_on_circle[CIRCLES] = {-3, -1, 0, 4, 20};

/* A planet without mass on a circle, with transits at 3 + 10 number: what its data are, by kind. */
static void write_circle(double right[KINDS][CIRCLES])
{
    const double radius = 0.004, r = 0.001, inc = 88.5 * PI / 180, period = 10;
    const double a = cbrt(0.01720209895 * 0.01720209895 * period * period / (4 * PI * PI)); /* AU */
    const double b = a * cos(inc) / radius, chord = sqrt((1 + r / radius) * (1 + r / radius) - b * b),
                 inside = sqrt((1 - r / radius) * (1 - r / radius) - b * b);
    double zero[CIRCLES] = {0};
    for (int j = 0; j < CIRCLES; j++) {
        right[0][j] = 3 + period * number_on_circle[j];
        right[1][j] = right[0][j] + period / 2;
        right[2][j] = b;
        right[3][j] = period / PI * asin(radius / (a * sin(inc)) * chord);
        right[4][j] = right[0][j] - a * sin(inc) * 149597870700.0 / 299792458 / 86400; /* light */
        right[5][j] = right[6][j] = (right[3][j] - period / PI * asin(radius / (a * sin(inc)) * inside)) / 2;
    }
    write_rows("times.csv", "number,time,error", CIRCLES, number_on_circle, right[0]);
    write_rows("late.csv", "number,time,error", CIRCLES, number_on_circle, right[1]);
    write_rows("impacts.csv", "number,impact,error", CIRCLES, number_on_circle, zero);
    write_rows("durations.csv", "number,duration,error", CIRCLES, number_on_circle, zero);
}

static void a_circular_orbit_has_closed_forms(void **state)
{
    shoal_context *context = context_of(state);
    static const struct {
        const char *text;
        double tolerance;
    } integrators[] = {{"name = \"mvs\"; dt = 0.3;", 1e-9},
                       {"name = \"whckl\"; dt = 0.37;", 1e-9},
                       {"name = \"hybrid\"; dt = 0.3;", 1e-9},
                       {"name = \"gauss_radau\"; dt = 0.3;", 1e-9},
                       {"name = \"hermite4_adaptive\"; dt = 0.01;", 1e-4},
                       {"name = \"hermite4\"; dt = 0.01;", 1e-6}, /* many steps from mid-transit to contact */
                       {"name = \"leapfrog\"; dt = 0.001;", 1e-4}};
    /* clang-format off */
    static const char data[] =
        DATA("t", "transit_time", "times.csv", "t0 = 3.0; period = 10.0;") ", "
        DATA("o", "occultation_time", "late.csv", "t0 = 8.0; period = 10.0;") ", "
        DATA("b", "impact_parameter", "impacts.csv", "t0 = 3.0; period = 10.0;") ", "
        DATA("d", "transit_duration", "durations.csv", "t0 = 3.0; period = 10.0;") ", "
        DATA("l", "transit_time", "times.csv", "t0 = 3.0; period = 10.0; light_travel = true;") ", "
        DATA("i", "ingress_duration", "durations.csv", "t0 = 3.0; period = 10.0;") ", "
        DATA("e", "egress_duration", "durations.csv", "t0 = 3.0; period = 10.0;");
    /* clang-format on */
    double right[KINDS][CIRCLES];
    write_circle(right);
    for (int i = 0; i < SHOAL_COUNT(integrators); i++) {
        char text[MOST_TEXT];
        shoal_study *study;
        text_of("{ name = \"b\"; m = 0.0; r = 0.001; P = 10.0; T0 = 3.0; inc = 88.5; }", data, CPU, integrators[i].text,
                text);
        shoal_model *model = model_of(context, text, 1, &study);
        const double theta = 77;
        double predicted[KINDS][CIRCLES], lnl, expected = 0;
        assert_int_equal(shoal_model_n_data(model), KINDS * CIRCLES);
        assert_ok(context, shoal_model_predict(model, 1, &theta, &predicted[0][0]));
        assert_ok(context, shoal_model_evaluate(model, 1, &theta, &lnl));
        for (int q = 0; q < KINDS; q++)
            for (int j = 0; j < CIRCLES; j++) {
                const double value = q == 2 || q == 3 || q > 4 ? 0 : right[q % 4][j],
                             d = (value - predicted[q][j]) / 0.001;
                if (!(fabs(predicted[q][j] - right[q][j]) < integrators[i].tolerance))
                    fail_msg("%s: kind %d, number %d: %.12g, not %.12g", integrators[i].text, q, number_on_circle[j],
                             predicted[q][j], right[q][j]);
                expected -= d * d / 2 + log(2 * PI * 1e-6) / 2;
            }
        assert_true(fabs(lnl - expected) < 1e-10 * fabs(expected));
        release(&model, &study);
    }
}

/* ---- planets that disturb each other ----------------------------------------------------------------------------- */

#define INNER "{ name = \"b\"; m = 3e-4; r = 0.0004; P = 20.0; e = 0.05; omega = 40.0; T0 = 7.0; inc = 89.5; }"
#define OUTER "{ name = \"c\"; m = 6e-4; r = 0.0004; P = 41.3; e = 0.08; omega = 200.0; M = 40.0; inc = 89.6; }"

/* What is promised: times to 1e-8 d, velocities to 1e-5 m/s, places to 1e-3 uas, of planets near a resonance. */
static void predictions_are_those_of_gauss_radau(void **state)
{
    enum { N = 16, SETS = 4 };
    static const char *const integrators[] = {"name = \"gauss_radau\"; dt = 0.5;",
                                              "name = \"saba\"; scheme = \"10,6,4\"; dt = 0.5;",
                                              "name = \"whckl\"; dt = 0.25;"};
    static const double bound[SETS] = {1e-8, 1e-5, 1e-6, 1e-6};
    static const char data[] = DATA(
        "t", "transit_time", "passes.csv",
        "t0 = 7.0; period = 20.0;") ", "
                                    "{ name = \"v\"; kind = \"velocity\"; file = \"seen.csv\"; columns = [\"time\", "
                                    "\"value\", \"error\"]; }, "
                                    "{ name = \"x\"; kind = \"delta_ra\"; body = \"c\"; file = \"seen.csv\"; parallax "
                                    "= 25.0; "
                                    "columns = [\"time\", \"value\", \"error\"]; }, "
                                    "{ name = \"y\"; kind = \"delta_dec\"; body = \"b\"; file = \"seen.csv\"; parallax "
                                    "= 25.0; "
                                    "columns = [\"time\", \"value\", \"error\"]; }";
    shoal_context *context = context_of(state);
    int number[N];
    double times[N], predicted[SHOAL_COUNT(integrators)][SETS][N];
    FILE *out = fopen("seen.csv", "w");
    assert_non_null(out);
    fprintf(out, "time,value,error\n");
    for (int j = 0; j < N; j++) {
        number[j] = j - 5;
        times[j] = 7 + 20 * number[j];
        fprintf(out, "%.17g,0,1\n", -100 + 18.37 * j);
    }
    fclose(out);
    write_rows("passes.csv", "number,time,error", N, number, times);
    for (int i = 0; i < SHOAL_COUNT(integrators); i++) {
        char text[MOST_TEXT];
        shoal_study *study;
        text_of(INNER ", " OUTER, data, CPU, integrators[i], text);
        shoal_model *model = model_of(context, text, 1, &study);
        const double theta = 77;
        assert_int_equal(shoal_model_n_data(model), SETS * N);
        assert_ok(context, shoal_model_predict(model, 1, &theta, &predicted[i][0][0]));
        release(&model, &study);
        for (int q = 0; q < SETS; q++)
            for (int j = 0; j < N; j++)
                if (!(fabs(predicted[i][q][j] - predicted[0][q][j]) < bound[q]))
                    fail_msg("%s: set %d, datum %d: %.15g, not %.15g", integrators[i], q, j, predicted[i][q][j],
                             predicted[0][q][j]);
    }
    unlink("seen.csv");
    unlink("passes.csv");
}

/* Times at which body `of` passes, as the monitor logs them, from the study's own bodies to both sides; n of them. */
static int logged(shoal_context *context, const shoal_study *study, int of, double *times)
{
    int n = 0;
    shoal_body bodies[3];
    shoal_ensemble_get_bodies(study->ensemble, 0, bodies);
    for (int leg = 0; leg < 2; leg++) {
        shoal_ensemble *ensemble = NULL;
        shoal_plan *plan = NULL;
        shoal_options options = study->options;
        static shoal_plug_options monitor = {.name = "transits"};
        const double unit = shoal_units_factor(&study->units, "time");
        options.t_end = (leg ? -170 : 170) * unit;
        options.monitors = &monitor;
        options.n_monitors = 1;
        assert_ok(context, shoal_ensemble_create(context, 1, 3, &ensemble));
        assert_ok(context, shoal_ensemble_set_bodies(ensemble, 0, 3, bodies));
        assert_ok(context, shoal_plan_create(context, ensemble, &options, &plan));
        assert_ok(context, shoal_plan_integrate(plan, options.t_end));
        for (long row = 0; row < shoal_plan_n_logged(plan, "transits"); row++) {
            double values[2];
            assert_ok(context, shoal_plan_get_log(plan, "transits", "time", row, 1, &values[0], 0));
            assert_ok(context, shoal_plan_get_log(plan, "transits", "body", row, 1, &values[1], 0));
            if ((int)values[1] == of)
                times[n++] = values[0] / unit;
        }
        shoal_plan_destroy(&plan);
        shoal_ensemble_destroy(&ensemble);
    }
    return n;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The number by an ephemeris; the transits are disturbed by much less than half a period. */
static int number_of(double time)
{
    return (int)floor((time - 7) / 20.0 + 0.5);
}

static void they_are_what_the_monitor_logs(void **state)
{
    shoal_context *context = context_of(state);
    static const struct {
        const char *integrator;
        double tolerance; /* days: the maps make a part of a step with another error than a whole one */
    } cases[] = {{"name = \"gauss_radau\"; dt = 0.5;", 1e-9},
                 {"name = \"mvs\"; dt = 0.2;", 2e-7},
                 {"name = \"mvs_whds\"; dt = 0.2;", 2e-7},
                 {"name = \"mvs_jacobi\"; dt = 0.2;", 2e-7},
                 {"name = \"mvs_jacobi\"; dt = 0.2; corrector = 11; inverse = \"never\";", 2e-7},
                 {"name = \"whckl\"; dt = 0.2;", 2e-7},
                 {"name = \"hybrid\"; dt = 0.2;", 2e-7},
                 {"name = \"hermite6\"; dt = 0.02;", 2e-8},
                 {"name = \"bulirsch_stoer\"; dt = 0.5;", 1e-7},
                 {"name = \"runge_kutta_adaptive\"; dt = 0.01;", 1e-6}};
    for (int i = 0; i < SHOAL_COUNT(cases); i++) {
        char text[MOST_TEXT];
        double times[MOST_DATA], predicted[MOST_DATA], zero = 0;
        int number[MOST_DATA];
        shoal_study *study = NULL;
        text_of(INNER ", " OUTER, DATA("t", "transit_time", "none.csv", ""), CPU, cases[i].integrator, text);
        static const char *const here[] = {"sample.parameters[0].distribution=\"uniform\"",
                                           "sample.parameters[0].from=0.0", "sample.parameters[0].to=1e-12"};
        assert_ok(context, shoal_study_open(context, "transits.cfg", text, 3, here, NULL, &study));
        const int n = logged(context, study, 1, times);
        shoal_study_destroy(&study);
        qsort(times, (size_t)n, sizeof *times, ascending);
        assert_true(n >= 15);
        for (int j = 0; j < n; j++)
            number[j] = number_of(times[j]);
        write_rows("logged.csv", "number,time,error", n, number, times);
        text_of(INNER ", " OUTER, DATA("t", "transit_time", "logged.csv", "t0 = 7.0; period = 20.0;"), CPU,
                cases[i].integrator, text);
        shoal_model *model = model_of(context, text, 1, &study);
        assert_ok(context, shoal_model_predict(model, 1, &zero, predicted));
        for (int j = 0; j < n; j++)
            if (!(fabs(predicted[j] - times[j]) < cases[i].tolerance))
                fail_msg("%s: number %d: %.12g, not %.12g: %.2g d", cases[i].integrator, number[j], predicted[j],
                         times[j], predicted[j] - times[j]);
        release(&model, &study);
    }
}

/* Walkers of which some have no transits, in batches and threads: the same bits. */
static void neighbours_batches_and_threads_change_no_bits(void **state)
{
    enum { N = 45 };
    shoal_context *context = context_of(state);
    static const int number[] = {-2, 0, 1, 5};
    static const double time[] = {-33, 7, 27, 107};
    char text[MOST_TEXT];
    double theta[N], all[N], some[N];
    write_rows("few.csv", "number,time,error", 4, number, time);
    text_of(INNER ", " OUTER, DATA("t", "transit_time", "few.csv", "jitter = 0.5;"), CPU, "name = \"mvs\"; dt = 0.7;",
            text);
    vary(text, "inc", "inc = 89.5;");
    for (int i = 0; i < N; i++)
        theta[i] = 89.5 + 0.1 * (i - N / 2) * (i % 3);
    for (int way = 0; way < 3; way++) {
        shoal_study *study;
        shoal_model *model = model_of(context, text, way == 0 ? N : way == 1 ? 1 : 11, &study);
        assert_ok(context, shoal_model_evaluate(model, N, theta, way ? some : all));
        if (way)
            assert_memory_equal(some, all, sizeof all);
        release(&model, &study);
    }
    int missing = 0;
    for (int i = 0; i < N; i++)
        missing += isinf(all[i]) != 0;
    assert_true(missing > 5 && missing < N - 10);
}

/* Elements of the same motion at another epoch: ln L is the same. */
static void the_epoch_may_lie_anywhere(void **state)
{
    shoal_context *context = context_of(state);
    static const int number[] = {-2, 0, 1, 3, 5};
    static const double time[] = {-33.1, 7, 26.9, 67.3, 107};
    static const double epochs[] = {0, -60, 6.999, 40, 130};
    char text[MOST_TEXT];
    double first = NAN;
    write_rows("epoch.csv", "number,time,error", 5, number, time);
    text_of(INNER ", " OUTER, DATA("t", "transit_time", "epoch.csv", ""), CPU, "name = \"gauss_radau\"; dt = 0.5;",
            text);
    shoal_study *study = NULL;
    static const char *const here[] = {"sample.parameters[0].to=1e-12"};
    assert_ok(context, shoal_study_open(context, "transits.cfg", text, 1, here, NULL, &study));
    shoal_body bodies[3];
    shoal_ensemble_get_bodies(study->ensemble, 0, bodies);
    const double unit = shoal_units_factor(&study->units, "time");
    for (int i = 0; i < SHOAL_COUNT(epochs); i++) {
        shoal_ensemble *ensemble = NULL;
        shoal_plan *plan = NULL;
        shoal_options options = study->options;
        char planets[1024] = "", run[128], node[64];
        double lnl;
        options.t_end = (epochs[i] == 0 ? 1 : epochs[i]) * unit;
        assert_ok(context, shoal_ensemble_create(context, 1, 3, &ensemble));
        assert_ok(context, shoal_ensemble_set_bodies(ensemble, 0, 3, bodies));
        assert_ok(context, shoal_plan_create(context, ensemble, &options, &plan));
        assert_ok(context, shoal_plan_integrate(plan, epochs[i] * unit));
        shoal_body now[3];
        shoal_orbit orbits[3];
        shoal_ensemble_get_bodies(ensemble, 0, now);
        assert_ok(context, shoal_orbits_from_bodies(context, SHOAL_ASTROCENTRIC, 3, now, orbits));
        snprintf(node, sizeof node, "Omega = %.17g;", orbits[2].Omega * 180 / PI);
        for (int p = 1; p < 3; p++)
            snprintf(planets + strlen(planets), sizeof planets - strlen(planets),
                     "%s{ name = \"%c\"; r = 0.0004; m = %.17g; a = %.17g; e = %.17g; inc = %.17g; omega = %.17g; "
                     "f = %.17g; %s }",
                     p > 1 ? ", " : "", "sbc"[p], now[p].m, orbits[p].a, orbits[p].e, orbits[p].inc * 180 / PI,
                     orbits[p].omega * 180 / PI, orbits[p].f * 180 / PI, p > 1 ? node : "");
        const double theta = orbits[1].Omega * 180 / PI;
        snprintf(run, sizeof run, CPU " t_start = %.17g;", epochs[i]);
        text_of(planets, DATA("t", "transit_time", "epoch.csv", ""), run, "name = \"gauss_radau\"; dt = 0.5;", text);
        shoal_study *other;
        shoal_model *model = model_of(context, text, 1, &other);
        assert_ok(context, shoal_model_evaluate(model, 1, &theta, &lnl));
        first = i ? first : lnl;
        if (!(fabs(lnl - first) <= 1e-9 * fabs(first)))
            fail_msg("epoch %g: ln L = %.15g, not %.15g", epochs[i], lnl, first);
        release(&model, &other);
        shoal_plan_destroy(&plan);
        shoal_ensemble_destroy(&ensemble);
    }
    shoal_study_destroy(&study);
}

/* ---- transits that are not there --------------------------------------------------------------------------------- */

static double likelihood(shoal_context *context, const char *planets, const char *data)
{
    char text[MOST_TEXT];
    shoal_study *study;
    const double theta = 0;
    double lnl;
    text_of(planets, data, CPU, "name = \"mvs\"; dt = 0.3;", text);
    shoal_model *model = model_of(context, text, 1, &study);
    assert_ok(context, shoal_model_evaluate(model, 1, &theta, &lnl));
    release(&model, &study);
    return lnl;
}

#define ECCENTRIC(e) "{ name = \"b\"; m = 0.0; r = 0.001; P = 10.0; e = " e "; omega = 90.0; T0 = 3.0; inc = 90.0; }"
#define PLANET(inc)  "{ name = \"b\"; m = 0.0; r = 0.001; P = 10.0; T0 = 3.0; inc = " inc "; }"

static void a_transit_that_is_not_there_has_its_term(void **state)
{
    shoal_context *context = context_of(state);
    static const int number[] = {0, 3};
    static const double time[] = {3, 33};
    write_rows("two.csv", "number,time,error", 2, number, time);
    const double full = -log(2 * PI * 1e-6); /* two terms without residuals */
    const char *plain = DATA("t", "transit_time", "two.csv", ""),
               *some = DATA("t", "transit_time", "two.csv", "missing = -7.0;");
    assert_true(fabs(likelihood(context, PLANET("90.0"), plain) - full) < 1e-6);
    assert_true(likelihood(context, PLANET("70.0"), plain) == -INFINITY);
    assert_true(likelihood(context, PLANET("70.0"), some) == -14);
    /* contact at cos inc = (0.004 + 0.001) / a: grazing on one side of it */
    const double a = cbrt(0.01720209895 * 0.01720209895 * 100 / (4 * PI * PI)), edge = acos(0.005 / a) * 180 / PI;
    char within[256], beyond[256];
    snprintf(within, sizeof within, PLANET("%.12g"), edge + 1e-6);
    snprintf(beyond, sizeof beyond, PLANET("%.12g"), edge - 1e-6);
    assert_true(fabs(likelihood(context, within, some) - full) < 1e-5 && likelihood(context, beyond, some) == -14);
    /* a system that cannot be has no such term */
    char text[MOST_TEXT];
    shoal_study *study;
    const double theta[] = {0, 1.5};
    double lnl[2];
    text_of("{ name = \"b\"; m = 0.0; r = 0.001; P = 10.0; T0 = 3.0; inc = 70.0; e = 0.0; }", some, CPU,
            "name = \"mvs\"; dt = 0.3;", text);
    vary(text, "e", "e = 0.0;");
    shoal_model *model = model_of(context, text, 2, &study);
    assert_ok(context, shoal_model_evaluate(model, 2, theta, lnl));
    assert_true(lnl[0] == -14 && lnl[1] == -INFINITY);
    release(&model, &study);
}

/* Nearly half a period late or early, at the ends of the data, transits are found. */
static void a_transit_may_be_early_or_late(void **state)
{
    shoal_context *context = context_of(state);
    static const int number[] = {0, 3};
    static const double time[] = {3, 33};
    static const char *const lines[] = {"t0 = -1.9; period = 10.0;", "t0 = 7.9; period = 10.0;"};
    static const char *const integrators[] = {"name = \"mvs_jacobi\"; dt = 1.0;", "name = \"whckl\"; dt = 1.0;",
                                              "name = \"gauss_radau\"; dt = 0.5;",
                                              "name = \"bulirsch_stoer\"; dt = 0.5;"};
    write_rows("two.csv", "number,time,error", 2, number, time);
    for (int i = 0; i < SHOAL_COUNT(integrators); i++)
        for (int late = 0; late < 2; late++)
            for (int start = 0; start <= 40; start += 40) { /* forwards and backwards */
                char text[MOST_TEXT], data[512], run[128];
                shoal_study *study;
                const double theta = 0;
                double predicted[2];
                snprintf(data, sizeof data, DATA("t", "transit_time", "two.csv", "%s"), lines[late]);
                snprintf(run, sizeof run, CPU " t_start = %d.0;", start);
                text_of(PLANET("90.0"), data, run, integrators[i], text);
                shoal_model *model = model_of(context, text, 1, &study);
                assert_ok(context, shoal_model_predict(model, 1, &theta, predicted));
                if (!(fabs(predicted[0] - 3) < 1e-6 && fabs(predicted[1] - 33) < 1e-6))
                    fail_msg("%s, %s: %g and %g", integrators[i], lines[late], predicted[0], predicted[1]);
                release(&model, &study);
            }
}

/* Steps that turn a body by more than a radian at its pericentre may pass two conjunctions. */
static void steps_that_are_too_long_have_no_likelihood(void **state)
{
    shoal_context *context = context_of(state);
    static const int number[] = {0, 3};
    static const double time[] = {3, 33};
    write_rows("two.csv", "number,time,error", 2, number, time);
    const char *some = DATA("t", "transit_time", "two.csv", "missing = -7.0;");
    assert_true(isfinite(likelihood(context, ECCENTRIC("0.5"), some)));
    assert_true(likelihood(context, ECCENTRIC("0.9"), some) == -INFINITY);
}

/* A transit that is up to half of it early or late in a window of the ephemeris that is shorter than a step. */
static void a_window_may_be_shorter_than_a_step(void **state)
{
    shoal_context *context = context_of(state);
    static const char *const integrators[] = {"name = \"mvs_jacobi\"; dt = 0.45;", "name = \"whckl\"; dt = 0.4;",
                                              "name = \"gauss_radau\"; dt = 0.3;",
                                              "name = \"bulirsch_stoer\"; dt = 0.3;"};
    write_rows("few.csv", "number,time,error", 2, (int[]){0, 100}, (double[]){43, 63});
    for (int i = 0; i < SHOAL_COUNT(integrators); i++)
        for (int late = -9; late <= 9; late++) {
            char planet[160], text[MOST_TEXT];
            shoal_study *study;
            const double theta = 77, time = 43 + 0.01 * late;
            double predicted[2];
            snprintf(planet, sizeof planet, "{ name = \"b\"; m = 0.0; r = 0.001; P = 10.0; T0 = %.17g; inc = 90.0; }",
                     time - 40);
            text_of(planet, DATA("t", "transit_time", "few.csv", "t0 = 43.0; period = 0.2;"), CPU, integrators[i],
                    text);
            shoal_model *model = model_of(context, text, 1, &study);
            assert_ok(context, shoal_model_predict(model, 1, &theta, predicted));
            for (int q = 0; q < 2 - (i > 1); q++) /* adaptive steps may end before the last one */
                if (!(fabs(predicted[q] - time - 20 * q) < 1e-7))
                    fail_msg("%s: %.9f, not %.9f", integrators[i], predicted[q], time + 20 * q);
            release(&model, &study);
        }
}

/* Tables of observers give the same as columns: jnkepler's, with the time that it means and the planet's number. */
static void tables_of_observers_are_read(void **state)
{
    shoal_context *context = context_of(state);
    static const int number[] = {0, 3};
    static const double time[] = {3.0003, 32.9997};
    write_rows("two.csv", "number,time,error", 2, number, time);
    FILE *out = fopen("jnkepler.txt", "w");
    assert_non_null(out);
    fprintf(out, "0 3.0003 0.001 0 1\n1 17.1 0.001 0 2\n3 32.9997 0.001 0 1\n");
    fclose(out);
    const double plain = likelihood(context, PLANET("90.0"), DATA("t", "transit_time", "two.csv", "")),
                 table = likelihood(
                     context, PLANET("90.0"),
                     DATA("t", "transit_time", "jnkepler.txt", "format = \"jnkepler\"; time = \"BJD_TDB - 2454833\";"));
    assert_true(isfinite(plain) && plain == table);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static void what_is_wrong_is_refused(void **state)
{
    shoal_context *context = context_of(state);
    static const int number[] = {0, 3};
    static const double time[] = {3, 33};
    write_rows("two.csv", "number,time,error", 2, number, time);
    static const struct {
        const char *data, *says;
    } cases[] = {
        {"{ name = \"t\"; kind = \"transit_time\"; file = \"two.csv\"; }", "a body other than the first one"},
        {DATA("t", "transit_time", "two.csv", "columns = [\"time\", \"error\"];"), "expected t0 and period"},
        {DATA("t", "transit_time", "two.csv", "t0 = 3.0;"), "both t0 and period"},
        {DATA("t", "transit_time", "two.csv", "t0 = 3.0; period = 8.0;"), "transit 3 within half a period"},
        {DATA("t", "transit_time", "two.csv", "unit = \"km/s\";"), "no such key"},
        {DATA("t", "transit_time", "two.csv", "columns = [\"time\"];"), "expected number, time, error, or time, error"},
        {DATA("t", "transit_duration", "two.csv", "columns = [\"time\", \"error\"];"),
         "expected number, duration, error"},
        {DATA("t", "transit_duration", "two.csv", "columns = [\"number\", \"time\", \"error\"];"),
         "expected t0 and period"},
        {DATA("t", "velocity", "two.csv", "columns = [\"time\", \"time\", \"error\"]; period = 3.0;"), "no such key"},
        {DATA("t", "transit_time", "two.csv", "columns = [\"error\", \"time\", \"number\"];"), "an integer"},
        {DATA("t", "transit_time", "two.csv", "") ", " DATA("o", "occultation_time", "two.csv",
                                                            "columns = [\"time\", \"error\"];"),
         "expected t0 and period"}, /* not those of transits */
    };
    for (int i = 0; i < SHOAL_COUNT(cases); i++) {
        char text[MOST_TEXT];
        shoal_study *study = NULL;
        shoal_model *model = NULL;
        text_of(PLANET("90.0"), cases[i].data, CPU, "name = \"mvs\"; dt = 0.3;", text);
        assert_ok(context, shoal_study_open(context, "transits.cfg", text, 0, NULL, NULL, &study));
        if (shoal_model_create(study, 1, &model) != SHOAL_E_INPUT ||
            !strstr(shoal_context_message(context), cases[i].says))
            fail_msg("case %d: %s", i, shoal_context_message(context));
        shoal_study_destroy(&study);
    }
}

/* ---- a GPU ------------------------------------------------------------------------------------------------------- */

static void a_gpu_finds_the_same(void **state)
{
    need_gpu();
    enum { N = 70, MODELS = 4 };
    shoal_context *context = context_of(state);
    static const int number[] = {-2, 0, 1, 5};
    static const double time[] = {-33, 7, 27, 107};
    static const char lazy[] = "name = \"mvs_jacobi\"; dt = 0.7; corrector = 17; inverse = \"never\"; "
                               "kernel = \"lazy\";";
    static const char *const integrators[] = {"name = \"mvs\"; dt = 0.7;",         "name = \"whckl\"; dt = 0.7;",
                                              "name = \"gauss_radau\"; dt = 0.5;", "name = \"hermite4\"; dt = 0.02;",
                                              "name = \"hybrid\"; dt = 0.7;",      lazy};
    static const char *const run[][2] = {{"run.engine=\"cpu\"", "run.work_model=\"auto\""},
                                         {"run.engine=\"cuda\"", "run.work_model=\"system\""},
                                         {"run.engine=\"cuda\"", "run.work_model=\"body\""},
                                         {"run.engine=\"cuda\"", "run.work_model=\"component\""},
                                         {"run.engine=\"cuda\"", "run.work_model=\"pair\""}};
    write_rows("few.csv", "number,time,error", 4, number, time);
    for (int q = 0; q < SHOAL_COUNT(integrators); q++) {
        char text[MOST_TEXT];
        double theta[N], lnl[1 + MODELS][N], predicted[1 + MODELS][8 * N];
        text_of(INNER ", " OUTER,
                DATA("t", "transit_time", "few.csv", "jitter = 0.5;") ", " DATA(
                    "d", "transit_duration", "few.csv",
                    "columns = [\"number\", \"time\", \"error\"]; missing = -3.0; light_travel = true;"),
                "", integrators[q], text);
        for (int i = 0; i < N; i++)
            theta[i] = 5 * i;
        for (int r = 0; r <= MODELS; r++) {
            shoal_study *study = NULL;
            shoal_model *model = NULL;
            assert_ok(context, shoal_study_open(context, "transits.cfg", text, 2, run[r], NULL, &study));
            assert_ok(context, shoal_model_create(study, 33, &model));
            assert_ok(context, shoal_model_evaluate(model, N, theta, lnl[r]));
            assert_ok(context, shoal_model_predict(model, N, theta, predicted[r]));
            release(&model, &study);
        }
        for (int r = 1; r <= MODELS; r++) {
            for (int i = 0; i < N; i++)
                if (!(fabs(lnl[r][i] - lnl[0][i]) <= 1e-12 * fabs(lnl[0][i])))
                    fail_msg("%s, %s: walker %d: %.17g on a GPU, not %.17g", integrators[q], run[r][1], i, lnl[r][i],
                             lnl[0][i]);
            for (int j = 0; j < 8 * N; j++)
                if (!(fabs(predicted[r][j] - predicted[0][j]) <= 1e-10))
                    fail_msg("%s, %s: prediction %d: %.17g on a GPU, not %.17g", integrators[q], run[r][1], j,
                             predicted[r][j], predicted[0][j]);
        }
    }
}

static int begin(void **state)
{
    return setup(state) || !mkdtemp(folder) || chdir(folder) ? -1 : 0;
}

static int end(void **state)
{
    static const char *const files[] = {"times.csv",    "late.csv", "impacts.csv", "durations.csv", "logged.csv",
                                        "jnkepler.txt", "few.csv",  "epoch.csv",   "two.csv"};
    for (int i = 0; i < SHOAL_COUNT(files); i++)
        (void)unlink(files[i]);
    return chdir("/") || rmdir(folder) ? -1 : teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_circular_orbit_has_closed_forms),
        cmocka_unit_test(predictions_are_those_of_gauss_radau),
        cmocka_unit_test(they_are_what_the_monitor_logs),
        cmocka_unit_test(neighbours_batches_and_threads_change_no_bits),
        cmocka_unit_test(the_epoch_may_lie_anywhere),
        cmocka_unit_test(a_transit_that_is_not_there_has_its_term),
        cmocka_unit_test(a_transit_may_be_early_or_late),
        cmocka_unit_test(a_window_may_be_shorter_than_a_step),
        cmocka_unit_test(steps_that_are_too_long_have_no_likelihood),
        cmocka_unit_test(tables_of_observers_are_read),
        cmocka_unit_test(what_is_wrong_is_refused),
        cmocka_unit_test(a_gpu_finds_the_same),
    };
    cmocka_set_test_filter(getenv("SHOAL_TEST_NAME"));
    return cmocka_run_group_tests(tests, begin, end);
}
