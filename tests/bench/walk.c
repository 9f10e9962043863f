/*
 * Reads a run and does nothing with it, for scale.sh: what reading alone takes.
 *
 * usage: walk open | lanes | merge RUN
 *
 *   open   opens each file: checks sums, reads names
 *   lanes  and streams the events lane by lane
 *   merge  and streams them in the order of time
 *
 * One file after the other. Prints "events transfers ns KiB": the events met, TRANSFERs among them,
 * the processor time of the process, and its peak memory.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "analyzer/read/merge.h"
#include "tests/analyzer/lab/lossy.h"

struct tally {
    uint64_t events, transfers;
};

static void take_batch(void *context, const struct xfa_batch *batch)
{
    struct tally *tally = context;
    tally->events += batch->rows;
    for (size_t i = 0; i < batch->rows; i++)
        tally->transfers += batch->events[i].kind == XFT_EVENT_TRANSFER;
}

static bool merge_all(struct xfa_trace *trace, struct tally *tally)
{
    const struct xfa_merged *events;
    struct xfa_merge *merge = xfa_merge_new(trace);
    uint64_t last_ns = 0;
    bool right = true;
    for (size_t count; (count = xfa_merge_next_batch(merge, &events)) > 0;) {
        tally->events += count;
        for (size_t i = 0; i < count; i++) {
            tally->transfers += events[i].event->kind == XFT_EVENT_TRANSFER;
            right &= last_ns <= events[i].event->start_ns;
            last_ns = events[i].event->start_ns;
        }
    }
    xfa_merge_free(merge);
    return right;
}

static bool walk(const char *path, const char *how, struct tally *tally)
{
    char error[512];
    bool right = true;
    struct xfa_trace *trace = xfa_trace_open(path, error, sizeof error);
    if (!trace) {
        fprintf(stderr, "walk: %s\n", error);
        return false;
    }
    if (strcmp(how, "lanes") == 0)
        xfa_trace_events(trace, take_batch, tally);
    else if (strcmp(how, "merge") == 0)
        right = merge_all(trace, tally);
    if (!right)
        fprintf(stderr, "walk: %s: out of order\n", path);
    right = right && !is_lossy(trace);
    xfa_trace_close(trace);
    return right;
}

int main(int argc, char **argv)
{
    struct tally tally = {0};
    char error[512];
    size_t files = 0;
    if (argc != 3) {
        fprintf(stderr, "usage: walk open|lanes|merge RUN\n");
        return 2;
    }
    char **names = xfa_run_files(argv[2], &files, error, sizeof error);
    bool right = files > 0;
    for (size_t i = 0; i < files; i++)
        right = walk(names[i], argv[1], &tally) && right;
    xfa_run_files_free(names, files);
    struct timespec used;
    struct rusage usage;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    getrusage(RUSAGE_SELF, &usage);
    printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %ld\n", tally.events, tally.transfers,
           (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec, usage.ru_maxrss);
    return right ? 0 : 1;
}
