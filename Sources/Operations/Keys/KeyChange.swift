import Cipher
import Core
import Foundation
import Nostr
import Registry
import RouterConfiguration

/// Changes the router's key while the router is stopped: `carillon keys rotate`, `undo` and `retire`.
package struct KeyChange {
    /// The default time for which a router still accepts its former key.
    package static let grace: Duration = .days(30)

    private let configuration: Configuration
    private let now: @Sendable () -> Timestamp
    private let random: RandomBytes
    private let reached: (KeyChangeStep) throws -> Void

    /// `reached` is called after each step, and several times during ``KeyChangeStep/reseal``.
    package init(
        configuration: Configuration,
        now: @escaping @Sendable () -> Timestamp = Timestamp.now,
        random: @escaping RandomBytes = SecureRandom.bytes,
        reached: @escaping (KeyChangeStep) throws -> Void = { _ in }
    ) {
        self.configuration = configuration
        self.now = now
        self.random = random
        self.reached = reached
    }

    /// Adds a new key next to the current one, or completes an interrupted change. With `span`, the former key retires
    /// after that time, even if the change is already complete. Like the other functions, throws a ``KeyChangeError``,
    /// `Diagnostics` for a key file, and errors of the store and its lock.
    package func rotate(retireAfter span: Duration? = nil) throws -> KeyReport {
        try working { work in
            guard try !work.isWithdrawn else { throw KeyChangeError.withdrawnKey }
            let isNew = try work.store.table().former == nil
            try carry(out: .rotate, work, retiresAt: now() + (span ?? Self.grace))
            if let span { try work.store.postpone(until: now() + span) }
            return try work.report(
                isNew ? "The router has a new key." : "The router's key was already changed.",
                next: [
                    "start the router: apps learn the new key from its kind 10067 and its HTTP response",
                    "keep a copy of the new key file, and make a new backup: earlier ones need the former key",
                ]
            )
        }
    }

    /// Restores the former key, or discards an incomplete change.
    package func undo() throws -> KeyReport {
        try working { work in
            try carry(out: .undo, work, retiresAt: now() + Self.grace)
            let isWithdrawn = try work.isWithdrawn
            return try work.report(
                isWithdrawn
                    ? "The router has its former key again; some devices are still registered to the other one."
                    : "The router's key is unchanged.",
                next: ["start the router"]
            )
        }
    }

    /// Retires the former key, before its date only if `early`. Devices that are registered to it stay unless
    /// `removesDevices`.
    package func retire(early: Bool = false, removesDevices: Bool = false) throws -> KeyReport {
        try working { work in
            let table = try work.store.table()
            guard table.next == nil else { throw KeyChangeError.unfinished }
            guard let former = table.former else { return try work.report("There is no former key to retire.") }
            if let date = former.retiresAt, date > now(), !early {
                throw KeyChangeError.tooEarly(date.words)
            }
            try work.store.reseal(by: work.key()) { _ in try reached(.reseal) }
            let removed = removesDevices ? try work.store.removeDevices(of: former) : 0
            try work.store.retire(by: work.key(), now: now())
            let devices = try work.store.devices()[former.number] ?? 0
            var next = ["start the router"]
            if devices > 0 {
                next.append(
                    "\(devices) devices have not moved: they stay, without sealed pushes, until their apps register again"
                )
            }
            let done = "The former key retired." + (removed > 0 ? " \(removed) devices were removed." : "")
            return try work.report(done, next: next)
        }
    }

    private func carry(out goal: KeyChangeGoal, _ work: KeyWork, retiresAt: Timestamp) throws {
        while let step = try work.progress().step(to: goal) {
            switch step {
            case .writeNextFile:
                try work.refuseCredentialKey()
                switch goal {
                case .rotate:
                    _ = try work.nextFile.create(random: random)
                case .undo:
                    guard let former = try work.store.table().former,
                        let pair = try work.store.pair(of: former.key, by: work.key())
                    else { throw KeyChangeError.lostKey }
                    try work.nextFile.write(pair)
                }
            case .removeNextFile:
                try work.removeNextFile()
            case .prepare:
                try work.store.begin(work.nextFile.read(), after: work.key(), retiresAt: retiresAt, now: now())
            case .discard:
                try work.store.discard()
            case .replaceFile:
                try work.replaceKeyFile()
            case .commit:
                try work.store.commit(work.key())
            case .reseal:
                try work.store.reseal(by: work.key()) { _ in try reached(.reseal) }
            case .dropWithdrawn:
                try work.store.retire(by: work.key(), now: now())
            }
            try reached(step)
        }
    }

    private func working<Value>(_ body: (KeyWork) throws -> Value) throws -> Value {
        let path = configuration.store.path
        guard FileManager.default.fileExists(atPath: path) else { throw KeyChangeError.noRouter(store: path) }
        let lock = try StoreLock(store: path)
        defer { withExtendedLifetime(lock) {} }
        if let unusable = UnusableStore(configuration) { throw unusable }
        let store = try RegistryStore(path: path)
        guard try !store.isShared() else { throw KeyChangeError.memberStore }
        let work = KeyWork(configuration: configuration, store: RouterKeyStore(store, random: random))
        // Rejects a key that does not belong to this store, before any change.
        try work.store.commit(work.key())
        return try body(work)
    }
}

/// The files and the registry during a change.
private struct KeyWork {
    let store: RouterKeyStore
    let nextFile: IdentityFile
    private let keyFile: IdentityFile
    private let storePath: String

    init(configuration: Configuration, store: RouterKeyStore) {
        self.store = store
        storePath = configuration.store.path
        // A rename onto a symbolic link would replace the link.
        let path = URL(fileURLWithPath: configuration.identity.keyFile).resolvingSymlinksInPath().path
        keyFile = IdentityFile(path: path)
        nextFile = IdentityFile(path: path + ".next")
    }

    func key() throws -> KeyPair { try keyFile.read() }

    var isWithdrawn: Bool { get throws { try store.table().isWithdrawn } }

    func progress() throws -> KeyChangeProgress {
        let (key, table) = (try key(), try store.table())
        var progress = KeyChangeProgress(keyFile: key.publicKey)
        NewSecretFile.removeRemains(of: nextFile.path)
        progress.nextFile = nextFile.exists ? try nextFile.read().publicKey : nil
        progress.next = table.next?.key
        if let former = table.former {
            progress.former = former.key
            progress.isWithdrawn = table.isWithdrawn
            progress.formerHasDevices = try store.devices()[former.number] ?? 0 > 0
        }
        if table.next?.key != key.publicKey { progress.isResealed = try store.isResealed(by: key) }
        return progress
    }

    /// A systemd credential is a copy in a read-only directory.
    func refuseCredentialKey() throws {
        let folder = URL(fileURLWithPath: keyFile.path).deletingLastPathComponent().path
        var place = statvfs()
        let isReadOnly = statvfs(folder, &place) == 0 && place.f_flag & UInt(ST_RDONLY) != 0
        guard isReadOnly || folder.hasPrefix("/run/credentials/") else { return }
        throw KeyChangeError.credentialKey(
            keyFile.path,
            storeFolder: URL(fileURLWithPath: storePath).deletingLastPathComponent().path
        )
    }

    func removeNextFile() throws {
        guard unlink(nextFile.path) == 0 || errno == ENOENT else { throw fileError("cannot remove \(nextFile.path)") }
    }

    func replaceKeyFile() throws {
        guard rename(nextFile.path, keyFile.path) == 0 else { throw fileError("cannot replace \(keyFile.path)") }
        NewSecretFile.flushFolder(of: keyFile.path)
    }

    func report(_ done: String, next: [String] = []) throws -> KeyReport {
        KeyReport(try store.table(), try store.devices(), key: try key().publicKey, done: done, next: next)
    }

    private func fileError(_ what: String) -> KeyChangeError {
        .file("\(what): \(String(cString: strerror(errno)))")
    }
}

/// The error for a key that cannot be changed now.
package struct KeyChangeError: Error, Hashable, CustomStringConvertible {
    package let description: String

    static func noRouter(store: String) -> KeyChangeError {
        KeyChangeError(description: "there is no router yet: \(store) is missing")
    }

    static let withdrawnKey = KeyChangeError(
        description: "a new key was undone and some devices are registered to it: give it up first, with carillon keys "
            + "retire --now"
    )

    static let unfinished = KeyChangeError(
        description:
            "a key change is in progress: finish it with carillon keys rotate, or cancel it with carillon keys undo"
    )

    static let lostKey = KeyChangeError(description: "the former key is no longer in the registry")

    /// The other members would keep the former key and could not decrypt messages of this one.
    static let memberStore = KeyChangeError(
        description: "this is a cluster member's store, and all members share the key: stop them, run carillon cluster "
            + "export, run this again, then run carillon cluster adopt"
    )

    static func tooEarly(_ date: String) -> KeyChangeError {
        KeyChangeError(description: "the former key retires at \(date): use --now to retire it earlier")
    }

    static func credentialKey(_ path: String, storeFolder: String) -> KeyChangeError {
        KeyChangeError(
            description:
                "\(path) cannot be replaced: its folder is read-only, as for a systemd credential. Copy the key to "
                + "\(storeFolder), with the owner of the store, set identity.key_file to the copy, and run this again. "
                + "Afterwards it can be a systemd credential again (see keys.md)"
        )
    }

    static func file(_ description: String) -> KeyChangeError { KeyChangeError(description: description) }
}

/// The goal of a key change.
package enum KeyChangeGoal: Sendable {
    /// A new key next to the old one.
    case rotate
    /// The old key again. The new key stays next to it while devices are registered to it.
    case undo
}

/// A step of a key change. After each step a router can start, and the change can be continued or undone.
package enum KeyChangeStep: Hashable, Sendable {
    /// Writes the next key to a file next to the key file.
    case writeNextFile
    case removeNextFile
    /// Prepares the registry, so that the key in either file opens it.
    case prepare
    /// Discards the preparation.
    case discard
    /// Replaces the key file by the file with the next key.
    case replaceFile
    /// Makes the next key the current one, the only one that opens the registry.
    case commit
    /// Reseals all values in the registry.
    case reseal
    /// Removes a withdrawn key that no device is registered to.
    case dropWithdrawn
}

/// The progress of a key change, read from files and registry. It determines the next step, even after an interruption
/// at any point.
struct KeyChangeProgress: Hashable {
    /// The key in the key file.
    var keyFile: PublicKey
    /// The key in the file next to it; nil if there is no file.
    var nextFile: PublicKey?
    /// The key that the registry is prepared for; nil if it is not prepared.
    var next: PublicKey?
    /// The second key that the router accepts; nil if there is none.
    var former: PublicKey?
    /// Whether ``former`` is a new key that was undone.
    var isWithdrawn = false
    /// Whether any device is registered to ``former``.
    var formerHasDevices = false
    /// Whether all values are sealed under the newest root.
    var isResealed = true

    /// Returns the next step; nil if the change is complete.
    func step(to goal: KeyChangeGoal) -> KeyChangeStep? {
        // The key file is already replaced, so only a commit can follow.
        if let next, next == keyFile { return .commit }
        if let next {
            return next == nextFile && leads(next, to: goal) ? .replaceFile : .discard
        }
        if let nextFile {
            return nextFile != keyFile && leads(nextFile, to: goal) ? .prepare : .removeNextFile
        }
        switch goal {
        case .rotate:
            if former == nil { return .writeNextFile }
            return isResealed ? nil : .reseal
        case .undo:
            guard former != nil else { return nil }
            if !isWithdrawn { return .writeNextFile }
            return formerHasDevices ? nil : isResealed ? .dropWithdrawn : .reseal
        }
    }

    /// Whether replacing the current key by `key` leads to the goal. Only an undo restores the former key.
    private func leads(_ key: PublicKey, to goal: KeyChangeGoal) -> Bool {
        switch goal {
        case .rotate: former == nil
        case .undo: key == former && !isWithdrawn
        }
    }
}
