"""Assignments as scipy finds them: N.cost, and N.row and N.column of linear_sum_assignment, which are not there where it refuses."""
import numpy as np
from scipy.optimize import linear_sum_assignment

from case import wanted, write_tensors

DRAWS = {
    "random": lambda r, shape: r.random(shape),
    "tied": lambda r, shape: r.integers(0, 3, shape).astype(float),  # few numbers: many assignments cost the same
    "equal": lambda r, shape: np.zeros(shape),
    "columns": lambda r, shape: np.broadcast_to(r.integers(0, 4, (1, shape[1])), shape).astype(float),
    "rows": lambda r, shape: np.broadcast_to(r.random((shape[0], 1)), shape).copy(),
    "negative": lambda r, shape: -10 * r.random(shape),
    "forbidden": lambda r, shape: np.where(r.random(shape) < 0.5, np.inf, r.integers(0, 5, shape)),
    "sealed": lambda r, shape: np.where(r.random(shape) < 0.75, np.inf, r.random(shape)),
    "largest": lambda r, shape: np.where(r.random(shape) < 0.3, float(np.finfo(np.float32).max), r.random(shape)),
    "far": lambda r, shape: r.random(shape) * 10.0 ** r.integers(-12, 12, shape),
}
SHAPES = [(1, 7), (7, 1), (4, 4), (5, 9), (9, 5), (13, 13)]


def make(folder):
    if not wanted("assignment"):
        return
    r, tensors, refused = np.random.default_rng(20), {}, 0
    costs = [draw(r, shape).astype(np.float32) for draw in DRAWS.values() for shape in SHAPES]
    costs += [DRAWS["random"](r, (40, 40)).astype(np.float32), DRAWS["tied"](r, (33, 20)).astype(np.float32)]
    costs += [np.float32([[1.0, np.nan], [2.0, 3.0]]), np.float32([[1.0, -np.inf]]), np.float32([[np.inf, np.inf], [1.0, 2.0]])]
    for i, cost in enumerate(costs):
        tensors[f"{i}.cost"] = np.ascontiguousarray(cost)
        try:
            row, column = linear_sum_assignment(cost)
        except ValueError:
            refused += 1
            continue
        tensors[f"{i}.row"], tensors[f"{i}.column"] = row.astype(np.int32), column.astype(np.int32)
    path = folder / "assignment.safetensors"
    write_tensors(path, tensors, finite=False)
    print(f"kernel/{path.name}: {len(costs)} matrices, {refused} refused, {path.stat().st_size} bytes")
