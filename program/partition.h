#pragma once

#include <map>
#include <vector>

#include "program/assign.h"
#include "program/element_types.h"
#include "program/layouts.h"
#include "program/rank_program.h"

namespace shardline {

/// How a program is to lie on a mesh: where arrays must rest, what the axes split by name, and what gathered copies are
/// kept. Inputs, outputs and state must all have a declared layout.
struct Declaration {
  std::map<ArrayId, Sharding> layouts;
  WorkTable work;
  Policy policy;
};

/// Derives the per-rank program operation by operation under a named strategy (assign_by_table). Axes of size 1 drop
/// out first. Every rank derives the same program. Throws UsageError naming an input without a layout or a layout that
/// is not legal.
RankProgram partition(Program program, const AbstractMesh& mesh, const Declaration& declaration);

/// One way to run a program of a single operation, and what it takes.
struct Candidate {
  RankProgram program;
  Index wire_bytes = 0;  ///< of all its conversions, each on the rank that sends most
  double flops = 0;      ///< on the busiest rank
};

/// Every way to run a program that is one operation, best first: fewest bytes on the wire for arrays of these types,
/// then fewest FLOPs on the busiest rank, then order of enumeration.
std::vector<Candidate> partition_all(const Program& program, const AbstractMesh& mesh, const Declaration& declaration,
                                     const ElementTypes& types = {});

}  // namespace shardline
