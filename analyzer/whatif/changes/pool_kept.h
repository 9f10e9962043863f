/*
 * A change: memory pools keep what was freed (cudaMemPoolAttrReleaseThreshold), instead of giving
 * it back at the next wait: a call that allocates takes what the profile has for memory that was
 * kept (alloc/kept), where as many bytes had been freed (at worst twice as many, since what was
 * kept may lie in pieces); a wait behind frees takes as long behind the work as those with none
 * before them. At worst a quarter less is saved. It concerns all pools of the run.
 */
#ifndef XFW_POOL_KEPT_H
#define XFW_POOL_KEPT_H

#include "analyzer/whatif/changes/changes.h"

struct xfw_change *xfw_change_keep_pool(const struct xfa_analysis *analysis);

#endif
