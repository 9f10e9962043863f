#include "preload/timing/kinds.h"

#include <stddef.h>
#include <stdint.h>

#define X(number, name) number,
static const uint16_t copying[] = {
#include "xferscope/cupti_calls.def"
};
static const uint16_t launching[] = {
#include "xferscope/cupti_launches.def"
};
#undef X

static void watch_calls(const struct xcp_library *library, xcp_subscriber subscriber,
                        enum xft_records kind, bool on)
{
    bool copies = kind == XFT_RECORDS_COPIES;
    const uint16_t *numbers = copies ? copying : launching;
    size_t count =
        copies ? sizeof copying / sizeof *copying : sizeof launching / sizeof *launching;
    for (size_t i = 0; i < count; i++)
        library->EnableCallback(on, subscriber, XCP_DOMAIN_DRIVER, numbers[i]);
}

xcp_result xfs_kinds_on(const struct xcp_library *library, xcp_subscriber subscriber,
                        enum xft_records kind)
{
    bool copies = kind == XFT_RECORDS_COPIES;
    xcp_result result = library->ActivityEnable(copies ? XCP_ACTIVITY_MEMCPY : XCP_ACTIVITY_KERNEL);
    if (result != XCP_SUCCESS)
        return result;
    if (copies) {
        library->ActivityEnable(XCP_ACTIVITY_MEMCPY2);
        library->ActivityEnable(XCP_ACTIVITY_MEMSET);
    }
    watch_calls(library, subscriber, kind, true);
    return XCP_SUCCESS;
}

void xfs_kinds_off(const struct xcp_library *library, xcp_subscriber subscriber,
                   enum xft_records kind)
{
    if (library->ActivityDisable == NULL)
        return;
    watch_calls(library, subscriber, kind, false);
    if (kind == XFT_RECORDS_KERNELS) {
        library->ActivityDisable(XCP_ACTIVITY_KERNEL);
        return;
    }
    library->ActivityDisable(XCP_ACTIVITY_MEMCPY);
    library->ActivityDisable(XCP_ACTIVITY_MEMCPY2);
    library->ActivityDisable(XCP_ACTIVITY_MEMSET);
}
