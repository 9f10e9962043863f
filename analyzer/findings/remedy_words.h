/*
 * Remedies in other words than CUDA's runtime has. A framework has a file of rows, XFA_WORDS(kind,
 * to_device, to_host): what it offers instead (remedies.def has the meaning of the two sentences;
 * NULL: CUDA's of that direction, else the row's other one). A remedy without a row, as those of
 * the machine itself, is said in CUDA's words. The driver API has names alone
 * (remedies_driver.def).
 */
#ifndef XFA_REMEDY_WORDS_H
#define XFA_REMEDY_WORDS_H

#include "analyzer/findings/remedy.h"

/* Static; NULL: none of its own. */
const char *xfa_framework_words(enum xfa_dialect dialect, enum xfa_remedy_kind kind, bool to_host);

/* The text with names of the driver API in place of the runtime's; what is too long is cut off. */
void xfa_driver_words(const char *text, char words[XFA_REMEDY_CHARS]);

/* The driver's name of a name of the runtime, of that length; NULL: not known. */
const char *xfa_driver_name(const char *name, size_t length);

#endif
