#include "collectives/native/native.h"

#include <mpi.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "collectives/native/native_types.h"
#include "collectives/run/staging.h"
#include "kernels/reduce.h"
#include "runtime/base/check.h"
#include "runtime/mpi/error.h"

namespace shardline::collectives {
namespace {

/// Counts and offsets of a vector collective, in the order of the communicator's ranks.
struct Layout {
  std::vector<int> counts;
  std::vector<int> offsets;
};

/// `values` by position, in the order of the ranks of the group's communicator.
template <class T>
std::vector<T> by_comm_rank(const Group& group, const std::vector<T>& values) {
  std::vector<T> ordered(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) ordered[static_cast<std::size_t>(group.ranks[i])] = values[i];
  return ordered;
}

Layout layout_of(const Job& job, const std::vector<Range>& chunks) {
  Layout layout;
  for (const Range& chunk : by_comm_rank(*job.group, chunks)) {
    layout.counts.push_back(mpi_count(job.label(), chunk.size()));
    layout.offsets.push_back(mpi_count(job.label(), chunk.begin));
  }
  return layout;
}

/// Divides MPI's sums in the output at the end of the job.
void average(Job& job, Index count) {
  if (job.op != ReduceOp::avg) return;
  job.finish = [type = job.dtype, data = job.output, count, divisor = job.positions()] {
    const kernels::Source sum{type, data};
    kernels::combine(ReduceOp::sum, {&sum, 1}, {type, data}, count, divisor);
  };
}

/// One collective of MPI. Holds the counts, because MPI reads them until it is complete.
class NativeRun final : public CollectiveRun {
 public:
  NativeRun(Job job, Layout sends, Layout receives)
      : CollectiveRun(std::move(job)), sends_(std::move(sends)), receives_(std::move(receives)) {}

  std::string missing() const override { return "the MPI library has not completed its collective"; }
  MPI_Request* request() { return &request_; }
  MPI_Comm comm() const { return job().group->comm->get(); }
  const Layout& sends() const { return sends_; }
  const Layout& receives() const { return receives_; }

 private:
  Outcome push() override {
    int done = 0;
    SHARDLINE_MPI(MPI_Test(&request_, &done, MPI_STATUS_IGNORE));
    return done != 0 ? Outcome::complete : Outcome::idle;
  }

  Layout sends_;
  Layout receives_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace

Handle start_native_all_gather(Engine& engine, Job job, Index own_count, const std::vector<Range>& chunks) {
  Layout receives = layout_of(job, chunks);
  const int count = mpi_count(job.label(), own_count);
  const Index own_begin = chunks[static_cast<std::size_t>(job.position())].begin;
  const MPI_Datatype type = mpi_type(job.dtype);
  const std::byte* place = job.output + own_begin * job.element_size();
  const void* input = job.input == place ? MPI_IN_PLACE : static_cast<const void*>(job.input);
  const auto run = std::make_shared<NativeRun>(std::move(job), Layout{}, std::move(receives));
  std::byte* output = run->job().output;
  const Layout& to = run->receives();
  SHARDLINE_MPI(MPI_Iallgatherv(input, count, type, output, to.counts.data(), to.offsets.data(), type, run->comm(),
                                run->request()));
  return engine.start(run);
}

/// MPI_Reduce_scatter needs the blocks one after the other in the order of its own ranks.
Handle start_native_reduce_scatter(Engine& engine, Job job, const Tensor& in, const std::vector<Box>& boxes) {
  Layout receives;
  Index begin = 0;
  const std::vector<Box> ordered = by_comm_rank(*job.group, boxes);
  for (const Box& box : ordered) {
    const Index count = element_count(extents(box));
    receives.counts.push_back(mpi_count(job.label(), count));
    receives.offsets.push_back(mpi_count(job.label(), begin));
    begin += count;
  }
  const MPI_Datatype type = mpi_sum_type(job.label(), job.dtype);
  const bool in_order = std::is_sorted(job.group->ranks.begin(), job.group->ranks.end());
  const std::byte* own = job.output;
  const bool apart = own == nullptr || in.bytes() == 0 || own < in.data() || own >= in.data() + in.bytes();
  if (in_order && apart) {
    stage_input(job, engine.scratch(), in, ordered);
  } else {
    pack_input(job, engine.scratch(), in, ordered);
  }
  average(job, element_count(extents(boxes[static_cast<std::size_t>(job.position())])));
  const auto run = std::make_shared<NativeRun>(std::move(job), Layout{}, std::move(receives));
  const std::byte* input = run->job().input;
  std::byte* output = run->job().output;
  const MPI_Op op = mpi_op(run->job().op);
  const Layout& to = run->receives();
  SHARDLINE_MPI(MPI_Ireduce_scatter(input, output, to.counts.data(), type, op, run->comm(), run->request()));
  return engine.start(run);
}

Handle start_native_all_reduce(Engine& engine, Job job, Index count) {
  const int elements = mpi_count(job.label(), count);
  const MPI_Datatype type = mpi_sum_type(job.label(), job.dtype);
  average(job, count);
  const auto run = std::make_shared<NativeRun>(std::move(job), Layout{}, Layout{});
  const void* input = run->job().input == run->job().output ? MPI_IN_PLACE : run->job().input;
  std::byte* output = run->job().output;
  const MPI_Op op = mpi_op(run->job().op);
  SHARDLINE_MPI(MPI_Iallreduce(input, output, elements, type, op, run->comm(), run->request()));
  return engine.start(run);
}

Handle start_native_exchange(Engine& engine, Job job, const Exchange& exchange) {
  Layout sends = layout_of(job, exchange.sends);
  Layout receives = layout_of(job, exchange.receives);
  const MPI_Datatype type = mpi_type(job.dtype);
  const auto run = std::make_shared<NativeRun>(std::move(job), std::move(sends), std::move(receives));
  const std::byte* input = run->job().input;
  std::byte* output = run->job().output;
  const Layout& from = run->sends();
  const Layout& to = run->receives();
  SHARDLINE_MPI(MPI_Ialltoallv(input, from.counts.data(), from.offsets.data(), type, output, to.counts.data(),
                               to.offsets.data(), type, run->comm(), run->request()));
  return engine.start(run);
}

}  // namespace shardline::collectives
