#include "tools/trace/trace_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace shardline::tools {
namespace {

std::string dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

class Writer {
 public:
  Writer(const RankTitle& title, TraceCount& count) : title_(title), count_(count) {}

  std::string write(const RankEvents& events) {
    add_process();
    for (std::size_t i = 0; i < events.lanes.size(); ++i) add_lane(static_cast<Index>(i) + 1, events.lanes[i]);
    for (const RankEvents::Memory& each : events.memory) {
      add({{"ph", "C"},
           {"name", "arrays"},
           {"pid", pid()},
           {"ts", microseconds_of(each.at)},
           {"args", {{"bytes", each.bytes}}}});
    }
    return std::move(text_);
  }

 private:
  /// Process 0 has a special meaning in viewers.
  Index pid() const { return title_.rank + 1; }

  void add(const Json& event) {
    if (!text_.empty()) text_ += ",\n";
    text_ += dumped(event);
  }

  void add_metadata(const char* name, Json arguments, Index lane = 0) {
    Json event{{"ph", "M"}, {"name", name}, {"pid", pid()}};
    if (lane > 0) event["tid"] = lane;
    event["args"] = std::move(arguments);
    add(event);
  }

  void add_process() {
    ++count_.processes;
    add_metadata("process_name", {{"name", title_.name}});
    add_metadata("process_labels", {{"labels", title_.label}});
    add_metadata("process_sort_index", {{"sort_index", title_.rank}});
  }

  void add_lane(Index number, const Lane& lane) {
    add_metadata("thread_name", {{"name", lane.name}}, number);
    add_metadata("thread_sort_index", {{"sort_index", number}}, number);
    for (const Slice& slice : lane.slices) {
      ++count_.slices;
      add({{"ph", "X"},
           {"name", slice.name},
           {"cat", slice.category},
           {"pid", pid()},
           {"tid", number},
           {"ts", microseconds_of(slice.begin)},
           {"dur", microseconds_of(slice.end - slice.begin)},
           {"args", slice.arguments}});
      for (const ArrowEnd& end : slice.arrows) add_arrow_end(number, slice, end);
    }
  }

  /// A viewer searches the slice at the time of an arrow end. So a head stands one tick before the
  /// end of its slice.
  void add_arrow_end(Index lane, const Slice& slice, const ArrowEnd& end) {
    Json event{{"ph", end.tail ? "s" : "f"},
               {"name", "message"},
               {"cat", "message"},
               {"id", end.id},
               {"pid", pid()},
               {"tid", lane},
               {"ts", microseconds_of(end.tail ? slice.begin : slice.end - 1)}};
    if (!end.tail) {
      event["bp"] = "e";
      ++count_.arrows;
    }
    add(event);
  }

  const RankTitle& title_;
  TraceCount& count_;
  std::string text_;
};

}  // namespace

std::string text_of(const RankTitle& title, const RankEvents& events, TraceCount& count) {
  return Writer(title, count).write(events);
}

std::string text_before(const Json& other_data) {
  return fmt::format("{{\n\"displayTimeUnit\": \"ms\",\n\"otherData\": {},\n\"traceEvents\": [\n", dumped(other_data));
}

std::string text_after() { return "\n]\n}\n"; }

}  // namespace shardline::tools
