/*
 * A run's ops (whatif/op.h) as steps that the probe can play (probe/play.h), and what has to be on
 * the stage for them. Made through a tap (whatif/tap.h), as recorded and as advised, one script
 * each, for one stage.
 *
 * What a call was made of is made again: the same bytes, memory, stream, events. Of work whose time
 * a change has set without saying how it comes about, and of what cannot be made again (batches,
 * arrays, managed memory that moves), copies and kernels are played that last as long; they are
 * counted.
 *
 * Not played, but added to what playing took: the time before the first call and after the last
 * one, and of long times in which one thread alone did something else while nothing was under way
 * all but XFA_PLAY_KEPT_NS.
 */
#ifndef XFA_PLAY_LIST_H
#define XFA_PLAY_LIST_H

#include "analyzer/pass/class.h"
#include "analyzer/remeasure/places.h"
#include "analyzer/remeasure/play_memory.h"
#include "analyzer/whatif/tap.h"

#define XFA_PLAY_MOST_STEPS 2000000u /* of one script */
#define XFA_PLAY_KEPT_NS 5e6
#define XFA_PLAY_LONG_NS 20e6

struct xfa_play_setting {
    const struct xfa_classes *classes;
    const struct xfa_places *places;
    struct xfa_play_memory memory;
    struct xfa_table streams; /* by the process's number */
    struct xfa_table events;
    uint32_t marks; /* events of the stage's own: behind work that a change waits for */
    size_t slots;
};

void xfa_play_setting_init(struct xfa_play_setting *setting, const struct xfa_classes *classes,
                           const struct xfa_places *places);
void xfa_play_setting_free(struct xfa_play_setting *setting);

struct xfa_play_script;

/* last_op: ops behind that one are left out (UINT64_MAX: none is); end_ns: ops from the first on
 * that comes when so much has been played (INFINITY: none). */
struct xfa_play_script *xfa_play_script_new(struct xfa_play_setting *setting, uint64_t last_op,
                                            double end_ns);
void xfa_play_script_free(struct xfa_play_script *script);
struct xfw_tap xfa_play_script_tap(struct xfa_play_script *script);

/* Once the ops have come. */
struct xfa_play_account {
    double model_ns;   /* what it takes by the model, of it: */
    double skipped_ns; /* not played */
    bool whole;
    uint64_t last_op; /* that is played */
    uint64_t steps;
    uint64_t by_time; /* of these: made to last as long, no more */
    const char *why;  /* static: it cannot be played; NULL: it can */
};
struct xfa_play_account xfa_play_script_account(const struct xfa_play_script *script);

/* When all scripts of the stage are there: the stage, its arrays for free(); then each list, which
 * lasts as long as its script. */
void xfa_play_stage_make(struct xfa_play_setting *setting, struct xfp_play_stage *stage);
void xfa_play_stage_free(struct xfp_play_stage *stage);
const struct xfp_play_list *xfa_play_script_list(struct xfa_play_script *script);

#endif
