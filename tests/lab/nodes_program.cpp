// Rank 0 prints the node of every rank by MPI's split by shared memory. "0 0 2 2": ranks 0 and 1 share one
// node, 2 and 3 another. The lowest rank of a node is its number.

#include <cstdio>
#include <vector>

#include "runtime/mpi/communicator.h"
#include "runtime/mpi/environment.h"

namespace shardline {
namespace {

int print_nodes() {
  const mpi::Communicator world = mpi::Communicator::world();
  const mpi::Communicator node = world.split_by_node();
  const std::vector<double> nodes = world.all_gather(node.min(world.rank()));
  if (world.rank() != 0) return 0;
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) std::printf("%s%.0f", rank == 0 ? "" : " ", nodes[rank]);
  std::printf("\n");
  return 0;
}

}  // namespace
}  // namespace shardline

int main(int argc, char** argv) {
  const shardline::mpi::Environment environment(&argc, &argv);
  return shardline::mpi::run_guarded(shardline::print_nodes);
}
