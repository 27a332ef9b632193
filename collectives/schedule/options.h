#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"

namespace shardline::collectives {

/// What a collective does.
enum class Kind : std::uint8_t { all_gather, reduce_scatter, all_reduce, all_to_all, shift };

/// "all_gather", ...
std::string_view name_of(Kind kind);

/// Who moves the data, and how:
/// - `automatic`: the Tuning table of the engine chooses one of the next five, by size, ranks and link;
/// - `ring`: from neighbour to neighbour, one way round;
/// - `bidirectional`: both ways round at once; over several axes along all of them at once;
/// - `pairwise`: every position exchanges with every other;
/// - `doubling`: a logarithmic number of rounds, for small arrays;
/// - `direct`: ranks of one node read each other's arrays in a shared arena;
/// - `native`: the MPI library's own collective, an oracle (its order of summation is its own).
enum class Algorithm : std::uint8_t { automatic, ring, bidirectional, pairwise, doubling, direct, native };

inline constexpr std::array kAlgorithms = {Algorithm::automatic, Algorithm::ring,     Algorithm::bidirectional,
                                           Algorithm::pairwise,  Algorithm::doubling, Algorithm::direct,
                                           Algorithm::native};

/// "auto", "ring", ...
std::string_view name_of(Algorithm algorithm);
/// The algorithm of that name. Throws UsageError that lists the names there are.
Algorithm algorithm_named(const std::string& name);

/// How sums of bf16 travel:
/// - `exchange`: every position gets the parts of its chunk, adds them in f32 and rounds once (pairwise, direct);
/// - `f32`: partial sums travel as f32 and are rounded at the end (ring, bidirectional, doubling);
/// - `hop`: rounded at every hop (ring, bidirectional, doubling).
/// `automatic` is `exchange` or `f32`, whichever the algorithm has. Other element types have one wire: their own.
enum class Wire : std::uint8_t { automatic, exchange, f32, hop };

/// "auto", "exchange", "f32", "hop"
std::string_view name_of(Wire wire);

/// The wire of a reduction of `dtype` by `algorithm`, which is not `automatic`: none (`automatic`) unless bf16 is
/// reduced. Throws UsageError that names both when the algorithm does not have the wire asked for.
Wire wire_for(Wire asked, Algorithm algorithm, DType dtype);

/// Segments in flight with one peer in one direction unless Options say otherwise.
inline constexpr Index kWindow = 4;

/// How a collective is carried out. Every rank of the group must give the same values.
struct Options {
  Algorithm algorithm = Algorithm::automatic;
  /// Chunks travel in segments of this many bytes, rounded down to whole elements (at least one); from 1 to 2^30. 0: as
  /// the engine's Tuning says.
  Index segment_bytes = 0;
  Wire wire = Wire::automatic;
  /// Segments in flight with one peer in one direction, from 1 to 1024; 0: kWindow. More of them keep a link busy
  /// between polls that are far apart.
  Index window = 0;
  /// The input is written during the run: only elements that Handle::supply() has named are read. For all_gather and
  /// reduce_scatter along dim 0 and for all_reduce, by messages only, so never `direct` or `native`.
  bool fed = false;
};

}  // namespace shardline::collectives
