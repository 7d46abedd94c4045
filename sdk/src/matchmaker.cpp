#include "muster/matchmaker.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "base/utf8.h"
#include "protocol/text.h"
#include "sdk/src/matchmaker_state.h"
#include "sdk/src/option_times.h"

namespace muster::sdk {

namespace {

bool is_id_character(char c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool digit = c >= '0' && c <= '9';
    return letter || digit || c == '-' || c == '_' || c == '.';
}

MatchmakerOptions checked(MatchmakerOptions options) {
    if (!HandshakeTokenText::fits(options.token) || !is_utf8(options.token))
        throw std::invalid_argument("token must be UTF-8 of at most 256 bytes");
    const bool id_fits = !options.matchmaker_id.empty() && MatchmakerIdText::fits(options.matchmaker_id);
    if (!id_fits || !std::ranges::all_of(options.matchmaker_id, is_id_character)) {
        throw std::invalid_argument("matchmaker_id must be 1 to 64 letters, digits, - _ or .");
    }
    const std::size_t regions_max = std::numeric_limits<std::int8_t>::max();
    if (options.regions.empty() || options.regions.size() > regions_max)
        throw std::invalid_argument("regions must name 1 to 127 regions");
    check_time(options.heartbeat_interval, "heartbeat_interval");
    check_time(options.request_timeout, "request_timeout");
    return options;
}

}  // namespace

std::string_view to_string(MatchEventKind kind) {
    return muster::to_string(static_cast<muster::MatchEventKind>(kind));
}

Matchmaker::Matchmaker(MatchmakerOptions options, MatchmakerCallbacks callbacks)
    : LinkedClient(std::make_unique<State>(checked(std::move(options)), std::move(callbacks))) {}
Matchmaker::~Matchmaker() = default;

Matchmaker::State& Matchmaker::state() const {
    return static_cast<State&>(inside());
}

void Matchmaker::request(const MatchRequest& match, std::function<void(const Allocation&)> done) {
    state().request(match, std::move(done));
}
void Matchmaker::cancel(LobbyId lobby) {
    state().cancel(lobby);
}
void Matchmaker::players(LobbyId lobby, std::span<const AccountId> accounts, std::function<void(const Outcome&)> done) {
    state().players(lobby, accounts, std::move(done));
}
void Matchmaker::close() {
    state().close();
}
const std::vector<KnownServer>& Matchmaker::servers() const {
    return state().servers();
}
std::size_t Matchmaker::requests_waiting() const {
    return state().requests_waiting();
}

}  // namespace muster::sdk
