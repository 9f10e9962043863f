#include "analyzer/run/recordings.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/path.h"
#include "analyzer/base/table.h"
#include "analyzer/run/function_name.h"

#define APART_NS UINT64_C(60000000000) /* that calendars of two hosts may be */
#define NAMED 3
#define MOST 4096 /* recordings; more are not looked at */

struct recording {
    uint64_t key;
    const struct xfa_process *first;  /* to begin */
    const struct xfa_process *ranked; /* one that knows its rank; NULL: none */
    const struct xfa_process *of_job; /* one that knows its job; NULL: none */
    uint64_t from_ns, to_ns;          /* by the calendar */
    uint64_t same;                    /* number of another of the same run; its own: none before */
};

/* ---- what is known of each ------------------------------------------------------------------- */

static void take(struct recording *recording, const struct xfa_process *process)
{
    uint64_t from = process->start_real_ns;
    uint64_t to = process->end_real_ns > from ? process->end_real_ns : from;
    bool first = recording->first == NULL;
    if (first || from < recording->from_ns)
        recording->first = process;
    recording->from_ns = first || from < recording->from_ns ? from : recording->from_ns;
    recording->to_ns = first || to > recording->to_ns ? to : recording->to_ns;
    if (!recording->ranked && process->rank.known)
        recording->ranked = process;
    if (!recording->of_job && process->job)
        recording->of_job = process;
}

/* ---- two of them ----------------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool at_once(const struct recording *a, const struct recording *b)
{
    uint64_t apart = a->first->host == b->first->host ? 0 : APART_NS;
    return a->from_ns <= xfa_add(b->to_ns, apart) && b->from_ns <= xfa_add(a->to_ns, apart);
}

/* torchrun calls all its runs so, unless it is given a name. */
static bool is_no_name(const struct xfa_rank *rank)
{
    return rank->launcher && strcmp(rank->launcher, "torchrun") == 0 &&
           xfa_starts(rank->world, "none.");
}

static bool one_launch(const struct recording *a, const struct recording *b)
{
    const struct xfa_rank *x = &a->ranked->rank, *y = &b->ranked->rank;
    if (x->world && y->world)
        return (same_text(x->world, y->world) && !is_no_name(x)) || at_once(a, b);
    return (x->size == y->size && x->number != y->number) || at_once(a, b);
}

static bool one_job(const struct recording *a, const struct recording *b)
{
    const struct xfa_process *x = a->of_job, *y = b->of_job;
    bool steps = x->job_step && y->job_step;
    return (strcmp(x->job, y->job) == 0 && (!steps || strcmp(x->job_step, y->job_step) == 0)) ||
           at_once(a, b);
}

static bool are_one(const struct recording *a, const struct recording *b)
{
    if (a->ranked && b->ranked && same_text(a->ranked->rank.launcher, b->ranked->rank.launcher))
        return one_launch(a, b);
    if (a->of_job && b->of_job)
        return one_job(a, b);
    return at_once(a, b);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static struct recording *at(const struct xfa_table *recordings, uint64_t i)
{
    return xfa_table_at(recordings, i);
}

static uint64_t root_of(const struct xfa_table *recordings, uint64_t i)
{
    while (at(recordings, i)->same != i)
        i = at(recordings, i)->same;
    return i;
}

static int by_time(const void *a, const void *b)
{
    const struct recording *x = a, *y = b;
    return x->from_ns != y->from_ns
               ? (x->from_ns < y->from_ns ? -1 : 1)
               : (x->first->number > y->first->number) - (x->first->number < y->first->number);
}

/* In the order in which they began; from here on the table is a list. */
static void join(const struct xfa_table *recordings)
{
    if (recordings->count)
        qsort(recordings->items, recordings->count, recordings->item_bytes, by_time);
    for (size_t i = 0; i < recordings->count; i++) {
        at(recordings, i)->same = i;
        for (size_t j = 0; j < i; j++) {
            uint64_t a = root_of(recordings, i), b = root_of(recordings, j);
            if (a != b && are_one(at(recordings, i), at(recordings, j)))
                at(recordings, a > b ? a : b)->same = a < b ? a : b;
        }
    }
}

static char *names_of(const struct xfa_table *recordings, size_t count)
{
    char *names = NULL;
    size_t named = 0;
    for (size_t i = 0; i < recordings->count && named < NAMED; i++) {
        if (at(recordings, i)->same != i)
            continue;
        const char *name = xfa_base_name(at(recordings, i)->first->exe);
        char *longer =
            xfa_print("%s%s%s", names ? names : "", names ? ", " : "", *name ? name : "unknown");
        free(names);
        names = longer;
        named++;
    }
    if (count <= named)
        return names;
    char *all = xfa_print("%s and %zu more", names, count - named);
    free(names);
    return all;
}

size_t xfa_run_recordings(const struct xfa_run *run, char **names)
{
    struct xfa_table recordings;
    size_t count = 0;
    xfa_table_init(&recordings, sizeof(uint64_t), sizeof(struct recording));
    for (size_t i = 0; i < run->process_count; i++) {
        const char *name = run->processes[i]->recording;
        uint64_t key = name ? XXH3_64bits(name, strlen(name)) : 0;
        if (name && (recordings.count < MOST || xfa_table_get(&recordings, &key)))
            take(xfa_table_put(&recordings, &key), run->processes[i]);
    }
    join(&recordings);
    for (size_t i = 0; i < recordings.count; i++)
        count += at(&recordings, i)->same == i;
    *names = count > 1 ? names_of(&recordings, count) : NULL;
    xfa_table_free(&recordings);
    return count > 1 ? count : 1;
}
