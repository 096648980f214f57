/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * command_calibrate.c: `shoal calibrate`: simulation-based calibration of a study's fits, with progress and a table of
 * whether ranks are uniform.
 */
#define _GNU_SOURCE
#include <argp.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/command/command.h"
#include "core/fit/fit.h"

#define LEAST_P 0.01

typedef struct calibrate_options {
    study_words words;
    bool force, quiet;
    double progress;
} calibrate_options;

static error_t calibrate_parse(int key, char *argument, struct argp_state *state)
{
    calibrate_options *options = state->input;

    switch (key) {
    case 'f': options->force = true; return 0;
    case 'q': options->quiet = true; return 0;
    case 'p': options->progress = parse_progress("calibrate", argument); return 0;
    default: return parse_study("calibrate", &options->words, key, argument, state);
    }
}

static const struct argp calibrate_argp = {
    .options = (const struct argp_option[]){{"force", 'f', 0, 0,
                                             "Replace a file that exists, discard the journal of another calibration",
                                             0},
                                            {"quiet", 'q', 0, 0, "Print nothing but warnings and errors", 0},
                                            OPTION_ALLOW_PLUGINS,
                                            OPTION_PROGRESS,
                                            {0}},
    .parser = calibrate_parse,
    .args_doc = "STUDY.cfg [KEY=VALUE ...]",
    .doc =
        "Check the fits of a study with data by simulation (Talts et al. 2018): parameters are drawn from the "
        "priors, data are made of them at the study's times and with its errors, and these are fitted. The ranks of "
        "what data were made of among draws of their posteriors must be uniform."
        "\vHow is the groups `calibrate` and `fit` of the study. The ranks are in one HDF5 file: `shoal query` prints "
        "them, `shoal plot` draws them.\n"
        "\n"
        "The exit status is 1 if the ranks are not uniform (p < 0.01), or if a fit ended by fit.steps before it was "
        "precise. A calibration that was killed leaves a journal; the same command goes on from there. More "
        "calibrate.sets add to those that there are, more fit.steps repeat the fits that were not precise.",
};

typedef struct calibrate_progress {
    double every, drawn, began;
} calibrate_progress;

static bool show_progress(const shoal_calibration *calibration, void *user)
{
    calibrate_progress *progress = user;
    const double now = shoal_seconds();

    if (progress->every > 0 && now - progress->drawn >= progress->every) {
        const long made = calibration->n_done - calibration->n_known, left = calibration->n_sets - calibration->n_done;
        char line[128], time[32] = "";
        if (made > 0) {
            put_duration(time, sizeof time, (now - progress->began) / (double)made * (double)left);
        }
        snprintf(line, sizeof line, "set %ld of %ld%s%s", calibration->n_done, calibration->n_sets,
                 made > 0 ? "  left " : "", time);
        draw_line(line);
        progress->drawn = now;
    }
    return stop_was_asked();
}

/* The table; returns the p of all. */
static double print_ranks(const shoal_calibration *calibration, bool quiet)
{
    const shoal_ranks *ranks = &calibration->ranks;
    shoal_uniformity *of = room_for_words(ranks->k, sizeof *of);
    const double p = shoal_ranks_uniformity(ranks, of);
    int width = 10;

    for (int i = 0; i < ranks->k; ++i) {
        const int length = (int)strlen(ranks->names[i]);
        width = length > width ? length : width;
    }
    if (!quiet) {
        printf("%-*s %10s %10s %10s %10s\n", width, "parameter", "mean rank", "spread", "chi^2", "p");
        for (int i = 0; i < ranks->k; ++i) {
            printf("%-*s %10.3f %10.3f %10.2f %10.4g\n", width, ranks->names[i], of[i].mean, of[i].spread, of[i].chi2,
                   of[i].p);
        }
        printf("all        p = %.4g of %ld sets: %d times the least one; %d bins, ranks among %ld draws\n", p,
               ranks->n_sets, ranks->k, of[0].n_bins, ranks->n_draws);
        printf("of uniform ranks the mean is 0.5 +- %.3f, the spread 1 +- %.3f\n",
               1 / sqrt(12.0 * (double)ranks->n_sets), sqrt(0.8 / (double)ranks->n_sets));
        printf("ranks      %s\n", calibration->output);
    }
    free(of);
    return p;
}

/* Name the sets whose fits were not precise; returns how many there are. */
static long print_imprecise(const shoal_ranks *ranks)
{
    long n = 0;
    for (long set = 0; set < ranks->n_sets; ++set) {
        double rhat = 0, ess = INFINITY;
        if (ranks->rows[(size_t)set * ranks->n_row + SHOAL_RANK_PRECISE] != 0) {
            continue;
        }
        for (int i = 0; i + 1 < ranks->k; ++i) {
            rhat = fmax(rhat, shoal_rank_number(ranks, set, i, SHOAL_RANK_RHAT));
            ess = fmin(ess, fmin(shoal_rank_number(ranks, set, i, SHOAL_RANK_BULK),
                                 shoal_rank_number(ranks, set, i, SHOAL_RANK_TAIL)));
        }
        fprintf(stderr, "shoal: set %ld: not precise after %.0f steps: R-hat up to %.3f, ESS from %.0f\n", set,
                ranks->rows[(size_t)set * ranks->n_row + SHOAL_RANK_STEPS], rhat, ess);
        ++n;
    }
    return n;
}

/* The calibration of an open study: the exit status. */
static int calibrate_study(shoal_context *context, shoal_calibration *calibration, const calibrate_options *options)
{
    const bool live = !options->quiet && isatty(STDERR_FILENO);
    calibrate_progress progress = {.every = options->quiet ? 0
                                            : live         ? 0.5
                                                           : options->progress,
                                   .drawn = live ? 0 : shoal_seconds(),
                                   .began = shoal_seconds()};

    if (!options->quiet) {
        printf("%ld sets of %ld data, %d parameters, %ld walkers, %ld sets at once\n%s\n", calibration->n_sets,
               shoal_model_n_data(calibration->fit->model), calibration->ranks.k - 1,
               calibration->fit->options.n_walkers, calibration->at_once,
               shoal_model_plan_line(calibration->fit->model));
        fflush(stdout);
    }
    watch_signals(true);
    const shoal_status status = shoal_calibrate(calibration, options->force, show_progress, &progress);
    watch_signals(false);
    if (live && progress.drawn > 0) {
        fputs("\r\033[K", stderr);
    }
    if (status != SHOAL_OK) {
        return failed(context, status);
    }
    const double p = print_ranks(calibration, options->quiet);
    const long n_imprecise = print_imprecise(&calibration->ranks);
    if (n_imprecise > 0) {
        fprintf(stderr, "shoal: %ld of %ld fits are not precise; the same command with more fit.steps repeats them\n",
                n_imprecise, calibration->n_sets);
    }
    if (p < LEAST_P) {
        fprintf(stderr, "shoal: the ranks are not uniform: p = %.3g\n", p);
    }
    return n_imprecise > 0 || p < LEAST_P ? EXIT_FAILED : EXIT_OK;
}

int calibrate_main(int argc, char **argv)
{
    calibrate_options options = {.progress = PROGRESS_SECONDS};
    shoal_context *context = NULL;
    shoal_study *study = NULL;
    shoal_calibration *calibration = NULL;

    argp_parse(&calibrate_argp, argc, argv, 0, NULL, &options);
    shoal_status status = open_study(&options.words, NULL, &context, &study);
    if (status == SHOAL_OK) {
        status = shoal_calibration_create(study, &calibration);
    }
    int code = status == SHOAL_OK ? calibrate_study(context, calibration, &options) : failed_input(context, status);
    if (code == EXIT_OK) {
        code = flush_output();
    }
    if (calibration) {
        shoal_calibration_destroy(&calibration);
    }
    shoal_study_destroy(&study);
    shoal_context_destroy(&context);
    free(options.words.override);
    return code;
}
