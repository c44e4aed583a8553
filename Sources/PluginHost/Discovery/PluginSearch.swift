/// Where plugins are looked for, and what is known about them beforehand.
package struct PluginSearch: Sendable {
    /// Absolute paths, searched in this order: the first file of a name wins, even when it is refused.
    package var folders: [String]
    /// SHA-256 by file name (`apns.so`), 64 hex digits: a file whose content differs is refused. Files without a pin load.
    package var pins: [String: String]

    package init(folders: [String], pins: [String: String] = [:]) {
        self.folders = folders
        self.pins = pins
    }
}
