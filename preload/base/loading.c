#include "preload/base/loading.h"

#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "preload/base/attributes.h"
#include "preload/base/pause.h"

#define ROUNDS 20000 /* of xfs_pause(): 2 s */

static atomic_int loads, forks; /* in progress */
static XFS_TLS int own;         /* nested loads of this thread */

/* Loads of this thread are not waited for: a constructor of the library forks, and the load would
 * never end. */
static void before_fork(void)
{
    atomic_fetch_add(&forks, 1);
    for (int i = 0; i < ROUNDS && atomic_load(&loads) > own; i++)
        xfs_pause();
}

static void in_parent(void)
{
    atomic_fetch_sub(&forks, 1);
}

static void in_child(void)
{
    atomic_store(&forks, 0);
    atomic_store(&loads, own);
}

/* Early: a fork that has begun runs no handler that is registered from then on. */
static __attribute__((constructor)) void watch_forks(void)
{
    static atomic_bool watched;
    if (!atomic_exchange(&watched, true))
        pthread_atfork(before_fork, in_parent, in_child);
}

void xfs_loading_begin(void)
{
    watch_forks();
    /* First the claim, then the check: a fork either sees the claim or is seen. */
    atomic_fetch_add(&loads, 1);
    for (int i = 0; own == 0 && i < ROUNDS && atomic_load(&forks) > 0; i++) {
        atomic_fetch_sub(&loads, 1);
        xfs_pause();
        atomic_fetch_add(&loads, 1);
    }
    own++;
}

void xfs_loading_end(void)
{
    own--;
    atomic_fetch_sub(&loads, 1);
}

int xfs_walk_loaded(int (*visit)(struct dl_phdr_info *info, size_t size, void *user), void *user)
{
    xfs_loading_begin();
    int result = dl_iterate_phdr(visit, user);
    xfs_loading_end();
    return result;
}
