#include "collectives/run/scratch.h"

#include <algorithm>
#include <bit>
#include <map>
#include <new>

#include "runtime/host/large_pages.h"

namespace shardline::collectives {
namespace {

constexpr std::align_val_t kAlignment{64};
constexpr Index kSmallest = 4096;

struct Free {
  void operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }
};
using Memory = std::unique_ptr<std::byte, Free>;

}  // namespace

struct ScratchPool::Shelf {
  std::multimap<Index, Memory> free;  ///< by capacity, a power of two
  Index bytes = 0;
};

ScratchPool::ScratchPool() : shelf_(std::make_shared<Shelf>()) {}

std::shared_ptr<std::byte> ScratchPool::take(Index bytes) {
  if (bytes == 0) return nullptr;
  const auto capacity = static_cast<Index>(std::bit_ceil(static_cast<std::uint64_t>(std::max(bytes, kSmallest))));
  Memory memory;
  if (const auto found = shelf_->free.find(capacity); found != shelf_->free.end()) {
    memory = std::move(found->second);
    shelf_->free.erase(found);
    shelf_->bytes -= capacity;
  } else {
    memory.reset(static_cast<std::byte*>(::operator new(static_cast<std::size_t>(capacity), kAlignment)));
    prefer_large_pages(memory.get(), static_cast<std::size_t>(capacity));
  }
  const auto give_back = [shelf = std::weak_ptr<Shelf>(shelf_), capacity](std::byte* raw) {
    Memory returned(raw);
    const std::shared_ptr<Shelf> home = shelf.lock();
    if (home == nullptr || home->bytes + capacity > kRetainedBytes) return;
    home->free.emplace(capacity, std::move(returned));
    home->bytes += capacity;
  };
  return {memory.release(), give_back};
}

}  // namespace shardline::collectives
