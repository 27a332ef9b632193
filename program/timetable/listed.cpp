#include <algorithm>
#include <optional>
#include <tuple>

#include "program/timetable/makers.h"
#include "program/timetable/task_clock.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

/// What a stage would do next, and when.
struct NextTask {
  Seconds begin;
  Task task;
};

/// Backward before forward before weights.
int rank_of_kind(TaskKind kind) {
  if (kind == TaskKind::weights) return 2;
  return kind == TaskKind::forward ? 1 : 0;
}

/// True if a stage takes `a` rather than `b`: what can begin earlier, and of what can begin now the first by rank.
bool comes_first(const NextTask& a, const NextTask& b) {
  const auto key = [](const NextTask& x) {
    return std::tuple(x.begin, rank_of_kind(x.task.kind), -x.task.chunk, x.task.micro_batch);
  };
  return key(a) < key(b);
}

/// One run of list scheduling. Of one kind and chunk, micro-batches become ready in their order; so only the next one
/// of each is looked at, and the whole takes linear time.
class ListScheduler {
 public:
  ListScheduler(const Timetable& shape, const std::vector<Index>& limits, const TaskCosts& costs)
      : shape_(shape), limits_(limits), clock_(shape, costs), done_(chunk_task_count(shape), 0) {
    const auto stages = static_cast<std::size_t>(shape.stages);
    chunks_.resize(stages);
    for (int q = 0; q < shape.chunks(); ++q) chunks_[static_cast<std::size_t>(stage_of(q))].push_back(q);
    held_.assign(stages, 0);
    orders_.resize(stages);
  }

  std::vector<std::vector<Task>> run() {
    std::vector<std::optional<NextTask>> next;
    for (int z = 0; z < shape_.stages; ++z) next.push_back(choice(z));
    const Index tasks = static_cast<Index>(shape_.kinds.size()) * shape_.chunks() * shape_.micro_batches;
    for (Index i = 0; i < tasks; ++i) {
      const int z = first_stage(next);
      const Task task = next[static_cast<std::size_t>(z)]->task;
      take(z, task);
      // Only this stage and those with the chunks beside have another choice now.
      next[static_cast<std::size_t>(z)] = choice(z);
      for (const int q : {task.chunk - 1, task.chunk + 1}) {
        if (q >= 0 && q < shape_.chunks()) next[static_cast<std::size_t>(stage_of(q))] = choice(stage_of(q));
      }
    }
    return orders_;
  }

 private:
  int stage_of(int chunk) const { return shape_.place[static_cast<std::size_t>(chunk)]; }

  /// The stage that begins first; of equals the lowest.
  int first_stage(const std::vector<std::optional<NextTask>>& next) const {
    int first = -1;
    for (int z = 0; z < shape_.stages; ++z) {
      const std::optional<NextTask>& mine = next[static_cast<std::size_t>(z)];
      if (mine && (first < 0 || mine->begin < next[static_cast<std::size_t>(first)]->begin)) first = z;
    }
    SHARDLINE_CHECK(first >= 0, "list scheduling of {} stages stands still", shape_.stages);
    return first;
  }

  std::optional<NextTask> choice(int z) const {
    std::optional<NextTask> best;
    const std::vector<int>& chunks = chunks_[static_cast<std::size_t>(z)];
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      const Index room = limits_[static_cast<std::size_t>(z)] - held_[static_cast<std::size_t>(z)];
      const auto later = static_cast<Index>(chunks.size() - 1 - i);
      for (const TaskKind kind : shape_.kinds) {
        if (kind == TaskKind::forward && room <= later) continue;
        const Task task{kind, chunks[i], done_[number_of(shape_, ChunkTask{kind, chunks[i]})]};
        if (task.micro_batch == shape_.micro_batches) continue;
        const std::optional<Seconds> begin = clock_.next_begin(task);
        if (begin && (!best || comes_first({*begin, task}, *best))) best = {*begin, task};
      }
    }
    return best;
  }

  void take(int z, const Task& task) {
    clock_.run(task);
    orders_[static_cast<std::size_t>(z)].push_back(task);
    ++done_[number_of(shape_, task.of_chunk())];
    Index& held = held_[static_cast<std::size_t>(z)];
    if (task.kind == TaskKind::forward) ++held;
    if (task.kind == last_kind(shape_)) --held;
  }

  const Timetable& shape_;
  const std::vector<Index>& limits_;
  TaskClock clock_;
  std::vector<Index> done_;               ///< by number of the chunk's task: how many micro-batches
  std::vector<std::vector<int>> chunks_;  ///< by stage
  std::vector<Index> held_;               ///< by stage: activations of chunks
  std::vector<std::vector<Task>> orders_;
};

}  // namespace

std::vector<std::vector<Task>> listed_orders(const Timetable& shape, const std::vector<Index>& limits,
                                             const TaskCosts& costs) {
  return ListScheduler(shape, limits, costs).run();
}

}  // namespace shardline
