/*
 * Advice as data: what to change, in whose terms, for copies in which direction; and how what is
 * lost was reckoned. The words of both are in remedies.def, which is all that a new one needs.
 */
#ifndef XFA_REMEDY_H
#define XFA_REMEDY_H

#include <stdbool.h>

#include "analyzer/run/site.h"

enum xfa_remedy_kind {
#define XFA_REMEDY(kind, word, brief, to_device, to_host) XFA_REMEDY_##kind,
#include "analyzer/findings/remedies.def"
    XFA_REMEDY_KINDS
};

enum xfa_reckoning {
#define XFA_RECKONING(reckoning, text) XFA_RECKONED_##reckoning,
#include "analyzer/findings/remedies.def"
    XFA_RECKONINGS
};

struct xfa_remedy {
    enum xfa_remedy_kind kind;
    enum xfa_dialect dialect; /* in whose terms: what the call site is written with */
    bool to_host;             /* else to a device */
    int node;                 /* NUMA node where the memory should be; -1: it is not about nodes */
    int threads;              /* of the host that copy; 0: it is not about threads */
    int streams;              /* or buffers; 0: it is not about these */
    int buffers, buffer_kib;  /* of a ring, and their size; 0: it is not about one */
};

#define XFA_REMEDY_CHARS 1024

/* The sentence, written to text where it names a parameter, else static. */
const char *xfa_remedy_text(const struct xfa_remedy *remedy, char text[XFA_REMEDY_CHARS]);

/* The same in a few words, no sentence. */
const char *xfa_remedy_brief(const struct xfa_remedy *remedy, char text[XFA_REMEDY_CHARS]);

/* Has the dialect a sentence of its own for it? Else CUDA's is what there is. */
bool xfa_remedy_has_words(enum xfa_remedy_kind kind, enum xfa_dialect dialect);

/* Is it the same to do? Sites for which it is are one finding. */
bool xfa_remedy_equal(const struct xfa_remedy *a, const struct xfa_remedy *b);

/* Can both not be made, as of one transfer? remedies.def's XFA_EXCLUDES rows say so, either way. */
bool xfa_remedies_exclude(enum xfa_remedy_kind a, enum xfa_remedy_kind b);

/* The word in JSON: "pin", "batch", ... */
const char *xfa_remedy_word(enum xfa_remedy_kind kind);

/* probably: it rests on samples of what was moved. */
const char *xfa_reckoning_text(enum xfa_reckoning reckoning, bool probably);

#endif
