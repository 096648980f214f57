/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * testing.h: what tests of plans share: a context for each program, calls that must succeed, the need of a GPU, a
 * cache.
 */
#ifndef SHOAL_TESTING_H
#define SHOAL_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/report/plot.h"
#include "core/report/report.h"
#include "core/study/study.h"

static inline shoal_context *context_of(void **state)
{
    return *state;
}

#define assert_ok(context, call)                                                                    \
    do {                                                                                            \
        shoal_status got_ = (call);                                                                 \
        if (got_ != SHOAL_OK)                                                                       \
            fail_msg("%s: %s: %s", #call, shoal_status_text(got_), shoal_context_message(context)); \
    } while (0)

/* Without a GPU the test ends here, skipped with the reason; with SHOAL_TEST_GPU=1 that is a failure. */
static inline void need_gpu(void)
{
    const char *missing = shoal_engine_cuda.missing(), *wanted = getenv("SHOAL_TEST_GPU");
    if (!missing)
        return;
    if (wanted && strcmp(wanted, "1") == 0)
        fail_msg("SHOAL_TEST_GPU=1, but %s", missing);
    print_message("%s\n", missing);
    skip();
}

/* An empty cache, which nobody else has a choice or a kernel in, until cache_leave; cache_end removes it, too. */
struct cache {
    char folder[256];
    char *before; /* XDG_CACHE_HOME as it was */
};

static inline void cache_begin(struct cache *cache)
{
    const char *temporary = getenv("TMPDIR"), *before = getenv("XDG_CACHE_HOME");
    snprintf(cache->folder, sizeof cache->folder, "%s/shoal-cache-XXXXXX", temporary ? temporary : "/tmp");
    assert_non_null(mkdtemp(cache->folder));
    cache->before = before ? strdup(before) : NULL;
    setenv("XDG_CACHE_HOME", cache->folder, 1);
}

static inline void cache_leave(struct cache *cache)
{
    if (cache->before)
        setenv("XDG_CACHE_HOME", cache->before, 1);
    else
        unsetenv("XDG_CACHE_HOME");
    free(cache->before);
}

static inline void cache_end(struct cache *cache)
{
    char command[300];
    cache_leave(cache);
    snprintf(command, sizeof command, "rm -r '%s'", cache->folder);
    assert_int_equal(system(command), 0);
}

/* Set-up and tear-down of a group: *state is a context. */
static inline int setup(void **state)
{
    shoal_context *context = NULL;
    shoal_status status = shoal_context_create(&context);
    *state = context;
    return status == SHOAL_OK ? 0 : -1;
}

static inline int teardown(void **state)
{
    shoal_context *context = *state;
    shoal_context_destroy(&context);
    return 0;
}

#endif
