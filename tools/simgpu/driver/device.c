/*
 * Devices and their attributes.
 */
#include <stdio.h>
#include <string.h>

#include "tools/simgpu/driver/call.h"

static bool is_device(xcu_device device)
{
    return device >= 0 && device < sim_device_count;
}

SIM_API(cuDriverGetVersion, SIM_NOTHING, (int *version), (version))
{
    if (!version)
        return XCU_ERROR_INVALID_VALUE;
    *version = sim_profile && sim_profile->machine.driver_version
                   ? sim_profile->machine.driver_version
                   : 13000;
    return XCU_SUCCESS;
}

SIM_API(cuDeviceGetCount, SIM_INIT, (int *count), (count))
{
    if (!count)
        return XCU_ERROR_INVALID_VALUE;
    *count = sim_device_count;
    return XCU_SUCCESS;
}

SIM_API(cuDeviceGet, SIM_INIT, (xcu_device * out, int ordinal), (out, ordinal))
{
    if (!out)
        return XCU_ERROR_INVALID_VALUE;
    if (!is_device(ordinal))
        return XCU_ERROR_INVALID_DEVICE;
    *out = ordinal;
    return XCU_SUCCESS;
}

SIM_API(cuDeviceGetName, SIM_INIT, (char *name, int bytes, xcu_device device),
        (name, bytes, device))
{
    if (!name || bytes <= 0)
        return XCU_ERROR_INVALID_VALUE;
    if (!is_device(device))
        return XCU_ERROR_INVALID_DEVICE;
    snprintf(name, (size_t)bytes, "%s", sim_devices[device].gpu->name);
    return XCU_SUCCESS;
}

/* "GPU-8 hex digits-4-4-4-12", or "MIG-..." of a part of a GPU; anything else is hashed into 16
 * bytes. */
static void parse_uuid(const char *text, struct xcu_uuid *uuid)
{
    unsigned byte, used = 0;

    memset(uuid, 0, sizeof(*uuid));
    if (!strncmp(text, "GPU-", 4) || !strncmp(text, "MIG-", 4))
        for (text += 4; *text && used < 16;) {
            if (*text == '-') {
                text++;
                continue;
            }
            if (sscanf(text, "%2x", &byte) != 1 || !text[1])
                break;
            uuid->bytes[used++] = (unsigned char)byte;
            text += 2;
        }
    for (unsigned i = 0; used < 16 && text[i]; i++)
        uuid->bytes[i % 16] = (unsigned char)(uuid->bytes[i % 16] * 31 + (unsigned char)text[i]);
}

static xcu_result get_uuid(struct xcu_uuid *uuid, xcu_device device)
{
    if (!uuid)
        return XCU_ERROR_INVALID_VALUE;
    if (!is_device(device))
        return XCU_ERROR_INVALID_DEVICE;
    parse_uuid(sim_devices[device].gpu->uuid, uuid);
    return XCU_SUCCESS;
}

/* Of the whole GPU, also where the device is a part of it (MIG). */
SIM_API(cuDeviceGetUuid, SIM_INIT, (struct xcu_uuid * uuid, xcu_device device), (uuid, device))
{
    xcu_result r = get_uuid(uuid, device);

    if (!r && !strncmp(sim_devices[device].gpu->uuid, "MIG-", 4))
        uuid->bytes[0] ^= 0xff;
    return r;
}

SIM_API(cuDeviceGetUuid_v2, SIM_INIT, (struct xcu_uuid * uuid, xcu_device device), (uuid, device))
{
    return get_uuid(uuid, device);
}

SIM_API(cuDeviceTotalMem_v2, SIM_INIT, (size_t * bytes, xcu_device device), (bytes, device))
{
    if (!bytes)
        return XCU_ERROR_INVALID_VALUE;
    if (!is_device(device))
        return XCU_ERROR_INVALID_DEVICE;
    *bytes = sim_devices[device].gpu->memory_bytes;
    return XCU_SUCCESS;
}

struct pci {
    unsigned domain, bus, device;
};

static struct pci pci_of(int device)
{
    struct pci p = {0, 0x10u + (unsigned)device, 0};

    sscanf(sim_devices[device].gpu->pci, "%x:%x:%x", &p.domain, &p.bus, &p.device);
    return p;
}

SIM_API(cuDeviceGetPCIBusId, SIM_INIT, (char *text, int bytes, xcu_device device),
        (text, bytes, device))
{
    struct pci p;

    if (!text || bytes < 13)
        return XCU_ERROR_INVALID_VALUE;
    if (!is_device(device))
        return XCU_ERROR_INVALID_DEVICE;
    p = pci_of(device);
    snprintf(text, (size_t)bytes, "%04X:%02X:%02X.0", p.domain, p.bus, p.device);
    return XCU_SUCCESS;
}

SIM_API(cuDeviceGetByPCIBusId, SIM_INIT, (xcu_device * out, const char *text), (out, text))
{
    unsigned domain, bus, device;

    if (!out || !text)
        return XCU_ERROR_INVALID_VALUE;
    if (sscanf(text, "%x:%x:%x", &domain, &bus, &device) != 3) {
        domain = 0;
        if (sscanf(text, "%x:%x", &bus, &device) != 2)
            return XCU_ERROR_INVALID_VALUE;
    }
    for (int i = 0; i < sim_device_count; i++) {
        struct pci p = pci_of(i);

        if (p.domain == domain && p.bus == bus && p.device == device) {
            *out = i;
            return XCU_SUCCESS;
        }
    }
    return XCU_ERROR_INVALID_DEVICE;
}

SIM_API(cuDeviceComputeCapability, SIM_INIT, (int *major, int *minor, xcu_device device),
        (major, minor, device))
{
    if (!major || !minor)
        return XCU_ERROR_INVALID_VALUE;
    if (!is_device(device))
        return XCU_ERROR_INVALID_DEVICE;
    *major = 9;
    *minor = 0;
    return XCU_SUCCESS;
}

/* Attributes by number (CUdevice_attribute); those that are not here are 0. */
static const int attribute_values[148] = {
    [1] = 1024,                                         /* threads per block */
    [2] = 1024,                                         /* block dimensions */
    [3] = 1024,        [4] = 64,      [5] = 2147483647, /* grid dimensions */
    [6] = 65535,       [7] = 65535,   [8] = 49152,      /* shared memory per block */
    [9] = 65536,                                        /* constant memory */
    [10] = 32,                                          /* warp */
    [11] = 2147483647,                                  /* pitch */
    [12] = 65536,                                       /* registers per block */
    [13] = 1980000,                                     /* clock, kHz */
    [14] = 512,                                         /* texture alignment */
    [15] = 1,                                           /* overlap of copies and kernels */
    [16] = 132,                                         /* multiprocessors */
    [19] = 1,                                           /* maps host memory */
    [30] = 512,                                         /* surface alignment */
    [31] = 1,                                           /* concurrent kernels */
    [32] = 1,                                           /* ECC */
    [36] = 3201000,                                     /* memory clock, kHz */
    [37] = 6144,                                        /* memory bus, bits */
    [38] = 62914560,                                    /* L2 */
    [39] = 2048,                                        /* threads per multiprocessor */
    [41] = 1,                                           /* unified addressing */
    [51] = 32,                                          /* texture pitch alignment */
    [75] = 9,                                           /* compute capability */
    [78] = 1,                                           /* stream priorities */
    [79] = 1,          [80] = 1,      [81] = 233472,    /* shared memory per multiprocessor */
    [82] = 65536,      [83] = 1,                        /* managed memory */
    [87] = 2,          [89] = 1,                        /* concurrent managed access */
    [90] = 1,          [91] = 1, /* registered memory under its host pointer */
    [95] = 1,          [97] = 232448, [98] = 1,         [99] = 1, /* host registration */
    [102] = 1,                                                    /* virtual memory management */
    [106] = 32,        [111] = 1024,  [115] = 1,                  /* memory pools */
    [122] = 1, /* 64-bit stream memory operations */
};

enum { PCI_BUS = 33, PCI_DEVICE = 34, ASYNC_ENGINES = 40, PCI_DOMAIN = 50, HOST_NUMA = 134 };

SIM_API(cuDeviceGetAttribute, SIM_INIT, (int *value, int attribute, xcu_device device),
        (value, attribute, device))
{
    if (!value || attribute < 1 || attribute > 147)
        return XCU_ERROR_INVALID_VALUE;
    if (!is_device(device))
        return XCU_ERROR_INVALID_DEVICE;
    switch (attribute) {
    case PCI_BUS:
        *value = (int)pci_of(device).bus;
        break;
    case PCI_DEVICE:
        *value = (int)pci_of(device).device;
        break;
    case PCI_DOMAIN:
        *value = (int)pci_of(device).domain;
        break;
    case ASYNC_ENGINES:
        *value = sim_devices[device].gpu->copy_engines;
        break;
    case HOST_NUMA:
        *value = sim_devices[device].gpu->numa;
        break;
    default:
        *value = attribute_values[attribute];
    }
    return XCU_SUCCESS;
}
