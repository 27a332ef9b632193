#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

// A reader of GGUF files by the description of the format, as an oracle: it shares nothing with models/gguf.

namespace shardline {

/// A tensor as the file has it: `dims` begin with the length of a row.
struct ReadTensor {
  std::vector<std::uint64_t> dims;
  std::uint32_t type = 0;
  std::string bytes;
};

/// The value of an f16, by powers of two.
inline double value_of_half(int bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  const double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return bits >> 15 != 0 ? -magnitude : magnitude;
}

/// The numbers of a tensor of f32 (type 0), f16 (1), q8_0 (8) or bf16 (30).
inline std::vector<double> numbers_of(const ReadTensor& tensor) {
  std::vector<double> numbers;
  const std::string& bytes = tensor.bytes;
  const auto word = [&](std::size_t at) {
    return static_cast<unsigned char>(bytes[at]) | static_cast<unsigned char>(bytes[at + 1]) << 8;
  };
  for (std::size_t at = 0; at < bytes.size();) {
    if (tensor.type == 8) {
      const double factor = value_of_half(word(at));
      for (std::size_t i = 0; i < 32; ++i) numbers.push_back(factor * static_cast<signed char>(bytes.at(at + 2 + i)));
      at += 34;
    } else if (tensor.type == 0) {
      float number = 0;
      std::memcpy(&number, bytes.data() + at, sizeof number);
      numbers.push_back(double{number});
      at += 4;
    } else if (tensor.type == 1) {
      numbers.push_back(value_of_half(word(at)));
      at += 2;
    } else {
      const int bits = word(at);  // the upper half of an f32
      const int exponent = bits >> 7 & 255;
      const double magnitude =
          exponent == 0 ? std::ldexp(bits & 127, -133) : std::ldexp(128 + (bits & 127), exponent - 134);
      numbers.push_back(bits >> 15 != 0 ? -magnitude : magnitude);
      at += 2;
    }
  }
  return numbers;
}

/// A whole file. The test fails where it is not as the format says.
class GgufReader {
 public:
  explicit GgufReader(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(stream), {});
    EXPECT_EQ(bytes_.substr(0, 4), "GGUF");
    place_ = 4;
    EXPECT_EQ(number<std::uint32_t>(), 3U);
    const auto tensor_count = number<std::uint64_t>();
    const auto value_count = number<std::uint64_t>();
    for (std::uint64_t i = 0; i < value_count; ++i) {
      const std::string key = text();
      EXPECT_FALSE(values.contains(key)) << key;
      values[key] = value(number<std::uint32_t>());
    }
    read_tensors(tensor_count);
  }

  nlohmann::json values = nlohmann::json::object();
  std::map<std::string, ReadTensor> tensors;

 private:
  template <class Number>
  Number number() {
    Number result{};
    if (place_ + sizeof result > bytes_.size()) throw std::runtime_error("the file is too short");
    std::memcpy(&result, bytes_.data() + place_, sizeof result);
    place_ += sizeof result;
    return result;
  }

  std::string text() {
    const auto length = number<std::uint64_t>();
    place_ += length;
    return bytes_.substr(place_ - length, length);
  }

  nlohmann::json value(std::uint32_t type) {
    if (type == 4) return number<std::uint32_t>();
    if (type == 5) return number<std::int32_t>();
    if (type == 6) return number<float>();
    if (type == 7) return number<std::uint8_t>() == 1;
    if (type == 8) return text();
    EXPECT_EQ(type, 9U);
    const auto element = number<std::uint32_t>();
    nlohmann::json list = nlohmann::json::array();
    for (auto left = number<std::uint64_t>(); left > 0; --left) list.push_back(value(element));
    return list;
  }

  /// Descriptions, then elements. Each tensor begins at a multiple of 32 after the one before it.
  void read_tensors(std::uint64_t count) {
    std::vector<std::pair<ReadTensor*, std::uint64_t>> in_order;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::string name = text();
      EXPECT_FALSE(tensors.contains(name)) << name;
      ReadTensor& tensor = tensors[name];
      for (auto left = number<std::uint32_t>(); left > 0; --left) tensor.dims.push_back(number<std::uint64_t>());
      tensor.type = number<std::uint32_t>();
      in_order.emplace_back(&tensor, number<std::uint64_t>());
    }
    skip_zeros();
    const std::size_t begin = place_;
    for (const auto& [tensor, offset] : in_order) {
      EXPECT_EQ(begin + offset, place_);
      std::uint64_t elements = 1;
      for (const std::uint64_t dim : tensor->dims) elements *= dim;
      const std::uint64_t length = tensor->type == 0   ? 4 * elements
                                   : tensor->type == 8 ? elements / 32 * 34
                                                       : 2 * elements;
      tensor->bytes = bytes_.substr(place_, length);
      EXPECT_EQ(tensor->bytes.size(), length);
      place_ += length;
      skip_zeros();
    }
    EXPECT_EQ(place_, bytes_.size());
  }

  void skip_zeros() {
    while (place_ % 32 != 0 && place_ < bytes_.size()) EXPECT_EQ(bytes_[place_++], '\0');
  }

  std::string bytes_;
  std::size_t place_ = 0;
};

}  // namespace shardline
