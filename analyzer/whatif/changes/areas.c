#include "analyzer/whatif/changes/areas.h"

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static bool fits(const struct xfw_area *area, uint64_t memory, uint64_t address, uint64_t bytes)
{
    uint64_t reach = most(area->end, address + bytes) - least(area->first, address);
    return area->memory == memory &&
           (reach <= XFW_AREA_BYTES || reach / XFW_AREA_TIMES <= area->bytes + bytes);
}

static void add(struct xfw_area *area, uint64_t address, uint64_t bytes, bool to_host)
{
    area->first = least(area->first, address);
    area->end = most(area->end, address + bytes);
    area->bytes += bytes;
    area->fetched |= to_host;
    if (to_host)
        return;
    area->gaps |= area->sent && address != area->sent_end;
    area->sent = true;
    area->sent_end = address + bytes;
}

struct xfw_area *xfw_areas_take(struct xfw_areas *areas, const struct xfw_memories *memories,
                                uint64_t address, uint64_t bytes, bool to_host)
{
    struct xfw_memory memory;
    uint64_t of = xfw_memories_find(memories, address, &memory) ? memory.first : 0;
    struct xfw_area *area = areas->items;
    while (area < areas->items + areas->count && !fits(area, of, address, bytes))
        area++;
    if (area == areas->items + XFW_AREAS)
        return NULL;
    if (area == areas->items + areas->count) {
        *area = (struct xfw_area){.memory = of, .first = address, .end = address + bytes};
        areas->count++;
    }
    add(area, address, bytes, to_host);
    return area;
}

unsigned xfw_areas_copies(const struct xfw_areas *areas)
{
    unsigned copies = 0;
    for (unsigned i = 0; i < areas->count; i++)
        copies += (unsigned)xfw_area_fetches(&areas->items[i]) + areas->items[i].sent;
    return copies;
}
