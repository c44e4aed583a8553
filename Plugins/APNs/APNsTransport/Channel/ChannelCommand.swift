import PluginKit

/// What an operator wants of broadcast channels: the words after `channels`.
struct ChannelCommand {
    enum Action {
        /// `keepsLatest`: whether Apple keeps the latest message for devices that are off.
        case create(keepsLatest: Bool)
        case list
        case show(ChannelID)
        case delete(ChannelID)
        /// `payload` is a JSON object with the `aps` of a Live Activity.
        case send(ChannelID, payload: [UInt8])
    }

    static let help = """
        channels create [--storage none|latest]  make a broadcast channel for Live Activities, and print its id
        channels list                            print the ids of all channels
        channels show ID                         print what a channel keeps
        channels delete ID                       end a channel
        channels send ID JSON                    send a payload to everybody who follows a channel

        Each takes --environment production|sandbox; the one of the app's configuration is meant when it is left out.
        """

    /// As APNs takes it for a broadcast, in bytes.
    private static let payloadLimit = 5120

    let action: Action
    /// Nil: the one of the configuration.
    let environment: Environment?

    /// Throws what was expected.
    init(_ words: [String]) throws(PluginError) {
        var words = words
        let storage = try ChannelCommand.takeOption("--storage", of: ["none", "latest"], from: &words)
        environment = try ChannelCommand.takeOption("--environment", of: ["production", "sandbox"], from: &words)
            .map { $0 == "sandbox" ? .sandbox : .production }
        let (verb, rest) = (words.first, words.dropFirst())
        guard storage == nil || verb == "create" else { throw PluginError("--storage: expected with 'create' only") }
        switch (verb, rest.count) {
        case ("create", 0): action = .create(keepsLatest: storage == "latest")
        case ("list", 0): action = .list
        case ("show", 1): action = .show(try ChannelCommand.channel(rest.first))
        case ("delete", 1): action = .delete(try ChannelCommand.channel(rest.first))
        case ("send", 2...):
            action = .send(
                try ChannelCommand.channel(rest.first),
                payload: try ChannelCommand.payload(rest.dropFirst().joined(separator: " "))
            )
        default: throw PluginError("expected one of these:\n\n\(ChannelCommand.help)")
        }
    }

    private static func takeOption(
        _ name: String,
        of values: [String],
        from words: inout [String]
    ) throws(PluginError) -> String? {
        guard let index = words.firstIndex(of: name) else { return nil }
        guard words.indices.contains(index + 1), values.contains(words[index + 1]) else {
            throw PluginError("\(name): expected \(values.joined(separator: " or "))")
        }
        defer { words.removeSubrange(index...index + 1) }
        return words[index + 1]
    }

    /// With or without the word that registrations have before it.
    private static func channel(_ word: String?) throws(PluginError) -> ChannelID {
        let prefix = "channel:"
        let id = word.flatMap { ChannelID($0.hasPrefix(prefix) ? String($0.dropFirst(prefix.count)) : $0) }
        guard let id else { throw PluginError("expected a channel id as 'channels list' prints it") }
        return id
    }

    private static func payload(_ text: String) throws(PluginError) -> [UInt8] {
        let aps = (try? JSONObject(parsing: text))?["aps"]?.object
        guard let event = aps?["event"]?.string, ["update", "end"].contains(event) else {
            throw PluginError("expected a JSON object with the aps of a Live Activity, its event being update or end")
        }
        guard text.utf8.count <= payloadLimit else {
            throw PluginError("expected a payload of at most \(payloadLimit) bytes")
        }
        return Array(text.utf8)
    }
}
