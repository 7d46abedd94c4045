#include "cli/text_table.h"

#include <algorithm>

namespace muster {

std::vector<std::string> TextTable::lines(bool colours) const {
    std::vector<Cell> title;
    std::vector<std::size_t> widths;
    for (const Column& column : columns_) {
        title.push_back({column.title, Style::bold});
        widths.push_back(shown_width(column.title));
    }
    for (const auto& row : rows_)
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], shown_width(row[i].text));

    std::vector<std::string> all{line(title, widths, colours)};
    for (const auto& row : rows_) all.push_back(line(row, widths, colours));
    return all;
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
        const std::string fill(widths[i] - shown_width(row[i].text), ' ');
        const bool right = columns_[i].align == Column::Align::right;
        if (right) gap += fill;
        if (!row[i].text.empty()) {
            text += gap + (colours ? styled(row[i].style, row[i].text) : row[i].text);
            gap.clear();
        }
        if (!right) gap += fill;
        gap += "  ";
    }
    return text;
}

}  // namespace muster
