#include "sdk/src/client_state.h"

namespace muster::sdk {

void ClientState::connected(Time now) {
    set_now(now);
    if (link_.connected(now)) greet();
}

void ClientState::disconnected(Time now) {
    set_now(now);
    link_.disconnected(now);
    link_lost();
    if (link_state_ == LinkState::online) set_link_state(LinkState::connecting);
}

void ClientState::receive(std::span<const std::byte> bytes, Time now) {
    set_now(now);
    if (const auto fault = hear(bytes)) tell(ErrorCode::malformed_message, malformed_text(*fault));
}

void ClientState::tick(Time now) {
    set_now(now);
    owed_.pay(on_error_);
    const bool greeting = link_.stage() == Link::Stage::greeting;
    link_.tick(now);
    if (greeting && link_.stage() == Link::Stage::dropping) tell(ErrorCode::no_answer, no_greeting());
    work(now);
}

std::optional<Time> ClientState::next_tick() const {
    return owed_.empty() ? next_work() : std::optional(now_);
}

void ClientState::set_now(Time now) {
    if (!std::exchange(time_known_, true)) time_known(now);
    now_ = now;
}

void ClientState::set_link_state(LinkState state) {
    if (state == link_state_) return;
    link_state_ = state;
    call(on_link_, state);
}

void ClientState::left(LinkState state) {
    link_state_ = state;
    owed_.owe([this, state] { call(on_link_, state); });
}

}  // namespace muster::sdk
