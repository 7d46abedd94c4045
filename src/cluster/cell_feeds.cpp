#include "cluster/cell_feeds.h"

#include <utility>

#include <fmt/format.h>

namespace muster {
namespace {

// How long a reader that lost its connection waits before it comes back.
constexpr int feed_retry_ms = 2'000;

// The value of a line of that name in a block of server-sent events; empty when there is none.
std::string_view line_of(std::string_view block, std::string_view name) {
    while (!block.empty()) {
        std::string_view line = block.substr(0, block.find('\n'));
        block.remove_prefix(std::min(line.size() + 1, block.size()));
        if (!line.starts_with(name) || !line.substr(name.size()).starts_with(": ")) continue;
        line.remove_prefix(name.size() + 2);
        return line;
    }
    return {};
}

}  // namespace

CellFeeds::CellFeeds(const Clock& clock, std::vector<std::string> names, HttpRequest request, EventPlaces from, Ask ask)
    : clock_(clock),
      names_(std::move(names)),
      request_(std::move(request)),
      ask_(std::move(ask)),
      places_(std::move(from)),
      cells_(names_.size()),
      said_(clock.now()) {
    places_.resize(names_.size());
}

bool CellFeeds::next(std::string& out) {
    if (!std::exchange(begun_, true)) out += fmt::format("retry: {}\n\n", feed_retry_ms);
    for (std::size_t cell = 0; cell < cells_.size() && out.size() < bytes_max; ++cell) {
        OfCell& of = cells_[cell];
        if (!of.stream && !take_arrived(cell)) return false;
        if (!of.stream) continue;
        std::string piece;
        const bool goes_on = of.stream->next(piece);
        tell(cell, piece, out);
        if (goes_on) continue;
        of.stream.reset();
        of.ask_at = clock_.now() + ask_again_after;
    }
    if (out.empty() && clock_.now() - said_ >= keep_alive_every) out += ": still here\n\n";
    if (!out.empty()) said_ = clock_.now();
    return true;
}

// False when the cell refuses the reader. Asks it when it is time to.
bool CellFeeds::take_arrived(std::size_t cell) {
    OfCell& of = cells_[cell];
    {
        const std::lock_guard lock(of.arrived->mutex);
        if (of.arrived->is_refused) return false;
        of.stream = std::exchange(of.arrived->stream, nullptr);
        if (of.stream || of.arrived->is_asked || clock_.now() < of.ask_at) return true;
        of.arrived->is_asked = true;
    }
    of.ask_at = clock_.now() + ask_again_after;
    ask(cell);
    return true;
}

void CellFeeds::ask(std::size_t cell) {
    HttpRequest question = event_question(request_, EventsAsked::Towards::newer, places_[cell]);
    RelayedFeed::takes_feed(question);
    const auto number = static_cast<CellNumber>(cell);
    const auto on_answer = [arrived = cells_[cell].arrived, ask = ask_, number](std::optional<HttpResponse> answer) {
        if (answer)
            RelayedFeed::continue_answer(*answer, [ask, number](const HttpRequest& asked, RelayedFeed::OnAnswer then) {
                ask(asked, std::move(then), number);
            });
        const std::lock_guard lock(arrived->mutex);
        arrived->is_asked = false;
        if (!answer || answer->status == 503) return;
        arrived->stream = answer->stream;
        arrived->is_refused = answer->stream == nullptr;
    };
    ask_(question, on_answer, number);
}

// Each piece is whole blocks. The cell's own comments and its word on coming back are not told: there are others.
void CellFeeds::tell(std::size_t cell, std::string_view piece, std::string& out) {
    while (!piece.empty()) {
        const std::string_view block = piece.substr(0, piece.find("\n\n"));
        piece.remove_prefix(std::min(block.size() + 2, piece.size()));
        const std::string_view data = line_of(block, "data");
        if (data.empty()) continue;
        if (!line_of(block, "id").empty()) {
            const auto event = event_of_cell(data, names_[cell], cell, places_);
            if (!event) continue;
            out += fmt::format("id: {}\nevent: {}\ndata: {}\n\n", cursor_of(places_), line_of(block, "event"), *event);
        } else {
            // Events that the cell has no more.
            out += fmt::format("event: {}\ndata: {{\"cell\":\"{}\",{}\n\n", line_of(block, "event"), names_[cell],
                               data.substr(1));
        }
    }
}

}  // namespace muster
