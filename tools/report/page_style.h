#pragma once

#include <string>

namespace shardline::tools {

/// The style sheet of pages: layout, inks of figures for light and dark, and rules for phones and
/// paper.
std::string page_style();

}  // namespace shardline::tools
