/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * trees.c: order conditions from rooted trees.
 *
 * The Taylor series of f along the solution is a sum over sets of what its arguments are expanded in: f itself,
 * integrated once (of order 1 more than f's term) or twice (2 more), and in equations of second order h y'. So a tree
 * is a multiset of smaller trees, and a number of integrals. Its density is the product of its children's times what
 * integrating h^(order - integrals) divides by.
 */
#include "trees.h"
#include "testing.h"

#include <math.h>

enum { MOST_ORDER = 12, MOST_TREES = 3000, MOST_CHILDREN = MOST_ORDER };

struct forest {
    enum equation equation;
    int n, first[MOST_ORDER + 2]; /* trees of order r: first[r]..first[r + 1] - 1 */
    struct {
        int order, integrals, n_children, child[MOST_CHILDREN]; /* integrals = 0: h y' */
        long double density;                                    /* gamma */
    } tree[MOST_TREES];
};

/* Whether f depends on what has so many integrals. */
static bool argument(const struct forest *forest, int integrals)
{
    return forest->equation == WITH_VELOCITIES || (integrals == 1) == (forest->equation == OF_FIRST_ORDER);
}

/* Trees of the given order whose further children have indices up to `most` and together the order `left`. */
static void grow(struct forest *forest, int integrals, int order, int left, int most, int n_children, const int *child)
{
    if (left == 0) {
        const int new = forest->n++;
        assert_true(new < MOST_TREES);
        forest->tree[new].order = order;
        forest->tree[new].integrals = integrals;
        forest->tree[new].n_children = n_children;
        forest->tree[new].density = integrals == 0 ? 1 : integrals == 1 ? order : order * (order - 1);
        for (int i = 0; i < n_children; i++) {
            forest->tree[new].child[i] = child[i];
            forest->tree[new].density *= forest->tree[child[i]].density;
        }
        return;
    }
    for (int next = 0; next <= most && forest->tree[next].order <= left; next++) {
        int more[MOST_CHILDREN];
        if (!argument(forest, forest->tree[next].integrals))
            continue;
        if (n_children > 0)
            memcpy(more, child, (size_t)n_children * sizeof *more);
        more[n_children] = next;
        grow(forest, integrals, order, left - forest->tree[next].order, next, n_children + 1, more);
    }
}

struct forest *plant(enum equation equation, int most_order)
{
    struct forest *forest = calloc(1, sizeof *forest);
    assert_non_null(forest);
    assert_true(most_order <= MOST_ORDER);
    forest->equation = equation;
    for (int order = 1; order <= most_order; order++) {
        forest->first[order] = forest->n;
        if (order == 1 && equation != OF_FIRST_ORDER)
            grow(forest, 0, 1, 0, 0, 0, NULL);
        for (int integrals = 1; integrals <= (equation == OF_FIRST_ORDER || order == 1 ? 1 : 2); integrals++)
            grow(forest, integrals, order, order - integrals, forest->first[order] - 1, 0, NULL);
        forest->first[order + 1] = forest->n;
    }
    return forest;
}

int conditions(const struct forest *forest, int integrals, int order)
{
    int n = 0;
    for (int tree = forest->first[order]; tree < forest->first[order + 1]; tree++)
        n += forest->tree[tree].integrals == integrals;
    return n;
}

double residual(const struct forest *forest, const struct method *method, int integrals, const long double *weight,
                int order)
{
    static long double value[MOST_TREES][METHOD_STAGES]; /* of the tree in the stages */
    long double worst = 0;
    for (int tree = 0; tree < forest->first[order + 1]; tree++) {
        const int times = forest->tree[tree].integrals;
        long double product[METHOD_STAGES], sum = 0;
        for (int i = 0; i < method->stages; i++) {
            product[i] = 1;
            for (int q = 0; q < forest->tree[tree].n_children; q++)
                product[i] *= value[forest->tree[tree].child[q]][i];
            sum += weight[i] * product[i];
        }
        for (int i = 0; i < method->stages; i++) {
            value[tree][i] = times == 0 ? method->c[i] : 0;
            for (int j = 0; j < method->stages && times > 0; j++)
                value[tree][i] += (times == 1 ? method->once : method->twice)[i][j] * product[j];
        }
        if (times == integrals && tree >= forest->first[order])
            worst = fmaxl(worst, fabsl(sum - 1 / forest->tree[tree].density));
    }
    return (double)worst;
}
