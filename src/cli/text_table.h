// Rows of text in aligned columns, for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal.h"

namespace muster {

struct Cell {
    std::string text;  // shown as it is: what others named goes through safe_text() first
    Style style = Style::plain;
};

struct Column {
    std::string title;  // one without title and cells is not there
    enum class Align : std::uint8_t { left, right } align = Align::left;
    std::uint8_t leaves = 0;  // when the room is short: 1 goes first, then 2, and so on; 0 stays
};

class TextTable {
public:
    explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

    // As many cells as there are columns.
    void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }

    // The title and every row, a line each, no blanks at the ends. Columns leave until the rest fits into `room`, or
    // none is left that may.
    std::vector<std::string> lines(bool colours, std::size_t room = std::numeric_limits<std::size_t>::max()) const;
    std::string to_text(bool colours) const;

private:
    std::string line(const std::vector<Cell>& row, const std::vector<std::size_t>& widths, bool colours) const;
    // Of each column; 0 for those that leave.
    std::vector<std::size_t> widths_within(std::size_t room) const;

    std::vector<Column> columns_;
    std::vector<std::vector<Cell>> rows_;
};

}  // namespace muster
