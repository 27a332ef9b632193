#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collectives/schedule/tuning.h"
#include "kernels/gemm/gemm.h"
#include "roofline/price/hardware.h"
#include "runtime/base/dtype.h"
#include "runtime/layout/abstract_mesh.h"

namespace shardline::roofline {

/// The connection between ranks: a ring or a line of neighbours, a switch between all ranks, or the memory of a
/// node.
enum class ResourceKind : std::uint8_t { ring, line, switched, shared_memory };

/// "ring", "line", "switch", "shared_memory"
std::string_view name_of(ResourceKind kind);

/// Carries data between the ranks of one or more mesh axes. The axes take turns.
struct Resource {
  ResourceKind kind = ResourceKind::switched;
  Seconds latency;                          ///< of one message from a rank to its neighbour
  BytesPerSecond one_way;                   ///< leaving one rank while all ranks send to the next
  BytesPerSecond both_ways;                 ///< leaving one rank while all ranks send to both neighbours
  double residual = 0;                      ///< largest |measured / fitted - 1| of the fitted times
  double core_share = 0;                    ///< the share of a computing core that moving takes, 0 to 1
  std::optional<SharedMemory> shared = {};  ///< only of shared_memory
  bool operator==(const Resource&) const = default;
};

/// The compute rates of a rank for one element type.
struct Compute {
  FlopsPerSecond peak;                               ///< the best rate of matrix products
  GemmRates gemm = {};                               ///< empty: peak at every size
  std::optional<kernels::GemmLibrary> library = {};  ///< that multiplies; empty: the one that suits the processor
  double panels = 0;  ///< the share of its speed that a large product keeps in panels; 0: not known
  std::map<std::string, FlopsPerSecond> kernels = {};  ///< rates of other kernels on data in the caches, by name
  std::map<std::string, Seconds> latencies = {};       ///< to start each part of a call of other kernels, by name
  bool operator==(const Compute&) const = default;
};

/// The memory of a rank. Rates count every byte that a program reads or writes once, unless noted otherwise.
struct Memory {
  Bytes capacity = {};        ///< a rank's share
  BytesPerSecond read = {};   ///< of data beyond the caches
  BytesPerSecond copy = {};   ///< bytes read plus bytes written
  BytesPerSecond triad = {};  ///< a = b + s c
  /// The same triad, but counts that the core reads a line before it writes it: all bytes on the bus.
  BytesPerSecond triad_allocating = {};
  Curve caches = {};  ///< by bytes touched since the last use of the data; empty: triad at every size
  bool operator==(const Memory&) const = default;
};

/// Contention of the ranks of a node: rates while all are busy, divided by the rates of one rank alone.
struct Contention {
  double gemm = 1;
  double memory = 1;
  bool operator==(const Contention&) const = default;
};

/// How a machine was measured. All empty if it was not measured.
struct Provenance {
  std::string host = {};
  std::string date = {};  ///< UTC, as in 2026-01-31T12:00:00Z
  std::string mesh = {};  ///< as in X=2,Y=4
  int nodes = 0;
  int cores = 0;  ///< available to the ranks of a node
  int ranks_per_node = 0;
  int threads_per_rank = 0;
  std::string blas = {};
  std::string mpi = {};
  std::string commit = {};
  std::optional<double> busy_with_others = {};  ///< share of the cores' time for other work; empty: not known
  /// The figures whose repetitions did not agree, as paths in the file.
  std::vector<std::string> unreliable = {};
  bool operator==(const Provenance&) const = default;
};

/// A machine as in its file: the ranks of a mesh, all alike, and their links.
struct Machine {
  std::string name;
  Provenance measured = {};
  std::map<DType, Compute> compute = {};  ///< f32, f64, bf16, int8
  Memory memory = {};
  Seconds overhead = {};
  Contention contention = {};
  std::map<std::string, Resource> resources = {};
  std::map<Axis, std::string> axes = {};           ///< the resource that joins the ranks of a mesh axis
  BytesPerSecond pcie = {};                        ///< between a rank and its host; 0: not known
  BytesPerSecond between_pods = {};                ///< leaving a host for other pods; 0: not known
  std::optional<collectives::Tuning> tuning = {};  ///< of collectives; empty: the built-in one
  collectives::Wire bf16_wire = collectives::Wire::exchange;
  bool operator==(const Machine&) const = default;
};

/// The machine as the ranks of `mesh` see it in `dtype`. If bf16 has no figures, it takes those of f32. Throws
/// UsageError with the missing item: the figures of the element type, or the resource of an axis of more than
/// one rank.
Hardware hardware_of(const Machine& machine, const AbstractMesh& mesh, DType dtype);

}  // namespace shardline::roofline
