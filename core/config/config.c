/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * config.c: reads a config file (libconfig), applies overrides, and checks every key against the tables: unknown keys,
 * wrong types and values out of bounds are refused with the place, the key, the value, what was expected and the
 * nearest known word. After that the values can be asked for without a second thought.
 *
 * Two things libconfig does not do: an integer beyond 32 bits without an L is cut short by the parser without a word,
 * so the texts are scanned for such; and its writer keeps 15 digits, so the text of a run is written here, with all of
 * them.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <libgen.h>
#include <locale.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/config.h"

bool shoal_config_parse(config_t *tree, const char *path, const char *text)
{
    const locale_t own = uselocale((locale_t)0); /* libconfig leaves the thread without one */
    const bool good = text ? config_read_string(tree, text) : config_read_file(tree, path);
    uselocale(own);
    return good;
}

void shoal_config_recall(config_t *tree, const char *text)
{
    config_init(tree);
    config_set_auto_convert(tree, CONFIG_TRUE);
    void *numbers = shoal_numbers_begin();
    if (text && !shoal_config_parse(tree, NULL, text)) {
        config_destroy(tree);
        config_init(tree);
    }
    shoal_numbers_end(numbers);
}

#define MAX_INCLUDES 10  /* libconfig's limit of nesting */
#define MAX_WORDS    256 /* known words of one place: keys of a section, names of plugs, bodies */

/* ---- settings as text -------------------------------------------------------------------------------------------- */

/* The shortest decimal that is read back as the same double, with a mark that it is no integer. */
static void write_real(FILE *out, double value)
{
    char text[SHOAL_NUMBER_SIZE];
    shoal_number_print(text, value);
    fprintf(out, "%s%s", text, strpbrk(text, ".en") ? "" : ".0");
}

static void write_string(FILE *out, const char *text)
{
    putc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(out, "\\%c", *c);
        else if (*c < 32 || *c == 127)
            fprintf(out, "\\x%02x", *c);
        else
            putc(*c, out);
    }
    putc('"', out);
}

static void write_setting(FILE *out, const config_setting_t *setting, int indent);

/* The members of a group, each on its line. */
static void write_members(FILE *out, const config_setting_t *group, int indent)
{
    for (int i = 0; i < config_setting_length(group); i++) {
        const config_setting_t *member = config_setting_get_elem(group, (unsigned)i);
        fprintf(out, "%*s%s = ", indent, "", config_setting_name(member));
        write_setting(out, member, indent);
        fputs(";\n", out);
    }
}

static void write_setting(FILE *out, const config_setting_t *setting, int indent)
{
    const int n = config_setting_length(setting);
    const int inner = indent + 4;
    switch (config_setting_type(setting)) {
    case CONFIG_TYPE_INT: fprintf(out, "%d", config_setting_get_int(setting)); break;
    case CONFIG_TYPE_INT64: fprintf(out, "%lldL", config_setting_get_int64(setting)); break;
    case CONFIG_TYPE_FLOAT: write_real(out, config_setting_get_float(setting)); break;
    case CONFIG_TYPE_BOOL: fputs(config_setting_get_bool(setting) ? "true" : "false", out); break;
    case CONFIG_TYPE_STRING: write_string(out, config_setting_get_string(setting)); break;
    case CONFIG_TYPE_GROUP:
        fputs("{\n", out);
        write_members(out, setting, inner);
        fprintf(out, "%*s}", indent, "");
        break;
    default: { /* an array or a list: groups on lines of their own, scalars in one line */
        const bool array = config_setting_is_array(setting);
        fputc(array ? '[' : '(', out);
        for (int i = 0; i < n; i++) {
            const config_setting_t *item = config_setting_get_elem(setting, (unsigned)i);
            const bool aggregate = config_setting_is_aggregate(item);
            fprintf(out, "%s", i ? "," : "");
            if (aggregate)
                fprintf(out, "\n%*s", inner, "");
            else if (i)
                putc(' ', out);
            write_setting(out, item, inner);
        }
        fputc(array ? ']' : ')', out);
    }
    }
}

/* Bytes of a file from a place on, where one that is no text goes on behind a zero. */
static void hash_rest(shoal_hash *hash, const char *path, size_t from)
{
    char piece[4096];
    FILE *in = fopen(path, "rb");
    if (in && fseek(in, (long)from, SEEK_SET) == 0)
        for (size_t n; (n = fread(piece, 1, sizeof piece, in)) > 0;)
            shoal_hash_bytes(hash, piece, n);
    if (in)
        fclose(in);
}

/* What is in the files of numbers that a config names: "# file NAME HASH". False if memory ran out. */
static bool describe_files(const shoal_config *config, FILE *out)
{
    bool good = true;
    const config_setting_t *data = shoal_config_lookup(config, "data");
    const int n_data = data ? config_setting_length(data) : 0;
    static const char *const keys[] = {"system.file", "sample.file", "sample.covariance_file"};
    static const char *const of_sets[] = {"file", "covariance", "gaia_scans", "hipparcos_scans"};
    for (int i = 0; i < SHOAL_COUNT(keys) + SHOAL_COUNT(of_sets) * n_data; i++) {
        const int of_data = i - SHOAL_COUNT(keys);
        const config_setting_t *setting = of_data < 0 ? shoal_config_lookup(config, keys[i])
                                                      : config_setting_get_member(
                                                            config_setting_get_elem(data, (unsigned)(of_data % n_data)),
                                                            of_sets[of_data / n_data]);
        char *path = setting ? shoal_config_path(config, config_setting_get_string(setting)) : NULL,
             *text = path ? shoal_read_text(path) : NULL;
        good = good && !(setting && !text && (!path || errno == ENOMEM));
        if (text) {
            shoal_hash hash = shoal_hash_start();
            shoal_hash_string(&hash, text);
            hash_rest(&hash, path, strlen(text));
            fprintf(out, "# file %s %016llx%016llx\n", config_setting_get_string(setting), (unsigned long long)hash.a,
                    (unsigned long long)hash.b);
        }
        free(path);
        free(text);
    }
    return good;
}

char *shoal_config_text(const shoal_config *config)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    write_members(out, config_root_setting(&config->tree), 0);
    shoal_plugins_describe(config->context, out);
    const bool failed = !describe_files(config, out) || ferror(out) != 0;
    if (fclose(out) != 0 || failed) {
        free(text);
        return NULL;
    }
    return text;
}

char *shoal_config_of_forces(const char *text, char *names, size_t size)
{
    static const char *const groups[] = {"units", "angles", "forces"};
    char *made = NULL;
    size_t made_size = 0;
    config_t tree;
    config_init(&tree);
    void *numbers = shoal_numbers_begin();
    const config_setting_t *forces = shoal_config_parse(&tree, NULL, text) ? config_lookup(&tree, "forces") : NULL;
    const int n = forces ? config_setting_length(forces) : 0;
    FILE *out = n > 0 ? open_memstream(&made, &made_size) : NULL;
    *names = '\0';
    for (int i = 0; i < n; i++) {
        const size_t length = strlen(names);
        snprintf(names + length, size - length, "%s%s", i ? ", " : "",
                 shoal_config_string(config_setting_get_elem(forces, (unsigned)i), "name", ""));
    }
    for (int i = 0; i < SHOAL_COUNT(groups) && out; i++) {
        const config_setting_t *group = config_lookup(&tree, groups[i]);
        if (group) {
            fprintf(out, "%s = ", groups[i]);
            write_setting(out, group, 0);
            fputs(";\n", out);
        }
    }
    if (out)
        fclose(out);
    shoal_numbers_end(numbers);
    config_destroy(&tree);
    return made;
}

/* The path of a setting from the top: "system.bodies[1].a". */
static void write_path(FILE *out, const config_setting_t *setting)
{
    const config_setting_t *parent = config_setting_parent(setting);
    if (!parent)
        return;
    write_path(out, parent);
    if (config_setting_name(setting))
        fprintf(out, "%s%s", config_setting_parent(parent) ? "." : "", config_setting_name(setting));
    else
        fprintf(out, "[%d]", config_setting_index(setting));
}

static bool is_of_machine(const char *key, size_t length)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)length, key);
    const shoal_key *row = shoal_key_find("run", name);
    return row && row->of_machine;
}

/* The first line from here on, or the end, that is none of these. in_run: within that group. */
static const char *line_that_counts(const char *text, bool *in_run)
{
    while (*in_run && strncmp(text, "    ", 4) == 0 && is_of_machine(text + 4, strcspn(text + 4, " \n"))) {
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    *in_run = strncmp(text, "run = {", 7) == 0 || (*in_run && *text != '}');
    return text;
}

bool shoal_config_same(const char *first, const char *second)
{
    for (bool run[2] = {false, false};;) {
        first = line_that_counts(first, &run[0]);
        second = line_that_counts(second, &run[1]);
        const size_t length = strcspn(first, "\n");
        if (length != strcspn(second, "\n") || memcmp(first, second, length) != 0)
            return false;
        if (!first[length] || !second[length])
            return first[length] == second[length];
        first += length + 1;
        second += length + 1;
    }
}

/* Writes "PATH = VALUE and VALUE" of the first setting that counts and is not the same in both; false if there is
 * none. */
static bool write_difference(FILE *out, const config_setting_t *a, const config_setting_t *b)
{
    const bool group = config_setting_is_group(a);
    char *text[2] = {NULL, NULL};
    size_t size;
    bool differ = config_setting_type(a) != config_setting_type(b);
    if (!differ && config_setting_is_aggregate(a)) {
        for (int side = 0; side < 2; side++) { /* what a has; then what b has alone */
            const config_setting_t *of = side ? b : a, *to = side ? a : b;
            for (int i = 0; i < config_setting_length(of); i++) {
                const config_setting_t *item = config_setting_get_elem(of, (unsigned)i);
                if (group && config_setting_name(a) && strcmp(config_setting_name(a), "run") == 0 &&
                    is_of_machine(config_setting_name(item), strlen(config_setting_name(item))))
                    continue;
                const config_setting_t *other = group ? config_setting_get_member(to, config_setting_name(item))
                                                      : config_setting_get_elem(to, (unsigned)i);
                if (!other) {
                    write_path(out, item);
                    fputs(side ? " is in the second alone" : " is in the first alone", out);
                    return true;
                }
                if (!side && write_difference(out, item, other))
                    return true;
            }
        }
        return false;
    }
    if (differ && (config_setting_is_aggregate(a) || config_setting_is_aggregate(b))) { /* a message is one line */
        write_path(out, a);
        fputs(" is of two kinds", out);
        return true;
    }
    for (int side = 0; side < 2; side++) {
        FILE *value = open_memstream(&text[side], &size);
        if (value) {
            write_setting(value, side ? b : a, 0);
            fclose(value);
        }
    }
    differ = differ || !text[0] || !text[1] || strcmp(text[0], text[1]) != 0;
    if (differ) {
        write_path(out, a);
        fprintf(out, " = %s and %s", text[0] ? text[0] : "", text[1] ? text[1] : "");
    }
    free(text[0]);
    free(text[1]);
    return differ;
}

void shoal_config_difference(const char *first, const char *second, char *text, size_t size)
{
    config_t a, b;
    FILE *out = fmemopen(text, size, "w");
    memset(text, 0, size);
    void *numbers = shoal_numbers_begin();
    config_init(&a);
    config_init(&b);
    if (out && shoal_config_parse(&a, NULL, first) && shoal_config_parse(&b, NULL, second) &&
        !write_difference(out, config_root_setting(&a), config_root_setting(&b)) && !shoal_config_same(first, second))
        fputs("what is in a file that it names", out);
    if (out)
        fclose(out);
    text[size - 1] = '\0';
    config_destroy(&a);
    config_destroy(&b);
    shoal_numbers_end(numbers);
}

shoal_status shoal_config_fail(const shoal_config *config, const config_setting_t *setting, const char *member,
                               const char *nearest, const char *format, ...)
{
    char text[SHOAL_MESSAGE_SIZE] = "";
    FILE *out = fmemopen(text, sizeof text - 1, "w");
    if (!out)
        return shoal_fail(config->context, SHOAL_E_MEMORY, "out of memory");

    const config_setting_t *made = setting; /* by an override? */
    while (!config_setting_get_hook(made) && (made = config_setting_parent(made)))
        continue;
    if (made)
        fprintf(out, "command line: %s: ", (const char *)config_setting_get_hook(made));
    else {
        const char *file = config_setting_source_file(setting);
        const unsigned line = config_setting_source_line(setting);
        fprintf(out, "%s:%u: ", file ? file : config->path, line ? line : 1);
    }
    if (made != setting || member) {
        write_path(out, setting);
        if (member)
            fprintf(out, "%s%s", config_setting_parent(setting) ? "." : "", member);
        else if (config_setting_is_scalar(setting)) {
            fputs(" = ", out);
            write_setting(out, setting, 0);
        } else {
            const char *brackets = config_setting_is_group(setting)  ? "{}"
                                   : config_setting_is_list(setting) ? "()"
                                                                     : "[]";
            fprintf(out, " = %c%s%c", brackets[0], config_setting_length(setting) ? "..." : "", brackets[1]);
        }
        fputs(": ", out);
    }
    fputs("expected ", out);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(out, format, arguments);
    va_end(arguments);
    if (nearest)
        fprintf(out, " (did you mean '%s'?)", nearest);
    fclose(out);
    return shoal_fail(config->context, SHOAL_E_INPUT, "%s", text);
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

double shoal_config_factor(const shoal_config *config, const char *dimension)
{
    return strcmp(dimension, "angle") == 0 ? config->angle : shoal_units_factor(&config->units, dimension);
}

const char *shoal_config_unit(const shoal_config *config, const char *dimension, char unit[SHOAL_UNIT_SIZE])
{
    if (strcmp(dimension, "angle") != 0)
        return shoal_units_name(&config->units, dimension, unit);
    snprintf(unit, SHOAL_UNIT_SIZE, "%s", config->angle_name);
    return unit;
}

void shoal_config_wants(const shoal_config *config, shoal_key_kind kind, const shoal_parameter *row,
                        char words[SHOAL_MESSAGE_SIZE])
{
    static const char *const what[] = {
        [SHOAL_KEY_VALUE] = "a number",
        [SHOAL_KEY_TEXT] = "a string in quotes",
        [SHOAL_KEY_NUMBERS] = "an array of numbers [ ... ]",
        [SHOAL_KEY_TEXTS] = "an array of strings [ ... ]",
        [SHOAL_KEY_DEVICES] = "\"auto\", \"all\", a number of GPUs, or an array of which ones [ ... ]",
        [SHOAL_KEY_GROUP] = "a group { ... }",
        [SHOAL_KEY_LIST] = "a list of groups ( { ... }, ... )",
    };
    const char *const *unit_names;
    const int n_units = kind == SHOAL_KEY_TEXT ? shoal_units_names(row->dimension, &unit_names) : 0;
    size_t used = n_units ? (size_t)snprintf(words, SHOAL_MESSAGE_SIZE, "a unit of %s: one of", row->dimension)
                          : (size_t)snprintf(words, SHOAL_MESSAGE_SIZE, "%s", what[kind]);
    for (int i = 0; i < n_units && used < SHOAL_MESSAGE_SIZE; i++)
        used += (size_t)snprintf(words + used, SHOAL_MESSAGE_SIZE - used, "%s %s", i ? "," : "", unit_names[i]);
    if (kind != SHOAL_KEY_VALUE && kind != SHOAL_KEY_NUMBERS)
        return;
    if (row->choices) {
        used = (size_t)snprintf(words, SHOAL_MESSAGE_SIZE, "one of ");
        for (const char *c = row->choices; *c && used < SHOAL_MESSAGE_SIZE - 3; c++) {
            words[used++] = *c == '|' ? ',' : *c;
            if (*c == '|')
                words[used++] = ' ';
        }
        words[used] = '\0';
        return;
    }
    if (row->type == SHOAL_BODY || row->type == SHOAL_BOOLEAN) {
        snprintf(words, SHOAL_MESSAGE_SIZE, row->type == SHOAL_BODY ? "a body's name or index" : "true or false");
        return;
    }
    if (row->type == SHOAL_INTEGER)
        used = (size_t)snprintf(words, SHOAL_MESSAGE_SIZE, "an integer");
#define ADD(...) used += (size_t)snprintf(words + used, SHOAL_MESSAGE_SIZE - used, __VA_ARGS__)
    const double factor = shoal_config_factor(config, row->dimension);
    const bool has_least = row->least > -1 / SHOAL_TINY, has_most = row->most < 1 / SHOAL_TINY;
    const double least = row->least / factor, most = row->most / factor;
    if (row->least > 0 && row->least < SHOAL_TINY)
        ADD(has_most ? " above 0 and up to %.10g" : " > 0", most);
    else if (has_least)
        ADD(has_most ? " from %.10g to %.10g" : " >= %.10g", least, most);
    else if (has_most)
        ADD(" <= %.10g", most);
    char unit[SHOAL_UNIT_SIZE];
    if (*shoal_config_unit(config, row->dimension, unit))
        ADD(" in %s", unit);
#undef ADD
}

shoal_status shoal_config_angle(const shoal_config *config, const config_setting_t *setting, double value,
                                const char *dimension)
{
    if (!shoal_config_is_bare(config, dimension) || !shoal_angle_is_strange(value))
        return SHOAL_OK;
    return shoal_config_fail(config, setting, NULL, NULL, "%s", SHOAL_STRANGE_ANGLE);
}

shoal_status shoal_config_bounds(const shoal_config *config, const config_setting_t *setting, double value,
                                 const shoal_parameter *row)
{
    const double inner = value * shoal_config_factor(config, row->dimension);
    const shoal_status status = shoal_config_angle(config, setting, value, row->dimension);
    if (status)
        return status;
    if (isfinite(value) && inner >= row->least && inner <= row->most)
        return SHOAL_OK;
    char words[SHOAL_MESSAGE_SIZE];
    shoal_config_wants(config, SHOAL_KEY_VALUE, row, words);
    return shoal_config_fail(config, setting, NULL, NULL, "%s%s", isfinite(value) ? "" : "a finite number: ", words);
}

/* The number as written, in the user's units. */
static double number_of(const config_setting_t *setting)
{
    switch (config_setting_type(setting)) {
    case CONFIG_TYPE_INT: return config_setting_get_int(setting);
    case CONFIG_TYPE_INT64: return (double)config_setting_get_int64(setting);
    case CONFIG_TYPE_BOOL: return config_setting_get_bool(setting);
    default: return config_setting_get_float(setting);
    }
}

double shoal_config_row(const shoal_config *config, const config_setting_t *group, const shoal_parameter *row)
{
    const config_setting_t *setting = group ? config_setting_get_member(group, row->name) : NULL;
    if (!setting)
        return row->initial;
    if (row->type == SHOAL_CHOICE)
        return shoal_choice_index(row->choices, config_setting_get_string(setting));
    return number_of(setting) * shoal_config_factor(config, row->dimension);
}

double shoal_config_number(const shoal_config *config, const config_setting_t *group, const char *section,
                           const char *name)
{
    return shoal_config_row(config, group, &shoal_key_find(section, name)->row);
}

const char *shoal_config_string(const config_setting_t *group, const char *name, const char *otherwise)
{
    const config_setting_t *setting = group ? config_setting_get_member(group, name) : NULL;
    return setting ? config_setting_get_string(setting) : otherwise;
}

double shoal_config_item(const config_setting_t *list, long i)
{
    return number_of(config_setting_get_elem(list, (unsigned)i));
}

config_setting_t *shoal_config_lookup(const shoal_config *config, const char *path)
{
    return config_lookup(&config->tree, path);
}

shoal_status shoal_config_body(const shoal_config *config, const config_setting_t *setting,
                               char (*names)[SHOAL_NAME_SIZE], int n_bodies, int *body)
{
    if (config_setting_type(setting) == CONFIG_TYPE_STRING) {
        const char *word = config_setting_get_string(setting);
        const char *known[MAX_WORDS];
        int n_known = 0;
        for (int i = 0; i < n_bodies; i++) {
            if (strcmp(names[i], word) == 0) {
                *body = i;
                return SHOAL_OK;
            }
            if (n_known < MAX_WORDS)
                known[n_known++] = names[i];
        }
        return shoal_config_fail(config, setting, NULL, shoal_nearest(word, known, n_known), "a body's name or index");
    }
    const double index = number_of(setting);
    if (index < -1 || index >= n_bodies)
        return shoal_config_fail(config, setting, NULL, NULL, "a body from 0 to %d, or -1 for the last", n_bodies - 1);
    *body = index < 0 ? n_bodies - 1 : (int)index;
    return SHOAL_OK;
}

void shoal_config_eases(const shoal_context *context, const config_setting_t *forces, char (*names)[SHOAL_NAME_SIZE],
                        int n_bodies, shoal_eases *eases)
{
    const shoal_plugs *known = shoal_plugs_of(context);
    *eases = (shoal_eases){0};
    for (int i = 0; forces && i < config_setting_length(forces) && eases->n < SHOAL_MOST_EASES; i++) {
        const config_setting_t *group = config_setting_get_elem(forces, (unsigned)i);
        const int index = shoal_force_find(context, shoal_config_string(group, "name", ""));
        if (index < 0 || !known->forces[index]->eases)
            continue;
        const shoal_parameter *rows = known->forces[index]->parameters;
        const config_setting_t *part = config_setting_get_member(group, rows[0].name),
                               *on = config_setting_get_member(group, rows[1].name);
        double body = on ? number_of(on) : rows[1].initial;
        for (int b = 0; on && config_setting_type(on) == CONFIG_TYPE_STRING && b < n_bodies; b++)
            if (strcmp(config_setting_get_string(on), names[b]) == 0)
                body = b;
        eases->part[eases->n] = part ? number_of(part) : rows[0].initial;
        eases->body[eases->n++] = body < 0 ? n_bodies - 1 : (int)body;
    }
}

/* ---- the check against the tables -------------------------------------------------------------------------------- */

static shoal_status check_choice(const shoal_config *config, const config_setting_t *setting, const char *word,
                                 const shoal_parameter *row, const char *wants)
{
    if (word && shoal_choice_index(row->choices, word) >= 0)
        return SHOAL_OK;
    char choices[SHOAL_MESSAGE_SIZE], *rest = choices;
    const char *known[MAX_WORDS];
    int n_known = 0;
    snprintf(choices, sizeof choices, "%s", row->choices);
    for (char *next; n_known < MAX_WORDS && (next = strsep(&rest, "|"));)
        known[n_known++] = next;
    const bool bare = row->type == SHOAL_CHOICE && config_setting_is_number(setting);
    return shoal_config_fail(config, setting, NULL, word ? shoal_nearest(word, known, n_known) : NULL, "%s%s", wants,
                             bare ? ", in quotes" : "");
}

/* A scalar, an array, a group or a list: its type, and the bounds of numbers; check_group checks what is in groups. */
static shoal_status check_value(const shoal_config *config, const config_setting_t *setting, shoal_key_kind kind,
                                const shoal_parameter *row)
{
    const bool is_number = config_setting_is_number(setting);
    const bool is_string = config_setting_type(setting) == CONFIG_TYPE_STRING;
    const double value = is_number ? number_of(setting) : NAN;
    char wants[SHOAL_MESSAGE_SIZE], word[32];
    shoal_config_wants(config, kind, row, wants);
    bool fits = false;

    if (kind == SHOAL_KEY_TEXT)
        fits = is_string && *config_setting_get_string(setting);
    else if (kind == SHOAL_KEY_GROUP)
        fits = config_setting_is_group(setting);
    else if (kind == SHOAL_KEY_LIST)
        fits = config_setting_is_list(setting);
    else if (kind == SHOAL_KEY_DEVICES && !config_setting_is_aggregate(setting))
        fits = is_string || (is_number && value == trunc(value) && value >= row->least && value <= row->most);
    else if (kind == SHOAL_KEY_NUMBERS || kind == SHOAL_KEY_TEXTS || kind == SHOAL_KEY_DEVICES) {
        fits = config_setting_is_array(setting) || config_setting_is_list(setting);
        for (int i = 0; fits && i < config_setting_length(setting); i++) {
            shoal_status status = check_value(config, config_setting_get_elem(setting, (unsigned)i),
                                              kind == SHOAL_KEY_TEXTS ? SHOAL_KEY_TEXT : SHOAL_KEY_VALUE, row);
            if (status)
                return status;
        }
    } else if (row->type == SHOAL_BOOLEAN)
        fits = config_setting_type(setting) == CONFIG_TYPE_BOOL;
    else if (row->type == SHOAL_BODY)
        fits = is_string || (is_number && value == trunc(value));
    else if (row->type == SHOAL_CHOICE)
        return check_choice(config, setting, is_string ? config_setting_get_string(setting) : NULL, row, wants);
    else if (is_number && row->type == SHOAL_INTEGER && row->choices) {
        snprintf(word, sizeof word, "%.17g", value);
        return check_choice(config, setting, word, row, wants);
    } else if (is_number && (row->type == SHOAL_REAL || value == trunc(value)))
        return shoal_config_bounds(config, setting, value, row);
    return fits ? SHOAL_OK : shoal_config_fail(config, setting, NULL, NULL, "%s", wants);
}

/* The parameters of the plug that a group of the sections integrator, monitors and forces names. */
static shoal_status find_plug(const shoal_config *config, const config_setting_t *group, const char *section,
                              const shoal_parameter **rows, int *n_rows)
{
    const bool propagator = strcmp(section, "integrator") == 0, monitor = strcmp(section, "monitors") == 0;
    *rows = NULL;
    *n_rows = 0;
    if (!propagator && !monitor && strcmp(section, "forces") != 0)
        return SHOAL_OK;

    const shoal_key *key = shoal_key_find(section, "name");
    const config_setting_t *setting = config_setting_get_member(group, "name");
    if (setting) {
        shoal_status status = check_value(config, setting, key->kind, &key->row);
        if (status)
            return status;
    } else if (!key->otherwise)
        return shoal_config_fail(config, group, "name", NULL, "%s: it must be given", key->row.doc);
    const char *name = setting ? config_setting_get_string(setting) : key->otherwise;

    const char *known[MAX_WORDS];
    int n_known;
    if (propagator) {
        const shoal_propagator *plug = shoal_propagator_find(config->context, name);
        if (plug) {
            *rows = plug->parameters;
            *n_rows = plug->n_parameters;
            return SHOAL_OK;
        }
        n_known = shoal_propagator_names(config->context, known, MAX_WORDS);
    } else {
        const int index = monitor ? shoal_monitor_find(config->context, name) : shoal_force_find(config->context, name);
        if (index >= 0) {
            *rows = monitor ? shoal_plugs_of(config->context)->monitors[index]->parameters
                            : shoal_plugs_of(config->context)->forces[index]->parameters;
            *n_rows = monitor ? shoal_plugs_of(config->context)->monitors[index]->n_parameters
                              : shoal_plugs_of(config->context)->forces[index]->n_parameters;
            return SHOAL_OK;
        }
        n_known = monitor ? shoal_monitor_names(config->context, known, MAX_WORDS)
                          : shoal_force_names(config->context, known, MAX_WORDS);
    }
    char list[SHOAL_MESSAGE_SIZE] = "";
    for (int i = 0, used = 0; i < n_known && used < (int)sizeof list; i++)
        used += snprintf(list + used, sizeof list - (size_t)used, "%s%s", i ? ", " : "", known[i]);
    return shoal_config_fail(config, setting ? setting : group, NULL, shoal_nearest(name, known, n_known),
                             "%s: one of %.700s",
                             propagator ? "a propagator"
                             : monitor  ? "a monitor"
                                        : "a force",
                             list);
}

/* What others call a key of a body. */
static const char *synonym(const char *word)
{
    static const char *const key_of[][2] = {
        {"mass", "m"},         {"radius", "r"},     {"sma", "a"},           {"semi_major_axis", "a"}, {"period", "P"},
        {"eccentricity", "e"}, {"i", "inc"},        {"inclination", "inc"}, {"node", "Omega"},        {"peri", "omega"},
        {"w", "omega"},        {"varpi", "pomega"}, {"mean_anomaly", "M"},  {"mean_longitude", "l"},  {"lambda", "l"},
        {"tp", "T"},           {"tc", "T0"},
    };
    for (int i = 0; i < SHOAL_COUNT(key_of); i++)
        if (strcasecmp(key_of[i][0], word) == 0)
            return key_of[i][1];
    return NULL;
}

static shoal_status unknown_key(const shoal_config *config, const config_setting_t *setting, const char *section,
                                const shoal_parameter *more, int n_more)
{
    const char *known[MAX_WORDS];
    int n_known = 0;
    for (int i = 0; i < shoal_n_keys && n_known < MAX_WORDS; i++)
        if (strcmp(shoal_keys[i].section, section) == 0)
            known[n_known++] = shoal_keys[i].row.name;
    for (int i = 0; i < n_more && n_known < MAX_WORDS; i++)
        known[n_known++] = more[i].name;
    const char *nearest = strcmp(section, "system.bodies") == 0 ? synonym(config_setting_name(setting)) : NULL;
    if (!nearest)
        nearest = shoal_nearest(config_setting_name(setting), known, n_known);
    char list[SHOAL_MESSAGE_SIZE] = "";
    for (int i = 0, used = 0; i < n_known && used < (int)sizeof list; i++)
        used += snprintf(list + used, sizeof list - (size_t)used, "%s%s", i ? ", " : "", known[i]);
    if (nearest)
        return shoal_config_fail(config, setting, NULL, nearest, "a known key");
    return shoal_config_fail(config, setting, NULL, NULL, "one of the keys %.700s", list);
}

static shoal_status missing_key(const shoal_config *config, const config_setting_t *group, shoal_key_kind kind,
                                const shoal_parameter *row)
{
    char wants[SHOAL_MESSAGE_SIZE];
    shoal_config_wants(config, kind, row, wants);
    return shoal_config_fail(config, group, row->name, NULL, "%s: it must be given (%s)", wants, row->doc);
}

/* Every member of a group is a known key and fits; every key that must be given is there. */
static shoal_status check_group(const shoal_config *config, const config_setting_t *group, const char *section)
{
    const shoal_parameter *more = NULL;
    int n_more = 0;
    shoal_status status = find_plug(config, group, section, &more, &n_more);

    for (int i = 0; !status && i < config_setting_length(group); i++) {
        const config_setting_t *setting = config_setting_get_elem(group, (unsigned)i);
        const char *name = config_setting_name(setting);
        const shoal_key *key = shoal_key_find(section, name);
        const shoal_parameter *row = key ? &key->row : NULL;
        for (int p = 0; p < n_more && !row; p++)
            if (strcmp(more[p].name, name) == 0)
                row = &more[p];
        if (!row)
            return unknown_key(config, setting, section, more, n_more);
        const shoal_key_kind kind = key ? key->kind : SHOAL_KEY_VALUE;
        status = check_value(config, setting, kind, row);

        char inner[64];
        const bool at_top = !*section || strcmp(name, "units") == 0; /* units are the same in configs of both kinds */
        snprintf(inner, sizeof inner, "%s%s%s", at_top ? "" : section, at_top ? "" : ".", name);
        if (!status && kind == SHOAL_KEY_GROUP)
            status = check_group(config, setting, inner);
        for (int k = 0; !status && kind == SHOAL_KEY_LIST && k < config_setting_length(setting); k++) {
            const config_setting_t *item = config_setting_get_elem(setting, (unsigned)k);
            status = config_setting_is_group(item) ? check_group(config, item, inner)
                                                   : shoal_config_fail(config, item, NULL, NULL, "a group { ... }");
        }
    }
    for (int i = 0; !status && i < shoal_n_keys; i++) {
        const shoal_key *key = &shoal_keys[i];
        if (strcmp(key->section, section) == 0 && !key->otherwise && isnan(key->row.initial) &&
            !config_setting_get_member(group, key->row.name) && strcmp(section, "system.bodies") != 0)
            status = missing_key(config, group, key->kind, &key->row);
    }
    for (int p = 0; !status && p < n_more; p++)
        if (isnan(more[p].initial) && !config_setting_get_member(group, more[p].name))
            status = missing_key(config, group, SHOAL_KEY_VALUE, &more[p]);
    return status;
}

/* No text has control characters: it may become a name, a file's name, a line on a terminal. */
static shoal_status check_texts(const shoal_config *config, const config_setting_t *setting)
{
    shoal_status status = SHOAL_OK;
    if (config_setting_type(setting) == CONFIG_TYPE_STRING && !shoal_is_plain(config_setting_get_string(setting)))
        return shoal_config_fail(config, setting, NULL, NULL, "a text without control characters");
    for (int i = 0; config_setting_is_aggregate(setting) && i < config_setting_length(setting) && !status; i++)
        status = check_texts(config, config_setting_get_elem(setting, (unsigned)i));
    return status;
}

/* Units and angles come first: the bounds of everything else are in inner units. */
static shoal_status read_units(shoal_config *config)
{
    /* a unit of 1 until they are known: what is checked here has no dimension */
    config->units = (shoal_units){.length = 1, .mass = 1, .time = 1};
    config->angle = 1;
    config->angle_name = "rad";

    const config_setting_t *root = config_root_setting(&config->tree);
    const shoal_key *angles = shoal_key_find("", "angles"), *group_key = shoal_key_find("", "units");
    const config_setting_t *setting = config_setting_get_member(root, "angles");
    shoal_status status = setting ? check_value(config, setting, angles->kind, &angles->row) : SHOAL_OK;
    if (status)
        return status;
    const bool degrees = shoal_config_row(config, root, &angles->row) == 1;
    config->names_angle = setting != NULL;

    const config_setting_t *group = config_setting_get_member(root, "units");
    if (group && ((status = check_value(config, group, group_key->kind, &group_key->row)) ||
                  (status = check_group(config, group, "units"))))
        return status;
    if (config->big && !group) { /* numbers without units: G = 1 */
        status = shoal_units_init(config->context, NULL, NULL, NULL, NAN, &config->units);
        config->units.length_name[0] = config->units.mass_name[0] = config->units.time_name[0] = '\0';
        return status;
    }
    const char *dimensions[] = {"length", "mass", "time"}, *words[3];
    const double G = shoal_config_number(config, group, "units", "G");
    for (int i = 0; i < 3; i++) {
        /* with an explicit G the unit of time follows, unless it is named */
        const bool follows = i == 2 && !isnan(G);
        words[i] = shoal_config_string(group, dimensions[i],
                                       follows ? NULL : shoal_key_find("units", dimensions[i])->otherwise);
        const char *const *known;
        const int n_known = shoal_units_names(dimensions[i], &known);
        bool is_known = words[i] == NULL;
        for (int k = 0; k < n_known && !is_known; k++)
            is_known = strcmp(known[k], words[i]) == 0;
        if (!is_known) {
            char wants[SHOAL_MESSAGE_SIZE];
            shoal_config_wants(config, SHOAL_KEY_TEXT, &shoal_key_find("units", dimensions[i])->row, wants);
            return shoal_config_fail(config, config_setting_get_member(group, dimensions[i]), NULL,
                                     shoal_nearest(words[i], known, n_known), "%s", wants);
        }
    }
    status = shoal_units_init(config->context, words[0], words[1], words[2], G, &config->units);
    if (status) {
        char reason[SHOAL_MESSAGE_SIZE];
        snprintf(reason, sizeof reason, "%s", shoal_context_message(config->context));
        const config_setting_t *place = config_setting_get_member(group, "G"); /* without it they always agree */
        return shoal_config_fail(config, place, NULL, NULL, "units that agree: %.700s", reason);
    }
    if (degrees) {
        config->angle = M_PI / 180;
        config->angle_name = "deg";
    }
    return SHOAL_OK;
}

/* ---- integers that the parser would cut short -------------------------------------------------------------------- */

#define WORD "_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* Scan a libconfig text for an integer that does not fit; returns its line and copies it to number, or returns 0. */
static int find_long_integer(const char *text, char number[40])
{
    int line = 1;
    for (const char *c = text; *c;) {
        if (*c == '"') { /* a string */
            for (c++; *c && *c != '"'; c++) {
                line += *c == '\n';
                c += *c == '\\' && c[1];
            }
            c += *c == '"';
        } else if (*c == '#' || (*c == '/' && c[1] == '/')) {
            c += strcspn(c, "\n");
        } else if (*c == '/' && c[1] == '*') {
            for (c += 2; *c && !(*c == '*' && c[1] == '/'); c++)
                line += *c == '\n';
            c += *c ? 2 : 0;
        } else if (strchr(WORD "+-.", *c)) {
            const size_t length = strspn(c, WORD "+-.*");
            const size_t sign = *c == '+' || *c == '-';
            const size_t digits = strspn(c + sign, "0123456789");
            const size_t suffix = length - sign - digits;
            const bool is_long = suffix > 0 && strspn(c + sign + digits, "L") == suffix;
            if (digits > 0 && (suffix == 0 || is_long)) {
                errno = 0;
                const long long value = strtoll(c, NULL, 10);
                if (errno || (!is_long && (value > INT_MAX || value < INT_MIN))) {
                    snprintf(number, 40, "%.*s", (int)(length < 36 ? length : 36), c);
                    return line;
                }
            }
            c += length;
        } else
            line += *c++ == '\n';
    }
    return 0;
}

/* Scan a file and those that it includes (`@include "name"`, relative to the config's folder), before the parser sees
 * them. */
static shoal_status check_file(shoal_context *context, const char *folder, const char *path, int depth)
{
    FILE *in;
    /* libconfig's scanner ends the process when reading fails, as it does for a folder, and the file is read twice */
    shoal_status status = shoal_file_open(context, path, &in);
    if (status)
        return status;
    fclose(in);
    char *text = shoal_read_text(path);
    if (text && strncmp(text, "\xef\xbb\xbf", 3) == 0) {
        free(text);
        return shoal_fail(
            context, SHOAL_E_INPUT,
            "%s:1: it begins with a byte order mark; expected plain UTF-8 (an editor's \"UTF-8 without BOM\")", path);
    }
    if (!text)
        return shoal_fail(context, SHOAL_E_FILE, "%s: cannot be read: %s", path, strerror(errno));
    char number[40];
    const int line = find_long_integer(text, number);
    if (line)
        status = shoal_fail(context, SHOAL_E_INPUT,
                            "%s:%d: %s: expected an integer of 32 bits, or one of 64 bits that ends in L, "
                            "or a decimal point",
                            path, line, number);
    for (const char *at = text; !status && depth < MAX_INCLUDES && (at = strstr(at, "@include"));) {
        at += strlen("@include");
        const char *name = at + strspn(at, " \t");
        const size_t length = *name == '"' ? strcspn(++name, "\"\n") : 0;
        char *inner = NULL;
        if (length == 0)
            continue;
        if (asprintf(&inner, "%s%s%.*s", *name == '/' ? "" : folder, *name == '/' ? "" : "/", (int)length, name) < 0)
            status = shoal_fail(context, SHOAL_E_MEMORY, "%s: out of memory", path);
        else {
            status = check_file(context, folder, inner, depth + 1);
            free(inner);
        }
    }
    free(text);
    return status;
}

/* ---- overrides --------------------------------------------------------------------------------------------------- */

/* A deep copy of a setting under a name (NULL in lists), marked with where it comes from. */
static config_setting_t *copy_setting(config_setting_t *parent, const char *name, const config_setting_t *from,
                                      void *hook)
{
    config_setting_t *to = config_setting_add(parent, name, config_setting_type(from));
    if (!to)
        return NULL;
    config_setting_set_hook(to, hook);
    switch (config_setting_type(from)) {
    case CONFIG_TYPE_INT: config_setting_set_int(to, config_setting_get_int(from)); break;
    case CONFIG_TYPE_INT64: config_setting_set_int64(to, config_setting_get_int64(from)); break;
    case CONFIG_TYPE_FLOAT: config_setting_set_float(to, config_setting_get_float(from)); break;
    case CONFIG_TYPE_BOOL: config_setting_set_bool(to, config_setting_get_bool(from)); break;
    case CONFIG_TYPE_STRING: config_setting_set_string(to, config_setting_get_string(from)); break;
    default:
        for (int i = 0; i < config_setting_length(from); i++) {
            const config_setting_t *item = config_setting_get_elem(from, (unsigned)i);
            if (!copy_setting(to, config_setting_name(item), item, hook))
                return NULL;
        }
    }
    return to;
}

/* What a word of an override's path means within a setting: a key, an index, or the item of that `name`. */
static config_setting_t *descend(config_setting_t *setting, const char *word)
{
    if (config_setting_is_group(setting))
        return config_setting_get_member(setting, word);
    if (!config_setting_is_list(setting))
        return NULL;
    char *end;
    const unsigned long index = strtoul(word, &end, 10);
    if (*end == '\0' && *word >= '0' && *word <= '9')
        return index < (unsigned long)config_setting_length(setting) ? config_setting_get_elem(setting, (unsigned)index)
                                                                     : NULL;
    for (int i = 0; i < config_setting_length(setting); i++) {
        config_setting_t *item = config_setting_get_elem(setting, (unsigned)i);
        const char *name = NULL;
        if (config_setting_is_group(item) && config_setting_lookup_string(item, "name", &name) &&
            strcmp(name, word) == 0)
            return item;
    }
    return NULL;
}

/* A value as libconfig reads it, but that an array may mix 1 and 1.5, as a list does; a bare word stands for a
 * string. E_USAGE: it is none. */
static shoal_status parse_value(const char *value, config_t *parsed)
{
    char *text = NULL, number[40];
    const size_t length = strlen(value);
    const bool array = length > 1 && value[0] == '[' && strcspn(value, "]") == length - 1;
    const int written = array ? asprintf(&text, "value = (%.*s);", (int)length - 2, value + 1)
                              : asprintf(&text, "value = %s;", value);
    if (written < 0)
        return SHOAL_E_MEMORY;
    bool good = shoal_config_parse(parsed, NULL, text) && config_setting_length(config_root_setting(parsed)) == 1;
    if (good)
        good = find_long_integer(text, number) == 0;
    else if (*value && value[strspn(value, WORD " +-./:,~@%")] == '\0') {
        config_destroy(parsed);
        config_init(parsed);
        config_setting_t *word = config_setting_add(config_root_setting(parsed), "value", CONFIG_TYPE_STRING);
        good = word && config_setting_set_string(word, value);
    }
    free(text);
    return good ? SHOAL_OK : SHOAL_E_USAGE;
}

/* The override that made a setting or something in it, but for that which made all around it (`around`); NULL: none. */
static const char *made_by(const config_setting_t *setting, const void *around)
{
    const char *override = config_setting_get_hook(setting);
    if (override == around)
        override = NULL;
    for (int i = 0; !override && config_setting_is_aggregate(setting) && i < config_setting_length(setting); i++)
        override = made_by(config_setting_get_elem(setting, (unsigned)i), around);
    return override;
}

/* Whether a whole number is written as a floating one: the text is then that of a file which says so itself, however
 * an end that is given again is spelled. */
static bool is_floating(const config_setting_t *group, const char *name, const config_setting_t *old)
{
    if (old)
        return config_setting_type(old) == CONFIG_TYPE_FLOAT;
    const char *section = config_setting_name(group);
    const shoal_key *key = section ? shoal_key_find(section, name) : NULL;
    return key && key->kind == SHOAL_KEY_VALUE && key->row.type == SHOAL_REAL;
}

/* Put a value into a group, in the place of the one of that name or, if there is none, at the end. */
static bool put_value(config_setting_t *group, const char *name, const config_setting_t *value, void *hook)
{
    const config_setting_t *old = config_setting_get_member(group, name);
    const int place = old ? config_setting_index(old) : config_setting_length(group);
    const int type = config_setting_type(value);
    const bool whole = type == CONFIG_TYPE_INT || type == CONFIG_TYPE_INT64,
               floating = whole && is_floating(group, name, old);
    config_setting_remove(group, name);
    config_setting_t *made = floating ? config_setting_add(group, name, CONFIG_TYPE_FLOAT)
                                      : copy_setting(group, name, value, hook);
    if (!made)
        return false;
    if (floating) {
        config_setting_set_hook(made, hook);
        config_setting_set_float(made, number_of(value));
    }
    config_setting_t **item = group->value.list->elements;
    for (int i = config_setting_length(group) - 1; i > place; i--)
        item[i] = item[i - 1];
    item[place] = made;
    return true;
}

static shoal_status apply_override(shoal_config *config, const char *override)
{
    shoal_status status = SHOAL_E_USAGE;
    const char *equals = strchr(override, '=');
    char *path = equals ? strndup(override, (size_t)(equals - override)) : NULL;
    const char *wants = "path.to.key=value";
    config_t parsed;
    config_init(&parsed);
    if (equals && equals[1] != '\0') {
        status = path ? parse_value(equals + 1, &parsed) : SHOAL_E_MEMORY;
        wants = status == SHOAL_E_MEMORY ? "more memory"
                                         : "a number, a string, true, false, or a libconfig value after '='";
    }
    if (status)
        goto fail;
    status = SHOAL_E_USAGE;
    wants = "path.to.key=value";

    config_setting_t *at = config_root_setting(&config->tree);
    char *rest = path, *word, *next = strtok_r(path, ".[]", &rest);
    if (!next || strchr(".[", override[0]))
        goto fail;
    while ((word = next) && (next = strtok_r(NULL, ".[]", &rest))) {
        config_setting_t *inner = descend(at, word);
        if (!inner && config_setting_is_group(at) && (inner = config_setting_add(at, word, CONFIG_TYPE_GROUP)))
            config_setting_set_hook(inner, (void *) override);
        if (!inner || !config_setting_is_aggregate(inner)) {
            status = shoal_fail(config->context, SHOAL_E_INPUT,
                                "command line: %s: expected a path to a key; there is no '%s'%s", override, word,
                                inner ? " that holds others"
                                : config_setting_is_list(at)
                                    ? " (items of a list go by number from 0, or by their name)"
                                    : "");
            goto done;
        }
        at = inner;
    }
    if (!config_setting_is_group(at)) {
        wants = "a path that ends in the key of a group";
        goto fail;
    }
    const config_setting_t *old = config_setting_get_member(at, word);
    const char *other = old ? made_by(old, config_setting_get_hook(at)) : NULL;
    if (other) {
        status = shoal_fail(config->context, SHOAL_E_INPUT,
                            "command line: %s: expected a value given once; it takes the place of %s", override, other);
        goto done;
    }
    if (!put_value(at, word, config_setting_get_elem(config_root_setting(&parsed), 0), (void *) override))
        goto fail;
    status = SHOAL_OK;
    goto done;
fail:
    status = shoal_fail(config->context, status, "command line: %s: expected %s", override, wants);
done:
    config_destroy(&parsed);
    free(path);
    return status;
}

/* ---- open and close ---------------------------------------------------------------------------------------------- */

/* Load the plugins that the config names: their plugs are known from here on. */
static shoal_status load_plugins(const shoal_config *config, const char *folder)
{
    const config_setting_t *plugins = shoal_config_lookup(config, "plugins");
    if (!plugins)
        return SHOAL_OK;
    shoal_status status = check_value(config, plugins, SHOAL_KEY_TEXTS, &shoal_key_find("", "plugins")->row);
    if (!status && !(config->context && config->context->plugins_allowed))
        return shoal_config_fail(config, plugins, NULL, NULL,
                                 "leave to compile and run this code: shoal run --allow-plugins");
    for (int i = 0; !status && i < config_setting_length(plugins); i++) {
        const config_setting_t *plugin = config_setting_get_elem(plugins, (unsigned)i);
        const char *name = config_setting_get_string(plugin);
        char path[4096];
        snprintf(path, sizeof path, "%s%s%s", *name == '/' ? "" : folder, *name == '/' ? "" : "/", name);
        status = shoal_plugin_load(config->context, path);
        if (status) {
            char why[SHOAL_MESSAGE_SIZE];
            snprintf(why, sizeof why, "%s", shoal_context_message(config->context));
            shoal_config_fail(config, plugin, NULL, NULL, "a plugin that can be loaded: %s", why);
        }
    }
    return status;
}

char *shoal_config_path(const shoal_config *config, const char *name)
{
    char *copy = strdup(config->path), *path = NULL;
    if (copy && asprintf(&path, "%s%s%s", *name == '/' ? "" : dirname(copy), *name == '/' ? "" : "/", name) < 0)
        path = NULL;
    free(copy);
    return path;
}

shoal_status shoal_config_open(shoal_context *context, const char *path, const char *text, int n_overrides,
                               const char *const *overrides, shoal_config *config)
{
    shoal_status status = SHOAL_OK;
    *config = (shoal_config){.context = context, .path = path};
    config_init(&config->tree);

    char *copy = strdup(path);
    if (!copy) {
        status = shoal_fail(context, SHOAL_E_MEMORY, "%s: out of memory", path);
        goto done;
    }
    const char *folder = dirname(copy);
    if (!text && (status = check_file(context, folder, path, 0)))
        goto done;
    config_set_include_dir(&config->tree, folder);
    if (!shoal_config_parse(&config->tree, path, text)) {
        const bool parse = config_error_type(&config->tree) == CONFIG_ERR_PARSE;
        const char *file = config_error_file(&config->tree);
        /* which does not mix 1 and 1.5 between square brackets */
        const bool mixed = parse && strstr(config_error_text(&config->tree), "mismatched element type");
        const bool syntax = parse && strcmp(config_error_text(&config->tree), "syntax error") == 0;
        status = parse ? shoal_fail(
                             context, SHOAL_E_INPUT, "%s:%d: expected the syntax of libconfig: %s%s",
                             file ? file : path, config_error_line(&config->tree), config_error_text(&config->tree),
                             mixed    ? "; write ( 1, 1.5 ) or [ 1.0, 1.5 ]"
                             : syntax ? " here or just above (words in quotes; commas only between the items of a list)"
                                      : "")
                       : shoal_fail(context, SHOAL_E_FILE, "%s: cannot be read: %s", path, strerror(errno));
        goto done;
    }
    config->overrides = calloc((size_t)n_overrides + 1, sizeof *config->overrides);
    for (int i = 0; i < n_overrides; i++) {
        char *override = config->overrides ? strdup(overrides[i]) : NULL;
        if (!override) {
            status = shoal_fail(context, SHOAL_E_MEMORY, "%s: out of memory", path);
            goto done;
        }
        config->overrides[config->n_overrides++] = override;
        if ((status = apply_override(config, override)))
            goto done;
    }
    config->big = shoal_config_lookup(config, "model") != NULL;
    status = check_texts(config, config_root_setting(&config->tree));
    if (!status)
        status = load_plugins(config, folder);
    if (!status)
        status = read_units(config);
    if (!status)
        status = check_group(config, config_root_setting(&config->tree), config->big ? "big" : "");
    const config_setting_t *file = status ? NULL : shoal_config_lookup(config, "output.file");
    if (file && !shoal_is_name(config_setting_get_string(file)))
        status = shoal_config_fail(config, file, NULL, NULL, "a file's name without quotes");
done:
    free(copy);
    if (status)
        shoal_config_close(config);
    return status;
}

void shoal_config_close(shoal_config *config)
{
    config_destroy(&config->tree);
    for (int i = 0; i < config->n_overrides; i++)
        free(config->overrides[i]);
    free(config->overrides);
}
