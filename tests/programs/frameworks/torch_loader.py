"""PyTorch: training from a loader with worker processes and pinned memory, moved without blocking."""
import torch
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __len__(self):
        return 256

    def __getitem__(self, index):
        return torch.full((3, 32, 32), float(index % 7)), index % 10


def main():
    torch.manual_seed(0)
    loader = DataLoader(Images(), batch_size=32, num_workers=3, pin_memory=True, persistent_workers=True)
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 32 * 32, 10)).cuda()
    optimiser = torch.optim.SGD(model.parameters(), lr=0.001)
    for _ in range(3):
        for images, labels in loader:
            images = images.cuda(non_blocking=True)
            labels = labels.cuda(non_blocking=True)
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        print(f"{loss.item():.3f}")


if __name__ == "__main__":
    main()
