#include "agones/side.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include <unistd.h>

#include "agent/locked_session.h"
#include "agones/answer_json.h"
#include "agones/rest.h"
#include "agones/sdk_calls.h"
#include "base/uuid.h"

namespace muster::agones {
namespace {

namespace json = boost::json;

constexpr std::size_t watches_max = 64;

class RestFeed final : public LoopbackFeed {
public:
    explicit RestFeed(std::shared_ptr<Watch> watch) : watch_(std::move(watch)) {}
    ~RestFeed() override { watch_->on_news(nullptr); }
    void begin(std::function<void()> wake) override { watch_->on_news(std::move(wake)); }
    std::optional<std::string> next() override {
        const auto server = watch_->next();
        if (!server) return std::nullopt;
        return watch_json(**server);
    }

private:
    const std::shared_ptr<Watch> watch_;
};

Code code_for(unsigned status) {
    return status == 413 || status == 431 ? Code::resource_exhausted : Code::invalid_argument;
}

LoopbackAnswer refusal(const Refused& refused) {
    return {http_status(refused.code), to_json(refused), nullptr};
}

}  // namespace

// What the loopback thread and gRPC's threads ask.
class Served final : public SdkCalls, public LoopbackHandler {
public:
    explicit Served(const Services& services) : services_(services) {}

    Reply call(const Call& call) override {
        bool news = false;
        Reply reply = Failure<Refused>(gone());
        with(services_.clock.now(), [&](Session& session, Time now) {
            reply = session.call(now, call);
            news = session.has_facts();
        });
        if (news) services_.wake();
        return reply;
    }

    Result<std::shared_ptr<Watch>, Refused> watch() override {
        auto watch = std::make_shared<Watch>();
        bool full = false;
        const bool there = with(services_.clock.now(), [&](Session& session, Time) {
            std::erase_if(watches_, [](const auto& each) { return each.expired(); });
            full = watches_.size() >= watches_max;
            if (full) return;
            watch->push(session.present());
            watches_.push_back(watch);
            // To the next agent it is out of reach until it watches again.
            if (watches_.size() == 1) is_urgent_ = true;
            session.watched();
        });
        if (!full) services_.wake();
        if (!there) return Failure<Refused>(gone());
        if (full) return Failure<Refused>(Refused{Code::resource_exhausted, "too many watches"});
        return watch;
    }

    LoopbackAnswer handle(const LoopbackRequest& request) override {
        const auto asked = rest_call({request.method, request.path, request.query, request.body});
        if (!asked) return refusal(asked.error());
        if (const Call* call_of = std::get_if<Call>(&*asked)) {
            const Reply reply = call(*call_of);
            return reply ? LoopbackAnswer{200, to_json(*reply), nullptr} : refusal(reply.error());
        }
        auto watching = watch();
        if (!watching) return refusal(watching.error());
        return {200, {}, std::make_shared<RestFeed>(std::move(*watching))};
    }

    LoopbackAnswer malformed(const LoopbackRequest&, unsigned status, const std::string& why) override {
        return {status, to_json(Refused{code_for(status), why}), nullptr};
    }

    // Those that watched the session before hear no more.
    void set(std::optional<Session> session) {
        with({}, [this](const Session&, Time) { watches_.clear(); });
        session_.set(std::move(session));
    }

    // Runs work(session, now), if there is a session, and tells the watchers what it changed.
    template <class Work>
    bool with(Time now, Work work) {
        return session_.with(now, [&](Session& session, Time at) {
            work(session, at);
            const auto changes = session.take_changes();
            if (changes.empty()) return;
            for (const auto& each : watches_)
                if (const auto watch = each.lock())
                    for (const auto& change : changes) watch->push(change);
        });
    }
    const LockedSession<Session>& session() const { return session_; }
    bool take_urgent() { return is_urgent_.exchange(false); }
    // Somebody watches, or has before this agent and may not know that nobody answers any more.
    bool is_watched() const {
        bool watched = false;
        session_.look([&](const Session& session) {
            watched =
                session.watch_lost() || std::ranges::any_of(watches_, [](const auto& each) { return !each.expired(); });
        });
        return watched;
    }

private:
    static Refused gone() { return {Code::unavailable, "the process has ended"}; }

    const Services services_;
    LockedSession<Session> session_;
    std::vector<std::weak_ptr<Watch>> watches_;  // touched under the session's lock
    std::atomic<bool> is_urgent_{false};
};

Side::Side(Process process, const Services& services)
    : SessionSide(std::make_shared<Served>(services), services.log, process.process),
      process_(std::move(process)),
      services_(services) {}

Side::~Side() {
    close();
}

std::vector<EnvironmentEntry> Side::begin_life(Time now, std::string_view) {
    const bool begun = anew([&] {
        served_->set(Session(process_, {now, services_.clock.wall(), random_uuid(services_.entropy)}));
        open(0, 0);
    });
    if (!begun) return {};
    std::vector<EnvironmentEntry> environment{{"AGONES_SDK_HTTP_PORT", std::to_string(http_port_->number())}};
    if (grpc_port_) environment.push_back({"AGONES_SDK_GRPC_PORT", std::to_string(grpc_port_->number())});
    return environment;
}

void Side::offer(Time now, const SdkMatch& match) {
    served_->with(now, [&](Session& session, Time at) { session.offer(at, match); });
    services_.wake();  // it is answered already
}

void Side::abort(Time now, LobbyId lobby, std::string_view reason) {
    served_->with(now, [&](Session& session, Time at) { session.abort(at, lobby, reason); });
}

json::object Side::place() const {
    if (!http_port_) return {};
    return {{"http_port", http_port_->number()},
            {"grpc_port", grpc_port_ ? grpc_port_->number() : 0},
            {"watched", served_->is_watched()}};
}

bool Side::go_on(Time now, const json::object& place, std::string_view saved) {
    auto session = Session::restored(process_, now, services_.clock.wall(), saved);
    if (!session) return false;
    if (const auto* watched = place.if_contains("watched"); watched && watched->as_bool()) session->lose_watch(now);
    served_->set(std::move(session));
    open(place.at("http_port").to_number<std::uint16_t>(), place.at("grpc_port").to_number<std::uint16_t>());
    return true;
}

std::uint64_t Side::revision() const {
    std::uint64_t revision = 0;
    served_->session().look([&](const Session& session) {
        revision = static_cast<std::uint64_t>(session.present()->version) * 2 + (session.pings_singly() ? 1 : 0);
    });
    return revision * 2 + (served_->is_watched() ? 1 : 0);
}

bool Side::take_urgent() {
    return served_->take_urgent();
}

void Side::set_address(std::string address, std::uint16_t port) {
    process_.address = address;
    process_.port = port;
    served_->with({}, [&](Session& session, Time) { session.set_address(std::move(address), port); });
}

void Side::open(std::uint16_t http_port, std::uint16_t grpc_port) {
    http_port_ = services_.loopback.open_http(http_port, served_);
    if (!services_.grpc) return;
    grpc_ = services_.grpc->open(served_);
    grpc_port_ = services_.loopback.open_http2(grpc_port, [port = std::weak_ptr(grpc_)](int fd) {
        if (const auto open_port = port.lock())
            open_port->take(fd);
        else
            ::close(fd);
    });
}

void Side::close() {
    served_->set(std::nullopt);
    http_port_.reset();
    grpc_port_.reset();
    grpc_.reset();
}

}  // namespace muster::agones

template class muster::SessionSide<muster::agones::Served>;
