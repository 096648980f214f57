/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * batch.c: evaluations of many threads in one call of a model, which divides it over the threads of its CPU or a GPU.
 * Each member is a fit that asks, waits, and goes on; who asks last makes the call for all. No bits of an answer depend
 * on the other vectors, so that it does not matter which evaluations come together.
 */
#include <pthread.h>
#include <stdlib.h>

#include "core/fit/fit.h"

struct shoal_batch {
    shoal_model *model;
    int k;
    pthread_mutex_t lock;
    pthread_cond_t made;
    int n_members, n_waiting;
    long n;              /* vectors of the next call */
    double *theta, *lnl; /* [room][k + 1], [room] */
    uint64_t n_calls;
    shoal_status status; /* of the last one */
};

shoal_status shoal_batch_create(shoal_context *context, shoal_model *model, long room, int n_members,
                                shoal_batch **batch)
{
    const int k = shoal_model_n_parameters(model);
    shoal_batch *made = *batch = calloc(1, sizeof *made);
    if (made)
        made->theta = shoal_allocate((size_t)room * (size_t)(k + 2), sizeof(double));
    if (!made || !made->theta) {
        free(made);
        *batch = NULL;
        return shoal_fail(context, SHOAL_E_MEMORY, "out of memory for %ld vectors", room);
    }
    made->model = model;
    made->k = k;
    made->lnl = made->theta + room * (k + 1);
    made->n_members = n_members;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->made, NULL);
    return SHOAL_OK;
}

void shoal_batch_destroy(shoal_batch **batch)
{
    if (!*batch)
        return;
    pthread_mutex_destroy(&(*batch)->lock);
    pthread_cond_destroy(&(*batch)->made);
    free((*batch)->theta);
    free(*batch);
    *batch = NULL;
}

/* Make the call, if nobody is left who may ask. */
static void call(shoal_batch *batch)
{
    if (batch->n_waiting == 0 || batch->n_waiting < batch->n_members)
        return;
    batch->status = shoal_model_evaluate(batch->model, batch->n, batch->theta, batch->lnl);
    batch->n = 0;
    batch->n_waiting = 0;
    batch->n_calls++;
    pthread_cond_broadcast(&batch->made);
}

shoal_status shoal_batch_evaluate(shoal_batch *batch, int row, long n, const double *theta, double *lnl)
{
    const int k = batch->k;
    pthread_mutex_lock(&batch->lock);
    const long first = batch->n;
    const uint64_t n_calls = batch->n_calls;
    for (long v = 0; v < n; v++) {
        double *to = batch->theta + (first + v) * (k + 1);
        memcpy(to, theta + v * k, (size_t)k * sizeof *to);
        to[k] = row;
    }
    batch->n += n;
    batch->n_waiting++;
    call(batch);
    while (batch->n_calls == n_calls)
        pthread_cond_wait(&batch->made, &batch->lock);
    memcpy(lnl, batch->lnl + first, (size_t)n * sizeof *lnl); /* there is no next call before this member asks again */
    const shoal_status status = batch->status;
    pthread_mutex_unlock(&batch->lock);
    return status;
}

shoal_model *shoal_batch_lock(shoal_batch *batch)
{
    pthread_mutex_lock(&batch->lock);
    return batch->model;
}

void shoal_batch_unlock(shoal_batch *batch)
{
    pthread_mutex_unlock(&batch->lock);
}

void shoal_batch_leave(shoal_batch *batch)
{
    pthread_mutex_lock(&batch->lock);
    batch->n_members--;
    call(batch);
    pthread_mutex_unlock(&batch->lock);
}
