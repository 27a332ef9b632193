#include "models/checkpoint/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string_view>
#include <system_error>

#include "models/architecture/strict_json.h"
#include "runtime/base/check.h"
#include "runtime/base/half.h"
#include "runtime/host/files.h"
#include "runtime/layout/block_strips.h"

// Format of a file: the length of the header (8 bytes, little-endian), the header (JSON), the
// elements of all arrays (little-endian).

namespace shardline {
namespace {

using Json = nlohmann::json;

static_assert(std::endian::native == std::endian::little, "elements are copied as they lie in memory");

constexpr Index kPrefixBytes = 8;
constexpr Index kLargestHeader = 100'000'000;
constexpr int kDeepestHeader = 3;
constexpr const char* kMetadataKey = "__metadata__";

struct ElementType {
  std::string_view name;
  Index bytes;
  std::optional<DType> dtype;  ///< of the arrays that are read; none if this program cannot read them
};

/// The one type that is read as another: f16 as f32, which holds all its values.
constexpr std::string_view kHalf = "F16";

constexpr std::array<ElementType, 15> kElementTypes = {{{"F64", 8, DType::f64},
                                                        {"F32", 4, DType::f32},
                                                        {"BF16", 2, DType::bf16},
                                                        {"I32", 4, DType::i32},
                                                        {kHalf, 2, DType::f32},
                                                        {"I64", 8, {}},
                                                        {"U64", 8, {}},
                                                        {"U32", 4, {}},
                                                        {"I16", 2, {}},
                                                        {"U16", 2, {}},
                                                        {"I8", 1, {}},
                                                        {"U8", 1, {}},
                                                        {"BOOL", 1, {}},
                                                        {"F8_E4M3", 1, {}},
                                                        {"F8_E5M2", 1, {}}}};

const ElementType* find_type(std::string_view name) {
  const auto* found = std::find_if(kElementTypes.begin(), kElementTypes.end(),
                                   [&](const ElementType& type) { return type.name == name; });
  return found == kElementTypes.end() ? nullptr : found;
}

std::string_view name_in_format(DType dtype) {
  const auto* found = std::find_if(kElementTypes.begin(), kElementTypes.end(), [&](const ElementType& type) {
    return type.dtype == dtype && type.bytes == size_of(dtype);
  });
  SHARDLINE_CHECK(found != kElementTypes.end(), "no safetensors element type for {}", name_of(dtype));
  return found->name;
}

bool is_size(const Json& value) {
  return value.is_number_integer() && value >= 0 && value <= std::numeric_limits<Index>::max();
}

/// Bytes of an array. Nothing if they do not fit an Index.
std::optional<Index> byte_count(const Shape& shape, Index element_bytes) {
  // An extent of 0 makes the product 0, whatever the others are.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  Index bytes = element_bytes;
  for (const Index extent : shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return std::nullopt;
  }
  return bytes;
}

class EntryParser {
 public:
  EntryParser(const std::string& path, const std::string& name, const Json& json)
      : path_(path), name_(name), json_(json) {
    check(json_.is_object(), json_, "it must be an object with dtype, shape and data_offsets");
  }

  SafetensorsEntry parse(Index data_begin, Index data_bytes) const {
    SafetensorsEntry entry;
    const Json& dtype = member("dtype");
    const ElementType* type = dtype.is_string() ? find_type(dtype.get<std::string>()) : nullptr;
    check(type != nullptr, dtype, "dtype must be an element type such as F32, F64, BF16, F16 or I32");
    entry.dtype = type->name;

    const Json& shape = member("shape");
    check(shape.is_array() && std::all_of(shape.begin(), shape.end(), is_size), shape,
          "shape must be an array of whole numbers, none negative");
    entry.shape = shape.get<Shape>();
    const std::optional<Index> bytes = byte_count(entry.shape, type->bytes);
    check(bytes.has_value(), shape, "an array of this shape has more bytes than 63 bits count");

    const Json& offsets = member("data_offsets");
    check(offsets.is_array() && offsets.size() == 2 && std::all_of(offsets.begin(), offsets.end(), is_size), offsets,
          "data_offsets must be two whole numbers, none negative");
    const Range range{offsets[0].get<Index>(), offsets[1].get<Index>()};
    check(range.begin <= range.end && range.end <= data_bytes, offsets,
          fmt::format("data_offsets must lie in order within the {} bytes of data", data_bytes));
    check(range.size() == *bytes, offsets,
          fmt::format("data_offsets must span the {} bytes of {} {}", *bytes, entry.dtype, to_string(entry.shape)));
    entry.bytes = {data_begin + range.begin, data_begin + range.end};
    return entry;
  }

 private:
  const Json& member(const char* key) const {
    require(json_.contains(key), "{}: tensor {}: {} is missing", path_, name_, key);
    return json_.at(key);
  }
  void check(bool ok, const Json& given, std::string_view legal) const {
    if (!ok) usage_error("{}: tensor {}: {}; {}", path_, name_, shown(given), legal);
  }

  const std::string& path_;
  const std::string& name_;
  const Json& json_;
};

std::map<std::string, std::string> parse_metadata(const std::string& path, const Json& json) {
  require(json.is_object(), "{}: {} must be an object of strings", path, kMetadataKey);
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : json.items()) {
    require(value.is_string(), "{}: {} of {} is {}; it must be a string", path, key, kMetadataKey, shown(value));
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

/// The text of the header. Checks its length against the file size.
std::string read_header(const BlockFile& file, Index file_size) {
  std::string first(static_cast<std::size_t>(std::min<Index>(1024, file_size)), '\0');
  file.read_at(0, first.data(), first.size());
  refuse_lfs_pointer(file.path(), first);
  require(file_size >= kPrefixBytes, "{}: {} bytes are too few for a safetensors file", file.path(), file_size);
  std::uint64_t length = 0;
  std::memcpy(&length, first.data(), kPrefixBytes);
  const Index largest = std::min(kLargestHeader, file_size - kPrefixBytes);
  require(length <= static_cast<std::uint64_t>(largest),
          "{}: not a safetensors file: its first 8 bytes give the header {} bytes, at most {} are possible",
          file.path(), length, largest);
  std::string text(static_cast<std::size_t>(length), '\0');
  file.read_at(kPrefixBytes, text.data(), text.size());
  return text;
}

}  // namespace

SafetensorsFile::SafetensorsFile(std::string path) : path_(std::move(path)) {
  std::error_code error;
  require(std::filesystem::exists(path_, error), "{}: no such file", path_);
  require(std::filesystem::is_regular_file(path_, error), "{}: not a regular file", path_);
  const auto file_size = static_cast<Index>(std::filesystem::file_size(path_, error));
  require(!error, "{}: cannot be opened: {}", path_, error.message());
  file_ = std::make_unique<BlockFile>(path_, BlockFile::Use::read);
  const std::string text = read_header(*file_, file_size);
  const Index data_begin = kPrefixBytes + static_cast<Index>(text.size());
  const Json header = parse_object(text, path_, "the header", kDeepestHeader);
  for (const auto& [name, json] : header.items()) {
    if (name == kMetadataKey) {
      metadata_ = parse_metadata(path_, json);
    } else {
      entries_[name] = EntryParser(path_, name, json).parse(data_begin, file_size - data_begin);
    }
  }
  check_layout(data_begin, file_size);
}

void SafetensorsFile::check_layout(Index data_begin, Index file_size) const {
  std::vector<std::pair<Range, const std::string*>> in_order;
  for (const auto& [name, entry] : entries_) in_order.emplace_back(entry.bytes, &name);
  std::sort(in_order.begin(), in_order.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first.begin, a.first.end) < std::pair(b.first.begin, b.first.end);
  });
  Index end = data_begin;
  for (const auto& [bytes, name] : in_order) {
    require(bytes.begin == end, "{}: tensor {}: starts at byte {} of the data, but the one before it ends at {}", path_,
            *name, bytes.begin - data_begin, end - data_begin);
    end = bytes.end;
  }
  require(end == file_size, "{}: the tensors end at byte {}, the file at {}", path_, end, file_size);
}

std::vector<std::string> SafetensorsFile::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

const SafetensorsEntry& SafetensorsFile::info(const std::string& name) const {
  const auto found = entries_.find(name);
  require(found != entries_.end(), "{}: tensor {}: there is none of this name among {}", path_, name, entries_.size());
  return found->second;
}

DType SafetensorsFile::dtype(const std::string& name) const {
  const SafetensorsEntry& entry = info(name);
  const std::optional<DType> dtype = find_type(entry.dtype)->dtype;
  require(dtype.has_value(), "{}: tensor {}: {} cannot be read; F32, F64, BF16, F16 and I32 can", path_, name,
          entry.dtype);
  return *dtype;
}

Tensor SafetensorsFile::read(const std::string& name) const {
  const Shape shape = info(name).shape;
  std::vector<Range> whole;
  for (const Index extent : shape) whole.push_back({0, extent});
  return read_block(name, shape, whole);
}

Tensor SafetensorsFile::read_block(const std::string& name, const Shape& shape,
                                   const std::vector<Range>& ranges) const {
  const SafetensorsEntry& entry = info(name);
  SHARDLINE_CHECK(element_count(shape) == element_count(entry.shape) && ranges.size() == shape.size(),
                  "{}: tensor {} of shape {} read by {} ranges of shape {}", path_, name, to_string(entry.shape),
                  ranges.size(), to_string(shape));
  Shape extents;
  for (const Range& range : ranges) extents.push_back(range.size());
  Tensor block(dtype(name), extents);
  const Index item = find_type(entry.dtype)->bytes;
  const auto read = [&](Index from, Index count, void* to) {
    file_->read_at(entry.bytes.begin + from * item, to, static_cast<std::size_t>(count * item));
  };
  std::vector<std::uint16_t> halves;
  for_each_strip(shape, ranges, [&](Index from, Index to, Index count) {
    if (entry.dtype != kHalf) return read(from, count, block.data() + to * item);
    halves.resize(static_cast<std::size_t>(count));
    read(from, count, halves.data());
    std::transform(halves.begin(), halves.end(), block.view<float>().data + to, from_half);
  });
  return block;
}

void SafetensorsFile::expect_block(const std::string& name, const Shape& shape,
                                   const std::vector<Range>& ranges) const {
  constexpr Index kLarge = Index{64} << 10;  // shorter strips come with their neighbours
  const SafetensorsEntry& entry = info(name);
  const Index item = find_type(entry.dtype)->bytes;
  for_each_strip(shape, ranges, [&](Index from, Index, Index count) {
    if (count * item >= kLarge) file_->expect(entry.bytes.begin + from * item, count * item);
  });
}

SafetensorsLayout safetensors_layout(const std::vector<SafetensorsArray>& arrays,
                                     const std::map<std::string, std::string>& metadata) {
  std::vector<std::size_t> in_order(arrays.size());
  std::iota(in_order.begin(), in_order.end(), 0);
  std::stable_sort(in_order.begin(), in_order.end(),
                   [&](std::size_t a, std::size_t b) { return size_of(arrays[a].dtype) > size_of(arrays[b].dtype); });
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[kMetadataKey] = metadata;
  SafetensorsLayout layout{.head = {}, .offsets = std::vector<Index>(arrays.size()), .bytes = 0};
  Index end = 0;
  for (const std::size_t i : in_order) {
    const auto& [name, dtype, shape] = arrays[i];
    SHARDLINE_CHECK(name != kMetadataKey && !header.contains(name), "tensor {}: reserved or given twice", name);
    layout.offsets[i] = end;
    const Index next = end + element_count(shape) * size_of(dtype);
    header[name] = {{"dtype", name_in_format(dtype)}, {"shape", shape}, {"data_offsets", {end, next}}};
    end = next;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const auto length = static_cast<std::uint64_t>(text.size());
  layout.head.assign(reinterpret_cast<const char*>(&length), sizeof length);
  layout.head += text;
  const auto begin = static_cast<Index>(layout.head.size());
  for (Index& offset : layout.offsets) offset += begin;
  layout.bytes = begin + end;
  return layout;
}

}  // namespace shardline
