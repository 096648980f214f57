/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * format_exoplanets.c: the NASA Exoplanet Archive's tables `pscomppars` and `ps` as CSV: one system a host star, its
 * planets in the order of their periods, Jacobi elements. Columns are found by their names in the header, after
 * comments with #:
 *
 *     hostname pl_letter            which body; without letters, the end of pl_name
 *     default_flag                  in `ps`, rows in which it is 0 are left out; noted where a planet has no other
 *     cb_flag                       planets of two stars are left out: st_mass is that of one
 *     pl_controv_flag sy_snum       noted: planets that are in doubt, other stars
 *     pl_bmassprov pl_tsystemref    noted: masses that are m sin i or guessed, times that are no BJD in TDB (in
 *                                   `pscomppars` pl_orbtper_systemref and pl_tranmid_systemref)
 *     st_mass st_rad                Msun, Rsun                      (1 Msun, 0)
 *     pl_bmassj, else pl_bmasse     Mjup, Mearth                    (0)
 *     pl_radj, else pl_rade         Rjup, Rearth                    (0)
 *     pl_orbper, else pl_orbsmax    days, AU                        (one of them must be there)
 *     pl_orbeccen                   eccentricity                    (0)
 *     pl_orblper                    argument of pericentre, degrees (90)
 *     pl_orbincl                    inclination to the sky, degrees (90)
 *     pl_orbtper, else pl_tranmid   BJD of pericentre, of transit   (in pericentre at the epoch)
 *
 * In brackets: what is taken for an empty cell; what was taken is noted. A value that is a limit (pl_orbperlim = -1 or
 * 1 and so on) counts as an empty cell; a limit of a mass or radius in Jupiter's is one in Earth's, too. A planet with
 * a number that cannot be is left out, which is noted; with --host it is an error. A unit that a comment says (# COLUMN
 * pl_orbper: ... [days]) must be this one.
 * Nodes are unknown and taken for 0: orbits are coplanar where the inclinations agree. x, y span the sky, +z points to
 * the observer; the argument is that of radial velocities (a transit is at f = 90 degrees - omega). The epoch, time 0,
 * is J2000 = BJD 2451545, or what is asked for.
 * Source: the archive's page "Planetary Systems and Planetary Systems Composite Parameters Data Column Definitions".
 */
#define _GNU_SOURCE 1
#include <stdlib.h>
#include <string.h>

#include "core/formats/table.h"

#define RADIANS (M_PI / 180)

/* X(name, unit of length, unit of mass, otherwise); texts come first, then flags */
/* clang-format off */
#define COLUMN_LIST(X)                                                                                       \
    X(hostname, 0, 0, NAN) X(pl_letter, 0, 0, NAN) X(pl_name, 0, 0, NAN) X(pl_bmassprov, 0, 0, NAN)          \
    X(pl_tsystemref, 0, 0, NAN) X(pl_orbtper_systemref, 0, 0, NAN) X(pl_tranmid_systemref, 0, 0, NAN)        \
    X(default_flag, 0, 0, 1) X(cb_flag, 0, 0, 0) X(pl_controv_flag, 0, 0, 0) X(sy_snum, 0, 0, 1)             \
    X(st_mass, 0, "Msun", 1) X(st_rad, "Rsun", 0, 0) X(pl_bmassj, 0, "Mjup", 0) X(pl_bmasse, 0, "Mearth", 0) \
    X(pl_radj, "Rjup", 0, 0) X(pl_rade, "Rearth", 0, 0) X(pl_orbper, 0, 0, NAN) X(pl_orbsmax, "AU", 0, NAN)  \
    X(pl_orbeccen, 0, 0, 0) X(pl_orblper, 0, 0, 90) X(pl_orbincl, 0, 0, 90) X(pl_orbtper, 0, 0, NAN)         \
    X(pl_tranmid, 0, 0, NAN)
/* clang-format on */
enum {
#define X(name, ...) name,
    COLUMN_LIST(X)
#undef X
        COLUMNS
};
static const struct {
    const char *name, *length, *mass;
    double otherwise;
} columns[COLUMNS] = {
#define X(name, length, mass, otherwise) [name] = {#name, length, mass, otherwise},
    COLUMN_LIST(X)
#undef X
};

/* A row of the catalogue; empty cells are NaN. Lengths, masses and times in AU, Msun, days. */
typedef struct planet {
    char host[64], letter[SHOAL_NAME_SIZE], provenance[32], times[16];
    double value[COLUMNS];
    long line, order; /* order of its host in the file */
    bool spare;       /* not its default row */
    double P;         /* that its order goes by */
} planet;

typedef struct catalogue {
    shoal_table *table;
    const shoal_convert_options *options;
    int n_cells, column[COLUMNS], limit[COLUMNS]; /* which cell, -1 = none; of its limit's flag */
    double factor[COLUMNS];
    planet *planets;
    long n_planets, room;
    char impossible[400]; /* what is wrong with the first planet that is left out for it */
} catalogue;

static bool exoplanets_is(const char *begin)
{
    return strstr(begin, "hostname") && (strstr(begin, "pl_letter") || strstr(begin, "pl_name"));
}

enum { MAX_CELLS = 2048 };

/* A comment that says the unit of a column: "# COLUMN pl_orbper: Orbital Period [days]". */
static shoal_status read_comment(const catalogue *c, const char *text)
{
    static const struct {
        int first, last;
        const char *unit; /* how it begins */
    } units[] = {{st_mass, st_rad, "solar"},     {pl_bmassj, pl_bmassj, "jup"},   {pl_bmasse, pl_bmasse, "earth"},
                 {pl_radj, pl_radj, "jup"},      {pl_rade, pl_rade, "earth"},     {pl_orbper, pl_orbper, "day"},
                 {pl_orbsmax, pl_orbsmax, "au"}, {pl_orblper, pl_orbincl, "deg"}, {pl_orbtper, pl_tranmid, "day"}};
    const char *name = text + strspn(text, "# \t"), *open = strrchr(text, '[');
    if (strncmp(name, "COLUMN", 6) != 0 || !open)
        return SHOAL_OK;
    name += 6 + strspn(name + 6, " \t");
    const size_t length = strcspn(name, " \t:");
    for (int i = 0; i < SHOAL_COUNT(units); i++)
        for (int k = units[i].first; k <= units[i].last; k++)
            if (strlen(columns[k].name) == length && strncmp(name, columns[k].name, length) == 0 &&
                strncasecmp(open + 1, units[i].unit, strlen(units[i].unit)) != 0)
                return shoal_table_fail(c->table, columns[k].name, open, "a unit that begins with \"%s\"",
                                        units[i].unit);
    return SHOAL_OK;
}

static shoal_status read_heading(catalogue *c, char *const cells[], int n)
{
    const shoal_table *table = c->table;
    c->n_cells = n;
    for (int k = 0; k < COLUMNS; k++) {
        char flag[32];
        snprintf(flag, sizeof flag, "%slim", columns[k].name);
        c->column[k] = c->limit[k] = -1;
        for (int i = 0; i < n && i < MAX_CELLS; i++) {
            const bool is = strcmp(cells[i], columns[k].name) == 0;
            if (is && c->column[k] >= 0)
                return shoal_table_fail(table, "column", cells[i], "one of this name");
            if (is)
                c->column[k] = i;
            if (strcmp(cells[i], flag) == 0)
                c->limit[k] = i;
        }
    }
    if (c->column[hostname] < 0 || (c->column[pl_letter] < 0 && c->column[pl_name] < 0) ||
        (c->column[pl_orbper] < 0 && c->column[pl_orbsmax] < 0))
        return shoal_fail(table->context, SHOAL_E_INPUT,
                          "%s:%ld: expected the columns hostname, pl_letter or pl_name, and pl_orbper or pl_orbsmax",
                          table->path, table->line);
    static const int twins[][2] = {
        {pl_bmassj, pl_bmasse}, {pl_bmasse, pl_bmassj}, {pl_radj, pl_rade}, {pl_rade, pl_radj}};
    for (int i = 0; i < SHOAL_COUNT(twins); i++)
        if (c->limit[twins[i][0]] < 0)
            c->limit[twins[i][0]] = c->limit[twins[i][1]];
    bool limits = false;
    for (int k = st_mass; k < COLUMNS; k++)
        limits |= c->limit[k] >= 0;
    if (!limits)
        fputs("no columns of limits (pl_bmassjlim and so on): limits are taken for values\n", c->options->notes);
    if (c->column[cb_flag] < 0)
        fputs("no column cb_flag: planets of two stars are taken for those of one\n", c->options->notes);
    return SHOAL_OK;
}

/* A number of a row, NaN = an empty cell. *impossible: it cannot be, which without --host is noted alone. */
static shoal_status read_value(catalogue *c, char *const cells[], int k, planet *p, bool *impossible)
{
    const char *cell = c->column[k] < 0 ? "" : cells[c->column[k]];
    const bool flag = k <= pl_controv_flag, positive = k == st_mass || k == pl_orbper || k == pl_orbsmax;
    double *value = &p->value[k];
    *value = NAN;
    if (!*cell)
        return SHOAL_OK;
    const char *wants = flag               ? "0 or 1"
                        : positive         ? "a number > 0"
                        : k == pl_orbeccen ? "a number from 0 to below 1"
                        : k == pl_orbincl  ? "a number from 0 to 180"
                        : k < pl_orbeccen  ? "a number >= 0"
                                           : "a number";
    const bool is_number = shoal_number(cell, value);
    if (!is_number || (positive && *value <= 0) || (k <= pl_orbeccen && *value < 0) ||
        (k == pl_orbeccen && *value >= 1) || (k == pl_orbincl && (*value < 0 || *value > 180)) ||
        (flag && *value != 0 && *value != 1)) {
        const shoal_status status = shoal_table_fail(c->table, columns[k].name, cell, "%s, or nothing", wants);
        if (!is_number || flag || c->options->host)
            return status;
        const char *message = shoal_context_message(c->table->context);
        fprintf(c->options->notes, "%s %s: left out: %s\n", p->host, p->letter, message);
        if (!*c->impossible)
            snprintf(c->impossible, sizeof c->impossible, "%s", message);
        *impossible = true;
    }
    *value *= c->factor[k];
    return SHOAL_OK;
}

/* Limits are no values, and times that are no Julian dates have another zero. */
static shoal_status leave_out_limits(const catalogue *c, char *const cells[], planet *p)
{
    FILE *notes = c->options->notes;
    for (int k = st_mass; k < COLUMNS; k++) {
        const char *flag = c->limit[k] < 0 ? "" : cells[c->limit[k]], *why = NULL;
        double limit = 0;
        if (*flag && (!shoal_number(flag, &limit) || (limit != -1 && limit != 0 && limit != 1))) {
            char name[32];
            snprintf(name, sizeof name, "%slim", columns[k].name);
            return shoal_table_fail(c->table, name, flag, "-1, 0 or 1, or nothing");
        }
        if (limit != 0)
            why = limit > 0 ? "an upper limit" : "a lower limit";
        else if ((k == pl_orbtper || k == pl_tranmid) && p->value[k] < 1e6)
            why = "no Julian date";
        if (why && !isnan(p->value[k])) {
            fprintf(notes, "%s %s: %s = %s is %s: left out\n", p->host, p->letter, columns[k].name, cells[c->column[k]],
                    why);
            p->value[k] = NAN;
        }
    }
    return SHOAL_OK;
}

/* A text of a row, "" if there is no such column. */
static const char *text_of(const catalogue *c, char *const cells[], int k)
{
    return c->column[k] < 0 ? "" : cells[c->column[k]];
}

/* The letter of a planet: that of its column, else what its name has behind the host's or in its last word. */
static const char *letter_of(const catalogue *c, char *const cells[], const char *host)
{
    if (c->column[pl_letter] >= 0)
        return text_of(c, cells, pl_letter);
    const char *name = text_of(c, cells, pl_name), *space = strrchr(name, ' ');
    if (strncmp(name, host, strlen(host)) == 0) {
        const char *rest = name + strlen(host);
        rest += strspn(rest, " .");
        if (*rest)
            return rest;
    }
    return space ? space + 1 : name;
}

/* Host and letter of a row, ? where there is none. */
static shoal_status name_planet(const catalogue *c, char *const cells[], planet *p)
{
    const char *host = text_of(c, cells, hostname), *letter = letter_of(c, cells, host);
    if (!*host || strlen(host) >= sizeof p->host)
        return shoal_table_fail(c->table, "hostname", host, "a name of at most %zu characters", sizeof p->host - 1);
    if (strlen(letter) >= sizeof p->letter)
        return shoal_table_fail(c->table, "pl_letter", letter, "at most %zu characters", sizeof p->letter - 1);
    strcpy(p->host, host);
    strcpy(p->letter, *letter ? letter : "?");
    return SHOAL_OK;
}

/* A row that is wanted: its numbers, limits, what is worth a note. */
static shoal_status describe_planet(catalogue *c, char *const cells[], planet *p, bool *wanted)
{
    FILE *notes = c->options->notes;
    bool impossible = false;
    shoal_status status = SHOAL_OK;
    *wanted = false;
    for (int k = cb_flag; k < COLUMNS && !status && !impossible; k++)
        status = read_value(c, cells, k, p, &impossible);
    if (status || impossible)
        return status;
    if (p->value[cb_flag] == 1) {
        fprintf(notes, "%s %s: left out, for it orbits two stars (cb_flag)\n", p->host, p->letter);
        return SHOAL_OK;
    }
    if (strcmp(p->letter, "?") == 0)
        fprintf(notes, "%s: its planet in line %ld has no letter: called ?\n", p->host, p->line);
    if (p->value[pl_controv_flag] == 1)
        fprintf(notes, "%s %s: is controversial (pl_controv_flag)\n", p->host, p->letter);
    status = leave_out_limits(c, cells, p);
    const char *times = text_of(c, cells, isnan(p->value[pl_orbtper]) ? pl_tranmid_systemref : pl_orbtper_systemref);
    snprintf(p->times, sizeof p->times, "%s", *times ? times : text_of(c, cells, pl_tsystemref));
    snprintf(p->provenance, sizeof p->provenance, "%s", text_of(c, cells, pl_bmassprov));
    *wanted = !status && !(isnan(p->value[pl_orbper]) && isnan(p->value[pl_orbsmax]));
    if (!status && !*wanted)
        fprintf(notes, "%s %s: left out, for it has neither pl_orbper nor pl_orbsmax\n", p->host, p->letter);
    return status;
}

static shoal_status keep_planet(catalogue *c, const planet *p)
{
    if (c->n_planets == c->room) {
        c->room = c->room ? 2 * c->room : 256;
        planet *grown = realloc(c->planets, (size_t)c->room * sizeof *p);
        if (!grown)
            return shoal_table_no_memory(c->table);
        c->planets = grown;
    }
    c->planets[c->n_planets++] = *p;
    return SHOAL_OK;
}

static shoal_status read_planet(catalogue *c, char *const cells[], int n)
{
    shoal_table *table = c->table;
    planet p = {.line = table->line, .order = c->n_planets};
    bool wanted;
    if (n != c->n_cells)
        return shoal_fail(table->context, SHOAL_E_INPUT, "%s:%ld: expected %d cells, found %d", table->path,
                          table->line, c->n_cells, n);
    shoal_status status = name_planet(c, cells, &p);
    if (status || (c->options->host && strcasecmp(c->options->host, p.host) != 0) ||
        (status = read_value(c, cells, default_flag, &p, &wanted)))
        return status;
    p.spare = p.value[default_flag] == 0;
    if (!p.spare && ((status = describe_planet(c, cells, &p, &wanted)) || !wanted))
        return status;
    for (long i = c->n_planets - 1; i >= 0; i--) {
        if (strcmp(c->planets[i].host, p.host) != 0)
            continue;
        p.order = c->planets[i].order;
        if (p.spare)
            break;
        if (strcmp(c->planets[i].letter, p.letter) == 0 && !c->planets[i].spare)
            return shoal_table_fail(table, "pl_letter", p.letter, "each planet of %s once (it is in line %ld too)",
                                    p.host, c->planets[i].line);
    }
    return keep_planet(c, &p);
}

static bool is_same(const planet *p, const planet *q)
{
    return strcmp(p->host, q->host) == 0 && strcmp(p->letter, q->letter) == 0;
}

/* Leaves out rows that are not the default ones; a planet that has no other is noted. */
static void leave_out_spares(catalogue *c)
{
    long n_left = 0;
    for (long i = 0; i < c->n_planets; i++) {
        const planet *p = &c->planets[i];
        bool known = !p->spare;
        for (long step = 1; step < c->n_planets && !known; step++) /* its rows are near each other */
            known = (i >= step && is_same(p, p - step)) ||
                    (i + step < c->n_planets && !p[step].spare && is_same(p, p + step));
        if (!known)
            fprintf(c->options->notes, "%s %s: left out, for none of its rows is the default one (default_flag)\n",
                    p->host, p->letter);
    }
    for (long i = 0; i < c->n_planets; i++)
        if (!c->planets[i].spare)
            c->planets[n_left++] = c->planets[i];
    c->n_planets = n_left;
}

/* By host in the order of the file, then by period. */
static int by_orbit(const void *first, const void *second)
{
    const planet *x = first, *y = second;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return (x->P > y->P) - (x->P < y->P);
}

/* The value of a column, or what stands for it, which is noted. */
static double assume(const planet *p, int k, FILE *notes)
{
    if (isnan(p->value[k]))
        fprintf(notes, " %s = %g", columns[k].name, columns[k].otherwise);
    return isnan(p->value[k]) ? columns[k].otherwise : p->value[k];
}

static double first_of(const planet *p, int k, int other)
{
    return isnan(p->value[k]) ? p->value[other] : p->value[k];
}

/* Elements at the epoch for mu = G times the mass within the orbit. */
static shoal_orbit orbit_of(const planet *p, double mu, double epoch, FILE *notes)
{
    const double e = assume(p, pl_orbeccen, notes), omega = assume(p, pl_orblper, notes) * RADIANS;
    const double inc = assume(p, pl_orbincl, notes) * RADIANS, P = p->value[pl_orbper] / (2 * M_PI);
    const double a = isnan(P) ? p->value[pl_orbsmax] : cbrt(mu * P * P), n = sqrt(mu / a) / a;
    double M = 0;
    if (!isnan(p->value[pl_orbtper]))
        M = n * (epoch - p->value[pl_orbtper]);
    else if (!isnan(p->value[pl_tranmid]))
        M = shoal_mean_anomaly(e, remainder(M_PI / 2 - omega, 2 * M_PI)) + n * (epoch - p->value[pl_tranmid]);
    else
        fputs(" M = 0", notes);
    return (shoal_orbit){
        .a = a, .e = e, .inc = inc, .omega = omega, .f = shoal_true_anomaly(e, remainder(M, 2 * M_PI))};
}

/* Whether times of this system are BJD, in TDB where it says its scale. */
static bool is_bjd(const char *system)
{
    return strncmp(system, "BJD", 3) == 0 &&
           (!system[3] || (strchr("-_ ", system[3]) && strcmp(system + 4, "TDB") == 0));
}

/* Bodies (G times their masses) of a star and its n planets, which are brought into order. */
static shoal_status make_bodies(catalogue *c, planet *planets, int n, shoal_body *bodies, shoal_orbit *orbits)
{
    FILE *notes = c->options->notes;
    const double G = c->table->units.G, epoch = isnan(c->options->epoch) ? 2451545.0 : c->options->epoch;
    double mass = NAN, radius = NAN, n_stars = 1;
    bool differ = false;
    for (int i = 0; i < n; i++) { /* in any row that has it */
        mass = isnan(mass) ? planets[i].value[st_mass] : mass;
        radius = isnan(radius) ? planets[i].value[st_rad] : radius;
        n_stars = fmax(n_stars, planets[i].value[sy_snum]);
        differ |= planets[i].value[st_mass] < mass || planets[i].value[st_mass] > mass;
    }
    if (differ)
        fprintf(notes, "%s: its rows differ in st_mass: %g Msun taken\n", planets->host, mass);
    if (n_stars > 1)
        fprintf(notes, "%s: of its %g stars one is taken (sy_snum)\n", planets->host, n_stars);
    if (isnan(mass))
        fprintf(notes, "%s: assumed st_mass = 1 Msun\n", planets->host);
    bodies[0] = (shoal_body){.m = G * (isnan(mass) ? 1 : mass), .r = isnan(radius) ? 0 : radius};
    double mu = bodies[0].m;
    for (int i = 0; i < n; i++) {
        const double P = planets[i].value[pl_orbper];
        planets[i].P = isnan(P) ? 2 * M_PI * sqrt(pow(planets[i].value[pl_orbsmax], 3) / mu) : P;
    }
    qsort(planets, (size_t)n, sizeof *planets, by_orbit);
    for (int i = 1; i <= n; i++) {
        const planet *p = &planets[i - 1];
        const double m = first_of(p, pl_bmassj, pl_bmasse), r = first_of(p, pl_radj, pl_rade);
        char *text = NULL;
        size_t size = 0;
        FILE *assumed = open_memstream(&text, &size);
        if (!assumed)
            return shoal_table_no_memory(c->table);
        if (isnan(m))
            fputs(" mass = 0", assumed);
        else if (*p->provenance && strcmp(p->provenance, "Mass") != 0 && strcmp(p->provenance, "Msin(i)/sin(i)") != 0)
            fprintf(assumed, " mass = %s", p->provenance);
        bodies[i] = (shoal_body){.m = isnan(m) ? 0 : G * m, .r = isnan(r) ? 0 : r};
        mu += bodies[i].m;
        orbits[i] = orbit_of(p, mu, epoch, assumed);
        if (*p->times && !is_bjd(p->times) && !isnan(first_of(p, pl_orbtper, pl_tranmid)))
            fprintf(assumed, " %s = BJD-TDB", p->times);
        fclose(assumed);
        if (text && *text)
            fprintf(notes, "%s %s: assumed%s\n", p->host, p->letter, text);
        free(text);
    }
    return shoal_bodies_from_orbits(c->table->context, SHOAL_JACOBI, n + 1, orbits, bodies);
}

/* alone: the only host, whose planets can bear their own names. */
static shoal_status add_system(catalogue *c, planet *planets, int n, bool alone)
{
    shoal_table *table = c->table;
    shoal_body *bodies = calloc((size_t)n + 1, sizeof *bodies);
    shoal_orbit *orbits = calloc((size_t)n + 1, sizeof *orbits);
    shoal_status status = bodies && orbits ? make_bodies(c, planets, n, bodies, orbits) : shoal_table_no_memory(table);
    table->line = planets->line;
    if (!status && !(status = shoal_table_add_system(table, table->n_systems, 0)))
        snprintf(table->systems[table->n_systems - 1].label, sizeof planets->host, "%s", planets->host);
    for (int i = 0; i <= n && !status; i++) {
        char name[SHOAL_NAME_SIZE];
        shoal_table_name(i, name);
        if (alone)
            snprintf(name, sizeof name, "%.31s", i ? planets[i - 1].letter : planets->host);
        bodies[i].m /= table->units.G;
        status = shoal_table_add_body(table, name, &bodies[i]);
    }
    free(bodies);
    free(orbits);
    return status;
}

static shoal_status exoplanets_read(shoal_table *table, int n_files, char *const *files,
                                    const shoal_convert_options *options)
{
    char number[SHOAL_NUMBER_SIZE];
    (void)n_files;
    catalogue c = {.table = table, .options = options};
    shoal_lines lines;
    shoal_status status = shoal_units_parse(table->context, "AU, Msun, day", &table->units);
    for (int k = 0; k < COLUMNS && !status; k++) {
        shoal_units units;
        status = shoal_units_init(table->context, columns[k].length, columns[k].mass, NULL, NAN, &units);
        c.factor[k] = columns[k].length ? units.length : columns[k].mass ? units.mass : 1;
    }
    if (status || (status = shoal_lines_open(&lines, table, files[0])))
        return status;
    while (!status && shoal_lines_next(&lines)) {
        char *cells[MAX_CELLS];
        int n;
        if (lines.text[0] == '#')
            status = read_comment(&c, lines.text);
        else if (lines.text[strspn(lines.text, " \t")] && !(status = shoal_lines_cut(&lines, cells, MAX_CELLS, &n)))
            status = c.n_cells ? read_planet(&c, cells, n) : read_heading(&c, cells, n);
    }
    status = shoal_lines_close(&lines, status);
    if (!status)
        leave_out_spares(&c);
    if (!status && c.n_planets == 0)
        status = *c.impossible
                     ? shoal_fail(table->context, SHOAL_E_INPUT, "%s", c.impossible)
                     : shoal_fail(table->context, SHOAL_E_INPUT,
                                  "%s: expected at least one planet%s%s, of one star and with a period or an axis%s",
                                  files[0], options->host ? " of " : "", options->host ? options->host : "",
                                  c.column[default_flag] < 0 ? "" : ", in a row whose default_flag is not 0");
    if (!status)
        qsort(c.planets, (size_t)c.n_planets, sizeof *c.planets, by_orbit);
    for (long i = 0, n; i < c.n_planets && !status; i += n) {
        for (n = 1; i + n < c.n_planets && c.planets[i + n].order == c.planets[i].order; n++)
            continue;
        status = add_system(&c, &c.planets[i], (int)n, n == c.n_planets);
    }
    if (!status && table->n_systems > 1)
        fputs(
            "of several hosts, planets are called planet1, planet2 and so on by their periods; --host keeps letters\n",
            options->notes);
    snprintf(table->epoch, sizeof table->epoch, "BJD %s",
             shoal_number_print(number, isnan(options->epoch) ? 2451545.0 : options->epoch));
    free(c.planets);
    return status;
}

const shoal_format shoal_format_exoplanets = {
    .name = "exoplanets",
    .ends = "",
    .doc = "NASA Exoplanet Archive, pscomppars or ps as CSV; only read",
    .is = exoplanets_is,
    .read = exoplanets_read,
};
