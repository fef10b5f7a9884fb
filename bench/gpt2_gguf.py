"""GPT-2 as a GGUF file in f32, for llama.cpp: python gpt2_gguf.py MODEL_DIRECTORY FILE.gguf

The directory is one that transformers' save_pretrained wrote. The file has no vocabulary: tokens go in and come out as numbers."""
import sys

import gguf


def tensors(weights, layers):
    """Name in the file, array. Conv1D stores (in,out), llama.cpp reads (out,in)."""
    yield "token_embd.weight", weights["wte.weight"]
    yield "position_embd.weight", weights["wpe.weight"]
    yield "output_norm.weight", weights["ln_f.weight"]
    yield "output_norm.bias", weights["ln_f.bias"]
    names = {"ln_1": "attn_norm", "ln_2": "ffn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}
    for i in range(layers):
        for ours, theirs in names.items():
            yield f"blk.{i}.{theirs}.weight", weights[f"h.{i}.{ours}.weight"].T
            yield f"blk.{i}.{theirs}.bias", weights[f"h.{i}.{ours}.bias"]


def write(model, path):
    """model: a GPT2LMHeadModel, its output layer tied."""
    config = model.config
    writer = gguf.GGUFWriter(path, "gpt2")
    writer.add_context_length(config.n_positions)
    writer.add_embedding_length(config.n_embd)
    writer.add_feed_forward_length(config.n_inner or 4 * config.n_embd)
    writer.add_block_count(config.n_layer)
    writer.add_head_count(config.n_head)
    writer.add_layer_norm_eps(config.layer_norm_epsilon)
    writer.add_vocab_size(config.vocab_size)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("none")
    weights = {name: value.detach().float().numpy() for name, value in model.transformer.state_dict().items()}
    for name, array in tensors(weights, config.n_layer):
        writer.add_tensor(name, array.copy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    from transformers import GPT2LMHeadModel
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    write(GPT2LMHeadModel.from_pretrained(sys.argv[1]), sys.argv[2])
