/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_devices.c: several GPUs of one machine: the same bytes with any number of them, though systems change hands; a
 * run that goes on with others; which ones an option means.
 *
 * The tests need two GPUs, and take a third one where there is one. The emulator has some:
 * EMULATOR_DEVICES=3 tests/emulator/run build build/tests/test_devices
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "systems.h"

enum { N = 3, TIMES = 3 };

/* Systems in the order of their steps, whose lengths differ a hundredfold; every third one comes near another planet,
 * whose bodies merge, or loses one. */
enum { SYSTEMS = 9 * SHOAL_CHUNK - 5 };
#define T_END (1.01 * TWO_PI)

static int n_gpus(void)
{
    need_gpu();
    const int n = shoal_engine_cuda_devices(false).n;
    if (n < 2) {
        print_message("one GPU\n");
        skip();
    }
    return n;
}

static struct motion begin(shoal_context *context, const char *propagator, const char *devices)
{
    static const shoal_setting far[] = {{.name = "r_max", .value = 3}, {.name = "action", .choice = "remove"}},
                               touch[] = {{.name = "action", .choice = "merge"}},
                               near[] = {{.name = "factor", .value = 1}, {.name = "action", .choice = "log"}};
    static const shoal_plug_options monitors[] = {{"stop_on_ejection", far, SHOAL_COUNT(far)},
                                                  {"stop_on_collision", touch, SHOAL_COUNT(touch)},
                                                  {"stop_on_encounter", near, SHOAL_COUNT(near)},
                                                  {.name = "energy_error"}};
    static double dt[SYSTEMS];
    static shoal_body bodies[SYSTEMS * N];
    shoal_options options;
    assert_ok(context, shoal_options_init(&options, sizeof options));
    options.propagator = propagator;
    options.engine = "cuda";
    options.tune = "never";
    options.devices = devices;
    options.monitors = monitors;
    options.n_monitors = SHOAL_COUNT(monitors);
    options.t_end = T_END;
    for (long s = 0; s < SYSTEMS; s++) {
        shoal_body *b = bodies + s * N;
        planetary_system(context, s, N, 1e-3, s % 3 == 1 ? 1.05 : 1.5, 0.1, b);
        dt[s] = TWO_PI / 12 * pow(100, -(double)s / SYSTEMS);
        for (int i = 0; i < N; i++)
            b[i].r = 0.01;
        if (s % 3 == 2) {
            b[2].vx *= 1.6;
            b[2].vy *= 1.6;
        }
    }
    return motion_begin(context, SYSTEMS, N, NULL, dt, &options, bodies);
}

/* All that is known of a run in the end: its events, then what a checkpoint holds, but the steps made in all. */
struct end {
    size_t size;
    char *bytes;
    long n_events;
};

static struct end end_of(shoal_context *context, struct motion *motion)
{
    shoal_plan *plan = motion->plan;
    const long n = shoal_plan_n_events(plan);
    struct end end = {(size_t)n * sizeof(shoal_event) + shoal_plan_state_size(plan), NULL, n};
    end.bytes = calloc(1, end.size);
    assert_non_null(end.bytes);
    for (long i = 0; i < n; i++)
        assert_ok(context, shoal_plan_event(plan, i, (shoal_event *)end.bytes + i));
    char *plan_state = end.bytes + (size_t)n * sizeof(shoal_event);
    assert_ok(context, shoal_plan_state_save(plan, plan_state));
    memset(plan_state, 0, sizeof plan->system_steps); /* a sum over slices, in their order */
    return end;
}

static int by_system(const void *a, const void *b)
{
    const shoal_event *x = a, *y = b;
    return x->system != y->system ? (x->system > y->system) - (x->system < y->system)
                                  : (x->time > y->time) - (x->time < y->time);
}

/* Slices, and so the order of events, may differ. */
static void compare(struct end *one, struct end *other, const char *propagator, const char *devices)
{
    assert_int_equal(one->n_events, other->n_events);
    assert_int_equal(one->size, other->size);
    qsort(one->bytes, (size_t)one->n_events, sizeof(shoal_event), by_system);
    qsort(other->bytes, (size_t)other->n_events, sizeof(shoal_event), by_system);
    if (memcmp(one->bytes, other->bytes, one->size) != 0)
        fail_msg("%s on %s: other bytes", propagator, devices);
    free(other->bytes);
}

static void see(shoal_context *context, const struct motion *motion, shoal_body *seen)
{
    for (int k = 0; k < TIMES; k++) {
        assert_ok(context, shoal_plan_integrate(motion->plan, TWO_PI * 0.3 * (1 + k)));
        for (long s = 0; s < SYSTEMS; s++)
            shoal_ensemble_get_bodies(motion->ensemble, s, seen + (k * SYSTEMS + s) * N);
    }
    assert_ok(context, shoal_plan_integrate(motion->plan, T_END));
}

static void the_same_bytes_on_any_number(void **state)
{
    static const char *const propagators[] = {"mvs", "hybrid", "hermite4"};
    static shoal_body seen[2][TIMES * SYSTEMS * N];
    shoal_context *context = context_of(state);
    const char *const devices[] = {"[0]", "2", n_gpus() > 2 ? "[2,0,1]" : "[1,0]"};
    for (int p = 0; p < SHOAL_COUNT(propagators); p++) {
        struct end ends[SHOAL_COUNT(devices)];
        for (int i = 0; i < SHOAL_COUNT(devices); i++) {
            struct motion motion = begin(context, propagators[p], devices[i]);
            if (i > 0)
                assert_non_null(
                    strstr(shoal_plan_line(motion.plan), i == 1 || n_gpus() == 2 ? "cuda: 2 x " : "cuda: 3 x "));
            see(context, &motion, seen[i > 0]);
            ends[i] = end_of(context, &motion);
            const long n_moved = shoal_engine_cuda_moved(motion.plan->engine);
            print_message("%s on %s: %ld events, %ld chunks changed hands\n", propagators[p], devices[i],
                          ends[i].n_events, n_moved);
            assert_true(ends[i].n_events > 10);
            assert_true(i == 0 ? n_moved == 0 : n_moved > 0);
            motion_end(&motion);
            if (i == 0)
                continue;
            assert_memory_equal(seen[0], seen[1], sizeof seen[0]);
            compare(&ends[0], &ends[i], propagators[p], devices[i]);
        }
        free(ends[0].bytes);
    }
}

static void a_run_goes_on_with_others(void **state)
{
    shoal_context *context = context_of(state);
    const char *const devices[] = {"2", n_gpus() > 2 ? "3" : "[1]", "1"};
    struct motion motion = begin(context, "mvs", "1");
    assert_ok(context, shoal_plan_integrate(motion.plan, T_END));
    struct end one = end_of(context, &motion);
    motion_end(&motion);
    char *state_bytes = NULL;
    for (int i = 0; i < SHOAL_COUNT(devices); i++) {
        motion = begin(context, "mvs", devices[i]);
        if (state_bytes)
            assert_ok(context, shoal_plan_state_load(motion.plan, state_bytes));
        assert_ok(context, shoal_plan_integrate(motion.plan, i == 2 ? T_END : TWO_PI * (0.25 + 0.5 * i)));
        struct end end = end_of(context, &motion);
        const size_t size = shoal_plan_state_size(motion.plan);
        free(state_bytes);
        state_bytes = malloc(size);
        assert_non_null(state_bytes);
        memcpy(state_bytes, end.bytes + end.size - size, size);
        if (i == 2)
            assert_memory_equal(state_bytes, one.bytes + one.size - size, size);
        free(end.bytes);
        motion_end(&motion);
    }
    free(state_bytes);
    free(one.bytes);
}

/* What is seen at many times at once, by engines that each have a part of the systems. */
static void what_is_seen_at_once_is_the_same(void **state)
{
    enum { MANY = 3 * SHOAL_CHUNK - 1, STOPS = 5 };
    static const shoal_observable what[] = {{1, 0}, {2, 4}};
    static double values[2][STOPS * 2 * MANY];
    shoal_context *context = context_of(state);
    shoal_body bodies[MANY * N];
    double times[STOPS];
    (void)n_gpus();
    for (int k = 0; k < STOPS; k++)
        times[k] = 1.1 * k;
    for (long s = 0; s < MANY; s++)
        planetary_system(context, s, N, 1e-3, 1.5, 0.1, bodies + s * N);
    for (int i = 0; i < 2; i++) {
        shoal_options options;
        assert_ok(context, shoal_options_init(&options, sizeof options));
        options.engine = "cuda";
        options.dt = TWO_PI / 50;
        options.t_end = 5;
        options.devices = i == 0 ? "[0]" : "all";
        struct motion motion = motion_begin(context, MANY, N, NULL, NULL, &options, bodies);
        assert_ok(context, shoal_plan_observe(motion.plan, STOPS, times, SHOAL_COUNT(what), what, values[i]));
        motion_end(&motion);
    }
    assert_false(isnan(values[0][0]));
    assert_memory_equal(values[0], values[1], sizeof values[0]);
}

/* Refused on every machine; GPUs that are not here, where there is one. */
static void an_option_says_which(void **state)
{
    static const char *const wrong[] = {"",      "0",    "-1",   "2.5",  "two", "[]",  "[0",
                                        "[0,0]", "[0,]", "[-1]", "[0] ", "65",  "[64]"};
    static const char *const absent[] = {"64", "[63]"};
    shoal_context *context = context_of(state);
    shoal_body bodies[N];
    shoal_options options;
    planetary_system(context, 0, N, 1e-3, 1.5, 0.1, bodies);
    assert_ok(context, shoal_options_init(&options, sizeof options));
    options.engine = "cpu";
    options.dt = 0.1;
    options.t_end = 1;
    options.devices = "all"; /* says nothing to a CPU */
    struct motion motion = motion_begin(context, 1, N, NULL, NULL, &options, bodies);
    shoal_plan *plan = NULL;
    for (int i = 0; i < SHOAL_COUNT(wrong); i++) {
        options.devices = wrong[i];
        assert_int_equal(shoal_plan_create(context, motion.ensemble, &options, &plan), SHOAL_E_USAGE);
        assert_non_null(strstr(shoal_context_message(context), "devices"));
    }
    options.engine = "cuda";
    for (int i = 0; i < SHOAL_COUNT(absent) && !shoal_engine_cuda.missing(); i++) {
        options.devices = absent[i];
        assert_int_equal(shoal_plan_create(context, motion.ensemble, &options, &plan), SHOAL_E_USAGE);
        assert_non_null(strstr(shoal_context_message(context), "GPUs that are here"));
    }
    motion_end(&motion);
}

/* The work of a run is known before its engine is chosen, however many systems there are. */
static void the_steps_of_a_run_are_counted(void **state)
{
    enum { MANY = 5000, STEPS = 10 };
    shoal_context *context = context_of(state);
    shoal_body bodies[N];
    shoal_ensemble *ensemble = NULL;
    shoal_findings findings = {.maker = SHOAL_MAKER_CALLER};
    const shoal_options options = {.dt = 0.5, .t_end = 0.5 * STEPS};
    planetary_system(context, 0, N, 1e-3, 1.5, 0.1, bodies);
    assert_ok(context, shoal_ensemble_create(context, MANY, N, &ensemble));
    for (long s = 0; s < MANY; s++)
        assert_ok(context, shoal_ensemble_set_bodies(ensemble, s, N, bodies));
    for (int again = 0; again < 2; again++) {
        shoal_plan *plan = NULL;
        shoal_options cpu = options;
        cpu.engine = "cpu";
        assert_ok(context, shoal_plan_try(context, ensemble, &cpu, &findings, &plan));
        assert_true(findings.run_steps >= MANY * STEPS && findings.run_steps <= 2 * MANY * STEPS);
        shoal_plan_destroy(&plan);
    }
    shoal_ensemble_destroy(&ensemble);
}

/* By default another GPU needs enough systems and enough work. */
static void as_many_as_pay(void **state)
{
    static const struct {
        long n_systems;
        double steps;
        int n;
    } rows[] = {{1000000, 1e9, 1},  {20000, 1e15, 1},   {33000, 1e15, 2},
                {33000, 2.5e10, 2}, {50000, 2.5e10, 2}, {50000, 1e15, 3}};
    shoal_ensemble ensemble = {.n_bodies = 3};
    shoal_options options = {0};
    const int most = shoal_engine_cuda_devices(true).n;
    (void)state;
    (void)n_gpus();
    for (int i = 0; i < SHOAL_COUNT(rows); i++) {
        shoal_findings findings = {.run_steps = rows[i].steps};
        shoal_plan plan = {.ensemble = &ensemble,
                           .engine_type = &shoal_engine_cuda,
                           .n_list = rows[i].n_systems,
                           .findings = &findings};
        assert_int_equal(shoal_plan_choose_devices(&plan, &options), SHOAL_OK);
        assert_int_equal(plan.devices.n, rows[i].n < most ? rows[i].n : most);
        plan.engine_type = &shoal_engine_cpu;
        assert_int_equal(shoal_plan_choose_devices(&plan, &options), SHOAL_OK);
        assert_int_equal(plan.devices.n, 0);
    }
}

int main(void)
{
    setenv("SHOAL_EAGER_MOVES", "1", 1); /* whatever it is on */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_option_says_which),
        cmocka_unit_test(the_steps_of_a_run_are_counted),
        cmocka_unit_test(as_many_as_pay),
        cmocka_unit_test(the_same_bytes_on_any_number),
        cmocka_unit_test(a_run_goes_on_with_others),
        cmocka_unit_test(what_is_seen_at_once_is_the_same),
    };
    cmocka_set_test_filter(getenv("SHOAL_TEST_NAME"));
    return cmocka_run_group_tests(tests, setup, teardown);
}
