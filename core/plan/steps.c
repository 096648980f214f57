/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * steps.c: when the systems of a plan end, and how long their steps are.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/plan.h"

/* A first step for an adaptive propagator: a hundredth of the shortest time in which a pair meets or falls together. */
static double first_step(int n, const shoal_body *bodies)
{
    double shortest = INFINITY;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            const double d[3] = {bodies[i].x - bodies[j].x, bodies[i].y - bodies[j].y, bodies[i].z - bodies[j].z};
            const double u[3] = {bodies[i].vx - bodies[j].vx, bodies[i].vy - bodies[j].vy, bodies[i].vz - bodies[j].vz};
            const double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2], v2 = u[0] * u[0] + u[1] * u[1] + u[2] * u[2];
            shortest = fmin(shortest, r2 / (v2 + (bodies[i].m + bodies[j].m) / sqrt(r2)));
        }
    return 2 * M_PI / 100 * sqrt(shortest);
}

/* The shortest period among a system's initial Jacobi orbits, +inf if none is bound. bodies, orbits: room for
 * [n_bodies]. */
static double shortest_period(const shoal_plan *plan, long system, shoal_body *bodies, shoal_orbit *orbits)
{
    shoal_system record;
    shoal_ensemble_get_system(plan->ensemble, system, &record);
    shoal_ensemble_get_bodies(plan->ensemble, system, bodies);
    double shortest = INFINITY;
    if (shoal_eased_orbits_from_bodies(NULL, SHOAL_JACOBI, record.n_live, bodies, NULL, &plan->eases, orbits) ==
        SHOAL_OK)
        for (int i = 1; i < record.n_live; i++)
            if (orbits[i].P > 0 && orbits[i].P < shortest)
                shortest = orbits[i].P;
    return shortest;
}

/* Systems from which loops over them are shared among threads. The parts depend on the number of systems alone, and
 * what they find is put together in their order. */
#define WORTH_THREADS 1024

/* Room for the bodies of a system; the forces that the plan's context knows. */
typedef struct system_room {
    shoal_body *bodies;
    shoal_orbit *orbits;
    const shoal_force *const *forces;
} system_room;

static bool make_room(const shoal_plan *plan, system_room *room)
{
    const size_t n = (size_t)plan->ensemble->n_bodies;
    room->bodies = calloc(n, sizeof *room->bodies);
    room->orbits = calloc(n, sizeof *room->orbits);
    room->forces = shoal_plugs_of(plan->context)->forces;
    return room->bodies && room->orbits;
}

static void release_room(system_room *room)
{
    free(room->bodies);
    free(room->orbits);
}

typedef struct periods_loop {
    shoal_plan *plan;
    bool lacks_memory;
} periods_loop;

static void find_periods(void *user, long first, long last)
{
    periods_loop *loop = user;
    system_room room;
    if (!make_room(loop->plan, &room))
        __atomic_store_n(&loop->lacks_memory, true, __ATOMIC_RELAXED);
    else
        for (long system = first; system < last; system++)
            if (*shoal_plan_field(loop->plan, SHOAL_SYS_OUTCOME, system) == SHOAL_RUNNING)
                loop->plan->period[system] = shortest_period(loop->plan, system, room.bodies, room.orbits);
    release_room(&room);
}

/* The periods in which times are counted, if they are. */
shoal_status shoal_plan_find_periods(shoal_plan *plan)
{
    const long n = plan->ensemble->n_systems;
    periods_loop loop = {plan, false};
    if (plan->period)
        shoal_share(plan->context, plan->host_threads, n, shoal_part(n, WORTH_THREADS), find_periods, &loop);
    return loop.lacks_memory ? shoal_fail(plan->context, SHOAL_E_MEMORY, "out of memory") : SHOAL_OK;
}

/* When the systems end. */
shoal_status shoal_plan_choose_end(shoal_plan *plan, const shoal_options *options)
{
    plan->t_end = options->orbits != 0 ? options->orbits : options->t_end;
    if (!isfinite(plan->t_end))
        return shoal_refuse(plan->context, &plan->findings->fault, SHOAL_E_USAGE,
                            (shoal_fault){.of = SHOAL_FAULT_OPTION,
                                          .name = options->orbits != 0 ? "orbits" : "t_end",
                                          .number = plan->t_end},
                            "a finite time");
    if (options->orbits != 0 && !(plan->period = calloc((size_t)plan->ensemble->n_systems, sizeof *plan->period)))
        return shoal_fail(plan->context, SHOAL_E_MEMORY, "out of memory");
    return shoal_plan_find_periods(plan);
}

/* Take systems along: the worst, of those alike the first. */
static void add_long_steps(shoal_long_steps *to, const shoal_long_steps *from)
{
    const shoal_long_steps was = *to;
    if (from->n == 0)
        return;
    if (was.n == 0 || from->by > was.by || (from->by == was.by && from->worst < was.worst))
        *to = *from;
    to->step = was.n == 0 ? from->step : fmin(was.step, from->step);
    to->steps = fmax(was.steps, from->steps);
    to->n = was.n + from->n;
}

#define MOST_MOON_E 0.9

bool shoal_plan_moon(const shoal_body *star, const shoal_body *planet, const shoal_body *moon, shoal_orbit *orbit)
{
    const double state[6] = {moon->x - planet->x,   moon->y - planet->y,   moon->z - planet->z,
                             moon->vx - planet->vx, moon->vy - planet->vy, moon->vz - planet->vz};
    const double apart = hypot(hypot(state[0], state[1]), state[2]),
                 out = hypot(hypot(planet->x - star->x, planet->y - star->y), planet->z - star->z),
                 own = hypot(hypot(moon->x - star->x, moon->y - star->y), moon->z - star->z),
                 hill = out * cbrt(planet->m / (3 * star->m));
    return moon->m <= planet->m && apart < hill && apart < own &&
           shoal_orbit_from_state(NULL, planet->m + moon->m, state, orbit) == SHOAL_OK && orbit->e < MOST_MOON_E &&
           orbit->a * (1 + orbit->e) < hill;
}

/* The orbit of a moon about its planet in the place of its Jacobi orbit. */
static void find_moons(int n, const shoal_body *bodies, shoal_orbit *orbits)
{
    for (int i = 1; i < n; i++)
        for (int j = 1; j < n; j++) {
            shoal_orbit orbit;
            if (j != i && shoal_plan_moon(&bodies[0], &bodies[j], &bodies[i], &orbit) && orbit.P < orbits[i].P)
                orbits[i] = orbit;
        }
}

/*
 * Note the body of n orbits that needs the shortest step, if the step dt is too long for it: longer than a
 * sixteenth of the effective period at its pericentre, T_f = 2 pi / (df/dt) = P sqrt((1 - e)^3 / (1 + e)). A map whose
 * steps do not resolve the passage is chaotic by itself (Wisdom 2015, doi:10.1088/0004-6256/150/4/127; Hernandez, Zeebe
 * & Hadden 2022, arXiv:2111.08835).
 */
static void check_pericentres(const shoal_plan *plan, long id, int n, const shoal_orbit *orbits, double period,
                              double dt)
{
    double least = dt;
    int body = 0;
    for (int i = 1; i < n; i++) {
        const double e = orbits[i].e, P = orbits[i].P, q = orbits[i].a * (1 - e);
        const double needed = P * sqrt((1 - e) * (1 - e) * (1 - e) / (1 + e)) / 16,
                     mu = pow(2 * M_PI / P, 2) * pow(orbits[i].a, 3);
        if (!(e < 1))
            continue;
        if (needed < least && !(plan->propagator->resolves_pericentre &&
                                plan->propagator->resolves_pericentre(plan->args.propagator, mu, dt, q))) {
            least = needed;
            body = i;
        }
    }
    if (body > 0)
        add_long_steps(
            &plan->findings->unresolved,
            &(shoal_long_steps){
                .n = 1, .worst = id, .body = body, .by = dt / least, .step = least, .steps = period / least});
}

/* A step longer than this part of the time in which a force brakes a body is noted. Kicks and stages extrapolate the
 * force: beyond 2 they grow without bound. */
#define BRAKED_PART 0.2

/* Note a body that a force brakes faster than steps of dt follow. */
static void check_brakes(const shoal_plan *plan, long id, int n, const system_room *room, double dt)
{
    shoal_long_steps worst = {0};
    for (int f = 0; f < plan->args.n_forces; f++) {
        const shoal_force *force = room->forces[plan->args.force_kind[f]];
        int body = 0;
        const double rate = force->rate ? force->rate(plan->args.force[f], n, room->bodies, &body) : 0;
        if (rate * dt > BRAKED_PART)
            add_long_steps(&worst, &(shoal_long_steps){.n = 1,
                                                       .worst = id,
                                                       .body = body,
                                                       .by = rate * dt,
                                                       .step = BRAKED_PART / rate,
                                                       .force = force->name});
    }
    worst.n = worst.n > 0;
    add_long_steps(&plan->findings->braked, &worst);
}

/* Least and greatest distance of a body from body 0 on its orbit about it; unbound: the least, and infinity. */
static void apsides(const shoal_body *star, const shoal_body *body, double *least, double *greatest)
{
    const double d[3] = {body->x - star->x, body->y - star->y, body->z - star->z},
                 u[3] = {body->vx - star->vx, body->vy - star->vy, body->vz - star->vz};
    const double mu = star->m + body->m, r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2],
                 v2 = u[0] * u[0] + u[1] * u[1] + u[2] * u[2], rv = d[0] * u[0] + d[1] * u[1] + d[2] * u[2];
    const double p = (r2 * v2 - rv * rv) / mu, inverse_a = 2 / sqrt(r2) - v2 / mu, e = sqrt(fmax(0, 1 - p * inverse_a));
    *least = p / (1 + e);
    *greatest = e < 1 ? p / (1 - e) : INFINITY;
}

/* Note a body that is listed after one with mass whose orbit is outside its own; the moon of such a body is not
 * meant. Its Jacobi coordinates refer to a barycentre that it does not move about. */
static void check_order(shoal_findings *findings, long id, int n, const shoal_body *bodies)
{
    double farthest = 0;
    int outer = 0;
    for (int i = 1; i < n; i++) {
        double least, greatest;
        apsides(&bodies[0], &bodies[i], &least, &greatest);
        const shoal_body *of = &bodies[outer];
        const double reach = farthest * cbrt(of->m / (3 * bodies[0].m)),
                     apart = hypot(hypot(bodies[i].x - of->x, bodies[i].y - of->y), bodies[i].z - of->z);
        if (greatest < farthest && apart > reach) {
            if (findings->n_disordered++ == 0 || id < findings->first_disordered) {
                findings->first_disordered = id;
                findings->disordered[0] = outer;
                findings->disordered[1] = i;
            }
            return;
        }
        if (bodies[i].m > 0 && least > farthest) {
            farthest = least;
            outer = i;
        }
    }
}

/* The step that is asked for, without its sign; +inf if it follows from a period and no orbit is bound. */
static double step_of(const shoal_plan *plan, long system, const system_room *room)
{
    const int n_live = (int)*shoal_plan_field(plan, SHOAL_SYS_N_LIVE, system);
    const bool by_period = plan->dt == 0 && plan->steps_per_orbit > 0;
    const bool warns = plan->findings->warns, count = warns && !plan->propagator->adaptive;
    const double period = by_period || count ? shortest_period(plan, system, room->bodies, room->orbits) : 0;
    double dt = by_period       ? period / plan->steps_per_orbit
                : plan->dt != 0 ? plan->dt
                                : *shoal_plan_field(plan, SHOAL_SYS_DT, system);
    if (dt == 0 && plan->propagator->adaptive) {
        shoal_ensemble_get_bodies(plan->ensemble, system, room->bodies);
        dt = first_step(n_live, room->bodies);
    }
    dt = fabs(dt);
    if (count && isfinite(period)) {
        if (!plan->propagator->resolves_pericentre) /* hybrid follows moons by substeps */
            find_moons(n_live, room->bodies, room->orbits);
        check_pericentres(plan, plan->ensemble->id[system], n_live, room->orbits, period, dt);
    }
    if (warns) {
        shoal_ensemble_get_bodies(plan->ensemble, system, room->bodies);
        check_order(plan->findings, plan->ensemble->id[system], n_live, room->bodies);
        if (count)
            check_brakes(plan, plan->ensemble->id[system], n_live, room, dt);
    }
    return by_period && !isfinite(period) ? INFINITY : fmin(dt, plan->args.dt_max);
}

/* A system whose times are counted in periods that it does not have. */
static shoal_status no_period(const shoal_plan *plan, long system, bool commit)
{
    const long id = plan->ensemble->id[system];
    if (plan->findings->maker == SHOAL_MAKER_STUDY && plan->ensemble->n_systems == 1) {
        const bool steps = plan->dt == 0 && plan->steps_per_orbit > 0;
        const shoal_fault what = {.of = SHOAL_FAULT_OPTION,
                                  .name = steps ? "steps_per_orbit" : "orbits",
                                  .number = steps ? plan->steps_per_orbit : plan->t_end};
        return shoal_refuse(plan->context, &plan->findings->fault, SHOAL_E_INPUT, what,
                            "%s instead: no orbit of system %ld is bound", steps ? "dt" : "t_end", id);
    }
    if (commit) {
        *shoal_plan_field(plan, SHOAL_SYS_OUTCOME, system) = SHOAL_INVALID;
        shoal_findings_invalid(plan->findings, 1, id, "no orbit is bound");
    }
    return SHOAL_OK;
}

static shoal_status refuse_step(const shoal_plan *plan, long system, double dt, double n_steps)
{
    const bool by_period = plan->dt == 0 && plan->steps_per_orbit > 0;
    const bool first = plan->propagator->adaptive && plan->dt == 0 && !by_period &&
                       *shoal_plan_field(plan, SHOAL_SYS_DT, system) == 0;
    char subject[80];
    snprintf(subject, sizeof subject, "system %ld: step %g", plan->ensemble->id[system], dt);
    const shoal_fault what = {
        .of = SHOAL_FAULT_OPTION, .name = by_period ? "steps_per_orbit" : "dt", .number = dt, .subject = subject};
    shoal_fault *fault = &plan->findings->fault;
    if (first)
        return shoal_refuse(plan->context, fault, SHOAL_E_INPUT, what,
                            "dt: no first step follows from the bodies of system %ld, which are too far apart or too "
                            "near each other",
                            plan->ensemble->id[system]);
    if (dt > 0 && isfinite(dt))
        return shoal_refuse(plan->context, fault, SHOAL_E_INPUT, what, "less than 2^52 steps, not %g", n_steps);
    if (dt == 0)
        return shoal_refuse(plan->context, fault, SHOAL_E_INPUT, what, "dt or steps_per_orbit%s",
                            plan->findings->maker == SHOAL_MAKER_CALLER ? " in the options, or a dt of the system"
                                                                        : "");
    return shoal_refuse(plan->context, fault, SHOAL_E_INPUT, what, "a finite number > 0");
}

static shoal_status choose_step(shoal_plan *plan, long system, const system_room *room, bool commit)
{
    const double t_start = *shoal_plan_field(plan, SHOAL_SYS_T_START, system), dt = step_of(plan, system, room);
    const double t_end = shoal_plan_absolute_time(plan, system, plan->t_end), span = t_end - t_start;
    if (!isfinite(t_start))
        return shoal_fail(plan->context, SHOAL_E_INPUT, "system %ld: t_start = %g: expected a finite time",
                          plan->ensemble->id[system], t_start);
    if ((plan->dt == 0 && plan->steps_per_orbit > 0 && !isfinite(dt)) || !isfinite(t_end)) /* no orbit is bound */
        return no_period(plan, system, commit);
    if (!(dt > 0 && isfinite(dt)))
        return refuse_step(plan, system, dt, 0);
    const double end = plan->propagator->adaptive ? fabs(span)
                                                  : floor(fabs(span) / dt + shoal_whole_step(t_start, t_end, dt));
    if (!plan->propagator->adaptive && !(end < 0x1p52))
        return refuse_step(plan, system, dt, end);
    plan->findings->run_steps += plan->propagator->adaptive ? end / dt : end;
    if (commit) {
        *shoal_plan_field(plan, SHOAL_SYS_DT, system) = span < 0 ? -dt : dt;
        *shoal_plan_field(plan, SHOAL_SYS_END, system) = end;
    }
    return SHOAL_OK;
}

/* What a part of the systems has found. */
typedef struct steps_part {
    shoal_findings findings;
    long bad; /* the first system that is refused, -1: none, -2: out of memory */
} steps_part;

typedef struct steps_loop {
    const shoal_plan *plan;
    bool commit;
    long part; /* systems of each part */
    steps_part parts[SHOAL_MOST_PARTS];
} steps_loop;

static void choose_part(void *user, long first, long last)
{
    steps_loop *loop = user;
    steps_part *part = &loop->parts[first / loop->part];
    shoal_plan own = *loop->plan; /* with findings of its own, and without messages */
    system_room room;
    own.context = NULL;
    own.findings = &part->findings;
    part->findings.maker = loop->plan->findings->maker;
    part->findings.warns = loop->plan->findings->warns && loop->commit; /* once of the two times */
    part->bad = make_room(loop->plan, &room) ? -1 : -2;
    for (long system = first; system < last && part->bad == -1; system++)
        if (*shoal_plan_field(&own, SHOAL_SYS_OUTCOME, system) == SHOAL_RUNNING &&
            choose_step(&own, system, &room, loop->commit))
            part->bad = system;
    release_room(&room);
}

static void add_findings(shoal_findings *to, const shoal_findings *from)
{
    shoal_findings_invalid(to, from->n_invalid, from->first_invalid, from->why_invalid);
    add_long_steps(&to->unresolved, &from->unresolved);
    add_long_steps(&to->braked, &from->braked);
    if (from->n_disordered > 0 && (to->n_disordered == 0 || from->first_disordered < to->first_disordered)) {
        to->first_disordered = from->first_disordered;
        memcpy(to->disordered, from->disordered, sizeof to->disordered);
    }
    to->n_disordered += from->n_disordered;
    to->run_steps += from->run_steps;
}

shoal_status shoal_plan_choose_steps(shoal_plan *plan, bool commit)
{
    const long n = plan->ensemble->n_systems;
    steps_loop loop = {.plan = plan, .commit = commit, .part = shoal_part(n, WORTH_THREADS)};
    system_room room;
    bool has_room = make_room(plan, &room);
    shoal_status status = SHOAL_OK;
    if (has_room)
        shoal_share(plan->context, plan->host_threads, n, loop.part, choose_part, &loop);
    for (long first = 0; first < n && has_room && !status; first += loop.part) {
        const steps_part *part = &loop.parts[first / loop.part];
        add_findings(plan->findings, &part->findings);
        has_room = part->bad != -2;
        if (part->bad >= 0) /* once more, for its message */
            status = choose_step(plan, part->bad, &room, commit);
    }
    release_room(&room);
    return has_room ? status : shoal_fail(plan->context, SHOAL_E_MEMORY, "out of memory");
}
