// Rows of text in aligned columns, for people.
#pragma once

#include <cstdint>
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
    std::string title;
    enum class Align : std::uint8_t { left, right } align = Align::left;
};

class TextTable {
public:
    explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

    // As many cells as there are columns.
    void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }

    // The title and every row, a line each, no blanks at the ends.
    std::vector<std::string> lines(bool colours) const;
    std::string to_text(bool colours) const;

private:
    std::string line(const std::vector<Cell>& row, const std::vector<std::size_t>& widths, bool colours) const;

    std::vector<Column> columns_;
    std::vector<std::vector<Cell>> rows_;
};

}  // namespace muster
