/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * picture_sky.c
 */
#include "core/fit/fit.h"

shoal_status shoal_fit_plot_sky(const shoal_posterior *posterior, const shoal_plot_options *options, FILE *script)
{
    (void)options;
    (void)script;
    return shoal_fail(posterior->context, SHOAL_E_INPUT, "astrometry: this posterior is of no places in the sky");
}
