extension JSONWriter {
    /// A button as an object of `id`, `label` and, where they are set, `url` and `icon` (seed 002).
    public mutating func action(_ action: Action) {
        beginObject()
        key("id")
        string(action.id)
        key("label")
        string(action.label)
        if !action.url.isEmpty {
            key("url")
            string(action.url)
        }
        if !action.icon.isEmpty {
            key("icon")
            string(action.icon)
        }
        endObject()
    }

    /// The first `limit` buttons of a notification as an array; an empty one where it has none to show.
    public mutating func actions(of notification: borrowing Notification, limit: Int = .max) {
        beginArray()
        notification.forEachAction(limit: limit) { action($0) }
        endArray()
    }
}
