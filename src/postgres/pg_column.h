// Many values of one column as one parameter: an array in PostgreSQL's binary format, which the engine takes without
// parsing digits and quotes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace muster {

class PgColumn {
public:
    // The numbers are PostgreSQL's own (pg_type.oid), and never change.
    enum class Type : std::uint32_t { bigint = 20, integer = 23, text = 25 };

    explicit PgColumn(Type type);

    // Of a bigint or an integer; one that does not fit is cut.
    void add(std::int64_t number);
    // Of a text; NUL is kept as U+FFFD.
    void add(std::string_view text);

    bool empty() const { return count_ == 0; }
    std::size_t size() const { return count_; }
    // The whole parameter; the column is done with.
    std::string take();

private:
    void put(std::uint64_t number, std::size_t width);

    Type type_;
    std::uint32_t count_ = 0;
    std::string bytes_;
};

}  // namespace muster
