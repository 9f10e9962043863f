#include "tools/simgpu/gpu/objects.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

_Thread_local struct sim_thread sim_thread = {.numa = -1};
bool sim_initialised, sim_forked;
const struct xferscope_simgpu_hooks *sim_hooks;
struct sim_device sim_devices[SIM_MAX_DEVICES];
int sim_device_count;
struct sim_context *sim_contexts;

/* ---- the lock and threads ---------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void sim_lock(void)
{
    pthread_mutex_lock(&lock);
    sim_clock_stop();
}

void sim_unlock(void)
{
    sim_clock_go_on();
    pthread_mutex_unlock(&lock);
}

/* The child inherits a lock that no thread of it holds. */
static void after_fork_in_child(void)
{
    pthread_mutex_init(&lock, NULL);
    sim_forked = sim_forked || sim_initialised;
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, after_fork_in_child);
}

uint64_t sim_thread_id(void)
{
    static _Atomic uint64_t threads;
    static _Thread_local uint64_t id;

    if (!id)
        id = atomic_fetch_add(&threads, 1) + 1;
    return id;
}

/* ---- handles: open addressing, a deleted slot keeps its chain ---------------------------- */

struct slot {
    const void *object;
    int type; /* enum sim_handle; 0 = free, -1 = deleted */
};

static struct slot *slots;
static size_t slot_count, slots_used;

static size_t slot_of(const void *object)
{
    return ((uintptr_t)object >> 4) * 0x9e3779b97f4a7c15u >> 16;
}

static void put(struct slot *into, size_t count, struct slot what)
{
    size_t i = slot_of(what.object) & (count - 1);

    while (into[i].type > 0)
        i = (i + 1) & (count - 1);
    into[i] = what;
}

static bool grow(void)
{
    size_t live = 0, count = 64;
    struct slot *bigger;

    for (size_t i = 0; i < slot_count; i++)
        live += slots[i].type > 0;
    while (count < live * 4)
        count *= 2;
    bigger = calloc(count, sizeof(*bigger));
    if (!bigger)
        return false;
    for (size_t i = 0; i < slot_count; i++)
        if (slots[i].type > 0)
            put(bigger, count, slots[i]);
    free(slots);
    slots = bigger;
    slot_count = count;
    slots_used = live;
    return true;
}

static struct slot *find(const void *object)
{
    size_t i;

    if (!slot_count)
        return NULL;
    for (i = slot_of(object) & (slot_count - 1); slots[i].type; i = (i + 1) & (slot_count - 1))
        if (slots[i].object == object && slots[i].type > 0)
            return &slots[i];
    return NULL;
}

bool sim_handle_add(const void *object, enum sim_handle type)
{
    if (slots_used * 2 >= slot_count && !grow())
        return false;
    put(slots, slot_count, (struct slot){object, (int)type});
    slots_used++;
    return true;
}

void sim_handle_remove(const void *object)
{
    struct slot *slot = find(object);

    if (slot)
        slot->type = -1;
}

bool sim_handle_is(const void *object, enum sim_handle type)
{
    const struct slot *slot = find(object);

    return slot && slot->type == (int)type;
}

/* ---- devices and contexts ---------------------------------------------------------------- */

int sim_number_of(int ordinal)
{
    return (int)(sim_devices[ordinal].gpu - sim_profile->machine.gpus);
}

struct sim_context *sim_current(void)
{
    struct sim_context *top = sim_thread.depth ? sim_thread.stack[sim_thread.depth - 1] : NULL;

    return top && sim_handle_is(top, SIM_CONTEXT) ? top : NULL;
}

struct sim_context *sim_context_of(xcu_context handle)
{
    if (!handle)
        return sim_current();
    return sim_handle_is(handle, SIM_CONTEXT) ? handle : NULL;
}

bool sim_peer_enabled(int from, int to)
{
    for (const struct sim_context *c = sim_contexts; c; c = c->next)
        if ((c->device == from && (c->peers >> to & 1)) ||
            (c->device == to && (c->peers >> from & 1)))
            return true;
    return false;
}
