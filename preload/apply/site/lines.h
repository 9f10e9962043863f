/*
 * Lines of the Python program that makes a call, as far as a plan names them.
 *
 * They are read as the recorder reads them (python.h), by a reader of our own, which begins with
 * the first call that asks. Its numbers stand for lines; of each it keeps what a plan can name, and
 * of those that one does name the file's path.
 */
#ifndef XFS_APPLY_LINES_H
#define XFS_APPLY_LINES_H

#include "preload/apply/site/plan.h"

#define XFS_LINES 32 /* of one stack */

/* Of the calling thread's stack those lines that the plan names, innermost first; their number. 0
 * also where Python cannot be read. Makes system calls; needs a large stack. */
unsigned xfs_lines_here(struct xfs_line lines[XFS_LINES]);

/* The path of such a line's file, cut at the length of one in the report (report.h). */
const char *xfs_line_path(const struct xfs_line *line);

void xfs_lines_after_fork(void);

#endif
