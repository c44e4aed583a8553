import Cipher
import Core
import Nostr
import PlatformTestSupport
import Push
import TimeTestSupport

@testable import Registry

/// A registry on a temporary file, and clients that talk to it.
final class Bench {
    /// 2026-03-14, in seconds.
    static let start: Int64 = 1_773_446_400

    /// That many seconds after ``start``.
    static func time(_ seconds: Int64 = 0) -> Timestamp { Timestamp(seconds: start + seconds) }

    let folder: TemporaryFolder
    let identity: KeyPair
    let clock = ManualClock(time())
    let reports = Reports()
    let codes = PushedCodes()
    private(set) var registry: Registry

    init(
        limits: RegistrationPolicy.Limits = RegistrationPolicy.Limits(),
        check: @escaping PlatformCheck = { _ in },
        prepare: (RegistryStore) throws -> Void = { _ in }
    ) throws {
        folder = try TemporaryFolder()
        identity = try KeyPair(secret: SecretKey(bytes: Array(repeating: 0x11, count: 32)))
        try prepare(RegistryStore(path: folder.file("carillon.sqlite")))
        registry = try Bench.open(folder, identity, clock, reports, codes, limits, check)
    }

    var path: String { folder.file("carillon.sqlite") }

    /// Closes the database and opens it again.
    func reopen() throws {
        registry = try Bench.open(folder, identity, clock, reports, codes, RegistrationPolicy.Limits(), { _ in })
    }

    private static func open(
        _ folder: TemporaryFolder,
        _ identity: KeyPair,
        _ clock: ManualClock,
        _ reports: Reports,
        _ codes: PushedCodes,
        _ limits: RegistrationPolicy.Limits,
        _ check: @escaping PlatformCheck
    ) throws -> Registry {
        try Registry(
            store: RegistryStore(path: folder.file("carillon.sqlite")),
            identity: identity,
            limits: limits,
            now: clock.now,
            platforms: .builtIn,
            changed: { reports.note($0) },
            check: check,
            pushCode: { codes.note($0) }
        )
    }

    /// A key pair that differs with `seed`.
    func account(_ seed: UInt8) throws -> KeyPair {
        try KeyPair(secret: SecretKey(bytes: Array(repeating: seed, count: 32)))
    }

    /// Returns a registration of `account`, `at` seconds after ``start``. The registry gets only verified events, so
    /// the id is arbitrary and the signature is missing.
    func event(
        of account: UInt8,
        _ json: String,
        at seconds: Int64 = 0,
        device: String? = nil,
        id: UInt8 = 0x80,
        kind: Kind = .pushRegistration,
        tags: [[String]]? = nil
    ) throws -> Event {
        let keys = try self.account(account)
        let key = try ConversationKey(secret: keys.secret, public: identity.publicKey)
        let nonce = Array(repeating: account ^ id, count: NIP44.nonceByteCount)
        let content = json.isEmpty ? "" : try NIP44.encrypt(json, key: key, nonce: nonce)
        return try event(
            of: account,
            content: content,
            at: seconds,
            device: device,
            id: id,
            kind: kind,
            tags: tags
        )
    }

    /// The same with unencrypted content.
    func event(
        of account: UInt8,
        content: String,
        at seconds: Int64 = 0,
        device: String? = nil,
        id: UInt8 = 0x80,
        kind: Kind = .pushRegistration,
        tags: [[String]]? = nil
    ) throws -> Event {
        let ours = identity.publicKey.hex
        return Event(
            id: EventID(Bytes32(repeating: id)),
            pubkey: try self.account(account).publicKey,
            createdAt: Self.start + seconds,
            kind: kind,
            tags: tags ?? [["d", device.map { "\(ours):\($0)" } ?? ours]],
            content: content,
            signature: Signature(first: Bytes32(repeating: 0), second: Bytes32(repeating: 0))
        )
    }

    /// Returns the tokens of an account's devices, from a fresh index and the vault.
    func tokens(of account: UInt8) throws -> [String] {
        let index = try registry.load()
        return try devices(of: account, in: index).map { try registry.address(of: $0)?.token ?? "none" }.sorted()
    }

    func devices(of account: UInt8, in index: borrowing MatchIndex) throws -> [DeviceID] {
        var devices: [DeviceID] = []
        if let number = index.account(of: try self.account(account).publicKey) {
            index.forEachDevice(of: number) { devices.append($0.device) }
        }
        return devices.sorted()
    }
}
