// Questions of the HTTP API where there are several cells: which cells answer them, and one answer of several.
// No I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/http_message.h"

namespace muster {

// Who answers a request of the API.
struct CellQuestion {
    enum class Kind : std::uint8_t {
        list,      // all cells: their rows by ascending key
        find,      // all cells: the one that knows what it is about
        all,       // all cells, and all must say yes
        first,     // the first cell: what is of the whole cluster, and what does not exist
        region,    // the cell of the region in the body
        overview,  // all cells: cell_figures.h
        history,   // the same of the overview's past
        events,    // all cells: cell_events.h
        drain,     // all cells: each drains those of the servers that are its own
    };

    Kind kind = Kind::first;
    std::string list{};  // the name of the rows in the answer
    std::string key{};   // and of what they are sorted by
    friend bool operator==(const CellQuestion&, const CellQuestion&) = default;
};
CellQuestion cell_question_of(const HttpRequest& request);

// A region's number or name, as the body of an allocation has it; none when it has none.
std::optional<std::string> region_in_body(const std::string& body);

// What a cell has answered; nothing: its owner could not be asked, or took too long.
struct CellAnswer {
    std::string cell{};
    std::optional<HttpResponse> response{};
};

// Its owner could not be asked, or cannot answer now.
bool is_away(const CellAnswer& answer);
std::vector<std::string> missing_cells(const std::vector<CellAnswer>& answers);
// 503 that names them.
HttpResponse no_answer_of(const std::vector<std::string>& cells);
// Of an answer's one list: each row as it stands there, so that figures keep their form.
std::vector<std::string_view> row_texts(std::string_view body);
// ,"partial":true,"missing_cells":[…] when there are some.
std::string partial_fields(const std::vector<std::string>& missing);

// Rows of all cells, at most `limit` of them; cells that are missing are named. A refusal of any cell is the answer.
HttpResponse merged_lists(const CellQuestion& question, std::size_t limit, std::vector<CellAnswer> answers);
// The answer of the cell that knows it. 503 when none does and some could not be asked.
HttpResponse found_answer(std::vector<CellAnswer> answers);
// Yes when all say yes; otherwise the first no, or 503 when some could not be asked.
HttpResponse joint_answer(std::vector<CellAnswer> answers);
// Servers of all cells that were drained together; missing is what no cell knows. 503 when some could not be asked: the
// others' servers are drained then.
HttpResponse merged_drains(std::vector<CellAnswer> answers);

}  // namespace muster
