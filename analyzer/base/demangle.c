#include "analyzer/base/demangle.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/table.h"

#define LONGEST 1024    /* of names: the demangler calls itself as deep */
#define MOST_TEXT 65536 /* of what they become */
#define OPTIONS (DMGL_PARAMS | DMGL_TYPES)
#define MOST_PARTS 20000 /* of what they are made of, with packs of arguments */

/* A name refers back to its parts (S_, S0_, T_ ...), each of which may refer back, so that a few
 * bytes may stand for more text than fits the memory. The demangler hands it over piece by piece:
 * when it becomes too much the work is dropped, which holds no memory but the stack's. */
struct text {
    char *chars;
    size_t bytes;
    jmp_buf enough;
};

static void take(const char *piece, size_t bytes, void *opaque)
{
    struct text *text = opaque;
    if (text->bytes + bytes > MOST_TEXT)
        longjmp(text->enough, 1);
    memcpy(text->chars + text->bytes, piece, bytes);
    text->bytes += bytes;
}

/* ---- packs ----------------------------------------------------------------------------------- */

struct part {
    const struct demangle_component *of; /* key */
    size_t parts; /* within it, wherever it is referred to; 0: being counted */
};

static size_t parts_of(struct xfa_table *known, const struct demangle_component *of);

static size_t both(struct xfa_table *known, const struct demangle_component *left,
                   const struct demangle_component *right)
{
    size_t parts = 1 + parts_of(known, left);
    return parts < MOST_PARTS ? parts + parts_of(known, right) : parts;
}

/* Of a kind that is not here nothing is known: it counts as too much. */
static size_t count_parts(struct xfa_table *known, const struct demangle_component *of)
{
    switch (of->type) {
    case DEMANGLE_COMPONENT_NAME:
    case DEMANGLE_COMPONENT_TEMPLATE_PARAM:
    case DEMANGLE_COMPONENT_FUNCTION_PARAM:
    case DEMANGLE_COMPONENT_SUB_STD:
    case DEMANGLE_COMPONENT_BUILTIN_TYPE:
    case DEMANGLE_COMPONENT_OPERATOR:
    case DEMANGLE_COMPONENT_CHARACTER:
    case DEMANGLE_COMPONENT_NUMBER:
    case DEMANGLE_COMPONENT_UNNAMED_TYPE:
        return 1;
    case DEMANGLE_COMPONENT_EXTENDED_OPERATOR:
        return both(known, of->u.s_extended_operator.name, NULL);
    case DEMANGLE_COMPONENT_CTOR:
        return both(known, of->u.s_ctor.name, NULL);
    case DEMANGLE_COMPONENT_DTOR:
        return both(known, of->u.s_dtor.name, NULL);
    case DEMANGLE_COMPONENT_LAMBDA:
    case DEMANGLE_COMPONENT_DEFAULT_ARG:
        return both(known, of->u.s_unary_num.sub, NULL);
    case DEMANGLE_COMPONENT_QUAL_NAME ... DEMANGLE_COMPONENT_TEMPLATE:
    case DEMANGLE_COMPONENT_RESTRICT ... DEMANGLE_COMPONENT_IMAGINARY:
    case DEMANGLE_COMPONENT_VENDOR_TYPE ... DEMANGLE_COMPONENT_PTRMEM_TYPE:
    case DEMANGLE_COMPONENT_VECTOR_TYPE ... DEMANGLE_COMPONENT_INITIALIZER_LIST:
    case DEMANGLE_COMPONENT_CAST ... DEMANGLE_COMPONENT_LITERAL_NEG:
    case DEMANGLE_COMPONENT_DECLTYPE:
    case DEMANGLE_COMPONENT_PACK_EXPANSION:
    case DEMANGLE_COMPONENT_TAGGED_NAME:
    case DEMANGLE_COMPONENT_NOEXCEPT:
        return both(known, of->u.s_binary.left, of->u.s_binary.right);
    default:
        return MOST_PARTS;
    }
}

static size_t parts_of(struct xfa_table *known, const struct demangle_component *of)
{
    if (!of)
        return 0;
    const struct part *part = xfa_table_get(known, &of);
    if (part)
        return part->parts ? part->parts : MOST_PARTS;
    xfa_table_put(known, &of);
    size_t parts = count_parts(known, of);
    ((struct part *)xfa_table_get(known, &of))->parts = parts;
    return parts;
}

/* Expanding a pack (Dp, sp, sZ) looks through all that it refers to, without a word of text. */
static bool harmless(const char *name)
{
    if (strlen(name) > LONGEST)
        return false;
    if (!strstr(name, "Dp") && !strstr(name, "sp") && !strstr(name, "sZ"))
        return true;
    void *memory = NULL;
    struct xfa_table known;
    const struct demangle_component *tree = cplus_demangle_v3_components(name, OPTIONS, &memory);
    xfa_table_init(&known, sizeof tree, sizeof(struct part));
    size_t parts = parts_of(&known, tree);
    xfa_table_free(&known);
    free(memory);
    return parts < MOST_PARTS;
}

/* ---- the text -------------------------------------------------------------------------------- */

enum outcome { NO_NAME, WHOLE, TOO_MUCH };

static enum outcome demangle(const char *name, struct text *text)
{
    if (setjmp(text->enough) != 0)
        return TOO_MUCH;
    return cplus_demangle_v3_callback(name, OPTIONS, take, text) == 1 ? WHOLE : NO_NAME;
}

static bool is_operator(const char *chars, size_t end)
{
    static const char word[] = "operator";
    return end >= sizeof word - 1 &&
           memcmp(chars + end - (sizeof word - 1), word, sizeof word - 1) == 0;
}

/* How much of the text is before the arguments in which it ends; 0: they are not found. */
static size_t before_arguments(const struct text *text)
{
    size_t depth = 0, begun = 0;
    for (size_t i = 0; i < text->bytes; i++) {
        char c = text->chars[i];
        if ((c == '<' || c == '>') &&
            (is_operator(text->chars, i) || (i && text->chars[i - 1] == '-')))
            return 0;
        if ((c == '<' || c == '(') && depth++ == 0)
            begun = i;
        else if ((c == '>' || c == ')') && depth > 0)
            depth--;
    }
    return depth > 0 && text->chars[begun] == '<' ? begun : 0;
}

static char *shown_of(const char *name, bool whole)
{
    if (strncmp(name, "_Z", 2) != 0 || !harmless(name))
        return xfa_text(name);
    struct text *text = xfa_alloc(sizeof *text);
    text->bytes = 0;
    text->chars = xfa_alloc(MOST_TEXT);
    enum outcome outcome = demangle(name, text);
    size_t bytes = outcome == WHOLE ? text->bytes : 0;
    char *shown;
    if (outcome == TOO_MUCH && !whole && (bytes = before_arguments(text)) > 0)
        shown = xfa_print("%.*s<...>", (int)bytes, text->chars);
    else
        shown = bytes ? xfa_kept(text->chars, bytes) : xfa_text(name);
    free(text->chars);
    free(text);
    return shown;
}

char *xfa_demangle(const char *name)
{
    return shown_of(name, false);
}

char *xfa_demangle_whole(const char *name)
{
    return shown_of(name, true);
}
