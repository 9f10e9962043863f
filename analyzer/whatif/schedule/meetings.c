#include "analyzer/whatif/schedule/meetings.h"

static struct xfw_meeting *find(struct xfw_meetings *meetings, uint64_t number)
{
    for (size_t i = meetings->count; i-- > 0;)
        if (meetings->all[i].number == number)
            return &meetings->all[i];
    return NULL;
}

static struct xfw_meeting *add(struct xfw_meetings *meetings, uint64_t number)
{
    meetings->all =
        xfa_room(meetings->all, &meetings->capacity, meetings->count + 1, sizeof *meetings->all);
    meetings->all[meetings->count] = (struct xfw_meeting){.number = number};
    return &meetings->all[meetings->count++];
}

static void leave(struct xfw_meetings *meetings, struct xfw_meeting *meeting)
{
    *meeting = meetings->all[--meetings->count];
}

double xfw_meetings_begin(struct xfw_meetings *meetings, const struct xfw_op *op, double start,
                          double *end)
{
    struct xfw_meeting *known = find(meetings, op->number);
    if (known) { /* it ends when it was said to */
        *end = xfw_max(start, known->end);
        leave(meetings, known);
        return *end;
    }
    struct xfw_meeting *meeting = add(meetings, op->number);
    meeting->begun = true;
    meeting->start = meeting->end = start;
    meeting->duration = op->duration_ns;
    meeting->stream = op->stream;
    meeting->stream_kind = op->stream_kind;
    meeting->gpu = op->gpu;
    return start;
}

/* All is known of the kernel: work behind it begins then. */
static void end(struct xfw_meetings *meetings, struct xfw_streams *streams,
                struct xfw_meeting *meeting)
{
    struct xfw_op op = {
        .gpu = meeting->gpu, .stream = meeting->stream, .stream_kind = meeting->stream_kind};
    xfw_streams_until(streams, &op, meeting->end);
    leave(meetings, meeting);
}

void xfw_meetings_take(struct xfw_meetings *meetings, struct xfw_streams *streams,
                       struct xfw_board *board, double begun_ns, const struct xfw_op *op,
                       double now)
{
    struct xfw_meeting *meeting = find(meetings, op->number);
    if (op->begins) {
        xfw_board_begin(board, op, begun_ns + (meeting ? meeting->start : now) + op->wake_ns);
        return;
    }
    if (!meeting && !op->meets) /* a change has left the kernel out */
        return;
    meeting = meeting ? meeting : add(meetings, op->number);
    if (op->slot == XFW_NONE)
        meeting->end = xfw_max(meeting->end, meeting->start + meeting->duration);
    else
        meeting->end =
            xfw_max(meeting->end, xfw_board_back(board, op) + xfw_min(0, op->wake_ns) - begun_ns);
    if (op->last_piece && meeting->begun)
        end(meetings, streams, meeting);
}
