/*
 * The machine that is simulated: a profile (include/xferscope/profile.h) and a few settings, read
 * once at cuInit.
 */
#ifndef SIM_MACHINE_H
#define SIM_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "xferscope/profile.h"

enum { SIM_MAX_DEVICES = 32 };

/* X(variable, field, type, default, meaning); docs/simgpu.md is checked against this list. */
#define SIM_SETTING_LIST(X)                                                                        \
    X("XFERSCOPE_SIMGPU_MACHINE", machine, TEXT, "sim-h200",                                       \
      "machine profile: a path, or the name of one that comes with xferscope")                     \
    X("XFERSCOPE_SIMGPU_CLOCK", clock, TEXT, "virtual", "virtual, host or real")                   \
    X("XFERSCOPE_SIMGPU_CALL_NS", call_ns, NUMBER, "200",                                          \
      "host time of a call for which the profile has none")                                        \
    X("XFERSCOPE_SIMGPU_SUBMIT_NS", submit_ns, NUMBER, "2000",                                     \
      "host time of submitting work for which the profile has none")                               \
    X("XFERSCOPE_SIMGPU_KERNEL_NS", kernel_ns, NUMBER, "10000",                                    \
      "time of a kernel about which nothing is known")                                             \
    X("XFERSCOPE_SIMGPU_LEAST_KERNEL_NS", least_kernel_ns, NUMBER, "0", "least time of a kernel")  \
    X("XFERSCOPE_SIMGPU_LAZY", lazy, NUMBER, "0", "1: work is done when something waits for it")   \
    X("XFERSCOPE_SIMGPU_NUMA", numa, NUMBER, "0", "simulated NUMA node of host memory")            \
    X("XFERSCOPE_SIMGPU_CONTEXT_MS", context_ms, NUMBER, "0",                                      \
      "real time that making a context takes, in which other threads go on")                       \
    X("XFERSCOPE_SIMGPU_CONTEXT_NS", context_ns, NUMBER, "0",                                      \
      "host time that making a context takes, ns")                                                 \
    X("XFERSCOPE_SIMGPU_CUPTI_LATE", cupti_late, NUMBER, "0",                                      \
      "1: CUPTI may be attached beside contexts that it has not seen being made")                  \
    X("XFERSCOPE_SIMGPU_RECORD_NS", record_ns, NUMBER, "0",                                        \
      "host time that CUPTI's record of a copy, memset or kernel adds to the call, and of "        \
      "managed memory that moves to the host on demand to the thread")                             \
    X("XFERSCOPE_SIMGPU_RECORD_DEVICE_NS", record_device_ns, NUMBER, "0",                          \
      "time of the device that it takes after the work itself, and that of managed memory which "  \
      "moves on a kernel's demand adds to the kernel")                                             \
    X("XFERSCOPE_SIMGPU_RECORD_FIRST_NS", record_first_ns, NUMBER, "0",                            \
      "host time that the first record of a copy, and the first of a kernel, adds to the call "    \
      "in addition")                                                                               \
    X("XFERSCOPE_SIMGPU_INSTANTIATE_NS", instantiate_ns, NUMBER, "0",                              \
      "time of instantiating a graph, for each of its nodes, ns")                                  \
    X("XFERSCOPE_SIMGPU_UPDATE_NS", update_ns, NUMBER, "0",                                        \
      "time of updating an executable graph, for each of its nodes, ns")                           \
    X("XFERSCOPE_SIMGPU_NODE_NS", node_ns, NUMBER, "0",                                            \
      "time from the end of what a graph's node depends on to the start of the node, ns")          \
    X("XFERSCOPE_SIMGPU_ACROSS_NS", across_ns, NUMBER, "0",                                        \
      "time until a stream sees that an event of another GPU is done, ns")                         \
    X("XFERSCOPE_SIMGPU_FUNCTION_NS", function_ns, NUMBER, "0",                                    \
      "time from when a stream has come to a function of the host to when that is called")         \
    X("XFERSCOPE_SIMGPU_NO_PEERS", no_peers, NUMBER, "0",                                          \
      "1: no GPU can have peer access to another")                                                 \
    X("XFERSCOPE_SIMGPU_PEERS_WRONG", peers_wrong, NUMBER, "0",                                    \
      "1: copies with peer access bring other bytes, as where an IOMMU is between the GPUs")       \
    X("XFERSCOPE_SIMGPU_FAIL", fail, TEXT, "",                                                     \
      "NAME:N:STATUS: the driver's function of that name fails from its call number N on")

struct sim_settings {
#define TEXT const char *
#define NUMBER uint64_t
#define SIM_SETTING_FIELD(variable, field, type, initial, meaning) type field;
    SIM_SETTING_LIST(SIM_SETTING_FIELD)
#undef SIM_SETTING_FIELD
#undef TEXT
#undef NUMBER
};

extern struct sim_settings sim_settings;
extern struct xfp_profile *sim_profile;

/* What the profile's table of that name has for so many bytes, ns; 0: it has none, by bytes. */
uint64_t sim_table_ns(const char *name, uint64_t bytes);
extern char sim_machine_name[512];

/* Reads settings and profile. False, with a line on stderr, when there is no machine to simulate:
 * the driver then says that it has no device. */
bool sim_machine_load(void);

/* The GPUs of the profile that CUDA_VISIBLE_DEVICES leaves, in its order: how many. As for a real
 * driver, its entries are numbers or beginnings of UUIDs, and the first that is no GPU, or one that
 * was named before, ends the list. */
int sim_machine_visible(int numbers[SIM_MAX_DEVICES]);

#endif
