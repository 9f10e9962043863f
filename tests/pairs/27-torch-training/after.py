"""The data is page-locked once, so that .to(device, non_blocking=True) only gives the order; the loss
is looked at in every tenth step, and in the others the host runs ahead of the GPU.
"""
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # the same sums in each run
import pair  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, Dataset  # noqa: E402

BATCH, BATCHES, SIDE, CLASSES = 128, 20, 64, 10
SHOWN = 10  # steps from one look at the loss to the next


class Batches(Dataset):
    """Images made up from a seed, batch by batch: small data that is held in memory."""

    def __init__(self):
        made = torch.Generator().manual_seed(1)
        self.images = torch.rand(BATCHES, BATCH, 3, SIDE, SIDE, generator=made).pin_memory()
        self.labels = torch.randint(CLASSES, (BATCHES, BATCH), generator=made).pin_memory()

    def __len__(self):
        return BATCHES

    def __getitem__(self, index):
        return self.images[index], self.labels[index]


def make_model():
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, stride=2), nn.ReLU(),
        nn.Conv2d(32, 64, 3, stride=2), nn.ReLU(),
        nn.Flatten(), nn.Linear(64 * 15 * 15, CLASSES),
    )


def batches_of(loader, count):
    while True:
        for batch in loader:
            if count == 0:
                return
            count -= 1
            yield batch


def train(model, loader, steps):
    """The last step's loss."""
    optimiser = torch.optim.SGD(model.parameters(), lr=0.01)
    for step, (images, labels) in enumerate(batches_of(loader, steps), start=1):
        images = images.to("cuda", non_blocking=True)
        labels = labels.to("cuda", non_blocking=True)
        loss = nn.functional.cross_entropy(model(images), labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step % SHOWN == 0 or step == steps:
            shown = loss.item()
    return shown


def main():
    p = pair.options(steps=60, quick_steps=10)
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.benchmark = False
    loader = DataLoader(Batches(), batch_size=None, shuffle=True, generator=torch.Generator().manual_seed(2))
    model = make_model().to("cuda")
    train(model, loader, BATCHES)  # warms up
    pair.begin()
    loss = train(model, loader, p.steps)
    pair.end(f"{loss:.2f}", 2 * p.steps + -(-p.steps // SHOWN))


if __name__ == "__main__":
    main()
