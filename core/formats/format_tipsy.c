/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * format_tipsy.c: TIPSY's binary snapshots (N. Katz & T. Quinn, University of Washington), single precision, by custom
 * G = 1:
 *
 *     header   double time, int n, n_dimensions (3), n_gas, n_dark, n_stars; 28 bytes, or 32 with padding
 *     gas      12 floats: mass, position[3], velocity[3], density, temperature, smoothing length, metals, potential
 *     dark      9 floats: mass, position[3], velocity[3], softening, potential
 *     stars    11 floats: mass, position[3], velocity[3], metals, time of formation, softening, potential
 *
 * Read in either byte order, which the header shows. Written, all as dark, in the standard one (most significant byte
 * first), or in the other one.
 */
#define _GNU_SOURCE 1
#include <float.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/formats/table.h"

enum { HEADER = 28, PADDED = 32, KINDS = 3 };
static const int n_floats[KINDS] = {12, 9, 11};

typedef struct header {
    double time;
    long n_all, n_dimensions, n[KINDS];
} header;

static uint32_t word_at(const unsigned char *bytes, bool big)
{
    uint32_t word = 0;
    for (int i = 0; i < 4; i++)
        word |= (uint32_t)bytes[i] << 8 * (big ? 3 - i : i);
    return word;
}

static float float_at(const unsigned char *bytes, bool big)
{
    const uint32_t word = word_at(bytes, big);
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

/* A header in one byte order: three dimensions, and kinds that add up. */
static bool parse(const unsigned char *bytes, bool big, header *head)
{
    const uint64_t high = word_at(bytes + (big ? 0 : 4), big), low = word_at(bytes + (big ? 4 : 0), big),
                   bits = high << 32 | low;
    const long n = word_at(bytes + 8, big);
    memcpy(&head->time, &bits, sizeof head->time);
    for (int k = 0; k < KINDS; k++)
        head->n[k] = word_at(bytes + 16 + 4 * k, big);
    head->n_all = n;
    head->n_dimensions = word_at(bytes + 12, big);
    return head->n_dimensions == 3 && n > 0 && head->n[0] + head->n[1] + head->n[2] == n;
}

static bool tipsy_is(const char *begin)
{
    header head;
    return parse((const unsigned char *)begin, true, &head) || parse((const unsigned char *)begin, false, &head);
}

/* Which field of a header is wrong, in that byte order which has more sense: fewer dimensions. */
static shoal_status explain(const shoal_table *table, const unsigned char *bytes)
{
    header head, other;
    (void)parse(bytes, true, &head);
    (void)parse(bytes, false, &other);
    if (other.n_dimensions < head.n_dimensions)
        head = other;
    if (head.n_dimensions != 3)
        return shoal_fail(table->context, SHOAL_E_INPUT,
                          "%s: n_dimensions = %ld: expected 3 in the header of a tipsy file", table->path,
                          head.n_dimensions);
    return shoal_fail(table->context, SHOAL_E_INPUT,
                      "%s: n = %ld: expected the sum of %ld gas, %ld dark, %ld stars, more than 0", table->path,
                      head.n_all, head.n[0], head.n[1], head.n[2]);
}

static shoal_status read_kind(shoal_table *table, FILE *in, long n, int n_items, bool big)
{
    static const char *const names[SHOAL_STATE] = {"mass", "x", "y", "z", "vx", "vy", "vz"};
    unsigned char item[48];
    if (n == 0)
        return SHOAL_OK;
    shoal_body *bodies = realloc(table->bodies, (size_t)(table->n_bodies + n) * sizeof *bodies);
    if (!bodies)
        return shoal_table_no_memory(table);
    table->bodies = bodies;
    table->room_bodies = table->n_bodies + n;
    for (long i = 0; i < n; i++) {
        double value[SHOAL_STATE];
        if (fread(item, 4, (size_t)n_items, in) != (size_t)n_items)
            return shoal_fail(table->context, SHOAL_E_INPUT, "%s: the file ends within its bodies", table->path);
        for (int q = 0; q < SHOAL_STATE; q++)
            value[q] = float_at(item + 4 * q, big);
        for (int q = 0; q < SHOAL_STATE; q++)
            if (!isfinite(value[q]) || value[0] < 0)
                return shoal_fail(table->context, SHOAL_E_INPUT,
                                  "%s: body %ld: %s = %g: expected finite numbers and a mass >= 0", table->path,
                                  table->n_bodies, names[q], value[q]);
        table->bodies[table->n_bodies++] = (shoal_body){value[0], 0,        value[1], value[2],
                                                        value[3], value[4], value[5], value[6]};
    }
    return SHOAL_OK;
}

static shoal_status tipsy_read(shoal_table *table, int n_files, char *const *files,
                               const shoal_convert_options *options)
{
    (void)n_files;
    unsigned char bytes[PADDED] = {0};
    header head;
    struct stat about = {0};
    table->path = files[0];
    FILE *in;
    shoal_status status = shoal_file_open(table->context, files[0], &in);
    if (status)
        return status;
    const bool whole = fread(bytes, 1, HEADER, in) == HEADER && fstat(fileno(in), &about) == 0;
    const bool big = parse(bytes, true, &head);
    long size = 0;
    if (!whole)
        status = shoal_fail(table->context, SHOAL_E_INPUT, "%s: expected the header of a tipsy file, %d bytes",
                            files[0], HEADER);
    else if (!big && !parse(bytes, false, &head))
        status = explain(table, bytes);
    else if (!isfinite(head.time))
        status = shoal_fail(table->context, SHOAL_E_INPUT, "%s: time = %g: expected a finite number", files[0],
                            head.time);
    else {
        size = 4 * (12 * head.n[0] + 9 * head.n[1] + 11 * head.n[2]);
        if (about.st_size != HEADER + size && about.st_size != PADDED + size)
            status = shoal_fail(table->context, SHOAL_E_INPUT,
                                "%s: %lld bytes: expected %ld (%ld gas, %ld dark, %ld stars)", files[0],
                                (long long)about.st_size, PADDED + size, head.n[0], head.n[1], head.n[2]);
    }
    if (!status)
        status = shoal_table_add_system(table, 0, head.time);
    long at = (long)about.st_size - size;
    for (int k = 0; k < KINDS && !status; at += 4 * n_floats[k] * head.n[k], k++)
        if (!options->components || options->components & 1 << k) {
            fseek(in, at, SEEK_SET);
            status = read_kind(table, in, head.n[k], n_floats[k], big);
        }
    fclose(in);
    return status ? status : shoal_table_end_system(table);
}

static void put_word(FILE *out, uint32_t word, bool big)
{
    unsigned char bytes[4];
    for (int i = 0; i < 4; i++)
        bytes[i] = (unsigned char)(word >> 8 * (big ? 3 - i : i));
    fwrite(bytes, 1, 4, out);
}

static void put_float(FILE *out, double value, bool big)
{
    const float rounded = (float)value;
    uint32_t word;
    memcpy(&word, &rounded, sizeof word);
    put_word(out, word, big);
}

static shoal_status write_in_order(const shoal_table *table, FILE *out, bool big)
{
    if (table->n_systems != 1)
        return shoal_fail(table->context, SHOAL_E_INPUT, "%ld systems: expected one for this format", table->n_systems);
    const double time = isnan(table->systems[0].time) ? 0 : table->systems[0].time;
    const uint32_t n = (uint32_t)table->n_bodies, words[] = {n, 3, 0, n, 0, 0};
    uint64_t bits;
    memcpy(&bits, &time, sizeof bits);
    put_word(out, (uint32_t)(big ? bits >> 32 : bits), big);
    put_word(out, (uint32_t)(big ? bits : bits >> 32), big);
    for (int i = 0; i < SHOAL_COUNT(words); i++)
        put_word(out, words[i], big);
    for (long i = 0; i < table->n_bodies; i++) {
        const shoal_body *b = &table->bodies[i];
        const double item[9] = {b->m, b->x, b->y, b->z, b->vx, b->vy, b->vz, 0, 0};
        for (int q = 0; q < 7; q++)
            if (!(fabs(item[q]) <= FLT_MAX) || (q == 0 && b->m > 0 && (float)b->m == 0))
                return shoal_fail(table->context, SHOAL_E_INPUT,
                                  "body %ld: %g: expected what single precision can hold for this format", i, item[q]);
        for (int q = 0; q < 9; q++)
            put_float(out, item[q], big);
    }
    return SHOAL_OK;
}

static shoal_status write_big(const shoal_table *table, FILE *out)
{
    return write_in_order(table, out, true);
}

static shoal_status write_little(const shoal_table *table, FILE *out)
{
    return write_in_order(table, out, false);
}

const shoal_format shoal_format_tipsy = {
    .name = "tipsy",
    .ends = ".tipsy",
    .doc = "TIPSY's binary snapshot of one big system, standard byte order; G = 1 or --units",
    .is = tipsy_is,
    .read = tipsy_read,
    .write = write_big,
    .natural = true,
    .components = true,
    .radii = SHOAL_RADII_NONE,
};

const shoal_format shoal_format_tipsy_little = {
    .name = "tipsy_little",
    .ends = "",
    .doc = "the same, least significant byte first; either is read as the other",
    .is = tipsy_is,
    .read = tipsy_read,
    .write = write_little,
    .natural = true,
    .components = true,
    .radii = SHOAL_RADII_NONE,
};
