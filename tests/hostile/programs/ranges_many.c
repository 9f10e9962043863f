/* Has 5,000 NVTX ranges open, 100 deep, in eight threads, ends some in other threads, pops what it
 * has not pushed. */
#include <stdio.h>

#include "tests/programs/nvtx_client.h"

#include <stdatomic.h>
#include <stdint.h>

#include "tests/hostile/hostile.h"

enum { THREADS = 8, OPEN = 625, DEPTH = 100 };

static nvtxRangeId_t ranges[THREADS][OPEN];
static pthread_barrier_t all;
static _Atomic long levels;

static void work(unsigned number)
{
    char name[24];
    use_gpu();
    for (unsigned i = 0; i < OPEN; i++) {
        snprintf(name, sizeof name, "range %u", i % 50);
        ranges[number][i] = nvtxRangeStartA(name);
    }
    for (int i = 0; i < DEPTH; i++)
        nvtxRangePushA("nested");
    round_trips(number, 50);
    pthread_barrier_wait(&all);
    for (unsigned i = 0; i < OPEN; i++)
        nvtxRangeEnd(ranges[(number + 1) % THREADS][i]);
    for (int i = 0; i < DEPTH + 3; i++)
        levels += nvtxRangePop() < 0;
    round_trips(number, 10);
}

int main(void)
{
    begin();
    pthread_barrier_init(&all, NULL, THREADS);
    in_threads(THREADS, 0, work);
    moved();
    return 0;
}
