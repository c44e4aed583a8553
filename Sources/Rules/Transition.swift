import Platforms

// Only until all callers pass the catalog of the loaded platforms; then this file goes, and so do the default arguments of
// `RuleBook.init` and `RuleBook.builtIn`.

extension RuleBook {
    package static let defaultYAML = defaultYAML(platforms: PlatformCatalog())
}

extension RuleSchema {
    package static var text: String { text(platforms: PlatformCatalog()) }
}

package enum PushServices {
    package static let platforms: [String] = []
    package static let silentPushesPerHour: [String: Int] = [:]
}
