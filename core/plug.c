/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * plug.c: the propagators, gravitation terms and monitors of this build, from the list.h of their folders.
 *
 * Each list is expanded twice: once to declare the descriptors, once to make the array of their addresses. A monitor's
 * place in its list is its bit in shoal_kernel_args.monitors.
 */
#include <string.h>

#include "internal.h"

#define PROPAGATOR(name) extern const shoal_propagator shoal_propagator_##name;
#include "../integrators/list.h"
#undef PROPAGATOR
#define MONITOR(name) extern const shoal_monitor shoal_monitor_##name;
#include "../monitors/list.h"
#undef MONITOR
#define GRAVITATION(name) extern const shoal_gravitation shoal_gravitation_##name;
#include "../gravitation/list.h"
#undef GRAVITATION

const shoal_propagator *const shoal_propagators[] = {
#define PROPAGATOR(name) &shoal_propagator_##name,
#include "../integrators/list.h"
#undef PROPAGATOR
    NULL
};

const shoal_monitor *const shoal_monitors[] = {
#define MONITOR(name) &shoal_monitor_##name,
#include "../monitors/list.h"
#undef MONITOR
    NULL
};

const shoal_gravitation *const shoal_gravitations[] = {
#define GRAVITATION(name) &shoal_gravitation_##name,
#include "../gravitation/list.h"
#undef GRAVITATION
    NULL
};

_Static_assert(SHOAL_COUNT(shoal_monitors) - 1 <= SHOAL_MAX_MONITORS, "raise SHOAL_MAX_MONITORS");

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

const shoal_propagator *shoal_propagator_find(const char *name)
{
    for (int i = 0; shoal_propagators[i]; i++)
        if (strcmp(shoal_propagators[i]->name, name) == 0 || word_index(shoal_propagators[i]->aliases, ',', name) >= 0)
            return shoal_propagators[i];
    return NULL;
}

int shoal_monitor_find(const char *name)
{
    for (int i = 0; shoal_monitors[i]; i++)
        if (strcmp(shoal_monitors[i]->name, name) == 0)
            return i;
    return -1;
}

int shoal_propagator_names(const char **names, int limit)
{
    int n = 0;
    for (; n < limit && shoal_propagators[n]; n++)
        names[n] = shoal_propagators[n]->name;
    return n;
}

int shoal_monitor_names(const char **names, int limit)
{
    int n = 0;
    for (; n < limit && shoal_monitors[n]; n++)
        names[n] = shoal_monitors[n]->name;
    return n;
}

int shoal_choice_index(const char *choices, const char *word)
{
    return word_index(choices, '|', word);
}
