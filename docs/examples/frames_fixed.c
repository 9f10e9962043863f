/*
 * Sends the frames of a camera to the GPU, one after the other, and fetches a word of each back.
 * As frames.c, after the one change that xferscope advises there (docs/walk-c.md): the frames lie
 * in page-locked memory.
 *
 * cc -g frames_fixed.c -o frames -I/usr/local/cuda/include -L/usr/local/cuda/lib64 -lcudart
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

enum { FRAMES = 40, FRAME_BYTES = 8 << 20 };

static void check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "frames: %s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}

static void grab(unsigned char *frame, int number)
{
    memset(frame, number + 1, FRAME_BYTES / 64); /* a camera changes a part of the picture */
}

static unsigned send_frame(void *on_gpu, const unsigned char *frame)
{
    unsigned word;

    check(cudaMemcpy(on_gpu, frame, FRAME_BYTES, cudaMemcpyHostToDevice), "send");
    check(cudaMemcpy(&word, on_gpu, sizeof word, cudaMemcpyDeviceToHost), "fetch");
    return word;
}

int main(void)
{
    void *frame, *on_gpu;
    unsigned sum = 0;

    check(cudaMallocHost(&frame, FRAME_BYTES), "page-locked memory");
    memset(frame, 0, FRAME_BYTES);
    check(cudaMalloc(&on_gpu, FRAME_BYTES), "memory");
    for (int i = 0; i < FRAMES; i++) {
        grab(frame, i);
        sum += send_frame(on_gpu, frame) & 0xff;
    }
    printf("%d frames, sum %u\n", FRAMES, sum);
    check(cudaFree(on_gpu), "memory");
    check(cudaFreeHost(frame), "page-locked memory");
    return 0;
}
