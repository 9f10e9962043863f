/*
 * When the engines of a GPU were busy, as recorded, and what was usual of late. Times are ns.
 * Private to ops/.
 */
#ifndef XFW_ENGINES_H
#define XFW_ENGINES_H

#include <stdbool.h>

#define XFW_ROUNDING_NS 2000.0 /* device times are converted to the host's clock, and round */
#define XFW_PIECES 64          /* of an engine's work that are remembered */

/* What was usual of late; new ones count an eighth. Zeroed at first. */
struct xfw_usual {
    double ns;
    bool known;
};
void xfw_usual_learn(struct xfw_usual *usual, double ns);

static inline double xfw_usual_or(const struct xfw_usual *usual, double ns)
{
    return usual->known ? usual->ns : ns;
}

struct xfw_engine_past { /* zeroed at first */
    struct xfw_piece {
        double start, end;
        double last;      /* end by then: of this piece and of all that were noted before it */
    } pieces[XFW_PIECES]; /* a ring */
    unsigned next;
    struct xfw_usual latency, space, lead;
};
void xfw_engine_note(struct xfw_engine_past *engine, double start, double end);

/* When it came free for what began at `start`: the last end before; 0 = it was never busy. */
double xfw_engine_ready(const struct xfw_engine_past *engine, double start);

/* It did nothing else from start to end. */
bool xfw_engine_ran_alone(const struct xfw_engine_past *engine, double start, double end);

/* How much of start..end it did something else. */
double xfw_engine_busy_within(const struct xfw_engine_past *engine, double start, double end);

#endif
