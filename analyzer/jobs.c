#include "analyzer/jobs.h"

#include <sys/stat.h>

#include "analyzer/base/crew.h"
#include "analyzer/base/forked_team.h"
#include "analyzer/read/read.h"
#include "probe/machine/machine_host.h"

/* Fewer read what each needs of the others in the time that they save (measured with three: a third
 * less time than one, at half as much again of processor time). */
#define LEAST_MEMBERS 4
#define LEAST_BYTES ((uint64_t)8 << 20) /* less takes a second or so (a guess) */
/* What a member takes: of processes of a million transfers an eighth of all traces was measured. */
#define MEMBER_BYTES ((uint64_t)64 << 20)
#define MEMBER_PART 8

struct xfa_jobs_work xfa_jobs_work(const char *const *traces, size_t count)
{
    struct xfa_jobs_work work = {.processors = xfa_processors(),
                                 .available = xfp_available_memory("")};
    char error[512];
    for (size_t i = 0; i < count; i++) {
        size_t found = 0;
        char **files = xfa_run_files(traces[i], &found, error, sizeof error);
        for (size_t f = 0; f < found; f++) {
            struct stat status;
            work.files++;
            work.bytes += stat(files[f], &status) == 0 ? (uint64_t)status.st_size : 0;
        }
        xfa_run_files_free(files, found);
    }
    return work;
}

uint32_t xfa_jobs_members(const struct xfa_jobs_work *work)
{
    uint64_t room = work->available / 2 / (MEMBER_BYTES + work->bytes / MEMBER_PART);
    uint64_t members = work->processors;
    if (members > work->files)
        members = work->files;
    if (members > room)
        members = room;
    return members < LEAST_MEMBERS || work->bytes < LEAST_BYTES ? 1 : (uint32_t)members;
}

void xfa_jobs_begin(struct xfa_analyze_options *options)
{
    uint32_t members = options->alone ? 1 : options->jobs;
    if (members == 0) {
        struct xfa_jobs_work work = xfa_jobs_work(options->traces, options->trace_count);
        members = xfa_jobs_members(&work);
    }
    options->team = members > 1 ? xfa_forked_team(members) : NULL;
    if (!options->team)
        return;
    xfa_processors_share(members);
    options->memory /= members;
}
