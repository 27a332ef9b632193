#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "models/architecture/config.h"
#include "models/checkpoint/file_arrays.h"
#include "models/checkpoint/safetensors.h"

namespace shardline {

/// The weights in a folder, found as Hugging Face does: `model.safetensors` or, without it, the files of
/// `weight_map` in `model.safetensors.index.json`. Throws UsageError, one line, if a file is missing or
/// malformed, the index names a file of another folder, or index and files do not list the same arrays.
class WeightFiles {
 public:
  explicit WeightFiles(const std::string& folder);

  /// The name of the weights in messages: the one file, or the index.
  const std::string& path() const { return path_; }
  /// Of all files, in alphabetical order.
  std::vector<std::string> names() const;
  bool contains(const std::string& name) const { return file_of_.count(name) > 0; }
  /// The file that holds an array. The array must exist.
  SafetensorsFile& file_of(const std::string& name) const;
  /// Throws UsageError with names if a tensor of these parameters of the model is missing, or has another shape, or a
  /// tensor is not the model's. Tables of rotary positions may exist, and in a tied model an output projection equal to
  /// the embedding.
  void require_tensors_of(const TransformerConfig& config, const std::vector<FileArray>& parameters) const;
  /// Throws UsageError if a weight has another shape or no floating-point elements. The weight must exist.
  void require_weight(const std::string& name, const Shape& shape) const;
  /// A block of a weight in its own element type, or f32 for F16: one range per dim of `shape`, which has as many
  /// elements as the weight. Throws ResultError if the block holds NaN or infinity.
  Tensor read_block(const std::string& name, const Shape& shape, const std::vector<Range>& ranges) const;
  /// See SafetensorsFile::expect_block().
  void expect_block(const std::string& name, const Shape& shape, const std::vector<Range>& ranges) const {
    file_of(name).expect_block(name, shape, ranges);
  }
  /// The value of a text pair in one of the headers; empty if none has it.
  std::string metadata(const std::string& key) const;

 private:
  void require_names(const TransformerConfig& config, const std::set<std::string>& wanted) const;
  void open_listed(const std::string& folder, const std::map<std::string, std::string>& weight_map);

  std::string path_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<std::string, SafetensorsFile*> file_of_;
};

}  // namespace shardline
