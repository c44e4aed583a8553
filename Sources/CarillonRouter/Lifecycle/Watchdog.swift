import Logging

/// Tells the service manager that we are alive, for as long as that is true.
struct Watchdog: Sendable {
    /// How often the manager wants to hear of us, in milliseconds.
    let interval: Int64
    /// Parts that do not come round within so many milliseconds.
    let stuck: @Sendable (_ milliseconds: Int64) async -> [String]
    let alive: @Sendable () -> Void
    let logger: Logger
    var pause: @Sendable (_ milliseconds: Int64) async throws -> Void = {
        try await Task.sleep(for: .milliseconds($0))
    }

    /// Twice an interval, until the task is cancelled. While anything is stuck it says nothing, and the manager starts us anew.
    func run() async {
        repeat {
            let stuck = await stuck(max(1, interval / 4))
            if stuck.isEmpty {
                alive()
            } else {
                logger.critical("Something is stuck", metadata: ["parts": "\(stuck.joined(separator: ", "))"])
            }
        } while (try? await pause(max(1, interval / 4))) != nil
    }
}
