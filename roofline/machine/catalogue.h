#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "roofline/machine/machine.h"
#include "runtime/base/dtype.h"
#include "runtime/layout/abstract_mesh.h"

namespace shardline::roofline {

/// A machine known by name: one chip and the links between chips. A value that the book does not give is 0.
struct Chip {
  std::string name;
  FlopsPerSecond matmul;  ///< bf16
  BytesPerSecond memory;
  Bytes capacity;          ///< of the memory
  BytesPerSecond link;     ///< one way, of one torus axis or into the switch
  int torus_axes = 0;      ///< 0: the chips are on a switch
  Index wraps_at = 0;      ///< a torus axis of this many chips is a ring
  bool multiples = false;  ///< true: axes of any multiple are rings too; other axes are lines
  Index most_chips = 0;    ///< in one torus or on one switch
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

/// The names that hardware_named() knows: those of the catalogue and "cpu".
std::vector<std::string> hardware_names();

/// The catalogue's chips as `mesh`. Every mesh axis is one torus axis: a ring if this many chips wrap,
/// otherwise a line. A hop takes 1 us (book section 3.2). On a switch all axes share each chip's one link. f32
/// and f64 have the rate of bf16, because the book gives no other. int8 has its own rate if it is known. A
/// reduction of bf16 rounds at every hop.
Machine machine_of(const Chip& chip, const AbstractMesh& mesh);

/// The lengths of the torus axes under each mesh axis. Their product is the size of the mesh axis. Axes of the mesh
/// that are not here lie on the torus axes of the one before them that is: then the product is that of their sizes.
using TorusLayout = std::map<Axis, std::vector<Index>>;

/// The catalogue's chips as the ranks of `mesh` see them. `layout` gives an axis of more than one chip its
/// torus axes. On v4p and v5p these wrap only if the whole layout consists of full cubes of 4 x 4 x 4. Of a torus axis
/// that several mesh axes share, each has a line. So together they have the links of a ring, also where it is none.
/// Collectives advance by themselves. Throws UsageError if the lengths do not multiply to the sizes of the axes.
Hardware hardware_of(const Chip& chip, const AbstractMesh& mesh, const TorusLayout& layout, DType dtype);

/// The chip of this name, or null.
const Chip* find_chip(const std::string& name);
/// The same. Throws Error if there is none.
const Chip& chip_named(const std::string& name);

/// Built-in values for ranks of an unmeasured machine, one core each. The memory of a node joins the ranks of
/// an axis. It takes turns with other axes and with the cores. A network joins the axes of `across_nodes`,
/// whose ranks are on different nodes. These values decide what runs, so they must never come from a
/// measurement.
Machine cpu_machine(const AbstractMesh& mesh, const std::set<Axis>& across_nodes = {});

/// The machine of this name as the ranks of `mesh` see it: a chip with a torus axis for every mesh axis, or
/// cpu_machine() for "cpu". Throws UsageError with the known names, the nearest first.
Hardware hardware_named(const std::string& name, const AbstractMesh& mesh, DType dtype,
                        const std::set<Axis>& across_nodes = {});

/// The facts that a price for `mesh` on this hardware ignores, one sentence each: more chips or axes than one
/// machine has.
std::vector<std::string> reservations(const std::string& name, const AbstractMesh& mesh);

}  // namespace shardline::roofline
