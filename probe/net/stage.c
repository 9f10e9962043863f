#include "probe/net/stage.h"

#include <stdio.h>

#include "probe/measure/budget.h"
#include "probe/net/net.h"
#include "probe/net/order.h"

enum { TAG_CHUNK = 1, TAG_DONE };

int xfp_net_stage_open(struct xfp_net_run *run, struct xfp_net_stage *g, size_t bytes)
{
    struct xfp_session *s = &run->session;
    struct xfp_device *d = run->device;
    const unsigned int non_blocking = 1, no_timing = 2;
    struct xfp_place gpu = {XFT_MEM_DEVICE, d ? d->ordinal : -1, -1};
    struct xfp_place host = {XFT_MEM_PINNED, -1, -1};

    if (!d || xfp_device_open(&s->sys, d))
        return d ? -1 : xfp_fail(&s->sys, "no GPU");
    if (s->sys.numa_count > 1)
        host.numa = s->profile->machine.gpus[d->ordinal].numa;
    if (xfp_buffer_make(&s->sys, d, gpu, bytes, &g->memory) ||
        xfp_buffer_make(&s->sys, d, host, xfp_ring_bytes(s->options->quick, bytes), &g->ring) ||
        xfp_check(&s->sys, s->sys.cu->cuStreamCreate(&g->stream, non_blocking), "cuStreamCreate"))
        return -1;
    for (size_t i = 0; i < XFP_MOST_BUFFERS; i++)
        if (xfp_check(&s->sys, s->sys.cu->cuEventCreate(&g->copied[i], no_timing), "cuEventCreate"))
            return -1;
    return xfp_buffer_fill(&s->sys, &g->memory, bytes);
}

void xfp_net_stage_close(struct xfp_net_run *run, struct xfp_net_stage *g)
{
    struct xfp_session *s = &run->session;

    if (!run->device || !run->device->context)
        return;
    s->sys.cu->cuCtxSetCurrent(run->device->context);
    for (size_t i = 0; i < XFP_MOST_BUFFERS; i++)
        if (g->copied[i])
            s->sys.cu->cuEventDestroy(g->copied[i]);
    if (g->stream)
        s->sys.cu->cuStreamDestroy(g->stream);
    xfp_buffer_free(&s->sys, &g->memory);
    xfp_buffer_free(&s->sys, &g->ring);
    xfp_unbind(&s->sys);
    *g = (struct xfp_net_stage){0};
}

/* One copy under way: how many chunks have begun each of the three steps' ends. */
struct flight {
    struct xfp_net_run *run;
    struct xfp_net_stage *g;
    const struct xfp_net_order *o;
    int peer;
    size_t chunks, begun, passed, over;
};

static void check(const struct flight *f, xcu_result result, const char *what)
{
    if (xfp_check(&f->run->session.sys, result, what))
        xfp_net_give_up(f->run, f->run->session.sys.error);
}

static size_t slot_of(const struct flight *f, size_t chunk)
{
    return chunk % f->o->buffers;
}

static unsigned char *buffer_of(const struct flight *f, size_t chunk)
{
    return f->g->ring.host + slot_of(f, chunk) * f->o->buffer_bytes;
}

static size_t bytes_of(const struct flight *f, size_t chunk)
{
    size_t left = f->o->bytes - chunk * f->o->buffer_bytes;

    return left < f->o->buffer_bytes ? left : f->o->buffer_bytes;
}

/* Whether the chunk's copy is over. */
static bool is_copied(const struct flight *f, size_t chunk)
{
    xcu_result result = f->run->session.sys.cu->cuEventQuery(f->g->copied[slot_of(f, chunk)]);

    if (result == XCU_ERROR_NOT_READY)
        return false;
    check(f, result, "copying a chunk");
    return true;
}

/* Whether the chunk's message is. */
static bool is_passed(const struct flight *f, size_t chunk)
{
    int done = 0;

    xfp_net_mpi(f->run, MPI_Test(&f->g->requests[slot_of(f, chunk)], &done, MPI_STATUS_IGNORE),
                "sending or receiving a chunk");
    return done;
}

static void begin_message(const struct flight *f, size_t chunk, bool sends)
{
    void *buffer = buffer_of(f, chunk);
    int bytes = (int)bytes_of(f, chunk);
    MPI_Request *request = &f->g->requests[slot_of(f, chunk)];

    if (sends)
        xfp_net_mpi(f->run,
                    MPI_Isend(buffer, bytes, MPI_BYTE, f->peer, TAG_CHUNK, f->run->data, request),
                    "sending a chunk");
    else
        xfp_net_mpi(f->run,
                    MPI_Irecv(buffer, bytes, MPI_BYTE, f->peer, TAG_CHUNK, f->run->data, request),
                    "receiving a chunk");
}

static void begin_copy(const struct flight *f, size_t chunk, bool out)
{
    const struct xfp_driver *cu = f->run->session.sys.cu;
    xcu_deviceptr at = f->g->memory.address + chunk * f->o->buffer_bytes;
    size_t bytes = bytes_of(f, chunk);
    xcu_result result = out ? cu->cuMemcpyDtoHAsync(buffer_of(f, chunk), at, bytes, f->g->stream)
                            : cu->cuMemcpyHtoDAsync(at, buffer_of(f, chunk), bytes, f->g->stream);

    if (!result)
        result = cu->cuEventRecord(f->g->copied[slot_of(f, chunk)], f->g->stream);
    check(f, result, "copying a chunk");
}

/* Copies out, then sends: a buffer is free again when it is sent. */
static void turn_source(struct flight *f)
{
    if (f->begun < f->chunks && f->begun - f->over < f->o->buffers)
        begin_copy(f, f->begun++, true);
    if (f->passed < f->begun && is_copied(f, f->passed))
        begin_message(f, f->passed++, true);
    if (f->over < f->passed && is_passed(f, f->over))
        f->over++;
}

/* Receives, then copies in: a buffer is free again when it is copied. */
static void turn_destination(struct flight *f)
{
    if (f->begun < f->chunks && f->begun - f->over < f->o->buffers)
        begin_message(f, f->begun++, false);
    if (f->passed < f->begun && is_passed(f, f->passed))
        begin_copy(f, f->passed++, false);
    if (f->over < f->passed && is_copied(f, f->over))
        f->over++;
}

/* As a program has it that begins all pieces at once (docs/examples/halo_fixed.cu). While it waits
 * for a copy MPI makes no progress, and messages under way together may all end late: what that
 * costs is measured. */
static void send_posted(struct flight *f)
{
    const struct xfp_driver *cu = f->run->session.sys.cu;

    for (size_t i = 0; i < f->chunks; i++)
        begin_copy(f, i, true);
    for (size_t i = 0; i < f->chunks; i++) {
        check(f, cu->cuEventSynchronize(f->g->copied[i]), "copying a chunk");
        begin_message(f, i, true);
    }
    xfp_net_mpi(f->run, MPI_Waitall((int)f->chunks, f->g->requests, MPI_STATUSES_IGNORE),
                "sending chunks");
}

static void receive_posted(struct flight *f)
{
    for (size_t i = 0; i < f->chunks; i++)
        begin_message(f, i, false);
    for (size_t i = 0; i < f->chunks; i++) {
        xfp_net_mpi(f->run, MPI_Wait(&f->g->requests[i], MPI_STATUS_IGNORE), "receiving a chunk");
        begin_copy(f, i, false);
    }
    check(f, f->run->session.sys.cu->cuStreamSynchronize(f->g->stream), "copying chunks");
}

static void copy_through_ring(struct flight *f, bool sends)
{
    while (f->over < f->chunks)
        if (sends)
            turn_source(f);
        else
            turn_destination(f);
}

static void copy_direct(struct flight *f, bool sends)
{
    void *memory = (void *)f->g->memory.address; /* MPI is to find out what that is */
    int bytes = (int)f->o->bytes;

    if (sends)
        xfp_net_mpi(f->run, MPI_Send(memory, bytes, MPI_BYTE, f->peer, TAG_CHUNK, f->run->data),
                    "sending from device memory");
    else
        xfp_net_mpi(
            f->run,
            MPI_Recv(memory, bytes, MPI_BYTE, f->peer, TAG_CHUNK, f->run->data, MPI_STATUS_IGNORE),
            "receiving into device memory");
}

void xfp_net_copy(struct xfp_net_run *run, struct xfp_net_stage *g, int peer,
                  const struct xfp_net_order *o, bool sends, double *ns)
{
    struct flight f = {.run = run, .g = g, .o = o, .peer = peer};
    uint64_t before = xfp_wall_ns();
    int result;

    check(&f, run->session.sys.cu->cuCtxSetCurrent(run->device->context), "cuCtxSetCurrent");
    if (o->what != XFP_NET_DO_DIRECT)
        f.chunks = (o->bytes + o->buffer_bytes - 1) / o->buffer_bytes;
    if (o->what == XFP_NET_DO_DIRECT)
        copy_direct(&f, sends);
    else if (o->what == XFP_NET_DO_RING)
        copy_through_ring(&f, sends);
    else if (sends)
        send_posted(&f);
    else
        receive_posted(&f);
    result = sends ? MPI_Recv(NULL, 0, MPI_BYTE, peer, TAG_DONE, run->data, MPI_STATUS_IGNORE)
                   : MPI_Send(NULL, 0, MPI_BYTE, peer, TAG_DONE, run->data);
    xfp_net_mpi(run, result, "waiting for the destination");
    if (ns)
        *ns = (double)(xfp_wall_ns() - before);
}

void xfp_net_first_rounds(struct xfp_net_run *run, struct xfp_net_stage *g, int peer,
                          const struct xfp_net_order *o, bool leads, double *times)
{
    struct flight f = {.run = run, .g = g, .o = o, .peer = peer};

    check(&f, run->session.sys.cu->cuCtxSetCurrent(run->device->context), "cuCtxSetCurrent");
    for (uint32_t i = 0; i < o->repeat; i++) {
        uint64_t before = xfp_wall_ns();

        copy_direct(&f, leads);
        copy_direct(&f, !leads);
        if (times)
            times[i] = (double)(xfp_wall_ns() - before);
    }
}
