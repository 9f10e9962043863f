/*
 * Which GPU of this machine, and of the profile that is to keep the measurements, stands for a GPU
 * of the run.
 *
 * That is the one with the same uuid, else one of the same name, which the note says. A run of
 * other GPUs is not replayed: this machine's figures would not be its.
 */
#ifndef XFA_PLACES_H
#define XFA_PLACES_H

#include "analyzer/run/run.h"
#include "xferscope/profile.h"

struct xfa_places {
    const struct xfa_run *run;
    const struct xfp_machine *here, *profile; /* profile NULL: none; the measurements make one */
    bool other_gpus; /* some GPUs of the run are not here; others of the same name stand for them */
    bool other_profile; /* the profile is of another machine with such GPUs, or of another driver */
    char *refusal; /* one line: why the run cannot be measured here, or for that profile; NULL: it
                      can */
    char *note;    /* one line: which GPUs stand for which; NULL: all are the same */
};

void xfa_places_init(struct xfa_places *places, const struct xfa_run *run,
                     const struct xfp_machine *here, const struct xfp_machine *profile);
void xfa_places_free(struct xfa_places *places);

/* The ordinal of a run's GPU on this machine; -1: it is not here. */
int xfa_place_here(const struct xfa_places *places, int gpu);

/* The number in the profile of a GPU of this machine; -1: the profile has not got it. */
int xfa_place_in_profile(const struct xfa_places *places, int ordinal);

#endif
