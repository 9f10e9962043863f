/* Four ranks on two hosts whose clocks are apart, the second of which runs slow. */
#include <stdlib.h>
#include <string.h>

#include "tests/analyzer/traces/ranked.h"
#include "tests/analyzer/traces/scenario_report.h"

#define STEPS 50
#define STEP_NS 2000000
#define BYTES (UINT64_C(256) << 10)

enum { RANKS = 4 };

static bool is_far(uint32_t a, uint32_t b)
{
    return a / 2 != b / 2;
}

/* Each sends to the next one, and receives from the one before; rank 2 sends late. */
static void exchange(struct ranked *r, uint64_t from)
{
    uint32_t next = (r->rank + 1) % RANKS, before = (r->rank + RANKS - 1) % RANKS;
    uint64_t late = r->rank == 2 ? 300000 : 0, comes_late = before == 2 ? 300000 : 0;
    uint64_t sent = from + late, takes = is_far(r->rank, next) ? 60000 : 20000;
    uint64_t comes = from + comes_late + (is_far(r->rank, before) ? 60000 : 20000);
    uint64_t waits = sent + takes + 1000;
    ranked_irecv(r, before, 7, BYTES, from, 0xb0);
    ranked_send(r, next, 7, BYTES, sent + 500, sent + takes);
    if (comes < waits)
        comes = waits + 100;
    ranked_wait(r, waits, comes);
    ranked_ended(r, 0xb0, from, waits, comes)->width = BYTES;
}

/* Short ones between the hosts, by which their clocks are set. */
static void ping(struct ranked *r, uint64_t from)
{
    if (r->rank == 1) {
        ranked_send(r, 2, 8, 8, from, from + 1000);
        ranked_recv(r, 2, 9, 8, from + 1100, from + 7000);
    } else if (r->rank == 2) {
        ranked_recv(r, 1, 8, 8, from - 2000, from + 3500);
        ranked_send(r, 1, 9, 8, from + 3600, from + 4600);
    }
}

static void step(struct ranked *r, uint64_t from)
{
    static const uint64_t come[RANKS] = {600000, 610000, 900000, 620000};
    struct xft_event copy = test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PAGEABLE, BYTES, 0, 0);
    copy.stack = STACK_UPLOAD;
    exchange(r, from);
    ping(r, from + 400000);
    ranked_event(r, copy, from + 500000, from + 550000);
    ranked_collective(r, XFT_MESSAGE_ALLREDUCE, 800, from + come[r->rank], from + 905000);
}

/* Each and the one beside it, both ways in one call. */
static void swap(struct ranked *r, uint64_t from)
{
    uint32_t other = r->rank ^ 1;
    struct xft_event *event = ranked_send(r, other, 10, 4096, from, from + 9000);
    event->call = CALL_SENDRECV;
    event->count = xft_message_count(XFT_MESSAGE_SENDRECV, xft_message_communicator(event->count));
    event->aux = xft_message_peers(other, other);
    event->width = 4096;
}

void scenario_exchange(struct trace_builder *b, const char *variant)
{
    struct ranked r;
    uint32_t rank = (uint32_t)atoi(variant) % RANKS;
    ranked_start(&r, rank, RANKS, rank < 2 ? "node01" : "node02");
    if (rank >= 2) {
        r.offset_ns = 1500000;
        r.drift = -20e-6;
    }
    for (uint64_t i = 0; i < STEPS; i++)
        step(&r, 100000 + i * STEP_NS);
    swap(&r, 100000 + STEPS * STEP_NS);
    if (strstr(variant, "nccl"))
        ranked_collective(&r, XFT_MESSAGE_ALLREDUCE, 2400, 110000 + STEPS * STEP_NS,
                          110500 + STEPS * STEP_NS)
            ->call = CALL_NCCL;
    ranked_end(&r);
    *b = r.b;
}
