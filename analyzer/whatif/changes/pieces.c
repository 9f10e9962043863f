#include "analyzer/whatif/changes/pieces.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"

#define LAST ((uint64_t)2 * XFW_PIECE_MOST)
#define PROBES 16u
#define MOST_POINTERS (XFW_PIECE_POINTERS / 2) /* of a run: places are found at once */
#define MAY_LACK 64u                           /* an entry of so many may lack some (ARGUMENTS) */

struct xfw_piece_pointer {
    uint64_t address;
    uint32_t run, piece; /* the last one that was given it */
    bool several;        /* pieces were given it */
    bool written;        /* by one of them, as far as is known */
};

void xfw_pieces_free(struct xfw_pieces *pieces)
{
    for (size_t i = 0; i < XFW_PIECE_THREADS; i++)
        free(pieces->threads[i].table);
    *pieces = (struct xfw_pieces){.at_best = pieces->at_best};
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* The pointer's place in the run's table; NULL: there is none left. */
static struct xfw_piece_pointer *place_of(struct xfw_piece_thread *thread, uint64_t address)
{
    uint32_t at = (uint32_t)(address * 0x9e3779b97f4a7c15u >> 40);
    for (uint32_t i = 0; i < PROBES; i++) {
        struct xfw_piece_pointer *pointer = &thread->table[(at + i) % XFW_PIECE_POINTERS];
        if (pointer->run == thread->run && pointer->address != address)
            continue;
        if (pointer->run != thread->run && ++thread->pointers > MOST_POINTERS)
            return NULL;
        return pointer;
    }
    return NULL;
}

/* A launch of the piece may write there, or only read. False: then the pieces do not stand for
 * themselves. own: set where no other piece was given it. */
static bool is_given(struct xfw_piece_thread *thread, uint64_t address, uint32_t piece,
                     enum xfw_writes writes, bool at_best, bool *own)
{
    struct xfw_piece_pointer *pointer = place_of(thread, address);
    if (!pointer)
        return false;
    if (pointer->run != thread->run)
        *pointer = (struct xfw_piece_pointer){address, thread->run, piece, false, false};
    pointer->several = pointer->several || pointer->piece != piece;
    pointer->piece = piece;
    pointer->written =
        pointer->written || writes == XFW_WRITES || (writes == XFW_MAY_WRITE && !at_best);
    *own = *own || (writes != XFW_READS && !pointer->several);
    return !(pointer->several && pointer->written);
}

/* Of the launch. False: its piece does not stand for itself. */
static bool stands_alone(struct xfw_pieces *pieces, struct xfw_piece_thread *thread,
                         const struct xfa_process *process, const struct xfw_piece_launch *launch,
                         uint32_t piece)
{
    const struct xfa_arguments *arguments =
        launch->arguments && process->trace ? xfa_trace_arguments(process->trace, launch->arguments)
                                            : NULL;
    bool own = false;
    if (!arguments || arguments->count == 0)
        return pieces->at_best;
    if (arguments->count >= MAY_LACK && !pieces->at_best)
        return false;
    for (uint32_t k = 0; k < arguments->count; k++) {
        enum xfw_writes writes =
            xfw_signatures_ask(&pieces->signatures, process, launch->name, arguments->count, k);
        if (!is_given(thread, xfa_arguments_pointer(arguments, k), piece, writes, pieces->at_best,
                      &own))
            return false;
    }
    return own;
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* The launch so many before the last one. */
static const struct xfw_piece_launch *before(const struct xfw_piece_thread *thread, uint64_t back)
{
    return &thread->last[(thread->count - 1 - back) % LAST];
}

/* Of the last run of that period that the kernel was in. */
static uint32_t last_pieces(const struct xfw_pieces *pieces, uint64_t name, unsigned period)
{
    const struct xfw_piece_name *known = &pieces->names[name % XFW_PIECE_NAMES];
    return known->name == name ? known->pieces[period] : 0;
}

static void learn(struct xfw_pieces *pieces, uint64_t name, unsigned period, uint32_t last)
{
    struct xfw_piece_name *known = &pieces->names[name % XFW_PIECE_NAMES];
    if (known->name != name)
        *known = (struct xfw_piece_name){.name = name};
    known->pieces[period] = last;
}

/* Of so many whole pieces: one may be a part of two (turn_on()). back: the last launch is not of
 * the run. */
static void end_run(struct xfw_pieces *pieces, struct xfw_piece_thread *thread, uint32_t whole,
                    unsigned back)
{
    uint32_t last = last_pieces(pieces, before(thread, back)->name, thread->period);
    for (unsigned i = 0; i < thread->period; i++)
        learn(pieces, before(thread, back + i)->name, thread->period, whole > 1 ? whole : last / 2);
    thread->period = 0;
}

/* Does the piece that begins with this launch go with those before it? */
static bool is_worth_it(const struct xfw_pieces *pieces, const struct xfw_piece_thread *thread,
                        uint64_t name)
{
    uint32_t piece = thread->launches / thread->period;
    return piece >= XFW_PIECES_LEAST ||
           (piece > 0 && last_pieces(pieces, name, thread->period) >= XFW_PIECES_LEAST);
}

/* The run goes on. False: the launch's piece does not stand for itself. */
static bool add(struct xfw_pieces *pieces, struct xfw_piece_thread *thread,
                const struct xfa_process *process, const struct xfw_piece_launch *launch)
{
    uint32_t piece = thread->launches / thread->period;
    if (thread->launches % thread->period == 0)
        thread->merges = is_worth_it(pieces, thread, launch->name);
    thread->launches++;
    return stands_alone(pieces, thread, process, launch, piece);
}

/* A run of the last launch and `back` before it; of the last piece alone where the one before does
 * not stand for itself. */
static void begin_run(struct xfw_pieces *pieces, struct xfw_piece_thread *thread,
                      const struct xfa_process *process, unsigned period, unsigned back)
{
    bool begins = true;
    if (!thread->table)
        thread->table = xfa_alloc(XFW_PIECE_POINTERS * sizeof *thread->table);
    for (unsigned i = back + 1; i-- > 0;) {
        if (begins) {
            thread->period = period;
            thread->launches = thread->pointers = 0;
            thread->apart = true;
            thread->run++;
        }
        bool alone = add(pieces, thread, process, before(thread, i));
        bool first = thread->launches <= period;
        begins = !alone && !first;
        thread->apart = thread->apart && (alone || !first);
        i += begins ? (thread->launches - 1) % period + 1 : 0;
    }
}

/* By kernels that came twice; of those that had a run before, by one. 0: there is none. */
static unsigned period_of(const struct xfw_pieces *pieces, const struct xfw_piece_thread *thread,
                          uint64_t name)
{
    unsigned usual = 0, best = 0;
    for (unsigned period = 1; period <= XFW_PIECE_MOST; period++) {
        uint32_t alike = thread->alike[period];
        if (alike == 0) /* as of most launches, which are looked up no further */
            continue;
        if (last_pieces(pieces, name, period) > (usual ? last_pieces(pieces, name, usual) : 1))
            usual = period;
        if (alike >= period && alike > (best ? thread->alike[best] : 0))
            best = period;
    }
    return usual ? usual : best;
}

/* The launch one period before was given the same: where it wrote, so does this one. */
static bool same_again(const struct xfw_piece_launch *before, const struct xfw_piece_launch *launch)
{
    return launch->arguments && launch->arguments == before->arguments;
}

static void look_back(struct xfw_piece_thread *thread, const struct xfw_piece_launch *launch)
{
    for (unsigned period = 1; period <= XFW_PIECE_MOST; period++) {
        bool alike = thread->count >= period && before(thread, period - 1)->name == launch->name;
        thread->alike[period] = alike ? thread->alike[period] + 1 : 0;
    }
    thread->last[thread->count++ % LAST] = *launch;
}

/* The piece of the last launch, its which-th, does not stand for itself. Where that is so from the
 * second one on, the run may have begun within a piece: the next one begins a launch earlier. */
static void turn_on(struct xfw_pieces *pieces, struct xfw_piece_thread *thread,
                    const struct xfa_process *process, uint32_t whole, unsigned which)
{
    unsigned period = thread->period;
    end_run(pieces, thread, whole, 0);
    begin_run(pieces, thread, process, period, which + (period > 1 && whole == 1));
}

/* The last launch goes on with the run, as its names do; or begins another one. */
static void go_on(struct xfw_pieces *pieces, struct xfw_piece_thread *thread,
                  const struct xfa_process *process, const struct xfw_piece_launch *launch)
{
    unsigned which = thread->launches % thread->period;
    uint32_t whole = thread->launches / thread->period;
    bool apart =
        (thread->apart || which > 0) && !same_again(before(thread, thread->period), launch);
    if (!apart || !add(pieces, thread, process, launch))
        turn_on(pieces, thread, process, whole, which);
}

static void go_to(struct xfw_pieces *pieces, struct xfw_piece_thread *thread,
                  const struct xfa_process *process, const struct xfw_piece_launch *launch)
{
    if (thread->period && thread->alike[thread->period] == 0)
        end_run(pieces, thread, thread->launches / thread->period, 1);
    if (thread->period) {
        go_on(pieces, thread, process, launch);
        return;
    }
    unsigned period = period_of(pieces, thread, launch->name);
    if (period)
        begin_run(pieces, thread, process, period, (thread->alike[period] - 1) % period + period);
}

static bool is_elsewhere(const struct xfw_piece_launch *last, const struct xfw_piece_launch *launch)
{
    return last->stream != launch->stream || last->gpu != launch->gpu;
}

struct xfw_place_in_pieces xfw_pieces_next(struct xfw_pieces *pieces,
                                           const struct xfa_process *process, uint32_t number,
                                           const struct xfw_piece_launch *launch)
{
    struct xfw_place_in_pieces at = {0};
    if (number >= XFW_PIECE_THREADS)
        return at;
    struct xfw_piece_thread *thread = &pieces->threads[number];
    if (launch->name == 0 || (thread->count && is_elsewhere(before(thread, 0), launch)))
        xfw_pieces_break(pieces, number);
    if (launch->name == 0)
        return at;
    look_back(thread, launch);
    go_to(pieces, thread, process, launch);
    if (!thread->period)
        return at;
    at.is = thread->merges && thread->apart;
    at.which = (thread->launches - 1) % thread->period;
    return at;
}

bool xfw_pieces_goes_on(const struct xfw_pieces *pieces, uint32_t number,
                        const struct xfw_piece_launch *launch)
{
    const struct xfw_piece_thread *thread = &pieces->threads[number % XFW_PIECE_THREADS];
    if (number >= XFW_PIECE_THREADS || !thread->period || !thread->apart ||
        is_elsewhere(before(thread, 0), launch))
        return false;
    const struct xfw_piece_launch *last = before(thread, thread->period - 1);
    bool within = thread->launches % thread->period > 0;
    return last->name == launch->name && !same_again(last, launch) &&
           (within ? thread->merges : is_worth_it(pieces, thread, launch->name));
}

void xfw_pieces_break(struct xfw_pieces *pieces, uint32_t number)
{
    if (number >= XFW_PIECE_THREADS || pieces->threads[number].count == 0)
        return;
    struct xfw_piece_thread *thread = &pieces->threads[number];
    if (thread->period)
        end_run(pieces, thread, thread->launches / thread->period, 0);
    thread->count = 0;
    for (unsigned period = 1; period <= XFW_PIECE_MOST; period++)
        thread->alike[period] = 0;
}
