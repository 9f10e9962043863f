#include "preload/intercept/captures.h"

#include <pthread.h>
#include <stdatomic.h>

#include "preload/base/attributes.h"
#include "preload/base/check.h"
#include "preload/intercept/classify.h"

#define MOST 256

struct capture {
    xcu_stream stream;
    const void *thread; /* of a default stream; NULL: the stream has a handle of its own */
    xcu_context context;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct capture captures[MOST];
static int known;
static atomic_int count; /* in the table; those for which it had no room */

static struct capture capture_of(xcu_stream stream, bool per_thread)
{
    static XFS_TLS char own;
    bool default_of_thread = stream == XCU_STREAM_PER_THREAD || (stream == NULL && per_thread);
    return (struct capture){
        .stream = default_of_thread ? NULL : stream,
        .thread = default_of_thread ? &own : NULL,
    };
}

/* Lock held. */
static bool remove_one(struct capture which)
{
    for (int i = 0; i < known; i++) {
        if (captures[i].stream != which.stream || captures[i].thread != which.thread)
            continue;
        captures[i] = captures[--known];
        atomic_fetch_sub(&count, 1);
        return true;
    }
    return false;
}

void xfs_capture_begun(xcu_stream stream, bool per_thread, int status)
{
    if (status != XCU_SUCCESS)
        return;
    struct capture begun = capture_of(stream, per_thread);
    begun.context = xfs_stream_context(begun.stream);
    pthread_mutex_lock(&lock);
    if (known < MOST)
        captures[known++] = begun;
    atomic_fetch_add(&count, 1);
    pthread_mutex_unlock(&lock);
}

void xfs_capture_ended(xcu_stream stream, bool per_thread, int status)
{
    if (status != XCU_SUCCESS && xfs_stream_in_capture(stream, per_thread))
        return;
    pthread_mutex_lock(&lock);
    bool found = remove_one(capture_of(stream, per_thread));
    if (!found && status == XCU_SUCCESS &&
        XFS_EXPECT(atomic_load(&count) > known, "a capture ended that was not seen to begin"))
        atomic_fetch_sub(&count, 1);
    pthread_mutex_unlock(&lock);
}

void xfs_capture_stream_gone(xcu_stream stream)
{
    if (atomic_load_explicit(&count, memory_order_relaxed) == 0)
        return;
    pthread_mutex_lock(&lock);
    remove_one((struct capture){.stream = stream});
    pthread_mutex_unlock(&lock);
}

/* ---- contexts ------------------------------------------------------------------------------- */

static XFS_TLS xcu_context ending; /* NULL: none, or nothing is captured */

void xfs_captures_context_ends(xcu_context context)
{
    ending = xfs_captures_now() > 0 ? context : NULL;
}

void xfs_captures_primary_ends(int device)
{
    ending = NULL;
    if (xfs_captures_now() > 0)
        ending = xfs_primary_context(device == XFS_CURRENT_DEVICE ? xfs_current_device() : device);
}

void xfs_captures_context_ended(int status)
{
    xcu_context gone = status == XCU_SUCCESS ? ending : NULL;
    ending = NULL;
    if (gone == NULL)
        return;
    pthread_mutex_lock(&lock);
    for (int i = known - 1; i >= 0; i--) {
        if (captures[i].context != gone)
            continue;
        captures[i] = captures[--known];
        atomic_fetch_sub(&count, 1);
    }
    pthread_mutex_unlock(&lock);
}

void xfs_captures_primary_released(int device, int status)
{
    if (ending && xfs_has_primary_context(device))
        ending = NULL;
    xfs_captures_context_ended(status);
}

int xfs_captures_now(void)
{
    return atomic_load_explicit(&count, memory_order_relaxed);
}

void xfs_captures_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    known = 0;
    atomic_store(&count, 0);
}
