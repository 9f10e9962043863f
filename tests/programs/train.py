#!/usr/bin/env python3
"""A PyTorch training loop fed the way first versions are: the loader hands out pageable memory,
every batch is moved with a blocking .to(), normalisation constants travel with each batch, and
the loss is fetched in every step. --optimised does it properly: pinned memory, non-blocking
copies, constants that stay on the GPU, a loss that is fetched now and then.

Prints the losses; the same seed gives the same losses on the same GPU.
"""
import argparse
import os
import sys
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # deterministic cuBLAS

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

CLASSES = 10
SIDE = 64


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200, help="training steps")
    parser.add_argument("--batch", type=int, default=256, help="images per batch")
    parser.add_argument("--images", type=int, default=4096, help="images in the data set")
    parser.add_argument("--optimised", action="store_true", help="move the data well")
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1, cpu")
    parser.add_argument("--time", action="store_true", help="print the seconds on stderr")
    return parser.parse_args()


def make_loader(arguments):
    generator = torch.Generator().manual_seed(1)
    images = torch.rand(arguments.images, 3, SIDE, SIDE, generator=generator)
    labels = torch.randint(CLASSES, (arguments.images,), generator=generator)
    return DataLoader(
        TensorDataset(images, labels),
        batch_size=arguments.batch,
        shuffle=True,
        drop_last=True,
        generator=generator,
        pin_memory=arguments.optimised,
    )


def make_model():
    return nn.Sequential(
        nn.Conv2d(3, 16, 5, stride=2),
        nn.ReLU(),
        nn.Conv2d(16, 32, 5, stride=2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * 13 * 13, CLASSES),
    )


def move_batch(images, labels, device, optimised):
    images = images.to(device, non_blocking=optimised)
    labels = labels.to(device, non_blocking=optimised)
    return images, labels


def load_constants(device):
    mean = torch.tensor([0.485, 0.456, 0.406]).to(device)
    deviation = torch.tensor([0.229, 0.224, 0.225]).to(device)
    return mean.view(1, 3, 1, 1), deviation.view(1, 3, 1, 1)


def batches(loader):
    while True:
        yield from loader


def train(arguments, device):
    loader = make_loader(arguments)
    model = make_model().to(device)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    constants = load_constants(device)
    report_every = max(1, arguments.steps // 10)

    for step, (images, labels) in enumerate(batches(loader), start=1):
        images, labels = move_batch(images, labels, device, arguments.optimised)
        if not arguments.optimised:
            constants = load_constants(device)
        mean, deviation = constants
        loss = criterion(model((images - mean) / deviation), labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        reporting = step % report_every == 0
        if reporting or not arguments.optimised:
            value = loss.item()
        if reporting:
            print(f"step {step}: loss {value:.6f}")
        if step == arguments.steps:
            return


def main():
    arguments = parse_arguments()
    if arguments.steps < 1 or not 1 <= arguments.batch <= arguments.images:
        sys.exit("train.py: wants at least one step and one batch of images")
    device = torch.device(arguments.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        sys.exit("train.py: no CUDA device; --device cpu runs without one")
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.benchmark = False
    start = time.monotonic()
    train(arguments, device)
    if device.type == "cuda":
        torch.cuda.synchronize()
    if arguments.time:
        print(f"{time.monotonic() - start:.3f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
