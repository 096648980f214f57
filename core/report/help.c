/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * help.c: `shoal list` and `shoal explain`, written from the tables that check the config: plugs and their parameters,
 * keys of a config file. Defaults and bounds are shown in AU, Msun, yr and degrees.
 */
#define _GNU_SOURCE 1
#include <stdlib.h>
#include <string.h>

#include "big/big.h"
#include "core/config/config.h"
#include "core/formats/observations.h"
#include "core/report/plot_big.h"
#include "core/report/report.h"

/* The units in which the help speaks. */
static shoal_status help_units(shoal_context *context, shoal_config *config)
{
    *config = (shoal_config){.context = context, .path = "", .angle = M_PI / 180, .angle_name = "deg"};
    return shoal_units_init(context, "AU", "Msun", "yr", NAN, &config->units);
}

/* The default of a row: a word, a number in the help's units, or that there is none. */
static void print_default(const shoal_config *config, const char *otherwise, const shoal_parameter *row, FILE *out)
{
    if (otherwise)
        fprintf(out, "without it: %s", otherwise);
    else if (isnan(row->initial))
        fputs("must be given", out);
    else if (row->type == SHOAL_BODY)
        fprintf(out, row->initial < 0 ? "default: the last body" : "default: body %.0f", row->initial);
    else if (row->type == SHOAL_BOOLEAN)
        fprintf(out, "default: %s", row->initial != 0 ? "true" : "false");
    else if (row->type == SHOAL_CHOICE) {
        const char *word = row->choices;
        for (int i = 0; i < (int)row->initial; i++)
            word += strcspn(word, "|") + 1;
        fprintf(out, "default: %.*s", (int)strcspn(word, "|"), word);
    } else
        fprintf(out, "default: %.10g", row->initial / shoal_config_factor(config, row->dimension));
}

/* name   doc
 *        what it takes; its default */
static void print_row(const shoal_config *config, shoal_key_kind kind, const char *otherwise,
                      const shoal_parameter *row, FILE *out)
{
    char words[SHOAL_MESSAGE_SIZE];
    shoal_config_wants(config, kind, row, words);
    fprintf(out, "  %-16s %s\n  %-16s %s; ", row->name, row->doc, "", words);
    print_default(config, otherwise, row, out);
    putc('\n', out);
}

static void print_rows(const shoal_config *config, const shoal_parameter *rows, int n_rows, FILE *out)
{
    fputs(n_rows ? "parameters:\n" : "parameters: none\n", out);
    for (int i = 0; i < n_rows; i++)
        print_row(config, SHOAL_KEY_VALUE, NULL, &rows[i], out);
}

static void print_head(const char *kind, const char *name, const char *doc, const char *reference, FILE *out)
{
    fprintf(out, "%s, a %s: %s\n", name, kind, doc);
    if (reference && *reference)
        fprintf(out, "reference: %s\n", reference);
}

static void explain_propagator(const shoal_config *config, const shoal_propagator *plug, FILE *out)
{
    print_head("propagator", plug->name, plug->doc, plug->reference, out);
    if (plug->aliases && *plug->aliases)
        fprintf(out, "also known as: %s\n", plug->aliases);
    fprintf(out, "order: %d%s\n", plug->order, plug->adaptive ? ", adaptive steps" : "");
    print_rows(config, plug->parameters, plug->n_parameters, out);
}

/* What follows a column's name in a result. */
static const char *column_ends(const shoal_monitor *plug, int column)
{
    return plug->columns[column].of != SHOAL_OF_EACH || plug->parts == SHOAL_ONE_PART ? ""
           : plug->parts == SHOAL_PAIRS                                               ? "_BODY_BODY"
                                                                                      : "_BODY";
}

/* " [yr]", and the end of the line */
static void end_with_unit(const shoal_config *config, const char *dimension, FILE *out)
{
    char unit[SHOAL_UNIT_SIZE];
    shoal_config_unit(config, dimension, unit);
    fprintf(out, "%s%s%s\n", *unit ? " [" : "", unit, *unit ? "]" : "");
}

static void explain_monitor(const shoal_config *config, const shoal_monitor *plug, FILE *out)
{
    print_head("monitor", plug->name, plug->doc, plug->reference, out);
    print_rows(config, plug->parameters, plug->n_parameters, out);
    if (plug->n_columns)
        fputs("columns:\n", out);
    for (int i = 0; i < plug->n_columns; i++) {
        char name[SHOAL_COLUMN_SIZE];
        snprintf(name, sizeof name, "%s%s", plug->columns[i].name, column_ends(plug, i));
        fprintf(out, "  %-16s %s", name, plug->columns[i].doc);
        end_with_unit(config, plug->columns[i].dimension, out);
    }
    if (plug->n_log)
        fputs("logs, beside the system and the time:\n", out);
    for (int i = 0; i < plug->n_log; i++) {
        fprintf(out, "  %-16s %s", plug->log[i].name, plug->log[i].doc);
        end_with_unit(config, plug->log[i].dimension, out);
    }
}

/* A section's keys. */
static void explain_section(const shoal_config *config, const char *section, FILE *out)
{
    for (int i = 0; i < shoal_n_keys; i++)
        if (strcmp(shoal_keys[i].section, section) == 0)
            print_row(config, shoal_keys[i].kind, shoal_keys[i].otherwise, &shoal_keys[i].row, out);
    if (strcmp(section, "integrator") == 0)
        fputs("  and the parameters of the propagator\n", out);
    if (strcmp(section, "monitors") == 0)
        fputs("  and the parameters of the monitor\n", out);
    if (strcmp(section, "forces") == 0)
        fputs("  and the parameters of the force\n", out);
    if (strcmp(section, "data") == 0) {
        fputs("formats:\n", out);
        for (int i = 0; shoal_observation_formats(i)->name; i++)
            fprintf(out, "  %-17s %s\n", shoal_observation_formats(i)->name, shoal_observation_formats(i)->doc);
    }
    if (strcmp(section, "sample.parameters") == 0) {
        fputs("distributions (a key with ? may be left out):\n", out);
#define X(name, needs, doc) fprintf(out, "  %-16s %s%s%s\n", #name, doc, *needs ? "; takes " : "", needs);
        SHOAL_DISTRIBUTION_LIST(X)
#undef X
    }
}

/* The section as a config has it: that of one big system is the table's without "big". */
static const char *section_name(const char *section, bool *big)
{
    *big = strncmp(section, "big", 3) == 0;
    return section + (!*big ? 0 : section[3] ? 4 : 3);
}

static const char *full_name(const shoal_key *key, char name[64])
{
    bool big;
    const char *section = section_name(key->section, &big);
    snprintf(name, 64, "%s%s%s", section, *section ? "." : "", key->row.name);
    return name;
}

static void explain_key(const shoal_config *config, const shoal_key *key, FILE *out)
{
    char name[64];
    bool big;
    section_name(key->section, &big);
    fprintf(out, "%s, a key of the config file%s\n", full_name(key, name), big ? " of one big system" : "");
    print_row(config, key->kind, key->otherwise, &key->row, out);
    if (key->kind == SHOAL_KEY_GROUP || key->kind == SHOAL_KEY_LIST) {
        const bool units = strcmp(key->row.name, "units") == 0;
        fputs("keys:\n", out);
        snprintf(name, sizeof name, "%s%s%s", units ? "" : key->section, units || !*key->section ? "" : ".",
                 key->row.name);
        explain_section(config, name, out);
    }
}

/* Whether a name is that of a monitor's column, by itself or, as query prints it, with the bodies that it is of. */
static bool is_column(const shoal_monitor *plug, int column, const char *name)
{
    const size_t n = strlen(plug->columns[column].name);
    const bool has_bodies = plug->columns[column].of == SHOAL_OF_EACH &&
                            (plug->parts != SHOAL_ONE_PART || plug->parts_for);
    return strncmp(name, plug->columns[column].name, n) == 0 &&
           (!name[n] || (has_bodies && name[n] == '_' && name[n + 1]));
}

/* The column that a name means, of the monitor of that number: the longest that fits. -1: none */
static int find_column(const shoal_plugs *plugs, const char *name, int *monitor)
{
    int found = -1;
    size_t longest = 0;
    for (int i = 0; plugs->monitors[i]; i++)
        for (int c = 0; c < plugs->monitors[i]->n_columns; c++) {
            const size_t n = strlen(plugs->monitors[i]->columns[c].name);
            if (n > longest && is_column(plugs->monitors[i], c, name)) {
                longest = n;
                found = c;
                *monitor = i;
            }
        }
    return found;
}

/* Whether the first n characters are a group of a config or a plug, whose names no body's keys follow. */
static bool is_group(const shoal_config *config, const char *name, size_t n)
{
    char word[SHOAL_COLUMN_SIZE];
    if (n >= sizeof word)
        return false;
    snprintf(word, sizeof word, "%.*s", (int)n, name);
    bool found = shoal_propagator_find(config->context, word) || shoal_monitor_find(config->context, word) >= 0 ||
                 shoal_force_find(config->context, word) >= 0;
    for (int i = 0; i < shoal_n_keys && !found; i++)
        found = strncmp(shoal_keys[i].section, word, n) == 0 && strchr(".", shoal_keys[i].section[n]);
    return found;
}

/* A column of what `shoal query` prints: of every result, of a monitor, or one that is swept, BODY.KEY. */
static bool explain_column(const shoal_config *config, const char *name, FILE *out)
{
    const shoal_plugs *plugs = shoal_plugs_of(config->context);
    const char *dot = strrchr(name, '.');
    int monitor;
    const int column = find_column(plugs, name, &monitor);
    bool found = false;
    for (int f = 0; f < shoal_result_n_fields; f++) {
        const shoal_field *field = &shoal_result_fields[f];
        if (!field->csv || strcmp(field->csv, name) != 0)
            continue;
        found = fprintf(out, "%s, a column of the table of %s: %s", name,
                        field->when & SHOAL_FIELD_EVENT ? "events" : "systems", field->doc) > 0;
        end_with_unit(config, field->dimension, out);
    }
    if (column >= 0) {
        const shoal_monitor *plug = plugs->monitors[monitor];
        found = fprintf(out, "%s%s, a column of the monitor %s: %s", plug->columns[column].name,
                        column_ends(plug, column), plug->name, plug->columns[column].doc) > 0;
        end_with_unit(config, plug->columns[column].dimension, out);
    }
    const shoal_key *key = dot && dot > name ? shoal_key_find("system.bodies", dot + 1) : NULL;
    if (key && is_group(config, name, (size_t)(dot - name)))
        key = NULL;
    if (key) {
        found = fprintf(out, "%s, a column of a key of a body, swept or drawn\n", name) > 0;
        print_row(config, key->kind, key->otherwise, &key->row, out);
    }
    return found;
}

/* ---- one big system ---------------------------------------------------------------------------------------------- */

/* A word of its configs that has a doc. */
typedef struct big_word {
    const char *kind, *name, *doc, *engine;
} big_word;

/* The i-th of them; false after the last. */
static bool big_word_at(int i, big_word *word)
{
    static const big_word models[] = {
/* clang-format off */
#define X(name, r_max, doc) { "model", #name, doc, "" },
        /* clang-format on */
        SHOAL_BIG_MODEL_LIST(X)
#undef X
    };
    static const char *const engines[] = {"cpu", "cuda"};
    if (i < SHOAL_COUNT(models)) {
        *word = models[i];
        return true;
    }
    i -= SHOAL_COUNT(models);
    const int n_methods = shoal_count((const void *const *)shoal_big_methods);
    if (i < n_methods) {
        *word = (big_word){"propagator", shoal_big_methods[i]->name, shoal_big_methods[i]->doc, ""};
        return true;
    }
    i -= n_methods;
    for (int e = 0; e < SHOAL_COUNT(engines); e++)
        for (int k = 0; shoal_tiled_kernel(engines[e], k, NULL); k++, i--)
            if (i == 0) {
                *word = (big_word){.kind = "force method", .engine = engines[e]};
                word->name = shoal_tiled_kernel(engines[e], k, &word->doc);
                return true;
            }
    return false;
}

/* All that bear the name. */
static bool explain_big(const char *name, FILE *out)
{
    big_word word;
    bool found = false;
    for (int i = 0; big_word_at(i, &word); i++)
        if (strcmp(word.name, name) == 0)
            found = fprintf(out, "%s, %s %s of one big system%s%s: %s\n", word.name, *word.kind == 'i' ? "an" : "a",
                            word.kind, *word.engine ? " on " : "", word.engine, word.doc) > 0;
    return found;
}

/* ---- the whole reference, as Markdown ---------------------------------------------------------------------------- */

static void table_cell(const char *text, FILE *out)
{
    for (; *text; text++) {
        if (*text == '|' || *text == '<')
            putc('\\', out);
        putc(*text, out);
    }
}

static void table_row(const shoal_config *config, shoal_key_kind kind, const char *otherwise,
                      const shoal_parameter *row, FILE *out)
{
    char words[SHOAL_MESSAGE_SIZE];
    shoal_config_wants(config, kind, row, words);
    fprintf(out, "| `%s` | ", row->name);
    table_cell(words, out);
    fputs(" | ", out);
    print_default(config, otherwise, row, out);
    fputs(" | ", out);
    table_cell(row->doc, out);
    fputs(" |\n", out);
}

static void table_head(FILE *out)
{
    fputs("\n| key | takes | default | meaning |\n|---|---|---|---|\n", out);
}

/* What a propagator, a force or a monitor says of itself. */
typedef struct plug_words {
    const char *name, *doc, *reference, *aliases; /* the last two may be NULL or empty */
    const shoal_parameter *rows;
    int n_rows;
} plug_words;

static void table_plug(const shoal_config *config, plug_words plug, FILE *out)
{
    fprintf(out, "\n### `%s`\n\n%s.\n", plug.name, plug.doc);
    if (plug.reference && *plug.reference)
        fprintf(out, "Reference: %s.\n", plug.reference);
    if (plug.aliases && *plug.aliases)
        fprintf(out, "Also known as: %s.\n", plug.aliases);
    if (plug.n_rows)
        table_head(out);
    for (int i = 0; i < plug.n_rows; i++)
        table_row(config, SHOAL_KEY_VALUE, NULL, &plug.rows[i], out);
}

shoal_status shoal_help_reference(shoal_context *context, FILE *out)
{
    const shoal_plugs *plugs = shoal_plugs_of(context);
    shoal_config config;
    shoal_status status = help_units(context, &config);
    if (status)
        return status;
    fputs("# Reference\n\nEvery key of a config file, every propagator, force and monitor, as `shoal explain --all` "
          "prints them.\n"
          "Defaults and bounds are in AU, Msun, yr and degrees.\n\n## Config keys\n",
          out);
    const char *section = NULL;
    for (int i = 0; i < shoal_n_keys; i++) {
        if (!section || strcmp(section, shoal_keys[i].section) != 0) {
            section = shoal_keys[i].section;
            bool big;
            const char *name = section_name(section, &big);
            fprintf(out, *name ? "\n### `%s`%s\n" : "\n### top level%s%s\n", name, big ? " of one big system" : "");
            table_head(out);
        }
        table_row(&config, shoal_keys[i].kind, shoal_keys[i].otherwise, &shoal_keys[i].row, out);
    }
    fputs("\n### distributions\n\n| name | meaning | takes |\n|---|---|---|\n", out);
#define X(name, needs, doc) fprintf(out, "| `%s` | %s | %s |\n", #name, doc, needs);
    SHOAL_DISTRIBUTION_LIST(X)
#undef X
    fputs("\n### formats of `data`\n\n| name | columns and units |\n|---|---|\n", out);
    for (int i = 0; shoal_observation_formats(i)->name; i++)
        fprintf(out, "| `%s` | %s |\n", shoal_observation_formats(i)->name, shoal_observation_formats(i)->doc);
    fputs("\n## Propagators\n", out);
    for (int i = 0; plugs->propagators[i]; i++) {
        const shoal_propagator *plug = plugs->propagators[i];
        table_plug(
            &config,
            (plug_words){plug->name, plug->doc, plug->reference, plug->aliases, plug->parameters, plug->n_parameters},
            out);
    }
    fputs("\n## Forces\n", out);
    for (int i = -1; i < 0 || plugs->forces[i]; i++) {
        const shoal_force *plug = i < 0 ? &shoal_newton : plugs->forces[i];
        table_plug(&config,
                   (plug_words){plug->name, plug->doc, plug->reference, NULL, plug->parameters, plug->n_parameters},
                   out);
    }
    fputs("\n## Monitors\n", out);
    for (int i = 0; plugs->monitors[i]; i++) {
        const shoal_monitor *plug = plugs->monitors[i];
        table_plug(&config,
                   (plug_words){plug->name, plug->doc, plug->reference, NULL, plug->parameters, plug->n_parameters},
                   out);
        for (int c = 0; c < plug->n_columns; c++)
            fprintf(out, "%s`%s%s`: %s.\n", c ? "" : "\nColumns: ", plug->columns[c].name, column_ends(plug, c),
                    plug->columns[c].doc);
        for (int c = 0; c < plug->n_log; c++)
            fprintf(out, "%s`%s`: %s.\n", c ? "" : "\nLogs, beside `system` and `time`: ", plug->log[c].name,
                    plug->log[c].doc);
    }
    fputs("\n## One big system\n\n| word | kind | meaning |\n|---|---|---|\n", out);
    big_word word;
    for (int i = 0; big_word_at(i, &word); i++)
        fprintf(out, "| `%s` | %s%s%s | %s |\n", word.name, word.kind, *word.engine ? ", " : "", word.engine, word.doc);
    fputs("\n## Outcomes\n\n| outcome | code | meaning |\n|---|---|---|\n", out);
#define X(NAME, code, name, doc) fprintf(out, "| `%s` | %d | %s |\n", name, code, doc);
    SHOAL_OUTCOME_LIST(X)
#undef X
    return SHOAL_OK;
}

void shoal_help_list(const shoal_context *context, FILE *out)
{
    const shoal_plugs *plugs = shoal_plugs_of(context);
    fputs("propagators\n", out);
    for (int i = 0; plugs->propagators[i]; i++)
        fprintf(out, "  %-20s %s\n", plugs->propagators[i]->name, plugs->propagators[i]->doc);
    fprintf(out, "forces\n  %-20s %s\n", shoal_newton.name, shoal_newton.doc);
    for (int i = 0; plugs->forces[i]; i++)
        fprintf(out, "  %-20s %s\n", plugs->forces[i]->name, plugs->forces[i]->doc);
    fputs("monitors\n", out);
    for (int i = 0; plugs->monitors[i]; i++)
        fprintf(out, "  %-20s %s\n", plugs->monitors[i]->name, plugs->monitors[i]->doc);
    const char *kind = NULL;
    big_word word;
    for (int i = 0; big_word_at(i, &word); i++) {
        if (!kind || strcmp(kind, word.kind) != 0)
            fprintf(out, "%ss of one big system\n", kind = word.kind);
        fprintf(out, "  %-20s %s%s%s\n", word.name, word.engine, *word.engine ? ": " : "", word.doc);
    }
}

/* The row of a parameter, "mvs.compensated". */
static bool explain_parameter(const shoal_config *config, const char *kind, const char *plug,
                              const shoal_parameter *parameters, int n, const char *name, FILE *out)
{
    const size_t length = strlen(plug);
    for (int i = 0; i < n && strncmp(name, plug, length) == 0 && name[length] == '.'; i++)
        if (strcmp(name + length + 1, parameters[i].name) == 0) {
            fprintf(out, "%s, a parameter of the %s %s\n", name, kind, plug);
            print_rows(config, &parameters[i], 1, out);
            return true;
        }
    return false;
}

static bool explain_parameters(const shoal_config *config, const char *name, FILE *out)
{
    const shoal_plugs *plugs = shoal_plugs_of(config->context);
    bool found = false;
    for (int i = 0; plugs->propagators[i]; i++)
        found |= explain_parameter(config, "propagator", plugs->propagators[i]->name, plugs->propagators[i]->parameters,
                                   plugs->propagators[i]->n_parameters, name, out);
    for (int i = 0; plugs->monitors[i]; i++)
        found |= explain_parameter(config, "monitor", plugs->monitors[i]->name, plugs->monitors[i]->parameters,
                                   plugs->monitors[i]->n_parameters, name, out);
    for (int i = 0; plugs->forces[i]; i++)
        found |= explain_parameter(config, "force", plugs->forces[i]->name, plugs->forces[i]->parameters,
                                   plugs->forces[i]->n_parameters, name, out);
    return found;
}

/* ---- all words that there are ------------------------------------------------------------------------------------ */

/* Whether the groups of a section are items of a list, which a path of keys alone does not reach. */
static bool is_in_list(const char *section)
{
    char part[64];
    for (int i = 0; i < shoal_n_keys; i++) {
        const shoal_key *key = &shoal_keys[i];
        snprintf(part, sizeof part, "%s%s%s", key->section, *key->section ? "." : "", key->row.name);
        const size_t length = strlen(part);
        if (key->kind == SHOAL_KEY_LIST && strncmp(section, part, length) == 0 &&
            (!section[length] || section[length] == '.'))
            return true;
    }
    return false;
}

static void print_plug_words(const shoal_context *context, FILE *out)
{
    enum { MOST = 256 };
    const char *names[MOST];
    int n = shoal_propagator_names(context, names, MOST);
    n += shoal_force_names(context, names + n, MOST - n);
    n += shoal_monitor_names(context, names + n, MOST - n);
    for (int i = 0; i < n; i++)
        fprintf(out, "%s\n", names[i]);
    fprintf(out, "%s\n", shoal_newton.name);
    big_word word;
    for (int i = 0; big_word_at(i, &word); i++)
        fprintf(out, "%s\n", word.name);
}

static void print_key_words(bool overrides, FILE *out)
{
    char name[64];
    for (int i = 0; i < shoal_n_keys; i++)
        if (!overrides || !is_in_list(shoal_keys[i].section))
            fprintf(out, "%s\n", full_name(&shoal_keys[i], name));
}

/* Columns of every result, then those of monitors. */
static void print_column_words(const shoal_plugs *plugs, FILE *out)
{
    fputs("lifetime\nt_stop\ndE_final\nsteps\n", out);
    for (int i = 0; plugs->monitors[i]; i++)
        for (int c = 0; c < plugs->monitors[i]->n_columns; c++)
            fprintf(out, "%s\n", plugs->monitors[i]->columns[c].name);
}

shoal_status shoal_help_words(shoal_context *context, const char *kind, const shoal_help_word *commands, FILE *out)
{
    enum { COMMANDS, PLUGS, KEYS, OVERRIDES, COLUMNS, OUTCOMES, PICTURES };
    const int which = shoal_choice_index(SHOAL_HELP_WORDS, kind);
    switch (which) {
    case COMMANDS:
        for (const shoal_help_word *word = commands; word && word->name; word++)
            fprintf(out, "%s\n", word->name);
        return SHOAL_OK;
    case PLUGS: print_plug_words(context, out); return SHOAL_OK;
    case KEYS:
    case OVERRIDES: print_key_words(which == OVERRIDES, out); return SHOAL_OK;
    case COLUMNS: print_column_words(shoal_plugs_of(context), out); return SHOAL_OK;
    case OUTCOMES:
        for (int outcome = 0; outcome < SHOAL_OUTCOMES; outcome++)
            fprintf(out, "%s\n", shoal_outcome_name(outcome));
        return SHOAL_OK;
    case PICTURES:
        for (const shoal_plot_kind *picture = shoal_plot_kinds; picture->name; picture++)
            fprintf(out, "%s\n", picture->name);
        for (const shoal_big_kind *picture = shoal_big_kinds; picture->name; picture++)
            fprintf(out, "%s\n", picture->name);
        return SHOAL_OK;
    default:
        return shoal_fail(context, SHOAL_E_USAGE, "list: --words: \"%s\": expected one of %s", kind, SHOAL_HELP_WORDS);
    }
}

/* The known word nearest to a name, malloc'd; NULL if there is none. */
static char *nearest_word(shoal_context *context, const char *name, const shoal_help_word *commands)
{
    static const char *const kinds[] = {"plugs", "keys", "columns", "outcomes", "commands"};
    char *text = NULL, *nearest = NULL;
    size_t size, n = 0;
    FILE *out = open_memstream(&text, &size);
    for (int i = 0; out && i < SHOAL_COUNT(kinds); i++)
        shoal_help_words(context, kinds[i], commands, out);
    const bool good = out && fclose(out) == 0;
    for (const char *at = good ? text : ""; *at; at++)
        n += *at == '\n';
    const char **words = good ? malloc((n + 1) * sizeof *words) : NULL;
    n = 0;
    for (char *rest = text, *word; words && (word = strsep(&rest, "\n")) && *word;)
        words[n++] = word;
    const char *found = words ? shoal_nearest(name, words, (int)n) : NULL;
    nearest = found ? strdup(found) : NULL;
    free(words);
    free(text);
    return nearest;
}

shoal_status shoal_help_explain(shoal_context *context, const char *name, const shoal_help_word *commands, FILE *out)
{
    shoal_config config;
    shoal_status status = help_units(context, &config);
    if (status)
        return status;

    const shoal_propagator *propagator = shoal_propagator_find(context, name);
    const int monitor = shoal_monitor_find(context, name);
    if (propagator) {
        explain_propagator(&config, propagator, out);
        explain_big(name, out);
        return SHOAL_OK;
    }
    if (monitor >= 0) {
        explain_monitor(&config, shoal_plugs_of(context)->monitors[monitor], out);
        return SHOAL_OK;
    }
    const int force = shoal_force_find(context, name);
    if (force >= 0 || strcmp(name, shoal_newton.name) == 0) {
        const shoal_force *plug = force >= 0 ? shoal_plugs_of(context)->forces[force] : &shoal_newton;
        print_head("force", plug->name, plug->doc, plug->reference, out);
        print_rows(&config, plug->parameters, plug->n_parameters, out);
        return SHOAL_OK;
    }
    char full[64];
    bool found = explain_big(name, out) || explain_parameters(&config, name, out);
    for (const shoal_help_word *word = commands; word && word->name; word++)
        if (strcmp(word->name, name) == 0)
            found = fprintf(out, "%s, a command: %s\n  shoal %s --help tells more\n", name, word->doc, name) > 0;
    for (int i = 0; i < shoal_n_keys; i++)
        if (strcmp(full_name(&shoal_keys[i], full), name) == 0) { /* of both kinds of configs */
            explain_key(&config, &shoal_keys[i], out);
            found = true;
        }
    if (found)
        return SHOAL_OK;
    for (int i = 0; i < shoal_n_keys; i++) /* the last word of a key, a column, or an outcome */
        if (strcmp(shoal_keys[i].row.name, name) == 0) {
            explain_key(&config, &shoal_keys[i], out);
            found = true;
        }
    found |= explain_column(&config, name, out);
#define X(NAME, code, word, doc) \
    if (strcmp(name, word) == 0) \
        found = fprintf(out, "%s, an outcome of a system: %s\n", word, doc) > 0;
    SHOAL_OUTCOME_LIST(X)
#undef X
    if (found)
        return SHOAL_OK;
    char *nearest = nearest_word(context, name, commands);
    status = nearest ? shoal_fail(context, SHOAL_E_USAGE,
                                  "explain: %s: expected a plug, a config key, a column, an outcome or a command (did "
                                  "you mean '%s'?)",
                                  name, nearest)
                     : shoal_fail(context, SHOAL_E_USAGE,
                                  "explain: %s: expected a plug (`shoal list`), a config key such as run.t_end, a "
                                  "column, an outcome or a command",
                                  name);
    free(nearest);
    return status;
}
