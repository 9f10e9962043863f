#define _GNU_SOURCE
#include "recorder.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "log.h"
#include "segments.h"

#define STACK_BYTES (1 << 20) /* elfutils walks nested debug information */
#define RETRY_S 1             /* after the file could not take a slab */
#define SYMBOLS_S 10          /* at exit, in real time: somebody is waiting */

static int said;

bool xfs_write_trouble_was_said(void)
{
    return __atomic_load_n(&said, __ATOMIC_RELAXED) != 0;
}

static void say_once(const char *what)
{
    if (xfs_once(&said))
        xfs_log("%s: %s; going on, and counting what is lost", what, strerrordesc_np(errno));
}

bool xfs_write_slab(struct xfs_recorder *recorder, const struct xft_slab *slab)
{
    struct xft_chunk chunk = {.lane = slab->lane,
                              .tid = slab->tid,
                              .first_seq = slab->first_seq,
                              .rows = slab->committed};
    if (chunk.rows == 0)
        return true;
    pthread_mutex_lock(&recorder->pack_lock);
    size_t n = xft_pack_events(&recorder->packer, &chunk, xft_slab_events(slab), recorder->packed,
                               recorder->packed_bytes);
    bool good = n > 0 && xfs_file_append(&recorder->file, recorder->packed, n);
    pthread_mutex_unlock(&recorder->pack_lock);
    if (!good)
        say_once("cannot write events");
    return good;
}

bool xfs_write_list(struct xfs_recorder *recorder, enum xft_segment_type type, const void *payload,
                    size_t bytes)
{
    size_t span = xft_segment_span(bytes);
    unsigned char *out =
        mmap(NULL, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (out == MAP_FAILED)
        return false;
    struct xft_segment head = xft_segment_make(type, 0, payload, bytes, bytes);
    memcpy(out, &head, sizeof head);
    memcpy(out + sizeof head, payload, bytes);
    bool good = xfs_file_append(&recorder->file, out, span);
    munmap(out, span);
    if (!good)
        say_once("cannot write to the trace");
    return good;
}

bool xfs_write_meta(struct xfs_recorder *recorder, const char *key, const char *value)
{
    char pair[8192];
    size_t a = strlen(key) + 1, b = strlen(value) + 1;
    if (a > sizeof pair - 1)
        return false;
    if (b > sizeof pair - a)
        b = sizeof pair - a;
    memcpy(pair, key, a);
    memcpy(pair + a, value, b);
    pair[a + b - 1] = '\0';
    return xfs_write_list(recorder, XFT_SEG_META, pair, a + b);
}

/* ---- the background thread -------------------------------------------------------------- */

static struct timespec after(time_t seconds)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += seconds;
    return at;
}

/* Lock held at entry and return, not while writing. */
static void write_one(struct xfs_recorder *recorder, struct xfs_slab *slab)
{
    struct xfs_lanes *lanes = &recorder->lanes;
    pthread_mutex_unlock(&lanes->lock);
    bool good = xfs_write_slab(recorder, slab->shared);
    pthread_mutex_lock(&lanes->lock);
    if (good) {
        xfs_lanes_release(lanes, slab);
        return;
    }
    xfs_lanes_unpop_full(lanes, slab); /* its events stay readable where they are */
    struct timespec at = after(RETRY_S);
    while (!recorder->closing && pthread_cond_timedwait(&recorder->work, &lanes->lock, &at) == 0)
        ;
}

static void resolve_symbols(struct xfs_recorder *recorder)
{
    if (!recorder->settings->symbols || recorder->stacks.numbers.count == 0)
        return;
    xfs_symbols_function *resolve = xfs_libraries_symbols();
    size_t size = 0;
    void *file = resolve ? xfs_file_map(&recorder->file, &size) : NULL;
    if (file == NULL) {
        xfs_log("%s; `xferscope record` adds names later",
                resolve ? "cannot read the trace back" : XFS_SYMBOLS_MODULE " not found");
        return;
    }
    resolve(file, size, NULL, &recorder->stop_symbols, &recorder->symbols,
            &recorder->symbols_bytes);
    munmap(file, size);
}

static void *run(void *argument)
{
    struct xfs_recorder *recorder = argument;
    struct xfs_lanes *lanes = &recorder->lanes;
    pthread_mutex_lock(&lanes->lock);
    while (!recorder->closing) {
        struct xfs_slab *slab = xfs_lanes_pop_full(lanes);
        if (slab)
            write_one(recorder, slab);
        else
            pthread_cond_wait(&recorder->work, &lanes->lock);
    }
    pthread_mutex_unlock(&lanes->lock);
    resolve_symbols(recorder);
    pthread_mutex_lock(&lanes->lock);
    recorder->writer_done = true;
    pthread_cond_signal(&recorder->done);
    pthread_mutex_unlock(&lanes->lock);
    return NULL;
}

void xfs_writer_start(struct xfs_recorder *recorder)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all); /* the program's handlers run in the program's threads */
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int error = pthread_create(&thread, &attributes, run, recorder);
    if (error == 0)
        pthread_setname_np(thread, "xferscope");
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    pthread_mutex_lock(&recorder->lanes.lock);
    recorder->writer_runs = error == 0;
    pthread_mutex_unlock(&recorder->lanes.lock);
    if (error != 0)
        xfs_log("cannot start a thread (%s): threads write their own events",
                strerrordesc_np(error));
}

bool xfs_writer_finish(struct xfs_recorder *recorder)
{
    struct timespec at = after(SYMBOLS_S);
    int error = 0;
    pthread_mutex_lock(&recorder->lanes.lock);
    recorder->closing = true;
    pthread_cond_signal(&recorder->work);
    while (recorder->writer_runs && !recorder->writer_done && error == 0)
        error = pthread_cond_timedwait(&recorder->done, &recorder->lanes.lock, &at);
    bool done = recorder->writer_done || !recorder->writer_runs;
    pthread_mutex_unlock(&recorder->lanes.lock);
    __atomic_store_n(&recorder->stop_symbols, 1, __ATOMIC_RELAXED);
    return done;
}
