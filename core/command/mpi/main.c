/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * main.c: the program `shoal-mpi`: the ranks of an MPI job share the systems of one study.
 *
 * Rank 0 opens the study, cuts it into small shards (core/report/shards.c) and tells all ranks which are to be done.
 * Each rank draws one after another from a counter and runs it as `shoal run` runs a shard, with its own journal. At
 * the end rank 0 merges them. All that is kept is in these files: a job that lost a rank, or was killed, is started
 * again and does what is missing.
 *
 * A rank that fails in a shard draws no more; the others go on. So they do where a rank dies and the launcher lets them
 * live; at the end they leave without it.
 */
#define _GNU_SOURCE
#include <argp.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/command/command.h"
#include "core/command/mpi/team.h"

typedef struct mpi_options {
    study_words words;
    bool force, quiet, keep;
    double progress, patience;
    long size;
} mpi_options;

enum { PATIENCE = 1000 }; /* key of its option */

static error_t mpi_parse(int key, char *argument, struct argp_state *state)
{
    mpi_options *options = state->input;
    char *end;

    switch (key) {
    case 'f': options->force = true; return 0;
    case 'q': options->quiet = true; return 0;
    case 'k': options->keep = true; return 0;
    case 'p': options->progress = parse_progress("shoal-mpi", argument); return 0;
    case PATIENCE:
        if (!shoal_number(argument, &options->patience) || !(options->patience >= 2)) {
            exit(usage_error("shoal-mpi: --patience: \"%s\": expected a number of seconds >= 2", argument));
        }
        return 0;
    case 's':
        options->size = strtol(argument, &end, 10);
        if (end == argument || *end || options->size < 1) {
            exit(usage_error("shoal-mpi: --size: \"%s\": expected a number of systems", argument));
        }
        return 0;
    case ARGP_KEY_END:
        if (!options->words.study) {
            exit(usage_error("expected a study: mpirun shoal-mpi STUDY.cfg [key=value ...]"));
        }
        return 0;
    default: return parse_study("shoal-mpi", &options->words, key, argument, state);
    }
}

static const struct argp mpi_argp = {
    .options =
        (const struct argp_option[]){
            {"size", 's', "N", 0, "Systems of a shard, at most (chosen by the number of systems, ranks, threads)", 0},
            {"patience", PATIENCE, "SECONDS", 0, "A rank without a sign of life for so long is dead (default 60)", 0},
            {"keep", 'k', 0, 0, "Keep the files of the shards after the merge", 0},
            {"force", 'f', 0, 0, "Replace an output file that exists, and shards of another study", 0},
            {"quiet", 'q', 0, 0, "Print nothing but warnings and errors", 0},
            OPTION_ALLOW_PLUGINS,
            OPTION_PROGRESS,
            {0}},
    .parser = mpi_parse,
    .args_doc = "STUDY.cfg [KEY=VALUE ...]",
    .doc = "Run a study by all ranks of an MPI job: mpirun shoal-mpi STUDY.cfg."
           "\vThe study is cut into small shards. Each rank takes one after another, and at the end they are merged: "
           "the result is that of `shoal run`. A job that was killed, or lost a rank, is started again with the same "
           "command, by any number of ranks: what is done is kept, and what was begun goes on from its journal. "
           "`shoal status` tells how far it is.",
};

/* ---- a rank ------------------------------------------------------------------------------------------------------ */

/* What rank 0 tells the others. */
typedef struct orders {
    long code, n_shards, n_todo;
} orders;

/* What ranks have done; added up at the end. */
enum { SHARDS_FAILED, INTERRUPTED, STEPS, BUSY };

typedef struct worker {
    team *team;
    const mpi_options *options;
    shoal_context *context;
    shoal_shards shards;
    shoal_progress last;
    double told;
    double tally[TEAM_NUMBERS];
} worker;

static int look(const shoal_progress *progress, void *user)
{
    worker *self = user;
    const double now = shoal_seconds(), every = self->options->quiet ? 0 : self->options->progress;
    self->last = *progress;
    if (self->team->rank == 0 && every > 0 && now - self->told >= every) {
        char line[80];
        const long n = self->shards.n_todo, drawn = team_drawn(self->team);
        snprintf(line, sizeof line, "%ld of %ld shards taken", drawn < n ? drawn : n, n);
        draw_line(line);
        self->told = now;
    }
    return stop_was_asked();
}

static shoal_status run_shard(worker *self, long shard)
{
    const study_words *words = &self->options->words;
    char which[64];
    shoal_study *study = NULL;
    int n = words->n_overrides;
    const char **override = calloc((size_t)n + 1, sizeof *override);
    if (!override)
        return shoal_fail(self->context, SHOAL_E_MEMORY, "out of memory");
    for (int i = 0; i < n; i++)
        override[i] = words->override[i];
    snprintf(which, sizeof which, "run.shard=%ld/%ld", shard, self->shards.n);
    if (self->shards.n > 1)
        override[n++] = which;
    shoal_status status = shoal_study_open(self->context, words->study, NULL, n, override, NULL, &study);
    if (!status) {
        if (study->options.threads == 0) /* no setting, so that the config in the file stays the user's */
            study->options.threads = self->team->n_threads;
        self->last = (shoal_progress){0};
        status = shoal_study_run(study, self->options->force, look, self);
        self->tally[STEPS] += self->last.system_steps;
    }
    shoal_study_destroy(&study);
    free(override);
    return status;
}

/* Shard after shard, until none is left, the user asks for the end, or one fails. */
static void work(worker *self)
{
    const double began = shoal_seconds();
    self->told = began;
    watch_signals(true);
    while (!stop_was_asked()) {
        const long ticket = team_draw(self->team);
        if (ticket >= self->shards.n_todo)
            break;
        const shoal_status status = run_shard(self, self->shards.todo[ticket]);
        if (status == SHOAL_E_INTERRUPTED) {
            break;
        } else if (status) {
            (void)failed(self->context, status);
            self->tally[SHARDS_FAILED]++;
            break;
        }
        team_did(self->team);
    }
    self->tally[BUSY] = shoal_seconds() - began;
    self->tally[INTERRUPTED] = stop_was_asked();
}

/* ---- rank 0 ------------------------------------------------------------------------------------------------------ */

/* Whether the ranks' systems are for GPUs. */
static bool is_for_gpus(const shoal_study *study, const team *ranks)
{
    return ranks->n_devices > 0 && !(study->options.engine && strcmp(study->options.engine, "cpu") == 0);
}

/* Open the whole study and see what there is to do; returns the exit status. */
static int prepare(worker *self, char **output)
{
    const mpi_options *options = self->options;
    const team *ranks = self->team;
    int code = EXIT_USAGE;
    shoal_study *study = NULL;
    shoal_status status = open_study(&options->words, NULL, &self->context, &study);
    if (status) {
        code = failed_input(self->context, status);
        goto fail;
    }
    if (study->big || !shoal_study_is_whole(study)) {
        (void)usage_error("%s: expected an ensemble, without run.shard and run.system", options->words.study);
        goto fail;
    }
    const long n = study->ensemble->n_systems;
    const long n_shards = shoal_shards_number(n, ranks->n_ranks, ranks->n_threads, is_for_gpus(study, ranks),
                                              options->size);
    status = shoal_shards_find(study, n_shards, options->size > 0, options->force, &self->shards);
    *output = status ? NULL : strdup(study->output);
    if (!*output) {
        code = failed(self->context, status ? status : SHOAL_E_MEMORY);
        goto fail;
    }
    code = EXIT_OK;
    print_warnings(study, stderr, "shoal: warning: ");
    if (!options->quiet) {
        print_study(study);
        printf("%d rank%s, %d thread%s each; %ld shard%s, %ld to do\n", ranks->n_ranks, ranks->n_ranks == 1 ? "" : "s",
               ranks->n_threads, ranks->n_threads == 1 ? "" : "s", self->shards.n, self->shards.n == 1 ? "" : "s",
               self->shards.n_todo);
        fflush(stdout);
    }
fail:
    shoal_study_destroy(&study); /* each shard is opened anew, and the memory is for them */
    return code;
}

/* Merge, if all is done. began: when. Returns the exit status. */
static int finish(worker *self, const char *output, double began)
{
    double sum[TEAM_NUMBERS] = {0};
    long done;
    const int n_dead = team_gather(self->team, sum, &done);
    const double seconds = shoal_seconds() - began;
    watch_signals(false);
    shoal_result *result = NULL;
    shoal_status status;
    if (sum[INTERRUPTED] > 0)
        status = shoal_fail(self->context, SHOAL_E_INTERRUPTED, "%s: interrupted; start again to go on", output);
    else if (sum[SHARDS_FAILED] > 0)
        status = shoal_fail(self->context, SHOAL_E_FILE, "%s: shards that failed: %.0f; start again to go on", output,
                            sum[SHARDS_FAILED]);
    else if (done < self->shards.n_todo)
        status = shoal_fail(self->context, SHOAL_E_FILE,
                            "%s: %d of %d ranks are dead, %ld of %ld shards not done; start again to go on", output,
                            n_dead, self->team->n_ranks, self->shards.n_todo - done, self->shards.n_todo);
    else if (self->shards.n > 1)
        status = shoal_shards_join(self->context, output, self->shards.n, self->options->keep, &result);
    else
        status = shoal_report_read(self->context, output, &result);
    if (status)
        return failed(self->context, status);
    int code = EXIT_OK;
    if (!self->options->quiet) {
        const shoal_progress all = {.system_steps = sum[STEPS], .seconds = seconds};
        printf("ranks          %d, at work %.0f %% of the time\n", self->team->n_ranks,
               100 * sum[BUSY] / seconds / self->team->n_ranks);
        code = print_summary(result, output, &all, seconds) ? flush_output() : failed(NULL, SHOAL_E_MEMORY);
    }
    shoal_result_destroy(&result);
    return code;
}

/* ------------------------------------------------------------------------------------------------------------------ */

/* All ranks read the command line; one speaks of it. */
static void read_options(int argc, char **argv, int rank, mpi_options *options)
{
    const int messages = dup(STDERR_FILENO), nowhere = rank ? open("/dev/null", O_WRONLY) : -1;
    if (nowhere >= 0) {
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
        close(nowhere);
    }
    argp_err_exit_status = EXIT_USAGE;
    argv[0] = "shoal-mpi";
    if (check_arguments(argc, argv) != EXIT_OK)
        exit(EXIT_USAGE);
    argp_parse(&mpi_argp, argc, argv, 0, NULL, options);
    dup2(messages, STDERR_FILENO);
    close(messages);
}

static void finalize(void)
{
    MPI_Finalize();
}

/* Tell all ranks what rank 0 has found. Returns the exit status. */
static int share_orders(worker *self, int code)
{
    orders found = {code, self->shards.n, self->shards.n_todo};
    MPI_Bcast(&found, 3, MPI_LONG, 0, MPI_COMM_WORLD);
    if (found.code != EXIT_OK)
        return (int)found.code;
    if (!self->shards.todo) { /* not rank 0 */
        self->shards = (shoal_shards){found.n_shards, found.n_todo, NULL};
        self->shards.todo = calloc((size_t)found.n_todo + 1, sizeof *self->shards.todo);
        if (!self->shards.todo || shoal_context_create(&self->context))
            MPI_Abort(MPI_COMM_WORLD, failed(NULL, SHOAL_E_MEMORY)); /* the others would wait for it */
        shoal_context_allow_plugins(self->context, self->options->words.allow_plugins);
    }
    MPI_Bcast(self->shards.todo, (int)found.n_todo, MPI_LONG, 0, MPI_COMM_WORLD);
    return EXIT_OK;
}

/* Part from the other ranks. Without one of them MPI_Finalize would wait for ever: the process ends here. */
static void end_team(team *of, int code)
{
    const team_end end = team_part(of);
    if (end == TEAM_WHOLE) {
        team_close(of);
        return;
    }
    if (end == TEAM_LOST_FIRST) {
        (void)fprintf(stderr, "shoal: rank %d: rank 0 is dead; start again to go on\n", of->rank);
        code = EXIT_FAILED;
    }
    fflush(NULL);
    _exit(code);
}

int main(int argc, char **argv)
{
    int provided, rank;
    mpi_options options = {.progress = PROGRESS_SECONDS, .patience = 60};
    team all;
    char *output = NULL;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    atexit(finalize); /* also where argp ends the program */
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    read_options(argc, argv, rank, &options);
    if (provided < MPI_THREAD_SERIALIZED)
        return rank ? EXIT_OK : (usage_error("this MPI serves one thread only"), EXIT_UNSUPPORTED);
    team_begin(&all, options.patience);
    worker self = {.team = &all, .options = &options};
    int code = share_orders(&self, rank == 0 ? prepare(&self, &output) : EXIT_OK);
    if (code == EXIT_OK) {
        const double began = shoal_seconds();
        team_open(&all);
        work(&self);
        team_report(&all, self.tally);
        code = rank == 0 ? finish(&self, output, began) : EXIT_OK;
        end_team(&all, code);
    }
    free(output);
    free(self.shards.todo);
    shoal_context_destroy(&self.context);
    free(options.words.override);
    return rank == 0 ? code : EXIT_OK; /* of one rank: another's would end the job before its time */
}
