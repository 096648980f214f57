/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_big_run.c: one big system from its config to its result file and snapshots: what is in them, that a run that was
 * interrupted goes on with the same bits, units, formats there and back, and what is refused.
 */
#define _GNU_SOURCE 1
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/study/study.h"
#include "gravitation/tiled/tiled_variants.h"
#include "core/result/h5.h"
#include "core/report/plot_big.h"
#include "testing.h"

static const char study_text[] = "model = { name = \"plummer\"; n = 100; seed = 4; };\n"
                                 "gravitation = { softening = 0.1; };\n"
                                 "integrator = { name = \"hermite4_block\"; eta = 0.02; };\n"
                                 "run = { t_end = 1.0; engine = \"cpu\"; threads = 1; };\n"
                                 "output = { interval = 0.125; snapshots = 4; };\n";

static char folder[] = "/tmp/shoal-big-XXXXXX";

/* In a folder of its own. */
static int begin(void **state)
{
    return setup(state) != 0 || !mkdtemp(folder) || chdir(folder) != 0;
}

static int finish(void **state)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return chdir("/") != 0 || system(command) != 0 || teardown(state) != 0;
}

static shoal_study *load(shoal_context *context, const char *text, const char *output, const char *more)
{
    char word[128];
    const char *overrides[] = {word, more};
    shoal_study *study = NULL;
    snprintf(word, sizeof word, "output.file=\"%s\"", output);
    assert_ok(context, shoal_study_open(context, "big.cfg", text, more ? 2 : 1, overrides, NULL, &study));
    return study;
}

/* Without the file of an earlier run its snapshots are gone, too. */
static shoal_status run(shoal_context *context, const char *text, const char *output, const char *more,
                        shoal_progress_callback callback, void *user)
{
    char command[64];
    snprintf(command, sizeof command, "rm -f %.*s_0*", shoal_name_stem(output), output);
    if (access(output, F_OK) != 0 && system(command) != 0)
        fail_msg("%s", command);
    shoal_study *study = load(context, text, output, more);
    const shoal_status status = shoal_study_run(study, 0, callback, user);
    shoal_study_destroy(&study);
    return status;
}

static shoal_table read_table(shoal_context *context, const char *file, int components)
{
    const shoal_format *format = NULL;
    const shoal_convert_options options = {
        .central_mass = NAN, .epoch = NAN, .components = components, .notes = stderr};
    shoal_table table = {.context = context};
    assert_ok(context, shoal_format_of(context, file, &format));
    assert_ok(context, format->read(&table, 1, &(char *){(char *)file}, &options));
    return table;
}

static void test_result(void **state)
{
    shoal_context *context = *state;
    shoal_big_record r;
    assert_ok(context, run(context, study_text, "a.h5", NULL, NULL, NULL));
    assert_ok(context, shoal_big_record_read(context, "a.h5", &r));
    assert_true(r.complete && !r.has_units);
    assert_int_equal(r.n_rows, 9);
    assert_int_equal(r.seed, 4);
    for (long i = 0; i < r.n_rows; i++) {
        const double *row = r.rows[i];
        assert_float_equal(row[SHOAL_BIG_COLUMN_time], 0.125 * (double)i, 0);
        assert_float_equal(row[SHOAL_BIG_COLUMN_E], row[SHOAL_BIG_COLUMN_K] + row[SHOAL_BIG_COLUMN_W], 1e-15);
        assert_float_equal(row[SHOAL_BIG_COLUMN_dE], 0, 1e-6);
        for (int k = SHOAL_BIG_COLUMN_r05; k <= SHOAL_BIG_COLUMN_r90; k++)
            assert_true(row[k] > row[k - 1]);
    }
    assert_float_equal(r.bodies.time, 1, 0);
    shoal_table table = read_table(context, "a_0002.hdf5", 0);
    assert_int_equal(table.n_bodies, 100);
    assert_float_equal(table.systems[0].time, 1, 0);
    for (long i = 0; i < 100; i++)
        assert_true(table.bodies[i].x == r.bodies.x[i] && table.bodies[i].vz == r.bodies.v[200 + i]);
    shoal_table_release(&table);
    r.seed = INT64_MAX - 1; /* no double is */
    assert_ok(context, shoal_big_record_write(&r, "seed.h5"));
    shoal_big_record_release(&r);
    assert_ok(context, shoal_big_record_read(context, "seed.h5", &r));
    assert_true(r.seed == INT64_MAX - 1);
    shoal_big_record_release(&r);
    unlink("seed.h5");
    assert_int_equal(run(context, study_text, "a.h5", NULL, NULL, NULL), SHOAL_E_USAGE); /* it is there */
}

/* Few bodies are for the CPU where the engine is free, which the line says. */
static void test_choice(void **state)
{
    shoal_context *context = *state;
    shoal_big_record r;
    assert_ok(context,
              run(context, study_text, "auto.h5", "run={t_end=0.125; engine=\"auto\"; threads=1;}", NULL, NULL));
    assert_ok(context, shoal_big_record_read(context, "auto.h5", &r));
    if (!strstr(r.plan_line, "; cpu: ") || !strstr(r.plan_line, "auto: a GPU from "))
        fail_msg("%s", r.plan_line);
    shoal_big_record_release(&r);
    assert_ok(context, run(context, study_text, "cpu.h5", "run={t_end=0.125; engine=\"cpu\"; threads=1;}", NULL, NULL));
    assert_ok(context, shoal_big_record_read(context, "cpu.h5", &r));
    assert_null(strstr(r.plan_line, "auto: "));
    shoal_big_record_release(&r);
}

static int stop_after(const shoal_progress *progress, void *user)
{
    return progress->fraction > *(double *)user;
}

/* A run that was interrupted, twice, and the straight one end with the same bits and rows. */
static void test_going_on(void **state)
{
    static const char *const methods[] = {"integrator.name=hermite4_block", "integrator.name=hermite4",
                                          "integrator.name=leapfrog", "integrator={name=\"hermite6\"; dt=0.0625;}"};
    shoal_context *context = *state;
    for (int k = 0; k < SHOAL_COUNT(methods); k++) {
        shoal_big_record a, b;
        double at = 0.3;
        unlink("b.h5");
        unlink("c.h5");
        assert_ok(context, run(context, study_text, "b.h5", methods[k], NULL, NULL));
        assert_int_equal(run(context, study_text, "c.h5", methods[k], stop_after, &at), SHOAL_E_INTERRUPTED);
        at = 0.7;
        assert_int_equal(run(context, study_text, "c.h5", methods[k], stop_after, &at), SHOAL_E_INTERRUPTED);
        assert_ok(context, run(context, study_text, "c.h5", methods[k], NULL, NULL));
        assert_ok(context, shoal_big_record_read(context, "b.h5", &a));
        assert_ok(context, shoal_big_record_read(context, "c.h5", &b));
        assert_memory_equal(a.bodies.m, b.bodies.m, 700 * sizeof(double));
        assert_int_equal(a.n_rows, b.n_rows);
        assert_memory_equal(a.rows, b.rows, (size_t)a.n_rows * sizeof *a.rows);
        shoal_big_record_release(&a);
        shoal_big_record_release(&b);
    }
}

/* A GPU, and a cache that is empty; n_devices of them, or the test is skipped. */
static void need_gpus(shoal_context *context, int n_devices)
{
    const shoal_tiled_options options = {.engine = "cuda", .n_devices = n_devices};
    shoal_tiled *tiled = NULL;
    need_gpu();
    if (n_devices > 1 && shoal_tiled_create(context, &options, 10, &tiled)) {
        print_message("%s\n", shoal_context_message(context));
        skip();
    }
    shoal_tiled_destroy(&tiled);
    assert_int_equal(system("rm -rf cache"), 0);
    char path[64];
    snprintf(path, sizeof path, "%s/cache", folder);
    setenv("XDG_CACHE_HOME", path, 1);
}

/* The line of a result's run, which ends here. */
static void line_of(shoal_context *context, const char *file, char *line, size_t size)
{
    shoal_big_record r;
    assert_ok(context, shoal_big_record_read(context, file, &r));
    snprintf(line, size, "%s", r.plan_line);
    shoal_big_record_release(&r);
}

static void compare(shoal_context *context, const char *one, const char *other, bool same)
{
    shoal_big_record a, b;
    assert_ok(context, shoal_big_record_read(context, one, &a));
    assert_ok(context, shoal_big_record_read(context, other, &b));
    const size_t n = (size_t)a.bodies.n;
    assert_true(a.bodies.n == b.bodies.n && a.n_rows == b.n_rows);
    assert_int_equal(memcmp(a.bodies.x, b.bodies.x, 3 * n * sizeof(double)) == 0, same);
    assert_int_equal(memcmp(a.rows, b.rows, (size_t)a.n_rows * sizeof *a.rows) == 0, same);
    shoal_big_record_release(&a);
    shoal_big_record_release(&b);
}

static const char gpu_text[] = "model = { name = \"plummer\"; n = 3000; seed = 4; };\n"
                               "gravitation = { softening = 0.05; };\n"
                               "integrator = { name = \"hermite4\"; dt = 0.03125; };\n"
                               "run = { t_end = 1.0; engine = \"cuda\"; };\n"
                               "output = { interval = 0.125; };\n";

/* A run goes on with the kernels that it began with, whatever is measured and kept in the meantime; a new one takes
 * those. Which they are the line says. */
static void test_cuda_going_on(void **state)
{
    shoal_context *context = *state;
    char line[1024], device[128];
    double at = 0.3;
    need_gpus(context, 1);
    assert_ok(context, run(context, gpu_text, "g1.h5", NULL, NULL, NULL));
    line_of(context, "g1.h5", line, sizeof line);
    assert_int_equal(sscanf(line, "hermite4, 3000 bodies; cuda: %127[^,]", device), 1);
    assert_non_null(strstr(line, "too short a run to measure"));
    assert_int_equal(run(context, gpu_text, "g2.h5", NULL, stop_after, &at), SHOAL_E_INTERRUPTED);
    const shoal_tiled_options options = {.eps = 0.05};
    const char *slow = strstr(line, "; lanes") ? "edges_small" : "lanes";
    shoal_tiled_variant_keep(device, &options, SHOAL_TILED_JERK, true, 3000, shoal_tiled_variant_named(slow));
    shoal_tiled_variant_keep(device, &options, SHOAL_TILED_POTENTIAL, true, 3000, shoal_tiled_variant_named(slow));
    assert_ok(context, run(context, gpu_text, "g2.h5", NULL, NULL, NULL));
    compare(context, "g1.h5", "g2.h5", true);
    line_of(context, "g2.h5", line, sizeof line);
    assert_non_null(strstr(line, "(as it began)"));
    assert_ok(context, run(context, gpu_text, "g3.h5", NULL, NULL, NULL));
    line_of(context, "g3.h5", line, sizeof line);
    assert_non_null(strstr(line, slow));
    assert_non_null(strstr(line, "(the fastest when measured here)"));
    compare(context, "g1.h5", "g3.h5", false);
    assert_ok(context, run(context, gpu_text, "g4.h5", "run.tune=\"never\"", NULL, NULL));
    compare(context, "g1.h5", "g4.h5", true);
}

/* Asked to measure, a run does so first, and is then what it is with the kernel that was picked: steps do, rows have
 * their own. */
static void test_cuda_tune(void **state)
{
    shoal_context *context = *state;
    shoal_big_record a, b;
    char line[1024], method[64], name[32];
    need_gpus(context, 1);
    assert_ok(context, run(context, gpu_text, "t1.h5", "run.tune=\"always\"", NULL, NULL));
    line_of(context, "t1.h5", line, sizeof line);
    assert_int_equal(sscanf(line, "hermite4, 3000 bodies; cuda: %*[^;]; %31s (the fastest of", name), 1);
    assert_non_null(strstr(line, "(the fastest of 4 measured)"));
    snprintf(method, sizeof method, "gravitation.method=\"%s\"", name);
    assert_ok(context, run(context, gpu_text, "t2.h5", method, NULL, NULL));
    assert_ok(context, shoal_big_record_read(context, "t1.h5", &a));
    assert_ok(context, shoal_big_record_read(context, "t2.h5", &b));
    assert_memory_equal(a.bodies.x, b.bodies.x, 9000 * sizeof(double));
    assert_memory_equal(a.bodies.v, b.bodies.v, 9000 * sizeof(double));
    assert_true(a.interactions == b.interactions);
    shoal_big_record_release(&a);
    shoal_big_record_release(&b);
}

/* On two GPUs a run has the same bits as on one. */
static void test_cuda_devices(void **state)
{
    static const char *const texts[] = {
        /* pairs in parts; blocks of a few */
        "model = { name = \"plummer\"; n = 140001; seed = 4; };\ngravitation = { softening = 0.05; };\n"
        "integrator = { name = \"leapfrog\"; dt = 0.03125; };\nrun = { t_end = 0.125; engine = \"cuda\"; };\n"
        "output = { interval = 0.0625; };\n",
        "model = { name = \"king\"; n = 5000; seed = 4; };\ngravitation = { softening = 0.01; };\n"
        "integrator = { name = \"hermite4_block\"; eta = 0.02; };\nrun = { t_end = 0.125; engine = \"auto\"; };\n"
        "output = { interval = 0.0625; };\n"};
    shoal_context *context = *state;
    char line[1024];
    need_gpus(context, 2);
    for (int k = 0; k < SHOAL_COUNT(texts); k++) {
        unlink("m1.h5");
        unlink("m2.h5");
        assert_ok(context, run(context, texts[k], "m1.h5", NULL, NULL, NULL));
        assert_ok(context, run(context, texts[k], "m2.h5", "run.devices=2", NULL, NULL));
        compare(context, "m1.h5", "m2.h5", true);
        line_of(context, "m2.h5", line, sizeof line);
        assert_non_null(strstr(line, ", 2 devices; "));
    }
}

/* A result of an earlier version says nothing of kernels; a run goes on from it all the same. */
static void test_no_kernels(void **state)
{
    shoal_context *context = *state;
    double at = 0.3;
    assert_int_equal(run(context, study_text, "v.h5", NULL, stop_after, &at), SHOAL_E_INTERRUPTED);
    shoal_big_record r;
    assert_ok(context, shoal_big_record_read(context, "v.h5", &r));
    assert_string_equal(r.kernel, "auto");
    assert_string_equal(r.row_kernel, "auto");
    shoal_big_record_release(&r);
    assert_int_equal(system("tail -c +513 v.h5 >cut.h5 && mv cut.h5 v.h5"), 0); /* nor has it a checksum */
    const hid_t file = H5Fopen("v.h5", H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(H5Adelete_by_name(file, "/checkpoint", "kernel", H5P_DEFAULT) >= 0);
    assert_true(H5Adelete_by_name(file, "/checkpoint", "row_kernel", H5P_DEFAULT) >= 0);
    assert_true(H5Fclose(file) >= 0);
    assert_ok(context, run(context, study_text, "v.h5", NULL, NULL, NULL));
    compare(context, "a.h5", "v.h5", true);
}

/* A run that ended goes on to a later end as if that had been meant from the start, but not to an earlier one. */
static void test_later_end(void **state)
{
    shoal_context *context = *state;
    shoal_big_record a, b;
    assert_ok(context, run(context, study_text, "e.h5", "run.t_end=0.5", NULL, NULL));
    assert_int_equal(run(context, study_text, "e.h5", "run.t_end=0.25", NULL, NULL), SHOAL_E_USAGE);
    assert_int_equal(run(context, study_text, "e.h5", "model.seed=9", NULL, NULL), SHOAL_E_USAGE);
    FILE *others = fopen("e_0002.hdf5", "w"); /* of which the run to 0.5 knows nothing */
    fclose(others);
    assert_int_equal(run(context, study_text, "e.h5", NULL, NULL, NULL), SHOAL_E_USAGE);
    assert_non_null(strstr(shoal_context_message(context), "e_0002.hdf5 is there already"));
    assert_int_equal(remove("e_0002.hdf5"), 0);
    assert_ok(context, run(context, study_text, "e.h5", NULL, NULL, NULL));
    assert_ok(context, shoal_big_record_read(context, "a.h5", &a));
    assert_ok(context, shoal_big_record_read(context, "e.h5", &b));
    assert_memory_equal(a.bodies.m, b.bodies.m, 700 * sizeof(double));
    assert_int_equal(a.n_rows, b.n_rows);
    shoal_big_record_release(&a);
    shoal_big_record_release(&b);
}

static void test_another_study(void **state)
{
    shoal_context *context = *state;
    double at = 0.1;
    assert_int_equal(run(context, study_text, "d.h5", NULL, stop_after, &at), SHOAL_E_INTERRUPTED);
    assert_int_equal(run(context, study_text, "d.h5", "model.seed=5", NULL, NULL), SHOAL_E_USAGE);
    assert_non_null(strstr(shoal_context_message(context), "model.seed = 4 and 5"));
    assert_ok(context, run(context, study_text, "d.h5", "run.threads=2", NULL, NULL)); /* on which nothing depends */
}

static void write_bodies(const char *file, double time, int n)
{
    FILE *out = fopen(file, "w");
    assert_non_null(out);
    fprintf(out, "# time: %g\nsystem,body,name,m,x,y,z,vx,vy,vz\n", time);
    for (int i = 0; i < n; i++)
        fprintf(out, "0,%d,b%d,0.25,%d,%d,0,0,0,%g\n", i, i, i % 2, i / 2, 0.1 * i);
    fclose(out);
}

/* A run goes on with the bodies that it began with, or not at all. */
static void test_another_file(void **state)
{
    static const char text[] =
        "model = { file = \"in.csv\"; };\nintegrator = { dt = 0.05; };\nrun = { t_end = 4.0; engine = \"cpu\"; };\n"
        "output = { interval = 0.5; snapshots = 0; };\ngravitation = { softening = 0.1; };\n";
    shoal_context *context = *state;
    double at = 0.1;
    write_bodies("in.csv", 0, 4);
    assert_int_equal(run(context, text, "in.h5", NULL, stop_after, &at), SHOAL_E_INTERRUPTED);
    for (int other = 0; other < 2; other++) {
        write_bodies("in.csv", other ? 2 : 0, other ? 4 : 3);
        assert_int_equal(run(context, text, "in.h5", NULL, NULL, NULL), SHOAL_E_USAGE);
        assert_non_null(strstr(shoal_context_message(context), "with other bodies at its start"));
    }
    write_bodies("in.csv", 0, 4);
    assert_ok(context, run(context, text, "in.h5", NULL, NULL, NULL));
}

/* Nothing that is there is written over, least of all what the run begins from. */
static void test_snapshots_spare_files(void **state)
{
    static const char text[] =
        "model = { file = \"s_0002.csv\"; };\nintegrator = { dt = 0.05; };\nrun = { t_end = 1.0; engine = \"cpu\"; };\n"
        "output = { file = \"s.h5\"; interval = 0.25; snapshots = 1; format = \"csv\"; };\ngravitation = { softening = "
        "0.1; };\n";
    shoal_context *context = *state;
    shoal_study *study = NULL;
    write_bodies("s_0002.csv", 0, 4);
    for (int force = 0; force < 2; force++) {
        assert_ok(context, shoal_study_open(context, "s.cfg", text, 0, NULL, NULL, &study));
        assert_int_equal(shoal_study_run(study, force, NULL, NULL), force ? SHOAL_OK : SHOAL_E_USAGE);
        assert_true(force || strstr(shoal_context_message(context), "s_0002.csv is there already"));
        assert_int_equal(access("s_0001.csv", F_OK) == 0, force);
        shoal_study_destroy(&study);
    }
}

/* A cluster of 1000 Msun and 2 pc: G = 0.00449850 pc^3 / (Msun Myr^2). */
static void test_units(void **state)
{
    static const char text[] = "units = { length = \"pc\"; mass = \"Msun\"; time = \"Myr\"; };\n"
                               "model = { name = \"plummer\"; n = 200; mass = 1000.0; virial_radius = 2.0; };\n"
                               "integrator = { dt = 0.5; };\n"
                               "gravitation = { softening = 0.1; };\n"
                               "run = { t_end = 10.0; engine = \"cpu\"; };\n"
                               "output = { interval = 0.1; format = \"csv\"; snapshots = 1; };\n";
    shoal_context *context = *state;
    shoal_big_record r;
    assert_ok(context, run(context, text, "u.h5", NULL, NULL, NULL));
    assert_ok(context, shoal_big_record_read(context, "u.h5", &r));
    const double scale = 0.0044985 * 1000 * 1000 / 2, *row = r.rows[0];
    assert_float_equal(row[SHOAL_BIG_COLUMN_W] / scale, -0.5, 0.04);
    assert_float_equal(row[SHOAL_BIG_COLUMN_K] / scale, 0.25, 0.04);
    assert_float_equal(row[SHOAL_BIG_COLUMN_r50] / 2, 0.77, 0.1);
    assert_int_equal(r.n_rows, 101);
    for (long k = 0; k < r.n_rows; k++) /* as one writes it, whatever inner units round */
        assert_true(r.rows[k][SHOAL_BIG_COLUMN_time] == (double)k / 10);
    shoal_big_record_release(&r);
    shoal_table table = read_table(context, "u_0003.csv", 0);
    assert_string_equal(table.units.length_name, "pc");
    assert_float_equal(table.bodies[7].m, 5, 1e-14);
    assert_true(table.systems[0].time == 0.3);
    shoal_table_release(&table);
}

/* A file that states no units is in the config's, whose G may be one of its own, and which are G = 1 where it has
 * none. A run's snapshots are in them, too. */
static void test_file_units(void **state)
{
    static const struct {
        const char *units;
        double inner; /* 1 km/s, 1 kpc/Myr, 1 */
    } cases[] = {{"units = { length = \"kpc\"; mass = \"Msun\"; G = 4.30091e-6; };", 1 / 29.7846918},
                 {"units = { length = \"kpc\"; mass = \"Msun\"; time = \"Myr\"; };", 977.792222 / 29.7846918},
                 {"", 1}};
    static const char *const formats[] = {"phigrape", "tipsy"};
    shoal_context *context = *state;
    FILE *out = fopen("two.phigrape", "w");
    fputs("0\n2\n0\n0 1e10 -8 0 0 0 -220 0\n1 1e10 8 0 0 0 220 0\n", out);
    fclose(out);
    shoal_table table = read_table(context, "two.phigrape", 0);
    assert_ok(context, shoal_table_write(&table, "two.tipsy", shoal_format_tipsy.write));
    shoal_table_release(&table);
    for (int k = 0; k < SHOAL_COUNT(cases); k++)
        for (int f = 0; f < SHOAL_COUNT(formats); f++) {
            char text[512], snapshot[32];
            shoal_big_bodies bodies;
            snprintf(text, sizeof text,
                     "%s model = { file = \"two.%s\"; }; integrator = { dt = 1.0; }; run = { t_end = 1e-6; engine = "
                     "\"cpu\"; };"
                     "output = { interval = 1e-6; snapshots = 1; format = \"%s\"; };",
                     cases[k].units, formats[f], formats[f]);
            shoal_study *study = load(context, text, "two.h5", NULL);
            assert_ok(context, shoal_big_study_bodies(study, &bodies));
            assert_float_equal(bodies.v[3] / cases[k].inner, 220, 1e-3); /* the digits of that G */
            assert_ok(context, shoal_study_run(study, 1, NULL, NULL));
            snprintf(snapshot, sizeof snapshot, "two_0000.%s", formats[f]);
            table = read_table(context, snapshot, 0);
            assert_float_equal(table.bodies[1].vy, 220, f ? 1e-4 : 1e-12); /* single precision */
            shoal_table_release(&table);
            shoal_big_bodies_release(&bodies);
            shoal_study_destroy(&study);
        }
}

/* Bodies that are there and back: GADGET, phiGRAPE and CSV to the last bit, tipsy to single precision, in both byte
 * orders. */
static void test_formats(void **state)
{
    static const struct {
        const char *format, *file;
        double within;
    } cases[] = {{"gadget", "f.hdf5", 0},
                 {"phigrape", "f.phigrape", 0},
                 {"csv", "f.csv", 0},
                 {"tipsy", "f.tipsy", 1e-7},
                 {"tipsy_little", "g.tipsy", 1e-7}};
    shoal_context *context = *state;
    shoal_study *study = load(context, study_text, "f.h5", NULL);
    shoal_big_bodies bodies;
    shoal_units units;
    shoal_table table;
    assert_ok(context, shoal_units_init(context, NULL, NULL, NULL, NAN, &units));
    assert_ok(context, shoal_big_study_bodies(study, &bodies));
    bodies.time = 1.5;
    assert_ok(context, shoal_big_to_table(context, &bodies, &units, &table));
    for (int k = 0; k < SHOAL_COUNT(cases); k++) {
        const shoal_format *format = NULL;
        assert_ok(context, shoal_format_named(context, cases[k].format, &format));
        assert_ok(context, shoal_table_write(&table, cases[k].file, format->write));
        shoal_table again = read_table(context, cases[k].file, 0);
        assert_int_equal(again.n_bodies, 100);
        assert_float_equal(again.systems[0].time, 1.5, 0);
        for (long i = 0; i < 100; i++) {
            const shoal_body *a = &table.bodies[i], *b = &again.bodies[i];
            assert_float_equal(a->m, b->m, cases[k].within);
            assert_float_equal(a->y, b->y, 10 * cases[k].within);
            assert_float_equal(a->vx, b->vx, 10 * cases[k].within);
        }
        shoal_table_release(&again);
    }
    shoal_table_release(&table);
    shoal_big_bodies_release(&bodies);
    shoal_study_destroy(&study);
    assert_int_equal(truncate("f.tipsy", 1000), 0);
    const shoal_convert_options options = {.notes = stderr};
    shoal_table cut = {.context = context};
    assert_int_equal(shoal_format_tipsy.read(&cut, 1, &(char *){(char *)"f.tipsy"}, &options), SHOAL_E_INPUT);
    assert_non_null(strstr(shoal_context_message(context), "f.tipsy: 1000 bytes: expected"));
    shoal_table_release(&cut);
}

/* A tipsy file written by hand, least significant byte first on this machine: one gas, two dark, one star. */
static void test_components(void **state)
{
    shoal_context *context = *state;
    const double time = 2;
    const int32_t counts[] = {4, 3, 1, 2, 1, 0};
    static const int sizes[] = {12, 9, 9, 11};
    FILE *out = fopen("k.tipsy", "wb");
    fwrite(&time, sizeof time, 1, out);
    fwrite(counts, sizeof counts, 1, out);
    for (int i = 0; i < 4; i++) {
        float item[12] = {(float)(i + 1), (float)(10 * i)};
        fwrite(item, sizeof *item, (size_t)sizes[i], out);
    }
    fclose(out);
    static const struct {
        int components;
        int n;
        double mass;
    } cases[] = {{0, 4, 10}, {2, 2, 5}, {1 | 4, 2, 5}, {2 | 4, 3, 9}};
    for (int k = 0; k < SHOAL_COUNT(cases); k++) {
        shoal_table table = read_table(context, "k.tipsy", cases[k].components);
        double mass = 0;
        for (long i = 0; i < table.n_bodies; i++) {
            mass += table.bodies[i].m;
            assert_float_equal(table.bodies[i].x, 10 * (table.bodies[i].m - 1), 0);
        }
        assert_int_equal(table.n_bodies, cases[k].n);
        assert_float_equal(mass, cases[k].mass, 0);
        shoal_table_release(&table);
    }
}

/* A tipsy file may hold one kind alone. It cannot hold what is beyond single precision. */
static void test_tipsy_of_stars(void **state)
{
    shoal_context *context = *state;
    const double time = 0;
    const int32_t counts[] = {2, 3, 0, 0, 2, 0};
    const float stars[2][11] = {{1, 0}, {2, 10}};
    FILE *out = fopen("stars.tipsy", "wb");
    fwrite(&time, sizeof time, 1, out);
    fwrite(counts, sizeof counts, 1, out);
    fwrite(stars, sizeof stars, 1, out);
    fclose(out);
    shoal_table table = read_table(context, "stars.tipsy", 0);
    assert_int_equal(table.n_bodies, 2);
    assert_float_equal(table.bodies[1].x, 10, 0);
    static const double masses[] = {4e38, 1e-60, NAN};
    for (int k = 0; k < SHOAL_COUNT(masses); k++) {
        table.bodies[1].m = masses[k];
        assert_int_equal(shoal_table_write(&table, "heavy.tipsy", shoal_format_tipsy.write), SHOAL_E_INPUT);
        assert_non_null(strstr(shoal_context_message(context), "body 1: "));
        assert_int_not_equal(access("heavy.tipsy", F_OK), 0);
    }
    shoal_table_release(&table);
}

/* GADGET's own units, 1 kpc, 10^10 Msun, 1 km/s = 1.0227 kpc/Gyr, of one type with masses and one without. */
static void test_gadget_units(void **state)
{
    shoal_context *context = *state;
    const int64_t count[6] = {0, 2, 0, 0, 2, 0};
    const double mass[6] = {[4] = 3}, time = 0.5, length = 3.0856775814913673e21, grams = 1.98841e43, speed = 1e5;
    const double x[] = {1, 2, 3, 4, 5, 6}, m[] = {1, 2};
    shoal_h5 h5;
    assert_ok(context, shoal_h5_create(context, "gadget.hdf5", H5F_LIBVER_EARLIEST, 1 << 20, &h5));
    shoal_status status =
        shoal_h5_group(&h5, "/Header") | shoal_h5_group(&h5, "/Parameters") | shoal_h5_group(&h5, "/PartType1") |
        shoal_h5_group(&h5, "/PartType4") | shoal_h5_put_integers(&h5, "/Header", "NumPart_ThisFile", 6, count) |
        shoal_h5_put_doubles(&h5, "/Header", "MassTable", 6, mass) |
        shoal_h5_put_doubles(&h5, "/Header", "Time", 0, &time) |
        shoal_h5_put_doubles(&h5, "/Parameters", "UnitLength_in_cm", 0, &length) |
        shoal_h5_put_doubles(&h5, "/Parameters", "UnitMass_in_g", 0, &grams) |
        shoal_h5_put_doubles(&h5, "/Parameters", "UnitVelocity_in_cm_per_s", 0, &speed) |
        shoal_h5_write(&h5, "/PartType1/Coordinates", H5T_NATIVE_DOUBLE, shoal_h5_table(2, 3), x, NULL, NULL) |
        shoal_h5_write(&h5, "/PartType1/Velocities", H5T_NATIVE_DOUBLE, shoal_h5_table(2, 3), x, NULL, NULL) |
        shoal_h5_write(&h5, "/PartType1/Masses", H5T_NATIVE_DOUBLE, shoal_h5_rows(2), m, NULL, NULL) |
        shoal_h5_write(&h5, "/PartType4/Coordinates", H5T_NATIVE_DOUBLE, shoal_h5_table(2, 3), x, NULL, NULL) |
        shoal_h5_write(&h5, "/PartType4/Velocities", H5T_NATIVE_DOUBLE, shoal_h5_table(2, 3), x, NULL, NULL);
    assert_ok(context, shoal_h5_save(&h5, status));
    const shoal_format *format;
    assert_ok(context, shoal_format_of(context, "gadget.hdf5", &format));
    assert_ptr_equal(format, &shoal_format_gadget); /* not any HDF5 */
    shoal_table table = read_table(context, "gadget.hdf5", 0);
    assert_int_equal(table.n_bodies, 4);
    assert_string_equal(table.units.length_name, "kpc");
    assert_float_equal(table.bodies[1].m / 2e10, 1, 1e-3); /* G in g is known to 2e-5 */
    assert_float_equal(table.bodies[2].m / 3e10, 1, 1e-3);
    assert_float_equal(table.bodies[1].z, 6, 1e-9);
    assert_float_equal(table.bodies[1].vx, 4 * 1.0227e-3, 1e-6);
    assert_float_equal(table.systems[0].time, 0.5 * 977.79, 0.01);
    shoal_big_bodies bodies;
    shoal_units units = table.units;
    table.bodies[2].vy = NAN;
    assert_int_equal(shoal_big_from_table(context, &table, &units, &bodies), SHOAL_E_INPUT);
    assert_string_equal(shoal_context_message(context),
                        "gadget.hdf5: body 2: expected finite coordinates and a mass >= 0");
    shoal_table_release(&table);
    table = read_table(context, "gadget.hdf5", 1 << 2);
    assert_int_equal(table.n_bodies, 2);
    shoal_table_release(&table);
    /* units that its reader gives do not stand in for those that it states: shoal convert --from-units sees that they
     * differ, and refuses them */
    const shoal_convert_options options = {.central_mass = NAN, .epoch = NAN, .notes = stderr};
    table = (shoal_table){.context = context};
    assert_ok(context, shoal_units_parse(context, "AU, Mearth, d", &table.units));
    assert_ok(context, shoal_format_gadget.read(&table, 1, &(char *){(char *)"gadget.hdf5"}, &options));
    assert_string_equal(table.units.length_name, "kpc");
    assert_float_equal(table.bodies[1].m / 2e10, 1, 1e-3);
    shoal_table_release(&table);
}

/* A count that is none is refused, and not taken for no bodies. */
static void test_gadget_counts(void **state)
{
    static const double counts[] = {-1, 1e30, 1.5, NAN};
    shoal_context *context = *state;
    const double time = 0, mass[6] = {[1] = 1};
    for (int k = 0; k < SHOAL_COUNT(counts); k++) {
        const double count[6] = {[3] = counts[k]};
        shoal_h5 h5;
        shoal_table table = {.context = context};
        const shoal_convert_options options = {.central_mass = NAN, .epoch = NAN};
        assert_ok(context, shoal_h5_create(context, "counts.hdf5", H5F_LIBVER_EARLIEST, 1 << 20, &h5));
        const shoal_status status = shoal_h5_group(&h5, "/Header") |
                                    shoal_h5_put_doubles(&h5, "/Header", "NumPart_ThisFile", 6, count) |
                                    shoal_h5_put_doubles(&h5, "/Header", "MassTable", 6, mass) |
                                    shoal_h5_put_doubles(&h5, "/Header", "Time", 0, &time);
        assert_ok(context, shoal_h5_save(&h5, status));
        assert_int_equal(shoal_format_gadget.read(&table, 1, &(char *){"counts.hdf5"}, &options), SHOAL_E_INPUT);
        assert_non_null(strstr(shoal_context_message(context), "NumPart_ThisFile of type 3 is "));
        shoal_table_release(&table);
    }
}

/* What a picture's script says, malloc'd. */
static char *script_of(shoal_context *context, const char *file, const char *kind, shoal_big_frame *frame)
{
    const shoal_plot_options options = {.system = -1, .script = true};
    const shoal_big_kind *found = NULL;
    shoal_big_view view;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_true(shoal_big_view_is(file));
    assert_ok(context, shoal_big_view_open(context, file, &view));
    assert_ok(context, shoal_big_kind_find(&view, kind, &found));
    assert_ok(context, shoal_big_plot(&view, found, &options, frame, out));
    fclose(out);
    shoal_big_view_close(&view);
    return text;
}

/* The cells of the projected density hold the mass of the bodies within the picture; the frame of the first is kept. */
static void test_density(void **state)
{
    shoal_context *context = *state;
    shoal_big_frame frame = {.low = NAN, .high = NAN};
    char *text = script_of(context, "a_0001.hdf5", NULL, &frame), *at = strstr(text, "$cells << EOD\n") + 14;
    const double w = frame.half_width;
    double mass = 0, expected = 0;
    int n = 0;
    for (char *end; strncmp(at, "EOD", 3) != 0; at = end + 1, n++)
        mass += pow(10, strtod(at, &end));
    shoal_table table = read_table(context, "a_0001.hdf5", 0);
    for (long i = 0; i < table.n_bodies; i++)
        expected += fabs(table.bodies[i].x) < w && fabs(table.bodies[i].y) < w ? table.bodies[i].m : 0;
    assert_true(expected > 0.5);
    assert_float_equal(mass * 4 * w * w / n, expected, 0.02); /* smoothing takes some across the edge */
    free(text);
    const shoal_big_frame first = frame;
    free(script_of(context, "a_0002.hdf5", "density", &frame));
    assert_memory_equal(&frame, &first, sizeof frame);
    for (long i = 0; i < table.n_bodies; i++)
        table.bodies[i].x += 50;
    /* far from the origin: about its barycentre */
    assert_ok(context, shoal_table_write(&table, "away.hdf5", shoal_format_gadget.write));
    shoal_big_frame away = {.low = NAN, .high = NAN};
    at = strstr(text = script_of(context, "away.hdf5", "density", &away), "$cells << EOD\n") + 14;
    mass = 0;
    for (char *end; strncmp(at, "EOD", 3) != 0; at = end + 1)
        mass += pow(10, strtod(at, &end));
    assert_float_equal(away.centre[0], 50, 0.1 * w);
    assert_float_equal(mass * 4 * w * w / n, expected, 0.05);
    free(text);
    shoal_table_release(&table);
    static const char *const kinds[] = {"radii", "energy", "profile", "density"};
    for (int k = 0; k < SHOAL_COUNT(kinds); k++) {
        text = script_of(context, "a.h5", kinds[k], &frame);
        assert_non_null(strstr(text, "\nplot $"));
        free(text);
    }
}

/* The profile of Plummer's sphere, whose scale length is 3 pi / 16: 38 shells of 500 bodies, each good to
 * 500^(-1/2), within four times that, and so is their mean. One more, and those that have half of what is left each,
 * are so thick that a fifth is added. */
static void test_profile(void **state)
{
    shoal_context *context = *state;
    const double scale = 3 * M_PI / 16;
    const shoal_big_model model = {.kind = SHOAL_BIG_plummer, .n = 20000, .seed = 1, .mass = 1, .virial_radius = 1};
    shoal_big_frame frame = {0};
    shoal_big_bodies bodies;
    shoal_units units;
    shoal_table table;
    double r, density, sum = 0;
    int n = 0, used;
    assert_ok(context, shoal_units_init(context, NULL, NULL, NULL, NAN, &units));
    assert_ok(context, shoal_big_generate(context, &model, &bodies));
    assert_ok(context, shoal_big_to_table(context, &bodies, &units, &table));
    assert_ok(context, shoal_table_write(&table, "sphere.hdf5", shoal_format_gadget.write));
    shoal_table_release(&table);
    shoal_big_bodies_release(&bodies);
    char *text = script_of(context, "sphere.hdf5", "profile", &frame);
    for (const char *at = strstr(text, "$shells << EOD\n") + 15; sscanf(at, "%lf %lf%n", &r, &density, &used) == 2;
         at += used, n++) {
        const double ratio = density * 4 * M_PI / 3 * pow(scale, 3) * pow(1 + r * r / (scale * scale), 2.5);
        const double bodies_in = n < 39 ? 500 : ldexp(500, 38 - n);
        if (!(fabs(ratio - 1) < 4 / sqrt(bodies_in) + (n < 38 ? 0 : 0.2)))
            fail_msg("shell %d, r = %g: density %g is %g times that of Plummer's sphere", n, r, density, ratio);
        sum += n < 38 ? ratio / 38 : 0;
    }
    assert_int_equal(n, 44);
    assert_true(fabs(sum - 1) < 4 / sqrt(500 * 38));
    free(text);
}

static void test_every_kind_is_a_png(void **state)
{
    shoal_context *context = *state;
    shoal_big_frame frame = {.low = NAN, .high = NAN};
    const shoal_plot_options options = {.system = -1, .picture = "kind.png"};
    shoal_big_view view;
    if (shoal_plot_missing()) {
        print_message("%s\n", shoal_plot_missing());
        skip();
    }
    assert_ok(context, shoal_big_view_open(context, "a.h5", &view));
    for (const shoal_big_kind *kind = shoal_big_kinds; kind->name; kind++) {
        char head[5];
        assert_ok(context, shoal_big_plot(&view, kind, &options, &frame, NULL));
        FILE *file = fopen("kind.png", "rb");
        assert_non_null(file);
        assert_int_equal(fread(head, 1, sizeof head, file), sizeof head);
        assert_memory_equal(head, "\x89PNG\r", sizeof head);
        fseek(file, 0, SEEK_END);
        if (ftell(file) < 3000)
            fail_msg("%s: %ld bytes", kind->name, ftell(file));
        fclose(file);
        unlink("kind.png");
    }
    shoal_big_view_close(&view);
}

/* A run from a file goes on from the state in it. */
static void test_from_file(void **state)
{
    shoal_context *context = *state;
    static const char text[] = "model = { file = \"a_0001.hdf5\"; };\nintegrator = { dt = 0.05; };\n"
                               "run = { t_end = 0.6; engine = \"cpu\"; };\noutput = { snapshots = 0; };\n"
                               "gravitation = { softening = 0.1; };\n";
    shoal_big_record r;
    assert_ok(context, run(context, text, "h.h5", NULL, NULL, NULL));
    assert_ok(context, shoal_big_record_read(context, "h.h5", &r));
    assert_float_equal(r.rows[0][SHOAL_BIG_COLUMN_time], 0.5, 0);
    assert_float_equal(r.rows[r.n_rows - 1][SHOAL_BIG_COLUMN_time], 0.6, 1e-15);
    assert_int_equal(r.bodies.n, 100);
    shoal_big_record_release(&r);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"model = { name = \"plummer\"; };", "model.n"},
        {"model = { n = 10; };", "either model.name or model.file"},
        {"model = { name = \"plumer\"; n = 10; };", "did you mean 'plummer'"},
        {"model = { name = \"plummer\"; n = 1; };", "an integer from 2"},
        {"model = { name = \"plummer\"; n = 10; W0 = 3.0; };", "it is of king"},
        {"model = { name = \"plummer\"; n = 10; }; sweep = ();", "sweep"},
        {"model = { file = \"none\"; seed = 3; };", "no model.seed with model.file"},
        {"model = { name = \"plummer\"; n = 10; seed = 4294967296L; };",
         "model.seed = 4294967296L: expected an integer from 0 to 4294967295"},
        {"model = { name = \"plummer\"; n = 10; r_max = 0.01; };", "model.r_max = 0.01: expected a number >= 0.1"},
        {"model = { name = \"cold\"; n = 10; r_max = 1.0; };", "it is of plummer, hernquist, king and kuzmin"},
    };
    static const struct {
        const char *more, *message;
    } words[] = {
        {"integrator={name=\"hermite6\"; eta=0.1;}", "expected no eta"},
        {"integrator={name=\"leapfrog\"; eta=0.1;}", "expected a gravitation.softening > 0"},
        {"integrator={name=\"leapfrog\";}", "expected dt"},
        {"gravitation.kernel=spline", "expected a gravitation.softening > 0"},
        {"gravitation.softening=-1.0", "expected a number >= 0"},
        {"gravitation.method=row", "did you mean 'rows'"},
        {"gravitation.method=naive", "expected a force method that makes potentials in fp64"},
        {"run={t_end=1.0; engine=\"cpu\"; devices=2;}", "expected run.engine = cuda"},
        {"run.t_end=0.0", "a time other than run.t_start"},
        {"output.interval=0.0", "expected a number > 0"},
    };
    shoal_context *context = *state;
    for (int k = 0; k < SHOAL_COUNT(cases); k++) {
        char text[512];
        shoal_study *study = NULL;
        snprintf(text, sizeof text, "%s\nintegrator = { dt = 0.1; };\nrun = { t_end = 1.0; };\n", cases[k].text);
        assert_int_equal(shoal_study_open(context, "no.cfg", text, 0, NULL, NULL, &study), SHOAL_E_INPUT);
        if (!strstr(shoal_context_message(context), cases[k].message) ||
            !strstr(shoal_context_message(context), "no.cfg:1: "))
            fail_msg("%s", shoal_context_message(context));
    }
    for (int k = 0; k < SHOAL_COUNT(words); k++) {
        shoal_study *study = NULL;
        assert_int_equal(shoal_study_open(context, "no.cfg",
                                          "model = { name = \"plummer\"; n = 10; }; integrator = { dt = 0.1; };\n"
                                          "run = { t_end = 1.0; };\n",
                                          1, &words[k].more, NULL, &study),
                         SHOAL_E_INPUT);
        if (!strstr(shoal_context_message(context), words[k].message))
            fail_msg("%s", shoal_context_message(context));
    }
}

/* Files that hold no bodies that could move; the message names the file. */
static void test_bad_files(void **state)
{
    static const struct {
        const char *file, *text, *message;
    } cases[] = {
        {"no.phigrape", "0\n3\n0.0\n0 0.5 0 0 0 0 0 0\n1 0.5 1 0 0 0 0 0\n", "no.phigrape"},
        {"no.phigrape", "0\n2\n0.0\n0 0.5 0 0 0 0 0 0\n1 0.5 1 0 nan 0 0 0\n", "no.phigrape"},
        {"no.phigrape", "0\n2\n0.0\n0 0.5 0 0 0 0 0 0\n1 -0.5 1 0 0 0 0 0\n", "no.phigrape"},
        {"no.tipsy", "not one", "no.tipsy"},
        {"no.hdf5", "not one", "no.hdf5"},
    };
    shoal_context *context = *state;
    for (int k = 0; k < SHOAL_COUNT(cases); k++) {
        char text[256];
        FILE *out = fopen(cases[k].file, "w");
        assert_non_null(out);
        fputs(cases[k].text, out);
        assert_int_equal(fclose(out), 0);
        snprintf(text, sizeof text,
                 "model = { file = \"%s\"; };\nintegrator = { dt = 0.1; };\nrun = { t_end = 1.0; };\n", cases[k].file);
        assert_int_equal(run(context, text, "no.h5", NULL, NULL, NULL), SHOAL_E_INPUT);
        if (!strstr(shoal_context_message(context), cases[k].message))
            fail_msg("%s", shoal_context_message(context));
    }
    /* bodies of this format are of no component */
    FILE *out = fopen("two.phigrape", "w");
    assert_non_null(out);
    fputs("0\n2\n0.0\n0 0.5 0 0 0 0 0 0\n1 0.5 1 0 0 0 0 0\n", out);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(
        run(context,
            "model = { file = \"two.phigrape\"; components = [ \"gas\" ]; };\nintegrator = { dt = 0.1; };\n"
            "run = { t_end = 1.0; };\n",
            "no.h5", NULL, NULL, NULL),
        SHOAL_E_INPUT);
    assert_non_null(
        strstr(shoal_context_message(context), "model.components: expected a file of tipsy's or gadget's format"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_result),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_going_on),
        cmocka_unit_test(test_another_study),
        cmocka_unit_test(test_another_file),
        cmocka_unit_test(test_snapshots_spare_files),
        cmocka_unit_test(test_no_kernels),
        cmocka_unit_test(test_cuda_going_on),
        cmocka_unit_test(test_cuda_tune),
        cmocka_unit_test(test_cuda_devices),
        cmocka_unit_test(test_later_end),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_file_units),
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_components),
        cmocka_unit_test(test_tipsy_of_stars),
        cmocka_unit_test(test_gadget_units),
        cmocka_unit_test(test_gadget_counts),
        cmocka_unit_test(test_density),
        cmocka_unit_test(test_profile),
        cmocka_unit_test(test_every_kind_is_a_png),
        cmocka_unit_test(test_from_file),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_bad_files),
    };
    return cmocka_run_group_tests(tests, begin, finish);
}
