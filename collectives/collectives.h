#pragma once

// Includes every collective.
#include "collectives/all_gather.h"                 // IWYU pragma: export
#include "collectives/all_reduce.h"                 // IWYU pragma: export
#include "collectives/all_to_all.h"                 // IWYU pragma: export
#include "collectives/all_to_all_rows.h"            // IWYU pragma: export
#include "collectives/move.h"                       // IWYU pragma: export
#include "collectives/overlap/collective_matmul.h"  // IWYU pragma: export
#include "collectives/reduce_scatter.h"             // IWYU pragma: export
#include "collectives/reshard.h"                    // IWYU pragma: export
#include "collectives/run/progress.h"               // IWYU pragma: export
#include "collectives/schedule/options.h"           // IWYU pragma: export
#include "collectives/shift.h"                      // IWYU pragma: export
