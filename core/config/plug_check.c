/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * plug_check.c: whether the descriptor of a plug is sound beside the others, the keys of a config and the columns of a
 * result. Descriptors of plugins are checked when they are loaded, those of this build by a test.
 */
#include <math.h>
#include <string.h>

#include "core/config/config.h"
#include "core/result/result.h"

/* A clause of the functions below, which return whether a descriptor is sound: else why = [SHOAL_MESSAGE_SIZE] says
 * what was expected. */
#define EXPECT(good, ...)                               \
    if (!(good)) {                                      \
        snprintf(why, SHOAL_MESSAGE_SIZE, __VA_ARGS__); \
        return false;                                   \
    }

static bool dimension_is_known(const char *dimension)
{
    const shoal_units units = {.length = 1, .mass = 1, .time = 1};
    return dimension && !isnan(shoal_units_factor(&units, dimension));
}
#define DIMENSIONS "\"\", length, mass, time, velocity, frequency or angle"

/* section: of config.h, whose keys stand beside the parameters. */
static bool table_is_sound(const char *section, const char *doc, const shoal_parameter *parameters, int n, char *why)
{
    EXPECT(doc && n >= 0 && n <= SHOAL_MAX_PARAMETERS && (parameters || n == 0),
           "a doc and a table of at most %d parameters", SHOAL_MAX_PARAMETERS);
    for (int i = 0; i < n; i++) {
        const shoal_parameter *p = &parameters[i];
        EXPECT(p->name && shoal_is_identifier(p->name), "parameter %d to have a name, an identifier", i);
        EXPECT(!shoal_key_find(section, p->name), "a parameter of another name than '%s', which is a key of '%s'",
               p->name, section);
        EXPECT(p->doc, "a doc of parameter '%s'", p->name);
        EXPECT(dimension_is_known(p->dimension), "the dimension of parameter '%s': " DIMENSIONS, p->name);
        EXPECT(p->type >= SHOAL_REAL && p->type <= SHOAL_BODY, "a type of parameter '%s'", p->name);
        EXPECT(p->type != SHOAL_CHOICE || (p->choices && *p->choices), "the choices of parameter '%s'", p->name);
        int last = 0; /* choice */
        for (const char *at = p->choices; p->type == SHOAL_CHOICE && *at; at++)
            last += *at == '|';
        EXPECT(p->least <= p->most && !(p->initial < p->least) && !(p->initial > p->most) &&
                   (p->type != SHOAL_CHOICE || (p->least >= 0 && p->most <= last)),
               "parameter '%s' to have its initial value between least and most, and these to be indices of choices if "
               "it has any",
               p->name);
    }
    return true;
}

static bool propagator_is_sound(const shoal_propagator *propagator, char *why)
{
    EXPECT(propagator->n_slots > 0 && propagator->slots && propagator->n_own >= 0,
           "the names of n_slots > 0 slots, and n_own >= 0");
    for (int i = 0; i < propagator->n_slots; i++)
        EXPECT(propagator->slots[i], "a name of slot %d of %d", i, propagator->n_slots);
    EXPECT(propagator->first_body == 0 || propagator->first_body == 1, "first_body 0 or 1");
    return table_is_sound("integrator", propagator->doc, propagator->parameters, propagator->n_parameters, why);
}

static bool force_is_sound(const shoal_force *force, char *why)
{
    return table_is_sound("forces", force->doc, force->parameters, force->n_parameters, why);
}

/* Whether neither every result nor another monitor has such a column. */
static bool column_is_new(const shoal_plugs *plugs, const shoal_monitor *monitor, const char *name)
{
    if (shoal_result_has(name))
        return false;
    for (int i = 0; plugs->monitors[i]; i++)
        for (int k = 0; plugs->monitors[i] != monitor && k < plugs->monitors[i]->n_columns; k++)
            if (strcmp(plugs->monitors[i]->columns[k].name, name) == 0)
                return false;
    return true;
}

static bool monitor_is_sound(const shoal_plugs *plugs, const shoal_monitor *monitor, char *why)
{
    EXPECT(monitor->n_slots >= 0 && monitor->n_slots <= SHOAL_MAX_SLOTS && (monitor->initial || monitor->n_slots == 0),
           "at most %d slots, and their first values", SHOAL_MAX_SLOTS);
    EXPECT(monitor->n_part_slots >= 0 && monitor->n_part_slots <= SHOAL_MAX_SLOTS &&
               (monitor->part_initial || monitor->n_part_slots == 0) && monitor->parts >= SHOAL_NO_PARTS &&
               monitor->parts <= SHOAL_ONE_PART && (monitor->parts == SHOAL_NO_PARTS) == (monitor->n_part_slots == 0),
           "part slots, at most %d, and their first values, if it has parts, and none if not", SHOAL_MAX_SLOTS);
    EXPECT(monitor->n_columns >= 0 && (monitor->columns || monitor->n_columns == 0), "a table of columns");
    for (int i = 0; i < monitor->n_columns; i++) {
        const shoal_monitor_column *column = &monitor->columns[i];
        EXPECT(column->name && shoal_is_identifier(column->name), "column %d to have a name, an identifier", i);
        EXPECT(column_is_new(plugs, monitor, column->name),
               "a column of another name than '%s', which a result has already", column->name);
        EXPECT(column->doc && column->finish, "a doc and a function `finish` of column '%s'", column->name);
        EXPECT(dimension_is_known(column->dimension), "the dimension of column '%s': " DIMENSIONS, column->name);
        EXPECT(column->of == SHOAL_OF_SYSTEM ||
                   (monitor->n_part_slots > 0 && column->of >= SHOAL_OF_SYSTEM && column->of <= SHOAL_OF_LEAST),
               "part slots for column '%s', and one of SHOAL_OF_*", column->name);
    }
    EXPECT(monitor->n_log >= 0 && monitor->n_log <= SHOAL_MAX_SLOTS && (monitor->log || monitor->n_log == 0),
           "a table of at most %d log columns", SHOAL_MAX_SLOTS);
    for (int i = 0; i < monitor->n_log; i++) {
        const shoal_log_column *column = &monitor->log[i];
        EXPECT(column->name && shoal_is_identifier(column->name), "log column %d to have a name, an identifier", i);
        EXPECT(strcmp(column->name, "system") != 0 && strcmp(column->name, "time") != 0,
               "a log column of another name than '%s', which every log has", column->name);
        for (int k = 0; k < i; k++)
            EXPECT(strcmp(column->name, monitor->log[k].name) != 0, "one log column '%s', not two", column->name);
        EXPECT(column->doc, "a doc of log column '%s'", column->name);
        EXPECT(dimension_is_known(column->dimension) ||
                   (column->dimension && strcmp(column->dimension, SHOAL_DIMENSION_BODY) == 0),
               "the dimension of log column '%s': " DIMENSIONS ", or SHOAL_DIMENSION_BODY", column->name);
    }
    return table_is_sound("monitors", monitor->doc, monitor->parameters, monitor->n_parameters, why);
}

bool shoal_plug_is_sound(const shoal_plugs *plugs, const shoal_propagator *propagator, const shoal_force *force,
                         const shoal_monitor *monitor, char *why)
{
    return propagator ? propagator_is_sound(propagator, why)
           : force    ? force_is_sound(force, why)
                      : monitor_is_sound(plugs, monitor, why);
}

shoal_status shoal_plugin_load(shoal_context *context, const char *path)
{
    if (!context || shoal_check_given(context, __func__, "path", path))
        return SHOAL_E_USAGE;
    return shoal_plugin_add(context, path, shoal_plug_is_sound);
}
