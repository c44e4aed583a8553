import PluginKit

/// A background push with the envelope for an app that opens it by itself: what shows nothing goes out like this.
enum SealedPayload {
    static func make(_ notification: borrowing Notification) throws(PayloadMistake) -> [UInt8] {
        guard let sealed = try? notification.sealed.jsonObject() else { throw .badSealed }
        var writer = JSONWriter(reservingBytes: notification.sealed.count + 64)
        writer.beginObject()
        writer.key("aps")
        writer.beginObject()
        writer.key("content-available")
        writer.integer(1)
        writer.endObject()
        writer.key("sealed")
        writer.object(sealed)
        writer.endObject()
        guard writer.bytes.count <= PushType.background.payloadLimit else { throw .tooLarge }
        return writer.bytes
    }
}
