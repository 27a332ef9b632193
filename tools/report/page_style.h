#pragma once

#include <string>

namespace shardline::tools {

/// The style sheet of pages: layout, the inks of figures in light and dark, and what differs on phones and paper.
std::string page_style();

}  // namespace shardline::tools
