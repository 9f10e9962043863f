/* The plan as the library reads it. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/path.h"
#include "analyzer/plan/plan.h"

struct packed {
    struct xft_plan_module modules[XFT_PLAN_MODULES_MOST];
    struct xft_plan_site sites[XFT_PLAN_SITES_MOST];
    struct xft_plan_reader readers[XFT_PLAN_READERS_MOST];
    uint32_t module_count, site_count, reader_count;
    bool full;
};

static unsigned digit(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* Its place in the list; XFT_PLAN_NO_MODULE: the list is full. */
static uint32_t add_module(struct packed *packed, const struct xft_plan_module *module)
{
    for (uint32_t i = 0; i < packed->module_count; i++)
        if (memcmp(&packed->modules[i], module, sizeof *module) == 0)
            return i;
    packed->full = packed->full || packed->module_count == XFT_PLAN_MODULES_MOST;
    if (packed->full)
        return XFT_PLAN_NO_MODULE;
    packed->modules[packed->module_count] = *module;
    return packed->module_count++;
}

/* Of a place that holds. */
static uint32_t module_of(struct packed *packed, const struct xfa_apply_place *place)
{
    struct xft_plan_module module = {0};
    if (place->build_id) {
        module.build_id_bytes = (uint32_t)strlen(place->build_id) / 2;
        for (size_t i = 0; i < module.build_id_bytes; i++)
            module.build_id[i] = (unsigned char)(digit(place->build_id[2 * i]) << 4 |
                                                 digit(place->build_id[2 * i + 1]));
    } else {
        uint64_t hash = xft_plan_text_hash(place->file, strlen(place->file));
        module.python = 1;
        module.build_id_bytes = sizeof hash;
        memcpy(module.build_id, &hash, sizeof hash);
    }
    return add_module(packed, &module);
}

static uint64_t offset_of(const struct xfa_apply_place *place)
{
    return place->build_id ? place->offset : place->line;
}

/* Sites are distinguished by the functions that call a helper. */
static uint64_t caller_offset_of(const struct xfa_apply_place *place)
{
    const char *function = place->function ? place->function : "";
    return place->build_id ? place->offset : xft_plan_text_hash(function, strlen(function));
}

static bool is_named(const struct xfa_apply_place *place)
{
    return place->build_id || place->python;
}

static bool same_place(const struct xft_plan_site *a, const struct xft_plan_site *b)
{
    return a->what == b->what && a->module == b->module && a->offset == b->offset &&
           a->caller_module == b->caller_module && a->caller_offset == b->caller_offset &&
           a->node == b->node && strcmp(a->text, b->text) == 0;
}

/* A site whose rows differ only in what they copy is one; it is granted what all of them are. */
static void add(struct packed *packed, const struct xft_plan_site *site)
{
    for (uint32_t i = 0; i < packed->site_count; i++) {
        if (same_place(&packed->sites[i], site)) {
            packed->sites[i].flags &= site->flags;
            return;
        }
    }
    packed->full = packed->full || packed->site_count == XFT_PLAN_SITES_MOST;
    if (!packed->full)
        packed->sites[packed->site_count++] = *site;
}

/* False: nothing says where it is. */
static bool pack_site(struct packed *packed, const struct xfa_apply_step *step, uint16_t number,
                      const struct xfa_apply_site *site)
{
    struct xft_plan_site out = {
        .caller_module = XFT_PLAN_NO_MODULE,
        .what = (uint16_t)step->by,
        .step = number,
        .flags = (site->kernels_keep ? XFT_PLAN_KERNELS_KEEP : 0) |
                 (step->kernels_apart ? XFT_PLAN_KERNELS_APART : 0),
        .node = step->by == XFT_PLAN_PLACEMENT ? step->numbers.node : -1,
    };
    if (!xfa_apply_place_holds(&site->place) ||
        (is_named(&site->caller) && !xfa_apply_place_holds(&site->caller)))
        return false;
    out.module = module_of(packed, &site->place);
    out.offset = offset_of(&site->place);
    if (is_named(&site->caller)) {
        out.caller_module = module_of(packed, &site->caller);
        out.caller_offset = caller_offset_of(&site->caller);
    }
    snprintf(out.text, sizeof out.text, "%s", site->text);
    if (!packed->full)
        add(packed, &out);
    return true;
}

static void pack_readers(struct packed *packed, const struct xfa_apply_step *step)
{
    for (size_t i = 0; i < step->reader_count; i++) {
        const struct xfa_apply_reader *reader = &step->readers[i];
        packed->full = packed->full || packed->reader_count == XFT_PLAN_READERS_MOST;
        if (!packed->full)
            packed->readers[packed->reader_count++] = (struct xft_plan_reader){
                xft_plan_text_hash(reader->kernel, strlen(reader->kernel)), reader->arguments};
    }
}

static struct xft_plan_header *whole(const struct packed *packed, size_t *bytes)
{
    *bytes = xft_plan_bytes(packed->module_count, packed->site_count, packed->reader_count);
    struct xft_plan_header *plan = xfa_alloc(*bytes);
    char *at = (char *)(plan + 1);
    size_t modules = packed->module_count * sizeof *packed->modules;
    size_t sites = packed->site_count * sizeof *packed->sites;
    memcpy(plan->magic, XFT_PLAN_MAGIC, sizeof plan->magic);
    plan->version = XFT_PLAN_VERSION;
    plan->modules = packed->module_count;
    plan->sites = packed->site_count;
    memcpy(at, packed->modules, modules);
    plan->readers = packed->reader_count;
    memcpy(at + modules, packed->sites, sites);
    memcpy(at + modules + sites, packed->readers, packed->reader_count * sizeof *packed->readers);
    return plan;
}

struct xft_plan_header *xfa_apply_plan_pack(const struct xfa_apply_plan *plan, size_t *bytes,
                                            size_t *unplaced, char *error, size_t error_bytes)
{
    struct packed *packed = xfa_alloc(sizeof *packed);
    struct xft_plan_header *result = NULL;
    *unplaced = 0;
    *error = '\0';
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct xfa_apply_step *step = &plan->steps[i];
        for (size_t k = 0; k < step->site_count && step->carry_out; k++)
            *unplaced += !pack_site(packed, step, (uint16_t)(i + 1), &step->sites[k]);
        if (step->carry_out)
            pack_readers(packed, step);
    }
    if (packed->full)
        snprintf(error, error_bytes,
                 "more than %d call sites, %d modules or %d kernels that read are named",
                 XFT_PLAN_SITES_MOST, XFT_PLAN_MODULES_MOST, XFT_PLAN_READERS_MOST);
    else
        result = whole(packed, bytes);
    free(packed);
    return result;
}
