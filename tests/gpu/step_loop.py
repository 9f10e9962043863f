#!/usr/bin/env python3
"""A PyTorch training loop with pinned host-device copies in every step and the loss fetched at its
end, each step timed. For the script step_overhead, which runs several of these in turn: bare, under
the recorder, with torch.profiler.

Says "ready" after warming up; a line "N" on standard input runs N steps and prints their times in
ns as a line of JSON; the end of the input ends the program, which then prints what its end took so
far, in ns, and the time on the machine's clock.
"""
import argparse
import json
import os
import sys
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

CLASSES = 10
SIDE = 32


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--warm-up", type=int, default=50, help="steps that are not timed")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--profile", metavar="FILE", help="torch.profiler's trace of the timed steps")
    parser.add_argument("--activities", default="cuda", help="cuda, or cpu,cuda")
    return parser.parse_args()


def batches(arguments):
    generator = torch.Generator().manual_seed(1)
    images = torch.rand(16 * arguments.batch, 3, SIDE, SIDE, generator=generator)
    labels = torch.randint(CLASSES, (16 * arguments.batch,), generator=generator)
    loader = DataLoader(TensorDataset(images, labels), batch_size=arguments.batch, shuffle=True,
                        generator=generator, pin_memory=True, drop_last=True)
    kept = list(loader)  # what collating costs and how it varies is not the question
    while True:
        yield from kept


def make_model():
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(64, 128, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(128 * 4 * 4, 256), nn.ReLU(), nn.Linear(256, CLASSES))


class Training:
    def __init__(self, arguments):
        torch.manual_seed(0)
        torch.backends.cudnn.benchmark = False
        self.model = make_model().to("cuda")
        self.source = batches(arguments)
        self.optimiser = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)
        self.criterion = nn.CrossEntropyLoss()

    def step(self):
        images, labels = next(self.source)
        start = time.perf_counter_ns()
        images = images.to("cuda", non_blocking=True)
        labels = labels.to("cuda", non_blocking=True)
        loss = self.criterion(self.model(images), labels)
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        loss.item()
        return time.perf_counter_ns() - start

    def run(self, steps):
        return [self.step() for _ in range(steps)]


def serve(training):
    """Does what is asked; returns when the input ends, and when that was."""
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(training.run(int(line))), flush=True)
    return time.perf_counter_ns()


def serve_profiled(arguments, training):
    from torch.profiler import ProfilerActivity, profile
    activities = [getattr(ProfilerActivity, name.upper()) for name in arguments.activities.split(",")]
    with profile(activities=activities) as profiler:
        ended = serve(training)
    profiler.export_chrome_trace(arguments.profile)
    return ended


def main():
    arguments = parse_arguments()
    training = Training(arguments)
    training.run(arguments.warm_up)
    torch.cuda.synchronize()
    ended = serve_profiled(arguments, training) if arguments.profile else serve(training)
    print(json.dumps({"end_ns": time.perf_counter_ns() - ended, "clock_ns": time.time_ns()}), flush=True)


if __name__ == "__main__":
    main()
