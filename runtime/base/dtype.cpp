#include "runtime/base/dtype.h"

#include "runtime/base/check.h"

namespace shardline {

Index size_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 4;
    case DType::f64:
      return 8;
    case DType::bf16:
      return 2;
    case DType::i32:
      return 4;
    case DType::i64:
      return 8;
    case DType::int8:
      return 1;
  }
  throw Error("unknown dtype");
}

std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::f64:
      return "f64";
    case DType::bf16:
      return "bf16";
    case DType::i32:
      return "i32";
    case DType::i64:
      return "i64";
    case DType::int8:
      return "int8";
  }
  throw Error("unknown dtype");
}

}  // namespace shardline
