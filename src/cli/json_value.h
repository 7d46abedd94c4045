// A JSON text as a value that can be walked: the answers of the API.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace muster {

// What is not there, or of another kind than asked for, is empty, 0 or false: an answer of a newer daemon, or an older
// one, is shown as far as it goes.
class JsonValue {
public:
    using List = std::vector<JsonValue>;
    using Fields = std::vector<std::pair<std::string, JsonValue>>;  // in the order of the text
    using Kind = std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, List, Fields>;

    JsonValue() = default;
    explicit JsonValue(Kind kind) : kind_(std::move(kind)) {}
    // None when the text is not JSON, or nested deeper than any answer of ours.
    static std::optional<JsonValue> parse(std::string_view text);

    const JsonValue& operator[](std::string_view field) const;
    const List& items() const;
    const Fields& fields() const;
    bool is_null() const { return std::holds_alternative<std::nullptr_t>(kind_); }
    bool flag() const;
    std::int64_t integer() const;
    double number() const;
    std::string_view text() const;

    // As JSON on one line; control characters are escaped.
    std::string to_json() const;

private:
    void write(std::string& out) const;

    Kind kind_ = nullptr;
};

}  // namespace muster
