"""Lines of graphs, beside PyTorch Geometric: an epoch on a graph as large as Cora, of dense and of sparse features, and one GCN layer on a large
graph, beside its edge_index form and its sparse-matrix form."""
import importlib.util

import torch
import torch.nn.functional as F

import attention
import training
from peers import missing

NODES, FEATURES, EDGES, CLASSES, ONES = 2708, 1433, 5278, 7, 18
MEMORY = 0.5  # of the edge_index form's


def drawn_edges(nodes, edges, both_ways):
    index = torch.randint(nodes, (2, edges))
    return torch.cat([index[:, :edges // 2], index.flip(0)[:, :edges // 2]], 1) if both_ways else index


class Dropped(torch.nn.Module):
    """A model whose features are dropped out too; sparse ones, where PyTorch Geometric takes a sparse matrix, among the ones."""

    def __init__(self, net, p, sparse):
        super().__init__()
        self.net, self.p, self.sparse = net, p, sparse

    def forward(self, x, edges):
        if self.sparse:
            x = torch.sparse_coo_tensor(x.indices(), F.dropout(x.values(), self.p), x.shape, is_coalesced=True)
        else:
            x = F.dropout(x, self.p)
        return self.net(x, edges)


def epoch(net, p, lr, sparse):
    columns = torch.randint(FEATURES, (NODES, ONES))
    x = torch.zeros(NODES, FEATURES).scatter_(1, columns, 1)
    if sparse:
        x = x.to_sparse().coalesce()
    edges, labels = drawn_edges(NODES, 2 * EDGES, True), torch.randint(CLASSES, (140,))
    model = Dropped(net, p, sparse).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=lr, weight_decay=5e-4, fused=True)
    return training.step(lambda: F.cross_entropy(model(x, edges)[:140], labels), optimizer, False)


def forms(make, p, lr, sparse):
    yield "PyG, x dense", epoch(make(), p, lr, False)
    if sparse:
        run = epoch(make(), p, lr, True)
        try:
            run()
        except (RuntimeError, NotImplementedError, TypeError) as why:
            print(f"  sparse features: PyTorch Geometric refuses: {str(why).splitlines()[0][:100]}")
        else:
            yield "PyG, x sparse", run


def gcn_epoch(_, __, sparse):
    from torch_geometric.nn import GCN
    return list(forms(lambda: GCN(FEATURES, 16, 2, CLASSES, dropout=0.5, cached=True), 0.5, 0.01, sparse))


def gat_epoch(_, __, sparse):
    from torch_geometric.nn import GATConv

    class GAT(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = GATConv(FEATURES, 8, 8, dropout=0.6), GATConv(64, CLASSES, 1, False, dropout=0.6)

        def forward(self, x, edges):
            return self.last(F.dropout(F.elu(self.first(x, edges)), 0.6), edges)
    return list(forms(GAT, 0.6, 0.005, sparse))


def layer(nodes, edges, width, matrix):
    """The weights of edges are worked out once, as heed's are."""
    from torch_geometric.nn import GCNConv
    from torch_geometric.nn.conv.gcn_conv import gcn_norm
    index = drawn_edges(nodes, edges, False)
    x, dy = torch.randn(nodes, width, requires_grad=True), torch.randn(nodes, width)
    conv = GCNConv(width, width, normalize=not matrix, cached=not matrix)
    if matrix:
        index, weight = gcn_norm(index, None, nodes)
        index = torch.sparse_coo_tensor(index.flip(0), weight, (nodes, nodes)).coalesce().to_sparse_csr()

    def run():
        for p in [x, *conv.parameters()]:
            p.grad = None
        conv(x, index).backward(dy)
    return run


def gcn_layer(nodes, edges, width):
    return [("PyG, edge_index", layer(nodes, edges, width, False))]


def gcn_layer_matrix(nodes, edges, width):
    return [("PyG, torch.sparse", layer(nodes, edges, width, True))]


def peak_bytes(nodes, edges, width):
    """How much more memory a process has held at its peak, after some runs, than before there was a graph."""
    import torch_geometric.nn  # noqa: F401
    before = attention.memory_of_process("VmRSS")
    run = layer(nodes, edges, width, False)
    for _ in range(4):
        run()
    return attention.memory_of_process("VmHWM") - before


LARGE = 100_000, 2_000_000, 64


def lines():
    if missing("torch_geometric"):
        return
    yield "GCN on Cora's sizes, dense features, an epoch", gcn_epoch, (0, 0, 0), (3, 3)
    yield "GCN on Cora's sizes, sparse features, an epoch", gcn_epoch, (0, 0, 1), (3, 3)
    yield "GAT on Cora's sizes, dense features, an epoch", gat_epoch, (0, 0, 0), (2, 2)
    yield "GAT on Cora's sizes, sparse features, an epoch", gat_epoch, (0, 0, 1), (2, 2)
    yield "GCN layer of 64, 100,000 nodes, forward+backward", gcn_layer, LARGE, (1.5, 1.5)
    yield "GCN layer of 64 beside the sparse matrix's", gcn_layer_matrix, LARGE, (1, 1)


def extras(start, failed):
    """start: makes a worker, whose memory nothing else has raised."""
    if not importlib.util.find_spec("torch_geometric"):
        return
    worker = start()
    before = worker.memory("VmRSS")
    worker.best("gcn_layer", LARGE, 1, 0)
    ours, peer = worker.memory("VmHWM") - before, attention.fresh_process(f"peak_bytes(*{LARGE})", "graphs")
    print(f"  GCN layer: {ours / 1e6:.0f} MB at the peak, PyTorch Geometric {peer / 1e6:.0f} MB ({MEMORY} of it at most)")
    if ours > MEMORY * peer:
        failed.append(f"the GCN layer takes {ours / peer:.2f} of PyTorch Geometric's memory")
