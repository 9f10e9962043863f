#include "analyzer/findings/look_feeders.h"

#include <string.h>

#include "analyzer/whatif/changes/memories.h"

#define MOST_BUFFERS 4096
#define MOST_KERNELS 4096 /* each with other arguments */
#define MOST_POINTERS 16  /* of a kernel: one with more makes more than a value */
#define MOST_DEEP 8       /* kernels one behind the other that make a value */

struct buffer {
    uint64_t address; /* key */
    bool copied;      /* by what is no look, or it is not the device's */
    bool given;       /* to a kernel that does not serve looks alone */
    bool made;        /* such a kernel writes there */
    bool fed;         /* one that serves looks alone does */
    uint32_t seen;    /* class of the looks at it, + 1; 0: none */
    uint32_t look;    /* the same, or of the looks at what is made of it */
    unsigned deep;    /* so many kernels before the last one of its looks, + 1 */
    uint64_t round;   /* in which a kernel was first given it since it was allocated, + 1 */
    bool kept;        /* one was in a later round: it may hold what goes on */
};

struct kernel {
    struct kernel_key {
        uint64_t name, arguments; /* ids */
    } key;
    unsigned count;
    uint32_t buffers[MOST_POINTERS]; /* their places */
    uint8_t writes[MOST_POINTERS];   /* enum xfw_writes */
    bool stays;                      /* it does not serve looks alone */
    uint32_t look;
};

/* ---- what is recorded ------------------------------------------------------------------------ */

static void forget(struct xfa_feeders *feeders)
{
    xfw_memories_free(&feeders->memories);
    xfa_table_free(&feeders->buffers);
    xfa_table_free(&feeders->kernels);
    feeders->unknown = feeders->too_many = feeders->sure = false;
    feeders->rounds = 0;
}

void xfa_feeders_begin(struct xfa_feeders *feeders)
{
    forget(feeders);
    feeders->signatures = (struct xfw_signatures){0}; /* names are the process's */
    xfa_table_init(&feeders->buffers, sizeof(uint64_t), sizeof(struct buffer));
    xfa_table_init(&feeders->kernels, sizeof(struct kernel_key), sizeof(struct kernel));
}

/* Memory in no allocation counts as copied: nothing says who else uses it. */
static struct buffer *buffer_at(struct xfa_feeders *feeders, uint64_t address)
{
    struct xfw_memory memory;
    bool known = xfw_memories_find(&feeders->memories, address, &memory);
    uint64_t first = known ? memory.first : address;
    struct buffer *buffer = xfa_table_put(&feeders->buffers, &first);
    feeders->too_many = feeders->too_many || feeders->buffers.count > MOST_BUFFERS;
    buffer->copied = buffer->copied || !known || memory.kind != XFT_MEM_DEVICE;
    return buffer;
}

static void copied(struct xfa_feeders *feeders, uint64_t address)
{
    if (address && !feeders->too_many)
        buffer_at(feeders, address)->copied = true;
}

void xfa_feeders_transfer(struct xfa_feeders *feeders, const struct xfa_event *event, bool look)
{
    const struct xfa_transfer *transfer = &event->transfer;
    enum xft_direction direction = transfer->class->key.row.direction;
    if (feeders->too_many)
        return;
    if (!look && direction != XFT_DIR_H2D)
        copied(feeders, transfer->src);
    if (direction != XFT_DIR_D2H)
        copied(feeders, transfer->dst);
    feeders->rounds += look;
    struct buffer *buffer = look ? buffer_at(feeders, transfer->src) : NULL;
    uint32_t class = transfer->class->number + 1;
    if (buffer && buffer->seen && buffer->seen != class)
        buffer->copied = true; /* one look may stay where another one goes */
    else if (buffer)
        buffer->seen = class;
}

static void note_pointers(struct xfa_feeders *feeders, struct kernel *kernel,
                          const struct xfa_event *event)
{
    const struct xfa_process *process = event->process;
    uint64_t pointer;
    uint32_t count = 0;
    while (count <= MOST_POINTERS &&
           xfw_launch_pointer(process, event->launch.arguments, count, &pointer))
        count++;
    kernel->stays = count > MOST_POINTERS;
    for (uint32_t k = 0; k < count; k++) {
        xfw_launch_pointer(process, event->launch.arguments, k, &pointer);
        struct buffer *buffer = buffer_at(feeders, pointer);
        if (kernel->stays) {
            buffer->copied = true;
            continue;
        }
        kernel->buffers[k] = xfa_table_place(&feeders->buffers, buffer);
        kernel->writes[k] = (uint8_t)xfw_signatures_ask(&feeders->signatures, process,
                                                        event->launch.name, count, k);
        kernel->count = k + 1;
    }
}

static void given(struct xfa_feeders *feeders, const struct kernel *kernel)
{
    for (unsigned k = 0; k < kernel->count; k++) {
        struct buffer *buffer = xfa_table_at(&feeders->buffers, kernel->buffers[k]);
        if (buffer->round == 0)
            buffer->round = feeders->rounds + 1;
        buffer->kept = buffer->kept || buffer->round <= feeders->rounds;
    }
}

static void freed(struct xfa_feeders *feeders, uint64_t address)
{
    struct buffer *buffer = xfa_table_get(&feeders->buffers, &address);
    if (buffer)
        buffer->round = 0;
}

static void launched(struct xfa_feeders *feeders, const struct xfa_event *event)
{
    const struct kernel_key key = {event->launch.name, event->launch.arguments};
    if (key.name == 0 || key.arguments == 0) {
        feeders->unknown = true;
        return;
    }
    struct kernel *kernel = xfa_table_get(&feeders->kernels, &key);
    if (!kernel) {
        kernel = xfa_table_put(&feeders->kernels, &key);
        feeders->too_many = feeders->too_many || feeders->kernels.count > MOST_KERNELS;
        note_pointers(feeders, kernel, event);
    }
    given(feeders, kernel);
}

void xfa_feeders_event(struct xfa_feeders *feeders, const struct xfa_event *event)
{
    if (feeders->too_many)
        return;
    if (event->kind == XFT_EVENT_LAUNCH && !(event->flags & XFT_CAPTURED)) {
        launched(feeders, event);
    } else if (event->kind == XFT_EVENT_LAUNCH || event->kind == XFT_EVENT_GRAPH_LAUNCH) {
        feeders->unknown = true;
    } else if (event->kind == XFT_EVENT_MESSAGE) {
        copied(feeders, event->message.src);
        copied(feeders, event->message.dst);
    } else {
        if (event->kind == XFT_EVENT_FREE)
            freed(feeders, event->memory.address);
        xfw_memories_event(&feeders->memories, event);
    }
}

/* ---- who serves looks alone ------------------------------------------------------------------ */

static struct buffer *buffer_of(const struct xfa_feeders *feeders, const struct kernel *kernel,
                                unsigned k)
{
    return xfa_table_at(&feeders->buffers, kernel->buffers[k]);
}

static bool serves(const struct buffer *buffer)
{
    return !buffer->copied && !buffer->given;
}

static bool is_sure_of(const struct kernel *kernel)
{
    for (unsigned k = 0; k < kernel->count; k++)
        if (kernel->writes[k] == XFW_MAY_WRITE)
            return false;
    return true;
}

/* One that may write where others do is taken to read there. */
static bool writes(const struct kernel *kernel, unsigned k, const struct buffer *buffer)
{
    return kernel->writes[k] == XFW_WRITES ||
           (kernel->writes[k] == XFW_MAY_WRITE && serves(buffer));
}

/* It stays: so do all buffers that it is given. */
static void stay(const struct xfa_feeders *feeders, struct kernel *kernel)
{
    kernel->stays = true;
    for (unsigned k = 0; k < kernel->count; k++) {
        struct buffer *buffer = buffer_of(feeders, kernel, k);
        buffer->given = true;
        buffer->made = buffer->made || kernel->writes[k] != XFW_READS;
    }
}

/* Does it write, and only to buffers that serve looks? */
static bool may_go(const struct xfa_feeders *feeders, const struct kernel *kernel)
{
    bool makes = false;
    for (unsigned k = 0; k < kernel->count; k++) {
        const struct buffer *buffer = buffer_of(feeders, kernel, k);
        if (writes(kernel, k, buffer) && !serves(buffer))
            return false;
        makes = makes || writes(kernel, k, buffer);
    }
    return makes;
}

/* False: it is for no look, for several, or for a value that is carried on. */
static bool trace(const struct xfa_feeders *feeders, struct kernel *kernel)
{
    unsigned deep = 0;
    kernel->look = 0;
    for (unsigned k = 0; k < kernel->count; k++) {
        const struct buffer *made = buffer_of(feeders, kernel, k);
        if (!writes(kernel, k, made))
            continue;
        if (!made->look || (kernel->look && kernel->look != made->look))
            return false;
        kernel->look = made->look;
        deep = made->deep > deep ? made->deep : deep;
    }
    for (unsigned k = 0; k < kernel->count && deep < MOST_DEEP; k++) {
        struct buffer *read = buffer_of(feeders, kernel, k);
        if (writes(kernel, k, read) || !serves(read))
            continue;
        if (read->look && read->look != kernel->look)
            return false;
        read->look = kernel->look;
        read->deep = read->deep > deep + 1 ? read->deep : deep + 1;
    }
    return deep < MOST_DEEP;
}

/* It reads what kernels that stay write, or what others make that go. As likely only memory that
 * outlives a round: in other memory nothing goes on that the host could look at less often. */
static bool is_grounded(const struct xfa_feeders *feeders, const struct kernel *kernel)
{
    for (unsigned k = 0; k < kernel->count; k++) {
        const struct buffer *read = buffer_of(feeders, kernel, k);
        if (!writes(kernel, k, read) &&
            (serves(read) ? read->fed : read->made && (read->kept || !feeders->sure)))
            return true;
    }
    return false;
}

/* Where those write that do not stay. */
static void feed(const struct xfa_feeders *feeders)
{
    for (size_t i = 0; i < feeders->buffers.count; i++)
        ((struct buffer *)xfa_table_at(&feeders->buffers, i))->fed = false;
    for (size_t i = 0; i < feeders->kernels.count; i++) {
        const struct kernel *kernel = xfa_table_at(&feeders->kernels, i);
        for (unsigned k = 0; k < kernel->count && !kernel->stays; k++) {
            struct buffer *buffer = buffer_of(feeders, kernel, k);
            buffer->fed = buffer->fed || writes(kernel, k, buffer);
        }
    }
}

/* Those of which it is not known where they write come last: by then it is known who stays. */
enum which { KNOWN, ALL };

/* Takes out those that stay, until none is left that has to. fits: NULL: all do. */
static void take_out(const struct xfa_feeders *feeders, enum which which,
                     bool (*fits)(const struct xfa_feeders *, struct kernel *))
{
    bool again = true;
    while (again) {
        again = false;
        feed(feeders);
        for (size_t i = 0; i < feeders->kernels.count; i++) {
            struct kernel *kernel = xfa_table_at(&feeders->kernels, i);
            if (kernel->stays || (which == KNOWN && !is_sure_of(kernel)))
                continue;
            if (!may_go(feeders, kernel) || (fits && !fits(feeders, kernel))) {
                stay(feeders, kernel);
                again = true;
            }
        }
    }
}

/* Which buffers are for which looks: from the looks back, as deep as chains may be. */
static void trace_back(const struct xfa_feeders *feeders)
{
    for (unsigned round = 0; round <= MOST_DEEP + 1; round++)
        for (size_t i = 0; i < feeders->kernels.count; i++) {
            struct kernel *kernel = xfa_table_at(&feeders->kernels, i);
            if (!kernel->stays)
                trace(feeders, kernel);
        }
}

static bool is_traced(const struct xfa_feeders *feeders, struct kernel *kernel)
{
    return trace(feeders, kernel) && is_grounded(feeders, kernel);
}

static void judge(struct xfa_feeders *feeders, bool sure)
{
    feeders->sure = sure;
    for (size_t i = 0; i < feeders->buffers.count; i++) {
        struct buffer *buffer = xfa_table_at(&feeders->buffers, i);
        buffer->given = buffer->made = false;
        buffer->look = buffer->seen;
        buffer->deep = 0;
    }
    for (size_t i = 0; i < feeders->kernels.count; i++) {
        struct kernel *kernel = xfa_table_at(&feeders->kernels, i);
        if (kernel->count == 0 || (sure && !is_sure_of(kernel)))
            stay(feeders, kernel);
        else
            kernel->stays = false;
    }
    take_out(feeders, KNOWN, NULL);
    trace_back(feeders);
    take_out(feeders, KNOWN, is_traced);
    take_out(feeders, ALL, is_traced);
}

void xfa_feeders_end(struct xfa_feeders *feeders, uint32_t process)
{
    for (int sure = 0; sure < 2 && !feeders->too_many; sure++) {
        if (sure && feeders->unknown)
            break;
        judge(feeders, sure);
        for (size_t i = 0; i < feeders->kernels.count; i++) {
            struct kernel *kernel = xfa_table_at(&feeders->kernels, i);
            if (kernel->stays)
                continue;
            struct xfw_feeder feeder = {.process = process,
                                        .name = (uint32_t)kernel->key.name,
                                        .arguments = (uint32_t)kernel->key.arguments};
            struct xfw_feeder *put = xfw_feeder_put(&feeders->found, &feeder);
            put->class = kernel->look - 1;
            put->sure = sure;
        }
    }
    forget(feeders);
}

void xfa_feeders_free(struct xfa_feeders *feeders)
{
    forget(feeders);
    xfw_feeders_free(&feeders->found);
}

/* ---- divided --------------------------------------------------------------------------------- */

void xfa_feeders_give(const struct xfa_feeders *feeders, struct xfa_parcel *parcel)
{
    const struct xfa_table *table = &feeders->found.table;
    xfa_parcel_number(parcel, table->count);
    for (size_t i = 0; i < table->count; i++)
        xfa_parcel_put(parcel, xfa_table_at(table, i), sizeof(struct xfw_feeder));
    xfw_marks_give(&feeders->found.looks, parcel);
}

void xfa_feeders_take(struct xfa_feeders *feeders, const struct xfa_analysis *analysis,
                      struct xfa_unpacking *from)
{
    struct xfw_feeder feeder;
    size_t count = xfa_unpack_count(from, sizeof feeder);
    for (size_t i = 0; i < count && !from->bad; i++) {
        xfa_unpack_bytes(from, &feeder, sizeof feeder);
        from->bad = from->bad || feeder.class >= analysis->classes.classes.count ||
                    feeder.process >= analysis->run->process_count;
        if (!from->bad)
            *xfw_feeder_put(&feeders->found, &feeder) = feeder;
    }
    xfw_marks_take(&feeders->found.looks, from, analysis->run->process_count);
}
