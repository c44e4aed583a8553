import PluginKit
import Synchronization

/// Apple's id of an app on a device: hex digits. Apple does not specify the length and may change it.
enum DeviceToken {
    static let lengths = 64...256

    /// The format as text, for errors.
    static let description = "an even number of hex digits from \(lengths.lowerBound) to \(lengths.upperBound)"

    static func isValid(_ text: BorrowedText) -> Bool {
        guard lengths.contains(text.count), text.count.isMultiple(of: 2) else { return false }
        // Without branches or an early exit, so that the compiler can vectorize it.
        var flaws: UInt8 = 0
        for byte in text.bytes {
            flaws |= (byte &- 0x30 < 10 ? 0 : 1) & ((byte | 0x20) &- 0x61 < 6 ? 0 : 1)
        }
        return flaws == 0
    }
}

/// Additional tokens of a registration, one for each kind of push that has its own token. An empty or malformed token
/// counts as absent.
enum DeviceTokens {
    static let fields: [StaticString] = [
        "live_activity_token", "live_activity_start_token", "voip_token", "location_token", "complication_token",
        "fileprovider_token", "pushtotalk_token", "widgets_token", "controls_token", "mdm_token",
    ]

    /// The value that a managed device expects in a push (Apple, "Device Management").
    static let pushMagic: StaticString = "mdm_push_magic"
    static let pushMagicLengths = 1...256

    /// Returns the token for pushes of a type; nil for the device token, and if the device accepts no such pushes.
    static func token(for type: PushType, _ registration: borrowing Registration) -> BorrowedText? {
        switch type {
        case .alert, .background: nil
        case .location: token(registration, "location_token")
        case .voip: token(registration, "voip_token")
        case .complication: token(registration, "complication_token")
        case .fileProvider: token(registration, "fileprovider_token")
        case .mdm: token(registration, "mdm_token")
        case .liveActivity: token(registration, "live_activity_token")
        case .pushToTalk: token(registration, "pushtotalk_token")
        case .widgets: token(registration, "widgets_token")
        case .controls: token(registration, "controls_token")
        }
    }

    /// Returns the token for an event of a Live Activity: that of the running activity, or the push-to-start token for
    /// a start.
    static func liveActivity(_ event: LiveActivity.Event, _ registration: borrowing Registration) -> BorrowedText? {
        (event == .start ? token(registration, "live_activity_start_token") : nil)
            ?? token(for: .liveActivity, registration)
    }

    private static func token(_ registration: borrowing Registration, _ name: StaticString) -> BorrowedText? {
        registration.field(name).flatMap { DeviceToken.isValid($0) ? $0 : nil }
    }
}

/// Checks registrations of devices and of broadcast channels.
struct RegistrationCheck {
    /// The key that registrations of channels must present; nil: channels cannot be registered.
    let broadcastKey: BroadcastKey?

    func check(_ registration: borrowing Registration) throws(PluginError) {
        if ChannelID.isNamed(by: registration.token) {
            try checkChannel(registration)
        } else {
            try checkDevice(registration)
        }
        if let environment = registration.field("environment"), !environment.isEmpty,
            !Origins.isEnvironment(environment)
        {
            throw PluginError("environment: expected production or sandbox")
        }
    }

    private func checkChannel(_ registration: borrowing Registration) throws(PluginError) {
        guard let broadcastKey else {
            throw PluginError("token: expected an APNs device token, because this router sends no broadcasts")
        }
        guard ChannelID(token: registration.token) != nil else {
            throw PluginError("token: expected \(ChannelID.description)")
        }
        guard broadcastKey.isSame(as: registration.field("broadcast_key")) else {
            throw PluginError("broadcast_key: expected the key of the router's operator")
        }
    }

    private func checkDevice(_ registration: borrowing Registration) throws(PluginError) {
        guard DeviceToken.isValid(registration.token) else {
            throw PluginError("token: expected an APNs device token, \(DeviceToken.description)")
        }
        for name in DeviceTokens.fields {
            if let token = registration.field(name), !token.isEmpty, !DeviceToken.isValid(token) {
                throw PluginError("\(name): expected \(DeviceToken.description), or an empty text")
            }
        }
        guard DeviceTokens.token(for: .mdm, registration) != nil else { return }
        let lengths = DeviceTokens.pushMagicLengths
        guard let magic = registration.field(DeviceTokens.pushMagic), lengths.contains(magic.count) else {
            throw PluginError(
                "\(DeviceTokens.pushMagic): expected the device's push magic with mdm_token, "
                    + "\(lengths.lowerBound) to \(lengths.upperBound) bytes"
            )
        }
    }
}

/// A token's hash. It differs in every process and reveals nothing about the token.
struct TokenKey: Hashable, Sendable {
    private let hash: Int

    init(_ token: BorrowedText) {
        var hasher = Hasher()
        hasher.combine(bytes: token.bytes)
        hash = hasher.finalize()
    }
}

/// A bounded map of values by token that does not store the tokens. It keeps the latest `capacity` values or more, up
/// to twice as many.
final class TokenMemory<Value: Sendable>: Sendable {
    private struct State {
        var latest: [TokenKey: Value] = [:]
        var older: [TokenKey: Value] = [:]
    }

    private let state = Mutex(State())
    /// Whether it was ever written to. Most routers never do, and then need no lock.
    private let isUsed = Atomic(false)
    private let capacity: Int

    init(capacity: Int = 65_536) {
        self.capacity = capacity
    }

    func value(of token: BorrowedText) -> Value? {
        guard isUsed.load(ordering: .relaxed) else { return nil }
        let key = TokenKey(token)
        return state.withLock { $0.latest[key] ?? $0.older[key] }
    }

    func remember(_ value: Value, of key: TokenKey) {
        isUsed.store(true, ordering: .relaxed)
        state.withLock { state in
            if state.latest.count >= capacity, state.latest[key] == nil {
                state.older = state.latest
                state.latest = [:]
            }
            state.latest[key] = value
        }
    }
}
