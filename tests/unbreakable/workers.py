"""A program with worker processes as data loaders have them: they end by os._exit, or are killed.

usage: workers.py fork|spawn|forkserver idle|busy     busy: the workers copy, too; number N N + 1 times"""
import ctypes
import multiprocessing
import os
import signal
import sys

WORKERS = 5
H2D = 1


def copy(times, size):
    """On a runtime of its own process: CUDA does not survive fork."""
    runtime = ctypes.CDLL("libcudart.so.13")
    device, host = ctypes.c_void_p(), ctypes.create_string_buffer(size)
    if runtime.cudaMalloc(ctypes.byref(device), ctypes.c_size_t(size)) != 0:
        raise SystemExit("cudaMalloc failed")
    for _ in range(times):
        if runtime.cudaMemcpy(device, host, ctypes.c_size_t(size), H2D) != 0:
            raise SystemExit("cudaMemcpy failed")


def work(number, busy, results):
    if busy:
        copy(number + 1, 2000 + number)
    results.put(number)
    results.close()
    results.join_thread()
    if number % 2:
        os.kill(os.getpid(), signal.SIGKILL)


def main():
    context = multiprocessing.get_context(sys.argv[1])
    results = context.Queue()
    workers = [
        context.Process(target=work, args=(n, sys.argv[2] == "busy", results), daemon=True) for n in range(WORKERS)
    ]
    for worker in workers:
        worker.start()
    copy(10, 1000)
    print(sorted(results.get() for _ in workers))
    for worker in workers:
        worker.join()
    print([worker.exitcode for worker in workers])


if __name__ == "__main__":
    main()
