/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * share.c: which of a config's systems a study makes (run.shard, run.system), and the name of its result.
 */
#define _GNU_SOURCE 1
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/study/study.h"

/* The result file: as named, or else "folder/name.cfg" gives "name.h5", in the folder where the run is; that of a
 * shard is "name.2-of-8.h5", that of one system "name.system-7.h5". */
char *shoal_output_name(const shoal_study *study, const char *file)
{
    const char *slash = strrchr(study->path, '/'), *name = file ? file : slash ? slash + 1 : study->path;
    const int stem = shoal_name_stem(name);
    char shard[48] = "", *output;
    if (study->stride > 1)
        snprintf(shard, sizeof shard, ".%ld-of-%ld", study->first + 1, study->stride);
    else if (!isnan(study->system))
        snprintf(shard, sizeof shard, ".system-%.0f", study->system);
    return asprintf(&output, "%.*s%s%s", stem, name, shard, file ? file + stem : ".h5") < 0 ? NULL : output;
}

char *shoal_shard_name(const char *whole, long shard, long n_shards)
{
    const int stem = shoal_name_stem(whole);
    char *name;
    return asprintf(&name, "%.*s.%ld-of-%ld%s", stem, whole, shard, n_shards, whole + stem) < 0 ? NULL : name;
}

/* The last ".i-of-N" in a file's name at whose end it has no more than an ending. */
char *shoal_whole_name(const char *file, long *shard, long *n_shards)
{
    const char *slash = strrchr(file, '/'), *found = NULL;
    int length = 0;
    *shard = *n_shards = 1;
    for (const char *at = slash ? slash + 1 : file; (at = strchr(at, '.')); at++) {
        long i = 0, n = 0;
        int end = 0;
        if (sscanf(at, ".%9ld-of-%9ld%n", &i, &n, &end) == 2 && end > 0 && (!at[end] || at[end] == '.') && i >= 1 &&
            i <= n && n > 1) {
            found = at;
            length = end;
            *shard = i;
            *n_shards = n;
        }
    }
    char *whole = strdup(file);
    if (whole && found)
        memmove(whole + (found - file), found + length, strlen(found + length) + 1);
    return whole;
}

bool shoal_study_is_whole(const shoal_study *study)
{
    return study->stride == 1 && isnan(study->system);
}

shoal_status shoal_study_share(const shoal_config *config, const shoal_study *study, const config_setting_t *place,
                               double n, long *share)
{
    const config_setting_t *system = shoal_config_lookup(config, "run.system");
    const double after = n - 1 - (double)study->first;
    const double made = after < 0 ? 0 : system ? 1 : floor(after / (double)study->stride) + 1;
    if (made < 1 && system)
        return shoal_config_fail(config, system, NULL, NULL, "the id of one of the %.0f systems", n);
    if (made < 1)
        return shoal_config_fail(config, shoal_config_lookup(config, "run.shard"), NULL, NULL,
                                 "at most as many shards as systems, %.0f", n);
    if (made > INT_MAX - SHOAL_CHUNK || n > 0x1p53) /* an id is an exact double */
        return shoal_config_fail(config, place, NULL, NULL,
                                 "at most %d systems in all; these are %.0f (run.shard takes a part)",
                                 INT_MAX - SHOAL_CHUNK, made);
    *share = (long)made;
    return SHOAL_OK;
}
