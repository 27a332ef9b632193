#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/base/shape.h"

// A second reader and writer of safetensors files, as an oracle: it shares nothing with models/checkpoint.

namespace shardline {

/// A tensor of numbers that its element type holds exactly.
struct HandMadeTensor {
  std::string dtype = "F32";  ///< F64, F32, or F16
  Shape shape;
  std::vector<double> values;
};

/// The bits of a positive whole number up to 2048, or of NaN, as f16.
inline std::uint16_t half_bits(double value) {
  if (!(value > 0)) return 0x7e00;
  const auto number = static_cast<unsigned>(value);
  const int exponent = std::bit_width(number) - 1;
  const unsigned fraction = (number << 10U >> static_cast<unsigned>(exponent)) & 0x3ffU;
  return static_cast<std::uint16_t>((static_cast<unsigned>(exponent + 15) << 10U) | fraction);
}

template <class Word>
void append_word(std::string& bytes, Word word) {
  bytes.append(reinterpret_cast<const char*>(&word), sizeof word);
}

/// The file of these tensors, in this order.
inline std::string hand_made_file(const std::vector<std::pair<std::string, HandMadeTensor>>& tensors) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    const std::size_t begin = data.size();
    for (const double value : tensor.values) {
      if (tensor.dtype == "F64") append_word(data, value);
      if (tensor.dtype == "F32") append_word(data, static_cast<float>(value));
      if (tensor.dtype == "F16") append_word(data, half_bits(value));
    }
    header[name] = {{"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {begin, data.size()}}};
  }
  const std::string text = header.dump();
  std::string file;
  append_word(file, static_cast<std::uint64_t>(text.size()));
  return file + text + data;
}

/// The tensors of F32 in a file.
inline std::map<std::string, HandMadeTensor> read_by_hand(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  const std::size_t begin = sizeof length + static_cast<std::size_t>(length);
  std::map<std::string, HandMadeTensor> tensors;
  const auto header = nlohmann::json::parse(bytes.substr(sizeof length, length));
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    HandMadeTensor tensor{.dtype = entry["dtype"], .shape = entry["shape"].get<Shape>(), .values = {}};
    for (std::size_t at = begin + entry["data_offsets"][0].get<std::size_t>();
         at < begin + entry["data_offsets"][1].get<std::size_t>(); at += sizeof(float)) {
      float value = 0;
      std::memcpy(&value, bytes.data() + at, sizeof value);
      tensor.values.push_back(double{value});
    }
    tensors[name] = tensor;
  }
  return tensors;
}

}  // namespace shardline
