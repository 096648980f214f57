/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_transits.c: the monitor `transits`: times against a Kepler orbit in long double, against states at the very
 * times for every propagator, and against the observed transits of TRAPPIST-1; none is lost or doubled however the run
 * is cut.
 */
#include <gsl/gsl_fit.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kepler_reference.h"
#include "systems.h"

static const shoal_plug_options watch = {.name = "transits"};

/* g = x vx + y vy about the star, and the rest of what a transit is. */
typedef struct sky {
    double g, z, distance, speed;
} sky;

static sky seen(const shoal_body *star, const shoal_body *body)
{
    const double x = body->x - star->x, y = body->y - star->y, u = body->vx - star->vx, v = body->vy - star->vy;
    return (sky){x * u + y * v, body->z - star->z, hypot(x, y), hypot(u, v)};
}

/* A row of the log. */
typedef struct passage {
    double system, time, body, star, distance, speed;
} passage;

static passage passage_at(const shoal_plan *plan, long i)
{
    static const char *const columns[] = {"system", "time", "body", "star", "distance", "speed"};
    double values[SHOAL_COUNT(columns)];
    for (int c = 0; c < SHOAL_COUNT(columns); c++)
        assert_int_equal(shoal_plan_get_log(plan, "transits", columns[c], i, 1, &values[c], 0), SHOAL_OK);
    return (passage){values[0], values[1], values[2], values[3], values[4], values[5]};
}

static long n_passages(const shoal_plan *plan)
{
    return shoal_plan_n_logged(plan, "transits");
}

/* ---- one planet -------------------------------------------------------------------------------------------------- */

static long double g_at(long double mu, long double t, const long double *start, long double *state)
{
    kepler_reference(mu, t, start, state);
    return state[0] * state[3] + state[1] * state[4];
}

/* All transits of a Kepler orbit between 0 and t_end, by bisection where g passes from - to + in time's direction. */
static int kepler_transits(long double mu, double t_end, const long double *start, long double *time)
{
    enum { SAMPLES = 3000 };
    long double before = g_at(mu, 0, start, (long double[6]){0});
    int n = 0;
    for (int i = 1; i <= SAMPLES; i++) {
        long double low = (long double)t_end * (i - 1) / SAMPLES, high = (long double)t_end * i / SAMPLES, state[6];
        const long double after = g_at(mu, high, start, state), sign = t_end < 0 ? -1 : 1;
        if (before * sign < 0 && after * sign >= 0) {
            for (int k = 0; k < 70; k++) {
                const long double middle = 0.5L * (low + high);
                if (g_at(mu, middle, start, state) * sign < 0)
                    low = middle;
                else
                    high = middle;
            }
            if (state[2] > 0)
                time[n++] = high;
        }
        before = after;
    }
    return n;
}

/* Round and long orbits, seen from all sides, forwards and backwards: to rounding. */
static void kepler_orbits_transit_when_they_do(void **state)
{
    static const double eccentricity[] = {0, 0.01, 0.3, 0.7, 0.95}, inclination[] = {1.5707, 1.2, 0.3, 2.5};
    shoal_context *context = context_of(state);
    double worst = 0, worst_distance = 0;
    int total = 0;
    for (int c = 0; c < SHOAL_COUNT(eccentricity) * SHOAL_COUNT(inclination) * 2; c++) {
        const double e = eccentricity[c / 2 % SHOAL_COUNT(eccentricity)], sign = c % 2 ? -1 : 1;
        const shoal_orbit orbit[2] = {{0},
                                      {.a = 0.7,
                                       .e = e,
                                       .inc = inclination[c / 2 / SHOAL_COUNT(eccentricity)],
                                       .Omega = 1 + c,
                                       .omega = 2.0 * c,
                                       .f = 0.5 + 0.1 * c}};
        shoal_body bodies[2] = {{.m = 1.3}, {.m = 1e-3}};
        const double mu = 1.301, P = TWO_PI * sqrt(pow(0.7, 3) / mu), t_end = sign * 7.3 * P;
        long double start[6], time[20], at[6];
        assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, 2, orbit, bodies));
        const double relative[6] = {bodies[1].x - bodies[0].x,   bodies[1].y - bodies[0].y,
                                    bodies[1].z - bodies[0].z,   bodies[1].vx - bodies[0].vx,
                                    bodies[1].vy - bodies[0].vy, bodies[1].vz - bodies[0].vz};
        for (int q = 0; q < 6; q++)
            start[q] = relative[q];
        const int n = kepler_transits(mu, t_end, start, time);
        const shoal_options options = {.propagator = "mvs_jacobi",
                                       .t_end = 1.1 * t_end,
                                       .dt = P / (e > 0.5 ? 400 : 23),
                                       .monitors = &watch,
                                       .n_monitors = 1};
        struct motion motion = motion_begin(context, 1, 2, NULL, NULL, &options, bodies);
        assert_ok(context, shoal_plan_integrate(motion.plan, 1.1 * t_end));
        /* a long orbit may pass behind the star alone */
        assert_true((n == 0 || n >= 6) && n_passages(motion.plan) >= n);
        for (int i = 0; i < n; i++) {
            const passage event = passage_at(motion.plan, i);
            assert_true(event.system == 0 && event.body == 1 && event.star == 0);
            kepler_reference(mu, time[i], start, at);
            worst = fmax(worst, fabs((double)(event.time - time[i])) / P);
            worst_distance = fmax(worst_distance, fabs((double)(event.distance - hypotl(at[0], at[1]))));
            assert_below(fabs((double)(event.speed - hypotl(at[3], at[4]))), 1e-10, "orbit %d, transit %d", c, i);
        }
        total += n;
        assert_true(shoal_plan_column(motion.plan, "transits_1", 0) == (double)n_passages(motion.plan));
        if (n > 0) {
            assert_below(fabs(shoal_plan_column(motion.plan, "transit_period_1", 0) - P), 1e-12 * P, "orbit %d", c);
            assert_below(shoal_plan_column(motion.plan, "ttv_rms_1", 0), 1e-12 * P, "orbit %d", c);
        }
        motion_end(&motion);
    }
    print_message("%d transits: times within %.2g P, distances within %.2g\n", total, worst, worst_distance);
    assert_true(total > 200);
    assert_below(worst, 2e-12, "times");
    assert_below(worst_distance, 2e-12, "distances");
}

/* Dust moves about what radiation leaves of the star's pull; nothing, and a push, are something, too. */
static void dust_transits_when_it_does(void **state)
{
    static const double betas[] = {0, 0.3, 0.7, 1, 1.5};
    shoal_context *context = context_of(state);
    for (int c = 0; c < SHOAL_COUNT(betas); c++) {
        const double beta = betas[c], t_end = 60;
        const shoal_setting of[] = {{.name = "beta", .value = beta}, {.name = "drag", .value = 0}};
        const shoal_plug_options radiation = {"radiation", of, 2};
        const shoal_body bodies[2] = {{.m = 1}, {.x = -0.9, .y = 0.05, .z = 0.1, .vx = 0.3, .vy = 0.2, .vz = 0.8}};
        const long double start[6] = {-0.9L, 0.05L, 0.1L, 0.3L, 0.2L, 0.8L};
        const shoal_options options = {.propagator = beta < 1 ? "gauss_radau" : "runge_kutta",
                                       .t_end = t_end + 1,
                                       .dt = beta < 1 ? 0 : 0.02,
                                       .monitors = &watch,
                                       .n_monitors = 1,
                                       .forces = &radiation,
                                       .n_forces = 1};
        long double time[40], at[6];
        const int n = kepler_transits(1 - beta, t_end, start, time);
        double worst = 0;
        struct motion motion = motion_begin(context, 1, 2, NULL, NULL, &options, bodies);
        assert_ok(context, shoal_plan_integrate(motion.plan, t_end + 1));
        assert_true(n >= 1 && n_passages(motion.plan) >= n);
        for (int i = 0; i < n; i++) {
            const passage event = passage_at(motion.plan, i);
            kepler_reference(1 - beta, time[i], start, at);
            worst = fmax(worst, fabs((double)(event.time - time[i])));
            assert_below(fabs((double)(event.distance - hypotl(at[0], at[1]))), 1e-9, "beta %g, transit %d", beta, i);
        }
        print_message("beta %g: %d transits, times within %.2g\n", beta, n, worst);
        assert_below(worst, 1e-9, "beta %g", beta);
        motion_end(&motion);
    }
}

/* ---- planets that pull at each other ----------------------------------------------------------------------------- */

enum { N = 4, SYSTEMS = 40 };

/* Near 2:1 and 5:3, of 1e-4 of the star's mass, and not in one plane. */
static void resonant(shoal_context *context, long id, shoal_body *bodies)
{
    static const double a[N] = {0, 1, 1.6, 2.2};
    shoal_orbit orbit[N] = {{0}};
    memset(bodies, 0, N * sizeof *bodies);
    bodies[0].m = 1;
    for (int i = 1; i < N; i++) {
        bodies[i].m = 1e-4 * (1 + uniform(id, 8 * i));
        orbit[i] = (shoal_orbit){.a = a[i],
                                 .e = 0.05,
                                 .inc = 1.5 + 0.1 * uniform(id, 8 * i + 1),
                                 .Omega = uniform(id, 8 * i + 2),
                                 .omega = TWO_PI * uniform(id, 8 * i + 3),
                                 .f = TWO_PI * uniform(id, 8 * i + 4)};
    }
    assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, N, orbit, bodies));
}

/* At a logged time the state, which the propagator makes itself, is one of least distance. The maps' partial steps
 * are no solutions of Newton's equations: their steps are short here. */
static void every_propagator_is_there_at_its_transits(void **state)
{
    static const struct {
        const char *name;
        double steps;
    } rows[] = {/* an orbit of the inner planet */
                {"mvs", 2000},     {"mvs_jacobi", 2000},       {"mvs_whds", 2000},        {"saba", 60},
                {"leapfrog", 400}, {"hybrid", 2000},           {"hermite4", 400},         {"hermite4_adaptive", 400},
                {"hermite6", 100}, {"hermite6_adaptive", 100}, {"runge_kutta", 200},      {"runge_kutta_adaptive", 100},
                {"gauss", 60},     {"gauss_radau", 60},        {"gauss_radau_fixed", 40}, {"bulirsch_stoer", 60}};
    shoal_context *context = context_of(state);
    nobody_is_missing(rows, sizeof *rows, SHOAL_COUNT(rows));
    for (int row = 0; row < SHOAL_COUNT(rows); row++) {
        static const shoal_setting compose = {"order", 8, "8"};
        const bool leaps = strcmp(rows[row].name, "leapfrog") == 0;
        const bool adaptive = shoal_propagator_find(context, rows[row].name)->adaptive;
        const shoal_options options = {.propagator = rows[row].name,
                                       .t_end = 4 * TWO_PI,
                                       .dt = TWO_PI / rows[row].steps,
                                       .dt_max = adaptive ? TWO_PI / rows[row].steps : 0,
                                       .monitors = &watch,
                                       .n_monitors = 1,
                                       .settings = leaps ? &compose : NULL,
                                       .n_settings = leaps};
        shoal_body bodies[N];
        double worst = 0, worst_distance = 0, last = 0;
        resonant(context, 7, bodies);
        struct motion logged = motion_begin(context, 1, N, NULL, NULL, &options, bodies);
        struct motion asked = motion_begin(context, 1, N, NULL, NULL, &options, bodies);
        assert_ok(context, shoal_plan_integrate(logged.plan, options.t_end));
        const long n = n_passages(logged.plan);
        assert_true(n >= 4 && n <= 8);
        for (long i = 0; i < n; i++) {
            const passage event = passage_at(logged.plan, i);
            assert_true(event.time > last);
            last = event.time;
            assert_ok(context, shoal_plan_integrate(asked.plan, event.time));
            shoal_ensemble_get_bodies(asked.ensemble, 0, bodies);
            const sky at = seen(&bodies[0], &bodies[(int)event.body]);
            assert_true(at.z > 0.5);
            worst = fmax(worst, fabs(at.g / (at.speed * at.speed)) / TWO_PI);
            worst_distance = fmax(worst_distance, fabs(at.distance - event.distance) + fabs(at.speed - event.speed));
        }
        print_message("%-22s %ld transits, times within %.2g periods, distances and speeds within %.2g\n",
                      rows[row].name, n, worst, worst_distance);
        assert_below(worst, 1e-8, "%s: times", rows[row].name);
        assert_below(worst_distance, 1e-7, "%s: distances and speeds", rows[row].name);
        motion_end(&logged);
        motion_end(&asked);
    }
}

/* Steps of a twentieth of a period find what steps of a two-hundredth find, to 1e-8 of a period: by Gauss-Radau's
 * method, which is exact to 1e-11 for both. */
static void long_steps_find_the_same_times(void **state)
{
    shoal_context *context = context_of(state);
    struct motion motion[2];
    double worst = 0;
    for (int k = 0; k < 2; k++) {
        shoal_body bodies[N];
        const shoal_options options = {.propagator = "gauss_radau_fixed",
                                       .t_end = 40 * TWO_PI,
                                       .dt = TWO_PI / (k ? 200 : 20),
                                       .monitors = &watch,
                                       .n_monitors = 1};
        resonant(context, 3, bodies);
        motion[k] = motion_begin(context, 1, N, NULL, NULL, &options, bodies);
        assert_ok(context, shoal_plan_integrate(motion[k].plan, options.t_end));
    }
    const long n = n_passages(motion[0].plan);
    assert_true(n > 60 && n == n_passages(motion[1].plan));
    for (long i = 0; i < n; i++) {
        const passage a = passage_at(motion[0].plan, i), b = passage_at(motion[1].plan, i);
        assert_true(a.body == b.body);
        worst = fmax(worst, fabs(a.time - b.time) / TWO_PI);
    }
    print_message("%ld transits: %.2g periods apart\n", n, worst);
    assert_below(worst, 1e-9, "times");
    motion_end(&motion[0]);
    motion_end(&motion[1]);
}

/* ---- however the run is cut -------------------------------------------------------------------------------------- */

static int by_system(const void *a, const void *b)
{
    const passage *x = a, *y = b;
    return x->system != y->system ? (x->system > y->system) - (x->system < y->system)
                                  : (x->time > y->time) - (x->time < y->time);
}

/* All transits, by system: malloc'd. cut: 0 in one go, 1 in slices of 7 steps, 2 asked for states on the way, 3 with a
 * restart in the middle. */
static passage *run_cut(shoal_context *context, const char *propagator, int lanes, int threads, int cut, long *n)
{
    static const shoal_setting near = {"action", 0, "log"};
    const shoal_plug_options both[] = {{"stop_on_encounter", &near, 1}, watch};
    const shoal_options options = {.propagator = propagator,
                                   .t_end = 30 * TWO_PI,
                                   .dt = TWO_PI / 40,
                                   .monitors = both,
                                   .n_monitors = 2,
                                   .lanes = lanes,
                                   .threads = threads};
    shoal_body *bodies = calloc(SYSTEMS * N, sizeof *bodies);
    passage *events = NULL;
    long n_moved = 1;
    assert_non_null(bodies);
    for (long s = 0; s < SYSTEMS; s++)
        resonant(context, s, bodies + s * N);
    struct motion motion = motion_begin(context, SYSTEMS, N, NULL, NULL, &options, bodies);
    for (int i = 1; cut == 2 && i < 50; i++)
        assert_ok(context, shoal_plan_integrate(motion.plan, options.t_end * i / 50.0));
    while (cut == 1 && n_moved > 0) {
        motion.plan->slice_steps = 7;
        assert_ok(context, shoal_plan_slice(motion.plan, options.t_end, &n_moved));
    }
    *n = 0;
    if (cut == 3) {
        assert_ok(context, shoal_plan_integrate(motion.plan, 0.4 * options.t_end));
        void *saved = malloc(shoal_plan_state_size(motion.plan));
        assert_non_null(saved);
        assert_ok(context, shoal_plan_state_save(motion.plan, saved));
        *n = n_passages(motion.plan);
        events = malloc((size_t)*n * sizeof *events);
        assert_non_null(events);
        for (long i = 0; i < *n; i++)
            events[i] = passage_at(motion.plan, i);
        motion_end(&motion);
        motion = motion_begin(context, SYSTEMS, N, NULL, NULL, &options, bodies);
        assert_ok(context, shoal_plan_state_load(motion.plan, saved));
        free(saved);
    }
    assert_ok(context, shoal_plan_integrate(motion.plan, options.t_end));
    events = realloc(events, (size_t)(*n + n_passages(motion.plan)) * sizeof *events);
    assert_non_null(events);
    for (long i = 0; i < n_passages(motion.plan); i++)
        events[(*n)++] = passage_at(motion.plan, i);
    for (long i = 1; i < *n && cut != 3; i++) /* of each system in order of time */
        for (long k = i - 1; k >= 0; k--)
            if (events[k].system == events[i].system) {
                assert_true(events[k].time <= events[i].time);
                break;
            }
    qsort(events, (size_t)*n, sizeof *events, by_system);
    motion_end(&motion);
    free(bodies);
    return events;
}

/* In one go each system has more of them than there is room for. */
static void no_transit_is_lost_or_doubled(void **state)
{
    static const char *const names[] = {"mvs", "hermite4_adaptive", "hybrid"};
    static const struct {
        int lanes, threads, cut;
    } rows[] = {{1, 1, 0}, {0, 2, 1}, {0, 1, 2}, {4, 2, 3}};
    for (int p = 0; p < SHOAL_COUNT(names); p++) {
        long n, m;
        passage *expected = run_cut(context_of(state), names[p], 0, 0, 0, &n);
        assert_true(n > SYSTEMS * (SHOAL_RECORDS_PAUSE + N + 10));
        for (int row = 0; row < SHOAL_COUNT(rows); row++) {
            const int lanes = INSTRUMENTED && p > 0 ? 0 : rows[row].lanes; /* that build has few kernels */
            passage *events = run_cut(context_of(state), names[p], lanes, rows[row].threads, rows[row].cut, &m);
            if (m != n)
                fail_msg("%s, row %d: %ld transits, expected %ld", names[p], row, m, n);
            for (long i = 0; i < n; i++)
                if (memcmp(&events[i], &expected[i], sizeof *events) != 0)
                    fail_msg("%s, row %d: transit %ld of system %ld at %.17g, expected that of system %ld at %.17g",
                             names[p], row, i, (long)events[i].system, events[i].time, (long)expected[i].system,
                             expected[i].time);
            free(events);
        }
        free(expected);
    }
}

/* The columns are what a straight line through the logged times says. */
static void the_line_is_that_of_the_times(void **state)
{
    shoal_context *context = context_of(state);
    shoal_body bodies[N];
    const shoal_options options = {
        .propagator = "saba", .t_end = 300 * TWO_PI, .dt = TWO_PI / 20, .monitors = &watch, .n_monitors = 1};
    resonant(context, 5, bodies);
    struct motion motion = motion_begin(context, 1, N, NULL, NULL, &options, bodies);
    assert_ok(context, shoal_plan_integrate(motion.plan, options.t_end));
    for (int body = 1; body < N; body++) {
        double number[400], time[400], at, period, c00, c01, c11, squares;
        char name[40];
        int n = 0;
        for (long i = 0; i < n_passages(motion.plan); i++) {
            const passage event = passage_at(motion.plan, i);
            if (event.body == body) {
                number[n] = n;
                time[n++] = event.time;
            }
        }
        assert_true(n > 80);
        gsl_fit_linear(number, 1, time, 1, (size_t)n, &at, &period, &c00, &c01, &c11, &squares);
        snprintf(name, sizeof name, "transits_%d", body);
        assert_true(shoal_plan_column(motion.plan, name, 0) == n);
        snprintf(name, sizeof name, "transit_first_%d", body);
        assert_true(shoal_plan_column(motion.plan, name, 0) == time[0]);
        snprintf(name, sizeof name, "transit_period_%d", body);
        assert_below(fabs(shoal_plan_column(motion.plan, name, 0) - period), 1e-12 * period, "body %d", body);
        snprintf(name, sizeof name, "ttv_rms_%d", body);
        const double rms = sqrt(squares / n), found = shoal_plan_column(motion.plan, name, 0);
        print_message("planet %d: %d transits, TTV %.3g of a period\n", body, n, rms / period);
        assert_true(rms > 1e-5 * period);
        assert_below(fabs(found - rms), 1e-9 * rms, "body %d", body);
    }
    motion_end(&motion);
}

/* With log = false the columns are the same, and there is no log. */
static void they_may_be_counted_alone(void **state)
{
    static const shoal_setting quiet = {"log", 0, NULL};
    const shoal_plug_options ways[2] = {watch, {"transits", &quiet, 1}};
    shoal_context *context = context_of(state);
    struct motion motion[2];
    for (int k = 0; k < 2; k++) {
        shoal_body bodies[N];
        const shoal_options options = {
            .propagator = "saba", .t_end = 30 * TWO_PI, .dt = TWO_PI / 20, .monitors = &ways[k], .n_monitors = 1};
        resonant(context, 5, bodies);
        motion[k] = motion_begin(context, 1, N, NULL, NULL, &options, bodies);
        assert_ok(context, shoal_plan_integrate(motion[k].plan, options.t_end));
    }
    assert_true(n_passages(motion[0].plan) > 50 && shoal_plan_n_logged(motion[1].plan, "transits") == 0);
    assert_true(motion[1].plan->args.n_watch < motion[0].plan->args.n_watch);
    static const char *const columns[] = {"transits_1", "transit_first_2", "transit_period_1", "ttv_rms_1",
                                          "ttv_rms_3"};
    for (int c = 0; c < SHOAL_COUNT(columns); c++) {
        const double expected = shoal_plan_column(motion[0].plan, columns[c], 0);
        assert_true(expected > 0 && shoal_plan_column(motion[1].plan, columns[c], 0) == expected);
    }
    motion_end(&motion[0]);
    motion_end(&motion[1]);
}

/* Passages of bodies before a star as dense states show them: g of some body passes from - to +, and it is nearer
 * than the star. */
static void every_passage_is_seen(shoal_context *context, const shoal_body *start, int star, double t_end, double dt,
                                  long of_body[3])
{
    enum { FINER = 20 };
    const shoal_setting which = {"star", star, NULL};
    const shoal_plug_options of = {"transits", &which, 1};
    const shoal_options options = {
        .propagator = "gauss_radau_fixed", .t_end = t_end, .dt = dt, .monitors = &of, .n_monitors = 1};
    const shoal_options dense = {.propagator = "gauss_radau_fixed", .t_end = t_end, .dt = dt};
    struct motion logged = motion_begin(context, 1, 3, NULL, NULL, &options, start);
    struct motion asked = motion_begin(context, 1, 3, NULL, NULL, &dense, start);
    sky before[3] = {{0}};
    long passed = 0;
    assert_ok(context, shoal_plan_integrate(logged.plan, t_end));
    const long n = n_passages(logged.plan), whole = (long)(t_end / dt);
    for (long k = 0; k <= FINER * whole; k++) {
        shoal_body bodies[3];
        const double t = dt * (double)k / FINER;
        assert_ok(context, shoal_plan_integrate(asked.plan, t));
        shoal_ensemble_get_bodies(asked.ensemble, 0, bodies);
        for (int i = 0; i < 3; i++) {
            const sky now = seen(&bodies[star], &bodies[i]);
            if (i != star && k > 0 && before[i].g < 0 && now.g >= 0 && now.z > 0) {
                int found = 0;
                for (long e = 0; e < n; e++) {
                    const passage event = passage_at(logged.plan, e);
                    found += event.body == i && event.star == star && event.time > t - 1.001 * dt / FINER &&
                             event.time < t + 1e-9;
                }
                if (found != 1)
                    fail_msg("star %d: body %d passes between %.9g and %.9g, logged %d times", star, i, t - dt / FINER,
                             t, found);
                of_body[i]++;
                passed++;
            }
            before[i] = now;
        }
    }
    assert_int_equal(passed, n);
    motion_end(&logged);
    motion_end(&asked);
}

/* A planet about two stars passes before both of them, the second star before the first and the first before the
 * second; and one about a star of an inclined binary, which pulls as much as it moves. */
static void two_stars(void **state)
{
    shoal_context *context = context_of(state);
    const shoal_orbit about_both[3] = {{0}, {.a = 1, .e = 0.2, .inc = 1.57}, {.a = 5, .inc = 1.56, .f = 1}};
    for (int star = 0; star < 2; star++) {
        shoal_body bodies[3] = {{.m = 1}, {.m = 0.5}, {.m = 1e-4}};
        long of_body[3] = {0};
        assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, 3, about_both, bodies));
        every_passage_is_seen(context, bodies, star, 30 * TWO_PI, 0.2, of_body);
        assert_true(of_body[1 - star] == 36 || of_body[1 - star] == 37); /* of a period of 1 / sqrt(1.5) years */
        assert_true(of_body[star] == 0 && of_body[2] >= 2);
    }
    for (int tilt = 0; tilt < 5; tilt++) {
        const shoal_orbit about_one[3] = {{0},
                                          {.a = 1.3, .e = 0.1, .inc = 0.4 + 0.2 * tilt, .omega = 1, .f = 1},
                                          {.a = 5, .e = 0.1, .inc = 1.3 - 0.2 * tilt, .f = 3}};
        shoal_body bodies[3] = {{.m = 1}, {.m = 1e-4}, {.m = 0.5}};
        long of_body[3] = {0};
        assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, 3, about_one, bodies));
        every_passage_is_seen(context, bodies, 2, 60 * TWO_PI, 0.25, of_body);
        print_message("%ld passages before the companion\n", of_body[1]);
        assert_true(of_body[1] > 5);
    }
}

/* A planet falls into its star in the step in which it would have passed before it: no transit after that, nor in
 * the columns of a system that ends. */
static void who_is_gone_does_not_transit(void **state)
{
    shoal_context *context = context_of(state);
    for (int merges = 0; merges < 2; merges++) {
        const shoal_setting action = {"action", merges, merges ? "merge" : "stop"};
        const shoal_plug_options both[] = {{"stop_on_collision", &action, 1}, watch};
        const shoal_options options = {
            .propagator = "leapfrog", .t_end = 4, .dt = 0.4, .monitors = both, .n_monitors = 2};
        /* the star's disc is entered at t = 0.9, its middle passed at 1: the step ends at 1.2; another planet passes
         * before it at 3 */
        const shoal_body start[3] = {
            {.m = 1e-9, .r = 0.1}, {.m = 1e-15, .x = -1, .z = 0.01, .vx = 1}, {.m = 1e-15, .x = -3, .z = 5, .vx = 1}};
        struct motion motion = motion_begin(context, 1, 3, NULL, NULL, &options, start);
        assert_ok(context, shoal_plan_integrate(motion.plan, 4));
        assert_int_equal(shoal_plan_n_events(motion.plan), 1);
        assert_int_equal(n_passages(motion.plan), merges);
        shoal_event first;
        assert_ok(context, shoal_plan_event(motion.plan, 0, &first));
        assert_int_equal(first.what, SHOAL_HIT_STAR);
        assert_below(fabs(first.time - (1 - sqrt(0.01 - 1e-4))), 1e-6, "hit");
        if (merges) {
            const passage second = passage_at(motion.plan, 0);
            assert_true(second.body == 2 && second.star == 0);
            assert_below(fabs(second.time - 3), 1e-5, "transit"); /* the star has a millionth of its speed */
        } else {
            assert_true(shoal_plan_column(motion.plan, "transits_1", 0) == 0);
        }
        motion_end(&motion);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kepler_orbits_transit_when_they_do),
        cmocka_unit_test(dust_transits_when_it_does),
        cmocka_unit_test(every_propagator_is_there_at_its_transits),
        cmocka_unit_test(long_steps_find_the_same_times),
        cmocka_unit_test(no_transit_is_lost_or_doubled),
        cmocka_unit_test(the_line_is_that_of_the_times),
        cmocka_unit_test(they_may_be_counted_alone),
        cmocka_unit_test(two_stars),
        cmocka_unit_test(who_is_gone_does_not_transit),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
