#pragma once

#include <string>

namespace shardline::tools {

/// Explains special words in a table or a program: one line per word that `text` contains, in a
/// fixed order.
std::string explained_words(const std::string& text);

}  // namespace shardline::tools
