/// A file or folder that was not loaded, and why. Everything else goes on.
package struct PluginRefusal: Error, Sendable, Hashable, CustomStringConvertible {
    package var path: String
    package var reason: Reason

    package init(path: String, reason: Reason) {
        self.path = path
        self.reason = reason
    }

    package var description: String { "\(path): \(reason)" }
}
