/* The kinds of finding, by number: kinds.def. */
#include "analyzer/findings/findings_private.h"

static const struct kind {
    const struct xfa_finding_kind *kind;
    const char *word, *title;
} kinds[] = {
#define XFA_FINDING(id, name, word, title) [XFA_FINDING_##id] = {&xfa_kind_##name, word, title},
#include "analyzer/findings/kinds.def"
#undef XFA_FINDING
};

const char *xfa_finding_word(enum xfa_finding_id id)
{
    return kinds[id].word;
}

const struct xfa_finding_kind *xfa_finding_kind_of(enum xfa_finding_id id)
{
    return kinds[id].kind;
}

const char *xfa_finding_title(enum xfa_finding_id id)
{
    return kinds[id].title;
}
