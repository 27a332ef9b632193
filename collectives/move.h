#pragma once

#include "collectives/run/progress.h"
#include "runtime/layout/axes.h"
#include "runtime/layout/tensor.h"

namespace shardline::collectives {

/// The other end of a move.
struct MovePeer {
  Index position = 0;  ///< along the axis
  /// The same at both ends. It tells moves between the same two positions apart; of two moves with equal numbers, the
  /// one that is started first arrives first. From 0.
  int number = 0;
};

/// Gives `array` to one other position of `axis`. Only this rank and the receiver take part, but for the first use of
/// the axis, which is collective over it (see Mesh::group()). Neither waits for the other before wait(). The array must
/// stay as it is until then. No collective may run over the same axes of the same mesh: it would mix up the messages.
/// Throws UsageError if the peer is no other position of the axis.
Handle start_send(Engine& engine, const Axis& axis, const Tensor& array, const MovePeer& to);

/// Takes an array of the same size and type from one other position of `axis`, as start_send().
Handle start_receive(Engine& engine, const Axis& axis, Tensor& array, const MovePeer& from);

}  // namespace shardline::collectives
