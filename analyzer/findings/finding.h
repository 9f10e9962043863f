/*
 * Findings: what an analysis advises. Each kind is a row of kinds.def and is defined in one file:
 * its sums (an observer, where those of analyzer/sums/ are not enough), what it looks for, what it
 * assumes.
 *
 * A kind has one of three functions:
 * - look(): says what one row of the analysis would gain. findings.c applies the thresholds and
 *   puts sites with the same remedy into one finding.
 * - find(): adds whole findings, of sites that are not rows of transfers.
 * - try(): adds findings of which only the replay shows whether they save anything.
 *
 * The loss of a transfer is only a reason to look closer: what a finding would save of the run is
 * computed by replaying the run with its remedy (change(), xfa_findings_weigh(): weigh.c). Findings
 * are sorted by that, and idle when it is too little.
 *
 * Thresholds (docs/analyze.md): the loss is more than XFA_LEAST_LOST_NS, more than XFA_LEAST_PART
 * of the run's wall time, and more than the error of the achievable time.
 */
#ifndef XFA_FINDING_H
#define XFA_FINDING_H

#include "analyzer/analysis/analysis.h"
#include "analyzer/findings/answers.h"
#include "analyzer/findings/fix_note.h"
#include "analyzer/findings/remedy.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/ops/gather.h"
#include "analyzer/whatif/whatif.h"

#define XFA_LEAST_LOST_NS 10000.0
#define XFA_LEAST_PART 0.001
#define XFA_LEAST_SAVED XFW_LEAST_SAVED /* part of the run: a finding that saves less is idle */

/* For the thresholds only, where neither a loss nor a time is known: 1 GB/s, slower than any
 * link. */
#define XFA_STAND_IN_NS_PER_BYTE 1.0

enum xfa_finding_id {
#define XFA_FINDING(id, name, word, title) XFA_FINDING_##id,
#include "analyzer/findings/kinds.def"
#undef XFA_FINDING
    XFA_FINDINGS
};

/* What one row would gain. */
struct xfa_gain {
    uint64_t transfers, bytes;
    double achieved_ns, achievable_ns; /* NAN = not known */
    double lost_ns;
    double weight_ns; /* where lost_ns is not known: compared with the thresholds instead */
    double whole_ns;  /* lost by all rows that only together are a finding: as above; 0: by this
                         row alone */
    double error;     /* relative, of achievable_ns; NAN */
    enum xfa_basis achieved_basis, achievable_basis;
    enum xfa_reckoning reckoning;
    bool probably;                  /* samples of the bytes were compared, not all */
    const struct xfa_site *earlier; /* the call site that moved the bytes before; NULL: none */
    const char *assumed;            /* static: as in struct xfa_finding; NULL */
    const char *question;           /* static; NULL: none */
    struct xfa_remedy remedy;
};

struct xfa_finding;
struct xfa_findings;

struct xfa_finding_kind {
    /* False when the row has nothing of this kind. sums: the observer's self; NULL without one. */
    bool (*look)(const struct xfa_analysis *analysis, const void *sums, size_t row,
                 struct xfa_gain *gain);
    /* Or, instead of look(): adds findings, by xfa_findings_add_site() or one by one. */
    void (*find)(const struct xfa_analysis *analysis, const void *sums,
                 struct xfa_findings *findings);
    /* Adds findings on trial, when the run is weighed: of those that differ only in a number of
     * their remedy the best stays, if it saves something. */
    void (*try)(const struct xfa_analysis *analysis, const void *sums,
                struct xfa_findings *findings);
    /* What the remedy of a finding of this kind does to the run. The finding owns the result, which
     * may use sums; NULL: not known, and the saving stays unknown. */
    struct xfw_change *(*change)(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding);
    /* The same as `xferscope apply` carries it out with a plan (analyzer/plan), which may do less.
     * NULL, or its result: it does not. */
    struct xfw_change *(*by_apply)(const struct xfa_analysis *analysis, const void *sums,
                                   const struct xfa_finding *finding);
    /* Sums: those of another kind, which has its own; NULL: of its own, if any. */
    const struct xfa_finding_kind *sums_of;
    /* Sums of its own: a zeroed self of self_bytes is made for the observer. observe NULL: none. */
    size_t self_bytes;
    struct xfa_observer (*observe)(void *self);
    void (*free)(void *self); /* what the self owns */
    /* Of a `shared` or `divided` observer, whose sums the members of a team divide (divided.h): a
     * table of the self, at this place in it (NULL: none), and what puts all other sums into a
     * parcel, and takes another member's (NULL: there are none). */
    const struct xfa_met_table *met_of;
    size_t met_table;
    void (*give)(const void *self, struct xfa_parcel *parcel);
    void (*take)(void *self, const struct xfa_analysis *analysis, struct xfa_unpacking *from);
    void (*taken)(void *self); /* all members' were; NULL: nothing is to do */
};

#define XFA_FINDING(id, name, word, title) extern const struct xfa_finding_kind xfa_kind_##name;
#include "analyzer/findings/kinds.def"
#undef XFA_FINDING

struct xfa_finding_site {
    const struct xfa_row *row; /* NULL: calls that are no transfers */
    const struct xfa_site *site;
    const struct xfa_function *function; /* NULL: not named */
    uint64_t transfers, bytes;
    double lost_ns; /* NAN = not known */
    enum xfa_reckoning reckoning;
    const struct xfa_site *earlier; /* the call site that moved the bytes before; NULL: none */
    uint64_t left; /* in the best set: transfers that other members of the set have taken */
};

/* Sites with the same problem and the same remedy. */
struct xfa_finding {
    enum xfa_finding_id id;
    struct xfa_finding_site *sites; /* worst first */
    size_t site_count, site_capacity;
    uint64_t transfers, bytes;
    double achieved_ns, achievable_ns; /* of its transfers; NAN = not known */
    double lost_ns;                    /* NAN = not known */
    double error;                      /* relative, of achievable_ns; NAN */
    struct xfa_remedy remedy;
    enum xfa_reckoning reckoning; /* of the worst site */
    bool probably;                /* in any of them */
    enum xfa_basis achieved_basis, achievable_basis;

    /* What the run would save, once weighed. */
    struct xfw_change *change;   /* owned; NULL = not known */
    struct xfw_saving saving;    /* of it alone; NAN: not known */
    struct xfw_saving answered;  /* of a question: the best set where it is answered with yes; NAN:
                                    not  asked for, or known */
    struct xfw_up_to up_to;      /* of a question: then, or by it alone, at most; NAN: the same */
    struct xfw_change *by_apply; /* owned; NULL: not known, or no plan is asked for */
    struct xfw_saving applied;   /* of it alone, by apply; NAN: not known */
    const double
        *in_ranges; /* likely, of it in each of whatif's ranges, borrowed; NULL: not known */
    double added_ns, last_ns; /* of a member of the best set: saved beyond the members before it;
                                 lost if only it were left out. NAN: not in it */
    unsigned order;           /* in the best set, from 1 on; 0 = not in it */
    unsigned instead_of; /* not in the best set: the order of the first member that excludes it,
                            else that has some of its transfers or calls; 0 = none: it adds
                            nothing to them */
    uint64_t left;       /* sum of its sites' `left` */
    struct xfa_fix_note note; /* of its fix, once weighed */
    bool idle;           /* not advice: it saves too little, or a simpler remedy saves as much */
    bool doubtful;       /* idle: it may cost more than the little that it likely saves */
    bool trial;          /* added by try() */
    bool by_function;    /* sites of several functions of the program are several findings */
    const char *assumed; /* static: what the saving assumes; NULL: nothing */
    const char *at_best; /* static: what only its upper bound assumes in addition, once weighed;
                            NULL: nothing */
    /* static: the one thing that decides, and that the record cannot show, as what follows "if":
     * "no kernel changes what {site} copies"; {site} stands for the worst call site. NULL: there is
     * no such thing. */
    const char *question;
    bool asked;             /* it is a question: likely it saves nothing, but much if that is so */
    enum xfa_answer answer; /* the user's: yes, or none */
};

/* All findings of one analysis. Made before the run is read, since its observers belong to that
 * pass. */
struct xfa_findings {
    struct xfa_finding *items; /* worst first */
    size_t count, capacity;
    struct xfa_observer observers[XFA_FINDINGS + 1]; /* the last one: gather's */
    size_t observer_count;
    void *selves[XFA_FINDINGS];
    bool by_survey[XFA_FINDINGS]; /* their observers are `divided` (pass/observer.h) */
    struct xfw_gather *gather;    /* the run's ops, for the replay */
    struct xfw_whatif *whatif;    /* NULL: not weighed */
    struct xfa_answers *answers;  /* borrowed; NULL: none were given */
    bool
        plan; /* what apply would make of them with a plan is weighed, too. For the caller to set */
    const char *phase; /* borrowed: shares are of this phase, where its time is known; NULL: of the
                          run. For the caller to set */
};

/* Weighed: likely it saves nothing; at best more than the replay's error explains. */
bool xfa_finding_at_best_only(const struct xfw_whatif *whatif, const struct xfa_finding *finding);

/* Of a question: what of the run may be saved at most where it is answered with yes, with all that
 * goes with that. */
double xfa_finding_up_to(const struct xfa_finding *finding);

/* What decides, with its site, for the caller to free; NULL: nothing. */
char *xfa_finding_question(const struct xfa_finding *finding);

/* KIND, or KIND@SITE where findings of the kind are several, with a direction where two of these
 * have one site: what to answer. The caller frees it.
 */
char *xfa_finding_key(const struct xfa_findings *findings, const struct xfa_finding *finding);

/* What its saving assumes, for the caller to free; NULL: nothing. */
char *xfa_finding_assumed(const struct xfa_finding *finding);

struct xfa_findings *xfa_findings_new(void);
/* For a survey (analysis/survey.h): its observers are those of all kinds, without gather's. */
struct xfa_findings *xfa_findings_of_survey(void);
/* At most that many bytes of the run are kept for its replays: gather.h. */
struct xfa_findings *xfa_findings_within(size_t memory);
/* Of a team, first the sums that its members have divided are merged: an exchange. */
void xfa_findings_find(struct xfa_findings *findings, const struct xfa_analysis *analysis);
void xfa_findings_free(struct xfa_findings *findings);

/* Replays the run with each finding's remedy and with the best set. Sorts: the members of the set
 * in its order, then others by what each saves alone; idle findings come last. */
void xfa_findings_weigh(struct xfa_findings *findings, struct xfa_analysis *analysis);

/* ---- for find() and try() -------------------------------------------------------------------- */

/* What a site has to lose, ns, to be worth a finding: the larger one of the thresholds. */
double xfa_findings_least_ns(const struct xfa_analysis *analysis);

/* A new finding to be filled in: figures NAN, no sites. Valid until the next call. */
struct xfa_finding *xfa_findings_add(struct xfa_findings *findings, enum xfa_finding_id id,
                                     const struct xfa_remedy *remedy);
/* Adds a site to a finding; the finding's figures are left to the caller. */
void xfa_finding_site_add(struct xfa_finding *finding, const struct xfa_finding_site *site);

/* All transfers of a row; lost is not known. */
struct xfa_finding_site xfa_finding_site_of_row(const struct xfa_row *row,
                                                const struct xfa_figures *figures,
                                                enum xfa_reckoning reckoning);
/* The same of what look() has found. */
struct xfa_finding_site xfa_finding_site_of_gain(const struct xfa_row *row,
                                                 const struct xfa_gain *gain);

/* Adds a site, and its transfers, bytes and loss, to the finding with the id and remedy of `like`
 * in the terms of the site; where there is none yet, to a new one with what `like` assumes. */
void xfa_findings_add_site(struct xfa_findings *findings, const struct xfa_finding *like,
                           const struct xfa_finding_site *site);

/* ---- for change() ---------------------------------------------------------------------------- */

/* The classes of the rows of a finding; the numbers of its sites. The caller frees the set. */
struct xfw_set xfa_finding_classes(const struct xfa_analysis *analysis,
                                   const struct xfa_finding *finding);
struct xfw_set xfa_finding_sites(const struct xfa_finding *finding);

/* The change of a remedy that copies by other paths (changes.h, paths.c there), of all classes of
 * the finding's rows; NULL: of none. choose: fills in path->to, and path->from where it is known;
 * false: copies of this class stay. self: the caller's. */
typedef bool xfa_other_path_fn(const struct xfa_analysis *analysis, const struct xfa_class *class,
                               const void *self, struct xfw_new_path *path);
struct xfw_change *xfa_other_path_change(const struct xfa_analysis *analysis,
                                         const struct xfa_finding *finding,
                                         xfa_other_path_fn *choose, const void *self,
                                         const struct xfw_times_terms *terms);

/* ---- for look() ------------------------------------------------------------------------------ */

/* Achieved and achievable, from the figures of a row or of some of its classes: all of a gain but
 * weight_ns, the reckoning and the remedy. */
void xfa_gain_of(struct xfa_gain *gain, const struct xfa_figures *figures);

/* Of transfers whose whole time is lost: the same, weight_ns too, without what is achievable. */
void xfa_gain_of_all(struct xfa_gain *gain, const struct xfa_timed_sum *sum);

/* The host's side of a copy between host and GPU. False: the copy is none. */
struct xfa_host_side {
    bool to_device;
    enum xft_memory memory;
    int node, gpu; /* NUMA node of the memory, the run's GPU; -1 = not known */
};
bool xfa_host_side_of(const struct xfa_class_key *key, struct xfa_host_side *side);

/* The remedy for a row, in the terms of its call site. */
struct xfa_remedy xfa_remedy_for(const struct xfa_row *row, enum xfa_remedy_kind kind);

/* ---- words ----------------------------------------------------------------------------------- */

const char *xfa_finding_word(enum xfa_finding_id id);
const char *xfa_finding_title(enum xfa_finding_id id);

#endif
