#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/host/block_file.h"
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
  /// The array in its own element type, or f32 for F16. Throws UsageError unless it is F32, F64, BF16, F16 or I32.
  Tensor read(const std::string& name) const;
  /// A block of the array: one range per dim of `shape`, which has as many elements as the array. Reads only
  /// the block. Throws ResultError if it cannot be read.
  Tensor read_block(const std::string& name, const Shape& shape, const std::vector<Range>& ranges) const;
  /// Says that the block will be read soon, so that the disk can begin. A hint.
  void expect_block(const std::string& name, const Shape& shape, const std::vector<Range>& ranges) const;
  /// The element type in which read() gives the array. Throws UsageError unless it can read it.
  DType dtype(const std::string& name) const;
  /// The free text pairs of the header.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  void check_layout(Index data_begin, Index file_size) const;

  std::string path_;
  std::unique_ptr<BlockFile> file_;
  std::map<std::string, SafetensorsEntry> entries_;
  std::map<std::string, std::string> metadata_;
};

/// An array that a safetensors file will hold.
struct SafetensorsArray {
  std::string name;
  DType dtype;
  Shape shape;
};

/// A safetensors file before its elements are written.
struct SafetensorsLayout {
  std::string head;            ///< the first bytes of the file, before all elements
  std::vector<Index> offsets;  ///< in the file, of the elements of each array, in the given order
  Index bytes = 0;             ///< of the whole file
};

/// Wider element types lie first, so that each array is aligned. Throws Error on a repeated name or the reserved name
/// `__metadata__`.
SafetensorsLayout safetensors_layout(const std::vector<SafetensorsArray>& arrays,
                                     const std::map<std::string, std::string>& metadata = {});

}  // namespace shardline
