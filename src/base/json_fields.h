// Fields as one JSON object, in the order in which they are added.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"

namespace muster {

// `text` as a JSON string with its quotes. Control characters, and what HTML or a terminal might act on, are escaped;
// bytes that are not UTF-8 become U+FFFD.
std::string json_quoted(std::string_view text);

class JsonFields final : public FieldSink {
public:
    void integer(std::string_view name, std::int64_t value) override;
    // NaN and infinities, which JSON does not know, become null.
    void real(std::string_view name, double value) override;
    void text(std::string_view name, std::string_view value) override;
    void flag(std::string_view name, bool value) override;
    void begin_object(std::string_view name) override;
    void end_object() override;
    void begin_list(std::string_view name) override;
    void end_list() override;

    // Bytes so far.
    std::size_t size() const { return out_.size(); }
    // Closes the object and hands it out; the sink is empty afterwards.
    std::string finish();

private:
    void begin(std::string_view name);

    std::string out_ = "{";
    std::vector<bool> in_list_{false};
    bool first_ = true;
};

}  // namespace muster
