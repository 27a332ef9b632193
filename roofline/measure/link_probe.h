#pragma once

#include <map>
#include <string>

#include "collectives/run/progress.h"
#include "roofline/machine/machine.h"

namespace shardline::roofline {

/// What joins the ranks of each mesh axis, all of its groups at work at once.
struct Links {
  std::map<std::string, Resource> resources;
  std::map<Axis, std::string> axes;
};

/// True when every group of the axis lies on one node. Collective over `mesh`.
bool on_one_node(const Mesh& mesh, const Axis& axis);

/// Measures the axes that have more than one rank. Latency and bandwidth are fitted to the times of messages of 64
/// bytes to a megabyte, from each rank to the next. Where ranks share a node, reading from other ranks and adding to
/// own data are measured by size too, in an arena made for it. Without an arena these figures stay unknown. Across
/// nodes, the share of a core that moving takes is measured. Each axis has a resource of its own. An axis across nodes
/// counts as a ring if it has more than two ranks and sends both ways much faster than one way; any other axis counts
/// as switched. `budget` is spent on each time. Collective over `mesh`.
Links probe_links(const Mesh& mesh, Seconds budget);

}  // namespace shardline::roofline
