#pragma once

#include <string>

namespace shardline::tools {

/// Explains the words of a table or a program that not every reader knows: a line for each that `text` contains, in the
/// order in which they are explained, none for the others.
std::string explained_words(const std::string& text);

}  // namespace shardline::tools
