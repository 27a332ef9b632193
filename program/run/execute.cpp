#include "program/run/execute.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "collectives/all_reduce.h"
#include "collectives/move.h"
#include "collectives/shared/arena.h"
#include "program/ops/run_phase.h"
#include "program/plan/bundle.h"
#include "program/run/conversion_run.h"
#include "program/run/fused_run.h"
#include "program/run/panel_run.h"
#include "program/run/step_labels.h"
#include "runtime/base/check.h"
#include "runtime/host/interrupt.h"

namespace shardline {

Executor::Executor(std::shared_ptr<const Compiled> compiled, collectives::Engine& engine)
    : Executor(std::move(compiled), engine, nullptr, nullptr) {}

Executor::Executor(std::shared_ptr<const Compiled> compiled, State& state, StageRanks* stages)
    : Executor(std::move(compiled), state.engine(), &state, stages) {}

Executor::Executor(std::shared_ptr<const Compiled> compiled, collectives::Engine& engine, State* state,
                   StageRanks* stages)
    : compiled_(std::move(compiled)),
      program_(compiled_->program()),
      schedule_(compiled_->schedule()),
      liveness_(compiled_->liveness()),
      plan_(compiled_->arena()),
      engine_(engine),
      state_(state),
      stages_(stages),
      rank_(engine.mesh().rank()),
      values_(program_.versions.size()),
      prepared_(prepare_steps(*compiled_, rank_, values_)),
      sweeps_(prepare_sweeps(*compiled_, rank_, prepared_)) {
  SHARDLINE_CHECK(engine.mesh().axes() == program_.mesh, "a program for mesh {} on mesh {}", program_.mesh.to_string(),
                  engine.mesh().axes().to_string());
  check_place();
  if (state_ != nullptr) bound_ = bind_inputs(*compiled_, *state_);
  std::set<ArrayId> bound;
  for (const BoundInput& each : bound_) bound.insert(each.input);
  for (const ArrayId input : program_.program.inputs) {
    if (!bound.contains(input)) given_.push_back(input);
  }
  compare_ranks();
  for (Label& label : step_labels(*compiled_)) trace_.describe(std::move(label));
  align();
  take_arena();
}

/// A stage's program runs on its stage.
void Executor::check_place() const {
  if (!program_.place) return;
  const StagePlace& place = *program_.place;
  SHARDLINE_CHECK(stages_ != nullptr, "a program of stage {} without the ranks of the stages", place.stage);
  const Mesh& mesh = stages_->moves().mesh();
  SHARDLINE_CHECK(mesh.axes() == AbstractMesh({{place.axis, place.stages}}) && mesh.rank() == place.stage,
                  "a program of stage {} of {} on axis {}, on rank {} of mesh {}", place.stage, place.stages,
                  place.axis, mesh.rank(), mesh.axes().to_string());
}

/// The state input that `array` is or replaces. Null if there is none.
const BoundInput* Executor::find_bound(ArrayId array) const {
  const auto final_version = program_.finals.find(array);
  const auto found = std::find_if(bound_.begin(), bound_.end(), [&](const BoundInput& each) {
    return each.input == array ||
           (each.updated && final_version != program_.finals.end() && *each.updated == final_version->second);
  });
  return found == bound_.end() ? nullptr : &*found;
}

void Executor::take_arena() {
  if (state_ != nullptr && plan_.bytes > 0) arena_ = state_->room(plan_.bytes);
  if (state_ != nullptr) return;
  if (engine_.arena() == nullptr || plan_.bytes == 0) return;
  arena_ = engine_.arena()->try_allocate(DType::i64, {plan_.bytes / size_of(DType::i64)});
}

/// Collective over the mesh: `block`, copied to the arena, unless it lies there or there is no
/// room.
Tensor Executor::in_arena(VersionId input, Tensor block) {
  const std::shared_ptr<collectives::Arena>& arena = engine_.arena();
  if (arena == nullptr || !plan_.inputs.contains(input) || arena->contains(block)) return block;
  at(input) = Tensor();  // frees its room in the arena
  std::optional<Tensor> room = arena->try_allocate(block.dtype(), block.shape());
  if (!room) return block;
  if (block.bytes() > 0) std::memcpy(room->data(), block.data(), static_cast<std::size_t>(block.bytes()));
  return {block.dtype(), block.shape(), counted(room->memory(), block.bytes())};
}

void Executor::compare_ranks() const {
  const mpi::Communicator& comm = engine_.mesh().comm();
  const std::uint64_t hash = hash_of(*compiled_);
  const std::string mine(reinterpret_cast<const char*>(&hash), sizeof hash);
  const double differs = comm.broadcast(mine, 0) == mine ? 0 : 1;
  SHARDLINE_CHECK(comm.max(differs) == 0, "the ranks derived different programs (rank {} {} rank 0)", rank_,
                  differs > 0 ? "differs from" : "agrees with");
}

void Executor::set(ArrayId input, Tensor block) {
  const auto version = program_.inputs.find(input);
  SHARDLINE_CHECK(version != program_.inputs.end(), "{} is not an input", program_.program.array(input).name);
  SHARDLINE_CHECK(find_bound(input) == nullptr, "input {} is found in the state", program_.program.array(input).name);
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
  set(input, scalar.as(program_.program.array(input).dtype));
}

const Tensor& Executor::get(ArrayId array) const {
  if (const BoundInput* bound = find_bound(array)) return state_->block(bound->number);
  const auto final_version = program_.finals.find(array);
  if (final_version != program_.finals.end()) {
    const bool in_room = state_ != nullptr && arena_ && plan_.places.contains(final_version->second);
    SHARDLINE_CHECK(!in_room || state_->last_used_room(this), "{} is gone: another program has run on the state",
                    program_.program.array(array).name);
    return values_[static_cast<std::size_t>(final_version->second)];
  }
  const auto input = program_.inputs.find(array);
  SHARDLINE_CHECK(input != program_.inputs.end(), "{} is neither an input nor an output",
                  program_.program.array(array).name);
  return values_[static_cast<std::size_t>(input->second)];
}

double Executor::get_scalar(ArrayId array) const { return get(array).as(DType::f64).view<double>()[0]; }

void Executor::run() {
  take_state();
  for (const ArrayId input : given_) {
    SHARDLINE_CHECK(set_[input], "input {} is not set", program_.program.array(input).name);
  }
  // An exception must leave nothing in flight. Handles are silent only while it unwinds.
  const struct Landing {
    Executor& executor;
    ~Landing() {
      executor.flights_.clear();
      executor.record_messages(nullptr);
    }
  } landing{*this};
  record_messages(recording_);
  if (recording_ != nullptr) recording_->begin_run();
  for (std::size_t i = 0; i < schedule_.actions.size(); ++i) run_action(static_cast<int>(i));
  replace_state();
  if (recording_ != nullptr) recording_->end_run();
}

void Executor::record_messages(Recording* recording) {
  engine_.set_recording(recording);
  if (stages_ != nullptr) stages_->moves().set_recording(recording);
}

void Executor::enter(int label) {
  if (recording_ != nullptr) recording_->enter(label);
}

void Executor::record(const Span& span, std::vector<TimeRange> parts) {
  trace_.record(span);
  if (recording_ != nullptr) recording_->add(span, std::move(parts));
}

/// Since `begin` the rank has only started a collective or waited for it.
void Executor::record_wait(int label, Seconds begin) {
  if (recording_ != nullptr) recording_->add({label, {begin, now()}});
}

void Executor::run_action(int number) {
  Interruption::attend();
  const Action& action = schedule_.actions[static_cast<std::size_t>(number)];
  switch (action.kind) {
    case ActionKind::run:
      run_step(action.steps[0], action.polls);
      break;
    case ActionKind::start:
      start(action, number);
      break;
    case ActionKind::wait:
      wait(action);
      break;
    case ActionKind::fuse:
      fuse(action, number);
      break;
    case ActionKind::ring:
      go_round(action, number);
      break;
    case ActionKind::sweep:
      sweep(action, number);
      break;
  }
  if (recording_ != nullptr) recording_->sample_memory();
  release(number);
  if (recording_ != nullptr) recording_->sample_memory();
}

void Executor::run_step(int number, bool polls) {
  const Step& s = step(number);
  if (polls) served_ += length(poll());
  const Seconds begin = now();
  make_results(number);
  if (communicates(s.kind)) {
    enter(number);
    start_conversion(engine_, program_, s, blocks_of(s)).wait();
    const Seconds end = now();
    record({.label = number, .begin = begin, .end = end, .exposed = end - begin});
    return record_wait(number, begin);
  }
  std::vector<TimeRange> polled;
  if (s.kind == StepKind::compute) {
    polled = compute(number);
  } else {
    run_local_conversion(program_, s, rank_, at(s.operands[0]), at(s.results[0]));
  }
  const Seconds end = now();
  Seconds polling;
  for (const TimeRange& each : polled) polling += length(each);
  served_ += polling;
  record({.label = number, .begin = begin, .end = end - polling},
         polled.empty() ? std::vector<TimeRange>{} : outside(polled, {begin, end}));
}

std::vector<TimeRange> Executor::compute(int number) {
  const Step& s = step(number);
  const PreparedStep& prepared = prepared_[static_cast<std::size_t>(number)];
  const Operation& op = program_.operation_of(s);
  const auto phase = static_cast<std::size_t>(s.phase);
  if (const auto alone = schedule_.alone.find(number); alone != schedule_.alone.end()) {
    return run_alone(engine_, program_, alone->second, schedule_.panel, [&](VersionId v) -> Tensor& { return at(v); });
  }
  if (schedule_.cuts && op.phases[phase].kernel->form == KernelForm::product) {
    return run_panels(program_.program, op, phase, index_ranges(program_, s, 0), schedule_.panel, prepared.operands,
                      *prepared.results[0]);
  }
  run_phase(program_.program, op, phase, prepared.ranges, prepared.operands, prepared.results);
  return {};
}

ConversionBlocks Executor::blocks_of(const Step& conversion) {
  ConversionBlocks blocks{{}, &at(conversion.results[0])};
  for (const VersionId v : conversion.operands) blocks.in.push_back(&at(v));
  return blocks;
}

void Executor::start(const Action& action, int number) {
  const Seconds begin = now();
  for (const int s : action.steps) make_results(s);
  const int first = action.steps[0];
  enter(first);
  if (action.steps.size() > 1) {
    flights_.emplace(first, start_bundle(action.steps, number));
  } else if (changes_stage(step(first).kind)) {
    flights_.emplace(first, start_move(first));
  } else {
    const Step& s = step(first);
    collectives::Handle handle = start_conversion(engine_, program_, s, blocks_of(s), action.uniform);
    flights_.emplace(first, Flight{std::move(handle), begin, std::nullopt});
  }
  served_ += now() - begin;
  record_wait(first, begin);
}

Executor::Flight Executor::start_bundle(const std::vector<int>& steps, int action) {
  const Seconds begin = now();
  std::vector<const Tensor*> parts;
  for (const int s : steps) parts.push_back(&at(step(s).operands[0]));
  const DType type = parts[0]->dtype();
  const Shape shape{bundle_size(parts)};
  Tensor bundle = arena_ ? arena_tensor(plan_.bundles.at(action), type, shape) : Tensor(type, shape);
  pack_bundle(parts, bundle);
  const Step& s = step(steps[0]);
  const ReduceOp op = program_.version(s.operands[0]).sharding.reduce;
  collectives::Handle handle =
      collectives::start_all_reduce(engine_, s.axes, op, bundle, bundle, {.wire = s.wire, .uniform = true});
  return {std::move(handle), begin, std::move(bundle)};
}

/// Several arrays of one move travel as one.
Executor::Flight Executor::start_move(int number) {
  const Seconds begin = now();
  const Step& s = step(number);
  const bool sends = s.kind == StepKind::send;
  const std::vector<VersionId>& moved = sends ? s.operands : s.results;
  std::vector<const Tensor*> parts;
  for (const VersionId v : moved) {
    parts.push_back(&at(v));
    SHARDLINE_CHECK(dtype(v) == dtype(moved[0]), "a move of {} and {} together", name_of(dtype(moved[0])),
                    name_of(dtype(v)));
  }
  std::optional<Tensor> bundle;
  if (parts.size() > 1) bundle.emplace(parts[0]->dtype(), Shape{bundle_size(parts)});
  if (bundle && sends) pack_bundle(parts, *bundle);
  collectives::Engine& moves = stages_->moves();
  Tensor& array = bundle ? *bundle : at(moved[0]);
  const collectives::MovePeer peer{s.peer, s.tag};
  collectives::Handle handle = sends ? collectives::start_send(moves, s.axes[0], array, peer)
                                     : collectives::start_receive(moves, s.axes[0], array, peer);
  return {std::move(handle), begin, std::move(bundle)};
}

void Executor::wait(const Action& action) {
  const auto found = flights_.find(action.steps[0]);
  Flight& flight = found->second;
  const Seconds begin = now();
  flight.handle.wait();
  if (flight.bundle) {
    std::vector<Tensor*> results;
    for (const int s : action.steps) {
      for (const VersionId v : step(s).results) results.push_back(&at(v));
    }
    if (!results.empty()) unpack_bundle(*flight.bundle, results);
  }
  const Seconds waited = served_ + (now() - begin);
  served_ = Seconds();
  record_wait(action.steps[0], begin);
  const auto count = static_cast<int>(action.steps.size());
  for (const int s : action.steps) {
    record({.label = s,
            .begin = flight.begin,
            .end = flight.handle.ended(),
            .exposed = waited / static_cast<double>(count),
            .together = count});
  }
  flights_.erase(found);
}

/// The spans of the steps lie one after another, each as long as its step took in all strips.
void Executor::sweep(const Action& action, int number) {
  Seconds begin = now();
  for (const int s : action.steps) make_results(s);
  Seconds first = now() - begin;
  const SweepRun::Times times = sweeps_.at(number).run(action.polls);
  served_ += times.polling;
  for (std::size_t i = 0; i < action.steps.size(); ++i) {
    const Seconds end = begin + first + times.steps[i];
    record({.label = action.steps[i], .begin = begin, .end = end});
    begin = end;
    first = Seconds();
  }
}

/// Makes storage for the results of a step: new storage, or that of an operand that is no longer
/// needed.
void Executor::make_results(int number) {
  for (const PreparedResult& result : prepared_[static_cast<std::size_t>(number)].made) {
    if (result.takes != nullptr) {
      *result.value = *result.takes;
    } else if (arena_ && result.place >= 0) {
      *result.value = arena_tensor(result.place, result.dtype, result.shape);
    } else {
      *result.value = Tensor(result.dtype, result.shape);
    }
  }
}

Tensor Executor::arena_tensor(Index offset, DType dtype, Shape shape) {
  const std::shared_ptr<std::byte> memory(arena_->memory(), arena_->data() + offset);
  const Index bytes = element_count(shape) * size_of(dtype);
  return {dtype, std::move(shape), counted(memory, bytes)};
}

void Executor::release(int action) {
  for (const VersionId v : liveness_.freed_after(action)) at(v) = Tensor();
}

/// During a run the arrays of the state are versions of the program.
void Executor::take_state() {
  if (state_ == nullptr) return;
  state_->use_room(this);
  for (const BoundInput& each : bound_) {
    at(each.arrives) = each.is_read ? state_->block(each.number) : state_->storage(each.number);
  }
}

void Executor::replace_state() {
  for (const BoundInput& each : bound_) {
    if (each.updated) state_->replace(each.number, at(*each.updated));
  }
  for (const BoundInput& each : bound_) {  // between runs only the state holds them
    at(each.arrives) = Tensor();
    if (each.updated) at(*each.updated) = Tensor();
  }
  if (state_ != nullptr) return;
  for (const auto& [before, after] : program_.program.updates) {
    Tensor& state = at(program_.inputs.at(before));
    Tensor& updated = at(program_.finals.at(after));
    if (state.data() == updated.data()) continue;
    const bool shared =
        engine_.arena() != nullptr && (engine_.arena()->contains(state) || engine_.arena()->contains(updated));
    if (!shared) {
      state = updated;
    } else if (state.bytes() > 0) {  // each place in the arena belongs to one version
      std::memcpy(state.data(), updated.data(), static_cast<std::size_t>(state.bytes()));
    }
    updated = state;
  }
}

}  // namespace shardline
