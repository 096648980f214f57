/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * batch.c: evaluations of many threads in few calls of a model, which divides each over the threads of its CPU or a
 * GPU. Each member is a fit that asks, waits, and goes on. A call is made as soon as half of the members wait, by one
 * of them for all of these; the others think meanwhile. No bits of an answer depend on the other vectors, so that it
 * does not matter which evaluations come together.
 */
#include <pthread.h>
#include <stdlib.h>

#include "core/fit/fit.h"

typedef struct request {
    struct request *next;
    int row;
    long n;
    const double *theta;
    bool predict;
    double *out;
    shoal_status status;
    bool done;
} request;

struct shoal_batch {
    shoal_model *model;
    int k;
    double *theta, *out;  /* [room][k + 1], [room] or [room][n_data]: of the call in progress */
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t news;
    bool busy; /* somebody has the model */
    int n_members, n_waiting;
    request *waiting;
};

shoal_status shoal_batch_create(shoal_context *context, shoal_model *model, long room, int n_members, bool predicts,
                                shoal_batch **batch)
{
    const int k = shoal_model_n_parameters(model);
    const size_t n_out = predicts ? (size_t)shoal_model_n_data(model) : 1;
    shoal_batch *made = *batch = calloc(1, sizeof *made);
    if (made)
        made->theta = shoal_allocate((size_t)room * ((size_t)k + 1 + n_out), sizeof(double));
    if (!made || !made->theta) {
        free(made);
        *batch = NULL;
        return shoal_fail(context, SHOAL_E_MEMORY, "out of memory for %ld vectors", room);
    }
    made->model = model;
    made->k = k;
    made->out = made->theta + room * (k + 1);
    made->n_members = n_members;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->news, NULL);
    return SHOAL_OK;
}

void shoal_batch_destroy(shoal_batch **batch)
{
    if (!*batch)
        return;
    pthread_mutex_destroy(&(*batch)->lock);
    pthread_cond_destroy(&(*batch)->news);
    free((*batch)->theta);
    free(*batch);
    *batch = NULL;
}

/* Of all vectors of some requests ln L, or what the model says of the data. */
static shoal_status answer(const shoal_batch *batch, const request *first, bool predict)
{
    const int k = batch->k;
    const long n_out = predict ? shoal_model_n_data(batch->model) : 1;
    long n = 0;
    for (const request *r = first; r; r = r->next)
        for (long v = 0; v < r->n && r->predict == predict; v++) {
            double *to = batch->theta + n++ * (k + 1);
            memcpy(to, r->theta + v * k, (size_t)k * sizeof *to);
            to[k] = r->row;
        }
    const shoal_status status = n == 0    ? SHOAL_OK
                                : predict ? shoal_model_predict(batch->model, n, batch->theta, batch->out)
                                          : shoal_model_evaluate(batch->model, n, batch->theta, batch->out);
    n = 0;
    for (const request *r = first; r; r = r->next)
        if (r->predict == predict) {
            memcpy(r->out, batch->out + n * n_out, (size_t)(r->n * n_out) * sizeof *r->out);
            n += r->n;
        }
    return status;
}

/* Make a call for all who wait. The lock is the caller's, and is open meanwhile. */
static void call(shoal_batch *batch)
{
    request *first = batch->waiting;
    batch->waiting = NULL;
    batch->n_waiting = 0;
    batch->busy = true;
    pthread_mutex_unlock(&batch->lock);
    shoal_status status = answer(batch, first, false);
    if (!status)
        status = answer(batch, first, true);
    pthread_mutex_lock(&batch->lock);
    for (request *r = first; r; r = r->next) {
        r->status = status;
        r->done = true;
    }
    batch->busy = false;
    pthread_cond_broadcast(&batch->news);
}

static shoal_status ask(shoal_batch *batch, int row, long n, const double *theta, bool predict, double *out)
{
    pthread_mutex_lock(&batch->lock);
    request own = {batch->waiting, row, n, theta, predict, out, SHOAL_OK, false};
    batch->waiting = &own;
    batch->n_waiting++;
    while (!own.done)
        if (!batch->busy && 2 * batch->n_waiting >= batch->n_members)
            call(batch);
        else
            pthread_cond_wait(&batch->news, &batch->lock);
    pthread_mutex_unlock(&batch->lock);
    return own.status;
}

shoal_status shoal_batch_evaluate(shoal_batch *batch, int row, long n, const double *theta, double *lnl)
{
    return ask(batch, row, n, theta, false, lnl);
}

shoal_status shoal_batch_predict(shoal_batch *batch, int row, long n, const double *theta, double *predicted)
{
    return ask(batch, row, n, theta, true, predicted);
}

shoal_model *shoal_batch_lock(shoal_batch *batch)
{
    pthread_mutex_lock(&batch->lock);
    while (batch->busy)
        pthread_cond_wait(&batch->news, &batch->lock);
    batch->busy = true;
    pthread_mutex_unlock(&batch->lock);
    return batch->model;
}

void shoal_batch_unlock(shoal_batch *batch)
{
    pthread_mutex_lock(&batch->lock);
    batch->busy = false;
    pthread_cond_broadcast(&batch->news);
    pthread_mutex_unlock(&batch->lock);
}

void shoal_batch_leave(shoal_batch *batch)
{
    pthread_mutex_lock(&batch->lock);
    batch->n_members--;
    pthread_cond_broadcast(&batch->news);
    pthread_mutex_unlock(&batch->lock);
}
