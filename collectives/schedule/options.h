#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"

namespace shardline::collectives {

/// The kind of a collective.
enum class Kind : std::uint8_t { all_gather, reduce_scatter, all_reduce, all_to_all, shift };

/// "all_gather", ...
std::string_view name_of(Kind kind);

/// The algorithm that moves the data:
/// - `automatic`: the Tuning table of the engine chooses one of the next five by size, ranks and link;
/// - `ring`: from neighbour to neighbour, in one direction;
/// - `bidirectional`: in both directions at once; over several axes along all of them at once;
/// - `pairwise`: every position exchanges with every other;
/// - `doubling`: a logarithmic number of rounds, for small arrays;
/// - `direct`: ranks of one node read each other's arrays in a shared arena;
/// - `native`: the MPI library's own collective with its own order of summation, as an oracle.
enum class Algorithm : std::uint8_t { automatic, ring, bidirectional, pairwise, doubling, direct, native };

inline constexpr std::array kAlgorithms = {Algorithm::automatic, Algorithm::ring,     Algorithm::bidirectional,
                                           Algorithm::pairwise,  Algorithm::doubling, Algorithm::direct,
                                           Algorithm::native};

/// "auto", "ring", ...
std::string_view name_of(Algorithm algorithm);
/// The algorithm of this name. Throws UsageError with the known names.
Algorithm algorithm_named(const std::string& name);

/// The transport of sums of bf16:
/// - `exchange`: every position gets the parts of its chunk, adds them in f32 and rounds once (pairwise,
///   direct);
/// - `f32`: partial sums travel as f32 and are rounded at the end (ring, bidirectional, doubling);
/// - `hop`: rounded at every hop (ring, bidirectional, doubling).
/// `automatic` is `exchange` or `f32`, depending on the algorithm. Other element types travel as they are.
enum class Wire : std::uint8_t { automatic, exchange, f32, hop };

/// "auto", "exchange", "f32", "hop"
std::string_view name_of(Wire wire);

/// The wire of a reduction of `dtype` by `algorithm`, which is not `automatic`. For types other than bf16 it is
/// `automatic`: none. Throws UsageError with both names if the algorithm does not have the wire `asked`.
Wire wire_for(Wire asked, Algorithm algorithm, DType dtype);

/// The default number of segments in flight with one peer in one direction.
inline constexpr Index kWindow = 4;

/// The options of a collective. They must be equal on every rank of the group.
struct Options {
  Algorithm algorithm = Algorithm::automatic;
  /// Bytes of a segment, rounded down to whole elements (at least one); from 1 to 2^30. 0: that of the engine's
  /// Tuning.
  Index segment_bytes = 0;
  Wire wire = Wire::automatic;
  /// Segments in flight with one peer in one direction, from 1 to 1024; 0: kWindow. More of them keep a link busy
  /// between polls that are far apart.
  Index window = 0;
  /// The caller writes the input during the run. The run reads only elements that Handle::supply() has named.
  /// For all_gather and reduce_scatter along dim 0 and for all_reduce. By messages only, never `direct` or
  /// `native`.
  bool fed = false;
  /// For all_reduce with `automatic`: an algorithm that adds every element in the same order, wherever it lies in the
  /// array. So arrays have the same sums alone and packed into one.
  bool uniform = false;
};

}  // namespace shardline::collectives
