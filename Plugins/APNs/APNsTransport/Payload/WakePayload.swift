import PluginKit

/// A background push that says only that something happened (seed 004 section 2).
enum WakePayload {
    static func make(_ notification: borrowing Notification) throws(PayloadMistake) -> [UInt8] {
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
    /// What happened: `t`, and of several events `n`, but for members that `data` has.
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
