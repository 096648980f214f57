/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * plot_kinds.c: the kinds of pictures that there are, and what they share.
 *
 * All but the map are line drawings at the width of a journal's column (85 mm; the PNG at 300 to the inch), with text
 * of 7 points and colours of M. Okabe and K. Ito's set.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/report/plot.h"

const shoal_plot_kind shoal_plot_kinds[] = {
    {"map", "a column over the first two axes of a grid sweep", NULL, SHOAL_PLOT_COLUMN | SHOAL_PLOT_SCALE},
    {"survival", "fraction of systems still running, and ended how, against time", shoal_plot_survival, 0},
    {"bodies", "fraction of bodies still there, and gone how, against time", shoal_plot_bodies, 0},
    {"ends", "histogram of the times at which systems ended, by outcome", shoal_plot_ends, 0},
    {"pairs", "swept or sampled columns against each other, outcomes in colour", shoal_plot_pairs, SHOAL_PLOT_COLUMN},
    {"energy", "error of the Newtonian energy against time, from snapshots", shoal_plot_energy, SHOAL_PLOT_SYSTEM},
    {"elements", "a, e and inc of one system against time, from its snapshots", shoal_plot_elements, SHOAL_PLOT_SYSTEM},
    {"orbits", "osculating orbits of one system from above, at start and end", shoal_plot_orbits, SHOAL_PLOT_SYSTEM},
    {"transits", "transit timing variations (O - C) of one system's bodies", shoal_plot_transits, SHOAL_PLOT_SYSTEM},
    {"certify", "whether chaos, the step or the propagator decides (run.certify)", shoal_plot_certify, 0},
    {0}};

shoal_status shoal_plot_check(shoal_context *context, const char *kind, unsigned uses,
                              const shoal_plot_options *options)
{
    const struct {
        unsigned use;
        bool given;
        const char *name;
    } rows[] = {
        {SHOAL_PLOT_SYSTEM, options->system >= 0, "--system"},
        {SHOAL_PLOT_COLUMN, options->column != NULL, "--column"},
        {SHOAL_PLOT_SCALE, options->linear || options->logarithmic, "--linear, --log"},
        {SHOAL_PLOT_FRAME, options->framed, "--width, --plane"},
    };
    for (int i = 0; i < SHOAL_COUNT(rows); ++i) {
        if (rows[i].given && !(uses & rows[i].use)) {
            return shoal_fail(context, SHOAL_E_USAGE, "%s: expected no such option: the picture '%s' does not use it",
                              rows[i].name, kind);
        }
    }
    return options->linear && options->logarithmic
               ? shoal_fail(context, SHOAL_E_USAGE, "expected either --linear or --log")
               : SHOAL_OK;
}

/* Whether the picture `transits` of the first system can be drawn. */
static bool has_transits(const shoal_result *result)
{
    const shoal_log *log = shoal_result_log(result, "transits");
    const double *in = log ? shoal_log_values(log, "system") : NULL, *of = log ? shoal_log_values(log, "body") : NULL;
    for (int b = 0; of && b < result->n_bodies; ++b) {
        int n = 0;
        for (long i = 0; i < log->n_rows; ++i) {
            n += in[i] == 0 && (int)of[i] == b;
            if (n > 2) {
                return true;
            }
        }
    }
    return false;
}

const shoal_plot_kind *shoal_plot_find(shoal_context *context, const shoal_result *result, const char *name)
{
    const char *names[SHOAL_COUNT(shoal_plot_kinds)];
    int n = 0;

    if (!name) {
        name = result->n_axes >= 2                                 ? "map"
               : result->n_systems == 1 && result->n_snapshots > 0 ? "elements"
               : result->n_systems == 1 && has_transits(result)    ? "transits"
                                                                   : "survival";
    }
    for (const shoal_plot_kind *kind = shoal_plot_kinds; kind->name; ++kind) {
        if (strcmp(kind->name, name) == 0) {
            return kind;
        }
        names[n++] = kind->name;
    }
    const char *nearest = shoal_nearest(name, names, n);
    char list[128] = "";
    for (int i = 0; i < n && !nearest; ++i) {
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", names[i]);
    }
    shoal_fail(context, SHOAL_E_USAGE, "no kind of picture '%s'; %s: %s", name, nearest ? "did you mean" : "there are",
               nearest ? nearest : list);
    return NULL;
}

shoal_status shoal_plot(shoal_context *context, const shoal_result *result, const shoal_plot_options *options,
                        FILE *out)
{
    const shoal_plot_kind *kind = shoal_plot_find(context, result, options->kind);

    if (!kind) {
        return SHOAL_E_USAGE;
    }
    shoal_status status = shoal_plot_check(context, kind->name, kind->uses, options);
    if (status != SHOAL_OK) {
        return status;
    }
    if (!kind->write) {
        return shoal_plot_map(context, result, options, out);
    }
    FILE *script = tmpfile();
    if (!script) {
        return shoal_fail(context, SHOAL_E_FILE, "no temporary file for the picture: %s", strerror(errno));
    }
    status = kind->write(context, result, options, script);
    if (status != SHOAL_OK || (!options->picture && !options->script)) {
        fclose(script);
        return status;
    }
    return shoal_plot_draw(context, script, options, out);
}

void shoal_plot_begin(FILE *script, const shoal_plot_options *options, double width_mm, double height_mm)
{
    const double pixel = 300 / 25.4;

    if (options->picture && shoal_plot_is_pdf(options->picture)) {
        fprintf(
            script,
            "set terminal pdfcairo enhanced size %gcm,%gcm font 'Sans,6.5' fontscale 1 linewidth 0.7 pointscale 0.4\n",
            width_mm / 10, height_mm / 10);
    } else {
        fprintf(script,
                "if (strstrt(GPVAL_TERMINALS, 'pngcairo')) {\n"
                "  set terminal pngcairo enhanced size %.0f,%.0f font 'Sans,25' linewidth 2 pointscale 1.5\n"
                "} else {\n"
                "  set terminal png enhanced size %.0f,%.0f large\n"
                "}\n",
                width_mm * pixel, height_mm * pixel, width_mm * pixel, height_mm * pixel);
    }
    fputs("set encoding utf8\nset tics out nomirror\nset border 31 back\nset rmargin 3\n"
          "set key noenhanced reverse Left samplen 1\n",
          script);
}

void shoal_plot_label(FILE *script, char axis, const char *name, const char *unit)
{
    char text[160];

    shoal_plot_quantity(text, sizeof text, name, unit, false);
    fprintf(script, "set %clabel ", axis);
    shoal_plot_quote(script, text);
    fputs(" noenhanced\n", script);
}

shoal_plot_time shoal_plot_times(FILE *script, const shoal_result *result, double earliest, double latest)
{
    enum { FAR = 20 }; /* spans */
    static const char *const thousands[] = {"", "10\u00b3 ", "10\u2076 ", "10\u2079 "};
    const int most = SHOAL_COUNT(thousands) - 1;
    earliest = earliest <= latest ? earliest : 0; /* else there are none */
    latest = earliest <= latest ? latest : 0;
    const double span = latest - earliest, step = shoal_plot_step(span), end = fmax(fabs(earliest), fabs(latest));
    const bool far = span > 0 && end > FAR * span;
    const double size = far ? span : end;
    const int k = size < 1e5 ? 0 : size < pow(1000, most) ? (int)(log10(size) / 3) : most;
    shoal_plot_time axis = {far ? step * floor(earliest / step) : 0, pow(1000, k), ""};
    char unit[32], name[48] = "time";

    snprintf(axis.of, sizeof axis.of, "(($1-%.17g)/%g)", axis.from, axis.unit);
    if (far) {
        snprintf(name, sizeof name, "time %c %.15g", axis.from < 0 ? '+' : '-', fabs(axis.from));
    }
    snprintf(unit, sizeof unit, "%s%s", thousands[k], result->units.time_name);
    shoal_plot_label(script, 'x', name, unit);
    fprintf(script, "set format x '%%g'\nset xtics %.17g\n", shoal_plot_step(size / axis.unit / 5));
    return axis;
}

void shoal_plot_logarithmic(FILE *script, char axis)
{
    fprintf(script, "set logscale %c\nset format %c '10^{%%T}'\n", axis, axis);
}

void shoal_plot_few_decades(FILE *script, char axis, double least, double most)
{
    fprintf(script, "set logscale %c\nset format %c '%%g'\nset %ctics (", axis, axis, axis);
    const char *comma = "";
    for (double power = pow(10, floor(log10(least))); power <= most; power *= 10, comma = ", ")
        fprintf(script, "%s%.0e, %.0e, %.0e", comma, power, 2 * power, 5 * power);
    fputs(")\n", script);
}

double shoal_plot_step(double x)
{
    const double power = x > 0 ? pow(10, floor(log10(x))) : 1;

    return power * (x <= power ? 1 : x <= 2 * power ? 2 : x <= 5 * power ? 5 : 10);
}

unsigned shoal_plot_colour(int i)
{
    static const unsigned colours[] = {0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9, 0x000000};

    return colours[i % SHOAL_COUNT(colours)];
}

shoal_status shoal_plot_system(shoal_context *context, const shoal_result *result, const shoal_plot_options *options,
                               long *row)
{
    for (*row = 0; *row < result->n_systems; ++*row) {
        if (options->system < 0 || result->id[*row] == options->system) {
            return SHOAL_OK;
        }
    }
    return shoal_fail(context, SHOAL_E_USAGE, "--system: there is no system %lld in this result of %ld systems",
                      (long long)options->system, result->n_systems);
}
