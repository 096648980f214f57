/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_battery.c: what every propagator must do, in each of its variants: converge with its order to the solution of
 * Newton's equations (GSL's Runge-Kutta of order 8, and gauss_radau), follow Kepler orbits up to e = 0.99, keep the
 * centre of mass and, where the method does or its steps are small enough, the angular momentum to rounding, and the
 * giant planets where gauss_radau has them; take no harm from a body at the origin. Those that choose their steps
 * follow the figure of eight and the Pythagorean bodies, symmetric ones come back when time is reversed. What is
 * particular to one is in the test of its own.
 *
 * The measured numbers are printed, so that a run shows how far from its limit a test is.
 */
#include <math.h>

#include "outer_planets.h"
#include "systems.h"

enum { N = 3, VALUES = 5, MOST_SIZES = 64 };

/* A propagator and a choice of its parameters. */
struct variant {
    const char *propagator;
    shoal_setting setting[2];
    int order;             /* at least, of fixed steps */
    double momentum;       /* allowed relative change of the angular momentum in 100 orbits; 0 = that is its order's */
    const char *parameter; /* adaptive: what says how exact it is, its first value, and by what the next ones differ */
    double first, factor;
    double power; /* and the power of it that errors fall with, at least */
    double tight; /* and a value of it without errors but rounding's */
};

#define ROUNDING 2e-13
/* clang-format off */
#define CHOICE(parameter, text) {{parameter, 0, text}}
#define NUMBER(parameter, number) {{parameter, number, NULL}}
/* clang-format on */

/* clang-format off */
#define NONE {{NULL, 0, NULL}}
#define LAZY {{"corrector", 17, NULL}, {"kernel", 0, "lazy"}}
#define FIXED(name, set, least, kept) {.propagator = name, .setting = set, .order = least, .momentum = kept}
#define ADAPTIVE(name, set, kept, what, begin, by, least, best) \
    {.propagator = name, .setting = set, .momentum = kept, .parameter = what, .first = begin, .factor = by, \
     .power = least, .tight = best}
/* clang-format on */

static const struct variant variants[] = {
    FIXED("runge_kutta", CHOICE("method", "euler"), 1, 0),
    FIXED("runge_kutta", CHOICE("method", "midpoint"), 2, 0),
    FIXED("runge_kutta", CHOICE("method", "rk4"), 4, 0),
    FIXED("runge_kutta", CHOICE("method", "cash_karp"), 5, 0),
    FIXED("runge_kutta", CHOICE("method", "fehlberg"), 5, 0),
    FIXED("runge_kutta", CHOICE("method", "dormand_prince"), 5, 0),
    FIXED("runge_kutta", CHOICE("method", "prince_dormand8"), 8, 0),
    FIXED("leapfrog", NUMBER("order", 2), 2, ROUNDING),
    FIXED("leapfrog", NUMBER("order", 4), 4, ROUNDING),
    FIXED("leapfrog", NUMBER("order", 6), 6, ROUNDING),
    FIXED("leapfrog", NUMBER("order", 8), 8, ROUNDING),
    FIXED("hermite4", NUMBER("iterations", 1), 4, 0),
    FIXED("hermite4", NUMBER("iterations", 2), 4, 0),
    FIXED("hermite4", NUMBER("iterations", 3), 4, 0),
    FIXED("hermite6", NUMBER("iterations", 1), 6, 0),
    FIXED("hermite6", NUMBER("iterations", 2), 6, 0),
    FIXED("gauss", CHOICE("order", "4"), 4, ROUNDING),
    FIXED("gauss", CHOICE("order", "8"), 8, ROUNDING),
    FIXED("gauss", CHOICE("order", "12"), 12, ROUNDING),
    /* 15 in test_gauss_radau.c; here steps are a third of an orbit before rounding comes */
    FIXED("gauss_radau_fixed", NONE, 10, ROUNDING),
    FIXED("mvs", NONE, 2, ROUNDING),
    FIXED("mvs_whds", NONE, 2, ROUNDING),
    FIXED("mvs_jacobi", NUMBER("corrector", 0), 2, ROUNDING),
    FIXED("mvs_jacobi", NUMBER("corrector", 3), 2, ROUNDING),
    FIXED("mvs_jacobi", NUMBER("corrector", 5), 2, ROUNDING),
    FIXED("mvs_jacobi", NUMBER("corrector", 7), 2, ROUNDING),
    FIXED("mvs_jacobi", NUMBER("corrector", 11), 2, ROUNDING),
    FIXED("mvs_jacobi", NUMBER("corrector", 17), 2, ROUNDING),
    FIXED("mvs_jacobi", LAZY, 2, ROUNDING),
    FIXED("saba", CHOICE("scheme", "1"), 2, ROUNDING),
    FIXED("saba", CHOICE("scheme", "2"), 2, ROUNDING),
    FIXED("saba", CHOICE("scheme", "3"), 2, ROUNDING),
    FIXED("saba", CHOICE("scheme", "4"), 2, ROUNDING),
    FIXED("saba", CHOICE("scheme", "cl1"), 2, ROUNDING),
    FIXED("saba", CHOICE("scheme", "cl2"), 2, ROUNDING),
    FIXED("saba", CHOICE("scheme", "cl3"), 2, ROUNDING),
    FIXED("saba", CHOICE("scheme", "cl4"), 2, ROUNDING),
    FIXED("saba", CHOICE("scheme", "10,4"), 4, ROUNDING),
    FIXED("saba", CHOICE("scheme", "8,6,4"), 4, ROUNDING),
    FIXED("saba", CHOICE("scheme", "10,6,4"), 4, ROUNDING),
    FIXED("saba", CHOICE("scheme", "8,4,4"), 4, ROUNDING),
    FIXED("hybrid", NONE, 2, ROUNDING),
    ADAPTIVE("runge_kutta_adaptive", CHOICE("method", "cash_karp"), 1e-9, "tolerance", 1e-5, 0.1, 0.7, 2e-16),
    ADAPTIVE("runge_kutta_adaptive", CHOICE("method", "fehlberg"), 1e-9, "tolerance", 1e-5, 0.1, 0.7, 2e-16),
    ADAPTIVE("runge_kutta_adaptive", CHOICE("method", "dormand_prince"), 1e-9, "tolerance", 1e-5, 0.1, 0.7, 2e-16),
    ADAPTIVE("runge_kutta_adaptive", CHOICE("method", "prince_dormand8"), 1e-9, "tolerance", 1e-5, 0.1, 0.7, 2e-16),
    ADAPTIVE("hermite4_adaptive", CHOICE("criterion", "swarm"), 0, "tau", 0.04, 0.7, 3, 8e-4),
    ADAPTIVE("hermite4_adaptive", CHOICE("criterion", "aarseth"), 0, "eta", 0.04, 0.5, 1.5, 4e-6),
    ADAPTIVE("hermite4_adaptive", CHOICE("criterion", "symmetric"), 0, "tau", 0.08, 0.5, 3, 3e-3),
    ADAPTIVE("hermite6_adaptive", CHOICE("criterion", "swarm"), 0, "tau", 0.1, 0.7, 4, 1e-2),
    ADAPTIVE("hermite6_adaptive", CHOICE("criterion", "aarseth"), 0, "eta", 0.2, 0.5, 1.5, 1e-2),
    ADAPTIVE("hermite6_adaptive", CHOICE("criterion", "symmetric"), 0, "tau", 0.2, 0.5, 4, 1e-2),
    ADAPTIVE("bulirsch_stoer", NONE, 1e-9, "tolerance", 1e-4, 0.1, 0.6, 1e-13),
    ADAPTIVE("gauss_radau", CHOICE("criterion", "timescale"), ROUNDING, "epsilon", 0.3, 0.4, 1.5, 1e-9),
    ADAPTIVE("gauss_radau", CHOICE("criterion", "global"), ROUNDING, "epsilon", 0.3, 0.4, 1.5, 1e-9),
};

static void say(const struct variant *v, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(const struct variant *v, const char *format, ...)
{
    char text[200];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list);
    va_end(list);
    char number[32] = "";
    if (v->setting[0].name)
        snprintf(number, sizeof number, "%g", v->setting[0].value);
    print_message("%-20s %-15s %-5s %s\n", v->propagator, v->setting[0].choice ? v->setting[0].choice : number,
                  v->setting[1].choice ? v->setting[1].choice : "", text);
}

enum { MOST_SETTINGS = 3 };

/* A run to t_end: steps of dt, or with the accuracy `value`, NAN = as by default. settings: room for them. */
static shoal_options options_of(const struct variant *v, double dt, double value, double t_end,
                                shoal_setting settings[MOST_SETTINGS])
{
    int n_settings = 0;
    for (int i = 0; i < SHOAL_COUNT(v->setting); i++)
        if (v->setting[i].name)
            settings[n_settings++] = v->setting[i];
    if (v->parameter && !isnan(value))
        settings[n_settings++] = (shoal_setting){v->parameter, value, NULL};
    return (shoal_options){.propagator = v->propagator,
                           .settings = settings,
                           .n_settings = n_settings,
                           .dt = v->parameter ? 0 : dt,
                           .t_end = t_end,
                           .threads = 1};
}

/* The same with compensated sums, an adaptive one at its best. */
static shoal_options best_options_of(const struct variant *v, double dt, double t_end,
                                     shoal_setting settings[MOST_SETTINGS])
{
    shoal_options options = options_of(v, dt, v->tight, t_end, settings);
    settings[options.n_settings++] = (shoal_setting){"compensated", 1, NULL};
    return options;
}

/* long: a variant, and the systems as evolve_all has them */
static void evolve(shoal_context *context, const struct variant *v, double dt, double value, double t_end,
                   long n_systems, int n, shoal_body *bodies)
{
    shoal_setting settings[MOST_SETTINGS];
    const shoal_options options = options_of(v, dt, value, t_end, settings);
    evolve_all(context, n_systems, n, NULL, NULL, &options, bodies, NULL);
}

static void nobody_is_left_out(void **state)
{
    (void)state;
    nobody_is_missing(variants, sizeof *variants, SHOAL_COUNT(variants));
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

/* The error at t_end of the standard system, of which `exact` is the end. */
static double error_of(shoal_context *context, const struct variant *v, double dt, double value, double t_end,
                       const shoal_body *exact)
{
    shoal_body bodies[N];
    planetary_system(context, 3, N, 1e-3, 1.7, 0.1, bodies);
    evolve(context, v, dt, value, t_end, 1, N, bodies);
    return distance_of_states(N, bodies, exact);
}

/* Step sizes with errors between those of no use and rounding: five of them or more. */
static void errors_fall_with_the_order(void **state)
{
    shoal_context *context = context_of(state);
    const double t_end = 3 * TWO_PI;
    const struct variant radau = {.propagator = "gauss_radau"};
    shoal_body exact[N];
    planetary_system(context, 3, N, 1e-3, 1.7, 0.1, exact);
    newton_reference(N, t_end, exact);
    assert_below(error_of(context, &radau, 0, NAN, t_end, exact), 3e-13, "gauss_radau and GSL");
    for (int i = 0; i < SHOAL_COUNT(variants); i++) {
        const struct variant *v = &variants[i];
        double size[MOST_SIZES], error[MOST_SIZES], least = INFINITY;
        int n = 0;
        const double most = INSTRUMENTED ? 500 : 1e6; /* steps an orbit */
        for (double steps = fmin(6, 24.0 / v->order);
             !v->parameter && steps < most && n < MOST_SIZES && !(least < 1e-11);
             steps *= v->order < 4 ? sqrt(2) : 1.15) {
            size[n] = t_end / ceil(steps * 3);
            error[n] = error_of(context, v, size[n], NAN, t_end, exact);
            least = fmin(least, error[n]);
            n += error[n] < (v->order == 1 ? 0.1 : v->order < 10 ? 3e-3 : 1e-5) && error[n] > 5e-12;
        }
        double value = v->first;
        for (int k = 0; v->parameter && k < VALUES; k++, value *= v->factor) {
            size[n] = value;
            error[n] = error_of(context, v, 0, value, t_end, exact);
            least = fmin(least, error[n++]);
        }
        if (n < VALUES && INSTRUMENTED)
            continue;
        assert_true(n >= VALUES);
        const double power = slope(n, size, error), allowed = v->parameter ? v->power : 0.9 * v->order;
        say(v, "%d sizes, errors %.1e to %.1e, order %.2f", n, error[0], error[n - 1], power);
        assert_below(allowed, power, "%s %s: order", v->propagator, v->setting[0].choice ? v->setting[0].choice : "");
    }
}

/* ---- Kepler ------------------------------------------------------------------------------------------------------ */

/* A massless planet from its apocentre round to it. Steps of one length are quartered until the error is small
 * enough, and what adaptive Hermite schemes are told with them; Euler's method does not get there where e is large. */
static void ellipses_are_followed(void **state)
{
    static const double e[] = {0.0, 0.5, 0.9, 0.99};
    shoal_context *context = context_of(state);
    for (int i = 0; i < SHOAL_COUNT(variants); i++) {
        const struct variant *v = &variants[i];
        const int most = v->order == 1 ? 2 : SHOAL_COUNT(e);
        const double limit = v->order == 1 ? 0.02 : v->order == 2 ? 1e-3 : 1e-6;
        double worst = INFINITY, steps = 64;
        for (; worst > limit && steps <= (INSTRUMENTED ? 1 << 13 : 1 << 22); steps *= 4) {
            shoal_body bodies[SHOAL_COUNT(e)][2];
            memset(bodies, 0, sizeof bodies);
            for (int s = 0; s < most; s++) {
                const double r = 1 + e[s];
                bodies[s][0].m = 1;
                bodies[s][1].x = r;
                bodies[s][1].vy = 0.8 * sqrt((1 - e[s]) / r);
                bodies[s][1].vz = 0.6 * sqrt((1 - e[s]) / r);
            }
            evolve(context, v, TWO_PI / steps,
                   v->momentum == 0 && v->parameter ? v->first * pow(v->factor, steps / 256) : NAN, TWO_PI, most, 2,
                   bodies[0]);
            worst = 0;
            for (int s = 0; s < most; s++)
                worst = fmax(worst,
                             hypot(hypot(bodies[s][1].x - bodies[s][0].x - 1 - e[s], bodies[s][1].y - bodies[s][0].y),
                                   bodies[s][1].z - bodies[s][0].z));
        }
        say(v, "e up to %g: error %.1e, %g steps an orbit", e[most - 1], worst, v->parameter ? NAN : steps / 4);
        if (!INSTRUMENTED)
            assert_below(worst, limit, "%s %s: ellipses", v->propagator,
                         v->setting[0].choice ? v->setting[0].choice : "");
    }
}

/* ---- conserved quantities ---------------------------------------------------------------------------------------- */

/* Momentum, first moment of the masses, angular momentum. */
static void integrals(const shoal_body *b, double *sum)
{
    memset(sum, 0, 9 * sizeof *sum);
    for (int i = 0; i < N; i++) {
        const double x[3] = {b[i].x, b[i].y, b[i].z}, v[3] = {b[i].vx, b[i].vy, b[i].vz};
        for (int c = 0; c < 3; c++) {
            sum[c] += b[i].m * v[c];
            sum[3 + c] += b[i].m * x[c];
            sum[6 + c] += b[i].m * (x[(c + 1) % 3] * v[(c + 2) % 3] - x[(c + 2) % 3] * v[(c + 1) % 3]);
        }
    }
}

static void momenta_are_kept(void **state)
{
    enum { SYSTEMS = 8 };
    shoal_context *context = context_of(state);
    const double t_end = (INSTRUMENTED ? 10 : 100) * TWO_PI;
    for (int i = 0; i < SHOAL_COUNT(variants); i++)
        for (int best = 0; best <= (variants[i].parameter != NULL); best++) {
            const struct variant *v = &variants[i];
            shoal_setting settings[MOST_SETTINGS];
            const shoal_options options = best ? best_options_of(v, 0, t_end, settings)
                                               : options_of(v, TWO_PI / 60, NAN, t_end, settings);
            shoal_body bodies[SYSTEMS * N];
            double before[SYSTEMS][9], after[9], speed = 0, centre = 0, spin = 0;
            for (long s = 0; s < SYSTEMS; s++) {
                planetary_system(context, s, N, 1e-3, 1.7, 0.1, bodies + s * N);
                integrals(bodies + s * N, before[s]);
            }
            evolve_all(context, SYSTEMS, N, NULL, NULL, &options, bodies, NULL);
            for (long s = 0; s < SYSTEMS; s++) {
                integrals(bodies + s * N, after);
                double change = 0, whole = 0;
                for (int c = 0; c < 3; c++) {
                    const double moved = before[s][3 + c] + before[s][c] * t_end;
                    speed = fmax(speed, fabs(after[c] - before[s][c]));
                    centre = fmax(centre, fabs(after[3 + c] - moved));
                    change = hypot(change, after[6 + c] - before[s][6 + c]);
                    whole = hypot(whole, before[s][6 + c]);
                }
                spin = fmax(spin, change / whole);
            }
            say(v, "centre of mass %.1e, its velocity %.1e, angular momentum %.1e%s", centre, speed, spin,
                best ? " at best" : "");
            assert_below(centre, 1e-13, "%s: centre of mass", v->propagator);
            assert_below(speed, 5e-16, "%s: its velocity", v->propagator);
            if (best || v->momentum > 0)
                assert_below(spin, best ? ROUNDING : v->momentum, "%s: angular momentum", v->propagator);
        }
}

/* ---- three bodies, adaptive steps -------------------------------------------------------------------------------- */

/* A third of the period later every body is where the next one was, after the whole one where it was itself. After a
 * sixth, and at the start, one is in the middle, where the others' pulls cancel. */
static void the_figure_eight_closes(void **state)
{
    static const double periods[] = {1 / 3.0, 1, 10};
    shoal_context *context = context_of(state);
    shoal_body exact[3];
    memcpy(exact, figure_eight, sizeof exact);
    newton_reference(3, FIGURE_EIGHT_PERIOD, exact);
    for (int i = 0; i < SHOAL_COUNT(variants); i++) {
        const struct variant *v = &variants[i];
        if (!v->parameter)
            continue;
        shoal_setting settings[MOST_SETTINGS];
        shoal_body bodies[3][3];
        shoal_system record;
        const shoal_options options = best_options_of(v, 0, 10 * FIGURE_EIGHT_PERIOD, settings);
        struct motion motion = motion_begin(context, 1, 3, NULL, NULL, &options, figure_eight);
        for (int k = 0; k < 3; k++) {
            assert_ok(context, shoal_plan_integrate(motion.plan, periods[k] * FIGURE_EIGHT_PERIOD));
            shoal_ensemble_get_bodies(motion.ensemble, 0, bodies[k]);
        }
        shoal_ensemble_get_system(motion.ensemble, 0, &record);
        const double energy = fabs(motion_energy_error(&motion, 0)), shift = figure_eight_shift(bodies[0]),
                     gap = distance_of_states(3, bodies[1], figure_eight),
                     gsl = distance_of_states(3, bodies[1], exact),
                     late = distance_of_states(3, bodies[2], figure_eight);
        motion_end(&motion);
        say(v,
            "figure of eight: %s at %.5f; a third off by %.1e, gap %.1e, off GSL by %.1e; ten periods: gap %.1e, "
            "energy %.1e",
            shoal_outcome_name(record.outcome), record.t_stop, shift, gap, gsl, late, energy);
        assert_int_equal(record.outcome, SHOAL_SURVIVED);
        assert_below(fmax(fmax(shift, gap), gsl), 3e-13, "%s", v->propagator); /* the initial values have 14 digits */
        assert_below(late, 3e-11, "%s", v->propagator); /* errors of the phase grow with the time squared */
        assert_below(energy, v->momentum == ROUNDING ? 10 * EPS : 2e-13, "%s", v->propagator);
    }
}

/*
 * Burrau's Pythagorean problem: masses 3, 4, 5 at rest in the corners of a right triangle. Szebehely & Peters 1967, AJ
 * 72, 876: the closest approach, 4e-4 between the masses 4 and 5 at t = 15.830, and in the end these two a binary that
 * mass 3 leaves. The states are from an integration in quadruple precision (extrapolated leapfrog of order 28, error
 * 1e-27 a step; another one at 1e-24 has the same 13 digits). In doubles an error EPS of the positions is one of 20 EPS
 * / (4e-4)^2 = 3e-8 in the energy at that approach, of which compensated sums leave some 1e-3, and from t = 20 to 60
 * errors grow 3e5-fold (the same integration with x_3 shifted by 1e-18): the limits. What is left of an error at t = 60
 * when mass 3 leaves is 20 times as much in its distance at t = 70, 0.4 in the binary's axis and 0.02 in its e.
 * Bulirsch & Stoer's extrapolation magnifies roundings.
 */
static void pythagorean_bodies_part(void **state)
{
    static const struct {
        double t, limit, x[6];
    } rows[] = {{10,
                 1e-9,
                 {0.77848041013808544, 0.14139230029008618, -2.0250924779781987, 0.097219384146058394,
                  1.1529857362997076, -0.16261088749089841}},
                {20,
                 1e-8,
                 {3.0042926366963991, 0.5119252350246859, -1.3886265375108955, -0.47047605025272216,
                  -0.69167435200912319, 0.069225699187366221}},
                {60,
                 1e-3,
                 {0.74380750011808272, 1.939947951094863, 0.26401033468625651, -0.73162439486996356,
                  -0.65749276781985488, -0.57866925476094688}}};
    shoal_context *context = context_of(state);
    for (int i = 0; i < SHOAL_COUNT(variants); i++) {
        const struct variant *v = &variants[i];
        if (!v->parameter)
            continue;
        const double worse = strcmp(v->propagator, "bulirsch_stoer") == 0 ? 100 : 1;
        double error[SHOAL_COUNT(rows)] = {0}, far2 = 0, speed2 = 0, outwards = 0;
        shoal_setting settings[MOST_SETTINGS];
        shoal_body b[3];
        const shoal_options options = best_options_of(v, 0, 70, settings);
        struct motion motion = motion_begin(context, 1, 3, NULL, NULL, &options, pythagorean);
        for (int row = 0; row < SHOAL_COUNT(rows); row++) {
            assert_ok(context, shoal_plan_integrate(motion.plan, rows[row].t));
            shoal_ensemble_get_bodies(motion.ensemble, 0, b);
            for (int k = 0; k < 3; k++)
                error[row] = fmax(error[row], hypot(b[k].x - rows[row].x[2 * k], b[k].y - rows[row].x[2 * k + 1]));
        }
        assert_ok(context, shoal_plan_integrate(motion.plan, 70));
        shoal_ensemble_get_bodies(motion.ensemble, 0, b);
        const double energy = fabs(motion_energy_error(&motion, 0));
        motion_end(&motion);
        const shoal_orbit binary = pythagorean_binary(context, &b[1], &b[2]);
        for (int c = 0; c < 3; c++) { /* the mass 3 from the others' barycentre */
            const double x = (&b[0].x)[c] - (4 * (&b[1].x)[c] + 5 * (&b[2].x)[c]) / 9,
                         u = (&b[0].vx)[c] - (4 * (&b[1].vx)[c] + 5 * (&b[2].vx)[c]) / 9;
            far2 += x * x;
            speed2 += u * u;
            outwards += x * u;
        }
        say(v, "Pythagorean: off by %.1e %.1e %.1e; a = %.6f e = %.6f, the third at %.5f; energy %.1e", error[0],
            error[1], error[2], binary.a, binary.e, sqrt(far2), energy);
        for (int row = 0; row < SHOAL_COUNT(rows); row++)
            assert_below(error[row], (row ? worse : 1) * rows[row].limit, "%s, t = %g", v->propagator, rows[row].t);
        assert_below(energy, worse * 5e-10, "%s", v->propagator);
        assert_below(fabs(binary.a - PYTHAGOREAN_A), worse * 4e-4, "%s", v->propagator);
        assert_below(fabs(binary.e - PYTHAGOREAN_E), worse * 2e-5, "%s", v->propagator);
        assert_below(fabs(sqrt(far2) - PYTHAGOREAN_FAR), worse * 0.02, "%s", v->propagator);
        assert_true(speed2 / 2 > 12 / sqrt(far2) && outwards > 0);
    }
}

/* ---- reversal ---------------------------------------------------------------------------------------------------- */

/* There and back, in time or by turned velocities, with 25 steps in the shortest orbit. (A corrector's Z then stand
 * in reverse order, which makes a difference of their commutators only: (1e-4 b)^2.) */
static void symmetric_ones_come_back(void **state)
{
    enum { PLANETS = 4 };
    shoal_context *context = context_of(state);
    for (int i = 0; i < SHOAL_COUNT(variants); i++) {
        const struct variant *v = &variants[i];
        const bool corrected = strcmp(v->propagator, "mvs_jacobi") == 0;
        double back[2][2];
        if (v->parameter || v->momentum == 0)
            continue;
        for (int compensated = 0; compensated < 2; compensated++)
            for (int turned = 0; turned < 2; turned++) {
                const double t[2] = {turned ? -50 : 50, turned ? 150 : -150};
                shoal_setting settings[MOST_SETTINGS];
                shoal_options options = best_options_of(v, 0.25, t[1], settings);
                options.n_settings -= !compensated;
                shoal_body start[PLANETS], bodies[PLANETS];
                planetary_system(context, 1, PLANETS, 1e-4, 1.5, 0.1, start);
                memcpy(bodies, start, sizeof start);
                evolve_all(context, 1, PLANETS, &t[0], NULL, &options, bodies, NULL);
                assert_true(distance_of_states(PLANETS, bodies, start) > 0.1);
                for (int k = 0; turned && k < PLANETS; k++)
                    for (int c = 3; c < 6; c++)
                        (&bodies[k].x)[c] *= -1;
                options.t_end = t[turned];
                evolve_all(context, 1, PLANETS, &t[!turned], NULL, &options, bodies, NULL);
                back[compensated][turned] = distance_of_states(PLANETS, bodies, start);
                /* of 1600 steps; roundings grow with the time to the 3/2 */
                assert_below(back[compensated][turned], compensated && !corrected ? 1e-12 : 1e-11, "%s", v->propagator);
            }
        say(v, "there and back: %.1e, turned %.1e; compensated %.1e, turned %.1e", back[0][0], back[0][1], back[1][0],
            back[1][1]);
    }
}

/* ---- a body at the origin ---------------------------------------------------------------------------------------- */

/* Two planets opposite to each other on one circle, whose pulls at the star cancel but for rounding. It has no
 * distance, no speed and no acceleration that its errors and its steps could be measured by: as many steps are made
 * as for one of the planets alone, and its circle is as round. */
static void a_body_at_the_origin_is_harmless(void **state)
{
    enum { ORBITS = 100 };
    const double m = 1e-6, t_end = ORBITS * TWO_PI;
    shoal_context *context = context_of(state);
    for (int i = 0; i < SHOAL_COUNT(variants); i++) {
        const struct variant *v = &variants[i];
        double steps[2], error[2], star = 0;
        for (int planets = 1; planets <= 2 && v->parameter; planets++) {
            const double r = planets == 1 ? 1 / (1 + m) : 1, speed = sqrt(1 + (planets == 1 ? m : 0.25 * m));
            shoal_body bodies[N] = {{.m = 1, .x = r - 1, .vy = (r - 1) * speed},
                                    {.m = m, .x = r, .vy = r * speed},
                                    {.m = m, .x = -r, .vy = -r * speed}};
            shoal_setting settings[MOST_SETTINGS];
            shoal_system record;
            const shoal_options options = options_of(v, 0, NAN, t_end, settings);
            evolve_all(context, 1, planets + 1, NULL, NULL, &options, bodies, &record);
            assert_int_equal(record.outcome, SHOAL_SURVIVED);
            steps[planets - 1] = record.n_steps / ORBITS;
            error[planets - 1] = hypot(bodies[1].x - r * cos(speed * t_end), bodies[1].y - r * sin(speed * t_end));
            star = hypot(bodies[0].x, bodies[0].y);
        }
        if (!v->parameter)
            continue;
        say(v, "%.1f steps an orbit, error %.1e; one planet %.1f, %.1e; star at %.1e", steps[1], error[1], steps[0],
            error[0], star);
        assert_below(fabs(steps[1] / steps[0] - 1), 0.01, "%s: steps", v->propagator);
        /* 5e4 roundings of 2e-16, for a time of 628 */
        assert_below(error[1], 2 * error[0] + 5e-11, "%s: planets", v->propagator);
        assert_below(star, 1e-16, "%s: star", v->propagator);
    }
}

/* The same of heavier planets, until the balance breaks, as it does; and a body that is pulled from both sides, next
 * to the middle. On the way out a pull goes through all sizes from that of roundings on, and no step is chosen by
 * these. */
static void a_balance_that_breaks_ends_no_system(void **state)
{
    const double t_end = 40 * TWO_PI, mass[] = {1e-4, 1e-3, 1e-2, 0.1, 1}, off[] = {1e-15, 1e-13, 1e-11, 1e-9};
    shoal_context *context = context_of(state);
    for (int i = 0; i < SHOAL_COUNT(variants); i++) {
        const struct variant *v = &variants[i];
        if (!v->parameter)
            continue;
        double most = 0;
        for (int row = 0; row < SHOAL_COUNT(mass) + SHOAL_COUNT(off); row++) {
            const bool planets = row < SHOAL_COUNT(mass);
            const double m = planets ? mass[row] : 0, x = planets ? 0 : off[row - SHOAL_COUNT(mass)],
                         speed = sqrt(1 + 0.25 * m);
            shoal_body opposite[N] = {{.m = 1}, {.m = m, .x = 1, .vy = speed}, {.m = m, .x = -1, .vy = -speed}};
            shoal_body between[N] = {{.m = 0.5, .x = -0.5, .vy = -0.5}, {.m = 0.5, .x = 0.5, .vy = 0.5}, {.x = x}};
            shoal_setting settings[MOST_SETTINGS];
            shoal_system record;
            shoal_options options = options_of(v, 0, NAN, planets ? t_end : 6, settings);
            options.max_steps = 1e6;
            evolve_all(context, 1, 3, NULL, NULL, &options, planets ? opposite : between, &record);
            if (record.outcome != SHOAL_SURVIVED)
                fail_msg("%s %s: m = %g, x = %g: %s at %g", v->propagator, v->setting[0].choice, m, x,
                         shoal_outcome_name(record.outcome), record.t_stop);
            most = fmax(most, record.n_steps / record.time);
        }
        say(v, "%.0f steps a unit of time at most", most);
    }
}

/* ---- the outer Solar System -------------------------------------------------------------------------------------- */

/* Steps a year of Jupiter's, as many as a user would make. */
static double usual_steps(const struct variant *v)
{
    static const double steps[] = {[2] = 100, [4] = 150, [5] = 100, [6] = 60, [8] = 40, [10] = 24, [12] = 12};
    const bool map = strncmp(v->propagator, "mvs", 3) == 0 || strcmp(v->propagator, "saba") == 0 ||
                     strcmp(v->propagator, "hybrid") == 0;
    return map || v->parameter ? 24 : steps[v->order];
}

enum { GIANTS = 5 };

/* The orbits after a time; returns the relative error of the energy. */
static double giants_after(shoal_context *context, const struct variant *v, double t, const shoal_body *begin,
                           shoal_orbit *orbit)
{
    shoal_setting settings[MOST_SETTINGS];
    const shoal_options options = options_of(v, OUTER_JUPITER_YEAR / usual_steps(v), NAN, t, settings);
    shoal_body end[GIANTS];
    struct motion motion = motion_begin(context, 1, GIANTS, NULL, NULL, &options, begin);
    assert_ok(context, shoal_plan_integrate(motion.plan, t));
    const double error = fabs(motion_energy_error(&motion, 0));
    shoal_ensemble_get_bodies(motion.ensemble, 0, end);
    motion_end(&motion);
    assert_ok(context, shoal_orbits_from_bodies(context, SHOAL_JACOBI, GIANTS, end, orbit));
    return error;
}

/*
 * The Sun and the four giants with every one, for 3e4 years, with SHOAL_TEST_LONG=1 in the environment for a million
 * (ten minutes): the energy is kept to what the method allows, and the axes only oscillate, by some 1e-3. Euler's
 * method and the midpoint rule lose the planets.
 *
 * The orbits at the end are those of gauss_radau. In 3e4 years Saturn's pericentre turns by 4 rad, with e about 0.05
 * and inc about 0.02. A method that keeps the energy to 1e-8 may turn pericentres by 1e-3 too much, which moves e by
 * 5e-5 (a pull of planets wrong by 3e-4 would do more), phases by 2e-3, which moves the axes by 1e-3 of that, as they
 * oscillate, and nodes by a tenth of the pericentres' angle, for a wrong pull of the star leaves planes alone. Those
 * that keep the energy less exactly may be off by as much more.
 */
static void giants_stay(void **state)
{
    shoal_context *context = context_of(state);
    const char *longer = getenv("SHOAL_TEST_LONG");
    const double years = INSTRUMENTED                         ? 100
                         : longer && strcmp(longer, "1") == 0 ? 1e6
                                                              : 3e4,
                 t_end = years / 11.862 * OUTER_JUPITER_YEAR;
    double numbers[GIANTS][7];
    shoal_body begin[GIANTS];
    const struct variant radau = {.propagator = "gauss_radau", .parameter = "epsilon"};
    shoal_orbit first[GIANTS], exact[GIANTS], orbit[GIANTS];
    outer_planets_system(0, GIANTS, numbers);
    for (int i = 0; i < GIANTS; i++)
        begin[i] = (shoal_body){.m = numbers[i][0],
                                .x = numbers[i][1],
                                .y = numbers[i][2],
                                .z = numbers[i][3],
                                .vx = numbers[i][4],
                                .vy = numbers[i][5],
                                .vz = numbers[i][6]};
    assert_ok(context, shoal_orbits_from_bodies(context, SHOAL_JACOBI, GIANTS, begin, first));
    giants_after(context, &radau, t_end, begin, exact);
    for (int i = 0; i < SHOAL_COUNT(variants); i++) {
        const struct variant *v = &variants[i];
        if (!v->parameter && v->order <= 2 && v->momentum == 0)
            continue;
        const double error = giants_after(context, v, t_end, begin, orbit),
                     more = fmax(1, error / 1e-8) * fmax(1, years / 3e4);
        double moved = 0, a = 0, e = 0, inc = 0;
        for (int k = 1; k < GIANTS; k++) {
            moved = fmax(moved, fabs(orbit[k].a / first[k].a - 1));
            a = fmax(a, fabs(orbit[k].a / exact[k].a - 1));
            e = fmax(e, fabs(orbit[k].e - exact[k].e));
            inc = fmax(inc, fabs(orbit[k].inc - exact[k].inc));
        }
        say(v, "%g years: energy %.1e, axes %.1e; from gauss_radau: a %.1e, e %.1e, inc %.1e", years, error, moved, a,
            e, inc);
        /* of those that lose energy in proportion to the time */
        const double drift = v->momentum > 0 ? 3e-4 : 1e-3 * fmax(1, years / 3e4);
        assert_below(error, drift, "%s: energy", v->propagator);
        assert_below(moved, 2e-3 + drift, "%s: semi-major axes", v->propagator);
        assert_below(a, 2e-6 * more, "%s: semi-major axes", v->propagator);
        assert_below(e, 5e-5 * more, "%s: eccentricities", v->propagator);
        assert_below(inc, 2e-6 * more, "%s: inclinations", v->propagator);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_is_left_out),
        cmocka_unit_test(errors_fall_with_the_order),
        cmocka_unit_test(ellipses_are_followed),
        cmocka_unit_test(momenta_are_kept),
        cmocka_unit_test(the_figure_eight_closes),
        cmocka_unit_test(pythagorean_bodies_part),
        cmocka_unit_test(symmetric_ones_come_back),
        cmocka_unit_test(a_body_at_the_origin_is_harmless),
        cmocka_unit_test(a_balance_that_breaks_ends_no_system),
        cmocka_unit_test(giants_stay),
    };
    cmocka_set_test_filter(getenv("SHOAL_TEST_NAME"));
    return cmocka_run_group_tests(tests, setup, teardown);
}
