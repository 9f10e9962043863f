/*
 * One thread of a played schedule, which takes its steps. Private to probe/play/.
 */
#ifndef XFP_PLAY_TAKE_H
#define XFP_PLAY_TAKE_H

#include <stdatomic.h>

#include "probe/play/stage.h"

struct xfp_play_run;

struct xfp_taker {
    struct xfp_play_run *run;
    const struct xfp_play_step *steps;
    size_t count;
    _Alignas(64) _Atomic uint64_t taken; /* others look at it */
    _Alignas(64) int device;             /* its context is current; -1 = none */
    uint64_t ended_ns, failed;
    double late_ns;
    xcu_result result; /* that ended it early */
    size_t at;         /* the step that did */
};

struct xfp_play_run {
    struct xfp_made_stage *made;
    struct xfp_taker *takers;
    size_t count;
    bool crowded;         /* more threads than processors: long waits sleep */
    uint64_t deadline_ns; /* wall clock, whatever the GPU's is */
    _Atomic size_t ready; /* threads that wait for it to begin */
    atomic_bool begun, stop;
};

/* In the thread itself, before it begins. */
void xfp_get_ready(struct xfp_taker *taker);

/* Takes all steps, from now on, in the calling thread. */
void xfp_take_steps(struct xfp_taker *taker);

#endif
