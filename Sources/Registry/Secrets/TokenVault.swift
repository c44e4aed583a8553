import Cipher
import Core
import Nostr
import Push

/// Seals data that a stolen database must not reveal: tokens, endpoints, subscription keys, preferences and plugin
/// state.
///
/// Uses AES-256-GCM with a key derived by HKDF (RFC 5869) from a root of the ``KeyRing``, a fresh nonce per value, and
/// the device's number as additional data, so that a value opens in its own row only. The first byte is the root's
/// number.
package struct TokenVault: Sendable, Concealed {
    /// The kind of sealed data, which is part of the additional data.
    package enum Purpose: UInt8, Sendable {
        case address = 1
        case content = 2
        case preferences = 3
    }

    private static let secondsPerDay: Int64 = 86_400
    /// The keys by the number of their root.
    private let sealingKeys: [UInt8: [UInt8]]
    /// The number of the root that seals new values.
    private let sealingRoot: UInt8
    private let findingKey: [UInt8]
    private let codeKey: [UInt8]
    /// Hashes the keys that accounts follow.
    let followedHash: KeyHash
    private let random: RandomBytes

    /// The vault of a router whose key never changed. `random` must be unpredictable, or fixed in a test.
    package init(identity: SecretKey, random: @escaping RandomBytes = SecureRandom.bytes) throws {
        try self.init(KeyRing(identity: identity), random: random)
    }

    init(_ ring: KeyRing, random: @escaping RandomBytes = SecureRandom.bytes) throws {
        let root = ring.seeds[.registry]
        var sealingKeys: [UInt8: [UInt8]] = [:]
        for root in ring.roots {
            let info = Array("seal 1".utf8)
            sealingKeys[root.number] = try HKDFSHA256.expand(pseudoRandomKey: root.bytes, info: info, length: 32)
        }
        self.sealingKeys = sealingKeys
        sealingRoot = ring.roots.last?.number ?? 0
        findingKey = try HKDFSHA256.expand(pseudoRandomKey: root, info: Array("find 1".utf8), length: 32)
        codeKey = try HKDFSHA256.expand(pseudoRandomKey: root, info: Array("code 1".utf8), length: 32)
        followedHash = KeyHash(
            seed: try HKDFSHA256.expand(
                pseudoRandomKey: root,
                info: Array("follow 1".utf8),
                length: KeyHash.seedByteCount
            )
        )
        self.random = random
    }

    /// Returns 16 bytes that identify a token and, without the router's key, reveal no part of it.
    package func handle(of token: String) -> [UInt8] {
        Array(HMACSHA256.authenticationCode(for: Array(token.utf8), key: findingKey).prefix(16))
    }

    /// The code for the target of that handle on a day, counted since 1970.
    func code(for target: [UInt8], day: Int64) -> TargetCode {
        let day = withUnsafeBytes(of: day.bigEndian) { Array($0) }
        return TargetCode(digest: Array(HMACSHA256.authenticationCode(for: target + day, key: codeKey)))
    }

    /// The code for a target at `now`, and its expiry: the end of the next UTC day.
    func code(for target: [UInt8], at now: Timestamp) -> (TargetCode, expiresAt: Timestamp) {
        let day = now.seconds / Self.secondsPerDay
        return (code(for: target, day: day), Timestamp(seconds: (day + 2) * Self.secondsPerDay))
    }

    /// Whether `typed` is a code for the target that is valid at `now`.
    func isCode(_ typed: String, for target: [UInt8], at now: Timestamp) -> Bool {
        let day = now.seconds / Self.secondsPerDay
        return [day, day - 1].contains { code(for: target, day: $0).isSpelled(by: typed) }
    }

    /// The handle of a chosen target.
    func handle(of target: ChosenTarget) -> [UInt8] { handle(of: target.name) }

    package func seal(_ plaintext: [UInt8], of device: DeviceID, for purpose: Purpose) throws -> [UInt8] {
        try seal(plaintext, authenticating: Self.additionalData(device, purpose))
    }

    private func seal(_ plaintext: [UInt8], authenticating additionalData: [UInt8]) throws -> [UInt8] {
        let nonce = random(AESGCM.nonceByteCount)
        let key = sealingKeys[sealingRoot] ?? []
        let sealed = try AESGCM.seal(plaintext, key: key, nonce: nonce, authenticating: additionalData)
        return [sealingRoot] + nonce + sealed
    }

    /// Whether the value was sealed under an earlier root than the current one.
    func isOutdated(_ sealed: [UInt8]) -> Bool { sealed.first != sealingRoot }

    /// Throws a ``RegistryStoreError`` unless `sealed` was sealed by the same identity for the same device and purpose.
    package func open(_ sealed: [UInt8], of device: DeviceID, for purpose: Purpose) throws -> [UInt8] {
        guard let opened = open(sealed, authenticating: Self.additionalData(device, purpose)) else {
            throw RegistryStoreError.unreadableSeal(device)
        }
        return opened
    }

    /// Returns nil if the value is damaged, or was sealed by another identity or with other data.
    private func open(_ sealed: [UInt8], authenticating additionalData: [UInt8]) -> [UInt8]? {
        let nonceEnd = 1 + AESGCM.nonceByteCount
        guard let key = sealed.first.flatMap({ sealingKeys[$0] }), sealed.count >= nonceEnd + AESGCM.tagByteCount
        else { return nil }
        return try? AESGCM.open(
            Array(sealed[nonceEnd...]),
            key: key,
            nonce: Array(sealed[1..<nonceEnd]),
            authenticating: additionalData
        )
    }

    // MARK: Plugin state

    /// Returns 16 bytes that identify a key of an owner and, without the router's key, reveal no part of it.
    func handle(ofState key: [UInt8], owner: String) -> [UInt8] {
        let name = Array("plugin state\0\(owner)\0".utf8)
        return Array(HMACSHA256.authenticationCode(for: name + key, key: findingKey).prefix(16))
    }

    /// Seals a key of at most 255 bytes with its value.
    func seal(_ entry: StateEntry, ofOwner owner: String) throws -> [UInt8] {
        let plaintext = [UInt8(truncatingIfNeeded: entry.key.count)] + entry.key + entry.value
        return try seal(plaintext, authenticating: Self.additionalData(owner))
    }

    /// Returns nil if the value is damaged, or was sealed by another identity or for another owner.
    func openState(_ sealed: [UInt8], ofOwner owner: String) -> StateEntry? {
        guard let plaintext = open(sealed, authenticating: Self.additionalData(owner)),
            let length = plaintext.first.map(Int.init), plaintext.count > length
        else { return nil }
        return StateEntry(key: Array(plaintext[1...length]), value: Array(plaintext[(length + 1)...]))
    }

    /// Starts with a byte that no ``Purpose`` has.
    private static func additionalData(_ owner: String) -> [UInt8] { [0x40] + Array(owner.utf8) }

    /// Seals preferences; nil if there are none.
    func seal(_ preferences: DevicePreferences, of device: DeviceID) throws -> [UInt8]? {
        preferences.isEmpty ? nil : try seal(DevicePreferencesCodec.encode(preferences), of: device, for: .preferences)
    }

    func openPreferences(_ sealed: [UInt8], of device: DeviceID) throws -> DevicePreferences {
        guard let preferences = DevicePreferencesCodec.decode(try open(sealed, of: device, for: .preferences))
        else { throw RegistryStoreError.unreadableSeal(device) }
        return preferences
    }

    private static func additionalData(_ device: DeviceID, _ purpose: Purpose) -> [UInt8] {
        [purpose.rawValue] + withUnsafeBytes(of: device.rawValue.bigEndian) { Array($0) }
    }
}

/// A code that proves that an account reads the target that it registers.
package struct TargetCode: Hashable, Sendable, Concealed {
    /// Crockford's base 32, which omits letters that people confuse with digits.
    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")

    /// As in `7Z0KQ-2MXWA`.
    package let text: String

    /// `digest` must have at least ten bytes.
    init(digest: [UInt8]) {
        let digits = digest.prefix(10).map { Self.alphabet[Int($0 & 31)] }
        text = String(digits.prefix(5)) + "-" + String(digits.dropFirst(5))
    }

    /// Whether `typed` is this code, allowing for the ways in which people type it.
    func isSpelled(by typed: String) -> Bool {
        let digits = typed.uppercased().compactMap { digit -> Character? in
            switch digit {
            case "O": "0"
            case "I", "L": "1"
            case "-", " ": nil
            default: digit
            }
        }
        return digits.elementsEqual(text.filter { $0 != "-" })
    }
}

/// A code to push to a target, through the device that owns it.
package struct TargetCodeRequest: Hashable, Sendable {
    package let device: DeviceID
    package let route: Route
    package let code: TargetCode
    /// When the code expires.
    package let expiresAt: Timestamp
}
