/*
 * A plan: the advice on a run as data, in a file that `analyze --plan` makes and that people edit
 * (docs/plan.md, docs/plan.schema.json), and that `xferscope apply --plan` carries out.
 *
 * A step is a finding of the run: its remedy, at its call sites. Each says which class of
 * xferscope/plan.h can carry it out, if any does, and whether it is to be. By default that are the
 * members of the best set; for what the record does not show, people say `kernels_keep`,
 * `kernels_apart` and `kernels_read`.
 *
 * Ownership: a plan owns its texts and lists.
 */
#ifndef XFA_APPLY_PLAN_H
#define XFA_APPLY_PLAN_H

#include <math.h>
#include <stdio.h>

#include "analyzer/findings/finding.h"
#include "xferscope/plan.h"

/* A return address in a module's file, by build_id; or a line of a Python file, by file_hash; or
 * (both NULL) a place that cannot be found again. */
struct xfa_apply_place {
    char *function, *file, *module; /* NULL: not known */
    char *build_id;                 /* of the module, hexadecimal; NULL: not known */
    char *file_hash;                /* of the Python file's bytes, as xfa_apply_file_hash() */
    uint64_t offset;                /* with build_id */
    uint32_t line;                  /* 0: not known */
    bool python;
};

struct xfa_apply_site {
    char *text; /* as reports show it */
    struct xfa_apply_place place;
    struct xfa_apply_place caller; /* all NULL: whoever calls it */
    char *call, *direction;        /* NULL: not known; no transfers */
    uint64_t transfers, bytes;     /* calls of the finding, and their bytes */
    bool kernels_keep;             /* of leave-out: granted */
};

/* Of streams: a kernel only reads what some of its arguments point to. */
struct xfa_apply_reader {
    char *kernel;       /* its name, mangled */
    uint64_t arguments; /* bit k: the one of number k + 1 */
};

struct xfa_apply_step {
    char *finding, *remedy, *fix;
    enum xft_plan_class by; /* XFT_PLAN_NOTHING: nothing carries it out */
    bool carry_out;
    bool kernels_apart; /* of streams: granted */
    char *why_not;      /* why nothing carries it out, or why it is not chosen; NULL */
    struct xfa_remedy numbers;
    unsigned order;            /* in the best set, from 1 on; 0: not in it */
    struct xfw_saving saving;  /* of the fix, ns; NAN: not known */
    struct xfw_saving applied; /* the same of what carries it out, which may do less */
    double added_ns;
    char *assumes;        /* NULL: nothing */
    char *question, *key; /* what decides, and its --assume; NULL: nothing does */
    struct xfa_apply_site *sites;
    size_t site_count;
    struct xfa_apply_reader *readers; /* of streams: granted */
    size_t reader_count;
};

struct xfa_apply_plan {
    char *program; /* the file's name; NULL: not known */
    char *trace;   /* NULL: not from a run */
    bool simulated;
    double time_ns;            /* of the run, without what recording cost; NAN: not known */
    struct xfw_saving saving;  /* of the best set, ns */
    struct xfw_saving applied; /* of all that apply does with this plan, ns; NAN: not known */
    struct xfa_apply_step *steps;
    size_t step_count;
};

#define XFA_FILE_HASH_CHARS 33

/* Of a file's bytes, hexadecimal; false: there is no such file, or it is too large for a program.
 * changed_ns: when it was changed last; NULL: not asked for. */
bool xfa_apply_file_hash(const char *path, char hash[XFA_FILE_HASH_CHARS], uint64_t *changed_ns);

/* Can it be found again in the program as it is now? A Python file must be what it was. */
bool xfa_apply_place_holds(const struct xfa_apply_place *place);

/* Of findings that were weighed. */
struct xfa_apply_plan *xfa_apply_plan_of(const struct xfa_analysis *analysis,
                                         const struct xfa_findings *findings);

/* Predicted of a step: of what carries it out, where that is known, else of the fix. */
static inline const struct xfw_saving *xfa_apply_predicted(const struct xfa_apply_step *step)
{
    return isnan(step->applied.likely) ? &step->saving : &step->applied;
}

/* Steps that are to be carried out. */
size_t xfa_apply_plan_chosen(const struct xfa_apply_plan *plan);

/* Writes it as JSON; 0, or -1: an error of the stream. */
int xfa_apply_plan_write(const struct xfa_apply_plan *plan, FILE *out);

/* Of a file. NULL with one line in error, which names the place. What is only for people to read
 * (savings, texts) may be missing. */
struct xfa_apply_plan *xfa_apply_plan_read(const char *path, char *error, size_t error_bytes);

/* As the library reads it (xferscope/plan.h): the chosen steps, for free(). NULL with one line in
 * error: it has too many sites. *unplaced: sites that no program can be asked about, as nothing
 * says where they are, or their Python file has changed. */
struct xft_plan_header *xfa_apply_plan_pack(const struct xfa_apply_plan *plan, size_t *bytes,
                                            size_t *unplaced, char *error, size_t error_bytes);

/* Fills in the comparison's steps: the chosen ones. */
struct xfa_comparison;
void xfa_apply_plan_compare(const struct xfa_apply_plan *plan, struct xfa_comparison *comparison);

void xfa_apply_plan_free(struct xfa_apply_plan *plan);

#endif
