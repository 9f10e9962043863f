#include "tests/analyzer/lab/tape.h"

double tape_chance(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 33) / (double)(1u << 31);
}

struct xfw_op *tape_add(struct tape *tape, enum xfw_what what, enum xft_event_kind kind,
                        uint32_t thread, double gap_ns, double own_ns)
{
    struct xfw_op *op = &tape->ops[tape->count];
    *op = hand_op(what, kind, own_ns);
    op->number = tape->count++;
    op->thread = op->stream = thread;
    op->site = (uint32_t)what;
    op->gap_ns = gap_ns;
    op->first = tape->end[thread] == 0;
    op->start_ns = tape->end[thread] + gap_ns;
    op->end_ns = tape->end[thread] = op->start_ns + own_ns;
    return op;
}

void tape_add_step(struct tape *tape, uint32_t thread, const struct tape_step *step)
{
    const double before = tape->end[thread];
    struct xfw_op *copy = tape_add(tape, XFW_COPY, XFT_EVENT_TRANSFER, thread, 500, 800);
    copy->engine = XFW_TO_DEVICE;
    copy->exclusive = true;
    copy->class = 1;
    copy->bytes = 4096;
    copy->src = (uint64_t)(1 + thread) << 20;
    copy->dst = (uint64_t)(8 + thread) << 20;
    copy->latency_ns = 1000;
    copy->duration_ns = step->copy_ns;
    struct xfw_op *kernel = tape_add(tape, XFW_KERNEL, XFT_EVENT_LAUNCH, thread, 300, 700);
    kernel->engine = XFW_COMPUTE;
    kernel->latency_ns = 1000;
    kernel->duration_ns = step->kernel_ns;
    tape_add(tape, XFW_CALL, XFT_EVENT_ADVISE, thread, step->gap_ns, 400);
    double until = before + step->slack_ns + copy->duration_ns + kernel->duration_ns;
    struct xfw_op *wait =
        tape_add(tape, XFW_CALL, XFT_EVENT_SYNC, thread, 200, fmax(900, until - tape->end[thread]));
    wait->awaits = XFW_AWAITS_STREAM;
    wait->own_ns = 900;
    wait->wake_ns = 1000;
}

static void faster(const struct xfw_change *change, void *state, struct xfw_player *player,
                   struct xfw_op *op)
{
    (void)change;
    (void)state;
    (void)player;
    if (op->what == XFW_COPY)
        op->duration_ns /= 2;
}

static const struct xfw_change_type faster_type = {.name = "faster", .op = faster};
struct xfw_change tape_halved = {.type = &faster_type};
