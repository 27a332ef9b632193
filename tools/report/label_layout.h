#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/report/svg.h"

namespace shardline::tools {

/// Finds places for texts beside points of a figure, so that no text lies over another or over what must be seen.
class LabelLayout {
 public:
  explicit LabelLayout(const Box& within) : within_(within) {}

  /// No text shall lie here, or within `margin` of the line.
  void occupy(const Box& box) { taken_.push_back(box); }
  void occupy(Place from, Place to, double margin);

  struct Label {
    Place at;  ///< as svg_text() takes it
    Anchor anchor = Anchor::start;
    Place begin;         ///< the point of the text's box that is next to what it names
    bool apart = false;  ///< so far from it that a line between them is due
  };
  /// The nearest free place for `text` beside `point`, enlarged letters and all, which is taken from then on; none when
  /// there is none within `reach` of it.
  std::optional<Label> place(Place point, const std::string& text, double reach);

 private:
  bool is_free(const Box& box) const;

  Box within_;
  std::vector<Box> taken_;
};

}  // namespace shardline::tools
