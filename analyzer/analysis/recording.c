#include "analyzer/analysis/recording.h"

#include <math.h>

static bool add_process(struct xfa_recording *recording, const struct xfa_process *process,
                        const uint64_t *calls)
{
    bool told = false;
    for (unsigned kind = 1; kind < XFA_EVENT_KINDS; kind++) {
        const struct xfa_cost *cost = &process->costs[kind];
        struct xfa_recording_kind *sum = &recording->kinds[kind];
        if (cost->samples == 0)
            continue;
        told = true;
        sum->samples += cost->samples;
        sum->calls += calls ? calls[kind] : 0;
        sum->took_ns += calls ? (double)cost->ns * (double)calls[kind] : 0;
    }
    return told;
}

static double lasted_ns(const struct xfa_process *process)
{
    uint64_t start = process->start_real_ns, end = process->end_real_ns;
    return start && end > start ? (double)(end - start) : NAN;
}

struct xfa_recording xfa_recording_of(const struct xfa_run *run, const struct xfa_pass *pass)
{
    struct xfa_recording recording = {0};
    for (size_t i = 0; i < run->process_count; i++) {
        const struct xfa_process *process = run->processes[i];
        recording.once_ns += xfa_pass_overhead_ns(pass, process->number);
        if (!add_process(&recording, process, xfa_pass_kinds(pass, process->number)))
            continue;
        recording.told = true;
        recording.processes_ns += lasted_ns(process);
    }
    for (unsigned kind = 1; kind < XFA_EVENT_KINDS; kind++) {
        struct xfa_recording_kind *sum = &recording.kinds[kind];
        sum->ns = sum->calls ? sum->took_ns / (double)sum->calls : NAN;
        recording.took_ns += sum->took_ns;
    }
    return recording;
}
