/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * correlated.kern.h: a part of likelihood.kern.h. ln L of errors with a covariance matrix K,
 *
 *     ln L = -r K^-1 r / 2 - ln det(2 pi K) / 2,    r = values - model
 *
 * in three ways, which all make independent numbers z of r, with variances d: r K^-1 r = sum of z^2 / d. The
 * derivatives by the numbers that are integrated over go the same way, so that the integral is that of generalised
 * least squares.
 *
 *     a matrix of the errors   z = Q r in the directions of its eigenvectors, d = eigenvalue + jitter^2
 *     sums of exponentials     K = L D L in O(n) (celerite: Foreman-Mackey et al. 2017, doi:10.3847/1538-3881/aa9332,
 *                              section 5, here by steps from one time to the next)
 *     any process              Cholesky's factors, O(n^3)
 *
 * A process of exponentials is a sum of pairs: its covariance at a distance t is
 *
 *     exp(-c t) (a C(t) + b S(t)),    C = cos(w t), S = sin(w t) / w, q = w^2
 *
 * with q < 0 of an overdamped oscillator, and q = 0 (C = 1, S = t) between. A pair's state x goes on by
 * exp(-c t) [[C, -q S], [S, C]] x, whatever the sign of q.
 */

enum { WALKER_PAIRS = 2 * SHOAL_MOST_PROCESSES, WALKER_STATE = 2 * WALKER_PAIRS };

typedef struct walker_pair {
    real a, b, c, q;
} walker_pair;

/* The processes of a group. */
typedef struct walker_noise {
    walker_pair pair[WALKER_PAIRS];
    int n_pairs;
    real variance; /* of all */
    mask good;     /* there are such processes */
} walker_noise;

/* A number of a process that is > 0; 1 where it is none. */
LANE_FN real walker_positive(const shoal_walk *walk, const shoal_walker_number *number, lane_id id, mask *good)
{
    const real x = walker_number(walk, number, id);
    const mask is = (x > lane_set(1e-100)) & (x < lane_set(1e100));
    *good = *good & is;
    return lane_select(is, x, lane_set(1.0));
}

LANE_FN void walker_pair_add(walker_noise *noise, real a, real b, real c, real q)
{
    walker_pair *pair = &noise->pair[noise->n_pairs++];
    pair->a = a;
    pair->b = b;
    pair->c = c;
    pair->q = q;
}

/* An oscillator of a variance, of the undamped frequency w and a quality. */
LANE_FN void walker_oscillator(walker_noise *noise, real variance, real w, real quality)
{
    const real c = 0.5 * w / quality;
    walker_pair_add(noise, variance, variance * c, c, (w - c) * (w + c));
}

/* Two oscillators, of a period and of its half (celerite2's RotationTerm). */
LANE_FN void walker_rotation(const shoal_walk *walk, const shoal_walker_process *process, lane_id id, real variance,
                             walker_noise *noise)
{
    const real zero = lane_set(0.0), mix = walker_number(walk, &process->mix, id),
               more = walker_number(walk, &process->quality_difference, id),
               period = walker_positive(walk, &process->period, id, &noise->good),
               second = 0.5 + walker_positive(walk, &process->quality, id, &noise->good), first = second + more;
    const mask good = (mix >= zero) & (more >= zero);
    noise->good = noise->good & good;
    variance = variance / (1.0 + lane_select(good, mix, zero));
    for (int i = 0; i < 2; i++) {
        const real quality = lane_select(good, i ? second : first, lane_set(1.0)),
                   w = (4.0 * (1 + i)) * WALKER_PI * quality /
                       (period * lane_sqrt(lane_fma(4.0 * quality, quality, lane_set(-1.0))));
        walker_oscillator(noise, i ? lane_select(good, mix, zero) * variance : variance, w, quality);
    }
}

/* Add a process as pairs; that of quasi-periodic kind has none (walker_covariance). */
/* long: all kernels */
LANE_FN void walker_pairs(const shoal_walk *walk, const shoal_walker_process *process, lane_id id, walker_noise *noise)
{
    const real zero = lane_set(0.0), sigma = walker_number(walk, &process->sigma, id);
    const real mix = walker_number(walk, &process->mix, id), variance = sigma * sigma;
    const int kernel = process->kernel;
    noise->good = noise->good & (sigma >= zero) & (sigma < lane_set(1e100));
    noise->variance = noise->variance + variance;
    if (kernel == SHOAL_KERNEL_ROTATION) {
        walker_rotation(walk, process, id, variance, noise);
        return;
    }
    if (kernel == SHOAL_KERNEL_SHO) {
        const real period = walker_positive(walk, &process->period, id, &noise->good),
                   quality = walker_positive(walk, &process->quality, id, &noise->good);
        walker_oscillator(noise, variance, 2.0 * WALKER_PI / period, quality);
        return;
    }
    const real c = 1.0 / walker_positive(walk, &process->decay, id, &noise->good);
    if (kernel == SHOAL_KERNEL_EXPONENTIAL)
        walker_pair_add(noise, variance, zero, c, zero);
    if (kernel == SHOAL_KERNEL_MATERN32)
        walker_pair_add(noise, variance, variance * 0x1.bb67ae8584caap+0 * c, 0x1.bb67ae8584caap+0 * c, zero);
    if (kernel != SHOAL_KERNEL_COMPLEX && kernel != SHOAL_KERNEL_PERIODIC)
        return;
    const real w = 2.0 * WALKER_PI / walker_positive(walk, &process->period, id, &noise->good);
    if (kernel == SHOAL_KERNEL_COMPLEX) { /* its spectrum is nowhere negative: |b| <= a c */
        const real b = variance * w * walker_number(walk, &process->sine, id);
        noise->good = noise->good & (lane_abs(b) <= variance * c);
        walker_pair_add(noise, variance, b, c, w * w);
        return;
    }
    const mask good = mix >= zero;
    const real part = variance / (2.0 + lane_select(good, mix, zero));
    noise->good = noise->good & good;
    walker_pair_add(noise, part, zero, c, w * w);
    walker_pair_add(noise, variance - part, zero, c, zero);
}

LANE_FN void walker_noise_of(const shoal_walk *walk, const shoal_walker_group *group, lane_id id, walker_noise *noise)
{
    const real zero = lane_set(0.0);
    noise->n_pairs = 0;
    noise->variance = zero;
    noise->good = zero == zero;
    LANE_KEEP_ROLLED
    for (int p = 0; p < group->n_processes; p++) {
        const shoal_walker_process *process = &walk->processes[group->first_process + p];
        if (process->kernel == SHOAL_KERNEL_QUASI_PERIODIC) {
            (void)walker_positive(walk, &process->width, id, &noise->good);
            (void)walker_positive(walk, &process->period, id, &noise->good);
            const real sigma = walker_number(walk, &process->sigma, id);
            (void)walker_positive(walk, &process->decay, id, &noise->good);
            noise->good = noise->good & (sigma >= zero) & (sigma < lane_set(1e100));
            noise->variance = lane_fma(sigma, sigma, noise->variance);
        } else {
            walker_pairs(walk, process, id, noise);
        }
    }
}

/* exp(-c t) C(t) and exp(-c t) S(t) of a pair. */
LANE_FN void walker_pair_at(const walker_pair *pair, real t, real *cosine, real *sine)
{
    const real zero = lane_set(0.0), one = lane_set(1.0), x = -pair->q * t * t;
    const mask grows = pair->q < zero, near = lane_abs(x) < lane_set(0.25);
    const real w = lane_sqrt(lane_abs(pair->q)), rate = lane_select(grows, w, zero);
    const real slow = lane_exp((rate - pair->c) * t);
    real s, c, series = one;
    lane_sincos(lane_select(grows, zero, lane_min(w * t, lane_set(1e8))), &s, &c);
    s = lane_select(w > zero, s / lane_select(w > zero, w, one), t);
    LANE_UNROLL_FULLY
    for (int k = 6; k > 0; k--) /* S = t (1 + x / 6 + x^2 / 120 + ...); the next term is below 1e-17 */
        series = lane_fma(x * lane_set(1.0 / ((2 * k) * (2 * k + 1))), series, one);
    if (lane_any(grows)) {
        const real fast = lane_exp(-(rate + pair->c) * t);
        const real root = lane_sqrt(slow * fast); /* exp(-c t) */
        *cosine = lane_select(grows, 0.5 * (slow + fast), slow * c);
        *sine = lane_select(near, lane_select(grows, root, slow) * t * series,
                            lane_select(grows, (slow - fast) / (2.0 * lane_select(grows, w, one)), slow * s));
        return;
    }
    *cosine = slow * c;
    *sine = slow * lane_select(near, t * series, s);
}

/* What of a datum is independent of those before it: z, its variance, and the derivatives there. */
typedef struct walker_news {
    real z, variance, slope[WALKER_LINEAR];
} walker_news;

/* Sums over the data of a set or a group. */
typedef struct walker_totals {
    walker_sums sums;
    walker_logs logs; /* of variances */
    real squares;
    mask good;
} walker_totals;

LANE_FN void walker_totals_clear(walker_totals *totals)
{
    const real zero = lane_set(0.0);
    walker_sums_clear(&totals->sums);
    walker_logs_clear(&totals->logs);
    totals->squares = zero;
    totals->good = zero == zero;
}

LANE_FN void walker_totals_add(walker_totals *totals, const walker_news *news, int n_linear)
{
    const mask good = news->variance > lane_set(0.0);
    const real variance = lane_select(good, news->variance, lane_set(1.0)), weight = 1.0 / variance;
    totals->good = totals->good & good;
    totals->squares = lane_fma(news->z * news->z, weight, totals->squares);
    walker_logs_add(&totals->logs, variance);
    for (int i = 0; i < n_linear; i++) {
        const real part = news->slope[i] * weight;
        totals->sums.right[i] = lane_fma(news->z, part, totals->sums.right[i]);
        for (int j = 0; j <= i; j++)
            totals->sums.matrix[i][j] = lane_fma(news->slope[j], part, totals->sums.matrix[i][j]);
    }
}

/* ln L; best: the numbers that are integrated over. */
LANE_FN real walker_totals_end(walker_totals *totals, int n_linear, real best[WALKER_LINEAR])
{
    const real zero = lane_set(0.0), constants = lane_set(WALKER_LOG_2PI * totals->logs.n),
               lnl = -0.5 * (totals->squares + (walker_logs_end(&totals->logs) + constants));
    const real more = n_linear > 0 ? walker_integral(&totals->sums, n_linear, best) : zero;
    return lane_select(totals->good, lnl + more, -1.0 / zero);
}

/* Errors with a covariance matrix, in the directions of its eigenvectors. */
LANE_FN real walker_rotated_likelihood(const shoal_walk *walk, const shoal_walker_set *set, lane_id id, mask there)
{
    const real jitter = walker_number(walk, &set->jitter, id);
    const walker_terms terms = walker_terms_of(walk, set, id);
    const int n = (int)set->n;
    const double *vector = walk->rotations + set->rotation, *value = vector + (long long)n * n, *slope = value + n;
    double plain[WALKER_LINEAR];
    const int n_linear = set->marginal ? walker_slopes(set, &walk->data[set->first], plain) : 0;
    walker_totals totals;
    walker_totals_clear(&totals);
    LANE_KEEP_ROLLED
    for (int j = 0; j < n; j++) {
        const shoal_datum *datum = &walk->data[set->first + j];
        lane_put(walk->work, id, j, walk->n_work, there,
                 walker_value(walk, datum, id) - walker_model(walk, set, &terms, datum, id));
    }
    LANE_KEEP_ROLLED
    for (int i = 0; i < n; i++, vector += n, slope += 4) {
        walker_news news;
        news.z = lane_set(0.0);
        news.variance = lane_fma(jitter, jitter, lane_set(value[i]));
        LANE_KEEP_ROLLED
        for (int j = 0; j < n; j++)
            news.z = lane_fma(lane_set(vector[j]), lane_load(walk->work, id, j, walk->n_work), news.z);
        for (int q = 0; q < n_linear; q++)
            news.slope[q] = lane_set(slope[q]);
        walker_totals_add(&totals, &news, n_linear);
    }
    real best[WALKER_LINEAR];
    const real lnl = walker_totals_end(&totals, n_linear, best);
    walker_predict(walk, set, &terms, best, id, there);
    return lnl;
}

/* A datum of a group: its residual, the variance of its error, and the column of its offset, -1 = none. */
LANE_FN int walker_look(const shoal_walk *walk, const shoal_walker_place *place, lane_id id, real *residual,
                        real *variance)
{
    const shoal_walker_set *set = &walk->sets[place->set];
    const shoal_datum *datum = &walk->data[place->datum];
    const walker_terms terms = walker_terms_of(walk, set, id);
    const real jitter = walker_number(walk, &set->jitter, id);
    *residual = walker_value(walk, datum, id) - walker_model(walk, set, &terms, datum, id);
    *variance = lane_fma(jitter, jitter, lane_set(datum->error * datum->error));
    return set->marginal ? set->column : -1;
}

/* Where a sum of exponentials is after some data. The covariance of a later datum with them is u x, with x the
 * state. */
typedef struct walker_chain {
    real s[WALKER_STATE][WALKER_STATE];      /* lower triangle */
    real f[1 + WALKER_LINEAR][WALKER_STATE]; /* of the residuals and of the derivatives */
    real cosine[WALKER_PAIRS], sine[WALKER_PAIRS];
} walker_chain;

LANE_FN void walker_chain_turn(const walker_noise *noise, const walker_chain *chain, int p, real *x, real *y)
{
    const real c = chain->cosine[p], s = chain->sine[p], first = lane_fnma(noise->pair[p].q * s, *y, c * *x);
    *y = lane_fma(s, *x, c * *y);
    *x = first;
}

/* Go on by t. */
LANE_FN void walker_chain_go(const walker_noise *noise, walker_chain *chain, real t, int n_sides)
{
    const int n = noise->n_pairs;
    for (int p = 0; p < n; p++)
        walker_pair_at(&noise->pair[p], t, &chain->cosine[p], &chain->sine[p]);
    for (int i = 0; i < n_sides; i++)
        for (int p = 0; p < n; p++)
            walker_chain_turn(noise, chain, p, &chain->f[i][2 * p], &chain->f[i][2 * p + 1]);
    for (int p = 0; p < n; p++)
        for (int q = 0; q <= p; q++) {
            real block[2][2];
            const int i = 2 * p, j = 2 * q;
            block[0][0] = chain->s[i][j];
            block[1][0] = chain->s[i + 1][j];
            block[1][1] = chain->s[i + 1][j + 1];
            block[0][1] = p == q ? block[1][0] : chain->s[i][j + 1];
            for (int row = 0; row < 2; row++)
                walker_chain_turn(noise, chain, q, &block[row][0], &block[row][1]);
            for (int column = 0; column < 2; column++)
                walker_chain_turn(noise, chain, p, &block[0][column], &block[1][column]);
            chain->s[i][j] = block[0][0];
            chain->s[i + 1][j] = block[1][0];
            chain->s[i + 1][j + 1] = block[1][1];
            chain->s[i][j + 1] = block[0][1];
        }
}

/* A datum: what is new of it, in the place of what there is of it; then the state has it, too. */
LANE_FN void walker_chain_take(const walker_noise *noise, walker_chain *chain, walker_news *news, int n_linear)
{
    const int n = 2 * noise->n_pairs;
    real w[WALKER_STATE], along = lane_set(0.0);
    for (int i = 0; i < n; i++) {
        real sum = lane_set(0.0);
        for (int j = 0; j < n; j++) {
            const real u = j % 2 ? noise->pair[j / 2].b : noise->pair[j / 2].a;
            sum = lane_fma(i > j ? chain->s[i][j] : chain->s[j][i], u, sum);
        }
        w[i] = (i % 2 ? 0.0 : 1.0) - sum;
        along = lane_fma(i % 2 ? noise->pair[i / 2].b : noise->pair[i / 2].a, sum, along);
    }
    news->variance = (news->variance + noise->variance) - along;
    const real inverse = 1.0 / news->variance;
    for (int side = 0; side <= n_linear; side++) {
        real *f = chain->f[side], *z = side ? &news->slope[side - 1] : &news->z, left = *z;
        for (int j = 0; j < n; j++)
            left = lane_fnma(j % 2 ? noise->pair[j / 2].b : noise->pair[j / 2].a, f[j], left);
        for (int i = 0; i < n; i++)
            f[i] = lane_fma(w[i], left * inverse, f[i]);
        *z = left;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            chain->s[i][j] = lane_fma(w[i] * inverse, w[j], chain->s[i][j]);
}

/* Sums of exponentials, in O(n). */
LANE_FN void walker_chained(const shoal_walk *walk, const shoal_walker_group *group, lane_id id,
                            const walker_noise *noise, walker_totals *totals)
{
    walker_chain chain;
    const real zero = lane_set(0.0);
    double before = 0;
    for (int i = 0; i < 2 * noise->n_pairs; i++) {
        for (int j = 0; j < 2 * noise->n_pairs; j++)
            chain.s[i][j] = zero;
        for (int side = 0; side <= group->n_linear; side++)
            chain.f[side][i] = zero;
    }
    LANE_KEEP_ROLLED
    for (long long j = group->first; j < group->first + group->n; j++) {
        walker_news news;
        const int column = walker_look(walk, &walk->places[j], id, &news.z, &news.variance);
        const double time = walk->data[walk->places[j].datum].time;
        for (int i = 0; i < group->n_linear; i++)
            news.slope[i] = i == column ? lane_set(1.0) : zero;
        if (j > group->first && time > before)
            walker_chain_go(noise, &chain, lane_set(time - before), 1 + group->n_linear);
        before = time;
        walker_chain_take(noise, &chain, &news, group->n_linear);
        walker_totals_add(totals, &news, group->n_linear);
    }
}

/* The covariance of all processes of a group at a distance t. */
LANE_FN real walker_covariance(const shoal_walk *walk, const shoal_walker_group *group, lane_id id,
                               const walker_noise *noise, real t)
{
    real sum = lane_set(0.0), s, c;
    for (int p = 0; p < noise->n_pairs; p++) {
        const walker_pair *pair = &noise->pair[p];
        walker_pair_at(pair, t, &c, &s);
        sum = lane_fma(pair->a, c, lane_fma(pair->b, s, sum));
    }
    LANE_KEEP_ROLLED
    for (int p = 0; p < group->n_processes; p++) {
        const shoal_walker_process *process = &walk->processes[group->first_process + p];
        mask good = t == t;
        if (process->kernel != SHOAL_KERNEL_QUASI_PERIODIC)
            continue;
        const real sigma = walker_number(walk, &process->sigma, id),
                   decayed = t / walker_positive(walk, &process->decay, id, &good),
                   period = walker_positive(walk, &process->period, id, &good),
                   width = walker_positive(walk, &process->width, id, &good);
        lane_sincos(WALKER_PI * t / period, &s, &c);
        const real wave = s / width;
        sum = lane_fma(sigma * sigma, lane_exp(-lane_fma(0.5 * wave, wave, decayed * decayed)), sum);
    }
    return sum;
}

/* Where row i of a lower triangle begins. */
LANE_FN int walker_row(int i)
{
    return i * (i + 1) / 2;
}

/* The sum of products of the first n numbers of two rows of walk->work. */
LANE_FN real walker_rows_product(const shoal_walk *walk, lane_id id, int a, int b, int n)
{
    enum { SUMS = 4 }; /* none of which waits for another */
    real sum[SUMS];
    int k = 0;
    LANE_UNROLL_FULLY
    for (int q = 0; q < SUMS; q++)
        sum[q] = lane_set(0.0);
    LANE_KEEP_ROLLED
    for (; k + SUMS <= n; k += SUMS) {
        LANE_UNROLL_FULLY
        for (int q = 0; q < SUMS; q++)
            sum[q] = lane_fma(lane_load(walk->work, id, a + k + q, walk->n_work),
                              lane_load(walk->work, id, b + k + q, walk->n_work), sum[q]);
    }
    for (; k < n; k++)
        sum[0] = lane_fma(lane_load(walk->work, id, a + k, walk->n_work),
                          lane_load(walk->work, id, b + k, walk->n_work), sum[0]);
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* Any processes, by Cholesky's factors. Row i of walk->work is L's, with 1 / L_ii at its end; behind the last row stand
 * the rows of the residuals and of the derivatives, to which the same happens. */
LANE_FN void walker_dense(const shoal_walk *walk, const shoal_walker_group *group, lane_id id, mask there,
                          const walker_noise *noise, walker_totals *totals)
{
    const int n = (int)group->n, size = walk->n_work, sides = walker_row(n);
    const shoal_walker_place *places = walk->places + group->first;
    LANE_KEEP_ROLLED
    for (int i = 0; i < n; i++) {
        const double time = walk->data[places[i].datum].time;
        walker_news news;
        const int row = walker_row(i), column = walker_look(walk, &places[i], id, &news.z, &news.variance);
        for (int side = 0; side < group->n_linear; side++)
            news.slope[side] = lane_set(side == column ? 1.0 : 0.0);
        LANE_KEEP_ROLLED
        for (int j = 0; j < i; j++) {
            const real t = lane_set(time - walk->data[places[j].datum].time),
                       left = walker_covariance(walk, group, id, noise, t) -
                              walker_rows_product(walk, id, row, walker_row(j), j);
            lane_put(walk->work, id, row + j, size, there, left * lane_load(walk->work, id, walker_row(j) + j, size));
        }
        news.variance = (news.variance + noise->variance) - walker_rows_product(walk, id, row, row, i);
        const mask good = news.variance > lane_set(0.0);
        const real inverse = lane_rsqrt(lane_select(good, news.variance, lane_set(1.0)));
        lane_put(walk->work, id, row + i, size, there, inverse);
        for (int side = 0; side <= group->n_linear; side++) {
            real *z = side ? &news.slope[side - 1] : &news.z;
            *z = *z - walker_rows_product(walk, id, row, sides + side * n, i);
            lane_put(walk->work, id, sides + side * n + i, size, there, *z * inverse);
        }
        walker_totals_add(totals, &news, group->n_linear);
    }
}

/* Sets that have processes in common. */
LANE_FN real walker_group_likelihood(const shoal_walk *walk, const shoal_walker_group *group, lane_id id, mask there)
{
    walker_noise noise;
    walker_totals totals;
    real best[WALKER_LINEAR];
    walker_noise_of(walk, group, id, &noise);
    walker_totals_clear(&totals);
    if (group->dense)
        walker_dense(walk, group, id, there, &noise, &totals);
    else
        walker_chained(walk, group, id, &noise, &totals);
    totals.good = totals.good & noise.good;
    const real lnl = walker_totals_end(&totals, group->n_linear, best);
    LANE_KEEP_ROLLED
    for (int i = 0; walk->predicted && i < walk->n_sets; i++) {
        const walker_terms terms = walker_terms_of(walk, &walk->sets[i], id);
        if (walk->sets[i].group == (int)(group - walk->groups))
            walker_predict(walk, &walk->sets[i], &terms, best, id, there);
    }
    return lnl;
}
