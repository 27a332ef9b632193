#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "collectives/run/progress.h"
#include "runtime/base/check.h"
#include "runtime/layout/tensor.h"
#include "runtime/trace/clock.h"

namespace shardline {

/// Collective over the mesh: the time of the slowest rank. All ranks start together.
inline Seconds time_of(const collectives::Engine& engine, const std::function<void()>& body) {
  const mpi::Communicator& comm = engine.mesh().comm();
  comm.barrier();
  const Seconds begin = now();
  body();
  return Seconds(comm.max((now() - begin).value));
}

/// Collective over the mesh: throws Error on every rank unless both ways, in f32, give the same on each rank.
inline void expect_equal(const collectives::Engine& engine, const Tensor& a, const Tensor& b, const std::string& name) {
  SHARDLINE_CHECK(a.shape() == b.shape(), "{}: shapes {} and {}", name, to_string(a.shape()), to_string(b.shape()));
  double difference = 0;
  double largest = 1e-30;
  for (Index i = 0; i < a.size(); ++i) {
    const double apart = std::abs(static_cast<double>(a.view<float>()[i]) - static_cast<double>(b.view<float>()[i]));
    difference = apart <= difference ? difference : apart;  // keeps a NaN
    largest = std::max(largest, std::abs(static_cast<double>(b.view<float>()[i])));
  }
  const double relative = engine.mesh().comm().max(difference / largest);
  SHARDLINE_CHECK(relative < 1e-4, "{}: fused and unfused differ by {} of the largest element", name, relative);
}

}  // namespace shardline
