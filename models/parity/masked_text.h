#pragma once

#include <memory>

#include "models/data/byte_data.h"

namespace shardline {

/// Text of which some labels count, by a rule. The samples differ in how many do; some have none.
class MaskedText final : public SampleSource {
 public:
  explicit MaskedText(ByteData text) : text_(std::move(text)) {}

  Tensor block(Series series, std::size_t input, Range samples, Range columns, DType dtype) const override;
  Index masked_labels(Series series, Range samples) const override;
  Index held_out() const override { return text_.held_out(); }

 private:
  ByteData text_;
};

/// Samples with a fault in them, see Fault.
class FaultySamples : public SampleSource {
 public:
  /// `data` must outlive the object.
  explicit FaultySamples(const SampleSource& data) : data_(data) {}
  Tensor block(Series series, std::size_t input, Range samples, Range columns, DType dtype) const override {
    return data_.block(series, input, samples, columns, dtype);
  }
  std::size_t inputs() const override { return data_.inputs(); }
  Index masked_labels(Series series, Range samples) const override { return data_.masked_labels(series, samples); }
  Index held_out() const override { return data_.held_out(); }
  /// True if what this rank has got so far was wrong.
  bool planted() const { return planted_; }

 protected:
  const SampleSource& data() const { return data_; }
  void plant(bool planted) const { planted_ = planted_ || planted; }

 private:
  const SampleSource& data_;
  mutable bool planted_ = false;
};

/// Each rank divides the loss by the labels that count in its own rows. `tokens`: in a sample.
std::unique_ptr<FaultySamples> mean_of_means(const SampleSource& data, Index tokens);
/// The labels that count are those one place before the right ones.
std::unique_ptr<FaultySamples> mask_shift(const SampleSource& data, Index tokens);

}  // namespace shardline
