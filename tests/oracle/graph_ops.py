"""The golden cases of the ops of graphs: sums, means and maxima over neighbours, and attention to them.

Inputs are nodes, edges (2,E) and, in the last place, the weights that the edges have of their own."""
import numpy as np
import torch

from case import Family, distinct, few, given, ids, normal, positive


def sorted_edges(edges, weight, sources, targets, loops=0, loop_weight=1.0, normalize=False):
    """Sources, targets and weights (None: 1) of what a graph makes of its edges; loops: 0 kept, 1 remaining ones added, 2 fresh ones."""
    source, target = edges
    if loops:
        kept = source != target
        loop = torch.full((targets,), loop_weight if weight is not None else 1.0, dtype=torch.float64)
        if loops == 1 and weight is not None:
            for i, w in zip(source[~kept], weight[~kept]):
                loop[i] = w
        weight = None if weight is None else torch.cat([weight[kept], loop])
        nodes = torch.arange(targets)
        source, target = torch.cat([source[kept], nodes]), torch.cat([target[kept], nodes])
    if normalize:
        weight = torch.ones(len(source), dtype=torch.float64) if weight is None else weight
        degree = torch.zeros(targets, dtype=torch.float64).index_add(0, target, weight)
        root = torch.where(degree == 0, 0, degree ** -0.5)
        weight = root[source] * weight * root[target]
    return source, target, weight


def counts(*shape):
    return lambda r: few(*shape)(r) + np.float32(1)


def messages(reduce):
    """Of x, edges, a weight with a gradient and the graph's own."""
    def run(x, edges, weight, own, targets=None, **opts):
        nodes = len(x) if targets is None else targets
        source, target, own = sorted_edges(edges, own, len(x), nodes, **opts)
        weight = own if weight is None else weight
        message = x[source] if weight is None else x[source] * weight[:, None]
        index = target[:, None].expand_as(message)
        y = torch.zeros(nodes, x.shape[1], dtype=x.dtype)
        if reduce == "mean":
            many = torch.zeros(nodes, dtype=x.dtype).index_add(0, target, torch.ones(len(target), dtype=x.dtype))
            return y.index_add(0, target, message) / many.clamp(min=1)[:, None]
        if reduce == "max":
            return y.scatter_reduce(0, index, message, "amax", include_self=False)
        return y.index_add(0, target, message)
    return run


def sums():
    """Edges that are there twice, loops, and nodes without an edge are among them."""
    f = Family("graphs")
    for reduce in ["sum", "mean", "max"]:
        op, fn = f"graph_{reduce}", messages(reduce)
        make = distinct if reduce == "max" else normal

        def case(shape, edges, weight=None, own=None, kink=False, nodes=make, **opts):
            f.case(op, [nodes(*shape), edges, weight, own], lambda x, e, w, o: fn(x, e, w, o, **opts), kink=kink, frozen=(3,), **opts)

        case((5, 3), given([[0, 1, 1, 4, 0, 3], [1, 0, 0, 2, 1, 3]], np.int32))
        case((6, 19), ids(5, 2, 14))
        case((4, 37), ids(4, 2, 9), own=positive(9))
        case((7, 2), ids(6, 2, 12), own=positive(12), loops=1, loop_weight=2.0, normalize=True)
        case((7, 8), ids(6, 2, 12), loops=1, normalize=True)
        case((5, 4), ids(5, 2, 7), loops=2)
        case((5, 4), given([[0, 1, 2, 3, 4], [2, 1, 0, 0, 2]], np.int32), targets=3)
        case((3, 2), given([[], []], np.int32))
        if reduce == "max":
            case((6, 5), ids(6, 2, 30), kink=True, nodes=counts)  # without 0, of which PyTorch gives the buffer a share
        else:
            case((6, 19), ids(5, 2, 14), weight=normal(14))
            case((5, 3), given([[0, 1, 2, 3, 4], [2, 1, 0, 0, 2]], np.int32), weight=normal(5), targets=3)
        f.large(op, "normal 997 67", "ids 997 2 12000", None, None)
        f.large(op, "normal 997 67", "ids 997 2 12000", None, "positive 12000", loops=1, normalize=True)
        f.large(op, "normal 997 17", "ids 2 2 12000", None, None)
        if reduce != "max":
            f.large(op, "normal 997 17", "ids 2 2 12000", "normal 12000", None)
    return f


def families():
    return [sums()]
