import Core
import Nostr
import Push
import Synchronization

/// The access rules of the configuration and of commands. They are kept in memory, so lookups do not read the disk.
final class AccessControl: Sendable {
    private struct State {
        var mode: AccessMode
        var configured: [AccessRule]
        var list: AccessList
    }

    private let store: RegistryStore
    private let now: @Sendable () -> Timestamp
    private let changed: @Sendable (AccessList) -> Void
    private let state: Mutex<State>

    /// No rule applies before ``load()``. `changed` receives each new list.
    init(
        store: RegistryStore,
        mode: AccessMode,
        configured: [AccessRule],
        changed: @escaping @Sendable (AccessList) -> Void,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.store = store
        self.now = now
        self.changed = changed
        state = Mutex(State(mode: mode, configured: configured, list: AccessList(mode: mode, now: now())))
    }

    /// The current rules.
    var list: AccessList { state.withLock { $0.list } }

    /// Loads the rules from disk.
    func load() throws { replace(by: try store.read { try list(from: $0) }) }

    func configure(_ mode: AccessMode, _ rules: [AccessRule]) {
        state.withLock { state in
            state.mode = mode
            state.configured = rules
        }
    }

    /// Builds the list from the configured rules and the rules on disk.
    func list(from rows: RegistryRows) throws -> AccessList {
        let (mode, configured) = state.withLock { ($0.mode, $0.configured) }
        let stored = try rows.accessRules()
        var invitees: [String: PublicKey] = [:]
        for case .invitation(let digest) in stored.map(\.subject) { invitees[digest] = try rows.invitee(of: digest) }
        return AccessList(mode: mode, rules: configured + stored, invitees: invitees, now: now())
    }

    func replace(by list: AccessList) {
        state.withLock { $0.list = list }
        changed(list)
    }
}

extension Registry {
    /// The current rules.
    package var access: AccessList { accessControl.list }

    /// Adds a rule and replaces an earlier rule that a command made about the same subject.
    package func put(_ rule: AccessRule) throws {
        try changeAccess { try $0.put(rule) }
    }

    /// Removes the rule that a command made about a subject. Returns nil if there is none.
    package func removeRule(about subject: AccessSubject) throws -> AccessRule? {
        try changeAccess { rows in
            guard let rule = try rows.accessRules().first(where: { $0.subject == subject }) else { return nil }
            try rows.removeRule(about: subject)
            return rule
        }
    }

    /// Applies the configuration's rules and replaces those of an earlier configuration.
    package func configureAccess(_ mode: AccessMode, _ rules: [AccessRule]) throws {
        accessControl.configure(mode, rules)
        try changeAccess { _ in }
    }

    /// Removes expired rules. Cheap if there are none.
    package func endAccessRules() throws {
        guard let end = access.nextEnd, end <= now() else { return }
        let now = now()
        try changeAccess { try $0.removeRules(endedBy: now) }
    }

    /// Whether a rule blocks a device: its account, or the key that registered it.
    package func isBlocked(_ device: DeviceListing) -> Bool {
        access.isBlocked(device.slot.author, for: device.account)
    }

    /// Applies a change of rules: removes devices from the match index, or adds them again, according to the new rules.
    private func changeAccess<Value>(_ body: (RegistryRows) throws -> Value) throws -> Value {
        let control = accessControl
        return try writer.change { rows, changes in
            let value = try body(rows)
            let (former, next) = (control.list, try control.list(from: rows))
            for key in former.blockedKeys.symmetricDifference(next.blockedKeys) {
                changes.keys.insert(key)
                for (device, author) in try rows.indexedDevices(ofOrBy: key, opening: secrets.open(preferences:of:)) {
                    changes.keys.insert(device.account)
                    changes.keys.formUnion(try rows.partners(of: device.device))
                    if next.isBlocked(author, for: device.account) {
                        changes.index.append(.remove(device.device, of: device.account))
                    } else if try !rows.isOutOfUse(device.device) {
                        changes.index.append(.put(device))
                    }
                }
            }
            return (value, next)
        } first: {
            control.replace(by: $0.1)
        }
        .0
    }
}
