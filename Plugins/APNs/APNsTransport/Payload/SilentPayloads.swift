import PluginKit

/// A background push that only says that something happened (seed 004 section 2).
enum WakePayload {
    static func make(_ notification: borrowing Notification) throws(PayloadError) -> [UInt8] {
        var writer = JSONWriter(reservingBytes: 128)
        writer.beginObject()
        writer.key("aps")
        writer.beginObject()
        writer.key("content-available")
        writer.integer(1)
        writer.endObject()
        writer.signal(of: notification)
        writer.endObject()
        guard writer.bytes.count <= PushType.background.payloadLimit else { throw .tooLarge }
        return writer.bytes
    }
}

extension JSONWriter {
    /// Writes the signal (`t`) and the number of events of a batch (`n`), except members that `data` has.
    mutating func signal(of notification: borrowing Notification, unlessIn data: JSONObject = JSONObject()) {
        let isBatch = notification.count > 1
        if !data.contains("t") {
            key("t")
            if isBatch { string("batch") } else { string(notification.signal) }
        }
        if isBatch, !data.contains("n") {
            key("n")
            integer(notification.count)
        }
    }
}

/// A background push with the envelope, for notifications without a visible text.
enum SealedPayload {
    static func make(_ notification: borrowing Notification) throws(PayloadError) -> [UInt8] {
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

/// Makes a managed device contact its server: only the device's push magic.
enum MDMPayload {
    /// Nil when the registration has no push magic.
    static func make(_ registration: borrowing Registration) -> [UInt8]? {
        guard let magic = registration.field(DeviceTokens.pushMagic),
            DeviceTokens.pushMagicLengths.contains(magic.count)
        else { return nil }
        var writer = JSONWriter(reservingBytes: 64)
        writer.beginObject()
        writer.member("mdm", magic)
        writer.endObject()
        return writer.bytes
    }
}

/// Makes widgets or controls reload. Only the system reads it (Apple, "Updating widgets with WidgetKit push
/// notifications", "Updating controls locally and remotely").
enum ContentChangedPayload {
    static let bytes = [UInt8](#"{"aps":{"content-changed":true}}"#.utf8)
}
