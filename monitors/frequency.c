/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * frequency.c: what the world knows of frequency.kern.h, and the search for the frequency.
 *
 * The sums c_j about the places j = 1..29 of a half are 29 numbers of a motion that was slowed by sigma. Its spectrum
 * with Hann's window, S(d) = sum (1 - cos(2 pi j / 30)) c_j exp(-i d j), is looked at in 64 places of a turn, each time
 * over what the averages have left of a line there. From the largest on, Newton's iteration finds where |S|^2 is
 * largest. Of two lines of about one amplitude either may lead: in the second half it is the one next to that of the
 * first, if it has half of the largest amplitude there. The frequency is sigma + d / D, D the length of a block; other
 * lines change it as the inverse fourth power of the length of the half (Laskar 2003, arXiv:math/0305364).
 */
#include <math.h>

#include "core/ensemble/ensemble.h"
#include "monitors/frequency.kern.h"

static const shoal_parameter parameters[frequency_PARAMETERS] = {
    [FREQUENCY_BODY] = {"body", SHOAL_BODY, "", -1, -1, 1e6, NULL, "whose orbit (default: the last)"},
    [FREQUENCY_OF] =
        {"of", SHOAL_CHOICE, "", FREQUENCY_OF_LONGITUDE, 0, 2, "longitude|pericentre|node",
         "exp(i lambda), with the proper mean motion; e exp(i varpi); sin(i/2) exp(i Omega) (i > 90 deg: cos(i/2))"},
    [FREQUENCY_ELEMENTS] = {"elements", SHOAL_CHOICE, "", 0, 0, 1, "jacobi|astrocentric", "what the orbit refers to"},
    [FREQUENCY_EVERY] = {"every", SHOAL_INTEGER, "", 1, 1, 1e9, NULL,
                         "look at every so-many-th step: more than twice in a period, 1100 times in the run"},
    [FREQUENCY_BODIES] =
        {"bodies", SHOAL_CHOICE, "", FREQUENCY_ONE, 0, 1, "one|all",
         "all: every body but the first, with columns of each, COLUMN_BODY; the key `body` is not read"},
};

static const double initial[frequency_SLOTS] = {[FREQUENCY_ARGUMENT] = NAN};
/* until its last place is written a half has no spectrum */
static const double nothing[frequency_PART_SLOTS] = {
    [2 * FREQUENCY_PLACES - 2] = NAN,
    [FREQUENCY_RECORD_HALF + 2 * FREQUENCY_PLACES - 2] = NAN,
    [FREQUENCY_RECORD_SLOTS + FREQUENCY_ARGUMENT - 1] = NAN,
};

static shoal_monitor_parts parts_for(const double *p)
{
    return p[FREQUENCY_BODIES] == FREQUENCY_ALL ? SHOAL_BODIES : SHOAL_ONE_PART;
}

static const char *refuses(const double *p, const shoal_ensemble *ensemble)
{
    (void)ensemble;
    return p[FREQUENCY_BODY] == 0 && p[FREQUENCY_BODIES] == FREQUENCY_ONE
               ? "body 0 is what the others move about: it has no orbit"
               : NULL;
}

enum { INTERVALS = FREQUENCY_PLACES + 1, GRID = 64, ROUNDS = 16 };
#define WIDTH (4 * M_PI / INTERVALS) /* from the top of a line to its foot */

/* S at the angle d, and its first two derivatives, real and imaginary parts; terms: (1 - cos(2 pi j / 30)) c_j. */
static void spectrum(double terms[FREQUENCY_PLACES][2], double d, double re[3], double im[3])
{
    const double c = cos(d), s = sin(d);
    double cosine = 1, sine = 0; /* of j d */
    re[0] = re[1] = re[2] = im[0] = im[1] = im[2] = 0;
    for (int j = 1; j <= FREQUENCY_PLACES; j++) {
        const double was = cosine, *term = terms[j - 1];
        cosine = was * c - sine * s;
        sine = sine * c + was * s;
        const double x = term[0] * cosine + term[1] * sine, y = term[1] * cosine - term[0] * sine;
        re[0] += x;
        im[0] += y;
        re[1] += j * y;
        im[1] -= j * x;
        re[2] -= (double)j * j * x;
        im[2] -= (double)j * j * y;
    }
}

/* What the averages have left of a line that turns by d in a block. */
static double left_of(double d)
{
    const double s = d == 0 ? 1 : sin(d / 2) / (d / 2);
    return s * s * s * s;
}

/* The angle of the grid where S is largest, over what is left there, or NAN. All angles at a time, for SIMD. */
static double loudest(double terms[FREQUENCY_PLACES][2])
{
    double c[GRID], s[GRID], cosine[GRID], sine[GRID], re[GRID], im[GRID], best = 0, at = NAN;
    for (int i = 0; i < GRID; i++) {
        const double d = 2 * M_PI * i / GRID - M_PI;
        cosine[i] = c[i] = cos(d);
        sine[i] = s[i] = sin(d);
        re[i] = im[i] = 0;
    }
    for (int j = 0; j < FREQUENCY_PLACES; j++)
        for (int i = 0; i < GRID; i++) {
            const double was = cosine[i];
            re[i] += terms[j][0] * was + terms[j][1] * sine[i];
            im[i] += terms[j][1] * was - terms[j][0] * sine[i];
            cosine[i] = was * c[i] - sine[i] * s[i];
            sine[i] = sine[i] * c[i] + was * s[i];
        }
    for (int i = 0; i < GRID; i++) {
        const double d = 2 * M_PI * i / GRID - M_PI, size = sqrt(re[i] * re[i] + im[i] * im[i]) / left_of(d);
        at = size > best ? d : at;
        best = fmax(size, best);
    }
    return at;
}

/* The top of |S|^2 uphill from an angle; *size: the line's amplitude, in units of the sums. */
static double climb(double terms[FREQUENCY_PLACES][2], double at, double *size)
{
    double re[3], im[3];
    for (int round = 0; round < ROUNDS; round++) {
        spectrum(terms, at, re, im);
        const double slope = re[0] * re[1] + im[0] * im[1],
                     curve = re[0] * re[2] + im[0] * im[2] + re[1] * re[1] + im[1] * im[1],
                     step = curve < 0 ? -slope / curve : copysign(M_PI, slope);
        at += fmax(-M_PI / GRID, fmin(step, M_PI / GRID));
    }
    spectrum(terms, at, re, im);
    *size = hypot(re[0], im[0]) / (INTERVALS * left_of(at));
    return at;
}

/* The leading line of a half, 0 or 1: its frequency, and its amplitude. Returns false if there is none. */
static bool find_line(const double *record, int half, double *frequency, double *amplitude)
{
    const double *sums = record + half * FREQUENCY_RECORD_HALF, block = record[FREQUENCY_RECORD_BLOCK],
                 sigma = sums[FREQUENCY_RECORD_SIGMA];
    double terms[FREQUENCY_PLACES][2], size, size_beside, first;
    if (!(record[FREQUENCY_RECORD_SEEN] >= FREQUENCY_LOOKS * 2 * (FREQUENCY_BLOCKS - 1.0)))
        return false;
    for (int j = 1; j <= FREQUENCY_PLACES; j++)
        for (int part = 0; part < 2; part++)
            terms[j - 1][part] = (1 - cos(2 * M_PI * j / INTERVALS)) * sums[2 * (j - 1) + part];
    double at = climb(terms, loudest(terms), &size);
    if (half == 1 && find_line(record, 0, &first, &size_beside) && fabs((first - sigma) * block) < M_PI) {
        const double near = (first - sigma) * block, beside = climb(terms, near, &size_beside);
        if (size_beside > 0.5 * size && fabs(beside - near) < WIDTH) {
            at = beside;
            size = size_beside;
        }
    }
    *frequency = sigma + at / block;
    *amplitude = size / fabs(block);
    return !isnan(at);
}

static double of_half(const double *record, int half)
{
    double frequency, amplitude;
    return find_line(record, half, &frequency, &amplitude) ? frequency : NAN;
}

static double first(const double *record, const double *p)
{
    return (void)p, of_half(record, 0);
}

static double second(const double *record, const double *p)
{
    return (void)p, of_half(record, 1);
}

static double size(const double *record, const double *p)
{
    double frequency, amplitude;
    (void)p;
    return find_line(record, 0, &frequency, &amplitude) ? amplitude : NAN;
}

static double drift(const double *record, const double *p)
{
    (void)p;
    const double f = of_half(record, 0), change = fabs((of_half(record, 1) - f) / f);
    return log10(change < 0x1p-53 ? 0x1p-53 : change);
}

static const shoal_monitor_column columns[] = {
    {"frequency", "angular velocity",
     "leading frequency of a body's orbit in the first half of the run, radians per time", first, SHOAL_OF_EACH},
    {"frequency_second", "angular velocity", "the same in the second half", second, SHOAL_OF_EACH},
    {"frequency_amplitude", "",
     "amplitude of that line in the first half, of exp(i lambda), e or sin(i/2) (i > 90 deg: cos(i/2))", size,
     SHOAL_OF_EACH},
    {"log_frequency_drift", "", "log10 |df / f|, of the change of the frequency from one half to the other", drift,
     SHOAL_OF_EACH},
};

const shoal_monitor shoal_monitor_frequency = {
    .name = "frequency",
    .doc = "chaos indicator: drift of a proper frequency between the two halves of the run, by frequency analysis "
           "(NAFF) of a body's mean longitude, pericentre or node",
    .reference = "Laskar 1990, Icarus 88, 266; 1993, Physica D 67, 257; 2003, arXiv:math/0305364",
    .ends_only = true,
    .whole_run = true,
    .n_slots = SHOAL_COUNT(initial),
    .initial = initial,
    .parts = SHOAL_ONE_PART,
    .parts_for = parts_for,
    .n_part_slots = SHOAL_COUNT(nothing),
    .part_initial = nothing,
    .parameters = parameters,
    .n_parameters = SHOAL_COUNT(parameters),
    .columns = columns,
    .n_columns = SHOAL_COUNT(columns),
    .refuses = refuses,
};
