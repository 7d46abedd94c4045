#include "muster/linked_client.h"

#include <string>
#include <utility>

#include "sdk/src/client_state.h"

namespace muster::sdk {

LinkedClient::LinkedClient(std::unique_ptr<ClientState> inside) : inside_(std::move(inside)) {}

LinkedClient::~LinkedClient() {
    leave_runner();
}

LinkState LinkedClient::link_state() const {
    return inside_->link_state();
}
const ClockEstimate& LinkedClient::clock() const {
    return inside_->clock();
}
void LinkedClient::seed_jitter(std::uint64_t seed) {
    inside_->link().seed_jitter(seed);
}
bool LinkedClient::wants_connection() const {
    return inside_->link().wants_connection();
}
void LinkedClient::connected(Time now) {
    inside_->connected(now);
}
void LinkedClient::disconnected(Time now) {
    inside_->disconnected(now);
}
void LinkedClient::failed(std::string_view address, const Outcome& why) {
    failure_ = {why.code, std::string(address) + ": " + why.text};
}
void LinkedClient::receive(std::span<const std::byte> bytes, Time now) {
    inside_->receive(bytes, now);
    if (inside_->link_state() == LinkState::online) failure_ = {};
}
std::vector<std::byte> LinkedClient::take_output() {
    return inside_->link().take_output();
}
void LinkedClient::tick(Time now) {
    inside_->tick(now);
}
std::optional<Time> LinkedClient::next_tick() const {
    return inside_->next_tick();
}
bool LinkedClient::leaving() const {
    return inside_->leaving();
}

}  // namespace muster::sdk
