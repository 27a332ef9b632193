#include "tools/plan/generate_answer.h"

#include <algorithm>

#include "models/architecture/accounting.h"

namespace shardline::tools {
namespace {

constexpr Index kUsualBatches = 4096;  ///< the frontier has no larger ones, unless one is asked for

/// The smallest slice that holds the weights in each type, and its double.
std::vector<SliceAnswer> slice_answers(const GenerateQuestion& question) {
  std::vector<SliceAnswer> slices;
  if (!question.knows_memory()) return slices;
  for (const char* name : {"bf16", "int8", "int4"}) {
    const StoredType type = stored_type("--dtype", name, {name});
    const FrontierQuery query = question.stored_in(type);
    const Index least = least_slice(query.model, query.chip, {.sequences = 1, .context = query.context});
    for (const Index chips : {least, 2 * least}) {
      if (chips > 1 && !question.has_links()) continue;
      const auto n = static_cast<double>(chips);
      const double fit = most_sequences(query.model, query.chip, n, query.context);
      const FrontierPoint point = frontier_point(query, n, fit);
      slices.push_back(
          {.type = type,
           .weights = query.model.weights,
           .room = cache_room(query.model, query.chip, n),
           .critical = critical_batch(query.model, query.chip),
           .point = point,
           .queries_per_chip = queries_per_chip(point.lower(), point.load, static_cast<double>(question.new_tokens))});
    }
  }
  return slices;
}

}  // namespace

double GenerateAnswer::servers(bool with_attention) const {
  const Seconds prompt = with_attention ? prefill.total() : prefill.without_attention();
  return prefill_servers(prompt, decode.lower(), decode.load.sequences, static_cast<double>(question.new_tokens));
}

double GenerateAnswer::queries_per_chip() const {
  return shardline::queries_per_chip(decode.lower(), decode.load, static_cast<double>(question.new_tokens));
}

double GenerateAnswer::evicted() const {
  return evicted_tokens(decode.load.sequences, static_cast<double>(question.prompt_tokens),
                        static_cast<double>(question.new_tokens));
}

double GenerateAnswer::cost_of_new() const {
  return cost_per_million(options.price_per_hour, decode.load.chips, decode.lower(), decode.load.sequences);
}

double GenerateAnswer::cost_of_prompt() const {
  return cost_per_million(options.price_per_hour, decode.load.chips, prefill.total(),
                          static_cast<double>(question.prompt_tokens));
}

GenerateAnswer generate_answer_of(const PlanOptions& options) {
  GenerateAnswer answer;
  answer.options = options;
  answer.question = generate_question_of(options);
  const GenerateQuestion& question = answer.question;
  const FrontierQuery& query = question.frontier;
  const auto chips = static_cast<double>(question.chips);
  answer.parameters = static_cast<double>(parameter_count(question.config));
  answer.critical = critical_batch(query.model, query.chip);
  answer.decode = frontier_point(query, chips, static_cast<double>(question.batch));
  if (question.knows_memory()) {
    answer.most = most_sequences(query.model, query.chip, chips, query.context);
    answer.least_chips = least_slice(query.model, query.chip, answer.decode.load);
  }
  answer.prefill = prefill_time(
      query.model, query.chip,
      {.chips = chips, .tokens = static_cast<double>(question.prompt_tokens), .utilisation = options.utilisation});
  answer.derived = derived_answer_of(question, options.utilisation);
  answer.slices = slice_answers(question);
  answer.largest_batch = std::max(kUsualBatches, question.batch);
  answer.frontier = frontier(query, question.slices, answer.largest_batch);
  if (options.generate.step_limit) {
    answer.within = best_within(query, question.slices, answer.largest_batch, Seconds(*options.generate.step_limit));
  }
  answer.least_chips_of_two_axes = least_chips_for_two_axes(query.layer, query.links);
  return answer;
}

}  // namespace shardline::tools
