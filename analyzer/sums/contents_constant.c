/* What a hash would be, were all bytes of one value, is computed once for each size. */
#define XXH_INLINE_ALL
#include <string.h>
#include <xxhash.h>

#include "analyzer/sums/contents_judge.h"

#define BLOCKS ((size_t)64) /* of a sample (docs/trace-format.md) */
#define BLOCK ((size_t)64)
#define SAMPLE (BLOCKS * BLOCK)
#define CHUNK 4096

/* Values of more than a byte that programs fill memory with. */
static const struct word {
    unsigned bytes;
    unsigned char is[4];
} words[] = {
    {1, {0}},
    {1, {0xff}},
    {2, {0x00, 0x3c}},             /* 1 in half precision */
    {2, {0x80, 0x3f}},             /* in bfloat16 */
    {4, {0x00, 0x00, 0x80, 0x3f}}, /* in single precision */
    {4, {0x00, 0x00, 0x80, 0xbf}}, /* -1 */
    {4, {0x01}},                   /* as a whole number of 32 bits */
};
#define WORDS (sizeof words / sizeof *words)
#define BYTES 256
#define SMALL (1u << 16) /* all values of a byte are tried up to here */

struct sizes {
    struct sizes_key {
        uint64_t bytes, width;
    } key;
    uint32_t count;
    uint64_t hashes[WORDS + BYTES];
};

static void fill(unsigned char *to, size_t bytes, const struct word *word, uint64_t from)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = word->is[(from + i) % word->bytes];
}

static uint64_t hash_whole(const struct word *word, uint64_t bytes)
{
    unsigned char chunk[CHUNK];
    XXH3_state_t state;
    fill(chunk, sizeof chunk, word, 0);
    XXH3_64bits_reset(&state);
    for (uint64_t left = bytes; left > 0;) {
        size_t n = left < sizeof chunk ? (size_t)left : sizeof chunk;
        XXH3_64bits_update(&state, chunk, n);
        left -= n;
    }
    return XXH3_64bits_digest(&state);
}

static uint64_t hash_sample(const struct word *word, uint64_t bytes)
{
    unsigned char sample[SAMPLE];
    uint64_t step = (bytes - BLOCK) / (BLOCKS - 1), rest = (bytes - BLOCK) % (BLOCKS - 1);
    for (uint64_t i = 0; i < BLOCKS; i++)
        fill(sample + i * BLOCK, BLOCK, word, i * step + i * rest / (BLOCKS - 1));
    return XXH3_64bits(sample, sizeof sample);
}

static uint64_t hash_of(const struct word *word, const struct sizes *sizes)
{
    uint64_t bytes = sizes->key.bytes;
    return sizes->key.width == bytes ? hash_whole(word, bytes) : hash_sample(word, bytes);
}

static void reckon(struct xfa_constants *constants, struct sizes *sizes)
{
    uint64_t bytes = sizes->key.bytes, width = sizes->key.width;
    bool sample = width == SAMPLE && bytes > SAMPLE;
    unsigned values = width <= SMALL ? BYTES : 0;
    if ((width != bytes && !sample) || width > XFA_CONSTANT_MOST ||
        (WORDS + values) * width > XFA_CONSTANT_MOST - constants->hashed)
        return;
    constants->hashed += (WORDS + values) * width;
    for (size_t i = 0; i < WORDS; i++)
        sizes->hashes[sizes->count++] = hash_of(&words[i], sizes);
    for (unsigned value = 0; value < values; value++)
        sizes->hashes[sizes->count++] = hash_of(&(struct word){1, {(unsigned char)value}}, sizes);
}

bool xfa_is_constant(struct xfa_constants *constants, uint64_t bytes, uint64_t width, uint64_t hash)
{
    const struct sizes_key key = {bytes, width};
    if (constants->sizes.item_bytes == 0)
        xfa_table_init(&constants->sizes, sizeof key, sizeof(struct sizes));
    struct sizes *sizes = xfa_table_get(&constants->sizes, &key);
    if (!sizes && constants->sizes.count < XFA_CONSTANT_SIZES) {
        sizes = xfa_table_put(&constants->sizes, &key);
        reckon(constants, sizes);
    }
    for (uint32_t i = 0; sizes && i < sizes->count; i++)
        if (sizes->hashes[i] == hash)
            return true;
    return false;
}

void xfa_constants_free(struct xfa_constants *constants)
{
    if (constants->sizes.item_bytes)
        xfa_table_free(&constants->sizes);
    *constants = (struct xfa_constants){0};
}
