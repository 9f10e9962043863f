/*
 * The ops of a run (whatif/op/op.h) as steps that the probe can play (probe/play.h), and the stage:
 * the streams, events and memory that the steps use. Ops come through a tap (whatif/player.h). The
 * run as recorded and the run as advised are one script each, for one stage.
 *
 * A step makes the same call as its op: the same bytes, memory, stream, event. Two kinds of work
 * cannot be made again, and are played as copies and kernels that last as long, and counted
 * (by_time):
 * - work whose time a change has set without saying what it does instead;
 * - batches, arrays and migrations of managed memory.
 *
 * Not played, but added to the time that playing took:
 * - the time before the first call and after the last one;
 * - of each gap over XFA_PLAY_LONG_NS in which no work was in flight, in a run of one thread, all
 *   but XFA_PLAY_KEPT_NS.
 */
#ifndef XFA_PLAY_LIST_H
#define XFA_PLAY_LIST_H

#include "analyzer/pass/class.h"
#include "analyzer/remeasure/places.h"
#include "analyzer/remeasure/play_memory.h"
#include "analyzer/whatif/player.h"

#define XFA_PLAY_MOST_STEPS 2000000u /* of one script */
#define XFA_PLAY_KEPT_NS 5e6
#define XFA_PLAY_LONG_NS 20e6

struct xfa_play_setting {
    const struct xfa_classes *classes;
    const struct xfa_places *places;
    struct xfa_play_memory memory;
    struct xfa_table streams; /* struct xfa_play_queue */
    struct xfa_table events;  /* struct xfa_play_event */
    size_t slots;             /* allocations of the script that has most */
};

void xfa_play_setting_init(struct xfa_play_setting *setting, const struct xfa_classes *classes,
                           const struct xfa_places *places);
void xfa_play_setting_free(struct xfa_play_setting *setting);

struct xfa_play_script;

/* last_op: number of the last op that is played (UINT64_MAX: all are). end_ns: no op is played that
 * begins when so much has been played (INFINITY: no limit). */
struct xfa_play_script *xfa_play_script_new(struct xfa_play_setting *setting, uint64_t last_op,
                                            double end_ns);
void xfa_play_script_free(struct xfa_play_script *script);
struct xfw_tap xfa_play_script_tap(struct xfa_play_script *script);

/* Once the ops have come. */
struct xfa_play_account {
    double model_ns;   /* what the played part takes by the model */
    double skipped_ns; /* of model_ns: not played */
    bool whole;        /* no op is left out */
    uint64_t last_op;  /* the last op that is played */
    uint64_t steps;
    uint64_t by_time; /* of these: work that only lasts as long */
    const char *why;  /* static: why it cannot be played; NULL: it can */
};
struct xfa_play_account xfa_play_script_account(const struct xfa_play_script *script);

/* When all scripts of the stage are complete: makes the stage, then each list, which is valid as
 * long as its script. */
void xfa_play_stage_make(struct xfa_play_setting *setting, struct xfp_play_stage *stage);
void xfa_play_stage_free(struct xfp_play_stage *stage);
const struct xfp_play_list *xfa_play_script_list(struct xfa_play_script *script);

#endif
