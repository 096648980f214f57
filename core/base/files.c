/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * files.c: what every writer and reader of files needs.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/base.h"

bool shoal_not_a_file(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && !S_ISREG(about.st_mode);
}

bool shoal_write_all(int file, const void *data, size_t size)
{
    const char *from = data;
    while (size > 0) {
        ssize_t n = write(file, from, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        from += n;
        size -= (size_t)n;
    }
    return true;
}

int shoal_name_stem(const char *file)
{
    const char *slash = strrchr(file, '/'), *dot = strrchr(file, '.');
    return (int)(dot && dot != file && (!slash || dot > slash + 1) ? (size_t)(dot - file) : strlen(file));
}
