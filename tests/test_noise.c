/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * test_noise.c: likelihoods with correlated errors. ln L is that of celerite2, george and RadVel (numbers that these
 * programs gave), and that of a dense matrix by its formula, for each kernel, for sums of them, for several instruments
 * with offsets that are integrated over, and for a matrix from a file; data depend on no order; what is no process is
 * -infinity; wrong keys are refused; the exponential of kernel text is that of libm.
 */
#define _GNU_SOURCE 1
#include <math.h>
#include <unistd.h>

#include "core/model/model.h"
#include "testing.h"

#define TWO_PI 6.283185307179586
enum { N = 23, MOST_TEXT = 8192, MOST_LINEAR = 2 };

static char folder[] = "/tmp/shoal-noise-XXXXXX";

/* ---- data -------------------------------------------------------------------------------------------------------- */

/* Velocities at uneven times on both sides of 0, in no order, some twice, of two instruments. */
static double time_of(int j)
{
    return j % 7 == 6 ? time_of(j - 1) : 97 * sin(1.7 * j) + 0.013 * j;
}

static double value_of(int j)
{
    return 30 * sin(0.4 * j) + 3 * cos(2.1 * j);
}

static double error_of(int j)
{
    return 1 + 0.1 * (j % 5);
}

static double covariance_of(int i, int j)
{
    return 9 * exp(-fabs(time_of(i) - time_of(j)) / 25) + (i == j ? error_of(i) * error_of(i) : 0);
}

static void write_data(void)
{
    FILE *out = fopen("rv.txt", "w");
    assert_non_null(out);
    fprintf(out, "time rv err tel\n");
    for (int j = 0; j < N; j++)
        fprintf(out, "%.17g %.17g %.17g %s\n", time_of(j), value_of(j), error_of(j), j % 3 ? "one" : "two");
    fclose(out);
    out = fopen("matrix.txt", "w");
    assert_non_null(out);
    fprintf(out, "# of the errors\n");
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            fprintf(out, "%.17g%s", covariance_of(i, j), j + 1 < N ? i % 2 ? ", " : " " : "\n");
    fclose(out);
    out = fopen("wrong.txt", "w");
    assert_non_null(out);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            fprintf(out, "%d%s", i == j ? 1 : 2, j + 1 < N ? " " : "\n");
    fclose(out);
}

/* ---- studies ----------------------------------------------------------------------------------------------------- */

#define ALL "{ name = \"all\"; kind = \"velocity\"; file = \"rv.txt\"; columns = [\"time\", \"rv\", \"err\"]; "
#define OF(name)                                                                                             \
    "{ name = \"" name "\"; kind = \"velocity\"; file = \"rv.txt\"; columns = [\"time\", \"rv\", \"err\"]; " \
    "instrument = \"" name "\"; "
#define FREE(of, key) \
    "{ data = \"" of "\"; parameter = \"" key "\"; distribution = \"uniform\"; from = 1e-9; to = 100.0; }"

static void text_of(const char *mass, const char *parameters, const char *data, const char *more, char text[MOST_TEXT])
{
    const int n = snprintf(text, MOST_TEXT,
                           "units = { length = \"AU\"; mass = \"Msun\"; time = \"d\"; };\nangles = \"degrees\";\n"
                           "system = { elements = \"jacobi\"; bodies = ( { name = \"star\"; m = 0.9; },\n"
                           "    { name = \"b\"; m = %s; P = 24.0; e = 0.2; M = 10.0; inc = 80.0; } ); };\n"
                           "integrator = { name = \"mvs\"; dt = 0.4; };\nrun = { t_end = 100.0; threads = 1; };\n"
                           "sample = { count = 1; parameters = ( %s ); };\ndata = ( %s );\n%s\n",
                           mass, parameters, data, more);
    assert_true(n < MOST_TEXT);
}

static shoal_model *model_of(shoal_context *context, const char *text, const char *engine, shoal_study **study)
{
    shoal_model *model = NULL;
    assert_ok(context, shoal_study_open(context, "noise.cfg", text, 1, &engine, NULL, study));
    assert_ok(context, shoal_model_create(*study, 5, &model));
    return model;
}

static double lnl_of(shoal_context *context, const char *text, const double *theta, double *predicted)
{
    shoal_study *study = NULL;
    double lnl;
    shoal_model *model = model_of(context, text, "run.engine=\"cpu\"", &study);
    assert_ok(context, shoal_model_evaluate(model, 1, theta, &lnl));
    if (predicted)
        assert_ok(context, shoal_model_predict(model, 1, theta, predicted));
    shoal_model_destroy(&model);
    shoal_study_destroy(&study);
    return lnl;
}

/* ---- the same by a dense matrix ---------------------------------------------------------------------------------- */

/* ln L of residuals with a covariance, integrated over n_linear numbers with these derivatives; best: these numbers. */
static double dense(const double *residual, double (*k)[N], int n_linear, double slope[][N], double *best)
{
    double l[N][N], z[1 + MOST_LINEAR][N], lnl = 0, a[MOST_LINEAR][MOST_LINEAR] = {{0}}, b[MOST_LINEAR] = {0};
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++) {
            double sum = k[i][j];
            for (int q = 0; q < j; q++)
                sum -= l[i][q] * l[j][q];
            l[i][j] = i == j ? sqrt(sum) : sum / l[j][j];
        }
    for (int side = 0; side <= n_linear; side++)
        for (int i = 0; i < N; i++) {
            double sum = side ? slope[side - 1][i] : residual[i];
            for (int q = 0; q < i; q++)
                sum -= l[i][q] * z[side][q];
            z[side][i] = sum / l[i][i];
        }
    for (int i = 0; i < N; i++)
        lnl -= z[0][i] * z[0][i] / 2 + log(l[i][i]) + log(TWO_PI) / 2;
    for (int i = 0; i < N; i++)
        for (int p = 0; p < n_linear; p++) {
            b[p] += z[1 + p][i] * z[0][i];
            for (int q = 0; q < n_linear; q++)
                a[p][q] += z[1 + p][i] * z[1 + q][i];
        }
    if (n_linear == 1) {
        best[0] = b[0] / a[0][0];
        lnl += b[0] * best[0] / 2 - log(a[0][0] / TWO_PI) / 2;
    }
    if (n_linear == 2) {
        const double det = a[0][0] * a[1][1] - a[0][1] * a[1][0];
        best[0] = (a[1][1] * b[0] - a[0][1] * b[1]) / det;
        best[1] = (a[0][0] * b[1] - a[1][0] * b[0]) / det;
        lnl += (b[0] * best[0] + b[1] * best[1]) / 2 - log(det / (TWO_PI * TWO_PI)) / 2;
    }
    return lnl;
}

typedef double kernel_of(double t, const double *p);

static double quasi_periodic(double t, const double *p)
{
    const double wave = sin(M_PI * t / p[1]);
    return p[0] * p[0] * exp(-t * t / (p[2] * p[2]) - wave * wave / (2 * p[3] * p[3]));
}

static double oscillator(double t, double variance, double w, double q)
{
    const double c = w / (2 * q), root = sqrt(fabs(4 * q * q - 1)), d = c * root;
    if (q == 0.5)
        return variance * exp(-c * t) * (1 + c * t);
    if (q > 0.5)
        return variance * exp(-c * t) * (cos(d * t) + sin(d * t) / root);
    return variance / 2 * ((1 + 1 / root) * exp((d - c) * t) + (1 - 1 / root) * exp(-(d + c) * t));
}

static double sho(double t, const double *p)
{
    return oscillator(t, p[0] * p[0], TWO_PI / p[1], p[2]);
}

static double rotation(double t, const double *p)
{
    const double q1 = 0.5 + p[2] + p[3], q2 = 0.5 + p[2], w1 = 4 * M_PI * q1 / (p[1] * sqrt(4 * q1 * q1 - 1)),
                 w2 = 8 * M_PI * q2 / (p[1] * sqrt(4 * q2 * q2 - 1)), part = p[0] * p[0] / (1 + p[4]);
    return oscillator(t, part, w1, q1) + oscillator(t, part * p[4], w2, q2);
}

static double exponential(double t, const double *p)
{
    return p[0] * p[0] * exp(-t / p[1]);
}

static double complex_term(double t, const double *p)
{
    return p[0] * p[0] * exp(-t / p[2]) * (cos(TWO_PI * t / p[1]) + p[3] * sin(TWO_PI * t / p[1]));
}

static double periodic(double t, const double *p)
{
    return p[0] * p[0] / (2 + p[3]) * exp(-t / p[2]) * (cos(TWO_PI * t / p[1]) + 1 + p[3]);
}

static double matern32(double t, const double *p)
{
    const double x = sqrt(3) * t / p[1];
    return p[0] * p[0] * (1 + x) * exp(-x);
}

/* Processes of one kernel; numbers: in the order of the formula. */
static const struct {
    const char *kernel, *number[5];
    kernel_of *at;
    double value[4][5];
} kernels[] = {
    {"quasi_periodic", {"sigma", "period", "decay", "width"}, quasi_periodic, {{7, 23, 40, 0.5}, {20, 9, 15, 2}}},
    {"sho", {"sigma", "period", "quality"}, sho, {{7, 13, 3}, {7, 13, 0.2}, {9, 40, 0.5}, {9, 40, 0.5000001}}},
    {"sho", {"sigma", "period", "quality"}, sho, {{7, 13, 0.499}, {7, 900, 0.02}, {9, 3, 0.01}, {9, 1, 900}}},
    {"rotation",
     {"sigma", "period", "quality", "quality_difference", "mix"},
     rotation,
     {{7, 23, 1.5, 0.7, 0.4}, {9, 11, 0.01, 0, 1}}},
    {"exponential", {"sigma", "decay"}, exponential, {{7, 30}, {12, 1}}},
    {"complex", {"sigma", "period", "decay", "sine"}, complex_term, {{7, 23, 30, 0.1}, {7, 23, 3, 1}}},
    {"periodic", {"sigma", "period", "decay", "mix"}, periodic, {{7, 23, 40, 0.3}, {9, 11, 8, 0}}},
    {"matern32", {"sigma", "decay"}, matern32, {{3, 20}, {15, 4}}},
};

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void close_to(const char *what, double lnl, double right, double error)
{
    if (!(fabs(lnl - right) <= error * fabs(right)))
        fail_msg("%s: ln L = %.15g, not %.15g (%.2g)", what, lnl, right, lnl / right - 1);
}

/* celerite2 0.3.3: GaussianProcess.log_likelihood with SHOTerm, RotationTerm, ComplexTerm, RealTerm and a sum of two;
 * george 0.4.4: Matern32Kernel(20^2) times 9; RadVel 1.6.7: QuasiPerKernel with its formula of ln L; NumPy: the formula
 * of CeleriteKernel. */
static void other_programs_say_the_same(void **state)
{
    static const struct {
        const char *processes;
        double lnl;
    } cases[] = {
        {"kernel = \"sho\"; sigma = 7.0; period = 13.0; quality = 3.0;", -221.38911999336023},
        {"kernel = \"sho\"; sigma = 7.0; period = 13.0; quality = 0.2;", -265.21861159694924},
        {"kernel = \"rotation\"; sigma = 7.0; period = 23.0; quality = 1.5; quality_difference = 0.7; mix = 0.4;",
         -247.2431040543264},
        {"kernel = \"complex\"; sigma = 7.0; period = 23.0; decay = 30.0; sine = 0.061224489795918366;",
         -323.1642311134689},
        {"kernel = \"exponential\"; sigma = 7.0; decay = 30.0;", -412.17429851141327},
        {"kernel = \"rotation\"; sigma = 7.0; period = 23.0; quality = 1.5; quality_difference = 0.7; mix = 0.4; },\n"
         "{ name = \"more\"; data = [\"all\"]; kernel = \"exponential\"; sigma = 3.0; decay = 50.0;",
         -231.88598163467583},
        {"kernel = \"matern32\"; sigma = 3.0; decay = 20.0;", -1417.4461751329895},
        {"kernel = \"quasi_periodic\"; sigma = 7.0; period = 23.0; decay = 40.0; width = 0.5;", -377.627190225614},
        {"kernel = \"periodic\"; sigma = 7.0; period = 23.0; decay = 40.0; mix = 0.3;", -327.3551971583952},
    };
    for (int i = 0; i < SHOAL_COUNT(cases); i++) {
        char text[MOST_TEXT], processes[1024];
        snprintf(processes, sizeof processes, "processes = ( { name = \"noise\"; data = [\"all\"]; %s } );",
                 cases[i].processes);
        text_of("1e-25", FREE("all", "jitter"), ALL "}", processes, text);
        close_to(cases[i].processes, lnl_of(context_of(state), text, (double[]){0}, NULL), cases[i].lnl, 1e-12);
    }
}

/* Every kernel, its numbers parameters, beside another process, with two instruments that have offsets. */
static void they_are_those_of_a_dense_matrix(void **state)
{
    for (int c = 0; c < 4 * SHOAL_COUNT(kernels); c++) {
        const int at = c / 4;
        const double *p = kernels[at].value[c % 4];
        char text[MOST_TEXT], parameters[2048] = FREE("one", "jitter"), processes[1024];
        double theta[8] = {1.5}, predicted[N], residual[N], matrix[N][N], best[MOST_LINEAR], slope[MOST_LINEAR][N];
        int n = 1;
        if (p[0] == 0)
            continue;
        for (int q = 0; q < 5 && kernels[at].number[q]; q++) {
            const size_t used = strlen(parameters);
            snprintf(parameters + used, sizeof parameters - used,
                     ", { data = \"noise\"; parameter = \"%s\"; distribution = \"uniform\"; from = 1e-9; to = 1e3; }",
                     kernels[at].number[q]);
            theta[n++] = p[q];
        }
        snprintf(
            processes, sizeof processes,
            "processes = ( { name = \"noise\"; data = [\"one\", \"two\"]; kernel = \"%s\"; },\n"
            "{ name = \"more\"; data = [\"two\", \"one\"]; kernel = \"exponential\"; sigma = 3.0; decay = 50.0; } );",
            kernels[at].kernel);
        text_of("1e-4", parameters, OF("one") "}, " OF("two") "offset = 2.0; trend = 0.03; }", processes, text);
        const double lnl = lnl_of(context_of(state), text, theta, predicted);
        int order[N], n_order = 0; /* the data of the model: those of one, then those of two */
        for (int set = 0; set < 2; set++)
            for (int j = 0; j < N; j++)
                if ((j % 3 == 0) == (set == 1))
                    order[n_order++] = j;
        for (int i = 0; i < N; i++) {
            const int a = order[i], two = a % 3 == 0;
            residual[i] = value_of(a) - predicted[i];
            slope[0][i] = !two;
            slope[1][i] = two;
            for (int j = 0; j < N; j++) {
                const double t = fabs(time_of(a) - time_of(order[j]));
                matrix[i][j] = kernels[at].at(t, p) + 9 * exp(-t / 50) +
                               (i == j ? error_of(a) * error_of(a) + (two ? 0 : 2.25) : 0);
            }
        }
        close_to(kernels[at].kernel, lnl, dense(residual, matrix, 0, NULL, NULL), 2e-11);

        /* integrated over both offsets: two's was 2; the prediction has the best ones */
        text_of("1e-4", parameters, OF("one") "marginal = true; }, " OF("two") "marginal = true; trend = 0.03; }",
                processes, text);
        for (int i = 0; i < N; i++)
            residual[i] += slope[1][i] * 2;
        const double right = dense(residual, matrix, 2, slope, best),
                     marginal = lnl_of(context_of(state), text, theta, predicted);
        close_to("marginal", marginal, right, 2e-11);
        for (int i = 0; i < N; i++) {
            const double offset = predicted[i] - (value_of(order[i]) - residual[i]);
            if (!(fabs(offset - best[slope[1][i] != 0]) < 1e-8))
                fail_msg("%s: offset %.12g, not %.12g", kernels[at].kernel, offset, best[slope[1][i] != 0]);
        }
    }
}

/* A matrix from a file, with a jitter. */
static void a_covariance_comes_from_a_file(void **state)
{
    char text[MOST_TEXT];
    double predicted[N], residual[N], matrix[N][N], best[MOST_LINEAR], slope[1][N];
    text_of("1e-4", FREE("all", "jitter"), ALL "covariance = \"matrix.txt\"; offset = 3.0; }", "", text);
    const double theta[] = {1.5}, lnl = lnl_of(context_of(state), text, theta, predicted);
    for (int i = 0; i < N; i++) {
        residual[i] = value_of(i) - predicted[i];
        slope[0][i] = 1;
        for (int j = 0; j < N; j++)
            matrix[i][j] = covariance_of(i, j) + (i == j ? 2.25 : 0);
    }
    close_to("matrix", lnl, dense(residual, matrix, 0, NULL, NULL), 1e-11);
    text_of("1e-4", FREE("all", "jitter"), ALL "covariance = \"matrix.txt\"; marginal = true; }", "", text);
    const double marginal = lnl_of(context_of(state), text, theta, predicted);
    for (int i = 0; i < N; i++)
        residual[i] += 3;
    close_to("marginal", marginal, dense(residual, matrix, 1, slope, best), 1e-11);
    assert_true(fabs(predicted[4] - (value_of(4) - residual[4]) - best[0]) < 1e-8);
}

/* Transit times that are correlated; all of them, or their likelihood is none. */
static void transit_times_are_correlated(void **state)
{
    enum { TIMES = 5 };
    char text[MOST_TEXT];
    double predicted[TIMES], residual[TIMES], right = 0, l[TIMES][TIMES];
    FILE *out = fopen("transits.txt", "w"), *matrix = fopen("transits_matrix.txt", "w");
    assert_non_null(out);
    assert_non_null(matrix);
    fprintf(out, "number time error\n");
    for (int i = 0; i < TIMES; i++) {
        fprintf(out, "%d %.17g 0.01\n", i - 2, 3 + 24.0 * (i - 2) + 0.01 * i * i);
        for (int j = 0; j < TIMES; j++)
            fprintf(matrix, "%.17g%s", 1e-4 * exp(-abs(i - j) / 2.0), j + 1 < TIMES ? "," : "\n");
    }
    fclose(out);
    fclose(matrix);
    const char *data = "{ name = \"b\"; kind = \"transit_time\"; body = \"b\"; file = \"transits.txt\"; covariance = "
                       "\"transits_matrix.txt\"; }";
    text_of("1e-4", FREE("b", "jitter"), data, "", text);
    char *place = strstr(text, "M = 10.0; inc = 80.0");
    assert_non_null(place);
    memcpy(place, "T0= 3.0; inc = 90.0", 19);
    const double lnl = lnl_of(context_of(state), text, (double[]){0.004}, predicted);
    for (int i = 0; i < TIMES; i++) {
        residual[i] = 3 + 24.0 * (i - 2) + 0.01 * i * i - predicted[i];
        double z = residual[i];
        for (int j = 0; j <= i; j++) {
            l[i][j] = 1e-4 * exp(-abs(i - j) / 2.0) + (i == j ? 1.6e-5 : 0);
            for (int q = 0; q < j; q++)
                l[i][j] -= l[i][q] * l[j][q] * l[q][q];
            l[i][j] /= i == j ? 1 : l[j][j];
        }
        for (int j = 0; j < i; j++)
            z -= l[i][j] * residual[j];
        residual[i] = z;
        right -= z * z / (2 * l[i][i]) + log(TWO_PI * l[i][i]) / 2;
    }
    close_to("transits", lnl, right, 1e-10);
    assert_int_equal(unlink("transits.txt") + unlink("transits_matrix.txt"), 0);
}

/* Vectors of no process are -infinity and disturb nobody. */
static void what_is_no_process_has_no_likelihood(void **state)
{
    static const char *const kernel[] = {"sho", "quasi_periodic", "complex"}, *const third[] = {"quality", "width",
                                                                                                "sine"};
    for (int c = 0; c < 3; c++) {
        char text[MOST_TEXT], more[512], parameters[1024];
        snprintf(parameters, sizeof parameters,
                 FREE("n", "sigma") ", " FREE("n", "period") ", { data = \"n\"; parameter = \"%s\"; "
                                                             "distribution = \"uniform\"; from = 1e-9; to = 9.0; }",
                 third[c]);
        snprintf(more, sizeof more, "processes = ( { name = \"n\"; data = [\"all\"]; kernel = \"%s\"; %s } );",
                 kernel[c], c ? "decay = 0.5;" : "");
        text_of("1e-4", parameters, ALL "}", more, text);
        shoal_study *study = NULL;
        shoal_model *model = model_of(context_of(state), text, "run.engine=\"cpu\"", &study);
        enum { WALKERS = 11 };
        double theta[3 * WALKERS], lnl[WALKERS], alone;
        for (int i = 0; i < WALKERS; i++) {
            theta[3 * i] = i == 2 ? -1 : 7;
            theta[3 * i + 1] = i == 3 ? 0 : i == 4 ? -13 : i == 5 ? NAN : 13;
            theta[3 * i + 2] = i == 6 ? c == 2 ? 90 : -3 : 0.1 * (i + 1);
        }
        assert_ok(context_of(state), shoal_model_evaluate(model, WALKERS, theta, lnl));
        for (int i = 0; i < WALKERS; i++) {
            assert_ok(context_of(state), shoal_model_evaluate(model, 1, theta + 3 * i, &alone));
            assert_memory_equal(&alone, &lnl[i], sizeof alone);
            if (i >= 2 && i <= 6)
                assert_true(isinf(lnl[i]) && lnl[i] < 0);
            else
                assert_true(isfinite(lnl[i]));
        }
        shoal_model_destroy(&model);
        shoal_study_destroy(&study);
    }
}

static void what_is_wrong_is_refused(void **state)
{
#define PROCESS "processes = ( { name = \"n\"; data = [\"one\"]; kernel = \"sho\"; period = 9.0; quality = 1.0; "
    static const struct {
        const char *parameters, *data, *more, *says;
    } cases[] = {
        {"", "", PROCESS "sigma = 1.0; width = 2.0; } );", "no such number of this kernel"},
        {"", "", PROCESS "} );", "processes[0].sigma: expected a number, or a parameter"},
        {"", "", PROCESS "sigma = -1.0; } );", "noise.cfg:9: processes[0].sigma = -1.0: expected a number >= 0"},
        {"", "", PROCESS "sigma = 1.0; kernal = 2; } );", "did you mean 'kernel'"},
        {FREE("n", "sigma") ", " FREE("n", "offset"), "", PROCESS "} );", "a number of a process: sigma, period"},
        {FREE("m", "sigma"), "", PROCESS "} );", "the name of one of `data` or `processes`"},
        {FREE("n", "sigma"), "", PROCESS "sigma = 1.0; } );", "no value of its own: it is a parameter"},
        {FREE("n", "sigma") ", " FREE("n", "width"), "", PROCESS "} );", "processes[0].width: expected no such number"},
        {"", "", "processes = ( { name = \"n\"; data = [\"x\"]; kernel = \"sho\"; } );", "the name of one of `data`"},
        {"", "", "processes = ( { name = \"n\"; data = [\"one\", \"one\"]; kernel = \"sho\"; } );", "each name once"},
        {"", "", "processes = ( { name = \"one\"; data = [\"one\"]; kernel = \"sho\"; } );", "a name that no data"},
        {"", "", PROCESS "sigma = 1.0; }, { name = \"m\"; data = [\"two\", \"one\"]; kernel = \"sho\"; } );",
         "each name once, and data all of which, or none"},
        {"", "", PROCESS "sigma = 1.0; }, { name = \"n\"; data = [\"one\"]; kernel = \"sho\"; } );",
         "no other process"},
        {"", "freedom = 3.0;", PROCESS "sigma = 1.0; } );", "data with normal errors"},
        {"", "freedom = 3.0; covariance = \"matrix.txt\";", "", "no covariance of errors of Student's t"},
        {"", "covariance = \"matrix.txt\";", "", "matrix.txt:2: expected 15 rows of 15 numbers"},
        {"", "covariance = \"rv.txt\";", "", "rv.txt:1: covariance = time: expected a finite number"},
        {"", "covariance = \"none.txt\";", "", "none.txt"},
        {"", "instrument = \"one\"; covariance = 3;", "", "noise.cfg"},
    };
    shoal_context *context = context_of(state);
    for (int i = 0; i <= SHOAL_COUNT(cases); i++) {
        char text[MOST_TEXT], data[1024];
        shoal_study *study = NULL;
        shoal_model *model = NULL;
        const char *says = "symmetric matrix that is positive definite";
        if (i < SHOAL_COUNT(cases)) {
            snprintf(data, sizeof data, OF("one") "%s }, " OF("two") "}", cases[i].data);
            text_of("1e-4", *cases[i].parameters ? cases[i].parameters : FREE("two", "jitter"), data, cases[i].more,
                    text);
            says = cases[i].says;
        } else {
            text_of("1e-4", FREE("all", "jitter"), ALL "covariance = \"wrong.txt\"; }", "", text);
        }
        shoal_status status = shoal_study_open(context, "noise.cfg", text, 0, NULL, NULL, &study);
        if (!status)
            status = shoal_model_create(study, 1, &model);
        if (status != SHOAL_E_INPUT && !strstr(says, "none"))
            fail_msg("case %d: status %d", i, status);
        if (!strstr(shoal_context_message(context), says))
            fail_msg("case %d: '%s' is not in: %s", i, says, shoal_context_message(context));
        shoal_model_destroy(&model);
        shoal_study_destroy(&study);
    }
}

/* CPU and GPU, to 1e-12. */
static void a_gpu_finds_the_same(void **state)
{
    need_gpu();
    enum { WALKERS = 70 };
    for (int c = 0; c < SHOAL_COUNT(kernels); c++) {
        char text[MOST_TEXT], more[1024], numbers[512] = "";
        double lnl[2][WALKERS], theta[WALKERS];
        for (int q = 0; q < 5 && kernels[c].number[q]; q++) {
            const size_t used = strlen(numbers);
            snprintf(numbers + used, sizeof numbers - used, "%s = %g; ", kernels[c].number[q], kernels[c].value[0][q]);
        }
        snprintf(more, sizeof more, "processes = ( { name = \"n\"; data = [\"one\"]; kernel = \"%s\"; %s } );",
                 kernels[c].kernel, numbers);
        text_of("1e-4", FREE("one", "jitter"), ALL "covariance = \"matrix.txt\"; }, " OF("one") "marginal = true; }",
                more, text);
        for (int i = 0; i < WALKERS; i++)
            theta[i] = 0.1 * i;
        for (int gpu = 0; gpu < 2; gpu++) {
            shoal_study *study = NULL;
            shoal_model *model = model_of(context_of(state), text, gpu ? "run.engine=\"cuda\"" : "run.engine=\"cpu\"",
                                          &study);
            assert_ok(context_of(state), shoal_model_evaluate(model, WALKERS, theta, lnl[gpu]));
            shoal_model_destroy(&model);
            shoal_study_destroy(&study);
        }
        for (int i = 0; i < WALKERS; i++)
            close_to(kernels[c].kernel, lnl[1][i], lnl[0][i], 1e-12);
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
    if (unlink("rv.txt") || unlink("matrix.txt") || unlink("wrong.txt") || chdir("/") || rmdir(folder))
        return -1;
    return teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_programs_say_the_same),
        cmocka_unit_test(they_are_those_of_a_dense_matrix),
        cmocka_unit_test(a_covariance_comes_from_a_file),
        cmocka_unit_test(transit_times_are_correlated),
        cmocka_unit_test(what_is_no_process_has_no_likelihood),
        cmocka_unit_test(what_is_wrong_is_refused),
        cmocka_unit_test(a_gpu_finds_the_same),
    };
    cmocka_set_test_filter(getenv("SHOAL_TEST_NAME"));
    return cmocka_run_group_tests(tests, begin, end);
}
