#include "probe/net/net.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "probe/device/buffer.h"
#include "probe/measure/budget.h"
#include "probe/net/collectives.h"

enum { FLOAT32 = 7, SUM = 0, ID_BYTES = 128 };

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
    const struct xfp_net_group *group;
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
static int begin(struct part *p, enum xft_message what, size_t bytes)
{
    const struct xfp_net_group *group = p->group;
    size_t n = (size_t)group->count, count = bytes / sizeof(float);
    void *src = (void *)p->src.address, *dst = (void *)p->dst.address;
    int next = (group->rank + 1) % group->count;
    int before = (group->rank + group->count - 1) % group->count, bad;

    if (what == XFT_MESSAGE_ALLREDUCE)
        return p->f.all_reduce(src, dst, count, FLOAT32, SUM, p->comm, p->stream);
    if (what == XFT_MESSAGE_ALLGATHER)
        return p->f.all_gather(src, dst, count / n, FLOAT32, p->comm, p->stream);
    if (what == XFT_MESSAGE_REDUCE_SCATTER)
        return p->f.reduce_scatter(src, dst, count / n, FLOAT32, SUM, p->comm, p->stream);
    bad = p->f.group_start();
    bad |= p->f.send(src, count, FLOAT32, next, p->comm, p->stream);
    bad |= p->f.receive(dst, count, FLOAT32, before, p->comm, p->stream);
    return bad | p->f.group_end();
}

static void run_once(struct part *p, enum xft_message what, size_t bytes, int repeats)
{
    struct xfp_system *sys = &p->run->session.sys;
    int bad = 0;

    for (int i = 0; i < repeats && !bad; i++)
        bad = begin(p, what, bytes);
    if (bad)
        xfp_net_give_up(p->run, "NCCL reports an error while it is measured");
    if (xfp_check(sys, sys->cu->cuStreamSynchronize(p->stream), "waiting for NCCL"))
        xfp_net_give_up(p->run, sys->error);
}

static bool is_right(void *self, enum xft_message what, size_t bytes)
{
    struct part *p = self;
    struct xfp_system *sys = &p->run->session.sys;
    size_t count = xfp_net_result_count(p->group, what, bytes);

    if (xfp_buffer_clear(sys, &p->dst, bytes))
        return false;
    run_once(p, what, bytes, 1);
    if (sys->cu->cuMemcpyDtoH(sys->check, p->dst.address, count * sizeof(float)))
        return false;
    return xfp_net_is_result(p->group, what, bytes, (const float *)(const void *)sys->check);
}

/* Calls in a row, until the stream is idle. */
static double timed(void *self, enum xft_message what, size_t bytes, int repeats)
{
    struct part *p = self;
    uint64_t before;

    xfp_net_mpi(p->run, MPI_Barrier(p->group->data), "starting a collective");
    before = xfp_wall_ns();
    run_once(p, what, bytes, repeats);
    return (double)(xfp_wall_ns() - before) / repeats;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static int fill(struct part *p)
{
    struct xfp_system *sys = &p->run->session.sys;

    xfp_net_fill((float *)(void *)sys->check, p->most / sizeof(float), p->group->rank);
    return xfp_check(sys, sys->cu->cuMemcpyHtoD(p->src.address, sys->check, p->most), "filling");
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

/* The first rank of the group has the id; of all that connect at once each has to succeed. */
static bool connect(struct part *p)
{
    struct id id = {{0}};
    int bad = p->group->rank ? 0 : p->f.get_id(&id);

    if (!xfp_net_all_say(p->group, !bad))
        return false;
    xfp_net_mpi(p->run, MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, p->group->data), "agreeing");
    return xfp_net_all_say(p->group, !p->f.init(&p->comm, p->group->count, id, p->group->rank));
}

static void disconnect(struct part *p)
{
    if (p->comm)
        p->f.destroy(p->comm);
    p->comm = NULL;
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

static const enum xft_message operations[] = {XFT_MESSAGE_ALLREDUCE, XFT_MESSAGE_ALLGATHER,
                                              XFT_MESSAGE_REDUCE_SCATTER, XFT_MESSAGE_SENDRECV};
enum {
    OPERATIONS = sizeof(operations) / sizeof(*operations),
    MOST_SHAPES = 3, /* of some of the ranks: each connects anew, which takes a second */
};

static struct xfp_net_library library_of(struct part *p)
{
    return (struct xfp_net_library){"NCCL", "nccl", "", p, timed, is_right};
}

static const char *why_not(struct part *p)
{
    const struct xfp_net_library nccl = library_of(p);
    bool chosen = xfp_net_choose_collectives(p->run, &nccl, NULL, operations, OPERATIONS) ||
                  xfp_net_choose_parts_of(p->run, &nccl, operations, OPERATIONS, MOST_SHAPES);
    bool loaded = chosen && load(p);

    if (!xfp_net_all_say(p->group, loaded) || !loaded)
        return ""; /* not there: nothing to say */
    if (!a_gpu_each(p->run))
        return "NCCL: not measured: it needs a GPU of its own for each rank";
    if (!xfp_net_all_say(p->group, !open_gpu(p)))
        return "NCCL: not measured: no device memory for it";
    if (!connect(p))
        return "NCCL: not measured: it does not start (NCCL_DEBUG=WARN says why)";
    return NULL;
}

/* Of some of the ranks. One that does not start is not measured. */
static bool measure_part(void *self, const struct xfp_net_group *group, double seconds)
{
    struct part *p = self;
    const struct xfp_net_library nccl = library_of(p);
    bool right = true;

    p->group = group;
    if (!xfp_net_all_say(group, !fill(p)) || !connect(p)) {
        if (!p->run->rank)
            xfp_warn(&p->run->session.sys,
                     "NCCL: not measured of %d ranks on %d hosts: it does not start", group->count,
                     group->hosts);
    } else {
        right = xfp_net_measure_collectives(group, &nccl, operations, OPERATIONS, seconds);
    }
    disconnect(p);
    return right;
}

static bool measure(struct part *p)
{
    const struct xfp_net_library nccl = library_of(p);
    bool right;

    note_version(p);
    right = xfp_net_measure_collectives(p->group, &nccl, operations, OPERATIONS,
                                        xfp_net_collectives_s(p->run));
    disconnect(p);
    return right &&
           xfp_net_measure_parts(p->run, &nccl, operations, OPERATIONS, MOST_SHAPES, measure_part);
}

int xfp_net_measure_nccl(struct xfp_net_run *run)
{
    const struct xfp_net_group all = xfp_net_all_ranks(run);
    struct part p = {.run = run, .group = &all};
    const char *why = why_not(&p);
    bool right = true;

    if (why && *why && !run->rank)
        xfp_warn(&run->session.sys, "%s", why);
    if (!why)
        right = measure(&p);
    disconnect(&p);
    xfp_buffer_free(&run->session.sys, &p.src);
    xfp_buffer_free(&run->session.sys, &p.dst);
    return right ? 0 : -1;
}
