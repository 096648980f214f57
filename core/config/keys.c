/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * keys.c: every key that a config file may hold. One table drives the check of a file (config.c) and `shoal explain`
 * (core/report/help.c). The keys of a propagator, a force or a monitor are in the plug's own table and add to the
 * sections "integrator", "forces" and "monitors".
 */
#define _GNU_SOURCE 1
#include <string.h>

#include "big/big.h"
#include "core/config/config.h"
#include "core/plan/plan.h"

/* clang-format off */
#define MODEL_WORD(name, r_max, doc) "|" #name
#define MODEL_WORDS (&(SHOAL_BIG_MODEL_LIST(MODEL_WORD))[1])

#define VALUE(section, type, name, dimension, initial, least, most, choices, otherwise, doc) \
    { section, SHOAL_KEY_VALUE, otherwise, \
      { name, SHOAL_##type, dimension, initial, least, most, choices, doc }, false }
/* a key on which no result depends */
#define MACHINE(type, name, initial, most, choices, doc) \
    { "run", SHOAL_KEY_VALUE, NULL, { name, SHOAL_##type, "", initial, 0, most, choices, doc }, true }
#define REAL(section, name, dimension, initial, least, otherwise, doc) \
    VALUE(section, REAL, name, dimension, initial, least, INFINITY, NULL, otherwise, doc)
#define OTHER(section, kind, name, otherwise, doc) \
    { section, SHOAL_KEY_##kind, otherwise, { name, SHOAL_REAL, "", NAN, -INFINITY, INFINITY, NULL, doc }, false }
#define UNIT(dimension, otherwise, doc) \
    { "units", SHOAL_KEY_TEXT, otherwise, \
      { dimension, SHOAL_REAL, dimension, NAN, -INFINITY, INFINITY, NULL, doc }, false }
#define TEXTS(section, name, otherwise, doc) \
    { section, SHOAL_KEY_TEXTS, otherwise, { name, SHOAL_REAL, "", NAN, -INFINITY, INFINITY, NULL, doc }, false }
#define NUMBERS(section, name, dimension, otherwise, doc) \
    { section, SHOAL_KEY_NUMBERS, otherwise, \
      { name, SHOAL_REAL, dimension, NAN, -INFINITY, INFINITY, NULL, doc }, false }

#define POSITIVE (SHOAL_TINY / 2)
#define LEAST_SHAPE 1e-3 /* of a Beta distribution: with less most of its numbers are below the least double */
#define ANY (-INFINITY)
#define MOST_INT 2147483647.0
#define MOST_EXACT 9007199254740992.0 /* integers up to here are exact doubles */

#define BODY_ROW(name, dimension, initial, least, most, otherwise, doc) \
    VALUE("system.bodies", REAL, #name, dimension, initial, least, most, NULL, otherwise, doc),

#define DISTRIBUTION_WORD(name, needs, doc) "|" #name
#define DISTRIBUTION_WORDS (&(SHOAL_DISTRIBUTION_LIST(DISTRIBUTION_WORD))[1]) /* without the leading bar */

const shoal_key shoal_keys[] = {
    /* bodies first: shoal_body_key relies on it */
    SHOAL_BODY_KEY_LIST(BODY_ROW)
    OTHER("system.bodies", TEXT, "name", NULL, "name of the body, unique within the system"),
    VALUE("system.bodies", BODY, "relative_to", "", NAN, ANY, INFINITY, NULL, "the body before it",
          "the body, listed before it, that period_ratio, hill_spacing, delta_pomega and delta_l refer to"),

    OTHER("", TEXT, "epoch", "empty", "what time zero is, for instance \"J2000.0\""),
    VALUE("", CHOICE, "angles", "", 0, 0, 1, "radians|degrees", NULL,
          "unit of every angle in the file; without it none may be more than 2 pi"),
    TEXTS("", "plugins", "none",
          "C files of propagators, forces and monitors, relative to the config's folder; `shoal run` needs "
                "--allow-plugins"),
    OTHER("", GROUP, "units", "AU, Msun, yr", "units of the file and of its results"),
    OTHER("", GROUP, "system", NULL, "the bodies"),
    OTHER("", LIST, "sweep", "no grid", "axes of a grid; the first is the slowest, the last the fastest"),
    OTHER("", GROUP, "sample", "no random values", "random parameters; at each point of the grid if there is one"),
    OTHER("", LIST, "data", "no likelihood", "measurements of the system, for its likelihood"),
    OTHER("", LIST, "processes", "independent errors", "Gaussian processes that data have in common"),
    OTHER("", GROUP, "likelihood", "as without its keys", "what the likelihood of data assumes"),
    OTHER("", GROUP, "fit", "as without its keys", "how `shoal fit` finds the posterior of a study with data"),
    OTHER("", GROUP, "calibrate", "as without its keys", "how `shoal calibrate` checks the fits of a study"),
    OTHER("", GROUP, "integrator", NULL, "the propagator, its step and its own parameters"),
    OTHER("", GROUP, "gravitation", "form = \"auto\"", "how forces are summed"),
    OTHER("", LIST, "forces", "none", "forces beside Newton's; one may be there more than once"),
    OTHER("", LIST, "monitors", "none", "what is watched, logged, or ends a system; each monitor at most once"),
    OTHER("", GROUP, "run", NULL, "when to integrate to, and on what"),
    OTHER("", GROUP, "output", "no snapshots", "the result file"),

    UNIT("length", "AU", "unit of length"),
    UNIT("mass", "Msun", "unit of every mass, the star's, too: a Msun is 332946 Mearth or 1047.57 Mjup"),
    UNIT("time", "yr", "unit of time; \"yr\" is 365.25 d"),
    REAL("units", "G", "", NAN, POSITIVE, "follows from the units", "gravitational constant in these units"),

    OTHER("system", TEXT, "file", "bodies",
          "CSV of bodies, relative to the config's folder: system,body,name,m,x,y,z,vx,vy,vz and optionally r; "
          "in these units unless it begins with its own, # units: AU, Msun, yr"),
    VALUE("system", CHOICE, "elements", "", 0, 0, 3, "jacobi|astrocentric|barycentric|cartesian",
          "jacobi, or cartesian if the bodies are", "what the bodies' elements refer to"),
    OTHER("system", LIST, "bodies", "file", "the bodies of a system, the central one first"),
    VALUE("system", INTEGER, "count", "", 1, 1, MOST_INT, NULL, NULL, "copies of each system (see also sample.count)"),

    VALUE("sweep", BODY, "body", "", NAN, ANY, INFINITY, NULL, NULL, "body whose parameter is swept"),
    TEXTS("sweep", "also", "none", "further bodies whose parameter gets the same value"),
    OTHER("sweep", TEXT, "parameter", NULL, "any number of a body, for instance \"a\" or \"m\""),
    REAL("sweep", "from", "", NAN, ANY, "values", "first value, in the unit of the parameter"),
    REAL("sweep", "to", "", NAN, ANY, "values", "last value, included"),
    VALUE("sweep", INTEGER, "count", "", NAN, 1, MOST_INT, NULL, "values", "number of values"),
    VALUE("sweep", CHOICE, "scale", "", 0, 0, 1, "linear|log", NULL, "how the values are spaced"),
    NUMBERS("sweep", "values", "", "from, to, count", "the values one by one"),

    VALUE("sample", INTEGER, "count", "", NAN, 1, MOST_INT, NULL, "system.count, or the rows of sample.file",
          "systems at each point of the grid; of a CSV in sample.file its first rows, as many as this"),
    VALUE("sample", INTEGER, "seed", "", 1, 0, MOST_EXACT, NULL, NULL,
          "a value depends on the seed and the system's id alone"),
    OTHER("sample", TEXT, "file", "no draws",
          "draws, in the units of this file: a posterior of `shoal fit` for all parameters, or a CSV with a heading "
          "and a row for each system"),
    OTHER("sample", LIST, "parameters", "tied", "what is random"),
    NUMBERS("sample", "covariance", "", "covariance_file",
            "of the parameters with distribution \"correlated_normal\": a symmetric matrix, row by row in their order, "
            "in their units"),
    OTHER("sample", TEXT, "covariance_file", "covariance",
          "CSV of that matrix; its heading has the names of those parameters, for instance b.P,b.m"),
    OTHER("sample", LIST, "tied", "none", "numbers that follow from a parameter"),
    VALUE("sample.parameters", BODY, "body", "", NAN, ANY, INFINITY, NULL, "data", "body whose parameter is random"),
    OTHER("sample.parameters", TEXT, "data", "body",
          "name of the data, or of the process, whose number is a parameter of the likelihood, for instance jitter"),
    TEXTS("sample.parameters", "also", "none", "further bodies whose parameter gets the same value"),
    OTHER("sample.parameters", TEXT, "parameter", NULL, "any number of a body, for instance \"e\""),
    VALUE("sample.parameters", CHOICE, "distribution", "", NAN, 0, SHOAL_DISTRIBUTIONS - 1, DISTRIBUTION_WORDS,
          "column",
          "how it is distributed"),
    OTHER("sample.parameters", TEXT, "column", "BODY.PARAMETER",
          "column of sample.file that has its values, without a distribution"),
    REAL("sample.parameters", "from", "", NAN, ANY, "as the distribution says",
         "least value, in the unit of the parameter"),
    REAL("sample.parameters", "to", "", NAN, ANY, "as the distribution says", "greatest value"),
    REAL("sample.parameters", "mean", "", NAN, ANY, "as the distribution says", "mean"),
    REAL("sample.parameters", "sigma", "", NAN, POSITIVE, "as the distribution says", "width"),
    REAL("sample.parameters", "mode", "", NAN, ANY, "as the distribution says", "most probable value"),
    REAL("sample.parameters", "plus", "", NAN, POSITIVE, "as the distribution says", "width above the mode"),
    REAL("sample.parameters", "minus", "", NAN, POSITIVE, "as the distribution says", "width below the mode"),
    REAL("sample.parameters", "exponent", "", NAN, ANY, "as the distribution says", "of a power law"),
    REAL("sample.parameters", "alpha", "", 0.867, LEAST_SHAPE, NULL, "first shape parameter"),
    REAL("sample.parameters", "beta", "", 3.03, LEAST_SHAPE, NULL, "second shape parameter"),

    VALUE("sample.tied", BODY, "body", "", NAN, ANY, INFINITY, NULL, "data", "body whose number follows"),
    OTHER("sample.tied", TEXT, "data", "body", "name of the data whose number follows"),
    OTHER("sample.tied", TEXT, "parameter", NULL, "any number of a body or of data, for instance \"e\""),
    OTHER("sample.tied", TEXT, "to", NULL, "the parameter of sample or sweep that it follows, for instance \"b.e\""),
    REAL("sample.tied", "ratio", "", 1, ANY, NULL, "its value is ratio times that of the parameter, and add"),
    REAL("sample.tied", "add", "", 0, ANY, NULL, "see ratio; in its own unit"),

    OTHER("data", TEXT, "name", NULL, "of these data, unique"),
    VALUE("data", CHOICE, "kind", "", NAN, 0, SHOAL_DATA_KINDS - 1, SHOAL_DATA_KIND_CHOICES, NULL,
          "velocity: of a body along the line of sight, positive when it recedes (+z is towards the observer); "
          "transit_time: mid-transits of a body, when its distance from the first body (or `of`) is least in the plane "
          "of the sky; occultation_time: the same behind it; impact_parameter: that distance in radii of that one; "
          "transit_duration: from first to last contact; ingress_duration, egress_duration: the part of it until the "
          "second, from the third contact; separation, position_angle, delta_ra, delta_dec: of a body "
          "from the first one; along_scan: of a body from a point, along the scans of Gaia; proper_motion: those of "
          "the first body by Hipparcos, by Gaia and between them, of the HGCA"),
    OTHER("data", TEXT, "file", NULL,
          "a table with a heading; its cells are parted by commas or, where the heading has none, by spaces"),
    OTHER("data", TEXT, "format", "columns",
          "what the table is (see the list of formats); its velocities of the star, or transits of the body, are read"),
    OTHER("data", TEXT, "object", "the table's only one",
          "of a table of many stars: the number of Hipparcos, of holczer that of the KOI (\"137\")"),
    OTHER("data", TEXT, "time", "as the table says",
          "of a table with a format: what its times are, for instance \"BJD_TDB - 2450000\" or \"MJD_UTC\"; they "
          "become TDB, and time_zero is in days"),
    TEXTS("data", "columns", "as the kind says",
          "headings of the columns of velocities: time, velocity, error; of transits: number, time (or impact, "
          "duration), error, or of times without numbers: time, error; of places in the sky: time, value, error"),
    TEXTS("data", "headings", "the first row", "headings of a file that has none"),
    OTHER("data", TEXT, "instrument", "all rows", "only rows that have this word in instrument_column are read"),
    OTHER("data", TEXT, "instrument_column", "tel", "heading of the column that names the instrument"),
    VALUE("data", BODY, "body", "", NAN, ANY, INFINITY, NULL, "the first one", "body that is observed"),
    VALUE("data", BODY, "of", "", NAN, ANY, INFINITY, NULL, "the first one",
          "of transits: body that `body` passes before, or behind: another planet, a star of a binary; given, light "
          "leaves each of the two at its own time"),
    VALUE("data", CHOICE, "unit", "", 0, 0, 1, "m/s|km/s", NULL,
          "of velocities, their errors, offset and jitter; times and durations are in this file's unit of time, places "
          "in the sky in mas, position angles in its unit of angle"),
    REAL("data", "time_zero", "", 0, ANY, NULL,
         "what the column of times reads at time 0 of this file; both are in its unit of time, of tables with a "
         "format in days"),
    REAL("data", "t0", "", NAN, ANY, "a line through the times",
         "time of the transit of number 0, as the column of times reads, in its unit"),
    REAL("data", "period", "", NAN, POSITIVE, "a line through the times",
         "of transits: that at t has the number next to (t - t0) / period"),
    REAL("data", "missing", "", -INFINITY, ANY, NULL,
         "ln L of a transit that the model does not have, in the place of its term"),
    VALUE("data", BOOLEAN, "light_travel", "", 0, 0, 1, NULL, NULL,
          "whether times of transits are those of arrival, and velocities those of the light that arrives, with light "
          "from the barycentre taking no time"),
    VALUE("data", BOOLEAN, "relativity", "", 0, 0, 1, NULL, NULL,
          "whether velocities have the transverse Doppler effect and the gravitational redshift of the other bodies"),
    REAL("data", "offset", "", 0, ANY, NULL, "added to what is seen"),
    VALUE("data", BOOLEAN, "marginal", "", 0, 0, 1, NULL, NULL,
          "whether the likelihood is integrated over the offset, of scans over ra, dec, pm_ra and pm_dec, of proper "
          "motions over pm_ra and pm_dec, with priors of density 1 per unit"),
    REAL("data", "jitter", "", 0, 0, NULL, "added to the errors in quadrature"),
    REAL("data", "freedom", "", 0, POSITIVE, "normal errors",
         "degrees of freedom of Student's t distribution of the errors, which forgives outliers"),
    REAL("data", "trend", "", 0, ANY, NULL, "added to what is seen, in units a unit of time from run.t_start on"),
    REAL("data", "curvature", "", 0, ANY, NULL, "added to what is seen, in units a squared unit of time"),
    REAL("data", "parallax", "", NAN, 0, "a parameter", "of places in the sky, mas"),
    REAL("data", "ra", "", 0, ANY, NULL, "of scans: the barycentre at run.t_start, towards east, mas"),
    REAL("data", "dec", "", 0, ANY, NULL, "the same towards north"),
    REAL("data", "pm_ra", "", 0, ANY, NULL, "its motion towards east, mas a unit of time"),
    REAL("data", "pm_dec", "", 0, ANY, NULL, "the same towards north"),

    OTHER("data", TEXT, "hipparcos_scans", "scans in all directions, evenly all the time",
          "of proper motions: a table of when and how Hipparcos scanned the star (format scans)"),
    OTHER("data", TEXT, "gaia_scans", "the same", "the same of Gaia, for instance by GOST"),

    OTHER("data", TEXT, "covariance", "independent errors",
          "a table without a heading: the covariance matrix of the errors, a row for each of these data in their "
          "order, in their unit squared; it takes the place of the errors"),

    OTHER("processes", TEXT, "name", NULL, "of this process, unique among processes and data"),
    VALUE("processes", CHOICE, "kernel", "", NAN, 0, SHOAL_KERNELS - 1, SHOAL_KERNEL_CHOICES, NULL,
          "the covariance at a distance t in time. quasi_periodic: sigma^2 exp(-t^2 / decay^2 - sin^2(pi t / period) "
          "/ (2 width^2)). sho: a damped oscillator of that undamped period and quality, driven by noise. rotation: "
          "two of them, of the period and of its half; mix is the ratio of their variances. exponential: sigma^2 "
          "exp(-t / decay). complex: sigma^2 exp(-t / decay) (cos(2 pi t / period) + sine sin(2 pi t / period)). "
          "periodic: sigma^2 / (2 + mix) exp(-t / decay) (cos(2 pi t / period) + 1 + mix). matern32: sigma^2 (1 + x) "
          "exp(-x), x = sqrt(3) t / decay"),
    TEXTS("processes", "data", NULL,
          "names of the velocities that have this process in common; two processes have all of them in common, or "
          "none, and those of all add"),
    REAL("processes", "sigma", "", NAN, 0, "a parameter", "standard deviation, in the unit of the data"),
    REAL("processes", "period", "", NAN, POSITIVE, "a parameter",
         "of quasi_periodic, sho, rotation, complex, periodic"),
    REAL("processes", "decay", "", NAN, POSITIVE, "a parameter",
         "time, of quasi_periodic, exponential, complex, periodic, matern32"),
    REAL("processes", "width", "", NAN, POSITIVE, "a parameter", "of quasi_periodic: its harmonic content"),
    REAL("processes", "quality", "", NAN, POSITIVE, "a parameter",
         "of sho; of rotation: of the second oscillator, less 1/2"),
    REAL("processes", "quality_difference", "", NAN, 0, "a parameter", "of rotation: how much more the first one has"),
    REAL("processes", "mix", "", NAN, 0, "a parameter", "of rotation, periodic"),
    REAL("processes", "sine", "", 0, ANY, NULL, "of complex: the sine's part"),

    VALUE("likelihood", CHOICE, "motion", "", 0, 0, 1, "integrated|keplerian", NULL,
          "keplerian: bodies do not attract each other, and each goes on its ellipse; integrator and forces are not "
          "used"),
    VALUE("likelihood", CHOICE, "stability", "", 0, 0, 3, "any|amd|hill|megno", NULL,
          "what planets must be at run.t_start, else ln L is -infinity. amd: their angular momentum deficit lets no "
          "two orbits touch (Laskar & Petit 2017); hill: it leaves all pairs Hill-stable (Petit et al. 2018); megno: a "
          "run from there, by integrator, lasts for megno_orbits and has a MEGNO of at most megno_limit then"),
    REAL("likelihood", "megno_orbits", "", 1000, POSITIVE, NULL,
         "of stability = megno: the length of that run, in periods of the innermost planet"),
    REAL("likelihood", "megno_limit", "", 2.5, POSITIVE, NULL, "of stability = megno"),

    VALUE("fit", CHOICE, "method", "", 0, 0, 2, "demcmc|stretch|optimise", NULL,
          "differential evolution with snooker moves and steps along bent ridges, the affine-invariant ensemble, or "
          "the optimum alone"),
    VALUE("fit", CHOICE, "start", "", 0, 0, 1, "optimum|prior", NULL,
          "where walkers begin: around the optimum, or anywhere in the priors"),
    VALUE("fit", INTEGER, "walkers", "", NAN, 8, MOST_INT, NULL, "64, or 4 for each parameter if that is more",
          "walkers at each temperature: an even number, two for each parameter at least"),
    VALUE("fit", INTEGER, "temperatures", "", 1, 1, 1000, NULL, NULL,
          "more than 1: parallel tempering from 1 on; the ladder adapts, and the hottest walkers sample the prior if "
          "so many temperatures reach it"),
    VALUE("fit", INTEGER, "seed", "", 1, 0, MOST_EXACT, NULL, NULL, "the same draws for the same seed"),
    VALUE("fit", INTEGER, "thin", "", 1, 1, MOST_INT, NULL, NULL, "steps from draw to draw"),
    VALUE("fit", INTEGER, "steps", "", 20000, 8, MOST_INT, NULL, NULL,
          "at most so many; a fit that ended by them goes on when there are more"),
    REAL("fit", "rhat", "", 1.01, 1, NULL,
         "the fit ends when no parameter's rank-normalised split R-hat is above this"),
    REAL("fit", "ess", "", 400, 0, NULL, "... and no bulk or tail effective sample size is below this"),
    OTHER("fit", TEXT, "file", "the config's base name and _fit.h5", "the file of the posterior, which ArviZ reads"),

    VALUE("calibrate", INTEGER, "sets", "", 100, 8, MOST_INT, NULL, NULL,
          "data that are simulated, each of other parameters from the priors, and fitted; there may be more later"),
    VALUE("calibrate", INTEGER, "seed", "", 1, 0, MOST_EXACT, NULL, NULL,
          "the same parameters and data for the same seed"),
    VALUE("calibrate", INTEGER, "draws", "", 99, 9, 9999, NULL, NULL,
          "of each posterior, among which the rank of what its data were made of is"),
    VALUE("calibrate", INTEGER, "at_once", "", 32, 1, 4096, NULL, NULL,
          "sets that are fitted side by side; the result does not depend on it"),
    REAL("calibrate", "noise", "", 1, POSITIVE, NULL,
         "errors of the data are so many times as great as they say; with any other than 1 the ranks must fail"),
    OTHER("calibrate", TEXT, "file", "the config's base name and _calibration.h5", "the file of the ranks"),

    OTHER("integrator", TEXT, "name", SHOAL_DEFAULT_PROPAGATOR, "the propagator (`shoal list`)"),
    REAL("integrator", "dt", "time", NAN, POSITIVE, "steps_per_orbit",
         "step, positive, of an adaptive propagator the first one; its direction is that of run.t_end"),
    REAL("integrator", "steps_per_orbit", "", NAN, POSITIVE, "dt",
         "step of each system: the shortest period in its initial state over this"),
    REAL("integrator", "dt_min", "time", 0, 0, NULL,
          "adaptive steps: a system that needs shorter ones ends as step_underflow"),
    REAL("integrator", "dt_max", "time", INFINITY, POSITIVE, "no bound", "adaptive steps: the longest one"),
    REAL("integrator", "max_steps", "", INFINITY, 1, "adaptive: 1e11 more at the present pace; else no bound",
         "a system that needs more steps, rejected ones included, ends as budget"),

    VALUE("gravitation", CHOICE, "form", "", 0, 0, 2, SHOAL_FORM_CHOICES, NULL,
          "each pair of bodies once, or for each a row of those with mass; the results are the same"),

    OTHER("forces", TEXT, "name", NULL, "the force (`shoal list`)"),

    OTHER("monitors", TEXT, "name", NULL, "the monitor (`shoal list`)"),

    REAL("run", "t_start", "time", 0, ANY, NULL, "time of the initial state"),
    REAL("run", "t_end", "time", NAN, ANY, "orbits", "time to integrate to; before t_start: backwards"),
    REAL("run", "orbits", "", NAN, ANY, "t_end",
         "length of the run in shortest periods of each system's initial state; below 0: backwards"),
    OTHER("run", TEXT, "shard", "all systems",
          "\"i/N\": every Nth system from the ith on; `shoal merge` puts the N results together"),
    VALUE("run", INTEGER, "system", "", NAN, 0, MOST_EXACT, NULL, "all systems", "only the system of this id"),
    OTHER("run", GROUP, "certify", "none",
          "whether the step is short enough: some of the systems are integrated three more times"),
    VALUE("run", CHOICE, "engine", "", 0, 0, 2, SHOAL_ENGINE_CHOICES, NULL, "what to run on"),
    MACHINE(INTEGER, "threads", 0, 4096, NULL,
          "CPU threads; 0 = OMP_NUM_THREADS, or as many as this process may use"),
    MACHINE(INTEGER, "lanes", 0, 8, "0|1|4|8", "CPU SIMD width; 0 = the machine's"),
    { "run", SHOAL_KEY_DEVICES, "auto",
      { "devices", SHOAL_INTEGER, "", NAN, 0, SHOAL_MOST_DEVICES, NULL,
        "GPUs that share the systems; auto = as many as pay, of those that are like the first one" }, true },
    MACHINE(CHOICE, "work_model", 0, 1, SHOAL_MODEL_CHOICES,
          "what a GPU thread has: a system, or of one a body, a component, a pair"),
    MACHINE(INTEGER, "gpu_block", 0, 1024, NULL,
          "threads of a GPU's block, a multiple of 32; 0 = chosen"),
    MACHINE(INTEGER, "gpu_registers", 0, 255, NULL,
          "registers of a GPU's thread, at most; 0 = chosen"),
    MACHINE(INTEGER, "gpu_bodies", 0, 5, "0|1|2|4|5",
          "bodies of a GPU's thread, of the work model body, which it chooses; 0 = chosen"),
    MACHINE(CHOICE, "tune", 0, 2, SHOAL_TUNE_CHOICES,
          "whether a GPU's work model, block and registers are measured: auto = once for a combination, if the run "
                "is long"),
    MACHINE(INTEGER, "slice_steps", 0, MOST_EXACT, NULL,
          "steps between two looks at the run; 0 = adapted; results do not depend on it"),
    MACHINE(INTEGER, "wave", 0, MOST_EXACT, NULL,
          "systems that are in memory as they move, the others wait or have ended; 0 = 131072 or more; results do not "
                "depend on it"),
    MACHINE(REAL, "checkpoint_s", 30, INFINITY, NULL, "least seconds of wall time between checkpoints"),

    VALUE("run.certify", REAL, "fraction", "", NAN, POSITIVE, 1, NULL, NULL, "of the systems, drawn by seed and id"),
    VALUE("run.certify", INTEGER, "seed", "", 1, 0, MOST_EXACT, NULL, NULL, "the same systems for the same seed"),
    OTHER("run.certify", TEXT, "propagator", "gauss_radau; of a run with it bulirsch_stoer", "the other propagator"),
    VALUE("run.certify", REAL, "tolerance", "", 0.05, POSITIVE, 1, NULL, NULL,
          "part of the systems whose class the step may decide"),

    OTHER("output", TEXT, "file", "the config's base name and .h5", "the result file"),
    REAL("output", "interval", "time", 0, POSITIVE, "no snapshots",
         "time between snapshots; with run.orbits in shortest periods of each system"),
    NUMBERS("output", "times", "time", "none",
            "times of further snapshots; with run.orbits in shortest periods of each system since run.t_start"),
    VALUE("output", BOOLEAN, "extend", "", NAN, 0, 1, NULL, "true for at most 100000 systems",
          "whether the file holds what `shoal run --extend` goes on from"),

    /* one big system (big/): another kind of config, whose top level is the section "big" */
    OTHER("big", GROUP, "model", NULL, "the bodies of one big system; a config with this group is no ensemble"),
    OTHER("big", GROUP, "units", "N-body units: G = 1, times and lengths without names",
          "units of the file and of its results"),
    OTHER("big", GROUP, "gravitation", "no softening, fp64", "how forces are computed"),
    OTHER("big", GROUP, "integrator", NULL, "the propagator and its steps"),
    OTHER("big", GROUP, "run", NULL, "when to integrate to, and on what"),
    OTHER("big", GROUP, "output", "a row at each hundredth of the run", "the result file and the snapshots"),

    VALUE("big.model", CHOICE, "name", "", NAN, 0, SHOAL_BIG_MODELS - 1, MODEL_WORDS, "file",
          "a model to draw bodies from"),
    OTHER("big.model", TEXT, "file", "name",
          "bodies in any format that `shoal convert` reads, relative to the config's folder; its numbers are in the "
                "config's "
          "units (without `units`, G = 1) unless it states its own"),
    TEXTS("big.model", "components", "all", "of a file that has them: \"gas\", \"dark\", \"stars\""),
    VALUE("big.model", INTEGER, "n", "", NAN, 2, MOST_INT, NULL, "model.file",
          "number of bodies, all of the same mass"),
    VALUE("big.model", INTEGER, "seed", "", 1, 0, 4294967295.0, NULL, NULL, "the same bodies for the same seed"),
          /* GSL's has 32 bits */
    REAL("big.model", "mass", "mass", NAN, POSITIVE, "1", "total mass"),
    REAL("big.model", "virial_radius", "length", NAN, POSITIVE, "1",
          "G mass^2 / 2 |W|, W the potential energy of the bodies, but for the noise of the draw"),
    REAL("big.model", "r_max", "", NAN, 0.1, "100; no bound where the model has an edge",
         "no body is farther out than so many scale radii: mass and virial_radius are of what lies within"),
    VALUE("big.model", REAL, "virial_ratio", "", 0.5, 0, 10, NULL, NULL, "K / |W| of the models uniform and henon"),
    VALUE("big.model", REAL, "W0", "", 6, 0.1, 16, NULL, NULL, "central potential over sigma^2 of the model king"),
    VALUE("big.model", REAL, "toomre_q", "", 1.5, 0, 100, NULL, NULL,
          "Toomre's Q of the model kuzmin; 0 = circular orbits"),

    REAL("big.gravitation", "softening", "length", 0, 0, NULL, "softening length epsilon"),
    VALUE("big.gravitation", CHOICE, "kernel", "", 0, 0, 1, "plummer|spline", NULL,
          "1/sqrt(r^2 + epsilon^2), or the spline that is Newton's law beyond 2.8 epsilon"),
    VALUE("big.gravitation", CHOICE, "precision", "", 0, 0, 2, "fp64|mixed|fp32", NULL,
          "of the forces; states are double"),
    OTHER("big.gravitation", TEXT, "method", "auto", "the force method (`shoal list`)"),

    VALUE("big.integrator", CHOICE, "name", "", 0, 0, 3, "leapfrog|hermite4|hermite4_block|hermite6", NULL,
          "of second, fourth or sixth order with one step for all bodies; _block: a step for each body"),
    REAL("big.integrator", "dt", "time", NAN, POSITIVE, "output.interval; not of fixed steps",
         "the longest step; without eta, and of hermite6, the step; shortened to divide output.interval"),
    REAL("big.integrator", "eta", "", NAN, POSITIVE, "fixed steps; hermite4_block: 0.01",
         "steps that adapt: eta (epsilon / |a|)^(1/2) of leapfrog; of Hermite Aarseth's, with eta^(1/2)"),

    REAL("big.run", "t_start", "time", NAN, ANY, "0, or what the file says", "time of the initial state"),
    REAL("big.run", "t_end", "time", NAN, ANY, NULL, "time to integrate to; before t_start: backwards"),
    VALUE("big.run", CHOICE, "engine", "", 0, 0, 2, "auto|cpu|cuda", NULL,
          "what computes the forces; auto: a GPU where it is faster, by the number of bodies"),
    VALUE("big.run", INTEGER, "threads", "", 0, 0, 4096, NULL, NULL,
          "CPU threads; 0 = OMP_NUM_THREADS, or as many as this process may use"),
    VALUE("big.run", INTEGER, "devices", "", 1, 1, 64, NULL, NULL, "GPUs that share the forces"),
    VALUE("big.run", CHOICE, "tune", "", 0, 0, 2, "auto|always|never", NULL,
          "whether a GPU's force methods are measured where that is free: auto = once for a combination, if the run "
                "is long"),
    REAL("big.run", "checkpoint_s", "", 30, 0, NULL,
          "least seconds of wall time between checkpoints, which are made at rows of the diagnostics"),

    OTHER("big.output", TEXT, "file", "the config's base name and .h5",
          "the result file; snapshots are named after it"),
    REAL("big.output", "interval", "time", NAN, POSITIVE, "a hundredth of the run",
          "time between rows of the diagnostics"),
    VALUE("big.output", INTEGER, "snapshots", "", 10, 0, MOST_INT, NULL, NULL,
          "every so many rows a snapshot, and of the start; 0 = none (the last state is in the result file)"),
    VALUE("big.output", CHOICE, "format", "", 0, 0, 3, "gadget|tipsy|phigrape|csv", NULL, "of the snapshots"),
};
/* clang-format on */

const int shoal_n_keys = SHOAL_COUNT(shoal_keys);

const shoal_key *shoal_key_find(const char *section, const char *name)
{
    for (int i = 0; i < shoal_n_keys; i++)
        if (strcmp(shoal_keys[i].section, section) == 0 && strcmp(shoal_keys[i].row.name, name) == 0)
            return &shoal_keys[i];
    return NULL;
}

const shoal_key *shoal_body_key(int key)
{
    return &shoal_keys[key];
}
