#include "program/execute.h"

#include <cstring>

#include "collectives/arena.h"
#include "collectives/collectives.h"
#include "collectives/packing.h"
#include "program/print.h"
#include "program/run_phase.h"
#include "runtime/base/check.h"
#include "runtime/blocks.h"

namespace shardline {
namespace {

/// FNV-1a over the printed program, the sizes and types of its arrays and the constants of its operations: enough to
/// see that two ranks derived different ones.
std::uint64_t hash_of(const RankProgram& program, const ElementTypes& types) {
  std::string text;
  for (const std::string& line : lines(program)) text += line + "\n";
  for (std::size_t i = 0; i < program.program.arrays.size(); ++i) {
    text += to_string(program.program.arrays[i].shape);
    text += name_of(types.of(program.program, static_cast<ArrayId>(i)));
  }
  for (const Operation& op : program.program.operations) {
    const Attributes& a = op.attributes;
    text += fmt::format("{} {} {} {} {} {} {} {} {};", a.epsilon, a.theta, a.sign, a.scale, a.adamw.beta1,
                        a.adamw.beta2, a.adamw.eps, a.adamw.weight_decay, a.adamw.clip_norm);
  }
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return hash;
}

/// The ranges of this rank's slice of a block along one dim.
std::vector<Range> slice_ranges(const Shape& shape, const Step& step, const AbstractMesh& mesh, Index rank) {
  std::vector<Range> ranges;
  for (const Index extent : shape) ranges.push_back({0, extent});
  const auto dim = static_cast<std::size_t>(step.to_dim);
  ranges[dim] = nested_block(shape[dim], step.axes, mesh, mesh.coordinates(rank));
  return ranges;
}

/// True at coordinate 0 of every one of `axes`.
bool at_origin(const Axes& axes, const AbstractMesh& mesh, Index rank) {
  return mesh.position_in_group(rank, axes) == 0;
}

}  // namespace

Executor::Executor(const RankProgram& program, collectives::Engine& engine, ElementTypes types,
                   const std::vector<StepEstimate>& estimates)
    : program_(program),
      engine_(engine),
      types_(std::move(types)),
      rank_(engine.mesh().rank()),
      liveness_(program),
      plan_(plan_arena(program, types_, liveness_)),
      values_(program.versions.size()) {
  SHARDLINE_CHECK(engine.mesh().axes() == program.mesh, "a program for mesh {} on mesh {}", program.mesh.to_string(),
                  engine.mesh().axes().to_string());
  compare_ranks();
  describe(estimates);
  take_arena();
}

void Executor::take_arena() {
  if (engine_.arena() == nullptr || plan_.bytes == 0) return;
  arena_ = engine_.arena()->try_allocate(DType::i64, {plan_.bytes / size_of(DType::i64)});
}

/// Collective over the mesh: `block`, copied to the arena unless it is there or there is no room.
Tensor Executor::in_arena(VersionId input, Tensor block) {
  const std::shared_ptr<collectives::Arena>& arena = engine_.arena();
  if (arena == nullptr || !plan_.inputs.contains(input) || arena->contains(block)) return block;
  at(input) = Tensor();  // its room may be had again
  std::optional<Tensor> room = arena->try_allocate(block.dtype(), block.shape());
  if (!room) return block;
  if (block.bytes() > 0) std::memcpy(room->data(), block.data(), static_cast<std::size_t>(block.bytes()));
  return {block.dtype(), block.shape(), counted(room->memory(), block.bytes())};
}

void Executor::compare_ranks() const {
  const mpi::Communicator& comm = engine_.mesh().comm();
  const std::uint64_t hash = hash_of(program_, types_);
  const std::string mine(reinterpret_cast<const char*>(&hash), sizeof hash);
  const double differs = comm.broadcast(mine, 0) == mine ? 0 : 1;
  SHARDLINE_CHECK(comm.max(differs) == 0, "the ranks derived different programs (rank {} {} rank 0)", rank_,
                  differs > 0 ? "differs from" : "agrees with");
}

void Executor::describe(const std::vector<StepEstimate>& estimates) {
  SHARDLINE_CHECK(estimates.size() == program_.steps.size(), "{} estimates for {} steps", estimates.size(),
                  program_.steps.size());
  for (std::size_t i = 0; i < estimates.size(); ++i) {
    const Step& step = program_.steps[i];
    const StepEstimate& e = estimates[i];
    trace_.describe({.name = to_string(program_, step),
                     .kind = kind_name(program_, step),
                     .axis = step.axes.empty() ? "" : to_string(step.axes),
                     .limiter = std::string(roofline::name_of(e.price.limiter)),
                     .communicates = communicates(step.kind),
                     .bytes = e.bytes,
                     .wire_bytes = e.wire_bytes,
                     .flops = e.flops,
                     .predicted = e.price.time});
  }
}

Tensor Executor::fresh(VersionId v) const { return Tensor(dtype(v), local_shape(program_, v, rank_)); }

void Executor::set(ArrayId input, Tensor block) {
  const auto version = program_.inputs.find(input);
  SHARDLINE_CHECK(version != program_.inputs.end(), "{} is not an input", program_.program.array(input).name);
  const Shape expected = local_shape(program_, version->second, rank_);
  SHARDLINE_CHECK(block.dtype() == dtype(version->second) && block.shape() == expected,
                  "input {} on rank {} is {} {}, given {} {}", program_.program.array(input).name, rank_,
                  name_of(dtype(version->second)), to_string(expected), name_of(block.dtype()),
                  to_string(block.shape()));
  at(version->second) = in_arena(version->second, std::move(block));
  set_[input] = true;
}

void Executor::set_scalar(ArrayId input, double value) {
  Tensor scalar(DType::f64, {});
  scalar.view<double>()[0] = value;
  set(input, scalar.as(types_.of(program_.program, input)));
}

const Tensor& Executor::get(ArrayId array) const {
  const auto final_version = program_.finals.find(array);
  if (final_version != program_.finals.end()) return values_[static_cast<std::size_t>(final_version->second)];
  const auto input = program_.inputs.find(array);
  SHARDLINE_CHECK(input != program_.inputs.end(), "{} is neither an input nor an output",
                  program_.program.array(array).name);
  return values_[static_cast<std::size_t>(input->second)];
}

double Executor::get_scalar(ArrayId array) const { return get(array).as(DType::f64).view<double>()[0]; }

void Executor::run() {
  for (const ArrayId input : program_.program.inputs) {
    SHARDLINE_CHECK(set_[input], "input {} is not set", program_.program.array(input).name);
  }
  for (std::size_t i = 0; i < program_.steps.size(); ++i) run_step(program_.steps[i], static_cast<int>(i));
  replace_state();
}

void Executor::run_step(const Step& step, int number) {
  const Seconds begin = now();
  step.kind == StepKind::compute ? compute(step, number) : convert(step, number);
  const Seconds end = now();
  trace_.record(
      {.label = number, .begin = begin, .end = end, .exposed = communicates(step.kind) ? end - begin : Seconds(0)});
  release(number);
}

void Executor::compute(const Step& step, int number) {
  const Operation& op = program_.operation_of(step);
  std::vector<const Tensor*> operands;
  for (const VersionId v : step.operands) operands.push_back(&at(v));
  std::vector<Tensor*> results;
  for (std::size_t k = 0; k < step.results.size(); ++k) {
    at(step.results[k]) = result_storage(number, k);
    results.push_back(&at(step.results[k]));
  }
  run_phase(op, static_cast<std::size_t>(step.phase), index_ranges(program_, step, rank_), operands, results);
}

void Executor::convert(const Step& step, int number) {
  const VersionId from = step.operands[0];
  const VersionId to = step.results[0];
  const Version& source = program_.version(from);
  Tensor& in = at(from);
  Tensor out = result_storage(number, 0);
  switch (step.kind) {
    case StepKind::all_gather:
      collectives::all_gather(engine_, step.axes, in, step.from_dim, out);
      break;
    case StepKind::reduce_scatter:
      collectives::reduce_scatter(engine_, step.axes, source.sharding.reduce, in, step.to_dim, out,
                                  {.wire = step.wire});
      break;
    case StepKind::all_reduce:
      collectives::all_reduce(engine_, step.axes, source.sharding.reduce, in, out, {.wire = step.wire});
      break;
    case StepKind::all_to_all:
      collectives::all_to_all(engine_, step.axes, in, step.from_dim, step.to_dim, out);
      break;
    case StepKind::reshard:
      collectives::reshard(engine_, in, program_.program.array(source.array).shape, source.sharding,
                           program_.version(to).sharding, out);
      break;
    case StepKind::slice:
      collectives::copy_box({in.data(), in.shape(), slice_ranges(in.shape(), step, program_.mesh, rank_)},
                            {out.data(), out.shape(), collectives::whole(out.shape())}, size_of(in.dtype()));
      break;
    case StepKind::owe:
      if (out.bytes() == 0) break;
      if (at_origin(step.axes, program_.mesh, rank_)) {
        std::memcpy(out.data(), in.data(), static_cast<std::size_t>(out.bytes()));
      } else {
        std::memset(out.data(), 0, static_cast<std::size_t>(out.bytes()));
      }
      break;
    case StepKind::compute:
      throw Error("a computation is not a conversion");
  }
  at(to) = std::move(out);
}

Tensor Executor::result_storage(int number, std::size_t result) {
  const VersionId old = liveness_.storage_taken(number, result);
  if (old >= 0) return at(old);
  const VersionId made = program_.steps[static_cast<std::size_t>(number)].results[result];
  const auto place = plan_.places.find(made);
  if (!arena_ || place == plan_.places.end()) return fresh(made);
  const Shape shape = local_shape(program_, made, rank_);
  const std::shared_ptr<std::byte> memory(arena_->memory(), arena_->data() + place->second);
  return {dtype(made), shape, counted(memory, element_count(shape) * size_of(dtype(made)))};
}

void Executor::release(int number) {
  for (const VersionId v : liveness_.freed_after(number)) at(v) = Tensor();
}

void Executor::replace_state() {
  for (const auto& [before, after] : program_.program.updates) {
    Tensor& state = at(program_.inputs.at(before));
    const Tensor& updated = at(program_.finals.at(after));
    if (state.data() == updated.data()) continue;
    const bool shared =
        engine_.arena() != nullptr && (engine_.arena()->contains(state) || engine_.arena()->contains(updated));
    if (!shared) {
      state = updated;
    } else if (state.bytes() > 0) {  // each place of the arena is for its own version
      std::memcpy(state.data(), updated.data(), static_cast<std::size_t>(state.bytes()));
    }
  }
}

}  // namespace shardline
