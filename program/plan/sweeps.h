#pragma once

#include <vector>

#include "program/plan/schedule.h"

namespace shardline {

/// How a rank cuts the arrays of a sweep. The arrays of its steps begin with the same dims, the strip dims, or have
/// none of them. A strip is a box over the strip dims: some rows of one dim, at one position of the dims before it,
/// with all of the dims after it. So its part of every array is contiguous.
class Strips {
 public:
  /// Strips of about `strip_bytes`, one position at least. The steps must form a sweep.
  Strips(const RankProgram& program, const std::vector<int>& steps, Index strip_bytes, Index rank);

  /// At least 1: without positions there is one empty strip.
  Index count() const { return outer_ * per_outer_; }
  /// Of strip `number`: the part of each strip dim, as positions in the rank's block.
  std::vector<Range> box(Index number) const;
  /// Positions before strip `number`, and of a box.
  Index first_position(Index number) const;
  static Index positions(const std::vector<Range>& box);

  /// The number of strip dims.
  std::size_t dims() const { return extents_.size(); }
  /// Positions of the largest strip.
  Index most_positions() const { return rows_ * inner_; }
  /// True if strips are cut from this array; false if every strip reads or adds to the whole of it.
  bool cuts(VersionId version) const;
  /// What all arrays take that are cut.
  Bytes all_bytes() const { return bytes_; }
  /// What the largest strip has of an array that is cut and takes `whole`, and of all of them together.
  Bytes part(Bytes whole) const;
  Bytes strip_bytes() const { return part(bytes_); }

 private:
  std::vector<VersionId> cut_;  ///< sorted
  Shape extents_;               ///< of the strip dims on this rank
  Index positions_ = 1;
  Bytes bytes_;
  std::size_t dim_ = 0;  ///< the strip dim of which a strip has some rows
  Index rows_ = 1;
  Index outer_ = 1;      ///< positions of the dims before it
  Index inner_ = 1;      ///< positions of the dims after it
  Index per_outer_ = 1;  ///< strips at one position of the dims before it
};

/// Joins `run` actions that follow each other to sweeps, as many as may be one. All of these must hold:
/// - Every step is a computation whose kernel may run on strips (Kernel::strips), in one pass of one micro-batch.
/// - The arrays begin with common dims, which lie split by the same axes, or have none of these dims.
/// - Each step shares an array that is cut with an earlier one. Otherwise nothing is gained.
/// - No step reads an array without strip dims that the sweep makes: it is a sum over all strips.
/// - The arrays of rank 0 take more than 128 strips. Smaller ones stay in the outer caches of most machines, where
///   strips gain nothing.
/// A sweep changes no bit.
std::vector<Action> join_sweeps(const RankProgram& program, const std::vector<Action>& actions, Index strip_bytes);

}  // namespace shardline
