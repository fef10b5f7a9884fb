"""The golden cases of the ops of graphs: sums, means and maxima over neighbours, and attention to them.

Inputs are nodes, edges (2,E) and, in the last place, the weights that the edges have of their own."""
import numpy as np
import torch
import torch.nn.functional as F

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


def attention(dynamic):
    """Of nodes, vectors, and edges that come last; every node has one loop."""
    def run(a, b, c, edges, slope):
        x, vector = a, c.view(a.shape[1:])
        source, target, _ = sorted_edges(edges, None, len(x), len(x), loops=2)
        if dynamic:
            e = (F.leaky_relu(x[source] + b[target], slope) * vector).sum(-1)
        else:
            e = F.leaky_relu((x * b.view(vector.shape)).sum(-1)[source] + (x * vector).sum(-1)[target], slope)
        exp = torch.exp(e - e.max(0, keepdim=True).values)
        alpha = exp / torch.zeros(len(x), x.shape[1], dtype=x.dtype).index_add(0, target, exp)[target]
        return torch.zeros_like(x).index_add(0, target, alpha[:, :, None] * x[source])
    return run


def attentions():
    f = Family("graph_attention")
    for dynamic, op in [(False, "graph_attention"), (True, "graph_attention_v2")]:
        for nodes, heads, size, count in [(5, 1, 3, 7), (6, 2, 4, 14), (7, 8, 8, 20), (4, 3, 5, 9), (9, 5, 1, 30), (3, 16, 2, 4), (2, 1, 19, 0)]:
            x, vector = normal(nodes, heads, size), normal(1, heads, size)
            for slope in [0.25, 1] if nodes in (4, 6) else [0.25]:  # 1 is without the kink
                f.case(op, [x, x if dynamic else vector, vector, ids(nodes, 2, count)],
                       lambda a, b, c, e: attention(dynamic)(a, b, c, e, slope), kink=slope != 1, slope=slope, loops=2)
        for shape, edges in [("8 8", "ids 997 2 9000"), ("3 5", "ids 2 2 12000")]:
            vector, nodes = f"normal 1 {shape}", f"normal 997 {shape}"
            f.large(op, nodes, nodes if dynamic else vector, vector, edges, slope=0.25, loops=2)
    return f


def families():
    return [sums(), attentions()]
