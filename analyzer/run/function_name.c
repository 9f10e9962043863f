#include "analyzer/run/function_name.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"

/* std::thread's first function, whose argument is what the thread runs. */
#define THREAD_BEGINS "std::thread::_State_impl<std::thread::_Invoker<std::tuple<"

/* By how much the character opens a bracket, or closes one. */
static int opens(char c)
{
    return (c == '<' || c == '(' || c == '{' || c == '[') -
           (c == '>' || c == ')' || c == '}' || c == ']');
}

static bool is_name_char(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* "operator" and what it is of, whose brackets are none, at `at`: how long; 0: there is none. */
static size_t operator_bytes(const char *function, size_t at)
{
    const char *text = function + at;
    if (!xfa_starts(text, "operator") || is_name_char(text[8]) ||
        (at > 0 && is_name_char(function[at - 1])))
        return 0;
    return 8 + (xfa_starts(text + 8, "()") ? 2 : strcspn(text + 8, "("));
}

struct xfa_function_name xfa_function_name(const char *function)
{
    struct xfa_function_name name = {function, 0};
    size_t at = 0;
    int depth = 0;
    while (function[at]) {
        size_t of_operator = depth == 0 ? operator_bytes(function, at) : 0;
        if (of_operator) {
            at += of_operator;
            continue;
        }
        bool parameters = function[at] == '(' && depth == 0 && function + at > name.start &&
                          !xfa_starts(function + at, "(anonymous namespace)");
        bool clone = xfa_starts(function + at, " [clone "); /* a compiler's */
        if (parameters || clone)
            break;
        if (function[at] == ' ' && depth == 0 && function[at + 1])
            name.start = function + at + 1;
        depth += opens(function[at]);
        depth = depth < 0 ? 0 : depth;
        at++;
    }
    name.bytes = (int)(function + at - name.start);
    return name;
}

bool xfa_function_of_library(const char *function)
{
    enum { SPACES = 5 };
    static const char *const spaces[SPACES] = {
        "std::", "__gnu_cxx::", "thrust::", "cub::", "cuda::std::"};
    bool any = false; /* most names have none of them: they are asked for with each frame */
    for (size_t i = 0; function && i < SPACES && !any; i++)
        any = strstr(function, spaces[i]) != NULL;
    if (!any)
        return false;
    const char *name = xfa_function_name(function).start;
    for (size_t i = 0; i < SPACES; i++)
        if (xfa_starts(name, spaces[i]))
            return true;
    return false;
}

/* What the thread runs; bytes 0: it is not a thread's first function. */
static struct xfa_function_name thread_runs(const char *function)
{
    struct xfa_function_name runs = {function, 0};
    if (!xfa_starts(function, THREAD_BEGINS))
        return runs;
    runs.start += strlen(THREAD_BEGINS);
    int depth = 0;
    while (runs.start[runs.bytes] && depth >= 0 && (depth > 0 || runs.start[runs.bytes] != ',')) {
        depth += opens(runs.start[runs.bytes]);
        runs.bytes += depth >= 0;
    }
    while (runs.bytes > 0 && runs.start[runs.bytes - 1] == ' ')
        runs.bytes--;
    return runs;
}

/* Each template's arguments as "...", of the part of a name. Returns how many bytes. */
static size_t without_arguments(char *to, const char *name, size_t bytes)
{
    size_t used = 0;
    int depth = 0;
    for (size_t i = 0; i < bytes; i++) {
        size_t of_operator = depth == 0 ? operator_bytes(name, i) : 0;
        if (of_operator) {
            of_operator = of_operator < bytes - i ? of_operator : bytes - i;
            memcpy(to + used, name + i, of_operator);
            used += of_operator;
            i += of_operator - 1;
            continue;
        }
        depth -= name[i] == '>' && depth > 0;
        if (depth == 0)
            to[used++] = name[i];
        for (int dots = name[i] == '<' && depth++ == 0 ? 3 : 0; dots > 0; dots--)
            to[used++] = '.';
    }
    return used;
}

char *xfa_function_short(const char *function)
{
    if (strlen(function) <= XFA_FUNCTION_CHARS)
        return xfa_text(function);
    struct xfa_function_name name = thread_runs(function);
    bool thread = name.bytes > 0;
    if (!thread)
        name = xfa_function_name(function);
    const char *behind = name.start + name.bytes;
    const char *parameters = thread || *behind != '(' ? "" : behind[1] == ')' ? "()" : "(...)";
    if (name.bytes == 0)
        return xfa_text(function);
    if (name.bytes <= XFA_FUNCTION_CHARS)
        return xfa_print("%.*s%s", name.bytes, name.start, parameters);
    char *brief = xfa_alloc(4 * (size_t)name.bytes + 1); /* "<" may become "<..." */
    size_t bytes = without_arguments(brief, name.start, (size_t)name.bytes);
    char *text = xfa_print("%.*s%s", (int)bytes, brief, parameters);
    free(brief);
    return text;
}
