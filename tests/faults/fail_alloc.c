/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * fail_alloc.c: preloaded (LD_PRELOAD) by tests/test_allocations.sh: memory that a program itself asks for runs out.
 *
 *     FAIL_ALLOC=N       the N-th call fails: of malloc and its relatives, and of what allocates within the C library
 *                        (strdup, asprintf, fopen, open_memstream, getdelim, opendir) and is known to the caller
 *     FAIL_ALLOC_ALL=1   and all calls after it
 *     FAIL_ALLOC_COUNT   a file that gets the number of calls when the program ends
 *
 * Only calls from the program itself count: the address to which they return lies in it, not in a library.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static uintptr_t from, to; /* the program */
static long n_calls, failing;
static bool all;

static int find_program(struct dl_phdr_info *about, size_t size, void *user)
{
    (void)size;
    (void)user;
    for (int i = 0; i < about->dlpi_phnum; i++)
        if (about->dlpi_phdr[i].p_type == PT_LOAD && about->dlpi_phdr[i].p_flags & PF_X) {
            from = about->dlpi_addr + about->dlpi_phdr[i].p_vaddr;
            to = from + about->dlpi_phdr[i].p_memsz;
        }
    return 1; /* the first is the program */
}

__attribute__((constructor)) static void begin(void)
{
    const char *number = getenv("FAIL_ALLOC");
    failing = number ? atol(number) : 0;
    all = getenv("FAIL_ALLOC_ALL") != NULL;
    dl_iterate_phdr(find_program, NULL);
    unsetenv("LD_PRELOAD"); /* not of programs that this one starts */
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("FAIL_ALLOC_COUNT");
    from = to = 0;
    FILE *out = path ? fopen(path, "w") : NULL;
    if (out) {
        fprintf(out, "%ld\n", n_calls);
        fclose(out);
    }
}

static bool fails(const void *caller)
{
    if ((uintptr_t)caller < from || (uintptr_t)caller >= to)
        return false;
    const long n = __atomic_add_fetch(&n_calls, 1, __ATOMIC_RELAXED);
    if (!failing || n < failing || (n > failing && !all))
        return false;
    errno = ENOMEM;
    return true;
}

#define FAILS fails(__builtin_return_address(0))
/* The C library's, which is looked for once. */
#define REAL(result, name, ...)         \
    static result (*real)(__VA_ARGS__); \
    if (!real)                          \
    real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

void *malloc(size_t size)
{
    return FAILS ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return FAILS ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
    return FAILS ? NULL : __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return FAILS ? NULL : __libc_memalign(alignment, size);
}

char *strndup(const char *text, size_t most)
{
    const size_t n = strnlen(text, most);
    char *copy = FAILS ? NULL : __libc_malloc(n + 1);
    if (copy) {
        memcpy(copy, text, n);
        copy[n] = '\0';
    }
    return copy;
}

char *strdup(const char *text)
{
    const size_t n = strlen(text) + 1;
    char *copy = FAILS ? NULL : __libc_malloc(n);
    return copy ? memcpy(copy, text, n) : NULL;
}

int vasprintf(char **text, const char *format, va_list arguments)
{
    REAL(int, vasprintf, char **, const char *, va_list);
    return FAILS ? -1 : real(text, format, arguments); /* what *text is then, nobody may know */
}

int asprintf(char **text, const char *format, ...)
{
    REAL(int, vasprintf, char **, const char *, va_list);
    if (FAILS)
        return -1;
    va_list arguments;
    va_start(arguments, format);
    const int n = real(text, format, arguments);
    va_end(arguments);
    return n;
}

FILE *fopen(const char *path, const char *mode)
{
    REAL(FILE *, fopen, const char *, const char *);
    return FAILS ? NULL : real(path, mode);
}

FILE *open_memstream(char **text, size_t *size)
{
    REAL(FILE *, open_memstream, char **, size_t *);
    return FAILS ? NULL : real(text, size);
}

ssize_t getdelim(char **text, size_t *size, int end_of, FILE *in)
{
    REAL(ssize_t, getdelim, char **, size_t *, int, FILE *);
    return FAILS ? -1 : real(text, size, end_of, in);
}

ssize_t __getdelim(char **text, size_t *size, int end_of, FILE *in)
{
    REAL(ssize_t, getdelim, char **, size_t *, int, FILE *);
    return FAILS ? -1 : real(text, size, end_of, in);
}

DIR *opendir(const char *path)
{
    REAL(DIR *, opendir, const char *);
    return FAILS ? NULL : real(path);
}
