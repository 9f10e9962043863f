/*
 * What came of apply's sites, in the trace: META pairs, as recording ends
 * (docs/trace-format.md).
 */
#ifndef XFS_APPLY_NOTED_H
#define XFS_APPLY_NOTED_H

/* From here on it is noted. Once, where anything is carried out. */
void xfs_noted_watch(void);

#endif
