#pragma once

#include "tools/book/book_row.h"
#include "tools/command.h"
#include "tools/job.h"

namespace shardline::tools {

/// The rows as text, by section, in lines of at most 120 columns: quantity, ours, the book's,
/// difference and verdict. Below them the formula with its values, and the note. At the end the
/// number of rows per verdict.
std::string book_text(const std::vector<BookRow>& rows);

/// The rows of a record: {section, quantity, formula, substituted, value, unit, book_value,
/// rel_diff, verdict}, and `note` if there is one. `value` and `book_value` are SI. Without a value
/// of the book, `book_value` and `rel_diff` are null. The verdict of a row with a fault is
/// "disagrees".
Json book_json(const std::vector<BookRow>& rows);

/// Adds `shardline book`: computes the book's worked numbers again. Starts no MPI.
void add_book(CLI::App& app, Command& run);

}  // namespace shardline::tools
