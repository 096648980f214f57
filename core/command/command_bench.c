/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * command_bench.c: `shoal bench`: times the step loops on this machine, each answer checked before its time is printed.
 *
 * A case is PROPAGATOR-N: the ensemble of the Swarm-NG paper's section 5.1 (central mass 1, planets on circular orbits
 * at a_i = 1.4^(i-1), planet masses small enough that no phase meets a close approach in 10^6 steps), every system with
 * other phases, run inside the real loop: slices, outcomes, the ejection monitor. PROPAGATOR-N-bare is the same without
 * outcomes and monitors. PROPAGATOR may be an alias with a preset (whckl: mvs_jacobi with corrector = 17 and kernel =
 * lazy). The step is in the table below. In PROPAGATOR-Np-encounters the orbits cross: one system-step in a hundred is
 * inside an encounter. mvs, which would be lost in them, has the same orbits with planets of next to no mass: what the
 * encounters cost is the ratio. Such cases have a second line, without the last systems: without radii a pair of
 * planets now and then stays bound for good, whose substeps no other system's steps hide. In PROPAGATOR-Np-collisions
 * the same planets have radii, and stop_on_collision ends the systems in which two touch.
 *
 * A propagator that chooses its steps is timed by orbits of the innermost planet. It has no bare case, nor have
 * collisions.
 *
 * Checked: after the timed steps the relative energy error of every system is below the case's bound, every system is
 * still running (but for collisions), and the states of the bare loop and of the run are the same bits.
 */
#include <argp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/command/command.h"

#define NEARLY_ALL 0.999 /* of the steps of those that are left */

/* clang-format off */
#define CASE(name, planets, mass, step, bound, ...) \
    {.propagator = name, .n_planets = planets, .planet_mass = mass, .dt = step, \
     .error_bound = bound __VA_OPT__(,) __VA_ARGS__}
/* clang-format on */

static const bench_case cases[] = {
    CASE("hermite4", 2, 1e-3, 1e-3, 1e-11),
    CASE("hermite4", 3, 1e-5, 1e-3, 1e-11),
    CASE("hermite4", 4, 1e-5, 1e-3, 1e-11),
    CASE("hermite4", 5, 1e-5, 1e-3, 1e-11),
    CASE("hermite4", 7, 1e-5, 1e-3, 1e-11),
    CASE("hermite4", 9, 1e-5, 1e-3, 1e-11),
    CASE("hermite4", 15, 1e-5, 1e-3, 1e-11),
    CASE("leapfrog", 2, 1e-3, 1e-3, 1e-5),
    CASE("mvs", 1, 1e-4, M_PI / 20, 1e-5),
    CASE("mvs", 2, 1e-4, M_PI / 20, 1e-5),
    CASE("mvs", 4, 1e-5, M_PI / 20, 1e-5),
    CASE("mvs", 8, 1e-5, M_PI / 20, 1e-5),
    CASE("mvs_jacobi", 2, 1e-4, M_PI / 20, 1e-5),
    CASE("mvs_jacobi", 4, 1e-5, M_PI / 20, 1e-5),
    CASE("mvs_jacobi_c17", 2, 1e-4, M_PI / 20, 1e-9),
    CASE("mvs_jacobi_c17", 4, 1e-5, M_PI / 20, 1e-9),
    CASE("cash_karp", 2, 1e-3, 1e-3, 1e-11),
    CASE("rk8pd", 2, 1e-3, M_PI / 100, 1e-11),
    CASE("kahan_li6", 2, 1e-3, M_PI / 100, 1e-9),
    CASE("whckl", 2, 1e-4, M_PI / 20, 1e-9),
    CASE("whckl", 4, 1e-5, M_PI / 20, 1e-9),
    CASE("saba_10_6_4", 2, 1e-4, M_PI / 20, 1e-11),
    CASE("saba_10_6_4", 4, 1e-5, M_PI / 20, 1e-11),
    CASE("hybrid", 2, 1e-4, M_PI / 20, 1e-5),
    CASE("hybrid", 4, 1e-5, M_PI / 20, 1e-5),
    CASE("gauss_radau", 2, 1e-5, 2 * M_PI, 1e-13),
    CASE("gauss_radau", 3, 1e-5, 2 * M_PI, 1e-13),
    CASE("gauss_radau", 4, 1e-5, 2 * M_PI, 1e-13),
    CASE("gauss_radau", 8, 1e-5, 2 * M_PI, 1e-13),
    CASE("mvs", 2, 1e-9, M_PI / 10, 1e-3, .spacing = 1.1, .e = 0.1),
    CASE("hybrid", 2, 2.3e-5, M_PI / 10, 1e-3, .spacing = 1.1, .e = 0.1),
    CASE("mvs", 2, 1e-9, M_PI / 10, 1e-3, .spacing = 1.1, .e = 0.1, .radius = 1e-4),
    CASE("hybrid", 2, 2.3e-5, M_PI / 10, 1e-3, .spacing = 1.1, .e = 0.1, .radius = 1e-4),
};

/* Names in the table above that stand for a propagator with settings. */
static const struct bench_variant {
    const char *name, *propagator;
    shoal_setting settings[2]; /* unused: name NULL */
} variants[] = {
    {"mvs_jacobi_c17", "mvs_jacobi", {{"corrector", 17, NULL}}},
    {"whckl", "mvs_jacobi", {{"corrector", 17, NULL}, {"kernel", 1, NULL}}},
    {"saba_10_6_4", "saba", {{"scheme", 0, "10,6,4"}}},
};

static bool is_adaptive(const bench_case *c)
{
    const shoal_propagator *propagator = shoal_propagator_find(NULL, c->propagator);
    return propagator && propagator->adaptive; /* a variant's name is none */
}

/* Where systems end, the bare loop would go on without them. */
static bool has_bare(const bench_case *c)
{
    return !is_adaptive(c) && c->radius == 0;
}

static shoal_status make_ensemble(shoal_context *context, const bench_case *c, long n_systems,
                                  shoal_ensemble **ensemble)
{
    const int n = c->n_planets + 1;
    shoal_body bodies[16];
    shoal_status status = shoal_ensemble_create(context, n_systems, n, ensemble);
    for (long system = 0; !status && system < n_systems; system++) {
        bodies[0] = (shoal_body){.m = 1};
        double a = 1;
        for (int i = 1; i<n; i++, a *= c->spacing> 0 ? c->spacing : 1.4) {
            const double phase = fmod(0.1 * (double)system, 2 * M_PI) * i + i,
                         speed = sqrt((1 + c->e) / (a * (1 - c->e)));
            bodies[i] = (shoal_body){.m = c->planet_mass,
                                     .r = c->radius,
                                     .x = a * (1 - c->e) * cos(phase),
                                     .y = a * (1 - c->e) * sin(phase),
                                     .z = 0.01 * i,
                                     .vx = -speed * sin(phase),
                                     .vy = speed * cos(phase)};
        }
        status = shoal_ensemble_set_bodies(*ensemble, system, n, bodies);
    }
    return status;
}

/* Largest relative energy error, and a fingerprint of all states (FNV-1a), of systems that still run. */
static void check_answer(const shoal_plan *plan, const shoal_ensemble *ensemble, shoal_ensemble *final, bench_row *row)
{
    const int n = ensemble->n_bodies;
    row->bits = 0xcbf29ce484222325u;
    row->error = 0;
    for (long i = 0; i < plan->n_list; i++) {
        const int system = plan->list[i];
        for (int body = 0; body < n; body++)
            for (int q = 0; q < 6; q++) {
                const double value = plan->args.snapshot[SHOAL_AT(system, 6 * body + q, 6 * n)];
                uint64_t bits;
                memcpy(&bits, &value, sizeof bits);
                row->bits = (row->bits ^ bits) * 0x100000001b3u;
                *shoal_ensemble_body(final, body, q, system) = value;
            }
        const double start = ensemble->energy_start[system];
        const double error = fabs((shoal_ensemble_energy(final, system) - start) / start);
        if (!(error <= row->error)) /* not a number counts */
            row->error = error;
    }
}

/* n_steps of the bare loop, which does not count them. */
static shoal_status bare_steps(shoal_plan *plan, double n_steps)
{
    const shoal_status status = plan->engine_type->launch(plan->engine, SHOAL_BARE, plan->list, plan->n_list, n_steps);
    return status ? status : plan->engine_type->wait(plan->engine, NULL);
}

/* The systems after n_steps: all but the first one are timed, whose loads, page faults and compiles are not meant. */
static shoal_status time_steps(shoal_plan *plan, const bench_case *c, bool bare, double n_steps, bench_row *row)
{
    long n_moved = 0;
    const double t_end = (n_steps + (is_adaptive(c) ? 0 : 0.5)) * c->dt;
    shoal_status status;
    if (bare) {
        status = bare_steps(plan, 1);
    } else {
        plan->slice_steps = 1;
        status = shoal_plan_slice(plan, t_end, &n_moved);
        plan->slice_steps = 1000;
    }
    if (status)
        return status;
    const double before = plan->system_steps, began = shoal_seconds();
    if (bare) {
        status = bare_steps(plan, n_steps - 1);
        row->steps = (n_steps - 1) * (double)plan->n_list;
    } else {
        do {
            status = shoal_plan_slice(plan, t_end, &n_moved);
            row->steps = is_adaptive(c) ? n_steps * (double)plan->n_list : plan->system_steps - before;
            if (row->most_seconds == 0 && row->steps >= NEARLY_ALL * (n_steps - 1) * (double)plan->n_list) {
                row->most = row->steps;
                row->most_seconds = shoal_seconds() - began;
            }
        } while (!status && n_moved > 0);
    }
    row->seconds = shoal_seconds() - began;
    return status;
}

shoal_status bench_run(shoal_context *context, const bench_case *c, const bench_options *options, bool bare,
                       double n_steps, bench_row *row)
{
    shoal_ensemble *ensemble = NULL, *final = NULL;
    shoal_plan *plan = NULL;
    const shoal_setting r_max = {"r_max", 1000, NULL};
    struct bench_variant variant = {c->propagator, c->propagator, {{NULL, 0, NULL}}};
    for (int i = 0; i < SHOAL_COUNT(variants); i++)
        if (strcmp(c->propagator, variants[i].name) == 0)
            variant = variants[i];
    shoal_setting settings[3];
    int n_settings = 0;
    for (int i = 0; i < SHOAL_COUNT(variant.settings) && variant.settings[i].name; i++)
        settings[n_settings++] = variant.settings[i];
    if (options->compensated)
        settings[n_settings++] = (shoal_setting){"compensated", 1, NULL};
    const shoal_plug_options usual[] = {{"stop_on_ejection", &r_max, 1}, {"stop_on_collision", NULL, 0}};
    const shoal_options chosen = {.propagator = variant.propagator,
                                  .settings = settings,
                                  .n_settings = n_settings,
                                  .monitors = c->monitors ? c->monitors : usual,
                                  .n_monitors = bare            ? 0
                                                : c->monitors   ? c->n_monitors
                                                : c->radius > 0 ? 2
                                                                : 1,
                                  .engine = options->engine,
                                  .work_model = options->model,
                                  .tune = options->tune,
                                  .threads = options->threads,
                                  .lanes = options->lanes,
                                  .dt = is_adaptive(c) ? 0 : c->dt,
                                  .t_end = 1e9};
    shoal_status status = make_ensemble(context, c, options->systems, &ensemble);
    if (!status)
        status = make_ensemble(context, c, options->systems, &final);
    if (!status)
        status = shoal_plan_create(context, ensemble, &chosen, &plan);
    if (status)
        goto done;
    status = time_steps(plan, c, bare, n_steps, row);
    if (!status && (c->radius == 0 || c->monitors) && plan->n_list != options->systems)
        status = shoal_fail(context, SHOAL_E_INTERNAL, "%ld of %ld systems ended", options->systems - plan->n_list,
                            options->systems);
    for (long system = 0; bare && system < ensemble->n_systems; system++)
        *shoal_ensemble_field(ensemble, SHOAL_SYS_STEP, system) = n_steps; /* the bare loop does not count */
    if (!status)
        status = shoal_plan_snapshot(plan, n_steps * c->dt, plan->list, plan->n_list);
    if (status)
        goto done;
    check_answer(plan, ensemble, final, row);
    snprintf(row->engine, sizeof row->engine, "%s", plan->engine_type->name);
    row->model = shoal_model_name(&plan->choice);
    snprintf(row->plan, sizeof row->plan, "%s", shoal_plan_line(plan));
    if (!(row->error <= c->error_bound))
        status = shoal_fail(context, SHOAL_E_INTERNAL, "energy error %g, expected at most %g", row->error,
                            c->error_bound);
done:
    shoal_plan_destroy(&plan);
    shoal_ensemble_destroy(&final);
    shoal_ensemble_destroy(&ensemble);
    return status;
}

static void case_name(const bench_case *c, bool bare, char *name, size_t size)
{
    const char *kind = c->radius > 0 ? "-collisions" : c->e > 0 ? "-encounters" : "";
    static const char *const of_planets[] = {"mvs", "mvs_jacobi", "mvs_jacobi_c17", "whckl", "saba_10_6_4", "hybrid"};
    bool planets = false;
    for (int i = 0; i < SHOAL_COUNT(of_planets); i++)
        planets = planets || strcmp(c->propagator, of_planets[i]) == 0;
    snprintf(name, size, "%s-%d%s%s%s", c->propagator, c->n_planets + !planets, planets ? "p" : "", kind,
             bare ? "-bare" : "");
}

static bool wanted(const bench_options *options, const char *name)
{
    for (int i = 0; i < options->n_names; i++)
        if (strcmp(options->names[i], name) == 0)
            return true;
    return options->n_names == 0;
}

static void print_row(const bench_options *options, const bench_case *c, const char *name, const bench_row *row)
{
    const double ns = 1e9 * row->seconds / row->steps;
    const char *unit = is_adaptive(c) ? "orbit" : "step";
    if (options->csv)
        printf("%s,%s,%s,%d,%ld,%.0f,%.6f,%.5g,%.3e,\"%s\"\n", name, row->engine, row->model, c->n_planets + 1,
               options->systems, row->steps, row->seconds, ns, row->error, row->plan);
    else
        printf("%-16s %-5s %8ld systems  %9.4g ns a system-%s  %9.4g system-%ss/s  error %.1e\n", name, row->engine,
               options->systems, ns, unit, 1e9 / ns, unit, row->error);
    if (!options->csv && c->e > 0 && row->most > 0 && row->most < row->steps)
        printf("%-16s %-5s %8ld systems  %9.4g ns a system-step  %9.4g system-steps/s  until %.1f %% of the steps were "
               "made\n",
               name, row->engine, options->systems, 1e9 * row->most_seconds / row->most, row->most / row->most_seconds,
               100 * row->most / row->steps);
    fflush(stdout);
}

double bench_steps(shoal_context *context, const bench_case *c, const bench_options *options, double seconds)
{
    const double least = is_adaptive(c) ? 4 : 100;
    bench_row probe = {0}; /* longer and longer, until launches and transfers do not count */
    double n_steps = least / 2;
    shoal_status status = SHOAL_OK;
    for (; !status && n_steps < 1e6 && probe.seconds < 0.2 * seconds; n_steps *= 4)
        status = bench_run(context, c, options, false, n_steps, &probe);
    return status ? 0 : floor(fmax(least, 1.4 * seconds * (n_steps / 4) / (probe.seconds + 1e-9)));
}

/* The bare and the real loop of a case, as far as they are wanted. */
static shoal_status bench(shoal_context *context, const bench_case *c, const bench_options *options)
{
    char name[2][64];
    bench_row row[2] = {0};
    bool run[2];
    shoal_status status = SHOAL_OK;
    for (int bare = 0; bare < 2; bare++) {
        case_name(c, bare, name[bare], sizeof name[bare]);
        run[bare] = wanted(options, name[bare]) && !(bare && !has_bare(c));
    }
    if (!run[0] && !run[1])
        return SHOAL_OK;
    const double n_steps = options->steps ? (double)options->steps : bench_steps(context, c, options, 0.5);
    if (n_steps == 0)
        return SHOAL_E_INTERNAL;
    for (int bare = 0; bare < 2 && !status; bare++) {
        if (!run[bare])
            continue;
        status = bench_run(context, c, options, bare, n_steps, &row[bare]);
        if (!status)
            print_row(options, c, name[bare], &row[bare]);
    }
    if (!status && run[0] && run[1] && row[0].bits != row[1].bits)
        status = shoal_fail(context, SHOAL_E_INTERNAL, "%s: the run and the bare loop differ", name[0]);
    return status;
}

static const struct argp_option argp_options[] = {
    {"csv", 'c', 0, 0, "print case,engine,work_model,bodies,systems,steps,seconds,ns_per_system_step,error,plan", 0},
    {"list", 'l', 0, 0, "list the cases", 0},
    {"engine", 'e', "ENGINE", 0, "auto, cpu or cuda", 0},
    {"model", 'W', "MODEL", 0, "a GPU's work model: auto, system, body, component or pair", 0},
    {"tune", 'T', "WHEN", OPTION_ARG_OPTIONAL,
     "measure which model, block and registers are the GPU's fastest, and keep it, first; or auto, never: run.tune", 0},
    {"systems", 's', "N", 0, "systems in the ensemble (default 4096)", 0},
    {"threads", 't', "N", 0, "CPU threads (default: all)", 0},
    {"steps", 'n', "N", 0,
     "steps a system (default: about half a second); of a case of unlike systems: per cent of its length", 0},
    {"lanes", 'w', "N", 0, "CPU lanes (default: the machine's)", 0},
    {"compensated", 'k', 0, 0, "with compensated sums", 0},
    {"range", 'r', "KEY=A..B", 0,
     "time a study with a number of its config from A to B: A..B:N has N values, A..B:xF "
     "(default x2) goes by a factor",
     0},
    {"limit", 'm', "E", 0, "with --range: an energy error above this is no answer (default 0.01)", 0},
    {"allow-plugins", 'P', 0, 0, "with --range: compile and run the plugins that the study names", 0},
    {0},
};

/* A count that an option is given. */
static long parse_count(int key, const char *argument, const struct argp_state *state)
{
    char *end;
    const long number = strtol(argument, &end, 10), least = key == 's' ? 1 : 0;
    if (end == argument || *end || number < least)
        argp_error(state, "-%c %s: expected a count%s", key, argument, least ? " from 1 on" : "");
    return number;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    bench_options *options = state->input;
    char *end;
    switch (key) {
    case 'c': options->csv = 1; break;
    case 'l': options->list = 1; break;
    case 'e': options->engine = argument; break;
    case 'W': options->model = argument; break;
    case 'T': options->tune = argument ? argument : "always"; break;
    case 's': options->systems = parse_count(key, argument, state); break;
    case 't': options->threads = (int)parse_count(key, argument, state); break;
    case 'n': options->steps = parse_count(key, argument, state); break;
    case 'w': options->lanes = (int)parse_count(key, argument, state); break;
    case 'k': options->compensated = 1; break;
    case 'r': options->range = argument; break;
    case 'P': options->allow_plugins = true; break;
    case 'm':
        options->limit = strtod(argument, &end);
        if (end == argument || *end || !(options->limit > 0))
            argp_error(state, "--limit %s: expected a number > 0", argument);
        break;
    case ARGP_KEY_ARGS:
        options->names = state->argv + state->next;
        options->n_names = state->argc - state->next;
        break;
    case ARGP_KEY_NO_ARGS:
    case ARGP_KEY_INIT:
    case ARGP_KEY_FINI:
    case ARGP_KEY_SUCCESS:
    case ARGP_KEY_END: break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

int bench_main(int argc, char **argv)
{
    const struct argp argp = {argp_options,
                              parse,
                              "[CASE ...]\nladder [STEP ...] [N ...]\n--range KEY=A..B STUDY.cfg [KEY=VALUE ...]",
                              "Time the step loops, the forces of one big system of N bodies (ladder; 16384, and "
                              "262144 where there is a GPU: minutes on a few cores), or a "
                              "study, each answer checked.",
                              0,
                              0,
                              0};
    bench_options options = {.systems = 4096, .limit = 0.01};
    char name[64];
    shoal_status status;
    argp_parse(&argp, argc, argv, 0, 0, &options);
    if (options.n_names && strcmp(options.names[0], "ladder") == 0)
        return bench_ladder(options.engine, options.threads, options.csv, options.n_names - 1, options.names + 1);
    if (options.range)
        return bench_range(&options);
    const bool monitors = options.n_names && strcmp(options.names[0], "monitors") == 0;
    for (int i = 0; i < options.n_names; i++) {
        bool known = monitors;
        for (int c = 0; bench_slices_names[c]; c++)
            known = known || strcmp(bench_slices_names[c], options.names[i]) == 0;
        for (int c = 0; c < 2 * SHOAL_COUNT(cases) && !known; c++) {
            case_name(&cases[c / 2], c % 2, name, sizeof name);
            known = strcmp(name, options.names[i]) == 0;
        }
        if (!known) {
            fprintf(stderr, "shoal: bench: no case '%s' (`shoal bench --list` lists them)\n", options.names[i]);
            return 2;
        }
    }
    if (options.csv && !options.list && !monitors) /* which have a heading of their own */
        puts("case,engine,work_model,bodies,systems,steps,seconds,ns_per_system_step,error,plan");
    shoal_context *context;
    if (shoal_context_create(&context))
        return 1;
    int failed = 0;
    for (int c = 0; c < SHOAL_COUNT(cases); c++) {
        if (options.list) {
            for (int bare = 0; bare < 1 + has_bare(&cases[c]); bare++) {
                case_name(&cases[c], bare, name, sizeof name);
                puts(name);
            }
            continue;
        }
        status = bench(context, &cases[c], &options);
        if (status) {
            case_name(&cases[c], false, name, sizeof name);
            fprintf(stderr, "shoal: bench %s: %s\n", name, shoal_context_message(context));
            failed = status == SHOAL_E_UNSUPPORTED ? 3 : 1;
        }
    }
    if (options.list) {
        puts("monitors");
    } else if (monitors && (status = bench_monitors(context, &options))) {
        fprintf(stderr, "shoal: bench monitors: %s\n", shoal_context_message(context));
        failed = status == SHOAL_E_UNSUPPORTED ? 3 : status == SHOAL_E_USAGE ? 2 : 1;
    }
    for (int c = 0; bench_slices_names[c]; c++) {
        if (options.list) {
            puts(bench_slices_names[c]);
        } else if (wanted(&options, bench_slices_names[c]) &&
                   (status = bench_slices(context, bench_slices_names[c], &options))) {
            fprintf(stderr, "shoal: bench %s: %s\n", bench_slices_names[c], shoal_context_message(context));
            failed = status == SHOAL_E_UNSUPPORTED ? 3 : 1;
        }
    }
    shoal_context_destroy(&context);
    return failed;
}
