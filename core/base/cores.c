/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * cores.c: how many threads a process should use. On a node that is shared, fewer than there are CPUs: those that its
 * affinity allows (a batch system, taskset), or the CPU time that its control group may use (a container), which is a
 * quota in each period: cpu.max of version 2, cpu.cfs_quota_us and cpu.cfs_period_us of version 1, of the group and all
 * above it. Processes that share a machine's cores or devices part them.
 */
#define _GNU_SOURCE
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"

#define PATH_SIZE 4352

/* The first two words of a file as numbers; how many there are ("max" is none). */
static int read_numbers(const char *folder, const char *file, double number[2])
{
    char path[PATH_SIZE + 32];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *in = fopen(path, "r");
    const int n = in ? fscanf(in, "%lf %lf", &number[0], &number[1]) : 0;
    if (in)
        fclose(in);
    return n;
}

/* The least quota of a group and those above it, up to the folder where its hierarchy is mounted. */
static double group_quota(const char *mount, const char *group)
{
    char folder[PATH_SIZE];
    double least = INFINITY, number[2], period[2];
    snprintf(folder, sizeof folder, "%s%s", mount, strcmp(group, "/") == 0 ? "" : group);
    while (strlen(folder) >= strlen(mount)) {
        if (read_numbers(folder, "cpu.max", number) == 2 && number[1] > 0)
            least = fmin(least, number[0] / number[1]);
        if (read_numbers(folder, "cpu.cfs_quota_us", number) == 1 && number[0] > 0 &&
            read_numbers(folder, "cpu.cfs_period_us", period) == 1 && period[0] > 0)
            least = fmin(least, number[0] / period[0]);
        *strrchr(folder, '/') = '\0';
    }
    return least;
}

double shoal_cpu_quota(const char *root)
{
    char line[PATH_SIZE], mount[PATH_SIZE];
    double least = INFINITY;
    snprintf(mount, sizeof mount, "%s/proc/self/cgroup", root);
    FILE *in = fopen(mount, "r");
    while (in && fgets(line, 4096, in)) { /* "0::/group", or in version 1 "4:cpu,cpuacct:/group" */
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group || group[1] != '/')
            continue;
        *group++ = '\0';
        bool is_cpu = controllers[1] == '\0';
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup%s%.64s", root, is_cpu ? "" : "/", controllers + 1);
        for (char *rest = controllers + 1, *word; (word = strsep(&rest, ","));)
            is_cpu = is_cpu || strcmp(word, "cpu") == 0;
        if (is_cpu)
            least = fmin(least, group_quota(mount, group));
    }
    if (in)
        fclose(in);
    return least;
}

int shoal_default_threads(const char **from)
{
    const char *ignored, *asked = getenv("OMP_NUM_THREADS");
    from = from ? from : &ignored;
    *from = "OMP_NUM_THREADS";
    if (asked && atoi(asked) > 0)
        return omp_get_max_threads();
    const int allowed = omp_get_num_procs(); /* of this process's affinity */
    const double quota = ceil(shoal_cpu_quota(""));
    *from = quota < allowed ? "the control group's quota" : "the CPUs it may run on";
    return quota < allowed ? (int)quota : allowed;
}

int shoal_threads_or_default(int asked)
{
    return asked > 0 ? asked : shoal_default_threads(NULL);
}

int shoal_part_of_cores(int n, int process, int n_processes)
{
    const int part = n / n_processes + (process < n % n_processes);
    return part > 0 ? part : 1;
}

bool shoal_part_of_devices(const char *visible, int n, int process, int n_processes, char *part, size_t size)
{
    char name[16];
    for (const char *at = visible; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        n = at == visible ? 1 : n + 1;
    if (n < 2 || (visible && !*visible))
        return false;
    const int first = (int)((long)process * n / n_processes), after = (int)((long)(process + 1) * n / n_processes);
    size_t used = 0;
    *part = '\0';
    for (int k = first; k < after || k == first; k++) {
        snprintf(name, sizeof name, "%d", k);
        const char *device = visible ? visible : name;
        for (int i = 0; visible && i < k; i++)
            device = strchr(device, ',') + 1;
        const int length = (int)strcspn(device, ",");
        if (used + (size_t)length + 2 > size)
            return false;
        used += (size_t)snprintf(part + used, size - used, "%s%.*s", used ? "," : "", length, device);
    }
    return true;
}
