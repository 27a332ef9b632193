#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/data/sample_source.h"
#include "runtime/base/shape.h"

namespace shardline {

/// In which order the tokens of a sequence lie in memory, where ranks share it by the block rule. A token sees those
/// before it, so in the order of the text the last rank has much more to do than the first.
enum class TokenOrder : std::uint8_t {
  contiguous,  ///< as in the text
  zigzag,      ///< 2 p chunks for p ranks: rank i has chunks i and 2 p - 1 - i
  striped,     ///< rank i has tokens i, i + p, i + 2 p ...
};

/// "contiguous", "zigzag", "striped".
std::string_view name_of(TokenOrder order);
/// All names, with commas between them.
std::string token_order_names();
/// The order of this name. Throws UsageError with the legal names.
TokenOrder token_order_named(const std::string& name);

/// The positions 0 to `tokens` - 1 of a sequence in the order in which its tokens lie: a permutation. `ranks` >= 1
/// share the sequence. Any length is legal. One rank has every order contiguous.
///
/// The chunks of zigzag are cut by the block rule. So if `tokens` is not a multiple of 2 `ranks`, the block of a rank
/// may begin a few tokens beside the chunks that are named for it.
std::vector<Index> token_positions(TokenOrder order, Index tokens, Index ranks);

/// Samples of another source, with the tokens in another order: column c has what the other source has at position
/// positions[c]. What is there does not change: `starts` still are positions (see SampleSource).
class OrderedData final : public SampleSource {
 public:
  /// `data` and `positions` must outlive the object. `positions` is a permutation of the positions of a sample.
  OrderedData(const SampleSource& data, const std::vector<Index>& positions) : data_(data), positions_(positions) {}

  /// Inputs of i32 only.
  Tensor block(Series series, std::size_t input, Range samples, Range columns, DType dtype) const override;
  std::size_t inputs() const override { return data_.inputs(); }
  Index masked_labels(Series series, Range samples) const override { return data_.masked_labels(series, samples); }
  Index held_out() const override { return data_.held_out(); }

 private:
  const SampleSource& data_;
  const std::vector<Index>& positions_;
};

}  // namespace shardline
