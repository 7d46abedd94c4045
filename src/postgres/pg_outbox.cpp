#include "postgres/pg_outbox.h"

#include <charconv>
#include <optional>
#include <string_view>

namespace muster {
namespace {

std::optional<std::vector<AccountId>> listed_accounts(std::string_view text) {
    std::vector<AccountId> accounts;
    while (!text.empty()) {
        std::int32_t account = 0;
        const auto read = std::from_chars(text.data(), text.data() + text.size(), account);
        if (read.ec != std::errc()) return std::nullopt;
        accounts.emplace_back(account);
        text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
        if (!text.empty()) text.remove_prefix(1);
    }
    return accounts;
}

std::optional<PlayerNotice> notice_at(const PgRows& rows, std::size_t row) {
    PlayerNotice notice;
    notice.lobby = LobbyId(static_cast<std::int32_t>(rows.integer(row, 2)));
    const std::int64_t kind = rows.integer(row, 3);
    if (kind < 0 || kind > static_cast<std::int64_t>(PlayerNotice::Kind::fell_through)) return std::nullopt;
    notice.kind = static_cast<PlayerNotice::Kind>(kind);
    notice.server_ip = rows.text(row, 4);
    notice.server_port = static_cast<std::int32_t>(rows.integer(row, 5));
    notice.token = rows.text(row, 6);
    notice.reason = rows.text(row, 7);
    auto accounts = listed_accounts(rows.text(row, 8));
    if (!accounts) return std::nullopt;
    notice.accounts = std::move(*accounts);
    return notice;
}

}  // namespace

void prepare_outbox(PgConnection& connection) {
    connection.prepare(
        "put_notice",
        "INSERT INTO muster.outbox (to_cell, from_cell, lobby, kind, server_ip, server_port, token, reason,"
        " accounts) SELECT name, $1, $2::integer, $3::integer, $4, $5::integer, $6, $7, $8::integer[]"
        " FROM muster.cells WHERE players AND name <> $1");
    // Rows are the taker's to drop: a match may be ready and begin between two of its looks, and its players hear both.
    // One that is ready stays, for the next owner of the cell, until a later word of its lobby was told.
    connection.prepare("drop_notice",
                       "WITH told AS (SELECT from_cell, lobby FROM muster.outbox WHERE to_cell = $1 AND number = $2)"
                       " DELETE FROM muster.outbox o USING told WHERE o.to_cell = $1 AND o.from_cell = told.from_cell"
                       " AND ((o.kind <> 0 AND o.number = $2)"
                       " OR (o.kind = 0 AND o.lobby = told.lobby AND o.number < $2))");
}

void send_to_outbox(PgConnection& connection, const std::string& cell, const PlayerNotice& notice) {
    PgArray accounts;
    for (const AccountId account : notice.accounts) accounts.add(account.value);
    connection.send("put_notice", PgValues(cell, notice.lobby.value, static_cast<int>(notice.kind), notice.server_ip,
                                           notice.server_port, notice.token, notice.reason, accounts.text()));
}

void send_told(PgConnection& connection, const std::string& cell, const NoticeTold& told) {
    connection.send("drop_notice", PgValues(cell, told.number));
}

std::vector<CellNews::Notice> read_outbox(PgConnection& connection, const std::string& cell,
                                          const NoticesTaken& taken) {
    PgArray cells;
    PgArray numbers;
    for (const auto& [from, number] : taken) {
        cells.add(std::string_view(from));
        numbers.add(number);
    }
    // Of each cell by itself: what two cells write at once may be committed in any order.
    const PgRows rows = connection.run(
        "SELECT from_cell, number, lobby, kind, server_ip, server_port, token, reason, array_to_string(accounts, ',')"
        " FROM muster.outbox LEFT JOIN unnest($2::text[], $3::bigint[]) AS taken (name, up_to) ON name = from_cell"
        " WHERE to_cell = $1 AND number > coalesce(up_to, 0) ORDER BY from_cell, number LIMIT $4",
        PgValues(cell, cells.text(), numbers.text(), notices_max));
    std::vector<CellNews::Notice> notices;
    for (std::size_t row = 0; row < rows.size(); ++row) {
        auto notice = notice_at(rows, row);
        if (notice) notices.push_back({std::string(rows.text(row, 0)), rows.integer(row, 1), std::move(*notice)});
    }
    return notices;
}

}  // namespace muster
