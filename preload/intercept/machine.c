#include "preload/intercept/machine.h"

#include <stdbool.h>
#include <stdio.h>

#include "preload/lookup/resolve.h"
#include "preload/record/record.h"
#include "xferscope/uuid.h"

#define ASK(type, name) ((type)xfs_driver_symbol(name))

/* Drivers before 11.4 have the first function alone, and no other UUID. */
static bool ask_uuid(xcu_device device, char text[XFT_UUID_TEXT])
{
    struct xcu_uuid whole, own;
    xcu_result (*of_gpu)(struct xcu_uuid *, xcu_device) =
        ASK(__typeof__(of_gpu), "cuDeviceGetUuid");
    xcu_result (*of_part)(struct xcu_uuid *, xcu_device) =
        ASK(__typeof__(of_part), "cuDeviceGetUuid_v2");
    bool known = of_gpu && of_gpu(&whole, device) == XCU_SUCCESS;
    bool parted = of_part && of_part(&own, device) == XCU_SUCCESS;
    if (known || parted)
        xft_uuid_text(text, parted ? &own : &whole, known ? &whole : NULL);
    return known || parted;
}

static void note_gpu(int index, xcu_device device)
{
    char key[48], text[256];
    xcu_result (*name)(char *, int, xcu_device) = ASK(__typeof__(name), "cuDeviceGetName");
    xcu_result (*pci)(char *, int, xcu_device) = ASK(__typeof__(pci), "cuDeviceGetPCIBusId");
    if (name && name(text, sizeof text, device) == XCU_SUCCESS) {
        snprintf(key, sizeof key, "gpu.%d.name", index);
        xfs_meta_set(key, text);
    }
    if (pci && pci(text, sizeof text, device) == XCU_SUCCESS) {
        snprintf(key, sizeof key, "gpu.%d.pci", index);
        xfs_meta_set(key, text);
    }
    if (ask_uuid(device, text)) {
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
