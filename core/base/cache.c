/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * cache.c: the user's folder of compiled kernels and of what was measured with them, and the hashes that name what is
 * in it.
 */
#define _GNU_SOURCE /* mkostemp */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/base.h"

void shoal_hash_bytes(shoal_hash *hash, const void *data, size_t size)
{
    const unsigned char *byte = data;
    for (size_t i = 0; i < size; i++) {
        hash->a = (hash->a ^ byte[i]) * UINT64_C(0x100000001b3);
        uint64_t b = (hash->b + byte[i] + 1) * UINT64_C(0x9e3779b97f4a7c15);
        hash->b = (b << 29 | b >> 35) ^ (b >> 17);
    }
}

/* A string and its length, so that neighbours cannot run into each other. */
void shoal_hash_string(shoal_hash *hash, const char *text)
{
    uint64_t length = strlen(text);
    shoal_hash_bytes(hash, &length, sizeof length);
    shoal_hash_bytes(hash, text, length);
}

shoal_hash shoal_hash_start(void)
{
    return (shoal_hash){UINT64_C(0xcbf29ce484222325), UINT64_C(0x2545f4914f6cdd1d)};
}

/* A folder of the user's that nobody else can write to. */
static bool folder_is_private(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() && !(status.st_mode & 022);
}

bool shoal_cache_folder(char *path, size_t size, bool make)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char parent[512];
    int length;
    if (cache && *cache == '/')
        length = snprintf(parent, sizeof parent, "%s", cache);
    else if (home && *home == '/')
        length = snprintf(parent, sizeof parent, "%s/.cache", home);
    else
        return false;
    if (length >= (int)sizeof parent || snprintf(path, size, "%s/shoal", parent) >= (int)size)
        return false;
    if (make) {
        (void)mkdir(parent, 0700);
        (void)mkdir(path, 0700);
    }
    return folder_is_private(path);
}

bool shoal_cache_read(const char *path, char *text, size_t size)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = file < 0 ? -1 : read(file, text, size);
    if (file >= 0)
        close(file);
    if (n < 0 || (size_t)n >= size)
        return false;
    text[n] = '\0';
    return true;
}

void shoal_cache_write(const char *path, const char *text)
{
    shoal_cache_save(path, text, strlen(text), NULL, 0);
}

void shoal_cache_save(const char *path, const void *head, size_t head_size, const void *rest, size_t rest_size)
{
    char *temporary;
    const int file = shoal_file_begin(path, &temporary);
    if (file < 0)
        return;
    const bool good = fchmod(file, 0600) == 0 && shoal_write_all(file, head, head_size) &&
                      shoal_write_all(file, rest, rest_size);
    (void)shoal_file_end(file, temporary, path, good);
}
