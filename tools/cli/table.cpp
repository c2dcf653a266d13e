#include "tools/cli/table.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "common/base/units.hpp"

namespace vroce::cli {
namespace {

using nlohmann::json;

bool numeric(const std::string& text) {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || c == '.' || c == '-'; });
}

void flatten(const std::string& prefix, const json& value, Table& table) {
    if (!value.is_object()) {
        table.add({prefix, cell(value)});
        return;
    }
    for (const auto& [key, inner] : value.items()) flatten(prefix.empty() ? key : prefix + "." + key, inner, table);
}

std::string list_text(const json& list) {
    std::vector<std::string> columns;
    for (const json& row : list) {
        for (const auto& [key, unused] : row.items()) {
            if (std::find(columns.begin(), columns.end(), key) == columns.end()) columns.push_back(key);
        }
    }
    Table table(columns);
    for (const json& row : list) {
        std::vector<std::string> cells;
        for (const std::string& column : columns) cells.push_back(row.contains(column) ? cell(row[column]) : "-");
        table.add(cells);
    }
    return table.text();
}

bool is_list_of_objects(const json& value) {
    return value.is_array() && !value.empty() &&
           std::all_of(value.begin(), value.end(), [](const json& v) { return v.is_object(); });
}

}  // namespace

std::string Table::text() const {
    std::vector<std::size_t> widths;
    std::vector<bool> numbers;
    for (const auto& row : rows_) {
        widths.resize(std::max(widths.size(), row.size()));
        numbers.resize(widths.size(), true);
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], row[i].size());
            if (&row != &rows_.front() && !numeric(row[i])) numbers[i] = false;
        }
    }
    std::string text;
    for (const auto& row : rows_) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            line +=
                numbers[i] ? fmt::format("{:>{}}  ", row[i], widths[i]) : fmt::format("{:<{}}  ", row[i], widths[i]);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + '\n';
    }
    return text;
}

std::string cell(const json& value) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
    if (value.is_null()) return "-";
    return value.dump();
}

std::string describe(const json& value) {
    if (is_list_of_objects(value)) return list_text(value);
    if (value.is_array() && value.empty()) return "(none)\n";
    if (!value.is_object()) return cell(value) + '\n';
    Table table(std::vector<std::string>{});
    flatten("", value, table);
    const std::string text = table.text();
    return text.substr(std::min<std::size_t>(1, text.size()));  // the empty head's line
}

std::string speed_text(const json& speed_bps) {
    return speed_bps.is_number_unsigned() ? format_rate(speed_bps.get<std::uint64_t>()) : "-";
}

}  // namespace vroce::cli
