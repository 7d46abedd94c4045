// Rows of a view as the JSON that people and programs read (SPEC, "HTTP").
#pragma once

#include <string_view>

#include "base/fields.h"
#include "core/views.h"

namespace muster {

std::string_view to_string(MatchState state);

// Each tells the row's fields; the caller opens and closes the object.
void describe(const ServerRow& row, FieldSink& out);
void describe(const MatchRow& row, FieldSink& out);
void describe(const MatchmakerRow& row, FieldSink& out);
void describe(const PlayerRow& row, FieldSink& out);
void describe(const ClockRow& row, FieldSink& out);
// What its processes have written is left out unless `with_output`: it may hold secrets.
void describe(const HostRow& row, bool with_output, FieldSink& out);

// 45.2 and not 45.200000762939453: a figure that somebody measured, to two places.
double shown(float value);

// Null until it happened.
void moment_field(FieldSink& out, std::string_view name, UnixMs at);

// A field that has no value.
void null_field(FieldSink& out, std::string_view name);

}  // namespace muster
