#include "analyzer/whatif/ops/engines.h"

#include "analyzer/whatif/op/op.h"

void xfw_usual_learn(struct xfw_usual *usual, double ns)
{
    usual->ns = usual->known ? usual->ns + (xfw_min(ns, 4 * usual->ns + 1000) - usual->ns) / 8 : ns;
    usual->known = true;
}

/* 0: the newest. */
static const struct xfw_piece *piece_at(const struct xfw_engine_past *engine, unsigned ago)
{
    return &engine->pieces[(engine->next - 1 - ago) % XFW_PIECES];
}

/* Most pieces come in the order of their ends, so that the newest ones decide. */
double xfw_engine_ready(const struct xfw_engine_past *engine, double start)
{
    double last = 0;
    for (unsigned ago = 0; ago < XFW_PIECES && piece_at(engine, ago)->last > last; ago++) {
        double end = piece_at(engine, ago)->end;
        if (end <= start + XFW_ROUNDING_NS && end > last)
            last = end;
    }
    return last;
}

/* Streams are served as they are ready, not as they were submitted to: looked at is when it ran. */
bool xfw_engine_ran_alone(const struct xfw_engine_past *engine, double start, double end)
{
    for (unsigned ago = 0; ago < XFW_PIECES; ago++) {
        const struct xfw_piece *piece = piece_at(engine, ago);
        if (piece->last <= start + XFW_ROUNDING_NS)
            return true;
        if (piece->end > start + XFW_ROUNDING_NS && piece->start < end - XFW_ROUNDING_NS)
            return false;
    }
    return true;
}

double xfw_engine_busy_within(const struct xfw_engine_past *engine, double start, double end)
{
    double sum = 0;
    for (unsigned ago = 0; ago < XFW_PIECES && piece_at(engine, ago)->last > start; ago++) {
        const struct xfw_piece *piece = piece_at(engine, ago);
        sum += xfw_max(0, xfw_min(piece->end, end) - xfw_max(piece->start, start));
    }
    return xfw_min(sum, end - start);
}

void xfw_engine_note(struct xfw_engine_past *engine, double start, double end)
{
    double last = xfw_max(end, piece_at(engine, 0)->last);
    engine->pieces[engine->next++ % XFW_PIECES] = (struct xfw_piece){start, end, last};
}
