/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * command_query.c: `shoal query`: states and systems tables of result files as CSV.
 */
#define _GNU_SOURCE
#include <argp.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/command/command.h"
#include "core/fit/fit.h"

typedef struct query_options {
    file_list files;
    int what; /* key of the one option that says what to print, or 0 */
    bool table, events, certify;
    const char *event; /* only this one */
    const char *log;   /* of which monitor */
    shoal_query query;
    shoal_selection of;
    char *columns;     /* of the table or the log of the first file */
    shoal_units units; /* of the first file */
} query_options;

/* A..B, A.., ..B or A; both ends included. */
static bool parse_range(const char *text, long *first, long *last)
{
    const char *dots = strstr(text, "..");
    char *end;

    *first = 0;
    *last = LONG_MAX;
    if (text != dots) {
        *first = strtol(text, &end, 10);
        if (end == text || end != (dots ? dots : text + strlen(text))) {
            return false;
        }
    }
    if (!dots) {
        *last = *first;
    } else if (dots[2]) {
        *last = strtol(dots + 2, &end, 10);
        if (*end) {
            return false;
        }
    }
    return *first >= 0 && *last >= *first && text[0];
}

static bool parse_frame(const char *text, shoal_frame *frame)
{
    static const char *const names[] = {
        [SHOAL_JACOBI] = "jacobi", [SHOAL_ASTROCENTRIC] = "astrocentric", [SHOAL_BARYCENTRIC] = "barycentric"};

    for (int i = 0; i < SHOAL_COUNT(names); ++i) {
        if (strcmp(text, names[i]) == 0) {
            *frame = (shoal_frame)i;
            return true;
        }
    }
    return false;
}

/* T, or A..B, A.., ..B for all times between. */
static bool parse_times(const char *text, shoal_query *query)
{
    const char *dots = strstr(text, "..");
    char *end;

    query->which = dots ? SHOAL_QUERY_TIMES : SHOAL_QUERY_TIME;
    query->from = -INFINITY;
    query->to = INFINITY;
    if (!dots || text != dots) {
        query->from = strtod(text, &end);
        /* of "10..20" strtod takes "10." */
        if (end == text || (dots ? end != dots && end != dots + 1 : *end) || !isfinite(query->from)) {
            return false;
        }
    }
    if (dots && dots[2]) {
        query->to = strtod(dots + 2, &end);
        if (*end || !isfinite(query->to)) {
            return false;
        }
    }
    return query->from <= query->to;
}

static error_t query_parse(int key, char *argument, struct argp_state *state)
{
    query_options *options = state->input;

    if (key > 0 && key < 128 && strchr("fiTeltc", key)) {
        if (options->what) {
            exit(usage_error(
                "query: expected one of --final, --initial, --time, --systems-table, --events, --log, --certify"));
        }
        options->what = key;
    }
    switch (key) {
    case 'f': options->query.which = SHOAL_QUERY_FINAL; return 0;
    case 'i': options->query.which = SHOAL_QUERY_INITIAL; return 0;
    case 'T': options->table = true; return 0;
    case 'e':
        options->events = true;
        options->event = argument;
        return 0;
    case 'l': options->log = argument; return 0;
    case 'c': options->certify = true; return 0;
    case 't':
        if (!parse_times(argument, &options->query)) {
            exit(usage_error("query: --time: \"%s\": expected a time in the units of the file, or A..B", argument));
        }
        return 0;
    case 's':
        if (!parse_range(argument, &options->of.first, &options->of.last)) {
            exit(usage_error("query: --systems: \"%s\": expected A..B, 0 <= A <= B", argument));
        }
        return 0;
    case 'w': options->of.where = argument; return 0;
    case 'o':
        options->query.orbits = true;
        if (argument && !parse_frame(argument, &options->query.frame)) {
            exit(usage_error("query: --elements: \"%s\": expected jacobi, astrocentric or barycentric", argument));
        }
        return 0;
    case ARGP_KEY_END:
        if (options->query.orbits && (options->table || options->events || options->log || options->certify)) {
            exit(usage_error("query: --elements: expected states (--final, --initial, --time), not a table"));
        }
        return 0;
    case ARGP_KEY_NO_ARGS: exit(usage_error("query: expected a result file: shoal query FILE ..."));
    default: return parse_files(&options->files, key, state);
    }
}

static const struct argp query_argp = {
    .options =
        (const struct argp_option[]){
            {"final", 'f', 0, 0, "The last state of each system (default)", 0},
            {"initial", 'i', 0, 0, "The initial states", 0},
            {"time", 't', "T|A..B", 0,
             "The snapshots at time T, or all from A to B (.. for all), in the units of the file", 0},
            {"elements", 'o', "FRAME", OPTION_ARG_OPTIONAL,
             "Orbits instead of positions: jacobi (default, whatever the config has), astrocentric or barycentric "
             "elements, "
             "angles in degrees",
             0},
            {"systems", 's', "A..B", 0, "Only systems A to B, both included", 0},
            {"where", 'w', "CONDITIONS", 0, "Only systems of which this is true: 'COLUMN OP VALUE && ...'", 0},
            {"systems-table", 'T', 0, 0, "One row a system: its end, the swept parameters, what monitors computed", 0},
            {"events", 'e', "OUTCOME", OPTION_ARG_OPTIONAL,
             "One row an event: mergers, removals, encounters that did not end a system; or only one kind", 0},
            {"log", 'l', "MONITOR", 0, "What a monitor logged: with transits one row a transit", 0},
            {"certify", 'c', 0, 0, "In words: whether the step is short enough, from a run with run.certify", 0},
            {0}},
    .parser = query_parse,
    .args_doc = "FILE...",
    .doc = "Print states, the systems table, the events or the logs of result files as CSV."
           "\vStates: system,body,name,time,m,x,y,z,vx,vy,vz; elements: "
           "system,body,name,time,m,a,e,inc,Omega,omega,f,M,P.\n"
           "Table: system,outcome,t_stop,body_a,body_b,dE_final,steps,n_final, then the columns of the file.\n"
           "Events: system,time,event,body_a,body_b,m_a,m_b,distance,speed,dE,ended.\n"
           "--where compares columns of the table with numbers, outcomes or bodies by < <= > >= == !=, for instance "
           "'outcome == survived && megno < 2.2'; a name with a blank stands in double quotes.\n"
           "The journal of a run that still goes on, or was killed, is read if there is no FILE yet.",
};

/* The rows of several files have one heading: refuse a file whose numbers are in other units than those of the
 * first. */
static shoal_status check_units(shoal_context *context, const shoal_units *units, shoal_units *first)
{
    if (!first->length_name[0]) {
        *first = *units;
    }
    if (strcmp(units->length_name, first->length_name) == 0 && strcmp(units->mass_name, first->mass_name) == 0 &&
        strcmp(units->time_name, first->time_name) == 0 && units->G == first->G) {
        return SHOAL_OK;
    }
    return shoal_fail(context, SHOAL_E_USAGE,
                      "its units (%s, %s, %s, G = %g) are not those of the first file (%s, %s, %s, G = %g)",
                      units->length_name, units->mass_name, units->time_name, units->G, first->length_name,
                      first->mass_name, first->time_name, first->G);
}

/* A table of several files has one heading, too: refuse a file whose columns, or their units, are not those of the
 * first. *first: what they are, NULL before the first file; malloc'd. */
static shoal_status check_columns(shoal_context *context, int n, const shoal_column *columns, char **first)
{
    shoal_status status = SHOAL_OK;
    char *names = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&names, &size);

    for (int c = 0; out && c < n; ++c) {
        const char *unit = columns[c].unit;
        fprintf(out, "%s%s%s%s%s", c ? "," : "", columns[c].name, *unit ? " [" : "", unit, *unit ? "]" : "");
    }
    if (!out || fclose(out) != 0) {
        return shoal_fail(context, SHOAL_E_MEMORY, "out of memory");
    }
    if (!*first) {
        *first = names;
        return SHOAL_OK;
    }
    if (strcmp(*first, names) != 0) {
        status = shoal_fail(context, SHOAL_E_USAGE, "its columns (%s) are not those of the first file (%s)", names,
                            *first);
    }
    free(names);
    return status;
}

static shoal_status query_result(shoal_context *context, const shoal_result *result, const query_options *options,
                                 FILE *out)
{
    return options->certify  ? shoal_certify_print(context, result, out)
           : options->log    ? shoal_query_log(context, result, &options->of, options->log, out)
           : options->events ? shoal_query_events(context, result, &options->of, options->event, out)
           : options->table  ? shoal_query_systems(context, result, &options->of, out)
                             : shoal_query_states(context, result, &options->of, &options->query, out);
}

/* The ranks of a calibration as CSV. */
static int query_ranks(shoal_context *context, const char *name, const query_options *options)
{
    shoal_ranks ranks;
    shoal_status status = options->what
                              ? shoal_fail(context, SHOAL_E_USAGE, "of a calibration there are its ranks alone")
                              : shoal_ranks_read(context, name, &ranks);

    if (status != SHOAL_OK) {
        return failed_file(context, status, name);
    }
    shoal_ranks_print(&ranks, stdout);
    shoal_ranks_release(&ranks);
    return EXIT_OK;
}

/* Print one file; of every file but the first the heading is left out. */
static int query_file(shoal_context *context, const char *name, query_options *options, bool heading)
{
    shoal_result *result = NULL;
    char *text = NULL;
    size_t size = 0;
    FILE *out = stdout;

    if (shoal_big_record_is(name)) {
        if ((options->what && !options->table) || options->query.orbits || options->of.where || options->of.first > 0 ||
            options->of.last < LONG_MAX) {
            return failed_file(context,
                               shoal_fail(context, SHOAL_E_USAGE,
                                          "of one big system there are its rows alone, no options; "
                                          "shoal convert %s FILE has its last state",
                                          name),
                               name);
        }
        return query_big(context, name);
    }
    shoal_status status = shoal_report_read(context, name, &result);
    if (status != SHOAL_OK) {
        return shoal_fit_file_of(name) == SHOAL_FIT_FILE_RANKS ? query_ranks(context, name, options)
                                                               : failed_input(context, status);
    }
    status = check_units(context, &result->units, &options->units);
    const shoal_log *log = options->log ? shoal_result_log(result, options->log) : NULL;
    if (status == SHOAL_OK && options->table) {
        status = check_columns(context, result->n_columns, result->columns, &options->columns);
    } else if (status == SHOAL_OK && log) { /* without it, query_result has the message */
        status = check_columns(context, log->n_columns, log->columns, &options->columns);
    }
    if (status == SHOAL_OK && !heading && !(out = open_memstream(&text, &size))) {
        status = shoal_fail(context, SHOAL_E_MEMORY, "out of memory");
    }
    if (status == SHOAL_OK) {
        status = query_result(context, result, options, out);
    }
    if (out && out != stdout) {
        if (fclose(out) != 0 && status == SHOAL_OK) {
            status = shoal_fail(context, SHOAL_E_MEMORY, "out of memory");
        }
        const char *rows = text && status == SHOAL_OK ? strchr(text, '\n') : NULL;
        fputs(rows ? rows + 1 : "", stdout);
        free(text);
    }
    shoal_result_destroy(&result);
    return status == SHOAL_OK ? EXIT_OK : failed_file(context, status, name);
}

int query_main(int argc, char **argv)
{
    query_options options = {.query.which = SHOAL_QUERY_FINAL, .of.last = LONG_MAX};
    shoal_context *context = NULL;
    int code = EXIT_OK;

    argp_parse(&query_argp, argc, argv, 0, NULL, &options);
    if (shoal_context_create(&context) != SHOAL_OK) {
        return failed(NULL, SHOAL_E_MEMORY);
    }
    for (int i = 0; i < options.files.n && code == EXIT_OK; ++i) {
        code = query_file(context, options.files.name[i], &options, i == 0 || options.certify);
    }
    free(options.columns);
    shoal_context_destroy(&context);
    return code == EXIT_OK ? flush_output() : code;
}
