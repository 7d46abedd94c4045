// Which nodes are alive, by their beats, as far as we could see. No clock of another machine is looked at. No I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/time.h"

namespace muster {

// A row of the nodes.
struct NodeRow {
    std::string name{};
    std::string instance{};      // its process
    std::string address{};       // where people reach it
    std::string node_address{};  // where other nodes do; empty: nowhere
    std::string version{};
    std::string prefers{};  // cells, separated by commas
    std::int64_t beat = 0;  // grows once a second
    bool has_left = false;  // it was stopped, and said so
};

class NodeWatch {
public:
    // Longer than this between two answers, and we might have missed something: all nodes get their time anew.
    static constexpr std::chrono::seconds answers_apart_max{3};

    explicit NodeWatch(Duration silence) : silence_(silence) {}

    // The engine answered with these rows to a question that was asked at `asked`.
    void seen(Time asked, const std::vector<NodeRow>& rows) {
        const bool is_gap = asked - last_ > answers_apart_max;
        last_ = asked;
        std::map<std::string, Seen> now;
        for (const NodeRow& row : rows) {
            Seen next{row.beat, asked, row.has_left};
            const auto before = seen_.find(row.name);
            if (!is_gap && before != seen_.end() && before->second.beat == row.beat) next.since = before->second.since;
            now.emplace(row.name, next);
        }
        seen_ = std::move(now);
    }

    // Its beat moved within the silence, or we have not looked for that long.
    bool is_alive(const std::string& name) const {
        const auto found = seen_.find(name);
        return found != seen_.end() && !found->second.has_left && last_ - found->second.since < silence_;
    }

private:
    struct Seen {
        std::int64_t beat = 0;
        Time since{};
        bool has_left = false;
    };

    Duration silence_;
    Time last_{};
    std::map<std::string, Seen> seen_;
};

// Whether the node prefers the cell.
inline bool prefers(const NodeRow& node, const std::string& cell) {
    return ("," + node.prefers + ",").find("," + cell + ",") != std::string::npos;
}

// How many cells a node owns, or is to take; 0 when it is not there.
using CellCounts = std::map<std::string, std::size_t>;

// Who is to have the cell when `node` leaves or is lost (N-12): a node that is alive, those that prefer the cell first,
// then those with the fewest cells, then by name. Empty when there is none.
inline std::string successor_of(const std::string& node, const std::string& cell, const std::vector<NodeRow>& rows,
                                const NodeWatch& watch, const CellCounts& counts) {
    const auto rank = [&](const NodeRow& row) {
        const auto owned = counts.find(row.name);
        return std::tuple(!prefers(row, cell), owned == counts.end() ? 0 : owned->second, std::string_view(row.name));
    };
    const NodeRow* best = nullptr;
    for (const NodeRow& row : rows) {
        if (row.name == node || !watch.is_alive(row.name)) continue;
        if (!best || rank(row) < rank(*best)) best = &row;
    }
    return best ? best->name : std::string();
}

// A node that is alive and prefers the cell, while `node`, which owns it, does not; by name. Empty when there is none.
inline std::string preferred_over(const std::string& node, const std::string& cell, const std::vector<NodeRow>& rows,
                                  const NodeWatch& watch) {
    const NodeRow* best = nullptr;
    for (const NodeRow& row : rows) {
        if (row.name == node && prefers(row, cell)) return {};
        if (row.name == node || !prefers(row, cell) || !watch.is_alive(row.name)) continue;
        if (!best || row.name < best->name) best = &row;
    }
    return best ? best->name : std::string();
}

}  // namespace muster
