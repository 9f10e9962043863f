/*
 * A GPU's UUID as nvidia-smi -L prints it, in traces and profiles, which are compared by it.
 */
#ifndef XFERSCOPE_UUID_H
#define XFERSCOPE_UUID_H

#include <stdio.h>
#include <string.h>

#include "xferscope/cuda_abi.h"

#define XFT_UUID_TEXT 48

/*
 * uuid: of cuDeviceGetUuid_v2, which for a part of a GPU (MIG) is the part's. physical: of
 * cuDeviceGetUuid, which is the whole GPU's, or NULL if not known: then the text has no prefix.
 */
static inline void xft_uuid_text(char text[XFT_UUID_TEXT], const struct xcu_uuid *uuid,
                                 const struct xcu_uuid *physical)
{
    const unsigned char *b = uuid->bytes;
    const char *prefix = !physical                                   ? ""
                         : memcmp(uuid, physical, sizeof *uuid) == 0 ? "GPU-"
                                                                     : "MIG-";
    snprintf(text, XFT_UUID_TEXT,
             "%s%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", prefix, b[0],
             b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
             b[14], b[15]);
}

#endif
