/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_plugin.c: plugs of the user's: the same bits as the built-in plug with the same text, the examples, and what is
 * refused.
 */
#define _GNU_SOURCE 1
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testing.h"

static char folder[] = "/tmp/shoal-plugin-XXXXXX";

static const char *root(void)
{
    const char *path = getenv("SHOAL_ROOT");
    return path ? path : ".";
}

/* Write text (after "#include plug.h") to a plugin NAME.c; its path. */
static const char *write_plugin(const char *name, const char *host, const char *kernel)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s.c", folder, name);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fprintf(out, "#include \"plug.h\"\n#ifndef SHOAL_KERNEL\n%s\n#else\n%s\n#endif\n", host, kernel);
    assert_int_equal(fclose(out), 0);
    return path;
}

static const char *builtin_text(const char *name)
{
    for (int i = 0; shoal_texts[i].name; i++)
        if (strcmp(shoal_texts[i].name, name) == 0)
            return shoal_texts[i].text;
    fail_msg("no text %s", name);
    return NULL;
}

/* 20 systems of a star and two planets. */
static shoal_ensemble *make_ensemble(shoal_context *context)
{
    shoal_ensemble *ensemble = NULL;
    assert_ok(context, shoal_ensemble_create(context, 20, 3, &ensemble));
    for (int i = 0; i < 20; i++) {
        const shoal_body bodies[] = {{.m = 1.0},
                                     {.m = 1e-3, .x = 1.0, .vy = 1.0 + 0.005 * i},
                                     {.m = 2e-3, .x = -2.0, .vy = -0.7, .vz = 0.002 * i}};
        assert_ok(context, shoal_ensemble_set_bodies(ensemble, i, 3, bodies));
    }
    return ensemble;
}

static void states_after(shoal_context *context, const shoal_options *options, double state[20][18])
{
    shoal_ensemble *ensemble = make_ensemble(context);
    shoal_plan *plan = NULL;
    assert_ok(context, shoal_plan_create(context, ensemble, options, &plan));
    assert_ok(context, shoal_plan_integrate(plan, options->t_end));
    for (int i = 0; i < 20; i++)
        for (int c = 0; c < 18; c++)
            state[i][c] = *shoal_ensemble_body(ensemble, c / 6, c % 6, i);
    shoal_plan_destroy(&plan);
    shoal_ensemble_destroy(&ensemble);
}

static void a_copy_of_a_propagator_gives_the_same_bits(void **state)
{
    static const char host[] =
        "static const char *const slots[] = {\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\","
        "\"i\",\"j\",\"k\",\"l\",\"m\",\"n\",\"o\"};\n"
        "static const shoal_parameter parameters[] = {{\"order\", SHOAL_INTEGER, \"\", 2, 2, 2, 0, \"\"}};\n"
        "const shoal_propagator shoal_propagator_own_leapfrog = {.name = \"own_leapfrog\", .doc = \"a copy\","
        " .order = 2, .slots = slots, .n_slots = 15, .parameters = parameters, .n_parameters = 1};";
    shoal_context *context = context_of(state);
    double own[20][18], builtin[20][18];
    assert_ok(context, shoal_plugin_load(
                           context, write_plugin("own_leapfrog", host, builtin_text("integrators/leapfrog.kern.h"))));
    for (int lanes = 0; lanes <= 4; lanes += 4) {
        shoal_options options = {
            .propagator = "own_leapfrog", .dt = 0.01, .t_end = 10.005, .engine = "cpu", .lanes = lanes};
        states_after(context, &options, own);
        options.propagator = "leapfrog";
        states_after(context, &options, builtin);
        assert_memory_equal(own, builtin, sizeof own);
    }
}

static void a_copy_of_a_force_gives_the_same_bits(void **state)
{
    shoal_context *context = context_of(state);
    /* the same force under another name, weaker light */
    static const char host[] =
        "static const shoal_parameter parameters[] = {{\"c\", SHOAL_REAL, \"velocity\", 30, 1, 1e9, 0, \"\"}};\n"
        "const shoal_force shoal_force_own_potential = {.name = \"own_potential\", .doc = \"a copy\","
        " .parameters = parameters, .n_parameters = 1};";
    char *kernel = NULL;
    assert_true(asprintf(&kernel,
                         "#define gr_potential_add own_potential_add\n#define GR_POTENTIAL_C OWN_C\n"
                         "#define gr_potential_PARAMETERS own_PARAMETERS\n%s\n"
                         "#undef gr_potential_add\n#undef GR_POTENTIAL_C\n#undef gr_potential_PARAMETERS\n",
                         builtin_text("gravitation/gr_potential.kern.h")) > 0);
    assert_ok(context, shoal_plugin_load(context, write_plugin("own_potential", host, kernel)));
    free(kernel);
    double own[20][18], builtin[20][18], without[20][18];
    const shoal_setting c = {"c", 30, NULL};
    shoal_plug_options force = {"own_potential", &c, 1};
    shoal_options options = {
        .propagator = "hermite4", .dt = 0.01, .t_end = 10, .engine = "cpu", .forces = &force, .n_forces = 1};
    states_after(context, &options, own);
    force.name = "gr_potential";
    states_after(context, &options, builtin);
    options.n_forces = 0;
    states_after(context, &options, without);
    assert_memory_equal(own, builtin, sizeof own);
    assert_true(fabs(own[0][6] - without[0][6]) > 1e-4);
}

/* The longest way of body 1 along x in a step, from both its ends; the example, which looks at the ends alone, asks
 * for no more. */
static void a_monitor_sees_the_state_before_a_step_unless_it_needs_none(void **state)
{
    static const char host[] =
        "static double longest(const double *slots, const double *p) { (void)p; return slots[0]; }\n"
        "static const double initial[] = {0};\n"
        "static const shoal_monitor_column columns[] = {{\"stride\", \"length\", \"\", longest, SHOAL_OF_SYSTEM}};\n"
        "const shoal_monitor shoal_monitor_stride = {.name = \"stride\", .doc = \"\", .n_slots = 1, .initial = initial,"
        " .columns = columns, .n_columns = 1};";
    static const char kernel[] =
        "enum { stride_SLOTS = 1 };\n"
        "LANE_FN void stride_watch(const shoal_kernel_args *k, const lane_view *view, real *slots, lane_event "
        "*event)\n"
        "{ (void)k, (void)event; slots[0] = lane_max(slots[0], lane_abs(view->after[1] - view->before[1])); }";
    shoal_context *context = context_of(state);
    char path[600];
    snprintf(path, sizeof path, "%s/examples/plugins/least_distance.c", root());
    assert_ok(context, shoal_plugin_load(context, path));
    assert_ok(context, shoal_plugin_load(context, write_plugin("stride", host, kernel)));
    shoal_text text;
    int i = 0;
    while (strcmp((text = shoal_plugin_text(context, i)).name, "plugins/monitors.h") != 0)
        i++;
    assert_string_equal(text.text, "MONITOR(least_distance, ENDS)\nMONITOR(stride, BEFORE)\n");
    shoal_ensemble *ensemble = make_ensemble(context);
    shoal_plan *plan = NULL;
    const shoal_plug_options monitors[] = {{"stride", NULL, 0}, {"least_distance", NULL, 0}};
    const shoal_options options = {
        .propagator = "leapfrog", .dt = 0.01, .t_end = 10, .engine = "cpu", .monitors = monitors, .n_monitors = 2};
    assert_ok(context, shoal_plan_create(context, ensemble, &options, &plan));
    assert_ok(context, shoal_plan_integrate(plan, options.t_end));
    const double stride = shoal_plan_column(plan, "stride", 0); /* of a circle at speed 1 */
    assert_true(stride > 0.0099 && stride < 0.0102);
    shoal_plan_destroy(&plan);
    shoal_ensemble_destroy(&ensemble);
}

/* A monitor of one's own logs when body 1 passes the x axis upwards: the rows come back from a plan and from a file. */
static void a_monitor_logs(void **state)
{
    static const char host[] =
        "static const shoal_log_column log[] = {{\"who\", SHOAL_DIMENSION_BODY, \"who passes\"},\n"
        "    {\"where\", \"length\", \"x\"}, {\"again\", \"\", \"1 or 2\"}};\n"
        "const shoal_monitor shoal_monitor_passes = {.name = \"passes\", .doc = \"\", .log = log, .n_log = 3};";
    static const char kernel[] =
        "enum { passes_SLOTS = 0 };\n"
        "LANE_FN void passes_watch(const shoal_kernel_args *k, const lane_view *view, real *slots, lane_event "
        "*event)\n"
        "{ (void)slots; const int n = view->n; const real then = view->before[n + 1], now = view->after[n + 1];\n"
        "  const mask up = view->whole & (then < lane_set(0.0)) & (now >= lane_set(0.0));\n"
        "  real values[3] = {lane_set(1.0), view->after[1], lane_set(1.0)};\n"
        "  record_add(k, view, up, SHOAL_MONITOR_passes, view->time, values, 3, event);\n"
        "  values[2] = lane_set(2.0);\n"
        "  record_add(k, view, up, SHOAL_MONITOR_passes, view->time, values, 3, event); }";
    shoal_context *context = context_of(state);
    char path[600], made[600];
    assert_ok(context, shoal_plugin_load(context, write_plugin("passes", host, kernel)));
    shoal_ensemble *ensemble = make_ensemble(context);
    shoal_plan *plan = NULL;
    const shoal_plug_options monitor = {"passes", NULL, 0};
    const shoal_options options = {
        .propagator = "leapfrog", .dt = 0.01, .t_end = 100, .engine = "cpu", .monitors = &monitor, .n_monitors = 1};
    assert_ok(context, shoal_plan_create(context, ensemble, &options, &plan));
    assert_ok(context, shoal_plan_integrate(plan, options.t_end));
    const long n = shoal_plan_n_logged(plan, "passes");
    double row[3];
    assert_in_range(n, 20 * 2 * 10, 20 * 2 * 16); /* two rows of each of some 15 orbits of 20 systems */
    for (long i = 0; i < n; i += 2)
        for (int k = 0; k < 2; k++) {
            assert_ok(context, shoal_plan_get_log(plan, "passes", "who", i + k, 1, &row[0], 0));
            assert_ok(context, shoal_plan_get_log(plan, "passes", "where", i + k, 1, &row[1], 0));
            assert_ok(context, shoal_plan_get_log(plan, "passes", "again", i + k, 1, &row[2], 0));
            assert_true(row[0] == 1 && row[1] > 0.5 && row[1] < 2 && row[2] == k + 1);
        }
    shoal_plan_destroy(&plan);
    shoal_ensemble_destroy(&ensemble);

    snprintf(path, sizeof path, "%s/study_log.cfg", folder);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fprintf(out,
            "plugins = [ \"%1$s/passes.c\" ];\nunits = { length = \"km\"; mass = \"Msun\"; time = \"d\"; };\n"
            "system = { bodies = ( { name = \"sun\"; m = 1.0; }, { name = \"b\"; m = 0.0; P = 10.0; } ); };\n"
            "integrator = { name = \"leapfrog\"; dt = 0.01; };\nmonitors = ( { name = \"passes\"; } );\n"
            "run = { t_end = 35.0; engine = \"cpu\"; };\noutput = { file = \"%1$s/study_log.h5\"; };\n",
            folder);
    assert_int_equal(fclose(out), 0);
    shoal_study *study = NULL;
    shoal_result *result = NULL;
    shoal_context_allow_plugins(context, 1);
    assert_ok(context, shoal_study_load(context, path, 0, NULL, &study));
    assert_ok(context, shoal_study_run(study, 1, NULL, NULL));
    shoal_study_destroy(&study);
    snprintf(made, sizeof made, "%s/study_log.h5", folder);
    assert_ok(context, shoal_result_open(context, made, &result));
    assert_int_equal(shoal_result_n_rows(result, "log/passes"), 2 * 3);
    assert_int_equal(shoal_result_n_columns(result, "log/passes"), 5);
    const char *name, *unit;
    assert_ok(context, shoal_result_describe(result, "log/passes", 3, &name, &unit, NULL));
    assert_string_equal(name, "where");
    assert_string_equal(unit, "km");
    assert_ok(context, shoal_result_get_column(result, "log/passes", "where", 2, 1, row, 0));
    assert_ok(context, shoal_result_get_column(result, "log/passes", "time", 2, 1, row + 1, 0));
    assert_true(row[0] > 1.3e7 && row[0] < 1.4e7); /* 10 days about the Sun: 0.09 AU */
    assert_true(row[1] > 19.9 && row[1] < 20.1);
    shoal_result_close(&result);
}

/* All three examples in one config, checked against what they say. */
static void the_examples_run(void **state)
{
    shoal_context *context = context_of(state);
    char path[512], made[600];
    snprintf(path, sizeof path, "%s/study.cfg", folder);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fprintf(out,
            "plugins = [ \"%1$s/examples/plugins/uniform_field.c\", \"%1$s/examples/plugins/least_distance.c\",\n"
            "            \"%1$s/examples/plugins/symplectic_euler.c\" ];\n"
            "system = { bodies = ( { name = \"sun\"; m = 1.0; }, { name = \"b\"; m = 0.0; a = 1.0; },\n"
            "                      { name = \"c\"; m = 0.0; a = 4.0; l = 1.0; } ); };\n"
            "integrator = { name = \"symplectic_euler\"; dt = 0.0005; };\n"
            "forces = ( { name = \"uniform_field\"; strength = 0.0; } );\n"
            "monitors = ( { name = \"least_distance\"; first = \"b\"; second = \"c\"; } );\n"
            "run = { t_end = 8.0; engine = \"cpu\"; };\noutput = { file = \"%2$s/study.h5\"; };\n",
            root(), folder);
    assert_int_equal(fclose(out), 0);
    shoal_study *study = NULL;
    assert_int_equal(shoal_study_load(context, path, 0, NULL, &study), SHOAL_E_INPUT);
    assert_non_null(strstr(shoal_context_message(context), "--allow-plugins"));
    shoal_context_allow_plugins(context, 1);
    assert_ok(context, shoal_study_load(context, path, 0, NULL, &study));
    assert_non_null(strstr(study->config_text, "# plugin uniform_field "));
    assert_ok(context, shoal_study_run(study, 1, NULL, NULL));
    shoal_study_destroy(&study);
    shoal_result *result = NULL;
    snprintf(made, sizeof made, "%s/study.h5", folder);
    assert_ok(context, shoal_store_read(context, made, &result));
    const int column = shoal_result_column(result, "least_distance");
    assert_true(column >= 0);
    /* two circles, many conjunctions; a first-order method */
    assert_true(fabs(result->columns[column].value[0] - 3.0) < 1e-2);
    assert_true(fabs(result->dE_final[0]) < 1e-2 || isnan(result->dE_final[0]));
    shoal_result_destroy(&result);
}

static void what_is_refused(void **state)
{
    shoal_context *context = context_of(state);
    static const struct {
        const char *name, *host, *kernel, *message;
    } cases[] = {
        {"broken_host", "const shoal_force shoal_force_broken_host = { 1 +;", "", "broken_host.c:3"},
        {"nothing", "int unused;", "", "one descriptor"},
        {"misnamed", "const shoal_force shoal_force_misnamed = {.name = \"other\", .doc = \"\"};", "",
         "the file's name"},
        {"mvs", "const shoal_force shoal_force_mvs = {.name = \"mvs\", .doc = \"\"};", "",
         "a name that no other plug has"},
        {"9lives", "int unused;", "", "identifier"},
    };
    for (int i = 0; i < SHOAL_COUNT(cases); i++) {
        assert_int_not_equal(shoal_plugin_load(context, write_plugin(cases[i].name, cases[i].host, cases[i].kernel)),
                             SHOAL_OK);
        if (!strstr(shoal_context_message(context), cases[i].message))
            fail_msg("%s: %s", cases[i].name, shoal_context_message(context));
    }
    assert_int_equal(shoal_plugin_load(context, "/nowhere/at_all.c"), SHOAL_E_FILE);

    /* a kernel text that does not compile is refused when a plan is made, and the ensemble is as it was */
    static const char host[] = "const shoal_force shoal_force_broken_text = {.name = \"broken_text\", .doc = \"\"};";
    assert_ok(context, shoal_plugin_load(
                           context, write_plugin("broken_text", host, "LANE_FN void broken_text_add(int) { oops }")));
    shoal_ensemble *ensemble = make_ensemble(context);
    shoal_plan *plan = NULL;
    const shoal_plug_options force = {"broken_text", NULL, 0};
    const shoal_options options = {
        .propagator = "leapfrog", .dt = 0.01, .t_end = 1, .engine = "cpu", .forces = &force, .n_forces = 1};
    assert_int_equal(shoal_plan_create(context, ensemble, &options, &plan), SHOAL_E_INPUT);
    assert_null(plan);
    if (!strstr(shoal_context_message(context), "broken_text.c:5"))
        fail_msg("%s", shoal_context_message(context));
    const shoal_options without = {.propagator = "leapfrog", .dt = 0.01, .t_end = 1, .engine = "cpu"};
    assert_ok(context, shoal_plan_create(context, ensemble, &without, &plan)); /* built-in kernels need no compiler */
    shoal_plan_destroy(&plan);
    shoal_ensemble_destroy(&ensemble);
}

static void built_in_descriptors_are_sound(void **state)
{
    const shoal_plugs *plugs = shoal_plugs_of(NULL);
    char why[SHOAL_MESSAGE_SIZE] = "";
    (void)state;
    for (int i = 0; plugs->propagators[i]; i++)
        if (!shoal_plug_is_sound(plugs, plugs->propagators[i], NULL, NULL, why))
            fail_msg("%s: expected %s", plugs->propagators[i]->name, why);
    for (int i = 0; plugs->monitors[i]; i++)
        if (!shoal_plug_is_sound(plugs, NULL, NULL, plugs->monitors[i], why))
            fail_msg("%s: expected %s", plugs->monitors[i]->name, why);
    for (int i = 0; plugs->forces[i]; i++)
        if (!shoal_plug_is_sound(plugs, NULL, plugs->forces[i], NULL, why))
            fail_msg("%s: expected %s", plugs->forces[i]->name, why);
}

/* Tables that would be read where there is nothing, and what the host would never ask for. */
static void unsound_descriptors_are_refused(void **state)
{
    enum { FORCE, MONITOR, PROPAGATOR };
    static const char *const hosts[] = {
        /* of one %s */
        [FORCE] = "static const shoal_parameter parameters[] = {%s};\n"
                  "const shoal_force shoal_force_unsound = {.name = \"unsound\", .doc = \"\", .parameters = "
                  "parameters, .n_parameters = 1};",
        [MONITOR] =
            "static double finish(const double *slots, const double *p) { (void)p; return slots[0]; }\n"
            "static const double initial[] = {0};\n"
            "static const shoal_monitor_column columns[] = {{\"c\", \"\", \"\", 0, SHOAL_OF_SYSTEM}}, taken[] = {\n"
            "    {\"steps\", \"\", \"\", finish, SHOAL_OF_SYSTEM}, {\"megno\", \"\", \"\", finish, SHOAL_OF_SYSTEM},\n"
            "    {\"c\", \"\", \"\", finish, SHOAL_OF_EACH}};\n"
            "static const shoal_log_column log[] = {{\"time\", \"\", \"\"}, {\"far\", \"furlong\", \"\"},\n"
            "    {\"x\", \"\", \"\"}, {\"x\", \"\", \"\"}};\n"
            "const shoal_monitor shoal_monitor_unsound = {.name = \"unsound\", .doc = \"\", %s};",
        [PROPAGATOR] =
            "static const char *const slots[6] = {\"a\", \"b\", \"c\", \"d\", \"e\"};\n"
            "static const shoal_parameter parameters[] = {{\"dt\", SHOAL_REAL, \"time\", 1, 0, 9, 0, \"\"}};\n"
            "const shoal_propagator shoal_propagator_unsound = {.name = \"unsound\", .doc = \"\", .order = 1, %s};",
    };
    static const struct {
        int kind;
        const char *text, *message;
    } cases[] = {
        {FORCE, "{\"s\", SHOAL_REAL, 0, 1, 0, 9, 0, \"\"}", "dimension of parameter 's'"},
        {FORCE, "{\"s\", SHOAL_REAL, \"furlong\", 1, 0, 9, 0, \"\"}", "dimension of parameter 's'"},
        {FORCE, "{0, SHOAL_REAL, \"\", 1, 0, 9, 0, \"\"}", "parameter 0 to have a name"},
        {FORCE, "{\"name\", SHOAL_REAL, \"\", 1, 0, 9, 0, \"\"}", "other name than 'name', which is a key of 'forces'"},
        {FORCE, "{\"s\", SHOAL_REAL, \"\", 1, 0, 9, 0, 0}", "a doc of parameter 's'"},
        {FORCE, "{\"s\", SHOAL_REAL, \"\", 10, 0, 9, 0, \"\"}", "parameter 's' to have its initial value"},
        {FORCE, "{\"s\", SHOAL_CHOICE, \"\", 0, 0, 1, 0, \"\"}", "choices of parameter 's'"},
        {FORCE, "{\"s\", SHOAL_CHOICE, \"\", 0, 0, 2, \"a|b\", \"\"}", "indices of choices"},
        {MONITOR, ".n_slots = 1", "first values"},
        {MONITOR, ".n_columns = 1", "table of columns"},
        {MONITOR, ".columns = columns, .n_columns = 1", "finish"},
        {MONITOR, ".parts = SHOAL_BODIES", "part slots"},
        {MONITOR, ".parts = 7, .n_part_slots = 1, .part_initial = initial", "part slots"},
        {MONITOR, ".columns = taken, .n_columns = 1", "other name than 'steps'"},
        {MONITOR, ".columns = taken + 1, .n_columns = 1", "other name than 'megno'"},
        {MONITOR, ".columns = taken + 2, .n_columns = 1", "SHOAL_OF_"},
        {MONITOR, ".n_parameters = 1", "parameters"},
        {MONITOR, ".n_log = 1", "table of at most"},
        {MONITOR, ".log = log, .n_log = 1", "other name than 'time'"},
        {MONITOR, ".log = log + 1, .n_log = 1", "dimension of log column 'far'"},
        {MONITOR, ".log = log + 2, .n_log = 2", "one log column 'x', not two"},
        {PROPAGATOR, ".n_slots = 6", "names of n_slots"},
        {PROPAGATOR, ".slots = slots, .n_slots = 6", "a name of slot 5 of 6"},
        {PROPAGATOR, ".slots = slots, .n_slots = 5, .first_body = 2", "first_body"},
        {PROPAGATOR, ".slots = slots, .n_slots = 5, .parameters = parameters, .n_parameters = 1",
         "other name than 'dt', which is a key of 'integrator'"},
    };
    shoal_context *context = context_of(state);
    for (int i = 0; i < SHOAL_COUNT(cases); i++) {
        char host[1024];
        snprintf(host, sizeof host, hosts[cases[i].kind], cases[i].text);
        assert_int_equal(shoal_plugin_load(context, write_plugin("unsound", host, "")), SHOAL_E_INPUT);
        if (!strstr(shoal_context_message(context), cases[i].message))
            fail_msg("%s: %s", host, shoal_context_message(context));
    }
}

/* The example propagator and a monitor, their descriptors changed: what the host would keep for them is not what
 * their texts use. */
static void a_descriptor_that_its_text_contradicts_is_refused(void **state)
{
    static const struct {
        const char *said, *message;
    } cases[] = {
        {".n_slots = 5", "n_slots of the descriptor"},
        {".n_slots = 6, .n_own = 1", "n_own of the descriptor"},
        {".n_slots = 6, .first_body = 1", "first_body of the descriptor"},
        {".n_slots = 6, .adaptive = true", "adaptive of the descriptor"},
        {".n_slots = 6, .sets_aside = true", "sets_aside of the descriptor"},
        {NULL, "tally_SLOTS is n_slots of the descriptor"},
    };
    const char *example = NULL;
    char path[600], *text = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, "%s/examples/plugins/symplectic_euler.c", root());
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    assert_true(getdelim(&text, &size, '\0', in) > 0);
    fclose(in);
    example = strstr(text, "#define PROPAGATOR_FIRST_BODY");
    char *end = strstr(text, "#endif");
    assert_true(example && end > example);
    *end = '\0';
    for (int i = 0; i < SHOAL_COUNT(cases); i++) {
        shoal_context *context = NULL;
        char host[512];
        assert_int_equal(setup((void **)&context), 0);
        if (cases[i].said) {
            snprintf(host, sizeof host,
                     "static const char *const slots[] = {\"a\", \"b\", \"c\", \"d\", \"e\", \"f\"};\n"
                     "const shoal_propagator shoal_propagator_wrong = {.name = \"wrong\", .doc = \"\", .order = 1, "
                     ".slots = slots, %s};",
                     cases[i].said);
            assert_ok(context, shoal_plugin_load(context, write_plugin("wrong", host, example)));
        } else {
            assert_ok(context,
                      shoal_plugin_load(
                          context, write_plugin("tally",
                                                "static const double initial[] = {0};\n"
                                                "const shoal_monitor shoal_monitor_tally = {.name = \"tally\", .doc = "
                                                "\"\", .n_slots = 1, .initial = initial};",
                                                "enum { tally_SLOTS = 2 };\n"
                                                "LANE_FN void tally_watch(const shoal_kernel_args *k, const "
                                                "lane_view *view, real *slots, lane_event *event)\n"
                                                "{ (void)k, (void)view, (void)event; slots[1] = slots[1] + 1.0; }")));
        }
        shoal_ensemble *ensemble = make_ensemble(context);
        shoal_plan *plan = NULL;
        const shoal_plug_options monitor = {"tally", NULL, 0};
        const shoal_options options = {.propagator = cases[i].said ? "wrong" : "leapfrog",
                                       .dt = 0.01,
                                       .t_end = 1,
                                       .engine = "cpu",
                                       .monitors = &monitor,
                                       .n_monitors = !cases[i].said};
        assert_int_equal(shoal_plan_create(context, ensemble, &options, &plan), SHOAL_E_INPUT);
        assert_null(plan);
        if (!strstr(shoal_context_message(context), cases[i].message))
            fail_msg("%s", shoal_context_message(context));
        shoal_ensemble_destroy(&ensemble);
        shoal_context_destroy(&context);
    }
    free(text);
    (void)state;
}

/* What is kept of a plugin belongs to its text: another default at the same path is seen. */
static void a_changed_descriptor_is_compiled_anew(void **state)
{
    struct cache cache;
    cache_begin(&cache);
    for (int value = 1; value <= 2; value++) {
        shoal_context *context = NULL;
        char host[256];
        snprintf(host, sizeof host,
                 "static const shoal_parameter parameters[] = {{\"strength\", SHOAL_REAL, \"\", %d, 0, 9, 0, \"\"}};\n"
                 "const shoal_force shoal_force_changing = {.name = \"changing\", .doc = \"\", .parameters = "
                 "parameters, .n_parameters = 1};",
                 value);
        assert_int_equal(setup((void **)&context), 0);
        assert_ok(context, shoal_plugin_load(context, write_plugin("changing", host, "")));
        assert_true(shoal_plugs_of(context)->forces[shoal_force_find(context, "changing")]->parameters[0].initial ==
                    value);
        shoal_context_destroy(&context);
    }
    cache_end(&cache);
    (void)state;
}

static void no_compiler_is_an_error(void **state)
{
    shoal_context *context = context_of(state);
    const char *cc = getenv("CC");
    char *kept = cc ? strdup(cc) : NULL;
    setenv("CC", "/nowhere/cc", 1);
    static const char host[] = "const shoal_force shoal_force_lonely = {.name = \"lonely\", .doc = \"\"};";
    assert_int_equal(shoal_plugin_load(context, write_plugin("lonely", host, "")), SHOAL_E_UNSUPPORTED);
    assert_non_null(strstr(shoal_context_message(context), "no C compiler"));
    char long_command[400] = "cc";
    for (int i = 0; i < 60; i++)
        strcat(long_command, " -g");
    setenv("CC", long_command, 1);
    assert_int_equal(shoal_plugin_load(context, write_plugin("lonely", host, "")), SHOAL_E_INPUT);
    assert_non_null(strstr(shoal_context_message(context), "more than 48 words"));
    if (kept)
        setenv("CC", kept, 1);
    else
        unsetenv("CC");
    free(kept);
}

/* The examples compile for a GPU too. */
static void nvrtc_takes_them(void **state)
{
    shoal_context *context = context_of(state);
    if (shoal_jit_missing()) {
        print_message("skipped: %s\n", shoal_jit_missing());
        skip();
    }
    static const char *const names[] = {"uniform_field", "least_distance", "symplectic_euler"};
    for (int i = 0; i < SHOAL_COUNT(names); i++) {
        char path[600];
        snprintf(path, sizeof path, "%s/examples/plugins/%s.c", root(), names[i]);
        assert_ok(context, shoal_plugin_load(context, path));
    }
    const shoal_kernel_choice choice = {.propagator = shoal_propagator_find(context, "symplectic_euler"),
                                        .n_bodies = 3,
                                        .n_massive = 3,
                                        .plugins = true,
                                        .monitors = shoal_plugin_bits(context, 'm'),
                                        .forces = shoal_plugin_bits(context, 'f')};
    shoal_cubin cubin;
    assert_ok(context, shoal_jit_compile(context, &choice, 1 << SHOAL_INTEGRATE, 90, 0, &cubin));
    shoal_cubin_release(&cubin);
}

/* A plugin on the GPU gives the bits that it gives on the CPU. */
static void cuda_runs_them_too(void **state)
{
    shoal_context *context = context_of(state);
    const char *missing = shoal_engine_cuda.missing();
    if (missing) {
        print_message("skipped: %s\n", missing);
        skip();
    }
    static const char *const names[] = {"uniform_field", "least_distance", "symplectic_euler"};
    for (int i = 0; i < SHOAL_COUNT(names); i++) {
        char path[600];
        snprintf(path, sizeof path, "%s/examples/plugins/%s.c", root(), names[i]);
        assert_ok(context, shoal_plugin_load(context, path));
    }
    const shoal_plug_options force = {"uniform_field", NULL, 0}, monitor = {"least_distance", NULL, 0};
    shoal_options options = {.propagator = "symplectic_euler",
                             .dt = 0.01,
                             .t_end = 10.005,
                             .engine = "cpu",
                             .forces = &force,
                             .n_forces = 1,
                             .monitors = &monitor,
                             .n_monitors = 1};
    double cpu[20][18], cuda[20][18];
    states_after(context, &options, cpu);
    options.engine = "cuda";
    states_after(context, &options, cuda);
    assert_memory_equal(cpu, cuda, sizeof cpu);
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_copy_of_a_propagator_gives_the_same_bits, setup, teardown),
        cmocka_unit_test_setup_teardown(a_copy_of_a_force_gives_the_same_bits, setup, teardown),
        cmocka_unit_test_setup_teardown(a_monitor_sees_the_state_before_a_step_unless_it_needs_none, setup, teardown),
        cmocka_unit_test_setup_teardown(a_monitor_logs, setup, teardown),
        cmocka_unit_test_setup_teardown(the_examples_run, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_refused, setup, teardown),
        cmocka_unit_test(built_in_descriptors_are_sound),
        cmocka_unit_test_setup_teardown(unsound_descriptors_are_refused, setup, teardown),
        cmocka_unit_test(a_descriptor_that_its_text_contradicts_is_refused),
        cmocka_unit_test(a_changed_descriptor_is_compiled_anew),
        cmocka_unit_test_setup_teardown(no_compiler_is_an_error, setup, teardown),
        cmocka_unit_test_setup_teardown(nvrtc_takes_them, setup, teardown),
        cmocka_unit_test_setup_teardown(cuda_runs_them_too, setup, teardown),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
