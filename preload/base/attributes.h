/*
 * What functions and variables of this library are told to the compiler to be.
 */
#ifndef XFS_ATTRIBUTES_H
#define XFS_ATTRIBUTES_H

/* Initial-exec: dynamic TLS could call malloc in the middle of the program's call. */
#define XFS_TLS __thread __attribute__((tls_model("initial-exec")))

/* Out of the way of what every call passes. */
#define XFS_COLD __attribute__((cold, noinline))

#endif
