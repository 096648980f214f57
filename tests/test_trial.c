/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_trial.c: likelihoods of systems that must be regular by MEGNO. Its limit is that of a run of the same bodies
 * with the monitor megno, to the last digits where motion is regular; no bits depend on what is evaluated together, on
 * threads or on the width; a GPU finds the same.
 */
#define _GNU_SOURCE 1
#include <math.h>
#include <unistd.h>

#include "models.h"

enum { ORBITS = 60, MOST_TEXT = 4096, VECTORS = 40, PARAMETERS = 3 };

static char folder[] = "/tmp/shoal-trial-XXXXXX";

#define TEXT                                                                                 \
    "units = { length = \"AU\"; mass = \"Msun\"; time = \"yr\"; };\nangles = \"degrees\";\n" \
    "system = { elements = \"jacobi\"; bodies = ( { name = \"star\"; m = 1.0; },\n"          \
    "{ name = \"b\"; m = 9.5e-4; a = 5.2; e = 0.05; omega = 14.0; M = 20.0; },\n"            \
    "{ name = \"c\"; m = 2.9e-4; a = %.17g; e = %.17g; omega = 90.0; M = 100.0; } ); };\n"   \
    "integrator = { name = \"%s\"; dt = 0.5; };\n"
#define WITH_DATA                                                                                                  \
    "data = ( { name = \"v\"; kind = \"velocity\"; file = \"rv.txt\"; columns = [ \"t\", \"v\", \"error\" ]; } );" \
    "\nsample = { count = 1; parameters = (\n"                                                                     \
    "{ body = \"c\"; parameter = \"a\"; distribution = \"uniform\"; from = 7.0; to = 11.0; },\n"                   \
    "{ body = \"c\"; parameter = \"e\"; distribution = \"uniform\"; from = 0.0; to = 0.4; },\n"                    \
    "{ data = \"v\"; parameter = \"offset\"; distribution = \"uniform\"; from = -9.0; to = 9.0; } ); };\n"

/* ln L of n vectors, at most n_walkers at once. likelihood: its keys; more: groups of the config. */
/* long: what a model is made of, and what is asked of it */
static void evaluate(void **state, const char *propagator, const char *likelihood, const char *more, int n_walkers,
                     int n, const double *theta, double *lnl)
{
    char text[MOST_TEXT];
    shoal_study *study;
    snprintf(text, sizeof text, TEXT WITH_DATA "likelihood = { %s };\n%s\n", 9.5, 0.05, propagator, likelihood, more);
    shoal_model *model = model_of(context_of(state), text, n_walkers, &study);
    assert_int_equal(shoal_model_n_parameters(model), PARAMETERS);
    assert_ok(context_of(state), shoal_model_evaluate(model, n, theta, lnl));
    release(&model, &study);
}

#define CPU "run = { t_end = 1.0; engine = \"cpu\"; threads = 1; };"

/* MEGNO of a run that goes on a little. */
static double megno_of(void **state, const char *propagator, const double theta[PARAMETERS])
{
    char text[MOST_TEXT];
    shoal_study *study;
    shoal_plan *plan = NULL;
    snprintf(text, sizeof text,
             TEXT "monitors = ( { name = \"megno\"; } );\nrun = { orbits = %d.0; engine = \"cpu\"; threads = 1; };\n",
             theta[0], theta[1], propagator, ORBITS + 1);
    assert_null(model_of(context_of(state), text, 0, &study));
    assert_ok(context_of(state), shoal_plan_create(context_of(state), study->ensemble, &study->options, &plan));
    assert_ok(context_of(state), shoal_plan_integrate(plan, ORBITS));
    const double megno = shoal_plan_column(plan, "megno", 0);
    shoal_plan_destroy(&plan);
    shoal_study_destroy(&study);
    return megno;
}

static void the_limit_is_that_of_a_run(void **state)
{
    static const double theta[][PARAMETERS] = {{9.5, 0.05, 1}, {8.0, 0.05, 1}, {9.0, 0.25, 1}, {9.2, 0.35, 1}};
    static const char *const propagators[] = {"mvs", "gauss_radau"};
    for (int p = 0; p < SHOAL_COUNT(propagators); p++) {
        double free[SHOAL_COUNT(theta)], by_default[SHOAL_COUNT(theta)];
        char keys[128];
        int n_chaotic = 0;
        evaluate(state, propagators[p], "stability = \"any\";", CPU, 4, SHOAL_COUNT(theta), theta[0], free);
        snprintf(keys, sizeof keys, "stability = \"megno\"; megno_orbits = %d.0;", ORBITS);
        evaluate(state, propagators[p], keys, CPU, 4, SHOAL_COUNT(theta), theta[0], by_default);
        for (int i = 0; i < SHOAL_COUNT(theta); i++) {
            const double megno = megno_of(state, propagators[p], theta[i]);
            print_message("%s, a = %g, e = %g: MEGNO %.12g\n", propagators[p], theta[i][0], theta[i][1], megno);
            assert_true(isfinite(free[i]) && megno > 1);
            assert_true(by_default[i] == (megno > 2.5 ? -INFINITY : free[i]));
            n_chaotic += megno > 2.5;
            for (int side = -1; side <= 1; side += 2) {
                double lnl;
                snprintf(keys, sizeof keys, "stability = \"megno\"; megno_orbits = %d.0; megno_limit = %.17g;", ORBITS,
                         megno * (1 + side * (megno > 2.5 ? 1e-5 : 1e-11)));
                evaluate(state, propagators[p], keys, CPU, 1, 1, theta[i], &lnl);
                assert_true(lnl == (side < 0 ? -INFINITY : free[i]));
            }
        }
        assert_true(n_chaotic > 0 && n_chaotic < SHOAL_COUNT(theta));
    }
}

static void vectors_of(double *theta)
{
    for (int i = 0; i < VECTORS; i++) {
        theta[PARAMETERS * i] = 7 + 0.1 * i;
        theta[PARAMETERS * i + 1] = 0.01 * (i * 7 % 30);
        theta[PARAMETERS * i + 2] = i;
    }
    theta[1] = 1.5; /* no ellipse */
}

#define SHORT "stability = \"megno\"; megno_orbits = 50.0; megno_limit = 2.2;"

static void neighbours_threads_and_width_change_nothing(void **state)
{
    static const char *const machine[] = {"threads = 1;", "threads = 3;", "threads = 1; lanes = 1;", "threads = 1;"};
    double theta[PARAMETERS * VECTORS], lnl[VECTORS], other[VECTORS];
    int n_finite = 0;
    vectors_of(theta);
    for (int i = 0; i < SHOAL_COUNT(machine); i++) {
        char run[128];
        snprintf(run, sizeof run, "run = { t_end = 1.0; engine = \"cpu\"; %s };", machine[i]);
        evaluate(state, "mvs", SHORT, run, i == 3 ? 7 : VECTORS, VECTORS, theta, i == 0 ? lnl : other);
        if (i > 0)
            assert_memory_equal(lnl, other, sizeof lnl);
    }
    for (int i = 0; i < VECTORS; i++)
        n_finite += isfinite(lnl[i]);
    print_message("%d of %d vectors are regular\n", n_finite, VECTORS);
    assert_true(n_finite > 5 && n_finite < VECTORS - 5 && !isfinite(lnl[0]));
}

/* Ellipses have a trial by the integrator; a monitor may end it; a row of data of one's own makes vectors longer. */
static void trials_go_with_all_likelihoods(void **state)
{
    const double theta[2 * PARAMETERS] = {9.5, 0.05, 1, 7.2, 0.2, 1}, own[PARAMETERS + 1] = {9.5, 0.05, 1, 1};
    double lnl[2], free[2], predicted[2][2];
    evaluate(state, "mvs", "motion = \"keplerian\"; stability = \"megno\"; megno_orbits = 60.0;", CPU, 2, 2, theta,
             lnl);
    evaluate(state, "mvs", "motion = \"keplerian\";", CPU, 2, 2, theta, free);
    assert_true(lnl[0] == free[0] && lnl[1] == -INFINITY && isfinite(free[1]));
    evaluate(state, "mvs", SHORT, CPU "monitors = ( { name = \"stop_on_encounter\"; factor = 20.0; } );", 2, 2, theta,
             lnl);
    assert_true(lnl[0] == -INFINITY && lnl[1] == -INFINITY);

    char text[MOST_TEXT];
    shoal_study *study;
    snprintf(text, sizeof text, TEXT WITH_DATA "likelihood = { " SHORT " };\n" CPU, 9.5, 0.05, "mvs");
    shoal_model *model = model_of(context_of(state), text, 2, &study);
    assert_ok(context_of(state), shoal_model_evaluate(model, 1, theta, &lnl[0]));
    assert_ok(context_of(state), shoal_model_own(model, 2));
    assert_ok(context_of(state), shoal_model_evaluate(model, 1, own, &lnl[1]));
    assert_true(isfinite(lnl[0]) && lnl[0] == lnl[1]);
    assert_ok(context_of(state), shoal_model_predict(model, 1, own, predicted[0]));
    assert_true(isfinite(predicted[0][0]) && isfinite(predicted[0][1]));
    release(&model, &study);
}

static void what_is_wrong_is_refused(void **state)
{
    static const struct {
        const char *likelihood, *more, *says;
    } cases[] = {
        {"megno_limit = 3.0;", CPU, "likelihood.megno_limit = 3.0: expected no such key without stability = \"megno\""},
        {"stability = \"megno\"; megno_orbits = 0.0;", CPU, "megno_orbits"},
    };
    for (int i = 0; i < SHOAL_COUNT(cases); i++) {
        char text[MOST_TEXT];
        shoal_study *study = NULL;
        shoal_model *model = NULL;
        snprintf(text, sizeof text, TEXT WITH_DATA "likelihood = { %s };\n%s\n", 9.5, 0.05, "mvs", cases[i].likelihood,
                 cases[i].more);
        shoal_status status = shoal_study_open(context_of(state), "model.cfg", text, 0, NULL, NULL, &study);
        if (!status)
            status = shoal_model_create(study, 1, &model);
        if (!status || !strstr(shoal_context_message(context_of(state)), cases[i].says))
            fail_msg("case %d: '%s' is not in: %s", i, cases[i].says, shoal_context_message(context_of(state)));
        release(&model, &study);
    }
}

static void a_gpu_finds_the_same(void **state)
{
    need_gpu();
    enum { FEW = 12 };
    double theta[PARAMETERS * VECTORS], lnl[2][FEW];
    vectors_of(theta);
    for (int gpu = 0; gpu < 2; gpu++)
        evaluate(state, "mvs", SHORT, gpu ? "run = { t_end = 1.0; engine = \"cuda\"; };" : CPU, 5, FEW, theta,
                 lnl[gpu]);
    assert_memory_equal(lnl[0], lnl[1], sizeof lnl[0]);
}

static int begin(void **state)
{
    if (setup(state) || !mkdtemp(folder) || chdir(folder))
        return -1;
    FILE *out = fopen("rv.txt", "w");
    return !out || fprintf(out, "t v error\n-3.3 5 1\n10.1 -4 1\n") < 0 || fclose(out);
}

static int end(void **state)
{
    return unlink("rv.txt") || chdir("/") || rmdir(folder) || teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_limit_is_that_of_a_run),     cmocka_unit_test(neighbours_threads_and_width_change_nothing),
        cmocka_unit_test(trials_go_with_all_likelihoods), cmocka_unit_test(what_is_wrong_is_refused),
        cmocka_unit_test(a_gpu_finds_the_same),
    };
    cmocka_set_test_filter(getenv("SHOAL_TEST_NAME"));
    return cmocka_run_group_tests(tests, begin, end);
}
