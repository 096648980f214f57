/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_threads.c: loops that threads share do each part once, whoever comes late; a forked process never waits for the
 * threads of its parent, and its results are the same.
 */
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/systems.h"
#include "tests/testing.h"

enum { MOST = 5000 };

typedef struct counted {
    shoal_context *context;
    int times[MOST];
    long grain, n;
    bool nested, wrong;
} counted;

static void count_part(void *user, long first, long last)
{
    counted *c = user;
    if (first % c->grain != 0 || (last != first + c->grain && last != c->n) || last > c->n)
        __atomic_store_n(&c->wrong, true, __ATOMIC_RELAXED);
    for (long i = first; i < last; i++)
        (void)__atomic_add_fetch(&c->times[i], 1, __ATOMIC_RELAXED);
    if (first == 3 * c->grain)
        sched_yield(); /* some part takes longer */
    if (c->nested && first == 0) {
        counted inner = {.grain = 1, .n = 3};
        shoal_share(c->context, 4, 3, 1, count_part, &inner);
        if (inner.wrong || inner.times[0] != 1 || inner.times[2] != 1)
            __atomic_store_n(&c->wrong, true, __ATOMIC_RELAXED);
    }
}

static void check_loop(shoal_context *context, int n_threads, long n, long grain, bool nested)
{
    static counted c;
    memset(&c, 0, sizeof c);
    c.context = context;
    c.n = n;
    c.grain = grain;
    c.nested = nested;
    shoal_share(context, n_threads, n, grain, count_part, &c);
    assert_false(c.wrong);
    for (long i = 0; i < MOST; i++)
        assert_int_equal(c.times[i], i < n);
}

static void test_every_part_once(void **state)
{
    shoal_context *context = context_of(state);
    static const long sizes[] = {0, 1, 2, 7, 64, 1000, MOST}, grains[] = {1, 3, 64, MOST};
    for (int round = 0; round < 200; round++)
        for (int threads = 1; threads <= 5; threads++)
            check_loop(context, threads, sizes[round % SHOAL_COUNT(sizes)], grains[round % SHOAL_COUNT(grains)],
                       round % 3 == 0);
    check_loop(NULL, 4, 1000, 3, true);
    for (int round = 0; round < 20000; round++) /* small ones, one upon the other */
        check_loop(context, 2 + round % 3, 4, 1, false);
    for (int round = 0; round < 20; round++) { /* the threads have gone to sleep */
        usleep(1000);
        check_loop(context, 3, 100, 1, false);
    }
}

/* ---- fork -------------------------------------------------------------------------------------------------------- */

enum { SYSTEMS = 400, CHILD_SECONDS = 60 };

/* A child that does something and says whether it went well; it is ended if it hangs. */
static void check_in_child(bool (*good)(void *user), void *user)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(CHILD_SECONDS);
        _exit(good(user) ? 0 : 1);
    }
    int how = 0;
    assert_int_equal(waitpid(child, &how, 0), child);
    if (WIFSIGNALED(how))
        fail_msg("the child hung or crashed: signal %d", WTERMSIG(how));
    assert_int_equal(WEXITSTATUS(how), 0);
}

static void fill(shoal_ensemble *ensemble)
{
    for (long system = 0; system < SYSTEMS; system++) {
        const shoal_body bodies[2] = {{.m = 1.0}, {.m = 1e-3, .x = 1 + 1e-3 * (double)system, .vy = 1.0}};
        assert_int_equal(shoal_ensemble_set_bodies(ensemble, system, 2, bodies), SHOAL_OK);
    }
}

typedef struct made {
    shoal_context *context;
    shoal_ensemble *ensemble;
    shoal_plan *plan;
    double x[SYSTEMS]; /* of the planet, in the end */
} made;

static const shoal_options options = {.engine = "cpu", .threads = 4, .t_end = 40, .dt = 0.01};

static shoal_status run(made *m)
{
    shoal_status status = shoal_plan_restart(m->plan);
    if (!status)
        status = shoal_plan_integrate(m->plan, options.t_end);
    for (long system = 0; system < SYSTEMS; system++) {
        shoal_body bodies[2];
        shoal_ensemble_get_bodies(m->ensemble, system, bodies);
        m->x[system] = bodies[1].x;
    }
    return status;
}

static bool make(made *m)
{
    if (shoal_context_create(&m->context) || shoal_ensemble_create(m->context, SYSTEMS, 2, &m->ensemble))
        return false;
    fill(m->ensemble);
    return shoal_plan_create(m->context, m->ensemble, &options, &m->plan) == SHOAL_OK && run(m) == SHOAL_OK;
}

static void unmake(made *m)
{
    shoal_plan_destroy(&m->plan);
    shoal_ensemble_destroy(&m->ensemble);
    shoal_context_destroy(&m->context);
}

/* What the parent made goes on, with the same bits; so does what the child makes; both can be destroyed. */
static bool goes_on(void *user)
{
    made *parent = user, own = {0};
    double before[SYSTEMS];
    memcpy(before, parent->x, sizeof before);
    fill(parent->ensemble);
    if (run(parent) || memcmp(before, parent->x, sizeof before) != 0)
        return false;
    const bool good = make(&own) && memcmp(before, own.x, sizeof before) == 0;
    unmake(parent);
    unmake(&own);
    return good && shoal_omp_threads(4) == 1;
}

/* OpenMP's threads have run in the parent, too; a study writes a file, in chunks that several threads compress. */
static bool runs_a_study(void *user)
{
    char file[300];
    shoal_study *study = NULL;
    shoal_context *context = NULL;
    snprintf(file, sizeof file, "output.file=\"%s/%d.h5\"", (const char *)user, (int)getpid());
    const char *overrides[] = {file, "run.t_end=20.0", "run.threads=4", "run.engine=\"cpu\""};
    const char *root = getenv("SHOAL_ROOT");
    char path[600];
    snprintf(path, sizeof path, "%s/configs/sun_jupiter_saturn.cfg", root ? root : ".");
    shoal_status status = shoal_context_create(&context);
    if (!status)
        status = shoal_study_load(context, path, 4, overrides, &study);
    if (!status)
        status = shoal_study_run(study, 1, NULL, NULL);
    if (status)
        print_message("%s\n", shoal_context_message(context));
    shoal_study_destroy(&study);
    shoal_context_destroy(&context);
    return status == SHOAL_OK;
}

static void test_fork(void **state)
{
    (void)state;
    made m = {0};
    assert_int_equal(shoal_omp_threads(4), 4);
    assert_true(make(&m));
    check_in_child(goes_on, &m);
    check_in_child(goes_on, &m); /* the parent is as it was */
    fill(m.ensemble);
    assert_int_equal(run(&m), SHOAL_OK);
    unmake(&m);
}

static void test_fork_of_a_study(void **state)
{
    (void)state;
    struct cache folder;
    cache_begin(&folder);
    assert_true(runs_a_study(folder.folder));
    check_in_child(runs_a_study, folder.folder);
    cache_end(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_part_once),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_fork_of_a_study),
    };
    return cmocka_run_group_tests_name("threads", tests, setup, teardown);
}
