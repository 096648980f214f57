/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * driver.c: runs a harness without libFuzzer, so that any compiler will do:
 *
 *     NAME [--runs N] [--seconds S] [--seed K] [--leaks B] [--hang S] FILE-OR-FOLDER ...
 *
 * First every file as it is, then changed ones, N of them or for S seconds (default: none); the same for the same seed.
 * B bytes of a leak are allowed: the harness knows a library that leaks. What crashes, hangs or leaks is written to
 * NAME.found in TMPDIR, and the exit code is not 0.
 */
#define _GNU_SOURCE 1
#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void __asan_on_error(void); /* called by the address sanitizer */

enum { MOST_BYTES = 1 << 16, MOST_SEEDS = 1000 };

typedef struct input {
    uint8_t *data;
    size_t size;
} input;

static input seeds[MOST_SEEDS];
static int n_seeds;
static uint8_t data[MOST_BYTES]; /* the input at work */
static size_t size;
static uint64_t random_state = 1;
static char found[512];
static size_t allowed;             /* bytes that may leak */
static unsigned hang_seconds = 20; /* that one input may take */

static uint64_t draw(uint64_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % n;
}

/* In signal handlers: write(2) and its like alone. */
static void keep(void)
{
    const int file = open(found, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (file < 0 || write(file, data, size) != (ssize_t)size || write(2, found, strlen(found)) < 0 ||
        write(2, "\n", 1) < 0)
        return;
    close(file);
}

void __asan_on_error(void)
{
    keep();
}

static void on_signal(int signal_number)
{
    static const char hangs[] = "it hangs: ", crashes[] = "it crashes: ";
    const char *text = signal_number == SIGALRM ? hangs : crashes;
    if (write(2, text, strlen(text)) > 0)
        keep();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* Bytes in use; a thread has an arena of its own, but harnesses have one thread. */
static size_t in_use(void)
{
    return mallinfo2().uordblks;
}

/* The input at work, as often as it takes to tell a leak from what is kept for later. */
static void run(void)
{
    const size_t before = in_use();
    size_t grown = SIZE_MAX;
    alarm(hang_seconds);
    LLVMFuzzerTestOneInput(data, size);
    for (int again = 0; again < 4 && in_use() > before && grown > 0; again++) {
        const size_t start = in_use();
        LLVMFuzzerTestOneInput(data, size);
        grown = in_use() > start ? in_use() - start : 0;
    }
    alarm(0);
    if (grown > allowed && grown < SIZE_MAX) {
        fprintf(stderr, "it leaks %zu bytes: ", grown);
        keep();
        exit(1);
    }
}

static void read_seed(const char *path)
{
    FILE *in = fopen(path, "rb");
    if (!in || n_seeds == MOST_SEEDS || !(seeds[n_seeds].data = malloc(MOST_BYTES))) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(2);
    }
    seeds[n_seeds].size = fread(seeds[n_seeds].data, 1, MOST_BYTES, in);
    n_seeds++;
    fclose(in);
}

static void read_seeds(const char *path)
{
    struct dirent **names;
    struct stat about;
    if (stat(path, &about))
        return; /* no case was found yet */
    if (!S_ISDIR(about.st_mode)) {
        read_seed(path);
        return;
    }
    const int n = scandir(path, &names, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char file[512];
        snprintf(file, sizeof file, "%s/%s", path, names[i]->d_name);
        if (names[i]->d_name[0] != '.')
            read_seed(file);
        free(names[i]);
    }
    if (n >= 0)
        free(names);
}

/* Put `with` in the place of n bytes at `at`, as far as there is room. */
static void replace(size_t at, size_t n, const void *with, size_t n_with)
{
    if (size - n + n_with > MOST_BYTES)
        return;
    memmove(data + at + n_with, data + at + n, size - at - n);
    memcpy(data + at, with, n_with);
    size += n_with - n;
}

static void change(void)
{
    static const char *const words[] = {"-1",   "0",     "1e999",     "nan",  "99999999999999999999",
                                        "\"",   "\n",    ",",         "{",    "}",
                                        "(",    ")",     ";",         "= ",   "#",
                                        "=",    "\0",    "\xff",      "%s",   "\t",
                                        "&&",   "-inf",  "1e-9",      "name", "  ,",
                                        "\r\n", "$$SOE", "2147483648"};
    static const uint64_t numbers[] = {0, 1, 255, 65535, 0x7fffffff, 0x80000000, 0xffffffff, INT64_MAX, UINT64_MAX};
    const size_t at = draw(size + 1), left = size - at;
    const size_t n = left ? draw(left < 32 ? left : 32) + 1 : 0;
    const input *other = &seeds[draw((uint64_t)n_seeds)];
    const char *word = words[draw(sizeof words / sizeof *words)];
    uint8_t few[32];
    switch (draw(8)) {
    case 0:
        if (left)
            data[at] ^= (uint8_t)(1u << draw(8));
        break;
    case 1:
        if (left)
            data[at] = (uint8_t)draw(256);
        break;
    case 2: replace(at, n, "", 0); break;
    case 3: replace(at, draw(2) ? n : 0, word, strlen(word)); break;
    case 4: /* a number of 4 or 8 bytes */
        if (left >= 8)
            memcpy(data + at, &numbers[draw(sizeof numbers / sizeof *numbers)], draw(2) ? 4 : 8);
        break;
    case 5: /* the same once more */
        memcpy(few, data + at, n);
        replace(at, 0, few, n);
        break;
    case 6: size = draw(8) ? size : at; break;
    default:
        if (other->size) {
            const size_t from = draw(other->size), most = other->size - from;
            replace(at, n, other->data + from, draw(most < 256 ? most : 256));
        }
    }
}

static void begin(const char *program)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};
    const char *name = strrchr(program, '/'), *folder = getenv("TMPDIR");
    snprintf(found, sizeof found, "%s/%s.found", folder ? folder : "/tmp", name ? name + 1 : program);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], on_signal);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(int argc, char **argv)
{
    double runs = 0, seconds = 0;
    long done = 0;
    /* Free memory that a thread keeps for itself counts as used: none of it, or small leaks cannot be told. */
    if (!getenv("GLIBC_TUNABLES") && !setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0", 1))
        execv("/proc/self/exe", argv);
    begin(argv[0]);
    for (int i = 1; i < argc; i++) {
        double *option = strcmp(argv[i], "--runs") == 0 ? &runs : strcmp(argv[i], "--seconds") == 0 ? &seconds : NULL;
        if (option && i + 1 < argc)
            *option = atof(argv[++i]);
        else if (strcmp(argv[i], "--leaks") == 0 && i + 1 < argc)
            allowed = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--hang") == 0 && i + 1 < argc)
            hang_seconds = (unsigned)atoi(argv[++i]);
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            random_state = strtoull(argv[++i], NULL, 10) | 1;
        else
            read_seeds(argv[i]);
    }
    if (!n_seeds) {
        fprintf(stderr, "%s: expected files\n", argv[0]);
        return 2;
    }
    for (int s = 0; s < n_seeds; s++) {
        memcpy(data, seeds[s].data, size = seeds[s].size);
        run();
    }
    const double end = now() + seconds;
    for (; (double)done < runs || now() < end; done++) {
        const input *seed = &seeds[draw((uint64_t)n_seeds)];
        memcpy(data, seed->data, size = seed->size);
        for (uint64_t n = draw(6) + 1; n > 0; n--)
            change();
        run();
    }
    printf("%d files, %ld changed ones\n", n_seeds, done);
    return 0;
}
