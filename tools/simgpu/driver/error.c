/*
 * Names and descriptions of results.
 */
#include "tools/simgpu/driver/call.h"

#define RESULTS(X)                                                                                 \
    X(0, "CUDA_SUCCESS", "no error")                                                               \
    X(1, "CUDA_ERROR_INVALID_VALUE", "invalid argument")                                           \
    X(2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory")                                              \
    X(3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error")                                     \
    X(4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down")                                       \
    X(34, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library")                              \
    X(100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected")                           \
    X(101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal")                                  \
    X(200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid")                           \
    X(201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context")                                 \
    X(217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",                                                   \
      "peer access is not supported between these two devices")                                    \
    X(301, "CUDA_ERROR_FILE_NOT_FOUND", "file not found")                                          \
    X(304, "CUDA_ERROR_OPERATING_SYSTEM", "OS call failed or operation not supported on this OS")  \
    X(400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle")                                 \
    X(500, "CUDA_ERROR_NOT_FOUND", "named symbol not found")                                       \
    X(600, "CUDA_ERROR_NOT_READY", "device not ready")                                             \
    X(700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered")               \
    X(704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled")             \
    X(705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access has not been enabled")               \
    X(708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE",                                                    \
      "cannot set while device is active in this process")                                         \
    X(709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed")                              \
    X(711, "CUDA_ERROR_TOO_MANY_PEERS", "peer mapping resources exhausted")                        \
    X(712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",                                            \
      "part or all of the requested memory range is already mapped")                               \
    X(713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",                                                \
      "pointer does not correspond to a registered memory region")                                 \
    X(800, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted")                                  \
    X(801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported")                                  \
    X(900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",                                                \
      "operation not permitted when stream is capturing")                                          \
    X(901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",                                                \
      "operation failed due to a previous error during capture")                                   \
    X(903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",                                                  \
      "capture was not ended in the same stream as it began")                                      \
    X(904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work")             \
    X(905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",                                                  \
      "dependency created on uncaptured work in another stream")                                   \
    X(906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",                                                   \
      "operation would make the legacy stream depend on a capturing blocking stream")              \
    X(907, "CUDA_ERROR_CAPTURED_EVENT",                                                            \
      "operation not permitted on an event last recorded in a capturing stream")                   \
    X(908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",                                               \
      "attempt to terminate a thread-local capture sequence from another thread")                  \
    X(910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE",                                                 \
      "the graph update was not performed because it included changes which violated constraints") \
    X(999, "CUDA_ERROR_UNKNOWN", "unknown error")

static const struct {
    int number;
    const char *name, *words;
} results[] = {
#define ROW(number, name, words) {number, name, words},
    RESULTS(ROW)
#undef ROW
};

static int find(int number)
{
    for (int i = 0; i < (int)(sizeof(results) / sizeof(results[0])); i++)
        if (results[i].number == number)
            return i;
    return -1;
}

SIM_API(cuGetErrorName, SIM_NOTHING, (xcu_result number, const char **out), (number, out))
{
    int i = find(number);

    if (out)
        *out = i < 0 ? NULL : results[i].name;
    return i < 0 || !out ? XCU_ERROR_INVALID_VALUE : XCU_SUCCESS;
}

SIM_API(cuGetErrorString, SIM_NOTHING, (xcu_result number, const char **out), (number, out))
{
    int i = find(number);

    if (out)
        *out = i < 0 ? NULL : results[i].words;
    return i < 0 || !out ? XCU_ERROR_INVALID_VALUE : XCU_SUCCESS;
}
