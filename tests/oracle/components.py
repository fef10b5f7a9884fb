"""Components of diffusers' pipelines as models whose forward takes tensors by name and gives a dict: what golden.py and drawn.py
expect. The maps of attention, which diffusers does not return, are those of every call of scaled_dot_product_attention."""
import contextlib
import types
from unittest import mock

import torch
import torch.nn.functional as F
import torchvision_ops  # noqa: F401, before transformers
import diffusers
from diffusers.models.attention_processor import Attention
from diffusers.models.transformers.transformer_2d import Transformer2DModel

diffusers.utils.logging.set_verbosity_error()


@contextlib.contextmanager
def recorded(maps):
    """The weights of each attention, (B,H,Tq,Tk), in the order in which they are computed."""
    def plain(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
        scores = q @ k.transpose(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
        weights = torch.softmax(scores if attn_mask is None else scores + attn_mask, -1)
        maps.append(weights)
        return weights @ v
    with mock.patch.object(F, "scaled_dot_product_attention", plain):
        yield


def kinds_of(blocks):
    """Of each attention of these blocks, in order, what its map is called and in which layer it is."""
    for block in blocks:
        for attention in getattr(block, "attentions", None) or []:
            if isinstance(attention, Transformer2DModel):
                for _ in attention.transformer_blocks:
                    yield from (("attentions", 0), ("cross_attentions", 1))
            elif isinstance(attention, Attention):
                yield "attentions" if attention.added_kv_proj_dim is None else "cross_attentions", 1


def with_names(blocks, maps, layer=0):
    named = {}
    for (name, step), weights in zip(kinds_of(blocks), maps, strict=True):
        named[f"{name}.{layer}"] = weights
        layer += step
    return named


def autoencoder(self, sample=None, noise=None, latents=None, output_attentions=None, return_dict=None):
    maps = []
    with recorded(maps):
        if latents is not None:
            decoded, (encoder, decoder) = self.decode(latents).sample, halves(self)
            return dict(sample=decoded) | with_names(decoder, maps, len(list(kinds_of(encoder))))
        posterior = self.encode(sample).latent_dist
        z = posterior.mean if noise is None else posterior.mean + posterior.std * noise
        output = {"latent_dist.mean": posterior.mean, "latent_dist.logvar": posterior.logvar, "sample": self.decode(z).sample}
    return output | with_names(sum(halves(self), []), maps)


def halves(self):
    return [*self.encoder.down_blocks, self.encoder.mid_block], [self.decoder.mid_block, *self.decoder.up_blocks]


def unet(self, sample, timestep, class_labels=None, output_attentions=None, return_dict=None):
    maps = []
    with recorded(maps):
        output = type(self).forward(self, sample, timestep, class_labels).sample
    return dict(sample=output) | with_names(blocks_of(self), maps)


def text_unet(self, sample, timestep, encoder_hidden_states=None, output_attentions=None, return_dict=None, added_cond_kwargs=None, **given):
    """Attention that pools the text is not made of scaled_dot_product_attention; its map is made here."""
    maps = []
    with recorded(maps):
        output = type(self).forward(self, sample, timestep, encoder_hidden_states, added_cond_kwargs=added_cond_kwargs, **given).sample
    named = with_names(blocks_of(self), maps)
    if self.config.addition_embed_type == "text":
        named["text_attentions.0"] = pooling(self.add_embedding, encoder_hidden_states)
    return dict(sample=output) | named


def blocks_of(self):
    return [*self.down_blocks, self.mid_block, *self.up_blocks]


def pooling(embedding, text):
    pool, x = embedding.pool, embedding.norm1(text)
    mean = x.mean(1, keepdim=True) + pool.positional_embedding
    q, k = (t.unflatten(-1, (pool.num_heads, -1)).transpose(1, 2) for t in (pool.q_proj(mean), pool.k_proj(torch.cat([mean, x], 1))))
    return torch.softmax(q @ k.transpose(-1, -2) / pool.dim_per_head ** 0.5, -1)


def dit(self, sample, timestep, class_labels, output_attentions=None, return_dict=None):
    return transformer(self, sample, timestep=timestep.expand(len(sample)), class_labels=class_labels)


def pixart(self, sample, timestep, output_attentions=None, return_dict=None, added_cond_kwargs=None, **given):
    if added_cond_kwargs is not None:
        added_cond_kwargs = {k: v.to(sample.dtype) for k, v in added_cond_kwargs.items()}
    return transformer(self, sample, timestep=timestep.expand(len(sample)), added_cond_kwargs=added_cond_kwargs, **given)


def exp_to_nearest(x, exp=torch.exp):
    """Of the speeds of a step's waves, float32 whatever the model is: a step of 600 makes 600 times as much of their last bit, which
    PyTorch rounds in another way on every CPU."""
    return exp(x.double()).to(x.dtype)


def transformer(self, sample, **given):
    maps = []
    with recorded(maps), mock.patch.object(torch, "exp", exp_to_nearest):
        output = type(self).forward(self, sample, **given).sample
    kinds = ["attentions"] if self.transformer_blocks[0].attn2 is None else ["attentions", "cross_attentions"]
    return dict(sample=output) | {f"{kinds[i % len(kinds)]}.{i // len(kinds)}": weights for i, weights in enumerate(maps)}


FORWARD = {diffusers.DiTTransformer2DModel: dit, diffusers.PixArtTransformer2DModel: pixart, diffusers.AutoencoderKL: autoencoder, diffusers.UNet2DModel: unet, diffusers.UNet2DConditionModel: text_unet}


def lively(model):
    """Weights are those of fresh layers; norms and biases are not."""
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(p * 1.5 if p.dim() > 1 else p + 0.2 * torch.randn_like(p))
    return component(model)


def as_weights(module, given):
    return (given[0].to(module.linear_1.weight.dtype), *given[1:])


def component(model):
    """The model, whose forward takes and gives tensors by heed's names."""
    if getattr(getattr(model, "config", None), "class_embed_type", None) == "timestep":
        model.class_embedding.register_forward_pre_hook(as_weights)  # UNet2DModel gives it float32 whatever its own type
    model.forward = types.MethodType(FORWARD[type(model)], model)
    return model.eval()
