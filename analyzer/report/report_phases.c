#include "analyzer/report/report_phases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "analyzer/base/alloc.h"

void xfa_report_phases_init(struct xfa_report_phases *phases)
{
    *phases = (struct xfa_report_phases){0};
    xfa_table_init(&phases->all, sizeof(uint64_t), sizeof(struct xfa_phase));
}

void xfa_report_phases_free(struct xfa_report_phases *phases)
{
    for (size_t i = 0; i < phases->all.count; i++) {
        struct xfa_phase *phase = xfa_table_at(&phases->all, i);
        free(phase->domain);
        free(phase->name);
    }
    xfa_table_free(&phases->all);
    free(phases->order);
}

/* ---- merging ---------------------------------------------------------------------------- */

static char *text_of(const struct xfa_trace *trace, uint64_t id)
{
    const struct xfa_text *text = xfa_trace_text(trace, id);
    if (!text || text->bytes == 0)
        return NULL;
    return xfa_kept(text->text, text->bytes < XFA_PHASE_NAME ? text->bytes : XFA_PHASE_NAME);
}

static uint64_t hash_text(const char *text, uint64_t seed)
{
    return text ? XXH3_64bits_withSeed(text, strlen(text), seed) : seed * 0x9e3779b97f4a7c15u + 1;
}

static struct xfa_phase *phase_at(const struct xfa_report_phases *phases, size_t i)
{
    return xfa_table_at(&phases->all, i);
}

static uint32_t index_of(const struct xfa_report_phases *phases, const struct xfa_phase *phase)
{
    return (uint32_t)(phase - phase_at(phases, 0));
}

/* Index of the phase; its parent's when there is no room for more. */
static uint32_t find(struct xfa_report_phases *phases, uint32_t parent, bool process, char *domain,
                     char *name)
{
    uint64_t identity = phase_at(phases, parent)->identity + process + 1;
    identity = hash_text(name, hash_text(domain, identity));
    struct xfa_phase *phase = xfa_table_get(&phases->all, &identity);
    bool fresh = !phase && phases->all.count < XFA_MAX_PHASES;
    if (fresh) {
        phase = xfa_table_put(&phases->all, &identity);
        phase->parent = parent;
        phase->process = process;
        phase->domain = domain;
        phase->name = name;
    } else {
        free(domain);
        free(name);
    }
    phases->beyond += phase == NULL;
    return phase ? index_of(phases, phase) : parent;
}

void xfa_report_phases_add(struct xfa_report_phases *phases, const struct xfa_trace *trace,
                           const struct xfa_phases *of_process)
{
    const struct xfa_table *paths = &of_process->paths;
    uint64_t outside = 0;
    if (!of_process->any)
        return;
    xfa_table_put(&phases->all, &outside);
    uint32_t *place = xfa_alloc(paths->count * sizeof *place);
    for (size_t i = 0; i < paths->count; i++) { /* outer ones come before inner ones */
        const struct xfa_phase_path *path = xfa_table_at(paths, i);
        if (i > 0)
            place[i] = find(phases, place[path->key.parent], path->key.process != 0,
                            text_of(trace, path->key.domain), text_of(trace, path->key.name));
        xfa_phase_figures_merge(&phase_at(phases, place[i])->figures, &path->figures);
    }
    free(place);
    phases->stray_ends += of_process->stray_ends;
    phases->beyond += of_process->beyond;
}

/* ---- order ------------------------------------------------------------------------------ */

static int more(double a, double b)
{
    return (a < b) - (a > b);
}

static double bytes_of(const struct xfa_phase *phase)
{
    double bytes = 0;
    for (size_t d = 0; d < XFT_DIRECTION_COUNT; d++)
        bytes += (double)phase->figures.by_direction[d].bytes;
    return bytes;
}

static int by_loss(const void *a, const void *b)
{
    const struct xfa_phase *x = *(struct xfa_phase *const *)a, *y = *(struct xfa_phase *const *)b;
    int order = more(x->figures.lost_ns, y->figures.lost_ns);
    order = order ? order : more(x->figures.transfer_ns, y->figures.transfer_ns);
    order = order ? order : more(bytes_of(x), bytes_of(y));
    order = order ? order : more(x->figures.ns, y->figures.ns);
    return order ? order : (x->identity > y->identity) - (x->identity < y->identity);
}

void xfa_report_phases_finish(struct xfa_report_phases *phases)
{
    phases->order = xfa_alloc((phases->all.count + 1) * sizeof *phases->order);
    for (size_t i = 0; i < phases->all.count; i++)
        phases->order[i] = phase_at(phases, i);
    if (phases->all.count)
        qsort(phases->order, phases->all.count, sizeof *phases->order, by_loss);
}

/* ---- texts ------------------------------------------------------------------------------ */

size_t xfa_phase_path(const struct xfa_report_phases *phases, const struct xfa_phase *phase,
                      const struct xfa_phase *path[XFA_MAX_NESTING])
{
    size_t depth = 0;
    for (uint32_t i = index_of(phases, phase); i != 0 && depth < XFA_MAX_NESTING;
         i = phase_at(phases, i)->parent)
        path[depth++] = phase_at(phases, i);
    for (size_t i = 0; i < depth / 2; i++) {
        const struct xfa_phase *outer = path[depth - 1 - i];
        path[depth - 1 - i] = path[i];
        path[i] = outer;
    }
    return depth;
}

/* Longer paths lose their outer part: the names inside say more. */
void xfa_phase_text(const struct xfa_report_phases *phases, const struct xfa_phase *phase,
                    char text[XFA_PHASE_TEXT_CHARS])
{
    const struct xfa_phase *path[XFA_MAX_NESTING];
    size_t depth = xfa_phase_path(phases, phase, path), first = depth, length = 0;
    snprintf(text, XFA_PHASE_TEXT_CHARS, "%s", depth ? "" : "(outside of ranges)");
    while (first > 0 && length + XFA_PHASE_NAME * 2 / 3 < XFA_PHASE_TEXT_CHARS) {
        const struct xfa_phase *one = path[--first];
        length += strlen(one->name ? one->name : "(no name)") +
                  (one->domain ? strlen(one->domain) + 2 : 1);
    }
    length = first > 0 ? (size_t)snprintf(text, XFA_PHASE_TEXT_CHARS, ".../") : 0;
    for (size_t i = first; i < depth && length < XFA_PHASE_TEXT_CHARS; i++)
        length +=
            (size_t)snprintf(text + length, XFA_PHASE_TEXT_CHARS - length, "%s%s%s%s",
                             path[i]->domain ? path[i]->domain : "", path[i]->domain ? ":" : "",
                             path[i]->name ? path[i]->name : "(no name)", i + 1 < depth ? "/" : "");
}
