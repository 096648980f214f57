/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * kill_at.c: preloaded (LD_PRELOAD) by tests/test_kills.sh: the program is killed at a certain change of its files.
 *
 *     KILL_AT=N       just before the N-th call that writes to, cuts, renames, removes or syncs a file
 *     KILL_HALF=1     a write is done by half first
 *     KILL_COUNT      a file that gets the number of such calls when the program ends
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

static long n_calls, at;
static bool half;

__attribute__((constructor)) static void begin(void)
{
    const char *number = getenv("KILL_AT");
    at = number ? atol(number) : 0;
    half = getenv("KILL_HALF") != NULL;
    unsetenv("LD_PRELOAD"); /* not of programs that this one starts */
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("KILL_COUNT");
    FILE *out = path ? fopen(path, "w") : NULL;
    if (out) {
        fprintf(out, "%ld\n", n_calls);
        fclose(out);
    }
}

static bool is_now(void)
{
    return __atomic_add_fetch(&n_calls, 1, __ATOMIC_RELAXED) == at;
}

static void die(void)
{
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

/* The C library's, which is looked for once. */
#define REAL(result, name, ...)         \
    static result (*real)(__VA_ARGS__); \
    if (!real)                          \
    real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)
#define CHANGES(name, parameters, types, arguments) \
    int name parameters                             \
    {                                               \
        REAL(int, name, types);                     \
        if (is_now())                               \
            die();                                  \
        return real arguments;                      \
    }
#define TWO(...) __VA_ARGS__

CHANGES(rename, (const char *from, const char *to), TWO(const char *, const char *), (from, to))
CHANGES(unlink, (const char *path), const char *, (path))
CHANGES(ftruncate, (int file, off_t size), TWO(int, off_t), (file, size))
CHANGES(fsync, (int file), int, (file))
CHANGES(fdatasync, (int file), int, (file))

ssize_t write(int file, const void *bytes, size_t n)
{
    REAL(ssize_t, write, int, const void *, size_t);
    const bool now = file > 2 && is_now();
    if (now && half)
        (void)!real(file, bytes, n / 2);
    if (now)
        die();
    return real(file, bytes, n);
}

ssize_t pwrite(int file, const void *bytes, size_t n, off_t place)
{
    REAL(ssize_t, pwrite, int, const void *, size_t, off_t);
    const bool now = is_now();
    if (now && half)
        (void)!real(file, bytes, n / 2, place);
    if (now)
        die();
    return real(file, bytes, n, place);
}
