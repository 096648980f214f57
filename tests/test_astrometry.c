/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_astrometry.c: places in the sky as data of a likelihood. Separations, position angles and offsets are those of
 * the bodies that the study makes, at the times of the data; along scans the star moves as its parallax, its motion and
 * its orbit say; the integral over place and motion is that of a Gaussian in four numbers; wrong data are refused.
 */
#define _GNU_SOURCE 1
#include <math.h>
#include <unistd.h>

#include "core/formats/observations.h"
#include "models.h"

enum { MOST_TEXT = 8192, N = 7, SCANS = 14, LINEAR = 4 };
#define PI     3.14159265358979323846
#define SIGMA  0.2
#define PERIOD 900.0

static char folder[] = "/tmp/shoal-astrometry-XXXXXX";

static double time_of(int j)
{
    return 211.3 * (j - 2) + 13 * sin(5 * j);
}

static double angle_of(int j)
{
    return 2.1 * j;
}

static double factor_of(int j)
{
    return 0.6 * sin(1.3 * j);
}

static void write_files(void)
{
    static const char *const names[] = {"separation", "position_angle", "delta_ra", "delta_dec"};
    for (int q = 0; q < SHOAL_COUNT(names); q++) {
        char path[64];
        snprintf(path, sizeof path, "%s.txt", names[q]);
        FILE *out = fopen(path, "w");
        assert_non_null(out);
        fprintf(out, "time %s error\n", names[q]);
        for (int j = 0; j < N; j++)
            fprintf(out, "%.17g 100.0 2.0\n", time_of(j));
        fclose(out);
    }
    for (int one_way = 0; one_way < 2; one_way++) {
        FILE *out = fopen(one_way ? "one_way.csv" : "scans.csv", "w");
        assert_non_null(out);
        fprintf(out,
                "transit_id,epoch,scan_pos_angle,centroid_pos_al,centroid_pos_error_al,ipd_error_al,parallax_factor_al,"
                "used_by_agis_al,outlier_flag\n");
        for (int j = 0; j < SCANS; j++)
            fprintf(out, "%d,%.17g,%.17g,%.17g,%g,%g,%.17g,true,%d\n", j, 57000 + time_of(j),
                    one_way ? 0.5 : angle_of(j), 3 * cos(j), SIGMA, SIGMA, factor_of(j), j == 5);
        fclose(out);
    }
}

static void text_of(const char *parameters, const char *data, char text[MOST_TEXT])
{
    snprintf(
        text, MOST_TEXT,
        "units = { length = \"AU\"; mass = \"Msun\"; time = \"d\"; };\nangles = \"degrees\";\n"
        "system = { elements = \"astrocentric\"; bodies = ( { name = \"star\"; m = 0.9; },\n"
        "  { name = \"b\"; m = 0.02; P = %.1f; e = 0.3; inc = 40.0; omega = 70.0; M = 20.0; Omega = 130.0; } ); };\n"
        "integrator = { name = \"mvs_jacobi\"; dt = 5.0; };\n"
        "run = { t_end = 500.0; threads = 1; engine = \"cpu\"; };\n"
        "sample = { count = 1; parameters = ( %s ); };\ndata = ( %s );\n",
        PERIOD, parameters, data);
}

#define PRIOR(name, parameter) \
    "{ data = \"" name "\"; parameter = \"" parameter "\"; distribution = \"uniform\"; from = 0.0; to = 1000.0; }"
#define DATA(kind, more)                                                                                              \
    "{ name = \"" kind "\"; kind = \"" kind "\"; file = \"" kind ".txt\"; body = \"b\"; columns = [\"time\", \"" kind \
    "\", \"error\"]; " more " }"
#define SCAN(more)                                                                                              \
    "{ name = \"gaia\"; kind = \"along_scan\"; file = \"scans.csv\"; format = \"octofitter\"; time = \"MJD\"; " \
    "time_zero = 0.0; " more " }"

/* The bodies of the study at a time (days): an ellipse, since there are two. */
static void bodies_at(shoal_context *context, const shoal_study *study, double t, shoal_body bodies[2])
{
    shoal_orbit orbits[2];
    shoal_ensemble_get_bodies(study->ensemble, 0, bodies);
    assert_ok(context, shoal_orbits_from_bodies(context, SHOAL_ASTROCENTRIC, 2, bodies, orbits));
    double E = orbits[1].M + 2 * PI * t / PERIOD, M = E;
    for (int round = 0; round < 100; round++)
        E -= (E - orbits[1].e * sin(E) - M) / (1 - orbits[1].e * cos(E));
    orbits[1].f = 2 * atan2(sqrt(1 + orbits[1].e) * sin(E / 2), sqrt(1 - orbits[1].e) * cos(E / 2));
    assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_ASTROCENTRIC, 2, orbits, bodies));
}

static void places_are_those_of_the_bodies(void **state)
{
    shoal_context *context = context_of(state);
    char text[MOST_TEXT];
    shoal_study *study;
    text_of(PRIOR("separation", "parallax"),
            DATA("separation", "") ", " DATA("position_angle", "") ", " DATA("delta_ra", "parallax = 20.0;") ", " DATA(
                "delta_dec", "parallax = 20.0;"),
            text);
    shoal_model *model = model_of(context, text, 3, &study);
    const double theta = 25;
    double predicted[4 * N], lnl, right = 0;
    assert_ok(context, shoal_model_predict(model, 1, &theta, predicted));
    assert_ok(context, shoal_model_evaluate(model, 1, &theta, &lnl));
    for (int j = 0; j < N; j++) {
        shoal_body b[2];
        bodies_at(context, study, time_of(j), b);
        const double north = b[1].x - b[0].x, east = b[1].y - b[0].y, angle = atan2(east, north) * 180 / PI;
        const double expected[] = {25 * hypot(north, east), angle, 20 * east, 20 * north};
        for (int q = 0; q < 4; q++) {
            double d = predicted[q * N + j] - expected[q], r = 100 - expected[q];
            if (q == 1) {
                d -= 360 * floor(d / 360 + 0.5);
                r -= 360 * floor(r / 360 + 0.5);
            }
            right -= r * r / 8 + log(2 * PI * 4) / 2;
            if (!(fabs(d) < 1e-9 * 100))
                fail_msg("kind %d, time %g: %.12g, not %.12g", q, time_of(j), predicted[q * N + j], expected[q]);
        }
    }
    assert_true(fabs(lnl - right) < 1e-9 * fabs(right));
    for (double none = -25; none <= 0; none += 25) { /* no such distance */
        assert_ok(context, shoal_model_predict(model, 1, &none, predicted));
        assert_ok(context, shoal_model_evaluate(model, 1, &none, &lnl));
        assert_true(lnl == -INFINITY && isnan(predicted[0]) && !isnan(predicted[N]));
    }
    shoal_model_destroy(&model);
    shoal_study_destroy(&study);
}

/* Derivatives of a scan by ra, dec and their motions. */
static void slopes_of(int j, double t, double slope[LINEAR])
{
    slope[0] = sin(angle_of(j));
    slope[1] = cos(angle_of(j));
    slope[2] = t * slope[0];
    slope[3] = t * slope[1];
}

/* ln L of the scans but one, which is an outlier, with the place and its motion given; the residuals without them, and
 * the normal equations. */
static double scans(shoal_context *context, const shoal_study *study, double parallax, const double place[LINEAR],
                    double matrix[LINEAR][LINEAR], double b[LINEAR])
{
    double lnl = 0;
    memset(matrix, 0, LINEAR * sizeof *matrix);
    memset(b, 0, LINEAR * sizeof *b);
    for (int j = 0; j < SCANS; j++) {
        const double jd = 2457000.5 + time_of(j), t = 57000 + time_of(j) + shoal_time_tdb(SHOAL_SCALE_TCB, jd) / 86400;
        double slope[LINEAR];
        shoal_body bodies[2];
        if (j == 5)
            continue;
        bodies_at(context, study, t, bodies);
        slopes_of(j, t, slope);
        double r = 3 * cos(j) - parallax * (factor_of(j) + bodies[0].x * slope[1] + bodies[0].y * slope[0]);
        for (int i = 0; i < LINEAR; i++) {
            b[i] += slope[i] * r / (SIGMA * SIGMA);
            for (int q = 0; q < LINEAR; q++)
                matrix[i][q] += slope[i] * slope[q] / (SIGMA * SIGMA);
        }
        for (int i = 0; i < LINEAR; i++)
            r -= slope[i] * place[i];
        lnl -= r * r / (2 * SIGMA * SIGMA) + log(2 * PI * SIGMA * SIGMA) / 2;
    }
    return lnl;
}

/* Gauss' elimination of a symmetric positive matrix; returns its determinant. */
static double solve(double matrix[LINEAR][LINEAR], double x[LINEAR])
{
    double determinant = 1;
    for (int i = 0; i < LINEAR; i++) {
        determinant *= matrix[i][i];
        for (int k = i + 1; k < LINEAR; k++) {
            const double ratio = matrix[k][i] / matrix[i][i];
            x[k] -= ratio * x[i];
            for (int q = i; q < LINEAR; q++)
                matrix[k][q] -= ratio * matrix[i][q];
        }
    }
    for (int i = LINEAR - 1; i >= 0; i--) {
        for (int q = i + 1; q < LINEAR; q++)
            x[i] -= matrix[i][q] * x[q];
        x[i] /= matrix[i][i];
    }
    return determinant;
}

static void scans_follow_parallax_motion_and_orbit(void **state)
{
    shoal_context *context = context_of(state);
    char text[MOST_TEXT];
    shoal_study *study;
    double matrix[LINEAR][LINEAR], best[LINEAR], lnl, marginal, predicted[SCANS];
    const double theta[] = {12, 5, -3, 1e-4, -2e-4};
    text_of(PRIOR("gaia", "parallax") ", " PRIOR("gaia", "ra") ", " PRIOR("gaia", "dec") ", " PRIOR(
                "gaia", "pm_ra") ", " PRIOR("gaia", "pm_dec"),
            SCAN(""), text);
    shoal_model *model = model_of(context, text, 3, &study);
    assert_int_equal(shoal_model_n_data(model), SCANS - 1);
    assert_ok(context, shoal_model_evaluate(model, 1, theta, &lnl));
    const double right = scans(context, study, 12, theta + 1, matrix, best);
    if (!(fabs(lnl - right) < 1e-9 * fabs(right)))
        fail_msg("ln L = %.15g, not %.15g", lnl, right);
    shoal_model_destroy(&model);
    shoal_study_destroy(&study);

    text_of(PRIOR("gaia", "parallax"), SCAN("marginal = true;"), text);
    model = model_of(context, text, 3, &study);
    assert_ok(context, shoal_model_evaluate(model, 1, theta, &marginal));
    assert_ok(context, shoal_model_predict(model, 1, theta, predicted));
    const double determinant = solve(matrix, best);
    double unused[LINEAR], other[LINEAR][LINEAR];
    const double top = scans(context, study, 12, best, other, unused),
                 integral = top + LINEAR * log(2 * PI) / 2 - log(determinant) / 2;
    if (!(fabs(marginal - integral) < 1e-7 * fabs(integral)))
        fail_msg("integral %.15g, not %.15g", marginal, integral);
    double again = 0;
    for (int j = 0, row = 0; j < SCANS; j++)
        if (j != 5) {
            const double r = 3 * cos(j) - predicted[row++];
            again -= r * r / (2 * SIGMA * SIGMA) + log(2 * PI * SIGMA * SIGMA) / 2;
        }
    assert_true(fabs(again - top) < 1e-7 * fabs(top)); /* predictions are at the best place */
    shoal_model_destroy(&model);
    shoal_study_destroy(&study);
}

/* With Student's t distribution of 3 degrees of freedom, whose density is 2 / (pi sqrt(3) s (1 + r^2 / 3 s^2)^2). */
static void errors_may_have_students_distribution(void **state)
{
    shoal_context *context = context_of(state);
    char text[MOST_TEXT];
    shoal_study *study;
    const double theta = 20;
    double predicted[N], lnl, right = 0;
    text_of(PRIOR("delta_ra", "parallax"), DATA("delta_ra", "freedom = 3.0; jitter = 1.5;"), text);
    shoal_model *model = model_of(context, text, 3, &study);
    assert_ok(context, shoal_model_predict(model, 1, &theta, predicted));
    assert_ok(context, shoal_model_evaluate(model, 1, &theta, &lnl));
    for (int j = 0; j < N; j++) {
        const double s = 2.5, r = (100 - predicted[j]) / s; /* s^2 = 2^2 + 1.5^2 */
        right += log(2 / (PI * sqrt(3) * s)) - 2 * log(1 + r * r / 3);
    }
    assert_true(fabs(lnl - right) < 1e-12 * fabs(right));
    shoal_model_destroy(&model);
    shoal_study_destroy(&study);

    /* Of many degrees of freedom it is normal but for (r^4 / 2 - r^2 - 1 / 2) / (2 freedom). */
#define MANY(freedom)                                                       \
    {                                                                       \
        DATA("delta_ra", "jitter = 50.0; freedom = " #freedom ";"), freedom \
    }
    static const struct {
        const char *data;
        double freedom;
    } many[] = {{DATA("delta_ra", "jitter = 50.0;"), 0},
                MANY(190.0),
                MANY(210.0),
                MANY(1e6),
                MANY(1e9),
                MANY(1e12),
                MANY(1e15)};
    double normal = 0, more = 0;
    for (int i = 0; i < SHOAL_COUNT(many); i++) {
        const double freedom = many[i].freedom;
        text_of(PRIOR("delta_ra", "parallax"), many[i].data, text);
        model = model_of(context, text, 3, &study);
        assert_ok(context, shoal_model_evaluate(model, 1, &theta, &lnl));
        normal = i ? normal : lnl;
        for (int j = 0; j < N && i == 0; j++) {
            const double square = (100 - predicted[j]) * (100 - predicted[j]) / (4 + 2500);
            more += (square * square / 2 - square - 0.5) / 2;
        }
        if (i > 0 && !(fabs(lnl - normal - more / freedom) < 0.03 * fabs(more) / freedom + 1e-6))
            fail_msg("freedom %g: ln L - that of normal errors %g, expected %g", freedom, lnl - normal, more / freedom);
        shoal_model_destroy(&model);
        shoal_study_destroy(&study);
    }
}

#define PAIR(name, kind, more)                                                                                \
    "{ name = \"" name "\"; kind = \"" kind "\"; file = \"pairs.csv\"; format = \"orbitize\"; body = \"b\"; " \
    "time = \"MJD_TDB\"; time_zero = 50000.0; " more " }"

/* Errors of two coordinates that a table says are correlated have a normal distribution in common, in whichever order
 * the sets are, with jitters, too. */
static void measured_together_they_are_correlated(void **state)
{
    enum { ROWS = 5 };
    static const char *const orders[] = {
        PAIR("x", "delta_ra", "parallax = 20.0; jitter = 0.7;") ", " PAIR("y", "delta_dec", "parallax = 20.0;") ", ",
        PAIR("y", "delta_dec", "parallax = 20.0;") ", " PAIR("x", "delta_ra", "parallax = 20.0; jitter = 0.7;") ", "};
    static const char polar[] = PAIR("a", "position_angle", "") ", " PAIR("s", "separation",
                                                                          "parallax = 20.0; jitter = 0.4;");
    shoal_context *context = context_of(state);
    FILE *out = fopen("pairs.csv", "w");
    assert_non_null(out);
    fprintf(out, "epoch,object,raoff,raoff_err,decoff,decoff_err,radec_corr,sep,sep_err,pa,pa_err,seppa_corr\n");
    for (int j = 0; j < ROWS; j++) /* a row has one of the two kinds */
        fprintf(out, j % 2 ? "%.17g,1,,,,,,90,2,30,1.5,%.17g\n" : "%.17g,1,50,2,70,1.5,%.17g,,,,,\n", 50000 + 211.3 * j,
                0.3 * (j - 1));
    fclose(out);
    for (int order = 0; order < 2; order++) {
        char data[MOST_TEXT / 4], text[MOST_TEXT];
        shoal_study *study;
        double predicted[2 * ROWS], lnl, right = 0, theta = 0;
        snprintf(data, sizeof data, "%s%s", orders[order], polar);
        text_of("{ body = \"b\"; parameter = \"Omega\"; distribution = \"uniform\"; from = 0.0; to = 360.0; }", data,
                text);
        char *written = strstr(text, " Omega = 130.0;");
        assert_non_null(written);
        memset(written, ' ', strlen(" Omega = 130.0;"));
        shoal_model *model = model_of(context, text, 1, &study);
        theta = 130;
        assert_int_equal(shoal_model_n_data(model), 2 * ROWS);
        assert_ok(context, shoal_model_predict(model, 1, &theta, predicted));
        assert_ok(context, shoal_model_evaluate(model, 1, &theta, &lnl));
        for (int j = 0; j < ROWS; j++) {
            const bool turned = j % 2;
            const int n_ra = (ROWS + 1) / 2, n_polar = ROWS / 2, k = j / 2, first = turned ? 2 * n_ra + n_polar + k : k,
                      second = turned ? 2 * n_ra + k : n_ra + k;
            const double *x = &predicted[turned || !order ? first : second],
                         *y = &predicted[turned || !order ? second : first];
            const double jitter = turned ? 0.4 : 0.7, rho = 0.3 * (j - 1), a = (turned ? 90 : 50) - *x,
                         b = remainder((turned ? 30 : 70) - *y, turned ? 360 : 1e9), A = 4 + jitter * jitter, B = 2.25,
                         C = rho * 3, det = A * B - C * C;
            right -= (B * a * a - 2 * C * a * b + A * b * b) / (2 * det) + log(4 * PI * PI * det) / 2;
        }
        if (!(fabs(lnl - right) < 1e-12 * fabs(right)))
            fail_msg("ln L = %.15g, not %.15g", lnl, right);
        shoal_model_destroy(&model);
        shoal_study_destroy(&study);
        study = NULL;
        text_of("{ body = \"b\"; parameter = \"Omega\"; distribution = \"uniform\"; from = 0.0; to = 360.0; }",
                PAIR("a", "position_angle", ""), text);
        memset(strstr(text, " Omega = 130.0;"), ' ', strlen(" Omega = 130.0;"));
        assert_ok(context, shoal_study_open(context, "sky.cfg", text, 0, NULL, NULL, &study));
        assert_int_equal(shoal_model_create(study, 1, &model), SHOAL_E_INPUT);
        assert_non_null(strstr(shoal_context_message(context), "correlated with, too (line 5 of the table)"));
        shoal_study_destroy(&study);
    }
    unlink("pairs.csv");
}

static void what_is_wrong_is_refused(void **state)
{
    shoal_context *context = context_of(state);
    static const struct {
        const char *parameters, *data, *says;
    } cases[] = {
        {PRIOR("separation", "jitter"), DATA("separation", ""), "parallax: expected a number, or a parameter"},
        {PRIOR("separation", "parallax"), DATA("separation", "offset = 3.0;"), "no such key"},
        {PRIOR("separation", "trend"), DATA("separation", "parallax = 3.0;"), "no such number"},
        {PRIOR("separation", "ra"), DATA("separation", "parallax = 3.0;"), "no such number"},
        {PRIOR("separation", "parallax"), DATA("separation", "marginal = true;"), "no such key"},
        {PRIOR("gaia", "parallax"), SCAN("marginal = true; ra = 3.0;"), "no ra where"},
        {PRIOR("gaia", "parallax"), SCAN("marginal = true; freedom = 3.0;"), "normal errors where"},
        {PRIOR("gaia", "offset"), SCAN("parallax = 3.0;"), "no such number"},
        {PRIOR("gaia", "pm_ra"), SCAN("parallax = 3.0; marginal = true;"), "over which ln L is integrated"},
        {PRIOR("position_angle", "parallax"), DATA("position_angle", ""), "no such number"},
        {PRIOR("position_angle", "jitter"), DATA("position_angle", "parallax = 3.0;"), "no such key"},
        {PRIOR("gaia", "jitter"),
         "{ name = \"gaia\"; kind = \"along_scan\"; file = \"one_way.csv\"; format = "
         "\"octofitter\"; time = \"MJD\"; marginal = true; parallax = 3.0; }",
         "scans in two directions"},
    };
    for (int i = 0; i < SHOAL_COUNT(cases); i++) {
        char text[MOST_TEXT];
        shoal_study *study = NULL;
        shoal_model *model = NULL;
        text_of(cases[i].parameters, cases[i].data, text);
        assert_ok(context, shoal_study_open(context, "sky.cfg", text, 0, NULL, NULL, &study));
        if (shoal_model_create(study, 1, &model) != SHOAL_E_INPUT ||
            !strstr(shoal_context_message(context), cases[i].says))
            fail_msg("case %d: %s", i, shoal_context_message(context));
        shoal_study_destroy(&study);
    }
}

static int begin(void **state)
{
    if (setup(state) || !mkdtemp(folder) || chdir(folder))
        return -1;
    write_files();
    return 0;
}

static int end(void **state)
{
    static const char *const files[] = {"separation.txt", "position_angle.txt", "delta_ra.txt",
                                        "delta_dec.txt",  "scans.csv",          "one_way.csv"};
    for (int i = 0; i < SHOAL_COUNT(files); i++)
        (void)unlink(files[i]);
    return chdir("/") || rmdir(folder) ? -1 : teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_those_of_the_bodies),
        cmocka_unit_test(scans_follow_parallax_motion_and_orbit),
        cmocka_unit_test(errors_may_have_students_distribution),
        cmocka_unit_test(measured_together_they_are_correlated),
        cmocka_unit_test(what_is_wrong_is_refused),
    };
    cmocka_set_test_filter(getenv("SHOAL_TEST_NAME"));
    return cmocka_run_group_tests(tests, begin, end);
}
