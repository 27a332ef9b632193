#pragma once

namespace shardline::roofline {

/// The file of a machine as written by hand, with every key.
inline constexpr const char* kWhole = R"({
  "schema": "shardline.machine/1",
  "name": "two boxes",
  "measured": {
    "host": "box1",
    "date": "2026-01-31T12:00:00Z",
    "mesh": "X=2,Y=4",
    "nodes": 2,
    "cores": 4,
    "ranks_per_node": 4,
    "threads_per_rank": 1,
    "blas": "some BLAS",
    "mpi": "some MPI",
    "commit": "abc",
    "busy_with_others": 0.25,
    "unreliable": [
      "/resources/network/latency_s"
    ]
  },
  "compute": {
    "f32": {
      "peak_flops_per_s": 5e+20,
      "gemm": {
        "sizes": [
          64, 512
        ],
        "flops_per_s": [
          1, 2, 3, 4, 5, 6, 7, 8.5
        ]
      },
      "library": "onednn",
      "panels": 0.75,
      "kernels": {
        "attention": 2000000000
      },
      "kernel_latency_s": {
        "attention": 5e-07,
        "embed": 0
      }
    },
    "f64": {
      "peak_flops_per_s": 25000000000
    }
  },
  "memory": {
    "capacity_bytes": 8000000000,
    "read_bytes_per_s": 11000000000,
    "copy_bytes_per_s": 10500000000,
    "triad_bytes_per_s": 10000000000,
    "triad_allocating_bytes_per_s": 13000000000,
    "caches": [
      {"bytes": 32000, "bytes_per_s": 100000000000},
      {"bytes": 1000000, "bytes_per_s": 40000000000}
    ]
  },
  "overhead_s": 1e-06,
  "contention": {
    "gemm": 0.9,
    "memory": 0.5
  },
  "resources": {
    "network": {
      "kind": "switch",
      "latency_s": 2e-05,
      "bandwidth_one_way": 125000000,
      "bandwidth_two_way": 250000000,
      "residual": 0.1,
      "core_share": 0.25
    },
    "node": {
      "kind": "shared_memory",
      "latency_s": 1e-06,
      "bandwidth_one_way": 4000000000,
      "bandwidth_two_way": 4000000000,
      "residual": 0,
      "core_share": 1,
      "shared": {
        "latency_s": 5e-07,
        "copy": [
          {"bytes": 1000000, "bytes_per_s": 4000000000}
        ],
        "add": [
          {"bytes": 1000000, "bytes_per_s": 3000000000}
        ]
      }
    }
  },
  "axes": {
    "X": "network",
    "Y": "node"
  },
  "pcie_bytes_per_s": 15000000000,
  "between_pods_bytes_per_s": 25000000000,
  "bf16_wire": "exchange",
  "tuning": {
    "rules": [
      {"kind": "all_gather", "link": "node", "most_ranks": null, "most_bytes": 4096, "algorithm": "doubling"},
      {"kind": "shift", "link": "network", "most_ranks": 8, "most_bytes": null, "algorithm": "ring"}
    ],
    "node_segment_bytes": 524288,
    "network_segment_bytes": 262144,
    "one_pass_bytes_of_two": 1048576,
    "one_pass_bytes_of_more": 8192
  }
}
)";

}  // namespace shardline::roofline
