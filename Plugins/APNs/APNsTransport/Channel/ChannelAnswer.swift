import PluginKit

/// What APNs said to an operator's command about channels, in words for people and scripts.
struct ChannelAnswer {
    private let answer: APNsAnswer
    private let failure: String
    private let channel: String?
    private let body: JSONObject?

    init(_ response: borrowing HTTPResponse, now: Int64) {
        answer = APNsAnswer(response, now: now)
        failure = response.failure
        channel = response.header("apns-channel-id")?.string
        body = try? response.body.jsonObject()
    }

    var isOfExpiredProviderToken: Bool { answer.status == 403 && answer.reason == .expiredProviderToken }

    /// What follows for `action`.
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
            text: text ?? "APNs answered with status \(answer.status), and with something that cannot be read"
        )
    }

    /// One a line, and nothing when there is none.
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
        guard answer.status != 0 else { return "APNs gave no answer: \(failure)" }
        guard let reason = answer.reason else { return "APNs refused it with status \(answer.status)" }
        return "APNs refused it: \(reason.rawValue)" + (reason.hint.map { ", \($0)" } ?? "")
    }
}

extension APNsReason {
    /// What an operator who manages channels may do about it.
    fileprivate var hint: String? {
        switch self {
        case .featureNotEnabled: "broadcasts are not enabled for this app in the developer account"
        case .channelNotRegistered, .badChannelID: "there is no such channel in this environment"
        case .cannotCreateChannelConfiguration: "there may be as many channels as Apple allows: delete some"
        case .expiredProviderToken: "try again"
        case .topicDisallowed, .topicMismatch: "these credentials are not for this app"
        case .tooManyRequests: "try again later"
        default: nil
        }
    }
}
