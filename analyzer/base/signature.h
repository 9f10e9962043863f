/*
 * The parameters of a C++ kernel, from its mangled name: which are pointers, and which of these
 * point to const, so that the kernel does not write there. Names of extern "C" kernels have no
 * parameters.
 */
#ifndef XFA_SIGNATURE_H
#define XFA_SIGNATURE_H

#include <stdbool.h>
#include <stdint.h>

#define XFA_SIGNATURE_MOST 64 /* pointers */

struct xfa_signature {
    bool known;  /* the other members are valid */
    bool others; /* other parameters may contain pointers: classes by value */
    bool deep;   /* there are pointers to pointers: where the inner ones point is not known from a
                    launch */
    uint32_t pointers; /* parameters that are pointers */
    uint64_t writes;   /* bit k: the k-th pointer is not to const */
    uint64_t reads;    /* bit k: the parameter of number k, from 0 on, is a pointer to const; of the
                          first 64 */
};

/* name: mangled (_Z...). */
struct xfa_signature xfa_signature_of(const char *name);

#endif
