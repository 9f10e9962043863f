/*
 * Transfers whose bytes had moved before, by the hashes of what they moved (CONTENT events).
 *
 * The transfers of a process that have a hash are gone through in the order of their calls. One is
 *
 *     repeated    to the device: the last copy that wrote this memory brought the same bytes;
 *                 to the host: the same bytes were fetched from the same address before, and they
 *                 have not moved since
 *     returned    the last time these bytes moved was the other way: fetched, and sent back as they
 *                 were; or sent, and fetched back as they were. Without a hash: what is sent was
 *                 on its way to that very place of the host, and no wait had covered it; or it
 *                 had just arrived there, and the thread that waited had no time to read as much
 *     duplicate   to the device: the same bytes were sent to it before, to another place or one
 *                 that was written since
 *     constant    to the device: all bytes have one value, or all words of two or four bytes
 *                 (contents_constant.c knows which)
 *
 * each of them at most one of these, and none when a kernel was given the memory to write between
 * (given.h): then the transfer was needed. "The same" is the same number of bytes with the same
 * hash; by samples, when only these were hashed: then only probably.
 *
 * Where samples were the same and the kernel's page bits say, too, that the host has not written
 * the memory since (HOST_ACCESS), it is sure; where they say that it has, samples do not count.
 *
 * A transfer without a hash between two of the same place that have the same one is presumed to
 * have it, too (contents_judge.h).
 *
 * Of a process the first XFA_MAX_CONTENTS hashes are kept; further ones are not compared, and
 * counted. Without CONTENT events nothing is kept.
 */
#ifndef XFA_CONTENTS_H
#define XFA_CONTENTS_H

#include "analyzer/base/marks.h"
#include "analyzer/pass/observer.h"
#include "analyzer/sums/figures.h"

#define XFA_MAX_CONTENTS (1u << 20)
#define XFA_LEAST_CONTENT 1024 /* bytes; smaller transfers are alike by chance, and cheap */

enum xfa_same {
    XFA_SAME_NONE,
    XFA_SAME_REPEATED,
    XFA_SAME_RETURNED,
    XFA_SAME_DUPLICATE,
    XFA_SAME_CONSTANT,
    XFA_SAMES
};

/* How well it is known that such a transfer could be left out. */
enum xfa_evidence {
    XFA_SURE,    /* no kernel was given the memory to write in between */
    XFA_UNSEEN,  /* what kernels were given was not recorded, or its hash is presumed */
    XFA_PERHAPS, /* one was given it, whether to write is not known; or other copies wrote there */
    XFA_NEEDED   /* it was needed; the number of the others */
};

/* Transfers of one row whose bytes had moved before. */
struct xfa_same_sum {
    struct xfa_timed_sum moved;
    uint64_t sampled;  /* known by samples only */
    uint64_t presumed; /* XFA_UNSEEN as it had no hash: copies of the same bytes from and to the
                          same memory came before and after it */
    uint64_t straight; /* XFA_UNSEEN: sent back before the host had the time to read it */
    uint64_t by_evidence[XFA_NEEDED];
    uint32_t earlier; /* number + 1 of the row where the first of them had moved
                         before */
};
struct xfa_same_row {
    struct xfa_same_sum same[XFA_SAMES]; /* by enum xfa_same; the first is not used */
};

/* What is known of the host's accesses (HOST_ACCESS events; META host_access). */
struct xfa_host_sum {
    bool asked; /* in some process, which was slower then */
    uint64_t known,
        skipped; /* large copies: it is known what the host did with their memory, or not */
    bool skipped_unknown; /* a killed process has not counted them */
    double ns;            /* what it took, threads added up */
    char *why;            /* one line, when it was asked for and could not be had */
};

/* What is known of kernels (META verify): record --verify. */
struct xfa_verify_sum {
    bool asked;              /* in some process, which was much slower then */
    uint64_t launches, kept; /* looked at; of these, that left something copied as it was */
    uint64_t skipped;        /* copies and launches */
    double ns;
    char *why; /* as above */
};

struct xfa_contents {
    bool whole, on_samples;    /* META content: asked for in some process */
    bool by_default;           /* the same of uploads alone (auto) */
    uint64_t hashes, sampled;  /* CONTENT events; those of samples */
    double hash_ns;            /* what hashing took, threads added up */
    uint64_t not_compared;     /* hashes over the limit */
    uint64_t skipped;          /* transfers left without a hash, as far as that is known: */
    bool skipped_unknown;      /* a killed process has not counted them */
    char *why;                 /* one line, when it was asked for and could not be had */
    struct xfa_same_row *rows; /* by row number */
    size_t row_count, row_capacity;
    /* Each of these transfers; those in whose stead the device would have to copy the bytes to
     * that place; and copies to the host that fetched what was then only sent back. */
    struct xfw_marks marks[XFA_SAMES][XFA_NEEDED];
    struct xfw_marks copied;
    struct xfw_marks fetched[XFA_NEEDED];
    struct xfa_host_sum host;
    struct xfa_verify_sum verify;
    struct xfa_constants {
        struct xfa_table sizes; /* contents_constant.c */
        uint64_t hashed;
    } constants;
    bool touched;                     /* by the process before: something was found in it */
    struct xfa_contents_process *now; /* contents_judge.h: of the process at hand */
};

struct xfa_observer xfa_contents_observer(struct xfa_contents *contents); /* starts zeroed */
void xfa_contents_free(struct xfa_contents *contents);

/* Of a row; NULL when none of its transfers was found to be one of these. */
const struct xfa_same_row *xfa_contents_row(const struct xfa_contents *contents, uint32_t row);

/* ---- device memory as copies left it; contents_judge.c --------------------------------------- */

#define XFA_MAX_STRETCHES 8192 /* when there are more all are forgotten, and it starts anew */

struct xfa_stretch {
    uint64_t start, end;
    uint32_t item; /* that wrote it */
};

struct xfa_memory {
    struct xfa_stretch *stretches; /* ascending, apart from each other */
    size_t count, capacity;
};

/* What wrote exactly [start, end) and is still there: index of the item, or UINT32_MAX. */
uint32_t xfa_memory_find(const struct xfa_memory *memory, uint64_t start, uint64_t end);
/* Something was written there. item UINT32_MAX: it is not known what, or it is gone. */
void xfa_memory_write(struct xfa_memory *memory, uint64_t start, uint64_t end, uint32_t item);

#endif
