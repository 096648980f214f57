/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * frequency.kern.h: the leading frequency of an orbit's motion in each half of the run, for their difference, a chaos
 * indicator (Laskar 1990, Icarus 88, 266; 1993, Physica D 67, 257; 2003, arXiv:math/0305364): that at which
 *
 *     |1/T int z(t) exp(-i f t) chi(t) dt|,    chi = 1 + cos(pi u), u = -1..1 in the half (Hann's window)
 *
 * is largest, of
 *
 *     z = exp(i lambda)    or    k + i h = e exp(i varpi)    or    q + i p = sin(i/2) exp(i Omega)
 *
 * (frequency analysis, NAFF). Of retrograde orbits it is cos(i/2) for sin(i/2), and the longitudes of orbit.kern.h.
 * frequency.c looks for the frequency, in a short record that this text makes:
 *
 * Each half has 35 blocks. In the first two of them the mean rate sigma of the argument of z is measured, with the
 * weight (s (1 - s))^2, s = 0..1. Of pericentre and node it is that of z smoothed over 8 periods, or 4 looks, and that
 * of the first half holds for both: where z passes near 0, as from a circle, its short terms would wind the argument
 * about. From then on z exp(-i sigma t), which is slow, is averaged about 29 places, one a block, with the weight of a
 * cubic B-spline, four blocks wide. A line at distance d from sigma is so weakened by sinc^4(d D / 2), D the length of
 * a block; what is fast, and would else look slow, by its inverse fourth power. So lines within 15 turns in 30 blocks
 * of sigma are seen.
 *
 * Integrals over time are sums over looks, each times the time since the one before: there have to be more than two
 * looks in a period of z, and 16 in a block.
 */
enum { FREQUENCY_BODY, FREQUENCY_OF, FREQUENCY_ELEMENTS, FREQUENCY_EVERY, FREQUENCY_BODIES, frequency_PARAMETERS };
/* choices of `bodies` */
enum { FREQUENCY_ONE, FREQUENCY_ALL };
/* choices of `of` */
enum { FREQUENCY_OF_LONGITUDE, FREQUENCY_OF_PERICENTRE, FREQUENCY_OF_NODE };
enum {
    FREQUENCY_BLOCKS = 35, /* of a half */
    FREQUENCY_LEAD = 2,    /* of them to measure sigma in */
    FREQUENCY_PLACES = FREQUENCY_BLOCKS - FREQUENCY_LEAD - 4,
    FREQUENCY_LOOKS = 16 /* the least in a block, on average */
};
/* slots: steps left until the next look; number of the block, of both halves; time of the last look, and the argument
 * of z; in the lead sum of weights, and of weighted changes of the argument; sigma; sums about the places that the
 * block is part of, real and imaginary; how many looks */
enum {
    FREQUENCY_LEFT,
    FREQUENCY_BLOCK,
    FREQUENCY_TIME,
    FREQUENCY_ARGUMENT,
    FREQUENCY_WEIGHT,
    FREQUENCY_TURNED,
    FREQUENCY_SIGMA,
    FREQUENCY_RE,
    FREQUENCY_IM = FREQUENCY_RE + 4,
    FREQUENCY_SEEN = FREQUENCY_IM + 4,
    FREQUENCY_SMOOTH, /* z, smoothed: real and imaginary part */
    frequency_SLOTS = FREQUENCY_SMOOTH + 2
};
/* slots of a record: of each half the sums about its places, then its sigma; the length of a block, and the looks up
 * to the last place. Where all bodies are followed, each has a record, and then its own slots but the first. */
enum {
    FREQUENCY_RECORD_SIGMA = 2 * FREQUENCY_PLACES,
    FREQUENCY_RECORD_HALF,
    FREQUENCY_RECORD_BLOCK = 2 * FREQUENCY_RECORD_HALF,
    FREQUENCY_RECORD_SEEN,
    FREQUENCY_RECORD_SLOTS,
    frequency_PART_SLOTS = FREQUENCY_RECORD_SLOTS + frequency_SLOTS - 1
};

enum { frequency_LEFT = FREQUENCY_LEFT };

#ifdef SHOAL_KERNEL
#include "monitors/monitor.kern.h"
#include "monitors/orbit.kern.h"

/* The body's orbit at a look. */
typedef struct frequency_sight {
    mask bound;
    real re, im;   /* z */
    real argument; /* of z */
    real rate;     /* at which it turns, about */
    real motion;   /* the mean motion */
} frequency_sight;

LANE_FN frequency_sight frequency_look(lane_pair motion, real mu, mask there, int of)
{
    frequency_sight sight;
    const lane_orbit orbit = orbit_elements(motion, mu);
    const real q = lane_max(mu * orbit.inverse_a, lane_set(0.0));
    sight.bound = there & (orbit.inverse_a > lane_set(0.0));
    sight.motion = q * lane_sqrt(q) / mu;
    sight.rate = lane_set(0.0);
    if (of == FREQUENCY_OF_NODE) {
        const real scale = lane_rsqrt(2.0 * orbit.l * (orbit.l + lane_abs(orbit.lz)));
        sight.re = -(orbit.ly * scale);
        sight.im = orbit.lx * scale;
    } else {
        const lane_longitude o = orbit_longitude(motion, mu, orbit);
        sight.re = o.k;
        sight.im = o.h;
        if (of == FREQUENCY_OF_LONGITUDE) {
            sight.rate = orbit_sense(orbit) * sight.motion;
            sight.argument = orbit_mean_longitude(o);
            return sight;
        }
    }
    return sight;
}

/* Of pericentre or node: the argument of z, smoothed, in the lanes `due`. */
LANE_FN void frequency_smooth(mask due, real passed, frequency_sight *sight, real *slots)
{
    const mask known = slots[FREQUENCY_ARGUMENT] == slots[FREQUENCY_ARGUMENT];
    const real part = lane_select(known,
                                  lane_min(lane_set(0.25), lane_abs(passed) * sight->motion * 0x1.45f306dc9c883p-6),
                                  lane_set(1.0)); /* 1 / 16 pi */
    real *re = &slots[FREQUENCY_SMOOTH], *im = &slots[FREQUENCY_SMOOTH + 1];
    *re = lane_select(due, lane_fma(part, sight->re - *re, *re), *re);
    *im = lane_select(due, lane_fma(part, sight->im - *im, *im), *im);
    sight->argument = lane_atan2(*im, *re);
}

/* The place that gets no more from this block on goes to the record, which begins at that slot, and the others move
 * on. */
LANE_FN void frequency_keep(const shoal_kernel_args *k, const lane_view *view, int at, mask where, real *slots)
{
    const real zero = lane_set(0.0), one = lane_set(1.0), half_of = lane_set((double)FREQUENCY_BLOCKS);
    const mask second = slots[FREQUENCY_BLOCK] >= half_of;
    const real first = lane_select(second, lane_set((double)(at + FREQUENCY_RECORD_HALF)), lane_set((double)at));
    const real block = lane_select(second, slots[FREQUENCY_BLOCK] - half_of, slots[FREQUENCY_BLOCK]);
    const real place = block - lane_set(FREQUENCY_LEAD + 3.0);
    const mask kept = where & (place >= zero) & (place < lane_set((double)FREQUENCY_PLACES));
    lane_scatter(k->watch, view->id, first + 2.0 * place, k->n_watch, kept, slots[FREQUENCY_RE]);
    lane_scatter(k->watch, view->id, first + 2.0 * place + one, k->n_watch, kept, slots[FREQUENCY_IM]);
    lane_scatter(k->watch, view->id, first + lane_set((double)FREQUENCY_RECORD_SIGMA), k->n_watch, kept,
                 slots[FREQUENCY_SIGMA]);
    lane_store(k->watch, view->id, at + FREQUENCY_RECORD_BLOCK, k->n_watch, kept,
               view->time / view->phase * (0.5 / FREQUENCY_BLOCKS));
    lane_store(k->watch, view->id, at + FREQUENCY_RECORD_SEEN, k->n_watch, kept, slots[FREQUENCY_SEEN]);
    LANE_UNROLL_FULLY
    for (int q = 0; q < 4; q++) {
        slots[FREQUENCY_RE + q] = lane_select(where, q < 3 ? slots[FREQUENCY_RE + q + 1] : zero,
                                              slots[FREQUENCY_RE + q]);
        slots[FREQUENCY_IM + q] = lane_select(where, q < 3 ? slots[FREQUENCY_IM + q + 1] : zero,
                                              slots[FREQUENCY_IM + q]);
    }
    slots[FREQUENCY_BLOCK] = lane_select(where, slots[FREQUENCY_BLOCK] + one, slots[FREQUENCY_BLOCK]);
}

/* The lanes `lead`, at s = 0..1 of it: the mean rate of the argument. */
LANE_FN void frequency_lead(frequency_sight sight, mask lead, real s, real passed, real *slots)
{
    const double turn = 0x1.921fb54442d18p+2;
    const real foreseen = sight.rate * passed, beside = sight.argument - slots[FREQUENCY_ARGUMENT] - foreseen;
    const real turns = (beside * (1.0 / turn) + 0x1.8p52) - 0x1.8p52; /* rounded */
    const real turned = foreseen + lane_fma(turns, lane_set(-turn), beside), bump = s * (1.0 - s);
    const mask known = slots[FREQUENCY_ARGUMENT] == slots[FREQUENCY_ARGUMENT];
    const real weight = lane_select(lead & known, bump * bump, lane_set(0.0));
    slots[FREQUENCY_WEIGHT] = lane_fma(weight, passed, slots[FREQUENCY_WEIGHT]);
    slots[FREQUENCY_TURNED] = lane_select(lead & known, lane_fma(weight, turned, slots[FREQUENCY_TURNED]),
                                          slots[FREQUENCY_TURNED]);
    slots[FREQUENCY_SIGMA] = lane_select(lead & known, slots[FREQUENCY_TURNED] / slots[FREQUENCY_WEIGHT],
                                         slots[FREQUENCY_SIGMA]);
}

/* A body is seen, in the lanes `due`; record: where its record begins. */
LANE_FN void frequency_see(const shoal_kernel_args *k, const lane_view *view, frequency_sight sight, mask due,
                           int record, real *slots)
{
    const real zero = lane_set(0.0), one = lane_set(1.0);
    const real at = view->phase * (2.0 * FREQUENCY_BLOCKS),
               block = lane_min(lane_floor(at), lane_set(2.0 * FREQUENCY_BLOCKS - 1.0)), x = at - block;
    const mask second = block >= lane_set((double)FREQUENCY_BLOCKS);
    for (mask late = due & (slots[FREQUENCY_BLOCK] < block); lane_any(late);
         late = due & (slots[FREQUENCY_BLOCK] < block)) {
        const mask anew = late & (slots[FREQUENCY_BLOCK] == lane_set(FREQUENCY_BLOCKS - 1.0));
        frequency_keep(k, view, record, late, slots);
        slots[FREQUENCY_WEIGHT] = lane_select(anew, zero, slots[FREQUENCY_WEIGHT]);
        slots[FREQUENCY_TURNED] = lane_select(anew, zero, slots[FREQUENCY_TURNED]);
    }
    const real passed = lane_select(due, view->time - slots[FREQUENCY_TIME], zero);
    const bool slow = (int)k->monitor[SHOAL_MONITOR_frequency][FREQUENCY_OF] != FREQUENCY_OF_LONGITUDE;
    if (slow)
        frequency_smooth(due, passed, &sight, slots);
    const real lead = lane_select(second, at - (double)FREQUENCY_BLOCKS, at) * (1.0 / FREQUENCY_LEAD);
    frequency_lead(sight, due & (lead < one) & (slow ? lane_not(second) : due), lead, passed, slots);
    slots[FREQUENCY_TIME] = lane_select(due, view->time, slots[FREQUENCY_TIME]);
    slots[FREQUENCY_ARGUMENT] = lane_select(due, sight.argument, slots[FREQUENCY_ARGUMENT]);
    slots[FREQUENCY_SEEN] = lane_select(due, lane_select(sight.bound, slots[FREQUENCY_SEEN] + one, lane_set(-1e300)),
                                        slots[FREQUENCY_SEEN]);
    const mask sums = due & (lead >= one);
    if (!lane_any(sums))
        return;
    const real back = slots[FREQUENCY_SIGMA] * view->time, angle = slow ? -back : sight.argument - back;
    real sine, cosine;
    lane_sincos(lane_select(sums, angle, zero), &sine, &cosine);
    const real re = slow ? lane_fma(sight.re, cosine, -(sight.im * sine)) : cosine,
               im = slow ? lane_fma(sight.re, sine, sight.im * cosine) : sine;
    /* the cubic B-spline's pieces, of the place that ends first to that which has just begun */
    const real u = 1.0 - x, sixth = lane_select(sums, passed * (1.0 / 6.0), zero);
    const real piece[4] = {u * u * u, lane_fma(3.0 * x * x, x - 2.0, lane_set(4.0)),
                           lane_fma(3.0 * u * u, u - 2.0, lane_set(4.0)), x * x * x};
    LANE_UNROLL_FULLY
    for (int q = 0; q < 4; q++) {
        slots[FREQUENCY_RE + q] = lane_fma(sixth * piece[q], lane_select(sums, re, zero), slots[FREQUENCY_RE + q]);
        slots[FREQUENCY_IM + q] = lane_fma(sixth * piece[q], lane_select(sums, im, zero), slots[FREQUENCY_IM + q]);
    }
}

LANE_FN void frequency_watch(const shoal_kernel_args *k, const lane_view *view, real *slots, lane_event *event)
{
    const double *p = k->monitor[SHOAL_MONITOR_frequency];
    const mask due = monitor_due(view, p[FREQUENCY_EVERY], &slots[FREQUENCY_LEFT]);
    (void)event;
    if (!lane_any(due))
        return;
    const bool all = (int)p[FREQUENCY_BODIES] == FREQUENCY_ALL;
    const int first = all ? 1 : (int)p[FREQUENCY_BODY], last = all ? view->n - 1 : first;
    const real *m = view->m, *w = view->after;
    orbit_focus focus = orbit_first_focus(view->n, m, w);
    real own[frequency_SLOTS], mu;
    LANE_KEEP_ROLLED
    for (int i = 1; i <= last; i++) {
        const lane_pair motion = orbit_motion(k, view->n, m, w, i, (int)p[FREQUENCY_ELEMENTS], &focus, &mu);
        if (i < first)
            continue;
        const frequency_sight sight = frequency_look(motion, mu, is_there(m[i]), (int)p[FREQUENCY_OF]);
        const int record = part_slot(k, SHOAL_MONITOR_frequency, frequency_SLOTS, frequency_PART_SLOTS, i - first);
        const int at = record + FREQUENCY_RECORD_SLOTS - 1; /* of own[0], which is none */
        LANE_UNROLL_FULLY
        for (int q = 1; q < frequency_SLOTS; q++)
            own[q] = all ? lane_load(k->watch, view->id, at + q, k->n_watch) : slots[q];
        frequency_see(k, view, sight, due, record, own);
        LANE_UNROLL_FULLY
        for (int q = 1; q < frequency_SLOTS; q++) {
            if (all)
                lane_store(k->watch, view->id, at + q, k->n_watch, due, own[q]);
            else
                slots[q] = own[q];
        }
    }
}

#endif
