/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * base.h: what needs no physics: messages, units, numbers, files, memory, threads, hashes and the cache of
 * compiled kernels.
 */
#ifndef SHOAL_BASE_H
#define SHOAL_BASE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/base/count.h"
#include "core/shoal.h"

/* ---- error.c ----------------------------------------------------------------------------------------------------- */

#define SHOAL_MESSAGE_SIZE 1024

typedef struct shoal_plugs shoal_plugs;
typedef struct shoal_pool shoal_pool;

struct shoal_context {
    char message[SHOAL_MESSAGE_SIZE];
    bool plugins_allowed; /* those that a config names */
    shoal_plugs *plugs;   /* NULL as long as there are no plugins */
    shoal_pool *pool;     /* of threads; NULL as long as they were not needed */
};

/* Store a one-line message and return the status, so that a function can end in `return shoal_fail(...)`. A NULL
 * context is allowed: the message is dropped. */
shoal_status shoal_fail(shoal_context *context, shoal_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#ifdef __clang_analyzer__ /* which sees one file at a time, is told what comes back */
#define shoal_fail(context, status, ...) (shoal_fail(context, status, __VA_ARGS__), (status))
#endif

/* The candidate nearest to word in edit distance (case ignored), or NULL if none is near (distance > 1 + length /
 * 3). */
const char *shoal_nearest(const char *word, const char *const *candidates, int n_candidates);

/* The outcome of a name (shoal_outcome_name), -1 if there is none. */
int shoal_outcome_from_name(const char *name);

/* ---- check.c: what public functions refuse; function: its name, __func__ ----------------------------------------- */

/* Refuse (E_USAGE) an address that is NULL; a number outside range[0]..range[1]; rows that there are not. */
shoal_status shoal_check_given(shoal_context *context, const char *function, const char *name, const void *pointer);
shoal_status shoal_check_range(shoal_context *context, const char *function, const char *name, long value,
                               const long range[2]);
/* Refuse a name that is not there, and say which is near. whose: "there is", "the table has"; near: NULL = none. */
shoal_status shoal_refuse_name(shoal_context *context, const char *function, const char *argument, const char *name,
                               const char *whose, const char *near);
shoal_status shoal_check_rows(shoal_context *context, const char *function, long first, long n, long n_rows);
#ifdef __clang_analyzer__
#define shoal_check_given(context, function, name, pointer) \
    (shoal_check_given(context, function, name, pointer), (pointer) ? SHOAL_OK : SHOAL_E_USAGE)
#endif

/* The systems, bodies and strides of a block that a caller gives, or leaves out (NULL).
 *   n_numbers  in      of a body
 *   block      in/out  n, n_bodies: those that there are; becomes what is meant */
shoal_status shoal_block_resolve(shoal_context *context, const char *function, const shoal_block *given, int n_numbers,
                                 shoal_block *block);

/* A number of an array with strides, which may be at any address. */
static inline double shoal_stride_read(const double *values, long bytes)
{
    double value;
    memcpy(&value, (const char *)values + bytes, sizeof value);
    return value;
}

static inline void shoal_stride_write(double *values, long bytes, double value)
{
    memcpy((char *)values + bytes, &value, sizeof value);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

#define SHOAL_NAME_SIZE   32 /* a body's name */
#define SHOAL_COLUMN_SIZE 96 /* a column's, which may end in two of them */

/* ---- memory.c ---------------------------------------------------------------------------------------------------- */

enum { SHOAL_PAGE = 4096, SHOAL_PAGE_LOCKED = 1 << 20 };

/* 64-byte aligned, zeroed; from SHOAL_PAGE_LOCKED bytes on in pages of its own. NULL when memory is out. Free with
 * free(). */
void *shoal_allocate(size_t n_items, size_t item_size);
/* Give back the memory of an allocation, or of a part of it, so far as it fills pages. What it held is lost. */
void shoal_release_pages(void *memory, size_t size);

/* Wall time in seconds since some moment. */
double shoal_seconds(void);

/* ---- number.c ---------------------------------------------------------------------------------------------------- */

enum { SHOAL_NUMBER_SIZE = 32 };
/* The fewest digits, from 15 on, that are read back as the same double: 0.1, not 0.10000000000000001. Returns text. */
const char *shoal_number_print(char text[SHOAL_NUMBER_SIZE], double value);
/* As strtod in the locale "C". */
double shoal_number_read(const char *text, char **end);
/* Between the two, what this thread prints and reads has decimal points. `begin` returns what `end` takes: the locale
 * of before. */
void *shoal_numbers_begin(void);
void shoal_numbers_end(void *before);

/* ---- crc32c.c ---------------------------------------------------------------------------------------------------- */

/* crc: 0 to begin with, or what came out for the bytes before. */
uint32_t shoal_crc32c(uint32_t crc, const void *bytes, size_t n);

/* ---- files.c ----------------------------------------------------------------------------------------------------- */

/* Whether path is there and a device, a pipe or a folder: a rename would replace the former two by a file. */
bool shoal_not_a_file(const char *path);
/* Whether both names are there and of one file. */
bool shoal_same_file(const char *a, const char *b);
/* Open a file to read. What is none (a pipe, a device, a folder) is refused, since reading it may never end. */
shoal_status shoal_file_open(shoal_context *context, const char *path, FILE **in);
/* Write all of it to an open file, whatever interrupts. */
bool shoal_write_all(int file, const void *data, size_t size);
/* The entry of a file in its folder reaches the disk: after it was made or renamed. False with errno. */
bool shoal_sync_folder(const char *path);
/* Whether a file's name is one that shoal_file_begin makes. */
bool shoal_is_temporary(const char *name);
/* A new file beside path, open for reading and writing; its name is malloc'd. -1 with errno. Those that killed
 * processes have left there go. */
int shoal_file_begin(const char *path, char **temporary);
/* Close it (-1: it is closed) and free its name; with `good` it takes the place of path, else it goes. False, with
 * errno if that failed, unless it has taken the place. */
bool shoal_file_end(int file, char *temporary, const char *path, bool good);
/* Bytes to a new file beside path, which is renamed to path, all synced: it is complete or as it was. False with
 * errno. */
bool shoal_replace_file(const char *path, const void *data, size_t size);
/* A lock that one process has at a time, a file that goes when it is released; a killed process has it no more. -1 with
 * errno: EWOULDBLOCK if another one has it. Where the file system has no locks, everybody gets it. */
int shoal_lock_take(const char *path);
void shoal_lock_release(int lock, const char *path);
/* What errno says; a stream may know that it failed and not why. */
const char *shoal_why(void);
/* The whole file as a text: malloc'd. NULL with errno. */
char *shoal_read_text(const char *path);
/* Whether a text has no control characters (of ASCII, or those that UTF-8 has beyond it). */
bool shoal_is_plain(const char *text);
/* Whether it is plain and without double quotes, as a name must be. */
bool shoal_is_name(const char *text);
/* Whether it is UTF-8, as HDF5 and Python take names for. */
bool shoal_is_utf8(const char *text);
/* Bytes of control characters become question marks, so that a text of unknown origin steers no terminal; returns
 * text. */
char *shoal_make_plain(char *text);
/* A text as a field of a CSV table, quoted where it would break the line apart (RFC 4180) or be taken for a comment. */
void shoal_print_csv(FILE *out, const char *text);
/* Characters of a file's name without its extension. */
int shoal_name_stem(const char *file);

/* ---- units.c ----------------------------------------------------------------------------------------------------- */

/* Inner units: G = 1, AU, solar mass (GM = 1.3271244e20 m^3/s^2, IAU 2015 B3), yr/2pi = sqrt(AU^3/GM) = 58.1324 d.
 * inner value = user value * factor. */
typedef struct shoal_units {
    char length_name[16], mass_name[16], time_name[16];
    double length, mass, time; /* factors: one user unit in inner units */
    double G;                  /* gravitational constant in the user's units */
} shoal_units;

/*
 * Units from names; G = NaN derives it. With an explicit G the unit of time follows from it: factor^2 = G length^3 /
 * mass, so that G in user units is exactly what was written; time may then be NULL, and a time that is off by more than
 * 1 % from what G implies is refused. NULL or "" otherwise means the inner unit. Refused with the nearest known name
 * for an unknown unit.
 */
shoal_status shoal_units_init(shoal_context *context, const char *length, const char *mass, const char *time, double G,
                              shoal_units *units);

/* Units in a line of text, "AU, Msun, yr" or with a G of one's own, "AU, Msun, G = 1"; what is left out is as in a
 * config. The text of printed units gives the same factors, to the last bit, when it is parsed. */
enum { SHOAL_UNITS_TEXT = 96 };
shoal_status shoal_units_parse(shoal_context *context, const char *text, shoal_units *units);
void shoal_units_print(const shoal_units *units, char text[SHOAL_UNITS_TEXT]);

/* Names known for a dimension ("length", "mass", "time"), for messages and help: fills names, returns how many there
 * are. */
int shoal_units_names(const char *dimension, const char *const **names);

#define SHOAL_UNIT_SIZE 32
/* The user's name of a dimension's unit; "" for a pure number, an angle, and what is none of these. */
const char *shoal_units_name(const shoal_units *units, const char *dimension, char name[SHOAL_UNIT_SIZE]);
/* Factor of a quantity of the given dimension: "length", "mass", "time", "velocity", "frequency" (1/time), "angular
 * velocity" (radians/time, whatever the user's unit of angle), "angle" or "" (1); "m/s" and "g/cm^3" are units of their
 * own. */
double shoal_units_factor(const shoal_units *units, const char *dimension);

/* More than once around in a unit of angle that nobody named is degrees, or at least worth a word. */
#define SHOAL_STRANGE_ANGLE "at most 2 pi radians, or angles = \"degrees\" (\"radians\" if it shall be so many)"
static inline bool shoal_angle_is_strange(double value)
{
    return fabs(value) > 6.3; /* 2 pi, as it may be written */
}

/* A time in the user's units; within two rounding errors of a number of 15 digits, as people write it, it is that
 * number. */
double shoal_units_time(const shoal_units *units, double t);

/* ---- elements.c: orbits of bodies that do not feel all of the mass of body 0 ------------------------------------- */

/* Forces that take a part of body 0's attraction away, from one body or (body = 0) from all without mass: radiation. */
enum { SHOAL_MOST_EASES = 16 };
typedef struct shoal_eases {
    int n, body[SHOAL_MOST_EASES];
    double part[SHOAL_MOST_EASES];
} shoal_eases;

/* mass, that of body 0 (m_0) included, as far as it attracts a body of mass m. */
double shoal_eased_mass(const shoal_eases *eases, int body, double m, double m_0, double mass);
/* shoal_bodies_from_orbits and shoal_orbits_from_bodies with such forces; eases: NULL = none. which: [n_bodies] what
 * the forces call the bodies, NULL = their places. A body that is pushed away has an orbit of NaN. */
shoal_status shoal_bodies_from_eased_orbits(shoal_context *context, shoal_frame frame, int n_bodies,
                                            const shoal_orbit *orbits, const shoal_eases *eases, shoal_body *bodies);
shoal_status shoal_eased_orbits_from_bodies(shoal_context *context, shoal_frame frame, int n_bodies,
                                            const shoal_body *bodies, const int *which, const shoal_eases *eases,
                                            shoal_orbit *orbits);

/* ---- cores.c: how many threads this process should use ----------------------------------------------------------- */

/* CPUs' worth of time that the control groups of this process allow, +inf = no limit; root: of the files, "" = the
 * machine's. */
double shoal_cpu_quota(const char *root);
/* Threads by default: OMP_NUM_THREADS, else the CPUs that the process may run on, or its quota, rounded up, if that
 * is less. from: says which. */
int shoal_default_threads(const char **from);
/* Threads that were asked for, or, if that is 0, those by default. */
int shoal_threads_or_default(int asked);
/* The part of n cores of one of n_processes, at least 1. */
int shoal_part_of_cores(int n, int process, int n_processes);
/* The part of a machine's GPUs of one of its processes, as CUDA_VISIBLE_DEVICES says it; if there are more processes
 * than GPUs they share. visible: that variable, NULL = not set and n of them. False: there is nothing to part. */
bool shoal_part_of_devices(const char *visible, int n, int process, int n_processes, char *part, size_t size);

/* ---- threads.c: the threads of a context ------------------------------------------------------------------------- */

/* A part of a loop: from first to last - 1. */
typedef void shoal_loop(void *user, long first, long last);
/* A loop over 0..n-1 in parts of `grain` (the last may be shorter), by the caller and up to n_threads - 1 threads of
 * the context, in any order. Within a loop, without a context, and where a forked process has lost the threads, the
 * caller goes through all parts alone. */
void shoal_share(shoal_context *context, int n_threads, long n, long grain, shoal_loop *loop, void *user);
/* Call a function that needs so many bytes of stack: on a thread of its own if the caller's has fewer left. False:
 * there can be no such thread. Every stack has SHOAL_ANY_STACK. */
enum { SHOAL_ANY_STACK = 1 << 19 };
bool shoal_call_deep(size_t room, void (*function)(void *user), void *user);
/* The grain of a loop over n items of little work each: all in one part if they are fewer than `worth`, else at most
 * SHOAL_MOST_PARTS. */
enum { SHOAL_MOST_PARTS = 64 };
long shoal_part(long n, long worth);
/* End the threads of a context. */
void shoal_pool_release(shoal_context *context);
/* Threads for an OpenMP loop that should have n: 1 in a forked process, where it may wait for those of its parent. */
int shoal_omp_threads(int n);

/* ---- cache.c ----------------------------------------------------------------------------------------------------- */

/* Two independent 64-bit hashes side by side: FNV-1a, and a multiply-rotate one. */
typedef struct shoal_hash {
    uint64_t a, b;
} shoal_hash;

shoal_hash shoal_hash_start(void);
void shoal_hash_bytes(shoal_hash *hash, const void *data, size_t size);
/* A string and its length, so that neighbours cannot run into each other. */
void shoal_hash_string(shoal_hash *hash, const char *text);

/* The folder of compiled kernels; false if there is none that only this user can write to. make: make it if need be. */
bool shoal_cache_folder(char *path, size_t size, bool make);
/* A small text there: false if it is not there, or longer. */
bool shoal_cache_read(const char *path, char *text, size_t size);
void shoal_cache_write(const char *path, const char *text);
/* A file there, in two parts; it is the user's alone. Written whole or not at all; failing is allowed. */
void shoal_cache_save(const char *path, const void *head, size_t head_size, const void *rest, size_t rest_size);

#endif
