#include "probe/net/net.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "probe/device/buffer.h"
#include "probe/measure/budget.h"
#include "probe/measure/sizes.h"
#include "probe/measure/stats.h"
#include "probe/net/collect.h"

enum { FLOAT32 = 7, SUM = 0, ID_BYTES = 128, MOST_SIZES = 64, SAMPLES = 12, MOST_REPEATS = 64 };
#define SAMPLE_NS 2e6
#define USUAL_S 8.0
#define QUICK_S 1.6

struct id {
    char bytes[ID_BYTES];
};

/* Its functions; all return an ncclResult_t, 0 = success. */
#define FUNCTIONS(X)                                                                               \
    X(get_version, "ncclGetVersion", (int *version))                                               \
    X(get_id, "ncclGetUniqueId", (struct id * id))                                                 \
    X(init, "ncclCommInitRank", (void **comm, int count, struct id id, int rank))                  \
    X(destroy, "ncclCommDestroy", (void *comm))                                                    \
    X(all_reduce, "ncclAllReduce",                                                                 \
      (const void *src, void *dst, size_t count, int type, int op, void *comm, void *stream))      \
    X(all_gather, "ncclAllGather",                                                                 \
      (const void *src, void *dst, size_t count, int type, void *comm, void *stream))              \
    X(reduce_scatter, "ncclReduceScatter",                                                         \
      (const void *src, void *dst, size_t count, int type, int op, void *comm, void *stream))      \
    X(send, "ncclSend",                                                                            \
      (const void *src, size_t count, int type, int peer, void *comm, void *stream))               \
    X(receive, "ncclRecv",                                                                         \
      (void *dst, size_t count, int type, int peer, void *comm, void *stream))                     \
    X(group_start, "ncclGroupStart", (void))                                                       \
    X(group_end, "ncclGroupEnd", (void))

struct functions {
#define DECLARE(name, symbol, parameters) int(*name) parameters;
    FUNCTIONS(DECLARE)
#undef DECLARE
};

/* A rank's part. */
struct part {
    struct xfp_net_run *run;
    struct functions f;
    void *comm, *stream;
    struct xfp_buffer src, dst;
    size_t most;
    char why[200];
};

static bool load(struct part *p)
{
    const char *named = getenv("XFERSCOPE_NCCL");
    bool simulated = p->run->session.profile->machine.simulated;
    void *library;

    if (simulated && (!named || !*named))
        return false;
    library = dlopen(named && *named ? named : "libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return false;
#define FIND(name, symbol, parameters) *(void **)&p->f.name = dlsym(library, symbol);
    FUNCTIONS(FIND)
#undef FIND
#define MISSING(name, symbol, parameters) || !p->f.name
    return !(0 FUNCTIONS(MISSING));
#undef MISSING
}

/* True when every rank says so. */
static bool all_say(struct xfp_net_run *run, bool yes)
{
    int own = yes, all = 0;

    xfp_net_mpi(run, MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, run->results), "agreeing");
    return all;
}

/* NCCL refuses two ranks on one GPU. */
static bool a_gpu_each(const struct xfp_net_run *run)
{
    for (int i = 0; i < run->count; i++)
        for (int j = 0; j <= i; j++) {
            const struct xfp_net_hello *a = &run->hellos[i], *b = &run->hellos[j];

            if (a->gpu < 0 || (i != j && a->host == b->host && a->gpu == b->gpu))
                return false;
        }
    return true;
}

/* ---- the collectives ------------------------------------------------------------------------- */

/* As nccl-tests count `bytes`: of all-reduce and send-recv what a rank gives, of all-gather what it
 * gets, of reduce-scatter what it gives, n times what it gets. */
static int begin(struct part *p, const char *name, size_t bytes)
{
    size_t n = (size_t)p->run->count, count = bytes / sizeof(float);
    void *src = (void *)p->src.address, *dst = (void *)p->dst.address;
    int next = (p->run->rank + 1) % p->run->count;
    int before = (p->run->rank + p->run->count - 1) % p->run->count, bad;

    if (!strcmp(name, "all-reduce"))
        return p->f.all_reduce(src, dst, count, FLOAT32, SUM, p->comm, p->stream);
    if (!strcmp(name, "all-gather"))
        return p->f.all_gather(src, dst, count / n, FLOAT32, p->comm, p->stream);
    if (!strcmp(name, "reduce-scatter"))
        return p->f.reduce_scatter(src, dst, count / n, FLOAT32, SUM, p->comm, p->stream);
    bad = p->f.group_start();
    bad |= p->f.send(src, count, FLOAT32, next, p->comm, p->stream);
    bad |= p->f.receive(dst, count, FLOAT32, before, p->comm, p->stream);
    return bad | p->f.group_end();
}

/* What element `at` of `dst` is, when every rank's source is full of its number from 1 on. */
static float expected(const struct part *p, const char *name, size_t at, size_t bytes)
{
    int n = p->run->count, sum = n * (n + 1) / 2, before = (p->run->rank + n - 1) % n;
    size_t giver = at / (bytes / sizeof(float) / (size_t)n);

    if (!strcmp(name, "all-gather"))
        return (float)(giver + 1);
    return (float)(strcmp(name, "send-recv") != 0 ? sum : before + 1);
}

static void run_once(struct part *p, const char *name, size_t bytes, int repeats)
{
    struct xfp_system *sys = &p->run->session.sys;
    int bad = 0;

    for (int i = 0; i < repeats && !bad; i++)
        bad = begin(p, name, bytes);
    if (bad)
        xfp_net_give_up(p->run, "NCCL reports an error while it is measured");
    if (xfp_check(sys, sys->cu->cuStreamSynchronize(p->stream), "waiting for NCCL"))
        xfp_net_give_up(p->run, sys->error);
}

/* Every element of the result. */
static bool is_right(struct part *p, const char *name, size_t bytes)
{
    struct xfp_system *sys = &p->run->session.sys;
    size_t count = bytes / sizeof(float);
    float *got = (float *)(void *)sys->check;

    if (!strcmp(name, "reduce-scatter"))
        count /= (size_t)p->run->count;
    if (xfp_buffer_clear(sys, &p->dst, bytes))
        return false;
    run_once(p, name, bytes, 1);
    if (sys->cu->cuMemcpyDtoH(sys->check, p->dst.address, count * sizeof(float)))
        return false;
    for (size_t i = 0; i < count; i++)
        if (got[i] != expected(p, name, i, bytes))
            return false;
    return true;
}

static double timed(struct part *p, const char *name, size_t bytes, int repeats)
{
    uint64_t before;

    xfp_net_mpi(p->run, MPI_Barrier(p->run->data), "starting a collective");
    before = xfp_wall_ns();
    run_once(p, name, bytes, repeats);
    return (double)(xfp_wall_ns() - before) / repeats;
}

/* One size: the time of the slowest rank; rank 0 says how often. */
static void measure_size(struct part *p, const char *name, size_t bytes, struct xfp_point *point)
{
    double own = timed(p, name, bytes, 1), all, times[SAMPLES];
    struct xfp_stats stats;
    int repeats;

    own = timed(p, name, bytes, 1); /* the first one connects */
    repeats = own > 0 ? (int)(SAMPLE_NS / own) : 1;
    repeats = repeats < 1 ? 1 : repeats > MOST_REPEATS ? MOST_REPEATS : repeats;
    xfp_net_mpi(p->run, MPI_Bcast(&repeats, 1, MPI_INT, 0, p->run->results), "agreeing");
    for (int i = 0; i < SAMPLES; i++) {
        own = timed(p, name, bytes, repeats);
        xfp_net_mpi(p->run, MPI_Reduce(&own, &all, 1, MPI_DOUBLE, MPI_MAX, 0, p->run->results),
                    "collecting times");
        times[i] = all;
    }
    stats = p->run->rank ? (struct xfp_stats){0} : xfp_stats_of(times, SAMPLES);
    *point = (struct xfp_point){.bytes = bytes,
                                .n = SAMPLES,
                                .median_ns = stats.median,
                                .min_ns = stats.min,
                                .max_ns = stats.max,
                                .ci_low_ns = stats.ci_low,
                                .ci_high_ns = stats.ci_high};
}

static bool time_is_left(struct xfp_net_run *run, uint64_t until_ns)
{
    int left = xfp_wall_ns() < until_ns;

    xfp_net_mpi(run, MPI_Bcast(&left, 1, MPI_INT, 0, run->results), "agreeing");
    return left;
}

static int add(struct xfp_net_run *run, const char *name, const struct xfp_point *points,
               size_t count)
{
    struct xfp_network *network = xfp_net_of(run->session.profile);
    struct xfp_net_collective c = {.point_count = count,
                                   .bus_per_algbw = xfp_net_bus_factor(name, run->count)};
    size_t bytes = strlen(name) + sizeof("net/nccl/");

    c.name = malloc(bytes);
    c.points = malloc((count + 1) * sizeof(*points));
    if (!network || !c.name || !c.points)
        xfp_net_give_up(run, "out of memory");
    snprintf(c.name, bytes, "net/nccl/%s", name);
    memcpy(c.points, points, count * sizeof(*points));
    return xfp_net_add_collective(network, &c);
}

/* All sizes from an element for each rank on. False: wrong data, on some rank. */
static bool measure(struct part *p, const char *name, double seconds)
{
    struct xfp_net_run *run = p->run;
    uint64_t sizes[MOST_SIZES], until = xfp_wall_ns() + (uint64_t)(seconds * 1e9);
    size_t count = xfp_sweep_sizes(run->session.options, sizes, MOST_SIZES), measured = 0;
    struct xfp_point points[MOST_SIZES];
    bool right = true;

    for (size_t i = 0; i < count && right && time_is_left(run, until); i++) {
        size_t unit = sizeof(float) * (size_t)run->count, bytes = sizes[i] / unit * unit;

        if (!bytes)
            continue;
        right = all_say(run, !run->session.options->verify || is_right(p, name, bytes));
        if (right)
            measure_size(p, name, bytes, &points[measured++]);
    }
    if (!right && !run->rank)
        xfp_warn(&run->session.sys, "NCCL: wrong data after %s", name);
    if (measured && !run->rank && add(run, name, points, measured))
        xfp_net_give_up(run, "out of memory");
    return right;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static int fill(struct part *p)
{
    struct xfp_system *sys = &p->run->session.sys;
    float *values = (float *)(void *)sys->check;

    for (size_t i = 0; i < p->most / sizeof(float); i++)
        values[i] = (float)(p->run->rank + 1);
    return xfp_check(sys, sys->cu->cuMemcpyHtoD(p->src.address, values, p->most), "filling");
}

static int open_gpu(struct part *p)
{
    struct xfp_session *s = &p->run->session;
    struct xfp_place place = {XFT_MEM_DEVICE, p->run->device->ordinal, -1};

    p->most = s->sys.most_bytes;
    if (xfp_device_open(&s->sys, p->run->device) ||
        xfp_buffer_make(&s->sys, p->run->device, place, p->most, &p->src) ||
        xfp_buffer_make(&s->sys, p->run->device, place, p->most, &p->dst) || fill(p))
        return -1;
    p->stream = p->run->device->stream;
    return 0;
}

static bool connect(struct part *p)
{
    struct id id = {{0}};
    int bad = p->run->rank ? 0 : p->f.get_id(&id);

    if (!all_say(p->run, !bad))
        return false;
    xfp_net_mpi(p->run, MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, p->run->results), "agreeing");
    return all_say(p->run, !p->f.init(&p->comm, p->run->count, id, p->run->rank));
}

static void note_version(struct part *p)
{
    struct xfp_network *network = xfp_net_of(p->run->session.profile);
    char text[32];
    int v = 0;

    if (p->run->rank || !network || p->f.get_version(&v))
        return;
    snprintf(text, sizeof(text), "%d.%d.%d", v / 10000, v / 100 % 100, v % 100);
    network->nccl = strdup(text);
}

static const char *why_not(struct part *p)
{
    bool loaded = load(p);

    if (!all_say(p->run, loaded) || !loaded)
        return ""; /* not there: nothing to say */
    if (!a_gpu_each(p->run))
        return "NCCL: not measured: it needs a GPU of its own for each rank";
    if (!all_say(p->run, !open_gpu(p)))
        return "NCCL: not measured: no device memory for it";
    if (!connect(p))
        return "NCCL: not measured: it does not start (NCCL_DEBUG=WARN says why)";
    return NULL;
}

int xfp_net_measure_nccl(struct xfp_net_run *run)
{
    static const char *const names[] = {"all-reduce", "all-gather", "reduce-scatter", "send-recv"};
    const struct xfp_probe_options *o = run->session.options;
    double seconds = o->quick ? QUICK_S : USUAL_S;
    struct part p = {.run = run};
    const char *why = why_not(&p);
    bool right = true;

    if (o->time_limit_s > 0)
        seconds = o->time_limit_s / 4;
    if (why && *why && !run->rank)
        xfp_warn(&run->session.sys, "%s", why);
    if (!why)
        note_version(&p);
    for (size_t i = 0; i < 4 && !why && right; i++)
        right = measure(&p, names[i], seconds / 4);
    if (p.comm)
        p.f.destroy(p.comm);
    xfp_buffer_free(&run->session.sys, &p.src);
    xfp_buffer_free(&run->session.sys, &p.dst);
    return right ? 0 : -1;
}
