/*
 * The page that reports are written into, as the build made it of page/ (CMakeLists.txt): with
 * @HEADLINE@, @REPORT@ and @TIMELINE@, once each, where the data belong. Private to html/.
 */
#ifndef XFA_PAGE_BYTES_H
#define XFA_PAGE_BYTES_H

#include <stddef.h>

extern const unsigned char xfa_page_bytes[];
extern const size_t xfa_page_length; /* 0: this build has no page */

#endif
