/* Writes and reads its file by io_uring, with a registered descriptor, while it copies what it has
 * read. */
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

static int ring;
static char *queue;
static struct io_uring_sqe *entries;
static struct io_uring_params params;

static unsigned *at(unsigned offset)
{
    return (unsigned *)(void *)(queue + offset);
}

static int one(int operation, void *bytes, unsigned length, unsigned long long offset)
{
    unsigned tail = *at(params.sq_off.tail), slot = tail & *at(params.sq_off.ring_mask);
    entries[slot] = (struct io_uring_sqe){.opcode = (unsigned char)operation,
                                          .flags = IOSQE_FIXED_FILE,
                                          .addr = (uintptr_t)bytes,
                                          .len = length,
                                          .off = offset};
    at(params.sq_off.array)[slot] = slot;
    __atomic_store_n(at(params.sq_off.tail), tail + 1, __ATOMIC_RELEASE);
    must(syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1,
         "io_uring_enter");
    unsigned head = *at(params.cq_off.head);
    struct io_uring_cqe *done = (struct io_uring_cqe *)(void *)(queue + params.cq_off.cqes);
    int result = done[head & *at(params.cq_off.ring_mask)].res;
    __atomic_store_n(at(params.cq_off.head), head + 1, __ATOMIC_RELEASE);
    return result;
}

static void open_ring(void)
{
    ring = (int)syscall(SYS_io_uring_setup, 8, &params);
    if (ring < 0 || !(params.features & IORING_FEAT_SINGLE_MMAP))
        skip("no io_uring");
    queue = mmap(NULL, 4096 * 4, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
    entries = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
    must(queue != MAP_FAILED && entries != MAP_FAILED, "the ring's memory");
    int fd = open("own", O_RDWR | O_CREAT, 0600);
    must(syscall(SYS_io_uring_register, ring, IORING_REGISTER_FILES, &fd, 1) == 0, "register");
    close(fd);
}

int main(void)
{
    char text[512], back[512];
    open_ring();
    begin();
    for (unsigned i = 0; i < 100; i++) {
        memset(text, 'a' + (int)(i % 26), sizeof text);
        must(one(IORING_OP_WRITE, text, sizeof text, i * sizeof text) == sizeof text, "write");
        must(one(IORING_OP_READ, back, sizeof back, i * sizeof back) == sizeof back, "read");
        must(cu.htod(on_device, back, sizeof back) == 0 &&
                 cu.dtoh(text, on_device, sizeof text) == 0,
             "copies");
        count_copy(sizeof back);
        count_copy(sizeof text);
        must(memcmp(text, back, sizeof text) == 0, "the same bytes");
    }
    say_file("own");
    moved();
    return 0;
}
