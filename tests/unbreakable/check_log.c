/*
 * Compares the one trace of a run with the program's log (call_log.h). Every call that had returned
 * is there once, in order, whole; of calls that had not returned, at most one per thread.
 *
 * usage: check_log RUN LOG exact | killed | ended | lossy
 * exact   nothing else is there and nothing is lost
 * killed  nothing is lost
 * ended   by exit while threads went on: what they did after the end is counted as lost
 * lossy   all ended well but there was no room for the trace: what is not there is counted as lost,
 *         no more and no less (host times only: of device times there may be losses, too)
 *
 * Copies that a signal handler makes while it interrupts another are not recorded: of those there
 * may be fewer.
 *
 * Prints what is wrong in one line and exits with 1, or how many copies were found. It reads traces
 * with the recorder's tests' own reader.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/record/decode.h"
#include "preload/format/segments.h"
#include "tests/unbreakable/call_log.h"

static struct call_log calls;
static uint64_t found[LOG_THREADS], found_handled, found_buffers;
static bool lossy;

static void wrong(const char *what, unsigned long long a, unsigned long long b)
{
    printf("%s (%llu, %llu)\n", what, a, b);
    exit(1);
}

static void read_log(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file || fread(&calls, sizeof calls, 1, file) != 1)
        wrong("cannot read the log", 0, 0);
    fclose(file);
}

static void find_trace(const char *run, char *path, size_t bytes)
{
    DIR *directory = opendir(run);
    struct dirent *entry;
    unsigned count = 0;
    while (directory && (entry = readdir(directory)))
        if (entry->d_name[0] != '.' && ++count == 1)
            snprintf(path, bytes, "%s/%s", run, entry->d_name);
    if (directory)
        closedir(directory);
    if (count != 1)
        wrong("files in the run directory, 1 wanted", count, 1);
}

static int thread_of(uint64_t buffer)
{
    for (int i = 0; i < LOG_THREADS; i++)
        if (calls.buffer[i] == buffer)
            return i;
    return -1;
}

/* A process killed while it writes a segment leaves a torn end of the file: what the segment was to
 * hold still lies in a slab. Damage before sound segments is something else. */
static void check_damage(const char *path, bool torn_end)
{
    FILE *file = fopen(path, "rb");
    struct xft_view view;
    if (!file || fseek(file, 0, SEEK_END) != 0)
        wrong("the trace cannot be read", 0, 0);
    size_t size = (size_t)ftell(file);
    unsigned char *bytes = malloc(size);
    rewind(file);
    if (!bytes || fread(bytes, 1, size, file) != size)
        wrong("the trace cannot be read", size, 0);
    fclose(file);
    struct xft_walk walk = {.file = bytes, .size = size, .at = XFT_HEADER_BYTES};
    while (xft_walk_next(&walk, &view))
        if (walk.damage.places > 0)
            wrong("damage before a segment that is sound", view.offset, size);
    if (walk.damage.places > 0 && !torn_end)
        wrong("the trace's end is damaged", size, 0);
    free(bytes);
}

/* Events come in the order of their lane, and a lane is one thread's. */
static void count_copies(const struct decoded *trace)
{
    for (size_t i = 0; i < trace->count; i++) {
        const struct xft_event *event = &trace->events[i].event;
        if (event->kind == XFT_EVENT_ALLOC && thread_of(event->dst) >= 0)
            found_buffers++;
        if (event->kind != XFT_EVENT_TRANSFER)
            continue;
        if (event->dst == LOG_HANDLER) {
            found_handled++;
            continue;
        }
        int thread = thread_of(event->dst);
        if (thread < 0)
            wrong("a copy to no thread's buffer", event->dst, i);
        bool next =
            lossy ? event->bytes - 1 < LOG_SIZES : event->bytes == logged_bytes(found[thread]);
        if (!next || event->width != event->bytes || event->direction != XFT_DIR_H2D ||
            event->status != 0 || event->end_ns < event->start_ns)
            wrong("a copy that is not the thread's next", (unsigned)thread, found[thread]);
        found[thread]++;
    }
}

enum { OF_ITSELF = 4 }; /* of a thread, at most */

static uint64_t check_threads(bool exact, uint64_t lost)
{
    uint64_t all = 0, missing = 0, buffers = 0;
    for (unsigned i = 0; i < LOG_THREADS; i++) {
        if (found[i] > calls.returned[i] + !exact)
            wrong("a thread has copies that it did not make", i, found[i]);
        missing += found[i] < calls.returned[i] ? calls.returned[i] - found[i] : 0;
        all += found[i];
        buffers += calls.buffer[i] != 0;
    }
    if (missing > lost)
        wrong("copies are missing and not counted", missing, lost);
    /* What the recorder tells of itself (OVERHEAD: a slab, a stack) may be lost as well, and
     * counts. */
    uint64_t gone = missing + buffers - found_buffers;
    if (lossy && (lost < gone || lost > gone + (uint64_t)OF_ITSELF * buffers))
        wrong("another number is counted as lost than is missing", missing, lost);
    return all;
}

int main(int argc, char **argv)
{
    char path[4096];
    if (argc != 4)
        wrong("usage: check_log RUN LOG exact|killed|ended|lossy", 0, 0);
    lossy = strcmp(argv[3], "lossy") == 0;
    bool exact = strcmp(argv[3], "exact") == 0, ended = strcmp(argv[3], "ended") == 0;
    read_log(argv[2]);
    find_trace(argv[1], path, sizeof path);
    struct decoded *trace = decode_file(path);
    if (!trace)
        wrong("the trace cannot be read", 0, 0);
    check_damage(path, !exact && !ended);
    if (!decode_is_complete(trace))
        wrong("the trace has gaps", trace->count, 0);
    if (!ended && !lossy && trace->header.events_lost != 0)
        wrong("events lost", trace->header.events_lost, 0);
    if (!lossy && (trace->header.state == XFT_STATE_CLOSED) != (exact || ended))
        wrong("the trace's state", trace->header.state, 0);
    count_copies(trace);
    if (found_handled > calls.handled)
        wrong("copies by a signal handler that it did not make", found_handled, calls.handled);
    if (ended && found[0] != calls.returned[0])
        wrong("the thread that ended the process lacks copies", found[0], calls.returned[0]);
    printf("%llu\n", (unsigned long long)check_threads(exact, trace->header.events_lost +
                                                                  trace->header.calls_after_end));
    decode_free(trace);
    return 0;
}
