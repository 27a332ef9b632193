#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/layout/tensor.h"

namespace shardline {

/// One array of a safetensors file.
struct SafetensorsEntry {
  std::string dtype;  ///< in the spelling of the format: "F32", "BF16", "I64", ...
  Shape shape;
  Range bytes;  ///< position of its elements in the file
};

/// A safetensors file opened for reading. The constructor checks the whole header: lengths, element types,
/// sizes, and that the arrays fill the rest of the file without overlap or gap. Otherwise it throws UsageError,
/// one line with the file and the array.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(std::string path);

  const std::string& path() const { return path_; }
  /// In alphabetical order.
  std::vector<std::string> names() const;
  bool contains(const std::string& name) const { return entries_.count(name) > 0; }
  /// Throws UsageError if the file has no array of this name.
  const SafetensorsEntry& info(const std::string& name) const;
  /// The array in its own element type. Throws UsageError unless it is F32, F64, BF16 or I32.
  Tensor read(const std::string& name);
  /// A block of the array: one range per dim of `shape`, which has as many elements as the array. Reads only
  /// the block.
  Tensor read_block(const std::string& name, const Shape& shape, const std::vector<Range>& ranges);
  /// The element type of the array. Throws UsageError unless read() can read it.
  DType dtype(const std::string& name) const;
  /// The free text pairs of the header.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  void check_layout(Index data_begin, Index file_size) const;

  std::string path_;
  std::ifstream stream_;
  std::map<std::string, SafetensorsEntry> entries_;
  std::map<std::string, std::string> metadata_;
};

/// Writes the arrays, wider element types first so that each is aligned. The file appears whole or not at all.
/// Throws Error on a repeated name or the reserved name `__metadata__`, and as WholeFile if the file cannot be
/// written.
void write_safetensors(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace shardline
