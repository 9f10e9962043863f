#include "analyzer/pass/class.h"

#include <stddef.h>
#include <string.h>

#include "analyzer/pass/join.h"

#define MAX_MET 65536 /* remembered of a process; then it starts anew */

/* A class by a process's own words, and what was found for it. */
struct met {
    struct met_key {
        uint32_t process, stack;
        uint16_t call;
        int16_t src_place, dst_place;
        uint8_t direction, src_mem, dst_mem, async, stream, peer, shape;
        uint8_t reserved[3]; /* compared, too */
    } key;
    uint32_t class; /* number */
};
_Static_assert(offsetof(struct met_key, reserved) + 3 == sizeof(struct met_key), "no padding");

void xfa_classes_init(struct xfa_classes *classes, struct xfa_run *run,
                      const struct xfa_achievable *achievable)
{
    *classes = (struct xfa_classes){.run = run, .achievable = achievable, .last = UINT32_MAX};
    xfa_table_init(&classes->classes, sizeof(struct xfa_class_key), sizeof(struct xfa_class));
    xfa_table_init(&classes->rows, sizeof(struct xfa_row_key), sizeof(struct xfa_row));
    xfa_table_init(&classes->met, sizeof(struct met_key), sizeof(struct met));
}

void xfa_classes_free(struct xfa_classes *classes)
{
    xfa_table_free(&classes->classes);
    xfa_table_free(&classes->rows);
    xfa_table_free(&classes->met);
}

void xfa_classes_process(struct xfa_classes *classes)
{
    xfa_table_free(&classes->met);
    xfa_table_init(&classes->met, sizeof(struct met_key), sizeof(struct met));
    classes->last = UINT32_MAX;
}

/* ---- what the call says of itself ----------------------------------------------------------- */

static bool on_device(unsigned memory)
{
    return memory == XFT_MEM_DEVICE || memory == XFT_MEM_ARRAY;
}

/* The device's ordinal, or the host's NUMA node; -1 = not known. */
static int16_t place_of(const struct xft_event *event, unsigned memory, int16_t place)
{
    if (place >= 0)
        return place;
    return (int16_t)(on_device(memory) && event->device >= 0 ? event->device : -1);
}

/* The trace's word where it has one, else the device's own account of the copy. */
static uint8_t known(unsigned told, unsigned seen, unsigned count)
{
    unsigned number = told ? told : seen;
    return (uint8_t)(number < count ? number : 0);
}

static uint8_t stream_of(const struct xft_event *event)
{
    if (!(event->flags & XFT_STREAM_KNOWN) || event->stream == 0)
        return event->flags & XFT_PER_THREAD ? XFA_STREAM_PER_THREAD : XFA_STREAM_DEFAULT;
    if (event->stream == 1) /* cudaStreamLegacy */
        return XFA_STREAM_DEFAULT;
    return event->stream == 2 ? XFA_STREAM_PER_THREAD : XFA_STREAM_MADE;
}

static uint8_t shape_of(const struct xft_event *event)
{
    if (event->count > 1)
        return XFA_BATCH;
    return event->width != 0 && event->width < event->bytes ? XFA_STRIDED : XFA_LINEAR;
}

/* Memory may have peer access that no call enabled (of pools, by cuMemSetAccess, IPC): the device
 * tells of a copy from one to the other then, without it of one to the host and one from it. */
static uint8_t peer_of(const struct xft_event *event, const struct xfa_device_copy *copy)
{
    bool direct = copy && copy->direction == XFT_DIR_P2P;
    return direct || event->flags & XFT_PEER_ACCESS ? XFA_PEER_ON : XFA_PEER_OFF;
}

static struct met_key words_of(const struct xfa_process *process, const struct xft_event *event,
                               const struct xfa_device_copy *copy)
{
    struct met_key key;
    memset(&key, 0, sizeof key);
    key.process = process->number;
    key.stack = event->stack;
    key.call = event->call;
    key.direction = known(event->direction, copy ? copy->direction : 0, XFT_DIRECTION_COUNT);
    key.src_mem = known(event->src_mem, copy ? copy->src_mem : 0, XFT_MEMORY_COUNT);
    key.dst_mem = known(event->dst_mem, copy ? copy->dst_mem : 0, XFT_MEMORY_COUNT);
    key.async = (event->flags & XFT_ASYNC) != 0;
    key.stream = stream_of(event);
    if (key.direction == XFT_DIR_P2P)
        key.peer = peer_of(event, copy);
    key.shape = shape_of(event);
    key.src_place = place_of(event, key.src_mem, event->src_place);
    key.dst_place = place_of(event, key.dst_mem, event->dst_place);
    return key;
}

/* ---- in the run's terms --------------------------------------------------------------------- */

static bool on_host(unsigned memory)
{
    return memory == XFT_MEM_PAGEABLE || memory == XFT_MEM_PINNED || memory == XFT_MEM_REGISTERED ||
           memory == XFT_MEM_MAPPED || memory == XFT_MEM_WRITE_COMBINED;
}

static int16_t node_of(unsigned memory, int16_t place)
{
    return (int16_t)(on_host(memory) ? place : -1);
}

static int16_t gpu_of(const struct xfa_process *process, unsigned memory, int16_t place)
{
    return (int16_t)(on_device(memory) ? xfa_process_gpu(process, place) : -1);
}

static struct xfa_class_key key_of(struct xfa_process *process, const struct met_key *words)
{
    struct xfa_class_key key;
    memset(&key, 0, sizeof key);
    const struct xfa_function *function = xfa_process_function(process, words->call);
    const struct xfa_function *runtime = function->level == XFT_LEVEL_DRIVER
                                             ? xfa_process_runtime_function(process, words->stack)
                                             : NULL;
    key.row.site = xfa_process_site(process, words->stack)->number;
    key.row.function = function->number;
    key.row.runtime_function = runtime ? runtime->number + 1 : 0;
    key.row.direction = words->direction;
    key.row.src_mem = words->src_mem;
    key.row.dst_mem = words->dst_mem;
    key.row.async = words->async;
    key.row.src_gpu = gpu_of(process, words->src_mem, words->src_place);
    key.row.dst_gpu = gpu_of(process, words->dst_mem, words->dst_place);
    key.src_node = node_of(words->src_mem, words->src_place);
    key.dst_node = node_of(words->dst_mem, words->dst_place);
    key.stream = words->stream;
    key.peer = words->peer;
    key.shape = words->shape;
    return key;
}

/* What remains of a key when there are too many. */
static struct xfa_class_key common_key(struct xfa_process *process, const struct xfa_class_key *of)
{
    struct xfa_class_key key;
    memset(&key, 0, sizeof key);
    key.row.site = xfa_process_site(process, 0)->number;
    key.row.function = xfa_process_function(process, 0)->number;
    key.row.direction = of->row.direction;
    key.row.src_mem = of->row.src_mem;
    key.row.dst_mem = of->row.dst_mem;
    key.row.async = of->row.async;
    key.row.src_gpu = key.row.dst_gpu = key.src_node = key.dst_node = -1;
    return key;
}

static struct xfa_row *row_of(struct xfa_classes *classes, const struct xfa_row_key *key)
{
    struct xfa_row *row = xfa_table_put(&classes->rows, key);
    if (!row->function) {
        row->number = (uint32_t)classes->rows.count - 1;
        row->site = xfa_run_site(classes->run, key->site);
        row->function = xfa_run_function(classes->run, key->function);
        if (key->runtime_function)
            row->runtime_function = xfa_run_function(classes->run, key->runtime_function - 1);
    }
    return row;
}

static bool is_page_locked(unsigned memory)
{
    return on_host(memory) && memory != XFT_MEM_PAGEABLE;
}

static struct xfa_near near_of(const struct xfa_achievable *achievable,
                               const struct xfa_class_key *key)
{
    const struct xfp_profile *profile = achievable->profile;
    const struct xfa_row_key *row = &key->row;
    if (profile && row->direction == XFT_DIR_H2D && is_page_locked(row->src_mem) &&
        row->dst_mem == XFT_MEM_DEVICE)
        return xfa_near_of(profile, XFT_DIR_H2D, row->src_mem, key->src_node,
                           xfa_achievable_gpu(achievable, row->dst_gpu));
    if (profile && row->direction == XFT_DIR_D2H && is_page_locked(row->dst_mem) &&
        row->src_mem == XFT_MEM_DEVICE)
        return xfa_near_of(profile, XFT_DIR_D2H, row->dst_mem, key->dst_node,
                           xfa_achievable_gpu(achievable, row->src_gpu));
    return (struct xfa_near){.node = -1};
}

static uint32_t find(struct xfa_classes *classes, struct xfa_process *process,
                     const struct met_key *words)
{
    struct xfa_class_key key = key_of(process, words);
    struct xfa_class *class = xfa_table_get(&classes->classes, &key);
    if (!class && classes->classes.count >= XFA_MAX_CLASSES)
        key = common_key(process, &key);
    size_t before = classes->classes.count;
    class = class ? class : xfa_table_put(&classes->classes, &key);
    if (classes->classes.count > before) {
        struct xfa_row *row = row_of(classes, &key.row);
        class->number = (uint32_t)before;
        class->row = row->number;
        class->before = row->last_class;
        row->last_class = class->number + 1;
        xfa_achievable_path(&class->achievable, classes->achievable, key.row.direction,
                            key.row.src_gpu, key.row.dst_gpu);
        class->near = near_of(classes->achievable, &key);
    }
    return class->number;
}

struct xfa_class *xfa_class_of(struct xfa_classes *classes, struct xfa_process *process,
                               const struct xft_event *event, const struct xfa_device_copy *copy)
{
    struct met_key words = words_of(process, event, copy);
    if (classes->last != UINT32_MAX) {
        const struct met *last = xfa_table_at(&classes->met, classes->last);
        if (memcmp(&last->key, &words, sizeof words) == 0)
            return xfa_class_at(classes, last->class);
    }
    const struct met *known = xfa_table_get(&classes->met, &words);
    if (!known) {
        if (classes->met.count >= MAX_MET)
            xfa_classes_process(classes);
        uint32_t number = find(classes, process, &words);
        struct met *fresh = xfa_table_put(&classes->met, &words);
        fresh->class = number;
        known = fresh;
    }
    classes->last = (uint32_t)(known - (const struct met *)xfa_table_at(&classes->met, 0));
    return xfa_class_at(classes, known->class);
}
