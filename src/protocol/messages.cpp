#include "protocol/messages.h"

#include <array>
#include <span>

namespace muster {

namespace {

struct Row {
    Code code;
    Direction direction;
    std::string_view name;
};

template <class... M>
constexpr auto rows_of(MessageList<M...>) {
    return std::array{Row{M::code, M::direction, M::name}...};
}

template <Port At>
constexpr auto table = rows_of(MessagesOf<At>{});

template <class... M>
constexpr bool all_on(Port port, MessageList<M...>) {
    return ((M::port == port) && ...);
}

constexpr bool strictly_ascending(std::span<const Row> rows) {
    for (std::size_t i = 1; i < rows.size(); ++i) {
        const Row& before = rows[i - 1];
        if (before.code > rows[i].code) return false;
        if (before.code == rows[i].code && before.direction >= rows[i].direction) return false;
    }
    return true;
}

static_assert(all_on(Port::servers, ServerPortMessages{}) && strictly_ascending(table<Port::servers>));
static_assert(all_on(Port::matchmakers, MatchmakerPortMessages{}) && strictly_ascending(table<Port::matchmakers>));
static_assert(all_on(Port::players, PlayerPortMessages{}) && strictly_ascending(table<Port::players>));

std::span<const Row> rows(Port port) {
    switch (port) {
        case Port::servers:
            return table<Port::servers>;
        case Port::matchmakers:
            return table<Port::matchmakers>;
        case Port::players:
            return table<Port::players>;
    }
    return {};
}

}  // namespace

CodeClass classify(Port port, Direction direction, Code code) {
    auto found = CodeClass::unknown_code;
    for (const Row& row : rows(port)) {
        if (row.code != code) continue;
        if (row.direction == direction) return CodeClass::known;
        found = CodeClass::wrong_direction;
    }
    if (port == Port::players && is_game_code(code)) {
        return direction == Direction::in ? CodeClass::known : CodeClass::wrong_direction;
    }
    return found;
}

std::string_view message_name(Port port, Direction direction, Code code) {
    for (const Row& row : rows(port)) {
        if (row.code == code && row.direction == direction) return row.name;
    }
    return classify(port, direction, code) == CodeClass::known ? "game" : "";
}

}  // namespace muster
