#pragma once

#include <string>
#include <vector>

#include "models/architecture/config.h"
#include "tools/book/book_row.h"

namespace shardline::tools {

/// The figures of each section of the book, in its order.
std::vector<BookRow> roofline_rows();     ///< 1
std::vector<BookRow> chip_rows();         ///< 2
std::vector<BookRow> sharding_rows();     ///< 3
std::vector<BookRow> transformer_rows();  ///< 4
std::vector<BookRow> training_rows();     ///< 5
std::vector<BookRow> llama_rows();        ///< 6
std::vector<BookRow> inference_rows();    ///< 7
std::vector<BookRow> serving_rows();      ///< 8
std::vector<BookRow> profile_rows();      ///< 9 and 10
std::vector<BookRow> slide_rows();        ///< S: the lecture form

/// Of these, the rows about experts.
std::vector<BookRow> expert_rows();    ///< 4.4.1
std::vector<BookRow> deepseek_rows();  ///< exercises 4.7 and 4.8
/// Exercises 7.5 and 7.6, of the model of section 7.5, which has no experts.
std::vector<BookRow> expert_exercises(const TransformerConfig& dense);

/// Of section 8.
std::vector<BookRow> throughput_rows();    ///< 8.1.1
std::vector<BookRow> serving_exercises();  ///< exercises 8.1 to 8.3

/// All of them.
std::vector<BookRow> book_rows();

/// The rows of sections that begin with `prefix`: "5.1" includes 5.1, 5.1.2 and 5.1ex, not 5.10.
/// Throws UsageError with the existing sections.
std::vector<BookRow> rows_of(const std::vector<BookRow>& rows, const std::string& prefix);

}  // namespace shardline::tools
