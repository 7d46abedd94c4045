// The JSON object in the body of an action, read field by field.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace muster {

// Remembers the first thing that is wrong, a field that nobody asked for among it; ask error() last. A value that is
// missing or wrong comes back as 0, false or empty.
class JsonBody {
public:
    // An empty body is an empty object.
    explicit JsonBody(std::string_view text);

    // Must be given.
    std::int64_t integer(std::string_view name, std::int64_t least, std::int64_t most);
    bool flag(std::string_view name);
    // May be left out.
    std::optional<std::int64_t> optional_integer(std::string_view name, std::int64_t least, std::int64_t most);
    std::string optional_text(std::string_view name, std::size_t bytes_max);
    // A whole number or a text, such as a region's number or name. Must be given.
    std::variant<std::int64_t, std::string> number_or_text(std::string_view name, std::int64_t least, std::int64_t most,
                                                           std::size_t bytes_max);
    // Lists that may be left out, of at most `items_max` each.
    std::vector<std::int64_t> optional_integers(std::string_view name, std::int64_t least, std::int64_t most,
                                                std::size_t items_max);
    std::vector<std::string> optional_texts(std::string_view name, std::size_t bytes_max, std::size_t items_max);
    bool given(std::string_view name) const { return values_.contains(name); }

    std::optional<std::string> error();

private:
    struct Other {};  // null, a fraction, a list of other things or an object: nothing we take
    using Value =
        std::variant<Other, bool, std::int64_t, std::string, std::vector<std::int64_t>, std::vector<std::string>>;

    const Value* take(std::string_view name);
    void wrong(std::string text);

    std::map<std::string, Value, std::less<>> values_;
    std::set<std::string, std::less<>> asked_;
    std::optional<std::string> error_;
};

}  // namespace muster
