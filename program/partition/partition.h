#pragma once

#include <map>
#include <vector>

#include "program/ir/rank_program.h"
#include "program/partition/assign.h"
#include "program/partition/layouts.h"
#include "program/price/price.h"

namespace shardline {

/// How a program lies on a mesh: the layouts of arrays, the indices that the axes split by name,
/// and the policy for gathered copies. Inputs, outputs and state must all have a declared layout.
struct Declaration {
  std::map<ArrayId, Sharding> layouts;
  WorkTable work;
  Policy policy;
  std::map<ArrayId, Sharding> wanted = {};  ///< final layouts of outputs that are also inputs
};

/// What the axes do in each operation, by the name of its first result; no two operations have the same. An operation
/// that is computed again has the name of the first time: it must have the same bits.
using Assignments = std::map<std::string, Assignment>;

/// Derives the per-rank program, operation by operation, under a named strategy (assign_by_table).
/// Axes of size 1 are removed first. Every rank derives the same program. Operations that `assignments` has are
/// assigned so; if it is given, the others are added to it. Throws UsageError with the name of an input without a
/// layout, or with an illegal layout.
RankProgram partition(Program program, const AbstractMesh& mesh, const Declaration& declaration,
                      Assignments* assignments = nullptr);

/// The same with prices: each operation takes the cheapest assignment, with its conversions and the
/// debts that it settles, for the layouts of its operands. Declaration::work is not used. The
/// search is greedy and never looks ahead: it misses an expensive operation that makes a later one
/// cheap.
RankProgram partition_by_price(Program program, const AbstractMesh& mesh, const Declaration& declaration,
                               const roofline::Hardware& hardware, Assignments* assignments = nullptr);

/// One way to run a program, and its predicted price.
struct Candidate {
  RankProgram program;
  ProgramPrice price;
};

/// Ways to run a program whose operations form a chain, best first. In a chain every operation
/// except the last makes one array, and only the next operation reads it. The order is: lowest
/// price on `hardware`, then lowest sum of all steps, then order of enumeration. A program without
/// operations converts an input. It has one way: the path with the fewest elements on the wire.
/// There is one candidate for each assignment of the last operation: the cheapest way that leads to
/// it. This is exact, because prices of operations add, and the rest depends only on the layout of
/// the array between two operations. For each operation the search prices (layouts of that array) x
/// (assignments of the operation) programs. Reductions of bf16 use the wire of `hardware`. Throws
/// UsageError for more than five axes larger than 1.
std::vector<Candidate> partition_all(const Program& program, const AbstractMesh& mesh, const Declaration& declaration,
                                     const roofline::Hardware& hardware);

}  // namespace shardline
