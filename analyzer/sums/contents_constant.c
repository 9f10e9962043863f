/* What a hash would be, were all bytes of one value, is reckoned once for each size. */
#define XXH_INLINE_ALL
#include <string.h>
#include <xxhash.h>

#include "analyzer/sums/contents_judge.h"

#define BLOCKS 64 /* of a sample (docs/trace-format.md) */
#define BLOCK 64
#define SAMPLE (BLOCKS * BLOCK)
#define LARGEST ((uint64_t)1 << 30) /* beyond, hashing takes too long */
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

void xfa_constants_init(struct xfa_table *constants)
{
    xfa_table_init(constants, sizeof(struct sizes_key), sizeof(struct sizes));
}

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

static void reckon(struct sizes *sizes)
{
    uint64_t bytes = sizes->key.bytes, width = sizes->key.width;
    bool whole = width == bytes;
    if ((!whole && (width != SAMPLE || bytes < SAMPLE)) || width > LARGEST)
        return;
    for (size_t i = 0; i < WORDS; i++)
        sizes->hashes[sizes->count++] =
            whole ? hash_whole(&words[i], bytes) : hash_sample(&words[i], bytes);
    for (unsigned value = 1; value < BYTES - 1 && width <= SMALL; value++) {
        struct word word = {1, {(unsigned char)value}};
        sizes->hashes[sizes->count++] =
            whole ? hash_whole(&word, bytes) : hash_sample(&word, bytes);
    }
}

bool xfa_is_constant(struct xfa_table *constants, uint64_t bytes, uint64_t width, uint64_t hash)
{
    const struct sizes_key key = {bytes, width};
    struct sizes *sizes = xfa_table_get(constants, &key);
    if (!sizes && constants->count < XFA_CONSTANT_SIZES) {
        sizes = xfa_table_put(constants, &key);
        reckon(sizes);
    }
    for (uint32_t i = 0; sizes && i < sizes->count; i++)
        if (sizes->hashes[i] == hash)
            return true;
    return false;
}
