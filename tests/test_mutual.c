/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_mutual.c: conjunctions of any two bodies as data of a likelihood. Of planets without mass on circles they are
 * zeros of closed forms, with light travel, too; of bodies that disturb each other they are where the states of another
 * plan have no approach; there may be none, or two that have one number; wrong data are refused.
 */
#define _GNU_SOURCE 1
#include <math.h>
#include <unistd.h>

#include "models.h"

enum { MOST_TEXT = 8192, MOST = 64 };
#define PI 3.14159265358979323846

static char folder[] = "/tmp/shoal-mutual-XXXXXX";

/* Times as numbers of the ephemeris t0 = 0, period = 1; what is not a time reads 0. */
static void write_times(const char *path, const char *heading, int n, const double *time)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fprintf(out, "%s\n", heading);
    for (int i = 0; i < n; i++)
        fprintf(out, "%d,%.17g,0.001\n", (int)floor(time[i] + 0.5), strstr(heading, "time") ? time[i] : 0.0);
    fclose(out);
}

static shoal_model *model_with(shoal_context *context, const char *bodies, const char *data, const char *more,
                               const char *integrator, int n_walkers, shoal_study **study)
{
    char text[MOST_TEXT];
    snprintf(text, MOST_TEXT,
             "units = { length = \"AU\"; mass = \"Msun\"; time = \"d\"; };\nangles = \"degrees\";\n"
             "system = { elements = \"jacobi\"; bodies = ( %s ); };\n"
             "integrator = { %s };\nrun = { t_end = 200.0; threads = 1; %s };\n"
             "sample = { count = 1; parameters = ( { body = \"b\"; parameter = \"Omega\"; distribution = \"uniform\"; "
             "from = 0.0; to = 1e-9; } ); };\ndata = ( %s );\n",
             bodies, integrator, more, data);
    return model_of(context, text, n_walkers, study);
}

#define CPU "engine = \"cpu\";"
#define DATA(kind, file, body, of, more)                                                                            \
    "{ name = \"" kind body of more "\"; kind = \"" kind "\"; file = \"" file "\"; body = \"" body "\"; of = \"" of \
    "\"; t0 = 0.0; period = 1.0; " more " }"

/* ---- closed forms ------------------------------------------------------------------------------------------------ */

#define RADIUS_B 0.0005
#define RADIUS_C 0.0008
#define CIRCLES                                                                \
    "{ name = \"star\"; m = 1.0; r = 0.004; }, "                               \
    "{ name = \"b\"; m = 0.0; r = 0.0005; P = 10.0; T0 = 3.0; inc = 89.9; }, " \
    "{ name = \"c\"; m = 0.0; r = 0.0008; P = 23.0; T0 = 7.3; inc = 89.9; }"

/* A body on a circle: x along its line of nodes, y, z towards the observer, and their velocities. */
static void circle(double P, double T0, double t, double s[6])
{
    const double a = cbrt(0.01720209895 * 0.01720209895 * P * P / (4 * PI * PI)), n = 2 * PI / P, f = n * (t - T0),
                 inc = 89.9 * PI / 180, along[6] = {a * sin(f), -a * cos(f), 0, n * a * cos(f), n * a * sin(f), 0};
    for (int v = 0; v < 6; v += 3) {
        s[v] = along[v];
        s[v + 1] = along[v + 1] * cos(inc);
        s[v + 2] = -along[v + 1] * sin(inc);
    }
}

typedef struct seen {
    double g, r, z, height; /* x vx + y vy; distance in the sky; along the line of sight; of b */
} seen;

/* Of b about c at the time t of b. light: 1 / c */
static seen sky_of(double t, double light)
{
    double b[6], c[6], then = t;
    circle(10, 3, t, b);
    for (int round = 0; round < 10; round++) {
        circle(23, 7.3, then, c);
        then = t - light * (b[2] - c[2]);
    }
    const double rate = (1 - light * b[5]) / (1 - light * c[5]), x = b[0] - c[0], y = b[1] - c[1];
    return (seen){x * (b[3] - rate * c[3]) + y * (b[4] - rate * c[4]), hypot(x, y), b[2] - c[2], b[2]};
}

/* The zero of g, or where the distance is `reach`, between two times. */
static double between(double low, double high, double light, double reach)
{
    const bool sign = (reach > 0 ? sky_of(low, light).r - reach : sky_of(low, light).g) > 0;
    for (int round = 0; round < 100; round++) {
        const double t = 0.5 * (low + high);
        if (((reach > 0 ? sky_of(t, light).r - reach : sky_of(t, light).g) > 0) == sign)
            low = t;
        else
            high = t;
    }
    return 0.5 * (low + high);
}

/* The events in -20 .. 120: by the time of b when it is nearest. */
static int find(int behind, double light, double *when)
{
    int n = 0;
    const double step = 0.01;
    for (double t = -20; t < 120; t += step) {
        if (!(sky_of(t, light).g < 0 && sky_of(t + step, light).g >= 0))
            continue;
        const double at = between(t, t + step, light, 0);
        const seen s = sky_of(at, light);
        if (s.r < RADIUS_B + RADIUS_C && (s.z < 0) == behind)
            when[n++] = at;
    }
    assert_true(n >= 3 && n < MOST);
    return n;
}

/* From the first contact to the last of the event at t, as light brings them. */
static double lasting(double t, double light)
{
    const double reach = RADIUS_B + RADIUS_C;
    double seen_at[2];
    for (int side = 0; side < 2; side++) {
        double out = t;
        while (sky_of(out, light).r < reach)
            out += side ? 1e-3 : -1e-3;
        const double at = side ? between(t, out, light, reach) : between(out, t, light, reach);
        seen_at[side] = at - light * sky_of(at, light).height;
    }
    return seen_at[1] - seen_at[0];
}

static void circles_have_closed_forms(void **state)
{
    enum { FRONT, BACK, LIGHT, IMPACT, DURATION, SWAPPED, LATE, KINDS };
    shoal_context *context = context_of(state);
    static const struct {
        const char *text;
        double tolerance;
    } integrators[] = {{"name = \"mvs\"; dt = 0.3;", 1e-8},         {"name = \"mvs_jacobi\"; dt = 0.3;", 1e-8},
                       {"name = \"whckl\"; dt = 0.3;", 1e-8},       {"name = \"hybrid\"; dt = 0.3;", 1e-8},
                       {"name = \"gauss_radau\"; dt = 0.3;", 1e-8}, {"name = \"hermite6\"; dt = 0.02;", 1e-8}};
    /* clang-format off */
    static const char data[] =
        DATA("transit_time", "front.csv", "b", "c", "") ", "
        DATA("occultation_time", "back.csv", "b", "c", "") ", "
        DATA("transit_time", "light.csv", "b", "c", "light_travel = true;") ", "
        DATA("impact_parameter", "impact.csv", "b", "c", "") ", "
        DATA("transit_duration", "duration.csv", "b", "c", "") ", "
        DATA("transit_time", "back.csv", "c", "b", "") ", "
        DATA("transit_duration", "late.csv", "b", "c", "light_travel = true;");
    /* clang-format on */
    static const char *const starts[] = {CPU " t_start = -25.0;", CPU " t_start = 50.0;", CPU " t_start = 130.0;"};
    const double light = 149597870700.0 / 299792458 / 86400;
    double right[KINDS][MOST];
    int n[KINDS], total = 0;
    n[FRONT] = n[IMPACT] = n[DURATION] = find(0, 0, right[FRONT]);
    n[BACK] = n[SWAPPED] = find(1, 0, right[BACK]);
    n[LIGHT] = n[LATE] = find(0, light, right[LIGHT]);
    for (int j = 0; j < n[FRONT]; j++) {
        right[IMPACT][j] = sky_of(right[FRONT][j], 0).r / RADIUS_C;
        right[DURATION][j] = lasting(right[FRONT][j], 0);
    }
    for (int j = 0; j < n[LIGHT]; j++) {
        right[LATE][j] = lasting(right[LIGHT][j], light);
        right[LIGHT][j] -= light * sky_of(right[LIGHT][j], light).height;
    }
    memcpy(right[SWAPPED], right[BACK], sizeof right[BACK]);
    write_times("front.csv", "number,time,error", n[FRONT], right[FRONT]);
    write_times("back.csv", "number,time,error", n[BACK], right[BACK]);
    write_times("light.csv", "number,time,error", n[LIGHT], right[LIGHT]);
    write_times("impact.csv", "number,impact,error", n[FRONT], right[FRONT]);
    write_times("duration.csv", "number,duration,error", n[FRONT], right[FRONT]);
    write_times("late.csv", "number,duration,error", n[LATE], right[LIGHT]);
    for (int q = 0; q < KINDS; q++)
        total += n[q];
    for (int i = 0; i < SHOAL_COUNT(integrators) * SHOAL_COUNT(starts); i++) {
        const char *integrator = integrators[i / SHOAL_COUNT(starts)].text;
        const double theta = 0, tolerance = integrators[i / SHOAL_COUNT(starts)].tolerance;
        double predicted[KINDS * MOST], *at = predicted;
        shoal_study *study;
        shoal_model *model = model_with(context, CIRCLES, data, starts[i % SHOAL_COUNT(starts)], integrator, 1, &study);
        assert_int_equal(shoal_model_n_data(model), total);
        assert_ok(context, shoal_model_predict(model, 1, &theta, predicted));
        for (int q = 0; q < KINDS; at += n[q++])
            for (int j = 0; j < n[q]; j++)
                if (!(fabs(at[j] - right[q][j]) < tolerance * (q == IMPACT                  ? 100
                                                               : q == DURATION || q == LATE ? 10
                                                                                            : 1)))
                    fail_msg("%s %s: kind %d: %.12g, not %.12g: %.2g", integrator, starts[i % SHOAL_COUNT(starts)], q,
                             at[j], right[q][j], at[j] - right[q][j]);
        release(&model, &study);
    }
}

/* ---- bodies that disturb each other ------------------------------------------------------------------------------ */

/* States of two bodies at times, by gauss_radau: [n][2][6] in AU and days. */
static void states_of(shoal_context *context, const shoal_study *study, int i, int j, int n, const double *times,
                      double *states)
{
    enum { WHAT = 12 };
    shoal_observable what[WHAT];
    shoal_plan *plan = NULL;
    shoal_ensemble *ensemble = NULL;
    shoal_options options = study->options;
    shoal_body bodies[4];
    double inner[MOST];
    const double unit = shoal_units_factor(&study->units, "time"), length = shoal_units_factor(&study->units, "length");
    for (int q = 0; q < WHAT; q++)
        what[q] = (shoal_observable){q < 6 ? i : j, q % 6};
    for (int q = 0; q < n; q++)
        inner[q] = times[q] * unit;
    const int n_bodies = study->walkers.n_bodies;
    shoal_ensemble_get_bodies(study->ensemble, 0, bodies);
    options.t_end = 200 * unit;
    assert_ok(context, shoal_ensemble_create(context, 1, n_bodies, &ensemble));
    assert_ok(context, shoal_ensemble_set_bodies(ensemble, 0, n_bodies, bodies));
    assert_ok(context, shoal_plan_create(context, ensemble, &options, &plan));
    assert_ok(context, shoal_plan_observe(plan, n, inner, WHAT, what, states));
    for (int q = 0; q < n * WHAT; q++)
        states[q] *= q % 6 < 3 ? 1 / length : unit / length;
    shoal_plan_destroy(&plan);
    shoal_ensemble_destroy(&ensemble);
}

/* x vx + y vy of one of two bodies about the other. */
static double approach(const double *of)
{
    return (of[0] - of[6]) * (of[3] - of[9]) + (of[1] - of[7]) * (of[4] - of[10]);
}

/* Events between 1 and 199 of body i before body j. */
static int scan(shoal_context *context, const shoal_study *study, int i, int j, double *times)
{
    enum { STEPS = 9900, PART = 50 };
    int n = 0;
    double g_last = 0, z_last = 0, grid[PART], states[PART * 12];
    for (int first = 0; first < STEPS; first += PART) {
        for (int q = 0; q < PART; q++)
            grid[q] = 1 + 0.02 * (first + q);
        states_of(context, study, i, j, PART, grid, states);
        for (int q = 0; q < PART; q++) {
            const double *of = states + 12 * q, g = approach(of), z = of[2] - of[8];
            if (first + q > 0 && g_last < 0 && g >= 0 && z > 0 && z_last > 0)
                times[n++] = grid[q] - 0.02 * g / (g - g_last);
            g_last = g;
            z_last = z;
        }
    }
    return n;
}

#define PLANETS                                                                                                   \
    "{ name = \"star\"; m = 1.0; }, { name = \"b\"; m = 3e-4; P = 20.0; e = 0.05; omega = 40.0; T0 = 7.0; inc = " \
    "89.5; }, "                                                                                                   \
    "{ name = \"c\"; m = 6e-4; P = 41.3; e = 0.08; omega = 200.0; M = 40.0; inc = 89.6; Omega = 3.0; }"
#define BINARY                                                                                                        \
    "{ name = \"A\"; m = 1.0; }, { name = \"B\"; m = 0.4; P = 11.0; e = 0.1; omega = 70.0; T0 = 7.0; inc = 89.5; }, " \
    "{ name = \"b\"; m = 1e-3; P = 80.0; e = 0.03; omega = 20.0; T0 = 20.0; inc = 89.9; }"

static void disturbed_bodies_meet_where_their_states_do(void **state)
{
    shoal_context *context = context_of(state);
    static const struct {
        const char *bodies, *data, *integrator;
        int i, j;
    } cases[] = {{PLANETS, DATA("transit_time", "met.csv", "b", "c", ""), "name = \"gauss_radau\"; dt = 0.5;", 1, 2},
                 {PLANETS, DATA("transit_time", "met.csv", "c", "b", ""), "name = \"whckl\"; dt = 0.05;", 2, 1},
                 {PLANETS, DATA("transit_time", "met.csv", "b", "c", ""), "name = \"hermite6\"; dt = 0.02;", 1, 2},
                 {BINARY, DATA("transit_time", "met.csv", "b", "A", ""), "name = \"gauss_radau\"; dt = 0.3;", 2, 0},
                 {BINARY, DATA("transit_time", "met.csv", "b", "B", ""), "name = \"gauss_radau\"; dt = 0.3;", 2, 1},
                 {BINARY, DATA("transit_time", "met.csv", "A", "B", ""), "name = \"gauss_radau\"; dt = 0.3;", 0, 1}};
    for (int q = 0; q < SHOAL_COUNT(cases); q++) {
        double times[MOST], predicted[MOST], states[36], zero = 0;
        shoal_study *right, *study;
        write_times("met.csv", "number,time,error", 1, &zero);
        (void)model_with(context, cases[q].bodies, cases[q].data, CPU, "name = \"gauss_radau\"; dt = 0.3;", 0, &right);
        const int n = scan(context, right, cases[q].i, cases[q].j, times);
        assert_true(n >= 2 && n < MOST);
        write_times("met.csv", "number,time,error", n, times);
        shoal_model *model = model_with(context, cases[q].bodies, cases[q].data, CPU, cases[q].integrator, 1, &study);
        assert_ok(context, shoal_model_predict(model, 1, &zero, predicted));
        for (int j = 0; j < n; j++)
            if (!(fabs(predicted[j] - times[j]) < 0.02))
                fail_msg("case %d: %.12g, not near %.12g", q, predicted[j], times[j]);
        for (int j = 0; j < n; j++) {
            const double near[] = {predicted[j] - 1e-4, predicted[j], predicted[j] + 1e-4};
            states_of(context, right, cases[q].i, cases[q].j, 3, near, states);
            const double off = 1e-4 * approach(states + 12) / (approach(states + 24) - approach(states)) * 2;
            if (!(fabs(off) < 1e-9))
                fail_msg("case %d: %.12g is %.2g d off", q, predicted[j], off);
        }
        release(&model, &study);
        shoal_study_destroy(&right);
    }
}

/* ---- none, grazing, two ------------------------------------------------------------------------------------------ */

static double likelihood(shoal_context *context, const char *bodies, const char *data, double *predicted)
{
    shoal_study *study;
    const double theta = 0;
    double lnl;
    shoal_model *model = model_with(context, bodies, data, CPU, "name = \"mvs\"; dt = 0.1;", 1, &study);
    assert_ok(context, shoal_model_evaluate(model, 1, &theta, &lnl));
    assert_ok(context, shoal_model_predict(model, 1, &theta, predicted));
    release(&model, &study);
    return lnl;
}

static void what_is_not_there_has_its_term(void **state)
{
    shoal_context *context = context_of(state);
    double when[MOST], predicted;
    (void)find(0, 0, when);
    write_times("one.csv", "number,time,error", 1, when);
    const double full = -log(2 * PI * 1e-6) / 2, distance = sky_of(when[0], 0).r;
    const char *plain = DATA("transit_time", "one.csv", "b", "c", ""),
               *some = DATA("transit_time", "one.csv", "b", "c", "missing = -7.0;"),
               *other = DATA("occultation_time", "one.csv", "b", "c", "missing = -7.0;");
    assert_true(fabs(likelihood(context, CIRCLES, plain, &predicted) - full) < 1e-6);
    assert_true(likelihood(context, CIRCLES, other, &predicted) == -7 && isnan(predicted));
    for (int beyond = 0; beyond < 2; beyond++) { /* grazing: contact where radii add up to the distance */
        char bodies[512];
        snprintf(
            bodies, sizeof bodies,
            "{ name = \"star\"; m = 1.0; }, { name = \"b\"; m = 0.0; r = %.17g; P = 10.0; T0 = 3.0; inc = 89.9; }, "
            "{ name = \"c\"; m = 0.0; r = %.17g; P = 23.0; T0 = 7.3; inc = 89.9; }",
            0.5 * distance, 0.5 * distance * (beyond ? 1 - 1e-6 : 1 + 1e-6));
        assert_true(likelihood(context, bodies, plain, &predicted) == -INFINITY || !beyond);
        const double lnl = likelihood(context, bodies, some, &predicted);
        assert_true(beyond ? lnl == -7 : fabs(lnl - full) < 1e-6);
    }
}

/* Of all that have one number the one nearest to the ephemeris counts, in both directions of time. */
static void the_nearest_of_two_counts(void **state)
{
    shoal_context *context = context_of(state);
    double when[MOST];
    (void)find(0, 0, when);
    for (int j = 0; j < 2; j++)
        for (int start = -25; start < 200; start += 200) {
            char data[512], run[64];
            double predicted, zero = 0;
            shoal_study *study;
            snprintf(data, sizeof data,
                     "{ name = \"t\"; kind = \"transit_time\"; file = \"one.csv\"; body = \"b\"; of = \"c\"; "
                     "columns = [\"time\", \"error\"]; t0 = %.17g; period = 150.0; }",
                     when[j]);
            snprintf(run, sizeof run, CPU " t_start = %d.0;", start);
            write_times("one.csv", "number,time,error", 1, when);
            shoal_model *model = model_with(context, CIRCLES, data, run, "name = \"mvs\"; dt = 0.1;", 1, &study);
            assert_ok(context, shoal_model_predict(model, 1, &zero, &predicted));
            if (!(fabs(predicted - when[j]) < 1e-6))
                fail_msg("%s: %.12g, not %.12g", run, predicted, when[j]);
            release(&model, &study);
        }
}

/* ---- batches, errors, a GPU -------------------------------------------------------------------------------------- */

static void batches_change_no_bits(void **state)
{
    enum { N = 37 };
    shoal_context *context = context_of(state);
    double when[MOST], theta[N], all[N], some[N];
    write_times("front.csv", "number,time,error", find(0, 0, when), when);
    for (int i = 0; i < N; i++)
        theta[i] = 0.004 * i;
    for (int way = 0; way < 3; way++) {
        shoal_study *study;
        shoal_model *model = model_with(context, CIRCLES,
                                        DATA("transit_time", "front.csv", "b", "c", "missing = -7.0; jitter = 0.01;"),
                                        CPU, "name = \"mvs\"; dt = 0.3;", (int[]){N, 1, 11}[way], &study);
        assert_ok(context, shoal_model_evaluate(model, N, theta, way ? some : all));
        if (way)
            assert_memory_equal(some, all, sizeof all);
        release(&model, &study);
    }
    assert_true(isfinite(all[0]) && isfinite(all[N - 1]) && all[0] != all[1]);
}

static void what_is_wrong_is_refused(void **state)
{
    shoal_context *context = context_of(state);
    static const double when = 3;
    write_times("one.csv", "number,time,error", 1, &when);
    static const struct {
        const char *data, *says;
    } cases[] = {{DATA("transit_time", "one.csv", "b", "b", ""), "another body"},
                 {DATA("transit_time", "one.csv", "b", "x", ""), "of"},
                 {"{ name = \"d\"; kind = \"transit_duration\"; file = \"one.csv\"; body = \"b\"; of = \"c\"; "
                  "columns = [\"number\", \"time\", \"error\"]; t0 = 0.0; period = 1.0; }",
                  "a radius of the passed body"},
                 {"{ name = \"v\"; kind = \"velocity\"; file = \"one.csv\"; of = \"c\"; }", "no such key"}};
    for (int i = 0; i < SHOAL_COUNT(cases); i++) {
        shoal_study *study;
        shoal_model *model = NULL;
        (void)model_with(context, PLANETS, cases[i].data, CPU, "name = \"mvs\"; dt = 0.3;", 0, &study);
        if (shoal_model_create(study, 1, &model) != SHOAL_E_INPUT ||
            !strstr(shoal_context_message(context), cases[i].says))
            fail_msg("case %d: %s", i, shoal_context_message(context));
        shoal_study_destroy(&study);
    }
}

static void a_gpu_finds_the_same(void **state)
{
    need_gpu();
    enum { N = 40, DATA_OF_EACH = 3 * MOST };
    shoal_context *context = context_of(state);
    static const char *const integrators[] = {"name = \"mvs\"; dt = 0.3;", "name = \"gauss_radau\"; dt = 0.3;"};
    static const char *const run[] = {CPU, "engine = \"cuda\"; work_model = \"system\";",
                                      "engine = \"cuda\"; work_model = \"body\";",
                                      "engine = \"cuda\"; work_model = \"pair\";"};
    /* clang-format off */
    static const char data[] =
        DATA("transit_time", "front.csv", "b", "c", "missing = -7.0;") ", "
        DATA("occultation_time", "back.csv", "b", "c", "missing = -7.0; light_travel = true;") ", "
        DATA("transit_duration", "late.csv", "b", "c", "missing = -7.0; light_travel = true;");
    /* clang-format on */
    double when[MOST], theta[N];
    write_times("front.csv", "number,time,error", find(0, 0, when), when);
    write_times("late.csv", "number,duration,error", find(0, 0, when), when);
    write_times("back.csv", "number,time,error", find(1, 0, when), when);
    for (int i = 0; i < N; i++)
        theta[i] = 0.004 * i;
    for (int q = 0; q < SHOAL_COUNT(integrators); q++) {
        double lnl[SHOAL_COUNT(run)][N], predicted[SHOAL_COUNT(run)][DATA_OF_EACH * N];
        long n_data = 0;
        for (int gpu = 0; gpu < SHOAL_COUNT(run); gpu++) {
            shoal_study *study;
            shoal_model *model = model_with(context, CIRCLES, data, run[gpu], integrators[q], 33, &study);
            n_data = shoal_model_n_data(model);
            assert_true(n_data > 6 && n_data < DATA_OF_EACH);
            assert_ok(context, shoal_model_evaluate(model, N, theta, lnl[gpu]));
            assert_ok(context, shoal_model_predict(model, N, theta, predicted[gpu]));
            release(&model, &study);
        }
        for (int r = 1; r < SHOAL_COUNT(run); r++) {
            for (int i = 0; i < N; i++)
                if (!(fabs(lnl[r][i] - lnl[0][i]) <= 1e-12 * fabs(lnl[0][i])))
                    fail_msg("%s, %s: walker %d: %.17g, not %.17g", integrators[q], run[r], i, lnl[r][i], lnl[0][i]);
            for (long j = 0; j < n_data * N; j++)
                if (!(fabs(predicted[r][j] - predicted[0][j]) <= 1e-10) &&
                    !(isnan(predicted[r][j]) && isnan(predicted[0][j])))
                    fail_msg("%s, %s: prediction %ld: %.17g, not %.17g", integrators[q], run[r], j, predicted[r][j],
                             predicted[0][j]);
        }
    }
}

/* Two planets without mass on circles seen edge-on, so slow beside each other in the sky at t = 30 that on the straight
 * path a contact would take longer than until they meet again. */
static double slow_passage(double t)
{
    const double P[2] = {5, 13}, T0[2] = {30 - 0.5812116130351528, 30 - 0.7460865422261871};
    double x[2];
    for (int i = 0; i < 2; i++)
        x[i] = cbrt(0.01720209895 * 0.01720209895 * P[i] * P[i] / (4 * PI * PI)) * sin(2 * PI / P[i] * (t - T0[i]));
    return fabs(x[0] - x[1]) - 0.009;
}

static void contacts_are_the_nearest_ones(void **state)
{
    shoal_context *context = context_of(state);
    static const char bodies[] =
        "{ name = \"star\"; m = 1.0; r = 0.004; }, "
        "{ name = \"b\"; m = 0.0; r = 0.004; P = 5.0; T0 = 29.4187883869648472; inc = 90.0; }, "
        "{ name = \"c\"; m = 0.0; r = 0.005; P = 13.0; T0 = 29.2539134577738129; inc = 90.0; }";
    static const char *const integrators[] = {"name = \"mvs\"; dt = 0.2;", "name = \"whckl\"; dt = 0.25;",
                                              "name = \"gauss_radau\"; dt = 0.1;", "name = \"hermite4\"; dt = 0.005;"};
    double duration = 0;
    for (int side = -1; side <= 1; side += 2) {
        double low = 30, high = 30;
        for (; slow_passage(high) < 0; high += 1e-3 * side)
            low = high;
        for (int round = 0; round < 60; round++)
            *(slow_passage(0.5 * (low + high)) < 0 ? &low : &high) = 0.5 * (low + high);
        duration += fabs(high - 30);
    }
    write_times("duration.csv", "number,duration,error", 1, (double[]){30});
    for (int i = 0; i < SHOAL_COUNT(integrators); i++) {
        shoal_study *study;
        shoal_model *model = model_with(context, bodies, DATA("transit_duration", "duration.csv", "c", "b", ""), CPU,
                                        integrators[i], 1, &study);
        const double theta = 0;
        double predicted;
        assert_ok(context, shoal_model_predict(model, 1, &theta, &predicted));
        if (!(fabs(predicted - duration) < 1e-6))
            fail_msg("%s: %.9f, not %.9f", integrators[i], predicted, duration);
        shoal_model_destroy(&model);
        shoal_study_destroy(&study);
    }
}

static int begin(void **state)
{
    return setup(state) || !mkdtemp(folder) || chdir(folder) ? -1 : 0;
}

static int end(void **state)
{
    static const char *const files[] = {"front.csv", "back.csv",     "light.csv", "impact.csv",
                                        "late.csv",  "duration.csv", "met.csv",   "one.csv"};
    for (int i = 0; i < SHOAL_COUNT(files); i++)
        (void)unlink(files[i]);
    return chdir("/") || rmdir(folder) ? -1 : teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(circles_have_closed_forms),      cmocka_unit_test(disturbed_bodies_meet_where_their_states_do),
        cmocka_unit_test(what_is_not_there_has_its_term), cmocka_unit_test(the_nearest_of_two_counts),
        cmocka_unit_test(contacts_are_the_nearest_ones),  cmocka_unit_test(batches_change_no_bits),
        cmocka_unit_test(what_is_wrong_is_refused),       cmocka_unit_test(a_gpu_finds_the_same),
    };
    cmocka_set_test_filter(getenv("SHOAL_TEST_NAME"));
    return cmocka_run_group_tests(tests, begin, end);
}
