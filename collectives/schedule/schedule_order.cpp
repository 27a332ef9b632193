#include "collectives/schedule/schedule_order.h"

#include <algorithm>

#include "collectives/schedule/intervals.h"

namespace shardline::collectives {
namespace {

/// A list of ranges in which every element occurs once, at its first place.
class FirstOccurrences {
 public:
  void add(Range range) {
    for (const Range& fresh : seen_.missing(range)) {
      if (!order_.empty() && order_.back().end == fresh.begin) {
        order_.back().end = fresh.end;
      } else {
        order_.push_back(fresh);
      }
    }
    seen_.add(range);
  }
  void add_input(const Piece& piece) {
    if (piece.buffer == Buffer::input) add(piece.range);
  }
  std::vector<Range> order() && { return std::move(order_); }

 private:
  Intervals seen_;
  std::vector<Range> order_;
};

/// Calls body(round) for round `number` of every strand that has this round.
template <class Body>
void for_each_of_round(const Schedule& schedule, std::size_t number, Body body) {
  for (const Strand& strand : schedule.strands) {
    if (number < strand.size()) body(strand[number]);
  }
}

std::size_t most_rounds(const Schedule& schedule) {
  std::size_t most = 0;
  for (const Strand& strand : schedule.strands) most = std::max(most, strand.size());
  return most;
}

}  // namespace

bool settles(const Receive& receive) {
  return receive.into.buffer == Buffer::output &&
         (receive.last || (receive.on_arrival == OnArrival::copy && !receive.partial));
}

bool settles(const Local& local) { return local.into.buffer == Buffer::output; }

std::vector<Range> reading_order(const Schedule& schedule) {
  FirstOccurrences read;
  for (std::size_t number = 0; number < most_rounds(schedule); ++number) {
    for_each_of_round(schedule, number, [&](const Round& round) {
      for (const Local& local : round.locals) {
        for (const Piece& piece : local.from) read.add_input(piece);
      }
      for (const Send& send : round.sends) read.add_input(send.from);
    });
    for_each_of_round(schedule, number, [&](const Round& round) {
      for (const Receive& receive : round.receives) {
        if (receive.on_arrival == OnArrival::reduce) read.add_input(receive.operand);
      }
    });
  }
  return std::move(read).order();
}

std::vector<Range> arrival_order(const Schedule& schedule, Range placed) {
  FirstOccurrences written;
  written.add(placed);
  for (std::size_t number = 0; number < most_rounds(schedule); ++number) {
    for_each_of_round(schedule, number, [&](const Round& round) {
      for (const Local& local : round.locals) {
        if (settles(local)) written.add(local.into.range);
      }
    });
    for_each_of_round(schedule, number, [&](const Round& round) {
      for (const Receive& receive : round.receives) {
        if (settles(receive)) written.add(receive.into.range);
      }
    });
  }
  return std::move(written).order();
}

}  // namespace shardline::collectives
