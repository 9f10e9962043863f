/* Plays a list once on a stage: implements xfp_play_run() (probe/play.h). */
#ifndef XFP_PLAY_RUN_H
#define XFP_PLAY_RUN_H

#include "probe/play/stage.h"

/* 0, or -1 with played->why. */
int xfp_stage_play(struct xfp_made_stage *made, const struct xfp_play_list *list,
                   struct xfp_played *played);

#endif
