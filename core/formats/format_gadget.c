/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * format_gadget.c: snapshots in GADGET's HDF5 format (Springel, GADGET-4 users' guide, section "Snapshot file format"):
 *
 *     /Header                attributes NumPart_ThisFile, NumPart_Total, MassTable [types], Time, NumFilesPerSnapshot,
 *                            Redshift, ...: those that do not agree are refused by name
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

/* What a header says. Values that it lacks stay as they were. */
enum { MOST = 64 };
typedef struct gadget_header {
    double count[MOST], total[MOST], high[MOST], mass[MOST]; /* by type */
    double time, parts, redshift, comoving, omega, hubble, box;
} gadget_header;

/* An attribute of /Header or, if it may be there, of /Parameters. */
static shoal_status get(const shoal_h5 *h5, const char *name, bool must, int n, double *values)
{
    static const char *const groups[] = {"/Parameters", "/Header"};
    for (int i = 0; i < SHOAL_COUNT(groups) && !must; i++)
        if (shoal_h5_has(h5, groups[i]) && shoal_h5_has_attribute(h5, groups[i], name))
            return shoal_h5_get_doubles(h5, groups[i], name, n, values);
    return must ? shoal_h5_get_doubles(h5, "/Header", name, n, values) : SHOAL_OK;
}

static shoal_status read_header(const shoal_h5 *h5, gadget_header *head)
{
    *head = (gadget_header){.time = NAN, .parts = 1, .comoving = NAN, .hubble = 1};
    for (int type = 0; type < MOST; type++)
        head->mass[type] = head->total[type] = NAN;
    const struct {
        const char *name;
        bool must;
        int n;
        double *values;
    } fields[] = {
        {"NumPart_ThisFile", true, MOST, head->count},
        {"NumPart_Total", false, MOST, head->total},
        {"NumPart_Total_HighWord", false, MOST, head->high},
        {"MassTable", true, MOST, head->mass},
        {"Time", true, 1, &head->time},
        {"NumFilesPerSnapshot", false, 1, &head->parts},
        {"Redshift", false, 1, &head->redshift},
        {"ComovingIntegrationOn", false, 1, &head->comoving},
        {"Omega0", false, 1, &head->omega},
        {"HubbleParam", false, 1, &head->hubble},
        {"BoxSize", false, 1, &head->box},
    };
    shoal_status status = SHOAL_OK;
    for (int i = 0; i < SHOAL_COUNT(fields) && !status; i++)
        status = get(h5, fields[i].name, fields[i].must, fields[i].n, fields[i].values);
    return status;
}

/* A type's numbers agree with each other and with what is in the file. */
static shoal_status check_type(const shoal_h5 *h5, const gadget_header *head, int type)
{
    const double n = head->count[type], total = head->total[type] + 0x1p32 * head->high[type];
    char path[64];
    shoal_h5_extent extent = {0, {0}};
    if (!(n >= 0 && n <= INT_MAX && n == floor(n)))
        return shoal_fail(h5->context, SHOAL_E_INPUT,
                          "%s: NumPart_ThisFile of type %d is %g: expected a number of bodies", h5->path, type, n);
    if (type >= TYPES)
        return n == 0 ? SHOAL_OK
                      : shoal_fail(h5->context, SHOAL_E_UNSUPPORTED,
                                   "%s: NumPart_ThisFile of type %d is %g: expected none beyond type %d", h5->path,
                                   type, n, TYPES - 1);
    if (!isnan(head->total[type]) && head->parts == 1 && total != n)
        return shoal_fail(h5->context, SHOAL_E_INPUT,
                          "%s: NumPart_Total of type %d is %g: expected %g, as in NumPart_ThisFile", h5->path, type,
                          total, n);
    if (n > 0 && !(head->mass[type] >= 0 && isfinite(head->mass[type])))
        return shoal_fail(h5->context, SHOAL_E_INPUT, "%s: MassTable of type %d is %g: expected a number >= 0",
                          h5->path, type, head->mass[type]);
    snprintf(path, sizeof path, "/PartType%d", type);
    const bool group = n == 0 && shoal_h5_has(h5, path);
    snprintf(path, sizeof path, "/PartType%d/Coordinates", type);
    if (group && shoal_h5_has(h5, path) && shoal_h5_sizes(h5, path, 2, &extent) == SHOAL_OK && extent.of[0] > 0)
        return shoal_fail(h5->context, SHOAL_E_INPUT, "%s: NumPart_ThisFile of type %d is 0: expected %llu, as in %s",
                          h5->path, type, (unsigned long long)extent.of[0], path);
    return SHOAL_OK;
}

static shoal_status check_header(const shoal_h5 *h5, const gadget_header *head, FILE *notes)
{
    shoal_status status = SHOAL_OK;
    for (int type = 0; type < MOST && !status; type++)
        status = check_type(h5, head, type);
    if (status)
        return status;
    if (head->parts != 1)
        return shoal_fail(h5->context, SHOAL_E_UNSUPPORTED,
                          "%s: NumFilesPerSnapshot = %g: expected a snapshot in one file", h5->path, head->parts);
    if (!isfinite(head->time))
        return shoal_fail(h5->context, SHOAL_E_INPUT, "%s: Time = %g: expected a finite number", h5->path, head->time);
    if (head->redshift != 0 || (head->comoving != 0 && !isnan(head->comoving)))
        return shoal_fail(h5->context, SHOAL_E_UNSUPPORTED, "%s: %s = %g: expected 0, a run without cosmology",
                          h5->path, head->redshift != 0 ? "Redshift" : "ComovingIntegrationOn",
                          head->redshift != 0 ? head->redshift : head->comoving);
    if (isnan(head->comoving) && head->omega != 0) /* at redshift 0 nothing else tells */
        return shoal_fail(h5->context, SHOAL_E_UNSUPPORTED,
                          "%s: Omega0 = %g: expected 0, or ComovingIntegrationOn = 0, a run without cosmology",
                          h5->path, head->omega);
    if (head->hubble != 1 && head->hubble != 0)
        fprintf(notes, "%s: HubbleParam = %g: units are taken as they are, not by h\n", h5->path, head->hubble);
    if (head->box != 0)
        fprintf(notes, "%s: BoxSize = %g: taken for open space\n", h5->path, head->box);
    return SHOAL_OK;
}

/* A dataset of so many rows of so many numbers; its sizes are known before there is memory for it. */
static shoal_status check_sizes(const shoal_h5 *h5, const char *path, long n, int n_columns)
{
    shoal_h5_extent extent;
    const shoal_status status = shoal_h5_sizes(h5, path, n_columns > 1 ? 2 : 1, &extent);
    if (status || (extent.of[0] == (hsize_t)n && (n_columns == 1 || extent.of[1] == (hsize_t)n_columns)))
        return status;
    return shoal_fail(
        h5->context, SHOAL_E_INPUT, "%s: %s has %llu rows of %llu: expected %ld of %d as in NumPart_ThisFile", h5->path,
        path, (unsigned long long)extent.of[0], n_columns > 1 ? (unsigned long long)extent.of[1] : 1ULL, n, n_columns);
}

/* The bodies of a type; mass: that of each, 0: each has its own. */
static shoal_status read_type(shoal_table *table, shoal_h5 *h5, int type, long n, double mass)
{
    enum { X, V, M, SETS };
    static const char *const names[SETS] = {"Coordinates", "Velocities", "Masses"};
    static const int columns[SETS] = {3, 3, 1};
    char path[SETS][64];
    shoal_status status = SHOAL_OK;
    for (int i = 0; i < SETS; i++)
        snprintf(path[i], sizeof path[i], "/PartType%d/%s", type, names[i]);
    const int n_sets = mass > 0 && !shoal_h5_has(h5, path[M]) ? M : SETS;
    for (int i = 0; i < n_sets && !status; i++)
        status = check_sizes(h5, path[i], n, columns[i]);
    if (status)
        return status;
    double *data = malloc((size_t)n * 7 * sizeof *data);
    double *const at[SETS] = {data, data ? data + 3 * n : NULL, data ? data + 6 * n : NULL};
    shoal_body *bodies = realloc(table->bodies, (size_t)(table->n_bodies + n) * sizeof *bodies);
    if (bodies)
        table->bodies = bodies;
    if (!data || !bodies) {
        free(data);
        return shoal_table_no_memory(table);
    }
    for (int i = 0; i < n_sets && !status; i++)
        status = shoal_h5_read(h5, path[i], H5T_NATIVE_DOUBLE, columns[i] * n, at[i]);
    for (long i = 0; i < n && !status; i++) {
        const double *x = at[X] + 3 * i, *v = at[V] + 3 * i, m = n_sets == SETS ? at[M][i] : mass;
        if (!isfinite(x[0] + x[1] + x[2] + v[0] + v[1] + v[2] + m) || m < 0)
            status = shoal_fail(table->context, SHOAL_E_INPUT,
                                "%s: body %ld of type %d: expected finite numbers and a mass >= 0", h5->path, i, type);
        else if (mass > 0 && fabs(m - mass) > 1e-6 * mass)
            status = shoal_fail(table->context, SHOAL_E_INPUT, "%s: MassTable of type %d is %g: expected %g as in %s",
                                h5->path, type, mass, m, path[M]);
        table->bodies[table->n_bodies++] = (shoal_body){m, 0, x[0], x[1], x[2], v[0], v[1], v[2]};
    }
    table->room_bodies = table->n_bodies;
    free(data);
    return status;
}

/* From GADGET's own attributes in a group, if it has them, to kpc, Msun, Myr. */
static shoal_status convert_units(shoal_table *table, shoal_h5 *h5, const char *group)
{
    static const char *const names[] = {"UnitLength_in_cm", "UnitMass_in_g", "UnitVelocity_in_cm_per_s"};
    double length = 0, mass = 0, velocity = 0, *const values[] = {&length, &mass, &velocity};
    shoal_units cgs, usual;
    shoal_status status = SHOAL_OK;
    int n_there = 0;
    for (int i = 0; i < SHOAL_COUNT(names) && table->units.length == 0 && shoal_h5_has(h5, group); i++)
        n_there += shoal_h5_has_attribute(h5, group, names[i]);
    if (n_there == 0)
        return SHOAL_OK;
    for (int i = 0; i < SHOAL_COUNT(names) && !status; i++)
        status = shoal_h5_get_doubles(h5, group, names[i], 1, values[i]);
    if (!status && !(length > 0 && mass > 0 && velocity > 0 && isfinite(length * mass * velocity)))
        status = shoal_fail(table->context, SHOAL_E_INPUT,
                            "%s: UnitLength_in_cm, UnitMass_in_g, UnitVelocity_in_cm_per_s = %g, %g, %g: expected "
                            "numbers > 0",
                            h5->path, length, mass, velocity);
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
    gadget_header head;
    shoal_h5 h5;
    const shoal_units given = table->units; /* of a file that states none */
    table->path = files[0];
    table->units = (shoal_units){0};
    shoal_status status = shoal_h5_open(table->context, files[0], &h5);
    if (status)
        return status;
    if (!(status = read_header(&h5, &head)))
        status = check_header(&h5, &head, options->notes);
    if (!status)
        status = read_units(table, &h5);
    if (!status)
        status = shoal_table_add_system(table, 0, head.time);
    for (int type = 0; type < TYPES && !status; type++)
        if (head.count[type] > 0 && (!options->components || options->components & 1 << component(type)))
            status = read_type(table, &h5, type, (long)head.count[type], head.mass[type]);
    if (!status)
        status = convert_units(table, &h5, "/Parameters");
    if (!status)
        status = convert_units(table, &h5, "/Header");
    if (table->units.length == 0)
        table->units = given;
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
    .radii = SHOAL_RADII_NONE,
};
