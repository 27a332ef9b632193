#pragma once

#include <map>
#include <string>

#include "collectives/progress.h"
#include "roofline/machine.h"

namespace shardline::roofline {

/// What joins the ranks of each mesh axis, all of its groups at work at once.
struct Links {
  std::map<std::string, Resource> resources;
  std::map<Axis, std::string> axes;
};

/// Measures the axes of more than one rank. Latency and bandwidth of a message from each rank to the next are fitted to
/// messages of 64 bytes to some megabytes; where the ranks share a node, reading from others and adding what they have
/// are measured by size too, in an arena that is made for it (where there can be none, they stay unknown). An axis
/// within nodes, or across them, has a resource of its own, but network axes that take as long together as one after
/// the other share one. Whether a network wraps cannot be seen from its ranks: axes across nodes count as switched.
/// `budget` is spent on each time. Collective over `mesh`.
Links probe_links(const Mesh& mesh, Seconds budget);

}  // namespace shardline::roofline
