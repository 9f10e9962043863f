/* Demangled C++ names. */
#ifndef XFA_DEMANGLE_H
#define XFA_DEMANGLE_H

/* The name for the caller to free; a copy of `name` when it is no mangled one, when it is very long
 * or refers back to itself very often, or when the C++ library, which does the work, is not on this
 * machine. */
char *xfa_demangle(const char *name);

#endif
