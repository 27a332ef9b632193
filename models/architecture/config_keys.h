#pragma once

#include <nlohmann/json.hpp>

#include <string_view>
#include <vector>

namespace shardline {

/// The value of `hidden_act` for a gated MLP with the tanh form of GELU.
inline constexpr const char* kGeglu = "gelu_pytorch_tanh";

/// Keys that change nothing while they have a certain value or are not there. Null and what is empty count as not
/// there, but for `refuses_null`.
struct HarmlessValue {
  std::string_view key;
  nlohmann::json value = {};  ///< null: no value but that is harmless
  bool refuses_null = false;  ///< null is an error to Hugging Face too
  nlohmann::json other = {};  ///< another value that is implemented
};

/// Keys of `config.json` that change the mathematics unless they say what is implemented.
const std::vector<HarmlessValue>& harmless_values();

/// True of keys of `config.json` that say nothing about the mathematics of a training or generation step: names of
/// tokens and files, settings of generate(), of memory and of speed.
bool says_no_mathematics(std::string_view key);

/// True of the name of a dropout.
bool names_dropout(std::string_view key);

}  // namespace shardline
