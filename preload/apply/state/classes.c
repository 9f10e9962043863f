#include "preload/apply/state/classes.h"

#include <stddef.h>
#include <string.h>

static bool is_on[XFS_CLASS_COUNT];

static bool has_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, ",");
        if (n == length && strncmp(at, word, n) == 0)
            return true;
        at += n + (at[n] == ',');
    }
    return false;
}

/* What is ordered with them was not tried on real GPUs yet. */
static bool is_untried(unsigned class)
{
    return class == XFS_CLASS_PIPELINE || class == XFS_CLASS_RELAY;
}

bool xfs_classes_choose(const char *words)
{
    bool any = false;
    for (unsigned i = 0; i < XFS_CLASS_COUNT; i++) {
        is_on[i] = (strcmp(words, "on") == 0 && !is_untried(i)) || strcmp(words, "all") == 0 ||
                   has_word(words, xfs_class_word(i));
        any |= is_on[i];
    }
    return any;
}

bool xfs_class_on(enum xfs_apply_class class)
{
    return is_on[class];
}
