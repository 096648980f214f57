/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_mvs.c: are the mixed-variable maps the maps that they say they are? Order conditions of every coefficient table,
 * each map against another implementation of it in long double, its errors as powers of step and planets' masses, fused
 * steps against single ones.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kepler_reference.h"
#include "systems.h"

/* the kernel text at one lane, for its tables and functions, without the warning that kernels are compiled without */
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#define LANES      1
#define PROPAGATOR saba
#include "core/kernel/lane.h"
#include "integrators/integrate.kern.h"

#define MOST_BODIES 12
#define MOST_STAGES 8

/* ---- the maps under test ----------------------------------------------------------------------------------------- */

/* eps^1, eps^2, eps^3: powers of h in the errors of the energy */
static const struct scheme {
    const char *name;
    int stages, order[3];
} schemes[] = {{"1", 1, {2, 2, 2}},     {"2", 2, {4, 2, 2}},     {"3", 3, {6, 2, 2}},       {"4", 4, {8, 2, 2}},
               {"cl1", 1, {2, 2, 2}},   {"cl2", 2, {4, 2, 2}},   {"cl3", 3, {6, 2, 2}},     {"cl4", 4, {8, 2, 2}},
               {"10,4", 7, {10, 4, 4}}, {"8,6,4", 7, {8, 6, 4}}, {"10,6,4", 8, {10, 6, 4}}, {"8,4,4", 5, {8, 4, 4}}};

typedef struct variant {
    const char *propagator;
    shoal_setting settings[3]; /* unused: name NULL */
} variant;

/* clang-format off */
#define JACOBI(corrector_, kernel_) {"mvs_jacobi", {{"corrector", corrector_, NULL}, {"kernel", 0, kernel_}}}
#define NEVER(corrector_, kernel_) \
    {"mvs_jacobi", {{"corrector", corrector_, NULL}, {"kernel", 0, kernel_}, {"inverse", 0, "never"}}}
#define SELDOM(corrector_, every_) \
    {"mvs_jacobi", {{"corrector", corrector_, NULL}, {"kernel", 0, "lazy"}, {"lazy_every", every_, NULL}}}
#define SABA(scheme_) {"saba", {{"scheme", 0, scheme_}}}
/* clang-format on */

static const variant variants[] = {
    {"mvs", {{.name = NULL}}},
    {"mvs_whds", {{.name = NULL}}},
    JACOBI(0, "standard"),
    JACOBI(3, "standard"),
    JACOBI(5, "standard"),
    JACOBI(7, "standard"),
    JACOBI(11, "standard"),
    JACOBI(17, "standard"),
    JACOBI(17, "lazy"),
    NEVER(11, "standard"),
    NEVER(17, "lazy"),
    SELDOM(17, 2),
    SELDOM(0, 5),
    SABA("1"),
    SABA("2"),
    SABA("3"),
    SABA("4"),
    SABA("cl1"),
    SABA("cl2"),
    SABA("cl3"),
    SABA("cl4"),
    SABA("10,4"),
    SABA("8,6,4"),
    SABA("10,6,4"),
    SABA("8,4,4"),
};

static const char *variant_name(const variant *v)
{
    static char name[64];
    if (strcmp(v->propagator, "saba") == 0)
        snprintf(name, sizeof name, "saba %s", v->settings[0].choice);
    else if (v->settings[0].name)
        snprintf(name, sizeof name, "%s %g %s%s", v->propagator, v->settings[0].value, v->settings[1].choice,
                 v->settings[2].name ? ", corrected once" : "");
    else
        snprintf(name, sizeof name, "%s", v->propagator);
    return name;
}

static int n_settings(const variant *v)
{
    return !!v->settings[0].name + !!v->settings[1].name + !!v->settings[2].name;
}

/* Systems of n bodies to the time t, in one ensemble; dt of each. Stops at `reads` equal times on the way and keeps
 * the largest relative energy error there in *energy_error (may be NULL). */
/* long: a variant, its systems, and what is read of them on the way */
static void run(shoal_context *context, const variant *v, int compensated, long n_systems, int n, const double *dt,
                double t, int reads, shoal_body *bodies, double *energy_error)
{
    shoal_ensemble *ensemble = NULL;
    shoal_plan *plan = NULL;
    shoal_setting settings[4] = {{"compensated", compensated, NULL}, v->settings[0], v->settings[1], v->settings[2]};
    const shoal_options options = {.propagator = v->propagator,
                                   .settings = settings,
                                   .engine = "cpu",
                                   .threads = 1,
                                   .t_end = t,
                                   .n_settings = 1 + n_settings(v)};
    assert_ok(context, shoal_ensemble_create(context, n_systems, n, &ensemble));
    for (long s = 0; s < n_systems; s++) {
        const shoal_system record = {.id = s, .dt = dt[s]};
        shoal_ensemble_set_system(ensemble, s, &record);
        assert_ok(context, shoal_ensemble_set_bodies(ensemble, s, n, bodies + s * n));
    }
    const double before = shoal_ensemble_energy(ensemble, 0);
    assert_ok(context, shoal_plan_create(context, ensemble, &options, &plan));
    for (int read = 1; read <= reads; read++) {
        assert_ok(context, shoal_plan_integrate(plan, read == reads ? t : t * read / reads));
        const double error = fabs(shoal_ensemble_energy(ensemble, 0) / before - 1.0);
        if (energy_error && !(error <= *energy_error))
            *energy_error = error;
    }
    shoal_plan_destroy(&plan);
    for (long s = 0; s < n_systems; s++)
        shoal_ensemble_get_bodies(ensemble, s, bodies + s * n);
    shoal_ensemble_destroy(&ensemble);
}

static void run_one(shoal_context *context, const variant *v, int n, double dt, double t, shoal_body *bodies)
{
    run(context, v, 0, 1, n, &dt, t, 1, bodies, NULL);
}

/* A star of mass `mass`, planets of about `planet` times that, the first with mass, the second without if massless. */
/* long: each number is another one in some test */
static void make_system(shoal_context *context, int n, double mass, double planet, double spacing, double e,
                        bool massless, shoal_body *bodies)
{
    shoal_orbit orbit[MOST_BODIES];
    memset(orbit, 0, sizeof orbit);
    memset(bodies, 0, (size_t)n * sizeof *bodies);
    bodies[0].m = mass;
    for (int i = 1; i < n; i++) {
        bodies[i].m = massless && i == 2 ? 0.0 : mass * planet * (1.0 + 0.3 * (i % 3));
        orbit[i].a = pow(spacing, i - 1);
        orbit[i].e = e * (1 + i % 2);
        orbit[i].inc = 0.03 * i;
        orbit[i].Omega = 2.0 * i;
        orbit[i].omega = 1.0 + i;
        orbit[i].f = 0.5 + 2.3 * i;
    }
    assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, n, orbit, bodies));
}

/* ---- coefficient tables ------------------------------------------------------------------------------------------ */

/* The whole composition of a scheme: drifts c[0..stages], kicks d[0..stages-1]. */
static void composition(int scheme, double *c, double *d)
{
    const int row = scheme < 4 ? scheme : scheme - 4, stages = schemes[scheme].stages;
    for (int j = 0; j <= stages; j++)
        c[j] = saba_drift[row][j < stages - j ? j : stages - j];
    for (int j = 0; j < stages; j++)
        d[j] = saba_kick[row][j < stages - 1 - j ? j : stages - 1 - j];
}

/*
 * Seen from the Kepler motion, a kick d_i B at the time t_i = c_1 + ... + c_i is exp(d_i B(t_i)), and the exact flow
 * the ordered exponential of B(t) over 0 < t < 1. So the error of eps^k h^r vanishes for r < s if all iterated sums
 * agree with the iterated integrals:
 *
 *     int_{0 < u_1 < ... < u_k < 1} u_1^p_1 ... u_k^p_k  =  1 / ((p_1 + 1) (p_1 + p_2 + 2) ...),     p_1 + ... + p_k +
 *         k <= s
 *
 * with several of the kicks of an exponential counted by 1 / number!.
 */
static long double iterated_defect(int stages, const double *c, const double *d, int k, const int *p)
{
    long double sum[4] = {1.0L, 0.0L, 0.0L, 0.0L}, t = 0.0L, integral = 1.0L;
    int powers = 0;
    for (int i = 0; i < stages; i++) {
        t += c[i];
        for (int l = k; l > 0; l--) {
            long double term = 1.0L;
            for (int count = 1; count <= l; count++) {
                term *= d[i] * powl(t, p[l - count]) / count;
                sum[l] += sum[l - count] * term;
            }
        }
    }
    for (int j = 0; j < k; j++) {
        powers += p[j];
        integral /= powers + j + 1;
    }
    return fabsl(sum[k] - integral);
}

static void splittings_fulfil_their_order_conditions(void **state)
{
    (void)state;
    assert_string_equal(shoal_propagator_find(NULL, "saba")->parameters[1].name, "scheme");
    for (int scheme = 0; scheme < SHOAL_COUNT(schemes); scheme++) {
        const struct scheme *row = &schemes[scheme];
        double c[MOST_STAGES + 1], d[MOST_STAGES];
        long double worst = 0.0L, broken = 1.0L, sum_c = 0.0L, sum_d = 0.0L;
        shoal_kernel_args args = {.propagator = {0, scheme}};
        assert_int_equal(shoal_choice_index(shoal_propagator_find(NULL, "saba")->parameters[1].choices, row->name),
                         scheme);
        assert_int_equal(saba_stages(&args), row->stages);
        composition(scheme, c, d);
        for (int j = 0; j <= row->stages; j++)
            sum_c += c[j];
        for (int j = 0; j < row->stages; j++)
            sum_d += d[j];
        worst = fmaxl(fabsl(sum_c - 1.0L), fabsl(sum_d - 1.0L));
        for (int k = 1; k <= 3; k++)
            for (int code = 0; code < 1000; code++) {
                const int p[3] = {code % 10, code / 10 % 10, code / 100};
                const int power = k + p[0] + (k > 1 ? p[1] : 0) + (k > 2 ? p[2] : 0);
                if ((k < 3 && p[2]) || (k < 2 && p[1]) || power > row->order[k - 1])
                    continue;
                worst = fmaxl(worst, iterated_defect(row->stages, c, d, k, p));
            }
        /* and the next one of eps^1 is broken: the order is not better than claimed */
        const int next[1] = {row->order[0]};
        broken = iterated_defect(row->stages, c, d, 1, next);
        print_message("saba %-7s conditions fulfilled to %.0Le, the next one of eps misses by %.0Le\n", row->name,
                      worst, broken);
        assert_true(worst < 4e-16L); /* the tables are rounded to double */
        assert_true(broken > 1e-10L);
        /* the commutator's coefficient: what is missing at eps^2 h^3, on each side half of it, is d [B, B'] */
        if (scheme >= 4 && scheme < 8) {
            const int words[2] = {0, 1};
            const long double missing = iterated_defect(row->stages, c, d, 2, words);
            assert_true(fabsl(missing - saba_commutator_of(&args)) < 1e-16L);
        } else {
            assert_true(saba_commutator_of(&args) == 0.0);
        }
    }
}

/* To first order in B the map A(1/2) B A(1/2) has the Hamiltonian A + (x/2)/sinh(x/2) B, x the commutator with A;
 * Z(a, b) is generated by
 * -2 b sinh(a x) B. The corrector has to make up for the difference: 4 sum b_j sinh(a_j x) x = 1 - (x/2)/sinh(x/2). */
static void correctors_fulfil_their_conditions(void **state)
{
    static const int orders[] = {3, 5, 7, 11, 17}, pairs[] = {1, 2, 3, 5, 8};
    long double series[20], inverse[20], factorial = 1.0L; /* in x^2: sinh(x/2)/(x/2), and one over it */
    (void)state;
    for (int k = 0; k < 20; k++) {
        series[k] = ldexpl(1.0L, -2 * k) / factorial;
        factorial *= (2 * k + 2) * (2.0L * k + 3);
        inverse[k] = k == 0;
        for (int j = 0; j < k; j++)
            inverse[k] -= inverse[j] * series[k - j];
    }
    for (int row = 0; row < SHOAL_COUNT(orders); row++) {
        long double worst = 0.0L, next = 0.0L;
        for (int k = 0; k <= pairs[row]; k++) {
            long double sum = 0.0L, size = 0.0L;
            for (int j = 1; j <= pairs[row]; j++) {
                long double term = 4.0L * corrector_b[row][j - 1];
                for (int i = 1; i <= 2 * k + 1; i++)
                    term *= j * sqrtl(7.0L / 40.0L) / i;
                sum += term;
                size = fmaxl(size, fabsl(term));
            }
            *(k < pairs[row] ? &worst : &next) = fmaxl(k < pairs[row] ? worst : 0.0L,
                                                       fabsl(sum + inverse[k + 1]) / size);
        }
        print_message("corrector %2d: conditions fulfilled to %.0Le, the next misses by %.0Le\n", orders[row], worst,
                      next);
        assert_true(worst < 4e-16L);
        assert_true(next > 1e3L * worst || row == 0);
        for (int j = pairs[row]; j < CORRECTOR_MOST; j++)
            assert_true(corrector_b[row][j] == 0.0);
    }
}

/* ---- the same maps again, in long double: matrices for coordinates, all forces from all pairs -------------------- */

typedef struct peer {
    int n;
    long double m[MOST_BODIES], kepler_mass[MOST_BODIES];
    /* positions to and from the coordinates */
    long double to[MOST_BODIES][MOST_BODIES], from[MOST_BODIES][MOST_BODIES];
    long double vto[MOST_BODIES][MOST_BODIES], vfrom[MOST_BODIES][MOST_BODIES];
    long double q[MOST_BODIES][6]; /* row 0: barycentre */
    bool jacobi, whds;
} peer;

/* Gauss-Jordan */
static void invert(int n, const long double a[MOST_BODIES][MOST_BODIES], long double b[MOST_BODIES][MOST_BODIES])
{
    long double w[MOST_BODIES][2 * MOST_BODIES];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            w[i][j] = a[i][j];
            w[i][n + j] = i == j;
        }
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++)
            if (fabsl(w[i][k]) > fabsl(w[best][k]))
                best = i;
        for (int j = 0; j < 2 * n; j++) {
            const long double swap = w[k][j];
            w[k][j] = w[best][j];
            w[best][j] = swap;
        }
        for (int j = 2 * n - 1; j >= k; j--)
            w[k][j] /= w[k][k];
        for (int i = 0; i < n; i++)
            for (int j = 2 * n - 1; i != k && j >= k; j--)
                w[i][j] -= w[i][k] * w[k][j];
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            b[i][j] = w[i][n + j];
}

static void peer_start(peer *p, const char *propagator, int n, const shoal_body *bodies)
{
    long double total = 0.0L, inner = 0.0L;
    memset(p, 0, sizeof *p);
    p->n = n;
    p->jacobi = strncmp(propagator, "mvs", 3) != 0 || strcmp(propagator, "mvs_jacobi") == 0;
    p->whds = strcmp(propagator, "mvs_whds") == 0;
    for (int i = 0; i < n; i++)
        total += p->m[i] = bodies[i].m;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            p->to[i][j] = i == 0 ? p->m[j] / total : i == j ? 1.0L : 0.0L;
            if (i > 0 && p->jacobi)
                p->to[i][j] -= j < i ? p->m[j] / inner : 0.0L;
            else if (i > 0 && j == 0)
                p->to[i][j] = -1.0L;
            p->vto[i][j] = p->to[i][j];
            if (!p->jacobi) /* barycentric velocities, scaled for WHDS; row 0 is the barycentre's */
                p->vto[i][j] = i == 0 ? p->m[j] / total
                                      : ((i == j) - p->m[j] / total) * (p->whds ? (p->m[0] + p->m[i]) / p->m[0] : 1.0L);
        }
        inner += p->m[i];
        p->kepler_mass[i] = p->jacobi ? inner : p->whds ? p->m[0] + p->m[i] : p->m[0];
    }
    invert(n, p->to, p->from);
    invert(n, p->vto, p->vfrom);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int c = 0; c < 6; c++)
                p->q[i][c] += (c < 3 ? p->to : p->vto)[i][j] * (&bodies[j].x)[c];
}

static void peer_end(const peer *p, shoal_body *bodies)
{
    for (int i = 0; i < p->n; i++)
        for (int c = 0; c < 6; c++) {
            long double sum = 0.0L;
            for (int j = 0; j < p->n; j++)
                sum += (c < 3 ? p->from : p->vfrom)[i][j] * p->q[j][c];
            (&bodies[i].x)[c] = (double)sum;
        }
}

static void peer_drift(peer *p, long double h)
{
    for (int i = 1; i < p->n; i++) {
        long double end[6];
        kepler_reference(p->kepler_mass[i], h, p->q[i], end);
        memcpy(p->q[i], end, sizeof end);
    }
    for (int c = 0; c < 3; c++)
        p->q[0][c] += h * p->q[0][3 + c];
}

/* What is neither Kepler motion nor jump: all attractions, transformed as velocities, less those of the Kepler part. */
static void peer_acceleration(const peer *p, long double at[MOST_BODIES][3], long double out[MOST_BODIES][3])
{
    const int n = p->n;
    long double x[MOST_BODIES][3] = {{0}}, a[MOST_BODIES][3] = {{0}};
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int c = 0; c < 3; c++)
                x[i][c] += p->from[i][j] * at[j][c];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            const long double d[3] = {x[j][0] - x[i][0], x[j][1] - x[i][1], x[j][2] - x[i][2]};
            const long double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            if (i == j || (!p->jacobi && (i == 0 || j == 0)))
                continue;
            for (int c = 0; c < 3; c++)
                a[i][c] += p->m[j] * d[c] / (r2 * sqrtl(r2));
        }
    for (int i = 1; i < n; i++) {
        const long double r2 = at[i][0] * at[i][0] + at[i][1] * at[i][1] + at[i][2] * at[i][2];
        for (int c = 0; c < 3; c++) {
            out[i][c] = p->jacobi ? p->kepler_mass[i] * at[i][c] / (r2 * sqrtl(r2)) : 0.0L;
            for (int j = 0; j < n; j++)
                out[i][c] += p->vto[i][j] * a[j][c];
        }
    }
}

/* Of the third setting, if it is this one; else 0. */
static int third(const variant *v, const char *name)
{
    const shoal_setting *setting = &v->settings[2];
    return setting->name && strcmp(setting->name, name) == 0 ? (int)setting->value + (setting->choice != NULL) : 0;
}

/* V += h a(Q), or h a(Q + shift a(Q)), or h (a(Q + shift a(Q)) - a(Q)) */
static void peer_kick(peer *p, long double h, long double shift, bool difference)
{
    long double at[MOST_BODIES][3] = {{0}}, a[MOST_BODIES][3], b[MOST_BODIES][3];
    for (int i = 0; i < p->n; i++)
        memcpy(at[i], p->q[i], sizeof at[i]);
    peer_acceleration(p, at, a);
    for (int i = 1; i < p->n; i++)
        for (int c = 0; c < 3; c++)
            at[i][c] += shift * a[i][c];
    peer_acceleration(p, at, b);
    for (int i = 1; i < p->n; i++)
        for (int c = 0; c < 3; c++)
            p->q[i][3 + c] += h * (b[i][c] - (difference ? a[i][c] : 0.0L));
}

/* The part of (sum of momenta)^2 / 2 m_0 that is not in the Kepler part moves the positions. */
static void peer_jump(peer *p, long double h)
{
    for (int i = 1; i < p->n; i++)
        for (int j = 1; j < p->n; j++)
            for (int c = 0; c < 3 && (j != i || !p->whds); c++)
                p->q[i][c] += h * p->m[j] / (p->m[0] + (p->whds ? p->m[j] : 0.0L)) * p->q[j][3 + c];
}

static void peer_Z(peer *p, long double a, long double b)
{
    peer_drift(p, a);
    peer_kick(p, -b, 0.0L, false);
    peer_drift(p, -2.0L * a);
    peer_kick(p, b, 0.0L, false);
    peer_drift(p, a);
}

static void peer_corrector(peer *p, int order, long double h, long double sign)
{
    const int row = order == 3 ? 0 : order == 5 ? 1 : order == 7 ? 2 : order == 11 ? 3 : 4, pairs = (order - 1) / 2;
    for (int j = -pairs; j <= pairs; j++)
        if (j != 0)
            peer_Z(p, j * h * sqrtl(0.175L), (j < 0 ? -1.0L : 1.0L) * sign * h * corrector_b[row][abs(j) - 1]);
}

/* One synchronised step, which `before` others came before. */
static void peer_step(peer *p, const variant *v, int before, long double h)
{
    const long double half = 0.5L * h;
    if (!p->jacobi) {
        peer_kick(p, half, 0.0L, false);
        peer_jump(p, half);
        peer_drift(p, h);
        peer_jump(p, half);
        peer_kick(p, half, 0.0L, false);
    } else if (strcmp(v->propagator, "mvs_jacobi") == 0) {
        const int every = third(v, "lazy_every");
        const long double shift = strcmp(v->settings[1].choice, "lazy") == 0 ? h * h / 12.0L : 0.0L;
        peer_drift(p, half);
        if (every && before % every == every / 2)
            peer_kick(p, every * h, shift, true); /* which depends on places alone, as what follows */
        peer_kick(p, h, every ? 0.0L : shift, false);
        peer_drift(p, half);
    } else {
        int scheme = 0;
        double c[MOST_STAGES + 1], d[MOST_STAGES];
        while (strcmp(schemes[scheme].name, v->settings[0].choice) != 0)
            scheme++;
        composition(scheme, c, d);
        const long double g = scheme >= 4 && scheme < 8 ? saba_commutator[scheme - 4] : 0.0L;
        peer_kick(p, 12.0L * g * h, h * h / 12.0L, true);
        for (int j = 0; j < schemes[scheme].stages; j++) {
            peer_drift(p, c[j] * h);
            peer_kick(p, d[j] * h, 0.0L, false);
        }
        peer_drift(p, c[0] * h);
        peer_kick(p, 12.0L * g * h, h * h / 12.0L, true);
    }
}

/* To the time t by whole steps, and one that is shorter. */
static void peer_run(const variant *v, int n, double dt, double t, shoal_body *bodies)
{
    const int steps = (int)(fabs(t / dt) + 1e-9),
              corrector = strcmp(v->propagator, "mvs_jacobi") == 0 ? (int)v->settings[0].value : 0;
    const bool inverse = !third(v, "inverse");
    const long double h = copysignl(dt, t), rest = t - steps * h;
    peer p;
    peer_start(&p, v->propagator, n, bodies);
    for (int part = 0; part < 2; part++) {
        const long double length = part ? rest : h;
        if (corrector && (inverse || part == 0))
            peer_corrector(&p, corrector, length, 1.0L);
        for (int k = 0; k < (part ? fabsl(rest) > 1e-12L : steps); k++)
            peer_step(&p, v, part ? steps : k, length);
        if (corrector && inverse)
            peer_corrector(&p, corrector, length, -1.0L);
    }
    peer_end(&p, bodies);
}

/* Ten orbits and a bit, there the partial step of a length of its own; forwards and backwards; stars of other
 * masses; a planet without mass; bodies as many as the special kernels have and more. */
static void maps_are_those_of_another_implementation(void **state)
{
    shoal_context *context = context_of(state);
    static const struct {
        int n;
        double mass, planet, spacing;
        bool massless;
    } rows[] = {
        {3, 1.0, 1e-3, 1.7, false}, {4, 0.3, 1e-3, 1.5, true}, {2, 2.0, 0.3, 1.0, false}, {6, 1.0, 1e-4, 1.4, false}};
    for (int row = 0; row < SHOAL_COUNT(rows); row++) {
        double worst = 0.0;
        for (int k = 0; k < SHOAL_COUNT(variants); k++) {
            const int n = rows[row].n;
            const double period = TWO_PI / sqrt(rows[row].mass), dt = period / 32,
                         t = (k % 2 ? -1 : 1) * (10 * period + 0.37 * dt);
            shoal_body ours[MOST_BODIES], theirs[MOST_BODIES];
            make_system(context, n, rows[row].mass, rows[row].planet, rows[row].spacing, 0.05, rows[row].massless,
                        ours);
            memcpy(theirs, ours, sizeof ours);
            run(context, &variants[k], 1, 1, n, &dt, t, 1, ours, NULL);
            peer_run(&variants[k], n, dt, t, theirs);
            const double difference = distance_of_states(n, ours, theirs);
            worst = fmax(worst, difference);
            if (!(difference < 1e-12))
                fail_msg("%s, %d bodies: %.2e", variant_name(&variants[k]), n, difference);
        }
        print_message("%d bodies: all %d maps after ten orbits are the other implementation's to %.1e\n", rows[row].n,
                      SHOAL_COUNT(variants), worst);
    }
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

/* The largest relative energy error at some times in 12 orbits of two planets. */
static double energy_error(shoal_context *context, const variant *v, double planet, double dt)
{
    shoal_body bodies[3];
    double error = 0.0;
    make_system(context, 3, 1.0, planet, 1.9, 0.04, false, bodies);
    run(context, v, 1, 1, 3, &dt, 12 * TWO_PI, 24, bodies, &error);
    return error;
}

/* Steps of 2 pi / (6 1.3^i) for seven i from first to last; five masses down to a fifth. Where terms of several
 * powers are of one size (8,6,4 and 10,6,4: eps^2 h^6 + eps^3 h^4, and eps h^8), or large steps not yet asymptotic
 * (high orders of h reach rounding before), the tolerance is wider. */
static void errors_are_the_powers_promised(void **state)
{
    enum { STEPS = 7, MASSES = 5 };
    static const struct {
        variant v;
        double planet;
        int first, last;
        double of_step, step_tolerance, of_mass, mass_tolerance;
    } rows[] = {
        {{"mvs", {{.name = NULL}}}, 1e-4, 4, 7, 2, 0.1, 1, 0.1},
        {{"mvs_whds", {{.name = NULL}}}, 1e-4, 4, 7, 2, 0.1, 1, 0.1},
        {JACOBI(0, "standard"), 1e-4, 4, 7, 2, 0.1, 1, 0.1},
        {JACOBI(3, "standard"), 1e-6, 2, 7, 4, 0.2, 1, 0.1},
        {JACOBI(5, "standard"), 1e-6, 2, 7, 6, 0.3, 1, 0.1},
        {JACOBI(7, "standard"), 1e-6, 2, 6, 8, 0.3, 1, 0.1},
        {JACOBI(17, "standard"), 1e-6, 2, 5, 14, 0.6, 1, 0.2},
        {JACOBI(17, "standard"), 1e-3, 5, 7, 2, 0.2, 2, 0.2},
        {JACOBI(17, "lazy"), 3e-3, 6, 7, 4, 0.3, 2, 0.25},
        {SABA("1"), 1e-4, 4, 7, 2, 0.1, 1, 0.1},
        {SABA("2"), 1e-6, 2, 7, 4, 0.5, 1, 0.1},
        {SABA("3"), 3e-3, 5, 7, 2, 0.2, 2, 0.25},
        {SABA("4"), 3e-3, 5, 7, 2, 0.2, 2, 0.25},
        {SABA("cl2"), 1e-2, 5, 7, 4, 0.3, 1, 0.1},
        {SABA("cl3"), 3e-3, 5, 7, 4, 0.3, 2, 0.25},
        {SABA("cl4"), 3e-3, 5, 7, 4, 0.3, 2, 0.25},
        {SABA("10,4"), 3e-3, 5, 7, 4, 0.3, 2, 0.25},
        {SABA("8,4,4"), 3e-3, 5, 7, 4, 0.3, 2, 0.25},
        {SABA("8,6,4"), 1e-2, 6, 7, 4.5, 0.5, 2.3, 0.4},
        {SABA("10,6,4"), 1e-2, 5, 7, 4.3, 0.4, 2.4, 0.4},
    };
    shoal_context *context = context_of(state);
    for (int row = 0; row < SHOAL_COUNT(rows); row++) {
        const variant *v = &rows[row].v;
        double dt[STEPS], error[STEPS], mass[MASSES], of[MASSES];
        for (int i = 0; i < STEPS; i++) {
            dt[i] = TWO_PI /
                    floor(6 * pow(1.3, rows[row].first + (rows[row].last - rows[row].first) * i / (STEPS - 1.0)));
            error[i] = energy_error(context, v, rows[row].planet, dt[i]);
        }
        for (int i = 0; i < MASSES; i++) {
            mass[i] = rows[row].planet * pow(5, -i / (MASSES - 1.0));
            of[i] = energy_error(context, v, mass[i], dt[STEPS / 2]);
        }
        const double of_step = slope(STEPS, dt, error), of_mass = slope(MASSES, mass, of);
        print_message("%-23s planets %.0e: h^%.2f eps^%.2f, errors %.1e..%.1e\n", variant_name(v), rows[row].planet,
                      of_step, of_mass, error[0], error[STEPS - 1]);
        assert_true(fabs(of_step - rows[row].of_step) < rows[row].step_tolerance);
        assert_true(fabs(of_mass - rows[row].of_mass) < rows[row].mass_tolerance);
    }
}

/* Two planets that pull at each other strongly, after 100 orbits against 10,6,4 at a tenth of the step: with a
 * corrector alone the error of second order in the masses still shifts the frequencies, about as much as without;
 * the kernel takes it away (Rein, Tamayo & Brown 2019). */
static void the_kernel_improves_the_phase(void **state)
{
    static const variant rows[] = {JACOBI(0, "standard"), JACOBI(17, "standard"), JACOBI(17, "lazy")};
    static const variant fine = SABA("10,6,4");
    const double dt = TWO_PI / 40, t = 100 * TWO_PI;
    shoal_context *context = context_of(state);
    shoal_body start[3], exact[3], check[3], bodies[3];
    double error[3];
    make_system(context, 3, 1.0, 1e-3, 1.32, 0.01, false, start);
    memcpy(exact, start, sizeof start);
    memcpy(check, start, sizeof start);
    run_one(context, &fine, 3, dt / 10, t, exact);
    run_one(context, &fine, 3, dt / 8, t, check);
    assert_true(distance_of_states(3, exact, check) < 1e-8);
    for (int k = 0; k < 3; k++) {
        memcpy(bodies, start, sizeof start);
        run_one(context, &rows[k], 3, dt, t, bodies);
        error[k] = distance_of_states(3, bodies, exact);
    }
    print_message("off after 100 orbits: %.1e plain, %.1e with corrector 17, %.1e with the kernel, too\n", error[0],
                  error[1], error[2]);
    assert_true(error[1] > 0.3 * error[0]);
    assert_true(error[2] < 0.01 * error[1]);
}

/* Two planets of 1e-5 of the star: without a corrector the frequencies are off by eps h^2. One at the start takes that
 * away, as one that reads undo does; what it leaves in the state that is read is lost in the rest after 1000 orbits. */
static void a_corrector_at_the_start_keeps_the_phase(void **state)
{
    static const variant rows[] = {JACOBI(0, "lazy"), JACOBI(17, "lazy"), NEVER(17, "lazy")};
    static const variant fine = SABA("10,6,4");
    const double dt = TWO_PI / 16;
    shoal_context *context = context_of(state);
    shoal_body start[3], exact[3], bodies[3];
    double error[2][3];
    make_system(context, 3, 1.0, 1e-5, 1.62, 0.02, false, start);
    for (int later = 0; later < 2; later++) {
        const double t = (later ? 1000 : 10) * TWO_PI;
        memcpy(exact, start, sizeof start);
        run_one(context, &fine, 3, dt / 4, t, exact);
        for (int k = 0; k < 3; k++) {
            memcpy(bodies, start, sizeof start);
            run_one(context, &rows[k], 3, dt, t, bodies);
            error[later][k] = distance_of_states(3, bodies, exact);
        }
        print_message("off after %4.0f orbits: %.1e plain, %.1e with a corrector, %.1e with one at the start only\n",
                      t / TWO_PI, error[later][0], error[later][1], error[later][2]);
    }
    assert_true(error[1][2] < 1.2 * error[1][1] && error[1][2] < 0.03 * error[1][0]);
    assert_true(error[0][2] > 1.2 * error[0][1] && error[0][2] < 0.03 * error[0][0]);
}

/* ---- fused steps, other lengths, ensembles ----------------------------------------------------------------------- */

/* A plan's fused steps against one plan a step, each from a synchronised state. A corrector there and back, 65
 * drifts and 64 kicks with roundings of their own in each single step, allows for more. One at the start only cannot be
 * undone in between. */
static void fused_steps_are_single_steps(void **state)
{
    shoal_context *context = context_of(state);
    double worst = 0.0;
    for (int k = 0; k < SHOAL_COUNT(variants); k++) {
        enum { STEPS = 100, N = 4 };
        shoal_body fused[N], single[N];
        const double dt = TWO_PI / 40;
        if (variants[k].settings[2].name)
            continue;
        make_system(context, N, 1.0, 1e-3, 1.6, 0.05, false, fused);
        memcpy(single, fused, sizeof fused);
        run_one(context, &variants[k], N, dt, STEPS * dt, fused);
        for (int step = 0; step < STEPS; step++)
            run_one(context, &variants[k], N, dt, dt, single);
        const bool corrected = strcmp(variants[k].propagator, "mvs_jacobi") == 0 && variants[k].settings[0].value > 0;
        const double difference = distance_of_states(N, fused, single);
        worst = fmax(worst, difference);
        if (!(difference < (corrected ? 3e-12 : 2e-13)))
            fail_msg("%s: %.2e", variant_name(&variants[k]), difference);
    }
    print_message("100 fused steps against single ones: %.1e\n", worst);
}

/* Reads on the way, at whole steps and inside them, change no bit of the end, and are what a run to that time gives. */
static void reading_changes_nothing(void **state)
{
    enum { N = 3 };
    shoal_context *context = context_of(state);
    for (int k = 0; k < SHOAL_COUNT(variants); k++) {
        shoal_body start[N], once[N], often[N], part[N], at[N];
        const double dt = 0.1, t = 10.04, middle = 3.7777;
        shoal_ensemble *ensemble = NULL;
        shoal_plan *plan = NULL;
        const shoal_options options = {.propagator = variants[k].propagator,
                                       .settings = variants[k].settings,
                                       .engine = "cpu",
                                       .t_end = t,
                                       .n_settings = n_settings(&variants[k]),
                                       .dt = dt};
        make_system(context, N, 1.3, 1e-3, 1.6, 0.05, false, start);
        memcpy(once, start, sizeof start);
        memcpy(part, start, sizeof start);
        run_one(context, &variants[k], N, dt, t, once);
        run_one(context, &variants[k], N, dt, middle, part);
        assert_ok(context, shoal_ensemble_create(context, 1, N, &ensemble));
        assert_ok(context, shoal_ensemble_set_bodies(ensemble, 0, N, start));
        assert_ok(context, shoal_plan_create(context, ensemble, &options, &plan));
        for (int read = 1; read < 40; read++) {
            if (read == 16) {
                assert_ok(context, shoal_plan_integrate(plan, middle));
                shoal_ensemble_get_bodies(ensemble, 0, at);
                assert_memory_equal(at, part, sizeof at);
            } else {
                assert_ok(context, shoal_plan_integrate(plan, t * (read / 40.0)));
            }
        }
        assert_ok(context, shoal_plan_integrate(plan, t));
        shoal_ensemble_get_bodies(ensemble, 0, often);
        assert_memory_equal(often, once, sizeof once);
        shoal_plan_destroy(&plan);
        shoal_ensemble_destroy(&ensemble);
    }
}

/* Stars and steps of their own in one ensemble: the bits of single runs. */
static void every_system_is_alone(void **state)
{
    enum { SYSTEMS = 19, N = 4 };
    shoal_context *context = context_of(state);
    for (int k = 0; k < SHOAL_COUNT(variants); k++)
        for (int compensated = 0; compensated < 2; compensated++) {
            shoal_body together[SYSTEMS * N], alone[SYSTEMS * N];
            double dt[SYSTEMS];
            for (int s = 0; s < SYSTEMS; s++) {
                make_system(context, N, 0.1 + 0.3 * s, 1e-3, 1.5 + 0.02 * s, 0.03, s % 3 == 0, together + N * s);
                dt[s] = 0.02 * (1 + s % 5);
            }
            memcpy(alone, together, sizeof alone);
            run(context, &variants[k], compensated, SYSTEMS, N, dt, 2.33, 1, together, NULL);
            for (int s = 0; s < SYSTEMS; s++)
                run(context, &variants[k], compensated, 1, N, dt + s, 2.33, 1, alone + N * s, NULL);
            for (int s = 0; s < SYSTEMS; s++)
                if (memcmp(alone + N * s, together + N * s, N * sizeof *alone) != 0)
                    fail_msg("%s%s, system %d: %.1e", variant_name(&variants[k]), compensated ? ", compensated" : "", s,
                             distance_of_states(N, alone + N * s, together + N * s));
        }
}

/* The bound that lets the ejection monitor sleep, from unsynchronised coordinates. */
static void reach_is_a_bound(void **state)
{
    enum { N = 5 };
    shoal_context *context = context_of(state);
    volatile int n_moved = N; /* gcc 12 with sanitizers, if it knows the number, warns of bodies beyond it */
    shoal_kernel_args args = {.propagator = {0, 0}, .n_moved = n_moved};
    for (int which = 0; which < 200; which++) {
        shoal_body bodies[N];
        real m[N], w[6 * N], s[12 * N + 1];
        make_system(context, N, 1.0, which % 2 ? 0.3 : 1e-3, 1.2 + 0.01 * which, 0.3, false, bodies);
        for (int i = 0; i < N; i++) {
            m[i] = lane_set(bodies[i].m);
            for (int c = 0; c < 6; c++)
                w[c * N + i] = lane_set((&bodies[i].x)[c]);
        }
        propagator_prepare(&args, args.n_moved, m, w, s);
        propagator_step(&args, args.n_moved, 0, m, s, lane_set(0.01 * (which + 1)));
        system_view(&args, m, s, w);
        double farthest = 0.0;
        for (int i = 0; i < N; i++)
            farthest = fmax(farthest,
                            sqrt(w[i][0] * w[i][0] + w[N + i][0] * w[N + i][0] + w[2 * N + i][0] * w[2 * N + i][0]));
        assert_true(propagator_beyond(&args, N, m, s, farthest)[0]);
        if (which % 2 == 0 && which < 50) /* planets */
            assert_false(propagator_beyond(&args, N, m, s, sqrt(8) * farthest)[0]);
    }
}

static void what_cannot_be_is_refused(void **state)
{
    shoal_context *context = context_of(state);
    shoal_body bodies[2];
    shoal_ensemble *ensemble = NULL;
    shoal_plan *plan = NULL;
    const shoal_setting four = {"corrector", 4, NULL};
    shoal_options options = {
        .propagator = "mvs_jacobi", .settings = &four, .n_settings = 1, .engine = "cpu", .t_end = 1, .dt = 0.1};
    make_system(context, 2, 1.0, 1e-3, 1.0, 0.0, false, bodies);
    assert_ok(context, shoal_ensemble_create(context, 1, 2, &ensemble));
    assert_ok(context, shoal_ensemble_set_bodies(ensemble, 0, 2, bodies));
    assert_int_equal(shoal_plan_create(context, ensemble, &options, &plan), SHOAL_E_USAGE);
    assert_non_null(strstr(shoal_context_message(context), "0|3|5|7|11|17"));
    const shoal_setting zero = {"lazy_every", 0, NULL}, five = {"lazy_every", 5, NULL};
    options.settings = &zero;
    assert_int_equal(shoal_plan_create(context, ensemble, &options, &plan), SHOAL_E_USAGE);
    assert_non_null(strstr(shoal_context_message(context), "mvs_jacobi.lazy_every = 0: expected 1..64"));
    options.settings = &five; /* of a kernel that is not lazy */
    assert_int_equal(shoal_plan_create(context, ensemble, &options, &plan), SHOAL_E_INPUT);
    assert_non_null(strstr(shoal_context_message(context), "lazy_every is of kernel = lazy"));
    options.n_settings = 0;
    bodies[1].m = bodies[0].m;
    bodies[0].m = 0.0;
    assert_ok(context, shoal_ensemble_set_bodies(ensemble, 0, 2, bodies));
    assert_int_equal(shoal_plan_create(context, ensemble, &options, &plan), SHOAL_E_INPUT);
    shoal_ensemble_destroy(&ensemble);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splittings_fulfil_their_order_conditions),
        cmocka_unit_test(correctors_fulfil_their_conditions),
        cmocka_unit_test(maps_are_those_of_another_implementation),
        cmocka_unit_test(errors_are_the_powers_promised),
        cmocka_unit_test(the_kernel_improves_the_phase),
        cmocka_unit_test(a_corrector_at_the_start_keeps_the_phase),
        cmocka_unit_test(fused_steps_are_single_steps),
        cmocka_unit_test(reading_changes_nothing),
        cmocka_unit_test(every_system_is_alone),
        cmocka_unit_test(reach_is_a_bound),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests_name("mvs", tests, setup, teardown);
}
