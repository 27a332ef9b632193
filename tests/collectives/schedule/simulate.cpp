#include "tests/collectives/schedule/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>

namespace shardline::collectives {
namespace {

/// A strand and the open transfers of its current round, by peer, in order.
struct Course {
  const Strand* strand = nullptr;
  std::size_t round = 0;
  bool open = false;
  std::map<Index, std::deque<Send>> sends;
  std::map<Index, std::deque<Receive>> receives;

  bool finished() const { return round == strand->size(); }
  bool idle() const { return sends.empty() && receives.empty(); }
};

/// One position with its memory and its progress in the schedule.
class Position {
 public:
  Position(const Scenario& scenario, Index index)
      : index_(index),
        scenario_(&scenario),
        schedule_(scenario.schedule_of(index)),
        input_(scenario.inputs[static_cast<std::size_t>(index)]),
        output_(static_cast<std::size_t>(scenario.output_sizes[static_cast<std::size_t>(index)]), kUntouched),
        work_(static_cast<std::size_t>(schedule_.work_size), kUntouched) {
    if (scenario.in_place) output_ = input_;
    if (schedule_.strands.size() > kMostStrands) fail("too many strands");
    for (const Strand& strand : schedule_.strands) courses.push_back({&strand, 0, false, {}, {}});
  }
  Position(const Position&) = delete;

  std::vector<Course> courses;

  bool finished() const {
    return std::all_of(courses.begin(), courses.end(), [](const Course& course) { return course.finished(); });
  }
  const std::vector<Index>& output() const { return output_; }
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(fmt::format("position {}: {}", index_, what));
  }

  Index& at(const Piece& piece, Index i) {
    const auto place = static_cast<std::size_t>(piece.range.begin + i);
    if (piece.buffer == Buffer::work) return work_.at(place);
    return piece.buffer == Buffer::output || scenario_->in_place ? output_.at(place) : input_.at(place);
  }

  /// Opens the strand's round if it is due, or ends it if it has no open transfers. True if it did.
  bool advance(Course& course) {
    if (course.finished()) return false;
    if (!course.open) {
      const Round& round = (*course.strand)[course.round];
      for (const Need& need : round.needs) {
        if (courses.at(static_cast<std::size_t>(need.strand)).round < static_cast<std::size_t>(need.rounds))
          return false;
      }
      open(course, round);
      return true;
    }
    if (!course.idle()) return false;
    course.open = false;
    ++course.round;
    return true;
  }

 private:
  void open(Course& course, const Round& round) {
    for (const Local& local : round.locals) carry_out(local);
    check_independent(round);
    for (const Send& send : round.sends) {
      check_inside(send.from);
      if (send.from.size() > 0) course.sends[send.peer].push_back(send);
    }
    for (const Receive& receive : round.receives) {
      check_inside(receive.into);
      if (receive.into.buffer == Buffer::input) fail("the input is written");
      if (receive.on_arrival == OnArrival::reduce) {
        check_inside(receive.operand);
        if (receive.operand.size() != receive.into.size()) fail("an operand of another size");
        if (!receive.partial) fail("adds what is not partial");
      }
      if (receive.into.size() > 0) course.receives[receive.peer].push_back(receive);
    }
    course.open = true;
  }

  void carry_out(const Local& local) {
    check_inside(local.into);
    if (local.into.buffer == Buffer::input) fail("the input is written");
    for (const Piece& piece : local.from) {
      check_inside(piece);
      if (piece.size() != local.into.size()) fail("a local operand of another size");
    }
    for (Index i = 0; i < local.into.size(); ++i) {
      Index value = at(local.from[0], i);
      for (std::size_t k = 1; k < local.from.size(); ++k) value = scenario_->combine(value, at(local.from[k], i));
      at(local.into, i) = local.last ? scenario_->last(value) : value;
    }
  }

  bool touch(const Piece& a, const Piece& b) const {
    const auto memory = [&](const Piece& piece) {
      return scenario_->in_place && piece.buffer == Buffer::input ? Buffer::output : piece.buffer;
    };
    return memory(a) == memory(b) && a.range.begin < b.range.end && b.range.begin < a.range.end;
  }

  void check_inside(const Piece& piece) const {
    const auto& buffer = piece.buffer == Buffer::work ? work_ : piece.buffer == Buffer::output ? output_ : input_;
    if (piece.size() == 0) return;
    if (piece.range.begin < 0 || piece.range.end < piece.range.begin ||
        piece.range.end > static_cast<Index>(buffer.size())) {
      fail(fmt::format("piece [{}, {}) of a buffer of {}", piece.range.begin, piece.range.end, buffer.size()));
    }
  }

  void check_independent(const Round& round) const {
    for (std::size_t i = 0; i < round.receives.size(); ++i) {
      const Piece& into = round.receives[i].into;
      for (const Send& send : round.sends) {
        if (touch(into, send.from)) fail("received into what is being sent");
      }
      for (std::size_t j = 0; j < round.receives.size(); ++j) {
        if (j == i) continue;
        const Receive& other = round.receives[j];
        if (touch(into, other.into)) fail("received into the same place twice");
        if (other.on_arrival == OnArrival::reduce && touch(into, other.operand))
          fail("received into another's operand");
      }
    }
  }

  Index index_;
  const Scenario* scenario_;
  Schedule schedule_;
  std::vector<Index> input_;
  std::vector<Index> output_;
  std::vector<Index> work_;
};

using Positions = std::vector<std::unique_ptr<Position>>;

/// Carries out the oldest send of strand `strand` from `from` to each peer that has a matching receive. True if
/// there was one.
bool match(const Scenario& scenario, Positions& positions, Index from, std::size_t strand, Outcome& outcome) {
  Position& sender = *positions[static_cast<std::size_t>(from)];
  Course& course = sender.courses[strand];
  bool moved = false;
  for (auto it = course.sends.begin(); it != course.sends.end();) {
    Position& receiver = *positions.at(static_cast<std::size_t>(it->first));
    Course& other = receiver.courses.at(strand);
    const auto found = other.receives.find(from);
    if (found == other.receives.end()) {
      ++it;
      continue;
    }
    const Send send = it->second.front();
    const Receive receive = found->second.front();
    if (receive.into.size() != send.from.size() || receive.partial != send.partial) {
      sender.fail(fmt::format("sends {} elements (partial {}) to {}, which expects {} (partial {})", send.from.size(),
                              send.partial, send.peer, receive.into.size(), receive.partial));
    }
    for (Index i = 0; i < send.from.size(); ++i) {
      Index value = sender.at(send.from, i);
      if (receive.on_arrival == OnArrival::reduce) {
        const Index operand = receiver.at(receive.operand, i);
        value = receive.operand_first ? scenario.combine(operand, value) : scenario.combine(value, operand);
      }
      receiver.at(receive.into, i) = receive.last ? scenario.last(value) : value;
    }
    outcome.sent[static_cast<std::size_t>(from)][static_cast<std::size_t>(send.peer)] += send.from.size();
    found->second.pop_front();
    if (found->second.empty()) other.receives.erase(found);
    it->second.pop_front();
    it = it->second.empty() ? course.sends.erase(it) : std::next(it);
    moved = true;
  }
  return moved;
}

}  // namespace

Index Outcome::sent_by(Index position) const {
  const std::vector<Index>& to = sent[static_cast<std::size_t>(position)];
  return std::accumulate(to.begin(), to.end(), Index{0});
}

Outcome simulate(const Scenario& scenario) {
  Positions positions;
  const auto count = static_cast<std::size_t>(scenario.positions);
  for (Index i = 0; i < scenario.positions; ++i) positions.push_back(std::make_unique<Position>(scenario, i));
  Outcome outcome{{}, std::vector<std::vector<Index>>(count, std::vector<Index>(count, 0))};
  std::vector<std::pair<Index, std::size_t>> turns;
  for (Index i = 0; i < scenario.positions; ++i) {
    for (std::size_t s = 0; s < positions[static_cast<std::size_t>(i)]->courses.size(); ++s) turns.emplace_back(i, s);
  }
  std::mt19937_64 random(scenario.seed);
  bool moved = true;
  while (moved) {
    moved = false;
    std::shuffle(turns.begin(), turns.end(), random);
    for (const auto& [i, strand] : turns) {
      Position& position = *positions[static_cast<std::size_t>(i)];
      moved = match(scenario, positions, i, strand, outcome) || moved;
      moved = position.advance(position.courses[strand]) || moved;
    }
  }
  for (const auto& position : positions) {
    if (!position->finished()) position->fail("deadlock");
    outcome.outputs.push_back(position->output());
  }
  return outcome;
}

}  // namespace shardline::collectives
