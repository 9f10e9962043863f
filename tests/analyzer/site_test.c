/* Call sites and the names of calls, from made-up stacks: threads of every kind of program,
 * PyTorch's backward passes, static CUDA runtimes with and without their symbols. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"

#define APP "/opt/app/train"
#define CUDART "/usr/lib/libcudart.so.13"
#define TORCH "/usr/lib/python3/site-packages/torch/lib/libtorch_cpu.so"
#define TORCH_CUDA "/usr/lib/python3/site-packages/torch/lib/libtorch_cuda.so"
#define TORCH_PYTHON "/usr/lib/python3/site-packages/torch/lib/libtorch_python.so"
#define STDCXX "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"
#define LIBC "/usr/lib/x86_64-linux-gnu/libc.so.6"
#define PYTHON "/usr/bin/python3.12"

enum { RUNTIME_CALL = 1, DRIVER_CALL = 2, MOST_FRAMES = 16 };

/* A frame; a Python line has a file, but no module. */
struct spec {
    const char *function, *module, *file;
    unsigned line;
};

#define MODULE_BYTES 0x100000u

/* Where a module begins: each one of the stack has its place. */
static uint64_t module_start(struct trace_builder *b, const struct spec *stack, unsigned depth)
{
    unsigned first = 0;
    while (!stack[first].module || strcmp(stack[first].module, stack[depth].module) != 0)
        first++;
    uint64_t start = 0x7f0000000000 + (uint64_t)first * MODULE_BYTES;
    if (first == depth)
        build_module(b, start, start + MODULE_BYTES, stack[depth].module);
    return start;
}

static struct analyzed report_of_memory(const struct spec *stack, unsigned call,
                                        enum xft_memory memory)
{
    struct trace_builder b;
    uint64_t addresses[MOST_FRAMES];
    unsigned depth = 0;
    build_start(&b, 1);
    build_call(&b, RUNTIME_CALL, XFT_LEVEL_RUNTIME, "cudaMemcpyAsync");
    build_call(&b, DRIVER_CALL, XFT_LEVEL_DRIVER, "cuMemcpyHtoDAsync_v2");
    build_call(&b, DRIVER_CALL + 1, XFT_LEVEL_RUNTIME, "cudaMemcpy");
    build_call(&b, DRIVER_CALL + 2, XFT_LEVEL_RUNTIME, "cudaMemcpyToSymbolAsync");
    build_call(&b, DRIVER_CALL + 3, XFT_LEVEL_RUNTIME, "cudaMemcpyToSymbol");
    for (; depth < MOST_FRAMES && (stack[depth].module || stack[depth].file); depth++) {
        const struct spec *spec = &stack[depth];
        addresses[depth] = spec->module ? module_start(&b, stack, depth) + 0x1000 * (depth + 1)
                                        : XFT_PYTHON_FRAME | (depth + 1);
        if (spec->function)
            build_symbol(&b, addresses[depth], 0, spec->function, spec->file ? spec->file : "",
                         spec->line, spec->module ? spec->module : "");
    }
    build_stack(&b, 1, addresses, depth);
    struct xft_event event =
        test_transfer(call, XFT_DIR_H2D, memory, 1 << 20, TEST_START_NS, 500000);
    event.stack = 1;
    build_events(&b, 0, 0, &event, 1);
    build_close(&b, XFT_STATE_CLOSED, TEST_START_NS + 1000000);
    struct analyzed report = analyzed_trace(&b, NULL);
    build_free(&b);
    assert_int_equal(report.analysis->row_count, 1);
    return report;
}

static struct analyzed report_of(const struct spec *stack, unsigned call)
{
    return report_of_memory(stack, call, XFT_MEM_PINNED);
}

/* Programs read it as well. */
static void check_json(const struct analyzed *report, const char *expected)
{
    char *text = analyzed_report(report, &xfa_format_json);
    if (!strstr(text, expected))
        fail_msg("JSON lacks %s", expected);
    free(text);
}

static void check(const struct spec *stack, const char *site, bool autograd)
{
    struct analyzed report = report_of(stack, RUNTIME_CALL);
    assert_string_equal(analyzed_row(&report, 0)->site->text, site);
    assert_int_equal(analyzed_row(&report, 0)->site->autograd, autograd);
    check_json(&report, autograd ? "\"thread\": \"autograd\"" : "\"thread\": null");
    check_json(&report, "\"runtime_function\": null");
    assert_string_equal(xfa_row_called(analyzed_row(&report, 0))->name, "cudaMemcpyAsync");
    analyzed_free(&report);
}

#define CHECK(site, autograd, ...) check((struct spec[]){__VA_ARGS__, {0}}, site, autograd)

/* ---- PyTorch ------------------------------------------------------------------------------ */

#define COPY_KERNEL                                                                                \
    {                                                                                              \
        "at::native::copy_kernel_cuda(at::TensorIterator&, bool)", TORCH_CUDA                      \
    }
#define BACKWARD                                                                                   \
    {                                                                                              \
        "torch::autograd::generated::ToCopyBackward0::apply(std::vector<int>&&)", TORCH            \
    }
#define THREAD_MAIN                                                                                \
    {                                                                                              \
        "torch::autograd::Engine::thread_main(std::shared_ptr<torch::autograd::GraphTask> "        \
        "const&)",                                                                                 \
            TORCH                                                                                  \
    }
#define THREAD_INIT                                                                                \
    {                                                                                              \
        "torch::autograd::Engine::thread_init(int, std::shared_ptr<int> const&, bool)", TORCH      \
    }
#define PYTHON_INIT                                                                                \
    {                                                                                              \
        "torch::autograd::python::PythonEngine::thread_init(int, std::shared_ptr<int> const&, "    \
        "bool)",                                                                                   \
            TORCH_PYTHON                                                                           \
    }
#define STD_THREAD                                                                                 \
    {                                                                                              \
        NULL, STDCXX                                                                               \
    }
#define LIBC_THREAD                                                                                \
    {                                                                                              \
        NULL, LIBC                                                                                 \
    }

static void test_backward_thread(void **state)
{
    (void)state;
    CHECK("at::native::copy_kernel_cuda (libtorch_cuda.so), autograd thread", true, COPY_KERNEL,
          BACKWARD, THREAD_MAIN, THREAD_INIT, PYTHON_INIT, STD_THREAD, LIBC_THREAD, LIBC_THREAD);
    CHECK("at::native::copy_kernel_cuda (libtorch_cuda.so), autograd thread", true, COPY_KERNEL,
          THREAD_MAIN, PYTHON_INIT, STD_THREAD, LIBC_THREAD);
    CHECK("libtorch_cuda.so+0x1000, autograd thread", true, {NULL, TORCH_CUDA}, THREAD_MAIN,
          STD_THREAD);
    CHECK("Scale.backward (ops.py:12), autograd thread", true, COPY_KERNEL,
          {"Scale.backward", NULL, "/home/me/ops.py", 12},
          {"apply", NULL, "/usr/lib/python3.12/site-packages/torch/autograd/function.py", 307},
          THREAD_MAIN, PYTHON_INIT, STD_THREAD, LIBC_THREAD);
}

/* Work that is left to the calling thread: its lines are there. */
static void test_backward_in_the_calling_thread(void **state)
{
    (void)state;
    CHECK("train (train.py:93)", false, COPY_KERNEL, BACKWARD, THREAD_MAIN,
          {"torch::autograd::THPEngine_run_backward(_object*)", TORCH_PYTHON},
          {"backward", NULL, "/usr/lib/python3.12/site-packages/torch/_tensor.py", 525},
          {"train", NULL, "/home/me/train.py", 93}, {NULL, PYTHON}, LIBC_THREAD);
    CHECK("step (train.cpp:31)", false, COPY_KERNEL, BACKWARD, THREAD_MAIN,
          {"step", APP, "/src/train.cpp", 31}, LIBC_THREAD);
    CHECK("at::native::(anonymous namespace)::copy_ (from python3.12)", false,
          {"at::native::(anonymous namespace)::copy_(at::Tensor&)", TORCH},
          {"_PyEval_EvalFrameDefault", PYTHON}, LIBC_THREAD);
}

/* ---- threads ------------------------------------------------------------------------------ */

#define CUDA_COPY                                                                                  \
    {                                                                                              \
        "cudaMemcpyAsync", CUDART                                                                  \
    }

static void test_thread_starts_are_no_sites(void **state)
{
    (void)state;
    CHECK("c10::cuda::memcpy_and_sync (libtorch_cuda.so)", false, CUDA_COPY,
          {"c10::cuda::memcpy_and_sync(void*, void*, long)", TORCH_CUDA}, STD_THREAD, LIBC_THREAD,
          {"clone3", LIBC});
    CHECK("ncclProxyProgress (libnccl.so.2)", false, CUDA_COPY,
          {"ncclProxyProgress", "/usr/lib/libnccl.so.2"}, {"start_thread", LIBC}, {"clone", LIBC});
    CHECK("cudaMemcpyAsync (libcudart.so.13)", false, CUDA_COPY, {"start_thread", LIBC});
    CHECK("fill (app.c:7)", false, CUDA_COPY, {"fill", APP, "/src/app.c", 7},
          {"gomp_thread_start", "/usr/lib/libgomp.so.1"}, LIBC_THREAD);
    CHECK("main._omp_fn.0 (train)", false, CUDA_COPY, {"main._omp_fn.0", APP},
          {NULL, "/usr/lib/libgomp.so.1"}, LIBC_THREAD);
    CHECK("Task::execute (train)", false, CUDA_COPY, {"Task::execute", APP},
          {"tbb::detail::r1::rml::private_worker::thread_routine(void*)", "/usr/lib/libtbb.so.12"},
          LIBC_THREAD);
    CHECK("libc.so.6+0x1000", false, LIBC_THREAD, LIBC_THREAD);
}

/* Linked statically, or the program's own template with its code inlined. */
static void test_thread_starts_of_the_program(void **state)
{
    (void)state;
    CHECK("start_thread (train)", false, CUDA_COPY, {"start_thread", APP}, LIBC_THREAD);
    CHECK("work (train)", false, CUDA_COPY, {"work", APP},
          {"void std::__invoke_impl<void, void (*)()>(std::__invoke_other, void (*&&)())", APP},
          {"execute_native_thread_routine", APP}, LIBC_THREAD);
    CHECK("main::{lambda()#1} (train)", false, CUDA_COPY,
          {"std::thread::_State_impl<std::thread::_Invoker<std::tuple<main::{lambda()#1}> > "
           ">::_M_run()",
           APP},
          {"execute_native_thread_routine", APP}, LIBC_THREAD);
    CHECK("at::copy (libtorch_cuda.so)", false, CUDA_COPY, {"at::copy(int)", TORCH_CUDA},
          {"std::thread::_State_impl<std::thread::_Invoker<std::tuple<int> > >::_M_run()", APP},
          STD_THREAD);
    CHECK("_cgo_a1b2_Cfunc_cudaMemcpy (train)", false, CUDA_COPY,
          {"_cgo_a1b2_Cfunc_cudaMemcpy", APP}, {"runtime.asmcgocall.abi0", APP},
          {"runtime.goexit.abi0", APP});
    CHECK("loader::run (train)", false, CUDA_COPY, {"loader::run", APP},
          {"core::ops::function::FnOnce::call_once", APP},
          {"std::sys::pal::unix::thread::Thread::new::thread_start", APP}, LIBC_THREAD);
}

/* What the compiler made of templates of the C++ library, or of Thrust, is no call site, where a
 * function of the program is on the stack; but rather one than CUDA's libraries are. */
static void test_templates_of_libraries(void **state)
{
    (void)state;
    CHECK("Frontier::advance() (train)", false, CUDA_COPY,
          {"thrust::V1::device_ptr<int> thrust::V1::copy<int*>(int*)", APP},
          {"Frontier::advance()", APP}, {"main", APP});
    CHECK("main::{lambda()#1} (train)", false, CUDA_COPY,
          {"std::vector<Worker>::~vector()", APP, "/usr/include/c++/12/bits/stl_vector.h", 733},
          {"std::thread::_State_impl<std::thread::_Invoker<std::tuple<main::{lambda()#1}> > "
           ">::_M_run()",
           APP},
          {"execute_native_thread_routine", APP}, LIBC_THREAD);
    CHECK("cub::DeviceReduce::Sum (train)", false, CUDA_COPY, {"cub::DeviceReduce::Sum(int)", APP},
          {"start_thread", LIBC});
    CHECK("fill() (train)", false, CUDA_COPY, {"fill()", APP}, {"std::invoke<int>(int)", APP});
}

/* ---- the name that the programmer wrote --------------------------------------------------- */

static void check_name(const struct spec *stack, const char *site, const char *runtime)
{
    struct analyzed report = report_of(stack, DRIVER_CALL);
    const struct xfa_row *row = analyzed_row(&report, 0);
    assert_string_equal(row->site->text, site);
    assert_string_equal(row->function->name, "cuMemcpyHtoDAsync_v2");
    assert_string_equal(xfa_row_called(row)->name, runtime ? runtime : "cuMemcpyHtoDAsync_v2");
    assert_true((row->runtime_function != NULL) == (runtime != NULL));
    check_json(&report, "\"function\": \"cuMemcpyHtoDAsync_v2\"");
    if (runtime)
        check_json(&report, "\"runtime_function\": \"cuda");
    analyzed_free(&report);
}

#define CHECK_NAME(site, runtime, ...) check_name((struct spec[]){__VA_ARGS__, {0}}, site, runtime)
#define HASHED                                                                                     \
    {                                                                                              \
        "libcudart_static_5382377d5c772c9d197c0cda9fd9742ee6ad893c", APP                           \
    }
#define UPLOAD                                                                                     \
    {                                                                                              \
        "upload", APP, "/src/app.cu", 42                                                           \
    }

static void test_static_runtime(void **state)
{
    (void)state;
    CHECK_NAME("upload (app.cu:42)", "cudaMemcpy", HASHED, HASHED, {"cudaMemcpy", APP}, UPLOAD);
    CHECK_NAME("upload (app.cu:42)", "cudaMemcpyAsync", HASHED, {"cudaMemcpyAsync_ptsz", APP},
               UPLOAD);
    CHECK_NAME("upload (app.cu:42)", "cudaMemcpyToSymbol", HASHED, {"cudaMemcpyToSymbolAsync", APP},
               {"cudaError cudaMemcpyToSymbol<float [16]>(float const (&) [16], void const*)", APP,
                "/usr/local/cuda/include/cuda_runtime.h", 1024},
               UPLOAD);
    CHECK_NAME("upload (app.cu:42)", "cudaMemcpyArrayToArray", HASHED,
               {"cudaMemcpyArrayToArray", APP}, UPLOAD);
    CHECK_NAME("upload (app.cu:42)", "cudaMemcpy", {"cudaMemcpy", CUDART}, UPLOAD);
}

/* Names that only the global ones are left of: what cudaMemcpy calls is the runtime. */
static void test_stripped_runtime(void **state)
{
    (void)state;
    CHECK_NAME("upload (app.cu:42)", "cudaMemcpy", {NULL, APP}, {NULL, APP}, {"cudaMemcpy", APP},
               UPLOAD);
    CHECK_NAME("upload (app.cu:42)", "cudaMemcpy", {NULL, APP}, HASHED, {"cudaMemcpy", APP},
               UPLOAD);
    CHECK_NAME("train+0x4000", "cudaMemcpy", {NULL, APP}, {NULL, APP}, {"cudaMemcpy", APP},
               {NULL, APP}, LIBC_THREAD);
    /* With no name at all, nothing tells the runtime from the program. */
    CHECK_NAME("train+0x1000", NULL, {NULL, APP}, {NULL, APP}, {NULL, APP}, LIBC_THREAD);
}

static void test_no_runtime_function(void **state)
{
    (void)state;
    CHECK_NAME("upload (app.cu:42)", NULL, UPLOAD, {"main", APP, "/src/app.cu", 99});
    CHECK_NAME("upload (app.cu:42)", NULL, {"cudaCheckedCopy", APP}, UPLOAD); /* none of CUDA's */
    CHECK_NAME("upload (app.cu:42)", NULL, UPLOAD, {"cudaMemcpy", APP});      /* further out */
    CHECK_NAME("train+0x1000", NULL, {NULL, APP}, {"cudaMemcpy", CUDART});    /* another module */
    CHECK_NAME("libtorch_cuda.so+0x1000", NULL, {NULL, TORCH_CUDA}, STD_THREAD);
}

/* ---- dialects ------------------------------------------------------------------------------- */

#define PACKAGES "/opt/v/lib/python3.12/site-packages/"

static void check_dialect(const struct spec *stack, enum xfa_dialect dialect)
{
    struct analyzed report = report_of(stack, RUNTIME_CALL);
    assert_int_equal(analyzed_row(&report, 0)->site->dialect, dialect);
    analyzed_free(&report);
}

#define CHECK_DIALECT(dialect, ...) check_dialect((struct spec[]){__VA_ARGS__, {0}}, dialect)
#define LINE                                                                                       \
    {                                                                                              \
        "main", NULL, "/home/u/jax/cupy/train.py", 7                                               \
    }

/* By native modules and by Python files of installed packages; the user's own folders, whatever
 * their names, tell nothing. */
static void test_dialects(void **state)
{
    (void)state;
    CHECK_DIALECT(XFA_DIALECT_CUDA, {"copy", APP}, LINE);
    CHECK_DIALECT(XFA_DIALECT_CUDA, {"copy", "/home/u/cupy/libmine.so"}, LINE);
    CHECK_DIALECT(XFA_DIALECT_PYTORCH, {NULL, TORCH_CUDA}, LINE);
    CHECK_DIALECT(XFA_DIALECT_CUPY, {"cudaMemcpyAsync", PACKAGES "cupy_backends/cuda/runtime.so"},
                  LINE);
    CHECK_DIALECT(XFA_DIALECT_CUPY, {NULL, PACKAGES "cupy/cuda/memory.so"}, LINE);
    CHECK_DIALECT(XFA_DIALECT_JAX, {NULL, PACKAGES "jax_plugins/xla_cuda13/xla_cuda_plugin.so"});
    CHECK_DIALECT(XFA_DIALECT_JAX, {"device_put", NULL, PACKAGES "jax/_src/api.py", 9}, LINE);
    CHECK_DIALECT(XFA_DIALECT_NUMBA, {NULL, PACKAGES "cuda/bindings/driver.so"},
                  {"to_device", NULL, PACKAGES "numba_cuda/numba/cuda/api.py", 12}, LINE);
}

/* The innermost one made the copy. */
static void test_dialects_among_each_other(void **state)
{
    (void)state;
    CHECK_DIALECT(XFA_DIALECT_CUPY, {NULL, PACKAGES "cupy/cuda/memory.so"}, {NULL, TORCH}, LINE);
    CHECK_DIALECT(XFA_DIALECT_PYTORCH, {NULL, TORCH}, {NULL, PACKAGES "cupy/cuda/memory.so"}, LINE);
}

static void check_of(const char *of, struct xfa_frame frame)
{
    const char *found = xfa_frame_of(&frame);
    if (of)
        assert_string_equal(found, of);
    else
        assert_null(found);
}

/* What is folded: all but the program's own frames. */
static void test_whose_a_frame_is(void **state)
{
    (void)state;
    check_of(NULL, (struct xfa_frame){.function = "copy", .module = APP});
    check_of(NULL, (struct xfa_frame){.module = "/home/u/torch/libmine.so"});
    check_of(NULL, (struct xfa_frame){0});
    check_of("PyTorch", (struct xfa_frame){.module = TORCH});
    check_of("PyTorch", (struct xfa_frame){.module = PACKAGES "torch/lib/libc10.so"});
    check_of("CuPy", (struct xfa_frame){.module = PACKAGES "cupy/cuda/memory.so"});
    check_of("JAX", (struct xfa_frame){.module = PACKAGES "jaxlib/libxla_x.so"});
    check_of("installed packages", (struct xfa_frame){.module = PACKAGES "other/x.so"});
    check_of("CUDA", (struct xfa_frame){.module = "/usr/lib/libcudart.so.12"});
    check_of("the system", (struct xfa_frame){.module = "/lib/libc.so.6"});
    check_of("Python", (struct xfa_frame){.module = "/usr/bin/python3.12"});
    const struct xfa_frame python = {.address = XFT_PYTHON_FRAME, .module = "python"};
    struct xfa_frame frame = python;
    check_of(NULL, frame); /* its file is not known */
    frame.file = "/home/u/torch/train.py";
    check_of(NULL, frame);
    frame.file = PACKAGES "torch/nn/modules/module.py";
    check_of("PyTorch", frame);
    frame.file = "<frozen importlib._bootstrap>";
    check_of("Python", frame);
    frame.file = PACKAGES "requests/api.py";
    check_of("installed packages", frame);
    frame.file = "/usr/lib/python3.12/runpy.py";
    check_of("Python", frame);
}

/* ---- libraries of messages ---------------------------------------------------------------- */

#define OPEN_MPI "/opt/mpi/lib/openmpi/"
#define SENDS                                                                                      \
    {                                                                                              \
        "send_all", APP, "/src/app.c", 30                                                          \
    }
#define IN_MPI                                                                                     \
    {"mca_common_cuda_cu_memcpy", "/opt/mpi/lib/libmca_common_cuda.so.40"},                        \
        {NULL, OPEN_MPI "mca_pml_ob1.so"},                                                         \
    {                                                                                              \
        "PMPI_Send", "/opt/mpi/lib/libmpi.so.40"                                                   \
    }

/* What they call for their own ends is shown where the program called them; of what the program
 * does that they call they say nothing, nor of bindings, which only call MPI. */
static void test_within_libraries_of_messages(void **state)
{
    (void)state;
    CHECK("send_all (app.c:30), within MPI", false, CUDA_COPY, IN_MPI, SENDS);
    CHECK("send_all (app.c:30), within MPI", false, CUDA_COPY,
          {"uct_cuda_copy_ep_put_zcopy", "/usr/lib/ucx/libuct_cuda.so.0"},
          {"MPI_Recv", "/usr/lib/libmpich.so.12"}, SENDS);
    CHECK("send_all (app.c:30), within MPI", false, {"cuMemAlloc_v2", "/x/libxferscope.so"},
          {"ucm_override_cuMemAlloc_v2", "/usr/lib/ucx/libucm_cuda.so.0"},
          {"uct_cuda_copy_mem_alloc", "/usr/lib/ucx/libuct_cuda.so.0"}, SENDS);
    CHECK("send_all (app.c:30)", false, {"cuMemAlloc_v2", "/x/libxferscope.so"},
          {"ucm_override_cuMemAlloc_v2", "/usr/lib/ucx/libucm_cuda.so.0"}, SENDS);
    CHECK("send_all (app.c:30), within NCCL", false, CUDA_COPY,
          {"ncclGroupEnd", "/usr/lib/libnccl.so.2"}, SENDS);
    CHECK("add (app.c:9)", false, CUDA_COPY, {"add", APP, "/src/app.c", 9}, IN_MPI, SENDS);
    CHECK("solve (solve.f90:8)", false, CUDA_COPY, {"mpi_send_", "/opt/mpi/lib/libmpi_mpifh.so.40"},
          {"solve", APP, "/src/solve.f90", 8});
    CHECK("send_all (app.c:30)", false, CUDA_COPY, SENDS,
          {"PMPI_Finalize", "/opt/mpi/lib/libmpi.so.40"});
    CHECK("mca_common_cuda_cu_memcpy (libmca_common_cuda.so.40)", false, CUDA_COPY, IN_MPI,
          {"start_thread", LIBC});
}

/* A library's function that makes or destroys something is named, where the program called it;
 * others are not. */
static void test_within_what_a_library_makes(void **state)
{
    (void)state;
    CHECK("send_all (app.c:30), within cufftPlan1d", false, CUDA_COPY,
          {NULL, "/usr/lib/libcufft.so.12"}, {"cufftMakePlanMany", "/usr/lib/libcufft.so.12"},
          {"cufftPlan1d", "/usr/lib/libcufft.so.12"}, SENDS);
    CHECK("send_all (app.c:30), within cublasCreate_v2", false, CUDA_COPY,
          {"cublasCreate_v2", "/usr/lib/libcublas.so.13"}, SENDS);
    CHECK("send_all (app.c:30)", false, CUDA_COPY,
          {"cufftXtMakePlanMany", "/usr/lib/libcufft.so.12"},
          {"cufftExecC2C", "/usr/lib/libcufft.so.12"}, SENDS);
    CHECK("send_all (app.c:30)", false, CUDA_COPY, SENDS,
          {"cufftCreate", "/usr/lib/libcufft.so.12"});
    CHECK("ncclProxyCreate (libnccl.so.2)", false, CUDA_COPY,
          {"ncclProxyCreate", "/usr/lib/libnccl.so.2"}, {"start_thread", LIBC});
}

/* What is to be done of a copy is said where the program made it. Those of MPI's are rows of their
 * own, also of the same line. */
static void test_nothing_to_do_within(void **state)
{
    const struct spec in_mpi[] = {CUDA_COPY, IN_MPI, SENDS, {0}};
    const struct spec own[] = {CUDA_COPY, SENDS, {0}};
    struct analyzed a = report_of_memory(own, RUNTIME_CALL, XFT_MEM_PAGEABLE);
    struct analyzed b = report_of_memory(in_mpi, RUNTIME_CALL, XFT_MEM_PAGEABLE);
    (void)state;
    assert_true(analyzed_row(&a, 0)->site->identity != analyzed_row(&b, 0)->site->identity);
    assert_null(analyzed_row(&a, 0)->site->within);
    assert_string_equal(analyzed_row(&b, 0)->site->within, "MPI");
    assert_true(a.findings->count > 0);
    assert_int_equal(b.findings->count, 0);
    analyzed_free(&a);
    analyzed_free(&b);
}

/* ---- helpers ------------------------------------------------------------------------------ */

#define MOST_STACKS 8

/* One transfer of each stack; of a native one the frames are the program's, of a Python one lines.
 */
static struct analyzed copies_of(const struct spec stacks[][4], unsigned count)
{
    struct trace_builder b;
    struct xft_event events[MOST_STACKS];
    build_start(&b, 1);
    build_call(&b, RUNTIME_CALL, XFT_LEVEL_RUNTIME, "cudaMemcpyAsync");
    build_module(&b, 0x7f0000000000, 0x7f0000000000 + MODULE_BYTES, APP);
    for (unsigned i = 0; i < count; i++) {
        uint64_t addresses[4];
        unsigned depth = 0;
        for (; depth < 4 && stacks[i][depth].file; depth++) {
            const struct spec *spec = &stacks[i][depth];
            uint64_t number = 16 * (i + 1) + depth;
            addresses[depth] =
                spec->module ? 0x7f0000000000 + 0x100 * number : XFT_PYTHON_FRAME | number;
            build_symbol(&b, addresses[depth], 0, spec->function, spec->file, spec->line,
                         spec->module ? spec->module : "");
        }
        build_stack(&b, i + 1, addresses, depth);
        events[i] = test_transfer(RUNTIME_CALL, XFT_DIR_H2D, XFT_MEM_PINNED, 1 << 20,
                                  TEST_START_NS + 100000 * i, 50000);
        events[i].stack = i + 1;
    }
    build_events(&b, 0, 0, events, count);
    build_close(&b, XFT_STATE_CLOSED, TEST_START_NS + 10000000);
    struct analyzed a = analyzed_trace(&b, NULL);
    build_free(&b);
    return a;
}

static uint64_t transfers_at(const struct analyzed *a, const char *site)
{
    uint64_t transfers = 0;
    for (size_t i = 0; i < a->analysis->row_count; i++)
        if (strcmp(xfa_analysis_row(a->analysis, i)->site->text, site) == 0)
            transfers += a->analysis->rows[i].transfers;
    return transfers;
}

/* A helper that two functions call is two sites; the lines of one function are one. */
static void test_callers_of_a_helper(void **state)
{
    (void)state;
    const struct spec helper = {"upload(float*, int)", APP, "/src/app.c", 5};
    const struct spec other = {"other", APP, "/src/app.c", 7};
    const struct spec stacks[][4] = {
        {helper, {"step(int)", APP, "/src/app.c", 40}, {"main", APP, "/src/app.c", 90}},
        {helper, {"load_mesh", APP, "/src/app.c", 60}, {"main", APP, "/src/app.c", 91}},
        {helper, {"step(int)", APP, "/src/app.c", 41}, {"main", APP, "/src/app.c", 92}},
        {other, {"main", APP, "/src/app.c", 93}},
        {other, {"main", APP, "/src/app.c", 94}},
        {{"move", NULL, "/home/me/run.py", 3}, {"epoch", NULL, "/home/me/run.py", 20}},
        {{"move", NULL, "/home/me/run.py", 3},
         {"apply", NULL, "/usr/lib/python3.12/site-packages/torch/x.py", 1},
         {"judge", NULL, "/home/me/run.py", 30}},
    };
    struct analyzed a = copies_of(stacks, 7);
    assert_int_equal(a.analysis->row_count, 5);
    assert_int_equal(transfers_at(&a, "upload(float*, int) (app.c:5), called by step"), 2);
    assert_int_equal(transfers_at(&a, "upload(float*, int) (app.c:5), called by load_mesh"), 1);
    assert_int_equal(transfers_at(&a, "other (app.c:7)"), 2);
    assert_int_equal(transfers_at(&a, "move (run.py:3), called by epoch"), 1);
    assert_int_equal(transfers_at(&a, "move (run.py:3), called by judge"), 1);
    analyzed_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_backward_thread),
        cmocka_unit_test(test_backward_in_the_calling_thread),
        cmocka_unit_test(test_thread_starts_are_no_sites),
        cmocka_unit_test(test_thread_starts_of_the_program),
        cmocka_unit_test(test_templates_of_libraries),
        cmocka_unit_test(test_static_runtime),
        cmocka_unit_test(test_stripped_runtime),
        cmocka_unit_test(test_no_runtime_function),
        cmocka_unit_test(test_dialects),
        cmocka_unit_test(test_dialects_among_each_other),
        cmocka_unit_test(test_whose_a_frame_is),
        cmocka_unit_test(test_within_libraries_of_messages),
        cmocka_unit_test(test_within_what_a_library_makes),
        cmocka_unit_test(test_nothing_to_do_within),
        cmocka_unit_test(test_callers_of_a_helper),
    };
    return cmocka_run_group_tests_name("analyzer-site", tests, NULL, NULL);
}
