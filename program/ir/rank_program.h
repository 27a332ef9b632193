#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collectives/schedule/options.h"
#include "program/ir/program.h"
#include "runtime/layout/abstract_mesh.h"
#include "runtime/layout/sharding.h"

namespace shardline {

using VersionId = int;

/// One physical form of an array: its layout, and where it was made.
struct Version {
  ArrayId array = -1;
  Sharding sharding;
  Region region;        ///< made here
  bool stored = false;  ///< a stored version stays; other copies are temporary (see Policy)
};

enum class StepKind : std::uint8_t {
  compute,
  all_gather,
  reduce_scatter,
  all_reduce,
  all_to_all,
  reshard,
  slice,    ///< keeps this rank's block of a replicated dim; moves nothing
  owe,      ///< coordinate 0 keeps the value, the others hold zero: makes a debt at no cost
  send,     ///< gives the operands, as they lie, to the same rank of another stage
  receive,  ///< takes the results from the same rank of another stage
};

/// True if a step of this kind moves arrays between the stages of a pipeline.
inline bool changes_stage(StepKind kind) { return kind == StepKind::send || kind == StepKind::receive; }

/// True if the ranks of a stage exchange messages in a step of this kind.
inline bool communicates(StepKind kind) {
  return kind != StepKind::compute && kind != StepKind::slice && kind != StepKind::owe && !changes_stage(kind);
}

/// One step of the per-rank program: a kernel on blocks, or one conversion of one array.
struct Step {
  StepKind kind = StepKind::compute;
  std::vector<VersionId> operands;  ///< of a conversion: the array, and what moves_rows() says
  std::vector<VersionId> results;
  Axes axes;                 ///< of a conversion, major first
  int from_dim = -1;         ///< gathered dim of all_gather and all_to_all
  int to_dim = -1;           ///< dim that gains the axes: reduce_scatter, all_to_all, slice
  int operation = -1;        ///< the operation that it is or serves; -1 for the final layout of outputs
  int phase = -1;            ///< of a computation: which phase of the operation
  std::vector<Axes> splits;  ///< of a computation: the axes that split each index of the operation
  Region region;
  collectives::Wire wire = collectives::Wire::automatic;  ///< of a reduction of bf16, see name_wires()
  int peer = -1;  ///< of send and receive: the stage at the other end; `axes` is the axis of the stages
  int tag = -1;   ///< of send and receive: the number of the move among all moves of the pipeline
};

/// Which stage of a pipeline a program belongs to.
struct StagePlace {
  Axis axis;  ///< the mesh axis of the stages; the program's own mesh lacks it
  int stage = 0;
  int stages = 1;
};

/// The per-rank program: every rank of the mesh runs it, and each collective is explicit.
struct RankProgram {
  Program program;  ///< the logical program behind it
  AbstractMesh mesh;
  std::map<ArrayId, Sharding> declared;  ///< layouts that parameters, state, inputs and outputs must have
  std::map<ArrayId, Sharding> wanted;    ///< the final layout of an output that is also an input
  std::vector<Version> versions;
  std::vector<Step> steps;
  std::map<ArrayId, VersionId> inputs;   ///< version in which each input arrives
  std::map<ArrayId, VersionId> finals;   ///< final version of each output and each updated state
  std::optional<StagePlace> place = {};  ///< of a stage's own program

  const Version& version(VersionId id) const { return versions.at(static_cast<std::size_t>(id)); }
  const Array& array_of(VersionId id) const { return program.array(version(id).array); }
  const Operation& operation_of(const Step& step) const {
    return program.operations.at(static_cast<std::size_t>(step.operation));
  }
  const Phase& phase_of(const Step& step) const {
    return operation_of(step).phases.at(static_cast<std::size_t>(step.phase));
  }
};

/// True if this conversion moves only the rows in use of its array (Array::rows). Operands 1 and 2 are then versions of
/// the counts, split as the leading dims of the operand and of the result.
inline bool moves_rows(const Step& step) { return step.kind == StepKind::all_to_all && step.operands.size() == 3; }

/// True if an all_to_all between these dims of `array` moves only rows in use.
inline bool has_rows_between(const Array& array, int from_dim, int to_dim) {
  return array.rows >= 0 && from_dim + to_dim == 1 && from_dim * to_dim == 0;
}

/// "all_gather", "reduce_scatter", ...; for a computation the name of its kernel.
std::string kind_name(const RankProgram& program, const Step& step);

/// Local shape of a version on `rank`.
Shape local_shape(const RankProgram& program, VersionId version, Index rank);

/// The index ranges of `rank` in a computation.
std::vector<Range> index_ranges(const RankProgram& program, const Step& step, Index rank);

/// What it takes. Rank 0 holds the largest block.
Bytes local_bytes(const RankProgram& program, VersionId version, Index rank);

}  // namespace shardline
