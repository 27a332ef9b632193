#include "models/checkpoint/safetensors.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "runtime/host/files.h"
#include "tests/models/checkpoint/safetensors_writer.h"
#include "tests/models/temporary_folder.h"

namespace shardline {
namespace {

/// The 8 bytes of a little-endian length.
std::string length_bytes(std::uint64_t length) {
  std::string bytes;
  for (unsigned shift = 0; shift < 64; shift += 8) bytes += static_cast<char>((length >> shift) & 0xFFU);
  return bytes;
}

std::string file_of(const std::string& header, const std::string& data) {
  return length_bytes(header.size()) + header + data;
}

template <class T>
Tensor tensor_of(const Shape& shape, const std::vector<T>& values) {
  Tensor tensor(kDTypeOf<T>, shape);
  for (std::size_t i = 0; i < values.size(); ++i) tensor.view<T>()[static_cast<Index>(i)] = values[i];
  return tensor;
}

void expect_same_bits(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.dtype(), b.dtype());
  ASSERT_EQ(a.shape(), b.shape());
  const auto bytes = static_cast<std::size_t>(a.bytes());
  EXPECT_TRUE(bytes == 0 || std::memcmp(a.data(), b.data(), bytes) == 0);
}

TEST(Safetensors, WritesTheBytesOfTheFormat) {
  const TemporaryFolder folder;
  const std::string path = folder.path("f.safetensors");
  write_safetensors(path, {{"b", tensor_of<float>({2}, {1.0F, -2.0F})}, {"a", tensor_of<double>({1, 1}, {1.5})}},
                    {{"format", "pt"}});
  const std::string header = R"({"__metadata__":{"format":"pt"},)"
                             R"("a":{"dtype":"F64","shape":[1,1],"data_offsets":[0,8]},)"
                             R"("b":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})";
  const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  const std::string data("\0\0\0\0\0\0\xf8\x3f\0\0\x80\x3f\0\0\0\xc0", 16);
  EXPECT_EQ(read_file(path), file_of(padded, data));
}

TEST(Safetensors, ReadsTheBytesOfTheFormat) {
  const TemporaryFolder folder;
  const std::string header = R"({"x":{"dtype":"BF16","shape":[3],"data_offsets":[4,10]},)"
                             R"("n":{"dtype":"I32","shape":[],"data_offsets":[0,4]},)"
                             R"("none":{"dtype":"F32","shape":[0,7],"data_offsets":[4,4]},)"
                             R"("ids":{"dtype":"I64","shape":[1],"data_offsets":[10,18]}}   )";
  const std::string data("\xfe\xff\xff\xff\x80\x3f\x20\xc1\0\0\1\2\3\4\5\6\7\x08", 18);
  SafetensorsFile file(folder.write("f", file_of(header, data)));
  EXPECT_EQ(file.names(), (std::vector<std::string>{"ids", "n", "none", "x"}));
  EXPECT_EQ(file.info("x").dtype, "BF16");
  EXPECT_EQ(file.info("x").shape, Shape{3});
  EXPECT_TRUE(file.contains("n"));
  EXPECT_FALSE(file.contains("m"));
  EXPECT_EQ(file.read("n").view<std::int32_t>()[0], -2);
  EXPECT_EQ(file.read("none").shape(), (Shape{0, 7}));
  const Tensor x = file.read("x");
  EXPECT_EQ(static_cast<float>(x.view<BFloat16>()[0]), 1.0F);
  EXPECT_EQ(static_cast<float>(x.view<BFloat16>()[1]), -10.0F);
  EXPECT_EQ(static_cast<float>(x.view<BFloat16>()[2]), 0.0F);
  EXPECT_NE(usage_error_of([&] { file.read("ids"); }).find("tensor ids: I64 cannot be read"), std::string::npos);
  EXPECT_NE(usage_error_of([&] { file.read("m"); }).find("tensor m: there is none"), std::string::npos);
}

/// 1, -2, the smallest subnormal number, the largest number, infinity and -0, as f32: the whole and blocks of it.
TEST(Safetensors, ReadsF16AsF32) {
  const TemporaryFolder folder;
  const std::string header = R"({"i":{"dtype":"I32","shape":[1],"data_offsets":[0,4]},)"
                             R"("h":{"dtype":"F16","shape":[2,3],"data_offsets":[4,16]}})";
  const std::string data("\1\0\0\0\0\x3c\0\xc0\1\0\xff\x7b\0\x7c\0\x80", 16);
  const SafetensorsFile file(folder.write("f", file_of(header, data)));
  EXPECT_EQ(file.info("h").dtype, "F16");
  EXPECT_EQ(file.dtype("h"), DType::f32);
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor whole = tensor_of<float>({2, 3}, {1, -2, 0x1p-24F, 65504, infinity, -0.0F});
  expect_same_bits(file.read("h"), whole);
  const std::vector<Range> last_two = {{0, 2}, {1, 3}};
  file.expect_block("h", {2, 3}, last_two);
  expect_same_bits(file.read_block("h", {2, 3}, last_two), whole.slice(last_two));
  expect_same_bits(file.read_block("h", {6}, {{3, 5}}), tensor_of<float>({2}, {65504, infinity}));
}

/// Every block of a small array, in its own dims and in other dims, compared with a slice of the whole.
TEST(Safetensors, ReadsABlockAlone) {
  const TemporaryFolder folder;
  Tensor matrix(DType::f32, {6, 5});
  for (Index i = 0; i < matrix.size(); ++i) matrix.view<float>()[i] = static_cast<float>(i);
  write_safetensors(folder.path("f"), {{"before", Tensor::zeros(DType::f64, {3})}, {"matrix", matrix}});
  SafetensorsFile file(folder.path("f"));
  const Tensor cube = matrix.reshaped({2, 3, 5});
  const auto blocks = [](Index extent) {
    std::vector<Range> ranges;
    for (Index begin = 0; begin <= extent; ++begin) {
      for (Index end = begin; end <= extent; ++end) ranges.push_back({begin, end});
    }
    return ranges;
  };
  for (const Range a : blocks(2)) {
    for (const Range b : blocks(3)) {
      for (const Range c : blocks(5)) {
        const Tensor want = cube.slice({a, b, c});
        const Tensor block = file.read_block("matrix", cube.shape(), {a, b, c});
        ASSERT_EQ(block.shape(), want.shape());
        for (Index i = 0; i < want.size(); ++i) ASSERT_EQ(block.view<float>()[i], want.view<float>()[i]);
      }
    }
  }
  EXPECT_THROW(file.read_block("matrix", {2, 3, 4}, {{0, 2}, {0, 3}, {0, 4}}), Error);
  EXPECT_THROW(file.read_block("matrix", {6, 5}, {{0, 6}}), Error);
}

TEST(Safetensors, WhatIsWrittenComesBackBitByBit) {
  const TemporaryFolder folder;
  const std::string path = folder.path("f");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::pair<std::string, Tensor>> tensors = {
      {"halves", tensor_of<BFloat16>({3}, {BFloat16(1.0F), BFloat16(-0.0F), BFloat16(3.14F)})},
      {"model.layers.0.self_attn.q_proj.weight", tensor_of<float>({2, 2}, {nan, -0.0F, 1e-45F, 3.0F})},
      {"quote \" and \n and \u00e9", tensor_of<double>({3}, {1e300, -1, 0.1})},
      {"empty", Tensor(DType::f64, {4, 0})},
      {"scalar", tensor_of<std::int32_t>({}, {-7})}};
  write_safetensors(path, tensors, {{"step", "10"}});
  SafetensorsFile file(path);
  EXPECT_EQ(file.names().size(), tensors.size());
  EXPECT_EQ(file.metadata(), (std::map<std::string, std::string>{{"step", "10"}}));
  for (const auto& [name, tensor] : tensors) {
    expect_same_bits(file.read(name), tensor);
    EXPECT_EQ(file.info(name).bytes.begin % size_of(tensor.dtype()), 0) << name;
  }
}

TEST(Safetensors, AFileWithoutTensorsIsLegal) {
  const TemporaryFolder folder;
  write_safetensors(folder.path("f"), {});
  EXPECT_TRUE(SafetensorsFile(folder.path("f")).names().empty());
}

TEST(Safetensors, RefusesToWriteNamesTwiceOrReserved) {
  const TemporaryFolder folder;
  const Tensor tensor = tensor_of<float>({1}, {0.0F});
  EXPECT_THROW(write_safetensors(folder.path("f"), {{"a", tensor}, {"a", tensor}}), Error);
  EXPECT_THROW(write_safetensors(folder.path("f"), {{"__metadata__", tensor}}, {{"a", "b"}}), Error);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

struct Broken {
  std::string bytes;
  std::string word;  ///< the message must contain it
};

/// A file of 8 bytes of data with one tensor, x.
std::string with_x(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return file_of(fmt::format(R"({{"x":{{"dtype":{},"shape":{},"data_offsets":{}}}}})", dtype, shape, offsets),
                 std::string(8, '\1'));
}

TEST(Safetensors, RefusesBrokenFilesByName) {
  const std::string a = R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  const std::string data(8, '\1');
  const std::string nested = std::string(100'000, '[') + std::string(100'000, ']');
  const std::vector<Broken> broken = {
      {"", "too few"},
      {"1234567", "too few"},
      {length_bytes(1), "first 8 bytes"},
      {length_bytes(~std::uint64_t{0}) + "{}", "first 8 bytes"},
      {length_bytes(std::uint64_t{1} << 63U) + "{}", "first 8 bytes"},
      {file_of("", ""), "not JSON"},
      {file_of("{\"a\":", ""), "not JSON"},
      {file_of("{\"\xff\":1}", ""), "not JSON"},
      {file_of("[]", ""), "object"},
      {file_of("{\"a\":3}", ""), "tensor a: 3"},
      {file_of("{\"a\":" + nested + "}", ""), "nested"},
      {file_of("{" + a + "," + a + "}", data), "has \"a\" twice"},
      {file_of("{\"__metadata__\":[]}", ""), "__metadata__"},
      {file_of("{\"__metadata__\":{\"k\":1}}", ""), "k of __metadata__ is 1"},
      {with_x("\"F99\"", "[2]", "[0,8]"), "tensor x: \"F99\""},
      {with_x("4", "[2]", "[0,8]"), "tensor x: 4"},
      {with_x("\"F32\"", "2", "[0,8]"), "tensor x: 2; shape"},
      {with_x("\"F32\"", "[-2]", "[0,8]"), "tensor x: [-2]; shape"},
      {with_x("\"F32\"", "[2.0]", "[0,8]"), "tensor x: [2.0]; shape"},
      {with_x("\"F32\"", "[18446744073709551615]", "[0,8]"), "tensor x: [18446744073709551615]; shape"},
      {with_x("\"F32\"", "[4294967296,4294967296,2]", "[0,8]"), "63 bits"},
      {with_x("\"F32\"", "[2]", "[0]"), "tensor x: [0]; data_offsets"},
      {with_x("\"F32\"", "[2]", "[8,0]"), "in order"},
      {with_x("\"F32\"", "[2]", "[-8,0]"), "none negative"},
      {with_x("\"F32\"", "[2]", "[0,9]"), "within the 8 bytes"},
      {with_x("\"F32\"", "[3]", "[0,8]"), "span the 12 bytes of F32 [3]"},
      {with_x("\"F64\"", "[2]", "[0,8]"), "span the 16 bytes"},
      {with_x("\"F32\"", "[1]", "[4,8]"), "tensor x: starts at byte 4"},
      {with_x("\"F32\"", "[1]", "[0,4]"), "the tensors end"},
      {with_x("\"F32\"", "[0]", "[0,0]"), "the tensors end"},
      {file_of("{" + a + R"(,"b":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}})", data), "tensor b: starts"},
      {file_of("{" + a + R"(,"b":{"dtype":"BF16","shape":[1],"data_offsets":[6,8]}})", data), "tensor b: starts"},
      {file_of(R"({"a":{"shape":[1],"data_offsets":[0,4]}})", "1234"), "tensor a: dtype is missing"},
      {file_of(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", "1234"), "tensor a: shape is missing"},
      {file_of(R"({"a":{"dtype":"F32","shape":[1]}})", "1234"), "tensor a: data_offsets is missing"},
  };
  const TemporaryFolder folder;
  for (const Broken& file : broken) {
    const std::string path = folder.write("broken", file.bytes);
    const std::string message = usage_error_of([&] { SafetensorsFile{path}; });
    EXPECT_EQ(message.rfind(path + ": ", 0), 0U) << message;
    EXPECT_NE(message.find(file.word), std::string::npos) << message << "\nwants: " << file.word;
  }
  EXPECT_NE(usage_error_of([&] { SafetensorsFile(folder.path("none")); }).find("no such file"), std::string::npos);
  EXPECT_NE(usage_error_of([&] { SafetensorsFile(folder.path()); }).find("not a regular file"), std::string::npos);
  ASSERT_EQ(::mkfifo(folder.path("pipe").c_str(), 0600), 0);
  EXPECT_NE(usage_error_of([&] { SafetensorsFile(folder.path("pipe")); }).find("not a regular file"),
            std::string::npos);
  const std::string pointer =
      folder.write("lfs", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n");
  EXPECT_NE(usage_error_of([&] { SafetensorsFile{pointer}; }).find("is a Git LFS pointer"), std::string::npos);
}

/// Every shorter file is refused. A changed byte is at worst refused.
TEST(Safetensors, SurvivesDamage) {
  const TemporaryFolder folder;
  const std::string path = folder.path("f");
  write_safetensors(path, {{"a", tensor_of<float>({2}, {1, 2})}, {"b", tensor_of<BFloat16>({1}, {BFloat16(1.0F)})}});
  const std::string whole = read_file(path);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    folder.write("f", whole.substr(0, size));
    EXPECT_THROW(SafetensorsFile{path}, UsageError) << size;
  }
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (const char change : {'\x01', '\x10', '\x80'}) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ change);
      folder.write("f", damaged);
      try {
        SafetensorsFile file(path);
        for (const std::string& name : file.names()) static_cast<void>(file.read(name));
      } catch (const UsageError&) {
      }
    }
  }
}

}  // namespace
}  // namespace shardline
