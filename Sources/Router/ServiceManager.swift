import Core
import Glibc
import Logging

/// The client of systemd or another service manager that wants status messages (sd_notify(3)): datagrams to the socket
/// in `NOTIFY_SOCKET`.
package struct ServiceManager: Sendable {
    private let address: [UInt8]
    /// The interval in which the manager expects a watchdog message; nil: it expects none.
    package let watchdog: Duration?

    /// Returns nil if no manager wants messages. `environment` returns a variable's value; `process` is the router's
    /// process id.
    package init?(environment: (String) -> String?, process: Int32 = getpid()) {
        // "@" represents the byte 0 of abstract sockets.
        guard let socket = environment("NOTIFY_SOCKET"), socket.hasPrefix("/") || socket.hasPrefix("@"),
            (2..<108).contains(socket.utf8.count)
        else { return nil }
        address = socket.hasPrefix("@") ? [0] + Array(socket.utf8.dropFirst()) : Array(socket.utf8)
        let isForUs = environment("WATCHDOG_PID").map { Int32($0) == process } ?? true
        let microseconds = environment("WATCHDOG_USEC").flatMap { Int64($0) } ?? 0
        watchdog = isForUs && microseconds >= 1_000 ? .milliseconds(microseconds / 1_000) : nil
    }

    /// Reports that the router is ready; `status` is one line for people.
    package func ready(_ status: String) { send(["READY=1", "STATUS=\(status)"]) }

    /// Reports a reload of the configuration (`Type=notify-reload`); ``ready(_:)`` must follow, even after an error.
    package func reloading(monotonicMicroseconds: UInt64) {
        send(["RELOADING=1", "MONOTONIC_USEC=\(monotonicMicroseconds)", "STATUS=Reloading the configuration"])
    }

    package func stopping() { send(["STOPPING=1", "STATUS=Stopping"]) }

    package func status(_ status: String) { send(["STATUS=\(status)"]) }

    /// Sends a watchdog message.
    package func alive() { send(["WATCHDOG=1"]) }

    /// Sends a datagram. Lost messages do no harm: the manager's own timeout applies.
    private func send(_ lines: [String]) {
        let text = Array(lines.map { $0.replacing("\n", with: " ") }.joined(separator: "\n").utf8)
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: address.prefix($0.count)) }
        let length = socklen_t((MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2) + address.count)
        _ = withUnsafePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(descriptor, text, text.count, Int32(MSG_NOSIGNAL), $0, length)
            }
        }
    }
}

/// Sends watchdog messages to the service manager while no part of the router is stuck.
struct Watchdog: Sendable {
    /// The interval in which the manager expects a message.
    let interval: Duration
    /// Returns the names of parts that do not respond within `timeout`.
    let stuck: @Sendable (_ timeout: Duration) async -> [String]
    let alive: @Sendable () -> Void
    let logger: Logger
    var pause: @Sendable (_ span: Duration) async throws -> Void = {
        try await Task.sleep(for: $0)
    }

    /// Sends a message at least twice per interval, until the task is cancelled. While any part is stuck it sends none,
    /// so that the manager restarts the router.
    func run() async {
        repeat {
            let stuck = await stuck(max(.milliseconds(1), interval / 4))
            if stuck.isEmpty {
                alive()
            } else {
                logger.critical("A thread is blocked", metadata: ["parts": "\(stuck.joined(separator: ", "))"])
            }
        } while (try? await pause(max(.milliseconds(1), interval / 4))) != nil
    }
}
