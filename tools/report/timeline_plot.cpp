#include "tools/report/timeline_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "tools/report/plot_frame.h"

namespace shardline::tools {
namespace {

constexpr double kLaneLine = 1.3 * kRoomyLetters;
constexpr double kLane = 15;
constexpr double kLaneGap = 2;
constexpr double kRankGap = 8;

bool is_communication(Doing doing) { return doing == Doing::collective || doing == Doing::early; }

struct Look {
  Doing doing;
  std::size_t ink;
  const char* more;  ///< attributes
  const char* name;
};
constexpr std::array kLooks = {Look{Doing::product, 0, "", "products"},
                               Look{Doing::computation, 2, "", "other computation"},
                               Look{Doing::collective, 1, "", "collectives"},
                               Look{Doing::early, 1, "fill-opacity='0.35'", "waiting for the last rank to enter"}};

const Look& look_of(Doing doing) { return kLooks.at(static_cast<std::size_t>(doing)); }

/// Spans drawn as one box.
struct Group {
  TimelineSpan first;
  Seconds begin;
  Seconds end;
  std::size_t count = 0;
  std::map<Doing, Seconds> time;

  void add(const TimelineSpan& span) {
    if (count++ == 0) first = span, begin = span.begin, end = span.end;
    end = std::max(end, span.end);
    time[span.doing] += span.end - span.begin;
  }
  /// The activity with the most time.
  Doing doing() const {
    return std::max_element(time.begin(), time.end(), [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  }
  std::string title() const {
    const std::string when = fmt::format("{} from {} on", to_string(end - begin), to_string(begin));
    if (count == 1) return fmt::format("{}: {}", first.name, when);
    return fmt::format("{} operations, mostly {}, the first {}: {}", count, look_of(doing()).name, first.name, when);
  }
};

/// A lane's spans in order. Spans shorter than `resolution` join neighbours within that distance,
/// until the group is as long as `resolution`.
std::vector<Group> groups_of(const std::vector<TimelineSpan>& lane, Seconds resolution) {
  std::vector<Group> groups;
  bool open = false;
  for (const TimelineSpan& span : lane) {
    const bool is_short = span.end - span.begin < resolution;
    if (!open || !is_short || span.begin - groups.back().end > resolution) groups.emplace_back();
    groups.back().add(span);
    open = is_short && groups.back().end - groups.back().begin < resolution;
  }
  return groups;
}

class LaneDrawing {
 public:
  LaneDrawing(const TimelineFigure& timeline, std::size_t most) {
    for (const TimelineFigure::Rank& rank : timeline.ranks) {
      for (const bool communication : {false, true}) {
        Lane lane{rank.rank, communication, {}};
        for (const TimelineSpan& span : rank.spans) {
          if (is_communication(span.doing) == communication) lane.spans.push_back(span);
          end_ = std::max(end_, span.end);
        }
        std::stable_sort(lane.spans.begin(), lane.spans.end(),
                         [](const TimelineSpan& a, const TimelineSpan& b) { return a.begin < b.begin; });
        lanes_.push_back(std::move(lane));
      }
    }
    resolution_ = end_ / (4 * kFigureWidth);
    while (boxes() > most && resolution_ > Seconds() && resolution_ < end_) resolution_ = resolution_ * 1.5;
  }

  std::string svg() const {
    double y = 0;
    std::string elements = legend(y);
    const double top = y;
    std::string boxes;
    for (const Lane& lane : lanes_) {
      if (!lane.communication) {
        boxes += svg_text({0, y + 0.85 * kRoomyLetters}, Anchor::start, fmt::format("rank {}", lane.rank), kMuted);
        y += kLaneLine;
      }
      boxes += lane_svg(lane, y);
      y += kLane + (lane.communication ? kRankGap : kLaneGap);
    }
    elements += axis(top, y) + boxes;
    y += 1.4 * kLaneLine;
    return svg_figure(y, "Timeline: what every rank did when", elements);
  }

 private:
  struct Lane {
    Index rank;
    bool communication;
    std::vector<TimelineSpan> spans;
  };

  std::size_t boxes() const {
    std::size_t count = 0;
    for (const Lane& lane : lanes_) count += groups_of(lane.spans, resolution_).size();
    return count;
  }

  double x(Seconds time) const { return end_.value > 0 ? kFigureWidth * (time / end_) : 0; }

  std::string lane_svg(const Lane& lane, double y) const {
    constexpr double kThinnest = 0.4;
    std::string text;
    for (const Group& group : groups_of(lane.spans, resolution_)) {
      const Look& look = look_of(group.doing());
      const Box box = {x(group.begin), y, std::max(kThinnest, x(group.end) - x(group.begin)), kLane};
      text += svg_box(box, {.fill = &category_ink(look.ink), .as = look.more}, group.title());
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
      text += svg_text({x(time), bottom + kLaneLine}, anchor, with_prefix(time.value, "s"), kMuted);
    }
    return text;
  }

  /// Two columns. Moves `y` below it.
  static std::string legend(double& y) {
    std::string text;
    for (std::size_t i = 0; i < kLooks.size(); ++i) {
      const double left = i % 2 == 0 ? 0 : 0.36 * kFigureWidth;
      const double top = i < 2 ? 0 : kLaneLine;
      text += svg_box({left, top + 3, 14, 12}, {.fill = &category_ink(kLooks.at(i).ink), .as = kLooks.at(i).more});
      text += svg_text({left + 20, top + 14}, Anchor::start, kLooks.at(i).name, kMuted);
    }
    y = 2.3 * kLaneLine;
    return text;
  }

  std::vector<Lane> lanes_;
  Seconds end_;
  Seconds resolution_;
};

}  // namespace

std::string timeline_svg(const TimelineFigure& timeline, std::size_t most) { return LaneDrawing(timeline, most).svg(); }

}  // namespace shardline::tools
