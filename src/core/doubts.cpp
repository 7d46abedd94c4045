#include "core/doubts.h"

namespace muster {

std::vector<LobbyId> Doubts::ask(ServerId id) {
    const Server* server = parts_.fleet.find(id);
    if (!server || !server->connected()) return {};
    std::vector<LobbyId> asked_now;
    std::size_t asked = 0;
    for (const LobbyId lobby : parts_.matches.held_on(id)) {
        Match& match = *parts_.matches.find(lobby);
        if (match.doubt == Match::Doubt::to_be_asked && asked < asked_max) {
            match.doubt = Match::Doubt::asked;
            asked_now.push_back(lobby);
            const MatchRecord& record = match.record;
            parts_.links.send(server->link,
                              AllocateMatch{lobby, record.game_type, record.game_mode, MatchTokenText(record.token)});
        }
        if (match.doubt == Match::Doubt::asked) ++asked;
    }
    return asked_now;
}

void Doubts::went_offline(ServerId id) {
    for (const LobbyId lobby : parts_.matches.held_on(id)) {
        Match& match = *parts_.matches.find(lobby);
        if (match.doubt != Match::Doubt::asked) continue;
        match.doubt = Match::Doubt::to_be_asked;
        parts_.timers.cancel(match.offer);
    }
}

bool Doubts::awaits(ServerId id) const {
    return std::ranges::any_of(parts_.matches.held_on(id), [&](LobbyId lobby) {
        const Match::Doubt doubt = parts_.matches.find(lobby)->doubt;
        return doubt == Match::Doubt::asked || doubt == Match::Doubt::to_be_asked;
    });
}

std::vector<LobbyId> Doubts::counted_on(ServerId id) const {
    std::vector<LobbyId> counted;
    for (const LobbyId lobby : parts_.matches.held_on(id))
        if (parts_.matches.find(lobby)->doubt == Match::Doubt::to_be_counted) counted.push_back(lobby);
    return counted;
}

}  // namespace muster
