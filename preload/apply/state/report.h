/*
 * What the processes of `xferscope apply` tell it: sites, and what came of each.
 *
 * It lies in memory of the command (a memfd), which processes find through /proc by
 * XFERSCOPE_APPLY_REPORT=PID.DESCRIPTOR.RANDOM, as record's notes (preload/record/notes.h): no
 * descriptor is inherited, no file is made, what a killed process did is in it. A process that does
 * not find it keeps its own in memory of its own, and tells nobody.
 *
 * Fields are changed with atomic operations; a site is there once its state is XFS_REPORT_THERE.
 */
#ifndef XFS_APPLY_REPORT_H
#define XFS_APPLY_REPORT_H

#include <stdint.h>

#define XFS_REPORT_NAME "xferscope-apply-" /* of the memfd, before RANDOM */
#define XFS_REPORT_SITES 512
#define XFS_REPORT_MODULES 128
#define XFS_REPORT_FRAMES 12
#define XFS_REPORT_PATH 256

enum xfs_report_state { XFS_REPORT_FREE, XFS_REPORT_BEING_WRITTEN, XFS_REPORT_THERE };

/* Why large copies were left as they were asked for, apart from what a site's trials said. */
enum xfs_report_left {
    XFS_LEFT_NOT_PAGEABLE, /* neither end is pageable memory, or one is not known */
    XFS_LEFT_CONTEXT,      /* another context's stream, another device's memory, a capture */
    XFS_LEFT_TOO_LITTLE,   /* all of them together do not pay for a start */
    XFS_LEFT_NO_CORES,     /* the program uses all of its processors */
    XFS_LEFT_NO_MEMORY,    /* none could be page-locked */
    XFS_LEFT_BUSY,         /* another copy was under way */
    XFS_LEFT_FAILED,       /* an attempt failed and was made again as asked */
    XFS_LEFT_ORDER,        /* the legacy default stream orders more than streams.h follows */
    XFS_LEFT_COUNT
};

/* What threads' own streams had of the legacy default stream's work, but for copies (own.h). */
enum xfs_report_own {
    XFS_OWN_KERNELS,
    XFS_OWN_FILLS,
    XFS_OWN_JOINED,    /* times that the legacy default stream was made to wait for all of them */
    XFS_OWN_CHECKED,   /* kernels that were looked at (beside.h) */
    XFS_OWN_DIFFERENT, /* of these, that changed other memory than they were given */
    XFS_OWN_COUNT
};

struct xfs_report_frame {
    uint32_t module; /* index + 1 of `modules`; 0: not known */
    uint32_t python; /* 1: a line of a Python file */
    uint64_t offset; /* of the return address, in the module's file; or the line */
};

struct xfs_report_site {
    uint32_t state; /* enum xfs_report_state */
    int32_t pid;
    uint8_t class;     /* enum xfs_apply_class */
    uint8_t direction; /* enum xft_direction */
    uint8_t verdict;   /* enum xfs_verdict, of the copies that came last */
    uint8_t frames;
    uint16_t step; /* of the plan; 0: it has none of this class here */
    uint16_t reserved;
    uint64_t asked, asked_bytes; /* operations that the class looked at */
    uint64_t done, done_bytes;   /* of these, carried out by us */
    uint64_t compared_bytes;     /* of these, where it is known what they would have taken: */
    uint64_t done_ns;            /* what they took */
    uint64_t instead_ns;         /* what they would have taken, by the medians of the trials */
    uint64_t checked, different; /* compared byte by byte */
    uint64_t moved_bytes;        /* of placement: pageable memory */
    uint64_t no_room;            /* of prefetch: the GPU had no room for it */
    struct xfs_report_frame frame[XFS_REPORT_FRAMES]; /* innermost first, this library's left out */
};

/* A kernel that --check looked at: by which arguments it may write, and wrote. Bit k: the one of
 * number k, from 0 on. */
#define XFS_REPORT_KERNELS 64
#define XFS_REPORT_KERNEL_CHARS 256

struct xfs_report_kernel {
    uint32_t state;  /* enum xfs_report_state */
    uint32_t looked; /* launches */
    uint64_t given, changed;
    char name[XFS_REPORT_KERNEL_CHARS];
};

struct xfs_report {
    uint32_t bytes; /* of this structure: another version's is not read */
    uint32_t modules_used, sites_used;
    uint32_t threads, started;     /* the most that copied; processes that started any */
    uint64_t locked_bytes;         /* the most page-locked memory of a process */
    uint64_t left[XFS_LEFT_COUNT]; /* operations, by enum xfs_report_left */
    uint64_t own[XFS_OWN_COUNT];   /* by enum xfs_report_own */
    uint32_t module_state[XFS_REPORT_MODULES];
    char modules[XFS_REPORT_MODULES][XFS_REPORT_PATH];
    struct xfs_report_site sites[XFS_REPORT_SITES];
    struct xfs_report_kernel kernels[XFS_REPORT_KERNELS];
};

/* ---- a process's side ------------------------------------------------------------------------ */

/* The command's memory, or the process's own; NULL when there is none. Makes system calls the
 * first time. */
struct xfs_report *xfs_report(void);

/* A place for a site, not there yet; NULL: all are used. */
struct xfs_report_site *xfs_report_add_site(struct xfs_report *report);

/* Index + 1 of a path, cut at its length; 0: all are used. */
uint32_t xfs_report_module(struct xfs_report *report, const char *path);

void xfs_report_left(enum xfs_report_left why);

/* Once it has started. */
void xfs_report_own(enum xfs_report_own what, uint64_t count);

/* One thread at a time. Names that are longer, and more kernels, are left out. */
void xfs_report_kernel(const char *name, uint64_t given, uint64_t changed);

void xfs_report_started(unsigned threads, uint64_t locked_bytes);

#endif
