/* How wide a text is on a terminal. */
#ifndef XFA_REPORT_COLUMNS_H
#define XFA_REPORT_COLUMNS_H

#include <stddef.h>

/* The bytes of the character at text, and how wide libsmartcols shows it. */
size_t xfa_character(const char *text, size_t *width);

size_t xfa_columns(const char *text); /* of all of it */

/* Cleaned, and with its middle left out where it is wider: of a call site's text the place at the
 * end stays. The caller frees it. */
char *xfa_shortened(const char *text, size_t columns);

#endif
