import Core

/// The address of a push: one device as its owner registered it. All of it is secret and must not be logged.
package struct DeviceAddress: Sendable, Hashable {
    private struct Values: Sendable, Hashable {
        var platform: String
        var app: String
        var token: String
        var fields: [String: String]
        var registeredAt: Timestamp
        var isProven: Bool
        var mode: Mode?
    }

    private final class Storage: Sendable {
        let values: Values

        init(_ values: Values) { self.values = values }
    }

    /// Shared by copies: an address stays in memory and is copied about eight times with each push. Each copy of its
    /// strings would need reference counting.
    private var storage: Storage

    private mutating func change(_ body: (inout Values) -> Void) {
        var values = storage.values
        body(&values)
        storage = Storage(values)
    }

    package static func == (left: DeviceAddress, right: DeviceAddress) -> Bool {
        left.storage === right.storage || left.storage.values == right.storage.values
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(storage.values) }

    /// The platform that serves it: `ios`, `android`, `unifiedpush`, `web`, or a plugin's name.
    package var platform: String {
        get { storage.values.platform }
        set { change { $0.platform = newValue } }
    }
    /// The operator's app block that it belongs to.
    package var app: String {
        get { storage.values.app }
        set { change { $0.app = newValue } }
    }
    /// The device token, or the endpoint URL.
    package var token: String {
        get { storage.values.token }
        set { change { $0.token = newValue } }
    }
    /// More fields of the registration, such as `p256dh` and `auth`.
    package var fields: [String: String] {
        get { storage.values.fields }
        set { change { $0.fields = newValue } }
    }
    /// When the owner last registered it. An older GONE does not apply to it.
    package var registeredAt: Timestamp {
        get { storage.values.registeredAt }
        set { change { $0.registeredAt = newValue } }
    }
    /// Whether its push service accepted a push for this token before.
    package var isProven: Bool {
        get { storage.values.isProven }
        set { change { $0.isProven = newValue } }
    }

    /// The mode of its newest registration; nil if it chose none. No push shows more.
    package var mode: Mode? {
        get { storage.values.mode }
        set { change { $0.mode = newValue } }
    }

    package init(
        platform: String,
        app: String,
        token: String,
        fields: [String: String] = [:],
        registeredAt: Timestamp,
        isProven: Bool = true
    ) {
        storage = Storage(
            Values(
                platform: platform,
                app: app,
                token: token,
                fields: fields,
                registeredAt: registeredAt,
                isProven: isProven
            )
        )
    }
}

/// A device's number in the registry; never reused.
package struct DeviceID: RawRepresentable, Hashable, Sendable, Comparable {
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    package static func < (left: DeviceID, right: DeviceID) -> Bool { left.rawValue < right.rawValue }

    /// Used only by sets and dictionaries of these values. The registry counts devices, so attackers cannot choose
    /// their numbers. A hash that resists this would take three times as long.
    package func _rawHashValue(seed: Int) -> Int {
        let product = UInt64(bitPattern: rawValue ^ Int64(seed)).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
        return Int(truncatingIfNeeded: product.high ^ product.low)
    }
}

/// The key that a sealed notification is encrypted to: one from the registration, or the one that signed it.
package enum SealingKey: Hashable, Sendable {
    /// An x-only key on secp256k1, 32 bytes (NIP-44).
    case nip44([UInt8])
    /// The keys of a subscription as in the registration (RFC 8291).
    case webPush(p256dh: String, auth: String)
}

/// The result of one delivery attempt. Each kind requires a specific action of the registry or the queue.
package struct Outcome: Sendable, Hashable {
    /// The values are the ABI's `carillon_outcome_kind`.
    package enum Kind: Int32, Sendable, CaseIterable {
        /// The push service accepted the message.
        case delivered = 0
        /// The push service reports that this registration is dead. Only this deletes a device.
        case gone = 1
        /// This message can never be accepted, and is dropped.
        case rejected = 2
        /// A transient error, including every network error.
        case retry = 3
        /// The operator's credentials are invalid. The transport is paused, and the operator is notified.
        case misconfigured = 4
    }

    /// The scope of a ``Kind/retry``, which is paused until then. The values are the ABI's `carillon_scope`.
    package enum Scope: Int32, Sendable, CaseIterable {
        /// The host, if there is a time to wait and users choose the endpoint, or else the device.
        case usual = 0
        case device = 1
        /// All deliveries to the host of the device's endpoint.
        case host = 2
        /// All deliveries in the queue, because the app's quota is used up.
        case transport = 3
    }

    package var kind: Kind
    /// The push service's HTTP status, or 0.
    package var status: UInt32
    /// The delay that the push service requested. Zero means that the host decides.
    package var retryAfter: Duration
    /// One word of a small fixed set, fit for a metric label. Must not contain tokens, keys or content.
    package var reason: String
    package var scope: Scope

    package init(
        _ kind: Kind,
        status: UInt32 = 0,
        retryAfter: Duration = .zero,
        reason: String,
        scope: Scope = .usual
    ) {
        self.kind = kind
        self.status = status
        self.retryAfter = retryAfter
        self.reason = reason
        self.scope = scope
    }
}
