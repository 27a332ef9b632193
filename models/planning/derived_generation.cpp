#include "models/planning/derived_generation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "models/architecture/accounting.h"
#include "program/price/estimate.h"
#include "program/price/wire.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

/// Layers of a derived program. All layers between the first and the last are the same.
constexpr Index kDerivedLayers = 3;

/// What a rank does in some layers of a phase.
struct PhaseWork {
  Bytes parameters = {};  ///< read
  Bytes caches = {};      ///< read
  Bytes kept = {};        ///< parameters and caches that rest on the rank
  Flops products = {};
  Flops attention = {};
  Seconds collectives = {};
  Seconds all_reduces = {};
  std::map<std::string, Seconds> links = {};  ///< how long each is busy

  void add(const PhaseWork& other, double times) {
    parameters += other.parameters * times;
    caches += other.caches * times;
    kept += other.kept * times;
    products += other.products * times;
    attention += other.attention * times;
    collectives += other.collectives * times;
    all_reduces += other.all_reduces * times;
    for (const auto& [link, busy] : other.links) links[link] += busy * times;
  }

  /// The collectives beside `busy` time of reading and computing in the types that are stored. The schedule hides them
  /// behind a program that may read more bytes, but no link is faster than its own work.
  Seconds collectives_beside(Seconds busy) const {
    Seconds shown = collectives;
    for (const auto& [link, moving] : links) shown = std::max(shown, moving - busy);
    return shown;
  }
};

/// Counts the work of a phase, layer by layer.
class WorkCounter {
 public:
  WorkCounter(const GenerationPhase& phase, const DerivedQuery& query, double share_of_experts,
              const roofline::Hardware& hardware)
      : compiled_(*phase.compiled),
        program_(compiled_.program()),
        hardware_(hardware),
        weight_(query.weight),
        cache_(query.cache) {
    for (const ModelParameter& each : phase.model.parameters) {
      share_read_[each.array] = each.by_expert ? share_of_experts : 1;
    }
  }

  std::map<int, PhaseWork> by_layer() {
    const std::vector<StepEstimate>& estimates = compiled_.estimates();
    const std::vector<Seconds>& taken = compiled_.time().taken;
    std::map<int, PhaseWork> layers;
    for (std::size_t i = 0; i < program_.steps.size(); ++i) {
      const Step& step = program_.steps[i];
      PhaseWork& work = layers[step.region.layer];
      add_arrays(work, step);
      if (step.kind == StepKind::compute) {
        Flops& flops = is_attention(step) ? work.attention : work.products;
        flops += estimates[i].flops;
      }
      const bool moves = communicates(step.kind);
      if (moves) work.collectives += taken[i];
      // A product takes more than its price beside its collective.
      if (!moves && is_fused(compiled_.schedule(), i)) work.collectives += taken[i] - estimates[i].price.time;
      if (step.kind == StepKind::all_reduce) work.all_reduces += taken[i];
    }
    for (const ScheduledSpan& span : compiled_.time().spans) {
      const Step& step = program_.steps[static_cast<std::size_t>(span.step)];
      if (communicates(step.kind)) add_links(layers[step.region.layer], step.axes, span.end - span.begin);
    }
    return layers;
  }

 private:
  /// Axes may share a link.
  void add_links(PhaseWork& work, const Axes& axes, Seconds busy) const {
    std::set<std::string> links;
    for (const Axis& axis : axes) {
      const std::string& resource = hardware_.link(axis).resource;
      links.insert(resource.empty() ? "axis " + axis : resource);
    }
    for (const std::string& link : links) work.links[link] += busy;
  }

  const std::string& kind_of(const Step& step) const { return program_.operation_of(step).kind; }

  bool is_attention(const Step& step) const {
    return kind_of(step) == "attention" || kind_of(step) == "cache_attention";
  }

  /// What rests counts once, where it is first used, and what is read wherever a kernel reads it. Looking up rows of a
  /// table and writing into a cache read next to nothing.
  void add_arrays(PhaseWork& work, const Step& step) {
    const bool computes = step.kind == StepKind::compute;
    const bool reads = computes && kind_of(step) != "embed" && kind_of(step) != "write_at";
    for (const VersionId v : step.operands) {
      const ArrayId array = program_.version(v).array;
      const bool is_cache = program_.array_of(v).role == Role::cache;
      const auto parameter = share_read_.find(array);
      if (!is_cache && parameter == share_read_.end()) continue;
      const Bytes bytes =
          (is_cache ? cache_ : weight_) * static_cast<double>(element_count(local_shape(program_, v, 0)));
      if (rests(array, v) && kept_.insert(v).second) work.kept += bytes;
      if (!reads) continue;
      if (is_cache) {
        work.caches += bytes;
      } else {
        work.parameters += bytes * parameter->second;
      }
    }
  }

  bool rests(ArrayId array, VersionId v) const {
    const auto input = program_.inputs.find(array);
    return input != program_.inputs.end() && input->second == v;
  }

  const Compiled& compiled_;
  const RankProgram& program_;
  const roofline::Hardware& hardware_;
  Bytes weight_;  ///< of a stored element
  Bytes cache_;
  std::map<ArrayId, double> share_read_;  ///< of each parameter
  std::set<VersionId> kept_;
};

/// The model with the layers that are derived.
TransformerConfig few_layers(const TransformerConfig& config) {
  const std::string counted = counted_only(config);
  require(counted.empty(), "no program has {}", counted);
  TransformerConfig few = config;
  few.layers = std::min(config.layers, kDerivedLayers);
  return few;
}

/// The layer that stands for those that are not derived.
int middle_layer(const TransformerConfig& few) { return static_cast<int>((few.layers + 1) / 2); }

/// The work of all layers of a model, by the schedule of a few. `tokens` choose experts.
PhaseWork whole_work(const GenerationPhase& phase, const DerivedQuery& query, const TransformerConfig& few,
                     Index tokens, const roofline::Hardware& hardware) {
  const Experts& experts = query.config.experts;
  const double chosen =
      experts.count > 0 ? static_cast<double>(experts.chosen) / static_cast<double>(experts.count) : 1;
  const double share = 1 - std::pow(1 - chosen, static_cast<double>(tokens));
  const std::map<int, PhaseWork> layers = WorkCounter(phase, query, share, hardware).by_layer();
  PhaseWork whole;
  for (const auto& [layer, work] : layers) whole.add(work, 1);
  whole.add(layers.at(middle_layer(few)), static_cast<double>(query.config.layers - few.layers));
  return whole;
}

/// Scheduled and priced for chips, which have no caches that strips could stay in.
CompileOptions scheduled_for(const roofline::Hardware& hardware) {
  return {.scheduling = {{.strip_bytes = 0}}, .prices = hardware, .predictions = hardware};
}

/// Decode of a model with few layers.
GenerationPhase derived_phase(const DerivedQuery& query, const TransformerConfig& few, const AbstractMesh& mesh,
                              const Strategy& strategy, const CompileOptions& how) {
  const GenerationForm form{.sequences = query.sequences,
                            .context = query.context,
                            .dtype = query.dtype,
                            .cache_dtype = query.cache_dtype,
                            .decode = strategy,
                            .how = how};
  return decode_phase(few, form, mesh, strategy);
}

}  // namespace

LayerMoves moves_of_layer(const RankProgram& program, int layer) {
  LayerMoves moves;
  std::map<VersionId, Index> depth;  // collectives that a version waits for, one after another
  std::set<Index> rounds;
  for (const Step& step : program.steps) {
    Index waits = 0;
    for (const VersionId v : step.operands) waits = std::max(waits, depth[v]);
    if (communicates(step.kind)) {
      ++waits;
      if (step.region.layer == layer) {
        const Index element = size_of(program.array_of(step.operands[0]).dtype);
        rounds.insert(waits);
        ++moves.collectives;
        moves.sent += Bytes(static_cast<double>(moved(program, step).sent * element));
      }
    }
    for (const VersionId v : step.results) depth[v] = waits;
  }
  moves.rounds = static_cast<Index>(rounds.size());
  return moves;
}

DerivedDecode derived_decode(const DerivedQuery& query, const AbstractMesh& mesh, const Strategy& strategy,
                             const roofline::Hardware& hardware) {
  const TransformerConfig few = few_layers(query.config);
  const GenerationPhase phase = derived_phase(query, few, mesh, strategy, scheduled_for(hardware));
  const PhaseWork work = whole_work(phase, query, few, query.sequences, hardware);
  const DecodeStep step{.parameters = work.parameters / hardware.memory,
                        .caches = work.caches / hardware.memory,
                        .flops = work.products / hardware.matmul,
                        .attention = work.attention / hardware.matmul};
  return {.mesh = mesh,
          .strategy = strategy,
          .step = step,
          .collectives = work.collectives_beside(step.time()),
          .all_reduces = work.all_reduces,
          .layer = moves_of_layer(phase.compiled->program(), middle_layer(few)),
          .memory = work.kept};
}

LayerMoves layer_of_decode(const DerivedQuery& query, const AbstractMesh& mesh, const Strategy& strategy) {
  const TransformerConfig few = few_layers(query.config);
  const GenerationPhase phase = derived_phase(query, few, mesh, strategy, {});
  return moves_of_layer(phase.compiled->program(), middle_layer(few));
}

DerivedPrefill derived_prefill(const DerivedQuery& query, const AbstractMesh& mesh, const Strategy& decode,
                               const Strategy& strategy, const roofline::Hardware& hardware) {
  require(query.utilisation > 0, "a utilisation of {}: more than 0", query.utilisation);
  const TransformerConfig few = few_layers(query.config);
  const GenerationForm form{.sequences = 1,
                            .context = query.prompt_tokens,
                            .longest = query.prompt_tokens,
                            .chunk = query.prompt_tokens,
                            .dtype = query.dtype,
                            .cache_dtype = query.cache_dtype,
                            .decode = decode,
                            .how = scheduled_for(hardware)};
  const GenerationPhase phase = first_phase(few, form, mesh, strategy);
  const PhaseWork work = whole_work(phase, query, few, query.prompt_tokens, hardware);
  const FlopsPerSecond reached = hardware.matmul * query.utilisation;
  const PrefillTime taken{.products = work.products / reached,
                          .parameters = work.parameters / hardware.memory,
                          .attention = work.attention / reached};
  return {.strategy = strategy,
          .work = taken,
          .collectives = work.collectives_beside(taken.total()),
          .layer = moves_of_layer(phase.compiled->program(), middle_layer(few))};
}

}  // namespace shardline
