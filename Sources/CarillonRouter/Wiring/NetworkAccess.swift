import HTTPLanes
import Registry
import Synchronization

/// Which addresses may connect to our own doors. Asked once a connection or a request of HTTP; reads memory only.
final class NetworkAccess: Sendable {
    private struct Network {
        let block: AddressBlock
        let isBlock: Bool
    }

    /// The smallest networks first.
    private let networks = Mutex<[Network]>([])

    /// Goes by these rules from now on. Returns whether they say something else of networks than before.
    func follow(_ list: AccessList) -> Bool {
        let new = list.rules.compactMap { rule -> Network? in
            guard case .network(let text) = rule.subject, let block = AddressBlock(text) else { return nil }
            return Network(block: block, isBlock: rule.isBlock)
        }
        // Of one network's rules the block counts.
        .sorted { ($0.block.prefixLength, $0.isBlock ? 1 : 0) > ($1.block.prefixLength, $1.isBlock ? 1 : 0) }
        return networks.withLock { networks in
            defer { networks = new }
            return networks.map(\.block) != new.map(\.block) || networks.map(\.isBlock) != new.map(\.isBlock)
        }
    }

    /// The smallest network that has a rule decides.
    func isBlocked(_ address: String) -> Bool { rule(about: address)?.isBlock ?? false }

    /// Whether that network is allowed by name: where only who is listed may register, so may who connects from there.
    func isAllowed(_ address: String) -> Bool { rule(about: address).map { !$0.isBlock } ?? false }

    private func rule(about address: String) -> Network? {
        networks.withLock { networks in
            guard !networks.isEmpty, let address = IPAddress(address) else { return nil }
            return networks.first { $0.block.contains(address) }
        }
    }
}

/// Tells the doors and the relays what changes in the rules of access, which the registry knows before they are made.
final class AccessChanges: Sendable {
    private struct State {
        var last: AccessList?
        var receiver: (@Sendable (AccessList) -> Void)?
    }

    private let state = Mutex(State())

    /// What is in force goes to `receiver`, at once and after each change.
    func tell(_ receiver: @escaping @Sendable (AccessList) -> Void) {
        let last = state.withLock { state in
            state.receiver = receiver
            return state.last
        }
        if let last { receiver(last) }
    }

    @Sendable func changed(_ access: AccessList) {
        let receiver = state.withLock { state in
            state.last = access
            return state.receiver
        }
        receiver?(access)
    }
}
