/*
 * A program that moves its data the way first versions do. It smooths the frames of a camera:
 * each frame goes to the GPU from pageable memory, the gains of its bands follow in one small
 * copy each, and the result is fetched before the next frame is touched.
 *
 * usage: unoptimised [FRAMES]
 * Prints a checksum; exits with 1 when the GPU's result is not the host's.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cuda_runtime.h>

enum { WIDTH = 1024, HEIGHT = 512, PIXELS = WIDTH * HEIGHT };
enum { BANDS = 64, BAND_ROWS = HEIGHT / BANDS, GAIN_WORDS = 16 };

struct buffers {
    uint32_t *frame, *result, *gains; /* host, pageable */
    uint32_t *d_frame, *d_result, *d_gains;
};

static void check(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "unoptimised: %s: %s\n", what, cudaGetErrorString(error));
        exit(1);
    }
}

/* One pixel: the mean of its row neighbourhood, scaled by the gain of its band. Integers, so that
 * host and GPU agree to the bit. */
__host__ __device__ static uint32_t smooth_pixel(const uint32_t *frame, const uint32_t *gains,
                                                 int x, int y)
{
    const uint32_t *row = frame + y * WIDTH;
    uint32_t left = row[x > 0 ? x - 1 : x], right = row[x < WIDTH - 1 ? x + 1 : x];
    uint32_t gain = gains[(y / BAND_ROWS) * GAIN_WORDS + x % GAIN_WORDS];

    return ((left + 2 * row[x] + right) / 4 * gain) >> 8;
}

extern "C" __global__ void smooth(const uint32_t *frame, const uint32_t *gains, uint32_t *result)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;

    if (x < WIDTH)
        result[y * WIDTH + x] = smooth_pixel(frame, gains, x, y);
}

static void smooth_on_host(const uint32_t *frame, const uint32_t *gains, uint32_t *result)
{
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < WIDTH; x++)
            result[y * WIDTH + x] = smooth_pixel(frame, gains, x, y);
    }
}

/* What the simulated GPU runs in the kernel's stead (docs/simgpu.md). */
extern "C" __attribute__((visibility("default"))) void
xferscope_simgpu_kernel_smooth(void **args, const unsigned *grid, const unsigned *block)
{
    (void)grid;
    (void)block;
    smooth_on_host(*(const uint32_t **)args[0], *(const uint32_t **)args[1], *(uint32_t **)args[2]);
}

static void take_frame(uint32_t *frame, uint32_t *gains, int number)
{
    uint32_t state = 2463534242u + (uint32_t)number;

    for (int i = 0; i < PIXELS; i++) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        frame[i] = state >> 20;
    }
    for (int i = 0; i < BANDS * GAIN_WORDS; i++)
        gains[i] = 200 + (uint32_t)((i + number) % 100);
}

__attribute__((noinline)) static void upload_frame(struct buffers *b)
{
    check(cudaMemcpy(b->d_frame, b->frame, PIXELS * sizeof *b->frame, cudaMemcpyHostToDevice),
          "upload of the frame");
}

__attribute__((noinline)) static void upload_gains(struct buffers *b)
{
    for (int band = 0; band < BANDS; band++)
        check(cudaMemcpy(b->d_gains + band * GAIN_WORDS, b->gains + band * GAIN_WORDS,
                         GAIN_WORDS * sizeof *b->gains, cudaMemcpyHostToDevice),
              "upload of a gain");
}

__attribute__((noinline)) static void download_result(struct buffers *b)
{
    check(cudaMemcpy(b->result, b->d_result, PIXELS * sizeof *b->result, cudaMemcpyDeviceToHost),
          "download of the result");
}

static uint64_t sum_of(const uint32_t *pixels)
{
    uint64_t sum = 0;

    for (int i = 0; i < PIXELS; i++)
        sum = sum * 31 + pixels[i];
    return sum;
}

static uint64_t process_frame(struct buffers *b, int number)
{
    take_frame(b->frame, b->gains, number);
    upload_frame(b);
    upload_gains(b);
    smooth<<<dim3(WIDTH / 256, HEIGHT), 256>>>(b->d_frame, b->d_gains, b->d_result);
    check(cudaGetLastError(), "launch");
    download_result(b);
    return sum_of(b->result);
}

static void allocate(struct buffers *b)
{
    size_t frame_bytes = PIXELS * sizeof *b->frame, gain_bytes = BANDS * GAIN_WORDS * 4;

    b->frame = (uint32_t *)malloc(frame_bytes);
    b->result = (uint32_t *)malloc(frame_bytes);
    b->gains = (uint32_t *)malloc(gain_bytes);
    if (!b->frame || !b->result || !b->gains) {
        fputs("unoptimised: out of memory\n", stderr);
        exit(1);
    }
    check(cudaMalloc((void **)&b->d_frame, frame_bytes), "allocation");
    check(cudaMalloc((void **)&b->d_result, frame_bytes), "allocation");
    check(cudaMalloc((void **)&b->d_gains, gain_bytes), "allocation");
}

static void release(struct buffers *b)
{
    check(cudaFree(b->d_frame), "release");
    check(cudaFree(b->d_result), "release");
    check(cudaFree(b->d_gains), "release");
    free(b->frame);
    free(b->result);
    free(b->gains);
}

int main(int argc, char **argv)
{
    int frames = argc > 1 ? atoi(argv[1]) : 50;
    uint64_t sum = 0, last = 0, expected;
    struct buffers b;

    if (frames < 1) {
        fputs("usage: unoptimised [FRAMES]\n", stderr);
        return 2;
    }
    allocate(&b);
    for (int i = 0; i < frames; i++) {
        last = process_frame(&b, i);
        sum ^= last + (uint64_t)i;
    }
    smooth_on_host(b.frame, b.gains, b.result);
    expected = sum_of(b.result);
    release(&b);
    printf("%d frames of %dx%d, checksum %016llx\n", frames, WIDTH, HEIGHT,
           (unsigned long long)sum);
    if (last != expected) {
        printf("the last frame is wrong: %016llx, not %016llx\n", (unsigned long long)last,
               (unsigned long long)expected);
        return 1;
    }
    return 0;
}
