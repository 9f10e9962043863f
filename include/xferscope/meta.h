/*
 * The keys of META: X(key, meaning). All values are text. N is the number of a device, KIND
 * the word of a kind of event (trace_events.h), WHY a reason (docs/trace-format.md has them all).
 * The test contracts.words compares that page, and the keys in the sources, with this list.
 */
#ifndef XFERSCOPE_META_H
#define XFERSCOPE_META_H

#define XFT_META_LIST(X)                                                                           \
    X("xferscope.version", "of the recorder")                                                      \
    X("run", "of one xferscope record: the same in all its processes")                             \
    X("exe", "path")                                                                               \
    X("cmdline", "arguments joined by \\x1f")                                                      \
    X("cwd", "path")                                                                               \
    X("started", "by record: its directory, options, program; \\x1e between, \\x1f within")        \
    X("hostname", "")                                                                              \
    X("machine_id", "XFT_MACHINE_ID_SEED")                                                         \
    X("boot_id", "of the host's kernel since it was started: tells hosts of one name apart")       \
    X("clock", "files with the same text share the clock of their times")                          \
    X("rank", "of the process in the launch, from 0 on; absent: no launcher set one")              \
    X("rank.launcher", "torchrun | env | openmpi | mvapich | pmi | pmix | slurm: which set it")    \
    X("rank.size", "ranks of the launch")                                                          \
    X("rank.local", "number among those of its node")                                              \
    X("rank.local_size", "ranks on its node")                                                      \
    X("rank.node", "number of its node in the launch")                                             \
    X("rank.world", "the launch's name: the same in all its ranks")                                \
    X("rank.why", "one line, when a launcher's variable made no sense")                            \
    X("job.id", "of the batch system (Slurm), also without a rank")                                \
    X("job.step", "")                                                                              \
    X("job.node", "the node, as the batch system calls it")                                        \
    X("env.CUDA_VISIBLE_DEVICES", "as it was when recording began; absent: it was not set")        \
    X("timing", "cupti | event | host | none: where DEVICE_COPY events come from")                 \
    X("timing.why", "one line, when it is not what was asked for")                                 \
    X("timing.shared", "1: CUPTI serves several clients; absent: the recorder alone")              \
    X("timing.sampled", "1: device times are of some of the copies; absent: of all that can be")   \
    X("budget", "percent of the time that recording may cost; 0: no bound")                        \
    X("budget.copies_until_ns", "records of copies and memsets gave way then; absent: never")      \
    X("budget.kernels_until_ns", "the same, of kernels")                                           \
    X("budget.managed_until_ns", "the same, of managed memory")                                    \
    X("cuda.driver_version", "e.g. 13000")                                                         \
    X("gpu.count", "devices")                                                                      \
    X("gpu.N.name", "")                                                                            \
    X("gpu.N.uuid", "")                                                                            \
    X("gpu.N.pci", "")                                                                             \
    X("gpu.simulated", "1 when the driver is the simulated GPU")                                   \
    X("sources", "on | off: whether lines of source may be kept when the file is completed")       \
    X("stacks", "on | off")                                                                        \
    X("arguments", "on | off: whether LAUNCH events have arguments")                               \
    X("arguments.why", "one line, when off")                                                       \
    X("kernels", "on | off: whether KERNEL events are recorded")                                   \
    X("kernels.hardware", "1: kernel times are from the GPU's own events; absent: they are not")   \
    X("managed", "on | off: whether MIGRATION and FAULT events are recorded")                      \
    X("managed.why", "one line, when off although asked for")                                      \
    X("nvtx", "on | off: whether RANGE events can come")                                           \
    X("nvtx.why", "one line, when off")                                                            \
    X("content", "off | sampled | whole")                                                          \
    X("content.why", "one line, when it could not be had")                                         \
    X("content.ns", "what hashing took in all")                                                    \
    X("content.skipped.WHY", "transfers without a hash")                                           \
    X("apply.N", "what was carried out at one place, in nine words (docs/trace-format.md)")        \
    X("host_access", "on | off: whether the host's accesses were asked for")                       \
    X("host_access.why", "one line, when they could not be had")                                   \
    X("host_access.ns", "what asking took in all")                                                 \
    X("host_access.told", "HOST_ACCESS events")                                                    \
    X("host_access.skipped.WHY", "large copies whose use by the host is not known")                \
    X("verify", "on: whether kernels change what was copied was asked for; absent: it was not")    \
    X("verify.why", "one line, when it could not be had")                                          \
    X("verify.ns", "what looking at the device's memory took in all")                              \
    X("verify.launches", "launches that were looked at")                                           \
    X("verify.kept", "of these, how many left something that had been copied as it was")           \
    X("verify.skipped.WHY", "copies and launches of which nothing is known")                       \
    X("cost.KIND.ns", "what recording added to a call of this kind: the median of those timed")    \
    X("cost.KIND.n", "how many were timed")                                                        \
    X("python.version", "e.g. 3.12, when an interpreter was loaded as recording began")            \
    X("periods.delay_ns", "a limit that is set, with what is recorded of the run (PERIOD events)") \
    X("periods.duration_ns", "the same")                                                           \
    X("periods.max_bytes", "the same, of the run's files")                                         \
    X("periods.phase", "the same, the name of NVTX ranges")                                        \
    X("python.frames", "on | off: whether stacks have Python frames; absent: none was met")        \
    X("python.frames.why", "one line, when off")                                                   \
    X("checks.failed", "of the recorder's own code: how many, and the first; absent: none")        \
    X("descriptors", "shared: the recorder's thread could not have a table of its own")            \
    X("exit", "exit | signal N | unknown")

#endif
