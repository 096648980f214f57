/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * ensemble.c: the chunked arrays that hold independent systems, and what can be read from them.
 *
 * Every system is barycentric inside. With M the total mass, its barycentre R, V at t_start moves as
 * R + V (t - t_start) and is kept apart, so that it costs the coordinates no digits:
 *
 *     x_i = x_i(input) - R,   v_i = v_i(input) - V,   R = sum m_i x_i / M,   V = sum m_i v_i / M
 *
 *     E = sum_i m_i v_i^2 / 2 - sum_{i<j} m_i m_j / |x_i - x_j|,   L = sum_i m_i x_i x v_i
 *
 * Sums are taken in long double: energy errors of 1e-15 are measured with them. Extra forces add theirs to E.
 *
 * The kernels step all lanes of a chunk and all body slots of a system, so the lanes beyond n_systems, the systems
 * whose bodies were never set, the slots beyond n_live and those of bodies that are gone all hold something finite that
 * no step length blows up: massless bodies on circles far outside, a planet of no consequence on a circle.
 */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/ensemble/ensemble.h"

#define WORTH_THREADS 4096 /* systems */

/* ---- one system's slots ------------------------------------------------------------------------------------------ */

static void write_body(shoal_ensemble *ensemble, long system, int body, const shoal_body *from)
{
    const double values[SHOAL_QUANTITIES] = {
        [SHOAL_X] = from->x,   [SHOAL_Y] = from->y,   [SHOAL_Z] = from->z, [SHOAL_VX] = from->vx,
        [SHOAL_VY] = from->vy, [SHOAL_VZ] = from->vz, [SHOAL_M] = from->m, [SHOAL_R] = from->r};
    for (int quantity = 0; quantity < SHOAL_QUANTITIES; quantity++)
        *shoal_ensemble_body(ensemble, body, quantity, system) = values[quantity];
}

shoal_body shoal_ensemble_read_body(const shoal_ensemble *ensemble, long system, int body)
{
#define VALUE(quantity) *shoal_ensemble_body(ensemble, body, quantity, system)
    return (shoal_body){.m = VALUE(SHOAL_M),
                        .r = VALUE(SHOAL_R),
                        .x = VALUE(SHOAL_X),
                        .y = VALUE(SHOAL_Y),
                        .z = VALUE(SHOAL_Z),
                        .vx = VALUE(SHOAL_VX),
                        .vy = VALUE(SHOAL_VY),
                        .vz = VALUE(SHOAL_VZ)};
#undef VALUE
}

static int n_live_of(const shoal_ensemble *ensemble, long system)
{
    return (int)*shoal_ensemble_field(ensemble, SHOAL_SYS_N_LIVE, system);
}

/* Fill a slot in which nobody is: no mass, a circle about the total mass, outside of everything and, with a place of
 * its own, apart from the others like it; so wide that it weighs nothing in an adaptive step, whatever the orbits of
 * the others. */
static void write_absent(shoal_ensemble *ensemble, long system, int body, int place, double mass, double size)
{
    double distance = 500 * size * (2 + place), angle = place; /* radians: spread round the circle */
    double speed = sqrt(mass / distance);
    shoal_body absent = {.m = -0.0, /* tells the kernels that nobody is there */
                         .x = distance * cos(angle),
                         .y = distance * sin(angle),
                         .vx = -speed * sin(angle),
                         .vy = speed * cos(angle)};
    write_body(ensemble, system, body, &absent);
}

/* The state of a system that nobody set: a light planet on a circle, outcome `invalid`. Works for padding lanes too. */
static void write_idle(shoal_ensemble *ensemble, long system)
{
    const double light = 1e-3;
    shoal_body star = {.m = 1.0 - light, .x = -light, .vy = -light};
    shoal_body planet = {.m = light, .x = 1.0 - light, .vy = 1.0 - light};
    write_body(ensemble, system, 0, &star);
    write_body(ensemble, system, 1, &planet);
    for (int body = 2; body < ensemble->n_bodies; body++)
        write_absent(ensemble, system, body, body - 2, 1.0, 1.0);
    *shoal_ensemble_field(ensemble, SHOAL_SYS_N_LIVE, system) = 2;
}

/* The fields of a system that has not made a step. */
static void write_start(shoal_ensemble *ensemble, long system, enum shoal_outcome outcome)
{
    *shoal_ensemble_field(ensemble, SHOAL_SYS_STEP, system) = 0.0;
    for (int field = SHOAL_SYS_ATTEMPT; field <= SHOAL_SYS_END; field++)
        *shoal_ensemble_field(ensemble, field, system) = 0.0;
    *shoal_ensemble_field(ensemble, SHOAL_SYS_OUTCOME, system) = outcome;
    *shoal_ensemble_field(ensemble, SHOAL_SYS_T_STOP, system) = NAN;
    *shoal_ensemble_field(ensemble, SHOAL_SYS_BODY_A, system) = -1.0;
    *shoal_ensemble_field(ensemble, SHOAL_SYS_BODY_B, system) = -1.0;
    *shoal_ensemble_field(ensemble, SHOAL_SYS_PARTIAL, system) = 0.0;
}

void shoal_ensemble_invalidate(shoal_ensemble *ensemble, long system)
{
    write_idle(ensemble, system);
    write_start(ensemble, system, SHOAL_INVALID);
    for (int k = 0; k < 6; k++)
        ensemble->centre[system][k] = 0.0;
    ensemble->time[system] = *shoal_ensemble_field(ensemble, SHOAL_SYS_T_START, system);
    ensemble->energy_start[system] = shoal_ensemble_energy(ensemble, system);
    ensemble->energy_jump[system] = 0.0;
}

/* ---- create, destroy --------------------------------------------------------------------------------------------- */

/* Nobody has set these systems. */
static void begin_systems(void *user, long first, long last)
{
    shoal_ensemble *made = user;
    for (long system = first; system < last; system++) {
        made->id[system] = system;
        shoal_ensemble_invalidate(made, system);
    }
}

shoal_status shoal_ensemble_create(shoal_context *context, long n_systems, int n_bodies, shoal_ensemble **ensemble)
{
    return shoal_ensemble_create_by(context, 1, n_systems, n_bodies, ensemble);
}

shoal_status shoal_ensemble_create_by(shoal_context *context, int n_threads, long n_systems, int n_bodies,
                                      shoal_ensemble **ensemble)
{
    if (shoal_check_given(context, "shoal_ensemble_create", "ensemble", ensemble))
        return SHOAL_E_USAGE;
    *ensemble = NULL;
    if (!context)
        return SHOAL_E_USAGE;
    if (n_systems < 1 || n_systems > INT_MAX - SHOAL_CHUNK)
        return shoal_fail(context, SHOAL_E_USAGE, "n_systems = %ld: an ensemble holds 1 to %d systems", n_systems,
                          INT_MAX - SHOAL_CHUNK);
    if (n_bodies < 2 || n_bodies > SHOAL_MAX_BODIES)
        return shoal_fail(context, SHOAL_E_USAGE, "n_bodies = %d: a system holds 2 to %d bodies", n_bodies,
                          SHOAL_MAX_BODIES);

    shoal_ensemble *made = NULL;
    const double needed = (double)n_systems *
                          (double)(sizeof(double) * (size_t)(n_bodies * SHOAL_QUANTITIES + SHOAL_SYS_FIELDS) +
                                   sizeof *made->id + sizeof *made->time + sizeof *made->energy_start +
                                   sizeof *made->energy_jump + sizeof *made->centre + sizeof *made->dt);
    const double there = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if (needed > there) /* an operating system that overcommits would kill the process later */
        return shoal_fail(context, SHOAL_E_MEMORY,
                          "no memory for %ld systems of %d bodies: they need %.3g GB, and this machine has %.3g GB",
                          n_systems, n_bodies, needed / 1e9, there / 1e9);
    if (!(made = calloc(1, sizeof *made)))
        goto fail;
    made->context = context;
    made->n_systems = n_systems;
    made->n_chunks = (n_systems + SHOAL_CHUNK - 1) / SHOAL_CHUNK;
    made->n_bodies = n_bodies;
    size_t n_lanes = (size_t)made->n_chunks * SHOAL_CHUNK;
    made->bodies = shoal_allocate(n_lanes, (size_t)n_bodies * SHOAL_QUANTITIES * sizeof(double));
    made->systems = shoal_allocate(n_lanes, SHOAL_SYS_FIELDS * sizeof(double));
    made->id = shoal_allocate((size_t)n_systems, sizeof *made->id);
    made->time = shoal_allocate((size_t)n_systems, sizeof *made->time);
    made->energy_start = shoal_allocate((size_t)n_systems, sizeof *made->energy_start);
    made->energy_jump = shoal_allocate((size_t)n_systems, sizeof *made->energy_jump);
    made->centre = shoal_allocate((size_t)n_systems, sizeof *made->centre);
    made->dt = shoal_allocate((size_t)n_systems, sizeof *made->dt);
    if (!made->bodies || !made->systems || !made->id || !made->time || !made->energy_start || !made->energy_jump ||
        !made->centre || !made->dt)
        goto fail;

    shoal_share(context, n_threads, n_systems, shoal_part(n_systems, WORTH_THREADS), begin_systems, made);
    for (long system = n_systems; system < (long)n_lanes; system++) {
        write_idle(made, system);
        write_start(made, system, SHOAL_INVALID);
        *shoal_ensemble_field(made, SHOAL_SYS_DT, system) = 0x1p-6; /* 402 steps a period */
    }
    *ensemble = made;
    return SHOAL_OK;

fail:
    shoal_ensemble_destroy(&made);
    return shoal_fail(context, SHOAL_E_MEMORY, "no memory for %ld systems of %d bodies", n_systems, n_bodies);
}

void shoal_ensemble_destroy(shoal_ensemble **ensemble)
{
    if (!ensemble || !*ensemble)
        return;
    free((*ensemble)->bodies);
    free((*ensemble)->systems);
    free((*ensemble)->id);
    free((*ensemble)->time);
    free((*ensemble)->energy_start);
    free((*ensemble)->energy_jump);
    free((*ensemble)->centre);
    free((*ensemble)->dt);
    free(*ensemble);
    *ensemble = NULL;
}

void shoal_ensemble_assign(shoal_ensemble *to, const shoal_ensemble *from)
{
    const size_t lanes = (size_t)from->n_chunks * SHOAL_CHUNK * sizeof(double), n = (size_t)from->n_systems;
    memcpy(to->bodies, from->bodies, lanes * (size_t)from->n_bodies * SHOAL_QUANTITIES);
    memcpy(to->systems, from->systems, lanes * SHOAL_SYS_FIELDS);
    memcpy(to->id, from->id, n * sizeof *to->id);
    memcpy(to->time, from->time, n * sizeof *to->time);
    memcpy(to->energy_start, from->energy_start, n * sizeof *to->energy_start);
    memcpy(to->energy_jump, from->energy_jump, n * sizeof *to->energy_jump);
    memcpy(to->centre, from->centre, n * sizeof *to->centre);
    memcpy(to->dt, from->dt, n * sizeof *to->dt);
    to->given = from->given;
}

shoal_status shoal_ensemble_copy(const shoal_ensemble *ensemble, shoal_ensemble **copy)
{
    const shoal_status status = shoal_ensemble_create(ensemble->context, ensemble->n_systems, ensemble->n_bodies, copy);
    if (!status)
        shoal_ensemble_assign(*copy, ensemble);
    return status;
}

shoal_ensemble shoal_ensemble_part(const shoal_ensemble *ensemble, long first, long n)
{
    shoal_ensemble part = *ensemble;
    const size_t lane = (size_t)first;
    part.n_systems = n;
    part.n_chunks = (n + SHOAL_CHUNK - 1) / SHOAL_CHUNK;
    part.bodies += lane * (size_t)ensemble->n_bodies * SHOAL_QUANTITIES;
    part.systems += lane * SHOAL_SYS_FIELDS;
    part.id += first;
    part.time += first;
    part.energy_start += first;
    part.energy_jump += first;
    part.centre += first;
    part.dt += first;
    return part;
}

void shoal_ensemble_release(shoal_ensemble *part)
{
    const size_t lanes = (size_t)part->n_chunks * SHOAL_CHUNK * sizeof(double), n = (size_t)part->n_systems;
    shoal_release_pages(part->bodies, lanes * (size_t)part->n_bodies * SHOAL_QUANTITIES);
    shoal_release_pages(part->systems, lanes * SHOAL_SYS_FIELDS);
    shoal_release_pages(part->id, n * sizeof *part->id);
    shoal_release_pages(part->time, n * sizeof *part->time);
    shoal_release_pages(part->energy_start, n * sizeof *part->energy_start);
    shoal_release_pages(part->energy_jump, n * sizeof *part->energy_jump);
    shoal_release_pages(part->centre, n * sizeof *part->centre);
    shoal_release_pages(part->dt, n * sizeof *part->dt);
}

long shoal_ensemble_n_systems(const shoal_ensemble *ensemble)
{
    return ensemble ? ensemble->n_systems : 0;
}

int shoal_ensemble_n_bodies(const shoal_ensemble *ensemble)
{
    return ensemble ? ensemble->n_bodies : 0;
}

shoal_status shoal_ensemble_check_system(const shoal_ensemble *ensemble, const char *function, long system)
{
    if (!ensemble)
        return SHOAL_E_USAGE;
    return shoal_check_range(ensemble->context, function, "system", system, (long[2]){0, ensemble->n_systems - 1});
}

/* ---- bodies ------------------------------------------------------------------------------------------------------ */

/* Refuse bodies that are no system; the message names the first fault. */
static shoal_status check_bodies(shoal_context *context, long system, int n_live, const shoal_body *bodies)
{
    long double total = 0.0L;
    for (int i = 0; i < n_live; i++) {
        const shoal_body *b = &bodies[i];
        const struct {
            const char *name;
            double value;
        } values[] = {{"m", b->m}, {"r", b->r},   {"x", b->x},   {"y", b->y},
                      {"z", b->z}, {"vx", b->vx}, {"vy", b->vy}, {"vz", b->vz}};
        for (int k = 0; k < SHOAL_COUNT(values); k++) {
            if (!isfinite(values[k].value))
                return shoal_fail(context, SHOAL_E_INPUT, "system %ld, body %d: %s = %g is not a finite number", system,
                                  i, values[k].name, values[k].value);
            if (k < 2 && values[k].value < 0.0)
                return shoal_fail(context, SHOAL_E_INPUT, "system %ld, body %d: the %s, %g, is negative", system, i,
                                  k == 0 ? "mass" : "radius", values[k].value);
        }
        for (int j = 0; j < i; j++)
            if (b->x == bodies[j].x && b->y == bodies[j].y && b->z == bodies[j].z)
                return shoal_fail(context, SHOAL_E_INPUT, "system %ld: bodies %d and %d are at one place, (%g, %g, %g)",
                                  system, j, i, b->x, b->y, b->z);
        total += b->m;
    }
    if (!(total > 0.0L && total <= (long double)DBL_MAX))
        return shoal_fail(context, SHOAL_E_INPUT, "system %ld: the total mass, %Lg, is not positive and finite", system,
                          total);
    return SHOAL_OK;
}

/* Position and velocity in the order of SHOAL_X .. SHOAL_VZ. */
static void coordinates(const shoal_body *body, double at[6])
{
    const double values[6] = {body->x, body->y, body->z, body->vx, body->vy, body->vz};
    for (int k = 0; k < 6; k++)
        at[k] = values[k];
}

/*
 * Write a system's bodies about their barycentre, which comes out relative to where they are given; with r < 0 a body
 * is gone. Relative to body 0 first: differences are exact or nearly so, and the inner coordinates of a system far from
 * the origin suffer no more than what its input has lost already.
 */
static void write_bodies(shoal_ensemble *ensemble, long system, int n_live, const shoal_body *bodies,
                         long double centre[6])
{
    long double mass = 0.0L, relative[6] = {0.0L};
    double origin[6], at[6], size = 0.0;
    coordinates(&bodies[0], origin);
    for (int i = 0; i < n_live; i++) {
        if (bodies[i].r < 0.0)
            continue;
        coordinates(&bodies[i], at);
        mass += bodies[i].m;
        for (int k = 0; k < 6; k++)
            relative[k] += bodies[i].m * ((long double)at[k] - origin[k]);
    }
    for (int k = 0; k < 6; k++) {
        relative[k] /= mass;
        centre[k] = origin[k] + relative[k];
    }
    for (int i = 0; i < n_live; i++) {
        if (bodies[i].r < 0.0)
            continue;
        coordinates(&bodies[i], at);
        for (int k = 0; k < 6; k++)
            at[k] = (double)((long double)at[k] - origin[k] - relative[k]);
        /* no mass of -0.0 */
        shoal_body body = {bodies[i].m + 0.0, bodies[i].r, at[0], at[1], at[2], at[3], at[4], at[5]};
        write_body(ensemble, system, i, &body);
        size = fmax(size, hypot(hypot(at[0], at[1]), at[2]));
    }
    for (int i = 0; i < ensemble->n_bodies; i++)
        if (i >= n_live || bodies[i].r < 0.0)
            write_absent(ensemble, system, i, i >= n_live ? i - n_live : ensemble->n_bodies + i, (double)mass, size);
}

shoal_status shoal_ensemble_set_bodies(shoal_ensemble *ensemble, long system, int n_live, const shoal_body *bodies)
{
    shoal_status status = shoal_ensemble_check_system(ensemble, __func__, system);
    if (!status)
        status = shoal_check_range(ensemble->context, __func__, "n_live", n_live, (long[2]){2, ensemble->n_bodies});
    if (!status)
        status = shoal_check_given(ensemble->context, __func__, "bodies", bodies);
    if (status)
        return status;
    shoal_context *context = ensemble->context;
    ensemble->given = true;
    ensemble->changes++;
    status = check_bodies(context, system, n_live, bodies);
    if (status) {
        shoal_ensemble_invalidate(ensemble, system);
        return status;
    }

    long double centre[6];
    write_bodies(ensemble, system, n_live, bodies, centre);
    for (int k = 0; k < 6; k++)
        ensemble->centre[system][k] = (double)centre[k];
    write_start(ensemble, system, SHOAL_RUNNING);
    *shoal_ensemble_field(ensemble, SHOAL_SYS_N_LIVE, system) = n_live;
    *shoal_ensemble_field(ensemble, SHOAL_SYS_DT, system) = ensemble->dt[system];
    ensemble->time[system] = *shoal_ensemble_field(ensemble, SHOAL_SYS_T_START, system);
    ensemble->energy_start[system] = shoal_ensemble_energy(ensemble, system);
    ensemble->energy_jump[system] = 0.0;
    if (isinf(ensemble->energy_start[system])) {
        double energy = ensemble->energy_start[system];
        shoal_ensemble_invalidate(ensemble, system);
        return shoal_fail(context, SHOAL_E_INPUT, "system %ld: its energy, %g, is not a finite number", system, energy);
    }
    return SHOAL_OK;
}

void shoal_ensemble_change(shoal_ensemble *ensemble, long system, double elapsed, const shoal_body *bodies)
{
    long double moved[6];
    write_bodies(ensemble, system, n_live_of(ensemble, system), bodies, moved);
    for (int k = 0; k < 3; k++) {
        ensemble->centre[system][k] = (double)(ensemble->centre[system][k] + (moved[k] - moved[3 + k] * elapsed));
        ensemble->centre[system][3 + k] = (double)(ensemble->centre[system][3 + k] + moved[3 + k]);
    }
}

bool shoal_ensemble_is_there(const shoal_ensemble *ensemble, int body, long system)
{
    return !signbit(*shoal_ensemble_body(ensemble, body, SHOAL_M, system));
}

int shoal_ensemble_n_left(const shoal_ensemble *ensemble, long system)
{
    int n = 0;
    for (int body = 0; body < ensemble->n_bodies; body++)
        n += shoal_ensemble_is_there(ensemble, body, system);
    return n;
}

shoal_status shoal_ensemble_get_bodies(const shoal_ensemble *ensemble, long system, shoal_body *bodies)
{
    if (shoal_ensemble_check_system(ensemble, __func__, system) ||
        shoal_check_given(ensemble->context, __func__, "bodies", bodies))
        return SHOAL_E_USAGE;
    const double *centre = ensemble->centre[system];
    double elapsed = ensemble->time[system] - *shoal_ensemble_field(ensemble, SHOAL_SYS_T_START, system);
    int n_live = n_live_of(ensemble, system);
    const bool invalid = shoal_ensemble_is_invalid(ensemble, system);
    for (int i = 0; i < n_live; i++) {
        shoal_body b = shoal_ensemble_read_body(ensemble, system, i);
        if (invalid || !shoal_ensemble_is_there(ensemble, i, system))
            b = (shoal_body){NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
        b.x += centre[0] + centre[3] * elapsed;
        b.y += centre[1] + centre[4] * elapsed;
        b.z += centre[2] + centre[5] * elapsed;
        b.vx += centre[3];
        b.vy += centre[4];
        b.vz += centre[5];
        bodies[i] = b;
    }
    return SHOAL_OK;
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

shoal_status shoal_ensemble_set_system(shoal_ensemble *ensemble, long system, const shoal_system *record)
{
    if (shoal_ensemble_check_system(ensemble, __func__, system) ||
        shoal_check_given(ensemble->context, __func__, "record", record))
        return SHOAL_E_USAGE;
    if (!isfinite(record->t_start) || !isfinite(record->dt))
        return shoal_fail(ensemble->context, SHOAL_E_INPUT,
                          "%s: system %ld: t_start = %g, dt = %g: expected finite numbers", __func__, system,
                          record->t_start, record->dt);
    ensemble->id[system] = record->id;
    *shoal_ensemble_field(ensemble, SHOAL_SYS_T_START, system) = record->t_start;
    *shoal_ensemble_field(ensemble, SHOAL_SYS_DT, system) = ensemble->dt[system] = record->dt;
    ensemble->time[system] = record->t_start; /* no step was made yet */
    ensemble->changes++;
    return SHOAL_OK;
}

shoal_status shoal_ensemble_get_system(const shoal_ensemble *ensemble, long system, shoal_system *record)
{
    if (shoal_ensemble_check_system(ensemble, __func__, system) ||
        shoal_check_given(ensemble->context, __func__, "record", record))
        return SHOAL_E_USAGE;
#define FIELD(field) *shoal_ensemble_field(ensemble, field, system)
    *record = (shoal_system){.id = ensemble->id[system],
                             .n_live = (int)FIELD(SHOAL_SYS_N_LIVE),
                             .t_start = FIELD(SHOAL_SYS_T_START),
                             .dt = FIELD(SHOAL_SYS_DT),
                             .time = ensemble->time[system],
                             .n_steps = floor(FIELD(SHOAL_SYS_STEP)),
                             .outcome = (enum shoal_outcome)(int)FIELD(SHOAL_SYS_OUTCOME),
                             .t_stop = FIELD(SHOAL_SYS_T_STOP),
                             .body_a = (int)FIELD(SHOAL_SYS_BODY_A),
                             .body_b = (int)FIELD(SHOAL_SYS_BODY_B),
                             .energy_start = ensemble->energy_start[system],
                             .n_left = shoal_ensemble_n_left(ensemble, system),
                             .energy_jump = ensemble->energy_jump[system]};
#undef FIELD
    for (int k = 0; k < 6; k++)
        record->centre[k] = ensemble->centre[system][k];
    return SHOAL_OK;
}

/* ---- integrals of motion ----------------------------------------------------------------------------------------- */

double shoal_bodies_energy(const shoal_ensemble *ensemble, int n, const shoal_body *bodies)
{
    long double sum = 0.0L;
    for (const shoal_body *a = bodies; a < bodies + n; a++) {
        if (a->m == 0.0)
            continue; /* a test body, wherever it is, has no energy */
        long double vx = a->vx, vy = a->vy, vz = a->vz, row = 0.0L;
        for (const shoal_body *b = a + 1; b < bodies + n; b++) {
            if (b->m == 0.0)
                continue;
            long double dx = (long double)b->x - a->x, dy = (long double)b->y - a->y, dz = (long double)b->z - a->z;
            row += b->m / sqrtl(dx * dx + dy * dy + dz * dz);
        }
        sum += a->m * (0.5L * (vx * vx + vy * vy + vz * vz) - row);
    }
    for (int f = 0; f < ensemble->n_forces; f++)
        sum += ensemble->force[f]->energy ? ensemble->force[f]->energy(ensemble->force_parameter[f], n, bodies) : NAN;
    return (double)sum;
}

bool shoal_ensemble_dominated(const shoal_ensemble *ensemble, long system)
{
    bool dominated = true;
    for (int body = 1; body < ensemble->n_bodies; body++)
        dominated &= *shoal_ensemble_body(ensemble, body, SHOAL_M, system) <
                     *shoal_ensemble_body(ensemble, 0, SHOAL_M, system);
    return dominated;
}

shoal_refused shoal_ensemble_refuse(shoal_ensemble *ensemble, shoal_refusal *refuses, const double *parameters,
                                    bool commit)
{
    shoal_refused refused = {0};
    for (long system = 0; system < ensemble->n_systems && refuses; system++) {
        if (shoal_ensemble_is_invalid(ensemble, system))
            continue;
        const char *why = refuses(parameters, ensemble, system);
        if (why && refused.n++ == 0) {
            refused.first = system;
            refused.why = why;
        }
        refused.n_fit += !why;
        if (why && commit)
            *shoal_ensemble_field(ensemble, SHOAL_SYS_OUTCOME, system) = SHOAL_INVALID;
    }
    return refused;
}

double shoal_ensemble_energy(const shoal_ensemble *ensemble, long system)
{
    if (shoal_ensemble_check_system(ensemble, __func__, system))
        return NAN;
    const int n_live = n_live_of(ensemble, system);
    shoal_body bodies[SHOAL_MAX_BODIES]; /* not asked for: out of memory is no energy */
    for (int i = 0; i < n_live; i++)
        bodies[i] = shoal_ensemble_read_body(ensemble, system, i);
    return shoal_ensemble_is_invalid(ensemble, system) ? NAN : shoal_bodies_energy(ensemble, n_live, bodies);
}

shoal_status shoal_ensemble_angular_momentum(const shoal_ensemble *ensemble, long system, double L[3])
{
    if (shoal_ensemble_check_system(ensemble, __func__, system) ||
        shoal_check_given(ensemble->context, __func__, "L", L))
        return SHOAL_E_USAGE;
    int n_live = n_live_of(ensemble, system);
    long double sum[3] = {0.0L};
    for (int i = 0; i < n_live; i++) {
        shoal_body b = shoal_ensemble_read_body(ensemble, system, i);
        long double x = b.x, y = b.y, z = b.z;
        sum[0] += b.m * (y * b.vz - z * b.vy);
        sum[1] += b.m * (z * b.vx - x * b.vz);
        sum[2] += b.m * (x * b.vy - y * b.vx);
    }
    for (int k = 0; k < 3; k++)
        L[k] = (double)sum[k];
    return SHOAL_OK;
}
