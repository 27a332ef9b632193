#pragma once

#include <vector>

#include "collectives/schedule/options.h"
#include "runtime/base/shape.h"

namespace shardline::collectives {

/// The connection between the ranks of a group: the memory of one node, or a network.
enum class LinkKind : std::uint8_t { node, network };

/// "node", "network"
std::string_view name_of(LinkKind link);

/// The collective for which `automatic` chooses an algorithm. Equal on all ranks of the group.
struct Question {
  Kind kind = Kind::all_gather;
  LinkKind link = LinkKind::node;
  Index ranks = 1;
  Index bytes = 0;      ///< the larger side of the collective on one rank; for all_to_all, of a rank with equal blocks
  bool direct = false;  ///< the arrays lie in an arena that all ranks of the group share
  bool reduces_bf16 = false;
  Wire wire = Wire::automatic;
  bool uniform = false;  ///< the order of addition must not depend on the place or the number of the elements
};

/// The rules of `automatic`, and the sizes at which a collective changes its method. Plain data. Measurements
/// may fill it.
struct Tuning {
  /// `algorithm` for `kind` on `link`, for 2 to `most_ranks` ranks and up to `most_bytes` bytes.
  struct Rule {
    Kind kind = Kind::all_gather;
    LinkKind link = LinkKind::node;
    Index most_ranks = kAny;
    Index most_bytes = kAny;
    Algorithm algorithm = Algorithm::ring;
    bool operator==(const Rule&) const = default;
  };
  static constexpr Index kAny = Index{1} << 62;

  /// The first rule that holds and is possible counts.
  std::vector<Rule> rules;
  Index node_segment_bytes = Index{512} << 10;
  Index network_segment_bytes = Index{256} << 10;
  /// Below these bytes every rank combines whole arrays in a `direct` all_reduce that is not in place. This saves a
  /// wait for the others. With two ranks one pass reads no more than two passes; above the limit two passes win,
  /// because they halve the traffic with the main memory. With more ranks two passes read less of the data that others
  /// have just written. The results have the same bits.
  Index one_pass_bytes_of_two = Index{1} << 20;
  Index one_pass_bytes_of_more = Index{8} << 10;

  Index segment_bytes(LinkKind link) const {
    return link == LinkKind::node ? node_segment_bytes : network_segment_bytes;
  }

  bool operator==(const Tuning&) const = default;

  /// Rules for machines without measurements.
  static Tuning built_in();
};

/// The algorithm by the rules, never `automatic` or `native`. If no rule holds: pairwise if bf16 is exchanged,
/// otherwise ring. A `uniform` question depends on no rule: the answer is direct or pairwise on a node, which add in
/// the same order, and doubling on a network, if the wire allows them.
Algorithm choose(const Tuning& tuning, const Question& question);

}  // namespace shardline::collectives
