/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * systems_file.c: the systems of a config from a file of Cartesian bodies (system.file).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/formats/observations.h"
#include "core/formats/table.h"
#include "core/study/study.h"

/* The epoch of a table is that of its study, which must not name another one; but not where the run counts anew. */
static shoal_status take_epoch(const shoal_config *config, const shoal_table *table, bool goes_on, shoal_study *study)
{
    if (!goes_on && *study->epoch && *table->epoch && !shoal_epochs_differ(study->epoch, table->epoch))
        return shoal_config_fail(config, shoal_config_lookup(config, "epoch"), NULL, NULL,
                                 "the time of the states, or none: time 0 of system.file is \"%s\", and "
                                 "run.t_start = 0 counts anew from its states, which are of another time",
                                 table->epoch);
    if (!goes_on)
        return SHOAL_OK;
    if (shoal_epochs_differ(study->epoch, table->epoch))
        return shoal_config_fail(config, shoal_config_lookup(config, "epoch"), NULL, NULL,
                                 "\"%s\", as system.file has it", table->epoch);
    if (!*study->epoch)
        snprintf(study->epoch, sizeof study->epoch, "%s", table->epoch);
    return SHOAL_OK;
}

/* Whether the run goes on from the time of a table's states, which is one for all, or none. Refused: states of a later
 * time without run.t_start, and one that is neither that time nor 0. */
static shoal_status check_start(const shoal_config *config, const shoal_study *study, const shoal_table *table,
                                bool *goes_on)
{
    const config_setting_t *t_start = shoal_config_lookup(config, "run.t_start"),
                           *file = shoal_config_lookup(config, "system.file");
    const double time = table->n_systems > 0 ? table->systems[0].time / config->units.time : NAN,
                 start = study->t_start / config->units.time;
    *goes_on = !table->times_differ && (isnan(time) || fabs(start - time) <= 1e-9 * fabs(time));
    if (table->times_differ && (!t_start || start != 0))
        return shoal_config_fail(config, t_start ? t_start : file, NULL, NULL,
                                 "run.t_start = 0, to count anew: the states in system.file are of different times");
    if (!isnan(time) && time != 0 && !t_start)
        return shoal_config_fail(config, file, NULL, NULL,
                                 "run.t_start with states of time %.15g: as much to go on from there, 0 to count anew",
                                 time);
    if (!*goes_on && start != 0)
        return shoal_config_fail(config, t_start, NULL, NULL,
                                 "%.15g, the time of the states in system.file, or 0 to count anew", time);
    return SHOAL_OK;
}

shoal_status shoal_systems_read(const shoal_config *config, const char *path, shoal_study *study)
{
    shoal_table table = {.context = config->context};
    shoal_status status = shoal_csv_table(&table, path, false);
    if (status)
        goto fail;
    if (table.units.length == 0)
        table.units = config->units;
    shoal_table_convert_columns(&table, &config->units); /* the result is in these */
    const int n_columns = table.n_columns;
    table.n_columns = 0;
    shoal_table_convert(&table, &(shoal_units){.length = 1, .mass = 1, .time = 1});
    table.n_columns = n_columns;
    while (!isnan(study->system) && study->first < table.n_systems &&
           (double)table.systems[study->first].id != study->system)
        study->first++;
    const config_setting_t *file = shoal_config_lookup(config, "system.file");
    bool goes_on;
    if ((status = check_start(config, study, &table, &goes_on)) ||
        (status = take_epoch(config, &table, goes_on, study)))
        goto fail;
    long n_systems = 0;
    if ((status = shoal_study_share(config, study, file, (double)table.n_systems, &n_systems)))
        goto fail;
    for (long s = 0; s < n_systems; s++)
        shoal_table_move_system(&table, s, study->first + s * study->stride);
    table.n_systems = n_systems;
    if (table.n_names > SHOAL_MAX_BODIES) {
        status = shoal_config_fail(config, file, NULL, NULL, "at most %d bodies a system; found %ld (see model.file)",
                                   SHOAL_MAX_BODIES, (long)table.n_names);
        goto fail;
    }
    status = shoal_ensemble_create(config->context, table.n_systems, (int)table.n_names, &study->ensemble);
    for (long s = 0; s < table.n_systems && !status; s++) {
        const shoal_table_system *system = &table.systems[s];
        const shoal_system record = {.id = (long)system->id, .t_start = study->t_start};
        if (shoal_ensemble_set_bodies(study->ensemble, s, system->n_bodies, table.bodies + system->first))
            status = shoal_fail(config->context, SHOAL_E_INPUT,
                                "%s:%ld: system = %ld: expected possible initial conditions: %s", path, system->line,
                                record.id, shoal_context_message(config->context));
        else
            shoal_ensemble_set_system(study->ensemble, s, &record);
    }
    if (status)
        goto fail;
    study->body_name = malloc((size_t)table.n_names * sizeof *table.names);
    if (!study->body_name) {
        status = shoal_table_no_memory(&table);
        goto fail;
    }
    memcpy(study->body_name, table.names, (size_t)table.n_names * sizeof *table.names);
    study->swept = table.columns;
    study->n_swept = table.n_columns;
    table.columns = NULL;
    table.n_columns = 0;
    if (study->given) {
        table.path = config->path;
        for (long s = 0; s < table.n_systems; s++)
            table.systems[s].time = study->t_start;
        *study->given = table;
        return SHOAL_OK;
    }
fail:
    shoal_table_release(&table);
    return status;
}
