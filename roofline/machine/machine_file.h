#pragma once

#include <string>

#include "roofline/machine/machine.h"

namespace shardline::roofline {

/// The machine as the text of its file: JSON of schema "shardline.machine/1", keys in a fixed order, numbers in the
/// fewest digits that give them back exactly; docs/roofline.md has it key by key. Parts that the machine does not have
/// are left out. Throws UsageError for a machine whose text parse_machine() would refuse.
std::string machine_text(const Machine& machine);

/// The machine that `text` describes; equal to the one that machine_text() made it of. Throws UsageError, one line that
/// names `file` and the keys that lead to the fault. Faults are: text that is no JSON; another schema; keys that are
/// unknown (the message has the nearest known keys), missing, or given twice; values of a wrong type; impossible
/// numbers; sizes that do not rise; rates that do not fit their sizes; an axis on a resource that does not exist.
Machine parse_machine(const std::string& text, const std::string& file);

/// 16 hexadecimal digits by which machines are told apart: hash_of() machine_text(), so that neither blanks nor the
/// order of keys in a file matter.
std::string machine_hash(const Machine& machine);

}  // namespace shardline::roofline
