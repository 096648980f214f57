/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * command_generate.c: `shoal generate`: the systems of a study, without integrating them.
 */
#define _GNU_SOURCE
#include <argp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/study/study.h"
#include "core/command/command.h"
#include "core/formats/table.h"

typedef struct generate_options {
    study_words words;
    const char *output;
    bool force;
} generate_options;

static error_t generate_parse(int key, char *argument, struct argp_state *state)
{
    generate_options *options = state->input;

    switch (key) {
    case 'o': options->output = argument; return 0;
    case 'f': options->force = true; return 0;
    default: return parse_study("generate", &options->words, key, argument, state);
    }
}

static const struct argp generate_argp = {
    .options =
        (const struct argp_option[]){
            {"output", 'o', "FILE", 0,
             "The file to write; default: the study's output.file with _initial before its end", 0},
            {"force", 'f', 0, 0, "Replace a file that exists", 0},
            OPTION_ALLOW_PLUGINS,
            {0}},
    .parser = generate_parse,
    .args_doc = "STUDY.cfg [KEY=VALUE ...]",
    .doc = "Make the systems of a study without integrating them."
           "\vA FILE that ends in .csv is what system.file of a study reads: with it, the study gives the same bits "
           "(unless "
           "it has impossible systems, which such a file cannot hold). Its numbers are in AU, Msun, yr/2pi, as its "
           "first line "
           "says, for others would have to be rounded; `shoal convert` makes a table in other units.\n"
           "\n"
           "The bodies of one big system are written in the format that FILE's end says: .csv, .tipsy, .phigrape, else "
           "GADGET's HDF5.\n"
           "\n"
           "Any other FILE is a result file in which no step was made: query, plot, verify and convert read it, swept "
           "and random "
           "parameters are in its systems table.",
};

/* The name of the output, before its end: "folder/name.h5" gives "folder/name_initial.h5"; malloc'd. */
static char *default_output(const char *output)
{
    char *name = NULL;
    const char *slash = strrchr(output, '/'), *dot = strrchr(output, '.');
    const size_t stem = dot && dot > (slash ? slash + 1 : output) ? (size_t)(dot - output) : strlen(output);
    return asprintf(&name, "%.*s_initial%s", (int)stem, output, output + stem) < 0 ? NULL : name;
}

/* The bodies of one big system, in the format that the file's name says, else GADGET's. */
static shoal_status generate_big(const shoal_study *study, const char *file)
{
    const shoal_format *format = shoal_format_by_end(file);
    shoal_units units = study->units;
    shoal_big_bodies bodies = {0};
    shoal_table table = {0};

    if (!format || !format->write) {
        format = &shoal_format_gadget;
    }
    shoal_status status = shoal_big_study_bodies(study, &bodies);
    if (status == SHOAL_OK && !study->big->has_units) { /* by their names, which are 1 as well */
        status = shoal_units_init(study->context, NULL, NULL, NULL, NAN, &units);
    }
    if (status == SHOAL_OK) {
        status = shoal_big_to_table(study->context, &bodies, &units, &table);
    }
    if (status == SHOAL_OK) {
        status = shoal_table_write(&table, file, format->write);
    }
    if (status == SHOAL_OK) {
        print_notes(study->big->notes);
        printf("%ld bodies, %s: %s\n", bodies.n, format->name, file);
    }
    shoal_table_release(&table);
    shoal_big_bodies_release(&bodies);
    return status;
}

int generate_main(int argc, char **argv)
{
    generate_options options = {0};
    shoal_context *context = NULL;
    shoal_study *study = NULL;
    shoal_result *result = NULL;
    shoal_table table = {0};
    char *file = NULL;
    int code = EXIT_FAILED;

    argp_parse(&generate_argp, argc, argv, 0, NULL, &options);
    table.path = options.words.study;
    shoal_status status = open_study(&options.words, &table, &context, &study);
    if (status != SHOAL_OK) {
        code = failed_input(context, status);
        goto fail;
    }
    file = options.output ? strdup(options.output) : default_output(study->output);
    if (!file) {
        code = failed(NULL, SHOAL_E_MEMORY);
        goto fail;
    }
    if ((code = check_output("generate", file, options.force)) != EXIT_OK) {
        goto fail;
    }
    if (study->big) {
        status = generate_big(study, file);
        code = status == SHOAL_OK ? flush_output() : failed(context, status);
        goto fail;
    }
    const size_t length = strlen(file);
    if (length > 4 && strcmp(file + length - 4, ".csv") == 0) {
        status = shoal_units_init(context, NULL, NULL, NULL, NAN, &table.units);
        memcpy(table.epoch, study->epoch, sizeof table.epoch);
        status = status != SHOAL_OK ? status : shoal_table_write(&table, file, shoal_csv_write);
    } else if ((status = shoal_store_spare(context, file)) == SHOAL_OK &&
               (status = shoal_study_initial(study, &result)) == SHOAL_OK) {
        status = shoal_store_write(context, file, result);
    }
    if (status != SHOAL_OK) {
        code = failed(context, status);
        goto fail;
    }
    printf("%ld systems of %d bodies", study->ensemble->n_systems, study->ensemble->n_bodies);
    if (table.n_systems < study->ensemble->n_systems) {
        printf(" (%ld impossible)", study->ensemble->n_systems - table.n_systems);
    }
    printf(": %s\n", file);
    code = flush_output();
fail:
    free(file);
    shoal_table_release(&table);
    shoal_result_destroy(&result);
    shoal_study_destroy(&study);
    shoal_context_destroy(&context);
    free(options.words.override);
    return code;
}
