#include "analyzer/whatif/changes/signatures.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"

enum xfw_writes xfw_signature_writes(const struct xfa_signature *signature, uint32_t pointers,
                                     uint32_t k)
{
    if (!signature->known || signature->others || signature->deep)
        return XFW_MAY_WRITE;
    if (signature->writes == 0)
        return XFW_READS;
    if (signature->pointers != pointers)
        return XFW_MAY_WRITE;
    return signature->writes >> k & 1 ? XFW_WRITES : XFW_READS;
}

static struct xfa_signature signature_of(const struct xfa_process *process, uint64_t name)
{
    const struct xfa_text *text = process->trace ? xfa_trace_text(process->trace, name) : NULL;
    struct xfa_signature signature = {0};
    if (!text)
        return signature;
    char *kept = xfa_kept(text->text, text->bytes);
    signature = xfa_signature_of(kept);
    free(kept);
    return signature;
}

enum xfw_writes xfw_signatures_ask(struct xfw_signatures *signatures,
                                   const struct xfa_process *process, uint64_t name,
                                   uint32_t pointers, uint32_t k)
{
    unsigned place = name % XFW_SIGNATURES;
    if (name == 0)
        return XFW_MAY_WRITE;
    if (signatures->of[place].name != name) {
        signatures->of[place].name = name;
        signatures->of[place].signature = signature_of(process, name);
    }
    return xfw_signature_writes(&signatures->of[place].signature, pointers, k);
}
