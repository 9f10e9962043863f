/*
 * Finds libcupti. It is opened privately (RTLD_LOCAL) and never closed: CUPTI does not survive
 * being unloaded.
 *
 * If the process has already loaded a copy, only that one is used: two CUPTIs in one process
 * disturb each other. Otherwise those beside a loaded libcudart (a Python wheel brings its own),
 * then the loader's search path, then the directories of toolkits.
 */
#ifndef XFS_CUPTI_LOAD_H
#define XFS_CUPTI_LOAD_H

#include <stdbool.h>

#include "xferscope/cupti_abi.h"

struct xfs_cupti_search {
    void *(*symbol)(void *handle, const char *name); /* dlsym */
    const char *only_in; /* this directory and no other; NULL = as described above */
    /* Called for each copy found, until it returns true. */
    bool (*accept)(const struct xcp_library *library, const char *path, void *user);
    void *user;
};

/* True when a copy was accepted. Functions that a copy lacks are NULL in its library; a copy
 * without all of XCP_FUNCTIONS is skipped. Leaves the thread's dlerror() clear. */
bool xfs_cupti_find(const struct xfs_cupti_search *search);

/* Enables CUPTI's counters of managed memory, after cuInit: they are the last kind of record that
 * is enabled, when the process first uses managed memory. XCP_SUCCESS, or CUPTI's answer; *what:
 * the function that gave it. */
xcp_result xfs_managed_enable(const struct xcp_library *cupti, const char **what);

#endif
