// The daemon's HTTP API, as a command asks it: one question at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "cli/command.h"
#include "cli/json_value.h"

namespace muster {

// Where the daemon is, as MUSTER_URL says it.
struct ApiAddress {
    std::string url;   // as it was given, without a slash at its end
    std::string host;  // no brackets
    std::string port;
};
// Throws CommandFailure for what is no http:// address.
ApiAddress parse_api_address(std::string_view url);

// The daemon does not know what was asked for.
class NotThere : public CommandFailure {
public:
    using CommandFailure::CommandFailure;
};

// One thread. Every call throws CommandFailure: `unavailable` when there is no daemon, with where it was looked for and
// how to start it; not allowed, or failed, in the daemon's own words and with what to do next.
class ApiClient {
public:
    // Of MUSTER_URL and MUSTER_ADMIN_TOKEN.
    static ApiClient from_environment();
    ApiClient(ApiAddress address, std::string token);

    // `path` is below /api/v1, with its query.
    JsonValue get(const std::string& path);
    // Text, and where to read on, as a log has it.
    struct Text {
        std::string text;
        std::int64_t position = 0;
    };
    Text get_text(const std::string& path);
    // `body` is a JSON object.
    JsonValue post(const std::string& path, const std::string& body);
    JsonValue put(const std::string& path, const std::string& body);

    // How long an answer may take; the usual time at first.
    void set_patience(std::chrono::milliseconds patience) { patience_ = patience; }

    // The live feed: `on_event` gets the data of each event. Returns when the daemon ends it or the link is lost after
    // it had begun.
    // `place` is that of the last event that had one: the feed can be taken up again after it.
    using OnEvent = std::function<void(std::string_view data, const std::string& place)>;
    void follow(const std::string& path, const OnEvent& on_event);

    const ApiAddress& address() const { return address_; }

private:
    struct Question {
        std::string method;
        std::string path;
        std::string body;
    };
    struct Answer {
        unsigned status = 0;
        std::string body;
        std::string log_position{};
    };
    JsonValue ask(const Question& question);
    Answer exchange(const Question& question);

    ApiAddress address_;
    std::string token_;
    std::chrono::milliseconds patience_;
};

// `text` as a value in the query of a path.
std::string query_encoded(std::string_view text);

}  // namespace muster
