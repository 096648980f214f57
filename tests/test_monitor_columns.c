/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_monitor_columns.c: do the monitors' columns say what a run that nobody watches, asked for its state after every
 * step, says?
 *
 * Elements are those of shoal_orbits_from_bodies, which shares nothing with the kernel text; closest approaches are
 * known in closed form on straight lines and on Kepler's orbits, and from finer steps elsewhere.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "systems.h"

#define LANES 1
#include "core/kernel/lane.h"

#define MOST_BODIES 10

#define assert_near(value, expected, tolerance)                                                    \
    do {                                                                                           \
        const double value_ = (value), expected_ = (expected), tolerance_ = (tolerance);           \
        if (!(fabs(value_ - expected_) <= tolerance_))                                             \
            fail_msg("%s = %.17g, expected %.17g +- %.2g", #value, value_, expected_, tolerance_); \
    } while (0)

#define MONITORS(...)                                      \
    .monitors = (const shoal_plug_options[]){__VA_ARGS__}, \
    .n_monitors = SHOAL_COUNT(((const shoal_plug_options[]){__VA_ARGS__}))
#define SETTINGS(...) \
    .settings = (const shoal_setting[]){__VA_ARGS__}, .n_settings = SHOAL_COUNT(((const shoal_setting[]){__VA_ARGS__}))

static double column(const struct motion *motion, const char *name)
{
    return shoal_plan_column(motion->plan, name, 0);
}

/* One system to t_end, watched; end with motion_end. */
static struct motion watch(shoal_context *context, int n, const shoal_body *bodies, const shoal_options *options)
{
    struct motion motion = motion_begin(context, 1, n, NULL, NULL, options, bodies);
    assert_ok(context, shoal_plan_integrate(motion.plan, options->t_end));
    return motion;
}

/* ---- a device that fails ----------------------------------------------------------------------------------------- */

static shoal_status no_download(shoal_engine *engine, int arrays)
{
    (void)engine, (void)arrays;
    return SHOAL_E_DEVICE;
}

static void a_failed_download_is_a_status(void **state)
{
    shoal_context *context = context_of(state);
    const shoal_body bodies[2] = {{.m = 1}, {.m = 1e-3, .x = 1, .vy = 1}};
    const shoal_options options = {
        .propagator = "mvs", .t_end = 1.0, .dt = 0.05, MONITORS({.name = "element_range"}), .engine = "cpu"};
    struct motion motion = watch(context, 2, bodies, &options);
    shoal_engine_type fails = *motion.plan->engine_type;
    fails.download = no_download;
    const shoal_engine_type *works = motion.plan->engine_type;
    double value = 0;
    motion.plan->engine_type = &fails;
    motion.plan->watch_fresh = false;
    assert_int_equal(shoal_plan_get_column(motion.plan, "a_max_1", 0, 1, &value, 0), SHOAL_E_DEVICE);
    motion.plan->engine_type = works;
    assert_ok(context, shoal_plan_get_column(motion.plan, "a_max_1", 0, 1, &value, 0));
    assert_near(value, 1.0, 0.01);
    motion_end(&motion);
}

/* ---- the arc tangent --------------------------------------------------------------------------------------------- */

static void angles_are_right_but_for_the_last_places(void **state)
{
    (void)state;
    double worst = 0;
    for (int i = 0; i < 400000; i++) {
        const double size = ldexp(1.0, i % 120 - 60), x = (uniform(i, 0) - 0.5) * size,
                     y = (uniform(i, 1) - 0.5) / size;
        const long double exact = atan2l((long double)y, (long double)x);
        const double got = lane_atan2(lane_set(y), lane_set(x))[0];
        worst = fmax(worst, (double)fabsl(got - exact) / ldexp(1.0, ilogb((double)exact) - 52));
    }
    print_message("lane_atan2: %.2f units in the last place\n", worst);
    assert_true(worst < 2.5);
    const double axes[][2] = {{0, 1}, {0, -1}, {1, 0}, {-1, 0}, {0, 0}, {-0.0, -1}, {1, 1}, {1, -1}};
    for (int i = 0; i < SHOAL_COUNT(axes); i++)
        assert_near(lane_atan2(lane_set(axes[i][0]), lane_set(axes[i][1]))[0], atan2(axes[i][0], axes[i][1]), EPS);
    assert_true(isnan(lane_atan2(lane_set(NAN), lane_set(1.0))[0]) &&
                isnan(lane_atan2(lane_set(1.0), lane_set(NAN))[0]));
}

/* ---- against dense output ---------------------------------------------------------------------------------------- */

/* What is gathered from the states after every so-many-th step. */
struct gathered {
    double least[MOST_BODIES][3], largest[MOST_BODIES][3]; /* a, e, inc */
    double dE, d_least, d_largest, d_last, d_rate, d_sum, amd, amd_change;
    double angle, angle_least, angle_largest, angle_sum, t_first, t_last;
    double crossed; /* the time of the first look at which orbits cross */
};

static double total_deficit(const shoal_ensemble *ensemble, int n, const shoal_body *bodies, const shoal_orbit *orbit)
{
    double L[3], lambda = 0, mass = bodies[0].m;
    shoal_ensemble_angular_momentum(ensemble, 0, L);
    for (int i = 1; i < n; i++) {
        lambda += bodies[i].m * mass / (mass + bodies[i].m) * sqrt((mass + bodies[i].m) * orbit[i].a);
        mass += bodies[i].m;
    }
    return lambda / sqrt(L[0] * L[0] + L[1] * L[1] + L[2] * L[2]) - 1;
}

/* phi = 2 lambda_1 - 3 lambda_2 + varpi_2 + (2 lambda_3 - 2 varpi_3 if there are three). */
static double angle_of(int n, const shoal_orbit *orbit)
{
    double lambda[4], varpi[4];
    for (int i = 1; i < n; i++) {
        const int sense = cos(orbit[i].inc) < 0 ? -1 : 1;
        varpi[i] = orbit[i].Omega + sense * orbit[i].omega;
        lambda[i] = varpi[i] + sense * orbit[i].M;
    }
    return 2 * lambda[1] - 3 * lambda[2] + varpi[2] + (n > 3 ? 2 * lambda[3] - 2 * varpi[3] : 0);
}

/* long: a motion as motion_begin has it, and where its columns go */
static void gather(shoal_context *context, const char *propagator, shoal_frame frame, int n, const shoal_body *start,
                   double dt, int n_steps, int every, struct gathered *g)
{
    const shoal_options options = {.propagator = propagator, .t_end = n_steps * dt, .dt = dt};
    struct motion motion = motion_begin(context, 1, n, NULL, NULL, &options, start);
    for (int i = 1; i < n; i++)
        for (int q = 0; q < 3; q++) {
            g->least[i][q] = INFINITY;
            g->largest[i][q] = -INFINITY;
        }
    g->dE = g->d_sum = g->amd_change = g->t_last = g->angle_sum = 0;
    g->d_least = g->angle_least = INFINITY;
    g->d_largest = g->angle_largest = -INFINITY;
    g->amd = g->crossed = NAN;
    for (int k = 1; k <= n_steps; k += every) {
        const double t = k * dt;
        shoal_body bodies[MOST_BODIES];
        shoal_orbit orbit[MOST_BODIES], jacobi[MOST_BODIES];
        assert_ok(context, shoal_plan_integrate(motion.plan, t));
        shoal_ensemble_get_bodies(motion.ensemble, 0, bodies);
        assert_ok(context, shoal_orbits_from_bodies(context, frame, n, bodies, orbit));
        assert_ok(context, shoal_orbits_from_bodies(context, SHOAL_JACOBI, n, bodies, jacobi));
        for (int i = 1; i < n; i++) {
            const double values[3] = {orbit[i].a, orbit[i].e, orbit[i].inc};
            for (int q = 0; q < 3; q++) {
                g->least[i][q] = fmin(g->least[i][q], values[q]);
                g->largest[i][q] = fmax(g->largest[i][q], values[q]);
            }
            for (int j = 1; j < n; j++)
                if (orbit[i].a < orbit[j].a && orbit[i].a * (1 + orbit[i].e) > orbit[j].a * (1 - orbit[j].e) &&
                    isnan(g->crossed))
                    g->crossed = t;
        }
        g->dE = fmax(g->dE, fabs(motion_energy_error(&motion, 0)));
        const double d = hypot(hypot(bodies[1].x - bodies[2].x, bodies[1].y - bodies[2].y), bodies[1].z - bodies[2].z);
        g->d_least = fmin(g->d_least, d);
        g->d_largest = fmax(g->d_largest, d);
        const double rate = ((bodies[1].x - bodies[2].x) * (bodies[1].vx - bodies[2].vx) +
                             (bodies[1].y - bodies[2].y) * (bodies[1].vy - bodies[2].vy) +
                             (bodies[1].z - bodies[2].z) * (bodies[1].vz - bodies[2].vz)) /
                            d,
                     passed = t - g->t_last;
        g->d_sum += k == 1 ? 0 : passed * ((g->d_last + d) / 2 + passed * (g->d_rate - rate) / 12);
        g->d_last = d;
        g->d_rate = rate;
        const double deficit = total_deficit(motion.ensemble, n, bodies, jacobi);
        g->amd = k == 1 ? deficit : g->amd;
        g->amd_change = fmax(g->amd_change, fabs(deficit / g->amd - 1));
        const double angle = angle_of(n, orbit), before = g->angle;
        g->angle = k == 1 ? remainder(angle, TWO_PI) : before + remainder(angle - before, TWO_PI);
        g->angle_sum += k == 1 ? 0 : 0.5 * (g->angle + before) * (t - g->t_last);
        g->t_first = k == 1 ? t : g->t_first;
        g->angle_least = fmin(g->angle_least, g->angle);
        g->angle_largest = fmax(g->angle_largest, g->angle);
        g->t_last = t;
    }
    motion_end(&motion);
}

/* Near 3:2, eccentric and inclined; `tilt` turns the orbits over. */
static void resonant_planets(shoal_context *context, int n, double tilt, shoal_body *bodies)
{
    const shoal_orbit orbit[4] = {{0},
                                  {.a = 1.0, .e = 0.05, .inc = 0.03 + tilt, .Omega = 1.0, .omega = 0.5, .f = 0.2},
                                  {.a = 1.31, .e = 0.06, .inc = 0.02 + tilt, .Omega = 2.0, .omega = 2.5, .f = 1.0},
                                  {.a = 3.0, .e = 0.3, .inc = 0.1 + tilt, .Omega = 0.3, .omega = 4.0, .f = 3.0}};
    memset(bodies, 0, (size_t)n * sizeof *bodies);
    bodies[0].m = 1.1;
    for (int i = 1; i < n; i++)
        bodies[i].m = 2e-4 / i;
    assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, n, orbit, bodies));
}

static void columns_are_those_of_dense_output(void **state)
{
    shoal_context *context = context_of(state);
    static const char *const propagators[] = {"mvs", "hermite4", "leapfrog"};
    static const char *const names[3][2] = {{"a_min", "a_max"}, {"e_min", "e_max"}, {"inc_min", "inc_max"}};
    for (int p = 0; p < SHOAL_COUNT(propagators); p++)
        for (int n = 3; n <= 4; n++)
            for (int way = 0; way < 12; way++) {
                const int every = way & 1 ? 7 : 1, n_steps = 3000;
                const char *const elements = way & 2 ? "astrocentric" : "jacobi";
                const double tilts[] = {0, 2.6, PI - 0.15}, tilt = tilts[way / 4], dt = p == 2 ? -0.03 : 0.05;
                shoal_body bodies[MOST_BODIES];
                struct gathered g;
                resonant_planets(context, n, tilt, bodies);
                gather(context, propagators[p], way & 2 ? SHOAL_ASTROCENTRIC : SHOAL_JACOBI, n, bodies, dt, n_steps,
                       every, &g);
                const shoal_setting rate = {.name = "every", .value = every},
                                    frame = {.name = "elements", .choice = elements};
                const shoal_options options = {
                    .propagator = propagators[p],
                    .t_end = n_steps * dt,
                    .dt = dt,
                    MONITORS(
                        {.name = "element_range", SETTINGS(rate, frame)}, {.name = "energy_error", SETTINGS(rate)},
                        {.name = "distance",
                         SETTINGS(rate, {.name = "first", .value = 1}, {.name = "second", .value = 2})},
                        {.name = "amd", SETTINGS(rate)},
                        {.name = "resonant_angle",
                         SETTINGS(rate, frame, {.name = "body_2", .value = 2}, {.name = "p_1", .value = 2},
                                  {.name = "p_2", .value = -3}, {.name = "q_2", .value = 1},
                                  {.name = "p_3", .value = n > 3 ? 2 : 0}, {.name = "q_3", .value = n > 3 ? -2 : 0})})};
                struct motion motion = watch(context, n, bodies, &options);
                for (int i = 1; i < n; i++)
                    for (int q = 0; q < 3; q++) {
                        char least[16], largest[16];
                        snprintf(least, sizeof least, "%s_%d", names[q][0], i);
                        snprintf(largest, sizeof largest, "%s_%d", names[q][1], i);
                        assert_near(column(&motion, least), g.least[i][q], 1e-12);
                        assert_near(column(&motion, largest), g.largest[i][q], 1e-12);
                        assert_true(g.largest[i][q] > g.least[i][q]);
                    }
                assert_near(column(&motion, "dE_max"), g.dE, 1e-14);
                assert_true(g.dE > 1e-9 || p == 1);
                assert_near(column(&motion, "distance_min"), g.d_least, 1e-12);
                assert_near(column(&motion, "distance_max"), g.d_largest, 1e-12);
                assert_near(column(&motion, "distance_mean"), g.d_sum / (g.t_last - g.t_first), 1e-12);
                assert_near(column(&motion, "amd") / g.amd, 1.0, 1e-10);
                assert_near(column(&motion, "amd_change"), g.amd_change, 1e-10);
                const double amplitude = 0.5 * (g.angle_largest - g.angle_least);
                assert_near(column(&motion, "angle_amplitude"), amplitude, 1e-9 * (1 + amplitude));
                motion_end(&motion);
            }
}

/* An angle that librates, and one that circulates, of planets in 3:2. Mean and range are those of dense output. */
static void a_librating_angle_has_a_mean(void **state)
{
    shoal_context *context = context_of(state);
    const shoal_orbit orbit[3] = {{0}, {.a = 1.0, .e = 0.02}, {.a = 1.3104, .e = 0.03, .omega = PI, .f = PI}};
    shoal_body bodies[3] = {{.m = 1.0}, {.m = 1e-4}, {.m = 1e-4}};
    assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, 3, orbit, bodies));
    struct gathered g;
    const double dt = 0.05;
    gather(context, "mvs", SHOAL_JACOBI, 3, bodies, dt, 20000, 1, &g);
    const double amplitude = 0.5 * (g.angle_largest - g.angle_least), mean = g.angle_sum / (g.t_last - g.t_first);
    print_message("2 lambda_1 - 3 lambda_2 + varpi_2: %.3f +- %.3f\n", mean, amplitude);
    assert_true(amplitude > 0.05 && amplitude < 3.0);
    for (int librates = 0; librates < 2; librates++) {
        const shoal_options options = {
            .propagator = "mvs",
            .t_end = 20000 * dt,
            .dt = dt,
            MONITORS({.name = "resonant_angle",
                      SETTINGS({.name = "p_1", .value = librates ? 2 : 1}, {.name = "p_2", .value = librates ? -3 : -2},
                               {.name = "q_2", .value = 1})})};
        struct motion motion = watch(context, 3, bodies, &options);
        if (librates) {
            const double turn = TWO_PI * floor(mean / TWO_PI);
            assert_near(column(&motion, "angle_mean"), mean - turn, 1e-9);
            assert_near(column(&motion, "angle_min"), g.angle_least - turn, 1e-9);
            assert_near(column(&motion, "angle_max"), g.angle_largest - turn, 1e-9);
            assert_near(column(&motion, "angle_amplitude"), amplitude, 1e-9);
        } else {
            assert_true(column(&motion, "angle_amplitude") > 10 && isnan(column(&motion, "angle_mean")));
        }
        motion_end(&motion);
    }
}

/* Of an ellipse, with steps that follow the motion: a (1 + e^2 / 2). */
static void a_mean_distance_is_over_time(void **state)
{
    shoal_context *context = context_of(state);
    static const char *const names[] = {"gauss_radau", "bulirsch_stoer", "runge_kutta_adaptive", "hermite4_adaptive"};
    for (int p = 0; p < SHOAL_COUNT(names); p++)
        for (int every = 1; every <= 2; every++) {
            const shoal_orbit orbit[2] = {{0}, {.a = 1.0, .e = 0.5}};
            shoal_body bodies[2] = {{.m = 1.0}, {.m = 0.0}};
            assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, 2, orbit, bodies));
            const shoal_options options = {.propagator = names[p],
                                           .t_end = 200 * TWO_PI,
                                           .dt = 0.01,
                                           MONITORS({.name = "distance", SETTINGS({.name = "every", .value = every})})};
            struct motion motion = watch(context, 2, bodies, &options);
            print_message("%-20s every %d: %.5f\n", names[p], every, column(&motion, "distance_mean"));
            assert_near(column(&motion, "distance_mean"), 1.125, 2e-4);
            motion_end(&motion);
        }
    /* looks that are far apart: between the least and the largest all the same */
    for (int every = 20; every <= 200; every *= 10) {
        const shoal_orbit orbit[3] = {{0}, {.a = 1.0, .e = 0.3}, {.a = 5.2}};
        shoal_body bodies[3] = {{.m = 1.0}, {.m = 1e-6}, {.m = 1e-6}};
        assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, 3, orbit, bodies));
        const shoal_options options = {
            .propagator = "mvs",
            .t_end = 20 * TWO_PI,
            .dt = 0.05 * TWO_PI,
            MONITORS({.name = "distance", SETTINGS({.name = "every", .value = every}, {.name = "first", .value = 1})})};
        struct motion motion = watch(context, 3, bodies, &options);
        const double mean = column(&motion, "distance_mean");
        assert_true(mean > column(&motion, "distance_min") && mean < column(&motion, "distance_max"));
        motion_end(&motion);
    }
}

/* Of an ellipse with e = 0.7 and steps of one length, few of which are near the pericentre. */
static void equal_looks_have_the_right_mean(void **state)
{
    shoal_context *context = context_of(state);
    const shoal_orbit orbit[2] = {{0}, {.a = 1.0, .e = 0.7}};
    shoal_body bodies[2] = {{.m = 1.0}, {.m = 0.0}};
    assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, 2, orbit, bodies));
    const shoal_options options = {
        .propagator = "mvs", .t_end = 6061 * TWO_PI / 30.3, .dt = TWO_PI / 30.3, MONITORS({.name = "distance"})};
    struct motion motion = watch(context, 2, bodies, &options);
    assert_near(column(&motion, "distance_mean"), 1.245, 5e-6);
    motion_end(&motion);
}

/* Angles of bodies one of which has merged, and those seen once, tell of no libration. */
static void an_angle_of_what_is_gone_is_none(void **state)
{
    shoal_context *context = context_of(state);
    for (int merges = 0; merges < 2; merges++) {
        const shoal_orbit orbit[4] = {{0}, {.a = 1.0}, {.a = 1.1}, {.a = 2.0}};
        shoal_body bodies[4] = {{.m = 1.0}, {.m = 1e-5, .r = 0.02}, {.m = 1e-3, .r = 0.02}, {.m = 1e-4}};
        assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, 4, orbit, bodies));
        bodies[2].vx -= merges ? 0.3 : 0;
        const shoal_options options = {
            .propagator = "hermite4",
            .t_end = 3.0,
            .dt = 0.002,
            MONITORS({.name = "stop_on_collision", SETTINGS({.name = "action", .choice = "merge"})},
                     {.name = "resonant_angle",
                      SETTINGS({.name = "p_1", .value = 1}, {.name = "p_2", .value = -1},
                               {.name = "body_2", .value = 2}, {.name = "every", .value = merges ? 1 : 1e6})})};
        struct motion motion = watch(context, 4, bodies, &options);
        shoal_system record;
        shoal_ensemble_get_system(motion.ensemble, 0, &record);
        assert_int_equal(record.n_left, merges ? 3 : 4);
        assert_true(isnan(column(&motion, "angle_amplitude")) && isnan(column(&motion, "angle_mean")) &&
                    isnan(column(&motion, "angle_min")) && isnan(column(&motion, "angle_max")));
        motion_end(&motion);
    }
}

/* Circles have a deficit of roundings, and a fall into the star no plane. */
static void what_is_not_there_has_no_number(void **state)
{
    shoal_context *context = context_of(state);
    shoal_body circle[2] = {{.m = 1.0}, {.m = 1e-3, .x = 1.0, .vy = sqrt(1.001)}},
               fall[2] = {{.m = 1.0}, {.m = 0.0, .x = 3.0, .vx = 0.2}};
    const shoal_options options = {
        .propagator = "gauss_radau",
        .t_end = 2.0,
        .dt = 0.1,
        MONITORS({.name = "amd", SETTINGS({.name = "every", .value = 1})}, {.name = "element_range"})};
    struct motion motion = watch(context, 2, circle, &options);
    assert_near(column(&motion, "amd"), 0, 1e-14);
    assert_true(column(&motion, "amd") >= 0 && isnan(column(&motion, "amd_change")));
    motion_end(&motion);
    motion = watch(context, 2, fall, &options);
    assert_near(column(&motion, "e_max_1"), 1, 1e-12);
    assert_true(isnan(column(&motion, "inc_min_1")) && isnan(column(&motion, "inc_max_1")));
    motion_end(&motion);
}

/* ---- closest approaches ------------------------------------------------------------------------------------------ */

/* A star of no weight, far off, and pairs of bodies that fly straight past each other; pair k meets at time when +
 * k, at distance miss / (1 + k). */
static void straight_pairs(int n_pairs, double when, double miss, shoal_body *bodies)
{
    memset(bodies, 0, (size_t)(2 * n_pairs + 1) * sizeof *bodies);
    bodies[0].m = 1e-20;
    bodies[0].z = -1e3;
    for (int k = 0; k < n_pairs; k++) {
        bodies[2 * k + 1] = (shoal_body){.x = 0.5 * (when + k), .y = 100.0 * k, .vx = -0.5};
        bodies[2 * k + 2] = (shoal_body){.x = -0.5 * (when + k), .y = 100.0 * k + miss / (1 + k), .vx = 0.5};
    }
}

static void straight_lines_are_closest_at_their_moment(void **state)
{
    static const char *const names[] = {"mvs", "hermite4", "leapfrog"};
    static const double steps[] = {0.01, 1.0, 7.0};
    shoal_context *context = context_of(state);
    for (int p = 0; p < SHOAL_COUNT(names); p++)
        for (int s = 0; s < SHOAL_COUNT(steps); s++)
            for (int way = 0; way < 12; way++) {
                const int sign = way & 1 ? -1 : 1, n_pairs = way & 2 ? 4 : 2; /* 9 bodies: one record of all */
                const double when = sign * (14.0 + 0.17 * way * steps[s]), miss = 0.003, t_start = 0.25 * way;
                const shoal_options options = {.propagator = names[p],
                                               .t_end = t_start + 42.0 * sign,
                                               .dt = steps[s],
                                               MONITORS({.name = "closest_approach"})};
                shoal_body bodies[MOST_BODIES];
                straight_pairs(n_pairs, when, miss, bodies);
                struct motion motion = motion_begin(context, 1, 2 * n_pairs + 1, &t_start, NULL, &options, bodies);
                assert_ok(context, shoal_plan_integrate(motion.plan, options.t_end));
                for (int k = 0; k < n_pairs; k++) {
                    char name[2][40];
                    const bool all = k == n_pairs - 1;
                    snprintf(name[0], sizeof name[0], "closest_%d_%d", 2 * k + 1, 2 * k + 2);
                    snprintf(name[1], sizeof name[1], "closest_time_%d_%d", 2 * k + 1, 2 * k + 2);
                    if (n_pairs == 2) {
                        assert_near(column(&motion, name[0]), miss / (1 + k), 1e-9);
                        assert_near(column(&motion, name[1]), t_start + when + k, 1e-6 * steps[s]);
                    } else {
                        assert_true(isnan(column(&motion, name[0]))); /* there is no such column */
                    }
                    if (all) {
                        assert_near(column(&motion, "min_separation"), miss / (1 + k), 1e-9);
                        assert_near(column(&motion, "min_separation_time"), t_start + when + k, 1e-6 * steps[s]);
                        assert_true(column(&motion, "min_separation_body_a") == 2 * k + 1);
                        assert_true(column(&motion, "min_separation_body_b") == 2 * k + 2);
                        assert_true(isnan(column(&motion, "min_separation_hill"))); /* without masses */
                    }
                }
                assert_true(isnan(column(&motion, "closest_0_1"))); /* not asked for */
                motion_end(&motion);
            }
}

/* Where collisions are watched, bodies are closest when they touch, also if they fly on until the step ends, and merge
 * then. */
static void bodies_come_no_nearer_than_they_touch(void **state)
{
    static const char *const names[] = {"hermite4", "mvs", "hybrid"};
    shoal_context *context = context_of(state);
    for (int p = 0; p < SHOAL_COUNT(names); p++)
        for (int way = 0; way < 8; way++) {
            const int sign = way & 1 ? -1 : 1;
            const double when = 14.0 + 0.3 * way, reach = 0.2, miss = 0.12;
            const shoal_options options = {
                .propagator = names[p],
                .t_end = 30.0 * sign,
                .dt = way & 2 ? 0.03 : 1.0,
                MONITORS(
                    {.name = "closest_approach"},
                    {.name = "stop_on_collision", SETTINGS({.name = "action", .choice = way & 4 ? "merge" : "stop"})})};
            shoal_body bodies[3];
            straight_pairs(1, sign * when, miss, bodies);
            bodies[0].m = 1.0;
            bodies[0].z = -1e9;
            bodies[1].r = bodies[2].r = reach / 2;
            bodies[1].m = bodies[2].m = 1e-30;
            struct motion motion = watch(context, 3, bodies, &options);
            assert_near(column(&motion, "closest_1_2"), reach, 1e-12);
            assert_near(column(&motion, "closest_time_1_2"), sign * (when - sqrt(reach * reach - miss * miss)), 1e-6);
            motion_end(&motion);
        }
}

/* Pairs that part from the start are closest there; a pericentre within a step is that of the orbit, whatever the
 * step. */
static void the_central_pair_is_closest_at_pericentre(void **state)
{
    shoal_context *context = context_of(state);
    static const double eccentricities[] = {0.1, 0.9, 0.999};
    for (int i = 0; i < SHOAL_COUNT(eccentricities); i++)
        for (int phase = 0; phase < 8; phase++) {
            const double e = eccentricities[i], M = 0.4 + 0.7 * phase, pass = TWO_PI - M;
            const shoal_orbit orbit[2] = {{0},
                                          {.a = 1.0, .e = e, .inc = 1.0, .Omega = 0.3, .f = shoal_true_anomaly(e, M)}};
            shoal_body bodies[2] = {{.m = 1.0}, {.m = 1e-15}};
            assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, 2, orbit, bodies));
            const shoal_options options = {
                .propagator = "mvs",
                .t_end = 6.5,
                .dt = TWO_PI / 19,
                MONITORS({.name = "closest_approach", SETTINGS({.name = "central", .value = 1})})};
            struct motion motion = watch(context, 2, bodies, &options);
            assert_near(column(&motion, "min_separation"), 1 - e, 1e-10);
            assert_near(column(&motion, "closest_0_1"), 1 - e, 1e-10);
            assert_near(column(&motion, "min_separation_time"), pass, options.dt);
            assert_true(isnan(column(&motion, "min_separation_hill")));
            motion_end(&motion);
        }
}

/* Where another body than body 0 rules the motion, least distances are no pericentres: of a planet of two stars, of a
 * planet of the companion, of a moon. */
static void others_have_no_pericentre_about_body_0(void **state)
{
    shoal_context *context = context_of(state);
    static const struct {
        double m[2];
        shoal_orbit orbit[2];
        bool moon; /* the last body's orbit is about body 1 */
        double t_end;
    } rows[] = {{{1.0, 1e-9}, {{.a = 1.0}, {.a = 5.0, .f = 1.0}}, false, 100.0},
                {{1.02, 3e-4}, {{.a = 0.2288, .e = 0.52}, {.a = 1.0896, .e = 0.18, .f = 1.0}}, false, 20.0},
                {{1.0, 1e-6}, {{.a = 1.0}, {.a = 10.0}}, false, 150.0},
                {{1.0, 1e-6}, {{.a = 20.0}, {.a = 1.0}}, true, 80.0},
                {{1e-3, 2.5e-8}, {{.a = 5.2, .e = 0.05}, {.a = 0.0045}}, true, 80.0}};
    static const struct {
        const char *name;
        double step; /* of the shortest period */
    } ways[] = {{"hermite4", 0.004}, {"gauss_radau", 0}, {"bulirsch_stoer", 0}, {"gauss", 0.02}};
    for (int row = 0; row < SHOAL_COUNT(rows); row++) {
        double finest = NAN;
        for (int p = 0; p < SHOAL_COUNT(ways); p++) {
            const shoal_orbit of_stars[2] = {{0}, rows[row].orbit[0]}, of_moon[2] = {{0}, rows[row].orbit[1]},
                              all[3] = {{0}, rows[row].orbit[0], rows[row].orbit[1]};
            shoal_body bodies[3] = {{.m = 1.0}, {.m = rows[row].m[0]}, {.m = rows[row].m[1]}};
            if (rows[row].moon) {
                shoal_body pair[2] = {{.m = rows[row].m[0]}, {.m = rows[row].m[1]}};
                assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, 2, of_stars, bodies));
                assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, 2, of_moon, pair));
                for (int c = 0; c < 6; c++)
                    (&bodies[2].x)[c] = (&bodies[1].x)[c] + (&pair[1].x)[c] - (&pair[0].x)[c];
            } else {
                assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, 3, all, bodies));
            }
            const shoal_orbit *fast = &rows[row].orbit[rows[row].moon];
            const double mass = rows[row].m[0] + (rows[row].moon ? 0 : 1),
                         period = TWO_PI * sqrt(fast->a * fast->a * fast->a / mass);
            const shoal_options options = {
                .propagator = ways[p].name,
                .t_end = rows[row].t_end,
                .dt = ways[p].step > 0 ? ways[p].step * period : 0.01 * period,
                MONITORS({.name = "closest_approach", SETTINGS({.name = "central", .value = 1})},
                         {.name = "distance", SETTINGS({.name = "second", .value = 2})})};
            struct motion motion = watch(context, 3, bodies, &options);
            const double closest = column(&motion, "closest_0_2"), least = column(&motion, "distance_min");
            print_message("%d %-15s %.6f, at steps %.6f\n", row, ways[p].name, closest, least);
            finest = p == 0 ? closest : finest;
            assert_near(closest / finest, 1, 2e-5);
            assert_true(closest <= least * (1 + 1e-12) && closest > 0.996 * least);
            motion_end(&motion);
        }
    }
}

/* Long steps against the distance at the ends of steps twenty times shorter; the Hill radius against its definition. */
static void curved_orbits_are_closest_where_a_fine_integration_has_them(void **state)
{
    shoal_context *context = context_of(state);
    for (int phase = 0; phase < 12; phase++) {
        const shoal_orbit orbit[3] = {
            {.a = 0}, {.a = 1.0, .e = 0.1, .f = 0.5 * phase}, {.a = 1.2, .e = 0.1, .omega = 1.0, .inc = 0.1}};
        shoal_body bodies[3] = {{.m = 1.0}, {.m = 1e-7}, {.m = 3e-7}};
        assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_ASTROCENTRIC, 3, orbit, bodies));
        const double t_end = 40.0;
        const shoal_options options = {
            .propagator = "mvs", .t_end = t_end, .dt = 0.02, MONITORS({.name = "closest_approach"})};
        const shoal_options fine = {.propagator = "mvs",
                                    .t_end = t_end,
                                    .dt = 0.001,
                                    MONITORS({.name = "distance", SETTINGS({.name = "first", .value = 1})})};
        struct motion motion = watch(context, 3, bodies, &options), reference = watch(context, 3, bodies, &fine);
        const double least = column(&motion, "min_separation"), when = column(&motion, "min_separation_time");
        /* at most half a fine step from its minimum a distance d is larger by (v t)^2 / 2 d */
        assert_near(least, column(&reference, "distance_min"), 2e-6);
        assert_true(least == column(&motion, "closest_1_2") && when == column(&motion, "closest_time_1_2"));
        shoal_orbit then[3];
        const shoal_options until = {.propagator = "mvs", .t_end = when, .dt = 0.02};
        evolve_all(context, 1, 3, NULL, NULL, &until, bodies, NULL);
        const double d[3] = {bodies[2].x - bodies[1].x, bodies[2].y - bodies[1].y, bodies[2].z - bodies[1].z};
        assert_near(sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]), least, 1e-8);
        assert_ok(context, shoal_orbits_from_bodies(context, SHOAL_ASTROCENTRIC, 3, bodies, then));
        const double hill = cbrt(4e-7 / 3) * 0.5 * (then[1].a + then[2].a);
        /* the axes: at the end of the step */
        assert_near(column(&motion, "min_separation_hill") * hill / least, 1.0, 1e-6);
        motion_end(&motion);
        motion_end(&reference);
    }
}

/* hybrid shows its substeps, some of which it makes again. */
static void an_encounter_inside_a_step_of_hybrid_is_resolved(void **state)
{
    shoal_context *context = context_of(state);
    int n_close = 0;
    for (int phase = 0; phase < 24; phase++) {
        const shoal_orbit orbit[3] = {
            {.a = 0}, {.a = 1.0, .e = 0.1, .f = 0.25 * phase}, {.a = 1.15, .e = 0.15, .omega = 1.0}};
        shoal_body bodies[3] = {{.m = 1.0}, {.m = 1e-4}, {.m = 2e-4}};
        assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_ASTROCENTRIC, 3, orbit, bodies));
        /* to the first approach: later ones depend on everything */
        const shoal_options probe = {
            .propagator = "hermite4",
            .t_end = 60.0,
            .dt = 2e-3,
            MONITORS({.name = "stop_on_encounter", SETTINGS({.name = "factor", .value = 1.0})})};
        shoal_body copy[3];
        shoal_system record;
        memcpy(copy, bodies, sizeof copy);
        evolve_all(context, 1, 3, NULL, NULL, &probe, copy, &record);
        if (record.outcome != SHOAL_ENCOUNTER)
            continue;
        const double t_end = ceil((record.t_stop + 1.0) / 0.1) * 0.1;
        const shoal_options way[2] = {
            {.propagator = "hybrid", .t_end = t_end, .dt = 0.1, MONITORS({.name = "closest_approach"})},
            {.propagator = "hermite4_adaptive", .t_end = t_end, .dt = 1e-4, MONITORS({.name = "closest_approach"})}};
        double least[2], when[2];
        for (int k = 0; k < 2; k++) {
            struct motion motion = watch(context, 3, bodies, &way[k]);
            least[k] = column(&motion, "closest_1_2");
            when[k] = column(&motion, "closest_time_1_2");
            motion_end(&motion);
        }
        print_message("%.6f at %.5f, %.6f at %.5f\n", least[0], when[0], least[1], when[1]);
        n_close++;
        assert_near(least[0] / least[1], 1.0, 0.02);
        assert_near(when[0], when[1], 0.01);
    }
    assert_true(n_close >= 4);
}

/* ---- outcomes ---------------------------------------------------------------------------------------------------- */

static void crossing_orbits_end_a_system_at_the_first_look(void **state)
{
    shoal_context *context = context_of(state);
    int n_crossed = 0;
    for (int way = 0; way < 8; way++) {
        const int every = way & 1 ? 5 : 1, n_steps = 4000;
        const double dt = 0.05;
        /* listed outside in for way & 2 */
        const shoal_orbit inner = {.a = 1.0, .e = 0.05, .f = 0.3},
                          outer = {.a = 1.22, .e = way & 4 ? 0.02 : 0.1, .omega = 2.0};
        const shoal_orbit orbit[3] = {{0}, way & 2 ? outer : inner, way & 2 ? inner : outer};
        shoal_body bodies[3] = {{.m = 1.0}, {.m = 1e-3}, {.m = 5e-4}};
        assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_ASTROCENTRIC, 3, orbit, bodies));
        struct gathered g;
        gather(context, "hermite4", SHOAL_ASTROCENTRIC, 3, bodies, dt, n_steps, every, &g);
        const shoal_options options = {
            .propagator = "hermite4",
            .t_end = n_steps * dt,
            .dt = dt,
            MONITORS({.name = "stop_on_crossing",
                      SETTINGS({.name = "elements", .choice = "astrocentric"}, {.name = "every", .value = every})})};
        shoal_system record;
        evolve_all(context, 1, 3, NULL, NULL, &options, bodies, &record);
        print_message("orbits cross at %g\n", g.crossed);
        n_crossed += !isnan(g.crossed);
        assert_int_equal(record.outcome, isnan(g.crossed) ? SHOAL_SURVIVED : SHOAL_CROSSED);
        if (record.outcome == SHOAL_CROSSED) {
            assert_near(record.t_stop, g.crossed, 1e-9);
            assert_int_equal(record.body_a, 1);
            assert_int_equal(record.body_b, 2);
        }
    }
    assert_true(n_crossed > 0);
    const shoal_orbit apart[3] = {{0}, {.a = 1.0, .e = 0.2}, {.a = 3.0, .e = 0.2}};
    shoal_body bodies[3] = {{.m = 1.0}, {.m = 1e-5}, {.m = 1e-5}};
    assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, 3, apart, bodies));
    const shoal_options options = {
        .propagator = "mvs", .t_end = 500.0, .dt = 0.05, MONITORS({.name = "stop_on_crossing"})};
    evolve_all(context, 1, 3, NULL, NULL, &options, bodies, NULL);
}

static void a_wrong_energy_ends_a_system(void **state)
{
    shoal_context *context = context_of(state);
    shoal_body bodies[3];
    struct gathered g;
    resonant_planets(context, 3, 0.0, bodies);
    gather(context, "leapfrog", SHOAL_JACOBI, 3, bodies, 0.05, 2000, 1, &g);
    for (int above = 0; above < 2; above++) {
        const double limit = g.dE * (above ? 0.5 : 1.01);
        const shoal_options options = {
            .propagator = "leapfrog",
            .t_end = 100.0,
            .dt = 0.05,
            MONITORS({.name = "energy_error",
                      SETTINGS({.name = "every", .value = 1}, {.name = "stop_above", .value = limit})})};
        struct motion motion = watch(context, 3, bodies, &options);
        shoal_system record;
        shoal_ensemble_get_system(motion.ensemble, 0, &record);
        assert_int_equal(record.outcome, above ? SHOAL_INACCURATE : SHOAL_SURVIVED);
        assert_true((column(&motion, "dE_max") > limit) == (above == 1));
        motion_end(&motion);
    }
}

/* What a merger takes away is no error, before or after it. */
static void a_merger_is_no_energy_error(void **state)
{
    shoal_context *context = context_of(state);
    const shoal_orbit orbit[4] = {{0}, {.a = 1.0}, {.a = 1.1}, {.a = 2.0}};
    shoal_body bodies[4] = {{.m = 1.0}, {.m = 1e-5, .r = 0.02}, {.m = 1e-3, .r = 0.02}, {.m = 1e-4}};
    assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, 4, orbit, bodies));
    bodies[2].vx -= 0.3;
    const shoal_options options = {
        .propagator = "hermite4",
        .t_end = 30.0,
        .dt = 0.002,
        MONITORS({.name = "energy_error"}, {.name = "closest_approach"}, {.name = "element_range"},
                 {.name = "stop_on_collision", SETTINGS({.name = "action", .choice = "merge"})})};
    struct motion motion = watch(context, 4, bodies, &options);
    shoal_system record;
    shoal_ensemble_get_system(motion.ensemble, 0, &record);
    assert_int_equal(record.n_left, 3);
    const double jump = fabs(record.energy_jump / record.energy_start), error = column(&motion, "dE_max");
    print_message("jump %.1e, error %.1e\n", jump, error);
    assert_true(jump > 1e-7 && error < 1e-3 * jump && error > 0);
    assert_near(column(&motion, "closest_1_2"), 0.04, 1e-15);
    assert_true(column(&motion, "a_min_1") > 0.5 && column(&motion, "a_max_1") < 2.0); /* while it was there */
    motion_end(&motion);
}

static void monitors_that_cannot_watch_are_refused(void **state)
{
    shoal_context *context = context_of(state);
    static const shoal_setting p[] = {{.name = "p_1", .value = 2}, {.name = "p_2", .value = -3}},
                               star[] = {{.name = "body_1", .value = 0},
                                         {.name = "p_1", .value = 2},
                                         {.name = "p_2", .value = -2}},
                               twice[] = {{.name = "body_1", .value = 2},
                                          {.name = "p_1", .value = 1},
                                          {.name = "p_2", .value = -1}},
                               one[] = {{.name = "first", .value = 1}, {.name = "second", .value = 1}};
    const shoal_plug_options angle = {"resonant_angle", p, 2}, of_star = {"resonant_angle", star, 3},
                             of_one = {"resonant_angle", twice, 3}, none = {"distance", one, 2},
                             energy = {.name = "energy_error"}, gr = {.name = "gr_potential"};
    const shoal_options rows[] = {
        {.t_end = 1, .dt = 0.1, .engine = "cpu", .monitors = &angle, .n_monitors = 1},
        {.t_end = 1, .dt = 0.1, .engine = "cpu", .monitors = &of_star, .n_monitors = 1},
        {.t_end = 1, .dt = 0.1, .engine = "cpu", .monitors = &of_one, .n_monitors = 1},
        {.t_end = 1, .dt = 0.1, .engine = "cpu", .monitors = &none, .n_monitors = 1},
        {.t_end = 1, .dt = 0.1, .engine = "cpu", .monitors = &energy, .n_monitors = 1, .forces = &gr, .n_forces = 1}};
    static const char *const says[] = {"d'Alembert", "body 0", "one term", "two bodies", "Newton's force alone"};
    for (int row = 0; row < SHOAL_COUNT(rows); row++) {
        shoal_body bodies[3];
        shoal_ensemble *ensemble = NULL;
        shoal_plan *plan = NULL;
        resonant_planets(context, 3, 0.0, bodies);
        assert_ok(context, shoal_ensemble_create(context, 1, 3, &ensemble));
        assert_ok(context, shoal_ensemble_set_bodies(ensemble, 0, 3, bodies));
        assert_true(shoal_plan_create(context, ensemble, &rows[row], &plan) != SHOAL_OK);
        assert_non_null(strstr(shoal_context_message(context), says[row]));
        shoal_ensemble_destroy(&ensemble);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_failed_download_is_a_status, setup, teardown),
        cmocka_unit_test(angles_are_right_but_for_the_last_places),
        cmocka_unit_test(columns_are_those_of_dense_output),
        cmocka_unit_test(a_librating_angle_has_a_mean),
        cmocka_unit_test(a_mean_distance_is_over_time),
        cmocka_unit_test(equal_looks_have_the_right_mean),
        cmocka_unit_test(an_angle_of_what_is_gone_is_none),
        cmocka_unit_test(what_is_not_there_has_no_number),
        cmocka_unit_test(straight_lines_are_closest_at_their_moment),
        cmocka_unit_test(bodies_come_no_nearer_than_they_touch),
        cmocka_unit_test(the_central_pair_is_closest_at_pericentre),
        cmocka_unit_test(others_have_no_pericentre_about_body_0),
        cmocka_unit_test(curved_orbits_are_closest_where_a_fine_integration_has_them),
        cmocka_unit_test(an_encounter_inside_a_step_of_hybrid_is_resolved),
        cmocka_unit_test(crossing_orbits_end_a_system_at_the_first_look),
        cmocka_unit_test(a_wrong_energy_ends_a_system),
        cmocka_unit_test(a_merger_is_no_energy_error),
        cmocka_unit_test(monitors_that_cannot_watch_are_refused),
    };
    return cmocka_run_group_tests_name("monitor_columns", tests, setup, teardown);
}
