/* A trace and a profile whose every text wants to get at the reader's terminal. */
#ifndef HOSTILE_H
#define HOSTILE_H

#include "tests/analyzer/traces/scenario.h"

/* An escape, a line of its own, a C1 control; marks of direction, an isolate, a space of no width,
 * separators, a tag, a soft hyphen; bytes that are no UTF-8. A profile with controls is refused. */
#define CONTROLS "\x1b[2J\nFAKE\r\t\x7f\xc2\x9b\x33\x31m"
#define INVISIBLE                                                                                  \
    "\xe2\x80\xae\xe2\x80\xad\xe2\x81\xa6\xe2\x81\xa9\xe2\x80\x8b\xe2\x80\xa8\xe2\x80\xa9"         \
    "\xef\xbb\xbf\xef\xbf\xb9\xf3\xa0\x81\x81\xc2\xad\xe2\x81\xa0"
#define HOSTILE CONTROLS INVISIBLE
#define NO_UTF8 "\xff\xc0\xaf"

void scenario_hostile(struct trace_builder *b);

/* Texts that would end a script's block in a page, begin a comment or run. */
#define MARKUP                                                                                     \
    "</script><script>alert(1)</script><!--<script>-->]]>\"'&lt;&quot;<img src=x "                 \
    "onerror=alert(2)>"                                                                            \
    "\xe2\x80\xa8\xe2\x80\xa9\x01\x1b[2J"
void scenario_markup(struct trace_builder *b);

/* Puts it into all texts of the profile. */
void hostile_profile(struct xfp_profile *profile);

#endif
