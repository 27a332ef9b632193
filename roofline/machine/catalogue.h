#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "roofline/machine/machine.h"
#include "runtime/base/dtype.h"
#include "runtime/layout/abstract_mesh.h"

namespace shardline::roofline {

/// A machine that is known by name: one chip and the links between chips. What the book does not give is 0.
struct Chip {
  std::string name;
  FlopsPerSecond matmul;  ///< bf16
  BytesPerSecond memory;
  Bytes capacity;          ///< of the memory
  BytesPerSecond link;     ///< one way, of one torus axis or into the switch
  int torus_axes = 0;      ///< 0: chips hang on a switch
  Index wraps_at = 0;      ///< a torus axis of so many chips is a ring,
  bool multiples = false;  ///< and of any multiple of it; other axes are lines
  Index most_chips = 0;    ///< of one torus or switch
  FlopsPerSecond int8 = {};
  BytesPerSecond pcie = {};  ///< between a chip and its host
  Index chips_per_host = 0;
  BytesPerSecond between_pods = {};  ///< leaving a host for other pods
  int cores = 0;                     ///< TensorCores
};

/// VMEM, a TPU's scratchpad, has about this many times the bandwidth of its memory (book section 2.1).
inline constexpr double kVmemOverMemory = 22;

/// v3, v4p, v5p, v5e, v6e and h100 (book sections 1.1 and 2; section 12 for h100).
const std::vector<Chip>& catalogue();

/// The names that hardware_named() takes: those of the catalogue and "cpu".
std::vector<std::string> hardware_names();

/// The catalogue's chips laid out as `mesh`. Every mesh axis is one axis of the torus: a ring where that many chips
/// wrap, otherwise a line; a hop takes 1 us (book section 3.2). On a switch all axes share each chip's one link. f32
/// and f64 are priced at the rate of bf16, since the book gives no other, and int8 at its own, where that is known;
/// bf16 is reduced rounding at every hop.
Machine machine_of(const Chip& chip, const AbstractMesh& mesh);

/// The torus axes that each mesh axis is laid over, by their lengths, which multiply to its size.
using TorusLayout = std::map<Axis, std::vector<Index>>;

/// The catalogue's chips as the ranks of `mesh` see them, an axis of more than one chip laid over the torus axes that
/// `layout` gives it, which wrap on v4p and v5p only where all of it consists of whole cubes of 4 x 4 x 4; collectives
/// go on by themselves. Throws UsageError where these do not multiply to its size.
Hardware hardware_of(const Chip& chip, const AbstractMesh& mesh, const TorusLayout& layout, DType dtype);

/// The chip of this name, or null.
const Chip* find_chip(const std::string& name);
/// The same; throws Error when there is none.
const Chip& chip_named(const std::string& name);

/// Built-in values for ranks of machines that nobody has measured, one core each: the memory of a node joins the ranks
/// of an axis, taking turns with each other and with the cores, and a network those of `across_nodes`, in which nodes
/// differ. They decide what runs, so they must never come from a measurement.
Machine cpu_machine(const AbstractMesh& mesh, const std::set<Axis>& across_nodes = {});

/// The chip of this name, every mesh axis on a torus axis of its own, or cpu_machine() for "cpu", as the ranks of
/// `mesh` see it. Throws UsageError that lists the names, the nearest first.
Hardware hardware_named(const std::string& name, const AbstractMesh& mesh, DType dtype,
                        const std::set<Axis>& across_nodes = {});

/// What a price for `mesh` on the hardware of this name leaves out of account, a sentence each: more chips or axes than
/// one machine has.
std::vector<std::string> reservations(const std::string& name, const AbstractMesh& mesh);

}  // namespace shardline::roofline
