#include "tools/options/schedule_options.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace shardline::tools {

ScheduleOptions schedule_options(const ScheduleFlags& flags) {
  using Fuse = ScheduleOptions::Fuse;
  require(flags.overlap == "on" || flags.overlap == "off", "--overlap {}: on or off", flags.overlap);
  require(flags.fuse == "auto" || flags.fuse == "on" || flags.fuse == "off", "--fuse {}: auto, on or off", flags.fuse);
  ScheduleOptions options;
  options.overlap = flags.overlap == "on";
  options.distance = flags.prefetch;
  options.fuse = flags.fuse == "auto" ? Fuse::priced : flags.fuse == "on" ? Fuse::always : Fuse::never;
  if (!options.overlap) {  // only the collectives, at their places in the program
    options.bundle_bytes = 0;
    if (options.fuse == Fuse::priced) options.fuse = Fuse::never;
  }
  return options;
}

bool moving_needs_the_cores(const AbstractMesh& mesh, const roofline::Hardware& hardware) {
  const Axes axes = mesh.axes_that_move();
  return !axes.empty() &&
         std::none_of(axes.begin(), axes.end(), [&](const Axis& axis) { return hardware.links.at(axis).frees_cores; });
}

}  // namespace shardline::tools
