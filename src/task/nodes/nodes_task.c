/* Nodes and graphs: classes of the nodes of a graph, and of whole graphs. */
#include "task/nodes/graph_fields.h"
#include "task/nodes/graphs_way.h"

/* clang-format off */
#define GRAPH_COLUMN_FIELDS \
    {.name = "target", .letter = 't', .kind = HEED_FIELD_TEXT, .value = "COLUMN", \
     .help = "the column of the classes, by name or number; by default label, class or y, or what is left"}, \
    {.name = "drop", .kind = HEED_FIELD_LIST, .value = "COLUMN", .help = "a column of nodes that is no feature"}, \
    {.name = "directed", .help = "an edge leads from its source to its target; by default it stands for both directions"}, \
    {.name = "normalize", .kind = HEED_FIELD_CHOICE, .value = "KIND", .choices = "rows none", \
     .help = "rows: divide the features of each node by their sum, which is the default for bags of words (lists of indices, " \
             "and matrices of 0 and 1 in .npz); one of"}
#define SPLIT_FIELDS(unit) \
    {.name = "train-per-class", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1e9, \
     .help = "draw a split by --seed: N " unit " of each class to train on; of the others --valid to validate, the rest to test"}, \
    {.name = "valid", .kind = HEED_FIELD_NUMBER, .value = "FRACTION", .high = 0.999, \
     .help = "fraction of the labelled " unit " held out for validation; by default what the column split says, else 0.1"}
#define DECAY_FIELDS(standard_, more) \
    {.name = "optimizer", .kind = HEED_FIELD_CHOICE, .standard = "adam", .value = "NAME", .choices = OPTIMIZERS, \
     .help = "optimizer, one of"}, \
    {.name = "decay", .letter = 'w', .kind = HEED_FIELD_NUMBER, .standard = standard_, .value = "X", .high = 1e3, \
     .help = "weight decay, not applied to biases; of adam it is the L2 term of the loss" more}, \
    {.name = "decay-only", .kind = HEED_FIELD_LIST, .value = "PATTERN", \
     .help = "apply weight decay to the parameters alone whose names match, such as 'convs.0.*', to all: '*'; by default all, " \
             "but to classify nodes with gcn the first layer"}, \
    {.name = "schedule", .kind = HEED_FIELD_CHOICE, .standard = "constant", .value = "NAME", \
     .choices = "cosine linear constant step inverse-root", .help = "learning rate schedule, one of"}

static const heed_field nodes_fields[] = {
    {.name = "data", .kind = HEED_FIELD_GROUP},
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "a directory with nodes.tsv and edges.tsv (also .csv and .gz), or an .npz file"},
    {.name = "tables", .kind = HEED_FIELD_TABLE, .table = graph_fields},
    GRAPH_COLUMN_FIELDS,
    {.name = "features", .kind = HEED_FIELD_CHOICE, .value = "KIND", .choices = HEED_GRAPH_FEATURES,
     .help = "features of nodes that have none: identity (one-hot number of the node, for this graph alone; the default), "
             "degree (one-hot), constant"},
    SPLIT_FIELDS("nodes"),
    {.name = "shared", .kind = HEED_FIELD_TABLE, .table = run_fields},
    MODEL_FIELD("gcn", "model family: gcn, gat, gatv2, sage, gin, graphconv; 'heed list' shows them"),
    EPOCHS_FIELD("200", NULL, "; each is one update, of the whole graph"),
    BATCH_FIELD(NULL, "not for nodes, which are learnt from the whole graph at once"),
    LR_FIELD("0.01", NULL, "learning rate; of gat and gatv2 0.005 where none is given"),
    DECAY_FIELDS("5e-4", ""),
    {.name = NULL},
};

static const heed_field graphs_fields[] = {
    {.name = "data", .kind = HEED_FIELD_GROUP},
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "a directory with nodes.tsv, edges.tsv and, where there is one, graphs.tsv (also .csv and .gz), an .npz file, or "
             "the word " GRAPHS_DRAWN ": one to four copies of a random graph, to be counted"},
    {.name = "tables", .kind = HEED_FIELD_TABLE, .table = graph_fields},
    GRAPH_COLUMN_FIELDS,
    {.name = "features", .kind = HEED_FIELD_CHOICE, .value = "KIND", .choices = HEED_GRAPH_FEATURES,
     .help = "features of nodes that have none: degree (one-hot; the default), constant"},
    SPLIT_FIELDS("graphs"),
    {.name = "shared", .kind = HEED_FIELD_TABLE, .table = run_fields},
    MODEL_FIELD("gin", "model family: gin, gcn, gat, gatv2, sage, graphconv; 'heed list' shows them"),
    EPOCHS_FIELD("20", NULL, ""),
    BATCH_FIELD("32", "graphs per update"),
    LR_FIELD("0.01", NULL, "learning rate"),
    DECAY_FIELDS("0", ""),
    {.name = NULL},
};
/* clang-format on */

static const struct task_way *const ways[] = {&way_graphs, NULL};

#define TABLES_ABOUT                                                                                                   \
    "A table of nodes has a row for each: a column id (or node, else the first) with a name of any kind, and where "   \
    "there are such columns split (train, val, test, none), label (or class, y) and graph. A column features holds "   \
    "the indices of features that are 1, or INDEX:VALUE, with blanks between; all other columns are features, "        \
    "numbers or categories. A table of edges has source and target (or from and to) and, where there is one, weight. " \
    "Tables without a header are read by what their columns hold, which is said. An .npz file has x (or the parts of " \
    "a sparse matrix attr_data, attr_indices, attr_indptr, attr_shape), edge_index (or adj_data, ...), y, "            \
    "edge_weight, train_mask, val_mask, test_mask and batch."

const heed_task task_of_nodes = {
    .name = "nodes",
    .summary = "classes of the nodes of a graph",
    .about = "Trains a graph network to classify the nodes of a graph: each update takes the whole graph, the loss is "
             "that of the labelled nodes that are to train, and the model with the best validation accuracy is kept. "
             "Nodes without a label take part, and get a class from 'heed predict'.\n\n" TABLES_ABOUT "\n\n"
             "The defaults of gcn are those of Kipf and Welling (2017): 16 hidden channels, dropout 0.5 of the "
             "features too, Adam, weight decay (L2) of the first layer alone. Those of gat and gatv2 are those of "
             "Velickovic et al. (2018): 8 heads of 8 channels, dropout 0.6, ELU.",
    .examples = "heed train nodes --data cora --out cora-gcn\n"
                "heed train nodes --data cora --model gat --epochs 1000 --patience 100 --out cora-gat\n"
                "heed train nodes --nodes people.csv --edges friends.csv --target club --out clubs\n"
                "heed train nodes --data karate --train-per-class 1 --out karate\n",
    .fields = nodes_fields,
    .next = "predict",
    .next_how = " --nodes FILE --edges FILE   (or --data PATH)",
    .ways = ways,
    .files = "nodes",
    .whole_data = true,
};

const heed_task task_of_graphs = {
    .name = "graphs",
    .summary = "classes of whole graphs",
    .about = "Trains a graph network to classify graphs: layers of message passing, then the sum, the mean or the "
             "maximum over the nodes of a graph (--set pooling=), then a linear layer. A batch is some graphs side by "
             "side.\n\n" TABLES_ABOUT
             " The class of a graph is in the column graph_label of its nodes, which then say their split too, or "
             "in a table graphs.tsv with the columns graph, split and label. Where edges have a column graph, names of "
             "nodes need be different only within a graph.",
    .examples =
        "heed train graphs --data " GRAPHS_DRAWN " --out counts\n"
        "heed train graphs --data " GRAPHS_DRAWN " --set pooling=mean --out means\n"
        "heed train graphs --nodes atoms.csv --edges bonds.csv --graphs molecules.csv --valid 0.2 --out molecules\n",
    .fields = graphs_fields,
    .next = "predict",
    .next_how = " --nodes FILE --edges FILE   (or --data PATH)",
    .ways = ways,
    .files = "nodes",
};
