#include "analyzer/report/format.h"

#include <string.h>

#include "analyzer/base/alloc.h"

const struct xfa_format *xfa_format_find(const char *name)
{
    static const struct xfa_format *const formats[] = {
#define XFA_FORMAT(name, help) &xfa_format_##name,
#include "analyzer/report/formats.def"
#undef XFA_FORMAT
    };
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    return NULL;
}

uint32_t *xfa_view_rows(const struct xfa_analysis *analysis, const struct xfa_view *view,
                        size_t *count)
{
    static xfa_row_order *const orders[] = {[XFA_SORT_LOST] = xfa_by_lost,
                                            [XFA_SORT_BYTES] = xfa_by_bytes,
                                            [XFA_SORT_COUNT] = xfa_by_count};
    struct xfa_analysis chosen = *analysis; /* with the figures that are shown */
    if (view->filter && view->filter->figures)
        chosen.rows = view->filter->figures;
    uint32_t *rows = xfa_rows_sorted(&chosen, orders[view->sort]);
    *count = 0;
    for (size_t i = 0; i < analysis->row_count; i++)
        if (!view->filter || view->filter->rows[rows[i]])
            rows[(*count)++] = rows[i];
    return rows;
}

const struct xfa_figures *xfa_view_figures(const struct xfa_analysis *analysis,
                                           const struct xfa_view *view, uint32_t row)
{
    bool chosen = view->filter && view->filter->figures;
    return chosen ? &view->filter->figures[row] : &analysis->rows[row];
}

size_t xfa_view_shown(const struct xfa_view *view, size_t count)
{
    return view->top && view->top < count ? view->top : count;
}

/* Longer paths lose their outer part: the names inside say more. */
void xfa_phase_text(const struct xfa_phases *phases, const struct xfa_phase *phase,
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

static void place_text(char *text, size_t bytes, unsigned memory, int gpu)
{
    if (gpu >= 0)
        snprintf(text, bytes, "GPU%d%s", gpu, memory == XFT_MEM_ARRAY ? " array" : "");
    else
        snprintf(text, bytes, "%s", xft_memory_word(memory));
}

char *xfa_path_text(const struct xfa_row_key *key, bool one)
{
    char src[32], dst[32];
    place_text(src, sizeof src, key->src_mem, key->src_gpu);
    place_text(dst, sizeof dst, key->dst_mem, key->dst_gpu);
    const char *direction = xft_direction_word(key->direction);
    if (one && key->direction == XFT_DIR_H2D && key->dst_mem == XFT_MEM_DEVICE)
        return xfa_print("%s %s", direction, src);
    if (one && key->direction == XFT_DIR_D2H && key->src_mem == XFT_MEM_DEVICE)
        return xfa_print("%s %s", direction, dst);
    if (key->direction == XFT_DIR_D2D && strcmp(src, dst) == 0)
        return xfa_print("%s %s", direction, one ? "device" : src);
    return xfa_print("%s %s>%s", direction, src, dst);
}

char *xfa_finding_site_path(const struct xfa_finding_site *site, const struct xfa_run *run)
{
    if (!site->row)
        return NULL;
    return run->gpu_count > 1 ? xfa_path_text(&site->row->key, false)
                              : xfa_text(xft_direction_word(site->row->key.direction));
}
