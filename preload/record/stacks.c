#define XXH_INLINE_ALL
#include "preload/record/stacks.h"

#include <link.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "preload/record/lanes.h"
#include "preload/record/recorder.h"
#include "preload/base/check.h"
#include "preload/base/loading.h"
#include "preload/format/segments.h"

#define MOST_FRAMES XFS_STACK_FRAMES
#define OWN_FRAMES 16 /* of this library, which are not kept */

struct stack {
    const uint64_t *addresses;
    uint32_t depth;
};

static bool write_stack(struct xfs_recorder *recorder, const void *thing, uint32_t number)
{
    const struct stack *stack = thing;
    struct {
        struct xft_stack stack;
        uint64_t addresses[MOST_FRAMES];
    } out;
    if (xfs_self && xfs_self->in_stack)
        xfs_cost_unusual(XFT_OVERHEAD_STACK);
    if (!xfs_modules_refresh(recorder, &recorder->stacks.modules, stack->addresses, stack->depth))
        return false;
    size_t addresses = stack->depth * sizeof *stack->addresses;
    out.stack = (struct xft_stack){number, stack->depth};
    memcpy(out.addresses, stack->addresses, addresses);
    return xfs_room_add(recorder, XFT_SEG_STACKS, &out, sizeof out.stack + addresses);
}

uint32_t xfs_stacks_intern(struct xfs_recorder *recorder, uint64_t *addresses, uint32_t depth)
{
    struct stack stack = {addresses, depth};
    uint32_t id = 0;
    if (XFS_EXPECT(depth > 0 && depth <= MOST_FRAMES, "a stack has more frames than are kept") &&
        xfs_modules_place(recorder, &recorder->stacks.modules, addresses, depth))
        id = xfs_number_of(&recorder->stacks.numbers,
                           XXH3_64bits(addresses, depth * sizeof *addresses), write_stack, recorder,
                           &stack);
    if (id == 0)
        xfs_count_lost(recorder, XFT_LOSS_STACKS, 1);
    return id;
}

static pid_t own_thread(void)
{
    return xfs_self ? xfs_self->tid : gettid();
}

uint32_t xfs_stacks_take(struct xfs_recorder *recorder, const struct xfs_registers *from,
                         uint64_t *addresses, uint32_t most, struct xfs_reads *reads)
{
    struct xfs_stacks *stacks = &recorder->stacks;
    uint64_t python[XFS_PYTHON_FRAMES];
    uint32_t python_most = most < XFS_PYTHON_FRAMES ? most : XFS_PYTHON_FRAMES;
    uint32_t python_depth = 0;
    if (xfs_python_is_on(&stacks->python))
        python_depth = xfs_python_take(&stacks->python, own_thread(), python, python_most);
    most = most < MOST_FRAMES - python_depth ? most : MOST_FRAMES - python_depth;
    struct xfs_walk walk;
    xfs_unwind_begin(&walk, from, reads);
    uint32_t depth = 0;
    for (uint32_t own = 0; own < OWN_FRAMES && depth < most;) {
        uintptr_t frame = xfs_unwind_next(&walk);
        if (frame == 0)
            break;
        if (python_depth && frame >= stacks->python.start && frame < stacks->python.end)
            break; /* from here on the Python frames say more */
        if (frame >= stacks->own_start && frame < stacks->own_end)
            own++;
        else
            addresses[depth++] = frame;
    }
    memcpy(addresses + depth, python, python_depth * sizeof *python);
    return depth + python_depth;
}

/* ---- Python ----------------------------------------------------------------------------- */

static bool write_symbol(struct xfs_recorder *recorder, const void *payload, size_t bytes)
{
    return xfs_room_add(recorder, XFT_SEG_SYMBOLS, payload, bytes);
}

static const struct xfs_python_host python_host = {
    .write_symbol = write_symbol,
    .write_meta = xfs_write_meta,
    .wait = xfs_writer_wait,
};

/* ---- start ------------------------------------------------------------------------------ */

static int find_own(struct dl_phdr_info *info, size_t size, void *out)
{
    struct xfs_stacks *stacks = out;
    uintptr_t here = (uintptr_t)find_own;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD || here < start || here >= start + part->p_memsz)
            continue;
        if (info->dlpi_name && info->dlpi_name[0]) {
            stacks->own_start = start;
            stacks->own_end = start + part->p_memsz;
        }
        return 1;
    }
    return 0;
}

void xfs_stacks_init(struct xfs_recorder *recorder)
{
    struct xfs_stacks *stacks = &recorder->stacks;
    if (!recorder->settings->stacks || recorder->settings->stack_depth == 0 ||
        !xfs_numbers_init(&stacks->numbers, XFS_STACK_SLOTS, xfs_writer_wait))
        return;
    if (!xfs_modules_init(recorder, &stacks->modules)) {
        stacks->numbers.slots = NULL;
        return;
    }
    xfs_walk_loaded(find_own, stacks);
    xfs_unwind_init();
    xfs_python_init(recorder, &python_host, &stacks->python);
}
