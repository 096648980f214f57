/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_big_steps.c: propagators of one big system: measured order, conserved quantities, time reversal, block steps
 * against shared ones and against a binary's closed form.
 */
#include <stdlib.h>
#include <string.h>

#include "big/big.h"
#include "testing.h"

static const double eps = 0.05;

typedef struct run {
    shoal_tiled *tiled;
    shoal_big_stepper *stepper;
} run;

static run begin_threads(shoal_context *context, const char *method, double dt, double eta, double softening,
                         int threads, shoal_big_bodies *bodies)
{
    run r = {0};
    const shoal_big_method *found = shoal_big_method_find(method);
    const shoal_tiled_options options = {
        .engine = "cpu", .eps = softening, .threads = threads, .wants = found->wants | SHOAL_TILED_POTENTIAL};
    const shoal_big_steps steps = {.dt = dt, .eta = eta, .eps = softening, .threads = threads};
    assert_ok(context, shoal_tiled_create(context, &options, bodies->n, &r.tiled));
    assert_ok(context, shoal_big_stepper_create(context, found, &steps, r.tiled, bodies, true, &r.stepper));
    return r;
}

static run begin(shoal_context *context, const char *method, double dt, double eta, double softening,
                 shoal_big_bodies *bodies)
{
    return begin_threads(context, method, dt, eta, softening, 1, bodies);
}

static void end(run *r)
{
    shoal_big_stepper_destroy(&r->stepper);
    shoal_tiled_destroy(&r->tiled);
}

static shoal_big_bodies draw(shoal_context *context, int kind, long n)
{
    shoal_big_bodies bodies;
    const shoal_big_model model = {.kind = kind, .n = n, .seed = 2, .mass = 1, .virial_radius = 1};
    assert_ok(context, shoal_big_generate(context, &model, &bodies));
    return bodies;
}

static shoal_big_bodies plummer(shoal_context *context, long n)
{
    return draw(context, SHOAL_BIG_plummer, n);
}

/* Two bodies of masses 0.6 and 0.4 on a relative orbit of a = 1 and e, at pericentre. */
static shoal_big_bodies binary(shoal_context *context, double e)
{
    shoal_big_bodies b;
    const double v = sqrt((1 + e) / (1 - e));
    assert_ok(context, shoal_big_bodies_create(context, 2, &b));
    b.m[0] = 0.6;
    b.m[1] = 0.4;
    b.x[0] = -0.4 * (1 - e);
    b.x[1] = 0.6 * (1 - e);
    b.v[2] = -0.4 * v;
    b.v[3] = 0.6 * v;
    return b;
}

static double energy(run *r)
{
    const shoal_big_bodies *b = &r->stepper->bodies;
    double *phi = calloc(4 * (size_t)b->n, sizeof *phi), E = 0;
    shoal_context *context = r->stepper->context;
    assert_ok(context, shoal_tiled_sources(r->tiled, b->n, b->m, b->x, b->v));
    assert_ok(context, shoal_tiled_forces(r->tiled, SHOAL_TILED_POTENTIAL, NULL, phi + b->n, NULL, phi));
    for (long i = 0; i < b->n; i++) {
        E += b->m[i] * phi[i] / 2;
        for (int c = 0; c < 3; c++)
            E += b->m[i] * b->v[c * b->n + i] * b->v[c * b->n + i] / 2;
    }
    free(phi);
    return E;
}

static void angular_momentum(const run *r, double L[3])
{
    const shoal_big_bodies *b = &r->stepper->bodies;
    for (int c = 0; c < 3; c++) {
        const long j = (c + 1) % 3 * b->n, k = (c + 2) % 3 * b->n;
        L[c] = 0;
        for (long i = 0; i < b->n; i++)
            L[c] += b->m[i] * (b->x[j + i] * b->v[k + i] - b->x[k + i] * b->v[j + i]);
    }
}

/* The rms distance of the bodies of two runs. */
static double apart(const run *a, const run *b)
{
    const shoal_big_bodies *p = &a->stepper->bodies, *q = &b->stepper->bodies;
    double sum = 0;
    for (long i = 0; i < 3 * p->n; i++)
        sum += (p->x[i] - q->x[i]) * (p->x[i] - q->x[i]);
    return sqrt(sum / (double)p->n);
}

/* Distances to a run with a step 1/8 fall with the order. */
static void test_order(void **state)
{
    static const struct {
        const char *method;
        double order, dt;
    } cases[] = {{"leapfrog", 2, 1.0 / 64}, {"hermite4", 4, 1.0 / 32}, {"hermite6", 6, 1.0 / 64}};
    shoal_context *context = *state;
    for (int k = 0; k < SHOAL_COUNT(cases); k++) {
        run r[3];
        for (int i = 0; i < 3; i++) {
            shoal_big_bodies bodies = plummer(context, 64);
            r[i] = begin(context, cases[k].method, cases[k].dt / (i < 2 ? 1 << i : 16), 0, 0.3, &bodies);
            assert_ok(context, shoal_big_advance(r[i].stepper, 1));
        }
        const double measured = log2(apart(&r[0], &r[2]) / apart(&r[1], &r[2]));
        if (!(fabs(measured - cases[k].order) < 0.25))
            fail_msg("%s: order %.2f, expected %g", cases[k].method, measured, cases[k].order);
        for (int i = 0; i < 3; i++)
            end(&r[i]);
    }
}

/* The largest error of the energy on the way to t = 1 falls with the square and the fourth power of the step. */
static void test_energy_order(void **state)
{
    static const struct {
        const char *method;
        double dt, ratio;
    } cases[] = {{"leapfrog", 1.0 / 64, 4}, {"hermite4", 1.0 / 64, 16}};
    shoal_context *context = *state;
    for (int k = 0; k < SHOAL_COUNT(cases); k++) {
        double most[2] = {0};
        for (int i = 0; i < 2; i++) {
            shoal_big_bodies bodies = plummer(context, 128);
            run r = begin(context, cases[k].method, cases[k].dt / (1 << i), 0, 0.2, &bodies);
            const double E = energy(&r);
            for (int t = 1; t <= 16; t++) {
                assert_ok(context, shoal_big_advance(r.stepper, t / 16.0));
                most[i] = fmax(most[i], fabs(energy(&r) / E - 1));
            }
            end(&r);
        }
        if (!(fabs(log2(most[0] / most[1] / cases[k].ratio)) < 0.4))
            fail_msg("%s: errors %.3g and %.3g with half the step", cases[k].method, most[0], most[1]);
    }
}

/* An eccentric binary returns after its period. */
static void test_binary(void **state)
{
    static const struct {
        const char *method;
        double eta, error;
    } cases[] = {{"leapfrog", 0, 0.02}, {"hermite4", 0.001, 3e-4}, {"hermite4_block", 0.001, 3e-4}};
    shoal_context *context = *state;
    for (int k = 0; k < SHOAL_COUNT(cases); k++) {
        shoal_big_bodies bodies = binary(context, 0.6);
        run r = begin(context, cases[k].method, 2 * M_PI / (cases[k].eta > 0 ? 1 : 1000), cases[k].eta, 1e-9, &bodies);
        assert_ok(context, shoal_big_advance(r.stepper, 2 * M_PI));
        const shoal_big_bodies *b = &r.stepper->bodies;
        const double x = b->x[1] - b->x[0] - 0.4, y = b->x[3] - b->x[2];
        if (!(hypot(x, y) < cases[k].error))
            fail_msg("%s: off by %.3g after a period", cases[k].method, hypot(x, y));
        end(&r);
    }
}

/* Leapfrog's steps that adapt: a fourth near pericentre, half of each with half of eta, and then a fourth of the
 * error. */
static void test_adaptive(void **state)
{
    shoal_context *context = *state;
    double most[2] = {0}, n_steps[2];
    for (int i = 0; i < 2; i++) {
        shoal_big_bodies bodies = binary(context, 0.6);
        run r = begin(context, "leapfrog", 1, 0.02 / (1 << i), eps, &bodies);
        const double E = energy(&r);
        double fewest = INFINITY, largest = 0;
        for (int t = 1; t <= 50; t++) {
            const double before = r.stepper->n_steps;
            assert_ok(context, shoal_big_advance(r.stepper, t / 8.0));
            n_steps[i] = r.stepper->n_steps;
            most[i] = fmax(most[i], fabs(energy(&r) / E - 1));
            fewest = fmin(fewest, n_steps[i] - before);
            largest = fmax(largest, n_steps[i] - before);
        }
        assert_true(largest == 4 * fewest);
        end(&r);
    }
    if (!(most[0] < 5e-5 && fabs(log2(most[0] / most[1] / 4)) < 0.2 && fabs(n_steps[1] / n_steps[0] - 2) < 0.01))
        fail_msg("errors %.3g and %.3g, steps %g and %g with half of eta", most[0], most[1], n_steps[0], n_steps[1]);
}

/* A sphere at rest falls together at t = 1.46 to a seventh of its size, and settles: configs/cold_collapse.cfg with
 * fewer bodies. The bound is four times the error; those of 512 and 1024 bodies are 7e-5 and 4e-5. */
static void test_collapse(void **state)
{
    shoal_context *context = *state;
    shoal_big_bodies bodies = draw(context, SHOAL_BIG_cold, 256);
    run r = begin(context, "leapfrog", 0.05, 0.05, 0.005, &bodies);
    const shoal_big_bodies *b = &r.stepper->bodies;
    const double E = energy(&r);
    double most = 0, least = INFINITY;
    for (int t = 1; t <= 60; t++) {
        double r2 = 0;
        assert_ok(context, shoal_big_advance(r.stepper, t / 20.0));
        most = fmax(most, fabs(energy(&r) / E - 1));
        for (long i = 0; i < 3 * b->n; i++)
            r2 += b->x[i] * b->x[i] / (double)b->n;
        least = fmin(least, sqrt(r2));
    }
    if (!(most < 2e-4 && least < 0.2))
        fail_msg("error of the energy %.3g, least rms radius %.3g", most, least);
    end(&r);
}

static void test_reversal(void **state)
{
    shoal_context *context = *state;
    shoal_big_bodies bodies = plummer(context, 100), start = plummer(context, 100);
    run r = begin(context, "leapfrog", 1.0 / 64, 0, eps, &bodies);
    assert_ok(context, shoal_big_advance(r.stepper, 1));
    assert_ok(context, shoal_big_advance(r.stepper, 0));
    for (long i = 0; i < 300; i++)
        assert_float_equal(r.stepper->bodies.x[i], start.x[i], 1e-11);
    end(&r);
    shoal_big_bodies_release(&start);
}

/* Block steps keep the energy as shared steps of the same accuracy do, with fewer interactions; momentum and angular
 * momentum drift no further than the scheme's errors. */
static void test_blocks(void **state)
{
    shoal_context *context = *state;
    double error[2], interactions[2];
    run r[2];
    for (int k = 0; k < 2; k++) {
        shoal_big_bodies bodies = plummer(context, 256);
        r[k] = begin(context, k ? "hermite4_block" : "hermite4", 1.0 / 16, 0.003, 0.02, &bodies);
        const double E = energy(&r[k]);
        double L[2][3];
        angular_momentum(&r[k], L[0]);
        assert_ok(context, shoal_big_advance(r[k].stepper, 1));
        angular_momentum(&r[k], L[1]);
        error[k] = fabs(energy(&r[k]) / E - 1);
        interactions[k] = r[k].stepper->interactions;
        double x[3], v[3];
        shoal_big_barycentre(&r[k].stepper->bodies, x, v);
        for (int c = 0; c < 3; c++) {
            assert_float_equal(v[c], 0, k ? 1e-7 : 1e-14);
            if (!(fabs(L[1][c] - L[0][c]) < (k ? 1e-8 : 1e-11)))
                fail_msg("%s: L[%d] = %.3g is off by %.3g", k ? "blocks" : "shared", c, L[0][c], L[1][c] - L[0][c]);
        }
    }
    if (!(error[0] < 1e-7 && error[1] < 1e-6 && interactions[1] < 0.5 * interactions[0] && apart(&r[0], &r[1]) < 1e-5))
        fail_msg("errors %.3g (shared), %.3g (blocks); interactions %.3g, %.3g; %.3g apart", error[0], error[1],
                 interactions[0], interactions[1], apart(&r[0], &r[1]));
    end(&r[0]);
    end(&r[1]);
}

/* A stepper made from the bodies and slots of another goes on with the same bits. */
static void test_going_on(void **state)
{
    static const char *const methods[] = {"leapfrog", "hermite4", "hermite4_block", "hermite6"};
    shoal_context *context = *state;
    for (int k = 0; k < SHOAL_COUNT(methods); k++) {
        shoal_big_bodies bodies = plummer(context, 50), copy;
        run straight = begin(context, methods[k], 1.0 / 8, k < 3 ? 0.02 : 0, eps, &bodies);
        assert_ok(context, shoal_big_advance(straight.stepper, 0.5));
        const shoal_big_stepper *s = straight.stepper;
        assert_ok(context, shoal_big_bodies_create(context, 50, &copy));
        memcpy(copy.m, s->bodies.m, 350 * sizeof(double));
        copy.time = s->bodies.time;
        run again = {0};
        assert_ok(context, shoal_big_stepper_create(context, s->method, &s->steps, straight.tiled, &copy, false,
                                                    &again.stepper));
        memcpy(again.stepper->slots, s->slots, (size_t)(50 * s->method->n_slots) * sizeof(double));
        again.stepper->level = s->level;
        again.stepper->last_step = s->last_step;
        assert_ok(context, shoal_big_advance(straight.stepper, 1));
        assert_ok(context, shoal_big_advance(again.stepper, 1));
        assert_memory_equal(again.stepper->bodies.m, s->bodies.m, 350 * sizeof(double));
        shoal_big_stepper_destroy(&again.stepper);
        end(&straight);
    }
}

/* What is said beforehand of how often forces are computed: exact of fixed steps, good to a factor of 3 of shared
 * ones that adapt, of blocks those of all bodies alone. */
static void test_evaluations(void **state)
{
    static const struct {
        const char *method;
        double dt, eta, least, most; /* of said over computed */
    } cases[] = {{"leapfrog", 1. / 64, 0, 1, 1},         {"hermite4", 1. / 64, 0, 1, 1},
                 {"hermite6", 1. / 64, 0, 0.97, 1},      {"leapfrog", 1, 0.1, 1. / 3, 3},
                 {"hermite4", 1, 0.02, 1. / 3, 3},       {"leapfrog", 1. / 512, 0.5, 0.99, 1.01},
                 {"hermite4_block", 0.125, 0.02, 0, 0.1}};
    shoal_context *context = *state;
    for (int k = 0; k < SHOAL_COUNT(cases); k++) {
        shoal_big_bodies bodies = plummer(context, 100);
        run r = begin(context, cases[k].method, cases[k].dt, cases[k].eta, eps, &bodies);
        const double said = shoal_big_evaluations(r.stepper, -2), before = r.stepper->interactions;
        assert_ok(context, shoal_big_advance(r.stepper, -2));
        const double ratio = said / ((r.stepper->interactions - before) / 1e4);
        if (!(ratio >= cases[k].least && ratio <= cases[k].most && said >= 16))
            fail_msg("%s, dt %g, eta %g: %g evaluations said beforehand, %g times as many as there were",
                     cases[k].method, cases[k].dt, cases[k].eta, said, ratio);
        end(&r);
    }
}

/* First steps do not know where the origin is, or that all move; cold bodies have no jerk yet to tell. */
static void test_first_steps_elsewhere(void **state)
{
    static const char *const methods[] = {"hermite4", "hermite4_block"};
    shoal_context *context = *state;
    for (int k = 0; k < SHOAL_COUNT(methods); k++)
        for (int far = 0; far < 2; far++) {
            shoal_big_bodies bodies = draw(context, SHOAL_BIG_cold, 64);
            for (long i = 0; i < 3 * bodies.n; i++) {
                bodies.x[i] += far * 1024;
                bodies.v[i] += far * 16;
            }
            run r = begin(context, methods[k], 1, 0.02, eps, &bodies);
            const double before = energy(&r);
            assert_ok(context, shoal_big_advance(r.stepper, 1));
            const double error = fabs(energy(&r) - before);
            if (!(error < (far ? 1e-4 : 1e-5)))
                fail_msg("%s, %s: error of the energy %.1e", methods[k], far ? "far away" : "at the origin", error);
            end(&r);
        }
}

/* Two bodies at rest in one place. */
static shoal_big_bodies pair(shoal_context *context)
{
    shoal_big_bodies b;
    assert_ok(context, shoal_big_bodies_create(context, 2, &b));
    b.m[0] = b.m[1] = 0.5;
    return b;
}

/* At the place of another with another velocity a body has a jerk and no acceleration. */
static void test_first_step_in_one_place(void **state)
{
    shoal_context *context = *state;
    shoal_big_bodies b = pair(context);
    b.v[0] = 0.5;
    b.v[1] = -0.5;
    run r = begin(context, "hermite4_block", 1, 0.01, eps, &b);
    const double before = energy(&r);
    assert_ok(context, shoal_big_advance(r.stepper, 1));
    assert_float_equal(energy(&r) / before, 1, 1e-5);
    end(&r);
}

/* Fixed steps are as many at any time, and hermite6 knows them for the same. */
static void test_steps_at_any_time(void **state)
{
    static const char *const methods[] = {"leapfrog", "hermite6"};
    static const double starts[] = {0, 100, 1e4, 2451545};
    shoal_context *context = *state;
    for (int k = 0; k < SHOAL_COUNT(methods); k++)
        for (int i = 0; i < SHOAL_COUNT(starts); i++) {
            shoal_big_bodies bodies = plummer(context, 16);
            bodies.time = starts[i];
            run r = begin(context, methods[k], 0.01, 0, eps, &bodies);
            r.stepper->now = starts[i];
            const double before = r.stepper->interactions;
            for (int row = 1; row <= 100; row++)
                assert_ok(context, shoal_big_advance(r.stepper, starts[i] + 0.01 * row));
            assert_float_equal(r.stepper->n_steps, 100, 0);
            assert_float_equal((r.stepper->interactions - before) / 256, 100 + 2 * k, 0); /* hermite6 goes back once */
            end(&r);
        }
}

/* Bodies that meet without softening are an error, not an energy. */
static void test_meeting(void **state)
{
    shoal_context *context = *state;
    shoal_big_bodies b = pair(context);
    b.x[0] = 1;
    run r = begin(context, "hermite4_block", 1, 0.01, 0, &b);
    assert_int_equal(shoal_big_advance(r.stepper, 4), SHOAL_E_USAGE);
    assert_non_null(strstr(shoal_context_message(context), "a body wants a step of"));
    end(&r);
}

/* So many bodies are stepped by all threads: the same bits for any number of them. */
static void test_threads(void **state)
{
    enum { N = SHOAL_BIG_PARALLEL + 101 };
    static const char *const methods[] = {"leapfrog", "hermite4", "hermite4_block", "hermite6"};
    shoal_context *context = *state;
    for (int k = 0; k < SHOAL_COUNT(methods); k++) {
        run r[2];
        for (int i = 0; i < 2; i++) {
            shoal_big_bodies bodies = plummer(context, N);
            r[i] = begin_threads(context, methods[k], 1.0 / 512, k == 2 ? 0.1 : 0, eps, 1 + 2 * i, &bodies);
            assert_ok(context, shoal_big_advance(r[i].stepper, 1.0 / 512));
        }
        assert_memory_equal(r[0].stepper->bodies.m, r[1].stepper->bodies.m, 7 * N * sizeof(double));
        end(&r[0]);
        end(&r[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_energy_order),
        cmocka_unit_test(test_binary),
        cmocka_unit_test(test_reversal),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_going_on),
        cmocka_unit_test(test_adaptive),
        cmocka_unit_test(test_collapse),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_evaluations),
        cmocka_unit_test(test_first_steps_elsewhere),
        cmocka_unit_test(test_first_step_in_one_place),
        cmocka_unit_test(test_steps_at_any_time),
        cmocka_unit_test(test_meeting),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
