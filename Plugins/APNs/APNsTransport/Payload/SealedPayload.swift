import PluginKit

/// A visible push with the envelope that an extension of the app opens, which then shows what is inside.
enum SealedPayload {
    static func make(_ notification: borrowing Notification) throws(PayloadMistake) -> [UInt8] {
        guard let sealed = try? notification.sealed.jsonObject() else { throw .badSealed }
        return try NeutralAlert.make(notification) { writer in
            writer.key("sealed")
            writer.object(sealed)
        }
    }
}
