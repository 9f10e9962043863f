/*
 * Advice as data: what to change, in the terms of CUDA or of a framework, for copies in which
 * direction; and how the loss was computed (reckoning). remedies.def has the texts of both,
 * remedy_words.h those of frameworks.
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
    enum xfa_dialect dialect; /* in whose terms: of CUDA, or of the framework at the call site */
    bool driver;              /* CUDA's terms are those of the driver API */
    bool to_host;             /* else to a device */
    int node;                 /* NUMA node where the memory should be; -1 = not used */
    int threads;              /* host threads that copy; 0 = not used */
    int streams;              /* streams, or buffers; 0 = not used */
    int buffers, buffer_kib;  /* buffers of a ring, and their size in KiB; 0 = not used */
};

/* Those that it uses, with their words in JSON, in the order above. Returns how many. */
#define XFA_REMEDY_NUMBERS 5
struct xfa_remedy_number {
    const char *word;
    int value;
};
size_t xfa_remedy_numbers(const struct xfa_remedy *remedy,
                          struct xfa_remedy_number numbers[XFA_REMEDY_NUMBERS]);

#define XFA_REMEDY_CHARS 1024

/* The sentence, written to text where it names a parameter, else static. */
const char *xfa_remedy_text(const struct xfa_remedy *remedy, char text[XFA_REMEDY_CHARS]);

/* The same in a few words, no sentence. */
const char *xfa_remedy_brief(const struct xfa_remedy *remedy, char text[XFA_REMEDY_CHARS]);

/* The same text and numbers. Sites with equal remedies are one finding. */
bool xfa_remedy_equal(const struct xfa_remedy *a, const struct xfa_remedy *b);

/* Of one transfer only one of the two can be made: they share a group (XFA_EXCLUSIVE) of
 * remedies.def. */
bool xfa_remedies_exclude(enum xfa_remedy_kind a, enum xfa_remedy_kind b);

/* The same where all transfers of the one are the other's (XFA_INSTEAD). */
bool xfa_remedies_instead(enum xfa_remedy_kind a, enum xfa_remedy_kind b);

/* The word in JSON: "pin", "batch", ... */
const char *xfa_remedy_word(enum xfa_remedy_kind kind);

/* probably: samples of the bytes were compared, not all. */
const char *xfa_reckoning_text(enum xfa_reckoning reckoning, bool probably);

#endif
