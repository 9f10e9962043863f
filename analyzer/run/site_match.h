/* Call sites by a pattern that a user gave (--site, --assume). */
#ifndef XFA_SITE_MATCH_H
#define XFA_SITE_MATCH_H

#include <stdbool.h>

#include "analyzer/run/site.h"

/* Is the pattern a glob (*, ?, [])? Without, it is looked for anywhere in a text. */
bool xfa_is_glob(const char *pattern);

/* Matches the site's text, the function, or file and line, with or without the directories. */
bool xfa_site_matches(const char *pattern, const struct xfa_site *site);

#endif
