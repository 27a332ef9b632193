#include "tools/training/train_data.h"

#include "models/data/byte_data.h"
#include "models/data/made_data.h"

namespace shardline::tools {
namespace {

TrainData made_rows(const MlpConfig& config, std::uint64_t seed) {
  return {.samples = std::make_unique<MadeData>(config.d_model, seed),
          .description = fmt::format("rows: made by seed {}; the target is a fixed linear map of the input", seed),
          .bigram_loss = {}};
}

}  // namespace

TrainData train_data(const Job& job, const TrainOptions& options) {
  const TrainingRun& run = options.run;
  if (const auto* mlp = std::get_if<MlpConfig>(&run.config)) return made_rows(*mlp, job.seed());
  auto text = std::make_unique<ByteData>(
      options.texts, run.options.batch.tokens, job.seed(),
      [&](const std::string& path) { return mpi::on_root(job.world(), 0, [&] { return read_file(path); }); });
  const ByteData& bytes = *text;
  return {.samples = std::move(text),
          .description = fmt::format("text: {} bytes to train on, {} held out", bytes.training_text().size(),
                                     bytes.held_out_text().size()),
          .bigram_loss = [&bytes](Index windows) { return bytes.bigram_loss(windows); }};
}

}  // namespace shardline::tools
