#include "preload/record/recorder.h"

#include "preload/base/attributes.h"
#include "preload/base/pause.h"
#include "preload/base/sandbox.h"

#define WAIT_NS 2000000000u   /* awake */
#define SLEEP_NS 60000000000u /* asleep: a machine may be slow */

bool xfs_writer_wait(const struct xfs_recorder *recorder, uint64_t *since)
{
    xfs_pause();
    uint64_t now = xfs_monotonic_ns();
    if (*since == 0)
        *since = now;
    uint64_t most = xfs_may_call_kernel() ? SLEEP_NS : WAIT_NS;
    return now - *since < most && !atomic_load(&recorder->lanes.stuck) &&
           atomic_load(&recorder->ending) < XFS_ENDING_ASKED;
}

enum { NOTHING_ASKED, ASKED, TAKEN, DONE };

static XFS_TLS bool is_writer;

void xfs_writer_here(void)
{
    is_writer = true;
}

void xfs_writer_wake(struct xfs_recorder *recorder)
{
    if (xfs_may_call_kernel())
        sem_post(&recorder->wake);
}

/* Work that has been begun is waited for without a limit. */
static bool wait_for_work(struct xfs_recorder *recorder)
{
    atomic_int *state = &recorder->asked.state;
    uint64_t since = 0;
    for (int asked; atomic_load(state) != DONE;) {
        asked = ASKED;
        if (!xfs_writer_wait(recorder, &since) &&
            atomic_compare_exchange_strong(state, &asked, NOTHING_ASKED))
            return false;
    }
    atomic_store(state, NOTHING_ASKED);
    return true;
}

bool xfs_writer_do(struct xfs_recorder *recorder, void (*work)(void *), void *argument)
{
    struct xfs_asked *asked = &recorder->asked;
    uint64_t since = 0;
    if (is_writer || !atomic_load(&recorder->writer_runs)) {
        work(argument);
        return true;
    }
    while (atomic_flag_test_and_set(&asked->taken))
        if (!xfs_writer_wait(recorder, &since))
            return false;
    asked->work = work;
    asked->argument = argument;
    atomic_store(&asked->state, ASKED);
    xfs_writer_wake(recorder);
    bool done = wait_for_work(recorder);
    atomic_flag_clear(&asked->taken);
    return done;
}

void xfs_writer_serve(struct xfs_recorder *recorder)
{
    int asked = ASKED;
    if (!atomic_compare_exchange_strong(&recorder->asked.state, &asked, TAKEN))
        return;
    recorder->asked.work(recorder->asked.argument);
    atomic_store(&recorder->asked.state, DONE);
}
