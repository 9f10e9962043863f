/*
 * A run as slices on tracks, for formats that viewers draw: calls on the tracks of their threads,
 * what GPUs did on tracks of their engines and streams, ranges of the program, bandwidth as
 * counters, and flows from calls to what the device did for them.
 *
 * Tracks are declared before their first use. On a track slices do not overlap but where one lies
 * within another, on those of threads: what would (times that were converted, graphs, hostile
 * traces) goes to a further strip of the track, and beyond XFA_STRIPS of them becomes an instant,
 * with its length among the notes. They come in the order of their starts, those of ranges when
 * they end.
 *
 * Moments are ns of the wall clock. Memory: the tracks of one process (at most XFA_MOST_TRACKS, the
 * rest shares one per sort) and what is under way at one time.
 */
#ifndef XFA_SLICES_H
#define XFA_SLICES_H

#include "analyzer/export/columns.h"

#define XFA_STRIPS 8
#define XFA_NESTING 32
#define XFA_MOST_TRACKS 16384
#define XFA_NOTES 16
#define XFA_STRIP_TID 1073741824 /* + a track: numbers beyond those of threads */

enum xfa_export_track_kind {
    XFA_TRACK_PROCESS,
    XFA_TRACK_THREAD,
    XFA_TRACK_GPU,
    XFA_TRACK_GROUP, /* has no slices of its own */
    XFA_TRACK_PLAIN,
    XFA_TRACK_COUNTER, /* GB/s */
};

struct xfa_export_track {
    enum xfa_export_track_kind kind;
    uint64_t number, parent; /* from 1 on; parent 0: none */
    int pid;                 /* of a process: its own, or another where two have the same */
    int tid;                 /* of a thread */
    char name[192];          /* in the words' form: JSON has its quotes */
    const struct xfa_process *process; /* NULL: a GPU's */
};

/* A text with a number of its own, never 0, among those of the process. */
struct xfa_name {
    uint64_t number;
    const char *text; /* in the words' form */
};

struct xfa_note {
    const char *key;
    struct xfa_value value;
    uint64_t number; /* of a text or word: as of names, but of their own; 0: it has none */
};

struct xfa_export_slice {
    uint64_t track;
    int pid; /* of the track, as is the next; GPUs have numbers no process has */
    int64_t tid;
    uint64_t start_ns, end_ns; /* the same: an instant */
    bool instant;
    struct xfa_name name;
    const char *category;
    uint64_t flow; /* 0 = none */
    bool arrives;  /* it is what the flow leads to */
    const struct xfa_note *notes;
    size_t note_count;
};

/* What a format does with them. */
struct xfa_slices_sink {
    void (*process)(struct xfa_export *export, const struct xfa_process *process);
    void (*track)(struct xfa_export *export, const struct xfa_export_track *track);
    void (*slice)(struct xfa_export *export, const struct xfa_export_slice *slice);
    void (*counter)(struct xfa_export *export, const struct xfa_export_track *track, uint64_t at_ns,
                    double value);
};

/* Of a run; begins with the format's self. */
struct xfa_slices {
    const struct xfa_slices_sink *sink;
    uint64_t numbers; /* of tracks, given so far */
    uint64_t *gpus;   /* the run's tracks of GPUs and their engines */
    size_t gpu_count, gpu_capacity;
    struct xfa_table placed; /* of the process at hand */
    uint64_t process_track;
    int pid;
    int *pids; /* of the run's processes */
    size_t pid_count, pid_capacity;
    uint32_t *launched;    /* correlations of calls, by their lower bits */
    uint8_t *range_levels; /* by slot (ranges.h), of those of the process */
    size_t level_count, level_capacity;
    uint32_t levels[XFA_NESTING + 1]; /* so many of these are open on each */
    const struct xfa_process *process;
    struct xfa_table counters; /* of the process at hand, as the two before */
};

/* The functions of a format whose self begins with a struct xfa_slices. */
void xfa_slices_begin(struct xfa_export *export, const struct xfa_slices_sink *sink);
void xfa_slices_process(struct xfa_export *export, struct xfa_process *process);
void xfa_slices_event(struct xfa_export *export, const struct xfa_event *event);
void xfa_slices_transfer(struct xfa_export *export, const struct xfa_event *event);
void xfa_slices_copy(struct xfa_export *export, const struct xfa_event *event);
void xfa_slices_unended(struct xfa_export *export, const struct xfa_range *range, uint64_t end_ns);
void xfa_slices_end(struct xfa_export *export, struct xfa_process *process);
void xfa_slices_free(struct xfa_export *export);

/* ---- slices_place.c: between the two files ------------------------------------------------ */

enum xfa_engine {
    XFA_ENGINE_COPIES, /* + enum xft_direction */
    XFA_ENGINE_KERNELS = XFA_ENGINE_COPIES + XFT_DIRECTION_COUNT,
    XFA_ENGINE_MEMSETS,
    XFA_ENGINE_MIGRATIONS,
    XFA_ENGINE_FAULTS,
    XFA_ENGINES
};

/* Where a slice goes: a thread's track, or a GPU's. */
struct xfa_export_track_key {
    uint8_t sort; /* enum xfa_sort_of_track */
    uint8_t engine;
    int16_t gpu;
    int32_t tid;
    uint64_t id; /* of a stream; strip of a range */
};
enum xfa_sort_of_track { XFA_OF_THREAD, XFA_OF_STREAM, XFA_OF_RANGES, XFA_OF_PROCESS_RANGES };

/* Fills in the slice's track, or makes it an instant. */
void xfa_slices_place(struct xfa_export *export, const struct xfa_process *process,
                      struct xfa_export_track_key key, struct xfa_export_slice *slice);

/* A copy begins: the bandwidth of its direction changes, here and when copies end. */
void xfa_slices_rate(struct xfa_export *export, const struct xfa_process *process, int gpu,
                     unsigned direction, uint64_t start_ns, uint64_t end_ns, uint64_t bytes);
void xfa_slices_rates_end(struct xfa_export *export);

#endif
