#include "analyzer/pass/class.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/pass/event.h"

void xfa_classes_init(struct xfa_classes *classes, struct xfa_run *run,
                      const struct xfa_achievable *achievable)
{
    *classes = (struct xfa_classes){.run = run,
                                    .achievable = achievable,
                                    .most = XFA_MAX_CLASSES,
                                    .most_folded = XFA_MAX_FOLDED};
    xfa_table_init(&classes->classes, sizeof(struct xfa_class_key), sizeof(struct xfa_kept_class));
    xfa_table_init(&classes->rows, sizeof(struct xfa_row_key), sizeof(struct xfa_row));
}

void xfa_classes_free(struct xfa_classes *classes)
{
    for (size_t i = 0; i < classes->classes.count; i++)
        free(xfa_class_at(classes, i));
    xfa_table_free(&classes->classes);
    xfa_table_free(&classes->rows);
    free(classes->asked);
    classes->asked = NULL;
}

/* ---- what makes a class ---------------------------------------------------------------------- */

static bool on_host(unsigned memory)
{
    return memory == XFT_MEM_PAGEABLE || xfa_is_page_locked(memory);
}

/* As the call says, if it does; else as the device recorded the copy. */
static uint8_t known(unsigned by_call, unsigned by_device, unsigned count)
{
    unsigned number = by_call ? by_call : by_device;
    return (uint8_t)(number < count ? number : 0);
}

static int16_t gpu_of(const struct xfa_event *event, unsigned memory, int16_t place)
{
    int gpu = place >= 0 ? xfa_process_gpu(event->process, place) : event->gpu;
    return (int16_t)(xfa_is_of_device(memory) && gpu >= 0 ? gpu : -1);
}

static int16_t node_of(unsigned memory, int16_t place)
{
    return (int16_t)(on_host(memory) && place >= 0 ? place : -1);
}

static uint8_t stream_of(const struct xfa_event *event)
{
    if (!(event->flags & XFT_STREAM_KNOWN) || event->stream == 0)
        return event->flags & XFT_PER_THREAD ? XFA_STREAM_PER_THREAD : XFA_STREAM_DEFAULT;
    if (event->stream == 1) /* cudaStreamLegacy */
        return XFA_STREAM_DEFAULT;
    return event->stream == 2 ? XFA_STREAM_PER_THREAD : XFA_STREAM_MADE;
}

static uint8_t shape_of(const struct xfa_event *event)
{
    const struct xfa_transfer *transfer = &event->transfer;
    if (transfer->copies > 1)
        return XFA_BATCH;
    return transfer->width != 0 && transfer->width < event->bytes ? XFA_STRIDED : XFA_LINEAR;
}

/* Memory may have peer access that no call enabled (of pools, by cuMemSetAccess, IPC): the device
 * then records one copy from GPU to GPU, and without peer access one to the host and one from it.
 */
static uint8_t peer_of(const struct xfa_event *event)
{
    bool direct = event->transfer.device.direction == XFT_DIR_P2P;
    return direct || event->flags & XFT_PEER_ACCESS ? XFA_PEER_ON : XFA_PEER_OFF;
}

static void name_calls(struct xfa_row_key *row, const struct xfa_event *event)
{
    const struct xfa_function *function = xfa_function_of(event);
    const struct xfa_function *runtime =
        function->level == XFT_LEVEL_DRIVER
            ? xfa_process_runtime_function(event->process, event->stack)
            : NULL;
    row->site = xfa_site_of(event)->number;
    row->function = function->number;
    row->runtime_function = runtime ? runtime->number + 1 : 0;
}

static struct xfa_class_key key_of(const struct xfa_event *event)
{
    const struct xfa_device_copy *copy = &event->transfer.device;
    struct xfa_class_key key;
    memset(&key, 0, sizeof key);
    struct xfa_row_key *row = &key.row;
    name_calls(row, event);
    row->direction = known(event->direction, copy->direction, XFT_DIRECTION_COUNT);
    row->src_mem = known(event->src_mem, copy->src_mem, XFT_MEMORY_COUNT);
    row->dst_mem = known(event->dst_mem, copy->dst_mem, XFT_MEMORY_COUNT);
    row->async = (event->flags & XFT_ASYNC) != 0;
    row->src_gpu = gpu_of(event, row->src_mem, event->src_place);
    row->dst_gpu = gpu_of(event, row->dst_mem, event->dst_place);
    key.src_node = node_of(row->src_mem, event->src_place);
    key.dst_node = node_of(row->dst_mem, event->dst_place);
    key.stream = stream_of(event);
    key.peer = row->direction == XFT_DIR_P2P ? peer_of(event) : XFA_PEER_NONE;
    key.shape = shape_of(event);
    key.src_like = key.dst_like = -1;
    return key;
}

/* ---- when there are too many ----------------------------------------------------------------- */

/* Without what grows with the machine. What stays of the GPUs is which ones the profile knows. */
static struct xfa_class_key folded_key(const struct xfa_classes *classes,
                                       const struct xfa_class_key *of)
{
    const struct xfa_achievable *achievable = classes->achievable;
    struct xfa_class_key key;
    memset(&key, 0, sizeof key);
    key.row = of->row;
    key.row.src_gpu = key.row.dst_gpu = key.src_node = key.dst_node = -1;
    key.src_like = key.dst_like = -1;
    key.fold = XFA_WITHOUT_GPU;
    if (achievable->profile) {
        key.src_like = (int16_t)xfa_achievable_gpu(achievable, of->row.src_gpu);
        key.dst_like = (int16_t)xfa_achievable_gpu(achievable, of->row.dst_gpu);
    }
    return key;
}

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
    key.src_like = key.dst_like = -1;
    key.fold = XFA_WITHOUT_SITE;
    return key;
}

/* The key that an event's is kept under. */
static struct xfa_class_key kept_key(const struct xfa_classes *classes, struct xfa_process *process,
                                     const struct xfa_class_key *key)
{
    size_t count = classes->classes.count;
    if (count < classes->most)
        return *key;
    struct xfa_class_key folded = folded_key(classes, key);
    bool fits = count < classes->most + classes->most_folded;
    return fits || xfa_table_get(&classes->classes, &folded) ? folded : common_key(process, key);
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

static struct xfa_near near_of(const struct xfa_achievable *achievable,
                               const struct xfa_class_key *key)
{
    const struct xfp_profile *profile = achievable->profile;
    const struct xfa_row_key *row = &key->row;
    if (profile && row->direction == XFT_DIR_H2D && xfa_is_page_locked(row->src_mem) &&
        row->dst_mem == XFT_MEM_DEVICE)
        return xfa_near_of(profile, XFT_DIR_H2D, row->src_mem, key->src_node,
                           xfa_achievable_gpu(achievable, row->dst_gpu));
    if (profile && row->direction == XFT_DIR_D2H && xfa_is_page_locked(row->dst_mem) &&
        row->src_mem == XFT_MEM_DEVICE)
        return xfa_near_of(profile, XFT_DIR_D2H, row->dst_mem, key->dst_node,
                           xfa_achievable_gpu(achievable, row->src_gpu));
    return (struct xfa_near){.node = -1};
}

struct xfa_class *xfa_class_put(struct xfa_classes *classes, const struct xfa_class_key *key)
{
    struct xfa_kept_class *kept = xfa_table_put(&classes->classes, key);
    if (!kept->class) {
        kept->class = xfa_alloc(sizeof *kept->class);
        kept->class->key = *key;
        kept->class->number = (uint32_t)classes->classes.count - 1;
    }
    return kept->class;
}

static void set_path(struct xfa_classes *classes, struct xfa_class *class)
{
    const struct xfa_class_key *key = &class->key;
    const struct xfa_achievable *achievable = classes->achievable;
    if (key->fold == XFA_WITHOUT_GPU)
        xfa_achievable_path_like(&class->achievable, achievable, key->row.direction, key->src_like,
                                 key->dst_like);
    else
        xfa_achievable_path(&class->achievable, achievable, key->row.direction, key->row.src_gpu,
                            key->row.dst_gpu);
    class->near = near_of(achievable, key);
}

struct xfa_class *xfa_class_meet(struct xfa_classes *classes, const struct xfa_class_key *key)
{
    size_t before = classes->classes.count;
    struct xfa_class *class = xfa_class_put(classes, key);
    if (classes->classes.count > before) {
        struct xfa_row *row = row_of(classes, &key->row);
        class->row = row->number;
        ((struct xfa_kept_class *)xfa_table_at(&classes->classes, class->number))->row = class->row;
        class->before = row->last_class;
        row->last_class = class->number + 1;
        set_path(classes, class);
    }
    return class;
}

/* ---- events alike ---------------------------------------------------------------------------- */

#define ASKED 1024 /* events that are remembered, a power of two */

/* All that a class's key is made of. */
struct alike {
    uint32_t process, stack;
    uint16_t call, flags;
    int16_t src_place, dst_place, gpu;
    uint8_t direction, src_mem, dst_mem;                /* as the call says */
    uint8_t seen_direction, seen_src_mem, seen_dst_mem; /* as the device does */
    uint8_t stream, shape;
    uint8_t reserved[6];
};
enum { WORDS = sizeof(struct alike) / sizeof(uint64_t) };
_Static_assert(sizeof(struct alike) == WORDS * sizeof(uint64_t) && WORDS == 4, "whole words");

struct xfa_class_asked {
    struct xfa_class *class; /* NULL: none was asked for here */
    uint64_t words[WORDS];   /* struct alike */
};

static void read_alike(const struct xfa_event *event, uint64_t words[WORDS])
{
    const struct xfa_device_copy *copy = &event->transfer.device;
    const struct alike alike = {
        .process = event->process->number,
        .stack = event->stack,
        .call = event->call,
        .flags = event->flags,
        .src_place = event->src_place,
        .dst_place = event->dst_place,
        .gpu = event->gpu,
        .direction = event->direction,
        .src_mem = event->src_mem,
        .dst_mem = event->dst_mem,
        .seen_direction = copy->direction,
        .seen_src_mem = copy->src_mem,
        .seen_dst_mem = copy->dst_mem,
        .stream = stream_of(event),
        .shape = shape_of(event),
    };
    memcpy(words, &alike, sizeof alike);
}

static size_t place_of(const uint64_t words[WORDS])
{
    uint64_t mixed = 0;
    for (size_t i = 0; i < WORDS; i++)
        mixed = (mixed ^ words[i]) * 0x9e3779b97f4a7c15u;
    return (size_t)(mixed >> 32) % ASKED;
}

static bool same(const uint64_t a[WORDS], const uint64_t b[WORDS])
{
    return ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3])) == 0;
}

static struct xfa_class *look_for(struct xfa_classes *classes, const struct xfa_event *event)
{
    struct xfa_class_key key = key_of(event);
    const struct xfa_kept_class *kept = xfa_table_get(&classes->classes, &key);
    if (kept)
        return kept->class;
    struct xfa_class_key folded = kept_key(classes, event->process, &key);
    return xfa_class_meet(classes, &folded);
}

struct xfa_class *xfa_class_of(struct xfa_classes *classes, const struct xfa_event *event)
{
    uint64_t words[WORDS];
    if (!classes->asked)
        classes->asked = xfa_alloc(ASKED * sizeof *classes->asked);
    read_alike(event, words);
    struct xfa_class_asked *asked = &classes->asked[place_of(words)];
    if (!asked->class || !same(asked->words, words)) {
        asked->class = look_for(classes, event);
        memcpy(asked->words, words, sizeof words);
    }
    return asked->class;
}
