/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * format_mercury.c: MERCURY6's big.in and small.in, together one system. After comments, which begin with `)`:
 *
 *      style (Cartesian, Asteroidal, Cometary) = STYLE
 *      epoch (in days) = DAYS                            in big.in alone
 *     NAME  m= MASS r= HILL_RADII d= DENSITY ep= DAYS    and a1 a2 a3 b, not used here; any of them in any order
 *      six numbers, then the spin's three, over any number of lines
 *
 *     Cartesian    x y z vx vy vz   about the central body, AU and AU/day
 *     Asteroidal   a e I g n M      AU and degrees; g the argument of pericentre, n the node, M the mean anomaly
 *     Cometary     q e I g n T      q the pericentre's distance, T its time in days; e = 1 is a parabola
 *
 * Elements are about the central body with mu = K2 (M + m), K2 = 0.01720209895^2 AU^3 / (Msun day^2), which is kept as
 * the G of what is read. The central mass stands in MERCURY's param.in: an option here, or a comment `) central mass
 * (solar) = M`. The radius of a body follows from m and d, which is 1 g/cm^3 where it is missing, as in MERCURY.
 * Source: J. E. Chambers, manual of MERCURY6 (2001); doi:10.1046/j.1365-8711.1999.02379.x.
 */
#define _GNU_SOURCE 1
#include <stdlib.h>
#include <string.h>

#include "core/formats/observations.h"
#include "core/formats/table.h"

#define UNITS   "AU, Msun, day, G = 2.959122082855911e-4"
#define RADIANS (M_PI / 180)
enum { CARTESIAN, ASTEROIDAL, COMETARY };

typedef struct mercury_reader {
    shoal_lines lines;
    shoal_table *table;
    const shoal_convert_options *options;
    double mass, epoch; /* central; NaN = not known yet */
    int style;
    long n_ignored; /* bodies with spins or forces of their own */
    long n_default; /* bodies with a mass and no density */
} mercury_reader;

static bool mercury_is(const char *begin)
{
    return strncmp(begin, ")O+_06", 6) == 0 || strncmp(begin, ")O+_05", 6) == 0;
}

/* G in the table's units, and the mass density g/cm^3 in them. */
static double density_unit(void)
{
    shoal_units cgs;
    shoal_units_init(NULL, "cm", "g", NULL, NAN, &cgs);
    return cgs.mass / (cgs.length * cgs.length * cgs.length);
}

/* The central mass may stand in a comment: look there before the bodies are read. */
static shoal_status find_mass(mercury_reader *r, const char *file)
{
    shoal_status status = shoal_lines_open(&r->lines, r->table, file);
    while (!status && shoal_lines_next(&r->lines)) {
        const char *text = r->lines.text, *equals = strchr(text, '=');
        if (text[0] == ')' && strstr(text, "central mass (solar)") && equals &&
            !(shoal_number(equals + 1 + strspn(equals + 1, " "), &r->mass) && r->mass > 0))
            status = shoal_table_fail(r->table, "central mass", equals + 1, "a number > 0");
    }
    return shoal_lines_close(&r->lines, status);
}

/* The line that says the style, and that with the epoch. */
static shoal_status read_head(mercury_reader *r, bool first)
{
    static const char *const styles[] = {"Cartesian", "Asteroidal", "Cometary"};
    shoal_table *table = r->table;
    if (!shoal_lines_next(&r->lines) || !strcasestr(r->lines.text, "style"))
        return shoal_fail(table->context, SHOAL_E_INPUT, "%s:%ld: expected a line \"style = Cartesian\"", table->path,
                          table->line);
    const char *word = strrchr(r->lines.text, '=');
    word = word ? word + 1 + strspn(word + 1, " \t") : r->lines.text;
    r->style = -1;
    for (int i = 0; i < SHOAL_COUNT(styles); i++)
        if (strncasecmp(word, styles[i], 3) == 0)
            r->style = i;
    if (r->style < 0)
        return shoal_table_fail(table, "style", word, "Cartesian, Asteroidal or Cometary");
    r->lines.at = NULL;
    if (!first)
        return SHOAL_OK;
    if (!shoal_lines_next(&r->lines) || !strcasestr(r->lines.text, "epoch") ||
        (strchr(r->lines.text, '(') && !strcasestr(r->lines.text, "day")) || !(word = strrchr(r->lines.text, '=')) ||
        !shoal_number(word + 1 + strspn(word + 1, " \t"), &r->epoch))
        return shoal_table_fail(table, "epoch", r->lines.text ? r->lines.text : "",
                                "a line \"epoch (in days) = NUMBER\"");
    r->lines.at = NULL;
    return SHOAL_OK;
}

enum { MASS, HILL, DENSITY, A1, A2, A3, BETA, EPOCH, KEYS };

/* "m= 1e-3 d = 1.3": the rest of a body's first line. */
static shoal_status read_keys(mercury_reader *r, double value[KEYS])
{
    static const char *const keys[KEYS] = {"m", "r", "d", "a1", "a2", "a3", "b", "ep"};
    char *at = r->lines.at;
    bool given[KEYS] = {false};
    for (at += strspn(at, " \t"); *at; at += strspn(at, " \t")) {
        char *key = at, *number;
        const size_t length = strcspn(at, " \t=");
        number = at + length + strspn(at + length, " \t");
        const bool equals = *number == '=';
        number += equals ? 1 + strspn(number + 1, " \t") : 0;
        at = number + strcspn(number, " \t");
        if (*at)
            *at++ = '\0';
        int found = -1;
        for (int k = 0; k < KEYS; k++)
            if (length == strlen(keys[k]) && strncasecmp(key, keys[k], length) == 0)
                found = k;
        if (found < 0 || !equals)
            return shoal_table_fail(r->table, "word", key, "m=, r=, d=, a1=, a2=, a3=, b= or ep= and a number");
        if (given[found])
            return shoal_table_fail(r->table, keys[found], number, "one value of this key");
        given[found] = true;
        if (!shoal_number(number, &value[found]) || (found <= DENSITY && value[found] < 0) ||
            (found == DENSITY && value[found] == 0))
            return shoal_table_fail(r->table, keys[found], number,
                                    found == DENSITY  ? "a number > 0"
                                    : found < DENSITY ? "a number >= 0"
                                                      : "a number");
    }
    r->lines.at = at;
    return SHOAL_OK;
}

/* A parabola's state a time after the pericentre at q: Barker's equation, s + s^3/3 = sqrt(mu / 2 q^3) time for
 * s = tan(f/2), in closed form; then the rotations. angle: I, g, n. */
static void parabola_state(double mu, double q, double time, const double angle[3], double state[6])
{
    const double s = 2 * sinh(asinh(1.5 * sqrt(mu / (2 * q)) / q * time) / 3), v = sqrt(2 * mu / q) / (1 + s * s);
    const double x[2] = {q * (1 - s) * (1 + s), -v * s}, y[2] = {2 * q * s, v};
    const double cos_i = cos(angle[0]), sin_i = sin(angle[0]), cos_g = cos(angle[1]), sin_g = sin(angle[1]),
                 cos_n = cos(angle[2]), sin_n = sin(angle[2]);
    for (int k = 0; k < 2; k++) {
        const double along = x[k] * cos_g - y[k] * sin_g, across = x[k] * sin_g + y[k] * cos_g;
        state[3 * k] = along * cos_n - across * sin_n * cos_i;
        state[3 * k + 1] = along * sin_n + across * cos_n * cos_i;
        state[3 * k + 2] = across * sin_i;
    }
}

static shoal_status orbit_state(const mercury_reader *r, double m, const double number[6], double state[6])
{
    const double mu = r->table->units.G * (r->mass + m), e = number[1];
    if (r->style == COMETARY && e == 1 && number[0] > 0) {
        const double angle[3] = {number[2] * RADIANS, number[3] * RADIANS, number[4] * RADIANS};
        parabola_state(mu, number[0], r->epoch - number[5], angle, state);
        return SHOAL_OK;
    }
    if (r->style == COMETARY && !(number[0] > 0))
        return shoal_fail(r->table->context, SHOAL_E_INPUT,
                          "%s:%ld: expected elements of a possible orbit: q = %g is not positive", r->table->path,
                          r->table->line, number[0]);
    const double a = r->style == COMETARY ? number[0] / (1 - e) : number[0];
    const double M = r->style == COMETARY ? sqrt(mu / fabs(a)) / fabs(a) * (r->epoch - number[5]) : number[5] * RADIANS;
    const shoal_orbit orbit = {.a = a,
                               .e = e,
                               .inc = number[2] * RADIANS,
                               .omega = number[3] * RADIANS,
                               .Omega = number[4] * RADIANS,
                               .f = shoal_true_anomaly(e, e < 1 ? remainder(M, 2 * M_PI) : M)};
    if (shoal_orbit_to_state(r->table->context, mu, &orbit, state) == SHOAL_OK)
        return SHOAL_OK;
    char message[200];
    snprintf(message, sizeof message, "%s", shoal_context_message(r->table->context));
    return shoal_fail(r->table->context, SHOAL_E_INPUT, "%s:%ld: expected elements of a possible orbit: %s",
                      r->table->path, r->table->line, message);
}

static shoal_status read_body(mercury_reader *r, const char *name)
{
    static const char *const wants[3][6] = {
        {"x", "y", "z", "vx", "vy", "vz"}, {"a", "e", "I", "g", "n", "M"}, {"q", "e", "I", "g", "n", "T"}};
    double value[KEYS] = {[DENSITY] = NAN, [EPOCH] = r->epoch}, number[9], state[6];
    char word[SHOAL_NAME_SIZE + 1];
    snprintf(word, sizeof word, "%s", name); /* one that is too long stays too long */
    shoal_status status = read_keys(r, value);
    if (!status && value[EPOCH] != r->epoch) {
        char text[32];
        snprintf(text, sizeof text, "%.17g", value[EPOCH]);
        status = shoal_table_fail(r->table, "ep", text, "%.17g, the epoch of the big bodies: all start at one time",
                                  r->epoch);
    }
    for (int i = 0; i < 9 && !status; i++)
        status = shoal_lines_number(&r->lines, i < 6 ? wants[r->style][i] : "spin", &number[i]);
    if (status)
        return status;
    if (r->style == CARTESIAN)
        memcpy(state, number, sizeof state);
    else if ((status = orbit_state(r, value[MASS], number, state)))
        return status;
    r->n_ignored += number[6] != 0 || number[7] != 0 || number[8] != 0 || value[A1] != 0 || value[A2] != 0 ||
                    value[A3] != 0 || value[BETA] != 0;
    r->n_default += isnan(value[DENSITY]) && value[MASS] > 0;
    const double density = (isnan(value[DENSITY]) ? 1 : value[DENSITY]) * density_unit();
    const double radius = cbrt(3 * value[MASS] / (4 * M_PI * density));
    return shoal_table_add_body(
        r->table, word, &(shoal_body){value[MASS], radius, state[0], state[1], state[2], state[3], state[4], state[5]});
}

static shoal_status read_file(mercury_reader *r, const char *file, bool first)
{
    shoal_status status = shoal_lines_open(&r->lines, r->table, file);
    r->lines.comment = ')';
    if (!status && !(status = read_head(r, first)) && first && !(status = shoal_table_add_system(r->table, 0, 0)))
        status = shoal_table_add_body(r->table, "central", &(shoal_body){.m = r->mass});
    for (const char *name; !status && (name = shoal_lines_word(&r->lines));)
        status = read_body(r, name);
    return shoal_lines_close(&r->lines, status);
}

static shoal_status mercury_read(shoal_table *table, int n_files, char *const *files,
                                 const shoal_convert_options *options)
{
    char number[SHOAL_NUMBER_SIZE];
    mercury_reader r = {.table = table, .options = options, .mass = NAN};
    shoal_status status = shoal_units_parse(table->context, UNITS, &table->units);
    if (!status)
        status = find_mass(&r, files[0]);
    if (!isnan(options->central_mass))
        r.mass = options->central_mass;
    if (isnan(r.mass)) {
        r.mass = 1;
        fprintf(options->notes, "the central mass (param.in) was taken for 1 Msun (--central-mass)\n");
    }
    for (int i = 0; i < n_files && !status; i++)
        status = read_file(&r, files[i], i == 0);
    snprintf(table->epoch, sizeof table->epoch, "%s%s", r.epoch > 1e6 ? "JD " : "day ",
             shoal_number_print(number, r.epoch));
    if (r.n_ignored && !status)
        fprintf(options->notes, "%ld bodies have a spin or forces of their own (a1, a2, a3, b): left out\n",
                r.n_ignored);
    if (r.n_default && !status)
        fprintf(options->notes, "%ld bodies have no density: taken for 1 g/cm^3, MERCURY's default, for their radii\n",
                r.n_default);
    return status;
}

/* The day that an epoch is: a date; "day 5", of a big.in that counts from a day of its own. NaN: it is neither. */
static double day_of(const char *epoch)
{
    double day = shoal_time_epoch(epoch);
    if (strncmp(epoch, "day ", 4) == 0 && !shoal_number(epoch + 4, &day))
        day = NAN;
    return day;
}

static bool mercury_dates(const char *epoch)
{
    return !isnan(day_of(epoch));
}

static shoal_status mercury_write(const shoal_table *table, FILE *out)
{
    const shoal_body *star = table->bodies + table->systems[0].first;
    double day = day_of(table->epoch);
    if (table->n_systems != 1)
        return shoal_fail(table->context, SHOAL_E_INPUT,
                          "%s: %ld systems: expected one, which --system chooses: MERCURY's "
                          "format",
                          table->path, table->n_systems);
    day = (isnan(day) ? 0 : day) + (isnan(table->systems[0].time) ? 0 : table->systems[0].time);
    fprintf(out,
            ")O+_06 Big-body initial data  (WARNING: Do not delete this line!!)\n"
            ") Lines beginning with `)' are ignored.\n"
            ") central mass (solar) = %.17g\n"
            ")---------------------------------------------------------------------\n"
            " style (Cartesian, Asteroidal, Cometary) = Cartesian\n"
            " epoch (in days) = %.17g\n"
            ")---------------------------------------------------------------------\n",
            star->m, day);
    for (int i = 1; i < table->systems[0].n_bodies; i++) {
        const shoal_body *b = star + i;
        char name[SHOAL_NAME_SIZE];
        snprintf(name, sizeof name, "%s", table->names[i]);
        for (char *c = name; (c = strpbrk(c, " \t)="));)
            *c = '_';
        fprintf(out, " %-8s m=%.17g r=1", name, b->m);
        if (b->r > 0 && b->m > 0)
            fprintf(out, " d=%.17g", 3 * b->m / (4 * M_PI * b->r * b->r * b->r) / density_unit());
        fprintf(out, "\n %.17g %.17g %.17g\n %.17g %.17g %.17g\n 0 0 0\n", b->x - star->x, b->y - star->y,
                b->z - star->z, b->vx - star->vx, b->vy - star->vy, b->vz - star->vz);
    }
    return SHOAL_OK;
}

const shoal_format shoal_format_mercury = {
    .name = "mercury",
    .ends = ".in",
    .doc = "MERCURY6's big.in, small.in: one system; AU, Msun, day, degrees",
    .is = mercury_is,
    .read = mercury_read,
    .many = true,
    .write = mercury_write,
    .units = UNITS,
    .radii = SHOAL_RADII_OF_PLANETS,
    .dates = mercury_dates,
};
