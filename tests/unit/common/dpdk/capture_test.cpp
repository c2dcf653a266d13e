// Captures, read back by libpcap.
#include "common/dpdk/capture.hpp"

#include <gtest/gtest.h>
#include <pcap/pcap.h>
#include <signal.h>
#include <sys/resource.h>

#include <cstring>
#include <vector>

#include "common/packet/slab_pool.hpp"
#include "tests/unit/common/dpdk/environment.hpp"

namespace vroce {
namespace {

struct Record {
    std::vector<std::uint8_t> bytes;
    std::uint32_t frame_bytes;
    std::int64_t seconds;
};

struct File {
    int link_type = -1;
    std::vector<Record> records;
    bool whole = false;
};

File read_back(const std::string& path) {
    File file;
    char error[PCAP_ERRBUF_SIZE];
    pcap_t* pcap = pcap_open_offline(path.c_str(), error);
    if (pcap == nullptr) {
        ADD_FAILURE() << error;
        return file;
    }
    file.link_type = pcap_datalink(pcap);
    pcap_pkthdr* header = nullptr;
    const u_char* data = nullptr;
    int result = 0;
    while ((result = pcap_next_ex(pcap, &header, &data)) == 1)
        file.records.push_back({{data, data + header->caplen}, header->len, header->ts.tv_sec});
    file.whole = result == PCAP_ERROR_BREAK;
    pcap_close(pcap);
    return file;
}

void record(Capture& capture, SlabPool& pool, std::uint32_t length, std::uint8_t fill) {
    Packet* packet = pool.alloc();
    packet->resize(length);
    std::memset(packet->data, fill, length);
    capture.record(*packet);
    release(packet);
}

TEST(Capture, HoldsEveryFrameWithItsLength) {
    const test::TemporaryDirectory directory;
    SlabPool pool(1);
    {
        auto capture = Capture::start(directory.file("a.pcap"));
        ASSERT_TRUE(capture) << capture.error();
        for (std::uint32_t i = 0; i < 300; ++i) record(**capture, pool, 60 + i * 30, static_cast<std::uint8_t>(i));
        EXPECT_TRUE(test::await([&] { return (*capture)->written() == 300; })) << "while it runs, not only at its end";
        EXPECT_EQ((*capture)->missed(), 0u);
    }
    const File file = read_back(directory.file("a.pcap"));
    EXPECT_EQ(file.link_type, DLT_EN10MB);
    EXPECT_TRUE(file.whole);
    ASSERT_EQ(file.records.size(), 300u);
    for (std::uint32_t i = 0; i < 300; ++i) {
        EXPECT_EQ(file.records[i].frame_bytes, 60 + i * 30);
        EXPECT_EQ(file.records[i].bytes, std::vector<std::uint8_t>(60 + i * 30, static_cast<std::uint8_t>(i)));
        EXPECT_GT(file.records[i].seconds, 1'600'000'000) << "wall-clock time";
    }
}

TEST(Capture, WhatDoesNotFitIsCountedAndNothingWaits) {
    const test::TemporaryDirectory directory;
    SlabPool pool(1);
    std::uint64_t written = 0;
    std::uint64_t missed = 0;
    constexpr std::uint64_t kFrames = 3 * Capture::kSlots;
    {
        auto capture = Capture::start(directory.file("b.pcap"));
        ASSERT_TRUE(capture) << capture.error();
        for (std::uint64_t i = 0; i < kFrames; ++i) record(**capture, pool, 9'000, 1);
        EXPECT_TRUE(test::await([&] { return (*capture)->written() + (*capture)->missed() == kFrames; }));
        written = (*capture)->written();
        missed = (*capture)->missed();
    }
    EXPECT_EQ(written + missed, kFrames);
    EXPECT_EQ(read_back(directory.file("b.pcap")).records.size(), written);
}

TEST(Capture, AFullDiskLeavesAFileOfWholeRecords) {
    const test::TemporaryDirectory directory;
    SlabPool pool(1);
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto old_handler = signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1'000'000, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    std::uint64_t written = 0;
    {
        auto capture = Capture::start(directory.file("c.pcap"));
        ASSERT_TRUE(capture) << capture.error();
        for (int i = 0; i < 1'000; ++i) record(**capture, pool, 9'000, 1);
        EXPECT_TRUE(test::await([&] { return (*capture)->written() + (*capture)->missed() == 1'000; }));
        written = (*capture)->written();
    }
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, old_handler);
    const File file = read_back(directory.file("c.pcap"));
    EXPECT_TRUE(file.whole);
    EXPECT_EQ(file.records.size(), written);
    EXPECT_LT(written, 112u) << "the limit was met";
}

TEST(Capture, SaysWhereItCannotWrite) {
    EXPECT_NE(Capture::start("/nonexistent/x.pcap").error().find("/nonexistent/x.pcap: cannot be written"),
              std::string::npos);
    EXPECT_NE(Capture::start("/dev/full").error().find("No space left"), std::string::npos);
}

}  // namespace
}  // namespace vroce
