/*
 * unoptimised.cu with the best set of its report carried out (README.md, "A real report"): the
 * gains of a frame are packed and go up in one copy; host memory is page-locked, and two frames are
 * under way at a time, each with a stream and device buffers of its own.
 *
 * usage: unoptimised_fixed [FRAMES]
 * Prints what unoptimised prints.
 */
#define main unoptimised_main
#include "unoptimised.cu"
#undef main

enum { PARTS = 2 };

struct part {
    struct buffers b; /* on the host page-locked */
    cudaStream_t stream;
};

static void make_part(struct part *p)
{
    size_t frame_bytes = PIXELS * sizeof *p->b.frame, gain_bytes = BANDS * GAIN_WORDS * 4;

    check(cudaMallocHost((void **)&p->b.frame, frame_bytes), "page-locked memory");
    check(cudaMallocHost((void **)&p->b.result, frame_bytes), "page-locked memory");
    check(cudaMallocHost((void **)&p->b.gains, gain_bytes), "page-locked memory");
    check(cudaMalloc((void **)&p->b.d_frame, frame_bytes), "allocation");
    check(cudaMalloc((void **)&p->b.d_result, frame_bytes), "allocation");
    check(cudaMalloc((void **)&p->b.d_gains, gain_bytes), "allocation");
    check(cudaStreamCreateWithFlags(&p->stream, cudaStreamNonBlocking), "stream");
}

static void end_part(struct part *p)
{
    check(cudaStreamDestroy(p->stream), "stream");
    check(cudaFree(p->b.d_frame), "release");
    check(cudaFree(p->b.d_result), "release");
    check(cudaFree(p->b.d_gains), "release");
    check(cudaFreeHost(p->b.frame), "release");
    check(cudaFreeHost(p->b.result), "release");
    check(cudaFreeHost(p->b.gains), "release");
}

static void begin_frame(struct part *p, int number)
{
    struct buffers *b = &p->b;

    take_frame(b->frame, b->gains, number);
    check(cudaMemcpyAsync(b->d_frame, b->frame, PIXELS * sizeof *b->frame, cudaMemcpyHostToDevice,
                          p->stream),
          "upload of the frame");
    check(cudaMemcpyAsync(b->d_gains, b->gains, BANDS * GAIN_WORDS * sizeof *b->gains,
                          cudaMemcpyHostToDevice, p->stream),
          "upload of the gains");
    smooth<<<dim3(WIDTH / 256, HEIGHT), 256, 0, p->stream>>>(b->d_frame, b->d_gains, b->d_result);
    check(cudaGetLastError(), "launch");
    check(cudaMemcpyAsync(b->result, b->d_result, PIXELS * sizeof *b->result,
                          cudaMemcpyDeviceToHost, p->stream),
          "download of the result");
}

static uint64_t end_frame(struct part *p)
{
    check(cudaStreamSynchronize(p->stream), "wait for the result");
    return sum_of(p->b.result);
}

int main(int argc, char **argv)
{
    int frames = argc > 1 ? atoi(argv[1]) : 50;
    uint64_t sum = 0, last = 0, expected;
    struct part parts[PARTS];
    struct buffers *b;

    if (frames < 1) {
        fputs("usage: unoptimised_fixed [FRAMES]\n", stderr);
        return 2;
    }
    for (int i = 0; i < PARTS; i++)
        make_part(&parts[i]);
    for (int i = 0; i < frames + PARTS; i++) {
        struct part *p = &parts[i % PARTS];

        if (i >= PARTS && i - PARTS < frames) {
            last = end_frame(p);
            sum ^= last + (uint64_t)(i - PARTS);
        }
        if (i < frames)
            begin_frame(p, i);
    }
    b = &parts[(frames - 1) % PARTS].b;
    smooth_on_host(b->frame, b->gains, b->result);
    expected = sum_of(b->result);
    for (int i = 0; i < PARTS; i++)
        end_part(&parts[i]);
    printf("%d frames of %dx%d, checksum %016llx\n", frames, WIDTH, HEIGHT,
           (unsigned long long)sum);
    if (last != expected) {
        printf("the last frame is wrong: %016llx, not %016llx\n", (unsigned long long)last,
               (unsigned long long)expected);
        return 1;
    }
    return 0;
}
