#pragma once

#include "models/data/byte_data.h"

namespace shardline {

/// Text cut into documents, by a rule. Samples of 7 tokens hold one to five, of 1 to 7 tokens each.
class PackedText final : public SampleSource {
 public:
  explicit PackedText(ByteData text) : text_(std::move(text)) {}

  /// The third input holds the starts of documents. The label of the last token of a document is -1.
  Tensor block(Series series, std::size_t input, Range samples, Range columns, DType dtype) const override;
  std::size_t inputs() const override { return 3; }
  Index masked_labels(Series series, Range samples) const override;
  Index held_out() const override { return text_.held_out(); }

 private:
  ByteData text_;
};

}  // namespace shardline
