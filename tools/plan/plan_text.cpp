#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/architecture/known_models.h"
#include "tools/output/text.h"
#include "tools/output/words.h"
#include "tools/plan/plan_answer.h"

namespace shardline::tools {
namespace {

constexpr std::size_t kListedCandidates = 5;

std::string days(Seconds time) {
  const double days = time.value / 86400;
  return days < 0.01   ? to_string(time)
         : days < 1    ? fmt::format("{:.3g} days", days)
         : days < 1000 ? fmt::format("{:.1f} days", days)
                       : fmt::format("{:.1f} years", days / 365.25);
}

/// The MLPs of the model: "d_ff 14336, 8 experts of which a token passes 2".
std::string mlps_text(const TransformerConfig& config) {
  const CommonMlps& common = config.common_mlps;
  std::string text = fmt::format("d_ff {}", config.d_ff);
  if (config.experts.count == 0) return text;
  text += fmt::format(", {} experts of which a token passes {}", config.experts.count, config.experts.chosen);
  if (common.shared > 0) text += fmt::format(", and {} that all pass", common.shared);
  if (common.dense_layers > 0) {
    text += fmt::format(" (but {} layers of d_ff {})", common.dense_layers, common.dense_d_ff);
  }
  return text;
}

std::string heads_text(const TransformerConfig& config) {
  const LatentAttention& latent = config.latent;
  if (latent.cached == 0) {
    return fmt::format("{} heads of {} on {} of keys and values", config.heads, config.head_dim, config.kv_heads);
  }
  return fmt::format("{} heads of {} + {} on {} latent elements", config.heads, config.head_dim, latent.rope_dim,
                     latent.cached);
}

std::string introduction(const PlanAnswer& answer) {
  const PlanQuestion& question = answer.question;
  const TransformerConfig& config = question.run.config;
  const ClosedFormQuery& closed = question.closed;
  std::string text = fmt::format("model {}: {} layers, d_model {}, {}, {}, vocab {}\n", answer.options.model,
                                 config.layers, config.d_model, mlps_text(config), heads_text(config), config.vocab);
  text += fmt::format("{} {}: {} in {}", question.given ? "machine" : "hardware", question.hardware_name,
                      to_string(closed.rates.compute), name_of(question.run.dtype));
  if (closed.capacity.value > 0) text += fmt::format(", {} of memory", to_string(closed.capacity));
  if (closed.rates.link.value > 0) {
    text += fmt::format(", {} over {}; C/W = {:.0f}", to_string(question.link),
                        question.chip != nullptr && question.chip->torus_axes > 0
                            ? fmt::format("each of {} torus axes both ways", question.chip->torus_axes)
                            : "the link",
                        closed.rates.intensity());
  }
  text += fmt::format(
      "\nbatch of {} tokens, {} sequences of {}, on {} chip{}{}: {:.1f} tokens a chip\n", question.run.tokens,
      plain_number(static_cast<double>(question.run.tokens) / static_cast<double>(question.run.sequence)),
      question.run.sequence, answer.all_chips(), answer.all_chips() == 1 ? "" : "s",
      closed.pods > 1 ? fmt::format(" in {} pods", closed.pods) : "", closed.tokens_per_chip());
  if (closed.mesh_chips() != question.chips) {
    text +=
        fmt::format("{} powers of two: {} of the {} chips; tokens a chip are counted over all of them\n",
                    question.fixed ? "the closed form's mesh has" : "meshes have", closed.mesh_chips(), question.chips);
  }
  return text;
}

std::string parameters_text(const PlanAnswer& answer) {
  const ParameterParts& parts = answer.parameters;
  std::string text = "\nparameters  " + short_count(static_cast<double>(parts.total()));
  if (answer.experts)
    text += fmt::format(", {} that a token passes", short_count(static_cast<double>(answer.active.total())));
  const char* before = ": ";
  for (const auto& [name, weights] :
       {std::pair{"feed-forward", parts.feed_forward}, std::pair{"experts", parts.experts},
        std::pair{"router", parts.router}, std::pair{"attention", parts.attention},
        std::pair{"vocabulary", parts.vocabulary}, std::pair{"norms", parts.norms}}) {
    if (weights == 0) continue;
    text += fmt::format("{}{} {}", before, name, short_count(static_cast<double>(weights)));
    before = ", ";
  }
  return text + "\n";
}

/// The FLOPs of attention for a token and a layer: with queries as long as values 12 T for each of their elements.
std::string attention_formula(const TransformerConfig& config) {
  const LatentAttention& latent = config.latent;
  if (latent.cached == 0) return "12 T d_attention";
  return fmt::format("6 T {} ({} + {})", config.heads, config.head_dim + latent.rope_dim, latent.value_dim);
}

std::string counts_text(const PlanAnswer& answer) {
  const TokenFlops& token = answer.token_flops;
  std::string text = parameters_text(answer);
  text += fmt::format("FLOPs       a token {} in products (6 a parameter{}), {} in attention ({} a layer)\n",
                      to_string(token.products), answer.experts ? " that it passes" : "", to_string(token.attention),
                      attention_formula(answer.question.run.config));
  text += fmt::format("            a step {} and {}\n", to_string(answer.step_flops(false)),
                      to_string(answer.step_flops(true) - answer.step_flops(false)));
  if (answer.left_out.empty())
    text += fmt::format(
        "            in a layer attention takes as many as the rest at T = {}; without its mask, as the book counts, "
        "at "
        "T = {}\n            (section 4.3, of layers with d_ff 4 D and all heads with keys: 8 D = {})\n",
        answer.equal.computed, answer.equal.unmasked, 8 * answer.question.run.config.d_model);
  const Seconds time = answer.training_time(false);
  text += fmt::format("training    {} tokens: {:.3g} FLOPs, {} at {:.0f}% of the peak; {} with attention counted",
                      short_count(answer.options.tokens), token.products.value * answer.options.tokens, days(time),
                      100 * answer.options.utilisation, days(answer.training_time(true)));
  if (answer.options.price_per_hour > 0) {
    text += fmt::format("; at {} an hour and chip that costs {}", plain_number(answer.options.price_per_hour),
                        plain_number(answer.cost()));
  }
  return text + "\n";
}

std::string memory_text(const PlanAnswer& answer) {
  const PlanQuestion& question = answer.question;
  const TransformerConfig& config = question.run.config;
  const auto weights = static_cast<double>(answer.parameters.total());
  const Bytes element = question.closed.element;
  const auto chips = static_cast<double>(answer.all_chips());
  const auto line = [&](const std::string& what, Bytes bytes) {
    return fmt::format("  {:<66}{:>9}{:>12}\n", what, to_string(bytes), to_string(bytes / chips));
  };
  std::string text = fmt::format("\n{:<68}{:>9}{:>12}\n", "memory", "in all", "a chip");
  text += line(fmt::format("weights in {}", name_of(question.run.dtype)), element * weights);
  text += line(fmt::format("optimizer, two moments in {}", name_of(question.run.optimizer)),
               Bytes(static_cast<double>(2 * size_of(question.run.optimizer))) * weights);
  for (const Remat remat : kRemats) {
    text += line(fmt::format("activations, --remat {}: {}", name_of(remat), what_stays(remat)),
                 activation_bytes(config, static_cast<double>(question.run.tokens), remat, element));
  }
  text += fmt::format("  keys and values of a token: {} in {}, {} in int8\n",
                      to_string(kv_cache_per_token(config, element)), name_of(question.run.dtype),
                      to_string(kv_cache_per_token(config, Bytes(1))));
  return text;
}

std::string mixed_text(const PlanAnswer& answer) {
  const ClosedFormQuery& closed = answer.question.closed;
  std::string text = fmt::format(
      "\nFSDP over X and tensor parallelism over Y, M_X = {}, M_Y = {}: the X at which least moves, as a real number "
      "and of all powers\nof two, each tried\n\n",
      closed.x_torus_axes, closed.y_torus_axes);
  text += fmt::format("{:<52} {:>8}  {:<10} {:>8} {:>8} {:>8}  {}\n", "counted", "X_opt", "X x Y", "T_math", "T_fsdp",
                      "T_tensor", "tokens a chip it needs");
  for (const MixedAnswer& mixed : answer.mixed) {
    text += fmt::format("{:<52} {:>8.2f}  {:<10} {:>8} {:>8} {:>8}  {:.1f}: {}\n", passes_text(mixed.passes),
                        mixed.optimal_x, dims_text(mixed.mesh), to_string(mixed.time.math), to_string(mixed.time.fsdp),
                        to_string(mixed.time.tensor), mixed.least_tokens_per_chip,
                        mixed.time.compute_bound() ? "compute binds" : "communication binds");
  }
  const MixedAnswer& forward = answer.mixed[0];
  const auto data = static_cast<double>(closed.data_ways(forward.mesh.x));
  if (forward.mesh.x > data) {
    text += fmt::format(
        "Of X = {} in the forward pass, {} split the batch and {} each sequence: keys and values add {} (section "
        "5.1.1),\nwhich this table and the range of X leave out.\n",
        forward.mesh.x, data, forward.mesh.x / data, to_string(forward.context));
  }
  const auto& range = forward.compute_bound_x;
  return text + (range ? fmt::format("The forward pass is compute-bound for X from {:.0f} to {:.0f}.\n", range->first,
                                     range->second)
                       : "The forward pass is compute-bound for no X.\n");
}

/// From which batch experts are compute-bound, and what moves and is read where they are split.
std::string experts_text(const PlanAnswer& answer) {
  if (!answer.experts) return "";
  const Experts& experts = answer.question.run.config.experts;
  const ExpertsAnswer& form = *answer.experts;
  std::string text = "\nexperts (book sections 3.3.1 and 4.4.1, exercises 4.8 and 7.6)\n";
  if (form.least_batch > 0) {
    text += fmt::format(
        "  compute-bound from B = C / W_hbm E / k = {:.0f} tokens at a time with weights in {}, from {:.0f} with "
        "weights in "
        "int8;\n  W_hbm: {}, E / k: {} / {}\n",
        form.least_batch, name_of(answer.question.run.dtype), form.least_batch_int8,
        to_string(answer.question.closed.memory), experts.count, experts.chosen);
  }
  if (!form.sharding) return text;
  const ExpertSharding& sharding = *form.sharding;
  text += fmt::format(
      "  split over Z = {}, X = {}: an AllToAll takes each layer's tokens to their experts, another brings them back. "
      "Each "
      "sends\n  {} over Z in {}; an AllGather of as much takes {}\n",
      sharding.mesh.z, sharding.mesh.x, to_string(sharding.sent), to_string(sharding.all_to_all),
      to_string(sharding.all_gather));
  return text +
         fmt::format("  split over Z = {}, in int8: a chip has {} of weights, its experts and all others",
                     sharding.all_ways, to_string(sharding.weights)) +
         (form.least_batch > 0
              ? fmt::format(", and reads them in {}\n", to_string(sharding.weights / answer.question.closed.memory))
              : "\n");
}

std::string closed_form_text(const PlanAnswer& answer) {
  std::string text =
      "\n(a) Closed form (book section 5.1): two products a layer, both passes, rings so large that V/W counts, what "
      "moves\n    over X and Y adds\n\n";
  text += fmt::format("{:<15} {:<16} {:>9} {:>9} {:>9}  {:<9} {:<9} {}\n", "strategy", "mesh", "T_math", "T_comms",
                      "state", "remat", "idle", "bound");
  for (const StrategyAnswer& each : answer.strategies) {
    text += fmt::format("{:<15} {:<16} {:>9} {:>9} {:>9}  {:<9} {:<9} {}\n", each.name, each.mesh, to_string(each.math),
                        to_string(each.comms), to_string(each.state), each.keeps.empty() ? "no room" : each.keeps,
                        each.idle.value > 0 ? to_string(each.idle) : "-", each.bound);
  }
  return text + explained_words(text) + mixed_text(answer) + experts_text(answer);
}

/// In words: how long the best waits, and how the second compares with it.
std::string comparison(const std::vector<PlanCandidate>& listed) {
  const PlannedStep& best = listed[0].step;
  std::string text =
      fmt::format("The best waits for collectives {:.1f}% of its step", 100 * (best.exposed / best.scheduled));
  if (listed.size() == 1) return text + ".\n";
  if (listed[0].fits() && !listed[1].fits()) return text + "; the second does not fit in memory.\n";
  const PlannedStep& second = listed[1].step;
  const double scheduled = second.scheduled / best.scheduled - 1;
  const double upper = second.upper / best.upper - 1;
  if (std::abs(scheduled) < 0.02 && std::abs(upper) > 0.05) {
    return text + fmt::format(
                      "; the second differs by {:.1f}% as scheduled and by {:.0f}% with nothing overlapped: overlap "
                      "hides the difference.\n",
                      100 * scheduled, 100 * upper);
  }
  return text + fmt::format("; the second takes {:.1f}% longer.\n", 100 * scheduled);
}

/// In words: over how many ranks the batch and its sequences are split, and what that moves. Empty if no sequence is.
std::string context_text(const PlanAnswer& answer, const PlannedStep& step) {
  const Index context = ranks_with(shares_sequences, step.mesh, step.strategy);
  if (context == 1) return "";
  const Index sequences = answer.question.run.sequences() / step.form.micro_batches;
  const Index data = ranks_with(splits_batch, step.mesh, step.strategy);
  return fmt::format(
      "{} has {} sequence{}: {}{}-way context parallelism. Each sequence is on {} ranks; what they move to attend to "
      "all of it\ntakes {} of the links' time.\n",
      step.form.micro_batches == 1 ? "The batch" : "A micro-batch", sequences, sequences == 1 ? "" : "s",
      data == 1 ? "" : fmt::format("{}-way data x ", data), context, context, to_string(step.context));
}

/// In words: what rematerialisation adds, and how long the stages wait.
std::string repeated_text(const PlannedStep& step) {
  std::string text;
  if (step.form.remat != Remat::none) {
    text += fmt::format("With --remat {} it computes {:.1f}% of its FLOPs again; the times count them.\n",
                        name_of(step.form.remat), 100 * (step.repeated / step.flops));
  }
  if (!step.form.timetable.empty()) {
    text += fmt::format(
        "Its stages wait for each other {:.1f}% of the step on average, by timetable {} with {} micro-batch{}.\n",
        100 * (step.idle / step.scheduled), step.form.timetable, step.form.micro_batches,
        step.form.micro_batches == 1 ? "" : "es");
  }
  return text;
}

std::string capacity_text(double capacity) {
  if (capacity == 0) return "    an expert has room for all tokens of a sequence (--capacity 0)\n";
  return fmt::format("    an expert has room for {} times its even share of a sequence's choices (--capacity)\n",
                     plain_number(capacity));
}

std::string priced_text(const PlanAnswer& answer) {
  if (!answer.left_out.empty()) {
    return fmt::format("\n(b) The whole step is not priced: no program has {}.\n", answer.left_out);
  }
  const std::vector<PlanCandidate> listed(
      answer.candidates.begin(),
      answer.candidates.begin() + static_cast<std::ptrdiff_t>(std::min(kListedCandidates, answer.candidates.size())));
  std::string text = fmt::format(
      "\n(b) The whole step priced: forward, backward, AdamW, {} layer{}, the collectives of the derived programs;\n"
      "    first those that fit, the fastest first; stages by simulated timetables; T_comms is of the busiest link\n",
      answer.question.run.config.layers, answer.question.run.config.layers == 1 ? "" : "s");
  if (answer.experts) text += capacity_text(answer.question.run.capacity);
  text +=
      fmt::format("\n{:<32} {:<22} {:<28} {:>9} {:>9} {:>9} {:>9} {:<8} {:>9}  {}\n", "mesh, on torus axes", "strategy",
                  "batch, remat", "lower", "scheduled", "upper", "T_comms", "limiter", "memory", "fits");
  for (const PlanCandidate& each : listed) {
    const PlannedStep& step = each.step;
    text += fmt::format("{:<32} {:<22} {:<28} {:>9} {:>9} {:>9} {:>9} {:<8} {:>9}  {}\n",
                        laid_text(each.step.mesh, each.layout), to_string(step.strategy), form_text(step.form),
                        to_string(step.lower), to_string(step.scheduled), to_string(step.upper), to_string(step.comms),
                        name_of(step.limiter), to_string(step.memory.total()), fits_text(each));
  }
  if (answer.candidates.size() > listed.size()) {
    text += fmt::format("(and {} more)\n", answer.candidates.size() - listed.size());
  }
  const PlanCandidate& best = answer.candidates[0];
  text += "\n" + comparison(listed);
  text += repeated_text(best.step);
  if (!best.fits()) text += "None fits, whatever is computed again.\n";
  if (!best.knows_memory()) text += "What a rank's memory holds is not known.\n";
  const Index chips = best.step.mesh.ranks();
  text += fmt::format(
      "At {} a step {} tokens take {}: {:.1f}% of the peak of {} chip{} by the model's work on each.\n",
      to_string(best.step.scheduled), short_count(answer.options.tokens),
      days(best.step.scheduled * (answer.options.tokens / static_cast<double>(answer.question.run.tokens))),
      100 * ((best.step.flops - best.step.repeated) / answer.question.closed.rates.compute / best.step.scheduled),
      chips, chips == 1 ? "" : "s");
  return text + context_text(answer, best.step);
}

}  // namespace

std::string plan_text(const PlanAnswer& answer) {
  return introduction(answer) + counts_text(answer) + memory_text(answer) + closed_form_text(answer) +
         priced_text(answer);
}

}  // namespace shardline::tools
