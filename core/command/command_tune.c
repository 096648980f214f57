/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * command_tune.c: `shoal tune`: measure what is fastest for a study on the GPU at hand, and keep it for its runs.
 */
#define _GNU_SOURCE
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "core/command/command.h"

static error_t tune_parse(int key, char *argument, struct argp_state *state)
{
    return parse_study("tune", state->input, key, argument, state);
}

static const struct argp tune_argp = {
    .options = (const struct argp_option[]){OPTION_ALLOW_PLUGINS, {0}},
    .parser = tune_parse,
    .args_doc = "STUDY.cfg [KEY=VALUE ...]",
    .doc = "Measure which work model, bodies a thread, block and number of registers are fastest for a study on this "
           "machine's GPU; of systems that fill it, also whether the CPU is faster."
           "\vThe study's own systems make some steps in each way; no file is written. What is fastest is kept beside "
           "the compiled "
           "kernels (`shoal info` says where) and taken by every run of the same propagator, forces, monitors and "
           "number of bodies with "
           "about as many systems. Results do not depend on it. run.work_model, run.gpu_block, run.gpu_registers and "
           "run.gpu_bodies force them.",
};

int tune_main(int argc, char **argv)
{
    study_words words = {0};
    shoal_context *context = NULL;
    shoal_study *study = NULL;
    shoal_tuned row[SHOAL_MOST_TUNED];
    char line[768];
    int n_rows = 0;

    argp_parse(&tune_argp, argc, argv, 0, NULL, &words);
    shoal_status status = open_study(&words, NULL, &context, &study);
    if (status == SHOAL_OK && study->big) {
        status = shoal_fail(context, SHOAL_E_INPUT,
                            "%s: one big system: `shoal bench ladder` measures its force methods", words.study);
    }
    if (status == SHOAL_OK) {
        status = shoal_study_tune(study, row, &n_rows, line, sizeof line);
    }
    if (status == SHOAL_OK) {
        puts("work model   bodies a thread   block   registers at most   system-steps/s");
        for (int i = 0; i < n_rows; ++i) {
            char registers[16] = "-";
            if (row[i].choice.tuning.max_registers) {
                snprintf(registers, sizeof registers, "%d", row[i].choice.tuning.max_registers);
            }
            char each[16] = "all";
            if (row[i].on_cpu) {
                printf("%-10s   %15s   %5s   %17s   %14.4g\n", "CPU", "all", "-", "-", row[i].rate);
                continue;
            }
            if (shoal_team_threads(&row[i].choice) > 1) {
                snprintf(each, sizeof each, "%d", shoal_team_each(&row[i].choice));
            }
            printf("%-10s   %15s   %5d   %17s   %14.4g\n", shoal_model_name(&row[i].choice), each,
                   row[i].choice.tuning.block, registers, row[i].rate);
        }
        puts(line);
    }
    const int code = status == SHOAL_OK ? flush_output() : failed_input(context, status);
    shoal_study_destroy(&study);
    shoal_context_destroy(&context);
    free(words.override);
    return code;
}
