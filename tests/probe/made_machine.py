"""Simulated machines of which no two paths have the same figures."""
SUBMIT_NS = 1700
SIZES = [1 << power for power in range(6, 27, 2)]


def path(name, method, direction, src, dst, Lo, G):
    points = [{"bytes": k, "median_ns": Lo + k * G, "host_ns": SUBMIT_NS,
               "blocking_ns": Lo + k * G + 3000} for k in SIZES]
    return {"name": name, "method": method, "direction": direction, "src": src, "dst": dst,
            "blocking": method == "copy", "device_timed": True, "points": points,
            "fit": {"Lo_ns": Lo, "g_ns": 800, "G_ns_per_byte": G, "max_error": 0}}


def host(memory, node):
    return {"memory": memory, "device": -1, "numa": node}


def there(memory, gpu):
    return {"memory": memory, "device": gpu, "numa": -1}


def machine(gpus, nodes, engines=2):
    """No two paths alike."""
    paths = []
    for i in range(gpus):
        device, managed, away = there("device", i), there("managed", i), there("managed", -1)
        for n in range(nodes):
            far = 1 + 0.5 * (n != i) + 0.1 * i
            for memory, down in (("pinned", 1.2), ("pageable", 2.5)):
                paths.append(path(f"copy/{memory}/h2d/{n}{i}", "copy", "H2D", host(memory, n),
                                  device, 3000 * far, 0.02 * far))
                paths.append(path(f"copy/{memory}/d2h/{n}{i}", "copy", "D2H", device,
                                  host(memory, n), 3000 * far * down, 0.02 * far * down))
            paths.append(path(f"mapped-read/{n}{i}", "mapped-read", "H2D", host("mapped", n), device,
                              1200 * far, 0.023 * far))
            paths.append(path(f"mapped-write/{n}{i}", "mapped-write", "D2H", device,
                              host("mapped", n), 1100 * far, 0.031 * far))
        paths.append(path(f"d2d/{i}", "copy", "D2D", device, device, 2500, 0.001))
        for method, Lo in (("demand", 20000), ("prefetch", 90000)):
            paths.append(path(f"{method}/up/{i}", method, "H2D", away, managed, Lo + 100 * i, 0.2))
            paths.append(path(f"{method}/down/{i}", method, "D2H", managed, away, Lo * 1.5 + 100 * i,
                              0.3))
        for j in range(gpus):
            if i == j:
                continue
            other = there("device", j)
            paths.append(path(f"peer/{i}{j}", "copy", "P2P", device, other, 4000, 0.009))
            paths.append(path(f"mapped-read/p{i}{j}", "mapped-read", "P2P", device, other,
                              1500 + 10 * i, 0.011))
            paths.append(path(f"mapped-write/p{i}{j}", "mapped-write", "P2P", device, other,
                              1600 + 10 * i, 0.013))
            for method, Lo in (("demand", 50000), ("prefetch", 40000)):
                paths.append(path(f"{method}/p{i}{j}", method, "P2P", managed, there("managed", j),
                                  Lo + 1000 * i, 0.1))
    return {"schema": "xferscope-profile", "version": 1,
            "machine": {"simulated": True, "numa_nodes": nodes, "driver_version": 13000,
                        "gpus": [{"name": "made", "memory_bytes": 4 << 30, "copy_engines": engines,
                                  "numa": i % nodes} for i in range(gpus)]},
            "paths": paths}
