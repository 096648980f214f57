/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * format_gadget.c: snapshots in GADGET's HDF5 format (Springel, GADGET-4 users' guide, section "Snapshot file format"):
 *
 *     /Header                attributes NumPart_ThisFile, NumPart_Total, MassTable [types], Time, NumFilesPerSnapshot,
 *                            ...
 *     /PartTypeN/Coordinates [n][3], Velocities [n][3], ParticleIDs [n], Masses [n] where MassTable has 0
 *
 * Read from one file; types 0 = gas, 4 = stars, the others dark. Written as type 1. Units are those of the attributes
 * UnitLength_in_cm, UnitMass_in_g and UnitVelocity_in_cm_per_s of /Parameters or /Header, where they are there: such
 * numbers are brought to kpc, Msun, Myr. What this program writes says its units in the attribute `units` of /Header.
 * Velocities are those of a run without cosmology.
 */
#define _GNU_SOURCE 1
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/result/h5.h"
#include "core/formats/table.h"

enum { TYPES = 6, WRITTEN = 1 };

static int component(int type)
{
    return type == 0 ? 0 : type == 4 ? 2 : 1;
}

static shoal_status read_type(shoal_table *table, shoal_h5 *h5, int type, long n, double mass)
{
    char path[64];
    shoal_status status = SHOAL_OK;
    double *data = malloc((size_t)n * 7 * sizeof *data), *x = data, *v = data + 3 * n, *m = data + 6 * n;
    shoal_body *bodies = realloc(table->bodies, (size_t)(table->n_bodies + n) * sizeof *bodies);
    if (bodies)
        table->bodies = bodies;
    if (!data || !bodies) {
        free(data);
        return shoal_table_no_memory(table);
    }
#define READ(name, size, to)                                                                 \
    do {                                                                                     \
        snprintf(path, sizeof path, "/PartType%d/" name, type);                              \
        status = status ? status : shoal_h5_read(h5, path, H5T_NATIVE_DOUBLE, (size)*n, to); \
    } while (0)
    READ("Coordinates", 3, x);
    READ("Velocities", 3, v);
    if (!(mass > 0))
        READ("Masses", 1, m);
#undef READ
    for (long i = 0; i < n && !status; i++)
        table->bodies[table->n_bodies++] = (shoal_body){.m = mass > 0 ? mass : m[i],
                                                        .x = x[3 * i],
                                                        .y = x[3 * i + 1],
                                                        .z = x[3 * i + 2],
                                                        .vx = v[3 * i],
                                                        .vy = v[3 * i + 1],
                                                        .vz = v[3 * i + 2]};
    table->room_bodies = table->n_bodies;
    free(data);
    return status;
}

/* From GADGET's own attributes in a group, if it has them, to kpc, Msun, Myr. */
static shoal_status convert_units(shoal_table *table, shoal_h5 *h5, const char *group)
{
    double length, mass, velocity;
    shoal_units cgs, usual;
    if (table->units.length != 0 || !shoal_h5_has(h5, group) || !shoal_h5_has_attribute(h5, group, "UnitLength_in_cm"))
        return SHOAL_OK;
    shoal_status status = shoal_h5_get_doubles(h5, group, "UnitLength_in_cm", 1, &length);
    if (!status)
        status = shoal_h5_get_doubles(h5, group, "UnitMass_in_g", 1, &mass);
    if (!status)
        status = shoal_h5_get_doubles(h5, group, "UnitVelocity_in_cm_per_s", 1, &velocity);
    if (!status)
        status = shoal_units_init(table->context, "cm", "g", "s", NAN, &cgs);
    if (!status)
        status = shoal_units_init(table->context, "kpc", "Msun", "Myr", NAN, &usual);
    if (status)
        return status;
    for (shoal_body *b = table->bodies; b < table->bodies + table->n_bodies; b++)
        *b = (shoal_body){
            b->m * mass,     0, b->x * length, b->y * length, b->z * length, b->vx * velocity, b->vy * velocity,
            b->vz * velocity};
    table->systems[0].time *= length / velocity;
    table->units = cgs;
    shoal_table_convert(table, &usual);
    return SHOAL_OK;
}

/* The units that a file of ours states. */
static shoal_status read_units(shoal_table *table, shoal_h5 *h5)
{
    char *text = NULL;
    if (!shoal_h5_has_attribute(h5, "/Header", "units"))
        return SHOAL_OK;
    shoal_status status = shoal_h5_get_text(h5, "/Header", "units", &text);
    if (!status)
        status = shoal_units_parse(table->context, text, &table->units);
    free(text);
    return status;
}

static shoal_status gadget_read(shoal_table *table, int n_files, char *const *files,
                                const shoal_convert_options *options)
{
    (void)n_files;
    double count[TYPES] = {0}, mass[TYPES] = {0}, time = NAN, parts = 1;
    shoal_h5 h5;
    table->path = files[0];
    shoal_status status = shoal_h5_open(table->context, files[0], &h5);
    if (status)
        return status;
    status = shoal_h5_get_doubles(&h5, "/Header", "NumPart_ThisFile", TYPES, count);
    if (!status)
        status = shoal_h5_get_doubles(&h5, "/Header", "MassTable", TYPES, mass);
    if (!status)
        status = shoal_h5_get_doubles(&h5, "/Header", "Time", 1, &time);
    if (!status && shoal_h5_has_attribute(&h5, "/Header", "NumFilesPerSnapshot"))
        status = shoal_h5_get_doubles(&h5, "/Header", "NumFilesPerSnapshot", 1, &parts);
    if (!status && parts != 1)
        status = shoal_fail(table->context, SHOAL_E_UNSUPPORTED,
                            "%s: NumFilesPerSnapshot = %g: expected a snapshot in one file", files[0], parts);
    if (!status)
        status = read_units(table, &h5);
    if (!status)
        status = shoal_table_add_system(table, 0, time);
    for (int type = 0; type < TYPES && !status; type++)
        if (!(count[type] >= 0 && count[type] <= INT_MAX && count[type] == floor(count[type])))
            status = shoal_fail(table->context, SHOAL_E_INPUT,
                                "%s: NumPart_ThisFile of type %d is %g: expected a number of bodies", files[0], type,
                                count[type]);
        else if (count[type] > 0 && (!options->components || options->components & 1 << component(type)))
            status = read_type(table, &h5, type, (long)count[type], mass[type]);
    if (!status)
        status = convert_units(table, &h5, "/Parameters");
    if (!status)
        status = convert_units(table, &h5, "/Header");
    shoal_h5_close(&h5);
    return status ? status : shoal_table_end_system(table);
}

static shoal_status gadget_write(const shoal_table *table, FILE *out)
{
    const long n = table->n_bodies;
    const double zero = 0;
    const int64_t count[TYPES] = {[WRITTEN] = n}, none[TYPES] = {0}, one = 1, off = 0;
    const double masses[TYPES] = {0};
    char units[SHOAL_UNITS_TEXT];
    shoal_h5 h5;
    if (table->n_systems != 1)
        return shoal_fail(table->context, SHOAL_E_INPUT, "%ld systems: expected one for this format", table->n_systems);
    double *data = malloc((size_t)n * 7 * sizeof *data), *x = data, *v = data + 3 * n, *m = data + 6 * n;
    int64_t *id = malloc((size_t)n * sizeof *id);
    shoal_status status = data && id ? shoal_h5_create(table->context, "snapshot", H5F_LIBVER_EARLIEST, 1 << 20, &h5)
                                     : shoal_table_no_memory(table);
    if (status)
        goto done;
    for (long i = 0; i < n; i++) {
        const shoal_body *b = &table->bodies[i];
        memcpy(x + 3 * i, (double[3]){b->x, b->y, b->z}, 3 * sizeof *x);
        memcpy(v + 3 * i, (double[3]){b->vx, b->vy, b->vz}, 3 * sizeof *v);
        m[i] = b->m;
        id[i] = i;
    }
    shoal_units_print(&table->units, units);
    const double time = isnan(table->systems[0].time) ? 0 : table->systems[0].time;
#define STEP(call) \
    if (!status)   \
    status = call
    STEP(shoal_h5_group(&h5, "/Header"));
    STEP(shoal_h5_put_integers(&h5, "/Header", "NumPart_ThisFile", TYPES, count));
    STEP(shoal_h5_put_integers(&h5, "/Header", "NumPart_Total", TYPES, count));
    STEP(shoal_h5_put_integers(&h5, "/Header", "NumPart_Total_HighWord", TYPES, none));
    STEP(shoal_h5_put_integers(&h5, "/Header", "NumFilesPerSnapshot", 0, &one));
    STEP(shoal_h5_put_doubles(&h5, "/Header", "MassTable", TYPES, masses));
    STEP(shoal_h5_put_doubles(&h5, "/Header", "Time", 0, &time));
    STEP(shoal_h5_put_doubles(&h5, "/Header", "Redshift", 0, &zero));
    STEP(shoal_h5_put_doubles(&h5, "/Header", "BoxSize", 0, &zero));
    STEP(shoal_h5_put_integers(&h5, "/Header", "Flag_DoublePrecision", 0, &one));
    STEP(shoal_h5_put_integers(&h5, "/Header", "Flag_Sfr", 0, &off));
    STEP(shoal_h5_put_text(&h5, "/Header", "units", units));
    STEP(shoal_h5_group(&h5, "/PartType1"));
    STEP(shoal_h5_write(&h5, "/PartType1/Coordinates", H5T_NATIVE_DOUBLE, shoal_h5_table(n, 3), x, NULL, NULL));
    STEP(shoal_h5_write(&h5, "/PartType1/Velocities", H5T_NATIVE_DOUBLE, shoal_h5_table(n, 3), v, NULL, NULL));
    STEP(shoal_h5_write(&h5, "/PartType1/Masses", H5T_NATIVE_DOUBLE, shoal_h5_rows(n), m, NULL, NULL));
    STEP(shoal_h5_write(&h5, "/PartType1/ParticleIDs", H5T_NATIVE_INT64, shoal_h5_rows(n), id, NULL, NULL));
#undef STEP
    status = shoal_h5_print(&h5, status, out);
done:
    free(data);
    free(id);
    return status;
}

bool shoal_gadget_is(const char *path)
{
    shoal_h5 h5;
    const bool is = shoal_h5_open(NULL, path, &h5) == SHOAL_OK &&
                    shoal_h5_has_attribute(&h5, "/Header", "NumPart_ThisFile");
    shoal_h5_close(&h5);
    return is;
}

const shoal_format shoal_format_gadget = {
    .name = "gadget",
    .ends = ".hdf5",
    .doc = "GADGET's HDF5 snapshot of one big system; any units",
    .is_file = shoal_gadget_is,
    .read = gadget_read,
    .write = gadget_write,
    .components = true,
};
