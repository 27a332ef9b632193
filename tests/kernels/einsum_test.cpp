#include "kernels/einsum/einsum.h"

#include <limits>
#include <map>
#include <optional>
#include <string>

#include "runtime/base/check.h"
#include "tests/kernels/support.h"

namespace shardline::kernels {
namespace {

using testing::Array;
using testing::expect_close;
using testing::random_array;
using testing::unwritten;

Subscripts subscripts_of(const std::string& letters) { return Subscripts(letters.begin(), letters.end()); }

/// "ab,bc->ac" in parts.
struct Formula {
  std::vector<std::string> operands;
  std::string out;

  explicit Formula(const std::string& text) {
    const std::size_t arrow = text.find("->");
    out = text.substr(arrow + 2);
    std::size_t begin = 0;
    while (begin <= arrow) {
      const std::size_t end = std::min(text.find(',', begin), arrow);
      operands.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
};

using ExtentOf = std::map<char, Index>;

Shape shape_of(const std::string& letters, const ExtentOf& extents) {
  Shape shape;
  for (const char letter : letters) shape.push_back(extents.at(letter));
  return shape;
}

Index offset_of(const std::string& letters, const ExtentOf& extents, const ExtentOf& position) {
  Index offset = 0;
  for (const char letter : letters) offset = offset * extents.at(letter) + position.at(letter);
  return offset;
}

/// The definition: every position of the full index space adds its product to the result.
template <class T>
Array<double> einsum_plainly(const Formula& formula, const std::vector<Array<T>>& operands, const ExtentOf& extents) {
  Array<double> out(shape_of(formula.out, extents));
  Index positions = 1;
  for (const auto& [letter, extent] : extents) positions *= extent;
  for (Index p = 0; p < positions; ++p) {
    ExtentOf position;
    Index rest = p;
    for (const auto& [letter, extent] : extents) {
      position[letter] = rest % extent;
      rest /= extent;
    }
    double product = 1;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      product *= static_cast<double>(operands[i][offset_of(formula.operands[i], extents, position)]);
    }
    out[offset_of(formula.out, extents, position)] += product;
  }
  return out;
}

template <class T>
void check_formula(const std::string& text, const ExtentOf& given) {
  SCOPED_TRACE(text);
  const Formula formula(text);
  ExtentOf extents;
  for (const std::string& operand : formula.operands) {
    for (const char letter : operand) extents[letter] = given.at(letter);
  }
  std::vector<Array<T>> arrays;
  std::vector<EinsumOperand<T>> operands;
  for (std::size_t i = 0; i < formula.operands.size(); ++i) {
    arrays.push_back(random_array<T>("operand" + std::to_string(i), shape_of(formula.operands[i], extents)));
  }
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    operands.push_back({std::as_const(arrays[i]).view(), subscripts_of(formula.operands[i])});
  }
  auto out = unwritten<T>(shape_of(formula.out, extents));
  einsum<T>(operands, out.view(), subscripts_of(formula.out));
  expect_close(out, einsum_plainly(formula, arrays, extents));
}

const std::vector<std::string> kModelFormulas{
    "BTD,DKGH->BTKGH", "BTD,BTKGH->DKGH", "BTKGH,DKGH->BTD",   "BTKGH,KGHD->BTD",  "BTD,KGHD->BTKGH",
    "BTKGH,BTD->KGHD", "BTD,VD->BTV",     "BTV,VD->BTD",       "BTV,BTD->VD",      "BD,DF->BF",
    "BF,DF->BD",       "BD,BF->DF",       "BF,BD->FD",         "BTD,D->BTD",       "BTD,D,BTD->BT",
    "BTD,BTD,BT->D",   "BTD,BTD->BT",     "BTD,BTD->D",        "BTD,BTD->",        "BTD->BT",
    "BTD->D",          "BTD->DTB",        "BTKGH,BSKH->BKGTS", "BKGTS,BSKH->BTKGH"};

const std::vector<std::string> kAwkwardFormulas{
    "KTD,DTF->FK", "BKT,KDT->BD", "BKT,TDK->DB",  "BTK,BKD->TDB", "BTK,BKD->TBD", "TBK,KBD->TDB", "ab,cd->ac",
    "ab,cd->",     "abz,bc->ac",  "ab,bcz->ca",   "ab,bc,cd->ad", "ab,cd,bc->da", "ab,b,bc->ac",  "ab,ab,bc->c",
    "ab,cd,ef->",  "T,F->TF",     "T,F->FT",      "T,F,D->DTF",   "a,a->",        "a->a",         ",a->a",
    ",->",         "->",          "TD,TF,T->FDT", "abcd->cbda",   "abcd,dcba->ac"};

template <class T>
class EinsumTest : public ::testing::Test {};
TYPED_TEST_SUITE(EinsumTest, testing::FloatTypes);

ExtentOf extents_with(Index base) {
  ExtentOf extents;
  Index i = 0;
  for (const char letter : std::string("BTDKGHVSFabcdefz")) extents[letter] = base + (i++ * 3) % 5;
  return extents;
}

TYPED_TEST(EinsumTest, EqualsItsDefinitionOnModelFormulas) {
  for (const std::string& text : kModelFormulas) check_formula<TypeParam>(text, extents_with(2));
}

TYPED_TEST(EinsumTest, EqualsItsDefinitionOnAwkwardFormulas) {
  for (const std::string& text : kAwkwardFormulas) check_formula<TypeParam>(text, extents_with(3));
}

TYPED_TEST(EinsumTest, TakesEveryIndexOfExtentZeroOrOne) {
  for (const Index special : {Index{0}, Index{1}}) {
    for (const auto* formulas : {&kModelFormulas, &kAwkwardFormulas}) {
      for (const std::string& text : *formulas) {
        for (const char letter : std::string("BTDKGHVSFabcdefz")) {
          if (text.find(letter) == std::string::npos) continue;
          ExtentOf extents = extents_with(2);
          extents[letter] = special;
          check_formula<TypeParam>(text, extents);
        }
      }
    }
  }
}

TYPED_TEST(EinsumTest, HandlesInnerLoopsLongerThanTheLanes) {
  ExtentOf extents = extents_with(2);
  extents['D'] = 77;
  for (const char* text : {"BTD,D,BTD->BT", "BTD,BT->D", "TD->DT", "DT->D", "D,D->", "TD,TF->TDF", "D,TD,T->TD"}) {
    check_formula<TypeParam>(text, extents);
  }
}

/// A random subset of "abcdef" in a random order.
std::string random_letters(const CounterRng& rng, Index& counter) {
  std::string letters;
  for (const char letter : std::string("abcdef")) {
    if (rng.below(counter++, 2) == 0) continue;
    const auto place = static_cast<std::size_t>(rng.below(counter++, static_cast<Index>(letters.size()) + 1));
    letters.insert(letters.begin() + static_cast<std::ptrdiff_t>(place), letter);
  }
  return letters;
}

TYPED_TEST(EinsumTest, EqualsItsDefinitionOnRandomFormulas) {
  const CounterRng rng(11, "formulas");
  Index counter = 0;
  for (int round = 0; round < 150; ++round) {
    std::string text;
    std::string present;
    const Index operands = 1 + rng.below(counter++, 3);
    for (Index i = 0; i < operands; ++i) {
      const std::string letters = random_letters(rng, counter);
      text += (i == 0 ? "" : ",") + letters;
      present += letters;
    }
    std::string out = random_letters(rng, counter);
    std::erase_if(out, [&](char letter) { return present.find(letter) == std::string::npos; });
    check_formula<TypeParam>(text + "->" + out, extents_with(1 + rng.below(counter++, 2)));
  }
}

/// A formula with arrays of small whole numbers, whose sums are exact, for tests of windows.
template <class T>
class Windowed {
 public:
  Windowed(const std::string& text, const ExtentOf& given) : formula_(text) {
    for (const std::string& operand : formula_.operands) {
      for (const char letter : operand) extents_[letter] = given.at(letter);
    }
    const CounterRng rng(3, text);
    Index counter = 0;
    for (const std::string& operand : formula_.operands) {
      Array<T>& array = operands_.emplace_back(shape_of(operand, extents_));
      for (T& value : array.values) value = static_cast<T>(rng.below(counter++, 9) - 4);
    }
    before_ = Array<T>(shape_of(formula_.out, extents_));
    for (T& value : before_.values) value = static_cast<T>(rng.below(counter++, 9) + 100);
  }

  void check_all() const {
    for (const auto& [letter, extent] : extents_) {
      for (const Range range : {Range{0, extent}, Range{0, extent - 1}, Range{1, extent}, Range{1, extent - 1},
                                Range{extent / 2, extent / 2 + 1}, Range{1, 1}}) {
        if (range.begin > range.end || range.end > extent) continue;
        for (const bool accumulate : {false, true}) check(letter, range, accumulate);
      }
    }
  }

  /// Adjacent windows together give the whole.
  void check_cover(char letter) const {
    const Index extent = extents_.at(letter);
    Array<T> out(before_.shape);
    bool first = true;
    for (const Range range : {Range{0, extent / 3}, Range{extent / 3, extent - 1}, Range{extent - 1, extent}}) {
      run(operands_, out, letter, range, !first && formula_.out.find(letter) == std::string::npos);
      first = false;
    }
    Array<T> whole(before_.shape);
    einsum<T>(bound(operands_), whole.view(), subscripts_of(formula_.out));
    EXPECT_EQ(out.values, whole.values) << "windows on " << letter;
  }

 private:
  static constexpr T kNan = std::numeric_limits<T>::quiet_NaN();

  std::vector<EinsumOperand<T>> bound(const std::vector<Array<T>>& arrays) const {
    std::vector<EinsumOperand<T>> operands;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      operands.push_back({arrays[i].view(), subscripts_of(formula_.operands[i])});
    }
    return operands;
  }

  void run(const std::vector<Array<T>>& arrays, Array<T>& out, char letter, Range range, bool accumulate) const {
    einsum<T>(bound(arrays), out.view(), subscripts_of(formula_.out), Window{letter, range, accumulate});
  }

  /// Position of `letter` at an element of an array with `letters`.
  Index position_of(char letter, const std::string& letters, Index element) const {
    Index inner = 1;
    for (std::size_t d = letters.find(letter) + 1; d < letters.size(); ++d) inner *= extents_.at(letters[d]);
    return element / inner % extents_.at(letter);
  }

  /// `array` with `value` at all positions of `letter` outside `range`.
  Array<T> outside_set(Array<T> array, const std::string& letters, char letter, Range range, T value) const {
    if (letters.find(letter) == std::string::npos) return array;
    for (Index i = 0; i < array.size(); ++i) {
      const Index position = position_of(letter, letters, i);
      if (position < range.begin || position >= range.end) array[i] = value;
    }
    return array;
  }

  void check(char letter, Range range, bool accumulate) const {
    SCOPED_TRACE(std::string("window on ") + letter + " [" + std::to_string(range.begin) + ", " +
                 std::to_string(range.end) + ")" + (accumulate ? ", accumulated" : ""));
    // The definition over operands with 0 outside the window. The einsum must not read there.
    std::vector<Array<T>> zeroed;
    std::vector<Array<T>> spoiled;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      zeroed.push_back(outside_set(operands_[i], formula_.operands[i], letter, range, T(0)));
      spoiled.push_back(outside_set(operands_[i], formula_.operands[i], letter, range, kNan));
    }
    const Array<double> sums = einsum_plainly(formula_, zeroed, extents_);
    Array<T> out = before_;
    run(spoiled, out, letter, range, accumulate);
    const bool kept = formula_.out.find(letter) != std::string::npos;
    for (Index i = 0; i < out.size(); ++i) {
      const Index position = kept ? position_of(letter, formula_.out, i) : range.begin;
      const bool written = !kept || (range.begin <= position && position < range.end);
      const double old = accumulate || !written ? static_cast<double>(before_[i]) : 0;
      ASSERT_EQ(static_cast<double>(out[i]), old + (written ? sums[i] : 0)) << "element " << i;
    }
  }

  Formula formula_;
  ExtentOf extents_;
  std::vector<Array<T>> operands_;
  Array<T> before_{Shape{0}};
};

TYPED_TEST(EinsumTest, ComputesAWindowOfEveryIndexAndTouchesNothingElse) {
  for (const auto* formulas : {&kModelFormulas, &kAwkwardFormulas}) {
    for (const std::string& text : *formulas) {
      SCOPED_TRACE(text);
      Windowed<TypeParam>(text, extents_with(2)).check_all();
    }
  }
}

TYPED_TEST(EinsumTest, WindowsThatCoverAnIndexGiveTheWhole) {
  for (const auto& [text, letters] : std::map<std::string, std::string>{{"BTD,DKGH->BTKGH", "BTDKGH"},
                                                                        {"BTD,BTF->DF", "BTDF"},
                                                                        {"BF,DF->BD", "BFD"},
                                                                        {"BTKGH,BSKH->BKGTS", "BTKGHS"}}) {
    for (const char letter : letters) {
      SCOPED_TRACE(text);
      Windowed<TypeParam>(text, extents_with(7)).check_cover(letter);
    }
  }
}

TYPED_TEST(EinsumTest, TakesWindowsBesideIndicesOfExtentZeroOrOne) {
  for (const Index special : {Index{0}, Index{1}}) {
    for (const std::string text : {"BTD,DKGH->BTKGH", "BTKGH,BTD->KGHD", "BTD,D,BTD->BT", "BTD->DTB", "ab,cd->ac"}) {
      for (const char letter : std::string("BTDKGHabcd")) {
        SCOPED_TRACE(text + " with " + letter);
        ExtentOf extents = extents_with(2);
        extents[letter] = special;
        Windowed<TypeParam>(text, extents).check_all();
      }
    }
  }
}

template <class T>
void expect_refused(const std::vector<EinsumOperand<T>>& operands, View<T> out, const std::string& out_letters,
                    const std::string& words, const std::optional<Window>& window = {}) {
  try {
    einsum<T>(operands, out, subscripts_of(out_letters), window);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

TEST(EinsumErrorTest, NamesTheBrokenRule) {
  const Array<double> a({2, 3});
  Array<double> out({2, 2});
  const EinsumOperand<double> ab{a.view(), subscripts_of("ab")};
  expect_refused<double>({}, out.view(), "aa", "0 operands");
  expect_refused<double>({ab, {a.view(), subscripts_of("bc")}}, out.view(), "ac", "extent 2 in an operand and 3");
  expect_refused<double>({{a.view(), subscripts_of("aa")}}, out.view(), "ab", "twice");
  expect_refused<double>({{a.view(), subscripts_of("a")}}, out.view(), "ab", "2 dims and 1 subscripts");
  expect_refused<double>({ab}, out.view(), "az", "in no operand");
  expect_refused<double>({ab}, out.view(), "ab", "extent 2 in the result and 3");
  const Array<double> square({2, 2});
  const std::vector<EinsumOperand<double>> legal{{square.view(), subscripts_of("ab")}};
  expect_refused<double>(legal, out.view(), "ab", "index 122 of the window is in no operand", Window{'z', {0, 1}});
  expect_refused<double>(legal, out.view(), "ab", "window [1, 3) of index 97, whose extent is 2", Window{'a', {1, 3}});
}

TEST(EinsumCostTest, CountsPositionsTimesOperandsAndEveryArrayOnce) {
  const std::vector<Index> extents{2, 3, 5};
  const std::vector<Subscripts> matmul{{0, 1}, {1, 2}};
  EXPECT_EQ(einsum_cost(extents, matmul, {0, 2}, 4).flops, Flops(60));
  EXPECT_EQ(einsum_cost(extents, matmul, {0, 2}, 4).bytes, Bytes(4 * (6 + 15 + 10)));
  const std::vector<Subscripts> sum{{0, 1}};
  EXPECT_EQ(einsum_cost(extents, sum, {0}, 8).flops, Flops(6));
  EXPECT_EQ(einsum_cost(extents, sum, {0}, 8).bytes, Bytes(8 * (6 + 2)));
}

}  // namespace
}  // namespace shardline::kernels
