// A place in a JSON text: the answers of the API, walked by name.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/fwd.hpp>

namespace muster {

// A place in a tree of Boost.JSON, which lives as long as any of its places. What is not there, or of another kind than
// asked for, is empty, 0 or false: an answer of a newer daemon, or an older one, is shown as far as it goes.
class JsonValue {
public:
    JsonValue() = default;
    explicit JsonValue(boost::json::value&& whole);
    // None when the text is not JSON, or nested deeper than any answer of ours.
    static std::optional<JsonValue> parse(std::string_view text);

    JsonValue operator[](std::string_view field) const;
    std::vector<JsonValue> items() const;
    std::vector<std::pair<std::string, JsonValue>> fields() const;  // in the order of the text
    bool is_null() const;
    bool flag() const;
    std::int64_t integer() const;
    double number() const;
    std::string_view text() const;  // as long as the tree lives

    // A copy of what is here.
    boost::json::value copy() const;
    // As JSON on one line; control characters are escaped.
    std::string to_json() const;

private:
    JsonValue at(const boost::json::value& inner) const;

    std::shared_ptr<const boost::json::value> here_;  // owns the whole tree; null when there is nothing
};

}  // namespace muster
