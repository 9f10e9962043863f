#include "tools/xferscope/run_notes.h"

#include <stdio.h>
#include <string.h>

void run_notes_open(struct run_notes *notes, const char *directory, const char *started)
{
    notes->page = given_memory(XFS_NOTES_NAME, sizeof *notes->page, notes->run);
    if (!notes->page)
        return;
    snprintf(notes->page->directory, sizeof notes->page->directory, "%s", directory);
    snprintf(notes->page->started, sizeof notes->page->started, "%s", started);
}

void run_notes_read(const struct run_notes *notes, struct run_reported *reported)
{
    memset(reported, 0, sizeof *reported);
    if (!notes->page)
        return;
    reported->begun = __atomic_load_n(&notes->page->begun, __ATOMIC_ACQUIRE);
    reported->refused = __atomic_load_n(&notes->page->refused, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&notes->page->why_state, __ATOMIC_ACQUIRE) != XFS_WHY_THERE)
        return;
    memcpy(reported->why, notes->page->why, sizeof reported->why - 1);
}
