/*
 * record's side of preload/record/notes.h: what the processes of the run report apart from their
 * traces.
 */
#ifndef XFERSCOPE_RUN_NOTES_H
#define XFERSCOPE_RUN_NOTES_H

#include <stddef.h>
#include <stdint.h>

#include "preload/record/notes.h"
#include "tools/xferscope/given_memory.h"

struct run_notes {
    char run[GIVEN_MEMORY_NAME]; /* XFERSCOPE_RUN: no other run has it */
    struct xfs_notes *page;      /* NULL when there can be none */
};

/* What the processes reported: 0 and "" when they reported nothing, or could not. */
struct run_reported {
    uint32_t begun;                /* processes that began to record in the run directory */
    uint32_t refused;              /* processes that could not record */
    char why[XFS_NOTES_WHY_BYTES]; /* of the first of these */
};

/* `directory`: of the run, absolute. `started`: for META. Lives until this process ends. */
void run_notes_open(struct run_notes *notes, const char *directory, const char *started);

void run_notes_read(const struct run_notes *notes, struct run_reported *reported);

#endif
