#include "tools/plan/plan_answer.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/base/check.h"

namespace shardline::tools {
namespace {

/// The mesh and the strategy that split sequences too, as options; empty if there are none.
std::string with_context_text(const ChipMesh& mesh, const Strategy& strategy, Index sequences) {
  const ChipMesh fitted = with_context(mesh, sequences);
  if (fitted.mesh == mesh.mesh) return "";
  std::vector<std::string> axes;
  for (const Axis& axis : fitted.mesh.axes()) axes.push_back(fmt::format("{}={}", axis, fitted.mesh.size(axis)));
  Strategy also;
  for (const auto& [axis, role] : strategy) {
    if (fitted.mesh.has(axis)) also.emplace_back(axis, role);
    if (axis != usual_axes().front()) continue;
    if (!splits_batch(role.row())) return "";
    also.emplace_back(kContextAxis, context_role(role));
  }
  return fmt::format("; --mesh {} --strategy {} splits sequences too", fmt::join(axes, ","), to_string(also));
}

[[noreturn]] void refuse_batch(const PlanQuestion& question, const std::string& strategy, Index micro_batches) {
  const Index sequences = question.run.sequences() / micro_batches;
  Index least = 0;
  std::string which, instead;
  for (const ChipMesh& each : question.meshes) {
    for (const Strategy& one : strategies_on(each, strategy)) {
      const Index ranks = ranks_with(splits_batch, each.mesh, one);
      if (least > 0 && ranks >= least) continue;
      least = ranks;
      which = to_string(one) + " on " + each.mesh.to_string();
      instead = with_context_text(each, one, sequences);
    }
  }
  require(least > sequences, "{}: no way to give every rank tokens; a sequence has {}, and {} heads of keys and values",
          which, question.run.sequence, question.run.config.kv_heads);
  usage_error("--batch-tokens {}{}: {} sequence{} of {}, fewer than the {} ranks over which {} splits the batch{}",
              question.run.tokens, micro_batches > 1 ? fmt::format(" in {} micro-batches", micro_batches) : "",
              sequences, sequences == 1 ? "" : "s", question.run.sequence, least, which, instead);
}

/// The priced step of a model that programs can be derived of.
void put_candidates(PlanAnswer& answer) {
  const PlanOptions& options = answer.options;
  const PlanQuestion& question = answer.question;
  const StepPlanner planner(question.run);
  answer.candidates = search_plans(planner, question.space(options));
  if (answer.candidates.empty()) refuse_batch(question, options.strategy, options.micro_batches.value_or(1));
  answer.equal = equal_sequences(question.run.config);
  const bool stages = std::any_of(answer.candidates.begin(), answer.candidates.end(),
                                  [](const PlanCandidate& each) { return !each.step.form.timetable.empty(); });
  require(options.timetable.empty() || stages,
          "--timetable {}: nothing here has stages; as in --mesh Z=4 --strategy pp=Z", options.timetable);
}

/// Refuses options that only the priced step reads.
void refuse_options_of_step(const PlanAnswer& answer) {
  const PlanOptions& options = answer.options;
  for (const auto& [name, value] :
       {std::pair{"--strategy", options.strategy}, {"--timetable", options.timetable}, {"--remat", options.remat}}) {
    require(value.empty(),
            "{} {}: no step of {} is priced, as no program has {}; give --mesh, --torus or --chips alone", name, value,
            options.model, answer.left_out);
  }
}

}  // namespace

Flops PlanAnswer::step_flops(bool with_attention) const {
  const Flops token = with_attention ? token_flops.products + token_flops.attention : token_flops.products;
  return token * static_cast<double>(question.run.tokens);
}

Seconds PlanAnswer::training_time(bool with_attention) const {
  const Flops token = with_attention ? token_flops.products + token_flops.attention : token_flops.products;
  const double chips = static_cast<double>(all_chips());
  return token * options.tokens / (question.closed.rates.compute * (chips * options.utilisation));
}

double PlanAnswer::cost() const {
  return training_time(true).value / 3600 * static_cast<double>(all_chips()) * options.price_per_hour;
}

PlanAnswer answer_of(const PlanOptions& options) {
  PlanAnswer answer;
  answer.options = options;
  answer.question = question_of(options);
  const PlanQuestion& question = answer.question;
  answer.parameters = parameter_parts(question.run.config);
  answer.active = active_parameter_parts(question.run.config);
  answer.token_flops = token_flops(question.run.config, question.run.sequence);
  answer.strategies = strategy_answers(question.closed);
  answer.experts = experts_answer(question.closed);
  for (const auto passes : {roofline::CountedPasses::forward, roofline::CountedPasses::both_keeping,
                            roofline::CountedPasses::both_regathering}) {
    answer.mixed.push_back(mixed_answer(question.closed, passes));
  }
  answer.left_out = counted_only(question.run.config);
  if (answer.left_out.empty()) {
    put_candidates(answer);
  } else {
    refuse_options_of_step(answer);
  }
  return answer;
}

std::string dims_text(const roofline::MixedMesh& mesh) { return fmt::format("{} x {}", mesh.x, mesh.y); }

std::string passes_text(roofline::CountedPasses passes) {
  switch (passes) {
    case roofline::CountedPasses::forward:
      return "forward pass";
    case roofline::CountedPasses::both_keeping:
      return "with the backward pass, activations kept";
    case roofline::CountedPasses::both_regathering:
      return "with the backward pass, activations gathered again";
  }
  throw Error("unknown passes");
}

std::string fits_text(const PlanCandidate& candidate) {
  if (!candidate.knows_memory()) return "?";
  return candidate.fits() ? "yes" : "no";
}

std::string form_text(const PlannedForm& form) {
  std::string text = form.timetable.empty() ? "" : form.timetable + " ";
  text += form.micro_batches == 1 ? "whole" : fmt::format("of {}", form.micro_batches);
  return form.remat == Remat::none ? text : fmt::format("{}, {}", text, name_of(form.remat));
}

std::string laid_text(const AbstractMesh& mesh, const roofline::TorusLayout& layout) {
  std::vector<std::string> axes;
  for (const auto& [axis, sides] : layout) axes.push_back(fmt::format("{}", fmt::join(sides, "x")));
  return axes.empty() ? mesh.to_string() : fmt::format("{} on {}", mesh.to_string(), fmt::join(axes, ", "));
}

}  // namespace shardline::tools
