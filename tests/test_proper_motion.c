/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_proper_motion.c: likelihoods of the proper motions of the HGCA. The model is that of lines fitted to a star's
 * places on a two-body ellipse in closed form; ln L has the correlations of both coordinates, and the integral over the
 * barycentre's motion is that of a quadrature.
 */
#define _GNU_SOURCE 1
#include <math.h>
#include <unistd.h>

#include "core/formats/observations.h"
#include "core/model/model.h"
#include "testing.h"

#define TWO_PI 6.283185307179586
enum { MOTIONS = 6, MOST_TEXT = 4096 };

static char folder[] = "/tmp/shoal-hgca-XXXXXX";

/* ---- a catalogue of one star ------------------------------------------------------------------------------------- */

/* [Hipparcos, between, Gaia][east, north]: mas a year */
static const double value[3][2] = {{10.3, -4.1}, {11.2, -4.9}, {12.4, -5.2}},
                    error[3][2] = {{0.8, 0.7}, {0.03, 0.02}, {0.06, 0.05}}, correlation[3] = {0.3, -0.2, 0.1},
                    epoch[2][2] = {{1991.1, 1991.35}, {2016.02, 2016.2}}; /* Julian years of TCB */

static void card(FILE *out, const char *key, const char *text)
{
    fprintf(out, "%-8s= %-70s", key, text);
}

static void big_endian(FILE *out, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    for (int k = 7; k >= 0; k--)
        fputc((int)(bits >> 8 * k & 255), out);
}

static void fill(FILE *out)
{
    fprintf(out, "%-80s", "END");
    while (ftell(out) % 2880)
        fputc(' ', out);
}

static void write_catalogue(void)
{
    static const char *const mission[] = {"hip", "hg", "gaia"}, *const axis[] = {"ra", "dec"};
    enum { FIELDS = 1 + 3 * 5 + 4 };
    char name[FIELDS][32];
    double number[FIELDS] = {27321};
    int n = 0;
    snprintf(name[n++], sizeof *name, "hip_id");
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 2; k++) {
            number[n] = value[i][k];
            snprintf(name[n++], sizeof *name, "pm%s_%s", axis[k], mission[i]);
            number[n] = error[i][k];
            snprintf(name[n++], sizeof *name, "pm%s_%s_error", axis[k], mission[i]);
        }
        number[n] = correlation[i];
        snprintf(name[n++], sizeof *name, "pmra_pmdec_%s", mission[i]);
    }
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) {
            number[n] = epoch[i][k];
            snprintf(name[n++], sizeof *name, "epoch_%s_%s", axis[k], mission[2 * i]);
        }
    assert_int_equal(n, FIELDS);
    FILE *out = fopen("hgca.fits", "w");
    char key[16], text[80];
    assert_non_null(out);
    card(out, "SIMPLE", "                   T");
    fill(out);
    card(out, "XTENSION", "'BINTABLE'");
    snprintf(text, sizeof text, "%d", 8 * FIELDS);
    card(out, "NAXIS1", text);
    card(out, "NAXIS2", "1");
    snprintf(text, sizeof text, "%d", FIELDS);
    card(out, "TFIELDS", text);
    for (int i = 0; i < FIELDS; i++) {
        snprintf(key, sizeof key, "TTYPE%d", i + 1);
        snprintf(text, sizeof text, "'%s'", name[i]);
        card(out, key, text);
        snprintf(key, sizeof key, "TFORM%d", i + 1);
        card(out, key, "'D       '");
    }
    fill(out);
    for (int i = 0; i < FIELDS; i++)
        big_endian(out, number[i]);
    fclose(out);
}

/* ---- the same in closed form ------------------------------------------------------------------------------------- */

static double gauss; /* its square: G Msun in AU^3/d^2 */

/* Places of the star, mas to the east or north, at a parallax of 50 mas: 1.2 and 0.3 Msun, 9 AU, e = 0.4, in degrees
 * inc = 60, omega = 40, Omega = 25, M = 100 at time 0, which is J2000. */
static double place(double t, int north)
{
    const double degree = TWO_PI / 360, e = 0.4, n = gauss * sqrt(1.5 / 729), M = fmod(100 * degree + n * t, TWO_PI),
                 omega = 40 * degree, node = 25 * degree, cos_i = 0.5;
    double E = M;
    for (int i = 0; i < 200; i++)
        E -= (E - e * sin(E) - M) / (1 - e * cos(E));
    const double x = cos(E) - e, y = sqrt(1 - e * e) * sin(E), u = cos(omega) * x - sin(omega) * y,
                 v = (sin(omega) * x + cos(omega) * y) * cos_i;
    return -0.2 * 9 * 50 * (north ? cos(node) * u - sin(node) * v : sin(node) * u + cos(node) * v);
}

/* What missions find, mas a year, of a line through or the mean of places that are nearly everywhere. */
static void lines(double model[MOTIONS], double times[MOTIONS])
{
    enum { MANY = 4000 };
    const double year = 365.25, span[2] = {3.36, 2.83};
    for (int north = 0; north < 2; north++) {
        double mean[2], slope[2], at[2];
        for (int i = 0; i < 2; i++) {
            const double jd = 2451545 + (epoch[i][north] - 2000) * year;
            double squares = 0;
            at[i] = jd - 2451545 + shoal_time_tdb(SHOAL_SCALE_TCB, jd) / 86400;
            mean[i] = slope[i] = 0;
            for (int k = 0; k < MANY; k++) {
                const double since = span[i] * year * ((k + 0.5) / MANY - 0.5), x = place(at[i] + since, north);
                mean[i] += x / MANY;
                slope[i] += x * since;
                squares += since * since;
            }
            slope[i] *= year / squares;
        }
        times[north] = times[2 + north] = at[0];
        times[4 + north] = at[1];
        model[north] = slope[0];
        model[2 + north] = (mean[1] - mean[0]) / (at[1] - at[0]) * year;
        model[4 + north] = slope[1];
    }
}

static double right_lnl(const double model[MOTIONS])
{
    double lnl = 0;
    for (int i = 0; i < 3; i++) {
        const double x = (value[i][0] - model[2 * i]) / error[i][0], y = (value[i][1] - model[2 * i + 1]) / error[i][1],
                     c = correlation[i], rest = 1 - c * c;
        lnl -= (x * x - 2 * c * x * y + y * y) / (2 * rest) + log(TWO_PI * error[i][0] * error[i][1]) + log(rest) / 2;
    }
    return lnl;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void text_of(const char *data, const char *time, double days, char text[MOST_TEXT])
{
    const bool marginal = strstr(data, "marginal") != NULL;
    const int n = snprintf(
        text, MOST_TEXT,
        "units = { length = \"AU\"; mass = \"Msun\"; time = \"%s\"; };\nangles = \"degrees\";\n"
        "system = { bodies = ( { name = \"star\"; m = 1.2; },\n { name = \"b\"; m = 0.3; a = 9.0; e = 0.4; inc = 60.0; "
        "omega = 40.0; Omega = 25.0; M = 100.0; } ); };\n"
        "integrator = { name = \"gauss_radau\"; };\nrun = { t_end = %g; threads = 1; engine = \"cpu\"; };\n"
        "sample = { count = 1; parameters = (\n"
        "{ data = \"hgca\"; parameter = \"parallax\"; distribution = \"normal\"; mean = 50.0; sigma = 0.1; }%s\n ); "
        "};\n"
        "data = ( { name = \"hgca\"; kind = \"proper_motion\"; %s } );\n",
        time, 100 / days,
        marginal
            ? ""
            : ",\n{ data = \"hgca\"; parameter = \"pm_ra\"; distribution = \"normal\"; mean = 0.0; sigma = 9.0; },\n"
              "{ data = \"hgca\"; parameter = \"pm_dec\"; distribution = \"normal\"; mean = 0.0; sigma = 9.0; }",
        data);
    assert_true(n < MOST_TEXT);
}

static double evaluate(shoal_context *context, const char *text, const double *theta, double *predicted)
{
    shoal_study *study = NULL;
    shoal_model *model = NULL;
    double lnl;
    char unit[SHOAL_UNIT_SIZE];
    assert_ok(context, shoal_study_open(context, "hgca.cfg", text, 0, NULL, NULL, &study));
    assert_ok(context, shoal_model_create(study, 1, &model));
    assert_int_equal(shoal_model_n_data(model), MOTIONS);
    assert_string_equal(shoal_data_unit(study, 0, unit), strstr(text, "\"yr\"") ? "mas/yr" : "mas/d");
    assert_ok(context, shoal_model_evaluate(model, 1, theta, &lnl));
    assert_ok(context, shoal_model_predict(model, 1, theta, predicted));
    shoal_model_destroy(&model);
    shoal_study_destroy(&study);
    return lnl;
}

#define HGCA "file = \"hgca.fits\"; format = \"hgca\"; object = \"27321\"; "

static void motions_are_those_of_lines(void **state)
{
    static const char *const time[] = {"yr", "d"};
    static const double days[] = {365.25, 1};
    double wave[MOTIONS], times[MOTIONS];
    shoal_units units;
    assert_ok(context_of(state), shoal_units_init(context_of(state), "AU", "Msun", "d", NAN, &units));
    gauss = shoal_units_factor(&units, "time");
    lines(wave, times);
    for (int u = 0; u < 2; u++) {
        char text[MOST_TEXT];
        const double per = days[u] / 365.25, pm[2] = {11 * per, -5 * per}, theta[3] = {50, pm[0], pm[1]};
        double model[MOTIONS], predicted[MOTIONS];
        text_of(HGCA, time[u], days[u], text);
        double lnl = evaluate(context_of(state), text, theta, predicted);
        for (int j = 0; j < MOTIONS; j++) {
            model[j] = wave[j] + (j % 2 ? -5 : 11);
            if (!(fabs(predicted[j] / per - model[j]) < 1e-6 * fabs(wave[j]))) /* of sums of 4000 */
                fail_msg("motion %d: %.10g mas/yr, not %.10g", j, predicted[j] / per, model[j]);
            model[j] = predicted[j] / per;
        }
        lnl += MOTIONS * log(per); /* of the density in the other unit */
        if (!(fabs(lnl - right_lnl(model)) < 1e-9 * fabs(lnl)))
            fail_msg("ln L = %.15g, not %.15g", lnl, right_lnl(model));

        /* integrated over the barycentre's motion: a sum over a grid, which is exact of Gaussians */
        double sum = 0, best = -INFINITY, offset[2];
        enum { HALF = 200 };
        const double step = 0.01;
        text_of(HGCA "marginal = true; ", time[u], days[u], text);
        const double marginal = evaluate(context_of(state), text, theta, predicted) + (MOTIONS - 2) * log(per);
        for (int k = 0; k < 2; k++)
            offset[k] = predicted[k] / per - model[k]; /* the best one */
        for (int pass = 0; pass < 2; pass++)
            for (int i = -HALF; i <= HALF; i++)
                for (int k = -HALF; k <= HALF; k++) {
                    double other[MOTIONS];
                    for (int j = 0; j < MOTIONS; j++)
                        other[j] = model[j] + offset[j % 2] + step * (j % 2 ? k : i) * 0.5;
                    const double at = right_lnl(other);
                    best = pass ? best : fmax(best, at);
                    sum += pass ? exp(at - best) * step * step / 4 : 0;
                }
        assert_true(fabs(best - right_lnl((double[]){model[0] + offset[0], model[1] + offset[1], model[2] + offset[0],
                                                     model[3] + offset[1], model[4] + offset[0],
                                                     model[5] + offset[1]})) < 1e-12 * fabs(best));
        if (!(fabs(marginal - (best + log(sum))) < 1e-7 * fabs(marginal)))
            fail_msg("integrated ln L = %.12g, not %.12g", marginal, best + log(sum));
    }
}

/* ---- scans ------------------------------------------------------------------------------------------------------- */

enum { SCANS = 40, FOUND = 5 };

/* Scan i of a mission: TDB, days from J2000; its direction; how the parallax moves the star along it. */
static void scan(int mission, int i, double *jd, double *angle, double *factor)
{
    const double begin[2] = {1989.9, 2014.6}, years[2] = {3.2, 2.7}, part = (i + 0.3 * sin(7.0 * i)) / SCANS;
    *jd = 2451545 + 365.25 * (begin[mission] - 2000 + years[mission] * part);
    *angle = fmod(2.4 * i + 0.2 * i * i, TWO_PI);
    *factor = 0.7 * cos(TWO_PI * years[mission] * part + *angle);
}

static void write_scans(void)
{
    static const char *const heads[2] = {"# time: BJD_TCB\ntime,scan_angle,parallax_factor\n",
                                         "Target, ObservationTimeAtGaia[UTC], scanAngle[rad], parallaxFactorAlongScan, "
                                         "ObservationTimeAtBarycentre[BarycentricJulianDateInTCB]\n"};
    for (int mission = 0; mission < 2; mission++) {
        FILE *out = fopen(mission ? "gaia.csv" : "hip.csv", "w");
        assert_non_null(out);
        fputs(heads[mission], out);
        for (int i = -1; i <= SCANS; i++) { /* the first and the last one are not in the catalogue */
            double jd, angle, factor;
            scan(mission, i, &jd, &angle, &factor);
            jd += i < 0 ? -365 : i == SCANS ? 365 : 0;
            if (mission)
                fprintf(out, "star, 2015-01-01T00:00:00, %.17g, %.17g, %.17g\n", angle, factor, jd);
            else
                fprintf(out, "%.17g,%.17g,%.17g\n", jd, angle, factor);
        }
        fclose(out);
    }
    FILE *few = fopen("few.csv", "w");
    fputs("# time: BJD_TCB\ntime,scan_angle,parallax_factor\n2457400,0.1,0.3\n2457500,0.2,0.1\n", few);
    fclose(few);
}

/* The least-squares solution of a mission: place to the east and north at `mean`, motions, mas and days; by normal
 * equations and elimination. */
static void fit_scans(int mission, double *mean, double found[FOUND])
{
    long double matrix[FOUND][FOUND + 1] = {{0}};
    double t[SCANS], angle, factor;
    *mean = 0;
    for (int i = 0; i < SCANS; i++) {
        double jd;
        scan(mission, i, &jd, &angle, &factor);
        t[i] = jd - 2451545 + shoal_time_tdb(SHOAL_SCALE_TCB, jd) / 86400;
        *mean += t[i] / SCANS;
    }
    for (int i = 0; i < SCANS; i++) {
        double jd;
        scan(mission, i, &jd, &angle, &factor);
        const double s = sin(angle), c = cos(angle), since = t[i] - *mean,
                     row[FOUND] = {s, c, since * s, since * c, factor};
        const double along = place(t[i], 0) * s + place(t[i], 1) * c;
        for (int a = 0; a < FOUND; a++) {
            for (int b = 0; b < FOUND; b++)
                matrix[a][b] += (long double)row[a] * row[b];
            matrix[a][FOUND] += (long double)row[a] * along;
        }
    }
    for (int a = 0; a < FOUND; a++)
        for (int b = 0; b < FOUND; b++) {
            const long double ratio = b == a ? 0 : matrix[b][a] / matrix[a][a];
            for (int k = 0; k <= FOUND; k++)
                matrix[b][k] -= ratio * matrix[a][k];
        }
    for (int a = 0; a < FOUND; a++)
        found[a] = (double)(matrix[a][FOUND] / matrix[a][a]);
}

static void scans_are_fitted_as_by_catalogues(void **state)
{
    char text[MOST_TEXT];
    const double theta[3] = {50, 11, -5};
    double predicted[MOTIONS], expected[MOTIONS], evenly[MOTIONS], mean[2], found[2][FOUND], wave[MOTIONS],
        times[MOTIONS];
    shoal_units units;
    assert_ok(context_of(state), shoal_units_init(context_of(state), "AU", "Msun", "d", NAN, &units));
    gauss = shoal_units_factor(&units, "time");
    lines(wave, times);
    for (int mission = 0; mission < 2; mission++)
        fit_scans(mission, &mean[mission], found[mission]);
    for (int north = 0; north < 2; north++) {
        const double before = found[0][north] + (times[2 + north] - mean[0]) * found[0][2 + north],
                     after = found[1][north] + (times[4 + north] - mean[1]) * found[1][2 + north];
        expected[north] = 365.25 * found[0][2 + north];
        expected[2 + north] = 365.25 * (after - before) / (times[4 + north] - times[2 + north]);
        expected[4 + north] = 365.25 * found[1][2 + north];
    }
    text_of(HGCA "hipparcos_scans = \"hip.csv\"; gaia_scans = \"gaia.csv\"; ", "yr", 365.25, text);
    (void)evaluate(context_of(state), text, theta, predicted);
    for (int j = 0; j < MOTIONS; j++)
        if (!(fabs(predicted[j] - (expected[j] + theta[1 + j % 2])) < 1e-9 * fabs(expected[j])))
            fail_msg("motion %d: %.12g mas/yr, not %.12g", j, predicted[j], expected[j] + theta[1 + j % 2]);
    /* what is in the tables is in the config's text, so that no fit goes on with others */
    shoal_study *study;
    assert_ok(context_of(state), shoal_study_open(context_of(state), "motions.cfg", text, 0, NULL, NULL, &study));
    assert_non_null(strstr(study->config_text, "# file hip.csv "));
    assert_non_null(strstr(study->config_text, "# file gaia.csv "));
    shoal_study_destroy(&study);
    /* of one mission alone: the other sees the star evenly */
    text_of(HGCA "gaia_scans = \"gaia.csv\"; ", "yr", 365.25, text);
    (void)evaluate(context_of(state), text, theta, evenly);
    for (int j = 0; j < MOTIONS; j++) {
        const double to = j < 2 ? wave[j] : j < 4 ? NAN : expected[j];
        assert_true(isnan(to) || fabs(evenly[j] - (to + theta[1 + j % 2])) < 1e-6 * fabs(to));
    }
}

static void what_is_wrong_is_refused(void **state)
{
    static const struct {
        const char *data, *says;
    } cases[] = {
        {"file = \"hgca.fits\"; format = \"hgca\";", "expected an object"},
        {"file = \"hgca.fits\"; format = \"hgca\"; object = \"7\";", "no star has it"},
        {"file = \"hgca.fits\"; columns = [\"a\", \"b\", \"c\"];", "data[0].format: expected the format of a table of"},
        {HGCA "gaia_scans = \"few.csv\";", "data[0].gaia_scans = \"few.csv\": expected scans from 2014.56 to 2017.4"},
        {HGCA "hipparcos_scans = \"gaia.csv\";", "expected scans from 1989.85 to 1993.21"},
        {HGCA "gaia_scans = \"hgca.fits\";", "hgca.fits"},
        {HGCA "ra = 1.0;", "data[0].ra = 1.0: expected no such key"},
        {HGCA "freedom = 3.0;", "data[0].freedom = 3.0: expected no covariance of errors of Student's t"},
        {HGCA "marginal = true; pm_ra = 1.0;", "data[0].pm_ra = 1.0"},
    };
    shoal_context *context = context_of(state);
    for (int i = 0; i < SHOAL_COUNT(cases); i++) {
        char text[MOST_TEXT], data[512];
        shoal_study *study = NULL;
        shoal_model *model = NULL;
        snprintf(data, sizeof data, "%s /* marginal */", cases[i].data);
        text_of(data, "yr", 365.25, text);
        shoal_status status = shoal_study_open(context, "hgca.cfg", text, 0, NULL, NULL, &study);
        if (!status)
            status = shoal_model_create(study, 1, &model);
        if (status != SHOAL_E_INPUT || !strstr(shoal_context_message(context), cases[i].says))
            fail_msg("case %d: '%s' is not in: %s", i, cases[i].says, shoal_context_message(context));
        shoal_model_destroy(&model);
        shoal_study_destroy(&study);
    }
}

static int begin(void **state)
{
    if (setup(state) || !mkdtemp(folder) || chdir(folder))
        return -1;
    write_catalogue();
    write_scans();
    return 0;
}

static int end(void **state)
{
    if (unlink("hgca.fits") || unlink("hip.csv") || unlink("gaia.csv") || unlink("few.csv") || chdir("/") ||
        rmdir(folder))
        return -1;
    return teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(motions_are_those_of_lines),
        cmocka_unit_test(scans_are_fitted_as_by_catalogues),
        cmocka_unit_test(what_is_wrong_is_refused),
    };
    cmocka_set_test_filter(getenv("SHOAL_TEST_NAME"));
    return cmocka_run_group_tests(tests, begin, end);
}
