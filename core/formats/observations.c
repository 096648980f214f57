/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * observations.c: tables of observers, read by one reader. A row of `formats` says which columns a format has, and what
 * its definition says of their units and times. The rest stands in the table (comments `# unit: ...`, `# time: ...`,
 * headings such as `Time [BJD_TDB - 2454833]`, the units of an ECSV), or is said by who reads it.
 */
#define _GNU_SOURCE 1
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/formats/observations.h"

enum { QUANTITIES = 5, MOST_CELLS = 256, MOST_WORD = 64 };

/* A measured number: headings (other names follow after a bar) and the unit of the format's definition, if any. */
typedef struct quantity {
    shoal_observed kind;
    const char *value, *error, *unit, *correlation; /* value NULL: the time itself */
} quantity;

typedef struct format {
    const char *name, *doc;
    const char *columns; /* of a table without headings */
    const char *time, *time_means;
    const char *body;
    int body_add; /* to a body's number: 0 = planets count from 1 */
    const char *number, *instrument, *flag;
    quantity quantity[QUANTITIES];
    const char *angle, *angle_unit, *factor; /* of scans */
    bool from_expected;                      /* the value is added to the time: observed less computed */
} format;

static const format formats[] = {
    {.name = "radvel",
     .doc = "RadVel: time, mnvel, errvel, tel; m/s",
     .time = "time|t|jd|bjd",
     .instrument = "tel",
     .quantity = {{SHOAL_OBSERVED_velocity, "mnvel|vel", "errvel", "m/s", NULL}}},
    {.name = "vels",
     .doc = "Systemic: time, velocity, error, without headings; m/s",
     .columns = "time value error",
     .time = "time",
     .quantity = {{SHOAL_OBSERVED_velocity, "value", "error", "m/s", NULL}}},
    {.name = "rdb",
     .doc =
         "DACE: rjd (JD - 2400000), vrad or rv, svrad or rv_err, ins_name; tabs, a line of dashes below the headings",
     .time = "rjd|jdb|bjd|jd",
     .instrument = "ins_name|instrument",
     .quantity = {{SHOAL_OBSERVED_velocity, "vrad|rv", "svrad|rv_err", NULL, NULL}}},
    {.name = "pyorbit",
     .doc = "PyORBIT: time, velocity, error, jitter flag, offset flag (the instrument), linear flag; m/s",
     .columns = "time value error jitter instrument linear",
     .time = "time",
     .instrument = "instrument",
     .quantity = {{SHOAL_OBSERVED_velocity, "value", "error", "m/s", NULL}}},
    {.name = "pyorbit_transits",
     .doc = "PyORBIT: transit number, time, error, flags; days",
     .columns = "number time error jitter instrument linear",
     .time = "time",
     .number = "number",
     .instrument = "instrument",
     .quantity = {{SHOAL_OBSERVED_transit, NULL, "error", "d", NULL}}},
    {.name = "trades",
     .doc = "TRADES, obsRV.dat: time, velocity, error, set; m/s",
     .columns = "time value error instrument",
     .time = "time",
     .instrument = "instrument",
     .quantity = {{SHOAL_OBSERVED_velocity, "value", "error", "m/s", NULL}}},
    {.name = "trades_transits",
     .doc = "TRADES, NB2_observations.dat: transit number, time, error, source; days",
     .columns = "number time error instrument",
     .time = "time",
     .number = "number",
     .instrument = "instrument",
     .quantity = {{SHOAL_OBSERVED_transit, NULL, "error", "d", NULL}}},
    {.name = "ttvfast",
     .doc = "TTVFast's output: planet (from 0), transit number, time, distance, speed; days; the error must be said",
     .columns = "body number time",
     .time = "time",
     .body = "body",
     .body_add = 1,
     .number = "number",
     .quantity = {{SHOAL_OBSERVED_transit, NULL, NULL, "d", NULL}}},
    {.name = "agol",
     .doc = "Agol et al.: planet (from 1), transit number, time, error; days",
     .columns = "body number time error",
     .time = "time",
     .body = "body",
     .number = "number",
     .quantity = {{SHOAL_OBSERVED_transit, NULL, "error", "d", NULL}}},
    {.name = "jnkepler",
     .doc = "jnkepler: transit number, time, error, a number that is not read, planet (from 1); days",
     .columns = "number time error dummy body",
     .time = "time",
     .body = "body",
     .number = "number",
     .quantity = {{SHOAL_OBSERVED_transit, NULL, "error", "d", NULL}}},
    {.name = "holczer",
     .doc =
         "Holczer et al. 2016: KOI, transit number, expected time (BJD - 2454900), O - C, its error, both in minutes",
     .columns = "koi number time value error",
     .time = "time",
     .time_means = "BJD - 2454900",
     .body = "koi",
     .number = "number",
     .quantity = {{SHOAL_OBSERVED_transit, "value", "error", "min", NULL}},
     .from_expected = true},
    {.name = "transits",
     .doc = "headings epoch or tnum, time or tc, error, uncertainty or tcerr, planet (a letter, or a number from 1), "
            "facility or source; days",
     .time = "time|tc|t0",
     .body = "planet|body",
     .number = "epoch|tnum|number",
     .instrument = "facility|source|instrument",
     .quantity = {{SHOAL_OBSERVED_transit, NULL, "error|uncertainty|tcerr", "d", NULL}}},
    {.name = "orvara",
     .doc = "orvara: time (JD), velocity, error, instrument; m/s",
     .columns = "time value error instrument",
     .time = "time",
     .time_means = "JD",
     .instrument = "instrument",
     .quantity = {{SHOAL_OBSERVED_velocity, "value", "error", "m/s", NULL}}},
    {.name = "orvara_astrometry",
     .doc = "orvara: date, separation and error (arcsec), position angle and error (deg), correlation, planet (from 0)",
     .columns = "time sep sep_err pa pa_err corr body",
     .time = "time",
     .body = "body",
     .body_add = 1,
     .quantity = {{SHOAL_OBSERVED_separation, "sep", "sep_err", "arcsec", NULL},
                  {SHOAL_OBSERVED_position_angle, "pa", "pa_err", "deg", "corr"}}},
    {.name = "orbitize",
     .doc =
         "orbitize!: epoch, object (0 = the star), sep, pa or raoff, decoff (mas, deg), rv (km/s), each with its error",
     .time = "epoch",
     .body = "object",
     .instrument = "instrument",
     .quantity = {{SHOAL_OBSERVED_velocity, "rv", "rv_err", "km/s", NULL},
                  {SHOAL_OBSERVED_separation, "sep", "sep_err", "mas", NULL},
                  {SHOAL_OBSERVED_position_angle, "pa", "pa_err", "deg", "seppa_corr"},
                  {SHOAL_OBSERVED_d_ra, "raoff", "raoff_err", "mas", NULL},
                  {SHOAL_OBSERVED_d_dec, "decoff", "decoff_err", "mas", "radec_corr"}}},
    {.name = "gaia",
     .doc = "Gaia's epoch astrometry, a row a CCD: obs_time_tcb, scan_pos_angle, centroid_pos_al, "
            "centroid_pos_error_al, parallax_factor_al, outlier_flag; an ECSV says its units",
     .time = "obs_time_tcb",
     .time_means = "JD_TCB - 2455197.5",
     .flag = "outlier_flag",
     .quantity = {{SHOAL_OBSERVED_along_scan, "centroid_pos_al", "centroid_pos_error_al", NULL, NULL}},
     .angle = "scan_pos_angle",
     .factor = "parallax_factor_al"},
    {.name = "octofitter",
     .doc = "the same for Octofitter: epoch (TCB), mas, the angle in radians",
     .time = "epoch",
     .time_means = "TCB",
     .flag = "outlier_flag",
     .quantity = {{SHOAL_OBSERVED_along_scan, "centroid_pos_al", "centroid_pos_error_al", "mas", NULL}},
     .angle = "scan_pos_angle",
     .angle_unit = "rad",
     .factor = "parallax_factor_al"},
    {.name = "scans",
     .doc = "scans of a star by a satellite, as GOST writes them, or time, scan_angle (rad, from north through east), "
            "parallax_factor (along the scan)",
     .time = "time|ObservationTimeAtBarycentre",
     .quantity = {{SHOAL_OBSERVED_along_scan, NULL, NULL, "rad", NULL}},
     .angle = "scan_angle|scanAngle",
     .angle_unit = "rad",
     .factor = "parallax_factor|parallaxFactorAlongScan"},
    {.name = "hgca", .doc = "Hipparcos-Gaia Catalog of Accelerations (FITS): the star's proper motions"},
};

const shoal_observation_format *shoal_observation_formats(int i)
{
    static const shoal_observation_format end = {NULL, NULL};
    _Static_assert(offsetof(format, doc) == offsetof(shoal_observation_format, doc), "they begin alike");
    return i >= 0 && i < SHOAL_COUNT(formats) ? (const shoal_observation_format *)&formats[i] : &end;
}

/* ---- units ------------------------------------------------------------------------------------------------------- */

static double unit_of(const char *dimension, const char *unit)
{
    const double degree = M_PI / 180;
    const struct {
        const char *dimension, *name;
        double factor;
    } units[] = {{"m/s", "m/s", 1},
                 {"m/s", "km/s", 1000},
                 {"m/s", "m s-1", 1},
                 {"m/s", "km s-1", 1000},
                 {"d", "d", 1},
                 {"d", "day", 1},
                 {"d", "days", 1},
                 {"d", "h", 1 / 24.0},
                 {"d", "min", 1 / 1440.0},
                 {"d", "s", 1 / 86400.0},
                 {"d", "ns", 1e-9 / 86400},
                 {"rad", "rad", 1},
                 {"rad", "deg", degree},
                 {"rad", "arcsec", degree / 3600},
                 {"rad", "mas", degree / 3600e3},
                 {"rad", "uas", degree / 3600e6}};
    for (int i = 0; i < SHOAL_COUNT(units); i++)
        if (strcmp(units[i].dimension, dimension) == 0 && strcasecmp(units[i].name, unit) == 0)
            return units[i].factor;
    return 0;
}

static const char *const kind_units[] = {
#define X(name, unit) unit,
    SHOAL_OBSERVED_LIST(X)
#undef X
};
static const char *const kind_names[] = {
#define X(name, unit) #name,
    SHOAL_OBSERVED_LIST(X)
#undef X
};

double shoal_observation_unit(shoal_observed kind, const char *unit)
{
    return unit_of(kind_units[kind], unit);
}

/* ---- a table ----------------------------------------------------------------------------------------------------- */

typedef struct reader {
    shoal_table at;
    const format *format;
    const shoal_observations_said *said;
    shoal_observations *table;
    char delimiter; /* ',', a tab, or ' ' for white space */
    bool ecsv, headed;
    shoal_time_meaning time;
    char unit[MOST_WORD];            /* of the values, as the table says; "" = nothing */
    char name[MOST_WORD];            /* of an ECSV's column that is being described */
    char (*described)[2][MOST_WORD]; /* [n_described]: columns and their units */
    int n_described;
    int time_column, body, number, instrument, flag, angle, factor; /* columns, -1 = none */
    int value[QUANTITIES], error[QUANTITIES], correlation[QUANTITIES];
    double value_unit[QUANTITIES], error_unit[QUANTITIES], angle_unit, time_unit;
} reader;

static shoal_status fail(const reader *r, const char *what, const char *value, const char *expected)
{
    return shoal_table_fail(&r->at, what, value, "%s", expected);
}

/* Something more about the times; it must not contradict what is known. */
static shoal_status add_meaning(reader *r, const char *text)
{
    shoal_time_meaning more;
    const char *wrong;
    if (!shoal_time_parse(text, &more, &wrong))
        return fail(r, "time", text, wrong);
    const bool has_zero = !isnan(more.zero), has_scale = more.scale != SHOAL_SCALES;
    if ((has_zero && !isnan(r->time.zero) && (more.zero != r->time.zero || more.years != r->time.years)) ||
        (has_scale && r->time.scale != SHOAL_SCALES && more.scale != r->time.scale))
        return fail(r, "time", text, "what else is said of these times");
    if (has_zero) {
        r->time.zero = more.zero;
        r->time.years = more.years;
    }
    if (has_scale)
        r->time.scale = more.scale;
    return SHOAL_OK;
}

/* A word of YAML behind a key, "" if it is not there. */
static void word_behind(const char *text, const char *key, char word[MOST_WORD])
{
    const char *at = strstr(text, key);
    word[0] = '\0';
    if (!at)
        return;
    at += strlen(key);
    at += strspn(at, " '\"");
    snprintf(word, MOST_WORD, "%.*s", (int)strcspn(at, ",}'\""), at);
    for (size_t end = strlen(word); end > 0 && word[end - 1] == ' ';)
        word[--end] = '\0';
}

/* An ECSV's head describes its columns. */
static shoal_status describe(reader *r, const char *text)
{
    char word[MOST_WORD];
    const char *delimiter = strstr(text, "delimiter:");
    if (delimiter)
        r->delimiter = strchr(delimiter, ',') ? ',' : ' ';
    word_behind(text, "name:", word);
    if (*word)
        strcpy(r->name, word);
    word_behind(text, "unit:", word);
    if (!*word)
        return SHOAL_OK;
    void *more = realloc(r->described, (size_t)(r->n_described + 1) * sizeof *r->described);
    if (!more)
        return shoal_table_no_memory(&r->at);
    r->described = more;
    strcpy(r->described[r->n_described][0], r->name);
    strcpy(r->described[r->n_described++][1], word);
    return SHOAL_OK;
}

/* "# unit: m/s", "# value_units = M/S", "# time: BJD_TDB - 2454833" */
static shoal_status read_comment(reader *r, const char *text)
{
    text += strspn(text, "# \t");
    if (strncmp(text, "%ECSV", 5) == 0)
        r->ecsv = true;
    if (r->ecsv)
        return describe(r, text);
    const size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz_");
    const char *value = text + length + strspn(text + length, " \t");
    if (*value != ':' && *value != '=')
        return SHOAL_OK;
    value += 1 + strspn(value + 1, " \t");
    if (length == 4 && strncmp(text, "time", 4) == 0)
        return add_meaning(r, value);
    if ((length == 4 && strncmp(text, "unit", 4) == 0) || (length == 5 && strncmp(text, "units", 5) == 0) ||
        (length == 11 && strncmp(text, "value_units", 11) == 0))
        snprintf(r->unit, sizeof r->unit, "%.*s", (int)strcspn(value, " \t"), value);
    return SHOAL_OK;
}

/* Cut a line; returns the number of cells, of which the first MOST_CELLS are in cells. */
static int cut(const reader *r, char *line, char *cells[])
{
    if (r->delimiter == ',')
        return shoal_cut(line, cells, MOST_CELLS);
    if (r->delimiter != '\t')
        return shoal_cut_blanks(line, cells, MOST_CELLS);
    int n = 0;
    for (char *cell; (cell = strsep(&line, "\t")); n++)
        if (n < MOST_CELLS)
            cells[n] = cell;
    return n;
}

/* The column that has one of the names, whatever the case; -1 if there is none. */
static int find(char *const heading[], int n, const char *names)
{
    for (const char *name = names; name && *name; name += strcspn(name, "|"), name += *name == '|')
        for (int i = 0; i < n; i++) {
            const size_t length = strcspn(name, "|"), end = strcspn(heading[i], "["),
                         own = strcspn(heading[i], " ") < end ? strcspn(heading[i], " ") : end;
            if (own == length && strncasecmp(heading[i], name, length) == 0)
                return i;
        }
    return -1;
}

/* The unit that the table says of a column, in its heading ("RV [m/s]") or head; NULL = nothing. */
static const char *said_of(const reader *r, const char *heading, char word[MOST_WORD])
{
    const char *bracket = strchr(heading, '[');
    for (int i = 0; i < r->n_described; i++)
        if (strcmp(r->described[i][0], heading) == 0)
            return r->described[i][1];
    if (!bracket)
        return NULL;
    snprintf(word, MOST_WORD, "%.*s", (int)strcspn(bracket + 1, "]"), bracket + 1);
    return word;
}

/* The unit of a column: what the table says, what the reader says, what the format's definition says. The reader may
 * not contradict the others. */
static shoal_status find_unit(reader *r, shoal_observed kind, const char *heading, const char *defined, double *factor)
{
    char word[MOST_WORD];
    const char *of_table = said_of(r, heading, word), *said = r->said->unit;
    if (!of_table && *r->unit && kind == r->format->quantity[0].kind)
        of_table = r->unit;
    if (kind != r->format->quantity[0].kind)
        said = NULL;
    const char *unit = of_table ? of_table : said ? said : defined;
    if (!unit)
        return shoal_fail(r->at.context, SHOAL_E_INPUT,
                          "%s:%ld: column %s: expected a unit, in the table ('# unit: m/s') or by who reads it",
                          r->at.path, r->at.line, heading);
    *factor = shoal_observation_unit(kind, unit);
    if (*factor == 0)
        return fail(r, heading, unit, "a unit of it");
    const char *other = of_table ? of_table : defined;
    if (said && other && shoal_observation_unit(kind, said) != shoal_observation_unit(kind, other))
        return fail(r, "unit", said, of_table ? "the unit that the table says" : "the unit that the format defines");
    return SHOAL_OK;
}

/* What the heading of the times says, by its name ("BJD_TDB", "rjd") or in brackets. */
static shoal_status read_time_heading(reader *r, const char *heading)
{
    char word[MOST_WORD], upper[MOST_WORD];
    const char *unit = said_of(r, heading, word), *wrong;
    shoal_time_meaning meaning;
    r->time_unit = unit ? unit_of("d", unit) : 1;
    if (r->time_unit == 0) {
        r->time_unit = 1;
        shoal_status status = add_meaning(r, unit);
        if (status)
            return status;
    }
    snprintf(upper, sizeof upper, "%.*s", (int)strcspn(heading, " ["), heading);
    for (char *at = upper; *at; at++)
        *at = (char)toupper((unsigned char)*at);
    if (r->format->columns || strcmp(upper, "JYEAR") == 0 || !shoal_time_parse(upper, &meaning, &wrong) ||
        !isnan(r->time.zero)) /* "jd" in the heading of a table of reduced dates */
        return SHOAL_OK;
    return add_meaning(r, upper);
}

/* Columns by their headings, n of them; their units. */
static shoal_status find_columns(reader *r, char *const heading[], int n)
{
    const format *f = r->format;
    shoal_status status = SHOAL_OK;
    r->time_column = find(heading, n, f->time);
    if (r->time_column < 0)
        return fail(r, "format", f->name, f->doc);
    r->body = find(heading, n, f->body);
    r->number = find(heading, n, f->number);
    r->instrument = find(heading, n, f->instrument);
    r->flag = find(heading, n, f->flag);
    r->angle = find(heading, n, f->angle);
    r->factor = find(heading, n, f->factor);
    if ((f->angle && r->angle < 0) || (f->factor && r->factor < 0))
        return fail(r, "format", f->name, f->doc);
    bool any = false;
    for (int i = 0; i < QUANTITIES && !status; i++) {
        const quantity *q = &f->quantity[i];
        r->value[i] = r->error[i] = r->correlation[i] = -1;
        if (!q->unit && !q->value)
            continue;
        r->value[i] = q->value ? find(heading, n, q->value) : r->time_column;
        r->error[i] = find(heading, n, q->error);
        r->correlation[i] = find(heading, n, q->correlation);
        if (r->value[i] < 0)
            continue;
        if (r->error[i] < 0 && q->error)
            return fail(r, "format", f->name, f->doc);
        if (r->error[i] < 0 && !(r->said->error > 0))
            return fail(r, "format", f->name, "an error by who reads it: the table has none");
        any = true;
        r->value_unit[i] = 1;
        if (q->value)
            status = find_unit(r, q->kind, heading[r->value[i]], q->unit, &r->value_unit[i]);
        r->error_unit[i] = r->value_unit[i];
        char word[MOST_WORD];
        if (!status && r->error[i] >= 0 && (!q->value || said_of(r, heading[r->error[i]], word)))
            status = find_unit(r, q->kind, heading[r->error[i]], q->unit, &r->error_unit[i]);
    }
    if (!status && !any)
        return fail(r, "format", f->name, f->doc);
    if (!status && r->angle >= 0) {
        char word[MOST_WORD];
        const char *unit = said_of(r, heading[r->angle], word);
        unit = unit ? unit : *r->unit && !f->quantity[0].value ? r->unit : f->angle_unit; /* of values, if any */
        r->angle_unit = unit ? unit_of("rad", unit) : 0;
        if (r->angle_unit == 0)
            return fail(r, heading[r->angle], unit ? unit : "", "an angle with its unit, as an ECSV says it");
    }
    return status ? status : read_time_heading(r, heading[r->time_column]);
}

/* All is said of the times. */
static shoal_status check_time(reader *r)
{
    shoal_status status = r->format->time_means ? add_meaning(r, r->format->time_means) : SHOAL_OK;
    if (status)
        return status;
    if (isnan(r->time.zero) || r->time.scale == SHOAL_SCALES)
        return shoal_fail(r->at.context, SHOAL_E_INPUT,
                          "%s:%ld: expected %s of its times, in the table ('# time: BJD_TDB - 2454833') or by who "
                          "reads it",
                          r->at.path, r->at.line, isnan(r->time.zero) ? "the zero" : "the time scale");
    r->table->zero = r->time.zero;
    r->table->years = r->time.years;
    return SHOAL_OK;
}

/* The letter of a planet's name: "b", "Kepler-51b", "HD 164922 b"; else 0. */
static char letter_of(const char *name)
{
    const size_t length = strlen(name);
    const char letter = length ? name[length - 1] : 0;
    const bool ends = length < 2 || !isalpha((unsigned char)name[length - 2]);
    return letter >= 'b' && letter <= 'z' && ends ? letter : 0;
}

/* The body with a letter, by its name; without names with letters by its place. */
static int body_of_letter(const shoal_observations_said *said, char letter, bool *other)
{
    const int place = letter - 'a';
    for (int i = 0; i < said->n_names; i++)
        if (letter_of(said->names[i]) == letter)
            return i;
    *other = place < said->n_names && letter_of(said->names[place]);
    return place;
}

/* The number of a planet: "b", "2", "K00137.02" of the object 137. *other: another object's. */
static shoal_status read_body(const reader *r, const char *cell, int *body, bool *other)
{
    double number;
    const char *digits = cell + strcspn(cell, "0123456789.");
    *other = false;
    if (strcmp(r->format->body, "koi") == 0) {
        double object;
        if (!r->said->object || !shoal_number(r->said->object, &object))
            return fail(r, "format", r->format->name, "an object by who reads it, the number of a KOI");
        if (!shoal_number(digits, &number) || !(number > 0 && number < 1e6))
            return fail(r, "KOI", cell, "a number such as 137.02");
        *body = (int)lround((number - floor(number)) * 100);
        *other = floor(number) != object;
        return SHOAL_OK;
    }
    if (cell[0] >= 'b' && cell[0] <= 'z' && cell[1] == '\0') {
        *body = body_of_letter(r->said, cell[0], other);
        return SHOAL_OK;
    }
    if (!shoal_number(cell, &number) || number != floor(number) || !(number >= 0 && number < 1000))
        return fail(r, "planet", cell, "a letter from b on, or a number");
    *body = (int)number + r->format->body_add;
    return SHOAL_OK;
}

static shoal_status find_instrument(reader *r, const char *cell, int *which)
{
    shoal_observations *table = r->table;
    *which = -1;
    if (!*cell) /* it does not say */
        return SHOAL_OK;
    if (strlen(cell) >= SHOAL_NAME_SIZE)
        return fail(r, "instrument", cell, "a short name");
    for (*which = 0; *which < table->n_instruments; ++*which)
        if (strcmp(table->instrument[*which], cell) == 0)
            return SHOAL_OK;
    void *more = realloc(table->instrument, (size_t)(table->n_instruments + 1) * sizeof *table->instrument);
    if (!more)
        return shoal_table_no_memory(&r->at);
    table->instrument = more;
    strcpy(table->instrument[table->n_instruments++], cell);
    return SHOAL_OK;
}

shoal_status shoal_observations_add(shoal_observations *table, const shoal_table *at, const shoal_observation *row)
{
    if (table->n == table->room) {
        shoal_observation *more = realloc(table->row, (size_t)(2 * table->room + 256) * sizeof *more);
        if (!more)
            return shoal_table_no_memory(at);
        table->row = more;
        table->room = 2 * table->room + 256;
    }
    table->row[table->n++] = *row;
    return SHOAL_OK;
}

static shoal_status read_number(const reader *r, char *const cells[], int column, const char *what, double *value)
{
    return column < 0 || shoal_number(cells[column], value) ? SHOAL_OK
                                                            : fail(r, what, cells[column], "a finite number");
}

/* Tables of bool say True or False. */
static shoal_status read_flag(const reader *r, char *const cells[], int *flag)
{
    if (r->flag < 0)
        return SHOAL_OK;
    const char *cell = cells[r->flag];
    double value = strcasecmp(cell, "true") == 0;
    if (value == 0 && strcasecmp(cell, "false") != 0 && !shoal_number(cell, &value))
        return fail(r, "flag", cell, "a number, True or False");
    *flag = value != 0;
    return SHOAL_OK;
}

/* What a row measures. */
static shoal_status read_quantities(reader *r, char *const cells[], const shoal_observation *common)
{
    shoal_status status = SHOAL_OK;
    bool any = false;
    for (int i = 0; i < QUANTITIES && !status; i++) {
        const quantity *q = &r->format->quantity[i];
        const bool several = r->format->quantity[1].unit != NULL;
        shoal_observation row = *common;
        row.kind = q->kind;
        row.error = r->said->error;
        if (r->value[i] < 0 || (several && (!*cells[r->value[i]] || strcasecmp(cells[r->value[i]], "nan") == 0)))
            continue;
        status = read_number(r, cells, r->value[i], kind_names[q->kind], &row.value);
        status = status ? status : read_number(r, cells, r->error[i], "error", &row.error);
        if (r->correlation[i] >= 0 && *cells[r->correlation[i]] && strcasecmp(cells[r->correlation[i]], "nan") != 0)
            status = status ? status : read_number(r, cells, r->correlation[i], "correlation", &row.correlation);
        if (status)
            return status;
        if (!(row.error > 0))
            return fail(r, "error", r->error[i] < 0 ? "" : cells[r->error[i]], "a number > 0");
        if (!(fabs(row.correlation) < 1))
            return fail(r, "correlation", cells[r->correlation[i]], "a number between -1 and 1");
        row.value *= r->value_unit[i];
        row.error *= r->error[i] < 0 ? 1 : r->error_unit[i];
        if (row.kind == SHOAL_OBSERVED_transit) {
            row.time += r->format->from_expected ? row.value : 0;
            row.value = row.time;
        }
        any = true;
        status = shoal_observations_add(r->table, &r->at, &row);
    }
    return status || any ? status : fail(r, "row", cells[r->time_column], "a measurement");
}

static shoal_status read_row(reader *r, char *const cells[], int n)
{
    shoal_observation row = {.body = r->said->body, .instrument = -1, .number = -1, .line = r->at.line, .until = NAN};
    double number = -1, time = 0;
    bool other = false;
    const int wanted[] = {r->time_column, r->body, r->number, r->flag, r->angle, r->factor};
    int most = 0;
    for (int i = 0; i < SHOAL_COUNT(wanted); i++)
        most = wanted[i] > most ? wanted[i] : most;
    for (int i = 0; i < QUANTITIES; i++) {
        most = r->value[i] > most ? r->value[i] : most;
        most = r->error[i] > most ? r->error[i] : most;
        most = r->correlation[i] > most ? r->correlation[i] : most;
    }
    if (n <= most || (!r->format->columns && n <= r->instrument))
        return shoal_fail(r->at.context, SHOAL_E_INPUT, "%s:%ld: expected at least %d cells, found %d", r->at.path,
                          r->at.line, most + 1, n);
    shoal_status status = r->body < 0 ? SHOAL_OK : read_body(r, cells[r->body], &row.body, &other);
    if (status || other)
        return status;
    status = read_number(r, cells, r->time_column, "time", &time);
    status = status ? status : read_number(r, cells, r->number, "transit number", &number);
    status = status ? status : read_flag(r, cells, &row.flag);
    status = status ? status : read_number(r, cells, r->angle, "scan angle", &row.angle);
    status = status ? status : read_number(r, cells, r->factor, "parallax factor", &row.parallax_factor);
    if (!status && r->instrument >= 0 && r->instrument < n) /* the last column of tables without headings */
        status = find_instrument(r, cells[r->instrument], &row.instrument);
    if (status)
        return status;
    if (number != floor(number) || fabs(number) > 1e9)
        return fail(r, "transit number", cells[r->number], "an integer");
    row.number = r->number < 0 ? -1 : (long)number;
    row.angle *= r->angle_unit;
    row.time = time * (r->time.years ? 365.25 : r->time_unit);
    const double jd = r->time.zero + row.time;
    if (!(jd > 2305447.5 && jd < 2597641.5))
        return fail(r, "time", cells[r->time_column], "a year from 1600 to 2400: is the zero of times right?");
    row.time += shoal_time_tdb(r->time.scale, jd) / 86400;
    if (isnan(row.time))
        return fail(r, "time", cells[r->time_column], "UTC from 1972 on");
    return read_quantities(r, cells, &row);
}

/* Headings that a format has without their being in the table. */
static shoal_status use_columns(reader *r)
{
    char text[MOST_CELLS], *heading[MOST_CELLS], *save;
    int n = 0;
    snprintf(text, sizeof text, "%s", r->format->columns);
    for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save))
        heading[n++] = word;
    return find_columns(r, heading, n);
}

static shoal_status read_line(reader *r, char *line)
{
    char *cells[MOST_CELLS];
    if (!r->headed && !r->ecsv)
        r->delimiter = strchr(line, ',') ? ',' : strchr(line, '\t') && !r->format->columns ? '\t' : ' ';
    const bool first = !r->headed;
    shoal_status status = SHOAL_OK;
    r->headed = true;
    if (first && r->format->columns)
        status = use_columns(r);
    if (first && !status && r->format->columns)
        status = check_time(r);
    if (status)
        return status;
    if (!first && line[strspn(line, "- \t")] == '\0') /* below the headings of an rdb */
        return SHOAL_OK;
    const int n = cut(r, line, cells);
    if (n < 1 || n > MOST_CELLS)
        return fail(r, "line", line, "cells, their quotes in pairs, at most 256");
    if (!first || r->format->columns)
        return read_row(r, cells, n);
    status = find_columns(r, cells, n);
    return status ? status : check_time(r);
}

static shoal_status read_table(shoal_context *context, const char *path, const format *f,
                               const shoal_observations_said *said, shoal_observations *table)
{
    reader r = {.at = {.context = context, .path = path}, .format = f, .said = said, .table = table};
    shoal_lines lines;
    r.time = (shoal_time_meaning){NAN, SHOAL_SCALES, false};
    r.delimiter = ' ';
    r.time_unit = 1;
    shoal_status status = shoal_lines_open(&lines, &r.at, path);
    if (status)
        return status;
    if (said->time) /* first: what a heading is called says less ("jd" of reduced dates) */
        status = add_meaning(&r, said->time);
    while (!status && shoal_lines_next(&lines)) {
        if (lines.text[0] == '#')
            status = read_comment(&r, lines.text);
        else if (lines.text[strspn(lines.text, " \t")] != '\0')
            status = read_line(&r, lines.text);
    }
    status = shoal_lines_close(&lines, status);
    if (!status && table->n == 0)
        status = shoal_fail(context, SHOAL_E_INPUT, "%s: expected at least one measurement%s%s", path,
                            said->object ? " of " : "", said->object ? said->object : "");
    free(r.described);
    return status;
}

shoal_status shoal_observations_read(shoal_context *context, const char *path, const shoal_observations_said *said,
                                     shoal_observations *table)
{
    const char *names[SHOAL_COUNT(formats)];
    int i = -1;
    *table = (shoal_observations){0};
    for (int k = 0; k < SHOAL_COUNT(formats); k++) {
        names[k] = formats[k].name;
        i = strcmp(names[k], said->format) == 0 ? k : i;
    }
    const char *nearest = shoal_nearest(said->format, names, SHOAL_COUNT(formats));
    if (i < 0)
        return shoal_fail(context, SHOAL_E_INPUT, "format = %s: expected a format of observations%s%s%s", said->format,
                          nearest ? " (is it '" : "", nearest ? nearest : "", nearest ? "'?)" : "");
    const shoal_status status = formats[i].time ? read_table(context, path, &formats[i], said, table)
                                                : shoal_catalogue_read(context, path, said, table);
    if (status)
        shoal_observations_release(table);
    return status;
}

void shoal_observations_release(shoal_observations *table)
{
    free(table->row);
    free(table->instrument);
    *table = (shoal_observations){0};
}
