#include "preload/timing/give_way.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "preload/base/headroom.h"
#include "preload/base/log.h"
#include "preload/base/settings.h"
#include "preload/lookup/driver.h"
#include "preload/record/cost.h"
#include "preload/record/hold.h"
#include "preload/record/periods.h"
#include "preload/record/record.h"
#include "preload/timing/event_pairs.h"
#include "preload/timing/trial.h"

#define FIRST_PAUSE_NS 20000000u /* after a call had stayed in the driver; doubled each time */
#define LONGEST_PAUSE_NS 1000000000u

atomic_bool xfs_copies_recorded;

static struct {
    const struct xcp_library *cupti;
    struct xfs_allowance allowance;
    unsigned records; /* that come now */
    bool sampled;     /* copies, by events */
    uint64_t started_ns;
    enum xfs_part due; /* to be switched off; XFS_PARTS: nothing is */
    uint64_t again_ns, pause_ns;
    uint64_t off_ns[XFS_PARTS]; /* 0: not yet */
    bool kernels_refused;
} state = {.due = XFS_PARTS};

static const struct {
    unsigned records; /* enum xft_records */
    const char *key, *what;
    int kinds[4]; /* of CUPTI, 0 behind the last */
} parts[XFS_PARTS] = {
    [XFS_PART_COPIES] = {XFT_RECORDS_COPIES,
                         "budget.copies_until_ns",
                         "copies and memsets",
                         {XCP_ACTIVITY_MEMCPY, XCP_ACTIVITY_MEMCPY2, XCP_ACTIVITY_MEMSET}},
    [XFS_PART_KERNELS] = {XFT_RECORDS_KERNELS,
                          "budget.kernels_until_ns",
                          "kernels",
                          {XCP_ACTIVITY_KERNEL}},
    [XFS_PART_MANAGED] = {0, "budget.managed_until_ns", "managed memory", {XCP_ACTIVITY_COUNTER}},
};

/* Writes which device records arrive from now on. */
static void write_records(unsigned records, enum xft_records_why why, enum xft_records_sample of)
{
    struct xft_event event = {.kind = XFT_EVENT_RECORDS,
                              .aux = records,
                              .count = why,
                              .src = of,
                              .device = XFT_PLACE_UNKNOWN,
                              .src_place = XFT_PLACE_UNKNOWN,
                              .dst_place = XFT_PLACE_UNKNOWN};
    event.start_ns = event.end_ns = xfs_now_ns();
    xfs_event_write(&event);
}

void xfs_say_records(unsigned records)
{
    write_records(records, XFT_RECORDS_OTHERWISE, XFT_SAMPLE_NONE);
}

/* ---- what the trace says --------------------------------------------------------------------- */

static void say_number(const char *key, uint64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    xfs_meta_set(key, text);
}

/* One line for the report: which times are missing, from which moment on, and why. */
static void say_why(void)
{
    char line[400];
    int at =
        snprintf(line, sizeof line,
                 "CUPTI's records cost more than the budget of %u %%: ", xfs_settings()->budget);
    const char *between = "";
    for (size_t i = 0; i < XFS_PARTS && at < (int)sizeof line; i++)
        if (i == XFS_PART_KERNELS && state.kernels_refused) {
            at += snprintf(line + at, sizeof line - (size_t)at, "%sno times of kernels", between);
            between = ", ";
        } else if (state.off_ns[i]) {
            at += snprintf(line + at, sizeof line - (size_t)at, "%sno times of %s from %.3g s on",
                           between, parts[i].what,
                           (double)(state.off_ns[i] - state.started_ns) / 1e9);
            between = ", ";
        }
    if (at < (int)sizeof line && state.sampled)
        snprintf(line + at, sizeof line - (size_t)at,
                 "; since then a sample of the asynchronous copies is timed by CUDA events");
    xfs_meta_set("timing.why", line);
}

static void gave_way(enum xfs_part part)
{
    state.off_ns[part] = xfs_now_ns();
    state.records &= ~parts[part].records;
    if (part == XFS_PART_COPIES)
        xfs_meta_set("timing.sampled", "1");
    xfs_allowance_gave_way(&state.allowance, part);
    write_records(state.records, XFT_RECORDS_BUDGET,
                  state.sampled ? XFT_SAMPLE_COPIES : XFT_SAMPLE_NONE);
    say_number(parts[part].key, state.off_ns[part]);
    say_why();
    xfs_verbose("device timing: records of %s gave way to the budget", parts[part].what);
}

/* ---- switching off --------------------------------------------------------------------------- */

static void disable(void *part)
{
    const int *kinds = parts[*(enum xfs_part *)part].kinds;
    for (size_t i = 0; i < sizeof parts->kinds / sizeof *parts->kinds && kinds[i]; i++)
        state.cupti->ActivityDisable(kinds[i]);
    if (*(enum xfs_part *)part != XFS_PART_COPIES)
        return;
    atomic_store(&xfs_copies_recorded, false);
    if (state.sampled)
        xfs_pairs_switch_on();
}

static void give_way(void)
{
    uint64_t now = xfs_now_ns();
    if (now < state.again_ns || !xfs_has_headroom())
        return;
    state.cupti->ActivityFlushAll(0);
    if (state.due == XFS_PART_COPIES)
        state.sampled = xfs_pairs_prepare(true);
    if (xfs_with_calls_held(disable, &state.due)) {
        gave_way(state.due);
        state.due = XFS_PARTS;
        state.pause_ns = FIRST_PAUSE_NS;
        return;
    }
    state.again_ns = xfs_now_ns() + state.pause_ns;
    if (state.pause_ns < LONGEST_PAUSE_NS)
        state.pause_ns *= 2;
}

/* ---- as the collecting thread goes on -------------------------------------------------------- */

void xfs_give_way_start(const struct xcp_library *cupti, unsigned records)
{
    bool simulated = xfs_driver_symbol("xferscope_simgpu_now_ns") != NULL;
    const struct xfs_settings *settings = xfs_settings();
    state.cupti = cupti;
    state.records = records;
    state.started_ns = xfs_now_ns();
    state.pause_ns = FIRST_PAUSE_NS;
    if (!xfs_allowance_costs(state.allowance.record_ns, settings->budget_costs, simulated))
        xfs_log("XFERSCOPE_BUDGET_COSTS=%s makes no sense; using the default",
                settings->budget_costs);
    xfs_allowance_start(&state.allowance, cupti->ActivityDisable ? settings->budget : 0,
                        state.started_ns, xfs_cost_spent_ns(), xfs_cost_calls(XFT_EVENT_LAUNCH));
    atomic_store(&xfs_copies_recorded, true);
    xfs_say_records(records);
    say_number("budget", settings->budget);
}

void xfs_give_way_kernels_on(void)
{
    state.records |= XFT_RECORDS_KERNELS;
    write_records(state.records, XFT_RECORDS_OTHERWISE, XFT_SAMPLE_NONE);
}

void xfs_give_way_refused(unsigned refused)
{
    char line[200];
    xfs_verbose("device timing: records would cost more than the budget");
    if (!(refused & XFS_TRIAL_COPIES)) {
        state.kernels_refused = true;
        say_why();
        return;
    }
    bool sampled = xfs_pairs_start(true);
    snprintf(line, sizeof line, "CUPTI's records would cost more than the budget of %u %%%s",
             xfs_settings()->budget,
             sampled ? ": a sample of the asynchronous copies is timed by CUDA events" : "");
    xfs_meta_set("timing", sampled ? "event" : "host");
    xfs_meta_set("timing.why", line);
    say_number("budget", xfs_settings()->budget);
    write_records(0, XFT_RECORDS_BUDGET, sampled ? XFT_SAMPLE_COPIES : XFT_SAMPLE_NONE);
}

void xfs_give_way_record(const struct xft_event *record)
{
    xfs_allowance_record(&state.allowance, record);
}

bool xfs_give_way_is_due(void)
{
    return state.due != XFS_PARTS;
}

/* Where recording is limited to periods, calls outside of them are not held back. */
void xfs_give_way_look(void)
{
    if (!state.allowance.bounded || atomic_load(&xfs_periods_limited))
        return;
    if (state.due == XFS_PARTS)
        state.due = xfs_allowance_look(&state.allowance, xfs_now_ns(), xfs_cost_spent_ns(),
                                       xfs_cost_calls(XFT_EVENT_LAUNCH));
    if (state.due != XFS_PARTS)
        give_way();
}
