/*
 * Launches of one kernel, or of a short sequence of kernels, that a thread makes again and again in
 * one stream, each time for another piece of the data: what one launch over all pieces could do.
 * For the finding (findings/launch_bound.c) and its change (batch_launches.c), which so see the
 * same ones.
 *
 * A run is such launches, one behind the other. It is known by the kernels' names alone: up to
 * XFW_PIECE_MOST of them that came twice, or once where they did the last time. A run's pieces
 * stand for themselves as far as the record shows: no pointer that a launch of one was given and
 * may write through was given to a launch of another piece, and each launch was given such a
 * pointer. Within a piece memory may be passed on. A launch that does not keep to that begins a new
 * run. Where it is not known what a launch was given, or whether it writes there, a run goes on
 * only where all that is taken at its best.
 *
 * Of fewer pieces than XFW_PIECES_LEAST little is saved: they are left as they are. How many follow
 * on the first one is known from the last time, or once they have come.
 *
 * Memory: for each thread that makes such launches a table of constant size. A run whose pointers
 * do not fit there ends.
 */
#ifndef XFW_PIECES_H
#define XFW_PIECES_H

#include "analyzer/whatif/changes/memories.h"

#define XFW_PIECE_MOST 4   /* kernels of a piece */
#define XFW_PIECES_LEAST 8 /* a guess */
#define XFW_PIECE_THREADS 64
#define XFW_PIECE_NAMES 256      /* a power of two */
#define XFW_PIECE_POINTERS 4096u /* places; a power of two */

struct xfw_piece_launch {
    uint64_t stream; /* a number, or a handle */
    int gpu;         /* -1: not known */
    uint64_t name, arguments;
};

struct xfw_place_in_pieces {
    bool is;        /* the launch of another piece makes it, too */
    unsigned which; /* of its piece's launches */
};

struct xfw_pieces {
    bool at_best; /* what is not known is taken so. For the caller to set */
    struct xfw_signatures signatures;
    struct xfw_piece_name {
        uint64_t name;
        uint32_t pieces[XFW_PIECE_MOST + 1]; /* by period: of the last run that it was in */
    } names[XFW_PIECE_NAMES];
    struct xfw_piece_thread {
        struct xfw_piece_launch last[2 * XFW_PIECE_MOST]; /* by count */
        uint64_t count;
        uint32_t alike[XFW_PIECE_MOST + 1]; /* by period: so many in a row as one period before */
        unsigned period;                    /* of the run; 0: there is none */
        uint32_t run;                       /* its number: marks what is in the table */
        uint32_t launches;                  /* of the run, so far */
        bool apart;                         /* its first piece stands for itself */
        bool merges;                        /* the piece at hand goes with those before it */
        uint32_t pointers;                  /* of the run */
        struct xfw_piece_pointer *table;    /* owned; NULL: none yet */
    } threads[XFW_PIECE_THREADS];
};
/* A zeroed one begins with a process; frees what it owns. */
void xfw_pieces_free(struct xfw_pieces *pieces);

/* The thread's next launch. */
struct xfw_place_in_pieces xfw_pieces_next(struct xfw_pieces *pieces,
                                           const struct xfa_process *process, uint32_t thread,
                                           const struct xfw_piece_launch *launch);
/* Would it be made with another piece's, if it is given memory of its own? */
bool xfw_pieces_goes_on(const struct xfw_pieces *pieces, uint32_t thread,
                        const struct xfw_piece_launch *launch);
/* The thread waits, works, or calls something else. */
void xfw_pieces_break(struct xfw_pieces *pieces, uint32_t thread);

#endif
