package import PluginKit
package import WebPushEncryption

/// How much of a notification its message holds.
package enum MessageForm: Sendable {
    /// Signal and count.
    case wake
    /// Signal, count and the neutral texts.
    case nudge
    /// What the host has encrypted to the app, passed on.
    case envelope
    /// Everything, in a body of one size whatever it says.
    case sealed
    /// Everything.
    case alert

    /// Push services need not take more, in bytes (RFC 8030 section 7.2). ntfy cuts what is longer without a word.
    private static let plainLimit = 4096

    /// The plaintext of everything sealed, in bytes: what the host's own envelopes hold as well, and little enough for
    /// the bridge to mobile browsers behind Mozilla's push service, which takes bodies of some 2700 bytes.
    private static let sealedLimit = 2048

    /// Messages that are encrypted are padded to a multiple of this: a wake-up's length would tell what it is about, in bytes.
    private static let step = 256

    /// Nil in a mode that is newer than this plugin, and for what cannot be sealed for want of keys.
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

    /// The body of a request: `message` as RFC 8291 encrypts it.
    package func encrypt(_ message: [UInt8], to keys: WebPushKeys) throws(MessageMistake) -> [UInt8] {
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
