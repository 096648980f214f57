/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * context.c: the object that holds the last error's message, the plugins and the threads.
 */
#include <stdlib.h>

#include "core/plug/plugs.h"

shoal_status shoal_context_create(shoal_context **context)
{
    if (!context)
        return SHOAL_E_USAGE;
    *context = calloc(1, sizeof **context);
    return *context ? SHOAL_OK : SHOAL_E_MEMORY;
}

void shoal_context_destroy(shoal_context **context)
{
    if (!context || !*context)
        return;
    shoal_pool_release(*context);
    shoal_plugins_release(*context);
    free(*context);
    *context = NULL;
}

shoal_status shoal_context_allow_plugins(shoal_context *context, int allow)
{
    if (!context)
        return SHOAL_E_USAGE;
    context->plugins_allowed = allow != 0;
    return SHOAL_OK;
}

const char *shoal_context_message(const shoal_context *context)
{
    return context ? context->message : "";
}
