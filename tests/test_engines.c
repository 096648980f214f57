/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_engines.c: two engines, each of a range of an ensemble's chunks, leave the bits that one engine of all of them
 * leaves, whatever they run: steps, steps with encounters, monitors, states at a time. SHOAL_TEST_NAME=PATTERN: those
 * tests only.
 */
#include "systems.h"

enum { N = 3, SYSTEMS = 3 * SHOAL_CHUNK + 5, STEPS = 200, SLICE = 60, N_ARRAYS = 4 };

/* The arrays that kernels write, in the order of `all_arrays`, [N_ARRAYS]. */
struct arrays {
    double *values[N_ARRAYS];
    size_t size[N_ARRAYS]; /* bytes */
};

static const int all_arrays = SHOAL_ARRAY_SYSTEMS | SHOAL_ARRAY_NATIVE | SHOAL_ARRAY_WATCH | SHOAL_ARRAY_SNAPSHOT;

static struct arrays arrays_of(const shoal_plan *plan)
{
    const shoal_kernel_args *args = &plan->args;
    const size_t chunks = (SYSTEMS + SHOAL_CHUNK - 1) / SHOAL_CHUNK, unit = chunks * SHOAL_CHUNK * sizeof(double);
    return (struct arrays){{args->systems, args->native, args->watch, args->snapshot},
                           {unit * SHOAL_SYS_FIELDS, unit * shoal_native_slots(plan->propagator, args->n_moved),
                            unit * (size_t)args->n_watch, unit * 6 * N}};
}

static struct arrays arrays_copy(const struct arrays *from)
{
    struct arrays made = *from;
    for (int a = 0; a < N_ARRAYS; a++) {
        made.values[a] = malloc(from->size[a] + 1);
        assert_non_null(made.values[a]);
        memcpy(made.values[a], from->values[a], from->size[a]);
    }
    return made;
}

static void arrays_free(struct arrays *arrays)
{
    for (int a = 0; a < N_ARRAYS; a++)
        free(arrays->values[a]);
}

/* The systems of a range that are still on their way. */
static long list_range(const shoal_kernel_args *args, shoal_engine_range range, int *list)
{
    long n = 0;
    for (long i = 0; i < range.n_systems; i++) {
        const long s = range.first_chunk * SHOAL_CHUNK + i;
        if (args->systems[SHOAL_AT(s, SHOAL_SYS_OUTCOME, SHOAL_SYS_FIELDS)] == SHOAL_RUNNING &&
            args->systems[SHOAL_AT(s, SHOAL_SYS_STEP, SHOAL_SYS_FIELDS)] <
                args->systems[SHOAL_AT(s, SHOAL_SYS_TARGET, SHOAL_SYS_FIELDS)])
            list[n++] = (int)s;
    }
    return n;
}

/* From where the plan's arrays are to STEPS, with an engine for each of the ranges, which all work at a time. */
static void run_with(shoal_context *context, const shoal_plan *plan, const shoal_engine_range *ranges, int n_ranges)
{
    const shoal_engine_type *type = plan->engine_type;
    shoal_engine *engine[2];
    int list[2][SYSTEMS], n_turns = 0;
    long n_list[2] = {0}, n_left = 0;
    char line[256];
    for (int r = 0; r < n_ranges; r++) {
        assert_ok(context, type->create(context, &plan->choice, &plan->args, ranges[r], &engine[r], line, sizeof line));
        assert_ok(context, type->upload(engine[r], SHOAL_ARRAY_BODIES | all_arrays));
        n_list[r] = list_range(&plan->args, ranges[r], list[r]);
        n_left += n_list[r];
        assert_ok(context, type->launch(engine[r], SHOAL_PREPARE, list[r], n_list[r], 0));
    }
    for (; n_left > 0; n_turns++) {
        assert_in_range(n_turns, 0, 1000);
        for (int r = 0; r < n_ranges; r++)
            assert_ok(context, type->launch(engine[r], SHOAL_INTEGRATE, list[r], n_list[r], SLICE));
        n_left = 0;
        for (int r = 0; r < n_ranges; r++) {
            assert_ok(context, type->wait(engine[r], NULL));
            assert_ok(context, type->download(engine[r], SHOAL_ARRAY_SYSTEMS));
            n_list[r] = list_range(&plan->args, ranges[r], list[r]);
            n_left += n_list[r];
        }
    }
    for (int r = 0; r < n_ranges; r++) {
        for (long i = 0; i < ranges[r].n_systems; i++)
            list[r][i] = (int)(ranges[r].first_chunk * SHOAL_CHUNK + i);
        assert_ok(context, type->launch(engine[r], SHOAL_SNAPSHOT, list[r], ranges[r].n_systems, 0));
    }
    for (int r = 0; r < n_ranges; r++) {
        assert_ok(context, type->download(engine[r], all_arrays));
        type->destroy(&engine[r]);
    }
}

static void two_are_one(shoal_context *context, const char *name, const char *propagator)
{
    static const shoal_engine_range whole[] = {{.n_systems = SYSTEMS}},
                                    halves[] = {{.n_systems = 2 * SHOAL_CHUNK},
                                                {.first_chunk = 2, .n_systems = SYSTEMS - 2 * SHOAL_CHUNK}};
    static const shoal_plug_options monitors[] = {{.name = "energy_error"}};
    const double dt = TWO_PI / 40;
    const shoal_options options = {.propagator = propagator,
                                   .engine = name,
                                   .tune = "never",
                                   .threads = 2,
                                   .monitors = monitors,
                                   .n_monitors = SHOAL_COUNT(monitors),
                                   .dt = dt,
                                   .t_end = STEPS * dt};
    shoal_body bodies[SYSTEMS * N];
    for (long s = 0; s < SYSTEMS; s++)
        planetary_system(context, s, N, 1e-4, 1.1, 0.05, bodies + s * N);
    struct motion motion = motion_begin(context, SYSTEMS, N, NULL, NULL, &options, bodies);
    shoal_plan *plan = motion.plan;
    for (long s = 0; s < SYSTEMS; s++) {
        *shoal_plan_field(plan, SHOAL_SYS_TARGET, s) = STEPS - s % 3;
        *shoal_plan_field(plan, SHOAL_SYS_PARTIAL, s) = 0.25 * dt;
    }
    const struct arrays now = arrays_of(plan);
    struct arrays start = arrays_copy(&now);
    run_with(context, plan, whole, 1);
    struct arrays one = arrays_copy(&now);
    for (int a = 0; a < N_ARRAYS; a++)
        memcpy(now.values[a], start.values[a], now.size[a]);
    run_with(context, plan, halves, 2);
    for (long s = 0; s < SYSTEMS; s++)
        assert_true(*shoal_plan_field(plan, SHOAL_SYS_STEP, s) == STEPS - s % 3);
    for (int a = 0; a < N_ARRAYS; a++)
        assert_memory_equal(now.values[a], one.values[a], now.size[a]);
    assert_true(memcmp(now.values[3], start.values[3], now.size[3]) != 0);
    arrays_free(&start);
    arrays_free(&one);
    motion_end(&motion);
}

static void two_are_one_on_cpus(void **state)
{
    two_are_one(context_of(state), "cpu", "mvs");
    two_are_one(context_of(state), "cpu", "hybrid");
}

static void two_are_one_on_gpus(void **state)
{
    need_gpu();
    two_are_one(context_of(state), "cuda", "mvs");
    two_are_one(context_of(state), "cuda", "hybrid");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_are_one_on_cpus),
        cmocka_unit_test(two_are_one_on_gpus),
    };
    cmocka_set_test_filter(getenv("SHOAL_TEST_NAME"));
    return cmocka_run_group_tests(tests, setup, teardown);
}
