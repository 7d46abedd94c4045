#include "cluster/relayed_request.h"

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace muster {
namespace {

constexpr std::size_t headers_max = 256;

void put_number(std::string& out, std::uint32_t number) {
    for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(number >> shift & 0xFF));
}

void put_text(std::string& out, std::string_view text) {
    put_number(out, static_cast<std::uint32_t>(text.size()));
    out.append(text);
}

void put_headers(std::string& out, const std::vector<HttpHeader>& headers) {
    put_number(out, static_cast<std::uint32_t>(headers.size()));
    for (const HttpHeader& header : headers) {
        put_text(out, header.name);
        put_text(out, header.value);
    }
}

// Takes fields from the front; after one that is missing all are empty.
class Unpacker {
public:
    explicit Unpacker(std::string_view bytes) : rest_(bytes) {}

    std::uint32_t number() {
        const std::string_view taken = take(4);
        std::uint32_t number = 0;
        for (std::size_t i = 0; i < taken.size(); ++i)
            number |= std::uint32_t{static_cast<std::uint8_t>(taken[i])} << 8 * i;
        return number;
    }
    std::string text() { return std::string(take(number())); }
    std::vector<HttpHeader> headers() {
        const std::uint32_t count = number();
        if (count > headers_max) is_good_ = false;
        std::vector<HttpHeader> taken;
        for (std::uint32_t i = 0; is_good_ && i < count; ++i) {
            std::string name = text();
            taken.push_back({std::move(name), text()});
        }
        return taken;
    }
    bool is_whole() const { return is_good_ && rest_.empty(); }

private:
    std::string_view take(std::size_t count) {
        if (!is_good_ || count > rest_.size()) {
            is_good_ = false;
            return {};
        }
        const std::string_view taken = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return taken;
    }

    std::string_view rest_;
    bool is_good_ = true;
};

}  // namespace

std::string packed_request(const HttpRequest& request) {
    std::string out;
    put_text(out, request.method);
    put_text(out, request.path);
    put_text(out, request.query);
    put_text(out, request.peer.to_string());
    const bool shows_name = !request.shown_name.empty();
    put_number(out, (request.is_forwarded ? 1U : 0U) | (request.known_host ? 2U : 0U) | (shows_name ? 4U : 0U));
    put_headers(out, request.headers);
    put_text(out, request.body);
    if (shows_name) put_text(out, request.shown_name);
    return out;
}

std::string packed_response(const HttpResponse& response) {
    if (response.stream)
        return packed_response(http_error(503, "A live feed is given by the node that owns the cell; ask it there"));
    std::string out;
    put_number(out, response.status);
    put_number(out, static_cast<std::uint32_t>(
                        std::chrono::duration_cast<std::chrono::milliseconds>(response.held_back).count()));
    put_text(out, response.content_type);
    put_headers(out, response.headers);
    put_text(out, response.body);
    return out;
}

std::optional<HttpRequest> unpacked_request(std::string_view bytes) {
    Unpacker from(bytes);
    HttpRequest request;
    request.method = from.text();
    request.path = from.text();
    request.query = from.text();
    const auto peer = IpAddress::parse(from.text());
    const std::uint32_t flags = from.number();
    request.headers = from.headers();
    request.body = from.text();
    if ((flags & 4U) != 0) request.shown_name = from.text();
    if (!from.is_whole() || !peer) return std::nullopt;
    request.peer = *peer;
    request.is_forwarded = (flags & 1U) != 0;
    request.known_host = (flags & 2U) != 0;
    return request;
}

std::optional<HttpResponse> unpacked_response(std::string_view bytes) {
    Unpacker from(bytes);
    HttpResponse response;
    response.status = from.number();
    response.held_back = std::chrono::milliseconds(from.number());
    response.content_type = from.text();
    response.headers = from.headers();
    response.body = from.text();
    if (!from.is_whole() || response.status < 100 || response.status > 599) return std::nullopt;
    return response;
}

}  // namespace muster
