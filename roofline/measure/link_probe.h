#pragma once

#include <map>
#include <string>

#include "collectives/run/progress.h"
#include "roofline/machine/machine.h"

namespace shardline::roofline {

/// The links of each mesh axis while all its groups work at once.
struct Links {
  std::map<std::string, Resource> resources;
  std::map<Axis, std::string> axes;
};

/// True if every group of the axis is on one node. Collective over `mesh`.
bool on_one_node(const Mesh& mesh, const Axis& axis);

/// Measures the axes of more than one rank. Latency and bandwidth fit the times of messages of 64 bytes to a
/// megabyte, from each rank to the next. If ranks share a node, this also measures by size how they read from
/// each other and add to their own data, in an arena of its own. Without an arena these figures stay unknown.
/// Across nodes, it measures the share of a core that moving takes. Each axis has its own resource. An axis
/// across nodes counts as a ring if it has more than two ranks and sends both ways much faster than one way.
/// Any other axis counts as switched. Each time takes `budget`. Collective over `mesh`.
Links probe_links(const Mesh& mesh, Seconds budget);

}  // namespace shardline::roofline
