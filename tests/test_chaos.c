/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_chaos.c: are frequencies those of a Fourier analysis of dense output? Do the indicators of chaos tell regular
 * motion from chaotic, and agree? Are the criteria of initial conditions those of the papers?
 */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "monitors/frequency.kern.h"
#include "systems.h"

#define MONITORS(...)                                      \
    .monitors = (const shoal_plug_options[]){__VA_ARGS__}, \
    .n_monitors = SHOAL_COUNT(((const shoal_plug_options[]){__VA_ARGS__}))
#define WITH(...) \
    .settings = (const shoal_setting[]){__VA_ARGS__}, .n_settings = SHOAL_COUNT(((const shoal_setting[]){__VA_ARGS__}))

#define assert_near(value, expected, tolerance)                                                    \
    do {                                                                                           \
        const double value_ = (value), expected_ = (expected), tolerance_ = (tolerance);           \
        if (!(fabs(value_ - expected_) <= tolerance_))                                             \
            fail_msg("%s = %.17g, expected %.17g +- %.2g", #value, value_, expected_, tolerance_); \
    } while (0)

static double column(const struct motion *motion, const char *name)
{
    return shoal_plan_column(motion->plan, name, 0);
}

static struct motion watch(shoal_context *context, int n, const shoal_body *bodies, const shoal_options *options)
{
    struct motion motion = motion_begin(context, 1, n, NULL, NULL, options, bodies);
    assert_ok(context, shoal_plan_integrate(motion.plan, options->t_end));
    return motion;
}

/* Star, Jupiter, and Saturn at (a, e), in a plane, or with its real inclination. */
static void saturn_at(shoal_context *context, double a, double e, double inc, shoal_body *bodies)
{
    const shoal_orbit orbits[3] = {{0},
                                   {.a = 5.202887, .e = 0.04838624, .inc = inc, .omega = 0.257060, .f = 0.3715},
                                   {.a = a, .e = e, .inc = 1.7 * inc, .Omega = 2, .omega = -0.383851, .f = -0.77}};
    memset(bodies, 0, 3 * sizeof *bodies);
    bodies[0].m = 1;
    bodies[1].m = 9.547919384243267e-4;
    bodies[2].m = 2.858859806661029e-4;
    assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, 3, orbits, bodies));
}

/* ---- frequencies ------------------------------------------------------------------------------------------------- */

/* On a Kepler orbit the mean motion is the frequency, forwards and backwards, and nothing turns the rest. */
static void a_kepler_orbit_has_its_mean_motion(void **state)
{
    shoal_context *context = context_of(state);
    const shoal_orbit orbits[2] = {{0}, {.a = 1.3, .e = 0.2, .inc = 0.4, .Omega = 1, .omega = 2, .f = 3}};
    shoal_body bodies[2] = {{.m = 1}, {.m = 1e-3}};
    assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, 2, orbits, bodies));
    const double n = sqrt(1.001 / (1.3 * 1.3 * 1.3));
    for (int p = 0; shoal_plugs_of(NULL)->propagators[p]; p++) {
        const shoal_propagator *propagator = shoal_plugs_of(NULL)->propagators[p];
        const shoal_options options = {.propagator = propagator->name,
                                       .dt = propagator->adaptive ? 0 : TWO_PI / n / 200,
                                       .dt_max = propagator->adaptive ? TWO_PI / n / 100 : 0,
                                       .t_end = (p % 2 ? -200.01 : 200.01) * TWO_PI / n,
                                       .engine = "cpu",
                                       MONITORS({.name = "frequency"})};
        struct motion motion = watch(context, 2, bodies, &options);
        const double first = column(&motion, "frequency"), second = column(&motion, "frequency_second");
        print_message("%-20s n (1 + %.1e), (1 + %.1e), amplitude %.12f\n", propagator->name, first / n - 1,
                      second / n - 1, column(&motion, "frequency_amplitude"));
        assert_near(first / n, 1, 1e-3); /* of a propagator's steps */
        /* energies of the former drift */
        assert_near(second / first, 1, strcmp(propagator->name, "hermite4_adaptive") == 0 ? 1e-4 : 1e-7);
        assert_near(column(&motion, "frequency_amplitude"), 1, 1e-5);
        motion_end(&motion);
    }
}

/* What `frequency` finds in a record of two lines, of angles d in a block, the second one of size b and phase. */
static double found(int column, double d, double second, double b, double phase)
{
    double record[frequency_PART_SLOTS] = {[FREQUENCY_RECORD_BLOCK] = 0.5, [FREQUENCY_RECORD_SEEN] = 1e6};
    for (int j = 1; j <= FREQUENCY_PLACES; j++) {
        const double left = pow(sin(d / 2) / (d / 2), 4), of_second = pow(sin(second / 2) / (second / 2), 4);
        const double complex sum = 0.5 * (left * cexp(I * d * j) + of_second * b * cexp(I * (second * j + phase)));
        record[2 * j - 2] = creal(sum);
        record[2 * j - 1] = cimag(sum);
    }
    record[FREQUENCY_RECORD_SIGMA] = 7;
    return shoal_plugs_of(NULL)->monitors[shoal_monitor_find(NULL, "frequency")]->columns[column].finish(record, NULL);
}

/* A line alone is found to rounding, with its amplitude, as far as 14.5 turns of the half away. One beside it changes
 * its frequency by less than the inverse third power of their distance in turns, so by T^-4 for lines of fixed
 * frequencies; and it is the larger one that is found, also where averages have left less of it. */
static void a_line_is_found(void **state)
{
    (void)state;
    const double turn = TWO_PI / (FREQUENCY_PLACES + 1);
    for (double turns = -14.5; turns < 14.6; turns += 0.37) {
        assert_near(found(0, turns * turn, 1, 0, 0), 7 + turns * turn / 0.5, 1e-13);
        assert_near(found(2, turns * turn, 1, 0, 0), 1, 1e-12);
    }
    double last = 0;
    for (double apart = 3; apart < 13; apart *= 2) {
        double worst = 0;
        for (int phase = 0; phase < 16; phase++) {
            const double d = 0.3 * turn, f = found(0, d, d + apart * turn, 0.1, phase * TWO_PI / 16);
            worst = fmax(worst, fabs(f - 7 - d / 0.5) / (turn / 0.5));
        }
        print_message("a line %g turns away, a tenth as large: %.1e turns\n", apart, worst);
        assert_true(apart == 3 || worst < last / 8);
        last = worst;
    }
    assert_true(last < 1e-4);
    assert_near(found(0, 13 * turn, turn, 0.8, 0), 7 + 13 * turn / 0.5, 0.01 * turn);
}

/* A line that moves by a part of its width from one half to the other, or by more, is told. Of two of about one size it
 * is the one next to that of the first half. */
static void a_line_that_moves_is_followed(void **state)
{
    (void)state;
    const double turn = TWO_PI / (FREQUENCY_PLACES + 1), d = 0.3 * turn, D = 0.5;
    const shoal_monitor *frequency = shoal_plugs_of(NULL)->monitors[shoal_monitor_find(NULL, "frequency")];
    for (int two = 0; two < 2; two++)
        for (double x = 0.1; x < 4; x += 0.1) {
            double record[frequency_PART_SLOTS] = {[FREQUENCY_RECORD_BLOCK] = D, [FREQUENCY_RECORD_SEEN] = 1e6};
            for (int half = 0; half < 2; half++) {
                const double at = d + half * (two ? 0.1 * turn : x * turn), other = at + 6 * turn;
                for (int j = 1; j <= FREQUENCY_PLACES; j++) {
                    const double left = pow(sin(at / 2) / (at / 2), 4), of = pow(sin(other / 2) / (other / 2), 4);
                    const double complex sum = D * (left * cexp(I * at * j) +
                                                    (two ? (half ? 1.2 : 0.8) * of * cexp(I * other * j) : 0));
                    record[half * FREQUENCY_RECORD_HALF + 2 * j - 2] = creal(sum);
                    record[half * FREQUENCY_RECORD_HALF + 2 * j - 1] = cimag(sum);
                }
                record[half * FREQUENCY_RECORD_HALF + FREQUENCY_RECORD_SIGMA] = 7;
            }
            const double moved = (frequency->columns[1].finish(record, NULL) - 7) * D - d;
            assert_near(moved / turn, two ? 0.1 : x, two ? 0.02 : 1e-9);
        }
}

/* The largest |sum chi z exp(-i f t)| over t = first..last, near `guess`: halving of intervals where its square has no
 * slope. */
static double fourier(const double complex *z, int first, int last, double dt, double guess)
{
    const double middle = 0.5 * (first + last), half = 0.5 * (last - first), line = 1 / (half * dt);
    double low = guess - line, high = guess + line;
    for (int round = 0; round < 50; round++) {
        const double f = 0.5 * (low + high);
        double complex sum = 0, slope = 0;
        for (int k = first; k <= last; k++) {
            const double t = (k - middle) * dt;
            const double complex term = (1 + cos(PI * (k - middle) / half)) * z[k] * cexp(-I * f * t);
            sum += term;
            slope += -I * t * term;
        }
        if (creal(conj(sum) * slope) > 0)
            low = f;
        else
            high = f;
    }
    return 0.5 * (low + high);
}

/* Against the same integral of dense output over the same time, without averages. The weight of lines changes by the
 * averages, and so what lines beside the leading one do to it: little where there is none near (the longitude), some
 * of it where the half is a part of a period of the perihelia. */
static void frequencies_are_those_of_dense_output(void **state)
{
    shoal_context *context = context_of(state);
    static const struct {
        const char *of, *propagator;
        double steps, dt, tolerance; /* in turns of the half */
    } runs[] = {{"longitude", "mvs", 70 * 100, 2.0, 1e-4},
                {"longitude", "hermite4", 70 * 100, 0.5, 1e-4},
                {"pericentre", "mvs", 70 * 300, 30.0, 1e-3},
                {"node", "mvs", 70 * 300, 30.0, 2e-3}};
    static double complex z[70 * 300 + 1];
    for (int r = 0; r < SHOAL_COUNT(runs); r++) {
        const int n_steps = (int)runs[r].steps, block = n_steps / 70;
        const double dt = runs[r].dt, step = fmin(dt, 3);
        shoal_body bodies[3];
        saturn_at(context, 9.53667594, 0.05386179, 0.02, bodies);
        const shoal_options options = {
            .propagator = runs[r].propagator,
            .dt = step,
            .t_end = n_steps * dt,
            .engine = "cpu",
            MONITORS({.name = "frequency", WITH({.name = "of", .choice = runs[r].of}, {.name = "body", .value = 1})})};
        struct motion motion = motion_begin(context, 1, 3, NULL, NULL, &options, bodies);
        for (int k = 0; k <= n_steps; k++) {
            shoal_orbit orbits[3];
            if (k > 0)
                assert_ok(context, shoal_plan_integrate(motion.plan, k * dt));
            shoal_ensemble_get_bodies(motion.ensemble, 0, bodies);
            assert_ok(context, shoal_orbits_from_bodies(context, SHOAL_JACOBI, 3, bodies, orbits));
            const double varpi = orbits[1].Omega + orbits[1].omega;
            z[k] = r < 2    ? cexp(I * (varpi + orbits[1].M))
                   : r == 2 ? orbits[1].e * cexp(I * varpi)
                            : sin(orbits[1].inc / 2) * cexp(I * orbits[1].Omega);
        }
        const double first = column(&motion, "frequency"), second = column(&motion, "frequency_second");
        const double f1 = fourier(z, 3 * block, 33 * block, dt, first),
                     f2 = fourier(z, 38 * block, 68 * block, dt, second);
        const double turns = TWO_PI / (30 * block * dt);
        print_message("%-10s %-8s %.12g, dense %.1e turns of the half beside it; %.12g, %.1e; drift %.2f\n", runs[r].of,
                      runs[r].propagator, first, (first - f1) / turns, second, (second - f2) / turns,
                      column(&motion, "log_frequency_drift"));
        assert_near((first - f1) / turns, 0, runs[r].tolerance);
        assert_near((second - f2) / turns, 0, runs[r].tolerance);
        assert_near(column(&motion, "log_frequency_drift"), log10(fabs(second / first - 1)), 1e-9);
        motion_end(&motion);
    }
}

/* Turned over about the first axis, orbits have the opposite longitudes, and so the opposite frequencies. */
static void frequencies_of_retrograde_orbits_are_opposite(void **state)
{
    shoal_context *context = context_of(state);
    static const char *const of[] = {"longitude", "pericentre", "node"};
    for (int k = 0; k < SHOAL_COUNT(of); k++) {
        double found[2][3];
        for (int turned = 0; turned < 2; turned++) {
            shoal_body bodies[3];
            saturn_at(context, 9.53667594, 0.05386179, 0.02, bodies);
            for (int i = 0; i < 3 && turned; i++) {
                bodies[i].y = -bodies[i].y;
                bodies[i].z = -bodies[i].z;
                bodies[i].vy = -bodies[i].vy;
                bodies[i].vz = -bodies[i].vz;
            }
            const shoal_options options = {
                .propagator = "mvs",
                .dt = 3,
                .t_end = 2e5,
                .engine = "cpu",
                MONITORS({.name = "frequency", WITH({.name = "of", .choice = of[k]}, {.name = "body", .value = 1})})};
            struct motion motion = watch(context, 3, bodies, &options);
            found[turned][0] = column(&motion, "frequency");
            found[turned][1] = column(&motion, "frequency_second");
            found[turned][2] = column(&motion, "frequency_amplitude");
            motion_end(&motion);
        }
        print_message("%-10s %.12g, %.12g\n", of[k], found[0][0], found[1][0]);
        assert_near(found[1][0] / found[0][0], -1, 1e-12);
        assert_near(found[1][1] / found[0][1], -1, 1e-12);
        assert_near(found[1][2] / found[0][2], 1, 1e-12);
    }
}

/* With bodies = all each body has the columns that it has where it is followed alone, to the last bit, also of a run in
 * parts. */
static void all_bodies_are_followed_as_each_alone(void **state)
{
    shoal_context *context = context_of(state);
    static const char *const columns[] = {"frequency", "frequency_second", "frequency_amplitude",
                                          "log_frequency_drift"};
    static const char *const of[] = {"longitude", "pericentre"};
    shoal_body bodies[6];
    saturn_at(context, 9.5, 0.05, 0.02, bodies);
    saturn_at(context, 8.0, 0.1, 0.02, bodies + 3);
    for (int o = 0; o < SHOAL_COUNT(of); o++) {
        shoal_options options = {.propagator = "mvs", .dt = 1, .t_end = 20000.3, .engine = "cpu"};
        double alone[2][2][SHOAL_COUNT(columns)];
        for (int body = 0; body <= 2; body++) { /* 0: all */
            const shoal_setting settings[] = {{.name = "of", .choice = of[o]},
                                              {.name = "every", .value = 3},
                                              body ? (shoal_setting){.name = "body", .value = body}
                                                   : (shoal_setting){.name = "bodies", .choice = "all"}};
            const shoal_plug_options monitor = {"frequency", settings, SHOAL_COUNT(settings)};
            options.monitors = &monitor;
            options.n_monitors = 1;
            struct motion motion = motion_begin(context, 2, 3, NULL, NULL, &options, bodies);
            for (int part = body ? 8 : 1; part <= 8; part++)
                assert_ok(context, shoal_plan_integrate(motion.plan, options.t_end * part / 8));
            for (int i = 0; i < 4 * SHOAL_COUNT(columns); i++) {
                const int system = i % 2, which = body ? body : 1 + i / 2 % 2, c = i / 4;
                char name[SHOAL_COLUMN_SIZE];
                snprintf(name, sizeof name, body ? "%s" : "%s_%d", columns[c], which);
                const double value = shoal_plan_column(motion.plan, name, system);
                assert_true(isfinite(value));
                if (body == 0)
                    alone[system][which - 1][c] = value;
                assert_true(value == alone[system][which - 1][c]);
            }
            assert_true(isnan(shoal_plan_column(motion.plan, body ? "frequency_1" : "frequency", 0)));
            motion_end(&motion);
        }
    }
}

/* A run with too few looks has none, nor one that ends in the first half. */
static void without_looks_there_is_no_frequency(void **state)
{
    shoal_context *context = context_of(state);
    const shoal_body bodies[2] = {{.m = 1}, {.m = 1e-3, .x = 1, .vy = 1}};
    const shoal_options few = {.propagator = "mvs", .t_end = 50, .dt = 0.05, MONITORS({.name = "frequency"})};
    struct motion motion = watch(context, 2, bodies, &few);
    assert_true(isnan(column(&motion, "frequency")) && isnan(column(&motion, "log_frequency_drift")));
    motion_end(&motion);
    const shoal_options part = {.propagator = "mvs", .t_end = 500, .dt = 0.05, MONITORS({.name = "frequency"})};
    motion = motion_begin(context, 1, 2, NULL, NULL, &part, bodies);
    assert_ok(context, shoal_plan_integrate(motion.plan, 200.0));
    assert_true(isnan(column(&motion, "frequency")));
    motion_end(&motion);
    shoal_plan *plan = NULL;
    shoal_ensemble *ensemble = NULL;
    const shoal_options star = {.propagator = "mvs",
                                .t_end = 500,
                                .dt = 0.05,
                                MONITORS({.name = "frequency", WITH({.name = "body", .value = 0})})};
    assert_ok(context, shoal_ensemble_create(context, 1, 2, &ensemble));
    assert_ok(context, shoal_ensemble_set_bodies(ensemble, 0, 2, bodies));
    assert_int_equal(shoal_plan_create(context, ensemble, &star, &plan), SHOAL_E_INPUT);
    shoal_ensemble_destroy(&ensemble);
}

/* A planet that begins on a circle has e = 0 again and again: short terms wind its pericentre about, which is no line.
 * Both halves have that of theory, of regular motion. */
static void circles_have_a_proper_pericentre(void **state)
{
    enum { PHASES = 12 };
    shoal_context *context = context_of(state);
    for (int i = 0; i < PHASES; i++) {
        shoal_body bodies[3] = {{.m = 1}, {.m = 3e-4}, {.m = 3e-4}};
        const shoal_orbit orbits[3] = {
            {0},
            {.a = 1, .e = 0.05, .omega = PI / 12, .f = shoal_true_anomaly(0.05, 19 * PI / 180)},
            {.a = 1.5, .inc = PI / 90, .f = TWO_PI * i / PHASES}};
        assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, 3, orbits, bodies));
        const shoal_options options = {
            .propagator = "mvs_jacobi",
            .dt = 0.3,
            .t_end = 3e4 * TWO_PI,
            MONITORS(
                {.name = "frequency", WITH({.name = "of", .choice = "pericentre"}, {.name = "every", .value = 3})})};
        struct motion motion = watch(context, 3, bodies, &options);
        const double first = column(&motion, "frequency"), second = column(&motion, "frequency_second");
        print_message("pericentre of a circle: %.3e, %.3e\n", first, second);
        assert_true(first > 1e-5 && first < 1e-3);
        assert_true(fabs(second / first - 1) < 0.05);
        motion_end(&motion);
    }
}

/* ---- the classes agree ------------------------------------------------------------------------------------------- */

/* Saturn where MEGNO calls it regular with all seeds, and chaotic. */
static void indicators_agree(void **state)
{
    shoal_context *context = context_of(state);
    static const struct {
        double a, e;
        bool chaotic;
    } cells[] = {{9.5, 0.05, false}, {10.6, 0.05, false}, {8.6, 0.02, false},
                 {8.6, 0.25, true},  {8.9, 0.3, true},    {7.6, 0.1, true}};
    for (int i = 0; i < SHOAL_COUNT(cells); i++) {
        shoal_body bodies[3];
        saturn_at(context, cells[i].a, cells[i].e, 0.02, bodies);
        const shoal_options options = {
            .propagator = "mvs",
            .dt = 1.5,
            .t_end = 60000,
            .engine = "cpu",
            MONITORS({.name = "megno", WITH({.name = "vectors", .value = 2})}, {.name = "frequency"})};
        struct motion motion = motion_begin(context, 1, 3, NULL, NULL, &options, bodies);
        assert_ok(context, shoal_plan_integrate(motion.plan, options.t_end));
        const double megno = column(&motion, "megno"), sali = column(&motion, "sali"), gali = column(&motion, "gali"),
                     drift = column(&motion, "log_frequency_drift");
        print_message("a %g e %g: megno %.2f, sali %.1e, drift %.2f\n", cells[i].a, cells[i].e, megno, sali, drift);
        assert_true((megno > 2.5) == cells[i].chaotic);
        assert_true((sali < 1e-3) == cells[i].chaotic);
        assert_true((drift > -4) == cells[i].chaotic);
        assert_near(gali, sali * sqrt(1 - sali * sali / 4), 1e-14); /* sin x = 2 sin(x/2) cos(x/2) */
        motion_end(&motion);
    }
}

/* The volume of three vectors is less than that of the first two; one vector has neither. */
static void vectors_span_a_volume(void **state)
{
    shoal_context *context = context_of(state);
    static const char *const propagators[] = {"mvs", "mvs_jacobi", "hermite4", "gauss_radau"};
    for (int p = 0; p < SHOAL_COUNT(propagators); p++) {
        double sali[3], gali[3];
        for (int vectors = 1; vectors <= 3; vectors++) {
            shoal_body bodies[3];
            saturn_at(context, 9.5, 0.05, 0.02, bodies);
            const bool adaptive = strcmp(propagators[p], "gauss_radau") == 0;
            const shoal_options options = {.propagator = propagators[p],
                                           .dt = adaptive ? 0 : 0.5,
                                           .t_end = 1000.7,
                                           .engine = "cpu",
                                           MONITORS({.name = "megno", WITH({.name = "vectors", .value = vectors})})};
            struct motion motion = watch(context, 3, bodies, &options);
            sali[vectors - 1] = column(&motion, "sali");
            gali[vectors - 1] = column(&motion, "gali");
            motion_end(&motion);
        }
        print_message("%-12s sali %.6f, gali of two %.6f, of three %.6f\n", propagators[p], sali[1], gali[1], gali[2]);
        assert_true(isnan(sali[0]) && isnan(gali[0]));
        assert_true(sali[1] == sali[2] && sali[1] > 0 && sali[1] < sqrt(2));
        assert_true(gali[2] > 0 && gali[2] < gali[1] && gali[1] <= 1);
    }
    for (int p = 0; p < SHOAL_COUNT(propagators); p++)
        for (int vectors = 12; vectors <= 13; vectors++) { /* of 12 dimensions */
            shoal_body bodies[3];
            saturn_at(context, 9.5, 0.05, 0.02, bodies);
            const shoal_options options = {.propagator = propagators[p],
                                           .dt = 0.5,
                                           .t_end = 2,
                                           .engine = "cpu",
                                           MONITORS({.name = "megno", WITH({.name = "vectors", .value = vectors})})};
            struct motion motion = watch(context, 3, bodies, &options);
            assert_true(isnan(column(&motion, "gali")) == (vectors > 12));
            motion_end(&motion);
        }
}

/* Bodies that are not there change neither alignment nor criteria. */
static void absent_bodies_do_not_count(void **state)
{
    shoal_context *context = context_of(state);
    static const char *const names[] = {"sali", "gali", "amd_ratio", "hill_ratio", "hill_separation", "frequency"};
    double values[2][SHOAL_COUNT(names)];
    for (int more = 0; more < 2; more++) {
        shoal_body bodies[3];
        shoal_ensemble *ensemble = NULL;
        shoal_plan *plan = NULL;
        const shoal_options options = {.propagator = "mvs",
                                       .dt = 1,
                                       .t_end = 3000,
                                       .engine = "cpu",
                                       MONITORS({.name = "megno", WITH({.name = "vectors", .value = 3})},
                                                {.name = "frequency", WITH({.name = "body", .value = 2})},
                                                {.name = "criteria"})};
        saturn_at(context, 9.5, 0.05, 0.02, bodies);
        assert_ok(context, shoal_ensemble_create(context, 1, 3 + more, &ensemble));
        assert_ok(context, shoal_ensemble_set_bodies(ensemble, 0, 3, bodies));
        assert_ok(context, shoal_plan_create(context, ensemble, &options, &plan));
        assert_ok(context, shoal_plan_integrate(plan, options.t_end));
        for (int i = 0; i < SHOAL_COUNT(names); i++)
            values[more][i] = shoal_plan_column(plan, names[i], 0);
        shoal_plan_destroy(&plan);
        shoal_ensemble_destroy(&ensemble);
    }
    for (int i = 0; i < SHOAL_COUNT(names); i++)
        assert_near(values[1][i] / values[0][i], 1, 1e-9);
}

/* A run in parts has the columns of one in one go, of two systems, one of which ends; and a plan that begins anew. */
static void parts_of_a_run_are_one_run(void **state)
{
    shoal_context *context = context_of(state);
    static const char *const names[] = {"frequency", "frequency_second", "frequency_amplitude", "sali", "gali",
                                        "megno",     "hill_ratio",       "overlap_eccentric"};
    shoal_body bodies[6];
    double once[2][SHOAL_COUNT(names)];
    saturn_at(context, 9.5, 0.05, 0.02, bodies);
    saturn_at(context, 7, 0.4, 0.02, bodies + 3);
    const shoal_options options = {.propagator = "mvs",
                                   .dt = 1,
                                   .t_end = 20000.3,
                                   .engine = "cpu",
                                   MONITORS({.name = "megno", WITH({.name = "vectors", .value = 2})},
                                            {.name = "frequency", WITH({.name = "every", .value = 3})},
                                            {.name = "criteria"}, {.name = "stop_on_encounter"})};
    struct motion motion = motion_begin(context, 2, 3, NULL, NULL, &options, bodies);
    for (int run = 0; run < 3; run++) {
        for (int stop = run == 1 ? 0 : 8; stop <= 8; stop++)
            assert_ok(context, shoal_plan_integrate(motion.plan, options.t_end * stop / 8));
        for (int i = 0; i < SHOAL_COUNT(names); i++)
            for (int system = 0; system < 2; system++) {
                const double value = shoal_plan_column(motion.plan, names[i], system);
                assert_true(isnan(value) == (system == 1 && i < 3));
                assert_true(run == 0 || value == once[system][i] || isnan(value));
                once[system][i] = value;
            }
        for (int system = 0; system < 2; system++)
            assert_ok(context, shoal_ensemble_set_bodies(motion.ensemble, system, 3, bodies + 3 * system));
        if (run < 2)
            assert_ok(context, shoal_plan_restart(motion.plan));
    }
    motion_end(&motion);
}

/* ---- criteria ---------------------------------------------------------------------------------------------------- */

/* A star of mass 1 and planets on these orbits, watched by `criteria`. */
static struct motion judged(shoal_context *context, int n, const double *m, const shoal_orbit *orbits)
{
    shoal_body bodies[4] = {{.m = 1}};
    const shoal_options options = {.propagator = "mvs", .dt = 0.05, .t_end = 1, MONITORS({.name = "criteria"})};
    for (int i = 1; i < n; i++)
        bodies[i].m = m[i];
    assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, n, orbits, bodies));
    return watch(context, n, bodies, &options);
}

/* The least deficit, over Lambda of the outer planet, of a fine list of pairs of orbits that touch. */
static double least_deficit(double alpha, double gamma)
{
    double least = INFINITY;
    for (int i = 0; i <= 1000000; i++) {
        const double e1 = fmin(1, 1 / alpha - 1) * i / 1e6, e2 = 1 - alpha - alpha * e1;
        least = fmin(least, gamma * sqrt(alpha) * (1 - sqrt(1 - e1 * e1)) + 1 - sqrt(1 - e2 * e2));
    }
    return least;
}

static void criteria_are_those_of_the_papers(void **state)
{
    shoal_context *context = context_of(state);
    static const double masses[][4] = {{1, 1e-5, 3e-6}, {1, 1e-6, 1e-4}, {1, 1e-4, 1e-4}};
    for (int i = 0; i < SHOAL_COUNT(masses); i++) {
        const double m1 = masses[i][1], m2 = masses[i][2], eps = m1 + m2, gamma = m1 / m2, a2 = i == 1 ? 2.5 : 1.4,
                     alpha = 1 / a2;
        const shoal_orbit orbits[3] = {
            {0}, {.a = 1, .e = 0.05, .inc = 0.02, .omega = 1, .f = 2}, {.a = a2, .e = 0.03, .omega = 4, .f = 1}};
        struct motion motion = judged(context, 3, masses[i], orbits);
        const double tilt = 1 - cos(0.02) * sqrt(1 - 0.05 * 0.05), flat = 1 - sqrt(1 - 0.03 * 0.03);
        /* from the invariable plane: with Lambda_1 = gamma sqrt(alpha), Lambda_2 = 1, to first order in masses */
        const double l1 = gamma * sqrt(alpha) * sqrt(1 - 0.05 * 0.05), l2 = sqrt(1 - 0.03 * 0.03);
        const double C = gamma * sqrt(alpha) + 1 - sqrt(l1 * l1 + l2 * l2 + 2 * l1 * l2 * cos(0.02));
        const double closed = pow(3, 4.0 / 3) * cbrt(eps * eps) * gamma / pow(1 + gamma, 2);
        const double CH = gamma * sqrt(alpha) + 1 - pow(1 + gamma, 1.5) * sqrt(alpha / (gamma + alpha) * (1 + closed));
        const double across = 0.05 * sin(1), x = 0.03 * cos(4) - 0.05 * cos(1), y = 0.03 * sin(4) - across * cos(0.02),
                     Z = sqrt((x * x + y * y + across * across * sin(0.02) * sin(0.02)) / 2);
        const double Zc = (a2 - 1) / sqrt(2) * exp(-2.2 * cbrt(eps) * pow(a2 / (a2 - 1), 4.0 / 3));
        assert_true(C < gamma * sqrt(alpha) * tilt + flat); /* which is from the plane of the outer orbit */
        assert_near(column(&motion, "amd_ratio") / (C / least_deficit(alpha, gamma)), 1, 1e-3);
        assert_near(column(&motion, "amd_star") / (C / (gamma * sqrt(alpha))), 1, 1e-3);
        assert_near(column(&motion, "amd_hill_ratio") / (C / CH), 1, 1e-3);
        assert_near(column(&motion, "hill_separation"), (a2 - 1) / (cbrt(eps / 3) * (1 + a2) / 2), 1e-12);
        assert_near(column(&motion, "overlap_ratio"), 1.46 * pow(eps, 2.0 / 7) / (a2 - 1), 1e-12);
        assert_near(column(&motion, "overlap_eccentric"), Z / Zc, 1e-9);
        motion_end(&motion);
    }
}

/* Circular orbits are Hill stable from 2 sqrt(3) mutual Hill radii on (Gladman 1993), by p/a and by the deficit; and
 * p/a by its expansion, with the inner planet as m1. */
static void hill_stability_begins_where_it_should(void **state)
{
    shoal_context *context = context_of(state);
    static const double masses[][4] = {{1, 1e-9, 1e-9}, {1, 2e-9, 5e-10}, {1, 3e-10, 2e-9}};
    for (int i = 0; i < SHOAL_COUNT(masses); i++)
        for (int side = -1; side <= 1; side += 2) {
            const double hill = cbrt((masses[i][1] + masses[i][2]) / 3), far = 2 * sqrt(3) * (1 + 0.01 * side) * hill,
                         a2 = (1 + far / 2) / (1 - far / 2);
            const shoal_orbit orbits[3] = {{0}, {.a = 1}, {.a = a2, .f = PI}};
            struct motion motion = judged(context, 3, masses[i], orbits);
            const double by_pa = column(&motion, "hill_ratio"), by_amd = column(&motion, "amd_hill_ratio");
            assert_true((by_pa < 1) == (side > 0));
            assert_true(isinf(by_amd) == (side < 0));
            motion_end(&motion);
        }
    const double m[3] = {1, 1e-3, 1e-4}, both = m[1] + m[2];
    const shoal_orbit orbits[3] = {{0}, {.a = 1, .e = 0.1, .f = 1}, {.a = 1.6, .inc = 0.3, .e = 0.1}};
    struct motion motion = judged(context, 3, m, orbits);
    shoal_body bodies[3] = {{.m = 1}, {.m = m[1]}, {.m = m[2]}};
    double L[3];
    assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, 3, orbits, bodies));
    shoal_ensemble *ensemble = NULL;
    assert_ok(context, shoal_ensemble_create(context, 1, 3, &ensemble));
    assert_ok(context, shoal_ensemble_set_bodies(ensemble, 0, 3, bodies));
    shoal_ensemble_angular_momentum(ensemble, 0, L);
    const double pa = -2 * (1 + both) * shoal_ensemble_energy(ensemble, 0) * (L[0] * L[0] + L[1] * L[1] + L[2] * L[2]) /
                      pow(both + m[1] * m[2], 3);
    const double critical = 1 + pow(3, 4.0 / 3) * m[1] * m[2] / pow(both, 4.0 / 3) -
                            m[1] * m[2] * (11 * m[1] + 7 * m[2]) / (3 * both * both);
    assert_near(column(&motion, "hill_ratio") * pa, critical, 1e-5); /* eps^(4/3) of the first term */
    motion_end(&motion);
    shoal_ensemble_destroy(&ensemble);
}

/* A body without mass between two planets hides neither from the other, and what is seen does not depend on the plane
 * of reference. */
static void criteria_see_past_particles_from_all_sides(void **state)
{
    shoal_context *context = context_of(state);
    static const double m[4] = {1, 1e-3, 1e-3, 0};
    shoal_orbit orbits[4] = {{0}, {.a = 1, .e = 0.1, .omega = 0.4}, {.a = 1.2, .e = 0.05, .omega = 1.9}, {.a = 1.1}};
    struct motion pair = judged(context, 3, m, orbits), three = judged(context, 4, m, orbits);
    assert_near(column(&three, "hill_ratio") / column(&pair, "hill_ratio"), 1, 1e-9);
    for (int i = 1; i < 3; i++) { /* all turned about the x axis */
        orbits[i].inc = PI - 0.01;
        orbits[i].Omega = 0.3 * i;
        orbits[i].omega += 0.3 * i; /* Omega - omega is the longitude of pericentre now, but for 1e-4 */
    }
    struct motion turned = judged(context, 3, m, orbits);
    assert_near(column(&turned, "overlap_eccentric") / column(&pair, "overlap_eccentric"), 1, 1e-2);
    motion_end(&turned);
    motion_end(&three);
    motion_end(&pair);
}

/* The column is that of the worst pair, whatever the order; planets without mass have what needs none; and a system
 * with an unbound one has nothing. */
static void the_worst_pair_counts(void **state)
{
    shoal_context *context = context_of(state);
    static const char *const names[] = {"amd_ratio",       "amd_hill_ratio", "hill_ratio",
                                        "hill_separation", "overlap_ratio",  "overlap_eccentric"};
    const shoal_orbit orbits[4] = {{0}, {.a = 1, .e = 0.02}, {.a = 1.3, .omega = 1}, {.a = 3, .e = 0.1}};
    const double m[4] = {1, 1e-5, 1e-5, 1e-5}, none[4] = {1, 1e-5, 0, 0};
    struct motion all = judged(context, 4, m, orbits), pair = judged(context, 3, m, orbits);
    const double near = column(&pair, "hill_separation");
    for (int i = 2; i < SHOAL_COUNT(names); i++)
        assert_near(column(&all, names[i]) / column(&pair, names[i]), 1, 1e-4);
    assert_true(column(&all, "amd_ratio") > column(&pair, "amd_ratio")); /* all share the third one's deficit */
    motion_end(&all);
    motion_end(&pair);
    all = judged(context, 4, none, orbits);
    assert_near(column(&all, "hill_separation"), near * cbrt(2), 1e-4);
    assert_near(column(&all, "overlap_ratio"), 1.46 * pow(1e-5, 2.0 / 7) / 0.3, 1e-9);
    assert_true(isnan(column(&all, "amd_ratio")) && isnan(column(&all, "amd_star")));
    motion_end(&all);
    const shoal_orbit unbound[3] = {{0}, {.a = 1}, {.a = -2, .e = 1.5}};
    all = judged(context, 3, m, unbound);
    for (int i = 0; i < SHOAL_COUNT(names); i++)
        assert_true(isnan(column(&all, names[i])));
    motion_end(&all);
}

/* ---- the motion is the same -------------------------------------------------------------------------------------- */

static void watching_changes_nothing(void **state)
{
    shoal_context *context = context_of(state);
    static const char *const propagators[] = {"mvs", "hybrid", "gauss_radau", "hermite4_adaptive"};
    for (int p = 0; p < SHOAL_COUNT(propagators); p++) {
        shoal_body start[3], end[2][3];
        saturn_at(context, 8.6, 0.25, 0.02, start);
        for (int with = 0; with < 2; with++) {
            shoal_options options = {.propagator = propagators[p],
                                     .dt = p < 2 ? 0.5 : 0,
                                     .t_end = 3000,
                                     MONITORS({.name = "frequency"}, {.name = "criteria"})};
            options.n_monitors = with ? 2 : 0;
            struct motion motion = watch(context, 3, start, &options);
            shoal_ensemble_get_bodies(motion.ensemble, 0, end[with]);
            motion_end(&motion);
        }
        assert_memory_equal(end[0], end[1], sizeof end[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kepler_orbit_has_its_mean_motion),
        cmocka_unit_test(a_line_is_found),
        cmocka_unit_test(a_line_that_moves_is_followed),
        cmocka_unit_test(frequencies_are_those_of_dense_output),
        cmocka_unit_test(frequencies_of_retrograde_orbits_are_opposite),
        cmocka_unit_test(all_bodies_are_followed_as_each_alone),
        cmocka_unit_test(without_looks_there_is_no_frequency),
        cmocka_unit_test(circles_have_a_proper_pericentre),
        cmocka_unit_test(indicators_agree),
        cmocka_unit_test(vectors_span_a_volume),
        cmocka_unit_test(absent_bodies_do_not_count),
        cmocka_unit_test(parts_of_a_run_are_one_run),
        cmocka_unit_test(criteria_are_those_of_the_papers),
        cmocka_unit_test(criteria_see_past_particles_from_all_sides),
        cmocka_unit_test(hill_stability_begins_where_it_should),
        cmocka_unit_test(the_worst_pair_counts),
        cmocka_unit_test(watching_changes_nothing),
    };
    return cmocka_run_group_tests_name("chaos", tests, setup, teardown);
}
