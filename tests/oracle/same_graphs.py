"""same_models.py for graph networks: python same_graphs.py HEED [FAMILY...] [--cases N] [--seed S].

Draws sizes, keys, a head, pooling, activations, and graphs with edges that are there twice, loops, nodes without an edge, edge
weights and several graphs at once, of PyTorch Geometric's models."""
import json
import sys

import torch

import drawn
import graphs


def graph_of(r, nodes):
    """Edges among some of the nodes."""
    count = r.choice([0, 1, nodes, 3 * nodes, 8 * nodes])
    reach = r.choice([nodes, max(1, nodes // 2)])
    index = torch.randint(0, reach, (2, count))
    for k in range(count):
        if r.random() < 0.15:
            index[1, k] = index[0, k]
        elif k and r.random() < 0.15:
            index[:, k] = index[:, r.randrange(k)]
    return index


def draw_keys(r, family):
    keys = dict(act=r.choice(["relu", "elu", "tanh", "sigmoid", "leaky_relu"]), norm=r.choice([None, None, "batch_norm"]))
    if family == "gcn":
        keys |= dict(improved=r.random() < 0.3, normalize=r.random() < 0.8)
        keys["add_self_loops"] = r.choice([None, keys["normalize"], False])
    if family in ("sage", "graphconv"):
        keys["aggr"] = r.choice(["add", "sum", "mean", "max"])
    if family == "sage":
        keys |= dict(normalize=r.random() < 0.3, root_weight=r.random() < 0.8, project=r.random() < 0.3)
    if family == "gin":
        keys |= dict(train_eps=r.random() < 0.5, eps=r.choice([0.0, 0.3, -0.5]))
    if family in ("gat", "gatv2"):
        keys |= dict(heads=r.choice([1, 2, 3, 4, 5, 8]), out_heads=r.choice([None, None, 1, 2, 3, 6]), concat=r.random() < 0.8,
                     negative_slope=r.choice([0.2, 0.0, 0.5]))
    if family == "gatv2":
        keys["share_weights"] = r.random() < 0.4
    return keys


def case(family, r, folder):
    head = r.choice(["nodes", "nodes", "graphs", "graphs", None])
    nodes, inputs, hidden, layers, outputs = r.randint(1, 30), r.randint(1, 20), r.randint(1, 24), r.randint(1, 4), r.randint(2, 9)
    keys = draw_keys(r, family)
    if keys.get("concat"):
        hidden = keys["heads"] * r.randint(1, 6)
    if head == "graphs":
        keys["pooling"] = r.choice(list(graphs.POOLINGS))
    sizes = inputs, hidden, layers, outputs
    model = graphs.Network(family, head, *sizes, **keys)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.3 * torch.randn_like(p))
        if head == "graphs":  # or sums of many nodes are so sure of a class that the loss is rounding
            model.lin.weight.mul_(0.1)
        for name, b in model.named_buffers():
            if name.endswith("running_mean"):
                b.normal_()
            elif name.endswith("running_var"):
                b.uniform_(0.5, 2)
    given = dict(x=torch.randn(nodes, inputs), edge_index=graph_of(r, nodes))
    if family in graphs.WEIGHTED and r.random() < 0.5:
        given["edge_weight"] = torch.rand(given["edge_index"].shape[1]) + r.choice([0, 0.1])
        loops = given["edge_index"][0] == given["edge_index"][1]
        given["edge_weight"][loops] = 0.7  # of several loops of a node one counts
    many = r.randint(1, 5)
    if head == "graphs" and r.random() < 0.8:
        given["batch"] = torch.randint(0, many, (nodes,))
        if r.random() < 0.5:
            given["batch"] = given["batch"].sort().values
    if head and r.random() < 0.7:
        count = nodes if head == "nodes" else many if "batch" in given else 1
        given["labels"] = torch.randint(0, outputs, (count,))
        given["labels"][torch.rand(count) < 0.2] = -100
        given["labels"][0] = 0
    model.eval()
    drawn.save_weights(model, folder)
    config = graphs.config_of(family, head, *sizes, **keys)
    (folder / "config.json").write_text(json.dumps(config))
    return model, given, config, [n for n, _ in model.named_parameters()]


if __name__ == "__main__":
    sys.exit(drawn.run(__doc__, list(graphs.MODELS), case, 40))
