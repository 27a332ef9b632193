#include "models/gguf/gguf_writer.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "models/gguf/gguf_numbers.h"
#include "runtime/base/check.h"
#include "runtime/base/result_error.h"
#include "runtime/host/files.h"

namespace shardline {
namespace {

/// The rows of whole heads in another order, see GgufSource::interleaved. `rows` is [heads * head, columns] in f32.
Tensor interleaved(const Tensor& rows, Index head) {
  Tensor result(DType::f32, rows.shape());
  const Index columns = rows.extent(1);
  const float* from = rows.view<float>().data;
  float* to = result.view<float>().data;
  for (Index row = 0; row < rows.extent(0); ++row) {
    const Index in_head = row % head;
    const Index source = row - in_head + in_head % 2 * (head / 2) + in_head / 2;
    std::copy_n(from + source * columns, columns, to + row * columns);
  }
  return result;
}

/// Writes the tensors of a file, one after the other.
class GgufWriter {
 public:
  GgufWriter(const WeightFiles& weights, WholeFile& file, const std::function<void(Index)>& written)
      : weights_(weights), file_(file), written_(written) {}

  void append(const std::string& bytes) {
    file_.write(bytes.data(), bytes.size());
    place_ += static_cast<Index>(bytes.size());
    written_(place_);
  }

  /// Zeros up to this place.
  void fill(Index until) { append(std::string(static_cast<std::size_t>(until - place_), '\0')); }

  void append(const GgufSource& source) {
    if (!source.values.empty()) {
      append_elements({source.values.data(), {static_cast<Index>(source.values.size())}}, source, source.tensor.name);
    }
    for (const std::string& weight : source.weights) append_weight(weight, source);
  }

 private:
  void append_weight(const std::string& name, const GgufSource& source) {
    // One dim, as that of a bias, is a column here: its elements may be in another order too.
    const Shape& shape = source.tensor.shape;
    const Index columns = shape.size() == 1 ? 1 : shape.back();
    const Index rows = element_count(shape) / columns / static_cast<Index>(source.weights.size());
    const Index unit = source.interleaved > 0 ? source.interleaved : 1;
    constexpr Index kBytesAtOnce = Index{4} << 20;
    const Index units = std::max<Index>(1, kBytesAtOnce / (unit * std::max<Index>(1, columns) * size_of(DType::f32)));
    for (Index begin = 0; begin < rows; begin += units * unit) {
      const Range part{begin, std::min(rows, begin + units * unit)};
      Tensor values = weights_.read_block(name, {rows, columns}, {part, {0, columns}}).as(DType::f32);
      if (source.interleaved > 0) values = interleaved(values, source.interleaved);
      append_elements(values.view<float>(), source, name);
    }
  }

  void append_elements(View<const float> values, const GgufSource& source, const std::string& name) {
    const bool finite = std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
    const std::optional<std::string> bytes =
        finite ? gguf_elements(values, source.tensor.type) : std::optional<std::string>();
    if (!bytes) {
      throw ResultError(fmt::format("{}: tensor {} holds numbers too large for {}", weights_.path(), name,
                                    name_of(source.tensor.type)));
    }
    append(*bytes);
  }

  const WeightFiles& weights_;
  WholeFile& file_;
  const std::function<void(Index)>& written_;
  Index place_ = 0;
};

}  // namespace

GgufLayout layout_of(const GgufModel& model) {
  std::vector<GgufTensor> tensors;
  for (const GgufSource& source : model.sources) tensors.push_back(source.tensor);
  return gguf_layout(model.metadata, tensors);
}

void write_gguf(const GgufModel& model, const WeightFiles& weights, const std::string& path,
                const std::function<void(Index bytes)>& written) {
  const GgufLayout layout = layout_of(model);
  WholeFile file(path);
  GgufWriter writer(weights, file, written);
  writer.append(layout.head);
  for (std::size_t i = 0; i < model.sources.size(); ++i) {
    writer.fill(layout.offsets[i]);
    writer.append(model.sources[i]);
  }
  writer.fill(layout.bytes);
  file.commit();
}

}  // namespace shardline
