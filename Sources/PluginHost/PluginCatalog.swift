import Notifications
import Platforms

/// What a search for plugins came to.
package struct PluginCatalog: Sendable {
    /// What loaded, in the order of folders and file names.
    package var plugins: [LoadedPlugin] = []
    /// What did not, and why; none of it keeps the rest from running.
    package var refusals: [PluginRefusal] = []
}

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
    /// What it says about those of its platforms that it describes.
    package var descriptions: [String: PlatformDescription]
    package var filters: [LoadedFilter]

    /// The platform with its name for people and the key of its block in rules.
    package func label(of platform: String) -> String {
        guard let description = descriptions[platform] else { return "\(platform) (not described; rules say native:)" }
        return "\(platform) (\(description.name); rules say \(description.block ?? "native"):)"
    }
}

/// A filter that a loaded plugin offers.
package struct LoadedFilter: Sendable, Hashable {
    /// What the configuration calls it.
    package var name: String
    /// The replaceable events of a recipient that it looks at, ascending.
    package var wantedKinds: [UInt16]
    /// The most that it may need to know about the recipient's follows.
    package var mostNeeded: FollowNeed
    /// Whether it is asked with the notification, once that is made.
    package var isAskedAfterRendering: Bool

    init(_ functions: FilterFunctions) {
        name = functions.name
        wantedKinds = functions.wantedKinds
        mostNeeded = functions.mostNeeded
        isAskedAfterRendering = functions.isAskedAfterRendering
    }
}
