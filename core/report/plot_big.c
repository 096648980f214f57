/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * plot_big.c: pictures of one big system: the projected density with a logarithmic stretch, the density against radius,
 * and, of a result file, the error of the energy and the Lagrange radii against time.
 *
 * The projected density is the mass in square cells over their area, smoothed by a Gaussian whose width is that of a
 * cell; its colours span four decades below the densest cell.
 */
#define _GNU_SOURCE 1
#include "core/report/plot_big.h"

#include <errno.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_CELLS = 64, MOST_CELLS = 512, DECADES = 4, FEWEST_IN_SHELL = 10 };

/* ---- what there is to draw --------------------------------------------------------------------------------------- */

static const shoal_format *snapshot_format(const char *path)
{
    const shoal_format *format = NULL;
    if (shoal_format_of(NULL, path, &format) != SHOAL_OK)
        return NULL;
    return format->natural || format == &shoal_format_gadget ? format : NULL;
}

bool shoal_big_view_is(const char *path)
{
    return shoal_big_record_is(path) || snapshot_format(path);
}

static void name_units(shoal_big_view *view, const shoal_units *units)
{
    memcpy(view->length, units->length_name, sizeof view->length);
    memcpy(view->mass, units->mass_name, sizeof view->mass);
    memcpy(view->time, units->time_name, sizeof view->time);
}

static shoal_status open_snapshot(shoal_big_view *view)
{
    char *notes = NULL;
    size_t size;
    const shoal_convert_options options = {.central_mass = NAN, .epoch = NAN, .notes = open_memstream(&notes, &size)};
    shoal_table table = {.context = view->context};
    shoal_units units = {.length = 1, .mass = 1, .time = 1};
    if (!options.notes)
        return shoal_fail(view->context, SHOAL_E_MEMORY, "out of memory");
    const shoal_format *format = NULL;
    shoal_status status = shoal_format_of(view->context, view->path, &format);
    if (!status)
        status = format->read(&table, 1, &(char *){(char *)view->path}, &options);
    fclose(options.notes);
    free(notes);
    const bool has_units = table.units.length != 0 && strcmp(table.units.time_name, "yr/2pi") != 0;
    if (has_units)
        name_units(view, &table.units);
    table.units = units; /* as they stand in the file */
    if (!status)
        status = shoal_big_from_table(view->context, &table, &units, &view->bodies);
    shoal_table_release(&table);
    return status;
}

shoal_status shoal_big_view_open(shoal_context *context, const char *path, shoal_big_view *view)
{
    *view = (shoal_big_view){.context = context, .path = path};
    if (!shoal_big_record_is(path))
        return open_snapshot(view);
    shoal_status status = shoal_big_record_read(context, path, &view->record);
    if (status)
        return status;
    const shoal_units *units = &view->record.units;
    name_units(view, units);
    view->bodies = view->record.bodies;
    view->record.bodies = (shoal_big_bodies){0};
    view->bodies.time /= units->time;
    for (long i = 0; i < view->bodies.n; i++)
        view->bodies.m[i] /= units->mass;
    for (long i = 0; i < 3 * view->bodies.n; i++) {
        view->bodies.x[i] /= units->length;
        view->bodies.v[i] /= shoal_units_factor(units, "velocity");
    }
    return SHOAL_OK;
}

void shoal_big_view_close(shoal_big_view *view)
{
    shoal_big_record_release(&view->record);
    shoal_big_bodies_release(&view->bodies);
}

static shoal_status no_memory(const shoal_big_view *view)
{
    return shoal_fail(view->context, SHOAL_E_MEMORY, "%s: out of memory", view->path);
}

/* ---- density ----------------------------------------------------------------------------------------------------- */

/* The middle of the picture, and if it is not given half its width: 1.2 times the radius that holds 90 % of the
 * mass, rounded up. */
static shoal_status choose_place(const shoal_big_view *view, shoal_big_frame *frame)
{
    const shoal_big_bodies *b = &view->bodies;
    double centre[3], v[3], within = 0;
    shoal_big_distance *sorted = malloc(2 * (size_t)b->n * sizeof *sorted);
    if (!sorted)
        return no_memory(view);
    const double total = shoal_big_barycentre(b, centre, v);
    shoal_big_sort(b, centre, sorted);
    double width = 0;
    for (long i = 0; i < b->n && within < 0.9 * total; i++) {
        within += b->m[sorted[i].body];
        width = 1.2 * sorted[i].r;
    }
    if (!(frame->half_width > 0))
        frame->half_width = shoal_plot_step(width);
    for (int c = 0; c < 3; c++) /* the origin, where it is near */
        frame->centre[c] = fabs(centre[c]) < 0.1 * frame->half_width ? 0 : centre[c];
    frame->chosen = true;
    free(sorted);
    return SHOAL_OK;
}

/* The mass of each cell over its area, smoothed along one axis: stride 1 or n. */
static void smooth(const double *from, double *to, int n, int along, int across)
{
    static const double weight[] = {0.3991, 0.2419, 0.0540, 0.0046}; /* exp(-k^2/2), normalised */
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            double sum = 0;
            for (int k = -3; k <= 3; k++)
                if (i + k >= 0 && i + k < n)
                    sum += weight[abs(k)] * from[(i + k) * along + j * across];
            to[i * along + j * across] = sum;
        }
}

/* The coordinates of each plane. */
static const int axes[][2] = {{0, 1}, {0, 2}, {1, 2}};

static void project(const shoal_big_bodies *b, const shoal_big_frame *frame, int n, double *cells, double *scratch)
{
    const double *x = b->x + axes[frame->plane][0] * b->n, *y = b->x + axes[frame->plane][1] * b->n;
    const double scale = n / (2 * frame->half_width), w = frame->half_width;
    const double left = frame->centre[axes[frame->plane][0]] - w, low = frame->centre[axes[frame->plane][1]] - w;
    memset(cells, 0, (size_t)n * (size_t)n * sizeof *cells);
    for (long i = 0; i < b->n; i++)
        if (x[i] > left && x[i] < left + 2 * w && y[i] > low && y[i] < low + 2 * w) {
            const int column = (int)((x[i] - left) * scale), row = (int)((y[i] - low) * scale);
            cells[(row < n ? row : n - 1) * n + (column < n ? column : n - 1)] += b->m[i] * scale * scale;
        }
    smooth(cells, scratch, n, 1, n);
    smooth(scratch, cells, n, n, 1);
}

static shoal_status write_density(const shoal_big_view *view, const shoal_plot_options *options, shoal_big_frame *frame,
                                  FILE *script)
{
    static const char *const planes[] = {"xy", "xz", "yz"};
    const int n = (int)fmin(MOST_CELLS, fmax(LEAST_CELLS, sqrt((double)view->bodies.n) * 1.5));
    double *cells = malloc(2 * (size_t)n * (size_t)n * sizeof *cells), most = 0;
    shoal_status status = cells ? SHOAL_OK : no_memory(view);
    char unit[64] = "";
    if (!status && !frame->chosen)
        status = choose_place(view, frame);
    if (status) {
        free(cells);
        return status;
    }
    project(&view->bodies, frame, n, cells, cells + (size_t)n * (size_t)n);
    for (long i = 0; i < (long)n * n; i++)
        most = fmax(most, cells[i]);
    if (isnan(frame->high)) {
        frame->high = most > 0 ? log10(most) : 0;
        frame->low = frame->high - DECADES;
    }
    shoal_plot_begin(script, options, SHOAL_COLUMN_MM, 72);
    fputs("$cells << EOD\n", script);
    for (int row = 0; row < n; row++)
        for (int column = 0; column < n; column++)
            fprintf(script, "%.4g%c", log10(fmax(cells[row * n + column], DBL_MIN)), column + 1 < n ? ' ' : '\n');
    fputs("EOD\nset palette defined (0 '#000004', 0.2 '#2c115f', 0.4 '#721f81', 0.6 '#b63679', 0.75 '#f1605d', "
          "0.9 '#feaf77', 1 '#fcfdbf')\nunset key\nset size ratio -1\n",
          script);
    shoal_plot_label(script, 'x', (char[]){planes[frame->plane][0], 0}, view->length);
    shoal_plot_label(script, 'y', (char[]){planes[frame->plane][1], 0}, view->length);
    if (*view->mass)
        snprintf(unit, sizeof unit, " [%s/%s^2]", view->mass, view->length);
    char label[128];
    const double left = frame->centre[axes[frame->plane][0]] - frame->half_width,
                 low = frame->centre[axes[frame->plane][1]] - frame->half_width;
    snprintf(label, sizeof label, "log10 surface density%s", unit);
    fputs("set cblabel ", script);
    shoal_plot_quote(script, label);
    fprintf(script, " noenhanced\nset cbrange [%.6g:%.6g]\nset xrange [%.6g:%.6g]\nset yrange [%.6g:%.6g]\n",
            frame->low, frame->high, left, left + 2 * frame->half_width, low, low + 2 * frame->half_width);
    char title[96];
    snprintf(title, sizeof title, "t = %.6g%s%s", view->bodies.time, *view->time ? " " : "", view->time);
    fputs("set title ", script);
    shoal_plot_quote(script, title);
    const double cell = 2 * frame->half_width / n;
    fprintf(script, " noenhanced\nplot $cells matrix using (($1+0.5)*%.9g-%.9g):(($2+0.5)*%.9g-%.9g):3 with image\n",
            cell, -left, cell, -low);
    free(cells);
    return SHOAL_OK;
}

/* Shells about the densest part, each with as many bodies, but for those of the last one: each has half of what is
 * left, and the farthest few, whose shell would end at any distance, none. */
static shoal_status write_profile(const shoal_big_view *view, const shoal_plot_options *options, shoal_big_frame *frame,
                                  FILE *script)
{
    const shoal_big_bodies *b = &view->bodies;
    const long shell = b->n / 40 > FEWEST_IN_SHELL ? b->n / 40 : FEWEST_IN_SHELL;
    double centre[3];
    shoal_big_distance *sorted = malloc(2 * (size_t)b->n * sizeof *sorted);
    char unit[64] = "";
    (void)frame;
    if (!sorted)
        return no_memory(view);
    shoal_big_find_centre(b, centre, sorted);
    shoal_plot_begin(script, options, SHOAL_COLUMN_MM, 64);
    fputs("$shells << EOD\n", script);
    double inner = 0;
    int n_shells = 0;
    for (long i = 0, end; i == 0 || i + 2 * FEWEST_IN_SHELL <= b->n; i = end) {
        end = i + (b->n - i > shell ? shell : (b->n - i + 1) / 2);
        const double outer = sorted[end - 1].r;
        double mass = 0;
        for (long k = i; k < end; k++)
            mass += b->m[sorted[k].body];
        n_shells += outer > inner;
        if (outer > inner)
            fprintf(script, "%.9g %.9g\n", sorted[(i + end) / 2].r,
                    mass / (4 * M_PI / 3 * (pow(outer, 3) - pow(inner, 3))));
        inner = outer;
    }
    free(sorted);
    if (n_shells == 0)
        return shoal_fail(view->context, SHOAL_E_USAGE, "profile: %ld bodies: expected more, at different places",
                          b->n);
    fputs("EOD\n", script);
    if (*view->mass)
        snprintf(unit, sizeof unit, "%s/%s^3", view->mass, view->length);
    shoal_plot_label(script, 'x', "r", view->length);
    shoal_plot_label(script, 'y', "density", unit);
    shoal_plot_logarithmic(script, 'x');
    shoal_plot_logarithmic(script, 'y');
    fprintf(script, "unset key\nplot $shells using 1:2 with linespoints pt 7 ps 0.5 lc rgb '#%06x'\n",
            shoal_plot_colour(0));
    return SHOAL_OK;
}

/* ---- against time ------------------------------------------------------------------------------------------------ */

static void write_rows(const shoal_big_view *view, const shoal_plot_options *options, FILE *script)
{
    const shoal_big_record *r = &view->record;
    shoal_plot_begin(script, options, SHOAL_COLUMN_MM, 64);
    fputs("$rows << EOD\n", script);
    for (long i = 0; i < r->n_rows; i++)
        for (int c = 0; c < SHOAL_BIG_COLUMNS; c++)
            fprintf(script, "%.9g%c", r->rows[i][c], c + 1 < SHOAL_BIG_COLUMNS ? ' ' : '\n');
    fputs("EOD\n", script);
    shoal_plot_label(script, 'x', "time", view->time);
}

/* An error that rounds to zero is drawn at 2^-53. */
static shoal_status write_energy(const shoal_big_view *view, const shoal_plot_options *options, shoal_big_frame *frame,
                                 FILE *script)
{
    (void)frame;
    write_rows(view, options, script);
    shoal_plot_label(script, 'y', "|dE / E|", "");
    shoal_plot_logarithmic(script, 'y');
    fprintf(script,
            "least = %.9g\nunset key\n"
            "plot $rows every ::1 using %d:(abs($%d) > least ? abs($%d) : least) with lines lc rgb '#%06x'\n",
            DBL_EPSILON / 2, SHOAL_BIG_COLUMN_time + 1, SHOAL_BIG_COLUMN_dE + 1, SHOAL_BIG_COLUMN_dE + 1,
            shoal_plot_colour(0));
    return SHOAL_OK;
}

static shoal_status write_radii(const shoal_big_view *view, const shoal_plot_options *options, shoal_big_frame *frame,
                                FILE *script)
{
    static const char *const percent[] = {"1 %", "5 %", "10 %", "25 %", "50 %", "75 %", "90 %"};
    (void)frame;
    write_rows(view, options, script);
    shoal_plot_label(script, 'y', "radius", view->length);
    fputs("set logscale y\nset rmargin 12\nset key outside right\nplot ", script);
    for (int k = SHOAL_COUNT(percent) - 1; k >= 0; k--)
        fprintf(script, "$rows using %d:%d with lines lc rgb '#%06x' title '%s'%s", SHOAL_BIG_COLUMN_time + 1,
                SHOAL_BIG_COLUMN_r01 + k + 1, shoal_plot_colour(k), percent[k], k ? ", \\\n  " : "\n");
    return SHOAL_OK;
}

const shoal_big_kind shoal_big_kinds[] = {
    {"density", "projected density, log stretch", false, SHOAL_PLOT_FRAME, write_density},
    {"profile", "density against the distance from the densest part", false, 0, write_profile},
    {"radii", "Lagrange radii against time", true, 0, write_radii},
    {"energy", "error of the energy against time", true, 0, write_energy},
    {0}};

shoal_status shoal_big_kind_find(const shoal_big_view *view, const char *name, const shoal_big_kind **kind)
{
    const char *names[SHOAL_COUNT(shoal_big_kinds)];
    int n = 0;
    if (!name)
        name = view->record.n_rows > 0 ? "radii" : "density";
    for (*kind = shoal_big_kinds; (*kind)->name; ++*kind) {
        if (strcmp((*kind)->name, name) == 0) {
            return !(*kind)->of_rows || view->record.n_rows > 0
                       ? SHOAL_OK
                       : shoal_fail(view->context, SHOAL_E_USAGE,
                                    "%s: expected the result file of a run, not a snapshot", name);
        }
        names[n++] = (*kind)->name;
    }
    const char *nearest = shoal_nearest(name, names, n);
    return shoal_fail(view->context, SHOAL_E_USAGE, "no kind of picture '%s' of one big system; %s %s", name,
                      nearest ? "did you mean" : "there are density, profile, radii,", nearest ? nearest : "energy");
}

shoal_status shoal_big_plot(const shoal_big_view *view, const shoal_big_kind *kind, const shoal_plot_options *options,
                            shoal_big_frame *frame, FILE *out)
{
    shoal_status status = shoal_plot_check(view->context, kind->name, kind->uses, options);
    if (status)
        return status;
    FILE *script = tmpfile();
    if (!script)
        return shoal_fail(view->context, SHOAL_E_FILE, "no temporary file for the picture: %s", strerror(errno));
    status = kind->write(view, options, frame, script);
    if (status) {
        fclose(script);
        return status;
    }
    return shoal_plot_draw(view->context, script, options, out);
}
