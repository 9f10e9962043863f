/* A treap by address and order of adding; its priorities are hashes of that order. */
#include "analyzer/sums/blocks.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"

#define ASKED_BITS 10 /* so many bits of an address's hash say where its answer is kept */

struct xfa_block_end {
    uint64_t when;
    uint32_t block;
};

/* What was found around an address the last time: 0 = nothing. */
struct xfa_block_asked {
    uint64_t address, changes; /* of the blocks by then; 0: nobody asked */
    uint32_t block;
};

void xfa_blocks_free(struct xfa_blocks *blocks)
{
    free(blocks->items);
    free(blocks->ends);
    free(blocks->asked);
    *blocks = (struct xfa_blocks){0};
}

/* ---- the tree ------------------------------------------------------------------------------ */

static uint64_t priority(const struct xfa_block *block) /* splitmix64 */
{
    uint64_t x = block->order * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static bool is_before(const struct xfa_block *a, const struct xfa_block *b)
{
    return a->address != b->address ? a->address < b->address : a->order < b->order;
}

/* What a block says of those below it. */
static void refresh(struct xfa_block *items, uint32_t at)
{
    struct xfa_block *block = &items[at];
    const struct xfa_block *left = &items[block->left], *right = &items[block->right];
    block->reach = block->end;
    block->reach = left->reach > block->reach ? left->reach : block->reach;
    block->reach = right->reach > block->reach ? right->reach : block->reach;
    block->lives_below = !block->ended || left->lives_below || right->lives_below;
}

/* Those before a block, and those behind it. */
static void split(struct xfa_block *items, uint32_t root, const struct xfa_block *where,
                  uint32_t *before, uint32_t *behind)
{
    if (root == 0) {
        *before = *behind = 0;
    } else if (is_before(&items[root], where)) {
        split(items, items[root].right, where, &items[root].right, behind);
        *before = root;
        refresh(items, root);
    } else {
        split(items, items[root].left, where, before, &items[root].left);
        *behind = root;
        refresh(items, root);
    }
}

static uint32_t join(struct xfa_block *items, uint32_t before, uint32_t behind)
{
    if (before == 0 || behind == 0)
        return before + behind;
    if (priority(&items[before]) > priority(&items[behind])) {
        items[before].right = join(items, items[before].right, behind);
        refresh(items, before);
        return before;
    }
    items[behind].left = join(items, before, items[behind].left);
    refresh(items, behind);
    return behind;
}

static uint32_t insert(struct xfa_block *items, uint32_t root, uint32_t new)
{
    if (root == 0 || priority(&items[new]) > priority(&items[root])) {
        split(items, root, &items[new], &items[new].left, &items[new].right);
        root = new;
    } else if (is_before(&items[new], &items[root])) {
        items[root].left = insert(items, items[root].left, new);
    } else {
        items[root].right = insert(items, items[root].right, new);
    }
    refresh(items, root);
    return root;
}

static uint32_t take_out(struct xfa_block *items, uint32_t root, uint32_t old)
{
    if (root == old)
        return join(items, items[old].left, items[old].right);
    if (is_before(&items[old], &items[root]))
        items[root].left = take_out(items, items[root].left, old);
    else
        items[root].right = take_out(items, items[root].right, old);
    refresh(items, root);
    return root;
}

/* A block has changed: so does what those above it say. */
static void refresh_down_to(struct xfa_block *items, uint32_t root, uint32_t changed)
{
    if (root != changed)
        refresh_down_to(
            items, is_before(&items[changed], &items[root]) ? items[root].left : items[root].right,
            changed);
    refresh(items, root);
}

/* The first without an end at this address or behind; 0 = none. Past the path to the address each
 * step goes to where one is. */
static uint32_t first_living(const struct xfa_block *items, uint32_t root, uint64_t address)
{
    if (root == 0 || !items[root].lives_below)
        return 0;
    if (items[root].address < address)
        return first_living(items, items[root].right, address);
    uint32_t found = first_living(items, items[root].left, address);
    if (found == 0 && !items[root].ended)
        found = root;
    return found ? found : first_living(items, items[root].right, address);
}

/* The last that begins at this address or before and ends behind it. */
static uint32_t last_around(const struct xfa_block *items, uint32_t root, uint64_t address)
{
    if (root == 0 || items[root].reach <= address)
        return 0;
    if (items[root].address > address)
        return last_around(items, items[root].left, address);
    uint32_t found = last_around(items, items[root].right, address);
    if (found == 0 && items[root].end > address)
        found = root;
    return found ? found : last_around(items, items[root].left, address);
}

/* ---- ends ---------------------------------------------------------------------------------- */

static void push_end(struct xfa_blocks *blocks, uint64_t when, uint32_t block)
{
    blocks->ends =
        xfa_room(blocks->ends, &blocks->end_capacity, blocks->end_count + 1, sizeof *blocks->ends);
    struct xfa_block_end *ends = blocks->ends;
    size_t at = blocks->end_count++;
    for (size_t above; at > 0 && ends[above = (at - 1) / 2].when > when; at = above)
        ends[at] = ends[above];
    ends[at] = (struct xfa_block_end){when, block};
}

static uint32_t pop_end(struct xfa_blocks *blocks)
{
    struct xfa_block_end *ends = blocks->ends, last = ends[--blocks->end_count];
    uint32_t block = ends[0].block;
    size_t at = 0, child;
    while ((child = 2 * at + 1) < blocks->end_count) {
        if (child + 1 < blocks->end_count && ends[child + 1].when < ends[child].when)
            child++;
        if (ends[child].when >= last.when)
            break;
        ends[at] = ends[child];
        at = child;
    }
    ends[at] = last;
    return block;
}

/* ---- blocks -------------------------------------------------------------------------------- */

static uint32_t room_for_one(struct xfa_blocks *blocks)
{
    uint32_t at = blocks->spare;
    if (at) {
        blocks->spare = blocks->items[at].left;
        return at;
    }
    size_t used = blocks->used ? blocks->used : 1;
    blocks->items = xfa_room(blocks->items, &blocks->capacity, used + 1, sizeof *blocks->items);
    blocks->items[0] = (struct xfa_block){.ended = true}; /* stands for none */
    blocks->used = used + 1;
    return (uint32_t)used;
}

void xfa_blocks_add(struct xfa_blocks *blocks, uint64_t address, uint64_t end, uint32_t stack)
{
    uint32_t at = room_for_one(blocks);
    blocks->items[at] = (struct xfa_block){
        .address = address, .end = end, .stack = stack, .order = ++blocks->added};
    blocks->root = insert(blocks->items, blocks->root, at);
    blocks->count++;
    blocks->changes++;
    if (!blocks->asked)
        blocks->asked = xfa_alloc(((size_t)1 << ASKED_BITS) * sizeof *blocks->asked);
}

void xfa_blocks_end(struct xfa_blocks *blocks, uint64_t address, uint64_t when)
{
    uint32_t at = first_living(blocks->items, blocks->root, address);
    if (at == 0 || blocks->items[at].address != address)
        return;
    blocks->items[at].ended = true;
    refresh_down_to(blocks->items, blocks->root, at);
    push_end(blocks, when, at);
}

void xfa_blocks_pass(struct xfa_blocks *blocks, uint64_t now)
{
    while (blocks->end_count && blocks->ends[0].when < now) {
        uint32_t at = pop_end(blocks);
        blocks->root = take_out(blocks->items, blocks->root, at);
        blocks->items[at].left = blocks->spare;
        blocks->spare = at;
        blocks->count--;
        blocks->changes++;
    }
}

const struct xfa_block *xfa_blocks_find(const struct xfa_blocks *blocks, uint64_t address)
{
    if (blocks->root == 0)
        return NULL;
    struct xfa_block_asked *asked =
        &blocks->asked[address * 0x9e3779b97f4a7c15u >> (64 - ASKED_BITS)];
    if (asked->address != address || asked->changes != blocks->changes)
        *asked = (struct xfa_block_asked){address, blocks->changes,
                                          last_around(blocks->items, blocks->root, address)};
    return asked->block ? &blocks->items[asked->block] : NULL;
}
