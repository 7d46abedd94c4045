// What a token lets its holder do through HTTP. The one place where roles become rights.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/records.h"

namespace muster {

using Role = OperatorRole;

enum class Right : std::uint8_t {
    read,        // look at everything
    allocate,    // ask for matches, name their players, give its own matches back
    operate,     // drain, remove, abort, kick, block, set the clock
    administer,  // say who the operators are
};

constexpr bool may(Role role, Right right) {
    switch (role) {
        case Role::viewer:
            return right == Right::read;
        case Role::matchmaker:
            return right == Right::read || right == Right::allocate;
        case Role::operate:
            return right != Right::administer;
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

// None for a word that names no role.
constexpr std::optional<Role> role_named(std::string_view text) {
    for (const Role role : {Role::viewer, Role::matchmaker, Role::operate, Role::admin}) {
        if (to_string(role) == text) return role;
    }
    return std::nullopt;
}

// The least role that has the right, for who is refused.
constexpr Role least_role(Right right) {
    switch (right) {
        case Right::read:
            return Role::viewer;
        case Right::allocate:
            return Role::matchmaker;
        case Right::operate:
            return Role::operate;
        case Right::administer:
            break;
    }
    return Role::admin;
}

// Who holds a token.
struct TokenHolder {
    std::string name;
    Role role = Role::viewer;
};

}  // namespace muster
