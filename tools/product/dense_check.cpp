#include "tools/product/dense_check.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/gemm/gemm.h"
#include "runtime/base/check.h"
#include "runtime/layout/blocks.h"

namespace shardline::tools {
namespace {

/// Extents of a tile. Two tiles of operands and one of the result stay in the caches.
constexpr std::size_t kTile = 512;

using Offsets = std::vector<Index>;

/// An array seen as a matrix: the place of each of its dims, in elements.
struct Layout {
  std::vector<std::string> dims;
  std::vector<Range> ranges;  ///< positions in the logical array
  Shape strides;
  bool from_zero = false;  ///< strides belong to a block that starts at the ranges

  /// Offsets of all positions of the dims `group`, last dim fastest.
  Offsets offsets(const std::vector<std::string>& group) const {
    Offsets offsets{0};
    for (const std::string& name : group) {
      const auto d = static_cast<std::size_t>(std::find(dims.begin(), dims.end(), name) - dims.begin());
      Offsets next;
      for (const Index offset : offsets) {
        for (Index i = ranges[d].begin; i < ranges[d].end; ++i) {
          next.push_back(offset + (from_zero ? i - ranges[d].begin : i) * strides[d]);
        }
      }
      offsets = std::move(next);
    }
    return offsets;
  }
};

Shape row_major_strides(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

/// The part of an operand that a block of the result needs. `wanted` restricts the dims that the
/// result has.
Layout operand_layout(const Array& array, const Array& result, const std::vector<Range>& wanted) {
  Layout layout{array.dims, {}, row_major_strides(array.shape)};
  for (std::size_t d = 0; d < array.dims.size(); ++d) {
    const auto in_result = std::find(result.dims.begin(), result.dims.end(), array.dims[d]);
    layout.ranges.push_back(in_result == result.dims.end()
                                ? Range{0, array.shape[d]}
                                : wanted[static_cast<std::size_t>(in_result - result.dims.begin())]);
  }
  return layout;
}

/// The dims of `from` that are in or not in `first` and `second`, as requested.
std::vector<std::string> select(const Array& from, const Array& first, bool in_first, const Array& second,
                                bool in_second) {
  const auto has = [](const Array& a, const std::string& d) {
    return std::find(a.dims.begin(), a.dims.end(), d) != a.dims.end();
  };
  std::vector<std::string> dims;
  std::copy_if(from.dims.begin(), from.dims.end(), std::back_inserter(dims),
               [&](const std::string& d) { return has(first, d) == in_first && has(second, d) == in_second; });
  return dims;
}

/// A product of two factors for a block of its result, tile by tile, as batched matrices. It holds
/// the offsets of every batch, row, column and summed position in the arrays that have them.
class DenseProduct {
 public:
  DenseProduct(const Array& a, const Array& b, const Array& c, const std::vector<Range>& block) {
    Shape local;
    for (const Range& range : block) local.push_back(range.size());
    const Layout in_a = operand_layout(a, c, block);
    const Layout in_b = operand_layout(b, c, block);
    const Layout in_c{c.dims, block, row_major_strides(local), true};
    const auto batch = select(c, a, true, b, true);
    const auto rows = select(c, a, true, b, false);
    const auto columns = select(c, a, false, b, true);
    const auto summed = select(a, b, true, c, false);
    batch_a_ = in_a.offsets(batch), batch_b_ = in_b.offsets(batch), batch_c_ = in_c.offsets(batch);
    rows_a_ = in_a.offsets(rows), rows_c_ = in_c.offsets(rows);
    columns_b_ = in_b.offsets(columns), columns_c_ = in_c.offsets(columns);
    summed_a_ = in_a.offsets(summed), summed_b_ = in_b.offsets(summed);
  }

  /// Calls receive(offset in the block, value) for every element of the block. a(i) and b(i) give
  /// elements of the factors.
  template <class A, class B, class Receive>
  void run(const A& a, const B& b, Receive receive) const {
    for (std::size_t batch = 0; batch < batch_c_.size(); ++batch) {
      for (std::size_t column = 0; column < columns_c_.size(); column += kTile) {
        for (std::size_t row = 0; row < rows_c_.size(); row += kTile) {
          tile(a, b, batch, row, column, receive);
        }
      }
    }
  }

 private:
  template <class A, class B, class Receive>
  void tile(const A& a, const B& b, std::size_t batch, std::size_t row, std::size_t column, Receive receive) const {
    const std::size_t m = std::min(kTile, rows_c_.size() - row);
    const std::size_t n = std::min(kTile, columns_c_.size() - column);
    std::vector<double> c_MN(m * n, 0);
    for (std::size_t inner = 0; inner < summed_a_.size(); inner += kTile) {
      const std::size_t k = std::min(kTile, summed_a_.size() - inner);
      std::vector<double> a_MK;
      std::vector<double> b_KN;
      for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t l = 0; l < k; ++l)
          a_MK.push_back(a(batch_a_[batch] + rows_a_[row + i] + summed_a_[inner + l]));
      }
      for (std::size_t l = 0; l < k; ++l) {
        for (std::size_t j = 0; j < n; ++j) {
          b_KN.push_back(b(batch_b_[batch] + summed_b_[inner + l] + columns_b_[column + j]));
        }
      }
      const auto [M, N, K] = std::array{static_cast<Index>(m), static_cast<Index>(n), static_cast<Index>(k)};
      kernels::gemm({.m = M, .n = N, .k = K, .lda = K, .ldb = N, .ldc = N}, a_MK.data(), b_KN.data(), c_MN.data(),
                    {.accumulate = true});
    }
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        receive(batch_c_[batch] + rows_c_[row + i] + columns_c_[column + j], c_MN[i * n + j]);
      }
    }
  }

  Offsets batch_a_, batch_b_, batch_c_;
  Offsets rows_a_, rows_c_;
  Offsets columns_b_, columns_c_;
  Offsets summed_a_, summed_b_;
};

/// Computes the left factor of the last product of a chain in full, then that product.
class DenseChain {
 public:
  DenseChain(const Product& product, const std::vector<GeneratedOperand>& operands)
      : product_(product), operands_(operands) {
    const std::vector<Operation>& operations = product.program.operations;
    for (std::size_t k = 0; k + 1 < operations.size(); ++k) {
      const Array& made = product.program.array(operations[k].results[0]);
      std::vector<Range> whole;
      for (const Index extent : made.shape) whole.push_back({0, extent});
      std::vector<double> next(static_cast<std::size_t>(element_count(made.shape)));
      multiply(k, whole, [&](Index at, double value) { next[static_cast<std::size_t>(at)] = value; });
      left_ = std::move(next);
    }
  }

  /// Calls receive(offset in the block, value) for every element of a block of the result.
  template <class Receive>
  void run(const std::vector<Range>& block, Receive receive) const {
    if (product_.converts()) return copy(block, receive);
    multiply(product_.program.operations.size() - 1, block, receive);
  }

 private:
  /// The block of the operand of a conversion.
  template <class Receive>
  void copy(const std::vector<Range>& block, Receive receive) const {
    const Shape strides = row_major_strides(product_.program.array(product_.result).shape);
    Shape extents;
    for (const Range& range : block) extents.push_back(range.size());
    const Shape places = row_major_strides(extents);
    for (Index at = 0; at < element_count(extents); ++at) {
      Index global = 0;
      for (std::size_t d = 0; d < block.size(); ++d) {
        global += (block[d].begin + at / places[d] % extents[d]) * strides[d];
      }
      receive(at, operands_[0].value(global));
    }
  }

  template <class Receive>
  void multiply(std::size_t k, const std::vector<Range>& block, Receive receive) const {
    const Operation& op = product_.program.operations[k];
    const auto array = [&](ArrayId id) -> const Array& { return product_.program.array(id); };
    const DenseProduct dense(array(op.operands[0]), array(op.operands[1]), array(op.results[0]), block);
    const auto right = [&](Index i) { return operands_[k + 1].value(i); };
    if (k == 0) {
      dense.run([&](Index i) { return operands_[0].value(i); }, right, receive);
    } else {
      dense.run([&](Index i) { return left_[static_cast<std::size_t>(i)]; }, right, receive);
    }
  }

  const Product& product_;
  const std::vector<GeneratedOperand>& operands_;
  std::vector<double> left_;  ///< the result of the products so far
};

/// This rank's block of the result in f64, with owed parts summed. Collective over `mesh` if there
/// are any.
Tensor settled_block(const Product& product, const Tensor& result, const Mesh& mesh, const std::vector<Range>& block) {
  const Sharding& sharding = product.result_sharding();
  if (sharding.unreduced.empty()) return result.as(DType::f64);
  const Array& c = product.program.array(product.result);
  const ArraySpec spec{.name = c.name, .dims = c.dims, .shape = c.shape, .sharding = sharding, .dtype = result.dtype()};
  return DistTensor::from_local(mesh, spec, result).gather().slice(block).as(DType::f64);
}

}  // namespace

Accuracy check_against_dense(const Product& product, const std::vector<GeneratedOperand>& operands,
                             const Tensor& result, const Mesh& mesh) {
  const std::vector<Range> block =
      box(product.program.array(product.result).shape, product.result_sharding(), product.mesh, mesh.rank());
  const Tensor ours = settled_block(product, result, mesh, block);
  const View<const double> elements = ours.view<double>();
  Accuracy worst;
  DenseChain(product, operands).run(block, [&](Index at, double dense) {
    const double error = std::abs(elements[at] - dense);
    worst.max_error = std::max(worst.max_error, std::isfinite(error) ? error : std::numeric_limits<double>::infinity());
    worst.max_value = std::max(worst.max_value, std::abs(dense));
  });
  return {mesh.comm().max(worst.max_error), mesh.comm().max(worst.max_value)};
}

Bytes memory_of_check(const Product& product, DType dtype) {
  const Shape& shape = product.program.array(product.result).shape;
  const Sharding& sharding = product.result_sharding();
  const auto whole = static_cast<double>(element_count(shape));
  const auto block = static_cast<double>(element_count(largest_local_shape(shape, sharding, product.mesh)));
  const auto item = static_cast<double>(size_of(dtype));
  const double gathered =
      sharding.unreduced.empty() ? 0 : item * (whole + block * static_cast<double>(product.mesh.ranks()));
  double on_the_way = 0;  // an array between products, and the one before it
  double before = 0;
  for (std::size_t k = 0; k + 1 < product.program.operations.size(); ++k) {
    const ArrayId made = product.program.operations[k].results[0];
    const auto elements = static_cast<double>(element_count(product.program.array(made).shape));
    on_the_way = std::max(on_the_way, 8 * (before + elements));
    before = elements;
  }
  return Bytes(8 * block + gathered + on_the_way);
}

}  // namespace shardline::tools
