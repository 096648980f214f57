/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * read.c: a result from its file, and what its config says of the forces.
 */
#include "big/big.h"
#include "core/config/config.h"
#include "core/formats/table.h"
#include "core/report/report.h"

/* What a file says is printed as text: nothing in it steers a terminal. */
static void make_plain(shoal_result *result)
{
    shoal_units *units = &result->units;
    char *const words[] = {result->version,    result->epoch,
                           units->length_name, units->mass_name,
                           units->time_name,   result->plan_line ? result->plan_line : units->time_name};
    for (int i = 0; i < SHOAL_COUNT(words); i++)
        shoal_make_plain(words[i]);
    for (int b = 0; b < result->n_bodies; b++)
        shoal_make_plain(result->body_name[b]);
    for (int k = 0; k < result->n_axes; k++)
        shoal_make_plain(result->axes[k].column);
    for (int l = -1; l < result->n_logs; l++) {
        const int n = l < 0 ? result->n_columns : result->logs[l].n_columns;
        shoal_column *columns = l < 0 ? result->columns : result->logs[l].columns;
        if (l >= 0)
            shoal_make_plain(result->logs[l].path);
        for (int c = 0; c < n; c++) {
            shoal_make_plain(columns[c].name);
            shoal_make_plain(columns[c].unit);
            shoal_make_plain(columns[c].doc);
        }
    }
}

shoal_status shoal_report_read(shoal_context *context, const char *path, shoal_result **result)
{
    shoal_status status = shoal_store_read(context, path, result);
    if (status == SHOAL_E_INPUT && (shoal_big_record_is(path) || shoal_gadget_is(path)))
        status = shoal_fail(context, status, "%s: of one big system, which only query, plot and convert read", path);
    if (status == SHOAL_OK)
        make_plain(*result);
    return status;
}

void shoal_report_eases(const shoal_context *context, const shoal_result *result, shoal_eases *eases)
{
    config_t config;
    shoal_config_recall(&config, result->config_text);
    shoal_config_eases(context, config_lookup(&config, "forces"), result->body_name, result->n_bodies, eases);
    config_destroy(&config);
}
