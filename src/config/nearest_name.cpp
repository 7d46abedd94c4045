#include "config/nearest_name.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace muster {
namespace {

// Nobody mistypes a name by growing it to this.
constexpr std::size_t typed_bytes_max = 128;

// One letter in three may be wrong, and two in a short name.
std::size_t near_enough(std::string_view typed) {
    return std::max<std::size_t>(2, typed.size() / 3);
}

}  // namespace

std::size_t edit_distance(std::string_view one, std::string_view other, std::size_t most) {
    // Each letter that one has more must be added or dropped.
    const std::size_t apart = one.size() < other.size() ? other.size() - one.size() : one.size() - other.size();
    if (apart > most) return most + 1;
    // Three rows of the usual table: the one above the last tells the cost before a swap of neighbours.
    std::vector<std::size_t> above_last(other.size() + 1);
    std::vector<std::size_t> last(other.size() + 1);
    std::vector<std::size_t> row(other.size() + 1);
    for (std::size_t j = 0; j <= other.size(); ++j) last[j] = j;
    std::size_t least_before = 0;
    for (std::size_t i = 1; i <= one.size(); ++i) {
        row[0] = i;
        std::size_t least = i;
        for (std::size_t j = 1; j <= other.size(); ++j) {
            const std::size_t change = one[i - 1] == other[j - 1] ? 0 : 1;
            row[j] = std::min(std::min(last[j], row[j - 1]) + 1, last[j - 1] + change);
            const bool swapped = i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1];
            if (swapped) row[j] = std::min(row[j], above_last[j - 2] + 1);
            least = std::min(least, row[j]);
        }
        // Rows below cost no less than the cheapest of the two above them.
        if (std::min(least, least_before) > most) return most + 1;
        least_before = least;
        std::swap(above_last, last);
        std::swap(last, row);
    }
    return std::min(last[other.size()], most + 1);
}

std::optional<std::string> nearest_name(std::string_view typed, std::span<const std::string> known) {
    return nearest_name(typed, known, near_enough(typed));
}

std::optional<std::string> nearest_name(std::string_view typed, std::span<const std::string> known, std::size_t most) {
    if (typed.empty() || typed.size() > typed_bytes_max) return std::nullopt;
    std::optional<std::string> best;
    std::size_t best_distance = std::min(most, near_enough(typed)) + 1;
    for (const std::string& name : known) {
        const std::size_t distance = edit_distance(typed, name, best_distance - 1);
        // A name with nothing in common but its length is not what was meant.
        if (distance >= best_distance || distance >= name.size()) continue;
        best = name;
        best_distance = distance;
    }
    return best;
}

}  // namespace muster
