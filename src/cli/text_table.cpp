#include "cli/text_table.h"

#include <algorithm>

namespace muster {
namespace {

constexpr std::size_t gap_columns = 2;

}  // namespace

std::vector<std::string> TextTable::lines(bool colours, std::size_t room) const {
    std::vector<Cell> title;
    title.reserve(columns_.size());
    for (const Column& column : columns_) title.push_back({column.title, Style::bold});
    const std::vector<std::size_t> widths = widths_within(room);
    std::vector<std::string> all{line(title, widths, colours)};
    all.reserve(rows_.size() + 1);
    for (const auto& row : rows_) all.push_back(line(row, widths, colours));
    return all;
}

std::vector<std::size_t> TextTable::widths_within(std::size_t room) const {
    std::vector<std::size_t> widths;
    widths.reserve(columns_.size());
    for (const Column& column : columns_) widths.push_back(shown_width(column.title));
    for (const auto& row : rows_)
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], shown_width(row[i].text));

    std::size_t whole = 0;
    for (const std::size_t width : widths) whole += width > 0 ? width + gap_columns : 0;
    for (unsigned turn = 1;
         turn <= std::numeric_limits<std::uint8_t>::max() && whole > gap_columns && whole - gap_columns > room;
         ++turn) {
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            if (columns_[i].leaves != turn) continue;
            whole -= widths[i] + gap_columns;
            widths[i] = 0;
        }
    }
    return widths;
}

std::string TextTable::to_text(bool colours) const {
    std::string text;
    for (const std::string& each : lines(colours)) text += each + "\n";
    return text;
}

std::string TextTable::line(const std::vector<Cell>& row, const std::vector<std::size_t>& widths, bool colours) const {
    std::string text;
    std::string gap;  // before the next cell; never written at the end of a line
    for (std::size_t i = 0; i < row.size(); ++i) {
        if (widths[i] == 0) continue;
        const std::string fill(widths[i] - shown_width(row[i].text), ' ');
        const bool right = columns_[i].align == Column::Align::right;
        if (right) gap += fill;
        if (!row[i].text.empty()) {
            text += gap + (colours ? styled(row[i].style, row[i].text) : row[i].text);
            gap.clear();
        }
        if (!right) gap += fill;
        gap.append(gap_columns, ' ');
    }
    return text;
}

}  // namespace muster
