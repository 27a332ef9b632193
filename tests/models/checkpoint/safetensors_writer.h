#pragma once

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/checkpoint/safetensors.h"
#include "runtime/host/files.h"

namespace shardline {

/// Writes whole arrays into a safetensors file.
inline void write_safetensors(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& tensors,
                              const std::map<std::string, std::string>& metadata = {}) {
  std::vector<SafetensorsArray> arrays;
  for (const auto& [name, tensor] : tensors) arrays.push_back({name, tensor.dtype(), tensor.shape()});
  const SafetensorsLayout layout = safetensors_layout(arrays, metadata);
  std::string bytes = layout.head;
  bytes.resize(static_cast<std::size_t>(layout.bytes));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i].second;
    if (tensor.size() > 0)
      std::memcpy(bytes.data() + layout.offsets[i], tensor.data(), static_cast<std::size_t>(tensor.bytes()));
  }
  WholeFile file(path);
  file.write(bytes.data(), bytes.size());
  file.commit();
}

}  // namespace shardline
