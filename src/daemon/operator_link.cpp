#include "daemon/operator_link.h"

#include <utility>
#include <variant>

#include "base/ip_address.h"
#include "core/views.h"
#include "protocol/codec.h"
#include "protocol/error_texts.h"

namespace muster {
namespace {

// A frame's length and code.
constexpr std::size_t head = frame_head_size;

Code code_of(std::span<const std::byte> frame) {
    return static_cast<Code>(std::to_integer<unsigned>(frame[2]) | std::to_integer<unsigned>(frame[3]) << 8);
}

LobbyId lobby_of(const AllocationResponse& response) {
    return std::visit([](const auto& form) { return form.lobby; }, response.answer);
}

}  // namespace

OperatorLink::OperatorLink(Core& core, std::string token, const Regions& regions)
    : core_(core), token_(std::move(token)) {
    for (const Region& region : regions) regions_.push_back(region.id);
}

void OperatorLink::beat(const Pass& pass) {
    if (closing_) {
        // It was silent for too long, after all: a new link takes its place.
        core_.closed(pass, link_);
        ++link_.generation;
        open_ = greeted_ = closing_ = false;
        for (auto& [lobby, asks] : std::exchange(waiting_, {})) {
            for (const OnAnswer& ask : asks) ask({LobbyRefused{lobby, ErrorText(text(Refusal::server_busy))}});
        }
    }
    if (greeted_) return say(pass, MatchmakerHeartbeat{});
    if (!open_) core_.opened(pass, link_, Port::matchmakers, *IpAddress::parse("127.0.0.1"));
    open_ = true;
    say(pass, MatchmakerHandshake{HandshakeTokenText(token_), MatchmakerIdText(operator_matchmaker), {regions_}});
}

void OperatorLink::allocate(const Pass& pass, const AllocationRequest& request, OnAnswer on_answer) {
    if (!greeted_ || closing_) return on_answer({LobbyRefused{request.lobby, ErrorText(text(Refusal::server_busy))}});
    waiting_[request.lobby].push_back(std::move(on_answer));
    say(pass, request);
}

template <class M>
void OperatorLink::say(const Pass& pass, const M& message) {
    std::vector<std::byte> frame;
    encode(message, default_byte_order(Port::matchmakers), frame);
    core_.frame(pass, link_, PeerFrame{M::code, std::span<const std::byte>(frame).subspan(head), pass.now, 0});
}

void OperatorLink::sent(std::span<const std::byte> frame) {
    if (code_of(frame) == MatchmakerHandshakeResponse::code) {
        const auto response =
            decode<MatchmakerHandshakeResponse>(frame.subspan(head), default_byte_order(Port::matchmakers));
        greeted_ = response && std::holds_alternative<MatchmakerHandshakeResponse::Accepted>(response->answer);
    } else if (code_of(frame) == AllocationResponse::code) {
        if (const auto response =
                decode<AllocationResponse>(frame.subspan(head), default_byte_order(Port::matchmakers)))
            answered(*response);
    }
    // Heartbeat acks say nothing new, and what becomes of matches is in the event history.
}

// Answers of one lobby are all the same, and come in the order of its requests.
void OperatorLink::answered(const AllocationResponse& response) {
    const auto found = waiting_.find(lobby_of(response));
    if (found == waiting_.end()) return;
    const OnAnswer ask = std::move(found->second.front());
    found->second.erase(found->second.begin());
    if (found->second.empty()) waiting_.erase(found);
    ask(response);
}

}  // namespace muster
