#pragma once

#include <map>
#include <vector>

#include "program/ir/rank_program.h"
#include "program/partition/assign.h"
#include "program/partition/layouts.h"
#include "program/price/price.h"

namespace shardline {

/// How a program is to lie on a mesh: where arrays must rest, what the axes split by name, and what gathered copies are
/// kept. Inputs, outputs and state must all have a declared layout.
struct Declaration {
  std::map<ArrayId, Sharding> layouts;
  WorkTable work;
  Policy policy;
  std::map<ArrayId, Sharding> wanted = {};  ///< of outputs that are inputs too and are converted: where they end
};

/// Derives the per-rank program operation by operation under a named strategy (assign_by_table). Axes of size 1 drop
/// out first. Every rank derives the same program. Throws UsageError naming an input without a layout or a layout that
/// is not legal.
RankProgram partition(Program program, const AbstractMesh& mesh, const Declaration& declaration);

/// The same with each operation assigned greedily by price, one after the other: of everything the axes may do in it,
/// the cheapest with its conversions and the debts it settles, given how its operands lie. Declaration::work is not
/// read. Greedy loses where a dearer operation would leave its result as a later one needs it: it never looks ahead.
RankProgram partition_by_price(Program program, const AbstractMesh& mesh, const Declaration& declaration,
                               const roofline::Hardware& hardware);

/// One way to run a program and what it is predicted to take.
struct Candidate {
  RankProgram program;
  ProgramPrice price;
};

/// Ways to run a program whose operations form a chain (every operation but the last makes one array, which the next
/// one alone reads), best first: the lowest price on `hardware`, then the lowest sum of all steps, then order of
/// enumeration. A program without operations, which converts an input, has one: the path of fewest elements on the
/// wire. A program of one operation has a candidate for everything the axes may do in it; of a longer chain
/// there is one for everything they may do in the last operation, each the cheapest that leads there. That is exact:
/// prices of operations add, and what follows depends only on the layout in which the array between two operations was
/// made. The search prices (layouts of that array) x (assignments of an operation) programs for each operation.
/// Reductions of bf16 go over the wire of `hardware`. Throws UsageError on more than five axes larger than 1.
std::vector<Candidate> partition_all(const Program& program, const AbstractMesh& mesh, const Declaration& declaration,
                                     const roofline::Hardware& hardware);

}  // namespace shardline
