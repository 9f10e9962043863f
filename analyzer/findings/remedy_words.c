#include "analyzer/findings/remedy_words.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

typedef const char *sentences[XFA_REMEDY_KINDS][2]; /* to a device, to the host */

/* In the order of enum xfa_dialect; CUDA has none of its own. */
static const sentences frameworks[XFA_DIALECTS] = {
    [XFA_DIALECT_PYTORCH] =
        {
#define XFA_WORDS(kind, to_device, to_host) [XFA_REMEDY_##kind] = {to_device, to_host},
#include "analyzer/findings/remedies_pytorch.def"
        },
    [XFA_DIALECT_CUPY] =
        {
#define XFA_WORDS(kind, to_device, to_host) [XFA_REMEDY_##kind] = {to_device, to_host},
#include "analyzer/findings/remedies_cupy.def"
        },
    [XFA_DIALECT_JAX] =
        {
#define XFA_WORDS(kind, to_device, to_host) [XFA_REMEDY_##kind] = {to_device, to_host},
#include "analyzer/findings/remedies_jax.def"
        },
    [XFA_DIALECT_NUMBA] =
        {
#define XFA_WORDS(kind, to_device, to_host) [XFA_REMEDY_##kind] = {to_device, to_host},
#include "analyzer/findings/remedies_numba.def"
        },
};

const char *xfa_framework_words(enum xfa_dialect dialect, enum xfa_remedy_kind kind, bool to_host)
{
    return frameworks[dialect][kind][to_host];
}

/* ---- names of the driver API ----------------------------------------------------------------- */

const char *xfa_driver_name(const char *name, size_t length)
{
    static const struct {
        const char *runtime, *driver;
    } names[] = {
#define XFA_DRIVER_NAME(runtime, driver) {#runtime, #driver},
#include "analyzer/findings/remedies_driver.def"
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i].runtime) == length && memcmp(names[i].runtime, name, length) == 0)
            return names[i].driver;
    return NULL;
}

static size_t name_length(const char *text)
{
    size_t length = 0;
    while (isalnum((unsigned char)text[length]) || text[length] == '_')
        length++;
    return length;
}

void xfa_driver_words(const char *text, char words[XFA_REMEDY_CHARS])
{
    size_t filled = 0;
    while (*text && filled + 1 < XFA_REMEDY_CHARS) {
        size_t name = name_length(text), taken = name ? name : 1, length = taken;
        const char *other = name ? xfa_driver_name(text, name) : NULL, *from = other ? other : text;
        if (other)
            length = strlen(other);
        size_t room = XFA_REMEDY_CHARS - 1 - filled;
        length = length < room ? length : room;
        memcpy(words + filled, from, length);
        filled += length;
        text += taken;
    }
    words[filled] = '\0';
}
