/* Parts of paths. */
#ifndef XFA_PATH_H
#define XFA_PATH_H

#include <string.h>

/* The part after the last slash; "" for NULL. */
static inline const char *xfa_base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path ? path : "";
}

#endif
