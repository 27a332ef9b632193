// Fails on purpose in the way of its argument. failure_test.sh checks the end of the job.

#include <cstdio>
#include <stdexcept>
#include <string>

#include "runtime/base/check.h"
#include "runtime/base/result_error.h"
#include "runtime/mpi/communicator.h"
#include "runtime/mpi/environment.h"

namespace {

using shardline::ResultError;
using shardline::UsageError;
using shardline::mpi::Communicator;

int run(const std::string& way) {
  const Communicator world = Communicator::world();
  const bool last = world.rank() == world.size() - 1;
  if (way == "throw-on-one" && last) throw std::runtime_error("the disk is on fire");
  if (way == "refuse-on-all") throw UsageError("no such mesh");
  if (way == "wrong-on-all") throw ResultError("it diverged");
  if (way == "refuse-on-one" && last) throw UsageError("no such mesh");
  if (way == "refuse-on-one-at-the-end") {
    world.barrier();
    if (last) throw UsageError("no such mesh");
    return 0;
  }
  world.barrier();
  return way == "return-3" || (way == "return-3-on-one" && last) ? 3 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const shardline::mpi::Environment environment(&argc, &argv);
  const std::string way = argc > 1 ? argv[1] : "";
  const int code = shardline::mpi::run_guarded([&] { return run(way); });
  if (way == "return-3-on-one") std::printf("ended with %d\n", code);
  return code;
}
