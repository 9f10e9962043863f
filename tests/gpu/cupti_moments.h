/* What tests/programs/races.cu tells a preloaded tests/gpu/cupti_steps.c. */
#ifndef CUPTI_MOMENTS_H
#define CUPTI_MOMENTS_H

enum moment {
    MOMENT_START,       /* before cuInit */
    MOMENT_INITIALISED, /* after cuInit, before the first context */
    MOMENT_COPY,        /* in each thread, before copies */
    MOMENT_CONTEXT_BEGINS,
    MOMENT_CONTEXT_ENDS,
};
typedef void (*moment_function)(enum moment moment);
#define MOMENT_FUNCTION "at_moment"

#endif
