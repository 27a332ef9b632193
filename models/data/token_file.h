#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/shape.h"
#include "runtime/host/mapped_file.h"

namespace shardline {

/// The header of a file of llm.c, in bytes, and the most tokens that it counts.
inline constexpr std::size_t kTokenHeaderBytes = 256 * sizeof(std::int32_t);
inline constexpr Index kMostTokensOfFile = 0xFFFFFFFF;

/// Bytes of a token in the smallest kind of file that has all ids of a vocabulary: 2 up to 65536 ids, else 4.
std::size_t token_width(Index vocabulary);
/// The header of a file of llm.c with so many tokens of `width` (2 or 4) bytes.
std::string token_header(Index tokens, std::size_t width);
/// Ids as such a file holds them. They are not negative, and have room in `width` bytes.
std::string packed_tokens(const std::vector<std::int32_t>& ids, std::size_t width);

/// Token ids in a file of nanoGPT or llm.c, mapped and not read. All numbers are little-endian. nanoGPT: nothing but
/// uint16 tokens. llm.c: 256 int32, of which the first three are a magic number, a version and the number of tokens;
/// then tokens. Magic 20240520 with version 1 has uint16 tokens, magic 20240801 with version 7 uint32. A file that
/// begins with one of these magic numbers is of llm.c.
class TokenFile {
 public:
  /// Throws UsageError, one line with the path, if the file cannot be mapped (see MappedFile), is empty, has an odd
  /// number of bytes, another version, or another number of tokens than its header says.
  explicit TokenFile(const std::string& path);

  /// Tokens that were made here, of `width` (2 or 4) bytes each, one after the other. `path` is for messages.
  TokenFile(std::string path, std::string tokens, std::size_t width);
  TokenFile(const TokenFile&) = delete;
  TokenFile& operator=(const TokenFile&) = delete;

  const std::string& path() const { return path_; }
  Index tokens() const { return tokens_; }
  /// All tokens as they lie in memory, each with the bytes of its width.
  std::string_view bytes() const { return bytes_; }
  /// Token `i` in [0, tokens()).
  std::uint32_t token(Index i) const;

 private:
  std::string path_;
  std::unique_ptr<const MappedFile> file_;
  std::string own_;         ///< tokens that are in no file
  std::string_view bytes_;  ///< of all tokens
  std::size_t width_ = 2;   ///< bytes of a token
  Index tokens_ = 0;
};

}  // namespace shardline
