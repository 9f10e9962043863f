#include "preload/messages/mpi_abi.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "preload/base/attributes.h"
#include "preload/base/own_stack.h"
#include "preload/lookup/runtime.h"

#define VERSION_BYTES 8192 /* MPI_MAX_LIBRARY_VERSION_STRING of MPICH; Open MPI: 256 */

static struct xfs_mpi found_mpi;
const struct xfs_mpi *_Atomic xfs_mpi_found;
static atomic_int looking;
enum { LOOKING = 1, LOOKED };

static void *symbol(const char *name, const void *caller)
{
    return xfs_real_runtime_special(name, NULL, caller);
}

/* The handles of Open MPI by their numbers in Fortran: the objects' symbols may have other
 * addresses in a program that has copies of them. */
static xfs_word by_number(const char *function, int number, const void *caller)
{
    xfs_word (*convert)(int) = (__typeof__(convert))symbol(function, caller);
    return convert ? convert(number) : 0;
}

static bool set_open_mpi(struct xfs_mpi *mpi, const void *caller)
{
    *mpi = (struct xfs_mpi){
        .wide = true,
        .handle_bits = UINT64_MAX,
        .any_source = -1,
        .proc_null = -2,
        .named = 0,
        .of_grid = 1,
        .of_graph = 2,
        .of_dist_graph = 3,
        .world = by_number("PMPI_Comm_f2c", 0, caller),
        .self = by_number("PMPI_Comm_f2c", 1, caller),
        .no_comm = by_number("PMPI_Comm_f2c", 2, caller),
        .byte = by_number("PMPI_Type_f2c", 1, caller),
        .no_request = by_number("PMPI_Request_f2c", 0, caller),
        .empty_request = (xfs_word)symbol("ompi_request_empty", caller),
        .in_place = (const void *)1,
        .status_bytes = 24,
        .source_at = 0,
    };
    return mpi->world && mpi->self && mpi->no_comm && mpi->byte && mpi->no_request;
}

static bool set_mpich(struct xfs_mpi *mpi)
{
    *mpi = (struct xfs_mpi){
        .handle_bits = UINT32_MAX,
        .any_source = -2,
        .proc_null = -1,
        .named = 1,
        .of_graph = 1,
        .of_grid = 2,
        .of_dist_graph = 3,
        .world = 0x44000000,
        .self = 0x44000001,
        .no_comm = 0x04000000,
        .byte = 0x4c00010d,
        .no_request = 0x2c000000,
        .in_place = (const void *)-1,
        .status_ignored = (const void *)1,
        .status_bytes = 20,
        .source_at = 8,
    };
    return true;
}

static bool set_functions(struct xfs_mpi *mpi, const void *caller)
{
#define FIND(field, function, parameters)                                                          \
    if (!(mpi->field = (__typeof__(mpi->field))symbol("PMPI_" #function, caller)))                 \
        return false;
    XFS_MPI_ASKED(FIND)
#undef FIND
#define LOOK(field, function, parameters)                                                          \
    mpi->field = (__typeof__(mpi->field))symbol("PMPI_" #function, caller);
    XFS_MPI_ASKED_IF_THERE(LOOK)
#undef LOOK
    return true;
}

/* By what the library says of itself, which it does at any time. */
static bool set_interface(struct xfs_mpi *mpi, const void *caller)
{
    static char words[VERSION_BYTES + 1];
    static const char *const of_mpich[] = {"MPICH", "Intel(R) MPI", "MVAPICH"};
    int bytes = 0;
    int (*version)(char *, int *) = (__typeof__(version))symbol("PMPI_Get_library_version", caller);
    if (version == NULL || version(words, &bytes) != 0)
        return false;
    if (strstr(words, "Open MPI") || strstr(words, "Spectrum MPI"))
        return set_open_mpi(mpi, caller);
    for (size_t i = 0; i < sizeof of_mpich / sizeof *of_mpich; i++)
        if (strstr(words, of_mpich[i]))
            return set_mpich(mpi);
    return false;
}

static void look(void *caller)
{
    if (set_interface(&found_mpi, caller) && set_functions(&found_mpi, caller))
        atomic_store_explicit(&xfs_mpi_found, &found_mpi, memory_order_release);
    atomic_store(&looking, LOOKED);
}

/* A thread that finds another one looking spins until it is done: that takes less than a
 * millisecond.
 */
static const struct xfs_mpi *await_other(void)
{
    enum { ROUNDS = 1 << 22 };
    for (unsigned i = 0; i < ROUNDS && atomic_load(&looking) == LOOKING; i++)
        __builtin_ia32_pause();
    return xfs_mpi_known();
}

static XFS_COLD const struct xfs_mpi *look_or_wait(const void *caller)
{
    int none = 0;
    if (!atomic_compare_exchange_strong(&looking, &none, LOOKING))
        return none == LOOKING ? await_other() : xfs_mpi_known();
    int saved = errno;
    xfs_on_any_stack(look, (void *)(uintptr_t)caller);
    errno = saved;
    return xfs_mpi_known();
}

const struct xfs_mpi *xfs_mpi_here(const void *caller)
{
    const struct xfs_mpi *mpi = xfs_mpi_known();
    return __builtin_expect(mpi != NULL, 1) ? mpi : look_or_wait(caller);
}
