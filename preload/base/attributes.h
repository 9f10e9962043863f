/*
 * Attributes of functions and variables of this library.
 */
#ifndef XFS_ATTRIBUTES_H
#define XFS_ATTRIBUTES_H

/* Initial-exec: dynamic TLS could call malloc in the middle of the program's call. */
#define XFS_TLS __thread __attribute__((tls_model("initial-exec")))

/* Kept apart from the code that every call runs. */
#define XFS_COLD __attribute__((cold, noinline))

#endif
