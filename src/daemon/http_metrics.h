// The HTTP server's figures as metrics.
#pragma once

#include <vector>

#include "http/http_server.h"
#include "http/metrics_text.h"

namespace muster {

std::vector<Metric> http_metrics(const HttpFigures& figures);

}  // namespace muster
