/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * fuzz.c: see fuzz.h.
 */
#define _GNU_SOURCE 1
#include "tests/fuzz/fuzz.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* libconfig leaks the string at which a text stops to be a config. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libconfig";
}

shoal_context *fuzz_context(void)
{
    static shoal_context *context;
    if (!context && shoal_context_create(&context))
        abort();
    return context;
}

FILE *fuzz_sink(void)
{
    static FILE *sink;
    if (!sink && !(sink = fopen("/dev/null", "w")))
        abort();
    return sink;
}

static int file = -1; /* in memory */
static char path[64];

const char *fuzz_file(const void *data, size_t size)
{
    if (file < 0) {
        file = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    }
    if (file < 0 || ftruncate(file, 0) || pwrite(file, data, size, 0) != (ssize_t)size)
        abort();
    return path;
}

/* In the place of shoal_file_open (the linker's --wrap): of that file a duplicate is opened, since a walk along its
 * path takes as long as all that the reader does. */
/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
shoal_status __real_shoal_file_open(shoal_context *context, const char *name, FILE **in);
shoal_status __wrap_shoal_file_open(shoal_context *context, const char *name, FILE **in);
/* NOLINTEND(bugprone-reserved-identifier) */
shoal_status __wrap_shoal_file_open(shoal_context *context, const char *name, FILE **in)
{
    if (strcmp(name, path) != 0)
        return __real_shoal_file_open(context, name, in);
    const int copy = fcntl(file, F_DUPFD_CLOEXEC, 0);
    if (copy < 0 || lseek(copy, 0, SEEK_SET) || !(*in = fdopen(copy, "rb")))
        abort();
    return SHOAL_OK;
}

char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        abort();
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

bool fuzz_is_small(const char *text)
{
    double product = 1;
    for (const char *at = text; (at = strpbrk(at, "0123456789"));) {
        char *end;
        const double value = strtod(at, &end);
        const char *before = at;
        while (before > text && !isalpha((unsigned char)before[-1]) && at - before < 16)
            before--;
        if (before - text >= 5 && strncmp(before - 5, "count", 5) == 0)
            product *= value > 1 ? value : 1;
        at = end;
    }
    return product <= 60;
}

void fuzz_format(const char *name, const uint8_t *data, size_t size)
{
    fuzz_format_file(name, fuzz_file(data, size));
}

void fuzz_format_file(const char *name, const char *of)
{
    shoal_context *context = fuzz_context();
    const shoal_format *format = NULL;
    char *files[] = {(char *)of};
    const shoal_convert_options options = {.central_mass = NAN, .epoch = NAN, .notes = fuzz_sink()};
    shoal_table table = {.context = context};
    shoal_result *result = NULL;
    shoal_units units;
    if (shoal_format_named(context, name, &format) || shoal_units_parse(context, "AU,Msun,G=1", &units))
        abort();
    shoal_status status = format->read(&table, 1, files, &options);
    if (!status)
        status = shoal_table_check(&table);
    if (!status && table.units.length != 0)
        shoal_table_convert(&table, &units);
    if (!status && !shoal_csv_write(&table, fuzz_sink()))
        shoal_table_to_result(&table, &result);
    shoal_result_destroy(&result);
    shoal_table_release(&table);
}

shoal_result *fuzz_result(void)
{
    static shoal_result *result;
    static const char *const names[] = {"star", "b", "c, \"the odd\""};
    if (result)
        return result;
    if (shoal_result_create(fuzz_context(), 5, SHOAL_COUNT(names), 2, &result))
        abort();
    for (int b = 0; b < SHOAL_COUNT(names); b++)
        snprintf(result->body_name[b], sizeof result->body_name[b], "%s", names[b]);
    snprintf(result->columns[0].name, sizeof result->columns[0].name, "b.a");
    snprintf(result->columns[1].name, sizeof result->columns[1].name, "megno");
    for (int s = 0; s < 5; s++) {
        result->id[s] = 3 * s;
        result->columns[0].value[s] = 0.5 * s;
        result->columns[1].value[s] = s == 3 ? NAN : 2;
    }
    return result;
}
