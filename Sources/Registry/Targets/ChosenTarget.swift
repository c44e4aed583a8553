/// A target that people choose themselves, such as a topic of ntfy's: others can guess it. So it belongs to the first
/// account that registers it, until that account leaves it, and another account has to show that it reads there.
///
/// Tokens and endpoints that a push service hands out are no such targets: whoever has one got it from the device.
struct ChosenTarget: Hashable {
    /// The field of a registration with the code that was pushed to the target.
    static let codeField = "code"

    private static let platforms: Set<String> = ["ntfy", "gotify"]

    /// The same however its URL is spelled.
    let name: String

    /// Nil for a platform whose targets nobody chooses.
    init?(platform: String, token: String) {
        guard Self.isChosen(on: platform) else { return nil }
        var rest = token[...]
        for scheme in ["https://", "http://"] where rest.hasPrefix(scheme) { rest = rest.dropFirst(scheme.count) }
        let authority = rest.prefix { !"/?#".contains($0) }
        var host = authority.lowercased()
        for port in [":443", ":80"] where host.hasSuffix(port) { host.removeLast(port.count) }
        name = host + rest[authority.endIndex...]
    }

    static func isChosen(on platform: String) -> Bool { platforms.contains(platform) }
}
