/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * hybrid_again.kern.h: a step of hybrid.kern.h made again, with what is near taken out of the kick and put into the
 * drift. Of whole systems. In four parts, since a GPU's lanes come to their ends at different times (hybrid_go_on).
 */
#include "integrators/hybrid_drift.kern.h"
#include "integrators/hybrid_near.kern.h"

/* What the conditions need of the step and of a planet. */
typedef struct hybrid_measure {
    real h, hill6, speed6; /* |h|; k^6, 9 m_0^2 (w h)^6 */
    real bottom;           /* 9 m_0^2 */
} hybrid_measure;

LANE_FN hybrid_measure hybrid_measures(const shoal_kernel_args *k, const real *m, real h)
{
    const double *p = k->propagator;
    const double hill2 = p[HYBRID_HILL] * p[HYBRID_HILL], speed2 = p[HYBRID_SPEED] * p[HYBRID_SPEED];
    const real h2 = h * h;
    hybrid_measure measure;
    measure.h = lane_abs(h);
    measure.bottom = 9.0 * m[0] * m[0];
    measure.hill6 = lane_set(hill2 * hill2 * hill2);
    measure.speed6 = (speed2 * speed2 * speed2) * measure.bottom * h2 * h2 * h2;
    return measure;
}

/* hill6_i, hill6_j: (k |x|)^6 9 m^2 / 9 */
/* long: inlined; what is known of the two bodies, and of all pairs */
LANE_FN mask hybrid_near(int n, const real *m, const real *s, hybrid_measure measure, real hill6_i, real hill6_j, int i,
                         int j)
{
    const real *x = s, *v = s + 3 * n;
    const real dx = x[j] - x[i], dy = x[n + j] - x[n + i], dz = x[2 * n + j] - x[2 * n + i];
    const real ux = v[j] - v[i], uy = v[n + j] - v[n + i], uz = v[2 * n + j] - v[2 * n + i];
    const real d2 = lane_fma(dz, dz, lane_fma(dy, dy, dx * dx));
    const real u2 = lane_fma(uz, uz, lane_fma(uy, uy, ux * ux));
    const real q = lane_abs(lane_fma(dz, uz, lane_fma(dy, uy, dx * ux)));
    /* least distance squared = top / bottom: within the half step, d^2 - q^2 / u^2; or at its end */
    const real half = 0.5 * measure.h, way = half * u2;
    const mask within = q < way;
    const real top = lane_select(within, lane_fma(d2, u2, -(q * q)), lane_fma(half, way - 2.0 * q, d2));
    const real bottom = lane_select(within, u2, lane_set(1.0));
    const real speed6 = lane_select(m[i] + m[j] > lane_set(0.0), measure.speed6 * (u2 * u2 * u2), lane_set(0.0));
    const real reach6 = lane_max(lane_max(hill6_i, hill6_j), speed6);
    return top * top * top * measure.bottom < reach6 * (bottom * bottom * bottom);
}

/* No flags; returns no lanes. */
LANE_FN mask hybrid_clear(const shoal_kernel_args *k, int n, mask *near, mask *drifts)
{
    const mask none = lane_set(0.0) != lane_set(0.0);
    DRIFT_UNROLL
    for (int i = 0; i < HYBRID_PAIRS(k, n); i++)
        near[i] = none;
    DRIFT_UNROLL
    for (int i = 0; i < n; i++)
        drifts[i] = none;
    return none;
}

/* Lanes of `where` in which two planets are near each other. */
/* long: as hybrid_near */
LANE_FN mask hybrid_any_near(const shoal_kernel_args *k, int n, const real *m, const real *s, hybrid_measure measure,
                             const real *hill6, mask where)
{
    const int bodies = real_bodies(k, n);
    mask any = lane_set(0.0) != lane_set(0.0);
    DRIFT_UNROLL
    for (int i = 1; i < bodies; i++) {
        if (i >= MASSIVE(k))
            break;
        DRIFT_UNROLL
        for (int j = i + 1; j < bodies; j++)
            any = any | (where & hybrid_near(n, m, s, measure, hill6[i], hill6[j], i, j));
    }
    return any;
}

/* Adds what is near in state s to the flags of the lanes `where`; returns the lanes that got something new, *any:
 * those that have something. */
/* long: inlined; three of them are results, masks in registers */
LANE_FN mask hybrid_flag(const shoal_kernel_args *k, int n, const real *m, const real *s, real h, mask where,
                         mask *near, mask *drifts, mask *all, mask *any)
{
    const int bodies = real_bodies(k, n);
    const hybrid_measure measure = hybrid_measures(k, m, h);
    const mask none = lane_set(0.0) != lane_set(0.0);
    real hill6[LANE_ROOM(n)];
    mask fresh = none, star = none, seen = none;
    DRIFT_UNROLL
    for (int i = 1; i < bodies; i++) {
        const real r2 = hybrid_r2(n, s, i);
        star = star | (where & hybrid_near_star(k, n, m, s, h, r2, i));
        hill6[i] = measure.hill6 * (r2 * r2 * r2) * (m[i] * m[i]);
    }
    if (FORCES(k) && k->forces_part) /* which are a part of the drift where everything drifts */
        star = star | hybrid_any_near(k, n, m, s, measure, hill6, where);
    fresh = star & lane_not(*all);
    *all = *all | star;
    DRIFT_UNROLL
    for (int i = 1; i < bodies; i++) {
        drifts[i] = drifts[i] | *all; /* a planet alone */
        if (i >= MASSIVE(k))
            continue;
        DRIFT_UNROLL
        for (int j = i + 1; j < bodies; j++) {
            const mask close = where & hybrid_near(n, m, s, measure, hill6[i], hill6[j], i, j), now = close | *all;
            seen = seen | close;
            fresh = fresh | (now & lane_not(near[i * n + j]));
            near[i * n + j] = near[i * n + j] | now;
            drifts[i] = drifts[i] | now;
            drifts[j] = drifts[j] | now;
        }
    }
    if (VARIATIONAL(k))
        DRIFT_UNROLL
    for (int i = 1; i < bodies; i++)
        drifts[bodies + i] = drifts[i];
    *any = seen | star;
    return fresh;
}

/* Kick by the pairs that are not near. */
LANE_FN void hybrid_kick(const shoal_kernel_args *k, int n, int compensated, const real *m, real *s, hybrid_flags flags,
                         real h)
{
    const int bodies = real_bodies(k, n);
    real a[3 * LANE_ROOM(n)];
    DRIFT_UNROLL
    for (int c = 0; c < 3 * n; c++)
        a[c] = lane_set(0.0);
    DRIFT_UNROLL
    for (int i = 1; i < bodies; i++) {
        if (i >= MASSIVE(k))
            break;
        DRIFT_UNROLL
        for (int j = i + 1; j < bodies; j++) {
            const mask near = flags.near[i * n + j];
            if (DRIFT_SKIPS(lane_not(near)))
                continue;
            const real d[3] = {s[j] - s[i], s[n + j] - s[n + i], s[2 * n + j] - s[2 * n + i]};
            const real y = lane_rsqrt(lane_fma(d[2], d[2], lane_fma(d[1], d[1], d[0] * d[0])));
            const real y3 = y * y * y;
            DRIFT_UNROLL
            for (int c = 0; c < 3; c++) {
                a[c * n + i] = lane_select(near, a[c * n + i], lane_fma(m[j] * y3, d[c], a[c * n + i]));
                a[c * n + j] = lane_select(near, a[c * n + j], lane_fnma(m[i] * y3, d[c], a[c * n + j]));
            }
            if (VARIATIONAL(k))
                pair_tangent(n, bodies, i, j, m, s, lane_not(near), y, a);
        }
    }
    DRIFT_UNROLL
    for (int c = 0; c < 3; c++)
        DRIFT_UNROLL
    for (int i = 1; i < n; i++)
        lane_add_times(compensated, &s[(3 + c) * n + i], &s[(12 + c) * n + i], h, a[c * n + i]);
}

/* Velocities that drift, of n bodies: relative to the star where everybody does (sign = 1), and back to the
 * barycentre (-1). */
LANE_FN void hybrid_velocities(int stride, int n, const real *m, hybrid_flags flags, real *v, int sign)
{
    real bottom = m[0];
    if (sign < 0)
        DRIFT_UNROLL
    for (int i = 1; i < n; i++)
        bottom = bottom + m[i];
    DRIFT_UNROLL
    for (int c = 0; c < 3 * stride; c += stride) {
        real sum = lane_set(0.0);
        DRIFT_UNROLL
        for (int i = 1; i < n; i++)
            sum = lane_fma(m[i], v[c + i], sum);
        sum = lane_select(flags.all, (double)sign * sum / bottom, lane_set(0.0));
        DRIFT_UNROLL
        for (int i = 1; i < n; i++)
            v[c + i] = v[c + i] + sum;
    }
}

/* Of Kepler's solution where no lane needs it: a select has the bits of one side, but reads both. */
#define HYBRID_NOTHING                                                                           \
    {                                                                                            \
        lane_set(0.0), lane_set(0.0), lane_set(0.0), lane_set(0.0), lane_set(0.0), lane_set(0.0) \
    }

/* The barycentric view of the bodies after a part of the drift; planets that are near nobody by Kepler's solution. */
/* long: inlined; the arrays of a drift, each in registers */
LANE_FN void hybrid_inside_view(const shoal_kernel_args *k, int n, const real *m, hybrid_flags flags, const real *x,
                                const real *v, const real *dx, const real *dv, real time, real *w)
{
    const int bodies = real_bodies(k, n);
    real s[6 * LANE_ROOM(n)], d[6] = HYBRID_NOTHING;
    DRIFT_UNROLL
    for (int i = 1; i < bodies; i++) {
        const mask drifts = flags.drifts[i];
        const real at[6] = {x[i], x[n + i], x[2 * n + i], v[i], v[n + i], v[2 * n + i]};
        if (lane_any(lane_not(drifts)))
            kepler_change(m[0], time, 1, at, d, 0);
        DRIFT_UNROLL
        for (int c = 0; c < 3; c++) {
            s[c * bodies + i] = x[c * n + i] + lane_select(drifts, dx[c * n + i], d[c]);
            s[(3 + c) * bodies + i] = v[c * n + i] + lane_select(drifts, dv[c * n + i], d[3 + c]);
        }
    }
    hybrid_velocities(bodies, bodies, m, flags, s + 3 * bodies, -1);
    propagator_view(k, bodies, m, s, w);
}

/* A step in work: arrays of n bodies, and where its lanes are. */
typedef struct hybrid_work {
    real *t;             /* [PROPAGATOR_SLOTS(1) * n] the state on its way */
    real *dx, *dv;       /* [3 * n] its changes in the drift */
    real *f;             /* [NYSTROM_STAGES][3 * n] accelerations there, the first stage being known */
    real *before;        /* [6 * n] the view of what was shown last */
    mask *near, *drifts; /* [n * n], [n] */
    mask all, again;     /* everything drifts; lanes that need this trial */
    mask active;         /* whose drift is not over */
    mask ends_near;
    real substep, done; /* the next one; of the drift */
} hybrid_work;

LANE_FN hybrid_work hybrid_work_in(real *t, real *dx, real *dv, real *f, real *before, mask *near, mask *drifts)
{
    const mask none = lane_set(0.0) != lane_set(0.0);
    const hybrid_work w = {t, dx, dv, f, before, near, drifts, none, none, none, none, lane_set(0.0), lane_set(0.0)};
    return w;
}

LANE_FN hybrid_flags hybrid_flags_of(const hybrid_work *w)
{
    const hybrid_flags flags = {w->near, w->drifts, w->all};
    return flags;
}

/* w->again: the lanes of `where` in which something is near at the step's start. */
/* long: inlined, so that arguments cost nothing */
LANE_FN void hybrid_begin(const shoal_kernel_args *k, int n, const real *m, const real *start, const real *own, real h,
                          mask where, hybrid_work *w)
{
    mask any;
    w->all = w->ends_near = hybrid_clear(k, n, w->near, w->drifts);
    w->substep = lane_min(own[HYBRID_SUBSTEP], lane_abs(h));
    w->substep = lane_select(h < lane_set(0.0), -w->substep, w->substep);
    w->again = hybrid_flag(k, n, m, start, h, where, w->near, w->drifts, &w->all, &any);
}

/* And those of the others in which something is at its end as mvs makes it. */
LANE_FN void hybrid_foresee(const shoal_kernel_args *k, int n, const real *m, const real *end, real h, mask where,
                            hybrid_work *w)
{
    mask any;
    w->again = w->again | hybrid_flag(k, n, m, end, h, where & lane_not(w->again), w->near, w->drifts, &w->all, &any);
}

/* From the step's start to that of the drift, in the lanes w->again. */
/* long: inlined, so that arguments cost nothing */
LANE_FN void hybrid_set_out(const shoal_kernel_args *k, int n, int compensated, const real *m, const real *start,
                            real h, hybrid_work *w, lane_inside *inside)
{
    const int bodies = real_bodies(k, n);
    const hybrid_flags flags = hybrid_flags_of(w);
    const real half = lane_select(w->all, lane_set(0.0), 0.5 * h), jump = half / m[0];
    real *t = w->t;
    if (inside) {
        inside->planets = inside->planets | w->again;
        inside->star = (inside->star & lane_not(w->again)) | (w->all & w->again);
        inside_forget(k, bodies, w->again, inside);
    }
    DRIFT_UNROLL
    for (int c = 0; c < PROPAGATOR_SLOTS(1) * n; c++)
        t[c] = start[c];
    if (FORCES(k))
        mvs_forces(k, n, compensated, m, t, half);
    hybrid_kick(k, n, compensated, m, t, flags, 0.5 * h);
    mvs_jumps(k, n, compensated, m, t, jump);
    DRIFT_UNROLL
    for (int first = 0; first < n; first += bodies)
        hybrid_velocities(n, bodies, m, flags, t + 3 * n + first, 1);
    DRIFT_UNROLL
    for (int c = 0; c < 3 * n; c++)
        w->dx[c] = w->dv[c] = lane_set(0.0);
    w->done = lane_set(0.0);
    w->active = w->again;
    drift_acceleration(k, n, m, flags, t, t + 3 * n, w->f);
    if (inside)
        hybrid_inside_view(k, n, m, flags, t, t + 3 * n, w->dx, w->dv, w->done, w->before);
}

/* Bodies i < j turn back in the lanes `where`: their relative velocity changes its sign. v: what drifts, of n bodies;
 * relative to the star if the pair is one with it. */
/* long: as hybrid_turn_back, for bodies or tangent vectors */
LANE_FN void hybrid_turn(int stride, int n, int i, int j, const real *m, mask where, const real *v, real *dv)
{
    const real share = 2.0 / (m[i] + m[j]);
    DRIFT_UNROLL
    for (int c = 0; c < 3 * stride; c += stride) {
        const real u = v[c + j] + dv[c + j] - (i > 0 ? v[c + i] + dv[c + i] : lane_set(0.0));
        const real by_i = lane_select(where, m[j] * share * u, lane_set(0.0));
        dv[c + j] = dv[c + j] - lane_select(where, m[i] * share * u, lane_set(0.0));
        if (i > 0)
            dv[c + i] = dv[c + i] + by_i;
        DRIFT_UNROLL
        for (int l = 1; l < n; l++)
            if (i == 0)
                dv[c + l] = dv[c + l] - by_i;
    }
}

/* Who has gone through a contact that a monitor has seen, and would fall to the other's very centre, where no step is
 * short enough, turns back, at `deep` times the distance of the contact. Until the step ends, and the contact counts,
 * the two keep their energy and momentum so. h: the step, whose sign tells who falls. Returns the lanes with such a
 * pair. */
/* long: what the drift has of its bodies */
LANE_FN mask hybrid_turn_back(const shoal_kernel_args *k, int n, const real *m, hybrid_flags flags, lane_id id,
                              mask where, double deep, real h, const real *x, const real *v, const real *dx, real *dv)
{
    const int bodies = real_bodies(k, n);
    mask any = lane_set(0.0) != lane_set(0.0);
    DRIFT_UNROLL
    for (int i = 0; i < bodies; i++) {
        if (i >= MASSIVE(k))
            break;
        DRIFT_UNROLL
        for (int j = i + 1; j < bodies; j++) {
            const real reach = deep * collision_reach(k, id, bodies, i, j);
            real d2 = lane_set(0.0), du = lane_set(0.0);
            DRIFT_UNROLL
            for (int c = 0; c < 3 * n; c += n) {
                const real d = x[c + j] + dx[c + j] - (i > 0 ? x[c + i] + dx[c + i] : lane_set(0.0)),
                           u = v[c + j] + dv[c + j] - (i > 0 ? v[c + i] + dv[c + i] : lane_set(0.0));
                d2 = lane_fma(d, d, d2);
                du = lane_fma(d, u, du);
            }
            const mask turns = where & (i > 0 ? flags.near[i * n + j] : flags.all) & (reach > lane_set(0.0)) &
                               (d2 < reach * reach) & (du * h < lane_set(0.0));
            if (!lane_any(turns))
                continue;
            any = any | turns;
            hybrid_turn(n, bodies, i, j, m, turns, v, dv);
            if (VARIATIONAL(k))
                hybrid_turn(n, bodies, i, j, m, turns, v + bodies, dv + bodies);
        }
    }
    return any;
}

/* Most who touch go round each other's centre, not through it. If that takes too many substeps, they turn back where
 * they touch. */
LANE_FN double hybrid_depth(int attempt)
{
    return attempt < NYSTROM_ATTEMPTS / 2 ? 0x1p-10 : 1.0;
}

/* A substep of the lanes w->active. attempt: their number before. */
LANE_FN void hybrid_substep(const shoal_kernel_args *k, int n, const real *m, real h, int attempt, hybrid_work *w,
                            lane_inside *inside)
{
    const hybrid_flags flags = hybrid_flags_of(w);
    const real *x = w->t, *v = w->t + 3 * n, sub = w->substep;
    real *f = w->f, *dx = w->dx, *dv = w->dv, nx[3 * LANE_ROOM(n)], nv[3 * LANE_ROOM(n)], after[6 * LANE_ROOM(n)];
    const drift_work work = {x, v, dx, dv, f, nx, nv};
    const real left = h - w->done;
    const mask last = lane_abs(sub) >= lane_abs(left);
    const real step = lane_select(last, left, lane_select(2.0 * lane_abs(sub) > lane_abs(left), 0.5 * left, sub));
    const real error2 = drift_try(k, n, m, flags, work, step, k->propagator[HYBRID_TOLERANCE]);
    const mask accepted = w->active & (error2 <= lane_set(1.0));
    /* 0.85 error^(-1/8) within 6 %, between 0.2 and 4 */
    real change = lane_power_seed(error2, -1.0 / 16);
    change = lane_select(error2 < lane_set(1e9), lane_min(lane_max(0.85 * change, lane_set(0.2)), lane_set(4.0)),
                         lane_set(0.2)) *
             step;
    const mask cut = accepted & (lane_abs(step) < lane_abs(sub)) & (lane_abs(change) < lane_abs(sub));
    w->substep = lane_select(w->active & lane_not(cut), change, sub);
    w->done = lane_select(accepted, lane_select(last, h, w->done + step), w->done);
    DRIFT_UNROLL
    for (int i = 1; i < n; i++) {
        if (DRIFT_SKIPS(flags.drifts[i]))
            continue;
        DRIFT_UNROLL
        for (int c = i; c < 3 * n; c += n) {
            dx[c] = lane_select(accepted, nx[c], dx[c]);
            dv[c] = lane_select(accepted, nv[c], dv[c]);
            f[c] = lane_select(accepted, f[(NYSTROM_STAGES - 1) * 3 * n + c], f[c]);
        }
    }
    if (inside && lane_any(accepted)) {
        hybrid_inside_view(k, n, m, flags, x, v, dx, dv, w->done, after);
        inside_watch(k, real_bodies(k, n), m, w->before, after, accepted, accepted & flags.all, step,
                     (w->done - step) / h, step / h, inside);
        DRIFT_UNROLL
        for (int c = 0; c < 6 * real_bodies(k, n); c++)
            w->before[c] = lane_select(accepted, after[c], w->before[c]);
        if ((MONITORS(k) & (1 << SHOAL_MONITOR_stop_on_collision)) &&
            lane_any(hybrid_turn_back(k, n, m, flags, inside->id, accepted, hybrid_depth(attempt), h, x, v, dx, dv))) {
            hybrid_inside_view(k, n, m, flags, x, v, dx, dv, w->done, after);
            DRIFT_UNROLL
            for (int c = 0; c < 6 * real_bodies(k, n); c++)
                w->before[c] = lane_select(accepted, after[c], w->before[c]);
        }
    }
    w->active = w->active & lane_not(accepted & last);
}

/* From the end of the drift to that of the step, w->t; w->again: the lanes that need another trial, for something
 * new is near there. A drift that used up its substeps has no end. (What is no number has none either, but substeps
 * that shrink to 0.) */
LANE_FN void hybrid_arrive(const shoal_kernel_args *k, int n, int compensated, const real *m, real h, hybrid_work *w)
{
    const int bodies = real_bodies(k, n);
    const hybrid_flags flags = hybrid_flags_of(w);
    const real half = lane_select(w->all, lane_set(0.0), 0.5 * h), jump = half / m[0];
    real *t = w->t, d[6] = HYBRID_NOTHING, e[6] = HYBRID_NOTHING;
    mask any;
    DRIFT_UNROLL
    for (int c = 0; c < 3 * n; c++)
        w->dx[c] = lane_select(w->active, lane_set(0.0) / lane_set(0.0), w->dx[c]);
    w->substep = lane_select(w->active & (w->substep != lane_set(0.0)), lane_set(HYBRID_GAVE_UP), w->substep);
    DRIFT_UNROLL
    for (int i = 1; i < bodies; i++) {
        if (lane_any(w->again & lane_not(w->drifts[i]))) {
            kepler_solution solved;
            kepler_change(m[0], h, n, t + i, d, VARIATIONAL(k) ? &solved : 0);
            if (VARIATIONAL(k))
                kepler_tangent(&solved, n, t + i, d, t + bodies + i, e);
        }
        DRIFT_UNROLL
        for (int at = i; at < n; at += bodies)
            DRIFT_UNROLL
        for (int c = 0; c < 3; c++) {
            const real *kepler = at == i ? d : e;
            lane_add(compensated, &t[c * n + at], &t[(9 + c) * n + at],
                     lane_select(w->drifts[i], w->dx[c * n + at], kepler[c]));
            lane_add(compensated, &t[(3 + c) * n + at], &t[(12 + c) * n + at],
                     lane_select(w->drifts[i], w->dv[c * n + at], kepler[3 + c]));
        }
    }
    DRIFT_UNROLL
    for (int first = 0; first < n; first += bodies)
        hybrid_velocities(n, bodies, m, flags, t + 3 * n + first, -1);
    mvs_jumps(k, n, compensated, m, t, jump);
    newton_acceleration(k, n, 1, m, t, t + 6 * n);
    hybrid_kick(k, n, compensated, m, t, flags, 0.5 * h);
    if (FORCES(k))
        mvs_forces(k, n, compensated, m, t, half);
    const mask fresh = hybrid_flag(k, n, m, t, h, w->again, w->near, w->drifts, &w->all, &any);
    w->ends_near = any | (w->ends_near & lane_not(w->again));
    w->again = w->again & fresh;
}

/* What the next step of the lanes `where` is told. */
LANE_FN void hybrid_settle(const hybrid_work *w, mask where, real *own)
{
    own[HYBRID_NEAR] = lane_select(where, lane_select(w->ends_near, lane_set(1.0), lane_set(0.0)), own[HYBRID_NEAR]);
    own[HYBRID_SUBSTEP] = lane_select(where, lane_abs(w->substep), own[HYBRID_SUBSTEP]);
}

/* The step of the lanes `where` once more from `start`, with what is near in the drift; s holds the end of the trial
 * and gets the result. */
/* long: the step of a propagator has these arguments, and the lanes are one more */
LANE_BIG_FN void hybrid_again(const shoal_kernel_args *k, int n, int compensated, const real *m, const real *start,
                              real *s, real h, mask where, lane_inside *inside)
{
    real t[PROPAGATOR_SLOTS(1) * LANE_ROOM(n)], dx[3 * LANE_ROOM(n)], dv[3 * LANE_ROOM(n)], before[6 * LANE_ROOM(n)];
    real f[NYSTROM_STAGES * 3 * LANE_ROOM(n)];
    mask near[HYBRID_PAIRS(k, n)], drifts[LANE_ROOM(n)];
    hybrid_work w = hybrid_work_in(t, dx, dv, f, before, near, drifts);
    hybrid_begin(k, n, m, start, HYBRID_OWN(n, s), h, where, &w);
    hybrid_foresee(k, n, m, s, h, where, &w);
    LANE_KEEP_ROLLED
    for (int trial = 0; trial < HYBRID_TRIALS && lane_any(w.again); trial++) {
        const mask again = w.again;
        hybrid_set_out(k, n, compensated, m, start, h, &w, inside);
        LANE_KEEP_ROLLED
        for (int attempt = 0; attempt < NYSTROM_ATTEMPTS && lane_any(w.active); attempt++)
            hybrid_substep(k, n, m, h, attempt, &w, inside);
        hybrid_arrive(k, n, compensated, m, h, &w);
        LANE_UNROLL_GPU
        for (int c = 0; c < PROPAGATOR_SLOTS(compensated) * n; c++)
            s[c] = lane_select(again, t[c], s[c]);
    }
    hybrid_settle(&w, where, HYBRID_OWN(n, s));
}
