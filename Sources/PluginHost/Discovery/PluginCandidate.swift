/// A file found in a plugin folder.
struct PluginCandidate: Sendable, Hashable {
    /// The name by which it was found, which pins and shadowing go by.
    var name: String
    /// Absolute.
    var path: String
}
