#include "analyzer/together.h"

#include <stdlib.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/base/files.h"
#include "analyzer/whatif/together/together.h"

enum { MOST_PROFILE = 1 << 30 };

bool xfa_is_shared(const struct xfa_analyze_options *options)
{
    return !options->gate_format && !options->compare && !options->per_transfer &&
           !options->replay && !options->play;
}

/* FNV-1a. */
static uint64_t hash_of(const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash;
}

static void put_process(struct xfa_parcel *parcel, const struct xfa_process *process)
{
    xfa_parcel_text(parcel, process->file ? process->file : "");
    xfa_parcel_number(parcel, (uint64_t)process->pid);
    xfa_parcel_number(parcel, process->start_real_ns);
    xfa_parcel_number(parcel, process->start_mono_ns);
    xfa_parcel_number(parcel, process->end_mono_ns);
    xfa_parcel_number(parcel, process->events);
}

static void put_profile(struct xfa_parcel *parcel, const struct xfa_machine_profile *machine)
{
    const char *why;
    size_t bytes = 0;
    char *text = machine->profile && machine->path
                     ? xfa_read_whole(machine->path, MOST_PROFILE, &bytes, &why)
                     : NULL;
    xfa_parcel_number(parcel, machine->profile != NULL);
    xfa_parcel_number(parcel, text ? hash_of(text, bytes) : 0);
    free(text);
}

static bool agree(const struct xfa_run *run, struct xfa_parcel *parcel)
{
    uint64_t hash = hash_of(parcel->bytes, parcel->count);
    xfa_parcel_free(parcel);
    return xfa_team_agrees(run->team, &hash, sizeof hash);
}

static struct xfa_parcel files_of(const struct xfa_run *run,
                                  const struct xfa_machine_profile *machine)
{
    struct xfa_parcel parcel = {0};
    xfa_parcel_number(&parcel, run->process_count);
    xfa_parcel_number(&parcel, run->unreadable_count);
    for (size_t i = 0; i < run->process_count; i++)
        put_process(&parcel, run->processes[i]);
    put_profile(&parcel, machine);
    return parcel;
}

bool xfa_together_same_files(const struct xfa_analysis *analysis,
                             const struct xfa_machine_profile *machine)
{
    struct xfa_parcel parcel = files_of(analysis->run, machine);
    return agree(analysis->run, &parcel);
}

bool xfa_together_agree(const struct xfa_analysis *analysis,
                        const struct xfa_machine_profile *machine)
{
    const struct xfa_run *run = analysis->run;
    struct xfa_parcel parcel = files_of(run, machine);
    xfa_parcel_number(&parcel, analysis->classes.classes.count);
    xfa_parcel_number(&parcel, analysis->row_count);
    xfa_parcel_number(&parcel, run->sites.count);
    xfa_parcel_number(&parcel, analysis->lossy);
    for (size_t i = 0; i < run->process_count; i++) {
        xfa_parcel_number(&parcel, run->processes[i]->losses != NULL);
        xfa_parcel_number(&parcel, analysis->transfers[i]);
    }
    return agree(run, &parcel);
}

bool xfa_together_share(struct xfa_analysis *analysis, const struct xfw_gather *gather)
{
    struct xfa_run *run = analysis->run;
    bool messages = xfa_team_any(run->team, gather && xfw_gather_has_messages(gather));
    run->whole = xfw_together_is_asked(analysis);
    return messages && !run->whole;
}
