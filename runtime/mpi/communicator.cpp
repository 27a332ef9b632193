#include "runtime/mpi/communicator.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <numeric>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/result_error.h"
#include "runtime/mpi/datatype.h"
#include "runtime/mpi/error.h"

namespace shardline::mpi {
namespace {

/// Owns an MPI group while a communicator is made from it.
class RankGroup {
 public:
  explicit RankGroup(MPI_Group group) : group_(group) {}
  ~RankGroup() { MPI_Group_free(&group_); }
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;
  MPI_Group get() const { return group_; }

 private:
  MPI_Group group_;
};

int tag_limit() {
  int* limit = nullptr;
  int found = 0;
  SHARDLINE_MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &limit, &found));
  SHARDLINE_CHECK(found != 0, "this MPI library does not tell its largest tag");
  return *limit;
}

void check_members(const std::vector<int>& ranks, int size, int self) {
  std::vector<int> sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  const bool distinct = std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
  const bool inside = !sorted.empty() && sorted.front() >= 0 && sorted.back() < size;
  SHARDLINE_CHECK(distinct && inside, "a subgroup of ranks {}: ranks are distinct and from 0 to {}", ranks, size - 1);
  SHARDLINE_CHECK(std::binary_search(sorted.begin(), sorted.end(), self), "rank {} makes a subgroup of ranks {}", self,
                  ranks);
}

// The first letter of what a rank reports.
constexpr char kReturned = 'r';
constexpr char kRefused = 'u';
constexpr char kWrong = 'w';
constexpr char kFailed = 'e';

/// The result of `body`, or the error that it throws, as text.
std::string packed(const std::function<std::string()>& body) {
  try {
    return kReturned + body();
  } catch (const UsageError& error) {
    return std::string(1, kRefused) + error.what();
  } catch (const ResultError& error) {
    return std::string(1, kWrong) + error.what();
  } catch (const std::exception& error) {
    return std::string(1, kFailed) + error.what();
  }
}

/// The result in the text. Throws the error in it.
std::string unpacked(const std::string& report) {
  std::string text = report.substr(1);
  if (report.front() == kRefused) throw UsageError(text);
  if (report.front() == kWrong) throw ResultError(text);
  if (report.front() == kFailed) throw Error(text);
  return text;
}

}  // namespace

Communicator Communicator::world() {
  MPI_Comm comm = MPI_COMM_NULL;
  SHARDLINE_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  return Communicator(comm);
}

Communicator Communicator::duplicate() const {
  MPI_Comm comm = MPI_COMM_NULL;
  SHARDLINE_MPI(MPI_Comm_dup(comm_, &comm));
  return Communicator(comm);
}

Communicator Communicator::split(int color, int key) const {
  MPI_Comm comm = MPI_COMM_NULL;
  SHARDLINE_MPI(MPI_Comm_split(comm_, color, key, &comm));
  return Communicator(comm);
}

Communicator Communicator::split_by_node() const {
  MPI_Comm comm = MPI_COMM_NULL;
  SHARDLINE_MPI(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &comm));
  return Communicator(comm);
}

Communicator Communicator::subgroup(const std::vector<int>& ranks) const {
  check_members(ranks, size_, rank_);
  MPI_Group all = MPI_GROUP_NULL;
  SHARDLINE_MPI(MPI_Comm_group(comm_, &all));
  const RankGroup parent(all);
  MPI_Group some = MPI_GROUP_NULL;
  SHARDLINE_MPI(MPI_Group_incl(parent.get(), static_cast<int>(ranks.size()), ranks.data(), &some));
  const RankGroup members(some);
  MPI_Comm comm = MPI_COMM_NULL;
  SHARDLINE_MPI(MPI_Comm_create_group(comm_, members.get(), 0, &comm));
  return Communicator(comm);
}

Communicator::Communicator(MPI_Comm comm) : comm_(comm) {
  SHARDLINE_MPI(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN));
  SHARDLINE_MPI(MPI_Comm_rank(comm_, &rank_));
  SHARDLINE_MPI(MPI_Comm_size(comm_, &size_));
  tag_limit_ = tag_limit();
}

Communicator::Communicator(Communicator&& other) noexcept
    : comm_(std::exchange(other.comm_, MPI_COMM_NULL)),
      rank_(other.rank_),
      size_(other.size_),
      tag_(other.tag_),
      tag_limit_(other.tag_limit_) {}

Communicator& Communicator::operator=(Communicator&& other) noexcept {
  if (this == &other) return *this;
  release();
  comm_ = std::exchange(other.comm_, MPI_COMM_NULL);
  rank_ = other.rank_;
  size_ = other.size_;
  tag_ = other.tag_;
  tag_limit_ = other.tag_limit_;
  return *this;
}

Communicator::~Communicator() { release(); }

void Communicator::release() noexcept {
  if (comm_ == MPI_COMM_NULL || std::uncaught_exceptions() > 0) return;
  int ended = 0;
  MPI_Finalized(&ended);
  if (ended == 0) MPI_Comm_free(&comm_);
}

int Communicator::next_tag(int count) const {
  if (tag_limit_ - tag_ < count) tag_ = 0;
  const int tag = tag_;
  tag_ += count;
  return tag;
}

void Communicator::barrier() const { SHARDLINE_MPI(MPI_Barrier(comm_)); }

std::string Communicator::broadcast(const std::string& bytes, int root) const {
  Index size = static_cast<Index>(bytes.size());
  SHARDLINE_MPI(MPI_Bcast(&size, 1, MPI_INT64_T, root, comm_));
  std::string result = rank_ == root ? bytes : std::string(static_cast<std::size_t>(size), '\0');
  const Index piece = message_limit();
  for (Index begin = 0; begin < size; begin += piece) {
    const int count = static_cast<int>(std::min(piece, size - begin));
    SHARDLINE_MPI(MPI_Bcast(result.data() + begin, count, MPI_BYTE, root, comm_));
  }
  return result;
}

std::vector<std::string> Communicator::all_gather_bytes(const std::string& bytes) const {
  std::vector<std::string> all;
  for (int root = 0; root < size_; ++root) all.push_back(broadcast(root == rank_ ? bytes : std::string(), root));
  return all;
}

std::vector<double> Communicator::all_gather(double value) const {
  std::vector<double> values(static_cast<std::size_t>(size_));
  SHARDLINE_MPI(MPI_Allgather(&value, 1, MPI_DOUBLE, values.data(), 1, MPI_DOUBLE, comm_));
  return values;
}

// These reductions add in rank order on every rank. The order inside MPI may depend on the rank.
double Communicator::sum(double value) const {
  const std::vector<double> values = all_gather(value);
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double Communicator::max(double value) const {
  const std::vector<double> values = all_gather(value);
  return *std::max_element(values.begin(), values.end());
}

double Communicator::min(double value) const {
  const std::vector<double> values = all_gather(value);
  return *std::min_element(values.begin(), values.end());
}

std::string on_root(const Communicator& comm, int root, const std::function<std::string()>& body) {
  return unpacked(comm.broadcast(comm.rank() == root ? packed(body) : std::string(), root));
}

void on_all(const Communicator& comm, const std::function<void()>& body) {
  const std::string report = packed([&] {
    body();
    return std::string();
  });
  const int own = report.front() == kReturned ? comm.size() : comm.rank();
  const int first = static_cast<int>(comm.min(own));
  if (first < comm.size()) unpacked(comm.broadcast(report, first));
}

}  // namespace shardline::mpi
