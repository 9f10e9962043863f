#include "analyzer/run/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/units.h"
#include "analyzer/base/path.h"
#include "analyzer/read/asleep.h"

char *xfa_meta_kept(const struct xfa_trace *trace, const char *key)
{
    const char *value = xfa_trace_meta(trace, key);
    return value && *value ? xfa_kept(value, strlen(value)) : NULL;
}

/* ---- one process's words ------------------------------------------------------------------- */

struct known_stack {
    uint32_t stack; /* key */
    const struct xfa_site *site;
    const struct xfa_function *runtime_function; /* of this very stack; NULL = none */
};

static const struct xfa_function *keep_function(struct xfa_run *run, const char *name,
                                                unsigned level)
{
    uint64_t identity = XXH3_64bits_withSeed(name, strlen(name), level);
    struct xfa_run_function *kept = xfa_table_put(&run->functions, &identity);
    if (!kept->function) {
        struct xfa_function *function = xfa_alloc(sizeof *function);
        function->name = xfa_text(name);
        function->level = (uint8_t)level;
        function->number = (uint32_t)run->functions.count - 1;
        kept->function = function;
    }
    return kept->function;
}

#define MOST_STACKS 65536 /* that are looked at for helpers; sites of others name no caller */

/* Finds the lines that have several sites, which then name their callers. This is done before any
 * site is looked up, so that the text of a site never changes. */
static void find_helpers(struct xfa_process *process)
{
    const struct xfa_table *stacks = &process->trace->names.stacks;
    struct xfa_run *run = process->run;
    for (size_t i = 0; i < stacks->count && i < MOST_STACKS; i++) {
        const struct xfa_stack *stack = xfa_table_at(stacks, i);
        struct xfa_site_identity of = xfa_site_identify(&run->shelf, process->trace, stack->id);
        struct xfa_run_line *line = xfa_table_put(&run->lines, &of.line);
        line->several = line->several || (line->identity && line->identity != of.identity);
        line->identity = of.identity;
    }
}

static const struct xfa_site *keep_site(struct xfa_run *run, struct xfa_site *site)
{
    struct xfa_run_site *kept = xfa_table_put(&run->sites, &site->identity);
    if (kept->site) {
        run->shelf.frames -= site->frame_count;
        xfa_site_free(site);
    } else {
        kept->site = site;
        site->number = (uint32_t)run->sites.count - 1;
        const struct xfa_run_line *line = xfa_table_get(&run->lines, &site->line);
        if (line && line->several)
            xfa_site_name_caller(site);
    }
    return kept->site;
}

static void note_lookup(struct xfa_process *process, uint32_t id, bool of_call)
{
    process->lookups = xfa_room(process->lookups, &process->lookup_capacity,
                                process->lookup_count + 1, sizeof *process->lookups);
    process->lookups[process->lookup_count++] = (struct xfa_lookup){id, (uint32_t)of_call};
}

static const struct known_stack *look_up(struct xfa_process *process, uint32_t stack)
{
    struct xfa_run *run = process->run;
    size_t before = run->sites.count + run->functions.count;
    bool first = process->stacks.count == 0;
    if (first)
        find_helpers(process);
    struct known_stack *known = xfa_table_put(&process->stacks, &stack);
    if (known->site)
        return known;
    struct xfa_site *site = xfa_site_new(&run->shelf, process->trace, stack);
    if (site->runtime_function)
        known->runtime_function = keep_function(run, site->runtime_function, XFT_LEVEL_RUNTIME);
    known->site = keep_site(run, site);
    if (first || run->sites.count + run->functions.count > before)
        note_lookup(process, stack, false);
    return known;
}

const struct xfa_site *xfa_process_site(struct xfa_process *process, uint32_t stack)
{
    return look_up(process, stack)->site;
}

const struct xfa_function *xfa_process_runtime_function(struct xfa_process *process, uint32_t stack)
{
    return look_up(process, stack)->runtime_function;
}

const struct xfa_function *xfa_process_function(struct xfa_process *process, unsigned call)
{
    if (call < process->call_count && process->calls[call])
        return process->calls[call];
    size_t before = process->run->functions.count;
    const struct xfa_call *named = xfa_trace_call(process->trace, call);
    process->calls = xfa_grown(process->calls, &process->call_capacity, &process->call_count, call,
                               sizeof(const struct xfa_function *));
    process->calls[call] = named ? keep_function(process->run, named->name, named->level)
                                 : keep_function(process->run, "(unknown function)", 0);
    if (process->run->functions.count > before)
        note_lookup(process, call, true);
    return process->calls[call];
}

void xfa_process_look_up(struct xfa_process *process, const struct xfa_lookup *lookups,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (lookups[i].of_call)
            xfa_process_function(process, lookups[i].id);
        else
            look_up(process, lookups[i].id);
    }
}

uint64_t xfa_process_wall_ns(const struct xfa_process *process, uint64_t ns)
{
    uint64_t wall = ns + process->clock_offset;
    bool back = process->clock_offset > INT64_MAX; /* the wall clock is behind the other */
    if (ns == 0)
        return 0;
    if (back ? wall >= ns : wall < ns)
        return back ? 1 : INT64_MAX;
    return wall == 0 ? 1 : wall < INT64_MAX ? wall : INT64_MAX;
}

/* ---- its rank -------------------------------------------------------------------------------- */

static bool meta_number(const struct xfa_trace *trace, const char *key, uint32_t *number)
{
    const char *value = xfa_trace_meta(trace, key);
    uint64_t parsed;
    if (!value || !xfa_number(value, &parsed) || parsed > UINT32_MAX)
        return false;
    *number = (uint32_t)parsed;
    return true;
}

static struct xfa_rank rank_of(const struct xfa_trace *trace)
{
    struct xfa_rank rank = {0};
    rank.known = meta_number(trace, "rank", &rank.number);
    if (!rank.known)
        return rank;
    meta_number(trace, "rank.size", &rank.size);
    rank.world = xfa_meta_kept(trace, "rank.world");
    rank.launcher = xfa_meta_kept(trace, "rank.launcher");
    return rank;
}

/* ---- what recording cost --------------------------------------------------------------------- */

/* What a call of the program makes, that of a range included. */
#define MADE_BY_CALLS XFT_KINDS_OF(XFT_OF_CALL | XFT_OF_RANGE)

#define FEW_SAMPLES 3 /* of fewer, one of a call with a new stack is the median */

/* What was timed once or twice costs no more than what was timed more often. */
static void bound_costs(struct xfa_process *process)
{
    uint64_t most = 0;
    for (unsigned kind = 1; kind < XFA_EVENT_KINDS; kind++) {
        const struct xfa_cost *cost = &process->costs[kind];
        most = cost->samples >= FEW_SAMPLES && cost->ns > most ? cost->ns : most;
    }
    for (unsigned kind = 1; most > 0 && kind < XFA_EVENT_KINDS; kind++) {
        struct xfa_cost *cost = &process->costs[kind];
        if (cost->samples < FEW_SAMPLES && cost->ns > most)
            cost->ns = most;
    }
}

static void take_costs(struct xfa_process *process)
{
    for (unsigned kind = 1; kind < XFA_EVENT_KINDS; kind++) {
        const char *word = xft_event_word(kind);
        struct xfa_cost cost;
        char key[64];
        if (!word || !xft_is_one_of(kind, MADE_BY_CALLS))
            continue;
        snprintf(key, sizeof key, "cost.%s.ns", word);
        if (!meta_number(process->trace, key, &cost.ns))
            continue;
        snprintf(key, sizeof key, "cost.%s.n", word);
        if (meta_number(process->trace, key, &cost.samples))
            process->costs[kind] = cost;
    }
    bound_costs(process);
}

/* ---- its life -------------------------------------------------------------------------------- */

/* It began with its first period, and has been without what lay between them. */
static void take_periods(struct xfa_process *process, struct xfa_periods *periods)
{
    process->periods = periods;
    if (!periods)
        return;
    uint64_t from = periods->all[0].from_ns;
    uint64_t late = from > process->start_mono_ns ? from - process->start_mono_ns : 0;
    process->start_real_ns = xfa_add(process->start_real_ns, late);
    process->start_mono_ns += late;
    process->end_mono_ns = process->start_mono_ns + periods->recorded_ns;
}

/* GCC's, LLVM's, Intel's, NVIDIA's; a wheel's copy has more behind the name. */
static bool is_openmp(const char *path)
{
    static const char *const names[] = {"libgomp", "libomp", "libiomp5", "libnvomp"};
    const char *name = xfa_base_name(path);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i]);
        if (strncmp(name, names[i], n) == 0 && (name[n] == '.' || name[n] == '-'))
            return true;
    }
    return false;
}

/* As far as stacks were recorded: else no module is known. */
static bool has_openmp(const struct xfa_trace *trace)
{
    for (size_t i = 0; i < trace->names.module_count; i++)
        if (is_openmp(trace->names.modules[i].path))
            return true;
    return false;
}

struct xfa_process *xfa_process_new(struct xfa_run *run, struct xfa_trace *trace)
{
    const struct xft_file_header *header = &trace->header;
    const char *simulated = xfa_trace_meta(trace, "gpu.simulated");
    const char *file = xfa_base_name(trace->name);
    bool known = header->version_major == XFT_VERSION_MAJOR; /* else its header is damaged */
    struct xfa_process *process = xfa_alloc(sizeof *process);
    *process = (struct xfa_process){
        .file = xfa_kept(file, strlen(file)),
        .pid = header->pid,
        .ppid = header->ppid,
        .exe = xfa_meta_kept(trace, "exe"),
        .exit = xfa_meta_kept(trace, "exit"),
        .closed = header->state == XFT_STATE_CLOSED,
        .simulated = simulated && strcmp(simulated, "1") == 0,
        .openmp = has_openmp(trace),
        .timing = xfa_meta_kept(trace, "timing"),
        .timing_why = xfa_meta_kept(trace, "timing.why"),
        .sampled = xfa_trace_meta(trace, "timing.sampled") != NULL,
        .machine_id = xfa_meta_kept(trace, "machine_id"),
        .recording = xfa_meta_kept(trace, "run"),
        .checks_failed = xfa_meta_kept(trace, "checks.failed"),
        .job = xfa_meta_kept(trace, "job.id"),
        .job_step = xfa_meta_kept(trace, "job.step"),
        .rank = rank_of(trace),
        .minor = known ? (int)header->version_minor : -1,
        .start_real_ns = header->start_real_ns,
        .start_mono_ns = header->start_mono_ns,
        .clock = xfa_meta_kept(trace, "clock"),
        .end_mono_ns = header->end_mono_ns,
        .calls_after_end = header->calls_after_end,
        .run = run,
    };
    for (int i = 0; i < XFT_LOSS_COUNT; i++)
        process->lost[i] = xft_loss_of(header, (enum xft_loss)i);
    take_periods(process, xfa_periods_of(trace));
    process->trace = trace;
    xfa_table_init(&process->stacks, sizeof(uint32_t), sizeof(struct known_stack));
    take_costs(process);
    process->applied = xfa_applied_of(trace, &process->applied_count);
    return process;
}

void xfa_process_take_trace(struct xfa_process *process, struct xfa_trace *trace)
{
    process->trace = trace;
    process->run->asleep_bytes -= process->asleep_bytes;
    process->asleep_bytes = 0;
}

/* How long the process is known to have run: up to the end of recording or, where that is unknown,
 * to its last call. 0 = not known. */
static uint64_t duration(const struct xfa_process *process, uint64_t first_ns, uint64_t last_ns)
{
    uint64_t end = process->end_mono_ns ? process->end_mono_ns : last_ns;
    if (process->start_mono_ns && end > process->start_mono_ns)
        return end - process->start_mono_ns;
    return first_ns && last_ns > first_ns ? last_ns - first_ns : 0;
}

static void forget_names(struct xfa_process *process)
{
    xfa_table_free(&process->stacks);
    free(process->calls);
    process->calls = NULL;
    process->call_count = process->call_capacity = 0;
}

static void go_to_sleep(struct xfa_process *process)
{
    struct xfa_run *run = process->run;
    size_t bytes =
        xfa_trace_bytes(process->trace) + process->stacks.capacity * process->stacks.item_bytes;
    bool names = bytes <= XFA_ASLEEP_MOST && run->asleep_bytes <= XFA_ASLEEP_MOST - bytes;
    if (names) {
        process->asleep_bytes = bytes;
        run->asleep_bytes += bytes;
    } else {
        forget_names(process);
    }
    xfa_trace_sleep(process->trace, names);
    process->asleep = process->trace;
}

void xfa_process_let_go(struct xfa_process *process)
{
    if (process->again && xfa_trace_may_sleep(process->trace)) {
        go_to_sleep(process);
    } else {
        forget_names(process);
        xfa_trace_close(process->trace);
    }
    process->trace = NULL;
}

void xfa_process_close(struct xfa_process *process, uint64_t first_ns, uint64_t last_ns)
{
    uint64_t ns = duration(process, first_ns, last_ns);
    if (ns && process->start_real_ns)
        process->end_real_ns = xfa_add(process->start_real_ns, ns);
    process->loss = process->trace->loss;
    free(process->losses);
    process->losses = xfa_trace_loss_line(process->trace);
    xfa_process_let_go(process);
}

void xfa_process_free(struct xfa_process *process)
{
    xfa_trace_close(process->trace);
    xfa_trace_close(process->asleep);
    forget_names(process);
    free(process->file);
    free(process->path);
    free(process->exe);
    free(process->exit);
    free(process->timing);
    free(process->timing_why);
    free(process->machine_id);
    free(process->recording);
    free(process->checks_failed);
    free(process->job);
    free(process->job_step);
    free(process->applied);
    free(process->lookups);
    free(process->clock);
    free(process->rank.world);
    free(process->rank.launcher);
    free(process->losses);
    free(process->calls_ns);
    free(process->paced);
    free(process->made);
    xfa_periods_free(process->periods);
    free(process);
}
