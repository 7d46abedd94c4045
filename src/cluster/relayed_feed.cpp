#include "cluster/relayed_feed.h"

#include <charconv>
#include <utility>
#include <vector>

namespace muster {
namespace {

// Never part of a path that people ask for: those begin with /api/.
constexpr std::string_view feeds_path = "/feeds/";
// In a request: its node can go on with a feed. In an answer: the feed's path.
constexpr const char* feed_header = "Muster-Feed";

std::uint64_t feed_number(std::string_view path) {
    std::uint64_t number = 0;
    path.remove_prefix(feeds_path.size());
    std::from_chars(path.data(), path.data() + path.size(), number);
    return number;
}

HttpRequest about_feed(const char* method, const std::string& path) {
    HttpRequest request;
    request.method = method;
    request.path = path;
    return request;
}

}  // namespace

HttpResponse RelayedFeeds::begin(HttpResponse response) {
    feeds_[++last_] = {std::exchange(response.stream, nullptr), clock_.now()};
    response.headers.push_back({feed_header, std::string(feeds_path) + std::to_string(last_)});
    if (!std::exchange(is_watched_, true)) forget_forgotten();
    return response;
}

void RelayedFeeds::ask(const HttpRequest& request, HttpResponder&& responder) {
    const std::uint64_t number = feed_number(request.path);
    if (request.method == "DELETE") feeds_.erase(number);
    look(number, clock_.now() + answer_within, std::make_shared<HttpResponder>(std::move(responder)));
}

void RelayedFeeds::look(std::uint64_t number, Time until, std::shared_ptr<HttpResponder> responder) {
    const auto found = feeds_.find(number);
    if (found == feeds_.end()) return responder->send(http_error(410, "The feed is over"));
    found->second.asked = clock_.now();
    HttpResponse piece{200, "text/event-stream", {}};
    if (!found->second.stream->next(piece.body)) {
        feeds_.erase(found);
        if (piece.body.empty()) return responder->send(http_error(410, "The feed is over"));
    }
    if (!piece.body.empty() || clock_.now() >= until) return responder->send(std::move(piece));
    thread_->after(look_every, [this, is_here = is_here_, number, until, responder = std::move(responder)] {
        if (*is_here) look(number, until, responder);
    });
}

// Their nodes are gone, or lost their links.
void RelayedFeeds::forget_forgotten() {
    std::erase_if(feeds_, [this](const auto& entry) { return clock_.now() - entry.second.asked > patience; });
    if (feeds_.empty()) {
        is_watched_ = false;
        return;
    }
    thread_->after(patience, [this, is_here = is_here_] {
        if (*is_here) forget_forgotten();
    });
}

RelayedFeed::~RelayedFeed() {
    {
        const std::lock_guard lock(arrived_->mutex);
        if (arrived_->is_over) return;
    }
    ask_(about_feed("DELETE", path_), [](const std::optional<HttpResponse>&) {});
}

bool RelayedFeed::next(std::string& out) {
    {
        const std::lock_guard lock(arrived_->mutex);
        out += std::exchange(arrived_->piece, {});
        if (arrived_->is_over) return !out.empty();
        if (std::exchange(arrived_->is_asked, true)) return true;
    }
    ask_(about_feed("GET", path_), [arrived = arrived_](std::optional<HttpResponse> answer) {
        const std::lock_guard lock(arrived->mutex);
        arrived->is_asked = false;
        if (answer && answer->status == 200)
            arrived->piece = std::move(answer->body);
        else
            arrived->is_over = true;
    });
    return true;
}

void RelayedFeed::takes_feed(HttpRequest& request) {
    request.headers.push_back({feed_header, "taken"});
}

bool RelayedFeed::does_take_feed(const HttpRequest& request) {
    return !request.header(feed_header).empty();
}

void RelayedFeed::continue_answer(HttpResponse& response, const Ask& ask) {
    for (auto header = response.headers.begin(); header != response.headers.end(); ++header) {
        if (header->name != feed_header) continue;
        response.stream = std::make_shared<RelayedFeed>(ask, header->value);
        response.headers.erase(header);
        return;
    }
}

bool RelayedFeed::is_about_feed(const HttpRequest& request) {
    return request.path.starts_with(feeds_path);
}

}  // namespace muster
