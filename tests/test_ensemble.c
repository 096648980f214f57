/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_ensemble.c: what goes into an ensemble comes out of it; what nobody set is harmless; energy and angular momentum
 * against closed forms.
 */
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <gsl/gsl_rng.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/plan.h"

static const double EPS = DBL_EPSILON;

#define assert_near(value, expected, bound)                                                               \
    do {                                                                                                  \
        double v_ = (value), e_ = (expected), b_ = (bound);                                               \
        if (!(fabs(v_ - e_) <= b_))                                                                       \
            fail_msg("%s = %.17g, expected %.17g within %.3g; off by %.3g", #value, v_, e_, b_, v_ - e_); \
    } while (0)

static shoal_context *context;
static gsl_rng *rng;

static int setup(void **state)
{
    (void)state;
    rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(rng, 7);
    return shoal_context_create(&context) != SHOAL_OK || !rng;
}

static int teardown(void **state)
{
    (void)state;
    gsl_rng_free(rng);
    shoal_context_destroy(&context);
    return 0;
}

static void require(shoal_status status)
{
    if (status)
        fail_msg("%s: %s", shoal_status_text(status), shoal_context_message(context));
}

static shoal_ensemble *ensemble_of(long n_systems, int n_bodies)
{
    shoal_ensemble *ensemble;
    require(shoal_ensemble_create(context, n_systems, n_bodies, &ensemble));
    return ensemble;
}

static double uniform(double low, double high)
{
    return low + (high - low) * gsl_rng_uniform(rng);
}

static void random_bodies(int n, shoal_body *bodies)
{
    for (int i = 0; i < n; i++)
        bodies[i] = (shoal_body){uniform(0.1, 1.0), uniform(0.0, 0.1), uniform(-5, 5), uniform(-5, 5),
                                 uniform(-5, 5),    uniform(-1, 1),    uniform(-1, 1), uniform(-1, 1)};
}

static void sizes(void **state)
{
    (void)state;
    shoal_ensemble *ensemble = ensemble_of(70, 4);
    assert_int_equal(shoal_ensemble_n_systems(ensemble), 70);
    assert_int_equal(shoal_ensemble_n_bodies(ensemble), 4);
    assert_int_equal(ensemble->n_chunks, 3);
    assert_int_equal((uintptr_t)ensemble->bodies % 64, 0);
    assert_int_equal((uintptr_t)ensemble->systems % 64, 0);
    shoal_ensemble_destroy(&ensemble);
    assert_null(ensemble);
    shoal_ensemble_destroy(&ensemble);
    assert_int_equal(shoal_ensemble_create(context, 0, 4, &ensemble), SHOAL_E_USAGE);
    assert_null(ensemble);
    assert_int_equal(shoal_ensemble_create(context, 10, 1, &ensemble), SHOAL_E_USAGE);
    assert_int_equal(shoal_ensemble_create(context, 1L << 40, 3, &ensemble), SHOAL_E_USAGE);
    assert_int_equal(shoal_ensemble_create(context, 2000000000, SHOAL_MAX_BODIES, &ensemble), SHOAL_E_MEMORY);
    assert_non_null(strstr(shoal_context_message(context), " GB, and this machine has "));
}

/* Every lane of every chunk: finite, not a body at another's place, `invalid` but for the systems that were set. */
static void nothing_unset_is_dangerous(void **state)
{
    (void)state;
    enum { N = 5 };
    shoal_ensemble *ensemble = ensemble_of(40, N);
    shoal_body pair[2] = {{.m = 1.0}, {.m = 0.5, .x = 2.0, .vy = 0.5}};
    require(shoal_ensemble_set_bodies(ensemble, 33, 2, pair));
    for (long system = 0; system < 64; system++) {
        assert_int_equal((int)*shoal_ensemble_field(ensemble, SHOAL_SYS_OUTCOME, system),
                         system == 33 ? SHOAL_RUNNING : SHOAL_INVALID);
        for (int field = 0; field < SHOAL_SYS_FIELDS; field++)
            assert_true(isfinite(*shoal_ensemble_field(ensemble, field, system)) == (field != SHOAL_SYS_T_STOP));
        for (int i = 0; i < N; i++) {
            double at[SHOAL_QUANTITIES];
            for (int quantity = 0; quantity < SHOAL_QUANTITIES; quantity++) {
                at[quantity] = *shoal_ensemble_body(ensemble, i, quantity, system);
                assert_true(isfinite(at[quantity]));
            }
            for (int j = 0; j < i; j++)
                assert_true(hypot(hypot(at[SHOAL_X] - *shoal_ensemble_body(ensemble, j, SHOAL_X, system),
                                        at[SHOAL_Y] - *shoal_ensemble_body(ensemble, j, SHOAL_Y, system)),
                                  at[SHOAL_Z] - *shoal_ensemble_body(ensemble, j, SHOAL_Z, system)) > 0.5);
        }
    }
    shoal_system record;
    shoal_ensemble_get_system(ensemble, 12, &record);
    assert_int_equal(record.id, 12);
    assert_int_equal(record.outcome, SHOAL_INVALID);
    assert_true(isnan(record.t_stop) && record.body_a == -1 && record.body_b == -1);
    shoal_ensemble_destroy(&ensemble);
}

/* Bodies that are not there circle the whole mass outside of it, at distances of their own. */
static void absent_bodies(void **state)
{
    (void)state;
    enum { N = 7, LIVE = 3 };
    shoal_ensemble *ensemble = ensemble_of(3, N);
    shoal_body bodies[N];
    for (int sample = 0; sample < 50; sample++) {
        random_bodies(LIVE, bodies);
        require(shoal_ensemble_set_bodies(ensemble, 1, LIVE, bodies));
        double mass = 0.0, size = 0.0, last = 0.0;
        for (int i = 0; i < N; i++) {
            double q[SHOAL_QUANTITIES];
            for (int quantity = 0; quantity < SHOAL_QUANTITIES; quantity++)
                q[quantity] = *shoal_ensemble_body(ensemble, i, quantity, 1);
            double distance = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]);
            if (i < LIVE) {
                mass += q[SHOAL_M];
                size = fmax(size, distance);
                continue;
            }
            assert_true(q[SHOAL_M] == 0.0 && q[SHOAL_R] == 0.0);
            assert_true(distance > 999 * size && distance > last * 1.1);
            assert_near((q[3] * q[3] + q[4] * q[4] + q[5] * q[5]) * distance / mass, 1.0, 1e-14);
            assert_near((q[0] * q[3] + q[1] * q[4] + q[2] * q[5]), 0.0, 1e-14 * distance);
            last = distance;
        }
    }
    shoal_system record;
    shoal_ensemble_get_system(ensemble, 1, &record);
    assert_int_equal(record.n_live, LIVE);
    memset(bodies, 0x55, sizeof bodies);
    shoal_body untouched = bodies[LIVE];
    shoal_ensemble_get_bodies(ensemble, 1, bodies);
    assert_memory_equal(&bodies[LIVE], &untouched, sizeof untouched);
    shoal_ensemble_destroy(&ensemble);
}

/* In and out again, wherever the origin is and however it moves; inside, the barycentre rests at zero. */
static void barycentre_is_split_off(void **state)
{
    (void)state;
    enum { N = 4 };
    shoal_ensemble *ensemble = ensemble_of(40, N);
    const double shifts[] = {0.0, 1.0, 1e3, 1e8};
    for (int k = 0; k < SHOAL_COUNT(shifts); k++)
        for (int sample = 0; sample < 50; sample++) {
            double shift = shifts[k];
            shoal_body in[N], out[N];
            random_bodies(N, in);
            for (int i = 0; i < N; i++) {
                in[i].x += shift;
                in[i].vz -= shift;
            }
            require(shoal_ensemble_set_bodies(ensemble, 35, N, in));
            double moment[6] = {0.0};
            for (int i = 0; i < N; i++)
                for (int q = 0; q < 6; q++)
                    moment[q] += *shoal_ensemble_body(ensemble, i, SHOAL_M, 35) *
                                 *shoal_ensemble_body(ensemble, i, q, 35);
            for (int q = 0; q < 6; q++)
                assert_near(moment[q], 0.0, 40 * EPS); /* also for the far origin */
            shoal_ensemble_get_bodies(ensemble, 35, out);
            for (int i = 0; i < N; i++) {
                assert_true(out[i].m == in[i].m && out[i].r == in[i].r);
                assert_near(out[i].x, in[i].x, 4 * EPS * (10.0 + shift));
                assert_near(out[i].y, in[i].y, 40 * EPS);
                assert_near(out[i].vz, in[i].vz, 4 * EPS * (10.0 + shift));
            }
        }
    shoal_ensemble_destroy(&ensemble);
}

/* The barycentre moves on with the time of the bodies held now, counted from t_start. */
static void barycentre_moves(void **state)
{
    (void)state;
    shoal_ensemble *ensemble = ensemble_of(2, 2);
    shoal_system record = {.id = 77, .t_start = -10.0, .dt = 0.25};
    shoal_ensemble_set_system(ensemble, 1, &record);
    const shoal_body in[2] = {{.m = 1.0, .x = 4.0, .vx = 0.5, .vy = -1.0}, {.m = 1.0, .x = 6.0, .vx = 0.5, .vy = 1.0}};
    shoal_body out[2];
    require(shoal_ensemble_set_bodies(ensemble, 1, 2, in));
    shoal_ensemble_get_system(ensemble, 1, &record);
    assert_int_equal(record.id, 77);
    assert_true(record.t_start == -10.0 && record.dt == 0.25 && record.time == -10.0 && record.n_steps == 0.0);
    assert_true(record.centre[0] == 5.0 && record.centre[3] == 0.5 && record.centre[4] == 0.0);
    assert_int_equal(record.outcome, SHOAL_RUNNING);
    shoal_ensemble_get_bodies(ensemble, 1, out);
    assert_memory_equal(in, out, sizeof in);
    ensemble->time[1] = 6.0; /* as a plan would have left it */
    shoal_ensemble_get_bodies(ensemble, 1, out);
    assert_true(out[0].x == 12.0 && out[1].x == 14.0 && out[0].vx == 0.5 && out[0].y == 0.0);
    /* the start may be told after the bodies as well */
    record.t_start = 3.0;
    shoal_ensemble_set_system(ensemble, 1, &record);
    shoal_ensemble_get_bodies(ensemble, 1, out);
    assert_memory_equal(in, out, sizeof in);
    shoal_ensemble_destroy(&ensemble);
}

/* E = -m1 m2 / 2a and L = mu_reduced sqrt(G M a (1 - e^2)) of two bodies. */
static void two_bodies_in_closed_form(void **state)
{
    (void)state;
    shoal_ensemble *ensemble = ensemble_of(1, 2);
    for (int sample = 0; sample < 200; sample++) {
        shoal_orbit orbits[2] = {{0},
                                 {.a = uniform(0.5, 5.0),
                                  .e = uniform(0.0, 0.8),
                                  .inc = uniform(0.0, 3.0),
                                  .Omega = uniform(0.0, 6.0),
                                  .omega = uniform(0.0, 6.0),
                                  .f = uniform(-3.0, 3.0)}};
        shoal_body bodies[2] = {{.m = uniform(0.1, 2.0)}, {.m = uniform(0.1, 2.0)}};
        double m0 = bodies[0].m, m1 = bodies[1].m, a = orbits[1].a, e = orbits[1].e;
        require(shoal_bodies_from_orbits(context, SHOAL_JACOBI, 2, orbits, bodies));
        for (int i = 0; i < 2; i++) /* the energy is that about the barycentre */
            bodies[i].vx += 0.5;
        require(shoal_ensemble_set_bodies(ensemble, 0, 2, bodies));
        double energy = -m0 * m1 / (2.0 * a), L[3];
        double size = m0 * m1 / (m0 + m1) * sqrt((m0 + m1) * a * (1.0 - e * e));
        assert_near(shoal_ensemble_energy(ensemble, 0), energy, 1e-14 * fabs(energy) / (1.0 - e));
        shoal_ensemble_angular_momentum(ensemble, 0, L);
        assert_near(L[0], size * sin(orbits[1].inc) * sin(orbits[1].Omega), 1e-14 * size / (1.0 - e));
        assert_near(L[1], -size * sin(orbits[1].inc) * cos(orbits[1].Omega), 1e-14 * size / (1.0 - e));
        assert_near(L[2], size * cos(orbits[1].inc), 1e-14 * size / (1.0 - e));
        shoal_system record;
        shoal_ensemble_get_system(ensemble, 0, &record);
        assert_true(record.energy_start == shoal_ensemble_energy(ensemble, 0));
    }
    /* three unit masses at the corners of an equilateral triangle of side 1, at rest: three pairs, E = -3 */
    shoal_ensemble_destroy(&ensemble);
    ensemble = ensemble_of(1, 4);
    const shoal_body triangle[4] = {
        {.m = 1.0}, {.m = 1.0, .x = 1.0}, {.m = 1.0, .x = 0.5, .y = sqrt(0.75)}, {.z = 1.0, .vx = 9.0}};
    require(shoal_ensemble_set_bodies(ensemble, 0, 4, triangle));
    assert_near(shoal_ensemble_energy(ensemble, 0), -3.0, 4 * EPS);
    shoal_ensemble_destroy(&ensemble);
}

/* The sums are good to the last bits: pairs, sides and signs do not matter beyond one rounding. */
static void energy_is_sharp(void **state)
{
    (void)state;
    enum { N = 9 };
    shoal_ensemble *ensemble = ensemble_of(2, N);
    for (int sample = 0; sample < 200; sample++) {
        shoal_body bodies[N], mixed[N];
        random_bodies(N, bodies);
        require(shoal_ensemble_set_bodies(ensemble, 0, N, bodies));
        /* the same barycentric bits in another order */
        for (int i = 0; i < N; i++)
            for (int q = 0; q < SHOAL_QUANTITIES; q++)
                *shoal_ensemble_body(ensemble, (i * 4 + 3) % N, q, 1) = *shoal_ensemble_body(ensemble, i, q, 0);
        *shoal_ensemble_field(ensemble, SHOAL_SYS_N_LIVE, 1) = N;
        *shoal_ensemble_field(ensemble, SHOAL_SYS_OUTCOME, 1) = SHOAL_RUNNING;
        double energy = shoal_ensemble_energy(ensemble, 0);
        assert_near(shoal_ensemble_energy(ensemble, 1), energy, EPS * fabs(energy));
        double L[3], M[3];
        shoal_ensemble_angular_momentum(ensemble, 0, L);
        shoal_ensemble_angular_momentum(ensemble, 1, M);
        for (int k = 0; k < 3; k++)
            assert_near(M[k], L[k], EPS * (fabs(L[k]) + 0.01));

        /* whole numbers moved far away keep their bits, so the energy keeps its own */
        for (int i = 0; i < N; i++) {
            bodies[i].x = i * i;
            bodies[i].y = 3 * i % 7;
            mixed[i] = bodies[i];
            mixed[i].x += 0x1p40;
            mixed[i].y -= 0x1p40;
        }
        require(shoal_ensemble_set_bodies(ensemble, 0, N, bodies));
        require(shoal_ensemble_set_bodies(ensemble, 1, N, mixed));
        energy = shoal_ensemble_energy(ensemble, 0);
        assert_near(shoal_ensemble_energy(ensemble, 1), energy, EPS * (1.0 + fabs(energy)));
    }
    shoal_ensemble_destroy(&ensemble);
}

/* A system's bits do not depend on where in the ensemble it lies, nor on its neighbours. */
static void place_in_the_ensemble(void **state)
{
    (void)state;
    enum { N = 3, SYSTEMS = 70 };
    shoal_ensemble *ensemble = ensemble_of(SYSTEMS, N + 1);
    shoal_body bodies[N], other[N + 1], out[N];
    random_bodies(N, bodies);
    const long places[] = {0, 31, 32, 63, 69};
    for (long system = 0; system < SYSTEMS; system++) {
        random_bodies(N + 1, other);
        require(shoal_ensemble_set_bodies(ensemble, system, N + 1, other));
    }
    for (int k = 0; k < SHOAL_COUNT(places); k++)
        require(shoal_ensemble_set_bodies(ensemble, places[k], N, bodies));
    shoal_body first[N];
    shoal_ensemble_get_bodies(ensemble, 0, first);
    for (int k = 0; k < SHOAL_COUNT(places); k++) {
        shoal_ensemble_get_bodies(ensemble, places[k], out);
        assert_memory_equal(first, out, sizeof out);
        assert_true(shoal_ensemble_energy(ensemble, places[k]) == shoal_ensemble_energy(ensemble, 0));
    }
    assert_true(shoal_ensemble_energy(ensemble, 1) != shoal_ensemble_energy(ensemble, 0));
    /* the layout that kernels read: [chunk][body][quantity][lane] */
    assert_true(ensemble->bodies[((2 * (N + 1) + 1) * SHOAL_QUANTITIES + SHOAL_VY) * SHOAL_CHUNK + 5] ==
                *shoal_ensemble_body(ensemble, 1, SHOAL_VY, 69));
    shoal_ensemble_destroy(&ensemble);
}

/* Impossible bodies are refused and mark their own system, no other; a wrong call marks nothing. */
static void impossible_bodies(void **state)
{
    (void)state;
    enum { N = 3 };
    shoal_ensemble *ensemble = ensemble_of(2, N);
    const shoal_body good[N] = {{.m = 1.0}, {.m = 0.1, .x = 1.0, .vy = 1.0}, {.m = 0.0, .y = 2.0, .vx = 0.7}};
    shoal_body bodies[N];
    shoal_system record;
    require(shoal_ensemble_set_bodies(ensemble, 0, N, good));
#define REFUSE(change, word)                                                                                      \
    do {                                                                                                          \
        require(shoal_ensemble_set_bodies(ensemble, 1, N, good));                                                 \
        memcpy(bodies, good, sizeof bodies);                                                                      \
        change;                                                                                                   \
        assert_int_equal(shoal_ensemble_set_bodies(ensemble, 1, N, bodies), SHOAL_E_INPUT);                       \
        if (!strstr(shoal_context_message(context), word) || !strstr(shoal_context_message(context), "system 1")) \
            fail_msg("no \"%s\" in \"%s\"", word, shoal_context_message(context));                                \
        shoal_ensemble_get_system(ensemble, 1, &record);                                                          \
        assert_int_equal(record.outcome, SHOAL_INVALID);                                                          \
        assert_true(isnan(shoal_ensemble_energy(ensemble, 1)));                                                   \
    } while (0)
    REFUSE(bodies[1].m = -1.0, "body 1: the mass, -1, is negative");
    REFUSE(bodies[1].r = -1.0, "radius");
    REFUSE(bodies[2].vz = NAN, "body 2: vz");
    REFUSE(bodies[0].x = INFINITY, "body 0: x");
    REFUSE(bodies[0].m = bodies[1].m = 0.0, "total mass");
    REFUSE(bodies[2] = bodies[1], "bodies 1 and 2 are at one place");
    REFUSE(bodies[1].vx = 1e200, "energy");
#undef REFUSE
    assert_int_equal(shoal_ensemble_set_bodies(ensemble, 2, N, good), SHOAL_E_USAGE);
    assert_int_equal(shoal_ensemble_set_bodies(ensemble, -1, N, good), SHOAL_E_USAGE);
    assert_int_equal(shoal_ensemble_set_bodies(ensemble, 0, 1, good), SHOAL_E_USAGE);
    assert_int_equal(shoal_ensemble_set_bodies(ensemble, 0, N + 1, good), SHOAL_E_USAGE);
    shoal_ensemble_get_system(ensemble, 0, &record);
    assert_int_equal(record.outcome, SHOAL_RUNNING);
    /* and a second, better try makes it run */
    require(shoal_ensemble_set_bodies(ensemble, 1, N, good));
    shoal_ensemble_get_system(ensemble, 1, &record);
    assert_int_equal(record.outcome, SHOAL_RUNNING);
    shoal_ensemble_destroy(&ensemble);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),
        cmocka_unit_test(nothing_unset_is_dangerous),
        cmocka_unit_test(absent_bodies),
        cmocka_unit_test(barycentre_is_split_off),
        cmocka_unit_test(barycentre_moves),
        cmocka_unit_test(two_bodies_in_closed_form),
        cmocka_unit_test(energy_is_sharp),
        cmocka_unit_test(place_in_the_ensemble),
        cmocka_unit_test(impossible_bodies),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
