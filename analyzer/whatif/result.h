/*
 * What replaying a run has found (whatif.h says how): savings, their errors, and the best set.
 */
#ifndef XFW_RESULT_H
#define XFW_RESULT_H

#include "analyzer/base/table.h"
#include "analyzer/whatif/schedule/change.h"
#include "analyzer/whatif/op/sample.h"
#include "analyzer/whatif/together/together.h"

#define XFW_MARK_ERROR 0.05
#define XFW_ABSTAIN_ERROR 0.15
#define XFW_MOST_CHANGES 48
#define XFW_MOST_MEMBERS 8 /* of a set */

/* Further errors of a saving: of the saving itself, since no model is the machine; and of the run,
 * since no two runs take the same time (docs/results/advice.md has how far off both were). */
#define XFW_MODEL_ERROR 0.20
#define XFW_RUN_ERROR 0.005
#define XFW_HARDLY_MORE 1.1   /* a change has to save this much more than a simpler one, or */
#define XFW_OF_REST 0.25      /* ... this part of what the simpler one leaves of the span */
#define XFW_OF_SHORTER 0.05   /* ... this part of what the run takes with a simpler set */
#define XFW_ALIKE 1.02        /* within a family, the first that saves nearly the most is best */
#define XFW_LEAST_SAVED 0.005 /* of the run: a change on trial that saves less is in no set */

/*
 * What something would save of a time, ns: low <= likely <= high. Low may be negative: it may cost
 * time. High is at most what can go of that time. Unknown is NAN; low and high may be unknown where
 * likely is known.
 */
struct xfw_saving {
    double low, likely, high;
};

/* How much is known of a saving: nothing; only that it is at most `high`; all three. */
enum xfw_known { XFW_UNKNOWN, XFW_AT_MOST, XFW_KNOWN };
static inline enum xfw_known xfw_saving_known(const struct xfw_saving *saving)
{
    if (saving->likely == saving->likely) /* no NAN */
        return XFW_KNOWN;
    return saving->high == saving->high ? XFW_AT_MOST : XFW_UNKNOWN;
}

/* The three in order, none above most_ns. */
struct xfw_saving xfw_saving_within(struct xfw_saving saving, double most_ns);

/* The saving of a time of whole_ns, or NANs if it breaks the rules above: that is a bug of ours,
 * and is reported (analyzer/base/check.h). */
struct xfw_saving xfw_saving_checked(const struct xfw_saving *saving, double whole_ns);

struct xfw_times {
    double recorded_ns, replayed_ns, alone_ns, set_ns; /* set_ns 0: no set */
};

struct xfw_range_times { /* of a phase (NVTX), summed over processes; outermost instances */
    char *name;
    struct xfw_times times;
};

/*
 * The run played on a GPU, as recorded (without what recording cost) and as advised: medians of
 * `times` each. Both include time that was not played, since nothing was in flight then; the
 * model's figures beside them are for the same part of the run.
 */
struct xfw_played {
    char *why;  /* one line: it was not played, and nothing below is known; NULL = it was */
    char *note; /* one line about it; NULL = nothing */
    unsigned times;
    double recorded_ns, advised_ns; /* advised_ns NAN: nothing is advised */
    double alone_ns, set_ns;        /* the model's for the same; set_ns NAN: nothing is advised */
    double error; /* relative, of recorded_ns to alone_ns, without what was not played */
    struct xfw_saving saving; /* of the set; low and high: of single times. NAN: none */
    bool whole;               /* false: the first part_ns of the run */
    double part_ns;
    uint64_t steps;   /* as recorded */
    uint64_t by_time; /* as advised: copies that could only be made to last as long */
    double limit_s, seconds;
};

struct xfw_whatif {
    bool known; /* false: nothing below is; why has the reason in one line */
    char *why;
    bool marked;            /* the error is beyond XFW_MARK_ERROR */
    double recorded_ns;     /* the run as it was recorded */
    double replayed_ns;     /* replayed as it was recorded */
    double error;           /* relative, of the second to the first */
    double outside_goes_ns; /* of what comes before and behind the span: all that the changes, each
                               by itself, take of it as likely */
    double alone_ns;      /* replayed without what recording cost: all savings are relative to it */
    bool recording_known; /* the profile has what CUPTI's records cost */
    double speed_error; /* relative: how far processes of the machine differ in speed; 0: hardly, or
                           the profile does not say */
    struct xfw_share ops; /* of processes whose ops were not all played (sample.h) */
    uint64_t
        most_played; /* ops in all ways at once, where that is not sure enough: else it stays */
    bool stopped;    /* it did */
    struct xfw_ranks ranks;
    double sample_error_ns;     /* error of a run's time, or a saving, for that; 0: all were */
    size_t count;               /* of changes */
    struct xfw_saving *alone;   /* by change: it alone; low and high NAN: it was on trial, and saves
                                   too little */
    struct xfw_saving *carried; /* by change: it alone as apply carries it out with a plan; NAN: not
                                   asked for, or it does not */
    struct xfw_saving *added;   /* in the set: on top of those chosen before it; likely only; NAN:
                                   not in the set */
    struct xfw_saving *last;    /* in the set: what would be lost without it; likely only */
    struct xfw_saving *answered; /* by change that is a question: the best set of those where it is
                                    answered with yes, as if that were known; NAN: not asked for */
    struct xfw_up_to {
        double run_ns, span_ns;
        double likely_span_ns; /* of the span, as likely, by that set; of the run: `answered` */
    } * up_to; /* by the same: what of the run, and of its span, is saved at most, by that set or by
                  the change alone; NAN: not asked for */
    bool *needless;  /* by the same: alone it would pay then, but that set is without it */
    unsigned *steps; /* the set as it was first found, one after the other: as order */
    unsigned *order; /* in the set: from 1 on; 0 = not in it */
    struct xfw_search {
        unsigned together;  /* members of the set, the last ones, that only pay together */
        unsigned not_asked; /* questions of which it is not known what the best set saves with the
                               answer: too many ways would have been played (questions.h) */
        bool left_out;      /* the set has XFW_MOST_MEMBERS: others were not asked for */
    } search;
    struct xfa_table taken;    /* by members of the set: xfw_whatif_taken() */
    struct xfw_saving set;     /* all that are in it */
    struct xfw_saving applied; /* what `xferscope apply` would save; NAN: nothing of it is known */
    struct xfw_saving planned; /* the same with all of the set that a plan carries out; NAN: no plan
                                  was asked for */
    bool set_played;           /* the set's saving is not the model's: it was played */
    struct xfw_played *played; /* NULL: not asked for */
    struct xfw_times span; /* the processes' spans (schedule.h), added up; of ranks that are played
                              together from the first of them to the last */
    double contexts_ns;    /* as recorded: that was between the first work and the last wait, but is
                              not of the span (contexts.h); of ranks that are played together, of the
                              one that has the most */
    uint64_t contexts_gpus; /* whose: a bit for the place of each (xfw_place_of_gpu()) */
    struct xfw_range_times *ranges;
    size_t range_count;
    double *in_ranges; /* likely savings: of change i in range r at [i * range_count + r]; NULL:
                          none were played */
    unsigned replays;  /* how many ways were played */
};

/* How many transfers of a class a change has in the set, without those that other members have. Of
 * changes that take transfers (XFW_TAKES, XFW_IN_PARTS). */
uint64_t xfw_whatif_taken(const struct xfw_whatif *whatif, const struct xfw_change *change,
                          uint32_t class);

/* What can go at most: all but what comes before the first work for a GPU and behind the last wait,
 * unless the run was played with less (least_ns). */
double xfw_can_go_ns(const struct xfw_whatif *whatif, double least_ns);

/* The part of the set's saving that falls on a phase or on the span, with the relative bounds of
 * the set's saving; NAN where there is none. */
struct xfw_saving xfw_times_saving(const struct xfw_times *times, const struct xfw_saving *set);

/* By how much low and high of a saving of that time are widened; of the run. */
static inline double xfw_unsure_of_ns(const struct xfw_whatif *whatif, double likely_ns,
                                      double whole_ns)
{
    double size = likely_ns < 0 ? -likely_ns : likely_ns;
    double part = whatif->error + XFW_MODEL_ERROR + whatif->speed_error;
    return part * size + XFW_RUN_ERROR * whole_ns;
}
static inline double xfw_unsure_ns(const struct xfw_whatif *whatif, double likely_ns)
{
    return xfw_unsure_of_ns(whatif, likely_ns, whatif->alone_ns);
}

/* May it cost more than it likely saves, where that is little beside what is not known of it? Such
 * a change is no advice by itself. NAN: no. */
#define XFW_LITTLE 2 /* times by how much its bounds are widened */
static inline bool xfw_may_cost_more(const struct xfw_whatif *whatif,
                                     const struct xfw_saving *saving)
{
    return saving->likely > 0 && -saving->low > saving->likely &&
           saving->likely < XFW_LITTLE * xfw_unsure_ns(whatif, saving->likely);
}

/* How much a change has to save, ns. What is asked of work on GPUs alone is of their span: what a
 * process does once, before and after, makes it no smaller. */
static inline double xfw_change_least_ns(const struct xfw_whatif *whatif,
                                         const struct xfw_change *change)
{
    double least = XFW_LEAST_SAVED * whatif->alone_ns;
    bool of_span = change->of_span && whatif->span.alone_ns > 0;
    double whole = of_span ? whatif->span.alone_ns : whatif->alone_ns;
    return change->least_part > 0 ? fmax(least, change->least_part * whole) : least;
}

/* Takes `played` over. The set's saving becomes the played one, unless that is of a part of the run
 * or its error is beyond XFW_MARK_ERROR; what remedies assume keeps its bounds as wide as before.
 */
void xfw_whatif_take_played(struct xfw_whatif *whatif, struct xfw_played *played);
void xfw_played_free(struct xfw_played *played);
void xfw_whatif_free(struct xfw_whatif *whatif);

/* Does a change that saves so much save hardly more than a simpler one, not more by that part? Or,
 * where the simpler one leaves little of the span, by a quarter of that. */
static inline bool xfw_hardly_more_by(const struct xfw_whatif *whatif, double saved, double simpler,
                                      double part)
{
    double whole = whatif->span.alone_ns > 0 ? whatif->span.alone_ns : whatif->alone_ns;
    double of_rest = fmax(XFW_OF_REST * (whole - simpler), XFW_LEAST_SAVED * whatif->alone_ns);
    return saved < simpler + fmin(part * simpler, of_rest);
}

/* A tenth more is enough. */
static inline bool xfw_hardly_more(const struct xfw_whatif *whatif, double saved, double simpler)
{
    return xfw_hardly_more_by(whatif, saved, simpler, XFW_HARDLY_MORE - 1);
}

/* Of a set: where the simpler one saves more at worst, a tenth more is no more than a saving may be
 * off by itself. */
static inline bool xfw_hardly_better(const struct xfw_whatif *whatif,
                                     const struct xfw_saving *saved,
                                     const struct xfw_saving *simpler)
{
    double part = simpler->low > saved->low ? XFW_MODEL_ERROR : XFW_HARDLY_MORE - 1;
    return xfw_hardly_more_by(whatif, saved->likely, simpler->likely, part);
}

#endif
