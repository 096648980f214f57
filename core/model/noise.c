/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * noise.c: errors that are not independent of each other: a covariance matrix of a set from a file, and Gaussian
 * processes that sets have in common (core/walker/correlated.kern.h has the equations).
 */
#define _GNU_SOURCE 1
#include <gsl/gsl_eigen.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/formats/table.h"
#include "core/model/model.h"

_Static_assert((int)SHOAL_KERNEL_MATERN32 + 1 == (int)SHOAL_KERNELS, "the kernels are those of the key");

static shoal_status out_of_memory(const shoal_study *study)
{
    return shoal_fail(study->context, SHOAL_E_MEMORY, "out of memory for correlated errors");
}

/* ---- covariances ------------------------------------------------------------------------------------------------- */

/* n rows of n numbers, parted by commas or spaces. */
static shoal_status read_matrix(const shoal_study *study, const char *path, long n, double *matrix)
{
    shoal_table table = {.context = study->context, .path = path};
    shoal_lines lines;
    long row = 0;
    shoal_status status = shoal_lines_open(&lines, &table, path);
    if (status)
        return status;
    while (!status && shoal_lines_next(&lines)) {
        long column = 0;
        char *rest = NULL;
        if (lines.text[0] == '#' || lines.text[strspn(lines.text, " \t")] == '\0')
            continue;
        for (char *word = strtok_r(lines.text, ", \t", &rest); word && !status; word = strtok_r(NULL, ", \t", &rest)) {
            double number = 0;
            if (!shoal_number(word, &number))
                status = shoal_table_fail(&table, "covariance", word, "a finite number");
            if (row < n && column < n)
                matrix[row * n + column] = number;
            column++;
        }
        if (!status && (row >= n || column != n))
            status = shoal_fail(study->context, SHOAL_E_INPUT,
                                "%s:%ld: expected %ld rows of %ld numbers, as there are data: row %ld has %ld", path,
                                table.line, n, n, row + 1, column);
        row++;
    }
    status = shoal_lines_close(&lines, status);
    return status || row == n
               ? status
               : shoal_fail(study->context, SHOAL_E_INPUT, "%s: expected %ld rows, found %ld", path, n, row);
}

/* Eigenvectors as rows, and eigenvalues; false: there is no such matrix of errors, or no memory (*memory). */
static bool find_directions(long n, double *matrix, double *values, bool *memory)
{
    const size_t size = (size_t)n;
    double most = 0;
    for (long i = 0; i < n; i++)
        most = fmax(most, matrix[i * n + i]);
    for (long i = 0; i < n; i++)
        for (long j = 0; j < i; j++)
            if (!(fabs(matrix[i * n + j] - matrix[j * n + i]) <= 1e-9 * most))
                return false;
    gsl_matrix_view whole = gsl_matrix_view_array(matrix, size, size);
    gsl_vector_view found = gsl_vector_view_array(values, size);
    gsl_matrix *vectors = gsl_matrix_alloc(size, size);
    gsl_eigen_symmv_workspace *work = gsl_eigen_symmv_alloc(size);
    *memory = vectors && work;
    bool good = *memory && gsl_eigen_symmv(&whole.matrix, &found.vector, vectors, work) == 0;
    for (long i = 0; i < n && good; i++) {
        good = values[i] > 1e-13 * most;
        for (long j = 0; j < n; j++)
            matrix[i * n + j] = gsl_matrix_get(vectors, (size_t)j, (size_t)i);
    }
    gsl_matrix_free(vectors);
    gsl_eigen_symmv_free(work);
    return good;
}

/* The derivatives by the numbers that are integrated over, in the directions of the eigenvectors. */
static void turn_slopes(const shoal_data *data, int i, const double *vectors, double *slopes)
{
    const shoal_walker_set *set = &data->set[i];
    enum { SLOPES = 4 };
    for (long a = 0; a < set->n; a++)
        for (long j = 0; j < set->n; j++) {
            const shoal_datum *datum = &data->datum[set->first + j];
            const double t = (datum->time - set->epoch) / set->unit,
                         along[SLOPES] = {set->sky ? datum->sine : 1, datum->cosine, t * datum->sine,
                                          t * datum->cosine};
            for (int q = 0; q < SLOPES; q++)
                slopes[a * SLOPES + q] += vectors[a * set->n + j] * along[q];
        }
}

shoal_status shoal_noise_covariance(const shoal_study *study, const config_setting_t *group, shoal_data *data, int i,
                                    const double *known)
{
    enum { MOST = 10000, SLOPES = 4 };
    shoal_walker_set *set = &data->set[i];
    const config_setting_t *file = config_setting_get_member(group, "covariance");
    const long n = (long)set->n;
    set->rotation = -1;
    if (!file && !known)
        return SHOAL_OK;
    if (set->freedom > 0)
        return shoal_config_fail(&study->config, file ? file : config_setting_get_member(group, "freedom"), NULL, NULL,
                                 "no covariance of errors of Student's t");
    if (set->met >= 0 && config_setting_get_member(group, "missing"))
        return shoal_config_fail(&study->config, config_setting_get_member(group, "missing"), NULL, NULL,
                                 "all transits where errors have a covariance");
    if (n > MOST)
        return shoal_config_fail(&study->config, file, NULL, NULL, "at most %d data", MOST);
    double *more = realloc(data->rotations, (size_t)(data->n_rotations + n * (n + 1 + SLOPES)) * sizeof *more);
    if (!more)
        return out_of_memory(study);
    data->rotations = more;
    double *matrix = more + data->n_rotations, *values = matrix + n * n, *slopes = values + n;
    memset(matrix, 0, (size_t)(n * (n + 1 + SLOPES)) * sizeof *matrix);
    char *path = file ? shoal_config_path(&study->config, config_setting_get_string(file)) : NULL;
    shoal_status status = path ? read_matrix(study, path, n, matrix) : file ? out_of_memory(study) : SHOAL_OK;
    free(path);
    if (!file)
        memcpy(matrix, known, (size_t)(n * n) * sizeof *matrix);
    bool memory = true;
    if (!status && !find_directions(n, matrix, values, &memory))
        status = memory ? shoal_config_fail(&study->config, file ? file : group, NULL, NULL,
                                            "a symmetric matrix that is positive definite")
                        : out_of_memory(study);
    if (status)
        return status;
    turn_slopes(data, i, matrix, slopes);
    set->rotation = data->n_rotations;
    data->n_rotations += n * (n + 1 + SLOPES);
    data->n_work = n > data->n_work ? n : data->n_work;
    return SHOAL_OK;
}

/* ---- processes --------------------------------------------------------------------------------------------------- */

/* Which of a process's numbers a kernel has. */
static int numbers_of(int kernel)
{
#define HAS(name) (1 << (SHOAL_PROCESS_##name - SHOAL_SET_NUMBERS))
    static const int has[SHOAL_KERNELS] = {
        [SHOAL_KERNEL_QUASI_PERIODIC] = HAS(sigma) | HAS(period) | HAS(decay) | HAS(width),
        [SHOAL_KERNEL_SHO] = HAS(sigma) | HAS(period) | HAS(quality),
        [SHOAL_KERNEL_ROTATION] = HAS(sigma) | HAS(period) | HAS(quality) | HAS(quality_difference) | HAS(mix),
        [SHOAL_KERNEL_EXPONENTIAL] = HAS(sigma) | HAS(decay),
        [SHOAL_KERNEL_COMPLEX] = HAS(sigma) | HAS(period) | HAS(decay) | HAS(sine),
        [SHOAL_KERNEL_PERIODIC] = HAS(sigma) | HAS(period) | HAS(decay) | HAS(mix),
        [SHOAL_KERNEL_MATERN32] = HAS(sigma) | HAS(decay)};
#undef HAS
    return has[kernel];
}

/* Whether a number of a set or process is a parameter, or follows from one. */
static bool is_parameter(const shoal_study_walkers *walkers, int set, int number)
{
    for (int p = 0; p < walkers->n_parameters; p++)
        if (walkers->parameters[p].set == set && walkers->parameters[p].number == number)
            return true;
    for (int t = 0; t < walkers->n_ties; t++)
        if (walkers->ties[t].set == set && walkers->ties[t].number == number)
            return true;
    return false;
}

/* The numbers of process k of the config; those that are parameters come later. */
static shoal_status read_numbers(const shoal_study *study, const config_setting_t *group, const shoal_data *data, int k,
                                 shoal_walker_process *process)
{
#define X(name) #name,
    static const char *const names[] = {SHOAL_PROCESS_NUMBER_LIST(X)};
#undef X
    const double time = shoal_config_factor(&study->config, "time");
    process->kernel = (int)shoal_config_number(&study->config, group, "processes", "kernel");
    for (int q = 0; q < SHOAL_COUNT(names); q++) {
        const int number = SHOAL_SET_NUMBERS + q;
        const bool has = numbers_of(process->kernel) >> q & 1,
                   free = is_parameter(&study->walkers, data->n_sets + k, number);
        const double unit = number == SHOAL_PROCESS_period || number == SHOAL_PROCESS_decay ? time : 1,
                     value = shoal_config_number(&study->config, group, "processes", names[q]);
        const config_setting_t *written = config_setting_get_member(group, names[q]);
        if (!has && (written || free))
            return shoal_config_fail(&study->config, written ? written : group, written ? NULL : names[q], NULL,
                                     "no such number of this kernel");
        if (has && isnan(value) && !free)
            return shoal_config_fail(&study->config, group, names[q], NULL, "a number, or a parameter of this process");
        (&process->sigma)[q] = (shoal_walker_number){-1, unit, has ? value * unit : 1};
        if (has && isnan(value))
            (&process->sigma)[q].value = 1;
    }
    return SHOAL_OK;
}

/* The set that element e of a process's `data` names, which a process may have. */
static shoal_status find_set(const shoal_study *study, const config_setting_t *names, int e, shoal_data *data, int *set)
{
    const config_setting_t *list = shoal_config_lookup(&study->config, "data"),
                           *name = config_setting_get_elem(names, (unsigned)e);
    for (*set = 0; *set < data->n_sets; ++*set)
        if (strcmp(shoal_config_string(config_setting_get_elem(list, (unsigned)*set), "name", ""),
                   config_setting_get_string(name)) == 0)
            break;
    if (*set == data->n_sets)
        return shoal_config_fail(&study->config, name, NULL, NULL, "the name of one of `data`");
    const shoal_walker_set *found = &data->set[*set];
    const config_setting_t *group = config_setting_get_elem(list, (unsigned)*set);
    if ((int)shoal_config_number(&study->config, group, "data", "kind") != SHOAL_DATA_VELOCITY)
        return shoal_config_fail(&study->config, name, NULL, NULL, "velocities");
    if (found->rotation >= 0 || found->freedom > 0)
        return shoal_config_fail(&study->config, name, NULL, NULL,
                                 "data with normal errors and no covariance of their own");
    const config_setting_t *first = config_setting_get_elem(names, 0);
    for (int k = 0; k < data->n_sets; k++) {
        const config_setting_t *other = config_setting_get_elem(list, (unsigned)k);
        if (strcmp(shoal_config_string(other, "name", ""), config_setting_get_string(first)) == 0 &&
            shoal_config_number(&study->config, other, "data", "unit") !=
                shoal_config_number(&study->config, group, "data", "unit"))
            return shoal_config_fail(&study->config, name, NULL, NULL, "data of one unit");
    }
    return SHOAL_OK;
}

/* The group of the sets that process k names: a new one, or one that has just these sets; sets bear its number. */
static shoal_status find_group(const shoal_study *study, const config_setting_t *process, shoal_data *data, int *group)
{
    const config_setting_t *names = config_setting_get_member(process, "data");
    const int n = config_setting_length(names);
    int set = 0, n_of = 0;
    *group = -1;
    if (n < 1)
        return shoal_config_fail(&study->config, names, NULL, NULL, "at least one name of `data`");
    for (int e = 0; e < n; e++) {
        const shoal_status status = find_set(study, names, e, data, &set);
        if (status)
            return status;
        const int of = data->set[set].group;
        if (e == 0)
            *group = of < 0 ? data->n_groups : of;
        const bool fresh = *group == data->n_groups;
        if (fresh ? of >= 0 : of != *group)
            return shoal_config_fail(&study->config, config_setting_get_elem(names, (unsigned)e), NULL, NULL,
                                     "each name once, and data all of which, or none, another process has");
        data->set[set].group = *group;
    }
    for (int i = 0; i < data->n_sets; i++)
        n_of += data->set[i].group == *group;
    if (n_of != n)
        return shoal_config_fail(&study->config, names, NULL, NULL,
                                 "each name once, and all data of the other process");
    data->n_groups += *group == data->n_groups;
    return SHOAL_OK;
}

/* By time; those of one time by their place. */
static int compare_places(const void *a, const void *b, void *user)
{
    const shoal_data *data = user;
    const shoal_walker_place *x = a, *y = b;
    const double s = data->datum[x->datum].time, t = data->datum[y->datum].time;
    return s != t ? (s > t) - (s < t) : (x->datum > y->datum) - (x->datum < y->datum);
}

/* The data of a group in the order of time, and what it is integrated over. */
static shoal_status fill_group(const shoal_study *study, const config_setting_t *list, shoal_data *data, int g)
{
    enum { MOST_DENSE = 5000 };
    shoal_walker_group *group = &data->groups[g];
    group->first = data->n_places;
    for (int i = 0; i < data->n_sets; i++) {
        shoal_walker_set *set = &data->set[i];
        if (set->group != g)
            continue;
        set->column = group->n_linear;
        group->n_linear += set->marginal;
        for (long long j = set->first; j < set->first + set->n; j++)
            data->places[data->n_places++] = (shoal_walker_place){(int)j, i};
    }
    group->n = data->n_places - group->first;
    qsort_r(data->places + group->first, (size_t)group->n, sizeof *data->places, compare_places, data);
    if (group->n_linear > SHOAL_MOST_LINEAR)
        return shoal_config_fail(&study->config, list, NULL, NULL,
                                 "at most %d data with marginal = true that have a process in common",
                                 SHOAL_MOST_LINEAR);
    if (group->dense && group->n > MOST_DENSE)
        return shoal_config_fail(&study->config, list, NULL, NULL, "at most %d data with a quasi_periodic process",
                                 MOST_DENSE);
    const long room = group->dense ? group->n * (group->n + 1) / 2 + (1 + group->n_linear) * group->n : 0;
    data->n_work = room > data->n_work ? room : data->n_work;
    return SHOAL_OK;
}

/* Names of processes are those of no other process and of no data. */
static shoal_status check_name(const shoal_study *study, const config_setting_t *list, int k)
{
    const config_setting_t *group = config_setting_get_elem(list, (unsigned)k);
    for (int i = 0; i < 2; i++) {
        const config_setting_t *of = i ? list : shoal_config_lookup(&study->config, "data");
        for (int e = 0; e < (i ? k : config_setting_length(of)); e++)
            if (strcmp(shoal_config_string(config_setting_get_elem(of, (unsigned)e), "name", ""),
                       shoal_config_string(group, "name", "")) == 0)
                return shoal_config_fail(&study->config, config_setting_get_member(group, "name"), NULL, NULL,
                                         "a name that no data and no other process have");
    }
    return SHOAL_OK;
}

shoal_status shoal_noise_processes(const shoal_study *study, shoal_data *data)
{
    const config_setting_t *list = shoal_config_lookup(&study->config, "processes");
    const int n = list ? config_setting_length(list) : 0;
    int group_of[n + 1];
    shoal_status status = SHOAL_OK;
    for (int k = 0; k < n && !status; k++) {
        status = check_name(study, list, k);
        if (!status)
            status = find_group(study, config_setting_get_elem(list, (unsigned)k), data, &group_of[k]);
    }
    if (status || n == 0)
        return status;
    data->groups = calloc((size_t)data->n_groups, sizeof *data->groups);
    data->processes = calloc((size_t)n, sizeof *data->processes);
    data->process_at = calloc((size_t)n, sizeof *data->process_at);
    data->places = calloc((size_t)data->n, sizeof *data->places);
    if (!data->groups || !data->processes || !data->process_at || !data->places)
        return out_of_memory(study);
    for (int g = 0; g < data->n_groups && !status; g++) {
        shoal_walker_group *group = &data->groups[g];
        group->first_process = data->n_processes;
        for (int k = 0; k < n && !status; k++) {
            if (group_of[k] != g)
                continue;
            shoal_walker_process *process = &data->processes[data->process_at[k] = data->n_processes++];
            status = read_numbers(study, config_setting_get_elem(list, (unsigned)k), data, k, process);
            group->dense = group->dense || process->kernel == SHOAL_KERNEL_QUASI_PERIODIC;
            if (++group->n_processes > SHOAL_MOST_PROCESSES)
                status = shoal_config_fail(&study->config, list, NULL, NULL,
                                           "at most %d processes that data have in common", SHOAL_MOST_PROCESSES);
        }
        if (!status)
            status = fill_group(study, list, data, g);
    }
    return status;
}
