"""A Python program whose lines reach CUDA from one place in a module: each step uploads two buffers that do not change,
one that does. Prints what the device has now and then.

usage: planned.py ROUNDS [thread]"""
import ctypes
import sys
import threading
import zlib

BYTES = 1 << 20
H2D, D2H = 1, 2
cudart = ctypes.CDLL("libcudart.so.13")


def must(error):
    if error != 0:
        sys.exit(f"CUDA error {error}")


def allocate(size):
    pointer = ctypes.c_void_p()
    must(cudart.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(size)))
    return pointer


def copy(to, source, kind):
    must(cudart.cudaMemcpy(to, source, ctypes.c_size_t(BYTES), kind))


class Model:
    def __init__(self):
        self.weights, self.table, self.batch, self.found = (ctypes.create_string_buffer(BYTES) for _ in range(4))
        self.weights.raw, self.table.raw = bytes(range(256)) * (BYTES // 256), b"table---" * (BYTES // 8)
        self.there = [allocate(BYTES) for _ in range(3)]

    def step(self, number):
        self.batch[number] = number % 251
        copy(self.there[0], self.weights, H2D)
        copy(self.there[1], self.batch, H2D)
        copy(self.there[2], self.table, H2D)

    def show(self):
        for there in self.there:
            copy(self.found, there, D2H)
            print(zlib.crc32(self.found.raw))


def run():
    model = Model()
    for i in range(int(sys.argv[1])):
        model.step(i)
        if i % 8 == 7:
            model.show()


if "thread" in sys.argv:
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
else:
    run()
