#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collectives/run/collective_run.h"
#include "collectives/shared/arena.h"
#include "collectives/shared/direct_flags.h"

namespace shardline::collectives::direct {

/// Positions that read from this one: `count` positions round the ring of the group from `first` on. `first` may be
/// larger than the group.
struct Readers {
  Index first = 0;
  Index count = 0;
};

/// A run of `direct`. It announces itself, reads the ready data of the others, and announces that it has
/// finished. It is complete when all readers of this rank have finished too.
class DirectRun : public CollectiveRun {
 public:
  /// By default all others are readers.
  DirectRun(Arena& arena, Job&& job, const Call& call, const std::optional<Readers>& readers = {});
  std::string missing() const override;
  Index wire_bytes() const override { return read_bytes_; }

 protected:
  /// Bytes that one push() reads before other runs get their turn.
  static constexpr Index kPieceBytes = Index{1} << 20;

  /// Reads about kPieceBytes of the ready data. True if there was any.
  virtual bool read() = 0;
  virtual bool all_read() const = 0;
  /// The ranks and flags that read() waits for.
  virtual std::string missing_to_read() const = 0;

  /// Counts bytes read from another rank.
  void count_read(Index bytes) { read_bytes_ += bytes; }

  Meeting& meeting() { return meeting_; }
  const Meeting& meeting() const { return meeting_; }

 private:
  enum class Status { before, reading, leaving };
  Outcome push() final;

  Meeting meeting_;
  Readers readers_;  ///< not yet seen to finish
  Status status_ = Status::before;
  Index read_bytes_ = 0;
};

/// Copies from one position after the other, in the order in which they are ready, with a pass for each.
template <class Pass>
class Moves {
 public:
  struct Rules {
    std::function<bool(Index position)> ready;  ///< may the position be read?
    std::function<Pass(Index position)> open;   ///< begins the copy from a position that is ready
  };
  Moves(std::vector<Index> sources, Rules rules) : left_(std::move(sources)), rules_(std::move(rules)) {}

  /// Copies about `bytes`. True if there was anything to copy.
  bool advance(Index bytes) {
    bool moved = false;
    while (!left_.empty() && bytes > 0) {
      if (!pass_) {
        const auto ready = std::find_if(left_.begin(), left_.end(), [&](Index q) { return rules_.ready(q); });
        if (ready == left_.end()) return moved;
        std::rotate(left_.begin(), ready, ready + 1);
        pass_.emplace(rules_.open(left_.front()));
      }
      bytes -= pass_->advance(bytes);
      moved = true;
      if (!pass_->done()) continue;
      pass_.reset();
      left_.erase(left_.begin());
    }
    return moved;
  }
  bool done() const { return left_.empty(); }
  /// Positions that are still to be read.
  const std::vector<Index>& left() const { return left_; }

 private:
  std::vector<Index> left_;
  Rules rules_;
  std::optional<Pass> pass_;  ///< from left_.front()
};

}  // namespace shardline::collectives::direct
