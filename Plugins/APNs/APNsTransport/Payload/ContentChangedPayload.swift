/// Has widgets or controls ask for what is new: only the system reads it, so nothing else is told (Apple, "Updating widgets
/// with WidgetKit push notifications", "Updating controls locally and remotely").
enum ContentChangedPayload {
    static let bytes = [UInt8](#"{"aps":{"content-changed":true}}"#.utf8)
}
