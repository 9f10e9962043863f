/* Another user that may have one thread (RLIMIT_NPROC), before its first CUDA call. */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

static void *nothing(void *given)
{
    return given;
}

int main(void)
{
    pthread_t thread;
    if (!simulated())
        skip("a real driver needs threads");
    if (getuid() != 0)
        skip("it takes root to become another user");
    must(chown(".", 65531, 65531) == 0, "chown"); /* where a recorder may write */
    must(setgid(65531) == 0 && setrlimit(RLIMIT_NPROC, &(struct rlimit){1, 1}) == 0 &&
             setuid(65531) == 0,
         "to be another");
    begin();
    int error = pthread_create(&thread, NULL, nothing, NULL);
    say("a thread: %s", strerror(error));
    round_trips(0, 500);
    moved();
    return 0;
}
