/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How heavy are Kepler-51's planets? Their pull on each other shifts the times at which they pass before their star, by
 * hours.
 *
 * Fifty-three transits of the planets b, c and d, observed from 2009 to 2016, are fitted by the method of Levenberg and
 * Marquardt: of each planet the mass, the period, a time of transit and the eccentricity vector. A model and its
 * derivatives are one ensemble of 16 systems, the second to the last of which have one parameter shifted, and one plan,
 * which begins again with each step of the fit; the monitor `transits` finds the times. Published are 3.7 (+1.9 -1.6),
 * 4.4 +- 0.5 and 5.7 +- 1.1 Earths (Libby-Roberts et al. 2020, for a star of 0.985).
 *
 *     cc transits.c $(pkg-config --cflags --libs shoal) -lm && ./a.out
 *
 * Units: G = 1, AU, solar masses (the star is taken as one): a day is 2 pi / 365.2569. The observer is at +z, orbits
 * are seen edge on.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <shoal.h>

enum { PLANETS = 3, OF_EACH = 5, N = PLANETS * OF_EACH, SYSTEMS = 1 + N, OBSERVED = 53, ROUNDS = 30 };

static const double PI = 3.14159265358979323846;
static const double DAY = 2 * 3.14159265358979323846 / 365.2568983263281;
static const double T_START = 155, T_END = 2950; /* BKJD: BJD - 2454833 */
static const double EARTH = 3.0034896e-6;        /* Msun */

/* Planet, number of the transit, time [d], its error: Kepler's and Hubble's timings (Masuda 2014, ApJ 783, 53;
 * Libby-Roberts et al. 2020, AJ 159, 57). */
static const struct observation {
    int planet, number;
    double time, error;
} observed[OBSERVED] = {
    {0, 0, 159.11020, 0.0012803},    {0, 1, 204.26341, 0.0010511},    {0, 2, 249.41429, 0.00156875},
    {0, 3, 294.57387, 0.00181045},   {0, 4, 339.72659, 0.00162635},   {0, 5, 384.87849, 0.0011815},
    {0, 6, 430.03431, 0.0010443},    {0, 8, 520.34296, 0.00145545},   {0, 9, 565.50058, 0.0017056},
    {0, 10, 610.65750, 0.00121755},  {0, 11, 655.81281, 0.0011868},   {0, 12, 700.97563, 0.00198055},
    {0, 13, 746.12681, 0.00140325},  {0, 14, 791.28725, 0.0016473},   {0, 15, 836.44031, 0.00207785},
    {0, 16, 881.59877, 0.00096555},  {0, 17, 926.75401, 0.0019868},   {0, 18, 971.90560, 0.0014814},
    {0, 19, 1017.06093, 0.00178855}, {0, 20, 1062.21173, 0.0017969},  {0, 21, 1107.36679, 0.00103885},
    {0, 22, 1152.52080, 0.00086655}, {0, 23, 1197.67694, 0.00089115}, {0, 24, 1242.83033, 0.00093355},
    {0, 25, 1287.98438, 0.00086995}, {0, 26, 1333.14164, 0.00089815}, {0, 27, 1378.29828, 0.00089745},
    {0, 28, 1423.45432, 0.00089835}, {0, 29, 1468.61332, 0.00088425}, {0, 51, 2462.03211, 0.001766},
    {0, 57, 2732.95267, 0.002947},   {1, 0, 295.31635, 0.00407345},   {1, 1, 380.63913, 0.00294845},
    {1, 2, 465.95364, 0.0026604},    {1, 3, 551.26314, 0.00408335},   {1, 4, 636.56959, 0.00349635},
    {1, 7, 892.51915, 0.00381675},   {1, 8, 977.84155, 0.0046698},    {1, 10, 1148.46496, 0.0044051},
    {1, 11, 1233.80861, 0.0030602},  {1, 12, 1319.11300, 0.00471195}, {1, 14, 1489.75234, 0.0035127},
    {2, 0, 212.02419, 0.00086679},   {2, 1, 342.20768, 0.00086656},   {2, 2, 472.39081, 0.00097869},
    {2, 3, 602.57368, 0.00085341},   {2, 5, 862.93204, 0.00120557},   {2, 6, 993.10486, 0.00093235},
    {2, 7, 1123.28462, 0.00074},     {2, 8, 1253.45065, 0.00133927},  {2, 9, 1383.63021, 0.00065875},
    {2, 18, 2555.20049, 0.00125045}, {2, 21, 2945.75330, 0.0012313},
};

/* What is fitted, of each planet: mass [Earths], period [d], time of the transit of number 0 [d], e cos omega, e sin
 * omega. */
static const double first_guess[N] = {4, 45.1555, 159.106, 0, 0, 4, 85.3127, 295.315, 0, 0, 4, 130.1787, 212.028, 0, 0};
static const double shift[N] = {1e-3, 1e-6, 1e-5, 1e-6, 1e-6, 1e-3, 1e-6, 1e-5,
                                1e-6, 1e-6, 1e-3, 1e-6, 1e-5, 1e-6, 1e-6};

typedef struct fit {
    shoal_context *context;
    shoal_ensemble *ensemble; /* [SYSTEMS] */
    shoal_plan *plan;
} fit;

/* The system of some parameters; one that cannot be is left `invalid`. */
static void propose(fit *f, long system, const double *p)
{
    shoal_body bodies[1 + PLANETS] = {{.m = 1}};
    shoal_orbit orbits[1 + PLANETS] = {{0}};
    double inside = 1;
    for (int i = 1; i <= PLANETS; ++i, p += OF_EACH) {
        const double e = hypot(p[3], p[4]), omega = atan2(p[4], p[3]), P = p[1] * DAY;
        bodies[i].m = p[0] * EARTH;
        inside += bodies[i].m;
        const double M = shoal_mean_anomaly(e, PI / 2 - omega) + 2 * PI * remainder((T_START - p[2]) / p[1], 1);
        orbits[i] = (shoal_orbit){.a = cbrt(inside * pow(P / (2 * PI), 2)),
                                  .e = e,
                                  .inc = PI / 2,
                                  .omega = omega,
                                  .f = shoal_true_anomaly(e, M)};
    }
    if (shoal_bodies_from_orbits(f->context, SHOAL_JACOBI, 1 + PLANETS, orbits, bodies) != SHOAL_OK) {
        bodies[1].m = NAN; /* refused below */
    }
    (void)shoal_ensemble_set_bodies(f->ensemble, system, 1 + PLANETS, bodies);
    shoal_ensemble_set_system(f->ensemble, system,
                              &(shoal_system){.id = system, .t_start = T_START * DAY, .dt = 2 * DAY});
}

/* The observed transits' times in each system [d], NaN where there is none. Their numbers are those of a straight
 * line. */
static shoal_status find_times(fit *f, double times[SYSTEMS][OBSERVED])
{
    const shoal_plug_options watch = {.name = "transits"};
    const shoal_setting scheme = {.name = "scheme", .choice = "8,4,4"};
    const shoal_options options = {.propagator = "saba",
                                   .settings = &scheme,
                                   .n_settings = 1,
                                   .monitors = &watch,
                                   .n_monitors = 1,
                                   .engine = "cpu",
                                   .t_end = T_END * DAY};
    for (int s = 0; s < SYSTEMS; ++s) {
        for (int i = 0; i < OBSERVED; ++i) {
            times[s][i] = NAN;
        }
    }
    shoal_status status = f->plan ? shoal_plan_restart(f->plan)
                                  : shoal_plan_create(f->context, f->ensemble, &options, &f->plan);
    if (status == SHOAL_OK) {
        status = shoal_plan_integrate(f->plan, options.t_end);
    }
    const long n = status == SHOAL_OK ? shoal_plan_n_logged(f->plan, "transits") : 0;
    for (long i = 0; i < n; ++i) {
        double system, body, time;
        shoal_plan_get_log(f->plan, "transits", "system", i, 1, &system, 0);
        shoal_plan_get_log(f->plan, "transits", "body", i, 1, &body, 0);
        shoal_plan_get_log(f->plan, "transits", "time", i, 1, &time, 0);
        time /= DAY;
        const int planet = (int)body - 1;
        const double *guess = first_guess + OF_EACH * planet;
        for (int k = 0; k < OBSERVED; ++k) {
            if (observed[k].planet == planet && observed[k].number == lround((time - guess[2]) / guess[1])) {
                times[(int)system][k] = time;
            }
        }
    }
    return status;
}

/* Solves A x = b for symmetric, positive A by elimination; and the inverse's diagonal. */
static void solve(double A[N][N], const double b[N], double x[N], double diagonal[N])
{
    double w[N][2 * N + 1];
    for (int i = 0; i < N; ++i) {
        for (int j = 0; j < N; ++j) {
            w[i][j] = A[i][j];
            w[i][N + 1 + j] = i == j;
        }
        w[i][N] = b[i];
    }
    for (int k = 0; k < N; ++k) {
        for (int i = 0; i < N; ++i) {
            const double factor = i == k ? 0 : w[i][k] / w[k][k];
            for (int j = k; j <= 2 * N; ++j) {
                w[i][j] -= factor * w[k][j];
            }
        }
    }
    for (int i = 0; i < N; ++i) {
        x[i] = w[i][N] / w[i][i];
        diagonal[i] = w[i][N + 1 + i] / w[i][i];
    }
}

int main(void)
{
    fit f = {0};
    double p[N], best = INFINITY, damping = 1e-3, variance[N] = {0};
    double times[SYSTEMS][OBSERVED], A[N][N], b[N], step[N] = {0};
    memcpy(p, first_guess, sizeof p);

    shoal_status status = shoal_context_create(&f.context);
    if (status == SHOAL_OK) {
        status = shoal_ensemble_create(f.context, SYSTEMS, 1 + PLANETS, &f.ensemble);
    }
    for (int round = 0; round < ROUNDS && status == SHOAL_OK; ++round) {
        double trial[N], chi2 = 0;
        for (int k = 0; k < N; ++k) {
            trial[k] = p[k] + step[k];
        }
        propose(&f, 0, trial);
        for (int k = 0; k < N; ++k) {
            trial[k] += shift[k];
            propose(&f, 1 + k, trial);
            trial[k] -= shift[k];
        }
        status = find_times(&f, times);
        for (int i = 0; i < OBSERVED; ++i) {
            chi2 += pow((observed[i].time - times[0][i]) / observed[i].error, 2);
        }
        printf("round %2d: chi^2 %10.1f\n", round, chi2);
        if (chi2 < best) { /* accepted: the normal equations there */
            const double gain = best - chi2;
            best = chi2;
            memcpy(p, trial, sizeof p);
            damping /= 10;
            memset(A, 0, sizeof A);
            memset(b, 0, sizeof b);
            for (int i = 0; i < OBSERVED; ++i) {
                const double weight = 1 / (observed[i].error * observed[i].error), off = observed[i].time - times[0][i];
                for (int k = 0; k < N; ++k) {
                    const double slope = (times[1 + k][i] - times[0][i]) / shift[k];
                    b[k] += weight * slope * off;
                    for (int j = 0; j < N; ++j) {
                        A[k][j] += weight * slope * (times[1 + j][i] - times[0][i]) / shift[j];
                    }
                }
            }
            if (gain < 1e-3) {
                break;
            }
        } else {
            damping *= 10;
        }
        double damped[N][N], unused[N];
        memcpy(damped, A, sizeof A);
        for (int k = 0; k < N; ++k) {
            damped[k][k] *= 1 + damping;
        }
        solve(damped, b, step, unused);
    }
    if (status == SHOAL_OK) {
        solve(A, b, step, variance);
        printf("chi^2 = %.1f of %d times and %d parameters\n", best, OBSERVED, N);
        for (int i = 0; i < PLANETS; ++i) {
            const double *q = p + OF_EACH * i;
            printf("Kepler-51 %c: %5.2f +- %.2f Earths, P = %.4f d, e = %.3f\n", 'b' + i, q[0],
                   sqrt(variance[OF_EACH * i]), q[1], hypot(q[3], q[4]));
        }
    } else {
        fprintf(stderr, "transits: %s: %s\n", shoal_status_text(status), shoal_context_message(f.context));
    }
    shoal_plan_destroy(&f.plan);
    shoal_ensemble_destroy(&f.ensemble);
    shoal_context_destroy(&f.context);
    return status == SHOAL_OK && best < 2 * OBSERVED ? 0 : 1;
}
