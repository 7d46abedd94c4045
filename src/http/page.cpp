#include "http/page.h"

#include <array>
#include <string>
#include <utility>

namespace muster {
namespace {

// The page's own files and our own API, nothing else and nothing inline.
constexpr std::string_view page_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";

constexpr std::string_view no_page =
    "Muster is running. The dashboard is not built into this binary: it is when npm is there at build time\n"
    "(Debian: apt install npm), or say cmake -DMUSTER_PAGE=ON to be told what is missing.\n\n"
    "  /api/v1/overview   everything at a glance, as JSON\n"
    "  /openapi.json      what else the API can do\n"
    "  /healthz           whether it lives\n"
    "  /readyz            whether it is ready for work\n"
    "  /metrics           figures for Prometheus\n\n"
    "`muster --help` shows the commands, `muster config --default` every setting, and\n"
    "`muster protocol` the messages of the game ports. The guides are in docs/ of the source.\n";

std::string_view content_type_of(std::string_view name) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 5> types{{
        {".html", "text/html; charset=utf-8"},
        {".js", "text/javascript; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},
        {".svg", "image/svg+xml"},
        {".json", "application/json"},
    }};
    for (const auto& [ending, type] : types)
        if (name.ends_with(ending)) return type;
    return "application/octet-stream";
}

// Whether the header's list names `wanted`, or everything. A weight of 0 is not looked for: nobody refuses gzip so.
bool lists(std::string_view header, std::string_view wanted) {
    while (!header.empty()) {
        std::string_view one = header.substr(0, header.find(','));
        header.remove_prefix(std::min(one.size() + 1, header.size()));
        one = one.substr(0, one.find(';'));
        while (one.starts_with(' ')) one.remove_prefix(1);
        while (one.ends_with(' ')) one.remove_suffix(1);
        if (one.starts_with("W/")) one.remove_prefix(2);
        if (one == wanted || one == "*") return true;
    }
    return false;
}

HttpResponse answer_of(const HttpRequest& request, const EmbeddedFile& file) {
    HttpResponse response{200, std::string(content_type_of(file.name)), {}};
    response.headers = {{"ETag", std::string(file.etag)},
                        {"Cache-Control", "no-cache"},  // ask each time whether it is still the same
                        {"Vary", "Accept-Encoding"},
                        {"Content-Security-Policy", std::string(page_policy)}};
    if (lists(request.header("If-None-Match"), file.etag)) {
        response.status = 304;
        return response;
    }
    const bool packed = lists(request.header("Accept-Encoding"), "gzip");
    if (packed) response.headers.push_back({"Content-Encoding", "gzip"});
    response.body = packed ? file.gzip : file.plain;
    return response;
}

void add_file(Routes& routes, std::string path, const EmbeddedFile& file) {
    routes.add("GET", std::move(path),
               [&file](HttpRequest&& request, HttpResponder&& responder) { responder.send(answer_of(request, file)); });
}

}  // namespace

void add_page_routes(Routes& routes, const EmbeddedFiles* page) {
    if (!page) {
        routes.add("GET", "/", [](HttpRequest&&, HttpResponder&& responder) {
            responder.send({200, "text/plain; charset=utf-8", std::string(no_page)});
        });
        return;
    }
    for (const EmbeddedFile& file : page->files) {
        if (file.name == "index.html") add_file(routes, "/", file);
        add_file(routes, "/" + std::string(file.name), file);
    }
}

void add_openapi_route(Routes& routes) {
    add_file(routes, "/openapi.json", embedded_openapi.files.front());
}

}  // namespace muster
