#include "nic/io/worker.hpp"

#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "nic/device/device.hpp"

namespace vroce::nic {
namespace {

constexpr Duration kLinkLook = milliseconds(50);
/// A third of the time after which switches forget (802.1Q 8.8.3: 300 s).
constexpr Duration kAnnouncementInterval = seconds(100);
constexpr std::size_t kWireBursts = 8;  ///< a memif ring at most in one iteration
/// Of the pool's packets: with fewer the peer is asked to pause, until there are more again.
constexpr std::size_t kXoffShare = 8;
constexpr std::size_t kXonShare = 4;
constexpr unsigned kStrictFrom = 6;         ///< network control and CNPs go first (DSCP 48 and up)
constexpr std::size_t kTransmitBursts = 4;  ///< own endpoints among themselves are not paced and could go on for ever

void raise_event(int fd) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t put = ::write(fd, &one, sizeof one);
}

/// Classes share the line evenly, but for control, which is little and goes first.
PortSchedule line_schedule() {
    PortSchedule schedule;
    for (unsigned q = 0; q < kStrictFrom; ++q) schedule[q].discipline = QueueDiscipline::kDwrr;
    return schedule;
}

}  // namespace

Worker::Worker(WorkerParts parts)
    : parts_(std::move(parts)), bridge_(parts_.endpoints, parts_.mtu, parts_.pool, *this), sleeper_(parts_.poll) {
    const EgressConfig line{
        .speed_bps = parts_.speed_bps, .limit_bytes = parts_.queue_limit_bytes, .schedule = line_schedule()};
    uplink_ = std::make_unique<AttachedPort>("uplink", line, parts_.uplink, parts_.pool);
    const EgressConfig not_paced{.speed_bps = 0, .limit_bytes = parts_.queue_limit_bytes};
    for (std::size_t i = 0; i < parts_.taps.size(); ++i) {
        taps_.push_back(std::make_unique<AttachedPort>(parts_.tap_names[i], not_paced, *parts_.taps[i], parts_.pool));
        sleeper_.add(parts_.taps[i]->wake_fd());
    }
    if (parts_.uplink.wake_fd() >= 0) sleeper_.add(parts_.uplink.wake_fd());
    sleeper_.add(parts_.doorbells.fd());
    sleeper_.add(parts_.mailbox.fd());
    next_announcement_ = kNever;
    pool_packets_ = parts_.pool.available();
    set_pfc(parts_.pfc_priorities);
}

Worker::~Worker() = default;

void Worker::run() {
    while (running_) {
        now_ = clock_.now();
        begin_iteration(now_);
        look_after_link(now_);
        bool worked = receive_wire(now_);
        worked |= receive_taps(now_);
        worked |= serve_applications(now_);
        worked |= parts_.mailbox.drain();
        parts_.engine.on_timeout(now_);  // only now: what would have been in time has been read (D11f)
        worked |= transmit(now_);
        worked |= flush(now_);
        if (sleeper_.should_sleep(now_, worked)) sleep(now_);
    }
}

void Worker::to_engine(Packet* packet) {
    if (for_engine_count_ == for_engine_.size()) feed_engine();
    for_engine_[for_engine_count_++] = packet;
}

void Worker::feed_engine() {
    if (for_engine_count_ == 0) return;
    parts_.engine.receive(now_, std::span(for_engine_).first(for_engine_count_));
    for_engine_count_ = 0;
}

bool Worker::receive_wire(Instant now) {
    bool worked = false;
    for (std::size_t i = 0; i < kWireBursts; ++i) {
        const std::size_t count = uplink_->receive(now, burst_);
        for (std::size_t p = 0; p < count; ++p) bridge_.from_wire(burst_[p]);
        feed_engine();
        worked |= count != 0;
        if (count < burst_.size()) break;
    }
    return worked;
}

/// Interfaces get half of the room that the line has, so that neither TCP nor RDMA starves; each is first in turn.
bool Worker::receive_taps(Instant now) {
    bool worked = false;
    first_tap_ = (first_tap_ + 1) % taps_.size();
    for (std::size_t i = 0; i < taps_.size(); ++i) {
        const std::size_t room = std::min((room_for_taps() + 1) / 2, burst_.size());
        if (room == 0) break;
        const std::size_t tap = (first_tap_ + i) % taps_.size();
        const std::size_t count = taps_[tap]->receive(now, std::span(burst_).first(room));
        for (std::size_t p = 0; p < count; ++p) bridge_.from_tap(tap, burst_[p]);
        feed_engine();
        worked |= count != 0;
    }
    return worked;
}

bool Worker::serve_applications(Instant now) {
    bool worked = false;
    for (Device* device : devices_) {
        worked |= device->scan_doorbells(now);
        worked |= device->collect_copies(now);
    }
    return worked;
}

bool Worker::transmit(Instant now) {
    bool worked = false;
    for (std::size_t i = 0; i < kTransmitBursts; ++i) {
        const std::size_t room = std::min(room_for_engine(), burst_.size());
        const std::size_t count = room == 0 ? 0 : parts_.engine.transmit(now, std::span(burst_).first(room));
        for (std::size_t p = 0; p < count; ++p) bridge_.from_engine(burst_[p]);
        feed_engine();
        worked |= count != 0;
        if (count < room || room == 0) break;
    }
    return worked;
}

bool Worker::flush(Instant now) {
    bool worked = uplink_->flush(now, congested());
    for (const auto& tap : taps_) worked |= tap->flush(now, 0);
    return worked;
}

void Worker::look_after_link(Instant now) {
    if (now >= next_link_look_) {
        next_link_look_ = now + kLinkLook;
        parts_.uplink.update_link(now);
        for (const auto& tap : parts_.taps) {
            if (tap->lost()) sleeper_.remove(tap->wake_fd());  // it would wake us for ever
        }
    }
    if (parts_.uplink.link_up() != link_was_up_) {
        link_was_up_ = !link_was_up_;
        ++counters_.link_changes;
        next_announcement_ = link_was_up_ ? now : kNever;
        raise_event(parts_.link_event_fd);
    }
    if (now < next_announcement_) return;
    next_announcement_ = now + kAnnouncementInterval;
    bridge_.announce();
}

std::size_t Worker::room_for_taps() const {
    const std::size_t backlog = uplink_->sendable_packets();
    return backlog < kBacklogPackets ? kBacklogPackets - backlog : 0;
}

std::size_t Worker::room_for_engine() const {
    const std::size_t paused = uplink_->paused_packets();
    return std::min(room_for_taps(), paused < kBacklogPackets ? kBacklogPackets - paused : 0);
}

std::uint8_t Worker::congested() {
    const FlowControlSettings& settings = uplink_->flow_control().settings();
    if (settings.mode == PauseMode::kOff) return 0;
    const std::size_t enough = pool_packets_ / (packets_are_few_ ? kXonShare : kXoffShare);
    packets_are_few_ = parts_.pool.available() < enough;
    return packets_are_few_ ? settings.tx_priorities : std::uint8_t{0};
}

void Worker::set_pfc(std::uint8_t priorities) {
    FlowControlSettings settings;
    settings.speed_bps = parts_.speed_bps;
    settings.mode = priorities != 0 ? PauseMode::kPriority : PauseMode::kOff;
    settings.tx_priorities = priorities;
    settings.rx_priorities = priorities;
    std::iota(settings.priority_to_queue.begin(), settings.priority_to_queue.end(), std::uint8_t{0});
    settings.mac = parts_.endpoints.front().mac.bytes;
    uplink_->set_flow_control(clock_.now(), settings);
}

void Worker::sleep(Instant now) {
    set_sleeping(true);
    // Once more, now that everybody knows: what came before they knew would wake nobody. Interfaces and mailbox have
    // descriptors that stay readable.
    bool worked = receive_wire(now);
    worked |= serve_applications(now);
    if (!worked) {
        sleeper_.sleep(now, next_deadline(now));
        if (sleeper_.was_woken_by(parts_.doorbells.fd())) parts_.doorbells.clear();
        for (const auto& tap : parts_.taps) {
            if (sleeper_.was_woken_by(tap->wake_fd())) tap->look();
        }
        counters_.loop.sleep();
    }
    set_sleeping(false);
}

void Worker::set_sleeping(bool sleeping) {
    parts_.status_page.set_sleeping(kIndex, sleeping);
    parts_.uplink.set_sleeping(sleeping);
}

Instant Worker::next_deadline(Instant now) const {
    Instant earliest =
        std::min({uplink_->next_deadline(now), parts_.uplink.next_poll(now), next_link_look_, next_announcement_});
    // With a full line the engine has to wait for it, whatever it would like to send.
    if (room_for_engine() > 0) earliest = std::min(earliest, parts_.engine.next_deadline());
    for (const auto& tap : taps_) earliest = std::min(earliest, tap->next_deadline(now));
    return earliest;
}

void Worker::begin_iteration(Instant now) {
    counters_.loop.begin(now);
    for (Device* device : devices_) device->set_time(now);
}

void Worker::add_device(Device& device) {
    devices_.push_back(&device);
}

void Worker::remove_device(Device& device) {
    std::erase(devices_, &device);
}

void Worker::set_addresses(std::size_t endpoint, std::vector<Gid> addresses) {
    bridge_.set_addresses(endpoint, std::move(addresses));
    if (link_was_up_) next_announcement_ = now_;
}

AttachedPort* Worker::find_port(const std::string& name) {
    if (name == uplink_->name()) return uplink_.get();
    const auto found = std::find_if(taps_.begin(), taps_.end(), [&](const auto& tap) { return tap->name() == name; });
    return found != taps_.end() ? found->get() : nullptr;
}

}  // namespace vroce::nic
