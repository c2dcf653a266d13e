// Text tables for people; JSON for everyone else.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace vroce::cli {

/// Columns as wide as their widest cell, two spaces between; columns of numbers to the right.
class Table {
public:
    explicit Table(std::vector<std::string> head) : rows_{std::move(head)} {}
    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
    std::string text() const;

private:
    std::vector<std::vector<std::string>> rows_;
};

/// A scalar as a cell: strings bare, objects and lists as compact JSON.
std::string cell(const nlohmann::json& value);

/// A list of objects as a table whose columns are the union of their keys, in order of appearance; one object as
/// "key value" lines, nested keys joined by dots.
std::string describe(const nlohmann::json& value);

/// 10000000000 → "10G".
std::string speed_text(const nlohmann::json& speed_bps);

}  // namespace vroce::cli
