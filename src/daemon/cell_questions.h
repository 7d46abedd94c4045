// Questions of the HTTP API where there are several cells (N-11): which cells answer them, and one answer of several.
// No I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "http/http_message.h"

namespace muster {

// Who answers a request of the API.
struct CellQuestion {
    enum class Kind : std::uint8_t {
        list,    // all cells: their rows by ascending key
        find,    // all cells: the one that knows what it is about
        all,     // all cells, and all must say yes
        first,   // the first cell: what is of the whole cluster
        region,  // the cell of the region in the body
        none,    // nobody yet
    };

    Kind kind = Kind::none;
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

// Rows of all cells, at most `limit` of them; cells that are missing are named. A refusal of any cell is the answer.
HttpResponse merged_lists(const CellQuestion& question, std::size_t limit, std::vector<CellAnswer> answers);
// The answer of the cell that knows it. 503 when none does and some could not be asked.
HttpResponse found_answer(std::vector<CellAnswer> answers);
// Yes when all say yes; otherwise the first no, or 503 when some could not be asked.
HttpResponse joint_answer(std::vector<CellAnswer> answers);

}  // namespace muster
