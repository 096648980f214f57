/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * format_horizons.c: vector tables of JPL Horizons, one file a body, together one system in the order of the files. Of
 * each:
 *
 *     Target body name: NAME (NUMBER)        GM (km^3/s^2) = ...   in the body's page, for its mass
 *     Center body name: ...                  Center-site name: the centre itself
 *     Output units : KM-S, KM-D or AU-D      Output type : GEOMETRIC cartesian states
 *     Reference frame : ...                  Coordinate systm: ... in older files
 *     ***
 *     JDTDB                                  the head: names of the columns, JDUT for times in UT, JDCT in older files;
 *        X     Y     Z                       a line of it for each line of a record, or one line with commas
 *        VX    VY    VZ
 *     ***
 *     $$SOE  records, their numbers with labels or without  $$EOE
 *
 * Columns are those that the head names, in any order and beside others (LT RG RR, delta-T, uncertainties); a table
 * without all six is refused, and so is one that is not geometric. All files must be about one centre, in one frame,
 * with the same units and scale of time, and have the vector of the same Julian date: that of the first file's first
 * vector, or the one asked for. A mass is GM over the Sun's; one given by the user comes first. A centre that no file
 * is about can be added by its mass, at the origin. Source: Horizons' manual, section "Vector table"; the API's example
 * output.
 */
#define _GNU_SOURCE 1
#include <stdlib.h>
#include <string.h>

#include "core/formats/table.h"

enum { TARGET, CENTRE, SITE, UNITS, TYPE, FRAME, COORDINATES, KEYS };
static const struct {
    const char *name;
    bool must, shared; /* be in each file; be the same in all */
} keys[KEYS] = {
    [TARGET] = {"Target body name", true, false},
    [CENTRE] = {"Center body name", true, true},
    [SITE] = {"Center-site name", false, false},
    [UNITS] = {"Output units", true, true},
    [TYPE] = {"Output type", true, true},
    [FRAME] = {"Reference frame", true, true},
    [COORDINATES] = {"Coordinate systm", false, true},
};
enum { NAMES = 32, NAME = 24, TEXT = 96 };
static const struct {
    const char *name, *units;
} units[] = {{"KM-S", "km, Msun, s"}, {"KM-D", "km, Msun, day"}, {"AU-D", "AU, Msun, day"}};
static const struct {
    const char *name, *scale;
} scales[] = {{"JDTDB", "TDB"}, {"JDCT", "TDB"}, {"JDUT", "UT"}};
static const char *const wanted[6] = {"X", "Y", "Z", "VX", "VY", "VZ"};

/* The columns of a record. */
typedef struct horizons_head {
    char name[NAMES][NAME];
    int line[NAMES]; /* of the record; 0 = that of the date */
    int n, n_lines, at[6];
    bool commas;
} horizons_head;

typedef struct horizons_reader {
    shoal_lines lines;
    shoal_table *table;
    const shoal_convert_options *options;
    bool *used;              /* of the masses that the user gives */
    char shared[KEYS][TEXT]; /* of the first file */
    const char *scale;       /* of time, NULL = not known yet */
    double date;             /* NaN = not known yet */
    double gm_sun;           /* km^3/s^2 */
    int n_read;
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

/* Whether this stands between "GM" and "=": the unit, if any, is km^3/s^2, and no power of ten of it. */
static bool is_gm(const char *text, size_t length)
{
    char unit[33] = "";
    if (length >= sizeof unit)
        return false;
    memcpy(unit, text, length);
    return !strstr(unit, "sigma") && !strstr(unit, "10^") && (!unit[strspn(unit, " ")] || strstr(unit, "km^3/s^2"));
}

/* GM of a line such as "GM (km^3/s^2) = 22031.78", "GM= n.a." (0); false if it has none. */
static bool find_gm(const char *line, double *gm)
{
    for (const char *at = line; (at = strstr(at, "GM")); at += 2) {
        const char *equals = strchr(at, '=');
        if (!equals || (at > line && at[-1] != ' ') || !is_gm(at + 2, (size_t)(equals - at - 2)))
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

/* A value of the header: one that is known, and in a later file that of the first one. */
static shoal_status take(horizons_reader *r, int key, char *value)
{
    static const char *const sites[] = {"BODY CENTER", "BODYCENTRIC", "GEOCENTRIC"};
    bool known = key != UNITS && key != TYPE && key != SITE;
    char *const kept = r->shared[key], unused[16];
    if (key == CENTRE)
        split_name(value, unused);
    if (key == UNITS)
        value[strcspn(value, " ,")] = '\0';
    for (int i = 0; i < SHOAL_COUNT(units); i++)
        known |= key == UNITS && strcasecmp(value, units[i].name) == 0;
    for (int i = 0; i < SHOAL_COUNT(sites); i++)
        known |= key == SITE && strcasecmp(value, sites[i]) == 0;
    known |= key == TYPE && strcasecmp(value, "GEOMETRIC cartesian states") == 0;
    if (!known)
        return shoal_table_fail(r->table, keys[key].name, value, "%s",
                                key == UNITS  ? "KM-S, KM-D or AU-D"
                                : key == TYPE ? "GEOMETRIC cartesian states (EPHEM_TYPE = VECTORS, VEC_CORR = NONE)"
                                              : "BODY CENTER, BODYCENTRIC or GEOCENTRIC: the centre itself");
    if (keys[key].shared && r->n_read > 0 && strncmp(kept, value, TEXT - 1) != 0)
        return shoal_table_fail(r->table, keys[key].name, value, "%s, as in the first file", *kept ? kept : "nothing");
    snprintf(kept, TEXT, "%s", value);
    return SHOAL_OK;
}

/* Mass in Msun: what the user says of a body, else its GM. */
static shoal_status find_mass(const horizons_reader *r, const char *name, const char *number, double gm, double *mass)
{
    for (int i = 0; i < r->options->n_masses; i++) {
        const shoal_given_mass *given = &r->options->masses[i];
        if ((strncasecmp(given->name, name, given->length) == 0 && !name[given->length]) ||
            (strncmp(given->name, number, given->length) == 0 && !number[given->length])) {
            *mass = given->mass;
            r->used[i] = true;
            return SHOAL_OK;
        }
    }
    if (isnan(gm))
        return shoal_fail(r->table->context, SHOAL_E_INPUT, "%s: no GM of %s: expected --mass \"%s\"=MSUN",
                          r->table->path, name, name);
    if (gm == 0)
        fprintf(r->options->notes, "%s: its GM is not known: taken for 0 (--mass)\n", name);
    else if (strstr(name, "arycenter"))
        fprintf(r->options->notes, "%s: its page may have the GM of the planet without its moons (--mass)\n", name);
    *mass = gm / r->gm_sun;
    return SHOAL_OK;
}

/* The head of a table: lines of names, or one with commas. */
static shoal_status read_head(horizons_reader *r, char *text, horizons_head *head)
{
    char all[512] = "", *cells[NAMES], *line;
    const char *scale = NULL;
    *head = (horizons_head){.commas = strchr(text, ',') != NULL};
    while ((line = strsep(&text, "\n")) && head->n < NAMES) {
        char *rest = line, *word;
        int n = head->commas ? shoal_cut(line, cells, NAMES) : 0;
        while (!head->commas && n < NAMES && (word = strsep(&rest, " \t")))
            if (*word)
                cells[n++] = word;
        for (int i = 0; i < n && i < NAMES && head->n < NAMES; i++) {
            head->line[head->n] = head->n_lines;
            snprintf(head->name[head->n++], NAME, "%s", cells[i]);
            if (*cells[i])
                snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", *all ? " " : "", cells[i]);
        }
        head->n_lines++;
    }
    for (int i = 0; i < SHOAL_COUNT(scales); i++)
        if (strcmp(head->name[0], scales[i].name) == 0)
            scale = scales[i].scale;
    if (!scale)
        return shoal_table_fail(r->table, "head", all, "JDTDB, JDCT or JDUT, and the names of columns, before $$SOE");
    if (r->scale && strcmp(r->scale, scale) != 0)
        return shoal_table_fail(r->table, "head", all, "times in %s, as in the first file", r->scale);
    r->scale = scale;
    for (int q = 0; q < SHOAL_COUNT(wanted); q++) {
        int n_found = 0;
        for (int i = 1; i < head->n; i++)
            if (strcmp(head->name[i], wanted[q]) == 0 && (head->commas || head->line[i] > 0) && ++n_found == 1)
                head->at[q] = i;
        if (n_found != 1 || head->n == NAMES)
            return shoal_table_fail(r->table, "head", all,
                                    "the columns X Y Z VX VY VZ, each once (vectors of type 2 or 3)");
    }
    return SHOAL_OK;
}

/* The words of a line of a record that are columns, from the first column of the line on; their labels must be the
 * head's. */
static shoal_status read_words(const horizons_reader *r, const horizons_head *head, int line, char *cells[NAMES])
{
    char *text = r->lines.text, *rest = NULL;
    const bool labels = strchr(text, '=') != NULL;
    for (char *equals = text; (equals = strchr(equals, '='));)
        *equals = ' ';
    for (int i = 0; i < head->n; i++) {
        if (head->line[i] != line)
            continue;
        const char *label = labels ? strtok_r(text, " \t", &rest) : head->name[i];
        if (!label || strcmp(label, head->name[i]) != 0)
            return shoal_table_fail(r->table, "label", label ? label : "nothing", "%s, as in the head", head->name[i]);
        cells[i] = strtok_r(labels ? NULL : text, " \t", &rest);
        text = NULL;
        if (!cells[i])
            return shoal_table_fail(r->table, head->name[i], "nothing", "a finite number");
    }
    const char *more = strtok_r(text, " \t", &rest);
    return more ? shoal_table_fail(r->table, "word", more, "no more than the columns of the head") : SHOAL_OK;
}

/* A record, from its first line, that of the date, on. */
static shoal_status read_record(horizons_reader *r, const horizons_head *head, double *date, double state[6])
{
    char *cells[NAMES] = {NULL}, *end;
    shoal_table *table = r->table;
    int n = 0;
    *date = shoal_number_read(r->lines.text, &end);
    if (end == r->lines.text || !isfinite(*date) || end[strspn(end, " ")] != (head->commas ? ',' : '='))
        return shoal_table_fail(table, "date", r->lines.text, "a Julian date, then %s",
                                head->commas ? "a comma" : "\"= A.D. ...\"");
    if (head->commas && (n = shoal_cut(r->lines.text, cells, NAMES)) != head->n)
        return shoal_fail(table->context, SHOAL_E_INPUT, "%s:%ld: expected %d cells as in the head, found %d",
                          table->path, table->line, head->n, n);
    for (int line = head->commas ? 0 : 1; line < head->n_lines; line++) {
        shoal_status status = SHOAL_OK;
        if (!head->commas && (!shoal_lines_next(&r->lines) || strstr(r->lines.text, "$$EOE")))
            return shoal_fail(table->context, SHOAL_E_INPUT, "%s:%ld: expected %d lines of a record", table->path,
                              table->line, head->n_lines);
        if (!head->commas)
            status = read_words(r, head, line, cells);
        for (int q = 0; q < SHOAL_COUNT(wanted) && !status; q++)
            if (head->line[head->at[q]] == line && !shoal_number(cells[head->at[q]], &state[q]))
                status = shoal_table_fail(table, wanted[q], cells[head->at[q]], "a finite number");
        if (status)
            return status;
    }
    return SHOAL_OK;
}

/* The vector of the wanted date, after $$SOE. */
static shoal_status read_vector(horizons_reader *r, const horizons_head *head, double state[6])
{
    const shoal_table *table = r->table;
    while (shoal_lines_next(&r->lines) && !strstr(r->lines.text, "$$EOE")) {
        double date;
        const shoal_status status = read_record(r, head, &date, state);
        if (isnan(r->date))
            r->date = date;
        if (status || fabs(date - r->date) <= 1e-8)
            return status;
    }
    return isnan(r->date) ? shoal_fail(table->context, SHOAL_E_INPUT, "%s:%ld: expected a vector before $$EOE",
                                       table->path, table->line)
                          : shoal_fail(table->context, SHOAL_E_INPUT, "%s:%ld: expected the vector of JD %.9f",
                                       table->path, table->line, r->date);
}

/* What stands behind the vector: the end of its table, and no other table. */
static shoal_status read_rest(horizons_reader *r)
{
    const shoal_table *table = r->table;
    bool ended = false;
    while (shoal_lines_next(&r->lines)) {
        ended |= strstr(r->lines.text, "$$EOE") != NULL;
        if (strstr(r->lines.text, "$$SOE"))
            return shoal_fail(table->context, SHOAL_E_INPUT, "%s:%ld: expected one table in a file, that of one body",
                              table->path, table->line);
    }
    return ended ? SHOAL_OK
                 : shoal_fail(table->context, SHOAL_E_INPUT, "%s:%ld: the file ends; expected $$EOE", table->path,
                              table->line);
}

/* What stands before $$SOE: values of the header, GM, and the head, which is the last text between lines of stars. */
static shoal_status read_header(horizons_reader *r, char values[KEYS][TEXT], double *gm, horizons_head *head)
{
    enum { SIZE = 4096 };
    char block[2][SIZE] = {"", ""}; /* the last whole one, and what follows it */
    const shoal_table *table = r->table;
    shoal_status status = SHOAL_OK;
    bool begun = false;
    while (!status && !begun && shoal_lines_next(&r->lines)) {
        char *line = r->lines.text, *value;
        const size_t length = strlen(block[1]);
        begun = strstr(line, "$$SOE") != NULL;
        if (isnan(*gm))
            find_gm(line, gm);
        if ((begun || strncmp(line, "***", 3) == 0) && length > 0) {
            memcpy(block[0], block[1], SIZE);
            block[1][0] = '\0';
        } else if (!begun && line[strspn(line, " \t")] && strncmp(line, "***", 3) != 0)
            snprintf(block[1] + length, SIZE - length, "%s%s", length ? "\n" : "", line);
        for (int k = 0; k < KEYS && !status; k++)
            if ((value = after(line, keys[k].name))) {
                if (*values[k] && strncmp(values[k], value, TEXT - 1) != 0)
                    return shoal_table_fail(table, keys[k].name, value, "one value, %s", values[k]);
                snprintf(values[k], TEXT, "%s", value);
                status = take(r, k, value);
            }
    }
    for (int k = 0; k < KEYS && !status; k++)
        if (!*values[k] && (keys[k].must || (keys[k].shared && *r->shared[k])))
            status = shoal_fail(table->context, SHOAL_E_INPUT, "%s:%ld: expected a line \"%s: %s\"", table->path,
                                table->line, keys[k].name, *r->shared[k] ? r->shared[k] : "...");
    if (!status && !begun)
        status = shoal_fail(table->context, SHOAL_E_INPUT, "%s:%ld: expected $$SOE", table->path, table->line);
    return status ? status : read_head(r, block[0], head);
}

static shoal_status read_file(horizons_reader *r, const char *file)
{
    char values[KEYS][TEXT] = {""}, *name = values[TARGET], number[16];
    double gm = NAN, mass = NAN, state[6];
    horizons_head head = {0};
    shoal_status status = shoal_lines_open(&r->lines, r->table, file);
    if (!status && !(status = read_header(r, values, &gm, &head)))
        status = read_vector(r, &head, state);
    if (!status)
        status = read_rest(r);
    r->n_read++;
    split_name(name, number);
    if (!status)
        status = find_mass(r, name, number, gm, &mass);
    r->has_centre |= strcmp(name, r->shared[CENTRE]) == 0;
    if (strlen(name) >= SHOAL_NAME_SIZE && !status) {
        fprintf(r->options->notes, "%s: called %.*s\n", name, SHOAL_NAME_SIZE - 1, name);
        name[SHOAL_NAME_SIZE - 1] = '\0';
    }
    if (!status)
        status = shoal_table_add_body(
            r->table, name, &(shoal_body){mass, 0, state[0], state[1], state[2], state[3], state[4], state[5]});
    return shoal_lines_close(&r->lines, status);
}

static shoal_status horizons_read(shoal_table *table, int n_files, char *const *files,
                                  const shoal_convert_options *options)
{
    char number[SHOAL_NUMBER_SIZE];
    horizons_reader r = {
        .table = table, .options = options, .date = options->which == SHOAL_QUERY_TIME ? options->time : NAN};
    shoal_units km;
    table->path = files[0];
    r.used = calloc((size_t)options->n_masses + 1, sizeof *r.used);
    shoal_status status = r.used ? shoal_units_parse(table->context, "km, Msun, s", &km) : shoal_table_no_memory(table);
    r.gm_sun = status ? 0 : km.G;
    if (!status)
        status = shoal_table_add_system(table, 0, 0);
    if (!status && !isnan(options->central_mass))
        status = shoal_table_add_body(table, "central", &(shoal_body){.m = options->central_mass});
    for (int i = 0; i < n_files && !status; i++)
        status = read_file(&r, files[i]);
    for (int i = 0; i < options->n_masses && !status; i++)
        if (!r.used[i])
            status = shoal_fail(table->context, SHOAL_E_USAGE,
                                "--mass \"%.*s\": expected the name or the number of a body of the files, once",
                                (int)options->masses[i].length, options->masses[i].name);
    free(r.used);
    for (int i = 0; i < SHOAL_COUNT(units) && !status; i++)
        if (strcasecmp(r.shared[UNITS], units[i].name) == 0)
            status = shoal_units_parse(table->context, units[i].units, &table->units);
    if (!status && r.has_centre && !isnan(options->central_mass))
        status = shoal_fail(table->context, SHOAL_E_USAGE,
                            "--central-mass: expected none: a file is of the centre, %s, already", r.shared[CENTRE]);
    if (!status && !r.has_centre && isnan(options->central_mass) && !strstr(r.shared[CENTRE], "arycenter"))
        fprintf(options->notes, "no file is of %s, the centre: it is not in the system (--central-mass)\n",
                r.shared[CENTRE]);
    snprintf(table->epoch, sizeof table->epoch, "JD %s %s", shoal_number_print(number, r.date), r.scale ? r.scale : "");
    return status;
}

const shoal_format shoal_format_horizons = {
    .name = "horizons",
    .ends = "",
    .doc = "JPL Horizons' geometric vectors, a file a body; km or AU; only read",
    .is = horizons_is,
    .read = horizons_read,
    .many = true,
};
