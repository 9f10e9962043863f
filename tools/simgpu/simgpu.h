/*
 * What the simulated GPU exports beyond CUDA: its clock, and functions by which a program or a test
 * reports what the simulation cannot see. All are symbols of the simulated libcuda.so.1; find them
 * with dlsym on its handle, so that the same program runs on a real driver, where they do not
 * exist.
 *
 * docs/simgpu.md says what is modelled and how it is configured. Times are ns, sizes bytes.
 */
#ifndef XFERSCOPE_SIMGPU_H
#define XFERSCOPE_SIMGPU_H

#include <stddef.h>
#include <stdint.h>

/* The simulated machine's host clock: what a program on that machine would read from
 * CLOCK_MONOTONIC. Never goes back; the same for all threads, but for those that have begun as
 * below. */
uint64_t xferscope_simgpu_now_ns(void);

/* "NAME (file)" of the machine profile that times the simulation; "" before cuInit. Static. */
const char *xferscope_simgpu_machine(void);

/* Host work: advances the clock by ns. */
void xferscope_simgpu_spend_ns(uint64_t ns);

/* The same, while the host does nothing: no processor time (xferscope_simgpu_thread_ns()). */
void xferscope_simgpu_sleep_ns(uint64_t ns);

/*
 * Under the virtual clock: the calling thread has a clock of its own, as on a processor of its own,
 * until it calls _end(). It is number `number`, from 0, of `of` such threads, of which each waits
 * for all the others to begin; they begin at the same time. Calls of the driver are made in the
 * order of these clocks: a thread may wait for another one in no other way but by locks and
 * semaphores, below. Not 0: it has one.
 */
int xferscope_simgpu_thread_begin(unsigned number, unsigned of);
void xferscope_simgpu_thread_end(void);
/* How long the calling thread has had that clock, and neither slept nor waited for another one: it
 * was at work, or waited for the driver; 0: it has none. */
uint64_t xferscope_simgpu_thread_ns(void);
/* The same of all such threads of the process together, by the time of the calling one. */
uint64_t xferscope_simgpu_process_ns(void);

/* The same of each such thread, by its number of the kernel's; returns how many. */
struct xferscope_simgpu_thread {
    int tid;
    uint64_t worked_ns;
};
unsigned xferscope_simgpu_threads(struct xferscope_simgpu_thread *threads, unsigned most);

/* Time is real time (XFERSCOPE_SIMGPU_CLOCK=real): the kernel knows how long a thread was at work.
 */
int xferscope_simgpu_is_real(void);

/*
 * Such a thread takes a lock, known by its address, or gives it up. It waits, by its clock, as long
 * as another one has it; of several that wait the first to come has it next. A thread has one lock
 * at most. Of other threads: nothing happens.
 */
void xferscope_simgpu_lock(const void *lock);
void xferscope_simgpu_unlock(const void *lock);

/*
 * The same with a semaphore: a count, which the program sets before such threads begin. A thread
 * takes one, and waits as long as there is none, or adds one, for the first to have come. It may
 * hold a lock meanwhile.
 */
void xferscope_simgpu_take(unsigned *semaphore);
void xferscope_simgpu_post(unsigned *semaphore);

/*
 * Host work: bytes copied within the host by that many threads. Advances the clock by the cost that
 * the profile's table of that name ("host-copy/pageable/h2h/host", by threads) has for it; or, of a
 * table by bytes ("host-read/write-combined/host"), for so many bytes, whatever is done with them.
 */
void xferscope_simgpu_host_copy(const char *table, size_t bytes, unsigned threads);

/*
 * The running kernel takes ns (instead of XFERSCOPE_SIMGPU_KERNEL_NS). Only of use inside a host
 * twin, see xferscope_simgpu_twin; elsewhere nothing happens.
 */
void xferscope_simgpu_kernel_ns(uint64_t ns);

/* When the running kernel began, by the device's time; inside a host twin, elsewhere 0. */
uint64_t xferscope_simgpu_kernel_start_ns(void);

/*
 * An access that the simulation cannot see: inside a host twin, by the kernel; elsewhere, by the
 * host. Managed memory migrates to the side that touches it, and mapped host memory read or written
 * by a kernel takes the time of the profile's path. Unknown addresses are ignored.
 */
void xferscope_simgpu_touch(const void *address, size_t bytes, int write);

/*
 * The NUMA node, of the simulated machine, on which the calling thread allocates pinned memory and
 * from which its pageable memory comes; -1 (at first) leaves it to XFERSCOPE_SIMGPU_NUMA.
 */
void xferscope_simgpu_bind_numa(int node);

/*
 * Host memory that the calling thread copies from or to was just written by it (1), so that copies
 * take the time of the profile's paths with warm caches, where it has them; or it was not (0, at
 * first).
 */
void xferscope_simgpu_warm(int warm);

/* The simulated NUMA node of a host address, -1 when it is not host memory. */
int xferscope_simgpu_numa_of(const void *address);

/*
 * A kernel's host twin. When a kernel named NAME is launched and the process exports a function
 * xferscope_simgpu_kernel_NAME of this type, it is called with the kernel's parameters
 * (pointers to the values, as cuLaunchKernel takes them; device addresses can be dereferenced).
 */
typedef void xferscope_simgpu_twin(void **params, const unsigned grid[3], const unsigned block[3]);

/* Contexts that exist or are in the making (XFERSCOPE_SIMGPU_CONTEXT_MS makes that take its time).
 */
int xferscope_simgpu_contexts(void);

/* XFERSCOPE_SIMGPU_CUPTI_LATE is set. */
int xferscope_simgpu_cupti_late(void);

/* ---- for the simulated CUPTI ------------------------------------------------------------- */

enum xferscope_simgpu_what {
    XFERSCOPE_SIMGPU_COPY = 1,
    XFERSCOPE_SIMGPU_MEMSET = 2,
    XFERSCOPE_SIMGPU_KERNEL = 3,
    XFERSCOPE_SIMGPU_MIGRATION = 4, /* managed memory: bytes from src_device to dst_device */
    XFERSCOPE_SIMGPU_FAULT = 5,     /* touched by dst_device where it was not */
};

/* One thing a device did. */
struct xferscope_simgpu_activity {
    int what; /* enum xferscope_simgpu_what */
    uint64_t start_ns, end_ns;
    uint64_t bytes;
    uint32_t device, context, stream; /* ids as CUPTI numbers them */
    uint32_t correlation;             /* of the call that caused it */
    uint32_t graph;                   /* id of the graph, 0 = none */
    uint64_t graph_node;
    int src_memory, dst_memory; /* enum xft_memory */
    int src_device, dst_device; /* -1 = host */
    int asynchronous;
    unsigned value;   /* memset */
    const char *name; /* kernel; lives as long as the process */
    unsigned grid[3], block[3];
    unsigned count;          /* copies of a batch; faults, one for each block that had to move */
    const void *address;     /* of managed memory */
    int cause;               /* of a migration: enum xft_migration_cause */
    int write;               /* a fault's access */
    const void *instruction; /* of a host's fault */
    int half; /* of a copy that goes by way of the host: 1 to it, 2 from it; 0 = a whole copy */
};

/* Called by the driver, from any thread. Neither may call CUDA. */
struct xferscope_simgpu_hooks {
    /* Not 0 when it was recorded, which may cost time (XFERSCOPE_SIMGPU_RECORD_NS). */
    int (*activity)(const struct xferscope_simgpu_activity *activity);
    /* Around every driver call: entering 1 or 0; result is meaningful when leaving. */
    void (*call)(int entering, unsigned cbid, const char *function, uint32_t correlation,
                 void *context, int result);
};

/* Sets the hooks (NULL: none). The structure must stay. */
void xferscope_simgpu_set_hooks(const struct xferscope_simgpu_hooks *hooks);

#endif
