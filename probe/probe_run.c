/*
 * A run of the probe: from options to a profile.
 */
#define _GNU_SOURCE /* sigaction */

#include "bench/bench.h"
#include "device/buffer.h"
#include "machine/machine.h"
#include "machine/machine_host.h"
#include "machine/nvml.h"
#include "progress.h"
#include "resume.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "common/text.h"
static volatile sig_atomic_t stop_asked;
static volatile uint64_t stop_asked_ns;

bool xfp_interrupted(void)
{
    return stop_asked;
}

/* Once is a request; a second time, half a second later or more, the signal does what it always
 * does. (timeout(1) and some shells send it twice at once.) */
static void on_signal(int number)
{
    uint64_t now = xfp_wall_ns();

    if (!stop_asked)
        stop_asked_ns = now;
    stop_asked = 1;
    if (now - stop_asked_ns < 500000000u)
        return;
    signal(number, SIG_DFL);
    raise(number);
}

static const int ending[] = {SIGINT, SIGTERM, SIGHUP};

enum { ENDING = sizeof(ending) / sizeof(ending[0]) };

/* What is ignored (nohup, a shell's background) stays so. */
static void catch_signals(bool on, struct sigaction old[ENDING])
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    for (int i = 0; i < ENDING; i++) {
        if (on && sigaction(ending[i], NULL, &old[i]))
            continue;
        if (old[i].sa_handler != SIG_IGN)
            sigaction(ending[i], on ? &action : &old[i], NULL);
    }
}

uint64_t xfp_wall_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int xfp_fail(struct xfp_session *s, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(s->error, sizeof(s->error), format, args);
    va_end(args);
    return -1;
}

int xfp_check(struct xfp_session *s, xcu_result result, const char *what)
{
    return result ? xfp_fail(s, "%s: %s", what, xfp_driver_reason(s->cu, result)) : 0;
}

void xfp_warn(struct xfp_session *s, const char *format, ...)
{
    struct xfp_profile *p = s->profile;
    char line[400], **warnings;
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    for (size_t i = 0; i < p->warning_count; i++)
        if (!strcmp(p->warnings[i], line))
            return;
    warnings = realloc(p->warnings, (p->warning_count + 1) * sizeof(*warnings));
    if (!warnings)
        return;
    p->warnings = warnings;
    warnings[p->warning_count] = strdup(line);
    p->warning_count += warnings[p->warning_count] != NULL;
}

static char *now_text(void)
{
    char text[32];
    time_t now = time(NULL);
    struct tm utc;

    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    return strdup(text);
}

static int make_profile(struct xfp_session *s)
{
    s->profile = calloc(1, sizeof(*s->profile));
    if (!s->profile)
        return xfp_fail(s, "out of memory");
    s->profile->created = now_text();
    s->profile->producer = strdup("xferscope " XFERSCOPE_VERSION);
    s->profile->rules = (struct xfp_rules){.known = true,
                                           .paper = s->options->paper,
                                           .flushed = s->options->flush,
                                           .verified = s->options->verify};
    return xfp_describe_machine(s);
}

/* Mapped, so that the memory of sizes never reached is never used. */
static int make_pattern(struct xfp_session *s, uint64_t most)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;

    if (most > xfp_available_memory("") / 3)
        return xfp_fail(s,
                        "not enough memory: sizes to %llu bytes need three times that, choose "
                        "with --sizes",
                        (unsigned long long)most);
    s->most_bytes = most;
    s->pattern = mmap(NULL, most, PROT_READ | PROT_WRITE, flags, -1, 0);
    s->check = mmap(NULL, most, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (s->pattern == MAP_FAILED || s->check == MAP_FAILED)
        return xfp_fail(s, "out of memory");
    xfp_pattern(s->pattern, most);
    return 0;
}

/* A sweep of copies. Nine benchmarks of one GPU: at most 23 s, or 2 s when quick. */
#define BENCH_S 2.5
#define CHECKPOINT_NS 3000000000u
#define PAPER_POINT_S 3.0 /* two forms of a second each, and what is not sampling */
#define QUICK_BENCH_S 0.22

static double budget_s(const struct xfp_session *s, const struct xfp_bench *bench)
{
    const struct xfp_family *family = bench->family;

    if (family->budget_s > 0)
        return s->options->quick ? family->quick_budget_s : family->budget_s;
    return s->options->quick ? QUICK_BENCH_S : BENCH_S;
}

/* The limit is for measuring: describing and allocating come on top, and are short. What the
 * sweeps of copies share is planned by points, the others have budgets of their own. */
static void start_clock(struct xfp_session *s, const struct xfp_bench_list *list, size_t sizes)
{
    double usual = 0, own = 0, limit;

    for (size_t i = 0; i < list->count; i++) {
        double budget = budget_s(s, &list->items[i]);

        usual += budget;
        if (list->items[i].family->budget_s > 0)
            own += budget;
        else
            s->points_planned += sizes;
    }
    if (s->options->paper)
        usual = own + PAPER_POINT_S * (double)s->points_planned;
    limit = s->options->time_limit_s > 0 ? s->options->time_limit_s : usual;
    s->budget_scale = usual > 0 ? limit / usual : 1;
    s->reserved_ns = (uint64_t)(own * s->budget_scale * 1e9);
    s->started_ns = xfp_wall_ns();
    s->deadline_ns = s->started_ns + (uint64_t)(limit * 1e9);
    /* a slow machine may take longer for the fewest samples, unless its user set the limit; how
     * fast a machine is simulated says nothing at all */
    s->give_up_ns = s->deadline_ns + (s->options->time_limit_s > 0 ? 0 : (uint64_t)(usual * 2e9));
    if (s->cu->simulated_now_ns && !(s->options->time_limit_s > 0))
        s->give_up_ns = UINT64_MAX;
}

/* Takes a benchmark's own budget out of what is reserved. */
static void start_budget(struct xfp_session *s, const struct xfp_bench *bench)
{
    uint64_t own = (uint64_t)(budget_s(s, bench) * s->budget_scale * 1e9);

    if (bench->family->budget_s <= 0)
        return;
    s->reserved_ns -= own < s->reserved_ns ? own : s->reserved_ns;
    s->bench_deadline_ns = xfp_wall_ns() + own;
    if (s->bench_deadline_ns > s->deadline_ns)
        s->bench_deadline_ns = s->deadline_ns;
}

/* One line for a failure, even when it is every benchmark's (a busy GPU). */
static void complain(struct xfp_session *s, const char *name, const char *why, char *last)
{
    xfp_progress_clear(s);
    if (strcmp(why, last)) {
        xfc_print(stderr, "xferscope probe: %s: %s\n", name, why);
        snprintf(last, sizeof(s->error), "%s", why);
    }
    xfp_warn(s, "%s: %s", name, why);
}

static void run_one(struct xfp_session *s, const struct xfp_bench *bench,
                    struct xfp_probe_outcome *outcome, char *last)
{
    size_t before = s->results;
    int bad;

    s->notice[0] = '\0';
    bad = xfp_wall_ns() < s->give_up_ns ? xfp_bench_run(s, bench)
                                        : xfp_fail(s, "not measured: the time limit is over");
    xfp_see_links(s, bench);
    outcome->measured += s->results > before;
    outcome->failed += bad || *s->notice;
    if (bad)
        complain(s, bench->name, s->error, last);
    else if (*s->notice)
        complain(s, bench->name, s->notice, last);
}

static void note_time(struct xfp_session *s)
{
    double before = s->options->resume ? s->options->resume->rules.seconds : 0;

    s->profile->rules.seconds = before + (double)(xfp_wall_ns() - s->started_ns) / 1e9;
}

/*
 * Between two benchmarks, for whoever is killed: the profile so far, marked as interrupted, so that
 * --resume can go on with it; nothing before there is something. A file that cannot be written is
 * tried no more.
 */
static void keep_checkpoint(struct xfp_session *s, const struct xfp_probe_outcome *outcome)
{
    struct xfp_profile *p = s->profile;
    uint64_t now = xfp_wall_ns(), last = s->checkpoint_ns ? s->checkpoint_ns : s->started_ns;
    /* what is simulated depends on no clock of this machine */
    uint64_t interval = s->cu->simulated_now_ns ? 0 : CHECKPOINT_NS;
    size_t warnings = p->warning_count;
    char error[200];

    if (!s->options->checkpoint || s->checkpoint_failed || !outcome->measured ||
        now - last < interval)
        return;
    s->checkpoint_ns = now;
    note_time(s);
    xfp_warn(s, "interrupted: %zu of %zu benchmarks", outcome->measured, outcome->selected);
    s->checkpoint_failed = xfp_save(p, s->options->checkpoint, error, sizeof(error)) != 0;
    if (p->warning_count > warnings)
        free(p->warnings[--p->warning_count]);
}

static void run_all(struct xfp_session *s, const struct xfp_bench_list *list,
                    struct xfp_probe_outcome *outcome)
{
    uint64_t sizes[64];
    size_t count = xfp_sweep_sizes(s->options, sizes, 64), planned = 0;
    char last[sizeof(s->error)] = "";

    start_clock(s, list, count);
    for (size_t i = 0; i < list->count && !xfp_interrupted(); i++) {
        s->bench_at = i + 1;
        s->bench_count = list->count;
        start_budget(s, &list->items[i]);
        run_one(s, &list->items[i], outcome, last);
        keep_checkpoint(s, outcome);
        planned += list->items[i].family->budget_s > 0 ? 0 : count;
        s->points_done = planned;
    }
    xfp_progress_clear(s);
    xfp_judge_gpus(s);
    note_time(s);
    outcome->interrupted = xfp_interrupted();
    if (outcome->interrupted)
        xfp_warn(s, "interrupted: %zu of %zu benchmarks", outcome->measured, outcome->selected);
}

static void close_session(struct xfp_session *s)
{
    xfp_nvml_close();
    for (size_t i = 0; i < s->device_count; i++)
        xfp_device_close(s, &s->devices[i]);
    if (s->pattern && s->pattern != MAP_FAILED)
        munmap(s->pattern, s->most_bytes);
    if (s->check && s->check != MAP_FAILED)
        munmap(s->check, s->most_bytes);
    free(s->devices);
    free(s->numa_nodes);
}

static int select_benches(struct xfp_session *s, struct xfp_bench_list *list)
{
    int device = s->options->device;

    if (device >= (int)s->device_count)
        return xfp_fail(s, "--device %d: this machine has %zu GPU(s), numbered from 0", device,
                        s->device_count);
    if (xfp_bench_select(s, list))
        return -1;
    return list->count ? 0 : xfp_fail(s, "no benchmark matches (--list names them)");
}

static int prepare(struct xfp_session *s, struct xfp_bench_list *list)
{
    s->cu = xfp_driver_open(s->error, sizeof(s->error));
    return !s->cu || make_profile(s) || select_benches(s, list) ? -1 : 0;
}

int xfp_probe_list(const struct xfp_probe_options *options, FILE *out, char *error,
                   size_t error_bytes)
{
    struct xfp_session s = {.options = options};
    struct xfp_bench_list list = {0};
    int bad = prepare(&s, &list);

    if (bad)
        snprintf(error, error_bytes, "%s", s.error);
    for (size_t i = 0; i < list.count && !bad; i++)
        fprintf(out, "%-36s %s\n", list.items[i].name, list.items[i].family->summary);
    free(list.items);
    close_session(&s);
    xfp_free(s.profile);
    return bad;
}

struct xfp_profile *xfp_probe_run(const struct xfp_probe_options *options,
                                  struct xfp_probe_outcome *outcome, char *error,
                                  size_t error_bytes)
{
    struct xfp_session s = {.options = options};
    struct xfp_bench_list list = {0};
    struct sigaction old[ENDING];
    int bad = prepare(&s, &list);

    *outcome = (struct xfp_probe_outcome){.selected = list.count};
    if (!bad && options->resume)
        bad = xfp_resume_check(&s, options->resume);
    if (!bad && options->resume)
        outcome->measured = xfp_resume_skip(&s, options->resume, &list);
    if (!bad)
        bad = make_pattern(&s, options->max_bytes);
    if (!bad) {
        stop_asked = 0;
        catch_signals(true, old);
        run_all(&s, &list, outcome);
        if (options->resume && xfp_resume_merge(&s, options->resume))
            xfp_warn(&s, "%s", s.error);
        close_session(&s);
        catch_signals(false, old);
    } else {
        close_session(&s);
        snprintf(error, error_bytes, "%s", s.error);
        xfp_free(s.profile);
        s.profile = NULL;
    }
    free(list.items);
    return s.profile;
}
