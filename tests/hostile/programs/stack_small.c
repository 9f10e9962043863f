/* Threads with the least stack that the driver can live with (20 KiB on the simulated one), beneath
 * it a page that nobody may touch. */
#include "tests/hostile/hostile.h"

static void work(unsigned number)
{
    use_gpu();
    for (int i = 0; i < 100; i++)
        round_trip(number, SLOT_BYTES); /* of which the simulated driver knows the time */
}

int main(void)
{
    begin();
    for (int i = 0; i < 4; i++)
        in_threads(8, simulated() ? 20 << 10 : 64 << 10, work);
    moved();
    return 0;
}
