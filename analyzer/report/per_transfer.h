/*
 * --per-transfer: instead of the report one line per transfer, written while the run is read. Only
 * texts of classes are kept in memory, so that a run of any length can be listed.
 *
 * The transfers are those of the report's rows, with the same figures, in the order of their calls'
 * times within a process, process by process.
 */
#ifndef XFA_PER_TRANSFER_H
#define XFA_PER_TRANSFER_H

#include <stdio.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/report/filter.h"

#define XFA_LISTED_TEXTS 2

/* One line. Texts that many lines share are made once by the format, with malloc(), and kept here;
 * they are NULL at first. */
struct xfa_listed {
    const struct xfa_event *event;
    const struct xfa_row *row;
    bool simulated;     /* the process's GPU, or the profile's */
    bool other_machine; /* the profile is of another machine than the process's */
    char **of_class;    /* XFA_LISTED_TEXTS texts for transfers of the same class */
    char **of_process;  /* as many for transfers of the same process */
};

/* Why the achievable bandwidth is not known. */
enum xfa_lack {
    XFA_LACK_NONE, /* it is known */
    XFA_LACK_PROFILE,
    XFA_LACK_DIRECTION,
    XFA_LACK_HOST,
    XFA_LACK_GPU,
    XFA_LACK_PATH,
    XFA_LACK_SIZE,
    XFA_LACKS_COUNT
};

struct xfa_per_transfer;

struct xfa_per_transfer_format {
    void (*head)(FILE *out);      /* before the first process; NULL: nothing */
    void (*simulated)(FILE *out); /* before the first simulated one; NULL: nothing */
    void (*line)(const struct xfa_listed *listed, FILE *out);
    void (*foot)(const struct xfa_per_transfer *list, FILE *out); /* once; NULL: nothing */
};
extern const struct xfa_per_transfer_format xfa_per_transfer_text, xfa_per_transfer_json;

/* Zero but for the first four, which the caller sets before anything is read. */
struct xfa_per_transfer {
    const struct xfa_per_transfer_format *format;
    FILE *out;
    uint64_t limit;                /* lines, 0 = all; reading stops after the last one */
    struct xfa_analysis *analysis; /* of the observer */
    struct xfa_filter *filter;     /* selects transfers; NULL: all */
    uint64_t written;
    uint64_t lacks[XFA_LACKS_COUNT]; /* lines written, by what they lack */
    bool begun, simulated, stopped;
    struct xfa_listed_texts {
        char *texts[XFA_LISTED_TEXTS];
        signed char shown; /* by the filter: 1 shown, -1 not, 0 not known yet */
    } process, *classes;   /* by class number */
    size_t class_count, class_capacity;
    int failed; /* errno of the line that could not be written, after which reading stops */
};

/* The observer's self is `list`, which outlives it. */
struct xfa_observer xfa_per_transfer_observer(struct xfa_per_transfer *list);
/* After the run is read: writes the foot. */
void xfa_per_transfer_end(struct xfa_per_transfer *list);
void xfa_per_transfer_free(struct xfa_per_transfer *list); /* what the list owns */

/* ---- what the formats share ------------------------------------------------------------------ */

/* ns since its process began to be recorded; NAN = not known. */
double xfa_listed_at_ns(const struct xfa_listed *listed);
double xfa_listed_achieved_gbps(const struct xfa_listed *listed);         /* NAN = not known */
double xfa_listed_achievable_gbps(const struct xfa_listed *listed);       /* NAN = not known */
const char *xfa_listed_achieved_basis(const struct xfa_listed *listed);   /* NULL = not known */
const char *xfa_listed_achievable_basis(const struct xfa_listed *listed); /* NULL = not known */
const char *xfa_listed_stream(const struct xfa_listed *listed);
const char *xfa_listed_peer(const struct xfa_listed *listed); /* NULL = no copy between GPUs */
const char *xfa_lack_words(enum xfa_lack lack);
const char *xfa_listed_shape(const struct xfa_listed *listed);

#endif
