/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * data.c: measurements from tables. Columns are known by their headings; a table without one of them is refused.
 */
#define _GNU_SOURCE 1
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/formats/observations.h"
#include "core/model/model.h"

enum { TIME, VALUE, ERROR, NUMBER, NUMBERS, INSTRUMENT = NUMBERS, COLUMNS, MOST_CELLS = 256, MOST_NUMBER = 1000000 };

/* A table of data that is being read. */
typedef struct reader {
    const shoal_study *study;
    const config_setting_t *group; /* of `data` */
    int set, kind;
    bool numbered;                             /* transits have numbers */
    const char *heading[COLUMNS], *instrument; /* NULL = there is no such column */
    int column[COLUMNS];
    double time_zero, factor; /* of the column of times: to inner units */
    shoal_units si;
    shoal_table table;
    bool by_commas;
    int n_cells;
    shoal_data *data;
    long room;
    shoal_motions_said motions;
} reader;

/* Cut a line at commas, or at spaces. */
static int cut(const reader *r, char *line, char *cells[])
{
    return r->by_commas ? shoal_cut(line, cells, MOST_CELLS) : shoal_cut_blanks(line, cells, MOST_CELLS);
}

/* Find the columns. headings: those of a file without, or NULL. */
static shoal_status read_heading(reader *r, char *line, const config_setting_t *headings)
{
    char *cells[MOST_CELLS];
    r->by_commas = strchr(line, ',') != NULL;
    r->n_cells = headings ? config_setting_length(headings) : cut(r, line, cells);
    if (r->n_cells > MOST_CELLS)
        return shoal_fail(r->table.context, SHOAL_E_INPUT, "%s:%ld: expected at most %d columns, found %d",
                          r->table.path, r->table.line, MOST_CELLS, r->n_cells);
    for (int k = 0; headings && k < r->n_cells; k++)
        cells[k] = (char *)config_setting_get_string_elem(headings, k);
    for (int i = 0; i < COLUMNS; i++) {
        int found = -1;
        if (!r->heading[i])
            continue;
        for (int k = 0; k < r->n_cells; k++)
            if (strcmp(cells[k], r->heading[i]) == 0) {
                if (found >= 0)
                    return shoal_fail(r->table.context, SHOAL_E_INPUT, "%s:%ld: expected one column '%s'",
                                      r->table.path, r->table.line, r->heading[i]);
                found = k;
            }
        if (found < 0)
            return shoal_fail(r->table.context, SHOAL_E_INPUT, "%s:%ld: expected a column '%s' (data.columns)",
                              r->table.path, r->table.line, r->heading[i]);
        r->column[i] = found;
    }
    return SHOAL_OK;
}

static shoal_status add(reader *r, const double *numbers)
{
    shoal_data *data = r->data;
    if (data->n == r->room) {
        shoal_datum *more = realloc(data->datum, (size_t)(2 * r->room + 256) * sizeof *more);
        if (!more)
            return shoal_table_no_memory(&r->table);
        data->datum = more;
        r->room = 2 * r->room + 256;
    }
    data->datum[data->n++] = (shoal_datum){.row = (int)numbers[NUMBER],
                                           .time = (numbers[TIME] - r->time_zero) * r->factor,
                                           .value = numbers[VALUE],
                                           .error = numbers[ERROR],
                                           .with.set = -1};
    return SHOAL_OK;
}

static shoal_status read_row(reader *r, char *line)
{
    char *cells[MOST_CELLS];
    double numbers[NUMBERS] = {0};
    const int n_cells = cut(r, line, cells);
    if (n_cells != r->n_cells)
        return shoal_fail(r->table.context, SHOAL_E_INPUT, "%s:%ld: expected %d cells, found %d", r->table.path,
                          r->table.line, r->n_cells, n_cells);
    if (r->instrument && strcmp(cells[r->column[INSTRUMENT]], r->instrument) != 0)
        return SHOAL_OK;
    for (int i = 0; i < NUMBERS; i++)
        if (r->heading[i] && !shoal_number(cells[r->column[i]], &numbers[i]))
            return shoal_table_fail(&r->table, r->heading[i], cells[r->column[i]], "a finite number");
    if (!(numbers[NUMBER] == floor(numbers[NUMBER]) && fabs(numbers[NUMBER]) < MOST_NUMBER))
        return shoal_table_fail(&r->table, r->heading[NUMBER], cells[r->column[NUMBER]], "an integer below 1e6");
    if (r->kind == SHOAL_DATA_TRANSIT_TIME || r->kind == SHOAL_DATA_OCCULTATION_TIME)
        numbers[VALUE] = numbers[TIME] - r->time_zero;
    if (r->kind == SHOAL_DATA_POSITION_ANGLE && shoal_config_is_bare(&r->study->config, "angle") &&
        shoal_angle_is_strange(numbers[VALUE]))
        return shoal_table_fail(&r->table, r->heading[VALUE], cells[r->column[VALUE]], "%s", SHOAL_STRANGE_ANGLE);
    if (!(numbers[ERROR] > 0))
        return shoal_table_fail(&r->table, r->heading[ERROR], cells[r->column[ERROR]], "a number > 0");
    return add(r, numbers);
}

/* A row of a table of observers, if it is of this kind, of this body, and no outlier. */
static shoal_status add_observation(reader *r, const shoal_observation *row)
{
    const shoal_config *config = &r->study->config;
    const double mas = M_PI / 180 / 3600e3;
    static const shoal_observed observed[SHOAL_DATA_KINDS] = {
        [SHOAL_DATA_VELOCITY] = SHOAL_OBSERVED_velocity,
        [SHOAL_DATA_TRANSIT_TIME] = SHOAL_OBSERVED_transit,
        [SHOAL_DATA_SEPARATION] = SHOAL_OBSERVED_separation,
        [SHOAL_DATA_POSITION_ANGLE] = SHOAL_OBSERVED_position_angle,
        [SHOAL_DATA_DELTA_RA] = SHOAL_OBSERVED_d_ra,
        [SHOAL_DATA_DELTA_DEC] = SHOAL_OBSERVED_d_dec,
        [SHOAL_DATA_ALONG_SCAN] = SHOAL_OBSERVED_along_scan};
    const bool transits = r->kind == SHOAL_DATA_TRANSIT_TIME, velocities = r->kind == SHOAL_DATA_VELOCITY;
    const int body = row->body >= 0 ? row->body : r->data->body[r->set];
    const bool motions = r->kind == SHOAL_DATA_PROPER_MOTION, east = row->kind == SHOAL_OBSERVED_pm_ra,
               is = motions ? east || row->kind == SHOAL_OBSERVED_pm_dec : row->kind == observed[r->kind];
    const long index = r->data->n - (long)r->data->set[r->set].first;
    if (!is || body != r->data->body[r->set] || row->flag)
        return SHOAL_OK;
    const double unit = transits     ? shoal_config_factor(config, "time") / r->factor
                        : velocities ? shoal_config_number(config, r->group, "data", "unit") != 0 ? 1000 : 1
                        : r->kind == SHOAL_DATA_POSITION_ANGLE ? r->study->angle
                        : motions                              ? mas * r->factor / shoal_config_factor(config, "time")
                                                               : mas;
    const double value = transits ? row->value - r->time_zero : row->value;
    r->numbered = r->numbered && row->number >= 0;
    const shoal_status status = add(r,
                                    (double[NUMBERS]){row->time, value / unit, row->error / unit, (double)row->number});
    if (!status) {
        shoal_datum *datum = &r->data->datum[r->data->n - 1];
        datum->sine = motions ? east : sin(row->angle);
        datum->cosine = motions ? !east : cos(row->angle);
        datum->parallax_factor = row->parallax_factor;
        datum->line = (int)row->line;
        datum->with.correlation = motions ? 0 : row->correlation;
    }
    if (!status && motions && index < SHOAL_MOTIONS) {
        r->motions.until[index] = (row->until - r->time_zero) * r->factor;
        r->motions.correlation[index] = row->correlation;
        r->motions.day = r->factor;
    }
    return status;
}

static const char *file_of(const reader *r, int set)
{
    const config_setting_t *list = shoal_config_lookup(&r->study->config, "data");
    return shoal_config_string(config_setting_get_elem(list, (unsigned)set), "file", "");
}

/* Find the number that a datum of set i was measured with: in the same line of the table, and of the same body. */
static shoal_status find_pair(const reader *r, int i, shoal_datum *datum)
{
    static const int other[] = {[SHOAL_SKY_ANGLE] = SHOAL_SKY_SEPARATION, [SHOAL_SKY_DEC] = SHOAL_SKY_RA};
    const shoal_data *data = r->data;
    const shoal_walker_set *set = &data->set[i];
    const int sky = set->sky < SHOAL_COUNT(other) ? other[set->sky] : SHOAL_SKY_NONE;
    for (int k = 0; k < data->n_sets && sky && datum->with.set < 0; k++) {
        const shoal_walker_set *of = &data->set[k];
        const bool same = of->sky == sky && data->body[k] == data->body[i] && strcmp(file_of(r, k), file_of(r, i)) == 0;
        for (long long j = of->first; same && j < of->first + of->n; j++)
            if (data->datum[j].line == datum->line && data->datum[j].time == datum->time) {
                datum->with.set = k;
                datum->with.datum = (int)j;
            }
    }
    const shoal_walker_set *with = datum->with.set < 0 ? NULL : &data->set[datum->with.set];
    if (with && (set->rotation >= 0 || with->rotation >= 0 || set->freedom > 0 || with->freedom > 0))
        return shoal_config_fail(&r->study->config, r->group, NULL, NULL,
                                 "normal errors without a covariance, where pairs are correlated");
    if (with)
        return SHOAL_OK;
    return shoal_config_fail(&r->study->config, config_setting_get_member(r->group, "format"), NULL, NULL,
                             "data of what the errors are correlated with, too (line %d of the table): separation with "
                             "position_angle, delta_ra with delta_dec",
                             datum->line);
}

static shoal_status find_pairs(reader *r)
{
    const config_setting_t *list = shoal_config_lookup(&r->study->config, "data");
    shoal_status status = SHOAL_OK;
    for (int i = 0; i < r->data->n_sets; i++)
        for (long long j = r->data->set[i].first; j < r->data->set[i].first + r->data->set[i].n && !status; j++) {
            r->group = config_setting_get_elem(list, (unsigned)i);
            if (r->data->datum[j].with.correlation != 0)
                status = find_pair(r, i, &r->data->datum[j]);
        }
    return status;
}

/* Refuse a time_zero that contradicts the epoch of the config. zero: Julian date of the table's time 0;
 * day: days that 1 stands for. */
static shoal_status check_zero(const reader *r, double zero, double day)
{
    const config_setting_t *root = config_root_setting(&r->study->config.tree);
    const char *epoch = shoal_config_string(root, "epoch", "");
    const double jd = shoal_time_epoch(epoch), scales = 0.01; /* d: between scales, from the Earth to the barycentre */
    if (!(fabs(jd - (zero + r->time_zero)) > scales))
        return SHOAL_OK;
    const config_setting_t *setting = config_setting_get_member(r->group, "time_zero");
    return shoal_config_fail(&r->study->config, setting ? setting : r->group, setting ? NULL : "time_zero", NULL,
                             "%.17g, for epoch = \"%s\" and a table that counts from JD %.17g", (jd - zero) / day,
                             epoch, zero);
}

/* A table of a format that observers use: its velocities of the star, in days from time_zero and in the set's unit. */
static shoal_status read_format(reader *r, const char *path, const char *format)
{
    const shoal_config *config = &r->study->config;
    static const char *const useless[] = {"columns", "headings", "instrument_column"};
    for (int i = 0; i < SHOAL_COUNT(useless); i++)
        if (config_setting_get_member(r->group, useless[i]))
            return shoal_config_fail(config, config_setting_get_member(r->group, useless[i]), NULL, NULL,
                                     "either format or %s", useless[i]);
    if (r->kind > SHOAL_DATA_TRANSIT_TIME && r->kind < SHOAL_DATA_SEPARATION)
        return shoal_config_fail(config, config_setting_get_member(r->group, "format"), NULL, NULL,
                                 "columns for data of this kind");
    const shoal_observations_said said = {.format = format,
                                          .time = shoal_config_string(r->group, "time", NULL),
                                          .unit = shoal_config_string(r->group, "unit", NULL),
                                          .object = shoal_config_string(r->group, "object", NULL),
                                          .error = NAN,
                                          .body = -1,
                                          .n_names = r->study->walkers.n_bodies,
                                          .names = r->study->body_name};
    shoal_units days;
    shoal_observations table;
    shoal_status status = shoal_units_init(config->context, "AU", "Msun", "d", NAN, &days);
    status = status ? status : shoal_observations_read(r->study->context, path, &said, &table);
    if (status)
        return status;
    r->factor = shoal_units_factor(&days, "time");
    r->numbered = r->kind == SHOAL_DATA_TRANSIT_TIME;
    if (table.years)
        r->time_zero *= 365.25; /* it is one of the table's numbers */
    r->motions.zero = table.zero + r->time_zero;
    status = check_zero(r, table.zero, table.years ? 365.25 : 1);
    for (long i = 0; i < table.n && !status; i++) {
        const shoal_observation *row = &table.row[i];
        const char *instrument = row->instrument < 0 ? "" : table.instrument[row->instrument];
        if (!r->instrument || strcmp(instrument, r->instrument) == 0)
            status = add_observation(r, row);
    }
    shoal_observations_release(&table);
    return status;
}

static shoal_status read_table(reader *r)
{
    shoal_lines lines;
    char *path = shoal_config_path(&r->study->config,
                                   config_setting_get_string(config_setting_get_member(r->group, "file")));
    if (!path)
        return shoal_fail(r->study->context, SHOAL_E_MEMORY, "out of memory");
    r->table = (shoal_table){.context = r->study->context, .path = path};
    r->n_cells = 0;
    const long first = r->data->n;
    const config_setting_t *headings = config_setting_get_member(r->group, "headings");
    const char *format = shoal_config_string(r->group, "format", NULL);
    shoal_status status = format ? read_format(r, path, format) : shoal_lines_open(&lines, &r->table, path);
    if (!status && !format) {
        while (!status && shoal_lines_next(&lines)) {
            if (lines.text[0] == '#' || lines.text[strspn(lines.text, " \t")] == '\0')
                continue;
            const bool begins = r->n_cells == 0;
            if (begins)
                status = read_heading(r, lines.text, headings);
            if (!status && (headings || !begins))
                status = read_row(r, lines.text);
        }
        status = shoal_lines_close(&lines, status);
    }
    if (!status && r->data->n == first)
        status = shoal_fail(r->study->context, SHOAL_E_INPUT, "%s: expected data%s%s", path,
                            r->instrument ? " of the instrument " : "", r->instrument ? r->instrument : "");
    free(path);
    return status;
}

/* The headings that a group names. */
static shoal_status read_columns(reader *r)
{
    enum { MOST = 3 };
    static const struct {
        int n, column[MOST];
        const char *plain[MOST];
    } of[SHOAL_DATA_KINDS] = {
        [SHOAL_DATA_VELOCITY] = {3, {TIME, VALUE, ERROR}, {"time", "velocity", "error"}},
        [SHOAL_DATA_TRANSIT_TIME] = {3, {NUMBER, TIME, ERROR}, {"number", "time", "error"}},
        [SHOAL_DATA_OCCULTATION_TIME] = {3, {NUMBER, TIME, ERROR}, {"number", "time", "error"}},
        [SHOAL_DATA_IMPACT_PARAMETER] = {3, {NUMBER, VALUE, ERROR}, {"number", "impact", "error"}},
        [SHOAL_DATA_TRANSIT_DURATION] = {3, {NUMBER, VALUE, ERROR}, {"number", "duration", "error"}},
        [SHOAL_DATA_INGRESS_DURATION] = {3, {NUMBER, VALUE, ERROR}, {"number", "duration", "error"}},
        [SHOAL_DATA_EGRESS_DURATION] = {3, {NUMBER, VALUE, ERROR}, {"number", "duration", "error"}},
        [SHOAL_DATA_SEPARATION] = {3, {TIME, VALUE, ERROR}, {"time", "separation", "error"}},
        [SHOAL_DATA_POSITION_ANGLE] = {3, {TIME, VALUE, ERROR}, {"time", "position_angle", "error"}},
        [SHOAL_DATA_DELTA_RA] = {3, {TIME, VALUE, ERROR}, {"time", "delta_ra", "error"}},
        [SHOAL_DATA_DELTA_DEC] = {3, {TIME, VALUE, ERROR}, {"time", "delta_dec", "error"}},
        [SHOAL_DATA_ALONG_SCAN] = {3, {TIME, VALUE, ERROR}, {"time", "along_scan", "error"}},
        [SHOAL_DATA_PROPER_MOTION] = {3, {TIME, VALUE, ERROR}, {"time", "proper_motion", "error"}},
    };
    const config_setting_t *columns = config_setting_get_member(r->group, "columns");
    const bool times = of[r->kind].column[1] == TIME;
    const int n = columns ? config_setting_length(columns) : MOST;
    if (n != MOST && !(times && n == MOST - 1))
        return shoal_config_fail(&r->study->config, columns, NULL, NULL, "%s, %s, %s%s", of[r->kind].plain[0],
                                 of[r->kind].plain[1], of[r->kind].plain[2], times ? ", or time, error" : "");
    for (int i = 0; i < COLUMNS; i++)
        r->heading[i] = NULL;
    for (int i = 0; i < n; i++)
        r->heading[of[r->kind].column[i + MOST - n]] = columns ? config_setting_get_string_elem(columns, i)
                                                               : of[r->kind].plain[i];
    r->numbered = r->heading[NUMBER] != NULL;
    r->instrument = shoal_config_string(r->group, "instrument", NULL);
    const config_setting_t *time = config_setting_get_member(r->group, "time");
    if (time && !config_setting_get_member(r->group, "format"))
        return shoal_config_fail(&r->study->config, time, NULL, NULL, "a format with the time of its table");
    const config_setting_t *named = config_setting_get_member(r->group, "instrument_column");
    if (named && !r->instrument)
        return shoal_config_fail(&r->study->config, named, NULL, NULL,
                                 "no column of instruments without an instrument");
    if (r->instrument)
        r->heading[INSTRUMENT] = shoal_config_string(r->group, "instrument_column", "tel");
    return SHOAL_OK;
}

/* Keys that data of this kind do not have. */
static shoal_status check_keys(const reader *r)
{
    enum {
        VELOCITIES = 1 << SHOAL_DATA_VELOCITY,
        SCANS = 1 << SHOAL_DATA_ALONG_SCAN,
        MOTIONS = 1 << SHOAL_DATA_PROPER_MOTION,
        SKY = (2 << SHOAL_DATA_PROPER_MOTION) - (1 << SHOAL_DATA_SEPARATION),
        TRANSITS = (1 << SHOAL_DATA_SEPARATION) - (1 << SHOAL_DATA_TRANSIT_TIME)
    };
    static const struct {
        const char *key;
        int kinds;
    } keys[] = {{"unit", VELOCITIES},
                {"of", TRANSITS},
                {"t0", TRANSITS},
                {"period", TRANSITS},
                {"missing", TRANSITS},
                {"light_travel", TRANSITS | VELOCITIES},
                {"relativity", VELOCITIES},
                {"offset", VELOCITIES | TRANSITS},
                {"trend", VELOCITIES | TRANSITS},
                {"curvature", VELOCITIES | TRANSITS},
                {"marginal", VELOCITIES | TRANSITS | SCANS | MOTIONS},
                {"parallax", SKY & ~(1 << SHOAL_DATA_POSITION_ANGLE)},
                {"ra", SCANS},
                {"dec", SCANS},
                {"pm_ra", SCANS | MOTIONS},
                {"pm_dec", SCANS | MOTIONS},
                {"hipparcos_scans", MOTIONS},
                {"gaia_scans", MOTIONS}};
    for (int i = 0; i < SHOAL_COUNT(keys); i++) {
        const config_setting_t *setting = config_setting_get_member(r->group, keys[i].key);
        if (setting && !(keys[i].kinds >> r->kind & 1))
            return shoal_config_fail(&r->study->config, setting, NULL, NULL, "no such key of data of this kind");
    }
    const bool relative = r->kind >= SHOAL_DATA_SEPARATION && r->kind < SHOAL_DATA_ALONG_SCAN;
    if (relative && r->data->body[r->set] == 0)
        return shoal_config_fail(&r->study->config, r->group, "body", NULL, "a body other than the first one");
    if (r->kind >= SHOAL_DATA_ALONG_SCAN && !config_setting_get_member(r->group, "format"))
        return shoal_config_fail(&r->study->config, r->group, "format", NULL, "the format of a table of %s",
                                 r->kind == SHOAL_DATA_ALONG_SCAN ? "scans" : "proper motions");
    return SHOAL_OK;
}

/* Places in the sky: x to the north and y to the east, in AU times mas. */
static void read_sky(const reader *r, shoal_walker_set *set)
{
    set->sky = SHOAL_SKY_SEPARATION + (r->kind - SHOAL_DATA_SEPARATION);
    set->factor = 1 / (149597870700 * shoal_units_factor(&r->si, "length"));
    set->turn = 2 * M_PI / r->study->angle;
    set->reference = r->kind < SHOAL_DATA_ALONG_SCAN; /* from the first body; make_sights knows where it is seen */
}

/* Degrees of freedom beyond which errors count as normal: r^2 / freedom would be lost beside 1. ln L of a datum at 10
 * sigma changes by 5e-7. */
#define NEARLY_NORMAL 1e10

/* ln(2 pi) of normal errors; of Student's t ln(freedom pi) + 2 ln(Gamma(freedom / 2) / Gamma((freedom + 1) / 2)), whose
 * Gammas cancel where freedom is large (DLMF 5.11.13). */
static double constant_of(double freedom)
{
    enum { LARGE = 200 };
    const double x = freedom / 2;
    if (freedom == 0 || freedom > LARGE)
        return log(2 * M_PI) + (freedom > 0 ? 1 / (4 * x) - 1 / (96 * x * x * x) + 1 / (320 * pow(x, 5)) : 0);
    return log(freedom * M_PI) + 2 * (lgamma(x) - lgamma(x + 0.5));
}

/* What is said of a set beside its measurements. */
static shoal_status read_set(reader *r, int i)
{
    const shoal_config *config = &r->study->config;
    shoal_walker_set *set = &r->data->set[i];
    r->kind = (int)shoal_config_number(config, r->group, "data", "kind");
    shoal_status status = read_columns(r);
    const config_setting_t *body = config_setting_get_member(r->group, "body"), *list = config_setting_parent(r->group);
    for (int k = 0; k < i && !status; k++)
        if (strcmp(shoal_config_string(config_setting_get_elem(list, (unsigned)k), "name", ""),
                   shoal_config_string(r->group, "name", "")) == 0)
            status = shoal_config_fail(config, config_setting_get_member(r->group, "name"), NULL, NULL,
                                       "a name that no other data have");
    if (!status && body)
        status = shoal_config_body(config, body, r->study->body_name, r->study->walkers.n_bodies, &r->data->body[i]);
    if (status)
        return status;
    set->met = set->group = -1;
    set->missing = -INFINITY;
    const double unit = shoal_config_number(config, r->group, "data", "unit") == 0 ? 1 : 1000;
    set->factor = -1 / (unit * shoal_units_factor(&r->si, "velocity")); /* it recedes along -z */
    const double light = 1 / (299792458 * shoal_units_factor(&r->si, "velocity"));
    set->epoch = r->study->t_start;
    if (r->kind == SHOAL_DATA_VELOCITY && shoal_config_number(config, r->group, "data", "light_travel") != 0)
        set->light = light;
    set->relativity = shoal_config_number(config, r->group, "data", "relativity") != 0 ? light : 0;
    set->marginal = shoal_config_number(config, r->group, "data", "marginal") != 0;
    r->factor = shoal_config_factor(config, "time");
    r->time_zero = shoal_config_number(config, r->group, "data", "time_zero");
    const double per_time = 1 / r->factor, of[SHOAL_SET_NUMBERS] = {1, 1, per_time, per_time * per_time, 1, 1, 1, 1, 1};
#define X(name) #name,
    static const char *const names[] = {SHOAL_SET_NUMBER_LIST(X)};
#undef X
    for (int q = 0; q < SHOAL_SET_NUMBERS; q++) {
        const double value = shoal_config_number(config, r->group, "data", names[q]);
        (&set->offset)[q] = (shoal_walker_number){-1, of[q], value * of[q]};
    }
    set->unit = r->factor;
    const double freedom = shoal_config_number(config, r->group, "data", "freedom");
    set->freedom = freedom > NEARLY_NORMAL ? 0 : freedom;
    set->constant = constant_of(set->freedom);
    if (freedom > 0 && set->marginal)
        return shoal_config_fail(config, config_setting_get_member(r->group, "freedom"), NULL, NULL,
                                 "normal errors where the likelihood is integrated");
    if (r->kind >= SHOAL_DATA_SEPARATION)
        read_sky(r, set);
    status = check_keys(r);
    if (status)
        return status;
    static const char *const integrated[] = {"offset", "ra", "dec", "pm_ra", "pm_dec"};
    for (int q = 0; q < SHOAL_COUNT(integrated) && set->marginal; q++)
        if (config_setting_get_member(r->group, integrated[q]))
            return shoal_config_fail(config, config_setting_get_member(r->group, integrated[q]), NULL, NULL,
                                     "no %s where the likelihood is integrated over it", integrated[q]);
    return SHOAL_OK;
}

/* Whether scans tell the place and its motion: the normal equations of ra, dec, pm_ra, pm_dec have an inverse. */
static shoal_status check_scans(const reader *r)
{
    enum { N = 4 };
    const shoal_walker_set *set = &r->data->set[r->set];
    double matrix[N * N] = {0}, span = 0;
    for (long long j = set->first; j < set->first + set->n; j++)
        span = fmax(span, fabs(r->data->datum[j].time - set->epoch));
    for (long long j = set->first; j < set->first + set->n; j++) {
        const shoal_datum *datum = &r->data->datum[j];
        const double t = (datum->time - set->epoch) / span,
                     slope[N] = {datum->sine, datum->cosine, t * datum->sine, t * datum->cosine};
        for (int i = 0; i < N * N; i++)
            matrix[i] += slope[i / N] * slope[i % N] * (i / N == i % N ? 1 - 1e-9 : 1); /* and far from having none */
    }
    if (!shoal_sample_root(N, matrix))
        return shoal_config_fail(&r->study->config, r->group, "marginal", NULL,
                                 "scans in two directions, of each at two times, to integrate over ra, dec, pm_ra and "
                                 "pm_dec");
    return SHOAL_OK;
}

shoal_status shoal_data_read(const shoal_study *study, shoal_data *data)
{
    const config_setting_t *list = shoal_config_lookup(&study->config, "data");
    *data = (shoal_data){.n_sets = list ? config_setting_length(list) : 0, .from = INFINITY, .to = -INFINITY};
    if (data->n_sets == 0)
        return shoal_fail(study->context, SHOAL_E_INPUT, "%s: expected `data`, for a likelihood", study->path);
    data->set = calloc((size_t)data->n_sets, sizeof *data->set);
    data->body = calloc((size_t)data->n_sets, sizeof *data->body);
    if (!data->set || !data->body)
        return shoal_fail(study->context, SHOAL_E_MEMORY, "out of memory");
    reader r = {.study = study, .data = data};
    shoal_status status = shoal_units_init(study->context, "m", "kg", "s", NAN, &r.si);
    for (int i = 0; i < data->n_sets && !status; i++) {
        r.group = config_setting_get_elem(list, (unsigned)i);
        r.set = i;
        data->set[i].first = data->n;
        status = read_set(&r, i);
        if (!status)
            status = read_table(&r);
        data->set[i].n = data->n - data->set[i].first;
        if (!status && r.kind >= SHOAL_DATA_TRANSIT_TIME && r.kind < SHOAL_DATA_SEPARATION)
            status = shoal_transits_add(study,
                                        &(shoal_transits_said){r.group, r.kind, r.numbered, r.time_zero, r.factor,
                                                               shoal_units_factor(&r.si, "velocity")},
                                        data, i);
        if (!status && r.kind == SHOAL_DATA_ALONG_SCAN && data->set[i].marginal)
            status = check_scans(&r);
        double covariance[SHOAL_MOTIONS * SHOAL_MOTIONS];
        const bool motions = r.kind == SHOAL_DATA_PROPER_MOTION;
        if (!status && motions)
            status = shoal_motions_add(study, r.group, &r.motions, data, i, covariance);
        if (!status)
            status = shoal_noise_covariance(study, r.group, data, i, motions ? covariance : NULL);
    }
    if (!status)
        status = find_pairs(&r);
    return status ? status : shoal_noise_processes(study, data);
}

const char *shoal_data_unit(const shoal_study *study, int set, char unit[SHOAL_UNIT_SIZE])
{
    const config_setting_t *list = shoal_config_lookup(&study->config, "data");
    const int n = config_setting_length(list);
    if (set >= n) { /* a process: of the first of its data */
        const config_setting_t *process = config_setting_get_elem(shoal_config_lookup(&study->config, "processes"),
                                                                  (unsigned)(set - n));
        const char *name = config_setting_get_string_elem(config_setting_get_member(process, "data"), 0);
        for (set = n - 1; set > 0; set--)
            if (strcmp(shoal_config_string(config_setting_get_elem(list, (unsigned)set), "name", ""), name) == 0)
                break;
    }
    const config_setting_t *group = config_setting_get_elem(list, (unsigned)set);
    const int kind = (int)shoal_config_number(&study->config, group, "data", "kind");
    if (kind == SHOAL_DATA_VELOCITY)
        return shoal_config_string(group, "unit", "m/s");
    if (kind == SHOAL_DATA_IMPACT_PARAMETER)
        return "";
    if (kind == SHOAL_DATA_PROPER_MOTION) {
        char time[SHOAL_UNIT_SIZE];
        snprintf(unit, SHOAL_UNIT_SIZE, "mas/%.12s", shoal_config_unit(&study->config, "time", time));
        return unit;
    }
    if (kind >= SHOAL_DATA_SEPARATION && kind != SHOAL_DATA_POSITION_ANGLE)
        return "mas";
    return shoal_config_unit(&study->config, kind == SHOAL_DATA_POSITION_ANGLE ? "angle" : "time", unit);
}

void shoal_data_release(shoal_data *data)
{
    free(data->set);
    free(data->body);
    free(data->datum);
    free(data->conjunctions);
    free(data->row_of);
    free(data->groups);
    free(data->processes);
    free(data->process_at);
    free(data->places);
    free(data->rotations);
    free(data->parts);
    *data = (shoal_data){0};
}
