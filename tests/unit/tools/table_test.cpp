// Text tables.
#include "tools/cli/table.hpp"

#include <gtest/gtest.h>

namespace vroce::cli {
namespace {

using nlohmann::json;

TEST(Table, ColumnsAreAsWideAsTheirWidestCellAndNumbersStandRight) {
    Table table({"NAME", "N"});
    table.add({"a", "1"});
    table.add({"longer", "1000"});
    EXPECT_EQ(table.text(),
              "NAME       N\n"
              "a          1\n"
              "longer  1000\n");
}

TEST(Describe, ListsHaveTheUnionOfTheirKeys) {
    EXPECT_EQ(describe(json::array({{{"a", 1}}, {{"a", 2}, {"b", "x"}}})), "a  b\n1  -\n2  x\n");
}

TEST(Describe, NestedKeysAreJoined) {
    EXPECT_EQ(describe({{"port", {{"rx", 5}, {"up", true}}}}), "port.rx  5\nport.up  yes\n");
}

TEST(Describe, EmptyListSaysSo) {
    EXPECT_EQ(describe(json::array()), "(none)\n");
}

TEST(SpeedText, RoundSpeedsAreShort) {
    EXPECT_EQ(speed_text(10'000'000'000u), "10G");
    EXPECT_EQ(speed_text(2'500'000'000u), "2500M");
    EXPECT_EQ(speed_text(100'000'000u), "100M");
    EXPECT_EQ(speed_text(json()), "-");
}

}  // namespace
}  // namespace vroce::cli
