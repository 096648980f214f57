/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_formats.c: files of other programs: known positions from them, round trips to the last bit, a line for each
 * thing that can be wrong in one.
 */
#define _GNU_SOURCE 1
#include "result_fixture.h"
#include "core/formats/table.h"
#include "core/result/h5.h"

#include <limits.h>
#include <sys/stat.h>

#define DATA(name) "tests/data/" name
#define RADIANS    (M_PI / 180)

#define assert_near(value, expected, tolerance)                                                           \
    do {                                                                                                  \
        const double value_ = (value), expected_ = (expected);                                            \
        if (!(fabs(value_ - expected_) <= (tolerance)) && value_ != expected_)                            \
            fail_msg("%s:%d: %s = %.17g, expected %.17g", __FILE__, __LINE__, #value, value_, expected_); \
    } while (0)

static shoal_convert_options defaults(FILE *notes)
{
    return (shoal_convert_options){.which = SHOAL_QUERY_FINAL, .central_mass = NAN, .epoch = NAN, .notes = notes};
}

/* Read files whose format is found from the first one; notes: what was noted, malloc'd, or NULL. */
static shoal_status read_files(shoal_context *context, int n, const char *const *names,
                               const shoal_convert_options *wanted, shoal_table *table, char **notes)
{
    char *text = NULL, *files[4], paths[4][PATH_MAX];
    size_t size = 0;
    shoal_convert_options options = wanted ? *wanted : defaults(NULL);
    const shoal_format *format = NULL;
    const char *root = getenv("SHOAL_ROOT");
    for (int i = 0; i < n; i++) {
        snprintf(files[i] = paths[i], sizeof paths[i], "%s/%s", *names[i] == '/' ? "" : root ? root : ".", names[i]);
    }
    options.notes = open_memstream(&text, &size);
    *table = (shoal_table){.context = context};
    shoal_status status = shoal_format_of(context, files[0], &format);
    if (!status)
        status = format->read(table, n, files, &options);
    if (!status)
        status = shoal_table_check(table);
    table->path = "table"; /* the paths go */
    fclose(options.notes);
    if (notes)
        *notes = text;
    else
        free(text);
    return status;
}

static void must_read(shoal_context *context, int n, const char *const *names, const shoal_convert_options *options,
                      shoal_table *table, char **notes)
{
    if (read_files(context, n, names, options, table, notes))
        fail_msg("%s", shoal_context_message(context));
}

/* ---- known positions --------------------------------------------------------------------------------------------- */

/* Position on an ellipse by Kepler's equation (bisected) and the rotations written out: shares nothing with the
 * library. Angles in degrees but M. */
static void place(double a, double e, double inc, double peri, double node, double M, double at[3])
{
    inc *= RADIANS;
    peri *= RADIANS;
    node *= RADIANS;
    double low = M - 1, high = M + 1;
    for (int i = 0; i < 200; i++) {
        const double E = (low + high) / 2;
        *(E - e * sin(E) < M ? &low : &high) = E;
    }
    const double x = a * (cos(low) - e), y = a * sqrt(1 - e * e) * sin(low);
    const double u = x * cos(peri) - y * sin(peri), v = x * sin(peri) + y * cos(peri);
    at[0] = u * cos(node) - v * sin(node) * cos(inc);
    at[1] = u * sin(node) + v * cos(node) * cos(inc);
    at[2] = v * sin(inc);
}

static void assert_place(const shoal_body *b, const double at[3])
{
    assert_near(b->x, at[0], 1e-13);
    assert_near(b->y, at[1], 1e-13);
    assert_near(b->z, at[2], 1e-13);
}

/* Elements of Jupiter and Saturn at J2000 by Standish, a comet on e = 0.9 a year after its pericentre. */
static void mercury_elements(void **state)
{
    shoal_context *context = ((fixture *)*state)->context;
    shoal_table table;
    char *notes;
    double at[3];
    const double k = 0.01720209895;
    must_read(context, 2, (const char *[]){DATA("planets.big.in"), DATA("comet.small.in")}, NULL, &table, &notes);
    assert_int_equal(table.n_systems, 1);
    assert_int_equal(table.n_bodies, 4);
    assert_string_equal(table.epoch, "JD 2451545");
    assert_near(table.units.G, k * k, 1e-18);
    place(5.202887, 0.048386240, 1.30439695, -85.74542926, 100.47390909, 19.66796068 * RADIANS, at);
    assert_place(&table.bodies[1], at);
    place(9.53667594, 0.05386179, 2.48599187, -21.06354617, 113.66242448, -42.64463408 * RADIANS, at);
    assert_place(&table.bodies[2], at);
    place(10, 0.9, 0, 0, 0, k / sqrt(1000) * 365.25, at); /* massless; a = q / (1 - e) */
    assert_place(&table.bodies[3], at);
    assert_near(table.bodies[1].m, 9.547919099366768e-4, 0);
    /* vis viva with the mass of both */
    const shoal_body *b = &table.bodies[1];
    const double r = sqrt(b->x * b->x + b->y * b->y + b->z * b->z), v2 = b->vx * b->vx + b->vy * b->vy + b->vz * b->vz;
    assert_near(v2 / (k * k * (1 + b->m) * (2 / r - 1 / 5.202887)), 1, 1e-12);
    /* 1.33 g/cm^3: 71500 km within the 6 % between the mean and the equatorial radius */
    assert_near(b->r * 149597870.7, 69900, 1000);
    assert_non_null(strstr(notes, "forces of their own"));
    assert_null(strstr(notes, "central mass"));
    free(notes);
    shoal_table_release(&table);

    shoal_convert_options options = defaults(NULL);
    options.central_mass = 0.5;
    must_read(context, 1, (const char *[]){DATA("planets.big.in")}, &options, &table, NULL);
    assert_near(table.bodies[0].m, 0.5, 0);
    shoal_table_release(&table);
}

/* Cometary elements of any e, of a massless body (mpmath, 50 digits: Barker's and Kepler's equations); the default
 * density. */
static void mercury_comets(void **state)
{
    const fixture *at = *state;
    static const struct {
        const char *elements;
        double state[6];
    } cases[] = {
        {"1. 1. 0. 0. 0. 2451179.75",
         {-2.8196836165343415, 3.9088021779232274, 0, -0.0098648754168572777, 0.0050475183791974613, 0}},
        {"0.25 1. 30. 40. 50. 2452545.",
         {2.3099917211850629, -9.4757906000851512, -4.5382485762161981, -0.00055823682381183052, 0.0068501658840020547,
          0.0027890844484752775}},
        {"1.5 1. 120. 200. 300. 2451544.875",
         {-0.48118564048010424, 1.3488010115969139, -0.44631747997292028, 0.011484443965552595, -0.0012319049019425279,
          -0.016159805008200086}},
        {"0.5 0.99999999999 10. 20. 30. 2450545.",
         {-9.5455334583995073, -4.4308947861820832, 0.16495376400341032, -0.0059635283562623468, -0.0045429129030870897,
          -0.00016795388298770294}},
        {"2. 1.2 80. 10. 5. 2415020.",
         {-204.88292996152412, -1.1706911689264022, 94.656458895087796, -0.0052159097606854331, -6.0385903644685808e-5,
          0.0022369825120475615}},
        {"2. 1. 80. 10. 5. 2451545.",
         {1.956864389952245, 0.231741193783749, 0.34202014332566873, -0.0032321351200082889, 0.0026701939312073871,
          0.016683392197672011}},
    };
    shoal_table table;
    char *notes;
    for (int i = 0; i < SHOAL_COUNT(cases); i++) {
        char text[512];
        const int length = snprintf(
            text, sizeof text,
            ")O+_06\n style = Com\n epoch = 2451545.0\n C\n %s 0 0 0\n J m=1e-3\n 5 0 0 0 0 0 0 0 0\n"
            " S m=1e-3 d=.125\n 9 0 0 0 0 0 0 0 0\n",
            cases[i].elements);
        spill(at->path, text, (size_t)length);
        must_read(at->context, 1, (const char *[]){at->path}, NULL, &table, &notes);
        const shoal_body *b = &table.bodies[1];
        const double r = sqrt(b->x * b->x + b->y * b->y + b->z * b->z), scale[2] = {r, sqrt(2 / r) * 0.01720209895};
        const double values[6] = {b->x, b->y, b->z, b->vx, b->vy, b->vz};
        for (int q = 0; q < 6; q++)
            assert_near(values[q], cases[i].state[q], 1e-14 * scale[q / 3]);
        assert_near(b->r, 0, 0);
        /* 1e-3 Msun of water: cbrt(3 * 1.988409870698051e30 g / 4 pi) */
        assert_near(table.bodies[2].r * 149597870.7e5, 7.800799e9, 1e5);
        assert_near(table.bodies[3].r / table.bodies[2].r, 2, 1e-14);
        assert_non_null(strstr(notes, "1 bodies have no density: taken for 1 g/cm^3"));
        free(notes);
        shoal_table_release(&table);
    }
}

/* A planet that transits at the epoch stands between its star and the observer, and moves across; its partner is in
 * pericentre when it should be; what was assumed is told. */
static void exoplanets(void **state)
{
    shoal_context *context = ((fixture *)*state)->context;
    shoal_convert_options options = defaults(NULL);
    shoal_table table;
    char *notes;
    options.host = "shoal-1";
    options.epoch = 2455000.25;
    must_read(context, 1, (const char *[]){DATA("exoplanets.csv")}, &options, &table, &notes);
    assert_int_equal(table.n_systems, 1);
    assert_int_equal(table.n_bodies, 3);
    assert_string_equal(table.names[0], "Shoal-1");
    /* the shorter period comes first; its row with default_flag 0 does not count */
    assert_string_equal(table.names[1], "b");
    const shoal_body *star = &table.bodies[0], *b = &table.bodies[1];
    const double k = 0.01720209895, a = cbrt(k * k * (0.5 + 1.2668653e17 / 1.3271244e20) * pow(8.0 / (2 * M_PI), 2));
    assert_near(b->x - star->x, 0, 1e-15);
    assert_near(b->y - star->y, a * cos(89.5 * RADIANS), 1e-9 * a); /* Gauss's k: 3e-10 */
    assert_near(b->z - star->z, a * sin(89.5 * RADIANS), 1e-9 * a);
    assert_true(b->vx < 0);
    assert_near(star->r, 0.6 * 6.957e8 / 149597870700.0, 1e-15);
    assert_non_null(strstr(notes, "Shoal-1 b: assumed pl_orbeccen = 0 pl_orblper = 90\n"));
    assert_non_null(strstr(notes, "Shoal-1 c: assumed pl_orbincl = 90\n"));
    free(notes);
    shoal_table_release(&table);

    options.epoch = 2455010; /* c in pericentre, at e = 0.2 */
    must_read(context, 1, (const char *[]){DATA("exoplanets.csv")}, &options, &table, NULL);
    shoal_orbit orbits[3];
    shoal_body bodies[3];
    memcpy(bodies, table.bodies, sizeof bodies);
    for (int i = 0; i < 3; i++)
        bodies[i].m *= table.units.G;
    assert_int_equal(shoal_orbits_from_bodies(context, SHOAL_JACOBI, 3, bodies, orbits), SHOAL_OK);
    assert_near(orbits[2].f, 0, 1e-7);
    assert_near(orbits[2].e, 0.2, 1e-12);
    assert_near(orbits[2].P, 20, 1e-11);
    assert_near(orbits[2].omega, 30 * RADIANS, 1e-7);
    assert_near(bodies[2].m / table.units.G, 10 * 3.986004e14 / 1.3271244e20, 1e-18);
    shoal_table_release(&table);

    must_read(context, 1, (const char *[]){DATA("exoplanets.csv")}, NULL, &table, &notes);
    assert_int_equal(table.n_systems, 2);
    assert_string_equal(table.systems[1].label, "Shoal-2, A");
    assert_non_null(strstr(notes, "Shoal-2, A: assumed st_mass = 1 Msun\n"));
    free(notes);
    shoal_table_release(&table);
}

/* What a row says beside its numbers: limits are no values, planets of two stars are left out, the rest is noted. */
static void exoplanet_flags(void **state)
{
    const fixture *at = *state;
    static const char text[] =
        "# COLUMN pl_orbper:      Orbital Period [days]\n# COLUMN pl_bmassj:      Planet Mass [Jupiter Mass]\n"
        "hostname,pl_letter,default_flag,sy_snum,cb_flag,pl_orbper,pl_orbperlim,pl_bmassj,pl_bmassjlim,pl_bmasse,"
        "pl_bmasselim,pl_bmassprov,pl_orbeccen,pl_orbeccenlim,pl_tranmid,pl_tsystemref,pl_controv_flag,st_mass,st_"
        "masslim\n"
        "A,b,1,2,0,10,0,5,1,300,0,Msini,0.9,1,2455000,HJD,1,0.8,0\n"
        "A,,1,2,0,30,0,1,0,,,Mass,0.1,0,134.5,BJD-TDB,0,0.9,0\n"
        "A,d,1,2,0,300,-1,1,0,,,Mass,0.1,0,,,0,0.9,0\n"
        "A,e,0,2,0,300,7,1,0,,,Mass,0.1,0,,,0,0.9,0\n"
        "Kepler-16,b,1,2,1,228,0,0.3,0,,,Mass,0,0,,,0,0.7,0\n"
        "B,b,1,1,0,4,0,1,1,,,Mass,0,0,2455000,BJD,0,1.2,1\n"
        "C,b,1,1,0,4,0,1,0,,,Mass,0,0,2455000,BJD-TDB,0,1.2,0\n"
        "C,c,1,1,0,9,0,1,0,,,Mass,0,0,2455000,BJD-UTC,0,1.2,0\n";
    static const char *const expected[] = {
        "A b: is controversial (pl_controv_flag)\n",
        "A b: pl_bmassj = 5 is an upper limit: left out\n",
        "A b: pl_orbeccen = 0.9 is an upper limit: left out\n",
        "A: its planet in line 5 has no letter: called ?\n",
        "A ?: pl_tranmid = 134.5 is no Julian date: left out\n",
        "A d: pl_orbper = 300 is a lower limit: left out\n",
        "A d: left out, for it has neither pl_orbper nor pl_orbsmax\n",
        "Kepler-16 b: left out, for it orbits two stars (cb_flag)\n",
        "A: of its 2 stars one is taken (sy_snum)\n",
        "A: its rows differ in st_mass: 0.8 Msun taken\n",
        "A b: assumed mass = Msini pl_orbeccen = 0 pl_orblper = 90 pl_orbincl = 90 HJD = BJD-TDB\n",
        "A ?: assumed pl_orblper = 90 pl_orbincl = 90 M = 0\n",
        "B: assumed st_mass = 1 Msun\n",
        "B b: assumed mass = 0 pl_orblper = 90 pl_orbincl = 90\n",
        "C b: assumed pl_orblper = 90 pl_orbincl = 90\n",
        "C c: assumed pl_orblper = 90 pl_orbincl = 90 BJD-UTC = BJD-TDB\n",
    };
    shoal_convert_options options = defaults(NULL);
    shoal_table table;
    char *notes;
    spill(at->path, text, strlen(text));
    must_read(at->context, 1, (const char *[]){at->path}, NULL, &table, &notes);
    assert_int_equal(table.n_systems, 3);
    assert_int_equal(table.systems[0].n_bodies, 3);
    assert_int_equal(table.systems[1].n_bodies, 2);
    assert_near(table.bodies[1].m, 300 * 3.986004e14 / 1.3271244e20, 1e-15); /* in Earths, and not the limit */
    assert_near(table.bodies[4].m, 0, 0);
    for (int i = 0; i < SHOAL_COUNT(expected); i++)
        if (!strstr(notes, expected[i]))
            fail_msg("expected %sin:\n%s", expected[i], notes);
    free(notes);
    shoal_table_release(&table);
    options.host = "kepler-16";
    assert_int_equal(read_files(at->context, 1, (const char *[]){at->path}, &options, &table, NULL), SHOAL_E_INPUT);
    assert_message(at, ": expected at least one planet of kepler-16, of one star and with a period or an axis");
    shoal_table_release(&table);
}

/* As the archive has it by default: letters are in names, no columns of flags; rows that cannot be or are not the
 * default ones are left out with a word, and stop nobody who asks for another host. */
static void exoplanets_as_downloaded(void **state)
{
    const fixture *at = *state;
    static const char text[] = "pl_name,hostname,default_flag,pl_orbper,pl_bmassj,pl_bmassjlim,pl_bmasse,pl_orbeccen,"
                               "pl_tranmid,pl_tranmid_systemref,pl_orbtper_systemref,st_mass\n"
                               "A b,A,1,10,3,1,953,0.1,2455000,HJD,BJD,1\n"
                               "A c,A,0,30,1,0,,0.1,,,,1\n"
                               "KOI-1.01,KOI-1,1,30,1,0,,0.1,2455000,BJD-TDB,JD,1\n"
                               "KOI-1.02,KOI-1,1,50,1,0,,-0.011,,,,1\n"
                               "KOI-1.02,KOI-1,0,50,1,0,,0,,,,1\n"
                               "Star B d,Other,1,50,1,0,,0,,,,1\n";
    static const char *const expected[] = {
        "no column cb_flag: planets of two stars are taken for those of one\n",
        "A b: pl_bmassj = 3 is an upper limit: left out\nA b: pl_bmasse = 953 is an upper limit: left out\n",
        "A b: assumed mass = 0 pl_orblper = 90 pl_orbincl = 90 HJD = BJD-TDB\n",
        "A c: left out, for none of its rows is the default one (default_flag)\n",
        "KOI-1 02: left out: ",
        ":5: pl_orbeccen = -0.011: expected a number from 0 to below 1, or nothing\n",
        "KOI-1 01: assumed pl_orblper = 90 pl_orbincl = 90\n",
        "Other d: assumed",
        "of several hosts, planets are called planet1,",
    };
    shoal_convert_options options = defaults(NULL);
    shoal_table table;
    char *notes;
    spill(at->path, text, sizeof text - 1);
    must_read(at->context, 1, (const char *[]){at->path}, NULL, &table, &notes);
    assert_int_equal(table.n_systems, 3);
    for (int i = 0; i < SHOAL_COUNT(expected); i++)
        if (!strstr(notes, expected[i]))
            fail_msg("expected %s in\n%s", expected[i], notes);
    assert_null(strstr(notes, "limits are taken"));
    free(notes);
    shoal_table_release(&table);
    options.host = "A";
    must_read(at->context, 1, (const char *[]){at->path}, &options, &table, NULL);
    shoal_table_release(&table);
    options.host = "KOI-1";
    assert_int_equal(read_files(at->context, 1, (const char *[]){at->path}, &options, &table, NULL), SHOAL_E_INPUT);
    assert_non_null(strstr(shoal_context_message(at->context), "pl_orbeccen = -0.011: expected a number from 0 to"));
}

/* The numbers in the files, by date and by form; masses by GM and by hand. */
static void horizons(void **state)
{
    shoal_context *context = ((fixture *)*state)->context;
    const shoal_given_mass masses[] = {{"jupiter BARYCENTER=", 18, 9.54e-4}, {"5", 1, 1e-3}};
    shoal_convert_options options = defaults(NULL);
    shoal_table table;
    options.masses = masses;
    options.n_masses = 1;
    const char *const files[] = {DATA("horizons_sun.txt"), DATA("horizons_jupiter.txt")};
    must_read(context, 2, files, &options, &table, NULL);
    assert_string_equal(table.epoch, "JD 2451545 TDB");
    assert_string_equal(table.names[1], "Jupiter Barycenter");
    assert_string_equal(table.units.length_name, "km");
    assert_near(table.bodies[0].m, 132712440041.93938 / 132712440000.0, 1e-15);
    assert_near(table.bodies[0].vz, -1.632e-4, 0);
    assert_near(table.bodies[1].m, 9.54e-4, 0);
    assert_near(table.bodies[1].x, 5.989e8, 0);
    assert_near(table.bodies[1].vz, 0.1306, 0);
    shoal_table_release(&table);

    options.which = SHOAL_QUERY_TIME;
    options.time = 2451546;
    options.masses = &masses[1];
    options.central_mass = 2;
    must_read(context, 2, files, &options, &table, NULL);
    assert_int_equal(table.n_bodies, 3);
    assert_near(table.bodies[0].m, 2, 0);
    assert_near(table.bodies[1].y, -4.188e5, 0);
    assert_near(table.bodies[2].m, 1e-3, 0);
    assert_near(table.bodies[2].vx, -7.917, 0);
    shoal_table_release(&table);

    options.masses = masses; /* both of one body: the second would not count */
    options.n_masses = 2;
    assert_int_equal(read_files(context, 2, files, &options, &table, NULL), SHOAL_E_USAGE);
    assert_string_equal(shoal_context_message(context),
                        "--mass \"5\": expected the name or the number of a body of the files, once");
    shoal_table_release(&table);
}

#define TYPE "Output type: GEOMETRIC cartesian states\n"

/* A page of Horizons as it is: header with units, type and frame; then head and records. */
#define PAGE                                                                                                          \
    "API VERSION: 1.2\nAPI SOURCE: NASA/JPL Horizons API\n\n" STARS " Revised: April 12, 2021             Jupiter"    \
    "                      599 / 5\n \n PHYSICAL DATA:\n  Mass x 10^22 (g)      = 189818722     Density (g/cm^3)  = " \
    "1.3262 +- .0003\n  GM (km^3/s^2)         = 126686531.900 GM 1-sigma (km^3/s^2) = +- 1.2732\n" STARS STARS        \
    "Ephemeris / API_USER Thu Nov 26 20:00:00 2026 Pasadena, USA      / Horizons\n" STARS                             \
    "Target body name: Jupiter (599)                   {source: jup365_merged}\n"                                     \
    "Center body name: Sun (10)                        {source: jup365_merged}\nCenter-site name: %s\n" STARS         \
    "Start time      : A.D. 2000-Jan-01 12:00:00.0000 TDB\nStop  time      : A.D. 2000-Jan-02 12:00:00.0000 TDB\n"    \
    "Step-size       : 1440 minutes\n" STARS                                                                          \
    "Center geodetic : 0.0, 0.0, 0.0                   {E-lon(deg),Lat(deg),Alt(km)}\n"                               \
    "Center radii    : 695700.0, 695700.0, 695700.0 km {Equator_a, b, pole_c}\nOutput units    : %s\n"                \
    "Calendar mode   : Mixed Julian/Gregorian\nOutput type     : %s\n"                                                \
    "Output format   : 3 (position, velocity, LT, range, range-rate)\n%s\n" STARS "%s\n" STARS                        \
    "$$SOE\n%s$$EOE\n" STARS "TIME\n\n  X = of what follows nothing is read, VX= 1\n"
#define STARS "*******************************************************************************\n"

/* Every kind of table: those that have states give the same ones, the others are refused by name. */
/* long: a row for each kind of table */
static void horizons_tables(void **state)
{
    const fixture *at = *state;
    static const struct {
        const char *site, *units, *type, *frame, *head, *records, *expected;
        double first, last; /* x and vz */
    } cases[] = {
#define OF      "BODY CENTER"
#define STATES_ "GEOMETRIC cartesian states"
#define ICRF    "Reference frame : ICRF"
#define DATE    "2451545.000000000 = A.D. 2000-Jan-01 12:00:00.0000 TDB "
#define DELTA   "[del_T=     64.183904 s]"
#define DAY     "2451545.000000000, A.D. 2000-Jan-01 12:00:00.0000, "
#define XYZ     " X = 4.001177E+00 Y = 2.938580E+00 Z =-1.017898E-01\n"
#define UVW     " VX=-4.568313E-03 VY= 6.443201E-03 VZ= 7.565607E-05\n"
#define LT      " LT= 2.867690E-02 RG= 4.965381E+00 RR= 1.302000E-04\n"
#define STATE   4.001177, 7.565607e-5
        /* vectors of types 1 to 6 with labels */
        {OF, "AU-D", STATES_, ICRF, "JDTDB\n   X     Y     Z", DATE DELTA "\n" XYZ,
         "head = JDTDB X Y Z: expected the columns X Y Z VX VY VZ", 0, 0},
        {OF, "AU-D", STATES_, ICRF, "JDTDB\n   X     Y     Z\n   VX    VY    VZ", DATE DELTA "\n" XYZ UVW, NULL, STATE},
        {OF, "AU-D", STATES_, ICRF, "JDTDB\n   X     Y     Z\n   VX    VY    VZ\n   LT    RG    RR",
         DATE DELTA "\n" XYZ UVW LT, NULL, STATE},
        {OF, "AU-D", STATES_, ICRF, "JDTDB\n   X     Y     Z\n   LT    RG    RR", DATE DELTA "\n" XYZ LT,
         "head = JDTDB X Y Z LT RG RR: expected the columns X Y Z VX VY VZ", 0, 0},
        {OF, "AU-D", STATES_, ICRF, "JDTDB\n   VX    VY    VZ", DATE DELTA "\n" UVW,
         "head = JDTDB VX VY VZ: expected the columns X Y Z VX VY VZ", 0, 0},
        {OF, "AU-D", STATES_, ICRF, "JDTDB\n   LT    RG    RR", DATE DELTA "\n" LT,
         "head = JDTDB LT RG RR: expected the columns X Y Z VX VY VZ", 0, 0},
        /* without labels; with uncertainties; old ones */
        {OF, "KM-S", STATES_, ICRF, "JDTDB\n   X     Y     Z\n   VX    VY    VZ\n   LT    RG    RR",
         DATE "\n  5.985676E+08  4.396053E+08 -1.522754E+07\n -7.909863E+00  1.115614E+01  1.309952E-01\n"
              "  2.477684E+03  7.428104E+08  2.254346E-01\n",
         NULL, 5.985676e8, 0.1309952},
        {OF, "KM-D", STATES_, ICRF,
         "JDTDB\n   X     Y     Z\n   VX    VY    VZ\n   X_s   Y_s   Z_s\n   VX_s  VY_s  VZ_s",
         DATE DELTA "\n" XYZ UVW " X_s= 1. Y_s= 2. Z_s= n.a.\n VX_s= 3. VY_s= 4. VZ_s= 5.\n", NULL, STATE},
        {"BODYCENTRIC", "AU-D", STATES_,
         "Reference frame : ICRF/J2000.0\nCoordinate systm: Ecliptic and Mean Equinox of Reference Epoch",
         "JDCT\n   X     Y     Z\n   VX    VY    VZ",
         "2451545.000000000 = A.D. 2000-Jan-01 12:00:00.0000 (CT)\n" XYZ UVW, NULL, STATE},
        /* with commas */
        {OF, "AU-D", STATES_, "Reference frame : Ecliptic of J2000.0",
         "JDTDB,   Calendar Date (TDB),    X,   Y,   Z,   VX,   VY,   VZ,   LT,   RG,   RR,",
         DAY " 4.001177E+00, 2.938580E+00, -1.017898E-01, -4.568313E-03, 6.443201E-03, 7.565607E-05, 1., 2., 3.,\n",
         NULL, STATE},
        {OF, "AU-D", STATES_, ICRF, "JDTDB,   Calendar Date (TDB),   delta-T,    X,   Y,   Z,   VX,   VY,   VZ,",
         DAY " 64.183904, 4.001177E+00, 2.938580E+00, -1.017898E-01, -4.568313E-03, 6.443201E-03, 7.565607E-05,\n",
         NULL, STATE},
        {OF, "AU-D", STATES_, ICRF, "JDTDB,   Calendar Date (TDB),    X,   Y,   Z,   LT,   RG,   RR,",
         DAY " 4.001177E+00, 2.938580E+00, -1.017898E-01, 2.867690E-02, 4.965381E+00, 1.302000E-04,\n",
         "head = JDTDB Calendar Date (TDB) X Y Z LT RG RR: expected the columns X Y Z VX VY VZ", 0, 0},
        /* no states of now, of another thing, of another place, in other units */
        {OF, "AU-D", "LT+S CORRECTED cartesian states", ICRF, "JDTDB\n   X     Y     Z\n   VX    VY    VZ",
         DATE "\n" XYZ UVW, "Output type = LT+S CORRECTED cartesian states: expected GEOMETRIC cartesian states", 0, 0},
        {OF, "AU-D, deg, Julian Day Number (Tp)", "GEOMETRIC osculating elements", ICRF,
         "JDTDB\n   EC    QR   IN\n   OM    W    Tp\n   N     MA   TA\n   A     AD   PR",
         DATE "\n EC= 4.878E-02 QR= 4.951E+00 IN= 1.303E+00\n",
         "Output type = GEOMETRIC osculating elements: expected GEOMETRIC cartesian states", 0, 0},
        {"Mauna Kea", "AU-D", STATES_, ICRF, "JDTDB\n   X     Y     Z\n   VX    VY    VZ", DATE "\n" XYZ UVW,
         "Center-site name = Mauna Kea: expected BODY CENTER", 0, 0},
        {OF, "LD-D", STATES_, ICRF, "JDTDB\n   X     Y     Z\n   VX    VY    VZ", DATE "\n" XYZ UVW,
         "Output units = LD-D: expected KM-S, KM-D or AU-D", 0, 0},
        {OF, "AU-D", STATES_, ICRF, "JDTT\n   X     Y     Z\n   VX    VY    VZ", DATE "\n" XYZ UVW,
         "head = JDTT X Y Z VX VY VZ: expected JDTDB, JDCT or JDUT", 0, 0},
    };
    shoal_convert_options options = defaults(NULL);
    options.central_mass = 1;
    for (int i = 0; i < SHOAL_COUNT(cases); i++) {
        char text[8192], *notes = NULL;
        shoal_table table;
        const int length = snprintf(text, sizeof text, PAGE, cases[i].site, cases[i].units, cases[i].type,
                                    cases[i].frame, cases[i].head, cases[i].records);
        spill(at->path, text, (size_t)length);
        const shoal_status status = read_files(at->context, 1, (const char *[]){at->path}, &options, &table, &notes);
        if (!status == !!cases[i].expected)
            fail_msg("table %d: %s", i, shoal_context_message(at->context));
        if (cases[i].expected) {
            assert_message(at, cases[i].expected);
        } else {
            assert_near(table.bodies[1].x, cases[i].first, 0);
            assert_near(table.bodies[1].vz, cases[i].last, 0);
            assert_near(table.bodies[1].m, 126686531.9 / 132712440000.0, 1e-15);
            assert_string_equal(table.names[1], "Jupiter");
            assert_string_equal(notes, "");
        }
        free(notes);
        shoal_table_release(&table);
    }
}

/* Times in UT are told, the Sun is not taken twice, and the GM of a planet is not that of its barycentre. */
static void horizons_centres(void **state)
{
    const fixture *at = *state;
    shoal_convert_options options = defaults(NULL);
    shoal_table table;
    char *notes;
    static const char text[] =
        "Target body name: Pluto Barycenter (9)\nCenter body name: Sun (10)\nOutput units: AU-D\n" TYPE
        "Reference frame: ICRF\nGM (planet) km^3/s^2   = 869.326\n***\nJDUT\nX Y Z\nVX VY VZ\n***\n$$SOE\n"
        "2451545.0 = A.D. 2000-Jan-01 12:00:00.0000 UTC\n1 2 3\n4 5 6\n$$EOE\n",
                      sun[] = "Target body name: Sun (10)\nCenter body name: Sun (10)\nOutput units: AU-D\n" TYPE
                              "Reference frame: ICRF\nGM= 1.3e11\n***\nJDUT\nX Y Z\nVX VY VZ\n***\n$$SOE\n"
                              "2451545.0 = A.D. 2000-Jan-01 12:00:00.0000 UTC\n0 0 0\n0 0 0\n$$EOE\n";
    options.central_mass = 1;
    spill(at->path, text, strlen(text));
    must_read(at->context, 1, (const char *[]){at->path}, &options, &table, &notes);
    assert_string_equal(table.epoch, "JD 2451545 UT");
    assert_string_equal(notes, "Pluto Barycenter: its page may have the GM of the planet without its moons (--mass)\n");
    free(notes);
    shoal_table_release(&table);
    spill(at->path, sun, strlen(sun));
    assert_int_equal(read_files(at->context, 1, (const char *[]){at->path}, &options, &table, NULL), SHOAL_E_USAGE);
    assert_message(at, "--central-mass: expected none: a file is of the centre, Sun, already");
    shoal_table_release(&table);
}

/* ---- round trips ------------------------------------------------------------------------------------------------- */

static void assert_same_table(const shoal_table *a, const shoal_table *b, bool radii, bool times)
{
    assert_int_equal(a->n_systems, b->n_systems);
    assert_int_equal(a->n_bodies, b->n_bodies);
    for (long s = 0; s < a->n_systems; s++) {
        assert_int_equal(a->systems[s].id, b->systems[s].id);
        assert_int_equal(a->systems[s].n_bodies, b->systems[s].n_bodies);
        if (times)
            assert_memory_equal(&a->systems[s].time, &b->systems[s].time, sizeof(double));
    }
    for (long i = 0; i < a->n_bodies; i++) {
        shoal_body x = a->bodies[i], y = b->bodies[i];
        if (!radii)
            x.r = y.r = 0;
        assert_memory_equal(&x, &y, sizeof x);
    }
}

/* Write a table in a format and read it again; path: of the fixture's folder. */
static void there_and_back(const fixture *at, const shoal_table *table, const char *name, bool radii)
{
    const shoal_format *format;
    shoal_table back;
    assert_int_equal(shoal_format_named(at->context, name, &format), SHOAL_OK);
    unlink(at->path);
    if (format->write) {
        if (shoal_table_write(table, at->path, format->write))
            fail_msg("%s", shoal_context_message(at->context));
    } else {
        shoal_result *result = NULL;
        assert_int_equal(shoal_table_to_result(table, &result), SHOAL_OK);
        assert_int_equal(shoal_store_write(at->context, at->path, result), SHOAL_OK);
        shoal_result_destroy(&result);
    }
    must_read(at->context, 1, (const char *[]){at->path}, NULL, &back, NULL);
    assert_same_table(table, &back, radii, true);
    assert_memory_equal(&table->units.length, &back.units.length, 4 * sizeof(double));
    shoal_table_release(&back);
}

/* Systems of numbers that a careless printer would change. */
static void make_table(const fixture *at, const char *units, int n_systems, bool mercury, shoal_table *table)
{
    *table = (shoal_table){.context = at->context, .path = "table"};
    assert_int_equal(shoal_units_parse(at->context, units, &table->units), SHOAL_OK);
    for (int s = 0; s < n_systems; s++) {
        assert_int_equal(shoal_table_add_system(table, 3 * s + 2, mercury ? 0 : 1.0 / 3), SHOAL_OK);
        for (int i = 0; i < 4; i++) {
            const double u = mercury && i == 0 ? 0 : sin(1 + i + 10 * s);
            char name[SHOAL_NAME_SIZE];
            shoal_body body = {fabs(cos(i + s)), i ? u * u / 3 : 0, u,         u / 3,
                               1e-300 * u,       u ? -u / 7 : 0,    1e300 * u, 3 * u};
            assert_int_equal(shoal_table_add_body(table, shoal_table_name(i, name), &body), SHOAL_OK);
        }
    }
}

static void round_trips(void **state)
{
    const fixture *at = *state;
    shoal_table table;
    static const char *const units[] = {"AU, Msun, yr/2pi",      "km, Mearth, s",
                                        "pc, Msun, Myr",         "AU, Msun, G = 39.476926421373015",
                                        "AU, Mjup, yr, G=.0377", ""};
    for (int u = 0; u < SHOAL_COUNT(units); u++) {
        make_table(at, units[u], 5, false, &table);
        there_and_back(at, &table, "csv", true);
        there_and_back(at, &table, "hdf5", false);
        shoal_table_release(&table);
    }
    make_table(at, "AU, Msun, yr/2pi", 5, false, &table);
    there_and_back(at, &table, "swarm", true);
    shoal_table_release(&table);
    make_table(at, shoal_format_mercury.units, 1, true, &table);
    table.systems[0].id = 0;
    there_and_back(at, &table, "mercury", false);
    shoal_table_release(&table);
    must_read(at->context, 1, (const char *[]){DATA("two.swarm.txt")}, NULL, &table, NULL);
    assert_near(table.bodies[0].r, 4.650467260962157e-3, 0);
    assert_near(table.bodies[1].r, 0, 0); /* what was in memory */
    assert_near(table.bodies[2].r, 0, 0); /* nan */
    there_and_back(at, &table, "swarm", true);
    there_and_back(at, &table, "csv", true);
    shoal_table_release(&table);
}

/* Names that would break a line, fewer bodies, an epoch; what a format cannot hold is refused. */
static void tables_are_whole(void **state)
{
    const fixture *at = *state;
    static const char *const names[] = {"the \"sun\", ours", "#2", " c"};
    shoal_table table = {.context = at->context, .path = "table", .epoch = "BJD 2454833"}, back;
    assert_int_equal(shoal_units_parse(at->context, "", &table.units), SHOAL_OK);
    for (int s = 0; s < 2; s++) {
        assert_int_equal(shoal_table_add_system(&table, 1 - s, NAN), SHOAL_OK);
        for (int i = 0; i < 3 - s; i++)
            assert_int_equal(shoal_table_add_body(&table, names[i], &(shoal_body){.m = 1, .x = i}), SHOAL_OK);
    }
    assert_int_equal(shoal_table_write(&table, at->path, shoal_csv_write), SHOAL_OK);
    must_read(at->context, 1, (const char *[]){at->path}, NULL, &back, NULL);
    assert_same_table(&table, &back, true, false);
    assert_true(isnan(back.systems[0].time));
    assert_string_equal(back.epoch, "BJD 2454833");
    for (int i = 0; i < 3; i++)
        assert_string_equal(back.names[i], names[i]);
    shoal_table_release(&back);
    assert_int_equal(shoal_table_write(&table, at->path, shoal_format_swarm.write), SHOAL_E_INPUT);
    assert_message(at, "system 0: expected 3 bodies");
    assert_int_equal(shoal_table_write(&table, at->path, shoal_format_mercury.write), SHOAL_E_INPUT);
    assert_message(at, "2 systems: expected one");
    table.n_systems = 0;
    assert_int_equal(shoal_table_write(&table, at->path, shoal_csv_write), SHOAL_E_INPUT);
    must_read(at->context, 1, (const char *[]){at->path}, NULL, &back, NULL); /* what was there stays */
    shoal_table_release(&back);
    shoal_table_release(&table);
}

/* ---- what is wrong in a file ------------------------------------------------------------------------------------- */

#define SWARM   "SwarmDataFile 2\n2 1 0 1\n"
#define STAR    " 1 0 0 0 0 0 0 0\n"
#define MERCURY ")O+_06\n style = "
#define BODY    " 0 0 0\n"
#define ARCHIVE "hostname,pl_letter,st_mass,pl_bmassj,pl_orbper,pl_orbeccen\n"
#define HEADER \
    "Target body name: Sun (10)\nCenter body name: SSB (0)\nOutput units : KM-S\n" TYPE "Reference frame: ICRF\n"
#define SUN    HEADER "GM= 1.3e11\n"
#define HEAD   "***\nJDTDB\n X Y Z\n VX VY VZ\n***\n$$SOE\n"
#define VECTOR HEAD "2451545.0 = A.D.\n X = 1 Y = 2 Z = 3\n VX= 4 VY= 5 VZ= 6\n$$EOE\n"
#define TABLE  "system,body,name,m,x,y,z,vx,vy,vz\n"
#define PAIR   "0,0,a,1,0,0,0,0,0,0\n0,1,b,1,1,0,0,0,0,0\n"
#define STATES "system,body,name,time,m,x,y,z,vx,vy,vz\n"

static const struct {
    const char *text, *expected;
} wrong_files[] = {
    {"", ":1: expected a file in a known format"},
    {"SwarmDataFile 1\n", ":1: version = 1: expected 2"},
    {"SwarmDataFile 2\n1 1 0 0\n", ":2: number of bodies = 1: expected an integer from 2"},
    {"SwarmDataFile 2\n2 0 0 0\n", ":2: number of systems = 0: expected an integer from 1"},
    {"SwarmDataFile 2\n2 1.5 0 0\n", ":2: number of systems = 1.5: expected an integer"},
    {SWARM "0 0 3\n", ":3: state = 3: expected an integer from -1 to 2"},
    {SWARM "0 0 0\n" STAR " 1 2 zero", ":5: y = zero: expected a finite number"},
    {SWARM "0 0 0\n" STAR " -1 2 0 0 0 0 0 0\n", ":5: mass = -1: expected a number >= 0"},
    {SWARM "0 0 0\n" STAR " 1 2 0 0 0 0", ":5: the file ends; expected vz"},
    {SWARM "0 0 0\n" STAR " 1 2 0 0 0 0 0\n", ":5: the file ends; expected a body's attribute"},
    {SWARM "0 0 0\n" STAR STAR "more\n", ":6: word = more: expected the end after 1 systems"},
    {MERCURY "Polar\n", ":2: style = Polar: expected Cartesian, Asteroidal or Cometary"},
    {MERCURY "Cartesian\n", "expected a line \"epoch (in days) = NUMBER\""},
    {MERCURY "Cartesian\nepoch = today\n", ":3: epoch = epoch = today: expected a line"},
    {")O+_06\n) central mass (solar) = none\n style = Ast\n", ":2: central mass =  none: expected a number > 0"},
    {MERCURY "Cartesian\nepoch = 0\n", ":3: system = 0: expected at least 2 bodies"},
    {MERCURY "Cartesian\nepoch = 0\n B m=-1\n", ":4: m = -1: expected a number >= 0"},
    {MERCURY "Cartesian\nepoch = 0\n B mass=1\n", ":4: word = mass=1: expected m=, r=, d="},
    {MERCURY "Cartesian\nepoch = 0\n B m\n", ":4: word = m: expected m=, r=, d="},
    {MERCURY "Cartesian\nepoch (in years) = 0\n B d=x\n", ":3: epoch = epoch (in years) = 0: expected a line"},
    {MERCURY "Cartesian\nperiod (in days) = 0\n B d=x\n", ":3: epoch = period (in days) = 0: expected a line"},
    {MERCURY "Cartesian\nepoch = 0\n B m=1 d=2 m=3\n", ":4: m = 3: expected one value of this key"},
    {MERCURY "Cartesian\nepoch = 0\n B d=x\n", ":4: d = x: expected a number > 0"},
    {MERCURY "Cartesian\nepoch = 0\n B ep=1\n", ":4: ep = 1: expected 0, the epoch of the big bodies"},
    {MERCURY "Cartesian\nepoch = 0\n B\n1 2 3\n 4 five 6\n" BODY, ":6: vy = five: expected a finite number"},
    {MERCURY "Cartesian\nepoch = 0\n B\n1 2 3\n 4 5 6\n 0", ":7: the file ends; expected spin"},
    {MERCURY "Asteroidal\nepoch = 0\n B\n1 -.1 0 0 0 0\n" BODY, ":6: expected elements of a possible orbit"},
    {MERCURY "Cometary\nepoch = 0\n B\n0 1 0 0 0 0\n" BODY, ":6: expected elements of a possible orbit: q = 0 is not"},
    {MERCURY "Cometary\nepoch = 0\n B\n-1 .1 0 0 0 0\n" BODY, ":6: expected elements of a possible orbit: q = -1 is"},
    {MERCURY "Cometary\nepoch = 0\n B\n-1 1.1 0 0 0 0\n" BODY, ":6: expected elements of a possible orbit: q = -1"},
    {MERCURY "Cometary\nepoch = 0\n B\n1 -1 0 0 0 0\n" BODY, ":6: expected elements of a possible orbit: e = -1"},
    {MERCURY "Asteroidal\nepoch = 0\n B\n1 1 0 0 0 0\n" BODY, ":6: expected elements of a possible orbit: e = 1"},
    {MERCURY "Cartesian\nepoch = 0\n B d=0\n", ":4: d = 0: expected a number > 0"},
    {MERCURY "Cartesian\nepoch = 0\n B\n1 2 3 4 5 6\n" BODY " B\n1 2 3 4 5 6\n" BODY,
     ":9: name = B: expected a name that no other"},
    {MERCURY "Cartesian\nepoch = 0\n ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG\n1 2 3 4 5 6\n" BODY,
     ": expected a name of at most 31"},
    {"# x\nhostname,pl_letter\n",
     ":2: expected the columns hostname, pl_letter or pl_name, and pl_orbper or pl_orbsmax"},
    {ARCHIVE "A,b,1,1,1\n", ":2: expected 6 cells, found 5"},
    {ARCHIVE "A,b,0,1,1,0\n", ":2: st_mass = 0: expected a number > 0, or nothing"},
    {ARCHIVE "A,b,1,-1,1,0\n", ":2: pl_bmassj = -1: expected a number >= 0"},
    {ARCHIVE "A,b,1,1,long,0\n", ":2: pl_orbper = long: expected a number > 0"},
    {ARCHIVE "A,b,1,1,1,1\n", ":2: pl_orbeccen = 1: expected a number from 0 to below 1"},
    {ARCHIVE ",b,1,1,1,0\n", ":2: hostname = : expected a name"},
    {ARCHIVE "A,b,1,1,1,0\nB,b,1,1,1,0\nA,b,1,1,1,0\n",
     ":4: pl_letter = b: expected each planet of A once (it is in line 2 too)"},
    {ARCHIVE "A,b,1,1,,0\n", ": expected at least one planet"},
    {ARCHIVE "A,,1,1,1,0\nA,,1,1,2,0\n", ":3: pl_letter = ?: expected each planet of A once (it is in line 2 too)"},
    {ARCHIVE "A,b,1,1,1,nan\n", ":2: pl_orbeccen = nan: expected a number from 0 to below 1, or nothing"},
    {ARCHIVE "A,abcdefghijklmnopqrstuvwxyzabcdef,1,1,1,0\n",
     ":2: pl_letter = abcdefghijklmnopqrstuvwxyzabcdef: expected"},
    {"hostname,pl_letter,pl_orbper,pl_orbper\n", ":1: column = pl_orbper: expected one of this name"},
    {"hostname,pl_letter,pl_orbper,pl_orbperlim\nA,b,1,2\n", ":2: pl_orbperlim = 2: expected -1, 0 or 1, or nothing"},
    {"hostname,pl_letter,pl_orbper,cb_flag\nA,b,1,2\n", ":2: cb_flag = 2: expected 0 or 1, or nothing"},
    {"hostname,pl_letter,pl_orbper,pl_orbincl\nA,b,1,181\n", ":2: pl_orbincl = 181: expected a number from 0 to 180"},
    {"# COLUMN pl_orbper: Orbital Period [hours]\nhostname,pl_letter,pl_orbper\nA,b,1\n",
     ":1: pl_orbper = [hours]: expected a unit that begins with \"day\""},
    {"# COLUMN st_mass: Stellar Mass [Jupiter mass]\nhostname,pl_letter,pl_orbper\nA,b,1\n",
     ":1: st_mass = [Jupiter mass]: expected a unit that begins with \"solar\""},
    {"GM= 1\n" VECTOR, ": expected a line \"Target body name"},
    {"Target body name: Sun\n" VECTOR, ": expected a line \"Center body name"},
    {"Target body name: Sun\nCenter body name: SSB\n" VECTOR, ": expected a line \"Output units"},
    {"Target body name: Sun\nCenter body name: SSB\nOutput units: AU-D\n" VECTOR, ": expected a line \"Output type"},
    {"Target body name: Sun\nCenter body name: SSB\nOutput units: AU-D\n" TYPE VECTOR,
     ": expected a line \"Reference frame"},
    {HEADER VECTOR, ": no GM of Sun: expected --mass \"Sun\"=MSUN"},
    {HEADER "GM (10^-3 km^3/s^2) = 1\n" VECTOR, ": no GM of Sun: expected --mass"},
    {HEADER "GM (AU^3/d^2) = 1\n" VECTOR, ": no GM of Sun: expected --mass"},
    {SUN "$$SOE\n$$EOE\n", ":7: head = Target body name:"},
    {SUN HEAD "$$EOE\n", ":13: expected a vector before $$EOE"},
    {SUN HEAD "2451545.0 = A.D.\n X = 1 Y = 2\n$$EOE\n", ":14: label = nothing: expected Z, as in the head"},
    {SUN HEAD "2451545.0 = A.D.\n X = 1 Y = 2 Z =\n$$EOE\n", ":14: Z = nothing: expected a finite number"},
    {SUN HEAD "2451545.0 = A.D.\n 1 2 3 4\n$$EOE\n", ":14: word = 4: expected no more than the columns"},
    {SUN HEAD "2451545.0 = A.D.\n X = 1 Z = 2 Y = 3\n$$EOE\n", ":14: label = Z: expected Y, as in the head"},
    {SUN HEAD "2451545.0 = A.D.\n X = 1 Y = 2 Z = n.a.\n$$EOE\n", ":14: Z = n.a.: expected a finite number"},
    {SUN HEAD "2451545.0 = A.D.\n 1 2 3\n$$EOE\n", ":15: expected 3 lines of a record"},
    {SUN HEAD "2451545.0, A.D., 1, 2, 3, 4, 5, 6\n$$EOE\n", ":13: date = 2451545.0, A.D., 1, 2, 3, 4, 5, 6: expected"},
    {SUN "***\nJDTDB, X, Y, Z, VX, VY, VZ\n***\n$$SOE\n2451545.0, A.D., 1, 2, 3, 4, 5, 6\n$$EOE\n",
     ":11: expected 7 cells as in the head, found 8"},
    {SUN "***\nJDTDB, X, Y, X, Z, VX, VY, VZ\n***\n$$SOE\n", ":10: head = JDTDB X Y X Z VX VY VZ: expected"},
    {SUN VECTOR SUN VECTOR, ":28: expected one table in a file, that of one body"},
    {SUN HEAD "2451545.0 = A.D.\n1 2 3\n4 5 6\n", ":15: the file ends; expected $$EOE"},
    {SUN "Target body name: Saturn (6)\n" VECTOR, ":7: Target body name = Saturn (6): expected one value, Sun (10)"},
    {SUN "Output units: AU-D\n" VECTOR, ":7: Output units = AU-D: expected one value, KM-S"},
    {SUN VECTOR, ":0: system = 0: expected at least 2 bodies"},
    {"Target body name: Sun\nOutput units: M-S\nGM = 1\n" VECTOR,
     ":2: Output units = M-S: expected KM-S, KM-D or AU-D"},
    {"# units: AU, Msun, yaer\n" TABLE, ":1: unknown unit of time \"yaer\"; did you mean \"year\""},
    {"# units AU, Msun, d\n" TABLE, ":1: comment = units AU, Msun, d: expected '# units: ...'"},
    {"# Unit = AU\n" TABLE, ":1: comment = Unit = AU: expected '# units: ...'"},
    {"# Time = 3\n" TABLE, ":1: comment = Time = 3: expected '# time: ...'"},
    {"# units: AU, Msun\n" TABLE, ":1: units: AU, Msun: expected LENGTH, MASS, TIME"},
    {"# units: AU, Msun, yr, 3\n" TABLE, ":1: units: AU, Msun, yr, 3: expected LENGTH, MASS, TIME"},
    {"# units: AU, Msun, G = x\n" TABLE, ":1: units: G = x: expected a number"},
    {"# time: now\n" TABLE, ":1: time = now: expected a finite number"},
    {"#\n" TABLE "0,0,a,1,0,0,0,0,0,\n", ":3: vz = : expected a finite number"},
    {STATES "0,0,a,1,2,0,0,0,0,0,0\n0,1,b,1,1,2,0,0,0,0,0\n5,0,a,1,2,0,0,0,0,0,0\n5,1,b,1,1,,0,0,0,0,0\n",
     ":4: system = 5: expected no empty mass or coordinate"},
    {"# units: km, Msun, s\n# units: AU, Msun, s\n" TABLE PAIR,
     ":2: comment = units: AU, Msun, s: expected '# units: ...' once, before the first body"},
    {TABLE PAIR "# units: km, Msun, s\n", ":4: comment = units: km, Msun, s: expected '# units: ...' once, before"},
    {"# time: 1\n# time: 2\n" TABLE PAIR, ":2: comment = time: 2: expected '# time: ...' once, before"},
    {"# epoch: J2000\n# epoch: B1950\n" TABLE PAIR, ":2: comment = epoch: B1950: expected '# epoch: ...' once, before"},
    {"# time: 1\n" STATES, ":2: expected the column time or the comment '# time: ...', not both"},
    {STATES "0,0,a,1,2,0,0,0,0,0,0\n0,1,b,2,1,2,0,0,0,0,0\n", ":3: time = 2: expected the time of the system's other"},
    {STATES "0,0,a,1,2,0,0,0,0,0,0\n0,1,b,,1,2,0,0,0,0,0\n", ":3: time = : expected the time of the system's other"},
    {"system,body,name,m,x,y,z,vx,vy,vz,r,density\n", ":1: expected the columns system,body,name,m,x,y,z,vx,vy,vz and"},
    {"system,body,name,m,x,y,z,vx,vy,vz,x\n", ":1: column 11 = x: expected r"},
    {"system,body,name,m,a,e,inc,Omega,omega,f\n", ":1: column 5 = a: expected x"},
    {TABLE "0,0,\"a,1,0,0,0,0,0,0\n", ":2: expected quotes around whole cells"},
    {TABLE "0,0,\"a\"b,1,0,0,0,0,0,0\n", ":2: expected quotes around whole cells"},
    {"system,body,\"name\"s,m,x,y,z,vx,vy,vz\n", ":1: expected quotes around whole cells"},
    {"# epoch: 0123456789012345678901234567890123456789012345678901234567890123\n" TABLE,
     ":1: epoch = 012345678901234567890123456789012345678901234567890123456789: expected at most 63 characters"},
    {"# a \x1b[2J\n" TABLE PAIR, ":1: expected text without control characters"},
    {TABLE "0,0,a,1,0,0,0,0,0,0\n0,1,b,1,1,0,0,0,0,0\r1,0,a,1,0,0,0,0,0,0\n", ":3: expected 10 cells, found 19"},
    {"#\r\n" TABLE PAIR "#\xc2\x9b\n", ":5: expected text without control characters"},
};

static void wrong_files_are_refused(void **state)
{
    const fixture *at = *state;
    int n_wrong = 0;
    for (int i = 0; i < SHOAL_COUNT(wrong_files); i++) {
        shoal_table table;
        spill(at->path, wrong_files[i].text, strlen(wrong_files[i].text));
        const shoal_status status = read_files(at->context, 1, (const char *[]){at->path}, NULL, &table, NULL);
        const char *message = shoal_context_message(at->context);
        if (status != SHOAL_E_INPUT || strncmp(message, "/", 1) || !strstr(message, at->folder) ||
            strpbrk(message, "\n") || !strstr(message, wrong_files[i].expected)) {
            printf("case %d: %s: %s\n  expected %s\n", i, shoal_status_text(status), message, wrong_files[i].expected);
            n_wrong++;
        }
        shoal_table_release(&table);
    }
    assert_int_equal(n_wrong, 0);
}

#define BARYCENTRIC                                                                                 \
    "Target body name: B\nCenter body name: Solar System Barycenter (0)\nOutput units: KM-S\n" TYPE \
    "Reference frame: Ecliptic of J2000.0\n"

/* Files that belong together but do not fit. */
static void files_that_do_not_fit(void **state)
{
    const fixture *at = *state;
    static const struct {
        const char *first, *text, *expected;
    } cases[] = {
        {DATA("horizons_sun.txt"), "Target body name: B\nCenter body name: Sun\n" VECTOR,
         ":2: Center body name = Sun: expected Solar System"},
        {DATA("horizons_sun.txt"), "Target body name: B\nOutput units: AU-D\n" VECTOR,
         ":2: Output units = AU-D: expected KM-S"},
        {DATA("horizons_sun.txt"), "Reference frame : ICRF\n" VECTOR, ":1: Reference frame = ICRF: expected Ecliptic"},
        {DATA("horizons_sun.txt"), BARYCENTRIC "GM= 1\n" HEAD "2451547.0 = A.D.\n1 2 3\n4 5 6\n$$EOE\n",
         ":16: expected the vector of JD 2451545.0"},
        {DATA("horizons_sun.txt"), BARYCENTRIC "***\nJDUT\n X Y Z\n VX VY VZ\n***\n$$SOE\n",
         ":11: head = JDUT X Y Z VX VY VZ: expected times in TDB, as in the first file"},
        {DATA("horizons_sun.txt"), BARYCENTRIC "Coordinate systm: Ecliptic\n" HEAD,
         ":6: Coordinate systm = Ecliptic: expected nothing, as in the first file"},
        {DATA("planets.big.in"), ")O\n style = Cart\n C ep= 2451545.5\n", ":3: ep = 2451545.5: expected 2451545"},
    };
    for (int i = 0; i < SHOAL_COUNT(cases); i++) {
        shoal_table table;
        spill(at->path, cases[i].text, strlen(cases[i].text));
        const char *const files[] = {cases[i].first, at->path};
        assert_int_equal(read_files(at->context, 2, files, NULL, &table, NULL), SHOAL_E_INPUT);
        assert_message(at, cases[i].expected);
        shoal_table_release(&table);
    }
}

/* A zero does not end a line early, quotes are kept, and what is no file is not waited for. */
static void texts_are_whole(void **state)
{
    const fixture *at = *state;
    static const char zero[] = TABLE PAIR "# a\0b\n", quotes[] = TABLE "0,0,a\"b,1,0,0,0,0,0,0\r\n"
                                                                       "0,1, \"\"\"c\" , 1,1,0,0,0,0,0\r\n";
    char pipe[PATH_MAX];
    shoal_table table;
    spill(at->path, zero, sizeof zero - 1);
    assert_int_equal(read_files(at->context, 1, (const char *[]){at->path}, NULL, &table, NULL), SHOAL_E_INPUT);
    assert_message(at, ":4: expected text without control characters");
    shoal_table_release(&table);
    spill(at->path, quotes, sizeof quotes - 1);
    must_read(at->context, 1, (const char *[]){at->path}, NULL, &table, NULL);
    assert_string_equal(table.names[0], "a\"b");
    assert_string_equal(table.names[1], "\"c");
    shoal_table_release(&table);

    snprintf(pipe, sizeof pipe, "%s/pipe", at->folder);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    const char *const none[] = {pipe, "/dev/zero", at->folder};
    FILE *notes = tmpfile();
    shoal_convert_options options = defaults(notes);
    for (int i = 0; i < SHOAL_COUNT(none); i++) {
        shoal_result *result = NULL;
        for (int f = -1; f < 0 || shoal_formats[f]; f++) {
            table = (shoal_table){.context = at->context};
            const shoal_status status = f < 0 ? read_files(at->context, 1, &none[i], NULL, &table, NULL)
                                              : shoal_formats[f]->read(&table, 1, &(char *){(char *)none[i]}, &options);
            assert_int_equal(status, SHOAL_E_FILE);
            assert_message(at, i < 2 ? ": cannot be read: it is a pipe or a device, not a file"
                                     : ": cannot be read: Is a directory");
            shoal_table_release(&table);
        }
        assert_int_equal(shoal_store_read(at->context, none[i], &result), SHOAL_E_FILE);
        assert_true(shoal_store_is(none[i]));
    }
    fclose(notes);
    unlink(pipe);
}

/* ---- headers of one big system ----------------------------------------------------------------------------------- */

/* A GADGET snapshot of two dark bodies and a star; a header field stands in for that of its name, "NumPart_" is
 * NumPart_ThisFile without a total; n < 0: without the field. */
static void write_gadget(const fixture *at, const char *group, const char *name, int n, const double *values)
{
    static const double count[6] = {[1] = 2, [4] = 1}, mass[6] = {[4] = 3}, x[6] = {1, 2, 3, 4, 5, 6}, zero = 0,
                        one = 1;
    const struct {
        const char *name;
        int n;
        const double *values;
    } fields[] = {
        {"NumPart_ThisFile", 6, count},   {"NumPart_Total", 6, count}, {"MassTable", 6, mass}, {"Time", 0, &one},
        {"NumFilesPerSnapshot", 0, &one}, {"Redshift", 0, &zero},
    };
    shoal_h5 h5;
    assert_int_equal(shoal_h5_create(at->context, at->path, H5F_LIBVER_EARLIEST, 1 << 20, &h5), SHOAL_OK);
    shoal_status status = shoal_h5_group(&h5, "/Header") | shoal_h5_group(&h5, "/Parameters") |
                          shoal_h5_group(&h5, "/PartType1") | shoal_h5_group(&h5, "/PartType4");
    for (int i = 0; i < SHOAL_COUNT(fields); i++)
        if (!name || strncmp(name, fields[i].name, strlen(name)) != 0)
            status |= shoal_h5_put_doubles(&h5, "/Header", fields[i].name, fields[i].n, fields[i].values);
    if (name && n >= 0)
        status |= shoal_h5_put_doubles(&h5, group, strcmp(name, "NumPart_") ? name : fields[0].name, n, values);
    status |= shoal_h5_write(&h5, "/PartType1/Coordinates", H5T_NATIVE_DOUBLE, shoal_h5_table(2, 3), x, NULL, NULL) |
              shoal_h5_write(&h5, "/PartType1/Velocities", H5T_NATIVE_DOUBLE, shoal_h5_table(2, 3), x, NULL, NULL) |
              shoal_h5_write(&h5, "/PartType1/Masses", H5T_NATIVE_DOUBLE, shoal_h5_rows(2), x, NULL, NULL) |
              shoal_h5_write(&h5, "/PartType4/Coordinates", H5T_NATIVE_DOUBLE, shoal_h5_table(1, 3), x, NULL, NULL) |
              shoal_h5_write(&h5, "/PartType4/Velocities", H5T_NATIVE_DOUBLE, shoal_h5_table(1, 3), x, NULL, NULL) |
              shoal_h5_write(&h5, "/PartType4/Masses", H5T_NATIVE_DOUBLE, shoal_h5_rows(1), &x[2], NULL, NULL);
    assert_int_equal(shoal_h5_save(&h5, status), SHOAL_OK);
}

/* Each field of a header that does not fit the others, or the bodies, is named; what is only assumed is noted. */
static void gadget_headers(void **state)
{
    const fixture *at = *state;
    static const struct {
        const char *name;
        int n;
        double values[7];
        const char *expected;
        bool read;
    } cases[] = {
        {NULL, 0, {0}, "", true},
        {"NumPart_ThisFile", -1, {0}, "an HDF5 file, but not a shoal result", false},
        {"NumPart_ThisFile", 6, {[1] = 2}, "NumPart_Total of type 4 is 1: expected 0, as in NumPart_ThisFile", false},
        {"NumPart_ThisFile", 6, {[1] = 3, [4] = 1}, "NumPart_Total of type 1 is 2: expected 3, as in NumPart", false},
        {"NumPart_ThisFile", 7, {[1] = 2, [4] = 1, [6] = 1}, "NumPart_ThisFile of type 6 is 1: expected none", false},
        {"NumPart_ThisFile", 6, {[1] = 2.5}, "NumPart_ThisFile of type 1 is 2.5: expected a number of bodies", false},
        {"NumPart_Total", 6, {[1] = 5, [4] = 1}, "NumPart_Total of type 1 is 5: expected 2, as in NumPart", false},
        {"NumPart_Total", -1, {0}, "", true},
        {"NumPart_Total_HighWord", 6, {[1] = 1}, "NumPart_Total of type 1 is 4.29497e+09: expected 2", false},
        {"MassTable", -1, {0}, "MassTable: expected numbers", false},
        {"MassTable", 1, {0}, "MassTable of type 1 is nan: expected a number >= 0", false},
        {"MassTable", 6, {[1] = -1}, "MassTable of type 1 is -1: expected a number >= 0", false},
        {"MassTable", 6, {[4] = 2}, "MassTable of type 4 is 2: expected 3 as in /PartType4/Masses", false},
        {"Time", -1, {0}, "Time: expected numbers", false},
        {"Time", 0, {NAN}, "Time = nan: expected a finite number", false},
        {"NumFilesPerSnapshot", 0, {2}, "NumFilesPerSnapshot = 2: expected a snapshot in one file", false},
        {"Redshift", 0, {1}, "Redshift = 1: expected 0, a run without cosmology", false},
        {"ComovingIntegrationOn", 0, {1}, "ComovingIntegrationOn = 1: expected 0, a run without cosmology", false},
        {"Omega0", 0, {0.3}, "Omega0 = 0.3: expected 0, or ComovingIntegrationOn = 0", false},
        {"HubbleParam", 0, {0.7}, "HubbleParam = 0.7: units are taken as they are, not by h\n", true},
        {"BoxSize", 0, {10}, "BoxSize = 10: taken for open space\n", true},
        {"UnitLength_in_cm", 0, {1}, "UnitMass_in_g: expected numbers", false},
        {"UnitMass_in_g", 0, {1}, "UnitLength_in_cm: expected numbers", false},
    };
    for (int i = 0; i < SHOAL_COUNT(cases); i++)
        for (int g = 0; g < 2; g++) { /* those from Redshift on may be in /Parameters, too */
            shoal_table table;
            char *notes;
            write_gadget(at, g || i < 16 ? "/Header" : "/Parameters", cases[i].name, cases[i].n, cases[i].values);
            const shoal_status status = read_files(at->context, 1, (const char *[]){at->path}, NULL, &table, &notes);
            const char *message = status ? shoal_context_message(at->context) : notes;
            if (!status != cases[i].read || (*cases[i].expected ? !strstr(message, cases[i].expected) : *message))
                fail_msg("header %d: %s", i, message);
            free(notes);
            shoal_table_release(&table);
        }
    shoal_table table = {.context = at->context}; /* in units that its reader gives */
    const shoal_convert_options options = defaults(NULL);
    write_gadget(at, "/Header", NULL, 0, NULL);
    assert_int_equal(shoal_units_parse(at->context, "AU, Mearth, d", &table.units), SHOAL_OK);
    assert_int_equal(shoal_format_gadget.read(&table, 1, &(char *){(char *)at->path}, &options), SHOAL_OK);
    assert_string_equal(table.units.length_name, "AU");
    shoal_table_release(&table);
}

/* Datasets have the sizes that the header says; types that it leaves out are not there. */
static void gadget_sizes(void **state)
{
    const fixture *at = *state;
    static const struct {
        double count[6];
        const char *expected;
    } cases[] = {
        {{[1] = 3, [4] = 1}, "/PartType1/Coordinates has 2 rows of 3: expected 3 of 3 as in NumPart_ThisFile"},
        {{[1] = 2}, "NumPart_ThisFile of type 4 is 0: expected 1, as in /PartType4/Coordinates"},
        {{[1] = 2, [3] = 1, [4] = 1}, "there is no dataset /PartType3/Coordinates"},
        {{[1] = 2e9, [4] = 1}, "/PartType1/Coordinates has 2 rows of 3: expected 2000000000 of 3"},
    };
    for (int i = 0; i < SHOAL_COUNT(cases); i++) {
        shoal_table table;
        write_gadget(at, "/Header", "NumPart_", 6, cases[i].count);
        assert_int_equal(read_files(at->context, 1, (const char *[]){at->path}, NULL, &table, NULL), SHOAL_E_INPUT);
        assert_message(at, cases[i].expected);
        shoal_table_release(&table);
    }
}

/* A tipsy header of `words`, in either order of bytes, then n floats of 1, in a file that ends so. */
static void write_tipsy(const fixture *at, bool big, double time, const uint32_t words[5], int n)
{
    uint64_t bits;
    unsigned char bytes[1024] = {0};
    size_t size = 32;
    memcpy(&bits, &time, sizeof bits);
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(bits >> 8 * (big ? 7 - i : i));
    for (int w = 0; w < 5; w++)
        for (int i = 0; i < 4; i++)
            bytes[8 + 4 * w + i] = (unsigned char)(words[w] >> 8 * (big ? 3 - i : i));
    for (int f = 0; f < n; f++, size += 4)
        for (int i = 0; i < 4; i++)
            bytes[size + (size_t)i] = (unsigned char)(0x3f800000u >> 8 * (big ? 3 - i : i));
    spill(at->path, (const char *)bytes, size);
}

static void tipsy_headers(void **state)
{
    const fixture *at = *state;
    static const struct {
        double time;
        uint32_t words[5]; /* n, n_dimensions, gas, dark, stars */
        int n;
        const char *expected;
    } cases[] = {
        {0, {2, 3, 0, 2, 0}, 18, NULL},
        {0, {3, 3, 1, 1, 1}, 32, NULL},
        {0, {2, 2, 0, 2, 0}, 18, ": n_dimensions = 2: expected 3 in the header of a tipsy file"},
        {0, {2, 3, 1, 2, 0}, 18, ": n = 2: expected the sum of 1 gas, 2 dark, 0 stars, more than 0"},
        {0, {0, 3, 0, 0, 0}, 18, ": n = 0: expected the sum of 0 gas, 0 dark, 0 stars, more than 0"},
        {0, {2, 3, 0, 2, 0}, 19, ": 108 bytes: expected 104 (0 gas, 2 dark, 0 stars)"},
        {0, {2, 3, 0, 2, 0}, 16, ": 96 bytes: expected 104 (0 gas, 2 dark, 0 stars)"},
        {0, {0xffffffff, 3, 0, 0xffffffff, 0}, 18, ": 104 bytes: expected 154618822652 (0 gas, 4294967295 dark"},
        {NAN, {2, 3, 0, 2, 0}, 18, ": time = nan: expected a finite number"},
        {INFINITY, {2, 3, 0, 2, 0}, 18, ": time = inf: expected a finite number"},
        {0, {3, 3, 0, 3, 0xffffffff}, 27, ": n = 3: expected the sum of 0 gas, 3 dark, 4294967295 stars"},
    };
    const shoal_convert_options options = defaults(NULL);
    for (int i = 0; i < SHOAL_COUNT(cases); i++)
        for (int big = 0; big < 2; big++) {
            shoal_table table = {.context = at->context};
            write_tipsy(at, big, cases[i].time, cases[i].words, cases[i].n);
            const shoal_status status = shoal_format_tipsy.read(&table, 1, &(char *){(char *)at->path}, &options);
            if (status != (cases[i].expected ? SHOAL_E_INPUT : SHOAL_OK))
                fail_msg("header %d: %s", i, shoal_context_message(at->context));
            if (cases[i].expected)
                assert_message(at, cases[i].expected);
            else
                assert_near(table.bodies[table.n_bodies - 1].vz, 1, 0);
            shoal_table_release(&table);
        }
}

static void tipsy_bodies(void **state)
{
    const fixture *at = *state;
    const unsigned char infinite[4] = {0xff, 0x80};
    const char *const path = at->path;
    const shoal_convert_options options = defaults(NULL);
    for (int cut = 0; cut < 2; cut++) {
        shoal_table table = {.context = at->context};
        write_tipsy(at, true, 0, (uint32_t[]){2, 3, 0, 2, 0}, 18);
        FILE *file = fopen(path, "r+");
        assert_int_equal(fseek(file, 32, SEEK_SET), 0);
        assert_int_equal(fwrite(infinite, sizeof infinite, 1, file), 1);
        fclose(file);
        assert_int_equal(truncate(path, cut ? 17 : 104), 0);
        assert_int_equal(shoal_format_tipsy.read(&table, 1, &(char *){(char *)path}, &options), SHOAL_E_INPUT);
        assert_message(at, cut ? ": expected the header of a tipsy file, 28 bytes"
                               : ": body 0: mass = -inf: expected finite numbers and a mass >= 0");
        shoal_table_release(&table);
    }
}

/* No memory is asked for that the file could not fill. */
static void phigrape_headers(void **state)
{
    const fixture *at = *state;
#define TWO "0 1 0 0 0 0 0 0\n1 1 1 0 0 0 0 0\n"
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"0\n2\n0\n" TWO, NULL},
        {"0\n2000000000\n0\n" TWO, ": number of bodies = 2000000000: expected fewer in a file of 47 bytes"},
        {"0\n3\n0\n" TWO, ":5: the file ends; expected index"},
        {"0\n2\n0\n" TWO "2 1 0 0 0 0 0 0\n", ":6: word = 2: expected the end after 2 bodies"},
        {"0\n1\n0\n" TWO, ":2: number of bodies = 1: expected an integer from 2 on"},
        {"0\n1e300\n0\n" TWO, ":2: number of bodies = 1e+300: expected an integer from 2 on"},
        {"0.5\n2\n0\n" TWO, ":1: number of the snapshot = 0.5: expected an integer"},
        {"0\n2\n0\n0 -1 0 0 0 0 0 0\n1 1 1 0 0 0 0 0\n", ":4: mass = -1: expected a number >= 0"},
        {"0\n2\nnan\n" TWO, ":3: time = nan: expected a finite number"},
        {"0\n2\n0\n0.5 1 0 0 0 0 0 0\n1 1 1 0 0 0 0 0\n", ":4: index = 0.5: expected an integer"},
        {"0\n2\n0\n0 1 0 0 0 0 0\n1 1 1 0 0 0 0 0\n", ":4: the line ends; expected vz"},
        {"0\n2\n0\n0 1 0 0 0 0 0 0 9\n1 1 1 0 0 0 0 0\n", ":4: word = 9: expected the end of the line after vz"},
    };
    const shoal_convert_options options = defaults(NULL);
    for (int i = 0; i < SHOAL_COUNT(cases); i++) {
        shoal_table table = {.context = at->context};
        spill(at->path, cases[i].text, strlen(cases[i].text));
        const shoal_status status = shoal_format_phigrape.read(&table, 1, &(char *){(char *)at->path}, &options);
        if (status != (cases[i].expected ? SHOAL_E_INPUT : SHOAL_OK))
            fail_msg("header %d: %s", i, shoal_context_message(at->context));
        if (cases[i].expected)
            assert_message(at, cases[i].expected);
        shoal_table_release(&table);
    }
}

static void formats_are_named(void **state)
{
    const fixture *at = *state;
    const shoal_format *format;
    assert_int_equal(shoal_format_named(at->context, "mercruy", &format), SHOAL_E_USAGE);
    assert_message(at, "did you mean \"mercury\"");
    assert_string_equal(shoal_format_by_end("a.b/c.h5")->name, "hdf5");
    assert_string_equal(shoal_format_by_end("big.in")->name, "mercury");
    assert_null(shoal_format_by_end("a.hdf"));
    assert_null(shoal_format_by_end("folder.csv/file"));
    assert_null(shoal_format_by_end("csv"));
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(mercury_elements),
        TEST(exoplanets),
        TEST(horizons),
        TEST(horizons_tables),
        TEST(horizons_centres),
        TEST(mercury_comets),
        TEST(exoplanet_flags),
        TEST(exoplanets_as_downloaded),
        TEST(round_trips),
        TEST(tables_are_whole),
        TEST(wrong_files_are_refused),
        TEST(files_that_do_not_fit),
        TEST(formats_are_named),
        TEST(texts_are_whole),
        TEST(gadget_headers),
        TEST(gadget_sizes),
        TEST(tipsy_headers),
        TEST(tipsy_bodies),
        TEST(phigrape_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
