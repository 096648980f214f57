/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_fit.c: posteriors. The samplers find the moments of targets that are known: a correlated normal distribution, a
 * banana, two modes far apart, an angle across the end of its range, a bounded one; the optimiser finds tops and
 * widths; R-hat and sample sizes are ArviZ's; a fit that was stopped or killed goes on with the same bits; a study with
 * data becomes a posterior around what the data were made of, the same for any number of threads, in a file with the
 * draws; these are systems of the same study. SHOAL_TEST_NAME=PATTERN: those tests alone; SHOAL_TEST_SKIP=PATTERN: all
 * but those.
 */
#define _GNU_SOURCE 1
#include <gsl/gsl_blas.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/fit/fit.h"
#include "core/result/h5.h"
#include "testing.h"

#define TWO_PI 6.283185307179586

static char folder[] = "/tmp/shoal-fit-XXXXXX";

/* ---- targets ----------------------------------------------------------------------------------------------------- */

/* Priors are uniform from -edge to edge; where there is a period, of any value. */
typedef struct known {
    int k;
    double edge;
    double (*lnl)(const double *x);
    long evaluated, pause; /* pause: microseconds a call */
    const double *period;
    double power; /* of a factor (x + edge)^power of the prior, which is not in ln L; 0: none */
} known;

static shoal_status evaluate(void *user, long n, const double *theta, double *lnp, double *lnl)
{
    known *of = user;
    for (long v = 0; v < n; v++) {
        const double *x = theta + v * of->k;
        lnp[v] = -of->k * log(2 * of->edge);
        for (int i = 0; i < of->k; i++)
            lnp[v] = fabs(x[i]) <= of->edge || (of->period && of->period[i] > 0) ? lnp[v] : -INFINITY;
        if (of->power < 0 && lnp[v] > -INFINITY)
            lnp[v] += of->power * log(x[0] + of->edge);
        lnl[v] = of->lnl(x);
    }
    of->evaluated += n;
    if (of->pause)
        usleep((useconds_t)of->pause);
    return SHOAL_OK;
}

static shoal_status from_cube(void *user, long n, const double *cube, double *theta)
{
    const known *of = user;
    for (long i = 0; i < n * of->k; i++)
        theta[i] = (2 * cube[i] - 1) * of->edge;
    return SHOAL_OK;
}

static double rise(void *user, const double *theta)
{
    const known *of = user;
    return of->power * log(theta[0] + of->edge);
}

static shoal_target target_of(shoal_context *context, known *of)
{
    return (shoal_target){.context = context,
                          .n_parameters = of->k,
                          .period = of->period,
                          .user = of,
                          .evaluate = evaluate,
                          .from_cube = from_cube};
}

enum { DIMENSIONS = 5 };
static const double gauss_mean[DIMENSIONS] = {1, -2, 0.5, 3, 0}, gauss_sigma[DIMENSIONS] = {0.01, 1, 0.1, 2, 0.5};
#define CORRELATION 0.9 /* of each parameter with the one before */

/* A chain of normal distributions: each z has mean CORRELATION times that before, and variance 1. */
static double gauss(const double *x)
{
    double lnl = 0, before = 0;
    for (int i = 0; i < DIMENSIONS; i++) {
        const double z = (x[i] - gauss_mean[i]) / gauss_sigma[i], r = i ? CORRELATION : 0;
        lnl -= (z - r * before) * (z - r * before) / (2 * (1 - r * r)) + log(gauss_sigma[i] * sqrt(1 - r * r)) +
               log(TWO_PI) / 2;
        before = z;
    }
    return lnl;
}

/* x0 normal, x1 normal with sigma 0.5 around x0^2: means 0 and 1, variances 1 and 2.25. */
static double banana(const double *x)
{
    const double y = (x[1] - x[0] * x[0]) / 0.5;
    return -(x[0] * x[0] + y * y) / 2;
}

/* Five normal numbers whose sum is known to 1e-3. */
static double ridge(const double *x)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < DIMENSIONS; i++) {
        sum += x[i];
        squares += x[i] * x[i];
    }
    return -squares / 2 - sum * sum / (2 * 1e-3 * 1e-3);
}

/* Two normal modes, 40 sigma apart, the one on the right with 0.7 of the mass. */
static double modes(const double *x)
{
    double left = 0, right = 0;
    for (int i = 0; i < 3; i++) {
        left -= (x[i] + 5) * (x[i] + 5) / (2 * 0.25 * 0.25);
        right -= (x[i] - 5) * (x[i] - 5) / (2 * 0.25 * 0.25);
    }
    const double most = fmax(left, right);
    return most + log(0.3 * exp(left - most) + 0.7 * exp(right - most));
}

/* Of an angle of -180 to 180 degrees: von Mises with kappa 50 around 179; and a normal number. */
static double angle(const double *x)
{
    return 50 * cos((x[0] - 179) * TWO_PI / 360) - x[1] * x[1] / 2;
}

/* Two normal numbers, and a third one that they tell to `thin`: mean 0, variance 1 - (exp(-8) + exp(-18)) / 2 of it. */
static double thin = 1e-4;
static double bent(const double *x)
{
    const double y = (x[2] - sin(2 * x[0]) - sin(3 * x[1])) / thin;
    return -(x[0] * x[0] + x[1] * x[1] + y * y) / 2;
}

/* A datum that the third one follows. */
static shoal_status follow_bend(void *user, long n, const double *theta, double *residuals)
{
    (void)user;
    for (long i = 0; i < n; i++) {
        const double *x = theta + i * 3;
        residuals[i] = (sin(2 * x[0]) + sin(3 * x[1]) - x[2]) / thin;
    }
    return SHOAL_OK;
}

static shoal_target bent_target(shoal_context *context, known *of)
{
    static const int third = 2;
    *of = (known){3, 30, bent, 0, 0, NULL, 0};
    shoal_target target = target_of(context, of);
    target.follow = &third;
    target.n_follow = target.n_data = 1;
    target.residuals = follow_bend;
    return target;
}

/* And one that leads a bit astray. */
static shoal_status follow_badly(void *user, long n, const double *theta, double *residuals)
{
    (void)user;
    for (long i = 0; i < n; i++) {
        const double *x = theta + i * 3;
        residuals[i] = (0.9 * sin(2 * x[0]) + sin(3 * x[1] + 0.1) - x[2]) / thin;
    }
    return SHOAL_OK;
}

/* An exponential distribution above 0, where everything below is impossible; NaN there must do no harm. */
static double bounded(const double *x)
{
    return x[0] < 0 ? NAN : -x[0] - x[1] * x[1] / 2;
}

enum { TWISTS = 4 };
#define FROM_DEGREES (TWO_PI / 360)
/* x0 normal; x1 normal with sigma 0.5 around x0^2; an angle, von Mises with kappa 1/2 around 150 + 30 x0 degrees; x3
 * normal with variance exp(x0), which no map of the second degree makes normal. */
static double twisted(const double *x)
{
    const double y = (x[1] - x[0] * x[0]) / 0.5;
    return -(x[0] * x[0] + y * y + x[3] * x[3] * exp(-x[0]) + x[0]) / 2 +
           cos((x[2] - 150 - 30 * x[0]) * FROM_DEGREES) / 2;
}

static double nowhere(const double *x)
{
    (void)x;
    return -INFINITY;
}

static shoal_fit_options options_of(int method)
{
    return (shoal_fit_options){.method = method,
                               .n_walkers = 40,
                               .n_temperatures = 1,
                               .n_steps = 40000,
                               .thin = 2,
                               .seed = 5,
                               .rhat = 1.01,
                               .ess = 2000,
                               .checkpoint_s = INFINITY};
}

/* Mean and variance of a column. */
static void moments(const shoal_draws *draws, int column, double *mean, double *variance)
{
    const long n = draws->n_walkers * (draws->n - shoal_draws_first(draws));
    double *x = malloc((size_t)n * sizeof *x);
    assert_non_null(x);
    shoal_draws_column(draws, column, x);
    *mean = *variance = 0;
    for (long i = 0; i < n; i++)
        *mean += x[i] / (double)n;
    for (long i = 0; i < n; i++)
        *variance += (x[i] - *mean) * (x[i] - *mean) / (double)n;
    free(x);
}

/* Mean and standard deviation of a parameter within 4 standard errors of its draws. tails: of squares, 2 for a normal
 * distribution. */
static void is(const shoal_draws *draws, int i, double mean, double sigma, double tails)
{
    double m, v;
    const double error = 1 / sqrt(fmin(draws->diagnosis[i].ess_bulk, draws->diagnosis[i].ess_tail));
    moments(draws, i, &m, &v);
    if (!(fabs(m - mean) < 4 * error * sigma))
        fail_msg("parameter %d: mean %.6g, expected %.6g +- %.2g", i, m, mean, error * sigma);
    if (!(fabs(v / (sigma * sigma) - 1) < 4 * error * sqrt(tails)))
        fail_msg("parameter %d: variance %.6g, expected %.6g +- %.1f %%", i, v, sigma * sigma,
                 100 * error * sqrt(tails));
}

static void sample(shoal_context *context, const shoal_target *target, const shoal_fit_options *options,
                   shoal_draws *draws)
{
    assert_ok(context, shoal_fit_sample(target, options, NULL, NULL, NULL, NULL, draws));
    assert_true(draws->precise);
    assert_true(draws->acceptance > 0.1 && draws->acceptance < 0.8);
}

/* Two parameters that move against each other where both axes of the cube move. */
static shoal_status against(void *user, long n, const double *cube, double *theta)
{
    (void)user;
    for (long i = 0; i < n; i++) {
        theta[2 * i] = 4 * cube[2 * i] - 1;
        theta[2 * i + 1] = cube[2 * i] - cube[2 * i + 1];
    }
    return SHOAL_OK;
}

static void widths_are_of_each_parameter(void **state)
{
    const shoal_target target = {.context = context_of(state), .n_parameters = 2, .from_cube = against};
    double median[2], width[2];
    assert_ok(context_of(state), shoal_target_widths(&target, median, width));
    assert_true(fabs(median[0] - 1) < 1e-12 && fabs(median[1]) < 1e-12);
    assert_true(fabs(width[0] - 4 * 0.34) < 1e-12 && fabs(width[1] - 0.34) < 1e-12);
}

/* ---- samplers ---------------------------------------------------------------------------------------------------- */

static void moments_of_a_normal_distribution(void **state)
{
    for (int method = 0; method < 2; method++)
        for (int start = 0; start < 2; start++) {
            known of = {DIMENSIONS, 20, gauss, 0, 0, NULL, 0};
            const shoal_target target = target_of(context_of(state), &of);
            shoal_fit_options options = options_of(method);
            shoal_draws draws;
            options.start = start;
            sample(context_of(state), &target, &options, &draws);
            for (int i = 0; i < DIMENSIONS; i++)
                is(&draws, i, gauss_mean[i], gauss_sigma[i], 2);
            /* ln L is that of the mean less half a chi^2 of five degrees of freedom */
            double lp, v;
            moments(&draws, DIMENSIONS + SHOAL_DRAW_LNL, &lp, &v);
            assert_true(fabs(gauss(gauss_mean) - lp - DIMENSIONS / 2.0) < 0.15);
            shoal_draws_release(&draws);
        }
}

static void moments_of_a_banana(void **state)
{
    for (int method = 0; method < 2; method++) {
        known of = {2, 30, banana, 0, 0, NULL, 0};
        const shoal_target target = target_of(context_of(state), &of);
        const shoal_fit_options options = options_of(method);
        shoal_draws draws;
        sample(context_of(state), &target, &options, &draws);
        is(&draws, 0, 0, 1, 2);
        is(&draws, 1, 1, 1.5, 12);
        shoal_draws_release(&draws);
    }
}

/* Steps do not leave a ridge; variances of 4 / 5 along it. */
static void a_narrow_ridge_is_followed(void **state)
{
    for (int method = 0; method < 2; method++) {
        known of = {DIMENSIONS, 20, ridge, 0, 0, NULL, 0};
        const shoal_target target = target_of(context_of(state), &of);
        const shoal_fit_options options = options_of(method);
        shoal_draws draws;
        sample(context_of(state), &target, &options, &draws);
        assert_true(draws.acceptance > 0.2);
        for (int i = 0; i < DIMENSIONS; i++)
            is(&draws, i, 0, sqrt(0.8), 2);
        shoal_draws_release(&draws);
    }
}

/* Moves in which a parameter follows the others are taken where others are not, and whatever it follows, the moments
 * are right. */
static void a_thin_and_bent_ridge_is_followed(void **state)
{
    for (int turn = 0; turn < 5; turn++) {
        known of;
        shoal_target target = bent_target(context_of(state), &of);
        shoal_fit_options options = options_of(turn % 2);
        shoal_draws draws;
        target.residuals = turn < 4 ? follow_bend : follow_badly;
        thin = turn < 4 ? 1e-4 : 0.03;
        options.n_temperatures = turn == 2 || turn == 3 ? 2 : 1;
        options.ess = 1000;
        assert_ok(context_of(state), shoal_fit_sample(&target, &options, NULL, NULL, NULL, NULL, &draws));
        if (!draws.precise || !(draws.acceptance > (turn < 4 ? 0.3 : 0)))
            fail_msg("turn %d: R-hat %g, accepted %g", turn, draws.diagnosis[2].rhat, draws.acceptance);
        is(&draws, 0, 0, 1, 2);
        is(&draws, 1, 0, 1, 2);
        is(&draws, 2, 0, sqrt(1 - (exp(-8) + exp(-18)) / 2 + thin * thin), 2);
        target.n_follow = 0;
        options.n_steps = draws.n_steps;
        shoal_draws_release(&draws);
        if (turn < 4) {
            assert_ok(context_of(state), shoal_fit_sample(&target, &options, NULL, NULL, NULL, NULL, &draws));
            if (!(draws.diagnosis[2].rhat > 1.1))
                fail_msg("turn %d: R-hat %g after %ld steps", turn, draws.diagnosis[2].rhat, draws.n_steps);
            shoal_draws_release(&draws);
        }
    }
}

/* Without the ladder the walkers of a mode stay there; with it the modes have their masses. */
static void tempering_goes_between_modes(void **state)
{
    for (int method = 0; method < 2; method++) {
        known of = {3, 20, modes, 0, 0, NULL, 0};
        const shoal_target target = target_of(context_of(state), &of);
        shoal_fit_options options = options_of(method);
        shoal_draws draws;
        options.start = SHOAL_FIT_FROM_OPTIMUM;
        options.n_temperatures = 8;
        options.ess = 1000;
        sample(context_of(state), &target, &options, &draws);
        /* all gaps of the ladder are crossed */
        if (!(draws.swaps > 0.2))
            fail_msg("method %d: swaps from %g, expected 0.2 and more", method, draws.swaps);
        shoal_draws_release(&draws);
    }
}

/* Of several seeds the means scatter as their sample sizes say: a chain does not take part in what others do. */
static void sample_sizes_of_tempered_chains_are_honest(void **state)
{
    enum { SEEDS = 12 };
    const double right = 0.7 * 5 - 0.3 * 5, sigma = sqrt(25 + 0.25 * 0.25 - right * right);
    for (int method = 0; method < 2; method++) {
        double squares = 0;
        for (int seed = 0; seed < SEEDS; seed++) {
            known of = {3, 20, modes, 0, 0, NULL, 0};
            const shoal_target target = target_of(context_of(state), &of);
            shoal_fit_options options = options_of(method);
            shoal_draws draws;
            double mean, variance;
            options.n_temperatures = 6;
            options.n_walkers = 20;
            options.seed = (uint64_t)seed;
            options.ess = 100;
            options.rhat = 1.05;
            sample(context_of(state), &target, &options, &draws);
            moments(&draws, 0, &mean, &variance);
            squares += (mean - right) * (mean - right) / (sigma * sigma) * draws.diagnosis[0].ess_bulk;
            shoal_draws_release(&draws);
        }
        if (!(sqrt(squares / SEEDS) > 0.6 && sqrt(squares / SEEDS) < 1.5))
            fail_msg("method %d: means are off by %.2f errors", method, sqrt(squares / SEEDS));
    }
}

/* A normal distribution within a ball; all else, 98.6 % of the prior, is impossible. */
static double ball(const double *x)
{
    const double r2 = x[0] * x[0] + x[1] * x[1] + x[2] * x[2];
    return r2 < 9 ? -r2 / 2 : -INFINITY;
}

/* Few walkers come from the prior, and R-hat does not tell. */
static void a_broken_ladder_is_not_precise(void **state)
{
    known of = {3, 10, ball, 0, 0, NULL, 0};
    const shoal_target target = target_of(context_of(state), &of);
    shoal_fit_options options = options_of(SHOAL_FIT_DEMCMC);
    shoal_draws draws;
    options.n_temperatures = 4;
    options.n_steps = 6000;
    options.seed = 1; /* one or more of its first draws from the prior are possible */
    options.ess = 3000;
    assert_ok(context_of(state), shoal_fit_sample(&target, &options, NULL, NULL, NULL, NULL, &draws));
    for (int i = 0; i < 3; i++)
        assert_true(draws.diagnosis[i].rhat < 1.01 &&
                    fmin(draws.diagnosis[i].ess_bulk, draws.diagnosis[i].ess_tail) > options.ess);
    assert_true(isinf(draws.hottest));
    assert_false(draws.precise);
    assert_false(shoal_draws_cross(&draws, options.ess));
    shoal_draws_release(&draws);
}

/* 0.02 of the swaps of 1000 steps of 40 walkers, in the later half: 400. */
static void a_ladder_that_few_cross_is_broken(void **state)
{
    (void)state;
    const shoal_draws draws = {.swaps = 0.02, .n_steps = 1000, .n_walkers = 40}, one = {.swaps = NAN};
    assert_true(shoal_draws_cross(&draws, 400) && shoal_draws_cross(&one, 400));
    assert_false(shoal_draws_cross(&draws, 401));
}

/* A ladder is as hot as a fourth of the swaps lets it, and begins in the prior where there are temperatures enough. */
static void a_ladder_is_as_long_as_its_temperatures(void **state)
{
    enum { FEW = 3 };
    int to_prior = FEW;
    for (int turn = 0; turn < 2; turn++) {
        known of = {DIMENSIONS, 2000, gauss, 0, 0, NULL, 0};
        const shoal_target target = target_of(context_of(state), &of);
        shoal_fit_options options = options_of(SHOAL_FIT_DEMCMC);
        shoal_draws draws;
        options.n_temperatures = to_prior;
        options.ess = 100;
        sample(context_of(state), &target, &options, &draws);
        /* half a chi^2 of 1155 / 0.01 widths is 7e9, so ln(2 7e9 / 5) / ln(1 + 2 sqrt(ln 4 / 5)) / 2 = 15 ratios */
        assert_true(draws.to_prior > 14 && draws.to_prior < 20);
        if (turn == 0 && !(draws.hottest > 4 && draws.hottest < 20 && fabs(draws.swaps - 0.25) < 0.08))
            fail_msg("temperatures to %g, swaps from %g", draws.hottest, draws.swaps);
        assert_true(turn == 0 || isinf(draws.hottest));
        to_prior = draws.to_prior;
        shoal_draws_release(&draws);
    }
}

/* The draws of an angle stay together where its range ends. */
static void an_angle_goes_round(void **state)
{
    static const double period[2] = {360, 0};
    for (int method = 0; method < 2; method++) {
        known of = {2, 180, angle, 0, 0, period, 0};
        const shoal_target target = target_of(context_of(state), &of);
        const shoal_fit_options options = options_of(method);
        shoal_draws draws;
        double mean, variance;
        sample(context_of(state), &target, &options, &draws);
        moments(&draws, 0, &mean, &variance);
        /* A(kappa) of von Mises' distribution gives 1 - 1 / (2 kappa) - ...: sigma is 8.14 degrees */
        const double off = remainder(mean - 179, 360);
        if (!(fabs(off) < 4 * 8.14 / sqrt(draws.diagnosis[0].ess_bulk)))
            fail_msg("method %d: mean %g, expected 179 +- %g", method, mean, 8.14 / sqrt(draws.diagnosis[0].ess_bulk));
        assert_true(fabs(sqrt(variance) - 8.14) < 0.4);
        is(&draws, 1, 0, 1, 2);
        shoal_draws_release(&draws);
    }
}

/* A parameter of each kind of what a map learns, and what it does not. */
static void moments_of_a_twisted_distribution(void **state)
{
    static const double period[TWISTS] = {0, 0, 360, 0};
    /* I_1(1/2) / I_0(1/2), times the means of cos(30 x0 degrees) and of x0 sin(30 x0 degrees) */
    const double tilt = 30 * FROM_DEGREES, cosine = 0.242499612580801 * exp(-tilt * tilt / 2), sine = tilt * cosine;
    for (int n_temperatures = 1; n_temperatures <= 3; n_temperatures += 2) {
        known of = {TWISTS, 30, twisted, 0, 0, period, 0};
        const shoal_target target = target_of(context_of(state), &of);
        shoal_fit_options options = options_of(SHOAL_FIT_DEMCMC);
        shoal_draws draws;
        options.n_temperatures = n_temperatures;
        options.ess = 4000;
        options.n_steps = 80000; /* 22000 to 45000 by the seed */
        sample(context_of(state), &target, &options, &draws);
        is(&draws, 0, 0, 1, 2);
        is(&draws, 1, 1, 1.5, 12);
        is(&draws, 3, 0, exp(0.25), 3 * exp(1) - 1);
        const long first = shoal_draws_first(&draws), n = (draws.n - first) * draws.n_walkers;
        double mean[2] = {0};
        for (long i = 0; i < n; i++) {
            const double *x = draws.values + (first * draws.n_walkers + i) * (TWISTS + SHOAL_DRAW_NUMBERS);
            mean[0] += cos((x[2] - 150) * FROM_DEGREES) / (double)n;
            mean[1] += x[0] * sin((x[2] - 150) * FROM_DEGREES) / (double)n;
        }
        const double error = 0.75 / sqrt(fmin(draws.diagnosis[0].ess_bulk, draws.diagnosis[2].ess_bulk));
        if (!(fabs(mean[0] - cosine) < 4 * error && fabs(mean[1] - sine) < 4 * error))
            fail_msg("mean cosine %g, sine %g, expected %g, %g +- %g", mean[0], mean[1], cosine, sine, error);
        shoal_draws_release(&draws);
    }
}

enum { LEARNT = 8000 };

/* Coordinates of a twisted normal distribution are normal; from them leads a way back. */
static void a_map_makes_a_twisted_distribution_normal(void **state)
{
    static const double size[3] = {5, 1e-6, 0.4};
    static double x[2 * LEARNT][3];
    const double *draw[LEARNT];
    shoal_map map;
    double u[3], back[3], mean[3] = {0}, square[3] = {0};
    for (int d = 0; d < 2 * LEARNT; d++) {
        const shoal_fit_key key = {7, 0, (uint64_t)d};
        const double z[3] = {shoal_fit_normal(&key, 0), shoal_fit_normal(&key, 1), shoal_fit_normal(&key, 2)};
        x[d][0] = 1000 + 5 * z[0];
        x[d][1] = 1e-6 * (z[1] + z[0]);
        const double along = z[0] + (z[0] + z[1]) / sqrt(2); /* the widest, of variance 2 + sqrt(2) */
        x[d][2] = 0.1 * z[2] + 0.3 * along * along / (2 + sqrt(2));
        draw[d % LEARNT] = x[d % LEARNT];
    }
    assert_ok(context_of(state), shoal_map_create(context_of(state), 3, &map));
    assert_ok(context_of(state), shoal_map_learn(context_of(state), LEARNT, draw, LEARNT, &map));
    assert_true(map.learnt && map.p == 2);
    for (int d = LEARNT; d < 2 * LEARNT; d++) { /* others than those of which it was made */
        shoal_map_to(&map, x[d], u);
        shoal_map_from(&map, u, back);
        for (int i = 0; i < 3; i++) {
            assert_true(fabs(back[i] - x[d][i]) < 1e-11 * size[i]);
            mean[i] += u[i] / LEARNT;
            square[i] += u[i] * u[i] / LEARNT;
        }
    }
    for (int i = 0; i < 3; i++)
        assert_true(fabs(mean[i]) < 0.05 && fabs(square[i] - 1) < 0.07);
    /* the bend is gone: what is left of x2 is 0.1 of sqrt(0.1^2 + 2 * 0.3^2) */
    assert_true(fabs(map.width[1] / (0.1 / sqrt(0.19)) - 1) < 0.05);
    /* few draws: straight ridges alone; none that differ: no map */
    assert_ok(context_of(state), shoal_map_learn(context_of(state), LEARNT, draw, 20, &map));
    assert_true(map.learnt && map.p == 0);
    for (int d = 0; d < LEARNT; d++)
        draw[d] = x[0];
    assert_ok(context_of(state), shoal_map_learn(context_of(state), LEARNT, draw, LEARNT, &map));
    assert_false(map.learnt);
    shoal_map_release(&map);
}

/* Where an angle would come in again on the other side, a mapped move has no single way back: none goes there. */
static void no_mapped_move_goes_over_the_seam(void **state)
{
    static const double period[1] = {360}, centre[1] = {150}, scale[1] = {1}, others_at[3] = {150, 150, 150};
    static double x[LEARNT];
    const double *draw[LEARNT], from = 300;
    double u[2], to;
    long n_moved = 0, n_refused = 0;
    shoal_map map;
    for (int d = 0; d < LEARNT; d++) {
        draw[d] = x + d;
        x[d] = 150 + 100 * shoal_fit_normal(&(shoal_fit_key){1, 0, (uint64_t)d}, 0);
    }
    assert_ok(context_of(state), shoal_map_create(context_of(state), 1, &map));
    assert_ok(context_of(state), shoal_map_learn(context_of(state), LEARNT, draw, LEARNT, &map));
    const shoal_fit_others others = {1, 3, others_at, scale, period, centre, &map, u}; /* the other moves stay */
    for (int i = 0; i < 1000; i++) {
        const double factor = shoal_fit_propose(SHOAL_FIT_DEMCMC, &(shoal_fit_key){1, 0, (uint64_t)i}, &others, &from,
                                                &to);
        n_moved += isfinite(factor) && to != from;
        n_refused += !isfinite(factor);
        assert_true(!isfinite(factor) || fabs(to - 150) < 180);
    }
    assert_true(n_moved > 100 && n_refused > 20);
    shoal_map_release(&map);
}

static void what_is_impossible_is_never_drawn(void **state)
{
    known of = {2, 30, bounded, 0, 0, NULL, 0}, none = {2, 30, nowhere, 0, 0, NULL, 0};
    const shoal_target target = target_of(context_of(state), &of), empty = target_of(context_of(state), &none);
    shoal_fit_options options = options_of(SHOAL_FIT_DEMCMC);
    shoal_draws draws;
    sample(context_of(state), &target, &options, &draws);
    is(&draws, 0, 1, 1, 8);
    for (long i = 0; i < draws.n * draws.n_walkers; i++)
        assert_true(draws.values[i * (2 + SHOAL_DRAW_NUMBERS)] >= 0);
    shoal_draws_release(&draws);
    for (int start = 0; start < 2; start++) {
        options.start = start;
        assert_int_equal(shoal_fit_sample(&empty, &options, NULL, NULL, NULL, NULL, &draws), SHOAL_E_INPUT);
        shoal_draws_release(&draws);
    }
}

/* Two calls a step, each of half the walkers of all temperatures; the hottest are drawn anew. */
static void a_step_is_two_calls(void **state)
{
    enum { RUNGS = 20 };
    known of = {DIMENSIONS, 20, gauss, 0, 0, NULL, 0};
    const shoal_target target = target_of(context_of(state), &of);
    shoal_fit_options options = options_of(SHOAL_FIT_STRETCH);
    shoal_walkers walkers;
    options.n_temperatures = RUNGS;
    assert_ok(context_of(state), shoal_walkers_create(&target, &options, &walkers));
    assert_ok(context_of(state), shoal_walkers_start(&walkers, NULL));
    assert_true(walkers.beta[0] == 1 && walkers.beta[RUNGS - 1] == 0);
    for (int t = 1; t < RUNGS; t++)
        assert_true(walkers.beta[t] < walkers.beta[t - 1]);
    const double before = walkers.theta[(RUNGS - 1) * options.n_walkers * DIMENSIONS];
    of.evaluated = 0;
    assert_ok(context_of(state), shoal_walkers_step(&walkers));
    assert_int_equal(of.evaluated, RUNGS * options.n_walkers);
    assert_true(before != walkers.theta[(RUNGS - 1) * options.n_walkers * DIMENSIONS]);
    shoal_walkers_release(&walkers);
}

/* ---- the optimum ------------------------------------------------------------------------------------------------- */

/* It is told of the best so far, and ends what it is asked to end. */
typedef struct told {
    long calls, most, evaluations;
    double best;
} told;

static bool tell(const shoal_draws *draws, void *user)
{
    told *t = user;
    const double value = draws->optimum.lnp + draws->optimum.lnl;
    assert_true(draws->n_steps == 0 && draws->optimum.evaluations > t->evaluations - 1 && value >= t->best);
    t->evaluations = draws->optimum.evaluations;
    t->best = value;
    return ++t->calls == t->most;
}

static void a_search_is_told_of_and_ends(void **state)
{
    known of = {DIMENSIONS, 20, gauss, 0, 0, NULL, 0};
    const shoal_target target = target_of(context_of(state), &of);
    shoal_draws draws = {0};
    told all = {.most = -1, .best = -INFINITY};
    assert_ok(context_of(state), shoal_optimise(&target, 1, tell, &all, &draws));
    shoal_draws_release(&draws);
    assert_true(all.calls > 10);
    for (long most = 1; most <= all.calls; most++) { /* also while it is polished */
        told some = {.most = most, .best = -INFINITY};
        assert_int_equal(shoal_optimise(&target, 1, tell, &some, &draws), SHOAL_E_INTERRUPTED);
        assert_true(some.calls == most);
        shoal_draws_release(&draws);
    }
}

static void the_optimum_has_its_place_and_widths(void **state)
{
    known of = {DIMENSIONS, 20, gauss, 0, 0, NULL, 0}, two = {3, 20, modes, 0, 0, NULL, 0};
    const shoal_target target = target_of(context_of(state), &of), far = target_of(context_of(state), &two);
    shoal_draws draws = {0};
    assert_ok(context_of(state), shoal_optimise(&target, 1, NULL, NULL, &draws));
    shoal_optimum optimum = draws.optimum;
    for (int i = 0; i < DIMENSIONS; i++) {
        double variance = 0, covariance = 0;
        for (int e = 0; e < DIMENSIONS; e++) {
            variance += optimum.root[i * DIMENSIONS + e] * optimum.root[i * DIMENSIONS + e];
            covariance += optimum.root[i * DIMENSIONS + e] * optimum.root[e];
        }
        assert_true(fabs(optimum.theta[i] - gauss_mean[i]) < 1e-3 * gauss_sigma[i]);
        assert_true(fabs(sqrt(variance) / gauss_sigma[i] - 1) < 1e-5);
        assert_true(fabs(covariance / (gauss_sigma[i] * gauss_sigma[0]) - pow(CORRELATION, i)) < 1e-5);
    }
    assert_true(fabs(optimum.lnl - gauss(gauss_mean)) < 1e-6);
    shoal_optimum_release(&optimum);
    assert_ok(context_of(state), shoal_optimise(&far, 1, NULL, NULL, &draws));
    optimum = draws.optimum;
    for (int i = 0; i < 3;
         i++) /* which of two far modes is a matter of luck: half of the seeds find the one on the right */
        assert_true(fabs(optimum.theta[i] - copysign(5, optimum.theta[0])) < 1e-3);
    shoal_optimum_release(&optimum);
}

/* ln L is that of 0.1 +- 0.5 from the edge, where the prior is infinite. */
static double near_edge(const double *x)
{
    return -2 * (x[0] + 0.9) * (x[0] + 0.9) - x[1] * x[1] / 2;
}

static void an_infinite_prior_does_not_hide_the_optimum(void **state)
{
    known of = {2, 1, near_edge, 0, 0, NULL, -0.7};
    shoal_target target = target_of(context_of(state), &of);
    shoal_draws draws = {0};
    target.rise = rise;
    assert_ok(context_of(state), shoal_optimise(&target, 1, NULL, NULL, &draws));
    const shoal_optimum *optimum = &draws.optimum;
    assert_true(fabs(optimum->theta[0] + 0.9) < 1e-3 && fabs(optimum->theta[1]) < 1e-3);
    assert_true(fabs(optimum->lnp - (-2 * log(2) - 0.7 * log(0.1))) < 0.01 && fabs(optimum->lnl) < 1e-5);
    shoal_draws_release(&draws);
}

/* ---- diagnostics ------------------------------------------------------------------------------------------------- */

enum { CHAINS = 4, DRAWS = 200 };

/* Chains with memory, from integers that any language has: x = memory x + u - 1/2, u of a linear congruence; chain c is
 * moved by c * apart. */
static void make_chains(double memory, double apart, double *x)
{
    uint32_t z = 12345;
    for (int c = 0; c < CHAINS; c++) {
        double value = 0;
        for (int d = 0; d < DRAWS; d++) {
            z = (z * 1103515245u + 12345u) & 0x7fffffffu;
            value = memory * value + (double)z / 2147483648.0 - 0.5;
            x[c * DRAWS + d] = value + c * apart;
        }
    }
}

/* The numbers are those of arviz 0.23.4 (arviz.rhat, arviz.ess with method="bulk" and "tail") for the array of the same
 * integers in numpy. */
static void diagnostics_are_those_of_arviz(void **state)
{
    static const struct {
        double memory, apart, rhat, bulk, tail;
    } rows[] = {{0, 0, 0.9973955847364725, 880.0065161360683, 716.3985172392026},
                {0.7, 0, 1.0105578621733782, 145.23651550258555, 258.9555947206468},
                {0.9, 0.1, 1.0894183644608137, 35.512800618019796, 95.10090429961139},
                {-0.5, 0, 0.9978232863449962, 2322.471989593555, 742.857179098675},
                {0.0, 0.3, 1.5814741162124493, 7.199607271719814, 32.65223770364621}};
    double x[CHAINS * DRAWS];
    for (int r = 0; r < SHOAL_COUNT(rows); r++) {
        shoal_diagnosis got;
        make_chains(rows[r].memory, rows[r].apart, x);
        assert_ok(context_of(state), shoal_diagnose(context_of(state), CHAINS, DRAWS, x, &got));
        assert_true(fabs(got.rhat - rows[r].rhat) < 1e-10);
        assert_true(fabs(got.ess_bulk / rows[r].bulk - 1) < 1e-10);
        assert_true(fabs(got.ess_tail / rows[r].tail - 1) < 1e-10);
    }
    for (int i = 0; i < CHAINS * DRAWS; i++)
        x[i] = 3;
    shoal_diagnosis got;
    assert_ok(context_of(state), shoal_diagnose(context_of(state), CHAINS, DRAWS, x, &got));
    assert_true(isnan(got.rhat) && got.ess_bulk == CHAINS * DRAWS && got.median == 3);
}

static void quantiles_are_between_neighbours(void **state)
{
    double x[101];
    shoal_diagnosis got;
    for (int i = 0; i < 101; i++)
        x[i] = (i * 37) % 100; /* 0 to 99; the one in the middle is left out */
    assert_ok(context_of(state), shoal_diagnose(context_of(state), 1, 100, x, &got));
    assert_true(fabs(got.median - 49.5) < 1e-12 && fabs(got.low - 15.84) < 1e-12 && fabs(got.high - 83.16) < 1e-12);
}

/* ---- going on ---------------------------------------------------------------------------------------------------- */

static bool stop_at(const shoal_draws *draws, void *user)
{
    return draws && draws->n_steps >= *(long *)user;
}

static void same_draws(const shoal_draws *a, const shoal_draws *b)
{
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->n_steps, b->n_steps);
    assert_memory_equal(a->values, b->values,
                        (size_t)(a->n * a->n_walkers * (a->k + SHOAL_DRAW_NUMBERS)) * sizeof *a->values);
    assert_memory_equal(a->diagnosis, b->diagnosis, (size_t)(a->k + 1) * sizeof *a->diagnosis);
    assert_true(a->acceptance == b->acceptance);
    assert_memory_equal(&a->swaps, &b->swaps, sizeof a->swaps); /* NaN with one temperature */
}

/* Hot walkers, too: swaps would bring any difference to the cold ones. */
static shoal_fit_options options_of_a_long_one(void)
{
    shoal_fit_options options = options_of(SHOAL_FIT_DEMCMC);
    options.n_temperatures = 3;
    options.n_steps = 700;
    options.thin = 3;
    options.ess = INFINITY;
    options.checkpoint_s = 0;
    return options;
}

/* Many walkers, whose moves threads share, some of them with a map. */
static void threads_change_no_bits(void **state)
{
    for (int method = 0; method < 2; method++) {
        shoal_draws draws[2];
        for (int run = 0; run < 2; run++) {
            known of;
            const shoal_target target = bent_target(context_of(state), &of);
            shoal_fit_options options = options_of(method);
            options.n_walkers = 1200;
            options.n_temperatures = 2;
            options.n_steps = 300;
            options.n_threads = run ? 3 : 1;
            assert_ok(context_of(state), shoal_fit_sample(&target, &options, NULL, NULL, NULL, NULL, &draws[run]));
            assert_true(draws[run].acceptance > 0.1);
        }
        same_draws(&draws[0], &draws[1]);
        shoal_draws_release(&draws[0]);
        shoal_draws_release(&draws[1]);
    }
}

static void a_stopped_fit_goes_on_with_the_same_bits(void **state)
{
    known of;
    const shoal_target target = bent_target(context_of(state), &of);
    shoal_fit_options options = options_of_a_long_one();
    shoal_draws whole, draws;
    assert_ok(context_of(state), shoal_fit_sample(&target, &options, NULL, NULL, NULL, NULL, &whole));
    assert_false(whole.precise);
    for (long step = 0; step < 700; step += 233) {
        assert_int_equal(shoal_fit_sample(&target, &options, "stopped.journal", "a = 1;\n", stop_at, &step, &draws),
                         SHOAL_E_INTERRUPTED);
        assert_int_equal(draws.n_steps, step);
        shoal_draws_release(&draws);
    }
    /* fewer steps, and then more */
    options.n_steps = 690;
    assert_ok(context_of(state),
              shoal_fit_sample(&target, &options, "stopped.journal", "a = 1;\n", NULL, NULL, &draws));
    shoal_draws_release(&draws);
    options.n_steps = 700;
    assert_int_equal(shoal_fit_sample(&target, &options, "stopped.journal", "a = 2;\n", NULL, NULL, &draws),
                     SHOAL_E_INPUT);
    assert_non_null(strstr(shoal_context_message(context_of(state)), "a = 1 and 2"));
    shoal_draws_release(&draws);
    assert_ok(context_of(state),
              shoal_fit_sample(&target, &options, "stopped.journal", "a = 1;\n", NULL, NULL, &draws));
    same_draws(&whole, &draws);
    shoal_draws_release(&draws);
    shoal_draws_release(&whole);
}

/* Kills at any time, in the middle of a record, too: what follows the last good one is made again. */
static void a_killed_fit_goes_on_with_the_same_bits(void **state)
{
    known of = {DIMENSIONS, 20, gauss, 0, 0, NULL, 0};
    const shoal_target target = target_of(context_of(state), &of);
    const shoal_fit_options options = options_of_a_long_one();
    shoal_draws whole, draws;
    int n_killed = 0;
    assert_ok(context_of(state), shoal_fit_sample(&target, &options, NULL, NULL, NULL, NULL, &whole));
    for (int i = 0; i < 12; i++) {
        const pid_t child = fork();
        if (child == 0) {
            of.pause = 200;
            _exit(shoal_fit_sample(&target, &options, "killed.journal", "", NULL, NULL, &draws) == SHOAL_OK ? 0 : 1);
        }
        assert_true(child > 0);
        usleep((useconds_t)(7919 * i % 60000));
        kill(child, SIGKILL);
        int how;
        assert_int_equal(waitpid(child, &how, 0), child);
        n_killed += WIFSIGNALED(how);
        if (i % 3 == 2) { /* a torn tail */
            FILE *journal = fopen("killed.journal", "r+");
            assert_non_null(journal);
            fseek(journal, 0, SEEK_END);
            const long size = ftell(journal);
            assert_int_equal(ftruncate(fileno(journal), size - (size > 5000 ? 1234 : 0)), 0);
            fclose(journal);
        }
    }
    assert_true(n_killed > 3);
    assert_ok(context_of(state), shoal_fit_sample(&target, &options, "killed.journal", "", NULL, NULL, &draws));
    same_draws(&whole, &draws);
    shoal_draws_release(&draws);
    shoal_draws_release(&whole);
}

/* ---- a study ----------------------------------------------------------------------------------------------------- */

enum { N_DATA = 40, MOST_TEXT = 4096 };

/* A planet on a circle, P = 20 d, K = 30 m/s, its velocities with errors of 3 m/s that are no random numbers. */
static void write_data(void)
{
    FILE *out = fopen("rv.txt", "w");
    assert_non_null(out);
    fputs("time rv err\n", out);
    for (int j = 0; j < N_DATA; j++) {
        const double t = 2.7 * j + 0.3 * sin(j);
        fprintf(out, "%.17g %.17g 3.0\n", t, 30 * sin(TWO_PI * t / 20 + 0.4) + 4.2 * sin(37.0 * j * j));
    }
    fclose(out);
}

static shoal_study *study_of(shoal_context *context, const char *more)
{
    char text[MOST_TEXT];
    shoal_study *study = NULL;
    snprintf(
        text, sizeof text,
        "units = { length = \"AU\"; mass = \"Msun\"; time = \"d\"; };\nangles = \"degrees\";\n"
        "system = { bodies = ( { name = \"star\"; m = 1.0; }, { name = \"b\"; e = 0.0; omega = 0.0; inc = 90.0; } ); "
        "};\n"
        "integrator = { name = \"mvs\"; dt = 1.0; };\n"
        "sample = { count = 2; parameters = (\n"
        "  { body = \"b\"; parameter = \"msini\"; distribution = \"log_uniform\"; from = 1e-5; to = 1e-2; },\n"
        "  { body = \"b\"; parameter = \"P\"; distribution = \"uniform\"; from = 18.0; to = 22.0; },\n"
        "  { body = \"b\"; parameter = \"M\"; distribution = \"uniform\"; from = 0.0; to = 360.0; } ); };\n"
        "data = ( { name = \"one\"; kind = \"velocity\"; file = \"rv.txt\"; columns = [\"time\", \"rv\", \"err\"];\n"
        "    marginal = true; } );\n%s",
        more);
    assert_ok(context, shoal_study_open(context, "fit.cfg", text, 0, NULL, NULL, &study));
    return study;
}

static void a_study_becomes_a_posterior(void **state)
{
    shoal_context *context = context_of(state);
    shoal_draws draws[2];
    for (int threads = 1; threads <= 2; threads++) {
        char more[256];
        snprintf(more, sizeof more,
                 "run = { t_end = 1.0; engine = \"cpu\"; threads = %d; };\n"
                 "fit = { walkers = 20; ess = 200.0; rhat = 1.05; file = \"fit_%d.h5\"; };\n",
                 threads, threads);
        shoal_study *study = study_of(context, more);
        shoal_fit *fit = NULL;
        assert_ok(context, shoal_fit_create(study, &fit));
        assert_string_equal(fit->units[1], "d");
        assert_true(fit->period[2] == 360 && fit->period[1] == 0);
        assert_ok(context, shoal_fit_run(fit, false, NULL, NULL, &draws[threads - 1]));
        assert_true(draws[threads - 1].precise && draws[threads - 1].n > 64); /* some of them with a map */
        /* it is there, and complete: no journal, no other file in its place */
        assert_int_equal(access("fit_1.h5.journal", F_OK), -1);
        shoal_draws again;
        assert_int_equal(shoal_fit_run(fit, false, NULL, NULL, &again), SHOAL_E_INPUT);
        shoal_draws_release(&again);
        shoal_fit_destroy(&fit);
        shoal_study_destroy(&study);
    }
    same_draws(&draws[0], &draws[1]);
    /* K = 28.4329 m/s (m sin i / Mjup) (P / yr)^(-1/3) around a Sun */
    const shoal_diagnosis *of = draws[0].diagnosis;
    const double K = 28.4329 * of[0].median * 1047.57 * pow(20 / 365.25, -1.0 / 3);
    assert_true(fabs(K - 30) < 2.5);
    assert_true(fabs(of[1].median - 20) < 0.1 && of[1].high - of[1].low < 0.3);
    for (int i = 0; i < 2; i++)
        shoal_draws_release(&draws[i]);
}

static void the_file_has_the_draws(void **state)
{
    shoal_context *context = context_of(state);
    known of = {2, 30, banana, 0, 0, NULL, 0};
    const shoal_target target = target_of(context, &of);
    const shoal_fit_options options = options_of(SHOAL_FIT_STRETCH);
    static const char *const names[] = {"b.P", "a b"}, *const units[] = {"d", ""};
    shoal_draws draws;
    sample(context, &target, &options, &draws);
    assert_ok(context, shoal_posterior_write(context, "banana.h5", &draws, names, units, "text", NULL));
    shoal_h5 h5;
    shoal_h5_extent extent;
    assert_ok(context, shoal_h5_open(context, "banana.h5", &h5));
    assert_ok(context, shoal_h5_sizes(&h5, "/posterior/b.P", 2, &extent));
    const long n = draws.n - shoal_draws_first(&draws), all = n * draws.n_walkers;
    assert_int_equal(extent.of[0], draws.n_walkers);
    assert_int_equal(extent.of[1], n);
    double *x = malloc((size_t)(2 * all) * sizeof *x), rhat;
    assert_non_null(x);
    for (int i = 0; i < 3; i++) {
        static const char *const paths[] = {"/posterior/b.P", "/posterior/a b", "/sample_stats/lp"};
        shoal_draws_column(&draws, i, x);
        assert_ok(context, shoal_h5_read(&h5, paths[i], H5T_NATIVE_DOUBLE, all, x + all));
        assert_memory_equal(x, x + all, (size_t)all * sizeof *x);
    }
    assert_ok(context, shoal_h5_get(&h5, "/posterior/a b", "r_hat", H5T_NATIVE_DOUBLE, &rhat));
    assert_true(rhat == draws.diagnosis[1].rhat);
    shoal_h5_close(&h5);
    free(x);
    shoal_draws_release(&draws);
}

/* Priors that are correlated are those of a config that takes the draws, too. */
static void draws_keep_correlated_priors(void **state)
{
    shoal_context *context = context_of(state);
    shoal_study *study = study_of(context, "run = { t_end = 1.0; engine = \"cpu\"; };\n"), *drawn = NULL;
    char text[MOST_TEXT + 256], *from, *to;
    const char *const words[] = {"sample.file=fit_1.h5", "sample.count=20"};
    snprintf(text, sizeof text, "%s", study->config_text);
    shoal_study_destroy(&study);
    from = strstr(text, "distribution = \"uniform\"");
    to = from ? strstr(from, "to = 22.0;") : NULL;
    assert_non_null(to);
    char rest[MOST_TEXT];
    snprintf(rest, sizeof rest, "%s", to + strlen("to = 22.0;"));
    char *end = strstr(rest, ");");
    assert_non_null(end);
    snprintf(from, sizeof text - (size_t)(from - text),
             "distribution = \"correlated_normal\"; mean = 20.0;%.*s); covariance = [0.25];%s", (int)(end - rest), rest,
             end + 2);
    assert_ok(context, shoal_study_open(context, "fit.cfg", text, 2, words, NULL, &drawn));
    shoal_model *model = NULL;
    const double theta[3] = {1e-3, 20.5, 10.0};
    double lnp;
    assert_ok(context, shoal_model_create(drawn, 1, &model));
    assert_ok(context, shoal_model_log_prior(model, 1, theta, &lnp));
    const double normal = -0.5 - log(0.5 * sqrt(2 * M_PI)), mass = -log(1e-3 * log(1e3)), angle = -log(360);
    assert_true(fabs(lnp - (normal + mass + angle)) < 1e-9);
    shoal_model_destroy(&model);
    shoal_study_destroy(&drawn);
}

/* With sample.file all parameters come from the posterior, their distributions being the priors still; systems are
 * draws of all of its parts, each another one. */
static void draws_of_a_posterior_are_systems(void **state)
{
    shoal_context *context = context_of(state);
    shoal_study *study = study_of(context, "run = { t_end = 1.0; engine = \"cpu\"; };\n");
    const char *const words[] = {"sample.file=fit_1.h5", "sample.count=50"};
    static const char *const names[] = {"b.msini", "b.P", "b.M"};
    double *all = NULL, *some = NULL;
    long n, n_some, place = 0;
    char *text = strdup(study->config_text);
    assert_non_null(text);
    shoal_study_destroy(&study);
    assert_ok(context, shoal_posterior_columns(context, "fit_1.h5", 3, names, 0, &all, &n));
    assert_ok(context, shoal_posterior_columns(context, "fit_1.h5", 3, names, 50, &some, &n_some));
    assert_true(n > 1000 && n_some == 50);
    assert_ok(context, shoal_study_open(context, "fit.cfg", text, 2, words, NULL, &study));
    assert_int_equal(study->ensemble->n_systems, 50);
    assert_int_equal(study->n_swept, 3);
    for (long s = 0; s < 50; s++) {
        for (int c = 0; c < 2; c++)
            assert_true(study->swept[c].value[s] == some[s * 3 + c]);
        const double M = study->swept[2].value[s]; /* it may have gone round */
        assert_true(M >= 0 && M <= 360 && fabs(remainder(M - some[s * 3 + 2], 360)) < 1e-10);
        while (place < n && memcmp(all + place * 3, some + s * 3, 3 * sizeof *all) != 0)
            place++;
        assert_true(place < (s + 1) * n / 50 + 1);
    }
    assert_true(place > n * 9 / 10);
    /* it is a likelihood still; the text names what is in the file */
    shoal_model *model = NULL;
    assert_ok(context, shoal_model_create(study, 1, &model));
    assert_non_null(strstr(study->config_text, "# file fit_1.h5 "));
    char *before = strdup(study->config_text);
    shoal_model_destroy(&model);
    shoal_study_destroy(&study);
    assert_int_equal(system("cp fit_1.h5 kept.h5 && cp fit_2.h5 fit_1.h5"), 0);
    assert_ok(context, shoal_study_open(context, "fit.cfg", text, 2, words, NULL, &study));
    assert_false(shoal_config_same(before, study->config_text));
    shoal_study_destroy(&study);
    assert_int_equal(system("mv kept.h5 fit_1.h5"), 0);
    /* in other units; of elements that mean something else */
    const char *const units[] = {"sample.file=fit_1.h5", "sample.count=50",       "units.time=\"yr\"",
                                 "integrator.dt=0.002",  "units.mass=\"Mearth\"", "system.bodies[0].m=332946.0"};
    assert_ok(context, shoal_study_open(context, "fit.cfg", text, SHOAL_COUNT(units), units, NULL, &study));
    for (long s = 0; s < 50; s++) {
        const double factor[] = {shoal_units_factor(&study->units, "mass"), 365.25, 1};
        for (int c = 0; c < 3; c++)
            assert_true(fabs(study->swept[c].value[s] * factor[c] / some[s * 3 + c] - 1) < 1e-12);
    }
    shoal_study_destroy(&study);
    static const struct {
        const char *word, *says;
    } meanings[] = {{"run.t_start=0.5", "a posterior of elements at run.t_start = 0.5, not at 0"},
                    {"system.elements=\"astrocentric\"", "a posterior with system.elements as here, not \"jacobi\""}};
    for (int i = 0; i < SHOAL_COUNT(meanings); i++) {
        const char *const another[] = {"sample.file=fit_1.h5", "sample.count=50", meanings[i].word};
        assert_int_equal(shoal_study_open(context, "fit.cfg", text, 3, another, NULL, &study), SHOAL_E_INPUT);
        if (!strstr(shoal_context_message(context), meanings[i].says))
            fail_msg("%s", shoal_context_message(context));
    }
    /* a posterior of something else */
    const char *const other[] = {"sample.file=banana.h5"};
    assert_int_equal(shoal_study_open(context, "fit.cfg", text, 1, other, NULL, &study), SHOAL_E_INPUT);
    assert_non_null(strstr(shoal_context_message(context), "banana.h5: expected draws /posterior/b.msini"));
    free(before);
    free(text);
    free(all);
    free(some);
}

/* Pictures: a posterior is read as it was written; the densest cells of a normal distribution have 39 % of it; a column
 * that is not there is refused. */
static void pictures_are_drawn(void **state)
{
    shoal_context *context = context_of(state);
    static const char *const script = "picture.txt";
    shoal_posterior *posterior = NULL;
    const shoal_fit_kind *kind = NULL;
    char line[4096];
    assert_int_equal(shoal_fit_file_of("fit_1.h5"), SHOAL_FIT_FILE_POSTERIOR);
    assert_int_equal(shoal_fit_file_of("rv.txt"), SHOAL_FIT_FILE_NONE);
    assert_int_equal(shoal_fit_file_of("nothing.h5"), SHOAL_FIT_FILE_NONE);
    assert_ok(context, shoal_posterior_read(context, "fit_1.h5", &posterior));
    assert_int_equal(posterior->k, 3);
    assert_string_equal(posterior->name[1], "b.P");
    assert_string_equal(posterior->unit[1], "d");
    for (const shoal_fit_kind *each = shoal_fit_kinds; each->name && each->uses; each++) {
        shoal_plot_options options = {.script = true, .system = -1};
        FILE *out = fopen(script, "w+");
        long panels = 0, cells[4] = {0};
        assert_non_null(out);
        assert_ok(context, shoal_fit_kind_find(context, each->name, &kind));
        assert_ok(context, shoal_fit_plot(posterior, kind, &options, out));
        rewind(out);
        for (bool inside = false; fgets(line, sizeof line, out);) {
            panels += strncmp(line, "set margins", 11) == 0;
            inside = strncmp(line, "$cells", 6) == 0 || (inside && strcmp(line, "EOD\n") != 0);
            for (const char *at = line; inside && *at && *line != '$'; at++)
                cells[*at >= '0' && *at <= '3' ? *at - '0' : 0] += *at != ' ' && *at != '\n';
        }
        fclose(out);
        if (strcmp(each->name, "corner") == 0) {
            assert_int_equal(panels, 6);
            assert_int_equal(cells[0] + cells[1] + cells[2] + cells[3], 3 * 32 * 32);
            /* of areas, of two normal numbers: 1 : 4 : 9 */
            assert_true(cells[3] > 30 && cells[3] + cells[2] > 2.5 * (double)cells[3]);
            assert_true(cells[3] + cells[2] < 6 * cells[3] && cells[1] > cells[3]);
        }
        options.column = "b.PP";
        assert_int_equal(shoal_fit_plot(posterior, kind, &options, stdout), SHOAL_E_USAGE);
        assert_non_null(strstr(shoal_context_message(context), "no parameter 'b.PP'; did you mean 'b.P'?"));
    }
    assert_int_equal(shoal_fit_kind_find(context, "survival", &kind), SHOAL_E_USAGE);
    shoal_posterior_destroy(&posterior);
}

/* Velocities, on both sides of an epoch in their middle: the curve is that of which the data were made, and their
 * residuals are what was added to it. On ellipses there is no curve, and no other zero than the mean. */
static void draw_velocities(shoal_context *context, bool keplerian, const char *file)
{
    char more[256];
    snprintf(more, sizeof more,
             "run = { t_start = 50.0; t_end = 51.0; engine = \"cpu\"; };\n"
             "fit = { walkers = 20; ess = 100.0; rhat = 1.1; file = \"%s\"; };\n%s",
             file, keplerian ? "likelihood = { motion = \"keplerian\"; };\n" : "");
    shoal_study *study = study_of(context, more);
    shoal_fit *fit = NULL;
    shoal_draws draws;
    shoal_posterior *posterior = NULL;
    assert_ok(context, shoal_fit_create(study, &fit));
    assert_ok(context, shoal_fit_run(fit, false, NULL, NULL, &draws));
    shoal_draws_release(&draws);
    shoal_fit_destroy(&fit);
    shoal_study_destroy(&study);
    assert_ok(context, shoal_posterior_read(context, file, &posterior));
    assert_int_equal(posterior->observed.n, N_DATA);
    const shoal_plot_options options = {.script = true, .system = -1};
    FILE *script = fopen("rv.plot", "w+");
    char line[4096], block = ' ';
    int n_curve = 0, n_data = 0;
    assert_non_null(script);
    assert_ok(context, shoal_fit_plot_rv(posterior, &options, script));
    for (rewind(script); fgets(line, sizeof line, script);) {
        double t, x[3];
        block = strcmp(line, "EOD\n") == 0 ? ' ' : line[0] == '$' && strstr(line, "<<") ? line[1] : block;
        if (block == ' ' || sscanf(line, "%lf %lf %lf %lf", &t, &x[0], &x[1], &x[2]) < 4)
            continue;
        const double truth = 30 * sin(TWO_PI * t / 20 + 0.4);
        if (block == 'c') {
            n_curve++;
            if (!(fabs(x[0] - truth) < 2))
                fail_msg("curve: %g m/s at %g d, expected %g", x[0], t, truth);
            continue;
        }
        if (!(fabs(x[0]) < 6.5 && x[1] == 3 && fabs(x[2] - truth) < (keplerian ? 10 : 6.5) &&
              fabs(x[2] - x[0] - truth) < (keplerian ? 4 : 2)))
            fail_msg("datum at %g d: residual %g, error %g, velocity %g, expected %g", t, x[0], x[1], x[2], truth);
        n_data++;
    }
    fclose(script);
    assert_true(keplerian ? n_curve == 0 : n_curve > 1000);
    assert_int_equal(n_data, N_DATA);
    shoal_posterior_destroy(&posterior);
}

static void velocities_are_drawn(void **state)
{
    shoal_context *context = context_of(state);
    const shoal_plot_options options = {.script = true, .system = -1};
    shoal_posterior *posterior = NULL;
    draw_velocities(context, true, "ellipses.h5");
    draw_velocities(context, false, "middle.h5");
    /* a posterior without its data */
    assert_ok(context, shoal_posterior_read(context, "banana.h5", &posterior));
    assert_int_equal(shoal_fit_plot_rv(posterior, &options, stdout), SHOAL_E_INPUT);
    shoal_posterior_destroy(&posterior);
}

/* The fit of a config whose first lines are the same. */
/* integrator: an override. */
static shoal_fit *fit_by(shoal_context *context, const char *integrator, const char *engine, const char *text,
                         shoal_study **study)
{
    shoal_fit *fit = NULL;
    char more[MOST_TEXT];
    snprintf(more, sizeof more,
             "units = { length = \"AU\"; mass = \"Msun\"; time = \"d\"; };\nangles = \"degrees\";\n"
             "integrator = { name = \"mvs\"; dt = 1.0; };\nrun = { t_end = 1.0; engine = \"%s\"; };\n%s",
             engine, text);
    assert_ok(context, shoal_study_open(context, "data/fit.cfg", more, 1, &integrator, NULL, study));
    assert_ok(context, shoal_fit_create(*study, &fit));
    return fit;
}

static shoal_fit *fit_of(shoal_context *context, const char *engine, const char *text, shoal_study **study)
{
    return fit_by(context, "integrator.dt=1.0", engine, text, study);
}

/* The posterior of a text with data in a folder of its own, to a file in this one. */
static shoal_posterior *fitted(shoal_context *context, const char *text, const char *file)
{
    shoal_study *study = NULL;
    shoal_draws draws;
    shoal_posterior *posterior = NULL;
    char more[MOST_TEXT];
    snprintf(more, sizeof more, "fit = { walkers = 20; ess = 50.0; rhat = 1.1; file = \"%s\"; };\n%s", file, text);
    shoal_fit *fit = fit_of(context, "cpu", more, &study);
    assert_ok(context, shoal_fit_run(fit, false, NULL, NULL, &draws));
    shoal_draws_release(&draws);
    shoal_fit_destroy(&fit);
    shoal_study_destroy(&study);
    assert_ok(context, shoal_posterior_read(context, file, &posterior));
    return posterior;
}

/* The script of a picture, to be read. */
static FILE *script_of(shoal_posterior *posterior, const char *name)
{
    shoal_context *context = posterior->context;
    const shoal_plot_options options = {.script = true, .system = -1};
    const shoal_fit_kind *kind = NULL;
    FILE *script = fopen("script.plot", "w+");
    assert_non_null(script);
    assert_ok(context, shoal_fit_kind_find(context, name, &kind));
    assert_ok(context, shoal_fit_plot(posterior, kind, &options, script));
    rewind(script);
    return script;
}

static void refuse(shoal_posterior *posterior, const char *name, const char *message)
{
    const shoal_plot_options options = {.script = true, .system = -1};
    const shoal_fit_kind *kind = NULL;
    assert_ok(posterior->context, shoal_fit_kind_find(posterior->context, name, &kind));
    assert_int_equal(shoal_fit_plot(posterior, kind, &options, stdout), SHOAL_E_INPUT);
    if (!strstr(shoal_context_message(posterior->context), message))
        fail_msg("%s: expected %s", shoal_context_message(posterior->context), message);
}

/* Times of an orbit of 20 d less an ephemeris of 19.99 d: the model of the draws is that slope, and the residuals are
 * what was added. */
static void transit_times_are_drawn(void **state)
{
    shoal_context *context = context_of(state);
    FILE *data = fopen("data/times.txt", "w");
    assert_non_null(data);
    fputs("number time error\n", data);
    for (int n = 0; n < 12; n++)
        fprintf(data, "%d %.17g 0.005\n", n, 3 + 20.0 * n + 0.004 * sin(37.0 * n * n));
    fclose(data);
    shoal_posterior *posterior = fitted(
        context,
        "system = { bodies = ( { name = \"star\"; m = 1.0; }, { name = \"b\"; m = 1e-6; e = 0.0; omega = 0.0; inc = "
        "90.0; } "
        "); };\n"
        "sample = { count = 2; parameters = (\n"
        "  { body = \"b\"; parameter = \"P\"; distribution = \"uniform\"; from = 19.95; to = 20.05; },\n"
        "  { body = \"b\"; parameter = \"T0\"; distribution = \"uniform\"; from = 2.9; to = 3.1; } ); };\n"
        "data = ( { name = \"times\"; kind = \"transit_time\"; body = \"b\"; file = \"times.txt\"; t0 = 3.0;\n"
        "    period = 19.99; jitter = 0.003; } );\n",
        "times.h5");
    FILE *script = script_of(posterior, "ttv");
    char line[4096];
    int n_data = 0;
    for (bool inside = false; fgets(line, sizeof line, script);) {
        double t, x[5];
        inside = strncmp(line, "$times0", 7) == 0 ? true : inside && strcmp(line, "EOD\n") != 0;
        if (!inside || sscanf(line, "%lf %lf %lf %lf %lf %lf", &t, &x[0], &x[1], &x[2], &x[3], &x[4]) < 6)
            continue;
        const double added = 1440 * 0.004 * sin(37.0 * n_data * n_data), slope = 1440 * 0.01 * n_data;
        if (!(fabs(t - 3 - 20 * n_data) < 0.01 && fabs(x[0] - added) < 5 && fabs(x[2] - slope - added) < 1e-3))
            fail_msg("transit %d: at %g, residual %g, O - C %g", n_data, t, x[0], x[2]);
        if (!(fabs(x[1] - 1440 * hypot(0.005, 0.003)) < 1e-3 && fabs(x[3] - slope) < 5 && fabs(x[4] - slope) < 20 &&
              fabs(x[2] - x[0] - x[3]) < 1e-3))
            fail_msg("transit %d: error %g, model %g and %g", n_data, x[1], x[3], x[4]);
        n_data++;
    }
    fclose(script);
    assert_int_equal(n_data, 12);
    refuse(posterior, "astrometry", "no places in the sky");
    refuse(posterior, "rv", "no velocities");
    assert_int_equal(system("cp data/times.txt kept.txt && sed -i 's/0[.]005/0.006/' data/times.txt"), 0);
    refuse(posterior, "ttv", "the data have changed"); /* their errors */
    assert_int_equal(system("mv kept.txt data/times.txt && echo 12 243.0 0.005 >>data/times.txt"), 0);
    refuse(posterior, "ttv", "the data have changed");
    shoal_posterior_destroy(&posterior);
}

/* P and T0 of a planet whose transits are timed follow the others, by all data; those of another one do not. */
static void periods_and_times_of_transit_follow(void **state)
{
    shoal_context *context = context_of(state);
    shoal_study *study = NULL;
    double cube[7] = {0.5, 0.4, 0.3, 0.6, 0.7, 0.2, 0.1}, theta[7], predicted[9], residuals[9];
    assert_int_equal(system("printf 'number time error\n0 3.0 0.01\n1 23.0 0.02\n2 43.0 0.01\n' > data/three.txt && "
                            "printf 'time rv err\n1 2.0 3.0\n5 -2.0 4.0\n7 1.0 3.0\n' > data/three_rv.txt"),
                     0);
    shoal_fit *fit = fit_of(
        context, "cpu",
        "system = { bodies = ( { name = \"star\"; m = 1.0; }, { name = \"b\"; inc = 90.0; }, { name = "
        "\"c\"; m = 1e-5; e = 0.0; omega = 0.0; inc = 90.0; } ); };\n"
        "sample = { count = 2; parameters = (\n"
        "  { body = \"b\"; parameter = \"m\"; distribution = \"uniform\"; from = 1e-5; to = 1e-4; },\n"
        "  { body = \"b\"; parameter = \"T0\"; distribution = \"uniform\"; from = 2.9; to = 3.1; },\n"
        "  { body = \"b\"; parameter = \"e_cos\"; distribution = \"uniform\"; from = 0.0; to = 0.1; },\n"
        "  { body = \"b\"; parameter = \"e_sin\"; distribution = \"uniform\"; from = 0.0; to = 0.1; },\n"
        "  { body = \"c\"; parameter = \"P\"; distribution = \"uniform\"; from = 41.0; to = 42.0; },\n"
        "  { body = \"b\"; parameter = \"P\"; distribution = \"uniform\"; from = 19.9; to = 20.1; },\n"
        "  { body = \"c\"; parameter = \"T0\"; distribution = \"uniform\"; from = 2.0; to = 9.0; } ); };\n"
        "data = ( { name = \"times\"; kind = \"transit_time\"; body = \"b\"; file = \"three.txt\"; },\n"
        "  { name = \"rv\"; kind = \"velocity\"; file = \"three_rv.txt\"; columns = [\"time\", \"rv\", "
        "\"err\"]; } );\n",
        &study);
    const shoal_target *target = &fit->target;
    assert_int_equal(target->n_follow, 2);
    assert_true(target->follow[0] == 5 && target->follow[1] == 1); /* P, T0 of b */
    assert_int_equal(target->n_data, 6);
    assert_ok(context, target->from_cube(target->user, 1, cube, theta));
    assert_ok(context, target->residuals(target->user, 1, theta, residuals));
    assert_ok(context, shoal_model_predict(fit->model, 1, theta, predicted));
    static const double value[] = {3, 23, 43, 2, -2, 1}, error[] = {0.01, 0.02, 0.01, 3, 4, 3};
    for (int i = 0; i < 6; i++)
        assert_true(fabs(residuals[i] - (value[i] - predicted[i]) / error[i]) < 1e-9);
    shoal_fit_destroy(&fit);
    shoal_study_destroy(&study);
}

/* Tied periods are one parameter, which follows once: here with its own T0, and not for those that are tied to it. */
static void a_parameter_follows_once(void **state)
{
    shoal_context *context = context_of(state);
    shoal_study *study = NULL;
    assert_int_equal(system("printf 'number time error\\n0 3.0 0.01\\n1 23.0 0.02\\n2 43.0 0.01\\n' > data/three.txt"),
                     0);
    shoal_fit *fit = fit_of(
        context, "cpu",
        "system = { bodies = ( { name = \"star\"; m = 1.0; },\n"
        "  { name = \"b\"; m = 1e-6; e = 0.0; omega = 0.0; inc = 90.0; },\n"
        "  { name = \"c\"; m = 1e-6; e = 0.0; omega = 0.0; inc = 90.0; } ); };\n"
        "sample = { count = 2; parameters = (\n"
        "  { body = \"b\"; parameter = \"P\"; distribution = \"uniform\"; from = 19.9; to = 20.1; },\n"
        "  { body = \"b\"; parameter = \"T0\"; distribution = \"uniform\"; from = 2.9; to = 3.1; } );\n"
        "  tied = ( { body = \"c\"; parameter = \"P\"; to = \"b.P\"; ratio = 2.0; },\n"
        "    { body = \"c\"; parameter = \"T0\"; to = \"b.T0\"; add = 1.0; } ); };\n"
        "data = ( { name = \"one\"; kind = \"transit_time\"; body = \"b\"; file = \"three.txt\"; },\n"
        "  { name = \"two\"; kind = \"transit_time\"; body = \"c\"; file = \"three.txt\"; } );\n",
        &study);
    assert_int_equal(fit->target.n_follow, 2);
    assert_true(fit->target.follow[0] == 0 && fit->target.follow[1] == 1);
    shoal_fit_destroy(&fit);
    shoal_study_destroy(&study);
}

static void write_wobble(double error)
{
    FILE *data = fopen("data/wobble.txt", "w");
    assert_non_null(data);
    fputs("number time error\n", data);
    for (int n = 0; n < 8; n++)
        fprintf(data, "%d %.17g %g\n", n, 3 + 20.0 * n + 0.05 * sin(0.9 * n), error);
    fclose(data);
}

#define WOBBLE                                                                                          \
    "system = { bodies = ( { name = \"star\"; m = 1.0; },\n"                                            \
    "  { name = \"b\"; m = 1e-5; e = 0.0; omega = 0.0; inc = 90.0; },\n"                                \
    "  { name = \"c\"; P = 41.5; T0 = 9.0; e = 0.0; omega = 0.0; inc = 90.0; } ); };\n"                 \
    "sample = { count = 2; parameters = (\n"                                                            \
    "  { body = \"b\"; parameter = \"P\"; distribution = \"uniform\"; from = 19.9; to = 20.1; },\n"     \
    "  { body = \"b\"; parameter = \"T0\"; distribution = \"uniform\"; from = 2.8; to = 3.2; },\n"      \
    "  { body = \"c\"; parameter = \"m\"; distribution = \"uniform\"; from = 0.0; to = 1e-3; } ); };\n" \
    "data = ( { name = \"times\"; kind = \"transit_time\"; body = \"b\"; file = \"wobble.txt\"; } );\n"

/* How many sigma of the first the optimum of the second lies away. */
static double distance_of(const shoal_optimum *first, const shoal_optimum *second, size_t k)
{
    double root[k * k], d[k];
    memcpy(root, first->root, sizeof root);
    for (size_t i = 0; i < k; i++)
        d[i] = second->theta[i] - first->theta[i];
    gsl_matrix_view of = gsl_matrix_view_array(root, k, k);
    gsl_vector_view x = gsl_vector_view_array(d, k);
    assert_int_equal(gsl_linalg_HH_svx(&of.matrix, &x.vector), 0);
    return gsl_blas_dnrm2(&x.vector);
}

/* Times of a planet and the mass of its neighbour, as steps of 0.05 d have them, with an error. */
static void write_times(shoal_context *context, double error)
{
    static const double truth[] = {20.0, 3.0, 2e-4};
    double times[8];
    shoal_study *study = NULL;
    write_wobble(error);
    shoal_fit *fit = fit_by(context, "integrator.dt=0.05", "cpu", WOBBLE, &study);
    assert_ok(context, shoal_model_predict(fit->model, 1, truth, times));
    shoal_fit_destroy(&fit);
    shoal_study_destroy(&study);
    FILE *data = fopen("data/wobble.txt", "w");
    assert_non_null(data);
    fputs("number time error\n", data);
    for (int n = 0; n < 8; n++)
        fprintf(data, "%d %.17g %g\n", n, times[n], error);
    fclose(data);
}

/* The step error of an optimum, and that of draws, is how far the optimum of half the step lies from it. */
static void half_the_step_moves_the_posterior_so_far(void **state)
{
    shoal_context *context = context_of(state);
    shoal_draws draws[3];
    write_times(context, 1e-3);
    for (int run = 0; run < 3; run++) {
        shoal_study *study = NULL;
        shoal_fit *fit = fit_by(context, run == 1 ? "integrator.dt=0.5" : "integrator.dt=1.0", "cpu",
                                run == 2 ? WOBBLE "fit = { walkers = 40; steps = 8000; file = \"step.h5\"; };\n"
                                         : WOBBLE "fit = { method = \"optimise\"; };\n",
                                &study);
        assert_ok(context, shoal_fit_run(fit, true, NULL, NULL, &draws[run]));
        shoal_fit_destroy(&fit);
        shoal_study_destroy(&study);
    }
    const double moved = distance_of(&draws[0].optimum, &draws[1].optimum, 3);
    print_message("moved by %g sigma, said %g, by draws %g\n", moved, draws[0].step_error, draws[2].step_error);
    assert_true(moved > 0.5 && moved < 1); /* or it is no test of the first order */
    assert_true(fabs(draws[0].step_error / moved - 1) < 0.2 && fabs(draws[2].step_error / moved - 1) < 0.2);
    for (int run = 0; run < 3; run++)
        shoal_draws_release(&draws[run]);
}

/* Walkers whose periods and times of transit follow, at two temperatures. */
static void a_gpu_draws_the_same(void **state)
{
    need_gpu();
    shoal_context *context = context_of(state);
    static const char *const engines[] = {"cpu", "cuda"};
    shoal_draws draws[2];
    write_wobble(0.002);
    for (int run = 0; run < 2; run++) {
        char text[MOST_TEXT];
        shoal_study *study = NULL;
        snprintf(text, sizeof text,
                 WOBBLE "fit = { walkers = 8; temperatures = 2; steps = 140; start = \"prior\"; file = \"%s.h5\"; };\n",
                 engines[run]);
        shoal_fit *fit = fit_of(context, engines[run], text, &study);
        assert_ok(context, shoal_fit_run(fit, false, NULL, NULL, &draws[run]));
        shoal_fit_destroy(&fit);
        shoal_study_destroy(&study);
    }
    assert_true(draws[0].n == 140 && draws[0].acceptance > 0.02);
    same_draws(&draws[0], &draws[1]);
    for (int run = 0; run < 2; run++)
        shoal_draws_release(&draws[run]);
}

#define SKY_PERIOD 400.0
#define FACE_ON                                                                                       \
    "system = { elements = \"astrocentric\"; bodies = ( { name = \"star\"; m = 1.0; },\n"             \
    "  { name = \"b\"; m = %s; e = 0.0; omega = 0.0; inc = 0.0; Omega = 0.0; } ); };\n"               \
    "sample = { count = 2; parameters = (\n"                                                          \
    "  { body = \"b\"; parameter = \"P\"; distribution = \"uniform\"; from = 380.0; to = 420.0; },\n" \
    "  { body = \"b\"; parameter = \"M\"; distribution = \"uniform\"; from = 0.0; to = 360.0; },\n"   \
    "  { data = \"%s\"; parameter = \"parallax\"; distribution = \"uniform\"; from = 90.0; to = 110.0; } );\n"

/* A circle seen from above, at 100 mas: its angle from north through east, its radius. */
static double sky_angle(double t)
{
    return TWO_PI * t / SKY_PERIOD + 0.5;
}

static const double sky_radius = 106.2422; /* (400 / 365.25636)^(2/3) 100 mas */

static void write_sky_data(void)
{
    static const char *const names[] = {"separation", "position_angle", "delta_ra", "delta_dec"};
    for (int q = 0; q < SHOAL_COUNT(names); q++) {
        char path[64];
        snprintf(path, sizeof path, "data/%s.txt", names[q]);
        FILE *out = fopen(path, "w");
        assert_non_null(out);
        fprintf(out, "time %s error\n", names[q]);
        for (int j = 0; j < 10; j++) {
            const double t = 31.0 * j, angle = sky_angle(t), added = sin(37.0 * j * j + q),
                         values[] = {sky_radius + added, fmod(angle * 360 / TWO_PI, 360) + 0.5 * added,
                                     sky_radius * sin(angle) + added, sky_radius * cos(angle) + added};
            fprintf(out, "%.17g %.17g %g\n", t, values[q], q == 1 ? 0.5 : 1.0);
        }
        fclose(out);
    }
}

/* The numbers of a line in a block "$name", at most 6; 0: it is none. */
static int numbers_of(const char *line, const char *name, bool *inside, double x[6])
{
    const size_t length = strlen(name);
    const bool begins = line[0] == '$' && strncmp(line + 1, name, length) == 0 && line[1 + length] == ' ';
    *inside = begins || (*inside && strcmp(line, "EOD\n") != 0);
    return begins || !*inside ? 0 : sscanf(line, "%lf %lf %lf %lf %lf %lf", &x[0], &x[1], &x[2], &x[3], &x[4], &x[5]);
}

/* Places of both kinds are those of a circle, whose ellipses are drawn; east is on the left. */
static void places_in_the_sky_are_drawn(void **state)
{
    shoal_context *context = context_of(state);
    char text[MOST_TEXT], line[4096];
    write_sky_data();
    snprintf(text, sizeof text,
             FACE_ON
             "tied = ( { data = \"dx\"; parameter = \"parallax\"; to = \"r.parallax\"; },\n"
             "  { data = \"dy\"; parameter = \"parallax\"; to = \"r.parallax\"; } ); };\n"
             "data = ( { name = \"r\"; kind = \"separation\"; body = \"b\"; file = \"separation.txt\"; },\n"
             "  { name = \"angle\"; kind = \"position_angle\"; body = \"b\"; file = \"position_angle.txt\"; },\n"
             "  { name = \"dx\"; kind = \"delta_ra\"; body = \"b\"; file = \"delta_ra.txt\"; },\n"
             "  { name = \"dy\"; kind = \"delta_dec\"; body = \"b\"; file = \"delta_dec.txt\"; } );\n",
             "1e-9", "r");
    shoal_posterior *posterior = fitted(context, text, "sky.h5");
    FILE *script = script_of(posterior, "astrometry");
    bool in[3] = {false, false, false};
    int n[3] = {0, 0, 0}, n_reversed = 0;
    while (fgets(line, sizeof line, script)) {
        static const char *const blocks[] = {"orbits", "places0", "places2"};
        double x[6], from, to;
        n_reversed += sscanf(line, "set xrange [%lf:%lf]", &from, &to) == 2 && from > to;
        for (int b = 0; b < 3; b++) {
            if (numbers_of(line, blocks[b], &in[b], x) < 2)
                continue;
            if (b == 0 && !(fabs(hypot(x[0], x[1]) - sky_radius) < 3))
                fail_msg("orbit: at %g, %g mas", x[0], x[1]);
            const double angle = sky_angle(31.0 * n[b]), east = sky_radius * sin(angle),
                         north = sky_radius * cos(angle);
            if (b > 0 && !(fabs(x[0] - east) < 2.5 && fabs(x[1] - north) < 2.5 && fabs(x[4] - east) < 1.5 &&
                           fabs(x[5] - north) < 1.5 && x[2] > 0.9 && x[2] < 1.1 && x[3] > 0.9 && x[3] < 1.1))
                fail_msg("%s %d: %g %g (%g %g) beside %g %g", blocks[b], n[b], x[0], x[1], x[2], x[3], x[4], x[5]);
            n[b]++;
        }
    }
    fclose(script);
    assert_int_equal(n_reversed, 1);
    assert_true(n[0] > 1000);
    assert_int_equal(n[1], 10);
    assert_int_equal(n[2], 10);
    refuse(posterior, "ttv", "no transit times");
    /* drawn again, numbers of data have the unit that they had */
    shoal_study *drawn = NULL;
    assert_ok(context, shoal_drawn_open(posterior, &drawn));
    int n_sky = 0;
    for (int c = 0; c < drawn->n_swept; c++)
        if (strcmp(drawn->swept[c].name, "r.parallax") == 0) {
            assert_string_equal(drawn->swept[c].unit, "mas");
            n_sky++;
        }
    assert_int_equal(n_sky, 1);
    shoal_study_destroy(&drawn);
    shoal_posterior_destroy(&posterior);
}

/* Along scans: less a single star, the model is the star's circle, and the residuals are what was added. */
static void scans_are_drawn(void **state)
{
    enum { SCANS = 120 };
    shoal_context *context = context_of(state);
    const double radius = 100 * 0.01 / 1.01 * cbrt(1.01) * sky_radius / 100; /* of the star: 1.06 mas */
    char text[MOST_TEXT], line[4096];
    FILE *out = fopen("data/scans.csv", "w");
    assert_non_null(out);
    fputs("transit_id,epoch,scan_pos_angle,centroid_pos_al,centroid_pos_error_al,ipd_error_al,parallax_factor_al,"
          "used_by_agis_al,outlier_flag\n",
          out);
    for (int j = 0; j < SCANS; j++) {
        const double t = 17.0 * j, psi = 2.4 * j, factor = 0.7 * sin(TWO_PI * t / 365.25 + psi),
                     along = -radius * cos(sky_angle(t) - psi) + 100 * factor + 3 * sin(psi) + 0.01 * t * cos(psi);
        fprintf(out, "%d,%.17g,%.17g,%.17g,0.05,0.05,%.17g,true,0\n", j, 57000 + t, psi,
                along + 0.05 * sin(37.0 * j * j), factor);
    }
    fclose(out);
    snprintf(text, sizeof text,
             FACE_ON "};\ndata = ( { name = \"gaia\"; kind = \"along_scan\"; file = \"scans.csv\"; format = "
                     "\"octofitter\";\n    time = \"MJD\"; time_zero = 57000.0; marginal = true; } );\n",
             "0.01", "gaia");
    shoal_posterior *posterior = fitted(context, text, "scans.h5");
    FILE *script = script_of(posterior, "astrometry");
    int n = 0;
    for (bool inside = false; fgets(line, sizeof line, script);) {
        double x[6];
        if (strncmp(line, "$orbits", 7) == 0)
            fail_msg("no orbits of scans");
        if (numbers_of(line, "set0", &inside, x) < 5)
            continue;
        const double truth = -radius * cos(sky_angle(x[0]) - 2.4 * n);
        if (!(fabs(x[0] - 17 * n) < 0.01 && fabs(x[1] - 0.05 * sin(37.0 * n * n)) < 0.05 &&
              fabs(x[4] - truth) < 0.25 * radius && fabs(x[3] - x[1] - x[4]) < 1e-4))
            fail_msg("scan %d at %g: residual %g, orbit %g, expected %g", n, x[0], x[1], x[4], truth);
        n++;
    }
    fclose(script);
    assert_int_equal(n, SCANS);
    shoal_posterior_destroy(&posterior);
}

/* ArviZ opens the file, with either of its libraries, and has the same diagnostics. Skipped where it is not there. */
static void arviz_reads_the_file(void **state)
{
    (void)state;
    const char *python = getenv("SHOAL_TEST_PYTHON");
    char command[512];
    snprintf(command, sizeof command, "%s -W ignore -c 'import arviz, h5netcdf' >arviz.log 2>&1",
             python ? python : "python3");
    if (system(command) != 0) {
        print_message("no arviz and h5netcdf in python3 (SHOAL_TEST_PYTHON names another one)\n");
        skip();
    }
    FILE *out = fopen("arviz_test.py", "w");
    assert_non_null(out);
    fputs("import arviz\n"
          "d = arviz.from_netcdf('banana.h5', engine='h5netcdf')\n"
          "assert d.posterior['b.P'].dims == ('chain', 'draw'), d.posterior\n"
          "assert d.sample_stats['lp'].dims == ('chain', 'draw')\n"
          "o = arviz.from_netcdf('middle.h5', engine='h5netcdf').observed_data\n"
          "assert o['value'].dims == ('datum',) and o['value'].size == 40 and o['error'].values[3] == 3\n"
          "for name in ('b.P', 'a b'):\n"
          "    x = d.posterior[name]\n"
          "    for got, there in ((arviz.rhat(x.values), 'r_hat'), (arviz.ess(x.values), 'ess_bulk'),\n"
          "                       (arviz.ess(x.values, method='tail', prob=(0.05, 0.95)), 'ess_tail')):\n"
          "        assert abs(got / x.attrs[there] - 1) < 1e-9, (name, there, got, x.attrs[there])\n",
          out);
    fclose(out);
    snprintf(command, sizeof command, "%s -W ignore arviz_test.py >arviz.log 2>&1 || { cat arviz.log; false; }",
             python ? python : "python3");
    assert_int_equal(system(command), 0);
}

static void wrong_fits_are_refused(void **state)
{
    static const struct {
        const char *more, *message;
    } rows[] = {
        {"fit = { walkers = 21; };\n", "walkers = 21: expected an even number"},
        {"fit = { steps = 70; thin = 10; };\n", "steps = 70: expected at least 8 times fit.thin"},
    };
    shoal_context *context = context_of(state);
    for (int r = 0; r < SHOAL_COUNT(rows); r++) {
        char more[256];
        snprintf(more, sizeof more, "run = { t_end = 1.0; engine = \"cpu\"; };\n%s", rows[r].more);
        shoal_study *study = study_of(context, more);
        shoal_fit *fit = NULL;
        assert_int_equal(shoal_fit_create(study, &fit), SHOAL_E_INPUT);
        if (!strstr(shoal_context_message(context), rows[r].message))
            fail_msg("%s: expected %s", shoal_context_message(context), rows[r].message);
        assert_null(fit);
        shoal_study_destroy(&study);
    }
}

/* A journal is of a config without what says when the fit ends, and of data by what is in them. */
static void a_journal_is_of_its_study(void **state)
{
    static const struct {
        const char *fit;
        bool same;
    } rows[] = {{"", true},
                {"fit = { steps = 900; ess = 10.0; rhat = 1.5; };\n", true},
                {"fit = { walkers = 64; seed = 1; };\n", true},
                {"fit = { walkers = 66; };\n", false},
                {"fit = { temperatures = 3; };\n", false},
                {"fit = { seed = 2; };\n", false}};
    shoal_context *context = context_of(state);
    char *first = NULL;
    for (int r = 0; r <= SHOAL_COUNT(rows); r++) {
        const bool other = r == SHOAL_COUNT(rows);
        char more[256];
        snprintf(more, sizeof more, "run = { t_end = 1.0; engine = \"cpu\"; };\n%s", other ? "" : rows[r].fit);
        if (other) {
            FILE *data = fopen("rv.txt", "a");
            assert_non_null(data);
            fputs("200.0 1.0 3.0\n", data);
            fclose(data);
        }
        shoal_study *study = study_of(context, more);
        shoal_fit *fit = NULL;
        assert_ok(context, shoal_fit_create(study, &fit));
        first = first ? first : strdup(fit->text);
        assert_non_null(strstr(fit->text, "    chains = 2;\n"));
        if (shoal_config_same(first, fit->text) != (!other && rows[r].same))
            fail_msg("row %d: %s\n--- and ---\n%s", r, first, fit->text);
        shoal_fit_destroy(&fit);
        shoal_study_destroy(&study);
    }
    free(first);
    write_data();
}

/* Ranks count draws: a file with others is refused before they are put into bins. */
static void impossible_ranks_are_refused(void **state)
{
    static const struct {
        double rank;
        bool good;
    } rows[] = {{0, true}, {8, true}, {9, false}, {-1, false}, {1e300, false}, {NAN, false}};
    shoal_context *context = context_of(state);
    for (int r = 0; r < SHOAL_COUNT(rows); r++) {
        shoal_ranks ranks, got;
        assert_ok(context, shoal_ranks_create(context, 2, 3, &ranks));
        ranks.n_draws = 8;
        ranks.names[0] = strdup("a"), ranks.names[1] = strdup("lp");
        ranks.text = strdup("model"), ranks.config_text = strdup("config");
        for (size_t i = 0; i < 3 * ranks.n_row; i++)
            ranks.rows[i] = 1;
        ranks.rows[2 * ranks.n_row + SHOAL_RANK_FIRST + SHOAL_RANK_RANK] = rows[r].rank;
        assert_ok(context, shoal_ranks_write(context, "ranks.h5", &ranks));
        const shoal_status status = shoal_ranks_read(context, "ranks.h5", &got);
        if (rows[r].good)
            assert_ok(context, status);
        else {
            assert_int_equal(status, SHOAL_E_FILE);
            assert_non_null(strstr(shoal_context_message(context), "ranks.h5: /rank: "));
        }
        shoal_ranks_release(&got);
        shoal_ranks_release(&ranks);
    }
}

static int begin(void **state)
{
    if (!mkdtemp(folder) || chdir(folder) != 0 || mkdir("data", 0700) != 0)
        return -1;
    write_data();
    return setup(state);
}

static int end(void **state)
{
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return teardown(state) || chdir("/") != 0 || system(command) != 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths_are_of_each_parameter),
        cmocka_unit_test(moments_of_a_normal_distribution),
        cmocka_unit_test(moments_of_a_banana),
        cmocka_unit_test(a_narrow_ridge_is_followed),
        cmocka_unit_test(a_thin_and_bent_ridge_is_followed),
        cmocka_unit_test(tempering_goes_between_modes),
        cmocka_unit_test(sample_sizes_of_tempered_chains_are_honest),
        cmocka_unit_test(a_broken_ladder_is_not_precise),
        cmocka_unit_test(a_ladder_that_few_cross_is_broken),
        cmocka_unit_test(a_ladder_is_as_long_as_its_temperatures),
        cmocka_unit_test(an_angle_goes_round),
        cmocka_unit_test(moments_of_a_twisted_distribution),
        cmocka_unit_test(a_map_makes_a_twisted_distribution_normal),
        cmocka_unit_test(no_mapped_move_goes_over_the_seam),
        cmocka_unit_test(what_is_impossible_is_never_drawn),
        cmocka_unit_test(a_step_is_two_calls),
        cmocka_unit_test(a_search_is_told_of_and_ends),
        cmocka_unit_test(the_optimum_has_its_place_and_widths),
        cmocka_unit_test(an_infinite_prior_does_not_hide_the_optimum),
        cmocka_unit_test(diagnostics_are_those_of_arviz),
        cmocka_unit_test(quantiles_are_between_neighbours),
        cmocka_unit_test(threads_change_no_bits),
        cmocka_unit_test(a_stopped_fit_goes_on_with_the_same_bits),
        cmocka_unit_test(a_killed_fit_goes_on_with_the_same_bits),
        cmocka_unit_test(a_study_becomes_a_posterior),
        cmocka_unit_test(the_file_has_the_draws),
        cmocka_unit_test(draws_of_a_posterior_are_systems),
        cmocka_unit_test(draws_keep_correlated_priors),
        cmocka_unit_test(pictures_are_drawn),
        cmocka_unit_test(velocities_are_drawn),
        cmocka_unit_test(transit_times_are_drawn),
        cmocka_unit_test(periods_and_times_of_transit_follow),
        cmocka_unit_test(half_the_step_moves_the_posterior_so_far),
        cmocka_unit_test(a_gpu_draws_the_same),
        cmocka_unit_test(a_parameter_follows_once),
        cmocka_unit_test(places_in_the_sky_are_drawn),
        cmocka_unit_test(scans_are_drawn),
        cmocka_unit_test(arviz_reads_the_file),
        cmocka_unit_test(wrong_fits_are_refused),
        cmocka_unit_test(a_journal_is_of_its_study),
        cmocka_unit_test(impossible_ranks_are_refused),
    };
    cmocka_set_test_filter(getenv("SHOAL_TEST_NAME"));
    cmocka_set_skip_filter(getenv("SHOAL_TEST_SKIP"));
    return cmocka_run_group_tests(tests, begin, end);
}
