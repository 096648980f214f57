/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * files.c: what every writer and reader of files needs.
 */
#define _GNU_SOURCE /* O_DIRECTORY */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/base.h"

bool shoal_not_a_file(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && !S_ISREG(about.st_mode);
}

bool shoal_same_file(const char *a, const char *b)
{
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

shoal_status shoal_file_open(shoal_context *context, const char *path, FILE **in)
{
    struct stat about;
    const char *why = NULL;
    *in = NULL;
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode))
        why = S_ISDIR(about.st_mode) ? strerror(EISDIR) : "it is a pipe or a device, not a file";
    else if (!(*in = fopen(path, "rb")))
        why = strerror(errno);
    return why ? shoal_fail(context, SHOAL_E_FILE, "%s: cannot be read: %s", path, why) : SHOAL_OK;
}

bool shoal_write_all(int file, const void *data, size_t size)
{
    const char *from = data;
    while (size > 0) {
        ssize_t n = write(file, from, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = ENOSPC;
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

static const char infix[] = ".tmp.";

bool shoal_is_temporary(const char *name)
{
    const char *at = strstr(name, infix), *end = at ? at + strlen(infix) : "";
    return *end && end[strspn(end, ".0123456789")] == '\0';
}

/* Remove what a killed process left beside path: temporary files of processes that are no more, and that no process,
 * of whichever machine, has locked. */
static void sweep(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const size_t n = strlen(name);
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    DIR *entries = folder ? opendir(folder) : NULL;
    for (const struct dirent *entry; entries && (entry = readdir(entries));) {
        if (strncmp(entry->d_name, name, n) != 0 || strncmp(entry->d_name + n, infix, sizeof infix - 1) != 0)
            continue;
        char *end;
        const long process = strtol(entry->d_name + n + sizeof infix - 1, &end, 10);
        if (end[strspn(end, ".0123456789")] || process <= 0 || process > INT_MAX || kill((pid_t)process, 0) == 0 ||
            errno != ESRCH)
            continue;
        const int file = openat(dirfd(entries), entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (file >= 0 && (flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK))
            (void)unlinkat(dirfd(entries), entry->d_name, 0);
        if (file >= 0)
            close(file);
    }
    if (entries)
        closedir(entries);
    free(folder);
}

int shoal_file_begin(const char *path, char **temporary)
{
    static unsigned n; /* of this process's threads each has files of its own */
    const size_t room = strlen(path) + 48;
    *temporary = malloc(room);
    if (!*temporary)
        return -1;
    sweep(path);
    snprintf(*temporary, room, "%s.tmp.%ld.%u", path, (long)getpid(), __atomic_add_fetch(&n, 1, __ATOMIC_RELAXED));
    const int file = open(*temporary, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) {
        const int error = errno;
        free(*temporary);
        *temporary = NULL;
        errno = error;
    } else
        (void)flock(file, LOCK_EX | LOCK_NB);
    return file;
}

bool shoal_file_end(int file, char *temporary, const char *path, bool good)
{
    int error = errno;
    bool done = good;
    if ((file >= 0 && close(file) && done) || (done && rename(temporary, path))) {
        done = false;
        error = errno;
    }
    if (!done)
        unlink(temporary);
    free(temporary);
    errno = error;
    return done;
}

bool shoal_replace_file(const char *path, const void *data, size_t size)
{
    char *temporary;
    const int file = shoal_file_begin(path, &temporary);
    if (file < 0)
        return false;
    const bool good = shoal_write_all(file, data, size) && (!fsync(file) || errno == EINVAL);
    return shoal_file_end(file, temporary, path, good) && shoal_sync_folder(path);
}

int shoal_lock_take(const char *path)
{
    for (;;) {
        struct stat own, there;
        const int file = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (file < 0)
            return -1;
        if (flock(file, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
            close(file);
            errno = EWOULDBLOCK;
            return -1;
        }
        if (fstat(file, &own) == 0 && stat(path, &there) == 0 && own.st_ino == there.st_ino &&
            own.st_dev == there.st_dev)
            return file;
        close(file); /* who had it has removed it since */
    }
}

void shoal_lock_release(int lock, const char *path)
{
    if (lock < 0)
        return;
    unlink(path);
    close(lock);
}

const char *shoal_why(void)
{
    return errno ? strerror(errno) : "output error";
}

char *shoal_read_text(const char *path)
{
    char *text = NULL;
    size_t size = 0;
    FILE *in = NULL;
    if (shoal_not_a_file(path))
        errno = EINVAL; /* a pipe may never end */
    else
        in = fopen(path, "rb");
    if (!in)
        return NULL;
    if (getdelim(&text, &size, '\0', in) < 0) { /* of an empty file it may have room, and nothing in it */
        free(text);
        text = feof(in) ? strdup("") : NULL;
    }
    fclose(in);
    return text;
}

/* Bytes of the control character at the beginning of a text: 0 if there is another one, or none. */
static int control_bytes(const char *text)
{
    const unsigned char first = (unsigned char)text[0], second = first ? (unsigned char)text[1] : 0;
    return (first && first < 0x20) || first == 0x7f ? 1 : first == 0xc2 && second >= 0x80 && second < 0xa0 ? 2 : 0;
}

bool shoal_is_plain(const char *text)
{
    while (*text && !control_bytes(text))
        text++;
    return !*text;
}

bool shoal_is_name(const char *text)
{
    return shoal_is_plain(text) && !strchr(text, '"');
}

bool shoal_is_utf8(const char *text)
{
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000}; /* with so many bytes behind the first */
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        const int more = *at < 0x80 ? 0 : *at >> 5 == 0x6 ? 1 : *at >> 4 == 0xe ? 2 : *at >> 3 == 0x1e ? 3 : -1;
        if (more < 0)
            return false;
        uint32_t c = more ? *at & (0x3fu >> more) : *at;
        for (int i = 0; i < more; i++) {
            if ((*++at & 0xc0) != 0x80)
                return false;
            c = c << 6 | (*at & 0x3f);
        }
        if (c < least[more] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
            return false;
    }
    return true;
}

char *shoal_make_plain(char *text)
{
    for (char *at = text; *at; at++)
        for (int n = control_bytes(at); n > 0; n--)
            at[n - 1] = '?';
    return text;
}

void shoal_print_csv(FILE *out, const char *text)
{
    const size_t length = strlen(text);
    const bool quoted = length &&
                        (strpbrk(text, ",\"\r\n") || strchr(" \t#", *text) || strchr(" \t", text[length - 1]));
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
