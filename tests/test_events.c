/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_events.c: systems that go on after a collision, an ejection, an encounter. Mergers keep mass, momentum and the
 * motion of the barycentre, and book the jump of the energy; what is left after a removal moves as if it had always
 * been alone; logged encounters are those that the states themselves show; and nothing of it depends on slices,
 * threads, lanes, the order of monitors or a restart.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "systems.h"

#define N       4
#define SYSTEMS 64 /* two chunks */
#define MONITORS(...)                                      \
    .monitors = (const shoal_plug_options[]){__VA_ARGS__}, \
    .n_monitors = SHOAL_COUNT(((const shoal_plug_options[]){__VA_ARGS__}))
#define SETTINGS(...) \
    .settings = (const shoal_setting[]){__VA_ARGS__}, .n_settings = SHOAL_COUNT(((const shoal_setting[]){__VA_ARGS__}))
/* clang-format off */
#define MERGE {"stop_on_collision", SETTINGS({.name = "action", .choice = "merge"})}
#define REMOVE(far) \
    {"stop_on_ejection", SETTINGS({.name = "r_max", .value = (far)}, {.name = "action", .choice = "remove"})}
#define LOG(within)                                                                                    \
    {"stop_on_encounter", SETTINGS({.name = "radius", .choice = "absolute"}, {.name = "distance", .value = (within)}, \
                                   {.name = "action", .choice = "log"})}
/* clang-format on */

#define SLOW_DOWN (INSTRUMENTED ? 10 : 1)

#define assert_near(value, expected, tolerance)                                                    \
    do {                                                                                           \
        const double value_ = (value), expected_ = (expected), tolerance_ = (tolerance);           \
        if (!(fabs(value_ - expected_) <= tolerance_))                                             \
            fail_msg("%s = %.17g, expected %.17g +- %.2g", #value, value_, expected_, tolerance_); \
    } while (0)

/* Three giant planets, too near each other and larger than life, that fly past the origin together. */
static void giants(shoal_context *context, long id, shoal_body *bodies)
{
    shoal_orbit orbit[N] = {{0}};
    memset(bodies, 0, N * sizeof *bodies);
    bodies[0] = (shoal_body){.m = 1, .r = 0.02};
    for (int i = 1; i < N; i++) {
        bodies[i].m = 2e-3 * (1 + uniform(id, 8 * i));
        bodies[i].r = 0.005;
        orbit[i] = (shoal_orbit){.a = pow(1.2, i - 1),
                                 .e = 0.05,
                                 .inc = 0.02 * uniform(id, 8 * i + 1),
                                 .f = TWO_PI * uniform(id, 8 * i + 2),
                                 .omega = TWO_PI * uniform(id, 8 * i + 3),
                                 .Omega = TWO_PI * uniform(id, 8 * i + 4)};
    }
    assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, N, orbit, bodies));
    for (int i = 0; i < N; i++) {
        bodies[i].x += 3;
        bodies[i].vx += 0.5;
        bodies[i].vz -= 0.25;
    }
}

/* Mass, moment and momentum of the bodies that are there. */
static void sums(int n, const shoal_body *bodies, double *mass, double moment[6])
{
    long double sum[6] = {0}, m = 0;
    for (int i = 0; i < n; i++) {
        const double at[6] = {bodies[i].x, bodies[i].y, bodies[i].z, bodies[i].vx, bodies[i].vy, bodies[i].vz};
        if (isnan(bodies[i].m))
            continue;
        m += bodies[i].m;
        for (int c = 0; c < 6; c++)
            sum[c] += bodies[i].m * (long double)at[c];
    }
    *mass = (double)m;
    for (int c = 0; c < 6; c++)
        moment[c] = (double)sum[c];
}

/* ---- one event --------------------------------------------------------------------------------------------------- */

/* A run of one system to the end; the plan and its ensemble are the caller's. */
typedef struct single {
    shoal_ensemble *ensemble;
    shoal_plan *plan;
    shoal_system record;
    shoal_body bodies[8];
} single;

static single run_single(shoal_context *context, int n, const shoal_body *bodies, const shoal_options *options)
{
    single run = {0};
    shoal_options chosen = *options;
    chosen.engine = options->engine ? options->engine : "cpu";
    assert_ok(context, shoal_ensemble_create(context, 1, n, &run.ensemble));
    assert_ok(context, shoal_ensemble_set_bodies(run.ensemble, 0, n, bodies));
    assert_ok(context, shoal_plan_create(context, run.ensemble, &chosen, &run.plan));
    assert_ok(context, shoal_plan_integrate(run.plan, options->t_end));
    shoal_ensemble_get_system(run.ensemble, 0, &run.record);
    shoal_ensemble_get_bodies(run.ensemble, 0, run.bodies);
    return run;
}

static void release(single *run)
{
    shoal_plan_destroy(&run->plan);
    shoal_ensemble_destroy(&run->ensemble);
}

/* Two planets on one circle, the second one with the opposite sense: they meet head on at t = 0.7, far from the
 * third. */
static void head_on(shoal_body *bodies)
{
    memset(bodies, 0, N * sizeof *bodies);
    bodies[0] = (shoal_body){.m = 1, .r = 1e-3, .x = 3, .vx = 0.5};
    const double x = cos(0.7), y = sin(0.7);
    bodies[1] = (shoal_body){.m = 1e-5, .r = 0.03, .x = 3 + x, .y = -y, .z = 0.02, .vx = 0.5 + y, .vy = x};
    bodies[2] = (shoal_body){.m = 3e-5, .r = 0.02, .x = 3 + x, .y = y, .vx = 0.5 + y, .vy = -x};
    bodies[3] = (shoal_body){.m = 2e-5, .r = 0.02, .x = 1, .vx = 0.5, .vy = -sqrt(0.5)};
}

static void every_propagator_merges(void **state)
{
    shoal_context *context = context_of(state);
    for (int p = 0; shoal_plugs_of(NULL)->propagators[p]; p++) {
        const char *name = shoal_plugs_of(NULL)->propagators[p]->name;
        shoal_body start[N];
        shoal_event event;
        double mass[2], moment[2][6];
        head_on(start);
        const shoal_options options = {.propagator = name, .t_end = 2.00125, .dt = 0.0025, MONITORS(MERGE)};
        single run = run_single(context, N, start, &options);
        assert_int_equal(shoal_plan_n_events(run.plan), 1);
        shoal_plan_event(run.plan, 0, &event);
        assert_int_equal(event.what, SHOAL_COLLIDED);
        assert_int_equal(event.body_a, 2); /* the heavier one stays */
        assert_int_equal(event.body_b, 1);
        assert_int_equal(event.ended, 0);
        assert_true(event.m_a == 3e-5 && event.m_b == 1e-5);
        assert_near(event.time, 0.7 - 0.5 * sqrt(0.05 * 0.05 - 0.02 * 0.02), 1e-3);
        assert_near(event.speed, 2, 0.01);
        assert_int_equal(run.record.outcome, SHOAL_SURVIVED);
        assert_int_equal(run.record.n_live, N);
        assert_int_equal(run.record.n_left, N - 1);
        assert_true(isnan(run.record.t_stop) || run.record.t_stop == options.t_end);
        assert_true(isnan(run.bodies[1].m) && isnan(run.bodies[1].x));
        assert_near(run.bodies[2].m, 4e-5, 1e-20);
        assert_near(run.bodies[2].r, cbrt(35e-6), 1e-15);

        sums(N, start, &mass[0], moment[0]);
        sums(N, run.bodies, &mass[1], moment[1]);
        assert_near(mass[1], mass[0], 4e-16);
        for (int c = 0; c < 3; c++) {
            assert_near(moment[1][3 + c], moment[0][3 + c], 2e-14);
            assert_near(moment[1][c], moment[0][c] + options.t_end * moment[0][3 + c], 5e-14);
        }
        /* Head on at speed 2 the pair loses m_1 m_2 / (m_1 + m_2) * 2^2 / 2 = 1.5e-5 of the energy -2.5e-5; with the
         * jump booked, what is left is the propagator's: where it does not resolve the approach a part of m_1 m_2 /
         * 0.02, 6e-4 of that */
        assert_true(run.record.energy_jump == event.energy_jump);
        assert_near(event.energy_jump, -1.5e-5, 1e-7);
        const double error = (shoal_ensemble_energy(run.ensemble, 0) - run.record.energy_jump) /
                                 run.record.energy_start -
                             1;
        if (!(fabs(error) < 2e-4))
            fail_msg("%s: energy error %.2g", name, error);
        release(&run);
    }
}

/* A planet among others leaves: from then on they move, to the last bit, like a system that never had it. */
static void the_rest_moves_as_if_alone(void **state)
{
    shoal_context *context = context_of(state);
    for (int p = 0; shoal_plugs_of(NULL)->propagators[p]; p++) {
        const char *name = shoal_plugs_of(NULL)->propagators[p]->name;
        static const int left[N - 1] = {0, 1, 3};
        const shoal_orbit orbit[N] = {{0}, {.a = 1, .e = 0.1}, {.a = -1, .e = 3, .f = 1}, {.a = 2, .e = 0.1, .f = 2}};
        shoal_body bodies[N] = {{.m = 1}, {.m = 1e-3}, {.m = 2e-3}, {.m = 3e-3}};
        assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_ASTROCENTRIC, N, orbit, bodies));
        const shoal_options options = {
            .propagator = name, .engine = "cpu", .t_end = 1e3, .dt = 0.02, MONITORS(REMOVE(8.0))};
        shoal_ensemble *ensemble, *alone;
        shoal_plan *plan, *plan_alone;
        shoal_event event;
        double mass[2], moment[2][6];
        long n_moved = 1;
        assert_ok(context, shoal_ensemble_create(context, 1, N, &ensemble));
        assert_ok(context, shoal_ensemble_set_bodies(ensemble, 0, N, bodies));
        assert_ok(context, shoal_plan_create(context, ensemble, &options, &plan));
        while (shoal_plan_n_events(plan) == 0 && n_moved > 0) {
            plan->slice_steps = 1;
            assert_ok(context, shoal_plan_slice(plan, options.t_end, &n_moved));
        }
        shoal_plan_event(plan, 0, &event);
        assert_int_equal(event.what, SHOAL_EJECTED);
        assert_int_equal(event.body_a, 2);
        assert_int_equal(event.body_b, -1);
        assert_true(event.distance > 8 && event.speed > 1 && event.time < shoal_plan_time(plan, 0));
        assert_true(event.distance - event.speed * (shoal_plan_time(plan, 0) - event.time) < 8 + 1e-9);
        assert_int_equal(shoal_ensemble_n_left(ensemble, 0), N - 1);

        /* the others, the barycentre's motion added back, carry the momentum that they had */
        ensemble->time[0] = shoal_plan_time(plan, 0);
        shoal_ensemble_get_bodies(ensemble, 0, bodies);
        sums(N, bodies, &mass[0], moment[0]);
        assert_near(mass[0], 1.004, 1e-15);
        const double *centre = ensemble->centre[0], t = shoal_plan_time(plan, 0);
        for (int c = 0; c < 3; c++) {
            assert_near(moment[0][c] / mass[0], centre[c] + centre[3 + c] * t, 1e-14);
            assert_near(moment[0][3 + c] / mass[0], centre[3 + c], 1e-16);
        }
        assert_true(fabs(centre[3]) + fabs(centre[4]) > 1e-3); /* it took some of it along */

        shoal_body three[N - 1];
        shoal_options other = options;
        other.dt = fabs(*shoal_ensemble_field(ensemble, SHOAL_SYS_DT, 0));
        for (int i = 0; i < N - 1; i++)
            three[i] = bodies[left[i]];
        assert_ok(context, shoal_ensemble_create(context, 1, N - 1, &alone));
        assert_ok(context, shoal_ensemble_set_bodies(alone, 0, N - 1, three));
        for (int i = 0; i < N - 1; i++)
            for (int q = 0; q < 6; q++)
                *shoal_ensemble_body(alone, i, q, 0) = *shoal_ensemble_body(ensemble, left[i], q, 0);
        assert_ok(context, shoal_plan_create(context, alone, &other, &plan_alone));
        plan->slice_steps = plan_alone->slice_steps = 500;
        assert_ok(context, shoal_plan_slice(plan, options.t_end, &n_moved));
        assert_ok(context, shoal_plan_slice(plan_alone, options.t_end, &n_moved));
        assert_ok(context, shoal_plan_snapshot(plan, NAN, (const int[]){0}, 1));
        assert_ok(context, shoal_plan_snapshot(plan_alone, NAN, (const int[]){0}, 1));
        for (int i = 0; i < N - 1; i++)
            for (int q = 0; q < 6; q++) {
                const double *among = plan->args.snapshot, *by_itself = plan_alone->args.snapshot;
                if (among[SHOAL_AT(0, 6 * left[i] + q, 6 * N)] != by_itself[SHOAL_AT(0, 6 * i + q, 6 * (N - 1))])
                    fail_msg("%s: body %d, coordinate %d: other bits", name, left[i], q);
            }
        shoal_plan_destroy(&plan);
        shoal_plan_destroy(&plan_alone);
        shoal_ensemble_destroy(&ensemble);
        shoal_ensemble_destroy(&alone);
    }
}

/* Into the star: body 0 survives, however heavy the other one; star and planet alone end as they do with action =
 * stop. */
static void the_star_swallows_its_planets(void **state)
{
    shoal_context *context = context_of(state);
    const shoal_orbit orbit[3] = {{0}, {.a = 1, .e = 0.99, .f = 3.1}, {.a = 3}};
    const shoal_options options = {.propagator = "gauss_radau", .t_end = 10, .dt = 0.01, MONITORS(MERGE)};
    for (int n = 3; n >= 2; n--) {
        shoal_body bodies[3] = {{.m = 1, .r = 0.03, .x = 1, .vy = 1}, {.m = 0.2, .r = 0.01}, {.m = 1e-3}};
        shoal_event event;
        assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, n, orbit, bodies));
        single run = run_single(context, n, bodies, &options);
        assert_int_equal(shoal_plan_n_events(run.plan), 1);
        shoal_plan_event(run.plan, 0, &event);
        assert_int_equal(event.what, SHOAL_HIT_STAR);
        assert_int_equal(event.body_a, 0);
        assert_int_equal(event.body_b, 1);
        assert_int_equal(event.ended, n == 2);
        assert_int_equal(run.record.outcome, n == 2 ? SHOAL_HIT_STAR : SHOAL_SURVIVED);
        assert_int_equal(run.record.n_left, 2);
        assert_near(run.bodies[0].m, n == 2 ? 1 : 1.2, 1e-15);
        if (n == 2) {
            assert_true(run.record.t_stop == event.time && event.energy_jump == 0);
            assert_int_equal(run.record.body_b, 1);
        }
        release(&run);
    }
}

/* Test particles: two of them, and one with a planet; whoever has the mass keeps its motion. */
static void massless_bodies_merge(void **state)
{
    shoal_context *context = context_of(state);
    const struct {
        double m[2];
        int stays;
    } rows[] = {{{0, 0}, 1}, {{0, 1e-3}, 2}, {{1e-3, 0}, 1}};
    for (int row = 0; row < SHOAL_COUNT(rows); row++) {
        shoal_body bodies[N];
        shoal_event event;
        head_on(bodies);
        bodies[1].m = rows[row].m[0];
        bodies[2].m = rows[row].m[1];
        const shoal_options options = {.propagator = "leapfrog", .t_end = 2, .dt = 0.001, MONITORS(MERGE)};
        single run = run_single(context, N, bodies, &options);
        assert_int_equal(shoal_plan_n_events(run.plan), 1);
        shoal_plan_event(run.plan, 0, &event);
        assert_int_equal(event.body_a, rows[row].stays);
        assert_int_equal(run.record.n_left, N - 1);
        /* on along its circle, with its sense */
        const shoal_body *stays = &run.bodies[event.body_a], *star = &run.bodies[0];
        const double x = stays->x - star->x, y = stays->y - star->y, u = stays->vx - star->vx, v = stays->vy - star->vy;
        assert_near(hypot(x, y), 1, 0.02);
        assert_near(x * v - y * u, event.body_a == 1 ? 1 : -1, 0.02);
        assert_near(event.energy_jump, 0, 1e-17);
        release(&run);
    }
}

static void what_cannot_be_is_refused_or_ends(void **state)
{
    shoal_context *context = context_of(state);
    shoal_body bodies[N];
    shoal_ensemble *ensemble;
    shoal_plan *plan = NULL;
    head_on(bodies);
    /* a tangent vector of bodies that change */
    const shoal_options megno = {.propagator = "mvs", .t_end = 1, .dt = 0.01, MONITORS(MERGE, {"megno", NULL, 0})};
    assert_ok(context, shoal_ensemble_create(context, 1, N, &ensemble));
    assert_ok(context, shoal_ensemble_set_bodies(ensemble, 0, N, bodies));
    assert_int_equal(shoal_plan_create(context, ensemble, &megno, &plan), SHOAL_E_USAGE);
    assert_non_null(strstr(shoal_context_message(context), "stop_on_collision"));
    shoal_ensemble_destroy(&ensemble);
    /* a planet as heavy as the star, for a map that needs a dominant mass; any other propagator goes on */
    bodies[1].m = bodies[2].m = 0.6;
    for (int p = 0; p < 2; p++) {
        const shoal_options options = {.propagator = p ? "hermite4" : "mvs", .t_end = 1, .dt = 0.001, MONITORS(MERGE)};
        single run = run_single(context, N, bodies, &options);
        assert_int_equal(run.record.outcome, p ? SHOAL_SURVIVED : SHOAL_COLLIDED);
        assert_true(p ? run.record.n_left < N : run.record.n_left == N);
        release(&run);
    }
    /* body 0 leaves a heavy pair: the end */
    const shoal_body light_star[3] = {
        {.m = 0.1, .x = 20, .vx = 2}, {.m = 1, .x = -0.5, .vy = -sqrt(0.5)}, {.m = 1, .x = 0.5, .vy = sqrt(0.5)}};
    const shoal_options options = {.propagator = "hermite4", .t_end = 1, .dt = 0.01, MONITORS(REMOVE(15.0))};
    single run = run_single(context, 3, light_star, &options);
    assert_int_equal(run.record.outcome, SHOAL_EJECTED);
    assert_int_equal(run.record.body_a, 0);
    assert_int_equal(run.record.n_left, 3);
    release(&run);
    /* the budget goes on counting */
    const shoal_options budget = {.propagator = "mvs", .t_end = 2, .dt = 0.01, .max_steps = 68, MONITORS(MERGE)};
    head_on(bodies);
    run = run_single(context, N, bodies, &budget);
    assert_int_equal(run.record.outcome, SHOAL_BUDGET);
    assert_true(run.record.n_steps == 68 && shoal_plan_n_events(run.plan) == 2);
    release(&run);
}

/* Three mergers in one step, one of them with what another one left. On a line 1 and 2 meet, and 3 comes behind 2; 4
 * and 5 pass each other elsewhere, so fast that the ends of the step show nothing of it. */
static void several_events_of_one_step_are_all_kept(void **state)
{
    shoal_context *context = context_of(state);
    shoal_body bodies[6] = {{.m = 1e-12, .z = -1e3}};
    for (int i = 1; i < 6; i++)
        bodies[i] = (shoal_body){.m = 1e-9 * i,
                                 .r = 0.1,
                                 .x = (const double[]){-0.5, 0.5, 0.75, -5, 5}[i - 1],
                                 .y = i > 3 ? 50 : 0,
                                 .vx = (const double[]){0.5, -0.5, -0.5, 10, -10}[i - 1]};
    const shoal_options options = {.propagator = "leapfrog", .t_end = 2, .dt = 2, MONITORS(MERGE, LOG(1.0))};
    single run = run_single(context, 6, bodies, &options);
    static const struct {
        enum shoal_outcome what;
        int a, b;
        double time;
    } expected[] = {{SHOAL_ENCOUNTER, 2, 3, 0},    {SHOAL_ENCOUNTER, 1, 2, 0},   {SHOAL_ENCOUNTER, 1, 3, 0.25},
                    {SHOAL_ENCOUNTER, 4, 5, 0.45}, {SHOAL_COLLIDED, 5, 4, 0.49}, {SHOAL_COLLIDED, 2, 1, 0.8},
                    {SHOAL_COLLIDED, 2, 3, 1.05}};
    assert_int_equal(shoal_plan_n_events(run.plan), SHOAL_COUNT(expected));
    for (int i = 0; i < SHOAL_COUNT(expected); i++) {
        shoal_event event;
        shoal_plan_event(run.plan, i, &event);
        assert_int_equal(event.what, expected[i].what);
        assert_int_equal(event.body_a, expected[i].a);
        assert_int_equal(event.body_b, expected[i].b);
        assert_near(event.time, expected[i].time, 1e-7); /* the bodies attract each other a little */
    }
    assert_int_equal(run.record.n_left, 3);
    release(&run);
}

/* ---- logged encounters ------------------------------------------------------------------------------------------- */

/* Events after times, [system]: those after the last whole step of each. */
static long events_after(const shoal_plan *plan, const double *times)
{
    long n = 0;
    for (long e = 0; e < shoal_plan_n_events(plan); e++) {
        shoal_event event;
        shoal_plan_event(plan, e, &event);
        n += event.time > times[event.system] + 1e-9;
    }
    return n;
}

/* What the states at all steps show: how often each pair came within the distance, having been a tenth farther apart
 * before. */
static void every_encounter_is_logged_once(void **state)
{
    static const char *const names[] = {"mvs", "hybrid", "hermite4_adaptive", "gauss_radau"};
    const double within = 0.15;
    for (int p = 0; p < SHOAL_COUNT(names); p++) {
        shoal_context *context = context_of(state);
        const shoal_options options = {
            .propagator = names[p], .engine = "cpu", .t_end = 60.0 / SLOW_DOWN, .dt = 0.01, MONITORS(LOG(within))};
        shoal_options unwatched = options;
        unwatched.n_monitors = 0;
        long total = 0, n_moved = 1;
        shoal_ensemble *watched, *plain;
        shoal_plan *plan, *steps;
        int inside[SYSTEMS][N][N] = {{{0}}}, all[SYSTEMS];
        double before[SYSTEMS] = {0};
        assert_ok(context, shoal_ensemble_create(context, SYSTEMS, N, &watched));
        assert_ok(context, shoal_ensemble_create(context, SYSTEMS, N, &plain));
        for (long s = 0; s < SYSTEMS; s++) {
            shoal_body bodies[N];
            giants(context, s, bodies);
            all[s] = (int)s;
            assert_ok(context, shoal_ensemble_set_bodies(watched, s, N, bodies));
            assert_ok(context, shoal_ensemble_set_bodies(plain, s, N, bodies));
        }
        assert_ok(context, shoal_plan_create(context, watched, &options, &plan));
        assert_ok(context, shoal_plan_integrate(plan, options.t_end));
        assert_ok(context, shoal_plan_create(context, plain, &unwatched, &steps));
        for (long k = 0; n_moved > 0; k++) {
            if (k > 0) {
                steps->slice_steps = 1;
                assert_ok(context, shoal_plan_slice(steps, options.t_end, &n_moved));
            }
            assert_ok(context, shoal_plan_snapshot(steps, NAN, all, SYSTEMS));
            for (long s = 0; s < SYSTEMS; s++) {
                for (int i = 1; i < N; i++)
                    for (int j = i + 1; j < N; j++) {
                        double d2 = 0;
                        for (int c = 0; c < 3; c++) {
                            const double *x = steps->args.snapshot;
                            const double d = x[SHOAL_AT(s, 6 * i + c, 6 * N)] - x[SHOAL_AT(s, 6 * j + c, 6 * N)];
                            d2 += d * d;
                        }
                        if (sqrt(d2) < within && !inside[s][i][j]) {
                            int seen = 0;
                            /* one of the log's is in this step */
                            for (long e = 0; e < shoal_plan_n_events(plan); e++) {
                                shoal_event event;
                                shoal_plan_event(plan, e, &event);
                                seen += event.system == s && event.body_a == i && event.body_b == j &&
                                        event.time >= before[s] - 1e-9 &&
                                        event.time <= shoal_plan_time(steps, s) + 1e-9;
                            }
                            if (seen != 1)
                                fail_msg(
                                    "%s: system %ld, bodies %d, %d: %d encounters logged in the step from %.9g to %.9g",
                                    names[p], s, i, j, seen, before[s], shoal_plan_time(steps, s));
                            inside[s][i][j] = 1;
                            total++;
                        } else if (sqrt(d2) > 1.1 * within) {
                            inside[s][i][j] = 0;
                        }
                    }
                before[s] = shoal_plan_time(steps, s);
            }
        }
        print_message("%s: %ld encounters\n", names[p], total);
        assert_true(total > 50 / SLOW_DOWN);
        /* those that no step's end shows, since they began and ended within a step, are few with steps as short as
         * these */
        assert_in_range(shoal_plan_n_events(plan), total, total + total / 50 + events_after(plan, before));
        assert_ok(context, shoal_plan_snapshot(plan, options.t_end, all, SYSTEMS));
        assert_ok(context, shoal_plan_snapshot(steps, options.t_end, all, SYSTEMS));
        assert_memory_equal(plan->args.snapshot, steps->args.snapshot, /* and it changed nothing */
                            SYSTEMS * 6 * N * sizeof(double));
        shoal_plan_destroy(&plan);
        shoal_plan_destroy(&steps);
        shoal_ensemble_destroy(&watched);
        shoal_ensemble_destroy(&plain);
    }
}

/* ---- the same bits, however it is run ---------------------------------------------------------------------------- */

struct way {
    const char *engine, *propagator;
    int lanes, threads;
    long slice_steps;
    bool reversed, restart;
};

struct history {
    bool unsupported;
    long n_events;
    shoal_event *events; /* by system */
    double last[SYSTEMS][N][6];
    shoal_system records[SYSTEMS];
};

static shoal_ensemble *make_giants(shoal_context *context)
{
    shoal_ensemble *ensemble;
    assert_ok(context, shoal_ensemble_create(context, SYSTEMS, N, &ensemble));
    for (long s = 0; s < SYSTEMS; s++) {
        shoal_body bodies[N];
        giants(context, s, bodies);
        assert_ok(context, shoal_ensemble_set_bodies(ensemble, s, N, bodies));
    }
    return ensemble;
}

static shoal_status make_plan(shoal_context *context, shoal_ensemble *ensemble, struct way way, double t_end,
                              shoal_plan **plan)
{
    const shoal_plug_options forwards[] = {MERGE, REMOVE(10.0), LOG(0.1)},
                             backwards[] = {LOG(0.1), REMOVE(10.0), MERGE};
    const shoal_options options = {.propagator = way.propagator,
                                   .engine = way.engine ? way.engine : "cpu",
                                   .t_end = t_end,
                                   .dt = 0.02,
                                   .lanes = way.lanes,
                                   .threads = way.threads ? way.threads : 1,
                                   .monitors = way.reversed ? backwards : forwards,
                                   .n_monitors = 3};
    return shoal_plan_create(context, ensemble, &options, plan);
}

static void add_events(struct history *history, const shoal_plan *plan)
{
    const long n = shoal_plan_n_events(plan);
    shoal_event *events = realloc(history->events, (size_t)(history->n_events + n + 1) * sizeof *events);
    assert_non_null(events);
    for (long i = 0; i < n; i++) {
        shoal_event event;
        memset(&event, 0, sizeof event);
        shoal_plan_event(plan, i, &event);
        long at = history->n_events++;
        for (; at > 0 && events[at - 1].system > event.system; at--)
            events[at] = events[at - 1];
        events[at] = event;
    }
    history->events = events;
}

static struct history *run(shoal_context *context, struct way way)
{
    const double t_end = 120.0 / SLOW_DOWN;
    struct history *history = calloc(1, sizeof *history);
    shoal_ensemble *ensemble = make_giants(context);
    shoal_plan *plan = NULL;
    int all[SYSTEMS];
    const shoal_status status = make_plan(context, ensemble, way, t_end, &plan);
    if (status == SHOAL_E_UNSUPPORTED) {
        print_message("%s\n", shoal_context_message(context));
        history->unsupported = true;
        shoal_ensemble_destroy(&ensemble);
        return history;
    }
    assert_ok(context, status);
    if (way.restart) {
        void *saved = malloc(shoal_plan_state_size(plan));
        long n_moved;
        for (int i = 0; i < 3; i++) {
            plan->slice_steps = 2000 / SLOW_DOWN;
            assert_ok(context, shoal_plan_slice(plan, t_end, &n_moved));
        }
        assert_ok(context, shoal_plan_state_save(plan, saved));
        add_events(history, plan);
        assert_true(history->n_events > 10 / SLOW_DOWN);
        shoal_plan_destroy(&plan);
        shoal_ensemble_destroy(&ensemble);
        ensemble = make_giants(context);
        assert_ok(context, make_plan(context, ensemble, way, t_end, &plan));
        assert_ok(context, shoal_plan_state_load(plan, saved));
        free(saved);
    }
    for (long n_moved = 1; n_moved > 0;) {
        if (way.slice_steps)
            plan->slice_steps = way.slice_steps;
        assert_ok(context, shoal_plan_slice(plan, t_end, &n_moved));
    }
    add_events(history, plan);
    for (int s = 0; s < SYSTEMS; s++)
        all[s] = s;
    assert_ok(context, shoal_plan_snapshot(plan, t_end, all, SYSTEMS));
    for (long s = 0; s < SYSTEMS; s++) {
        memset(&history->records[s], 0, sizeof history->records[s]);
        shoal_ensemble_get_system(ensemble, s, &history->records[s]);
        history->records[s].time = 0;
        for (int i = 0; i < N; i++)
            for (int q = 0; q < 6; q++)
                history->last[s][i][q] = plan->args.snapshot[SHOAL_AT(s, 6 * i + q, 6 * N)];
    }
    shoal_plan_destroy(&plan);
    shoal_ensemble_destroy(&ensemble);
    return history;
}

static void forget(struct history *history)
{
    free(history->events);
    free(history);
}

static void compare(shoal_context *context, const struct history *plain, struct way way, const char *what)
{
    struct history *other = run(context, way);
    if (!other->unsupported) {
        assert_int_equal(other->n_events, plain->n_events);
        if (memcmp(other->last, plain->last, sizeof plain->last) != 0 ||
            memcmp(other->records, plain->records, sizeof plain->records) != 0 ||
            memcmp(other->events, plain->events, (size_t)plain->n_events * sizeof *plain->events) != 0)
            fail_msg("%s: other bits: %s", way.propagator, what);
    }
    forget(other);
}

static void nothing_changes_a_bit(void **state)
{
    static const char *const names[] = {"hybrid", "mvs", "hermite4", "gauss_radau"};
    shoal_context *context = context_of(state);
    for (int p = 0; p < SHOAL_COUNT(names); p++) {
        struct history *plain = run(context, (struct way){.propagator = names[p]});
        long n[SHOAL_OUTCOMES] = {0}, n_left[N + 1] = {0};
        for (long i = 0; i < plain->n_events; i++)
            n[plain->events[i].what]++;
        for (long s = 0; s < SYSTEMS; s++)
            n_left[plain->records[s].n_left]++;
        print_message(
            "%s: %ld collided, %ld hit_star, %ld ejected, %ld encounters; 2, 3, 4 bodies left: %ld, %ld, %ld\n",
            names[p], n[SHOAL_COLLIDED], n[SHOAL_HIT_STAR], n[SHOAL_EJECTED], n[SHOAL_ENCOUNTER], n_left[2], n_left[3],
            n_left[4]);
        assert_true(n[SHOAL_COLLIDED] > 10 / SLOW_DOWN && n[SHOAL_ENCOUNTER] > 50 / SLOW_DOWN);
        for (int k = 0; k < 2; k++)
            compare(context, plain, (struct way){.propagator = names[p], .slice_steps = (const long[]){3, 20}[k]},
                    "slices");
        for (int k = 0; k < 3; k++)
            compare(context, plain, (struct way){.propagator = names[p], .lanes = (const int[]){1, 4, 8}[k]}, "lanes");
        compare(context, plain, (struct way){.propagator = names[p], .threads = 3, .slice_steps = 777}, "threads");
        compare(context, plain, (struct way){.propagator = names[p], .reversed = true, .slice_steps = 1000000},
                "order");
        compare(context, plain, (struct way){.propagator = names[p], .restart = true}, "restart");
        forget(plain);
    }
}

/* On a GPU: the events of the CPU, and the same bits whatever the slices. */
static void a_gpu_does_the_same(void **state)
{
    shoal_context *context = context_of(state);
    need_gpu();
    for (int p = 0; shoal_plugs_of(NULL)->propagators[p]; p++) {
        shoal_body start[N];
        shoal_event events[2];
        const shoal_propagator *propagator = shoal_plugs_of(NULL)->propagators[p];
        shoal_options options = {.propagator = propagator->name, .t_end = 2.00125, .dt = 0.0025, MONITORS(MERGE)};
        single runs[2];
        head_on(start);
        for (int gpu = 0; gpu < 2; gpu++) {
            options.engine = gpu ? "cuda" : "cpu";
            runs[gpu] = run_single(context, N, start, &options);
            assert_int_equal(shoal_plan_n_events(runs[gpu].plan), 1);
            shoal_plan_event(runs[gpu].plan, 0, &events[gpu]);
        }
        assert_int_equal(events[1].what, events[0].what);
        assert_int_equal(events[1].body_a, events[0].body_a);
        assert_int_equal(events[1].body_b, events[0].body_b);
        assert_near(events[1].time, events[0].time, 1e-9);
        assert_near(events[1].energy_jump, events[0].energy_jump, 1e-12);
        for (int i = 0; i < N; i++)
            assert_true(i == 1 ? isnan(runs[1].bodies[i].x) : fabs(runs[1].bodies[i].x - runs[0].bodies[i].x) < 1e-8);
        release(&runs[0]);
        release(&runs[1]);
    }
    static const char *const names[] = {"hybrid", "mvs", "hermite4", "gauss_radau"};
    for (int p = 0; p < SHOAL_COUNT(names); p++) {
        struct history *plain = run(context, (struct way){.propagator = names[p], .engine = "cuda"});
        assert_true(plain->n_events > 50 / SLOW_DOWN);
        compare(context, plain, (struct way){.propagator = names[p], .engine = "cuda", .slice_steps = 77}, "slices");
        compare(context, plain, (struct way){.propagator = names[p], .engine = "cuda", .reversed = true},
                "order of monitors");
        compare(context, plain, (struct way){.propagator = names[p], .engine = "cuda", .restart = true}, "restart");
        forget(plain);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_propagator_merges),
        cmocka_unit_test(the_rest_moves_as_if_alone),
        cmocka_unit_test(the_star_swallows_its_planets),
        cmocka_unit_test(massless_bodies_merge),
        cmocka_unit_test(what_cannot_be_is_refused_or_ends),
        cmocka_unit_test(several_events_of_one_step_are_all_kept),
        cmocka_unit_test(every_encounter_is_logged_once),
        cmocka_unit_test(nothing_changes_a_bit),
        cmocka_unit_test(a_gpu_does_the_same),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
