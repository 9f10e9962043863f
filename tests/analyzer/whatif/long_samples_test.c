/* Samples of threads without calls, of a run of any length: what is kept of them is bounded. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyzer/whatif/ops/op_numbers.h"
#include "xferscope/trace.h"

/* Of a long run samples are taken together: as many as are kept have all that was worked. */
static void test_samples_of_a_long_run(void **state)
{
    enum { SAMPLES = 3 * XFW_MOST_WINDOWS, SAMPLE_NS = 5000000 };
    struct xfw_numbers numbers = {0};
    struct xfa_process process = {.number = 0};
    (void)state;
    xfw_numbers_begin(&numbers, &process);
    for (uint64_t i = 0; i < SAMPLES; i++) {
        struct xfa_event sample = {.kind = XFT_EVENT_PROCESSOR};
        sample.start_ns = i * SAMPLE_NS;
        sample.end_ns = sample.start_ns + SAMPLE_NS;
        sample.processor.until = XFT_PROCESSOR_OF_OTHERS;
        sample.processor.own_ns = i % 2 ? SAMPLE_NS : SAMPLE_NS / 4; /* all of it: unsure */
        xfw_pace_reading(&numbers, NULL, &sample);
    }
    xfw_paces_decide(&numbers, &process);
    assert_in_range(process.made_count, XFW_MOST_WINDOWS / 2, 2 * XFW_MOST_WINDOWS);
    const struct xfa_made *end = &process.made[process.made_count - 1];
    assert_true(fabs(end->ns / ((double)SAMPLES * SAMPLE_NS) - 1) < 0.001);
    assert_true(fabs(end->made_ns / end->ns - 0.625) < 0.001);
    assert_true(fabs(end->certain_ns / end->ns - 0.125) < 0.001);
    free(process.made);
    xfw_numbers_free(&numbers);
}

/* The only sample is the first and the last: what is before and behind it is alike, and not more.
 */
static void test_one_sample(void **state)
{
    enum { SAMPLE_NS = 5000000, BEFORE_NS = 1000000 };
    struct xfw_numbers numbers = {0};
    struct xfa_process process = {.number = 0};
    struct xfa_event sample = {.kind = XFT_EVENT_PROCESSOR};
    (void)state;
    xfw_numbers_begin(&numbers, &process);
    sample.start_ns = BEFORE_NS;
    sample.end_ns = BEFORE_NS + SAMPLE_NS;
    sample.processor.until = XFT_PROCESSOR_OF_OTHERS;
    sample.processor.own_ns = SAMPLE_NS / 2;
    xfw_pace_reading(&numbers, NULL, &sample);
    xfw_paces_decide(&numbers, &process);
    const struct xfa_made *end = &process.made[process.made_count - 1];
    assert_true(end->ns == BEFORE_NS + 2.0 * SAMPLE_NS);
    assert_true(fabs(end->made_ns - end->ns / 2) < 1);
    free(process.made);
    xfw_numbers_free(&numbers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples_of_a_long_run),
        cmocka_unit_test(test_one_sample),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
