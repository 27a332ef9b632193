#include "runtime/mpi/shared_window.h"

#include <sys/mman.h>
#include <sys/statvfs.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>

#include "runtime/base/check.h"
#include "runtime/base/units.h"
#include "runtime/mpi/error.h"

namespace shardline::mpi {
namespace {

constexpr Index kPage = 4096;

/// Open MPI does not keep the alignment of its memory. One more page leaves room to start on a
/// page.
Index with_slack(Index bytes) { return bytes + kPage; }

/// Mappings start on pages. So a part has the same offset in its first page on every rank, and all
/// ranks round alike.
std::byte* on_page(void* memory) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  constexpr auto kMask = static_cast<std::uintptr_t>(kPage - 1);
  return static_cast<std::byte*>(memory) + (((address + kMask) & ~kMask) - address);
}

/// Where the MPI library puts the files of shared windows: /dev/shm. Open MPI (osc/sm) can be told
/// otherwise.
std::string backing_directory() {
  const char* told = std::getenv("OMPI_MCA_osc_sm_backing_directory");
  return told != nullptr ? told : "/dev/shm";
}

/// 0 if the system does not tell.
double free_bytes(const std::string& directory) {
  struct statvfs space {};
  if (statvfs(directory.c_str(), &space) != 0) return 0;
  return static_cast<double>(space.f_bavail) * static_cast<double>(space.f_frsize);
}

void check_size(const Communicator& all, const Communicator& node, Index bytes) {
  const auto own = static_cast<double>(bytes);
  const double least = all.min(own);
  const double most = all.max(own);
  require(least == most && least >= 0, "the parts of a shared window are of {} on one rank and of {} on another",
          to_string(Bytes(least)), to_string(Bytes(most)));
  const std::string directory = backing_directory();
  const double needed = static_cast<double>(with_slack(bytes)) * node.size();
  const std::vector<double> free = all.all_gather(free_bytes(directory));
  const std::vector<double> needs = all.all_gather(needed);
  for (std::size_t rank = 0; rank < free.size(); ++rank) {
    require(needs[rank] <= free[rank] / 2,
            "{} of memory that ranks share do not fit on the node of rank {}: its ranks need {} in {}, where {} are "
            "free, of which at most half may be used",
            to_string(Bytes(own)), rank, to_string(Bytes(needs[rank])), directory, to_string(Bytes(free[rank])));
  }
}

class Hints {
 public:
  Hints() { SHARDLINE_MPI(MPI_Info_create(&info_)); }
  ~Hints() { MPI_Info_free(&info_); }
  Hints(const Hints&) = delete;
  Hints& operator=(const Hints&) = delete;
  void set(const char* key, const char* value) const { SHARDLINE_MPI(MPI_Info_set(info_, key, value)); }
  MPI_Info get() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

}  // namespace

SharedWindow::SharedWindow(const Communicator& all, Index bytes) : node_(all.split_by_node()), bytes_(bytes) {
  check_size(all, node_, bytes);
  const Hints hints;
  hints.set("alloc_shared_noncontig", "true");  // each part may lie near its own rank
  void* own = nullptr;
  SHARDLINE_MPI(MPI_Win_allocate_shared(with_slack(bytes), 1, hints.get(), node_.get(), &own, &window_));
  SHARDLINE_MPI(MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN));
  find_parts(all);
  make_pages_present(all.rank());
}

SharedWindow::~SharedWindow() {
  if (window_ == MPI_WIN_NULL || std::uncaught_exceptions() > 0) return;
  int ended = 0;
  MPI_Finalized(&ended);
  if (ended == 0) MPI_Win_free(&window_);
}

void SharedWindow::find_parts(const Communicator& all) {
  parts_.assign(static_cast<std::size_t>(all.size()), nullptr);
  const std::vector<double> members = node_.all_gather(all.rank());
  for (int member = 0; member < node_.size(); ++member) {
    MPI_Aint size = 0;
    int unit = 0;
    void* memory = nullptr;
    SHARDLINE_MPI(MPI_Win_shared_query(window_, member, &size, &unit, &memory));
    parts_[static_cast<std::size_t>(members[static_cast<std::size_t>(member)])] = on_page(memory);
  }
}

void SharedWindow::make_pages_present(int own_rank) const {
  const auto touch = [this](std::byte* part, bool write) {
    for (Index at = 0; at < bytes_; at += kPage) {
      volatile std::byte* byte = part + at;
      if (write) {
        *byte = std::byte{0};
      } else {
        static_cast<void>(*byte);
      }
    }
  };
  touch(part(own_rank), true);
  node_.barrier();
  for (std::byte* part : parts_) {
    if (part != nullptr) touch(part, false);
  }
  node_.barrier();
}

}  // namespace shardline::mpi
