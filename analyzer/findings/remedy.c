#include "analyzer/findings/remedy.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/findings/remedy_words.h"

/* What a sentence may name, and its word. */
static const struct parameter {
    const char *name, *word;
    size_t place;
} parameters[XFA_REMEDY_NUMBERS] = {
#define PARAMETER(word)                                                                            \
    {                                                                                              \
        "{" #word "}", #word, offsetof(struct xfa_remedy, word)                                    \
    }
    PARAMETER(node),    PARAMETER(threads),    PARAMETER(streams),
    PARAMETER(buffers), PARAMETER(buffer_kib),
#undef PARAMETER
};

struct words {
    const char *word, *brief;
    const char *sentences[2]; /* to a device, to the host */
};

static const struct words remedies[] = {
#define XFA_REMEDY(kind, said, few, to_device, to_host)                                            \
    [XFA_REMEDY_##kind].word = said, [XFA_REMEDY_##kind].brief = few,                              \
    [XFA_REMEDY_##kind].sentences = {to_device, to_host},
#include "analyzer/findings/remedies.def"
};

#define PROBABLY "probably (samples were compared, not all bytes): "

static const char *const reckonings[][2] = {
#define XFA_RECKONING(reckoning, text) [XFA_RECKONED_##reckoning] = {text, PROBABLY text},
#include "analyzer/findings/remedies.def"
};

static const char *sentence_of(const struct xfa_remedy *remedy)
{
    const struct words *words = &remedies[remedy->kind];
    for (int to_host = remedy->to_host; to_host >= 0; to_host--) {
        const char *own = xfa_framework_words(remedy->dialect, remedy->kind, to_host);
        if (own)
            return own;
        if (words->sentences[to_host])
            return words->sentences[to_host];
    }
    return ""; /* remedies.def has no row without the first sentence */
}

/* The first parameter that the text names; NULL: none. */
static const struct parameter *first_of(const char *text, const char **place)
{
    const struct parameter *first = NULL;
    for (size_t i = 0; i < XFA_REMEDY_NUMBERS; i++) {
        const char *found = strstr(text, parameters[i].name);
        if (found && (!first || found < *place)) {
            first = &parameters[i];
            *place = found;
        }
    }
    return first;
}

static int number_of(const struct xfa_remedy *remedy, const struct parameter *parameter)
{
    int number;
    memcpy(&number, (const char *)remedy + parameter->place, sizeof number);
    return number;
}

static bool is_used(const struct xfa_remedy *remedy, const struct parameter *parameter)
{
    int number = number_of(remedy, parameter);
    if (parameter->place == offsetof(struct xfa_remedy, node))
        return number >= 0;
    if (parameter->place == offsetof(struct xfa_remedy, buffer_kib))
        return remedy->buffers > 0;
    return number > 0;
}

size_t xfa_remedy_numbers(const struct xfa_remedy *remedy,
                          struct xfa_remedy_number numbers[XFA_REMEDY_NUMBERS])
{
    size_t count = 0;
    for (size_t i = 0; i < XFA_REMEDY_NUMBERS; i++)
        if (is_used(remedy, &parameters[i]))
            numbers[count++] = (struct xfa_remedy_number){
                .word = parameters[i].word, .value = number_of(remedy, &parameters[i])};
    return count;
}

/* " threads" behind 1: the length of its singular; 0: the text does not go on so. */
static size_t singular(const char *rest)
{
    size_t word = *rest == ' ' ? 1 + strspn(rest + 1, "abcdefghijklmnopqrstuvwxyz") : 0;
    return word > 2 && rest[word - 1] == 's' ? word - 1 : 0;
}

/* With its numbers; written to text where there are any. */
static const char *filled_in(const struct xfa_remedy *remedy, const char *rest,
                             char text[XFA_REMEDY_CHARS])
{
    const char *place = NULL;
    const struct parameter *parameter = first_of(rest, &place);
    size_t length = 0;
    if (!parameter)
        return rest;
    for (; parameter && length < XFA_REMEDY_CHARS; parameter = first_of(rest, &place)) {
        length += (size_t)snprintf(text + length, XFA_REMEDY_CHARS - length, "%.*s%d",
                                   (int)(place - rest), rest, number_of(remedy, parameter));
        rest = place + strlen(parameter->name);
        size_t word = number_of(remedy, parameter) == 1 ? singular(rest) : 0;
        if (word > 0 && length < XFA_REMEDY_CHARS) {
            length +=
                (size_t)snprintf(text + length, XFA_REMEDY_CHARS - length, "%.*s", (int)word, rest);
            rest += word + 1;
        }
    }
    if (length < XFA_REMEDY_CHARS)
        snprintf(text + length, XFA_REMEDY_CHARS - length, "%s", rest);
    return text;
}

static const char *said(const struct xfa_remedy *remedy, const char *sentence,
                        char text[XFA_REMEDY_CHARS])
{
    const char *filled = filled_in(remedy, sentence, text);
    char driver[XFA_REMEDY_CHARS];
    if (!remedy->driver || remedy->dialect != XFA_DIALECT_CUDA)
        return filled;
    xfa_driver_words(filled, driver);
    return memcpy(text, driver, sizeof driver);
}

const char *xfa_remedy_text(const struct xfa_remedy *remedy, char text[XFA_REMEDY_CHARS])
{
    return said(remedy, sentence_of(remedy), text);
}

const char *xfa_remedy_brief(const struct xfa_remedy *remedy, char text[XFA_REMEDY_CHARS])
{
    return said(remedy, remedies[remedy->kind].brief, text);
}

bool xfa_remedy_equal(const struct xfa_remedy *a, const struct xfa_remedy *b)
{
    for (size_t i = 0; i < XFA_REMEDY_NUMBERS; i++)
        if (number_of(a, &parameters[i]) != number_of(b, &parameters[i]))
            return false;
    return a->kind == b->kind && sentence_of(a) == sentence_of(b);
}

typedef unsigned __int128 remedy_group; /* a bit for each remedy */
_Static_assert(XFA_REMEDY_KINDS <= 8 * sizeof(remedy_group), "a group has a bit for each");

static bool share_group(const remedy_group *groups, size_t count, enum xfa_remedy_kind a,
                        enum xfa_remedy_kind b)
{
    for (size_t i = 0; i < count; i++)
        if (groups[i] >> a & groups[i] >> b & 1)
            return true;
    return false;
}

bool xfa_remedies_exclude(enum xfa_remedy_kind a, enum xfa_remedy_kind b)
{
    static const remedy_group groups[] = {
#define XFA_ONE(kind) ((remedy_group)1 << XFA_REMEDY_##kind)
#define XFA_EXCLUSIVE(group) group,
#include "analyzer/findings/remedies.def"
#undef XFA_ONE
    };
    return share_group(groups, sizeof groups / sizeof *groups, a, b);
}

bool xfa_remedies_instead(enum xfa_remedy_kind a, enum xfa_remedy_kind b)
{
    static const remedy_group groups[] = {
#define XFA_ONE(kind) ((remedy_group)1 << XFA_REMEDY_##kind)
#define XFA_INSTEAD(group) group,
#include "analyzer/findings/remedies.def"
#undef XFA_ONE
    };
    return a != b && share_group(groups, sizeof groups / sizeof *groups, a, b);
}

const char *xfa_remedy_word(enum xfa_remedy_kind kind)
{
    return remedies[kind].word;
}

const char *xfa_reckoning_text(enum xfa_reckoning reckoning, bool probably)
{
    return reckonings[reckoning][probably];
}
