/*
 * The rule of one instruction (unwind.h) in one 64-bit word; 0 is no rule.
 */
#ifndef XFS_RULE_H
#define XFS_RULE_H

#include <stdbool.h>
#include <stdint.h>

/* As DWARF numbers them (System V ABI, AMD64, figure 3.36). */
enum { XFS_REGISTER_RBP = 6, XFS_REGISTER_RSP = 7, XFS_REGISTER_RIP = 16 };

/* CFA: the caller's stack pointer, as it is when the call has returned. */
enum xfs_base { XFS_OF_SP, XFS_OF_FP, XFS_OF_CFA, XFS_UNCHANGED };

struct xfs_place {
    enum xfs_base base;
    int64_t offset;
};

struct xfs_frame_rule {
    struct xfs_place cfa;
    bool cfa_lies_there;  /* the CFA is stored at that place */
    struct xfs_place ra;  /* where the return address lies */
    struct xfs_place fp;  /* where the caller's rbp lies, or XFS_UNCHANGED */
    bool is_signal, ends; /* made by the kernel for a signal handler; has no caller */
};

/* Bits: 0 it is a rule, 1 ends, 2 is_signal, 3 cfa_lies_there, 4 to 9 the bases of cfa, ra and fp,
 * 10 to 33 cfa's offset, 34 to 43 ra's, 44 to 63 fp's, all in words of 8 bytes. */
enum {
    XFS_RULE_IS = 1 << 0,
    XFS_RULE_ENDS = 1 << 1,
    XFS_RULE_SIGNAL = 1 << 2,
    XFS_RULE_CFA_LIES = 1 << 3,
    XFS_RULE_CFA_BASE = 4,
    XFS_RULE_RA_BASE = 6,
    XFS_RULE_FP_BASE = 8,
    XFS_RULE_CFA_AT = 10,
    XFS_RULE_RA_AT = 34,
    XFS_RULE_FP_AT = 44
};

static inline int64_t xfs_rule_field(uint64_t rule, unsigned from, unsigned to)
{
    return ((int64_t)(rule << (64 - to)) >> (64 - to + from)) * 8;
}

static inline int64_t xfs_rule_cfa_offset(uint64_t rule)
{
    return xfs_rule_field(rule, XFS_RULE_CFA_AT, XFS_RULE_RA_AT);
}

static inline int64_t xfs_rule_ra_offset(uint64_t rule)
{
    return xfs_rule_field(rule, XFS_RULE_RA_AT, XFS_RULE_FP_AT);
}

static inline int64_t xfs_rule_fp_offset(uint64_t rule)
{
    return xfs_rule_field(rule, XFS_RULE_FP_AT, 64);
}

static inline enum xfs_base xfs_rule_base(uint64_t rule, unsigned at)
{
    return (enum xfs_base)(rule >> at & 3);
}

/* The usual form: the CFA is a register plus an offset, the return address lies below it, and the
 * caller's rbp lies there too or is unchanged. */
_Static_assert((XFS_OF_CFA & XFS_UNCHANGED) == 2 && !((XFS_OF_SP | XFS_OF_FP) & 2),
               "one bit tells them apart");
#define XFS_RULE_PLAIN_MASK                                                                        \
    (0xfull | 3ull << XFS_RULE_RA_BASE | 2ull << XFS_RULE_FP_BASE |                                \
     ((1ull << XFS_RULE_FP_AT) - (1ull << XFS_RULE_RA_AT)))
#define XFS_RULE_PLAIN                                                                             \
    (XFS_RULE_IS | (uint64_t)XFS_OF_CFA << XFS_RULE_RA_BASE | 2ull << XFS_RULE_FP_BASE |           \
     ((1ull << XFS_RULE_FP_AT) - (1ull << XFS_RULE_RA_AT)))

static inline bool xfs_rule_is_plain(uint64_t rule)
{
    return (rule & XFS_RULE_PLAIN_MASK) == XFS_RULE_PLAIN;
}

/* The rule of a frame whose description is not supported: the walk ends there. */
#define XFS_RULE_LAST ((uint64_t)(XFS_RULE_IS | XFS_RULE_ENDS))

#endif
