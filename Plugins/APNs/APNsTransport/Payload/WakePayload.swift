import PluginKit

/// A background push that says only that something happened (seed 004 section 2).
enum WakePayload {
    static func make(_ notification: borrowing Notification) -> [UInt8] {
        var writer = JSONWriter(reservingBytes: 128)
        writer.beginObject()
        writer.key("aps")
        writer.beginObject()
        writer.key("content-available")
        writer.integer(1)
        writer.endObject()
        writer.key("t")
        if notification.count > 1 {
            writer.string("batch")
            writer.key("n")
            writer.integer(notification.count)
        } else {
            writer.string(notification.signal)
        }
        writer.endObject()
        return writer.bytes
    }
}
