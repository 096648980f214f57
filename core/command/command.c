/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * command.c: what the commands share: errors, exit statuses, terminals, words of a command line.
 */
#define _GNU_SOURCE
#include <argp.h>
#include <errno.h>
#include <stdarg.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/command/command.h"

int usage_error(const char *format, ...)
{
    char text[SHOAL_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "shoal: %s\n", shoal_make_plain(text));
    return EXIT_USAGE;
}

int failed(const shoal_context *context, shoal_status status)
{
    return failed_file(context, status, NULL);
}

int failed_file(const shoal_context *context, shoal_status status, const char *file)
{
    const char *message = context ? shoal_context_message(context) : "";
    shoal_h5_quiet();
    char text[2 * SHOAL_MESSAGE_SIZE];
    snprintf(text, sizeof text, "%s%s%s", file ? file : "", file ? ": " : "",
             message[0] ? message : shoal_status_text(status));
    fprintf(stderr, "shoal: %s\n", shoal_make_plain(text));
    switch (status) {
    case SHOAL_OK: return EXIT_OK;
    case SHOAL_E_USAGE:
    case SHOAL_E_INPUT: return EXIT_USAGE;
    case SHOAL_E_UNSUPPORTED: return EXIT_UNSUPPORTED;
    case SHOAL_E_INTERRUPTED: return EXIT_INTERRUPTED;
    default: return EXIT_FAILED;
    }
}

int failed_input(const shoal_context *context, shoal_status status)
{
    return failed(context, status == SHOAL_E_FILE ? SHOAL_E_INPUT : status);
}

void *room_for_words(int n, size_t size)
{
    void *words = calloc((size_t)n + 1, size);
    if (!words) {
        exit(failed(NULL, SHOAL_E_MEMORY));
    }
    return words;
}

double parse_progress(const char *command, const char *argument)
{
    char *end;
    const double seconds = strtod(argument, &end);
    if (end == argument || *end || !(seconds >= 0)) {
        exit(usage_error("%s: --progress: \"%s\": expected a number of seconds >= 0", command, argument));
    }
    return seconds;
}

int parse_study(const char *command, study_words *words, int key, char *argument, const struct argp_state *state)
{
    switch (key) {
    case 'P': words->allow_plugins = true; return 0;
    case ARGP_KEY_INIT: words->override = room_for_words(state->argc, sizeof *words->override); return 0;
    case ARGP_KEY_ARG:
        if (!words->study) {
            words->study = argument;
        } else if (strchr(argument, '=')) {
            words->override[words->n_overrides++] = argument;
        } else {
            exit(usage_error("%s: \"%s\": expected key=value (one study at a time)", command, argument));
        }
        return 0;
    case ARGP_KEY_END:
        if (!words->study) {
            exit(usage_error("%s: expected a study: shoal %s STUDY.cfg [key=value ...]", command, command));
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

shoal_status open_study(const study_words *words, struct shoal_table *given, shoal_context **context,
                        shoal_study **study)
{
    shoal_status status = shoal_context_create(context);
    if (status != SHOAL_OK) {
        return status;
    }
    shoal_context_allow_plugins(*context, words->allow_plugins);
    if (given) {
        given->context = *context;
    }
    return shoal_study_open(*context, words->study, NULL, words->n_overrides, words->override, given, study);
}

void print_notes(char *notes)
{
    for (char *line; notes && (line = strsep(&notes, "\n")) && *line;) {
        fprintf(stderr, "shoal: note: %s\n", shoal_make_plain(line));
    }
}

int flush_output(void)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fputs("shoal: the output could not be written\n", stderr);
        return EXIT_FAILED;
    }
    return EXIT_OK;
}

int terminal_width(int descriptor)
{
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

bool terminal_colour(void)
{
    const char *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && !getenv("NO_COLOR") && term && strcmp(term, "dumb") != 0;
}

int check_arguments(int argc, char **argv)
{
    for (int i = 1; i < argc; ++i) {
        /* a value may be of several lines */
        const char *value = *argv[i] == '-' ? NULL : strpbrk(argv[i], "=<>");
        bool good = shoal_is_plain(argv[i]);
        if (!good && value) {
            char *copy = strdup(argv[i]);
            for (char *at = copy ? copy + (value - argv[i]) : NULL; at && *at; ++at) {
                *at = *at == '\n' || *at == '\t' ? ' ' : *at;
            }
            good = copy && shoal_is_plain(copy);
            free(copy);
        }
        if (!good) {
            return usage_error("%s: expected no control characters", argv[i]);
        }
    }
    return EXIT_OK;
}

int check_name(const char *command, const char *file)
{
    return shoal_is_name(file) ? EXIT_OK : usage_error("%s: %s: expected a file's name without quotes", command, file);
}

int check_output(const char *command, const char *file, bool force)
{
    struct stat about;
    if (check_name(command, file) != EXIT_OK) {
        return EXIT_USAGE;
    }
    return !force && stat(file, &about) == 0 && S_ISREG(about.st_mode)
               ? usage_error("%s: %s is there already (--force replaces it)", command, file)
               : EXIT_OK;
}

char *picture_name(const char *file)
{
    char *name;
    return asprintf(&name, "%.*s.png", shoal_name_stem(file), file) < 0 ? NULL : name;
}

int parse_files(file_list *files, int key, const struct argp_state *state)
{
    if (key == ARGP_KEY_ARGS) {
        *files = (file_list){state->argv + state->next, state->argc - state->next};
        return 0;
    }
    return key == ARGP_KEY_NO_ARGS ? 0 : ARGP_ERR_UNKNOWN;
}

static error_t words_parse(int key, char *argument, struct argp_state *state)
{
    (void)argument;
    return parse_files(state->input, key, state);
}

file_list parse_words(int argc, char **argv, const char *args_doc, const char *doc)
{
    file_list words = {0};
    const struct argp argp = {.parser = words_parse, .args_doc = args_doc, .doc = doc};
    argp_parse(&argp, argc, argv, 0, NULL, &words);
    return words;
}

void put_duration(char *text, size_t size, double seconds)
{
    const long s = lround(fmin(fmax(seconds, 0), 1e9));
    if (s >= 3600) {
        snprintf(text, size, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    } else {
        snprintf(text, size, "%ld:%02ld", s / 60, s % 60);
    }
}

void draw_line(const char *line)
{
    if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r\033[K%.*s", terminal_width(STDERR_FILENO) - 1, line);
    } else {
        fprintf(stderr, "shoal: %s\n", line);
    }
    fflush(stderr);
}
