/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * command.h: the commands of `shoal`, each in its own file command_NAME.c with an argp parser of its own, and what they
 * share (command.c). Only these files and main.c talk to the terminal, install signal handlers or exit; they are no
 * part of the library.
 */
#ifndef SHOAL_COMMAND_H
#define SHOAL_COMMAND_H

#include "core/report/report.h"
#include "core/study/study.h"

/* argv[0] is "shoal NAME"; each returns the exit status. */
int run_main(int argc, char **argv);
int fit_main(int argc, char **argv);
int calibrate_main(int argc, char **argv);
int merge_main(int argc, char **argv);
int status_main(int argc, char **argv);
int rerun_main(int argc, char **argv);
int query_main(int argc, char **argv);
int plot_main(int argc, char **argv);
int verify_main(int argc, char **argv);
int generate_main(int argc, char **argv);
int tune_main(int argc, char **argv);
int convert_main(int argc, char **argv);
int list_main(int argc, char **argv);
int explain_main(int argc, char **argv);
int info_main(int argc, char **argv);
int bench_main(int argc, char **argv);

/* The commands, as help knows them (main.c); ends in {0}. */
extern const shoal_help_word command_words[];

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_UNSUPPORTED = 3, EXIT_INTERRUPTED = 130 };

/* Print "shoal: ..." to stderr; returns EXIT_USAGE. */
int usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Print what a reader noted, a line each; the text is cut. NULL = nothing. */
void print_notes(char *notes);
/* Print the context's message; returns the exit status that goes with a status. */
int failed(const shoal_context *context, shoal_status status);
/* The same for a file named on the command line that should have been read: one that is not there is a wrong input. */
int failed_input(const shoal_context *context, shoal_status status);
/* The same for what a file does not have, or is not good for: the message is about that file. */
int failed_file(const shoal_context *context, shoal_status status, const char *file);

/* ---- parsers of command lines: what one does with the keys that are not its own options -------------------------- */

struct argp_state;

/* What a command line says of a study: STUDY.cfg [KEY=VALUE ...]. */
typedef struct study_words {
    const char *study;
    const char **override; /* [n_overrides], the caller's to free */
    int n_overrides;
    bool allow_plugins;
} study_words;

/* A line of the options of a command that opens a study. */
#define OPTION_ALLOW_PLUGINS                                                              \
    {                                                                                     \
        "allow-plugins", 'P', 0, 0, "Compile and run the plugins that the study names", 0 \
    }
#define OPTION_PROGRESS                                                                                \
    {                                                                                                  \
        "progress", 'p', "SECONDS", 0,                                                                 \
            "Where standard error is no terminal: a line on it each so many seconds (60; 0 = none)", 0 \
    }
/* The argument of --progress; ends the program where it is none. */
double parse_progress(const char *command, const char *argument);
/* [n + 1] of that size, zeroed; ends the program where memory is out, which argp_parse would not tell. */
void *room_for_words(int n, size_t size);
int parse_study(const char *command, study_words *words, int key, char *argument, const struct argp_state *state);
/* The context, too, which is the caller's even if the study cannot be opened. given: as shoal_study_open has it; gets
 * the context. */
shoal_status open_study(const study_words *words, struct shoal_table *given, shoal_context **context,
                        shoal_study **study);

/* Words of a command line, such as the files that query and plot are given. */
typedef struct file_list {
    char **name;
    int n;
} file_list;

/* All words that are left. Whether there are enough is the command's to say, at ARGP_KEY_END. */
int parse_files(file_list *files, int key, const struct argp_state *state);
/* Arguments of a command that has no options but --help. */
file_list parse_words(int argc, char **argv, const char *args_doc, const char *doc);

/* ------------------------------------------------------------------------------------------------------------------ */

/* Run a study in sight of the user, who may interrupt it (command_run.c). every: seconds between lines of progress
 * where there is no terminal, 0 = none; last: the last progress reported. */
enum { PROGRESS_SECONDS = 60 };
shoal_status run_study(shoal_study *study, bool force, bool quiet, double every, shoal_progress *last);
/* An ensemble's study in a paragraph. */
void print_study(const shoal_study *study);
/* Systems that are impossible, and what the steps do not resolve; the run goes on. */
void print_warnings(shoal_study *study, FILE *out, const char *before);
/* Outcomes with counts, energy errors, time and rate. False: memory is out. */
bool print_summary(const shoal_result *result, const char *file, const shoal_progress *progress, double seconds);
/* From here on, and until the second call, the first SIGINT or SIGTERM asks to stop and the next one kills. */
void watch_signals(bool on);
bool stop_was_asked(void);
/* A line of progress: in the place of the last one in a terminal, else below it. */
void draw_line(const char *line);

/* What `shoal bench` is asked for. */
typedef struct bench_options {
    const char *engine, *model, *tune;
    long systems;
    int threads, lanes, csv, list;
    long steps;
    int compensated;
    const char *range;
    double limit;
    bool allow_plugins;
    char **names;
    int n_names;
} bench_options;

/* An ensemble and its propagator (command_bench.c). */
typedef struct bench_case {
    const char *propagator;
    int n_planets;
    double planet_mass;
    double dt; /* of an adaptive propagator: the time that counts as a step */
    double error_bound;
    double spacing, e;                  /* a_i = spacing^(i-1), 0: 1.4; eccentricity, the pericentres anywhere */
    double radius;                      /* of the planets */
    const shoal_plug_options *monitors; /* NULL: ejection, and with radii collisions */
    int n_monitors;
} bench_case;

typedef struct bench_row {
    double steps, seconds, error;
    double most, most_seconds; /* steps when nearly all of them were made, and the time they took */
    uint64_t bits;             /* of all final states */
    const char *model;
    char engine[16], plan[768];
} bench_row;

shoal_status bench_run(shoal_context *context, const bench_case *c, const bench_options *options, bool bare,
                       double n_steps, bench_row *row);
/* So many that a run takes about that time; 0 with a message in the context. */
double bench_steps(shoal_context *context, const bench_case *c, const bench_options *options, double seconds);
/* command_bench_monitors.c */
shoal_status bench_monitors(shoal_context *context, const bench_options *options);

/* The cases of command_bench_slices.c; NULL after the last. */
extern const char *const bench_slices_names[];
shoal_status bench_slices(shoal_context *context, const char *name, const bench_options *options);

/* command_big.c: what `run`, `query` and `plot` print of one big system. */
void print_big_study(const shoal_study *study);
void draw_big_progress(const shoal_progress *progress);
int print_big_summary(shoal_study *study, const shoal_progress *progress, double seconds);
/* The diagnostics of a result file as CSV. */
int query_big(shoal_context *context, const char *file);

/* Seconds as 1:23 or 2:01:23. */
void put_duration(char *text, size_t size, double seconds);

/* `shoal bench --range`: names are the study and overrides; limit: of an energy error. */
int bench_range(const bench_options *options);

/* `shoal bench ladder`: words are numbers of bodies and names of steps (command_bench_ladder.c). engine: NULL or
 * "auto" = all. */
int bench_ladder(const char *engine, int threads, bool csv, int n_words, char **words);

/* What was printed has arrived: a full disk or a closed pipe is a failure. */
int flush_output(void);

int terminal_width(int descriptor);
bool terminal_colour(void);

/* Refuse (usage_error) control characters on a command line, but for lines and tabs in values; EXIT_OK if there are
 * none. */
int check_arguments(int argc, char **argv);
/* The same for quotes in the name of a file that is to be written. */
int check_name(const char *command, const char *file);
/* Refuse (usage_error) to replace a file, unless force is set; EXIT_OK if it may be written. */
int check_output(const char *command, const char *file, bool force);

/* The name of the picture beside a result file; malloc'd. */
char *picture_name(const char *file);

#endif
