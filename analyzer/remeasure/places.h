/*
 * Where the GPUs of a run are on this machine, and in the profile that is to keep what is measured.
 *
 * A GPU is the one with the same uuid; else one of the same name stands for it, which is said. A
 * run of other GPUs is not replayed: their figures would say nothing of it.
 */
#ifndef XFA_PLACES_H
#define XFA_PLACES_H

#include "analyzer/run/run.h"
#include "xferscope/profile.h"

struct xfa_places {
    const struct xfa_run *run;
    const struct xfp_machine *here, *profile; /* profile NULL: none, what is measured makes one */
    bool other_gpus;    /* GPUs of the same name stand for some of the run's */
    bool other_profile; /* the profile is of another machine with such GPUs, or another driver */
    char *refusal;      /* one line: nothing of the run can be measured here, or for that profile */
    char *note;         /* one line about what stands for what; NULL = all are the same */
};

void xfa_places_init(struct xfa_places *places, const struct xfa_run *run,
                     const struct xfp_machine *here, const struct xfp_machine *profile);
void xfa_places_free(struct xfa_places *places);

/* A GPU of the run as the driver counts here; -1: it is not here. */
int xfa_place_here(const struct xfa_places *places, int gpu);

/* A GPU here as the profile counts; -1: it is not in there. */
int xfa_place_in_profile(const struct xfa_places *places, int ordinal);

#endif
