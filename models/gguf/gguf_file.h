#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/base/shape.h"

namespace shardline {

// The format of GGUF files, version 3, as llama.cpp reads them: numbers, texts and tensors, little-endian.

/// Element types of tensors. The values are those of the format.
enum class GgufType : std::uint32_t {
  f32 = 0,
  f16 = 1,
  q8_0 = 8,  ///< blocks of 32 whole numbers of 8 bits with one factor in f16
  bf16 = 30
};

inline constexpr std::array<GgufType, 4> kGgufTypes{GgufType::f32, GgufType::f16, GgufType::bf16, GgufType::q8_0};

/// "f32", "f16", "bf16", "q8_0"
std::string_view name_of(GgufType type);

/// The elements that are stored together. Rows hold a whole number of such blocks.
Index block_elements(GgufType type);

/// The bytes of so many elements: a whole number of blocks.
Index gguf_bytes(GgufType type, Index elements);

/// One value of the metadata.
using GgufValue =
    std::variant<bool, std::uint32_t, float, std::string, std::vector<std::int32_t>, std::vector<std::string>>;

/// Values by key, in the order of the file.
using GgufMetadata = std::vector<std::pair<std::string, GgufValue>>;

/// A tensor that a file will hold.
struct GgufTensor {
  std::string name;
  GgufType type = GgufType::f32;
  Shape shape;  ///< row-major: the last dim is a row. The file lists the dims in the other order
};

/// A file before its elements are written.
struct GgufLayout {
  std::string head;            ///< the first bytes of the file, up to the first tensor
  std::vector<Index> offsets;  ///< in the file, of the elements of each tensor, in the given order
  Index bytes = 0;             ///< of the whole file
};

/// Tensors begin at multiples of 32 bytes; so does the end of the file. What lies between is zero. Throws Error on a
/// repeated name or key, and on a row that is no whole number of blocks.
GgufLayout gguf_layout(const GgufMetadata& metadata, const std::vector<GgufTensor>& tensors);

}  // namespace shardline
