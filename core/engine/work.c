/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * work.c: the host's side of the work models of a GPU: how many threads advance a system, how much shared memory they
 * need, and whether the device has it. team.h is the kernel's side.
 */
#include <stdlib.h>
#include <string.h>

#include "core/engine/engine.h"

int shoal_environment_number(const char *name, int value, int least, int most)
{
    const char *text = getenv(name);
    if (!text || !*text)
        return value;
    char *end;
    long number = strtol(text, &end, 10);
    return *end || number < least || number > most ? value : (int)number;
}

const char *shoal_model_name(const shoal_kernel_choice *choice)
{
    static const char *const names[SHOAL_MODELS] = {"system", "body", "component", "pair"};
    return names[choice->model];
}

bool shoal_model_choose(shoal_kernel_choice *choice, const char *name)
{
    const int index = shoal_choice_index(SHOAL_MODEL_CHOICES, name) - 1;
    if (index >= 0)
        choice->model = index;
    return index >= 0;
}

enum { MOST_THREADS = 1024, WARP = 32 }; /* of a block */
#define MOST_SHARED 232448               /* bytes that a block may ask for, unless the device says: capability 9.0 */

static int team_parts(const shoal_kernel_choice *choice)
{
    return choice->n_bodies - choice->propagator->first_body;
}

int shoal_team_each(const shoal_kernel_choice *choice)
{
    const int parts = team_parts(choice);
    int each = choice->model == SHOAL_MODEL_BODY && choice->propagator->several_bodies ? choice->tuning.bodies : 1;
    if (each == 5 && parts == 10 && choice->n_massive == choice->n_bodies && !choice->variational)
        return 5; /* newton_five of newton.kern.h */
    for (each &= ~1; each > 1 && (parts % each || parts == each);)
        each /= 2;
    return each > 1 ? each : 1;
}

int shoal_team_threads(const shoal_kernel_choice *choice)
{
    const int parts = team_parts(choice), pairs = parts * (parts - 1) / 2;
    switch (choice->model) {
    case SHOAL_MODEL_BODY: return parts / shoal_team_each(choice);
    case SHOAL_MODEL_COMPONENT: return 3 * parts;
    case SHOAL_MODEL_PAIR: return pairs <= 3 * parts ? 3 * parts : pairs <= MOST_THREADS ? pairs : MOST_THREADS;
    default: return 1;
    }
}

int shoal_team_block(const shoal_kernel_choice *choice, int block)
{
    const int team = shoal_team_threads(choice);
    return team > WARP ? (team + WARP - 1) / WARP * WARP : block;
}

int shoal_team_systems(const shoal_kernel_choice *choice, int block)
{
    const int team = shoal_team_threads(choice);
    return team > WARP ? 1 : block / WARP * (WARP / team);
}

/* Whether a monitor looks at the state before a step, too. Of a monitor in a plugin this is assumed. */
static bool looks_back(int monitors)
{
    const shoal_monitor *const *builtin = shoal_plugs_of(NULL)->monitors;
    int i = 0;
    for (; builtin[i]; i++)
        if (monitors >> i & 1 && !builtin[i]->ends_only)
            return true;
    return monitors >> i != 0;
}

/* Masses of bodies and of their tangent vectors, what is exchanged and one for its skew (team.h), and for monitors
 * that look at it the view before a step: what they do not take of a multiprocessor's cache is left for what threads
 * spill. Against bank conflicts it is the threads that have bodies, modulo the 16 banks: what the teams of a warp
 * read together then lies side by side. */
int shoal_team_doubles(const shoal_kernel_choice *choice)
{
    const int n = choice->n_bodies;
    const int exchanged = SHOAL_TEAM_EXCHANGED(choice->model, n, shoal_choice_moved(choice)) + 1;
    const int used = 2 * n + exchanged + (looks_back(choice->monitors) ? 6 * n : 0);
    return used + ((team_parts(choice) / shoal_team_each(choice) - used) & 15);
}

size_t shoal_team_shared(const shoal_kernel_choice *choice, int block)
{
    if (shoal_team_threads(choice) == 1)
        return 0;
    return sizeof(double) * (size_t)shoal_team_systems(choice, block) * (size_t)shoal_team_doubles(choice);
}

bool shoal_team_is_one(const shoal_kernel_choice *choice, int entries)
{
    const int aside = choice->propagator->sets_aside ? 1 << SHOAL_BARE | 1 << SHOAL_OBSERVE | SHOAL_ASIDE_ENTRIES : 0;
    return shoal_team_threads(choice) == 1 ||
           !(entries & ~(SHOAL_ONCE_ENTRIES | 1 << SHOAL_FINISH | SHOAL_WALKER_ENTRIES | aside));
}

bool shoal_team_fits(const shoal_kernel_choice *choice)
{
    const int block = shoal_team_block(choice, WARP);
    return block <= MOST_THREADS &&
           shoal_team_shared(choice, block) <= (choice->shared_most ? choice->shared_most : MOST_SHARED);
}
