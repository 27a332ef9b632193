#include "collectives/run/message_log.h"

namespace shardline::collectives {

MessageLog::MessageLog(Recording* recording, const Job& job, bool along_ring)
    : recording_(recording), group_(job.group), along_ring_(along_ring) {
  if (recording_ != nullptr) collective_ = recording_->next_collective();
}

int MessageLog::add(Index peer, bool sends, int strand, Index bytes) {
  const Index self = group_->mesh_ranks[static_cast<std::size_t>(group_->position)];
  const Index other = group_->mesh_ranks[static_cast<std::size_t>(peer)];
  Message message;
  message.collective = collective_;
  message.strand = strand;
  message.number = counts_[{strand, peer, sends}]++;
  message.from = sends ? self : other;
  message.to = sends ? other : self;
  message.bytes = bytes;
  if (along_ring_) message.heading = strand % 2 == 0 ? Heading::forward : Heading::backward;
  message.sends = sends;
  messages_.push_back(message);
  return static_cast<int>(messages_.size()) - 1;
}

void MessageLog::close() {
  if (recording_ == nullptr) return;
  for (const Message& message : messages_) recording_->add(message);
}

}  // namespace shardline::collectives
