import Core
import HTTPClient
import Logging
import Registry
import Synchronization

/// A timer that ends access rules when they expire. It sleeps until the first expiry, and restarts when the rules
/// change.
final class AccessDeadline: Sendable {
    private struct State {
        var task: Task<Void, Never>?
        var isStopped = false
    }

    /// The longest sleep: if the clock is set forward, a rule ends at most this late.
    static let longestSleep: Duration = .hours(1)
    /// The delay before a retry when the disk rejected the change.
    static let retryPause: Duration = .minutes(1)

    private let end: @Sendable () throws -> Void
    private let sleep: @Sendable (Duration) async throws -> Void
    private let now: @Sendable () -> Timestamp
    private let logger: Logger
    private let state = Mutex(State())

    /// `end` removes the expired rules; the registry then calls ``follow(_:)`` with the next expiry.
    init(
        end: @escaping @Sendable () throws -> Void,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
        now: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) {
        self.end = end
        self.sleep = sleep
        self.now = now
        self.logger = logger
    }

    /// Sets the time of the next expiry; nil: no rule expires.
    func follow(_ next: Timestamp?) {
        state.withLock { state in
            state.task?.cancel()
            guard !state.isStopped, let next else {
                state.task = nil
                return
            }
            state.task = Task { [self] in await wait(until: next) }
        }
    }

    func stop() {
        state.withLock { state in
            state.isStopped = true
            state.task?.cancel()
            state.task = nil
        }
    }

    private func wait(until next: Timestamp) async {
        do {
            while true {
                while now() < next { try await sleep(min(next - now(), Self.longestSleep)) }
                do {
                    return try end()
                } catch {
                    logger.error("Failed to remove expired blocks", metadata: ["error": "\(error)"])
                    try await sleep(Self.retryPause)
                }
            }
        } catch {
            // Cancelled: the rules have changed, or the router stops.
        }
    }
}

/// Decides which addresses may connect to the router's own listeners. Checked once per connection or HTTP request;
/// reads memory only.
final class NetworkAccess: Sendable {
    private struct Network {
        let block: AddressBlock
        let isBlock: Bool
    }

    /// The smallest networks first.
    private let networks = Mutex<[Network]>([])

    /// Replaces the rules. Returns whether any rule about a network changed.
    func follow(_ list: AccessList) -> Bool {
        let new = list.rules.compactMap { rule -> Network? in
            guard case .network(let text) = rule.subject, let block = AddressBlock(text) else { return nil }
            return Network(block: block, isBlock: rule.isBlock)
        }
        // Among rules for one network, a block takes precedence.
        .sorted { ($0.block.prefixLength, $0.isBlock ? 1 : 0) > ($1.block.prefixLength, $1.isBlock ? 1 : 0) }
        return networks.withLock { networks in
            defer { networks = new }
            return networks.map(\.block) != new.map(\.block) || networks.map(\.isBlock) != new.map(\.isBlock)
        }
    }

    /// Whether the rule for the smallest network around the address is a block.
    func isBlocked(_ address: String) -> Bool { rule(about: address)?.isBlock ?? false }

    /// Whether that rule allows it: its clients may register even if only listed accounts may.
    func isAllowed(_ address: String) -> Bool { rule(about: address).map { !$0.isBlock } ?? false }

    private func rule(about address: String) -> Network? {
        networks.withLock { networks in
            guard !networks.isEmpty, let address = IPAddress(address) else { return nil }
            return networks.first { $0.block.contains(address) }
        }
    }
}
