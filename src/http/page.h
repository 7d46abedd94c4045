// The page for people at /, served from the binary, and the API's description at /openapi.json.
#pragma once

#include "http/embedded_file.h"
#include "http/routes.h"

namespace muster {

// GET / and the files that it needs; without a page, a text at / that says what is served here and how to get one.
// `page` may be null.
void add_page_routes(Routes& routes, const EmbeddedFiles* page);

// GET /openapi.json.
void add_openapi_route(Routes& routes);

}  // namespace muster
