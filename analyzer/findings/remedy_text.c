#include "analyzer/findings/remedy.h"

#include <stddef.h>

struct words {
    const char *word;
    const char *sentences[XFA_DIALECTS][2]; /* to a device, to the host */
};

static const struct words remedies[] = {
#define XFA_REMEDY(kind, word, to_device, to_host, torch_to_device, torch_to_host)                 \
    [XFA_REMEDY_##kind] = {word, {{to_device, to_host}, {torch_to_device, torch_to_host}}},
#define XFA_RECKONING(reckoning, text)
#include "analyzer/findings/remedies.def"
#undef XFA_REMEDY
#undef XFA_RECKONING
};

#define PROBABLY "probably (samples were compared, not all bytes): "

static const char *const reckonings[][2] = {
#define XFA_REMEDY(kind, word, to_device, to_host, torch_to_device, torch_to_host)
#define XFA_RECKONING(reckoning, text) [XFA_RECKONED_##reckoning] = {text, PROBABLY text},
#include "analyzer/findings/remedies.def"
#undef XFA_REMEDY
#undef XFA_RECKONING
};

const char *xfa_remedy_text(const struct xfa_remedy *remedy)
{
    const struct words *words = &remedies[remedy->kind];
    for (int to_host = remedy->to_host; to_host >= 0; to_host--) {
        const char *own = words->sentences[remedy->dialect][to_host];
        if (own)
            return own;
        if (words->sentences[XFA_DIALECT_CUDA][to_host])
            return words->sentences[XFA_DIALECT_CUDA][to_host];
    }
    return ""; /* remedies.def has no row without the first sentence */
}

bool xfa_remedy_equal(const struct xfa_remedy *a, const struct xfa_remedy *b)
{
    return a->kind == b->kind && xfa_remedy_text(a) == xfa_remedy_text(b);
}

const char *xfa_remedy_word(enum xfa_remedy_kind kind)
{
    return remedies[kind].word;
}

const char *xfa_reckoning_text(enum xfa_reckoning reckoning, bool probably)
{
    return reckonings[reckoning][probably];
}
