#pragma once

#include <map>
#include <set>
#include <vector>

#include "program/ir/rank_program.h"
#include "program/timetable/moves.h"
#include "program/timetable/task.h"

namespace shardline {

/// Which layers a stage has. A chunk is a run of layers; layer 0 is the embedding, the last one the output projection
/// and the loss. A chunk may have no layer.
struct StageLayers {
  std::vector<int> place;     ///< by chunk, in the order of the layers: its stage
  std::vector<int> chunk_of;  ///< by layer: its chunk, ascending

  int stages() const;
};

/// A version that a task makes and another stage needs.
struct Shipped {
  VersionId version = -1;
  int to = -1;  ///< stage
};

/// A step of the update on a stage, or moves of versions before it.
struct UpdateEvent {
  int stage = -1;
  int step = -1;                         ///< the step that the stage runs; -1: a move
  int to = -1;                           ///< of a move: from `stage` to this one
  std::vector<VersionId> versions = {};  ///< of a move
};

/// The program of one micro-batch, cut by layer into the tasks of a pipeline. What a task needs and gives follows from
/// the steps' operands and results. Pure data, equal on all ranks.
///
/// A step runs on the stage of its layer. An input lies on every stage that reads it. A version that another stage
/// reads is sent there once, as it lies: all stages have the same mesh. A copy of an input (a weight
/// gathered, or cast from its master) is made again where it is read. An update of a parameter runs on every stage that
/// has the parameter; an update of scalars, such as the norm, runs on all stages.
class Cut {
 public:
  /// `micro` must outlive the cut. Throws Error if the layers of the steps and of `layers` differ.
  Cut(const RankProgram& micro, StageLayers layers);

  const RankProgram& micro() const { return micro_; }
  const StageLayers& layers() const { return layers_; }
  int stages() const { return stages_; }
  /// The steps of a task, by number, in order. B is the whole backward pass of a chunk. I is the part of B on which a
  /// gradient of the residual stream, or what leaves the stage, depends; W is the rest.
  const std::vector<int>& steps(const ChunkTask& task) const;
  /// What leaves the stage after a task.
  const std::vector<Shipped>& ships(const ChunkTask& task) const;
  /// The tasks of the same micro-batch whose results a task reads, itself apart. `split`: B stands for I and W.
  std::vector<ChunkTask> needs(const ChunkTask& task, bool split) const;
  /// The moves of a timetable with these kinds of tasks.
  Sends sends(const std::vector<TaskKind>& kinds) const;
  /// The stages where an input lies. Empty: no stage reads it.
  const std::set<int>& homes(ArrayId input) const;
  /// True if the version is on the stage at the end of a step: an input that lies there, or a result.
  bool has(VersionId version, int stage) const;
  /// The update on all stages, in one order.
  const std::vector<UpdateEvent>& update() const { return update_; }

 private:
  int stage_of(const ChunkTask& task) const { return layers_.place[static_cast<std::size_t>(task.chunk)]; }
  bool is_input(VersionId version) const { return inputs_.contains(version); }
  void cut_passes();
  void put(int step, const ChunkTask& task);
  void need(VersionId version, int stage, const ChunkTask& task);
  void split_backward(int chunk);
  void find_needs();
  void cut_update();
  std::set<int> stages_of_update(const Step& step) const;
  void bring(const std::vector<VersionId>& versions, int stage);

  const RankProgram& micro_;
  StageLayers layers_;
  int stages_ = 1;
  std::set<VersionId> inputs_;
  std::map<ChunkTask, std::vector<int>> steps_;
  std::map<ChunkTask, std::vector<Shipped>> ships_;
  std::map<ChunkTask, std::set<ChunkTask>> reads_;  ///< of F, I and W
  std::map<ArrayId, std::set<int>> homes_;
  std::map<VersionId, std::set<int>> at_;   ///< stages where a version is
  std::map<VersionId, ChunkTask> task_of_;  ///< F or B that makes a version first
  std::map<VersionId, int> maker_;          ///< step
  std::vector<UpdateEvent> update_;
};

/// True for a sum of one term, as of the part of a single contribution: it is that term under another name. write_out()
/// copies nothing.
bool is_renaming(const RankProgram& program, const Step& step);

}  // namespace shardline
