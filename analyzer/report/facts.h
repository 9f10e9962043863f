/* The run in a few words, and how wide words are, for all formats. Texts are the caller's to free.
 */
#ifndef XFA_FACTS_H
#define XFA_FACTS_H

#include "analyzer/analysis/analysis.h"

char *xfa_argument_text(const char *argument); /* quoted for a shell */
/* The command in at most `columns` columns: the middle of a longer one is left out. */
char *xfa_command_text(const struct xfa_run *run, size_t columns);
char *xfa_gpus_text(const struct xfa_run *run); /* "NVIDIA H200", "8 GPUs (NVIDIA H200)" */
char *xfa_host_text(const struct xfa_run *run); /* " on node1", " on 3 hosts", "" */
char *xfa_moved_text(const struct xfa_analysis *analysis); /* "H2D 4 MiB in 7, D2H 1 KiB in 2" */

/* The line of source of a call site, safe to print, without the blanks around it; NULL: the trace
 * does not have it, or it is empty. */
char *xfa_source_text(const struct xfa_site *site);

/* ---- how wide a text is on a terminal -------------------------------------------------------- */

/* The bytes of the character at text; *width: the columns in which libsmartcols shows it. */
size_t xfa_character(const char *text, size_t *width);

size_t xfa_columns(const char *text); /* the columns of a text */

/* A copy that is safe to print, in at most `columns` columns: the middle of a wider one is left
 * out, of a call site's text not the place at its end. */
char *xfa_shortened(const char *text, size_t columns);

#endif
