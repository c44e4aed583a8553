/// A plugin that loaded, for the log, the console and `carillon plugin list`.
package struct LoadedPlugin: Sendable, Hashable {
    package var id: String
    package var version: String
    /// The minor version of the ABI that it was built with.
    package var abiMinor: UInt32
    /// Of its file, 64 hex digits in lower case: what a pin holds.
    package var sha256: String
    /// Absolute, symbolic links resolved.
    package var path: String
    /// The transports it offers, by platform.
    package var platforms: [String]
    package var filters: [LoadedFilter]
}
