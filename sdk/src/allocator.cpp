#include "muster/allocator.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "base/utf8.h"
#include "protocol/text.h"
#include "sdk/src/allocator_state.h"

namespace muster::sdk {

namespace {

bool is_id_character(char c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool digit = c >= '0' && c <= '9';
    return letter || digit || c == '-' || c == '_' || c == '.';
}

AllocatorOptions checked(AllocatorOptions options) {
    if (!HandshakeTokenText::fits(options.token) || !is_utf8(options.token)) throw std::invalid_argument("token");
    const bool id_fits = !options.chat_server_id.empty() && ChatServerIdText::fits(options.chat_server_id);
    if (!id_fits || !std::ranges::all_of(options.chat_server_id, is_id_character)) {
        throw std::invalid_argument("chat_server_id");
    }
    const std::size_t regions_max = std::numeric_limits<std::int8_t>::max();
    if (options.regions.empty() || options.regions.size() > regions_max) throw std::invalid_argument("regions");
    if (options.heartbeat_interval <= Duration{}) throw std::invalid_argument("heartbeat_interval");
    if (options.request_timeout <= Duration{}) throw std::invalid_argument("request_timeout");
    return options;
}

}  // namespace

std::string_view to_string(MatchEventKind kind) {
    return muster::to_string(static_cast<muster::MatchEventKind>(kind));
}

Allocator::Allocator(AllocatorOptions options, AllocatorCallbacks callbacks)
    : state_(std::make_unique<State>(checked(std::move(options)), std::move(callbacks))) {}
Allocator::~Allocator() = default;

void Allocator::request(const MatchRequest& match, std::function<void(const Allocation&)> done) {
    state_->request(match, std::move(done));
}
void Allocator::cancel(LobbyId lobby) {
    state_->cancel(lobby);
}
void Allocator::players(LobbyId lobby, std::span<const AccountId> accounts, std::function<void(const Outcome&)> done) {
    state_->players(lobby, accounts, std::move(done));
}
void Allocator::close() {
    state_->close();
}
LinkState Allocator::link_state() const {
    return state_->link_state();
}
const std::vector<KnownServer>& Allocator::servers() const {
    return state_->servers();
}
const ClockEstimate& Allocator::clock() const {
    return state_->clock();
}
std::size_t Allocator::requests_waiting() const {
    return state_->requests_waiting();
}
void Allocator::seed_jitter(std::uint64_t seed) {
    state_->link().seed_jitter(seed);
}
bool Allocator::wants_connection() const {
    return state_->link().wants_connection();
}
void Allocator::connected(Time now) {
    state_->connected(now);
}
void Allocator::disconnected(Time now) {
    state_->disconnected(now);
}
void Allocator::receive(std::span<const std::byte> bytes, Time now) {
    state_->receive(bytes, now);
}
std::vector<std::byte> Allocator::take_output() {
    return state_->link().take_output();
}
void Allocator::tick(Time now) {
    state_->tick(now);
}
std::optional<Time> Allocator::next_tick() const {
    return state_->next_tick();
}

}  // namespace muster::sdk
