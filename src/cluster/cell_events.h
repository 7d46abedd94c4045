// The event histories of several cells as one story: by time, then by cell, then by id. No I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/cell_questions.h"
#include "http/http_message.h"

namespace muster {

// A place in the histories of all cells: each cell's events up to that id are before it. None: nobody knows.
using EventPlaces = std::vector<std::optional<std::int64_t>>;

// As clients keep it; they may not look into it.
std::string cursor_of(const EventPlaces& places);
// Nothing when it is not a cursor of so many cells.
std::optional<EventPlaces> places_in(std::string_view cursor, std::size_t cells);

// A question about events of all cells.
struct EventsAsked {
    enum class Towards : std::uint8_t { newest, newer, older };

    Towards towards = Towards::newest;
    EventPlaces from{};  // of each cell; none of `newest`
    std::size_t limit = 0;
    bool is_live = false;  // a feed, from `newer` places or from now on
};
// Fails with what is wrong about what no cell judges.
Result<EventsAsked, std::string> events_asked(const HttpRequest& request, std::size_t cells);
// The same question for one cell, from a place in its own history.
HttpRequest event_question(const HttpRequest& request, EventsAsked::Towards towards, std::optional<std::int64_t> place);

// One page of all cells' pages; of a cell that is missing the place stays. A refusal of any cell is the answer.
HttpResponse merged_events(const EventsAsked& asked, std::vector<CellAnswer> answers);

// Where a feed begins. One with a cursor goes on from there: from the beginning of a cell of which nothing was seen, as
// pages do. One without begins where the histories end, as far as pages of the newest events tell, to miss nothing from
// now on.
EventPlaces feed_places(const EventsAsked& asked, const std::vector<CellAnswer>& newest);

// An event among those of all cells: with a number that no other cell's event has, its cell's name, and the cursor of
// the place before it. `before` moves on beyond it. Nothing when the text is no event.
std::optional<std::string> event_of_cell(std::string_view event, const std::string& name, std::size_t cell,
                                         EventPlaces& before);

}  // namespace muster
