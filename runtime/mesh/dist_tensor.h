#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/layout/sharding.h"
#include "runtime/layout/tensor.h"
#include "runtime/mesh/mesh.h"

namespace shardline {

/// The description of an array on a mesh, without its elements.
struct ArraySpec {
  std::string name;
  std::vector<std::string> dims;
  Shape shape;  ///< logical
  Sharding sharding;
  DType dtype = DType::f32;
};

/// This rank's block of a sharded logical array. It refers to the mesh, which must outlive it.
class DistTensor {
 public:
  /// The element of a logical array at a row-major index.
  using Element = std::function<double(Index)>;

  /// Fills this rank's block from the logical array that `element` describes. If the array is owed,
  /// the ranks at coordinate 0 of every owed axis hold the elements. The other ranks hold the
  /// neutral value: zero for a sum, the lowest value for a maximum. Does not communicate. Throws
  /// UsageError as validated() does, or if dims and shape differ in number.
  static DistTensor make(const Mesh& mesh, ArraySpec spec, const Element& element);
  /// Takes the block that this rank already holds. Throws Error with both sides if dtype or shape
  /// break the block rule.
  static DistTensor from_local(const Mesh& mesh, ArraySpec spec, Tensor local);

  const Mesh& mesh() const { return *mesh_; }
  const ArraySpec& spec() const { return spec_; }
  const Shape& shape() const { return spec_.shape; }
  const Sharding& sharding() const { return spec_.sharding; }
  Tensor& local() { return local_; }
  const Tensor& local() const { return local_; }

  /// Collective over the mesh: the whole logical array on every rank, for inspection. Owed parts
  /// are reduced in the order of their coordinates (bf16 in f32, rounded once). Throws Error if two
  /// replicas do not have the same bits.
  Tensor gather() const;

  /// "A[I_X, J]{U_Y}"
  std::string to_string() const;

 private:
  DistTensor(const Mesh& mesh, ArraySpec spec, Tensor local);

  const Mesh* mesh_;
  ArraySpec spec_;
  Tensor local_;
};

}  // namespace shardline
