/*
 * Calls of a recorded run, as recorded and as its unchanged replay has them without what recording
 * cost: for calls_table.py, which lays those of two runs beside each other.
 *
 * usage: played_calls TRACE PROFILE
 *
 * A line for each call, tabs between: process, thread (both from 0, in the order in which they are
 * met), what it is, its site ("-": not known), then in ns from the start of the process's
 * recording: the call's start and its return as recorded, and as replayed, start and end of its
 * work on the device as recorded ("nan": no record), and as replayed. The next three are ns, too:
 * the thread's own time before the call, the call without what it waits for, and what the replay
 * takes to be the time from the end of what it waits for to its return, all of them as replayed.
 * Exit status: 0; 1 it could not be read or replayed; 2 wrong usage.
 */
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/whatif/whatif.h"

struct listing {
    struct xfa_analysis *analysis;
    uint32_t process;
};

static const char *what_of(const struct xfw_op *op)
{
    static const char *const whats[] = {
        [XFW_CALL] = "call",         [XFW_COPY] = "copy",     [XFW_SET] = "memset",
        [XFW_KERNEL] = "launch",     [XFW_GRAPH] = "graph",   [XFW_HOST_FUNCTION] = "function",
        [XFW_PREFETCH] = "prefetch", [XFW_RECORD] = "record", [XFW_WAIT] = "stream-wait",
        [XFW_QUERY] = "query",       [XFW_RANGE] = "range",   [XFW_MESSAGE] = "message",
        [XFW_MEETING] = "meeting"};
    if (op->kind == XFT_EVENT_GRAPH_CALL)
        return op->memory == XFT_GRAPH_INSTANTIATED ? "instantiate"
               : op->memory == XFT_GRAPH_UPDATED    ? "update"
               : op->memory == XFT_GRAPH_DESTROYED  ? "destroy"
                                                    : "graph-call";
    if (op->what == XFW_CALL)
        return xft_event_word(op->kind);
    return whats[op->what];
}

static const char *site_of(const struct listing *listing, const struct xfw_op *op)
{
    const struct xfa_run *run = listing->analysis->run;
    const struct xfa_classes *classes = &listing->analysis->classes;
    if (op->site < xfa_run_site_count(run))
        return xfa_run_site(run, op->site)->text;
    if (op->class >= classes->classes.count)
        return "-";
    const struct xfa_row *row =
        xfa_analysis_row(listing->analysis, xfa_class_at(classes, op->class)->row);
    return row->site ? row->site->text : "-";
}

static void begin(void *self, struct xfa_process *process)
{
    struct listing *listing = self;
    listing->process = process->number;
}

static void list(void *self, const struct xfw_op *op, const struct xfw_op *recorded,
                 const struct xfw_schedule *schedule)
{
    const struct listing *listing = self;
    const struct xfw_last_op *last = xfw_schedule_last(schedule);
    if (!recorded || op->what == XFW_RANGE)
        return;
    printf("%u\t%u\t%s\t%s\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\n",
           listing->process, op->thread, what_of(op), site_of(listing, op), op->start_ns,
           op->end_ns, last->call, xfw_schedule_thread_now(schedule, op->thread),
           op->device_start_ns, op->device_end_ns, last->start, last->end, op->gap_ns, op->own_ns,
           op->wake_ns);
}

static void after(void *self, uint32_t stream, double ns)
{
}

static void end(void *self, struct xfa_process *process, const struct xfw_schedule *schedule,
                double total_ns)
{
}

static void complain(const char *line)
{
    fprintf(stderr, "%s\n", line);
}

int main(int argc, char **argv)
{
    char error[512] = "";
    if (argc != 3) {
        fputs("usage: played_calls TRACE PROFILE\n", stderr);
        return 2;
    }
    struct xfp_profile *profile = xfp_read_file(argv[2], error, sizeof error);
    if (!profile) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    struct xfa_request request = {.path = argv[1], .profile = profile, .profile_path = argv[2]};
    struct listing listing = {.analysis = xfa_analysis_new(&request)};
    xfa_analysis_add(listing.analysis, argv[1], complain);
    xfa_analysis_finish(listing.analysis);
    struct xfw_tap tap = {&listing, begin, list, after, end};
    char *why = xfw_whatif_tap(listing.analysis, NULL, NULL, 0, &tap);
    if (why)
        fprintf(stderr, "%s\n", why);
    int status = why || listing.analysis->run->process_count == 0;
    free(why);
    xfa_analysis_free(listing.analysis);
    xfp_free(profile);
    return status;
}
