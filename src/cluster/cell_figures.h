// The overview of several cells as one, and its past. No I/O.
#pragma once

#include <vector>

#include "cluster/cell_questions.h"
#include "http/http_message.h"

namespace muster {

// Counts are summed, percentiles are those of all, regions are listed together. Health is the worst of all, with all
// reasons; a cell that is missing is one. A refusal of any cell is the answer.
HttpResponse merged_overviews(std::vector<CellAnswer> answers);

// The same of /overview/history: from when all cells that answer have samples. Of a cell that has none at some time the
// one before counts, so that no sum falls.
HttpResponse merged_histories(std::vector<CellAnswer> answers);

}  // namespace muster
