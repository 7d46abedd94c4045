// A live feed whose reader is at one node and whose events are at another: the reader's node asks for piece
// after piece, so that a slow reader holds up nobody, and nothing is kept for one that has gone.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/time.h"
#include "http/http_message.h"
#include "http/http_server.h"

namespace muster {

// The feeds that an owner gives to other nodes. HTTP thread only.
class RelayedFeeds {
public:
    // A question waits so long for something to tell, and is asked so often meanwhile.
    static constexpr std::chrono::seconds answer_within{2};
    static constexpr std::chrono::milliseconds look_every{50};
    // A feed that nobody asks for any more is given up.
    static constexpr std::chrono::seconds patience{15};

    RelayedFeeds(const Clock& clock, std::shared_ptr<HttpThread> thread) : clock_(clock), thread_(std::move(thread)) {}
    ~RelayedFeeds() { *is_here_ = false; }
    RelayedFeeds(const RelayedFeeds&) = delete;
    RelayedFeeds& operator=(const RelayedFeeds&) = delete;

    // The answer that begins the feed at the other node: `response` with a number in place of its stream.
    HttpResponse begin(HttpResponse response);
    // `request` is one that RelayedFeed makes: gives the next piece, or ends the feed. 410: it is over.
    void ask(const HttpRequest& request, HttpResponder&& responder);
    std::size_t size() const { return feeds_.size(); }

private:
    struct Feed {
        std::shared_ptr<HttpStream> stream{};
        Time asked{};
    };

    void look(std::uint64_t number, Time until, std::shared_ptr<HttpResponder> responder);
    void forget_forgotten();

    const Clock& clock_;
    const std::shared_ptr<HttpThread> thread_;
    std::map<std::uint64_t, Feed> feeds_;
    std::uint64_t last_ = 0;
    bool is_watched_ = false;
    const std::shared_ptr<bool> is_here_ = std::make_shared<bool>(true);
};

// The feed at the reader's node. HTTP thread only, but for answers.
class RelayedFeed final : public HttpStream {
public:
    using OnAnswer = std::function<void(std::optional<HttpResponse>)>;
    // Asks the owner; the answer comes once, on any thread, with nothing when the owner was lost.
    using Ask = std::function<void(const HttpRequest&, OnAnswer)>;

    RelayedFeed(Ask ask, std::string path) : ask_(std::move(ask)), path_(std::move(path)) {}
    ~RelayedFeed() override;
    RelayedFeed(const RelayedFeed&) = delete;
    RelayedFeed& operator=(const RelayedFeed&) = delete;

    bool next(std::string& out) override;

    // A request that may be answered by a feed says so.
    static void takes_feed(HttpRequest& request);
    static bool does_take_feed(const HttpRequest& request);
    // Makes the answer that RelayedFeeds::begin made one with a stream; any other is left alone.
    static void continue_answer(HttpResponse& response, const Ask& ask);
    // Whether a question that came from another node is for RelayedFeeds.
    static bool is_about_feed(const HttpRequest& request);

private:
    struct Arrived {
        std::mutex mutex;
        std::string piece;  // guarded by mutex, as are the next two
        bool is_asked = false;
        bool is_over = false;
    };

    const Ask ask_;
    const std::string path_;
    const std::shared_ptr<Arrived> arrived_ = std::make_shared<Arrived>();
};

}  // namespace muster
