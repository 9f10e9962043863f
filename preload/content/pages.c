#include "preload/content/pages.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of Linux 6.7, which older headers lack. */
#define WP_ASYNC (1u << 15)
#define USER_MODE_ONLY 1 /* allowed without a privilege; the kernel resolves its own faults */
struct scan {
    uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
    uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
struct scanned_region {
    uint64_t start, end, categories;
};
#define SCAN _IOWR('f', 16, struct scan)
#define SCAN_PROTECT 1u
#define SCAN_CHECK 2u /* fails where the range is not registered any more */
#define IS_WATCHED 1u
#define IS_WRITTEN 2u
#define IS_THERE (8u | 16u) /* in memory, or swapped out */
#define REGIONS 256

static int owner; /* the thread whose descriptors these are; 0: none */
static int contexts[XFS_PAGES_CONTEXTS], pagemap;

static bool is_here(void)
{
    return owner != 0 && owner == (int)syscall(SYS_gettid);
}

/* ---- start ----------------------------------------------------------------------------------- */

static int open_context(void)
{
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | USER_MODE_ONLY);
    struct uffdio_api api = {.api = UFFD_API, .features = WP_ASYNC};
    if (fd >= 0 && ioctl(fd, UFFDIO_API, &api) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static const char *open_all(void)
{
    pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (pagemap < 0)
        return "/proc/self/pagemap cannot be opened";
    for (int i = 0; i < XFS_PAGES_CONTEXTS; i++) {
        contexts[i] = open_context();
        if (contexts[i] < 0)
            return "the kernel does not allow asynchronous write protection by userfaultfd "
                   "(Linux 6.7)";
    }
    return NULL;
}

const char *xfs_pages_start(void)
{
    pagemap = -1;
    for (int i = 0; i < XFS_PAGES_CONTEXTS; i++)
        contexts[i] = -1;
    const char *why = open_all();
    owner = why ? 0 : (int)syscall(SYS_gettid);
    if (!why)
        return NULL;
    if (pagemap >= 0)
        close(pagemap);
    for (int i = 0; i < XFS_PAGES_CONTEXTS; i++)
        if (contexts[i] >= 0)
            close(contexts[i]);
    return why;
}

/* ---- writes ---------------------------------------------------------------------------------- */

bool xfs_pages_watch(struct xfs_pages *pages)
{
    struct uffdio_register range = {.range = {pages->start, pages->end - pages->start},
                                    .mode = UFFDIO_REGISTER_MODE_WP};
    pages->reads_known = false;
    return is_here() && ioctl(contexts[pages->context], UFFDIO_REGISTER, &range) == 0;
}

void xfs_pages_leave(const struct xfs_pages *pages)
{
    struct uffdio_range range = {pages->start, pages->end - pages->start};
    if (is_here())
        ioctl(contexts[pages->context], UFFDIO_UNREGISTER, &range);
}

void xfs_pages_written(const struct xfs_pages *pages, bool again, struct xfs_pages_seen *seen)
{
    static struct scanned_region regions[REGIONS];
    struct scan scan = {.size = sizeof scan,
                        .flags = SCAN_CHECK | (again ? SCAN_PROTECT : 0),
                        .start = pages->start,
                        .end = pages->end,
                        .vec = (uintptr_t)regions,
                        .vec_len = REGIONS,
                        .category_mask = IS_WATCHED,
                        .return_mask = IS_WRITTEN | IS_THERE};
    uint64_t watched = 0; /* where nothing is mapped, nothing is found, and it is no error */
    seen->writes_known = is_here();
    seen->pages_written = 0;
    while (seen->writes_known && scan.start < scan.end) {
        long found = ioctl(pagemap, SCAN, &scan);
        seen->writes_known = found >= 0 && scan.walk_end > scan.start;
        for (long i = 0; i < found; i++) {
            uint64_t pages_of = (regions[i].end - regions[i].start) / XFS_PAGE;
            watched += pages_of;
            if (regions[i].categories & IS_WRITTEN || !(regions[i].categories & IS_THERE))
                seen->pages_written += pages_of;
        }
        scan.start = scan.walk_end;
    }
    seen->writes_known = seen->writes_known && watched == (pages->end - pages->start) / XFS_PAGE;
    seen->written = seen->pages_written > 0;
}

/* ---- reads ----------------------------------------------------------------------------------- */

/* Reads a file line by line with little memory. */
struct lines {
    int fd;
    size_t used, at;
    char buffer[16384];
};

static char *next_line(struct lines *lines)
{
    for (;;) {
        char *end = memchr(lines->buffer + lines->at, '\n', lines->used - lines->at);
        if (end) {
            char *line = lines->buffer + lines->at;
            *end = '\0';
            lines->at = (size_t)(end + 1 - lines->buffer);
            return line;
        }
        memmove(lines->buffer, lines->buffer + lines->at, lines->used - lines->at);
        lines->used -= lines->at;
        lines->at = 0;
        ssize_t got =
            read(lines->fd, lines->buffer + lines->used, sizeof lines->buffer - lines->used);
        if (got <= 0)
            return NULL;
        lines->used += (size_t)got;
    }
}

static struct lines lines;

static bool open_lines(const char *path)
{
    lines.used = lines.at = 0;
    lines.fd = open(path, O_RDONLY | O_CLOEXEC);
    return lines.fd >= 0;
}

static bool starts(const char *line, const char *word)
{
    return strncmp(line, word, strlen(word)) == 0;
}

/* Pages that were looked at for reclaim, since the machine started. False: not known. */
static bool scanned_for_reclaim(uint64_t *pages)
{
    bool known = false;
    *pages = 0;
    if (!open_lines("/proc/vmstat"))
        return false;
    for (char *line; (line = next_line(&lines));) {
        bool counts = starts(line, "pgscan_kswapd ") || starts(line, "pgscan_direct ") ||
                      starts(line, "pgscan_khugepaged ") || starts(line, "pgscan_proactive ");
        if (counts)
            *pages += strtoull(strchr(line, ' '), NULL, 10);
        known = known || counts;
    }
    close(lines.fd);
    return known;
}

/* A mapping as smaps shows it. */
struct mapping {
    uint64_t start, end;
    bool is_private_anonymous;
    bool is_watched;            /* registered with a userfaultfd */
    uint64_t there, referenced; /* bytes */
};

/* "START-END PERMISSIONS OFFSET DEVICE INODE PATH", numbers but the inode in base 16. */
static bool is_mapping(const char *line, struct mapping *mapping)
{
    char *rest;
    mapping->start = strtoull(line, &rest, 16);
    if (rest == line || *rest != '-')
        return false;
    mapping->end = strtoull(rest + 1, &rest, 16);
    if (*rest != ' ' || strlen(rest) < 6)
        return false;
    bool is_private = rest[4] == 'p';
    rest = strchr(rest + 6, ' '); /* behind the offset */
    rest = rest ? strchr(rest + 1, ' ') : NULL;
    mapping->is_private_anonymous = is_private && rest && strtoull(rest, NULL, 10) == 0;
    return true;
}

/* The mapping that is the range, no more and no less. */
static bool find_mapping(const struct xfs_pages *pages, struct mapping *mapping)
{
    bool found = false, over = false;
    if (!open_lines("/proc/self/smaps"))
        return false;
    for (char *line; !over && (line = next_line(&lines));) {
        struct mapping next = {0};
        if (is_mapping(line, &next)) {
            over = found || next.start > pages->start;
            if (next.start == pages->start && next.end == pages->end) {
                *mapping = next;
                found = true;
            }
        } else if (found && starts(line, "Rss:")) {
            mapping->there = strtoull(line + 4, NULL, 10) * 1024;
        } else if (found && starts(line, "Referenced:")) {
            mapping->referenced = strtoull(line + 11, NULL, 10) * 1024;
        } else if (found && starts(line, "VmFlags:")) {
            mapping->is_watched = strstr(line, " uw") != NULL;
        }
    }
    close(lines.fd);
    return found;
}

static bool tells(const struct xfs_pages *pages, struct mapping *mapping)
{
    if (!is_here() || !find_mapping(pages, mapping) || !mapping->is_watched)
        return false;
    if (mapping->is_private_anonymous)
        return mapping->there == pages->end - pages->start;
    return pages->of_driver; /* its pages stay; those that were never touched are not mapped yet */
}

void xfs_pages_unread(struct xfs_pages *pages)
{
    struct mapping mapping;
    pages->reads_known =
        is_here() && scanned_for_reclaim(&pages->scanned) &&
        madvise((void *)(uintptr_t)pages->start, pages->end - pages->start, MADV_COLD) == 0 &&
        tells(pages, &mapping) && mapping.referenced == 0;
}

void xfs_pages_read(const struct xfs_pages *pages, struct xfs_pages_seen *seen)
{
    struct mapping mapping;
    uint64_t scanned;
    seen->reads_known = pages->reads_known && tells(pages, &mapping);
    seen->read = seen->reads_known && mapping.referenced > 0;
    if (!seen->read) /* a bit that is there is there, whatever was reclaimed */
        seen->reads_known =
            seen->reads_known && scanned_for_reclaim(&scanned) && scanned == pages->scanned;
}
