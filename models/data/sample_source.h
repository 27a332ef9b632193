#pragma once

#include <cstdint>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"
#include "runtime/layout/tensor.h"

namespace shardline {

/// Which samples: those to train on, or those that the loss at the end is taken of.
enum class Series : std::uint8_t { training, held_out };

/// One byte, window or line in this many is held out, where no files are named for that.
inline constexpr Index kHeldOutFraction = 10;

/// Where the inputs of a model come from. Sample i is a pure function of the source and i. It gives a row of every
/// input in Model::samples. So every mesh sees the same samples for any batch per rank.
///
/// A sample of tokens may hold several documents, one after the other. Such a source has a third input, `starts`: for
/// each token the position in the sample at which its document begins. A token whose next token is of another document
/// has the label -1.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  /// A block of an input of shape [samples, columns], in elements of `dtype`. `input` counts from 0 in the order of
  /// Model::samples. Samples count from 0 without an end.
  virtual Tensor block(Series series, std::size_t input, Range samples, Range columns, DType dtype) const = 0;
  /// 2, or 3 with the starts of documents.
  virtual std::size_t inputs() const { return 2; }
  /// How many labels of these whole samples count nothing. In a block they are -1, so only labels of i32 can be so.
  virtual Index masked_labels(Series /*series*/, Range /*samples*/) const { return 0; }
  /// The number of different held-out samples, at least 1. After them the first comes again.
  virtual Index held_out() const = 0;
};

}  // namespace shardline
