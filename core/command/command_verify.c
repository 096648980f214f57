/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * command_verify.c: `shoal verify`: are two results the same within thresholds?
 */
#define _GNU_SOURCE
#include <argp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/command/command.h"

typedef struct verify_options {
    file_list files;
    shoal_verify_options compare;
} verify_options;

enum { ABSOLUTE = 1000 };

static const struct argp_option verify_option[] = {
    {"position", 'p', "X", 0, "Threshold of positions (default 1e-10)", 0},
    {"velocity", 'v', "X", 0, "Threshold of velocities (default 1e-10)", 0},
    {"time", 't', "X", 0, "Threshold of times (default 1e-10)", 0},
    {"mass", 'm', "X", 0, "Threshold of masses (default 1e-10)", 0},
    {"absolute", ABSOLUTE, 0, 0, "Thresholds are in the units of A", 0},
    {0},
};

static error_t verify_parse(int key, char *argument, struct argp_state *state)
{
    verify_options *options = state->input;
    char *end;

    for (int q = 0; q < SHOAL_VERIFY_QUANTITIES; ++q) {
        if (verify_option[q].key == key) {
            options->compare.threshold[q] = strtod(argument, &end);
            if (end == argument || *end || !(options->compare.threshold[q] >= 0)) {
                exit(usage_error("verify: --%s: \"%s\": expected a number >= 0", verify_option[q].name, argument));
            }
            return 0;
        }
    }
    switch (key) {
    case ABSOLUTE: options->compare.absolute = true; return 0;
    case ARGP_KEY_END:
        if (options->files.n != 2) {
            exit(usage_error("verify: expected two files: shoal verify A B"));
        }
        return 0;
    default: return parse_files(&options->files, key, state);
    }
}

static const struct argp verify_argp = {
    .options = verify_option,
    .parser = verify_parse,
    .args_doc = "A B",
    .doc = "Are two results the same? Compares final states, and snapshots at times that both have, of the systems of "
           "the same "
           "id; how and when they ended; and what time 0 is."
           "\vA and B are result files, or states as CSV (shoal query, shoal convert); their units may differ. A CSV "
           "that does "
           "not state its units is in those of the other file.\n"
           "\n"
           "A difference of positions is relative to the body's distance from body 0 (of body 0: from the nearest "
           "body), one of "
           "velocities to the speed relative to it, one of times to the time that passed, one of masses to the mass; "
           "--absolute: "
           "they are in the units of A.\n"
           "\n"
           "Exit status: 0 the same, 1 different, 2 a file could not be compared.",
};

int verify_main(int argc, char **argv)
{
    verify_options options = {.compare.threshold = {1e-10, 1e-10, 1e-10, 1e-10}};
    shoal_context *context = NULL;
    shoal_result *result[2] = {NULL, NULL};
    bool same = false;

    argp_parse(&verify_argp, argc, argv, 0, NULL, &options);
    shoal_status status = shoal_context_create(&context);
    for (int i = 0; i < 2 && status == SHOAL_OK; ++i) {
        status = shoal_verify_read(context, options.files.name[i], &result[i]);
    }
    for (int i = 0; i < 2 && status == SHOAL_OK; ++i) {
        if (result[i]->units.length == 0) {
            result[i]->units = result[!i]->units;
        }
        if (result[i]->units.length == 0) { /* neither says: any will do */
            status = shoal_units_init(context, NULL, NULL, NULL, NAN, &result[i]->units);
        }
    }
    if (status == SHOAL_OK) {
        status = shoal_verify(context, result[0], result[1], &options.compare, stdout, &same);
    }
    int code = status == SHOAL_OK ? flush_output() : failed(context, status);
    if (code == EXIT_OK) {
        puts(same ? "same" : "different");
        code = flush_output();
    }
    shoal_result_destroy(&result[0]);
    shoal_result_destroy(&result[1]);
    shoal_context_destroy(&context);
    return code != EXIT_OK ? EXIT_USAGE : same ? EXIT_OK : EXIT_FAILED;
}
