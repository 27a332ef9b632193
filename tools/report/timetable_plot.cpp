#include "tools/report/timetable_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "tools/report/plot_frame.h"
#include "tools/report/svg.h"

namespace shardline::tools {
namespace {

constexpr double kTaskHeight = 1.2 * kRoomyLetters;
constexpr double kRowHeight = 1.3 * kTaskHeight;
constexpr double kStageLine = 1.3 * kRoomyLetters;
constexpr double kStageGap = 8;
constexpr const char* kPale = "fill-opacity='0.45'";  ///< of what is predicted

struct TaskLook {
  char kind;
  std::size_t ink;
  const char* name;
};
constexpr std::array kTaskLooks = {TaskLook{'F', 0, "forward"}, TaskLook{'B', 1, "backward"},
                                   TaskLook{'I', 4, "gradients of inputs"}, TaskLook{'W', 2, "gradients of weights"}};

const TaskLook& look_of(char kind) {
  return *std::find_if(kTaskLooks.begin(), kTaskLooks.end() - 1,
                       [&](const TaskLook& look) { return look.kind == kind; });
}

class TimetableDrawing {
 public:
  explicit TimetableDrawing(const std::vector<StageRows>& stages) : stages_(stages) {
    for (const StageRows& stage : stages) {
      for (const auto* row : {&stage.measured, &stage.predicted}) {
        for (const TimetableBox& box : *row) end_ = std::max(end_, box.end), kinds_.insert(box.kind);
      }
    }
  }

  std::string svg() const {
    double y = 0;
    std::string elements = legend(y);
    const double top = y;
    std::string boxes;
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      boxes += svg_text({0, y + 0.85 * kRoomyLetters}, Anchor::start,
                        fmt::format("stage {}: measured, below it predicted", stage), kMuted);
      y += kStageLine;
      boxes += row_svg(stages_[stage].measured, y, "");
      boxes += row_svg(stages_[stage].predicted, y + kRowHeight, kPale);
      y += 2 * kRowHeight + kStageGap;
    }
    elements += axis(top, y) + boxes;
    return svg_figure(y + 1.4 * kStageLine, "Timetable: which task each stage did when", elements);
  }

 private:
  double x(Seconds time) const { return end_.value > 0 ? kFigureWidth * (time / end_) : 0; }

  std::string row_svg(const std::vector<TimetableBox>& row, double y, const char* more) const {
    std::string text;
    for (const TimetableBox& each : row) {
      const Box box{x(each.begin), y, std::max(0.4, x(each.end) - x(each.begin)), kTaskHeight};
      text +=
          svg_box(box, {.fill = &category_ink(look_of(each.kind).ink), .stroke = &kPaper, .as = more},
                  fmt::format("{}: {} from {} on", each.name, to_string(each.end - each.begin), to_string(each.begin)));
      if (box.width <= roomy_width(each.micro_batch)) continue;
      text += svg_text({box.left + box.width / 2, y + 0.8 * kTaskHeight}, Anchor::middle, each.micro_batch);
    }
    return "<g class='lane'>\n" + text + "</g>\n";
  }

  std::string axis(double top, double bottom) const {
    std::string text;
    for (const double tick : ticks_of(Scaling::linear, {0, end_.value})) {
      const Seconds time(tick);
      if (time > end_) break;
      const Anchor anchor = tick == 0 ? Anchor::start : x(time) > 0.95 * kFigureWidth ? Anchor::end : Anchor::middle;
      text += svg_line({x(time), top}, {x(time), bottom}, {.stroke = &kGrid});
      text += svg_text({x(time), bottom + kStageLine}, anchor, with_prefix(time.value, "s"), kMuted);
    }
    return text;
  }

  /// Two columns of the kinds that there are. Moves `y` below it.
  std::string legend(double& y) const {
    std::string text;
    std::size_t at = 0;
    for (const TaskLook& look : kTaskLooks) {
      if (!kinds_.contains(look.kind)) continue;
      const double left = at % 2 == 0 ? 0 : 0.5 * kFigureWidth;
      const double line = static_cast<double>(at / 2) * kStageLine;
      text += svg_box({left, line + 3, 14, 12}, {.fill = &category_ink(look.ink)});
      text += svg_text({left + 20, line + 14}, Anchor::start, fmt::format("{}: {}", look.kind, look.name), kMuted);
      ++at;
    }
    y = (static_cast<double>((at + 1) / 2) + 0.3) * kStageLine;
    return text;
  }

  const std::vector<StageRows>& stages_;
  Seconds end_;
  std::set<char> kinds_;
};

}  // namespace

std::string timetable_svg(const std::vector<StageRows>& stages) { return TimetableDrawing(stages).svg(); }

}  // namespace shardline::tools
