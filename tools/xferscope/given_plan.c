#include "tools/xferscope/given_plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/units.h"
#include "common/text.h"
#include "preload/apply/site/plan.h"
#include "tools/xferscope/checked_plan.h"

static int give(const struct xfa_apply_plan *plan, const char *path, char which[GIVEN_MEMORY_NAME],
                preloaded_refuse *refuse)
{
    char error[256];
    size_t bytes = 0, unplaced;
    struct xft_plan_header *packed =
        xfa_apply_plan_pack(plan, &bytes, &unplaced, error, sizeof error);
    if (packed == NULL)
        return refuse("%s: %s", path, error);
    void *memory = given_memory(XFS_PLAN_NAME, XFT_PLAN_BYTES_MOST, which);
    if (memory)
        memcpy(memory, packed, bytes);
    free(packed);
    return memory ? 0 : refuse("%s: no memory to hand it on", path);
}

/* Python files that are not as they were: of each step the first. */
static void say_changed(const struct xfa_apply_plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct xfa_apply_step *step = &plan->steps[i];
        for (size_t k = 0; k < step->site_count && step->carry_out; k++) {
            const struct xfa_apply_place *place = &step->sites[k].place;
            if (!place->file_hash || xfa_apply_place_holds(place))
                continue;
            xfc_print(stderr,
                      "xferscope: %s: step %zu: %s is not as it was when the plan was made\n", path,
                      i + 1, place->file);
            break;
        }
    }
}

struct xfa_apply_plan *given_plan(const char *path, bool check, char which[GIVEN_MEMORY_NAME],
                                  preloaded_refuse *refuse)
{
    char error[512];
    struct xfa_apply_plan *plan = xfa_apply_plan_read(path, error, sizeof error);
    if (plan == NULL) {
        refuse("%s: %s", path, error);
        return NULL;
    }
    if (xfa_apply_plan_chosen(plan) == 0)
        xfc_print(stderr, "xferscope: %s: no step of the plan is to be carried out\n", path);
    say_changed(plan, path);
    if (!check)
        checked_plan_ask(plan, path);
    if (give(plan, path, which, refuse) == 0)
        return plan;
    xfa_apply_plan_free(plan);
    return NULL;
}

char *given_plan_step(const struct xfa_apply_plan *plan, unsigned step)
{
    char time[XFA_UNIT_CHARS];
    if (plan == NULL || step == 0 || step > plan->step_count)
        return NULL;
    const struct xfa_apply_step *of = &plan->steps[step - 1];
    double likely_ns = xfa_apply_predicted(of)->likely;
    if (isnan(likely_ns))
        return xfa_print("step %u of the plan, %s", step, of->finding);
    return xfa_print("step %u of the plan, %s: %s", step, of->finding,
                     xfa_time_text(time, likely_ns > 0 ? likely_ns : 0));
}

static bool was_reached(const struct xfs_report *report, unsigned step)
{
    for (uint32_t i = 0; i < report->sites_used && i < XFS_REPORT_SITES; i++)
        if (report->sites[i].state == XFS_REPORT_THERE && report->sites[i].step == step)
            return true;
    return false;
}

static size_t places(const struct xfa_apply_step *step)
{
    size_t count = 0;
    for (size_t i = 0; i < step->site_count; i++)
        count += step->sites[i].place.build_id || step->sites[i].place.file_hash;
    return count;
}

static const char *why_unreached(const struct xfa_apply_step *step)
{
    if (places(step) == 0)
        return "nothing says where its sites are";
    if (step->by == XFT_PLAN_LEAVE_OUT)
        return "no call came from its sites, or only uploads below 512 KiB (another build of the "
               "program?)";
    if (step->by == XFT_PLAN_STREAMS)
        return "no call came from its sites, or no copy of page-locked memory, of 1 MiB and more "
               "and waited for, in a second thread (another build of the program?)";
    return "no call came from its sites (another build of the program?)";
}

void given_plan_end(const struct xfa_apply_plan *plan, const struct xfs_report *report,
                    const char *command)
{
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct xfa_apply_step *step = &plan->steps[i];
        if (!step->carry_out || was_reached(report, (unsigned)i + 1))
            continue;
        xfc_print(stderr, "xferscope %s: step %zu of the plan, %s: %s\n", command, i + 1,
                  step->finding, why_unreached(step));
    }
}
