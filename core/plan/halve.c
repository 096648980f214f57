/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * halve.c: the same options with half the step, which tell how far results depend on it.
 */
#include <stdio.h>
#include <string.h>

#include "core/plan/plan.h"

/* From which parameters adaptive propagators take their steps, and by what they are divided for about half of it: the
 * step is as epsilon^(1/7), as tolerance to one over the order, as the root of eta (of order 6: as eta), as tau. */
static const struct {
    const char *name;
    double by;
} tolerances[] = {{"epsilon", 128}, {"tolerance", 100}, {"eta", 4}, {"tau", 2}};

/* Divide what an adaptive propagator's steps follow from. */
static void divide_tolerances(const shoal_propagator *propagator, shoal_halved *half)
{
    shoal_options *options = &half->options;
    size_t used = 0;
    for (int i = 0; i < propagator->n_parameters; i++)
        for (int k = 0; k < SHOAL_COUNT(tolerances); k++) {
            const shoal_parameter *row = &propagator->parameters[i];
            if (strcmp(row->name, tolerances[k].name) != 0)
                continue;
            const shoal_setting *given = shoal_setting_find(half->settings, options->n_settings, row->name);
            const double by = tolerances[k].by, value = (given ? given->value : row->initial) / by;
            if (value < row->least) {
                half->at_least = by * row->least;
                half->by = by;
                half->what = row->name;
                return;
            }
            const long at = given ? given - half->settings : options->n_settings++;
            half->settings[at] = (shoal_setting){.name = row->name, .value = value};
            used += (size_t)snprintf(half->changed + used, sizeof half->changed - used, "%s%s / %g", used ? ", " : "",
                                     row->name, by);
        }
    if (!used)
        half->what = "name";
}

bool shoal_options_halve(const shoal_propagator *propagator, const shoal_options *options, shoal_halved *half)
{
    *half = (shoal_halved){.options = *options, .changed = "half the step"};
    half->options.max_steps *= 2;
    half->options.dt_min /= 2;
    half->options.dt_max /= 2;
    half->options.dt /= 2;
    half->options.steps_per_orbit *= 2;
    for (int i = 0; i < options->n_settings; i++)
        half->settings[i] = options->settings[i];
    half->options.settings = half->settings;
    if (propagator->adaptive)
        divide_tolerances(propagator, half);
    return !half->what;
}
