/*
 * The classes (classes.def) as numbers, and which of them are on.
 */
#ifndef XFS_APPLY_CLASSES_H
#define XFS_APPLY_CLASSES_H

#include <stdbool.h>

enum xfs_apply_class {
#define X(id, word, what) XFS_CLASS_##id,
#include "preload/apply/state/classes.def"
#undef X
    XFS_CLASS_COUNT
};

/* The word of a class; NULL beyond the last. */
static inline const char *xfs_class_word(unsigned class)
{
    static const char *const words[] = {
#define X(id, word, what) word,
#include "preload/apply/state/classes.def"
#undef X
    };
    return class < XFS_CLASS_COUNT ? words[class] : (const char *)0;
}

/* Turns on the classes of XFERSCOPE_APPLY: `on` has all of them, else the words between commas.
 * False: none. Once, before other threads. */
bool xfs_classes_choose(const char *words);

bool xfs_class_on(enum xfs_apply_class class);

#endif
