#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/report/svg.h"

namespace shardline::tools {

/// Places texts beside points of a figure, so that no text covers another text or anything
/// important.
class LabelLayout {
 public:
  explicit LabelLayout(const Box& within) : within_(within) {}

  /// No text may lie here, or within `margin` of the line.
  void occupy(const Box& box) { taken_.push_back(box); }
  void occupy(Place from, Place to, double margin);

  struct Label {
    Place at;  ///< for svg_text()
    Anchor anchor = Anchor::start;
    Place begin;         ///< the point of the text's box that is nearest to its point
    bool apart = false;  ///< so far away that it needs a line between them
  };
  /// The nearest free place for `text` beside `point`, large enough for enlarged letters; it is
  /// then occupied. None if there is none within `reach`.
  std::optional<Label> place(Place point, const std::string& text, double reach);

 private:
  bool is_free(const Box& box) const;

  Box within_;
  std::vector<Box> taken_;
};

}  // namespace shardline::tools
