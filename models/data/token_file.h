#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/shape.h"
#include "runtime/host/mapped_file.h"

namespace shardline {

/// Token ids in a file of nanoGPT or llm.c, mapped and not read. All numbers are little-endian. nanoGPT: nothing but
/// uint16 tokens. llm.c: 256 int32, of which the first three are a magic number, a version and the number of tokens;
/// then tokens. Magic 20240520 with version 1 has uint16 tokens, magic 20240801 with version 7 uint32. A file that
/// begins with one of these magic numbers is of llm.c.
class TokenFile {
 public:
  /// Throws UsageError, one line with the path, if the file cannot be mapped (see MappedFile), is empty, has an odd
  /// number of bytes, another version, or another number of tokens than its header says.
  explicit TokenFile(const std::string& path);

  const std::string& path() const { return path_; }
  Index tokens() const { return tokens_; }
  /// Token `i` in [0, tokens()).
  std::uint32_t token(Index i) const;

 private:
  std::string path_;
  MappedFile file_;
  std::size_t begin_ = 0;  ///< of the tokens, in bytes
  std::size_t width_ = 2;  ///< bytes of a token
  Index tokens_ = 0;
};

}  // namespace shardline
