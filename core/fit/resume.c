/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * resume.c: the append-only file of what goes on, a fit or many (calibrate.c). Records, with numbers as this machine
 * has them:
 *
 *     4  magic "ShFt"
 *     4  type: 1 header, 2 the others
 *     8  bytes of payload
 *     4  CRC-32C of the 16 bytes above and the payload
 *     .  payload
 *
 *     header     the text that says of what it is
 *     of a fit: the number of draws before; the draws since; the state of the walkers after them, all temperatures
 *
 * A reader takes the records up to the first that is cut short or does not fit; what follows is cut off. So a kill
 * costs what came after the last record, and that comes again with the same bits.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fit/fit.h"

enum { MAGIC = 0x74466853, HEADER = 1, OTHER = 2 };

typedef struct record_head {
    uint32_t magic, type;
    uint64_t size;
} record_head;

static shoal_status failed(const shoal_fit_journal *journal, const char *what)
{
    return shoal_fail(journal->context, SHOAL_E_FILE, "%s: %s: %s", journal->path, what, shoal_why());
}

/* A record of up to three pieces; what could not be written whole is cut off. */
static shoal_status append(shoal_fit_journal *journal, uint32_t type, const void *const piece[3], const size_t size[3])
{
    const record_head head = {MAGIC, type, size[0] + size[1] + size[2]};
    uint32_t sum = shoal_crc32c(0, &head, sizeof head);
    const off_t before = lseek(journal->file, 0, SEEK_CUR);
    for (int i = 0; i < 3; i++)
        sum = shoal_crc32c(sum, piece[i], size[i]);
    bool good = before >= 0 && shoal_write_all(journal->file, &head, sizeof head) &&
                shoal_write_all(journal->file, &sum, sizeof sum);
    for (int i = 0; i < 3 && good; i++)
        good = shoal_write_all(journal->file, piece[i], size[i]);
    if (good && fdatasync(journal->file) == 0)
        return SHOAL_OK;
    const shoal_status status = failed(journal, "cannot write the journal");
    if (before >= 0 && ftruncate(journal->file, before) == 0)
        lseek(journal->file, before, SEEK_SET);
    return status;
}

/* The payload of the record at the file's position, malloc'd; NULL: there is none that is good. */
static unsigned char *read_record(int file, off_t left, record_head *head)
{
    uint32_t sum;
    if (left < (off_t)(sizeof *head + sizeof sum) || read(file, head, sizeof *head) != sizeof *head ||
        read(file, &sum, sizeof sum) != sizeof sum || head->magic != MAGIC ||
        head->size > (uint64_t)left - sizeof *head - sizeof sum)
        return NULL;
    unsigned char *payload = malloc(head->size + 1);
    size_t got = 0;
    while (payload && got < head->size) {
        const ssize_t more = read(file, payload + got, head->size - got);
        if (more <= 0 && !(more < 0 && errno == EINTR))
            break;
        got += more > 0 ? (size_t)more : 0;
    }
    if (payload && got == head->size && shoal_crc32c(shoal_crc32c(0, head, sizeof *head), payload, head->size) == sum) {
        payload[head->size] = '\0';
        return payload;
    }
    free(payload);
    return NULL;
}

/* All good records of a journal that has a header. */
static shoal_status resume(shoal_fit_journal *journal, const char *text, off_t size, shoal_record_taker *take,
                           void *user)
{
    record_head head;
    unsigned char *payload = read_record(journal->file, size, &head);
    off_t good = payload && head.type == HEADER ? (off_t)(sizeof head + sizeof(uint32_t) + head.size) : 0;
    shoal_status status = SHOAL_OK;
    if (good && !shoal_config_same((const char *)payload, text)) {
        char difference[256];
        shoal_config_difference((const char *)payload, text, difference, sizeof difference);
        status = shoal_fail(journal->context, SHOAL_E_INPUT, "%s: of another fit: %s; --force discards it",
                            journal->path, difference);
    }
    while (good && !status && payload) {
        free(payload);
        payload = read_record(journal->file, size - good, &head);
        if (!payload || head.type != OTHER || !take(user, payload, head.size))
            break;
        good += (off_t)(sizeof head + sizeof(uint32_t) + head.size);
    }
    free(payload);
    if (!status && (ftruncate(journal->file, good) != 0 || lseek(journal->file, good, SEEK_SET) < 0))
        status = failed(journal, "cannot go on with the journal");
    return status || good ? status
                          : append(journal, HEADER, (const void *[3]){text, "", ""}, (size_t[3]){strlen(text), 0, 0});
}

shoal_status shoal_records_open(shoal_context *context, const char *path, const char *text, shoal_record_taker *take,
                                void *user, shoal_fit_journal *journal)
{
    struct stat about;
    *journal = (shoal_fit_journal){context, path, -1, 0};
    journal->file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (journal->file < 0 || fstat(journal->file, &about) != 0)
        return failed(journal, "cannot open the journal");
    return resume(journal, text, about.st_size, take, user);
}

shoal_status shoal_records_append(shoal_fit_journal *journal, const void *const piece[3], const size_t size[3])
{
    return append(journal, OTHER, piece, size);
}

void shoal_fit_journal_close(shoal_fit_journal *journal)
{
    if (journal->file >= 0)
        close(journal->file);
    journal->file = -1;
}

/* ---- of a fit ---------------------------------------------------------------------------------------------------- */

typedef struct fitted {
    shoal_walkers *walkers;
    shoal_draws *draws;
    bool *resumed;
} fitted;

static size_t row_size(const shoal_draws *draws)
{
    return (size_t)draws->n_walkers * (size_t)(draws->k + SHOAL_DRAW_NUMBERS) * sizeof(double);
}

/* Draws and a state; false: they are of another fit. */
static bool take(void *user, const unsigned char *payload, size_t size)
{
    const fitted *of = user;
    shoal_draws *draws = of->draws;
    const size_t row = row_size(draws), state = of->walkers->n_state * sizeof *of->walkers->state;
    int64_t before;
    if (size < sizeof before + state || (size - sizeof before - state) % row != 0)
        return false;
    memcpy(&before, payload, sizeof before);
    const long n = (long)((size - sizeof before - state) / row);
    if (before != draws->n || shoal_draws_reserve(of->walkers->target->context, draws, draws->n + n))
        return false;
    memcpy((char *)draws->values + (size_t)draws->n * row, payload + sizeof before, (size_t)n * row);
    memcpy(of->walkers->state, payload + size - state, state);
    draws->n += n;
    *of->resumed = true;
    return true;
}

shoal_status shoal_fit_journal_open(shoal_context *context, const char *path, const char *text, shoal_walkers *walkers,
                                    shoal_draws *draws, bool *resumed, shoal_fit_journal *journal)
{
    *journal = (shoal_fit_journal){context, path, -1, 0};
    if (!path)
        return SHOAL_OK;
    const shoal_status status = shoal_records_open(context, path, text, take, &(fitted){walkers, draws, resumed},
                                                   journal);
    journal->n_draws = draws->n;
    return status;
}

shoal_status shoal_fit_journal_append(shoal_fit_journal *journal, const shoal_walkers *walkers,
                                      const shoal_draws *draws)
{
    if (!journal->path)
        return SHOAL_OK;
    const int64_t before = journal->n_draws;
    const size_t row = row_size(draws);
    const shoal_status status = append(
        journal, OTHER, (const void *[3]){&before, (const char *)draws->values + (size_t)before * row, walkers->state},
        (size_t[3]){sizeof before, (size_t)(draws->n - before) * row, walkers->n_state * sizeof(double)});
    if (!status)
        journal->n_draws = draws->n;
    return status;
}
