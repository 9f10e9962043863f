#include "preload/apply/calls/launch.h"

#include <stddef.h>

#include "preload/apply/calls/move.h"

typedef int launch_function(const void *, unsigned, unsigned, unsigned, unsigned, unsigned,
                            unsigned, unsigned, xcu_stream, void **, void **);
typedef int launch_config_function(const struct xcu_launch_config *, const void *, void **,
                                   void **);

static xcu_stream given(const struct xfs_launch *l)
{
    return l->config ? l->config->stream : l->given;
}

xcu_stream xfs_launch_stream(const struct xfs_launch *l)
{
    return xfs_move_stream(given(l), l->per_thread);
}

bool xfs_launch_is_plain(const struct xfs_launch *l)
{
    return l->values && l->extra == NULL && (l->config == NULL || l->config->attribute_count == 0);
}

int xfs_launch_in(const struct xfs_launch *l, xcu_stream stream)
{
    if (l->config) {
        struct xcu_launch_config config = *l->config;
        config.stream = stream;
        return ((launch_config_function *)l->real)(&config, l->function, l->values, l->extra);
    }
    return ((launch_function *)l->real)(l->function, l->grid[0], l->grid[1], l->grid[2],
                                        l->block[0], l->block[1], l->block[2], l->shared, stream,
                                        l->values, l->extra);
}

int xfs_launch_as_asked(const struct xfs_launch *l)
{
    return l->config
               ? ((launch_config_function *)l->real)(l->config, l->function, l->values, l->extra)
               : xfs_launch_in(l, l->given);
}
