#include "preload/nvtx/parts.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <wchar.h>

#include "preload/record/record.h"

/* ---- what is kept ---------------------------------------------------------------------------- */

#define ARENA_BYTES (64u << 10)

/* An arena of our own, since programs use ranges inside their allocators. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *arena;
static size_t left, kept;
static atomic_uint recording = 1;

static void *take_bytes(size_t bytes)
{
    if (bytes > left) {
        void *fresh = kept < XFS_TEXTS_MOST ? mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
                                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                            : MAP_FAILED;
        if (fresh == MAP_FAILED)
            return NULL;
        kept += ARENA_BYTES;
        arena = fresh;
        left = ARENA_BYTES;
    }
    void *taken = arena;
    arena += bytes;
    left -= bytes;
    return taken;
}

struct xfs_text *xfs_text_keep(const char *text, size_t bytes)
{
    bytes = bytes < XFT_NAME_MOST ? bytes : XFT_NAME_MOST;
    size_t room = (sizeof(struct xfs_text) + bytes + 15) & ~(size_t)15;
    pthread_mutex_lock(&lock);
    struct xfs_text *fresh = take_bytes(room);
    pthread_mutex_unlock(&lock);
    if (fresh == NULL)
        return NULL;
    atomic_store(&fresh->known, 0);
    fresh->bytes = (uint32_t)bytes;
    memcpy(fresh->text, text, bytes);
    return fresh;
}

uint32_t xfs_text_id(struct xfs_text *text)
{
    unsigned now = atomic_load_explicit(&recording, memory_order_relaxed);
    unsigned long long known = atomic_load_explicit(&text->known, memory_order_relaxed);
    if (known >> 32 == now)
        return (uint32_t)known;
    uint32_t id = xfs_name(text->text, text->bytes);
    if (id)
        atomic_store_explicit(&text->known, (unsigned long long)now << 32 | id,
                              memory_order_relaxed);
    return id;
}

/* In a forked child: another thread may have held the arena's lock. */
void xfs_texts_new_recording(void)
{
    pthread_mutex_init(&lock, NULL);
    left = 0;
    atomic_fetch_add(&recording, 1);
}

/* ---- messages -------------------------------------------------------------------------------- */

/* One character as UTF-8; what is none becomes U+FFFD. Returns its length. */
static size_t encode(char *out, uint32_t c)
{
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        c = 0xfffd;
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)((0xf00 >> n) | c);
    return n;
}

void xfs_message_plain(struct xfs_message *message, const char *text)
{
    message->kept = NULL;
    message->text = text;
    message->bytes = text ? strnlen(text, XFT_NAME_MOST) : 0;
}

void xfs_message_wide(struct xfs_message *message, const void *text)
{
    const wchar_t *at = text;
    size_t n = 0;
    while (at && *at && n + 4 <= sizeof message->converted)
        n += encode(message->converted + n, (uint32_t)*at++);
    message->kept = NULL;
    message->text = message->converted;
    message->bytes = n;
}

void xfs_message_of(struct xfs_message *message, const struct xnv_attributes *attributes)
{
    bool whole = attributes && attributes->size >= sizeof *attributes;
    int type = whole ? attributes->message_type : 0;
    xfs_message_plain(message, type == XNV_MESSAGE_ASCII ? attributes->message : NULL);
    if (type == XNV_MESSAGE_WIDE)
        xfs_message_wide(message, attributes->message);
    else if (type == XNV_MESSAGE_REGISTERED)
        message->kept = (struct xfs_text *)(uintptr_t)attributes->message;
}

uint32_t xfs_message_id(const struct xfs_message *message)
{
    if (message->kept)
        return xfs_text_id(message->kept);
    return message->bytes ? xfs_name(message->text, message->bytes) : 0;
}
