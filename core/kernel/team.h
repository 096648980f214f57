/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * team.h: work models of a GPU. A team is the threads that advance one system together. The text of a propagator is the
 * same for all models.
 *
 *     system      a thread has the whole system; so has a lane of a CPU
 *     body        a thread has one body, or two or four that follow each other; of ten bodies four and one of the last
 *                 two
 *     component   a thread has one coordinate of a body
 *     pair        as component, but for the forces a thread has a pair
 *
 * What a propagator sees. The text sees the bodies of its own thread. Arrays are [XYZ * n], component * n + body. XYZ
 * is 3, or 1 if a thread has only one component. The n bodies are, in this order:
 *     body 0, if the propagator's state is relative to it (PROPAGATOR_FIRST_BODY = 1: it has no slots, but every thread
 *     knows its mass);
 *     all other bodies (model `system`), or those of the thread;
 *     the tangent vectors of all these.
 * Every thread has the numbers that belong to the whole system: lengths of steps, own slots.
 *
 * What it gets from other threads. The functions below exchange numbers. They give the same bits as in the model
 * `system`. All threads of a warp call them together, so no branch on lane data may surround them. A loop around them
 * continues while team_goes_on(live), and lane_select keeps the values of finished systems.
 *
 * Where the threads are. A team of at most 32 threads lies within a warp, which holds as many teams as fit. Threads
 * that are left over mirror others and store nothing. A larger team is a block. Each team exchanges data in shared
 * memory of its own (work.c: shoal_team_doubles). If teams lie within warps, so do their barriers.
 */
#ifndef SHOAL_TEAM_H
#define SHOAL_TEAM_H

/* jit.c defines TEAM, the threads of a system. SYSTEM_ROOM(n): bodies and tangent vectors of the whole system. */
#ifdef TEAM
#define XYZ            (SHOAL_MODEL == 1 ? 3 : 1)
#define SYSTEM_ROOM(n) (TEAM_BODIES * (1 + SHOAL_VARIATIONAL))
#if TEAM_BODIES <= 10 || (TEAM_EACH == 2 && TEAM_BODIES <= 16)
#define LANE_UNROLL_TEAM _Pragma("unroll")
#elif TEAM_EACH == 1
#define LANE_UNROLL_TEAM _Pragma("unroll 4")
#else
#define LANE_UNROLL_TEAM _Pragma("unroll 1")
#endif
#else
#define TEAM             1
#define XYZ              3
#define SYSTEM_ROOM(n)   LANE_ROOM(n)
#define LANE_UNROLL_TEAM LANE_UNROLL
#endif

#if TEAM == 1

LANE_FN int team_leads(void)
{
    return 1;
}
LANE_FN mask team_any(mask m)
{
    return m;
}
LANE_FN bool team_any_beside(mask m)
{
    return lane_any_beside(m);
}
LANE_FN bool team_goes_on(mask m)
{
    return lane_any(m);
}
LANE_FN real team_max(real x)
{
    return x;
}
LANE_FN real team_min(real x)
{
    return x;
}
LANE_FN void team_sync(void) {}
LANE_FN mask team_told(mask m)
{
    return m;
}

/* The sum of t over the n bodies in their order. */
LANE_FN real team_sum(int n, const real *t)
{
    real sum = t[0];
    LANE_UNROLL
    for (int i = 1; i < n; i++)
        sum = sum + t[i];
    return sum;
}

/* The sum of t[1], t[2], ... in a fixed tree. Destroys t. */
LANE_FN real team_tree_sum(int n, real *t)
{
    return lane_tree_sum(n - 1, t + 1);
}

/* team_vector: all three components of the vector x of body i. team_component: component c of the thread, from
 * these. */
LANE_FN void team_vector(int n, int i, const real *x, real *whole)
{
    LANE_UNROLL_XYZ
    for (int c = 0; c < 3; c++)
        whole[c] = x[c * n + i];
}
LANE_FN real team_component(const real *whole, int c)
{
    return whole[c];
}

/* For loops over all bodies in their order. Each thread shows the numbers of its own bodies: team_show, as slot q, an
 * array of `components` numbers a body, with a team_sync before and after. Then it sees all bodies b < team_bodies(n):
 * team_seen. It keeps the results of the bodies that it has: team_has(b), as its body team_local(b). */
LANE_FN int team_bodies(int n)
{
    return n;
}
LANE_FN int team_body(int i)
{
    return i;
}
LANE_FN int team_has(int b)
{
    return (void)b, 1;
}
LANE_FN int team_local(int b)
{
    return b;
}
LANE_FN real team_mass(const real *m, int b)
{
    return m[b];
}
LANE_FN void team_show(int q, int components, int n, const real *x)
{
    (void)q, (void)components, (void)n, (void)x;
}
LANE_FN real team_seen(int q, int n, int c, int b, const real *x)
{
    return (void)q, x[c * n + b];
}
/* The same of component c of all three, whichever component the thread has. */
LANE_FN real team_seen_of(int q, int n, int c, int b, const real *x)
{
    return (void)q, x[c * n + b];
}

#else /* a GPU's teams */

/* jit.c also defines SHOAL_MODEL (see TEAM_OF_*), TEAM_BODIES (bodies of the system), TEAM_FIRST (the propagator's
 * PROPAGATOR_FIRST_BODY), TEAM_EACH (bodies of a thread; one in the models `component` and `pair`) and TEAM_DOUBLES
 * (shared memory of a team). */
#define TEAM_OF_BODIES  (SHOAL_MODEL == 1)
#define TEAM_OF_PAIRS   (SHOAL_MODEL == 3)
#define TEAM_PARTS      (TEAM_BODIES - TEAM_FIRST)       /* bodies with slots */
#define TEAM_BLOCKS     (TEAM_PARTS / TEAM_EACH)         /* a block is the bodies of one thread */
#define TEAM_RUN        (TEAM_EACH == 5 ? 4 : TEAM_EACH) /* bodies of a block that follow each other */
#define TEAM_OWNERS     (TEAM_BLOCKS * (XYZ == 3 ? 1 : 3))
#define TEAM_EXCHANGED  SHOAL_TEAM_EXCHANGED(SHOAL_MODEL, TEAM_BODIES, SYSTEM_ROOM(0))
#define TEAM_PAIRS_FROM SHOAL_TEAM_VECTORS(SYSTEM_ROOM(0))
#define TEAM_WARP       (TEAM <= 32)                /* a team lies within a warp */
#define TEAM_BESIDE     (TEAM_WARP ? 32 / TEAM : 1) /* teams of a warp, or of a block */

extern __shared__ double team_memory[];

LANE_FN int team_lane(void)
{
    return TEAM_WARP ? (int)(threadIdx.x & 31) : (int)threadIdx.x;
}
LANE_FN int team_seat(void)
{
    return team_lane() / TEAM;
} /* of the team in its warp; TEAM_BESIDE: the thread is left over */
LANE_FN int team_is_spare(void)
{
    return team_seat() >= TEAM_BESIDE;
}
LANE_FN int team_place(void)
{
    return team_lane() - team_seat() * TEAM;
} /* of the thread in its team */
LANE_FN int team_part(void)
{
    return team_place() % TEAM_OWNERS;
}
LANE_FN int team_owns(void)
{
    return !team_is_spare() && team_place() < TEAM_OWNERS;
}
LANE_FN int team_leads(void)
{
    return !team_is_spare() && team_place() == 0;
}
LANE_FN int team_own(void)
{
    return team_part() % TEAM_BLOCKS;
} /* the thread's block of bodies */
LANE_FN int team_axis(void)
{
    return XYZ == 3 ? 0 : team_part() / TEAM_BLOCKS;
} /* the thread's first component */
/* Bodies with slots are counted from TEAM_FIRST on: p. team_of_run: p is in the run of its block. team_number_of: the p
 * of body q of a block. team_block, team_within: the block of body p, and its place there. */
LANE_FN int team_of_run(int p)
{
    return TEAM_RUN == TEAM_EACH || p < TEAM_RUN * TEAM_BLOCKS;
}
LANE_FN int team_number_of(int block, int q)
{
    return q < TEAM_RUN ? TEAM_RUN * block + q : TEAM_RUN * TEAM_BLOCKS + block;
}
LANE_FN int team_block(int p)
{
    return team_of_run(p) ? p / TEAM_RUN : p - TEAM_RUN * TEAM_BLOCKS;
}
LANE_FN int team_within(int p)
{
    return team_of_run(p) ? p % TEAM_RUN : TEAM_RUN;
}

/* The body of the system that body i of the thread is; for tangent vectors that number + TEAM_BODIES. */
LANE_FN int team_body(int i)
{
    const int local = TEAM_FIRST + TEAM_EACH, b = i % local;
    return (i >= local ? TEAM_BODIES : 0) +
           (b >= TEAM_FIRST ? TEAM_FIRST + team_number_of(team_own(), b - TEAM_FIRST) : 0);
}

/* The system's place in the list. */
LANE_FN long long team_number(void)
{
    if (!TEAM_WARP)
        return blockIdx.x;
    return ((long long)blockIdx.x * (SHOAL_BLOCK / 32) + (threadIdx.x >> 5)) * TEAM_BESIDE + team_seat();
}

LANE_FN double *team_share(void)
{
    const int seat = team_is_spare() ? 0 : team_seat();
    return team_memory + (TEAM_WARP ? (int)(threadIdx.x >> 5) * TEAM_BESIDE + seat : 0) * TEAM_DOUBLES;
}
/* [TEAM_BODIES]; a tangent vector has the mass of its body */
LANE_FN double *team_masses(void)
{
    return team_share();
}
/* Numbers that are exchanged. Teams in the second half of a warp have them one double further on. Where all threads
 * of a team read the same number, a warp then needs one access only, since its two halves use different banks. (If a
 * half ends within a team, they always do.) */
LANE_FN double *team_numbers(void)
{
    const int skew = TEAM_WARP && TEAM % 2 == 0 && !team_is_spare() ? 2 * team_seat() / TEAM_BESIDE : 0;
    return team_share() + 2 * TEAM_BODIES + skew;
}
/* [6 * TEAM_BODIES] the view after the last step, for monitors; it shares memory with numbers that steps exchange */
LANE_FN double *team_view(void)
{
    return team_numbers();
}
LANE_FN double *team_before(void)
{
    return team_numbers() + TEAM_EXCHANGED;
} /* the view before the step, in memory of its own */

LANE_FN void team_sync(void)
{
    if (TEAM_WARP)
        __syncwarp();
    else
        __syncthreads();
}

/* The number x of the thread at a place of the team; only for teams within a warp. */
LANE_FN real team_of(real x, int place)
{
    return __shfl_sync(0xffffffffu, x, team_seat() * TEAM + place);
}

LANE_FN mask team_any(mask m)
{
    if (!TEAM_WARP)
        return __syncthreads_or(m) != 0;
    const unsigned own = TEAM == 32 ? 0xffffffffu : ((1u << (TEAM & 31)) - 1) << (team_seat() * TEAM & 31);
    return (__ballot_sync(0xffffffffu, m) & own) != 0;
}

/* Whether m holds in any team that runs beside this one: as lane_any_beside, and as lane_any for a loop that they leave
 * together. */
LANE_FN bool team_any_beside(mask m)
{
    return TEAM_WARP ? __any_sync(0xffffffffu, m && !team_is_spare()) != 0 : __syncthreads_or(m) != 0;
}
LANE_FN bool team_goes_on(mask m)
{
    return team_any_beside(m);
}

/* The leader's m, for all threads of the team. */
LANE_FN mask team_told(mask m)
{
    return team_any(m && team_leads());
}

/* team_put: a number of the thread's body b (of TEAM_EACH) to shared memory, as slot q, component c. team_of_block: the
 * number of body b of a block. team_get: that of body b, counted from TEAM_FIRST on. */
LANE_FN void team_put(int q, int c, int b, real x)
{
    if (team_owns())
        team_numbers()[(3 * q + c + team_axis()) * TEAM_PARTS + b * TEAM_BLOCKS + team_own()] = x;
}
LANE_FN real team_of_block(int q, int c, int block, int b)
{
    return team_numbers()[(3 * q + c) * TEAM_PARTS + b * TEAM_BLOCKS + block];
}
LANE_FN real team_get(int q, int c, int b)
{
    return team_of_block(q, c, team_block(b), team_within(b));
}

LANE_FN int team_bodies(int n)
{
    return (void)n, TEAM_BODIES;
}
LANE_FN int team_has(int b)
{
    return b >= TEAM_FIRST && team_block(b - TEAM_FIRST) == team_own();
}
LANE_FN int team_local(int b)
{
    return TEAM_FIRST + team_within(b - TEAM_FIRST);
}
LANE_FN real team_mass(const real *m, int b)
{
    return (void)m, team_masses()[b];
}
LANE_FN void team_show(int q, int components, int n, const real *x)
{
    LANE_UNROLL_XYZ
    for (int c = 0; c < components; c++) {
        LANE_UNROLL_FULLY
        for (int b = 0; b < TEAM_EACH; b++)
            team_put(q, c, b, x[c * n + TEAM_FIRST + b]);
    }
}
LANE_FN real team_seen(int q, int n, int c, int b, const real *x)
{
    return (void)n, (void)x, team_get(q, c + team_axis(), b - TEAM_FIRST);
}
LANE_FN real team_seen_of(int q, int n, int c, int b, const real *x)
{
    return (void)n, (void)x, team_get(q, c, b - TEAM_FIRST);
}

/* Vectors q = 0, 1, 2 of all bodies and tangent vectors, [3 * SYSTEM_ROOM], for the leader, which alone sees the whole
 * system. team_hand_in: each thread stores its bodies; team_hand_out: each reads them back; with a team_sync before and
 * after. */
LANE_FN double *team_whole(int q)
{
    return team_numbers() + 3 * q * SYSTEM_ROOM(0);
}
LANE_FN void team_hand_in(const shoal_kernel_args *k, int q, int n, const real *x)
{
    LANE_UNROLL_XYZ
    for (int c = 0; c < XYZ; c++) {
        LANE_UNROLL_XYZ
        for (int i = 0; i < n; i++)
            if (i % real_bodies(k, n) < TEAM_FIRST ? team_owns() && team_own() == 0 : team_owns())
                team_whole(q)[(c + team_axis()) * SYSTEM_ROOM(n) + team_body(i)] = x[c * n + i];
    }
}
LANE_FN void team_hand_out(int q, int n, real *x)
{
    LANE_UNROLL_XYZ
    for (int c = 0; c < XYZ; c++) {
        LANE_UNROLL_XYZ
        for (int i = 0; i < n; i++)
            x[c * n + i] = team_whole(q)[(c + team_axis()) * SYSTEM_ROOM(n) + team_body(i)];
    }
}

/* Combine a number of each thread in a tree, neighbours first, the lower one first, which does not matter for a sum.
 * Every thread gets the result. The last group of a level is alone if their number is odd. */
#define TEAM_TREE(name, own, count, COMBINE, of_shared)                           \
    LANE_FN real name(real x)                                                     \
    {                                                                             \
        const int first = team_part() - (own);                                    \
        if (!TEAM_WARP) {                                                         \
            team_sync();                                                          \
            team_put(0, 0, 0, x);                                                 \
            team_sync();                                                          \
            return of_shared(team_numbers() + first, count);                      \
        }                                                                         \
        LANE_UNROLL_XYZ                                                           \
        for (int stride = 1; stride < (count); stride *= 2) {                     \
            const int other = ((own) & ~(stride - 1)) ^ stride;                   \
            const bool paired = ((count)-1) / stride % 2 == 1 || other < (count); \
            const real y = team_of(x, first + (paired ? other : (own)));          \
            x = paired ? COMBINE((own)&stride, x, y) : x;                         \
        }                                                                         \
        return x;                                                                 \
    }
#define TEAM_ADD(after, x, y) ((x) + (y))
#define TEAM_MAX(after, x, y) lane_max((after) ? (y) : (x), (after) ? (x) : (y))
#define TEAM_MIN(after, x, y) lane_min((after) ? (y) : (x), (after) ? (x) : (y))

LANE_FN real team_tree_shared(const double *t, int count)
{
    real level[12]; /* the sum of the last complete group of 1, 2, 4, ... numbers */
    LANE_KEEP_ROLLED
    for (int b = 0; b < count; b++) {
        real sum = t[b];
        int height = 0;
        for (; b >> height & 1; height++)
            sum = level[height] + sum;
        level[height] = sum;
    }
    int height = 0;
    while (!(count >> height & 1))
        height++;
    real sum = level[height];
    for (height++; count >> height; height++)
        if (count >> height & 1)
            sum = level[height] + sum;
    return sum;
}

LANE_FN real team_max_shared(const double *t, int count)
{
    real most = t[0];
    LANE_KEEP_ROLLED
    for (int b = 1; b < count; b++)
        most = lane_max(most, t[b]);
    return most;
}

LANE_FN real team_min_shared(const double *t, int count)
{
    real least = t[0];
    LANE_KEEP_ROLLED
    for (int b = 1; b < count; b++)
        least = lane_min(least, t[b]);
    return least;
}

TEAM_TREE(team_tree, team_own(), TEAM_BLOCKS, TEAM_ADD, team_tree_shared)
TEAM_TREE(team_max, team_part(), TEAM_OWNERS, TEAM_MAX, team_max_shared)
TEAM_TREE(team_min, team_part(), TEAM_OWNERS, TEAM_MIN, team_min_shared)

LANE_FN real team_tree_sum(int n, real *t)
{
    (void)n;
    const real run = team_tree(lane_tree_sum(TEAM_RUN, t + TEAM_FIRST));
    return TEAM_EACH == TEAM_RUN ? run : run + team_tree(t[TEAM_FIRST + TEAM_RUN]);
}

LANE_FN real team_sum(int n, const real *t)
{
    real sum = t[0];
    team_sync();
    LANE_UNROLL_FULLY
    for (int b = 0; b < TEAM_EACH; b++)
        team_put(0, 0, b, t[n - TEAM_EACH + b]);
    team_sync();
    if (TEAM_FIRST == 0)
        sum = team_get(0, team_axis(), 0);
    _Pragma("unroll 8") for (int i = 1 - TEAM_FIRST; i < TEAM_PARTS; i++) sum = sum + team_get(0, team_axis(), i);
    return sum;
}

LANE_FN void team_vector(int n, int i, const real *x, real *whole)
{
    if (XYZ == 3) {
        for (int c = 0; c < 3; c++)
            whole[c] = x[c * n + i];
        return;
    }
    team_sync();
    team_put(0, 0, 0, x[i]);
    team_sync();
    for (int c = 0; c < 3; c++)
        whole[c] = team_get(0, c, team_own());
}

LANE_FN real team_component(const real *whole, int c)
{
    if (XYZ == 3)
        return whole[c];
    const int axis = team_axis();
    return axis == 0 ? whole[0] : axis == 1 ? whole[1] : whole[2];
}

#endif /* model */

/* |x|^2 of body i. */
LANE_FN real team_square(int n, int i, const real *x)
{
    real whole[3];
    team_vector(n, i, x, whole);
    return lane_fma(whole[2], whole[2], lane_fma(whole[1], whole[1], whole[0] * whole[0]));
}

/* The square below which a body's acceleration x does not count in the choice of a step. Where pulls nearly cancel,
 * what is left is rounding, which shorter steps do not reduce. Its differences divided by powers of the step grow,
 * so a step chosen by them would fall to nothing. This happens between the stars of a binary and at Euler's and
 * Lagrange's points: below 2^-36 of the largest acceleration (Gauss-Radau, Hermite of order 4), or 2^-24 (order 6). */
LANE_FN real team_least_square(int bodies, int n, const real *x)
{
    real most = lane_set(0.0);
    LANE_UNROLL_GPU
    for (int i = 0; i < bodies; i++)
        most = lane_max(team_square(n, i, x), most); /* not a number: not greater */
    return lane_set(0x1p-48) * team_max(most);
}
#endif
