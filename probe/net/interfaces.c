#include "probe/net/interfaces.h"

#include <dirent.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define INFINIBAND "/sys/class/infiniband"

size_t xfp_net_parse_counters(const char *text, struct xfp_net_port *ports, size_t room)
{
    size_t count = 0;

    while (text && *text && count < room) {
        const char *end = strchr(text, '\n'), *colon = strchr(text, ':');
        unsigned long long sent;
        struct xfp_net_port *p = &ports[count];

        if (colon && (!end || colon < end)) {
            *p = (struct xfp_net_port){0};
            /* NAME: eight columns of what was received, then the bytes sent */
            if (sscanf(text, " %31[^: ]", p->name) == 1 &&
                sscanf(colon + 1, "%*u %*u %*u %*u %*u %*u %*u %*u %llu", &sent) == 1) {
                p->sent = sent;
                count++;
            }
        }
        text = end ? end + 1 : NULL;
    }
    return count;
}

/* Asks the kernel about one of its interfaces. False when it is not up. */
static bool ask_kernel(int fd, struct xfp_net_port *p)
{
    struct ifreq request = {0};
    struct ethtool_drvinfo driver = {.cmd = ETHTOOL_GDRVINFO};
    struct ethtool_cmd link = {.cmd = ETHTOOL_GSET};

    snprintf(request.ifr_name, sizeof(request.ifr_name), "%.15s", p->name);
    if (ioctl(fd, SIOCGIFFLAGS, &request) || !(request.ifr_flags & IFF_UP))
        return false;
    if (!ioctl(fd, SIOCGIFMTU, &request))
        p->mtu = request.ifr_mtu;
    request.ifr_data = (char *)&driver;
    if (!ioctl(fd, SIOCETHTOOL, &request))
        snprintf(p->driver, sizeof(p->driver), "%.31s", driver.driver);
    request.ifr_data = (char *)&link;
    if (!ioctl(fd, SIOCETHTOOL, &request)) {
        uint32_t speed = (uint32_t)link.speed_hi << 16 | link.speed;

        p->mbps = speed == UINT32_MAX || speed == UINT16_MAX ? 0 : speed;
    }
    return true;
}

static size_t read_kernel(struct xfp_net_port *ports, size_t room)
{
    char text[16384];
    FILE *file = fopen("/proc/self/net/dev", "re");
    size_t bytes = file ? fread(text, 1, sizeof(text) - 1, file) : 0, count, up = 0;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    text[bytes] = '\0';
    if (file)
        fclose(file);
    count = xfp_net_parse_counters(text, ports, room);
    for (size_t i = 0; i < count && fd >= 0; i++)
        if (ask_kernel(fd, &ports[i]))
            ports[up++] = ports[i];
    if (fd >= 0)
        close(fd);
    return up;
}

static double number_in(const char *device, const char *port, const char *file)
{
    char path[512], line[64] = "";
    FILE *in;

    snprintf(path, sizeof(path), INFINIBAND "/%.60s/ports/%.20s/%s", device, port, file);
    in = fopen(path, "re");
    if (in && !fgets(line, sizeof(line), in))
        line[0] = '\0';
    if (in)
        fclose(in);
    return strtod(line, NULL);
}

static void read_device(const char *device, struct xfp_net_port *ports, size_t room, size_t *count)
{
    char path[300];
    DIR *dir;
    struct dirent *entry;

    snprintf(path, sizeof(path), INFINIBAND "/%.60s/ports", device);
    dir = opendir(path);
    while (dir && *count < room && (entry = readdir(dir))) {
        struct xfp_net_port *p = &ports[*count];

        if (entry->d_name[0] == '.' || number_in(device, entry->d_name, "state") != 4) /* ACTIVE */
            continue;
        *p = (struct xfp_net_port){0};
        snprintf(p->name, sizeof(p->name), "%.20s/%.8s", device, entry->d_name);
        snprintf(p->driver, sizeof(p->driver), "%.*s", (int)strcspn(device, "_"), device);
        p->mbps = (uint64_t)(number_in(device, entry->d_name, "rate") * 1000); /* "100 Gb/sec" */
        /* in words of four bytes */
        p->sent = (uint64_t)number_in(device, entry->d_name, "counters/port_xmit_data") * 4;
        (*count)++;
    }
    if (dir)
        closedir(dir);
}

size_t xfp_net_read_ports(struct xfp_net_port *ports)
{
    size_t count = read_kernel(ports, XFP_NET_MOST_INTERFACES);
    DIR *dir = opendir(INFINIBAND);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            read_device(entry->d_name, ports, XFP_NET_MOST_INTERFACES, &count);
    if (dir)
        closedir(dir);
    return count;
}

const char *xfp_net_used_port(const struct xfp_net_port *before, size_t before_count,
                              const struct xfp_net_port *after, size_t after_count, uint64_t bytes)
{
    const struct xfp_net_port *best = NULL;
    uint64_t most = bytes / 2;

    for (size_t i = 0; i < after_count; i++)
        for (size_t j = 0; j < before_count; j++) {
            uint64_t sent = after[i].sent - before[j].sent;

            if (strcmp(after[i].name, before[j].name) || after[i].sent <= before[j].sent ||
                sent <= most)
                continue;
            most = sent;
            best = &after[i];
        }
    return best ? best->name : "";
}
