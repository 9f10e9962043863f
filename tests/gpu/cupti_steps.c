/*
 * Attaching CUPTI step by step, each step at a moment of choice, without the recorder: which of
 * them crashes programs, when (docs/results). To be preloaded into tests/programs/races.cu, or into
 * any program for the moment "load".
 *
 * CUPTI_STEPS="MOMENT:STEPS ..." with MOMENT one of
 *   load    this library's constructor, before cuInit
 *   start   before cuInit, by the program
 *   init    after cuInit, before the first context
 *   copy    in the first thread that is about to copy; others that are about to copy wait for it
 *   alone   the same, and no context is in the making meanwhile
 *   away    in a thread of its own, up to CUPTI_STEPS_US microseconds after init
 * and STEPS, in this order, letters:
 *   s subscribe   t the clock   z zeroed buffers   b buffer callbacks   m records of copies
 *   k records of kernels   u counters of managed memory   c callbacks around copies
 * X instead: subscribed again and again by a profiler that comes and goes, for half a second.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/gpu/cupti_moments.h"
#include "xferscope/cupti_abi.h"
#include "preload/timing/cupti_load.h"

__attribute__((visibility("default"))) void at_moment(enum moment moment);

static struct xcp_library cupti;
static xcp_subscriber subscriber;
static pthread_rwlock_t contexts = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
static bool late_done, excluding;
static _Thread_local uint32_t seen;

/* ---- what CUPTI calls ---------------------------------------------------------------------- */

static void on_call(void *user, int domain, uint32_t call, const void *data)
{
    const struct xcp_callback_data *d = data;
    (void)user, (void)domain, (void)call;
    if (d->site == XCP_SITE_ENTER)
        seen = d->correlation;
}

static void requested(uint8_t **buffer, size_t *size, size_t *most)
{
    *size = 1 << 20;
    *buffer = aligned_alloc(64, *size);
    memset(*buffer, 0, *size);
    *most = 0;
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)context, (void)stream, (void)size, (void)valid;
    free(buffer);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- steps --------------------------------------------------------------------------------- */

static void say(char step, xcp_result result)
{
    if (result != XCP_SUCCESS)
        fprintf(stderr, "cupti_steps: %c: %d\n", step, result);
}

static xcp_result watch_calls(void)
{
    static const uint16_t calls[] = {
#define X(number, name) number,
#include "xferscope/cupti_calls.def"
#undef X
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        cupti.EnableCallback(1, subscriber, XCP_DOMAIN_DRIVER, calls[i]);
    return XCP_SUCCESS;
}

static xcp_result enable_copies(void)
{
    cupti.ActivityEnable(XCP_ACTIVITY_MEMCPY2);
    cupti.ActivityEnable(XCP_ACTIVITY_MEMSET);
    return cupti.ActivityEnable(XCP_ACTIVITY_MEMCPY);
}

static xcp_result promise_zeroed(void)
{
    uint8_t yes = 1;
    size_t bytes = sizeof yes;
    return cupti.ActivitySetAttribute(XCP_ATTRIBUTE_ZEROED_BUFFERS, &bytes, &yes);
}

/* Through the linker's cuptiSubscribe, so that a recorder beside us may notice. */
static void come_and_go(void)
{
    xcp_result (*subscribe)(xcp_subscriber *, xcp_callback_function, void *) =
        (__typeof__(subscribe))dlsym(RTLD_DEFAULT, "cuptiSubscribe");
    for (int i = 0; i < 5; i++) {
        xcp_subscriber own;
        xcp_result result = subscribe ? subscribe(&own, on_call, NULL) : XCP_ERROR_NOT_SUPPORTED;
        say('X', result);
        if (result != XCP_SUCCESS)
            return;
        cupti.ActivityRegisterCallbacks(requested, completed);
        cupti.ActivityEnable(XCP_ACTIVITY_MEMCPY);
        usleep(50000);
        cupti.ActivityFlushAll(XCP_FLUSH_FORCED);
        cupti.ActivityDisable(XCP_ACTIVITY_MEMCPY);
        cupti.Unsubscribe(own);
        usleep(50000);
    }
}

static void take_step(char step)
{
    const char *what;
    switch (step) {
    case 's':
        say(step, cupti.Subscribe(&subscriber, on_call, NULL));
        return;
    case 't':
        say(step, cupti.ActivityRegisterTimestampCallback(now_ns));
        return;
    case 'z':
        say(step, promise_zeroed());
        return;
    case 'b':
        say(step, cupti.ActivityRegisterCallbacks(requested, completed));
        return;
    case 'm':
        say(step, enable_copies());
        return;
    case 'k':
        say(step, cupti.ActivityEnable(XCP_ACTIVITY_KERNEL));
        return;
    case 'u':
        say(step, xfs_managed_enable(&cupti, &what));
        return;
    case 'c':
        say(step, watch_calls());
        return;
    case 'X':
        come_and_go();
    }
}

static bool keep(const struct xcp_library *library, const char *path, void *user)
{
    (void)path, (void)user;
    cupti = *library;
    return true;
}

/* The steps of a moment; false when it has none. */
static bool steps_at(const char *moment)
{
    const char *all = getenv("CUPTI_STEPS"), *at = all ? strstr(all, moment) : NULL;
    struct xfs_cupti_search search = {.symbol = dlsym, .accept = keep};
    size_t length = strlen(moment);
    if (at == NULL || at[length] != ':')
        return false;
    if (cupti.Subscribe == NULL && !xfs_cupti_find(&search)) {
        fprintf(stderr, "cupti_steps: no CUPTI\n");
        return false;
    }
    for (at += length + 1; *at && *at != ' '; at++)
        take_step(*at);
    return true;
}

/* ---- moments ------------------------------------------------------------------------------- */

static void *away(void *unused)
{
    const char *most = getenv("CUPTI_STEPS_US");
    srand((unsigned)getpid());
    usleep((unsigned)(rand() % (most ? atoi(most) : 1000000)));
    steps_at("away");
    return unused;
}

static void before_copy(void)
{
    pthread_mutex_lock(&once);
    if (!late_done && excluding) {
        pthread_rwlock_wrlock(&contexts);
        steps_at("alone");
        pthread_rwlock_unlock(&contexts);
    } else if (!late_done) {
        steps_at("copy");
    }
    late_done = true;
    pthread_mutex_unlock(&once);
}

static void initialised(void)
{
    const char *all = getenv("CUPTI_STEPS");
    pthread_t thread;
    excluding = all && strstr(all, "alone:");
    steps_at("init");
    if (all && strstr(all, "away:"))
        pthread_create(&thread, NULL, away, NULL);
}

void at_moment(enum moment moment)
{
    switch (moment) {
    case MOMENT_START:
        steps_at("start");
        return;
    case MOMENT_INITIALISED:
        initialised();
        return;
    case MOMENT_COPY:
        before_copy();
        return;
    case MOMENT_CONTEXT_BEGINS:
        if (excluding)
            pthread_rwlock_rdlock(&contexts);
        return;
    case MOMENT_CONTEXT_ENDS:
        if (excluding)
            pthread_rwlock_unlock(&contexts);
    }
}

__attribute__((constructor)) static void loaded(void)
{
    steps_at("load");
}
