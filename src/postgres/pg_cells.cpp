#include "postgres/pg_cells.h"

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "store/store.h"
#include "store/store_fault.h"

namespace muster {
namespace {

constexpr std::string_view all_regions = "*";

std::string stored_regions(const CellPlan& plan) {
    if (!plan.regions) return std::string(all_regions);
    std::string text;
    for (const RegionId region : *plan.regions) text += (text.empty() ? "" : ",") + std::to_string(region.value);
    return text;
}

std::optional<std::vector<RegionId>> planned_regions(std::string_view text) {
    if (text == all_regions) return std::nullopt;
    std::vector<RegionId> regions;
    while (!text.empty()) {
        int id = -1;
        const auto read = std::from_chars(text.data(), text.data() + text.size(), id);
        if (read.ec != std::errc() || id < 0 || id > 127)
            throw StoreError(exit_damaged, "the database is damaged: muster.cells holds regions that are none");
        regions.emplace_back(static_cast<std::int8_t>(id));
        text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
        if (!text.empty()) text.remove_prefix(1);
    }
    return regions;
}

CellPlans read_plans(PgConnection& connection) {
    const PgRows rows = connection.run("SELECT name, regions, players FROM muster.cells ORDER BY name COLLATE \"C\"");
    CellPlans plans;
    for (std::size_t row = 0; row < rows.size(); ++row)
        plans.push_back({std::string(rows.text(row, 0)), planned_regions(rows.text(row, 1)), rows.flag(row, 2)});
    return plans;
}

// A list of players waits in every cell for its lobby, and two cells may owe one endpoint the same abort. With one cell
// the keys stay what nodes of an older version know; those refuse several.
void key_by_cell(PgConnection& connection) {
    connection.run(
        "ALTER TABLE muster.player_lists DROP CONSTRAINT player_lists_pkey,"
        " ADD CONSTRAINT player_lists_pkey PRIMARY KEY (cell, lobby)");
    connection.run(
        "ALTER TABLE muster.owed_aborts DROP CONSTRAINT owed_aborts_pkey,"
        " ADD CONSTRAINT owed_aborts_pkey PRIMARY KEY (cell, ip, port, lobby)");
}

}  // namespace

void plan_pg_cells(PgConnection& connection, const CellPlans& plans) {
    connection.run("BEGIN");
    try {
        // Whoever comes first makes them; the others wait here, and then find them.
        connection.run("SELECT 1 FROM muster.version FOR UPDATE");
        const CellPlans stored = read_plans(connection);
        if (!stored.empty() && stored != plans)
            throw StoreError(exit_config,
                             fmt::format("the cells of this node are not those of the store, which has {}, while the "
                                         "config has {}; give all nodes the same cluster.cells",
                                         text_of(stored), text_of(plans)));
        if (stored.empty()) {
            if (plans.size() > 1) key_by_cell(connection);
            for (const CellPlan& plan : plans)
                connection.run(
                    "INSERT INTO muster.cells (name, term, owner, batch, pid, pid_started, settled, regions, players)"
                    " VALUES ($1, 0, '', 0, 0, '', 0, $2, $3)",
                    PgValues(plan.name, stored_regions(plan), plan.players));
        }
        connection.run("COMMIT");
    } catch (const PgError& error) {
        if (!error.is_unreachable()) connection.run("ROLLBACK");
        throw;
    } catch (const StoreError&) {
        connection.run("ROLLBACK");
        throw;
    }
}

}  // namespace muster
