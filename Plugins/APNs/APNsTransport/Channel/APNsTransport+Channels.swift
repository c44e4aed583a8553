import PluginKit

extension APNsTransport {
    /// As many channels as Apple allows fit into it, in bytes.
    private static let longestAnswer: UInt32 = 1 << 20

    /// Does what an operator wants of broadcast channels: `words` are those after `channels`.
    func manageChannels(
        _ words: [String],
        _ completion: @escaping @Sendable (CommandAnswer) -> Void
    ) -> Admission {
        let command: ChannelCommand
        do throws(PluginError) {
            command = try ChannelCommand(words)
        } catch {
            completion(CommandAnswer(isGood: false, text: error.description))
            return .accepted
        }
        guard let proof = credentials.proof(now: now()) else { return .failed }
        let action = command.action
        var request = request(for: action, at: command.environment ?? origins.main)
        request.maxResponseBytes = APNsTransport.longestAnswer
        request.connection = proof.connection
        if let authorization = proof.authorization {
            request.addHeader("authorization", authorization)
        }
        return host.send(request) { [self] response in
            let now = now()
            let answer = ChannelAnswer(response, now: now)
            if answer.isOfExpiredProviderToken {
                _ = credentials.refuse(proof, now: now)
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
        case .show(let channel): return APNsTransport.request("GET", channels, about: channel)
        case .delete(let channel): return APNsTransport.request("DELETE", channels, about: channel)
        case .send(let channel, let payload):
            var request = APNsTransport.request("POST", broadcastURLs[environment], about: channel)
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
