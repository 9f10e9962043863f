/* Becomes another user before its first CUDA call, who may write nowhere. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

int main(void)
{
    if (getuid() != 0)
        skip("it takes root to become another user");
    must(chmod(".", 0755) == 0, "chmod");
    simulated();
    must(setgid(65533) == 0 && setuid(65533) == 0, "setuid");
    begin();
    round_trips(0, 300);
    int fd = open("own", O_WRONLY | O_CREAT, 0600);
    say("its own file: %s", fd < 0 ? strerror(errno) : "made");
    say("done"); /* its trace cannot be made, which is said */
    return 0;
}
