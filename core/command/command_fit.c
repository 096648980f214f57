/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * command_fit.c: `shoal fit`: from a study with data to its posterior, with progress and a table of what was found.
 */
#define _GNU_SOURCE
#include <argp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/command/command.h"
#include "core/fit/fit.h"

#define LARGE_STEP_ERROR 0.1 /* sigma */

typedef struct fit_options {
    study_words words;
    bool force, quiet;
    double progress;
} fit_options;

static error_t fit_parse(int key, char *argument, struct argp_state *state)
{
    fit_options *options = state->input;

    switch (key) {
    case 'f': options->force = true; return 0;
    case 'q': options->quiet = true; return 0;
    case 'p': options->progress = parse_progress("fit", argument); return 0;
    default: return parse_study("fit", &options->words, key, argument, state);
    }
}

static const struct argp fit_argp = {
    .options = (const struct argp_option[]){{"force", 'f', 0, 0,
                                             "Replace a file that exists, discard the journal of another fit", 0},
                                            {"quiet", 'q', 0, 0, "Print nothing but warnings and errors", 0},
                                            OPTION_ALLOW_PLUGINS,
                                            OPTION_PROGRESS,
                                            {0}},
    .parser = fit_parse,
    .args_doc = "STUDY.cfg [KEY=VALUE ...]",
    .doc = "Find the posterior of a study with data: the parameters are the random values of `sample`, their "
           "distributions the priors."
           "\vHow is the group `fit` of the study; fit.method=optimise finds the optimum alone. The draws are in one "
           "HDF5 file, which ArviZ reads (arviz.from_netcdf).\n"
           "\n"
           "A fit that was killed, or that ended by fit.steps before it was precise (exit status 1), leaves a journal "
           "beside its file; the same command, with more fit.steps if need be, goes on from there.",
};

typedef struct fit_progress {
    const shoal_fit *fit;
    double every, drawn, began;
    long first_step; /* of this process */
} fit_progress;

/* The worst R-hat and the least sample size of the parameters. */
static void worst_of(const shoal_draws *draws, double *rhat, double *bulk, double *tail)
{
    *rhat = NAN;
    *bulk = *tail = INFINITY;
    for (int i = 0; i < draws->k; ++i) {
        *rhat = fmax(*rhat, draws->diagnosis[i].rhat);
        *bulk = fmin(*bulk, draws->diagnosis[i].ess_bulk);
        *tail = fmin(*tail, draws->diagnosis[i].ess_tail);
    }
}

static void draw_progress(const fit_progress *progress, const shoal_draws *draws, double now)
{
    const shoal_fit_options *options = &progress->fit->options;
    char line[256];
    if (draws->n_steps == 0) {
        snprintf(line, sizeof line, "optimum: ln posterior %.2f after %ld evaluations",
                 draws->optimum.lnp + draws->optimum.lnl, draws->optimum.evaluations);
        draw_line(line);
        return;
    }
    int used = snprintf(line, sizeof line, "step %ld of %ld  %.3g ln L/s  accepted %.0f %%", draws->n_steps,
                        options->n_steps,
                        (double)((draws->n_steps - progress->first_step) * options->n_walkers) *
                            options->n_temperatures / (now - progress->began),
                        100 * draws->acceptance);
    if (!isnan(draws->swaps)) {
        used += snprintf(line + used, sizeof line - (size_t)used, "  swaps from %.2g %%", 100 * draws->swaps);
    }
    if (draws->n_diagnosed > 0) {
        double rhat, bulk, tail;
        worst_of(draws, &rhat, &bulk, &tail);
        snprintf(line + used, sizeof line - (size_t)used, "  R-hat %.3f (%g)  ESS bulk %.0f tail %.0f (%g)", rhat,
                 options->rhat, bulk, tail, options->ess);
    }
    draw_line(line);
}

static bool show_progress(const shoal_draws *draws, void *user)
{
    fit_progress *progress = user;
    const double now = shoal_seconds();

    if (draws->n_steps == 0 && draws->optimum.evaluations == 0) {
        return stop_was_asked();
    }
    if (progress->began == 0 && draws->n_steps > 0) {
        progress->began = now;
        progress->first_step = draws->n_steps;
    } else if (progress->every > 0 && now - progress->drawn >= progress->every) {
        draw_progress(progress, draws, now);
        progress->drawn = now;
    }
    return stop_was_asked();
}

static void print_fit(const shoal_fit *fit)
{
    static const char *const methods[] = {"differential evolution", "affine-invariant ensemble", "optimum"};
    const shoal_fit_options *options = &fit->options;

    printf("%d parameters, %ld data: %s", fit->target.n_parameters, shoal_model_n_data(fit->model),
           methods[options->method]);
    if (options->method != SHOAL_FIT_OPTIMISE) {
        printf(", %ld walkers", options->n_walkers);
    }
    if (options->n_temperatures > 1) {
        printf(" at each of %d temperatures", options->n_temperatures);
    }
    printf("\n%s\n", shoal_model_plan_line(fit->model));
    fflush(stdout);
    const char *body = shoal_model_jumps(fit->model);
    if (body) {
        fprintf(stderr,
                "shoal: warning: '%s' may be prograde and retrograde: pomega, l, theta, h and k jump between, where "
                "walkers do not follow; omega, M and T0 do not\n",
                body);
    }
}

static int name_width(const shoal_fit *fit)
{
    int width = 10;
    for (int i = 0; i < fit->target.n_parameters; ++i) {
        const int length = (int)(strlen(fit->names[i]) + strlen(fit->units[i])) + (*fit->units[i] ? 3 : 0);
        width = length > width ? length : width;
    }
    return width;
}

static void print_name(const shoal_fit *fit, int i, int width)
{
    const char *unit = fit->units[i];
    const int length = printf("%s%s%s%s", fit->names[i], *unit ? " [" : "", unit, *unit ? "]" : "");
    printf("%*s", width - length, "");
}

/* Digits after the point that show two of an error. */
static int digits(double error)
{
    return error > 0 && isfinite(error) ? (int)fmin(fmax(1 - floor(log10(error)), 0), 12) : 6;
}

static void print_step_error(const shoal_draws *draws)
{
    if (!isnan(draws->step_error)) {
        printf("step error     half the step moves parameters by %.2g sigma\n", draws->step_error);
    }
}

static void print_optimum(const shoal_fit *fit, const shoal_draws *draws)
{
    const shoal_optimum *optimum = &draws->optimum;
    const int k = fit->target.n_parameters, width = name_width(fit);

    printf("%-*s %16s %12s\n", width, "parameter", "optimum", "sigma");
    for (int i = 0; i < k; ++i) {
        double variance = 0;
        for (int e = 0; e < k; ++e) {
            variance += optimum->root[i * k + e] * optimum->root[i * k + e];
        }
        const int n = digits(sqrt(variance));
        print_name(fit, i, width);
        printf(" %16.*f %12.*f\n", n, optimum->theta[i], n, sqrt(variance));
    }
    printf("ln L %.4f, ln prior %.4f, after %ld evaluations\n", optimum->lnl, optimum->lnp, optimum->evaluations);
    print_step_error(draws);
}

static void print_posterior(const shoal_fit *fit, const shoal_draws *draws)
{
    const int width = name_width(fit);

    printf("%-*s %16s %12s %12s %7s %8s %8s\n", width, "parameter", "median", "16 %", "84 %", "R-hat", "ESS bulk",
           "tail");
    for (int i = 0; i < draws->k; ++i) {
        const shoal_diagnosis *of = &draws->diagnosis[i];
        const int n = digits((of->high - of->low) / 2);
        print_name(fit, i, width);
        printf(" %16.*f %+12.*f %+12.*f %7.4f %8.0f %8.0f\n", n, of->median, n, of->low - of->median, n,
               of->high - of->median, of->rhat, of->ess_bulk, of->ess_tail);
    }
    const shoal_diagnosis *lp = &draws->diagnosis[draws->k];
    printf("ln posterior   median %.2f, R-hat %.4f\n", lp->median, lp->rhat);
    printf("steps          %ld, of which the later half counts; accepted %.1f %%", draws->n_steps,
           100 * draws->acceptance);
    if (!isnan(draws->swaps)) {
        printf(", swaps of temperatures from %.2g %%\nladder         ", 100 * draws->swaps);
        if (isinf(draws->hottest)) {
            printf("from the posterior to the prior");
        } else {
            printf("temperatures 1 to %.3g; modes that are separate there may be missing", draws->hottest);
        }
        if (isfinite(draws->hottest) && draws->to_prior < INT_MAX) {
            printf(": about %d temperatures reach the prior", draws->to_prior);
        }
    }
    putchar('\n');
    print_step_error(draws);
    printf("posterior      %s\n", fit->output);
}

/* The fit of an open study: the exit status. */
static int fit_study(shoal_context *context, shoal_fit *fit, const fit_options *options)
{
    fit_progress progress = {.fit = fit};
    const bool live = !options->quiet && isatty(STDERR_FILENO);
    shoal_draws draws;

    progress.every = options->quiet ? 0 : live ? 0.5 : options->progress;
    progress.drawn = live ? 0 : shoal_seconds();
    if (!options->quiet) {
        print_fit(fit);
    }
    watch_signals(true);
    const shoal_status status = shoal_fit_run(fit, options->force, show_progress, &progress, &draws);
    watch_signals(false);
    if (live && progress.drawn > 0) {
        fputs("\r\033[K", stderr);
    }
    int code = status == SHOAL_OK ? EXIT_OK : failed(context, status);
    if (status == SHOAL_OK && fit->options.method == SHOAL_FIT_OPTIMISE) {
        print_optimum(fit, &draws);
    } else if (status == SHOAL_OK) {
        if (!options->quiet) {
            print_posterior(fit, &draws);
        }
        if (!draws.precise) {
            double rhat, bulk, tail;
            worst_of(&draws, &rhat, &bulk, &tail);
            fprintf(stderr,
                    "shoal: not precise after %ld steps: R-hat up to %.3f, ESS from %.0f (expected %g and %g); the "
                    "same command with more fit.steps goes on\n",
                    draws.n_steps, rhat, fmin(bulk, tail), fit->options.rhat, fit->options.ess);
            if (!shoal_draws_cross(&draws, fit->options.ess)) {
                fprintf(stderr,
                        "shoal: fewer than %g walkers crossed from a temperature to the next one (%.2g %% of the "
                        "swaps), so that modes may be missing: expected more than fit.temperatures = %d\n",
                        fit->options.ess, 100 * draws.swaps, fit->options.n_temperatures);
            }
            code = EXIT_FAILED;
        }
    }
    if (status == SHOAL_OK && draws.step_error > LARGE_STEP_ERROR) {
        fprintf(stderr,
                "shoal: warning: half the step moves parameters by %.2g sigma: expected a shorter step, or a smaller "
                "tolerance, in integrator\n",
                draws.step_error);
    }
    shoal_draws_release(&draws);
    return code;
}

int fit_main(int argc, char **argv)
{
    fit_options options = {.progress = PROGRESS_SECONDS};
    shoal_context *context = NULL;
    shoal_study *study = NULL;
    shoal_fit *fit = NULL;

    argp_parse(&fit_argp, argc, argv, 0, NULL, &options);
    shoal_status status = open_study(&options.words, NULL, &context, &study);
    if (status == SHOAL_OK) {
        status = shoal_fit_create(study, &fit);
    }
    int code = status == SHOAL_OK ? fit_study(context, fit, &options) : failed_input(context, status);
    if (code == EXIT_OK) {
        code = flush_output();
    }
    if (fit) {
        shoal_fit_destroy(&fit);
    }
    shoal_study_destroy(&study);
    shoal_context_destroy(&context);
    free(options.words.override);
    return code;
}
