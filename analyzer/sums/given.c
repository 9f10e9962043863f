#include "analyzer/sums/given.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/signature.h"
#include "common/search.h"

#define MOST_USES (1u << 20)
#define NO_USES UINT32_MAX

/* A pointer that kernels were given: when last, to do what. */
struct xfa_given_cell {
    uint64_t pointer;
    uint64_t read_ns, somehow_ns, written_ns;
};

/* What launches of one kernel with the same arguments use. */
struct set {
    struct set_key {
        uint64_t arguments, name; /* ids */
    } key;
    uint32_t first, count; /* of uses; count NO_USES: it may use anything */
};

enum how { HOW_READ, HOW_SOMEHOW, HOW_WRITTEN, HOW_BITS = 2 };

void xfa_given_begin(struct xfa_given *given, const struct xfa_process *process)
{
    const char *mode = xfa_trace_meta(process->trace, "arguments");
    bool launches = process->minor >= 2;
    xfa_given_free(given);
    xfa_table_init(&given->sets, sizeof(struct set_key), sizeof(struct set));
    given->recorded = launches && (!mode || strcmp(mode, "on") == 0);
}

void xfa_given_free(struct xfa_given *given)
{
    xfa_blocks_free(&given->blocks);
    xfa_table_free(&given->sets);
    free(given->cells);
    free(given->by_pointer);
    free(given->uses);
    *given = (struct xfa_given){0};
}

/* ---- pointers -------------------------------------------------------------------------------- */

struct wanted {
    const struct xfa_given *given;
    uint64_t pointer;
};

static bool is_below(const void *cell, const void *key)
{
    const struct wanted *wanted = key;
    return wanted->given->cells[*(const uint32_t *)cell].pointer < wanted->pointer;
}

/* The first in order that is not below. */
static size_t lower(const struct xfa_given *given, uint64_t pointer)
{
    const struct wanted wanted = {given, pointer};
    return xfc_partition(given->by_pointer, given->cell_count, sizeof *given->by_pointer, is_below,
                         &wanted);
}

/* UINT32_MAX: there are too many. */
static uint32_t cell_of(struct xfa_given *given, uint64_t pointer)
{
    size_t at = lower(given, pointer), count = given->cell_count;
    if (at < count && given->cells[given->by_pointer[at]].pointer == pointer)
        return given->by_pointer[at];
    if (count == XFA_GIVEN_POINTERS)
        return UINT32_MAX;
    given->cells = xfa_room(given->cells, &given->cell_capacity, count + 1, sizeof *given->cells);
    given->by_pointer =
        xfa_room(given->by_pointer, &given->order_capacity, count + 1, sizeof *given->by_pointer);
    memmove(given->by_pointer + at + 1, given->by_pointer + at,
            (count - at) * sizeof *given->by_pointer);
    given->by_pointer[at] = (uint32_t)count;
    given->cells[count] = (struct xfa_given_cell){.pointer = pointer};
    given->cell_count++;
    return (uint32_t)count;
}

/* ---- what a launch uses ---------------------------------------------------------------------- */

/* The k-th pointer of a launch is the k-th parameter that is one, where there are as many. */
static enum how how_of(const struct xfa_signature *signature, uint32_t count, uint32_t k)
{
    if (!signature->known || signature->others)
        return HOW_SOMEHOW;
    if (signature->writes == 0)
        return HOW_READ;
    if (signature->pointers != count)
        return HOW_SOMEHOW;
    return signature->writes >> k & 1 ? HOW_WRITTEN : HOW_READ;
}

static struct xfa_signature signature_of(const struct xfa_process *process, uint64_t name)
{
    const struct xfa_text *text = xfa_trace_text(process->trace, name);
    struct xfa_signature signature = {0};
    if (text) {
        char *kept = xfa_kept(text->text, text->bytes);
        signature = xfa_signature_of(kept);
        free(kept);
    }
    return signature;
}

/* False: it may use anything. */
static bool resolve(struct xfa_given *given, const struct xfa_process *process, struct set *set)
{
    const struct xfa_arguments *arguments = xfa_trace_arguments(process->trace, set->key.arguments);
    struct xfa_signature signature = signature_of(process, set->key.name);
    if (!arguments || arguments->count >= XFT_ARGUMENTS_MOST || signature.deep ||
        given->use_count + arguments->count > MOST_USES)
        return false;
    set->first = (uint32_t)given->use_count;
    given->uses = xfa_room(given->uses, &given->use_capacity, given->use_count + arguments->count,
                           sizeof *given->uses);
    for (uint32_t k = 0; k < arguments->count; k++) {
        uint32_t cell = cell_of(given, xfa_arguments_pointer(arguments, k));
        if (cell == UINT32_MAX)
            return false;
        given->uses[given->use_count++] =
            cell << HOW_BITS | (uint32_t)how_of(&signature, arguments->count, k);
    }
    set->count = arguments->count;
    return true;
}

/* What the device's memory showed behind the launch (record --verify) goes before what the name
 * says. */
static enum how seen(const struct xfa_launch *launch, uint32_t k, enum how how)
{
    const uint32_t bits = 32;
    if (k >= bits)
        return how;
    return launch->changed >> k & 1 ? HOW_WRITTEN : launch->kept >> k & 1 ? HOW_READ : how;
}

static void use(struct xfa_given *given, const struct set *set, const struct xfa_event *event)
{
    for (uint32_t i = 0; i < set->count; i++) {
        uint32_t use = given->uses[set->first + i];
        struct xfa_given_cell *cell = &given->cells[use >> HOW_BITS];
        uint64_t *times[] = {&cell->read_ns, &cell->somehow_ns, &cell->written_ns};
        enum how how = (enum how)(use & ((1u << HOW_BITS) - 1));
        *times[seen(&event->launch, i, how)] = event->start_ns;
    }
}

bool xfa_given_uses(const struct xfa_given *given, const struct xfa_event *launch,
                    xfa_given_use_fn *tell, void *self)
{
    static const enum xfa_used words[] = {[HOW_READ] = XFA_USED_READ,
                                          [HOW_SOMEHOW] = XFA_USED_SOMEHOW,
                                          [HOW_WRITTEN] = XFA_USED_WRITTEN};
    const struct set_key key = {launch->launch.arguments, launch->launch.name};
    const struct set *set = xfa_table_get(&given->sets, &key);
    if (!set || set->count == NO_USES)
        return false;
    for (uint32_t i = 0; i < set->count; i++) {
        uint32_t use = given->uses[set->first + i];
        enum how how = (enum how)(use & ((1u << HOW_BITS) - 1));
        tell(self, given->cells[use >> HOW_BITS].pointer, words[seen(&launch->launch, i, how)]);
    }
    return true;
}

static void launch(struct xfa_given *given, const struct xfa_process *process,
                   const struct xfa_event *event)
{
    const struct set_key key = {event->launch.arguments, event->launch.name};
    if (event->flags & XFT_CAPTURED)
        return;
    given->launch_ns = event->start_ns;
    struct set *set = xfa_table_get(&given->sets, &key);
    if (!set && key.arguments && given->sets.count < XFA_GIVEN_SETS) {
        set = xfa_table_put(&given->sets, &key);
        if (!resolve(given, process, set))
            set->count = NO_USES;
    }
    if (!set || set->count == NO_USES)
        given->anything_ns = event->start_ns;
    else
        use(given, set, event);
}

void xfa_given_event(struct xfa_given *given, const struct xfa_event *event)
{
    if (event->kind == XFT_EVENT_LAUNCH) {
        launch(given, event->process, event);
    } else if (event->kind == XFT_EVENT_GRAPH_LAUNCH) {
        given->launch_ns = given->anything_ns = event->start_ns;
    } else if (event->kind == XFT_EVENT_ALLOC && event->bytes && event->dst_mem != XFT_MEM_ARRAY) {
        xfa_blocks_pass(&given->blocks, event->start_ns);
        xfa_blocks_add(&given->blocks, event->memory.address,
                       xfa_add(event->memory.address, event->bytes), 0);
    } else if (event->kind == XFT_EVENT_FREE) {
        xfa_blocks_end(&given->blocks, event->memory.address, event->start_ns);
    }
}

/* ---- asking ---------------------------------------------------------------------------------- */

static enum xfa_used of_cell(const struct xfa_given_cell *cell, uint64_t since_ns)
{
    return cell->written_ns > since_ns   ? XFA_USED_WRITTEN
           : cell->somehow_ns > since_ns ? XFA_USED_SOMEHOW
           : cell->read_ns > since_ns    ? XFA_USED_READ
                                         : XFA_USED_NOT;
}

enum xfa_used xfa_given_used(const struct xfa_given *given, uint64_t start, uint64_t end,
                             uint64_t since_ns, enum xfa_used enough)
{
    if (given->launch_ns <= since_ns)
        return XFA_USED_NOT;
    const struct xfa_block *block = xfa_blocks_find(&given->blocks, start);
    bool anything = given->anything_ns > since_ns || !block;
    enum xfa_used most = anything ? XFA_USED_PERHAPS : XFA_USED_NOT;
    size_t i = lower(given, block ? block->address : start);
    for (; i < given->cell_count && most < enough; i++) {
        const struct xfa_given_cell *cell = &given->cells[given->by_pointer[i]];
        if (cell->pointer >= end)
            break;
        enum xfa_used used = of_cell(cell, since_ns);
        most = used > most ? used : most;
    }
    return most;
}

const struct xfa_block *xfa_given_block(const struct xfa_given *given, uint64_t address)
{
    return xfa_blocks_find(&given->blocks, address);
}
