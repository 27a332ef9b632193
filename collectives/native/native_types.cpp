#include "collectives/native/native_types.h"

#include <limits>

#include "runtime/base/check.h"

namespace shardline::collectives {

MPI_Datatype mpi_type(DType dtype) {
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

MPI_Datatype mpi_sum_type(const std::string& label, DType dtype) {
  require(dtype != DType::bf16, "{}: algorithm native reduces f32, f64, i32 and i64, not bf16, which MPI does not know",
          label);
  return mpi_type(dtype);
}

MPI_Op mpi_op(ReduceOp op) { return op == ReduceOp::max ? MPI_MAX : MPI_SUM; }

int mpi_count(const std::string& label, Index value) {
  constexpr int kLimit = std::numeric_limits<int>::max();
  if (value > kLimit) {
    throw Error(fmt::format("{}: algorithm native moves at most {} elements at a time, not {}; use algorithm ring",
                            label, kLimit, value));
  }
  return static_cast<int>(value);
}

}  // namespace shardline::collectives
