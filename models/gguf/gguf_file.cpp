#include "models/gguf/gguf_file.h"

#include <bit>
#include <set>

#include "runtime/base/check.h"

// Source of the format: docs/gguf.md of https://github.com/ggml-org/ggml.

namespace shardline {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they lie in memory");

constexpr std::string_view kMagic = "GGUF";
constexpr std::uint32_t kVersion = 3;
constexpr Index kAlignment = 32;

/// Types of metadata, by number.
enum class ValueKind : std::uint32_t { u32 = 4, i32 = 5, f32 = 6, boolean = 7, text = 8, list = 9 };

template <class Number>
void append_number(std::string& bytes, Number number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void append_text(std::string& bytes, const std::string& text) {
  append_number(bytes, static_cast<std::uint64_t>(text.size()));
  bytes += text;
}

void append_kind(std::string& bytes, ValueKind kind) { append_number(bytes, static_cast<std::uint32_t>(kind)); }

/// Appends the type of a value, then the value.
struct ValueWriter {
  std::string& bytes;

  void operator()(bool value) const {
    append_kind(bytes, ValueKind::boolean);
    append_number(bytes, static_cast<std::uint8_t>(value));
  }
  void operator()(std::uint32_t value) const {
    append_kind(bytes, ValueKind::u32);
    append_number(bytes, value);
  }
  void operator()(float value) const {
    append_kind(bytes, ValueKind::f32);
    append_number(bytes, value);
  }
  void operator()(const std::string& value) const {
    append_kind(bytes, ValueKind::text);
    append_text(bytes, value);
  }
  void operator()(const std::vector<std::int32_t>& values) const {
    begin_list(ValueKind::i32, values.size());
    for (const std::int32_t value : values) append_number(bytes, value);
  }
  void operator()(const std::vector<std::string>& values) const {
    begin_list(ValueKind::text, values.size());
    for (const std::string& value : values) append_text(bytes, value);
  }

 private:
  void begin_list(ValueKind kind, std::size_t count) const {
    append_kind(bytes, ValueKind::list);
    append_kind(bytes, kind);
    append_number(bytes, static_cast<std::uint64_t>(count));
  }
};

Index aligned(Index bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// Appends the description of a tensor whose elements begin `offset` bytes after the head.
void append_tensor(std::string& bytes, const GgufTensor& tensor, Index offset) {
  append_text(bytes, tensor.name);
  append_number(bytes, static_cast<std::uint32_t>(tensor.shape.size()));
  for (auto extent = tensor.shape.rbegin(); extent != tensor.shape.rend(); ++extent) {
    append_number(bytes, static_cast<std::uint64_t>(*extent));
  }
  append_number(bytes, static_cast<std::uint32_t>(tensor.type));
  append_number(bytes, static_cast<std::uint64_t>(offset));
}

}  // namespace

std::string_view name_of(GgufType type) {
  switch (type) {
    case GgufType::f32:
      return "f32";
    case GgufType::f16:
      return "f16";
    case GgufType::bf16:
      return "bf16";
    case GgufType::q8_0:
      return "q8_0";
  }
  throw Error("no such element type");
}

Index block_elements(GgufType type) { return type == GgufType::q8_0 ? 32 : 1; }

Index gguf_bytes(GgufType type, Index elements) {
  switch (type) {
    case GgufType::f32:
      return 4 * elements;
    case GgufType::f16:
    case GgufType::bf16:
      return 2 * elements;
    case GgufType::q8_0:
      return elements / block_elements(type) * (2 + block_elements(type));
  }
  throw Error("no such element type");
}

GgufLayout gguf_layout(const GgufMetadata& metadata, const std::vector<GgufTensor>& tensors) {
  GgufLayout layout;
  std::string& head = layout.head;
  head = kMagic;
  append_number(head, kVersion);
  append_number(head, static_cast<std::uint64_t>(tensors.size()));
  append_number(head, static_cast<std::uint64_t>(metadata.size()));
  std::set<std::string> names;
  for (const auto& [key, value] : metadata) {
    SHARDLINE_CHECK(names.insert(key).second, "the key {} is given twice", key);
    append_text(head, key);
    std::visit(ValueWriter{head}, value);
  }
  names.clear();
  Index end = 0;
  for (const GgufTensor& tensor : tensors) {
    SHARDLINE_CHECK(names.insert(tensor.name).second, "tensor {}: given twice", tensor.name);
    SHARDLINE_CHECK(!tensor.shape.empty() && tensor.shape.back() % block_elements(tensor.type) == 0,
                    "tensor {}: {} as {}", tensor.name, to_string(tensor.shape), name_of(tensor.type));
    append_tensor(head, tensor, end);
    layout.offsets.push_back(end);
    end += aligned(gguf_bytes(tensor.type, element_count(tensor.shape)));
  }
  const Index begin = aligned(static_cast<Index>(head.size()));
  head.resize(static_cast<std::size_t>(begin), '\0');
  for (Index& offset : layout.offsets) offset += begin;
  layout.bytes = begin + end;
  return layout;
}

}  // namespace shardline
