#include "store/old_events.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/packed_fields.h"
#include "store/event_writer.h"

namespace muster {
namespace {

constexpr int portion = 20'000;

// SQLite reads the JSON for us.
std::string packed(Statement& fields_of, const std::string& json) {
    enum Column : int { key, type, atom };
    PackedFields fields;
    fields_of.bind(std::string_view(json));
    while (fields_of.step()) {
        const std::string name = fields_of.text(key);
        const std::string kind = fields_of.text(type);
        if (kind == "integer") {
            fields.integer(name, fields_of.integer(atom));
        } else if (kind == "real") {
            fields.real(name, fields_of.real(atom));
        } else if (kind == "true" || kind == "false") {
            fields.flag(name, kind == "true");
        } else if (kind == "null") {
            fields.real(name, std::numeric_limits<double>::quiet_NaN());
        } else {
            fields.text(name, fields_of.text(atom));
        }
    }
    return fields.finish();
}

}  // namespace

void move_old_events(Database& database) {
    if (database.integer("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'events'") == 0) return;
    {
        EventWriter writer(database);
        Statement oldest = database.prepare("SELECT id, time, type, fields FROM events ORDER BY id LIMIT ?1");
        Statement fields_of = database.prepare("SELECT key, type, atom FROM json_each(iif(json_valid(?1), ?1, '{}'))");
        Statement remove = database.prepare("DELETE FROM events WHERE id <= ?1");
        for (bool more = true; more;) {
            std::int64_t last = 0;
            more = false;
            database.run("BEGIN IMMEDIATE");
            oldest.bind(portion);
            while (oldest.step()) {
                more = true;
                last = oldest.integer(0);
                writer.add({last, UnixMs{oldest.integer(1)}, oldest.text(2), packed(fields_of, oldest.text(3))});
            }
            writer.flush();
            if (more) remove.run(last);
            database.run("COMMIT");
            writer.committed();
            if (more) database.run("PRAGMA wal_checkpoint(PASSIVE)");
        }
    }
    database.run("DROP TABLE events");
}

}  // namespace muster
