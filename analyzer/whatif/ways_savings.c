#include "analyzer/whatif/ways_savings.h"

#include <math.h>

#include "analyzer/base/alloc.h"

struct xfw_saving *xfw_savings_unknown(size_t count)
{
    struct xfw_saving *savings = xfa_alloc((count + 1) * sizeof *savings);
    for (size_t i = 0; i <= count; i++)
        savings[i] = (struct xfw_saving){NAN, NAN, NAN};
    return savings;
}

/* The run is no shorter than that: what is left of its span, and of what comes before and behind
 * it. Where changes take anything of that, another set may take more. */
static double least_of(const struct xfw_whatif *whatif, const struct xfw_way *best)
{
    double outside = fmax(0, best->least_ns - best->left_ns);
    double taken = fmax(0, whatif->alone_ns - whatif->span.alone_ns - outside);
    bool goes = fmax(taken, whatif->outside_goes_ns) > XFW_RUN_ERROR * whatif->alone_ns;
    return fmax(0, best->least_ns - xfw_unsure_ns(whatif, goes ? taken + outside : 0));
}

struct xfw_saving xfw_ways_saving(const struct xfw_whatif *whatif,
                                  const struct xfw_way ways[XFW_CERTAINTIES])
{
    double base = whatif->alone_ns;
    double low = base - ways[XFW_LOW].run_ns, likely = base - ways[XFW_LIKELY].run_ns;
    double high = base - ways[XFW_HIGH].run_ns;
    double least = fmin(low, fmin(likely, high)), most = fmax(low, fmax(likely, high));
    double off =
        fmax(ways[XFW_LOW].error_ns, fmax(ways[XFW_LIKELY].error_ns, ways[XFW_HIGH].error_ns));
    double wider = xfw_unsure_ns(whatif, likely) + off, at_best = most + wider;
    if (ways[XFW_HIGH].asks_left)
        at_best = fmin(at_best,
                       fmax(most, base - least_of(whatif, &ways[XFW_HIGH]) + XFW_RUN_ERROR * base));
    return xfw_saving_within((struct xfw_saving){least - wider, likely, at_best},
                             xfw_can_go_ns(whatif, base - most));
}

/* Of a question: what these ways save at most of the run and of its span. What the work takes that
 * is left at best has to be done (schedule/left.h): no error of the model takes that away, only
 * that of what was recorded. What was played is possible. */
static struct xfw_up_to up_to_of(const struct xfw_whatif *whatif,
                                 const struct xfw_way ways[XFW_CERTAINTIES])
{
    const struct xfw_way *best = &ways[XFW_HIGH];
    double run_ns = whatif->alone_ns, span_ns = whatif->span.alone_ns, run = run_ns, span = span_ns;
    for (size_t i = 0; i < XFW_CERTAINTIES; i++) {
        run = fmin(run, ways[i].run_ns);
        span = fmin(span, ways[i].span_ns);
    }
    double left = fmax(0, best->left_ns - XFW_RUN_ERROR * span_ns);
    double wider = xfw_unsure_of_ns(whatif, span_ns - ways[XFW_LIKELY].span_ns, span_ns);
    return (struct xfw_up_to){
        .run_ns =
            fmin(xfw_ways_saving(whatif, ways).high, run_ns - fmin(run, least_of(whatif, best))),
        .span_ns = fmin(span_ns - span + wider + best->error_ns, span_ns - fmin(span, left)),
    };
}

void xfw_ways_up_to(struct xfw_whatif *whatif, size_t i, const struct xfw_way ways[XFW_CERTAINTIES])
{
    const struct xfw_up_to up_to = up_to_of(whatif, ways);
    whatif->up_to[i].run_ns = fmax(whatif->up_to[i].run_ns, up_to.run_ns); /* NAN is less */
    whatif->up_to[i].span_ns = fmax(whatif->up_to[i].span_ns, up_to.span_ns);
}
