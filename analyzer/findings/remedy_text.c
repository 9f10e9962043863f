#include "analyzer/findings/remedy.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define NODE "{node}"

struct words {
    const char *word;
    const char *sentences[XFA_DIALECTS][2]; /* to a device, to the host */
};

static const struct words remedies[] = {
#define XFA_REMEDY(kind, word, to_device, to_host, torch_to_device, torch_to_host)                 \
    [XFA_REMEDY_##kind] = {word, {{to_device, to_host}, {torch_to_device, torch_to_host}}},
#define XFA_RECKONING(reckoning, text)
#define XFA_EXCLUDES(x, y)
#include "analyzer/findings/remedies.def"
#undef XFA_REMEDY
#undef XFA_RECKONING
#undef XFA_EXCLUDES
};

#define PROBABLY "probably (samples were compared, not all bytes): "

static const char *const reckonings[][2] = {
#define XFA_REMEDY(kind, word, to_device, to_host, torch_to_device, torch_to_host)
#define XFA_RECKONING(reckoning, text) [XFA_RECKONED_##reckoning] = {text, PROBABLY text},
#define XFA_EXCLUDES(x, y)
#include "analyzer/findings/remedies.def"
#undef XFA_REMEDY
#undef XFA_RECKONING
#undef XFA_EXCLUDES
};

static const char *sentence_of(const struct xfa_remedy *remedy)
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

const char *xfa_remedy_text(const struct xfa_remedy *remedy, char text[XFA_REMEDY_CHARS])
{
    const char *rest = sentence_of(remedy), *parameter = strstr(rest, NODE);
    size_t length = 0;
    if (!parameter)
        return rest;
    for (; parameter && length < XFA_REMEDY_CHARS; parameter = strstr(rest, NODE)) {
        length += (size_t)snprintf(text + length, XFA_REMEDY_CHARS - length, "%.*s%d",
                                   (int)(parameter - rest), rest, remedy->node);
        rest = parameter + strlen(NODE);
    }
    if (length < XFA_REMEDY_CHARS)
        snprintf(text + length, XFA_REMEDY_CHARS - length, "%s", rest);
    return text;
}

bool xfa_remedy_equal(const struct xfa_remedy *a, const struct xfa_remedy *b)
{
    return a->kind == b->kind && a->node == b->node && sentence_of(a) == sentence_of(b);
}

bool xfa_remedies_exclude(enum xfa_remedy_kind a, enum xfa_remedy_kind b)
{
    static const enum xfa_remedy_kind pairs[][2] = {
#define XFA_REMEDY(kind, word, to_device, to_host, torch_to_device, torch_to_host)
#define XFA_RECKONING(reckoning, text)
#define XFA_EXCLUDES(x, y) {XFA_REMEDY_##x, XFA_REMEDY_##y},
#include "analyzer/findings/remedies.def"
#undef XFA_REMEDY
#undef XFA_RECKONING
#undef XFA_EXCLUDES
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if ((pairs[i][0] == a && pairs[i][1] == b) || (pairs[i][0] == b && pairs[i][1] == a))
            return true;
    return false;
}

const char *xfa_remedy_word(enum xfa_remedy_kind kind)
{
    return remedies[kind].word;
}

const char *xfa_reckoning_text(enum xfa_reckoning reckoning, bool probably)
{
    return reckonings[reckoning][probably];
}
