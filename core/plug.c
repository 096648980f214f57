/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * plug.c: the propagators, extra forces and monitors of this build, from the list.h of their folders; and whether a descriptor is sound.
 *
 * Each list is expanded to declare the descriptors, to count them, and to make the array of their addresses. The place of a
 * monitor or a force in its list is its bit in shoal_kernel_args.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "result.h"

#define PROPAGATOR(name) extern const shoal_propagator shoal_propagator_##name;
#include "../integrators/list.h"
#undef PROPAGATOR
#define MONITOR(name) extern const shoal_monitor shoal_monitor_##name;
#include "../monitors/list.h"
#undef MONITOR
#define FORCE(name) extern const shoal_force shoal_force_##name;
#include "../gravitation/list.h"
#undef FORCE

/* How many lines a list has. */
#define PROPAGATOR(name) +1
#define MONITOR(name) +1
#define FORCE(name) +1
_Static_assert((0
#include "../integrators/list.h"
                ) <= SHOAL_MAX_PROPAGATORS,
               "raise SHOAL_MAX_PROPAGATORS");
_Static_assert((0
#include "../monitors/list.h"
                ) <= SHOAL_MAX_MONITORS,
               "raise SHOAL_MAX_MONITORS");
_Static_assert((0
#include "../gravitation/list.h"
                ) <= SHOAL_MAX_FORCE_KINDS,
               "a force is a bit of shoal_kernel_args.forces");
#undef PROPAGATOR
#undef MONITOR
#undef FORCE

/* Index of a word in a list whose words are parted by the character `between`, -1 if it is not there. */
static int word_index(const char *words, char between, const char *word)
{
    const char ends[] = { between, '\0' };
    const size_t length = strlen(word);
    int index = 0;
    for (const char *at = words; at; index++) {
        const size_t span = strcspn(at, ends);
        if (span > 0 && span == length && memcmp(at, word, length) == 0)
            return index;
        at = at[span] ? at + span + 1 : NULL;
    }
    return -1;
}

const shoal_plugs *shoal_plugs_of(const shoal_context *context)
{
    static const shoal_plugs builtin = {
        .propagators = {
#define PROPAGATOR(name) &shoal_propagator_##name,
#include "../integrators/list.h"
#undef PROPAGATOR
        },
        .monitors = {
#define MONITOR(name) &shoal_monitor_##name,
#include "../monitors/list.h"
#undef MONITOR
        },
        .forces = {
#define FORCE(name) &shoal_force_##name,
#include "../gravitation/list.h"
#undef FORCE
        },
    };
    return context && context->plugs ? context->plugs : &builtin;
}

/* What follows an alias in "wh,rk4 (method=rk4)"; NULL if it is not there. */
static const char *alias_find(const char *aliases, const char *name)
{
    for (const char *at = aliases; *at; at += strcspn(at, ","), at += *at == ',') {
        const size_t span = strcspn(at, " ,");
        if (span > 0 && span == strlen(name) && memcmp(at, name, span) == 0)
            return at + span;
    }
    return NULL;
}

const shoal_propagator *shoal_propagator_find(const shoal_context *context, const char *name)
{
    const shoal_propagator *const *all = shoal_plugs_of(context)->propagators;
    for (int i = 0; all[i]; i++)
        if (strcmp(all[i]->name, name) == 0 || (all[i]->aliases && alias_find(all[i]->aliases, name)))
            return all[i];
    return NULL;
}

int shoal_propagator_preset(const shoal_propagator *propagator, const char *name, int which, double *value)
{
    char parameter[32], word[32];
    const char *sets = propagator->aliases ? alias_find(propagator->aliases, name) : NULL;
    if (!sets || strncmp(sets, " (", 2) != 0)
        return -1;
    for (sets += 2; which > 0 && *sets && *sets != ')'; sets++)
        which -= *sets == ';';
    if (which > 0 || sscanf(sets, "%31[^=]=%31[^;)]", parameter, word) != 2)
        return -1;
    int i = 0;
    while (i < propagator->n_parameters && strcmp(propagator->parameters[i].name, parameter) != 0)
        i++;
    if (i == propagator->n_parameters)
        return -1;
    const shoal_parameter *sets_this = &propagator->parameters[i];
    *value = sets_this->type == SHOAL_CHOICE ? shoal_choice_index(sets_this->choices, word) : atof(word);
    return i;
}

#define FIND_BY_NAME(kind)                                                                   \
    int shoal_##kind##_find(const shoal_context *context, const char *name)                  \
    {                                                                                        \
        const shoal_##kind *const *all = shoal_plugs_of(context)->kind##s;                   \
        for (int i = 0; all[i]; i++)                                                         \
            if (strcmp(all[i]->name, name) == 0)                                             \
                return i;                                                                    \
        return -1;                                                                           \
    }
FIND_BY_NAME(monitor)
FIND_BY_NAME(force)

#define ALL_NAMES(kind)                                                                          \
    int shoal_##kind##_names(const shoal_context *context, const char **names, int limit)       \
    {                                                                                            \
        const shoal_##kind *const *all = shoal_plugs_of(context)->kind##s;                       \
        int n = 0;                                                                               \
        for (; n < limit && all[n]; n++)                                                         \
            names[n] = all[n]->name;                                                             \
        return n;                                                                                \
    }
ALL_NAMES(propagator)
ALL_NAMES(monitor)
ALL_NAMES(force)

int shoal_monitor_n_parts(const shoal_monitor *monitor, int n_bodies)
{
    return monitor->parts == SHOAL_BODIES ? n_bodies - 1 : monitor->parts == SHOAL_PAIRS ? SHOAL_N_PAIRS(n_bodies) : 0;
}

int shoal_monitor_n_of(const shoal_monitor *monitor, int column, int n_bodies)
{
    if (monitor->columns[column].of != SHOAL_OF_EACH)
        return 1;
    return monitor->parts == SHOAL_PAIRS && n_bodies > SHOAL_MAX_PAIRED ? 0 : shoal_monitor_n_parts(monitor, n_bodies);
}

void shoal_monitor_column_name(const shoal_monitor *monitor, int column, int part, int n_bodies,
                               char (*body_name)[SHOAL_NAME_SIZE], char name[SHOAL_COLUMN_SIZE])
{
    int bodies[2] = {part + 1, 0}, n = monitor->columns[column].of != SHOAL_OF_EACH ? 0 : monitor->parts == SHOAL_PAIRS ? 2 : 1;
    for (int i = 0; n == 2 && i < n_bodies; i++)
        for (int j = i + 1; j < n_bodies; j++)
            if (SHOAL_PAIR(n_bodies, i, j) == part) {
                bodies[0] = i;
                bodies[1] = j;
            }
    int used = snprintf(name, SHOAL_COLUMN_SIZE, "%s", monitor->columns[column].name);
    for (int k = 0; k < n && used < SHOAL_COLUMN_SIZE; k++)
        used += body_name ? snprintf(name + used, SHOAL_COLUMN_SIZE - (size_t)used, "_%s", body_name[bodies[k]])
                          : snprintf(name + used, SHOAL_COLUMN_SIZE - (size_t)used, "_%d", bodies[k]);
}

int shoal_choice_index(const char *choices, const char *word)
{
    return word_index(choices, '|', word);
}

/* ---- descriptors that others write ------------------------------------------------------------------------------------- */

bool shoal_is_identifier(const char *name)
{
    size_t length = 0;
    for (; isalnum((unsigned char)name[length]) || name[length] == '_'; length++)
        ;
    return length > 0 && !name[length] && !isdigit((unsigned char)name[0]);
}

/* A clause of the functions below, which return whether a descriptor is sound: else why = [SHOAL_MESSAGE_SIZE] says what was expected. */
#define EXPECT(good, ...)                                  \
    if (!(good)) {                                         \
        snprintf(why, SHOAL_MESSAGE_SIZE, __VA_ARGS__);    \
        return false;                                      \
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
    EXPECT(doc && n >= 0 && n <= SHOAL_MAX_PARAMETERS && (parameters || n == 0), "a doc and a table of at most %d parameters", SHOAL_MAX_PARAMETERS);
    for (int i = 0; i < n; i++) {
        const shoal_parameter *p = &parameters[i];
        EXPECT(p->name && shoal_is_identifier(p->name), "parameter %d to have a name, an identifier", i);
        EXPECT(!shoal_key_find(section, p->name), "a parameter of another name than '%s', which is a key of '%s'", p->name, section);
        EXPECT(p->doc, "a doc of parameter '%s'", p->name);
        EXPECT(dimension_is_known(p->dimension), "the dimension of parameter '%s': " DIMENSIONS, p->name);
        EXPECT(p->type >= SHOAL_REAL && p->type <= SHOAL_BODY, "a type of parameter '%s'", p->name);
        EXPECT(p->type != SHOAL_CHOICE || (p->choices && *p->choices), "the choices of parameter '%s'", p->name);
        int last = 0; /* choice */
        for (const char *at = p->choices; p->type == SHOAL_CHOICE && *at; at++)
            last += *at == '|';
        EXPECT(p->least <= p->most && !(p->initial < p->least) && !(p->initial > p->most) &&
                   (p->type != SHOAL_CHOICE || (p->least >= 0 && p->most <= last)),
               "parameter '%s' to have its initial value between least and most, and these to be indices of choices if it has any", p->name);
    }
    return true;
}

bool shoal_propagator_is_sound(const shoal_propagator *propagator, char *why)
{
    EXPECT(propagator->n_slots > 0 && propagator->slots && propagator->n_own >= 0, "the names of n_slots > 0 slots, and n_own >= 0");
    for (int i = 0; i < propagator->n_slots; i++)
        EXPECT(propagator->slots[i], "a name of slot %d of %d", i, propagator->n_slots);
    EXPECT(propagator->first_body == 0 || propagator->first_body == 1, "first_body 0 or 1");
    return table_is_sound("integrator", propagator->doc, propagator->parameters, propagator->n_parameters, why);
}

bool shoal_force_is_sound(const shoal_force *force, char *why)
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

bool shoal_monitor_is_sound(const shoal_plugs *plugs, const shoal_monitor *monitor, char *why)
{
    EXPECT(monitor->n_slots >= 0 && monitor->n_slots <= SHOAL_MAX_SLOTS && (monitor->initial || monitor->n_slots == 0),
           "at most %d slots, and their first values", SHOAL_MAX_SLOTS);
    EXPECT(monitor->n_part_slots >= 0 && monitor->n_part_slots <= SHOAL_MAX_SLOTS && (monitor->part_initial || monitor->n_part_slots == 0) &&
               monitor->parts >= SHOAL_NO_PARTS && monitor->parts <= SHOAL_PAIRS && (monitor->parts == SHOAL_NO_PARTS) == (monitor->n_part_slots == 0),
           "part slots, at most %d, and their first values, if it has parts, and none if not", SHOAL_MAX_SLOTS);
    EXPECT(monitor->n_columns >= 0 && (monitor->columns || monitor->n_columns == 0), "a table of columns");
    for (int i = 0; i < monitor->n_columns; i++) {
        const shoal_monitor_column *column = &monitor->columns[i];
        EXPECT(column->name && shoal_is_identifier(column->name), "column %d to have a name, an identifier", i);
        EXPECT(column_is_new(plugs, monitor, column->name), "a column of another name than '%s', which a result has already", column->name);
        EXPECT(column->doc && column->finish, "a doc and a function `finish` of column '%s'", column->name);
        EXPECT(dimension_is_known(column->dimension), "the dimension of column '%s': " DIMENSIONS, column->name);
        EXPECT(column->of == SHOAL_OF_SYSTEM || (monitor->n_part_slots > 0 && column->of >= SHOAL_OF_SYSTEM && column->of <= SHOAL_OF_LEAST),
               "part slots for column '%s', and one of SHOAL_OF_*", column->name);
    }
    return table_is_sound("monitors", monitor->doc, monitor->parameters, monitor->n_parameters, why);
}
