#include "cli/demo_player.h"

#include <array>
#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace muster {
namespace {

constexpr std::array names{"Ann", "Bao", "Cem", "Dora", "Emil", "Fay", "Gus",  "Hana", "Ivo",  "Jun",
                           "Kai", "Lea", "Mio", "Noor", "Olek", "Pia", "Quin", "Rui",  "Sana", "Tom"};

sdk::PlayerOptions options_of(const DemoPace& pace) {
    sdk::PlayerOptions options;
    options.ping_timeout = pace.ping_timeout;
    options.resume_grace = pace.resume_grace;
    return options;
}

}  // namespace

DemoPlayer::DemoPlayer(sdk::TcpRunner& runner, Random& random, const DemoPace& pace, std::size_t number,
                       OnMatch on_match)
    : runner_(runner),
      random_(random),
      name_(fmt::format("{}-{}", names[number % names.size()], number / names.size() + 1)),
      client_(options_of(pace), sdk::PlayerCallbacks{
                                    .on_match_start =
                                        [this, on_match = std::move(on_match)](const sdk::MatchStart& match) {
                                            // Not from within a callback: another client is asked.
                                            runner_.post([this, on_match, match] {
                                                if (id()) on_match(*this, match);
                                            });
                                        },
                                    .on_closed =
                                        [this](std::string_view, bool comes_back) {
                                            if (!comes_back) come_soon(4'000, 15'000);
                                        },
                                }) {}

void DemoPlayer::join(const std::string& address) {
    address_ = address;
    runner_.add(client_, address_);
    come_soon(100, 6'000);
    live_soon();
}

void DemoPlayer::leave() {
    over_ = true;
    client_.logout();
}

std::optional<sdk::AccountId> DemoPlayer::id() const {
    return client_.link_state() == sdk::LinkState::online ? client_.id() : std::nullopt;
}

bool DemoPlayer::take_seat(sdk::LobbyId lobby) {
    if (!id() || lobby_.value != 0 || idle_turns_ > 0) return false;
    lobby_ = lobby;
    return true;
}

void DemoPlayer::leave_seat(sdk::LobbyId lobby) {
    if (lobby_ == lobby) lobby_ = {};
}

void DemoPlayer::come_soon(std::int64_t least_ms, std::int64_t most_ms) {
    runner_.post_after(std::chrono::milliseconds(random_.between(least_ms, most_ms)), [this] {
        if (!over_) client_.login(name_, "");
    });
}

void DemoPlayer::live_soon() {
    runner_.post_after(std::chrono::milliseconds(random_.between(1'500, 3'500)), [this] {
        live();
        live_soon();
    });
}

void DemoPlayer::live() {
    if (over_ || !id()) return;
    if (idle_turns_ > 0) {
        --idle_turns_;
        return;
    }
    const double mood = random_.unit();
    if (mood < 0.02) {
        idle_turns_ = static_cast<int>(random_.between(8, 35));  // the longest are sent away
    } else if (mood < 0.03 && lobby_.value == 0) {
        client_.logout();
        come_soon(3'000, 12'000);
    } else if (mood < 0.04) {
        lose_connection();
    } else {
        client_.activity();
        client_.request_ping();
    }
}

void DemoPlayer::lose_connection() {
    runner_.remove(client_);
    runner_.post_after(std::chrono::milliseconds(random_.between(500, 6'000)), [this] {
        if (!over_) runner_.add(client_, address_);
    });
}

}  // namespace muster
