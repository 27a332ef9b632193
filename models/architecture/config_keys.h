#pragma once

#include <nlohmann/json.hpp>

#include <string_view>
#include <vector>

namespace shardline {

/// The value of `hidden_act` for a gated MLP with the tanh form of GELU.
inline constexpr const char* kGeglu = "gelu_pytorch_tanh";

/// A key that changes nothing if it has a certain value or is missing. Null and empty values count as missing,
/// except with `refuses_null`.
struct HarmlessValue {
  std::string_view key;
  nlohmann::json value = {};  ///< null: only null is harmless
  bool refuses_null = false;  ///< null is an error to Hugging Face too
  nlohmann::json other = {};  ///< another value that is implemented
};

/// Keys of `config.json` that change the mathematics unless they have the implemented value.
const std::vector<HarmlessValue>& harmless_values();

/// True for keys of `config.json` without effect on the mathematics of a training or generation step: names of
/// tokens and files, settings of generate(), of memory and of speed.
bool says_no_mathematics(std::string_view key);

/// True for the name of a dropout.
bool names_dropout(std::string_view key);

}  // namespace shardline
