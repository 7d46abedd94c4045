// Bytes on an HTTP connection, through the parser, the routes, the API and its bodies: whatever comes is answered by
// whole responses, with JSON where they say so, and the connection ends.
//
// An input is a byte for who asks and how the bytes are cut, then the bytes. The connection is a real one, over a pair
// of sockets on one thread; the game behind the API is played here.
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/http.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <unistd.h>

#include "base/check.h"
#include "base/log.h"
#include "base/no_log.h"
#include "base/seeded_entropy.h"
#include "base/virtual_clock.h"
#include "fuzz/fuzz_input.h"
#include "fuzz/fuzz_target.h"
#include "http/api.h"
#include "http/block_book.h"
#include "http/health.h"
#include "http/http_connection.h"
#include "http/metrics_text.h"
#include "http/operator_book.h"
#include "http/page.h"

namespace muster::fuzz {
namespace {

namespace http = boost::beast::http;

// One byte of the input.
struct Asker {
    // Mostly all at once: each piece is a turn of the connection.
    static constexpr std::array<std::size_t, 16> pieces{0, 0, 0, 0, 1, 2, 5, 7, 13, 31, 64, 127, 0, 0, 0, 0};

    std::size_t piece;    // bytes that arrive at a time, 0 for all at once
    bool token_needed;    // to act, and to read too
    bool game_is_silent;  // its answers do not come in time
    bool probes_only;     // too many are connected

    explicit Asker(std::uint8_t byte)
        : piece(pieces[byte % pieces.size()]),
          token_needed((byte & 16) != 0),
          game_is_silent((byte & 32) != 0),
          probes_only((byte & 64) != 0) {}
};

class NoArchive final : public EventArchive {
public:
    EventsFound find(const EventSearch& search) override { return {{}, search.from, true}; }
};

// Reads at once.
class ReadsNow final : public SlowReads {
public:
    bool submit(std::function<void()> work) override {
        work();
        return true;
    }
};

// What comes later comes when it is asked for.
class PlayedThread final : public HttpThread {
public:
    explicit PlayedThread(boost::asio::io_context& context) : context_(context) {}
    void post(std::function<void()> work) override { boost::asio::post(context_, std::move(work)); }
    void in_turn(std::function<void()> work) override { post(std::move(work)); }
    void after(Duration, std::function<void()> work) override { later_.push_back(std::move(work)); }

    // Whether somebody waited for it.
    bool time_passes() {
        const auto works = std::exchange(later_, {});
        for (const auto& work : works) work();
        return !works.empty();
    }

private:
    boost::asio::io_context& context_;
    std::vector<std::function<void()>> later_;
};

FleetView some_fleet() {
    FleetView view;
    view.time = UnixMs{1'700'000'000'000};
    for (std::int32_t id = 1; id <= 3; ++id) {
        ServerRow& server = view.servers.emplace_back();
        server.id = ServerId(id);
        server.ip = IpAddress::v4({10, 0, 0, 1});
        server.region = RegionId(static_cast<std::int8_t>(id % 2));
        MatchRow& match = view.matches.emplace_back();
        match.lobby = LobbyId(id);
        match.server = server.id;
        match.matchmaker = "a";
    }
    view.matchmakers.push_back({"a", {RegionId(0)}, 5});
    view.regions.push_back({RegionId(0), "USE", 1, 0, 1, 0, 0, {}});
    return view;
}

PlayersView some_players() {
    PlayersView view;
    for (const std::string_view name : {"ann", "b\"o<b>\x1b"}) {
        PlayerRow& player = view.players.emplace_back();
        player.id = AccountId(static_cast<std::int32_t>(view.players.size()));
        player.name = name;
    }
    return view;
}

// Answers a question when it is told to.
class PlayedGame final : public ApiGame {
public:
    bool ask_for_fleet(std::uint64_t number, Time) override {
        static const auto view = std::make_shared<const FleetView>(some_fleet());
        waiting_.push_back([number](Api& api) { api.made(number, view, Duration{1}); });
        return true;
    }
    bool ask_for_players(std::uint64_t number, Time) override {
        static const auto view = std::make_shared<const PlayersView>(some_players());
        waiting_.push_back([number](Api& api) { api.made(number, view, Duration{1}); });
        return true;
    }
    bool ask_for_hosts(std::uint64_t number, Time) override {
        static const auto view = std::make_shared<const HostsView>();
        waiting_.push_back([number](Api& api) { api.made(number, view, Duration{1}); });
        return true;
    }
    bool act(std::uint64_t number, const Action& action, const ActionCaller&, Time) override {
        ActionOutcome outcome;
        if (const auto* drain = std::get_if<action::Drain>(&action); drain && drain->server.value > 3)
            outcome.kind = ActionOutcome::Kind::not_found;
        if (const auto* wish = std::get_if<action::Allocate>(&action); wish && wish->request.lobby.value > 3)
            outcome.kind = ActionOutcome::Kind::refused;
        waiting_.push_back([number, outcome](Api& api) { api.acted(number, outcome); });
        return true;
    }
    ProcessFigures figures() override { return {}; }

    // Whether there was a question.
    bool answer(Api& api) {
        const auto questions = std::exchange(waiting_, {});
        for (const auto& one : questions) one(api);
        return !questions.empty();
    }

private:
    std::vector<std::function<void(Api&)>> waiting_;
};

// The server's side of one connection, and the peer's.
class Exchange {
public:
    explicit Exchange(Asker asker) : asker_(asker), gate_(clock_, log_, rules()) {
        health_.set_phase(Health::Phase::ready);
        add_health_routes(routes_, health_);
        add_metrics_route(routes_, metrics_,
                          [this](HttpRequest& request) { return gate_.refusal_of_metrics(request); });
        add_openapi_route(routes_);
        add_page_routes(routes_, nullptr);
        api_.add_routes(routes_);
        shared_->thread = thread_;
        shared_->handler = [this](HttpRequest&& request, HttpResponder&& responder) {
            methods_.push_back(request.method);
            routes_.handle(std::move(request), std::move(responder));
        };
        std::array<int, 2> pair{};
        MUSTER_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair.data()) == 0, "there are sockets");
        peer_ = pair[1];
        connection_ = HttpConnection::make(context_, pair[0], true, shared_, [this](HttpConnection*) { over_ = true; });
    }
    ~Exchange() { ::close(peer_); }
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

    void run(std::string_view bytes) {
        if (asker_.probes_only) {
            connection_->serve_probe();
        } else {
            connection_->serve();
        }
        while (!bytes.empty()) {
            const std::string_view piece = bytes.substr(0, asker_.piece == 0 ? bytes.size() : asker_.piece);
            if (::send(peer_, piece.data(), piece.size(), MSG_NOSIGNAL) < 0) break;  // it was closed on us
            bytes.remove_prefix(piece.size());
            turn();
        }
        ::shutdown(peer_, SHUT_WR);
        turn();
        if (!over_) connection_->cut();  // it holds an answer back
        turn();
        MUSTER_CHECK(over_, "a connection ends");
        check_answers();
    }

private:
    AdminGate::Rules rules() const {
        return {asker_.token_needed, !asker_.token_needed, [](std::string_view token) -> std::optional<TokenHolder> {
                    if (token == "secret") return TokenHolder{"admin", Role::admin};
                    if (token == "secret2") return TokenHolder{"mm", Role::matchmaker};
                    return std::nullopt;
                }};
    }

    // Until nothing happens any more.
    void turn() {
        for (bool busy = true; busy;) {
            busy = context_->poll() > 0;
            context_->restart();
            busy |= read();
            const bool happened = asker_.game_is_silent ? thread_->time_passes() : game_.answer(api_);
            if (happened) busy |= context_->poll() > 0;
        }
    }

    bool read() {
        std::array<char, 16 * 1024> piece;
        const ssize_t count = ::recv(peer_, piece.data(), piece.size(), 0);
        if (count > 0) answers_.append(piece.data(), static_cast<std::size_t>(count));
        return count > 0;
    }

    // All that came back is whole responses.
    void check_answers() {
        std::string_view left = answers_;
        for (std::size_t number = 0; !left.empty(); ++number) {
            http::response_parser<http::string_body> parser;
            parser.body_limit(16 << 20);
            const bool to_head = number < methods_.size() && methods_[number] == "HEAD";
            parser.skip(to_head);
            parser.eager(true);
            boost::system::error_code error;
            const std::size_t used = parser.put(boost::asio::buffer(left), error);
            if (error == http::error::need_more) error = {};
            MUSTER_CHECK(!error && parser.is_header_done(), "an answer is HTTP");
            left.remove_prefix(used);
            if (parser.get().result_int() == 100) {
                --number;
                continue;
            }
            // What has no length goes on to the end, and so does an answer to a HEAD that was refused before it was
            // handled: it has none.
            if (!parser.is_done()) {
                MUSTER_CHECK(left.empty(), "only the last answer has no end");
                return;
            }
            check_answer(parser.get(), to_head);
        }
    }

    static void check_answer(const http::response<http::string_body>& answer, bool to_head) {
        const unsigned status = answer.result_int();
        MUSTER_CHECK(status == 200 || status == 304 || (status >= 400 && status < 600), "a status that we use");
        MUSTER_CHECK(answer["X-Content-Type-Options"] == "nosniff" && answer.count("Content-Security-Policy") == 1,
                     "every answer is guarded");
        if (to_head || answer[http::field::content_type] != "application/json") return;
        boost::system::error_code error;
        const auto json = boost::json::parse(answer.body(), error);
        MUSTER_CHECK(!error && json.is_object(), "what is called JSON is JSON");
        if (status >= 400) MUSTER_CHECK(json.as_object().contains("error"), "a refusal says why");
    }

    const Asker asker_;
    std::shared_ptr<boost::asio::io_context> context_ = std::make_shared<boost::asio::io_context>(1);
    VirtualClock clock_;
    NoLog sink_;
    Log log_{clock_, sink_, LogLevel::error};
    std::shared_ptr<PlayedThread> thread_ = std::make_shared<PlayedThread>(*context_);
    PlayedGame game_;
    AdminGate gate_;
    EventRing ring_;
    NoArchive archive_;
    ReadsNow slow_reads_;
    OverMatches over_matches_;
    OperatorBook operators_;
    BlockBook blocks_;
    SeededEntropy entropy_{1};
    Health health_{clock_};
    Metrics metrics_;
    Api api_{Api::Parts{game_, gate_, ring_, archive_, slow_reads_, over_matches_, clock_, thread_, operators_, blocks_,
                        entropy_}};
    Routes routes_;
    std::shared_ptr<HttpShared> shared_{new HttpShared{HttpLimits{}, nullptr, IpAddress::v4({127, 0, 0, 1}), {}, log_}};
    std::shared_ptr<HttpConnection> connection_;
    int peer_ = -1;
    bool over_ = false;
    std::vector<std::string> methods_;  // of the requests that were handled
    std::string answers_;
};

}  // namespace
}  // namespace muster::fuzz

FUZZ_INPUTS_UP_TO(2'048);

FUZZ_TARGET("O-2, S-7: any bytes on an HTTP connection are answered by whole responses, and the connection ends") {
    if (size > size_max) return -1;
    muster::fuzz::FuzzInput input(data, size);
    const muster::fuzz::Asker asker(input.byte());
    muster::fuzz::Exchange(asker).run(input.rest());
    return 0;
}
