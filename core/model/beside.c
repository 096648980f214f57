/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * beside.c: the CPU's threads take a part of each batch of walkers beside a GPU. Both engines give the same bits, so
 * that no result depends on who takes a walker.
 *
 * The part is as large as they can take in the time of the GPU's: it follows from the last batch. A batch that the GPU
 * takes in less than WORTH_SHARING it takes alone: its copies need the host, too.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/model/model.h"

#define WORTH_SHARING 0.02 /* s */
enum { GROUP = 16 };       /* walkers that a thread advances together, at most */
enum { LEAST_SHARE = 4 };  /* batches have at least so many walkers for each that all threads advance together */

struct shoal_beside {
    shoal_context context; /* takes the messages; has threads of its own */
    shoal_study study;     /* as the model's, on the CPU */
    shoal_model *model;
    long grain;      /* walkers that keep all threads busy */
    double share;    /* of a batch */
    double worth;    /* s; a GPU takes shorter batches alone */
    double walker_s; /* that a walker took it in the last batch */
    long n_taken;    /* walkers that the CPU has taken so far */
};

shoal_status shoal_beside_create(const shoal_study *study, long n_walkers, shoal_beside **beside)
{
    enum { TURNS = 4 }; /* of walkers for which there is memory */
    const int hosted = shoal_hosted_eagerness();
    shoal_beside *made = *beside = calloc(1, sizeof *made);
    if (!made)
        return shoal_fail(study->context, SHOAL_E_MEMORY, "out of memory");
    made->context = *study->context;
    made->context.pool = NULL;
    made->study = *study;
    made->study.context = &made->context;
    made->study.options.engine = "cpu";
    made->share = 0.5 / LEAST_SHARE;
    made->worth = hosted == SHOAL_HOSTED_ALWAYS ? -1 : WORTH_SHARING;
    const int threads = shoal_threads_or_default(study->options.threads);
    made->grain = (long)threads * GROUP;
    if (n_walkers < LEAST_SHARE * made->grain || hosted == SHOAL_HOSTED_NEVER) {
        shoal_beside_destroy(beside);
        return SHOAL_OK;
    }
    if (shoal_model_create(&made->study, TURNS * made->grain, &made->model) != SHOAL_OK)
        shoal_beside_destroy(beside); /* the GPU can do without */
    return SHOAL_OK;
}

void shoal_beside_destroy(shoal_beside **beside)
{
    shoal_beside *old = *beside;
    *beside = NULL;
    if (!old)
        return;
    shoal_model_destroy(&old->model);
    shoal_pool_release(&old->context);
    free(old);
}

shoal_model *shoal_beside_model(const shoal_beside *beside)
{
    return beside->model;
}

long shoal_beside_taken(const shoal_beside *beside)
{
    return beside ? beside->n_taken : 0;
}

static void *call(void *argument)
{
    shoal_vectors *batch = argument;
    const double began = shoal_seconds();
    batch->status = batch->walk(batch);
    batch->seconds = shoal_seconds() - began;
    return NULL;
}

shoal_status shoal_beside_walk(shoal_beside *beside, const shoal_vectors *all)
{
    const double grains = beside->share * (double)all->n / (double)beside->grain;
    const long n = beside->walker_s * (double)all->n > beside->worth ? beside->grain * lround(grains) : 0;
    shoal_vectors gpu = *all, cpu = *all;
    pthread_t thread;
    gpu.n -= n;
    cpu.model = beside->model;
    cpu.n = n;
    cpu.theta += gpu.n * all->n_parameters;
    if (all->lnl)
        cpu.lnl += gpu.n;
    if (all->predicted)
        cpu.predicted += gpu.n * all->n_data;
    if (n == 0 || pthread_create(&thread, NULL, call, &gpu) != 0) {
        gpu = *all;
        (void)call(&gpu);
        if (all->n > 0)
            beside->walker_s = gpu.seconds / (double)all->n;
        return gpu.status;
    }
    (void)call(&cpu);
    (void)pthread_join(thread, NULL);
    beside->n_taken += n;
    beside->walker_s = gpu.seconds / (double)gpu.n;
    if (cpu.status && !gpu.status)
        return shoal_fail(shoal_model_context(all->model), cpu.status, "%s", beside->context.message);
    beside->share = fmin(0.9, beside->share * fmin(2, fmax(0.5, sqrt(gpu.seconds / cpu.seconds))));
    return gpu.status;
}
