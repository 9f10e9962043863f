/*
 * A few bytes that cross the link in each round of a loop that launches work. Two kinds:
 * - frequent-readback: each round the host fetches at most MOST_READ bytes, waits for them, and
 *   launches more: the GPU has nothing to do from the end of one round to the first launch of the
 *   next. Or more than that, below the half-bandwidth size (small_transfers.c), each right behind
 *   the last one's place on the host, which collects them: it does not decide by them.
 *   Replayed with every XFW_LOOK_EVERY-th look alone, which brings what is collected of the others,
 *   too, and without the kernels that only make what the others would see (look_feeders.h).
 * - parameters-by-copy: before a launch the host sends at most MOST_SENT bytes in all to the place
 *   where it sent such before, and the kernel only reads there: kernels take as much as arguments.
 *   Replayed without these copies.
 * What either costs is known from the replayed run alone: lost is not known.
 */
#include "analyzer/findings/divided.h"
#include "analyzer/findings/finding.h"
#include "analyzer/findings/look_feeders.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/changes.h"

#define MOST_READ 256      /* bytes of a value, or a few */
#define MOST_SENT 4096     /* bytes of a kernel's arguments, before CUDA 12.1 */
#define MOST_PENDING 16    /* copies before a launch, or between two */
#define LEAST_ROUNDS 32    /* fewer are no loop that matters */
#define PLACES 4           /* of the device that a row's copies were sent to last */
#define LEAST_OFTEN 0.75   /* of a row's copies go to one of these */
#define MOST_DECIDE 0.5    /* of a row's looks (a guess) */
#define STAND_IN_NS 5000.0 /* a copy and what the GPU waits for, for the thresholds only */

struct small_copy {
    uint64_t number, bytes, address; /* of the process's transfers; on the device */
    uint32_t row;
};

/* Behind a look: memory is taken, or fetched, of which that may decide the size. */
struct decided {
    bool open;        /* there has been none yet */
    bool differs;     /* from the size of the time before */
    uint32_t row;     /* of the look */
    uint64_t address; /* of the memory */
};

struct lane {
    uint32_t id; /* key */
    struct small_copy pending[MOST_PENDING];
    unsigned count;
    bool launched, looked; /* in this round: looked since the last launch */
    unsigned looks;        /* since the last launch */
    uint64_t round;
    uint64_t stays[MOST_PENDING]; /* looks of the last round whose looks stay */
    unsigned stay_count;
    uint64_t stay_round;
    struct decided decided;
};

struct row_sums {
    uint64_t transfers, bytes, again; /* again: to a place of before */
    uint64_t decide;                  /* so many looks decide a size */
};

struct row_size { /* of a row's last look */
    uint32_t row; /* key */
    uint64_t bytes;
};

struct row_end {  /* of a row's last copy to the host, there */
    uint32_t row; /* key */
    uint64_t end;
};

struct row_places { /* of a row's copies in the process at hand */
    uint32_t row;   /* key */
    unsigned next;
    uint64_t places[PLACES];
};

struct each_time {
    struct row_sums *rows; /* by row number */
    size_t count, capacity;
    struct xfa_table lanes, places, sizes, ends; /* of the process at hand */
    struct xfw_memories memories;
    uint32_t process;
    uint64_t transfers;
    struct xfw_marks marks[XFW_CERTAINTIES]; /* what goes */
    struct xfa_feeders feeders;              /* of readbacks */
};

static struct row_sums *row_of(struct each_time *sums, uint32_t row)
{
    sums->rows = xfa_grown(sums->rows, &sums->capacity, &sums->count, row, sizeof *sums->rows);
    return &sums->rows[row];
}

static bool is_small(const struct xfa_event *event, enum xft_direction direction, uint64_t most)
{
    const struct xfa_class_key *key = &event->transfer.class->key;
    return key->row.direction == direction && key->shape == XFA_LINEAR && event->bytes <= most &&
           !(event->flags & XFT_GRAPH);
}

static uint64_t begin_process(void *self, struct xfa_process *process)
{
    struct each_time *sums = self;
    xfa_table_free(&sums->lanes);
    xfa_table_init(&sums->lanes, sizeof(uint32_t), sizeof(struct lane));
    xfa_table_free(&sums->places);
    xfa_table_init(&sums->places, sizeof(uint32_t), sizeof(struct row_places));
    xfa_table_free(&sums->sizes);
    xfa_table_init(&sums->sizes, sizeof(uint32_t), sizeof(struct row_size));
    xfa_table_free(&sums->ends);
    xfa_table_init(&sums->ends, sizeof(uint32_t), sizeof(struct row_end));
    xfw_memories_free(&sums->memories);
    sums->process = process->number;
    sums->transfers = 0;
    return XFA_ALL_KINDS;
}

static void end_process(void *self, struct xfa_process *process)
{
    struct each_time *sums = self;
    xfa_table_free(&sums->lanes);
    xfa_table_free(&sums->places);
    xfa_table_free(&sums->sizes);
    xfa_table_free(&sums->ends);
    xfw_memories_free(&sums->memories);
}

static void release(void *self)
{
    struct each_time *sums = self;
    for (size_t i = 0; i < XFW_CERTAINTIES; i++)
        xfw_marks_free(&sums->marks[i]);
    xfw_memories_free(&sums->memories);
    xfa_feeders_free(&sums->feeders);
    free(sums->rows);
}

static void give(const void *self, struct xfa_parcel *parcel)
{
    const struct each_time *sums = self;
    xfa_parcel_number(parcel, sums->count);
    xfa_parcel_put(parcel, sums->rows, sums->count * sizeof *sums->rows);
    for (size_t i = 0; i < XFW_CERTAINTIES; i++)
        xfw_marks_give(&sums->marks[i], parcel);
    xfa_feeders_give(&sums->feeders, parcel);
}

static void take(void *self, const struct xfa_analysis *analysis, struct xfa_unpacking *from)
{
    struct each_time *sums = self;
    size_t rows = xfa_unpack_count(from, sizeof *sums->rows);
    from->bad = from->bad || rows > analysis->classes.rows.count;
    for (uint32_t i = 0; i < rows && !from->bad; i++) {
        struct row_sums more, *row = row_of(sums, i);
        xfa_unpack_bytes(from, &more, sizeof more);
        row->transfers += more.transfers;
        row->bytes = xfa_add(row->bytes, more.bytes);
        row->again += more.again;
        row->decide += more.decide;
    }
    for (size_t i = 0; i < XFW_CERTAINTIES; i++)
        xfw_marks_take(&sums->marks[i], from, analysis->run->process_count);
    xfa_feeders_take(&sums->feeders, analysis, from);
}

/* Sums of a row whose copies belong to rounds; the part by which it is in `gain`. */
static bool look(const struct xfa_analysis *analysis, const void *self, size_t row,
                 enum xfa_remedy_kind remedy, struct xfa_gain *gain)
{
    const struct each_time *sums = self;
    const struct row_sums *found = row < sums->count ? &sums->rows[row] : NULL;
    if (!found || found->transfers < LEAST_ROUNDS)
        return false;
    gain->transfers = found->transfers;
    gain->bytes = found->bytes;
    gain->weight_ns = (double)found->transfers * STAND_IN_NS;
    gain->reckoning = XFA_RECKONED_EACH_TIME;
    gain->remedy = xfa_remedy_for(xfa_analysis_row(analysis, row), remedy);
    return true;
}

/* ---- frequent-readback ----------------------------------------------------------------------- */

/* A look that stays. At best only the last such round's do. */
static void stay(struct each_time *sums, struct lane *lane, uint64_t number)
{
    if (lane->stay_round != lane->round) {
        for (unsigned i = 0; i < lane->stay_count; i++)
            xfw_mark(&sums->marks[XFW_HIGH], sums->process, lane->stays[i]);
        lane->stay_count = 0;
        lane->stay_round = lane->round;
    }
    if (lane->stay_count < MOST_PENDING)
        lane->stays[lane->stay_count++] = number;
}

/* Memory is taken, or something else is fetched: the first of it behind a look counts. */
static void take_size(struct each_time *sums, struct lane *lane, uint64_t address, uint64_t bytes)
{
    if (!lane || !lane->decided.open)
        return;
    struct row_size *size = xfa_table_put(&sums->sizes, &lane->decided.row);
    lane->decided.open = false;
    lane->decided.differs = size->bytes > 0 && size->bytes != bytes;
    lane->decided.address = address;
    size->bytes = bytes;
}

/* Nothing that the host would have sent there has come. */
static void begin_decided(struct each_time *sums, struct lane *lane, uint32_t row)
{
    if (lane->decided.differs)
        row_of(sums, lane->decided.row)->decide++;
    lane->decided = (struct decided){.open = true, .row = row};
}

static void note_size(struct each_time *sums, struct lane *lane, const struct xfa_event *event)
{
    const struct xfa_row_key *key = &event->transfer.class->key.row;
    if (key->direction == XFT_DIR_D2H)
        take_size(sums, lane, event->transfer.src, event->bytes);
    else if (lane && lane->decided.address == event->transfer.dst)
        lane->decided.differs = lane->decided.differs && key->direction != XFT_DIR_H2D;
}

/* The host waits in the call, and puts it behind the last one of the row: all of them are needed,
 * but only later. */
static bool is_collected(struct each_time *sums, const struct xfa_event *event)
{
    const struct xfp_fit *fit = event->transfer.class->achievable.fit;
    if (!is_small(event, XFT_DIR_D2H, UINT64_MAX) || !event->transfer.blocks)
        return false;
    struct row_end *last = xfa_table_put(&sums->ends, &event->transfer.class->row);
    bool behind = last->end && last->end == event->transfer.dst;
    last->end = event->transfer.dst + event->bytes;
    return behind && fit && (double)event->bytes * fit->G_ns_per_byte < fit->Lo_ns;
}

static void readback(void *self, const struct xfa_event *event)
{
    struct each_time *sums = self;
    uint64_t number = sums->transfers++;
    struct lane *lane = xfa_table_get(&sums->lanes, &event->lane);
    bool collected = is_collected(sums, event), few = is_small(event, XFT_DIR_D2H, MOST_READ);
    bool looks = (few || collected) && lane && lane->launched && lane->looks < MOST_PENDING;
    bool decides = looks && few;
    xfa_feeders_transfer(&sums->feeders, event, decides);
    if (!looks) {
        note_size(sums, lane, event);
        return;
    }
    if (decides) {
        begin_decided(sums, lane, event->transfer.class->row);
        xfw_mark(&sums->feeders.found.looks, sums->process, number);
    }
    struct row_sums *row = row_of(sums, event->transfer.class->row);
    lane->looked = true;
    lane->looks++;
    row->transfers++;
    row->bytes = xfa_add(row->bytes, event->bytes);
    if (lane->round % XFW_LOOK_EVERY != XFW_LOOK_EVERY - 1)
        xfw_mark(&sums->marks[XFW_LIKELY], sums->process, number);
    else
        stay(sums, lane, number);
}

static void round_begins(void *self, const struct xfa_event *event)
{
    struct each_time *sums = self;
    bool launches = event->kind == XFT_EVENT_LAUNCH || event->kind == XFT_EVENT_GRAPH_LAUNCH;
    xfa_feeders_event(&sums->feeders, event);
    if (event->kind == XFT_EVENT_ALLOC)
        take_size(sums, xfa_table_get(&sums->lanes, &event->lane), event->memory.address,
                  event->bytes);
    if (!launches || event->flags & XFT_CAPTURED)
        return;
    struct lane *lane = xfa_table_put(&sums->lanes, &event->lane);
    lane->round += lane->looked;
    lane->looked = false;
    lane->looks = 0;
    lane->launched = true;
}

static uint64_t begin_readbacks(void *self, struct xfa_process *process)
{
    xfa_feeders_begin(&((struct each_time *)self)->feeders);
    return begin_process(self, process);
}

static void end_readbacks(void *self, struct xfa_process *process)
{
    xfa_feeders_end(&((struct each_time *)self)->feeders, process->number);
    end_process(self, process);
}

static struct xfa_observer observe_readbacks(void *self)
{
    return (struct xfa_observer){
        .name = "frequent readbacks",
        .aside = true,
        .shared = true,
        .kinds = XFA_FEEDERS_KINDS,
        .self = self,
        .process = begin_readbacks,
        .event = round_begins,
        .transfer = readback,
        .end = end_readbacks,
    };
}

static bool look_readback(const struct xfa_analysis *analysis, const void *self, size_t row,
                          struct xfa_gain *gain)
{
    const struct each_time *sums = self;
    const struct row_sums *found = row < sums->count ? &sums->rows[row] : NULL;
    if (found && (double)found->decide > MOST_DECIDE * (double)found->transfers)
        return false;
    gain->assumed =
        "the loop may go on for up to 31 rounds before it sees the value, and kernels that "
        "only make it, and what is written to its place before, need not come in between";
    return look(analysis, self, row, XFA_REMEDY_LOOK_LESS, gain);
}

static struct xfw_change *change_readback(const struct xfa_analysis *analysis, const void *self,
                                          const struct xfa_finding *finding)
{
    const struct each_time *sums = self;
    struct xfw_set classes = xfa_finding_classes(analysis, finding);
    return xfw_change_look_less(analysis, &sums->marks[XFW_LIKELY], &sums->marks[XFW_HIGH],
                                &sums->feeders.found, &classes);
}

const struct xfa_finding_kind xfa_kind_readback = {
    .look = look_readback,
    .change = change_readback,
    .self_bytes = sizeof(struct each_time),
    .observe = observe_readbacks,
    .free = release,
    .give = give,
    .take = take,
};

/* ---- parameters-by-copy ---------------------------------------------------------------------- */

static void sent(void *self, const struct xfa_event *event)
{
    struct each_time *sums = self;
    uint64_t number = sums->transfers++;
    if (!is_small(event, XFT_DIR_H2D, MOST_SENT))
        return;
    struct lane *lane = xfa_table_put(&sums->lanes, &event->lane);
    if (lane->count == MOST_PENDING)
        return;
    lane->pending[lane->count++] =
        (struct small_copy){number, event->bytes, event->transfer.dst, event->transfer.class->row};
}

/* Is the kernel given the memory that was sent to, to read only? Variables of the device, which lie
 * in no allocation, need not be given to it. */
static bool is_read(const struct each_time *sums, const struct xfa_event *launch, uint64_t address)
{
    struct xfw_memory memory;
    uint64_t pointer;
    bool given = !xfw_memories_find(&sums->memories, address, &memory);
    if (given || launch->launch.arguments == 0)
        return given;
    for (uint32_t k = 0; xfw_launch_pointer(launch->process, launch->launch.arguments, k, &pointer);
         k++) {
        if (pointer < memory.first || pointer >= memory.end)
            continue;
        given = true;
        if (xfw_writes(launch->process, launch->launch.name, launch->launch.arguments, k) ==
            XFW_WRITES)
            return false;
    }
    return given;
}

static bool was_sent_to(struct row_places *row, uint64_t address)
{
    for (unsigned i = 0; i < PLACES; i++)
        if (row->places[i] == address)
            return true;
    row->places[row->next] = address;
    row->next = (row->next + 1) % PLACES;
    return false;
}

static void take_sent(struct each_time *sums, const struct small_copy *copy)
{
    struct row_sums *row = row_of(sums, copy->row);
    row->again += was_sent_to(xfa_table_put(&sums->places, &copy->row), copy->address);
    row->transfers++;
    row->bytes = xfa_add(row->bytes, copy->bytes);
    xfw_mark(&sums->marks[XFW_LOW], sums->process, copy->number);
}

static void launched(void *self, const struct xfa_event *event)
{
    struct each_time *sums = self;
    if (event->kind != XFT_EVENT_LAUNCH) {
        xfw_memories_event(&sums->memories, event);
        return;
    }
    struct lane *lane = xfa_table_get(&sums->lanes, &event->lane);
    if (!lane || lane->count == 0 || event->flags & XFT_CAPTURED)
        return;
    uint64_t bytes = 0;
    for (unsigned i = 0; i < lane->count; i++)
        bytes += lane->pending[i].bytes;
    for (unsigned i = 0; i < lane->count && bytes <= MOST_SENT; i++)
        if (is_read(sums, event, lane->pending[i].address))
            take_sent(sums, &lane->pending[i]);
    lane->count = 0;
}

static struct xfa_observer observe_parameters(void *self)
{
    return (struct xfa_observer){
        .name = "parameters by copy",
        .aside = true,
        .shared = true,
        .kinds = XFW_MEMORIES_KINDS | XFA_KIND(XFT_EVENT_LAUNCH),
        .self = self,
        .process = begin_process,
        .event = launched,
        .transfer = sent,
        .end = end_process,
    };
}

static bool look_parameters(const struct xfa_analysis *analysis, const void *self, size_t row,
                            struct xfa_gain *gain)
{
    const struct each_time *sums = self;
    const struct row_sums *found = row < sums->count ? &sums->rows[row] : NULL;
    if (!found || (double)found->again < LEAST_OFTEN * (double)found->transfers)
        return false;
    gain->assumed = "only the kernel that is launched next needs these bytes";
    return look(analysis, self, row, XFA_REMEDY_ARGUMENTS, gain);
}

static struct xfw_change *change_parameters(const struct xfa_analysis *analysis, const void *self,
                                            const struct xfa_finding *finding)
{
    const struct each_time *sums = self;
    const struct xfw_leave_out what = {
        .marks = sums->marks,
        .classes = xfa_finding_classes(analysis, finding),
    };
    return xfw_change_leave_out(analysis, &what);
}

const struct xfa_finding_kind xfa_kind_parameters = {
    .look = look_parameters,
    .change = change_parameters,
    .self_bytes = sizeof(struct each_time),
    .observe = observe_parameters,
    .free = release,
    .give = give,
    .take = take,
};
