"""PyTorch: inference of images that lie in pageable memory."""
import repeated_steps
import torch

images = torch.rand(64, 3, 224, 224)
model = torch.nn.Sequential(torch.nn.Conv2d(3, 32, 7, stride=4), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten()).cuda().eval()


def step():
    with torch.no_grad():
        for _ in range(3):
            model(images.to("cuda")).cpu()


repeated_steps.rounds(step)
