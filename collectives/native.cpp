#include "collectives/native.h"

#include <mpi.h>

#include <limits>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/mpi/error.h"

namespace shardline::collectives {
namespace {

/// Counts and offsets of a vector collective, in the order of the communicator's ranks.
struct Layout {
  std::vector<int> counts;
  std::vector<int> offsets;
};

int as_int(const Job& job, Index value) {
  constexpr int kLimit = std::numeric_limits<int>::max();
  if (value > kLimit) {
    throw Error(fmt::format("{}: algorithm native moves at most {} elements at a time, not {}; use algorithm ring",
                            job.label(), kLimit, value));
  }
  return static_cast<int>(value);
}

Layout layout_of(const Job& job, const std::vector<Range>& chunks) {
  Layout layout;
  for (const Range& chunk : by_comm_rank(job.group, chunks)) {
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
  }
  throw Error("unknown element type");
}

MPI_Datatype type_to_reduce(const Job& job) {
  if (job.dtype == DType::bf16) {
    throw Error(fmt::format(
        "{}: algorithm native reduces f32, f64 and i32, not bf16, which MPI does not know; use ring", job.label()));
  }
  return type_to_move(job.dtype);
}

MPI_Op op_of(ReduceOp op) { return op == ReduceOp::sum ? MPI_SUM : MPI_MAX; }

/// One non-blocking collective of MPI. Holds the counts, which MPI reads until it is complete.
class NativeRun final : public Operation {
 public:
  NativeRun(Job job, Layout sends, Layout receives)
      : Operation(std::move(job)), sends_(std::move(sends)), receives_(std::move(receives)) {}

  std::string missing() const override { return "the MPI library has not completed its collective"; }
  MPI_Request* request() { return &request_; }
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

}  // namespace

std::shared_ptr<Operation> native_all_gather(Job job, Index own_count, const std::vector<Range>& chunks) {
  Layout receives = layout_of(job, chunks);
  const int count = as_int(job, own_count);
  auto run = std::make_shared<NativeRun>(std::move(job), Layout{}, std::move(receives));
  const MPI_Datatype type = type_to_move(run->job().dtype);
  SHARDLINE_MPI(MPI_Iallgatherv(run->job().input, count, type, run->job().output, run->receives().counts.data(),
                                run->receives().offsets.data(), type, run->job().group.comm->get(), run->request()));
  return run;
}

std::shared_ptr<Operation> native_reduce_scatter(Job job, const std::vector<Index>& counts) {
  Layout receives;
  for (const Index count : by_comm_rank(job.group, counts)) receives.counts.push_back(as_int(job, count));
  const MPI_Datatype type = type_to_reduce(job);
  auto run = std::make_shared<NativeRun>(std::move(job), Layout{}, std::move(receives));
  SHARDLINE_MPI(MPI_Ireduce_scatter(run->job().input, run->job().output, run->receives().counts.data(), type,
                                    op_of(run->job().op), run->job().group.comm->get(), run->request()));
  return run;
}

std::shared_ptr<Operation> native_all_reduce(Job job, Index count) {
  const int elements = as_int(job, count);
  const MPI_Datatype type = type_to_reduce(job);
  auto run = std::make_shared<NativeRun>(std::move(job), Layout{}, Layout{});
  const void* input = run->job().input == run->job().output ? MPI_IN_PLACE : run->job().input;
  SHARDLINE_MPI(MPI_Iallreduce(input, run->job().output, elements, type, op_of(run->job().op),
                               run->job().group.comm->get(), run->request()));
  return run;
}

std::shared_ptr<Operation> native_exchange(Job job, NativeExchange exchange) {
  const auto own = static_cast<std::size_t>(job.position());
  exchange.sends[own] = {0, 0};
  exchange.receives[own] = {0, 0};
  Layout sends = layout_of(job, exchange.sends);
  Layout receives = layout_of(job, exchange.receives);
  auto run = std::make_shared<NativeRun>(std::move(job), std::move(sends), std::move(receives));
  const MPI_Datatype type = type_to_move(run->job().dtype);
  SHARDLINE_MPI(MPI_Ialltoallv(run->job().input, run->sends().counts.data(), run->sends().offsets.data(), type,
                               run->job().output, run->receives().counts.data(), run->receives().offsets.data(), type,
                               run->job().group.comm->get(), run->request()));
  return run;
}

}  // namespace shardline::collectives
