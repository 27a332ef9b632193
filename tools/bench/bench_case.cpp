#include "tools/bench/bench_case.h"

#include <algorithm>

#include "collectives/collectives.h"
#include "collectives/native/native_call.h"
#include "runtime/base/check.h"
#include "runtime/base/with_type.h"
#include "runtime/layout/blocks.h"

namespace shardline::tools {

using collectives::Kind;

namespace {

ExactDataSpec data_spec(const Mesh& mesh, const CaseSpec& spec) {
  const std::vector<Index> group = mesh.axes().group(mesh.rank(), spec.axes);
  return {.seed = spec.seed,
          .group = *std::min_element(group.begin(), group.end()),
          .positions = static_cast<Index>(group.size()),
          .dtype = spec.dtype};
}

Index largest(const std::vector<Range>& blocks) {
  Index most = 0;
  for (const Range& block : blocks) most = std::max(most, block.size());
  return most;
}

}  // namespace

bool reduces(Kind kind) { return kind == Kind::reduce_scatter || kind == Kind::all_reduce; }

BenchCase::BenchCase(const Mesh& mesh, CaseSpec spec)
    : spec_(std::move(spec)),
      positions_(mesh.axes().size(spec_.axes)),
      data_(data_spec(mesh, spec_)),
      blocks_(nested_blocks(spec_.count, spec_.axes, mesh.axes())) {
  lay_out(mesh.axes().position_in_group(mesh.rank(), spec_.axes));
}

void BenchCase::lay_out(Index own_position) {
  const Index count = spec_.count;
  const Range own = blocks_[static_cast<std::size_t>(own_position)];
  const Index block = largest(blocks_);
  operand_ = {{0, count}, own_position, 0};
  operand_shape_ = {count};
  result_shape_ = {count};
  largest_operand_ = count;
  largest_result_ = count;
  switch (spec_.kind) {
    case Kind::all_gather:
      operand_ = {{0, own.size()}, own_position, own.begin};
      operand_shape_ = {own.size()};
      largest_operand_ = block;
      for (std::size_t q = 0; q < blocks_.size(); ++q) {
        result_.push_back({blocks_[q], static_cast<Index>(q), blocks_[q].begin});
      }
      return;
    case Kind::reduce_scatter:
      result_ = {{{0, own.size()}, own_position, own.begin}};
      result_shape_ = {own.size()};
      largest_result_ = block;
      return;
    case Kind::all_reduce:
      result_ = {operand_};
      return;
    case Kind::all_to_all:
      operand_shape_ = {1, count};
      result_shape_ = {positions_, own.size()};
      largest_result_ = positions_ * block;
      for (Index q = 0; q < positions_; ++q) {
        result_.push_back({{q * own.size(), (q + 1) * own.size()}, q, own.begin});
      }
      return;
    case Kind::shift:
      result_ = {{{0, count}, (own_position + positions_ - 1) % positions_, 0}};
      return;
  }
  throw Error("unknown kind of collective");
}

double BenchCase::operand_element(Index i) const {
  const Index at = operand_.first + i;
  return reduces(spec_.kind) ? data_.operand(spec_.op, operand_.position, at) : data_.moved(operand_.position, at);
}

double BenchCase::result_element(const Strip& strip, Index i) const {
  const Index at = strip.first + i - strip.place.begin;
  return reduces(spec_.kind) ? data_.combined(spec_.op, at) : data_.moved(strip.position, at);
}

void BenchCase::fill(Tensor& operand) const {
  SHARDLINE_CHECK(operand.shape() == operand_shape_, "an operand of shape {}, not {}", to_string(operand.shape()),
                  to_string(operand_shape_));
  with_type(spec_.dtype, [&](auto type) {
    using T = decltype(type);
    const View<T> elements = operand.view<T>();
    for (Index i = 0; i < operand.size(); ++i) elements[i] = from_double<T>(operand_element(i));
  });
}

Index BenchCase::wrong(const Tensor& result) const {
  SHARDLINE_CHECK(result.shape() == result_shape_, "a result of shape {}, not {}", to_string(result.shape()),
                  to_string(result_shape_));
  return with_type(spec_.dtype, [&](auto type) {
    using T = decltype(type);
    const View<const T> elements = result.view<T>();
    Index wrong = 0;
    for (const Strip& strip : result_) {
      for (Index i = strip.place.begin; i < strip.place.end; ++i) {
        if (!(elements[i] == from_double<T>(result_element(strip, i)))) ++wrong;
      }
    }
    return wrong;
  });
}

collectives::Handle BenchCase::start(collectives::Engine& engine, const Tensor& operand, Tensor& result,
                                     const collectives::Options& options) const {
  switch (spec_.kind) {
    case Kind::all_gather:
      return collectives::start_all_gather(engine, spec_.axes, operand, 0, result, options);
    case Kind::reduce_scatter:
      return collectives::start_reduce_scatter(engine, spec_.axes, spec_.op, operand, 0, result, options);
    case Kind::all_reduce:
      return collectives::start_all_reduce(engine, spec_.axes, spec_.op, operand, result, options);
    case Kind::all_to_all:
      return collectives::start_all_to_all(engine, spec_.axes, operand, 0, 1, result, options);
    case Kind::shift:
      return collectives::start_shift(engine, spec_.axes, operand, 1, result, options);
  }
  throw Error("unknown kind of collective");
}

std::function<void()> BenchCase::native_call(const mpi::Communicator& in_order, const Tensor& operand,
                                             Tensor& result) const {
  return collectives::native_call(
      in_order, {.kind = spec_.kind, .op = spec_.op, .operand = operand, .result = result, .blocks = blocks_});
}

mpi::Communicator group_in_order(const mpi::Communicator& world, const Mesh& mesh, const Axes& axes) {
  const std::vector<Index> group = mesh.axes().group(mesh.rank(), axes);
  const Index position = mesh.axes().position_in_group(mesh.rank(), axes);
  return world.split(static_cast<int>(*std::min_element(group.begin(), group.end())), static_cast<int>(position));
}

}  // namespace shardline::tools
