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

// What is known of a port's codes, by their lower byte: all of a port's own codes share the upper one. Each message
// that comes is looked up here.
struct CodeTable {
    static constexpr std::uint8_t comes_in = 1;
    static constexpr std::uint8_t goes_out = 2;

    Code upper = 0;
    std::array<std::uint8_t, 256> ways{};

    constexpr std::uint8_t ways_of(Code code) const { return (code & 0xFF00) == upper ? ways[code & 0xFF] : 0; }
};

constexpr CodeTable codes_of(std::span<const Row> rows) {
    CodeTable codes{static_cast<Code>(rows.front().code & 0xFF00)};
    for (const Row& row : rows)
        codes.ways[row.code & 0xFF] |= row.direction == Direction::in ? CodeTable::comes_in : CodeTable::goes_out;
    return codes;
}

constexpr bool share_upper_byte(std::span<const Row> rows) {
    for (const Row& row : rows)
        if ((row.code & 0xFF00) != (rows.front().code & 0xFF00)) return false;
    return true;
}

static_assert(share_upper_byte(table<Port::servers>) && share_upper_byte(table<Port::matchmakers>) &&
              share_upper_byte(table<Port::players>));
static_assert(static_cast<std::size_t>(Port::servers) == 0 && static_cast<std::size_t>(Port::matchmakers) == 1 &&
              static_cast<std::size_t>(Port::players) == 2);
constexpr std::array code_tables{codes_of(table<Port::servers>), codes_of(table<Port::matchmakers>),
                                 codes_of(table<Port::players>)};

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
    if (port == Port::players && is_game_code(code)) {
        return direction == Direction::in ? CodeClass::known : CodeClass::wrong_direction;
    }
    const std::uint8_t ways = code_tables[static_cast<std::size_t>(port)].ways_of(code);
    const std::uint8_t wanted = direction == Direction::in ? CodeTable::comes_in : CodeTable::goes_out;
    if (ways & wanted) return CodeClass::known;
    return ways == 0 ? CodeClass::unknown_code : CodeClass::wrong_direction;
}

std::string_view message_name(Port port, Direction direction, Code code) {
    for (const Row& row : rows(port)) {
        if (row.code == code && row.direction == direction) return row.name;
    }
    return classify(port, direction, code) == CodeClass::known ? "game" : "";
}

}  // namespace muster
