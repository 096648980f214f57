/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * bodies.c: the bodies of one big system in memory, and between there and a table.
 */
#include <stdlib.h>
#include <string.h>

#include "big/big.h"

shoal_status shoal_big_bodies_create(shoal_context *context, long n, shoal_big_bodies *bodies)
{
    *bodies = (shoal_big_bodies){.n = n};
    bodies->m = shoal_allocate((size_t)n * 7, sizeof(double));
    if (!bodies->m)
        return shoal_fail(context, SHOAL_E_MEMORY, "out of memory for %ld bodies", n);
    bodies->x = bodies->m + n;
    bodies->v = bodies->m + 4 * n;
    return SHOAL_OK;
}

void shoal_big_bodies_release(shoal_big_bodies *bodies)
{
    free(bodies->m);
    *bodies = (shoal_big_bodies){0};
}

double shoal_big_barycentre(const shoal_big_bodies *bodies, double x[3], double v[3])
{
    const long n = bodies->n;
    shoal_sum mass = {0};
    for (long i = 0; i < n; i++)
        shoal_sum_add(&mass, bodies->m[i]);
    const double total = shoal_sum_value(mass);
    for (int c = 0; c < 3; c++) {
        shoal_sum sx = {0}, sv = {0};
        for (long i = 0; i < n; i++) {
            shoal_sum_add(&sx, bodies->m[i] * bodies->x[c * n + i]);
            shoal_sum_add(&sv, bodies->m[i] * bodies->v[c * n + i]);
        }
        x[c] = shoal_sum_value(sx) / total;
        v[c] = shoal_sum_value(sv) / total;
    }
    return total;
}

void shoal_big_centre(shoal_big_bodies *bodies)
{
    double x[3], v[3];
    shoal_big_barycentre(bodies, x, v);
    for (int c = 0; c < 3; c++)
        for (long i = 0; i < bodies->n; i++) {
            bodies->x[c * bodies->n + i] -= x[c];
            bodies->v[c * bodies->n + i] -= v[c];
        }
}

shoal_status shoal_big_from_table(shoal_context *context, shoal_table *table, const shoal_units *units,
                                  shoal_big_bodies *bodies)
{
    if (table->n_systems != 1)
        return shoal_fail(context, SHOAL_E_INPUT, "%s: %ld systems: expected one", table->path, table->n_systems);
    const long n = table->n_bodies;
    if (n < 2)
        return shoal_fail(context, SHOAL_E_INPUT, "%s: %ld bodies: expected at least 2", table->path, n);
    for (const shoal_body *b = table->bodies; b < table->bodies + n; b++)
        if (!isfinite(b->m + b->x + b->y + b->z + b->vx + b->vy + b->vz) || b->m < 0)
            return shoal_fail(context, SHOAL_E_INPUT, "%s: body %ld: expected finite coordinates and a mass >= 0",
                              table->path, (long)(b - table->bodies));
    shoal_table_convert(table, units);
    shoal_status status = shoal_big_bodies_create(context, n, bodies);
    if (status)
        return status;
    bodies->time = isnan(table->systems[0].time) ? 0 : table->systems[0].time * units->time;
    const double mass = units->mass, length = units->length, velocity = shoal_units_factor(units, "velocity");
    double total = 0;
    for (long i = 0; i < n; i++) {
        const shoal_body *b = &table->bodies[i];
        const double position[] = {b->x, b->y, b->z}, speed[] = {b->vx, b->vy, b->vz};
        total += bodies->m[i] = b->m * mass;
        for (int c = 0; c < 3; c++) {
            bodies->x[c * n + i] = position[c] * length;
            bodies->v[c * n + i] = speed[c] * velocity;
        }
    }
    if (!(total > 0)) {
        shoal_big_bodies_release(bodies);
        return shoal_fail(context, SHOAL_E_INPUT, "%s: expected a total mass > 0", table->path);
    }
    return SHOAL_OK;
}

shoal_status shoal_big_to_table(shoal_context *context, const shoal_big_bodies *bodies, const shoal_units *units,
                                shoal_table *table)
{
    const long n = bodies->n;
    *table = (shoal_table){.context = context, .path = "", .units = *units};
    shoal_status status = shoal_table_add_system(table, 0, shoal_units_time(units, bodies->time));
    if (!status && !(table->bodies = calloc((size_t)n, sizeof *table->bodies)))
        status = shoal_table_no_memory(table);
    if (status)
        return status;
    const double velocity = shoal_units_factor(units, "velocity"), length = units->length;
    for (long i = 0; i < n; i++)
        table->bodies[i] = (shoal_body){.m = bodies->m[i] / units->mass,
                                        .x = bodies->x[i] / length,
                                        .y = bodies->x[n + i] / length,
                                        .z = bodies->x[2 * n + i] / length,
                                        .vx = bodies->v[i] / velocity,
                                        .vy = bodies->v[n + i] / velocity,
                                        .vz = bodies->v[2 * n + i] / velocity};
    table->n_bodies = table->room_bodies = n;
    return shoal_table_end_system(table);
}
