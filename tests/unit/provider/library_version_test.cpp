#include "provider/src/library_version.hpp"

#include <gtest/gtest.h>

namespace vroce::provider {
namespace {

TEST(LibraryVersion, ReadsTheReleaseFromTheFileName) {
    EXPECT_EQ(release_of_library("/usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.44.0"), 44);
    EXPECT_EQ(release_of_library("libibverbs.so.1.14.56.1"), 56);
    EXPECT_EQ(release_of_library("libibverbs.so.1.15.64"), 64);
}

TEST(LibraryVersion, IsUnknownWhenTheNameHasNone) {
    EXPECT_EQ(release_of_library("/opt/libibverbs.so.1"), -1);
    EXPECT_EQ(release_of_library("libibverbs.so.1.14"), -1);
    EXPECT_EQ(release_of_library("libibverbs.so.1.14.x.0"), -1);
    EXPECT_EQ(release_of_library("librdmacm.so.1.3.44.0"), -1);
    EXPECT_EQ(release_of_library(""), -1);
}

TEST(LibraryVersion, KnowsTheInstalledLibrary) {
    EXPECT_TRUE(library_is_known());
}

}  // namespace
}  // namespace vroce::provider
