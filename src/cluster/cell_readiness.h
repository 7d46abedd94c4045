// Whether a node that relays is ready: by what the owners answered to /readyz. No I/O.
#pragma once

#include <optional>
#include <vector>

#include "cluster/cell_questions.h"
#include "http/http_message.h"

namespace muster {

// Of the one cell there is. An owner that cannot serve says why in its own words; nothing: it did not answer in time.
HttpResponse owner_readiness(const std::optional<HttpResponse>& answer);

// Of several cells: ready while at least one can serve, since peers of the others are held up wherever they connect.
// Those that cannot are named, each with the reason.
HttpResponse cells_readiness(const std::vector<CellAnswer>& answers);

}  // namespace muster
