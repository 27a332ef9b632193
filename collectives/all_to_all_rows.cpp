#include "collectives/all_to_all_rows.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "collectives/all_to_all.h"
#include "collectives/run/staging.h"
#include "collectives/schedule/cells.h"
#include "collectives/shared/direct.h"
#include "collectives/shared/direct_passes.h"
#include "runtime/base/check.h"

// all_to_all_rows: an all_to_all between the two leading dims of arrays that are only partly filled. Here a cell has
// room for 4 rows. A dot is a row that is not in use. Position 0 holds the left column, position 1 the right one:
//
//     in        ab.. | c...        out       position 0   ab.. c...
//               d... | ....                  position 1   d... ....
//
//     sent      position 0 to 1: d        position 1 to 0: c
//
// Both sides know the counts of the cells that pass between them, so a message needs no header. The rows of a message
// lie one after the other, cell by cell, and an empty message is not sent. The rounds are those of
// schedule/pairwise.cpp. shared/direct.cpp reads the rows where they lie.

namespace shardline::collectives {
namespace {

void check_counts(const Job& job, const char* name, const Tensor& array, const Tensor& counts, Index rows) {
  const Shape cells{array.extent(0), array.extent(1)};
  if (counts.dtype() != DType::i32 || counts.shape() != cells) {
    throw Error(fmt::format("{}: the rows in use of {} are {} of {}; they must be i32 of {}, the leading dims of {}",
                            job.label(), name, name_of(counts.dtype()), to_string(counts.shape()), to_string(cells),
                            to_string(array.shape())));
  }
  const auto values = counts.view<std::int32_t>();
  for (Index k = 0; k < counts.size(); ++k) {
    if (values[k] >= 0 && values[k] <= rows) continue;
    throw Error(fmt::format("{}: cell ({}, {}) of {} has {} rows in use; legal are 0 to {}", job.label_here(),
                            k / cells[1], k % cells[1], name, values[k], rows));
  }
}

/// Cells that stay on this rank have the same counts on both sides.
void check_same_counts(const Job& job, const RowsInUse& rows, const Box& in_box, const Box& out_box) {
  const Tensor before = rows.before.slice({in_box[0], in_box[1]});
  const Tensor after = rows.after.slice({out_box[0], out_box[1]});
  const auto first = before.view<std::int32_t>();
  if (std::equal(first.begin(), first.end(), after.view<std::int32_t>().begin())) return;
  throw Error(
      fmt::format("{}: cells that stay on this rank have other counts of rows before than after", job.label_here()));
}

/// A rank knows only the sizes of its own messages, so only algorithms that never forward a block work.
Algorithm resolve_rows(Job& job, bool direct, const Options& options) {
  constexpr std::array kLegal{Algorithm::automatic, Algorithm::pairwise, Algorithm::direct, Algorithm::native};
  require(std::find(kLegal.begin(), kLegal.end(), options.algorithm) != kLegal.end(),
          "{} has no algorithm {}; it has pairwise, direct and native", job.label(), name_of(options.algorithm));
  job.algorithm = options.algorithm;
  if (options.algorithm == Algorithm::automatic) job.algorithm = direct ? Algorithm::direct : Algorithm::pairwise;
  if (job.positions() == 1) job.algorithm = Algorithm::pairwise;
  return job.algorithm;
}

/// One message for each box but the own one: what is in use there, in elements of the packed buffer.
Chunks packed_rows(const Job& job, const Cells& cells, const std::vector<Box>& boxes) {
  Chunks chunks{true, {}};
  Index begin = 0;
  for (std::size_t q = 0; q < boxes.size(); ++q) {
    const bool own = static_cast<Index>(q) == job.position();
    const Index count = own ? 0 : bytes_in_use(cells, CellBox::of(boxes[q])) / job.element_size();
    chunks.ranges.push_back({begin, begin + count});
    begin += count;
  }
  return chunks;
}

/// Packs what the others get. The job then sends from the packed buffer.
Chunks pack_sends(Job& job, ScratchPool& pool, const Cells& cells, const std::vector<Box>& boxes) {
  Chunks chunks = packed_rows(job, cells, boxes);
  const std::shared_ptr<std::byte> packed = pool.take(chunks.size() * job.element_size());
  for (std::size_t q = 0; q < boxes.size(); ++q) {
    if (chunks.ranges[q].size() == 0) continue;
    pack_rows(cells, CellBox::of(boxes[q]), job.input, packed.get() + chunks.ranges[q].begin * job.element_size());
  }
  job.input = packed.get();
  job.kept->push_back(packed);
  job.packed_bytes += chunks.size() * job.element_size();
  return chunks;
}

/// The job receives into a packed buffer. Its end unpacks what came.
Chunks unpack_at_end(Job& job, ScratchPool& pool, Tensor& out, const RowsInUse& rows, const std::vector<Box>& boxes) {
  const Cells cells = cells_of(out, rows.after, rows.first);
  Chunks chunks = packed_rows(job, cells, boxes);
  const std::shared_ptr<std::byte> packed = pool.take(chunks.size() * job.element_size());
  job.output = packed.get();
  job.kept->push_back(packed);
  job.packed_bytes += chunks.size() * job.element_size();
  job.finish = [packed, out, counts = rows.after, cells, boxes, chunks, item = job.element_size(),
                own = job.position()]() mutable {
    for (std::size_t q = 0; q < boxes.size(); ++q) {
      if (static_cast<Index>(q) == own) continue;
      unpack_rows(cells, CellBox::of(boxes[q]), packed.get() + chunks.ranges[q].begin * item, out.data());
    }
  };
  return chunks;
}

}  // namespace

Handle start_all_to_all_rows(Engine& engine, const Axes& axes, const Tensor& in, int gather_dim, Tensor& out,
                             const RowsInUse& rows, const Options& options) {
  Job job = make_job(engine, "all_to_all_rows", axes, in, out);
  refuse_fed(job, options);
  require(gather_dim == 0 || gather_dim == 1, "{}: it gathers dim {}; legal are 0 and 1", job.label(), gather_dim);
  const int split_dim = 1 - gather_dim;
  check_shapes(job, in, out, {gather_dim, split_dim});
  require(in.shape().size() >= 3, "{}: in is {}; it needs at least three dims", job.label(), to_string(in.shape()));
  const std::vector<Range> gathered = blocks_of(job, engine.mesh(), out.extent(gather_dim));
  const std::vector<Range> split = blocks_of(job, engine.mesh(), in.extent(split_dim));
  const auto own = static_cast<std::size_t>(job.position());
  check_extent(job, "in", in, gather_dim, gathered[own].size());
  check_extent(job, "out", out, split_dim, split[own].size());
  const Index whole = rows.whole > 0 ? rows.whole : in.extent(2);
  check_counts(job, "in", in, rows.before, whole);
  check_counts(job, "out", out, rows.after, whole);
  if (same_memory(job, in, out)) throw Error(job.label() + ": in and out are the same memory; they must be apart");
  const std::vector<Box> in_boxes = cuts(in.shape(), split_dim, split);
  const std::vector<Box> out_boxes = cuts(out.shape(), gather_dim, gathered);
  check_same_counts(job, rows, in_boxes[own], out_boxes[own]);

  const Algorithm algorithm = resolve_rows(job, direct_possible(engine, job, in, out), options);
  if (algorithm == Algorithm::direct) {
    return engine.start(direct_all_to_all_rows(engine, std::move(job), in, out,
                                               {gather_dim, gathered, split_dim, split[own]}, rows.after, rows.first));
  }
  Exchange exchange;
  exchange.sends = pack_sends(job, engine.scratch(), cells_of(in, rows.before, rows.first), in_boxes).ranges;
  exchange.receives = unpack_at_end(job, engine.scratch(), out, rows, out_boxes).ranges;
  Handle handle = start_exchange(engine, std::move(job), std::move(exchange), algorithm, options);
  const CellBox kept = CellBox::of(in_boxes[own]);
  direct::RowsPass pass({in.data(), kept.outer.begin, kept.inner.begin, in.extent(1)}, out.data(),
                        cells_of(out, rows.after, rows.first), CellBox::of(out_boxes[own]), false);
  while (!pass.done()) pass.advance(std::numeric_limits<Index>::max());
  return handle;
}

void all_to_all_rows(Engine& engine, const Axes& axes, const Tensor& in, int gather_dim, Tensor& out,
                     const RowsInUse& rows, const Options& options) {
  start_all_to_all_rows(engine, axes, in, gather_dim, out, rows, options).wait();
}

}  // namespace shardline::collectives
