/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * arrays.c: arrays of systems in and out of an ensemble: states, orbits, radii, and numbers by their names.
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/ensemble/ensemble.h"

/* ---- bodies ------------------------------------------------------------------------------------------------------ */

enum { NUMBERS = SHOAL_STATE_NUMBERS };

/* What a call goes through. */
typedef struct walk {
    shoal_block block;
    shoal_body *bodies; /* [n_bodies] of one system */
    shoal_orbit *orbits;
} walk;

static void walk_end(walk *w)
{
    free(w->bodies);
    free(w->orbits);
}

static shoal_status walk_begin(const shoal_ensemble *ensemble, const char *function, const shoal_block *given,
                               int n_numbers, const double *values, walk *w)
{
    *w = (walk){0};
    if (!ensemble)
        return SHOAL_E_USAGE;
    w->block = (shoal_block){.n = ensemble->n_systems, .n_bodies = ensemble->n_bodies};
    shoal_status status = shoal_block_resolve(ensemble->context, function, given, n_numbers, &w->block);
    if (!status && w->block.n > 0)
        status = shoal_check_given(ensemble->context, function, "values", values);
    if (status)
        return status;
    w->bodies = calloc((size_t)ensemble->n_bodies, sizeof *w->bodies);
    w->orbits = calloc((size_t)ensemble->n_bodies, sizeof *w->orbits);
    if (w->bodies && w->orbits)
        return SHOAL_OK;
    return shoal_fail(ensemble->context, SHOAL_E_MEMORY, "%s: out of memory", function);
}

/* Where the first number of a body is, in bytes; the systems of a block are counted from 0. */
static long at(const shoal_block *block, long i, int body)
{
    return i * block->system_stride + body * block->body_stride;
}

/* Reads the numbers of a body; false: all of them are NaN. */
static bool read_numbers(const shoal_block *block, const double *values, long i, int body, double number[NUMBERS])
{
    bool there = false;
    for (int k = 0; k < NUMBERS; k++) {
        number[k] = shoal_stride_read(values, at(block, i, body) + k * block->number_stride);
        there = there || !isnan(number[k]);
    }
    return there;
}

static void write_numbers(const shoal_block *block, double *values, long i, int body, const double number[NUMBERS])
{
    for (int k = 0; k < NUMBERS; k++)
        shoal_stride_write(values, at(block, i, body) + k * block->number_stride, number[k]);
}

/* Systems that a call made `invalid`, and what is wrong with the first. */
typedef struct invalid {
    long n;
    char why[SHOAL_MESSAGE_SIZE];
} invalid;

static void note_invalid(const shoal_ensemble *ensemble, invalid *found)
{
    if (found->n++ == 0)
        memcpy(found->why, ensemble->context->message, sizeof found->why);
}

static void tell_invalid(const shoal_ensemble *ensemble, const invalid *found, long n, long *n_invalid)
{
    if (n_invalid)
        *n_invalid = found->n;
    if (found->n > 0)
        shoal_fail(ensemble->context, SHOAL_E_INPUT, "%ld of %ld systems are invalid; the first: %s", found->n, n,
                   found->why);
}

/* Bodies of a system from its numbers, until the first that is not there; its message if another is behind that. */
static shoal_status read_system(const shoal_ensemble *ensemble, const walk *w, const double *values, long i,
                                int *n_live)
{
    double a[NUMBERS];
    int n = 0;
    for (; n < w->block.n_bodies && read_numbers(&w->block, values, i, n, a); n++) {
        w->bodies[n] = (shoal_body){a[0], 0, a[1], a[2], a[3], a[4], a[5], a[6]};
        w->orbits[n] = (shoal_orbit){.a = a[1], .e = a[2], .inc = a[3], .Omega = a[4], .omega = a[5], .f = a[6]};
    }
    *n_live = n;
    for (int body = n + 1; body < w->block.n_bodies; body++)
        if (read_numbers(&w->block, values, i, body, a))
            return shoal_fail(ensemble->context, SHOAL_E_INPUT,
                              "system %ld, body %d: there is a body behind one that is not there, body %d: expected "
                              "NaN after the last body only",
                              w->block.first + i, body, n);
    return SHOAL_OK;
}

/* One system from its numbers, of states, or of orbits about a frame (NULL: states). */
static shoal_status set_one(shoal_ensemble *ensemble, const shoal_frame *frame, const walk *w, const double *values,
                            long i)
{
    const long system = w->block.first + i;
    int n_live;
    shoal_status status = read_system(ensemble, w, values, i, &n_live);
    const bool gap = status;
    if (!gap && n_live < 2)
        status = shoal_fail(ensemble->context, SHOAL_E_INPUT, "system %ld: %d bodies; a system needs at least 2",
                            system, n_live);
    else if (!gap && frame)
        status = shoal_bodies_from_orbits(ensemble->context, *frame, n_live, w->orbits, w->bodies);
    if (status && !gap && frame && n_live >= 2) {
        char why[SHOAL_MESSAGE_SIZE];
        memcpy(why, ensemble->context->message, sizeof why);
        shoal_fail(ensemble->context, status, "system %ld: %s", system, why);
    }
    if (status == SHOAL_E_MEMORY)
        return status;
    if (status) {
        shoal_ensemble_invalidate(ensemble, system);
        return status;
    }
    return shoal_ensemble_set_bodies(ensemble, system, n_live, w->bodies);
}

static shoal_status set_systems(shoal_ensemble *ensemble, const char *function, const shoal_frame *frame,
                                const shoal_block *given, const double *values, long *n_invalid)
{
    walk w;
    shoal_status status = walk_begin(ensemble, function, given, NUMBERS, values, &w);
    if (!status)
        status = shoal_check_range(ensemble->context, function, "n_bodies", w.block.n_bodies,
                                   (long[2]){2, ensemble->n_bodies});
    invalid found = {0};
    for (long i = 0; i < w.block.n && !status; i++) {
        const shoal_status refused = set_one(ensemble, frame, &w, values, i);
        if (refused == SHOAL_E_MEMORY)
            status = refused; /* no property of the system */
        else if (refused)
            note_invalid(ensemble, &found);
    }
    if (!status) {
        ensemble->given |= w.block.n > 0;
        ensemble->changes++;
        tell_invalid(ensemble, &found, w.block.n, n_invalid);
    }
    walk_end(&w);
    return status;
}

static shoal_status check_frame(const shoal_ensemble *ensemble, const char *function, shoal_frame frame)
{
    return ensemble ? shoal_check_range(ensemble->context, function, "frame", (long)frame,
                                        (long[2]){SHOAL_JACOBI, SHOAL_BARYCENTRIC})
                    : SHOAL_E_USAGE;
}

shoal_status shoal_ensemble_set_states(shoal_ensemble *ensemble, const shoal_block *block, const double *values,
                                       long *n_invalid)
{
    return set_systems(ensemble, __func__, NULL, block, values, n_invalid);
}

shoal_status shoal_ensemble_set_orbits(shoal_ensemble *ensemble, shoal_frame frame, const shoal_block *block,
                                       const double *values, long *n_invalid)
{
    const shoal_status status = check_frame(ensemble, __func__, frame);
    return status ? status : set_systems(ensemble, __func__, &frame, block, values, n_invalid);
}

/* The bodies of a system; how many there are, those that are not there with a mass of NaN. */
static int get_one(const shoal_ensemble *ensemble, long system, shoal_body *bodies)
{
    shoal_ensemble_get_bodies(ensemble, system, bodies);
    return (int)*shoal_ensemble_field(ensemble, SHOAL_SYS_N_LIVE, system);
}

shoal_status shoal_ensemble_get_states(const shoal_ensemble *ensemble, const shoal_block *block, double *values)
{
    static const double absent[NUMBERS] = {NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    walk w;
    const shoal_status status = walk_begin(ensemble, __func__, block, NUMBERS, values, &w);
    for (long i = 0; i < w.block.n && !status; i++) {
        const int n_live = get_one(ensemble, w.block.first + i, w.bodies);
        for (int body = 0; body < w.block.n_bodies; body++) {
            const shoal_body *b = &w.bodies[body];
            const double number[NUMBERS] = {b->m, b->x, b->y, b->z, b->vx, b->vy, b->vz};
            write_numbers(&w.block, values, i, body, body < n_live ? number : absent);
        }
    }
    walk_end(&w);
    return status;
}

shoal_status shoal_ensemble_get_orbits(const shoal_ensemble *ensemble, shoal_frame frame, const shoal_block *block,
                                       double *values)
{
    walk w = {0};
    shoal_status status = check_frame(ensemble, __func__, frame);
    if (!status)
        status = walk_begin(ensemble, __func__, block, NUMBERS, values, &w);
    for (long i = 0; i < w.block.n && !status; i++) {
        const long system = w.block.first + i;
        const int n_live = get_one(ensemble, system, w.bodies);
        int n = 0, k = -1;
        for (int body = 0; body < n_live; body++)
            if (!isnan(w.bodies[body].m))
                w.bodies[n++] = w.bodies[body];
        const bool known = n > 1 && shoal_orbits_from_bodies(NULL, frame, n, w.bodies, w.orbits) == SHOAL_OK;
        for (int body = 0; body < w.block.n_bodies; body++) {
            double number[NUMBERS] = {NAN, NAN, NAN, NAN, NAN, NAN, NAN};
            const bool there = n > 0 && body < n_live && shoal_ensemble_is_there(ensemble, body, system);
            k += there;
            if (there)
                number[0] = w.bodies[k].m;
            if (there && k > 0 && known) {
                const shoal_orbit *o = &w.orbits[k];
                memcpy(number + 1, (double[6]){o->a, o->e, o->inc, o->Omega, o->omega, o->f}, 6 * sizeof *number);
            }
            write_numbers(&w.block, values, i, body, number);
        }
    }
    walk_end(&w);
    return status;
}

/* ---- radii ------------------------------------------------------------------------------------------------------- */

shoal_status shoal_ensemble_set_radii(shoal_ensemble *ensemble, const shoal_block *block, const double *values,
                                      long *n_invalid)
{
    walk w;
    const shoal_status status = walk_begin(ensemble, __func__, block, 1, values, &w);
    invalid found = {0};
    for (long i = 0; i < w.block.n && !status; i++) {
        const long system = w.block.first + i;
        const int n_live = (int)*shoal_ensemble_field(ensemble, SHOAL_SYS_N_LIVE, system);
        for (int body = 0; body < w.block.n_bodies && body < n_live; body++) {
            const double radius = shoal_stride_read(values, at(&w.block, i, body));
            if (shoal_ensemble_is_invalid(ensemble, system) || !shoal_ensemble_is_there(ensemble, body, system))
                continue;
            if (radius >= 0 && isfinite(radius)) {
                *shoal_ensemble_body(ensemble, body, SHOAL_R, system) = radius;
                continue;
            }
            shoal_fail(ensemble->context, SHOAL_E_INPUT, "system %ld, body %d: r = %g: expected a number >= 0", system,
                       body, radius);
            shoal_ensemble_invalidate(ensemble, system);
            note_invalid(ensemble, &found);
        }
    }
    if (!status) {
        ensemble->changes++;
        tell_invalid(ensemble, &found, w.block.n, n_invalid);
    }
    walk_end(&w);
    return status;
}

shoal_status shoal_ensemble_get_radii(const shoal_ensemble *ensemble, const shoal_block *block, double *values)
{
    walk w;
    const shoal_status status = walk_begin(ensemble, __func__, block, 1, values, &w);
    for (long i = 0; i < w.block.n && !status; i++) {
        const int n_live = get_one(ensemble, w.block.first + i, w.bodies);
        for (int body = 0; body < w.block.n_bodies; body++)
            shoal_stride_write(values, at(&w.block, i, body), body < n_live ? w.bodies[body].r : NAN);
    }
    walk_end(&w);
    return status;
}

/* ---- numbers by their names -------------------------------------------------------------------------------------- */

enum { MEMBERS = 13 };

/* The members of shoal_system, in the order of `member_of`. */
static const char *const names[] = {"id",     "n_live", "t_start", "dt",           "time",   "n_steps",     "outcome",
                                    "t_stop", "body_a", "body_b",  "energy_start", "n_left", "energy_jump", "energy",
                                    "Lx",     "Ly",     "Lz"};

static double number_of(const shoal_ensemble *ensemble, int which, long system)
{
    shoal_system s;
    double L[3];
    if (which < MEMBERS) {
        shoal_ensemble_get_system(ensemble, system, &s);
        const double members[MEMBERS] = {(double)s.id,   s.n_live,  s.t_start,    s.dt,     s.time,
                                         s.n_steps,      s.outcome, s.t_stop,     s.body_a, s.body_b,
                                         s.energy_start, s.n_left,  s.energy_jump};
        return members[which];
    }
    if (which == MEMBERS)
        return shoal_ensemble_energy(ensemble, system);
    shoal_ensemble_angular_momentum(ensemble, system, L);
    return L[which - MEMBERS - 1];
}

/* The index of a name among the first n, -1 and a message if it is none of them. */
static int find_column(const shoal_ensemble *ensemble, const char *function, const char *column,
                       const char *const *list, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(list[i], column) == 0)
            return i;
    (void)shoal_refuse_name(ensemble->context, function, "column", column, "there is", shoal_nearest(column, list, n));
    return -1;
}

static shoal_status check_column(const shoal_ensemble *ensemble, const char *function, const char *column, long first,
                                 long n, const void *values)
{
    shoal_status status = ensemble ? shoal_check_given(ensemble->context, function, "column", column) : SHOAL_E_USAGE;
    if (!status)
        status = shoal_check_rows(ensemble->context, function, first, n, ensemble->n_systems);
    if (!status && n > 0)
        status = shoal_check_given(ensemble->context, function, "values", values);
    return status;
}

shoal_status shoal_ensemble_set_column(shoal_ensemble *ensemble, const char *column, long first, long n,
                                       const double *values, long stride)
{
    enum { ID, T_START, DT, SETTABLE };
    static const char *const settable[SETTABLE] = {"id", "t_start", "dt"};
    const shoal_status status = check_column(ensemble, __func__, column, first, n, values);
    if (status)
        return status;
    const int which = find_column(ensemble, __func__, column, settable, SETTABLE);
    if (which < 0)
        return SHOAL_E_USAGE;
    stride = stride ? stride : (long)sizeof(double);
    for (long i = 0; i < n; i++) {
        const double value = shoal_stride_read(values, i * stride);
        if (!isfinite(value) || (which == ID && !(fabs(value) <= 0x1p53 && value == trunc(value))))
            return shoal_fail(ensemble->context, SHOAL_E_INPUT, "%s: system %ld: %s = %g: expected %s", __func__,
                              first + i, column, value, which == ID ? "a whole number within 2^53" : "a finite number");
    }
    for (long i = 0; i < n; i++) {
        const double value = shoal_stride_read(values, i * stride);
        shoal_system record;
        shoal_ensemble_get_system(ensemble, first + i, &record);
        record.dt = which == DT ? value : ensemble->dt[first + i];
        record.t_start = which == T_START ? value : record.t_start;
        record.id = which == ID ? (long)value : record.id;
        shoal_ensemble_set_system(ensemble, first + i, &record);
    }
    return SHOAL_OK;
}

shoal_status shoal_ensemble_get_column(const shoal_ensemble *ensemble, const char *column, long first, long n,
                                       double *values, long stride)
{
    const shoal_status status = check_column(ensemble, __func__, column, first, n, values);
    if (status)
        return status;
    const int which = find_column(ensemble, __func__, column, names, SHOAL_COUNT(names));
    if (which < 0)
        return SHOAL_E_USAGE;
    for (long i = 0; i < n; i++)
        shoal_stride_write(values, i * (stride ? stride : (long)sizeof(double)), number_of(ensemble, which, first + i));
    return SHOAL_OK;
}

shoal_status shoal_ensemble_get_outcomes(const shoal_ensemble *ensemble, long first, long n, int *outcomes)
{
    const shoal_status status = check_column(ensemble, __func__, "outcome", first, n, outcomes);
    for (long i = 0; i < n && !status; i++)
        outcomes[i] = (int)*shoal_ensemble_field(ensemble, SHOAL_SYS_OUTCOME, first + i);
    return status;
}
