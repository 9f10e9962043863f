/*
 * What the name of a C++ kernel tells of its parameters: which are pointers, and which of these
 * to const, so that the kernel reads there and does not write. Names of extern "C" kernels tell
 * nothing.
 */
#ifndef XFA_SIGNATURE_H
#define XFA_SIGNATURE_H

#include <stdbool.h>
#include <stdint.h>

#define XFA_SIGNATURE_MOST 64 /* pointers */

struct xfa_signature {
    bool known;        /* false: nothing below is */
    bool others;       /* there are parameters that may hold pointers besides: classes by value */
    bool deep;         /* pointers to pointers: what these point to, the launch does not show */
    uint32_t pointers; /* how many parameters are pointers */
    uint64_t writes;   /* bit k: the k-th of them is not to const */
};

/* Of a name as the linker knows it (_Z...). */
struct xfa_signature xfa_signature_of(const char *name);

#endif
