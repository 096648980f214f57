/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_ellipses.c: likelihoods of bodies that do not attract each other, velocities as light brings them, and criteria
 * of stability. What is seen of one planet is that of an integration; of heavy planets at the epoch that of their
 * states; of HD 164922 RadVel's. Light travel and redshifts are those of a two-body motion in closed form. What is not
 * stable by formulas that are written here once more is -infinity.
 */
#define _GNU_SOURCE 1
#include <math.h>
#include <unistd.h>

#include "core/model/model.h"
#include "testing.h"

#define TWO_PI    6.283185307179586
#define C         299792458.0
#define AU_DAY    (149597870700.0 / 86400)
#define KEPLERIAN "likelihood = { motion = \"keplerian\"; };"
enum { N = 57, MOST_TEXT = 8192, MOST_DATA = 6 * N };

static char folder[] = "/tmp/shoal-ellipses-XXXXXX";

static double time_of(int j)
{
    return 900 * sin(1.7 * j) + 0.013 * j;
}

static void write_data(void)
{
    FILE *out = fopen("times.txt", "w"), *epoch = fopen("epoch.txt", "w");
    assert_non_null(out);
    assert_non_null(epoch);
    fprintf(out, "time value error\n");
    fprintf(epoch, "time value error\n0 0 1\n");
    for (int j = 0; j < N; j++)
        fprintf(out, "%.17g 0 1\n", time_of(j));
    fclose(out);
    fclose(epoch);
}

#define COLUMNS "columns = [\"time\", \"value\", \"error\"]; "
#define SEEN(file)                                                                                                  \
    "{ name = \"star\"; kind = \"velocity\"; file = \"" file "\"; " COLUMNS "},\n"                                  \
    "{ name = \"planet\"; kind = \"velocity\"; body = \"b\"; file = \"" file "\"; " COLUMNS "unit = \"km/s\"; },\n" \
    "{ name = \"ra\"; kind = \"delta_ra\"; body = \"b\"; parallax = 10.0; file = \"" file "\"; " COLUMNS "},\n"     \
    "{ name = \"dec\"; kind = \"delta_dec\"; body = \"b\"; parallax = 10.0; file = \"" file "\"; " COLUMNS "},\n"   \
    "{ name = \"r\"; kind = \"separation\"; body = \"b\"; parallax = 10.0; file = \"" file "\"; " COLUMNS "},\n"    \
    "{ name = \"last\"; kind = \"velocity\"; body = 1; file = \"" file "\"; " COLUMNS "}"

static void text_of(const char *frame, const char *planets, const char *parameters, const char *data, const char *more,
                    char text[MOST_TEXT])
{
    const int n = snprintf(text, MOST_TEXT,
                           "units = { length = \"AU\"; mass = \"Msun\"; time = \"d\"; };\nangles = \"degrees\";\n"
                           "system = { elements = \"%s\"; bodies = ( { name = \"star\"; m = 0.9; }, %s ); };\n"
                           "integrator = { name = \"gauss_radau\"; };\nrun = { t_end = 100.0; threads = 1; };\n"
                           "sample = { count = 1; parameters = ( %s ); };\ndata = ( %s );\n%s\n",
                           frame, planets, parameters, data, more);
    assert_true(n < MOST_TEXT);
}

/* What the model says of the data, and ln L. */
static double predict(shoal_context *context, const char *text, const double *theta, double *predicted)
{
    shoal_study *study = NULL;
    shoal_model *model = NULL;
    double lnl;
    assert_ok(context, shoal_study_open(context, "ellipses.cfg", text, 0, NULL, NULL, &study));
    assert_ok(context, shoal_model_create(study, 3, &model));
    assert_true(shoal_model_n_data(model) <= MOST_DATA || !predicted);
    assert_int_equal(strncmp(shoal_model_plan_line(model), "ellipses, ", 10) == 0, strstr(text, "keplerian") != NULL);
    assert_ok(context, shoal_model_evaluate(model, 1, theta, &lnl));
    if (predicted)
        assert_ok(context, shoal_model_predict(model, 1, theta, predicted));
    shoal_model_destroy(&model);
    shoal_study_destroy(&study);
    return lnl;
}

#define ECCENTRICITY "{ body = \"b\"; parameter = \"e\"; distribution = \"uniform\"; from = 0.0; to = 1.0; }"

/* One planet: two bodies attract each other on ellipses. */
static void one_planet_goes_as_integrated(void **state)
{
    static const double e[] = {0, 1e-9, 0.1, 0.5, 0.8, 0.97, 0.999};
    static const char *const frame[] = {"jacobi", "astrocentric", "barycentric"};
    for (int f = 0; f < 3; f++)
        for (int i = 0; i < (f == 2 ? 4 : SHOAL_COUNT(e)); i++) { /* barycentric ones are about a mass a little wrong */
            char text[2][MOST_TEXT];
            double seen[2][MOST_DATA];
            for (int way = 0; way < 2; way++) {
                const char *planet =
                    f == 2 ? "{ name = \"b\"; m = 1e-9; P = 24.0; omega = 70.0; Omega = 20.0; M = 10.0; inc = 80.0; }"
                           : "{ name = \"b\"; m = 0.1; P = 24.0; omega = 70.0; Omega = 20.0; M = 10.0; inc = 80.0; }";
                text_of(frame[f], planet, ECCENTRICITY, SEEN("times.txt"), way ? KEPLERIAN : "", text[way]);
                (void)predict(context_of(state), text[way], &e[i], seen[way]);
            }
            for (int j = 0; j < 6 * N; j++) {
                double most = 0; /* of its set */
                for (int q = 0; q < N; q++)
                    most = fmax(most, fabs(seen[0][j / N * N + q]));
                if (!(fabs(seen[0][j] - seen[1][j]) <= (f == 2 ? 1e-4 : e[i] > 0.98 ? 1e-6 : 3e-9) * most))
                    fail_msg("%s, e = %g, datum %d: %.15g, integrated %.15g", frame[f], e[i], j, seen[1][j],
                             seen[0][j]);
            }
        }
}

/* Round orbits beside long ones, which take more steps. */
static void neighbours_change_nothing(void **state)
{
    enum { MANY = 512 };
    double theta[MANY], lnl[2][MANY];
    char text[MOST_TEXT];
    const char *cpu = "run.engine=\"cpu\"";
    text_of("jacobi", "{ name = \"b\"; m = 0.1; P = 24.0; omega = 70.0; Omega = 20.0; M = 10.0; inc = 80.0; }",
            ECCENTRICITY, SEEN("times.txt"), KEPLERIAN, text);
    for (int i = 0; i < MANY; i++)
        theta[i] = 0.998 * fabs(sin(37.0 * i));
    for (int alone = 0; alone < 2; alone++) {
        shoal_study *study = NULL;
        shoal_model *model = NULL;
        assert_ok(context_of(state), shoal_study_open(context_of(state), "ellipses.cfg", text, 1, &cpu, NULL, &study));
        assert_ok(context_of(state), shoal_model_create(study, alone ? 1 : MANY, &model));
        assert_ok(context_of(state), shoal_model_evaluate(model, MANY, theta, lnl[alone]));
        shoal_model_destroy(&model);
        shoal_study_destroy(&study);
    }
    assert_memory_equal(lnl[0], lnl[1], sizeof lnl[0]);
}

/* Of what cannot be nothing is seen. */
static void what_cannot_be_is_not_seen(void **state)
{
    static const double theta[] = {0.4, -0.1, 1.0, 0.4};
    enum { WALKERS = SHOAL_COUNT(theta), MOST = 1000 };
    static double lnl[WALKERS], predicted[WALKERS * MOST];
    char text[MOST_TEXT];
    shoal_study *study = NULL;
    shoal_model *model = NULL;
    text_of("jacobi", "{ name = \"b\"; m = 0.1; P = 24.0; omega = 70.0; Omega = 20.0; M = 10.0; inc = 80.0; }",
            ECCENTRICITY, SEEN("times.txt"), KEPLERIAN, text);
    assert_ok(context_of(state), shoal_study_open(context_of(state), "ellipses.cfg", text, 0, NULL, NULL, &study));
    assert_ok(context_of(state), shoal_model_create(study, WALKERS, &model));
    const long n = shoal_model_n_data(model);
    assert_true(n <= MOST);
    assert_ok(context_of(state), shoal_model_evaluate(model, WALKERS, theta, lnl));
    assert_ok(context_of(state), shoal_model_predict(model, WALKERS, theta, predicted));
    for (int i = 0; i < WALKERS; i++) {
        assert_int_equal(isfinite(lnl[i]), theta[i] == 0.4);
        for (long j = 0; j < n; j++)
            assert_int_equal(isnan(predicted[i * n + j]), theta[i] != 0.4);
    }
    shoal_model_destroy(&model);
    shoal_study_destroy(&study);
}

/* Heavy planets: at the epoch they are where an integration begins. */
static void shares_are_those_of_the_states(void **state)
{
    static const char *const frame[] = {"jacobi", "astrocentric", "barycentric"};
    const double e = 0.3;
    for (int f = 0; f < 3; f++) {
        char text[MOST_TEXT];
        double seen[2][MOST_DATA];
        for (int way = 0; way < 2; way++) {
            text_of(frame[f],
                    "{ name = \"b\"; m = 0.05; P = 24.0; omega = 70.0; Omega = 20.0; M = 10.0; inc = 80.0; }, "
                    "{ name = \"c\"; m = 0.09; P = 240.0; e = 0.2; omega = 20.0; M = 100.0; inc = 70.0; }",
                    ECCENTRICITY, SEEN("epoch.txt"), way ? KEPLERIAN : "", text);
            (void)predict(context_of(state), text, &e, seen[way]);
        }
        for (int j = 0; j < 6; j++)
            if (!(fabs(seen[0][j] - seen[1][j]) <= 1e-13 * fabs(seen[0][j])))
                fail_msg("%s, datum %d: %.15g, not %.15g", frame[f], j, seen[1][j], seen[0][j]);
    }
}

/* RadVel 1.6.7: RVLikelihood with RVModel, basis "per tc secosw sesinw logk", on its file 164922_fixed.txt: at the
 * point where its tutorial begins (offsets 0, jitters 2.6), and at an eccentric one. */
static void hd_164922_is_that_of_radvel(void **state)
{
    static const struct {
        const char *b, *c;
        double offset[3], jitter[3], lnl;
    } points[] = {
        {"P = 1206.3; T0 = 1.0; sqrt_e_cos = 0.01; sqrt_e_sin = 0.01; K = 10.0;",
         "P = 75.771; T0 = -500.4; sqrt_e_cos = 0.01; sqrt_e_sin = 0.01; K = 1.0;",
         {0, 0, 0},
         {2.6, 2.6, 2.6},
         -1196.4876201913082},
        {"P = 1198.63; T0 = 0.0; sqrt_e_cos = 0.3; sqrt_e_sin = -0.2; K = 7.19;",
         "P = 75.771; T0 = -500.4; sqrt_e_cos = 0.5; sqrt_e_sin = 0.4; K = 2.13;",
         {0.3, -0.2, 0.5},
         {2.6, 1.5, 3},
         -1336.301543906554},
    };
    const char *root = getenv("SHOAL_ROOT");
    for (int i = 0; i < SHOAL_COUNT(points); i++) {
        char text[MOST_TEXT], planets[1024], data[2048] = "";
        for (int s = 0; s < 3; s++) {
            const size_t used = strlen(data);
            snprintf(data + used, sizeof data - used,
                     "%s{ name = \"%c\"; kind = \"velocity\"; file = \"%s/configs/hd_164922_rv.txt\"; instrument = "
                     "\"%c\";\n columns = [\"time\", \"mnvel\", \"errvel\"]; time_zero = 2456778.0; offset = %.17g; %s",
                     s ? ",\n" : "", "kja"[s], root ? root : ".", "kja"[s], points[i].offset[s], s ? "" : "}");
            if (s)
                snprintf(data + strlen(data), sizeof data - strlen(data), "jitter = %.17g; }", points[i].jitter[s]);
        }
        snprintf(planets, sizeof planets, "{ name = \"c\"; inc = 90.0; %s }, { name = \"b\"; inc = 90.0; %s }",
                 points[i].c, points[i].b);
        text_of("jacobi", planets,
                "{ data = \"k\"; parameter = \"jitter\"; distribution = \"uniform\"; from = 0.0; to = 9.0; }", data,
                KEPLERIAN, text);
        const double lnl = predict(context_of(state), text, &points[i].jitter[0], NULL);
        print_message("HD 164922: ln L = %.10f, RadVel %.10f\n", lnl, points[i].lnl);
        assert_true(fabs(lnl - points[i].lnl) < 1e-8);
    }
}

/* A line of its table: false at the end. */
static bool read_velocity(FILE *in, double row[3], char *instrument)
{
    char line[256];
    while (fgets(line, sizeof line, in))
        if (sscanf(line, "%lf %lf %lf %c", &row[0], &row[1], &row[2], instrument) == 4)
            return true;
    return false;
}

/* The means of the nights of an instrument, as the tutorial has them. */
static void write_nights(char instrument)
{
    const char *root = getenv("SHOAL_ROOT");
    char path[512], name[16], of;
    double row[3], sum[3] = {0}, night = 0;
    snprintf(path, sizeof path, "%s/configs/hd_164922_rv.txt", root ? root : ".");
    snprintf(name, sizeof name, "%c.txt", instrument);
    FILE *in = fopen(path, "r"), *out = fopen(name, "w");
    assert_non_null(in);
    assert_non_null(out);
    fprintf(out, "time value error\n");
    for (int n = 0, more = 1; more;) {
        more = read_velocity(in, row, &of);
        if (more && of != instrument)
            continue;
        if (n > 0 && (!more || floor(row[0]) != night)) {
            fprintf(out, "%.17g %.17g %.17g\n", sum[0] / n, sum[1] / n, sum[2] / n / sqrt(n));
            n = 0;
            memset(sum, 0, sizeof sum);
        }
        night = floor(row[0]);
        n++;
        for (int c = 0; c < 3; c++)
            sum[c] += row[c];
    }
    fclose(in);
    fclose(out);
}

/* RadVel's tutorial 164922_Fitting+MCMC prints these numbers and "Final loglikelihood = -767.134507", which has the
 * priors -ln 0.99 of both eccentricities, and is integrated over the offsets. Its numbers are rounded. */
static void the_tutorial_of_radvel_says_the_same(void **state)
{
    char text[MOST_TEXT], data[2048] = "";
    for (int s = 0; s < 3; s++) {
        const size_t used = strlen(data);
        write_nights("kja"[s]);
        snprintf(data + used, sizeof data - used,
                 "%s{ name = \"%c\"; kind = \"velocity\"; file = \"%c.txt\"; " COLUMNS
                 "marginal = true; time_zero = 2456778.0; %s }",
                 s ? ",\n" : "", "kja"[s], "kja"[s], s ? "jitter = 0.955511;" : "");
    }
    text_of("jacobi",
            "{ name = \"c\"; inc = 90.0; P = 75.7709; T0 = -499.73; sqrt_e_cos = -0.0327104; sqrt_e_sin = 0.436144; "
            "K = 2.1552915404562762; }, "
            "{ name = \"b\"; inc = 90.0; P = 1198.64; T0 = -2.44; sqrt_e_cos = -0.223475; sqrt_e_sin = 0.254041; "
            "K = 7.187978659425284; }",
            "{ data = \"k\"; parameter = \"jitter\"; distribution = \"uniform\"; from = 0.0; to = 9.0; }", data,
            KEPLERIAN, text);
    const double lnl = predict(context_of(state), text, (double[]){0.955511}, NULL), with = lnl - 2 * log(0.99);
    print_message("HD 164922: ln L = %.6f, with the tutorial's priors %.6f\n", lnl, with);
    assert_true(fabs(lnl - -767.15470734442) < 1e-6); /* the same sums in NumPy */
    assert_true(fabs(with - -767.134507) < 3e-4);
    for (int s = 0; s < 3; s++)
        assert_int_equal(unlink(s == 0 ? "k.txt" : s == 1 ? "j.txt" : "a.txt"), 0);
}

/* ---- light ------------------------------------------------------------------------------------------------------- */

/* Two bodies 0.9 and 0.4 Msun, 1 AU, e = 0.3, inc = 60, omega = 40 (degrees), M = 100 at time 0; AU and days. */
typedef struct star_state {
    double z, vz, v2, r;
} star_state;

static double gauss; /* its square: G Msun in AU^3/d^2 */

static star_state star_at(double t)
{
    const double gm = gauss * gauss * 1.3, e = 0.3, n = sqrt(gm), omega = 40 * TWO_PI / 360, share = 0.4 / 1.3,
                 sin_i = sin(60 * TWO_PI / 360);
    const double M = fmod(100 * TWO_PI / 360 + n * t, TWO_PI);
    double E = M;
    for (int i = 0; i < 200; i++)
        E -= (E - e * sin(E) - M) / (1 - e * cos(E));
    const double x = cos(E) - e, y = sqrt(1 - e * e) * sin(E), speed = n / (1 - e * cos(E)), vx = -speed * sin(E),
                 vy = speed * sqrt(1 - e * e) * cos(E);
    return (star_state){-share * sin_i * (sin(omega) * x + cos(omega) * y),
                        -share * sin_i * (sin(omega) * vx + cos(omega) * vy), share * share * (vx * vx + vy * vy),
                        hypot(x, y)};
}

static void velocities_are_those_of_light(void **state)
{
    shoal_units units;
    assert_ok(context_of(state), shoal_units_init(context_of(state), "AU", "Msun", "d", NAN, &units));
    gauss = shoal_units_factor(&units, "time");
    const double c = C / AU_DAY, gm = gauss * gauss * 0.4;
    for (int way = 0; way < 2; way++) {
        char text[MOST_TEXT];
        double seen[MOST_DATA];
        text_of("jacobi", "{ name = \"b\"; m = 0.4; a = 1.0; omega = 40.0; M = 100.0; inc = 60.0; }", ECCENTRICITY,
                "{ name = \"plain\"; kind = \"velocity\"; file = \"times.txt\"; " COLUMNS "},\n"
                "{ name = \"light\"; kind = \"velocity\"; file = \"times.txt\"; light_travel = true; " COLUMNS "},\n"
                "{ name = \"both\"; kind = \"velocity\"; file = \"times.txt\"; light_travel = true; relativity = "
                "true; " COLUMNS "}",
                way ? KEPLERIAN : "", text);
        (void)predict(context_of(state), text, (double[]){0.3}, seen);
        double most[3] = {0};
        for (int j = 0; j < N; j++) {
            const double t = time_of(j);
            const star_state now = star_at(t);
            double later = 0;
            for (int i = 0; i < 9; i++)
                later = star_at(t + later).z / c;
            const double right[3] = {-now.vz * AU_DAY, -star_at(t + later).vz * AU_DAY,
                                     (-star_at(t + later).vz + (now.v2 / 2 + gm / now.r) / c) * AU_DAY};
            for (int s = 0; s < 3; s++) {
                most[s] = fmax(most[s], fabs(right[s] - right[0]));
                if (!(fabs(seen[s * N + j] - right[s]) < 1e-6))
                    fail_msg("set %d, datum %d: %.12g m/s, not %.12g", s, j, seen[s * N + j], right[s]);
                if (!(fabs((seen[s * N + j] - seen[j]) - (right[s] - right[0])) < 1e-7))
                    fail_msg("set %d, datum %d: %.12g m/s more, not %.12g", s, j, seen[s * N + j] - seen[j],
                             right[s] - right[0]);
            }
        }
        assert_true(most[1] > 0.1 && most[2] > 1);
    }
}

/* ---- stability --------------------------------------------------------------------------------------------------- */

enum { WALKERS = 900 };

/* The relative deficit of planets b (inner) and c, inclined to each other, and the bounds of both criteria. */
/* long: a pair of orbits */
static void deficits(double e1, double alpha, double m1, double m2, double e2, double tilt, double *c, double bound[2])
{
    const double gamma = m1 / m2, g1 = gamma * sqrt(alpha * (1 - e1 * e1)), g2 = sqrt(1 - e2 * e2);
    *c = gamma * sqrt(alpha) + 1 - sqrt(g1 * g1 + g2 * g2 + 2 * g1 * g2 * cos(tilt));
    double least = INFINITY; /* over all ways in which the orbits touch */
    for (int i = 0; i <= 20000; i++) {
        const double e = i / 20000.0, other = 1 - alpha - alpha * e;
        if (other >= 0 && other <= 1)
            least = fmin(least, gamma * sqrt(alpha) * (1 - sqrt(1 - e * e)) + 1 - sqrt(1 - other * other));
    }
    bound[0] = least;
    bound[1] = gamma * sqrt(alpha) + 1 -
               pow(1 + gamma, 1.5) *
                   sqrt(alpha / (gamma + alpha) *
                        (1 + pow(3, 4.0 / 3) * pow((m1 + m2) / 0.9, 2.0 / 3) * gamma / ((1 + gamma) * (1 + gamma))));
}

static void what_is_not_stable_has_no_likelihood(void **state)
{
    static const char *const word[] = {"amd", "hill"};
    for (int w = 0; w < 2; w++)
        for (int order = 0; order < 2; order++) { /* the inner planet may be listed last */
            char text[MOST_TEXT], more[128];
            const char *b = "{ name = \"b\"; m = 3e-4; a = 1.0; omega = 70.0; inc = 80.0; }",
                       *c = "{ name = \"c\"; m = 1e-4; e = 0.05; omega = 20.0; M = 100.0; inc = 83.0; }";
            char planets[512];
            shoal_study *study = NULL;
            shoal_model *model = NULL;
            double theta[2 * WALKERS], lnl[WALKERS];
            int n_stable = 0, n_not = 0;
            snprintf(planets, sizeof planets, "%s, %s", order ? c : b, order ? b : c);
            snprintf(more, sizeof more, "likelihood = { motion = \"keplerian\"; stability = \"%s\"; };", word[w]);
            text_of("astrocentric", planets,
                    ECCENTRICITY
                    ", { body = \"c\"; parameter = \"a\"; distribution = \"uniform\"; from = 1.0; to = 3.0; }",
                    "{ name = \"star\"; kind = \"velocity\"; file = \"times.txt\"; " COLUMNS "}", more, text);
            assert_ok(context_of(state),
                      shoal_study_open(context_of(state), "ellipses.cfg", text, 0, NULL, NULL, &study));
            assert_ok(context_of(state), shoal_model_create(study, WALKERS, &model));
            for (int i = 0; i < WALKERS; i++) {
                theta[2 * i] = 0.5 * (i % 30) / 30;
                theta[2 * i + 1] = 1.02 + 0.03 * (i / 30);
            }
            assert_ok(context_of(state), shoal_model_evaluate(model, WALKERS, theta, lnl));
            for (int i = 0; i < WALKERS; i++) {
                double deficit, bound[2];
                deficits(theta[2 * i], 1 / theta[2 * i + 1], 3e-4, 1e-4, 0.05, 3 * TWO_PI / 360, &deficit, bound);
                if (fabs(deficit - bound[w]) < 1e-4 * fabs(bound[w]) + 1e-9)
                    continue; /* too near to tell by a search */
                const bool stable = deficit < bound[w];
                if (stable != isfinite(lnl[i]))
                    fail_msg("%s: e = %g, a = %g: deficit %g, bound %g, ln L = %g", word[w], theta[2 * i],
                             theta[2 * i + 1], deficit, bound[w], lnl[i]);
                n_stable += stable;
                n_not += !stable;
            }
            assert_true(n_stable > 100 && n_not > 100);
            shoal_model_destroy(&model);
            shoal_study_destroy(&study);
        }
    /* planets on circles in a plane are Hill-stable beyond 2 3^(1/6) ((m + m') / m_0)^(1/3) a (Gladman 1993) */
    double c, bound[2];
    deficits(0, 1 - 2 * pow(3, 1.0 / 6) * pow(2e-12 / 0.9, 1.0 / 3), 1e-12, 1e-12, 0, 0, &c, bound);
    assert_true(fabs(bound[1] - c) < 1e-3 * pow(2e-12, 2.0 / 3));
}

static void what_is_wrong_is_refused(void **state)
{
#define RV "{ name = \"x\"; kind = \"velocity\"; file = \"times.txt\"; " COLUMNS
    static const struct {
        const char *data, *more, *says;
    } cases[] = {
        {RV "}", "likelihood = { motion = \"kepler\"; };", "one of integrated, keplerian"},
        {RV "}", "likelihood = { stability = \"yes\"; };", "one of any, amd, hill"},
        {RV "}", "likelihood = { motions = \"keplerian\"; };", "did you mean 'motion'"},
        {RV "relativity = 2; }", "", "data[0].relativity"},
        {"{ name = \"x\"; kind = \"separation\"; body = \"b\"; parallax = 1.0; file = \"times.txt\"; " COLUMNS
         "relativity = true; }",
         "", "data[0].relativity = true: expected no such key"},
        {"{ name = \"x\"; kind = \"transit_time\"; body = \"b\"; file = \"times.txt\"; columns = [\"time\", "
         "\"error\"]; t0 = 0.0; period = 500.0; }",
         KEPLERIAN, "likelihood.motion = \"keplerian\": expected \"integrated\" motion for transits"},
    };
    shoal_context *context = context_of(state);
    for (int i = 0; i < SHOAL_COUNT(cases); i++) {
        char text[MOST_TEXT];
        shoal_study *study = NULL;
        shoal_model *model = NULL;
        text_of("jacobi", "{ name = \"b\"; m = 1e-5; P = 500.0; inc = 90.0; }", ECCENTRICITY, cases[i].data,
                cases[i].more, text);
        shoal_status status = shoal_study_open(context, "ellipses.cfg", text, 0, NULL, NULL, &study);
        if (!status)
            status = shoal_model_create(study, 1, &model);
        if (status != SHOAL_E_INPUT || !strstr(shoal_context_message(context), cases[i].says))
            fail_msg("case %d: '%s' is not in: %s", i, cases[i].says, shoal_context_message(context));
        shoal_model_destroy(&model);
        shoal_study_destroy(&study);
    }
}

static void a_gpu_finds_the_same(void **state)
{
    need_gpu();
    double lnl[2];
    char text[MOST_TEXT];
    for (int gpu = 0; gpu < 2; gpu++) {
        text_of("jacobi",
                "{ name = \"b\"; m = 1e-3; P = 24.0; omega = 70.0; inc = 80.0; }, "
                "{ name = \"c\"; m = 1e-3; P = 240.0; e = 0.6; omega = 20.0; M = 100.0; inc = 80.0; }",
                ECCENTRICITY, RV "light_travel = true; relativity = true; }",
                gpu ? "likelihood = { motion = \"keplerian\"; stability = \"amd\"; }; "
                    : "likelihood = { motion = \"keplerian\"; stability = \"hill\"; }; ",
                text);
        char *engine = strstr(text, "threads = 1;");
        assert_non_null(engine);
        memcpy(engine, "            ", 12);
        shoal_study *study = NULL;
        shoal_model *model = NULL;
        for (int e = 0; e < 2; e++) {
            const char *word = e ? "run.engine=\"cuda\"" : "run.engine=\"cpu\"";
            const double theta = 0.4;
            assert_ok(context_of(state),
                      shoal_study_open(context_of(state), "ellipses.cfg", text, 1, &word, NULL, &study));
            assert_ok(context_of(state), shoal_model_create(study, 1, &model));
            assert_ok(context_of(state), shoal_model_evaluate(model, 1, &theta, &lnl[e]));
            shoal_model_destroy(&model);
            shoal_study_destroy(&study);
        }
        if (!(fabs(lnl[0] - lnl[1]) <= 1e-12 * fabs(lnl[0])))
            fail_msg("ln L = %.17g and %.17g", lnl[0], lnl[1]);
    }
}

static int begin(void **state)
{
    if (setup(state) || !mkdtemp(folder) || chdir(folder))
        return -1;
    write_data();
    return 0;
}

static int end(void **state)
{
    if (unlink("times.txt") || unlink("epoch.txt") || chdir("/") || rmdir(folder))
        return -1;
    return teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_planet_goes_as_integrated), cmocka_unit_test(neighbours_change_nothing),
        cmocka_unit_test(what_cannot_be_is_not_seen),    cmocka_unit_test(shares_are_those_of_the_states),
        cmocka_unit_test(hd_164922_is_that_of_radvel),   cmocka_unit_test(the_tutorial_of_radvel_says_the_same),
        cmocka_unit_test(velocities_are_those_of_light), cmocka_unit_test(what_is_not_stable_has_no_likelihood),
        cmocka_unit_test(what_is_wrong_is_refused),      cmocka_unit_test(a_gpu_finds_the_same),
    };
    cmocka_set_test_filter(getenv("SHOAL_TEST_NAME"));
    return cmocka_run_group_tests(tests, begin, end);
}
