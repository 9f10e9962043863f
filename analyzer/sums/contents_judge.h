/*
 * Contents of one process: what has moved and where it lies, private to contents*.c.
 */
#ifndef XFA_CONTENTS_JUDGE_H
#define XFA_CONTENTS_JUDGE_H

#include "analyzer/sums/contents.h"
#include "analyzer/sums/given.h"

enum xfa_content_what {
    XFA_CONTENT_HASH,
    XFA_CONTENT_ACCESS, /* of the host, to the source of the transfer */
    XFA_CONTENT_TRANSFER,
    XFA_CONTENT_WRITE
};

/* Something of the time at hand. */
struct xfa_content {
    uint64_t dst, src, bytes;
    uint64_t hash, width; /* of a HASH: of what was hashed, and how many bytes */
    uint64_t since;       /* of an ACCESS, and of its transfer: when the call of the copy began
                             since which the host wrote nothing there; 0: not known */
    uint64_t transfer;    /* its number in the process */
    double achieved_ns;
    uint32_t row;    /* number */
    uint32_t number; /* in the order they came */
    int16_t device;  /* to which it goes */
    int16_t gpu;     /* the run's number of it, of the one it comes from in a copy to the host */
    uint8_t what, direction;
    bool by_device;  /* achieved_ns is */
    bool blocks;     /* the host went on when it was done */
    bool written;    /* of the same: the host did write there */
    bool managed;    /* the device's side is managed memory */
    uint8_t shape;   /* enum xfa_shape */
    uint64_t reach;  /* bytes, on the host */
    uint64_t own_ns; /* of the thread, until the call: xfa_contents_own() */
    int32_t tid;
};

/* A transfer with a hash; or, width 0, one to the host without. */
struct xfa_moved {
    uint64_t hash, width, bytes, device_address;
    uint64_t ns, transfer;
    uint32_t row;
    uint32_t root; /* index of the first with the same bytes for sure: the host has not written them
                      since; its own where that is not known */
    int16_t gpu;
    bool managed, linear;
    int32_t tid;     /* of one to the host: the thread that called it, or then waited for it; */
    uint64_t own_ns; /* and that thread's own time until then */
    bool presumed;   /* its hash is that of copies before it: contents_presumed.c */
};

/* What was found of a transfer. */
struct xfa_found {
    enum xfa_same same;
    enum xfa_evidence evidence;
    uint32_t earlier; /* index of `moved`; UINT32_MAX: none */
    bool copied;      /* the device has to copy it to that place */
    bool straight;    /* known by the host's time alone: it had none to change the bytes */
};

struct xfa_contents_process {
    bool watched;    /* hashes were asked for, or came */
    bool found;      /* hashes came, or what the host did, or something moved again */
    uint64_t hashes; /* that came */
    uint64_t transfers;
    uint64_t time;
    struct xfa_content *items; /* of that time */
    size_t count, capacity;
    uint32_t process;        /* number */
    struct xfa_moved *moved; /* in the order of calls */
    size_t moved_count, moved_capacity;
    struct xfa_table met;
    struct xfa_memory sent, fetched; /* items: indexes of `moved`; that wrote, that read there */
    struct xfa_memory on_its_way; /* host memory that a copy writes which was not waited for yet */
    struct xfa_memory arrived;    /* of such copies that were waited for since */
    struct xfa_table threads;     /* own times: contents_judge.c */
    struct xfa_given given;
    struct xfa_hash_places {
        struct xfa_table table;
        struct xfa_unsure *unsure; /* of all places, linked */
        size_t count, capacity;
        uint32_t unused; /* index + 1 of one that waits for nothing any more */
    } places;            /* contents_presumed.c */
};

void xfa_contents_begin(struct xfa_contents_process *now, const struct xfa_process *process);
void xfa_contents_forget(struct xfa_contents_process *now);

/* The host has waited for something: what was on its way to it may be there, and changed. */
void xfa_contents_waited(struct xfa_contents_process *now, int32_t tid, uint64_t own_ns);

/* An event of the thread's, in the order of their beginnings: its time between its calls so far. */
uint64_t xfa_contents_own(struct xfa_contents_process *now, const struct xfa_event *event);

/* The host has not read what a copy brought to it, whose call began then, but sent it back. */
void xfa_contents_unread(struct xfa_contents *contents, uint64_t copied_ns, uint64_t bytes);

/* A transfer, or a write of memory. hash: NULL = none. */
void xfa_contents_judge(struct xfa_contents *contents, const struct xfa_content *item,
                        const struct xfa_content *hash);

/* ---- contents_found.c ------------------------------------------------------------------------ */

/* Counts and marks it. */
void xfa_contents_found(struct xfa_contents *contents, const struct xfa_found *found,
                        const struct xfa_content *item, bool sampled);

/* ---- contents_presumed.c ---------------------------------------------------------------------
 *
 * Hashing keeps to its budget, so that of many copies from and to the same memory some have no
 * hash. A copy without one, between two with the same hash, is presumed to have carried the same
 * bytes: where of the hashed copies of that place XFA_PRESUMED_LEAST at least were like the one
 * before, and XFA_PRESUMED_TIMES as many as were not. That is likely, never sure: what is found of
 * such copies is XFA_UNSEEN at best. It is known when the next hashed copy comes; those behind the
 * last one stay without. */

#define XFA_PRESUMED_LEAST 2
#define XFA_PRESUMED_TIMES 4

void xfa_hash_places_begin(struct xfa_hash_places *places);
void xfa_hash_places_free(struct xfa_hash_places *places);

/* The hash of the last copy of that place that had one; false: there was none. */
bool xfa_hash_places_hash(const struct xfa_hash_places *places, const struct xfa_content *item,
                          struct xfa_content *hash);

/* What was found of a copy without a hash, if the next of its place has that hash again. */
void xfa_hash_places_unsure(struct xfa_hash_places *places, const struct xfa_content *item,
                            const struct xfa_found *found);

/* A copy has a hash: those before it that have none are counted, or not. */
void xfa_hash_places_hashed(struct xfa_contents *contents, const struct xfa_content *item,
                            const struct xfa_content *hash);

/* ---- contents_constant.c --------------------------------------------------------------------- */

#define XFA_CONSTANT_SIZES 512                /* that are looked at, of a run */
#define XFA_CONSTANT_MOST ((uint64_t)4 << 30) /* bytes hashed for that; beyond it is not known */

/* Is that the hash of so many bytes, `width` of them hashed, that are all of one value? */
bool xfa_is_constant(struct xfa_constants *constants, uint64_t bytes, uint64_t width,
                     uint64_t hash);
void xfa_constants_free(struct xfa_constants *constants);

#endif
