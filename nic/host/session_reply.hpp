// Requests out of records and replies into them, for the files that implement Session.
#pragma once

#include <cstring>

#include "nic/host/session.hpp"

namespace vroce::nic {

/// A copy; the record has exactly this length (checked against the table of messages).
template <typename Request>
Request request_of(const ReceivedRecord& record) {
    Request request;
    std::memcpy(&request, record.bytes.data(), sizeof request);
    return request;
}

template <typename Reply>
void Session::reply(std::uint32_t message, int status, Reply& reply, std::span<const int> fds) {
    reply.header = {message, static_cast<std::uint32_t>(sizeof reply), status, 0};
    send(std::as_bytes(std::span(&reply, 1)), status == 0 ? fds : std::span<const int>());
}

/// Runs `call` on the worker, between two of its iterations, and returns what it returned.
template <typename F>
int Session::on_worker(F&& call) {
    int status = 0;
    host_.services.run_on_worker([&] { status = call(); });
    return status;
}

}  // namespace vroce::nic
