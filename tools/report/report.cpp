#include "tools/report/report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "kernels/gemm/gemm.h"

namespace shardline::tools {

std::string describe(const roofline::Hardware& hardware) {
  std::string text = fmt::format("matmul {}, memory {}", to_string(hardware.matmul), to_string(hardware.memory));
  for (const auto& [axis, link] : hardware.links) {
    text += fmt::format("; {}: {} a step, {}", axis, to_string(link.latency), to_string(link.bandwidth));
  }
  return text;
}

namespace {

/// What not every model has.
std::string further(const TransformerConfig& config) {
  std::string text = config.tied ? ", tied" : "";
  if (config.qkv_biases) text += ", biases of queries, keys and values";
  if (config.rope_scaling)
    text += fmt::format(", rotary positions of llama3 (factor {:g})", config.rope_scaling->factor);
  return text;
}

std::string model_text(const TransformerConfig& config) {
  return fmt::format("{} layers, d_model {}, d_ff {}, {} heads of {} on {} of keys and values, vocab {}{}",
                     config.layers, config.d_model, config.d_ff, config.heads, config.head_dim, config.kv_heads,
                     config.vocab, further(config));
}

std::string model_text(const MlpConfig& config) {
  return fmt::format("mlp of {} layer{}, D {}, F {}, {}", config.layers, config.layers == 1 ? "" : "s", config.d_model,
                     config.d_ff, config.activation == MlpActivation::gelu ? "gelu" : "no activation");
}

std::string batch_text(const TrainingRun& run) {
  const BatchShape& batch = run.options.batch;
  if (std::holds_alternative<MlpConfig>(run.config)) return fmt::format("{} rows a step", batch.sequences);
  return fmt::format("{} sequences of {} tokens a step", batch.sequences, batch.tokens);
}

}  // namespace

const char* bf16_products() {
  const bool native = kernels::gemm_library(DType::bf16) == kernels::GemmLibrary::onednn;
  return native ? "of bf16 natively, by oneDNN" : "stored in bf16, multiplied in f32";
}

std::string describe_training(const Job& job, const TrainingRun& run, const std::string& samples,
                              const roofline::Hardware& hardware) {
  const StepForm& form = run.options.form;
  std::string text = fmt::format("mesh {}, strategy {}, {}\n", job.mesh().axes().to_string(),
                                 run.strategy.empty() ? "none" : to_string(run.strategy), name_of(run.options.dtype));
  text += fmt::format("model: {} parameters, {}\n", run.parameters(),
                      std::visit([](const auto& config) { return model_text(config); }, run.config));
  text += fmt::format("{}; {}{}{}\n", samples, batch_text(run),
                      form.micro_batches > 1 ? fmt::format(", in {} micro-batches", form.micro_batches) : "",
                      form.remat != Remat::none ? fmt::format(", rematerialisation {}", name_of(form.remat)) : "");
  if (run.options.dtype == DType::bf16) text += fmt::format("products: {}\n", bf16_products());
  const Axis stages = stage_axis(run.strategy, job.mesh().axes());
  if (!stages.empty()) {
    text += fmt::format("{} stages, timetable {}\n", job.mesh().axes().size(stages), run.options.pipeline.timetable);
  }
  return text + fmt::format("{}, each of {} ranks: {}\n\n",
                            job.given_machine() ? "machine " + job.given_machine()->machine.name : "measured",
                            job.mesh().ranks(), describe(hardware));
}

Json kinds_json(const std::vector<KindSummary>& kinds) {
  Json result = Json::array();
  for (const KindSummary& k : kinds) {
    result.push_back({{"text", k.axis.empty() ? k.kind : k.kind + " over " + k.axis},
                      {"kind", k.kind},
                      {"axis", k.axis},
                      {"count", k.count},
                      {"bytes", k.bytes.value},
                      {"wire_bytes", k.wire_bytes.value},
                      {"flops", k.flops.value},
                      {"predicted_s", k.predicted.value},
                      {"measured_s", k.measured.value},
                      {"ratio", k.ratio()},
                      {"exposed_s", k.exposed.value},
                      {"slowest_rank_s", k.slowest.value},
                      {"fastest_rank_s", k.fastest.value},
                      {"t_math_s", k.math.value},
                      {"t_memory_s", k.memory.value},
                      {"t_comms_s", k.comms.value},
                      {"limiter", k.limiter}});
  }
  return result;
}

std::string overlap_text(const Overlap& overlap, bool needs_the_cores) {
  if (overlap.alone.value == 0) return "";
  if (needs_the_cores) {
    return "overlap: none; in the memory of a node a copy needs the core, so collectives beside computation cannot "
           "win\n";
  }
  return fmt::format("overlap: {} spent on communication, {} in flight, {} predicted alone: {:.0f}% hidden\n",
                     to_string(overlap.exposed), to_string(overlap.in_flight), to_string(overlap.alone),
                     100 * overlap.hidden);
}

Json overlap_json(const Overlap& overlap) {
  return {{"in_flight_s", overlap.in_flight.value},
          {"predicted_alone_s", overlap.alone.value},
          {"exposed_s", overlap.exposed.value},
          {"hidden_share", overlap.hidden}};
}

}  // namespace shardline::tools
