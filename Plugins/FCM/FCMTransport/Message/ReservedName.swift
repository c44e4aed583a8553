import PluginKit

/// Names that FCM refuses among `data`, or that its library on the device takes for its own.
enum ReservedName {
    static func contains(_ name: String) -> Bool {
        name == "from" || name == "message_type" || name == "collapse_key" || name.hasPrefix("google")
            || name.hasPrefix("gcm")
    }

    /// What such a name is sent as: with an underscore before it.
    static func substitute(for name: String) -> String { "_" + name }
}
