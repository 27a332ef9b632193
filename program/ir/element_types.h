#pragma once

#include <map>

#include "program/ir/program.h"
#include "runtime/base/dtype.h"

namespace shardline {

/// The element type of every array of a program: i32 for tokens, `stored` for the arrays listed
/// there, else `real`.
struct ElementTypes {
  DType real = DType::f32;
  std::map<ArrayId, DType> stored = {};

  DType of(const Program& program, ArrayId array) const {
    const auto found = stored.find(array);
    if (found != stored.end()) return found->second;
    return program.array(array).role == Role::tokens ? DType::i32 : real;
  }
};

}  // namespace shardline
