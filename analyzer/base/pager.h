/*
 * Other programs that show what a command has written: a pager on the terminal, as git uses one,
 * and the browser.
 */
#ifndef XFA_PAGER_H
#define XFA_PAGER_H

#include <stdbool.h>
#include <stddef.h>

/* The pager for this terminal's output: $PAGER, else "less -FRX"; NULL: none is wanted ($PAGER is
 * empty or "cat"). */
const char *xfa_pager(void);

/* Shows the text through the pager, with LESS=FRX unless LESS is set, and waits for its end. A
 * pager that ends before it has read all is no error. False: it cannot be started, and nothing was
 * shown. */
bool xfa_page_text(const char *pager, const char *text, size_t length);

/* Opens the file with xdg-open, and waits for that to end. False: it cannot be started, or failed.
 */
bool xfa_open_file(const char *path);

#endif
