// Compares the traffic of conversions with a count of elements in the blocks of all ranks.

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <set>

#include "program/partition/convert.h"
#include "program/price/estimate.h"
#include "program/price/wire.h"
#include "runtime/base/check.h"
#include "runtime/layout/notation.h"

namespace shardline {

std::ostream& operator<<(std::ostream& out, const Moved& moved) {
  return out << moved.steps << " steps, " << moved.sent << " sent, " << moved.received << " received, " << moved.added
             << " added, " << moved.kept << " kept, " << moved.packed << " packed";
}

namespace {

/// Elements of an array, as row-major numbers.
using Elements = std::set<Index>;

/// The block rule, written again.
Range part_of(Range whole, Index parts, Index which) {
  Index begin = whole.begin;
  for (Index i = 0; i < which; ++i) begin += (whole.size() + parts - 1 - i) / parts;
  return {begin, begin + (whole.size() + parts - 1 - which) / parts};
}

/// A single conversion, and the elements of every rank before and after it.
class Case {
 public:
  Case(const std::string& mesh, const Shape& shape, const Sharding& from, const Conversion& conversion)
      : shape_(shape), from_(from), to_(conversion.result) {
    program_.mesh = AbstractMesh::parse(mesh);
    std::vector<std::string> dims;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      dims.push_back(std::string(1, static_cast<char>('I' + d)));
      program_.program.sizes[dims.back()] = shape[d];
    }
    const ArrayId a = program_.program.add_input("A", dims, Role::activation);
    program_.versions = {{a, from, {}, true}, {a, conversion.result, {}, false}};
    step_.kind = conversion.kind;
    step_.operands = {0};
    step_.results = {1};
    step_.axes = conversion.axes;
    step_.from_dim = conversion.from_dim;
    step_.to_dim = conversion.to_dim;
  }

  StepKind kind() const { return step_.kind; }
  Moved priced() const { return moved(program_, step_); }
  StepEstimate estimated(const roofline::Hardware& hardware) const { return estimate(program_, step_, hardware); }

  Moved counted() const {
    Moved most;
    for (Index rank = 0; rank < program_.mesh.ranks(); ++rank) {
      const Moved one = counted(rank);
      for (Index Moved::*figure :
           {&Moved::steps, &Moved::sent, &Moved::received, &Moved::added, &Moved::kept, &Moved::packed}) {
        most.*figure = std::max(most.*figure, one.*figure);
      }
    }
    if (most.sent > 0) {
      most.steps = (program_.mesh.size(step_.axes) - 1) * (step_.kind == StepKind::all_reduce ? 2 : 1);
    }
    return most;
  }

 private:
  std::vector<Range> ranges(Index rank, const Sharding& sharding) const {
    const Coordinates at = program_.mesh.coordinates(rank);
    std::vector<Range> ranges;
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      Range range{0, shape_[d]};
      for (const Axis& axis : sharding.dims[d]) {
        range = part_of(range, program_.mesh.size(axis), at[program_.mesh.position(axis)]);
      }
      ranges.push_back(range);
    }
    return ranges;
  }

  Elements elements(Index rank, const Sharding& sharding) const {
    Elements all{0};
    const std::vector<Range> box = ranges(rank, sharding);
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      Elements finer;
      for (const Index outer : all) {
        for (Index i = box[d].begin; i < box[d].end; ++i) finer.insert(outer * shape_[d] + i);
      }
      all = std::move(finer);
    }
    return all;
  }

  static Elements common(const Elements& a, const Elements& b) {
    Elements both;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(both, both.begin()));
    return both;
  }

  /// True if `part` of `array` is contiguous in memory that holds only the array.
  static bool is_run(const Elements& part, const Elements& array) {
    if (part.empty()) return true;
    const auto begin = array.find(*part.begin());
    const auto end = std::next(begin, static_cast<std::ptrdiff_t>(part.size()));
    return std::equal(begin, end, part.begin(), part.end());
  }

  /// Elements of these messages if some are not runs of `array`, otherwise 0. `own`: a part without a message,
  /// but it decides packing too.
  static Index packed(const std::vector<Elements>& messages, const Elements& array, const Elements& own = {}) {
    bool runs = is_run(own, array);
    Index sum = 0;
    for (const Elements& message : messages) {
      runs = runs && is_run(message, array);
      sum += static_cast<Index>(message.size());
    }
    return runs ? 0 : sum;
  }

  /// The other ranks of a rank's group.
  std::vector<Index> peers(Index rank) const {
    std::vector<Index> group = program_.mesh.group(rank, step_.axes);
    std::erase(group, rank);
    return group;
  }

  /// If several ranks hold an element, a reshard takes it from the rank with the receiver's place among them.
  bool paired(Index a, Index b) const {
    return std::all_of(step_.axes.begin(), step_.axes.end(), [&](const Axis& axis) {
      const std::size_t at = program_.mesh.position(axis);
      return from_.dim_of(axis) >= 0 || program_.mesh.coordinates(a)[at] == program_.mesh.coordinates(b)[at];
    });
  }

  Moved counted(Index rank) const {
    const Elements held = elements(rank, from_);
    const Elements wanted = elements(rank, to_);
    const auto size = [](const Elements& some) { return static_cast<Index>(some.size()); };
    const std::vector<Index> others = peers(rank);
    const auto count = static_cast<Index>(others.size());
    std::vector<Elements> outgoing;
    std::vector<Elements> incoming;
    Moved one;
    switch (step_.kind) {
      case StepKind::slice:
      case StepKind::owe:
        return {.kept = size(wanted)};
      case StepKind::all_reduce: {
        // Every rank adds its chunk of the flat array. Then all ranks gather the chunks.
        const Index position = program_.mesh.position_in_group(rank, step_.axes);
        const Index chunk = part_of({0, size(held)}, count + 1, position).size();
        one.sent = (size(held) - chunk) + count * chunk;
        one.received = count * chunk + (size(held) - chunk);
        one.added = count * chunk;
        return one;
      }
      case StepKind::reduce_scatter:
        for (const Index peer : others) outgoing.push_back(elements(peer, to_));
        for (const Elements& message : outgoing) one.sent += size(message);
        one.received = one.added = count * size(wanted);
        one.packed = packed(outgoing, held, wanted);
        if (one.packed > 0) one.packed += size(wanted);
        return one;
      case StepKind::all_gather:
      case StepKind::all_to_all:
      case StepKind::reshard:
        break;
      case StepKind::send:
      case StepKind::receive:
      case StepKind::compute:
        throw Error("no conversion");
    }
    const bool reshard = step_.kind == StepKind::reshard;
    for (const Index peer : others) {
      if (reshard && !paired(rank, peer)) continue;
      outgoing.push_back(common(held, elements(peer, to_)));
      incoming.push_back(common(elements(peer, from_), wanted));
      one.sent += size(outgoing.back());
      one.received += size(incoming.back());
    }
    const Elements kept = common(held, wanted);
    one.kept = size(kept);
    one.packed = packed(incoming, wanted, reshard ? Elements{} : kept);
    if (step_.kind == StepKind::all_gather) return one;
    const Index sending = packed(outgoing, held, reshard ? Elements{} : kept);
    one.packed += sending;
    if (sending > 0 && !reshard) one.packed += one.kept;
    return one;
  }

  Shape shape_;
  Sharding from_;
  Sharding to_;
  RankProgram program_;
  Step step_;
};

Sharding layout(const std::string& text) { return parse_array(text).sharding; }

/// Every conversion on the way from one layout to another.
std::vector<Case> cases(const std::string& mesh, const Shape& shape, const std::string& from, const std::string& to) {
  std::vector<Case> all;
  const AbstractMesh axes = AbstractMesh::parse(mesh);
  Converter converter(axes);
  Sharding at = layout(from);
  for (const Conversion& conversion : converter.plan(shape, at, layout(to)).steps) {
    all.emplace_back(mesh, shape, at, conversion);
    at = conversion.result;
  }
  return all;
}

using Layouts = std::vector<std::pair<std::string, std::string>>;

/// For every shape, all conversions between `layouts` move the counted elements. Returns their kinds.
std::set<StepKind> expect_counted(const std::string& mesh, const std::vector<Shape>& shapes, const Layouts& layouts) {
  std::set<StepKind> kinds;
  for (const Shape& shape : shapes) {
    for (const auto& [from, to] : layouts) {
      for (const Case& each : cases(mesh, shape, from, to)) {
        kinds.insert(each.kind());
        EXPECT_EQ(each.priced(), each.counted())
            << from << " to " << to << " of " << to_string(shape) << " on " << mesh;
      }
    }
  }
  return kinds;
}

TEST(Moved, OnOneAxis) {
  const Layouts layouts{{"A[I_X, J]", "A[I, J]"},      {"A[I, J_X]", "A[I, J]"},    {"A[I, J]{U_X}", "A[I_X, J]"},
                        {"A[I, J]{U_X}", "A[I, J_X]"}, {"A[I, J]{U_X}", "A[I, J]"}, {"A[I_X, J]", "A[I, J_X]"},
                        {"A[I, J_X]", "A[I_X, J]"},    {"A[I, J]", "A[I_X, J]"},    {"A[I, J]", "A[I, J_X]"},
                        {"A[I, J]", "A[I, J]{U_X}"}};
  for (const char* mesh : {"X=2", "X=3", "X=5"}) {
    expect_counted(mesh, {{6, 10}, {7, 4}, {5, 3}, {1, 7}, {7, 1}, {2, 2}, {1, 1}}, layouts);
  }
}

TEST(Moved, OnTwoAxes) {
  const Layouts layouts{
      {"A[I_X, J_Y]", "A[I, J_Y]"},      {"A[I_XY, J]", "A[I, J]"},        {"A[I_XY, J]", "A[I_X, J]"},
      {"A[I_XY, J]", "A[I_YX, J]"},      {"A[I_XY, J]", "A[I_X, J_Y]"},    {"A[I_X, J_Y]", "A[I_Y, J_X]"},
      {"A[I_X, J]", "A[I_Y, J]"},        {"A[I_X, J]{U_Y}", "A[I_XY, J]"}, {"A[I, J]{U_XY}", "A[I, J]"},
      {"A[I_X, J]{U_Y}", "A[I_X, J_Y]"}, {"A[I, J]", "A[I_XY, J]"},        {"A[I, J_X]", "A[I_X, J]"},
      {"A[I_X, J]", "A[I_X, J]{U_Y}"}};
  for (const char* mesh : {"X=2,Y=2", "X=2,Y=3", "X=3,Y=2"}) {
    const std::set<StepKind> kinds = expect_counted(mesh, {{12, 6}, {7, 5}, {4, 3}, {3, 2}, {1, 9}}, layouts);
    EXPECT_EQ(kinds.size(), 7U) << "all but computations";
  }
}

/// A dim before the changed dim, one after it, and one between two changed dims.
TEST(Moved, OfThreeDims) {
  expect_counted("X=2,Y=2", {{2, 5, 4}, {1, 4, 3}, {3, 1, 7}},
                 {{"A[I, J_X, K]", "A[I, J, K]"},
                  {"A[I, J, K]{U_X}", "A[I, J_X, K]"},
                  {"A[I_X, J, K]", "A[I, J, K_X]"},
                  {"A[I, J, K_X]", "A[I_X, J, K]"},
                  {"A[I, J, K]", "A[I, J, K_Y]"},
                  {"A[I_X, J_Y, K]", "A[I, J_X, K_Y]"}});
}

/// If only memory costs: a slice is read and written once, and the rest is not touched.
TEST(Moved, ASliceCostsWhatItKeeps) {
  const roofline::Hardware memory{.matmul = FlopsPerSecond(1), .memory = BytesPerSecond(1e3), .overhead = Seconds(0)};
  const Case rows = cases("X=16", {64, 10}, "A[I, J]", "A[I_X, J]").at(0);
  EXPECT_DOUBLE_EQ(rows.estimated(memory).price.time.value, 2 * 4 * 4 * 10 / 1e3);
  EXPECT_DOUBLE_EQ(rows.estimated(memory).bytes.value, 2 * 4 * 4 * 10);
  const Case uneven = cases("X=16", {10, 17}, "A[I, J]", "A[I, J_X]").at(0);
  EXPECT_DOUBLE_EQ(uneven.estimated(memory).price.time.value, 2 * 4 * 10 * 2 / 1e3);
  const Case owed = cases("X=16", {64, 10}, "A[I, J]", "A[I, J]{U_X}").at(0);
  EXPECT_DOUBLE_EQ(owed.estimated(memory).price.time.value, 2 * 4 * 64 * 10 / 1e3);
}

/// Links are infinitely fast and need the cores, so only the kept elements cost memory: 3 of 8 rows are read
/// and written. If moving leaves the cores free, this runs beside it.
TEST(Moved, WhatARankKeepsIsCopied) {
  roofline::Hardware hardware{.matmul = FlopsPerSecond(1), .memory = BytesPerSecond(1e3), .overhead = Seconds(0)};
  hardware.links["X"] = {.latency = Seconds(0), .bandwidth = BytesPerSecond(1e15), .frees_cores = false};
  const Case gather = cases("X=3", {8, 5}, "A[I_X, J]", "A[I, J]").at(0);
  EXPECT_NEAR(gather.estimated(hardware).price.time.value, 2 * 4 * 3 * 5 / 1e3, 1e-9);
  hardware.links["X"].frees_cores = true;
  hardware.links["X"].bandwidth = BytesPerSecond(1e3);
  EXPECT_NEAR(gather.estimated(hardware).price.time.value, 4 * 6 * 5 / 1e3, 1e-9);
}

}  // namespace
}  // namespace shardline
