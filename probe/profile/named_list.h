/*
 * Lists of items with a name, in the parts of a profile: adding to one, and freeing one. Private to
 * probe/profile/.
 */
#ifndef XFP_NAMED_LIST_H
#define XFP_NAMED_LIST_H

#include "common/grow.h"

/*
 * Defines int add(owner *, item *): takes over what the item points to; one of the same name is
 * replaced; 0, or -1 (out of memory: the item is freed). And static void free_all_##kind(owner *),
 * for the members `list` and `count` of the owner, with free_##kind() of an item.
 */
#define XFP_NAMED_LIST(add, owner, item_type, kind, list, count)                                   \
    int add(owner *in, item_type *item)                                                            \
    {                                                                                              \
        for (size_t i = 0; i < in->count; i++)                                                     \
            if (!strcmp(in->list[i].name, item->name)) {                                           \
                free_##kind(&in->list[i]);                                                         \
                in->list[i] = *item;                                                               \
                return 0;                                                                          \
            }                                                                                      \
        if (!xfc_resize(&in->list, in->count + 1, sizeof(*item))) {                                \
            free_##kind(item);                                                                     \
            return -1;                                                                             \
        }                                                                                          \
        in->list[in->count++] = *item;                                                             \
        return 0;                                                                                  \
    }                                                                                              \
                                                                                                   \
    static void free_all_##kind(owner *in)                                                         \
    {                                                                                              \
        for (size_t i = 0; i < in->count; i++)                                                     \
            free_##kind(&in->list[i]);                                                             \
        free(in->list);                                                                            \
    }

#endif
