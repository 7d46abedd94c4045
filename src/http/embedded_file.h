// Files that are part of the binary: the description of the API, and the page.
#pragma once

#include <span>
#include <string_view>

namespace muster {

struct EmbeddedFile {
    std::string_view name;   // "index.html"
    std::string_view plain;  // its bytes
    std::string_view gzip;   // the same, compressed
    std::string_view etag;   // with its quotes; another for other bytes
};

// What cmake/embed_files.cmake makes.
struct EmbeddedFiles {
    std::span<const EmbeddedFile> files;
};

extern const EmbeddedFiles embedded_openapi;
// Only in programs that the page was built for: elsewhere its address is null.
extern const EmbeddedFiles embedded_page __attribute__((weak));

}  // namespace muster
