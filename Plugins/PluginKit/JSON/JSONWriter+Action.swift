extension JSONWriter {
    /// A button as an object of `id`, `label` and, where they are set, `url` and `icon` (seed 002). One without an id or a
    /// label could not be shown and becomes nothing.
    public mutating func action(_ action: Action) {
        guard !action.id.isEmpty, !action.label.isEmpty else { return }
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
}
