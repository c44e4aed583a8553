package import PluginKit

extension JSONWriter {
    /// Writes what the host encrypted as the member `sealed`.
    package mutating func envelope(_ notification: borrowing Notification) throws(MessageMistake) {
        let sealed = try JSONObject(notification.sealed, or: .badEnvelope)
        key("sealed")
        beginObject()
        members(of: sealed)
        endObject()
    }
}
