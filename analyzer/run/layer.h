/*
 * Whose code a native frame of a call stack is. The choice of a call site depends on it, and it
 * shows which function of the CUDA runtime a program called.
 */
#ifndef XFA_LAYER_H
#define XFA_LAYER_H

#include "analyzer/run/site.h"

/* The lower, the better a call site. */
enum xfa_layer {
    XFA_LAYER_PROGRAM,
    XFA_LAYER_FRAMEWORK, /* the core of libtorch and the like */
    XFA_LAYER_THREAD,    /* the program's, made of a template that begins a thread */
    XFA_LAYER_TEMPLATE,  /* the program's, made of a template of the C++ library, Thrust or CUB */
    XFA_LAYER_LIBRARY,   /* CUDA's: cuBLAS, cuDNN ...; of messages: MPI, NCCL */
    XFA_LAYER_CUDA,      /* driver and runtime, a static one too, CUDA's headers, the recorder */
    XFA_LAYER_START,     /* the C and C++ libraries' and their like: begin threads, call nothing */
};
enum xfa_layer xfa_layer(const struct xfa_frame *frame);

/* "MPI" or "NCCL": the frame is of a library of messages, which calls CUDA for its own ends; NULL:
 * it is not. MPI's bindings for other languages call MPI alone, and are none. Static. */
const char *xfa_message_library(const struct xfa_frame *frame);

/* A library of CUDA's own (cuFFT, cuBLAS ...) has the frame, which is a function that makes or
 * destroys what is to be used many times, by its name: a plan, a handle. */
bool xfa_makes_for_library(const struct xfa_frame *frame);
/* Has the stack such a frame? Nothing is kept of it. */
bool xfa_stack_makes(const struct xfa_trace *trace, uint32_t stack);

/*
 * How many of the innermost frames are the CUDA driver's and runtime's; *function is the outermost
 * function of the runtime among them, as the source has it (without the suffix of per-thread
 * default streams; the trace's), NULL when its name is not known. Frames without a name are the
 * runtime's when a function of the runtime in the same module has called them: a static runtime's,
 * stripped.
 */
size_t xfa_runtime_frames(const struct xfa_trace *trace, const struct xfa_frame *frames,
                          size_t count, const char **function);

#endif
