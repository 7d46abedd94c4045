#include "postgres/pg_column.h"

#include <utility>

#include "base/check.h"
#include "postgres/pg_values.h"

namespace muster {
namespace {

// Before the values stand, in four bytes each: dimensions, whether there are nulls, the type, how many, the number of
// the first.
constexpr std::size_t count_at = 12;

void write_big_endian(char* to, std::uint64_t number, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i) to[i] = static_cast<char>(number >> (8 * (width - 1 - i)));
}

}  // namespace

PgColumn::PgColumn(Type type) : type_(type) {
    put(1, 4);
    put(0, 4);
    put(static_cast<std::uint32_t>(type), 4);
    put(0, 4);
    put(1, 4);
}

void PgColumn::put(std::uint64_t number, std::size_t width) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + width);
    write_big_endian(bytes_.data() + at, number, width);
}

void PgColumn::add(std::int64_t number) {
    MUSTER_CHECK(type_ != Type::text, "a number is added to a column of numbers");
    const std::size_t width = type_ == Type::bigint ? 8 : 4;
    put(width, 4);
    put(static_cast<std::uint64_t>(number), width);
    ++count_;
}

void PgColumn::add(std::string_view text) {
    MUSTER_CHECK(type_ == Type::text, "a text is added to a column of texts");
    if (text.find('\0') == std::string_view::npos) {
        put(text.size(), 4);
        bytes_ += text;
    } else {
        const std::string kept = pg_text(text);
        put(kept.size(), 4);
        bytes_ += kept;
    }
    ++count_;
}

std::string PgColumn::take() {
    write_big_endian(bytes_.data() + count_at, count_, 4);
    if (count_ == 0) {
        // Nothing has no dimension either.
        write_big_endian(bytes_.data(), 0, 4);
        bytes_.resize(count_at);
    }
    return std::move(bytes_);
}

}  // namespace muster
