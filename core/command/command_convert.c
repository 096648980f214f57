/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * command_convert.c: `shoal convert`: initial conditions and states from one format into another.
 */
#define _GNU_SOURCE
#include <argp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/command/command.h"
#include "core/config/config.h"
#include "core/formats/table.h"

typedef struct convert_options {
    file_list files;
    const char *from, *to, *units, *from_units;
    const char *state; /* the option that says which states, NULL = none */
    shoal_convert_options read;
    shoal_given_mass *masses;
    long system; /* -1 = all */
    bool force, quiet;
} convert_options;

enum { FROM = 1000, TO, UNITS, FROM_UNITS, COMPONENTS, CENTRAL_MASS, EPOCH, HOST, SYSTEM };

static double number(const char *option, const char *text, bool positive)
{
    double value;
    if (!shoal_number(text, &value) || (positive && value < 0)) {
        exit(usage_error("convert: --%s: \"%s\": expected a number%s", option, text, positive ? " >= 0" : ""));
    }
    return value;
}

static void choose_state(convert_options *options, const char *option)
{
    if (options->state) {
        exit(usage_error("convert: expected one of --final, --initial, --time"));
    }
    options->state = option;
}

static error_t convert_parse(int key, char *argument, struct argp_state *state)
{
    convert_options *options = state->input;
    char *end;

    switch (key) {
    case ARGP_KEY_INIT: options->masses = room_for_words(state->argc, sizeof *options->masses); return 0;
    case FROM: options->from = argument; return 0;
    case TO: options->to = argument; return 0;
    case UNITS: options->units = argument; return 0;
    case FROM_UNITS: options->from_units = argument; return 0;
    case COMPONENTS:
        for (char *rest = argument, *word; (word = strsep(&rest, ","));) {
            const int found = shoal_choice_index(SHOAL_COMPONENTS, word);
            if (found < 0) {
                exit(usage_error("convert: --components: \"%s\": expected some of gas,dark,stars", word));
            }
            options->read.components |= 1 << found;
        }
        return 0;
    case 'f':
    case 'i':
        choose_state(options, key == 'f' ? "final" : "initial");
        options->read.which = key == 'f' ? SHOAL_QUERY_FINAL : SHOAL_QUERY_INITIAL;
        return 0;
    case 't':
        choose_state(options, "time");
        options->read.which = SHOAL_QUERY_TIME;
        options->read.time = number("time", argument, false);
        return 0;
    case 'm':
        end = strrchr(argument, '=');
        if (!end || end == argument) {
            exit(usage_error("convert: --mass: \"%s\": expected NAME=MSUN", argument));
        }
        options->masses[options->read.n_masses++] = (shoal_given_mass){argument, (size_t)(end - argument),
                                                                       number("mass", end + 1, true)};
        return 0;
    case CENTRAL_MASS: options->read.central_mass = number("central-mass", argument, true); return 0;
    case EPOCH: options->read.epoch = number("epoch", argument, false); return 0;
    case HOST: options->read.host = argument; return 0;
    case SYSTEM:
        options->system = strtol(argument, &end, 10);
        if (end == argument || *end || options->system < 0) {
            exit(usage_error("convert: --system: \"%s\": expected an id", argument));
        }
        return 0;
    case 'w': options->read.where = argument; return 0;
    case 'F': options->force = true; return 0;
    case 'q': options->quiet = true; return 0;
    case ARGP_KEY_END:
        if (options->files.n < 2) {
            exit(usage_error("convert: expected files: shoal convert IN ... OUT"));
        }
        return 0;
    default: return parse_files(&options->files, key, state);
    }
}

/* The table of formats, after the options. */
static char *convert_help(int key, const char *text, void *input)
{
    char *filled = NULL;
    size_t size = 0;
    FILE *out;

    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC || !(out = open_memstream(&filled, &size))) {
        return (char *)text;
    }
    fputs("Formats; docs/formats.md tells more:\n", out);
    for (const shoal_format *const *format = shoal_formats; *format; ++format) {
        fprintf(out, "  %-11s %s\n", (*format)->name, (*format)->doc);
    }
    fputs("\nIN's format is found from its content, OUT's from the end of its name (.csv .h5 .txt .in). What a reader "
          "had "
          "to assume or left out is told on standard error.\n",
          out);
    fclose(out);
    return filled;
}

static const struct argp convert_argp = {
    .options =
        (const struct argp_option[]){
            {"from", FROM, "FORMAT", 0, "Format of IN", 0},
            {"to", TO, "FORMAT", 0, "Format of OUT", 0},
            {"units", UNITS, "L,M,T", 0,
             "Units of OUT, as AU,Msun,yr or AU,Msun,G=1 (default: those of IN; tipsy, phigrape: G = 1)", 0},
            {"from-units", FROM_UNITS, "L,M,T", 0, "Units of IN where it does not state them", 0},
            {"initial", 'i', 0, 0, "Of a result file: the initial states", 0},
            {"final", 'f', 0, 0, "Of a result file: the last states (default)", 0},
            {"time", 't', "T", 0, "Of a result file: the snapshots at T; of Horizons: the vectors of Julian date T", 0},
            {"system", SYSTEM, "ID", 0, "Only this system", 0},
            {"where", 'w', "CONDITIONS", 0,
             "Of a result file: only systems of which this is true, as shoal query has it: 'outcome == survived'", 0},
            {"mass", 'm', "NAME=M", 0, "Mass of a body in Msun, by its name or number (Horizons)", 0},
            {"components", COMPONENTS, "LIST", 0, "tipsy, gadget: only these of gas,dark,stars", 0},
            {"central-mass", CENTRAL_MASS, "M", 0, "Mass of the central body in Msun (MERCURY, Horizons)", 0},
            {"host", HOST, "NAME", 0, "Only the planets of this star (exoplanets)", 0},
            {"epoch", EPOCH, "BJD", 0, "What time 0 is (exoplanets; default 2451545)", 0},
            {"force", 'F', 0, 0, "Replace a file that exists", 0},
            {"quiet", 'q', 0, 0, "Tell nothing but errors", 0},
            {0}},
    .parser = convert_parse,
    .args_doc = "IN ... OUT",
    .doc = "Convert initial conditions and states between formats.\v ", /* convert_help */
    .help_filter = convert_help,
};

/* Refuse an option that the format of the input has no use for. */
static shoal_status check_used(shoal_context *context, const convert_options *options, const shoal_format *format)
{
    const shoal_convert_options *read = &options->read;
    const bool time = options->state && strcmp(options->state, "time") == 0;
    const struct {
        const char *option, *formats; /* NULL: not given */
    } rows[] = {
        {options->state, time ? "hdf5|horizons" : "hdf5"},
        {read->n_masses > 0 ? "mass" : NULL, "horizons"},
        {!isnan(read->central_mass) ? "central-mass" : NULL, "mercury|horizons"},
        {read->host ? "host" : NULL, "exoplanets"},
        {!isnan(read->epoch) ? "epoch" : NULL, "exoplanets"},
    };
    for (int i = 0; i < SHOAL_COUNT(rows); ++i) {
        if (rows[i].option && shoal_choice_index(rows[i].formats, format->name) < 0) {
            return shoal_fail(context, SHOAL_E_USAGE, "convert: --%s: expected a file of the format %s; %s is %s",
                              rows[i].option, rows[i].formats, options->files.name[0], format->name);
        }
    }
    return SHOAL_OK;
}

static bool same_units(const shoal_units *a, const shoal_units *b)
{
    return a->length == b->length && a->mass == b->mass && a->time == b->time;
}

static shoal_status read_input(shoal_context *context, convert_options *options, shoal_table *table)
{
    const int n = options->files.n - 1;
    char **files = options->files.name;
    const shoal_format *format = NULL;
    shoal_status status = options->from ? shoal_format_named(context, options->from, &format)
                                        : shoal_format_of(context, files[0], &format);
    if (status == SHOAL_OK && n > 1 && !format->many) {
        return shoal_fail(context, SHOAL_E_USAGE, "convert: %s: expected one file of the format %s", files[1],
                          format->name);
    }
    if (status == SHOAL_OK && options->read.components && !format->components) {
        return shoal_fail(context, SHOAL_E_USAGE,
                          "convert: --components: expected a file of tipsy's or gadget's format; %s is %s", files[0],
                          format->name);
    }
    if (status == SHOAL_OK && options->read.where && !format->outcomes) {
        return shoal_fail(context, SHOAL_E_USAGE, "convert: --where: expected a result file of systems; %s is %s",
                          files[0], format->name);
    }
    if (status == SHOAL_OK) {
        status = check_used(context, options, format);
    }
    if (status == SHOAL_OK && options->from_units) {
        status = shoal_units_parse(context, options->from_units, &table->units);
    }
    const shoal_units given = table->units;
    if (status == SHOAL_OK) {
        status = format->read(table, n, files, &options->read);
    }
    if (status == SHOAL_OK && options->from_units && !same_units(&given, &table->units)) {
        status = shoal_fail(context, SHOAL_E_USAGE, "convert: --from-units: %s is in units of its own: %s, %s, %s",
                            files[0], table->units.length_name, table->units.mass_name, table->units.time_name);
    }
    if (status == SHOAL_OK && table->units.length == 0) { /* snapshots of one big system do not say */
        fprintf(options->read.notes, "%s does not state its units: taken for G = 1 with AU and Msun (--from-units)\n",
                files[0]);
        status = shoal_units_parse(context, "AU, Msun, G = 1", &table->units);
    }
    return status == SHOAL_OK ? shoal_table_check(table) : status;
}

/* Keep one system alone, and its bodies: formats of one big system write all that there are. */
static shoal_status choose_system(shoal_table *table, long id)
{
    for (long s = 0; s < table->n_systems; ++s) {
        if (table->systems[s].id == id) {
            shoal_table_move_system(table, 0, s);
            shoal_table_system *const system = &table->systems[0];
            memmove(table->bodies, table->bodies + system->first, (size_t)system->n_bodies * sizeof *table->bodies);
            system->first = 0;
            table->n_systems = 1;
            table->n_bodies = system->n_bodies;
            return SHOAL_OK;
        }
    }
    return shoal_fail(table->context, SHOAL_E_USAGE, "convert: --system: there is no system %ld", id);
}

/* Few formats say a time for each system. */
static void note_times(const shoal_table *table, FILE *notes)
{
    double first = INFINITY, last = -INFINITY;

    for (long s = 0; s < table->n_systems; ++s) {
        first = fmin(first, table->systems[s].time);
        last = fmax(last, table->systems[s].time);
    }
    if (first < last && shoal_table_times_differ(table)) {
        fprintf(notes,
                "the systems are at times from %g to %g (of a result file, those that did not end: --where 'outcome == "
                "survived')\n",
                first, last);
    }
}

/* Which bodies lose the radii that collisions need. */
static void note_radii(const shoal_table *table, shoal_radii kept, const char *file, FILE *notes)
{
    long n_lost = 0;

    for (long s = 0; s < table->n_systems && kept != SHOAL_RADII_ALL; ++s) {
        const shoal_table_system *system = &table->systems[s];
        for (long i = 0; i < system->n_bodies; ++i) {
            const shoal_body *body = &table->bodies[system->first + i];
            n_lost += body->r > 0 && (kept == SHOAL_RADII_NONE || i == 0 || body->m == 0);
        }
    }
    if (n_lost > 0) {
        fprintf(notes, "%s has no place for the radii of %ld bodies: they are lost\n", file, n_lost);
    }
}

/* Of the config of the run keep what it says of forces, which a copy's elements depend on; a table has no place for
 * it. */
static void keep_forces(const convert_options *options, bool is_result, shoal_table *table)
{
    char names[200];
    char *forces = table->config ? shoal_config_of_forces(table->config, names, sizeof names) : NULL;
    if (forces && !is_result) {
        fprintf(options->read.notes, "the run of %s had the forces %s: a study of %s must name them\n",
                options->files.name[0], names, options->files.name[options->files.n - 1]);
    }
    free(table->config);
    table->config = forces;
}

static shoal_status write_output(shoal_context *context, const convert_options *options, const shoal_format *format,
                                 shoal_table *table)
{
    const char *file = options->files.name[options->files.n - 1];
    const char *text = format->units ? format->units : options->units;
    shoal_result *result = NULL;
    shoal_units units = table->units;
    shoal_status status = SHOAL_OK;

    if (text) {
        status = shoal_units_parse(context, text, &units);
    } else if (format->natural) {
        status = shoal_units_init(context, units.length_name, units.mass_name, NULL, 1, &units);
        if (units.time != table->units.time) {
            fprintf(options->read.notes, "%s is in %s, %s, G = 1, which it does not state (--units)\n", file,
                    units.length_name, units.mass_name);
        }
    }
    if (status == SHOAL_OK && options->system >= 0) {
        status = choose_system(table, options->system);
    }
    if (status != SHOAL_OK) {
        return status;
    }
    note_times(table, options->read.notes);
    note_radii(table, format->radii, file, options->read.notes);
    keep_forces(options, !format->write, table);
    if (*table->epoch && !(format->dates && format->dates(table->epoch))) {
        fprintf(options->read.notes, "%s does not say what time 0 is: the epoch \"%s\" has no place in it\n", file,
                table->epoch);
    }
    shoal_table_convert(table, &units);
    if (format->write) {
        return shoal_table_write(table, file, format->write);
    }
    status = shoal_table_to_result(table, &result);
    if (status == SHOAL_OK) {
        status = shoal_store_write(context, file, result);
    }
    shoal_result_destroy(&result);
    return status;
}

/* Check first what is wrong without reading: the output's format and name. */
static int check_options(shoal_context *context, const convert_options *options, const shoal_format **format)
{
    const char *file = options->files.name[options->files.n - 1];

    *format = shoal_format_by_end(file);
    if (options->to && shoal_format_named(context, options->to, format) != SHOAL_OK) {
        return failed(context, SHOAL_E_USAGE);
    }
    if (!*format) {
        return usage_error("convert: %s: expected --to FORMAT, or a name that ends in .csv, .h5, .txt or .in", file);
    }
    if (!(*format)->write && strcmp((*format)->name, "hdf5") != 0) {
        return usage_error("convert: --to: \"%s\": expected a format that is written, not only read", (*format)->name);
    }
    if ((*format)->units && options->units) {
        return usage_error("convert: --units: the format %s has its own: %s", (*format)->name, (*format)->units);
    }
    for (int i = 0; i < options->files.n - 1; ++i) {
        if (shoal_same_file(options->files.name[i], file)) {
            return usage_error("convert: %s: expected another file than the input, which it would replace", file);
        }
    }
    return check_output("convert", file, options->force);
}

int convert_main(int argc, char **argv)
{
    convert_options options = {.read = {.which = SHOAL_QUERY_FINAL, .central_mass = NAN, .epoch = NAN}, .system = -1};
    shoal_context *context = NULL;
    const shoal_format *to = NULL;
    shoal_table table = {0};
    char *notes = NULL;
    size_t size = 0;
    int code = EXIT_FAILED;

    argp_parse(&convert_argp, argc, argv, 0, NULL, &options);
    options.read.masses = options.masses;
    options.read.notes = open_memstream(&notes, &size);
    if (shoal_context_create(&context) != SHOAL_OK || !options.read.notes) {
        code = failed(NULL, SHOAL_E_MEMORY);
        goto fail;
    }
    table.context = context;
    if ((code = check_options(context, &options, &to)) != EXIT_OK) {
        goto fail;
    }
    options.read.keep_gone = !to->write;
    shoal_status status = read_input(context, &options, &table);
    if (status != SHOAL_OK) {
        code = failed_input(context, status);
        goto fail;
    }
    status = write_output(context, &options, to, &table);
    fflush(options.read.notes);
    if (status != SHOAL_OK) {
        code = failed(context, status);
        goto fail;
    }
    if (!options.quiet) {
        print_notes(notes);
    }
    code = flush_output();
fail:
    if (options.read.notes) {
        fclose(options.read.notes);
    }
    free(notes);
    free(options.masses);
    shoal_table_release(&table);
    shoal_context_destroy(&context);
    return code;
}
