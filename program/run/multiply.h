#pragma once

#include <map>
#include <string>
#include <vector>

#include "collectives/run/progress.h"
#include "program/product/product.h"
#include "program/run/measure.h"
#include "roofline/price/hardware.h"
#include "runtime/mesh/dist_tensor.h"

namespace shardline {

/// The array written as "A[I_X, J]" on a mesh, with the given dim sizes. Throws UsageError as the
/// parser does, for an axis that the mesh lacks, and for a dim without a size.
ArraySpec array_spec(const std::string& text, const std::map<std::string, Index>& sizes, const AbstractMesh& mesh,
                     DType dtype = DType::f32);

/// The built-in prices that choose programs for these ranks. Axes are within a node or across
/// nodes, as the ranks lie (see roofline::cpu_machine()). Equal on every rank. Collective over the
/// mesh.
roofline::Hardware cpu_hardware(const Mesh& mesh, DType dtype);

/// One step of a program after a run: its description, its prediction and its measured time.
struct TimedStep {
  Label label;
  Measured measured;
};

/// A product, and the steps that made it.
struct Multiplied {
  DistTensor result;
  std::vector<TimedStep> steps;  ///< the derived program, in order
};

/// The product of two arrays of one dtype, laid out as `result` asks ("C[I_X, K]"). Dims with the
/// same name are the same; dims that the result lacks are summed over. Derives the cheapest program
/// by cpu_hardware(), runs it once, and prices its steps on `hardware`. Collective over the mesh of
/// `engine`; both operands must lie on it. Throws UsageError as make_product() does, and if sizes
/// of a dim disagree.
Multiplied multiply(collectives::Engine& engine, const DistTensor& a, const DistTensor& b, const std::string& result,
                    const roofline::Hardware& hardware);

}  // namespace shardline
