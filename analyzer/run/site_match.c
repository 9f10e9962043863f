#include "analyzer/run/site_match.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/path.h"

bool xfa_is_glob(const char *pattern)
{
    return strpbrk(pattern, "*?[") != NULL;
}

static bool matches(const char *pattern, const char *text)
{
    if (!text)
        return false;
    return xfa_is_glob(pattern) ? fnmatch(pattern, text, 0) == 0 : strstr(text, pattern) != NULL;
}

bool xfa_site_matches(const char *pattern, const struct xfa_site *site)
{
    if (matches(pattern, site->text))
        return true;
    const struct xfa_frame *frame = site->chosen >= 0 ? &site->frames[site->chosen] : NULL;
    if (!frame || !frame->file)
        return frame && matches(pattern, frame->function);
    char *line = xfa_print("%s:%u", frame->file, frame->line);
    bool found = matches(pattern, frame->function) || matches(pattern, line) ||
                 matches(pattern, frame->file) || matches(pattern, xfa_base_name(line)) ||
                 matches(pattern, xfa_base_name(frame->file));
    free(line);
    return found;
}
