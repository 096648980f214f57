/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * jit.c: from a kernel choice to machine code for one GPU architecture.
 *
 * The text that is compiled is core/engine/kernel_cuda.kern.h with everything it includes. The binary contains all of
 * it (build/kernel_text.c). A choice enters as -D constants only. NVRTC is opened at run time. This file needs no GPU
 * and no driver, so a machine with the toolkit alone can compile every kernel and report what registers and memory it
 * needs.
 *
 * Compiled kernels are kept in $XDG_CACHE_HOME/shoal (or ~/.cache/shoal), a folder that is used only if it belongs to
 * the user and nobody else can write to it. A file's name is a 128-bit hash of all texts, all options and the
 * compiler's version; its head repeats the name and bears a checksum, so that a damaged or foreign file is compiled
 * anew. Files are written to a temporary name and renamed. A cache that cannot be used is no error.
 *
 * Environment: SHOAL_NVRTC is the path of the library; no other one is tried then. Three variables override what was
 * tuned: SHOAL_CUDA_BLOCK (threads per block), SHOAL_CUDA_MAX_REGISTERS (registers per thread), SHOAL_CUDA_BODIES
 * (bodies per thread in the model `body`).
 */
#define _GNU_SOURCE /* dladdr, mkostemp */
#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/engine/engine.h"

/* ---- NVRTC, own declarations ------------------------------------------------------------------------------------- */

typedef struct nvrtc_program *nvrtc_handle;

struct nvrtc {
    int (*version)(int *major, int *minor);
    const char *(*error_string)(int result);
    int (*create)(nvrtc_handle *program, const char *text, const char *name, int n_headers, const char *const *headers,
                  const char *const *names);
    int (*destroy)(nvrtc_handle *program);
    int (*compile)(nvrtc_handle program, int n_options, const char *const *options);
    int (*log_size)(nvrtc_handle program, size_t *size);
    int (*log)(nvrtc_handle program, char *text);
    int (*cubin_size)(nvrtc_handle program, size_t *size);
    int (*cubin)(nvrtc_handle program, char *image);
    int (*ptx_size)(nvrtc_handle program, size_t *size);
    int (*ptx)(nvrtc_handle program, char *image);
    int (*n_archs)(int *n);
    int (*archs)(int *archs);
    int major, minor;
    char path[512];
};

static const struct {
    const char *name;
    size_t offset;
} nvrtc_symbols[] = {
    {"nvrtcVersion", offsetof(struct nvrtc, version)},
    {"nvrtcGetErrorString", offsetof(struct nvrtc, error_string)},
    {"nvrtcCreateProgram", offsetof(struct nvrtc, create)},
    {"nvrtcDestroyProgram", offsetof(struct nvrtc, destroy)},
    {"nvrtcCompileProgram", offsetof(struct nvrtc, compile)},
    {"nvrtcGetProgramLogSize", offsetof(struct nvrtc, log_size)},
    {"nvrtcGetProgramLog", offsetof(struct nvrtc, log)},
    {"nvrtcGetCUBINSize", offsetof(struct nvrtc, cubin_size)},
    {"nvrtcGetCUBIN", offsetof(struct nvrtc, cubin)},
    {"nvrtcGetPTXSize", offsetof(struct nvrtc, ptx_size)},
    {"nvrtcGetPTX", offsetof(struct nvrtc, ptx)},
    {"nvrtcGetNumSupportedArchs", offsetof(struct nvrtc, n_archs)},
    {"nvrtcGetSupportedArchs", offsetof(struct nvrtc, archs)},
};

/* Open one library; false if it is not there or not usable. It stays loaded (NODELETE): opening it again costs
 * nothing, and no state has to be kept here. */
static bool nvrtc_try(const char *path, struct nvrtc *nvrtc)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return false;
    bool usable = true;
    for (int i = 0; i < SHOAL_COUNT(nvrtc_symbols); i++) {
        void *symbol = dlsym(library, nvrtc_symbols[i].name);
        usable = usable && symbol;
        memcpy((char *)nvrtc + nvrtc_symbols[i].offset, &symbol, sizeof symbol);
    }
    usable = usable && nvrtc->version(&nvrtc->major, &nvrtc->minor) == 0;
    if (usable) {
        void *symbol = dlsym(library, nvrtc_symbols[0].name);
        Dl_info where;
        bool known = dladdr(symbol, &where) && where.dli_fname;
        snprintf(nvrtc->path, sizeof nvrtc->path, "%s", known ? where.dli_fname : path);
    }
    dlclose(library);
    return usable;
}

/*
 * Find NVRTC: by the dynamic linker's rules, then in the toolkit's usual places, newest version first.
 *   driver_version  in  CUDA version of the driver that will run the code (1000 major + 10 minor), 0 = none: a library
 *                       of a newer major version makes code that it cannot load, and is the last resort
 */
static bool nvrtc_open(int driver_version, struct nvrtc *nvrtc)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"};
    const char *chosen = getenv("SHOAL_NVRTC");
    if (chosen && *chosen)
        return nvrtc_try(chosen, nvrtc);

    const char *home = getenv("CUDA_HOME"), *home_path = getenv("CUDA_PATH");
    const char *const folders[][2] = {
        {"", ""},
        {home ? home : "", "/lib64/"},
        {home_path ? home_path : "", "/lib64/"},
        {"/usr/local/cuda", "/lib64/"},
        {"/opt/cuda", "/lib64/"},
    };
    struct nvrtc too_new = {0};
    for (int i = 0; i < SHOAL_COUNT(names); i++)
        for (int k = 0; k < SHOAL_COUNT(folders); k++) {
            char path[1024];
            if (k > 0 && !*folders[k][0])
                continue;
            snprintf(path, sizeof path, "%s%s%s", folders[k][0], folders[k][1], names[i]);
            if (!nvrtc_try(path, nvrtc))
                continue;
            if (driver_version == 0 || nvrtc->major <= driver_version / 1000)
                return true;
            too_new = *nvrtc;
        }
    *nvrtc = too_new;
    return too_new.version != NULL;
}

const char *shoal_jit_missing(void)
{
    struct nvrtc nvrtc;
    return nvrtc_open(0, &nvrtc) ? NULL : "no NVRTC library (libnvrtc.so) found; install the CUDA toolkit's nvrtc";
}

/* ---- cache ---------------------------------------------------------------------------------------------- */

#define CACHE_MAGIC "shoal kernel 1\n" /* of the layout below */

struct cache_head {
    char magic[16];
    uint64_t key_a, key_b; /* what was compiled */
    uint64_t sum_a, sum_b; /* of all the rest */
    uint64_t size;         /* of the image */
    shoal_kernel_usage usage[SHOAL_KERNEL_ENTRIES];
    char log[sizeof((shoal_cubin *)0)->log];
};

static shoal_hash cache_sum(const struct cache_head *head, const void *image)
{
    shoal_hash sum = shoal_hash_start();
    shoal_hash_bytes(&sum, &head->key_a, sizeof head->key_a);
    shoal_hash_bytes(&sum, &head->key_b, sizeof head->key_b);
    shoal_hash_bytes(&sum, head->usage, sizeof head->usage);
    shoal_hash_bytes(&sum, head->log, sizeof head->log);
    shoal_hash_bytes(&sum, image, head->size);
    return sum;
}

static bool read_all(int file, void *data, size_t size)
{
    char *to = data;
    while (size > 0) {
        ssize_t n = read(file, to, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        to += n;
        size -= (size_t)n;
    }
    return true;
}

/* Read a kernel from the cache; false if it is not there or not what it should be. */
static bool cache_load(const char *path, shoal_hash key, shoal_cubin *cubin)
{
    struct cache_head head;
    struct stat status;
    void *image = NULL;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    bool good = fstat(file, &status) == 0 && read_all(file, &head, sizeof head) &&
                memcmp(head.magic, CACHE_MAGIC, sizeof head.magic) == 0 && head.key_a == key.a && head.key_b == key.b &&
                head.size > 0 && head.size == (uint64_t)status.st_size - sizeof head;
    if (good) {
        image = malloc(head.size);
        good = image && read_all(file, image, head.size);
    }
    close(file);
    if (good) {
        shoal_hash sum = cache_sum(&head, image);
        good = sum.a == head.sum_a && sum.b == head.sum_b;
    }
    if (!good) {
        free(image);
        return false;
    }
    cubin->image = image;
    cubin->size = head.size;
    memcpy(cubin->usage, head.usage, sizeof head.usage);
    memcpy(cubin->log, head.log, sizeof head.log);
    cubin->cached = true;
    return true;
}

/* Write a kernel into the cache; failing is allowed. */
static void cache_save(const char *path, shoal_hash key, const shoal_cubin *cubin)
{
    struct cache_head head;
    memset(&head, 0, sizeof head);
    memcpy(head.magic, CACHE_MAGIC, sizeof head.magic);
    head.key_a = key.a;
    head.key_b = key.b;
    head.size = cubin->size;
    memcpy(head.usage, cubin->usage, sizeof head.usage);
    memcpy(head.log, cubin->log, sizeof head.log);
    shoal_hash sum = cache_sum(&head, cubin->image);
    head.sum_a = sum.a;
    head.sum_b = sum.b;

    shoal_cache_save(path, &head, sizeof head, cubin->image, cubin->size);
}

/* ---- compiling --------------------------------------------------------------------------------------------------- */

enum { BLOCK = 128, SUBSTEPS_BLOCK = 256 }; /* threads, by default */

static shoal_tuning tuning_of(const shoal_kernel_choice *choice)
{
    shoal_tuning tuning = choice->tuning;
    tuning.block = shoal_environment_number("SHOAL_CUDA_BLOCK", tuning.block ? tuning.block : BLOCK, 32, 1024) / 32 *
                   32;
    tuning.max_registers = shoal_environment_number("SHOAL_CUDA_MAX_REGISTERS", tuning.max_registers, 16, 255);
    return tuning;
}

/* As many blocks of threads with so many registers as a multiprocessor has room for. A kernel that is told its
 * block's size takes a limit of registers in this form only. */
static int blocks_at_once(int block, int registers)
{
    enum { REGISTERS = 65536, UNIT = 8, MOST_BLOCKS = 32 };
    const int n = REGISTERS / (block * ((registers + UNIT - 1) / UNIT * UNIT));
    return n < 1 ? 1 : n > MOST_BLOCKS ? MOST_BLOCKS : n;
}

/* Options of one compile: owned strings in a fixed array. */
enum { MOST_OPTIONS = 32, OPTION_SIZE = 96, MOST_TEXTS = 128 };

struct options {
    char text[MOST_OPTIONS][OPTION_SIZE];
    const char *pointer[MOST_OPTIONS];
    int n;
    bool full; /* one found no room */
};

static void option_add(struct options *options, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void option_add(struct options *options, const char *format, ...)
{
    if (options->n == MOST_OPTIONS) {
        options->full = true;
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(options->text[options->n], OPTION_SIZE, format, arguments);
    va_end(arguments);
    options->full = options->full || length >= OPTION_SIZE;
    options->pointer[options->n] = options->text[options->n];
    options->n++;
}

/* The propagator's integers, booleans and choices as constants of the text; without a choice those that are there by
 * default. */
static void option_chosen(struct options *options, const shoal_kernel_choice *choice)
{
    char values[16 * SHOAL_MAX_PARAMETERS] = "0";
    size_t used = 0;
    for (int i = 0; i < choice->propagator->n_parameters; i++) {
        const shoal_parameter *parameter = &choice->propagator->parameters[i];
        const double value = choice->chosen ? choice->chosen[i] : parameter->initial;
        used += (size_t)snprintf(values + used, sizeof values - used, "%s%d", i ? "," : "",
                                 parameter->type == SHOAL_REAL ? 0 : (int)value);
    }
    option_add(options, "-DSHOAL_CHOSEN=%s", values);
}

/*
 * The architecture to compile for: machine code for the device itself, or for the nearest lower one of the same
 * generation, which it can run; else (*ptx) intermediate code of the newest the compiler knows, which the driver
 * finishes.
 */
static int arch_for(const struct nvrtc *nvrtc, int arch, bool *ptx)
{
    int n = 0, archs[128], same = 0, newest = 0;
    *ptx = false;
    if (nvrtc->n_archs(&n) != 0 || n <= 0 || n > SHOAL_COUNT(archs) || nvrtc->archs(archs) != 0)
        return arch;
    for (int i = 0; i < n; i++) {
        if (archs[i] > arch)
            continue;
        if (archs[i] / 10 == arch / 10 && archs[i] > same)
            same = archs[i];
        if (archs[i] > newest)
            newest = archs[i];
    }
    if (same)
        return same;
    *ptx = newest != 0;
    return newest ? newest : arch;
}

static const char *const entry_names[SHOAL_KERNEL_ENTRIES] = {
    [SHOAL_PREPARE] = "shoal_prepare",
    [SHOAL_INTEGRATE] = "shoal_integrate",
    [SHOAL_SNAPSHOT] = "shoal_snapshot",
    [SHOAL_BARE] = "shoal_bare",
    [SHOAL_FINISH] = "shoal_finish",
    [SHOAL_OBSERVE] = "shoal_observe",
    [SHOAL_WALKER_BEGIN] = "shoal_walker_begin",
    [SHOAL_WALKER_END] = "shoal_walker_end",
    [SHOAL_SUBSTEPS] = "shoal_substeps",
    [SHOAL_GATHER] = "shoal_gather",
    [SHOAL_CARRY] = "shoal_carry",
};

const char *shoal_kernel_entry_name(shoal_kernel_entry entry)
{
    return entry_names[entry];
}

/* One line of ptxas -v: what a kernel uses. `entry` is the kernel the lines are about, carried from line to line. */
static void usage_from_line(const char *line, int *entry, shoal_kernel_usage *usage)
{
    const char *at = strstr(line, "Compiling entry function '");
    if (at) {
        at += strlen("Compiling entry function '");
        *entry = -1;
        for (int i = 0; i < SHOAL_KERNEL_ENTRIES; i++)
            if (strncmp(at, entry_names[i], strlen(entry_names[i])) == 0 && at[strlen(entry_names[i])] == '\'')
                *entry = i;
    }
    if (*entry < 0)
        return;
    int stack, stores, loads;
    at = strpbrk(line, "0123456789");
    if (at && sscanf(at, "%d bytes stack frame, %d bytes spill stores, %d bytes", &stack, &stores, &loads) == 3) {
        /* a line for the kernel and one for every function that it calls */
        usage[*entry].stack_bytes += stack;
        usage[*entry].spill_bytes += stores + loads;
    }
    at = strstr(line, "Used ");
    if (at)
        (void)sscanf(at, "Used %d registers", &usage[*entry].registers);
}

/* Split the compiler's log: ptxas' figures into usage, every other line that says something into cubin->log. */
static void log_read(char *text, shoal_cubin *cubin)
{
    int entry = -1;
    size_t used = 0;
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        if (strncmp(line, "ptxas info", 10) == 0 || strstr(line, "bytes stack frame")) {
            usage_from_line(line, &entry, cubin->usage);
            continue;
        }
        size_t length = strlen(line);
        if (strspn(line, " \t\r") == length || used + length + 2 > sizeof cubin->log)
            continue;
        memcpy(cubin->log + used, line, length);
        used += length;
        cubin->log[used++] = '\n';
        cubin->log[used] = '\0';
    }
}

/* The first lines of a log as one line: runs of white space become one space, lines are parted by " | ". */
static void log_in_one_line(const char *log, char *line, size_t size)
{
    size_t used = 0;
    for (; *log && used + 4 < size; log++) {
        if (*log == '\n') {
            if (log[1]) {
                memcpy(line + used, " | ", 3);
                used += 3;
            }
        } else if (!isspace((unsigned char)*log)) {
            line[used++] = *log;
        } else if (used && line[used - 1] != ' ') {
            line[used++] = ' ';
        }
    }
    line[used] = '\0';
}

/* Compile for real. */
/* long: what the compiler, the cubin and the message need is eight things of their own */
static shoal_status compile(shoal_context *context, const struct nvrtc *nvrtc, const char *text, const char *name,
                            bool plugins, const struct options *options, bool ptx, const char *what, shoal_cubin *cubin)
{
    /* As with -I. and -Icore/plug: every text is known by its path, and what plugins include by its bare name, too. */
    const char *names[MOST_TEXTS + 1], *texts[MOST_TEXTS + 1];
    int n = 0;
    shoal_text known;
    for (int i = 0; (known = shoal_plugin_text(plugins ? context : NULL, i)).name; i++) {
        if (i == MOST_TEXTS)
            return shoal_fail(context, SHOAL_E_INTERNAL, "compiling %s: more than %d texts", what, MOST_TEXTS);
        names[n] = known.name;
        texts[n++] = known.text;
        if (strcmp(known.name, "core/plug/plug.h") == 0) {
            names[n] = "plug.h";
            texts[n++] = known.text;
        }
    }

    shoal_status status = SHOAL_OK;
    nvrtc_handle program = NULL;
    char *log = NULL;
    size_t size = 0;
    int result = nvrtc->create(&program, text, strrchr(name, '/') + 1, n, texts, names);
    if (result == 0) {
        result = nvrtc->compile(program, options->n, options->pointer);
        if (nvrtc->log_size(program, &size) == 0 && size > 0)
            log = calloc(size + 1, 1);
        if (log && nvrtc->log(program, log) == 0)
            log_read(log, cubin);
    }
    if (result == 0)
        result = ptx ? nvrtc->ptx_size(program, &cubin->size) : nvrtc->cubin_size(program, &cubin->size);
    if (result == 0) {
        cubin->image = malloc(cubin->size + 1);
        if (!cubin->image)
            status = shoal_fail(context, SHOAL_E_MEMORY, "no memory for a kernel of %zu bytes", cubin->size);
        else
            result = ptx ? nvrtc->ptx(program, cubin->image) : nvrtc->cubin(program, cubin->image);
    }
    if (result != 0) {
        char line[700];
        log_in_one_line(cubin->log, line, sizeof line);
        status = shoal_fail(context, SHOAL_E_DEVICE, "compiling %s failed: %s (NVRTC %d.%d): %s", what,
                            nvrtc->error_string(result), nvrtc->major, nvrtc->minor, line);
    }
    if (program)
        nvrtc->destroy(&program);
    free(log);
    return status;
}

/* The text of this build with a name; NULL if it is not in it. */
static const char *text_named(const char *name)
{
    for (int i = 0; shoal_texts[i].name; i++)
        if (strcmp(shoal_texts[i].name, name) == 0)
            return shoal_texts[i].text;
    return NULL;
}

/* From the cache, or compile and keep. what: of the message. */
/* long: as compile */
static shoal_status compile_or_load(shoal_context *context, const struct nvrtc *nvrtc, const char *name, bool plugins,
                                    const struct options *options, bool ptx, const char *what, shoal_cubin *cubin)
{
    const char *text = text_named(name);
    if (!text)
        return shoal_fail(context, SHOAL_E_INTERNAL, "the kernel text is not in this build");
    if (options->full) /* before the cache is asked: what is cut off is not in the hash */
        return shoal_fail(context, SHOAL_E_INTERNAL, "compiling %s: more than %d options, or %d characters of one",
                          what, MOST_OPTIONS, OPTION_SIZE - 1);

    shoal_hash key = shoal_hash_start();
    uint64_t version[2] = {(uint64_t)nvrtc->major, (uint64_t)nvrtc->minor};
    shoal_hash_bytes(&key, version, sizeof version);
    shoal_text known;
    for (int i = 0; (known = shoal_plugin_text(plugins ? context : NULL, i)).name; i++) {
        shoal_hash_string(&key, known.name);
        shoal_hash_string(&key, known.text);
    }
    shoal_hash_string(&key, name);
    for (int i = 0; i < options->n; i++)
        shoal_hash_string(&key, options->text[i]);

    char folder[512];
    bool cache = shoal_cache_folder(folder, sizeof folder, true);
    if (cache)
        snprintf(cubin->file, sizeof cubin->file, "%s/%016llx%016llx.cubin", folder, (unsigned long long)key.a,
                 (unsigned long long)key.b);
    if (cache && cache_load(cubin->file, key, cubin))
        return SHOAL_OK;
    shoal_status status = compile(context, nvrtc, text, name, plugins, options, ptx, what, cubin);
    if (status != SHOAL_OK) {
        free(cubin->image);
        cubin->image = NULL;
        cubin->size = 0;
        return status;
    }
    if (cache)
        cache_save(cubin->file, key, cubin);
    return SHOAL_OK;
}

/* Options that all texts are compiled with; *arch becomes the one that it is compiled for. */
static void options_common(struct options *options, const struct nvrtc *nvrtc, int *arch, bool *ptx)
{
    *arch = arch_for(nvrtc, *arch, ptx);
    option_add(options, "--gpu-architecture=%s_%d", *ptx ? "compute" : "sm", *arch);
    option_add(options, "--fmad=false");
    option_add(options, "--std=c++17");
    option_add(options, "--device-as-default-execution-space");
    option_add(options, "--diag-suppress=177"); /* what unused monitors leave behind; gcc looks at the same text */
    if (!*ptx)
        option_add(options, "--ptxas-options=-v");
    if (nvrtc->major >= 13) /* its own cache answers without the report on registers */
        option_add(options, "--no-cache");
}

shoal_status shoal_jit_text(shoal_context *context, const char *name, const char *const *constants, int arch,
                            int driver_version, shoal_cubin *cubin)
{
    struct nvrtc nvrtc;
    struct options options = {.n = 0};
    bool ptx;
    double start = shoal_seconds();
    memset(cubin, 0, sizeof *cubin);
    if (!nvrtc_open(driver_version, &nvrtc))
        return shoal_fail(context, SHOAL_E_UNSUPPORTED, "%s", shoal_jit_missing());
    options_common(&options, &nvrtc, &arch, &ptx);
    for (int i = 0; constants[i]; i++)
        option_add(&options, "-D%s", constants[i]);
    char what[128];
    snprintf(what, sizeof what, "%s, sm_%d", name, arch);
    shoal_status status = compile_or_load(context, &nvrtc, name, false, &options, ptx, what, cubin);
    cubin->seconds = shoal_seconds() - start;
    return status;
}

shoal_status shoal_jit_compile(shoal_context *context, const shoal_kernel_choice *choice, int entries, int arch,
                               int driver_version, shoal_cubin *cubin)
{
    struct nvrtc nvrtc;
    bool ptx;
    double start = shoal_seconds();
    memset(cubin, 0, sizeof *cubin);

    if (!nvrtc_open(driver_version, &nvrtc))
        return shoal_fail(context, SHOAL_E_UNSUPPORTED, "%s", shoal_jit_missing());
    shoal_tuning tuning = tuning_of(choice);
    const bool alone = shoal_team_is_one(choice, entries);
    if (!(entries & ~SHOAL_ASIDE_ENTRIES)) {
        tuning.block = SUBSTEPS_BLOCK;
        tuning.max_registers = 255;
    } else if (!alone) {
        tuning.block = shoal_team_block(choice, tuning.block);
    }
    struct options options = {.n = 0};
    options_common(&options, &nvrtc, &arch, &ptx);
    option_add(&options, "--diag-suppress=128"); /* a team's loops that are empty for its size */
    option_add(&options, "-DSHOAL_ENTRIES=0x%x", (unsigned)entries);
    const bool rare = !(entries & ~(SHOAL_ONCE_ENTRIES | 1 << SHOAL_FINISH | SHOAL_WALKER_ENTRIES));
    if (rare) /* small code beats fast code, a thread a system will do, and the bits are the same */
        option_add(&options, "-DLANE_ROLLED");
    const int team = alone ? 1 : shoal_team_threads(choice), first = choice->propagator->first_body;
    const int own = first + shoal_team_each(choice); /* bodies that a team's thread sees */
    option_add(&options, "-DN_BODIES=%d", team > 1 ? own << choice->variational : shoal_choice_moved(choice));
    if (team > 1) {
        option_add(&options, "-DSHOAL_MODEL=%d", choice->model);
        option_add(&options, "-DTEAM=%d", team);
        option_add(&options, "-DTEAM_EACH=%d", shoal_team_each(choice));
        option_add(&options, "-DTEAM_DOUBLES=%d", shoal_team_doubles(choice));
        option_add(&options, "-DTEAM_BODIES=%d", choice->n_bodies);
        option_add(&options, "-DTEAM_FIRST=%d", first);
    }
    option_add(&options, "-DSHOAL_VARIATIONAL=%d", choice->variational);
    option_add(&options, "-DSHOAL_CONJUNCTIONS=%d", choice->conjunctions);
    option_add(&options, "-DPROPAGATOR=%s", choice->propagator->name);
    option_add(&options, "-DDESCRIPTOR_SETS_ASIDE=%d", choice->propagator->sets_aside);
    option_add(&options, "-DSHOAL_MONITORS=0x%x", entries & ~SHOAL_ONCE_ENTRIES ? (unsigned)choice->monitors : 0);
    option_add(&options, "-DSHOAL_FORCES=0x%x", (unsigned)choice->forces);
    option_chosen(&options, choice);
    if (choice->plugins) {
        option_add(&options, "-DSHOAL_PLUGINS");
    }
    option_add(&options, "-DSHOAL_FORM=%d", choice->form);
    option_add(&options, "-DSHOAL_MASSIVE=%d", choice->n_massive);
    if (choice->unit_star)
        option_add(&options, "-DSHOAL_UNIT_STAR");
    option_add(&options, "-DSHOAL_COMPENSATED=%d", choice->compensated);
    option_add(&options, "-DSHOAL_BLOCK=%d", tuning.block);
    if (tuning.max_registers && !rare)
        option_add(&options, "-DSHOAL_MIN_BLOCKS=%d", blocks_at_once(tuning.block, tuning.max_registers));

    cubin->block = tuning.block;
    char what[128];
    snprintf(what, sizeof what, "the kernel of %s for %d bodies, sm_%d", choice->propagator->name, choice->n_bodies,
             arch);
    shoal_status status = compile_or_load(context, &nvrtc, "core/engine/kernel_cuda.kern.h", choice->plugins, &options,
                                          ptx, what, cubin);
    cubin->seconds = shoal_seconds() - start;
    return status;
}

void shoal_cubin_release(shoal_cubin *cubin)
{
    free(cubin->image);
    memset(cubin, 0, sizeof *cubin);
}

/* ---- information ------------------------------------------------------------------------------------------------- */

void shoal_jit_info(FILE *out)
{
    struct nvrtc nvrtc;
    if (nvrtc_open(0, &nvrtc))
        fprintf(out, "  compiler: NVRTC %d.%d, %s\n", nvrtc.major, nvrtc.minor, nvrtc.path);
    else
        fprintf(out, "  compiler: %s\n", shoal_jit_missing());

    char folder[512];
    DIR *directory = shoal_cache_folder(folder, sizeof folder, false) ? opendir(folder) : NULL;
    if (!directory) {
        fprintf(out, "  kernel cache: none yet, or not private to this user\n");
        return;
    }
    long n_files = 0, n_bytes = 0;
    for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory)) {
        struct stat status;
        if (fstatat(dirfd(directory), entry->d_name, &status, 0) == 0 && S_ISREG(status.st_mode)) {
            n_files++;
            n_bytes += status.st_size;
        }
    }
    closedir(directory);
    fprintf(out, "  kernel cache: %s, %ld files, %ld bytes\n", folder, n_files, n_bytes);
}
