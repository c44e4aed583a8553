import PluginKit

/// The `aps` of an alert whose texts say neither who nor what, and which starts the app's extension.
enum NeutralAlert {
    /// A payload of it and what `rest` writes beside `aps`.
    static func make(
        _ notification: borrowing Notification,
        _ rest: (inout JSONWriter) -> Void
    ) throws(PayloadMistake) -> [UInt8] {
        let bytes = FittedPayload.make(limit: PushType.alert.payloadLimit) { writer, limits in
            var lengths = FittedPayload.Lengths()
            writer.beginObject()
            writer.key("aps")
            writer.beginObject()
            writer.key("alert")
            writer.beginObject()
            lengths.title = writer.member("title", notification.title, limit: limits.title)
            lengths.body = writer.member("body", notification.body, limit: limits.body)
            writer.endObject()
            writer.key("mutable-content")
            writer.integer(1)
            writer.endObject()
            rest(&writer)
            writer.endObject()
            return lengths
        }
        guard let bytes else { throw .tooLarge }
        return bytes
    }
}
