/*
 * A run of several ranks on one host, made call by call (ranked.h), and what it would save where
 * one of them takes less time of its own.
 */
#ifndef RANKED_LAB_H
#define RANKED_LAB_H

#include "analyzer/whatif/schedule/change.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/ranked.h"

enum { RANKED_LAB_MOST = 4 };

struct ranked_lab {
    struct ranked ranks[RANKED_LAB_MOST];
    uint32_t count;
    uint32_t correlation; /* of the kernel made last, for who makes some */
    struct analyzed a;
};

/* Ranks on these hosts (NULL: on one); calls come between; they end, the traces of the first
 * `there` of them are analysed by `a`, which was started, and all are freed. */
void ranked_start_all(struct ranked *ranks, uint32_t count, const char *const *hosts);
void ranked_analyse_all(struct analyzed *a, struct ranked *ranks, uint32_t count, uint32_t there);

/* Calls come between; free frees what both made. */
void ranked_lab_start(struct ranked_lab *lab, uint32_t count);
void ranked_lab_analyse(struct ranked_lab *lab);
void ranked_lab_free(struct ranked_lab *lab);

/* What is divided by `by` where it takes at least so long: the own time of a process before its
 * calls, and with `kernels` its kernels that are not NCCL's. */
struct ranked_faster {
    uint32_t process;
    double least_ns, by;
    bool kernels;
};
struct ranked_change {
    struct xfw_change change;
    struct ranked_faster what;
};
struct ranked_change ranked_lab_change(const struct ranked_lab *lab, struct ranked_faster what);
/* The run with that as its only change; xfw_whatif_free() is the caller's. */
struct xfw_whatif *ranked_lab_play(const struct ranked_lab *lab, struct ranked_faster what);

#endif
