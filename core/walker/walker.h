/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * walker.h: what host and kernel text agree on of walkers. A walker is a vector of parameters, theta. From it follow a
 * system of bodies at an epoch, what is seen of that system at the times of the data (shoal_sights), and ln L:
 *
 *     bodies.kern.h       theta -> bodies, and a record that starts at the epoch
 *     ellipses.kern.h     bodies that do not attract each other -> what is seen
 *     stability.kern.h    bodies -> whether they may last
 *     observe.kern.h, conjunctions.kern.h  bodies -> what is seen (integrators/)
 *     doppler.kern.h      what is seen -> velocities as light brings them
 *     likelihood.kern.h   what is seen, theta -> ln L
 *
 * Data lie on both sides of the epoch: a walker makes two legs, forwards and backwards from the same bodies.
 *
 * gcc and NVRTC read this header.
 */
#ifndef SHOAL_WALKER_H
#define SHOAL_WALKER_H

#include "core/kernel/kernel.h"
#include "core/walker/body_keys.h"

enum { SHOAL_FORWARDS, SHOAL_BACKWARDS, SHOAL_LEGS };

/* A number of the model in inner units: value + factor theta, or fixed. */
typedef struct shoal_walker_number {
    int from;      /* the parameter, -1 = fixed */
    double factor; /* to inner units, and of a tie */
    double value;  /* 0 of a parameter itself */
} shoal_walker_number;

/* A body: the keys that are given, with the meanings of core/study/body.c. */
typedef struct shoal_walker_body {
    unsigned long long given; /* bits SHOAL_BODY_* */
    int relative_to;
    double mass_unit; /* of log10_m */
    shoal_walker_number number[SHOAL_BODY_KEYS];
} shoal_walker_body;

/* Places in the sky, of positions x (north), y (east): what they are measured as. */
enum {
    SHOAL_SKY_NONE,
    SHOAL_SKY_SEPARATION,
    SHOAL_SKY_ANGLE,
    SHOAL_SKY_RA,
    SHOAL_SKY_DEC,
    SHOAL_SKY_SCAN,
    SHOAL_SKY_MOTION
};

/* Criteria of stability: as the key likelihood.stability says. */
enum { SHOAL_STABLE_ANY, SHOAL_STABLE_AMD, SHOAL_STABLE_HILL, SHOAL_STABLE_MEGNO };

/* Measurements of one instrument. Values and their numbers are in the data's unit. */
typedef struct shoal_walker_set {
    long long first, n; /* its data */
    int met;            /* which of SHOAL_MET_* they are, -1 = seen at their times */
    double freedom;     /* of Student's t distribution, 0 = the errors are normal */
    double constant;    /* -2 ln of the factor before the error's in its density: ln 2 pi if normal */
    double missing;     /* adds to ln L for each that is not there: -infinity or a number */
    double factor;      /* from what is seen, in inner units, to the data's unit and sign */
    double epoch;       /* of trend and curvature */
    double unit;        /* the data's unit of time, in inner units */
    shoal_walker_number offset, jitter, trend, curvature;
    shoal_walker_number parallax, ra, dec, pm_ra, pm_dec; /* of places in the sky */
    int marginal;  /* the offset, or ra, dec and their motions, have flat priors and are integrated over */
    int sky;       /* SHOAL_SKY_* */
    int reference; /* rows from a position to that of the body which it is relative to, 0 = the barycentre */
    double turn;   /* angles: the data's unit of a whole turn */
    int group;     /* that it belongs to, -1 = none: then its ln L is its own */
    int column;    /* in its group: the first of its numbers that are integrated over */
    /* From where on `rotations` has, of errors with a covariance: its eigenvectors [n][n], eigenvalues [n] and, in the
     * directions of these vectors, the derivatives by the numbers that are integrated over [n][4]; -1 = independent. */
    long long rotation;
    /* Velocities as light brings them: 1 / c, or 0 without. All states are seen then, from the first component on, and
     * what comes of them is kept at `place`. */
    double light, relativity;
    int body, place;
} shoal_walker_set;

/* Covariances of Gaussian processes at a distance in time: as the key processes.kernel says. */
enum {
    SHOAL_KERNEL_QUASI_PERIODIC,
    SHOAL_KERNEL_SHO,
    SHOAL_KERNEL_ROTATION,
    SHOAL_KERNEL_EXPONENTIAL,
    SHOAL_KERNEL_COMPLEX,
    SHOAL_KERNEL_PERIODIC,
    SHOAL_KERNEL_MATERN32
};
typedef struct shoal_walker_process {
    int kernel; /* SHOAL_KERNEL_* */
    shoal_walker_number sigma, period, decay, width, quality, quality_difference, mix, sine;
} shoal_walker_process;

/* Sets whose data have the same processes, and those. */
typedef struct shoal_walker_group {
    long long first, n; /* its data: of `places`, in the order of time */
    int first_process, n_processes;
    int n_linear; /* numbers that are integrated over */
    int dense;    /* a kernel is no sum of exponentials */
} shoal_walker_group;

typedef struct shoal_walker_place {
    int datum, set;
} shoal_walker_place;

enum { SHOAL_MOST_LINEAR = 8 };    /* numbers of a set, or of a group, that are integrated over */
enum { SHOAL_MOST_PROCESSES = 4 }; /* of a group */

typedef struct shoal_datum {
    int leg, row; /* where it is seen: row of that leg's sights, or of the conjunctions */
    double time, value, error;
    double sine, cosine, parallax_factor; /* of a scan: its direction from north through east */
    int first_part, n_parts; /* of a proper motion: its places, of `parts`; sine = 1 towards east, cosine = 1 north */
    int line;                /* of its table */
    /* A number measured with this one, of another set, whose error is correlated with its own; `set` -1: none. */
    struct {
        int set, datum;
        double correlation;
    } with;
} shoal_datum;

/* A proper motion is a sum of places at some times, with weights per the data's unit of time. */
typedef struct shoal_walker_part {
    double time, weight;
    int east;     /* whether the place is y, towards east; else x, towards north */
    int leg, row; /* where it is seen */
} shoal_walker_part;

/* All that is the same for all walkers, and their arrays. */
typedef struct shoal_walk {
    int n_parameters, n_bodies, n_sets;
    long long n_data;
    int frame;              /* shoal_frame of the elements */
    double epoch;           /* time of the elements */
    double step;            /* length of a step */
    int fixed;              /* all steps have that length */
    int stability;          /* SHOAL_STABLE_* that bodies must be; of MEGNO a walk of its own decides */
    int keplerian;          /* bodies go on ellipses: no steps */
    double end[SHOAL_LEGS]; /* progress of each leg at its last time */
    double orbits;          /* if > 0, the leg ends after so many periods of the innermost planet instead */
    double most;            /* if > 0, MEGNO that it may have then */
    int growth, since;      /* slots of that monitor: MEGNO is the quotient */
    int n_watch;
    const double *watch;             /* [n_watch] what its monitors begin with */
    const shoal_walker_body *bodies; /* [n_bodies] */
    const shoal_walker_set *sets;    /* [n_sets] */
    const shoal_datum *data;         /* of all sets */
    /* Values in the place of those of data, [n_own][n_data]: a walker has those that its last parameter numbers. 0: all
     * walkers have the same data. */
    int n_own;
    const double *own;
    int n_groups, n_processes, n_parts;
    const shoal_walker_part *parts; /* [n_parts] */
    long long n_places, n_rotations;
    const shoal_walker_group *groups;      /* [n_groups] */
    const shoal_walker_process *processes; /* [n_processes] */
    const shoal_walker_place *places;      /* [n_places] */
    const double *rotations;               /* [n_rotations] */
    int n_work;
    double *work; /* [chunk][n_work][lane] of correlated errors */
    shoal_sights leg[SHOAL_LEGS];
    const double *theta; /* [walker][n_parameters] */
    double *lnl;         /* [walker] */
    double *predicted;   /* [walker][n_data] what the model says, NULL = not asked */
} shoal_walk;

#endif
