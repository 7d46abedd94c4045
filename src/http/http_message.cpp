#include "http/http_message.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "base/check.h"
#include "base/json_fields.h"

namespace muster {
namespace {

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_name(std::string_view one, std::string_view other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                      [](char a, char b) { return lower(a) == lower(b); });
}

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (lower(c) >= 'a' && lower(c) <= 'f') return lower(c) - 'a' + 10;
    return -1;
}

std::optional<std::string> decode(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '+') {
            out += ' ';
        } else if (text[i] != '%') {
            out += text[i];
        } else {
            const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
            const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
            if (high < 0 || low < 0) return std::nullopt;
            out += static_cast<char>(high * 16 + low);
            i += 2;
        }
    }
    return out;
}

}  // namespace

std::string_view HttpRequest::header(std::string_view name) const {
    for (const HttpHeader& one : headers)
        if (same_name(one.name, name)) return one.value;
    return {};
}

std::optional<std::string> HttpRequest::query_value(std::string_view name) const {
    std::string_view rest = query;
    while (!rest.empty()) {
        const std::string_view pair = rest.substr(0, rest.find('&'));
        rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
        const std::size_t equals = pair.find('=');
        if (pair.substr(0, equals) != name) continue;
        return decode(equals == std::string_view::npos ? std::string_view{} : pair.substr(equals + 1));
    }
    return std::nullopt;
}

std::string_view HttpRequest::path_value(std::string_view name) const {
    for (const HttpHeader& one : path_values)
        if (one.name == name) return one.value;
    return {};
}

HttpResponse http_error(unsigned status, std::string_view text) {
    return {status, "application/json", fmt::format("{{\"error\":{}}}\n", json_quoted(text)), {}};
}

HttpResponder::HttpResponder(Deliver deliver) : deliver_(std::move(deliver)) {
    MUSTER_CHECK(deliver_ != nullptr, "an answer goes somewhere");
}

HttpResponder::HttpResponder(HttpResponder&& other) noexcept : deliver_(std::exchange(other.deliver_, nullptr)) {}

HttpResponder& HttpResponder::operator=(HttpResponder&& other) noexcept {
    // What we held goes unanswered, and says so.
    HttpResponder dropped(std::move(*this));
    deliver_ = std::exchange(other.deliver_, nullptr);
    return *this;
}

HttpResponder::~HttpResponder() {
    if (deliver_) deliver_(http_error(500, "Internal error"));
}

void HttpResponder::send(HttpResponse response) {
    MUSTER_CHECK(deliver_ != nullptr, "a request is answered once");
    std::exchange(deliver_, nullptr)(std::move(response));
}

}  // namespace muster
