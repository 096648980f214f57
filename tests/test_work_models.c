/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_work_models.c: a system by one GPU thread, or by a team: a thread a body, a component, a pair
 * (core/kernel/team.h).
 *
 * With NVRTC alone: every propagator compiles in every model. With a GPU: every model against the CPU, to the bit, with
 * monitors, their actions, extra forces, tangent vectors, massless bodies, compensated sums, every choice a propagator
 * has, systems that fill a warp, share it, and are larger; twice the same. SHOAL_TEST_PROPAGATOR=NAME: of that one
 * alone; SHOAL_TEST_NAME=PATTERN: those tests alone.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "systems.h"

static const struct {
    const char *name;
    int bodies; /* of a thread, where their number divides those of the system: fewer are the model before */
} models[] = {{"body", 1}, {"body", 2}, {"body", 4}, {"body", 5}, {"component", 1}, {"pair", 1}};

static bool choose_model(shoal_kernel_choice *choice, int model)
{
    choice->tuning.bodies = models[model].bodies;
    assert_true(shoal_model_choose(choice, models[model].name));
    return shoal_team_each(choice) == models[model].bodies;
}

static void every_model_compiles(void **state)
{
    const char *missing = shoal_jit_missing();
    if (missing) {
        print_message("%s\n", missing);
        skip();
    }
    for (int p = 0; shoal_plugs_of(NULL)->propagators[p]; p++)
        for (int i = 0; i < SHOAL_COUNT(models); i++) {
            const shoal_propagator *propagator = shoal_plugs_of(NULL)->propagators[p];
            const int n = (models[i].bodies == 1 ? 4 : 2 * models[i].bodies) + propagator->first_body;
            shoal_kernel_choice choice = {.propagator = propagator,
                                          .n_bodies = n,
                                          .n_massive = n,
                                          .monitors = 1 << shoal_monitor_find(NULL, "stop_on_ejection")};
            shoal_cubin cubin;
            if (!choose_model(&choice, i))
                continue;
            assert_ok(context_of(state),
                      shoal_jit_compile(context_of(state), &choice, 1 << SHOAL_INTEGRATE, 90, 0, &cubin));
            if (cubin.log[0])
                fail_msg("%s, work model %s: the compiler says: %s", choice.propagator->name, shoal_model_name(&choice),
                         cubin.log);
            assert_in_range(cubin.usage[SHOAL_INTEGRATE].registers, 1, 255);
            shoal_cubin_release(&cubin);
        }
}

static void teams_have_their_sizes(void **state)
{
    (void)state;
    const shoal_propagator *hermite = shoal_propagator_find(NULL, "hermite4"),
                           *mvs = shoal_propagator_find(NULL, "mvs");
    const struct {
        const shoal_propagator *propagator;
        int model, n, threads, systems; /* of a block of 64 threads, or of a team's own */
    } rows[] = {
        {hermite, SHOAL_MODEL_SYSTEM, 3, 1, 64}, {hermite, SHOAL_MODEL_BODY, 3, 3, 20},
        {mvs, SHOAL_MODEL_BODY, 3, 2, 32},       {hermite, SHOAL_MODEL_COMPONENT, 3, 9, 6},
        {hermite, SHOAL_MODEL_PAIR, 8, 28, 2},   {hermite, SHOAL_MODEL_PAIR, 4, 12, 4},
        {hermite, SHOAL_MODEL_BODY, 64, 64, 1},  {hermite, SHOAL_MODEL_PAIR, 64, 1024, 1},
        {mvs, SHOAL_MODEL_BODY, 2, 1, 64},
    };
    for (int i = 0; i < SHOAL_COUNT(rows); i++) {
        const shoal_kernel_choice choice = {
            .propagator = rows[i].propagator, .n_bodies = rows[i].n, .model = rows[i].model};
        const int block = shoal_team_block(&choice, 64);
        assert_int_equal(shoal_team_threads(&choice), rows[i].threads);
        assert_int_equal(block % 32, 0);
        assert_int_equal(shoal_team_systems(&choice, block), rows[i].systems);
        assert_true(shoal_team_fits(&choice));
    }
    const shoal_kernel_choice large = {.propagator = hermite, .n_bodies = 400, .model = SHOAL_MODEL_COMPONENT};
    assert_false(shoal_team_fits(&large));
}

/* A team keeps the state before a step where a monitor looks at it, and there alone: the kernel's text checks that
 * there is room. */
static void states_before_a_step_have_room(void **state)
{
    const shoal_propagator *hermite = shoal_propagator_find(NULL, "hermite4");
    for (int i = 0; i < SHOAL_COUNT(models); i++) {
        shoal_kernel_choice choice = {.propagator = hermite, .n_bodies = 8, .n_massive = 8};
        if (!choose_model(&choice, i) || shoal_team_threads(&choice) == 1)
            continue;
        const int without = shoal_team_doubles(&choice);
        choice.monitors = 1 << shoal_monitor_find(NULL, "stop_on_ejection") | 1 << shoal_monitor_find(NULL, "megno");
        assert_int_equal(shoal_team_doubles(&choice), without);
        choice.monitors |= 1 << shoal_monitor_find(NULL, "stop_on_collision");
        assert_in_range(shoal_team_doubles(&choice), without + 6 * 8 - 15, without + 6 * 8 + 15);
        if (shoal_jit_missing()) {
            print_message("not compiled: %s\n", shoal_jit_missing());
            continue;
        }
        shoal_cubin cubin;
        assert_ok(context_of(state),
                  shoal_jit_compile(context_of(state), &choice, 1 << SHOAL_INTEGRATE, 90, 0, &cubin));
        shoal_cubin_release(&cubin);
    }
}

/* ---- against the CPU --------------------------------------------------------------------------------------------- */

enum { SYSTEMS = 97 };

struct setup {
    const char *propagator;
    int n, massless; /* bodies, and those of them without mass */
    const shoal_plug_options *monitors, *forces;
    int n_monitors, n_forces;
    const shoal_setting *setting; /* of the propagator */
    int n_settings;               /* 0: one if there is any */
    bool tight;                   /* encounters, collisions and ejections come */
    double orbits;
};

/* A row of the log of transits. */
typedef struct passage {
    double system, time, values[4];
} passage;

struct outcome {
    shoal_body *bodies;
    shoal_system *systems;
    double *watch; /* [n_watch][SYSTEMS] of the monitors, and the marks */
    long n_watch, n_events;
    shoal_event *events;
    long n_passages;
    passage *passages; /* logged by transits */
    char line[1024];
};

static void outcome_free(struct outcome *outcome)
{
    free(outcome->bodies);
    free(outcome->systems);
    free(outcome->watch);
    free(outcome->events);
    free(outcome->passages);
}

/* By system, and of each in order of time; of several systems the order is that of the slices. */
static int compare_events(const void *a, const void *b)
{
    const shoal_event *x = a, *y = b;
    return x->system != y->system ? (x->system > y->system) - (x->system < y->system)
                                  : (x->time > y->time) - (x->time < y->time);
}

static int compare_passages(const void *a, const void *b)
{
    const passage *x = a, *y = b;
    return x->system != y->system ? (x->system > y->system) - (x->system < y->system)
                                  : (x->time > y->time) - (x->time < y->time);
}

static struct outcome integrate(shoal_context *context, const struct setup *setup, const char *engine,
                                const shoal_kernel_choice *choice, const char *tune)
{
    const shoal_options options = {.propagator = setup->propagator,
                                   .settings = setup->setting,
                                   .n_settings = setup->n_settings ? setup->n_settings : setup->setting != NULL,
                                   .engine = engine,
                                   .work_model = choice ? shoal_model_name(choice) : NULL,
                                   .tune = tune,
                                   .gpu_bodies = choice && choice->model == SHOAL_MODEL_BODY ? choice->tuning.bodies
                                                                                             : 0,
                                   .monitors = setup->monitors,
                                   .n_monitors = setup->n_monitors,
                                   .forces = setup->forces,
                                   .n_forces = setup->n_forces,
                                   .t_end = setup->orbits * TWO_PI,
                                   .dt = TWO_PI / 50};
    const int n = setup->n;
    shoal_body *bodies = calloc((size_t)SYSTEMS * n, sizeof *bodies);
    struct outcome outcome = {.bodies = bodies, .systems = calloc(SYSTEMS, sizeof(shoal_system))};
    assert_true(bodies && outcome.systems);
    for (long id = 0; id < SYSTEMS; id++) {
        planetary_system(context, id, n, setup->tight ? 1e-3 : 1e-5, setup->tight ? 1.15 : 1.4, 0.1, bodies + id * n);
        for (int b = n - setup->massless; b < n; b++)
            bodies[id * n + b].m = 0;
        for (int b = 0; b < n && setup->tight; b++)
            bodies[id * n + b].r = b ? 2e-3 : 1e-2;
    }
    struct motion motion = motion_begin(context, SYSTEMS, n, NULL, NULL, &options, bodies);
    snprintf(outcome.line, sizeof outcome.line, "%s", motion.plan->line);
    assert_ok(context, shoal_plan_integrate(motion.plan, 0.37 * options.t_end));
    assert_ok(context, shoal_plan_integrate(motion.plan, options.t_end));
    for (long s = 0; s < SYSTEMS; s++) {
        shoal_ensemble_get_system(motion.ensemble, s, &outcome.systems[s]);
        shoal_ensemble_get_bodies(motion.ensemble, s, bodies + s * n);
    }
    const shoal_plan *plan = motion.plan;
    assert_ok(context, plan->engine_type->download(plan->engine, SHOAL_ARRAY_WATCH));
    const long n_watch = plan->args.n_watch;
    outcome.n_watch = plan->args.records < 0 ? n_watch : plan->args.records; /* records that were taken are nobody's */
    outcome.watch = calloc((size_t)(SYSTEMS * outcome.n_watch + 1), sizeof *outcome.watch);
    outcome.n_events = shoal_plan_n_events(plan);
    outcome.events = calloc((size_t)outcome.n_events + 1, sizeof *outcome.events);
    assert_true(outcome.watch && outcome.events);
    for (long w = 0; w < SYSTEMS * outcome.n_watch; w++)
        outcome.watch[w] = plan->args.watch[SHOAL_AT(w % SYSTEMS, w / SYSTEMS, n_watch)];
    for (long e = 0; e < outcome.n_events; e++)
        shoal_plan_event(plan, e, &outcome.events[e]);
    qsort(outcome.events, (size_t)outcome.n_events, sizeof *outcome.events, compare_events);
    const shoal_plan_log *log = &plan->logs[shoal_monitor_find(NULL, "transits")];
    outcome.n_passages = log->n_rows;
    outcome.passages = calloc((size_t)log->n_rows + 1, sizeof *outcome.passages);
    assert_non_null(outcome.passages);
    if (log->n_rows > 0)
        memcpy(outcome.passages, log->rows, (size_t)log->n_rows * sizeof *outcome.passages);
    qsort(outcome.passages, (size_t)log->n_rows, sizeof *outcome.passages, compare_passages);
    motion_end(&motion);
    return outcome;
}

static void compare_models(void **state, const struct setup *setup)
{
    const char *only = getenv("SHOAL_TEST_PROPAGATOR");
    if (only && strcmp(only, setup->propagator) != 0)
        return;
    struct outcome cpu = integrate(context_of(state), setup, "cpu", NULL, NULL);
    for (int i = 0; i < SHOAL_COUNT(models); i++) {
        shoal_kernel_choice choice = {.propagator = shoal_propagator_find(NULL, setup->propagator),
                                      .n_bodies = setup->n,
                                      .n_massive = setup->n - setup->massless};
        const char *model = models[i].name;
        if (!choose_model(&choice, i))
            continue; /* too few bodies */
        struct outcome gpu = integrate(context_of(state), setup, "cuda", &choice, "never");
        long differ = 0, ended = 0;
        double largest = 0;
        for (long b = 0; b < SYSTEMS * setup->n; b++) {
            const double *x = &cpu.bodies[b].x, *y = &gpu.bodies[b].x;
            for (int c = 0; c < 6; c++) {
                differ += memcmp(&x[c], &y[c], sizeof *x) != 0;
                largest = fmax(largest, fabs(x[c] - y[c]));
            }
        }
        for (long w = 0; w < SYSTEMS * cpu.n_watch; w++) {
            const double *x = &cpu.watch[w], *y = &gpu.watch[w];
            differ += memcmp(x, y, sizeof *x) != 0 && !(isnan(*x) && isnan(*y));
        }
        print_message("%-22s n %2d %-13s %d%s%s: %ld of %ld doubles differ, largest difference %.2g\n",
                      setup->propagator, setup->n, model, models[i].bodies, setup->setting ? " " : "",
                      setup->setting && setup->setting->choice ? setup->setting->choice : "", differ,
                      SYSTEMS * (setup->n * 6 + cpu.n_watch), largest);
        assert_non_null(strstr(gpu.line, model));
        assert_int_equal(strstr(gpu.line, "bodies a thread") != NULL, models[i].bodies > 1);
        for (long s = 0; s < SYSTEMS; s++) {
            const shoal_system *a = &cpu.systems[s], *b = &gpu.systems[s];
            ended += a->outcome != SHOAL_RUNNING && a->outcome != SHOAL_SURVIVED;
            if (a->outcome != b->outcome || a->body_a != b->body_a || a->body_b != b->body_b || a->t_stop != b->t_stop)
                fail_msg("%s, %s: system %ld: outcome %d at %.17g of %d, %d instead of %d at %.17g of %d, %d",
                         setup->propagator, model, s, b->outcome, b->t_stop, b->body_a, b->body_b, a->outcome,
                         a->t_stop, a->body_a, a->body_b);
        }
        if (setup->tight && setup->n_monitors > 1)
            assert_true((cpu.n_events ? cpu.n_events : ended) > 5);
        assert_int_equal(differ, 0);
        assert_int_equal(gpu.n_events, cpu.n_events);
        for (long e = 0; e < cpu.n_events; e++)
            assert_memory_equal(&gpu.events[e], &cpu.events[e], sizeof *cpu.events);
        assert_int_equal(gpu.n_passages, cpu.n_passages);
        for (long p = 0; p < cpu.n_passages; p++)
            assert_memory_equal(&gpu.passages[p], &cpu.passages[p], sizeof *cpu.passages);
        outcome_free(&gpu);
    }
    outcome_free(&cpu);
}

/* A size that two and four bodies a thread divide. */
static int four_moving(int p)
{
    return 4 + shoal_plugs_of(NULL)->propagators[p]->first_body;
}

static void every_propagator_is_the_same(void **state)
{
    need_gpu();
    for (int p = 0; shoal_plugs_of(NULL)->propagators[p]; p++)
        for (int n = 2; n <= 5; n++)
            compare_models(
                state,
                &(struct setup){.propagator = shoal_plugs_of(NULL)->propagators[p]->name, .n = n, .orbits = 3.01});
}

static void large_systems_are_the_same(void **state)
{
    static const int sizes[] = {8, 9, 10, 11, 12, 33, 64};
    need_gpu();
    for (int p = 0; shoal_plugs_of(NULL)->propagators[p]; p++)
        for (int i = 0; i < SHOAL_COUNT(sizes); i++)
            compare_models(state, &(struct setup){.propagator = shoal_plugs_of(NULL)->propagators[p]->name,
                                                  .n = sizes[i],
                                                  .orbits = 0.31});
}

static void monitors_see_the_same(void **state)
{
    static const shoal_setting near = {"r_max", 3.0, NULL}, close = {"factor", 0.22, NULL}, large = {"factor", 5, NULL};
    static const shoal_setting angle[] = {{"p_1", -1, NULL}, {"p_2", 2, NULL}, {"q_1", -1, NULL}};
    static const shoal_plug_options all[] = {{"stop_on_ejection", &near, 1},
                                             {"stop_on_encounter", &close, 1},
                                             {"stop_on_collision", &large, 1},
                                             {"closest_approach", NULL, 0},
                                             {"element_range", NULL, 0},
                                             {"energy_error", NULL, 0},
                                             {"mean_motion_drift", NULL, 0},
                                             {"resonant_angle", angle, SHOAL_COUNT(angle)},
                                             {"distance", NULL, 0},
                                             {"amd", NULL, 0},
                                             {"transits", NULL, 0}};
    /* most do at once */
    static const shoal_plug_options crossing[] = {{"stop_on_crossing", NULL, 0}, {"amd", NULL, 0}};
    need_gpu();
    for (int p = 0; shoal_plugs_of(NULL)->propagators[p]; p++) {
        compare_models(state, &(struct setup){.propagator = shoal_plugs_of(NULL)->propagators[p]->name,
                                              .n = four_moving(p),
                                              .orbits = 2,
                                              .monitors = crossing,
                                              .n_monitors = SHOAL_COUNT(crossing),
                                              .tight = true});
        static const int sizes[] = {0, 6, 36};
        for (int i = 0; i < SHOAL_COUNT(sizes); i++) {
            const int more = sizes[i];
            if ((more == 6 && !shoal_plugs_of(NULL)->propagators[p]->several_bodies) || (more == 36 && p % 4))
                continue;
            compare_models(state, &(struct setup){.propagator = shoal_plugs_of(NULL)->propagators[p]->name,
                                                  .n = four_moving(p) + more,
                                                  .orbits = more ? 0.9 : 20,
                                                  .monitors = all,
                                                  .n_monitors = SHOAL_COUNT(all),
                                                  .tight = true});
        }
    }
}

/* Mergers, removals, encounters that are logged: events are the same, too. */
static void actions_are_the_same(void **state)
{
    static const shoal_setting merge = {"action", 0, "merge"}, log = {"action", 0, "log"};
    static const shoal_setting far[] = {{"r_max", 3.0, NULL}, {"action", 0, "remove"}};
    static const shoal_plug_options all[] = {
        {"stop_on_ejection", far, SHOAL_COUNT(far)}, {"stop_on_encounter", &log, 1}, {"stop_on_collision", &merge, 1}};
    need_gpu();
    for (int p = 0; shoal_plugs_of(NULL)->propagators[p]; p++)
        compare_models(state, &(struct setup){.propagator = shoal_plugs_of(NULL)->propagators[p]->name,
                                              .n = four_moving(p),
                                              .orbits = 20,
                                              .monitors = all,
                                              .n_monitors = SHOAL_COUNT(all),
                                              .tight = true});
}

static void tangent_vectors_are_the_same(void **state)
{
    static const shoal_plug_options megno[] = {{"megno", NULL, 0}};
    need_gpu();
    for (int p = 0; shoal_plugs_of(NULL)->propagators[p]; p++)
        if (shoal_plugs_of(NULL)->propagators[p]->tangent)
            compare_models(state, &(struct setup){.propagator = shoal_plugs_of(NULL)->propagators[p]->name,
                                                  .n = four_moving(p),
                                                  .orbits = 5,
                                                  .monitors = megno,
                                                  .n_monitors = 1});
}

static void forces_are_the_same(void **state)
{
    static const shoal_setting light = {"c", 300.0, NULL};
    static const shoal_plug_options gr[] = {{"gr", &light, 1}, {"gr_potential", &light, 1}};
    need_gpu();
    for (int p = 0; shoal_plugs_of(NULL)->propagators[p]; p++)
        if (!shoal_plugs_of(NULL)->propagators[p]->newton_only)
            compare_models(state, &(struct setup){.propagator = shoal_plugs_of(NULL)->propagators[p]->name,
                                                  .n = four_moving(p),
                                                  .orbits = 2,
                                                  .forces = gr,
                                                  .n_forces = SHOAL_COUNT(gr)});
}

static void massless_bodies_and_compensated_sums_are_the_same(void **state)
{
    static const shoal_setting compensated = {"compensated", 1, NULL};
    need_gpu();
    for (int p = 0; shoal_plugs_of(NULL)->propagators[p]; p++) {
        const shoal_propagator *propagator = shoal_plugs_of(NULL)->propagators[p];
        compare_models(
            state,
            &(struct setup){.propagator = propagator->name, .n = four_moving(p) + 8, .massless = 9, .orbits = 0.7});
        for (int i = 0; i < propagator->n_parameters; i++)
            if (strcmp(propagator->parameters[i].name, "compensated") == 0)
                compare_models(state, &(struct setup){.propagator = propagator->name,
                                                      .n = four_moving(p),
                                                      .orbits = 1.01,
                                                      .setting = &compensated});
    }
}

static void settings_are_the_same(void **state)
{
    static const shoal_setting corrector[] = {
        {"corrector", 11, NULL}, {"inverse", 0, "never"}, {"kernel", 0, "lazy"}, {"lazy_every", 5, NULL}};
    need_gpu();
    for (int n = 1; n <= SHOAL_COUNT(corrector); n++)
        compare_models(
            state,
            &(struct setup){.propagator = "mvs_jacobi", .n = 4, .orbits = 1.01, .setting = corrector, .n_settings = n});
    for (int p = 0; shoal_plugs_of(NULL)->propagators[p]; p++) {
        const shoal_propagator *propagator = shoal_plugs_of(NULL)->propagators[p];
        for (int i = 0; i < propagator->n_parameters; i++) {
            const shoal_parameter *parameter = &propagator->parameters[i];
            char words[256] = "", *rest = words;
            if (parameter->type == SHOAL_CHOICE)
                snprintf(words, sizeof words, "%s", parameter->choices);
            for (char *word; (word = strtok_r(rest, "|", &rest));)
                compare_models(state, &(struct setup){.propagator = propagator->name,
                                                      .n = 4,
                                                      .orbits = 1.01,
                                                      .setting = &(shoal_setting){parameter->name, 0, word}});
        }
    }
}

/* hybrid's steps with substeps: whatever the model, a thread has a system. */
static void encounters_are_the_same(void **state)
{
    static const shoal_setting orbit = {"pericentre", 0, "orbit"}, compensated = {"compensated", 1, NULL},
                               light = {"c", 300.0, NULL};
    static const shoal_plug_options gr = {"gr", &light, 1}, megno = {"megno", NULL, 0},
                                    closest = {"closest_approach", NULL, 0};
    const struct setup setups[] = {{.n = 3, .setting = &orbit},
                                   {.n = 5, .setting = &compensated},
                                   {.n = 4, .forces = &gr, .n_forces = 1},
                                   {.n = 4, .monitors = &megno, .n_monitors = 1},
                                   {.n = 9, .monitors = &closest, .n_monitors = 1},
                                   {.n = 12, .massless = 6}};
    need_gpu();
    for (int i = 0; i < SHOAL_COUNT(setups); i++) {
        struct setup setup = setups[i];
        setup.propagator = "hybrid";
        setup.tight = true;
        setup.orbits = 20;
        compare_models(state, &setup);
    }
}

/* Chosen by rule, measured, and as it was kept: the same bits. */
static void tuning_is_kept_and_changes_nothing(void **state)
{
    static const char *const when[] = {"auto", "always", "auto", "never"};
    static const char *const says[] = {"by rule", "measured)", "when measured here", "work model body"};
    static const shoal_setting far = {"r_max", 1000, NULL};
    static const shoal_plug_options ejection = {"stop_on_ejection", &far, 1};
    const struct setup setup = {.propagator = "hermite4", .n = 3, .orbits = 3, .monitors = &ejection, .n_monitors = 1};
    need_gpu();
    struct cache cache;
    cache_begin(&cache);
    struct outcome first = {0};
    for (int i = 0; i < SHOAL_COUNT(when); i++) {
        struct outcome outcome = integrate(context_of(state), &setup, "cuda", NULL, when[i]);
        print_message("%s: %s\n", when[i], outcome.line);
        assert_non_null(strstr(outcome.line, says[i]));
        if (i == 0)
            first = outcome;
        else {
            assert_memory_equal(outcome.bodies, first.bodies, sizeof *first.bodies * (size_t)(SYSTEMS * setup.n));
            outcome_free(&outcome);
        }
    }
    outcome_free(&first);
    cache_end(&cache);
}

int main(void)
{
    cmocka_set_test_filter(getenv("SHOAL_TEST_NAME"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(teams_have_their_sizes),
        cmocka_unit_test(every_model_compiles),
        cmocka_unit_test(states_before_a_step_have_room),
        cmocka_unit_test(every_propagator_is_the_same),
        cmocka_unit_test(large_systems_are_the_same),
        cmocka_unit_test(monitors_see_the_same),
        cmocka_unit_test(actions_are_the_same),
        cmocka_unit_test(tangent_vectors_are_the_same),
        cmocka_unit_test(forces_are_the_same),
        cmocka_unit_test(massless_bodies_and_compensated_sums_are_the_same),
        cmocka_unit_test(settings_are_the_same),
        cmocka_unit_test(encounters_are_the_same),
        cmocka_unit_test(tuning_is_kept_and_changes_nothing),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
