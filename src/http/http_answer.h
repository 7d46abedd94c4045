// Answers as Beast writes them: the headers that each has, and what is said of bytes that are no request.
#pragma once

#include <optional>

#include <boost/beast/core/error.hpp>
#include <boost/beast/http.hpp>

#include "http/http_message.h"

namespace muster {

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

// Every answer carries these, unless its own headers say otherwise.
template <class Message>
void set_headers(Message& message, const HttpResponse& response) {
    namespace http = boost::beast::http;
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
