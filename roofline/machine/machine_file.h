#pragma once

#include <string>

#include "roofline/machine/machine.h"

namespace shardline::roofline {

/// The text of the machine's file: JSON of schema "shardline.machine/1", keys in a fixed order, numbers with
/// the fewest digits that give the same double. docs/roofline.md describes each key. Leaves out parts that the
/// machine does not have. Throws UsageError if parse_machine() would refuse the text.
std::string machine_text(const Machine& machine);

/// The machine in `text`. It equals the machine whose machine_text() this is. Throws UsageError, one line with
/// `file` and the keys that lead to the fault. Faults are: text that is not JSON; another schema; keys that are
/// unknown (the message has the nearest known keys), missing, or given twice; values of a wrong type;
/// impossible numbers; sizes that do not rise; rates that do not fit their sizes; an axis on a resource that
/// does not exist.
Machine parse_machine(const std::string& text, const std::string& file);

/// 16 hexadecimal digits that identify a machine: hash_of() machine_text(). Blanks and the order of keys in a
/// file do not change it.
std::string machine_hash(const Machine& machine);

}  // namespace shardline::roofline
