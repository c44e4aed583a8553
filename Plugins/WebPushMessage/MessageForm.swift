package import PluginKit
package import WebPushEncryption

/// How much of a notification a message contains.
package enum MessageForm: Sendable {
    /// Signal and count.
    case wake
    /// Signal, count and the neutral texts.
    case nudge
    /// The host's envelope, which is encrypted to the app already.
    case envelope
    /// Everything, in a body of constant size.
    case sealed
    /// Everything.
    case alert

    /// Push services need not accept more, in bytes (RFC 8030 section 7.2). ntfy cuts longer messages silently.
    private static let plainLimit = 4096

    /// The plaintext of sealed messages, in bytes: as large as the host's own envelopes, and small enough for the
    /// bridge to mobile browsers behind Mozilla's push service, which accepts bodies of about 2700 bytes.
    private static let sealedLimit = 2048

    /// Encrypted messages are padded to a multiple of this, in bytes: the length of a wake-up would reveal its signal.
    private static let step = 256

    /// Nil for an unknown mode, and for a sealed notification without keys.
    package init?(of notification: borrowing Notification, hasKeys: Bool) {
        switch notification.mode {
        case .wake: self = .wake
        case .nudge: self = .nudge
        case .sealed where !notification.sealed.isEmpty: self = .envelope
        case .sealed where hasKeys: self = .sealed
        case .alert: self = .alert
        case .sealed, nil: return nil
        }
    }

    /// The longest message, in bytes.
    package func limit(isEncrypted: Bool) -> Int {
        switch self {
        case .sealed: Self.sealedLimit
        case .wake, .nudge, .envelope, .alert:
            isEncrypted ? WebPushEncryption.maximumPlaintextByteCount : Self.plainLimit
        }
    }

    /// The body of a request: the message encrypted by RFC 8291.
    package func encrypt(_ message: [UInt8], to keys: WebPushKeys) throws(MessageError) -> [UInt8] {
        do {
            return try WebPushEncryption.encrypt(message, paddedTo: paddedSize(of: message.count), to: keys)
        } catch {
            throw .notEncrypted
        }
    }

    private func paddedSize(of count: Int) -> Int {
        switch self {
        case .sealed: Self.sealedLimit
        case .wake, .nudge, .envelope, .alert:
            max(count, min((count + Self.step - 1) / Self.step * Self.step, limit(isEncrypted: true)))
        }
    }
}
