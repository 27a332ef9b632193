#include "program/run/conversion_run.h"

#include <cstring>

#include "collectives/collectives.h"
#include "collectives/schedule/packing.h"
#include "runtime/base/check.h"
#include "runtime/layout/blocks.h"

namespace shardline {
namespace {

/// The ranges of this rank's slice of a block along one dim.
std::vector<Range> slice_ranges(const Shape& shape, const Step& step, const AbstractMesh& mesh, Index rank) {
  std::vector<Range> ranges;
  for (const Index extent : shape) ranges.push_back({0, extent});
  const auto dim = static_cast<std::size_t>(step.to_dim);
  ranges[dim] = nested_block(shape[dim], step.axes, mesh, mesh.coordinates(rank));
  return ranges;
}

/// Coordinate 0 of every axis keeps the value. The others hold zero.
void owe(const Step& step, const AbstractMesh& mesh, Index rank, const Tensor& in, Tensor& out) {
  if (out.bytes() == 0) return;
  if (mesh.position_in_group(rank, step.axes) == 0) {
    std::memcpy(out.data(), in.data(), static_cast<std::size_t>(out.bytes()));
  } else {
    std::memset(out.data(), 0, static_cast<std::size_t>(out.bytes()));
  }
}

}  // namespace

collectives::Handle start_conversion(collectives::Engine& engine, const RankProgram& program, const Step& step,
                                     const ConversionBlocks& blocks, bool uniform) {
  const Tensor& in = *blocks.in.at(0);
  Tensor& out = *blocks.out;
  const Version& source = program.version(step.operands[0]);
  switch (step.kind) {
    case StepKind::all_gather:
      return collectives::start_all_gather(engine, step.axes, in, step.from_dim, out);
    case StepKind::reduce_scatter:
      return collectives::start_reduce_scatter(engine, step.axes, source.sharding.reduce, in, step.to_dim, out,
                                               {.wire = step.wire});
    case StepKind::all_reduce:
      return collectives::start_all_reduce(engine, step.axes, source.sharding.reduce, in, out,
                                           {.wire = step.wire, .uniform = uniform});
    case StepKind::all_to_all:
      if (moves_rows(step)) {
        const Array& array = program.program.array(source.array);
        const Range held = box(array.shape, source.sharding, program.mesh, engine.mesh().rank())[2];
        const collectives::RowsInUse rows{
            .before = *blocks.in.at(1), .after = *blocks.in.at(2), .first = held.begin, .whole = array.shape[2]};
        return collectives::start_all_to_all_rows(engine, step.axes, in, step.from_dim, out, rows);
      }
      return collectives::start_all_to_all(engine, step.axes, in, step.from_dim, step.to_dim, out);
    case StepKind::reshard:
      return collectives::start_reshard(engine, in, program.program.array(source.array).shape, source.sharding,
                                        program.version(step.results[0]).sharding, out);
    case StepKind::slice:
    case StepKind::owe:
    case StepKind::send:
    case StepKind::receive:
    case StepKind::compute:
      break;
  }
  throw Error(kind_name(program, step) + " moves nothing between ranks");
}

void run_local_conversion(const RankProgram& program, const Step& step, Index rank, const Tensor& in, Tensor& out) {
  if (step.kind == StepKind::owe) return owe(step, program.mesh, rank, in, out);
  SHARDLINE_CHECK(step.kind == StepKind::slice, "{} is no local conversion", kind_name(program, step));
  collectives::copy_box({in.data(), in.shape(), slice_ranges(in.shape(), step, program.mesh, rank)},
                        {out.data(), out.shape(), collectives::whole(out.shape())}, size_of(in.dtype()));
}

}  // namespace shardline
