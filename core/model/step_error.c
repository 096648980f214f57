/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * step_error.c: how far ln L depends on the step: that of the same model with half of it.
 */
#include <limits.h>
#include <stdlib.h>

#include "core/model/model.h"

enum { AT_ONCE = 1024 };

static shoal_status compare(shoal_model *model, const shoal_study *half, long n, const double *theta, double *error)
{
    shoal_model *other = NULL;
    double *lnl = malloc((size_t)n * sizeof *lnl);
    shoal_status status = lnl ? shoal_model_create(half, n < AT_ONCE ? n : AT_ONCE, &other)
                              : shoal_fail(half->context, SHOAL_E_MEMORY, "out of memory for %ld vectors", n);
    if (!status)
        status = shoal_model_evaluate(model, n, theta, lnl);
    if (!status)
        status = shoal_model_evaluate(other, n, theta, error);
    for (long i = 0; i < n && !status; i++)
        error[i] -= lnl[i];
    shoal_model_destroy(&other);
    free(lnl);
    return status;
}

shoal_status shoal_model_step_error(shoal_model *model, long n, const double *theta, double *error)
{
    if (!model)
        return SHOAL_E_USAGE;
    shoal_study study = *shoal_model_study(model);
    const shoal_propagator *propagator = shoal_propagator_find(study.context, study.options.propagator);
    shoal_halved half;
    shoal_status status = shoal_check_range(study.context, __func__, "n", n, (long[2]){0, LONG_MAX});
    if (!status && n > 0)
        status = shoal_check_given(study.context, __func__, "theta", theta);
    if (!status && n > 0)
        status = shoal_check_given(study.context, __func__, "error", error);
    if (status || n == 0)
        return status;
    if (!shoal_options_halve(propagator, &study.options, &half))
        return shoal_fail(study.context, SHOAL_E_UNSUPPORTED, "%s: %s: expected a step that can be halved", study.path,
                          propagator->name);
    study.options = half.options;
    return compare(model, &study, n, theta, error);
}
