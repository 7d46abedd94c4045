#include "http/page.h"

#include <string>

#include <doctest/doctest.h>

using namespace muster;

namespace {

constexpr EmbeddedFile files[] = {{"index.html", "<!doctype html>", "packed page", "\"abc\""},
                                  {"app.js", "run()", "packed script", "\"def\""}};
constexpr EmbeddedFiles page{files};

struct Paging {
    HttpResponse ask(std::string path, std::vector<HttpHeader> headers = {}) {
        HttpRequest request;
        request.method = "GET";
        request.path = std::move(path);
        request.headers = std::move(headers);
        request.known_host = true;
        HttpResponse answer;
        routes.handle(std::move(request), HttpResponder([&](HttpResponse&& got) { answer = std::move(got); }));
        return answer;
    }
    static std::string header(const HttpResponse& response, std::string_view name) {
        for (const HttpHeader& one : response.headers)
            if (one.name == name) return one.value;
        return "";
    }
    Routes routes;
};

}  // namespace

TEST_CASE_FIXTURE(Paging, "O-2: the page and its files are served with their types, packed for who can unpack") {
    add_page_routes(routes, &page);
    CHECK(ask("/").body == "<!doctype html>");
    CHECK(ask("/").content_type == "text/html; charset=utf-8");
    CHECK(ask("/index.html").body == "<!doctype html>");
    CHECK(ask("/app.js").content_type == "text/javascript; charset=utf-8");
    CHECK(header(ask("/app.js"), "Content-Encoding").empty());
    const HttpResponse packed = ask("/app.js", {{"Accept-Encoding", "br, gzip;q=0.8"}});
    CHECK(packed.body == "packed script");
    CHECK(header(packed, "Content-Encoding") == "gzip");
    CHECK(header(packed, "Vary") == "Accept-Encoding");
    CHECK(ask("/app.js", {{"Accept-Encoding", "br, gzipped"}}).body == "run()");
    CHECK(ask("/app.css").status == 404);
}

TEST_CASE_FIXTURE(Paging, "O-2: a browser that has the file already is told so") {
    add_page_routes(routes, &page);
    CHECK(header(ask("/app.js"), "ETag") == "\"def\"");
    const HttpResponse same = ask("/app.js", {{"If-None-Match", "\"x\", W/\"def\""}});
    CHECK(same.status == 304);
    CHECK(same.body.empty());
    CHECK(header(same, "ETag") == "\"def\"");
    CHECK(ask("/app.js", {{"If-None-Match", "\"abc\""}}).status == 200);
}

TEST_CASE_FIXTURE(Paging,
                  "fault 70: the page may load its own files and our API, and nothing inline or from elsewhere") {
    add_page_routes(routes, &page);
    const std::string policy = header(ask("/"), "Content-Security-Policy");
    for (const char* rule : {"default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"})
        CHECK(policy.find(rule) != std::string::npos);
    CHECK(policy.find("unsafe") == std::string::npos);
}

TEST_CASE_FIXTURE(Paging, "O-2: without a page, / says so and what to do") {
    add_page_routes(routes, nullptr);
    const HttpResponse answer = ask("/");
    CHECK(answer.status == 200);
    CHECK(answer.content_type == "text/plain; charset=utf-8");
    CHECK(answer.body.find("not built into this binary") != std::string::npos);
    CHECK(answer.body.find("MUSTER_PAGE") != std::string::npos);
}

TEST_CASE_FIXTURE(Paging, "O-2: /openapi.json is served, plain and packed") {
    add_openapi_route(routes);
    const HttpResponse answer = ask("/openapi.json");
    CHECK(answer.content_type == "application/json");
    CHECK(answer.body.starts_with("{\n  \"openapi\": \"3.1.0\","));
    CHECK(answer.body.ends_with("}\n"));
    const HttpResponse packed = ask("/openapi.json", {{"Accept-Encoding", "gzip"}});
    CHECK(packed.body.size() < answer.body.size() / 4);
    CHECK(packed.body.starts_with("\x1f\x8b"));
}
