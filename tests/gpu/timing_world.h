/*
 * What the tests of device timing stand on: the recorder as far as device timing uses it, and the
 * stand-in for CUPTI. Each test is run in a process of its own, since device timing starts once per
 * process: its name is the argument. For the test programs alone, which include it once.
 */
#ifndef TIMING_WORLD_H
#define TIMING_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>

#include "tests/gpu/fake_cupti.h"
#include "preload/base/real_dlsym.h"
#include "preload/lookup/driver.h"
#include "preload/base/check.h"
#include "preload/base/log.h"
#include "preload/record/bus.h"
#include "preload/record/cost.h"
#include "preload/record/hold.h"
#include "preload/record/periods.h"
#include "preload/record/record.h"
#include "preload/base/own_stack.h"
#include "preload/base/last_thread.h"
#include "preload/base/sandbox.h"
#include "preload/base/settings.h"
#include "xferscope/cupti_abi.h"
#include "preload/timing/timing.h"

/* ---- the recorder, as far as device timing uses it ------------------------------------------- */

#define EVENTS 50000
static struct xft_event events[EVENTS];
static size_t event_count;
static uint64_t lost;
static uint64_t now = 1000000;
atomic_bool xfs_sandbox_seen;

bool xfs_last_thread_own(void)
{
    return true;
}
static atomic_uint bus_watched; /* rounds of threads that may touch a file that was cut */

void xfs_bus_own_thread(void)
{
    atomic_fetch_add(&bus_watched, 1);
}

static char said[512];
static struct xfs_settings settings = {.kernels = true, .managed = true};

bool xfs_on_own_stack(void (*work)(void *), void *argument)
{
    work(argument);
    return true;
}

/* Nothing is left out. */
atomic_bool xfs_periods_limited;
atomic_uint xfs_periods_number;

bool xfs_periods_keep_record(const struct xft_event *record)
{
    (void)record;
    return true;
}

static uint64_t records_on; /* as the latest RECORDS says */
static uint32_t records_why;

void xfs_event_write(const struct xft_event *event)
{
    if (event->kind == XFT_EVENT_RECORDS) {
        records_on = event->aux;
        records_why = event->count;
    } else if (event_count < EVENTS)
        events[event_count++] = *event;
}

static unsigned waits_reported; /* for records that are switched on, within a call */

void xfs_cost_unusual(unsigned why)
{
    waits_reported += why == XFT_OVERHEAD_DEVICE;
}

static uint64_t hooks_cost; /* ns, so far */

static atomic_uint cost_asked; /* how often */

uint64_t xfs_cost_spent_ns(void)
{
    atomic_fetch_add(&cost_asked, 1);
    return hooks_cost;
}

static _Atomic uint64_t calls_of[32]; /* by kind of event */

uint64_t xfs_cost_calls(uint8_t kind)
{
    return calls_of[kind];
}

static atomic_bool call_stays; /* a call stays in the driver */
static unsigned hold_tried, hold_held;

bool xfs_with_calls_held(void (*work)(void *), void *argument)
{
    hold_tried++;
    if (call_stays)
        return false;
    hold_held++;
    work(argument);
    return true;
}

static char names[4][64];
static uint32_t name_count;

uint32_t xfs_name(const char *text, size_t bytes)
{
    snprintf(names[name_count], sizeof names[0], "%.*s", (int)bytes, text);
    return ++name_count;
}

static uint64_t last_place;

uint32_t xfs_stack_of(uint64_t instruction)
{
    last_place = instruction;
    return 17;
}

/* What META says now. */
static struct {
    char key[32], value[512];
} meta[16];
#define METAS (sizeof meta / sizeof meta[0])

void xfs_meta_set(const char *key, const char *value)
{
    size_t i = 0;
    while (i < METAS - 1 && meta[i].key[0] && strcmp(meta[i].key, key) != 0)
        i++;
    snprintf(meta[i].key, sizeof meta[i].key, "%s", key);
    snprintf(meta[i].value, sizeof meta[i].value, "%s", value);
}

static const char *meta_of(const char *key)
{
    for (size_t i = 0; i < METAS; i++)
        if (strcmp(meta[i].key, key) == 0)
            return meta[i].value;
    return "";
}
#define timing_meta meta_of("timing")
#define why_meta meta_of("timing.why")

void xfs_check_failed(int *flag, const char *words)
{
    fail_msg("%s", words);
}

void xfs_count_device_lost(uint64_t n)
{
    lost += n;
}

uint64_t xfs_now_ns(void)
{
    return now;
}

const struct xfs_settings *xfs_settings(void)
{
    return &settings;
}

void xfs_log(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(said, sizeof said, format, ap);
    va_end(ap);
}

void xfs_verbose(const char *format, ...)
{
}

static const char *hidden = ""; /* a function that the copy lacks */

void *xfs_real_dlsym(void *handle, const char *name)
{
    return strcmp(name, hidden) == 0 ? NULL : dlsym(handle, name);
}

static int driver_version = 13000;

static int tell_driver_version(int *version)
{
    *version = driver_version;
    return 0;
}

/* Makes the loader look in one folder only, as it does for the simulated GPU: that of the stand-in
 * (its clock control serves as the simulated GPU's clock). */
static void *simulated_clock;
void *xfs_driver_symbol(const char *name)
{
    if (strcmp(name, "cuDriverGetVersion") == 0)
        return (void *)tell_driver_version;
    return strcmp(name, "xferscope_simgpu_now_ns") == 0 ? simulated_clock : NULL;
}

/* ---- fixtures -------------------------------------------------------------------------------- */

static struct fake_cupti *fake;
static void (*put)(const void *record, size_t bytes);

static int load_fake(void **state)
{
    void *copy = dlopen(FAKE_CUPTI, RTLD_NOW | RTLD_LOCAL);
    if (copy == NULL)
        return -1;
    struct fake_cupti *(*controls)(void) = (__typeof__(controls))dlsym(copy, "fake_cupti_controls");
    put = (__typeof__(put))dlsym(copy, "fake_cupti_record");
    simulated_clock = dlsym(copy, "cuptiGetTimestamp");
    fake = controls();
    fake->trace_now = xfs_now_ns;
    return 0;
}

/* The session's start, and the first call that can move data. */
static void begin(void)
{
    if (xfs_timing_start(NULL))
        xfs_timing_attach();
}

/* Runs the test that the argument names. */
static int run_one(const struct CMUnitTest *tests, size_t count, int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s NAME\n", argv[0]);
        return 2;
    }
    char filter[64];
    snprintf(filter, sizeof filter, "test_%s", argv[1]);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(tests[i].name, filter) == 0) {
            cmocka_set_test_filter(filter);
            return _cmocka_run_group_tests("timing", tests, count, NULL, NULL);
        }
    }
    fprintf(stderr, "%s: no test %s\n", argv[0], argv[1]);
    return 2;
}

/* The record of a copy to the device. */
static inline struct xcp_memcpy a_copy(uint32_t correlation)
{
    return (struct xcp_memcpy){
        .kind = XCP_ACTIVITY_MEMCPY,
        .copy_kind = XCP_COPY_HTOD,
        .src_kind = XCP_MEMORY_PINNED,
        .dst_kind = XCP_MEMORY_DEVICE,
        .flags = XCP_MEMCPY_ASYNC,
        .bytes = 4096,
        .start = 5000,
        .end = 6000,
        .device = 3,
        .stream = 7,
        .correlation = correlation,
        .copy_count = 1,
    };
}

#endif
