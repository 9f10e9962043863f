#include "probe/play.h"

#include <stdio.h>
#include <stdlib.h>

#include "probe/device/launch.h"
#include "probe/interrupt.h"
#include "probe/machine/machine_host.h"
#include "probe/play/stage.h"
#include "probe/session.h"

struct xfp_play {
    struct xfp_session s;
    struct xfp_probe_options options;
    struct xfp_made_stage made;
    bool prepared;
};

struct xfp_play *xfp_play_open(char *error, size_t error_bytes)
{
    struct xfp_play *play = calloc(1, sizeof(*play));
    int bad;

    if (!play) {
        snprintf(error, error_bytes, "out of memory");
        return NULL;
    }
    play->options = (struct xfp_probe_options){.device = -1, .quick = true, .quiet = true};
    bad = xfp_session_open(&play->s, &play->options);
    if (!bad && !xfp_kernels_built(&play->s.sys))
        bad = xfp_fail(&play->s.sys, "built without nvcc: there is no kernel to play with");
    if (!bad) {
        xfp_catch_signals();
        return play;
    }
    snprintf(error, error_bytes, "%s", play->s.sys.error);
    xfp_session_close(&play->s);
    xfp_free(play->s.profile);
    free(play);
    return NULL;
}

static void clear(struct xfp_play *play)
{
    if (play->prepared)
        xfp_stage_free(&play->made);
    play->prepared = false;
}

struct xfp_profile *xfp_play_close(struct xfp_play *play)
{
    struct xfp_profile *profile = play->s.profile;

    clear(play);
    xfp_release_signals();
    xfp_session_close(&play->s);
    free(play);
    return profile;
}

const struct xfp_profile *xfp_play_machine(const struct xfp_play *play)
{
    return play->s.profile;
}

bool xfp_play_stopped(const struct xfp_play *play)
{
    return xfp_interrupted();
}

/* At most half of the available memory. */
static bool fits(const struct xfp_play_stage *stage)
{
    uint64_t most = xfp_available_memory("") / 2, bytes = 0;

    for (size_t i = 0; i < stage->region_count; i++)
        if (stage->regions[i].place.memory != XFT_MEM_DEVICE && bytes <= most)
            bytes += stage->regions[i].bytes < most ? stage->regions[i].bytes : most + 1;
    return bytes <= most;
}

int xfp_play_prepare(struct xfp_play *play, const struct xfp_play_stage *stage, char *error,
                     size_t error_bytes)
{
    int bad = 0;

    clear(play);
    if (!fits(stage))
        bad = xfp_fail(&play->s.sys, "not enough memory for the buffers of the run");
    if (!bad)
        bad = xfp_stage_make(&play->made, &play->s.sys, stage);
    play->prepared = !bad;
    if (bad)
        snprintf(error, error_bytes, "%s", play->s.sys.error);
    return bad;
}

int xfp_play_run(struct xfp_play *play, const struct xfp_play_list *list, struct xfp_played *played)
{
    if (play->prepared)
        return xfp_stage_play(&play->made, list, played);
    *played = (struct xfp_played){.why = "nothing is prepared"};
    return -1;
}
