/*
 * Which ops of a long process are played, and what the others take by their figures. Private to
 * whatif/.
 *
 * Programs repeat themselves. Of a process with enough calls, batches of ops are played as they
 * come (XFW_COUNTED) as long as they show anything that was not played often enough before: a site,
 * a class, a thread, a stream, a size, an address; much more or much less time; memory that moved;
 * a range. Of the others, which are alike, one stretch out of each group is played, where in the
 * group is by chance (XFW_SAMPLED; one batch before it, XFW_WARMING, leads in to it); the rest is
 * left out (XFW_LEFT). A way that took d of time for stretches which took r as recorded takes d / r
 * times as long as recorded for what was left out: the ratio estimator of a stratified sample
 * (Cochran, Sampling Techniques, 3rd ed., sections 6.3 and 6.4; as SMARTS does for processors:
 * Wunderlich et al., ISCA 2003). Its error is known from how far single stretches are off.
 *
 * How many groups are enough is not known before: at the first level few of them are played, at
 * each level behind it twice as many, those of the level before among them (double sampling:
 * Cochran, 4.7). What the last level needs is kept, and whoever plays chooses the level.
 *
 * The tape is cut where ops are left out: what a thread does first behind a cut comes as long after
 * what it did last before it as was recorded, less what was cut out. What changes learn from
 * allocations they learn of those that are left out, too, in no time.
 *
 * Times are ns.
 */
#ifndef XFW_SAMPLE_H
#define XFW_SAMPLE_H

#include "analyzer/whatif/op/op.h"

#define XFW_BATCH 512 /* ops that one way is played by before the next: its state stays at hand */

enum xfw_part { XFW_COUNTED, XFW_WARMING, XFW_SAMPLED, XFW_LEFT };

#define XFW_SAMPLE_LEVELS 6

struct xfw_stretch { /* a batch, or what is left of it */
    uint8_t part;    /* enum above: what becomes of it at the level */
    uint8_t kept;    /* at the last level */
    uint8_t level;   /* the first level that plays its group's stretch */
    bool memory;     /* it has ops that come even if it is left out */
    uint16_t ops;    /* that are kept */
    uint32_t group;
    double recorded_ns; /* as recorded: from the end of the batch before to its own end */
    double begins_ns;   /* as recorded: its first op */
};

/* Some levels play it, others need not read it. */
static inline bool xfw_stretch_is_apart(const struct xfw_stretch *stretch)
{
    return stretch->kept == XFW_WARMING || stretch->kept == XFW_SAMPLED;
}
/* None of it comes. */
static inline bool xfw_stretch_is_out(const struct xfw_stretch *stretch)
{
    return stretch->part == XFW_LEFT &&
           (xfw_stretch_is_apart(stretch) ? !stretch->memory : stretch->ops == 0);
}

struct xfw_sample;
/* calls: as many ops the process has, about. NULL: too few to leave any out. */
struct xfw_sample *xfw_sample_new(uint64_t calls);
void xfw_sample_free(struct xfw_sample *sample);

/* The next batch, in order, `last`: of all: what becomes of it. Fewer of the ops may stay: what is
 * kept. Lasts until the next one comes. */
const struct xfw_stretch *xfw_sample_take(struct xfw_sample *sample, struct xfw_op *ops,
                                          size_t count, bool last);
/* The level from now on, 0 at first, of batches that have come, too; at most the last one. Are
 * there others behind it? */
void xfw_sample_at_level(struct xfw_sample *sample, unsigned level);
bool xfw_sample_has_more(const struct xfw_sample *sample);
/* More batches had something new than are played for that: those behind them are taken to be like
 * others. */
bool xfw_sample_stopped(const struct xfw_sample *sample);
/* Ops have come that some level leaves out. */
bool xfw_sample_has_left(const struct xfw_sample *sample);
/* All batches once they have come. */
size_t xfw_sample_count(const struct xfw_sample *sample);
const struct xfw_stretch *xfw_sample_at(const struct xfw_sample *sample, size_t i);

/* Ops that came, and that the level plays; of a class those that came for each that it plays. */
struct xfw_share {
    uint64_t came, played;
};
struct xfw_share xfw_sample_share(const struct xfw_sample *sample);
double xfw_sample_weight(const struct xfw_sample *sample, uint32_t class);

/* ---- for who plays it: the same for all ways ------------------------------------------------- */

struct xfw_cuts {     /* zero to begin with */
    struct xfw_last { /* a thread, as recorded: the end of what was played of it last */
        double end;
        double cut_ns; /* out of the time before that */
    } * lasts;
    size_t count, capacity;
    bool cut;      /* the stretch before was left out */
    double at, ns; /* where the last cut begins; cut out so far */
};

/* The next stretch, of which these ops were kept: how many stay, as they are to be played. */
size_t xfw_cuts_take(struct xfw_cuts *cuts, const struct xfw_stretch *stretch, struct xfw_op *ops,
                     size_t count);
void xfw_cuts_free(struct xfw_cuts *cuts);

/* ---- one way of playing it ------------------------------------------------------------------- */

struct xfw_measured { /* zero to begin with */
    double at;        /* the schedule's clock behind the batch before */
    double skipped;   /* what it took for batches that are not counted */
    double *groups;   /* what the sampled batches of each took */
    size_t count, capacity;
};

/* The way has played the stretch, and its clock is at `now`. */
void xfw_measure(struct xfw_measured *measured, const struct xfw_stretch *stretch, double now);
void xfw_measured_free(struct xfw_measured *measured);

/* What the way takes in addition to what its clock says: in stretches that were not played. */
double xfw_sample_rest(const struct xfw_sample *sample, const struct xfw_measured *measured);
/* By how much that may be off, or the difference of two ways' (other: NULL: none): two standard
 * errors; INFINITY: it is not known. */
double xfw_sample_error(const struct xfw_sample *sample, const struct xfw_measured *measured,
                        const struct xfw_measured *other);

#endif
