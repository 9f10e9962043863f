#define XXH_INLINE_ALL
#define _GNU_SOURCE
#include "stacks.h"

#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <xxhash.h>

#include "recorder.h"
#include "segments.h"

#define MOST_FRAMES XFS_STACK_FRAMES
#define OWN_FRAMES 16 /* room for this library's frames, above those that are kept */

static uint64_t load_hash(const struct xfs_stack_slot *slot)
{
    return __atomic_load_n(&slot->hash, __ATOMIC_ACQUIRE);
}

/* The slot that has this hash, or the empty one where it belongs. */
static struct xfs_stack_slot *find(const struct xfs_stacks *stacks, uint64_t hash, uint64_t *found)
{
    uint32_t i = (uint32_t)hash & (XFS_STACK_SLOTS - 1);
    while ((*found = load_hash(&stacks->slots[i])) != 0 && *found != hash)
        i = (i + 1) & (XFS_STACK_SLOTS - 1);
    return &stacks->slots[i];
}

static bool write_stack(struct xfs_recorder *recorder, uint32_t id, const uint64_t *addresses,
                        uint32_t depth)
{
    struct {
        struct xft_segment head;
        struct xft_stack stack;
        uint64_t addresses[MOST_FRAMES];
    } out;
    size_t payload = sizeof out.stack + depth * sizeof *addresses;
    out.stack = (struct xft_stack){id, depth};
    memcpy(out.addresses, addresses, depth * sizeof *addresses);
    out.head = xft_segment_make(XFT_SEG_STACKS, 0, &out.stack, payload, payload);
    return xfs_file_append(&recorder->file, &out, sizeof out.head + payload);
}

/* Under the lock: another thread may have been here since. */
static uint32_t insert(struct xfs_recorder *recorder, uint64_t hash, const uint64_t *addresses,
                       uint32_t depth)
{
    struct xfs_stacks *stacks = &recorder->stacks;
    uint64_t found;
    struct xfs_stack_slot *slot = find(stacks, hash, &found);
    if (found == hash)
        return slot->id;
    if (stacks->count >= XFS_STACK_SLOTS / 4 * 3)
        return 0;
    if (!xfs_modules_refresh(recorder, &stacks->modules) ||
        !write_stack(recorder, stacks->count + 1, addresses, depth))
        return 0;
    slot->id = ++stacks->count;
    __atomic_store_n(&slot->hash, hash, __ATOMIC_RELEASE);
    return slot->id;
}

uint32_t xfs_stacks_intern(struct xfs_recorder *recorder, const uint64_t *addresses, uint32_t depth)
{
    struct xfs_stacks *stacks = &recorder->stacks;
    uint64_t found, hash = XXH3_64bits(addresses, depth * sizeof *addresses) | 1;
    const struct xfs_stack_slot *slot = find(stacks, hash, &found);
    if (found == hash)
        return slot->id;
    pthread_mutex_lock(&stacks->lock);
    uint32_t id = insert(recorder, hash, addresses, depth);
    pthread_mutex_unlock(&stacks->lock);
    if (id == 0)
        xfs_count_stacks_lost(recorder, 1);
    return id;
}

uint32_t xfs_stacks_take(struct xfs_recorder *recorder, uint64_t *addresses, uint32_t most)
{
    struct xfs_stacks *stacks = &recorder->stacks;
    void *frames[MOST_FRAMES + OWN_FRAMES];
    uint64_t python[XFS_PYTHON_FRAMES];
    uint32_t python_most = most < XFS_PYTHON_FRAMES ? most : XFS_PYTHON_FRAMES;
    uint32_t python_depth = xfs_python_take(recorder, &stacks->python, python, python_most);
    most = most < MOST_FRAMES - python_depth ? most : MOST_FRAMES - python_depth;
    int n = recorder->libraries->backtrace(frames, (int)most + OWN_FRAMES);
    uint32_t depth = 0;
    for (int i = 0; i < n && depth < most; i++) {
        uintptr_t frame = (uintptr_t)frames[i];
        bool own = frame >= stacks->own_start && frame < stacks->own_end;
        if (python_depth && frame >= stacks->python.start && frame < stacks->python.end)
            break; /* what called from here on is better told by the Python frames */
        if (!own && frame != 0)
            addresses[depth++] = frame;
    }
    memcpy(addresses + depth, python, python_depth * sizeof *python);
    return depth + python_depth;
}

/* ---- start ------------------------------------------------------------------------------ */

static int find_own(struct dl_phdr_info *info, size_t size, void *out)
{
    (void)size;
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
    pthread_mutex_init(&stacks->lock, NULL);
    if (!recorder->settings->stacks || recorder->settings->stack_depth == 0)
        return;
    size_t bytes = XFS_STACK_SLOTS * sizeof *stacks->slots;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return;
    dl_iterate_phdr(find_own, stacks);
    xfs_python_init(recorder, &stacks->python);
    stacks->slots = memory;
}
