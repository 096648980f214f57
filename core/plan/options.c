/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * options.c: the options of a plan as its caller gives them: of this version, an older or a newer one. What they say is
 * checked in choose.c.
 */
#include <limits.h>
#include <math.h>
#include <stddef.h>

#include "core/plan/plan.h"

/* Those of version 0.1 end with max_steps: a size of 0 stands for that. */
#define SIZE_0_1 ((long)(offsetof(shoal_options, max_steps) + sizeof(double)))

shoal_status shoal_options_init(shoal_options *options, long size)
{
    if (!options || size < SIZE_0_1)
        return SHOAL_E_USAGE;
    memset(options, 0, (size_t)size);
    options->size = size;
    return SHOAL_OK;
}

static shoal_status check_settings(shoal_context *context, const char *function, const char *of,
                                   const shoal_setting *settings, int n)
{
    char name[128];
    snprintf(name, sizeof name, "%.60s: n_settings", of);
    shoal_status status = shoal_check_range(context, function, name, n, (long[2]){0, INT_MAX});
    snprintf(name, sizeof name, "%.60s: settings", of);
    if (!status && n > 0)
        status = shoal_check_given(context, function, name, settings);
    for (int i = 0; i < n && !status; i++) {
        snprintf(name, sizeof name, "%.60s: settings[%d].name", of, i);
        status = shoal_check_given(context, function, name, settings[i].name);
    }
    return status;
}

static shoal_status check_plugs(shoal_context *context, const char *function, const char *of,
                                const shoal_plug_options *plugs, int n)
{
    char name[64];
    snprintf(name, sizeof name, "n_%s", of);
    shoal_status status = shoal_check_range(context, function, name, n, (long[2]){0, INT_MAX});
    if (!status && n > 0)
        status = shoal_check_given(context, function, of, plugs);
    for (int i = 0; i < n && !status; i++) {
        snprintf(name, sizeof name, "%s[%d].name", of, i);
        status = shoal_check_given(context, function, name, plugs[i].name);
        if (!status)
            status = check_settings(context, function, plugs[i].name, plugs[i].settings, plugs[i].n_settings);
    }
    return status;
}

shoal_status shoal_options_read(shoal_context *context, const char *function, const shoal_options *given,
                                shoal_options *options)
{
    if (shoal_check_given(context, function, "options", given))
        return SHOAL_E_USAGE;
    const long size = given->size ? given->size : SIZE_0_1;
    if (size < SIZE_0_1)
        return shoal_fail(context, SHOAL_E_USAGE, "%s: options.size = %ld: expected 0, or %ld or more", function, size,
                          SIZE_0_1);
    *options = (shoal_options){0};
    memcpy(options, given, size < (long)sizeof *options ? (size_t)size : sizeof *options);
    for (long i = (long)sizeof *options; i < size; i++)
        if (((const char *)given)[i])
            return shoal_fail(context, SHOAL_E_USAGE,
                              "%s: options.size = %ld: a member behind the first %zu bytes is set, which this library "
                              "(%s) does not know",
                              function, size, sizeof *options, SHOAL_VERSION);
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"t_end", options->t_end}, {"orbits", options->orbits}, {"dt", options->dt}};
    for (int i = 0; i < SHOAL_COUNT(numbers); i++)
        if (!isfinite(numbers[i].value))
            return shoal_fail(context, SHOAL_E_USAGE, "%s: %s = %g: expected a finite number", function,
                              numbers[i].name, numbers[i].value);
    shoal_status status = check_settings(context, function, "propagator", options->settings, options->n_settings);
    if (!status)
        status = check_plugs(context, function, "monitors", options->monitors, options->n_monitors);
    if (!status)
        status = check_plugs(context, function, "forces", options->forces, options->n_forces);
    return status;
}
