#include "models/config_keys.h"

#include <algorithm>
#include <array>

namespace shardline {

const std::vector<HarmlessValue>& harmless_values() {
  static const std::vector<HarmlessValue> values = {
      {"hidden_act", "silu", true},
      {"hidden_activation", "silu"},
      {"partial_rotary_factor", 1},
      {"rotary_pct", 1},
      {"rotary_dim", {}},
      {"rope_interleaved", false},
      {"no_rope_layers", {}},
      {"no_rope_layer_interval", {}},
      {"alibi", false},
      {"attention_bias", false},
      {"attention_output_bias", false},
      {"qkv_bias", false},
      {"mlp_bias", false},
      {"use_bias", false},
      {"quantization_config", {}},
      {"attn_logit_softcapping", {}},
      {"final_logit_softcapping", {}},
      {"final_logit_softcap", {}},
      {"logits_soft_cap", {}},
      {"clip_qkv", {}},
      {"embedding_multiplier", 1},
      {"residual_multiplier", 1},
      {"attention_multiplier", {}},
      {"query_pre_attn_scalar", {}},
      {"logits_scaling", 1},
      {"logit_scale", 1},
      {"scale_emb", 1},
      {"norm_type", "rms_norm"},
      {"use_qk_norm", false},
      {"is_causal", true},
      {"use_parallel_residual", false},
      {"attention_chunk_size", {}},
      {"num_experts_per_tok", {}},
      {"moe_intermediate_size", {}},
      {"is_encoder_decoder", false},
      {"add_cross_attention", false},
      {"cross_attention_hidden_size", {}},
      {"tie_encoder_decoder", false},
      {"pruned_heads", {}},
      {"label_smoothing", 0},
  };
  return values;
}

bool says_no_mathematics(std::string_view key) {
  static constexpr auto kKeys = std::to_array<std::string_view>({
      // names and versions
      "_attn_implementation",
      "_attn_implementation_autoset",
      "_commit_hash",
      "_name_or_path",
      "architectures",
      "attn_implementation",
      "auto_map",
      "finetuning_task",
      "id2label",
      "is_llama_config",
      "label2id",
      "model_name",
      "name_or_path",
      "num_labels",
      "prefix",
      "problem_type",
      "task_specific_params",
      "tokenizer_class",
      "transformers.js_config",
      "transformers_version",
      "unsloth_fixed",
      "unsloth_version",
      // tokens
      "begin_suppress_tokens",
      "bos_token_id",
      "decoder_start_token_id",
      "eos_token_id",
      "forced_bos_token_id",
      "forced_eos_token_id",
      "pad_token_id",
      "sep_token_id",
      "suppress_tokens",
      "unk_token_id",
      // longest sequences that a model was made for
      "max_position_embeddings",
      "max_sequence_length",
      "model_max_length",
      "n_ctx",
      "seq_length",
      // generate()
      "bad_words_ids",
      "diversity_penalty",
      "do_sample",
      "early_stopping",
      "encoder_no_repeat_ngram_size",
      "exponential_decay_length_penalty",
      "length_penalty",
      "max_length",
      "max_new_tokens",
      "min_length",
      "no_repeat_ngram_size",
      "num_beam_groups",
      "num_beams",
      "num_return_sequences",
      "remove_invalid_values",
      "repetition_penalty",
      "return_dict_in_generate",
      "temperature",
      "top_k",
      "top_p",
      "typical_p",
      // memory, speed, what is returned
      "cache_implementation",
      "chunk_size_feed_forward",
      "dtype",
      "gradient_checkpointing",
      "is_decoder",
      "output_attentions",
      "output_hidden_states",
      "output_scores",
      "pretraining_tp",
      "return_dict",
      "tf_legacy_loss",
      "torch_dtype",
      "torchscript",
      "use_bfloat16",
      "use_cache",
      "use_flash_attn",
      "use_flash_attention_2",
      // read beside the sizes, or a size of what sliding_window refuses
      "max_window_layers",
      "sliding_window_pattern",
  });
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

bool names_dropout(std::string_view key) {
  return key.find("dropout") != std::string_view::npos || key.ends_with("_pdrop");
}

}  // namespace shardline
