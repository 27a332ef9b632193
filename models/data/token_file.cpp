#include "models/data/token_file.h"

#include <bit>
#include <cstring>
#include <string_view>

#include "runtime/base/check.h"

namespace shardline {
namespace {

static_assert(std::endian::native == std::endian::little, "token files are read as they lie in memory");

constexpr std::size_t kHeaderBytes = 256 * sizeof(std::int32_t);

/// A kind of file that llm.c writes.
struct Kind {
  std::uint32_t magic;
  std::uint32_t version;
  std::size_t width;  ///< bytes of a token
};
constexpr Kind kKinds[] = {{20240520, 1, 2}, {20240801, 7, 4}};

template <class T>
T number_at(std::string_view bytes, std::size_t place) {
  T value{};
  std::memcpy(&value, bytes.data() + place, sizeof value);
  return value;
}

/// The kind of the magic number in front; null if there is none.
const Kind* kind_of(std::string_view bytes) {
  if (bytes.size() < sizeof(std::uint32_t)) return nullptr;
  for (const Kind& kind : kKinds) {
    if (number_at<std::uint32_t>(bytes, 0) == kind.magic) return &kind;
  }
  return nullptr;
}

/// Throws UsageError if the header or the size of a file of llm.c is wrong.
void check_header(const std::string& path, std::string_view bytes, const Kind& kind) {
  require(bytes.size() > kHeaderBytes, "{}: begins as a token file of llm.c but has {} bytes; its header alone has {}",
          path, bytes.size(), kHeaderBytes);
  const auto version = number_at<std::uint32_t>(bytes, 4);
  require(version == kind.version, "{}: a token file of llm.c with version {}; version {} is read with magic {}", path,
          version, kind.version, kind.magic);
  const std::size_t tokens = number_at<std::uint32_t>(bytes, 8);
  const std::size_t there = bytes.size() - kHeaderBytes;
  require(there == tokens * kind.width, "{}: its header says {} tokens of {} bytes, but {} bytes follow", path, tokens,
          kind.width, there);
}

}  // namespace

TokenFile::TokenFile(const std::string& path) : path_(path), file_(path) {
  const std::string_view bytes = file_.bytes();
  require(!bytes.empty(), "{}: is empty, training needs tokens", path);
  if (const Kind* kind = kind_of(bytes)) {
    check_header(path, bytes, *kind);
    begin_ = kHeaderBytes;
    width_ = kind->width;
  }
  require(bytes.size() % width_ == 0, "{}: has {} bytes, an odd number; tokens of nanoGPT have 2 bytes each", path,
          bytes.size());
  tokens_ = static_cast<Index>((bytes.size() - begin_) / width_);
}

std::uint32_t TokenFile::token(Index i) const {
  SHARDLINE_DEBUG_CHECK(i >= 0 && i < tokens_, "{}: token {} of {}", path_, i, tokens_);
  const std::size_t place = begin_ + static_cast<std::size_t>(i) * width_;
  return width_ == 2 ? number_at<std::uint16_t>(file_.bytes(), place) : number_at<std::uint32_t>(file_.bytes(), place);
}

}  // namespace shardline
