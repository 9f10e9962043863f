/*
 * Texts of a run as an export writes them, made once each: sites and functions by their number,
 * names of kernels and ranges by their id in the process at hand.
 *
 * Shown: fit to be looked at (xfc_shown()), valid UTF-8. JSON: a literal with its quotes, the text
 * as it was (base/json.h).
 */
#ifndef XFA_WORDS_H
#define XFA_WORDS_H

#include "analyzer/run/run.h"

enum xfa_words_form { XFA_WORDS_SHOWN, XFA_WORDS_JSON };

enum xfa_words_list {
    XFA_WORDS_SITE,
    XFA_WORDS_SITE_FUNCTION, /* of its chosen frame, as is the next */
    XFA_WORDS_SITE_FILE,
    XFA_WORDS_FUNCTION,
    XFA_WORDS_HOST,
    XFA_WORDS_PROCESS, /* its file */
    XFA_WORDS_LISTS
};

#define XFA_WORDS_NAMES (32u << 20) /* bytes of names that are kept; the rest is made each time */

struct xfa_words {
    enum xfa_words_form form;
    struct xfa_words_texts {
        char **texts;
        size_t count, capacity;
    } lists[XFA_WORDS_LISTS];
    struct xfa_table names; /* by id */
    size_t name_bytes;
    char *last[2]; /* of those that are not kept, the last one first */
};

void xfa_words_init(struct xfa_words *words, enum xfa_words_form form);
void xfa_words_free(struct xfa_words *words);
void xfa_words_process(struct xfa_words *words); /* another process's names come */

/* NULL = not known. All last until the next but one is asked for: a range has a name and a domain.
 */
const char *xfa_words_site(struct xfa_words *words, const struct xfa_site *site,
                           enum xfa_words_list list);
const char *xfa_words_function(struct xfa_words *words, const struct xfa_function *function);
const char *xfa_words_host(struct xfa_words *words, const struct xfa_process *process);
const char *xfa_words_file(struct xfa_words *words, const struct xfa_process *process);
/* Of a kernel (demangled), a range or a domain. */
const char *xfa_words_name(struct xfa_words *words, const struct xfa_process *process, uint64_t id);

/* Any text in that form, for the caller to free; NULL: NULL. */
char *xfa_words_made(enum xfa_words_form form, const char *text);

/* What an event that comes as one (observer.h) is called by: the kind's own word, but of a TRANSFER
 * "no-transfer", since those that move bytes come as transfers. NULL: of a kind that is not known.
 */
const char *xfa_words_event(unsigned kind);

#endif
