#include "analyzer/whatif/ops/pieces.h"

#include "analyzer/whatif/ops/recorded.h"

/* 0: the newest. */
static const struct xfw_piece *piece_at(const struct xfw_pieces *pieces, unsigned ago)
{
    return &pieces->ring[(pieces->next - 1 - ago) % XFW_PIECES];
}

void xfw_pieces_note(struct xfw_pieces *pieces, double start, double end)
{
    double last = xfw_max(end, piece_at(pieces, 0)->last);
    pieces->ring[pieces->next++ % XFW_PIECES] = (struct xfw_piece){start, end, last};
}

/* Most pieces come in the order of their ends, so that the newest ones decide. */
double xfw_pieces_ready(const struct xfw_pieces *pieces, double start)
{
    double last = 0;
    for (unsigned ago = 0; ago < XFW_PIECES && piece_at(pieces, ago)->last > last; ago++) {
        double end = piece_at(pieces, ago)->end;
        if (end <= start + XFW_ROUNDING_NS && end > last)
            last = end;
    }
    return last;
}

bool xfw_pieces_apart(const struct xfw_pieces *pieces, double start, double end)
{
    for (unsigned ago = 0; ago < XFW_PIECES; ago++) {
        const struct xfw_piece *piece = piece_at(pieces, ago);
        if (piece->last <= start + XFW_ROUNDING_NS)
            return true;
        if (piece->end > start + XFW_ROUNDING_NS && piece->start < end - XFW_ROUNDING_NS)
            return false;
    }
    return true;
}

double xfw_pieces_within(const struct xfw_pieces *pieces, double start, double end)
{
    double sum = 0;
    for (unsigned ago = 0; ago < XFW_PIECES && piece_at(pieces, ago)->last > start; ago++) {
        const struct xfw_piece *piece = piece_at(pieces, ago);
        sum += xfw_max(0, xfw_min(piece->end, end) - xfw_max(piece->start, start));
    }
    return xfw_min(sum, end - start);
}
