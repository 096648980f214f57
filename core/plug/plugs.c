/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * plugs.c: the propagators, extra forces and monitors of this build, from the list.h of their folders; and to look
 * among them.
 *
 * Each list is expanded to declare the descriptors, to count them, and to make the array of their addresses. The place
 * of a monitor or a force in its list is its bit in shoal_kernel_args.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/plug/plugs.h"

#define PROPAGATOR(name) extern const shoal_propagator shoal_propagator_##name;
#include "integrators/list.h"
#undef PROPAGATOR
#define MONITOR(name, sees) extern const shoal_monitor shoal_monitor_##name;
#include "monitors/list.h"
#undef MONITOR
#define FORCE(name) extern const shoal_force shoal_force_##name;
#include "gravitation/list.h"
#undef FORCE

/* How many lines a list has. */
#define PROPAGATOR(name)    +1
#define MONITOR(name, sees) +1
#define FORCE(name)         +1
_Static_assert((0
#include "integrators/list.h"
                ) <= SHOAL_MAX_PROPAGATORS,
               "raise SHOAL_MAX_PROPAGATORS");
_Static_assert((0
#include "monitors/list.h"
                ) <= SHOAL_MAX_MONITORS,
               "raise SHOAL_MAX_MONITORS");
_Static_assert((0
#include "gravitation/list.h"
                ) <= SHOAL_MAX_FORCE_KINDS,
               "a force is a bit of shoal_kernel_args.forces");
#undef PROPAGATOR
#undef MONITOR
#undef FORCE

/* Index of a word in a list whose words are parted by the character `between`, -1 if it is not there. */
static int word_index(const char *words, char between, const char *word)
{
    const char ends[] = {between, '\0'};
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
        .propagators =
            {
#define PROPAGATOR(name) &shoal_propagator_##name,
#include "integrators/list.h"
#undef PROPAGATOR
            },
        .monitors =
            {
#define MONITOR(name, sees) &shoal_monitor_##name,
#include "monitors/list.h"
#undef MONITOR
            },
        .forces =
            {
#define FORCE(name) &shoal_force_##name,
#include "gravitation/list.h"
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
    *value = sets_this->type == SHOAL_CHOICE ? shoal_choice_index(sets_this->choices, word)
                                             : shoal_number_read(word, NULL);
    return i;
}

#define FIND_BY_NAME(kind)                                                  \
    int shoal_##kind##_find(const shoal_context *context, const char *name) \
    {                                                                       \
        const shoal_##kind *const *all = shoal_plugs_of(context)->kind##s;  \
        for (int i = 0; all[i]; i++)                                        \
            if (strcmp(all[i]->name, name) == 0)                            \
                return i;                                                   \
        return -1;                                                          \
    }
FIND_BY_NAME(monitor)
FIND_BY_NAME(force)

#define ALL_NAMES(kind)                                                                   \
    int shoal_##kind##_names(const shoal_context *context, const char **names, int limit) \
    {                                                                                     \
        const shoal_##kind *const *all = shoal_plugs_of(context)->kind##s;                \
        int n = 0;                                                                        \
        for (; n < limit && all[n]; n++)                                                  \
            names[n] = all[n]->name;                                                      \
        return n;                                                                         \
    }
ALL_NAMES(propagator)
ALL_NAMES(monitor)
ALL_NAMES(force)

const char *shoal_plug_setting(const shoal_context *context, const char *plug, int i, const char **dimension)
{
    if (!plug || i < 0)
        return NULL;
    const shoal_plugs *all = shoal_plugs_of(context);
    const shoal_propagator *propagator = shoal_propagator_find(context, plug);
    const int monitor = shoal_monitor_find(context, plug), force = shoal_force_find(context, plug);
    const shoal_parameter *parameters = propagator     ? propagator->parameters
                                        : monitor >= 0 ? all->monitors[monitor]->parameters
                                        : force >= 0   ? all->forces[force]->parameters
                                                       : NULL;
    const int n = propagator     ? propagator->n_parameters
                  : monitor >= 0 ? all->monitors[monitor]->n_parameters
                  : force >= 0   ? all->forces[force]->n_parameters
                                 : 0;
    if (i >= n)
        return NULL;
    if (dimension)
        *dimension = parameters[i].type == SHOAL_BODY     ? SHOAL_DIMENSION_BODY
                     : parameters[i].type == SHOAL_CHOICE ? "choice"
                                                          : parameters[i].dimension;
    return parameters[i].name;
}

shoal_monitor_parts shoal_monitor_parts_of(const shoal_monitor *monitor, const double *parameters)
{
    return monitor->parts_for ? monitor->parts_for(parameters) : monitor->parts;
}

int shoal_monitor_n_parts(const shoal_monitor *monitor, const double *parameters, int n_bodies)
{
    const shoal_monitor_parts parts = shoal_monitor_parts_of(monitor, parameters);
    return parts == SHOAL_BODIES  ? n_bodies - 1
           : parts == SHOAL_PAIRS ? SHOAL_N_PAIRS(n_bodies)
                                  : parts == SHOAL_ONE_PART;
}

int shoal_monitor_n_of(const shoal_monitor *monitor, const double *parameters, int column, int n_bodies)
{
    if (monitor->columns[column].of != SHOAL_OF_EACH)
        return 1;
    return shoal_monitor_parts_of(monitor, parameters) == SHOAL_PAIRS && n_bodies > SHOAL_MAX_PAIRED
               ? 0
               : shoal_monitor_n_parts(monitor, parameters, n_bodies);
}

void shoal_monitor_column_name(const shoal_monitor_place *of, char (*body_name)[SHOAL_NAME_SIZE],
                               char name[SHOAL_COLUMN_SIZE])
{
    const shoal_monitor_column *column = &of->monitor->columns[of->column];
    const shoal_monitor_parts parts = shoal_monitor_parts_of(of->monitor, of->parameters);
    int bodies[2] = {of->part + 1, 0};
    const int n = column->of != SHOAL_OF_EACH || parts == SHOAL_ONE_PART ? 0 : parts == SHOAL_PAIRS ? 2 : 1;
    for (int i = 0; n == 2 && i < of->n_bodies; i++)
        for (int j = i + 1; j < of->n_bodies; j++)
            if (SHOAL_PAIR(of->n_bodies, i, j) == of->part) {
                bodies[0] = i;
                bodies[1] = j;
            }
    int used = snprintf(name, SHOAL_COLUMN_SIZE, "%s", column->name);
    for (int k = 0; k < n && used < SHOAL_COLUMN_SIZE; k++)
        used += body_name ? snprintf(name + used, SHOAL_COLUMN_SIZE - (size_t)used, "_%s", body_name[bodies[k]])
                          : snprintf(name + used, SHOAL_COLUMN_SIZE - (size_t)used, "_%d", bodies[k]);
}

const shoal_setting *shoal_setting_find(const shoal_setting *settings, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(settings[i].name, name) == 0)
            return &settings[i];
    return NULL;
}

int shoal_choice_index(const char *choices, const char *word)
{
    return word_index(choices, '|', word);
}

bool shoal_is_identifier(const char *name)
{
    size_t length = 0;
    for (; isalnum((unsigned char)name[length]) || name[length] == '_'; length++)
        ;
    return length > 0 && !name[length] && !isdigit((unsigned char)name[0]);
}
