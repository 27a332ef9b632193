#include "program/plan/bundle.h"

#include <cstring>

namespace shardline {

Index bundle_size(const std::vector<const Tensor*>& parts) {
  Index size = 0;
  for (const Tensor* part : parts) size += part->size();
  return size;
}

void pack_bundle(const std::vector<const Tensor*>& parts, Tensor& bundle) {
  std::byte* at = bundle.data();
  for (const Tensor* part : parts) {
    if (part->bytes() > 0) std::memcpy(at, part->data(), static_cast<std::size_t>(part->bytes()));
    at += part->bytes();
  }
}

void unpack_bundle(const Tensor& bundle, const std::vector<Tensor*>& parts) {
  const std::byte* at = bundle.data();
  for (Tensor* part : parts) {
    if (part->bytes() > 0) std::memcpy(part->data(), at, static_cast<std::size_t>(part->bytes()));
    at += part->bytes();
  }
}

}  // namespace shardline
