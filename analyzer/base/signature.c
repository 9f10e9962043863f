#include "analyzer/base/signature.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/demangle.h"

/* A part of a demangled name. */
struct piece {
    const char *at;
    size_t bytes;
};

static bool is(struct piece piece, const char *word)
{
    return piece.bytes == strlen(word) && memcmp(piece.at, word, piece.bytes) == 0;
}

static struct piece trimmed(struct piece piece)
{
    while (piece.bytes && piece.at[0] == ' ') {
        piece.at++;
        piece.bytes--;
    }
    while (piece.bytes && piece.at[piece.bytes - 1] == ' ')
        piece.bytes--;
    return piece;
}

/* Removes the word from the end. */
static bool take_end(struct piece *piece, const char *word)
{
    size_t bytes = strlen(word);
    if (piece->bytes < bytes || memcmp(piece->at + piece->bytes - bytes, word, bytes) != 0)
        return false;
    piece->bytes -= bytes;
    *piece = trimmed(*piece);
    return true;
}

/* Removes the outer qualifiers; returns whether const is among them. */
static bool take_qualifiers(struct piece *piece)
{
    bool is_const = false, more = true;
    while (more) {
        bool of_const = take_end(piece, " const") || take_end(piece, "*const");
        is_const = is_const || of_const;
        more = of_const || take_end(piece, " volatile") || take_end(piece, " __restrict__") ||
               take_end(piece, " __restrict") || take_end(piece, " restrict");
    }
    return is_const;
}

/* Types without pointers: built-in types and CUDA's vectors of them. */
static bool is_plain(struct piece type)
{
    static const char *const words[] = {
        "bool",          "char",
        "signed char",   "unsigned char",
        "short",         "unsigned short",
        "int",           "unsigned int",
        "long",          "unsigned long",
        "long long",     "float",
        "double",        "unsigned long long",
        "wchar_t",       "dim3",
        "__half",        "__half2",
        "__nv_bfloat16", "__nv_bfloat162",
    };
    static const char *const vectors[] = {"char",     "uchar",     "short", "ushort",
                                          "int",      "uint",      "long",  "ulong",
                                          "longlong", "ulonglong", "float", "double"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is(type, words[i]))
            return true;
    if (type.bytes == 0 || type.at[type.bytes - 1] < '1' || type.at[type.bytes - 1] > '4')
        return false;
    type.bytes--;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        if (is(type, vectors[i]))
            return true;
    return false;
}

static void take_parameter(struct xfa_signature *signature, struct piece type, unsigned number)
{
    type = trimmed(type);
    take_qualifiers(&type);
    if (!take_end(&type, "*")) {
        signature->others = signature->others || !is_plain(type);
        return;
    }
    bool reads = take_qualifiers(&type);
    signature->deep = signature->deep || take_end(&type, "*") || memchr(type.at, '(', type.bytes);
    if (signature->pointers == XFA_SIGNATURE_MOST) {
        signature->known = false;
        return;
    }
    signature->writes |= (uint64_t)!reads << signature->pointers++;
    if (number < 64)
        signature->reads |= (uint64_t)reads << number;
}

/* The list of parameters is in the last parentheses. */
static bool find_list(const char *name, struct piece *list)
{
    const char *end = strrchr(name, ')');
    unsigned depth = 0;
    for (const char *at = end; at && at > name; at--) {
        depth += *at == ')';
        depth -= *at == '(';
        if (depth == 0) {
            *list = (struct piece){at + 1, (size_t)(end - at - 1)};
            return true;
        }
    }
    return false;
}

static void take_list(struct xfa_signature *signature, struct piece list)
{
    int depth = 0;
    unsigned number = 0;
    size_t from = 0;
    for (size_t i = 0; i <= list.bytes; i++) {
        char c = ',';
        if (i < list.bytes)
            c = list.at[i];
        depth += (c == '(' || c == '<' || c == '{' || c == '[') -
                 (c == ')' || c == '>' || c == '}' || c == ']');
        if (c != ',' || (depth > 0 && i < list.bytes))
            continue;
        take_parameter(signature, (struct piece){list.at + from, i - from}, number++);
        from = i + 1;
    }
}

struct xfa_signature xfa_signature_of(const char *name)
{
    struct xfa_signature signature = {0};
    struct piece list;
    char *readable = xfa_demangle_whole(name);
    if (strcmp(readable, name) != 0 && find_list(readable, &list)) {
        signature.known = true;
        if (list.bytes && !is(trimmed(list), "void"))
            take_list(&signature, list);
    }
    free(readable);
    return signature;
}
