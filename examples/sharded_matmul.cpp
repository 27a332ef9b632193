// Multiplies two sharded arrays. Shardline derives the collectives and runs them. It prints the time of every operation
// beside its prediction. Run it on four ranks: mpirun -n 4 sharded_matmul

#include <fmt/format.h>

#include <cmath>

#include "program/run/multiply.h"
#include "program/run/program_samples.h"
#include "roofline/measure/calibrate.h"
#include "runtime/mpi/environment.h"

namespace sl = shardline;
using sl::Index;

int multiply_and_check() {
  const sl::Mesh mesh(sl::AbstractMesh::parse("X=2,Y=2"), sl::mpi::Communicator::world());
  sl::collectives::Engine engine(mesh);
  const auto hardware = sl::roofline::measure_briefly(engine, sl::DType::f32, sl::program_samples());

  // A is the Hilbert matrix, B is twice the identity. Each rank makes its own block from the global (row-major) index.
  const Index n = 768;
  const std::map<std::string, Index> sizes{{"I", n}, {"J", n}, {"K", n}};
  const auto hilbert = [](Index i, Index j) { return 1.0 / static_cast<double>(i + j + 1); };
  const auto a = sl::DistTensor::make(mesh, sl::array_spec("A[I_X, J_Y]", sizes, mesh.axes()),
                                      [&](Index at) { return hilbert(at / n, at % n); });
  const auto b = sl::DistTensor::make(mesh, sl::array_spec("B[J_Y, K]", sizes, mesh.axes()),
                                      [&](Index at) { return at / n == at % n ? 2.0 : 0.0; });

  const sl::Multiplied product = sl::multiply(engine, a, b, "C[I_X, K]", hardware);

  const sl::Tensor c_IK = product.result.gather();  // the whole array, on every rank
  const auto value = static_cast<double>(c_IK.view<float>()[3 * n + 5]);
  const bool right = std::abs(value - 2 * hilbert(3, 5)) < 1e-6;
  if (mesh.rank() != 0) return right ? 0 : 1;
  fmt::print("{} * {} on {}\n", a.to_string(), b.to_string(), mesh.axes().to_string());
  for (const auto& [step, measured] : product.steps) {
    fmt::print("  {:<42} {:>8} measured, {:>8} predicted\n", step.name, to_string(measured.total),
               to_string(step.predicted));
  }
  fmt::print("C[3, 5] = {:.6f}, which is {}\n", value, right ? "right" : "WRONG");
  return right ? 0 : 1;
}

int main(int argc, char** argv) {
  const sl::mpi::Environment environment(&argc, &argv);
  return sl::mpi::run_guarded(multiply_and_check);
}
