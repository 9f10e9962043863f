#include "analyzer/timeline/buffers.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"

struct stack_site {
    uint32_t stack; /* key */
    uint32_t site;
};

void xfa_buffers_init(struct xfa_buffers *buffers)
{
    *buffers = (struct xfa_buffers){.process = NULL};
    xfa_table_init(&buffers->table, sizeof(struct xfa_buffer_key), sizeof(struct xfa_buffer));
    xfa_table_init(&buffers->sites, sizeof(uint64_t), sizeof(struct xfa_buffer_site));
    xfa_table_init(&buffers->stacks, sizeof(uint32_t), sizeof(struct stack_site));
    xfa_shelf_init(&buffers->shelf);
}

void xfa_buffers_free(struct xfa_buffers *buffers)
{
    for (size_t i = 0; i < buffers->sites.count; i++)
        free(((struct xfa_buffer_site *)xfa_table_at(&buffers->sites, i))->text);
    xfa_table_free(&buffers->sites);
    xfa_table_free(&buffers->stacks);
    xfa_shelf_free(&buffers->shelf);
    xfa_table_free(&buffers->table);
    xfa_blocks_free(&buffers->blocks);
}

const char *xfa_buffers_site(const struct xfa_buffers *buffers, const struct xfa_buffer *buffer)
{
    if (buffer->key.site == XFA_NO_SITE)
        return NULL;
    return ((const struct xfa_buffer_site *)xfa_table_at(&buffers->sites, buffer->key.site))->text;
}

void xfa_buffers_begin(struct xfa_buffers *buffers, struct xfa_process *process)
{
    xfa_blocks_free(&buffers->blocks);
    buffers->blocks = (struct xfa_blocks){0};
    xfa_table_free(&buffers->stacks);
    xfa_table_init(&buffers->stacks, sizeof(uint32_t), sizeof(struct stack_site));
    buffers->process = process;
    for (size_t i = 0; i < buffers->table.count; i++)
        ((struct xfa_buffer *)xfa_table_at(&buffers->table, i))->live = 0;
}

static struct xfa_buffer *buffer_of(struct xfa_buffers *buffers, uint32_t site, uint8_t memory)
{
    struct xfa_buffer_key key = {.site = site, .memory = memory};
    struct xfa_buffer *buffer = xfa_table_get(&buffers->table, &key);
    if (!buffer && buffers->table.count >= XFA_MOST_BUFFERS)
        key.site = XFA_NO_SITE;
    return buffer ? buffer : xfa_table_put(&buffers->table, &key);
}

/* Of as many stacks as there may be buffers; others are not known. */
static uint32_t site_of(struct xfa_buffers *buffers, uint32_t stack)
{
    struct stack_site *known = stack ? xfa_table_get(&buffers->stacks, &stack) : NULL;
    if (known || !stack)
        return known ? known->site : XFA_NO_SITE;
    if (buffers->stacks.count >= XFA_MOST_STACKS)
        return XFA_NO_SITE;
    struct xfa_site *made = xfa_site_new(&buffers->shelf, buffers->process->trace, stack);
    size_t before = buffers->sites.count;
    struct xfa_buffer_site *site = xfa_table_put(&buffers->sites, &made->line);
    if (buffers->sites.count > before)
        site->text = xfa_text(made->text);
    known = xfa_table_put(&buffers->stacks, &stack);
    known->site = (uint32_t)((size_t)((unsigned char *)site - buffers->sites.items) / sizeof *site);
    xfa_site_free(made);
    return known->site;
}

static void allocate(struct xfa_buffers *buffers, const struct xfa_event *event, uint8_t memory)
{
    struct xfa_buffer *buffer = buffer_of(buffers, site_of(buffers, event->stack), memory);
    buffer->allocations++;
    uint64_t address = event->memory.address;
    if (!address || !event->bytes || address + event->bytes < address ||
        buffers->blocks.count >= XFA_MOST_LIVE)
        return;
    buffer->live = xfa_add(buffer->live, event->bytes);
    if (buffer->live > buffer->most_live)
        buffer->most_live = buffer->live;
    size_t place = (size_t)((unsigned char *)buffer - buffers->table.items) / sizeof *buffer;
    xfa_blocks_add(&buffers->blocks, address, address + event->bytes, (uint32_t)place);
}

static void release(struct xfa_buffers *buffers, const struct xfa_event *event)
{
    const struct xfa_block *block = xfa_blocks_find(&buffers->blocks, event->memory.address);
    if (!block || block->address != event->memory.address || block->ended)
        return;
    struct xfa_buffer *buffer = xfa_table_at(&buffers->table, block->stack);
    uint64_t bytes = block->end - block->address;
    buffer->live -= bytes < buffer->live ? bytes : buffer->live;
    xfa_blocks_end(&buffers->blocks, event->memory.address, event->start_ns);
}

void xfa_buffers_event(struct xfa_buffers *buffers, const struct xfa_event *event)
{
    xfa_blocks_pass(&buffers->blocks, event->start_ns);
    if (event->flags & XFT_FAILED)
        return;
    if (event->kind == XFT_EVENT_ALLOC)
        allocate(buffers, event, event->dst_mem);
    else if (event->kind == XFT_EVENT_REGISTER)
        allocate(buffers, event, XFT_MEM_REGISTERED);
    else if (event->kind == XFT_EVENT_FREE || event->kind == XFT_EVENT_UNREGISTER)
        release(buffers, event);
}

static void move(struct xfa_buffers *buffers, uint64_t address, uint64_t bytes, uint8_t memory)
{
    const struct xfa_block *block = xfa_blocks_find(&buffers->blocks, address);
    struct xfa_buffer *buffer = block ? xfa_table_at(&buffers->table, block->stack)
                                      : buffer_of(buffers, XFA_NO_SITE, memory);
    buffer->traffic = xfa_add(buffer->traffic, bytes);
    buffer->transfers++;
}

void xfa_buffers_transfer(struct xfa_buffers *buffers, const struct xfa_event *event)
{
    const struct xfa_transfer *transfer = &event->transfer;
    const struct xfa_row_key *key = &transfer->class->key.row;
    xfa_blocks_pass(&buffers->blocks, event->start_ns);
    move(buffers, transfer->src, event->bytes, key->src_mem);
    move(buffers, transfer->dst, event->bytes, key->dst_mem);
}

void xfa_buffers_migration(struct xfa_buffers *buffers, const struct xfa_event *event)
{
    move(buffers, event->managed.address, event->bytes, XFT_MEM_MANAGED);
}

static int most_traffic(const void *a, const void *b, void *table)
{
    const struct xfa_buffer *x = xfa_table_at(table, *(const uint32_t *)a);
    const struct xfa_buffer *y = xfa_table_at(table, *(const uint32_t *)b);
    if (x->traffic != y->traffic)
        return x->traffic > y->traffic ? -1 : 1;
    if (x->most_live != y->most_live)
        return x->most_live > y->most_live ? -1 : 1;
    return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

uint32_t *xfa_buffers_sorted(const struct xfa_buffers *buffers)
{
    uint32_t *places = xfa_alloc((buffers->table.count + 1) * sizeof *places);
    struct xfa_table table = buffers->table;
    for (size_t i = 0; i < table.count; i++)
        places[i] = (uint32_t)i;
    qsort_r(places, table.count, sizeof *places, most_traffic, &table);
    return places;
}
