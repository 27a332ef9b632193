#pragma once

#include <string>

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/kept_operands.h"

namespace shardline::kernels {

/// True if oneDNN multiplies matrices of this type here with instructions made for it: f32 with AVX-512, bf16 with
/// AVX512_BF16 or AMX. The variable ONEDNN_MAX_CPU_ISA can take instructions away. False for other types, and where
/// the threads of oneDNN cannot be set.
bool onednn_suits(DType dtype);

/// "oneDNN 2.6, AVX512_BF16": its version, and the instructions that it may use.
std::string onednn_description();

/// Threads that oneDNN may use for products of the calling thread. It is one until this is set, whatever
/// OMP_NUM_THREADS says.
void set_onednn_threads(int threads);

/// C = op(A) op(B), or C += op(A) op(B) if `accumulate`. S is float, or BFloat16 with a C in float or BFloat16. All
/// extents are positive. With `kept`, B is read from there, in the form in which oneDNN reads it fastest. Throws Error
/// if oneDNN does not make this product. Only one thread of a process may call it: the code of products is kept without
/// a lock.
template <class S, class T>
void multiply_by_onednn(const GemmShape& shape, const S* a, const S* b, bool accumulate, T* c,
                        KeptOperands* kept = nullptr);

/// C = op(A) op(B), or C += op(A) op(B), by the call of oneDNN that copies both operands as a BLAS does. All extents
/// are positive.
void sgemm_by_onednn(const GemmShape& shape, const float* a, const float* b, bool accumulate, float* c);

}  // namespace shardline::kernels
