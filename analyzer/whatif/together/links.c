#include "analyzer/whatif/together/links.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"

struct xfw_links *xfw_links_new(void)
{
    struct xfw_links *links = xfa_alloc(sizeof *links);
    xfa_table_init(&links->all, sizeof(struct xfw_link_key), sizeof(struct xfw_link));
    xfa_table_init(&links->kernels, sizeof(struct xfw_kernel_key), sizeof(struct xfw_kernel));
    return links;
}

void xfw_links_free(struct xfw_links *links)
{
    if (!links)
        return;
    xfa_table_free(&links->all);
    xfa_table_free(&links->kernels);
    free(links->parts);
    free(links->groups);
    free(links);
}

uint32_t xfw_links_new_group(struct xfw_links *links)
{
    links->groups =
        xfa_room(links->groups, &links->capacity, links->count + 1, sizeof *links->groups);
    links->groups[links->count] = (struct xfw_link_group){0, 0};
    return (uint32_t)links->count++;
}

const struct xfw_link *xfw_link_of(const struct xfw_links *links, uint32_t process,
                                   uint64_t began_ns, unsigned side)
{
    struct xfw_link_key key = {began_ns, process, side};
    const struct xfw_link *link = NULL;
    if (side != XFW_ANY_SIDE)
        return xfa_table_get(&links->all, &key);
    for (key.side = XFA_SENDS; key.side <= XFA_TAKES_PART && !link; key.side++)
        link = xfa_table_get(&links->all, &key);
    return link;
}
