/*
 * Names of functions as a demangler writes them: "void fetch<int>(std::vector<int> const&)". A type
 * comes first where the function is of a template, parameters last.
 */
#ifndef XFA_FUNCTION_NAME_H
#define XFA_FUNCTION_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* text: NULL does not. */
static inline bool xfa_starts(const char *text, const char *start)
{
    /* Of many beginnings most differ in the first letter: a call less for each. */
    return text && *text == *start && strncmp(text, start, strlen(start)) == 0;
}

/* Longer ones are shortened for people to read. */
#define XFA_FUNCTION_CHARS 60

/* The function's own qualified name within the text, without type and parameters. */
struct xfa_function_name {
    const char *start;
    int bytes;
};
struct xfa_function_name xfa_function_name(const char *function);

/* Is it a template's of the C++ standard library, of Thrust, CUB or libcu++: code that the compiler
 * put into the program, and nobody looks for in it? */
bool xfa_function_of_library(const char *function);

/* The text, where it has at most XFA_FUNCTION_CHARS. Else the name with "(...)" for parameters,
 * where it is still too long with "<...>" for each template's arguments, and where a thread begins
 * what it runs: "main::{lambda()#1}". The caller frees it. */
char *xfa_function_short(const char *function);

#endif
