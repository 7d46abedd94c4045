// What PostgreSQL, or the way to it, answered instead of a result.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace muster {

class PgError : public std::runtime_error {
public:
    enum class Kind : std::uint8_t {
        unreachable,  // no connection, or it broke, or no answer came in time: what was under way may have happened
        refused,      // the engine said no: the statement and its transaction changed nothing
    };

    static PgError unreachable(const std::string& what) { return {Kind::unreachable, "", what}; }
    static PgError refused(std::string code, const std::string& what) { return {Kind::refused, std::move(code), what}; }

    Kind kind;
    std::string sqlstate;  // five characters; empty when unreachable

    bool is_unreachable() const { return kind == Kind::unreachable; }
    // Of the class, the first two characters: "53" is insufficient resources.
    bool is_class(const char* two) const { return sqlstate.compare(0, 2, two) == 0; }

private:
    PgError(Kind kind_of, std::string code, const std::string& what)
        : std::runtime_error(what), kind(kind_of), sqlstate(std::move(code)) {}
};

}  // namespace muster
