"""A benchmark of a simulated machine with a driver that loses data (lossy_cuda.c)."""
import os
import subprocess


def losing(probe, simgpu, lossy, machine, sizes, loses, name):
    """Status and words of the probe when its driver loses data of this one benchmark."""
    environment = dict(os.environ, LD_LIBRARY_PATH=lossy, XFERSCOPE_SIMGPU_CLOCK="virtual",
                       XFERSCOPE_SIMGPU_MACHINE=machine, LOSSY_CUDA=loses,
                       LOSSY_CUDA_DRIVER=os.path.join(simgpu, "libcuda.so.1"))
    run = subprocess.run([probe, "--quick", "--sizes", sizes, "--filter", f"^{name}$",
                          "--format", "json"], env=environment, capture_output=True, text=True,
                         timeout=300)
    return run.returncode, run.stderr
