/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * devices.c: which GPUs of the machine share the systems of a plan. What they do is in core/engine/devices.c; no result
 * depends on it.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/plan.h"

/* By default a GPU more has at least so many systems, which keep it busy (a warp for every scheduler of a H200), and so
 * many seconds of work: it takes some tenths until it is ready. */
#define SYSTEMS_A_DEVICE 16384
#define SECONDS_A_DEVICE 0.5

bool shoal_plan_read_devices(const char *text, shoal_devices *list, int *count)
{
    char *end;
    *list = (shoal_devices){0};
    *count = !text || strcmp(text, "auto") == 0 ? 0 : -1;
    if (*count == 0 || strcmp(text, "all") == 0)
        return true;
    if (isdigit((unsigned char)*text)) {
        const long n = strtol(text, &end, 10);
        *count = (int)n;
        return n >= 1 && n <= SHOAL_MOST_DEVICES && !*end;
    }
    if (*text != '[')
        return false;
    do {
        const long which = isdigit((unsigned char)text[1]) ? strtol(text + 1, &end, 10) : -1;
        bool is_new = which >= 0 && which < SHOAL_MOST_DEVICES && list->n < SHOAL_MOST_DEVICES;
        for (int i = 0; i < list->n && is_new; i++)
            is_new = list->which[i] != which;
        if (!is_new)
            return false;
        list->which[list->n++] = (int)which;
        text = end;
    } while (*text == ',');
    return strcmp(text, "]") == 0;
}

static shoal_fault devices_fault(const shoal_options *options)
{
    return (shoal_fault){.of = SHOAL_FAULT_OPTION, .name = "devices", .word = options->devices};
}

shoal_status shoal_plan_check_devices(shoal_context *context, const shoal_options *options, shoal_fault *fault)
{
    shoal_devices list;
    int count;
    if (shoal_plan_read_devices(options->devices, &list, &count))
        return SHOAL_OK;
    return shoal_refuse(context, fault, SHOAL_E_USAGE, devices_fault(options),
                        "\"auto\", \"all\", a number of GPUs up to %d, or a list of different ones such as [0,2]",
                        SHOAL_MOST_DEVICES);
}

/* The first n of some. */
static shoal_devices first_of(shoal_devices some, long n)
{
    some.n = n < 1 ? 1 : n < some.n ? (int)n : some.n;
    return some;
}

shoal_status shoal_plan_choose_devices(shoal_plan *plan, const shoal_options *options)
{
    const double n = plan->ensemble->n_bodies, seconds = plan->findings->run_steps * n * n * SHOAL_PAIR_S;
    shoal_devices list;
    int count;
    plan->devices.n = 0;
    if (plan->engine_type != &shoal_engine_cuda || !shoal_plan_read_devices(options->devices, &list, &count))
        return SHOAL_OK;
    if (list.n == 0 && count == 0) {
        const double pays = fmin((double)plan->n_list / SYSTEMS_A_DEVICE, seconds / SECONDS_A_DEVICE);
        plan->devices = pays < 2 ? (shoal_devices){1, {0}}
                                 : first_of(shoal_engine_cuda_devices(true), (long)fmin(pays, SHOAL_MOST_DEVICES));
        return SHOAL_OK;
    }
    const shoal_devices all = shoal_engine_cuda_devices(false);
    int most = list.n > 0 ? 0 : count - 1;
    for (int i = 0; i < list.n; i++)
        most = list.which[i] > most ? list.which[i] : most;
    if (most >= all.n)
        return shoal_refuse(plan->context, &plan->findings->fault, SHOAL_E_USAGE, devices_fault(options),
                            "GPUs that are here: there are %d (`shoal info`)", all.n);
    plan->devices = list.n > 0 ? list : first_of(all, count < 0 ? all.n : count);
    return SHOAL_OK;
}
