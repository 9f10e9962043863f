/* Demangled C++ names. */
#ifndef XFA_DEMANGLE_H
#define XFA_DEMANGLE_H

/* The name for the caller to free; a copy of `name` when it is no mangled one or very long (1024
 * bytes). One that stands for very much text (64 KiB) has no arguments: "void send<...>". Takes at
 * most some milliseconds, whatever the name. */
char *xfa_demangle(const char *name);

/* The same for who reads the arguments: a copy of `name` where they are left out. */
char *xfa_demangle_whole(const char *name);

#endif
