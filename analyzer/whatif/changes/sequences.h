/*
 * Calls of a thread that only submit work, one behind the other, as sequences that come again: what
 * one CUDA graph could launch. For the finding (findings/launch_bound.c) and its change
 * (launch_graphs.c), which so see the same ones.
 *
 * A stretch is what a thread submits to one GPU without a wait, or work of its own, in between. A
 * call of it repeats where the same one came behind the same calls before it in a stretch: the last
 * XFW_SEQUENCE_BEHIND, or all since the stretch began. Repeating calls in a row are one graph, up
 * to XFW_GRAPH_NODES, then to its end at the next round. So it is known as calls come, without
 * those behind. A call that was another one the last time begins a new graph. Of
 * fewer kernels than XFW_GRAPH_LEAST a graph would save little: it is none. How many follow on the
 * first call is known from the last time, or once they have come.
 *
 * Memory: constant, of a process.
 */
#ifndef XFW_SEQUENCES_H
#define XFW_SEQUENCES_H

#include <stdbool.h>
#include <stdint.h>

#define XFW_SEQUENCE_BEHIND 8
#define XFW_SEQUENCE_SLOTS 2048 /* a power of two */
#define XFW_SEQUENCE_THREADS 64 /* of others nothing repeats */
#define XFW_SEQUENCE_STREAMS 8  /* of one graph */
#define XFW_GRAPH_LEAST 4       /* a guess: of fewer, one kernel is as easily made */
#define XFW_GRAPH_NODES 64
#define XFW_GRAPH_MOST_NODES 1024

/* One call. */
struct xfw_submission {
    uint64_t what;   /* a number for what it does, where: xfw_sequence_mix() */
    uint64_t with;   /* the same of what it is given */
    uint64_t stream; /* a number, or a handle */
    int gpu;         /* -1: not known */
    bool launches;   /* a kernel, or what fills memory as one does */
};

struct xfw_place_in_graph {
    bool is;      /* it repeats: of a graph */
    bool begins;  /* of its stream the first one there */
    bool changed; /* it is given something else than the last time */
    bool grown;   /* no graph that began so had so many nodes before */
};

struct xfw_sequences {
    struct xfw_sequence_slot {
        uint64_t behind, what; /* what came behind what, the last time */
        uint32_t times;        /* in a row; 0: nothing yet */
    } calls[XFW_SEQUENCE_SLOTS], given[XFW_SEQUENCE_SLOTS];
    struct xfw_graph_size {
        uint64_t begins;
        uint32_t most; /* nodes of the largest one */
        uint32_t last; /* kernels of the last one */
    } sizes[XFW_SEQUENCE_SLOTS];
    struct xfw_submitting {
        uint64_t behind, behind_given; /* 0: nothing, it begins */
        uint64_t begins;               /* the graph: its first call, and what is behind */
        uint32_t nodes;                /* of the graph; 0: there is none */
        uint32_t kernels;              /* of these nodes */
        bool few;                      /* kernels: it is none */
        uint64_t streams[XFW_SEQUENCE_STREAMS];
        unsigned stream_count;
        int gpu;
    } threads[XFW_SEQUENCE_THREADS];
};

/* A zeroed one begins with a process. */
static inline uint64_t xfw_sequence_mix(uint64_t sum, uint64_t more)
{
    sum = (sum ^ more) * 0x9e3779b97f4a7c15u;
    return sum ^ sum >> 29;
}

/* The thread's next call. */
struct xfw_place_in_graph xfw_sequences_next(struct xfw_sequences *sequences, uint32_t thread,
                                             const struct xfw_submission *call);
/* Would it be of the graph that the thread is in? */
bool xfw_sequences_goes_on(const struct xfw_sequences *sequences, uint32_t thread,
                           const struct xfw_submission *call);
/* The thread waits, works, or calls something else. */
void xfw_sequences_break(struct xfw_sequences *sequences, uint32_t thread);

#endif
