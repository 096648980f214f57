/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * format_horizons.c: vector tables of JPL Horizons, one file a body, together one system in the order of the files. Of
 * each:
 *
 *     Target body name: NAME (NUMBER)        GM (km^3/s^2) = ...   in the body's page, for its mass
 *     Center body name: ...                  Output units : KM-S, KM-D or AU-D        Reference frame : ...
 *     $$SOE  JD = date   X Y Z  VX VY VZ  ...  $$EOE               with or without labels, or comma-separated
 *
 * All files must be about one centre, in one frame and in the same units, and have the vector of the same Julian date:
 * that of the first file's first vector, or the one asked for. A mass is GM over the Sun's; one given by the user comes
 * first. A centre that no file is about can be added by its mass, at the origin. Source: Horizons' manual, section
 * "Vector table"; the API's example output.
 */
#define _GNU_SOURCE 1
#include <stdlib.h>
#include <string.h>

#include "core/formats/table.h"

typedef struct horizons_reader {
    shoal_lines lines;
    shoal_table *table;
    const shoal_convert_options *options;
    /* of the first file, which the others must share */
    char centre[96], frame[96], units[16];
    double date;   /* NaN = not known yet */
    double gm_sun; /* km^3/s^2 */
    bool has_centre;
} horizons_reader;

static bool horizons_is(const char *begin)
{
    return strstr(begin, "$$SOE") != NULL;
}

/* What stands after "KEY :" in a line, NULL if the line is of another key. */
static char *after(char *line, const char *key)
{
    char *found = strstr(line, key);
    if (!found || strspn(line, " ") != (size_t)(found - line))
        return NULL;
    found += strlen(key);
    found += strspn(found, " ");
    if (*found != ':')
        return NULL;
    found += 1 + strspn(found + 1, " ");
    for (char *end = found + strlen(found); end > found && end[-1] == ' ';)
        *--end = '\0';
    return found;
}

/* GM of a line such as "GM (km^3/s^2) = 22031.78", "GM= n.a."; false if it has none. */
static bool find_gm(const char *line, double *gm)
{
    for (const char *at = line; (at = strstr(at, "GM")); at += 2) {
        const char *equals = strchr(at, '=');
        if (!equals || (at > line && at[-1] != ' '))
            continue;
        const char *sigma = strstr(at, "sigma");
        if (equals - at > 32 || (sigma && sigma < equals))
            continue;
        const char *number = equals + 1 + strspn(equals + 1, " ");
        char *end;
        *gm = shoal_number_read(number, &end);
        if (end == number)
            *gm = strncmp(number, "n.a.", 4) == 0 ? 0 : NAN;
        return !isnan(*gm);
    }
    return false;
}

/* The first file sets it, the others agree with it. */
static shoal_status share(const horizons_reader *r, const char *what, char *kept, size_t size, const char *value)
{
    if (*kept && strncmp(kept, value, size - 1) != 0)
        return shoal_table_fail(r->table, what, value, "%s, as in the first file", kept);
    snprintf(kept, size, "%s", value);
    return SHOAL_OK;
}

/* A name without "(NUMBER) {source: ...}", and the number, "" if there is none. */
static void split_name(char *text, char number[16])
{
    char *brace = strchr(text, '{');
    if (brace)
        *brace = '\0';
    char *open = strrchr(text, '(');
    *number = '\0';
    if (open) {
        snprintf(number, 16, "%.*s", (int)strcspn(open + 1, ")"), open + 1);
        *open = '\0';
    }
    for (char *end = text + strlen(text); end > text && end[-1] == ' ';)
        *--end = '\0';
}

/* Mass in Msun: what the user says of a body, else its GM. */
static shoal_status find_mass(const horizons_reader *r, const char *name, const char *number, double gm, double *mass)
{
    for (int i = 0; i < r->options->n_masses; i++) {
        const shoal_given_mass *given = &r->options->masses[i];
        if ((strncasecmp(given->name, name, given->length) == 0 && !name[given->length]) ||
            (strncmp(given->name, number, given->length) == 0 && !number[given->length])) {
            *mass = given->mass;
            return SHOAL_OK;
        }
    }
    if (isnan(gm))
        return shoal_fail(r->table->context, SHOAL_E_INPUT, "%s: no GM of %s: expected --mass \"%s\"=MSUN",
                          r->table->path, name, name);
    if (gm == 0)
        fprintf(r->options->notes, "%s: its GM is not known: taken for 0 (--mass)\n", name);
    *mass = gm / r->gm_sun;
    return SHOAL_OK;
}

/* Numbers of a text, beside labels such as "VX="; returns how many there are now. */
static int scan(const char *text, double number[6], int n)
{
    while (n < 6 && *(text += strcspn(text, "+-.0123456789"))) {
        char *end;
        number[n] = shoal_number_read(text, &end);
        n += end != text;
        text = end != text ? end : text + 1;
    }
    return n;
}

/* The vector of the wanted date, after $$SOE. */
static shoal_status read_vector(horizons_reader *r, double number[6])
{
    shoal_table *table = r->table;
    while (shoal_lines_next(&r->lines) && !strstr(r->lines.text, "$$EOE")) {
        char *text = r->lines.text, *end;
        const double date = shoal_number_read(text, &end);
        if (end == text || date < 1e5) /* a later line of another vector */
            continue;
        if (isnan(r->date))
            r->date = date;
        if (fabs(date - r->date) > 1e-8)
            continue;
        const char *comma = strchr(end, ',');
        const long line = table->line;
        int n = 0;
        if (comma && (comma = strchr(comma + 1, ',')))
            n = scan(comma, number, n);
        while (n < 6 && !comma && shoal_lines_next(&r->lines) && !strstr(r->lines.text, "$$EOE"))
            n = scan(r->lines.text, number, n);
        return n == 6 ? SHOAL_OK
                      : shoal_fail(table->context, SHOAL_E_INPUT, "%s:%ld: expected X Y Z VX VY VZ, found %d numbers",
                                   table->path, line, n);
    }
    return isnan(r->date) ? shoal_fail(table->context, SHOAL_E_INPUT, "%s:%ld: expected a vector before $$EOE",
                                       table->path, table->line)
                          : shoal_fail(table->context, SHOAL_E_INPUT, "%s:%ld: expected the vector of JD %.9f",
                                       table->path, table->line, r->date);
}

static shoal_status read_file(horizons_reader *r, const char *file)
{
    char name[96] = "", number[16] = "";
    double gm = NAN, mass = NAN, state[6];
    shoal_table *table = r->table;
    shoal_status status = shoal_lines_open(&r->lines, table, file);
    bool begun = false;
    while (!status && !begun && shoal_lines_next(&r->lines)) {
        char *line = r->lines.text, *value;
        begun = strstr(line, "$$SOE") != NULL;
        if (isnan(gm))
            find_gm(line, &gm);
        if ((value = after(line, "Target body name"))) {
            snprintf(name, sizeof name, "%s", value);
            split_name(name, number);
        } else if ((value = after(line, "Center body name"))) {
            char unused[16];
            split_name(value, unused);
            status = share(r, "Center body name", r->centre, sizeof r->centre, value);
        } else if ((value = after(line, "Reference frame")))
            status = share(r, "Reference frame", r->frame, sizeof r->frame, value);
        else if ((value = after(line, "Output units"))) {
            value[strcspn(value, " ,")] = '\0';
            status = share(r, "Output units", r->units, sizeof r->units, value);
        }
    }
    if (!status && (!begun || !*name || !*r->units))
        status = shoal_fail(table->context, SHOAL_E_INPUT, "%s:%ld: expected %s", file, table->line,
                            !*name       ? "a line \"Target body name: NAME\""
                            : !*r->units ? "a line \"Output units: ...\""
                                         : "$$SOE");
    if (!status)
        status = read_vector(r, state);
    if (!status)
        status = find_mass(r, name, number, gm, &mass);
    name[SHOAL_NAME_SIZE - 1] = '\0';
    r->has_centre |= strcmp(name, r->centre) == 0;
    if (!status)
        status = shoal_table_add_body(
            table, name, &(shoal_body){mass, 0, state[0], state[1], state[2], state[3], state[4], state[5]});
    return shoal_lines_close(&r->lines, status);
}

static shoal_status horizons_read(shoal_table *table, int n_files, char *const *files,
                                  const shoal_convert_options *options)
{
    char number[SHOAL_NUMBER_SIZE];
    static const char *const names[] = {"KM-S", "KM-D", "AU-D"}, *const texts[] = {"km, Msun, s", "km, Msun, day",
                                                                                   "AU, Msun, day"};
    horizons_reader r = {
        .table = table, .options = options, .date = options->which == SHOAL_QUERY_TIME ? options->time : NAN};
    shoal_units km;
    int found = -1;
    table->path = files[0];
    shoal_status status = shoal_units_parse(table->context, "km, Msun, s", &km);
    r.gm_sun = km.G;
    if (!status)
        status = shoal_table_add_system(table, 0, 0);
    if (!status && !isnan(options->central_mass))
        status = shoal_table_add_body(table, "central", &(shoal_body){.m = options->central_mass});
    for (int i = 0; i < n_files && !status; i++)
        status = read_file(&r, files[i]);
    for (int i = 0; i < SHOAL_COUNT(names); i++)
        if (strcasecmp(r.units, names[i]) == 0)
            found = i;
    if (!status && found < 0)
        status = shoal_table_fail(table, "Output units", r.units, "KM-S, KM-D or AU-D");
    if (!status)
        status = shoal_units_parse(table->context, texts[found], &table->units);
    if (!status && !r.has_centre && isnan(options->central_mass) && !strstr(r.centre, "arycenter"))
        fprintf(options->notes, "no file is of %s, the centre: it is not in the system (--central-mass)\n", r.centre);
    snprintf(table->epoch, sizeof table->epoch, "JD %s TDB", shoal_number_print(number, r.date));
    return status;
}

const shoal_format shoal_format_horizons = {
    .name = "horizons",
    .ends = "",
    .doc = "JPL Horizons' vectors, a file a body; km or AU; only read",
    .is = horizons_is,
    .read = horizons_read,
    .many = true,
};
