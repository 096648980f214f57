/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_observations.c: tables of observers. Each format is read from a small file in its public form, with the units,
 * times, planets and instruments that it has; what a table leaves open and its reader does not say is refused, and so
 * is what contradicts itself; TDB is that of ERFA; published tables are read where they are there.
 */
#define _GNU_SOURCE 1
#include <math.h>
#include <unistd.h>

#include "core/formats/observations.h"
#include "testing.h"

#define MAS (3.14159265358979323846 / 180 / 3600e3)
static char folder[] = "/tmp/shoal-observations-XXXXXX";

static void write_file(const char *text)
{
    FILE *out = fopen("table", "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static const shoal_observations_said nothing = {.error = NAN, .body = -1};

static void near_to(double value, double right, double bound, const char *what)
{
    if (!(fabs(value - right) <= bound))
        fail_msg("%s: %.15g, not %.15g", what, value, right);
}

/* One row that a table must give. */
typedef struct expected_row {
    shoal_observed kind;
    int body;
    long number;
    const char *instrument;
    double time, value, error, correlation;
} expected_row;

#define KIND(name) SHOAL_OBSERVED_##name

static const struct {
    const char *format, *time, *unit, *object, *text;
    double zero, error;
    int n;
    expected_row rows[4];
} tables[] = {
    {"radvel",
     "BJD_TDB",
     NULL,
     NULL,
     ",time,mnvel,errvel,tel\n0,2456364.81,6.9,1.5,hires\n1,2456365.5,-2,1,harps\n",
     0,
     NAN,
     2,
     {{KIND(velocity), -1, -1, "hires", 2456364.81, 6.9, 1.5, 0},
      {KIND(velocity), -1, -1, "harps", 2456365.5, -2, 1, 0}}},
    {"radvel",
     "BJD_TDB - 2454833",
     "km/s",
     NULL,
     "# unit: km/s\ntime mnvel errvel tel\n2364.25 0.0069 0.0015 k\n",
     2454833,
     NAN,
     1,
     {{KIND(velocity), -1, -1, "k", 2364.25, 6.9, 1.5, 0}}},
    {"vels",
     "JD_TDB",
     NULL,
     NULL,
     "# instrument = HAMILTON\n# value_units = M/S\n 2449679.625  58.07  19.7\n",
     0,
     NAN,
     1,
     {{KIND(velocity), -1, -1, NULL, 2449679.625, 58.07, 19.7, 0}}},
    {"rdb",
     "TDB",
     "m/s",
     NULL,
     "rjd\tvrad\tsvrad\tfwhm\tins_name\n---\t----\t-----\t----\t--------\n55500.5\t12.5\t0.5\t\tCORALIE\n",
     2400000,
     NAN,
     1,
     {{KIND(velocity), -1, -1, "CORALIE", 55500.5, 12.5, 0.5, 0}}},
    {"pyorbit",
     "BJD_TDB - 2450000",
     NULL,
     NULL,
     "6000.5 12.5 0.5 0 1 -1\n6001.5 13.5 0.25 0 0 -1\n",
     2450000,
     NAN,
     2,
     {{KIND(velocity), -1, -1, "1", 6000.5, 12.5, 0.5, 0}, {KIND(velocity), -1, -1, "0", 6001.5, 13.5, 0.25, 0}}},
    {"pyorbit_transits",
     "BJD_TDB",
     NULL,
     NULL,
     "-3 2456000.5 0.002 0 -1 -1\n",
     0,
     NAN,
     1,
     {{KIND(transit), -1, -3, "-1", 2456000.5, 2456000.5, 0.002, 0}}},
    {"trades",
     "BJD_TDB",
     NULL,
     NULL,
     "# JD RV eRV RVsetID\n2456000.5 12.5 0.5 2\n",
     0,
     NAN,
     1,
     {{KIND(velocity), -1, -1, "2", 2456000.5, 12.5, 0.5, 0}}},
    {"trades_transits",
     "BKJD",
     NULL,
     NULL,
     "# epoch T0 eT0\n0 159.5 0.001\n5 384.75 0.002 7\n",
     2454833,
     NAN,
     2,
     {{KIND(transit), -1, 0, NULL, 159.5, 159.5, 0.001, 0}, {KIND(transit), -1, 5, "7", 384.75, 384.75, 0.002, 0}}},
    {"ttvfast",
     "BJD_TDB - 2450000",
     NULL,
     NULL,
     "0 3 6000.5 1e-5 0.1\n1 0 6001.5 2e-5 0.05\n",
     2450000,
     1e-3,
     2,
     {{KIND(transit), 1, 3, NULL, 6000.5, 6000.5, 1e-3, 0}, {KIND(transit), 2, 0, NULL, 6001.5, 6001.5, 1e-3, 0}}},
    {"agol",
     "BJD_TDB - 2450000",
     NULL,
     NULL,
     "1,0,7322.51531,71e-5\n7,12,7400.25,0.001\n",
     2450000,
     NAN,
     2,
     {{KIND(transit), 1, 0, NULL, 7322.51531, 7322.51531, 71e-5, 0},
      {KIND(transit), 7, 12, NULL, 7400.25, 7400.25, 0.001, 0}}},
    {"jnkepler",
     "BKJD",
     NULL,
     NULL,
     "0 159.1102 0.00128 0 1\n",
     2454833,
     NAN,
     1,
     {{KIND(transit), 1, 0, NULL, 159.1102, 159.1102, 0.00128, 0}}},
    {"holczer",
     "TDB",
     NULL,
     "137",
     "137.01 4 100.5 14.4 1.44 0 0\n137.02 -2 200.25 -7.2 0.72 0 0\n138.01 1 3.5 1 1 0 0\n",
     2454900,
     NAN,
     2,
     {{KIND(transit), 1, 4, NULL, 100.51, 100.51, 0.001, 0},
      {KIND(transit), 2, -2, NULL, 200.245, 200.245, 0.0005, 0}}},
    {"transits",
     "TDB",
     NULL,
     NULL,
     "Epoch,Time [BJD-2454833],Uncertainty [min],Planet,Facility\n3,2231.5,1.44,c,k2\n0,2240,2.88,b,\"Las "
     "Cumbres\"\n",
     2454833,
     NAN,
     2,
     {{KIND(transit), 2, 3, "k2", 2231.5, 2231.5, 0.001, 0},
      {KIND(transit), 1, 0, "Las Cumbres", 2240, 2240, 0.002, 0}}},
    {"orvara",
     "TDB",
     NULL,
     NULL,
     "#Epoch[JD]  RV[m/s]  RV_err[m/s]  InstrumentID\n2456000.5 12.5 0.5 0\n",
     0,
     NAN,
     1,
     {{KIND(velocity), -1, -1, "0", 2456000.5, 12.5, 0.5, 0}}},
    {"orvara_astrometry",
     "JYEAR_TDB",
     NULL,
     NULL,
     "# Date Sep Err_sep PA Err_PA Corr PlanetID\n2008.0 0.608 0.011 180 1.8 -0.5 0\n",
     2451545 - 2000 * 365.25,
     NAN,
     2,
     {{KIND(separation), 1, -1, NULL, 2008 * 365.25, 608 * MAS, 11 * MAS, 0},
      {KIND(position_angle), 1, -1, NULL, 2008 * 365.25, 648e6 * MAS, 648e4 * MAS, -0.5}}},
    {"orbitize",
     "MJD_TDB",
     NULL,
     NULL,
     "epoch,object,raoff,raoff_err,decoff,decoff_err,radec_corr,sep,sep_err,pa,pa_err,rv,rv_err,instrument\n"
     "54781,1,,,,,,210,27,90,1.5,,,NACO\n54790.5,0,,,,,,,,,,0.25,0.001,L\n55000,2,10,1,-20,2,0.25,,,,,,,NACO\n",
     2400000.5,
     NAN,
     5,
     {{KIND(separation), 1, -1, "NACO", 54781, 210 * MAS, 27 * MAS, 0},
      {KIND(position_angle), 1, -1, "NACO", 54781, 324e6 * MAS, 5.4e6 * MAS, 0},
      {KIND(velocity), 0, -1, "L", 54790.5, 250, 1, 0},
      {KIND(d_ra), 2, -1, "NACO", 55000, 10 * MAS, 1 * MAS, 0}}},
    {"gaia",
     NULL,
     NULL,
     NULL,
     "# %ECSV 1.0\n# ---\n# delimiter: ','\n# datatype:\n# - {name: obs_time_tcb, unit: ns, datatype: int64}\n"
     "# - {name: scan_pos_angle, unit: deg, datatype: float64}\n# -\n#   name: centroid_pos_al\n#   unit: mas\n"
     "#   datatype: float64\n# - {name: centroid_pos_error_al, unit: mas, datatype: float64}\n"
     "# - {name: parallax_factor_al, datatype: float64}\n# - {name: outlier_flag, datatype: int64}\n"
     "obs_time_tcb,scan_pos_angle,centroid_pos_al,centroid_pos_error_al,parallax_factor_al,outlier_flag\n"
     "86400000000000000,90.0,49.2,0.125,-0.5,1\n",
     2455197.5,
     NAN,
     1,
     {{KIND(along_scan), -1, -1, NULL, 1000 - 17.4864821 / 86400, 49.2 * MAS, 0.125 * MAS, 0}}},
    {"octofitter",
     "MJD",
     NULL,
     NULL,
     "transit_id,epoch,scan_pos_angle,centroid_pos_al,centroid_pos_error_al,parallax_factor_al,outlier_flag\n"
     "16390666388267148,56197,1.5707963267948966,49.2,0.125,-0.5,1\n",
     2400000.5,
     NAN,
     1,
     {{KIND(along_scan), -1, -1, NULL, 56197 - 17.4864821 / 86400, 49.2 * MAS, 0.125 * MAS, 0}}},
};

static void every_format_is_read(void **state)
{
    shoal_context *context = context_of(state);
    for (int i = 0; i < SHOAL_COUNT(tables); i++) {
        shoal_observations table;
        shoal_observations_said said = nothing;
        said.format = tables[i].format;
        said.time = tables[i].time;
        said.unit = tables[i].unit;
        said.object = tables[i].object;
        said.error = tables[i].error;
        write_file(tables[i].text);
        const shoal_status status = shoal_observations_read(context, "table", &said, &table);
        if (status)
            fail_msg("%s: %s", said.format, shoal_context_message(context));
        assert_int_equal(table.n, tables[i].n);
        near_to(table.zero, tables[i].zero, 0, said.format);
        for (int k = 0; k < tables[i].n && k < 4; k++) {
            const expected_row *right = &tables[i].rows[k];
            const shoal_observation *row = &table.row[k];
            assert_int_equal(row->kind, right->kind);
            assert_int_equal(row->body, right->body);
            assert_int_equal(row->number, right->number);
            assert_int_equal(row->instrument < 0, right->instrument == NULL);
            if (right->instrument)
                assert_string_equal(table.instrument[row->instrument], right->instrument);
            near_to(row->time, right->time, 1e-9, said.format);
            near_to(row->value, right->value, 1e-9 * fabs(right->value), said.format);
            near_to(row->error, right->error, 1e-12 * right->error, said.format);
            near_to(row->correlation, right->correlation, 0, said.format);
            if (row->kind == KIND(along_scan)) {
                near_to(row->angle, M_PI / 2, 1e-15, "scan angle");
                near_to(row->parallax_factor, -0.5, 0, "parallax factor");
                assert_int_equal(row->flag, 1);
            }
        }
        shoal_observations_release(&table);
    }
}

static void flags_are_numbers_or_words(void **state)
{
    static const struct {
        const char *word;
        int flag; /* -1: refused */
    } cases[] = {{"1", 1}, {"0", 0}, {"True", 1}, {"true", 1}, {"False", 0}, {"maybe", -1}, {"", -1}};
    shoal_context *context = context_of(state);
    for (int i = 0; i < SHOAL_COUNT(cases); i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "epoch,scan_pos_angle,centroid_pos_al,centroid_pos_error_al,parallax_factor_al,outlier_flag\n"
                 "56197,1.5,49.2,0.125,-0.5,%s\n",
                 cases[i].word);
        write_file(text);
        shoal_observations table;
        shoal_observations_said said = nothing;
        said.format = "octofitter";
        said.time = "MJD";
        const shoal_status status = shoal_observations_read(context, "table", &said, &table);
        assert_int_equal(status, cases[i].flag < 0 ? SHOAL_E_INPUT : SHOAL_OK);
        if (status)
            assert_non_null(strstr(shoal_context_message(context), "expected a number, True or False"));
        else
            assert_int_equal(table.row[0].flag, cases[i].flag);
        shoal_observations_release(&table);
    }
}

/* A letter is that of a body's name, and of a place only where names have no letters. */
static void letters_are_those_of_names(void **state)
{
    static const struct {
        const char names[3][SHOAL_NAME_SIZE];
        int body[2]; /* of planets b and d; -1: none of these bodies */
    } cases[] = {{{"star", "c", "b"}, {2, 3}},
                 {{"star", "V1298 Tau c", "V1298 Tau b"}, {2, 3}},
                 {{"star", "Kepler-51d", "e"}, {-1, 1}},
                 {{"Sun", "Jupiter", "Saturn"}, {1, 3}},
                 {{"star", "c", "d"}, {-1, 2}}};
    shoal_context *context = context_of(state);
    write_file("epoch,error,time,planet\n0,0.1,10,b\n0,0.1,20,d\n");
    for (int i = 0; i < SHOAL_COUNT(cases); i++) {
        shoal_observations table;
        shoal_observations_said said = nothing;
        said.format = "transits";
        said.time = "BJD_TDB - 2450000";
        said.n_names = 3;
        said.names = cases[i].names;
        assert_ok(context, shoal_observations_read(context, "table", &said, &table));
        for (int k = 0, row = 0; k < 2; k++)
            if (cases[i].body[k] >= 0) {
                assert_true(row < table.n && table.row[row].time == (k ? 20 : 10));
                assert_int_equal(table.row[row++].body, cases[i].body[k]);
            }
        assert_int_equal(table.n, (cases[i].body[0] >= 0) + (cases[i].body[1] >= 0));
        shoal_observations_release(&table);
    }
}

static void epochs_are_julian_dates(void **state)
{
    (void)state;
    near_to(shoal_time_epoch("BJD_TDB 2454833.0"), 2454833, 0, "BJD_TDB");
    near_to(shoal_time_epoch("MJD_UTC 55000.5"), 2455001, 0, "MJD");
    near_to(shoal_time_epoch("J2010.0"), 2455197.5, 0, "J");
    near_to(shoal_time_epoch("JD 2451545 TDB"), 2451545, 0, "JD, the scale behind it");
    near_to(shoal_time_epoch("MJD 55000.5 UT"), 2455001, 0, "MJD, the scale behind it");
    assert_true(isnan(shoal_time_epoch("JD TDB")) && isnan(shoal_time_epoch("day 5")));
    assert_true(isnan(shoal_time_epoch("none")) && isnan(shoal_time_epoch("that of 1990")) &&
                isnan(shoal_time_epoch("")) && isnan(shoal_time_epoch("JYEAR_TCB 2016.0")));
}

static void what_is_open_or_wrong_is_refused(void **state)
{
    static const struct {
        const char *format, *time, *unit, *text, *words;
    } cases[] = {
        {"radvel", NULL, NULL, "time,mnvel,errvel,tel\n2456364.8,6.9,1.5,k\n", "expected the zero of its times"},
        {"radvel", "BJD", NULL, "time,mnvel,errvel,tel\n2456364.8,6.9,1.5,k\n", "expected the time scale of its times"},
        {"radvel", "HJD_UTC", NULL, "time,mnvel,errvel,tel\n2456364.8,6.9,1.5,k\n", "heliocentric"},
        {"radvel", "BJD_TDB - ", NULL, "time,mnvel,errvel,tel\n2456364.8,6.9,1.5,k\n",
         "a number of days after the minus"},
        {"radvel", "noon", NULL, "time,mnvel,errvel,tel\n2456364.8,6.9,1.5,k\n", "for instance BJD_TDB"},
        {"radvel", "BJD_TDB", NULL, "time,mnvel,errvel,tel\n2364.8,6.9,1.5,k\n", "is the zero of times right"},
        {"radvel", "BJD_TDB", "mph", "time,mnvel,errvel,tel\n2456364.8,6.9,1.5,k\n", "a unit of it"},
        {"radvel", "BJD_TDB", "mas", "time,mnvel,errvel,tel\n2456364.8,6.9,1.5,k\n", "a unit of it"},
        {"radvel", "BJD_TDB", NULL, "time,mnvel,tel\n2456364.8,6.9,k\n", "RadVel: time, mnvel"},
        {"radvel", "BJD_TDB", NULL, "time,mnvel,errvel,tel\n2456364.8,6.9,0,k\n", "a number > 0"},
        {"radvel", "BJD_TDB", NULL, "time,mnvel,errvel,tel\n2456364.8,x,1,k\n", "table:2: velocity = x"},
        {"radvel", "BJD_TDB", NULL, "time,mnvel,errvel,tel\n2456364.8,1,1\n", "found 3"},
        {"radvel", "BJD_TDB", NULL, "time,mnvel,errvel,tel\n", "at least one measurement"},
        {"radvel", "BJD_UTC", NULL, "time,mnvel,errvel,tel\n2440000.5,6.9,1.5,k\n", "UTC from 1972 on"},
        {"radvel", "BJD_TDB", NULL, "# time: BJD_UTC\ntime,mnvel,errvel,tel\n2456364.8,6.9,1.5,k\n",
         "what else is said of these times"},
        {"radvel", "BJD_TDB", "m/s", "# unit: km/s\ntime,mnvel,errvel,tel\n2456364.8,6.9,1.5,k\n",
         "the unit that the table says"},
        {"radvel", "BJD_TDB", "km/s", "time,mnvel,errvel,tel\n2456364.8,6.9,1.5,k\n",
         "the unit that the format defines"},
        {"rdb", "BJD_TDB - 2400000", NULL, "rjd\tvrad\tsvrad\n---\t---\t---\n55500.5\t12.5\t0.5\n", "expected a unit"},
        {"holczer", "TDB", NULL, "137.01 4 100.5 14.4 1.44\n", "an object by who reads it"},
        {"holczer", "BJD_TDB - 2454833", NULL, "137.01 4 100.5 14.4 1.44\n", "what else is said"},
        {"ttvfast", "BJD_TDB", NULL, "0 0 2456000.5 0 0\n", "an error by who reads it"},
        {"agol", "BJD_TDB", NULL, "1,0.5,2457322.5,1e-3\n", "an integer"},
        {"agol", "BJD_TDB", NULL, "?,0,2457322.5,1e-3\n", "table:1: planet = ?"},
        {"orvara_astrometry", "JYEAR_TDB", NULL, "2008.0 0.608 0.011 156 1.3 1.5 0\n", "between -1 and 1"},
        {"gaia", NULL, NULL,
         "obs_time_tcb,scan_pos_angle,centroid_pos_al,centroid_pos_error_al,parallax_factor_al\n1000,1,1,1,1\n",
         "expected a unit"},
        {"gaia", NULL, "mas",
         "obs_time_tcb,scan_pos_angle,centroid_pos_al,centroid_pos_error_al,parallax_factor_al\n1000,1,1,1,1\n",
         "an angle with its unit"},
        {"radvl", NULL, NULL, "x\n", "is it 'radvel'?"},
        {"hgca", NULL, NULL, "x\n", "the star's number of Hipparcos"},
    };
    shoal_context *context = context_of(state);
    for (int i = 0; i < SHOAL_COUNT(cases); i++) {
        shoal_observations table;
        shoal_observations_said said = nothing;
        said.format = cases[i].format;
        said.time = cases[i].time;
        said.unit = cases[i].unit;
        write_file(cases[i].text);
        if (shoal_observations_read(context, "table", &said, &table) != SHOAL_E_INPUT)
            fail_msg("case %d is read: '%s' is not said", i, cases[i].words);
        if (!strstr(shoal_context_message(context), cases[i].words))
            fail_msg("'%s' is not in: %s", cases[i].words, shoal_context_message(context));
        assert_null(table.row);
    }
}

/* Of a line no cell is lost without a word, whatever is between them. */
static void too_many_cells_are_refused(void **state)
{
    static const struct {
        const char *format, *between;
    } cases[] = {{"radvel", ","}, {"rdb", "\t"}, {"orvara", " "}};
    enum { CELLS = 257 };
    shoal_context *context = context_of(state);
    for (int i = 0; i < SHOAL_COUNT(cases); i++) {
        char text[8 * CELLS + 1];
        size_t used = 0;
        for (int k = 0; k < CELLS; k++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%d", k ? cases[i].between : "", k);
        snprintf(text + used, sizeof text - used, "\n");
        shoal_observations table;
        shoal_observations_said said = nothing;
        said.format = cases[i].format;
        said.time = "BJD_TDB";
        said.unit = "m/s";
        write_file(text);
        assert_int_equal(shoal_observations_read(context, "table", &said, &table), SHOAL_E_INPUT);
        if (!strstr(shoal_context_message(context), "at most 256"))
            fail_msg("%s: %s", cases[i].format, shoal_context_message(context));
    }
}

/* Numbers of ERFA 2.0: utctai, taitt, dtdb (at the geocentre) and tcbtdb. */
static void tdb_is_that_of_erfa(void **state)
{
    static const struct {
        double jd, leaps, tdb_less_tt, tdb_less_tcb;
    } known[] = {{2441400.0, 10, 0.001644367598, 2.336952818},
                 {2450275.9700771, 30, -0.000199715540, -9.553732326},
                 {2455197.5, 34, -0.000094137349, -16.146855363},
                 {2457936.375, 37, 0.000065805581, -19.815986730},
                 {2460000.25, 37, 0.001279291504, -22.580854974}};
    (void)state;
    for (int i = 0; i < SHOAL_COUNT(known); i++) {
        const double tt = shoal_time_tdb(SHOAL_SCALE_TT, known[i].jd);
        near_to(tt, known[i].tdb_less_tt, 1e-5, "TDB - TT");
        near_to(shoal_time_tdb(SHOAL_SCALE_UTC, known[i].jd), known[i].leaps + 32.184 + tt, 1e-12, "TDB - UTC");
        near_to(shoal_time_tdb(SHOAL_SCALE_TCB, known[i].jd), known[i].tdb_less_tcb, 1e-5, "TDB - TCB");
        near_to(shoal_time_tdb(SHOAL_SCALE_TDB, known[i].jd), 0, 0, "TDB - TDB");
    }
    /* the leap second at the end of 2016, its last day and the next */
    near_to(shoal_time_tdb(SHOAL_SCALE_UTC, 2457754.5) - shoal_time_tdb(SHOAL_SCALE_UTC, 2457754.49), 1, 1e-5,
            "a leap second");
}

/* ---- FITS -------------------------------------------------------------------------------------------------------- */

static void card(FILE *out, const char *key, const char *value)
{
    fprintf(out, "%-8s= %-70s", key, value);
}

static void big_endian(FILE *out, const void *number, int size)
{
    uint64_t bits = 0;
    uint32_t half;
    memcpy(&half, number, sizeof half);
    if (size == 4)
        bits = half;
    else
        memcpy(&bits, number, sizeof bits);
    for (int k = size - 1; k >= 0; k--)
        fputc((int)(bits >> 8 * k & 255), out);
}

static void write_catalogue(long lost, double gaia)
{
    static const char *const names[] = {"pmra_hip",        "pmdec_hip",        "pmra_hip_error",  "pmdec_hip_error",
                                        "pmra_pmdec_hip",  "pmra_hg",          "pmdec_hg",        "pmra_hg_error",
                                        "pmdec_hg_error",  "pmra_pmdec_hg",    "pmra_gaia",       "pmdec_gaia",
                                        "pmra_gaia_error", "pmdec_gaia_error", "pmra_pmdec_gaia", "epoch_ra_hip",
                                        "epoch_dec_hip",   "epoch_ra_gaia",    "epoch_dec_gaia"};
    enum { N = SHOAL_COUNT(names), STARS = 3 };
    FILE *out = fopen("table", "w");
    char key[16], value[80];
    long at = 0;
    assert_non_null(out);
    card(out, "SIMPLE", "                   T / as the standard says");
    card(out, "BITPIX", "8");
    card(out, "NAXIS", "0");
    fprintf(out, "%-80s", "END");
    while ((at = ftell(out)) % 2880)
        fputc(' ', out);
    card(out, "XTENSION", "'BINTABLE'           / binary table extension");
    snprintf(value, sizeof value, "%d / bytes of a row", 4 + 4 * 3 + 8 * N);
    card(out, "NAXIS1", value);
    card(out, "NAXIS2", "3");
    snprintf(value, sizeof value, "%d", N + 2);
    card(out, "TFIELDS", value);
    for (int i = 0; i < N + 2; i++) {
        snprintf(key, sizeof key, "TTYPE%d", i + 1);
        snprintf(value, sizeof value, "'%s'", i == 0 ? "hip_id" : i == 1 ? "crosscal" : names[i - 2]);
        card(out, key, value);
        snprintf(key, sizeof key, "TFORM%d", i + 1);
        card(out, key, i == 0 ? "'J       '" : i == 1 ? "'3E      '" : "'D       '");
    }
    fprintf(out, "%-80s", "END");
    while ((at = ftell(out)) % 2880)
        fputc(' ', out);
    for (int star = 0; star < STARS; star++) {
        const int32_t id = 100 + star;
        const float single = 1.5f;
        big_endian(out, &id, 4);
        for (int k = 0; k < 3; k++)
            big_endian(out, &single, 4);
        for (int i = 0; i < N; i++) {
            const double number = i >= 15 ? (i < 17 ? 1991.25 : gaia) : i % 5 == 4 ? 0.1 : 10 * star + i + 0.25;
            big_endian(out, &number, 8);
        }
    }
    at = ftell(out) - lost;
    fclose(out);
    assert_int_equal(truncate("table", at), 0);
}

static void a_star_of_the_catalogue_is_read(void **state)
{
    shoal_context *context = context_of(state);
    shoal_observations table;
    shoal_observations_said said = nothing;
    said.format = "hgca";
    said.object = "101";
    write_catalogue(0, 2016);
    assert_ok(context, shoal_observations_read(context, "table", &said, &table));
    assert_int_equal(table.n, 6);
    for (int i = 0; i < 6; i++) {
        const shoal_observation *row = &table.row[i];
        const double unit = MAS / 365.25, at = (i / 2 == 2 ? 16 : -8.75) * 365.25;
        assert_int_equal(row->kind, i % 2 ? KIND(pm_dec) : KIND(pm_ra));
        near_to(row->value, (10 + i / 2 * 5 + i % 2 + 0.25) * unit, 1e-12 * unit, "proper motion");
        near_to(row->error, (12 + i / 2 * 5 + i % 2 + 0.25) * unit, 1e-12 * unit, "its error");
        near_to(row->correlation, i % 2 ? 0.1 : 0, 0, "correlation");
        near_to(table.zero + row->time, 2451545 + at + shoal_time_tdb(SHOAL_SCALE_TCB, 2451545 + at) / 86400, 1e-9,
                "epoch");
        assert_int_equal(isnan(row->until), i / 2 != 1);
        if (i / 2 == 1)
            near_to(row->until, 16 * 365.25, 1e-3, "end");
    }
    shoal_observations_release(&table);
    said.object = "7";
    assert_int_equal(shoal_observations_read(context, "table", &said, &table), SHOAL_E_INPUT);
    assert_non_null(strstr(shoal_context_message(context), "no star has it"));
    said.object = "101";
    write_catalogue(0, 2015.5);
    assert_int_equal(shoal_observations_read(context, "table", &said, &table), SHOAL_E_INPUT);
    assert_non_null(strstr(shoal_context_message(context), "the HGCA of Gaia EDR3"));
    write_catalogue(1, 2016);
    assert_int_equal(shoal_observations_read(context, "table", &said, &table), SHOAL_E_INPUT);
    assert_non_null(strstr(shoal_context_message(context), "all rows of its table"));
    write_file("not this");
    assert_int_equal(shoal_observations_read(context, "table", &said, &table), SHOAL_E_INPUT);
    assert_non_null(strstr(shoal_context_message(context), "a FITS file"));
}

/* ---- published tables -------------------------------------------------------------------------------------------- */

static void published_tables_are_read(void **state)
{
    static const struct {
        const char *file, *format, *time;
        long n;
        double first, value;
    } files[] = {
        {"hd164922_rv.txt", "radvel", "BJD_TDB", 401, 2450275.9700771, 10.865898802},
        {"k2-24_rv.csv", "radvel", "BKJD", 32, 2364.81958, 6.95906630745},
        {"gj876_1_lick.vels", "vels", "JD_TDB", 16, 2449679.6316, 58.07},
        {"trappist-1_transit_times.txt", "agol", "BJD_TDB - 2450000", 447, 7322.51531, 7322.51531},
        {"kepler-51_transit_times.txt", "jnkepler", "BKJD", 53, 159.1102, 159.1102},
        {"v1298tau_transit_times.csv", "transits", "TDB", 76, 2231.283228, 2231.283228},
        {"beta_pic_astrometry.csv", "orbitize", "MJD_TDB", 69, 54781, 210 * MAS},
        {"hr7672_rv_astrometry.csv", "orbitize", "MJD_TDB", 174, 47047.21939999983, 270.71},
        {"gaia-4_dr4_epoch_astrometry.csv", "octofitter", "MJD", 1077, 56890.26031803 - 18.4145 / 86400,
         49.237052 * MAS},
    };
    shoal_context *context = context_of(state);
    const char *root = getenv("SHOAL_ROOT");
    int n_read = 0;
    for (int i = 0; i < SHOAL_COUNT(files); i++) {
        char path[512];
        shoal_observations table;
        shoal_observations_said said = nothing;
        snprintf(path, sizeof path, "%s/../shared/data/%s", root ? root : ".", files[i].file);
        if (access(path, R_OK))
            continue;
        n_read++;
        said.format = files[i].format;
        said.time = files[i].time;
        assert_ok(context, shoal_observations_read(context, path, &said, &table));
        if (files[i].n >= 0 && table.n != files[i].n)
            fail_msg("%s: %ld measurements, not %ld", files[i].file, table.n, files[i].n);
        near_to(table.row[0].time, files[i].first, 1e-8, files[i].file);
        near_to(table.row[0].value, files[i].value, 1e-9 * fabs(files[i].value), files[i].file);
        shoal_observations_release(&table);
    }
    if (n_read == 0) {
        print_message("no ../shared/data\n");
        skip();
    }
}

static int begin(void **state)
{
    return setup(state) || !mkdtemp(folder) || chdir(folder) ? -1 : 0;
}

static int end(void **state)
{
    unlink("table");
    if (chdir("/") || rmdir(folder))
        return -1;
    return teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_is_read),
        cmocka_unit_test(letters_are_those_of_names),
        cmocka_unit_test(epochs_are_julian_dates),
        cmocka_unit_test(flags_are_numbers_or_words),
        cmocka_unit_test(what_is_open_or_wrong_is_refused),
        cmocka_unit_test(too_many_cells_are_refused),
        cmocka_unit_test(tdb_is_that_of_erfa),
        cmocka_unit_test(a_star_of_the_catalogue_is_read),
        cmocka_unit_test(published_tables_are_read),
    };
    cmocka_set_test_filter(getenv("SHOAL_TEST_NAME"));
    return cmocka_run_group_tests(tests, begin, end);
}
