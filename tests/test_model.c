/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_model.c: a study with data as a likelihood. ln L is that of bodies made by the study's own code and seen by
 * shoal_plan_observe, in every basis of elements; it depends on no neighbour, batch or thread; what cannot be is
 * -infinity; the epoch may lie anywhere; offsets that are integrated over agree with a quadrature; priors are densities
 * and their quantiles; derivatives are those of the density; wrong data and parameters are refused.
 */
#define _GNU_SOURCE 1
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <unistd.h>

#include "core/engine/cuda.h"
#include "core/model/model.h"
#include "testing.h"

#define TWO_PI 6.283185307179586
enum { N_DATA = 23, MOST_TEXT = 8192 };

static char folder[] = "/tmp/shoal-model-XXXXXX";

/* ---- studies ----------------------------------------------------------------------------------------------------- */

/* Velocities at uneven times on both sides of 0, some twice, of two instruments. */
static double time_of(int j)
{
    return j % 7 == 6 ? time_of(j - 1) : 97 * sin(1.7 * j) + 0.013 * j;
}

static double value_of(int j)
{
    return 30 * sin(0.4 * j) + 3 * cos(2.1 * j);
}

static double error_of(int j)
{
    return 1 + 0.1 * (j % 5);
}

static void write_data(void)
{
    FILE *out = fopen("rv.txt", "w");
    assert_non_null(out);
    fprintf(out, "# made for a test\ntime  rv  err  tel\n");
    for (int j = 0; j < N_DATA; j++)
        fprintf(out, "%.17g %.17g %.17g %s\n", time_of(j) + 1000, value_of(j), error_of(j), j % 3 ? "one" : "two");
    fclose(out);
    out = fopen("epoch.txt", "w");
    assert_non_null(out);
    fprintf(out, "time rv err tel\n1000 0 1 one\n1000 0 1 two\n");
    fclose(out);
    out = fopen("radvel.csv", "w");
    assert_non_null(out);
    fprintf(out, "# unit: km/s\ntime,mnvel,errvel,tel\n");
    for (int j = 0; j < N_DATA; j++)
        fprintf(out, "%.17g,%.17g,%.17g,%s\n", time_of(j) + 1000, value_of(j) / 1000, error_of(j) / 1000,
                j % 3 ? "one" : "two");
    fclose(out);
}

/* Two planets; planets: keys of theirs; parameters: rows of sample.parameters. */
static void text_of(const char *planets, const char *parameters, const char *more, char text[MOST_TEXT])
{
    snprintf(
        text, MOST_TEXT,
        "units = { length = \"AU\"; mass = \"Msun\"; time = \"d\"; };\nangles = \"degrees\";\n"
        "system = { elements = \"%s\"; bodies = ( { name = \"star\"; m = 0.9; r = 0.005; }, %s ); };\n"
        "integrator = { name = \"mvs\"; dt = 0.4; };\nrun = { t_end = 100.0; threads = 1; engine = \"cpu\"; };\n"
        "sample = { count = 5; parameters = ( %s ); };\n"
        "data = ( { name = \"one\"; kind = \"velocity\"; file = \"rv.txt\"; columns = [\"time\", \"rv\", \"err\"];\n"
        "    instrument = \"one\"; time_zero = 1000.0; jitter = 1.5; %s },\n"
        "  { name = \"two\"; kind = \"velocity\"; file = \"rv.txt\"; columns = [\"time\", \"rv\", \"err\"];\n"
        "    instrument = \"two\"; time_zero = 1000.0; offset = 2.0; trend = 0.03; unit = \"m/s\";\n"
        "    body = \"star\"; marginal = false; } );\n",
        strstr(more, "astrocentric")  ? "astrocentric"
        : strstr(more, "barycentric") ? "barycentric"
                                      : "jacobi",
        planets, parameters, strstr(more, "centric") || strstr(more, "density") ? "" : more);
    char *mass = strstr(text, "m = 0.9; r");
    if (strstr(more, "density")) /* a parameter */
        memcpy(mass, "         r", 9);
}

/* Replace the first `old` of a text. */
static void replace(char text[MOST_TEXT], const char *old, const char *new)
{
    char rest[MOST_TEXT];
    char *at = strstr(text, old);
    assert_non_null(at);
    snprintf(rest, sizeof rest, "%s", at + strlen(old));
    snprintf(at, (size_t)(MOST_TEXT - (at - text)), "%s%s", new, rest);
}

static shoal_study *study_of(shoal_context *context, const char *text)
{
    shoal_study *study = NULL;
    assert_ok(context, shoal_study_open(context, "model.cfg", text, 0, NULL, NULL, &study));
    return study;
}

#define OUTER "{ name = \"c\"; m = 5e-4; P = 61.0; e = 0.12; omega = 200.0; M = 40.0; inc = 80.0; }"
#define MASS                                                                                         \
    "{ body = \"b\"; parameter = \"m\"; distribution = \"log_uniform\"; from = 1e-5; to = 1e-3; }, " \
    "{ body = \"c\"; parameter = \"e\"; distribution = \"rayleigh\"; sigma = 0.1; to = 0.5; }, "     \
    "{ data = \"one\"; parameter = \"offset\"; distribution = \"normal\"; mean = 1.0; sigma = 3.0; }"
/* The outer planet without what MASS varies. */
#define OUTER_FREE "{ name = \"c\"; m = 5e-4; P = 61.0; omega = 200.0; M = 40.0; inc = 80.0; }"
#define BOTH_FREE  "{ name = \"b\"; P = 24.0; e = 0.1; M = 10.0; inc = 80.0; }, " OUTER_FREE

/* ---- the same by other means ------------------------------------------------------------------------------------- */

/* ln L of the study's system s, as its values of `sample` made it. */
static double expected(shoal_context *context, const shoal_study *study, const shoal_model *model, long s,
                       double offset)
{
    enum { MOST_BODIES = 3 };
    shoal_body bodies[MOST_BODIES];
    shoal_ensemble_get_bodies(study->ensemble, s, bodies);
    double seen[N_DATA], lnl = 0;
    (void)model;
    for (int leg = 0; leg < 2; leg++) { /* one time after the other, in the order of the leg */
        shoal_ensemble *ensemble = NULL;
        shoal_plan *plan = NULL;
        shoal_options options = study->options;
        const double unit = shoal_units_factor(&study->units, "time"), sign = leg ? -1 : 1;
        options.t_end = sign * 98 * unit;
        assert_ok(context, shoal_ensemble_create(context, 1, 3, &ensemble));
        assert_ok(context, shoal_ensemble_set_bodies(ensemble, 0, 3, bodies));
        assert_ok(context, shoal_plan_create(context, ensemble, &options, &plan));
        double last = -INFINITY;
        for (int done = 0; done < N_DATA; done++) {
            double next = INFINITY;
            for (int j = 0; j < N_DATA; j++)
                if (sign * time_of(j) > last && sign * time_of(j) < next && (time_of(j) < 0) == (leg == 1))
                    next = sign * time_of(j);
            if (!isfinite(next))
                break;
            const double t = (sign * next + 1000 - 1000) * unit;
            const shoal_observable what = {0, 5};
            double value;
            assert_ok(context, shoal_plan_observe(plan, 1, &t, 1, &what, &value));
            for (int j = 0; j < N_DATA; j++)
                if (time_of(j) == sign * next)
                    seen[j] = value;
            last = next;
        }
        shoal_plan_destroy(&plan);
        shoal_ensemble_destroy(&ensemble);
    }
    /* a unit of velocity in m/s: 2 pi AU a year that has G = 1 */
    const double metres = 149597870700.0 / (shoal_units_factor(&study->units, "time") > 0
                                                ? 86400 / shoal_units_factor(&study->units, "time")
                                                : NAN);
    for (int j = 0; j < N_DATA; j++) {
        const bool one = j % 3 != 0;
        const double s2 = error_of(j) * error_of(j) + (one ? 1.5 * 1.5 : 0);
        const double r = value_of(j) + seen[j] * metres - (one ? offset : 2 + 0.03 * time_of(j));
        lnl -= r * r / (2 * s2) + log(TWO_PI * s2) / 2;
    }
    return lnl;
}

static void compare(shoal_context *context, const char *planets, const char *parameters, const char *more)
{
    char text[MOST_TEXT];
    text_of(planets, parameters, more, text);
    shoal_study *study = study_of(context, text);
    shoal_model *model = NULL;
    assert_ok(context, shoal_model_create(study, 5, &model));
    const int k = shoal_model_n_parameters(model);
    assert_int_equal(shoal_model_n_data(model), N_DATA);
    double theta[5 * 16], lnl[5];
    for (int s = 0; s < 5; s++)
        for (int p = 0; p < k; p++)
            theta[s * k + p] = study->swept[p].value[s];
    assert_ok(context, shoal_model_evaluate(model, 5, theta, lnl));
    for (int s = 0; s < 5; s++) {
        const double right = expected(context, study, model, s, theta[s * k + k - 1]);
        if (!(fabs(lnl[s] - right) <= 1e-9 * fabs(right)))
            fail_msg("%s: system %d: ln L = %.15g, not %.15g", planets, s, lnl[s], right);
    }
    shoal_model_destroy(&model);
    shoal_study_destroy(&study);
}

/* The velocities of the bodies as they are made, to rounding: data at the epoch. */
static void compare_at_epoch(shoal_context *context, const char *planets, const char *parameters, const char *more)
{
    char text[MOST_TEXT];
    static const char *const overrides[] = {"data[0].file=\"epoch.txt\"", "data[1].file=\"epoch.txt\""};
    shoal_study *study = NULL;
    shoal_model *model = NULL;
    text_of(planets, parameters, more, text);
    assert_ok(context, shoal_study_open(context, "model.cfg", text, 2, overrides, NULL, &study));
    assert_ok(context, shoal_model_create(study, 1, &model));
    const int k = shoal_model_n_parameters(model);
    const double metres = 149597870700.0 / 86400 * shoal_units_factor(&study->units, "time");
    for (int s = 0; s < 5; s++) {
        double theta[16], lnl;
        shoal_body bodies[3];
        for (int p = 0; p < k; p++)
            theta[p] = study->swept[p].value[s];
        assert_ok(context, shoal_model_evaluate(model, 1, theta, &lnl));
        shoal_ensemble_get_bodies(study->ensemble, s, bodies);
        const double v = -bodies[0].vz * metres, one = v + theta[k - 1], two = v + 2, s2 = 1 + 1.5 * 1.5;
        const double right = -one * one / (2 * s2) - two * two / 2 - log(TWO_PI * s2) / 2 - log(TWO_PI) / 2;
        if (!(fabs(lnl - right) <= 1e-13 * fabs(right)))
            fail_msg("%s: system %d: %.3g of ln L", planets, s, lnl / right - 1);
    }
    shoal_model_destroy(&model);
    shoal_study_destroy(&study);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void it_is_that_of_the_studys_own_bodies(void **state)
{
    static const char *const inner[] = {
        "e = 0.2; omega = 30.0; P = 24.0; M = 100.0; inc = 85.0; Omega = 20.0;",
        "e = 0.0; a = 0.18; f = 10.0; inc = 85.0;",
        "h = 0.1; k = -0.25; a = 0.18; l = 250.0; inc = 95.0; Omega = 10.0;",
        "e = 0.3; pomega = 77.0; P = 24.0; T = 3.0; ix = 0.4; iy = -1.3;",
        "e = 0.3; omega = -77.0; P = 24.0; T0 = -30.0; inc = 120.0;",
        "e = 0.85; omega = 10.0; P = 24.0; E = 170.0; inc = 60.0;",
        "e = 0.1; pomega = 10.0; P = 24.0; theta = 170.0; inc = 91.0;",
    };
    static const char *const outer[] = {
        "m = 5e-4; P = 61.0; omega = 200.0; M = 40.0; inc = 80.0;",
        "m = 5e-4; period_ratio = 2.6; delta_pomega = 40.0; delta_l = 80.0; inc = 88.0;",
        "msini = 5e-4; hill_spacing = 14.0; omega = 5.0; M = 40.0; inc = 70.0;",
    };
    for (int i = 0; i < SHOAL_COUNT(inner); i++)
        for (int o = 0; o < SHOAL_COUNT(outer); o++) {
            char planets[512];
            snprintf(planets, sizeof planets, "{ name = \"b\"; %s }, { name = \"c\"; %s }", inner[i], outer[o]);
            const char *frame = i == 0 ? "astrocentric" : i == 3 ? "barycentric" : "";
            compare(context_of(state), planets, MASS, frame);
            compare_at_epoch(context_of(state), planets, MASS, frame);
        }
}

#define OFFSET "{ data = \"one\"; parameter = \"offset\"; distribution = \"normal\"; mean = 1.0; sigma = 3.0; }"
#define FROM_TO(body, key, from, to) \
    "{ body = \"" body "\"; parameter = \"" key "\"; distribution = \"uniform\"; from = " from "; to = " to "; }, "

/* The keys of observers, some of them parameters: the walkers' masses, radii and orbits follow as those of the
 * study. */
static void it_is_that_of_what_observers_say(void **state)
{
    static const struct {
        const char *planets, *parameters, *frame;
    } cases[] = {
        {"K = 30.0; inc = 80.0; P = 24.0; e_cos = 0.1; e_sin = 0.2; M = 3.0;", FROM_TO("b", "P", "22.0", "26.0"), ""},
        {"e = 0.1; omega = 30.0; cosi = -0.2; a = 0.15; l = 250.0;", FROM_TO("b", "K", "0.0", "300.0"), ""},
        {"P = 24.0; sqrt_e_sin = -0.4; b = 0.4; T0 = 3.0;",
         FROM_TO("b", "K", "0.0", "30000.0") FROM_TO("b", "sqrt_e_cos", "-0.5", "0.5"), "astrocentric"},
        {"P = 24.0; sqrt_e_cos = 0.4; msini = 0.1; T0 = 3.0; sqrt_e_sin = 0.0;", FROM_TO("b", "b", "-2.0", "2.0"), ""},
        {"P = 24.0; e = 0.3; inc = 50.0; M = 10.0; epoch = 300.0;", FROM_TO("b", "log10_m", "-7.0", "-1.0"), ""},
        {"P = 24.0; e = 0.3; inc = 50.0; f = 10.0; mass_ratio = 0.01;", FROM_TO("b", "epoch", "-90.0", "90.0"),
         "barycentric"},
        {"a = 0.15; e = 0.3; E = 10.0; epoch = 20.0; mass_ratio = 0.01;",
         FROM_TO("b", "cosi", "-1.0", "1.0") FROM_TO("star", "density", "0.3", "3.0"), "density"},
        {"a = 0.15; e = 0.3; theta = 10.0; epoch = 20.0; K = 10.0;",
         FROM_TO("b", "b", "-1.0", "1.0") FROM_TO("star", "density", "0.3", "3.0"), "density"},
    };
    for (int i = 0; i < SHOAL_COUNT(cases); i++) {
        char planets[512], parameters[1024];
        snprintf(planets, sizeof planets, "{ name = \"b\"; %s }, { name = \"c\"; %s e = 0.1; M = 70.0; }",
                 cases[i].planets, i % 2 ? "m = 1e-3; P = 61.0;" : "period_ratio = 2.7; K = 80.0; inc = 70.0;");
        if (strstr(cases[i].frame, "bary"))
            snprintf(planets, sizeof planets, "{ name = \"b\"; %s }, " OUTER, cases[i].planets);
        snprintf(parameters, sizeof parameters, "%s" OFFSET, cases[i].parameters);
        compare(context_of(state), planets, parameters, cases[i].frame);
        compare_at_epoch(context_of(state), planets, parameters, cases[i].frame);
    }
}

static void neighbours_batches_and_threads_change_no_bits(void **state)
{
    enum { N = 77 };
    shoal_context *context = context_of(state);
    char text[MOST_TEXT];
    text_of(BOTH_FREE, MASS, "", text);
    shoal_study *study = study_of(context, text);
    double theta[3 * N], all[N], some[N];
    for (int i = 0; i < N; i++) {
        theta[3 * i] = 1e-4 * (1 + 0.01 * i);
        theta[3 * i + 1] = i == 5 ? 1.0 : i == 6 ? NAN : i == 40 ? -0.1 : 0.004 * i; /* no ellipses */
        theta[3 * i + 2] = 0.1 * i;
    }
    theta[3 * 11] = -1e-4;
    for (int way = 0; way < 4; way++) {
        shoal_model *model = NULL;
        study->options.threads = way == 3 ? 3 : 1;
        assert_ok(context, shoal_model_create(study, way == 0 ? N : way == 1 ? 1 : 10, &model));
        assert_ok(context, shoal_model_evaluate(model, N, theta, way ? some : all));
        if (way)
            assert_memory_equal(some, all, sizeof all);
        assert_ok(context, shoal_model_evaluate(model, 9, theta + 3 * 20, some));
        assert_memory_equal(some, all + 20, 9 * sizeof *all);
        shoal_model_destroy(&model);
    }
    for (int i = 0; i < N; i++)
        if (i == 5 || i == 6 || i == 11 || i == 40)
            assert_true(isinf(all[i]) && all[i] < 0);
        else
            assert_true(isfinite(all[i]) && (i == 0 || all[i] != all[i - 1]));
    shoal_study_destroy(&study);
}

/* The step error of ln L is what a model with half the step, or a part of the tolerance, has more. */
static void the_step_has_its_error(void **state)
{
    shoal_context *context = context_of(state);
    static const char *const integrators[][3] = {
        {"name = \"mvs\"; dt = 0.4;", "name = \"mvs\"; dt = 0.2;", "name = \"mvs\"; dt = 0.4;"},
        {"name = \"gauss_radau\"; epsilon = 1e-4; dt = 0.4;", "name = \"gauss_radau\"; epsilon = 7.8125e-7; dt = 0.2;",
         "name = \"mvs\"; dt = 0.4;"}};
    for (int i = 0; i < 2; i++) {
        shoal_study *study[2];
        shoal_model *model[2];
        double theta[3 * 5], lnl[2][5], error[5], largest = 0;
        for (int half = 0; half < 2; half++) {
            char text[MOST_TEXT];
            text_of(BOTH_FREE, MASS, "", text);
            replace(text, integrators[i][2], integrators[i][half]);
            study[half] = study_of(context, text);
            assert_ok(context, shoal_model_create(study[half], 3, &model[half]));
        }
        for (int k = 0; k < 15; k++)
            theta[k] = k % 3 == 0 ? 1e-4 * (1 + k / 3) : k % 3 == 1 ? 0.1 * (k / 3) : 1.0;
        theta[4 * 3 + 1] = 1.5; /* no ellipse */
        for (int half = 0; half < 2; half++)
            assert_ok(context, shoal_model_evaluate(model[half], 5, theta, lnl[half]));
        assert_ok(context, shoal_model_step_error(model[0], 5, theta, error));
        for (int v = 0; v < 4; v++) {
            assert_true(error[v] == lnl[1][v] - lnl[0][v]);
            largest = fmax(largest, fabs(error[v]));
        }
        assert_true(isnan(error[4]) && largest > 1e-9 && largest < 1);
        assert_int_equal(shoal_model_step_error(model[0], -1, theta, error), SHOAL_E_USAGE);
        assert_int_equal(shoal_model_step_error(model[0], 5, NULL, error), SHOAL_E_USAGE);
        assert_int_equal(shoal_model_step_error(model[0], 5, theta, NULL), SHOAL_E_USAGE);
        for (int half = 0; half < 2; half++) {
            shoal_model_destroy(&model[half]);
            shoal_study_destroy(&study[half]);
        }
    }
}

/* A planet alone moves on an ellipse, told by a time of transit: the epoch does not matter. */
static void the_epoch_may_lie_anywhere(void **state)
{
    shoal_context *context = context_of(state);
    char text[MOST_TEXT];
    double first = NAN;
    static const double epochs[] = {-200, -97.3, -3, 0, 0.4, 55, 300};
    text_of("{ name = \"b\"; m = 1e-3; P = 24.0; omega = 40.0; T0 = 3.0; inc = 80.0; }",
            "{ body = \"b\"; parameter = \"e\"; distribution = \"uniform\"; from = 0.0; to = 1.0; }", "", text);
    for (int i = 0; i < SHOAL_COUNT(epochs); i++) {
        shoal_study *study = NULL;
        shoal_model *model = NULL;
        char start[64];
        snprintf(start, sizeof start, "run.t_start=%.1f", epochs[i]);
        const char *overrides[] = {start, "run.t_end=400.0", "data[1].trend=0.0", "integrator.name=\"mvs_jacobi\""};
        assert_ok(context, shoal_study_open(context, "model.cfg", text, 4, overrides, NULL, &study));
        assert_ok(context, shoal_model_create(study, 1, &model));
        double theta = 0.3, lnl;
        assert_ok(context, shoal_model_evaluate(model, 1, &theta, &lnl));
        first = i ? first : lnl;
        if (!(fabs(lnl - first) <= 1e-9 * fabs(first)))
            fail_msg("epoch %g: ln L = %.15g, not %.15g", epochs[i], lnl, first);
        shoal_model_destroy(&model);
        shoal_study_destroy(&study);
    }
}

/* The integral of L over the offset by Simpson's rule. */
static void an_offset_is_integrated_over(void **state)
{
    enum { POINTS = 2001 };
    shoal_context *context = context_of(state);
    char text[MOST_TEXT];
    double theta[POINTS], lnl[POINTS], marginal, sum = 0;
    shoal_study *study;
    shoal_model *model = NULL;
    const char *planets = "{ name = \"b\"; m = 1e-4; P = 24.0; inc = 80.0; }, " OUTER;
    text_of(planets, "{ data = \"one\"; parameter = \"offset\"; distribution = \"uniform\"; from = -1e3; to = 1e3; }",
            "", text);
    study = study_of(context, text);
    assert_ok(context, shoal_model_create(study, 100, &model));
    for (int i = 0; i < POINTS; i++)
        theta[i] = -40 + 80.0 * i / (POINTS - 1);
    assert_ok(context, shoal_model_evaluate(model, POINTS, theta, lnl));
    double most = -INFINITY;
    for (int i = 0; i < POINTS; i++)
        most = fmax(most, lnl[i]);
    for (int i = 0; i < POINTS; i++)
        sum += exp(lnl[i] - most) * (i == 0 || i == POINTS - 1 ? 1 : i % 2 ? 4 : 2) * (80.0 / (POINTS - 1)) / 3;
    shoal_model_destroy(&model);
    shoal_study_destroy(&study);
    text_of(planets, "{ body = \"b\"; parameter = \"e\"; distribution = \"uniform\"; from = 0.0; to = 1.0; }",
            "marginal = true;", text);
    study = study_of(context, text);
    assert_ok(context, shoal_model_create(study, 1, &model));
    theta[0] = 0;
    assert_ok(context, shoal_model_evaluate(model, 1, theta, &marginal));
    assert_true(fabs(marginal - (most + log(sum))) < 1e-9 * fabs(marginal));
    shoal_model_destroy(&model);
    shoal_study_destroy(&study);
}

/* The density is the derivative of the inverse of the quantile, and none lies outside. */
static void priors_are_densities(void **state)
{
    static const char *const priors[] = {
        "distribution = \"uniform\"; from = 0.1; to = 0.4;",
        "distribution = \"log_uniform\"; from = 0.1; to = 0.4;",
        "distribution = \"power_law\"; from = 0.1; to = 0.4; exponent = -1.0;",
        "distribution = \"power_law\"; from = 0.1; to = 0.4; exponent = 0.7;",
        "distribution = \"normal\"; mean = 0.3; sigma = 0.2;",
        "distribution = \"truncated_normal\"; mean = 0.3; sigma = 0.2; from = 0.0; to = 0.9;",
        "distribution = \"truncated_normal\"; mean = -0.3; sigma = 0.1; from = 0.0; to = 0.9;",
        "distribution = \"asymmetric_normal\"; mode = 0.3; plus = 0.4; minus = 0.1;",
        "distribution = \"asymmetric_normal\"; mode = 0.3; plus = 0.1; minus = 0.4; from = 0.0; to = 0.9;",
        "distribution = \"asymmetric_normal\"; mode = -0.1; plus = 0.2; minus = 0.4; from = 0.0;",
        "distribution = \"rayleigh\"; sigma = 0.2;",
        "distribution = \"rayleigh\"; sigma = 0.2; to = 0.3;",
        "distribution = \"log_normal\"; mean = -1.0; sigma = 0.4;",
        "distribution = \"log_normal\"; mean = -1.0; sigma = 0.4; from = 0.3; to = 0.8;",
        "distribution = \"exponential\"; mean = 0.2;",
        "distribution = \"exponential\"; mean = 0.2; from = 0.1; to = 0.4;",
        "distribution = \"truncated_normal\"; mean = -0.3; sigma = 0.1; from = 0.0;",
        "distribution = \"beta\";",
        "distribution = \"beta\"; alpha = 2.0; beta = 3.0; from = 0.1; to = 0.5;",
        "distribution = \"beta\"; alpha = 50.0; beta = 1000.0; from = 0.01; to = 0.5;",
        "distribution = \"beta\"; alpha = 500.0; beta = 500.0;",
        "distribution = \"isotropic\";",
        "distribution = \"isotropic\"; from = 20.0; to = 100.0;",
    };
    shoal_context *context = context_of(state);
    for (int i = 0; i < SHOAL_COUNT(priors); i++) {
        char text[MOST_TEXT], parameter[512];
        const bool angle = strstr(priors[i], "isotropic") != NULL;
        snprintf(parameter, sizeof parameter, "{ body = \"b\"; parameter = \"%s\"; %s }", angle ? "inc" : "e",
                 priors[i]);
        text_of(angle ? "{ name = \"b\"; m = 1e-4; P = 24.0; e = 0.1; }" : "{ name = \"b\"; m = 1e-4; P = 24.0; }",
                parameter, "", text);
        shoal_study *study = study_of(context, text);
        shoal_model *model = NULL;
        assert_ok(context, shoal_model_create(study, 1, &model));
        for (double u = 0.003; u < 1; u += 0.0837) {
            const double h = 1e-5 * fmin(u, 1 - u), cube[3] = {u - h, u, u + h};
            double x[3], lnp;
            assert_ok(context, shoal_model_prior_transform(model, 3, cube, x));
            assert_ok(context, shoal_model_log_prior(model, 1, &x[1], &lnp));
            if (!(fabs(lnp - log(2 * h / (x[2] - x[0]))) < 2e-5))
                fail_msg("%s at %g: density %g, not %g", priors[i], x[1], exp(lnp), 2 * h / (x[2] - x[0]));
        }
        enum { POINTS = 4001 }; /* Simpson's rule between two quantiles */
        const double ends[2] = {0.001, 0.999};
        double within[2], sum = 0;
        assert_ok(context, shoal_model_prior_transform(model, 2, ends, within));
        const double none = NAN;
        double nothing;
        assert_ok(context, shoal_model_prior_transform(model, 1, &none, &nothing));
        assert_true(isnan(nothing));
        for (int k = 0; k < POINTS; k++) {
            const double at = within[0] + (within[1] - within[0]) * k / (POINTS - 1);
            double lnp;
            assert_ok(context, shoal_model_log_prior(model, 1, &at, &lnp));
            sum += exp(lnp) * (k == 0 || k == POINTS - 1 ? 1 : k % 2 ? 4 : 2);
        }
        sum *= (within[1] - within[0]) / (POINTS - 1) / 3;
        if (!(fabs(sum - 0.998) < 1e-5))
            fail_msg("%s: %.9f lies between the quantiles", priors[i], sum);
        const double outside[] = {-1e-9, NAN, INFINITY, -INFINITY};
        double lnp[4];
        assert_ok(context, shoal_model_log_prior(model, 4, outside, lnp));
        assert_true(lnp[1] == -INFINITY && lnp[2] == -INFINITY && lnp[3] == -INFINITY &&
                    (isinf(lnp[0]) || strstr(priors[i], "\"normal\"") || strstr(priors[i], "minus = 0.1")));
        shoal_model_destroy(&model);
        shoal_study_destroy(&study);
    }
}

/* Beta(a, 1) has the quantiles u^(1/a). Nobody gets stuck where its density is infinite. */
static void numbers_of_beta_are_found_in_the_tails(void **state)
{
    static const double parts[] = {1e-9, 1e-3, 0.2, 0.5, 0.88342, 1 - 1e-9};
    static const double far[] = {-37, -20, 20, 37};
    static const struct {
        double alpha, beta;
    } shapes[] = {{0.03, 1}, {0.3, 1}, {1, 1}, {3, 1}, {0.867, 3.03}, {3, 0.1}, {50, 1000}, {5000, 5000}, {1e4, 1e6}};
    shoal_context *context = context_of(state);
    for (int i = 0; i < SHOAL_COUNT(shapes); i++) {
        char text[MOST_TEXT], parameter[256];
        snprintf(parameter, sizeof parameter,
                 "{ body = \"b\"; parameter = \"e\"; distribution = \"beta\"; alpha = %.17g; beta = %.17g; }",
                 shapes[i].alpha, shapes[i].beta);
        text_of("{ name = \"b\"; m = 1e-4; P = 24.0; }", parameter, "", text);
        shoal_study *study = study_of(context, text);
        shoal_model *model = NULL;
        double x, z, lnp;
        assert_ok(context, shoal_model_create(study, 1, &model));
        for (int k = 0; k < SHOAL_COUNT(parts); k++) {
            assert_ok(context, shoal_model_prior_transform(model, 1, &parts[k], &x));
            const double a = shapes[i].alpha, b = shapes[i].beta, below = gsl_cdf_beta_P(x, a, b), h = 0x1p-40 * x;
            /* x has rounding errors, which the upper tail magnifies */
            const double known = 1e-6 * fmin(parts[k], 1 - parts[k]) + fabs(gsl_cdf_beta_P(x - h, a, b) - below);
            if (!(x > 0 && x <= 1 && fabs(below - parts[k]) <= known))
                fail_msg("Beta(%g, %g) at %g: %.17g", shapes[i].alpha, shapes[i].beta, parts[k], x);
        }
        for (int k = 0; k < SHOAL_COUNT(far); k++) {
            assert_ok(context, shoal_model_from_normal(model, 1, &far[k], &x));
            assert_true(x >= 0 && x <= 1);
            assert_ok(context, shoal_model_to_normal(model, 1, &x, &z));
            assert_true(fabs(z) <= 38);
        }
        x = 0;
        assert_ok(context, shoal_model_log_prior(model, 1, &x, &lnp));
        assert_true(shapes[i].alpha == 1 ? lnp == 0 : lnp == -INFINITY);
        shoal_model_destroy(&model);
        shoal_study_destroy(&study);
    }
}

#define CORRELATED(body, key, mean) \
    "{ body = \"" body "\"; parameter = \"" key "\"; distribution = \"correlated_normal\"; mean = " mean "; }, "

/* A Gaussian of two parameters with another between them: its density, its quantiles, its draws, from both places. */
static void correlated_parameters_have_their_covariance(void **state)
{
    enum { N = 4000 };
    static const double mean[2] = {24, 0.3}, sigma[2] = {0.5, 0.02}, rho = -0.8;
    shoal_context *context = context_of(state);
    for (int by_file = 0; by_file < 2; by_file++) {
        char text[MOST_TEXT], matrix[256];
        const double cross = rho * sigma[0] * sigma[1];
        snprintf(matrix, sizeof matrix, "sample = { covariance = [%.17g, %.17g, %.17g, %.17g];", sigma[0] * sigma[0],
                 cross, cross, sigma[1] * sigma[1]);
        FILE *out = fopen("cov.csv", "w");
        assert_non_null(out);
        fprintf(out, "# made for a test\nb.P,b.e\n%.17g,%.17g\n%.17g,%.17g\n", sigma[0] * sigma[0], cross, cross,
                sigma[1] * sigma[1]);
        fclose(out);
        text_of("{ name = \"b\"; m = 1e-4; inc = 80.0; }",
                CORRELATED("b", "P", "24.0") FROM_TO("b", "M", "0.0", "90.0") CORRELATED("b", "e", "0.3") OFFSET, "",
                text);
        replace(text, "sample = {", by_file ? "sample = { covariance_file = \"cov.csv\";" : matrix);
        const char *count = "sample.count=4000";
        shoal_study *study = NULL;
        shoal_model *model = NULL;
        assert_ok(context, shoal_study_open(context, "model.cfg", text, 1, &count, NULL, &study));
        assert_ok(context, shoal_model_create(study, 1, &model));
        const double cube[2][4] = {{0.5, 0.5, 0.5, 0.5}, {0.9, 0.3, 0.2, 0.5}};
        double theta[2][4], lnp[2], z[2];
        assert_ok(context, shoal_model_prior_transform(model, 2, cube[0], theta[0]));
        assert_ok(context, shoal_model_log_prior(model, 2, theta[0], lnp));
        double normal[2][4];
        assert_ok(context, shoal_model_to_normal(model, 2, theta[0], normal[0]));
        for (int k = 0; k < 8; k++)
            assert_true(fabs(normal[k / 4][k % 4] - gsl_cdf_ugaussian_Pinv(cube[k / 4][k % 4])) < 1e-10);
        assert_true(fabs(theta[0][0] - 24) < 1e-14 && fabs(theta[0][2] - 0.3) < 1e-15);
        for (int k = 0; k < 2; k++)
            z[k] = (theta[1][2 * k] - mean[k]) / sigma[k];
        assert_true(fabs(z[0] - 1.2815515655446004) < 1e-12); /* the quantile 0.9 */
        assert_true(fabs((z[1] - rho * z[0]) / sqrt(1 - rho * rho) + 0.8416212335729143) < 1e-12);
        const double square = (z[0] * z[0] - 2 * rho * z[0] * z[1] + z[1] * z[1]) / (1 - rho * rho);
        const double constant = -log(TWO_PI * sigma[0] * sigma[1] * sqrt(1 - rho * rho));
        assert_true(fabs(lnp[1] - (constant - square / 2 - log(90) - log(TWO_PI * 9) / 2)) < 1e-12);
        double sum[5] = {0};
        for (int s = 0; s < N; s++) {
            const double x = study->swept[0].value[s] - mean[0], y = study->swept[2].value[s] - mean[1];
            const double of[5] = {x / sigma[0], y / sigma[1], x * x / sigma[0] / sigma[0], y * y / sigma[1] / sigma[1],
                                  x * y / sigma[0] / sigma[1]};
            for (int k = 0; k < 5; k++)
                sum[k] += of[k] / N;
        }
        const double right[5] = {0, 0, 1, 1, rho};
        for (int k = 0; k < 5; k++)
            if (!(fabs(sum[k] - right[k]) < 0.08)) /* 3.5 sigma of the widest */
                fail_msg("moment %d of the draws: %g, not %g", k, sum[k], right[k]);
        shoal_model_destroy(&model);
        shoal_study_destroy(&study);
        unlink("cov.csv");
    }
}

/* ---- derivatives ------------------------------------------------------------------------------------------------- */

enum { N_FREE = 4, OF_OFFSET = 2 };
#define FREE MASS ", { body = \"b\"; parameter = \"P\"; distribution = \"normal\"; mean = 24.0; sigma = 0.5; }"

static shoal_model *free_model(shoal_context *context, shoal_study **study)
{
    char text[MOST_TEXT];
    shoal_model *model = NULL;
    text_of("{ name = \"b\"; e = 0.1; omega = 30.0; M = 10.0; inc = 80.0; }, " OUTER_FREE, FREE, "", text);
    *study = study_of(context, text);
    assert_ok(context, shoal_model_create(*study, 64, &model));
    assert_int_equal(shoal_model_n_parameters(model), N_FREE);
    return model;
}

/* d ln L / d x_i of the last of these vectors by differences of sixth order over a tenth of a scale. */
static double sixth_order(shoal_context *context, shoal_model *model, const double x[N_FREE], int i, double scale)
{
    static const double weight[3] = {0.75, -0.15, 1.0 / 60};
    const double h = 0.1 * scale;
    double sum = 0;
    for (int j = 0; j < 3; j++)
        for (int side = -1; side <= 1; side += 2) {
            double at[N_FREE], lnl;
            memcpy(at, x, sizeof at);
            at[i] += side * (j + 1) * h;
            assert_ok(context, shoal_model_evaluate(model, 1, at, &lnl));
            sum += side * weight[j] * lnl;
        }
    return sum / h;
}

static void a_gradient_is_that_of_the_density(void **state)
{
    shoal_context *context = context_of(state);
    shoal_study *study;
    shoal_model *model = free_model(context, &study);
    const double x[N_FREE] = {3e-4, 0.15, 2, 23.9};
    double scale[N_FREE], values[2], gradient[2][N_FREE], predicted[N_DATA], lnl, lnp, slope = 0;
    assert_ok(context, shoal_model_scales(model, SHOAL_PARAMETERS, x, scale));
    assert_ok(context, shoal_model_gradient(model, SHOAL_PARAMETERS, 1, x, scale, values, gradient[0]));
    assert_ok(context, shoal_model_evaluate(model, 1, x, &lnl));
    assert_ok(context, shoal_model_log_prior(model, 1, x, &lnp));
    assert_true(values[0] == lnl && values[1] == lnp);
    for (int i = 0; i < N_FREE; i++)
        if (!(fabs(gradient[0][i] - sixth_order(context, model, x, i, scale[i])) < 1e-3 / scale[i]))
            fail_msg("derivative %d: %g, not %g; scale %g", i, gradient[0][i],
                     sixth_order(context, model, x, i, scale[i]), scale[i]);
    assert_ok(context, shoal_model_predict(model, 1, x, predicted));
    for (int j = 0, n = 0; j < N_DATA; j++) /* the first data of the config are those of one */
        if (j % 3)
            slope += (value_of(j) - predicted[n++]) / (error_of(j) * error_of(j) + 1.5 * 1.5);
    assert_true(fabs(gradient[0][OF_OFFSET] - slope) < 1e-7 * fabs(slope));
    assert_true(fabs(gradient[1][0] + 1 / x[0]) < 1e-4 * fabs(1 / x[0])); /* of log-uniform masses */
    assert_true(fabs(gradient[1][1] - (1 / x[1] - x[1] / 0.01)) < 1e-3 / x[1]);
    assert_true(fabs(gradient[1][OF_OFFSET] + 1 / 9.0) < 1e-9);
    shoal_model_destroy(&model);
    shoal_study_destroy(&study);
}

/* The density of standard normal numbers is that of the parameters times the derivatives of these. */
static void normal_numbers_have_the_same_density(void **state)
{
    shoal_context *context = context_of(state);
    shoal_study *study;
    shoal_model *model = free_model(context, &study);
    const double z[N_FREE] = {0.4, -0.3, 0.5, -0.2};
    double theta[3][N_FREE], scale[2][N_FREE], values[2][2], gradient[2][2][N_FREE], ln_volume = 0;
    assert_ok(context, shoal_model_from_normal(model, 1, z, theta[0]));
    assert_true(fabs(theta[0][3] - 23.9) < 1e-12 && fabs(theta[0][OF_OFFSET] - 2.5) < 1e-13);
    double back[N_FREE];
    assert_ok(context, shoal_model_to_normal(model, 1, theta[0], back));
    for (int i = 0; i < N_FREE; i++)
        assert_true(fabs(back[i] - z[i]) < 1e-10);
    theta[1][0] = 1;
    for (int i = 1; i < N_FREE; i++)
        theta[1][i] = theta[0][i];
    assert_ok(context, shoal_model_to_normal(model, 1, theta[1], back));
    assert_true(isnan(back[0]) && fabs(back[1] - z[1]) < 1e-10);
    for (int c = 0; c < 2; c++) {
        const double *at = c ? z : theta[0];
        assert_ok(context, shoal_model_scales(model, (enum shoal_coordinates)c, at, scale[c]));
        assert_ok(context,
                  shoal_model_gradient(model, (enum shoal_coordinates)c, 1, at, scale[c], values[c], gradient[c][0]));
    }
    assert_true(values[0][0] == values[1][0]);
    for (int i = 0; i < N_FREE; i++) {
        const double h = 1e-5;
        double moved[2][N_FREE];
        for (int side = 0; side < 2; side++) {
            memcpy(moved[side], z, sizeof z);
            moved[side][i] += side ? h : -h;
        }
        assert_ok(context, shoal_model_from_normal(model, 2, moved[0], theta[1]));
        const double stretch = (theta[2][i] - theta[1][i]) / (2 * h);
        ln_volume += log(stretch);
        assert_true(fabs(scale[1][i] * stretch / scale[0][i] - 1) < 0.7);
        assert_true(fabs(gradient[1][0][i] - gradient[0][0][i] * stretch) < 2e-3 / scale[1][i]);
        assert_true(gradient[1][1][i] == -z[i]);
    }
    assert_true(fabs(values[1][1] - (values[0][1] + ln_volume)) < 1e-8);
    shoal_model_destroy(&model);
    shoal_study_destroy(&study);
}

static void gradients_disturb_nobody(void **state)
{
    enum { N = 20 }; /* more than come in one call of 64 vectors */
    shoal_context *context = context_of(state);
    shoal_study *study;
    shoal_model *model = free_model(context, &study);
    double x[N][N_FREE], scale[N_FREE], values[N][2], gradient[N][2][N_FREE], alone[2], of_one[2][N_FREE];
    for (int v = 0; v < N; v++) {
        const double of[N_FREE] = {1e-4 * (1 + v), 0.02 * v, 0.1 * v, 23.5 + 0.05 * v};
        memcpy(x[v], of, sizeof of);
    }
    assert_ok(context, shoal_model_scales(model, SHOAL_PARAMETERS, x[5], scale));
    x[3][1] = 1.5;  /* no ellipse */
    x[4][0] = 1e-3; /* the largest mass: its derivative is one-sided */
    assert_ok(context, shoal_model_gradient(model, SHOAL_PARAMETERS, N, x[0], scale, values[0], gradient[0][0]));
    for (int v = 0; v < N; v++) {
        assert_ok(context, shoal_model_gradient(model, SHOAL_PARAMETERS, 1, x[v], scale, alone, of_one[0]));
        assert_memory_equal(values[v], alone, sizeof alone);
        assert_memory_equal(gradient[v], of_one, sizeof of_one);
        for (int i = 0; i < N_FREE; i++)
            assert_true(v == 3 ? isnan(gradient[v][0][i]) : isfinite(gradient[v][0][i]));
    }
    assert_true(values[3][0] == -INFINITY && values[3][1] == -INFINITY);
    assert_true(fabs(gradient[4][1][0] + 1e3) < 30);
    assert_int_equal(shoal_model_scales(model, SHOAL_PARAMETERS, x[3], scale), SHOAL_E_INPUT);
    scale[1] = 0;
    assert_int_equal(shoal_model_gradient(model, SHOAL_PARAMETERS, 1, x[0], scale, alone, of_one[0]), SHOAL_E_USAGE);
    assert_non_null(strstr(shoal_context_message(context), "scale[1] = 0"));
    shoal_model_destroy(&model);
    shoal_study_destroy(&study);
}

/* A number that follows a parameter is as if it were a parameter with that value. */
static void what_is_tied_follows(void **state)
{
    shoal_context *context = context_of(state);
    static const char *const planets = "{ name = \"b\"; m = 1e-3; e = 0.1; inc = 80.0; }, "
                                       "{ name = \"c\"; m = 5e-4; e = 0.1; inc = 80.0; }";
    char text[2][MOST_TEXT];
    double theta[2][4] = {{24, 3}, {24, 3, 50, 7}}, lnl[2];
    text_of(planets,
            FROM_TO("b", "P", "20.0", "30.0") "{ data = \"one\"; parameter = \"offset\"; distribution = \"normal\"; "
                                              "mean = 1.0; sigma = 3.0; }",
            "", text[0]);
    replace(text[0], "sample = {",
            "sample = { tied = ( { body = \"c\"; parameter = \"P\"; to = \"b.P\"; ratio = 2.0; add = 2.0; },\n"
            "{ data = \"two\"; parameter = \"offset\"; to = \"one.offset\"; ratio = 2.0; add = 1.0; } );");
    text_of(planets,
            FROM_TO("b", "P", "20.0", "30.0") "{ data = \"one\"; parameter = \"offset\"; distribution = \"normal\"; "
                                              "mean = 1.0; sigma = 3.0; }, " FROM_TO(
                                                  "c", "P", "20.0",
                                                  "90.0") "{ data = \"two\"; parameter = \"offset\"; distribution = "
                                                          "\"normal\"; mean = 1.0; sigma = 3.0; }",
            "", text[1]);
    for (int i = 0; i < 2; i++) {
        shoal_study *study = NULL;
        shoal_model *model = NULL;
        replace(text[i], "offset = 2.0; ", "");
        assert_ok(context, shoal_study_open(context, "model.cfg", text[i], 0, NULL, NULL, &study));
        assert_ok(context, shoal_model_create(study, 1, &model));
        assert_int_equal(shoal_model_n_parameters(model), i ? 4 : 2);
        assert_ok(context, shoal_model_evaluate(model, 1, theta[i], &lnl[i]));
        if (i == 0) {
            assert_int_equal(study->n_swept, 4); /* what is tied is a column of the result, too */
            for (int s = 0; s < 5; s++)
                assert_true(study->swept[2].value[s] == 2 * study->swept[0].value[s] + 2);
            shoal_body bodies[3];
            shoal_orbit orbits[3];
            shoal_ensemble_get_bodies(study->ensemble, 3, bodies);
            assert_ok(context, shoal_orbits_from_bodies(context, SHOAL_JACOBI, 3, bodies, orbits));
            const double P = study->swept[2].value[3] * shoal_units_factor(&study->units, "time");
            assert_true(fabs(orbits[2].P - P) < 1e-12 * P);
        }
        shoal_model_destroy(&model);
        shoal_study_destroy(&study);
    }
    assert_true(fabs(lnl[0] - lnl[1]) <= 1e-14 * fabs(lnl[1]));
}

/* An angle goes round if what follows it comes back with it; else its prior ends at its bounds. */
static void an_angle_goes_round_with_what_is_tied(void **state)
{
    static const struct {
        const char *tie;
        bool round;
    } ties[] = {{"parameter = \"omega\"; to = \"b.omega\"; ratio = 2.0;", true},
                {"parameter = \"omega\"; to = \"b.omega\"; ratio = 0.5;", false},
                {"parameter = \"M\"; to = \"b.omega\"; ratio = -1.0; add = 10.0;", true},
                {"parameter = \"inc\"; to = \"b.omega\"; ratio = 1.0;", false}};
    static const double theta[2] = {40, 400};
    shoal_context *context = context_of(state);
    for (int i = 0; i < SHOAL_COUNT(ties); i++) {
        char text[MOST_TEXT], tied[256];
        double lnp[2], lnl[2], z[2];
        text_of("{ name = \"b\"; m = 1e-3; P = 24.0; e = 0.1; inc = 80.0; }, "
                "{ name = \"c\"; m = 5e-4; P = 61.0; e = 0.1; }",
                "{ body = \"b\"; parameter = \"omega\"; distribution = \"uniform\"; from = 0.0; to = 360.0; }", "",
                text);
        snprintf(tied, sizeof tied, "sample = { tied = ( { body = \"c\"; %s } );", ties[i].tie);
        replace(text, "sample = {", tied);
        shoal_study *study = study_of(context, text);
        shoal_model *model = NULL;
        assert_ok(context, shoal_model_create(study, 2, &model));
        assert_ok(context, shoal_model_log_prior(model, 2, theta, lnp));
        assert_ok(context, shoal_model_evaluate(model, 2, theta, lnl));
        assert_ok(context, shoal_model_to_normal(model, 2, theta, z));
        assert_true(fabs(lnp[0] + log(360)) < 1e-14 && isfinite(lnl[0]) && isfinite(z[0]));
        assert_true(ties[i].round ? lnp[1] == lnp[0] && fabs(lnl[1] - lnl[0]) < 1e-9 * fabs(lnl[0]) && z[1] == z[0]
                                  : lnp[1] == -INFINITY && isnan(z[1]));
        shoal_model_destroy(&model);
        shoal_study_destroy(&study);
    }
}

static void expect_refusal(shoal_context *context, const char *text, const char *words)
{
    shoal_study *study = NULL;
    shoal_model *model = NULL;
    shoal_status status = shoal_study_open(context, "model.cfg", text, 0, NULL, NULL, &study);
    if (!status)
        status = shoal_model_create(study, 3, &model);
    assert_int_equal(status, SHOAL_E_INPUT);
    assert_null(model);
    if (!strstr(shoal_context_message(context), words))
        fail_msg("'%s' is not in: %s", words, shoal_context_message(context));
    shoal_study_destroy(&study);
}

/* The zero of a table that counts in Julian years is one of them. */
static void time_zero_is_a_number_of_the_table(void **state)
{
    shoal_context *context = context_of(state);
    char text[MOST_TEXT];
    FILE *out = fopen("years.vels", "w");
    assert_non_null(out);
    fputs(" 2010.2  58.07  19.7\n", out);
    fclose(out);
    text_of("{ name = \"b\"; P = 24.0; e = 0.1; inc = 80.0; }, " OUTER_FREE, MASS, "", text);
    replace(text,
            "file = \"rv.txt\"; columns = [\"time\", \"rv\", \"err\"];\n    instrument = \"one\"; time_zero = 1000.0;",
            "file = \"years.vels\"; format = \"vels\"; time = \"JYEAR_TDB\"; time_zero = 2010.0;");
    shoal_study *study = study_of(context, text);
    shoal_data data;
    assert_ok(context, shoal_data_read(study, &data));
    assert_true(fabs(shoal_units_time(&study->units, data.datum[0].time) - 0.2 * 365.25) < 1e-6);
    shoal_data_release(&data);
    shoal_study_destroy(&study);
    assert_int_equal(unlink("years.vels"), 0);
}

/* The same data in the table of another program, in other units, give the same ln L. */
static void a_table_of_observers_is_read(void **state)
{
    shoal_context *context = context_of(state);
    double lnl[2];
    for (int i = 0; i < 2; i++) {
        char text[MOST_TEXT];
        shoal_model *model = NULL;
        text_of("{ name = \"b\"; P = 24.0; e = 0.1; inc = 80.0; }, " OUTER_FREE, MASS, "", text);
        for (int k = 0; k < 2 * i; k++)
            replace(text, "file = \"rv.txt\"; columns = [\"time\", \"rv\", \"err\"];",
                    "file = \"radvel.csv\"; format = \"radvel\"; time = \"BJD_TDB - 2450000\";");
        if (i)
            replace(text, "unit = \"m/s\";", ""); /* the table says another */
        shoal_study *study = study_of(context, text);
        assert_ok(context, shoal_model_create(study, 1, &model));
        assert_int_equal(shoal_model_n_data(model), N_DATA);
        const double theta[3] = {1e-3, 0.2, 0.5};
        assert_ok(context, shoal_model_evaluate(model, 1, theta, &lnl[i]));
        shoal_model_destroy(&model);
        shoal_study_destroy(&study);
    }
    assert_true(fabs(lnl[0] - lnl[1]) <= 1e-12 * fabs(lnl[0]));
    for (int day = 1000; day <= 1001; day++) { /* an epoch that contradicts time_zero */
        char text[MOST_TEXT], epoch[64];
        text_of("{ name = \"b\"; P = 24.0; e = 0.1; inc = 80.0; }, " OUTER_FREE, MASS, "", text);
        replace(text, "file = \"rv.txt\"; columns = [\"time\", \"rv\", \"err\"];",
                "file = \"radvel.csv\"; format = \"radvel\"; time = \"BJD_TDB - 2450000\";");
        snprintf(epoch, sizeof epoch, "epoch = \"BJD_TDB 245%d.0\"; units = {", day);
        replace(text, "units = {", epoch);
        if (day > 1000) {
            expect_refusal(context, text, "data[0].time_zero = 1000.0: expected 1001");
            continue;
        }
        shoal_model *model = NULL;
        shoal_study *study = study_of(context, text);
        assert_ok(context, shoal_model_create(study, 1, &model));
        shoal_model_destroy(&model);
        shoal_study_destroy(&study);
    }
}

/* A radius, a density that cannot be, and planets that touch where a monitor ends such a system, have no likelihood; of
 * others it is the same with the monitor as without. */
static void see_what_cannot_be(shoal_context *context, const char *engine)
{
    enum { N = 4, RUNS = 4 };
    static const double radius[N] = {1e-5, -1e-5, 0.1, 1e-5}; /* 0.1 AU: they meet at the next conjunction */
    static const char *const monitors[RUNS] = {
        "monitors=()", "monitors=({name=\"stop_on_encounter\"; radius=\"absolute\"; distance=0.3; action=\"log\";})",
        "monitors=({name=\"stop_on_collision\";})", "monitors=({name=\"stop_on_collision\"; action=\"merge\";})"};
    double theta[3 * N], lnl[RUNS][N];
    char text[MOST_TEXT];
    text_of("{ name = \"b\"; m = 1e-4; P = 24.0; e = 0.1; M = 10.0; inc = 80.0; }, "
            "{ name = \"c\"; m = 5e-4; r = 0.1; P = 61.0; omega = 200.0; M = 40.0; inc = 80.0; }",
            "{ body = \"b\"; parameter = \"r\"; distribution = \"normal\"; mean = 0.0; sigma = 1.0; }, " FROM_TO(
                "c", "e", "0.0", "0.5") OFFSET,
            "", text);
    for (int i = 0; i < N; i++)
        theta[3 * i] = radius[i], theta[3 * i + 1] = 0.02, theta[3 * i + 2] = 1;
    for (int run = 0; run < RUNS; run++) {
        const char *const words[] = {engine, monitors[run]};
        shoal_study *study = NULL;
        shoal_model *model = NULL;
        assert_ok(context, shoal_study_open(context, "model.cfg", text, 2, words, NULL, &study));
        assert_ok(context, shoal_model_create(study, N, &model));
        assert_ok(context, shoal_model_evaluate(model, N, theta, lnl[run]));
        shoal_model_destroy(&model);
        shoal_study_destroy(&study);
    }
    for (int i = 0; i < N; i++) {
        assert_int_equal(isfinite(lnl[0][i]), radius[i] > 0);
        assert_int_equal(isfinite(lnl[2][i]), radius[i] == 1e-5);
        assert_true(lnl[0][i] == lnl[1][i] && lnl[2][i] == lnl[3][i]);
        assert_true(lnl[2][i] == -INFINITY || lnl[0][i] == lnl[2][i]);
    }
}

static void what_cannot_be_has_no_likelihood(void **state)
{
    shoal_context *context = context_of(state);
    see_what_cannot_be(context, "run.engine=\"cpu\"");
    char text[MOST_TEXT];
    text_of("{ name = \"b\"; r = 1e-4; P = 24.0; e = 0.1; M = 10.0; inc = 80.0; }, " OUTER_FREE,
            "{ body = \"b\"; parameter = \"density\"; distribution = \"normal\"; mean = 1.0; sigma = 1.0; }, "
            "{ body = \"c\"; parameter = \"e\"; distribution = \"rayleigh\"; sigma = 0.1; to = 0.5; }, " OFFSET,
            "", text);
    const double theta[] = {1, 0.1, 0, -1, 0.1, 0, 0, 0.1, 0};
    double lnl[3];
    shoal_study *study = study_of(context, text);
    shoal_model *model = NULL;
    assert_ok(context, shoal_model_create(study, 3, &model));
    assert_ok(context, shoal_model_evaluate(model, 3, theta, lnl));
    assert_true(isfinite(lnl[0]) && lnl[1] == -INFINITY && lnl[2] == -INFINITY);
    shoal_model_destroy(&model);
    shoal_study_destroy(&study);
    /* a velocity or a jitter below 0 */
    text_of("{ name = \"b\"; a = 0.2; e = 0.1; M = 10.0; inc = 80.0; }, " OUTER_FREE,
            "{ body = \"b\"; parameter = \"K\"; distribution = \"normal\"; mean = 1e-3; sigma = 1.0; }, "
            "{ data = \"one\"; parameter = \"jitter\"; distribution = \"normal\"; mean = 1.0; sigma = 1.0; }, " OFFSET,
            "", text);
    replace(text, "jitter = 1.5;", "");
    const double below[] = {1e-3, 1, 0, -1e-3, 1, 0, 1e-3, -1, 0};
    study = study_of(context, text);
    assert_ok(context, shoal_model_create(study, 3, &model));
    assert_ok(context, shoal_model_evaluate(model, 3, below, lnl));
    assert_true(isfinite(lnl[0]) && lnl[1] == -INFINITY && lnl[2] == -INFINITY);
    shoal_model_destroy(&model);
    shoal_study_destroy(&study);
}

static void what_cannot_be_has_none_on_a_gpu(void **state)
{
    need_gpu();
    see_what_cannot_be(context_of(state), "run.engine=\"cuda\"");
}

/* Mean anomaly to the star's velocity over K, as observers write it: cos(f + omega) + e cos(omega). */
static double kepler_velocity(double M, double e, double omega)
{
    const double f = shoal_true_anomaly(e, M);
    return cos(f + omega) + e * cos(omega);
}

/* Of real data and light planets Kepler's ellipses give ln L, by radvel's formulae (Fulton et al. 2018,
 * doi:10.1088/1538-3873/aaaaa8, equations 1 to 3 and 11), but for the planets' pull on each other: 0.008. Velocities of
 * the other sign would change it by some tens. */
static void hd_164922_is_that_of_two_ellipses(void **state)
{
    shoal_context *context = context_of(state);
    char path[512];
    shoal_study *study = NULL;
    shoal_model *model = NULL;
    static const char *const overrides[] = {"data[0].marginal=false", "data[1].marginal=false",
                                            "data[2].marginal=false", "integrator.dt=2.0"};
    const char *root = getenv("SHOAL_ROOT");
    snprintf(path, sizeof path, "%s/configs/hd_164922.cfg", root ? root : ".");
    assert_ok(context, shoal_study_open(context, path, NULL, 4, overrides, NULL, &study));
    assert_ok(context, shoal_model_create(study, 1, &model));
    enum { MSINI_B, P_B, H_B, K_B, L_B, MSINI_C, P_C, H_C, K_C, L_C, JITTER };
    const double theta[] = {1e-4, 1200, 0.05, 0.1, 40, 4e-5, 75.8, 0.1, -0.05, 100, 2.6, 2.6, 2.6};
    double lnl, right = 0;
    assert_int_equal(shoal_model_n_parameters(model), SHOAL_COUNT(theta));
    assert_ok(context, shoal_model_evaluate(model, 1, theta, &lnl));
    shoal_data data;
    assert_ok(context, shoal_data_read(study, &data));
    assert_int_equal(data.n, 401);
    const double day = shoal_units_factor(&study->units, "time"), au_day = 149597870700.0 / 86400 * day;
    for (long j = 0; j < data.n; j++) {
        double velocity = 0;
        for (int planet = 0; planet < 2; planet++) {
            const double *p = theta + 5 * planet, e = hypot(p[2], p[3]), omega = atan2(p[2], p[3]);
            const double n = TWO_PI / (p[1] * day), M = p[4] * TWO_PI / 360 - omega + n * data.datum[j].time;
            /* Jacobi coordinates: the inner planet's orbit has the star's mass and its own, the outer one's all */
            const double inside = 0.874 + (planet ? 0 : theta[MSINI_C]), mu = inside + p[0];
            velocity += cbrt(n / mu / mu) * p[0] / sqrt(1 - e * e) * kepler_velocity(M, e, omega);
        }
        const double s2 = data.datum[j].error * data.datum[j].error + theta[JITTER] * theta[JITTER];
        const double r = data.datum[j].value - velocity * au_day;
        right -= r * r / (2 * s2) + log(TWO_PI * s2) / 2;
    }
    print_message("HD 164922: ln L = %.6f, of ellipses %.6f\n", lnl, right);
    assert_true(fabs(lnl - right) < 0.015);
    shoal_data_release(&data);
    shoal_model_destroy(&model);
    shoal_study_destroy(&study);
}

/* Longitudes jump where an orbit becomes retrograde, if the priors have both senses. */
static void longitudes_that_jump_are_told(void **state)
{
    static const struct {
        const char *overrides[2];
        bool jumps;
    } cases[] = {{{"sample.parameters[7].parameter=\"M\"", "sample.parameters[5].to=180.0"}, false},
                 {{"sample.parameters[7].parameter=\"l\"", "sample.parameters[5].to=180.0"}, true},
                 {{"sample.parameters[7].parameter=\"theta\"", "sample.parameters[5].from=90.0"}, false},
                 {{"sample.parameters[7].parameter=\"l\"", "sample.parameters[5].to=90.0"}, false}};
    shoal_context *context = context_of(state);
    char path[512];
    const char *root = getenv("SHOAL_ROOT");
    snprintf(path, sizeof path, "%s/configs/hr_7672.cfg", root ? root : ".");
    for (int i = 0; i < SHOAL_COUNT(cases); i++) {
        shoal_study *study = NULL;
        shoal_model *model = NULL;
        assert_ok(context, shoal_study_open(context, path, NULL, 2, cases[i].overrides, NULL, &study));
        assert_ok(context, shoal_model_create(study, 1, &model));
        const char *body = shoal_model_jumps(model);
        if (cases[i].jumps != (body && strcmp(body, "b") == 0))
            fail_msg("%s: %s", cases[i].overrides[0], body ? body : "none");
        shoal_model_destroy(&model);
        shoal_study_destroy(&study);
    }
}

static void a_heading_is_whole_or_refused(void **state)
{
    shoal_context *context = context_of(state);
    char text[MOST_TEXT];
    FILE *wide = fopen("wide.txt", "w");
    assert_non_null(wide);
    for (int k = 0; k < 257; k++)
        fprintf(wide, "%s%d", k ? "," : "", k);
    fclose(wide);
    text_of("{ name = \"b\"; P = 24.0; e = 0.1; inc = 80.0; }, " OUTER_FREE, MASS, "", text);
    replace(text, "\"rv.txt\"", "\"wide.txt\"");
    expect_refusal(context, text, "wide.txt:1: expected at most 256 columns, found 257");
    unlink("wide.txt");
}

/* The first draws of a prior may be impossible; a likelihood begins all the same. */
static void a_prior_may_begin_with_what_cannot_be(void **state)
{
    shoal_context *context = context_of(state);
    char text[MOST_TEXT];
    int n_later = 0;
    text_of("{ name = \"b\"; P = 24.0; m = 1e-4; inc = 80.0; }, " OUTER,
            "{ body = \"b\"; parameter = \"e\"; distribution = \"normal\"; mean = 0.02; sigma = 0.05; }", "", text);
    replace(text, "count = 5", "count = 1");
    for (int seed = 1; seed <= 8; seed++) {
        char override[32];
        snprintf(override, sizeof override, "sample.seed=%d", seed);
        const char *const overrides[] = {override};
        shoal_study *study = NULL;
        shoal_model *model = NULL;
        assert_ok(context, shoal_study_open(context, "model.cfg", text, 1, overrides, NULL, &study));
        assert_true(study->swept[0].value[0] >= 0);
        assert_ok(context, shoal_model_create(study, 1, &model));
        if (study->first > 0) { /* which is no run */
            n_later++;
            assert_int_equal(shoal_study_run(study, 1, NULL, NULL), SHOAL_E_INPUT);
            assert_non_null(strstr(shoal_context_message(context), "of one system at least; the first one: e < 0"));
        }
        shoal_model_destroy(&model);
        shoal_study_destroy(&study);
    }
    assert_in_range(n_later, 1, 7);
    replace(text, "mean = 0.02; sigma", "mean = -9.0; sigma");
    expect_refusal(context, text, "of one system at least; the first one: e < 0");
}

/* long: a line for each fault */
static void what_is_wrong_is_refused(void **state)
{
    static const struct {
        const char *old, *new, *words;
    } faults[] = {
        {"\"rv\", \"err\"", "\"velocity\", \"err\"", "rv.txt:2: expected a column 'velocity'"},
        {"\"rv\", \"err\"", "\"rv\"", "data[0].columns"},
        {"dt = 0.4;", "steps_per_orbit = 20.0;", "expected dt for a likelihood"},
        {"instrument = \"one\";", "format = \"vels\";", "either format or columns"},
        {"instrument = \"one\";", "time = \"BJD_TDB\";", "a format with the time"},
        {"columns = [\"time\", \"rv\", \"err\"];", "format = \"radvel\";", "RadVel: time, mnvel"},
        {"file = \"rv.txt\"; columns = [\"time\", \"rv\", \"err\"];", "file = \"radvel.csv\"; format = \"radvel\";",
         "the zero of its times"},
        {"\"rv.txt\"", "\"none.txt\"", "none.txt"},
        {"instrument = \"one\"", "instrument = \"three\"", "of the instrument three"},
        {"{ name = \"two\"; kind", "{ name = \"one\"; kind", "a name that no other data have"},
        {"{ data = \"one\"", "{ data = \"three\"", "the name of one of `data`"},
        {"parameter = \"offset\"", "parameter = \"ofset\"", "offset"},
        {"jitter = 1.5;", "jitter = 1.5; offset = 3.0;", "no value of its own"},
        {"jitter = 1.5;", "jitter = 1.5; colour = 3.0;", "colour"},
        {"jitter = 1.5;", "jitter = -1.5;", "jitter"},
        {"jitter = 1.5;", "freedom = 0.0;", "data[0].freedom = 0.0: expected a number > 0"},
        {"\"normal\"; mean = 1.0; sigma = 3.0;", "\"beta\"; alpha = 1e6; beta = 1e7;", "alpha or beta up to 100000"},
        {"\"normal\"; mean = 1.0; sigma = 3.0;", "\"beta\"; alpha = 1e-9;", "expected a number >= 0.001"},
        {"kind = \"velocity\"", "kind = \"smell\"", "smell"},
        {"unit = \"m/s\";", "unit = \"mph\";", "mph"},
        {"marginal = false;", "marginal = 3;", "marginal"},
        {"body = \"star\";", "body = \"moon\";", "moon"},
        {"instrument = \"one\";", "instrument_column = \"tel\";", "without an instrument"},
        {"sample = {", "sample = { tied = ( { body = \"b\"; parameter = \"P\"; to = \"c.P\"; } );",
         "the name of a parameter of sample or sweep"},
        {"sample = {", "sample = { tied = ( { body = \"b\"; parameter = \"m\"; to = \"c.e\"; } );",
         "a parameter that is varied only once"},
        {"sample = {", "sample = { covariance = [1.0];", "a parameter with distribution \"correlated_normal\""},
        {"\"normal\"; mean = 1.0; sigma = 3.0;", "\"correlated_normal\"; mean = 1.0;", "a covariance, or"},
        {"\"normal\"; mean = 1.0; sigma = 3.0; }", "\"correlated_normal\"; mean = 1.0; }); covariance = ([1.0, 2.0]",
         "covariance"},
        {"\"normal\"; mean = 1.0; sigma = 3.0; } );", "\"correlated_normal\"; mean = 1.0; }); covariance = [-1.0];",
         "a symmetric matrix that is positive definite"},
        {"\"normal\"; mean = 1.0; sigma = 3.0; } );", "\"correlated_normal\"; mean = 1.0; }); covariance = [1.0, 2.0];",
         "1 x 1 numbers"},
        {"\"normal\"; mean = 1.0; sigma = 3.0;",
         "\"asymmetric_normal\"; mode = 1.0; plus = 3.0; minus = 1.0; from = 90.0;", "a mode that is nearer"},
        {"\"normal\"; mean = 1.0; sigma = 3.0;", "\"asymmetric_normal\"; mode = 1.0; plus = 3.0;", "minus"},
        {"distribution = \"normal\"; mean = 1.0; sigma = 3.0;", "column = \"draws\";", "without sample.file"},
    };
    shoal_context *context = context_of(state);
    char text[MOST_TEXT];
    for (int i = 0; i < SHOAL_COUNT(faults); i++) {
        text_of("{ name = \"b\"; P = 24.0; e = 0.1; inc = 80.0; }, " OUTER_FREE, MASS, "", text);
        replace(text, faults[i].old, faults[i].new);
        if (strstr(faults[i].words, "none.txt")) {
            shoal_study *study = study_of(context, text);
            shoal_model *model = NULL;
            assert_int_equal(shoal_model_create(study, 3, &model), SHOAL_E_FILE);
            shoal_study_destroy(&study);
        } else {
            expect_refusal(context, text, faults[i].words);
        }
    }
    text_of("{ name = \"b\"; P = 24.0; e = 0.1; inc = 80.0; }, " OUTER_FREE, MASS, "", text);
    strcat(text, "forces = ( { name = \"radiation\"; beta = 0.1; body = \"c\"; c = 1000.0; } );\n");
    shoal_study *study = study_of(context, text);
    shoal_model *model = NULL;
    double lnl;
    assert_int_equal(shoal_model_create(study, 1, &model), SHOAL_E_UNSUPPORTED);
    shoal_study_destroy(&study);
    text_of("{ name = \"b\"; P = 24.0; e = 0.1; inc = 80.0; }, " OUTER_FREE, MASS, "", text);
    study = study_of(context, text);
    assert_int_equal(shoal_model_create(study, 0, &model), SHOAL_E_USAGE);
    assert_ok(context, shoal_model_create(study, 2, &model));
    assert_int_equal(shoal_model_evaluate(model, 1, NULL, &lnl), SHOAL_E_USAGE);
    assert_int_equal(shoal_model_evaluate(model, -1, &lnl, &lnl), SHOAL_E_USAGE);
    assert_int_equal(shoal_model_evaluate_device(model, 0, NULL, NULL, 0, NULL), SHOAL_E_UNSUPPORTED);
    assert_non_null(strstr(shoal_context_message(context), "expected run.engine = \"cuda\""));
    assert_string_equal(shoal_model_parameter(model, 0), "b.m");
    assert_string_equal(shoal_model_parameter(model, 2), "one.offset");
    assert_null(shoal_model_parameter(model, 3));
    shoal_model_destroy(&model);
    shoal_study_destroy(&study);
}

enum { WALKERS = 1000 };

/* The same bits of ln L on a CPU, in two ways on a GPU, and on both beside each other; scale: of the first parameter;
 * same: ln L, or NULL. */
static void compare_engines(shoal_context *context, const char *const ways[2], const char *planets,
                            const char *parameters, const char *integrator, double scale, double same[WALKERS])
{
    enum { N = WALKERS, RUNS = 4, BOTH = 3 };
    char text[MOST_TEXT];
    const char *const overrides[RUNS][2] = {{"run.engine=\"cpu\"", "run.devices=1"},
                                            {"run.engine=\"cuda\"", ways[0]},
                                            {"run.engine=\"cuda\"", ways[1]},
                                            {"run.engine=\"auto\"", "run.threads=1"}};
    static double theta[3 * N], lnl[RUNS][N];
    text_of(planets, parameters, "", text);
    replace(text, "name = \"mvs\"", integrator);
    assert_int_equal(setenv("SHOAL_HOSTED", "2", 1), 0);
    for (int i = 0; i < N; i++) {
        theta[3 * i] = scale * (1 + 0.001 * i);
        theta[3 * i + 1] = i == 500 ? 1.5 : 0.0004 * i;
        theta[3 * i + 2] = 0.01 * i;
    }
    for (int run = 0; run < RUNS; run++) {
        shoal_study *study = NULL;
        shoal_model *model = NULL;
        assert_ok(context, shoal_study_open(context, "model.cfg", text, 2, overrides[run], NULL, &study));
        assert_ok(context, shoal_model_create(study, 300, &model));
        assert_int_equal(strstr(shoal_model_plan_line(model), "the CPU beside it") != NULL, run == BOTH);
        assert_ok(context, shoal_model_evaluate(model, N, theta, lnl[run]));
        assert_int_equal(shoal_model_n_hosted(model) > 0, run == BOTH);
        shoal_model_destroy(&model);
        shoal_study_destroy(&study);
    }
    assert_int_equal(unsetenv("SHOAL_HOSTED"), 0);
    assert_true(isinf(lnl[0][500]) && isfinite(lnl[0][501]));
    for (int run = 1; run < RUNS; run++)
        for (int i = 0; i < N; i++)
            if (memcmp(&lnl[0][i], &lnl[run][i], sizeof **lnl) != 0)
                fail_msg("run %d, walker %d: ln L = %.17g and %.17g", run, i, lnl[0][i], lnl[run][i]);
    if (same)
        memcpy(same, lnl[0], sizeof lnl[0]);
}

#define MVS "name = \"mvs\""

static void a_gpu_finds_the_same(void **state)
{
    static const char *const devices[2] = {"run.devices=1", "run.devices=\"all\""};
    need_gpu();
    compare_engines(context_of(state), devices, BOTH_FREE, MASS, MVS, 1e-4, NULL);
    compare_engines(context_of(state), devices,
                    "{ name = \"b\"; P = 24.0; sqrt_e_cos = 0.2; sqrt_e_sin = -0.3; M = 10.0; epoch = 7.0; b = 0.5; }, "
                    "{ name = \"c\"; log10_m = -3.5; P = 61.0; omega = 200.0; M = 40.0; cosi = -0.2; }",
                    FROM_TO("b", "K", "1.0", "90.0") FROM_TO("c", "e", "0.0", "0.5") OFFSET, MVS, 20, NULL);
}

static const char *const work_models[2] = {"run.work_model=\"system\"", "run.work_model=\"component\""};

static void each_work_model_finds_the_same(void **state)
{
    need_gpu();
    compare_engines(context_of(state), work_models, BOTH_FREE, MASS, MVS, 1e-4, NULL);
}

/* Planets whose orbits cross, as hybrid resolves their encounters and mvs does not. */
static void encounters_are_the_same_on_a_gpu(void **state)
{
    enum { LEAST = WALKERS / 20 };
    static double resolved[WALKERS], missed[WALKERS];
    static const char planets[] = "{ name = \"b\"; P = 24.0; e = 0.1; M = 10.0; inc = 80.0; }, "
                                  "{ name = \"c\"; m = 5e-4; P = 31.0; omega = 200.0; M = 40.0; inc = 80.0; }";
    need_gpu();
    compare_engines(context_of(state), work_models, planets, MASS, "name = \"hybrid\"", 1e-3, resolved);
    compare_engines(context_of(state), work_models, planets, MASS, MVS, 1e-3, missed);
    int n_unlike = 0;
    for (int i = 0; i < WALKERS; i++)
        n_unlike += isfinite(resolved[i]) && fabs(resolved[i] - missed[i]) > 1;
    if (n_unlike < LEAST)
        fail_msg("%d vectors with encounters, not %d", n_unlike, LEAST);
}

/* Vectors and ln L in the memory of the first GPU, for models of one and of all. */
static void vectors_may_be_on_a_gpu(void **state)
{
    enum { N = 100 };
    shoal_context *context = context_of(state);
    struct driver driver;
    struct gpu_device gpu;
    char text[MOST_TEXT];
    double theta[3 * N], expected[N], lnl[N];
    need_gpu();
    assert_null(shoal_driver_open(&driver));
    assert_ok(context, shoal_gpu_open(&driver, context, 0, &gpu));
    text_of(BOTH_FREE, MASS, "", text);
    for (int i = 0; i < 3 * N; i++)
        theta[i] = i % 3 ? 0.003 * i : 1e-4;
    for (int run = 0; run < 2; run++) {
        const char *overrides[] = {"run.engine=\"cuda\"", run ? "run.devices=\"all\"" : "run.devices=1"};
        shoal_study *study = NULL;
        shoal_model *model = NULL;
        device_pointer room = 0;
        assert_ok(context, shoal_study_open(context, "model.cfg", text, 2, overrides, NULL, &study));
        assert_ok(context, shoal_model_create(study, 70, &model));
        assert_ok(context, shoal_model_evaluate(model, N, theta, expected));
        assert_int_equal(driver.context_push(gpu.cuda), 0);
        assert_int_equal(driver.allocate(&room, sizeof theta + sizeof lnl), 0);
        assert_int_equal(driver.to_device(room, theta, sizeof theta), 0);
        double *there = (double *)(uintptr_t)room;
        assert_ok(context, shoal_model_evaluate_device(model, N, there, there + 3 * N, 0, NULL));
        assert_int_equal(driver.to_host(lnl, room + sizeof theta, sizeof lnl), 0);
        assert_int_equal(driver.release(room), 0);
        assert_int_equal(driver.context_pop(&gpu.cuda), 0);
        assert_memory_equal(lnl, expected, sizeof lnl);
        assert_int_equal(shoal_model_evaluate_device(model, 1, NULL, lnl, 0, NULL), SHOAL_E_USAGE);
        assert_int_equal(shoal_model_evaluate_device(model, 1, theta, NULL, 0, NULL), SHOAL_E_USAGE);
        assert_ok(context, shoal_model_evaluate_device(model, 0, NULL, NULL, 0, NULL));
        shoal_model_destroy(&model);
        shoal_study_destroy(&study);
    }
    assert_int_equal(driver.context_release(gpu.device), 0);
}

static int begin(void **state)
{
    if (setup(state) || !mkdtemp(folder) || chdir(folder))
        return -1;
    write_data();
    return 0;
}

static int end(void **state)
{
    if (unlink("rv.txt") || unlink("epoch.txt") || unlink("radvel.csv") || chdir("/") || rmdir(folder))
        return -1;
    return teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_that_of_the_studys_own_bodies),
        cmocka_unit_test(it_is_that_of_what_observers_say),
        cmocka_unit_test(neighbours_batches_and_threads_change_no_bits),
        cmocka_unit_test(the_step_has_its_error),
        cmocka_unit_test(the_epoch_may_lie_anywhere),
        cmocka_unit_test(an_offset_is_integrated_over),
        cmocka_unit_test(priors_are_densities),
        cmocka_unit_test(numbers_of_beta_are_found_in_the_tails),
        cmocka_unit_test(correlated_parameters_have_their_covariance),
        cmocka_unit_test(a_gradient_is_that_of_the_density),
        cmocka_unit_test(normal_numbers_have_the_same_density),
        cmocka_unit_test(gradients_disturb_nobody),
        cmocka_unit_test(what_is_tied_follows),
        cmocka_unit_test(an_angle_goes_round_with_what_is_tied),
        cmocka_unit_test(time_zero_is_a_number_of_the_table),
        cmocka_unit_test(a_table_of_observers_is_read),
        cmocka_unit_test(hd_164922_is_that_of_two_ellipses),
        cmocka_unit_test(longitudes_that_jump_are_told),
        cmocka_unit_test(a_heading_is_whole_or_refused),
        cmocka_unit_test(a_prior_may_begin_with_what_cannot_be),
        cmocka_unit_test(what_is_wrong_is_refused),
        cmocka_unit_test(what_cannot_be_has_no_likelihood),
        cmocka_unit_test(what_cannot_be_has_none_on_a_gpu),
        cmocka_unit_test(a_gpu_finds_the_same),
        cmocka_unit_test(each_work_model_finds_the_same),
        cmocka_unit_test(encounters_are_the_same_on_a_gpu),
        cmocka_unit_test(vectors_may_be_on_a_gpu),
    };
    cmocka_set_test_filter(getenv("SHOAL_TEST_NAME"));
    return cmocka_run_group_tests(tests, begin, end);
}
