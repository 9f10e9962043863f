#include "analyzer/run/layer.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/path.h"
#include "analyzer/run/function_name.h"

/* Libraries by the start of their file name. */
static const struct {
    const char *start;
    enum xfa_layer layer;
} libraries[] = {
    {"libxferscope.so", XFA_LAYER_CUDA},
    {"libcuda.so", XFA_LAYER_CUDA},
    {"libcudart.so", XFA_LAYER_CUDA},
    {"libcudart-", XFA_LAYER_CUDA},
    {"libucm_cuda.so", XFA_LAYER_CUDA}, /* UCX's jumps into the driver's functions */
    {"libcublas", XFA_LAYER_LIBRARY},
    {"libcudnn", XFA_LAYER_LIBRARY},
    {"libcufft", XFA_LAYER_LIBRARY},
    {"libcurand", XFA_LAYER_LIBRARY},
    {"libcusolver", XFA_LAYER_LIBRARY},
    {"libcusparse", XFA_LAYER_LIBRARY},
    {"libcupti", XFA_LAYER_LIBRARY},
    {"libc10", XFA_LAYER_FRAMEWORK},
    {"libtorch", XFA_LAYER_FRAMEWORK},
    {"libxla", XFA_LAYER_FRAMEWORK},
    {"libtensorflow", XFA_LAYER_FRAMEWORK},
    {"xla_cuda_", XFA_LAYER_FRAMEWORK},
    {"libcupy", XFA_LAYER_FRAMEWORK},
    {"libc.so", XFA_LAYER_START},
    {"libc-", XFA_LAYER_START},
    {"libc.musl", XFA_LAYER_START},
    {"ld-", XFA_LAYER_START},
    {"libpthread", XFA_LAYER_START},
    {"libstdc++", XFA_LAYER_START},
    {"libc++", XFA_LAYER_START},
    {"libgcc_s", XFA_LAYER_START},
    {"libgomp", XFA_LAYER_START},
    {"libomp", XFA_LAYER_START},
    {"libiomp", XFA_LAYER_START},
    {"libtbb", XFA_LAYER_START},
};

/* Libraries of messages, whose name begins so. MPI's bindings for other languages come before the
 * library that they call. */
static const struct {
    const char *start;
    const char *owner; /* NULL: bindings */
} message_libraries[] = {
    {"libmpi_", NULL},      {"libmpifort", NULL},   {"libmpicxx", NULL},     {"libmpi", "MPI"},
    {"libopen-pal", "MPI"}, {"libopen-rte", "MPI"}, {"libmca_", "MPI"},      {"mca_", "MPI"},
    {"libucp.so", "MPI"},   {"libuct", "MPI"},      {"libucs.so", "MPI"},    {"libucm", "MPI"},
    {"libucc", "MPI"},      {"libhcoll", "MPI"},    {"libfabric.so", "MPI"}, {"libpsm", "MPI"},
    {"libnccl", "NCCL"},
};

/* Its place in the list; -1: it is none. */
static int message_library(const char *module)
{
    for (size_t i = 0; i < sizeof message_libraries / sizeof *message_libraries; i++)
        if (xfa_starts(module, message_libraries[i].start))
            return (int)i;
    return -1;
}

const char *xfa_message_library(const struct xfa_frame *frame)
{
    int at = message_library(xfa_base_name(frame->module));
    return at >= 0 && xfa_layer(frame) == XFA_LAYER_LIBRARY ? message_libraries[at].owner : NULL;
}

bool xfa_makes_for_library(const struct xfa_frame *frame)
{
    const char *f = frame->function;
    return f && xfa_starts(f, "cu") && xfa_layer(frame) == XFA_LAYER_LIBRARY &&
           message_library(xfa_base_name(frame->module)) < 0 &&
           (strstr(f, "Create") || strstr(f, "Plan") || strstr(f, "Destroy"));
}

#define LIBRARY_NAME 256 /* bytes: theirs are shorter; a hostile trace has names of megabytes */

static bool symbol_makes(const struct xfa_symbol *symbol)
{
    if (symbol->function_bytes < 2 || symbol->function_bytes > LIBRARY_NAME ||
        memcmp(symbol->function, "cu", 2) != 0)
        return false;
    char *function = xfa_kept(symbol->function, symbol->function_bytes);
    char *module = xfa_kept(symbol->module, symbol->module_bytes);
    const struct xfa_frame frame = {.function = function, .module = module};
    bool makes = xfa_makes_for_library(&frame);
    free(function);
    free(module);
    return makes;
}

bool xfa_stack_makes(const struct xfa_trace *trace, uint32_t id)
{
    const struct xfa_stack *stack = xfa_trace_stack(trace, id);
    for (uint32_t i = 0; stack && i < stack->depth; i++) {
        size_t count;
        const struct xfa_symbol *symbols =
            xfa_trace_symbols(trace, xfa_stack_address(stack, i), &count);
        for (size_t k = 0; k < count; k++)
            if (symbol_makes(&symbols[k]))
                return true;
    }
    return false;
}

/* Functions by the start of their name: linked statically, or made of templates (in which the
 * program's own code may lie, inlined). Names that a program might use as well, such as
 * start_thread, are none of these. */
static const struct {
    const char *start;
    enum xfa_layer layer;
} functions[] = {
    {"_start", XFA_LAYER_START},
    {"__libc_start_", XFA_LAYER_START},
    {"execute_native_thread_routine", XFA_LAYER_START},
    {"std::thread::_State_impl<", XFA_LAYER_THREAD},
    {"std::thread::_Invoker<", XFA_LAYER_THREAD},
    {"void std::__invoke_impl<", XFA_LAYER_THREAD},
    {"gomp_thread_start", XFA_LAYER_START},
    {"__kmp_", XFA_LAYER_START},
    {"tbb::detail::r1::", XFA_LAYER_START},
    {"runtime.goexit", XFA_LAYER_START}, /* Go */
    {"runtime.asmcgocall", XFA_LAYER_START},
    {"runtime.cgocall", XFA_LAYER_START},
    {"runtime.mstart", XFA_LAYER_START},
    {"runtime.rt0_go", XFA_LAYER_START},
    {"runtime.main", XFA_LAYER_START},
    {"crosscall2", XFA_LAYER_START},
    {"std::sys::", XFA_LAYER_THREAD}, /* Rust */
    {"std::sys_common::", XFA_LAYER_THREAD},
    {"std::rt::lang_start", XFA_LAYER_START},
    {"std::panic::catch_unwind", XFA_LAYER_THREAD},
    {"std::panicking::", XFA_LAYER_THREAD},
    {"std::thread::Builder::spawn_unchecked", XFA_LAYER_THREAD},
    {"core::ops::function::FnOnce::call_once", XFA_LAYER_THREAD},
};

/* A statically linked CUDA runtime has no module of its own; it has no line numbers either. */
static bool static_runtime(const struct xfa_frame *frame)
{
    const char *f = frame->function;
    if (!f || frame->line)
        return false;
    bool api = (xfa_starts(f, "cuda") && isupper((unsigned char)f[4])) ||
               (xfa_starts(f, "cu") && isupper((unsigned char)f[2]));
    return api || xfa_starts(f, "__cudart") || xfa_starts(f, "libcudart_static_");
}

/* The C++ conveniences of CUDA's headers, e.g. the template cudaMallocHost<T>(). */
static bool cuda_header(const struct xfa_frame *frame)
{
    const char *file = xfa_base_name(frame->file);
    return strcmp(file, "cuda_runtime.h") == 0 || strcmp(file, "cuda_runtime_api.h") == 0;
}

enum xfa_layer xfa_layer(const struct xfa_frame *frame)
{
    const char *module = xfa_base_name(frame->module);
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (xfa_starts(module, libraries[i].start))
            return libraries[i].layer;
    if (message_library(module) >= 0)
        return XFA_LAYER_LIBRARY;
    if (static_runtime(frame) || cuda_header(frame))
        return XFA_LAYER_CUDA;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (xfa_starts(frame->function, functions[i].start))
            return functions[i].layer;
    return xfa_function_of_library(frame->function) ? XFA_LAYER_TEMPLATE : XFA_LAYER_PROGRAM;
}

/* ---- the runtime ------------------------------------------------------------------------- */

static size_t without_suffix(const char *name, size_t bytes)
{
    bool per_thread = bytes > 5 && (strncmp(name + bytes - 5, "_ptds", 5) == 0 ||
                                    strncmp(name + bytes - 5, "_ptsz", 5) == 0);
    return per_thread ? bytes - 5 : bytes;
}

/* The functions of the runtime that its recorder watches, as the trace lists them; and one that is
 * recorded as the two copies that it makes. */
static const char *watched(const struct xfa_trace *trace, const char *name, size_t bytes)
{
    static const char two_copies[] = "cudaMemcpyArrayToArray";
    const char *recorded = xfa_trace_runtime_name(trace, name, bytes);
    if (recorded)
        return recorded;
    return bytes == strlen(two_copies) && memcmp(two_copies, name, bytes) == 0 ? two_copies : NULL;
}

/* Of "cudaMemcpy_ptds" and of "cudaError cudaMemcpyToSymbol<int>(...)" the name in the source. */
static const char *runtime_function(const struct xfa_trace *trace, const char *function)
{
    if (!function)
        return NULL;
    size_t bytes = strcspn(function, "<(");
    const char *space = memrchr(function, ' ', bytes); /* behind it, a template's type */
    const char *name = space ? space + 1 : function;
    bytes = without_suffix(name, bytes - (size_t)(name - function));
    return watched(trace, name, bytes);
}

static bool same_module(const struct xfa_frame *a, const struct xfa_frame *b)
{
    return a->module && b->module && strcmp(a->module, b->module) == 0;
}

size_t xfa_runtime_frames(const struct xfa_trace *trace, const struct xfa_frame *frames,
                          size_t count, const char **function)
{
    const struct xfa_frame *unnamed = NULL;
    size_t known = 0;
    *function = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct xfa_frame *frame = &frames[i];
        bool cuda = xfa_layer(frame) == XFA_LAYER_CUDA;
        const char *name = cuda ? runtime_function(trace, frame->function) : NULL;
        bool nameless = !frame->function && xfa_layer(frame) == XFA_LAYER_PROGRAM &&
                        !(frame->address & XFT_PYTHON_FRAME);
        if ((!cuda && !nameless) || (unnamed && (cuda || nameless) && !same_module(unnamed, frame)))
            break;
        if (name)
            *function = name;
        if (name || (cuda && !unnamed))
            known = i + 1;
        if (name)
            unnamed = NULL;
        else if (nameless)
            unnamed = frame;
    }
    return known;
}
