/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_api.c: the public interface as a program or another language sees it: wrong arguments of every function are
 * refused by name, options of older and newer callers are read, arrays of systems go in and out with any strides,
 * results are read as arrays.
 */
#include <limits.h>
#include <math.h>
#include <unistd.h>

#include "tests/testing.h"

enum { N = 5, BODIES = 3, NUMBERS = SHOAL_STATE_NUMBERS };

/* ---- wrong arguments --------------------------------------------------------------------------------------------- */

static char seen[16384] = " "; /* names of the functions that were called */

static void note(const char *call, char *name, size_t size)
{
    snprintf(name, size, "%.*s", (int)strcspn(call, "("), call);
    if (!strstr(seen, name)) {
        strncat(seen, name, sizeof seen - strlen(seen) - 1);
        strncat(seen, " ", sizeof seen - strlen(seen) - 1);
    }
}

/* context: NULL where there is no object to have one. */
static void check_refused(const shoal_context *context, const char *call, shoal_status got)
{
    char name[96];
    note(call, name, sizeof name);
    if (got != SHOAL_E_USAGE)
        fail_msg("%s: %s, expected it refused", call, shoal_status_text(got));
    if (context && strncmp(shoal_context_message(context), name, strlen(name)) != 0)
        fail_msg("%s: '%s' does not begin with the function", call, shoal_context_message(context));
}

static void check_answer(const char *call, bool good)
{
    char name[96];
    note(call, name, sizeof name);
    if (!good)
        fail_msg("%s: another answer", call);
}

#define REFUSED(context, call) check_refused(context, #call, call)
#define NOTHING(call)          check_answer(#call, (call) == 0)
#define NO_NUMBER(call)        check_answer(#call, isnan(call))
#define NO_TEXT(call)          check_answer(#call, *(call) == '\0')
#define DOES_NOTHING(call)     ((call), check_answer(#call, true))

static void check_context_and_elements(shoal_context *c)
{
    shoal_context *none = NULL;
    double state[6] = {1, 0, 0, 0, 1, 0}, one[1] = {0.1}, factors[4];
    shoal_orbit orbit = {.a = 1}, orbits[2] = {{.a = 0}, {.a = 1}};
    shoal_body bodies[2] = {{.m = 1}, {.m = 0}};
    check_answer("shoal_status_text(...)", *shoal_status_text((shoal_status)99) != '\0');
    check_answer("shoal_version(...)", strcmp(shoal_version(), SHOAL_VERSION) == 0);
    check_answer("shoal_outcome_name(...)", strcmp(shoal_outcome_name(-5), "unknown") == 0);
    REFUSED(NULL, shoal_context_create(NULL));
    DOES_NOTHING(shoal_context_destroy(NULL));
    DOES_NOTHING(shoal_context_destroy(&none));
    NO_TEXT(shoal_context_message(NULL));
    REFUSED(NULL, shoal_context_allow_plugins(NULL, 1));
    REFUSED(NULL, shoal_plugin_load(NULL, "x.c"));
    REFUSED(c, shoal_plugin_load(c, NULL));
    REFUSED(c, shoal_unit_factors(c, NULL, factors));
    REFUSED(c, shoal_unit_factors(c, "AU, Msun, yr", NULL));
    NOTHING(shoal_plug_setting(c, NULL, 0, NULL));
    NOTHING(shoal_plug_setting(c, "nobody", 0, NULL));
    NOTHING(shoal_plug_setting(c, "gr", -1, NULL));
    REFUSED(c, shoal_orbit_to_state(c, 1, NULL, state));
    REFUSED(c, shoal_orbit_to_state(c, 1, &orbit, NULL));
    REFUSED(NULL, shoal_orbit_to_state(NULL, 1, &orbit, NULL));
    REFUSED(c, shoal_orbit_from_state(c, 1, NULL, &orbit));
    REFUSED(c, shoal_orbit_from_state(c, 1, state, NULL));
    NO_NUMBER(shoal_true_anomaly(-1, 0));
    NO_NUMBER(shoal_mean_anomaly(1, 0));
    REFUSED(c, shoal_true_anomalies(c, -1, one, one, one));
    REFUSED(c, shoal_true_anomalies(c, 1, NULL, one, one));
    REFUSED(NULL, shoal_true_anomalies(NULL, 1, one, NULL, one));
    REFUSED(c, shoal_mean_anomalies(c, 1, one, one, NULL));
    REFUSED(c, shoal_bodies_from_orbits(c, SHOAL_JACOBI, 2, NULL, bodies));
    REFUSED(c, shoal_bodies_from_orbits(c, SHOAL_JACOBI, 2, orbits, NULL));
    REFUSED(NULL, shoal_bodies_from_orbits(c, SHOAL_JACOBI, 0, orbits, bodies));
    REFUSED(NULL, shoal_bodies_from_orbits(c, (shoal_frame)7, 2, orbits, bodies));
    REFUSED(c, shoal_orbits_from_bodies(c, SHOAL_JACOBI, 2, NULL, orbits));
    REFUSED(c, shoal_orbits_from_bodies(c, SHOAL_JACOBI, 2, bodies, NULL));
    REFUSED(NULL, shoal_orbits_from_bodies(NULL, SHOAL_JACOBI, -2, bodies, orbits));
}

static void check_ensemble(shoal_context *c, shoal_ensemble *e)
{
    shoal_ensemble *none = NULL;
    shoal_body bodies[BODIES];
    shoal_system record = {0};
    double L[3], values[N * BODIES * NUMBERS];
    int outcomes[N];
    const shoal_block beyond = {.first = N - 1, .n = 2}, before = {.first = -1, .n = 1}, below = {.n = -1},
                      wide = {.n = 1, .n_bodies = BODIES + 1}, narrow = {.n = 1, .n_bodies = 1};
    REFUSED(NULL, shoal_ensemble_create(c, N, BODIES, NULL));
    REFUSED(NULL, shoal_ensemble_create(NULL, N, BODIES, &none));
    REFUSED(NULL, shoal_ensemble_create(c, 0, BODIES, &none));
    REFUSED(NULL, shoal_ensemble_create(c, LONG_MAX, BODIES, &none));
    REFUSED(NULL, shoal_ensemble_create(c, N, 1, &none));
    REFUSED(NULL, shoal_ensemble_create(c, N, 1001, &none));
    DOES_NOTHING(shoal_ensemble_destroy(NULL));
    DOES_NOTHING(shoal_ensemble_destroy(&none));
    NOTHING(shoal_ensemble_n_systems(NULL));
    NOTHING(shoal_ensemble_n_bodies(NULL));
    REFUSED(NULL, shoal_ensemble_set_bodies(NULL, 0, 2, bodies));
    REFUSED(c, shoal_ensemble_set_bodies(e, N, 2, bodies));
    REFUSED(c, shoal_ensemble_set_bodies(e, -1, 2, bodies));
    REFUSED(c, shoal_ensemble_set_bodies(e, 0, 1, bodies));
    REFUSED(c, shoal_ensemble_set_bodies(e, 0, BODIES + 1, bodies));
    REFUSED(c, shoal_ensemble_set_bodies(e, 0, 2, NULL));
    REFUSED(NULL, shoal_ensemble_get_bodies(NULL, 0, bodies));
    REFUSED(c, shoal_ensemble_get_bodies(e, N, bodies));
    REFUSED(c, shoal_ensemble_get_bodies(e, 0, NULL));
    REFUSED(NULL, shoal_ensemble_set_system(NULL, 0, &record));
    REFUSED(c, shoal_ensemble_set_system(e, -1, &record));
    REFUSED(c, shoal_ensemble_set_system(e, 0, NULL));
    REFUSED(NULL, shoal_ensemble_get_system(NULL, 0, &record));
    REFUSED(c, shoal_ensemble_get_system(e, N, &record));
    REFUSED(c, shoal_ensemble_get_system(e, 0, NULL));
    NO_NUMBER(shoal_ensemble_energy(NULL, 0));
    NO_NUMBER(shoal_ensemble_energy(e, N));
    REFUSED(NULL, shoal_ensemble_angular_momentum(NULL, 0, L));
    REFUSED(c, shoal_ensemble_angular_momentum(e, LONG_MIN, L));
    REFUSED(c, shoal_ensemble_angular_momentum(e, 0, NULL));

    REFUSED(NULL, shoal_ensemble_set_states(NULL, NULL, values, NULL));
    REFUSED(c, shoal_ensemble_set_states(e, NULL, NULL, NULL));
    REFUSED(c, shoal_ensemble_set_states(e, &beyond, values, NULL));
    REFUSED(c, shoal_ensemble_set_states(e, &before, values, NULL));
    REFUSED(c, shoal_ensemble_set_states(e, &below, values, NULL));
    REFUSED(c, shoal_ensemble_set_states(e, &wide, values, NULL));
    REFUSED(c, shoal_ensemble_set_states(e, &narrow, values, NULL));
    REFUSED(NULL, shoal_ensemble_get_states(NULL, NULL, values));
    REFUSED(c, shoal_ensemble_get_states(e, NULL, NULL));
    REFUSED(c, shoal_ensemble_get_states(e, &wide, values));
    REFUSED(NULL, shoal_ensemble_set_orbits(NULL, SHOAL_JACOBI, NULL, values, NULL));
    REFUSED(c, shoal_ensemble_set_orbits(e, (shoal_frame)3, NULL, values, NULL));
    REFUSED(c, shoal_ensemble_set_orbits(e, SHOAL_JACOBI, NULL, NULL, NULL));
    REFUSED(NULL, shoal_ensemble_get_orbits(NULL, SHOAL_JACOBI, NULL, values));
    REFUSED(c, shoal_ensemble_get_orbits(e, (shoal_frame)-1, NULL, values));
    REFUSED(c, shoal_ensemble_get_orbits(e, SHOAL_JACOBI, &beyond, values));
    REFUSED(NULL, shoal_ensemble_set_radii(NULL, NULL, values, NULL));
    REFUSED(c, shoal_ensemble_set_radii(e, NULL, NULL, NULL));
    REFUSED(NULL, shoal_ensemble_get_radii(NULL, NULL, values));
    REFUSED(c, shoal_ensemble_get_radii(e, NULL, NULL));
    REFUSED(NULL, shoal_ensemble_set_column(NULL, "dt", 0, N, values, 0));
    REFUSED(c, shoal_ensemble_set_column(e, NULL, 0, N, values, 0));
    REFUSED(c, shoal_ensemble_set_column(e, "energy", 0, N, values, 0));
    REFUSED(c, shoal_ensemble_set_column(e, "dt", 0, N + 1, values, 0));
    REFUSED(c, shoal_ensemble_set_column(e, "dt", 0, N, NULL, 0));
    REFUSED(NULL, shoal_ensemble_get_column(NULL, "dt", 0, N, values, 0));
    REFUSED(c, shoal_ensemble_get_column(e, "t_stpo", 0, N, values, 0));
    assert_non_null(strstr(shoal_context_message(c), "'t_stop'"));
    REFUSED(c, shoal_ensemble_get_column(e, "dt", LONG_MAX, 1, values, 0));
    REFUSED(c, shoal_ensemble_get_column(e, "dt", 1, LONG_MAX, values, 0));
    REFUSED(c, shoal_ensemble_get_column(e, "dt", 0, N, NULL, 0));
    REFUSED(NULL, shoal_ensemble_get_outcomes(NULL, 0, N, outcomes));
    REFUSED(c, shoal_ensemble_get_outcomes(e, 0, -1, outcomes));
    REFUSED(c, shoal_ensemble_get_outcomes(e, 0, N, NULL));
}

static void check_options(shoal_context *c, shoal_ensemble *e)
{
    shoal_plan *plan = NULL;
    const shoal_setting nameless = {NULL, 1, NULL};
    const shoal_plug_options no_name = {0}, no_settings = {"megno", NULL, 1}, bad = {"megno", &nameless, 1};
    const shoal_options wrong[] = {
        {.t_end = NAN},
        {.t_end = 1, .dt = INFINITY},
        {.orbits = NAN},
        {.t_end = 1, .n_settings = -1},
        {.t_end = 1, .n_settings = 1},
        {.t_end = 1, .settings = &nameless, .n_settings = 1},
        {.t_end = 1, .n_monitors = 1},
        {.t_end = 1, .n_monitors = -1},
        {.t_end = 1, .monitors = &no_name, .n_monitors = 1},
        {.t_end = 1, .monitors = &no_settings, .n_monitors = 1},
        {.t_end = 1, .monitors = &bad, .n_monitors = 1},
        {.t_end = 1, .n_forces = 2},
        {.t_end = 1, .forces = &no_name, .n_forces = 1},
        {.size = 8, .t_end = 1},
        {.size = -1, .t_end = 1},
    };
    for (int i = 0; i < SHOAL_COUNT(wrong); i++) {
        REFUSED(c, shoal_plan_create(c, e, &wrong[i], &plan));
        assert_null(plan);
    }
    const shoal_options no_units = {.size = sizeof no_units, .t_end = 1, .dt = 0.1, .units = "AU, Msun, fortnight"};
    assert_int_equal(shoal_plan_create(c, e, &no_units, &plan), SHOAL_E_INPUT);
    assert_non_null(strstr(shoal_context_message(c), "fortnight"));
}

/* An ensemble of which nobody set the bodies; of impossible ones each system ends as such. */
static void test_no_bodies(void **state)
{
    shoal_context *c = context_of(state);
    const shoal_options options = {.engine = "cpu", .t_end = 1, .dt = 0.1};
    const shoal_body one_place[2] = {{.m = 1}, {.m = 1}};
    shoal_ensemble *e;
    shoal_plan *plan;
    int outcomes[N];
    for (int arrays = 0; arrays < 2; arrays++) {
        assert_ok(c, shoal_ensemble_create(c, N, 2, &e));
        assert_ok(c, shoal_ensemble_set_system(e, 0, &(shoal_system){.id = 7}));
        REFUSED(c, shoal_plan_create(c, e, &options, &plan));
        assert_null(plan);
        assert_non_null(strstr(shoal_context_message(c), "has no bodies"));
        const double states[N * 2 * NUMBERS] = {0};
        if (arrays)
            assert_ok(c, shoal_ensemble_set_states(e, NULL, states, NULL));
        else
            assert_int_equal(shoal_ensemble_set_bodies(e, 0, 2, one_place), SHOAL_E_INPUT);
        assert_ok(c, shoal_plan_create(c, e, &options, &plan));
        assert_ok(c, shoal_plan_integrate(plan, 1));
        assert_ok(c, shoal_ensemble_get_outcomes(e, 0, N, outcomes));
        assert_int_equal(outcomes[0], SHOAL_INVALID);
        shoal_plan_destroy(&plan);
        shoal_ensemble_destroy(&e);
    }
}

static void check_plan(shoal_context *c, shoal_ensemble *e, shoal_plan *p)
{
    shoal_plan *none = NULL;
    const shoal_options options = {.t_end = 1};
    shoal_options to;
    const double times[1] = {1};
    const shoal_observable what = {0, 0};
    double values[N];
    shoal_event event;
    REFUSED(NULL, shoal_options_init(NULL, (long)sizeof to));
    REFUSED(NULL, shoal_options_init(&to, 8));
    REFUSED(NULL, shoal_plan_create(NULL, e, &options, &none));
    REFUSED(c, shoal_plan_create(c, NULL, &options, &none));
    REFUSED(c, shoal_plan_create(c, e, NULL, &none));
    REFUSED(c, shoal_plan_create(c, e, &options, NULL));
    DOES_NOTHING(shoal_plan_destroy(NULL));
    DOES_NOTHING(shoal_plan_destroy(&none));
    REFUSED(NULL, shoal_plan_restart(NULL));
    NO_TEXT(shoal_plan_line(NULL));
    NO_TEXT(shoal_plan_warnings(NULL));
    REFUSED(NULL, shoal_plan_integrate(NULL, 1));
    REFUSED(NULL, shoal_plan_integrate(p, NAN));
    REFUSED(NULL, shoal_plan_observe(NULL, 1, times, 1, &what, values));
    REFUSED(c, shoal_plan_observe(p, -1, times, 1, &what, values));
    REFUSED(c, shoal_plan_observe(p, 1, NULL, 1, &what, values));
    REFUSED(c, shoal_plan_observe(p, 1, times, -1, &what, values));
    REFUSED(c, shoal_plan_observe(p, 1, times, 1, NULL, values));
    REFUSED(c, shoal_plan_observe(p, 1, times, 1, &what, NULL));
    REFUSED(c, shoal_plan_observe(p, LONG_MAX / 4, times, 8, &what, values));
    NO_NUMBER(shoal_plan_column(NULL, "min_separation", 0));
    NO_NUMBER(shoal_plan_column(p, NULL, 0));
    NO_NUMBER(shoal_plan_column(p, "min_separation", N));
    REFUSED(NULL, shoal_plan_get_column(NULL, "min_separation", 0, N, values, 0));
    REFUSED(c, shoal_plan_get_column(p, NULL, 0, N, values, 0));
    REFUSED(c, shoal_plan_get_column(p, "min_seperation", 0, N, values, 0));
    assert_non_null(strstr(shoal_context_message(c), "'min_separation'"));
    REFUSED(c, shoal_plan_get_column(p, "min_separation", -1, N, values, 0));
    REFUSED(c, shoal_plan_get_column(p, "min_separation", 1, N, values, 0));
    REFUSED(c, shoal_plan_get_column(p, "min_separation", 0, N, NULL, 0));
    check_answer("shoal_plan_column_doc(...)", shoal_plan_column_doc(NULL, "megno") == NULL);
    check_answer("shoal_plan_column_name(...)", shoal_plan_column_name(NULL, NULL, 0, NULL) == NULL &&
                                                    shoal_plan_column_name(p, NULL, -1, NULL) == NULL &&
                                                    shoal_plan_column_name(p, "transits", 0, NULL) == NULL);
    NOTHING(shoal_plan_n_events(NULL));
    NOTHING(shoal_plan_n_logged(NULL, "transits"));
    NOTHING(shoal_plan_n_logged(p, NULL));
    REFUSED(NULL, shoal_plan_get_log(NULL, "transits", "time", 0, 0, NULL, 0));
    REFUSED(c, shoal_plan_get_log(p, NULL, "time", 0, 0, NULL, 0));
    REFUSED(c, shoal_plan_get_log(p, "transits", "time", 0, 0, NULL, 0));
    REFUSED(NULL, shoal_plan_event(NULL, 0, &event));
    REFUSED(c, shoal_plan_event(p, 0, &event));
    assert_int_equal(event.system, -1);
    REFUSED(c, shoal_plan_event(p, -1, NULL));
    REFUSED(NULL, shoal_plan_get_events(NULL, 0, 0, &event));
    REFUSED(c, shoal_plan_get_events(p, 0, 1, &event));
}

static void check_model(void)
{
    shoal_model *model = NULL;
    double number = 0;
    REFUSED(NULL, shoal_model_create(NULL, 1, &model));
    DOES_NOTHING(shoal_model_destroy(NULL));
    DOES_NOTHING(shoal_model_destroy(&model));
    check_answer("shoal_model_n_parameters(...)", shoal_model_n_parameters(NULL) == 0);
    check_answer("shoal_model_n_data(...)", shoal_model_n_data(NULL) == 0);
    check_answer("shoal_model_parameter(...)", shoal_model_parameter(NULL, 0) == NULL);
    NO_TEXT(shoal_model_plan_line(NULL));
    check_answer("shoal_model_jumps(...)", shoal_model_jumps(NULL) == NULL);
    REFUSED(NULL, shoal_model_evaluate(NULL, 1, &number, &number));
    REFUSED(NULL, shoal_model_evaluate_device(NULL, 1, &number, &number, 0, NULL));
    REFUSED(NULL, shoal_model_predict(NULL, 1, &number, &number));
    REFUSED(NULL, shoal_model_step_error(NULL, 1, &number, &number));
    REFUSED(NULL, shoal_model_log_prior(NULL, 1, &number, &number));
    REFUSED(NULL, shoal_model_prior_transform(NULL, 1, &number, &number));
    REFUSED(NULL, shoal_model_from_normal(NULL, 1, &number, &number));
    REFUSED(NULL, shoal_model_to_normal(NULL, 1, &number, &number));
    REFUSED(NULL, shoal_model_scales(NULL, SHOAL_PARAMETERS, &number, &number));
    REFUSED(NULL, shoal_model_gradient(NULL, SHOAL_PARAMETERS, 1, &number, &number, &number, &number));
}

static void check_extend(shoal_context *c)
{
    shoal_study *study = NULL;
    REFUSED(NULL, shoal_study_extend(NULL, NULL, &study));
    REFUSED(c, shoal_study_extend(c, NULL, &study));
    REFUSED(c, shoal_study_extend(c, &(shoal_extend_options){.file = "x.h5"}, &study));
    REFUSED(c, shoal_study_extend(c, &(shoal_extend_options){.end = "5"}, &study));
    REFUSED(c, shoal_study_extend(c, &(shoal_extend_options){.file = "x.h5", .end = "5", .n_overrides = 1}, &study));
    REFUSED(c, shoal_study_extend(c, &(shoal_extend_options){.file = "x.h5", .end = "5"}, NULL));
}

static void check_study_and_result(shoal_context *c, const shoal_result *r)
{
    shoal_study *study = NULL;
    shoal_result *none = NULL;
    const char *holes[] = {NULL};
    const char *text;
    double values[64];
    const shoal_block beyond = {.first = 1000, .n = 1}, wide = {.n = 1, .n_bodies = 99};
    REFUSED(NULL, shoal_study_load(NULL, "x.cfg", 0, NULL, &study));
    REFUSED(c, shoal_study_load(c, NULL, 0, NULL, &study));
    REFUSED(c, shoal_study_load(c, "x.cfg", 0, NULL, NULL));
    REFUSED(c, shoal_study_load(c, "x.cfg", -1, NULL, &study));
    REFUSED(c, shoal_study_load(c, "x.cfg", 1, NULL, &study));
    REFUSED(c, shoal_study_load(c, "x.cfg", 1, holes, &study));
    REFUSED(NULL, shoal_study_parse(NULL, "", "x.cfg", 0, NULL, &study));
    REFUSED(c, shoal_study_parse(c, NULL, "x.cfg", 0, NULL, &study));
    REFUSED(c, shoal_study_parse(c, "", NULL, 0, NULL, &study));
    REFUSED(c, shoal_study_parse(c, "", "x.cfg", 1, holes, &study));
    DOES_NOTHING(shoal_study_destroy(NULL));
    DOES_NOTHING(shoal_study_destroy(&study));
    NO_TEXT(shoal_study_output(NULL));
    NO_TEXT(shoal_study_text(NULL));
    NOTHING(shoal_study_is_big(NULL));
    NO_TEXT(shoal_study_warnings(NULL));
    REFUSED(NULL, shoal_study_run(NULL, 0, NULL, NULL));

    REFUSED(NULL, shoal_result_open(NULL, "x.h5", &none));
    REFUSED(c, shoal_result_open(c, NULL, &none));
    REFUSED(c, shoal_result_open(c, "x.h5", NULL));
    DOES_NOTHING(shoal_result_close(NULL));
    DOES_NOTHING(shoal_result_close(&none));
    NOTHING(shoal_result_is_complete(NULL));
    NOTHING(shoal_result_n_systems(NULL));
    NOTHING(shoal_result_n_bodies(NULL));
    NO_TEXT(shoal_result_body_name(NULL, 0));
    NO_TEXT(shoal_result_body_name(r, -1));
    NO_TEXT(shoal_result_body_name(r, 99));
    NO_TEXT(shoal_result_text(NULL, "plan"));
    NO_TEXT(shoal_result_text(r, NULL));
    NO_TEXT(shoal_result_text(r, "G"));
    NO_NUMBER(shoal_result_number(NULL, "G"));
    NO_NUMBER(shoal_result_number(r, NULL));
    NO_NUMBER(shoal_result_number(r, "plan"));
    NOTHING(shoal_result_table(NULL, 0));
    NOTHING(shoal_result_table(r, -1));
    NOTHING(shoal_result_table(r, 99));
    NOTHING(shoal_result_axis(NULL, 0, NULL));
    NOTHING(shoal_result_axis(r, -1, NULL));
    NOTHING(shoal_result_axis(r, 2, NULL));
    NOTHING(shoal_result_n_rows(NULL, "systems"));
    NOTHING(shoal_result_n_rows(r, NULL));
    NOTHING(shoal_result_n_rows(r, "stars"));
    NOTHING(shoal_result_n_columns(NULL, "systems"));
    NOTHING(shoal_result_n_columns(r, "stars"));
    REFUSED(NULL, shoal_result_describe(NULL, "systems", 0, &text, NULL, NULL));
    REFUSED(c, shoal_result_describe(r, NULL, 0, &text, NULL, NULL));
    REFUSED(c, shoal_result_describe(r, "systems", -1, &text, NULL, NULL));
    REFUSED(c, shoal_result_describe(r, "systems", 999, &text, NULL, NULL));
    REFUSED(NULL, shoal_result_get_column(NULL, "systems", "t_stop", 0, 1, values, 0));
    REFUSED(c, shoal_result_get_column(r, NULL, "t_stop", 0, 1, values, 0));
    REFUSED(c, shoal_result_get_column(r, "system", "t_stop", 0, 1, values, 0));
    assert_non_null(strstr(shoal_context_message(c), "'systems'"));
    REFUSED(c, shoal_result_get_column(r, "systems", "t_stopp", 0, 1, values, 0));
    assert_non_null(strstr(shoal_context_message(c), "'t_stop'"));
    REFUSED(c, shoal_result_get_column(r, "systems", NULL, 0, 1, values, 0));
    REFUSED(c, shoal_result_get_column(r, "systems", "t_stop", -1, 1, values, 0));
    REFUSED(c, shoal_result_get_column(r, "systems", "t_stop", 0, 999, values, 0));
    REFUSED(c, shoal_result_get_column(r, "systems", "t_stop", 0, 1, NULL, 0));
    REFUSED(NULL, shoal_result_get_states(NULL, "final", NULL, values));
    REFUSED(c, shoal_result_get_states(r, "events", NULL, values));
    REFUSED(c, shoal_result_get_states(r, "final", &beyond, values));
    REFUSED(c, shoal_result_get_states(r, "final", &wide, values));
    REFUSED(c, shoal_result_get_states(r, "final", NULL, NULL));
    REFUSED(NULL, shoal_result_get_radii(NULL, "final", NULL, values));
    REFUSED(c, shoal_result_get_radii(r, "events", NULL, values));
    REFUSED(c, shoal_result_get_radii(r, "final", &beyond, values));
    REFUSED(c, shoal_result_get_radii(r, "final", &wide, values));
    REFUSED(c, shoal_result_get_radii(r, "final", NULL, NULL));
}

/* Every function of the header was called above. */
static void check_all_were_called(void)
{
    const char *root = getenv("SHOAL_ROOT");
    char path[600], line[400];
    snprintf(path, sizeof path, "%s/core/shoal.h", root ? root : ".");
    FILE *in = fopen(path, "r");
    int n = 0;
    if (!in)
        return; /* a bundle has no sources */
    while (fgets(line, sizeof line, in)) {
        char *from = strstr(line, "shoal_"), *to;
        for (; from && !(to = from + strspn(from, "abcdefghijklmnopqrstuvwxyz_0123456789"), *to == '(');)
            from = strstr(to, "shoal_");
        if (!from || line[0] < 'a' || line[0] > 'z' || strncmp(line, "typedef", 7) == 0)
            continue;
        char word[100];
        snprintf(word, sizeof word, " %.*s ", (int)(to - from), from);
        if (!strstr(seen, word))
            fail_msg("%s is called with no wrong argument here", word);
        n++;
    }
    fclose(in);
    assert_true(n > 50);
}

static const shoal_plug_options closest = {.name = "closest_approach"};

/* Two planets on circles; system 2 has one of them. */
static void make_states(double states[N][BODIES][NUMBERS])
{
    for (int s = 0; s < N; s++) {
        const double far = 2 + 0.1 * s;
        const double system[BODIES][NUMBERS] = {
            {1, 0, 0, 0, 0, 0, 0}, {1e-4, 1, 0, 0, 0, 1, 0}, {2e-4, 0, far, 0, -1 / sqrt(far), 0, 0.01}};
        memcpy(states[s], system, sizeof system);
    }
    for (int k = 0; k < NUMBERS; k++)
        states[2][2][k] = NAN;
}

static void make_ensemble(shoal_context *context, shoal_ensemble **ensemble)
{
    static double states[N][BODIES][NUMBERS];
    long n_invalid = -1;
    make_states(states);
    assert_ok(context, shoal_ensemble_create(context, N, BODIES, ensemble));
    assert_ok(context, shoal_ensemble_set_states(*ensemble, NULL, states[0][0], &n_invalid));
    assert_int_equal(n_invalid, 0);
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

/* A caller whose header has a member more. */
typedef struct newer_options {
    shoal_options known;
    double more;
} newer_options;

static void test_options_of_other_versions(void **state)
{
    shoal_context *context = context_of(state);
    shoal_ensemble *ensemble;
    shoal_plan *plan = NULL;
    newer_options newer;
    char start[300], end[300];
    make_ensemble(context, &ensemble);
    memset(&newer, 0x55, sizeof newer);
    assert_int_equal(shoal_options_init(&newer.known, (long)sizeof newer), SHOAL_OK);
    assert_true(newer.more == 0 && newer.known.t_end == 0 && newer.known.propagator == NULL);
    newer.known.dt = 0.01;
    newer.known.t_end = 1;
    newer.known.engine = "cpu";
    assert_ok(context, shoal_plan_create(context, ensemble, &newer.known, &plan));
    snprintf(start, sizeof start, "%s", shoal_plan_line(plan));
    shoal_plan_destroy(&plan);
    newer.more = 1;
    assert_int_equal(shoal_plan_create(context, ensemble, &newer.known, &plan), SHOAL_E_USAGE);
    assert_non_null(strstr(shoal_context_message(context), "does not know"));
    /* a size of 0 is that of version 0.1: what comes behind is not read */
    newer.known.size = 0;
    assert_ok(context, shoal_plan_create(context, ensemble, &newer.known, &plan));
    snprintf(end, sizeof end, "%s", shoal_plan_line(plan));
    assert_string_equal(start, end);
    shoal_plan_destroy(&plan);
    shoal_ensemble_destroy(&ensemble);
}

/* ---- arrays of systems ------------------------------------------------------------------------------------------- */

/* States in a layout of its own come back as they went in, to rounding of the barycentre. */
static void check_layout(shoal_context *context, const shoal_block *block, double *array, const double *first)
{
    static double states[N][BODIES][NUMBERS];
    shoal_ensemble *ensemble;
    long n_invalid;
    make_states(states);
    assert_ok(context, shoal_ensemble_create(context, N, BODIES, &ensemble));
#define AT(s, b, k) \
    (*(double *)((char *)first + (s)*block->system_stride + (b)*block->body_stride + (k)*block->number_stride))
    for (int s = 0; s < N; s++)
        for (int b = 0; b < BODIES; b++)
            for (int k = 0; k < NUMBERS; k++)
                AT(s, b, k) = states[s][b][k];
    assert_ok(context, shoal_ensemble_set_states(ensemble, block, first, &n_invalid));
    assert_int_equal(n_invalid, 0);
    memset(array, 0, sizeof states);
    assert_ok(context, shoal_ensemble_get_states(ensemble, block, (double *)first));
    for (int s = 0; s < N; s++)
        for (int b = 0; b < BODIES; b++)
            for (int k = 0; k < NUMBERS; k++)
                if (isnan(states[s][b][k]))
                    assert_true(isnan(AT(s, b, k)));
                else
                    assert_true(fabs(AT(s, b, k) - states[s][b][k]) < 1e-15);
#undef AT
    shoal_ensemble_destroy(&ensemble);
}

static void test_states_in_any_layout(void **state)
{
    static double array[N * BODIES * NUMBERS];
    const long size = sizeof(double);
    /* [system][body][number]; [number][body][system], as arrays of a structure; systems backwards */
    const shoal_block rows = {0, N, 0, BODIES * NUMBERS * size, NUMBERS * size, size},
                      columns = {0, N, BODIES, size, N * size, N * BODIES * size},
                      backwards = {0, N, 0, -BODIES * NUMBERS * size, NUMBERS * size, size};
    check_layout(context_of(state), &rows, array, array);
    check_layout(context_of(state), &columns, array, array);
    check_layout(context_of(state), &backwards, array, array + (N - 1) * BODIES * NUMBERS);
}

/* The same bits as system by system; no other system is touched. */
static void test_states_and_bodies_agree(void **state)
{
    shoal_context *context = context_of(state);
    static double states[N][BODIES][NUMBERS];
    shoal_ensemble *many, *single;
    const shoal_block two = {.first = 3, .n = 2};
    int outcomes[N];
    make_ensemble(context, &single);
    make_states(states);
    assert_ok(context, shoal_ensemble_create(context, N, BODIES, &many));
    assert_ok(context, shoal_ensemble_set_states(many, &two, states[3][0], NULL));
    assert_ok(context, shoal_ensemble_get_outcomes(many, 0, N, outcomes));
    for (int s = 0; s < N; s++) {
        shoal_body given[BODIES], a[BODIES], b[BODIES];
        assert_int_equal(outcomes[s], s < 3 ? SHOAL_INVALID : SHOAL_RUNNING);
        for (int i = 0; i < BODIES; i++) {
            const double *v = states[s][i];
            given[i] = (shoal_body){v[0], 0, v[1], v[2], v[3], v[4], v[5], v[6]};
        }
        assert_ok(context, shoal_ensemble_set_bodies(single, s, s == 2 ? 2 : 3, given));
        if (s < 3)
            continue;
        assert_ok(context, shoal_ensemble_get_bodies(many, s, a));
        assert_ok(context, shoal_ensemble_get_bodies(single, s, b));
        assert_memory_equal(a, b, sizeof a);
    }
    shoal_ensemble_destroy(&many);
    shoal_ensemble_destroy(&single);
}

static void test_impossible_systems_stop_no_other(void **state)
{
    shoal_context *context = context_of(state);
    static double states[N][BODIES][NUMBERS];
    shoal_ensemble *ensemble;
    long n_invalid;
    int outcomes[N];
    make_states(states);
    states[1][1][0] = -1;                  /* a mass below 0 */
    states[3][1][5] = NAN;                 /* some of a body's numbers */
    states[4][1][1] = states[4][0][1] = 0; /* two bodies at one place */
    assert_ok(context, shoal_ensemble_create(context, N, BODIES, &ensemble));
    assert_ok(context, shoal_ensemble_set_states(ensemble, NULL, states[0][0], &n_invalid));
    assert_int_equal(n_invalid, 3);
    assert_non_null(strstr(shoal_context_message(context), "3 of 5 systems are invalid; the first: system 1, body 1"));
    assert_ok(context, shoal_ensemble_get_outcomes(ensemble, 0, N, outcomes));
    for (int s = 0; s < N; s++)
        assert_int_equal(outcomes[s], s == 1 || s >= 3 ? SHOAL_INVALID : SHOAL_RUNNING);
    for (int k = 0; k < NUMBERS; k++)
        states[0][1][k] = NAN; /* a body behind one that is not there */
    assert_ok(context, shoal_ensemble_set_states(ensemble, &(shoal_block){.n = 1}, states[0][0], &n_invalid));
    assert_int_equal(n_invalid, 1);
    assert_non_null(strstr(shoal_context_message(context), "system 0, body 2: there is a body behind one that is not"));
    for (int k = 0; k < NUMBERS; k++)
        states[0][2][k] = NAN; /* one body is no system */
    assert_ok(context, shoal_ensemble_set_states(ensemble, &(shoal_block){.n = 1}, states[0][0], &n_invalid));
    assert_int_equal(n_invalid, 1);
    assert_non_null(strstr(shoal_context_message(context), "system 0: 1 bodies"));
    shoal_ensemble_destroy(&ensemble);
}

static void test_orbits(void **state)
{
    shoal_context *context = context_of(state);
    static double orbits[N][BODIES][NUMBERS], back[N][BODIES][NUMBERS];
    const shoal_frame frames[] = {SHOAL_JACOBI, SHOAL_ASTROCENTRIC, SHOAL_BARYCENTRIC};
    shoal_ensemble *ensemble;
    long n_invalid;
    assert_ok(context, shoal_ensemble_create(context, N, BODIES, &ensemble));
    for (int f = 0; f < SHOAL_COUNT(frames); f++) {
        for (int s = 0; s < N; s++) {
            const double system[BODIES][NUMBERS] = {{1, NAN, NAN, NAN, NAN, NAN, NAN},
                                                    {1e-3, 1 + 0.1 * s, 0.1, 0.2, 0.3, 0.4, 0.5},
                                                    {1e-3, 3, s == 4 ? 2 : 0.2, 0.1, 1, 2, -1}}; /* e > 1, a > 0 */
            memcpy(orbits[s], system, sizeof system);
        }
        assert_ok(context, shoal_ensemble_set_orbits(ensemble, frames[f], NULL, orbits[0][0], &n_invalid));
        assert_int_equal(n_invalid, 1);
        assert_non_null(strstr(shoal_context_message(context), "system 4: body 2"));
        assert_ok(context, shoal_ensemble_get_orbits(ensemble, frames[f], NULL, back[0][0]));
        for (int s = 0; s < N; s++)
            for (int b = 0; b < BODIES; b++)
                for (int k = 0; k < NUMBERS; k++)
                    if (s == 4 || (b == 0 && k > 0))
                        assert_true(isnan(back[s][b][k]));
                    else
                        assert_true(fabs(back[s][b][k] - orbits[s][b][k]) < 1e-13);
    }
    shoal_ensemble_destroy(&ensemble);
}

static void test_radii(void **state)
{
    shoal_context *context = context_of(state);
    shoal_ensemble *ensemble;
    double radii[N][BODIES], back[N][BODIES];
    long n_invalid;
    make_ensemble(context, &ensemble);
    for (int s = 0; s < N; s++)
        for (int b = 0; b < BODIES; b++)
            radii[s][b] = s == 2 && b == 2 ? NAN : 0.01 * s + 0.001 * b;
    assert_ok(context, shoal_ensemble_set_radii(ensemble, NULL, radii[0], &n_invalid));
    assert_int_equal(n_invalid, 0);
    assert_ok(context, shoal_ensemble_get_radii(ensemble, NULL, back[0]));
    for (int s = 0; s < N; s++)
        for (int b = 0; b < BODIES; b++)
            assert_true(s == 2 && b == 2 ? isnan(back[s][b]) : back[s][b] == radii[s][b]);
    radii[3][1] = -1;
    assert_ok(context, shoal_ensemble_set_radii(ensemble, NULL, radii[0], &n_invalid));
    assert_int_equal(n_invalid, 1);
    assert_non_null(strstr(shoal_context_message(context), "system 3, body 1: r = -1"));
    shoal_ensemble_destroy(&ensemble);
}

static void test_anomalies(void **state)
{
    double e[3] = {0.3, 1.5, 1.0}, f[3] = {1, 0.5, 0}, M[3], back[3];
    assert_ok(context_of(state), shoal_mean_anomalies(context_of(state), 3, e, f, M));
    assert_ok(context_of(state), shoal_true_anomalies(context_of(state), 3, e, M, back));
    assert_true(M[0] == shoal_mean_anomaly(0.3, 1) && isnan(M[2]) && isnan(back[2]));
    assert_true(fabs(back[0] - 1) < 1e-15 && fabs(back[1] - 0.5) < 1e-15);
}

/* ---- columns and events ------------------------------------------------------------------------------------------ */

/* What a program in another language asks for. */
static void test_units_and_settings(void **state)
{
    shoal_context *context = *state;
    double factors[4];
    assert_ok(context, shoal_unit_factors(context, "AU, Msun, yr", factors));
    assert_true(factors[0] == 1 && factors[1] == 1 && fabs(factors[2] - 6.2831) < 1e-3);
    assert_true(fabs(factors[3] - 39.477) < 1e-2);
    assert_ok(context, shoal_unit_factors(context, "AU, Msun, G = 1", factors));
    assert_true(factors[2] == 1 && factors[3] == 1);
    assert_int_equal(shoal_unit_factors(context, "AU, Msum, yr", factors), SHOAL_E_INPUT);
    assert_non_null(strstr(shoal_context_message(context), "Msun"));
    const char *dimension;
    assert_string_equal(shoal_plug_setting(NULL, "gr", 0, &dimension), "c");
    assert_string_equal(dimension, "velocity");
    assert_null(shoal_plug_setting(NULL, "gr", 1, &dimension));
    assert_string_equal(shoal_plug_setting(context, "stop_on_encounter", 0, &dimension), "radius");
    assert_string_equal(dimension, "choice");
    assert_string_equal(shoal_plug_setting(context, "mvs", 0, &dimension), "compensated");
    assert_string_equal(dimension, "");
}

static void test_columns(void **state)
{
    static const char *const names[] = {"id",           "n_live",  "t_start",     "dt",     "time",
                                        "n_steps",      "outcome", "t_stop",      "body_a", "body_b",
                                        "energy_start", "n_left",  "energy_jump", "energy", "Lz"};
    shoal_context *context = context_of(state);
    shoal_ensemble *ensemble;
    shoal_plan *plan;
    const shoal_options options = {
        .engine = "cpu", .propagator = "hermite4", .t_end = 3, .monitors = &closest, .n_monitors = 1};
    double ids[2 * N], dt[N], values[SHOAL_COUNT(names)][N], spread[2 * N], L[3];
    make_ensemble(context, &ensemble);
    for (int s = 0; s < N; s++) {
        ids[2 * s] = 100 + s;
        dt[s] = 0.01;
    }
    assert_ok(context, shoal_ensemble_set_column(ensemble, "id", 0, N, ids, 2 * sizeof(double)));
    assert_ok(context, shoal_ensemble_set_column(ensemble, "dt", 0, N, dt, 0));
    dt[3] = NAN;
    assert_int_equal(shoal_ensemble_set_column(ensemble, "dt", 0, N, dt, 0), SHOAL_E_INPUT);
    ids[0] = 0.5;
    assert_int_equal(shoal_ensemble_set_column(ensemble, "id", 0, 1, ids, 0), SHOAL_E_INPUT);
    assert_ok(context, shoal_plan_create(context, ensemble, &options, &plan));
    assert_ok(context, shoal_plan_integrate(plan, 3));
    for (int i = 0; i < SHOAL_COUNT(names); i++)
        assert_ok(context, shoal_ensemble_get_column(ensemble, names[i], 0, N, values[i], 0));
    for (int s = 0; s < N; s++) {
        shoal_system r;
        assert_ok(context, shoal_ensemble_get_system(ensemble, s, &r));
        assert_ok(context, shoal_ensemble_angular_momentum(ensemble, s, L));
        const double expected[] = {(double)(100 + s),
                                   s == 2 ? 2 : 3,
                                   0,
                                   0.01,
                                   3,
                                   300,
                                   SHOAL_SURVIVED,
                                   3,
                                   -1,
                                   -1,
                                   r.energy_start,
                                   r.n_live,
                                   0,
                                   shoal_ensemble_energy(ensemble, s),
                                   L[2]};
        for (int i = 0; i < SHOAL_COUNT(names); i++)
            if (values[i][s] != expected[i])
                fail_msg("system %d: %s = %g, expected %g", s, names[i], values[i][s], expected[i]);
        assert_true(r.id == 100 + s && r.reserved[0] == 0 && r.reserved[3] == 0);
    }
    for (int i = 0; i < 2 * N; i++)
        spread[i] = -7;
    assert_ok(context, shoal_plan_get_column(plan, "min_separation", 1, N - 1, spread, 2 * sizeof(double)));
    for (int s = 1; s < N; s++) {
        const double value = spread[2 * (s - 1)], single = shoal_plan_column(plan, "min_separation", s);
        assert_true(s == 2 ? isnan(value) && isnan(single) : value == single && value > 0.5); /* one planet: no pair */
        assert_true(spread[2 * (s - 1) + 1] == -7);
    }
    const char *dimension;
    assert_string_equal(shoal_plan_column_name(plan, NULL, 0, &dimension), "min_separation");
    assert_string_equal(dimension, "length");
    assert_non_null(strstr(shoal_plan_column_doc(plan, "min_separation"), "distance"));
    assert_null(shoal_plan_column_doc(plan, "min_separatio"));
    assert_non_null(strstr(shoal_context_message(context), "did you mean 'min_separation'?"));
    int n_columns = 0;
    for (const char *name; (name = shoal_plan_column_name(plan, NULL, n_columns, NULL)); n_columns++)
        assert_ok(context, shoal_plan_get_column(plan, name, 0, N, spread, 0));
    assert_true(n_columns > 1);
    shoal_plan_destroy(&plan);
    shoal_ensemble_destroy(&ensemble);
}

/* Planets that pass before their star, and two that meet head-on: that is an event, transits are logged. */
static void test_events_and_logs(void **state)
{
    shoal_context *context = context_of(state);
    shoal_ensemble *ensemble;
    shoal_plan *plan;
    const shoal_setting merge = {"action", 0, "merge"};
    const shoal_plug_options monitors[] = {{.name = "transits"}, {"stop_on_collision", &merge, 1}};
    const shoal_options options = {
        .engine = "cpu", .propagator = "saba", .t_end = 20, .dt = 0.05, .monitors = monitors, .n_monitors = 2};
    const shoal_orbit orbits[2][3] = {{{.a = 0}, {.a = 1, .inc = M_PI / 2}, {.a = 1, .inc = -M_PI / 2, .f = 2}},
                                      {{.a = 0}, {.a = 1.1, .inc = M_PI / 2}, {.a = 1.9, .inc = M_PI / 2}}};
    shoal_event events[8], one;
    double pairs[64][2], body;
    assert_ok(context, shoal_ensemble_create(context, 2, 3, &ensemble));
    for (int s = 0; s < 2; s++) {
        shoal_body bodies[3] = {{.m = 1, .r = 0.01}, {.m = 1e-3, .r = 0.05}, {.m = 1e-5, .r = 0.05}};
        assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, 3, orbits[s], bodies));
        assert_ok(context, shoal_ensemble_set_bodies(ensemble, s, 3, bodies));
    }
    assert_ok(context, shoal_plan_create(context, ensemble, &options, &plan));
    assert_ok(context, shoal_plan_integrate(plan, 20));
    const long n = shoal_plan_n_events(plan);
    assert_true(n >= 1 && n <= 8);
    assert_ok(context, shoal_plan_get_events(plan, 0, n, events));
    assert_int_equal(events[0].what, SHOAL_COLLIDED);
    for (long i = 0; i < n; i++) {
        assert_ok(context, shoal_plan_event(plan, i, &one));
        assert_true(one.time == events[i].time && one.system == events[i].system && one.reserved[3] == 0);
    }
    const long n_logged = shoal_plan_n_logged(plan, "transits");
    assert_true(n_logged >= 5 && n_logged <= 12);
    assert_ok(context, shoal_plan_get_log(plan, "transits", "time", 0, n_logged, &pairs[0][0], sizeof pairs[0]));
    assert_ok(context, shoal_plan_get_log(plan, "transits", "system", 0, n_logged, &pairs[0][1], sizeof pairs[0]));
    for (long i = 0; i < n_logged; i++) {
        assert_true(pairs[i][0] > 0 && pairs[i][0] < 20 && (pairs[i][1] == 0 || pairs[i][1] == 1));
        assert_ok(context, shoal_plan_get_log(plan, "transits", "body", i, 1, &body, 0));
        assert_true(body == 1 || (body == 2 && (pairs[i][1] == 1 || pairs[i][0] < events[0].time)));
    }
    const char *dimension;
    int n_columns = 0;
    for (const char *name; (name = shoal_plan_column_name(plan, "transits", n_columns, &dimension)); n_columns++) {
        assert_ok(context, shoal_plan_get_log(plan, "transits", name, 0, 1, &body, 0));
        assert_string_equal(dimension, n_columns == 1 ? "time" : n_columns == 2 ? "body" : dimension);
    }
    assert_true(n_columns > 2 && strcmp(shoal_plan_column_name(plan, "transits", 1, NULL), "time") == 0);
    REFUSED(context, shoal_plan_get_log(plan, "transits", "bodi", 0, 1, &body, 0));
    assert_non_null(strstr(shoal_context_message(context), "did you mean 'body'?"));
    REFUSED(context, shoal_plan_get_log(plan, "megno", "time", 0, 1, &body, 0));
    REFUSED(context, shoal_plan_get_log(plan, "transits", "time", n_logged, 1, &body, 0));
    REFUSED(context, shoal_plan_get_log(plan, "transits", "time", 0, 1, NULL, 0));
    assert_int_equal(shoal_plan_n_logged(plan, "stop_on_collision"), 0);
    shoal_plan_destroy(&plan);
    shoal_ensemble_destroy(&ensemble);
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

static char file[300];

typedef struct looked {
    shoal_context *context;
    long n_left, n_done;
    bool journal; /* was read while the run went on */
} looked;

static int look(const shoal_progress *progress, void *user)
{
    looked *l = user;
    shoal_result *result;
    l->n_left = progress->n_by_outcome[SHOAL_RUNNING];
    l->n_done = 0;
    for (int i = 0; i < progress->n_outcomes; i++)
        l->n_done += i == SHOAL_RUNNING ? 0 : progress->n_by_outcome[i];
    if (!l->journal && shoal_result_open(l->context, file, &result) == SHOAL_OK) {
        double initial[BODIES * NUMBERS];
        l->journal = !shoal_result_is_complete(result) && shoal_result_n_systems(result) == 4 &&
                     shoal_result_get_states(result, "initial", &(shoal_block){.first = 3, .n = 1}, initial) ==
                         SHOAL_OK &&
                     initial[0] == 1;
        shoal_result_close(&result);
    }
    return 0;
}

/* A text is the study that a file with this text is. */
static void check_parsed(shoal_context *context, const char *text)
{
    const char *overrides[] = {"output.file=\"x.h5\""}, *wrong[] = {"run.t_ned=1"};
    shoal_study *study;
    assert_ok(context, shoal_study_parse(context, text, "/somewhere/a.cfg", 1, overrides, &study));
    assert_string_equal(shoal_study_output(study), "x.h5");
    assert_non_null(strstr(shoal_study_text(study), "x.h5"));
    assert_int_equal(shoal_study_is_big(study), 0);
    shoal_study_destroy(&study);
    assert_int_equal(shoal_study_parse(context, text, "/somewhere/a.cfg", 1, wrong, &study), SHOAL_E_INPUT);
    assert_non_null(strstr(shoal_context_message(context), "t_end"));
    assert_int_equal(shoal_study_parse(context, "run = {\n t_ned = 1.0; };", "a.cfg", 0, NULL, &study), SHOAL_E_INPUT);
    assert_non_null(strstr(shoal_context_message(context), "a.cfg:2: "));
}

static void run_study(shoal_context *context)
{
    const char *root = getenv("SHOAL_ROOT");
    char path[600], output[400];
    shoal_study *study;
    looked l = {0};
    snprintf(path, sizeof path, "%s/configs/sun_jupiter_saturn.cfg", root ? root : ".");
    snprintf(output, sizeof output, "output.file=\"%s\"", file);
    const char *overrides[] = {output,
                               "sweep.[0].count=2",
                               "sweep.[1].count=2",
                               "run.t_end=2000.0",
                               "run.engine=\"cpu\"",
                               "output.interval=1000.0"};
    assert_int_equal(shoal_context_create(&l.context), SHOAL_OK);
    assert_ok(context, shoal_study_load(context, path, SHOAL_COUNT(overrides), overrides, &study));
    assert_string_equal(shoal_study_output(study), file);
    check_parsed(context, study->config_text);
    assert_ok(context, shoal_study_run(study, 0, look, &l));
    assert_true(l.journal);
    assert_true(l.n_left == 0 && l.n_done == 4);
    shoal_study_destroy(&study);
    shoal_context_destroy(&l.context);
}

/* What the arrays say is what the file holds, as the library's own tools read it. */
static void check_result(shoal_context *context, const shoal_result *r)
{
    shoal_result *own;
    double column[16], states[16 * BODIES * NUMBERS], star[4];
    const char *name, *unit, *doc;
    assert_ok(context, shoal_store_read(context, file, &own));
    assert_int_equal(shoal_result_is_complete(r), 1);
    assert_int_equal(shoal_result_n_systems(r), 4);
    assert_int_equal(shoal_result_n_bodies(r), BODIES);
    assert_string_equal(shoal_result_body_name(r, 2), "saturn");
    assert_non_null(strstr(shoal_result_text(r, "config"), "stop_on_encounter"));
    assert_string_equal(shoal_result_text(r, "unit_time"), "yr");
    assert_string_equal(shoal_result_text(r, "epoch"), "J2000.0");
    assert_true(shoal_result_number(r, "G") == own->units.G && shoal_result_number(r, "seed") == (double)own->seed);
    long count = 0;
    assert_true(strcmp(shoal_result_axis(r, 1, &count), "saturn.a") == 0 && count == 2);
    assert_string_equal(shoal_result_axis(r, 0, NULL), "saturn.e");
    int n_tables = 0;
    while ((name = shoal_result_table(r, n_tables))) {
        for (int i = 0; i < shoal_result_n_columns(r, name); i++) {
            const char *of;
            assert_ok(context, shoal_result_describe(r, name, i, &of, &unit, &doc));
            assert_true(*of && *doc);
            assert_true(shoal_result_n_rows(r, name) <= 16);
            assert_ok(context, shoal_result_get_column(r, name, of, 0, shoal_result_n_rows(r, name), column, 0));
        }
        n_tables++;
    }
    assert_true(n_tables >= 5);
    assert_int_equal(shoal_result_n_rows(r, "snapshots"), own->n_snapshots);
    assert_true(own->n_snapshots > 4);
    assert_ok(context, shoal_result_describe(r, "systems", 2, &name, &unit, &doc));
    assert_true(strcmp(name, "t_stop") == 0 && strcmp(unit, "yr") == 0);
    for (int c = 0; c < own->n_columns; c++) {
        assert_ok(context, shoal_result_get_column(r, "systems", own->columns[c].name, 0, 4, column, 0));
        assert_memory_equal(column, own->columns[c].value, 4 * sizeof(double));
    }
    assert_ok(context, shoal_result_get_column(r, "systems", "outcome", 1, 3, column, 0));
    assert_true(column[0] == own->outcome[1] && column[2] == own->outcome[3]);
    assert_ok(context, shoal_result_get_column(r, "final", "time", 0, 4, column, 0));
    assert_memory_equal(column, own->t_final, 4 * sizeof(double));
    assert_ok(context, shoal_result_get_column(r, "snapshots", "system", 5, 1, column, 0));
    assert_true(column[0] == (double)own->snapshot_system[5]);
    assert_ok(context, shoal_result_get_states(r, "final", NULL, states));
    assert_memory_equal(states, own->final, sizeof(double) * 4 * BODIES * NUMBERS);
    const shoal_block one = {.first = 5, .n = 1};
    assert_ok(context, shoal_result_get_states(r, "snapshots", &one, states));
    assert_memory_equal(states, own->snapshot + 5 * BODIES * NUMBERS, sizeof(double) * BODIES * NUMBERS);
    assert_ok(context, shoal_result_get_column(r, "initial", "time", 0, 4, star, 0));
    assert_true(star[3] == 0);
    shoal_result_destroy(&own);
}

static void test_results_as_arrays(void **state)
{
    shoal_context *context = context_of(state);
    shoal_result *result;
    run_study(context);
    assert_ok(context, shoal_result_open(context, file, &result));
    check_result(context, result);
    shoal_result_close(&result);
}

/* ---- all of them with wrong arguments ---------------------------------------------------------------------------- */

static void test_wrong_arguments_are_refused(void **state)
{
    shoal_context *context = context_of(state);
    shoal_ensemble *ensemble;
    shoal_plan *plan;
    shoal_result *result;
    const shoal_options options = {.engine = "cpu", .t_end = 3, .dt = 0.1, .monitors = &closest, .n_monitors = 1};
    double states[N * BODIES * NUMBERS], after[N * BODIES * NUMBERS];
    assert_ok(context, shoal_result_open(context, file, &result)); /* of the test before */
    make_ensemble(context, &ensemble);
    check_context_and_elements(context);
    check_ensemble(context, ensemble);
    check_options(context, ensemble);
    assert_ok(context, shoal_plan_create(context, ensemble, &options, &plan));
    assert_ok(context, shoal_plan_integrate(plan, 1));
    assert_ok(context, shoal_ensemble_get_states(ensemble, NULL, states));
    check_ensemble(context, ensemble);
    check_plan(context, ensemble, plan);
    check_extend(context);
    check_study_and_result(context, result);
    check_model();
    check_all_were_called();
    /* a refused call leaves everything as it was */
    assert_ok(context, shoal_ensemble_get_states(ensemble, NULL, after));
    assert_memory_equal(states, after, sizeof states);
    assert_ok(context, shoal_plan_integrate(plan, 2));
    shoal_plan_destroy(&plan);
    shoal_ensemble_destroy(&ensemble);
    shoal_result_close(&result);
    assert_null(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_of_other_versions),
        cmocka_unit_test(test_states_in_any_layout),
        cmocka_unit_test(test_states_and_bodies_agree),
        cmocka_unit_test(test_impossible_systems_stop_no_other),
        cmocka_unit_test(test_orbits),
        cmocka_unit_test(test_radii),
        cmocka_unit_test(test_no_bodies),
        cmocka_unit_test(test_anomalies),
        cmocka_unit_test(test_units_and_settings),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_events_and_logs),
        cmocka_unit_test(test_results_as_arrays),
        cmocka_unit_test(test_wrong_arguments_are_refused),
    };
    struct cache place;
    cache_begin(&place);
    snprintf(file, sizeof file, "%s/result.h5", place.folder);
    const int failed = cmocka_run_group_tests_name("api", tests, setup, teardown);
    cache_end(&place);
    return failed;
}
