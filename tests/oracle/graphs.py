"""Golden directories of graph networks: PyTorch Geometric's models, with the heads that heed has."""
import torch
from torch import nn
from torch.nn import functional as F
from torch_geometric import nn as pyg
from torch_geometric.nn.models.basic_gnn import BasicGNN

import golden

POOLINGS = {"sum": pyg.global_add_pool, "mean": pyg.global_mean_pool, "max": pyg.global_max_pool}


class GraphConvs(BasicGNN):
    """The models of torch_geometric.nn.models have none of GraphConv."""
    supports_edge_weight, supports_edge_attr = True, False

    def init_conv(self, inputs, outputs, **keys):
        return pyg.GraphConv(inputs, outputs, **keys)


MODELS = {"gcn": (pyg.GCN, "GCN"), "graphconv": (GraphConvs, "GraphConv"), "sage": (pyg.GraphSAGE, "GraphSAGE"), "gin": (pyg.GIN, "GIN")}
WEIGHTED = ("gcn", "graphconv")
SHARED = dict(act="relu", norm=None, dropout=0.0)


class Network(nn.Module):
    """A model under its own parameters' names. head: nodes, graphs, or None for the body alone; arguments: what its class takes."""

    def __init__(self, family, head, inputs, hidden, layers, outputs, pooling="mean", **arguments):
        super().__init__()
        net = MODELS[family][0](inputs, hidden, layers, None if head is None else outputs, jk="last" if head == "graphs" else None,
                                **arguments)
        self.convs, self.norms = net.convs, net.norms
        if head == "graphs":
            self.lin, net.lin = net.lin, nn.Identity()  # which comes behind the pooling
        self.head, self.pool, self.__dict__["net"] = head, POOLINGS[pooling], net

    @property
    def dtype(self):
        return next(self.parameters()).dtype

    def forward(self, x, edge_index, edge_weight=None, batch=None, labels=None, output_attentions=False, return_dict=True):
        h = self.net(x, edge_index, edge_weight)
        if self.head is None:
            return dict(last_hidden_state=h)
        if self.head == "graphs":
            batch = torch.zeros(len(x), dtype=torch.long) if batch is None else batch
            h = self.lin(self.pool(h, batch, None if labels is None else len(labels)))
        return dict(logits=h) | ({} if labels is None else dict(loss=F.cross_entropy(h, labels)))


def config_of(family, head, inputs, hidden, layers, outputs, pooling="mean", **arguments):
    kind = {None: "Model", "nodes": "ForNodeClassification", "graphs": "ForGraphClassification"}[head]
    config = dict(model_type=f"heed-{family}", architectures=[MODELS[family][1] + kind], in_channels=inputs, hidden_channels=hidden,
                  num_layers=layers) | SHARED | arguments
    if head:
        config["out_channels"] = outputs
    if head == "graphs":
        config["pooling"] = pooling
    return config


def edges(nodes, count):
    """With edges that are there twice, loops, and nodes without an edge."""
    index = torch.randint(0, max(1, nodes - 1), (2, count))
    if count > 3:
        index[:, 1] = index[:, 0]
        index[1, 2] = index[0, 2]
    return index


def make(folder):
    def save(name, family, head, sizes, labels, nodes=9, count=20, weights=False, batch=None, **arguments):
        golden.seed(name)
        given = dict(x=torch.randn(nodes, sizes[0]), edge_index=edges(nodes, count))
        if weights:
            given["edge_weight"] = 0.2 + torch.rand(count)
        if batch:
            given["batch"] = torch.tensor(batch)
        if labels:
            given["labels"] = torch.tensor(labels)
        golden.save(folder / name, golden.enliven(Network(family, head, *sizes, **arguments)), given, config_of(family, head, *sizes, **arguments))

    nodes, graphs = [0, 2, -100, 1, 1, 0, 2, -100, 1], [1, 0, 1]
    batch = [0, 0, 2, 0, 1, 1, 2, 2, 2]
    save("gcn-nodes", "gcn", "nodes", (4, 5, 2, 3), nodes)
    save("gcn-graphs", "gcn", "graphs", (4, 5, 3, 2), graphs, weights=True, batch=batch, improved=True, pooling="sum", act="tanh")
    save("gcn-bare", "gcn", None, (4, 5, 2, None), None, normalize=False, norm="batch_norm")
