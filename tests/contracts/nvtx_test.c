/* preload/nvtx/nvtx_abi.h against NVIDIA's headers. Compiling is the test. */
#include <nvtx3/nvToolsExt.h>

#include "preload/nvtx/nvtx_abi.h"

#define SAME(ours, theirs) _Static_assert((long)(ours) == (long)(theirs), #ours)
#define SAME_FIELD(ours, theirs)                                                                   \
    SAME(offsetof(struct xnv_attributes, ours), offsetof(nvtxEventAttributes_t, theirs));          \
    SAME(sizeof(((struct xnv_attributes *)0)->ours), sizeof(((nvtxEventAttributes_t *)0)->theirs))

SAME(sizeof(struct xnv_attributes), sizeof(nvtxEventAttributes_t));
SAME_FIELD(version, version);
SAME_FIELD(size, size);
SAME_FIELD(category, category);
SAME_FIELD(payload_type, payloadType);
SAME_FIELD(message_type, messageType);
SAME_FIELD(message, message);
SAME(XNV_MESSAGE_ASCII, NVTX_MESSAGE_TYPE_ASCII);
SAME(XNV_MESSAGE_WIDE, NVTX_MESSAGE_TYPE_UNICODE);
SAME(XNV_MESSAGE_REGISTERED, NVTX_MESSAGE_TYPE_REGISTERED);
SAME(XNV_NO_PUSH_POP_TRACKING, NVTX_NO_PUSH_POP_TRACKING);
SAME(sizeof(nvtxRangeId_t), sizeof(uint64_t));

SAME(XNV_TABLE_CALLBACKS, NVTX_ETID_CALLBACKS);
SAME(sizeof(struct xnv_callbacks), sizeof(NvtxExportTableCallbacks));
SAME(offsetof(struct xnv_callbacks, module_table),
     offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable));
SAME(XNV_MODULE_CORE, NVTX_CB_MODULE_CORE);
SAME(XNV_MODULE_CORE2, NVTX_CB_MODULE_CORE2);
SAME(XNV_CORE_RANGE_START_EX, NVTX_CBID_CORE_RangeStartEx);
SAME(XNV_CORE_RANGE_START_A, NVTX_CBID_CORE_RangeStartA);
SAME(XNV_CORE_RANGE_START_W, NVTX_CBID_CORE_RangeStartW);
SAME(XNV_CORE_RANGE_END, NVTX_CBID_CORE_RangeEnd);
SAME(XNV_CORE_RANGE_PUSH_EX, NVTX_CBID_CORE_RangePushEx);
SAME(XNV_CORE_RANGE_PUSH_A, NVTX_CBID_CORE_RangePushA);
SAME(XNV_CORE_RANGE_PUSH_W, NVTX_CBID_CORE_RangePushW);
SAME(XNV_CORE_RANGE_POP, NVTX_CBID_CORE_RangePop);
SAME(XNV_CORE2_RANGE_START_EX, NVTX_CBID_CORE2_DomainRangeStartEx);
SAME(XNV_CORE2_RANGE_END, NVTX_CBID_CORE2_DomainRangeEnd);
SAME(XNV_CORE2_RANGE_PUSH_EX, NVTX_CBID_CORE2_DomainRangePushEx);
SAME(XNV_CORE2_RANGE_POP, NVTX_CBID_CORE2_DomainRangePop);
SAME(XNV_CORE2_REGISTER_STRING_A, NVTX_CBID_CORE2_DomainRegisterStringA);
SAME(XNV_CORE2_REGISTER_STRING_W, NVTX_CBID_CORE2_DomainRegisterStringW);
SAME(XNV_CORE2_DOMAIN_CREATE_A, NVTX_CBID_CORE2_DomainCreateA);
SAME(XNV_CORE2_DOMAIN_CREATE_W, NVTX_CBID_CORE2_DomainCreateW);

int main(void)
{
    return 0;
}
