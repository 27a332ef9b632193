#pragma once

#include "tools/book/book_row.h"
#include "tools/command.h"
#include "tools/job.h"

namespace shardline::tools {

/// The rows as text, grouped by section, no line beyond 120 columns: quantity, ours, the book's, their difference and
/// the verdict; below them the formula with its values, and the note. Then how many rows have which verdict.
std::string book_text(const std::vector<BookRow>& rows);

/// The rows of a record: {section, quantity, formula, substituted, value, unit, book_value, rel_diff, verdict}, and
/// `note` where there is one. `value` and `book_value` are SI; where there is none, `book_value` and `rel_diff` are
/// null. The verdict of a row with a fault is "disagrees".
Json book_json(const std::vector<BookRow>& rows);

/// Adds `shardline book`: the book's worked numbers, computed again. Starts no MPI.
void add_book(CLI::App& app, Command& run);

}  // namespace shardline::tools
