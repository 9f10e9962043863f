/*
 * The report's phases: those of all processes, merged by the names on their paths.
 */
#ifndef XFA_REPORT_PHASES_H
#define XFA_REPORT_PHASES_H

#include "analyzer/model/phases.h"
#include "analyzer/base/table.h"

#define XFA_PHASE_NAME 200       /* bytes of a name that are kept */
#define XFA_MAX_PHASES 16384     /* further ones are left out */
#define XFA_PHASE_TEXT_CHARS 400 /* of a path as printed; longer ones lose their beginning */

struct xfa_phase {
    uint64_t identity; /* key */
    uint32_t parent;   /* index, itself in the outermost */
    bool process;      /* a range of the process, not of a thread */
    char *domain;      /* NULL = the default domain, as is the next for a range without a name */
    char *name;        /* both NULL in the first of all: outside of ranges */
    struct xfa_phase_figures figures;
};

struct xfa_report_phases {
    struct xfa_table all; /* struct xfa_phase; 0 is "outside of ranges" when there are any */
    struct xfa_phase **order;
    uint64_t stray_ends, beyond;
};

struct xfa_trace;
void xfa_report_phases_init(struct xfa_report_phases *phases);
void xfa_report_phases_free(struct xfa_report_phases *phases);
void xfa_report_phases_add(struct xfa_report_phases *phases, const struct xfa_trace *trace,
                           const struct xfa_phases *of_process);
/* Sorts: most lost first, then most time in transfers, most bytes. */
void xfa_report_phases_finish(struct xfa_report_phases *phases);

/* The outermost first; returns how many. */
size_t xfa_phase_path(const struct xfa_report_phases *phases, const struct xfa_phase *phase,
                      const struct xfa_phase *path[XFA_MAX_NESTING]);

/* "train/step/solver:solve": a domain stands before its name. */
void xfa_phase_text(const struct xfa_report_phases *phases, const struct xfa_phase *phase,
                    char text[XFA_PHASE_TEXT_CHARS]);

#endif
