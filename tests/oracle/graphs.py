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


class GAT(pyg.GAT):
    """With the keys that heed has beside PyTorch Geometric's: heads of the last layer, and a dropout of their own for weights."""
    v2 = False

    def __init__(self, *sizes, out_heads=None, attention_dropout=None, **keys):
        self.__dict__["out_heads"] = out_heads
        super().__init__(*sizes, v2=self.v2, **keys)

    def init_conv(self, inputs, outputs, heads=1, **keys):
        last = getattr(self, "_is_conv_to_out", False)
        return super().init_conv(inputs, outputs, heads=self.out_heads or heads if last else heads, **keys)


class GATv2(GAT):
    v2 = True


MODELS = {"gcn": (pyg.GCN, "GCN"), "gat": (GAT, "GAT"), "gatv2": (GATv2, "GATv2"), "graphconv": (GraphConvs, "GraphConv"), "sage": (pyg.GraphSAGE, "GraphSAGE"), "gin": (pyg.GIN, "GIN")}
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

    def state_dict(self, *given, **keys):
        """Shared weights once, as safetensors' save_model has them."""
        shared = getattr(self.convs[0], "share_weights", False)
        return {k: v for k, v in super().state_dict(*given, **keys).items() if not (shared and ".lin_r." in k)}

    @property
    def dtype(self):
        return next(self.parameters()).dtype

    def forward(self, x, edge_index, edge_weight=None, batch=None, labels=None, output_attentions=False, return_dict=True):
        seen = []
        hooks = [c.register_forward_pre_hook(lambda conv, given: seen.append((conv, given))) for c in self.convs]
        h = self.net(x, edge_index, edge_weight)
        for hook in hooks:
            hook.remove()
        attentions = self.attentions(seen)
        if self.head is None:
            return dict(last_hidden_state=h) | attentions
        if self.head == "graphs":
            batch = torch.zeros(len(x), dtype=torch.long) if batch is None else batch
            h = self.lin(self.pool(h, batch, None if labels is None else len(labels)))
        return dict(logits=h) | ({} if labels is None else dict(loss=F.cross_entropy(h, labels))) | attentions

    @staticmethod
    def attentions(seen):
        """Of layers that have attention, from what went into them."""
        if not seen or not hasattr(seen[0][0], "heads"):
            return {}
        with torch.no_grad():
            pairs = [conv(*given, return_attention_weights=True)[1] for conv, given in seen]
        return dict(attentions=[alpha for _, alpha in pairs], attention_edges=[edges for edges, _ in pairs])


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
    save("gat-nodes", "gat", "nodes", (4, 6, 2, 3), nodes, heads=3, out_heads=2, act="tanh")
    save("gat-graphs", "gat", "graphs", (3, 4, 2, 2), graphs, batch=batch, heads=2, concat=False, negative_slope=0.1, pooling="max")
    save("gat-bare", "gat", None, (4, 6, 1, None), None, heads=2)
    save("gatv2-nodes", "gatv2", "nodes", (4, 6, 2, 3), nodes, heads=2, norm="batch_norm", act="leaky_relu")
    save("gatv2-graphs", "gatv2", "graphs", (3, 4, 2, 2), graphs, batch=batch, heads=4, share_weights=True)
    save("gatv2-bare", "gatv2", None, (4, 6, 2, None), None, heads=3, negative_slope=0.3)
    save("sage-nodes", "sage", "nodes", (6, 5, 2, 3), nodes, normalize=True)
    save("sage-graphs", "sage", "graphs", (3, 4, 2, 2), graphs, batch=batch, aggr="max", project=True, pooling="sum")
    save("sage-bare", "sage", None, (4, 5, 2, None), None, aggr="sum", root_weight=False)
    save("gin-nodes", "gin", "nodes", (6, 5, 2, 3), nodes, train_eps=True, eps=0.5)
    save("gin-graphs", "gin", "graphs", (3, 4, 2, 2), graphs, batch=batch, norm="batch_norm", pooling="sum")
    save("gin-bare", "gin", None, (4, 5, 2, None), None, eps=0.25)
    save("graphconv-nodes", "graphconv", "nodes", (6, 5, 2, 3), nodes, weights=True)
    save("graphconv-graphs", "graphconv", "graphs", (3, 4, 2, 2), graphs, batch=batch, weights=True, aggr="max", pooling="max", act="tanh")
    save("graphconv-bare", "graphconv", None, (3, 5, 2, None), None, weights=True, aggr="mean")
    save("gcn-bare", "gcn", None, (4, 5, 2, None), None, normalize=False, norm="batch_norm")
