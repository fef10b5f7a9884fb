/* The tokenizer classes of transformers 5, as records. */
#include "text/tokenizer/legacy.h"

#include <string.h>

#define BERT_NORMALIZER                                                                                                \
    "{\"type\":\"BertNormalizer\",\"clean_text\":true,\"handle_chinese_chars\":$chinese$,\"strip_accents\":$accents$," \
    "\"lowercase\":$lower$}"
#define BERT_SPLIT    "{\"type\":\"BertPreTokenizer\"}"
#define PIECE_DECODER "{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":true}"
#define BYTES(prefix, regex)                                                                                           \
    "{\"type\":\"ByteLevel\",\"add_prefix_space\":" prefix ",\"trim_offsets\":true,\"use_regex\":" regex "}"
#define BYTE_DECODER BYTES("true", "true")
#define META(scheme, split)                                                                                            \
    "{\"type\":\"Metaspace\",\"replacement\":\"\xE2\x96\x81\",\"prepend_scheme\":\"" scheme "\",\"split\":" split "}"
#define WORDS_META(scheme)                                                                                             \
    "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"WhitespaceSplit\"}," META(scheme, "true") "]}"
#define REPLACE(from, to) "{\"type\":\"Replace\",\"pattern\":{\"String\":\"" from "\"},\"content\":\"" to "\"}"
#define REGEX(from, to)   "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"" from "\"},\"content\":\"" to "\"}"
#define MARK              "\xE2\x96\x81"
#define FUSED             REPLACE(MARK, " ") ",{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"}"
#define STRIPPED          REGEX("\\\\A[\\\\s\\\\x1C-\\\\x1F]+|[\\\\s\\\\x1C-\\\\x1F]+\\\\z", "") /* as Python's strip */
#define DECODERS(list)    "{\"type\":\"Sequence\",\"decoders\":[" list "]}"
#define NORMALIZERS(list) "{\"type\":\"Sequence\",\"normalizers\":[" list "]}"
#define PLAIN_BPE         "\"unk_token\":null,\"continuing_subword_prefix\":\"\",\"end_of_word_suffix\":\"\",\"fuse_unk\":false"
#define QWEN                                                                                                           \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}| "                                  \
    "?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|"                                                                         \
    "\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+"
#define CLIP                                                                                                           \
    "<\\\\|startoftext\\\\|>|<\\\\|endoftext\\\\|>|'s|'t|'re|'ve|'m|'ll|'d|[\\\\p{L}]+|[\\\\p{N}]|[^\\\\s\\\\p{L}"     \
    "\\\\p{N}]+"
#define SPLIT(regex, behavior, invert)                                                                                 \
    "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"" regex "\"},\"behavior\":\"" behavior "\",\"invert\":" invert "}"
#define BERT_TOKENS                                                                                                    \
    { [ROLE_UNK] = "[UNK]", [ROLE_SEP] = "[SEP]", [ROLE_PAD] = "[PAD]", [ROLE_CLS] = "[CLS]", [ROLE_MASK] = "[MASK]" }
#define FAIRSEQ_TOKENS                                                                                                 \
    {                                                                                                                  \
        [ROLE_BOS] = "<s>", [ROLE_EOS] = "</s>", [ROLE_SEP] = "</s>", [ROLE_CLS] = "<s>", [ROLE_UNK] = "<unk>",        \
        [ROLE_PAD] = "<pad>", [ROLE_MASK] = "<mask>"                                                                   \
    }
#define DEBERTA_TOKENS                                                                                                 \
    {                                                                                                                  \
        [ROLE_BOS] = "[CLS]", [ROLE_EOS] = "[SEP]", [ROLE_SEP] = "[SEP]", [ROLE_CLS] = "[CLS]", [ROLE_UNK] = "[UNK]",  \
        [ROLE_PAD] = "[PAD]", [ROLE_MASK] = "[MASK]"                                                                   \
    }
#define END  "<|endoftext|>"
#define PAIR "c0 A0 s0 | c0 A0 s0 B1 s1"

const struct legacy_class legacy_classes[] = {
    {.name = "BertTokenizer",
     .files = LEGACY_WORDS,
     .tokens = BERT_TOKENS,
     .normalizer = BERT_NORMALIZER,
     .pre_tokenizer = BERT_SPLIT,
     .decoder = PIECE_DECODER,
     .post = PAIR},
    {.name = "MPNetTokenizer",
     .files = LEGACY_WORDS,
     .tokens = {[ROLE_BOS] = "<s>",
                [ROLE_EOS] = "</s>",
                [ROLE_SEP] = "</s>",
                [ROLE_CLS] = "<s>",
                [ROLE_UNK] = "[UNK]",
                [ROLE_PAD] = "<pad>",
                [ROLE_MASK] = "<mask>"},
     .normalizer = BERT_NORMALIZER,
     .pre_tokenizer = BERT_SPLIT,
     .decoder = PIECE_DECODER,
     .post = "roberta",
     .mask_left = true},
    {.name = "FunnelTokenizer",
     .files = LEGACY_WORDS,
     .tokens = {[ROLE_BOS] = "<s>",
                [ROLE_EOS] = "</s>",
                [ROLE_UNK] = "<unk>",
                [ROLE_SEP] = "<sep>",
                [ROLE_PAD] = "<pad>",
                [ROLE_CLS] = "<cls>",
                [ROLE_MASK] = "<mask>"},
     .normalizer = BERT_NORMALIZER,
     .pre_tokenizer = BERT_SPLIT,
     .decoder = PIECE_DECODER,
     .post = "c2 A0 s0 | c2 A0 s0 B1 s1"},
    {.name = "GPT2Tokenizer",
     .files = LEGACY_PAIRS,
     .tokens = {[ROLE_UNK] = END, [ROLE_BOS] = END, [ROLE_EOS] = END},
     .model = PLAIN_BPE,
     .pre_tokenizer = BYTES("$prefix$", "true"),
     .decoder = BYTE_DECODER},
    {.name = "GPTNeoXTokenizer",
     .files = LEGACY_PAIRS,
     .tokens = {[ROLE_UNK] = END, [ROLE_BOS] = END, [ROLE_EOS] = END, [ROLE_PAD] = "<|padding|>"},
     .model = PLAIN_BPE,
     .normalizer = "{\"type\":\"NFC\"}",
     .pre_tokenizer = BYTES("$prefix$", "true"),
     .decoder = BYTE_DECODER},
    {.name = "RobertaTokenizer",
     .files = LEGACY_PAIRS,
     .tokens = FAIRSEQ_TOKENS,
     .model = PLAIN_BPE,
     .pre_tokenizer = BYTES("$prefix$", "true"),
     .decoder = BYTE_DECODER,
     .post = "roberta"},
    {.name = "BlenderbotTokenizer",
     .files = LEGACY_PAIRS,
     .tokens = FAIRSEQ_TOKENS,
     .model = PLAIN_BPE,
     .pre_tokenizer = BYTES("$spaced$", "true"),
     .decoder = BYTE_DECODER,
     .post = "A0 | A0 B1",
     .mask_left = true},
    {.name = "DebertaTokenizer",
     .files = LEGACY_PAIRS,
     .tokens = DEBERTA_TOKENS,
     .model = PLAIN_BPE,
     .pre_tokenizer = BYTES("$prefix$", "true"),
     .decoder = BYTE_DECODER,
     .post = "c0 A0 s0 | c0 A0 s0 s0 B0 s0"},
    {.name = "Qwen2Tokenizer",
     .files = LEGACY_PAIRS,
     .tokens = {[ROLE_UNK] = END, [ROLE_EOS] = END, [ROLE_PAD] = END},
     .model = PLAIN_BPE,
     .normalizer = "{\"type\":\"NFC\"}",
     .pre_tokenizer = "{\"type\":\"Sequence\",\"pretokenizers\":[" SPLIT(QWEN, "Isolated",
                                                                         "false") "," BYTES("$prefix$", "false") "]}",
     .decoder = BYTE_DECODER},
    {.name = "CLIPTokenizer",
     .files = LEGACY_PAIRS,
     .tokens = {[ROLE_UNK] = END, [ROLE_BOS] = "<|startoftext|>", [ROLE_EOS] = END, [ROLE_PAD] = END},
     .model =
         "\"unk_token\":$unk$,\"continuing_subword_prefix\":\"\",\"end_of_word_suffix\":\"</w>\",\"fuse_unk\":false",
     .normalizer = NORMALIZERS("{\"type\":\"NFC\"}," REGEX("\\\\s+", " ") ",{\"type\":\"Lowercase\"}"),
     .pre_tokenizer =
         "{\"type\":\"Sequence\",\"pretokenizers\":[" SPLIT(CLIP, "Removed", "true") "," BYTES("false", "true") "]}",
     .decoder = DECODERS(BYTE_DECODER "," REPLACE("</w>", " ") "," STRIPPED),
     .post = "clip"},
    {.name = "OpenAIGPTTokenizer",
     .files = LEGACY_PAIRS,
     .tokens = {[ROLE_UNK] = "<unk>"},
     .model =
         "\"unk_token\":$unk$,\"continuing_subword_prefix\":\"\",\"end_of_word_suffix\":\"</w>\",\"fuse_unk\":false",
     .normalizer =
         "{\"type\":\"BertNormalizer\",\"clean_text\":true,\"handle_chinese_chars\":true,\"strip_accents\":null,"
         "\"lowercase\":true}",
     .pre_tokenizer = BERT_SPLIT,
     .decoder = "{\"type\":\"BPEDecoder\",\"suffix\":\"</w>\"}"},
    {.name = "PerceiverTokenizer", /* bytes; cut at words, so that whole words can be masked */
     .files = LEGACY_BYTES,
     .tokens = {[ROLE_PAD] = "[PAD]",
                [ROLE_BOS] = "[BOS]",
                [ROLE_EOS] = "[EOS]",
                [ROLE_MASK] = "[MASK]",
                [ROLE_CLS] = "[CLS]",
                [ROLE_SEP] = "[SEP]"},
     .model = PLAIN_BPE,
     .pre_tokenizer = BYTES("false", "true"),
     .decoder = BYTE_DECODER,
     .post = PAIR},
    {.name = "T5Tokenizer",
     .files = LEGACY_PIECES,
     .tokens = {[ROLE_EOS] = "</s>", [ROLE_UNK] = "<unk>", [ROLE_PAD] = "<pad>"},
     .normalizer = "$charsmap$",
     .pre_tokenizer = WORDS_META("always"),
     .decoder = META("always", "true"),
     .post = "A0 e0 | A0 e0 B0 e0",
     .order = "t5"},
    {.name = "AlbertTokenizer",
     .files = LEGACY_PIECES,
     .tokens = {[ROLE_BOS] = "[CLS]",
                [ROLE_EOS] = "[SEP]",
                [ROLE_UNK] = "<unk>",
                [ROLE_SEP] = "[SEP]",
                [ROLE_PAD] = "<pad>",
                [ROLE_CLS] = "[CLS]",
                [ROLE_MASK] = "[MASK]"},
     .normalizer = NORMALIZERS(REPLACE("``", "\\\"") "," REPLACE("''", "\\\"") "$albert$,$charsmap$"),
     .pre_tokenizer = WORDS_META("$scheme$"),
     .decoder = META("$scheme$", "true"),
     .post = PAIR,
     .order = "albert"},
    {.name = "XLMRobertaTokenizer",
     .files = LEGACY_PIECES,
     .tokens = FAIRSEQ_TOKENS,
     .normalizer = "$charsmap$",
     .pre_tokenizer = WORDS_META("$scheme$"),
     .decoder = META("$scheme$", "true"),
     .post = "b0 A0 e0 | b0 A0 e0 e0 B0 e0",
     .order = "fairseq"},
    {.name = "CamembertTokenizer",
     .files = LEGACY_PIECES,
     .tokens = FAIRSEQ_TOKENS,
     .normalizer = "$charsmap$",
     .pre_tokenizer = WORDS_META("$scheme$"),
     .decoder = META("$scheme$", "true"),
     .post = "b0 A0 e0 | b0 A0 e0 e0 B0 e0",
     .order = "camembert",
     .mask_left = true},
    {.name = "MBartTokenizer",
     .files = LEGACY_PIECES,
     .tokens = FAIRSEQ_TOKENS,
     .pre_tokenizer = WORDS_META("always"),
     .decoder = META("always", "true"),
     .post = "A0 e0 L0 | A0 B0 e0 L0",
     .order = "mbart",
     .mask_left = true},
    {.name = "MBart50Tokenizer",
     .files = LEGACY_PIECES,
     .tokens = {[ROLE_EOS] = "</s>",
                [ROLE_SEP] = "</s>",
                [ROLE_CLS] = "<s>",
                [ROLE_UNK] = "<unk>",
                [ROLE_PAD] = "<pad>",
                [ROLE_MASK] = "<mask>"},
     .normalizer = NORMALIZERS("$charsmap$," REGEX(" {2,}", " ")),
     .pre_tokenizer = META("always", "true"),
     .decoder = META("always", "true"),
     .post = "L0 A0 e0 | L0 A0 B0 e0",
     .order = "mbart50",
     .mask_left = true},
    {.name = "BigBirdTokenizer",
     .files = LEGACY_PIECES,
     .tokens = {[ROLE_BOS] = "<s>",
                [ROLE_EOS] = "</s>",
                [ROLE_UNK] = "<unk>",
                [ROLE_SEP] = "[SEP]",
                [ROLE_PAD] = "<pad>",
                [ROLE_CLS] = "[CLS]",
                [ROLE_MASK] = "[MASK]"},
     .normalizer = REGEX(" {2,}", MARK),
     .pre_tokenizer = META("$scheme$", "true"),
     .decoder = META("$scheme$", "true"),
     .post = PAIR},
    {.name = "XLNetTokenizer",
     .files = LEGACY_PIECES,
     .tokens = {[ROLE_BOS] = "<s>",
                [ROLE_EOS] = "</s>",
                [ROLE_UNK] = "<unk>",
                [ROLE_SEP] = "<sep>",
                [ROLE_PAD] = "<pad>",
                [ROLE_CLS] = "<cls>",
                [ROLE_MASK] = "<mask>"},
     .normalizer = NORMALIZERS(REPLACE("``", "\\\"") "," REPLACE("''", "\\\"") "$albert$,$charsmap$"),
     .pre_tokenizer = WORDS_META("$scheme$"),
     .decoder = META("$scheme$", "true"),
     .post = "A0 s0 c2 | A0 s0 B1 s1 c2"},
    {.name = "PegasusTokenizer",
     .files = LEGACY_PIECES,
     .tokens = {[ROLE_EOS] = "</s>", [ROLE_UNK] = "<unk>", [ROLE_PAD] = "<pad>", [ROLE_MASK] = "<mask_2>"},
     .normalizer = NORMALIZERS("$charsmap$," REGEX(" {2,}", " ")),
     .pre_tokenizer = META("always", "true"),
     .decoder = META("always", "true"),
     .post = "A0 e0 | A0 B0 e0",
     .order = "pegasus"},
    {.name = "DebertaV2Tokenizer",
     .files = LEGACY_PIECES,
     .tokens = DEBERTA_TOKENS,
     .normalizer =
         NORMALIZERS("$lowercase$" REGEX("\\\\s{2,}|[\\\\n\\\\r\\\\t]", " ") ",{\"type\":\"NFC\"},{\"type\":\"Strip\","
                                                                             "\"strip_left\":false,"
                                                                             "\"strip_right\":true}"),
     .pre_tokenizer = "{\"type\":\"Sequence\",\"pretokenizers\":[$punctuation$" META("$first$", "true") "]}",
     .decoder = META("$first$", "true"),
     .post = PAIR},
    {.name = "LlamaTokenizer",
     .files = LEGACY_PIECES,
     .tokens = {[ROLE_UNK] = "<unk>", [ROLE_BOS] = "<s>", [ROLE_EOS] = "</s>"},
     .model = "\"unk_token\":null,\"fuse_unk\":true,\"byte_fallback\":true",
     .pre_tokenizer = META("$llama$", "false"),
     .decoder = DECODERS(FUSED "$strip$")},
    {.name = "GemmaTokenizer",
     .files = LEGACY_PIECES,
     .tokens = {[ROLE_UNK] = "<unk>",
                [ROLE_BOS] = "<bos>",
                [ROLE_EOS] = "<eos>",
                [ROLE_PAD] = "<pad>",
                [ROLE_MASK] = "<mask>"},
     .model = "\"unk_token\":$unk$,\"fuse_unk\":true,\"byte_fallback\":true",
     .normalizer = REPLACE(" ", MARK),
     .pre_tokenizer =
         "{\"type\":\"Split\",\"pattern\":{\"String\":\" \"},\"behavior\":\"MergedWithPrevious\",\"invert\":false}",
     .decoder = DECODERS(FUSED)},
    {.name = "MarianTokenizer",
     .files = LEGACY_MARIAN,
     .tokens = {[ROLE_EOS] = "</s>", [ROLE_UNK] = "<unk>", [ROLE_PAD] = "<pad>"},
     .normalizer = NORMALIZERS("$charsmap$," REGEX(" {2,}", " ") "," REGEX("\\\\A +| +\\\\z", "")),
     .pre_tokenizer = META("always", "false"),
     .decoder =
         DECODERS(META("always", "true") ",{\"type\":\"Fuse\"}," REGEX("(?<=<unk>|</s>|<pad>)(?! )", " ") "," STRIPPED),
     .post = "A0 e0 | A0 B0 e0",
     .order = "marian"},
    {.name = "PreTrainedTokenizer",
     .files = LEGACY_PIECES,
     .normalizer = NORMALIZERS("$charsmap$," REPLACE(" ", MARK)),
     .model = "\"unk_token\":$piece$,\"fuse_unk\":true,\"byte_fallback\":$fallback$",
     .decoder = "$generic$",
     .order = "generic"},
    {.name = NULL},
};

const char *legacy_class_of(const char *type) {
    static const struct {
        const char *class, *types; /* types with spaces around them */
    } known[] = {
        {"BertTokenizer",
         " bert distilbert electra align bark blip bros chinese_clip convbert ernie flava git grounding-dino layoutlm "
         "megatron-bert mobilebert nezha nomic_bert qdqbert realm retribert squeezebert tvp vilt visual_bert "
         "DistilBertTokenizer ElectraTokenizer MobileBertTokenizer DPRQuestionEncoderTokenizer "
         "DPRContextEncoderTokenizer "
         "DPRReaderTokenizer ConvBertTokenizer LayoutLMTokenizer LxmertTokenizer "
         "SqueezeBertTokenizer "},
        {"MPNetTokenizer", " mpnet "},
        {"GPT2Tokenizer",
         " gpt2 blip-2 codegen dbrx emu3 gpt_neo gptj instructblip opt phi starcoder2 CodeGenTokenizer "},
        {"GPTNeoXTokenizer", " gpt_neox falcon_mamba mamba mamba2 mpt olmo olmoe rwkv xlstm "},
        {"RobertaTokenizer",
         " roberta bart bridgetower clap data2vec-text ibert lilt longformer mega mra roberta-prelayernorm led mvp "
         "BartTokenizer LEDTokenizer LongformerTokenizer MvpTokenizer "},
        {"DebertaTokenizer", " deberta "},
        {"Qwen2Tokenizer", " qwen2 qwen2_moe qwen2_vl qwen3 qwen3_moe "},
        {"CLIPTokenizer", " clip clipseg groupvit omdet-turbo oneformer owlv2 owlvit xclip aimv2 "},
        {"OpenAIGPTTokenizer", " openai-gpt "},
        {"T5Tokenizer", " t5 mt5 musicgen switch_transformers longt5 MT5Tokenizer "},
        {"AlbertTokenizer", " albert yoso "},
        {"XLMRobertaTokenizer", " xlm-roberta trocr xmod metaclip_2 "},
        {"CamembertTokenizer", " camembert "},
        {"BigBirdTokenizer", " big_bird "},
        {"XLNetTokenizer", " xlnet "},
        {"FunnelTokenizer", " funnel "},
        {"BlenderbotTokenizer", " blenderbot "},
        {"MBartTokenizer", " mbart "},
        {"PegasusTokenizer", " pegasus "},
        {"DebertaV2Tokenizer", " deberta-v2 "},
        {"LlamaTokenizer", " llama idefics idefics2 "},
        {"GemmaTokenizer", " gemma gemma2 gemma3 gemma3_text recurrent_gemma t5gemma "},
        {"MarianTokenizer", " marian "},
        {"PerceiverTokenizer", " perceiver "},
        {"PreTrainedTokenizer", " TokenizersBackend PreTrainedTokenizerBase "},
        /* of classes that are not above */
        {"", " barthez bartpho bert-generation bert-japanese bertweet biogpt blenderbot-small byt5 canine code_llama "
             "cohere cohere2 cpm cpmant ctrl dia esm flaubert fnet fsmt gpt-sw3 gpt_neox_japanese herbert layoutlmv3 "
             "layoutxlm luke m2m_100 markuplm mgp-str mluke myt5 nllb nllb-moe nougat phobert plbart "
             "prophetnet reformer rembert roc_bert seamless_m4t seamless_m4t_v2 siglip siglip2 speech_to_text speecht5 "
             "splinter tapas udop vits wav2vec2 wav2vec2_phoneme whisper xglm xlm "},
    };
    const size_t n = strlen(type);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (const char *s = known[i].types; n > 0 && (s = strstr(s, type)); s++)
            if (s[-1] == ' ' && s[n] == ' ') return known[i].class;
    return NULL;
}
