/*
 * Equations 1 to 6 of van Werkhoven et al., each where its comment names it.
 */
#include "tests/analyzer/overlap/overlap.h"

#include <math.h>

#define ROUNDING 1e-9 /* what is no closer than that is no difference */

/* One direction of the work at hand. */
struct flow {
    const struct xfa_overlap_way *way;
    double bytes;  /* that pass the link */
    double copies; /* per part */
};

static double or_once(double times)
{
    return times > 0 ? times : 1;
}

static double latency(const struct flow *f)
{
    return f->bytes > 0 ? f->way->fit.Lo_ns : 0;
}

static double alone(const struct flow *f, double bytes)
{
    return bytes * (f->bytes > 0 ? f->way->fit.G_ns_per_byte : 0);
}

static double beside_G(const struct flow *f)
{
    double G = f->way->fit.G_ns_per_byte;

    return f->way->both_G > G ? f->way->both_G : G;
}

/* g (nStreams - 1): the gaps of all copies in a direction, one behind the other. */
static double gaps(const struct flow *f, double streams)
{
    double g = f->way->fit.g_ns;

    return f->bytes > 0 && g > 0 ? g * (streams * f->copies - 1) : 0;
}

/* The first part to come in, or the last to go out: nothing else moves then. */
static double part(const struct flow *f, double streams)
{
    return alone(f, f->bytes / streams) + gaps(f, 1);
}

/*
 * Of `bytes` of f, while other_bytes go the other way: both start together, each takes its G of
 * table II; what the longer one has left when the shorter one has ended, it moves alone.
 */
static double beside(const struct flow *f, double bytes, const struct flow *other,
                     double other_bytes)
{
    double mine, theirs;

    if (!(bytes > 0 && other_bytes > 0))
        return alone(f, bytes);
    mine = bytes * beside_G(f);
    theirs = other_bytes * beside_G(other);
    return mine <= theirs ? mine : theirs + alone(f, bytes - theirs / beside_G(f));
}

/* In n streams the first part comes in before anything goes out, the last part goes out when
 * nothing comes in any more. */
static double mostly_beside(const struct flow *f, const struct flow *other, double n)
{
    double share = 1 - 1 / n;

    return alone(f, f->bytes / n) + beside(f, f->bytes * share, other, other->bytes * share);
}

static double longest(double a, double b, double c)
{
    return fmax(a, fmax(b, c));
}

static double explicit_ns(const struct flow *in, const struct flow *out, double kernel)
{
    return latency(in) + part(in, 1) + kernel + latency(out) + part(out, 1);
}

/* Implicit synchronisation, 1 copy engine. */
static double category_1(const struct flow *in, const struct flow *out, double kernel, double n)
{
    double lo = latency(in) + latency(out), back = alone(out, out->bytes) + gaps(out, n);
    double kernel_dominates = lo + part(in, n) + kernel + back; /* (1) */
    double transfers_dominate =
        lo + alone(in, in->bytes) + gaps(in, n) + kernel / n + back; /* (2) */

    return fmax(kernel_dominates, transfers_dominate);
}

/* None, 1 copy engine: both directions one after the other. */
static double category_2(const struct flow *in, const struct flow *out, double kernel, double n)
{
    double lo = latency(in) + latency(out);
    double all_in = alone(in, in->bytes) + gaps(in, n);
    double all_out = alone(out, out->bytes) + gaps(out, n);
    double part_in = part(in, n), part_out = part(out, n);
    double kernel_dominates = lo + part_in + kernel + part_out; /* (3) */
    double transfers_dominate = lo + longest(all_in + all_out, all_in + kernel / n + part_out,
                                             part_in + kernel / n + all_out); /* (4) */

    return fmax(kernel_dominates, transfers_dominate);
}

/* None, 2 copy engines (5). */
static double category_3(const struct flow *in, const struct flow *out, double kernel, double n)
{
    double lo = latency(in) + latency(out);
    double all_in = mostly_beside(in, out, n) + gaps(in, n);
    double all_out = mostly_beside(out, in, n) + gaps(out, n);
    double part_in = part(in, n), part_out = part(out, n);

    return lo + longest(all_in + kernel / n + part_out, part_in + kernel + part_out,
                        part_in + kernel / n + all_out);
}

/* (6) */
static double implicit_ns(const struct flow *in, const struct flow *out, double kernel)
{
    return latency(in) + latency(out) +
           longest(beside(in, in->bytes, out, out->bytes), kernel,
                   beside(out, out->bytes, in, in->bytes));
}

static double streams_ns(int category, const struct flow *in, const struct flow *out, double kernel,
                         double n)
{
    switch (category) {
    case 1:
        return category_1(in, out, kernel, n);
    case 2:
        return category_2(in, out, kernel, n);
    case 3:
        return category_3(in, out, kernel, n);
    default:
        return NAN;
    }
}

static bool known(const struct flow *f)
{
    return !(f->bytes > 0) || f->way->fit.valid;
}

static const struct xfa_overlap_link *link_of(const struct xfa_overlap_machine *machine,
                                              enum xfa_overlap_method method)
{
    if (method == XFA_OVERLAP_IMPLICIT)
        return &machine->mapped;
    return method == XFA_OVERLAP_HYBRID ? &machine->hybrid : &machine->copies;
}

double xfa_overlap_ns(const struct xfa_overlap_machine *machine,
                      const struct xfa_overlap_work *work, enum xfa_overlap_method method,
                      uint32_t streams)
{
    const struct xfa_overlap_link *link = link_of(machine, method);
    bool maps_in = method == XFA_OVERLAP_IMPLICIT;
    bool maps_out = maps_in || method == XFA_OVERLAP_HYBRID;
    double n = streams ? streams : 1, kernel = work->kernel_ns;
    struct flow in = {&link->in, (double)work->in_bytes, work->in_arrays ? work->in_arrays : 1};
    struct flow out = {&link->out, (double)work->out_bytes,
                       work->out_arrays ? work->out_arrays : 1};

    if (maps_in)
        in.bytes *= or_once(work->mapped_in_times);
    if (maps_out)
        out.bytes *= or_once(work->mapped_out_times);
    if (!known(&in) || !known(&out) || !(kernel >= 0) || !isfinite(kernel))
        return NAN;
    switch (method) {
    case XFA_OVERLAP_EXPLICIT:
        return explicit_ns(&in, &out, kernel);
    case XFA_OVERLAP_IMPLICIT:
        return implicit_ns(&in, &out, kernel);
    case XFA_OVERLAP_STREAMS:
        return streams_ns(machine->category, &in, &out, kernel, n);
    case XFA_OVERLAP_HYBRID:
        return category_3(&in, &out, kernel, n);
    default:
        return NAN;
    }
}

const char *xfa_overlap_word(enum xfa_overlap_method method)
{
    static const char *const words[XFA_OVERLAP_METHODS] = {
        [XFA_OVERLAP_EXPLICIT] = "explicit",
        [XFA_OVERLAP_IMPLICIT] = "implicit",
        [XFA_OVERLAP_STREAMS] = "streams",
        [XFA_OVERLAP_HYBRID] = "hybrid",
    };

    return method < XFA_OVERLAP_METHODS ? words[method] : "?";
}

/* ---- the number of streams, and the method --------------------------------------------------- */

static uint64_t of_one_copy(uint64_t bytes, uint32_t arrays)
{
    return bytes / (arrays ? arrays : 1);
}

static uint32_t most_streams(const struct xfa_overlap_work *work,
                             const struct xfa_overlap_limits *limits)
{
    uint64_t in = of_one_copy(work->in_bytes, work->in_arrays);
    uint64_t out = of_one_copy(work->out_bytes, work->out_arrays);
    uint64_t most = limits->most_streams ? limits->most_streams : 1;
    uint64_t parts = (in > out ? in : out) / (limits->least_part ? limits->least_part : 1);

    most = parts < most ? parts : most;
    return most ? (uint32_t)most : 1;
}

/* Section VI derives it for some cases; each number is tried, which serves all of them. */
static uint32_t best_streams(const struct xfa_overlap_machine *machine,
                             const struct xfa_overlap_work *work, enum xfa_overlap_method method,
                             const struct xfa_overlap_limits *limits)
{
    uint32_t most = most_streams(work, limits), n = 1;
    double least = INFINITY;

    for (uint32_t i = 1; i && i <= most; i++)
        least = fmin(least, xfa_overlap_ns(machine, work, method, i));
    while (n < most &&
           xfa_overlap_ns(machine, work, method, n) > least * (1 + fmax(limits->tolerance, 0)))
        n++;
    return n;
}

struct xfa_overlap_choice xfa_overlap_choose(const struct xfa_overlap_machine *machine,
                                             const struct xfa_overlap_work *work,
                                             struct xfa_overlap_limits limits)
{
    struct xfa_overlap_choice choice = {.best = XFA_OVERLAP_EXPLICIT};

    for (int m = 0; m < XFA_OVERLAP_METHODS; m++) {
        bool cut = m == XFA_OVERLAP_STREAMS || m == XFA_OVERLAP_HYBRID;
        double ns;

        choice.streams[m] = cut ? best_streams(machine, work, m, &limits) : 1;
        ns = choice.ns[m] = xfa_overlap_ns(machine, work, m, choice.streams[m]);
        if (isfinite(ns) && (!choice.known || ns < choice.ns[choice.best] * (1 - ROUNDING))) {
            choice.best = m;
            choice.known = true;
        }
    }
    return choice;
}
