#include "runtime/trace/other_work.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <sstream>

#include "runtime/mpi/cores.h"
#include "runtime/trace/clock.h"

namespace shardline {
namespace {

Seconds cpu_time_of_process() {
  std::timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return Seconds(static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec));
}

std::string proc_stat() {
  std::ifstream file("/proc/stat");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

OtherWork::OtherWork(const mpi::Communicator& world)
    : world_(&world),
      node_(world.split_by_node()),
      cpus_(mpi::cpus_of(node_)),
      nodes_(static_cast<Index>(world.sum(node_.rank() == 0 ? 1 : 0))),
      use_{.cpus = static_cast<Index>(cpus_.size())} {}

OtherWork::Reading OtherWork::read() const {
  world_->barrier();
  Reading reading{now(), cpu_time_of_process(), std::nullopt};
  if (node_.rank() == 0) {
    reading.times = cpu_times(proc_stat(), cpus_, Seconds(1.0 / static_cast<double>(sysconf(_SC_CLK_TCK))));
  }
  return reading;
}

void OtherWork::begin() { begun_ = read(); }

void OtherWork::end() {
  const Reading ended = read();
  use_.elapsed += ended.at - begun_.at;
  use_.own += Seconds(node_.sum((ended.own - begun_.own).value));
  counted_ = counted_ && begun_.times && ended.times;
  if (counted_) {
    const CpuTimes times = between(*begun_.times, *ended.times);
    use_.times.idle += times.idle;
    use_.times.stolen += times.stolen;
    use_.times.counted += times.counted;
  }
  find_busiest();
}

void OtherWork::find_busiest() {
  constexpr double kUnknown = -1;
  const std::optional<double> mine = node_.rank() == 0 && counted_ ? share_of_others(use_) : std::nullopt;
  const std::vector<double> shares = world_->all_gather(mine.value_or(kUnknown));
  const std::vector<double> cores = world_->all_gather(static_cast<double>(use_.cpus));
  const auto most = std::max_element(shares.begin(), shares.end());
  busiest_.reset();
  if (*most == kUnknown) return;
  const auto rank = static_cast<std::size_t>(most - shares.begin());
  busiest_ = Node{*most, static_cast<Index>(cores[rank]), nodes_, static_cast<int>(rank)};
}

}  // namespace shardline
