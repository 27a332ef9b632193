#include "collectives/native.h"

#include <mpi.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "collectives/staging.h"
#include "kernels/reduce.h"
#include "runtime/base/check.h"
#include "runtime/mpi/error.h"

namespace shardline::collectives {
namespace {

/// Counts and offsets of a vector collective, in the order of the communicator's ranks.
struct Layout {
  std::vector<int> counts;
  std::vector<int> offsets;

  /// All chunks equal, one after the other from the beginning.
  bool regular() const {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] != counts[0] || offsets[i] != static_cast<int>(i) * counts[0]) return false;
    }
    return true;
  }
};

int as_int(const Job& job, Index value) {
  constexpr int kLimit = std::numeric_limits<int>::max();
  if (value > kLimit) {
    throw Error(fmt::format("{}: algorithm native moves at most {} elements at a time, not {}; use algorithm ring",
                            job.label(), kLimit, value));
  }
  return static_cast<int>(value);
}

/// `values`, given by position, in the order of the ranks of the group's communicator.
template <class T>
std::vector<T> by_comm_rank(const Group& group, const std::vector<T>& values) {
  std::vector<T> ordered(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) ordered[static_cast<std::size_t>(group.ranks[i])] = values[i];
  return ordered;
}

Layout layout_of(const Job& job, const std::vector<Range>& chunks) {
  Layout layout;
  for (const Range& chunk : by_comm_rank(*job.group, chunks)) {
    layout.counts.push_back(as_int(job, chunk.size()));
    layout.offsets.push_back(as_int(job, chunk.begin));
  }
  return layout;
}

MPI_Datatype type_to_move(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return MPI_FLOAT;
    case DType::f64:
      return MPI_DOUBLE;
    case DType::bf16:
      return MPI_UINT16_T;
    case DType::i32:
      return MPI_INT32_T;
    case DType::i64:
      return MPI_INT64_T;
    case DType::int8:
      break;
  }
  throw Error("int8 is not moved");
}

MPI_Datatype type_to_reduce(const Job& job) {
  require(job.dtype != DType::bf16,
          "{}: algorithm native reduces f32, f64, i32 and i64, not bf16, which MPI does not know", job.label());
  return type_to_move(job.dtype);
}

/// An average is a sum for MPI; average() does the rest.
MPI_Op op_of(ReduceOp op) { return op == ReduceOp::max ? MPI_MAX : MPI_SUM; }

/// Divides the sums that MPI leaves in the output, at the end of the job.
void average(Job& job, Index count) {
  if (job.op != ReduceOp::avg) return;
  job.finish = [type = job.dtype, data = job.output, count, divisor = job.positions()] {
    const kernels::Operand sum{type, data};
    kernels::combine(ReduceOp::sum, {&sum, 1}, {type, data}, count, divisor);
  };
}

/// One collective of MPI. Holds the counts, which MPI reads until it is complete.
class NativeRun final : public Operation {
 public:
  NativeRun(Job job, Layout sends, Layout receives)
      : Operation(std::move(job)), sends_(std::move(sends)), receives_(std::move(receives)) {}

  std::string missing() const override { return "the MPI library has not completed its collective"; }
  MPI_Request* request() { return &request_; }
  MPI_Comm comm() const { return job().group->comm->get(); }
  const Layout& sends() const { return sends_; }
  const Layout& receives() const { return receives_; }

 private:
  State step() override {
    int done = 0;
    SHARDLINE_MPI(MPI_Test(&request_, &done, MPI_STATUS_IGNORE));
    return done != 0 ? State::complete : State::idle;
  }

  Layout sends_;
  Layout receives_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

std::shared_ptr<NativeRun> make_run(const Engine& engine, Job job, Layout sends, Layout receives,
                                    const Options& options) {
  if (options.blocking && engine.in_flight() > 0) {
    throw Error(fmt::format("{}: MPI's blocking collective while {} operations are in flight; wait for them first",
                            job.label(), engine.in_flight()));
  }
  return std::make_shared<NativeRun>(std::move(job), std::move(sends), std::move(receives));
}

}  // namespace

Handle start_native_all_gather(Engine& engine, Job job, Index own_count, const std::vector<Range>& chunks,
                               const Options& options) {
  Layout receives = layout_of(job, chunks);
  const int count = as_int(job, own_count);
  const Index own_begin = chunks[static_cast<std::size_t>(job.position())].begin;
  const MPI_Datatype type = type_to_move(job.dtype);
  const std::byte* place = job.output + own_begin * job.element_size();
  const void* input = job.input == place ? MPI_IN_PLACE : static_cast<const void*>(job.input);
  const auto run = make_run(engine, std::move(job), {}, std::move(receives), options);
  std::byte* output = run->job().output;
  const Layout& to = run->receives();
  if (!options.blocking) {
    SHARDLINE_MPI(MPI_Iallgatherv(input, count, type, output, to.counts.data(), to.offsets.data(), type, run->comm(),
                                  run->request()));
  } else if (to.regular()) {
    SHARDLINE_MPI(MPI_Allgather(input, count, type, output, count, type, run->comm()));
  } else {
    SHARDLINE_MPI(MPI_Allgatherv(input, count, type, output, to.counts.data(), to.offsets.data(), type, run->comm()));
  }
  return engine.start(run);
}

/// MPI_Reduce_scatter takes the blocks one after the other in the order of its own ranks.
Handle start_native_reduce_scatter(Engine& engine, Job job, const Tensor& in, const std::vector<Box>& boxes,
                                   const Options& options) {
  Layout receives;
  Index begin = 0;
  const std::vector<Box> ordered = by_comm_rank(*job.group, boxes);
  for (const Box& box : ordered) {
    const Index count = element_count(extents(box));
    receives.counts.push_back(as_int(job, count));
    receives.offsets.push_back(as_int(job, begin));
    begin += count;
  }
  const MPI_Datatype type = type_to_reduce(job);
  const bool in_order = std::is_sorted(job.group->ranks.begin(), job.group->ranks.end());
  const std::byte* own = job.output;
  const bool apart = own == nullptr || in.bytes() == 0 || own < in.data() || own >= in.data() + in.bytes();
  if (in_order && apart) {
    stage_input(job, engine.scratch(), in, ordered);
  } else {
    pack_input(job, engine.scratch(), in, ordered);
  }
  average(job, element_count(extents(boxes[static_cast<std::size_t>(job.position())])));
  const auto run = make_run(engine, std::move(job), {}, std::move(receives), options);
  const std::byte* input = run->job().input;
  std::byte* output = run->job().output;
  const MPI_Op op = op_of(run->job().op);
  const Layout& to = run->receives();
  if (!options.blocking) {
    SHARDLINE_MPI(MPI_Ireduce_scatter(input, output, to.counts.data(), type, op, run->comm(), run->request()));
  } else if (to.regular()) {
    SHARDLINE_MPI(MPI_Reduce_scatter_block(input, output, to.counts[0], type, op, run->comm()));
  } else {
    SHARDLINE_MPI(MPI_Reduce_scatter(input, output, to.counts.data(), type, op, run->comm()));
  }
  return engine.start(run);
}

Handle start_native_all_reduce(Engine& engine, Job job, Index count, const Options& options) {
  const int elements = as_int(job, count);
  const MPI_Datatype type = type_to_reduce(job);
  average(job, count);
  const auto run = make_run(engine, std::move(job), {}, {}, options);
  const void* input = run->job().input == run->job().output ? MPI_IN_PLACE : run->job().input;
  std::byte* output = run->job().output;
  const MPI_Op op = op_of(run->job().op);
  if (options.blocking) {
    SHARDLINE_MPI(MPI_Allreduce(input, output, elements, type, op, run->comm()));
  } else {
    SHARDLINE_MPI(MPI_Iallreduce(input, output, elements, type, op, run->comm(), run->request()));
  }
  return engine.start(run);
}

Handle start_native_exchange(Engine& engine, Job job, const Exchange& exchange, const Options& options) {
  Layout sends = layout_of(job, exchange.sends);
  Layout receives = layout_of(job, exchange.receives);
  const MPI_Datatype type = type_to_move(job.dtype);
  // Whether the exchange is regular must be seen alike by all: that every chunk is as large as every other.
  const Index size = exchange.size ? exchange.size(0, 0) : -1;
  bool equal = sends.regular() && receives.regular();
  for (Index i = 0; i < job.positions() && equal; ++i) {
    for (Index j = 0; j < job.positions() && equal; ++j) equal = exchange.size && exchange.size(i, j) == size;
  }
  const auto run = make_run(engine, std::move(job), std::move(sends), std::move(receives), options);
  const std::byte* input = run->job().input;
  std::byte* output = run->job().output;
  const Layout& from = run->sends();
  const Layout& to = run->receives();
  if (!options.blocking) {
    SHARDLINE_MPI(MPI_Ialltoallv(input, from.counts.data(), from.offsets.data(), type, output, to.counts.data(),
                                 to.offsets.data(), type, run->comm(), run->request()));
  } else if (equal) {
    SHARDLINE_MPI(MPI_Alltoall(input, from.counts[0], type, output, to.counts[0], type, run->comm()));
  } else {
    SHARDLINE_MPI(MPI_Alltoallv(input, from.counts.data(), from.offsets.data(), type, output, to.counts.data(),
                                to.offsets.data(), type, run->comm()));
  }
  return engine.start(run);
}

}  // namespace shardline::collectives
