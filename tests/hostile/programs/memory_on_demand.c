/* Copies from memory whose pages a thread of its own provides when they are touched (userfaultfd).
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

enum { PAGES = 64, PAGE = 4096 };

static int faults;
static unsigned char *lazy;
static unsigned provided;

static void *provide(void *given)
{
    unsigned char *page = given;
    struct uffd_msg message;
    while (provided < PAGES && read(faults, &message, sizeof message) == sizeof message) {
        unsigned long at = message.arg.pagefault.address & ~(PAGE - 1ul);
        memset(page, (int)((at - (uintptr_t)lazy) / PAGE + 1), PAGE);
        struct uffdio_copy copy = {.dst = at, .src = (uintptr_t)page, .len = PAGE};
        provided += ioctl(faults, UFFDIO_COPY, &copy) == 0;
    }
    return NULL;
}

static void prepare(void)
{
    faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    struct uffdio_api api = {.api = UFFD_API};
    if (faults < 0 || ioctl(faults, UFFDIO_API, &api) != 0)
        skip("no userfaultfd");
    lazy = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                0);
    struct uffdio_register range = {.range = {(uintptr_t)lazy, (size_t)PAGES * PAGE},
                                    .mode = UFFDIO_REGISTER_MODE_MISSING};
    must(ioctl(faults, UFFDIO_REGISTER, &range) == 0, "register");
}

int main(void)
{
    static unsigned char page[PAGE] __attribute__((aligned(PAGE)));
    unsigned char back[PAGE];
    unsigned long sum = 0;
    pthread_t thread;
    prepare();
    begin();
    must(pthread_create(&thread, NULL, provide, page) == 0, "pthread_create");
    for (int i = 0; i < PAGES; i++) {
        must(cu.htod(on_device, lazy + (size_t)i * PAGE + 8, 1024) == 0, "up");
        must(cu.dtoh(back, on_device, 1024) == 0, "down");
        count_copy(1024);
        count_copy(1024);
        sum = sum * 31 + back[1000];
    }
    pthread_join(thread, NULL);
    say("%u pages provided, sum %lx", provided, sum);
    moved();
    return 0;
}
