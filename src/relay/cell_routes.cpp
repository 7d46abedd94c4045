#include "relay/cell_routes.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "protocol/codec.h"
#include "protocol/host_messages.h"
#include "protocol/matchmaker_messages.h"
#include "protocol/player_messages.h"
#include "protocol/server_messages.h"

namespace muster {

CellRoutes::CellRoutes(std::vector<RoutedCell> cells) : cells_(std::move(cells)) {
    for (CellNumber cell = 0; cell < cells_.size(); ++cell) {
        if (!cells_[cell].regions || !cells_[cell].regions->empty()) with_regions_.push_back(cell);
        if (cells_[cell].players) with_players_.push_back(cell);
    }
    MUSTER_CHECK(!with_regions_.empty() && !with_players_.empty(), "the cells have all regions and players");
    MUSTER_CHECK(std::ranges::is_sorted(cells_, {}, &RoutedCell::name), "cells are sorted by name");
}

CellNumber CellRoutes::of_region(RegionId region) const {
    for (const CellNumber cell : with_regions_) {
        const auto& regions = cells_[cell].regions;
        if (!regions || std::ranges::find(*regions, region) != regions->end()) return cell;
    }
    return with_regions_.front();
}

CellNumber CellRoutes::of_player(std::string_view name) const {
    return with_players_[name_hash(name) % with_players_.size()];
}

CellNumber CellRoutes::of_first_frame(Port port, Code code, std::span<const std::byte> payload, ByteOrder order) const {
    if (port == Port::servers && code == ServerHandshake::code) {
        if (const auto hello = decode<ServerHandshake>(payload, order)) return of_region(hello->region);
    } else if (port == Port::servers && code == HostHello::code) {
        if (const auto hello = decode<HostHello>(payload, order)) return of_region(hello->region);
    } else if (port == Port::players && code == PlayerLogin::code) {
        if (const auto login = decode<PlayerLogin>(payload, order)) return of_player(login->player_name.view());
    }
    return first_of(port);
}

MatchmakerRoute CellRoutes::of_matchmaker_frame(Code code, std::span<const std::byte> payload, ByteOrder order) const {
    using To = MatchmakerRoute::To;
    // What does not decode is refused once, by one cell.
    const auto all_if = [](bool is_good) { return MatchmakerRoute{is_good ? To::all : To::any}; };
    switch (code) {
        case AllocationRequest::code: {
            const auto request = decode<AllocationRequest>(payload, order);
            return request ? MatchmakerRoute{To::cell, of_region(request->region)} : MatchmakerRoute{};
        }
        case MatchmakerHandshake::code:
            return all_if(decode<MatchmakerHandshake>(payload, order).has_value());
        case MatchmakerHeartbeat::code:
            return all_if(payload.empty());
        case CancelMatch::code:
            return all_if(decode<CancelMatch>(payload, order).has_value());
        case MatchPlayers::code:
            return all_if(decode<MatchPlayers>(payload, order).has_value());
        default:
            return {};
    }
}

}  // namespace muster
