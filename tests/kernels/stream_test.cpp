#include "kernels/support/stream.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace shardline::kernels {
namespace {

TEST(StreamCopy, OfAnyLengthFromAndToAnyAddress) {
  std::vector<unsigned char> from(600);
  std::iota(from.begin(), from.end(), static_cast<unsigned char>(1));
  for (const Index source : {0, 1, 17}) {
    for (const Index target : {0, 1, 15, 63, 64}) {
      for (const Index bytes : {0, 1, 48, 63, 64, 65, 127, 128, 300}) {
        std::vector<unsigned char> to(600, 0xEE);
        std::vector<unsigned char> expected = to;
        std::copy(from.begin() + source, from.begin() + source + bytes, expected.begin() + target);
        stream_copy(from.data() + source, to.data() + target, bytes);
        stream_fence();
        ASSERT_EQ(to, expected) << bytes << " bytes from " << source << " to " << target;
      }
    }
  }
}

}  // namespace
}  // namespace shardline::kernels
