#include "program/timetable/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <vector>

#include "runtime/base/check.h"

namespace shardline {
namespace {

constexpr double kPictureWidth = 160;  ///< characters of a line

/// How a picture is drawn.
struct PictureScale {
  Seconds unit;
  std::size_t width = 1;  ///< characters of a column
  bool labels = false;    ///< tasks are named in full; if not, by a letter
};

/// The shortest time that a task takes, of those that take any. Nothing to draw: 1 s.
Seconds shortest_task(const Timetable& timetable, const Timing& timing) {
  Seconds shortest(std::numeric_limits<double>::infinity());
  for (const Task& task : timing.tasks) {
    const std::size_t number = number_of(timetable, task);
    const Seconds takes = timing.end[number] - timing.begin[number];
    if (takes > Seconds(0)) shortest = std::min(shortest, takes);
  }
  return std::isfinite(shortest.value) ? shortest : Seconds(1);
}

std::string line_start(const Timetable& timetable, const std::string& axis, int stage) {
  const std::size_t digits = std::to_string(timetable.stages - 1).size();
  return fmt::format("{}={:<{}}  ", axis, stage, digits);
}

PictureScale scale_of(const Timetable& timetable, const Timing& timing, const PictureOptions& options) {
  std::size_t label = 0;
  for (const Task& task : timing.tasks) label = std::max(label, to_string(timetable, task).size());
  const std::size_t width = label + 1;
  if (options.unit) return {*options.unit, width, true};
  const double room = kPictureWidth - static_cast<double>(line_start(timetable, options.axis, 0).size());
  const Seconds unit = shortest_task(timetable, timing);
  if (std::round(timing.makespan / unit) * static_cast<double>(width) <= room) return {unit, width, true};
  return {std::max(unit, timing.makespan / room), 1, false};
}

/// The letter of a task; a small one for the later chunks of a stage.
std::string letter_of(const Timetable& timetable, const Task& task) {
  const std::string letter = to_string(task.kind);
  const auto here = timetable.place.begin() + task.chunk;
  const bool first = std::find(timetable.place.begin(), here, *here) == here;
  return first ? letter : std::string(1, static_cast<char>(std::tolower(static_cast<unsigned char>(letter[0]))));
}

class StageLine {
 public:
  StageLine(const PictureScale& scale, Seconds makespan) : scale_(scale), cells_(column(makespan), ".") {}

  /// Draws `first` in the column of `begin` and `rest` in those up to `end`.
  void draw(Seconds begin, Seconds end, const std::string& first, const std::string& rest) {
    for (std::size_t c = column(begin); c < column(end); ++c) cells_[c] = c == column(begin) ? first : rest;
  }

  /// `start` and the columns, without blanks at the end.
  std::string text(const std::string& start) const {
    std::string line = start;
    for (const std::string& cell : cells_) line += fmt::format("{:<{}}", cell, scale_.width);
    return line.substr(0, line.find_last_not_of(' ') + 1);
  }

 private:
  std::size_t column(Seconds at) const { return static_cast<std::size_t>(std::lround(at / scale_.unit)); }

  const PictureScale& scale_;
  std::vector<std::string> cells_;
};

std::string meaning(const Timetable& timetable, const Timing& timing, const PictureScale& scale) {
  std::string text = "F forward";
  if (is_split(timetable)) {
    text += ", I gradients of inputs, W gradients of weights";
  } else if (last_kind(timetable) == TaskKind::backward) {
    text += ", B backward";
  }
  const bool several = timetable.chunks() > timetable.stages;
  if (scale.labels) text += several ? "; then micro-batch and chunk of the stage" : "; then the micro-batch";
  if (!scale.labels && several) text += "; small letters: later chunks of the stage";
  text += "; - goes on, . idle";
  const auto receives = [](Seconds time) { return time > Seconds(0); };
  if (std::any_of(timing.receiving.begin(), timing.receiving.end(), receives)) text += ", < receives";
  return text + "; a column is " + to_string(scale.unit);
}

}  // namespace

std::string picture(const Timetable& timetable, const Timing& timing, const PictureOptions& options) {
  require(!options.unit || *options.unit > Seconds(0), "a column of {} s in a picture; legal is more than 0",
          options.unit.value_or(Seconds(0)).value);
  const PictureScale scale = scale_of(timetable, timing, options);
  std::string text;
  for (int z = 0; z < timetable.stages; ++z) {
    StageLine line(scale, timing.makespan);
    for (const Task& task : timetable.orders[static_cast<std::size_t>(z)]) {
      const std::size_t number = number_of(timetable, task);
      const Seconds begin = timing.begin[number];
      line.draw(begin - timing.receiving[number], begin, "<", "<");
      line.draw(begin, timing.end[number], scale.labels ? to_string(timetable, task) : letter_of(timetable, task), "-");
    }
    text += line.text(line_start(timetable, options.axis, z)) + "\n";
  }
  return text + meaning(timetable, timing, scale) + "\n";
}

}  // namespace shardline
