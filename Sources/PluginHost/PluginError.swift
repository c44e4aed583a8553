/// Why an instance of a transport or a filter could not be made, a registration not be accepted, or a command not be
/// done.
package struct PluginError: Error, Sendable, Hashable, CustomStringConvertible {
    private enum Code: Hashable {
        case unknownPlatform(available: [String])
        case refusedConfiguration(String)
        case refusedRegistration(String)
        case uncheckedRegistration(String)
        case refusedCommand(String)
        case failedCommand(String)
        case unknownFilter(available: [String])
        case refusedSettings(String)
    }

    private let code: Code
    /// The platform's name, or the filter's.
    package let name: String

    private init(_ code: Code, _ name: String) {
        self.code = code
        self.name = name
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

    /// The plugin could not say whether the registration is in order.
    static func uncheckedRegistration(_ platform: String, saying text: String) -> PluginError {
        PluginError(.uncheckedRegistration(text), platform)
    }

    static func refusedCommand(_ platform: String, saying text: String) -> PluginError {
        PluginError(.refusedCommand(text), platform)
    }

    /// The plugin did what was asked, and this is the answer: no.
    static func failedCommand(_ platform: String, saying text: String) -> PluginError {
        PluginError(.failedCommand(text), platform)
    }

    static func unknownFilter(_ name: String, available: [String]) -> PluginError {
        PluginError(.unknownFilter(available: available), name)
    }

    static func refusedSettings(_ name: String, saying text: String) -> PluginError {
        PluginError(.refusedSettings(text), name)
    }

    /// The same may succeed later: the plugin's process hangs or is being started again.
    package var isTemporary: Bool {
        if case .uncheckedRegistration = code { true } else { false }
    }

    /// No loaded plugin serves the platform.
    package var isUnknownPlatform: Bool {
        if case .unknownPlatform = code { true } else { false }
    }

    package var description: String {
        switch code {
        case .unknownPlatform(let available):
            "no loaded plugin serves \(name); there are: \(available.isEmpty ? "none" : available.joined(separator: ", "))"
        case .refusedConfiguration(let text): "the \(name) transport refuses its configuration: \(text)"
        case .refusedRegistration(let text): "the \(name) transport refuses the registration: \(text)"
        case .uncheckedRegistration(let text): "the \(name) transport could not check the registration: \(text)"
        case .refusedCommand(let text): "the \(name) transport does not do that: \(text)"
        case .failedCommand(let text): text
        case .unknownFilter(let available):
            "no loaded plugin offers the filter \(name); there are: \(available.isEmpty ? "none" : available.joined(separator: ", "))"
        case .refusedSettings(let text): "the filter \(name) refuses its settings: \(text)"
        }
    }
}
