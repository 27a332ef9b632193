#include "tests/collectives/simulate.h"

#include <fmt/format.h>

#include <map>
#include <stdexcept>

namespace shardline::collectives {
namespace {

[[noreturn]] void fail(Index position, std::size_t step, const std::string& what) {
  throw std::runtime_error(fmt::format("position {}, step {}: {}", position, step, what));
}

bool touch(const Piece& a, const Piece& b, bool in_place) {
  const auto memory = [&](const Piece& piece) {
    return in_place && piece.buffer == Buffer::input ? Buffer::output : piece.buffer;
  };
  return memory(a) == memory(b) && a.range.begin < b.range.end && b.range.begin < a.range.end;
}

/// One position with its memory and its place in its schedule.
class Position {
 public:
  Position(const Scenario& scenario, Index index)
      : index_(index),
        in_place_(scenario.in_place),
        schedule_(scenario.schedule_of(index)),
        input_(scenario.inputs[static_cast<std::size_t>(index)]),
        output_(static_cast<std::size_t>(scenario.output_sizes[static_cast<std::size_t>(index)]), kUntouched),
        work_(static_cast<std::size_t>(schedule_.work_size), kUntouched) {
    if (in_place_) output_ = input_;
    open_step();
  }

  bool finished() const { return step_ == schedule_.steps.size(); }
  std::size_t step() const { return step_; }
  /// Transfers of the current step that are still to happen, by peer.
  std::map<Index, Send>& sends() { return sends_; }
  std::map<Index, Receive>& receives() { return receives_; }
  const std::vector<Index>& output() const { return output_; }
  Index sent = 0;

  Index& at(const Piece& piece, Index i) {
    const auto place = static_cast<std::size_t>(piece.range.begin + i);
    if (piece.buffer == Buffer::work) return work_.at(place);
    return piece.buffer == Buffer::output || in_place_ ? output_.at(place) : input_.at(place);
  }

  /// Goes on to the next step when this one has nothing left to do.
  bool advance() {
    if (finished() || !sends_.empty() || !receives_.empty()) return false;
    ++step_;
    open_step();
    return true;
  }

 private:
  void open_step() {
    if (finished()) return;
    const Step& step = schedule_.steps[step_];
    check_independent(step);
    for (const Send& send : step.sends) {
      check_inside(send.from);
      if (send.from.size() > 0 && !sends_.emplace(send.peer, send).second) fail(index_, step_, "two sends to one peer");
    }
    for (const Receive& receive : step.receives) {
      check_inside(receive.into);
      if (receive.into.buffer == Buffer::input) fail(index_, step_, "the input is written");
      if (receive.action == Action::reduce) {
        check_inside(receive.operand);
        if (receive.operand.size() != receive.into.size()) fail(index_, step_, "an operand of another size");
      }
      if (receive.into.size() > 0 && !receives_.emplace(receive.peer, receive).second) {
        fail(index_, step_, "two receives from one peer");
      }
    }
  }

  void check_inside(const Piece& piece) const {
    const auto& buffer = piece.buffer == Buffer::work ? work_ : piece.buffer == Buffer::output ? output_ : input_;
    if (piece.size() == 0) return;
    if (piece.range.begin < 0 || piece.range.end < piece.range.begin ||
        piece.range.end > static_cast<Index>(buffer.size())) {
      fail(index_, step_,
           fmt::format("piece [{}, {}) of a buffer of {}", piece.range.begin, piece.range.end, buffer.size()));
    }
  }

  void check_independent(const Step& step) const {
    for (std::size_t i = 0; i < step.receives.size(); ++i) {
      const Piece& into = step.receives[i].into;
      for (const Send& send : step.sends) {
        if (touch(into, send.from, in_place_)) fail(index_, step_, "received into what is being sent");
      }
      for (std::size_t j = 0; j < step.receives.size(); ++j) {
        if (j == i) continue;
        const Receive& other = step.receives[j];
        if (touch(into, other.into, in_place_)) fail(index_, step_, "received into the same place twice");
        if (other.action == Action::reduce && touch(into, other.operand, in_place_)) {
          fail(index_, step_, "received into another's operand");
        }
      }
    }
  }

  Index index_;
  bool in_place_;
  Schedule schedule_;
  std::vector<Index> input_;
  std::vector<Index> output_;
  std::vector<Index> work_;
  std::size_t step_ = 0;
  std::map<Index, Send> sends_;
  std::map<Index, Receive> receives_;
};

/// Carries out the sends of position `from` whose receives are there. True when there was one.
bool match(const Scenario& scenario, std::vector<Position>& positions, Index from) {
  Position& sender = positions[static_cast<std::size_t>(from)];
  bool moved = false;
  for (auto it = sender.sends().begin(); it != sender.sends().end();) {
    const Send send = it->second;
    Position& receiver = positions.at(static_cast<std::size_t>(send.peer));
    const auto found = receiver.receives().find(from);
    if (found == receiver.receives().end()) {
      ++it;
      continue;
    }
    const Receive receive = found->second;
    if (receive.into.size() != send.from.size()) {
      fail(from, sender.step(),
           fmt::format("sends {} elements to {}, which expects {}", send.from.size(), send.peer, receive.into.size()));
    }
    for (Index i = 0; i < send.from.size(); ++i) {
      const Index value = sender.at(send.from, i);
      const bool reduces = receive.action == Action::reduce;
      receiver.at(receive.into, i) = reduces ? scenario.combine(value, receiver.at(receive.operand, i)) : value;
    }
    sender.sent += send.from.size();
    receiver.receives().erase(found);
    it = sender.sends().erase(it);
    moved = true;
  }
  return moved;
}

}  // namespace

Outcome simulate(const Scenario& scenario) {
  std::vector<Position> positions;
  for (Index i = 0; i < scenario.positions; ++i) positions.emplace_back(scenario, i);
  bool moved = true;
  while (moved) {
    moved = false;
    for (Index i = 0; i < scenario.positions; ++i) moved = match(scenario, positions, i) || moved;
    for (Position& position : positions) moved = position.advance() || moved;
  }
  Outcome outcome;
  for (Index i = 0; i < scenario.positions; ++i) {
    const Position& position = positions[static_cast<std::size_t>(i)];
    if (!position.finished()) fail(i, position.step(), "deadlock");
    outcome.outputs.push_back(position.output());
    outcome.sent.push_back(position.sent);
  }
  return outcome;
}

}  // namespace shardline::collectives
