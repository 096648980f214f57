/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * certify.c: what the log of run.certify says: is the step short enough for what the study asks?
 *
 * A system's class is its outcome, the number of bodies left and, if it has not ended and the study has the monitor
 * megno, whether megno is above 2.5. Chaotic systems change their class with any change, be it a shadow's 1e-11, so
 * that half the step changes classes is no fault of the step. The question is whether it changes more of them than the
 * shadow does. Of n systems, b change their class with half the step and not in the shadow, c in the shadow and not
 * with half the step. If the step decides nothing, either is as likely as the other (McNemar's comparison of matched
 * proportions), and c of the b are what chance makes. The part that the step decides is (b - c) / n. Its 95 % interval
 * is A. Agresti and Y. Min's, 2005, Stat. Med. 24, 729, which holds for few systems, too: with half a system added to
 * each cell. The same is asked of the other propagator.
 *
 * The times of those that end in both runs are compared by the median of log10 of their ratio, with the 95 % interval
 * from its order statistics. It depends on no distribution. Orbits that cross are seen at a look: times within one look
 * of each other are the same.
 *
 *     converged       the intervals of both lie below the tolerance, and no median time is off
 *     not converged   one part is above the tolerance and its interval above zero, or a median is off: by more than
 *                     TIME_OFF, with an interval without zero
 *     undecided       else: too few systems
 *     not judged      no system has ended in any run, and all have one class: there is nothing to compare
 */
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

#include "core/config/config.h"
#include "core/report/report.h"
#include "core/study/study.h"
#include "monitors/stop_on_crossing.kern.h"

#define Z95      1.959963984540054 /* of a normal distribution's 95 % */
#define TIME_OFF 0.05              /* of log10 t: 12 % */
#define CHAOTIC  2.5               /* of megno, as likelihood.megno_limit is by default */

enum { MOST_NAMED = 10 }; /* systems in the summary */

/* ---- counting ---------------------------------------------------------------------------------------------------- */

static bool has_ended(double outcome)
{
    return outcome != SHOAL_RUNNING && outcome != SHOAL_SURVIVED && outcome != SHOAL_BUDGET && outcome != SHOAL_INVALID;
}

/* What a class is made of. */
typedef struct shoal_class {
    double outcome, n_final;
    bool chaotic;
} shoal_class;

static shoal_class make_class(const double *outcome, const double *n_final, const double *megno, long i)
{
    return (shoal_class){outcome[i], n_final[i], megno && !has_ended(outcome[i]) && megno[i] > CHAOTIC};
}

static shoal_class own_class(const shoal_certified *c, long i)
{
    return make_class(c->outcome, c->n_final, c->megno, i);
}

static shoal_class class_in(const shoal_certified_run *run, long i)
{
    return make_class(run->outcome, run->n_final, run->megno, i);
}

static bool are_equal(shoal_class a, shoal_class b)
{
    return a.outcome == b.outcome && a.n_final == b.n_final && a.chaotic == b.chaotic;
}

static bool same_class(const shoal_certified *c, const shoal_certified_run *run, long i)
{
    return are_equal(own_class(c, i), class_in(run, i));
}

/* Whether no system has ended in any run, and all have one class. */
static bool nothing_happened(const shoal_certified *c)
{
    for (long i = 0; i < c->n; i++) {
        if (has_ended(c->outcome[i]) || !are_equal(own_class(c, i), own_class(c, 0)))
            return false;
        for (int k = 0; k < SHOAL_CERTIFY_RUNS; k++)
            if (!same_class(c, &c->run[k], i))
                return false;
    }
    return true;
}

bool shoal_certify_timed(const shoal_certified *certified, int run, long i)
{
    return has_ended(certified->outcome[i]) && has_ended(certified->run[run].outcome[i]);
}

static int ascending(const void *a, const void *b)
{
    const double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

/* log10 of the ratio of the times of a system that ended in both runs. */
static double compare_time(const shoal_certified *c, const shoal_result *result, int k, long i)
{
    const long system = (long)c->system[i];
    const double start = result->t_initial[system], own = fabs(c->time[i] - start),
                 other = fabs(c->run[k].t_stop[i] - start), step = own / fmax(result->n_steps[system], 1),
                 known = c->outcome[i] == SHOAL_CROSSED ? 1.000001 * c->look * step : 0;
    return fabs(other - own) <= known ? 0 : log10(other / own);
}

/* The median of log10 of the ratios of times, and its interval; room: [n]. */
static void compare_times(shoal_certified *c, const shoal_result *result, int k, double *room)
{
    shoal_certified_run *run = &c->run[k];
    long n = 0;
    run->ratio = run->ratio_low = run->ratio_high = NAN;
    for (long i = 0; i < c->n; i++)
        if (shoal_certify_timed(c, k, i))
            room[n++] = compare_time(c, result, k, i);
    qsort(room, (size_t)n, sizeof *room, ascending);
    run->n_ended = n;
    if (n == 0)
        return;
    run->ratio = gsl_stats_median_from_sorted_data(room, 1, (size_t)n);
    const long rank = (long)floor(((double)n - Z95 * sqrt((double)n)) / 2); /* from either end */
    if (rank < 1)
        return;
    run->ratio_low = room[rank - 1];
    run->ratio_high = room[n - rank];
}

static void compare_classes(const shoal_certified *c, shoal_certified_run *run)
{
    const shoal_certified_run *shadow = &c->run[SHOAL_CERTIFY_SHADOW];
    for (long i = 0; i < c->n; i++) {
        const bool same = same_class(c, run, i), of_shadow = same_class(c, shadow, i);
        run->n_same += same;
        run->n_decided += !same && of_shadow;
        run->n_chance += same && !of_shadow;
    }
    const double n = (double)c->n + 2, b = (double)run->n_decided, d = (double)run->n_chance;
    const double wide = Z95 * sqrt(b + d + 1 - (b - d) * (b - d) / n) / n;
    run->decided = c->n > 0 ? (b - d) / (double)c->n : 0;
    run->decided_low = fmax((b - d) / n - wide, -1);
    run->decided_high = fmin((b - d) / n + wide, 1);
}

static bool classes_are_off(const shoal_certified *c, const shoal_certified_run *run)
{
    return run->decided > c->tolerance && run->decided_low > 0;
}

static bool times_are_off(const shoal_certified_run *run)
{
    return fabs(run->ratio) > TIME_OFF && (run->ratio_low > 0 || run->ratio_high < 0);
}

static shoal_verdict judge(const shoal_certified *c)
{
    shoal_verdict verdict = c->n > 0 ? SHOAL_CONVERGED : SHOAL_UNDECIDED;
    if (c->n > 0 && nothing_happened(c))
        return SHOAL_NOT_JUDGED;
    for (int k = SHOAL_CERTIFY_HALF; k < SHOAL_CERTIFY_RUNS; k++) {
        if (classes_are_off(c, &c->run[k]) || times_are_off(&c->run[k]))
            return SHOAL_NOT_CONVERGED;
        if (c->run[k].decided_high > c->tolerance)
            verdict = SHOAL_UNDECIDED;
    }
    return verdict;
}

/* What the config that the file holds says. */
static void read_config(const shoal_context *context, const shoal_result *result, shoal_certified *c)
{
    const shoal_monitor *crossing = shoal_plugs_of(context)->monitors[shoal_monitor_find(context, "stop_on_crossing")];
    c->tolerance = shoal_key_find("run.certify", "tolerance")->row.initial;
    c->look = crossing->parameters[CROSSING_EVERY].initial;
    config_t config;
    shoal_config_recall(&config, result->config_text);
    config_lookup_float(&config, "run.certify.tolerance", &c->tolerance);
    const config_setting_t *monitors = config_lookup(&config, "monitors");
    for (int i = 0; monitors && i < config_setting_length(monitors); i++) {
        const config_setting_t *monitor = config_setting_get_elem(monitors, (unsigned)i);
        if (strcmp(shoal_config_string(monitor, "name", ""), crossing->name) == 0)
            config_setting_lookup_float(monitor, "every", &c->look);
    }
    config_destroy(&config);
}

/* The values NAME_OF of the log; NULL: there are none. *doc: of the column. */
static const double *values_of(const shoal_log *log, const char *name, const char *of, const char **doc)
{
    char column[SHOAL_COLUMN_SIZE];
    snprintf(column, sizeof column, "%s_%s", name, of);
    for (int c = 0; doc && c < log->n_columns; c++)
        if (strcmp(log->columns[c].name, column) == 0)
            *doc = log->columns[c].doc;
    return shoal_log_values(log, column);
}

shoal_status shoal_certify_count(shoal_context *context, const shoal_result *result, shoal_certified *certified)
{
    const shoal_log *log = shoal_result_log(result, SHOAL_CERTIFY_LOG);
    shoal_certified *c = certified;
    if (!log)
        return shoal_fail(context, SHOAL_E_INPUT,
                          shoal_certify_is_due(result)
                              ? "certify: not done yet: the command that began this run goes on with it"
                              : "certify: this result is of a run without run.certify");
    *c = (shoal_certified){.n = log->n_rows};
    read_config(context, result, c);
    c->time = shoal_log_values(log, "time");
    c->system = shoal_log_values(log, "system");
    c->outcome = shoal_log_values(log, "outcome");
    c->n_final = shoal_log_values(log, "n_final");
    c->megno = shoal_log_values(log, "megno");
    c->dE = shoal_log_values(log, "dE_final");
    bool good = c->outcome && c->n_final;
    for (int k = 0; k < SHOAL_CERTIFY_RUNS; k++) {
        shoal_certified_run *run = &c->run[k];
        const char *doc = "";
        const size_t skip = sizeof SHOAL_CERTIFY_DOC - 1;
        run->outcome = values_of(log, "outcome", shoal_certify_names[k], &doc);
        run->n_final = values_of(log, "n_final", shoal_certify_names[k], NULL);
        run->t_stop = values_of(log, "t_stop", shoal_certify_names[k], NULL);
        run->megno = c->megno ? values_of(log, "megno", shoal_certify_names[k], NULL) : NULL;
        run->dE = values_of(log, "dE_final", shoal_certify_names[k], NULL);
        run->changed = strncmp(doc, SHOAL_CERTIFY_DOC, skip) == 0 ? doc + skip : shoal_certify_names[k];
        good = good && run->outcome && run->n_final && run->t_stop && !run->megno == !c->megno;
    }
    if (!good && c->n > 0)
        return shoal_fail(context, SHOAL_E_INPUT, "%s: its columns are not those of run.certify", log->path);
    double *room = malloc(((size_t)c->n + 1) * sizeof *room);
    if (!room)
        return shoal_fail(context, SHOAL_E_MEMORY, "out of memory for the times of %ld systems", c->n);
    for (int k = 0; k < SHOAL_CERTIFY_RUNS; k++) {
        compare_classes(c, &c->run[k]);
        compare_times(c, result, k, room);
    }
    free(room);
    c->verdict = judge(c);
    return SHOAL_OK;
}

shoal_decider shoal_certify_decider(const shoal_certified *certified, long i)
{
    const shoal_certified *c = certified;
    return !same_class(c, &c->run[SHOAL_CERTIFY_SHADOW], i)  ? SHOAL_DECIDED_BY_CHAOS
           : !same_class(c, &c->run[SHOAL_CERTIFY_HALF], i)  ? SHOAL_DECIDED_BY_STEP
           : !same_class(c, &c->run[SHOAL_CERTIFY_OTHER], i) ? SHOAL_DECIDED_BY_PROPAGATOR
                                                             : SHOAL_DECIDED_BY_NONE;
}

/* ---- the summary ------------------------------------------------------------------------------------------------- */

/* Whether all systems of the result that can be run were integrated again. */
static bool are_all(const shoal_certified *c, const shoal_result *result)
{
    long n = 0;
    for (long s = 0; s < result->n_systems; s++)
        n += result->outcome[s] != SHOAL_INVALID;
    return c->n >= n;
}

static void print_not_judged(const shoal_certified *c, FILE *out)
{
    fprintf(
        out,
        "step           not judged: no system ended in any of the runs%s, so their outcomes say nothing about it%s\n",
        !c->megno                 ? ""
        : own_class(c, 0).chaotic ? " and all are chaotic"
                                  : " and none is chaotic",
        c->megno ? "" : "; monitors that end systems, or megno, tell more");
}

static void print_verdict(const shoal_certified *c, const shoal_result *result, FILE *out)
{
    static const char *const words[] = {
        [SHOAL_CONVERGED] = "converged", [SHOAL_NOT_CONVERGED] = "not converged", [SHOAL_UNDECIDED] = "undecided"};
    const bool failed = c->verdict == SHOAL_NOT_CONVERGED;
    const char *separator = "";
    fprintf(out, "step           %s: ", words[c->verdict]);
    for (int k = SHOAL_CERTIFY_HALF; k < SHOAL_CERTIFY_RUNS; k++) {
        const shoal_certified_run *run = &c->run[k];
        if (failed && !classes_are_off(c, run) && !times_are_off(run))
            continue;
        fprintf(out, "%s%s changes ", separator, run->changed);
        if (times_are_off(run))
            fprintf(out, "times by a factor %.2g and ", pow(10, run->ratio));
        fprintf(out, "%s%.1f %%", failed ? "" : "at most ", 100 * fmax(failed ? run->decided : run->decided_high, 0));
        separator = ", ";
    }
    fprintf(out, " of the classes beyond chance; %g %% are allowed%s\n", 100 * c->tolerance,
            c->verdict != SHOAL_UNDECIDED ? ""
            : are_all(c, result)          ? ": all systems were compared, only a study of more tells more"
                                          : ": a larger run.certify.fraction tells more");
}

/* What the verdict is about. */
static void print_class(const shoal_certified *c, FILE *out)
{
    fputs("  class        outcome and bodies left", out);
    if (c->megno)
        fprintf(out, ", of those that have not ended chaotic where megno > %g", CHAOTIC);
    fputc('\n', out);
}

/* Finite energy errors' median and largest. room: [n] */
static void print_errors(const shoal_certified *c, const double *dE, const char *name, double *room, FILE *out)
{
    long n = 0;
    for (long i = 0; i < c->n; i++)
        if (isfinite(dE[i]))
            room[n++] = fabs(dE[i]);
    qsort(room, (size_t)n, sizeof *room, ascending);
    if (n > 0)
        fprintf(out, "%s%.2g (largest %.2g)", name, gsl_stats_median_from_sorted_data(room, 1, (size_t)n), room[n - 1]);
}

/* The verdict says nothing of them. */
static shoal_status print_energy(shoal_context *context, const shoal_certified *c, FILE *out)
{
    const double *half = c->run[SHOAL_CERTIFY_HALF].dE, *other = c->run[SHOAL_CERTIFY_OTHER].dE;
    if (!c->dE || !half || !other)
        return SHOAL_OK;
    double *room = malloc((size_t)c->n * sizeof *room);
    if (!room)
        return shoal_fail(context, SHOAL_E_MEMORY, "out of memory for the errors of %ld systems", c->n);
    char name[SHOAL_COLUMN_SIZE];
    fputs("  |dE/E|       median ", out);
    print_errors(c, c->dE, "", room, out);
    for (int k = SHOAL_CERTIFY_HALF; k < SHOAL_CERTIFY_RUNS; k++) {
        snprintf(name, sizeof name, ", %s ", c->run[k].changed);
        print_errors(c, c->run[k].dE, name, room, out);
    }
    fputc('\n', out);
    free(room);
    return SHOAL_OK;
}

/* The systems whose class the step or the propagator decides, or chance made look so. */
static void print_decided(const shoal_certified *c, const shoal_result *result, shoal_decider by, const char *heading,
                          long n_chance, FILE *out)
{
    long n = 0;
    for (long i = 0; i < c->n; i++)
        if (shoal_certify_decider(c, i) == by && n++ < MOST_NAMED)
            fprintf(out, "%s%lld", n == 1 ? heading : ", ", (long long)result->id[(long)c->system[i]]);
    if (n > 0)
        fprintf(out, "%s: %ld in all, %ld by chance\n", n > MOST_NAMED ? ", ..." : "", n, n_chance < n ? n_chance : n);
}

shoal_status shoal_certify_print(shoal_context *context, const shoal_result *result, FILE *out)
{
    shoal_certified c;
    const shoal_status status = shoal_certify_count(context, result, &c);
    if (status)
        return status;
    if (c.n == 0) {
        fputs("certify        none of the systems was drawn: expected a larger run.certify.fraction\n", out);
        return SHOAL_OK;
    }
    fprintf(out, "certify        %ld system%s again     same class  median log10 t ratio  classes beyond chance\n", c.n,
            c.n == 1 ? "" : "s");
    for (int k = 0; k < SHOAL_CERTIFY_RUNS; k++) {
        const shoal_certified_run *run = &c.run[k];
        char times[40] = "none ended";
        if (run->n_ended > 0)
            snprintf(times, sizeof times, "%+.4f (%ld)", run->ratio, run->n_ended);
        fprintf(out, "  %-12s %-22s %6.1f %%  %s", shoal_certify_names[k], run->changed,
                100.0 * (double)run->n_same / (double)c.n, times);
        if (k != SHOAL_CERTIFY_SHADOW)
            fprintf(out, "%*s%+.1f %% (%.1f .. %.1f)", 23 - (int)strlen(times), "", 100 * run->decided,
                    100 * run->decided_low, 100 * run->decided_high);
        fputc('\n', out);
    }
    print_class(&c, out);
    if (print_energy(context, &c, out))
        return SHOAL_E_MEMORY;
    if (c.verdict == SHOAL_NOT_JUDGED)
        print_not_judged(&c, out);
    else
        print_verdict(&c, result, out);
    print_decided(&c, result, SHOAL_DECIDED_BY_STEP, "  by the step  ", c.run[SHOAL_CERTIFY_HALF].n_chance, out);
    print_decided(&c, result, SHOAL_DECIDED_BY_PROPAGATOR, "  by the other ", c.run[SHOAL_CERTIFY_OTHER].n_chance, out);
    return SHOAL_OK;
}
