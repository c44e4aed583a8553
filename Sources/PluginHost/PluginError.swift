/// Why an instance of a transport could not be made, a registration not be accepted, or a command not be done.
package struct PluginError: Error, Sendable, Hashable, CustomStringConvertible {
    private enum Code: Hashable {
        case unknownPlatform(available: [String])
        case refusedConfiguration(String)
        case refusedRegistration(String)
        case refusedCommand(String)
    }

    private let code: Code
    package let platform: String

    private init(_ code: Code, _ platform: String) {
        self.code = code
        self.platform = platform
    }

    static func unknownPlatform(_ platform: String, available: [String]) -> PluginError {
        PluginError(.unknownPlatform(available: available), platform)
    }

    static func refusedConfiguration(_ platform: String, saying text: String) -> PluginError {
        PluginError(.refusedConfiguration(text), platform)
    }

    static func refusedRegistration(_ platform: String, saying text: String) -> PluginError {
        PluginError(.refusedRegistration(text), platform)
    }

    static func refusedCommand(_ platform: String, saying text: String) -> PluginError {
        PluginError(.refusedCommand(text), platform)
    }

    /// No loaded plugin serves the platform.
    package var isUnknownPlatform: Bool {
        if case .unknownPlatform = code { true } else { false }
    }

    package var description: String {
        switch code {
        case .unknownPlatform(let available):
            "no loaded plugin serves \(platform); there are: \(available.isEmpty ? "none" : available.joined(separator: ", "))"
        case .refusedConfiguration(let text): "the \(platform) transport refuses its configuration: \(text)"
        case .refusedRegistration(let text): "the \(platform) transport refuses the registration: \(text)"
        case .refusedCommand(let text): "the \(platform) transport does not do that: \(text)"
        }
    }
}
