#include "analyzer/whatif/ops/squares.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define LEAST 8         /* that were seen: fewer say nothing */
#define ERROR_PART 0.01 /* of y */
#define ALIKE 1e-6      /* of the squares of x, what is no part of others, is nothing */

struct rows {
    double at[XFW_SQUARES][2 * XFW_SQUARES]; /* the products, and behind them their inverse */
    bool known[XFW_SQUARES], apart[XFW_SQUARES];
};

void xfw_squares_add(struct xfw_squares *sums, const double *x, double y)
{
    for (unsigned i = 0; i < XFW_SQUARES; i++) {
        for (unsigned k = 0; k < XFW_SQUARES; k++)
            sums->products[i][k] += x[i] * x[k];
        sums->with[i] += x[i] * y;
    }
    sums->squares += y * y;
    sums->count++;
}

void xfw_squares_merge(struct xfw_squares *into, const struct xfw_squares *other)
{
    for (unsigned i = 0; i < XFW_SQUARES; i++) {
        for (unsigned k = 0; k < XFW_SQUARES; k++)
            into->products[i][k] += other->products[i][k];
        into->with[i] += other->with[i];
    }
    into->squares += other->squares;
    into->count += other->count;
}

/* This x is a sum of parts of those before it: of none of these is it known what is due to it. */
static void mark_alike(const struct xfw_squares *sums, struct rows *rows, unsigned x)
{
    for (unsigned i = 0; i < x; i++) {
        double part = rows->at[i][x] * rows->at[i][x] * sums->products[i][i];
        if (part > ALIKE * sums->products[x][x])
            rows->apart[i] = false;
    }
}

static void eliminate(struct rows *rows, unsigned x)
{
    double pivot = rows->at[x][x];
    for (unsigned k = 0; k < 2 * XFW_SQUARES; k++)
        rows->at[x][k] /= pivot;
    for (unsigned i = 0; i < XFW_SQUARES; i++) {
        double part = rows->at[i][x];
        for (unsigned k = 0; k < 2 * XFW_SQUARES && i != x; k++)
            rows->at[i][k] -= part * rows->at[x][k];
    }
}

/* By Gauss and Jordan. How many are known. */
static unsigned invert(const struct xfw_squares *sums, struct rows *rows)
{
    unsigned known = 0;
    for (unsigned i = 0; i < XFW_SQUARES; i++) {
        memcpy(rows->at[i], sums->products[i], sizeof sums->products[i]);
        rows->at[i][XFW_SQUARES + i] = 1;
    }
    for (unsigned x = 0; x < XFW_SQUARES; x++) {
        rows->known[x] = rows->at[x][x] > ALIKE * sums->products[x][x];
        rows->apart[x] = rows->known[x];
        known += rows->known[x];
        if (rows->known[x])
            eliminate(rows, x);
        else
            mark_alike(sums, rows, x);
    }
    return known;
}

struct xfw_solved xfw_squares_solve(const struct xfw_squares *sums)
{
    struct xfw_solved solved = {{NAN, NAN, NAN}, {NAN, NAN, NAN}};
    struct rows rows = {{{0}}, {false}, {false}};
    double left = sums->squares, least = ERROR_PART * ERROR_PART * sums->squares;
    if (sums->count < LEAST)
        return solved;
    double of_each = (double)(sums->count - invert(sums, &rows));
    double value[XFW_SQUARES] = {0};
    for (unsigned i = 0; i < XFW_SQUARES; i++) {
        for (unsigned k = 0; k < XFW_SQUARES && rows.known[i]; k++)
            value[i] += rows.known[k] ? rows.at[i][XFW_SQUARES + k] * sums->with[k] : 0;
        left -= value[i] * sums->with[i];
    }
    double variance = (left > least ? left : least) / of_each;
    for (unsigned i = 0; i < XFW_SQUARES; i++) {
        if (!rows.apart[i])
            continue;
        solved.value[i] = value[i];
        solved.error[i] = sqrt(variance * rows.at[i][XFW_SQUARES + i]);
    }
    return solved;
}

struct xfw_solved xfw_squares_solve_with(const struct xfw_squares *sums, unsigned into,
                                         unsigned other)
{
    struct xfw_squares one = *sums;
    for (unsigned i = 0; i < XFW_SQUARES; i++) {
        one.products[into][i] += one.products[other][i];
        one.products[other][i] = 0;
    }
    for (unsigned i = 0; i < XFW_SQUARES; i++) {
        one.products[i][into] += one.products[i][other];
        one.products[i][other] = 0;
    }
    one.with[into] += one.with[other];
    one.with[other] = 0;
    return xfw_squares_solve(&one);
}
