// Between Beast's messages and our plain values: a request that was read, an answer to be written, and what is said of
// bytes that are no request.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/beast/core/error.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http.hpp>

#include "http/http_message.h"

namespace muster {

// Without what only its connection knows: who the peer is, and whether it may name that Host.
inline HttpRequest to_request(boost::beast::http::request<boost::beast::http::string_body>&& message) {
    HttpRequest request;
    request.method = std::string(message.method_string());
    const std::string_view target(message.target().data(), message.target().size());
    const std::size_t question = target.find('?');
    request.path = std::string(target.substr(0, question));
    if (question != std::string_view::npos) request.query = std::string(target.substr(question + 1));
    for (const auto& field : message)
        request.headers.push_back({std::string(field.name_string()), std::string(field.value())});
    request.body = std::move(message.body());
    return request;
}

// What a peer is told of bytes that are no request; none when it is gone and there is nobody to tell.
inline std::optional<HttpResponse> answer_to(const boost::beast::error_code& error, bool timed_out) {
    namespace http = boost::beast::http;
    if (timed_out) return http_error(408, "Request took too long");
    if (error == http::error::header_limit || error == http::error::buffer_overflow)
        return http_error(431, "Request header too large");
    if (error == http::error::body_limit) return http_error(413, "Request body too large");
    if (error == http::error::end_of_stream || error == http::error::partial_message) return std::nullopt;
    if (error.category() == http::make_error_code(http::error::bad_method).category())
        return http_error(400, "Malformed request");
    return std::nullopt;
}

// What a peer is told whose header leaves open where its request ends or for whom it is; none when the header is good.
// A proxy before us may read such a request otherwise than we do, so nothing that follows it is read (RFC 9112, 6.1).
template <class Head>
std::optional<HttpResponse> objection_to(const Head& head) {
    namespace http = boost::beast::http;
    constexpr unsigned http_1_1 = 11;
    const std::size_t codings = head.count(http::field::transfer_encoding);
    if (codings > 0 && head.count(http::field::content_length) > 0)
        return http_error(400, "Transfer-Encoding and Content-Length exclude each other");
    if (codings > 0 && head.version() < http_1_1) return http_error(400, "Transfer-Encoding needs HTTP/1.1");
    if (codings > 1 || (codings == 1 && !boost::beast::iequals(head[http::field::transfer_encoding], "chunked")))
        return http_error(501, "No Transfer-Encoding but chunked is supported");
    const std::size_t hosts = head.count(http::field::host);
    if (hosts > 1 || (hosts == 0 && head.version() >= http_1_1)) return http_error(400, "One Host header needed");
    if (head.count(http::field::authorization) > 1) return http_error(400, "More than one Authorization header");
    return std::nullopt;
}

// The status, and the headers of every answer, unless its own say otherwise. The body is the caller's.
template <class Message>
void describe(Message& message, const HttpResponse& response) {
    namespace http = boost::beast::http;
    message.result(response.status);
    message.set(http::field::server, "muster");
    message.set(http::field::content_type, response.content_type);
    message.set(http::field::cache_control, "no-store");
    message.set("X-Content-Type-Options", "nosniff");
    message.set("X-Frame-Options", "DENY");
    message.set("Referrer-Policy", "no-referrer");
    message.set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
    for (const HttpHeader& header : response.headers) message.set(header.name, header.value);
}

}  // namespace muster
