/*
 * repeated-library-setup: a library of CUDA's (cuFFT, cuBLAS ...) makes the same plan or handle for
 * a call site again and again, and destroys it in between. Its calls of CUDA meanwhile (memory,
 * copies of tables, waits) have call stacks that lead through the function that makes it
 * (run/layer.h): one after the other, they are one setup. Lost: the host's time from the first to
 * the last of them, of all setups but a call site's first ones.
 *
 * It is the same as one before if it makes the same calls for as many bytes; that one was destroyed
 * if memory that it took was freed since. Destroying what is made again goes as well. A library
 * that keeps its memory (cuFFT) takes none then: that one was destroyed if all that the setup sends
 * to the device goes where such a setup sent it before. Where it does neither nothing is found.
 * Bytes do not tell such setups' configurations apart: the first kernel behind one does.
 */
#include "analyzer/findings/finding.h"
#include "analyzer/run/layer.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/made_once.h"

#define LEAST_TIMES 4       /* that one is made again */
#define MOST_SETUPS 262144u /* of the run; later ones stay */
#define LEAST_GROUP 8       /* setups by which the usual time before one is known */
#define STEADY 1.5          /* of the middle half of these times, the longest by the shortest */
#define MOST_BEFORE_NS 2e6  /* a library's own, before its first call, as likely (a guess) */
#define DESTROYED 3         /* that part of the time before making, as likely (a guess) */
#define MOST_TAKEN 8        /* memory that one takes, as far as it is remembered */
#define MOST_KNOWN 65536u   /* of a process: plans and handles, and memory of theirs */

struct known { /* setups that are alike */
    struct known_key {
        uint64_t calls; /* a hash */
        uint64_t site;
    } key;
    uint64_t times;
    bool freed; /* memory that the last one took */
};

struct taken {
    uint64_t address; /* key */
    struct known_key by;
};

struct used { /* a configuration of a setup: the first kernel behind it */
    struct known_key key;
    uint64_t launch;
};

struct pause { /* own time of a thread, the longest behind its last setup */
    double ns;
    double at_ns; /* start of the call behind it */
};

struct lane {    /* a thread's setup at hand */
    uint32_t id; /* key */
    bool there;
    uint32_t site;
    uint16_t call; /* the function of its first call */
    bool frees;    /* memory of one that was made before */
    uint64_t hash, calls, bytes;
    uint64_t last_ns, end_ns; /* of its last call */
    struct xfw_setup setup;
    uint64_t taken[MOST_TAKEN], sent[MOST_TAKEN]; /* addresses; sent: copied to */
    unsigned taken_count, sent_count;
    uint32_t stack;      /* of its first call */
    double before_ns;    /* the thread's own time before that */
    struct pause before; /* in what it did since the setup before */
    /* Of the thread: */
    uint64_t called_ns; /* end of its last call, whosever */
    struct pause pause;
    struct {
        bool there;
        struct known_key key;
        size_t item; /* SIZE_MAX: none */
    } unused;        /* a setup behind which no kernel was launched yet */
};

struct item {
    struct xfw_setup setup;
    uint32_t site;
    uint64_t group;   /* of setups from one place; 0: none */
    double before_ns; /* own time before it */
};

struct again {     /* by site */
    uint32_t site; /* key */
    uint32_t function;
    uint64_t made, calls, bytes;
    double ns;
};

struct stack {
    uint32_t id; /* key */
    bool makes;
};

struct setups {
    struct xfa_table again;
    struct xfa_table lanes, known, taken, sent, used, stacks; /* of the process at hand */
    struct xfa_process *process;
    struct item *items;
    size_t count, capacity;
};

/* ---- setups ---------------------------------------------------------------------------------- */

static uint64_t mixed(uint64_t hash, uint64_t more)
{
    hash = (hash ^ more) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static void add_item(struct setups *setups, const struct item *item)
{
    setups->items =
        xfa_room(setups->items, &setups->capacity, setups->count + 1, sizeof *setups->items);
    setups->items[setups->count++] = *item;
}

static void add(struct setups *setups, const struct lane *lane, bool made)
{
    if (setups->count >= MOST_SETUPS)
        return;
    struct again *again = xfa_table_put(&setups->again, &lane->site);
    again->function = xfa_process_function(setups->process, lane->call)->number;
    again->made += made;
    again->calls += lane->calls;
    again->bytes = xfa_add(again->bytes, lane->bytes);
    again->ns += (double)(lane->end_ns - setups->process->start_mono_ns) - lane->setup.from_ns;
    uint64_t place = mixed(mixed(lane->hash, lane->stack), setups->process->number);
    add_item(setups, &(struct item){.setup = lane->setup,
                                    .site = lane->site,
                                    .group = made ? place | 1 : 0,
                                    .before_ns = lane->before_ns});
}

/* What destroys it makes no call: that is within the thread's own time since it was made. */
static void add_destroying(struct setups *setups, const struct lane *lane)
{
    if (setups->count >= MOST_SETUPS || lane->before.ns <= 0)
        return;
    struct item item = {.setup = lane->setup, .site = lane->site};
    item.setup.from_ns = item.setup.to_ns = lane->before.at_ns;
    item.setup.most_ns = fmin(lane->before.ns, lane->before_ns / DESTROYED);
    item.setup.stays = true;
    add_item(setups, &item);
}

/* All that it sends goes where one that is alike sent it. Remembers where. */
static bool sends_again(struct setups *setups, const struct lane *lane, const struct known_key *key)
{
    unsigned again = 0;
    for (unsigned i = 0; i < lane->sent_count; i++) {
        size_t before = setups->sent.count;
        if (before >= MOST_KNOWN && !xfa_table_get(&setups->sent, &lane->sent[i]))
            continue;
        struct taken *sent = xfa_table_put(&setups->sent, &lane->sent[i]);
        again += setups->sent.count == before && sent->by.calls == key->calls &&
                 sent->by.site == key->site;
        sent->by = *key;
    }
    return again > 0 && again == lane->sent_count;
}

static void end_setup(struct setups *setups, struct lane *lane)
{
    const struct known_key key = {lane->hash, lane->site};
    bool there = lane->there;
    lane->there = false;
    if (!there || (setups->known.count >= MOST_KNOWN && !xfa_table_get(&setups->known, &key)))
        return;
    struct known *known = xfa_table_put(&setups->known, &key);
    bool made = lane->taken_count > 0;
    bool sends = sends_again(setups, lane, &key) && !made;
    bool again = known->times++ > 0 && (made ? known->freed : lane->frees || sends);
    size_t item = again && setups->count < MOST_SETUPS ? setups->count : SIZE_MAX;
    if (again)
        add(setups, lane, made || sends);
    if (again && sends)
        add_destroying(setups, lane);
    if (lane->sent_count > 0 && !made) {
        lane->unused.there = true;
        lane->unused.key = key;
        lane->unused.item = item;
    }
    known->freed = false;
    for (unsigned i = 0; i < lane->taken_count && setups->taken.count < MOST_KNOWN; i++)
        ((struct taken *)xfa_table_put(&setups->taken, &lane->taken[i]))->by = key;
}

/* A kernel, the first one behind a setup. At best alone that is as one before of which the same was
 * not launched: libraries' kernels depend on what was set up. */
static void note_use(struct setups *setups, struct lane *lane, const struct xfa_event *event)
{
    if (event->kind != XFT_EVENT_LAUNCH || !lane->unused.there)
        return;
    const struct used used = {lane->unused.key,
                              mixed(mixed(0, event->launch.name), event->launch.threads)};
    lane->unused.there = false;
    bool seen = xfa_table_get(&setups->used, &used);
    if (!seen && setups->used.count < MOST_KNOWN)
        xfa_table_put(&setups->used, &used);
    if (lane->unused.item != SIZE_MAX)
        setups->items[lane->unused.item].setup.other = !seen;
}

static double own_ns(const struct lane *lane, const struct xfa_event *event)
{
    bool behind = lane->called_ns > 0 && event->start_ns > lane->called_ns;
    return behind ? (double)(event->start_ns - lane->called_ns) : 0;
}

/* Any call of the thread: what of its own time was the longest since its last setup. */
static void note_pause(struct setups *setups, struct lane *lane, const struct xfa_event *event)
{
    double ns = own_ns(lane, event);
    if (ns > lane->pause.ns) {
        lane->pause.ns = ns;
        lane->pause.at_ns = (double)(int64_t)(event->start_ns - setups->process->start_mono_ns);
    }
}

static void begin_setup(struct setups *setups, struct lane *lane, const struct xfa_event *event,
                        uint32_t site)
{
    const struct lane first = {
        .id = lane->id,
        .there = true,
        .stack = event->stack,
        .before_ns = own_ns(lane, event),
        .before = lane->pause,
        .called_ns = lane->called_ns,
        .site = site,
        .call = event->call,
        .setup = {.process = setups->process->number,
                  .tid = event->tid,
                  .from_ns = (double)(int64_t)(event->start_ns - setups->process->start_mono_ns)},
    };
    *lane = first;
}

static void note_memory(struct setups *setups, struct lane *lane, const struct xfa_event *event)
{
    uint64_t address = event->memory.address;
    if (address == 0 || (event->kind != XFT_EVENT_ALLOC && event->kind != XFT_EVENT_FREE))
        return;
    if (event->kind == XFT_EVENT_FREE) {
        struct taken *taken = xfa_table_get(&setups->taken, &address);
        struct known *known = taken ? xfa_table_get(&setups->known, &taken->by) : NULL;
        if (known)
            known->freed = true;
        if (taken)
            taken->by = (struct known_key){0, UINT64_MAX}; /* of none */
        if (lane)
            lane->frees = lane->frees || known;
    } else if (lane && lane->taken_count < MOST_TAKEN) {
        lane->taken[lane->taken_count++] = address;
    }
}

static void note_sent(struct lane *lane, const struct xfa_event *event)
{
    if (event->kind == XFT_EVENT_TRANSFER &&
        event->transfer.class->key.row.direction == XFT_DIR_H2D && lane->sent_count < MOST_TAKEN)
        lane->sent[lane->sent_count++] = event->transfer.dst;
}

/* One more call of the library's for the setup at hand. */
static void go_on(struct lane *lane, const struct xfa_event *event)
{
    double begins = lane->setup.from_ns;
    if (lane->calls > 0) {
        double own = event->start_ns > lane->end_ns ? (double)(event->start_ns - lane->end_ns) : 0;
        lane->setup.most_ns = fmax(lane->setup.most_ns, own);
        begins = lane->setup.to_ns + (double)(int64_t)(event->start_ns - lane->last_ns);
    }
    lane->setup.to_ns = begins;
    lane->last_ns = event->start_ns;
    lane->end_ns = event->end_ns > event->start_ns ? event->end_ns : event->start_ns;
    lane->hash = mixed(mixed(lane->hash, event->kind), event->bytes);
    lane->bytes = xfa_add(lane->bytes, event->bytes);
    lane->calls++;
}

/* NULL: no library makes or destroys anything there. Sites of other stacks are not looked for: they
 * are others' to find. */
static const struct xfa_site *maker_of(struct setups *setups, const struct xfa_event *event)
{
    if (!event->stack || !event->process->trace)
        return NULL;
    size_t before = setups->stacks.count;
    struct stack *stack = xfa_table_put(&setups->stacks, &event->stack);
    if (setups->stacks.count > before)
        stack->makes = xfa_stack_makes(event->process->trace, event->stack);
    const struct xfa_site *site = stack->makes ? xfa_site_of(event) : NULL;
    return site && site->makes ? site : NULL;
}

/* The thread's own time since the call before, ns, where that one made something at another site:
 * most likely the library's. Behind what destroys, the program may be at work. */
static double between_makes(const struct lane *lane, const struct xfa_event *event)
{
    bool made = lane->there && !lane->frees && (lane->taken_count > 0 || lane->sent_count > 0);
    bool follows = made && lane->setup.tid == event->tid && event->start_ns > lane->end_ns;
    return follows && event->kind != XFT_EVENT_FREE ? (double)(event->start_ns - lane->end_ns) : 0;
}

static void event(void *self, const struct xfa_event *event)
{
    struct setups *setups = self;
    const struct xfa_site *site = maker_of(setups, event);
    struct lane *lane = xfa_table_put(&setups->lanes, &event->lane);
    if (!site) {
        end_setup(setups, lane);
        note_use(setups, lane, event);
        note_pause(setups, lane, event);
        note_memory(setups, NULL, event);
    } else {
        double behind_ns = 0;
        if (lane->site != site->number || lane->setup.tid != event->tid) {
            behind_ns = between_makes(lane, event);
            end_setup(setups, lane);
        }
        if (!lane->there) {
            begin_setup(setups, lane, event, site->number);
            lane->setup.most_ns = behind_ns;
        }
        note_memory(setups, lane, event);
        note_sent(lane, event);
        go_on(lane, event);
    }
    lane->called_ns = event->end_ns > lane->called_ns ? event->end_ns : lane->called_ns;
}

#define KINDS                                                                                      \
    (XFA_KINDS_OF_CALLS & ~(XFA_KIND(XFT_EVENT_RANGE_BEGIN) | XFA_KIND(XFT_EVENT_RANGE_END)))

static uint64_t begin_process(void *self, struct xfa_process *process)
{
    struct setups *setups = self;
    setups->process = process;
    if (setups->again.item_bytes == 0)
        xfa_table_init(&setups->again, sizeof(uint32_t), sizeof(struct again));
    xfa_table_init(&setups->lanes, sizeof(uint32_t), sizeof(struct lane));
    xfa_table_init(&setups->known, sizeof(struct known_key), sizeof(struct known));
    xfa_table_init(&setups->taken, sizeof(uint64_t), sizeof(struct taken));
    xfa_table_init(&setups->sent, sizeof(uint64_t), sizeof(struct taken));
    xfa_table_init(&setups->used, sizeof(struct used), sizeof(struct used));
    xfa_table_init(&setups->stacks, sizeof(uint32_t), sizeof(struct stack));
    return KINDS;
}

static void forget_process(struct setups *setups)
{
    xfa_table_free(&setups->lanes);
    xfa_table_free(&setups->known);
    xfa_table_free(&setups->taken);
    xfa_table_free(&setups->sent);
    xfa_table_free(&setups->used);
    xfa_table_free(&setups->stacks);
}

static void end_process(void *self, struct xfa_process *process)
{
    struct setups *setups = self;
    (void)process;
    for (size_t i = 0; i < setups->lanes.count; i++)
        end_setup(setups, xfa_table_at(&setups->lanes, i));
    forget_process(setups);
}

static struct xfa_observer observe(void *self)
{
    return (struct xfa_observer){
        .name = "libraries' setups",
        .kinds = KINDS,
        .self = self,
        .process = begin_process,
        .event = event,
        .transfer = event,
        .end = end_process,
    };
}

static void release(void *self)
{
    struct setups *setups = self;
    forget_process(setups);
    xfa_table_free(&setups->again);
    free(setups->items);
}

/* ---- the finding ----------------------------------------------------------------------------- */

static void find(const struct xfa_analysis *analysis, const void *sums,
                 struct xfa_findings *findings)
{
    const struct setups *setups = sums;
    const struct xfa_finding like = {
        .id = XFA_FINDING_LIBRARY_SETUP,
        .remedy = {.kind = XFA_REMEDY_MAKE_ONCE, .node = -1},
        .assumed =
            "what the library makes anew is the same as before, and there is room to keep it",
    };
    uint64_t made = 0;
    double all_ns = 0;
    for (size_t i = 0; i < setups->again.count; i++) {
        const struct again *again = xfa_table_at(&setups->again, i);
        made = again->made > made ? again->made : made;
        all_ns += again->ns;
    }
    if (made < LEAST_TIMES || all_ns <= xfa_findings_least_ns(analysis))
        return;
    for (size_t i = 0; i < setups->again.count; i++) {
        const struct again *again = xfa_table_at(&setups->again, i);
        const struct xfa_finding_site site = {
            .site = xfa_run_site(analysis->run, again->site),
            .function = xfa_run_function(analysis->run, again->function),
            .transfers = again->calls,
            .bytes = again->bytes,
            .lost_ns = again->ns,
            .reckoning = XFA_RECKONED_SET_UP,
        };
        xfa_findings_add_site(findings, &like, &site);
    }
}

static int by_group(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return (x->before_ns > y->before_ns) - (x->before_ns < y->before_ns);
}

/* Of the times before these setups, what a library that does the same each time likely takes: it is
 * in the shortest as well, and where most are much alike, they are the library's. */
static double usual_ns(const struct item *items, size_t count)
{
    const double first = items[count / 4].before_ns, third = items[3 * count / 4].before_ns;
    bool steady = count >= LEAST_GROUP && third <= STEADY * first;
    return fmin(steady ? third : items[count / 10].before_ns, MOST_BEFORE_NS);
}

static void set_usual(struct item *items, size_t count)
{
    qsort(items, count, sizeof *items, by_group);
    for (size_t from = 0, to = 0; from < count; from = to) {
        while (to < count && items[to].group == items[from].group)
            to++;
        double usual = items[from].group ? usual_ns(&items[from], to - from) : 0;
        for (size_t i = from; i < to; i++)
            items[i].setup.most_ns = fmax(items[i].setup.most_ns, usual);
    }
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    const struct setups *setups = sums;
    struct xfw_set sites = xfa_finding_sites(finding);
    struct item *items = xfa_alloc((setups->count + 1) * sizeof *items);
    struct xfw_setup *once = xfa_alloc((setups->count + 1) * sizeof *once);
    size_t count = 0;
    for (size_t i = 0; i < setups->count; i++)
        if (xfw_set_has(&sites, setups->items[i].site))
            items[count++] = setups->items[i];
    xfw_set_free(&sites);
    set_usual(items, count);
    for (size_t i = 0; i < count; i++)
        once[i] = items[i].setup;
    free(items);
    return xfw_change_made_once(analysis, once, count);
}

const struct xfa_finding_kind xfa_kind_library_setup = {
    .find = find,
    .change = change,
    .self_bytes = sizeof(struct setups),
    .observe = observe,
    .free = release,
};
