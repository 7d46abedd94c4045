// What a token lets its holder do through HTTP. The one place where roles become rights.
#pragma once

#include <cstdint>
#include <string_view>

namespace muster {

enum class Role : std::uint8_t { viewer, matchmaker, operate, admin };

enum class Right : std::uint8_t {
    read,      // look at everything
    allocate,  // ask for matches, name their players, give its own matches back
    operate,   // drain, remove, abort, kick, set the clock
};

constexpr bool may(Role role, Right right) {
    switch (role) {
        case Role::viewer:
            return right == Right::read;
        case Role::matchmaker:
            return right == Right::read || right == Right::allocate;
        case Role::operate:
        case Role::admin:
            return true;
    }
    return false;
}

constexpr std::string_view to_string(Role role) {
    switch (role) {
        case Role::viewer:
            return "viewer";
        case Role::matchmaker:
            return "matchmaker";
        case Role::operate:
            return "operator";
        case Role::admin:
            return "admin";
    }
    return "";
}

// The least role that has the right, for who is refused.
constexpr Role least_role(Right right) {
    switch (right) {
        case Right::read:
            return Role::viewer;
        case Right::allocate:
            return Role::matchmaker;
        case Right::operate:
            break;
    }
    return Role::operate;
}

}  // namespace muster
