#include "store/event_writer.h"

#include <utility>

namespace muster {

EventWriter::EventWriter(Database& database)
    : put_(database.prepare(
          "INSERT INTO event_blocks (first_id, last_id, first_time, last_time, count, events)"
          " VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (first_id) DO UPDATE SET last_id = ?2, first_time = ?3,"
          " last_time = ?4, count = ?5, events = ?6")) {
    Statement last =
        database.prepare("SELECT coalesce((SELECT last_id FROM event_blocks ORDER BY first_id DESC LIMIT 1), 0)");
    if (last.step()) last_id_ = durable_last_id_ = last.integer(0);
}

void EventWriter::add(const EventRecord& event) {
    if (event.id <= last_id_) return;
    row_.add(event);
    has_new_ = true;
    last_id_ = event.id;
    if (row_.bytes().size() >= row_bytes_max) put_row();
}

void EventWriter::flush() {
    if (has_new_) put_row();
}

void EventWriter::put_row() {
    put_.run(row_.first_id(), row_.last_id(), row_.first_time().value, row_.last_time().value, row_.count(),
             Blob{row_.sealed()});
    has_new_ = false;
    if (row_.bytes().size() >= small_row_bytes) row_.clear();
}

void EventWriter::committed() {
    durable_last_id_ = last_id_;
}

// What the row held of earlier commits is safe in the file.
void EventWriter::rolled_back() {
    last_id_ = durable_last_id_;
    begin_row();
}

void EventWriter::begin_row() {
    row_.clear();
    has_new_ = false;
}

}  // namespace muster
