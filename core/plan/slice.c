/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * slice.c: the slices of a plan: which systems move, in which order, how far.
 *
 *     set goals, request states -> begin: the states are copied, the slice starts -> the host's own work -> end
 *     end: systems that arrive at t_end -> the monitors see what is left of their run -> they have survived
 *
 * Between begin and end a GPU works while the host does something else. The host does not use the records of the moving
 * systems then. No result depends on a choice that is made here.
 *
 * Order. Lanes that run side by side should end together, since a lane that ends early idles. So the systems of a slice
 * are sorted by the number of steps that they are expected to make, the longest first, so that the last ones to start
 * are short. Numbers of steps that share a bin (OCTAVE bins for a factor of two) count as equal, and the index decides.
 * Systems that have ended or arrived are left out.
 *
 * Length. In a slice a system makes at most L steps (a fourth more where a GPU sets systems aside; any number if the
 * host has it beside a GPU).
 *
 *     G(L) = sum of min(expected, L)           steps that the slice makes
 *     H(L) = the same over whole groups of lanes: each lane counts as the longest of its group
 *     T(L) = max(L, H(L) / W)                  duration, in steps; W = lanes that keep the engine busy
 *     o                                        time lost between two slices, in steps
 *
 * L is chosen where G / (o + T) is largest, so that the others do not wait long for a few systems with many steps.
 *
 * Systems also end early, which nobody can predict. If a slice of s seconds left a fraction u of the expected steps
 * undone, a slice of S seconds loses about u S / s by this, and o / S by the time between slices. The sum is least for
 * S = sqrt(o s / u).
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/plan.h"

#define LONGEST_SECONDS 0.5  /* of a slice: short enough for progress and Ctrl-C, long enough to cost nothing */
#define LARGEST_GAP     0.02 /* s; a longer time between slices has other causes */
#define LEAST_STEPS     16
#define MOST_STEPS      1e8
#define WORTH_THREADS   8192 /* systems from which on threads share the loops over them */

enum { OCTAVE_BITS = 5, OCTAVE = 1 << OCTAVE_BITS, CLASSES = 64 * OCTAVE }; /* bins of numbers of steps */
enum { HISTORY = 64 }; /* attempts after which an adaptive system's mean step is used */

/* ---- who moves, in which order, how far -------------------------------------------------------------------------- */

/* Steps (attempts) that a system needs to its goal, estimated from the length of its steps so far. */
static double expected_steps(const shoal_plan *plan, long system)
{
    const double left = *shoal_plan_field(plan, SHOAL_SYS_TARGET, system) - shoal_plan_progress(plan, system);
    if (!plan->propagator->adaptive)
        return left;
    const double tried = *shoal_plan_field(plan, SHOAL_SYS_ATTEMPT, system),
                 elapsed = *shoal_plan_field(plan, SHOAL_SYS_ELAPSED, system);
    return fmax(1, tried >= HISTORY && elapsed > 0 ? left * (tried / elapsed)
                                                   : left / fabs(*shoal_plan_field(plan, SHOAL_SYS_DT, system)));
}

static double tried_steps(const shoal_plan *plan, long system)
{
    return *shoal_plan_field(plan, plan->propagator->adaptive ? SHOAL_SYS_ATTEMPT : SHOAL_SYS_STEP, system);
}

/* class_of: the bin of a number of steps >= 1, from the exponent and first bits of a double. class_end: the least
 * number beyond a bin. */
static int class_of(double steps)
{
    uint64_t bits;
    steps = fmin(steps, 0x1p62);
    memcpy(&bits, &steps, sizeof bits);
    return (int)(bits >> (52 - OCTAVE_BITS)) - (1023 << OCTAVE_BITS);
}

static double class_end(int bin)
{
    return ldexp(OCTAVE + 1 + bin % OCTAVE, bin / OCTAVE - OCTAVE_BITS);
}

/* Steps of the systems of a part. */
typedef struct expectation {
    double steps, all; /* made so far; expected to the goals */
    int least, most;   /* the lowest and the highest bin */
} expectation;

typedef struct find_loop {
    shoal_plan *plan;
    long part;
    expectation of[SHOAL_MOST_PARTS];
} find_loop;

static void find_part(void *user, long first, long last)
{
    find_loop *loop = user;
    shoal_plan *plan = loop->plan;
    expectation sum = {0, 0, CLASSES, -1};
    for (long i = first; i < last; i++) {
        const int system = plan->list[i];
        const bool moves = !shoal_plan_waits(plan, system);
        const double expected = moves ? expected_steps(plan, system) : 0;
        const int bin = moves ? class_of(expected) : -1;
        plan->expected[system] = expected;
        plan->tried[system] = tried_steps(plan, system);
        plan->bin[system] = (short)bin;
        sum.least = bin < sum.least ? bin : sum.least;
        sum.most = bin > sum.most ? bin : sum.most;
        sum.all += expected;
        sum.steps += *shoal_plan_field(plan, SHOAL_SYS_STEP, system);
    }
    loop->of[first / loop->part] = sum;
}

/* Find the systems of this slice, ascending. count: their number in each bin; sum: their expected steps in each bin. */
static void find_moving(shoal_plan *plan, long count[CLASSES], double sum[CLASSES])
{
    const long n = plan->n_list;
    find_loop loop = {.plan = plan, .part = shoal_part(n, WORTH_THREADS)};
    double steps = 0, all = 0;
    int least = CLASSES, most = -1;
    shoal_share(plan->context, plan->host_threads, n, loop.part, find_part, &loop);
    for (long i = 0; i * loop.part < n; i++) {
        steps += loop.of[i].steps;
        all += loop.of[i].all;
        least = loop.of[i].least < least ? loop.of[i].least : least;
        most = loop.of[i].most > most ? loop.of[i].most : most;
    }
    plan->steps_before = steps;
    memset(count, 0, CLASSES * sizeof *count);
    memset(sum, 0, CLASSES * sizeof *sum);
    plan->n_moving = 0;
    if (least == most && least >= 0) { /* all are in one bin */
        memcpy(plan->moving, plan->list, (size_t)n * sizeof *plan->list);
        plan->n_moving = count[least] = n;
        sum[least] = all;
    }
    for (long i = plan->n_moving; i < n; i++) {
        const int system = plan->list[i], bin = plan->bin[system];
        if (bin < 0)
            continue;
        plan->moving[plan->n_moving++] = system;
        count[bin]++;
        sum[bin] += plan->expected[system];
    }
}

/* The number of steps, at most `most`, after which the slice should end. */
static double choose_length(const shoal_plan *plan, const long count[CLASSES], const double sum[CLASSES], double most)
{
    int group;
    const double width = (double)plan->engine_type->width(plan->engine, &group), gap = plan->gap * plan->pace;
    double below = 0, taken = 0, best = most, most_useful = 0, last = 0;
    long above = plan->n_moving;
    for (int bin = 0; bin < CLASSES && above > 0; bin++) {
        if (count[bin] == 0)
            continue;
        const double length = fmin(class_end(bin), most);
        taken += (length - last) * (double)((above + group - 1) / group * group);
        below += fmin(sum[bin], length * (double)count[bin]);
        above -= count[bin];
        const double useful = (below + length * (double)above) / (gap + fmax(length, taken / width));
        if (useful >= most_useful * (1 - 1e-9)) {
            most_useful = useful;
            best = length;
        }
        if (length == most)
            break;
        last = length;
    }
    return fmax(1, best);
}

/* Sort the moving systems by bin, the longest first. All systems that need more steps than the slice has count as
 * equal. */
static void sort_moving(shoal_plan *plan, const long count[CLASSES], double length)
{
    const int last = class_of(length);
    long first[CLASSES], at = 0; /* the place of the next system of each bin */
    for (int bin = CLASSES - 1; bin >= last; bin--)
        at += count[bin];
    if (at == plan->n_moving || count[last] == plan->n_moving)
        return;
    first[last] = 0;
    for (int bin = last - 1; bin >= 0; bin--) {
        first[bin] = at;
        at += count[bin];
    }
    memcpy(plan->unsorted, plan->moving, (size_t)plan->n_moving * sizeof *plan->moving);
    for (long i = 0; i < plan->n_moving; i++) {
        const int system = plan->unsorted[i], bin = plan->bin[system];
        plan->moving[first[bin < last ? bin : last]++] = system;
    }
}

shoal_status shoal_plan_begin(shoal_plan *plan, bool move)
{
    long count[CLASSES];
    double sum[CLASSES];
    plan->n_moving = 0;
    shoal_status status = shoal_plan_make_states(plan);
    if (!status && move)
        find_moving(plan, count, sum);
    if (status || plan->n_moving == 0)
        return status;
    plan->length = choose_length(plan, count, sum, (double)plan->slice_steps);
    sort_moving(plan, count, plan->length);
    plan->watch_fresh = false;
    if (plan->devices.n > 1)
        status = plan->engine_type->balance(plan->engine, plan->moving, plan->n_moving, plan->expected, plan->length);
    return status
               ? status
               : plan->engine_type->launch(plan->engine, SHOAL_INTEGRATE, plan->moving, plan->n_moving, plan->length);
}

/* Choose the length of the next slice from this one, which took `seconds`. made: its steps; missed: steps that were
 * expected and not made; longest: the most steps of a system. */
static void adapt_length(shoal_plan *plan, double seconds, double made, double missed, double longest)
{
    int group;
    const double now = shoal_seconds(), width = (double)plan->engine_type->width(plan->engine, &group);
    plan->gap = fmin(fmax(now - plan->ended_at - seconds, 1e-5), LARGEST_GAP);
    plan->ended_at = now;
    plan->pace = fmax(longest, made / width) / seconds;
    const double unmade = missed / (made + missed);
    const double best = fmin(LONGEST_SECONDS, sqrt(plan->gap * seconds / fmax(unmade, 1e-12)));
    const double steps = best * plan->pace * fmin(1, width / (double)plan->n_moving);
    plan->slice_steps = (long)fmin(fmax(steps, fmax(LEAST_STEPS, 0.25 * plan->length)),
                                   fmin(8 * plan->length, MOST_STEPS));
}

/* Whether a system runs and has made its last whole step before t_end. */
static bool is_at_end(const shoal_plan *plan, int system)
{
    return *shoal_plan_field(plan, SHOAL_SYS_OUTCOME, system) == SHOAL_RUNNING && plan->goal[system] == plan->t_end &&
           shoal_plan_waits(plan, system);
}

/* Keep the systems that have come to the end, for a run that goes on beyond it. */
static shoal_status keep(shoal_plan *plan)
{
    long n = 0;
    for (long i = 0; i < plan->n_list && plan->kept; i++)
        if (is_at_end(plan, plan->list[i]))
            plan->unsorted[n++] = plan->list[i];
    return shoal_plan_keep_systems(plan, plan->unsorted, n);
}

/* Make what is left until t_end after the last whole step, which the monitors see. A system that pauses on the way
 * goes on with what its record says is left. */
static shoal_status finish(shoal_plan *plan)
{
    int *list = plan->unsorted, *paused = plan->moving;
    long n = 0, first_row[SHOAL_MAX_MONITORS];
    const long first_event = plan->n_events;
    shoal_status status = keep(plan);
    for (int l = 0; l < SHOAL_MAX_MONITORS; l++)
        first_row[l] = plan->logs[l].n_rows;
    for (long i = 0; i < plan->n_list && plan->choice.monitors; i++)
        if (is_at_end(plan, plan->list[i])) {
            (void)shoal_plan_set_state_time(plan, plan->list[i], plan->t_end);
            if (*shoal_plan_field(plan, SHOAL_SYS_PARTIAL, plan->list[i]) != 0)
                list[n++] = plan->list[i];
        }
    double *left = n > 0 ? malloc((size_t)n * sizeof *left) : NULL;
    if (n > 0 && !left)
        status = shoal_fail(plan->context, SHOAL_E_MEMORY, "out of memory for %ld systems", n);
    while (!status && n > 0) {
        long n_paused = 0;
        status = plan->engine_type->send(plan->engine, SHOAL_ARRAY_SYSTEMS);
        if (!status)
            status = plan->engine_type->launch(plan->engine, SHOAL_FINISH, list, n, 0);
        if (!status)
            status = plan->engine_type->download(plan->engine, SHOAL_ARRAY_SYSTEMS);
        plan->watch_fresh = false;
        for (long i = 0; i < n && !status; i++)
            if (*shoal_plan_field(plan, SHOAL_SYS_OUTCOME, list[i]) == SHOAL_MARKED) {
                left[n_paused] = *shoal_plan_field(plan, SHOAL_SYS_PARTIAL, list[i]);
                paused[n_paused++] = list[i];
            }
        if (!status && (plan->args.marks >= 0 || plan->args.records >= 0))
            status = shoal_plan_take_events(plan, list, n);
        n = 0;
        for (long i = 0; i < n_paused && !status; i++)
            if (is_at_end(plan, paused[i]) && left[i] != 0) {
                *shoal_plan_field(plan, SHOAL_SYS_PARTIAL, paused[i]) = left[i];
                list[n++] = paused[i];
            }
    }
    free(left);
    shoal_plan_keep_count(plan, first_event, first_row);
    return status;
}

/* Whether a running system has survived; its record is then changed. */
static bool survives(shoal_plan *plan, int system)
{
    if (!is_at_end(plan, system))
        return false;
    *shoal_plan_field(plan, SHOAL_SYS_OUTCOME, system) = SHOAL_SURVIVED;
    *shoal_plan_field(plan, SHOAL_SYS_T_STOP, system) = shoal_plan_absolute_time(plan, system, plan->t_end);
    shoal_plan_record_changed(plan); /* the engine needs the change before it returns the records again */
    return true;
}

/* The results of a slice for the systems of a part. */
typedef struct outcome {
    double made, missed, longest, steps, left;
    double slowest_left; /* the largest part of a run, 0..1, that a system has still to make */
    int slowest;         /* this system */
    long n_ended;
} outcome;

typedef struct sift_loop {
    shoal_plan *plan;
    long part;
    outcome of[SHOAL_MOST_PARTS];
} sift_loop;

static void sift_part(void *user, long first, long last)
{
    sift_loop *loop = user;
    shoal_plan *plan = loop->plan;
    outcome sum = {.longest = 1, .slowest_left = -1};
    for (long i = first; i < last; i++) {
        const int system = plan->list[i];
        const double more = tried_steps(plan, system) - plan->tried[system];
        const double end = *shoal_plan_field(plan, SHOAL_SYS_END, system),
                     to_go = end - shoal_plan_progress(plan, system);
        const bool runs = *shoal_plan_field(plan, SHOAL_SYS_OUTCOME, system) == SHOAL_RUNNING &&
                          !survives(plan, system);
        sum.steps += *shoal_plan_field(plan, SHOAL_SYS_STEP, system);
        sum.made += more;
        if (!runs || plan->bin[system] < 0 ||
            !plan->propagator->sets_aside) /* a system that is set aside is only late */
            sum.missed += fmax(0, fmin(plan->expected[system], plan->length) - more);
        sum.longest = fmax(sum.longest, fmin(more, 1.25 * plan->length)); /* the host's may be far ahead */
        plan->bin[system] = runs;
        sum.n_ended += !runs;
        if (!runs)
            continue;
        sum.left += to_go;
        if (to_go / end > sum.slowest_left) {
            sum.slowest_left = to_go / end;
            sum.slowest = system;
        }
    }
    loop->of[first / loop->part] = sum;
}

/* Systems that have ended leave the list, and the work left of the others is counted. seconds: duration of the slice,
 * 0 = there was none. */
static void sift(shoal_plan *plan, double seconds)
{
    const long n = plan->n_list;
    sift_loop loop = {.plan = plan, .part = shoal_part(n, WORTH_THREADS)};
    outcome all = {.longest = 1, .slowest_left = -1};
    long kept = 0;
    shoal_share(plan->context, plan->host_threads, n, loop.part, sift_part, &loop);
    for (long i = 0; i * loop.part < n; i++) {
        const outcome *of = &loop.of[i];
        all.made += of->made;
        all.missed += of->missed;
        all.longest = fmax(all.longest, of->longest);
        all.steps += of->steps;
        all.left += of->left;
        all.n_ended += of->n_ended;
        if (of->slowest_left > all.slowest_left) {
            all.slowest_left = of->slowest_left;
            all.slowest = of->slowest;
        }
    }
    plan->n_ended = 0;
    for (long i = 0; i < n && all.n_ended > 0; i++) {
        const int system = plan->list[i];
        if (plan->bin[system])
            plan->list[kept++] = system;
        else
            plan->ended[plan->n_ended++] = system;
    }
    plan->n_list = n - all.n_ended;
    plan->left = all.left;
    plan->slowest = all.slowest;
    plan->slowest_left = fmax(0, all.slowest_left);
    if (seconds > 0) {
        plan->system_steps += all.steps - plan->steps_before;
        adapt_length(plan, seconds, all.made, all.missed, all.longest);
    }
}

void shoal_plan_count(shoal_plan *plan)
{
    sift(plan, 0);
    plan->n_ended = 0;
}

shoal_status shoal_plan_end(shoal_plan *plan, long *n_moved)
{
    shoal_status status = SHOAL_OK;
    double seconds = 0;
    *n_moved = plan->n_moving;
    if (plan->n_moving > 0) {
        status = plan->engine_type->wait(plan->engine, &seconds);
        if (!status)
            status = plan->engine_type->download(plan->engine, SHOAL_ARRAY_SYSTEMS);
        if (!status && (plan->args.marks >= 0 || plan->args.records >= 0))
            status = shoal_plan_take_events(plan, plan->moving, plan->n_moving);
        seconds = fmax(seconds, 1e-7);
    }
    if (!status)
        status = finish(plan);
    if (status)
        return status;
    sift(plan, seconds);
    status = shoal_plan_follow(plan);
    return status ? status : shoal_tune_again(plan);
}

/* Send all systems of a part to a time. */
typedef struct goal_loop {
    shoal_plan *plan;
    double t;
} goal_loop;

static void goal_part(void *user, long first, long last)
{
    const goal_loop *loop = user;
    for (long i = first; i < last; i++)
        shoal_plan_set_goal(loop->plan, loop->plan->list[i], loop->t);
}

shoal_status shoal_plan_slice(shoal_plan *plan, double t, long *n_moved)
{
    goal_loop loop = {plan, t};
    *n_moved = 0;
    shoal_share(plan->context, plan->host_threads, plan->n_list, shoal_part(plan->n_list, WORTH_THREADS), goal_part,
                &loop);
    const shoal_status status = shoal_plan_begin(plan, true);
    return status ? status : shoal_plan_end(plan, n_moved);
}
