"""Nadaraya-Watson regression in NumPy, for `heed lesson nadaraya-watson --data FILE`.

Writes lessons/one.csv (x, y with a point far from all others, which no narrow kernel reaches) and lessons/two.csv (two
columns of x of different scale), and beside them what the lesson should write: curves on its grid of 101 points, and the
answer at each point when it is left out.
"""

import numpy as np

GRID = 101
WIDTHS = (0.1, 0.2, 0.5, 1.0)
KERNELS = {
    "gaussian": None,  # see pool
    "boxcar": lambda u: (u <= 1).astype(float),
    "triangular": lambda u: np.maximum(0, 1 - u),
    "epanechnikov": lambda u: np.maximum(0, 1 - u**2),
}


def single(a):
    return np.asarray(a, np.float32).astype(np.float64)


def pool(kernel, width, queries, keys, values, own=False):
    """Answers (queries); a query that no kernel reaches gets the mean of the values of its nearest keys."""
    u = np.linalg.norm(queries[:, None] - keys[None], axis=-1) / width
    if own:
        np.fill_diagonal(u, np.inf)
    if kernel == "gaussian":  # a softmax, whose numbers do not vanish where the kernel's do
        k = np.exp(-(u**2 - u.min(1, keepdims=True) ** 2) / 2)
    else:
        k = KERNELS[kernel](u)
    nearest = u == u.min(1, keepdims=True)
    k = np.where(k.sum(1, keepdims=True) > 0, k, nearest)
    return k @ values / k.sum(1)


def variants(queries, keys, values, own=False):
    columns = {name: pool(name, 1.0, queries, keys, values, own) for name in KERNELS}
    columns |= {f"width {h:g}": pool("gaussian", h, queries, keys, values, own) for h in WIDTHS}
    return columns


def write(path, columns):
    names, rows = list(columns), np.stack(list(columns.values()), 1)
    lines = [",".join(names)] + [",".join(f"{v:.9f}" for v in row) for row in rows]
    path.write_text("\n".join(lines) + "\n")


def golden(directory, name, x, y):
    x, y = np.round(x, 4), np.round(y, 4)
    write(directory / f"{name}.csv", {f"x{c + 1}": x[:, c] for c in range(x.shape[1])} | {"y": y})
    x, y = single(x), single(y)
    unit = x.std(0)
    x = single(x / unit)  # the lesson's own: columns divided by their deviation, kept in f32
    if x.shape[1] == 1:
        order = np.argsort(x[:, 0], kind="stable")
        x, y = x[order], y[order]
        grid = np.linspace(x[0, 0], x[-1, 0], GRID)
        curves = {"x": grid * unit[0]} | variants(grid[:, None], x, y)
        write(directory / f"{name}-kernels.csv", {k: curves[k] for k in ("x", *KERNELS)})
        write(directory / f"{name}-widths.csv", {k: curves[k] for k in ("x", *(f"width {h:g}" for h in WIDTHS))})
    columns = {f"x{c + 1}" if x.shape[1] > 1 else "x": x[:, c] * unit[c] for c in range(x.shape[1])} | {"y": y}
    write(directory / f"{name}-left-out.csv", columns | variants(x, x, y, own=True))


def make(target):
    target.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(7)
    x = np.append(random.uniform(0, 5, 39), 15.0)[:, None]
    golden(target, "one", x, 2 * np.sin(x[:, 0]) + x[:, 0] ** 0.8 + random.normal(0, 0.5, 40))
    x = random.uniform(0, 1, (40, 2)) * [1, 300]
    golden(target, "two", x, np.sin(6 * x[:, 0]) + x[:, 1] / 300 + random.normal(0, 0.1, 40))
