/* Regress and classify: numbers or classes from tables, texts or pictures. */
#include "task/run.h"
#include "task/tables/table_fields.h"
#include "task/task.h"

/* clang-format off */
/* What both have; classify adds those of pictures. */
#define VECTOR_FIELDS \
    {.name = "data", .kind = HEED_FIELD_GROUP}, \
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .value = "PATH", \
     .help = "csv, tsv (also .gz), a directory with train.csv, dev.csv and test.csv, x.npy,y.npy, a directory of MNIST's files, pictures in folders or a .tar.gz, the word digits or same-shapes (pictures that are drawn), or a table of texts"}, \
    {.name = "test", .kind = HEED_FIELD_FILE, .value = "PATH", \
     .help = "test data, measured once at the end; by default a directory's own test part"}, \
    {.name = "valid", .kind = HEED_FIELD_NUMBER, .value = "FRACTION", .high = 0.999, \
     .help = "fraction of the data held out for validation; by default 0.1, for linear regression 0"}, \
    {.name = "target", .letter = 't', .kind = HEED_FIELD_TEXT, .value = "COLUMN", \
     .help = "the column of a table to predict, by name or number, several as a,b; by default the last"}, \
    {.name = "tables", .kind = HEED_FIELD_TABLE, .table = table_fields}, \
    {.name = "columns", .kind = HEED_FIELD_TABLE, .table = text_column_fields}, \
    CLASS_WEIGHTS_FIELD, \
    {.name = "texts", .kind = HEED_FIELD_TABLE, .table = text_fields}, \
    {.name = "shared", .kind = HEED_FIELD_TABLE, .table = run_fields}, \
    MODEL_FIELD("mlp", "model family; 'heed list' shows them"), \
    EPOCHS_FIELD(NULL, NULL, "; of tables 10 or more, to make 2000 updates"), \
    BATCH_FIELD(NULL, "examples per update; of tables 128, or fewer where there are few examples"), \
    LR_FIELD(NULL, NULL, "peak learning rate; of tables " ADAM_LR ", with sgd " SGD_LR ", of linear regression " LINE_LR)
static const heed_field regress_fields[] = {
    VECTOR_FIELDS,
    {.name = NULL},
};
static const heed_field classify_fields[] = {
    VECTOR_FIELDS,
    {.name = "pictures", .kind = HEED_FIELD_GROUP},
    {.name = "augmentation", .kind = HEED_FIELD_TABLE, .table = augment_fields},
    {.name = NULL},
};
/* clang-format on */

static const struct task_way *const regress_ways[] = {&way_tables, &way_texts_beside, NULL};
static const struct task_way *const classify_ways[] = {&way_tables, &way_texts_beside, &way_pictures, NULL};
static const heed_text_task *const regress_texts[] = {&task_regress, NULL}, *const classify_texts[] = {&task_classify,
                                                                                                       NULL};

const heed_task task_of_regress = {
    .name = "regress",
    .summary = "numbers from numbers or texts",
    .about =
        "Trains a model to predict numbers from a table. Columns of text become categories, one input each (one-hot). "
        "Inputs and targets are standardised; the metric is R^2.\n\n"
        "With --text COLUMN, --init DIR of an encoder, or --model of one (bert, roberta, ...), the table holds texts, "
        "or "
        "pairs of them, and a number; the metrics are Pearson's and Spearman's correlation.",
    .examples = "heed train regress --data houses.csv --target price --out houses --log houses.jsonl\n"
                "heed train regress --data houses.csv --target price --drop id,address --skip-missing --out houses\n"
                "heed train regress --data points.csv --model linear --out line\n"
                "heed train regress --data sts.tsv --init all-MiniLM-L6-v2 --out similarity\n",
    .fields = regress_fields,
    .texts = regress_texts,
    .ways = regress_ways,
};

const heed_task task_of_classify = {
    .name = "classify",
    .summary = "classes from numbers, pictures or texts",
    .about =
        "Trains a model to predict classes from a table or from pictures. The metric is accuracy.\n\n"
        "With --model vit, deit, dinov2, timm-vit, cait, volo, swin, swinv2, timm-swin, timm-swinv2 or mixer, or "
        "--init DIR of one, "
        "--data "
        "holds "
        "pictures: "
        "folders train/CLASS/NAME.jpg or .png with test/ and, where there is one, val/ beside it, or CLASS/NAME.jpg "
        "alone, "
        "the same in a .tar.gz, a directory of MNIST's files, x.npy,y.npy of bytes, or a word for pictures that are "
        "drawn: digits; same-shapes (are two shapes that lie far apart "
        "of one kind?). Sizes follow "
        "from "
        "the data: "
        "a fresh model for pictures of at most 64 x 64 has patches of 4 x 4 and 6 layers of 192 numbers (Swin: patches "
        "of 2 x 2, stages of 2, 2 and 2 blocks, 48 numbers in the first; VOLO: two blocks of outlook attention and "
        "four of a Transformer), for larger ones pictures of 224 x 224 and "
        "the sizes of ViT-Ti, Swin-T or VOLO-D1; --set overrides each. Perceiver takes pictures too, with a head that "
        "--head "
        "names. "
        "Another size with --init interpolates positions. How "
        "pictures are resized and normalised is written as transformers' preprocessor_config.json or timm's "
        "pretrained_cfg. Augmentation is off unless it is asked for.\n\n"
        "With --text COLUMN, --init DIR of an encoder, or --model of one (bert, roberta, ...), the table holds texts, "
        "or "
        "pairs of them, and a class; the metrics are accuracy, macro F1 and Matthews' correlation. --data may be a "
        "directory "
        "with train.tsv, dev.tsv and test.tsv.",
    .examples =
        "heed train classify --data digits --out out\n"
        "heed train classify --data mnist --recipe recipes/mnist-mlp.recipe --out mnist-mlp\n"
        "heed train classify --data iris.csv --target species --out iris\n"
        "heed train classify --model vit --data mnist --crop-padding 2 --out mnist-vit\n"
        "heed train classify --model vit --data photos.tar.gz --crop-area 0.3 --flip 0.5 --rand-augment 2 --mixup 0.8 "
        "--cutmix 1 --sheet sheet.png --out photos\n"
        "heed train classify --init vit-base --data photos --set image_size=384 --epochs 3 --layer-decay 0.75 --out "
        "photos\n"
        "heed train classify --data sst2 --init all-MiniLM-L6-v2 --epochs 1 --out sentiment\n",
    .fields = classify_fields,
    .texts = classify_texts,
    .ways = classify_ways,
    .measures = "distil",
};
