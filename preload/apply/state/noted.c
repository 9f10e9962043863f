#include "preload/apply/state/noted.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "preload/apply/state/classes.h"
#include "preload/apply/state/report.h"
#include "preload/record/events.h"
#include "preload/record/life.h"

static void note(unsigned number, const struct xfs_report_site *site)
{
    char key[32], value[256];
    const char *class = xfs_class_word(site->class);
    snprintf(key, sizeof key, "apply.%u", number);
    snprintf(value, sizeof value,
             "%s %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
             " %" PRIu64,
             class ? class : "?", site->step, site->asked, site->done, site->done_bytes,
             site->done_ns, site->instead_ns, site->checked, site->different);
    xfs_meta_set(key, value);
}

static void note_all(void)
{
    const struct xfs_report *report = xfs_report();
    unsigned number = 0;
    for (uint32_t i = 0; report && i < report->sites_used && i < XFS_REPORT_SITES; i++) {
        const struct xfs_report_site *site = &report->sites[i];
        if (__atomic_load_n(&site->state, __ATOMIC_ACQUIRE) == XFS_REPORT_THERE &&
            site->pid == getpid() && site->asked > 0)
            note(++number, site);
    }
}

void xfs_noted_watch(void)
{
    xfs_before_the_end = note_all;
}
