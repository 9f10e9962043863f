#include "analyzer/whatif/changes/costs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/pass/first_call.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/op/recording_cost.h"

#define ENOUGH 1.1 /* of the fastest */
#define AHEAD 1.5  /* of the link: apply's threads need be no faster (tools/xferscope/tuned.c) */
#define BUSY 2     /* at worst the host copies that many times slower: a guess */

double xfw_as_sure(double ns, double error, enum xfw_certainty certainty)
{
    double off = fmin(fmax(error, 0), 0.5);
    return certainty == XFW_LOW ? ns * (1 + off) : certainty == XFW_HIGH ? ns * (1 - off) : ns;
}

/* ---- copies ---------------------------------------------------------------------------------- */

struct xfw_copy_cost xfw_copy_cost(const struct xfp_path *path, uint64_t bytes,
                                   enum xfw_certainty certainty)
{
    struct xfw_copy_cost cost = {0};
    struct xfp_estimate device = path ? xfp_time(path, bytes) : (struct xfp_estimate){0};
    if (device.basis == XFP_UNKNOWN || !(device.ns > 0))
        return cost;
    struct xfp_estimate blocking = xfp_blocking_time(path, bytes);
    cost.known = true;
    cost.device_ns = xfw_as_sure(device.ns, device.error, certainty);
    cost.lead_ns = xfw_min(xfp_fit_lead(&path->fit), cost.device_ns);
    double submit_ns = xfa_submit_time(path, bytes);
    cost.submit_ns = isnan(submit_ns) ? XFW_SUBMIT_NS : submit_ns;
    cost.blocking_ns = cost.device_ns + 2 * cost.submit_ns;
    if (blocking.basis != XFP_UNKNOWN)
        cost.blocking_ns =
            fmax(cost.device_ns, xfw_as_sure(blocking.ns, blocking.error, certainty));
    return cost;
}

const struct xfp_path *xfw_host_path(const struct xfa_achievable *achievable,
                                     enum xft_direction direction, enum xft_memory memory, int node,
                                     int gpu)
{
    if (!achievable->profile)
        return NULL;
    struct xfp_place host = {memory, -1, node};
    struct xfp_place device = {XFT_MEM_DEVICE, xfa_achievable_gpu(achievable, gpu), -1};
    return direction == XFT_DIR_H2D ? xfp_find(achievable->profile, XFP_COPY, host, device, false)
                                    : xfp_find(achievable->profile, XFP_COPY, device, host, false);
}

/* ---- tables and scalars ---------------------------------------------------------------------- */

const struct xfp_table *xfw_gpu_table(const struct xfa_achievable *achievable, const char *what,
                                      int node, int gpu)
{
    int number = achievable->profile ? xfa_achievable_gpu(achievable, gpu < 0 ? 0 : gpu) : -1;
    return xfa_profile_gpu_table(achievable->tables, what, node, number);
}

double xfw_around_ns(const struct xfa_achievable *achievable, enum xft_direction direction, int gpu)
{
    const char *what = direction == XFT_DIR_H2D ? "copies/single/h2d" : "copies/single/d2h";
    const struct xfp_table *table = xfw_gpu_table(achievable, what, -1, gpu);
    const struct xfp_path *path = xfw_host_path(achievable, direction, XFT_MEM_PINNED, -1, gpu);
    if (!table || !path)
        return NAN;
    struct xfp_estimate all = xfp_table_at(table, 1), device = xfp_time(path, table->bytes);
    if (all.basis == XFP_UNKNOWN || device.basis == XFP_UNKNOWN)
        return NAN;
    return fmax(0, all.ns - device.ns) / 2;
}

double xfw_table_cost(const struct xfa_achievable *achievable, const char *what, int node, int gpu,
                      uint64_t at, enum xfw_certainty certainty)
{
    const struct xfp_table *table = xfw_gpu_table(achievable, what, node, gpu);
    struct xfp_estimate cost = table ? xfp_table_at(table, at) : (struct xfp_estimate){0};
    return cost.basis == XFP_UNKNOWN ? 0 : xfw_as_sure(cost.ns, cost.error, certainty);
}

double xfw_scalar_cost(const struct xfa_achievable *achievable, const char *what, int gpu,
                       double otherwise)
{
    return xfw_scalar_cost_by(achievable, what, gpu, XFW_LIKELY, otherwise);
}

double xfw_scalar_cost_by(const struct xfa_achievable *achievable, const char *what, int gpu,
                          enum xfw_certainty certainty, double otherwise)
{
    char name[96];
    if (!achievable->profile)
        return otherwise;
    snprintf(name, sizeof name, "%s/gpu%d", what,
             xfa_achievable_gpu(achievable, gpu < 0 ? 0 : gpu));
    const struct xfp_scalar *scalar = xfp_find_scalar(achievable->profile, name);
    if (!scalar)
        return otherwise;
    return xfw_cost_by(&scalar->cost, certainty);
}

double xfw_cost_by(const struct xfp_cost *cost, enum xfw_certainty certainty)
{
    return certainty == XFW_LIKELY ? cost->median : certainty == XFW_LOW ? cost->max : cost->min;
}

void xfw_only_wait(const struct xfa_achievable *achievable, struct xfw_op *op)
{
    double ns = xfw_scalar_cost(achievable, "sync/stream", op->gpu, XFW_SYNC_STREAM_NS);
    xfw_op_drop(op);
    op->awaits = XFW_AWAITS_STREAM;
    op->own_ns = op->wake_ns = ns;
}

double xfw_registration_cost(const struct xfa_achievable *achievable, int node, int gpu,
                             uint64_t bytes, enum xfw_certainty certainty, bool *known)
{
    if (known)
        *known = xfw_gpu_table(achievable, "register/pageable", node, gpu);
    return xfw_table_cost(achievable, "register/pageable", node, gpu, bytes, certainty) +
           xfw_table_cost(achievable, "unregister/pageable", node, gpu, bytes, certainty);
}

/* ---- page-locked memory ---------------------------------------------------------------------- */

/* By how much such calls differ from process to process: page-locking 64 MiB and undoing it took 28
 * to 43 ms on one machine (docs/analyze.md). */
#define VARIES 0.25

static bool may_use(const struct xfa_achievable *achievable, unsigned threads)
{
    return threads == 1 ||
           (achievable->profile && (int)threads <= achievable->profile->machine.cpus / 2);
}

/* Of which memory, and for whom. */
struct lock_of {
    const struct xfa_achievable *achievable;
    const char *kind; /* of the profile's tables, before the number of threads */
    int node, gpu;
    uint64_t bytes;
    enum xfw_certainty certainty;
};

static double lock_table(const struct lock_of *of, const char *what, unsigned threads)
{
    char name[40];
    snprintf(name, sizeof name, "%s/%s%u", what, of->kind, threads);
    return xfw_table_cost(of->achievable, name, of->node, of->gpu, of->bytes, of->certainty);
}

static struct xfw_locking by_threads(const struct lock_of *of, unsigned threads)
{
    struct xfw_locking locking = {.threads = threads};
    if (of->bytes < XFW_LOCK_LEAST || !may_use(of->achievable, threads))
        return locking;
    locking.take_ns = lock_table(of, "lock", threads);
    locking.give_ns = lock_table(of, "unlock", threads);
    locking.clear_ns = lock_table(of, "clear", threads);
    locking.known = locking.take_ns > 0 && locking.give_ns > 0;
    return locking;
}

static struct xfw_locking cheapest(const struct lock_of *of)
{
    static const unsigned threads[] = {1, 4, 8, 16};
    enum { COUNT = sizeof threads / sizeof *threads };
    struct xfw_locking each[COUNT];
    double least = INFINITY;
    for (size_t i = 0; i < COUNT; i++) {
        each[i] = by_threads(of, threads[i]);
        least = each[i].known ? fmin(least, each[i].take_ns) : least;
    }
    for (size_t i = 0; i < COUNT; i++)
        if (each[i].known && each[i].take_ns <= ENOUGH * least)
            return each[i];
    return (struct xfw_locking){0};
}

struct xfw_locking xfw_locking_cost(const struct xfa_achievable *achievable, int node, int gpu,
                                    uint64_t bytes, enum xfw_certainty certainty)
{
    return cheapest(&(struct lock_of){achievable, "threads", node, gpu, bytes, certainty});
}

struct xfw_locking xfw_applied_locking_cost(const struct xfa_achievable *achievable, int gpu,
                                            uint64_t bytes, enum xfw_certainty certainty)
{
    return cheapest(&(struct lock_of){achievable, "shared", -1, gpu, bytes, certainty});
}

/* The table of such calls; NULL: none is measured. */
static const char *memory_table(const struct xfw_op *op)
{
#define TABLES(call)                                                                               \
    {                                                                                              \
        [XFT_MEM_DEVICE] = (call "/device"), [XFT_MEM_PINNED] = (call "/pinned"),                  \
        [XFT_MEM_MAPPED] = (call "/mapped"), [XFT_MEM_WRITE_COMBINED] = (call "/write-combined"),  \
        [XFT_MEM_MANAGED] = (call "/managed"), [XFT_MEM_REGISTERED] = (call "/pageable"),          \
    }
    static const char *const tables[][XFT_MEMORY_COUNT] = {
        [XFT_EVENT_ALLOC] = TABLES("alloc"),
        [XFT_EVENT_FREE] = TABLES("free"),
        [XFT_EVENT_REGISTER] = TABLES("register"),
        [XFT_EVENT_UNREGISTER] = TABLES("unregister"),
    };
#undef TABLES
    static const char *const pools[] = {
        [XFT_EVENT_ALLOC] = "alloc/pool",
        [XFT_EVENT_FREE] = "free/pool",
        [XFT_EVENT_REGISTER] = "register/pool",
        [XFT_EVENT_UNREGISTER] = "unregister/pool",
    };
    const char *table = op->memory < XFT_MEMORY_COUNT ? tables[op->kind][op->memory] : NULL;
    return table && op->pooled ? pools[op->kind] : table;
}

/* What such a call took when the machine was probed; INFINITY: not measured. */
static double probed_ns(const struct xfa_achievable *achievable, const struct xfw_op *op)
{
    const char *table = memory_table(op);
    if (!table || achievable->match == XFA_MATCH_NO)
        return INFINITY;
    double ns = xfw_table_cost(achievable, table, -1, op->gpu, op->bytes, XFW_LIKELY);
    return ns > 0 ? ns : INFINITY;
}

double xfw_memory_call_ns(const struct xfa_achievable *achievable, const struct xfw_op *op,
                          enum xfw_certainty certainty)
{
    double speed = xfw_speed_error(achievable->profile), probed = probed_ns(achievable, op);
    double between = (op->own_ns + probed) / 2;
    if (speed > 0)
        between = fmax(between, op->own_ns * (1 - speed));
    double usual = fmin(op->own_ns, between), most = op->own_ns;
    if (op->opens && op->own_ns - probed > XFA_CONTEXT_NS) {
        usual = probed;
        most = probed * (1 + VARIES);
    }
    return certainty == XFW_HIGH ? most : certainty == XFW_LIKELY ? usual : usual * (1 - VARIES);
}

/* ---- staging --------------------------------------------------------------------------------- */

/* From pageable memory into the ring, or out of it. */
static const struct xfp_table *staging_table(const struct xfa_achievable *achievable,
                                             enum xft_direction direction)
{
    const struct xfp_table *table = xfa_profile_host_table(
        achievable->tables,
        direction == XFT_DIR_H2D ? "host-copy/pageable/h2h" : "host-copy/pinned/h2h");
    return table && table->bytes > 0 ? table : NULL;
}

/* Between two numbers that were measured the speed is on a line, not the time. */
static struct xfp_estimate by_thread_count(const struct xfp_table *table, unsigned threads)
{
    struct xfp_estimate found = xfp_table_at(table, threads);
    for (size_t i = 1; found.basis == XFP_INTERPOLATED && i < table->row_count; i++) {
        const struct xfp_row *a = &table->rows[i - 1], *b = &table->rows[i];
        if (threads <= a->at || threads >= b->at)
            continue;
        double part = (double)(threads - a->at) / (double)(b->at - a->at);
        found.ns = 1 / ((1 - part) / a->cost.median + part / b->cost.median);
    }
    return found;
}

unsigned xfw_applied_threads(const struct xfa_achievable *achievable, int gpu)
{
    const uint64_t large = (uint64_t)64 << 20, most = 16;
    const struct xfp_table *table = staging_table(achievable, XFT_DIR_H2D);
    const struct xfp_path *link = xfw_host_path(achievable, XFT_DIR_H2D, XFT_MEM_PINNED, -1, gpu);
    if (!table || !link)
        return 0;
    double link_ns = xfp_blocking_time(link, large).ns * (double)table->bytes / (double)large;
    uint64_t threads = (uint64_t)(achievable->profile->machine.cpus / 2);
    threads = threads < most ? threads : most;
    for (size_t i = 0; i < table->row_count && table->rows[i].at <= threads; i++)
        if (table->rows[i].cost.median <= link_ns / AHEAD)
            threads = table->rows[i].at;
    return (unsigned)threads;
}

unsigned xfw_staging_threads(const struct xfa_achievable *achievable, enum xft_direction direction)
{
    const struct xfp_table *table = staging_table(achievable, direction);
    uint64_t most = table ? (uint64_t)(achievable->profile->machine.cpus / 2) : 0;
    double least_ns = INFINITY;
    for (size_t i = 0; table && i < table->row_count; i++)
        if (table->rows[i].at <= most)
            least_ns = fmin(least_ns, table->rows[i].cost.median);
    for (size_t i = 0; table && i < table->row_count; i++)
        if (table->rows[i].at <= most && table->rows[i].cost.median <= ENOUGH * least_ns)
            return (unsigned)table->rows[i].at;
    return 0;
}

double xfw_staging_part(const struct xfa_achievable *achievable, enum xft_direction direction,
                        unsigned threads)
{
    const struct xfp_table *table = staging_table(achievable, direction);
    struct xfp_estimate one = table ? xfp_table_at(table, 1) : (struct xfp_estimate){0};
    struct xfp_estimate all = table ? by_thread_count(table, threads) : (struct xfp_estimate){0};
    bool known = one.basis != XFP_UNKNOWN && all.basis != XFP_UNKNOWN && one.ns > 0;
    return known ? fmin(1, all.ns / one.ns) : 1;
}

uint64_t xfw_staging_piece(uint64_t bytes)
{
    return bytes >= XFW_STAGE_LEAST ? XFW_STAGE_PIECE : 0;
}

uint64_t xfw_applied_piece(uint64_t bytes)
{
    const uint64_t least = (uint64_t)256 << 10, most = (uint64_t)4 << 20;
    uint64_t piece = bytes / XFW_STAGE_PIECES & ~(least - 1);
    if (bytes < XFW_APPLIED_LEAST)
        return 0;
    return piece < least ? least : piece < most ? piece : most;
}

struct xfw_staging xfw_staging_cost(const struct xfa_achievable *achievable,
                                    const struct xfp_path *path, uint64_t bytes,
                                    uint64_t piece_bytes, unsigned threads,
                                    enum xfw_certainty certainty)
{
    struct xfw_staging staging = {0};
    const struct xfp_table *table = path ? staging_table(achievable, path->direction) : NULL;
    struct xfw_copy_cost piece = xfw_copy_cost(path, piece_bytes, certainty);
    struct xfp_estimate host = table ? by_thread_count(table, threads) : (struct xfp_estimate){0};
    if (piece_bytes == 0 || !piece.known || host.basis == XFP_UNKNOWN)
        return staging;
    double slower = certainty == XFW_LOW ? BUSY : 1;
    double host_ns = slower * xfw_as_sure(host.ns, host.error, certainty) * (double)piece_bytes /
                         (double)table->bytes +
                     piece.submit_ns;
    double pieces = (double)bytes / (double)piece_bytes;
    double end_ns = (piece.blocking_ns - piece.device_ns) / 2;
    bool up = path->direction == XFT_DIR_H2D;
    staging.known = true;
    staging.first_ns = up ? host_ns : end_ns;
    staging.during_ns = fmax(host_ns, piece.device_ns) * (pieces - 1) + piece.device_ns;
    staging.last_ns = up ? end_ns : end_ns + host_ns;
    return staging;
}

/* ---- the host's reads ------------------------------------------------------------------------ */

double xfw_host_read_ns(const struct xfa_achievable *achievable, enum xft_memory memory,
                        uint64_t bytes, enum xfw_certainty certainty)
{
    char name[64];
    snprintf(name, sizeof name, "host-read/%s", xft_memory_word(memory));
    const struct xfp_table *table = xfa_profile_host_table(achievable->tables, name);
    struct xfp_estimate cost = table ? xfp_table_at(table, bytes) : (struct xfp_estimate){0};
    return cost.basis == XFP_UNKNOWN ? NAN : xfw_as_sure(cost.ns, cost.error, certainty);
}

/* ---- kernels --------------------------------------------------------------------------------- */

double xfw_device_byte_ns(const struct xfa_achievable *achievable, int gpu)
{
    const uint64_t some = (uint64_t)16 << 20, more = (uint64_t)64 << 20;
    const struct xfp_profile *profile = achievable->profile;
    int number = profile ? xfa_achievable_gpu(achievable, gpu < 0 ? 0 : gpu) : -1;
    const struct xfp_place here = {XFT_MEM_DEVICE, number, -1};
    const struct xfp_path *path = profile ? xfp_find(profile, XFP_COPY, here, here, false) : NULL;
    if (!path)
        return NAN;
    struct xfp_estimate first = xfp_time(path, some), second = xfp_time(path, more);
    if (first.basis == XFP_UNKNOWN || second.basis == XFP_UNKNOWN || !(second.ns > first.ns))
        return NAN;
    return (second.ns - first.ns) / (double)(more - some);
}

double xfw_device_least_ns(const struct xfa_achievable *achievable, int gpu)
{
    const struct xfp_profile *profile = achievable->profile;
    int number = profile ? xfa_achievable_gpu(achievable, gpu < 0 ? 0 : gpu) : -1;
    const struct xfp_place here = {XFT_MEM_DEVICE, number, -1};
    const struct xfp_path *path = profile ? xfp_find(profile, XFP_COPY, here, here, false) : NULL;
    struct xfp_estimate least = path ? xfp_time(path, 1) : (struct xfp_estimate){0};
    return least.basis == XFP_UNKNOWN ? 0 : least.ns;
}

double xfw_times_over(const struct xfa_achievable *achievable, int gpu, uint64_t bytes,
                      double kernel_ns)
{
    double once = xfw_mapped_ns(achievable, gpu, false, (double)bytes);
    return bytes < XFW_MAPPING_LEAST || !(once > 0) ? 0 : kernel_ns / once;
}

double xfw_share_read(const struct xfa_achievable *achievable, int gpu, uint64_t bytes,
                      double kernel_ns)
{
    double byte = xfw_device_byte_ns(achievable, gpu);
    return bytes < XFW_MAPPING_LEAST || !(byte > 0) ? 1 : kernel_ns / (byte * (double)bytes);
}

/* ---- answers remembered ---------------------------------------------------------------------- */

/* Where an answer for a size is kept, of so many places: a power of two. */
static size_t place_of(uint64_t bytes, size_t places)
{
    return (size_t)((bytes * 0x9e3779b97f4a7c15u) >> 32) & (places - 1);
}

struct xfw_copy_cost xfw_asked_cost(struct xfw_asked *asked, const struct xfp_path *path,
                                    uint64_t bytes, enum xfw_certainty certainty)
{
    size_t place = place_of(bytes + (uint64_t)certainty, XFW_ASKED_COSTS);
    struct xfw_asked_cost *free_one = &asked->costs[place];
    if (!path)
        return (struct xfw_copy_cost){0};
    for (size_t i = 0; i < XFW_ASKED_NEAR; i++) {
        struct xfw_asked_cost *at = &asked->costs[(place + i) & (XFW_ASKED_COSTS - 1)];
        if (at->path == path && at->bytes == bytes && at->certainty == certainty)
            return at->cost;
        if (!at->path) {
            free_one = at;
            break;
        }
    }
    *free_one =
        (struct xfw_asked_cost){path, bytes, certainty, xfw_copy_cost(path, bytes, certainty)};
    return free_one->cost;
}

const struct xfp_path *xfw_asked_path(struct xfw_asked *asked,
                                      const struct xfa_achievable *achievable,
                                      enum xft_direction direction, enum xft_memory memory,
                                      int node, int gpu)
{
    for (unsigned i = 0; i < XFW_ASKED_PATHS; i++) {
        const struct xfw_asked_path *path = &asked->paths[i];
        if (path->there && path->direction == direction && path->memory == memory &&
            path->node == node && path->gpu == gpu)
            return path->path;
    }
    struct xfw_asked_path *path = &asked->paths[asked->next_path++ % XFW_ASKED_PATHS];
    *path = (struct xfw_asked_path){true, direction, memory, node, gpu, NULL};
    path->path = xfw_host_path(achievable, direction, memory, node, gpu);
    return path->path;
}

const struct xfa_achieved *xfw_asked_time(struct xfw_asked_times *asked,
                                          const struct xfa_class *class, uint64_t bytes)
{
    struct xfw_asked_time *time = &asked->times[place_of(bytes, XFW_ASKED_COSTS)];
    if (time->class != class->number + 1 || time->bytes != bytes)
        *time = (struct xfw_asked_time){bytes, class->number + 1,
                                        xfa_achievable_ask(&class->achievable, bytes)};
    return &time->answer;
}

double xfw_asked_scalar(struct xfw_asked *asked, const struct xfa_achievable *achievable,
                        const char *what, int gpu, double otherwise)
{
    for (unsigned i = 0; i < XFW_ASKED_SCALARS; i++) {
        const struct xfw_asked_scalar *scalar = &asked->scalars[i];
        if (scalar->what == what && scalar->gpu == gpu)
            return scalar->ns;
    }
    struct xfw_asked_scalar *scalar = &asked->scalars[asked->next_scalar++ % XFW_ASKED_SCALARS];
    *scalar =
        (struct xfw_asked_scalar){what, gpu, xfw_scalar_cost(achievable, what, gpu, otherwise)};
    return scalar->ns;
}

double xfw_asked_around(struct xfw_asked *asked, const struct xfa_achievable *achievable,
                        enum xft_direction direction, int gpu, double otherwise)
{
    struct xfw_asked_around *around = NULL;
    for (unsigned i = 0; i < XFW_ASKED_AROUND && !around; i++)
        if (asked->around[i].there && asked->around[i].direction == direction &&
            asked->around[i].gpu == gpu)
            around = &asked->around[i];
    if (!around) {
        around = &asked->around[asked->next_around++ % XFW_ASKED_AROUND];
        *around = (struct xfw_asked_around){true, direction, gpu,
                                            xfw_around_ns(achievable, direction, gpu)};
    }
    return isnan(around->ns) ? otherwise : around->ns;
}

static void find_paths(struct xfw_directions *paths, const struct xfa_analysis *analysis,
                       const struct xfw_op *op)
{
    int gpu = xfa_achievable_gpu(&analysis->achievable, op->gpu);
    struct xfp_place host = {XFT_MEM_PINNED, -1, -1}, device = {XFT_MEM_DEVICE, gpu, -1};
    struct xfp_place src = op->engine == XFW_TO_DEVICE ? host : device;
    struct xfp_place dst = op->engine == XFW_TO_DEVICE ? device : host;
    *paths = (struct xfw_directions){
        .asked = true,
        .gpu = op->gpu,
        .alone = xfp_find(analysis->profile, XFP_COPY, src, dst, false),
        .both = xfp_find_loaded(analysis->profile, XFP_COPY, src, dst, XFP_BOTH_WAYS),
    };
}

static void ask_both(struct xfw_slower *slower, const struct xfw_directions *paths,
                     const struct xfw_op *op, enum xfw_certainty certainty)
{
    struct xfp_estimate one = {.basis = XFP_UNKNOWN}, two = one;
    if (paths->alone && paths->both) {
        one = xfp_time(paths->alone, op->bytes);
        two = xfp_time(paths->both, op->bytes);
    }
    bool known = one.basis != XFP_UNKNOWN && two.basis != XFP_UNKNOWN;
    *slower = (struct xfw_slower){.bytes = op->bytes, .gpu = op->gpu};
    if (known) {
        slower->alone = xfw_as_sure(one.ns, one.error, xfw_opposite(certainty));
        slower->both = xfw_as_sure(two.ns, two.error, certainty);
    }
}

double xfw_slowdown(struct xfw_slowdowns *slowdowns, const struct xfa_analysis *analysis,
                    enum xfw_certainty certainty, const struct xfw_op *op)
{
    bool to_host = op->engine == XFW_TO_HOST;
    struct xfw_slower *slower =
        &slowdowns->answers[to_host][place_of(op->bytes, XFW_SLOWDOWN_SIZES)];
    struct xfw_directions *paths = &slowdowns->paths[to_host];
    if (!analysis->profile || op->duration_ns <= 0)
        return 1;
    if (slower->bytes != op->bytes || slower->gpu != op->gpu) {
        if (!paths->asked || paths->gpu != op->gpu)
            find_paths(paths, analysis, op);
        ask_both(slower, paths, op, certainty);
    }
    if (slower->alone <= 0)
        return 1;
    return xfw_max(1, xfw_min(slower->both / slower->alone, slower->both / op->duration_ns));
}
