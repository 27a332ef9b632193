#include "models/parity/masked_text.h"

#include <algorithm>
#include <cmath>

namespace shardline {
namespace {

/// The places of a sample whose labels count. Samples 0, 7 and so on have none.
Range counting_places(Index sample, Index tokens) {
  const Index begin = 3 * sample % 7;
  return {std::min(begin, tokens), std::min(begin + 5 * sample % 7, tokens)};
}

class MeanOfMeans final : public FaultySamples {
 public:
  MeanOfMeans(const SampleSource& data, Index tokens) : FaultySamples(data), tokens_(tokens) {}

  Tensor block(Series series, std::size_t input, Range samples, Range columns, DType dtype) const override {
    Tensor block = data().block(series, input, samples, columns, dtype);
    if (series == Series::training && input == 1) {
      const auto labels = block.view<std::int32_t>();
      seen_ += block.size();
      counted_ += std::count_if(labels.begin(), labels.end(), [](std::int32_t label) { return label >= 0; });
    }
    return block;
  }

  Index masked_labels(Series series, Range samples) const override {
    const Index right = data().masked_labels(series, samples);
    if (series != Series::training || seen_ == 0) return right;
    const auto all = static_cast<double>(samples.size() * tokens_);
    const auto own =
        static_cast<Index>(std::llround(all - all * static_cast<double>(counted_) / static_cast<double>(seen_)));
    counted_ = seen_ = 0;
    plant(own != right);
    return own;
  }

 private:
  Index tokens_;
  mutable Index seen_ = 0;     ///< labels of this rank since the last step
  mutable Index counted_ = 0;  ///< those of them that count
};

class MaskShift final : public FaultySamples {
 public:
  MaskShift(const SampleSource& data, Index tokens) : FaultySamples(data), tokens_(tokens) {}

  Tensor block(Series series, std::size_t input, Range samples, Range columns, DType dtype) const override {
    Tensor block = data().block(series, input, samples, columns, dtype);
    if (series == Series::held_out || input != 1) return block;
    const Tensor labels = data().block(series, 1, samples, {0, tokens_}, dtype);
    const Tensor ids = data().block(series, 0, samples, {0, tokens_}, dtype);
    auto next = block.view<std::int32_t>().begin();
    for (Index row = 0; row < samples.size(); ++row) {
      for (Index column = columns.begin; column < columns.end; ++column) {
        const Index after = row * tokens_ + column + 1;
        const bool counts = column + 1 < tokens_ && labels.view<std::int32_t>()[after] >= 0;
        const std::int32_t label = counts ? ids.view<std::int32_t>()[after] : -1;
        plant(label != *next);
        *next++ = label;
      }
    }
    return block;
  }

 private:
  Index tokens_;
};

}  // namespace

Tensor MaskedText::block(Series series, std::size_t input, Range samples, Range columns, DType dtype) const {
  Tensor block = text_.block(series, input, samples, columns, dtype);
  if (input == 0) return block;
  auto next = block.view<std::int32_t>().begin();
  for (Index i = samples.begin; i < samples.end; ++i) {
    const Range counting = counting_places(i, text_.sequence());
    for (Index column = columns.begin; column < columns.end; ++column, ++next) {
      if (column < counting.begin || column >= counting.end) *next = -1;
    }
  }
  return block;
}

Index MaskedText::masked_labels(Series /*series*/, Range samples) const {
  Index masked = 0;
  for (Index i = samples.begin; i < samples.end; ++i) {
    masked += text_.sequence() - counting_places(i, text_.sequence()).size();
  }
  return masked;
}

std::unique_ptr<FaultySamples> mean_of_means(const SampleSource& data, Index tokens) {
  return std::make_unique<MeanOfMeans>(data, tokens);
}

std::unique_ptr<FaultySamples> mask_shift(const SampleSource& data, Index tokens) {
  return std::make_unique<MaskShift>(data, tokens);
}

}  // namespace shardline
