#include "program/ops/run_phase.h"

#include <algorithm>

#include "kernels/adamw.h"
#include "kernels/attention.h"
#include "kernels/cross_entropy.h"
#include "kernels/elementwise.h"
#include "kernels/embedding.h"
#include "kernels/norm.h"
#include "kernels/rope.h"
#include "program/ops/einsum_call.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

/// Number of the index called `name`; throws Error when the operation has none.
std::size_t index_named(const Operation& op, const std::string& name) {
  const auto found = std::find(op.indices.begin(), op.indices.end(), name);
  SHARDLINE_CHECK(found != op.indices.end(), "operation {} has no index {}", op.kind, name);
  return static_cast<std::size_t>(found - op.indices.begin());
}

/// The last index of the first operand: the one that norms and losses run over.
std::size_t last_index(const Phase& phase) { return static_cast<std::size_t>(phase.operand_subscripts[0].back()); }

/// One call with elements of type T.
template <class T>
class Call {
 public:
  Call(const Operation& op, const Phase& phase, const std::vector<Range>& ranges,
       const std::vector<const Tensor*>& operands, const std::vector<Tensor*>& results)
      : op_(op), phase_(phase), ranges_(ranges), operands_(operands), results_(results) {}

  void run() {
    switch (phase_.kernel) {
      case Kernel::einsum:
        return run_einsum({operands_, phase_.operand_subscripts, results_[0], phase_.result_subscripts[0]});
      case Kernel::add:
        return run_add();
      case Kernel::silu_mul:
        return kernels::silu_mul<T>(in(0), in(1), out(0));
      case Kernel::silu_mul_grad:
        return kernels::silu_mul_grad<T>(in(0), in(1), in(2), out(0), out(1));
      case Kernel::gelu:
        return kernels::gelu<T>(in(0), out(0));
      case Kernel::gelu_grad:
        return kernels::gelu_grad<T>(in(0), in(1), out(0));
      case Kernel::sum_squares_rows:
        return kernels::sum_squares_rows<T>(in(0), out(0));
      case Kernel::normalize:
        return kernels::normalize<T>(in(0), in(1), in(2), norm_options(), out(0));
      case Kernel::norm_dot:
        return kernels::norm_dot<T>(in(0), in(1), in(2), out(0));
      case Kernel::norm_grad:
        return kernels::norm_grad<T>(in(0), in(1), in(2), in(3), in(4), norm_options(), out(0), out(1));
      case Kernel::rope:
        return kernels::rope<T>(in(0), rope_options(), out(0));
      case Kernel::attention:
        return kernels::attention<T>(in(0), in(1), in(2), attention_options(), out(0), out(1));
      case Kernel::attention_grad:
        return kernels::attention_grad<T>(in(0), in(1), in(2), in(3), in(4), in(5), attention_options(), out(0), out(1),
                                          out(2));
      case Kernel::embed:
        return kernels::embed<T>(in(0), ids(1), range("V"), out(0));
      case Kernel::embed_grad:
        return kernels::embed_grad<T>(in(0), ids(1), range("V"), out(0));
      case Kernel::row_max:
        return kernels::row_max<T>(in(0), out(0));
      case Kernel::sum_exp:
        return kernels::sum_exp<T>(in(0), in(1), out(0));
      case Kernel::pick:
        return kernels::pick<T>(in(0), ids(1), vocabulary(), out(0));
      case Kernel::negative_log_likelihood:
        return kernels::negative_log_likelihood<T>(in(0), in(1), in(2), op_.attributes.scale, out(0));
      case Kernel::cross_entropy_grad:
        return kernels::cross_entropy_grad<T>(in(0), ids(1), in(2), in(3), in(4), vocabulary(), op_.attributes.scale,
                                              out(0));
      case Kernel::sum_squares:
        return kernels::sum_squares<T>(in(0), out(0));
      case Kernel::adamw:
        return run_adamw();
    }
    throw Error("unknown kernel");
  }

 private:
  View<const T> in(std::size_t k) const { return operands_[k]->view<T>(); }
  View<const std::int32_t> ids(std::size_t k) const { return operands_[k]->view<std::int32_t>(); }
  View<T> out(std::size_t k) const { return results_[k]->view<T>(); }
  double scalar(std::size_t k) const { return static_cast<double>(in(k)[0]); }
  Range range(const std::string& name) const { return ranges_[index_named(op_, name)]; }
  Range vocabulary() const { return ranges_[last_index(phase_)]; }

  kernels::NormOptions norm_options() const { return {op_.extents[last_index(phase_)], op_.attributes.epsilon}; }

  kernels::RopeOptions rope_options() const {
    const auto time = static_cast<int>(index_named(op_, "T"));
    const Subscripts& dims = phase_.operand_subscripts[0];
    const auto dim = std::find(dims.begin(), dims.end(), time) - dims.begin();
    return {dim, range("T"), op_.attributes.theta, op_.attributes.sign};
  }

  kernels::AttentionOptions attention_options() const { return {range("T").begin, range("S").begin}; }

  void run_add() const {
    std::vector<View<const T>> terms;
    for (std::size_t k = 0; k < operands_.size(); ++k) terms.push_back(in(k));
    kernels::add<T>(terms, out(0));
  }

  void run_adamw() const {
    kernels::adamw<T>(op_.attributes.adamw, in(0), in(1), in(2), in(3), scalar(4), scalar(5), scalar(6), out(0), out(1),
                      out(2));
  }

  const Operation& op_;
  const Phase& phase_;
  const std::vector<Range>& ranges_;
  const std::vector<const Tensor*>& operands_;
  const std::vector<Tensor*>& results_;
};

Shape block_shape(const Subscripts& subscripts, const std::vector<Range>& ranges) {
  Shape shape;
  for (const int index : subscripts) shape.push_back(ranges[static_cast<std::size_t>(index)].size());
  return shape;
}

}  // namespace

void run_phase(const Operation& op, std::size_t phase, const std::vector<Range>& ranges,
               const std::vector<const Tensor*>& operands, const std::vector<Tensor*>& results) {
  const Phase& p = op.phases.at(phase);
  SHARDLINE_CHECK(operands.size() == p.operands.size() && results.size() == p.results.size(),
                  "{}: {} operands and {} results given to phase {}", op.kind, operands.size(), results.size(), phase);
  if (results[0]->dtype() == DType::f64) {
    Call<double>(op, p, ranges, operands, results).run();
  } else {
    Call<float>(op, p, ranges, operands, results).run();
  }
}

kernels::Cost phase_cost(const Operation& op, std::size_t phase, const std::vector<Range>& ranges, Index element_size) {
  const Phase& p = op.phases.at(phase);
  const Shape first = block_shape(p.operand_subscripts[0], ranges);
  const Index count = element_count(first);
  const auto shape = [&](std::size_t k) { return block_shape(p.operand_subscripts[k], ranges); };
  switch (p.kernel) {
    case Kernel::einsum: {
      Shape extents;
      for (const Range& range : ranges) extents.push_back(range.size());
      return kernels::einsum_cost(extents, p.operand_subscripts, p.result_subscripts[0], element_size);
    }
    case Kernel::add:
      return kernels::add_cost(static_cast<Index>(p.operands.size()), count, element_size);
    case Kernel::silu_mul:
      return kernels::silu_mul_cost(count, element_size);
    case Kernel::silu_mul_grad:
      return kernels::silu_mul_grad_cost(count, element_size);
    case Kernel::gelu:
      return kernels::gelu_cost(count, element_size);
    case Kernel::gelu_grad:
      return kernels::gelu_grad_cost(count, element_size);
    case Kernel::sum_squares_rows:
      return kernels::sum_squares_rows_cost(first, element_size);
    case Kernel::normalize:
      return kernels::normalize_cost(first, element_size);
    case Kernel::norm_dot:
      return kernels::norm_dot_cost(first, element_size);
    case Kernel::norm_grad:
      return kernels::norm_grad_cost(first, element_size);
    case Kernel::rope:
      return kernels::rope_cost(count, element_size);
    case Kernel::attention:
    case Kernel::attention_grad: {
      const kernels::AttentionOptions at{ranges[index_named(op, "T")].begin, ranges[index_named(op, "S")].begin};
      return p.kernel == Kernel::attention ? kernels::attention_cost(first, shape(1), at, element_size)
                                           : kernels::attention_grad_cost(first, shape(1), at, element_size);
    }
    case Kernel::embed:
      return kernels::embed_cost(element_count(shape(1)), first[1], element_size);
    case Kernel::embed_grad:
      return kernels::embed_grad_cost(element_count(shape(1)), ranges[index_named(op, "V")].size(), first.back(),
                                      element_size);
    case Kernel::row_max:
      return kernels::row_max_cost(first, element_size);
    case Kernel::sum_exp:
      return kernels::sum_exp_cost(first, element_size);
    case Kernel::pick:
      return kernels::pick_cost(element_count(shape(1)), element_size);
    case Kernel::negative_log_likelihood:
      return kernels::negative_log_likelihood_cost(count, element_size);
    case Kernel::cross_entropy_grad:
      return kernels::cross_entropy_grad_cost(first, element_size);
    case Kernel::sum_squares:
      return kernels::sum_squares_cost(count, element_size);
    case Kernel::adamw:
      return kernels::adamw_cost(count, element_size);
  }
  throw Error("unknown kernel");
}

}  // namespace shardline
