/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * files.c: what every writer and reader of files needs.
 */
#define _GNU_SOURCE /* O_DIRECTORY */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
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

bool shoal_sync_folder(const char *path)
{
    char *folder = strdup(path);
    char *slash = folder ? strrchr(folder, '/') : NULL;
    if (slash)
        slash[slash == folder] = '\0';
    const int fd = folder ? open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    const bool done = fd >= 0 && (!fsync(fd) || errno == EINVAL); /* some file systems cannot, and need not */
    const int error = errno;
    if (fd >= 0)
        close(fd);
    free(folder);
    errno = error;
    return done;
}

bool shoal_replace_file(const char *path, const void *data, size_t size)
{
    const size_t room = strlen(path) + 32;
    char *temporary = malloc(room);
    if (!temporary)
        return false;
    snprintf(temporary, room, "%s.tmp.%ld", path, (long)getpid());
    const int file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    bool done = file >= 0 && shoal_write_all(file, data, size) && (!fsync(file) || errno == EINVAL);
    int error = errno;
    if (file >= 0 && close(file) && done) {
        done = false;
        error = errno;
    }
    if (done && rename(temporary, path)) {
        done = false;
        error = errno;
    }
    if (!done && file >= 0)
        unlink(temporary);
    free(temporary);
    errno = error;
    return done && shoal_sync_folder(path);
}

void shoal_print_csv(FILE *out, const char *text)
{
    const bool quoted = strpbrk(text, ",\"\r\n") || *text == ' ' || *text == '#';
    if (quoted)
        fputc('"', out);
    for (; *text; text++)
        fputs(*text == '"' ? "\"\"" : (const char[]){*text, '\0'}, out);
    if (quoted)
        fputc('"', out);
}

int shoal_name_stem(const char *file)
{
    const char *slash = strrchr(file, '/'), *dot = strrchr(file, '.');
    return (int)(dot && dot != file && (!slash || dot > slash + 1) ? (size_t)(dot - file) : strlen(file));
}
