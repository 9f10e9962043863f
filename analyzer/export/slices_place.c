#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/path.h"
#include "analyzer/export/slices.h"

#define MOST_GPUS 4096
#define GPU_PID 8388608 /* numbers beyond those that Linux gives to processes */

#define MOST_RUNNING 64 /* copies of one direction at a time */

/* ---- numbers and names ----------------------------------------------------------------------- */

static void declare(struct xfa_export *export, struct xfa_export_track *track)
{
    struct xfa_slices *slices = export->self;
    track->number = ++slices->numbers;
    slices->sink->track(export, track);
}

/* Text of others is part of it. */
__attribute__((format(printf, 3, 4))) static void
name_track(const struct xfa_export *export, struct xfa_export_track *track, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = xfa_vprint(format, arguments);
    va_end(arguments);
    if (strlen(text) > 100)
        text[100] = 0;
    char *made = xfa_words_made(export->words.form, text);
    if (strlen(made) >= sizeof track->name) { /* escapes made it long */
        free(made);
        made = xfa_words_made(export->words.form, "(a long name)");
    }
    strcpy(track->name, made); /* NOLINT: it fits */
    free(made);
    free(text);
}

/* ---- GPUs ------------------------------------------------------------------------------------ */

static int gpu_pid(int gpu)
{
    return GPU_PID + gpu;
}

/* Of each GPU, the one that is not known first: itself, then its engines. */
static uint64_t *gpu_slot(struct xfa_slices *slices, int gpu, unsigned place)
{
    size_t number = (size_t)(gpu >= 0 && gpu < MOST_GPUS ? gpu + 1 : 0);
    size_t index = number * (XFA_ENGINES + 1) + place;
    slices->gpus = xfa_grown(slices->gpus, &slices->gpu_capacity, &slices->gpu_count, index,
                             sizeof *slices->gpus);
    return &slices->gpus[index];
}

/* The track of a GPU itself; -1: of one that is not known. */
static uint64_t track_of_gpu(struct xfa_export *export, int gpu)
{
    const struct xfa_run *run = export->analysis->run;
    uint64_t *slot = gpu_slot(export->self, gpu, 0);
    if (*slot)
        return *slot;
    struct xfa_export_track track = {.kind = XFA_TRACK_GPU, .pid = gpu_pid(gpu)};
    const char *name = gpu >= 0 && (size_t)gpu < run->gpu_count ? run->gpus[gpu].name : NULL;
    const char *host = name && run->host_count > 1 ? run->hosts[run->gpus[gpu].host].name : NULL;
    if (gpu < 0)
        name_track(export, &track, "a GPU that is not known");
    else
        name_track(export, &track, "GPU %d%s%s%s%s", gpu, name ? ": " : "", name ? name : "",
                   host ? " in " : "", host ? host : "");
    declare(export, &track);
    return *gpu_slot(export->self, gpu, 0) = track.number;
}

static const char *engine_words(unsigned engine, char text[32])
{
    static const char *const words[] = {
        [XFA_ENGINE_KERNELS] = "kernels",
        [XFA_ENGINE_MEMSETS] = "memsets",
        [XFA_ENGINE_MIGRATIONS] = "managed memory's migrations",
        [XFA_ENGINE_FAULTS] = "managed memory's faults",
    };
    if (engine >= XFA_ENGINE_KERNELS)
        return words[engine];
    snprintf(text, 32, "%s copies", xft_direction_word(engine - XFA_ENGINE_COPIES));
    return text;
}

static uint64_t engine_track(struct xfa_export *export, int gpu, unsigned engine)
{
    char text[32];
    uint64_t parent = track_of_gpu(export, gpu);
    uint64_t number = *gpu_slot(export->self, gpu, 1 + engine);
    if (number)
        return number;
    struct xfa_export_track track = {
        .kind = XFA_TRACK_GROUP, .parent = parent, .pid = gpu_pid(gpu)};
    name_track(export, &track, "%s", engine_words(engine, text));
    declare(export, &track);
    return *gpu_slot(export->self, gpu, 1 + engine) = track.number;
}

/* ---- tracks of a process --------------------------------------------------------------------- */

struct strip {
    uint64_t track; /* 0 = not declared */
    unsigned depth;
    uint64_t ends[XFA_NESTING]; /* of the slices that are open, the outermost first */
};

struct placed {
    struct xfa_export_track_key key;
    struct strip *strips; /* XFA_STRIPS of them */
};

static void name_strip(struct xfa_export *export, const struct xfa_process *process,
                       const struct xfa_export_track_key *key, unsigned strip,
                       struct xfa_export_track *track)
{
    char text[32];
    const char *more = strip ? ", meanwhile" : "";
    switch ((enum xfa_sort_of_track)key->sort) {
    case XFA_OF_THREAD:
        name_track(export, track, "thread %d%s", key->tid, more);
        break;
    case XFA_OF_STREAM:
        if (key->engine == XFA_ENGINE_MIGRATIONS || key->engine == XFA_ENGINE_FAULTS ||
            key->id == UINT64_MAX)
            name_track(export, track, "%s of %d%s", engine_words(key->engine, text), process->pid,
                       more);
        else
            name_track(export, track, "%s, stream %llu of %d%s", engine_words(key->engine, text),
                       (unsigned long long)key->id, process->pid, more);
        break;
    case XFA_OF_RANGES:
        name_track(export, track, "ranges of thread %d, level %llu%s", key->tid,
                   (unsigned long long)key->id, more);
        break;
    case XFA_OF_PROCESS_RANGES:
        name_track(export, track, "ranges of the process%s", more);
        break;
    }
}

static uint64_t declare_strip(struct xfa_export *export, const struct xfa_process *process,
                              const struct xfa_export_track_key *key, unsigned strip)
{
    const struct xfa_slices *slices = export->self;
    bool stream = key->sort == XFA_OF_STREAM;
    struct xfa_export_track track = {
        .kind = key->sort == XFA_OF_THREAD && strip == 0 ? XFA_TRACK_THREAD : XFA_TRACK_PLAIN,
        .parent = slices->process_track,
        .pid = stream ? gpu_pid(key->gpu) : slices->pid,
        .tid = key->tid,
        .process = process,
    };
    if (stream)
        track.parent = engine_track(export, key->gpu, key->engine);
    name_strip(export, process, key, strip, &track);
    declare(export, &track);
    return track.number;
}

static struct strip *strips_of(struct xfa_slices *slices, struct xfa_export_track_key *key)
{
    if (slices->placed.count >= XFA_MOST_TRACKS && !xfa_table_get(&slices->placed, key)) {
        key->id = UINT64_MAX;
        key->tid = 0;
    }
    struct placed *placed = xfa_table_put(&slices->placed, key);
    if (!placed->strips)
        placed->strips = xfa_alloc(XFA_STRIPS * sizeof *placed->strips);
    return placed->strips;
}

/* Does it fit behind, or into, what the strip has? */
static bool fits(struct strip *strip, bool nests, uint64_t start_ns, uint64_t end_ns)
{
    while (strip->depth > 0 && strip->ends[strip->depth - 1] <= start_ns)
        strip->depth--;
    if (strip->depth == 0)
        return true;
    return nests && strip->depth < XFA_NESTING && end_ns <= strip->ends[strip->depth - 1];
}

void xfa_slices_place(struct xfa_export *export, const struct xfa_process *process,
                      struct xfa_export_track_key key, struct xfa_export_slice *slice)
{
    struct xfa_slices *slices = export->self;
    struct strip *strips = strips_of(slices, &key);
    unsigned strip = 0;
    bool nests = key.sort == XFA_OF_THREAD;
    while (!slice->instant && strip < XFA_STRIPS &&
           !fits(&strips[strip], nests, slice->start_ns, slice->end_ns))
        strip++;
    if (strip == XFA_STRIPS) {
        slice->instant = true;
        strip = 0;
    }
    if (!strips[strip].track)
        strips[strip].track = declare_strip(export, process, &key, strip);
    if (!slice->instant)
        strips[strip].ends[strips[strip].depth++] = slice->end_ns;
    slice->track = strips[strip].track;
    slice->pid = key.sort == XFA_OF_STREAM ? gpu_pid(key.gpu) : slices->pid;
    slice->tid =
        key.sort == XFA_OF_THREAD && strip == 0 ? key.tid : XFA_STRIP_TID + (int64_t)slice->track;
}

static void free_tracks(struct xfa_slices *slices)
{
    for (size_t i = 0; i < slices->placed.count; i++)
        free(((struct placed *)xfa_table_at(&slices->placed, i))->strips);
    xfa_table_free(&slices->placed);
    xfa_table_free(&slices->counters);
}

/* ---- bandwidth ------------------------------------------------------------------------------- */

struct counter_key {
    int16_t gpu;
    uint16_t direction;
};

struct counter {
    struct counter_key key;
    struct xfa_export_track *track;
    size_t running;
    struct running {
        uint64_t end_ns;
        double rate;
    } copies[MOST_RUNNING]; /* by their ends */
};

static double sum(const struct counter *counter)
{
    double rate = 0;
    for (size_t i = 0; i < counter->running; i++)
        rate += counter->copies[i].rate;
    return rate;
}

static void tell(struct xfa_export *export, const struct counter *counter, uint64_t at_ns)
{
    struct xfa_slices *slices = export->self;
    slices->sink->counter(export, counter->track, at_ns, sum(counter));
}

/* Those that have ended by then; at least one when there is no room for another. */
static void end_copies(struct xfa_export *export, struct counter *counter, uint64_t now_ns)
{
    while (counter->running > 0 &&
           (counter->copies[0].end_ns <= now_ns || counter->running == MOST_RUNNING)) {
        uint64_t end_ns = counter->copies[0].end_ns;
        memmove(counter->copies, counter->copies + 1, --counter->running * sizeof *counter->copies);
        if (end_ns < now_ns)
            tell(export, counter, end_ns);
    }
}

static struct counter *counter_of(struct xfa_export *export, const struct xfa_process *process,
                                  int gpu, unsigned direction)
{
    struct xfa_slices *slices = export->self;
    struct counter_key key = {(int16_t)gpu, (uint16_t)direction};
    struct counter *counter = xfa_table_put(&slices->counters, &key);
    if (counter->track)
        return counter;
    struct xfa_export_track *track = xfa_alloc(sizeof *track);
    *track = (struct xfa_export_track){.kind = XFA_TRACK_COUNTER,
                                       .parent = track_of_gpu(export, gpu),
                                       .pid = gpu_pid(gpu),
                                       .process = process};
    name_track(export, track, "%s GB/s of %d", xft_direction_word(direction), process->pid);
    declare(export, track);
    counter->track = track;
    return counter;
}

void xfa_slices_rate(struct xfa_export *export, const struct xfa_process *process, int gpu,
                     unsigned direction, uint64_t start_ns, uint64_t end_ns, uint64_t bytes)
{
    struct counter *counter = counter_of(export, process, gpu, direction);
    if (start_ns == 0 || end_ns <= start_ns || bytes == 0)
        return;
    end_copies(export, counter, start_ns);
    size_t at = counter->running++;
    for (; at > 0 && counter->copies[at - 1].end_ns > end_ns; at--)
        counter->copies[at] = counter->copies[at - 1];
    counter->copies[at] = (struct running){end_ns, (double)bytes / (double)(end_ns - start_ns)};
    tell(export, counter, start_ns);
}

void xfa_slices_rates_end(struct xfa_export *export)
{
    struct xfa_slices *slices = export->self;
    for (size_t i = 0; i < slices->counters.count; i++) {
        struct counter *counter = xfa_table_at(&slices->counters, i);
        end_copies(export, counter, UINT64_MAX);
        free(counter->track);
        counter->track = NULL;
    }
}

/* ---- a process begins, and ends -------------------------------------------------------------- */

static bool taken(const struct xfa_slices *slices, int pid)
{
    for (size_t i = 0; i < slices->pid_count; i++)
        if (slices->pids[i] == pid)
            return true;
    return false;
}

/* Viewers know processes by that number alone; in containers many are number 1. */
static int own_pid(struct xfa_slices *slices, const struct xfa_process *process)
{
    int pid = process->pid > 0 && process->pid < GPU_PID / 2 ? process->pid : 1;
    for (int more = 0; taken(slices, pid); more++)
        pid = GPU_PID / 2 + (int)process->number + more;
    slices->pids =
        xfa_room(slices->pids, &slices->pid_capacity, slices->pid_count + 1, sizeof *slices->pids);
    slices->pids[slices->pid_count++] = pid;
    return pid;
}

void xfa_slices_begin(struct xfa_export *export, const struct xfa_slices_sink *sink)
{
    struct xfa_slices *slices = export->self;
    slices->sink = sink;
    slices->launched = xfa_alloc(65536 * sizeof *slices->launched);
}

void xfa_slices_process(struct xfa_export *export, struct xfa_process *process)
{
    struct xfa_slices *slices = export->self;
    const char *exe = xfa_base_name(process->exe);
    const char *host =
        process->run->host_count > 1 ? process->run->hosts[process->host].name : NULL;
    free_tracks(slices);
    xfa_table_init(&slices->placed, sizeof(struct xfa_export_track_key), sizeof(struct placed));
    xfa_table_init(&slices->counters, sizeof(struct counter_key), sizeof(struct counter));
    memset(slices->launched, 0, 65536 * sizeof *slices->launched);
    memset(slices->levels, 0, sizeof slices->levels);
    slices->process = process;
    slices->pid = own_pid(slices, process);
    if (slices->sink->process)
        slices->sink->process(export, process);
    struct xfa_export_track track = {
        .kind = XFA_TRACK_PROCESS, .pid = slices->pid, .process = process};
    name_track(export, &track, "%s%s%s%s", *exe ? exe : "process", host ? " on " : "",
               host ? host : "", xfa_export_simulated(export, process) ? ", SIMULATED GPU" : "");
    declare(export, &track);
    slices->process_track = track.number;
}

void xfa_slices_free(struct xfa_export *export)
{
    struct xfa_slices *slices = export->self;
    for (size_t i = 0; i < slices->counters.count; i++)
        free(((struct counter *)xfa_table_at(&slices->counters, i))->track);
    free_tracks(slices);
    free(slices->gpus);
    free(slices->pids);
    free(slices->launched);
    free(slices->range_levels);
}
