// `muster top`: the live overview, on the full screen.
#include <chrono>
#include <cstddef>
#include <optional>

#include "cli/api_client.h"
#include "cli/commands.h"
#include "cli/full_screen.h"
#include "cli/listing.h"
#include "cli/terminal.h"
#include "cli/top_view.h"
#include "process/exit_code.h"

namespace muster {
namespace {

constexpr std::chrono::seconds top_redraw_every{1};
// A daemon that hangs must not hold up the keys for long.
constexpr std::chrono::seconds top_patience{2};
// Any server may be the fullest, so all are read; those of a large fleet less often.
constexpr std::size_t large_fleet = 1000;
constexpr std::chrono::seconds large_fleet_every{5};

class Looks {
public:
    explicit Looks(ApiClient& api) : api_(api) {}

    TopSample look() {
        TopSample sample{api_.get("/overview"), std::nullopt, api_.get("/events?limit=10")["events"], {}};
        if (!sample.overview["node"].is_null()) sample.asked_node = api_.get("/cluster")["node"].text();
        if (std::chrono::steady_clock::now() < next_servers_) return sample;
        sample.servers = list(api_, {"servers", {}, 0}).rows;
        if (sample.servers->size() > large_fleet) next_servers_ = std::chrono::steady_clock::now() + large_fleet_every;
        return sample;
    }

private:
    ApiClient& api_;
    std::chrono::steady_clock::time_point next_servers_{};
};

void look_again(Looks& looks, TopView& view) {
    try {
        view.take(looks.look());
    } catch (const CommandFailure& failure) {
        const std::string all = failure.what();
        view.failed(all.substr(0, all.find('\n')));
    }
}

int show_top() {
    ApiClient api = ApiClient::from_environment();
    api.set_patience(top_patience);
    TopView view(api.address().url, RegionNames(api));
    Looks looks(api);
    view.take(looks.look());  // fails before the screen is taken, if at all

    FullScreen screen;
    std::chrono::steady_clock::time_point next = std::chrono::steady_clock::now() + top_redraw_every;
    for (;;) {
        screen.draw(view.lines(screen.size(), colours_wanted()));
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - std::chrono::steady_clock::now());
        const FullScreen::Input input = screen.wait(left);
        using Kind = FullScreen::Input::Kind;
        if (input.kind == Kind::ended || (input.kind == Kind::key && (input.key == 'q' || input.key == 'Q'))) return 0;
        if (input.kind == Kind::key && input.key == 's') view.next_order();
        if (std::chrono::steady_clock::now() >= next) {
            look_again(looks, view);
            next = std::chrono::steady_clock::now() + top_redraw_every;
        }
    }
}

}  // namespace

Command top_command() {
    return {"top",
            "Live full-screen overview",
            {},
            "q or Ctrl-C quits; s changes the sort key of the servers.\n",
            show_top};
}

}  // namespace muster
