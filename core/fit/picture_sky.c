/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * picture_sky.c: places in the sky. Relative ones: in the plane of the sky, north up and east to the left, with the
 * orbits that some draws have at the epoch, and the residuals beside. Along scans: data and model less the motion of a
 * single star (place, proper motion, parallax) that fits the model best, which leaves the orbit, and residuals.
 */
#include <gsl/gsl_multifit.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fit/fit.h"

enum { LINES = 24, ELLIPSE_POINTS = 200, SINGLE = 5 };
enum { LENGTHS, ANGLES, ORBIT, SCANS, PANELS }; /* residuals but ORBIT, which has data and model */
static const double width_mm = SHOAL_PAGE_MM, height_mm = 95, side_mm = 74, below_mm = 13, left_mm = 18;

typedef struct picture {
    shoal_drawn d;
    double most;             /* of the places in the sky, mas */
    double *orbit;           /* [n_data] of scans: the model without a single star */
    double from, to;         /* the times of the data */
    double greatest[PANELS]; /* 0: there is no such panel */
    int n_panels;
} picture;

/* The panel of a set's residuals, -1: it is no place in the sky. */
static int panel_of(const shoal_drawn *d, int set)
{
    const int kind = shoal_drawn_kind(d->study, set);
    return kind < SHOAL_DATA_SEPARATION        ? -1
           : kind == SHOAL_DATA_PROPER_MOTION  ? -1
           : kind == SHOAL_DATA_ALONG_SCAN     ? SCANS
           : kind == SHOAL_DATA_POSITION_ANGLE ? ANGLES
                                               : LENGTHS;
}

/* ---- relative places --------------------------------------------------------------------------------------------- */

/* How well set k goes with set i: of one table, of one instrument. */
static int kinship(const shoal_drawn *d, int i, int k)
{
    static const char *const keys[] = {"instrument", "file"};
    int found = 0;
    for (int q = 0; q < SHOAL_COUNT(keys); q++)
        if (strcmp(shoal_config_string(shoal_drawn_set(d->study, i), keys[q], ""),
                   shoal_config_string(shoal_drawn_set(d->study, k), keys[q], "")) == 0)
            found += 1 + q;
    return found;
}

/* The datum that makes datum j of set i a place: an angle of a separation, a north of an east; -1: there is none. Of
 * several it is that of the same table, line and instrument, or of the set that comes next. */
static long long partner_of(const shoal_drawn *d, int i, long long j)
{
    const int kind = shoal_drawn_kind(d->study, i), other = kind == SHOAL_DATA_SEPARATION ? SHOAL_DATA_POSITION_ANGLE
                                                            : kind == SHOAL_DATA_DELTA_RA ? SHOAL_DATA_DELTA_DEC
                                                                                          : -1;
    const shoal_datum *datum = &d->data.datum[j];
    long long partner = -1;
    int best = -1;
    for (int step = 1; step < d->data.n_sets && other >= 0; step++) {
        const int k = (i + step) % d->data.n_sets, kin = kinship(d, i, k);
        const shoal_walker_set *set = &d->data.set[k];
        if (d->data.body[k] != d->data.body[i] || shoal_drawn_kind(d->study, k) != other || kin <= best)
            continue;
        for (long long q = set->first; q < set->first + set->n; q++)
            if (d->data.datum[q].time == datum->time && (kin < 2 || d->data.datum[q].line == datum->line)) {
                partner = q;
                best = kin;
                break;
            }
    }
    return partner;
}

/* East and north of two numbers; errors: those of them. */
static void place(const shoal_drawn *d, int set, const double number[2], const double error[2], double at[4])
{
    const bool turned = shoal_drawn_kind(d->study, set) == SHOAL_DATA_SEPARATION;
    const double angle = number[1] * d->study->angle, sine = sin(angle), cosine = cos(angle),
                 across = number[0] * error[1] * d->study->angle;
    at[0] = turned ? number[0] * sine : number[0];
    at[1] = turned ? number[0] * cosine : number[1];
    at[2] = turned ? hypot(error[0] * sine, across * cosine) : error[0];
    at[3] = turned ? hypot(error[0] * cosine, across * sine) : error[1];
}

/* Places of set i: east, north, their errors; then the model's. */
static void write_places(picture *p, int i, FILE *script)
{
    const shoal_drawn *d = &p->d;
    const shoal_walker_set *set = &d->data.set[i];
    fprintf(script, "$places%d << EOD\n", i);
    for (long long j = set->first; j < set->first + set->n; j++) {
        const long long q = partner_of(d, i, j);
        double at[4], model[4];
        if (q < 0)
            continue;
        place(d, i, (double[]){d->data.datum[j].value, d->data.datum[q].value}, (double[]){d->error[j], d->error[q]},
              at);
        place(d, i, (double[]){d->middle[j], d->middle[q]}, (double[]){0, 0}, model);
        fprintf(script, "%.6g %.6g %.6g %.6g %.6g %.6g\n", at[0], at[1], at[2], at[3], model[0], model[1]);
        for (int c = 0; c < 2; c++)
            p->most = fmax(p->most, fabs(at[c]) + at[2 + c]);
    }
    fputs("EOD\n", script);
}

/* Set i is the first one that says how far a body is. */
static bool has_scale(const shoal_drawn *d, int i)
{
    for (int k = 0; k < i; k++)
        if (panel_of(d, k) == LENGTHS && d->data.body[k] == d->data.body[i])
            return false;
    return panel_of(d, i) == LENGTHS;
}

/* The ellipses of some draws about the first body: those of all bodies that are seen. */
static shoal_status write_orbits(picture *p, FILE *script)
{
    const shoal_drawn *d = &p->d;
    const int n = d->study->walkers.n_bodies;
    shoal_body *bodies = calloc((size_t)n, sizeof *bodies);
    shoal_orbit *orbits = calloc((size_t)n, sizeof *orbits);
    shoal_status status = bodies && orbits ? SHOAL_OK : shoal_fail(d->posterior->context, SHOAL_E_MEMORY, "no memory");
    fputs("$orbits << EOD\n", script);
    for (int i = 0; i < d->data.n_sets && !status; i++)
        for (long s = 0; s < d->n_draws && s < LINES && has_scale(d, i); s++) {
            const double scale = d->data.set[i].factor * shoal_drawn_number(d->study, i, "parallax", s);
            shoal_ensemble_get_bodies(d->study->ensemble, s, bodies);
            if (shoal_orbits_from_bodies(NULL, SHOAL_ASTROCENTRIC, n, bodies, orbits))
                continue;
            shoal_orbit at = orbits[d->data.body[i]];
            double state[6];
            for (int k = 0; k <= ELLIPSE_POINTS && at.e < 1; k++) {
                const double E = 2 * M_PI * k / ELLIPSE_POINTS;
                at.f = shoal_true_anomaly(at.e, E - at.e * sin(E));
                if (shoal_orbit_to_state(NULL, 1, &at, state) == SHOAL_OK) {
                    fprintf(script, "%.6g %.6g\n", scale * state[1], scale * state[0]);
                    p->most = fmax(p->most, scale * fmax(fabs(state[0]), fabs(state[1])));
                }
            }
            fputc('\n', script);
        }
    fputs("EOD\n", script);
    free(bodies);
    free(orbits);
    return status;
}

static shoal_status write_sky(picture *p, FILE *script)
{
    const shoal_status status = write_orbits(p, script);
    for (int i = 0; i < p->d.data.n_sets && !status; i++)
        write_places(p, i, script);
    if (status)
        return status;
    fprintf(script, "set margins at screen %g, at screen %g, at screen %g, at screen %g\n", left_mm / width_mm,
            (left_mm + side_mm) / width_mm, below_mm / height_mm, (below_mm + side_mm) / height_mm);
    fprintf(script, "set xrange [%.6g:%.6g]\nset yrange [%.6g:%.6g]\nset xtics %.6g\nset ytics %.6g\n", 1.08 * p->most,
            -1.08 * p->most, -1.08 * p->most, 1.08 * p->most, shoal_plot_step(p->most / 2.5),
            shoal_plot_step(p->most / 2.5));
    shoal_plot_label(script, 'x', "east", "mas");
    shoal_plot_label(script, 'y', "north", "mas");
    fputs("set key above horizontal\n$star << EOD\n0 0\nEOD\nplot $orbits with lines lw 0.4 lc rgb '#c8c8c8' notitle, "
          "\\\n"
          "  $star with points pt 3 lc rgb '#404040' notitle",
          script);
    for (int i = 0; i < p->d.data.n_sets; i++) {
        const int kind = shoal_drawn_kind(p->d.study, i);
        if (kind != SHOAL_DATA_SEPARATION && kind != SHOAL_DATA_DELTA_RA)
            continue;
        fprintf(script,
                ", \\\n  $places%d using 1:2:($5-$1):($6-$2) with vectors nohead lw 0.8 lc rgb '#404040' notitle, \\\n"
                "  $places%d using 1:2:3:4 with xyerrorbars pt 7 ps 0.5 lw 0.6 lc rgb '#%06x' title ",
                i, i, shoal_plot_colour(i));
        shoal_plot_quote(script, shoal_config_string(shoal_drawn_set(p->d.study, i), "name", ""));
    }
    fprintf(script, "\nset xrange [%.17g:%.17g]\nset xtics autofreq\n", p->from, p->to);
    return SHOAL_OK;
}

/* ---- against time ------------------------------------------------------------------------------------------------ */

/* What is left of the model of set i by the single star that fits it best. */
static shoal_status take_single_star(picture *p, int i)
{
    const shoal_walker_set *set = &p->d.data.set[i];
    const size_t n = (size_t)set->n;
    double squares;
    if (n <= SINGLE)
        return shoal_fail(p->d.posterior->context, SHOAL_E_INPUT, "astrometry: expected more than %d scans", SINGLE);
    gsl_multifit_linear_workspace *work = gsl_multifit_linear_alloc(n, SINGLE);
    gsl_matrix *slopes = gsl_matrix_alloc(n, SINGLE), *covariance = gsl_matrix_alloc(SINGLE, SINGLE);
    gsl_vector *weights = gsl_vector_alloc(n), *numbers = gsl_vector_alloc(SINGLE), *left = gsl_vector_alloc(n);
    gsl_vector_const_view model = gsl_vector_const_view_array(p->d.middle + set->first, n);
    for (size_t j = 0; j < n; j++) {
        const shoal_datum *datum = &p->d.data.datum[set->first + (long long)j];
        const double t = (datum->time - set->epoch) / set->unit,
                     slope[SINGLE] = {datum->sine, datum->cosine, t * datum->sine, t * datum->cosine,
                                      datum->parallax_factor};
        for (size_t q = 0; q < SINGLE; q++)
            gsl_matrix_set(slopes, j, q, slope[q]);
        gsl_vector_set(weights, j, 1 / (p->d.error[set->first + (long long)j] * p->d.error[set->first + (long long)j]));
    }
    gsl_multifit_wlinear(slopes, weights, &model.vector, numbers, covariance, &squares, work);
    gsl_multifit_linear_residuals(slopes, &model.vector, numbers, left);
    for (size_t j = 0; j < n; j++)
        p->orbit[set->first + (long long)j] = gsl_vector_get(left, j);
    gsl_multifit_linear_free(work);
    gsl_matrix_free(slopes);
    gsl_matrix_free(covariance);
    gsl_vector_free(weights);
    gsl_vector_free(numbers);
    gsl_vector_free(left);
    return SHOAL_OK;
}

/* A row a datum: time, residual, error, and of scans the orbit with and without the residual. */
static void write_set(picture *p, int i, FILE *script)
{
    const shoal_walker_set *set = &p->d.data.set[i];
    const int panel = panel_of(&p->d, i);
    fprintf(script, "$set%d << EOD\n", i);
    for (long long j = set->first; j < set->first + set->n; j++) {
        const double residual = p->d.data.datum[j].value - p->d.middle[j], error = p->d.error[j];
        fprintf(script, "%.9g %.6g %.6g %.6g %.6g\n", p->d.data.datum[j].time / p->d.study->units.time, residual, error,
                residual + p->orbit[j], p->orbit[j]);
        p->greatest[panel] = fmax(p->greatest[panel], fabs(residual) + error);
        if (panel == SCANS)
            p->greatest[ORBIT] = fmax(p->greatest[ORBIT], fabs(residual + p->orbit[j]) + error);
    }
    fputs("EOD\n", script);
}

static void write_panel(const picture *p, int panel, int row, FILE *script)
{
    static const char *const names[PANELS] = {"residual", "residual", "orbit along scan", "residual"};
    char unit[SHOAL_UNIT_SIZE];
    const double high = (height_mm - below_mm - 8) / p->n_panels, top = height_mm - 8 - row * high,
                 left = p->greatest[LENGTHS] > 0 ? 2 * left_mm + side_mm : left_mm, most = p->greatest[panel];
    const bool last = row == p->n_panels - 1, orbit = panel == ORBIT;
    fprintf(script, "set margins at screen %g, at screen 0.98, at screen %g, at screen %g\n", left / width_mm,
            (top - high + 1.5) / height_mm, top / height_mm);
    fprintf(script, "set format x '%s'\nset yrange [%.6g:%.6g]\nset ytics %.6g\n", last ? "%g" : "", -1.1 * most,
            1.1 * most, shoal_plot_step(most / 2));
    fputs(last ? "" : "unset xlabel\n", script);
    if (last)
        shoal_plot_label(script, 'x', "time", p->d.posterior->observed.time_unit);
    shoal_plot_label(script, 'y', names[panel],
                     panel == ANGLES ? shoal_config_unit(&p->d.study->config, "angle", unit) : "mas");
    fprintf(script, "unset key\nplot 0 with lines lc rgb '#808080' notitle");
    for (int i = 0; i < p->d.data.n_sets; i++) {
        if (panel_of(&p->d, i) != (orbit ? SCANS : panel))
            continue;
        fprintf(script, ", \\\n  $set%d using 1:%d:3 with yerrorbars pt 7 ps 0.3 lw 0.4 lc rgb '#%06x' notitle", i,
                orbit ? 4 : 2, shoal_plot_colour(i));
        if (orbit)
            fprintf(script, ", \\\n  $set%d using 1:5 with points pt 7 ps 0.3 lc rgb '#404040' notitle", i);
    }
    fputc('\n', script);
}

static shoal_status prepare(picture *p)
{
    const shoal_data *data = &p->d.data;
    p->orbit = calloc((size_t)data->n + 1, sizeof *p->orbit);
    shoal_status status = p->orbit ? SHOAL_OK : shoal_fail(p->d.posterior->context, SHOAL_E_MEMORY, "out of memory");
    double first = INFINITY, last = -INFINITY;
    for (int i = 0; i < data->n_sets && !status; i++) {
        const int panel = panel_of(&p->d, i);
        for (long long j = data->set[i].first; j < data->set[i].first + data->set[i].n && panel >= 0; j++) {
            first = fmin(first, data->datum[j].time / p->d.study->units.time);
            last = fmax(last, data->datum[j].time / p->d.study->units.time);
        }
        if (panel == SCANS)
            status = take_single_star(p, i);
    }
    if (!status && !(first <= last))
        status = shoal_fail(p->d.posterior->context, SHOAL_E_INPUT,
                            "astrometry: this posterior is of no places in the sky");
    const double margin = fmax(0.02 * (last - first), 1e-9 * fabs(last) + 1e-9);
    p->from = first - margin;
    p->to = last + margin;
    return status;
}

shoal_status shoal_fit_plot_sky(const shoal_posterior *posterior, const shoal_plot_options *options, FILE *script)
{
    picture p = {.most = 0};
    int row = 0;
    shoal_status status = shoal_drawn_predict(posterior, &p.d);
    if (!status)
        status = prepare(&p);
    if (!status) {
        shoal_plot_begin(script, options, width_mm, height_mm);
        fputs("set bars 0\nset pointintervalbox 0\nset multiplot\n", script);
        for (int i = 0; i < p.d.data.n_sets; i++)
            if (panel_of(&p.d, i) >= 0)
                write_set(&p, i, script);
        for (int panel = 0; panel < PANELS; panel++)
            p.n_panels += p.greatest[panel] > 0;
        fprintf(script, "set xrange [%.17g:%.17g]\n", p.from, p.to);
        status = p.greatest[LENGTHS] > 0 ? write_sky(&p, script) : SHOAL_OK;
    }
    for (int panel = 0; panel < PANELS && !status; panel++)
        if (p.greatest[panel] > 0)
            write_panel(&p, panel, row++, script);
    fputs(status ? "" : "unset multiplot\n", script);
    shoal_drawn_release(&p.d);
    free(p.orbit);
    return status;
}
