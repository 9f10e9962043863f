/* Locks its memory, keeps a buffer from its children (DONTFORK), has another wiped there, and forks
 * between copies. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

enum { BYTES = 64 << 10 };

int main(void)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    begin();
    unsigned char *kept = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, flags, -1, 0);
    unsigned char *wiped = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, flags, -1, 0);
    must(kept != MAP_FAILED && wiped != MAP_FAILED, "mmap");
    must(madvise(kept, BYTES, MADV_DONTFORK) == 0 && madvise(wiped, BYTES, MADV_WIPEONFORK) == 0,
         "madvise");
    must(mlock(kept, BYTES) == 0, "mlock");
    if (simulated())
        must(mlockall(MCL_CURRENT | MCL_FUTURE) == 0, "mlockall");
    memset(wiped, 7, BYTES);
    for (int i = 0; i < 10; i++) {
        memset(kept, i, BYTES);
        must(cu.htod(on_device, kept, BYTES) == 0 && cu.dtoh(kept, on_device, BYTES) == 0,
             "copies");
        count_copy(BYTES);
        count_copy(BYTES);
        must(kept[BYTES - 1] == i, "the bytes that came back");
        pid_t child = fork();
        if (child == 0)
            _exit(wiped[100] + 20);
        await(child, "child");
    }
    moved();
    return 0;
}
