// The parameters of one statement.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postgres/pg_column.h"

namespace muster {

// PostgreSQL's text cannot hold NUL: it is kept as U+FFFD.
std::string pg_text(std::string_view text);

// In the order of $1, $2, … Texts are copied.
class PgValues {
public:
    PgValues() = default;
    template <class... Values>
    explicit PgValues(const Values&... values) {
        (add(values), ...);
    }

    template <class Number>
        requires std::is_integral_v<Number>
    PgValues& add(Number value) {
        if constexpr (std::is_same_v<Number, bool>)
            return add(std::string_view(value ? "t" : "f"));
        else
            return add(std::string_view(std::to_string(value)));
    }
    PgValues& add(std::string_view text) { return push(text); }
    PgValues& add(const std::string& text) { return push(text); }
    PgValues& add(const char* text) { return push(text); }
    template <class Value>
    PgValues& add(const std::optional<Value>& value) {
        if (value) return add(*value);
        values_.push_back({});
        return *this;
    }
    PgValues& add_bytes(std::string bytes) {
        values_.push_back({std::move(bytes), true});
        return *this;
    }
    PgValues& add(PgColumn& column) { return add_bytes(column.take()); }

    std::size_t size() const { return values_.size(); }
    // As libpq takes them. Valid until the next add().
    std::vector<const char*> pointers() const;
    std::vector<int> lengths() const;
    std::vector<int> formats() const;

private:
    struct Value {
        std::optional<std::string> bytes{};
        bool is_binary = false;
    };
    PgValues& push(std::string_view text) {
        values_.push_back({pg_text(text), false});
        return *this;
    }

    std::vector<Value> values_;
};

// An array parameter, as PostgreSQL reads it from text: {1,NULL,"a \"b\""}.
class PgArray {
public:
    template <class Number>
        requires std::is_integral_v<Number>
    void add(Number value) {
        if constexpr (std::is_same_v<Number, bool>)
            raw(value ? "t" : "f");
        else
            raw(std::to_string(value));
    }
    void add(std::string_view text);
    template <class Value>
    void add(const std::optional<Value>& value) {
        if (value)
            add(*value);
        else
            raw("NULL");
    }

    bool empty() const { return text_.size() == 1; }
    // Whole, with its closing brace.
    std::string text() const { return text_ + "}"; }

private:
    void raw(std::string_view item) {
        if (!empty()) text_ += ',';
        text_ += item;
    }

    std::string text_ = "{";
};

}  // namespace muster
