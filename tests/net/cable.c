/*
 * Two hosts and a cable between them whose rate and delay are known: each host is a network
 * namespace with a name of its own and one interface, cable0 (10.99.0.1, 10.99.0.2); this program
 * carries their frames. A frame leaves when the ones before it have left at that rate, and arrives
 * after the delay. (The kernel's netem does the same, where it was built with it.)
 *
 * usage: cable MBIT_AB MBIT_BA DELAY_US [LOST]     of LOST frames from A to B one is lost; 0: none
 *
 * Prints the process ids of two processes that hold the hosts (nsenter -t PID -n -u); ends with its
 * standard input. Status 77: this system does not let it, with the reason on standard error.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MTU = 9000, FRAME = MTU + 64, PLACES = 4096, SKIPPED = 77 };

static void cannot(const char *what)
{
    fprintf(stderr, "cable: %s: %s\n", what, strerror(errno));
    exit(SKIPPED);
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- one direction --------------------------------------------------------------------------- */

struct frame {
    uint64_t due_ns;
    size_t bytes;
    unsigned char data[FRAME];
};

struct way {
    int from, to;
    double ns_per_byte;
    uint64_t delay_ns;
    uint64_t lost, came; /* of so many frames one; so far */
    pthread_mutex_t lock;
    pthread_cond_t more;
    size_t first, count;
    struct frame *frames;
};

/* Full: the frame is lost, as on any cable; or its turn has come. */
static void *take(void *state)
{
    struct way *w = state;
    uint64_t free_ns = 0; /* when the cable is */
    unsigned char data[FRAME];

    for (;;) {
        ssize_t bytes = read(w->from, data, sizeof(data));
        uint64_t now = now_ns();

        if (bytes <= 0)
            return NULL;
        pthread_mutex_lock(&w->lock);
        w->came++;
        if (w->count < PLACES && (!w->lost || w->came % w->lost != 0)) {
            struct frame *f = &w->frames[(w->first + w->count) % PLACES];

            free_ns = (free_ns > now ? free_ns : now) + (uint64_t)((double)bytes * w->ns_per_byte);
            f->due_ns = free_ns + w->delay_ns;
            f->bytes = (size_t)bytes;
            memcpy(f->data, data, (size_t)bytes);
            w->count++;
            pthread_cond_signal(&w->more);
        }
        pthread_mutex_unlock(&w->lock);
    }
}

static void *give(void *state)
{
    struct way *w = state;

    for (;;) {
        struct frame *f;
        struct timespec due;

        pthread_mutex_lock(&w->lock);
        while (!w->count)
            pthread_cond_wait(&w->more, &w->lock);
        f = &w->frames[w->first];
        pthread_mutex_unlock(&w->lock);
        due = (struct timespec){.tv_sec = (time_t)(f->due_ns / 1000000000u),
                                .tv_nsec = (long)(f->due_ns % 1000000000u)};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL))
            continue;
        if (write(w->to, f->data, f->bytes) < 0 && errno != EIO && errno != ENOBUFS)
            return NULL;
        pthread_mutex_lock(&w->lock);
        w->first = (w->first + 1) % PLACES;
        w->count--;
        pthread_mutex_unlock(&w->lock);
    }
}

/* Threads take over the caller's priority. */
static void carry(struct way *w, int from, int to, double mbit, double delay_us, uint64_t lost)
{
    pthread_t thread;

    *w = (struct way){.from = from,
                      .to = to,
                      .ns_per_byte = 8e3 / mbit,
                      .delay_ns = (uint64_t)(delay_us * 1e3),
                      .lost = lost,
                      .lock = PTHREAD_MUTEX_INITIALIZER,
                      .more = PTHREAD_COND_INITIALIZER,
                      .frames = malloc(PLACES * sizeof(*w->frames))};
    if (!w->frames || pthread_create(&thread, NULL, take, w) ||
        pthread_create(&thread, NULL, give, w))
        cannot("starting");
}

/* ---- a host ---------------------------------------------------------------------------------- */

static void set_up(int fd, struct ifreq *r)
{
    if (ioctl(fd, SIOCGIFFLAGS, r))
        cannot(r->ifr_name);
    r->ifr_flags |= IFF_UP | IFF_RUNNING;
    if (ioctl(fd, SIOCSIFFLAGS, r))
        cannot(r->ifr_name);
}

static void set_address(int fd, struct ifreq *r, unsigned long request, const char *text)
{
    struct sockaddr_in address = {.sin_family = AF_INET};

    inet_pton(AF_INET, text, &address.sin_addr);
    memcpy(&r->ifr_addr, &address, sizeof(address));
    if (ioctl(fd, request, r))
        cannot("an address");
}

/* The interface's other end. */
static int make_interface(int number)
{
    struct ifreq tap = {.ifr_name = "cable0", .ifr_flags = IFF_TAP | IFF_NO_PI};
    struct ifreq r = {.ifr_name = "cable0"}, lo = {.ifr_name = "lo"};
    int fd = open("/dev/net/tun", O_RDWR), control = socket(AF_INET, SOCK_DGRAM, 0);
    char address[16];

    if (fd < 0 || control < 0)
        cannot("/dev/net/tun");
    if (ioctl(fd, TUNSETIFF, &tap))
        cannot("TUNSETIFF");
    r.ifr_mtu = MTU;
    if (ioctl(control, SIOCSIFMTU, &r))
        cannot("the MTU");
    snprintf(address, sizeof(address), "10.99.0.%d", number + 1);
    set_address(control, &r, SIOCSIFADDR, address);
    set_address(control, &r, SIOCSIFNETMASK, "255.255.255.0");
    set_up(control, &r);
    set_up(control, &lo);
    close(control);
    return fd;
}

static void send_descriptor(int by, int fd)
{
    char room[CMSG_SPACE(sizeof(fd))] = {0}, byte = 0;
    struct iovec part = {&byte, 1};
    struct msghdr m = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);

    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(fd));
    memcpy(CMSG_DATA(c), &fd, sizeof(fd));
    if (sendmsg(by, &m, 0) < 0)
        cannot("sendmsg");
}

static int receive_descriptor(int by)
{
    char room[CMSG_SPACE(sizeof(int))], byte;
    struct iovec part = {&byte, 1};
    struct msghdr m = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
    int fd;

    if (recvmsg(by, &m, 0) <= 0 || !CMSG_FIRSTHDR(&m))
        return -1;
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
    return fd;
}

/* A process that holds a host; its interface's other end comes back. */
static int make_host(int number, pid_t *holder)
{
    char name[] = "host-a";
    int ends[2], fd, status;

    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends))
        cannot("socketpair");
    name[5] = (char)('a' + number);
    *holder = fork();
    if (!*holder) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends[0]);
        if (unshare(CLONE_NEWNET | CLONE_NEWUTS))
            cannot("network namespaces");
        if (sethostname(name, strlen(name)))
            cannot("sethostname");
        send_descriptor(ends[1], make_interface(number));
        close(ends[1]);
        for (;;)
            pause();
    }
    close(ends[1]);
    fd = *holder > 0 ? receive_descriptor(ends[0]) : -1;
    close(ends[0]);
    if (fd < 0) {
        waitpid(*holder, &status, 0);
        exit(SKIPPED);
    }
    return fd;
}

/* The threads that carry frames come before others, where the system lets them. */
static void hurry(void)
{
    const struct sched_param first = {.sched_priority = 10};

    (void)sched_setscheduler(0, SCHED_FIFO, &first);
}

int main(int argc, char **argv)
{
    static struct way ways[2];
    pid_t holders[2];
    int ends[2];
    char byte;

    if (argc != 4 && argc != 5)
        return 2;
    for (int i = 0; i < 2; i++)
        ends[i] = make_host(i, &holders[i]);
    hurry();
    for (int i = 0; i < 2; i++)
        carry(&ways[i], ends[i], ends[1 - i], atof(argv[1 + i]), atof(argv[3]),
              argc == 5 && i == 0 ? strtoull(argv[4], NULL, 10) : 0);
    printf("%d %d\n", (int)holders[0], (int)holders[1]);
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        continue;
    for (int i = 0; i < 2; i++)
        kill(holders[i], SIGKILL);
    return 0;
}
