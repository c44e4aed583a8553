import Glibc
import Logging
import Units

/// systemd, or whoever else started us and wants to be told how it goes (sd_notify(3)): datagrams to the socket in
/// `NOTIFY_SOCKET`.
package struct ServiceManager: Sendable {
    private let address: [UInt8]
    /// How often the manager wants to hear that we are alive; nil: it does not.
    package let watchdog: Duration?

    /// Nil where nobody wants to be told. `environment` looks variables up; `process` is our number.
    package init?(environment: (String) -> String?, process: Int32 = getpid()) {
        // "@" stands for the byte 0 of abstract sockets.
        guard let socket = environment("NOTIFY_SOCKET"), socket.hasPrefix("/") || socket.hasPrefix("@"),
            (2..<108).contains(socket.utf8.count)
        else { return nil }
        address = socket.hasPrefix("@") ? [0] + Array(socket.utf8.dropFirst()) : Array(socket.utf8)
        let isForUs = environment("WATCHDOG_PID").map { Int32($0) == process } ?? true
        let microseconds = environment("WATCHDOG_USEC").flatMap { Int64($0) } ?? 0
        watchdog = isForUs && microseconds >= 1_000 ? .milliseconds(microseconds / 1_000) : nil
    }

    /// Everything works; `status` is one line for people.
    package func ready(_ status: String) { send(["READY=1", "STATUS=\(status)"]) }

    /// The configuration is read anew (`Type=notify-reload`); ``ready(_:)`` must follow, however that ends.
    package func reloading(monotonicMicroseconds: UInt64) {
        send(["RELOADING=1", "MONOTONIC_USEC=\(monotonicMicroseconds)", "STATUS=Reading the configuration anew"])
    }

    package func stopping() { send(["STOPPING=1", "STATUS=Stopping"]) }

    package func status(_ status: String) { send(["STATUS=\(status)"]) }

    /// We are alive.
    package func alive() { send(["WATCHDOG=1"]) }

    /// What cannot be sent is nobody's loss: the manager will see for itself.
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

/// Tells the service manager that we are alive, for as long as that is true.
struct Watchdog: Sendable {
    /// How often the manager wants to hear of us.
    let interval: Duration
    /// Parts that do not come round within that time.
    let stuck: @Sendable (_ patience: Duration) async -> [String]
    let alive: @Sendable () -> Void
    let logger: Logger
    var pause: @Sendable (_ span: Duration) async throws -> Void = {
        try await Task.sleep(for: $0)
    }

    /// Twice an interval, until the task is cancelled. While anything is stuck it says nothing, and the manager starts
    /// us anew.
    func run() async {
        repeat {
            let stuck = await stuck(max(.milliseconds(1), interval / 4))
            if stuck.isEmpty {
                alive()
            } else {
                logger.critical("Something is stuck", metadata: ["parts": "\(stuck.joined(separator: ", "))"])
            }
        } while (try? await pause(max(.milliseconds(1), interval / 4))) != nil
    }
}
