#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "program/ir/program.h"

namespace shardline {

/// What a layer keeps of its forward pass for the backward pass (book section 4.4.2). The backward pass computes the
/// rest again.
/// - `none`: nothing is computed again; everything stays;
/// - `matmuls`: the residual stream and the results of the layer's products stay;
/// - `stream`: the residual stream stays: before and after attention. No reduction runs twice;
/// - `block`: the input of each layer stays.
/// What one phase of an operation hands to the next stays under every policy: a number for each token.
enum class Remat : std::uint8_t { none, matmuls, stream, block };

/// All policies. Each keeps less than the one before, and computes more again.
inline constexpr std::array kRemats = {Remat::none, Remat::matmuls, Remat::stream, Remat::block};

/// "none", "matmuls", ...
std::string_view name_of(Remat remat);
/// The policy of this name. Throws UsageError with the known names.
Remat remat_named(const std::string& name);

/// Changes a differentiated program: the backward pass of a layer computes again what it reads of the forward pass and
/// `remat` does not keep, right before its first reader. An array computed again has the name of the first with "~"
/// behind it. The last layer of the forward pass keeps everything, because its backward pass follows at once. Prune the
/// program afterwards: some results of the forward pass have no reader any more. No value changes.
void rematerialise(Program& program, Remat remat);

}  // namespace shardline
