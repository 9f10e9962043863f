/*
 * What the ranks of messages.c and messages_more.c have in common: each says of each call what it
 * moved, a line for every MESSAGE that the trace must have.
 *
 *     RANK op CALL bytes width to from tag ranks        "-": nobody
 *     RANK ends N                                       requests that completed
 *
 * in DIRECTORY/said.RANK. One translation unit includes it.
 */
#ifndef XFERSCOPE_PROGRAMS_MESSAGES_H
#define XFERSCOPE_PROGRAMS_MESSAGES_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime_api.h"

enum { MOST = 4096, TAG = 7 };

static int rank, size, ended;
static FILE *out;
static double *sent, *got; /* sent: of the device, whose simulated memory the host can read */
static int ones[64], places[64];

static void said(const char *op, const char *call, long bytes, long width, int to, int from,
                 int tag, const char *ranks)
{
    char peers[2][16] = {"-", "-"};
    if (to >= 0)
        snprintf(peers[0], sizeof peers[0], "%d", to);
    if (from >= 0)
        snprintf(peers[1], sizeof peers[1], "%d", from);
    fprintf(out, "%d %s MPI_%s %ld %ld %s %s %d %s\n", rank, op, call, bytes, width, peers[0],
            peers[1], tag, ranks);
}

static const char *world(void)
{
    static char text[16];
    snprintf(text, sizeof text, "0-%d", size - 1);
    return text;
}

static void check(int wrong, const char *what)
{
    if (!wrong)
        return;
    fprintf(stderr, "messages: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void wait_said(const char *call, int done)
{
    said("wait", call, 0, 0, -1, -1, 0, "?");
    ended += done;
}

static void begin(const char *folder)
{
    char path[4096];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(path, sizeof path, "%s/said.%d", folder, rank);
    out = fopen(path, "w");
    check(out == NULL, path);
    MPI_Barrier(MPI_COMM_WORLD); /* before the first call of CUDA: not recorded */
    check(cudaMalloc((void **)&sent, 2 * MOST * sizeof *sent) != 0, "no memory of the device");
    got = calloc(2 * MOST, sizeof *got);
    for (int i = 0; i < 64; i++) {
        ones[i] = 1;
        places[i] = i;
    }
}

static void end(void)
{
    fprintf(out, "%d ends %d\n", rank, ended);
    fclose(out);
}

#endif
