/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * plot.c: the map of a grid sweep, as a picture (through gnuplot) and as text for the terminal.
 *
 * Both are drawn from one list of cells: a cell shows the column's value where its system lived to the end, and the
 * colour of the outcome where it did not; with lifetimes the other way round. Several systems in a cell (a grid finer
 * than the picture, further swept axes): the outcome that more than half of them ended by, else the median of their
 * values.
 *
 * Orientation: the horizontal axis is the one whose column ends in ".a" or ".P" if exactly one of the two does, else
 * the last; values grow to the right and upwards, whichever way the sweep runs.
 *
 * Colours: viridis (S. van der Walt and N. Smith, 2015, CC0) for values, which is monotonic in lightness, and colours
 * of M. Okabe and K. Ito's set for outcomes: both can be told apart with any colour vision.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <libconfig.h>
#include <math.h>
#include <spawn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/config/config.h"
#include "core/report/plot.h"

#define PICTURE_WIDTH  1600 /* pixels; at 300 to the inch just over 5 inches */
#define PICTURE_HEIGHT 1200
#define PICTURE_CELLS  1400 /* most cells along one axis */
#define MOST_LISTED    12   /* most labels of values that are not evenly spaced */
#define PREVIEW_LINES  24
#define PREVIEW_MARGIN 10   /* characters left of the map */
#define VALUE          (-1) /* kind of a cell that shows a value; else the outcome */

extern char **environ;

typedef struct colour {
    unsigned char r, g, b;
} colour;

static const colour no_value = {217, 217, 217};

static const colour viridis[] = {
    {68, 1, 84},    {71, 45, 123}, {59, 82, 139},  {44, 114, 142}, {33, 145, 140},
    {40, 174, 128}, {94, 201, 98}, {173, 220, 48}, {253, 231, 37},
};

static const char ramp[] = ".:-=+*#%@";

/* How an outcome is shown; those not listed show their value. Survivors have a colour where values are lifetimes,
 * which for them is no more than the run's length. */
static const struct style {
    int outcome;
    char letter;
    colour colour;
} styles[] = {
    {SHOAL_EJECTED, 'E', {0, 0, 0}},        {SHOAL_COLLIDED, 'C', {204, 121, 167}},
    {SHOAL_HIT_STAR, 'S', {86, 180, 233}},  {SHOAL_ENCOUNTER, 'e', {213, 94, 0}},
    {SHOAL_CROSSED, 'x', {230, 159, 0}},    {SHOAL_STEP_UNDERFLOW, 'u', {128, 64, 64}},
    {SHOAL_NONFINITE, '?', {255, 0, 255}},  {SHOAL_INVALID, '!', {221, 204, 119}},
    {SHOAL_INACCURATE, 'i', {0, 0, 128}},   {SHOAL_BUDGET, 'b', {128, 128, 0}},
    {SHOAL_SURVIVED, 's', {204, 226, 245}},
};

/* One of the two axes of the map. */
typedef struct map_axis {
    const shoal_axis *axis;
    const char *unit;
    long stride; /* of the system index */
    /* values of its two ends, log10 if they go up by a factor, their places if by nothing; low <= high */
    double low, high;
    bool reversed; /* the sweep runs downwards */
    bool logarithmic;
    /* [count * stride] values that are not evenly spaced, each stride one: cells stand side by side; else NULL */
    const double *listed;
} map_axis;

typedef struct plot_map {
    const shoal_result *result;
    const char *name, *unit; /* of the column */
    const double *column;
    const double *start; /* [n_systems] that its values are counted from, NULL = from zero */
    bool logarithm;
    bool all_values; /* the column means something for systems that ended early as well */
    map_axis x, y;
    double low, high; /* of the colours */
    /* cells; row 0 is the lowest */
    long width, height;
    signed char *kind; /* VALUE or an outcome */
    double *value;     /* NaN = nothing to show */
    double *scratch;   /* [n_systems] */
} plot_map;

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static const struct style *style_of(int outcome)
{
    for (int i = 0; i < SHOAL_COUNT(styles); ++i) {
        if (styles[i].outcome == outcome) {
            return &styles[i];
        }
    }
    return NULL;
}

unsigned shoal_plot_outcome_colour(int outcome)
{
    const struct style *style = style_of(outcome);
    const colour c = outcome == SHOAL_SURVIVED  ? (colour){0, 114, 178}
                     : style                    ? style->colour
                     : outcome == SHOAL_CHAOTIC ? (colour){0, 158, 115}
                                                : (colour){153, 153, 153};

    return (unsigned)c.r << 16 | (unsigned)c.g << 8 | c.b;
}

/* ---- what to draw ------------------------------------------------------------------------------------------------ */

static bool ends_in(const char *text, const char *end)
{
    const size_t n = strlen(text), k = strlen(end);

    return n >= k && strcmp(text + n - k, end) == 0;
}

static bool is_chaos_indicator(const char *name)
{
    static const char *const words[] = {"drift", "megno", "lyapunov", "chaos"};

    for (int i = 0; i < SHOAL_COUNT(words); ++i) {
        if (strstr(name, words[i])) {
            return true;
        }
    }
    return false;
}

/* Fields of every result that can be drawn like a column. */
static const struct field {
    const char *name;
    size_t offset;
    bool time, from_start; /* counted from the system's start */
} fields[] = {
    {"lifetime", offsetof(shoal_result, t_stop), true, true},
    {"t_stop", offsetof(shoal_result, t_stop), true, false},
    {"dE_final", offsetof(shoal_result, dE_final), false, false},
    {"steps", offsetof(shoal_result, n_steps), false, false},
};

shoal_status shoal_plot_no_column(shoal_context *context, const shoal_result *result, const char *wanted,
                                  const char *const *others, int n_others)
{
    const int n = result->n_columns + n_others;
    const char **names = malloc(((size_t)n + 1) * sizeof *names);
    char list[512] = "";
    size_t used = 0;

    if (!names) {
        return shoal_fail(context, SHOAL_E_MEMORY, "out of memory");
    }
    for (int i = 0; i < n; ++i) {
        names[i] = i < result->n_columns ? result->columns[i].name : others[i - result->n_columns];
        used += used < sizeof list ? (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", names[i])
                                   : 0;
    }
    const char *nearest = shoal_nearest(wanted, names, n);
    const shoal_status status = shoal_fail(context, SHOAL_E_USAGE, "no column '%s' in this result; %s: %s", wanted,
                                           nearest ? "did you mean" : "there are", nearest ? nearest : list);
    free(names);
    return status;
}

static shoal_status choose_column(shoal_context *context, plot_map *map, const char *wanted)
{
    const shoal_result *result = map->result;

    if (!wanted) {
        wanted = "lifetime";
        for (int c = result->n_swept; c < result->n_columns; ++c) {
            if (is_chaos_indicator(result->columns[c].name)) {
                wanted = result->columns[c].name;
                break;
            }
        }
    }
    const int c = shoal_result_column(result, wanted);
    if (c >= 0) {
        map->name = result->columns[c].name;
        map->unit = result->columns[c].unit;
        map->column = result->columns[c].value;
        map->all_values = c < result->n_swept;
        return SHOAL_OK;
    }
    for (int i = 0; i < SHOAL_COUNT(fields); ++i) {
        if (strcmp(wanted, fields[i].name) == 0) {
            map->name = fields[i].name;
            map->unit = fields[i].time ? result->units.time_name : "";
            memcpy(&map->column, (const char *)result + fields[i].offset, sizeof map->column);
            map->start = fields[i].from_start ? result->t_initial : NULL;
            map->all_values = true;
            return SHOAL_OK;
        }
    }

    const char *names[SHOAL_COUNT(fields)];
    for (int i = 0; i < SHOAL_COUNT(fields); ++i) {
        names[i] = fields[i].name;
    }
    return shoal_plot_no_column(context, result, wanted, names, SHOAL_COUNT(fields));
}

static shoal_status set_axis(shoal_context *context, plot_map *map, int k, map_axis *axis)
{
    const shoal_result *result = map->result;
    const int c = shoal_result_column(result, result->axes[k].column);

    if (c < 0) {
        return shoal_fail(context, SHOAL_E_INPUT, "the result has no column '%s' for its axis %d",
                          result->axes[k].column, k);
    }
    axis->axis = &result->axes[k];
    axis->unit = result->columns[c].unit;
    axis->stride = 1;
    for (int other = k + 1; other < result->n_axes; ++other) {
        axis->stride *= result->axes[other].count;
    }
    const double *value = result->columns[c].value;
    const long count = axis->axis->count;
    double first = value[0], last = value[(count - 1) * axis->stride];
    axis->logarithmic = axis->axis->logarithmic;
    if (axis->logarithmic) {
        first = log10(first);
        last = log10(last);
    }
    if (!isfinite(first) || !isfinite(last)) {
        return shoal_fail(context, SHOAL_E_INPUT, "the values of axis '%s' are not finite numbers", axis->axis->column);
    }
    for (long i = 1; i + 1 < count; ++i) {
        const double there = value[i * axis->stride], even = first + (last - first) * (double)i / (double)(count - 1);
        if (!(fabs((axis->logarithmic ? log10(there) : there) - even) <= 1e-6 * fabs(last - first))) {
            axis->listed = value;
            axis->logarithmic = false;
            first = 0;
            last = (double)(count - 1);
            break;
        }
    }
    axis->reversed = last < first;
    axis->low = fmin(first, last);
    axis->high = fmax(first, last);
    return SHOAL_OK;
}

static shoal_status choose_axes(shoal_context *context, plot_map *map)
{
    const shoal_result *result = map->result;

    if (result->n_axes < 2) {
        return shoal_fail(context, SHOAL_E_USAGE, "a map needs a grid over two swept parameters; here is %s",
                          result->n_axes == 1 ? "one" : "none");
    }
    if (!shoal_result_is_grid(result)) {
        return shoal_fail(
            context, SHOAL_E_INPUT,
            "map: the axes of this result have other places than its %ld systems; shoal merge joins shards",
            result->n_systems);
    }
    bool is_size[2];
    for (int k = 0; k < 2; ++k) {
        is_size[k] = ends_in(result->axes[k].column, ".a") || ends_in(result->axes[k].column, ".P");
    }
    const int horizontal = is_size[0] && !is_size[1] ? 0 : 1;
    shoal_status status = set_axis(context, map, horizontal, &map->x);
    if (status == SHOAL_OK) {
        status = set_axis(context, map, 1 - horizontal, &map->y);
    }
    return status;
}

/* Is a system with this outcome shown by its outcome's colour? */
static bool shows_outcome(const plot_map *map, int outcome)
{
    return outcome == SHOAL_SURVIVED ? map->start != NULL
                                     : (!map->all_values || outcome == SHOAL_INVALID) && style_of(outcome);
}

/* Nobody knows the lifetime of a system that runs on: it is long, as that of a survivor. */
static bool lives_on(const plot_map *map, long system)
{
    return map->start && map->result->outcome[system] == SHOAL_RUNNING;
}

static int outcome_of(const plot_map *map, long system)
{
    return lives_on(map, system) ? SHOAL_SURVIVED : map->result->outcome[system];
}

/* The value to colour a system by, NaN = none. */
static double value_of(const plot_map *map, long system)
{
    if (lives_on(map, system)) {
        return INFINITY;
    }
    const double value = map->start ? fabs(map->column[system] - map->start[system]) : map->column[system];

    return map->logarithm ? log10(fabs(value)) : value;
}

/* The median of n > 0 values, which are sorted. */
static double median(const plot_map *map, double *values, long n)
{
    qsort(values, (size_t)n, sizeof *values, compare_doubles);
    const double low = values[(n - 1) / 2], high = values[n / 2];
    return low == high ? low : map->logarithm ? log10((pow(10, low) + pow(10, high)) / 2) : (low + high) / 2;
}

/* Over the axes beyond the first two; they are neighbours. */
static long systems_a_cell(const plot_map *map)
{
    return map->result->n_systems / (map->x.axis->count * map->y.axis->count);
}

/* The colours span all but the outermost 0.5 % of the cells' values at each end: one system alone does not bleach the
 * map. */
static void set_range(plot_map *map)
{
    const long per_cell = systems_a_cell(map);
    long n = 0;

    for (long first = 0; first < map->result->n_systems; first += per_cell) {
        long n_here = 0;
        for (long system = first; system < first + per_cell; ++system) {
            const double value = value_of(map, system);
            if (isfinite(value) && !shows_outcome(map, map->result->outcome[system])) {
                map->scratch[n + n_here++] = value;
            }
        }
        if (n_here > 0) {
            map->scratch[n] = median(map, map->scratch + n, n_here);
            n++;
        }
    }
    map->low = 0;
    map->high = 1;
    if (n > 0) {
        qsort(map->scratch, (size_t)n, sizeof *map->scratch, compare_doubles);
        map->low = map->scratch[(long)(0.005 * (double)(n - 1))];
        map->high = map->scratch[n - 1 - (long)(0.005 * (double)(n - 1))];
        if (map->high <= map->low) {
            const double margin = map->low == 0 ? 1 : 0.01 * fabs(map->low);
            map->low -= margin;
            map->high += margin;
        }
    }
}

/* Systems [first, last) of an axis that belong to cell i of n. */
static void span(const map_axis *axis, long n, long i, long *first, long *last)
{
    const long count = axis->axis->count;

    if (axis->reversed) {
        i = n - 1 - i;
    }
    *first = i * count / n;
    *last = (i + 1) * count / n;
    if (*last == *first) { /* fewer systems than cells: the nearest */
        *first = (2 * i + 1) * count / (2 * n);
        *last = *first + 1;
    }
}

/* Reduce the systems to width x height cells; kind and value have room for them. */
static void fill_cells(plot_map *map, long width, long height)
{
    const long per_cell = systems_a_cell(map);

    map->width = width;
    map->height = height;
    for (long row = 0; row < height; ++row) {
        long y0, y1;
        span(&map->y, height, row, &y0, &y1);
        for (long column = 0; column < width; ++column) {
            long x0, x1, n = 0, n_all = 0, n_outcome[SHOAL_OUTCOMES] = {0};
            span(&map->x, width, column, &x0, &x1);
            for (long y = y0; y < y1; ++y) {
                for (long x = x0; x < x1; ++x) {
                    for (long k = 0; k < per_cell; ++k) {
                        const long system = x * map->x.stride + y * map->y.stride + k;
                        const int outcome = outcome_of(map, system);
                        n_all++;
                        if (shows_outcome(map, outcome)) {
                            n_outcome[outcome]++;
                        }
                        if ((outcome == SHOAL_SURVIVED || !shows_outcome(map, outcome)) &&
                            !isnan(value_of(map, system))) {
                            map->scratch[n++] = value_of(map, system);
                        }
                    }
                }
            }
            const long cell = row * width + column;
            long n_ended = 0;
            int most = 0;
            for (int o = 0; o < SHOAL_OUTCOMES; ++o) {
                n_ended += n_outcome[o];
                most = n_outcome[o] > n_outcome[most] ? o : most;
            }
            map->kind[cell] = (signed char)(2 * n_ended > n_all ? most : VALUE);
            map->value[cell] = NAN;
            if (n > 0) {
                map->value[cell] = median(map, map->scratch, n);
                if (map->start && map->value[cell] == INFINITY) {
                    map->kind[cell] = SHOAL_SURVIVED;
                }
            }
        }
    }
}

static double position(const plot_map *map, double value)
{
    const double t = (value - map->low) / (map->high - map->low);

    return t < 0 ? 0 : t > 1 ? 1 : t;
}

static colour palette(double t)
{
    const int n = SHOAL_COUNT(viridis) - 1;
    const int i = t >= 1 ? n - 1 : (int)(t * n);
    const double f = t * n - i;
    const colour a = viridis[i], b = viridis[i + 1];

    return (colour){(unsigned char)lround(a.r + f * (b.r - a.r)), (unsigned char)lround(a.g + f * (b.g - a.g)),
                    (unsigned char)lround(a.b + f * (b.b - a.b))};
}

static colour cell_colour(const plot_map *map, long cell)
{
    if (map->kind[cell] != VALUE) {
        return style_of(map->kind[cell])->colour;
    }
    return isnan(map->value[cell]) ? no_value : palette(position(map, map->value[cell]));
}

/* Does any system show this outcome's colour, or none at all (kind = VALUE)? */
static bool has_kind(const plot_map *map, int kind)
{
    for (long system = 0; system < map->result->n_systems; ++system) {
        const int outcome = outcome_of(map, system);
        const bool shown = shows_outcome(map, outcome);
        if (kind == VALUE ? !shown && isnan(value_of(map, system)) : shown && outcome == kind) {
            return true;
        }
    }
    return false;
}

void shoal_plot_quantity(char *text, size_t size, const char *name, const char *unit, bool logarithm)
{
    snprintf(text, size, "%s%s%s%s%s%s", logarithm ? "log10 |" : "", name, logarithm ? "|" : "", unit[0] ? " [" : "",
             unit, unit[0] ? "]" : "");
}

/* "sun, jupiter, saturn: 25000 systems over 10000 yr" */
static void title(const plot_map *map, char *text, size_t size)
{
    const shoal_result *result = map->result;
    double longest = 0;
    size_t used = 0;

    for (int body = 0; body < result->n_bodies && used < size / 2; ++body) {
        used += (size_t)snprintf(text + used, size - used, "%s%s", body ? ", " : "", result->body_name[body]);
    }
    for (long system = 0; system < result->n_systems; ++system) {
        const double lived = fabs(result->t_stop[system] - result->t_initial[system]);
        longest = lived > longest ? lived : longest;
    }
    if (used < size) {
        used += (size_t)snprintf(text + used, size - used, ": %ld systems over %g %s%s", result->n_systems, longest,
                                 result->units.time_name, result->complete ? "" : " (unfinished)");
    }
    if (used < size && systems_a_cell(map) > 1) {
        snprintf(text + used, size - used, ", medians of %ld", systems_a_cell(map));
    }
}

/* ---- the real system's place ------------------------------------------------------------------------------------- */

/* What the config says of a swept parameter beside the sweep: "saturn.a" is the member a of the body named saturn. */
static bool unswept_value(const config_t *config, const char *column, double *value)
{
    const config_setting_t *bodies = config_lookup(config, "system.bodies");
    const char *dot = strrchr(column, '.');

    if (!bodies || !dot) {
        return false;
    }
    for (int i = 0; i < config_setting_length(bodies); ++i) {
        const config_setting_t *body = config_setting_get_elem(bodies, (unsigned)i);
        const char *name;
        if (config_setting_lookup_string(body, "name", &name) && strlen(name) == (size_t)(dot - column) &&
            strncmp(name, column, (size_t)(dot - column)) == 0) {
            const config_setting_t *member = config_setting_get_member(body, dot + 1);
            if (!member || !config_setting_is_number(member)) {
                return false;
            }
            *value = config_setting_get_float(member);
            return true;
        }
    }
    return false;
}

static bool axis_place(const config_t *config, const map_axis *axis, double *place)
{
    if (!unswept_value(config, axis->axis->column, place)) {
        return false;
    }
    if (axis->logarithmic) {
        *place = log10(*place);
    }
    if (axis->listed) {
        long i = 0;
        while (i < axis->axis->count && axis->listed[i * axis->stride] != *place) {
            i++;
        }
        *place = (double)i;
    }
    return *place >= axis->low && *place <= axis->high;
}

static bool real_place(const plot_map *map, double *x, double *y)
{
    config_t config;

    shoal_config_recall(&config, map->result->config_text);
    const bool found = axis_place(&config, &map->x, x) && axis_place(&config, &map->y, y);
    config_destroy(&config);
    return found;
}

/* ---- the picture ------------------------------------------------------------------------------------------------- */

void shoal_plot_quote(FILE *script, const char *text)
{
    fputc('\'', script);
    for (; *text; ++text) {
        if (*text == '\'') {
            fputc('\'', script);
        }
        fputc((unsigned char)*text < 32 ? ' ' : *text, script);
    }
    fputc('\'', script);
}

/* Edges of the outermost cells. */
static void edges(const map_axis *axis, double *from, double *to)
{
    const double half = axis->axis->count > 1 && axis->high > axis->low
                            ? 0.5 * (axis->high - axis->low) / (double)(axis->axis->count - 1)
                            : 0.5;

    *from = axis->low - half;
    *to = axis->high + half;
}

static void script_axis(FILE *script, char which, const map_axis *axis, double from, double to)
{
    char text[160];

    shoal_plot_quantity(text, sizeof text, axis->axis->column, axis->unit, false);
    fprintf(script, "set %clabel ", which);
    shoal_plot_quote(script, text);
    fprintf(script, "%s\nset %crange [%.17g:%.17g]\n", which == 'x' ? " offset 0,0.4" : "", which, from, to);
    if (axis->listed) {
        const long count = axis->axis->count, every = (count + MOST_LISTED - 1) / MOST_LISTED;
        fprintf(script, "set %ctics (", which);
        for (long i = 0; i < count; i += every) {
            fprintf(script, "%s'%.6g' %ld", i ? ", " : "", axis->listed[i * axis->stride], i);
        }
        fputs(")\n", script);
    } else if (axis->logarithmic) { /* gnuplot cannot put an image on a logarithmic axis: it is drawn in log10 */
        const bool dense = to - from < 3;
        const char *comma = "";
        fprintf(script, "set %ctics (", which);
        for (int power = (int)floor(from); power <= (int)ceil(to); ++power) {
            for (int digit = 1; digit < 10; ++digit, comma = ", ") {
                const bool major = digit == 1 || (dense && (digit == 2 || digit == 5));
                fprintf(script, "%s'", comma);
                if (major) {
                    fprintf(script, "%g", digit * pow(10, power));
                }
                fprintf(script, "' %.17g %d", power + log10(digit), !major);
            }
        }
        fputs(")\n", script);
    }
}

bool shoal_plot_is_pdf(const char *path)
{
    return ends_in(path, ".pdf");
}

static void write_script(const plot_map *map, bool pdf, FILE *script)
{
    char text[512];
    double x0, x1, y0, y1, x, y;

    edges(&map->x, &x0, &x1);
    edges(&map->y, &y0, &y1);
    if (pdf) { /* 17 cm: a page's width */
        fputs("set terminal pdfcairo noenhanced size 17cm,12.75cm font 'Sans,7.5' fontscale 1 linewidth 1 pointscale "
              "0.6\n"
              "set cblabel offset 1.2\n",
              script);
    } else {
        fprintf(script,
                "if (strstrt(GPVAL_TERMINALS, 'pngcairo')) {\n"
                "  set terminal pngcairo noenhanced size %d,%d font 'Sans,24' linewidth 2\n"
                "} else {\n"
                "  set terminal png noenhanced size %d,%d large\n"
                "}\n",
                PICTURE_WIDTH, PICTURE_HEIGHT, PICTURE_WIDTH, PICTURE_HEIGHT);
    }
    fputs("set encoding utf8\n", script);
    fputs("set title ", script);
    title(map, text, sizeof text);
    shoal_plot_quote(script, text);
    fputc('\n', script);
    script_axis(script, 'x', &map->x, x0, x1);
    script_axis(script, 'y', &map->y, y0, y1);
    fputs("set cblabel ", script);
    shoal_plot_quantity(text, sizeof text, map->name, map->unit, map->logarithm);
    shoal_plot_quote(script, text);
    fprintf(script, "\nset cbrange [%.17g:%.17g]\nset palette defined (", map->low, map->high);
    for (int i = 0; i < SHOAL_COUNT(viridis); ++i) {
        fprintf(script, "%s%d '#%02x%02x%02x'", i ? ", " : "", i, viridis[i].r, viridis[i].g, viridis[i].b);
    }
    fputs(")\nset tics out nomirror\nset border back\n"
          "set key outside below center horizontal reverse Left samplen 1 width 2\n"
          "set bmargin 5.8\nset rmargin 6.5\n"
          "set style textbox opaque fillcolor rgb '#ffffff' noborder margins 0.4,0.4\n",
          script);
    if (real_place(map, &x, &y)) {
        const char *column = map->x.axis->column;
        snprintf(text, sizeof text, "%.*s", (int)(strrchr(column, '.') - column), column);
        fprintf(script, "set label 1 '' at %.17g,%.17g front point pt 7 ps 3.2 lc rgb '#000000'\n", x, y);
        fprintf(script, "set label 2 '' at %.17g,%.17g front point pt 7 ps 2.2 lc rgb '#ffffff'\n", x, y);
        fputs("set label 3 ", script);
        shoal_plot_quote(script, text);
        const bool left = x < x0 + 0.75 * (x1 - x0);
        fprintf(script, " at %.17g,%.17g front %s boxed offset character %g,0\n", x, y, left ? "left" : "right",
                left ? 1.2 : -1.2);
    }
    /* The image carries its own colours; a point that is not drawn brings the colour box. */
    fprintf(script,
            "plot '-' binary array=(%ld,%ld) format='%%uchar' origin=(%.17g,%.17g) dx=%.17g dy=%.17g "
            "with rgbimage notitle, \\\n"
            "  '-' using 1:2:3 with points palette pt 0 notitle",
            map->width, map->height, x0 + 0.5 * (x1 - x0) / (double)map->width,
            y0 + 0.5 * (y1 - y0) / (double)map->height, (x1 - x0) / (double)map->width,
            (y1 - y0) / (double)map->height);
    for (int i = 0; i < SHOAL_COUNT(styles); ++i) {
        if (has_kind(map, styles[i].outcome)) {
            fprintf(script, ", \\\n  NaN with points pt 5 ps 3 lc rgb '#%02x%02x%02x' title ", styles[i].colour.r,
                    styles[i].colour.g, styles[i].colour.b);
            shoal_plot_quote(script, shoal_outcome_name(styles[i].outcome));
        }
    }
    if (has_kind(map, VALUE)) {
        fprintf(script, ", \\\n  NaN with points pt 5 ps 3 lc rgb '#%02x%02x%02x' title 'no value'", no_value.r,
                no_value.g, no_value.b);
    }
    fputc('\n', script);
    for (long cell = 0; cell < map->width * map->height; ++cell) {
        const colour c = cell_colour(map, cell);
        const unsigned char rgb[3] = {c.r, c.g, c.b};
        fwrite(rgb, 1, sizeof rgb, script);
    }
    fprintf(script, "%.17g %.17g %.17g\ne\n", x0, y0, map->low);
}

/* Run gnuplot on a script with its picture going to a file. *exit_code: -1 if it could not be started. */
static void run_gnuplot(FILE *script, int picture, FILE *errors, int *exit_code)
{
    posix_spawn_file_actions_t actions;
    char *const argv[] = {(char *)"gnuplot", NULL};
    pid_t child;
    int status;

    *exit_code = -1;
    rewind(script);
    if (posix_spawn_file_actions_init(&actions) != 0) {
        return;
    }
    if (posix_spawn_file_actions_adddup2(&actions, fileno(script), 0) == 0 &&
        posix_spawn_file_actions_adddup2(&actions, picture, 1) == 0 &&
        posix_spawn_file_actions_adddup2(&actions, fileno(errors), 2) == 0 &&
        posix_spawnp(&child, argv[0], &actions, NULL, argv, environ) == 0) {
        pid_t ended;
        do {
            ended = waitpid(child, &status, 0);
        } while (ended < 0 && errno == EINTR);
        *exit_code = ended == child && WIFEXITED(status) ? WEXITSTATUS(status) : 256;
    }
    posix_spawn_file_actions_destroy(&actions);
}

/* The lines that gnuplot wrote to its stderr, in one. */
static void complaint(FILE *errors, char *text, size_t size)
{
    size_t used = 0;
    int c;

    rewind(errors);
    while (used + 1 < size && (c = getc(errors)) != EOF) {
        c = isspace(c) || c == '^' ? ' ' : c;
        if (!(c == ' ' && (used == 0 || text[used - 1] == ' '))) {
            text[used++] = (char)c;
        }
    }
    text[used] = '\0';
}

/* How a PNG ends, and one of ours: with a text chunk "Software", "shoal" before its end; each chunk has its length, its
 * type, what is in it, its CRC. */
#define PNG_END "\0\0\0\0IEND\xae\x42\x60\x82"
static const char png_end[] = PNG_END, our_end[] = "\0\0\0\x0etEXtSoftware\0shoal"
                                                   "\x93\xdb\xa4\xf9" PNG_END;

/* Whether an open file ends so. */
static bool file_ends_in(int file, const char *end, size_t n)
{
    char tail[sizeof our_end];
    const off_t size = lseek(file, 0, SEEK_END);

    return size >= (off_t)n && pread(file, tail, n, size - (off_t)n) == (ssize_t)n && memcmp(tail, end, n) == 0;
}

/* Say in a PNG that it is ours. */
static bool sign_png(int file)
{
    const off_t end = lseek(file, 0, SEEK_END) - (off_t)(sizeof png_end - 1);

    return pwrite(file, our_end, sizeof our_end - 1, end) == (ssize_t)sizeof our_end - 1;
}

/* Whether the name is free, or that of an empty file or of a picture of ours. */
static bool is_spare(const char *path)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const bool spare = file < 0 ? errno == ENOENT
                                : lseek(file, 0, SEEK_END) == 0 || file_ends_in(file, our_end, sizeof our_end - 1);

    if (file >= 0) {
        close(file);
    }
    return spare;
}

/* The picture goes to a temporary name beside its own and is renamed when it is complete. spares: only in the place of
 * a picture of ours */
static shoal_status draw_picture(shoal_context *context, FILE *script, const char *path, bool spares)
{
    const bool pdf = shoal_plot_is_pdf(path);
    const char *const signature = pdf ? "%PDF-" : "\x89PNG\r\n\x1a\n";
    shoal_status status = SHOAL_OK;
    FILE *errors = tmpfile();
    char *temporary = NULL;
    int picture = -1, exit_code;

    if (shoal_not_a_file(path)) {
        status = shoal_fail(context, SHOAL_E_FILE, "%s: is there and not a file", path);
        goto done;
    }
    if (spares && !is_spare(path)) {
        status = shoal_fail(context, SHOAL_E_INPUT,
                            "%s: is there and no picture of this version of shoal: it is not replaced", path);
        goto done;
    }
    if (!errors) {
        status = shoal_fail(context, SHOAL_E_FILE, "no temporary file for the picture: %s", strerror(errno));
        goto done;
    }
    picture = shoal_file_begin(path, &temporary);
    if (picture < 0) {
        status = shoal_fail(context, SHOAL_E_FILE, "%s: cannot be written: %s", path, strerror(errno));
        goto done;
    }
    run_gnuplot(script, picture, errors, &exit_code);
    char head[8];
    if (exit_code != 0 || pread(picture, head, sizeof head, 0) != (ssize_t)sizeof head ||
        memcmp(head, signature, strlen(signature)) != 0) {
        char why[512];
        complaint(errors, why, sizeof why);
        status = shoal_fail(context, SHOAL_E_UNSUPPORTED, "gnuplot %s: %s",
                            exit_code < 0 ? "could not be started" : "failed", why[0] ? why : "no picture");
        goto done;
    }
    if (!(pdf ? file_ends_in(picture, "%%EOF\n", 6)
              : file_ends_in(picture, png_end, sizeof png_end - 1) && sign_png(picture))) {
        status = shoal_fail(context, SHOAL_E_FILE,
                            "%s: only a part of the picture (%ld bytes) could be written: is the disk full?", path,
                            (long)lseek(picture, 0, SEEK_END));
        goto done;
    }
done:
    if (picture >= 0 && !shoal_file_end(picture, temporary, path, status == SHOAL_OK) && status == SHOAL_OK) {
        status = shoal_fail(context, SHOAL_E_FILE, "%s: cannot be written: %s", path, strerror(errno));
    }
    if (errors) {
        fclose(errors);
    }
    return status;
}

shoal_status shoal_plot_draw(shoal_context *context, FILE *script, const shoal_plot_options *options, FILE *out)
{
    shoal_status status = SHOAL_OK;

    errno = 0;
    if (fflush(script) != 0 || ferror(script)) {
        status = shoal_fail(context, SHOAL_E_FILE, "the script of the picture cannot be written: %s", shoal_why());
    } else if (options->script) {
        char block[4096];
        rewind(script);
        for (size_t n; (n = fread(block, 1, sizeof block, script)) > 0;) {
            fwrite(block, 1, n, out);
        }
    } else {
        status = draw_picture(context, script, options->picture, options->spares);
    }
    fclose(script);
    return status;
}

/* ---- the preview ------------------------------------------------------------------------------------------------- */

/* How colours are written: of the 16 million that a terminal says it has, or of the usual 256. */
static void ansi(FILE *out, bool all_colours, bool background, colour c)
{
    if (all_colours) {
        fprintf(out, "\033[%d;2;%d;%d;%dm", background ? 48 : 38, c.r, c.g, c.b);
    } else { /* the 6 x 6 x 6 cube, or the greys where they are meant */
        int index = 16 + 36 * ((c.r * 5 + 127) / 255) + 6 * ((c.g * 5 + 127) / 255) + (c.b * 5 + 127) / 255;
        if (c.r == c.g && c.g == c.b && c.r >= 8 && c.r < 247) {
            index = 232 + (c.r - 8) * 24 / 240;
        }
        fprintf(out, "\033[%d;5;%dm", background ? 48 : 38, index);
    }
}

static void swatch(FILE *out, const shoal_plot_options *options, bool all_colours, colour c, char letter)
{
    if (options->colour) {
        ansi(out, all_colours, true, c);
        fputs("  \033[0m", out);
    } else {
        fputc(letter, out);
    }
}

static char cell_letter(const plot_map *map, long cell)
{
    if (map->kind[cell] != VALUE) {
        return style_of(map->kind[cell])->letter;
    }
    if (isnan(map->value[cell])) {
        return ' ';
    }
    const int n = (int)sizeof ramp - 1;
    const int i = (int)(position(map, map->value[cell]) * n);
    return ramp[i < n ? i : n - 1];
}

static double axis_value(const map_axis *axis, double t)
{
    const double value = axis->low + t * (axis->high - axis->low);

    return axis->listed ? axis->listed[lround(value) * axis->stride] : axis->logarithmic ? pow(10, value) : value;
}

static void draw_preview(plot_map *map, const shoal_plot_options *options, FILE *out)
{
    const char *depth = getenv("COLORTERM");
    const bool all_colours = depth && (strstr(depth, "truecolor") || strstr(depth, "24bit"));
    const int full = options->width > 0 ? options->width : 80;
    const int width = full - PREVIEW_MARGIN > 10 ? full - PREVIEW_MARGIN : 10;
    const int per_line = options->colour ? 2 : 1;
    char text[512], number[32];

    fill_cells(map, width, (long)PREVIEW_LINES * per_line);
    title(map, text, sizeof text);
    fprintf(out, "%.*s\n", full, text);
    shoal_plot_quantity(text, sizeof text, map->y.axis->column, map->y.unit, false);
    fprintf(out, "%.*s\n", full, text);
    for (int line = 0; line < PREVIEW_LINES; ++line) {
        const long row = map->height - 1 - (long)line * per_line; /* the upper one of the two in this line */
        number[0] = '\0';
        if (line == 0 || line == PREVIEW_LINES / 2 || line == PREVIEW_LINES - 1) {
            const double t = line == 0 ? 1 : line == PREVIEW_LINES - 1 ? 0 : 0.5;
            for (int digits = 4; digits == 4 || (digits > 1 && strlen(number) > PREVIEW_MARGIN - 2); digits--)
                snprintf(number, sizeof number, "%.*g", digits, axis_value(&map->y, t));
        }
        fprintf(out, "%*.*s |", PREVIEW_MARGIN - 2, PREVIEW_MARGIN - 2, number);
        for (int column = 0; column < width; ++column) {
            if (options->colour) {
                ansi(out, all_colours, false, cell_colour(map, row * width + column));
                ansi(out, all_colours, true, cell_colour(map, (row - 1) * width + column));
                fputs("\u2580", out); /* the upper half */
            } else {
                fputc(cell_letter(map, row * width + column), out);
            }
        }
        fputs(options->colour ? "\033[0m\n" : "\n", out);
    }
    /* the horizontal axis: its ends, its middle, its name */
    char left[32], middle[32], right[32];
    snprintf(left, sizeof left, "%.4g", axis_value(&map->x, 0));
    snprintf(middle, sizeof middle, "%.4g", axis_value(&map->x, 0.5));
    snprintf(right, sizeof right, "%.4g", axis_value(&map->x, 1));
    shoal_plot_quantity(text, sizeof text, map->x.axis->column, map->x.unit, false);
    const int half = width / 2, m = (int)strlen(middle);
    fprintf(out, "%*s%-*s%s%*s\n", PREVIEW_MARGIN, "", half - m / 2, left, middle, width - (half - m / 2) - m, right);
    fprintf(out, "%*s%*.*s\n", PREVIEW_MARGIN, "", width / 2 + (int)strlen(text) / 2, width, text);

    /* the legend, broken between its items */
    shoal_plot_quantity(text, sizeof text, map->name, map->unit, map->logarithm);
    fprintf(out, "%.*s: %.3g ", full / 2, text, map->low);
    if (options->colour) {
        for (int i = 0; i < 16; ++i) {
            ansi(out, all_colours, true, palette(i / 15.0));
            fputc(' ', out);
        }
        fputs("\033[0m", out);
    } else {
        fputs(ramp, out);
    }
    fprintf(out, " %.3g\n", map->high);
    int used = 0;
    for (int i = 0; i <= SHOAL_COUNT(styles); ++i) {
        const bool last = i == SHOAL_COUNT(styles);
        if (!has_kind(map, last ? VALUE : styles[i].outcome) || (last && !options->colour)) {
            continue;
        }
        const char *name = last ? "no value" : shoal_outcome_name(styles[i].outcome);
        const int length = (int)strlen(name) + 5;
        if (used > 0 && used + length > full) {
            fputc('\n', out);
            used = 0;
        }
        swatch(out, options, all_colours, last ? no_value : styles[i].colour, last ? ' ' : styles[i].letter);
        fprintf(out, " %s  ", name);
        used += length;
    }
    if (used > 0) {
        fputc('\n', out);
    }
}

/* ---- the two entries --------------------------------------------------------------------------------------------- */

shoal_status shoal_plot_map(shoal_context *context, const shoal_result *result, const shoal_plot_options *options,
                            FILE *out)
{
    plot_map map = {.result = result};

    shoal_status status = choose_axes(context, &map);
    if (status == SHOAL_OK) {
        status = choose_column(context, &map, options->column);
    }
    if (status != SHOAL_OK) {
        return status;
    }
    /* A swept column and a count are what they are; everything else spans decades. */
    map.logarithm = options->logarithmic ||
                    (!options->linear && strncmp(map.name, "log", 3) != 0 && strcmp(map.name, "steps") != 0 &&
                     !(map.all_values && shoal_result_column(result, map.name) >= 0));

    const long picture_width = map.x.axis->count < PICTURE_CELLS ? map.x.axis->count : PICTURE_CELLS;
    const long picture_height = map.y.axis->count < PICTURE_CELLS ? map.y.axis->count : PICTURE_CELLS;
    const long preview = (long)(options->width > 80 ? options->width : 80) * PREVIEW_LINES * 2;
    const long picture_cells = picture_width * picture_height;
    const size_t n_cells = (size_t)(picture_cells > preview ? picture_cells : preview);
    map.kind = malloc(n_cells * sizeof *map.kind);
    map.value = malloc(n_cells * sizeof *map.value);
    map.scratch = malloc((size_t)result->n_systems * sizeof *map.scratch);
    if (!map.kind || !map.value || !map.scratch) {
        status = shoal_fail(context, SHOAL_E_MEMORY, "out of memory for a map of %ld systems", result->n_systems);
    } else {
        set_range(&map);
        if (options->terminal) {
            draw_preview(&map, options, out);
            if (ferror(out)) {
                status = shoal_fail(context, SHOAL_E_FILE, "the preview could not be written");
            }
        }
        FILE *script = NULL;
        if (status == SHOAL_OK && options->picture && !(script = tmpfile())) {
            status = shoal_fail(context, SHOAL_E_FILE, "no temporary file for the picture: %s", strerror(errno));
        }
        if (script) {
            fill_cells(&map, picture_width, picture_height);
            write_script(&map, shoal_plot_is_pdf(options->picture), script);
            status = shoal_plot_draw(context, script, options, out);
        }
    }
    free(map.kind);
    free(map.value);
    free(map.scratch);
    return status;
}

const char *shoal_plot_missing(void)
{
    const char *path = getenv("PATH");

    while (path && *path) {
        const size_t n = strcspn(path, ":");
        char program[4096];
        if (n > 0 && n + sizeof "/gnuplot" <= sizeof program) {
            snprintf(program, sizeof program, "%.*s/gnuplot", (int)n, path);
            if (access(program, X_OK) == 0) {
                return NULL;
            }
        }
        path += n + (path[n] == ':');
    }
    return "gnuplot is not installed (package gnuplot-nox)";
}
