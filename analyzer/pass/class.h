/*
 * Classes: transfers that are alike in all that a figure or a remedy may depend on. A class belongs
 * to a row, which is what is shown: call site, function, direction, kinds and places of memory.
 *
 * Both are of the run, not of a process, and numbered from 0 in the order they were met: what is
 * kept per class lies in arrays.
 *
 * Memory is bounded, since a run has as many classes as its sites and GPUs multiply to. The first
 * XFA_MAX_CLASSES are distinguished by all of the key. Transfers of classes that are met later are
 * folded: by site, function, direction and kinds of memory, no longer by GPU, NUMA node, stream,
 * peer access and shape, except that GPUs which are different ones for the machine profile stay
 * apart, so that what was achievable is still known. Of these there are XFA_MAX_FOLDED at most;
 * what is beyond has no site either.
 */
#ifndef XFA_CLASS_H
#define XFA_CLASS_H

#include "analyzer/base/table.h"
#include "analyzer/pass/achievable.h"
#include "analyzer/run/run.h"

#define XFA_MAX_CLASSES (1u << 18)
#define XFA_MAX_FOLDED (1u << 16)

enum xfa_stream_kind { XFA_STREAM_DEFAULT, XFA_STREAM_PER_THREAD, XFA_STREAM_MADE };
/* Of copies between GPUs: no call enabled peer access, and the device recorded no direct copy. */
enum xfa_peer_access { XFA_PEER_NONE, XFA_PEER_OFF, XFA_PEER_ON };
enum xfa_fold { XFA_NOT_FOLDED, XFA_WITHOUT_GPU, XFA_WITHOUT_SITE };
enum xfa_shape { XFA_LINEAR, XFA_STRIDED, XFA_BATCH };

struct xfa_row_key {
    uint32_t site;                       /* number */
    uint32_t function, runtime_function; /* numbers; of the latter + 1, 0 = none */
    uint8_t direction, src_mem, dst_mem; /* enum xft_direction, enum xft_memory */
    uint8_t async;
    int16_t src_gpu, dst_gpu; /* the run's numbers; -1: not known, or not device memory */
};

struct xfa_class_key {
    struct xfa_row_key row;
    int16_t src_node, dst_node;  /* NUMA nodes of host memory; -1 = not known, or not host memory */
    uint8_t stream, peer, shape; /* enums above */
    uint8_t fold;                /* enum xfa_fold: what of the key is left out */
    int16_t src_like, dst_like;  /* XFA_WITHOUT_GPU: the profile's GPUs; else -1 */
};

struct xfa_row {
    struct xfa_row_key key;
    uint32_t number;
    uint32_t last_class; /* number + 1 of the one met last; 0 = none */
    const struct xfa_site *site;
    const struct xfa_function *function;
    const struct xfa_function *runtime_function; /* that called the driver's; NULL: none known */
};

struct xfa_class {
    struct xfa_class_key key;
    uint32_t number, row;
    uint32_t before;                       /* number + 1 of the row's class met before; 0 = none */
    struct xfa_achievable_path achievable; /* what the machine gives such transfers */
    struct xfa_near near; /* of page-locked memory copied to or from a GPU: a better node */
};

/* The function as the source has it, where that is known. */
static inline const struct xfa_function *xfa_row_called(const struct xfa_row *row)
{
    return row->runtime_function ? row->runtime_function : row->function;
}

/* Memory of the host that the device can reach by itself: of enum xft_memory. */
static inline bool xfa_is_page_locked(unsigned memory)
{
    return memory == XFT_MEM_PINNED || memory == XFT_MEM_REGISTERED || memory == XFT_MEM_MAPPED ||
           memory == XFT_MEM_WRITE_COMBINED;
}

static inline bool xfa_is_of_device(unsigned memory) /* enum xft_memory; managed memory is not */
{
    return memory == XFT_MEM_DEVICE || memory == XFT_MEM_ARRAY;
}

/* One end, or both, is memory of the host that is not page-locked. */
static inline bool xfa_row_pageable(const struct xfa_row_key *key)
{
    return key->src_mem == XFT_MEM_PAGEABLE || key->dst_mem == XFT_MEM_PAGEABLE;
}

struct xfa_kept_class {
    struct xfa_class_key key;
    uint32_t row;            /* the class's */
    struct xfa_class *class; /* stays where it is */
};

struct xfa_classes {
    struct xfa_run *run;
    const struct xfa_achievable *achievable;
    struct xfa_table classes, rows; /* struct xfa_kept_class, xfa_row */
    struct xfa_class_asked *asked;  /* class.c: events that were asked for of late; NULL: none */
    size_t most, most_folded;       /* XFA_MAX_CLASSES, XFA_MAX_FOLDED; a test sets less */
};

void xfa_classes_init(struct xfa_classes *classes, struct xfa_run *run,
                      const struct xfa_achievable *achievable);
void xfa_classes_free(struct xfa_classes *classes);

/* The class of a transfer: the device's account of it says what the call does not. Pointers last
 * as long as the classes. */
struct xfa_event;
struct xfa_class *xfa_class_of(struct xfa_classes *classes, const struct xfa_event *event);

/* The class with this key; a new one is zero but for its key and number, and in no row. */
struct xfa_class *xfa_class_put(struct xfa_classes *classes, const struct xfa_class_key *key);

/* The class with this key, of an event that was met elsewhere: sites, functions and GPUs of the key
 * are known to the run, and it is folded already. */
struct xfa_class *xfa_class_meet(struct xfa_classes *classes, const struct xfa_class_key *key);

static inline struct xfa_class *xfa_class_at(const struct xfa_classes *classes, size_t number)
{
    return ((const struct xfa_kept_class *)xfa_table_at(&classes->classes, number))->class;
}

/* Its key, and its row's number: what is asked of each op lies side by side. Until the next class
 * is met. */
static inline const struct xfa_class_key *xfa_class_key_at(const struct xfa_classes *classes,
                                                           size_t number)
{
    return &((const struct xfa_kept_class *)xfa_table_at(&classes->classes, number))->key;
}
static inline uint32_t xfa_class_row_at(const struct xfa_classes *classes, size_t number)
{
    return ((const struct xfa_kept_class *)xfa_table_at(&classes->classes, number))->row;
}

static inline struct xfa_row *xfa_row_at(const struct xfa_classes *classes, size_t number)
{
    return xfa_table_at(&classes->rows, number);
}

/* The classes of a row, one by one: NULL begins with the last, and ends. */
static inline const struct xfa_class *xfa_row_class(const struct xfa_classes *classes,
                                                    const struct xfa_row *row,
                                                    const struct xfa_class *behind)
{
    uint32_t next = behind ? behind->before : row->last_class;
    return next ? xfa_class_at(classes, next - 1) : NULL;
}

#endif
