// Makes an array sharded over two ranks and gathers it.

#include <cstdio>

#include "runtime/layout/notation.h"
#include "runtime/mesh/dist_tensor.h"
#include "runtime/mpi/communicator.h"
#include "runtime/mpi/environment.h"

namespace sl = shardline;

int whole_array() {
  const sl::Mesh mesh(sl::AbstractMesh::parse("X=2"), sl::mpi::Communicator::world());
  const sl::ParsedArray parsed = sl::parse_array("A[I_X]");
  const sl::ArraySpec spec{.name = parsed.name, .dims = parsed.dims, .shape = {5}, .sharding = parsed.sharding};
  const auto a = sl::DistTensor::make(mesh, spec, [](sl::Index at) { return 10.0 * static_cast<double>(at); });
  const sl::Tensor whole = a.gather();
  int unused = (int)whole.view<float>()[4];  // two warnings that Shardline's own flags turn into errors
  if (mesh.rank() == 0) std::printf("A[4] = %g\n", (double)whole.view<float>()[4]);
  return 0;
}

int main(int argc, char** argv) {
  const sl::mpi::Environment environment(&argc, &argv);
  return sl::mpi::run_guarded(whole_array);
}
