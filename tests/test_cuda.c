/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_cuda.c: the CUDA engine.
 *
 * With NVRTC alone: every kernel compiles without a warning for sm_80 and sm_90 (registers and spills go to standard
 * output and to cuda_registers.txt beside this program); the kernel cache. With a GPU: CPU against CUDA, and that a
 * system's result does not depend on where it is, on how the run is sliced, or on its neighbours.
 *
 * What is missing skips a test with its reason; with SHOAL_TEST_GPU=1 a missing GPU is a failure.
 * SHOAL_TEST_NAME=PATTERN: those tests alone.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "systems.h"

/* ---- what is there ----------------------------------------------------------------------------------------------- */

static void need_compiler(void)
{
    const char *missing = shoal_jit_missing();
    if (missing) {
        print_message("%s\n", missing);
        skip();
    }
}

/* The folder of this program. */
static void program_folder(char *path, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", path, size - 1);
    assert_true(length > 0);
    path[length] = '\0';
    *strrchr(path, '/') = '\0';
}

static int monitor_bits(void)
{
    int n = 0;
    while (shoal_plugs_of(NULL)->monitors[n])
        n++;
    return (1 << n) - 1;
}

/* ---- compiling --------------------------------------------------------------------------------------------------- */

static void compile_and_record(shoal_context *context, FILE *table, const shoal_propagator *propagator, int n_bodies,
                               int monitors, int arch)
{
    static const int sets[] = {1 << SHOAL_INTEGRATE, SHOAL_ONCE_ENTRIES, SHOAL_ASIDE_ENTRIES};
    shoal_kernel_choice choice = {
        .propagator = propagator, .n_bodies = n_bodies, .n_massive = n_bodies, .monitors = monitors};
    for (int set = 0; set < SHOAL_COUNT(sets) - !propagator->sets_aside; set++) {
        const int entry = (int[]){SHOAL_INTEGRATE, SHOAL_SNAPSHOT, SHOAL_SUBSTEPS}[set];
        shoal_cubin cubin;
        assert_ok(context, shoal_jit_compile(context, &choice, sets[set], arch, 0, &cubin));
        if (cubin.log[0])
            fail_msg("%s, %d bodies, sm_%d: the compiler says: %s", propagator->name, n_bodies, arch, cubin.log);
        assert_true(cubin.size > 0);
        for (int i = 0; i < SHOAL_KERNEL_ENTRIES; i++) {
            const shoal_kernel_usage *usage = &cubin.usage[i];
            if (!(sets[set] >> i & 1))
                continue;
            assert_in_range(usage->registers, 1, 255);
            fprintf(table, "%-10s %6d 0x%02x sm_%d %-16s %9d %11d %11d\n", propagator->name, n_bodies,
                    (unsigned)monitors, arch, shoal_kernel_entry_name(i), usage->registers, usage->stack_bytes,
                    usage->spill_bytes);
        }
        print_message("%-10s n %d monitors 0x%02x sm_%d %s: %3d registers, %5d bytes spilled, %.2f s%s\n",
                      propagator->name, n_bodies, (unsigned)monitors, arch,
                      set == 1 ? "prepare, snapshot" : shoal_kernel_entry_name(entry), cubin.usage[entry].registers,
                      cubin.usage[entry].spill_bytes, cubin.seconds, cubin.cached ? " (cache)" : "");
        shoal_cubin_release(&cubin);
    }
}

/* What an option has no room for is not in the hash either, by which the cache would take another one's kernel. */
static void options_that_are_cut_off_are_refused(void **state)
{
    shoal_context *context = context_of(state);
    need_compiler();
    struct cache cache;
    cache_begin(&cache);
    char fits[96 - 2], longer[96];
    memset(fits, 'A', sizeof fits);
    fits[sizeof fits - 1] = '\0'; /* with "-D" the 95 characters that there is room for */
    snprintf(longer, sizeof longer, "%sB", fits);
    const char *const right[] = {fits, NULL}, *const wrong[] = {longer, NULL};
    const char *many[40] = {NULL};
    for (int i = 0; i < SHOAL_COUNT(many) - 1; i++)
        many[i] = "A=1";
    shoal_cubin cubin;
    /* the text alone compiles to nothing: no kernel is asked for */
    assert_ok(context, shoal_jit_text(context, "core/kernel/aside.h", right, 90, 0, &cubin));
    shoal_cubin_release(&cubin);
    assert_int_equal(shoal_jit_text(context, "core/kernel/aside.h", wrong, 90, 0, &cubin), SHOAL_E_INTERNAL);
    assert_non_null(strstr(shoal_context_message(context), "95 characters"));
    assert_int_equal(shoal_jit_text(context, "core/kernel/aside.h", many, 90, 0, &cubin), SHOAL_E_INTERNAL);
    assert_non_null(strstr(shoal_context_message(context), "32 options"));
    cache_end(&cache);
}

/* All monitors with a propagator of each kind, the others with one that looks within a step; those with a short step
 * for more body counts: without monitors, with the one that every stability study has, with all. The row of an
 * architecture and a set of monitors says for which body counts; what takes longest is looked at least. No text depends
 * on the architecture: the older one has no monitors. */
static void every_kernel_compiles(void **state)
{
    const int ejection = 1 << shoal_monitor_find(NULL, "stop_on_ejection"),
              collision = 1 << shoal_monitor_find(NULL, "stop_on_collision"), all = monitor_bits();
    const struct {
        int arch, monitors;
        int n_bodies[8];
        const char *propagators; /* NULL = those that are in no row above */
    } rows[] = {
        {90, all, {3}, "hermite4 hybrid gauss_radau"}, {90, collision, {3}, NULL},
        {90, 0, {2, 5}, "hermite4 leapfrog mvs"},      {90, ejection, {3, 9}, "hermite4 leapfrog mvs"},
        {80, 0, {2}, "hermite4 leapfrog mvs"},         {90, all, {9}, "mvs"},
    };
    char path[1024], folder[900];
    need_compiler();
    program_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/cuda_registers.txt", folder);
    FILE *table = fopen(path, "w");
    assert_non_null(table);
    fprintf(table, "# propagator bodies monitors arch kernel registers stack_bytes spill_bytes\n");
    for (int p = 0; shoal_plugs_of(NULL)->propagators[p]; p++) {
        const shoal_propagator *propagator = shoal_plugs_of(NULL)->propagators[p];
        bool seen = false;
        for (int row = 0; row < SHOAL_COUNT(rows); row++) {
            const char *names = rows[row].propagators, *at = names ? strstr(names, propagator->name) : NULL;
            const size_t length = strlen(propagator->name);
            if (names ? !(at && (at == names || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) : seen)
                continue;
            seen = true;
            for (int i = 0; rows[row].n_bodies[i]; i++)
                compile_and_record(context_of(state), table, propagator, rows[row].n_bodies[i], rows[row].monitors,
                                   rows[row].arch);
        }
    }
    assert_int_equal(fclose(table), 0);
}

/* The other constants of a choice: compensated sums, rows, the bare loop, tangent vectors. */
static void other_choices_compile(void **state)
{
    shoal_context *context = context_of(state);
    need_compiler();
    for (int p = 0; shoal_plugs_of(NULL)->propagators[p]; p++) {
        shoal_kernel_choice choice = {.propagator = shoal_plugs_of(NULL)->propagators[p],
                                      .n_bodies = 3,
                                      .form = SHOAL_FORM_ROWS,
                                      .n_massive = 2,
                                      .compensated = 1};
        const int loop = choice.propagator->tangent ? 0 : 1 << SHOAL_INTEGRATE; /* or with tangent vectors, below */
        shoal_cubin cubin;
        assert_ok(context,
                  shoal_jit_compile(context, &choice, SHOAL_ONCE_ENTRIES | 1 << SHOAL_BARE | loop, 90, 0, &cubin));
        assert_string_equal(cubin.log, "");
        assert_in_range(cubin.usage[SHOAL_BARE].registers, 1, 255);
        shoal_cubin_release(&cubin);
        if (loop)
            continue;
        choice.variational = 1;
        choice.monitors = 1 << shoal_monitor_find(NULL, "megno");
        choice.forces = 1 << shoal_force_find(NULL, "gr_potential");
        const int sets[] = {SHOAL_ONCE_ENTRIES | 1 << SHOAL_INTEGRATE, SHOAL_ASIDE_ENTRIES};
        for (int set = 0; set < SHOAL_COUNT(sets) - !choice.propagator->sets_aside; set++) {
            assert_ok(context, shoal_jit_compile(context, &choice, sets[set], 90, 0, &cubin));
            assert_string_equal(cubin.log, "");
            shoal_cubin_release(&cubin);
        }
    }
}

/* All extra forces at once, where the state is meant to be in registers and where it is not; test particles. */
static void forces_compile(void **state)
{
    static const struct {
        const char *propagator;
        int n_bodies, form, n_massive;
    } rows[] = {{"hermite4", 3, SHOAL_FORM_PAIRS, 3},
                {"mvs", 3, SHOAL_FORM_PAIRS, 3},
                {"leapfrog", 13, SHOAL_FORM_ROWS, 3},
                {"saba", 3, SHOAL_FORM_PAIRS, 3}};
    shoal_context *context = context_of(state);
    int all = 0;
    need_compiler();
    for (int f = 0; shoal_plugs_of(NULL)->forces[f]; f++)
        all |= 1 << f;
    for (int row = 0; row < SHOAL_COUNT(rows); row++)
        for (int set = 0; set < 2; set++) {
            const shoal_kernel_choice choice = {.propagator = shoal_propagator_find(NULL, rows[row].propagator),
                                                .n_bodies = rows[row].n_bodies,
                                                .forces = all,
                                                .form = rows[row].form,
                                                .n_massive = rows[row].n_massive};
            shoal_cubin cubin;
            const int entries = set ? SHOAL_ONCE_ENTRIES : 1 << SHOAL_INTEGRATE;
            assert_ok(context, shoal_jit_compile(context, &choice, entries, 90, 0, &cubin));
            print_message("%-10s n %2d all forces %s: %3d registers, %d bytes of stack, %.2f s%s\n",
                          rows[row].propagator, rows[row].n_bodies, set ? "prepare, snapshot" : "integrate",
                          cubin.usage[set ? SHOAL_SNAPSHOT : SHOAL_INTEGRATE].registers,
                          cubin.usage[set ? SHOAL_SNAPSHOT : SHOAL_INTEGRATE].stack_bytes, cubin.seconds,
                          cubin.cached ? " (cache)" : "");
            assert_string_equal(cubin.log, "");
            shoal_cubin_release(&cubin);
        }
}

static void compile_errors_say_what_and_where(void **state)
{
    shoal_context *context = context_of(state);
    need_compiler();
    shoal_propagator unknown = *shoal_plugs_of(NULL)->propagators[0];
    unknown.name = "no_such_propagator";
    shoal_kernel_choice choice = {.propagator = &unknown, .n_bodies = 3, .n_massive = 3};
    shoal_cubin cubin;
    assert_int_equal(shoal_jit_compile(context, &choice, 1 << SHOAL_INTEGRATE, 90, 0, &cubin), SHOAL_E_DEVICE);
    const char *message = shoal_context_message(context);
    assert_non_null(strstr(message, "no_such_propagator.kern.h"));
    assert_non_null(strstr(message, "NVRTC_ERROR_COMPILATION"));
    assert_null(strchr(message, '\n'));
    assert_null(cubin.image);
    shoal_cubin_release(&cubin);
}

static void a_missing_compiler_is_named(void **state)
{
    shoal_context *context = context_of(state);
    shoal_kernel_choice choice = {.propagator = shoal_plugs_of(NULL)->propagators[0], .n_bodies = 2, .n_massive = 2};
    shoal_cubin cubin;
    setenv("SHOAL_NVRTC", "/nonexistent/libnvrtc.so", 1);
    shoal_status status = shoal_jit_compile(context, &choice, 1 << SHOAL_INTEGRATE, 90, 0, &cubin);
    const char *missing = shoal_jit_missing();
    unsetenv("SHOAL_NVRTC");
    assert_int_equal(status, SHOAL_E_UNSUPPORTED);
    assert_non_null(missing);
    assert_non_null(strstr(shoal_context_message(context), "libnvrtc.so"));
}

/* ---- the cache --------------------------------------------------------------------------------------------------- */

/* It holds this file, or "" for none, and nothing else: no temporary file is left. */
static void cache_end_with(struct cache *cache, const char *file)
{
    char path[300];
    cache_leave(cache);
    snprintf(path, sizeof path, "%s/shoal", cache->folder);
    if (*file)
        assert_int_equal(unlink(file), 0);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(cache->folder), 0);
}

/* Compile the smallest kernel. */
static shoal_cubin compile_small(shoal_context *context)
{
    shoal_kernel_choice choice = {.propagator = shoal_propagator_find(NULL, "leapfrog"), .n_bodies = 2, .n_massive = 2};
    shoal_cubin cubin;
    assert_ok(context, shoal_jit_compile(context, &choice, 1 << SHOAL_INTEGRATE, 90, 0, &cubin));
    return cubin;
}

static void second_compile_comes_from_the_cache(void **state)
{
    struct cache cache;
    struct stat status;
    char folder[300];
    need_compiler();
    cache_begin(&cache);
    shoal_cubin first = compile_small(context_of(state)), second = compile_small(context_of(state));
    assert_false(first.cached);
    assert_true(second.cached);
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.image, second.image, first.size);
    assert_memory_equal(first.usage, second.usage, sizeof first.usage);
    assert_string_equal(first.file, second.file);
    snprintf(folder, sizeof folder, "%s/shoal", cache.folder);
    assert_int_equal(stat(folder, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    assert_int_equal(stat(first.file, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);

    /* another block size is another kernel */
    setenv("SHOAL_CUDA_BLOCK", "64", 1);
    shoal_cubin other = compile_small(context_of(state));
    unsetenv("SHOAL_CUDA_BLOCK");
    assert_false(other.cached);
    assert_int_equal(other.block, 64);
    assert_string_not_equal(other.file, first.file);
    assert_int_equal(unlink(other.file), 0);
    cache_end_with(&cache, first.file);
    shoal_cubin_release(&first);
    shoal_cubin_release(&second);
    shoal_cubin_release(&other);
}

static void a_damaged_file_is_compiled_anew(void **state)
{
    struct cache cache;
    need_compiler();
    cache_begin(&cache);
    shoal_cubin first = compile_small(context_of(state));
    for (int damage = 0; damage < 4; damage++) {
        if (damage == 0) { /* a flipped bit in the middle of the code */
            FILE *file = fopen(first.file, "r+b");
            assert_non_null(file);
            fseek(file, -(long)first.size / 2, SEEK_END);
            int byte = fgetc(file);
            fseek(file, -1, SEEK_CUR);
            fputc(byte ^ 1, file);
            assert_int_equal(fclose(file), 0);
        } else { /* cut off: the end, within the head, everything */
            const off_t lengths[] = {0, (off_t)first.size, 20, 0};
            assert_int_equal(truncate(first.file, lengths[damage]), 0);
        }
        shoal_cubin again = compile_small(context_of(state)), last = compile_small(context_of(state));
        assert_false(again.cached);
        assert_true(last.cached);
        assert_int_equal(last.size, first.size);
        assert_memory_equal(last.image, first.image, first.size);
        shoal_cubin_release(&again);
        shoal_cubin_release(&last);
    }
    cache_end_with(&cache, first.file);
    shoal_cubin_release(&first);
}

static void an_unusable_cache_is_no_error(void **state)
{
    struct cache cache;
    char folder[300];
    need_compiler();
    cache_begin(&cache);
    /* others could put code there */
    snprintf(folder, sizeof folder, "%s/shoal", cache.folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(chmod(folder, 0777), 0);
    shoal_cubin shared = compile_small(context_of(state));
    assert_string_equal(shared.file, "");
    assert_false(shared.cached);
    shoal_cubin_release(&shared);
    /* nobody can write there */
    setenv("XDG_CACHE_HOME", "/proc/nonexistent", 1);
    shoal_cubin unwritable = compile_small(context_of(state));
    assert_string_equal(unwritable.file, "");
    shoal_cubin_release(&unwritable);
    cache_end_with(&cache, "");
}

static void info_says_what_is_there(void **state)
{
    char *text = NULL;
    size_t size = 0;
    (void)state;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    shoal_engine_cuda_info(out);
    fclose(out);
    print_message("%s", text);
    assert_non_null(strstr(text, "cuda: "));
    assert_non_null(strstr(text, "compiler: "));
    free(text);
}

/* ---- on a GPU ---------------------------------------------------------------------------------------------------- */

/* A quiet planetary system: innermost period near 2 pi. Every fourth has a more eccentric innermost orbit. */
static void quiet_system(shoal_context *context, long id, int n, shoal_body *bodies)
{
    shoal_orbit orbit[16];
    memset(orbit, 0, sizeof orbit);
    memset(bodies, 0, (size_t)n * sizeof *bodies);
    bodies[0].m = 1.0 + 0.2 * uniform(id, 0);
    for (int i = 1; i < n; i++) {
        bodies[i].m = 1e-5 + 3e-4 * uniform(id, 8 * i);
        orbit[i].a = pow(1.7, i - 1) * (1.0 + 0.02 * uniform(id, 8 * i + 1));
        orbit[i].e = (i == 1 && id % 4 == 0 ? 0.3 : 0.05) * uniform(id, 8 * i + 2); /* neighbours of unequal effort */
        orbit[i].inc = 0.05 * uniform(id, 8 * i + 3);
        orbit[i].Omega = TWO_PI * uniform(id, 8 * i + 4);
        orbit[i].omega = TWO_PI * uniform(id, 8 * i + 5);
        orbit[i].f = TWO_PI * uniform(id, 8 * i + 6);
    }
    assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_JACOBI, n, orbit, bodies));
}

/* One of three fates: quiet, a planet on its way out, two planets about to meet. */
static void doomed_system(shoal_context *context, long id, int n, shoal_body *bodies)
{
    quiet_system(context, id, n, bodies);
    if (id % 3 == 1) {
        const double faster = 1.5 + 0.3 * uniform(id, 100);
        bodies[1].vx *= faster;
        bodies[1].vy *= faster;
        bodies[1].vz *= faster;
    } else if (id % 3 == 2) {
        shoal_orbit orbit[16];
        assert_ok(context, shoal_orbits_from_bodies(context, SHOAL_ASTROCENTRIC, n, bodies, orbit));
        const double longitude = orbit[1].Omega + orbit[1].omega + orbit[1].f;
        orbit[2] = orbit[1];
        orbit[1].e = orbit[2].e = 0.0;
        orbit[2].a = orbit[1].a * 1.07; /* 1.7 Hill radii: nearer ones are horseshoes and never meet */
        orbit[1].inc = orbit[2].inc = 0.0;
        orbit[1].Omega = orbit[2].Omega = orbit[1].omega = orbit[2].omega = 0.0;
        orbit[1].f = longitude;
        orbit[2].f = longitude + 0.2 + 0.3 * uniform(id, 101);
        bodies[1].m = bodies[2].m = 1e-4;
        assert_ok(context, shoal_bodies_from_orbits(context, SHOAL_ASTROCENTRIC, n, orbit, bodies));
    }
}

struct setup {
    const char *engine, *propagator;
    int n;
    long n_systems;
    bool shuffled;    /* systems in another order */
    int n_calls;      /* t_end is reached in so many calls */
    long slice_steps; /* length of the first slice, 0 = as the plan likes */
    long broken;      /* id of a system with a velocity that is no number, -1 = none */
    bool watched;     /* ends by ejection and encounter */
    bool crowded;     /* has encounters, and goes on */
    int threads;      /* of the host, 0 = as many as there are */
};

struct outcome {
    shoal_body *bodies;    /* [id][n] */
    shoal_system *systems; /* [id] */
    long n_led;            /* that the host took for a slice */
};

static void outcome_release(struct outcome *outcome)
{
    free(outcome->bodies);
    free(outcome->systems);
}

/* Ten orbits of the innermost planet, a hundred steps each, and a bit of a step. */
static struct outcome integrate(shoal_context *context, struct setup setup)
{
    const shoal_setting far = {.name = "r_max", .value = 15.0};
    const shoal_plug_options monitors[] = {
        {.name = "stop_on_ejection", .settings = &far, .n_settings = 1},
        {.name = "stop_on_encounter"},
    };
    const double t_end = 10.003 * TWO_PI;
    const shoal_options options = {
        .propagator = setup.propagator,
        .engine = setup.engine,
        .threads = setup.threads,
        .monitors = setup.watched ? monitors : NULL,
        .n_monitors = setup.watched ? SHOAL_COUNT(monitors) : 0,
        .t_end = t_end,
        .dt = TWO_PI / 100.0,
    };
    shoal_ensemble *ensemble = NULL;
    shoal_plan *plan = NULL;
    struct outcome outcome = {
        calloc((size_t)(setup.n_systems * setup.n), sizeof(shoal_body)),
        calloc((size_t)setup.n_systems, sizeof(shoal_system)),
        0,
    };
    assert_non_null(outcome.bodies);
    assert_non_null(outcome.systems);
    assert_ok(context, shoal_ensemble_create(context, setup.n_systems, setup.n, &ensemble));
    for (long s = 0; s < setup.n_systems; s++) {
        const long id = setup.shuffled ? (s * 7919 + 131) % setup.n_systems : s;
        shoal_body bodies[16];
        if (setup.watched || setup.crowded)
            doomed_system(context, id, setup.n, bodies);
        else
            quiet_system(context, id, setup.n, bodies);
        shoal_system record = {.id = id, .dt = options.dt};
        shoal_ensemble_set_system(ensemble, s, &record);
        assert_ok(context, shoal_ensemble_set_bodies(ensemble, s, setup.n, bodies));
        if (id == setup.broken)
            *shoal_ensemble_body(ensemble, 1, SHOAL_VX, s) = NAN;
    }
    assert_ok(context, shoal_plan_create(context, ensemble, &options, &plan));
    if (setup.slice_steps)
        plan->slice_steps = setup.slice_steps;
    for (int i = 1; i <= setup.n_calls; i++)
        assert_ok(context, shoal_plan_integrate(plan, i == setup.n_calls ? t_end : t_end * (i - 0.37) / setup.n_calls));
    for (long s = 0; s < setup.n_systems; s++) {
        shoal_system record;
        shoal_ensemble_get_system(ensemble, s, &record);
        assert_in_range(record.id, 0, setup.n_systems - 1);
        outcome.systems[record.id] = record;
        shoal_ensemble_get_bodies(ensemble, s, outcome.bodies + record.id * setup.n);
    }
    if (strcmp(setup.engine, "cuda") == 0)
        outcome.n_led = shoal_engine_cuda_led(plan->engine);
    shoal_plan_destroy(&plan);
    shoal_ensemble_destroy(&ensemble);
    return outcome;
}

static double length3(double x, double y, double z)
{
    return sqrt(x * x + y * y + z * z);
}

/* The largest relative difference of a position or velocity vector, and how many doubles differ; what is no number
 * is so, whatever its bits. */
static double difference(const shoal_body *a, const shoal_body *b, long n_systems, int n, long *n_differ)
{
    double largest = 0.0;
    *n_differ = 0;
    for (long i = 0; i < n_systems * n; i++) {
        const double *x = &a[i].x, *y = &b[i].x;
        for (int c = 0; c < 6; c++)
            *n_differ += memcmp(&x[c], &y[c], sizeof *x) != 0 && !(isnan(x[c]) && isnan(y[c]));
        for (int c = 0; c < 6; c += 3) {
            /* body 0 moves little: its error counts against the size of the system */
            double scale = fmax(length3(x[c], x[c + 1], x[c + 2]), i % n == 0 ? 1e-3 : 0.0);
            double error = length3(x[c] - y[c], x[c + 1] - y[c + 1], x[c + 2] - y[c + 2]) / scale;
            if (!(error <= largest))
                largest = error;
        }
    }
    return largest;
}

static void cpu_and_cuda_agree(void **state)
{
    need_gpu();
    for (int p = 0; shoal_plugs_of(NULL)->propagators[p]; p++)
        for (int n = 3; n <= 5; n += 2) {
            struct setup setup = {
                "cpu", shoal_plugs_of(NULL)->propagators[p]->name, n, 1000, false, 1, 0, -1, false, false, 0};
            struct outcome cpu = integrate(context_of(state), setup);
            setup.engine = "cuda";
            struct outcome cuda = integrate(context_of(state), setup);
            long n_differ;
            double largest = difference(cpu.bodies, cuda.bodies, setup.n_systems, n, &n_differ);
            print_message("%-10s n %d: CPU and CUDA after 10 orbits: largest relative difference %.2g, %ld of %ld "
                          "doubles differ\n",
                          setup.propagator, n, largest, n_differ, setup.n_systems * n * 6);
            assert_true(largest <= 1e-11);
            for (long s = 0; s < setup.n_systems; s++) {
                assert_int_equal(cuda.systems[s].outcome, SHOAL_SURVIVED);
                assert_true(cuda.systems[s].n_steps == cpu.systems[s].n_steps);
                assert_true(cuda.systems[s].time == cpu.systems[s].time);
            }
            outcome_release(&cpu);
            outcome_release(&cuda);
        }
}

static void cuda_bits_depend_on_the_system_alone(void **state)
{
    need_gpu();
    for (int p = 0; shoal_plugs_of(NULL)->propagators[p]; p++) {
        const struct setup plain = {
            "cuda", shoal_plugs_of(NULL)->propagators[p]->name, 3, 1000, false, 1, 0, -1, false, false, 0};
        struct setup variants[] = {plain, plain, plain, plain};
        variants[1].shuffled = true;
        variants[2].slice_steps = 7;
        variants[3].n_calls = 5;
        struct outcome first = integrate(context_of(state), plain);
        for (int i = 0; i < SHOAL_COUNT(variants); i++) {
            struct outcome other = integrate(context_of(state), variants[i]);
            long n_differ;
            difference(first.bodies, other.bodies, plain.n_systems, plain.n, &n_differ);
            if (n_differ)
                fail_msg("%s: %ld doubles differ in variant %d", plain.propagator, n_differ, i);
            outcome_release(&other);
        }
        outcome_release(&first);
    }
}

/* A variant of a run, of its first systems, that must end in the same numbers as `first`. Returns how many systems the
 * host led. */
static long integrate_the_same(shoal_context *context, const struct outcome *first, struct setup setup, int variant)
{
    struct outcome other = integrate(context, setup);
    long n_differ;
    difference(first->bodies, other.bodies, setup.n_systems, setup.n, &n_differ);
    for (long s = 0; s < setup.n_systems; s++)
        n_differ += other.systems[s].outcome != first->systems[s].outcome ||
                    other.systems[s].n_steps != first->systems[s].n_steps;
    if (n_differ)
        fail_msg("%ld numbers differ in variant %d", n_differ, variant);
    outcome_release(&other);
    return other.n_led;
}

/* So many that they are in parts, whose slices are in pieces. */
static void slices_in_pieces_lose_nothing(void **state)
{
    need_gpu();
    static const char *const propagators[] = {"mvs", "hermite4_adaptive"};
    for (int p = 0; p < SHOAL_COUNT(propagators); p++) {
        const struct setup plain = {.engine = "cuda",
                                    .propagator = propagators[p],
                                    .n = 3,
                                    .n_systems = 10000,
                                    .n_calls = 1,
                                    .slice_steps = 1010,
                                    .broken = -1};
        struct setup variants[] = {plain, plain, plain};
        variants[0].slice_steps = 30; /* a piece each */
        variants[1].shuffled = true;
        variants[2].n_systems = 20; /* a part */
        struct outcome first = integrate(context_of(state), plain);
        for (int i = 0; i < SHOAL_COUNT(variants); i++)
            (void)integrate_the_same(context_of(state), &first, variants[i], i);
        outcome_release(&first);
    }
}

/* So many that they are in parts, each of which goes on in rounds. Systems with encounters are late in a round, and
 * lose nothing. */
static void systems_set_aside_catch_up(void **state)
{
    need_gpu();
    const struct setup plain = {.engine = "cuda",
                                .propagator = "hybrid",
                                .n = 3,
                                .n_systems = 50000,
                                .n_calls = 1,
                                .broken = -1,
                                .crowded = true};
    struct setup variants[] = {plain, plain, plain, plain};
    variants[0].n_calls = 7;
    variants[1].slice_steps = 3;
    variants[2].shuffled = true;
    variants[3].n_systems = 777;
    struct outcome first = integrate(context_of(state), plain);
    long survived = 0;
    for (long s = 0; s < plain.n_systems; s++)
        survived += first.systems[s].outcome == SHOAL_SURVIVED;
    assert_true(survived > plain.n_systems - 20); /* bodies are points: some meet too closely for numbers */
    for (int i = 0; i < SHOAL_COUNT(variants); i++) {
        (void)integrate_the_same(context_of(state), &first, variants[i], i);
    }
    outcome_release(&first);
}

/* Those that are in encounters for long, here for two turns or seven, go on beside the GPU, on one thread or
 * several. */
static void hosted_systems_lose_nothing(void **state)
{
    need_gpu();
    const struct setup plain = {.engine = "cuda",
                                .propagator = "hybrid",
                                .n = 3,
                                .n_systems = 3000,
                                .n_calls = 3,
                                .broken = -1,
                                .crowded = true};
    static const char *const turns[] = {"1000000000", "2", "7", "2", "7", "2"};
    struct setup setups[SHOAL_COUNT(turns)] = {plain, plain, plain, plain, plain, plain};
    struct outcome first = {0};
    setups[1].threads = setups[2].threads = 1;
    setups[3].threads = setups[4].threads = 5;
    setups[5].n_systems = 8;
    for (int i = 0; i < SHOAL_COUNT(turns); i++) {
        assert_int_equal(setenv("SHOAL_LONG_TURNS", turns[i], 1), 0);
        if (i == 0)
            first = integrate(context_of(state), setups[i]);
        else
            (void)integrate_the_same(context_of(state), &first, setups[i], i);
    }
    assert_int_equal(unsetenv("SHOAL_LONG_TURNS"), 0);
    outcome_release(&first);
}

/* CPU threads lead systems that do not fill the GPU, here in every slice. */
static void led_systems_lose_nothing(void **state)
{
    need_gpu();
    static const char *const propagators[] = {"mvs", "mvs_jacobi", "hermite4", "rkck", "gauss_radau"};
    const char *only = getenv("SHOAL_TEST_PROPAGATOR"); /* kernels take long to compile in the emulator */
    for (int p = 0; p < SHOAL_COUNT(propagators); p++)
        for (int watched = 0; watched < 2 && (!only || strcmp(only, propagators[p]) == 0); watched++) {
            struct setup setup = {.engine = "cuda",
                                  .propagator = propagators[p],
                                  .n = 3,
                                  .n_systems = 100,
                                  .n_calls = 2,
                                  .slice_steps = 60,
                                  .broken = -1,
                                  .watched = watched};
            assert_int_equal(setenv("SHOAL_HOSTED", "0", 1), 0);
            struct outcome first = integrate(context_of(state), setup);
            assert_int_equal(first.n_led, 0);
            assert_int_equal(setenv("SHOAL_HOSTED", "2", 1), 0);
            for (setup.threads = 1; setup.threads <= 5; setup.threads += 4)
                assert_true(integrate_the_same(context_of(state), &first, setup, setup.threads) > 0);
            outcome_release(&first);
        }
    assert_int_equal(unsetenv("SHOAL_HOSTED"), 0);
}

static void a_broken_system_disturbs_no_other(void **state)
{
    need_gpu();
    for (int p = 0; shoal_plugs_of(NULL)->propagators[p]; p++) {
        struct setup setup = {"cuda", shoal_plugs_of(NULL)->propagators[p]->name, 3, 200, false, 1, 0, -1, false, false,
                              0};
        const long broken = 77;
        struct outcome whole = integrate(context_of(state), setup);
        setup.broken = broken;
        struct outcome hurt = integrate(context_of(state), setup);
        assert_int_equal(hurt.systems[broken].outcome, SHOAL_NONFINITE);
        for (long s = 0; s < setup.n_systems; s++)
            if (s != broken) {
                assert_memory_equal(&whole.bodies[s * setup.n], &hurt.bodies[s * setup.n],
                                    (size_t)setup.n * sizeof(shoal_body));
                assert_int_equal(whole.systems[s].outcome, hurt.systems[s].outcome);
            }
        outcome_release(&whole);
        outcome_release(&hurt);
    }
}

static void outcomes_agree(void **state)
{
    need_gpu();
    for (int p = 0; shoal_plugs_of(NULL)->propagators[p]; p++) {
        struct setup setup = {"cpu", shoal_plugs_of(NULL)->propagators[p]->name, 3, 999, false, 1, 0, -1, true, false,
                              0};
        struct outcome cpu = integrate(context_of(state), setup);
        setup.engine = "cuda";
        struct outcome cuda = integrate(context_of(state), setup);
        long n_by_outcome[SHOAL_OUTCOMES] = {0};
        double largest = 0.0;
        for (long s = 0; s < setup.n_systems; s++) {
            const shoal_system *a = &cpu.systems[s], *b = &cuda.systems[s];
            assert_int_equal(a->outcome, b->outcome);
            assert_int_equal(a->body_a, b->body_a);
            assert_int_equal(a->body_b, b->body_b);
            assert_true(a->n_steps == b->n_steps);
            n_by_outcome[a->outcome]++;
            if (a->outcome != SHOAL_SURVIVED)
                largest = fmax(largest, fabs(a->t_stop - b->t_stop));
        }
        print_message("%-10s %ld survived, %ld ejected, %ld met; times of events differ by at most %.2g\n",
                      setup.propagator, n_by_outcome[SHOAL_SURVIVED], n_by_outcome[SHOAL_EJECTED],
                      n_by_outcome[SHOAL_ENCOUNTER], largest);
        assert_true(largest <= 1e-9);
        /* the test looks at something */
        assert_true(n_by_outcome[SHOAL_SURVIVED] > 100);
        assert_true(n_by_outcome[SHOAL_EJECTED] > 100);
        assert_true(n_by_outcome[SHOAL_ENCOUNTER] > 100);
        outcome_release(&cpu);
        outcome_release(&cuda);
    }
}

/* Systems with steps of their own end in different slices: each keeps its outcome in the records that come back. */
static void survivors_of_early_slices_stay_survivors(void **state)
{
    need_gpu();
    shoal_context *context = context_of(state);
    const shoal_body start[2] = {{.m = 1.0}, {.m = 1e-3, .x = 1.0, .vy = 1.0}};
    const shoal_options options = {.propagator = "mvs", .engine = "cuda", .t_end = 100.0};
    shoal_ensemble *ensemble = NULL;
    shoal_plan *plan = NULL;
    assert_ok(context, shoal_ensemble_create(context, 64, 2, &ensemble));
    for (long s = 0; s < 64; s++) {
        const shoal_system record = {.id = s, .dt = s % 2 ? 1.0 : 0.01};
        assert_ok(context, shoal_ensemble_set_bodies(ensemble, s, 2, start));
        shoal_ensemble_set_system(ensemble, s, &record);
    }
    assert_ok(context, shoal_plan_create(context, ensemble, &options, &plan));
    assert_ok(context, shoal_plan_integrate(plan, options.t_end));
    for (long s = 0; s < 64; s++) {
        shoal_system record;
        shoal_ensemble_get_system(ensemble, s, &record);
        assert_int_equal(record.outcome, SHOAL_SURVIVED);
        assert_true(record.time == options.t_end && record.t_stop == options.t_end);
    }
    shoal_plan_destroy(&plan);
    shoal_ensemble_destroy(&ensemble);
}

/* Nine in ten end at once; the others go on with another work model than all began with, to the same bits. */
static void those_left_go_on_with_another_choice(void **state)
{
    need_gpu();
    enum { SYSTEMS = 20000, CALLS = 3 };
    static const char *const propagators[] = {"hermite4", "mvs", "hybrid"};
    shoal_context *context = context_of(state);
    const shoal_setting far = {.name = "r_max", .value = 50};
    const shoal_plug_options monitors[] = {{.name = "stop_on_ejection", .settings = &far, .n_settings = 1},
                                           {.name = "energy_error"}};
    shoal_body *bodies = calloc(SYSTEMS * 3, sizeof *bodies);
    assert_non_null(bodies);
    for (long s = 0; s < SYSTEMS; s++) {
        quiet_system(context, s, 3, bodies + 3 * s);
        if (s % 10)
            bodies[3 * s + 1].x = 100, bodies[3 * s + 1].vx = 1;
    }
    for (int p = 0; p < SHOAL_COUNT(propagators); p++) {
        const char *const models[] = {"auto", "system"};
        struct motion motion[2];
        for (int i = 0; i < 2; i++) {
            const shoal_options options = {.propagator = propagators[p],
                                           .engine = "cuda",
                                           .work_model = models[i],
                                           .tune = "never",
                                           .monitors = monitors,
                                           .n_monitors = SHOAL_COUNT(monitors),
                                           .t_end = 1e6,
                                           .dt = TWO_PI / 100};
            motion[i] = motion_begin(context, SYSTEMS, 3, NULL, NULL, &options, bodies);
            assert_non_null(strstr(shoal_plan_line(motion[i].plan), "work model system"));
            motion[i].plan->slice_steps = 10;
            for (int call = 1; call <= CALLS; call++)
                assert_ok(context, shoal_plan_integrate(motion[i].plan, call));
            assert_true((strstr(shoal_plan_line(motion[i].plan), "work model body") != NULL) == (i == 0));
            assert_true((strstr(shoal_plan_line(motion[i].plan), "for the 2000 systems that are left") != NULL) ==
                        (i == 0));
            assert_ok(context, motion[i].plan->engine_type->download(motion[i].plan->engine,
                                                                     SHOAL_ARRAY_NATIVE | SHOAL_ARRAY_WATCH));
        }
        const shoal_kernel_args *a = &motion[0].plan->args, *b = &motion[1].plan->args;
        const long n_native = (long)shoal_native_slots(motion[0].plan->propagator, a->n_moved);
        for (long s = 0; s < SYSTEMS; s += 10) {
            for (long i = 0; i < n_native; i++)
                assert_true(a->native[SHOAL_AT(s, i, n_native)] == b->native[SHOAL_AT(s, i, n_native)]);
            for (long i = 0; i < a->n_watch; i++)
                assert_true(a->watch[SHOAL_AT(s, i, a->n_watch)] == b->watch[SHOAL_AT(s, i, a->n_watch)]);
        }
        for (long s = 0; s < SYSTEMS; s++) {
            shoal_system one, other;
            shoal_ensemble_get_system(motion[0].ensemble, s, &one);
            shoal_ensemble_get_system(motion[1].ensemble, s, &other);
            assert_int_equal(one.outcome, other.outcome);
            assert_int_equal(one.outcome == SHOAL_RUNNING, s % 10 == 0);
            assert_true(one.n_steps == other.n_steps);
        }
        motion_end(&motion[0]);
        motion_end(&motion[1]);
    }
    free(bodies);
}

/* A plan that has been on its way with stars of mass 1 and outer planets without begins again with systems of all
 * masses, as a new one would. */
static void a_plan_begins_again(void **state)
{
    need_gpu();
    enum { SYSTEMS = 100 };
    static const char *const propagators[] = {"hermite4", "mvs", "hybrid"};
    shoal_context *context = context_of(state);
    shoal_body bodies[2][SYSTEMS * 3], ends[2][SYSTEMS * 3];
    for (int p = 0; p < SHOAL_COUNT(propagators); p++) {
        const shoal_options options = {
            .propagator = propagators[p], .engine = "cuda", .t_end = 2.003 * TWO_PI, .dt = TWO_PI / 100};
        for (long s = 0; s < SYSTEMS; s++) {
            doomed_system(context, s + SYSTEMS, 3, bodies[0] + 3 * s);
            bodies[0][3 * s].m = 1;
            bodies[0][3 * s + 2].m = 0;
            doomed_system(context, s, 3, bodies[1] + 3 * s);
        }
        for (int again = 0; again < 2; again++) {
            struct motion motion = motion_begin(context, SYSTEMS, 3, NULL, NULL, &options, bodies[!again]);
            if (again) {
                assert_ok(context, shoal_plan_integrate(motion.plan, 5));
                for (long s = 0; s < SYSTEMS; s++)
                    assert_ok(context, shoal_ensemble_set_bodies(motion.ensemble, s, 3, bodies[1] + 3 * s));
                assert_ok(context, shoal_plan_restart(motion.plan));
            }
            assert_ok(context, shoal_plan_integrate(motion.plan, options.t_end));
            for (long s = 0; s < SYSTEMS; s++)
                shoal_ensemble_get_bodies(motion.ensemble, s, ends[again] + 3 * s);
            motion_end(&motion);
        }
        long n_differ;
        difference(ends[0], ends[1], SYSTEMS, 3, &n_differ);
        if (n_differ)
            fail_msg("%s: %ld doubles differ", propagators[p], n_differ);
    }
}

/* ---- main -------------------------------------------------------------------------------------------------------- */

int main(void)
{
    char folder[900], cache[1000];
    program_folder(folder, sizeof folder);
    snprintf(cache, sizeof cache, "%s/cache", folder);
    setenv("XDG_CACHE_HOME", cache, 0); /* not the user's own */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_compiler_is_named),
        cmocka_unit_test(info_says_what_is_there),
        cmocka_unit_test(options_that_are_cut_off_are_refused),
        cmocka_unit_test(every_kernel_compiles),
        cmocka_unit_test(other_choices_compile),
        cmocka_unit_test(forces_compile),
        cmocka_unit_test(compile_errors_say_what_and_where),
        cmocka_unit_test(second_compile_comes_from_the_cache),
        cmocka_unit_test(a_damaged_file_is_compiled_anew),
        cmocka_unit_test(an_unusable_cache_is_no_error),
        cmocka_unit_test(cpu_and_cuda_agree),
        cmocka_unit_test(cuda_bits_depend_on_the_system_alone),
        cmocka_unit_test(slices_in_pieces_lose_nothing),
        cmocka_unit_test(systems_set_aside_catch_up),
        cmocka_unit_test(hosted_systems_lose_nothing),
        cmocka_unit_test(led_systems_lose_nothing),
        cmocka_unit_test(a_broken_system_disturbs_no_other),
        cmocka_unit_test(outcomes_agree),
        cmocka_unit_test(survivors_of_early_slices_stay_survivors),
        cmocka_unit_test(those_left_go_on_with_another_choice),
        cmocka_unit_test(a_plan_begins_again),
    };
    cmocka_set_test_filter(getenv("SHOAL_TEST_NAME"));
    return cmocka_run_group_tests(tests, setup, teardown);
}
