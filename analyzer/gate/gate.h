/*
 * A gate: what a program may move, in a file that `analyze --gate-write` makes of a run and that
 * people edit; and what of another run it does not allow (docs/gate.md, docs/gate.schema.json).
 *
 * Only what one run says exactly is looked at: call sites, kinds of memory, calls, bytes. No time.
 * A run passes or not, whatever machine it ran on and whatever else ran there.
 *
 * Sites are found again as in a comparison of runs (compare/match.h): lines may have moved.
 *
 * Ownership: gate and verdict own their texts; a verdict's rows are the analysis', which it must
 * not outlive.
 */
#ifndef XFA_GATE_H
#define XFA_GATE_H

#include <stdio.h>

#include "analyzer/compare/snapshot.h"

/* A row: enumerator, word in files and messages, what it forbids (as a title). */
#define XFA_GATE_RULES(X)                                                                          \
    X(XFA_GATE_NEW_SITE, "new-site", "Transfers at a call site that the gate does not know")       \
    X(XFA_GATE_BLOCKING, "blocking", "A copy that was asked to be asynchronous, but blocks")       \
    X(XFA_GATE_PAGEABLE, "pageable", "A copy of host memory that is not page-locked")              \
    X(XFA_GATE_CALLS, "calls", "More transfers than allowed")                                      \
    X(XFA_GATE_BYTES, "bytes", "More bytes than allowed")
#define XFA_GATE_ENUM(symbol, word, title) symbol,
enum xfa_gate_rule { XFA_GATE_RULES(XFA_GATE_ENUM) XFA_GATE_RULE_COUNT };
#undef XFA_GATE_ENUM

const char *xfa_gate_word(enum xfa_gate_rule rule);
const char *xfa_gate_title(enum xfa_gate_rule rule);

/* Sites that may break rules: the allow-list. */
struct xfa_gate_exception {
    char *site; /* pattern, as of --site */
    bool rules[XFA_GATE_RULE_COUNT];
    char *why; /* NULL: not said */
};

struct xfa_gate {
    char *program; /* its file's name; a run of another one is judged all the same. NULL: any */
    char *phase;   /* only transfers in ranges (NVTX) of this name; NULL: all */
    bool rules[XFA_GATE_RULE_COUNT]; /* is it in force? */
    double more; /* relative: calls and bytes of a site may be so much above its own */
    /* What each site may do, one kind of transfer each: memories, and at most so many transfers and
     * bytes. Their times and rates are not known. */
    struct xfa_snapshot_row *sites;
    size_t site_count;
    struct xfa_gate_exception *exceptions;
    size_t exception_count;
};

/* Of a file. NULL with one line in error, which names the place. */
struct xfa_gate *xfa_gate_read(const char *path, char *error, size_t error_bytes);

/* What the run did, and no more. figures: by row number, those of the transfers that count; rows
 * without any are left out. phase: NULL or the name of the ranges that they were in. */
struct xfa_gate *xfa_gate_of(const struct xfa_analysis *analysis, const struct xfa_figures *figures,
                             const char *phase);

/* Writes it as JSON; 0, or -1: an error of the stream. */
int xfa_gate_write(const struct xfa_gate *gate, FILE *out);
void xfa_gate_free(struct xfa_gate *gate);

/* ---- the verdict ----------------------------------------------------------------------------- */

/* A row of the run, and what of it is not allowed. */
struct xfa_gated {
    const struct xfa_row *row;
    const struct xfa_figures *figures;
    char *path;                        /* "H2D pageable" */
    char *broken[XFA_GATE_RULE_COUNT]; /* by rule, one sentence; NULL: it is kept */
    const char *allowed_by;            /* the exception that let something pass; NULL: none did */
};

struct xfa_gate_verdict {
    const struct xfa_gate *gate;
    struct xfa_gated *rows;   /* those with transfers, most bytes first */
    size_t row_count, broken; /* rules that are broken, over all rows */
};

/* Both are borrowed. figures: as of xfa_gate_of(), with the gate's phase. */
struct xfa_gate_verdict *xfa_gate_judge(const struct xfa_gate *gate,
                                        const struct xfa_analysis *analysis,
                                        const struct xfa_figures *figures);
void xfa_gate_verdict_free(struct xfa_gate_verdict *verdict);

/* ---- how it is shown ------------------------------------------------------------------------- */

struct xfa_gate_format {
    const char *name;
    void (*write)(const struct xfa_gate_verdict *verdict, const char *path, FILE *out);
};

/* text, json, github (annotations), sarif (2.1.0), junit. NULL: there is none of that name. */
const struct xfa_gate_format *xfa_gate_format_find(const char *name);

#endif
