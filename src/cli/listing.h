// Lists of the API, page by page, and what all commands that show them have in common.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/api_client.h"
#include "cli/command.h"
#include "cli/text_table.h"
#include "config/config.h"

namespace muster {

// The names of the regions, which the API's rows give by number.
class RegionNames {
public:
    explicit RegionNames(ApiClient& api) : RegionNames(api.get("/regions")) {}
    // Of the API's answer, or of a config.
    explicit RegionNames(const JsonValue& answer);
    explicit RegionNames(const Config& config);

    // Safe to show; the number where there is no name.
    std::string name(std::int64_t id) const;
    // By name, whatever its case, or by number. Throws CommandFailure with the names there are.
    std::int64_t id(std::string_view wanted) const;

private:
    std::map<std::int64_t, std::string> names_;
};

struct ListQuery {
    std::string name;        // of the list, and of its path: "servers"
    std::string filter;      // "&region=2&status=full", or empty
    std::int64_t limit = 0;  // rows at most; 0: all
};

struct Listing {
    std::vector<JsonValue> rows;
    JsonValue next;  // null when these are all

    // Only the first `limit` stay, the next of which has this `id`; 0: all.
    void cut_to(std::int64_t limit, std::string_view id);
    // As the API would have answered it in one page.
    std::string to_json(std::string_view name) const;
};

Listing list(ApiClient& api, const ListQuery& query);

// "--json" and "--limit", as the listing commands have them.
struct ListArguments {
    static constexpr std::int64_t usual_limit = 1000;
    bool json = false;
    std::int64_t limit = usual_limit;
};
CommandOption json_option(bool& target);
CommandOption limit_option(ListArguments& arguments);

// The table on standard output, and on standard error that there is more, if so. The exit code.
int print_list(const TextTable& table, const Listing& listing, std::string_view nothing);
// `json` and a line end, on standard output. The exit code.
int print_json(const std::string& json);
// One row per line, names aligned: what is shown of one thing. Facts of one line wrap at `columns`; 0: never.
std::string described(const std::vector<std::pair<std::string, Cell>>& facts, bool colours, std::size_t columns = 0);

Style status_style(std::string_view status);

}  // namespace muster
