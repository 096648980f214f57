/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * error.c: the last error's message, the texts of statuses and outcomes, and the name that a user probably meant.
 *
 * The distance between two words is Levenshtein's (Soviet Physics Doklady 10, 707, 1966) with the exchange of two
 * neighbouring letters, the commonest slip of the keyboard, counted as one (Damerau, doi:10.1145/363958.363994).
 */
#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#include "core/base/base.h"

const char *shoal_status_text(shoal_status status)
{
    switch (status) {
#define X(NAME, text) \
    case SHOAL_##NAME: return text;
        SHOAL_STATUS_LIST(X)
#undef X
    }
    return "unknown status";
}

const char *shoal_version(void)
{
    return SHOAL_VERSION;
}

shoal_status(shoal_fail)(shoal_context *context, shoal_status status, const char *format, ...)
{
    if (!context)
        return status;
    /* Written aside first: an argument may be the old message, to which the caller adds where it happened. */
    char message[SHOAL_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    void *numbers = shoal_numbers_begin();
    vsnprintf(message, sizeof message, format, arguments);
    shoal_numbers_end(numbers);
    va_end(arguments);
    size_t length = strlen(message);
    while (length > 0 && isspace((unsigned char)message[length - 1]))
        message[--length] = '\0';
    for (size_t i = 0; i < length; i++)
        if (message[i] == '\n' || message[i] == '\r' || message[i] == '\t')
            message[i] = ' '; /* texts of other libraries may have line ends; a message is one line */
    memcpy(context->message, shoal_make_plain(message), length + 1);
    return status;
}

/* Longest words that are compared; a longer one is a paste accident with no near name. */
#define WORD_SIZE 64

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Number of letters to insert, delete, change or exchange with the neighbour, case ignored. Lengths < WORD_SIZE. */
static int edit_distance(const char *a, const char *b)
{
    int length_a = (int)strlen(a), length_b = (int)strlen(b);
    int rows[3][WORD_SIZE + 1]; /* distances of prefixes of a, now and one and two letters ago, to prefixes of b */
    for (int j = 0; j <= length_b; j++)
        rows[0][j] = j;
    for (int i = 1; i <= length_a; i++) {
        int *now = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        int letter_a = tolower((unsigned char)a[i - 1]);
        now[0] = i;
        for (int j = 1; j <= length_b; j++) {
            int letter_b = tolower((unsigned char)b[j - 1]);
            now[j] = least(least(last[j] + 1, now[j - 1] + 1), last[j - 1] + (letter_a != letter_b));
            if (i > 1 && j > 1 && letter_a == tolower((unsigned char)b[j - 2]) &&
                letter_b == tolower((unsigned char)a[i - 2]))
                now[j] = least(now[j], before[j - 2] + 1);
        }
    }
    return rows[length_a % 3][length_b];
}

const char *shoal_nearest(const char *word, const char *const *candidates, int n_candidates)
{
    if (!word || strlen(word) >= WORD_SIZE)
        return NULL;
    const char *nearest = NULL;
    int limit = 1 + (int)strlen(word) / 3;
    for (int i = 0; i < n_candidates; i++) {
        if (!candidates[i] || strlen(candidates[i]) >= WORD_SIZE)
            continue;
        int distance = edit_distance(word, candidates[i]);
        if (distance <= limit) {
            nearest = candidates[i];
            limit = distance - 1; /* among equals the first wins */
        }
    }
    return nearest;
}

const char *shoal_outcome_name(int outcome)
{
    switch (outcome) {
#define X(NAME, code, name, doc) \
    case code: return name;
        SHOAL_OUTCOME_LIST(X)
#undef X
    }
    return "unknown";
}

int shoal_outcome_from_name(const char *name)
{
    if (name)
        for (int outcome = 0; outcome < SHOAL_OUTCOMES; outcome++)
            if (strcmp(name, shoal_outcome_name(outcome)) == 0)
                return outcome;
    return -1;
}
