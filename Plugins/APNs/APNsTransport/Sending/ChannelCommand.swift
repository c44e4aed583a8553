import Core
import PluginKit

/// An operator's command on broadcast channels: the words after `channels`.
struct ChannelCommand {
    enum Action {
        /// `keepsLatest`: whether Apple stores the latest message for devices that are offline.
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
        channels send ID JSON                    send a payload to all devices subscribed to a channel

        Each takes --environment production|sandbox; default: that of the app's configuration.
        """

    /// Apple's limit for broadcasts, in bytes.
    private static let payloadLimit = 5120

    let action: Action
    /// The environment; nil: the main one of the configuration.
    let environment: Environment?

    init(_ words: [String]) throws(PluginError) {
        var words = words
        let storage = try ChannelCommand.takeOption("--storage", of: ["none", "latest"], from: &words)
        environment = try ChannelCommand.takeOption("--environment", of: ["production", "sandbox"], from: &words)
            .map { $0 == "sandbox" ? .sandbox : .production }
        let (verb, rest) = (words.first, words.dropFirst())
        guard storage == nil || verb == "create" else { throw PluginError("--storage: expected only with 'create'") }
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

    /// Accepts the id with or without the prefix that registrations use.
    private static func channel(_ word: String?) throws(PluginError) -> ChannelID {
        let prefix = "channel:"
        let id = word.flatMap { ChannelID($0.hasPrefix(prefix) ? String($0.dropFirst(prefix.count)) : $0) }
        guard let id else { throw PluginError("expected a channel id from 'channels list'") }
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

/// Performs an operator's commands on broadcast channels.
struct ChannelManagement: Sendable {
    /// The maximum response size in bytes, enough for the list of all channels that Apple allows.
    private static let longestAnswer: UInt32 = 1 << 20

    private let client: APNsClient
    private let managementURLs: PerEnvironment<String>
    private let broadcastURLs: PerEnvironment<String>

    init(_ client: APNsClient, managementURLs: PerEnvironment<String>, broadcastURLs: PerEnvironment<String>) {
        self.client = client
        self.managementURLs = managementURLs
        self.broadcastURLs = broadcastURLs
    }

    /// Performs the command in `words`, which are those after `channels`.
    func perform(_ words: [String], _ completion: @escaping @Sendable (CommandAnswer) -> Void) -> Acceptance {
        let command: ChannelCommand
        do throws(PluginError) {
            command = try ChannelCommand(words)
        } catch {
            completion(CommandAnswer(isGood: false, text: error.description))
            return .accepted
        }
        guard let proof = client.credentials.proof(now: client.now) else { return .failed }
        let action = command.action
        var request = request(for: action, at: command.environment ?? client.origins.main)
        request.maxResponseBytes = ChannelManagement.longestAnswer
        client.authorize(&request, with: proof)
        return client.host.send(request) { [client] response in
            let now = client.now
            let answer = ChannelAnswer(response, now: now)
            if answer.isOfExpiredProviderToken {
                _ = client.credentials.refuse(proof, now: now)
            }
            completion(answer.text(for: action))
        }
    }

    private func request(for action: ChannelCommand.Action, at environment: Environment) -> HTTPRequest {
        let channels = managementURLs[environment] + "/channels"
        switch action {
        case .create(let keepsLatest):
            var request = HTTPRequest("POST", url: channels, options: .multiplex)
            let body = #"{"message-storage-policy":\#(keepsLatest ? 1 : 0),"push-type":"LiveActivity"}"#
            request.body = Array(body.utf8)
            return request
        case .list: return HTTPRequest("GET", url: managementURLs[environment] + "/all-channels", options: .multiplex)
        case .show(let channel): return ChannelManagement.request("GET", channels, about: channel)
        case .delete(let channel): return ChannelManagement.request("DELETE", channels, about: channel)
        case .send(let channel, let payload):
            var request = ChannelManagement.request("POST", broadcastURLs[environment], about: channel)
            request.addHeader("apns-push-type", PushType.liveActivity.rawValue)
            request.addHeader("apns-priority", Priority.immediate.headerValue)
            request.addHeader("apns-expiration", "0")
            request.body = payload
            return request
        }
    }

    private static func request(_ method: StaticString, _ url: String, about channel: ChannelID) -> HTTPRequest {
        var request = HTTPRequest(method, url: url, options: .multiplex)
        request.addHeader("apns-channel-id", channel.text)
        return request
    }
}

/// A response of APNs to a command on channels, as text for people and scripts.
struct ChannelAnswer {
    private let answer: APNsAnswer
    private let failure: String
    private let channel: String?
    private let body: JSONObject?

    init(_ response: borrowing HTTPResponse, now: Timestamp) {
        answer = APNsAnswer(response, now: now)
        failure = response.failure
        channel = response.header("apns-channel-id")?.string
        body = try? response.body.jsonObject()
    }

    var isOfExpiredProviderToken: Bool { answer.status == 403 && answer.reason == .expiredProviderToken }

    func text(for action: ChannelCommand.Action) -> CommandAnswer {
        guard (200...299).contains(answer.status) else { return CommandAnswer(isGood: false, text: refusal) }
        let text: String? =
            switch action {
            case .create: channel.flatMap(ChannelID.init)?.text
            case .list: list
            case .show: policy
            case .delete: "deleted"
            case .send: "sent"
            }
        return CommandAnswer(
            isGood: text != nil,
            text: text ?? "APNs responded with status \(answer.status) and an unreadable body"
        )
    }

    /// The channel ids, one per line.
    private var list: String? {
        body?["channels"]?.elements.map { $0.compactMap(\.string).joined(separator: "\n") }
    }

    private var policy: String? {
        switch body?["message-storage-policy"]?.integer {
        case 0: "storage: none"
        case 1: "storage: latest"
        default: nil
        }
    }

    private var refusal: String {
        guard answer.status != 0 else { return "APNs did not respond: \(failure)" }
        guard let reason = answer.reason else { return "APNs refused it with status \(answer.status)" }
        return "APNs refused it: \(reason.rawValue)" + (ChannelAnswer.hint(for: reason).map { ", \($0)" } ?? "")
    }

    /// Returns a hint on how the operator can fix the problem.
    private static func hint(for reason: APNsReason) -> String? {
        switch reason {
        case .featureNotEnabled: "broadcasts are not enabled for this app in the developer account"
        case .channelNotRegistered, .badChannelID: "there is no such channel in this environment"
        case .cannotCreateChannelConfiguration: "Apple's limit on channels may be reached: delete some"
        case .expiredProviderToken: "try again"
        case .topicDisallowed, .topicMismatch: "these credentials are not for this app"
        case .tooManyRequests: "try again later"
        default: nil
        }
    }
}
