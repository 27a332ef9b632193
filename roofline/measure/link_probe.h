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

/// Measures the axes of more than one rank. Latency and bandwidth of a message from each rank to the next are fitted to
/// messages of 64 bytes to a megabyte. Where the ranks share a node, reading from others and adding what they have
/// are measured by size too, in an arena that is made for it (where there can be none, they stay unknown); across
/// nodes, what moving takes of a core that computes. Each axis has a resource of its own. An axis across nodes whose
/// more than two ranks send both ways at much more than the rate of one way is a ring, any other counts as switched.
/// `budget` is spent on each time. Collective over `mesh`.
Links probe_links(const Mesh& mesh, Seconds budget);

}  // namespace shardline::roofline
