/*
 * NVTX ranges as RANGE_BEGIN and RANGE_END events.
 *
 * How the recorder gets them. A program's NVTX (NVTX 3 is compiled into the program or its
 * libraries, NVTX 2 is libnvToolsExt.so.1) looks at its first call for a tool: it opens the library
 * that the environment variable NVTX_INJECTION64_PATH names and calls InitializeInjectionNvtx2 in
 * it. No version has another mechanism that is compiled in. So `xferscope record` sets the
 * variable, unless the user has set it: then that tool is attached instead. A program may have
 * several NVTX instances; each attaches separately, and all call the same functions.
 *
 * What a program sees. Push and pop return the same as without a tool. Domains and
 * registered strings, null without a tool, are handles.
 *
 * Before the process's first CUDA call nothing is recorded. The ranges open then are kept in memory
 * (XFS_EARLY_MOST per thread, and as many of the process), and are written when recording has
 * begun: a thread's before its next event. They begin with the recording.
 *
 * Texts are cut at XFT_NAME_MOST bytes. All functions keep errno.
 */
#ifndef XFS_NVTX_H
#define XFS_NVTX_H

#include "preload/nvtx/early.h"

/* Recording has begun: writes to META whether ranges can be recorded. */
void xfs_nvtx_session_start(void);

#endif
