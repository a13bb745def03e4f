"""Tiny models with random weights: real files in real formats, small enough to be made in each test run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metrics.models.encoder import Encoder
    from metrics.models.masked import MaskedModel

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
WORDS = ("hello", "there", "you", "like", "tea", "what", "good", "reply", "a", "i", "to", "is", "the", "not")


def encoder(folder: Path, **changes: int) -> Path:
    """A BERT of two layers over single letters and a few words."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", "?", "!", ",", *LETTERS,
              *(f"##{letter}" for letter in LETTERS), *(word for word in WORDS if len(word) > 1)]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    sizes = {**SIZES, "max_position_embeddings": 64, **changes}
    torch.manual_seed(0)
    BertModel(BertConfig(vocab_size=len(vocabulary), initializer_range=0.4, **sizes)).save_pretrained(folder)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]", model_max_length=sizes["max_position_embeddings"],
        model_input_names=["input_ids", "token_type_ids", "attention_mask"]).save_pretrained(folder)
    return folder


def byte_encoder(folder: Path, **changes: int) -> Path:
    """A RoBERTa of two layers over bytes and a few merges; positions are counted from the padding."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaModel

    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator([" ".join(WORDS)] * 3, trainers.BpeTrainer(
        vocab_size=300, special_tokens=specials, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False))
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    sizes = {**SIZES, "max_position_embeddings": 66, "type_vocab_size": 1, **changes}
    torch.manual_seed(0)
    RobertaModel(RobertaConfig(vocab_size=tokenizer.get_vocab_size(), pad_token_id=1, initializer_range=0.4,
                               **sizes)).save_pretrained(folder)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", cls_token="<s>", sep_token="</s>",
        pad_token="<pad>", unk_token="<unk>", mask_token="<mask>",
        model_input_names=["input_ids", "attention_mask"]).save_pretrained(folder)
    return folder


def causal(folder: Path, **changes: int) -> Path:
    """A GPT-2 of two layers over single bytes."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    pieces = ["<|endoftext|>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer(models.BPE({piece: number for number, piece in enumerate(pieces)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    sizes = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 96, **changes}
    torch.manual_seed(0)
    GPT2LMHeadModel(GPT2Config(vocab_size=len(pieces), bos_token_id=0, eos_token_id=0, initializer_range=0.4,
                               **sizes)).save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<|endoftext|>", eos_token="<|endoftext|>",
                            unk_token="<|endoftext|>", model_max_length=sizes["n_positions"]).save_pretrained(folder)
    return folder


CHAT = ("{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
        "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")


def gguf(file: Path, architecture: str = "llama", template: str = CHAT, length: int = 512) -> Path:
    """A Llama of two layers over bytes, in a GGUF file with eight-bit weights."""
    import numpy as np
    from gguf import GGMLQuantizationType, GGUFWriter, quants
    from tokenizers import pre_tokenizers

    width, heads, layers, inner = 32, 2, 2, 64
    signs = sorted(pre_tokenizers.ByteLevel.alphabet())
    pieces = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *signs, "Ye", "Yes", "No"]
    writer = GGUFWriter(file, architecture)
    settings = {
        "context_length": length, "embedding_length": width, "block_count": layers, "feed_forward_length": inner,
        "head_count": heads, "head_count_kv": heads, "layer_norm_rms_eps": 1e-5, "rope_freq_base": 10_000.0,
        "vocab_size": len(pieces), "tokenizer_model": "gpt2", "tokenizer_pre": "smollm", "token_list": pieces,
        "token_types": [3, 3, 3, *[1] * (len(pieces) - 3)], "token_merges": ["Y e", "Ye s", "N o"],
        "bos_token_id": 1, "eos_token_id": 2, **({"chat_template": template} if template else {})}
    for name, value in settings.items():
        getattr(writer, f"add_{name}")(value)
    random = np.random.default_rng(0)

    def add(name: str, *shape: int) -> None:
        values = (random.standard_normal(shape) * 0.3).astype(np.float32)
        writer.add_tensor(name, quants.quantize(values, GGMLQuantizationType.Q8_0), raw_dtype=GGMLQuantizationType.Q8_0)

    add("token_embd.weight", len(pieces), width)
    writer.add_tensor("output_norm.weight", np.ones(width, np.float32))
    for layer in range(layers):
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", np.ones(width, np.float32))
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            add(f"blk.{layer}.{name}.weight", width, width)
        for name, shape in (("ffn_gate", (inner, width)), ("ffn_up", (inner, width)), ("ffn_down", (width, inner))):
            add(f"blk.{layer}.{name}.weight", *shape)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


def rows_read(encoder: Encoder | MaskedModel) -> list[int]:
    """Return a list to which each call of a network appends its number of rows."""
    rows: list[int] = []

    def count(_: Any, args: Any, kwargs: dict[str, Any]) -> None:
        rows.append(len(kwargs["input_ids"]))

    for network in encoder.networks:
        network.register_forward_pre_hook(count, with_kwargs=True)
    return rows
