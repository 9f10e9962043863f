#include "preload/intercept/machine.h"

#include <stdio.h>

#include "preload/lookup/resolve.h"
#include "preload/record/record.h"
#include "xferscope/cuda_abi.h"

#define ASK(type, name) ((type)xfs_driver_symbol(name))

static void note_gpu(int index, xcu_device device)
{
    char key[48], text[256];
    xcu_result (*name)(char *, int, xcu_device) = ASK(__typeof__(name), "cuDeviceGetName");
    xcu_result (*pci)(char *, int, xcu_device) = ASK(__typeof__(pci), "cuDeviceGetPCIBusId");
    xcu_result (*uuid)(struct xcu_uuid *, xcu_device) = ASK(__typeof__(uuid), "cuDeviceGetUuid_v2");
    if (uuid == NULL)
        uuid = ASK(__typeof__(uuid), "cuDeviceGetUuid");
    if (name && name(text, sizeof text, device) == XCU_SUCCESS) {
        snprintf(key, sizeof key, "gpu.%d.name", index);
        xfs_meta_set(key, text);
    }
    if (pci && pci(text, sizeof text, device) == XCU_SUCCESS) {
        snprintf(key, sizeof key, "gpu.%d.pci", index);
        xfs_meta_set(key, text);
    }
    struct xcu_uuid id;
    if (uuid && uuid(&id, device) == XCU_SUCCESS) {
        const unsigned char *b = id.bytes;
        snprintf(text, sizeof text,
                 "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
                 b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
                 b[14], b[15]);
        snprintf(key, sizeof key, "gpu.%d.uuid", index);
        xfs_meta_set(key, text);
    }
}

void xfs_machine_note(void)
{
    char text[16];
    int version = 0, count = 0;
    xcu_result (*driver)(int *) = ASK(__typeof__(driver), "cuDriverGetVersion");
    xcu_result (*devices)(int *) = ASK(__typeof__(devices), "cuDeviceGetCount");
    xcu_result (*get)(xcu_device *, int) = ASK(__typeof__(get), "cuDeviceGet");
    if (driver && driver(&version) == XCU_SUCCESS) {
        snprintf(text, sizeof text, "%d", version);
        xfs_meta_set("cuda.driver_version", text);
    }
    if (devices == NULL || get == NULL || devices(&count) != XCU_SUCCESS)
        return;
    snprintf(text, sizeof text, "%d", count);
    xfs_meta_set("gpu.count", text);
    for (int i = 0; i < count && i < 64; i++) {
        xcu_device device;
        if (get(&device, i) == XCU_SUCCESS)
            note_gpu(i, device);
    }
}
