/* Demangled C++ names. */
#ifndef XFA_DEMANGLE_H
#define XFA_DEMANGLE_H

/* The name for the caller to free; a copy of `name` when it is no mangled one, when it is very long
 * (1024 bytes) or stands for very much text. Takes at most some milliseconds, whatever the name. */
char *xfa_demangle(const char *name);

#endif
