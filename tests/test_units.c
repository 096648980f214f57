/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_units.c: units against published values, an explicit G, and the small helpers of the context.
 */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/plan.h"

static const double TWO_PI = 6.283185307179586;

#define assert_close(value, expected, relative)                                                   \
    do {                                                                                          \
        double v_ = (value), e_ = (expected);                                                     \
        if (!(fabs(v_ - e_) <= (relative)*fabs(e_)))                                              \
            fail_msg("%s = %.17g, expected %.17g within %g", #value, v_, e_, (double)(relative)); \
    } while (0)

static shoal_context *context;

static int setup(void **state)
{
    (void)state;
    return shoal_context_create(&context) != SHOAL_OK;
}

static int teardown(void **state)
{
    (void)state;
    shoal_context_destroy(&context);
    return context != NULL;
}

static shoal_units units_of(const char *length, const char *mass, const char *time, double G)
{
    shoal_units units;
    if (shoal_units_init(context, length, mass, time, G, &units) != SHOAL_OK)
        fail_msg("%s", shoal_context_message(context));
    return units;
}

/* Inner units are AU, solar mass and yr/2pi, exactly. */
static void inner_units_are_one(void **state)
{
    (void)state;
    shoal_units units = units_of("AU", "Msun", "yr/2pi", NAN);
    assert_true(units.length == 1.0 && units.mass == 1.0 && units.time == 1.0 && units.G == 1.0);
    assert_string_equal(units.time_name, "yr/2pi");
}

/* Published values that share no constant with the table: Gauss' constant, the Earth's speed, masses in kg, a parsec in
 * light years. */
static void known_values(void **state)
{
    (void)state;
    shoal_units day = units_of("AU", "Msun", "d", NAN);
    assert_close(1.0 / day.time, 58.1324, 1e-6);
    assert_close(TWO_PI / day.time, 365.2569, 1e-7);
    assert_close(sqrt(day.G), 0.01720209895, 1e-8); /* Gaussian gravitational constant */

    shoal_units year = units_of("AU", "Msun", "yr", NAN);
    assert_close(year.time / day.time, 365.25, 1e-15);
    assert_close(year.G, TWO_PI * TWO_PI, 1e-4);
    assert_true(fabs(year.G / (TWO_PI * TWO_PI) - 1.0) > 1e-5); /* the Julian year is not the Gaussian one */

    shoal_units si = units_of("m", "kg", "s", NAN);
    assert_close(si.G, 6.67430e-11, 1e-14);
    assert_close(1.0 / si.mass, 1.98841e30, 1e-5);
    assert_close(units_of("m", "Mearth", "s", NAN).mass / si.mass, 5.9722e24, 5e-5);
    assert_close(units_of("m", "Mjup", "s", NAN).mass * 1047.3486, 1.0, 3e-4); /* without its moons: IAU nominal */
    assert_close(units_of("m", "Msaturn", "s", NAN).mass * 3497.898, 1.0, 1e-5);
    assert_close(units_of("m", "Muranus", "s", NAN).mass * 22902.98, 1.0, 1e-5);
    assert_close(units_of("m", "Mneptune", "s", NAN).mass * 19412.24, 1.0, 1e-5);
    assert_close(units_of("m", "Mmoon", "s", NAN).mass / units_of("m", "Mearth", "s", NAN).mass, 0.0123000371, 1e-6);

    shoal_units km = units_of("km", "Msun", "s", NAN);
    assert_close(1.0 / shoal_units_factor(&km, "velocity"), 29.7847, 1e-5); /* circular speed at 1 AU in km/s */
    assert_close(units_of("pc", "Msun", "yr", NAN).length, 206264.806, 1e-8);
    assert_close(units_of("pc", "Msun", "yr", NAN).length / units_of("ly", "Msun", "yr", NAN).length, 3.261564, 1e-6);
    assert_close(1.0 / units_of("Rsun", "Msun", "yr", NAN).length, 215.032, 1e-5);
    /* G in pc (km/s)^2 / Msun: the number of galactic dynamics */
    shoal_units galactic = units_of("pc", "Msun", "s", NAN);
    double km_in_pc = km.length / galactic.length;
    assert_close(galactic.G / (km_in_pc * km_in_pc), 4.30091e-3, 2e-6);
}

static void factors(void **state)
{
    (void)state;
    shoal_units units = units_of("km", "Mearth", "h", NAN);
    assert_true(shoal_units_factor(&units, "length") == units.length);
    assert_true(shoal_units_factor(&units, "mass") == units.mass);
    assert_true(shoal_units_factor(&units, "time") == units.time);
    assert_close(shoal_units_factor(&units, "velocity"), units.length / units.time, 1e-15);
    assert_close(shoal_units_factor(&units, "frequency") * units.time, 1.0, 1e-15);
    assert_true(shoal_units_factor(&units, "angular velocity") == shoal_units_factor(&units, "frequency"));
    char name[SHOAL_UNIT_SIZE];
    assert_string_equal(shoal_units_name(&units, "angular velocity", name), "rad/h");
    assert_string_equal(shoal_units_name(&units, "frequency", name), "1/h");
    assert_true(shoal_units_factor(&units, "angle") == 1.0 && shoal_units_factor(&units, "") == 1.0);
    assert_true(isnan(shoal_units_factor(&units, "lenght")));
}

/* Whatever the units, G in them times the factors is the G = 1 of inside. */
static void every_name_is_known_and_G_agrees(void **state)
{
    (void)state;
    const char *const *lengths, *const *masses, *const *times, *const *none;
    int n_lengths = shoal_units_names("length", &lengths), n_masses = shoal_units_names("mass", &masses),
        n_times = shoal_units_names("time", &times);
    assert_true(n_lengths > 8 && n_masses > 8 && n_times > 8);
    assert_int_equal(shoal_units_names("colour", &none), 0);
    for (int i = 0; i < n_lengths; i++)
        for (int j = 0; j < n_masses; j++)
            for (int k = 0; k < n_times; k++) {
                shoal_units u = units_of(lengths[i], masses[j], times[k], NAN);
                assert_close(u.G * pow(u.length, 3) / u.mass / (u.time * u.time), 1.0, 4e-15);
                assert_string_equal(u.length_name, lengths[i]);
                assert_string_equal(u.mass_name, masses[j]);
                assert_string_equal(u.time_name, times[k]);
            }
}

/* With an explicit G the unit of time follows: Kepler's third law in user units holds with exactly that G. */
static void explicit_G(void **state)
{
    (void)state;
    shoal_units units = units_of("AU", "Msun", "yr", TWO_PI * TWO_PI);
    assert_true(units.G == TWO_PI * TWO_PI);
    assert_close(units.time, TWO_PI, 1e-15);
    assert_string_equal(units.time_name, "yr");

    units = units_of("AU", "Msun", NULL, 1.0);
    assert_true(units.time == 1.0);
    assert_string_equal(units.time_name, "yr/2pi");

    units = units_of("km", "Mearth", "", 2.0);
    assert_close(2.0 * pow(units.length, 3) / units.mass / (units.time * units.time), 1.0, 1e-14);
    assert_string_equal(units.time_name, "from G");

    shoal_units before = units;
    assert_int_equal(shoal_units_init(context, "AU", "Msun", "yr", 1.0, &units), SHOAL_E_INPUT); /* a slip by 2 pi */
    assert_non_null(strstr(shoal_context_message(context), "58.13"));
    assert_int_equal(shoal_units_init(context, "AU", "Msun", "yr", -1.0, &units), SHOAL_E_INPUT);
    assert_int_equal(shoal_units_init(context, "AU", "Msun", "yr", INFINITY, &units), SHOAL_E_INPUT);
    assert_memory_equal(&before, &units, sizeof units);
}

static void unknown_units(void **state)
{
    (void)state;
    shoal_units units;
    assert_int_equal(shoal_units_init(context, "AU", "Msum", "yr", NAN, &units), SHOAL_E_INPUT);
    assert_non_null(strstr(shoal_context_message(context), "Msun"));
    assert_non_null(strstr(shoal_context_message(context), "mass"));
    assert_int_equal(shoal_units_init(context, "furlongs", "Msun", "yr", NAN, &units), SHOAL_E_INPUT);
    assert_non_null(strstr(shoal_context_message(context), "furlongs"));
    assert_int_equal(shoal_units_init(context, "AU", "Msun", "fortnight", NAN, &units), SHOAL_E_INPUT);
    assert_int_equal(shoal_units_init(NULL, "AU", "Msun", "fortnight", NAN, &units), SHOAL_E_INPUT);
}

static void nearest_word(void **state)
{
    (void)state;
    const char *const words[] = {"integrator", "monitors", "output", "dt", "run"};
    int n = SHOAL_COUNT(words);
    assert_string_equal(shoal_nearest("intergator", words, n), "integrator");
    assert_string_equal(shoal_nearest("MONITOR", words, n), "monitors");
    assert_string_equal(shoal_nearest("ouptut", words, n), "output");
    assert_string_equal(shoal_nearest("dt", words, n), "dt");
    assert_string_equal(shoal_nearest("rum", words, n), "run");
    assert_string_equal(shoal_nearest("dx", (const char *[]){"dt", "dz"}, 2), "dt"); /* the first of equals */
    assert_null(shoal_nearest("photosynthesis", words, n));
    assert_null(shoal_nearest("xyzzy", words, n));
    assert_null(shoal_nearest("run", words, 0));
    char huge[1000];
    memset(huge, 'x', sizeof huge - 1);
    huge[sizeof huge - 1] = '\0';
    assert_null(shoal_nearest(huge, words, n));
}

static void messages_and_names(void **state)
{
    (void)state;
    shoal_context *fresh;
    assert_int_equal(shoal_context_create(&fresh), SHOAL_OK);
    assert_string_equal(shoal_context_message(fresh), "");
    assert_int_equal(shoal_fail(fresh, SHOAL_E_FILE, "line %d\nmore\n", 7), SHOAL_E_FILE);
    assert_string_equal(shoal_context_message(fresh), "line 7 more");
    shoal_fail(fresh, SHOAL_E_FILE, "first: %s", fresh->message);
    assert_string_equal(shoal_context_message(fresh), "first: line 7 more");
    shoal_fail(fresh, SHOAL_E_FILE, "%5000d", 1); /* longer than the room for it */
    assert_true(strlen(shoal_context_message(fresh)) < SHOAL_MESSAGE_SIZE);
    shoal_context_destroy(&fresh);
    assert_null(fresh);
    shoal_context_destroy(&fresh);

    for (int outcome = 0; outcome < SHOAL_OUTCOMES; outcome++)
        assert_int_equal(shoal_outcome_from_name(shoal_outcome_name(outcome)), outcome);
    assert_string_equal(shoal_outcome_name(SHOAL_HIT_STAR), "hit_star");
    assert_int_equal(shoal_outcome_from_name("vanished"), -1);
    assert_int_equal(shoal_outcome_from_name("unknown"), -1);
    for (int status = SHOAL_OK; status <= SHOAL_E_INTERNAL; status++)
        assert_string_not_equal(shoal_status_text((shoal_status)status), "unknown status");
    assert_string_equal(shoal_version(), SHOAL_VERSION);

    double *memory = shoal_allocate(3, sizeof *memory);
    assert_int_equal((uintptr_t)memory % 64, 0);
    assert_true(memory[0] == 0.0 && memory[2] == 0.0);
    free(memory);
    assert_null(shoal_allocate(SIZE_MAX / 2, 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inner_units_are_one),
        cmocka_unit_test(known_values),
        cmocka_unit_test(factors),
        cmocka_unit_test(every_name_is_known_and_G_agrees),
        cmocka_unit_test(explicit_G),
        cmocka_unit_test(unknown_units),
        cmocka_unit_test(nearest_word),
        cmocka_unit_test(messages_and_names),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
