/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * models.h: models of configs that tests write.
 */
#ifndef SHOAL_TEST_MODELS_H
#define SHOAL_TEST_MODELS_H

#include "core/model/model.h"
#include "testing.h"

/* The model of a config's text, for so many walkers; NULL if there are none: its study alone. */
static inline shoal_model *model_of(shoal_context *context, const char *text, int n_walkers, shoal_study **study)
{
    shoal_model *model = NULL;
    *study = NULL;
    assert_ok(context, shoal_study_open(context, "model.cfg", text, 0, NULL, NULL, study));
    if (n_walkers > 0)
        assert_ok(context, shoal_model_create(*study, n_walkers, &model));
    return model;
}

static inline void release(shoal_model **model, shoal_study **study)
{
    shoal_model_destroy(model);
    shoal_study_destroy(study);
}

#endif
