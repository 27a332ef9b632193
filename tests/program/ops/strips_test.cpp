// Kernels that may run strip by strip: whatever the strips, every bit is that of one call.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "program/ops/run_phase.h"
#include "program/transform/samples.h"

namespace shardline {
namespace {

/// A kernel on the arrays of its sample. Strips are `rows` rows of the last strip dim, at one position of the dims
/// before it.
class Stripped {
 public:
  explicit Stripped(const SampledKernel& sampled)
      : run_(*sampled.run),
        op_(run_.program().operations[sampled.operation]),
        number_(sampled.phase),
        phase_(op_.phases[sampled.phase]) {
    const Subscripts& first = phase_.result_subscripts[0];
    length_ = first.size();
    for (const std::vector<Subscripts>* all : {&phase_.operand_subscripts, &phase_.result_subscripts}) {
      for (const Subscripts& each : *all) {
        if (each.empty() || each[0] != first[0]) {  // has none of the strip dims
          const auto last = first.begin() + static_cast<std::ptrdiff_t>(length_);
          const auto shared = std::find_first_of(first.begin(), last, each.begin(), each.end());
          length_ = static_cast<std::size_t>(shared - first.begin());
          continue;
        }
        const auto [end, ignored] =
            std::mismatch(first.begin(), first.begin() + std::min(length_, each.size()), each.begin());
        length_ = static_cast<std::size_t>(end - first.begin());
      }
    }
    extents_ = run_.array(phase_.results[0]).shape();
  }

  /// The results of one call for each strip. They begin as NaN.
  std::vector<Tensor> results(Index rows) {
    std::vector<Tensor> made;
    for (const ArrayId id : phase_.results) {
      made.emplace_back(run_.array(id).dtype(), run_.array(id).shape());
      std::memset(made.back().data(), 0xff, static_cast<std::size_t>(made.back().bytes()));
    }
    Index outer = 1;
    for (std::size_t d = 0; d + 1 < length_; ++d) outer *= extents_[d];
    const Index extent = extents_[length_ - 1];
    bool continues = false;
    for (Index position = 0; position < outer; ++position) {
      for (Index begin = 0; begin < extent; begin += rows) {
        call(position, {begin, std::min(begin + rows, extent)}, made, continues);
        continues = true;
      }
    }
    return made;
  }

  Index rows() const { return extents_[length_ - 1]; }
  const SampleRun& run() const { return run_; }

 private:
  Tensor part(Tensor& whole, const Subscripts& dims, Index position, Range rows) const {
    if (dims.empty() || dims[0] != phase_.result_subscripts[0][0]) return whole;
    Shape shape = whole.shape();
    Index size = size_of(whole.dtype());
    for (std::size_t d = length_; d < shape.size(); ++d) size *= shape[d];
    for (std::size_t d = 0; d + 1 < length_; ++d) shape[d] = 1;
    shape[length_ - 1] = rows.size();
    std::byte* begin = whole.data() + (position * extents_[length_ - 1] + rows.begin) * size;
    return {whole.dtype(), shape, std::shared_ptr<std::byte>(whole.memory(), begin)};
  }

  void call(Index position, Range rows, std::vector<Tensor>& made, bool continues) {
    std::vector<Tensor> parts;
    parts.reserve(phase_.operands.size() + phase_.results.size());
    std::vector<const Tensor*> operands;
    std::vector<Tensor*> results;
    for (std::size_t k = 0; k < phase_.operands.size(); ++k) {
      Tensor& whole = run_.array(phase_.operands[k]);
      operands.push_back(&parts.emplace_back(part(whole, phase_.operand_subscripts[k], position, rows)));
    }
    for (std::size_t k = 0; k < phase_.results.size(); ++k) {
      results.push_back(&parts.emplace_back(part(made[k], phase_.result_subscripts[k], position, rows)));
    }
    std::vector<Range> ranges;
    for (const Index extent : op_.extents) ranges.push_back({0, extent});
    const Subscripts& dims = phase_.result_subscripts[0];
    for (std::size_t d = length_ - 1; d-- > 0; position /= extents_[d]) {
      ranges[static_cast<std::size_t>(dims[d])] = {position % extents_[d], position % extents_[d] + 1};
    }
    ranges[static_cast<std::size_t>(dims[length_ - 1])] = rows;
    run_phase(run_.program(), op_, number_, ranges, operands, results, continues);
  }

  SampleRun& run_;
  const Operation& op_;
  std::size_t number_;
  const Phase& phase_;
  std::size_t length_ = 0;
  Shape extents_;  ///< of the first result
};

TEST(Strips, ChangeNoBit) {
  std::set<std::string_view> tested;
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const SampledKernel& sampled : sampled_kernels(dtype)) {
      if (!sampled.kernel->strips) continue;
      tested.insert(sampled.kernel->name);
      sampled.run->run_all();
      Stripped stripped(sampled);
      const Phase& phase = sampled.run->program().operations[sampled.operation].phases[sampled.phase];
      for (const Index rows : std::set<Index>{1, 3, 37, stripped.rows() - 1, stripped.rows()}) {
        const std::vector<Tensor> made = stripped.results(rows);
        for (std::size_t k = 0; k < made.size(); ++k) {
          const Tensor& whole = sampled.run->array(phase.results[k]);
          EXPECT_EQ(std::memcmp(made[k].data(), whole.data(), static_cast<std::size_t>(whole.bytes())), 0)
              << sampled.kernel->name << ", result " << k << ", strips of " << rows << ", " << name_of(dtype);
        }
      }
    }
  }
  EXPECT_EQ(tested, (std::set<std::string_view>{"add", "add_bias", "cast", "cross_entropy_grad", "gelu", "gelu_grad",
                                                "gelu_mul", "gelu_mul_grad", "norm_dot", "norm_grad", "normalize",
                                                "pick", "row_max", "silu_mul", "silu_mul_grad", "sum_exp",
                                                "sum_squares_rows", "squared_error_grad"}));
}

}  // namespace
}  // namespace shardline
