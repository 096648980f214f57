/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * trees.h: the order conditions of Runge-Kutta and Runge-Kutta-Nystroem methods, grown as rooted trees: Hairer, Norsett
 * & Wanner 1993, Solving Ordinary Differential Equations I, sections II.2 and II.14.
 */
#ifndef SHOAL_TEST_TREES_H
#define SHOAL_TEST_TREES_H

enum equation {
    OF_FIRST_ORDER,  /* y' = f(y) */
    OF_SECOND_ORDER, /* y'' = f(y) */
    WITH_VELOCITIES, /* y'' = f(y, y') */
};

/* once: stages are what f is integrated once with (A of Runge-Kutta, velocities of Nystroem); twice: positions of
 * Nystroem. */
enum { METHOD_STAGES = 16 };
struct method {
    int stages;
    long double c[METHOD_STAGES], once[METHOD_STAGES][METHOD_STAGES], twice[METHOD_STAGES][METHOD_STAGES];
};

/* All trees up to an order; free() it. */
struct forest *plant(enum equation equation, int most_order);

/* How many conditions of this order f integrated once or twice has to fulfil. */
int conditions(const struct forest *forest, int integrals, int order);

/* And the largest of their residuals for these weights of the stages. */
double residual(const struct forest *forest, const struct method *method, int integrals, const long double *weight,
                int order);

#endif
