#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/output/text.h"
#include "tools/plan/generate_answer.h"

namespace shardline::tools {
namespace {

std::string of_chips_text(double chips) { return fmt::format("{} chip{}", chips, chips == 1 ? "" : "s"); }

/// A rate with four digits, or three and a prefix: "228.4", "21.5 k".
std::string rate_text(double rate) { return rate < 1e4 ? fmt::format("{:.4g}", rate) : short_count(rate); }

std::string generation_introduction(const GenerateAnswer& answer) {
  const GenerateQuestion& question = answer.question;
  const FrontierQuery& query = question.frontier;
  const GenerationModel& model = query.model;
  std::string text = fmt::format("model {}: {} parameters", answer.options.model, short_count(answer.parameters));
  if (model.parameters != answer.parameters) {
    text += fmt::format(", {} that a token passes", short_count(model.parameters));
  }
  text += fmt::format("; weights in {}: {}; caches in {}: {} a token\n", question.weights.name,
                      to_string(model.weights), question.caches.name, to_string(model.cache_per_token));
  text += fmt::format("{} {}: {} of products in {}; ", question.hardware.given ? "machine" : "hardware",
                      question.hardware.name, to_string(query.chip.compute), question.products);
  if (question.knows_memory()) text += to_string(query.chip.capacity) + " of ";
  text += fmt::format("memory at {}", to_string(query.chip.memory));
  if (query.links.link.value > 0) {
    text += fmt::format(
        "; {} over {}", to_string(query.links.link),
        query.links.rings ? fmt::format("each of {} torus axes both ways", query.links.torus_axes) : "the link");
  }
  return text + fmt::format("\nprompts of {} tokens, {} new tokens, caches of {}: {} each\n", question.prompt_tokens,
                            question.new_tokens, question.context, to_string(model.cache_per_token * query.context));
}

/// What the memory of a server holds.
std::string generation_memory_text(const GenerateAnswer& answer) {
  if (!answer.most) return "memory      what a chip holds is not known\n";
  const GenerateQuestion& question = answer.question;
  const FrontierQuery& query = question.frontier;
  const auto chips = static_cast<double>(question.chips);
  const Bytes caches = query.model.cache_per_token * (query.context * static_cast<double>(question.batch));
  std::string text =
      fmt::format("memory      {} of weights and {} of caches, of {}; {} sequence{} fit{}\n",
                  to_string(query.model.weights), to_string(caches), to_string(query.chip.capacity * chips),
                  *answer.most, *answer.most == 1 ? "" : "s", *answer.most == 1 ? "s" : "");
  if (!answer.decode.fits) {
    text += fmt::format("            {} sequences do not fit; {} hold them\n", question.batch,
                        of_chips_text(static_cast<double>(answer.least_chips)));
  }
  return text;
}

/// What takes most of a step.
std::string what_takes_most(const FrontierPoint& point) {
  const DecodeStep& step = point.step;
  if (point.link_bound()) return "links bind";
  const Seconds weights = std::max(step.parameters, step.flops);
  if (weights > std::max(step.caches, step.attention)) {
    return step.compute_bound() ? "FLOPs take most of it" : "reading parameters takes most of it";
  }
  return step.attention > step.caches ? "attention's FLOPs take most of it" : "reading caches takes most of it";
}

std::string generation_decode_text(const GenerateAnswer& answer) {
  const FrontierPoint& decode = answer.decode;
  const DecodeStep& step = decode.step;
  std::string text =
      fmt::format("decode      {} a step{}: caches {} + the longer of parameters {} and FLOPs {} (section 7.1.5)\n",
                  to_string(step.time()), decode.links.time.value > 0 ? " without links" : "",
                  to_string(std::max(step.caches, step.attention)), to_string(step.parameters), to_string(step.flops));
  text += fmt::format("            {}; FLOPs take longer than reading all weights from {:.0f} sequences on\n",
                      what_takes_most(decode), std::ceil(answer.critical));
  if (step.attention > step.caches) {
    text += fmt::format("            attention's FLOPs take {}, longer than reading the caches, {}\n",
                        to_string(step.attention), to_string(step.caches));
  }
  if (decode.links.time.value == 0) return text;
  text += fmt::format("links       {} a step, {}: a step takes {} if all overlaps, {} if nothing does\n",
                      to_string(decode.links.time), name_of(decode.links.split), to_string(decode.lower()),
                      to_string(decode.upper()));
  if (answer.least_chips_of_two_axes) {
    text += fmt::format("            from {:.0f} chips on an MLP moves faster in 2D, hops left out (exercise 7.7)\n",
                        std::ceil(*answer.least_chips_of_two_axes));
  }
  return text;
}

std::string generation_serving_text(const GenerateAnswer& answer) {
  const FrontierPoint& decode = answer.decode;
  const std::string server = of_chips_text(decode.load.chips);
  std::string text = fmt::format(
      "throughput  {} tokens/s a chip, {} in all; {:.3g} queries/s a chip; {} tokens leave the caches a "
      "step\n",
      rate_text(decode.tokens_per_chip()), rate_text(decode.tokens_per_chip() * decode.load.chips),
      answer.queries_per_chip(), rate_text(answer.evicted()));
  text +=
      fmt::format("prefill     {} a prompt on {} at {:.0f}% of the peak (section 8.1.2); {} with attention counted\n",
                  to_string(answer.prefill.without_attention()), server, 100 * answer.options.utilisation,
                  to_string(answer.prefill.total()));
  text += fmt::format("servers     {:.2f} of {} prefill for each that generates; {:.2f} with attention counted\n",
                      answer.servers(false), server, answer.servers(true));
  if (answer.options.price_per_hour > 0) {
    text +=
        fmt::format("cost        {:.3g} a million new tokens, {:.3g} a million prompt tokens, at {} an hour and chip\n",
                    answer.cost_of_new(), answer.cost_of_prompt(), plain_number(answer.options.price_per_hour));
  }
  return text;
}

/// Book section 8.1.1: the smallest slices, and twice as many chips.
std::string generation_slices_text(const GenerateAnswer& answer) {
  if (answer.slices.empty()) return "";
  std::string text = fmt::format(
      "\n(b) The smallest slice of a power of two, and its double, full of caches of {} tokens; weights and caches "
      "both "
      "in one type\n    (book section 8.1.1)\n\n{:<6} {:>6} {:>10} {:>10} {:>10} {:>10} {:>10} {:>9} {:>10}\n",
      answer.question.context, "type", "chips", "weights", "room", "sequences", "FLOPs from", "step", "tokens/s",
      "queries/s");
  for (const SliceAnswer& each : answer.slices) {
    text += fmt::format("{:<6} {:>6} {:>10} {:>10} {:>10} {:>10.0f} {:>10} {:>9} {:>10}\n", each.type.name,
                        each.point.load.chips, to_string(each.weights), to_string(each.room), each.point.load.sequences,
                        std::ceil(each.critical), to_string(each.point.lower()),
                        rate_text(each.point.tokens_per_chip()), fmt::format("{:.3g}", each.queries_per_chip));
  }
  return text +
         "room: what the weights leave; FLOPs from: the batch from which on FLOPs bind; tokens and queries: of a "
         "chip\n";
}

std::string point_text(const GenerateAnswer& answer, const FrontierPoint& point) {
  const DecodeStep& step = point.step;
  std::string text =
      fmt::format("{:>6} {:>6} {:>9} {:>9} {:>10} {:>9} {:>9} {:>9}  {:<23} {:>10}", point.load.chips,
                  point.load.sequences, to_string(point.lower()), to_string(point.upper()), to_string(step.parameters),
                  to_string(std::max(step.caches, step.attention)), to_string(step.flops), to_string(point.links.time),
                  name_of(point.links.split), rate_text(point.tokens_per_chip()));
  const double price = answer.options.price_per_hour;
  if (price > 0) {
    const double cost = cost_per_million(price, point.load.chips, point.lower(), point.load.sequences);
    text += fmt::format(" {:>10}", fmt::format("{:.3g}", cost));
  }
  return text + "\n";
}

std::string point_heading(const GenerateAnswer& answer) {
  return fmt::format("{:>6} {:>6} {:>9} {:>9} {:>10} {:>9} {:>9} {:>9}  {:<23} {:>10}{}\n", "chips", "batch", "lower",
                     "upper", "parameters", "caches", "FLOPs", "links", "split", "tokens/s",
                     answer.options.price_per_hour > 0 ? fmt::format(" {:>10}", "cost") : "");
}

/// Those that no other beats, the fastest first.
std::vector<FrontierPoint> best_points(std::vector<FrontierPoint> points) {
  std::erase_if(points, [](const FrontierPoint& each) { return !each.best; });
  std::sort(points.begin(), points.end(),
            [](const FrontierPoint& a, const FrontierPoint& b) { return a.lower() < b.lower(); });
  return points;
}

std::string generation_frontier_text(const GenerateAnswer& answer) {
  std::string text = fmt::format(
      "\n(c) The frontier of latency and throughput (book section 8.2): of batches 1, 2, 4, ... and the largest that "
      "fits,\n    at most {}, on up to {} those that no other beats in both. lower: links and the rest overlap; upper: "
      "they do not;\n    tokens/s of a chip, by lower\n\n",
      answer.largest_batch, of_chips_text(static_cast<double>(answer.question.slices.back())));
  text += point_heading(answer);
  for (const FrontierPoint& point : best_points(answer.frontier)) text += point_text(answer, point);
  const std::optional<double>& limit = answer.options.generate.step_limit;
  if (!limit) return text;
  text +=
      fmt::format("\nMost tokens a chip with steps of at most {}, of all batches up to {}:", to_string(Seconds(*limit)),
                  answer.largest_batch);
  if (!answer.within) return text + " none is so fast\n";
  return text + "\n" + point_heading(answer) + point_text(answer, *answer.within);
}

}  // namespace

std::string generate_text(const GenerateAnswer& answer) {
  const FrontierPoint& decode = answer.decode;
  return generation_introduction(answer) +
         fmt::format("\nbatch {} on {}\n", answer.question.batch, of_chips_text(decode.load.chips)) +
         generation_memory_text(answer) + generation_decode_text(answer) +
         derived_summary_text(answer.question, answer.derived) + generation_serving_text(answer) +
         derived_text(answer.question, answer.derived) + generation_slices_text(answer) +
         generation_frontier_text(answer);
}

}  // namespace shardline::tools
