#include "tools/show.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "runtime/layout/blocks.h"
#include "tools/output/text.h"

namespace shardline::tools {
namespace {

constexpr std::size_t kPictureWidth = 100;  ///< of a picture, in characters
constexpr Index kMostRows = 8;              ///< rows of blocks, including the gap for the others
constexpr Index kMostColumns = 12;
constexpr Index kMostLayers = 4;
constexpr Index kMostRanks = 8;   ///< ranks per cell,
constexpr Index kMostLines = 24;  ///< and over all cells of a column, if each can have 3
constexpr Index kSkipped = -1;

/// The positions that are drawn, out of `count`: all, if there is `room`. Else the first ones, kSkipped
/// for the others, and the last one. `room` is at least 3.
std::vector<Index> drawn(Index count, Index room) {
  std::vector<Index> positions;
  const Index first = count <= room ? count : room - 2;
  for (Index i = 0; i < first; ++i) positions.push_back(i);
  if (count > room) positions.insert(positions.end(), {kSkipped, count - 1});
  return positions;
}

std::string gap_text(Index count, Index room) { return fmt::format("... {} more", count - (room - 1)); }

/// A cell of the grid: its lines.
using CellLines = std::vector<std::string>;

/// A grid of cells with a label for every row and column.
struct Grid {
  std::vector<std::string> row_labels;
  std::vector<std::string> column_labels;
  std::vector<std::vector<CellLines>> cells;  ///< by row and column

  /// Characters before the cells.
  std::size_t margin() const {
    std::size_t width = 0;
    for (const std::string& label : row_labels) width = std::max(width, label.size());
    return width == 0 ? kIndent : kIndent + width + 1;
  }

  std::vector<std::size_t> column_widths() const {
    std::vector<std::size_t> widths;
    for (std::size_t k = 0; k < column_labels.size(); ++k) {
      std::size_t width = column_labels[k].size();
      for (const std::vector<CellLines>& row : cells) {
        for (const std::string& line : row[k]) width = std::max(width, line.size());
      }
      widths.push_back(width);
    }
    return widths;
  }

  std::size_t width() const {
    std::size_t width = margin() + 1;
    for (const std::size_t column : column_widths()) width += column + 3;
    return width;
  }

  std::string text() const {
    const std::vector<std::size_t> widths = column_widths();
    std::string rule = std::string(margin(), ' ') + "+";
    std::string head(margin(), ' ');
    for (std::size_t k = 0; k < widths.size(); ++k) {
      rule += std::string(widths[k] + 2, '-') + "+";
      head += fmt::format("  {:<{}}", column_labels[k], widths[k] + 1);
    }
    head.erase(head.find_last_not_of(' ') + 1);
    std::string text = head.empty() ? "" : head + "\n";
    text += rule + "\n";
    for (std::size_t i = 0; i < cells.size(); ++i) text += row_text(i, widths) + rule + "\n";
    return text;
  }

 private:
  static constexpr std::size_t kIndent = 2;

  std::string row_text(std::size_t row, const std::vector<std::size_t>& widths) const {
    std::size_t height = 0;
    for (const CellLines& cell : cells[row]) height = std::max(height, cell.size());
    std::string text;
    for (std::size_t line = 0; line < height; ++line) {
      const std::string label = line == 0 ? row_labels[row] : "";
      text += fmt::format("{:{}}{:<{}}|", "", kIndent, label, margin() - kIndent);
      for (std::size_t k = 0; k < widths.size(); ++k) {
        const CellLines& cell = cells[row][k];
        text += fmt::format(" {:<{}} |", line < cell.size() ? cell[line] : "", widths[k]);
      }
      text += "\n";
    }
    return text;
  }
};

/// Draws one array. The coordinates of the axes that cut dims name a block. The other axes tell
/// apart the ranks that share it.
class Artist {
 public:
  Artist(const AbstractMesh& mesh, const ArraySpec& array) : mesh_(mesh), array_(array) {
    for (const Axis& axis : mesh.axes_that_move()) {
      if (!array.sharding.uses(axis)) replicas_.push_back(axis);
      if (contains(array.sharding.unreduced, axis)) parts_.push_back(axis);
    }
    std::vector<int> cut;
    for (std::size_t d = 0; d < array.shape.size(); ++d) {
      if (blocks(static_cast<int>(d)) > 1) cut.push_back(static_cast<int>(d));
    }
    choose_edges(std::move(cut));
  }

  std::string text() const {
    std::string text = title() + legend();
    Index layers = 1;
    for (const int dim : layer_dims_) layers *= blocks(dim);
    for (const Index layer : drawn(layers, kMostLayers)) {
      if (layer > 0) text += "\n";
      text += layer == kSkipped ? "\n  " + gap_text(layers, kMostLayers) + "\n" : layer_text(layer);
    }
    return text;
  }

 private:
  const Axes& axes_of(int dim) const { return array_.sharding.dims[static_cast<std::size_t>(dim)]; }
  Index extent(int dim) const { return array_.shape[static_cast<std::size_t>(dim)]; }
  Index blocks(int dim) const { return mesh_.size(axes_of(dim)); }

  /// Chooses the dims on the edges of the grid: those of a matrix; for larger arrays the last two
  /// that are cut.
  void choose_edges(std::vector<int> cut) {
    const auto rank = static_cast<int>(array_.shape.size());
    if (rank <= 2) {
      column_dim_ = rank - 1;
      row_dim_ = rank - 2;
      return;
    }
    if (!cut.empty() && (cut.size() > 1 || cut.back() == rank - 1)) {
      column_dim_ = cut.back();
      cut.pop_back();
    }
    if (!cut.empty()) {
      row_dim_ = cut.back();
      cut.pop_back();
    }
    layer_dims_ = cut;
  }

  /// Moves `at` to a position of the group over `axes`, major first.
  void place(Coordinates& at, const Axes& axes, Index position) const {
    for (std::size_t i = axes.size(); i-- > 0;) {
      at[mesh_.position(axes[i])] = position % mesh_.size(axes[i]);
      position /= mesh_.size(axes[i]);
    }
  }

  std::string title() const {
    const std::string name = to_string(array_.name, array_.dims, array_.sharding);
    const Index ranks = mesh_.size(replicas_) * mesh_.size(parts_);
    const Shape largest = largest_local_shape(array_.shape, array_.sharding, mesh_);
    const std::string bytes = to_string(Bytes(static_cast<double>(element_count(largest) * size_of(array_.dtype))));
    const std::string whole = array_.shape.empty() ? "a scalar" : fmt::format("{}", fmt::join(array_.shape, " x "));
    const std::string on = ranks == 1 ? "one rank" : fmt::format("{} ranks", ranks);
    Index count = 1;
    bool even = true;
    for (int dim = 0; dim < static_cast<int>(array_.shape.size()); ++dim) {
      count *= blocks(dim);
      even = even && extent(dim) % blocks(dim) == 0;
    }
    if (count == 1) {
      return fmt::format("{}: {}, {} ({}) on {}\n", name, whole, parts_.empty() ? "whole" : "unreduced", bytes, on);
    }
    return fmt::format("{}: {} in {} blocks of {}{} ({}), each on {}\n", name, whole, count, even ? "" : "at most ",
                       fmt::join(largest, " x "), bytes, on);
  }

  char part_mark() const { return array_.sharding.reduce == ReduceOp::max ? '^' : '+'; }

  std::string legend() const {
    std::string text;
    if (!replicas_.empty()) text += fmt::format("  = copies along {}\n", listed(replicas_));
    if (!parts_.empty()) {
      const bool sums = array_.sharding.reduce == ReduceOp::sum;
      text += fmt::format("  {} partial {} along {}, {}\n", part_mark(), sums ? "sums" : "maxima", listed(parts_),
                          sums ? "still to be added up" : "of which the largest is still to be taken");
    }
    std::vector<std::string> whole;
    for (int dim = 0; dim < static_cast<int>(array_.shape.size()); ++dim) {
      const bool on_edge = dim == row_dim_ || dim == column_dim_;
      if (!on_edge && blocks(dim) == 1) whole.push_back(array_.dims[static_cast<std::size_t>(dim)]);
    }
    if (!whole.empty()) text += fmt::format("  all of {} in every block\n", listed(whole));
    return text;
  }

  /// "J 2:4": the positions of a dim in the block at `at`.
  std::string label(int dim, const Coordinates& at) const {
    const Range range = nested_block(extent(dim), axes_of(dim), mesh_, at);
    return fmt::format("{} {}:{}{}", array_.dims[static_cast<std::size_t>(dim)], range.begin, range.end,
                       range.size() == 0 ? " empty" : "");
  }

  /// One layer, below the positions of its dims.
  std::string layer_text(Index layer) const {
    Coordinates at(mesh_.axes().size(), 0);
    std::vector<std::string> labels;
    for (std::size_t i = layer_dims_.size(); i-- > 0;) {
      const int dim = layer_dims_[i];
      place(at, axes_of(dim), layer % blocks(dim));
      layer /= blocks(dim);
      labels.insert(labels.begin(), label(dim, at));
    }
    const std::string head = labels.empty() ? "" : fmt::format("  {}\n", fmt::join(labels, ", "));
    return head + best_grid(at).text();
  }

  /// The grid with the most columns; among those the one with each rank on one line, if it fits.
  Grid best_grid(const Coordinates& at) const {
    Grid best;
    for (Index room = kMostColumns; room >= 3; --room) {
      for (const bool stacked : {false, true}) {
        best = grid(at, room, stacked);
        if (best.width() <= kPictureWidth) return best;
      }
    }
    return best;
  }

  /// The blocks of one layer. `stacked` puts coordinates below their rank.
  Grid grid(Coordinates at, Index column_room, bool stacked) const {
    const Index rows = row_dim_ < 0 ? 1 : blocks(row_dim_);
    const Index columns = column_dim_ < 0 ? 1 : blocks(column_dim_);
    const Index rank_room = std::clamp<Index>(kMostLines / std::min(rows, kMostRows), 3, kMostRanks);
    Grid grid;
    for (const Index column : drawn(columns, column_room)) {
      if (column != kSkipped && column_dim_ >= 0) place(at, axes_of(column_dim_), column);
      grid.column_labels.push_back(column == kSkipped ? gap_text(columns, column_room)
                                   : column_dim_ >= 0 ? label(column_dim_, at)
                                                      : "");
    }
    for (const Index row : drawn(rows, kMostRows)) {
      if (row != kSkipped && row_dim_ >= 0) place(at, axes_of(row_dim_), row);
      grid.row_labels.push_back(row == kSkipped ? gap_text(rows, kMostRows) : row_dim_ >= 0 ? label(row_dim_, at) : "");
      grid.cells.emplace_back();
      for (const Index column : drawn(columns, column_room)) {
        if (column != kSkipped && column_dim_ >= 0) place(at, axes_of(column_dim_), column);
        grid.cells.back().push_back(row == kSkipped || column == kSkipped ? CellLines{"..."}
                                                                          : cell(at, rank_room, stacked));
      }
    }
    return grid;
  }

  /// The ranks that hold the block at `at`, by replica, and in each replica by part.
  CellLines cell(Coordinates at, Index room, bool stacked) const {
    const Index parts = mesh_.size(parts_);
    const Index count = mesh_.size(replicas_) * parts;
    CellLines lines;
    for (const Index i : drawn(count, room)) {
      if (i == kSkipped) {
        lines.push_back(gap_text(count, room));
        continue;
      }
      place(at, replicas_, i / parts);
      place(at, parts_, i % parts);
      const char mark = i == 0 ? ' ' : i % parts == 0 ? '=' : part_mark();
      const std::string before = count == 1 ? "" : fmt::format("{} ", mark);
      const std::string rank = fmt::format("rank {:<{}}", mesh_.rank(at), std::to_string(mesh_.ranks() - 1).size());
      const std::string coordinates = coordinates_text(at);
      if (coordinates.empty()) {
        lines.push_back(before + rank);
      } else if (stacked) {
        lines.insert(lines.end(), {before + rank, std::string(before.size(), ' ') + coordinates});
      } else {
        lines.push_back(fmt::format("{}{}  {}", before, rank, coordinates));
      }
    }
    return lines;
  }

  std::string coordinates_text(const Coordinates& at) const {
    std::vector<std::string> words;
    for (const Axis& axis : mesh_.axes_that_move())
      words.push_back(fmt::format("{}={}", axis, at[mesh_.position(axis)]));
    return fmt::format("{}", fmt::join(words, " "));
  }

  const AbstractMesh& mesh_;
  const ArraySpec& array_;
  Axes replicas_;
  Axes parts_;
  int row_dim_ = -1;
  int column_dim_ = -1;
  std::vector<int> layer_dims_;
};

}  // namespace

std::string picture(const AbstractMesh& mesh, const ArraySpec& array) {
  ArraySpec drawn = array;
  drawn.sharding = validated(array.sharding, array.name, array.dims, mesh);
  return Artist(mesh, drawn).text();
}

std::string pictures(const RankProgram& program) {
  std::string text;
  std::set<std::pair<ArrayId, Sharding>> seen;
  const auto draw = [&](VersionId id) {
    const Version& version = program.version(id);
    if (!seen.emplace(version.array, version.sharding).second) return;
    const Array& array = program.array_of(id);
    text += (text.empty() ? "" : "\n") +
            picture(program.mesh, {array.name, array.dims, array.shape, version.sharding, array.dtype});
  };
  for (const ArrayId input : program.program.inputs) draw(program.inputs.at(input));
  for (const Step& step : program.steps) std::for_each(step.results.begin(), step.results.end(), draw);
  return text;
}

}  // namespace shardline::tools
