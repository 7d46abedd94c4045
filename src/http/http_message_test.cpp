#include "http/http_message.h"

#include <optional>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace muster;

TEST_CASE("headers are found in any case, the first of them") {
    HttpRequest request;
    request.headers = {{"Content-Type", "application/json"}, {"X-A", "1"}, {"x-a", "2"}};
    CHECK(request.header("content-type") == "application/json");
    CHECK(request.header("X-a") == "1");
    CHECK(request.header("X") == "");
}

TEST_CASE("values of the query are decoded, and bad encodings are none") {
    HttpRequest request;
    request.query = "limit=10&after=&name=a%20b%2Bc+d%c3%A9&bad=%4&worse=%zz&flag&limit=20";
    CHECK(request.query_value("limit") == "10");
    CHECK(request.query_value("after") == "");
    CHECK(request.query_value("name") == "a b+c dé");
    CHECK(request.query_value("flag") == "");
    CHECK(request.query_value("bad") == std::nullopt);
    CHECK(request.query_value("worse") == std::nullopt);
    CHECK(request.query_value("lim") == std::nullopt);
    CHECK(request.query_value("") == std::nullopt);
    request.query = "a=%4";
    CHECK(request.query_value("a") == std::nullopt);
    request.query = "a=%41";
    CHECK(request.query_value("a") == "A");
    request.query = "&&=&";
    CHECK(request.query_value("a") == std::nullopt);
}

TEST_CASE("an error is a JSON object with its text escaped") {
    const HttpResponse response = http_error(404, "no \"such\" <thing>\n");
    CHECK(response.status == 404);
    CHECK(response.content_type == "application/json");
    CHECK(response.body == "{\"error\":\"no \\\"such\\\" \\u003cthing\\u003e\\n\"}\n");
}

TEST_CASE("a responder answers once, by whoever holds it last, and 500 when nobody did") {
    std::vector<unsigned> answers;
    const auto note = [&answers](HttpResponse&& response) { answers.push_back(response.status); };
    {
        HttpResponder first(note);
        HttpResponder second(std::move(first));
        second.send({204, "text/plain", "", {}});
    }
    CHECK(answers == std::vector<unsigned>{204});
    {
        const HttpResponder dropped(note);
    }
    CHECK(answers == std::vector<unsigned>{204, 500});
    {
        HttpResponder kept(note);
        kept = HttpResponder(note);
        CHECK(answers == std::vector<unsigned>{204, 500, 500});
        kept.send({});
    }
    CHECK(answers == std::vector<unsigned>{204, 500, 500, 200});
}
