/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * catalogue.c: the Hipparcos-Gaia Catalog of Accelerations (Brandt 2021, doi:10.3847/1538-4365/abf93c): proper motions
 * of one star, of Hipparcos, of Gaia, and of the way between them. The file is a binary table of FITS (Pence et al.
 * 2010, doi:10.1051/0004-6361/201015362, section 7.3): a head of cards of 80 characters in blocks of 2880, then rows of
 * big-endian numbers. Epochs are Julian years of TCB, as both missions have them.
 */
#define _GNU_SOURCE 1
#include <stdlib.h>
#include <string.h>

#include "core/formats/observations.h"

enum { CARD = 80, BLOCK = 2880, MOST_FIELDS = 256 };

/* A file in memory, and where the table is. */
typedef struct fits {
    const shoal_table *at;
    char *bytes;
    size_t size, data;
    long width, n_rows; /* bytes of a row */
    int n_fields;
    struct {
        char name[CARD], form;
        long count, offset;
    } field[MOST_FIELDS];
} fits;

static shoal_status refuse(const fits *f, const char *what)
{
    return shoal_fail(f->at->context, SHOAL_E_INPUT, "%s: expected %s", f->at->path, what);
}

/* The whole file. */
static shoal_status load(fits *f)
{
    FILE *in;
    shoal_status status = shoal_file_open(f->at->context, f->at->path, &in);
    if (status)
        return status;
    size_t room = 0, got = 0;
    do {
        f->size += got;
        if (f->size == room) {
            char *more = realloc(f->bytes, room = 2 * room + (1 << 20));
            if (!more) {
                fclose(in);
                return shoal_table_no_memory(f->at);
            }
            f->bytes = more;
        }
        got = fread(f->bytes + f->size, 1, room - f->size, in);
    } while (got > 0);
    f->bytes[f->size] = 0; /* there is room: the last read found none */
    const bool bad = ferror(in);
    fclose(in);
    return bad ? shoal_fail(f->at->context, SHOAL_E_FILE, "%s: it cannot be read", f->at->path) : SHOAL_OK;
}

/* The text of a card's value, quotes and spaces gone. */
static void value_of(const char *card, char value[CARD])
{
    const char *from = card + 10, *end = card + CARD;
    while (from < end && *from == ' ')
        from++;
    const char close = from < end && *from == '\'' ? '\'' : '/';
    from += close == '\'';
    size_t length = 0;
    while (from + length < end && from[length] != close)
        length++;
    while (length > 0 && from[length - 1] == ' ')
        length--;
    snprintf(value, CARD, "%.*s", (int)length, from);
}

static int width_of(char form)
{
    switch (form) {
    case 'D':
    case 'K': return 8;
    case 'E':
    case 'J': return 4;
    case 'I': return 2;
    case 'A':
    case 'B':
    case 'L': return 1;
    default: return 0;
    }
}

/* A card of the head of the table. */
static void take_card(fits *f, const char *card)
{
    char value[CARD];
    value_of(card, value);
    const long number = strtol(value, NULL, 10);
    const long place = strtol(card + 5, NULL, 10), i = place > 0 && place <= MOST_FIELDS ? place - 1 : -1;
    if (strncmp(card, "NAXIS1  ", 8) == 0)
        f->width = number;
    else if (strncmp(card, "NAXIS2  ", 8) == 0)
        f->n_rows = number;
    else if (strncmp(card, "TFIELDS ", 8) == 0)
        f->n_fields = number > 0 && number <= MOST_FIELDS ? (int)number : 0;
    else if (i < 0)
        return;
    else if (strncmp(card, "TTYPE", 5) == 0)
        strcpy(f->field[i].name, value);
    else if (strncmp(card, "TFORM", 5) == 0) {
        char *form;
        f->field[i].count = strtol(value, &form, 10);
        f->field[i].count = form == value ? 1 : f->field[i].count;
        f->field[i].form = *form;
    }
}

/* Read heads until that of the first binary table. */
static shoal_status find_table(fits *f)
{
    if (f->size < BLOCK || strncmp(f->bytes, "SIMPLE  =", 9) != 0)
        return refuse(f, "a FITS file");
    bool table = false, ended = false;
    size_t at = 0;
    for (; !ended; at += CARD) {
        if (at + CARD > f->size)
            return refuse(f, "a binary table whose head ends");
        const char *card = f->bytes + at;
        table = table || (at % BLOCK == 0 && strncmp(card, "XTENSION= 'BINTABLE'", 20) == 0);
        if (table)
            take_card(f, card);
        ended = table && strncmp(card, "END     ", 8) == 0;
    }
    f->data = (at + BLOCK - 1) / BLOCK * BLOCK;
    long offset = 0;
    if (f->n_fields < 1 || f->width < 1 || f->n_rows < 1)
        return refuse(f, "a table of 1 to 256 columns");
    for (int i = 0; i < f->n_fields; i++) {
        const int width = width_of(f->field[i].form);
        if (width == 0 || f->field[i].count < 0 || f->field[i].count > f->width)
            return refuse(f, "columns of numbers and texts");
        f->field[i].offset = offset;
        offset += width * f->field[i].count;
    }
    if (offset != f->width || f->data > f->size || (size_t)f->n_rows > (f->size - f->data) / (size_t)f->width)
        return refuse(f, "all rows of its table");
    return SHOAL_OK;
}

static shoal_status number_of(const fits *f, long row, const char *name, double *value)
{
    int i = 0;
    while (i < f->n_fields && strcasecmp(f->field[i].name, name) != 0)
        i++;
    if (i == f->n_fields || f->field[i].count != 1 || strchr("ABL", f->field[i].form))
        return shoal_fail(f->at->context, SHOAL_E_INPUT, "%s: expected a column of numbers '%s'", f->at->path, name);
    const unsigned char *from = (const unsigned char *)f->bytes + f->data + (size_t)row * (size_t)f->width +
                                f->field[i].offset;
    uint64_t bits = 0;
    const int width = width_of(f->field[i].form);
    for (int k = 0; k < width; k++)
        bits = bits << 8 | from[k];
    float single;
    const uint32_t half = (uint32_t)bits;
    switch (f->field[i].form) {
    case 'D': memcpy(value, &bits, sizeof *value); break;
    case 'E':
        memcpy(&single, &half, sizeof single);
        *value = single;
        break;
    case 'K': *value = (double)(int64_t)bits; break;
    case 'J': *value = (int32_t)bits; break;
    default: *value = (int16_t)bits; break;
    }
    return SHOAL_OK;
}

/* The motions of a row. */
static shoal_status take_row(const fits *f, long row, shoal_observations *table)
{
    static const struct {
        const char *name, *from, *to;
    } motions[] = {{"hip", "hip", NULL}, {"hg", "hip", "gaia"}, {"gaia", "gaia", NULL}};
    static const char *const axis[] = {"ra", "dec"};
    const double milli = M_PI / 180 / 3600e3 / 365.25;
    for (int i = 0; i < SHOAL_COUNT(motions); i++) {
        double correlation;
        char name[64];
        snprintf(name, sizeof name, "pmra_pmdec_%s", motions[i].name);
        shoal_status status = number_of(f, row, name, &correlation);
        for (int k = 0; k < 2 && !status; k++) {
            double times[2] = {NAN, NAN}, value = NAN, error = NAN;
            snprintf(name, sizeof name, "pm%s_%s", axis[k], motions[i].name);
            status = number_of(f, row, name, &value);
            snprintf(name, sizeof name, "pm%s_%s_error", axis[k], motions[i].name);
            status = status ? status : number_of(f, row, name, &error);
            for (int e = 0; e < 2 && !status; e++)
                if (e == 0 || motions[i].to) {
                    snprintf(name, sizeof name, "epoch_%s_%s", axis[k], e ? motions[i].to : motions[i].from);
                    status = number_of(f, row, name, &times[e]);
                    if (!status && (e || !motions[i].to) && i > 0 && !(times[e] > 2015.75 && times[e] < 2016.75))
                        status = refuse(f, "the HGCA of Gaia EDR3, whose epochs of Gaia are near 2016");
                    const double jd = 2451545 + (times[e] - 2000) * 365.25;
                    times[e] = jd - table->zero + shoal_time_tdb(SHOAL_SCALE_TCB, jd) / 86400;
                }
            if (!status && !(error > 0 && fabs(correlation) < 1 && isfinite(value) && isfinite(times[0])))
                status = refuse(f, "proper motions with errors > 0 and correlations between -1 and 1");
            if (!status)
                status = shoal_observations_add(
                    table, f->at,
                    &(shoal_observation){.kind = k ? SHOAL_OBSERVED_pm_dec : SHOAL_OBSERVED_pm_ra,
                                         .instrument = -1,
                                         .number = -1,
                                         .line = row + 1,
                                         .time = times[0],
                                         .until = times[1],
                                         .value = value * milli,
                                         .error = error * milli,
                                         .correlation = k ? correlation : 0});
        }
        if (status)
            return status;
    }
    return SHOAL_OK;
}

shoal_status shoal_catalogue_read(shoal_context *context, const char *path, const shoal_observations_said *said,
                                  shoal_observations *table)
{
    const shoal_table at = {.context = context, .path = path};
    double wanted, found = NAN;
    if (!said->object || !shoal_number(said->object, &wanted))
        return shoal_fail(context, SHOAL_E_INPUT, "%s: expected an object, the star's number of Hipparcos", path);
    fits *f = calloc(1, sizeof *f);
    if (!f)
        return shoal_table_no_memory(&at);
    f->at = &at;
    table->zero = 2451545;
    shoal_status status = load(f);
    status = status ? status : find_table(f);
    long row = -1;
    for (long i = 0; i < f->n_rows && !status && row < 0; i++) {
        status = number_of(f, i, "hip_id", &found);
        row = !status && found == wanted ? i : -1;
    }
    if (!status && row < 0)
        status = shoal_fail(context, SHOAL_E_INPUT, "%s: expected hip_id = %s; no star has it", path, said->object);
    status = status ? status : take_row(f, row, table);
    free(f->bytes);
    free(f);
    return status;
}
