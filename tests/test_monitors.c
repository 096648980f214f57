/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_monitors.c: do the monitors end a system when, and only when, their criterion says so, and at the right moment?
 *
 * Straight lines (a star of no weight to speak of) give the moment of an event in closed form; where orbits are curved,
 * the state of an unwatched run at the time of the event must lie on the threshold. The theory of two planets (Gladman
 * 1993, Icarus 106, 247; Wisdom 1980, AJ 85, 1122) says which of them meet at all.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "systems.h"

#define MOST_BODIES 6

#define SLOW_DOWN (INSTRUMENTED ? 30 : 1)

#define assert_near(value, expected, tolerance)                                                    \
    do {                                                                                           \
        const double value_ = (value), expected_ = (expected), tolerance_ = (tolerance);           \
        if (!(fabs(value_ - expected_) <= tolerance_))                                             \
            fail_msg("%s = %.17g, expected %.17g +- %.2g", #value, value_, expected_, tolerance_); \
    } while (0)

#define assert_outcome(record, expected)                                                                             \
    do {                                                                                                             \
        if ((record).outcome != (expected))                                                                          \
            fail_msg("%s: %s at %.17g, expected %s", #record, shoal_outcome_name((record).outcome), (record).t_stop, \
                     shoal_outcome_name(expected));                                                                  \
    } while (0)

/* ---- runs -------------------------------------------------------------------------------------------------------- */

#define MONITORS(...)                                      \
    .monitors = (const shoal_plug_options[]){__VA_ARGS__}, \
    .n_monitors = SHOAL_COUNT(((const shoal_plug_options[]){__VA_ARGS__}))
#define SETTINGS(...) \
    .settings = (const shoal_setting[]){__VA_ARGS__}, .n_settings = SHOAL_COUNT(((const shoal_setting[]){__VA_ARGS__}))

/* clang-format off */
#define EJECTION(r_max_) {.name = "stop_on_ejection", SETTINGS({.name = "r_max", .value = (r_max_)})}
#define COLLISION {.name = "stop_on_collision"}
#define WITHIN(distance_)                                                                                   \
    {.name = "stop_on_encounter",                                                                           \
     SETTINGS({.name = "radius", .choice = "absolute"}, {.name = "distance", .value = (distance_)})}
/* clang-format on */

/* One system; its bodies stay as they are. */
static shoal_system watch(shoal_context *context, int n, const shoal_body *bodies, const shoal_options *options)
{
    shoal_body copy[MOST_BODIES];
    shoal_system record;
    memcpy(copy, bodies, (size_t)n * sizeof *copy);
    evolve_all(context, 1, n, NULL, NULL, options, copy, &record);
    return record;
}

/* The state at time t of a run that nobody watches, with steps of dt. */
static void unwatched(shoal_context *context, const char *propagator, int n, double dt, double t, shoal_body *bodies)
{
    const shoal_options options = {.propagator = propagator, .t_end = t, .dt = dt};
    shoal_system record;
    evolve_all(context, 1, n, NULL, NULL, &options, bodies, &record);
    assert_outcome(record, SHOAL_SURVIVED);
}

static double distance_of(const shoal_body *a, const shoal_body *b)
{
    return hypot(hypot(a->x - b->x, a->y - b->y), a->z - b->z);
}

/* ---- ejection ---------------------------------------------------------------------------------------------------- */

/* A star and a heavy inner planet; a light one outside, at distance r with velocity (radial, tangential). */
static void with_far_planet(double r, double radial, double tangential, shoal_body *bodies)
{
    memset(bodies, 0, 3 * sizeof *bodies);
    bodies[0].m = 1.0;
    bodies[1] = (shoal_body){.m = 1e-3, .x = 1.0, .vy = 1.0};
    bodies[2] = (shoal_body){.m = 1e-6, .x = -0.6 * r, .y = 0.8 * r};
    bodies[2].vx = -0.6 * radial - 0.8 * tangential;
    bodies[2].vy = 0.8 * radial - 0.6 * tangential;
}

static void only_unbound_bodies_beyond_the_limit_on_their_way_out_are_ejected(void **state)
{
    shoal_context *context = context_of(state);
    const double escape = sqrt(2.0 * 1.001 / 20.0); /* at r = 20 */
    static const char *const names[] = {"mvs", "hermite4", "leapfrog"};
    const struct {
        const char *what;
        double r, radial, tangential;
        bool by_energy, by_distance;
    } rows[] = {
        {"bound, far, outwards", 20.0, 0.3 * escape, 0.8 * escape, false, true},
        {"just bound, outwards", 20.0, 0.997 * escape, 0.0, false, true},
        {"just unbound, outwards", 20.0, 1.003 * escape, 0.0, true, true},
        {"bound, inwards", 20.0, -0.5 * escape, 0.2 * escape, false, false},
        {"unbound, inwards", 20.0, -1.5 * escape, 1.0 * escape, false, false},
        {"unbound, outwards, too near", 12.0, 0.1, 1.5, false, false},
        {"bound, near", 3.0, 0.0, 0.577, false, false},
    };
    for (int p = 0; p < SHOAL_COUNT(names); p++)
        for (int row = 0; row < SHOAL_COUNT(rows); row++)
            for (int by_distance = 0; by_distance < 2; by_distance++) {
                const bool gone = by_distance ? rows[row].by_distance : rows[row].by_energy;
                const shoal_options options = {
                    .propagator = names[p],
                    .t_end = 2.0,
                    .dt = 0.02,
                    MONITORS({.name = "stop_on_ejection",
                              SETTINGS({.name = "r_max", .value = 15.0},
                                       {.name = "criterion", .choice = by_distance ? "distance" : "energy"})})};
                shoal_body bodies[3];
                with_far_planet(rows[row].r, rows[row].radial, rows[row].tangential, bodies);
                const shoal_system record = watch(context, 3, bodies, &options);
                if (record.outcome != (gone ? SHOAL_EJECTED : SHOAL_SURVIVED))
                    fail_msg("%s, %s, by %s: %s", names[p], rows[row].what, by_distance ? "distance" : "energy",
                             shoal_outcome_name(record.outcome));
                if (gone) {
                    assert_int_equal(record.body_a, 2);
                    assert_int_equal(record.body_b, -1);
                    assert_true(record.t_stop > 0.0 && record.t_stop <= options.dt); /* the first step sees it */
                    assert_true(record.n_steps == 1.0);
                }
            }
}

/* A planet that flies out of r_max is ejected when it crosses it, forwards and backwards. */
static void a_body_is_ejected_when_it_crosses_the_limit(void **state)
{
    shoal_context *context = context_of(state);
    for (int sign = -1; sign <= 1; sign += 2) {
        shoal_body start[3], before[3], at[3], after[3];
        with_far_planet(5.0, 0.9 * sign, 0.1, start);
        const shoal_options options = {
            .propagator = "mvs", .t_end = 100.0 * sign, .dt = 0.05, MONITORS(EJECTION(10.0))};
        const shoal_system record = watch(context, 3, start, &options);
        assert_outcome(record, SHOAL_EJECTED);
        assert_int_equal(record.body_a, 2);
        const double end = record.n_steps * record.dt;
        memcpy(before, start, sizeof start);
        memcpy(at, start, sizeof start);
        memcpy(after, start, sizeof start);
        unwatched(context, "mvs", 3, options.dt, end - record.dt, before);
        unwatched(context, "mvs", 3, options.dt, record.t_stop, at);
        unwatched(context, "mvs", 3, options.dt, end, after);
        const double mass = 1.001; /* of the rest, whose barycentre is between the star and the inner planet */
        const struct {
            const shoal_body *bodies;
            bool beyond;
        } ends[] = {{before, false}, {after, true}};
        for (int k = 0; k < 2; k++) {
            const shoal_body *b = ends[k].bodies;
            const double x = (b[0].x + 1e-3 * b[1].x) / mass, y = (b[0].y + 1e-3 * b[1].y) / mass;
            assert_true((hypot(b[2].x - x, b[2].y - y) > 10.0) == ends[k].beyond);
        }
        assert_true((record.t_stop - (end - record.dt)) * sign >= 0.0 && (record.t_stop - end) * sign <= 1e-12);
        /* the time is that of the crossing: the tangent leaves the orbit by a h^2 / 2 at most, 1e-2 * 0.05^2 / 2
         * here */
        const double x = (at[0].x + 1e-3 * at[1].x) / mass, y = (at[0].y + 1e-3 * at[1].y) / mass;
        assert_true(fabs(hypot(at[2].x - x, at[2].y - y) - 10.0) < 1.3e-5);
    }
}

/* Body 0 is no exception: a light star that leaves a heavy pair is the body that is ejected. Of a star and its planet
 * the planet leaves, though the energy is the same from either side. */
static void the_body_that_leaves_is_named(void **state)
{
    shoal_context *context = context_of(state);
    const shoal_options options = {.propagator = "hermite4", .t_end = 1.0, .dt = 0.01, MONITORS(EJECTION(15.0))};
    const shoal_body light_star[3] = {{.m = 0.1, .x = 20.0, .vx = 2.0},
                                      {.m = 1.0, .x = -0.5, .vy = -sqrt(0.5)},
                                      {.m = 1.0, .x = 0.5, .vy = sqrt(0.5)}};
    const shoal_system star_leaves = watch(context, 3, light_star, &options);
    assert_outcome(star_leaves, SHOAL_EJECTED);
    assert_int_equal(star_leaves.body_a, 0);
    const shoal_body pair[2] = {{.m = 1.0}, {.m = 1e-3, .x = 20.0, .vx = 2.0}};
    const shoal_system planet_leaves = watch(context, 2, pair, &options);
    assert_outcome(planet_leaves, SHOAL_EJECTED);
    assert_int_equal(planet_leaves.body_a, 1);
    /* the planet carries most of the planets' mass: the rest of the star is far from it, too */
    const shoal_body giant[3] = {{.m = 1.0}, {.m = 1e-4, .x = 1.0, .vy = 1.0}, {.m = 1e-2, .x = 40.0, .vx = 2.0}};
    const shoal_system giant_leaves = watch(context, 3, giant, &options);
    assert_outcome(giant_leaves, SHOAL_EJECTED);
    assert_int_equal(giant_leaves.body_a, 2);
}

/* Dust that light drives out is ejected where it passes r_max, though without light it would be bound out to 50. */
static void dust_is_ejected_by_what_still_pulls_at_it(void **state)
{
    shoal_context *context = context_of(state);
    const shoal_body dust[2] = {{.m = 1.0}, {.x = 1.0, .vy = 1.0}};
    for (int heavy = 0; heavy < 2; heavy++) {
        const shoal_plug_options light = {
            "radiation", SETTINGS({.name = "beta", .value = heavy ? 0.49 : 0.51}, {.name = "drag", .value = 0})};
        const shoal_options options = {.propagator = "hermite4",
                                       .t_end = 60.0,
                                       .dt = 0.02,
                                       .forces = &light,
                                       .n_forces = 1,
                                       MONITORS(EJECTION(10.0))};
        const shoal_system record = watch(context, 2, dust, &options);
        assert_outcome(record, heavy ? SHOAL_SURVIVED : SHOAL_EJECTED);
        assert_true(heavy || record.t_stop < 40.0);
    }
}

/* ---- encounters and collisions on straight lines ----------------------------------------------------------------- */

/* A star of no weight, far off, and planets that fly straight on. Relative motion of bodies i, j: closest at time
 * `when` with distance `miss`, speed 1. */
static void straight(int i, int j, double when, double miss, double at, double r, shoal_body *bodies)
{
    bodies[0].m = 1e-20;
    bodies[0].z = -1e3;
    bodies[i] = (shoal_body){.x = 0.5 * when + at, .y = 0.0, .vx = -0.5, .r = r};
    bodies[j] = (shoal_body){.x = -0.5 * when + at, .y = miss, .vx = 0.5, .r = r};
}

static void straight_pair(double when, double miss, double r, shoal_body *bodies)
{
    memset(bodies, 0, 3 * sizeof *bodies);
    straight(1, 2, when, miss, 0.0, r, bodies);
}

/* Closest in the middle of a step at whose ends the pair is far apart; anywhere in a step; steps long and short. */
static void a_flyby_within_a_step_is_caught_at_its_root(void **state)
{
    static const char *const names[] = {"mvs", "hermite4", "leapfrog"};
    static const double steps[] = {0.01, 1.0, 7.0};
    shoal_context *context = context_of(state);
    for (int p = 0; p < SHOAL_COUNT(names); p++)
        for (int k = 0; k < SHOAL_COUNT(steps); k++)
            for (int phase = 0; phase < 10; phase++)
                for (int sign = -1; sign <= 1; sign += 2) {
                    const double when = sign * (14.0 + 0.1 * phase * steps[k]), miss = 0.003, within = 0.005;
                    const double root = when - sign * sqrt(within * within - miss * miss);
                    shoal_options options = {
                        .propagator = names[p], .t_end = 30.0 * sign, .dt = steps[k], MONITORS(WITHIN(within))};
                    shoal_body bodies[3];
                    straight_pair(when, miss, 0.0, bodies);
                    shoal_system record = watch(context, 3, bodies, &options);
                    assert_outcome(record, SHOAL_ENCOUNTER);
                    assert_near(record.t_stop, root, 1e-6 * steps[k]);
                    assert_int_equal(record.body_a, 1);
                    assert_int_equal(record.body_b, 2);
                    /* the same as a collision of two balls */
                    options.monitors = (const shoal_plug_options[]){COLLISION};
                    straight_pair(when, miss, 0.5 * within, bodies);
                    record = watch(context, 3, bodies, &options);
                    assert_outcome(record, SHOAL_COLLIDED);
                    assert_near(record.t_stop, root, 1e-6 * steps[k]);
                }
}

static void a_near_miss_is_none(void **state)
{
    shoal_context *context = context_of(state);
    for (int phase = 0; phase < 20; phase++) {
        const double when = 4.0 + 0.05 * phase, miss = 0.01;
        const struct {
            double reach;
            bool hit;
        } rows[] = {{miss * (1.0 - 1e-6), false}, {miss * (1.0 + 1e-6), true}};
        for (int row = 0; row < 2; row++) {
            shoal_options options = {.propagator = "mvs", .t_end = 10.0, .dt = 1.0, MONITORS(COLLISION)};
            shoal_body bodies[3];
            straight_pair(when, miss, 0.5 * rows[row].reach, bodies);
            assert_outcome(watch(context, 3, bodies, &options), rows[row].hit ? SHOAL_COLLIDED : SHOAL_SURVIVED);
            const shoal_plug_options within[] = {WITHIN(rows[row].reach)};
            options.monitors = within;
            assert_outcome(watch(context, 3, bodies, &options), rows[row].hit ? SHOAL_ENCOUNTER : SHOAL_SURVIVED);
        }
    }
    /* bodies without a radius never touch */
    const shoal_options options = {.propagator = "mvs", .t_end = 10.0, .dt = 1.0, MONITORS(COLLISION)};
    shoal_body bodies[3];
    straight_pair(4.5, 1e-9, 0.0, bodies);
    assert_outcome(watch(context, 3, bodies, &options), SHOAL_SURVIVED);
    /* factor scales the radii */
    const shoal_options doubled = {.propagator = "mvs",
                                   .t_end = 10.0,
                                   .dt = 1.0,
                                   MONITORS({.name = "stop_on_collision", SETTINGS({.name = "factor", .value = 2.0})})};
    straight_pair(4.5, 0.0, 0.05, bodies);
    const shoal_system record = watch(context, 3, bodies, &doubled);
    assert_outcome(record, SHOAL_COLLIDED);
    assert_near(record.t_stop, 4.5 - 0.2, 1e-9);
}

/* Inside from the start: at the start, whether the pair stays, comes nearer or leaves. */
static void inside_from_the_start(void **state)
{
    shoal_context *context = context_of(state);
    static const double whens[] = {-0.3, 0.0, 0.3};
    for (int k = 0; k < SHOAL_COUNT(whens); k++)
        for (int long_step = 0; long_step < 2; long_step++) {
            const shoal_options options = {
                .propagator = "mvs", .t_end = 10.0, .dt = long_step ? 2.0 : 0.1, MONITORS(WITHIN(0.5))};
            shoal_body bodies[3];
            straight_pair(whens[k], 0.1, 0.0, bodies);
            const shoal_system record = watch(context, 3, bodies, &options);
            assert_outcome(record, SHOAL_ENCOUNTER);
            assert_true(record.t_stop == 0.0);
            assert_true(record.n_steps == 1.0);
        }
}

/* Two events in one step: the earlier one is it, whatever the kind and the order of the monitors; at one moment, the
 * order of monitors/list.h. */
static void the_earlier_event_wins(void **state)
{
    shoal_context *context = context_of(state);
    for (int order = 0; order < 6; order++) {
        const shoal_plug_options each[] = {COLLISION, WITHIN(0.1), EJECTION(1e6)};
        static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
        const shoal_plug_options monitors[] = {each[orders[order][0]], each[orders[order][1]], each[orders[order][2]]};
        const shoal_options options = {
            .propagator = "mvs", .t_end = 10.0, .dt = 2.0, .monitors = monitors, .n_monitors = 3};
        for (int later = 0; later < 2; later++) {
            shoal_body bodies[5];
            memset(bodies, 0, sizeof bodies);
            /* bodies 1, 2 have a radius and touch at 5.0 or 5.6; 3, 4 have none and are within 0.1 at 5.3 */
            straight(1, 2, later ? 5.7 : 5.1, 0.0, 0.0, 0.05, bodies);
            straight(3, 4, 5.4, 0.0, 50.0, 0.0, bodies);
            const shoal_system record = watch(context, 5, bodies, &options);
            /* the colliding pair is within 0.1 when its balls of 0.05 touch: of one moment, collision is first in the
             * list */
            assert_outcome(record, later ? SHOAL_ENCOUNTER : SHOAL_COLLIDED);
            assert_near(record.t_stop, later ? 5.3 : 5.0, 1e-9);
            assert_int_equal(record.body_a, later ? 3 : 1);
            assert_int_equal(record.body_b, later ? 4 : 2);
        }
    }
    /* two encounters in a step, the pair that is later in the list being earlier in time */
    for (int first = 0; first < 2; first++) {
        const shoal_options options = {.propagator = "mvs", .t_end = 10.0, .dt = 2.0, MONITORS(WITHIN(0.01))};
        shoal_body bodies[5];
        memset(bodies, 0, sizeof bodies);
        straight(1, 2, first ? 4.9 : 4.4, 0.0, 0.0, 0.0, bodies);
        straight(3, 4, first ? 4.3 : 4.8, 0.0, 50.0, 0.0, bodies);
        const shoal_system record = watch(context, 5, bodies, &options);
        assert_int_equal(record.body_a, first ? 3 : 1);
        assert_near(record.t_stop, (first ? 4.3 : 4.4) - 0.01, 1e-9);
    }
    /* a body that is beyond r_max at the step's end, and a pair that meets in it */
    const shoal_options options = {
        .propagator = "mvs", .t_end = 10.0, .dt = 2.0, MONITORS(EJECTION(1010.0), WITHIN(0.01))};
    shoal_body bodies[5];
    memset(bodies, 0, sizeof bodies);
    straight(1, 2, 4.5, 0.0, 0.0, 0.0, bodies);
    bodies[3] = (shoal_body){.z = 5.0, .vz = 1.0}; /* 1010 from the star at t = 5 */
    bodies[4] = (shoal_body){.y = 77.0};
    assert_outcome(watch(context, 5, bodies, &options), SHOAL_ENCOUNTER);
}

/* ---- encounters on orbits ---------------------------------------------------------------------------------------- */

/* Two planets on neighbouring circles, the inner one catching up: their distance at t_stop, in a run that nobody
 * watches. */
static void the_hill_radii_are_as_defined(void **state)
{
    static const char *const names[] = {"mvs", "hermite4", "leapfrog"};
    static const struct {
        const char *radius;
        double m1, m2, factor;
    } rows[] = {{"mutual_hill", 1e-5, 3e-5, 1.0},
                {"mutual_hill", 1e-5, 3e-5, 2.5},
                {"hill", 1e-5, 3e-5, 1.5},
                {"hill", 3e-5, 1e-6, 2.0}};
    shoal_context *context = context_of(state);
    for (int p = 0; p < SHOAL_COUNT(names); p++)
        for (int row = 0; row < SHOAL_COUNT(rows); row++) {
            const double star = 0.7;
            const shoal_options options = {.propagator = names[p],
                                           .t_end = 40.0,
                                           .dt = 0.01,
                                           MONITORS({.name = "stop_on_encounter",
                                                     SETTINGS({.name = "radius", .choice = rows[row].radius},
                                                              {.name = "factor", .value = rows[row].factor})})};
            shoal_orbit orbit[3] = {{.a = 0}, {.a = 1.0}, {.a = 1.04, .f = 0.4}};
            shoal_body bodies[3] = {{.m = star}, {.m = rows[row].m1 * star}, {.m = rows[row].m2 * star}};
            assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_ASTROCENTRIC, 3, orbit, bodies));
            const shoal_system record = watch(context, 3, bodies, &options);
            assert_outcome(record, SHOAL_ENCOUNTER);
            assert_true(record.t_stop > 1.0);
            unwatched(context, names[p], 3, options.dt, record.t_stop, bodies);
            assert_ok(context, shoal_orbits_from_bodies(context, SHOAL_ASTROCENTRIC, 3, bodies, orbit));
            double radius;
            if (strcmp(rows[row].radius, "mutual_hill") == 0)
                radius = cbrt((bodies[1].m + bodies[2].m) / (3.0 * star)) * 0.5 * (orbit[1].a + orbit[2].a);
            else
                radius = fmax(cbrt(bodies[1].m / (3.0 * star)) * orbit[1].a,
                              cbrt(bodies[2].m / (3.0 * star)) * orbit[2].a);
            /* the axes change a little between the moment and the end of the step, for which they are taken */
            assert_near(distance_of(&bodies[1], &bodies[2]) / (rows[row].factor * radius), 1.0, 1e-3);
        }
}

/* A step of common length on curved orbits against one twenty times shorter, whose interpolation is 1e5 times
 * better. */
static void the_root_is_that_of_a_fine_integration(void **state)
{
    shoal_context *context = context_of(state);
    int n_met = 0;
    for (int phase = 0; phase < 16; phase++) {
        shoal_orbit orbit[3] = {{.a = 0},
                                {.a = 1.0, .e = 0.2, .f = 0.15 * phase},
                                {.a = 1.1, .e = 0.3, .omega = 1.0, .f = 0.25 * phase - 2.5}};
        shoal_body bodies[3] = {{.m = 1.0}};
        double root[2];
        assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_ASTROCENTRIC, 3, orbit, bodies));
        for (int fine = 0; fine < 2; fine++) {
            const shoal_options options = {
                .propagator = "mvs", .t_end = 50.0, .dt = fine ? 1e-3 : 2e-2, MONITORS(WITHIN(0.05))};
            const shoal_system record = watch(context, 3, bodies, &options);
            assert_true(fine == 0 || (record.outcome == SHOAL_ENCOUNTER) == isfinite(root[0]));
            root[fine] = record.outcome == SHOAL_ENCOUNTER ? record.t_stop : NAN;
        }
        if (isnan(root[0]))
            continue;
        n_met++;
        assert_near(root[0], root[1], 1e-6 * 2e-2);
        unwatched(context, "mvs", 3, 2e-2, root[1], bodies);
        assert_near(distance_of(&bodies[1], &bodies[2]), 0.05, 1e-8);
    }
    assert_true(n_met >= 6);
}

/* A planet that falls into its star of radius R: the time at which r = R, by Kepler's equation. */
static void a_planet_hits_its_star(void **state)
{
    static const char *const names[] = {"mvs", "hermite4", "leapfrog"};
    shoal_context *context = context_of(state);
    const double e = 0.9, R = 0.2, f = acos(((1.0 - e * e) / R - 1.0) / e);
    const double root = PI - shoal_mean_anomaly(e, f); /* from apocentre to r = R, inwards */
    for (int p = 0; p < SHOAL_COUNT(names); p++)
        for (int grazing = 0; grazing < 2; grazing++) {
            /* the pericentre is at 0.1: stars of half that size are missed */
            const shoal_options options = {.propagator = names[p], .t_end = 7.0, .dt = 1e-3, MONITORS(COLLISION)};
            shoal_body bodies[3] = {{.m = 1.0, .r = grazing ? 0.0999 : 0.15}, {.r = grazing ? 0.0 : 0.05}, {.r = 0.01}};
            const shoal_orbit orbit[3] = {{.a = 0}, {.a = 1.0, .e = e, .f = PI}, {.a = 30.0}};
            assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_ASTROCENTRIC, 3, orbit, bodies));
            const shoal_system record = watch(context, 3, bodies, &options);
            assert_outcome(record, grazing ? SHOAL_SURVIVED : SHOAL_HIT_STAR);
            if (!grazing) {
                assert_int_equal(record.body_a, 0);
                assert_int_equal(record.body_b, 1);
                assert_near(record.t_stop, root, strcmp(names[p], "leapfrog") == 0 ? 1e-4 : 1e-9);
            }
        }
}

/* Pairs of planets only: the star is no partner of an encounter. */
static void the_star_has_no_encounters(void **state)
{
    shoal_context *context = context_of(state);
    const shoal_options options = {.propagator = "mvs", .t_end = 10.0, .dt = 0.01, MONITORS(WITHIN(0.5))};
    shoal_body bodies[3] = {{.m = 1.0}};
    const shoal_orbit orbit[3] = {{.a = 0}, {.a = 0.2}, {.a = 3.0}};
    assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_ASTROCENTRIC, 3, orbit, bodies));
    assert_outcome(watch(context, 3, bodies, &options), SHOAL_SURVIVED);
}

/* ---- theory ------------------------------------------------------------------------------------------------------ */

/* How many pairs of planets on circles, a2/a1 - 1 = spacing of the system, meet within ten thousand orbits? They start
 * out of conjunction, where a circle about the star alone is a circle for some time. */
static long pairs_that_meet(shoal_context *context, long n_systems, double mu1, double mu2, const double *spacing)
{
    shoal_body *bodies = calloc((size_t)(3 * n_systems), sizeof *bodies);
    shoal_system *records = calloc((size_t)n_systems, sizeof *records);
    long n_met = 0;
    assert_non_null(bodies);
    assert_non_null(records);
    for (long s = 0; s < n_systems; s++) {
        const shoal_orbit orbit[3] = {
            {.a = 0}, {.a = 1.0}, {.a = 1.0 + spacing[s], .f = 0.5 + (TWO_PI - 1.0) * uniform(s, 1)}};
        bodies[3 * s].m = 1.0;
        bodies[3 * s + 1].m = mu1;
        bodies[3 * s + 2].m = mu2;
        assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_ASTROCENTRIC, 3, orbit, bodies + 3 * s));
    }
    const shoal_options options = {.propagator = "mvs",
                                   .t_end = 1e4 * TWO_PI / SLOW_DOWN,
                                   .dt = TWO_PI / 20,
                                   MONITORS({.name = "stop_on_encounter", .n_settings = 0})};
    evolve_all(context, n_systems, 3, NULL, NULL, &options, bodies, records);
    for (long s = 0; s < n_systems; s++) {
        if (records[s].outcome != SHOAL_ENCOUNTER)
            assert_outcome(records[s], SHOAL_SURVIVED);
        n_met += records[s].outcome == SHOAL_ENCOUNTER;
    }
    free(bodies);
    free(records);
    return n_met;
}

static void hill_stable_pairs_never_meet_and_overlapping_ones_do(void **state)
{
    enum { SYSTEMS = 64 };
    static const double masses[][2] = {{1e-5, 1e-5}, {1e-4, 1e-5}, {5e-5, 0.0}, {5e-4, 5e-4}};
    shoal_context *context = context_of(state);
    for (int row = 0; row < SHOAL_COUNT(masses); row++) {
        const double mu1 = masses[row][0], mu2 = masses[row][1], mu = mu1 + mu2;
        /* the limit is 2 sqrt 3 mutual Hill radii, 2.40 mu^(1/3) of the mean of the axes; of a1 it is that to lowest
         * order */
        const double of_mean = 2.40 * cbrt(mu), gladman = of_mean / (1.0 - 0.5 * of_mean),
                     wisdom = 1.3 * pow(mu, 2.0 / 7.0);
        double spacing[SYSTEMS];
        for (int s = 0; s < SYSTEMS; s++)
            spacing[s] = gladman * (1.02 + 0.3 * uniform(s, 2));
        const long apart = pairs_that_meet(context, SYSTEMS, mu1, mu2, spacing);
        /* not so near that they share an orbit: horseshoes do not meet either */
        const double hill = cbrt(mu / 3.0);
        for (int s = 0; s < SYSTEMS; s++)
            spacing[s] = 1.6 * hill + (fmin(wisdom, 0.95 * gladman) - 1.6 * hill) * uniform(s, 2);
        const long close = pairs_that_meet(context, SYSTEMS, mu1, mu2, spacing);
        print_message("mu %g + %g: beyond Gladman's %.4f %ld of %d meet, within Wisdom's %.4f %ld\n", mu1, mu2, gladman,
                      apart, SYSTEMS, wisdom, close);
        assert_int_equal(apart, 0);
        assert_true(close > 0.6 * SYSTEMS);
    }
}

/* ---- mean motion ------------------------------------------------------------------------------------------------- */

/* Run a system with mean_motion_drift; the two columns. */
static void drift_of(shoal_context *context, int n, const shoal_body *bodies, const shoal_options *options,
                     double *drift, double *motion)
{
    shoal_ensemble *ensemble = NULL;
    shoal_plan *plan = NULL;
    shoal_options on_cpu = *options;
    on_cpu.engine = "cpu";
    assert_ok(context, shoal_ensemble_create(context, 1, n, &ensemble));
    assert_ok(context, shoal_ensemble_set_bodies(ensemble, 0, n, bodies));
    assert_ok(context, shoal_plan_create(context, ensemble, &on_cpu, &plan));
    assert_ok(context, shoal_plan_integrate(plan, options->t_end));
    *drift = shoal_plan_column(plan, "mean_motion_drift", 0);
    *motion = shoal_plan_column(plan, "mean_motion", 0);
    assert_true(isnan(shoal_plan_column(plan, "no_such_column", 0)));
    shoal_plan_destroy(&plan);
    shoal_ensemble_destroy(&ensemble);
}

static void an_unperturbed_planet_does_not_drift(void **state)
{
    shoal_context *context = context_of(state);
    double worst = 0.0;
    for (int every = 1; every <= 7; every += 3)
        for (int k = 0; k < 4; k++) {
            const double mass = 1.0 + 0.5 * k, a = 0.8 + 0.3 * k;
            const shoal_options options = {
                .propagator = "mvs",
                .t_end = k % 2 ? -600.0 : 600.0,
                .dt = 0.2,
                MONITORS({.name = "mean_motion_drift",
                          SETTINGS({.name = "body", .value = 1}, {.name = "every", .value = every})})};
            shoal_body bodies[3] = {{.m = mass}};
            const shoal_orbit orbit[3] = {{.a = 0}, {.a = a, .e = 0.2 * k, .inc = 0.3, .f = 1.0}, {.a = 9.0}};
            double drift, motion;
            assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, 3, orbit, bodies));
            drift_of(context, 3, bodies, &options, &drift, &motion);
            worst = fmax(worst, drift);
            assert_near(drift, 0.0, 1e-12);
            assert_near(motion / (sqrt(mass / a) / a), 1.0, 1e-12);
        }
    print_message("drift of the mean motion of a lone planet: at most %.1e\n", worst);
}

/* A run whose steps are used up within the second half: what is left of it has no average. */
static void half_a_half_has_no_drift(void **state)
{
    const shoal_body bodies[3] = {{.m = 1}, {.m = 1e-4, .x = 1, .vy = 1.02}, {.m = 1e-4, .x = -3, .vy = -0.6}};
    for (int whole = 0; whole < 2; whole++) {
        const shoal_options options = {.propagator = "mvs",
                                       .t_end = 600.0,
                                       .dt = 0.2,
                                       .max_steps = whole ? 3000 : 2600,
                                       MONITORS({.name = "mean_motion_drift"})};
        double drift, motion;
        drift_of(context_of(state), 3, bodies, &options, &drift, &motion);
        assert_true(isfinite(motion) && isfinite(drift) == whole);
    }
}

/* The Jacobi mean motion of the outer planet counts the inner one's mass; default body: the last. A planet that is
 * pulled about drifts, one that is left alone less. */
static void the_drift_tells_chaos_from_order(void **state)
{
    shoal_context *context = context_of(state);
    double drift[2], motion[2];
    for (int close = 0; close < 2; close++) {
        const shoal_options options = {
            .propagator = "mvs", .t_end = 2000.0 * TWO_PI, .dt = TWO_PI / 25, MONITORS({.name = "mean_motion_drift"})};
        shoal_body bodies[3] = {{.m = 1.0}, {.m = 1e-4}, {.m = 1e-4}};
        const shoal_orbit orbit[3] = {{.a = 0}, {.a = 1.0, .e = 0.05}, {.a = close ? 1.12 : 2.2, .e = 0.05, .f = 2.0}};
        assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, 3, orbit, bodies));
        drift_of(context, 3, bodies, &options, &drift[close], &motion[close]);
    }
    print_message("drift of a quiet planet %.1e, of a chaotic one %.1e\n", drift[0], drift[1]);
    assert_near(motion[0] / (sqrt(1.0002 / 2.2) / 2.2), 1.0, 1e-3);
    assert_true(drift[0] < 1e-7);
    assert_true(drift[1] > 1e-4);
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

static void survivors_and_broken_systems(void **state)
{
    shoal_context *context = context_of(state);
    for (int p = 0; shoal_plugs_of(NULL)->propagators[p]; p++)
        for (int watched = 0; watched < 2; watched++) {
            const double t_end = 7.013;
            shoal_options options = {
                .propagator = shoal_plugs_of(NULL)->propagators[p]->name, .t_end = t_end, .dt = 0.05, .engine = "cpu"};
            const shoal_plug_options monitors[] = {EJECTION(100.0), COLLISION};
            if (watched) {
                options.monitors = monitors;
                options.n_monitors = SHOAL_COUNT(monitors);
            }
            shoal_ensemble *ensemble = NULL;
            shoal_plan *plan = NULL;
            const shoal_orbit orbit[3] = {{.a = 0}, {.a = 1.0, .e = 0.1}, {.a = 2.0}};
            shoal_body bodies[3] = {{.m = 1.0, .r = 0.01}, {.m = 1e-4, .r = 1e-4}, {.m = 1e-4, .r = 1e-4}};
            assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, 3, orbit, bodies));
            assert_ok(context, shoal_ensemble_create(context, 20, 3, &ensemble));
            for (long s = 0; s < 19; s++) /* the last one is never set */
                assert_ok(context, shoal_ensemble_set_bodies(ensemble, s, 3, bodies));
            *shoal_ensemble_body(ensemble, 1, SHOAL_VX, 3) = NAN;
            *shoal_ensemble_body(ensemble, 2, SHOAL_Y, 4) = INFINITY;
            *shoal_ensemble_body(ensemble, 0, SHOAL_Z, 11) = NAN;
            assert_ok(context, shoal_plan_create(context, ensemble, &options, &plan));
            for (long s = 0; s < 20; s++) {
                shoal_system record;
                shoal_ensemble_get_system(ensemble, s, &record);
                assert_outcome(record, s < 19 ? SHOAL_RUNNING : SHOAL_INVALID);
                assert_true(isnan(record.t_stop));
            }
            assert_ok(context, shoal_plan_integrate(plan, t_end));
            for (long s = 0; s < 20; s++) {
                shoal_system record;
                shoal_ensemble_get_system(ensemble, s, &record);
                if (s == 3 || s == 4 || s == 11) {
                    assert_outcome(record, SHOAL_NONFINITE);
                    assert_true(record.t_stop > 0.0 && record.t_stop <= 3 * options.dt);
                } else if (s < 19) {
                    assert_outcome(record, SHOAL_SURVIVED);
                    assert_true(record.t_stop == t_end && record.time == t_end);
                    assert_true(record.n_steps == 140.0 || shoal_plugs_of(NULL)->propagators[p]->adaptive);
                    assert_int_equal(record.body_a, -1);
                    assert_int_equal(record.body_b, -1);
                } else {
                    assert_outcome(record, SHOAL_INVALID);
                    assert_true(record.n_steps == 0.0);
                }
            }
            shoal_plan_destroy(&plan);
            shoal_ensemble_destroy(&ensemble);
        }
}

/* ---- plans ------------------------------------------------------------------------------------------------------- */

/* A plunging planet passes its pericentre, below the star's surface, between two steps of any phase. */
static void a_pericentre_inside_a_step_hits_the_star(void **state)
{
    shoal_context *context = context_of(state);
    for (int inside = 0; inside < 2; inside++)
        for (int phase = 0; phase < 16; phase++) {
            shoal_body bodies[2] = {{.m = 1.0, .r = inside ? 0.0047 : 0.0009}, {.m = 1e-6}};
            shoal_orbit orbits[2] = {{0}, {.a = 1.0, .e = 0.999}};
            orbits[1].f = shoal_true_anomaly(0.999, M_PI + 0.02 * phase);
            assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, 2, orbits, bodies));
            const shoal_options options = {
                .propagator = "mvs", .t_end = 2 * M_PI, .dt = M_PI / 10, MONITORS(COLLISION)};
            const shoal_system record = watch(context, 2, bodies, &options);
            assert_outcome(record, inside ? SHOAL_HIT_STAR : SHOAL_SURVIVED);
        }
}

/* The cubic of a step that is long beside the star's size cuts the corner there: it tells nothing. One planet alone is
 * moved exactly. */
static void no_corner_is_cut(void **state)
{
    static const struct {
        const char *name;
        double e, M, steps, r;
        enum shoal_outcome outcome;
    } rows[] = {{"mvs", 0.8, 3.0, 20, 0.16, SHOAL_SURVIVED},
                {"mvs", 0.8, 3.0, 20, 0.21, SHOAL_HIT_STAR},
                {"mvs", 0.95, 3.0, 100, 0.04, SHOAL_SURVIVED},
                {"mvs", 0.95, 3.0, 100, 0.051, SHOAL_HIT_STAR},
                {"saba", 0.0, 0.0, 6, 0.998, SHOAL_SURVIVED},
                {"saba", 0.0, 0.0, 6, 1.002, SHOAL_HIT_STAR},
                /* from just before pericentre far out; from within the star */
                {"mvs", 0.8, -0.02, 6, 0.22, SHOAL_HIT_STAR},
                {"mvs", 0.8, 0.01, 6, 0.21, SHOAL_HIT_STAR}};
    shoal_context *context = context_of(state);
    for (int i = 0; i < SHOAL_COUNT(rows); i++) {
        shoal_body bodies[2] = {{.m = 1.0, .r = rows[i].r}, {.m = 0}};
        const shoal_orbit orbits[2] = {{0}, {.a = 1.0, .e = rows[i].e, .f = shoal_true_anomaly(rows[i].e, rows[i].M)}};
        assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, 2, orbits, bodies));
        const shoal_options options = {
            .propagator = rows[i].name, .t_end = 40 * TWO_PI, .dt = TWO_PI / rows[i].steps, MONITORS(COLLISION)};
        const shoal_system record = watch(context, 2, bodies, &options);
        if (record.outcome != rows[i].outcome)
            fail_msg("%s, e = %g, r = %g: outcome %d", rows[i].name, rows[i].e, rows[i].r, record.outcome);
    }
}

/* The distance of a planet of two stars from one of them has minima far from any pericentre: nothing is hit there. */
static void a_planet_of_two_stars_hits_none(void **state)
{
    enum { PHASES = 16 };
    shoal_context *context = context_of(state);
    const shoal_plug_options collision = COLLISION;
    for (int k = 0; k < PHASES; k++) {
        const shoal_orbit orbits[3] = {{0}, {.a = 1}, {.a = 4, .f = TWO_PI * k / PHASES}};
        shoal_body bodies[3] = {{.m = 0.5, .r = 0.05}, {.m = 0.5, .r = 0.05}, {.m = 0}};
        assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, 3, orbits, bodies));
        const shoal_options options = {.propagator = "hermite4",
                                       .monitors = &collision,
                                       .n_monitors = 1,
                                       .dt = TWO_PI / 200,
                                       .t_end = 50 * TWO_PI};
        const shoal_system end = watch(context, 3, bodies, &options);
        assert_int_equal(end.outcome, SHOAL_SURVIVED);
    }
}

/* Make a plan for one two-body system. */
static shoal_status plan_pair(shoal_context *context, const shoal_system *begin, int room, const shoal_options *options,
                              shoal_ensemble **ensemble, shoal_plan **plan)
{
    const shoal_body start[2] = {{.m = 1.0}, {.m = 1e-3, .x = 1.0, .vy = 1.0}};
    if (!*ensemble)
        assert_ok(context, shoal_ensemble_create(context, 1, room, ensemble));
    assert_ok(context, shoal_ensemble_set_bodies(*ensemble, 0, 2, start));
    shoal_ensemble_set_system(*ensemble, 0, begin);
    return shoal_plan_create(context, *ensemble, options, plan);
}

/* Steps are counted right where a time is many times larger than a step. */
static void large_times_are_reached(void **state)
{
    shoal_context *context = context_of(state);
    for (int k = 1; k <= 300; k++) {
        const double t_start = 2451545.0, dt = 0.00123 * k, t_end = t_start + 20 * dt;
        const shoal_options options = {.propagator = "mvs", .t_end = t_end, .dt = dt, .engine = "cpu"};
        const shoal_system begin = {.t_start = t_start};
        shoal_ensemble *ensemble = NULL;
        shoal_plan *plan = NULL;
        shoal_system record;
        assert_ok(context, plan_pair(context, &begin, 2, &options, &ensemble, &plan));
        assert_ok(context, shoal_plan_integrate(plan, t_end));
        shoal_ensemble_get_system(ensemble, 0, &record);
        assert_outcome(record, SHOAL_SURVIVED);
        assert_true(record.n_steps == 20 && record.time == t_end);
        shoal_plan_destroy(&plan);
        shoal_ensemble_destroy(&ensemble);
    }
}

/* A refused plan leaves the ensemble as it was, and an ensemble that a plan has advanced is not taken by another. */
static void plans_are_refused_before_they_change_anything(void **state)
{
    shoal_context *context = context_of(state);
    const shoal_system begin = {.dt = 0.01};
    shoal_options options = {.propagator = "mvs", .t_end = -1.0, .dt = 0.5, .engine = "gpu"};
    shoal_ensemble *ensemble = NULL;
    shoal_plan *plan = NULL;
    shoal_system record;
    assert_int_equal(plan_pair(context, &begin, 2, &options, &ensemble, &plan), SHOAL_E_USAGE);
    shoal_ensemble_get_system(ensemble, 0, &record);
    assert_true(record.dt == 0.01);
    options.engine = "cpu";
    assert_ok(context, plan_pair(context, &begin, 2, &options, &ensemble, &plan));
    assert_ok(context, shoal_plan_integrate(plan, -0.75));
    shoal_plan_destroy(&plan);
    assert_int_equal(shoal_plan_create(context, ensemble, &options, &plan), SHOAL_E_USAGE);
    assert_non_null(strstr(shoal_context_message(context), "has been integrated: set its bodies anew"));
    assert_ok(context, plan_pair(context, &begin, 2, &options, &ensemble, &plan)); /* its bodies set anew */
    shoal_plan_destroy(&plan);
    shoal_ensemble_destroy(&ensemble);
}

/* A word chooses where there is a choice, of numbers, too; elsewhere it is refused. */
static void words_are_for_choices(void **state)
{
    static const struct {
        const char *name, *word, *message;
        double value;
    } rows[] = {{"corrector", "3", NULL, 3},
                {"kernel", "lazy", NULL, 1},
                {"corrector", "4", "corrector = '4': expected one of 0|3|5|7|11|17", 0},
                {"compensated", "yes", "compensated = 'yes': expected a number", 0},
                {"kernel", "lzay", "expected one of standard|lazy", 0}};
    shoal_context *context = context_of(state);
    for (int i = 0; i < SHOAL_COUNT(rows); i++) {
        const shoal_setting word = {rows[i].name, 17, rows[i].word};
        const shoal_options options = {
            .propagator = "mvs_jacobi", .settings = &word, .n_settings = 1, .t_end = 1, .dt = 0.1, .engine = "cpu"};
        const shoal_system begin = {.dt = 0.1};
        shoal_ensemble *ensemble = NULL;
        shoal_plan *plan = NULL;
        const shoal_status status = plan_pair(context, &begin, 2, &options, &ensemble, &plan);
        assert_int_equal(status, rows[i].message ? SHOAL_E_USAGE : SHOAL_OK);
        if (rows[i].message && !strstr(shoal_context_message(context), rows[i].message))
            fail_msg("%s", shoal_context_message(context));
        for (int p = 0; !rows[i].message && p < plan->propagator->n_parameters; p++)
            if (strcmp(plan->propagator->parameters[p].name, rows[i].name) == 0)
                assert_true(plan->args.propagator[p] == rows[i].value);
        shoal_plan_destroy(&plan);
        shoal_ensemble_destroy(&ensemble);
    }
}

/* mean_motion_drift of a body that is not there is an empty column. */
static void an_absent_body_has_no_mean_motion(void **state)
{
    shoal_context *context = context_of(state);
    const shoal_system begin = {0};
    const shoal_options options = {
        .propagator = "mvs", .t_end = 10.0, .dt = 0.1, .engine = "cpu", MONITORS({.name = "mean_motion_drift"})};
    shoal_ensemble *ensemble = NULL;
    shoal_plan *plan = NULL;
    assert_ok(context, plan_pair(context, &begin, 4, &options, &ensemble, &plan));
    assert_ok(context, shoal_plan_integrate(plan, 10.0));
    assert_true(isnan(shoal_plan_column(plan, "mean_motion_drift", 0)));
    shoal_plan_destroy(&plan);
    shoal_ensemble_destroy(&ensemble);
}

/* ---- the guard of pairs ------------------------------------------------------------------------------------------ */

enum { GUARDED = 96 };

/* Each semi-major axis is spacing .. spacing + 0.3 times the one before, eccentricities are up to 7 e. Those of large
 * e cross: all kinds of encounters. */
static void with_orbits(shoal_context *context, double spacing, double e, shoal_body bodies[GUARDED][4])
{
    for (int i = 0; i < GUARDED; i++) {
        planetary_system(context, i, 4, i % 2 ? 1e-3 : 1e-5, spacing + 0.3 * uniform(i, 1), e * (i % 8), bodies[i]);
        for (int body = 0; body < 4; body++)
            bodies[i][body].r = body == 0 ? 0.3 : 0.02;
    }
}

/* What monitors say of all systems: outcomes, then columns; and how many systems ended. */
static int ask_all(shoal_context *context, const shoal_options *options, const char *const *columns,
                   shoal_body bodies[GUARDED][4], double said[GUARDED][12])
{
    int n_ended = 0;
    struct motion motion = motion_begin(context, GUARDED, 4, NULL, NULL, options, bodies[0]);
    assert_ok(context, shoal_plan_integrate(motion.plan, options->t_end));
    for (long i = 0; i < GUARDED; i++) {
        shoal_system record;
        shoal_ensemble_get_system(motion.ensemble, i, &record);
        n_ended += record.outcome != SHOAL_SURVIVED;
        said[i][0] = record.outcome;
        said[i][1] = record.t_stop;
        said[i][2] = 100 * record.body_a + record.body_b;
        for (int c = 0; columns[c]; c++)
            said[i][3 + c] = shoal_plan_column(motion.plan, columns[c], i);
    }
    motion_end(&motion);
    return n_ended;
}

/* The sets of monitors: SEEKS with the closest approach, for which the guard seldom sleeps. */
enum { SEEKS = 3, SETS = 5 };

/* With one of the sets. `transits` must see every step, and nobody sleeps beside it. */
static int ask_awake(shoal_context *context, int set, bool awake, shoal_options options, shoal_body bodies[GUARDED][4],
                     double said[GUARDED][12])
{
    static const char *const columns[] = {"closest_0_1",    "closest_1_2",       "closest_hill_1_3", "closest_time_2_3",
                                          "min_separation", "mean_motion_drift", "dE_max",           NULL};
    const shoal_plug_options encounter = {.name = "stop_on_encounter", SETTINGS({.name = "factor", .value = 0.5})};
    const shoal_plug_options ends[SETS] = {COLLISION,
                                           encounter,
                                           {.name = "stop_on_encounter", SETTINGS({.name = "action", .choice = "log"})},
                                           COLLISION,
                                           encounter};
    const int first = set < SEEKS ? 0 : 1;
    const shoal_plug_options monitors[] = {
        {.name = "closest_approach", SETTINGS({.name = "central", .value = set % 2})},
        {.name = "mean_motion_drift", SETTINGS({.name = "every", .value = 1 + 3 * set})},
        {.name = "energy_error", SETTINGS({.name = "every", .value = 7})},
        ends[set],
        {.name = "transits"}};
    options.monitors = monitors + first;
    options.n_monitors = SHOAL_COUNT(monitors) - first - !awake;
    return ask_all(context, &options, columns + (first ? 5 : 0), bodies, said);
}

static void assert_same_said(double a[GUARDED][12], double b[GUARDED][12], const char *name, const char *how)
{
    for (int i = 0; i < GUARDED; i++)
        for (int q = 0; q < 10; q++)
            if (memcmp(&a[i][q], &b[i][q], sizeof(double)) != 0)
                fail_msg("%s, %s, system %d, value %d: %.17g, but %.17g of all steps", name, how, i, q, a[i][q],
                         b[i][q]);
}

static void monitors_that_sleep_miss_nothing(void **state)
{
    shoal_context *context = context_of(state);
    static const char *const names[] = {"mvs", "hybrid", "hermite4", "leapfrog", "hermite4_adaptive", "whckl"};
    static shoal_body bodies[GUARDED][4];
    static double asleep[GUARDED][12], awake[GUARDED][12];
    for (int p = 0; p < SHOAL_COUNT(names); p++)
        for (int set = 0; set < SETS; set++) {
            const shoal_options options = {.propagator = names[p],
                                           .t_end = INSTRUMENTED ? 20 : 200.1,
                                           .dt = strchr(names[p], '_') ? 0
                                                 : p == 2 || p == 3    ? 0.01
                                                                       : 0.25};
            with_orbits(context, set < SEEKS ? 1.1 : 1.2, set < SEEKS ? 0.1 : 0.02, bodies);
            const int n_ended = ask_awake(context, set, false, options, bodies, asleep);
            assert_true(set == 2 || INSTRUMENTED || n_ended > GUARDED / 20);
            assert_int_equal(ask_awake(context, set, true, options, bodies, awake), n_ended);
            assert_same_said(asleep, awake, names[p], "asleep");
        }
}

static void monitors_that_sleep_miss_nothing_on_a_gpu(void **state)
{
    shoal_context *context = context_of(state);
    static const char *const names[] = {"mvs", "hybrid", "hermite4", "mvs_jacobi", "whckl"};
    static const char *const models[] = {"system", "body"};
    static shoal_body bodies[GUARDED][4];
    static double asleep[GUARDED][12], awake[GUARDED][12];
    const char *only = getenv("SHOAL_TEST_PROPAGATOR");
    const bool emulated = getenv("EMULATOR") != NULL; /* there, kernels take long to compile */
    need_gpu();
    for (int p = 0; p < SHOAL_COUNT(names); p++)
        for (int set = emulated; set < SETS && (!only || strcmp(only, names[p]) == 0); set += emulated ? SEEKS : 1) {
            shoal_options options = {.propagator = names[p], .t_end = 20.1, .dt = 0.25, .engine = "cuda"};
            options.dt = strcmp(names[p], "hermite4") == 0 ? 0.01 : 0.25;
            options.work_model = "system";
            with_orbits(context, set < SEEKS ? 1.1 : 1.2, set < SEEKS ? 0.1 : 0.02, bodies);
            const int n_ended = ask_awake(context, set, true, options, bodies, awake);
            for (int w = 0; w < SHOAL_COUNT(models); w++) {
                options.work_model = models[w];
                assert_int_equal(ask_awake(context, set, false, options, bodies, asleep), n_ended);
                assert_same_said(asleep, awake, names[p], models[w]);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_unbound_bodies_beyond_the_limit_on_their_way_out_are_ejected),
        cmocka_unit_test(a_body_is_ejected_when_it_crosses_the_limit),
        cmocka_unit_test(the_body_that_leaves_is_named),
        cmocka_unit_test(dust_is_ejected_by_what_still_pulls_at_it),
        cmocka_unit_test(a_flyby_within_a_step_is_caught_at_its_root),
        cmocka_unit_test(a_near_miss_is_none),
        cmocka_unit_test(inside_from_the_start),
        cmocka_unit_test(the_earlier_event_wins),
        cmocka_unit_test(the_hill_radii_are_as_defined),
        cmocka_unit_test(the_root_is_that_of_a_fine_integration),
        cmocka_unit_test(a_planet_hits_its_star),
        cmocka_unit_test(the_star_has_no_encounters),
        cmocka_unit_test(hill_stable_pairs_never_meet_and_overlapping_ones_do),
        cmocka_unit_test(an_unperturbed_planet_does_not_drift),
        cmocka_unit_test(half_a_half_has_no_drift),
        cmocka_unit_test(the_drift_tells_chaos_from_order),
        cmocka_unit_test(survivors_and_broken_systems),
        cmocka_unit_test(a_pericentre_inside_a_step_hits_the_star),
        cmocka_unit_test(no_corner_is_cut),
        cmocka_unit_test(a_planet_of_two_stars_hits_none),
        cmocka_unit_test(large_times_are_reached),
        cmocka_unit_test(plans_are_refused_before_they_change_anything),
        cmocka_unit_test(words_are_for_choices),
        cmocka_unit_test(an_absent_body_has_no_mean_motion),
        cmocka_unit_test(monitors_that_sleep_miss_nothing),
        cmocka_unit_test(monitors_that_sleep_miss_nothing_on_a_gpu),
    };
    cmocka_set_test_filter(getenv("SHOAL_TEST_NAME"));
    return cmocka_run_group_tests_name("monitors", tests, setup, teardown);
}
