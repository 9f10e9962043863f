/* Rounds upwards, flushes small numbers to zero and has traps for wrong arithmetic, in all its
 * threads. */
#include <fenv.h>
#include <signal.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "tests/hostile/hostile.h"

static unsigned control(void)
{
#if defined(__x86_64__)
    return _mm_getcsr() & ~0x3fu; /* without the flags of what has happened */
#else
    return 0;
#endif
}

static void work(unsigned number)
{
    volatile double third = 1.0;
    fesetround(FE_UPWARD);
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() | 0x8040); /* denormals are zeros */
#endif
    feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
    unsigned before = control();
    use_gpu();
    round_trips(number, 400);
    must(control() == before && fegetround() == FE_UPWARD, "the state of its arithmetic");
    must(third / 3.0 * 3.0 >= 1.0, "rounded upwards");
}

int main(void)
{
    begin();
    in_threads(4, 0, work);
    work(4);
    say("state %x, traps %x", control(), (unsigned)fegetexcept());
    moved();
    return 0;
}
