/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * dying.h: the end of a process that is to be killed.
 */
#ifndef SHOAL_TEST_DYING_H
#define SHOAL_TEST_DYING_H

#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether a thread of this process, other than its first one, which asks, runs or waits for a disk. */
static inline bool others_work(void)
{
    DIR *threads = opendir("/proc/self/task");
    bool work = false;
    for (const struct dirent *one; threads && (one = readdir(threads));) {
        char path[320], line[256] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/stat", one->d_name);
        FILE *in = *one->d_name != '.' && atoi(one->d_name) != getpid() ? fopen(path, "r") : NULL;
        if (!in)
            continue;
        const char *name_end = fgets(line, sizeof line, in) ? strrchr(line, ')') : NULL;
        work = work || (name_end && (name_end[2] == 'R' || name_end[2] == 'D'));
        fclose(in);
    }
    if (threads)
        closedir(threads);
    return work;
}

/* SIGKILL, as soon as the journal's thread has written what it has been given. */
static inline void die(void)
{
    enum { QUIET = 3, LOOKS = 5000 };
    for (int quiet = 0, looks = 0; quiet < QUIET && looks < LOOKS; looks++) {
        usleep(2000);
        quiet = others_work() ? 0 : quiet + 1;
    }
    raise(SIGKILL);
}

#endif
