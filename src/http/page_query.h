// The query of a request, read by name: numbers, texts, and how lists are paged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/http_message.h"

namespace muster {

// Remembers the first thing that is wrong, a name that nobody asked for among it; ask error() last.
class QueryReader {
public:
    static constexpr std::int64_t limit_usual = 100;
    static constexpr std::int64_t limit_max = 1000;

    explicit QueryReader(const HttpRequest& request) : request_(request) {}

    // None when it is not given.
    std::optional<std::int64_t> number(std::string_view name, std::int64_t least);
    // Empty when it is not given.
    std::string text(std::string_view name);
    // One of these; none when it is not given.
    std::optional<std::size_t> choice(std::string_view name, std::initializer_list<std::string_view> choices);
    // ?limit=, 1 to limit_max.
    std::size_t limit();

    std::optional<std::string> error();

private:
    void wrong(std::string text);

    const HttpRequest& request_;
    std::vector<std::string_view> known_;
    std::optional<std::string> error_;
};

// A whole decimal number, as a path or a query has it; none for anything else.
std::optional<std::int64_t> parse_number(std::string_view text);

}  // namespace muster
