#include "probe/net/watch.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "probe/measure/budget.h"
#include "probe/options.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int own_rank;
static char output[4096], partial[4096 + sizeof(XFP_PARTIAL)], late[400];
static bool kept, ended, failed_to_keep;
static int pairs_measured, pairs_planned;
static uint64_t until_ns;

static sigset_t watched(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    return set;
}

void xfp_net_block_signals(void)
{
    sigset_t set = watched();

    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* With the lock held, which is never given back: nothing else writes any more. */
static void end_now(const char *why)
{
    if (own_rank)
        _exit(XFP_PROBE_PARTLY);
    if (!kept)
        xfc_print(stderr, "xferscope probe: %s: nothing was measured\n", why);
    else if (rename(partial, output))
        xfc_print(stderr, "xferscope probe: %s: %s has what was measured (%s: %s)\n", why, partial,
                  output, strerror(errno));
    else
        xfc_print(stderr,
                  "xferscope probe: %s: %s has what was measured (%d of %d pairs of ranks are "
                  "whole)\n",
                  why, output, pairs_measured, pairs_planned);
    _exit(kept ? XFP_PROBE_PARTLY : XFP_PROBE_FAILED);
}

static void *wait_for_signals(void *nothing)
{
    sigset_t set = watched();
    const struct timespec second = {.tv_sec = 1};

    for (;;) {
        int number = sigtimedwait(&set, NULL, &second);

        pthread_mutex_lock(&lock);
        if (ended)
            break;
        if (number == SIGTERM)
            end_now("ended by SIGTERM, which launchers send when another rank has ended");
        if (number > 0)
            end_now("interrupted");
        if (until_ns && xfp_wall_ns() > until_ns)
            end_now(late);
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_unlock(&lock);
    return nothing;
}

/* Only beside a regular file, or where none is. */
static void name_files(const char *name)
{
    struct stat there;

    if (!name || !strcmp(name, "-") || (!stat(name, &there) && !S_ISREG(there.st_mode)) ||
        strlen(name) >= sizeof(output))
        return;
    snprintf(output, sizeof(output), "%s", name);
    snprintf(partial, sizeof(partial), "%s" XFP_PARTIAL, name);
}

void xfp_net_watch(int rank, const char *name)
{
    pthread_t thread;

    own_rank = rank;
    if (!rank)
        name_files(name);
    if (!pthread_create(&thread, NULL, wait_for_signals, NULL))
        pthread_detach(thread);
}

void xfp_net_watch_keep(const struct xfp_profile *profile, int measured, int planned)
{
    char error[512];

    /* Without the lock: writing may take longer than a launcher waits before it kills, and what is
     * there stays whole until it is replaced. */
    if (*partial && !failed_to_keep)
        failed_to_keep = xfp_save(profile, partial, error, sizeof(error)) != 0;
    pthread_mutex_lock(&lock);
    kept |= *partial && !failed_to_keep;
    pairs_measured = measured;
    pairs_planned = planned;
    pthread_mutex_unlock(&lock);
}

void xfp_net_watch_until(uint64_t wall_ns, const char *whom)
{
    pthread_mutex_lock(&lock);
    until_ns = wall_ns;
    snprintf(late, sizeof(late), "%.300s: no answer, or far too slow", whom);
    pthread_mutex_unlock(&lock);
}

void xfp_net_watch_end(bool whole)
{
    sigset_t set = watched();

    pthread_mutex_lock(&lock);
    ended = true;
    if (whole && kept)
        unlink(partial);
    pthread_mutex_unlock(&lock);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

void xfp_net_watch_fail(const char *why)
{
    pthread_mutex_lock(&lock);
    end_now(why);
    _exit(XFP_PROBE_FAILED);
}
