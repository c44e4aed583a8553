import PluginKit

extension Action {
    /// One of `action_buttons` (seed 002).
    func write(to writer: inout JSONWriter) {
        guard !id.isEmpty, !label.isEmpty else { return }
        writer.beginObject()
        writer.key("id")
        writer.string(id)
        writer.key("label")
        writer.string(label)
        if !url.isEmpty {
            writer.key("url")
            writer.string(url)
        }
        if !icon.isEmpty {
            writer.key("icon")
            writer.string(icon)
        }
        writer.endObject()
    }
}
