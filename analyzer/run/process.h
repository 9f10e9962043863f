/* Between the files of run/. */
#ifndef XFA_PROCESS_H
#define XFA_PROCESS_H

#include "analyzer/run/run.h"

struct xfa_run_site {  /* in the run's table of sites */
    uint64_t identity; /* key */
    struct xfa_site *site;
};

struct xfa_run_line { /* in the run's table of lines */
    uint64_t line;    /* key: of a site's chosen frame */
    uint64_t identity;
    bool several; /* sites, by who calls it */
};

struct xfa_run_function { /* in the run's table of functions */
    uint64_t identity;    /* key: name and level */
    struct xfa_function *function;
};

/* What META and header say of the process; owns the trace from then on. */
struct xfa_process *xfa_process_new(struct xfa_run *run, struct xfa_trace *trace);
void xfa_process_free(struct xfa_process *process);
/* A closed process gets its trace once more, and owns it. */
void xfa_process_take_trace(struct xfa_process *process, struct xfa_trace *trace);

/* A META value for the caller to free; NULL = not recorded, or empty. */
char *xfa_meta_kept(const struct xfa_trace *trace, const char *key);

#endif
