#include "models/parity/generation_parity.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "collectives/shared/arena.h"
#include "models/generation/generator.h"
#include "models/parity/parity.h"
#include "runtime/base/check.h"
#include "runtime/base/counter_rng.h"

namespace shardline {
namespace {

constexpr Index kNewTokens = 4;
constexpr std::uint64_t kSeed = 3;

/// Prompts of different lengths, one of a single token.
std::vector<std::vector<std::int32_t>> prompts_of(Index vocabulary) {
  std::vector<std::vector<std::int32_t>> prompts;
  const CounterRng rng(kSeed, "prompts");
  Index drawn = 0;
  for (const Index length : {7, 1, 4}) {
    auto& prompt = prompts.emplace_back();
    for (Index t = 0; t < length; ++t) prompt.push_back(static_cast<std::int32_t>(rng.below(drawn++, vocabulary)));
  }
  return prompts;
}

/// The same elements on every mesh. Norms and biases vary too.
void fill_weights(State& state, const Model& model) {
  for (const ModelParameter& parameter : model.parameters) {
    const std::string& name = model.program.array(parameter.array).name;
    const CounterRng rng(kSeed, name);
    constexpr double kLeast = 0.1;
    const double deviation = std::max(parameter.initial_deviation, kLeast);
    state.fill(name, [&](Index i) { return parameter.initial_mean + deviation * rng.normal(i); });
  }
}

std::vector<double> row_of(const Tensor& logits, std::size_t text) {
  const auto row = static_cast<Index>(text);
  const Tensor one = logits.rows({row, row + 1}).as(DType::f64);
  const View<const double> values = one.view<double>();
  return {values.begin(), values.end()};
}

/// Adds the likeliest token of each text.
std::vector<std::int32_t> add_likeliest(const Tensor& logits, GreedyTexts& texts) {
  std::vector<std::int32_t> next;
  for (std::size_t b = 0; b < texts.tokens.size(); ++b) {
    std::vector<double> row = row_of(logits, b);
    next.push_back(static_cast<std::int32_t>(std::max_element(row.begin(), row.end()) - row.begin()));
    texts.tokens[b].push_back(next.back());
    texts.logits[b].push_back(std::move(row));
  }
  return next;
}

/// Collective over `comm`: the texts of a layout. `planted`: the fault had a place.
GreedyTexts generate(const mpi::Communicator& comm, const GenerationLayout& layout, DType dtype, const Fault* fault,
                     bool& planted) {
  const TransformerConfig config = parity_config(layout.task);
  const std::vector<std::vector<std::int32_t>> prompts = prompts_of(config.vocab);
  Index longest = 0;
  for (const auto& prompt : prompts) longest = std::max(longest, static_cast<Index>(prompt.size()));
  const Mesh mesh(layout.mesh, comm);
  collectives::Engine engine(mesh);
  if (!layout.shared_memory) {
    constexpr Index kNoRoom = 64;  // bytes: too small for any array
    collectives::give_arena(engine, kNoRoom);
  }
  GenerationPlan plan(config,
                      {.sequences = static_cast<Index>(prompts.size()),
                       .context = longest + kNewTokens + 1,
                       .longest = longest,
                       .chunk = layout.chunk,
                       .dtype = dtype,
                       .decode = layout.decode,
                       .prefill = layout.prefill},
                      layout.mesh);
  planted = fault != nullptr && fault->in_generation != nullptr && plan.change(fault->in_generation);
  Generator generator(engine, std::move(plan), fill_weights);
  GreedyTexts texts;
  texts.tokens.resize(prompts.size());
  texts.logits.resize(prompts.size());
  std::vector<std::int32_t> next = add_likeliest(generator.prefill(prompts), texts);
  for (Index step = 1; step < kNewTokens; ++step) next = add_likeliest(generator.decode(next), texts);
  return texts;
}

/// The largest difference of two rows, and the largest magnitude of the first.
std::pair<double, double> gap_and_scale(const std::vector<double>& wanted, const std::vector<double>& made) {
  SHARDLINE_CHECK(wanted.size() == made.size(), "{} logits beside {}", made.size(), wanted.size());
  double gap = 0, most = 0;
  for (std::size_t v = 0; v < wanted.size(); ++v) {
    const double distance = std::abs(wanted[v] - made[v]);
    gap = std::isfinite(distance) ? std::max(gap, distance) : std::numeric_limits<double>::infinity();
    most = std::max(most, std::abs(wanted[v]));
  }
  return {gap, most};
}

}  // namespace

TextDifference difference_of(const GreedyTexts& wanted, const GreedyTexts& made) {
  SHARDLINE_CHECK(wanted.tokens.size() == made.tokens.size(), "{} texts beside {}", made.tokens.size(),
                  wanted.tokens.size());
  TextDifference result;
  for (std::size_t b = 0; b < wanted.tokens.size(); ++b) {
    const std::vector<std::int32_t>& want = wanted.tokens[b];
    SHARDLINE_CHECK(want.size() == made.tokens[b].size(), "text {} has {} tokens, not {}", b, made.tokens[b].size(),
                    want.size());
    for (std::size_t t = 0; t < want.size(); ++t) {
      const std::vector<double>& logits = wanted.logits.at(b).at(t);
      const auto [gap, scale] = gap_and_scale(logits, made.logits.at(b).at(t));
      result.logits = std::max(result.logits, gap / scale);
      const std::int32_t other = made.tokens[b][t];
      if (other == want[t]) continue;
      const auto number = static_cast<Index>(t);
      if (!result.first || number < result.first->token) {
        const double apart = logits.at(static_cast<std::size_t>(want[t])) - logits.at(static_cast<std::size_t>(other));
        result.first = {
            .text = static_cast<Index>(b), .token = number, .wanted = want[t], .made = other, .gap = apart / scale};
      }
      break;  // what follows is another text
    }
  }
  return result;
}

std::map<ParityTask, GenerationReference> generation_references() {
  const mpi::Communicator world = mpi::Communicator::world();
  const mpi::Communicator alone = world.split(world.rank(), 0);
  std::map<ParityTask, GenerationReference> references;
  for (const ParityTask task : generation_tasks()) {
    const GenerationLayout layout{.mesh = AbstractMesh::parse("X=1"), .decode = {{"X", default_role()}}, .task = task};
    bool planted = false;
    references[task] = {generate(alone, layout, DType::f64, nullptr, planted),
                        generate(alone, layout, DType::f32, nullptr, planted)};
  }
  return references;
}

bool GenerationDifference::passes() const {
  const bool single = !f32 || (f32->logits <= kSingleTolerance && (!f32->first || f32->first->within_rounding()));
  return !f64.first && f64.logits <= kParityTolerance && single;
}

GenerationDifference compare_generation(const mpi::Communicator& comm, const GenerationLayout& layout,
                                        const GenerationReference& reference, const Fault* fault) {
  GenerationDifference result;
  result.f64 = difference_of(reference.f64, generate(comm, layout, DType::f64, fault, result.planted));
  if (fault != nullptr) return result;
  bool planted = false;
  result.f32 = difference_of(reference.f32, generate(comm, layout, DType::f32, nullptr, planted));
  return result;
}

}  // namespace shardline
