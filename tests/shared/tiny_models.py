"""A tokenizer and a model, made here, as small as trainers take them."""

from __future__ import annotations

from typing import Any

MARKS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")


def make_tokenizer(chat_template: str) -> Any:
    """A token a byte, and the marks of Qwen's chats."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = [*MARKS, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer(models.BPE({text: number for number, text in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(list(MARKS))
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<|endoftext|>", eos_token="<|im_end|>"
    )
    fast.chat_template = chat_template
    return fast


def make_model(tokenizer: Any) -> Any:
    """A Qwen3 with random weights."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    sizes = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "head_dim": 4}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2}
    known = {"pad_token_id": tokenizer.pad_token_id, "eos_token_id": tokenizer.eos_token_id}
    config = Qwen3Config(
        vocab_size=len(tokenizer), max_position_embeddings=300_000, **sizes, **heads, **known
    )
    return Qwen3ForCausalLM(config)
