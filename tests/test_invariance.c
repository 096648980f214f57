/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_invariance.c: the bits of a system's result depend on the system alone: not on SIMD width, threads, its place
 * and its neighbours, the length of slices, the kernels' form, who looks at it, when it is looked at, or a restart on
 * the way.
 *
 * Each test runs one set of systems (some end early, all have steps of their own) in another way than the plainest one,
 * for every propagator with and without compensated sums, and compares all states and records byte by byte.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "systems.h"

#define SYSTEMS     83 /* a prime, not a multiple of any width, in three chunks */
#define MOST_BODIES 12
#define T_END       (4.001 * TWO_PI)
#define MOST_KEPT   256

/* ---- systems ----------------------------------------------------------------------------------------------------- */

/* The system of this id: one of four fates. Some orbits need many rounds of Kepler's equation, their neighbours few. */
static void make_system(shoal_context *context, long id, int n, shoal_body *bodies)
{
    shoal_orbit orbit[MOST_BODIES];
    memset(orbit, 0, sizeof orbit);
    memset(bodies, 0, (size_t)n * sizeof *bodies);
    bodies[0] = (shoal_body){.m = 0.5 + uniform(id, 0), .r = 0.01};
    for (int i = 1; i < n; i++) {
        bodies[i].m = 1e-5 + 3e-4 * uniform(id, 8 * i);
        bodies[i].r = 1e-3;
        orbit[i].a = pow(1.5, i - 1) * (1.0 + 0.02 * uniform(id, 8 * i + 1));
        orbit[i].e = (id % 4 == 1 ? 0.2 : 0.05) * uniform(id, 8 * i + 2);
        orbit[i].inc = 0.05 * uniform(id, 8 * i + 3);
        orbit[i].Omega = TWO_PI * uniform(id, 8 * i + 4);
        orbit[i].omega = TWO_PI * uniform(id, 8 * i + 5);
        orbit[i].f = TWO_PI * uniform(id, 8 * i + 6);
    }
    if (id % 4 == 2) /* a fall towards the star */
        orbit[1] = (shoal_orbit){.a = 1.0, .e = 0.95, .f = 3.0};
    if (id % 8 == 3) /* on its way out */
        orbit[n - 1] = (shoal_orbit){.a = -3.0, .e = 1.6, .f = 0.5 + uniform(id, 200)};
    if (id % 8 == 7 && n > 2) { /* an encounter to come */
        orbit[2] = orbit[1];
        orbit[2].a *= 1.09; /* nearer ones are horseshoes */
        orbit[2].f += 0.2 + 0.7 * uniform(id, 201);
    }
    assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, n, orbit, bodies));
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

/* One way to run the systems; zero is the plainest. */
struct way {
    const char *propagator;
    const char *form;
    int compensated;
    int n, n_room;           /* bodies; bodies that the ensemble has room for (0 = n) */
    int lanes, threads;      /* threads: 0 = one */
    long multiplier, offset; /* system s has id (s * multiplier + offset) % SYSTEMS */
    long swap;               /* ids 0 and swap change places */
    long slice_steps;        /* > 0: all slices are as long as that */
    int n_calls;             /* > 0: stops on the way */
    int restart;             /* 1: from a saved state in a new plan; 2: the same plan goes back to it */
    bool again;              /* the plan has been on its way with other systems */
    bool light;              /* outer planets without mass */
    bool watched;            /* monitors that end systems */
    bool idle;               /* monitors that have nothing to do */
    bool reversed;           /* monitors in another order */
    long broken;             /* id + 1 of a system whose state is no number */
    const char *plan_has;    /* words that the plan's line must have */
};

struct result {
    bool unsupported;
    double state[SYSTEMS][MOST_BODIES][6]; /* by id */
    double record[SYSTEMS][19];
    long n_by_outcome[SHOAL_OUTCOMES];
};

static long id_at(const struct way *way, long s)
{
    long id = way->multiplier ? (s * way->multiplier + way->offset) % SYSTEMS : s;
    if (way->swap && (id == 0 || id == way->swap))
        id = way->swap - id;
    return id;
}

static void fill(shoal_context *context, const struct way *way, shoal_ensemble *ensemble)
{
    for (long s = 0; s < SYSTEMS; s++) {
        const long id = id_at(way, s);
        shoal_body bodies[MOST_BODIES];
        shoal_system record = {
            .id = id, .t_start = 0.1 * uniform(id, 300), .dt = TWO_PI / (30.0 + 40.0 * uniform(id, 301))};
        make_system(context, id, way->n, bodies);
        for (int i = 2; i < way->n && way->light; i++)
            bodies[i].m = 0;
        shoal_ensemble_set_system(ensemble, s, &record);
        assert_ok(context, shoal_ensemble_set_bodies(ensemble, s, way->n, bodies));
        if (id + 1 == way->broken)
            *shoal_ensemble_body(ensemble, 1, SHOAL_Y, s) = NAN;
    }
}

static shoal_ensemble *make_ensemble(shoal_context *context, const struct way *way)
{
    shoal_ensemble *ensemble = NULL;
    assert_ok(context, shoal_ensemble_create(context, SYSTEMS, way->n_room ? way->n_room : way->n, &ensemble));
    fill(context, way, ensemble);
    return ensemble;
}

/* The state at T_END when all slices are of one length: plan_integrate would choose them itself. */
static void integrate_in_slices(shoal_context *context, shoal_plan *plan, long slice_steps)
{
    shoal_ensemble *ensemble = plan->ensemble;
    const int n = ensemble->n_bodies;
    int all[SYSTEMS];
    for (long n_moved = 1; n_moved > 0;) {
        plan->slice_steps = slice_steps;
        assert_ok(context, shoal_plan_slice(plan, T_END, &n_moved));
    }
    for (int s = 0; s < SYSTEMS; s++)
        all[s] = s;
    assert_ok(context, shoal_plan_snapshot(plan, T_END, all, SYSTEMS));
    for (long s = 0; s < SYSTEMS; s++)
        for (int body = 0; body < n; body++)
            for (int c = 0; c < 6; c++)
                *shoal_ensemble_body(ensemble, body, c, s) = plan->args.snapshot[SHOAL_AT(s, 6 * body + c, 6 * n)];
}

static void plan_of(shoal_context *context, const struct way *way, shoal_ensemble *ensemble, shoal_plan **plan,
                    struct result *result)
{
    const bool idle = way->idle;
    const shoal_setting compensated = {.name = "compensated", .value = way->compensated};
    const shoal_setting r_max = {.name = "r_max", .value = idle ? 1e6 : 8.0},
                        watched_body = {.name = "body", .value = 1};
    const shoal_setting near[] = {{.name = "factor", .value = idle ? 1e-9 : 1.0}},
                        touch[] = {{.name = "factor", .value = idle ? 1e-9 : 1.0}},
                        central = {.name = "central", .value = 1}, second = {.name = "second", .value = 1},
                        angle[] = {{.name = "body_2", .value = 1},
                                   {.name = "p_1", .value = 1},
                                   {.name = "p_2", .value = 0},
                                   {.name = "q_1", .value = -1}};
    const shoal_plug_options each[] = {{"stop_on_ejection", &r_max, 1},   {"stop_on_encounter", near, 1},
                                       {"stop_on_collision", touch, 1},   {"mean_motion_drift", &watched_body, 1},
                                       {"closest_approach", &central, 1}, {"element_range", NULL, 0},
                                       {"energy_error", NULL, 0},         {"resonant_angle", angle, SHOAL_COUNT(angle)},
                                       {"distance", &second, 1},          {"amd", NULL, 0}};
    enum { EACH = sizeof each / sizeof each[0] };
    shoal_plug_options monitors[EACH];
    for (int i = 0; i < EACH; i++)
        monitors[i] = each[way->reversed ? EACH - 1 - i : i];
    const shoal_options options = {.propagator = way->propagator,
                                   .settings = &compensated,
                                   .n_settings = 1,
                                   .engine = "cpu",
                                   .form = way->form,
                                   .lanes = way->lanes,
                                   .threads = way->threads ? way->threads : 1,
                                   .t_end = T_END,
                                   .monitors = monitors,
                                   .n_monitors = way->watched || way->idle ? EACH : 0};
    const shoal_status status = shoal_plan_create(context, ensemble, &options, plan);
    result->unsupported = status == SHOAL_E_UNSUPPORTED && way->lanes != 0;
    if (!result->unsupported) {
        assert_ok(context, status);
        if (way->plan_has && !strstr(shoal_plan_line(*plan), way->plan_has))
            fail_msg("'%s' is not in the plan: %s", way->plan_has, shoal_plan_line(*plan));
    }
}

static struct result *run(shoal_context *context, struct way way)
{
    struct result *result = calloc(1, sizeof *result);
    struct way before = way;
    before.multiplier = way.again ? 31 : way.multiplier;
    before.light = way.again;
    shoal_ensemble *ensemble = make_ensemble(context, &before);
    shoal_plan *plan = NULL;
    assert_non_null(result);
    plan_of(context, &way, ensemble, &plan, result);
    if (result->unsupported) { /* this build has no kernels of that width */
        print_message("%s\n", shoal_context_message(context));
        goto done;
    }
    if (way.again) {
        assert_ok(context, shoal_plan_integrate(plan, 0.6 * T_END));
        fill(context, &way, ensemble);
        assert_int_equal(shoal_plan_integrate(plan, T_END), SHOAL_E_USAGE);
        assert_non_null(strstr(shoal_context_message(context), "shoal_plan_restart"));
        assert_ok(context, shoal_plan_restart(plan));
    }
    for (int i = 1; i <= way.n_calls; i++)
        assert_ok(context, shoal_plan_integrate(plan, (way.restart ? 0.4 : 1.0) * T_END * (i - 0.37) / way.n_calls));
    if (way.restart) {
        void *saved = malloc(shoal_plan_state_size(plan));
        assert_non_null(saved);
        assert_ok(context, shoal_plan_integrate(plan, 0.4 * T_END));
        assert_ok(context, shoal_plan_state_save(plan, saved));
        if (way.restart == 1) {
            shoal_plan_destroy(&plan);
            shoal_ensemble_destroy(&ensemble);
            ensemble = make_ensemble(context, &way);
            plan_of(context, &way, ensemble, &plan, result);
        } else {
            assert_ok(context, shoal_plan_integrate(plan, 0.8 * T_END));
        }
        assert_ok(context, shoal_plan_state_load(plan, saved));
        free(saved);
        /* states are read from the plan: those of systems that had ended are in no list that integrate goes through */
        integrate_in_slices(context, plan, 100);
    } else if (way.slice_steps) {
        integrate_in_slices(context, plan, way.slice_steps);
    } else {
        assert_ok(context, shoal_plan_integrate(plan, T_END));
    }
    for (long s = 0; s < SYSTEMS; s++) {
        const long id = id_at(&way, s);
        shoal_system record;
        shoal_ensemble_get_system(ensemble, s, &record);
        assert_int_equal(record.id, id);
        for (int body = 0; body < way.n; body++)
            for (int c = 0; c < 6; c++)
                result->state[id][body][c] = *shoal_ensemble_body(ensemble, body, c, s);
        const double fields[] = {record.n_steps,
                                 record.outcome,
                                 record.t_stop,
                                 record.body_a,
                                 record.body_b,
                                 record.dt,
                                 shoal_plan_column(plan, "mean_motion_drift", s),
                                 shoal_plan_column(plan, "mean_motion", s),
                                 shoal_plan_column(plan, "min_separation", s),
                                 shoal_plan_column(plan, "min_separation_time", s),
                                 shoal_plan_column(plan, "min_separation_hill", s),
                                 shoal_plan_column(plan, "a_min_1", s),
                                 shoal_plan_column(plan, "e_max_2", s),
                                 shoal_plan_column(plan, "inc_max_1", s),
                                 shoal_plan_column(plan, "dE_max", s),
                                 shoal_plan_column(plan, "angle_amplitude", s),
                                 shoal_plan_column(plan, "distance_mean", s),
                                 shoal_plan_column(plan, "distance_min", s),
                                 shoal_plan_column(plan, "amd_change", s)};
        memcpy(result->record[id], fields, sizeof fields);
        result->n_by_outcome[record.outcome]++;
    }
done:
    shoal_plan_destroy(&plan);
    shoal_ensemble_destroy(&ensemble);
    return result;
}

/* The results of the plainest ways, each run once; every test compares with them. */
static struct kept {
    struct way way;
    struct result *result;
} kept[MOST_KEPT];

static const struct result *plainest(shoal_context *context, const struct way *way)
{
    struct kept *at = kept;
    for (; at->result; at++) {
        assert_true(at < &kept[MOST_KEPT - 1]);
        if (strcmp(at->way.propagator, way->propagator) == 0 && at->way.compensated == way->compensated &&
            at->way.n == way->n && at->way.watched == way->watched && at->way.form == way->form)
            return at->result;
    }
    *at = (struct kept){.way = *way, .result = run(context, *way)};
    return at->result;
}

static int forget(void **state)
{
    for (struct kept *at = kept; at->result; at++)
        free(at->result);
    return teardown(state);
}

/* The same bytes of every system but `except` (an id + 1) after a run another way. n_fields of the records are
 * compared. */
static void expect_same(const struct way *plain, const struct result *a, const struct result *b, int n_fields,
                        long except, const char *what)
{
    for (long id = 0; id < SYSTEMS && !b->unsupported; id++) {
        if (id + 1 == except)
            continue;
        if (memcmp(a->state[id], b->state[id], sizeof a->state[id]) != 0 ||
            memcmp(a->record[id], b->record[id], (size_t)n_fields * sizeof(double)) != 0)
            fail_msg("%s%s, %d bodies, system %ld (%s, %s): other bits: %s", plain->propagator,
                     plain->compensated ? " compensated" : "", plain->n, id, shoal_outcome_name((int)a->record[id][1]),
                     shoal_outcome_name((int)b->record[id][1]), what);
    }
}

static void compare(shoal_context *context, struct way plain, struct way other, int n_fields, long except,
                    const char *what)
{
    struct result *b = run(context, other);
    expect_same(&plain, plainest(context, &plain), b, n_fields, except, what);
    free(b);
}

enum { ALL_FIELDS = 19, NO_COLUMNS = 6 };

/* The propagators with a short step go through every way, n = 2, 3, 5 (kernels of their own) and 12 (none); the
 * others, which take longer, with n = 3. */
static bool goes_through_all(int propagator)
{
    static const char *const names[] = {"hermite4", "leapfrog", "mvs"};
    for (int i = 0; i < SHOAL_COUNT(names); i++)
        if (strcmp(shoal_plugs_of(NULL)->propagators[propagator]->name, names[i]) == 0)
            return true;
    return false;
}

/* In the body of a test: `plain` runs over every propagator, both sums, body counts, with and without monitors. */
#define FOR_EVERY_PLAIN_WAY(plain)                                                                            \
    for (int p_ = 0; shoal_plugs_of(NULL)->propagators[p_]; p_++)                                             \
        for (int which_ = 0; which_ < (goes_through_all(p_) ? 16 : 2); which_++)                              \
            for (struct way plain = {.propagator = shoal_plugs_of(NULL)->propagators[p_]->name,               \
                                    .compensated = which_ & 1,                                                \
                                    .watched = (which_ & 2) || !goes_through_all(p_),                         \
                                    .n = goes_through_all(p_) ? (const int[]){2, 3, 5, 12}[which_ >> 2] : 3}; \
                 plain.n; plain.n = 0)

/* ---- tests ------------------------------------------------------------------------------------------------------- */

/* The set of systems is worth comparing: all fates are in it, and no two states are the same. */
static void the_systems_have_many_fates(void **state)
{
    shoal_context *context = context_of(state);
    FOR_EVERY_PLAIN_WAY(plain)
    {
        const struct result *result = plainest(context, &plain);
        if (!plain.watched)
            assert_int_equal(result->n_by_outcome[SHOAL_SURVIVED], SYSTEMS);
        else if (plain.n > 2)
            assert_true(result->n_by_outcome[SHOAL_EJECTED] > 5 && result->n_by_outcome[SHOAL_ENCOUNTER] > 3 &&
                        result->n_by_outcome[SHOAL_SURVIVED] > 20);
        for (long id = 1; id < SYSTEMS; id++)
            assert_memory_not_equal(result->state[id], result->state[id - 1], sizeof result->state[id]);
    }
}

static void any_width_gives_the_same_bits(void **state)
{
    static const int widths[] = {1, 4, 8};
    FOR_EVERY_PLAIN_WAY(plain)
    for (int k = 0; k < SHOAL_COUNT(widths); k++) {
        struct way other = plain;
        other.lanes = widths[k];
        compare(context_of(state), plain, other, ALL_FIELDS, 0, "SIMD width");
    }
}

static void any_number_of_threads_gives_the_same_bits(void **state)
{
    FOR_EVERY_PLAIN_WAY(plain)
    for (int threads = 2; threads <= 3; threads++) {
        struct way other = plain;
        other.threads = threads;
        compare(context_of(state), plain, other, ALL_FIELDS, 0, "threads");
    }
}

static void any_permutation_gives_the_same_bits(void **state)
{
    FOR_EVERY_PLAIN_WAY(plain)
    for (int k = 0; k < 3; k++) {
        struct way other = plain;
        other.multiplier = (const long[]){1, 37, SYSTEMS - 1}[k]; /* rotated, shuffled, reversed */
        other.offset = (const long[]){5, 11, SYSTEMS - 1}[k];
        compare(context_of(state), plain, other, ALL_FIELDS, 0, "permutation");
    }
}

static void any_place_in_a_chunk_gives_the_same_bits(void **state)
{
    static const long places[] = {31, 32, 77};
    FOR_EVERY_PLAIN_WAY(plain)
    for (int k = 0; k < SHOAL_COUNT(places); k++) {
        struct way other = plain;
        other.swap = places[k];
        compare(context_of(state), plain, other, ALL_FIELDS, 0, "place");
    }
}

static void any_slice_gives_the_same_bits(void **state)
{
    static const long lengths[] = {1, 7, 1000000};
    FOR_EVERY_PLAIN_WAY(plain)
    for (int k = 0; k < SHOAL_COUNT(lengths); k++) {
        struct way other = plain;
        other.slice_steps = lengths[k];
        compare(context_of(state), plain, other, ALL_FIELDS, 0, "slices");
    }
}

/* Rows are there in the kernels for any body count alone, so this also compares those with the kernels for one
 * count. */
static void pairs_and_rows_give_the_same_bits(void **state)
{
    FOR_EVERY_PLAIN_WAY(plain)
    {
        struct way rows = plain;
        plain.form = "pairs";
        rows.form = "rows";
        rows.plan_has = "n = any";
        if (plain.n == 2 || plain.n == 3)
            plain.plan_has = plain.n == 2 ? "kernels for n = 2" : "kernels for n = 3";
        compare(context_of(state), plain, rows, ALL_FIELDS, 0, "pairs and rows");
    }
}

static void a_broken_system_changes_no_other(void **state)
{
    static const long broken[] = {0, 13, 82};
    FOR_EVERY_PLAIN_WAY(plain)
    for (int k = 0; k < SHOAL_COUNT(broken); k++) {
        struct way other = plain;
        other.broken = broken[k] + 1;
        struct result *hurt = run(context_of(state), other);
        assert_int_equal((int)hurt->record[broken[k]][1], SHOAL_NONFINITE);
        expect_same(&plain, plainest(context_of(state), &plain), hurt, ALL_FIELDS, broken[k] + 1, "a broken neighbour");
        free(hurt);
    }
}

static void monitors_change_no_trajectory(void **state)
{
    FOR_EVERY_PLAIN_WAY(plain)
    {
        struct way other = plain;
        if (plain.watched) {
            other.reversed = true;
            compare(context_of(state), plain, other, ALL_FIELDS, 0, "order of the monitors");
        } else {
            other.idle = true;
            compare(context_of(state), plain, other, NO_COLUMNS, 0, "monitors");
        }
    }
}

/* Room for bodies that are not there: as in an ensemble without that room. */
static void absent_bodies_change_nothing(void **state)
{
    FOR_EVERY_PLAIN_WAY(plain)
    for (int room = plain.n + 1; room <= MOST_BODIES; room += 3) {
        struct way other = plain;
        other.n_room = room;
        compare(context_of(state), plain, other, ALL_FIELDS, 0, "absent bodies");
    }
}

static void stops_on_the_way_change_nothing(void **state)
{
    FOR_EVERY_PLAIN_WAY(plain)
    {
        struct way other = plain;
        other.n_calls = 9;
        compare(context_of(state), plain, other, ALL_FIELDS, 0, "calls at other times");
    }
}

static void a_restart_changes_nothing(void **state)
{
    FOR_EVERY_PLAIN_WAY(plain)
    for (int kind = 1; kind <= 2; kind++) {
        struct way other = plain;
        other.restart = kind;
        compare(context_of(state), plain, other, ALL_FIELDS, 0,
                kind == 1 ? "restart in a new plan" : "back to a saved state");
    }
}

static void a_plan_begins_again(void **state)
{
    FOR_EVERY_PLAIN_WAY(plain)
    {
        struct way other = plain;
        other.again = true;
        compare(context_of(state), plain, other, ALL_FIELDS, 0, "a plan that has begun again");
    }
}

/* Systems that a plan has ended, or has on its way, are none to begin with; a second plan takes them over. */
static void stale_systems_and_plans_are_refused(void **state)
{
    shoal_context *context = context_of(state);
    struct way way = {.propagator = "mvs", .n = 3};
    struct result result;
    shoal_plan *plan = NULL, *other = NULL;
    const shoal_options options = {.propagator = "mvs", .engine = "cpu", .t_end = T_END};
    shoal_ensemble *ensemble = make_ensemble(context, &way);
    plan_of(context, &way, ensemble, &plan, &result);
    assert_ok(context, shoal_plan_create(context, ensemble, &options, &other));
    assert_int_equal(shoal_plan_integrate(plan, T_END), SHOAL_E_USAGE);
    assert_non_null(strstr(shoal_context_message(context), "another plan"));
    assert_ok(context, shoal_plan_integrate(other, 0.5 * T_END));
    assert_int_equal(shoal_plan_restart(plan), SHOAL_E_USAGE);
    assert_non_null(strstr(shoal_context_message(context), "set its bodies anew"));
    assert_ok(context, shoal_plan_integrate(other, T_END));
    shoal_plan_destroy(&other);
    assert_int_equal(shoal_plan_create(context, ensemble, &options, &other), SHOAL_E_USAGE);
    assert_non_null(strstr(shoal_context_message(context), "has ended (survived)"));
    fill(context, &way, ensemble);
    assert_ok(context, shoal_plan_restart(plan));
    assert_ok(context, shoal_plan_integrate(plan, T_END));
    shoal_plan_destroy(&plan);
    shoal_ensemble_destroy(&ensemble);
}

/* All at once, every way other than the plainest. */
static void everything_at_once_changes_nothing(void **state)
{
    FOR_EVERY_PLAIN_WAY(plain)
    {
        struct way other = plain;
        other.form = "rows";
        other.lanes = 1;
        other.threads = 2;
        other.multiplier = 29;
        other.offset = 3;
        other.n_room = plain.n < MOST_BODIES ? plain.n + 1 : 0;
        other.n_calls = 3;
        other.restart = 1;
        other.reversed = true;
        other.broken = 41;
        compare(context_of(state), plain, other, ALL_FIELDS, other.broken, "all at once");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_systems_have_many_fates),
        cmocka_unit_test(any_width_gives_the_same_bits),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bits),
        cmocka_unit_test(any_permutation_gives_the_same_bits),
        cmocka_unit_test(any_place_in_a_chunk_gives_the_same_bits),
        cmocka_unit_test(any_slice_gives_the_same_bits),
        cmocka_unit_test(pairs_and_rows_give_the_same_bits),
        cmocka_unit_test(a_broken_system_changes_no_other),
        cmocka_unit_test(monitors_change_no_trajectory),
        cmocka_unit_test(absent_bodies_change_nothing),
        cmocka_unit_test(stops_on_the_way_change_nothing),
        cmocka_unit_test(a_restart_changes_nothing),
        cmocka_unit_test(a_plan_begins_again),
        cmocka_unit_test(stale_systems_and_plans_are_refused),
        cmocka_unit_test(everything_at_once_changes_nothing),
    };
    return cmocka_run_group_tests_name("invariance", tests, setup, forget);
}
