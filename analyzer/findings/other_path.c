#include "analyzer/findings/other_path.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"

struct xfw_change *xfa_other_path_change(const struct xfa_analysis *analysis,
                                         const struct xfa_finding *finding,
                                         xfa_other_path_fn *choose, const void *self,
                                         const struct xfw_times_terms *terms)
{
    struct xfw_new_path *paths = NULL;
    size_t count = 0, capacity = 0;
    for (size_t i = 0; i < finding->site_count; i++) {
        const struct xfa_class *class = NULL;
        while ((class = xfa_row_class(&analysis->classes, finding->sites[i].row, class))) {
            struct xfw_new_path path = {.class = class->number};
            if (!choose(analysis, class, self, &path))
                continue;
            paths = xfa_room(paths, &capacity, count + 1, sizeof *paths);
            paths[count++] = path;
        }
    }
    struct xfw_change *change = count ? xfw_change_times(analysis, paths, count, terms) : NULL;
    free(paths);
    return change;
}
