#include "analyzer/run/run.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/read/asleep.h"
#include "analyzer/run/process.h"
#include "analyzer/run/resolve.h"

#define MAX_ARGUMENTS 4096

struct xfa_run *xfa_run_new(const char *path)
{
    struct xfa_run *run = xfa_alloc(sizeof *run);
    run->path = xfa_kept(path, strlen(path));
    run->oldest_minor = -1;
    xfa_shelf_init(&run->shelf);
    xfa_table_init(&run->sites, sizeof(uint64_t), sizeof(struct xfa_run_site));
    xfa_table_init(&run->functions, sizeof(uint64_t), sizeof(struct xfa_run_function));
    xfa_table_init(&run->lines, sizeof(uint64_t), sizeof(struct xfa_run_line));
    return run;
}

/* ---- the program ------------------------------------------------------------------------- */

static void take_arguments(struct xfa_run *run, const char *line)
{
    size_t capacity = run->argument_count;
    while (line && run->argument_count < MAX_ARGUMENTS) {
        size_t length = strcspn(line, "\x1f");
        run->arguments =
            xfa_room(run->arguments, &capacity, run->argument_count + 1, sizeof *run->arguments);
        run->arguments[run->argument_count++] = xfa_kept(line, length);
        line = line[length] ? line + length + 1 : NULL;
    }
}

static void forget_program(struct xfa_run *run)
{
    for (size_t i = 0; i < run->argument_count; i++)
        free(run->arguments[i]);
    free(run->arguments);
    free(run->program);
    free(run->hostname);
    run->arguments = NULL;
    run->program = run->hostname = NULL;
    run->argument_count = 0;
}

static void take_program(struct xfa_run *run, const struct xfa_trace *trace)
{
    forget_program(run);
    run->program = xfa_meta_kept(trace, "exe");
    run->hostname = xfa_meta_kept(trace, "hostname");
    take_arguments(run, xfa_trace_meta(trace, "cmdline"));
    const char *version = xfa_trace_meta(trace, "cuda.driver_version");
    long number = version ? strtol(version, NULL, 10) : 0;
    run->driver_version = number > 0 && number < INT_MAX ? (int)number : 0;
}

/* ---- hosts, GPUs ------------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static uint32_t host_of(struct xfa_run *run, char *name, char *boot)
{
    for (size_t i = 0; i < run->host_count; i++) {
        if (same_text(run->hosts[i].name, name) && same_text(run->hosts[i].boot, boot)) {
            free(name);
            free(boot);
            return (uint32_t)i;
        }
    }
    run->hosts = xfa_room(run->hosts, &run->host_capacity, run->host_count + 1, sizeof *run->hosts);
    run->hosts[run->host_count] = (struct xfa_host){.name = name, .boot = boot};
    return (uint32_t)run->host_count++;
}

static int gpu_of(struct xfa_run *run, uint32_t host, char *name, char *uuid, int ordinal)
{
    for (size_t i = 0; i < run->gpu_count; i++) {
        const struct xfa_gpu *gpu = &run->gpus[i];
        bool same = uuid || gpu->uuid ? same_text(gpu->uuid, uuid)
                                      : gpu->ordinal == ordinal && same_text(gpu->name, name);
        if (gpu->host == host && same) {
            free(name);
            free(uuid);
            return (int)i;
        }
    }
    run->gpus = xfa_room(run->gpus, &run->gpu_capacity, run->gpu_count + 1, sizeof *run->gpus);
    run->gpus[run->gpu_count] = (struct xfa_gpu){name, uuid, host, ordinal};
    return (int)run->gpu_count++;
}

/* Ordinals from 0 on, up to the first that the trace says nothing of. Numbers beyond those of the
 * run's GPUs, and INT16_MAX of them, stay what they are. */
static void take_gpus(struct xfa_run *run, struct xfa_process *process)
{
    for (int i = 0; i < XFA_PROCESS_GPUS; i++)
        process->gpus[i] = (int16_t)i;
    for (int i = 0; i < XFA_PROCESS_GPUS && run->gpu_count < INT16_MAX; i++) {
        char key[32];
        snprintf(key, sizeof key, "gpu.%d.name", i);
        char *name = xfa_meta_kept(process->trace, key);
        snprintf(key, sizeof key, "gpu.%d.uuid", i);
        char *uuid = xfa_meta_kept(process->trace, key);
        if (!name && !uuid)
            return;
        process->gpus[i] = (int16_t)gpu_of(run, process->host, name, uuid, i);
        process->gpu_count = i + 1;
    }
}

/* ---- processes --------------------------------------------------------------------------- */

static bool is_first(const struct xfa_run *run, const struct xfa_process *process)
{
    for (size_t i = 0; i < run->process_count; i++)
        if (process->start_real_ns >= run->processes[i]->start_real_ns)
            return false;
    return true;
}

static uint64_t clock_offset(const struct xfa_run *run, const struct xfa_process *process)
{
    for (size_t i = 0; process->clock && i < run->process_count; i++)
        if (same_text(run->processes[i]->clock, process->clock))
            return run->processes[i]->clock_offset;
    return process->start_real_ns - process->start_mono_ns;
}

static struct xfa_process *add(struct xfa_run *run, struct xfa_trace *trace)
{
    if (!trace)
        return NULL;
    xfa_trace_resolve(trace);
    struct xfa_process *process = xfa_process_new(run, trace);
    process->number = (uint32_t)run->process_count;
    process->host = host_of(run, xfa_meta_kept(trace, "hostname"), xfa_meta_kept(trace, "boot_id"));
    process->clock_offset = clock_offset(run, process);
    take_gpus(run, process);
    run->simulated = run->simulated || process->simulated;
    if (process->minor >= 0 && (run->oldest_minor < 0 || process->minor < run->oldest_minor))
        run->oldest_minor = process->minor;
    if (is_first(run, process))
        take_program(run, trace);
    run->processes = xfa_room(run->processes, &run->process_capacity, run->process_count + 1,
                              sizeof(struct xfa_process *));
    run->processes[run->process_count++] = process;
    return process;
}

struct xfa_process *xfa_run_open(struct xfa_run *run, const char *file, char *error,
                                 size_t error_bytes)
{
    struct xfa_process *process = add(run, xfa_trace_open(file, error, error_bytes));
    if (process)
        process->path = xfa_text(file);
    return process;
}

struct xfa_process *xfa_run_open_heads(struct xfa_run *run, const char *file, char *error,
                                       size_t error_bytes)
{
    return add(run, xfa_trace_open_heads(file, error, error_bytes));
}

struct xfa_process *xfa_run_open_bytes(struct xfa_run *run, const void *data, size_t bytes,
                                       char *error, size_t error_bytes)
{
    struct xfa_process *process = add(run, xfa_trace_open_bytes(data, bytes, error, error_bytes));
    if (process) {
        process->data = data;
        process->data_bytes = bytes;
    }
    return process;
}

/* ---- once more --------------------------------------------------------------------------- */

static struct xfa_trace *open_anew(const struct xfa_process *process, char *error,
                                   size_t error_bytes)
{
    struct xfa_trace *trace =
        process->path
            ? xfa_trace_open(process->path, error, error_bytes)
            : xfa_trace_open_bytes(process->data, process->data_bytes, error, error_bytes);
    if (trace)
        xfa_trace_resolve(trace);
    return trace;
}

static struct xfa_trace *open_again(struct xfa_process *process, bool events, char *error,
                                    size_t error_bytes)
{
    struct xfa_trace *trace = process->asleep;
    bool unnamed = trace && trace->names_gone;
    process->asleep = NULL;
    if (trace && xfa_trace_wake(trace, events)) {
        if (unnamed)
            xfa_trace_resolve(trace);
        return trace;
    }
    xfa_trace_close(trace);
    return open_anew(process, error, error_bytes);
}

bool xfa_process_reopen(struct xfa_process *process, bool events, char *error, size_t error_bytes)
{
    struct xfa_trace *trace = open_again(process, events, error, error_bytes);
    if (!trace)
        return false;
    if (trace->header.pid != process->pid ||
        trace->header.start_mono_ns !=
            (process->periods ? process->periods->start_ns : process->start_mono_ns)) {
        snprintf(error, error_bytes, "%s: is another file now", process->file);
        xfa_trace_close(trace);
        return false;
    }
    xfa_process_take_trace(process, trace);
    return true;
}

/* ---- shares of a team ------------------------------------------------------------------------ */

/* What opening a file costs, in events. */
#define FILE_EVENTS 1000

void xfa_process_share(struct xfa_process *process)
{
    struct xfa_run *run = process->run;
    uint32_t least = 0;
    if (!run->team || process->shared)
        return;
    if (!run->loads)
        run->loads = xfa_alloc(run->team->count * sizeof *run->loads);
    for (uint32_t i = 1; i < run->team->count; i++)
        if (run->loads[i] < run->loads[least])
            least = i;
    run->loads[least] = xfa_add(run->loads[least], xfa_add(process->events, FILE_EVENTS));
    process->share = least;
    process->shared = true;
}

/* ---- what cannot be read --------------------------------------------------------------------- */

void xfa_run_unreadable(struct xfa_run *run, const char *line)
{
    run->unreadable = xfa_room(run->unreadable, &run->unreadable_capacity,
                               run->unreadable_count + 1, sizeof *run->unreadable);
    run->unreadable[run->unreadable_count++] = xfa_kept(line, strlen(line));
}

/* ---- the run as a whole ------------------------------------------------------------------- */

const struct xfa_site *xfa_run_site(const struct xfa_run *run, uint32_t number)
{
    return ((struct xfa_run_site *)xfa_table_at(&run->sites, number))->site;
}

const struct xfa_function *xfa_run_function(const struct xfa_run *run, uint32_t number)
{
    return ((struct xfa_run_function *)xfa_table_at(&run->functions, number))->function;
}

uint64_t xfa_run_function_identity(const struct xfa_run *run, uint32_t number)
{
    return ((struct xfa_run_function *)xfa_table_at(&run->functions, number))->identity;
}

const struct xfa_function *xfa_run_find_function(const struct xfa_run *run, uint64_t identity)
{
    const struct xfa_run_function *kept = xfa_table_get(&run->functions, &identity);
    return kept ? kept->function : NULL;
}

const struct xfa_site *xfa_run_find_site(const struct xfa_run *run, uint64_t identity)
{
    const struct xfa_run_site *kept = xfa_table_get(&run->sites, &identity);
    return kept ? kept->site : NULL;
}

size_t xfa_run_site_count(const struct xfa_run *run)
{
    return run->sites.count;
}

uint64_t xfa_run_start_real_ns(const struct xfa_run *run)
{
    uint64_t first = 0;
    for (size_t i = 0; i < run->process_count; i++) {
        uint64_t start = run->processes[i]->start_real_ns;
        first = start && (first == 0 || start < first) ? start : first;
    }
    return first;
}

double xfa_run_wall_ns(const struct xfa_run *run)
{
    uint64_t first = xfa_run_start_real_ns(run), last = 0;
    for (size_t i = 0; i < run->process_count; i++)
        last = run->processes[i]->end_real_ns > last ? run->processes[i]->end_real_ns : last;
    return first && last > first ? (double)(last - first) : 0;
}

bool xfa_run_lossy(const struct xfa_run *run)
{
    bool lossy = run->unreadable_count > 0;
    for (size_t i = 0; i < run->process_count; i++)
        lossy = lossy || run->processes[i]->losses;
    return lossy;
}

const char *const *xfa_run_lacks(const struct xfa_run *run)
{
    static const char *const by_minor[XFA_LACKS + 1] = {
        "managed memory's moves, NVTX ranges, contents",
        "launches, streams, events, memsets and queries as calls",
        NULL,
    };
    int minor = run->oldest_minor;
    return by_minor + (minor < 0 || minor > XFA_LACKS ? XFA_LACKS : minor);
}

void xfa_run_free(struct xfa_run *run)
{
    if (!run)
        return;
    forget_program(run);
    for (size_t i = 0; i < run->process_count; i++)
        xfa_process_free(run->processes[i]);
    for (size_t i = 0; i < run->host_count; i++) {
        free(run->hosts[i].name);
        free(run->hosts[i].boot);
    }
    for (size_t i = 0; i < run->gpu_count; i++) {
        free(run->gpus[i].name);
        free(run->gpus[i].uuid);
    }
    for (size_t i = 0; i < run->unreadable_count; i++)
        free(run->unreadable[i]);
    for (size_t i = 0; i < run->sites.count; i++)
        xfa_site_free(((struct xfa_run_site *)xfa_table_at(&run->sites, i))->site);
    for (size_t i = 0; i < run->functions.count; i++) {
        struct xfa_run_function *kept = xfa_table_at(&run->functions, i);
        free(kept->function->name);
        free(kept->function);
    }
    xfa_shelf_free(&run->shelf);
    xfa_table_free(&run->sites);
    xfa_table_free(&run->functions);
    xfa_table_free(&run->lines);
    free(run->processes);
    free(run->loads);
    free(run->hosts);
    free(run->gpus);
    free(run->unreadable);
    free(run->path);
    free(run);
}
