#pragma once

#include <memory>

namespace shardline::kernels {

/// Right operands of several products, each copied once into the form in which the library multiplies fastest. Whoever
/// computes a product in windows keeps it from the first window to the last. The operands must not change meanwhile.
class KeptOperands {
 public:
  KeptOperands();
  KeptOperands(const KeptOperands&) = delete;
  KeptOperands& operator=(const KeptOperands&) = delete;
  ~KeptOperands();

  /// What the library keeps.
  struct Forms;
  Forms& forms() { return *forms_; }

 private:
  std::unique_ptr<Forms> forms_;
};

}  // namespace shardline::kernels
