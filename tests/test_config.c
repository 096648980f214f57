/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_config.c: config files and tables of bodies: what is wrong is refused with its place, its key and what was
 * expected; what is right becomes the systems that it says.
 */
#define _GNU_SOURCE 1
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/report/plot.h"
#include "core/report/report.h"
#include "core/study/study.h"

static char folder[] = "/tmp/shoal-config-XXXXXX";
static char config_path[64], csv_path[64];
static shoal_context *context;

/* A good config; the bad ones are made from it by changing one line. */
static const char *const base[] = {
    "epoch = \"J2000.0\";",
    "units = { length = \"AU\"; mass = \"Msun\"; time = \"yr\"; };",
    "angles = \"degrees\";",
    "system = { elements = \"jacobi\"; bodies = (",
    "  { name = \"sun\"; m = 1; },",
    "  { name = \"b\"; m = 1e-3; a = 5.2; e = 0.05; l = 34; pomega = 14; },",
    "  { name = \"c\"; m = 3e-4; a = 9.5; e = 0.25; l = 50; pomega = 92; } ); };",
    "sweep = ( { body = \"c\"; parameter = \"a\"; from = 7; to = 11; count = 5; } );",
    "integrator = { name = \"mvs\"; dt = 0.25; };",
    "monitors = ( { name = \"stop_on_ejection\"; r_max = 100; } );",
    "run = { t_end = 1000; };",
    "output = { file = \"x.h5\"; };",
};

static void write_file(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

/* The base with line `line` (from 1; 0: none) replaced. */
static void write_base(int line, const char *replacement)
{
    char text[8192] = "";
    for (int i = 0; i < SHOAL_COUNT(base); i++) {
        strcat(text, i + 1 == line ? replacement : base[i]);
        strcat(text, "\n");
    }
    write_file(config_path, text);
}

static shoal_study *load(int n_overrides, const char *const *overrides)
{
    shoal_study *study;
    shoal_status status = shoal_study_load(context, config_path, n_overrides, overrides, &study);
    if (status)
        print_error("%s\n", shoal_context_message(context));
    assert_int_equal(status, SHOAL_OK);
    assert_string_equal(shoal_context_message(context), "");
    return study;
}

static shoal_study *load_text(const char *text)
{
    write_file(config_path, text);
    return load(0, NULL);
}

static void assert_near(double value, double expected, double relative)
{
    if (!(fabs(value - expected) <= relative * fmax(fabs(expected), 1e-300)))
        fail_msg("%.17g is not %.17g within %g", value, expected, relative);
}

/* 0 if loading is refused with a message of one line that begins with path and then `expected`, else 1 and says so. */
static int not_refused(int n_overrides, const char *const *overrides, shoal_status expected_status, const char *path,
                       const char *expected)
{
    shoal_study *study = NULL;
    const shoal_status status = shoal_study_load(context, config_path, n_overrides, overrides, &study);
    const char *message = shoal_context_message(context);
    const size_t length = strlen(path);
    if (status == expected_status && strncmp(message, path, length) == 0 &&
        strncmp(message + length, expected, strlen(expected)) == 0 && !study && !strchr(message, '\n'))
        return 0;
    print_error("expected %d \"%s%s...\", got %d \"%s\"\n", expected_status, path, expected, status, message);
    shoal_study_destroy(&study);
    return 1;
}

/* ---- what is wrong ----------------------------------------------------------------------------------------------- */

static const struct {
    int line;
    const char *text, *expected;
} bad_lines[] = {
    /* syntax and unknown keys */
    {2, "units = { length = ; };", ":2: expected the syntax of libconfig: syntax error"},
    {12, "output = { file = \"x.h5\"; }; run = { t_end = 3; };",
     ":12: expected the syntax of libconfig: duplicate setting name"},
    {12, "outptu = { file = \"x.h5\"; };", ":12: outptu = {...}: expected a known key (did you mean 'output'?)"},
    {11, "run = { t_end = 1000;\n  t_ned = 5; };", ":12: run.t_ned = 5: expected a known key (did you mean 't_end'?)"},
    {12, "output = { qqqqqqqqqq = 1; };", ":12: output.qqqqqqqqqq = 1: expected one of the keys file, interval, times"},
    {6, "{ name = \"b\"; m = 1e-3; a = 5.2; Omeg = 1; },",
     ":6: system.bodies[1].Omeg = 1: expected a known key (did you mean 'Omega'?)"},
    {9, "integrator = { name = \"mvs\"; dt = 0.25; compensate = true; };",
     ":9: integrator.compensate = true: expected a known key (did you mean 'compensated'?)"},
    {10, "monitors = ( { name = \"stop_on_ejection\"; rmax = 100; } );",
     ":10: monitors[0].rmax = 100: expected a known key (did you mean 'r_max'?)"},
    /* names */
    {2, "units = { length = \"AUU\"; };", ":2: units.length = \"AUU\": expected a unit of length: one of AU, "},
    {2, "units = { time = \"yr\"; G = 1.0; };", ":2: units.G = 1.0: expected units that agree: "},
    {2, "units = { G = -1; };", ":2: units.G = -1: expected a number > 0"},
    {3, "angles = \"degree\";", ":3: angles = \"degree\": expected one of radians, degrees (did you mean 'degrees'?)"},
    {3, "# angles", ":6: system.bodies[1].l = 34: expected at most 2 pi radians, or angles = \"degrees\""},
    {4, "system = { elements = \"jakobi\"; bodies = (",
     ":4: system.elements = \"jakobi\": expected one of jacobi, astrocentric, barycentric, cartesian (did you mean "
     "'jacobi'?)"},
    {9, "integrator = { name = \"mwvs\"; dt = 0.25; };",
     ":9: integrator.name = \"mwvs\": expected a propagator: one of "},
    {10, "monitors = ( { name = \"stop_on_ejecton\"; } );",
     ":10: monitors[0].name = \"stop_on_ejecton\": expected a monitor: one of "},
    {10, "monitors = ( { name = \"stop_on_ejection\"; r_max = 9; },\n { name = \"stop_on_ejection\"; r_max = 9; } );",
     ":11: monitors[1].name = \"stop_on_ejection\": expected each monitor at most once"},
    {10, "monitors = ( { r_max = 3; } );", ":10: monitors[0].name: expected "},
    {10, "monitors = ( { name = \"mean_motion_drift\"; body = \"d\"; } );",
     ":10: monitors[0].body = \"d\": expected a body's name or index"},
    {10, "monitors = ( { name = \"mean_motion_drift\"; body = 3; } );",
     ":10: monitors[0].body = 3: expected a body from 0 to 2, or -1 for the last"},
    {11, "run = { t_end = 1000; engine = \"gpu\"; };", ":11: run.engine = \"gpu\": expected one of auto, cpu, cuda"},
    /* types */
    {1, "epoch = 2000;", ":1: epoch = 2000: expected a string in quotes"},
    {9, "integrator = \"mvs\";", ":9: integrator = \"mvs\": expected a group { ... }"},
    {9, "integrator = { name = \"mvs\"; dt = \"0.25\"; };",
     ":9: integrator.dt = \"0.25\": expected a number > 0 in yr"},
    {9, "integrator = { name = \"mvs\"; dt = 0.25; compensated = 1; };",
     ":9: integrator.compensated = 1: expected true or false"},
    {10, "monitors = { name = \"stop_on_ejection\"; };", ":10: monitors = {...}: expected a list of groups"},
    {10, "monitors = ( \"stop_on_ejection\" );", ":10: monitors[0] = \"stop_on_ejection\": expected a group { ... }"},
    {11, "run = { t_end = 1000; threads = 1.5; };", ":11: run.threads = 1.5: expected an integer from 0 to 4096"},
    {11, "run = { t_end = 1000; lanes = 3; };", ":11: run.lanes = 3: expected one of 0, 1, 4, 8"},
    {12, "output = { times = 5; };", ":12: output.times = 5: expected an array of numbers [ ... ]"},
    {12, "output = { times = (1, \"2\"); };", ":12: output.times[1] = \"2\": expected a number in yr"},
    /* numbers out of bounds or beyond the parser */
    {11, "run = { t_end = 1e999; };", ":11: run.t_end = inf: expected a finite number"},
    {11, "run = { t_end = 5000000000; };", ":11: 5000000000: expected an integer of 32 bits"},
    {11, "/* t = 5000000000 \n */ # 5000000000\n run = { t_end = -3000000000; };",
     ":13: -3000000000: expected an integer of 32"},
    {9, "integrator = { name = \"mvs\"; dt = 0; };", ":9: integrator.dt = 0: expected a number > 0 in yr"},
    {9, "integrator = { name = \"mvs\"; dt = -0.25; };", ":9: integrator.dt = -0.25: expected a number > 0 in yr"},
    {9, "integrator = { name = \"mvs\"; dt = 1; steps_per_orbit = 20; };",
     ":9: integrator.steps_per_orbit = 20: expected either dt or steps_per_orbit"},
    {9, "integrator = { name = \"mvs\"; };", ":9: integrator = {...}: expected dt or steps_per_orbit"},
    {10, "monitors = ( { name = \"stop_on_ejection\"; r_max = -1; } );",
     ":10: monitors[0].r_max = -1: expected a number "},
    {11, "run = { t_end = 0; };", ":11: run.t_end = 0: expected a time other than run.t_start"},
    {11, "run = { t_start = 1; };", ":11: run.t_end: expected a time, or run.orbits"},
    {11, "run = { t_end = 1000; orbits = 5; };", ":11: run.orbits = 5: expected either run.t_end or run.orbits"},
    {11, "run = { orbits = 0; };", ":11: run.orbits = 0: expected a number other than 0"},
    {11, "", ":1: run: expected a group { ... }: it must be given"},
    {12, "output = { interval = 0; };", ":12: output.interval = 0: expected a number > 0 in yr"},
    {12, "output = { times = [1, 2000]; };",
     ":12: output.times[1] = 2000: expected a time from run.t_start to run.t_end"},
    /* bodies */
    {4, "system = { }; ignored = { bodies = (", ":4: ignored = {...}: expected one of the keys"},
    {5, "{ name = \"sun\"; m = -1; },", ":5: system.bodies[0].m = -1: expected a number >= 0 in Msun"},
    {5, "{ name = \"sun\"; },", ":5: system.bodies[0].m: expected a mass: it must be given"},
    {5, "{ m = 1; },", ":5: system.bodies[0].name: expected "},
    {5, "{ name = \"sun\"; m = 1; a = 3; },",
     ":5: system.bodies[0].a = 3: expected no elements (a) for the first body"},
    {6, "{ name = \"c\"; m = 1e-3; a = 5.2; },",
     ":7: system.bodies[2].name = \"c\": expected a name that no other body has"},
    {6, "{ name = \"b\"; m = 1e-3; },",
     ":6: system.bodies[1] = {...}: expected one of a, P, period_ratio, hill_spacing, the size of the orbit"},
    {6, "{ name = \"b\"; m = 1e-3; a = 5.2;\n P = 11; },",
     ":7: system.bodies[1].P = 11: expected only one of a, P, period_ratio, hill_spacing; given are a, P"},
    {6, "{ name = \"b\"; m = 1e-3; a = 5.2; M = 3;\n l = 4; },",
     ":7: system.bodies[1].l = 4: expected only one of f, M, E, l, theta, T, T0, delta_l; given are M, l"},
    {6, "{ name = \"b\"; m = 1e-3; a = 5.2; omega = 3;\n pomega = 4; },",
     ":7: system.bodies[1].pomega = 4: expected only one of omega, pomega"},
    {6, "{ name = \"b\"; m = 1e-3; a = 5.2; h = 0.1; k = 0.1;\n e = 0.1; },",
     ":7: system.bodies[1].e = 0.1: expected either h, k or e"},
    {6, "{ name = \"b\"; m = 1e-3; a = 5.2; h = 0.1; },",
     ":6: system.bodies[1].h = 0.1: expected h, k together; there is no k"},
    {6, "{ name = \"b\"; m = 1e-3; a = 5.2; ix = 0.1; iy = 0.1;\n Omega = 0.1; },",
     ":7: system.bodies[1].Omega = 0.1: expected either ix, iy or Omega"},
    {6, "{ name = \"b\"; m = 1e-3; a = 5.2; inc = 200; },",
     ":6: system.bodies[1].inc = 200: expected a number from 0 to 180 in deg"},
    {6, "{ name = \"b\"; m = 1e-3; a = 5.2;\n e = 1.5; },",
     ":7: system.bodies[1].e = 1.5: expected elements of a possible orbit, not e > 1 with a > 0"},
    {6, "{ name = \"b\"; m = 1e-3; P = 5.2; e = 1.5; },",
     ":6: system.bodies[1].e = 1.5: expected elements of a possible orbit"},
    {6, "{ name = \"b\"; m = 1e-3; a = 5.2; e = 1; },",
     ":6: system.bodies[1].e = 1: expected elements of a possible orbit"},
    {6, "{ name = \"b\"; m = 1e-3; a = -5.2; e = 2; f = 150; },",
     ":6: system.bodies[1].e = 2: expected elements of a possible orbit"},
    {6, "{ name = \"b\"; m = 1e-3; a = 0; },",
     ":6: system.bodies[1].a = 0: expected elements of a possible orbit, not a = 0"},
    {6, "{ name = \"b\"; m = 1e-3; x = 5.2; },",
     ":6: system.bodies[1].x = 5.2: expected elements, not x: bodies are either all"},
    {6, "{ name = \"b\"; msini = 1e-3; a = 5.2; inc = 80;\n m = 1e-3; },",
     ":7: system.bodies[1].m = 0.001: expected only one of m, msini"},
    {6, "{ name = \"b\"; msini = 1e-3; a = 5.2; },",
     ":6: system.bodies[1].msini = 0.001: expected inc (or ix, iy, cosi, b) with msini"},
    {6, "{ name = \"b\"; msini = 1e-3; a = 5.2; inc = 0; },",
     ":6: system.bodies[1].msini = 0.001: expected an inclination other than 0 with msini"},
    {6, "{ name = \"b\"; m = 1e-3; period_ratio = 2; },",
     ":6: system.bodies[1].period_ratio = 2: expected another body before it that has an orbit"},
    {7, "{ name = \"c\"; m = 3e-4; e = 0.1;\n period_ratio = 2; hill_spacing = 3; } ); };",
     ":9: sweep[0].parameter = \"a\": expected only one of a, P, period_ratio, hill_spacing; "
     "given are a, period_ratio, hill_spacing"},
    {7, "{ name = \"c\"; m = 3e-4; a = 9; relative_to = \"b\"; } ); };",
     ":7: system.bodies[2].relative_to = \"b\": expected one of period_ratio, hill_spacing, delta_pomega, delta_l with "
     "it"},
    {7, "{ name = \"c\"; m = 3e-4; P = 9; relative_to = \"c\"; delta_l = 3; } ); };",
     ":7: system.bodies[2].relative_to = \"c\": expected a body's name or index"},
    {4, "system = { elements = \"cartesian\"; bodies = (",
     ":5: system.bodies[0] = {...}: expected x, y, z, vx, vy, vz; there is no"},
    {4, "system = { file = \"b.csv\"; bodies = (",
     ":4: system.bodies = (...): expected no system.bodies with system.file"},
    {4, "system = { count = 0; bodies = (", ":4: system.count = 0: expected an integer from 1 to"},
    /* grids and samples */
    {8, "sweep = ( { body = \"d\"; parameter = \"a\"; from = 7; to = 11; count = 5; } );",
     ":8: sweep[0].body = \"d\": expected a body's name or index"},
    {8, "sweep = ( { body = \"c\"; parameter = \"omga\"; from = 7; to = 11; count = 5; } );",
     ":8: sweep[0].parameter = \"omga\": expected a number of a body (`shoal explain system.bodies`) (did you mean"},
    {8, "sweep = ( { body = \"c\"; parameter = \"a\"; from = 7; to = 11; count = 0; } );",
     ":8: sweep[0].count = 0: expected an integer from 1 to"},
    {8, "sweep = ( { body = \"c\"; parameter = \"a\"; from = 7; to = 11; } );",
     ":8: sweep[0].count: expected from, to and count, or values"},
    {8, "sweep = ( { body = \"c\"; parameter = \"a\"; values = []; } );",
     ":8: sweep[0].values = []: expected at least one value"},
    {8, "sweep = ( { body = \"c\"; parameter = \"a\"; values = [1.0]; from = 3; } );",
     ":8: sweep[0].from = 3: expected either values or from, to, count, scale"},
    {8, "sweep = ( { body = \"c\"; parameter = \"e\"; values = [0.1, -0.1]; } );",
     ":8: sweep[0].values[1] = -0.1: expected a number >= 0"},
    {8, "sweep = ( { body = \"c\"; parameter = \"a\"; from = 0; to = 11; count = 5; scale = \"log\"; } );",
     ":8: sweep[0].from = 0: expected a number > 0 with scale \"log\""},
    {8, "sweep = ( { body = \"c\"; parameter = \"P\"; from = 7; to = 11; count = 5; } );",
     ":8: sweep[0].parameter = \"P\": expected only one of a, P, period_ratio, hill_spacing; given are a, P"},
    {8,
     "sweep = ( { body = \"c\"; parameter = \"a\"; from = 7; to = 11; count = 5; },\n"
     "{ body = 2; parameter = \"a\"; from = 7; to = 11; count = 5; } );",
     ":9: sweep[1].parameter = \"a\": expected a parameter that is varied only once"},
    {8,
     "sweep = ( { body = \"c\"; parameter = \"a\"; from = 7; to = 11; count = 100000; },\n"
     "{ body = \"c\"; parameter = \"e\"; from = 0; to = 0.5; count = 100000; } );",
     ":8: sweep = (...): expected at most 2147483615 systems in all; these are 10000000000"},
    {8, "sample = { count = 3; };", ":8: sample.parameters: expected what is random: it must be given"},
    {8, "sample = { count = 3; parameters = (); };",
     ":8: sample.parameters = (): expected at least one random parameter"},
    {8, "sample = { count = 3; parameters = ( { body = \"c\"; parameter = \"e\"; distribution = \"gauss\"; } ); };",
     ":8: sample.parameters[0].distribution = \"gauss\": expected one of uniform, log_uniform, normal"},
    {8,
     "sample = { count = 3; parameters = ( { body = \"c\"; parameter = \"e\"; distribution = \"normal\"; mean = 1; } "
     "); };",
     ":8: sample.parameters[0].sigma: expected a number: distribution 'normal' needs mean,sigma"},
    {8,
     "sample = { count = 3; parameters = ( { body = \"c\"; parameter = \"e\"; distribution = \"rayleigh\"; mean = 1; "
     "} ); };",
     ":8: sample.parameters[0].mean = 1: expected no 'mean' with distribution 'rayleigh': it takes sigma"},
    {8,
     "sample = { count = 3; parameters = ( { body = \"c\"; parameter = \"e\"; distribution = \"rayleigh\"; sigma = 0; "
     "} ); };",
     ":8: sample.parameters[0].sigma = 0: expected a number > 0"},
    {8,
     "sample = { count = 3; parameters = ( { body = 2; parameter = \"a\"; distribution = \"uniform\"; from = 3; to = "
     "2; } ); };",
     ":8: sample.parameters[0].to = 2: expected more than from = 3"},
    {8,
     "sample = { count = 3; parameters = ( { body = 2; parameter = \"l\"; distribution = \"isotropic\"; to = 190; } ); "
     "};",
     ":8: sample.parameters[0].to = 190: expected a number from 0 to 180 in deg"},
    {8,
     "sample = { count = 3; parameters = ( { body = 2; parameter = \"a\"; distribution = \"power_law\"; from = 0; to = "
     "3;\n"
     "exponent = -2; } ); };",
     ":8: sample.parameters[0].from = 0: expected a number > 0 with distribution 'power_law'"},
    {8, "sample = { count = 3; parameters = ( { body = 2; parameter = \"a\"; distribution = \"isotropic\"; } ); };",
     ":8: sample.parameters[0].distribution = \"isotropic\": expected 'isotropic' for an angle only"},
};

static void bad_lines_are_refused(void **state)
{
    (void)state;
    int n_wrong = 0;
    for (int i = 0; i < SHOAL_COUNT(bad_lines); i++) {
        write_base(bad_lines[i].line, bad_lines[i].text);
        n_wrong += not_refused(0, NULL, SHOAL_E_INPUT, config_path, bad_lines[i].expected);
    }
    assert_int_equal(n_wrong, 0);
}

static void too_few_bodies_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bodies, *expected;
    } cases[] = {
        {"bodies = ();", ":1: system.bodies = (): expected at least 2 bodies; found 0"},
        {"bodies = ({ name = \"sun\"; m = 1; });", ":1: system.bodies = (...): expected at least 2 bodies; found 1"},
        {"bodies = ({ name = \"sun\"; m = 0; }, { name = \"b\"; m = 0; a = 1; });",
         ":1: system.bodies = (...): expected masses whose sum is > 0"},
        {"count = 2;", ":1: system = {...}: expected bodies or file"},
        {"bodies = ({ name = \"p\"; m = 1; x = 0; y = 0; z = 0; vx = 0; vy = 0; vz = 0; },"
         " { name = \"q\"; m = 1; x = 0; y = 0; z = 0; vx = 0; vy = 0; vz = 0; });",
         ":1: system.bodies = (...): expected possible initial conditions: "},
    };
    int n_wrong = 0;
    for (int i = 0; i < SHOAL_COUNT(cases); i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "system = { %s };\nintegrator = { name = \"hermite4\"; dt = 1; };\nrun = { t_end = 5; };\n",
                 cases[i].bodies);
        write_file(config_path, text);
        n_wrong += not_refused(0, NULL, SHOAL_E_INPUT, config_path, cases[i].expected);
    }
    assert_int_equal(n_wrong, 0);
}

static void bad_overrides_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *override, *expected;
        shoal_status status;
    } cases[] = {
        {"run.t_end", "command line: run.t_end: expected path.to.key=value", SHOAL_E_USAGE},
        {"=5", "command line: =5: expected path.to.key=value", SHOAL_E_USAGE},
        {"run.t_end=", "command line: run.t_end=: expected path.to.key=value", SHOAL_E_USAGE},
        {"run.t_end=(1", "command line: run.t_end=(1: expected a number, a string", SHOAL_E_USAGE},
        {"run.t_end=1; x = 2", "command line: run.t_end=1; x = 2: expected a number, a string", SHOAL_E_USAGE},
        {"run.t_end=5000000000", "command line: run.t_end=5000000000: expected a number, a string", SHOAL_E_USAGE},
        {"run.t_ned=5", "command line: run.t_ned=5: expected a known key (did you mean 't_end'?)", SHOAL_E_INPUT},
        {"run.t_end=soon", "command line: run.t_end=soon: expected a number in yr", SHOAL_E_INPUT},
        {"integrator.dt=nan", "command line: integrator.dt=nan: expected a number > 0 in yr", SHOAL_E_INPUT},
        {"rnu.t_end=5", "command line: rnu.t_end=5: expected a known key (did you mean 'run'?)", SHOAL_E_INPUT},
        {"system.bodies.d.a=5", "command line: system.bodies.d.a=5: expected a path to a key; there is no 'd'",
         SHOAL_E_INPUT},
        {"system.bodies[9].a=5", "command line: system.bodies[9].a=5: expected a path to a key; there is no '9'",
         SHOAL_E_INPUT},
        {"run.t_end.x=5", "command line: run.t_end.x=5: expected a path to a key; there is no 't_end'", SHOAL_E_INPUT},
        {"monitors=({ name = \"stop_on_ejection\"; rmax = 3; })",
         "command line: monitors=({ name = \"stop_on_ejection\"; rmax = 3; }): expected a known key (did you mean "
         "'r_max'?)",
         SHOAL_E_INPUT},
    };
    int n_wrong = 0;
    write_base(0, NULL);
    for (int i = 0; i < SHOAL_COUNT(cases); i++)
        n_wrong += not_refused(1, &cases[i].override, cases[i].status, "", cases[i].expected);
    assert_int_equal(n_wrong, 0);
}

static void missing_files_are_refused(void **state)
{
    (void)state;
    shoal_study *study;
    assert_int_equal(shoal_study_load(context, "/nonexistent/x.cfg", 0, NULL, &study), SHOAL_E_FILE);
    assert_non_null(strstr(shoal_context_message(context), "/nonexistent/x.cfg: cannot be read"));
    assert_int_equal(shoal_study_load(context, folder, 0, NULL, &study),
                     SHOAL_E_FILE); /* libconfig would end the process */
    write_file(config_path, "@include \"../\"\n");
    assert_int_equal(shoal_study_load(context, config_path, 0, NULL, &study), SHOAL_E_FILE);
    assert_null(study);
}

static void included_files_are_checked(void **state)
{
    (void)state;
    write_file(csv_path, "run = { t_end = 5000000000; };\n");
    write_base(11, "@include \"bodies.csv\"");
    assert_int_equal(not_refused(0, NULL, SHOAL_E_INPUT, csv_path, ":1: 5000000000: expected an integer"), 0);
    write_file(csv_path, "\nrun = { t_end = \"x\"; };\n");
    shoal_study *study;
    assert_int_equal(shoal_study_load(context, config_path, 0, NULL, &study), SHOAL_E_INPUT);
    assert_non_null(strstr(shoal_context_message(context), "bodies.csv:2: run.t_end = \"x\": expected a number"));
    write_file(csv_path, "run = { t_end = 5e9; };\n");
    study = load(0, NULL);
    assert_near(study->options.t_end / study->units.time, 5e9, 1e-15);
    shoal_study_destroy(&study);
}

#define CSV_CONFIG \
    "system = { file = \"bodies.csv\"; };\nintegrator = { name = \"hermite4\"; dt = 1; };\nrun = { t_end = 5; };\n"
#define HEADER "system,body,name,m,x,y,z,vx,vy,vz\n"

static void bad_tables_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"", ":1: expected a header and at least one system"},
        {HEADER, ":1: expected a header and at least one system"},
        {"system,body,m\n", ":1: column 3 = m: expected name"},
        {"system,body,name,m\n", ":1: expected the columns system,body,name,m,x,y,z,vx,vy,vz and optionally r"},
        {HEADER "0,0,sun,1,0,0,0,0,0\n", ":2: expected 10 cells, found 9"},
        {HEADER "0,0,sun,1,0,0,0,0,0,zero\n", ":2: vz = zero: expected a finite number"},
        {HEADER "0,0,sun,1,0,0,0,0,0,inf\n", ":2: vz = inf: expected a finite number"},
        {HEADER "0,0,sun,-1,0,0,0,0,0,0\n", ":2: m = -1: expected a number >= 0"},
        {HEADER "0.5,0,sun,1,0,0,0,0,0,0\n", ":2: system = 0.5: expected an integer from 0 on"},
        {HEADER "0,0,,1,0,0,0,0,0,0\n", ":2: name = : expected a name of at most 31 characters"},
        {HEADER "0,0,sun,1,0,0,0,0,0,0\n0,2,b,0,1,0,0,0,1,0\n",
         ":3: body = 2: expected 1: the bodies of a system in order"},
        {HEADER "0,0,sun,1,0,0,0,0,0,0\n", ":2: system = 0: expected at least 2 bodies"},
        {HEADER "0,0,s,1,0,0,0,0,0,0\n0,1,b,0,1,0,0,0,1,0\n1,0,s,1,0,0,0,0,0,0\n1,1,b,0,1,0,0,0,1,0\n"
                "0,0,s,1,0,0,0,0,0,0\n0,1,b,0,1,0,0,0,1,0\n",
         ":6: system = 0: expected the lines of a system together; its others begin in line 2"},
        {HEADER "0,0,s,1,0,0,0,0,0,0\n0,1,b,0,0,0,0,0,1,0\n", ":2: system = 0: expected possible initial conditions: "},
    };
    int n_wrong = 0;
    write_file(config_path, CSV_CONFIG);
    for (int i = 0; i < SHOAL_COUNT(cases); i++) {
        write_file(csv_path, cases[i].text);
        n_wrong += not_refused(0, NULL, SHOAL_E_INPUT, csv_path, cases[i].expected);
    }
    unlink(csv_path);
    n_wrong += not_refused(0, NULL, SHOAL_E_FILE, csv_path, ": cannot be read");
    assert_int_equal(n_wrong, 0);
}

/* ---- what is right ----------------------------------------------------------------------------------------------- */

/* Jacobi orbit of a body of a system as loaded. */
static shoal_orbit orbit_of(const shoal_study *study, long system, int body)
{
    shoal_body bodies[8];
    shoal_orbit orbits[8];
    shoal_system record;
    shoal_ensemble_get_system(study->ensemble, system, &record);
    shoal_ensemble_get_bodies(study->ensemble, system, bodies);
    assert_int_equal(shoal_orbits_from_bodies(context, SHOAL_JACOBI, record.n_live, bodies, orbits), SHOAL_OK);
    return orbits[body];
}

static double degrees_apart(double angle, double degrees)
{
    return fabs(remainder(angle * 180 / M_PI - degrees, 360));
}

static void grid_order_values_and_held_elements(void **state)
{
    (void)state;
    write_base(8, "sweep = ( { body = \"c\"; parameter = \"e\"; values = (0, 0.25); },\n"
                  "          { body = \"c\"; parameter = \"a\"; from = 7; to = 28; count = 3; scale = \"log\"; } );");
    shoal_study *study = load(0, NULL);
    const double e[] = {0, 0.25}, a[] = {7, 14, 28};
    assert_int_equal(study->ensemble->n_systems, 6);
    assert_int_equal(study->n_axes, 2);
    assert_int_equal(study->n_swept, 2);
    assert_string_equal(study->swept[0].name, "c.e");
    assert_string_equal(study->swept[0].unit, "");
    assert_string_equal(study->swept[1].name, "c.a");
    assert_string_equal(study->swept[1].unit, "AU");
    assert_string_equal(study->axes[1].column, "c.a");
    assert_int_equal(study->axes[1].count, 3);
    assert_true(study->axes[1].logarithmic && !study->axes[0].logarithmic);
    assert_true(study->swept[1].value[2] == 28 && study->swept[1].value[3] == 7); /* ends are exact */
    for (long s = 0; s < 6; s++) {
        assert_near(study->swept[0].value[s], e[s / 3], 0);
        assert_near(study->swept[1].value[s], a[s % 3], 1e-15);
        const shoal_orbit b = orbit_of(study, s, 1), c = orbit_of(study, s, 2);
        assert_near(c.a, a[s % 3], 1e-12);
        assert_true(fabs(c.e - e[s / 3]) < 1e-12);
        /* l and pomega are held, so M is l - pomega for every e (M + omega = l for the circle) */
        assert_true(degrees_apart(c.M + c.omega + c.Omega, 50) < 1e-6);
        if (e[s / 3] > 0)
            assert_true(degrees_apart(c.omega + c.Omega, 92) < 1e-9);
        assert_near(b.a, 5.2, 1e-12); /* not swept */
        assert_true(study->ensemble->id[s] == s);
        assert_near(*shoal_ensemble_field(study->ensemble, SHOAL_SYS_DT, s), 0.25 * study->units.time, 0);
    }
    shoal_study_destroy(&study);
    assert_null(study);
}

static void impossible_grid_points_are_invalid(void **state)
{
    (void)state;
    write_base(8, "sweep = ( { body = \"c\"; parameter = \"e\"; values = [0.5, 1.0, 1.5]; } );");
    shoal_study *study = load(0, NULL);
    for (long s = 0; s < 3; s++)
        assert_int_equal(*shoal_ensemble_field(study->ensemble, SHOAL_SYS_OUTCOME, s),
                         s ? SHOAL_INVALID : SHOAL_RUNNING);
    shoal_study_destroy(&study);
}

/* Each way to say where the planet is: M at t_start for a = 1, e = 0.2, inc = 20, Omega = 30, omega = 40, M = 50
 * (degrees). */
static void elements_agree(void **state)
{
    (void)state;
    const double degree = M_PI / 180, e = 0.2, M = 50 * degree, f = shoal_true_anomaly(e, M);
    const double E = 2 * atan(sqrt((1 - e) / (1 + e)) * tan(f / 2));
    /* inner units with all the mass in the star: n = 1, so T = t_start - M */
    const double t = -3, T = t - M, T0 = t - (M - shoal_mean_anomaly(e, M_PI / 2 - 40 * degree));
    const struct {
        const char *rest;
        double value;
    } ways[] = {
        {"omega = 40; M = 50", 0},     {"pomega = 70; M = 50", 0}, {"omega = 40; f", f / degree},
        {"omega = 40; E", E / degree}, {"omega = 40; l = 120", 0}, {"omega = 40; theta", 70 + f / degree},
        {"omega = 40; T", T},          {"omega = 40; T0", T0},
    };
    const char *shapes[] = {
        "a = 1; e = 0.2; inc = 20; Omega = 30;", "P = 6.283185307179586; e = 0.2; inc = 20; Omega = 30;",
        "a = 1; e = 0.2; ix = 0.30076746636087175; iy = 0.17364817766693033;", /* 2 sin(10) (cos 30, sin 30) */
    };
    for (int shape = 0; shape < SHOAL_COUNT(shapes); shape++)
        for (int way = 0; way < SHOAL_COUNT(ways); way++) {
            char text[1024], value[64] = "";
            if (ways[way].value != 0)
                snprintf(value, sizeof value, " = %.17g", ways[way].value);
            snprintf(text, sizeof text,
                     "angles = \"degrees\"; units = { time = \"yr/2pi\"; }; system = { bodies = ( { name = \"s\"; m = "
                     "1; },\n"
                     "{ name = \"p\"; m = 0; %s %s%s; } ); };\n"
                     "integrator = { name = \"mvs\"; dt = 0.1; }; run = { t_start = -3.0; t_end = 5; };",
                     shapes[shape], ways[way].rest, value);
            shoal_study *study = load_text(text);
            const shoal_orbit orbit = orbit_of(study, 0, 1);
            assert_near(orbit.a, 1, 1e-12);
            assert_near(orbit.e, 0.2, 1e-12);
            assert_near(orbit.inc, 20 * degree, 1e-12);
            assert_near(orbit.Omega, 30 * degree, 1e-12);
            assert_near(orbit.omega, 40 * degree, 1e-11);
            assert_near(orbit.M, M, 1e-11);
            shoal_study_destroy(&study);
        }
}

static void h_k_and_retrograde(void **state)
{
    (void)state;
    /* pomega = 60 = Omega - omega on a retrograde orbit: omega = -30; l = pomega - M = 20: M = 40 */
    shoal_study *study = load_text(
        "angles = \"degrees\"; system = { bodies = ( { name = \"s\"; m = 1; },\n"
        "{ name = \"p\"; m = 0; a = 2; inc = 150; Omega = 30; h = 0.17320508075688773; k = 0.1; l = 20; } ); };\n"
        "integrator = { name = \"mvs\"; dt = 0.1; }; run = { t_end = 5; };");
    const shoal_orbit orbit = orbit_of(study, 0, 1);
    assert_near(orbit.e, 0.2, 1e-12);
    assert_true(degrees_apart(orbit.omega, -30) < 1e-9);
    assert_true(degrees_apart(orbit.M, 40) < 1e-9);
    shoal_study_destroy(&study);
}

#define SAMPLED(system, count, first)                                                                    \
    "system = { " system " bodies = ( { name = \"s\"; m = 1; }, { name = \"p\"; m = 0; a = 1; } ); };\n" \
    "sample = { " count " seed = 7; parameters = ( " first                                               \
    "{ body = \"p\"; parameter = \"e\"; distribution = \"rayleigh\"; sigma = 0.1; },\n"                  \
    "{ body = \"p\"; parameter = \"inc\"; distribution = \"isotropic\"; },\n"                            \
    "{ body = \"p\"; parameter = \"M\"; distribution = \"uniform\"; from = 0; to = 6; } ); };\n"         \
    "integrator = { name = \"mvs\"; dt = 0.1; }; run = { t_end = 5; };"

static void samples_are_keyed_by_id(void **state)
{
    (void)state;
    shoal_study *many = load_text(SAMPLED("", "count = 2000;", ""));
    shoal_study *few = load_text(SAMPLED("count = 10;", "", ""));
    assert_int_equal(many->ensemble->n_systems, 2000);
    assert_int_equal(few->ensemble->n_systems, 10);
    assert_int_equal(many->n_axes, 0);
    assert_true(many->seed == 7);
    double sum[3] = {0};
    for (int column = 0; column < 3; column++)
        for (long s = 0; s < 2000; s++) {
            const double value = many->swept[column].value[s];
            if (s < 10)
                assert_true(value == few->swept[column].value[s]);
            for (long other = 0; other < s && s < 200; other++)
                assert_true(value != many->swept[column].value[other]);
            sum[column] += value / 2000;
        }
    /* means within five of their standard errors */
    assert_true(fabs(sum[0] - 0.1 * sqrt(M_PI / 2)) < 5 * 0.0655 / sqrt(2000));
    assert_true(fabs(sum[1] - M_PI / 2) < 5 * 0.684 / sqrt(2000));
    assert_true(fabs(sum[2] - 3) < 5 * 1.732 / sqrt(2000));
    const shoal_orbit orbit = orbit_of(many, 1999, 1);
    assert_near(orbit.e, many->swept[0].value[1999], 1e-10);
    assert_near(orbit.inc, many->swept[1].value[1999], 1e-10);

    const char *seed = "sample.seed=8";
    shoal_study *other = load(1, &seed);
    assert_true(other->swept[0].value[0] != few->swept[0].value[0]);
    shoal_study_destroy(&other);
    shoal_study_destroy(&few);
    shoal_study_destroy(&many);
}

static void every_distribution_stays_within_its_range(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double least, most, mean, error; /* error: five standard errors of 4000 values */
    } cases[] = {
        {"\"uniform\"; from = 1; to = 3;", 1, 3, 2, 0.046},
        {"\"log_uniform\"; from = 1; to = 100;", 1, 100, 99 / 4.605170185988091, 2},
        {"\"normal\"; mean = 5; sigma = 0.5;", 2, 8, 5, 0.04},
        {"\"truncated_normal\"; mean = 0; sigma = 1; from = 3; to = 4;", 3, 4, 3.26045, 0.02},
        {"\"truncated_normal\"; mean = 0; sigma = 1; from = -1; to = 1;", -1, 1, 0, 0.044},
        {"\"rayleigh\"; sigma = 2;", 0, 20, 2.5066282746310002, 0.11},
        {"\"exponential\"; mean = 2;", 0, 40, 2, 0.16},
        {"\"exponential\"; mean = 2; from = 1; to = 3;", 1, 3, 1.8360470, 0.046},
        {"\"log_normal\"; mean = 0; sigma = 1; to = 1;", 0, 1, 0.5231565, 0.022},
        {"\"beta\"; alpha = 2; beta = 2;", 0, 1, 0.5, 0.018},
        {"\"beta\"; alpha = 2; beta = 2; from = 0.5;", 0.5, 1, 0.6875, 0.011},
    };
    for (int i = 0; i < SHOAL_COUNT(cases); i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "angles = \"radians\"; system = { bodies = ( { name = \"s\"; m = 1; }, { name = \"p\"; m = 0; a = 1; "
                 "} ); };\n"
                 "sample = { count = 4000; parameters = ( { body = 1; parameter = \"M\"; distribution = %s } ); };\n"
                 "integrator = { dt = 0.1; }; run = { t_end = 5; };",
                 cases[i].text);
        shoal_study *study = load_text(text);
        double mean = 0;
        for (long s = 0; s < 4000; s++) {
            const double value = study->swept[0].value[s];
            assert_true(value >= cases[i].least && value <= cases[i].most);
            mean += value / 4000;
        }
        if (!(fabs(mean - cases[i].mean) < cases[i].error))
            fail_msg("%s has the mean %g", cases[i].text, mean);
        shoal_study_destroy(&study);
    }
}

static void grid_with_samples(void **state)
{
    (void)state;
    write_base(8, "sweep = ( { body = \"c\"; parameter = \"a\"; from = 7; to = 8; count = 2; } );\n"
                  "sample = { count = 3; parameters = ( { body = \"b\"; parameter = \"l\"; distribution = \"uniform\"; "
                  "from = 0; to = 360; } ); };");
    shoal_study *study = load(0, NULL);
    assert_int_equal(study->ensemble->n_systems, 6);
    assert_int_equal(study->n_axes, 2); /* the samples are the fastest axis */
    assert_int_equal(study->axes[1].count, 3);
    assert_string_equal(study->axes[1].column, "sample");
    assert_int_equal(study->n_swept, 3);
    assert_string_equal(study->swept[1].unit, "deg");
    for (long s = 0; s < 6; s++) {
        assert_true(study->swept[0].value[s] == 7 + s / 3);
        assert_true(study->swept[2].value[s] == s % 3);
        const shoal_orbit b = orbit_of(study, s, 1);
        assert_true(degrees_apart(b.Omega + b.omega + b.M, study->swept[1].value[s]) < 1e-6);
    }
    shoal_study_destroy(&study);
}

static void tables_are_read(void **state)
{
    (void)state;
    write_file(config_path, CSV_CONFIG "units = { length = \"km\"; time = \"s\"; };");
    write_file(csv_path, "# a comment\nsystem,body,name,m,x,y,z,vx,vy,vz,r\n"
                         "7,0,sun,1,0,0,0,0,0,0,695700\n7,1,b,1e-3,149597870.7,0,0,0,30,0,0\r\n\n"
                         "3, 0, sun, 2, 0, 0, 0, 0, 0, 0, 0\n3,1,b,0,1e8,0,0,0,30,0,0\n3,2,c,0,2e8,0,0,0,20,0,0\n");
    shoal_study *study = load(0, NULL);
    assert_int_equal(study->ensemble->n_systems, 2);
    assert_int_equal(study->ensemble->n_bodies, 3);
    assert_string_equal(study->body_name[2], "c");
    shoal_system record;
    shoal_body bodies[3];
    shoal_ensemble_get_system(study->ensemble, 0, &record);
    assert_int_equal(record.id, 7);
    assert_int_equal(record.n_live, 2);
    assert_int_equal(record.outcome, SHOAL_RUNNING);
    shoal_ensemble_get_bodies(study->ensemble, 0, bodies);
    assert_near(bodies[1].x, 1, 1e-14);
    assert_near(bodies[1].vy, 30 / 29.784691832, 1e-6); /* km/s over AU / (yr/2pi) */
    assert_near(bodies[0].r, 695700 / 149597870.7, 1e-14);
    shoal_ensemble_get_system(study->ensemble, 1, &record);
    assert_int_equal(record.id, 3);
    assert_int_equal(record.n_live, 3);
    shoal_study_destroy(&study);
}

static void overrides_apply(void **state)
{
    (void)state;
    write_base(0, NULL);
    const char *overrides[] = {"run.t_end=-500",
                               "run.engine=cpu",
                               "integrator.name=wh",
                               "system.bodies.b.a=5",
                               "system.bodies[2].e=0.125",
                               "output.file=/tmp/some file.h5",
                               "gravitation.form=rows",
                               "monitors=()",
                               "sweep=({ body = 2; parameter = \"a\"; values = [8]; })"};
    shoal_study *study = load(SHOAL_COUNT(overrides), overrides);
    assert_near(study->options.t_end, -500 * study->units.time, 1e-15);
    assert_true(*shoal_ensemble_field(study->ensemble, SHOAL_SYS_DT, 0) < 0); /* backwards */
    assert_string_equal(study->options.engine, "cpu");
    assert_string_equal(shoal_propagator_find(NULL, study->options.propagator)->name, "mvs");
    assert_string_equal(study->output, "/tmp/some file.h5");
    assert_string_equal(study->options.form, "rows");
    assert_int_equal(study->options.n_monitors, 0);
    assert_int_equal(study->ensemble->n_systems, 1);
    assert_near(orbit_of(study, 0, 1).a, 5, 1e-12);
    assert_near(orbit_of(study, 0, 2).e, 0.125, 1e-12);
    assert_near(orbit_of(study, 0, 2).a, 8, 1e-12);

    /* the text of the study gives the same study */
    char *text = strdup(study->config_text);
    shoal_study *again = load_text(text);
    assert_string_equal(again->config_text, text);
    const size_t size = (size_t)study->ensemble->n_bodies * SHOAL_QUANTITIES * SHOAL_CHUNK * sizeof(double);
    assert_memory_equal(again->ensemble->bodies, study->ensemble->bodies, size);
    free(text);
    shoal_study_destroy(&again);
    shoal_study_destroy(&study);
}

/* A file that says itself what overrides say has the same text. */
static void overrides_keep_their_place(void **state)
{
    (void)state;
    static const char *const overrides[] = {"run.t_end=29", "run.threads=2", "integrator.name=mvs",
                                            "integrator.dt=1e-2",
                                            "sweep=({ body = \"b\"; parameter = \"e\"; values = [0.0, 0.1]; })"};
    static const char form[] =
        "system = { bodies = ( { name = \"s\"; m = 1.0; }, { name = \"b\"; m = 1e-3; a = 1.0; } ); "
        "};\n%s integrator = { name = \"%s\"; dt = %s; };\nrun = { t_end = %s; threads = %s; };\n";
    char text[1024];
    shoal_study *study, *written;
    snprintf(text, sizeof text, form, "sweep = ( { body = \"b\"; parameter = \"e\"; values = [0.5]; } );", "leapfrog",
             "1", "10.0", "1");
    assert_int_equal(shoal_study_parse(context, text, "x.cfg", SHOAL_COUNT(overrides), overrides, &study), SHOAL_OK);
    snprintf(text, sizeof text, form, "sweep = ( { body = \"b\"; parameter = \"e\"; values = [0.0, 0.1]; } );", "mvs",
             "0.01", "29.0", "2");
    assert_int_equal(shoal_study_parse(context, text, "x.cfg", 0, NULL, &written), SHOAL_OK);
    assert_string_equal(study->config_text, written->config_text);
    shoal_study_destroy(&study);
    shoal_study_destroy(&written);
}

static void text_keeps_every_digit(void **state)
{
    (void)state;
    write_base(6, "{ name = \"b\\\\c\"; m = 9.547919384243267e-4; a = 5.2; },");
    shoal_study *study = load(1, (const char *[]){"epoch=\"J\\\"\\\\2000\""});
    assert_non_null(strstr(study->config_text, "m = 0.0009547919384243267;"));
    shoal_study *again = load_text(study->config_text);
    assert_string_equal(again->body_name[1], "b\\c");
    assert_string_equal(again->epoch, "J\"\\2000");
    assert_string_equal(again->config_text, study->config_text);
    shoal_study_destroy(&again);
    shoal_study_destroy(&study);
}

static void units_integers_and_defaults(void **state)
{
    (void)state;
    shoal_study *study = load_text(
        "units = { mass = \"Mjup\"; time = \"d\"; };\n"
        "system = { bodies = ( { name = \"s\"; m = 1047; }, { name = \"p\"; m = 1; P = 10; } ); count = 3; };\n"
        "integrator = { steps_per_orbit = 20; };\n"
        "run = { t_end = 10000000000L; slice_steps = 1e3; };\n"
        "output = { interval = 500; times = [9, 3, 6]; };");
    assert_int_equal(study->ensemble->n_systems, 3);
    assert_int_equal(study->n_axes, 0);
    assert_near(study->options.t_end / study->units.time, 1e10, 1e-15);
    assert_int_equal(study->slice_steps, 1000);
    assert_near(study->units.time, 2 * M_PI / 365.256898, 1e-8);
    assert_near(orbit_of(study, 0, 1).P, 10 * study->units.time, 1e-12);
    shoal_body bodies[2];
    shoal_ensemble_get_bodies(study->ensemble, 2, bodies);
    assert_near(bodies[1].m, 1 / 1047.566, 1e-4); /* Msun / Mjup of IAU 2015 B3 */
    assert_near(*shoal_ensemble_field(study->ensemble, SHOAL_SYS_DT, 0), 0.5 * study->units.time, 1e-12);
    assert_string_equal(shoal_propagator_find(NULL, study->options.propagator)->name, "mvs");
    assert_string_equal(study->output, "study.h5");
    assert_string_equal(study->options.engine, "auto");
    assert_null(study->options.form);
    assert_true(study->checkpoint_s == 30 && study->t_start == 0 && study->options.lanes == 0);
    assert_near(study->interval, 500 * study->units.time, 1e-15);
    for (int i = 0; i < 3; i++)
        assert_near(study->times[i], 3 * (i + 1) * study->units.time, 1e-15);
    shoal_study_destroy(&study);

    /* an explicit G: a year of 2 pi units of time */
    study = load_text("units = { G = 39.47841760435743; };\n"
                      "system = { bodies = ( { name = \"s\"; m = 1; }, { name = \"p\"; m = 0; P = 1; } ); };\n"
                      "integrator = { dt = 0.01; }; run = { t_end = 1; };");
    assert_near(orbit_of(study, 0, 1).a, 1, 1e-12);
    assert_near(study->options.t_end, 2 * M_PI, 1e-12);
    shoal_study_destroy(&study);
}

/* A study fills options and nothing more: words stay words, bodies are indices, what is not given is not there. */
static void settings_of_monitors_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *monitor, *name, *choice;
        double value;
    } expected[] = {{"mean_motion_drift", "body", NULL, 1},
                    {"stop_on_ejection", "r_max", NULL, 50},
                    {"stop_on_encounter", "radius", "hill", 0},
                    {"stop_on_encounter", "factor", NULL, 3}};
    write_base(
        10,
        "monitors = ( { name = \"mean_motion_drift\"; body = \"b\"; }, { name = \"stop_on_ejection\"; r_max = 50; },\n"
        "{ name = \"stop_on_encounter\"; radius = \"hill\"; factor = 3; } );");
    shoal_study *study = load(0, NULL);
    assert_int_equal(study->options.n_monitors, 3);
    int n = 0;
    for (int i = 0; i < 3; i++)
        n += study->options.monitors[i].n_settings;
    assert_int_equal(n, SHOAL_COUNT(expected));
    for (int k = 0; k < SHOAL_COUNT(expected); k++)
        for (int i = 0; i < 3; i++) {
            const shoal_plug_options *monitor = &study->options.monitors[i];
            for (int p = 0; p < monitor->n_settings && strcmp(monitor->name, expected[k].monitor) == 0; p++) {
                const shoal_setting *setting = &monitor->settings[p];
                if (strcmp(setting->name, expected[k].name) != 0)
                    continue;
                n--;
                assert_true(setting->value == expected[k].value && !setting->choice == !expected[k].choice);
                if (setting->choice)
                    assert_string_equal(setting->choice, expected[k].choice);
            }
        }
    assert_int_equal(n, 0);
    shoal_study_destroy(&study);
}

static void every_key_and_plug_is_explained(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
    } cases[] = {{"run.t_end", "a number in yr; without it: orbits"},
                 {"sweep.parameter", "a string in quotes; must be given"},
                 {"system.bodies.inc", "a number from 0 to 180 in deg; default: 0"},
                 {"integrator", "steps_per_orbit"},
                 {"wh", "mvs, a propagator"},
                 {"stop_on_encounter", "one of mutual_hill, hill, absolute; default: mutual_hill"},
                 {"mean_motion_drift", "columns:"},
                 {"newton", "newton, a force"},
                 {"tides", "its time lag; 0: no dissipation"},
                 {"query", "query, a command: look"},
                 {"run", "run, a command: go"}, /* and the group of that name */
                 {"run", "run, a key of the config file"},
#define X(NAME, code, name, doc) {name, name ", an outcome of a system: " doc},
                 SHOAL_OUTCOME_LIST(X)
#undef X
    };
    static const shoal_help_word commands[] = {{"query", "look"}, {"run", "go"}, {0}};
    for (int i = 0; i < SHOAL_COUNT(cases); i++) {
        char *text = NULL;
        size_t size;
        FILE *out = open_memstream(&text, &size);
        assert_int_equal(shoal_help_explain(context, cases[i].name, commands, out), SHOAL_OK);
        fclose(out);
        if (!strstr(text, cases[i].text))
            fail_msg("explain %s lacks '%s': %s", cases[i].name, cases[i].text, text);
        free(text);
    }
    assert_int_equal(shoal_help_explain(context, "run.t_ned", NULL, stdout), SHOAL_E_USAGE);
    assert_non_null(strstr(shoal_context_message(context), "did you mean 'run.t_end'?"));
    static const char *const slips[][2] = {{"qurey", "query"}, {"survivd", "survived"}, {"meggno", "megno"}};
    for (int i = 0; i < SHOAL_COUNT(slips); i++) {
        assert_int_equal(shoal_help_explain(context, slips[i][0], commands, stdout), SHOAL_E_USAGE);
        assert_non_null(strstr(strstr(shoal_context_message(context), "did you mean"), slips[i][1]));
    }
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(config_path, sizeof config_path, "%s/study.cfg", folder);
    snprintf(csv_path, sizeof csv_path, "%s/bodies.csv", folder);
    return shoal_context_create(&context);
}

static int tear_down(void **state)
{
    (void)state;
    shoal_context_destroy(&context);
    unlink(config_path);
    unlink(csv_path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_lines_are_refused),
        cmocka_unit_test(too_few_bodies_are_refused),
        cmocka_unit_test(bad_overrides_are_refused),
        cmocka_unit_test(missing_files_are_refused),
        cmocka_unit_test(included_files_are_checked),
        cmocka_unit_test(bad_tables_are_refused),
        cmocka_unit_test(grid_order_values_and_held_elements),
        cmocka_unit_test(impossible_grid_points_are_invalid),
        cmocka_unit_test(elements_agree),
        cmocka_unit_test(h_k_and_retrograde),
        cmocka_unit_test(samples_are_keyed_by_id),
        cmocka_unit_test(every_distribution_stays_within_its_range),
        cmocka_unit_test(grid_with_samples),
        cmocka_unit_test(tables_are_read),
        cmocka_unit_test(overrides_apply),
        cmocka_unit_test(overrides_keep_their_place),
        cmocka_unit_test(text_keeps_every_digit),
        cmocka_unit_test(units_integers_and_defaults),
        cmocka_unit_test(settings_of_monitors_are_read),
        cmocka_unit_test(every_key_and_plug_is_explained),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
