/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_hosted.c: systems that move from a GPU to the host while a slice goes on, with a GPU that is played: it shows
 * columns of the table, one after the other, the last one too late. What the host then makes of them is what the CPU's
 * engine makes of them by itself.
 */
#include <math.h>

#include "systems.h"

enum { SYSTEMS = 64, N = 3, THREADS = 3, STEPS = 300 };

/* The states as they began, of which the played GPU makes columns, and whose they are. */
static struct {
    const shoal_kernel_args *args;
    double *systems, *native, *table;
    int n_native, room, n_arrived, *arrived;
    const int *order; /* [4] */
    long calls;
} played;

static double *record(int field, long system)
{
    return &played.args->systems[SHOAL_AT(system, field, SHOAL_SYS_FIELDS)];
}

static void show_column(int system)
{
    const int place = played.n_arrived++;
    double *column = played.table + place;
    for (int q = 0; q < SHOAL_SYS_FIELDS; q++, column += played.room)
        *column = q == SHOAL_SYS_OUTCOME ? SHOAL_ASIDE : played.systems[SHOAL_AT(system, q, SHOAL_SYS_FIELDS)];
    for (int q = 0; q < played.n_native; q++, column += played.room)
        *column = played.native[SHOAL_AT(system, q, played.n_native)];
    __atomic_store_n(&played.arrived[place], system + 1, __ATOMIC_RELEASE);
}

/* The columns of systems that are the host's from a slice's beginning. */
static void bring(const int *list, int n)
{
    played.n_arrived = 0;
    for (int i = 0; i < n; i++) {
        show_column(list[i]);
        played.table[SHOAL_SYS_OUTCOME * played.room + i] = SHOAL_RUNNING;
    }
}

static bool is_busy(shoal_engine *engine)
{
    (void)engine;
    played.calls++;
    if (played.n_arrived < 3) {
        show_column(played.order[played.n_arrived]);
        return true;
    }
    for (int i = 0; i < 3; i++)
        if (!(*record(SHOAL_SYS_STEP, played.order[i]) >= STEPS))
            return played.calls < 1000000;
    show_column(played.order[3]);
    return false;
}

static bool is_idle(shoal_engine *engine)
{
    (void)engine;
    return false;
}

static void crowd(shoal_context *context, shoal_body *bodies)
{
    for (long s = 0; s < SYSTEMS; s++)
        planetary_system(context, s, N, 1e-4, 1.1, 0.05, bodies + s * N);
}

/* What the GPU would have, and copies of the records and native states as they are now. */
static void play(const shoal_plan *plan, shoal_hosted *hosted, const int *order)
{
    assert_non_null(hosted);
    assert_int_equal(shoal_hosted_threads(hosted), THREADS);
    played.args = &plan->args;
    played.order = order;
    played.n_native = (int)shoal_native_slots(plan->propagator, N);
    played.room = shoal_hosted_room(hosted);
    assert_int_equal(shoal_hosted_rows(hosted), SHOAL_SYS_FIELDS + played.n_native);
    assert_true(played.room >= THREADS);
    played.table = calloc((size_t)shoal_hosted_rows(hosted) * (size_t)played.room, sizeof *played.table);
    played.arrived = calloc((size_t)played.room, sizeof *played.arrived);
    shoal_hosted_table(hosted, played.table, played.arrived);
    for (long s = 0; s < SYSTEMS; s++)
        *record(SHOAL_SYS_TARGET, s) = STEPS;
    const size_t systems_size = SYSTEMS * SHOAL_SYS_FIELDS * sizeof(double),
                 native_size = SYSTEMS * (size_t)played.n_native * sizeof(double);
    played.systems = malloc(systems_size);
    played.native = malloc(native_size);
    assert_true(played.table && played.arrived && played.systems && played.native);
    memcpy(played.systems, plan->args.systems, systems_size);
    memcpy(played.native, plan->args.native, native_size);
}

/* Between the snapshot of some systems and what is expected of all. */
static double largest_difference(const shoal_plan *plan, const shoal_body *expected, const int *list, int n_list)
{
    double worst = 0;
    for (int i = 0; i < n_list; i++)
        for (int body = 0; body < N; body++) {
            const shoal_body *b = &expected[list[i] * N + body];
            const double want[6] = {b->x, b->y, b->z, b->vx, b->vy, b->vz};
            for (int q = 0; q < 6; q++)
                worst = fmax(worst, fabs(plan->args.snapshot[SHOAL_AT(list[i], 6 * body + q, 6 * N)] - want[q]));
        }
    return worst;
}

static void the_host_goes_on_with_them(void **state)
{
    shoal_context *context = context_of(state);
    static const int order[4] = {5, 40, 9, 33};
    const double dt = TWO_PI / 30;
    const shoal_options options = {.propagator = "hybrid", .dt = dt, .t_end = STEPS * dt, .threads = THREADS};
    shoal_body expected[SYSTEMS * N], bodies[SYSTEMS * N];
    crowd(context, expected);
    crowd(context, bodies);
    evolve_all(context, SYSTEMS, N, NULL, NULL, &options, expected, NULL);

    struct motion motion = motion_begin(context, SYSTEMS, N, NULL, NULL, &options, bodies);
    shoal_plan *plan = motion.plan;
    shoal_hosted *hosted = shoal_hosted_create(context, &plan->choice, &plan->args,
                                               (shoal_engine_range){.n_systems = SYSTEMS});
    play(plan, hosted, order);

    /* at first all are the GPU's; the arrays have nothing of what will come in columns */
    int list[SYSTEMS], sorted[SYSTEMS], n_list;
    for (int i = 0; i < SYSTEMS; i++)
        list[i] = SYSTEMS - 1 - i;
    assert_int_equal(shoal_hosted_split(hosted, list, SYSTEMS, false, STEPS, sorted), 0);
    assert_memory_equal(sorted, list, sizeof list);
    for (int i = 0; i < 4; i++) {
        for (int q = 0; q < SHOAL_SYS_FIELDS; q++)
            *record(q, order[i]) = NAN;
        for (int q = 0; q < played.n_native; q++)
            plan->args.native[SHOAL_AT(order[i], q, played.n_native)] = NAN;
    }
    (void)shoal_hosted_advance(hosted, is_busy, NULL, false);
    const int *whose = shoal_hosted_list(hosted, &n_list);
    assert_int_equal(n_list, 4);
    assert_memory_equal(whose, order, sizeof order);
    /* the columns are back, the one that came too late as it came, but no longer set aside */
    for (int i = 0; i < 4; i++) {
        assert_true(played.table[SHOAL_SYS_STEP * played.room + i] == (i < 3 ? STEPS : 0));
        assert_true(played.table[SHOAL_SYS_OUTCOME * played.room + i] == SHOAL_RUNNING);
        assert_true(*record(SHOAL_SYS_STEP, order[i]) == (i < 3 ? STEPS : 0));
    }
    for (long s = 0; s < SYSTEMS; s++)
        if (s != 5 && s != 40 && s != 9 && s != 33)
            assert_true(*record(SHOAL_SYS_STEP, s) == 0);

    /* the late one stays; with it alone the slice waits for its end */
    int n_stay = 0;
    for (int i = 0; i < SYSTEMS; i++)
        if (*record(SHOAL_SYS_STEP, i) < STEPS)
            list[n_stay++] = i;
    assert_int_equal(shoal_hosted_split(hosted, list, n_stay, false, STEPS, sorted), 1);
    assert_int_equal(sorted[n_stay - 1], 33);
    for (int i = 0, at = 0; i < n_stay; i++)
        if (list[i] != 33)
            assert_int_equal(sorted[at++], list[i]);
    bring(&order[3], 1);
    (void)shoal_hosted_advance(hosted, is_idle, NULL, true);
    assert_true(*record(SHOAL_SYS_STEP, 33) == STEPS);

    /* the last few all go to the host */
    const int few[] = {7, 3, 50};
    assert_int_equal(shoal_hosted_split(hosted, few, 3, false, STEPS, sorted), 3);
    assert_memory_equal(sorted, few, sizeof few);
    bring(few, 3);
    (void)shoal_hosted_advance(hosted, is_idle, NULL, true);

    /* states of those that went to the end here, by the plan's own snapshot */
    const int ended[] = {5, 40, 9, 33, 7, 3, 50};
    for (int i = 0; i < SHOAL_COUNT(ended); i++)
        assert_true(*record(SHOAL_SYS_STEP, ended[i]) == STEPS);
    assert_ok(context, shoal_plan_snapshot(plan, STEPS * dt, ended, SHOAL_COUNT(ended)));
    /* they are seen from the barycentre there: a rounding */
    assert_below(largest_difference(plan, expected, ended, SHOAL_COUNT(ended)), 1e-17);
    shoal_hosted_destroy(&hosted);
    assert_null(hosted);
    free(played.table);
    free(played.arrived);
    free(played.systems);
    free(played.native);
    motion_end(&motion);
}

/* Where the GPU can spare some, these are the ones that are behind, and others once they are ahead. Where the host was
 * slower than the GPU, it takes none the next time. */
static void the_host_takes_those_that_are_behind(void **state)
{
    shoal_context *context = context_of(state);
    const double dt = TWO_PI / 30;
    const shoal_options options = {.propagator = "hybrid", .dt = dt, .t_end = STEPS * dt, .threads = THREADS};
    shoal_body bodies[SYSTEMS * N];
    int list[SYSTEMS], sorted[SYSTEMS], again[SYSTEMS], n_list;
    crowd(context, bodies);
    struct motion motion = motion_begin(context, SYSTEMS, N, NULL, NULL, &options, bodies);
    shoal_plan *plan = motion.plan;
    shoal_hosted *hosted = shoal_hosted_create(context, &plan->choice, &plan->args,
                                               (shoal_engine_range){.n_systems = SYSTEMS});
    play(plan, hosted, NULL);
    for (int i = 0; i < SYSTEMS; i++)
        list[i] = i;
    for (int s = 0; s < SYSTEMS; s++)
        *record(SHOAL_SYS_STEP, s) = s % 2 == 0 ? 10 : 20 + s;
    const int width = played.room / 2, n = width < SYSTEMS / 2 ? width : SYSTEMS / 2;
    assert_int_equal(shoal_hosted_split(hosted, list, SYSTEMS, true, STEPS / 2, sorted), n);
    for (int i = 0; i < n; i++) /* the even ones are equally far behind: the first of them */
        assert_int_equal(sorted[SYSTEMS - n + i], 2 * i);
    for (int i = 0, at = 0; i < SYSTEMS; i++)
        if (i % 2 == 1 || i >= 2 * n)
            assert_int_equal(sorted[at++], i);
    const int *whose = shoal_hosted_list(hosted, &n_list);
    assert_int_equal(n_list, n);
    bring(whose, n);
    for (int i = 0; i < n; i++)
        played.table[SHOAL_SYS_STEP * played.room + i] = 10;
    (void)shoal_hosted_advance(hosted, is_idle, NULL, true);
    for (int i = 0; i < n; i++)
        assert_true(*record(SHOAL_SYS_STEP, 2 * i) == STEPS);
    int n_left = 0;
    for (int i = 0; i < SYSTEMS; i++)
        if (*record(SHOAL_SYS_STEP, i) < STEPS)
            list[n_left++] = i;
    const int n_now = width < n_left / 2 ? width : n_left / 2;
    assert_int_equal(shoal_hosted_split(hosted, list, n_left, true, STEPS, again), n_now);
    for (int i = n_left - n_now; i < n_left; i++)
        for (int g = 0; g < n_left - n_now; g++)
            assert_true(*record(SHOAL_SYS_STEP, again[i]) <= *record(SHOAL_SYS_STEP, again[g]));
    assert_int_equal(shoal_hosted_led(hosted), n + n_now);
    assert_int_equal(shoal_hosted_split(hosted, list, n_left, true, STEPS, again), 0); /* none has moved */
    assert_int_equal(shoal_hosted_split(hosted, list, n_left, true, STEPS, again), n_now);
    shoal_hosted_destroy(&hosted);
    free(played.table);
    free(played.arrived);
    free(played.systems);
    free(played.native);
    motion_end(&motion);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_host_goes_on_with_them),
                                       cmocka_unit_test(the_host_takes_those_that_are_behind)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
