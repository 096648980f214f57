/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * nbody_peer.cu: the forces of another direct-sum code on a GPU, checked and timed on the bodies of `shoal bench ladder` with masses that
 * differ. big_peers.sh compiles it with the peer's own text, cut out of a checkout into peer_kernel.cuh:
 *
 *   PEER_SDK    nbody of NVIDIA's cuda-samples: integrateBodies<REAL>, with its step of length 1 from rest, so that velocities are accelerations
 *   PEER_MIKI   ymiki-repo/nbody, sources in shared memory: calc_acc_device in the precisions FP_L and FP_M
 *   NTHREADS    threads a block
 *
 *   nbody_peer NAME N ...      N: multiples of NTHREADS; a line of CSV each: name,threads,bodies,milliseconds,interactions_per_ns,rms_error
 *
 * The error is that of the acceleration of 256 bodies relative to its rms, against a sum in double precision on the host.
 */
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "peer_kernel.cuh"

static const double eps = 0.01;

static void check(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "nbody_peer: %s: %s\n", what, cudaGetErrorString(error));
        exit(1);
    }
}

static double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(*state >> 11) + 0.5) * 0x1p-53;
}

struct body {
    double x, y, z, m;
};

/* As core/command/command_bench_ladder.c makes them. */
static std::vector<body> plummer(long n)
{
    std::vector<body> bodies(n);
    uint64_t state = 1;
    for (body &b : bodies) {
        double r;
        do
            r = 1 / sqrt(pow(uniform(&state), -2. / 3) - 1);
        while (r > 20);
        const double z = 2 * uniform(&state) - 1, f = 2 * M_PI * uniform(&state), q = sqrt(1 - z * z);
        b = {r * q * cos(f), r * q * sin(f), r * z, 2 * uniform(&state) / (double)n};
        for (int c = 0; c < 3; c++)
            (void)uniform(&state); /* velocities */
    }
    return bodies;
}

#if PEER_SDK
typedef vec4<REAL>::Type word, result;

/* One evaluation: of positions and masses, to accelerations. */
static void evaluate(long n, word *x, word *a, word *moved)
{
    cudaMemsetAsync(a, 0, n * sizeof *a);
    integrateBodies<REAL><<<n / NTHREADS, NTHREADS, NTHREADS * sizeof(word)>>>(moved, x, a, 0, (unsigned)n, 1.0f, 1.0f, (int)(n / NTHREADS));
}

static void prepare()
{
    check(setSofteningSquared((REAL)(eps * eps)), "setSofteningSquared");
}
#else
typedef type::position word;
typedef type::acceleration result;

static void evaluate(long n, word *x, result *a, word *)
{
    calc_acc_device<<<n / NTHREADS, NTHREADS>>>(x, a, (type::int_idx)n, x, (type::flt_pos)(eps * eps));
}

static void prepare()
{
}
#endif

static void measure(const char *name, long n)
{
    const std::vector<body> bodies = plummer(n);
    std::vector<word> x(n);
    std::vector<result> a(n);
    for (long i = 0; i < n; i++)
        x[i].x = bodies[i].x, x[i].y = bodies[i].y, x[i].z = bodies[i].z, x[i].w = bodies[i].m;
    word *x_there, *moved;
    result *a_there;
    check(cudaMalloc(&x_there, n * sizeof *x_there), "cudaMalloc");
    check(cudaMalloc(&moved, n * sizeof *moved), "cudaMalloc");
    check(cudaMalloc(&a_there, n * sizeof *a_there), "cudaMalloc");
    check(cudaMemcpy(x_there, x.data(), n * sizeof *x_there, cudaMemcpyHostToDevice), "cudaMemcpy");
    evaluate(n, x_there, a_there, moved);
    check(cudaMemcpy(a.data(), a_there, n * sizeof *a_there, cudaMemcpyDeviceToHost), "the kernel");

    double errors = 0, sum = 0;
    #pragma omp parallel for reduction(+ : errors, sum)
    for (long i = 0; i < n; i += n / 256) {
        double want[3] = {0, 0, 0};
        for (const body &j : bodies) {
            const double dx = j.x - bodies[i].x, dy = j.y - bodies[i].y, dz = j.z - bodies[i].z;
            const double s2 = dx * dx + dy * dy + dz * dz + eps * eps, g = j.m / (s2 * sqrt(s2));
            want[0] += g * dx, want[1] += g * dy, want[2] += g * dz;
        }
        const double got[3] = {a[i].x, a[i].y, a[i].z};
        for (int c = 0; c < 3; c++) {
            errors += (got[c] - want[c]) * (got[c] - want[c]);
            sum += want[c] * want[c];
        }
    }
    const double rms = sqrt(errors / sum);
    if (!(rms < 1e-3)) {
        fprintf(stderr, "nbody_peer: %s, %ld bodies: rms error %g: expected below 1e-3\n", name, n, rms);
        exit(1);
    }

    const int batch = n < 100000 ? 20 : 1; /* as shoal_tiled_measure has it */
    float least = INFINITY;
    cudaEvent_t start, end;
    check(cudaEventCreate(&start), "cudaEventCreate");
    check(cudaEventCreate(&end), "cudaEventCreate");
    for (int round = 0; round < 3; round++) {
        float milliseconds;
        cudaEventRecord(start);
        for (int i = 0; i < batch; i++)
            evaluate(n, x_there, a_there, moved);
        cudaEventRecord(end);
        check(cudaEventSynchronize(end), "the kernel");
        cudaEventElapsedTime(&milliseconds, start, end);
        least = fminf(least, milliseconds / batch);
    }
    printf("%s,%d,%ld,%.6g,%.6g,%.2e\n", name, NTHREADS, n, least, (double)n * (double)n / least * 1e-6, rms);
    fflush(stdout);
    cudaEventDestroy(start);
    cudaEventDestroy(end);
    cudaFree(x_there);
    cudaFree(moved);
    cudaFree(a_there);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: nbody_peer NAME N ...\n");
        return 2;
    }
    prepare();
    for (int i = 2; i < argc; i++) {
        const long n = atol(argv[i]);
        if (n < 256 || n % NTHREADS || n % 256) {
            fprintf(stderr, "nbody_peer: %s bodies: expected a multiple of 256 and of %d\n", argv[i], NTHREADS);
            return 2;
        }
        measure(argv[1], n);
    }
    return 0;
}
