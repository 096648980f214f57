/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * megno.kern.h: the mean exponential growth factor of nearby orbits, and the largest Lyapunov exponent, from the length
 * d(t) of the tangent vector (tangent.kern.h):
 *
 *     Y(t) = 2/t int_0^t (d'/d) s ds,    megno = <Y> = 1/t int_0^t Y ds,    lyapunov = ln(d(t) / d(0)) / t
 *
 * Regular motion has <Y> -> 2, chaotic motion <Y> -> lyapunov t / 2 (Cincotta & Simo 2000, A&AS 147, 205; Cincotta,
 * Giordano & Simo 2003, Physica D 182, 151). Both integrals by the trapezium rule from step to step, the first one in
 * ln d, which is the form for maps (Gozdziewski, Breiter & Borczyk 2008, MNRAS 383, 989) at any lengths of steps: sum
 * (t_k + t_k-1)/2 ln(d_k / d_k-1).
 *
 * A propagator whose energy drifts makes d grow as t^2, as phases do: of Jupiter and Saturn megno is 2.015 after 5000
 * yr, but 2.2 by hermite4_adaptive with its default steps, whose energy is then wrong by 6e-5.
 */
enum { MEGNO_STOP_ABOVE, MEGNO_SEED, MEGNO_VECTORS, megno_PARAMETERS };
/* slots: t, ln d, int (d'/d) s ds, int Y ds, times that the vector was shortened, a number 1 .. 2^31 - 2 made of the
 * system's id, for the vector's first direction */
enum { MEGNO_T, MEGNO_LOG_D, MEGNO_SUM_D, MEGNO_SUM_Y, MEGNO_SHORTENED, MEGNO_KEY, megno_SLOTS };

#ifdef SHOAL_KERNEL
#include "monitors/monitor.kern.h"

LANE_FN void megno_watch(const shoal_kernel_args *k, const lane_view *view, real *slots, lane_event *event)
{
    const real zero = lane_set(0.0), none = lane_set(-1.0), length = lane_abs(view->h);
    const real before = slots[MEGNO_T], after = before + length;
    const real log_d = lane_fma(slots[MEGNO_SHORTENED], lane_set(300 * 0x1.62e42fefa39efp-1),
                                0.5 * lane_log(view->tangent2));
    const real sum_before = slots[MEGNO_SUM_D];
    slots[MEGNO_SUM_D] = lane_fma(0.5 * (before + after), log_d - slots[MEGNO_LOG_D], slots[MEGNO_SUM_D]);
    /* (Y_before + Y_after) / 2 = sum_before / before + sum / after, by one division; Y = 0 where the run begins */
    const mask begun = before > zero;
    const real sum = lane_select(begun, lane_fma(sum_before, after, slots[MEGNO_SUM_D] * before), slots[MEGNO_SUM_D]);
    slots[MEGNO_SUM_Y] = lane_fma(length, sum / lane_select(begun, before * after, after), slots[MEGNO_SUM_Y]);
    slots[MEGNO_T] = after;
    slots[MEGNO_LOG_D] = log_d;
    slots[MEGNO_SHORTENED] = lane_select(tangent_is_long(view->tangent2), slots[MEGNO_SHORTENED] + 1.0,
                                         slots[MEGNO_SHORTENED]);
    event_offer(event, slots[MEGNO_SUM_Y] > k->monitor[SHOAL_MONITOR_megno][MEGNO_STOP_ABOVE] * after, lane_set(1.0),
                lane_set(SHOAL_CHAOTIC), none, none);
}

#endif
