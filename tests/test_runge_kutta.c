/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_runge_kutta.c: the Runge-Kutta methods with fixed and with adaptive steps: order conditions of every tableau
 * (all rooted trees up to its order), measured orders, the same methods in GSL and in long double, Kepler orbits,
 * three-body problems with known ends, how systems end, and what rejected steps must not do.
 *
 * The measured numbers are printed, so that a run shows how far from its limit a test is.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_errno.h>
#include <gsl/gsl_odeiv2.h>

#include "systems.h"
#include "trees.h"

#define LANE_COMMON_TABLE static const
#define LANE_COMMON_HERE  1
#include "integrators/tableaux.kern.h"

#define MOST_BODIES 8

#define SLOW_DOWN (INSTRUMENTED ? 20 : 1)

static const char *const method_name[] = {"euler",          "midpoint",       "rk4", "cash_karp", "fehlberg",
                                          "dormand_prince", "prince_dormand8"};

/* ---- order conditions -------------------------------------------------------------------------------------------- */

/* A tableau with the new state as its last stage. */
struct extended {
    struct method method;
    long double b[METHOD_STAGES], lower[METHOD_STAGES];
};

static struct extended extend(const rk_tableau *t)
{
    struct extended x = {.method.stages = t->stages + 1};
    for (int i = 0; i < t->stages; i++)
        for (int j = 0; j < t->stages; j++)
            x.method.once[i][j] = t->A[i][j];
    for (int j = 0; j < t->stages; j++)
        x.method.once[t->stages][j] = x.b[j] = t->b[j];
    for (int j = 0; j <= t->stages; j++)
        x.lower[j] = x.b[j] - t->e[j];
    return x;
}

/* Every method has the order it says, and not one more. */
static void tableaux_meet_their_order_conditions(void **state)
{
    static const int trees[] = {1, 1, 2, 4, 9, 20, 48, 115, 286};
    struct forest *forest = plant(OF_FIRST_ORDER, SHOAL_COUNT(trees));
    (void)state;
    for (int order = 1; order <= SHOAL_COUNT(trees); order++)
        assert_int_equal(conditions(forest, 1, order), trees[order - 1]);
    for (int method = 0; method < RK_METHODS; method++) {
        const rk_tableau *t = &rk_tableaux[method];
        const struct extended x = extend(t);
        for (int which = 0; which < (t->lower ? 2 : 1); which++) {
            const int order = which ? t->lower : t->order;
            const long double *weight = which ? x.lower : x.b;
            double worst = 0.0;
            for (int p = 1; p <= order; p++)
                worst = fmax(worst, residual(forest, &x.method, 1, weight, p));
            print_message("%-16s order %d: conditions met to %.1e, of the next order missed by %.1e\n",
                          method_name[method], order, worst, residual(forest, &x.method, 1, weight, order + 1));
            /* entries up to 17 are rounded to 2^-53 of themselves */
            assert_below(worst, 1e-14, "%s", method_name[method]);
            assert_true(residual(forest, &x.method, 1, weight, order + 1) > 1e-7);
        }
    }
    free(forest);
}

static void tableaux_without_velocities_are_products(void **state)
{
    (void)state;
    for (int method = 0; method < RK_METHODS; method++) {
        const rk_tableau *t = &rk_tableaux[method];
        const struct extended x = extend(t);
        double worst = 0.0;
        for (int i = 0; i < t->stages; i++) {
            long double c = 0;
            for (int j = 0; j < t->stages; j++) {
                long double product = 0;
                c += x.method.once[i][j];
                for (int q = 0; q < t->stages; q++)
                    product += x.method.once[i][q] * x.method.once[q][j];
                worst = fmax(worst, (double)fabsl(product - t->AA[i][j]));
                if (j >= i - 1)
                    assert_true(t->AA[i][j] == 0); /* as the kernel has it */
                if (j >= i)
                    assert_true(t->A[i][j] == 0);
            }
            worst = fmax(worst, (double)fabsl(c - t->c[i]));
        }
        for (int j = 0; j < x.method.stages; j++) {
            long double step = 0, error = 0;
            for (int q = 0; q < x.method.stages; q++) {
                step += x.b[q] * x.method.once[q][j];
                error += (long double)t->e[q] * x.method.once[q][j];
            }
            worst = fmax(worst, (double)fabsl(step - (j < t->stages ? t->bA[j] : 0)));
            worst = fmax(worst, (double)fabsl(error - t->eA[j]));
            if (j >= t->stages - 1)
                assert_true(j == t->stages || t->bA[j] == 0);
        }
        print_message("%-16s products to %.1e\n", method_name[method], worst);
        assert_below(worst, 1e-14, "%s", method_name[method]);
    }
}

/* The first defect of a step that rounded weights leave acts on the energy always in the same sense; that of order 8
 * has to be free of it, for its truncation soon leaves nothing else to see. */
static void weights_have_no_bias(void **state)
{
    const rk_tableau *t = &rk_tableaux[RK_PRINCE_DORMAND8];
    __float128 velocity = 0, position = 0;
    (void)state;
    for (int i = 0; i < t->stages; i++) {
        velocity += t->b[i] * ((__float128)t->c[i] - 0.5);
        position += (__float128)t->bA[i] - 0.5 * t->b[i];
    }
    print_message("sum b (c - 1/2) = %.1e, sum (bA - b/2) = %.1e\n", (double)velocity, (double)position);
    assert_below(fabs((double)velocity), 1e-19, "velocity");
    assert_below(fabs((double)position), 1e-19, "position");
}

/* ---- systems and runs -------------------------------------------------------------------------------------------- */

static void two_bodies(shoal_context *context, double ratio, double e, double f, shoal_body *bodies)
{
    const shoal_orbit orbit[2] = {{.a = 0}, {.a = 1, .e = e, .inc = 0.3, .Omega = 1, .omega = 2, .f = f}};
    memset(bodies, 0, 2 * sizeof *bodies);
    bodies[0].m = 1 / (1 + ratio);
    bodies[1].m = ratio / (1 + ratio);
    assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, 2, orbit, bodies));
}

/* ---- the same methods, written down plainly ---------------------------------------------------------------------- */

/* dy/dt for y = x y z of all bodies, then their velocities. */
static void right_side(int n, const shoal_body *bodies, const long double *y, long double *dy)
{
    memcpy(dy, y + 3 * n, (size_t)(3 * n) * sizeof *y);
    memset(dy + 3 * n, 0, (size_t)(3 * n) * sizeof *y);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            if (j == i)
                continue;
            const long double d[3] = {y[3 * j] - y[3 * i], y[3 * j + 1] - y[3 * i + 1], y[3 * j + 2] - y[3 * i + 2]};
            const long double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            for (int c = 0; c < 3; c++)
                dy[3 * (n + i) + c] += bodies[j].m * d[c] / (r2 * sqrtl(r2));
        }
}

/* n_steps steps of length h in long double, from A and b: rounding apart, what the kernels do. */
static void in_long_double(int method, int n, long double h, long n_steps, const shoal_body *start, shoal_body *end)
{
    const rk_tableau *t = &rk_tableaux[method];
    long double y[6 * MOST_BODIES], stage[6 * MOST_BODIES], k[RK_MOST_STAGES][6 * MOST_BODIES];
    for (int i = 0; i < n; i++)
        for (int c = 0; c < 3; c++) {
            y[3 * i + c] = (&start[i].x)[c];
            y[3 * (n + i) + c] = (&start[i].vx)[c];
        }
    for (long step = 0; step < n_steps; step++) {
        for (int i = 0; i < t->stages; i++) {
            for (int c = 0; c < 6 * n; c++) {
                stage[c] = y[c];
                for (int j = 0; j < i; j++)
                    stage[c] += h * t->A[i][j] * k[j][c];
            }
            right_side(n, start, stage, k[i]);
        }
        for (int c = 0; c < 6 * n; c++)
            for (int j = 0; j < t->stages; j++)
                y[c] += h * t->b[j] * k[j][c];
    }
    memcpy(end, start, (size_t)n * sizeof *end);
    for (int i = 0; i < n; i++)
        for (int c = 0; c < 3; c++) {
            (&end[i].x)[c] = (double)y[3 * i + c];
            (&end[i].vx)[c] = (double)y[3 * (n + i) + c];
        }
}

static void in_gsl(const gsl_odeiv2_step_type *type, int n, double h, long n_steps, const shoal_body *start,
                   shoal_body *end)
{
    double y[6 * MOST_BODIES], error[6 * MOST_BODIES];
    struct newton newton = {n, start};
    const gsl_odeiv2_system system = {newton_right_side, NULL, (size_t)(6 * n), &newton};
    gsl_odeiv2_step *step = gsl_odeiv2_step_alloc(type, 6 * (size_t)n);
    assert_non_null(step);
    memcpy(end, start, (size_t)n * sizeof *end);
    newton_from_bodies(n, start, y);
    for (long i = 0; i < n_steps; i++)
        assert_int_equal(gsl_odeiv2_step_apply(step, (double)i * h, h, y, error, NULL, NULL, &system), GSL_SUCCESS);
    gsl_odeiv2_step_free(step);
    newton_to_bodies(n, y, end);
}

/* The same steps in GSL, 100 orbits: the same values to rounding. What rounding comes to is measured by the same
 * method in long double: neither we nor GSL may be farther from it than a few times the other. GSL's rk4 makes two
 * steps of half the length. */
static void fixed_steps_are_those_of_gsl(void **state)
{
    enum { N = 3, SYSTEMS = 4 };
    const struct {
        const char *method;
        int index;
        const gsl_odeiv2_step_type *type;
        double h;
        int per_step;
    } rows[] = {{"cash_karp", RK_CASH_KARP, gsl_odeiv2_step_rkck, 0x1p-6, 1},
                {"fehlberg", RK_FEHLBERG, gsl_odeiv2_step_rkf45, 0x1p-6, 1},
                {"prince_dormand8", RK_PRINCE_DORMAND8, gsl_odeiv2_step_rk8pd, 0x1p-4, 1},
                {"rk4", RK_RK4, gsl_odeiv2_step_rk4, 0x1p-6, 2}};
    shoal_context *context = context_of(state);
    for (int row = 0; row < SHOAL_COUNT(rows); row++) {
        const double h = rows[row].h;
        const long n_steps = lround(100 * TWO_PI / SLOW_DOWN / h / 2) * 2;
        const shoal_setting setting = {.name = "method", .choice = rows[row].method};
        const shoal_options options = {
            .propagator = "runge_kutta", .settings = &setting, .n_settings = 1, .t_end = (double)n_steps * h, .dt = h};
        shoal_body start[SYSTEMS * N], ours[SYSTEMS * N], gsl[N], exact[N];
        double our_error = 0.0, gsl_error = 0.0, apart = 0.0;
        for (int s = 0; s < SYSTEMS; s++)
            planetary_system(context, s, N, 1e-3, 1.7, 0.1, start + N * s);
        memcpy(ours, start, sizeof start);
        evolve_all(context, SYSTEMS, N, NULL, NULL, &options, ours, NULL);
        for (int s = 0; s < SYSTEMS; s++) {
            in_gsl(rows[row].type, N, rows[row].per_step * h, n_steps / rows[row].per_step, start + N * s, gsl);
            in_long_double(rows[row].index, N, h, n_steps, start + N * s, exact);
            our_error = fmax(our_error, distance_of_states(N, ours + N * s, exact));
            gsl_error = fmax(gsl_error, distance_of_states(N, gsl, exact));
            apart = fmax(apart, distance_of_states(N, ours + N * s, gsl));
        }
        print_message("%-16s %ld steps: rounding %.1e, GSL's %.1e, apart %.1e\n", rows[row].method, n_steps, our_error,
                      gsl_error, apart);
        assert_below(our_error, 3.0 * gsl_error + 1e-14, "%s", rows[row].method);
        assert_below(apart, 4.0 * gsl_error + 1e-14, "%s", rows[row].method);
        assert_below(gsl_error, 1e-10, "%s", rows[row].method);
    }
}

/* Slope of log error over log step from six steps, three bodies that pull at each other strongly. */
static void errors_fall_with_the_order(void **state)
{
    enum { STEPS = 6, N = 3 };
    static const double coarsest[RK_METHODS] = {0x1p-10, 0x1p-7, 0x1p-4, 0x1p-4, 0x1p-4, 0x1p-4, 0x1p-2};
    static const double ratio[RK_METHODS] = {0.5, 0.5, 0.5, 0.7, 0.7, 0.7, 0.8};
    shoal_context *context = context_of(state);
    shoal_body start[N], exact[N];
    planetary_system(context, 5, N, 2e-2, 1.7, 0.1, start);
    in_long_double(RK_PRINCE_DORMAND8, N, 0x1p-8L, 4 * 256, start, exact);
    for (int method = 0; method < RK_METHODS; method++)
        for (int compensated = 0; compensated < 2; compensated++) {
            const shoal_setting settings[] = {{.name = "method", .choice = method_name[method]},
                                              {.name = "compensated", .value = compensated}};
            const shoal_options options = {
                .propagator = "runge_kutta", .settings = settings, .n_settings = 2, .t_end = 4};
            shoal_body bodies[STEPS * N];
            double dt[STEPS], error[STEPS];
            for (int k = 0; k < STEPS; k++) {
                memcpy(bodies + N * k, start, sizeof start);
                dt[k] = 4.0 / round(4.0 / (coarsest[method] * pow(ratio[method], k)));
            }
            evolve_all(context, STEPS, N, NULL, dt, &options, bodies, NULL);
            for (int k = 0; k < STEPS; k++)
                error[k] = distance_of_states(N, bodies + N * k, exact);
            const double order = slope(STEPS, dt, error);
            print_message("%-16s order %.3f, errors %.1e..%.1e%s\n", method_name[method], order, error[0],
                          error[STEPS - 1], compensated ? ", compensated" : "");
            /* the leading error term of dormand_prince is so small that the next one shows at steps that rounding
             * allows */
            assert_below(fabs(order - rk_tableaux[method].order), method == RK_DORMAND_PRINCE ? 0.6 : 0.3, "%s",
                         method_name[method]);
        }
}

/* ---- adaptive steps ---------------------------------------------------------------------------------------------- */

/* Kepler orbits of unequal masses from apocentre to apocentre, backwards too: the error falls with the tolerance, in
 * proportion. */
static void adaptive_errors_fall_with_the_tolerance(void **state)
{
    enum { TOLERANCES = 6, ORBITS = 4 };
    static const double eccentricities[] = {0.0, 0.5, 0.9, 0.99};
    shoal_context *context = context_of(state);
    for (int method = RK_EMBEDDED; method < RK_METHODS; method++)
        for (int row = 0; row < SHOAL_COUNT(eccentricities); row++) {
            double tolerance[TOLERANCES], error[TOLERANCES], steps[TOLERANCES];
            for (int k = 0; k < TOLERANCES; k++) {
                const double sign = k % 2 ? -1 : 1;
                shoal_system record;
                shoal_body start[2], bodies[2];
                tolerance[k] = 1e-7 * pow(10, -k);
                const shoal_setting settings[] = {{.name = "method", .choice = method_name[method]},
                                                  {.name = "tolerance", .value = tolerance[k]}};
                const shoal_options options = {.propagator = "runge_kutta_adaptive",
                                               .settings = settings,
                                               .n_settings = 2,
                                               .t_end = sign * ORBITS * TWO_PI};
                two_bodies(context, 1e-3, eccentricities[row], 0.5 * TWO_PI, start);
                memcpy(bodies, start, sizeof start);
                evolve_all(context, 1, 2, NULL, NULL, &options, bodies, &record);
                assert_int_equal(record.outcome, SHOAL_SURVIVED);
                error[k] = distance_of_states(2, bodies, start);
                steps[k] = record.n_steps / ORBITS;
            }
            const double power = slope(TOLERANCES, tolerance, error);
            print_message("%-16s e = %.2f: error %.1e..%.1e, power %.2f of the tolerance; %.0f..%.0f steps an orbit\n",
                          method_name[method], eccentricities[row], error[0], error[TOLERANCES - 1], power, steps[0],
                          steps[TOLERANCES - 1]);
            assert_below(fabs(power - 1.0), 0.25, "%s, e = %g", method_name[method], eccentricities[row]);
            /* an error of a step changes the period, and is carried on for the orbits that are left */
            assert_below(error[TOLERANCES - 1], tolerance[TOLERANCES - 1] * steps[TOLERANCES - 1] * ORBITS * ORBITS,
                         "%s, e = %g", method_name[method], eccentricities[row]);
        }
}

/* The closest approach of the Pythagorean problem, 4e-4 between the masses 4 and 5, is at t = 15.83 (Szebehely &
 * Peters 1967, AJ 72, 876). */
static void the_pythagorean_bodies_meet_as_published(void **state)
{
    shoal_context *context = context_of(state);
    const shoal_setting near[] = {{.name = "radius", .choice = "absolute"}, {.name = "distance", .value = 5e-4}};
    const shoal_plug_options encounter = {"stop_on_encounter", near, 2};
    const shoal_setting setting = {.name = "tolerance", .value = 1e-14};
    const shoal_options options = {.propagator = "runge_kutta_adaptive",
                                   .settings = &setting,
                                   .n_settings = 1,
                                   .t_end = 70,
                                   .monitors = &encounter,
                                   .n_monitors = 1};
    shoal_body bodies[3];
    shoal_system record;
    memcpy(bodies, pythagorean, sizeof bodies);
    evolve_all(context, 1, 3, NULL, NULL, &options, bodies, &record);
    print_message("within 5e-4 of each other: bodies %d and %d at t = %.4f\n", record.body_a, record.body_b,
                  record.t_stop);
    assert_int_equal(record.outcome, SHOAL_ENCOUNTER);
    assert_below(fabs(record.t_stop - 15.8299), 1e-4, "closest approach");
}

/* The barycentre stays where it is in any Runge-Kutta method; angular momentum is kept as well as the method is
 * accurate. */
static void momenta_are_kept(void **state)
{
    enum { N = 4, SYSTEMS = 3 };
    shoal_context *context = context_of(state);
    for (int adaptive = 0; adaptive < 2; adaptive++)
        for (int method = adaptive ? RK_EMBEDDED : 0; method < RK_METHODS; method++) {
            const shoal_setting settings[] = {{.name = "method", .choice = method_name[method]},
                                              {.name = "tolerance", .value = 1e-13}};
            const shoal_options options = {.propagator = adaptive ? "runge_kutta_adaptive" : "runge_kutta",
                                           .settings = settings,
                                           .n_settings = 1 + adaptive,
                                           .t_end = 20 * TWO_PI,
                                           .dt = method == RK_PRINCE_DORMAND8 ? 0.03 : 1e-3};
            shoal_body bodies[N * SYSTEMS];
            double worst = 0, centre = 0;
            for (int s = 0; s < SYSTEMS; s++)
                planetary_system(context, s, N, 1e-3, 1.7, 0.1, bodies + N * s);
            double before[SYSTEMS][3], after[SYSTEMS][3], (*momentum)[3] = before;
            for (int end = 0; end < 2; end++, momentum = after) {
                if (end)
                    evolve_all(context, SYSTEMS, N, NULL, NULL, &options, bodies, NULL);
                for (int s = 0; s < SYSTEMS; s++)
                    for (int c = 0; c < 3; c++) {
                        double sum = 0, x = 0, v = 0;
                        for (int i = N * s; i < N * (s + 1); i++) {
                            sum += bodies[i].m * ((&bodies[i].x)[(c + 1) % 3] * (&bodies[i].vx)[(c + 2) % 3] -
                                                  (&bodies[i].x)[(c + 2) % 3] * (&bodies[i].vx)[(c + 1) % 3]);
                            x += bodies[i].m * (&bodies[i].x)[c];
                            v += bodies[i].m * (&bodies[i].vx)[c];
                        }
                        momentum[s][c] = sum;
                        centre = fmax(centre, fmax(fabs(x), fabs(v)));
                    }
            }
            for (int s = 0; s < SYSTEMS; s++)
                for (int c = 0; c < 3; c++)
                    worst = fmax(worst, fabs(after[s][c] - before[s][c]) /
                                            hypot(hypot(before[s][0], before[s][1]), before[s][2]));
            print_message("%-16s%s angular momentum %.1e, barycentre %.1e\n", method_name[method],
                          adaptive ? ", adaptive:" : ":", worst, centre);
            assert_below(centre, 1e-13, "%s", method_name[method]);
            if (method >= RK_RK4)
                assert_below(worst, adaptive ? 1e-11 : 2e-13, "%s", method_name[method]);
        }
}

/* ---- how systems end --------------------------------------------------------------------------------------------- */

/* Two bodies fall onto each other from rest: no step gets past the collision at pi/sqrt(8). */
static void a_head_on_fall_underflows(void **state)
{
    enum { SYSTEMS = 11, FALLS = 4 };
    shoal_context *context = context_of(state);
    for (int method = RK_EMBEDDED; method < RK_METHODS; method++) {
        const shoal_setting settings[] = {{.name = "method", .choice = method_name[method]},
                                          {.name = "tolerance", .value = 1e-11}};
        shoal_options options = {
            .propagator = "runge_kutta_adaptive", .settings = settings, .n_settings = 2, .t_end = 3};
        shoal_body with[2 * SYSTEMS], without[2 * SYSTEMS];
        shoal_system records[SYSTEMS], quiet[SYSTEMS];
        for (int s = 0; s < SYSTEMS; s++)
            two_bodies(context, 0.1, 0.09 * s, s, without + 2 * s);
        memcpy(with, without, sizeof with);
        with[2 * FALLS] = (shoal_body){.m = 0.5, .x = -0.5};
        with[2 * FALLS + 1] = (shoal_body){.m = 0.5, .x = 0.5};
        evolve_all(context, SYSTEMS, 2, NULL, NULL, &options, with, records);
        evolve_all(context, SYSTEMS, 2, NULL, NULL, &options, without, quiet);
        for (int s = 0; s < SYSTEMS; s++) {
            assert_int_equal(records[s].outcome, s == FALLS ? SHOAL_STEP_UNDERFLOW : SHOAL_SURVIVED);
            if (s != FALLS)
                assert_memory_equal(with + 2 * s, without + 2 * s, 2 * sizeof *with);
        }
        const double collision = TWO_PI / 2 / sqrt(8.0);
        print_message("%-16s falls until %.2e before the collision, %.0f steps\n", method_name[method],
                      collision - records[FALLS].t_stop, records[FALLS].n_steps);
        /* the same with a least step, where it is reached */
        options.dt_min = 1e-4;
        memcpy(with, without, sizeof with);
        with[0] = (shoal_body){.m = 0.5, .x = -0.5};
        with[1] = (shoal_body){.m = 0.5, .x = 0.5};
        evolve_all(context, 1, 2, NULL, NULL, &options, with, quiet);
        assert_int_equal(quiet[0].outcome, SHOAL_STEP_UNDERFLOW);
        assert_below(fabs(records[FALLS].t_stop - collision), 1e-9, "%s", method_name[method]);
        assert_true(quiet[0].t_stop < records[FALLS].t_stop && quiet[0].t_stop > 0.9 * collision);
    }
}

/* A system that needs too many attempts ends with its time; its neighbours go on with the same bits. */
static void a_budget_ends_a_system_alone(void **state)
{
    enum { SYSTEMS = 9, BUDGET = 400 };
    shoal_context *context = context_of(state);
    shoal_body start[2 * SYSTEMS], free_run[2 * SYSTEMS], bodies[2 * SYSTEMS];
    shoal_system records[SYSTEMS];
    shoal_options options = {.propagator = "dopri5", .t_end = 1.1 * TWO_PI};
    const shoal_setting tolerance = {.name = "tolerance", .value = 1e-9};
    options.settings = &tolerance;
    options.n_settings = 1;
    for (int s = 0; s < SYSTEMS; s++)
        two_bodies(context, 0.1, s == 5 ? 0.999 : 0.05 * s, 0.5 * TWO_PI, start + 2 * s);
    memcpy(free_run, start, sizeof start);
    memcpy(bodies, start, sizeof start);
    evolve_all(context, SYSTEMS, 2, NULL, NULL, &options, free_run, NULL);
    options.max_steps = BUDGET;
    evolve_all(context, SYSTEMS, 2, NULL, NULL, &options, bodies, records);
    for (int s = 0; s < SYSTEMS; s++) {
        assert_int_equal(records[s].outcome, s == 5 ? SHOAL_BUDGET : SHOAL_SURVIVED);
        if (s != 5)
            assert_memory_equal(bodies + 2 * s, free_run + 2 * s, 2 * sizeof *bodies);
    }
    print_message("%d attempts, %.0f of them steps, until t = %.4f\n", BUDGET, records[5].n_steps, records[5].t_stop);
    assert_true(records[5].n_steps <= BUDGET && records[5].t_stop > 0 && records[5].t_stop < options.t_end);
    /* the state is that of the time it ended at */
    shoal_body there[2];
    shoal_options until = options;
    until.max_steps = 0;
    until.t_end = records[5].t_stop;
    memcpy(there, start + 10, sizeof there);
    evolve_all(context, 1, 2, NULL, NULL, &until, there, NULL);
    assert_below(distance_of_states(2, there, bodies + 10), 1e-6, "budget");
}

/* ---- rejected steps ---------------------------------------------------------------------------------------------- */

/* An attempt that is rejected changes nothing but the next step and the count of attempts. */
static void a_rejected_step_leaves_no_trace(void **state)
{
    enum { N = 3, SYSTEMS = 5 };
    shoal_context *context = context_of(state);
    for (int compensated = 0; compensated < 2; compensated++)
        for (int method = RK_EMBEDDED; method < RK_METHODS; method++) {
            const shoal_setting settings[] = {{.name = "method", .choice = method_name[method]},
                                              {.name = "compensated", .value = compensated}};
            const shoal_options options = {.propagator = "runge_kutta_adaptive",
                                           .settings = settings,
                                           .n_settings = 2,
                                           .engine = "cpu",
                                           .t_end = 100,
                                           .dt = 3};
            shoal_ensemble *ensemble = NULL;
            shoal_plan *plan = NULL;
            const int all[SYSTEMS] = {0, 1, 2, 3, 4};
            assert_ok(context, shoal_ensemble_create(context, SYSTEMS, N, &ensemble));
            for (long s = 0; s < SYSTEMS; s++) {
                shoal_body bodies[N];
                planetary_system(context, s, N, 1e-3, 1.7, 0.1, bodies);
                assert_ok(context, shoal_ensemble_set_bodies(ensemble, s, N, bodies));
            }
            assert_ok(context, shoal_plan_create(context, ensemble, &options, &plan));
            assert_ok(context, plan->engine_type->download(plan->engine, SHOAL_ARRAY_NATIVE));
            const size_t size = shoal_native_slots(plan->propagator, N) * (size_t)ensemble->n_chunks * SHOAL_CHUNK *
                                sizeof(double);
            double *before = malloc(size);
            assert_non_null(before);
            memcpy(before, plan->args.native, size);
            assert_ok(context, plan->engine_type->launch(plan->engine, SHOAL_BARE, all, SYSTEMS, 1));
            assert_ok(context, plan->engine_type->download(plan->engine, SHOAL_ARRAY_NATIVE | SHOAL_ARRAY_SYSTEMS));
            assert_memory_equal(before, plan->args.native, size);
            for (long s = 0; s < SYSTEMS; s++) {
                assert_true(*shoal_ensemble_field(ensemble, SHOAL_SYS_ATTEMPT, s) == 1);
                assert_true(*shoal_ensemble_field(ensemble, SHOAL_SYS_STEP, s) == 0);
                assert_true(*shoal_ensemble_field(ensemble, SHOAL_SYS_ELAPSED, s) == 0);
                assert_below(*shoal_ensemble_field(ensemble, SHOAL_SYS_DT, s), 0.9 * 3, "%s", method_name[method]);
            }
            assert_ok(context, plan->engine_type->launch(plan->engine, SHOAL_BARE, all, SYSTEMS, 30));
            assert_ok(context, plan->engine_type->download(plan->engine, SHOAL_ARRAY_NATIVE | SHOAL_ARRAY_SYSTEMS));
            assert_memory_not_equal(before, plan->args.native, size);
            free(before);
            shoal_plan_destroy(&plan);
            shoal_ensemble_destroy(&ensemble);
        }
}

/* Monitors see accepted steps only: an encounter is found at the time and between the bodies at and between which
 * Hermite's small steps find it, though every system begins with rejected steps and more follow. */
static void monitors_see_accepted_steps_only(void **state)
{
    enum { N = 3, SYSTEMS = 12 };
    shoal_context *context = context_of(state);
    const shoal_setting near[] = {{.name = "radius", .choice = "absolute"}, {.name = "distance", .value = 0.2}};
    const shoal_plug_options encounter = {"stop_on_encounter", near, 2};
    shoal_body start[N * SYSTEMS], bodies[N * SYSTEMS];
    shoal_system expected[SYSTEMS], records[SYSTEMS];
    memset(start, 0, sizeof start);
    for (int s = 0; s < SYSTEMS; s++) {
        const shoal_orbit orbit[N] = {
            {.a = 0}, {.a = 1, .e = 0.3, .f = 0.4 * s}, {.a = 1.3, .e = 0.4, .omega = 2, .f = 1 + 0.7 * s}};
        start[N * s].m = 1;
        start[N * s + 1].m = start[N * s + 2].m = 1e-3;
        assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, N, orbit, start + N * s));
    }
    shoal_options options = {
        .propagator = "hermite4", .dt = 2e-4, .t_end = 60, .monitors = &encounter, .n_monitors = 1};
    memcpy(bodies, start, sizeof start);
    evolve_all(context, SYSTEMS, N, NULL, NULL, &options, bodies, expected);
    int met = 0;
    for (int s = 0; s < SYSTEMS; s++)
        met += expected[s].outcome == SHOAL_ENCOUNTER;
    print_message("%d encounters\n", met);
    assert_true(met > SYSTEMS / 2);
    for (int method = RK_EMBEDDED; method < RK_METHODS; method++) {
        const shoal_setting settings[] = {{.name = "method", .choice = method_name[method]},
                                          {.name = "tolerance", .value = 1e-12}};
        options.propagator = "runge_kutta_adaptive";
        options.settings = settings;
        options.n_settings = 2;
        options.dt = 2.0; /* far too long */
        for (int bounded = 0; bounded < 2; bounded++) {
            double worst = 0;
            options.dt_max = bounded ? 0.02 : 0; /* monitors follow the bodies within a step by a cubic */
            memcpy(bodies, start, sizeof start);
            evolve_all(context, SYSTEMS, N, NULL, NULL, &options, bodies, records);
            for (int s = 0; s < SYSTEMS; s++) {
                assert_int_equal(records[s].outcome, expected[s].outcome);
                assert_int_equal(records[s].body_a, expected[s].body_a);
                assert_int_equal(records[s].body_b, expected[s].body_b);
                if (expected[s].outcome != SHOAL_ENCOUNTER)
                    continue;
                worst = fmax(worst, fabs(records[s].t_stop - expected[s].t_stop));
            }
            print_message("%-16s %d encounters, times within %.1e%s\n", method_name[method], met, worst,
                          bounded ? ", steps at most 0.02" : "");
            assert_below(worst, bounded ? 3e-8 : 1e-5, "%s", method_name[method]);
        }
    }
}

/* ---- invariance -------------------------------------------------------------------------------------------------- */

enum { INVARIANT = 13, INVARIANT_BODIES = 3 };

/* States and next steps of systems, plainly or in as many other ways as there are at once: one lane, in reversed
 * order, in slices of seven attempts, with outputs on the way and a restart. By id. */
static void run_either_way(shoal_context *context, const char *propagator, const shoal_setting *settings,
                           int n_settings, bool otherwise, double (*state)[6 * INVARIANT_BODIES + 2])
{
    const double t_end = 20;
    int all[INVARIANT];
    void *saved = NULL;
    for (int part = 0; part < (otherwise ? 2 : 1); part++) {
        shoal_ensemble *ensemble = NULL;
        shoal_plan *plan = NULL;
        shoal_options options = {.propagator = propagator,
                                 .settings = settings,
                                 .n_settings = n_settings,
                                 .engine = "cpu",
                                 .t_end = t_end,
                                 .lanes = otherwise ? 1 : 0,
                                 .threads = otherwise ? 2 : 1};
        assert_ok(context, shoal_ensemble_create(context, INVARIANT, INVARIANT_BODIES, &ensemble));
        for (int s = 0; s < INVARIANT; s++) {
            const int id = otherwise ? INVARIANT - 1 - s : s;
            const shoal_system record = {.id = id, .dt = 0.3 * uniform(id, 99)};
            shoal_body bodies[INVARIANT_BODIES];
            planetary_system(context, id, INVARIANT_BODIES, 1e-3, 1.7, 0.1, bodies);
            bodies[1].vx *= 0.5; /* an eccentric orbit */
            shoal_ensemble_set_system(ensemble, s, &record);
            assert_ok(context, shoal_ensemble_set_bodies(ensemble, s, INVARIANT_BODIES, bodies));
            all[s] = s;
        }
        assert_ok(context, shoal_plan_create(context, ensemble, &options, &plan));
        if (otherwise && part == 0) {
            for (int i = 1; i < 7; i++) {
                plan->slice_steps = 7;
                assert_ok(context, shoal_plan_integrate(plan, 1.37 * i));
            }
            saved = malloc(shoal_plan_state_size(plan));
            assert_non_null(saved);
            assert_ok(context, shoal_plan_state_save(plan, saved));
        } else {
            if (saved)
                assert_ok(context, shoal_plan_state_load(plan, saved));
            for (long n_moved = 1; n_moved > 0;) {
                if (otherwise)
                    plan->slice_steps = 7;
                assert_ok(context, shoal_plan_slice(plan, t_end, &n_moved));
            }
            assert_ok(context, shoal_plan_snapshot(plan, t_end, all, INVARIANT));
            for (int s = 0; s < INVARIANT; s++) {
                double *row = state[otherwise ? INVARIANT - 1 - s : s];
                for (int c = 0; c < 6 * INVARIANT_BODIES; c++)
                    row[c] = plan->args.snapshot[SHOAL_AT(s, c, 6 * INVARIANT_BODIES)];
                row[6 * INVARIANT_BODIES] = *shoal_ensemble_field(ensemble, SHOAL_SYS_DT, s);
                row[6 * INVARIANT_BODIES + 1] = *shoal_ensemble_field(ensemble, SHOAL_SYS_ATTEMPT, s);
            }
        }
        shoal_plan_destroy(&plan);
        shoal_ensemble_destroy(&ensemble);
    }
    free(saved);
}

/* What test_invariance does with the defaults, for every method. */
static void every_method_has_bits_of_its_own(void **state)
{
    static double plain[INVARIANT][6 * INVARIANT_BODIES + 2], other[INVARIANT][6 * INVARIANT_BODIES + 2];
    shoal_context *context = context_of(state);
    for (int method = 0; method < RK_METHODS; method++)
        for (int which = 0; which < (method < RK_EMBEDDED ? 2 : 4); which++) {
            const bool adaptive = which >= 2;
            const shoal_setting settings[] = {{.name = "method", .choice = method_name[method]},
                                              {.name = "compensated", .value = which % 2},
                                              {.name = "tolerance", .value = 1e-9}};
            const char *propagator = adaptive ? "runge_kutta_adaptive" : "runge_kutta";
            run_either_way(context, propagator, settings, adaptive ? 3 : 2, false, plain);
            run_either_way(context, propagator, settings, adaptive ? 3 : 2, true, other);
            for (int s = 0; s < INVARIANT; s++)
                if (memcmp(plain[s], other[s], sizeof plain[s]) != 0)
                    fail_msg("%s, %s, %s, system %d: other bits", propagator, method_name[method],
                             which % 2 ? "compensated" : "plain", s);
        }
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* An alias selects a method, unless the method is given, too. */
static void aliases_select_methods(void **state)
{
    static const struct {
        const char *alias, *propagator, *method;
    } rows[] = {{"rk4", "runge_kutta", "rk4"},
                {"rkck", "runge_kutta", "cash_karp"},
                {"euler", "runge_kutta", "euler"},
                {"rk8pd", "runge_kutta", "prince_dormand8"},
                {"dopri5", "runge_kutta_adaptive", "dormand_prince"},
                {"rkf45", "runge_kutta_adaptive", "fehlberg"}};
    shoal_context *context = context_of(state);
    shoal_body start[3];
    planetary_system(context, 1, 3, 1e-3, 1.7, 0.1, start);
    for (int row = 0; row < SHOAL_COUNT(rows); row++) {
        const shoal_setting method = {.name = "method", .choice = rows[row].method},
                            other = {.name = "method", .choice = "cash_karp"};
        const shoal_options options[] = {
            {.propagator = rows[row].alias, .t_end = 3, .dt = 0.03},
            {.propagator = rows[row].propagator, .settings = &method, .n_settings = 1, .t_end = 3, .dt = 0.03},
            {.propagator = rows[row].alias, .settings = &other, .n_settings = 1, .t_end = 3, .dt = 0.03},
            {.propagator = rows[row].propagator, .settings = &other, .n_settings = 1, .t_end = 3, .dt = 0.03}};
        shoal_body bodies[4][3];
        for (int i = 0; i < 4; i++) {
            memcpy(bodies[i], start, sizeof start);
            evolve_all(context, 1, 3, NULL, NULL, &options[i], bodies[i], NULL);
        }
        assert_memory_equal(bodies[0], bodies[1], sizeof start);
        assert_memory_equal(bodies[2], bodies[3], sizeof start);
        if (strcmp(rows[row].method, "cash_karp") != 0)
            assert_memory_not_equal(bodies[0], bodies[2], sizeof start);
    }
}

/* Every preset of every alias is a parameter of its propagator within its bounds. */
static void presets_are_sound(void **state)
{
    (void)state;
    for (int p = 0; shoal_plugs_of(NULL)->propagators[p]; p++) {
        const shoal_propagator *type = shoal_plugs_of(NULL)->propagators[p];
        char words[256];
        assert_true(strlen(type->aliases) < sizeof words);
        strcpy(words, type->aliases);
        for (char *rest = NULL, *alias = strtok_r(words, ",", &rest); alias; alias = strtok_r(NULL, ",", &rest)) {
            int n_set = strchr(alias, '(') != NULL;
            double value = NAN;
            for (const char *at = alias; (at = strchr(at, ';')); at++)
                n_set++;
            alias[strcspn(alias, " ")] = 0;
            assert_ptr_equal(shoal_propagator_find(NULL, alias), type);
            for (int k = 0; k < n_set; k++) {
                const int i = shoal_propagator_preset(type, alias, k, &value);
                assert_in_range(i, 0, type->n_parameters - 1);
                assert_true(value >= type->parameters[i].least && value <= type->parameters[i].most);
            }
            assert_int_equal(shoal_propagator_preset(type, alias, n_set, &value), -1);
        }
        assert_int_equal(shoal_propagator_preset(type, type->name, 0, &(double){0}), -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tableaux_meet_their_order_conditions),
        cmocka_unit_test(tableaux_without_velocities_are_products),
        cmocka_unit_test(weights_have_no_bias),
        cmocka_unit_test(fixed_steps_are_those_of_gsl),
        cmocka_unit_test(errors_fall_with_the_order),
        cmocka_unit_test(adaptive_errors_fall_with_the_tolerance),
        cmocka_unit_test(the_pythagorean_bodies_meet_as_published),
        cmocka_unit_test(momenta_are_kept),
        cmocka_unit_test(a_head_on_fall_underflows),
        cmocka_unit_test(a_budget_ends_a_system_alone),
        cmocka_unit_test(a_rejected_step_leaves_no_trace),
        cmocka_unit_test(monitors_see_accepted_steps_only),
        cmocka_unit_test(every_method_has_bits_of_its_own),
        cmocka_unit_test(aliases_select_methods),
        cmocka_unit_test(presets_are_sound),
    };
    return cmocka_run_group_tests_name("runge_kutta", tests, setup, teardown);
}
