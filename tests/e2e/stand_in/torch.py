"""What docs/examples/pytorch_train.py needs of PyTorch, for machines without it: tensors whose copies to
and from the (simulated) GPU are made as PyTorch makes them. Nothing is computed."""
import contextlib
import ctypes
import math
import sys
import types

_cudart = ctypes.CDLL("libcudart.so.13")
_H2D, _D2H = 1, 2


def _check(error):
    if error != 0:
        raise RuntimeError(f"CUDA error {error}")


class _Pageable:
    def __init__(self, size):
        self.buffer = ctypes.create_string_buffer(size)
        self.address = ctypes.addressof(self.buffer)


class _Allocated:
    """Of a call that stores an address where its argument says; kept until the process ends."""

    def __init__(self, call, size):
        pointer = ctypes.c_void_p()
        _check(call(ctypes.byref(pointer), ctypes.c_size_t(size)))
        self.address = pointer.value


_on_gpu = {}  # by size: PyTorch's allocator takes memory again, too


class Tensor:
    def __init__(self, shape, itemsize, memory, at=0):
        self.shape, self.itemsize, self.memory, self.at = shape, itemsize, memory, at
        self.size = math.prod(shape) * itemsize

    def __getitem__(self, i):
        part = self.shape[1:]
        return Tensor(part, self.itemsize, self.memory, self.at + i * math.prod(part) * self.itemsize)

    def pin_memory(self):
        return Tensor(self.shape, self.itemsize, _Allocated(_cudart.cudaMallocHost, self.size))

    def to(self, _device, non_blocking=False):
        if self.size not in _on_gpu:
            _on_gpu[self.size] = _Allocated(_cudart.cudaMalloc, self.size)
        there = _on_gpu[self.size]
        _check(_cudart.cudaMemcpyAsync(ctypes.c_void_p(there.address), ctypes.c_void_p(self.memory.address + self.at),
                                       ctypes.c_size_t(self.size), _H2D, None))
        if not non_blocking:
            _check(_cudart.cudaStreamSynchronize(None))
        return Tensor(self.shape, self.itemsize, there)

    def backward(self):
        pass

    def item(self):
        value = ctypes.c_float()
        _check(_cudart.cudaMemcpy(ctypes.byref(value), ctypes.c_void_p(self.memory.address), ctypes.c_size_t(4), _D2H))
        return value.value


class _Module:
    def __init__(self, *_arguments, **_options):
        pass

    def to(self, _device):
        return self

    def parameters(self):
        return []

    def __call__(self, batch):
        return batch

    def zero_grad(self):
        pass

    def step(self):
        pass


def rand(*shape):
    return Tensor(shape, 4, _Pageable(math.prod(shape) * 4))


def randint(_most, shape):
    return Tensor(shape, 8, _Pageable(math.prod(shape) * 8))


def device(name):
    return name


def _module(name, **names):
    made = types.ModuleType(f"{__name__}.{name}")
    vars(made).update(names)
    sys.modules[made.__name__] = made
    return made


nn = _module("nn", functional=_module("nn.functional", cross_entropy=lambda batch, _target: batch),
             **{name: _Module for name in ("Sequential", "Conv2d", "ReLU", "AdaptiveAvgPool2d", "Flatten", "Linear")})
optim = _module("optim", SGD=_Module)
cuda = _module("cuda", synchronize=lambda: _check(_cudart.cudaDeviceSynchronize()), is_available=lambda: True,
               nvtx=_module("cuda.nvtx", range=lambda _name: contextlib.nullcontext()))
