#include "tests/kit/station.hpp"

#include <algorithm>
#include <cstring>

#include "common/wire/bytes.hpp"
#include "common/wire/ip.hpp"

namespace vroce::test {
namespace {

constexpr std::uint16_t kTypeCTag = 0x8100;
constexpr std::uint16_t kTypeIpv4 = 0x0800;
constexpr std::uint16_t kRoceUdpPort = 4'791;
constexpr std::size_t kTagBytes = 4;
constexpr std::size_t kAddressBytes = 12;
constexpr std::size_t kUdpBytes = 8;
/// So much is kept ready for the line; more would only wait.
constexpr std::uint64_t kReadyBytes = 20'000;

void store_mac(std::uint8_t* at, Mac mac) {
    for (int i = 0; i < 6; ++i) at[i] = static_cast<std::uint8_t>(mac >> (40 - 8 * i));
}

FlowControlSettings flow_control_of(const StationConfig& config) {
    FlowControlSettings settings;
    settings.speed_bps = config.speed_bps;
    settings.mode = PauseMode::kPriority;
    settings.tx_priorities = 0xFF;
    settings.rx_priorities = config.obeys ? config.pfc_priorities : std::uint8_t{0};
    for (std::uint8_t p = 0; p < 8; ++p) settings.priority_to_queue[p] = p;
    store_mac(settings.mac.data(), config.mac);
    return settings;
}

}  // namespace

Station::Station(const StationConfig& config, Port& port, PacketPool& pool, Instant now)
    : config_(config),
      port_(port),
      pool_(pool),
      tx_({.speed_bps = config.speed_bps,
           .limit_bytes = UINT64_MAX,
           .idle_credit = Duration{},
           .catch_up = config.catch_up,
           .schedule = config.schedule},
          port, pool),
      random_(config.seed) {
    flow_control_.configure(now, flow_control_of(config));
}

std::uint64_t Station::add(const Flow& flow) {
    Sending sending;
    sending.flow = flow;
    sending.id = (config_.mac & 0xFFFF) << 16 | sending_.size();
    sending_.push_back(sending);
    woken_ = true;
    return sending.id;
}

void Station::stop_flows() {
    for (Sending& sending : sending_) sending.flow.packets = sending.sent;
}

void Station::announce() {
    Flow flow;
    flow.destination = 0x0180'c200'00ff;  // a group that nobody is in
    flow.frame_bytes = {kSmallestFrameBytes};
    flow.packets = 1;
    static_cast<void>(add(flow));
}

void Station::run(Instant now) {
    woken_ = false;
    receive(now);
    send_pause(now);
    tx_.egress().set_paused(now, flow_control_.paused_queues(now));
    generate(now);
    static_cast<void>(tx_.flush(now));
    generate(now);
}

Instant Station::next_deadline(Instant now) const {
    if (woken_) return now;
    Instant next = std::min(tx_.next_deadline(), flow_control_.next_deadline(now));
    for (const Sending& sending : sending_) {
        if (has_room(sending)) next = std::min(next, sending.next_at);
    }
    return next;
}

void Station::receive(Instant now) {
    std::array<Packet*, 32> packets;
    while (const std::size_t count = port_.receive(packets)) {
        for (std::size_t i = 0; i < count; ++i) {
            if (is_mac_control(packets[i]->bytes())) {
                flow_control_.receive(now, packets[i]->bytes());
            } else {
                take(now, *packets[i]);
            }
            release(packets[i]);
        }
    }
}

void Station::take(Instant, Packet& packet) {
    std::size_t at = kAddressBytes;
    if (load_be16(packet.data + at) == kTypeCTag) at += kTagBytes;
    at += 2;
    const std::uint8_t* ip = packet.data + at;
    const std::uint8_t* mark = ip + Ipv4Header::kBytes + kUdpBytes;
    const std::uint64_t flow = load_be32(mark);
    const std::uint64_t sequence = load_be64(mark + 4);
    Arrivals& arrivals = arrivals_[flow];
    ++arrivals.packets;
    arrivals.bytes += packet.length;
    if ((ip[1] & 3) == 3) ++arrivals.marked;
    if (sequence < arrivals.next) {
        ++arrivals.reordered;
        return;
    }
    arrivals.missing += sequence - arrivals.next;
    arrivals.next = sequence + 1;
}

void Station::generate(Instant now) {
    for (Sending& sending : sending_) {
        while (has_room(sending) && sending.next_at <= now) send(now, sending);
    }
}

/// A flow that has none waits for its queue.
bool Station::has_room(const Sending& sending) const {
    return sending.sent < sending.flow.packets && tx_.egress().queue_bytes(sending.flow.priority) < kReadyBytes;
}

void Station::send(Instant now, Sending& sending) {
    const Flow& flow = sending.flow;
    const std::uint32_t bytes = flow.frame_bytes[random_.below(flow.frame_bytes.size())];
    Packet* packet = pool_.alloc();
    if (packet == nullptr) std::abort();  // the test's pool is too small for what the test does
    packet->resize(bytes);
    std::memset(packet->data, 0, bytes);
    store_mac(packet->data, flow.destination);
    store_mac(packet->data + 6, config_.mac);
    store_be16(packet->data + 12, kTypeCTag);
    store_be16(packet->data + 14, static_cast<std::uint16_t>(flow.priority << 13));
    store_be16(packet->data + 16, kTypeIpv4);
    std::uint8_t* ip = packet->data + 18;
    Ipv4Header header;
    header.traffic_class = static_cast<std::uint8_t>(flow.dscp << 2 | flow.ecn);
    header.total_bytes = static_cast<std::uint16_t>(bytes - 18);
    header.protocol = kProtocolUdp;
    header.write(std::span<std::uint8_t, Ipv4Header::kBytes>(ip, Ipv4Header::kBytes));
    store_be16(ip + 22, kRoceUdpPort);
    std::uint8_t* mark = ip + Ipv4Header::kBytes + kUdpBytes;
    store_be32(mark, static_cast<std::uint32_t>(sending.id));
    store_be64(mark + 4, sending.sent++);
    packet->meta.time = now;
    if (!tx_.enqueue(packet, flow.priority)) std::abort();  // the egress has no limit
    if (flow.rate_bps == 0) return;
    const auto frame_ps = static_cast<std::int64_t>(std::uint64_t{bytes} * 8 * 1'000'000'000'000u / flow.rate_bps);
    sending.next_at = std::max(sending.next_at, now - microseconds(1)) + picoseconds(frame_ps);
}

void Station::send_pause(Instant now) {
    const auto frame = flow_control_.poll(now, 0);
    if (!frame) return;
    Packet* packet = pool_.alloc();
    if (packet == nullptr) std::abort();
    packet->resize(static_cast<std::uint32_t>(frame->size()));
    std::copy(frame->begin(), frame->end(), packet->data);
    tx_.send_control(packet);
}

std::uint64_t Station::sent(std::uint64_t flow) const {
    for (const Sending& sending : sending_) {
        if (sending.id == flow) return sending.sent;
    }
    return 0;
}

Arrivals Station::arrivals(std::uint64_t flow) const {
    const auto found = arrivals_.find(flow);
    return found == arrivals_.end() ? Arrivals{} : found->second;
}

Arrivals Station::arrivals() const {
    Arrivals sum;
    for (const auto& [flow, one] : arrivals_) {
        sum.packets += one.packets;
        sum.bytes += one.bytes;
        sum.missing += one.missing;
        sum.reordered += one.reordered;
        sum.marked += one.marked;
    }
    return sum;
}

}  // namespace vroce::test
