#include "models/data/token_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <utility>

#include "runtime/base/check.h"

namespace shardline {
namespace {

static_assert(std::endian::native == std::endian::little, "token files are read as they lie in memory");

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
  require(bytes.size() > kTokenHeaderBytes,
          "{}: begins as a token file of llm.c but has {} bytes; its header alone has {}", path, bytes.size(),
          kTokenHeaderBytes);
  const auto version = number_at<std::uint32_t>(bytes, 4);
  require(version == kind.version, "{}: a token file of llm.c with version {}; version {} is read with magic {}", path,
          version, kind.version, kind.magic);
  const std::size_t tokens = number_at<std::uint32_t>(bytes, 8);
  const std::size_t there = bytes.size() - kTokenHeaderBytes;
  require(there == tokens * kind.width, "{}: its header says {} tokens of {} bytes, but {} bytes follow", path, tokens,
          kind.width, there);
}

}  // namespace

std::size_t token_width(Index vocabulary) {
  constexpr Index kMostOfTwoBytes = 65536;
  return vocabulary <= kMostOfTwoBytes ? 2 : 4;
}

std::string token_header(Index tokens, std::size_t width) {
  SHARDLINE_CHECK(tokens >= 0 && tokens <= kMostTokensOfFile, "a header for {} tokens", tokens);
  const Kind* kind =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& k) { return k.width == width; });
  SHARDLINE_CHECK(kind != std::end(kKinds), "tokens of {} bytes", width);
  const std::uint32_t numbers[] = {kind->magic, kind->version, static_cast<std::uint32_t>(tokens)};
  std::string header(kTokenHeaderBytes, '\0');
  std::memcpy(header.data(), numbers, sizeof numbers);
  return header;
}

std::string packed_tokens(const std::vector<std::int32_t>& ids, std::size_t width) {
  std::string bytes(ids.size() * width, '\0');
  char* next = bytes.data();
  for (const std::int32_t id : ids) {
    SHARDLINE_DEBUG_CHECK(id >= 0 && (width == 4 || id < 65536), "id {} in {} bytes", id, width);
    std::memcpy(next, &id, width);  // little-endian
    next += width;
  }
  return bytes;
}

TokenFile::TokenFile(const std::string& path)
    : path_(path), file_(std::make_unique<MappedFile>(path)), bytes_(file_->bytes()) {
  require(!bytes_.empty(), "{}: is empty, training needs tokens", path);
  const std::size_t size = bytes_.size();
  if (const Kind* kind = kind_of(bytes_)) {
    check_header(path, bytes_, *kind);
    bytes_.remove_prefix(kTokenHeaderBytes);
    width_ = kind->width;
  }
  require(size % width_ == 0, "{}: has {} bytes, an odd number; tokens of nanoGPT have 2 bytes each", path, size);
  tokens_ = static_cast<Index>(bytes_.size() / width_);
}

TokenFile::TokenFile(std::string path, std::string tokens, std::size_t width)
    : path_(std::move(path)), own_(std::move(tokens)), bytes_(own_), width_(width) {
  SHARDLINE_CHECK((width_ == 2 || width_ == 4) && bytes_.size() % width_ == 0, "{}: {} bytes of tokens of {} bytes",
                  path_, bytes_.size(), width_);
  require(!bytes_.empty(), "{}: gives no token, training needs tokens", path_);
  tokens_ = static_cast<Index>(bytes_.size() / width_);
}

std::uint32_t TokenFile::token(Index i) const {
  SHARDLINE_DEBUG_CHECK(i >= 0 && i < tokens_, "{}: token {} of {}", path_, i, tokens_);
  const std::size_t place = static_cast<std::size_t>(i) * width_;
  return width_ == 2 ? number_at<std::uint16_t>(bytes_, place) : number_at<std::uint32_t>(bytes_, place);
}

}  // namespace shardline
