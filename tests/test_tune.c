/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_tune.c: how a GPU's work model is chosen (core/plan/tune.c), with an engine in the GPU's place that takes as
 * long as the test says.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "systems.h"

/* ---- the engine -------------------------------------------------------------------------------------------------- */

static struct {
    char file[256]; /* where choices are kept beside */
    const char *device;
    int fastest; /* the model that takes least */
    double slow; /* times as long, 0 = 1 */
    int refused; /* one that cannot be made; -1: none */
    int n_created, n_alive;
    shoal_kernel_choice choice;
} gpu;

static shoal_status create(shoal_context *context, const shoal_kernel_choice *choice, const shoal_kernel_args *args,
                           shoal_engine_range range, shoal_engine **engine, char *line, size_t line_size)
{
    (void)args;
    (void)range;
    *engine = NULL;
    if (choice->model == gpu.refused)
        return shoal_fail(context, SHOAL_E_DEVICE, "no room");
    gpu.choice = *choice;
    gpu.n_created++;
    gpu.n_alive++;
    *engine = malloc(1);
    snprintf(line, line_size, "%s", shoal_model_name(choice));
    return SHOAL_OK;
}

static void destroy(shoal_engine **engine)
{
    gpu.n_alive -= *engine != NULL;
    free(*engine);
    *engine = NULL;
}

static shoal_status copy(shoal_engine *engine, int arrays)
{
    assert_non_null(engine);
    (void)arrays;
    return SHOAL_OK;
}

static shoal_status launch(shoal_engine *engine, shoal_kernel_entry entry, const int *list, long n_list,
                           double slice_steps)
{
    assert_non_null(engine);
    assert_true(list && n_list > 0 && (entry != SHOAL_INTEGRATE || slice_steps >= 1));
    return SHOAL_OK;
}

static shoal_status wait_for(shoal_engine *engine, double *seconds)
{
    assert_non_null(engine);
    *seconds = (gpu.choice.model == gpu.fastest ? 1e-3 : 2e-3) + 1e-6 * gpu.choice.tuning.block;
    *seconds *= gpu.slow > 0 ? gpu.slow : 1;
    return SHOAL_OK;
}

static const char *device(const shoal_engine *engine)
{
    return (void)engine, gpu.device;
}
static const char *kernel_file(const shoal_engine *engine)
{
    return (void)engine, gpu.file;
}
static void compile(shoal_engine *engine, const shoal_kernel_choice *choices, int n)
{
    assert_true(engine && choices && n > 0);
}

static const shoal_engine_type fake = {.name = "fake",
                                       .create = create,
                                       .destroy = destroy,
                                       .upload = copy,
                                       .download = copy,
                                       .launch = launch,
                                       .wait = wait_for,
                                       .device = device,
                                       .kernel_file = kernel_file,
                                       .compile = compile};

/* ---- plans on it ------------------------------------------------------------------------------------------------- */

enum { SYSTEMS = 40 };

static struct motion begin_of(void **state, long n_systems, double t_end)
{
    const shoal_options options = {.propagator = "hermite4", .engine = "cpu", .t_end = t_end, .dt = TWO_PI / 50};
    shoal_body *bodies = calloc((size_t)n_systems * 3, sizeof *bodies);
    assert_non_null(bodies);
    for (long id = 0; id < n_systems; id++)
        planetary_system(context_of(state), id, 3, 1e-5, 1.4, 0.1, bodies + 3 * id);
    struct motion motion = motion_begin(context_of(state), n_systems, 3, NULL, NULL, &options, bodies);
    free(bodies);
    motion.plan->engine_type->destroy(&motion.plan->engine);
    motion.plan->engine_type = &fake;
    motion.plan->any_model = true;
    return motion;
}

static struct motion begin(void **state, double t_end)
{
    return begin_of(state, SYSTEMS, t_end);
}

/* Tune, and what is said of it. */
static const char *tune(struct motion *motion, const char *when)
{
    static char why[96];
    why[0] = '\0';
    motion->plan->n_tuned = 0;
    snprintf(motion->plan->tune, sizeof motion->plan->tune, "%s", when);
    shoal_tune_rule(motion->plan, motion->plan->n_list, &motion->plan->choice);
    assert_ok(motion->plan->context, shoal_plan_exchange_engine(motion->plan, &motion->plan->choice));
    assert_ok(motion->plan->context, shoal_tune(motion->plan, why, sizeof why));
    const bool on_gpu = motion->plan->engine_type == &fake;
    assert_int_equal(gpu.n_alive, on_gpu);
    if (on_gpu)
        assert_int_equal(gpu.choice.model, motion->plan->choice.model);
    return why;
}

static void end(struct motion *motion)
{
    motion_end(motion);
    assert_int_equal(gpu.n_alive, 0);
}

static int new_cache(void **state)
{
    static char folder[200];
    (void)state;
    const char *scratch = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/shoal_tune_XXXXXX", scratch ? scratch : "/tmp");
    memset(&gpu, 0, sizeof gpu);
    gpu.refused = -1;
    gpu.device = "one";
    gpu.fastest = SHOAL_MODEL_COMPONENT;
    return mkdtemp(folder) ? snprintf(gpu.file, sizeof gpu.file, "%s/kernel", folder) < 0 : 1;
}

static int drop_cache(void **state)
{
    char command[400];
    (void)state;
    *strrchr(gpu.file, '/') = '\0';
    snprintf(command, sizeof command, "rm -rf %s", gpu.file);
    return system(command);
}

static void a_short_run_takes_the_rule(void **state)
{
    struct motion motion = begin(state, 10);
    assert_non_null(strstr(tune(&motion, "auto"), "by rule"));
    assert_int_equal(gpu.choice.model, SHOAL_MODEL_BODY);
    assert_int_equal(motion.plan->n_tuned, 0);
    end(&motion);
}

static void a_long_run_is_measured_once(void **state)
{
    struct motion motion = begin(state, 1e9);
    assert_non_null(strstr(tune(&motion, "auto"), "measured)"));
    assert_int_equal(gpu.choice.model, SHOAL_MODEL_COMPONENT);
    assert_true(motion.plan->n_tuned > 3);
    for (int i = 0; i < motion.plan->n_tuned; i++)
        assert_true(motion.plan->tuned[i].rate > 0);
    assert_non_null(strstr(tune(&motion, "auto"), "when measured here"));
    assert_int_equal(gpu.choice.model, SHOAL_MODEL_COMPONENT);
    assert_int_equal(motion.plan->n_tuned, 0);
    end(&motion);
    motion = begin(state, 10); /* and a short one profits */
    assert_non_null(strstr(tune(&motion, "auto"), "when measured here"));
    end(&motion);
}

static void never_and_always_are_obeyed(void **state)
{
    struct motion motion = begin(state, 1e9);
    assert_string_equal(tune(&motion, "never"), "");
    assert_int_equal(gpu.choice.model, SHOAL_MODEL_BODY);
    (void)tune(&motion, "always");
    gpu.fastest = SHOAL_MODEL_PAIR;
    assert_non_null(strstr(tune(&motion, "always"), "measured)"));
    assert_int_equal(gpu.choice.model, SHOAL_MODEL_PAIR);
    end(&motion);
}

static void another_device_or_a_damaged_file_is_not_believed(void **state)
{
    static const char *const texts[] = {"",
                                        "component",
                                        "component bodies 1 block 33 registers 0, GPU faster, on one\n",
                                        "component bodies 1 block 32 registers 999, GPU faster, on one\n",
                                        "component bodies 9 block 32 registers 0, GPU faster, on one\n",
                                        "planet bodies 1 block 32 registers 0, GPU faster, on one\n",
                                        "component bodies 1 block 64 registers 0, GPU faster, on other\n"};
    struct motion motion = begin(state, 10);
    char path[300];
    snprintf(path, sizeof path, "%s.tuned%d", gpu.file, ilogb(SYSTEMS));
    for (int i = 0; i < SHOAL_COUNT(texts); i++) {
        shoal_cache_write(path, texts[i]);
        assert_non_null(strstr(tune(&motion, "auto"), "by rule"));
    }
    shoal_cache_write(path, "component bodies 1 block 64 registers 0, GPU faster, on one\n");
    assert_non_null(strstr(tune(&motion, "auto"), "when measured here"));
    assert_int_equal(gpu.choice.tuning.block, 64);
    end(&motion);
}

static void what_is_forced_stays(void **state)
{
    struct motion motion = begin(state, 10);
    motion.plan->forced.block = 96;
    (void)tune(&motion, "always");
    for (int i = 0; i < motion.plan->n_tuned; i++)
        assert_int_equal(motion.plan->tuned[i].choice.tuning.block, 96);
    motion.plan->any_model = false;
    motion.plan->choice.model = SHOAL_MODEL_PAIR;
    (void)tune(&motion, "auto"); /* what was kept is another model */
    assert_int_equal(gpu.choice.model, SHOAL_MODEL_PAIR);
    (void)tune(&motion, "always");
    assert_int_equal(gpu.choice.model, SHOAL_MODEL_PAIR);
    end(&motion);
}

/* Bodies a thread of an option, and of the environment before it; a number that does not fit is refused. */
static void bodies_of_a_thread_are_forced(void **state)
{
    static const int wrong[] = {-1, 3, 4, 5, 8}; /* 4: all bodies in one thread would be the model `system` */
    shoal_context *context = context_of(state);
    shoal_options options = {.propagator = "hermite4", .t_end = 10, .dt = TWO_PI / 50, .gpu_bodies = 2};
    shoal_body bodies[4];
    shoal_plan *plan = NULL;
    planetary_system(context, 0, 4, 1e-5, 1.4, 0.1, bodies);
    struct motion motion = motion_begin(context, 1, 4, NULL, NULL, &options, bodies);
    assert_int_equal(motion.plan->choice.model, SHOAL_MODEL_BODY);
    motion.plan->engine_type->destroy(&motion.plan->engine);
    motion.plan->engine_type = &fake;
    (void)tune(&motion, "always");
    for (int i = 0; i < motion.plan->n_tuned; i++)
        assert_int_equal(shoal_team_each(&motion.plan->tuned[i].choice), 2);
    setenv("SHOAL_CUDA_BODIES", "1", 1);
    (void)tune(&motion, "always");
    assert_int_equal(shoal_team_each(&gpu.choice), 1);
    unsetenv("SHOAL_CUDA_BODIES");
    for (int i = 0; i < SHOAL_COUNT(wrong); i++) {
        options.gpu_bodies = wrong[i];
        assert_int_equal(shoal_plan_create(context, motion.ensemble, &options, &plan), SHOAL_E_USAGE);
        assert_non_null(strstr(shoal_context_message(context), "gpu_bodies"));
    }
    end(&motion);
}

/* Of systems that thin out: another choice only where the rule has one for those that are left, and only if much is
 * left to do. */
static void few_that_are_left_are_chosen_for_again(void **state)
{
    struct motion motion = begin(state, 1e9);
    shoal_plan *plan = motion.plan;
    (void)tune(&motion, "never");
    const int n_created = gpu.n_created;
    assert_ok(plan->context, shoal_tune_again(plan));
    plan->n_list = SYSTEMS / 2;
    assert_ok(plan->context, shoal_tune_again(plan));
    assert_int_equal(gpu.n_created, n_created);
    plan->n_chosen_for = 1000000; /* a thread for each, then */
    assert_ok(plan->context, shoal_tune_again(plan));
    assert_int_equal(gpu.n_created, n_created + 1);
    assert_int_equal(gpu.choice.model, SHOAL_MODEL_BODY);
    assert_int_equal(plan->n_chosen_for, SYSTEMS / 2);
    assert_non_null(strstr(shoal_plan_line(plan), "for the 20 systems that are left"));
    /* and measured, from where they are and for where they are headed */
    snprintf(plan->tune, sizeof plan->tune, "auto");
    plan->n_chosen_for = 1000000;
    for (long i = 0; i < plan->n_list; i++)
        *shoal_ensemble_field(motion.ensemble, SHOAL_SYS_TARGET, plan->list[i]) = 7 + (double)i;
    assert_ok(plan->context, shoal_tune_again(plan));
    assert_int_equal(gpu.choice.model, SHOAL_MODEL_COMPONENT);
    assert_non_null(strstr(shoal_plan_line(plan), "measured)"));
    for (long i = 0; i < plan->n_list; i++) {
        assert_true(*shoal_ensemble_field(motion.ensemble, SHOAL_SYS_TARGET, plan->list[i]) == 7 + (double)i);
        *shoal_ensemble_field(motion.ensemble, SHOAL_SYS_STEP,
                              plan->list[i]) = *shoal_ensemble_field(motion.ensemble, SHOAL_SYS_END, plan->list[i]) - 1;
    }
    plan->n_chosen_for = 1000000;
    const int n_measured = gpu.n_created;
    assert_ok(plan->context, shoal_tune_again(plan)); /* nearly there */
    assert_int_equal(gpu.n_created, n_measured);
    end(&motion);
}

static void a_candidate_that_cannot_run_is_passed_over(void **state)
{
    struct motion motion = begin(state, 10);
    gpu.refused = SHOAL_MODEL_COMPONENT;
    assert_non_null(strstr(tune(&motion, "always"), "measured)"));
    assert_int_not_equal(gpu.choice.model, SHOAL_MODEL_COMPONENT);
    int n_refused = 0;
    for (int i = 0; i < motion.plan->n_tuned; i++)
        n_refused += motion.plan->tuned[i].rate == 0;
    assert_int_equal(n_refused, 1);
    end(&motion);
}

/* Systems that fill the GPU: the CPU takes them if it is faster and the engine is Shoal's choice. What it did to
 * measure is forgotten. */
static void the_cpu_is_measured_too(void **state)
{
    static const struct {
        double slow;
        bool any_engine, on_cpu;
    } cases[] = {{1e-9, true, false}, {1e6, false, false}, {1e6, true, true}};
    for (int i = 0; i < SHOAL_COUNT(cases); i++) {
        struct motion motion = begin_of(state, 16400, 1e9);
        shoal_plan *plan = motion.plan;
        const size_t size = (size_t)motion.ensemble->n_chunks * SHOAL_CHUNK * SHOAL_SYS_FIELDS * sizeof(double);
        double *records = malloc(size);
        assert_non_null(records);
        memcpy(records, plan->args.systems, size);
        plan->any_engine = cases[i].any_engine;
        gpu.slow = cases[i].slow;
        assert_non_null(strstr(tune(&motion, "always"), "measured)"));
        assert_true(plan->tuned[plan->n_tuned - 1].on_cpu && plan->tuned[plan->n_tuned - 1].rate > 0);
        assert_int_equal(plan->engine_type == &shoal_engine_cpu, cases[i].on_cpu);
        assert_memory_equal(records, plan->args.systems, size);
        free(records);
        motion_end(&motion);
        assert_int_equal(gpu.n_alive, 0);
    }
    struct motion motion = begin_of(state, 16400, 10); /* it is known to a short run, too */
    motion.plan->any_engine = true;
    assert_non_null(strstr(tune(&motion, "auto"), "when measured here"));
    assert_ptr_equal(motion.plan->engine_type, &shoal_engine_cpu);
    motion_end(&motion);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_short_run_takes_the_rule, new_cache, drop_cache),
        cmocka_unit_test_setup_teardown(a_long_run_is_measured_once, new_cache, drop_cache),
        cmocka_unit_test_setup_teardown(never_and_always_are_obeyed, new_cache, drop_cache),
        cmocka_unit_test_setup_teardown(another_device_or_a_damaged_file_is_not_believed, new_cache, drop_cache),
        cmocka_unit_test_setup_teardown(what_is_forced_stays, new_cache, drop_cache),
        cmocka_unit_test_setup_teardown(bodies_of_a_thread_are_forced, new_cache, drop_cache),
        cmocka_unit_test_setup_teardown(few_that_are_left_are_chosen_for_again, new_cache, drop_cache),
        cmocka_unit_test_setup_teardown(a_candidate_that_cannot_run_is_passed_over, new_cache, drop_cache),
        cmocka_unit_test_setup_teardown(the_cpu_is_measured_too, new_cache, drop_cache),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
