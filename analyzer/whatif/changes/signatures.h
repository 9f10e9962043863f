/*
 * What kernels write to, by the types in their names, for who asks it of launch after launch: names
 * are looked at once, as long as no other one takes their place. Private to changes/ and findings/.
 */
#ifndef XFW_SIGNATURES_H
#define XFW_SIGNATURES_H

#include "analyzer/base/signature.h"
#include "analyzer/whatif/changes/changes.h"

#define XFW_SIGNATURES 64 /* a power of two */

/* Of one process. Zeroed at first. */
struct xfw_signatures {
    struct {
        uint64_t name; /* id in NAMES; 0: none yet */
        struct xfa_signature signature;
    } of[XFW_SIGNATURES];
};

/* Of a kernel that was given so many pointers: xfw_writes() (changes.h) of the k-th. */
enum xfw_writes xfw_signatures_ask(struct xfw_signatures *signatures,
                                   const struct xfa_process *process, uint64_t name,
                                   uint32_t pointers, uint32_t k);

/* The same of a signature. */
enum xfw_writes xfw_signature_writes(const struct xfa_signature *signature, uint32_t pointers,
                                     uint32_t k);

#endif
